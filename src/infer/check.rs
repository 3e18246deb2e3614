//! A contract against the files that it is about.

use std::collections::{BTreeMap, BTreeSet};

use super::arith::type_named;
use super::cuda::element;
use super::host::Host;
use super::kernels::Kernels;
use super::value::{Event, Launched};
use super::view::View;
use crate::contract::{
    Arg, Argument, Contract, Expr, Launch, Open, OpenKind, Plan, Reference, Role, Value, near, unbound,
};
use crate::diag::{Code, Diagnostic};
use crate::facts::Macros;
use crate::ir::*;
use crate::source::{FileId, Sources, Span};

/// Everything that is wrong, missing or only proposed, in the order of the contract.
pub fn check(
    program: &Program,
    sources: &Sources,
    macros: &[Macros],
    files: &[FileId],
    contract: &Contract,
) -> Vec<Diagnostic> {
    let kernels = Kernels::new(program, sources, macros);
    let visible = visible_launches(program, sources, macros, files);
    let mut found = unbound(program, &contract.all_assumptions(program));
    for plan in &contract.plans {
        let checker = Checker { kernels: &kernels, visible: &visible, plan };
        checker.run(&mut found);
    }
    let key = |d: &Diagnostic| d.primary().map(|s| (s.file, s.start));
    found.sort_by_key(|d| (key(d), d.code));
    found.dedup();
    found
}

/// What is open, as a diagnostic.
pub fn open_question(open: &Open) -> Diagnostic {
    let (code, message, next) = match open.kind {
        OpenKind::Missing => (
            613,
            format!("{} of {} is open: {}", open.field, open.table, open.question),
            format!("write `{}`", open.field),
        ),
        OpenKind::Proposed => (
            614,
            format!("{} of {} is only proposed", open.field, open.table),
            "correct it if needed, then remove it from `proposed`".to_owned(),
        ),
    };
    let d = Diagnostic::warning(Code(code), message).next(next);
    open.span.into_iter().fold(d, |d, s| d.at(s, open.question.clone()))
}

struct Seen {
    launches: Vec<Launched>,
    /// Values of the symbols of the host code.
    samples: BTreeMap<String, i64>,
}

fn visible_launches(program: &Program, sources: &Sources, macros: &[Macros], files: &[FileId]) -> Vec<Seen> {
    let view = View::new(program, sources, macros);
    let targets: Vec<FunctionRef> = program.kernels();
    let roots = super::roots(program, &view, files, &targets);
    let mut found = vec![];
    for root in roots.into_iter().take(64) {
        let mut host = Host::new(program, sources, &view);
        host.run(root);
        let samples = host.symbols.iter().filter_map(|s| Some((s.name.clone(), s.value?))).collect();
        let launches = host.events.into_iter().filter_map(|e| if let Event::Launch(l) = e { Some(*l) } else { None });
        found.push(Seen { launches: launches.collect(), samples });
    }
    found
}

struct Checker<'c, 'a> {
    kernels: &'c Kernels<'a>,
    visible: &'c [Seen],
    plan: &'c Plan,
}

impl Checker<'_, '_> {
    fn run(&self, found: &mut Vec<Diagnostic>) {
        found.extend(self.plan.open().iter().map(open_question));
        self.unused(found);
        self.symbols(found);
        let mut written: BTreeSet<&str> = BTreeSet::new();
        let mut all_known = true;
        for l in self.plan.launches() {
            match self.kernel(&l.kernel, Some(l.args.len()), l.spans.kernel.or(l.spans.whole)) {
                Err(d) => {
                    all_known = false;
                    found.push(d);
                }
                Ok(f) => {
                    self.template(l, f.1, found);
                    self.arguments(l, f, found, &mut written);
                    found.extend(self.against_sites(l, f.0));
                }
            }
        }
        self.outputs(all_known, &written, found);
        if let Reference::Kernel(name) = &self.plan.reference {
            found.extend(self.kernel(name, None, None).err());
        }
    }

    fn kernel(
        &self,
        name: &str,
        arguments: Option<usize>,
        at: Option<Span>,
    ) -> Result<(FunctionRef, &Function), Diagnostic> {
        let program = self.kernels.program;
        let all: Vec<(FunctionRef, &Function)> =
            program.kernels().into_iter().map(|r| (r, program.function(r))).collect();
        let refs: Vec<FunctionRef> = all.iter().map(|(r, _)| *r).collect();
        let unclear = match super::matching::kernel(program, &refs, name, arguments, "`kernel`") {
            Ok(r) => return Ok((r, program.function(r))),
            Err(unclear) => unclear,
        };
        let there = refs.iter().any(|r| super::matching::same_name(name, &program.function(*r).qualified));
        let d = Diagnostic::error(Code(610), unclear.message);
        if there {
            return Err(at.into_iter().fold(d, |d, s| d.at(s, "this name")).next(unclear.next));
        }
        let next = match near(name, all.iter().map(|(_, f)| f.name.as_str())) {
            Some(right) => format!("write `{right}`"),
            None => "name a kernel of the files, or name the file that has it".into(),
        };
        Err(at.into_iter().fold(d, |d, s| d.at(s, "this name")).next(next))
    }

