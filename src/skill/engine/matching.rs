//! Finds the places of a function to which a skill's `match` clause can be bound.

use std::collections::BTreeMap;

use super::eval::{About, Evaluator};
use super::site::Bound;
use crate::ir::{
    AccessMode, Anchor, BarrierKind, ExprKind, Function, FunctionRef, LoopId, LoopKind, Place, Program, ReductionKind,
    Space, Step,
};
use crate::skill::ast::{Binding, Skill};
use crate::skill::vocabulary::Surface;

/// Bindings found before the number of candidates of one skill in one function is cut; the rest is reported.
pub const MAX_CANDIDATES: usize = 2_000;

/// Whether the function has places for every binding, nested as the skill says: a cheap look before facts are computed,
/// which alone can tell of the places that a `where` asks about.
pub fn possible(skill: &Skill, program: &Program, at: FunctionRef) -> bool {
    let f = program.function(at);
    let first = skill.bindings.first();
    first.is_some_and(|b| has_surface(b, f)) && nests(skill, program, f, at, &BTreeMap::new())
}

/// Whether there is any surface of the binding's kind, told without a list of them.
fn has_surface(binding: &Binding, f: &Function) -> bool {
    match binding.surface.node {
        Surface::Access | Surface::Load | Surface::Store => !f.accesses.is_empty(),
        Surface::Shared => !f.tiles.is_empty(),
        Surface::Loop => !f.loops.is_empty(),
        Surface::Barrier => !f.barriers.is_empty(),
        Surface::Reduction if binding.arguments.iter().any(|a| a.node == "shared") => {
            f.reductions.iter().any(|r| matches!(r.kind, ReductionKind::SharedTree { .. }))
        }
        Surface::Reduction => !f.reductions.is_empty(),
        Surface::Call => f.exprs.iter().any(|e| match &e.kind {
            ExprKind::Call { callee, .. } => {
                let name = callee.strip_prefix("::").unwrap_or(callee);
                binding.arguments.iter().any(|a| a.node == name)
            }
            _ => false,
        }),
        _ => true,
    }
}

/// Whether places for the bindings after `bound` can be found, whatever their conditions say.
fn nests(skill: &Skill, program: &Program, f: &Function, at: FunctionRef, bound: &BTreeMap<String, Bound>) -> bool {
    let Some(binding) = skill.bindings.get(bound.len()) else { return true };
    let mut places = places_within(binding, program, f, at, bound);
    if bound.len() + 1 == skill.bindings.len() {
        return places.next().is_some();
    }
    places.any(|anchor| {
        let mut next = bound.clone();
        next.insert(binding.name.node.clone(), Bound::One(anchor));
        nests(skill, program, f, at, &next)
    })
}

/// The places of a binding, inside the one that it names.
fn places_within(
    binding: &Binding,
    program: &Program,
    f: &Function,
    at: FunctionRef,
    bound: &BTreeMap<String, Bound>,
) -> impl Iterator<Item = Anchor> {
    let within = binding.within.as_ref().and_then(|w| bound.get(&w.node)).and_then(|b| b.anchors().first()).copied();
    let inside = move |anchor: &Anchor| within.is_none_or(|outer| is_within(f, *anchor, outer));
    places(binding, program, f, at).into_iter().filter(inside)
}

/// All candidates in the order of the text. The second value is false when the limit cut the list.
pub fn candidates(
    skill: &Skill,
    program: &Program,
    at: FunctionRef,
    eval: &Evaluator,
) -> (Vec<BTreeMap<String, Bound>>, bool) {
    let f = program.function(at);
    let mut found = vec![];
    let mut complete = true;
    extend(skill, program, f, at, eval, &BTreeMap::new(), &mut found, &mut complete);
    (found, complete)
}

#[allow(clippy::too_many_arguments)]
fn extend(
    skill: &Skill,
    program: &Program,
    f: &Function,
    at: FunctionRef,
    eval: &Evaluator,
    bound: &BTreeMap<String, Bound>,
    found: &mut Vec<BTreeMap<String, Bound>>,
    complete: &mut bool,
) {
    let Some(binding) = skill.bindings.get(bound.len()) else {
        if found.len() < MAX_CANDIDATES {
            found.push(bound.clone());
        } else {
            *complete = false;
        }
        return;
    };
    let mut places: Vec<Anchor> = places_within(binding, program, f, at, bound).collect();
    places.sort_by_key(|a| (a.span, a.place));
    let passes = |anchor: &Anchor| filter(skill, binding, eval, bound, *anchor);
    if binding.each {
        let members: Vec<Anchor> = places.into_iter().filter(passes).collect();
        if !members.is_empty() {
            let mut next = bound.clone();
            next.insert(binding.name.node.clone(), Bound::Each(members));
            extend(skill, program, f, at, eval, &next, found, complete);
        }
        return;
    }
    for anchor in places {
        if passes(&anchor) && *complete {
            let mut next = bound.clone();
            next.insert(binding.name.node.clone(), Bound::One(anchor));
            extend(skill, program, f, at, eval, &next, found, complete);
        }
    }
}

