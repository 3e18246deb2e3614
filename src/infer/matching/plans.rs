//! The launches of a candidate under the contract of an original.

use std::collections::{BTreeMap, BTreeSet};

use super::parameters::{Signature, pair};
use super::{Given, Unclear, quoted};
use crate::contract::{Arg, Argument, BufferRef, Dim, Expr, Init, Launch, Plan, Role, Step};

/// The candidate's plan, and what is worth saying of how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Adopted {
    pub plan: Plan,
    pub notes: Vec<String>,
}

/// The candidate's kernel for one of the original's, and the parameters of both (the original's first) where they are known.
pub type Stand = (String, Option<(Signature, Signature)>);

/// Names of the candidate's parameters by kernel, as its plan calls it.
pub type Parameters<'p> = &'p dyn Fn(&str) -> Vec<String>;

/// The original's plan with kernels of the candidate in place of its own. `kernel_of` gives for a kernel of the plan the
/// name of the candidate's and the parameters of both, where they are known.
///
/// # Errors
/// As [`pair`].
pub fn under_kernels(
    original: &Plan,
    kernel_of: &dyn Fn(&Launch) -> Result<Stand, Unclear>,
    given: &Given,
) -> Result<Adopted, Unclear> {
    let mut plan = original.clone();
    let mut notes: Vec<String> = vec![];
    for step in &mut plan.steps {
        let Step::Launch(l) = step else { continue };
        let (name, signatures) = kernel_of(l)?;
        l.kernel = name;
        let Some((theirs, own)) = signatures else { continue };
        if theirs.parameters.len() != l.args.len() && own.parameters.len() == l.args.len() {
            continue;
        }
        let (order, said) = pair(&theirs, &own, given)?;
        for note in said {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let args = order.iter().enumerate().map(|(n, m)| {
            let a = l.args.get(*m).cloned().unwrap_or(Argument::Open);
            typed(a, own.scalar(n))
        });
        l.args = args.collect();
    }
    Ok(Adopted { plan, notes })
}

/// The argument as a number of the parameter's type.
fn typed(a: Argument, scalar: Option<crate::ir::Scalar>) -> Argument {
    match (a, scalar) {
        (Argument::Int { value, .. }, Some(dtype)) if !dtype.is_float() => Argument::Int { dtype, value },
        (Argument::Float { value, .. }, Some(dtype)) if dtype.is_float() => Argument::Float { dtype, value },
        (a, _) => a,
    }
}

/// The launches and temporaries of `other` under the contract of `original`. Arguments and dims of one name are one; then
/// those that launches of a kernel of one name give to a parameter of one name; then what only one of each side can be;
/// then, where both plans have the same launches of the same parameter types, the place.
///
/// # Errors
/// Names of which several stand for one, or that the original does not have.
pub fn adopt(original: &Plan, other: &Plan, parameters: [Parameters; 2], given: &Given) -> Result<Adopted, Unclear> {
    let mut names = Names { original, other, given, args: BTreeMap::new(), dims: BTreeMap::new(), notes: vec![] };
    names.by_name();
    names.by_parameter(parameters)?;
    names.alone();
    names.by_place();
    names.all_there()?;
    let own: Vec<Arg> = original.args.iter().filter(|a| a.role != Role::Temp).cloned().collect();
    let mut plan = Plan { args: own, ..original.clone() };
    let Names { mut args, dims, mut notes, .. } = names;
    for t in other.args.iter().filter(|x| is_temporary(original, x)) {
        if args.contains_key(&t.name) {
            continue;
        }
        notes.extend(of_temporary(t)?);
        let taken = |n: &str| original.arg(n).is_some() || original.dim(n).is_some();
        let name = if taken(&t.name) { format!("{}_of_candidate", t.name) } else { t.name.clone() };
        args.insert(t.name.clone(), name.clone());
        let shape = t.shape.iter().map(|e| translated(e, &dims)).collect::<Option<_>>();
        let Some(shape) = shape else { return Err(strange(&t.name)) };
        plan.args.push(Arg { name, shape, role: Role::Temp, ..t.clone() });
    }
    let values: BTreeMap<String, String> = dims.into_iter().chain(args.clone()).collect();
    let steps: Option<Vec<Step>> = other.steps.iter().map(|s| step(s, &args, &values)).collect();
    plan.steps = steps.ok_or_else(|| strange("a step"))?;
    let used = |p: &Plan| -> BTreeSet<String> { p.launches().flat_map(names_of).collect() };
    let (mine, theirs) = (used(original), used(&plan));
    // A size that is always the same may be part of the candidate's program.
    let varies = |d: &&Dim| d.min.is_none() || d.min != d.max;
    let unused = |d: &&Dim| mine.contains(&d.name) && !theirs.contains(&d.name);
    if let Some(d) = original.dims.iter().filter(varies).find(unused) {
        let message = format!("the candidate's launches do not depend on `{}`", d.name);
        return Err(Unclear::new(message, "give the candidate's launches with --candidate-contract"));
    }
    Ok(Adopted { plan, notes })
}

/// A temporary of the candidate begins with nothing: what its caller has to put there is not what the original's caller does.
fn of_temporary(t: &Arg) -> Result<Option<String>, Unclear> {
    if t.init() == Init::Keep || t.legal.is_some() {
        let message = format!(
            "the candidate's temporary `{}` is to begin with contents, which the contract's caller does not give",
            t.name
        );
        return Err(Unclear::new(
            message,
            "have a launch of the candidate write it, or add it to the original's contract",
        ));
    }
    let zeros = format!("the candidate's `{}` has to be cleared before every call: it begins with zeros here", t.name);
    Ok((t.init() == Init::Zero).then_some(zeros))
}

fn strange(name: &str) -> Unclear {
    let message = format!("the candidate's plan names what the contract does not have: {name}");
    Unclear::new(message, "give it the args and dims of the original's contract")
}

/// Dims that a launch is written in.
fn names_of(l: &Launch) -> Vec<String> {
    let args = l.args.iter().filter_map(|a| match a {
        Argument::Int { value, .. } => Some(value),
        Argument::Buffer(b) => b.offset.as_ref(),
        _ => None,
    });
    let all = l.grid.iter().chain(&l.block).chain(&l.shared).chain(args);
    all.flat_map(|e| e.names().into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
}

struct Names<'p> {
    original: &'p Plan,
    other: &'p Plan,
    given: &'p Given,
    /// Names of the candidate with those of the original.
    args: BTreeMap<String, String>,
    dims: BTreeMap<String, String>,
    notes: Vec<String>,
}

fn fits(x: &Arg, y: &Arg) -> bool {
    x.dtype == y.dtype && x.is_buffer() == y.is_buffer()
}

/// Whether an argument of the candidate is its own business: the contract knows no result of its name.
fn is_temporary(original: &Plan, x: &Arg) -> bool {
    match original.arg(&x.name) {
        Some(y) => y.role == Role::Temp,
        None => x.role == Role::Temp,
    }
}

impl Names<'_> {
    fn by_name(&mut self) {
        for x in &self.other.args {
            let name = self.given.get(&x.name).unwrap_or(&x.name);
            if let Some(y) = self.original.arg(name).filter(|y| fits(x, y) && y.role != Role::Temp) {
                self.args.insert(x.name.clone(), y.name.clone());
            }
        }
        for d in &self.other.dims {
            let name = self.given.get(&d.name).unwrap_or(&d.name);
            if self.original.dim(name).is_some() {
                self.dims.insert(d.name.clone(), name.clone());
            }
        }
    }

    /// Launches of one kernel tell what a parameter of one name is given on both sides.
    fn by_parameter(&mut self, [theirs, own]: [Parameters; 2]) -> Result<(), Unclear> {
        let (original, other) = (self.original, self.other);
        for l in original.launches() {
            let only = |p: &Plan| p.launches().filter(|o| o.kernel == l.kernel).count() == 1;
            let Some(m) = other.launches().find(|o| o.kernel == l.kernel).filter(|_| only(original) && only(other))
            else {
                continue;
            };
            let (a, b) = (theirs(&l.kernel), own(&l.kernel));
            for (n, name) in b.iter().enumerate() {
                let Some(k) = a.iter().position(|x| x == name) else { continue };
                if let (Some(x), Some(y)) = (l.args.get(k), m.args.get(n)) {
                    self.equal(x, y, name)?;
                }
            }
        }
        Ok(())
    }

    /// What one parameter is given by the original and by the candidate.
    fn equal(&mut self, original: &Argument, candidate: &Argument, parameter: &str) -> Result<(), Unclear> {
        let (x, y, is_dim) = match (original, candidate) {
            (Argument::Buffer(x), Argument::Buffer(y)) if x.offset.is_none() && y.offset.is_none() => {
                (&x.buffer, &y.buffer, false)
            }
            (Argument::Int { value: Expr::Name(x), .. }, Argument::Int { value: Expr::Name(y), .. }) => (x, y, true),
            (Argument::Scalar(x), Argument::Scalar(y)) => (x, y, false),
            _ => return Ok(()),
        };
        let theirs = self.original.arg(x).is_some_and(|a| a.role == Role::Temp);
        let own = self.other.arg(y).is_some_and(|a| is_temporary(self.original, a));
        if !is_dim && (theirs || own) {
            return Ok(());
        }
        let known = if is_dim { &mut self.dims } else { &mut self.args };
        match known.get(y) {
            Some(z) if z == x => Ok(()),
            Some(z) if self.given.get(y) == Some(z) => Ok(()),
            Some(z) => {
                let message = format!(
                    "parameter `{parameter}` is given `{y}` by the candidate, which has the name of `{z}` and the place of `{x}`"
                );
                let next = format!("say which with --match {y}={x} or --match {y}={z}");
                Err(Unclear { contradicts: true, ..Unclear::new(message, next) })
            }
            None => {
                let taken = known.values().any(|v| v == x);
                if !taken {
                    known.insert(y.clone(), x.clone());
                    self.notes.push(format!("`{y}` is the original's `{x}`: both are given to `{parameter}`"));
                }
                Ok(())
            }
        }
    }

    fn left(&self) -> (Vec<&Arg>, Vec<&Arg>) {
        let theirs = self.original.args.iter().filter(|a| a.role != Role::Temp);
        let theirs = theirs.filter(|a| !self.args.values().any(|v| *v == a.name));
        let own = self.other.args.iter().filter(|a| !is_temporary(self.original, a));
        (theirs.collect(), own.filter(|a| !self.args.contains_key(&a.name)).collect())
    }

    /// What only one argument of each side can be, by type and role; and the only dim that is left.
    fn alone(&mut self) {
        let (theirs, own) = self.left();
        let class = |a: &Arg| (a.dtype, a.is_buffer(), a.role.is_output());
        let mut pairs = vec![];
        for y in &own {
            let like: Vec<&&Arg> = theirs.iter().filter(|x| class(x) == class(y)).collect();
            let back = own.iter().filter(|o| class(o) == class(y)).count();
            if let ([x], 1) = (like.as_slice(), back) {
                pairs.push((y.name.clone(), x.name.clone()));
            }
        }
        for (y, x) in pairs {
            self.notes.push(format!("`{y}` is the original's `{x}`: no other has its type and role"));
            self.args.insert(y, x);
        }
        let (theirs, own) = self.left_dims();
        if let ([x], [y]) = (theirs.as_slice(), own.as_slice()) {
            self.notes.push(format!("`{y}` is the original's `{x}`: no other size is left"));
            self.dims.insert(y.clone(), x.clone());
        }
    }

    fn left_dims(&self) -> (Vec<String>, Vec<String>) {
        let free = |n: &String| !self.dims.values().any(|v| v == n);
        let theirs = self.original.dims.iter().map(|d| d.name.clone()).filter(free).collect();
        let own = self.other.dims.iter().map(|d| d.name.clone()).filter(|n| !self.dims.contains_key(n)).collect();
        (theirs, own)
    }

    /// Both plans launch the same number of kernels with the same types in the same places: the place decides, unless
    /// something that has a name stands in another.
    fn by_place(&mut self) {
        let (a, b): (Vec<&Launch>, Vec<&Launch>) =
            (self.original.launches().collect(), self.other.launches().collect());
        if a.len() != b.len() || a.iter().zip(&b).any(|(x, y)| x.args.len() != y.args.len()) {
            return;
        }
        let mut pairs: BTreeMap<(bool, String), String> = BTreeMap::new();
        for (x, y) in a.iter().zip(&b).flat_map(|(l, m)| l.args.iter().zip(&m.args)) {
            let (is_dim, x, y) = match (x, y) {
                (Argument::Buffer(x), Argument::Buffer(y)) if x.offset.is_none() && y.offset.is_none() => {
                    let (p, q) = (self.original.arg(&x.buffer), self.other.arg(&y.buffer));
                    let theirs = p.is_some_and(|a| a.role == Role::Temp);
                    let temporary = theirs || q.is_some_and(|a| is_temporary(self.original, a));
                    match (p, q) {
                        (Some(p), Some(q)) if fits(p, q) && !temporary => (false, &x.buffer, &y.buffer),
                        _ if temporary => continue,
                        _ => return,
                    }
                }
                (Argument::Int { value: Expr::Name(x), .. }, Argument::Int { value: Expr::Name(y), .. }) => {
                    (true, x, y)
                }
                (Argument::Scalar(x), Argument::Scalar(y)) => (false, x, y),
                _ => continue,
            };
            let known = if is_dim { &self.dims } else { &self.args };
            let clash = known.get(y).is_some_and(|z| z != x);
            let before = pairs.insert((is_dim, y.clone()), x.clone());
            if clash || before.is_some_and(|b| b != *x) {
                return;
            }
        }
        for ((is_dim, y), x) in pairs {
            let known = if is_dim { &mut self.dims } else { &mut self.args };
            if !known.contains_key(&y) && !known.values().any(|v| *v == x) {
                self.notes.push(format!("`{y}` is the original's `{x}`: by position"));
                known.insert(y, x);
            }
        }
    }

    fn all_there(&self) -> Result<(), Unclear> {
        let (theirs, own) = self.left();
        let names = |l: &[&Arg]| quoted(l.iter().map(|a| a.name.as_str()));
        let unclear = |y: &str, possible: String, example: &str| {
            let message = format!("`{y}` of the candidate can stand for several of the original's: {possible}");
            Unclear::new(message, format!("say which with --match {y}={example}, one for each"))
        };
        if let (Some(y), Some(x)) = (own.first(), theirs.first()) {
            return Err(unclear(&y.name, names(&theirs), &x.name));
        }
        if let Some(y) = own.first() {
            return Err(strange(&format!("`{}`", y.name)));
        }
        let (theirs, own) = self.left_dims();
        match (own.first(), theirs.first()) {
            (Some(y), Some(x)) => Err(unclear(y, quoted(&theirs), x)),
            (Some(y), None) => Err(strange(&format!("`{y}`"))),
            _ => Ok(()),
        }
    }
}