    fn template(&self, l: &Launch, f: &Function, found: &mut Vec<Diagnostic>) {
        let pack = f.template.iter().any(|t| t.is_pack);
        let deducible =
            |t: &&TemplateParam| t.value_type.is_none() && f.params.iter().any(|p| mentions(&f.var(*p).ty, &t.name));
        let needed = f.template.iter().filter(|t| t.default.is_none() && !deducible(t)).count();
        let given = l.template.len();
        let wrong = if f.template.is_empty() { given > 0 } else { given < needed || given > f.template.len() && !pack };
        if wrong || l.template.iter().any(|t| t == "?") {
            let message = format!(
                "`{}` has {} template parameters, {needed} of them needed, and {given} are given",
                f.name,
                f.template.len()
            );
            let d = Diagnostic::error(Code(623), message).see(f.name_span, "declared here");
            let d = l.spans.kernel.or(l.spans.whole).into_iter().fold(d, |d, s| d.at(s, "this launch"));
            let names: Vec<&str> = f.template.iter().map(|t| t.name.as_str()).collect();
            found.push(d.next(format!("write `template` with values for {}", names.join(", "))));
        }
    }

    fn arguments<'p>(
        &'p self,
        l: &'p Launch,
        (r, f): (FunctionRef, &Function),
        found: &mut Vec<Diagnostic>,
        written: &mut BTreeSet<&'p str>,
    ) {
        let optional = f.params.iter().rev().take_while(|p| f.var(**p).init.is_some()).count();
        let (given, wanted) = (l.args.len(), f.params.len());
        if given > wanted || given + optional < wanted {
            let d = Diagnostic::error(Code(611), format!("`{}` takes {wanted} arguments and is given {given}", f.name));
            let d =
                l.spans.args.last().copied().or(l.spans.whole).into_iter().fold(d, |d, s| d.at(s, "these arguments"));
            let d = d.see(f.name_span, "declared here");
            let missing = f.params.get(given).map(|p| f.var(*p).name.clone());
            found.push(d.next(match missing {
                Some(name) => format!("add a value for `{name}`"),
                None => "remove those that are too many".into(),
            }));
        }
        let known = self.kernels.known(r);
        for (n, (p, a)) in f.params.iter().zip(&l.args).enumerate() {
            let var = f.var(*p);
            let at = l.spans.args.get(n).copied().or(l.spans.whole);
            found.extend(self.type_fits(l, f, var, a, at));
            let usage = known.as_ref().and_then(|k| k.usages.get(n).copied()).unwrap_or_default();
            let Argument::Buffer(b) = a else { continue };
            if usage.writes || usage.opaque {
                written.insert(&b.buffer);
            }
            if let Some(arg) = self.plan.arg(&b.buffer)
                && arg.role == Role::In
                && usage.writes
                && !usage.opaque
            {
                let message = format!("`{}` has the role in, and `{}` writes it", arg.name, f.name);
                let d = Diagnostic::error(Code(624), message).see(var.name_span, "written through this parameter");
                let d = at.into_iter().fold(d, |d, s| d.at(s, "given here"));
                found.push(d.next("give it the role out, inout or temp"));
            }
        }
    }

    fn type_fits(&self, l: &Launch, f: &Function, var: &Var, a: &Argument, at: Option<Span>) -> Option<Diagnostic> {
        let resolve = |ty: &Type| match ty {
            Type::Param(name) => {
                let nth = f.template.iter().position(|t| t.name == *name)?;
                l.template.get(nth).and_then(|t| type_named(t)).as_ref().and_then(element)
            }
            t => element(t),
        };
        let pointer = matches!(var.ty, Type::Pointer(_));
        let wrong = |given: String, wanted: String| {
            let message = format!("`{}` of `{}` is {wanted} and is given {given}", var.name, f.name);
            let d = Diagnostic::error(Code(612), message).see(var.span, "the parameter");
            let d = at.into_iter().fold(d, |d, s| d.at(s, "given here"));
            Some(d.next("mend the dtype, or give another argument"))
        };
        match a {
            Argument::Buffer(b) => {
                let arg = self.plan.arg(&b.buffer)?;
                if !pointer {
                    return match resolve(&var.ty) {
                        Some((s, 1)) => wrong("a buffer".into(), s.name().into()),
                        _ => None,
                    };
                }
                let wanted = var.ty.element().and_then(resolve).map(|(s, _)| s)?;
                let given = arg.dtype?;
                // Bytes without a type of their own may be anything.
                let raw = matches!(wanted, Scalar::U8 | Scalar::I8);
                if given != wanted && !raw {
                    wrong(format!("a buffer of {}", given.name()), format!("a pointer to {}", wanted.name()))
                } else {
                    None
                }
            }
            Argument::Null if !pointer => wrong("null".into(), "no pointer".into()),
            Argument::Null | Argument::Open => None,
            _ if pointer => wrong("a number".into(), "a pointer".into()),
            Argument::Int { dtype, .. } | Argument::Float { dtype, .. } => {
                let (wanted, _) = resolve(&var.ty)?;
                if *dtype != wanted { wrong(dtype.name().into(), wanted.name().into()) } else { None }
            }
            Argument::Scalar(name) => {
                let (wanted, _) = resolve(&var.ty)?;
                let given = self.plan.arg(name)?.dtype?;
                if given != wanted { wrong(given.name().into(), wanted.name().into()) } else { None }
            }
        }
    }

    fn outputs(&self, all_known: bool, written: &BTreeSet<&str>, found: &mut Vec<Diagnostic>) {
        let steps: BTreeSet<&str> = self
            .plan
            .steps
            .iter()
            .filter_map(|s| match s {
                crate::contract::Step::Fill { buffer, .. } => Some(buffer.buffer.as_str()),
                crate::contract::Step::Copy { to, .. } => Some(to.buffer.as_str()),
                crate::contract::Step::Launch(_) => None,
            })
            .collect();
        for a in self.plan.args.iter().filter(|a| a.role.is_output() && all_known) {
            let given = a.symbol.is_none() && self.plan.launches().any(|l| uses(l, &a.name));
            if given && !written.contains(a.name.as_str()) && !steps.contains(a.name.as_str()) {
                let message = format!("`{}` has the role {}, and no launch writes it", a.name, a.role.word());
                let d = Diagnostic::error(Code(624), message).next("give it the role in");
                found.push(a.span.into_iter().fold(d, |d, s| d.at(s, "this argument")));
            }
        }
    }

    /// Variables that arguments stand for must be in the files.
    fn symbols(&self, found: &mut Vec<Diagnostic>) {
        let globals = || self.kernels.program.units.iter().flat_map(|u| &u.globals);
        for a in &self.plan.args {
            let Some(name) = &a.symbol else { continue };
            let is_it = |g: &&Global| super::matching::same_name(name, &g.qualified);
            if !globals().any(|g| is_it(&g) && (g.is_constant_memory || g.is_device)) {
                let d = Diagnostic::error(Code(610), format!("there is no device variable `{name}`"));
                let d = a.span.into_iter().fold(d, |d, s| d.at(s, "this argument"));
                let names = globals().filter(|g| g.is_constant_memory || g.is_device).map(|g| g.name.as_str());
                found.push(d.next(match near(name, names) {
                    Some(right) => format!("write `{right}`"),
                    None => "name a `__constant__` or `__device__` variable of the files".into(),
                }));
            }
        }
    }

    fn unused(&self, found: &mut Vec<Diagnostic>) {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let p = self.plan;
        let mut take =
            |e: &'_ Expr| names.extend(e.names().into_iter().map(|n| p.dim(n).map_or("", |d| d.name.as_str())));
        p.require.iter().for_each(&mut take);
        for a in &p.args {
            a.shape.iter().for_each(&mut take);
            a.writes.iter().flat_map(|(x, y)| [x, y]).for_each(&mut take);
            for b in a.legal.iter().flat_map(|(x, y)| [x, y]) {
                if let crate::contract::Bound::Int(e) = b {
                    take(e);
                }
            }
            if let Some(Value::Int(e)) = &a.value {
                take(e);
            }
        }
        for l in p.launches() {
            l.grid.iter().chain(&l.block).chain(&l.shared).chain(&l.cluster).for_each(&mut take);
            for a in &l.args {
                match a {
                    Argument::Int { value, .. } => take(value),
                    Argument::Buffer(b) => b.offset.iter().for_each(&mut take),
                    _ => {}
                }
            }
        }
        for d in p.dims.iter().filter(|d| !names.contains(d.name.as_str())) {
            let diagnostic = Diagnostic::warning(Code(620), format!("nothing uses the dim `{}`", d.name));
            let diagnostic = d.span.into_iter().fold(diagnostic, |x, s| x.at(s, "this dim"));
            found.push(diagnostic.next("use it in a shape, a grid or an argument, or remove it"));
        }
        for a in p.args.iter().filter(|a| !self.argument_used(a)) {
            let d = Diagnostic::warning(Code(620), format!("no step is given `{}`", a.name));
            let d = a.span.into_iter().fold(d, |d, s| d.at(s, "this argument"));
            found.push(d.next("give it to a launch, or remove it"));
        }
    }

    fn argument_used(&self, a: &Arg) -> bool {
        let p = self.plan;
        let in_expr = p.args.iter().flat_map(|x| &x.shape).any(|e| e.names().contains(a.name.as_str()));
        let in_launch = p.launches().any(|l| {
            let ints =
                l.args.iter().filter_map(|x| if let Argument::Int { value, .. } = x { Some(value) } else { None });
            uses(l, &a.name)
                || l.grid
                    .iter()
                    .chain(&l.block)
                    .chain(&l.shared)
                    .chain(ints)
                    .any(|e| e.names().contains(a.name.as_str()))
        });
        in_expr
            || a.symbol.is_some()
            || in_launch
            || p.steps.iter().any(|s| match s {
                crate::contract::Step::Fill { buffer, .. } => buffer.buffer == a.name,
                crate::contract::Step::Copy { from, to, .. } => from.buffer == a.name || to.buffer == a.name,
                crate::contract::Step::Launch(_) => false,
            })
    }

    /// Grid, block and shared memory against the launches that the files show, for the first samples.
    fn against_sites(&self, l: &Launch, kernel: FunctionRef) -> Option<Diagnostic> {
        let own: BTreeMap<&str, i64> =
            self.plan.dims.iter().filter_map(|d| Some((d.name.as_str(), *d.samples.first()?))).collect();
        let mine = |e: &Expr| e.eval(&|n| own.get(n).copied()).ok();
        let axes = |list: &[Expr]| {
            let mut found = [Some(1); 3];
            found.iter_mut().zip(list).for_each(|(slot, e)| *slot = mine(e));
            found
        };
        let (grid, block) = (axes(&l.grid), axes(&l.block));
        let shared = l.shared.as_ref().map_or(Some(0), mine);
        let mut closest: Option<(usize, &Launched, String, Option<Span>)> = None;
        for seen in self.visible {
            let value = |e: &Expr| e.eval(&|n| own.get(n).or_else(|| seen.samples.get(n)).copied()).ok();
            for site in seen.launches.iter().filter(|s| self.kernels.of(s) == Some(kernel)) {
                let mut differ = vec![];
                for (what, mine, theirs, at) in
                    [("grid", &grid, &site.grid, l.spans.grid), ("block", &block, &site.block, l.spans.block)]
                {
                    let Ok(theirs) = theirs else { continue };
                    let theirs = theirs.each_ref().map(value);
                    let clash = mine.iter().zip(&theirs).any(|(a, b)| a.is_some() && b.is_some() && a != b);
                    if clash && !(what == "grid" && l.grid.is_empty()) && !(what == "block" && l.block.is_empty()) {
                        let show =
                            |d: &[Option<i64>; 3]| d.map(|v| v.map_or("?".to_owned(), |v| v.to_string())).join(" x ");
                        differ.push((format!("the {what} is {} here and {} there", show(mine), show(&theirs)), at));
                    }
                }
                let theirs = site.shared.as_ref().ok().and_then(value);
                if let (Some(a), Some(b)) = (shared, theirs)
                    && a != b
                {
                    differ.push((format!("the dynamic shared memory is {a} bytes here and {b} there"), l.spans.shared));
                }
                let (text, at) = differ.first().cloned()?;
                if closest.as_ref().is_none_or(|(n, ..)| differ.len() < *n) {
                    closest = Some((differ.len(), site, text, at));
                }
            }
        }
        let (_, site, text, at) = closest?;
        let d =
            Diagnostic::error(Code(622), format!("no launch of `{}` in the files is like this one: {text}", l.kernel));
        let d = at.or(l.spans.whole).into_iter().fold(d, |d, s| d.at(s, "in the contract"));
        Some(d.see(site.span, "in the file").next("write what the file says, or mend the file"))
    }
}

fn uses(l: &Launch, name: &str) -> bool {
    l.args.iter().any(|a| match a {
        Argument::Buffer(b) => b.buffer == name,
        Argument::Scalar(n) => n == name,
        _ => false,
    })
}

fn mentions(ty: &Type, name: &str) -> bool {
    match ty {
        Type::Param(n) => n == name,
        Type::Pointer(p) | Type::Reference(p) => mentions(&p.ty, name),
        Type::Array { elem, .. } => mentions(elem, name),
        Type::Named(n) => n.contains(name),
        _ => false,
    }
}