/// The `where` condition: a place for which it is not known to be true is no candidate.
fn filter(skill: &Skill, binding: &Binding, eval: &Evaluator, bound: &BTreeMap<String, Bound>, anchor: Anchor) -> bool {
    let Some(condition) = &binding.condition else { return true };
    let mut scope_bindings = bound.clone();
    scope_bindings.insert(binding.name.node.clone(), Bound::One(anchor));
    eval.about(About { skill, bindings: &scope_bindings, member: None }).ask(condition).is_true()
}

fn places(binding: &Binding, program: &Program, f: &Function, at: FunctionRef) -> Vec<Anchor> {
    let word = |name: &str| binding.arguments.iter().any(|a| a.node == name);
    let any = binding.arguments.is_empty();
    let of_expr = |place, expr| Anchor { function: at, place, span: f.expr(expr).span };
    let of_stmt = |place, stmt| Anchor { function: at, place, span: f.stmt(stmt).span };
    match binding.surface.node {
        Surface::Kernel | Surface::Function => {
            vec![Anchor { function: at, place: Place::Kernel, span: f.name_span }]
        }
        Surface::Parameter => {
            f.params.iter().map(|&v| Anchor { function: at, place: Place::Parameter(v), span: f.var(v).span }).collect()
        }
        surface @ (Surface::Access | Surface::Load | Surface::Store) => {
            let wanted = |mode| match surface {
                Surface::Load => mode != AccessMode::Store,
                Surface::Store => mode != AccessMode::Load,
                _ => true,
            };
            ids(&f.accesses)
                .filter(|(_, a)| wanted(a.mode) && (any || word(space_word(a.space))))
                .map(|(i, a)| of_expr(Place::Access(crate::ir::AccessId(i)), a.expr))
                .collect()
        }
        Surface::Shared => ids(&f.tiles)
            .map(|(i, t)| Anchor { function: at, place: Place::Tile(crate::ir::TileId(i)), span: f.var(t.var).span })
            .collect(),
        Surface::Loop => ids(&f.loops)
            .filter(|(_, k)| any || (word("halving") && halves(k)) || (word("serial") && k.kind == LoopKind::For))
            .map(|(i, k)| of_stmt(Place::Loop(LoopId(i)), k.stmt))
            .collect(),
        Surface::Barrier => ids(&f.barriers)
            .filter(|(_, b)| any || word(barrier_word(b.kind)))
            .map(|(i, b)| of_stmt(Place::Barrier(crate::ir::BarrierId(i)), b.stmt))
            .collect(),
        Surface::Reduction => ids(&f.reductions)
            .filter(|(_, r)| {
                any || match r.kind {
                    ReductionKind::Serial { .. } => word("serial"),
                    ReductionKind::SharedTree { .. } => word("shared"),
                }
            })
            .map(|(i, r)| of_stmt(Place::Reduction(crate::ir::ReductionId(i)), f.loops[r.id_loop.0 as usize].stmt))
            .collect(),
        Surface::Call => ids(&f.exprs)
            .filter(|(_, e)| match &e.kind {
                ExprKind::Call { callee, receiver: None, .. } => word(callee.strip_prefix("::").unwrap_or(callee)),
                _ => false,
            })
            .map(|(i, _)| of_expr(Place::Expr(crate::ir::ExprId(i)), crate::ir::ExprId(i)))
            .collect(),
        Surface::Expr => {
            ids(&f.exprs).map(|(i, _)| of_expr(Place::Expr(crate::ir::ExprId(i)), crate::ir::ExprId(i))).collect()
        }
        Surface::Launch => {
            let anchor = |l| Anchor { function: at, place: Place::Launch(l), span: program.launch(l).span };
            program.launches_of(at).into_iter().map(anchor).collect()
        }
        Surface::Atomic => ids(&f.atomics).map(|(_, a)| of_expr(Place::Expr(a.expr), a.expr)).collect(),
        Surface::Registers
        | Surface::Branch
        | Surface::Accumulator
        | Surface::TileCopy
        | Surface::TileGemm
        | Surface::TilePipelined
        | Surface::TileParallel
        | Surface::TileAlloc
        | Surface::TileKernel => vec![],
    }
}

