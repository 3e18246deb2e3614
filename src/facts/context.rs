//! Contexts: under which template values and launch shapes a kernel runs, and what assumptions say of its arguments.
//!
//! The first context of a kernel is general: it knows nothing of launches and holds for all of them. The others are
//! those of the launches in view. What does not follow in the general context may follow in every other one, and then
//! rests on those being all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::atom::Atom;
use super::because::Because;
use super::effects::Scope;
use super::interval::Interval;
use super::macros::Macros;
use super::names::HostWalk;
use super::notes::Notes;
use super::poly::Poly;
use super::range::{Congruence, Known};
use super::state::Walked;
use super::value::{Value, type_range};
use super::walk::{Walker, scalar_of};
use crate::contract::{Assumption, AssumptionKind, Relation, Term};
use crate::ir::*;

/// What is known before the first statement.
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub known: Known,
    /// Values of template parameters.
    pub values: BTreeMap<String, i128>,
    /// Sizes of template type parameters, and the scalars they are.
    pub types: BTreeMap<String, u32>,
    pub scalars: BTreeMap<String, Scalar>,
    pub no_wrap: bool,
    /// Why the values, types and shapes hold.
    pub because: Because,
    /// Sets of pointers each of which is reached through no other.
    pub noalias: Vec<(BTreeSet<VarId>, Because)>,
    /// Allocations behind pointer parameters: equal numbers are the same allocation.
    pub allocations: BTreeMap<VarId, (u32, Because)>,
    /// Permissions of the caller, with the ids of the assumptions that give them.
    pub permits: BTreeMap<String, String>,
    /// "any launch", or which one.
    pub label: String,
}

/// All that the contexts of one kernel share.
pub struct Contexts {
    pub general: Context,
    /// One for each launch or instantiation in view; empty where there is none.
    pub visible: Vec<Context>,
}

pub fn contexts(program: &Program, kernel: FunctionRef, assumptions: &[&Assumption], macros: &[Macros]) -> Contexts {
    let f = program.function(kernel);
    let mut general = base(f, assumptions);
    general.label = "any launch".into();
    let complete = assumptions.iter().find(|a| a.kind == AssumptionKind::Complete);
    let closure = match complete {
        _ if all_launches_visible(program, kernel, macros) => Because::nothing(),
        Some(a) => Because::assuming(a.id.clone()),
        None => Because::assuming("implicit:visible-launches"),
    };
    let mut visible = vec![];
    let names = macros.get(kernel.unit as usize).and_then(Macros::names);
    for r in names.map_or_else(|| program.launches_of(kernel), |n| n.launches_of(program, kernel)) {
        let mut context = general.clone();
        let launch = program.launch(r);
        context.because = closure.clone().and(&Because::at(launch.span, "launched here"));
        context.label = "this launch".into();
        let caller = program.unit(r.unit).functions.get(launch.caller.0 as usize);
        instantiate(&mut context, program, r.unit, f, &launch.template_args, caller, macros);
        host_facts(&mut context, program, r, f, macros);
        visible.push(context);
    }
    for (u, n) in names.filter(|_| f.is_template()).map_or(&[][..], |n| n.instantiations_of(&f.name)) {
        let Some((_, args, span)) = program.unit(*u).instantiations.get(*n as usize) else { continue };
        let mut context = general.clone();
        context.because = closure.clone().and(&Because::at(*span, "instantiated here"));
        context.label = "this instantiation".into();
        instantiate(&mut context, program, *u, f, args, None, macros);
        visible.push(context);
    }
    Contexts { general, visible }
}

/// What the hardware's limits say of every launch.
static LIMITS: LazyLock<Known> = LazyLock::new(|| {
    let mut known = Known::default();
    let block = Because::assuming("standing:block-limit");
    let grid = Because::assuming("standing:grid-limit");
    for (axis, threads, blocks) in [(Axis::X, 1024, i128::from(i32::MAX)), (Axis::Y, 1024, 65535), (Axis::Z, 64, 65535)]
    {
        known.bound(Atom::BlockDim(axis), Interval::new(1, threads), block.clone());
        known.bound(Atom::Thread(axis), Interval::new(0, threads - 1), block.clone());
        known.bound(Atom::GridDim(axis), Interval::new(1, blocks), grid.clone());
        known.bound(Atom::Block(axis), Interval::new(0, blocks - 1), grid.clone());
        for (inner, outer) in [(Atom::Thread(axis), Atom::BlockDim(axis)), (Atom::Block(axis), Atom::GridDim(axis))] {
            let room = Poly::atom(outer).sub(&Poly::atom(inner)).and_then(|p| p.offset(-1));
            room.into_iter().for_each(|p| known.assume_nonneg(p, Because::nothing()));
        }
    }
    known
});

