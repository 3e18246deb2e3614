//! A host function of the user's file as a program of its own: cut out with what it needs, compiled by the system's C++
//! compiler, and run in a child process with limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::items::{Event, ItemKind};
use super::program::{HeaderSource, Program};
use crate::child;

/// Headers that such functions use; the file's own includes are not followed.
const HEADERS: &str = "algorithm array cassert cfloat climits cmath complex cstddef cstdint cstdio cstdlib cstring functional \
limits memory numeric random string tuple utility vector";
/// Words of CUDA that say nothing to a host compiler.
const BLANK: &[&str] = &["__host__", "__device__", "__restrict__", "__noinline__"];
/// Seconds that the compiler and the program may take, and the program's memory in kilobytes.
const COMPILER: Duration = Duration::from_secs(60);
const PROGRAM: Duration = Duration::from_secs(10);
const MEMORY: u64 = 4 << 20;

/// Why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("there is no host function `{0}` with a body")]
    NotFound(String),
    #[error("no C++ compiler was found ($CXX, c++, g++, clang++)")]
    NoCompiler,
    #[error("the host compiler refuses it: {0}")]
    Rejected(String),
    #[error("{0}")]
    Machine(String),
}

/// The text of a host function and of everything that it reaches by name, in the order of the file.
///
/// # Errors
/// No function of this name.
pub fn host_slice(name: &str, text: &str, function: &str, headers: &dyn HeaderSource) -> Result<String, HostError> {
    let program = Program::load(name, text, headers);
    let simple = function.rsplit("::").next().unwrap_or(function);
    let scope: Vec<&str> = function.split("::").filter(|s| !s.is_empty() && *s != simple).collect();
    let is_root = |(i, item): &(usize, &super::items::Item)| {
        item.kind == ItemKind::Function
            && item.name == simple
            && program.text(*i, item.start, item.end).ends_with('}')
            && !item.head.contains("__global__")
            && program.namespaces(*i).ends_with(&scope)
    };
    let root = program.items().find(is_root).ok_or_else(|| HostError::NotFound(function.to_owned()))?.0;
    let kept = reached(&program, root);
    let mut out = String::new();
    for (i, entry) in program.entries.iter().enumerate() {
        let group = entry.group.is_some_and(|g| kept.contains(&g));
        let piece = match &entry.event {
            Event::Item(item) if kept.contains(&i) => program.text(i, item.start, item.end),
            Event::Open { start, end, .. } | Event::If { start, end } if kept.contains(&i) => {
                program.text(i, *start, *end)
            }
            Event::Else { start, end } if group => program.text(i, *start, *end),
            Event::Close { .. } if group => "}",
            Event::Endif { .. } if group => "#endif",
            _ => continue,
        };
        let start = match &entry.event {
            Event::Item(item) => Some(item.start),
            _ => None,
        };
        if let Some(start) = start {
            let file = &program.files[entry.file];
            let name = file.name.replace(['\n', '\r', '"', '\\'], " ");
            let _ = writeln!(out, "#line {} \"{name}\"", file.lines.line_of(start));
        }
        let _ = writeln!(out, "{piece}");
    }
    Ok(out)
}

/// Entries that the root needs by the words of their texts, with the structure around them. Kernels and what launches
/// them are no part of it.
fn reached(program: &Program, root: usize) -> BTreeSet<usize> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, item) in program.items() {
        item.names.iter().for_each(|n| by_name.entry(n).or_default().push(i));
    }
    let mut kept = BTreeSet::new();
    let mut work = vec![root];
    work.extend(
        program
            .items()
            .filter(|(_, it)| it.kind == ItemKind::UsingNamespace && it.names.contains("std"))
            .map(|(i, _)| i),
    );
    while let Some(i) = work.pop() {
        let Some(item) = program.item(i) else { continue };
        let no_use = matches!(item.kind, ItemKind::Include { .. } | ItemKind::Instantiation | ItemKind::MacroCall);
        let device = item.head.contains("__global__") || item.head.contains("__constant__") || item.launches;
        if no_use || device && i != root || !kept.insert(i) {
            continue;
        }
        work.extend(item.uses.iter().filter_map(|w| by_name.get(w.as_str())).flatten());
        let mut group = program.entries[i].group;
        while let Some(g) = group.filter(|g| kept.insert(*g)) {
            group = program.entries[g].group;
        }
    }
    kept
}

/// A program that reads raw arrays, calls the function, and writes raw arrays.
#[derive(Debug)]
pub struct HostProgram {
    binary: PathBuf,
}

