//! TileLang programs as compiled kernels with their launches: TileLang lowers to CUDA where it is installed, nvcc compiles, and
//! what comes out is judged like any other candidate.
//!
//! Lowering runs the user's Python file, so that the caller must have the user's word for it ([`lower`] runs it in a child
//! process with a time limit). What the child answers is data: nothing of it is trusted to be well formed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::child;
use crate::contract::{
    Arg, Argument, BufferRef, Contract, Dim, Expr, Launch, Plan, Proposed, Role, Step, dtype as named_dtype,
};
use crate::ir::Scalar;

const SCRIPT: &str = include_str!("lower.py");

/// What is lowered.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    pub python: &'a Path,
    /// The user's file.
    pub file: &'a Path,
    /// A function of the file that gives a program, or a program.
    pub factory: &'a str,
    /// What the factory is called with.
    pub arguments: &'a BTreeMap<String, Value>,
    /// TileLang's pass configuration.
    pub config: &'a BTreeMap<String, Value>,
    /// `sm_90a`
    pub arch: &'a str,
    /// An empty folder for the answer.
    pub folder: &'a Path,
    pub limit: Duration,
}

/// CUDA with what a launch needs, as TileLang says it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Lowered {
    /// TileLang's version.
    pub tilelang: String,
    /// CUDA C++, to be compiled with `includes`.
    pub source: String,
    /// Parameters of the program, in their order.
    pub buffers: Vec<Buffer>,
    /// In the order of TileLang's module.
    pub kernels: Vec<Kernel>,
    pub includes: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Buffer {
    pub name: String,
    pub dtype: String,
    /// `None` of a scalar.
    pub shape: Option<Vec<Extent>>,
}

/// A number, or an expression as Python writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Extent {
    Number(i64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Kernel {
    pub name: String,
    pub grid: Vec<Extent>,
    pub block: Vec<Extent>,
    /// Bytes of dynamic shared memory.
    pub shared: Extent,
    pub parameters: Vec<String>,
    /// Ordinals of parameters that the kernel only reads.
    pub read_only: Vec<usize>,
}

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum LowerError {
    #[error("cannot run {python}: {source}")]
    Start { python: String, source: std::io::Error },
    #[error("TileLang did not finish within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("TileLang is not there: {0}")]
    NoTileLang(String),
    #[error("{0}")]
    Refused(String),
    #[error("the answer makes no sense: {0}")]
    Answer(String),
    #[error(
        "`{kernel}` takes `{parameter}`, a descriptor of the tensor memory accelerator, which a contract cannot describe"
    )]
    Descriptor { kernel: String, parameter: String },
    #[error("`{kernel}` takes `{parameter}`, which is no buffer of the program")]
    Parameter { kernel: String, parameter: String },
    #[error("`{of}` is of the type {dtype}, which contracts do not have")]
    Type { of: String, dtype: String },
    #[error("`{0}` cannot be read as an expression over sizes")]
    Expression(String),
    #[error("the program has {0} kernels, whose order of launching is not said")]
    Kernels(usize),
}

