//! Why a kernel could not be cut out of its file.

use std::fmt;

use crate::diag::{Code, Diagnostic};

/// A named reason. [`Unsliceable::key`] is what is counted over a corpus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsliceable {
    /// No item of that name, or none at that place.
    KernelNotFound { name: String },
    /// Overloads, or functions of several namespaces, have the name.
    SeveralKernels { name: String, count: usize },
    /// A name of another project is used, and headers are missing that may define it.
    ThirdPartyHeader { name: String, headers: Vec<String> },
    /// Device code uses a part of a library that exists only on the host.
    HostLibrary { name: String, item: String },
    /// A kernel is launched from device code: that needs linking with the device runtime.
    LaunchFromDevice { item: String },
    /// `texture<..>` references were removed from CUDA 12.
    TextureReference { name: String },
    /// The unit with all its headers is beyond the limits.
    TooLarge,
}

impl Unsliceable {
    pub fn key(&self) -> &'static str {
        match self {
            Unsliceable::KernelNotFound { .. } => "kernel-not-found",
            Unsliceable::SeveralKernels { .. } => "several-kernels",
            Unsliceable::ThirdPartyHeader { .. } => "third-party-header",
            Unsliceable::HostLibrary { .. } => "host-library",
            Unsliceable::LaunchFromDevice { .. } => "launch-from-device",
            Unsliceable::TextureReference { .. } => "texture-reference",
            Unsliceable::TooLarge => "too-large",
        }
    }

    pub fn code(&self) -> Code {
        Code(match self {
            Unsliceable::KernelNotFound { .. } => 401,
            Unsliceable::SeveralKernels { .. } => 407,
            Unsliceable::ThirdPartyHeader { .. } => 402,
            Unsliceable::HostLibrary { .. } => 403,
            Unsliceable::LaunchFromDevice { .. } => 404,
            Unsliceable::TextureReference { .. } => 405,
            Unsliceable::TooLarge => 406,
        })
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let next = match self {
            Unsliceable::KernelNotFound { .. } => "name a `__global__` function of this file",
            Unsliceable::SeveralKernels { .. } => {
                "write the name with its namespaces, or give overloads names of their own"
            }
            Unsliceable::ThirdPartyHeader { .. } => "give the folder of these headers as an include path (-I)",
            Unsliceable::HostLibrary { .. } => {
                "install nvcc, which compiles the whole file, or move the host part out of the item"
            }
            Unsliceable::LaunchFromDevice { .. } => "install nvcc and compile with -rdc=true",
            Unsliceable::TextureReference { .. } => "use a cudaTextureObject_t argument instead",
            Unsliceable::TooLarge => "give fewer headers, or compile the file with nvcc",
        };
        Diagnostic::error(self.code(), self.to_string()).next(next)
    }
}

impl fmt::Display for Unsliceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsliceable::KernelNotFound { name } => write!(f, "no kernel `{name}` in this file"),
            Unsliceable::SeveralKernels { name, count } => write!(f, "{count} kernels are called `{name}`"),
            Unsliceable::ThirdPartyHeader { name, headers } => {
                write!(f, "`{name}` needs a header that was not found ({})", headers.join(", "))
            }
            Unsliceable::HostLibrary { name, item } => {
                write!(f, "`{name}`, used by `{item}`, is not there for device code")
            }
            Unsliceable::LaunchFromDevice { item } => write!(f, "`{item}` launches a kernel from device code"),
            Unsliceable::TextureReference { name } => write!(f, "`{name}` is a texture reference"),
            Unsliceable::TooLarge => write!(f, "the file with its headers is too large to cut"),
        }
    }
}

impl std::error::Error for Unsliceable {}