/// What the function is given for one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// The buffer of this number.
    Buffer(usize),
    /// A number that is written on the command line.
    Number { is_float: bool },
}

impl HostProgram {
    /// Compiles the slice with a `main` that calls `function` with `given`, in `folder`.
    ///
    /// # Errors
    /// No compiler, or one that refuses; the machine.
    pub fn compile(slice: &str, function: &str, given: &[Given], folder: &Path) -> Result<HostProgram, HostError> {
        let machine = |e: std::io::Error| HostError::Machine(e.to_string());
        let (source, binary) = (folder.join("reference.cpp"), folder.join("reference"));
        std::fs::write(&source, text(slice, function, given)).map_err(machine)?;
        let compiler = compiler().ok_or(HostError::NoCompiler)?;
        let mut command = Command::new(compiler);
        // As it is written: no contraction, no reassociation.
        command.args(["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-o"]).arg(&binary).arg(&source);
        let done = child::run(&mut command, COMPILER).map_err(machine)?;
        if done.success() {
            return Ok(HostProgram { binary });
        }
        let log = done.log();
        let first = log.lines().find(|l| l.contains("error")).unwrap_or("it took too long").trim().to_owned();
        Err(HostError::Rejected(first))
    }

    /// Runs it on the buffers, and gives them back as it leaves them. `numbers` are those of the parameters in order.
    ///
    /// # Errors
    /// A fault, a limit, or the machine.
    pub fn run(&self, buffers: &[Vec<u8>], numbers: &[String], folder: &Path) -> Result<Vec<Vec<u8>>, String> {
        let place = |n: usize| folder.join(format!("{n}.bin"));
        let words =
            [folder.to_string_lossy().into_owned()].into_iter().chain(numbers.iter().cloned()).collect::<Vec<_>>();
        exchange(&self.binary, &[], &words, buffers, &place)
    }
}

/// Writes the buffers, runs a program with limits, and reads them back.
///
/// # Errors
/// A fault of the program, a limit, or the machine.
pub fn exchange(
    program: &Path,
    first: &[String],
    words: &[String],
    buffers: &[Vec<u8>],
    place: &dyn Fn(usize) -> PathBuf,
) -> Result<Vec<Vec<u8>>, String> {
    for (n, bytes) in buffers.iter().enumerate() {
        std::fs::write(place(n), bytes).map_err(|e| e.to_string())?;
    }
    let mut command = Command::new("sh");
    let limits = format!("ulimit -v {MEMORY}; ulimit -t {}; ulimit -c 0; exec \"$0\" \"$@\"", PROGRAM.as_secs());
    command.arg("-c").arg(limits).arg(program).args(first).args(words);
    let done = child::run(&mut command, PROGRAM).map_err(|e| e.to_string())?;
    if done.timed_out {
        return Err(format!("it did not end in {} s", PROGRAM.as_secs()));
    }
    if !done.success() {
        let said = done.stderr.lines().last().map(|l| format!(": {l}")).unwrap_or_default();
        return Err(format!("it ended with {}{said}", done.status.map_or("no status".to_owned(), |s| s.to_string())));
    }
    let read = |(n, before): (usize, &Vec<u8>)| {
        let bytes = std::fs::read(place(n)).map_err(|e| e.to_string())?;
        if bytes.len() == before.len() {
            Ok(bytes)
        } else {
            Err(format!("it left {} bytes of {}", bytes.len(), before.len()))
        }
    };
    buffers.iter().enumerate().map(read).collect()
}

/// `$CXX`, or the first of the usual names that is there.
fn compiler() -> Option<PathBuf> {
    let given = std::env::var_os("CXX").filter(|v| !v.is_empty()).map(PathBuf::from);
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
    let find = |name: &Path| {
        if name.components().count() > 1 {
            return name.is_file().then(|| name.to_owned());
        }
        folders.iter().map(|f| f.join(name)).find(|p| p.is_file())
    };
    match given {
        Some(name) => find(&name),
        None => ["c++", "g++", "clang++"].iter().find_map(|n| find(Path::new(n))),
    }
}