/// What holds for every launch: the limits of the hardware, `__launch_bounds__`, and the contract.
fn base(f: &Function, assumptions: &[&Assumption]) -> Context {
    let mut c = Context { known: LIMITS.clone(), ..Context::default() };
    if let Some((text, span)) = &f.bounds.max_threads
        && let Ok(max) = text.trim().parse::<i128>()
    {
        for axis in [Axis::X, Axis::Y, Axis::Z] {
            let because = Because::at(*span, "no launch with more threads than this succeeds");
            c.known.bound(Atom::BlockDim(axis), Interval::new(1, max), because.clone());
            c.known.bound(Atom::Thread(axis), Interval::new(0, max - 1), because);
        }
    }
    for a in assumptions {
        apply(&mut c, f, a);
    }
    c
}

/// Why what is assumed holds.
fn assumed(a: &Assumption) -> Because {
    let mut because = Because::assuming(a.id.clone());
    if let Some(span) = a.span {
        because.join(&Because::at(span, "assumed here"));
    }
    because
}

/// What the assumptions say of `f`, where all of them are congruences.
pub(super) fn congruences(f: &Function, assumptions: &[Assumption]) -> Option<Vec<Congruence>> {
    let mut known = Known::default();
    for a in assumptions {
        let AssumptionKind::Congruent { term: t, modulus, residue } = &a.kind else { return None };
        term(f, t).into_iter().for_each(|p| known.assume_congruent(p, *modulus, *residue, assumed(a)));
    }
    Some(known.congruent.iter().cloned().collect())
}

fn apply(c: &mut Context, f: &Function, a: &Assumption) {
    let because = assumed(a);
    let pointer = |name: &String| {
        f.params.iter().copied().find(|p| f.var(*p).name == *name && matches!(f.var(*p).ty, Type::Pointer(_)))
    };
    match &a.kind {
        AssumptionKind::Compare { left, op, right } => {
            let (Some(l), Some(r)) = (term(f, left), term(f, right)) else { return };
            let less = |x: &Poly, y: &Poly, by: i128| y.sub(x).and_then(|p| p.offset(-by));
            match op {
                Relation::Eq => l.sub(&r).into_iter().for_each(|p| c.known.assume_zero(p, because.clone())),
                Relation::Ne => l.sub(&r).into_iter().for_each(|p| c.known.assume_nonzero(p, because.clone())),
                Relation::Lt => less(&l, &r, 1).into_iter().for_each(|p| c.known.assume_nonneg(p, because.clone())),
                Relation::Le => less(&l, &r, 0).into_iter().for_each(|p| c.known.assume_nonneg(p, because.clone())),
                Relation::Gt => less(&r, &l, 1).into_iter().for_each(|p| c.known.assume_nonneg(p, because.clone())),
                Relation::Ge => less(&r, &l, 0).into_iter().for_each(|p| c.known.assume_nonneg(p, because.clone())),
            }
        }
        AssumptionKind::Congruent { term: t, modulus, residue } => {
            term(f, t).into_iter().for_each(|p| c.known.assume_congruent(p, *modulus, *residue, because.clone()));
        }
        AssumptionKind::Aligned { pointer: name, bytes } => {
            if let Some(v) = pointer(name) {
                c.known.assume_congruent(Poly::atom(Atom::Address(v)), *bytes, 0, because);
            }
        }
        AssumptionKind::NoAlias(names) => {
            let vars: Option<BTreeSet<VarId>> = names.iter().map(pointer).collect();
            c.noalias.extend(vars.map(|v| (v, because)));
        }
        AssumptionKind::NoWrap => c.no_wrap = true,
        AssumptionKind::Permit(what) => _ = c.permits.insert(what.clone(), a.id.clone()),
        AssumptionKind::Complete => {}
    }
}