fn ids<T>(items: &[T]) -> impl Iterator<Item = (u32, &T)> {
    items.iter().enumerate().map(|(i, item)| (i as u32, item))
}

fn space_word(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
        Space::Unknown => "",
    }
}

fn barrier_word(kind: BarrierKind) -> &'static str {
    match kind {
        BarrierKind::Block => "block",
        BarrierKind::Warp => "warp",
        BarrierKind::Grid => "grid",
        BarrierKind::Cluster => "cluster",
        BarrierKind::Other => "",
    }
}

fn halves(k: &crate::ir::Loop) -> bool {
    let halving = |op| matches!(op, crate::ir::BinaryOp::Shr | crate::ir::BinaryOp::Div);
    matches!(k.induction.map(|i| i.step), Some(Step::Scale { op, .. }) if halving(op))
}

/// Whether the anchor's surface lies inside `outer`: for loops by nesting, otherwise by text.
fn is_within(f: &Function, anchor: Anchor, outer: Anchor) -> bool {
    match (anchor.place, outer.place) {
        (Place::Access(a), Place::Loop(k)) => f.accesses[a.0 as usize].loops.contains(&k),
        (Place::Barrier(b), Place::Loop(k)) => f.barriers[b.0 as usize].loops.contains(&k),
        (Place::Access(a), Place::Tile(t)) => f.accesses[a.0 as usize].base == f.tiles[t.0 as usize].var,
        _ => outer.span.contains(anchor.span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{analyse, macros_of};
    use crate::skill::Library;
    use crate::source::mask::MacroTable;
    use crate::source::{SourceFile, Sources};
    use crate::syntax::cuda::parse_unit;

    /// Of each skill, whether the first function looks possible, and how many places there are.
    fn looks(text: &str) -> Vec<(String, bool, usize)> {
        let mut sources = Sources::default();
        let file = sources.add(SourceFile::new("k.cu", text));
        let units = vec![parse_unit(file, sources.get(file), &MacroTable::default())];
        let program = Program { units, complete: false };
        let macros = macros_of(&program, &sources);
        let at = program.kernels()[0];
        let analysis = analyse(&program, &macros, at, &[]).expect("facts");
        let eval = Evaluator { analysis: &analysis };
        let of = |skill: &Skill| {
            let found = candidates(skill, &program, at, &eval).0.len();
            (skill.name.node.clone(), possible(skill, &program, at), found)
        };
        Library::built_in().expect("the skills load").iter().map(|s| of(&s.skill)).collect()
    }

    /// The skills for which the kernel looks possible.
    fn possible_in(body: &str) -> Vec<String> {
        let looks = looks(&format!("__global__ void k(float* p, const float* q, int n) {{ {body} }}\n"));
        for (name, possible, found) in &looks {
            assert!(*possible || *found == 0, "{name} has {found} places in `{body}`");
        }
        looks.into_iter().filter(|(_, possible, _)| *possible).map(|(name, ..)| name).collect()
    }

    #[test]
    fn places_must_nest_as_the_skill_says() {
        let widen = ["vectorize_access"];
        assert_eq!(possible_in("for (int i = 0; i < n; ++i) p[i] = q[i];"), widen);
        assert_eq!(possible_in("for (int j = 0; j < 4; ++j) for (int i = 0; i < n; ++i) p[i] = q[i];"), widen);
        let none: [&str; 0] = [];
        assert_eq!(possible_in("float s = 0; for (int i = 0; i < n; ++i) s += i; p[0] = s;"), none);
        assert_eq!(possible_in("int i = 0; while (i < n) p[i++] = 0;"), none);
        assert_eq!(possible_in("float t[4]; for (int i = 0; i < 4; ++i) t[i] = i; p[0] = t[n];"), none);
        assert_eq!(possible_in("p[0] = expf(q[0]);"), ["use_fast_intrinsic"]);
        assert_eq!(possible_in("__shared__ float t[8]; t[0] = q[0]; p[0] = t[0];"), ["pad_shared"]);
    }
}