fn text(slice: &str, function: &str, given: &[Given]) -> String {
    let mut out = String::new();
    for h in HEADERS.split_whitespace() {
        let _ = writeln!(out, "#include <{h}>");
    }
    for word in BLANK {
        let _ = writeln!(out, "#define {word}");
    }
    out += "#define __forceinline__ inline\n#define __inline__ inline\n";
    out += slice;
    out += "\n#line 1 \"kopt-reference\"\n#include <fstream>\n#include <iterator>\n\
struct kopt_pointer {\n    void* at;\n    template <class T> operator T*() const { return static_cast<T*>(at); }\n};\n\
static std::string kopt_path(const char* folder, int n) { return std::string(folder) + \"/\" + std::to_string(n) + \".bin\"; }\n\
static std::vector<char> kopt_read(const char* folder, int n) {\n    std::ifstream in(kopt_path(folder, n), std::ios::binary);\n    \
std::vector<char> all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};\n    all.reserve(all.size() + 64);\n    return all;\n}\n\
int main(int, char** words) {\n";
    let (mut arguments, mut after) = (vec![], String::new());
    let mut word = 2;
    for g in given {
        match g {
            Given::Buffer(n) => {
                if !arguments.contains(&format!("kopt_pointer{{b{n}.data()}}")) {
                    let _ = writeln!(out, "    std::vector<char> b{n} = kopt_read(words[1], {n});");
                    let _ = writeln!(
                        after,
                        "    std::ofstream(kopt_path(words[1], {n}), std::ios::binary).write(b{n}.data(), b{n}.size());"
                    );
                }
                arguments.push(format!("kopt_pointer{{b{n}.data()}}"));
            }
            Given::Number { is_float } => {
                let read = if *is_float { "strtod(words" } else { "strtoll(words" };
                let end = if *is_float { "], nullptr)" } else { "], nullptr, 10)" };
                arguments.push(format!("{read}[{word}{end}"));
                word += 1;
            }
        }
    }
    let _ = write!(out, "    {function}({});\n{after}    return 0;\n}}\n", arguments.join(", "));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::program::NoHeaders;

    const FILE: &str = "\
#include <cuda_runtime.h>
#include <cmath>
#define TWICE(x) ((x) + (x))
struct Unused { int a; };
static const int STEP = 1;
__global__ void kernel(float* y, int n) { y[0] = n; }
float helper(float v) { return TWICE(v); }
void launch(float* y) { kernel<<<1, 1>>>(y, 1); }
namespace cpu {
void reference(const float* x, float* y, int n, float a) {
    for (int i = 0; i < n; i += STEP) y[i] = a * helper(x[i]);
}
}
";

    #[test]
    fn a_function_is_cut_out_with_what_it_needs() {
        let slice = host_slice("k.cu", FILE, "cpu::reference", &NoHeaders).unwrap();
        for part in ["TWICE", "STEP", "helper", "namespace cpu", "#line 10 \"k.cu\""] {
            assert!(slice.contains(part), "{part}: {slice}");
        }
        for part in ["__global__", "Unused", "launch", "cuda_runtime"] {
            assert!(!slice.contains(part), "{part}: {slice}");
        }
        assert_eq!(host_slice("k.cu", FILE, "kernel", &NoHeaders), Err(HostError::NotFound("kernel".into())));
    }

    #[test]
    fn it_runs_on_raw_arrays() {
        if compiler().is_none() {
            return;
        }
        let folder = std::env::temp_dir().join(format!("kopt-host-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let slice = host_slice("k.cu", FILE, "reference", &NoHeaders).unwrap();
        let given =
            [Given::Buffer(0), Given::Buffer(1), Given::Number { is_float: false }, Given::Number { is_float: true }];
        let bytes = |v: &[f32]| v.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let buffers = [bytes(&[1.0, 2.0, 3.0]), vec![0xff; 12]];
        let program = HostProgram::compile(&slice, "cpu::reference", &given, &folder).unwrap();
        let found = program.run(&buffers, &["3".into(), "0.5".into()], &folder).unwrap();
        assert_eq!(found, [bytes(&[1.0, 2.0, 3.0]), bytes(&[1.0, 2.0, 3.0])]);
        let wrong =
            HostProgram::compile(&slice.replace("helper(x[i])", "absent(x[i])"), "cpu::reference", &given, &folder);
        assert!(matches!(wrong, Err(HostError::Rejected(why)) if why.contains("absent")));
        let endless = slice.replace("y[i] = a", "for (;;) y[i] += a").replace("y[i] += a * helper(x[i])", "abort()");
        let program = HostProgram::compile(&endless, "cpu::reference", &given, &folder).unwrap();
        assert!(program.run(&buffers, &["3".into(), "0.5".into()], &folder).unwrap_err().contains("ended with"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
