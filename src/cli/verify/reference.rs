//! The reference that a contract names: a kernel or a host function of the file, or a command in a trusted folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use kopt::compile::host::{self, Given, HostError, HostProgram};
use kopt::contract::{Argument, Binding, Cell, ConcretePlan, Plan, Reference, Role};
use kopt::diag::{Code, Diagnostic};
use kopt::gate::{Answer, KernelOracle, Oracle, Settings};
use kopt::infer::matching::{self, Given as NoNames, Signature};
use kopt::ir::{Function, Scalar, Type};

use super::super::exit::{Exit, Failure};
use super::gather::Opened;

/// A reference with what the report says of it.
pub struct Referee {
    pub oracle: Box<dyn Oracle>,
    pub says: String,
}

/// The reference of the original's plan; `None` where it is the original itself.
pub fn open(original: &Opened, plan: &Plan, settings: &Settings, trusted: bool) -> Result<Option<Referee>, Failure> {
    match &plan.reference {
        Reference::Original => Ok(None),
        Reference::Kernel(name) => kernel(original, plan, name, settings).map(Some),
        Reference::Host(name) => function(original, plan, name).map(Some),
        Reference::Command(words) => command(words, trusted).map(Some),
    }
}

fn refused(exit: Exit, original: &Opened, message: String, next: &str) -> Failure {
    let d = Diagnostic::error(Code(666), message).next(next);
    Failure::in_files(exit, vec![d], original.sources().clone())
}

/// The plan with every launch replaced by one of this kernel.
fn kernel(original: &Opened, plan: &Plan, name: &str, settings: &Settings) -> Result<Referee, Failure> {
    let program = &original.loaded.program;
    let all = program.kernels();
    let unclear = |u: matching::Unclear| refused(Exit::Usage, original, format!("reference: {}", u.message), &u.next);
    let chosen = matching::kernel(program, &all, name, None, "`reference`").map_err(unclear)?;
    let of = |l: &kopt::contract::Launch| {
        let own = matching::kernel(program, &all, &l.kernel, Some(l.args.len()), "--kernel")?;
        let signature = |r| Signature::of(program.function(r));
        Ok((matching::short_name(program, chosen), Some((signature(own), signature(chosen)))))
    };
    let adopted = matching::under_kernels(plan, &of, &NoNames::new()).map_err(unclear)?;
    let mut plan = adopted.plan;
    plan.steps.dedup();
    let built = original.build(&plan).map_err(|u| u.failure(Exit::Inconclusive, original.sources()))?;
    let oracle = KernelOracle { side: built.side, settings: *settings };
    Ok(Referee { oracle: Box::new(oracle), says: format!("outputs are compared with those of the kernel `{name}`") })
}

/// Where the value of one parameter of a host function comes from.
#[derive(Clone, Debug, PartialEq)]
enum From {
    /// The argument of this number of the first launch.
    Launch(usize),
    Buffer(String),
    Dim(String),
}

struct HostOracle {
    program: HostProgram,
    from: Vec<From>,
    folder: Scratch,
}

fn function(original: &Opened, plan: &Plan, name: &str) -> Result<Referee, Failure> {
    let program = &original.loaded.program;
    let fitting = |f: &&Function| {
        f.body_span.is_some() && !f.is_kernel() && f.parent.is_none() && matching::same_name(name, &f.qualified)
    };
    let units = program.units.iter().filter(|u| original.loaded.requested.contains(&u.file));
    let found: Vec<&Function> = units.flat_map(|u| &u.functions).filter(fitting).collect();
    let [f] = found.as_slice() else {
        let message = format!("{} host functions are called `{name}`, and the reference is one", found.len());
        return Err(refused(Exit::Usage, original, message, "name a host function of the file in `reference`"));
    };
    let from = sources_of(original, plan, f)?;
    let (file, text, headers) = original.text();
    let slice = host::host_slice(&file, &text, &f.qualified, headers);
    let folder = Scratch::new();
    let given: Vec<Given> = from.iter().map(|x| given(plan, x)).collect();
    let made = slice.and_then(|s| HostProgram::compile(&s, &f.qualified, &given, &folder.path));
    let program = made.map_err(|e| {
        let next = match e {
            HostError::NoCompiler => "install a C++ compiler, or set CXX, or take the original for the reference",
            _ => "give a function that needs nothing but the C++ standard library, or another `reference`",
        };
        refused(Exit::Inconclusive, original, format!("the host function `{name}` cannot be the reference: {e}"), next)
    })?;
    let says = format!("outputs are compared with those of the host function `{name}`");
    Ok(Referee { oracle: Box::new(HostOracle { program, from, folder }), says })
}