/// An assumption's expression over the atoms of `f`; `None` where a name means nothing here.
fn term(f: &Function, t: &Term) -> Option<Poly> {
    match t {
        Term::Int(v) => Some(Poly::constant(*v)),
        Term::Add(a, b) => term(f, a)?.add(&term(f, b)?),
        Term::Sub(a, b) => term(f, a)?.sub(&term(f, b)?),
        Term::Mul(a, b) => term(f, a)?.mul(&term(f, b)?),
        Term::Name(n) => named(f, n),
    }
}

fn named(f: &Function, name: &str) -> Option<Poly> {
    if let Some((object, member)) = name.split_once('.') {
        let axis = match member {
            "x" => Axis::X,
            "y" => Axis::Y,
            "z" => Axis::Z,
            _ => return None,
        };
        return match object {
            "blockDim" => Some(Poly::atom(Atom::BlockDim(axis))),
            "gridDim" => Some(Poly::atom(Atom::GridDim(axis))),
            _ => None,
        };
    }
    if let Some(p) = f.params.iter().find(|p| f.var(**p).name == name) {
        let is_int = scalar_of(&f.var(*p).ty).is_some_and(|s| s.is_integer());
        return is_int.then(|| Poly::atom(Atom::Param(*p)));
    }
    f.template.iter().any(|t| t.name == name && t.value_type.is_some()).then(|| Poly::atom(Atom::Name(name.into())))
}

/// Whether no launch of the kernel can be out of view: a complete program or internal linkage, and the kernel's name
/// stands nowhere but in launches.
pub fn all_launches_visible(program: &Program, kernel: FunctionRef, macros: &[Macros]) -> bool {
    let f = program.function(kernel);
    let unit = program.unit(kernel.unit);
    if !(program.complete || f.is_static || f.in_anonymous_namespace) {
        return false;
    }
    let Some(names) = macros.get(kernel.unit as usize).and_then(Macros::names) else { return false };
    let named = names.is_mentioned(&f.name);
    // A template argument list blocks the name from being an expression of its own: `&k<4>` is opaque text.
    let odd = names.flawed;
    let in_macro = names.stands_in_macro(macros, &f.name);
    !named && !odd && !in_macro && unit.problems.is_empty()
}

/// Reads template arguments.
fn instantiate(
    c: &mut Context,
    program: &Program,
    unit: u32,
    f: &Function,
    args: &[String],
    caller: Option<&Function>,
    macros: &[Macros],
) {
    // A name that the caller declares itself is not the one of file scope.
    let own = |text: &str| {
        let text = text.trim();
        caller.is_some_and(|h| h.vars.iter().any(|v| v.name == text) || h.template.iter().any(|t| t.name == text))
            || macros.get(unit as usize).and_then(Macros::names).is_none_or(|n| n.has_alias(text))
    };
    for (i, p) in f.template.iter().enumerate() {
        if p.is_pack {
            break;
        }
        let Some(text) = args.get(i).or(if args.is_empty() { None } else { p.default.as_ref() }) else { continue };
        if own(text) {
            continue;
        }
        if p.value_type.is_some() {
            if let Some((v, why)) = constant(program.unit(unit), macros.get(unit as usize), text) {
                c.because.join(&why);
                c.values.insert(p.name.clone(), v);
                let atom = Poly::atom(Atom::Name(p.name.as_str().into()));
                let because = c.because.clone();
                atom.offset(-v).into_iter().for_each(|p| c.known.assume_zero(p, because.clone()));
            }
        } else if let Some(s) = scalar_name(text) {
            c.types.insert(p.name.clone(), s.bytes());
            c.scalars.insert(p.name.clone(), s);
        }
    }
}

