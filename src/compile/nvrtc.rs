//! A small loader for NVRTC, NVIDIA's run-time compiler: the eleven functions that the gate needs.
//!
//! Called directly, the compiler runs inside this process. It only *reads* the candidate; nothing of the candidate
//! runs. But it can crash on hostile or merely odd sources, and then takes the process down: everything but a command
//! that compiles trusted text and exits goes through [`super::worker`].

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Mutex;

use libloading::Library;

type Program = *mut c_void;
type Status = c_int;
type SizeFn = unsafe extern "C" fn(Program, *mut usize) -> Status;
type TextFn = unsafe extern "C" fn(Program, *mut c_char) -> Status;

/// Why NVRTC could not be asked, or what it answered.
#[derive(Debug, thiserror::Error)]
pub enum NvrtcError {
    #[error("cannot open {path}: {reason}")]
    Open { path: String, reason: String },
    #[error("{path} has no function {symbol}: it is too old, or not NVRTC")]
    Symbol { path: String, symbol: &'static str },
    #[error("a NUL byte in {0}")]
    Nul(&'static str),
    #[error("NVRTC refused the program")]
    Rejected { log: String },
    #[error("NVRTC crashed ({status})")]
    Crashed { status: String },
    #[error("NVRTC was stopped after {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("NVRTC failed in {function}: {message}")]
    Failed { function: &'static str, message: String },
}

/// What NVRTC made of a program.
#[derive(Clone, Debug, Default)]
pub struct NvrtcOutput {
    pub ptx: String,
    pub cubin: Vec<u8>,
    pub log: String,
    /// Name expression as asked -> symbol.
    pub lowered: BTreeMap<String, String>,
}

/// An opened library. Calls are serialised: the compiler keeps global state.
pub struct Nvrtc {
    path: PathBuf,
    version: (i32, i32),
    functions: Functions,
    turn: Mutex<()>,
    _library: Library,
}

struct Functions {
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    arch_count: unsafe extern "C" fn(*mut c_int) -> Status,
    archs: unsafe extern "C" fn(*mut c_int) -> Status,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    add_name: unsafe extern "C" fn(Program, *const c_char) -> Status,
    lowered: unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> Status,
    log: (SizeFn, TextFn),
    ptx: (SizeFn, TextFn),
    cubin: (SizeFn, TextFn),
}

/// `NVRTC_ERROR_COMPILATION`.
const COMPILATION: Status = 6;
/// `NVRTC_ERROR_INVALID_OPTION`.
const INVALID_OPTION: Status = 5;

impl Nvrtc {
    /// Opens the library at `path`: an absolute path, or a bare name for the loader to find.
    pub fn open(path: &Path) -> Result<Nvrtc, NvrtcError> {
        let shown = || path.display().to_string();
        // SAFETY: opening a library runs its initialisers. The path is one that the user configured or installed as
        // NVRTC, whose initialisers have no precondition.
        let library =
            unsafe { Library::new(path) }.map_err(|e| NvrtcError::Open { path: shown(), reason: e.to_string() })?;
        let functions = Functions::load(&library, &shown())?;
        let mut version = (0, 0);
        // SAFETY: both pointers are valid for the call.
        let status = unsafe { (functions.version)(&mut version.0, &mut version.1) };
        let path = if path.is_absolute() { None } else { file_of(&functions) }.unwrap_or_else(|| path.to_owned());
        let nvrtc = Nvrtc { path, version, functions, turn: Mutex::new(()), _library: library };
        nvrtc.check("nvrtcVersion", status)?;
        Ok(nvrtc)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Major and minor version, such as (13, 5).
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// The compute capabilities that this version compiles for, such as 75, 80, 120.
    pub fn architectures(&self) -> Result<Vec<i32>, NvrtcError> {
        let mut count = 0;
        // SAFETY: the pointer is valid for the call.
        self.check("nvrtcGetNumSupportedArchs", unsafe { (self.functions.arch_count)(&mut count) })?;
        let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the list has room for the number of entries that the library just named.
        self.check("nvrtcGetSupportedArchs", unsafe { (self.functions.archs)(list.as_mut_ptr()) })?;
        Ok(list)
    }

    /// Compiles `source`. `names` are name expressions whose symbols are wanted; a template is instantiated by them.
    ///
    /// # Errors
    /// [`NvrtcError::Rejected`] with the log if the source is wrong; the others if NVRTC could not be asked.
    pub fn compile(&self, source: &str, options: &[String], names: &[String]) -> Result<NvrtcOutput, NvrtcError> {
        let _turn = self.turn.lock().unwrap_or_else(|e| e.into_inner());
        let source = CString::new(source).map_err(|_| NvrtcError::Nul("the source"))?;
        let options = strings(options, "an option")?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let names_c = strings(names, "a kernel name")?;
        let mut program = Owned { functions: &self.functions, program: ptr::null_mut() };
        let (texts, headers): (Vec<_>, Vec<_>) =
            HOST_HEADERS.iter().map(|(name, text)| (text.as_ptr(), name.as_ptr())).unzip();
        // SAFETY: all strings are NUL-terminated and outlive the call; the counts match the arrays.
        let status = unsafe {
            (self.functions.create)(
                &mut program.program,
                source.as_ptr(),
                c"kopt-slice.cu".as_ptr(),
                HOST_HEADERS.len() as c_int,
                texts.as_ptr(),
                headers.as_ptr(),
            )
        };
        self.check("nvrtcCreateProgram", status)?;
        for name in &names_c {
            // SAFETY: the program is alive and the name is NUL-terminated.
            self.check("nvrtcAddNameExpression", unsafe { (self.functions.add_name)(program.program, name.as_ptr()) })?;
        }
        // SAFETY: the program is alive; the option strings are NUL-terminated, outlive the call, and are counted.
        let status = unsafe { (self.functions.compile)(program.program, pointers.len() as c_int, pointers.as_ptr()) };
        let log = self.text("nvrtcGetProgramLog", program.program, self.functions.log)?;
        let log = text(log);
        if status == COMPILATION || status == INVALID_OPTION {
            return Err(NvrtcError::Rejected { log });
        }
        self.check("nvrtcCompileProgram", status)?;
        let mut out = NvrtcOutput { log, ..NvrtcOutput::default() };
        out.ptx = text(self.text("nvrtcGetPTX", program.program, self.functions.ptx)?);
        out.cubin = self.text("nvrtcGetCUBIN", program.program, self.functions.cubin)?;
        for (name, name_c) in names.iter().zip(&names_c) {
            let mut symbol = ptr::null();
            // SAFETY: the program is alive and compiled; the name was added before.
            let status = unsafe { (self.functions.lowered)(program.program, name_c.as_ptr(), &mut symbol) };
            self.check("nvrtcGetLoweredName", status)?;
            if !symbol.is_null() {
                // SAFETY: NVRTC returned a NUL-terminated string that lives as long as the program.
                let symbol = unsafe { CStr::from_ptr(symbol) };
                out.lowered.insert(name.clone(), symbol.to_string_lossy().into_owned());
            }
        }
        Ok(out)
    }

    fn text(&self, function: &'static str, program: Program, get: (SizeFn, TextFn)) -> Result<Vec<u8>, NvrtcError> {
        let mut size = 0usize;
        // SAFETY: the program is alive and the pointer is valid for the call.
        self.check(function, unsafe { get.0(program, &mut size) })?;
        let mut bytes = vec![0u8; size];
        if size > 0 {
            // SAFETY: the buffer has the size that the library just named.
            self.check(function, unsafe { get.1(program, bytes.as_mut_ptr().cast()) })?;
        }
        Ok(bytes)
    }

    fn check(&self, function: &'static str, status: Status) -> Result<(), NvrtcError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any status.
        let message = unsafe { (self.functions.error_string)(status) };
        let message = if message.is_null() {
            format!("status {status}")
        } else {
            // SAFETY: NVRTC returns a static NUL-terminated string.
            unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
        };
        Err(NvrtcError::Failed { function, message })
    }
}

/// Host headers that NVIDIA's own device headers include although they need nothing of them.
const HOST_HEADERS: &[(&CStr, &CStr)] = &[
    (c"stdlib.h", c""),
    (c"stddef.h", c""),
    (
        c"stdint.h",
        c"typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;\n\
          typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;\n\
          typedef unsigned long uint64_t; typedef unsigned long uintptr_t;\n",
    ),
];

/// A program that is destroyed when it goes out of scope, on every path.
struct Owned<'a> {
    functions: &'a Functions,
    program: Program,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program was made by the same library and is destroyed once.
            unsafe { (self.functions.destroy)(&mut self.program) };
        }
    }
}

/// The file that the functions were loaded from, where the loader chose it: a child process must open the same one.
#[cfg(unix)]
fn file_of(functions: &Functions) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let address = functions.version as *const c_void;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and writes to the structure given; all-zero is a valid value of it.
    let info = unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }?;
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader returned a NUL-terminated name that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    path.is_absolute().then_some(path)
}

