//! Bundles: pairs that are ready to be judged, compiled, with their contracts and texts, in one file for a machine that has
//! nothing but kopt and a GPU.
//!
//! ```text
//! sides --pack--> manifest + blobs --write--> ZIP file  ...  ZIP file --read--> manifest + blobs --unpack--> sides
//! ```
//!
//! Every blob is named by the hash of its contents, and a case by the hash of what its manifest says, so that a case's id
//! stands for every byte of source, contract, program and toolchain behind it. Reading checks all of them: a verdict is
//! about what was packed, or there is none.

mod file;
mod pack;
mod unpack;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compile::KernelResources;

pub use file::{read, write};
pub use pack::{Packing, pack};
pub use unpack::{Unpacked, unpack};

/// The layout that this version writes and reads.
pub const FORMAT: u32 = 1;

/// What a bundle holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    /// The version of kopt that made it.
    pub kopt: String,
    pub cases: Vec<Case>,
}

/// A candidate with its original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The build id: the hash of everything below.
    pub id: String,
    /// Unique in the bundle; the results of the case are filed under it.
    pub name: String,
    pub original: Side,
    pub candidate: Side,
    /// Where the contract came from, in words, and as one word.
    pub contract: (String, String),
    pub accepted: Vec<String>,
    pub launches: String,
    pub matched: Vec<String>,
    /// What the settings of the project gave the compiler: macros, then other options of its nvcc.
    pub options: Vec<String>,
    pub command: String,
}

/// One side of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The user's file, with slashes.
    pub file: String,
    pub kernels: Vec<String>,
    /// BLAKE3 of the file, which also stands for a CUBIN of which there is no text.
    pub hash: String,
    /// The contract with the launches of this side, as TOML.
    pub plan: Blob,
    /// Texts of which messages can speak, the file itself first.
    pub texts: Vec<Text>,
    /// One for each architecture.
    pub builds: Vec<Build>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub name: String,
    pub text: Blob,
}

/// What a compiler made for one architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// `sm_90a`
    pub arch: String,
    pub toolchain: String,
    /// What is worth saying of how it was made.
    pub notes: Vec<String>,
    pub kernels: Vec<Kernel>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    pub name: String,
    pub template: Vec<String>,
    /// The name in the program.
    pub symbol: String,
    pub ptx: Option<Blob>,
    pub cubin: Option<Blob>,
    pub resources: Option<KernelResources>,
}

/// The BLAKE3 of contents, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blob(String);

impl Blob {
    pub fn of(bytes: &[u8]) -> Blob {
        Blob(blake3::hash(bytes).to_hex().to_string())
    }

    pub fn hex(&self) -> &str {
        &self.0
    }
}

/// A manifest with the contents that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    pub manifest: Manifest,
    blobs: BTreeMap<Blob, Vec<u8>>,
}

impl Bundle {
    /// One without cases.
    pub fn new() -> Bundle {
        let manifest = Manifest { format: FORMAT, kopt: env!("CARGO_PKG_VERSION").to_owned(), cases: vec![] };
        Bundle { manifest, blobs: BTreeMap::new() }
    }

    fn keep(&mut self, bytes: &[u8]) -> Blob {
        let blob = Blob::of(bytes);
        self.blobs.entry(blob.clone()).or_insert_with(|| bytes.to_vec());
        blob
    }

    fn contents(&self, blob: &Blob) -> Result<&[u8], BundleError> {
        self.blobs.get(blob).map(Vec::as_slice).ok_or_else(|| BundleError::Missing(blob.hex().to_owned()))
    }

    fn text(&self, blob: &Blob) -> Result<&str, BundleError> {
        std::str::from_utf8(self.contents(blob)?).map_err(|_| BundleError::Damaged("a text is not UTF-8".to_owned()))
    }
}

impl Default for Bundle {
    fn default() -> Bundle {
        Bundle::new()
    }
}

impl Case {
    /// The id that its contents give.
    pub fn computed_id(&self) -> String {
        let nameless = Case { id: String::new(), ..self.clone() };
        // Structures of strings and numbers have a form in JSON.
        let text = serde_json::to_vec(&nameless).unwrap_or_default();
        blake3::hash(&text).to_hex().to_string()
    }

    /// The first half, which is what people see.
    pub fn short_id(&self) -> &str {
        self.id.get(..16).unwrap_or(&self.id)
    }

    fn blobs(&self) -> impl Iterator<Item = &Blob> {
        [&self.original, &self.candidate].into_iter().flat_map(Side::blobs)
    }
}

impl Side {
    fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let kernels = self.builds.iter().flat_map(|b| &b.kernels);
        let programs = kernels.flat_map(|k| k.ptx.iter().chain(&k.cubin));
        std::iter::once(&self.plan).chain(self.texts.iter().map(|t| &t.text)).chain(programs)
    }
}

/// Why there is no bundle, or no side of it.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("this is no bundle: {0}")]
    NotOne(String),
    #[error("the bundle is damaged, or was changed: {0}")]
    Damaged(String),
    #[error("the bundle is damaged: `{0}` is missing")]
    Missing(String),
    #[error("the bundle has the layout {there}, and this version of kopt reads {FORMAT}: kopt {kopt} made it")]
    Format { there: u32, kopt: String },
    #[error("the bundle is too large: {0}")]
    TooLarge(String),
    #[error("the contract of `{0}` does not come out as it went in, and cannot be carried")]
    Contract(String),
    #[error("nothing in the bundle was built for {wanted}; there is {there}")]
    NoBuild { wanted: String, there: String },
    #[error("two candidates are called `{0}`")]
    Twice(String),
    #[error("{0}")]
    Build(#[from] crate::gate::BuildError),
}