fn step(s: &Step, names: &BTreeMap<String, String>, values: &BTreeMap<String, String>) -> Option<Step> {
    let place = |r: &BufferRef| -> Option<BufferRef> {
        let offset = match &r.offset {
            Some(e) => Some(translated(e, values)?),
            None => None,
        };
        Some(BufferRef { buffer: names.get(&r.buffer)?.clone(), offset })
    };
    let length = |b: &Option<Expr>| match b {
        Some(e) => translated(e, values).map(Some),
        None => Some(None),
    };
    Some(match s {
        Step::Fill { buffer, byte, bytes } => Step::Fill { buffer: place(buffer)?, byte: *byte, bytes: length(bytes)? },
        Step::Copy { from, to, bytes } => Step::Copy { from: place(from)?, to: place(to)?, bytes: length(bytes)? },
        Step::Launch(l) => {
            let list = |list: &[Expr]| list.iter().map(|e| translated(e, values)).collect::<Option<Vec<_>>>();
            let argument = |a: &Argument| -> Option<Argument> {
                Some(match a {
                    Argument::Buffer(r) => Argument::Buffer(place(r)?),
                    Argument::Int { dtype, value } => {
                        Argument::Int { dtype: *dtype, value: translated(value, values)? }
                    }
                    Argument::Scalar(n) => Argument::Scalar(names.get(n)?.clone()),
                    other => other.clone(),
                })
            };
            Step::Launch(Launch {
                grid: list(&l.grid)?,
                block: list(&l.block)?,
                cluster: list(&l.cluster)?,
                shared: length(&l.shared)?,
                args: l.args.iter().map(argument).collect::<Option<_>>()?,
                ..l.clone()
            })
        }
    })
}

/// The expression with every name replaced; `None` where one is not known.
fn translated(e: &Expr, names: &BTreeMap<String, String>) -> Option<Expr> {
    let one = |e: &Expr| translated(e, names).map(Box::new);
    Some(match e {
        Expr::Name(n) => Expr::Name(names.get(n)?.clone()),
        Expr::Int(_) | Expr::SizeOf(_) => e.clone(),
        Expr::Neg(a) => Expr::Neg(one(a)?),
        Expr::Not(a) => Expr::Not(one(a)?),
        Expr::Binary(op, a, b) => Expr::Binary(*op, one(a)?, one(b)?),
        Expr::Select(c, a, b) => Expr::Select(one(c)?, one(a)?, one(b)?),
    })
}