fn constant(unit: &Unit, macros: Option<&Macros>, text: &str) -> Option<(i128, Because)> {
    let text = text.trim();
    match text {
        "true" => return Some((1, Because::nothing())),
        "false" => return Some((0, Because::nothing())),
        _ => {}
    }
    if let Ok(v) = text.trim_end_matches(['u', 'U', 'l', 'L']).parse() {
        return Some((v, Because::nothing()));
    }
    let mut values = unit.constants.iter().filter(|(n, ..)| n == text).map(|(_, v, _)| *v);
    if let Some(v) = values.next() {
        let macros = macros?;
        let one = values.all(|o| o == v) && macros.is_settled(text, &unit.constants);
        return one.then(|| (v, macros.reservation(text)));
    }
    if macros.is_none_or(|m| m.contains(text)) {
        return None;
    }
    let last = text.rsplit("::").next().unwrap_or(text);
    let mut globals = unit.globals.iter().filter(|g| g.name == last && (g.is_const || g.is_constexpr));
    match (globals.next(), globals.next()) {
        (Some(g), None) => {
            let behind = macros?.behind(g, unit)?;
            g.value.map(|v| (v, Because::at(g.span, format!("`{text}`")).and(&behind)))
        }
        _ => None,
    }
}

fn scalar_name(text: &str) -> Option<Scalar> {
    Some(match text.trim() {
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        "int" | "int32_t" => Scalar::I32,
        "unsigned" | "unsigned int" | "uint32_t" => Scalar::U32,
        "half" | "__half" | "at::Half" => Scalar::F16,
        "__nv_bfloat16" | "nv_bfloat16" | "at::BFloat16" => Scalar::BF16,
        "int8_t" | "signed char" => Scalar::I8,
        "uint8_t" | "unsigned char" => Scalar::U8,
        "int64_t" | "long long" => Scalar::I64,
        _ => return None,
    })
}

/// Block shape, integer arguments and allocations of one launch, from the function that holds it.
fn host_facts(c: &mut Context, program: &Program, r: LaunchRef, f: &Function, macros: &[Macros]) {
    let launch = program.launch(r);
    let unit = program.unit(r.unit);
    let host = unit.function(launch.caller);
    let Some(m) = macros.get(r.unit as usize) else { return };
    let Some(names) = m.names() else { return };
    let walked = names.host(FunctionRef { unit: r.unit, function: launch.caller }, || {
        let notes = Notes::of(&Scope { program, unit, function: host, macros: m });
        let walked: Walked = Walker::run(program, unit, host, m, &Context::default(), &notes);
        HostWalk { tainted: walked.taint.is_some(), launches: walked.launches }
    });
    let Some(state) = walked.launches.get(&r.launch).filter(|_| !walked.tainted) else { return };
    let because = c.because.clone().and(&state.because);
    for (dims, make) in
        [(&state.block, Atom::BlockDim as fn(Axis) -> Atom), (&state.grid, Atom::GridDim as fn(Axis) -> Atom)]
    {
        let Some(dims) = dims else { continue };
        for (axis, poly) in [Axis::X, Axis::Y, Axis::Z].into_iter().zip(dims) {
            if let Some(v) = poly.as_constant().filter(|v| *v >= 1) {
                let atom = Poly::atom(make(axis));
                atom.offset(-v).into_iter().for_each(|p| c.known.assume_zero(p, because.clone()));
            }
        }
    }
    if launch.args.len() != f.params.len() {
        return;
    }
    let mut numbers: BTreeMap<VarId, u32> = BTreeMap::new();
    for (i, p) in f.params.iter().enumerate() {
        let (Some(value), Some(arg)) = (state.args.get(i), launch.args.get(i)) else { continue };
        match (&f.var(*p).ty, value) {
            (Type::Scalar(s), Value::Int(v)) if s.is_integer() && !v.modular => {
                let (range, why) = state.known.range(&v.poly);
                if range.within(type_range(*s)) {
                    c.known.bound(Atom::Param(*p), range, because.clone().and(&why).and(&v.because));
                }
            }
            (Type::Pointer(_), _) => {
                if let Some((var, why)) = super::host::allocation(unit, host, m, *arg) {
                    let next = numbers.len() as u32;
                    let number = *numbers.entry(var).or_insert(next);
                    let why = because.clone().and(&why);
                    c.known.assume_congruent(Poly::atom(Atom::Address(*p)), 256, 0, why.clone());
                    c.allocations.insert(*p, (number, why));
                }
            }
            _ => {}
        }
    }
}