fn given(plan: &Plan, from: &From) -> Given {
    match from {
        From::Buffer(name) => Given::Buffer(number(plan, name)),
        From::Dim(_) => Given::Number { is_float: false },
        From::Launch(n) => match plan.launches().next().and_then(|l| l.args.get(*n)) {
            Some(Argument::Buffer(b)) => Given::Buffer(number(plan, &b.buffer)),
            Some(Argument::Float { .. }) => Given::Number { is_float: true },
            Some(Argument::Scalar(s)) => {
                let is_float = plan.arg(s).and_then(|a| a.dtype).is_some_and(Scalar::is_float);
                Given::Number { is_float }
            }
            _ => Given::Number { is_float: false },
        },
    }
}

/// The place of a buffer among those of a concrete plan.
fn number(plan: &Plan, name: &str) -> usize {
    plan.args.iter().filter(|a| a.is_buffer()).position(|a| a.name == name).unwrap_or(0)
}

/// What each parameter of the function is given: what a parameter of its name of the kernel is, an argument or a dim of
/// its name; else, where the numbers agree, by type and place.
fn sources_of(original: &Opened, plan: &Plan, f: &Function) -> Result<Vec<From>, Failure> {
    let program = &original.loaded.program;
    let all = program.kernels();
    let launch = plan.launches().next();
    let kernel = launch.and_then(|l| matching::kernel(program, &all, &l.kernel, Some(l.args.len()), "").ok());
    let single = plan.launches().count() == 1;
    let names: Vec<String> = kernel.filter(|_| single).map_or(vec![], |r| {
        let k = program.function(r);
        k.params.iter().map(|p| k.var(*p).name.clone()).collect()
    });
    let plain = |n: usize| {
        let offset = launch.and_then(|l| l.args.get(n));
        !matches!(offset, Some(Argument::Buffer(b)) if b.offset.is_some())
    };
    let by_name = |name: &str| -> Option<From> {
        if let Some(n) = names.iter().position(|k| k == name).filter(|n| plain(*n)) {
            return Some(From::Launch(n));
        }
        match (plan.arg(name), plan.dim(name)) {
            (Some(a), _) if a.is_buffer() => Some(From::Buffer(name.to_owned())),
            (_, Some(_)) => Some(From::Dim(name.to_owned())),
            _ => None,
        }
    };
    let found: Vec<Option<From>> = f.params.iter().map(|p| by_name(&f.var(*p).name)).collect();
    if found.iter().all(Option::is_some) {
        return Ok(found.into_iter().flatten().collect());
    }
    if let Some(k) = kernel.filter(|_| single)
        && let Ok((order, _)) = matching::pair(&Signature::of(program.function(k)), &Signature::of(f), &NoNames::new())
    {
        return Ok(order.into_iter().map(From::Launch).collect());
    }
    // Pointers in the order of the arguments, where there are as many.
    let own: Vec<&str> =
        plan.args.iter().filter(|a| a.is_buffer() && a.role != Role::Temp).map(|a| a.name.as_str()).collect();
    let pointers = f.params.iter().filter(|p| matches!(f.var(**p).ty, Type::Pointer(_))).count();
    let none_named = f.params.iter().zip(&found).all(|(p, x)| !matches!(f.var(*p).ty, Type::Pointer(_)) || x.is_none());
    let mut next = own.iter().filter(|_| none_named && own.len() == pointers);
    let mut out = vec![];
    for (p, x) in f.params.iter().zip(found) {
        let var = f.var(*p);
        let x = match (x, &var.ty) {
            (Some(x), _) => Some(x),
            (None, Type::Pointer(_)) => next.next().map(|n| From::Buffer((*n).to_owned())),
            (None, _) => None,
        };
        let Some(x) = x else {
            let message =
                format!("what is `{}` of the host function `{}`? No argument or dim has its name", var.name, f.name);
            return Err(refused(
                Exit::Usage,
                original,
                message,
                "give its parameters the names of the kernel's, or of args and dims",
            ));
        };
        out.push(x);
    }
    Ok(out)
}