/// Lowers a program.
///
/// # Errors
/// See [`LowerError`].
pub fn lower(job: &Job) -> Result<Lowered, LowerError> {
    let out = job.folder.join("lowered.json");
    let json = |map: &BTreeMap<String, Value>| serde_json::to_string(map).unwrap_or_default();
    let mut command = Command::new(job.python);
    // Without the folder of the script on the path, modules of the user keep their names.
    command.arg("-c").arg(SCRIPT).arg(job.file).arg(job.factory).arg(job.arch);
    command.arg(json(job.arguments)).arg(json(job.config)).arg(&out);
    let start = |source| LowerError::Start { python: job.python.display().to_string(), source };
    let done = child::run(&mut command, job.limit).map_err(start)?;
    if done.timed_out {
        return Err(LowerError::TimedOut(job.limit));
    }
    if !done.success() {
        let last = done.stderr.trim_end().lines().last().unwrap_or("no message").to_owned();
        let absent = ["No module named 'tilelang'", "No module named 'tvm'"].iter().any(|m| last.contains(m));
        return Err(if absent { LowerError::NoTileLang(last) } else { LowerError::Refused(last) });
    }
    let text = std::fs::read(&out).map_err(|e| LowerError::Answer(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| LowerError::Answer(e.to_string()))
}

impl Lowered {
    /// Flags for nvcc.
    pub fn flags(&self) -> Vec<String> {
        let folders = self.includes.iter().map(|f| format!("-I{}", f.display()));
        std::iter::once("-std=c++17".to_owned()).chain(folders).collect()
    }

    /// The launches with their buffers. Whether what is written was read before is a guess, and marked as one.
    ///
    /// # Errors
    /// See [`LowerError`].
    pub fn contract(&self) -> Result<Contract, LowerError> {
        let [kernel] = self.kernels.as_slice() else { return Err(LowerError::Kernels(self.kernels.len())) };
        let mut plan = Plan::default();
        let mut sizes: Vec<String> = vec![];
        for b in &self.buffers {
            let arg = self.arg(b, kernel, &mut sizes)?;
            plan.args.push(arg);
        }
        let launch = Launch {
            kernel: kernel.name.clone(),
            grid: axes(&kernel.grid, &mut sizes)?,
            block: axes(&kernel.block, &mut sizes)?,
            shared: Some(extent(&kernel.shared, &mut sizes)?),
            args: kernel.parameters.iter().map(|p| argument(p, kernel, &plan, &sizes)).collect::<Result<_, _>>()?,
            ..Launch::default()
        };
        plan.steps.push(Step::Launch(launch));
        plan.dims = sizes.into_iter().map(Dim::new).collect();
        Ok(Contract { plans: vec![plan], ..Contract::default() })
    }

    fn arg(&self, b: &Buffer, kernel: &Kernel, sizes: &mut Vec<String>) -> Result<Arg, LowerError> {
        let unknown = || LowerError::Type { of: b.name.clone(), dtype: b.dtype.clone() };
        let dtype = dtype(&b.dtype).ok_or_else(unknown)?;
        let Some(shape) = &b.shape else {
            return Ok(Arg { dtype: Some(dtype), ..Arg::new(&b.name, Role::Scalar) });
        };
        let ordinal = kernel.parameters.iter().position(|p| p == &b.name);
        let reads = ordinal.is_some_and(|n| kernel.read_only.contains(&n));
        let mut arg = Arg::new(&b.name, if reads { Role::In } else { Role::Out });
        arg.dtype = Some(dtype);
        arg.shape = axes(shape, sizes)?;
        // What TileLang's own wrapper asks of tensors that vector instructions read.
        arg.align = Some(16);
        if !reads {
            arg.proposed = Proposed::default();
            arg.proposed.field("role");
            arg.notes.push("written; if it is read before that, its role is \"inout\"".to_owned());
        }
        Ok(arg)
    }
}

fn argument(name: &str, kernel: &Kernel, plan: &Plan, sizes: &[String]) -> Result<Argument, LowerError> {
    let of = || (kernel.name.clone(), name.to_owned());
    if let Some(arg) = plan.args.iter().find(|a| a.name == name) {
        return Ok(match arg.role {
            Role::Scalar => Argument::Scalar(name.to_owned()),
            _ => Argument::Buffer(BufferRef { buffer: name.to_owned(), offset: None }),
        });
    }
    if sizes.iter().any(|s| s == name) {
        return Ok(Argument::Int { dtype: Scalar::I32, value: Expr::Name(name.to_owned()) });
    }
    let (kernel, parameter) = of();
    if name.ends_with("_desc") {
        return Err(LowerError::Descriptor { kernel, parameter });
    }
    Err(LowerError::Parameter { kernel, parameter })
}

fn axes(list: &[Extent], sizes: &mut Vec<String>) -> Result<Vec<Expr>, LowerError> {
    let mut found: Vec<Expr> = list.iter().map(|e| extent(e, sizes)).collect::<Result<_, _>>()?;
    while found.len() > 1 && found.last() == Some(&Expr::Int(1)) {
        found.pop();
    }
    Ok(found)
}

/// The expression; names in it are sizes.
fn extent(e: &Extent, sizes: &mut Vec<String>) -> Result<Expr, LowerError> {
    let expr = match e {
        Extent::Number(n) => Expr::Int(*n),
        Extent::Text(text) => {
            // Sizes are not negative, for which both divisions are the same.
            let c = text.replace("//", "/");
            crate::contract::parse_expr(&c).map_err(|_| LowerError::Expression(text.clone()))?
        }
    };
    for name in expr.names() {
        if !sizes.iter().any(|s| s == name) {
            sizes.push(name.to_owned());
        }
    }
    Ok(expr)
}

/// TileLang's names of types.
fn dtype(name: &str) -> Option<Scalar> {
    Some(match name {
        "float16" => Scalar::F16,
        "bfloat16" => Scalar::BF16,
        "float32" => Scalar::F32,
        "float64" => Scalar::F64,
        "int8" => Scalar::I8,
        "int16" => Scalar::I16,
        "int32" => Scalar::I32,
        "int64" => Scalar::I64,
        "uint8" => Scalar::U8,
        "uint16" => Scalar::U16,
        "uint32" => Scalar::U32,
        "uint64" => Scalar::U64,
        "bool" => Scalar::Bool,
        other if other.starts_with("float8_") => Scalar::F8,
        other => return named_dtype(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::print;

    /// What TileLang 0.1.15 answered for products of matrices, with the source left out.
    const STATIC: &str = r#"{"tilelang": "0.1.15", "source": "", "buffers": [
        {"name": "A", "dtype": "float16", "shape": [512, 256]}, {"name": "B", "dtype": "float16", "shape": [256, 512]},
        {"name": "C", "dtype": "float16", "shape": [512, 512]}],
        "kernels": [{"name": "main_kernel", "grid": [8, 8, 1], "block": [128, 1, 1], "shared": 16384,
        "parameters": ["A", "B", "C"], "read_only": [0, 1]}], "includes": ["/opt/tilelang/src"]}"#;

    fn lowered(change: &[(&str, &str)]) -> Lowered {
        let text = change.iter().fold(STATIC.to_owned(), |text, (a, b)| text.replace(a, b));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn launches_and_buffers_become_a_contract() {
        let plan = lowered(&[]).contract().unwrap().plans.remove(0);
        let launch = plan.launches().next().unwrap();
        assert_eq!((launch.grid.len(), launch.block.len(), launch.args.len()), (2, 1, 3));
        let roles: Vec<Role> = plan.args.iter().map(|a| a.role).collect();
        assert_eq!(roles, [Role::In, Role::In, Role::Out]);
        assert_eq!(plan.open().len(), 1, "whether C is read before is a guess");
        assert!(lowered(&[]).flags().contains(&"-I/opt/tilelang/src".to_owned()));
    }

    #[test]
    fn sizes_that_stay_open_are_dims() {
        let change = [
            ("[512, 256]", "[\"m\", 256]"),
            ("[512, 512]", "[\"m\", 512]"),
            ("[8, 8, 1]", "[8, \"(m + 63) // 64\", 1]"),
            ("[\"A\", \"B\", \"C\"]", "[\"A\", \"B\", \"C\", \"m\"]"),
        ];
        let contract = lowered(&change).contract().unwrap();
        let text = print(&contract);
        assert!(text.contains("grid = [8, \"(m + 63) / 64\"]") && text.contains("\"i32(m)\""), "{text}");
        assert_eq!(contract.plans[0].dims[0].name, "m");
    }

    #[test]
    fn what_a_contract_cannot_say_is_refused() {
        let said = |change: &[(&str, &str)]| lowered(change).contract().unwrap_err().to_string();
        assert!(said(&[("\"A\", \"B\", \"C\"]", "\"A_desc\", \"B\", \"C\"]")]).contains("descriptor"));
        assert!(said(&[("\"A\", \"B\", \"C\"]", "\"A\", \"B\", \"C\", \"x\"]")]).contains("no buffer"));
        assert!(said(&[("\"float16\"", "\"custom8\"")]).contains("custom8"));
        assert!(said(&[("\"shared\": 16384", "\"shared\": \"T.if_then_else(\"")]).contains("expression"));
    }

    #[cfg(unix)]
    #[test]
    fn every_end_of_the_child_has_a_name() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        let (file, none) = (Path::new("k.py"), BTreeMap::new());
        let cases = [
            ("echo \"ModuleNotFoundError: No module named 'tilelang'\" >&2; exit 1", "is not there"),
            ("echo 'Traceback' >&2; echo 'ValueError: bad tile' >&2; exit 1", "bad tile"),
            ("sleep 20", "did not finish"),
            ("exit 0", "makes no sense"),
            ("for last; do :; done; echo '{}' > \"$last\"", "makes no sense"),
        ];
        for (body, expected) in cases {
            std::fs::write(&python, format!("#!/bin/sh\n{body}\n")).unwrap();
            std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
            let limit = Duration::from_millis(if body.starts_with("sleep") { 300 } else { 10_000 });
            let job = Job {
                python: &python,
                file,
                factory: "k",
                arguments: &none,
                config: &none,
                arch: "sm_80",
                folder: folder.path(),
                limit,
            };
            let error = lower(&job).expect_err(body).to_string();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }
}