#[cfg(not(unix))]
fn file_of(_: &Functions) -> Option<PathBuf> {
    None
}

fn strings(list: &[String], what: &'static str) -> Result<Vec<CString>, NvrtcError> {
    list.iter().map(|s| CString::new(s.as_str()).map_err(|_| NvrtcError::Nul(what))).collect()
}

fn text(mut bytes: Vec<u8>) -> String {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

impl Functions {
    fn load(library: &Library, path: &str) -> Result<Functions, NvrtcError> {
        macro_rules! get {
            ($name:literal) => {
                // SAFETY: the type is that of the function of this name in nvrtc.h, unchanged since CUDA 11.
                *unsafe { library.get($name) }
                    .map_err(|_| NvrtcError::Symbol { path: path.to_owned(), symbol: $name })?
            };
        }
        Ok(Functions {
            error_string: get!("nvrtcGetErrorString"),
            version: get!("nvrtcVersion"),
            arch_count: get!("nvrtcGetNumSupportedArchs"),
            archs: get!("nvrtcGetSupportedArchs"),
            create: get!("nvrtcCreateProgram"),
            destroy: get!("nvrtcDestroyProgram"),
            compile: get!("nvrtcCompileProgram"),
            add_name: get!("nvrtcAddNameExpression"),
            lowered: get!("nvrtcGetLoweredName"),
            log: (get!("nvrtcGetProgramLogSize"), get!("nvrtcGetProgramLog")),
            ptx: (get!("nvrtcGetPTXSize"), get!("nvrtcGetPTX")),
            cubin: (get!("nvrtcGetCUBINSize"), get!("nvrtcGetCUBIN")),
        })
    }
}

impl std::fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NVRTC {}.{} at {}", self.version.0, self.version.1, self.path.display())
    }
}