impl Oracle for HostOracle {
    fn outputs(&self, cell: &Cell, plan: &ConcretePlan, starts: &[Vec<u8>]) -> Answer {
        let launch = plan.launches().next().ok_or("the plan has no launch")?;
        let mut numbers = vec![];
        for from in &self.from {
            match from {
                From::Buffer(_) => {}
                From::Dim(name) => numbers.push(cell.dims.get(name).ok_or("a dim without a value")?.to_string()),
                From::Launch(n) => {
                    if let Some(Binding::Scalar { dtype, bytes }) = launch.args.get(*n) {
                        numbers.push(text(*dtype, bytes));
                    }
                }
            }
        }
        let folder = self.folder.inner()?;
        let after = self.program.run(starts, &numbers, &folder.path)?;
        Ok(outputs_of(plan, after))
    }
}

fn outputs_of(plan: &ConcretePlan, after: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    plan.buffers.iter().zip(after).filter(|(b, _)| b.role.is_output()).map(|(_, bytes)| bytes).collect()
}

/// A scalar as a number in text.
fn text(dtype: Scalar, bytes: &[u8]) -> String {
    let mut wide = [0u8; 8];
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let bits = u64::from_le_bytes(wide);
    if dtype.is_float() {
        return format!("{:?}", kopt::gate::element::value(dtype, bits));
    }
    let shift = 64 - 8 * dtype.bytes();
    if dtype.is_unsigned() || dtype == Scalar::Bool {
        bits.to_string()
    } else {
        ((bits << shift) as i64 >> shift).to_string()
    }
}

struct CommandOracle {
    words: Vec<String>,
    folder: Scratch,
}

/// A command runs whatever it says: only where the user says that the folder is to be trusted.
fn command(words: &[String], trusted: bool) -> Result<Referee, Failure> {
    let shown = words.join(" ");
    if !trusted {
        let message = format!("the contract's reference is the command `{shown}`, and this folder is not trusted");
        return Err(Failure::usage(666, message, "read the command, then say --trust"));
    }
    if words.is_empty() {
        return Err(Failure::usage(666, "the contract's reference is an empty command", "name a program"));
    }
    let oracle = CommandOracle { words: words.to_vec(), folder: Scratch::new() };
    Ok(Referee { oracle: Box::new(oracle), says: format!("outputs are compared with those of `{shown}`") })
}

impl Oracle for CommandOracle {
    fn outputs(&self, cell: &Cell, plan: &ConcretePlan, starts: &[Vec<u8>]) -> Answer {
        let folder = self.folder.inner()?;
        let one = |b: &kopt::contract::ConcreteBuffer| serde_json::json!({ "name": b.name, "role": b.role.word(), "dtype": b.dtype.name(), "elements": b.elements });
        let buffers: Vec<serde_json::Value> = plan.buffers.iter().map(one).collect();
        let about = serde_json::json!({ "dims": cell.dims, "buffers": buffers }).to_string();
        std::fs::write(folder.path.join("cell.json"), about).map_err(|e| e.to_string())?;
        let place = |n: usize| {
            let name = plan.buffers.get(n).map_or("", |b| b.name.as_str());
            folder.path.join(format!("{name}.bin"))
        };
        let (program, rest) = self.words.split_first().ok_or("an empty command")?;
        let last = [folder.path.to_string_lossy().into_owned()];
        Ok(outputs_of(plan, host::exchange(Path::new(program), rest, &last, starts, &place)?))
    }
}

/// A folder that is removed at the end.
struct Scratch {
    path: PathBuf,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

impl Scratch {
    fn new() -> Scratch {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kopt-reference-{}-{n}", std::process::id()));
        // What cannot be made is found out when something is written there.
        let _ = std::fs::create_dir_all(&path);
        Scratch { path }
    }

    /// A folder inside of it, for one run.
    fn inner(&self) -> Result<Scratch, String> {
        let path = self.path.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&path).map_err(|e| e.to_string())?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
