//! Shared tiles: shape, size, use, bank conflicts.

use super::memory::settle;
use super::value::Answer;
use super::{Guard, Predicate, Query};
use crate::facts::{Because, Facts, Missing, Poly, Value as Fact};
use crate::ir::*;
use crate::skill::vocabulary::{Signature, Surface, SurfaceSet, ValueType};

const SHARED: ValueType = ValueType::Anchor(SurfaceSet::of(&[Surface::Shared]));

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::*;
    let p = |name, params, returns, help, eval, explain| Predicate {
        name,
        signature: Signature::new(params, returns, help),
        eval,
        guard: Guard::None,
        explain,
    };
    vec![
        p(
            "rank",
            vec![SHARED],
            Int,
            "number of dimensions",
            rank as fn(&Query) -> Answer,
            "Dimensions of the tile as declared.",
        ),
        p(
            "extents_known",
            vec![SHARED],
            Bool,
            "all extents are constants",
            extents_known,
            "Whether every extent is a constant in view.",
        ),
        p(
            "is_dynamic",
            vec![SHARED],
            Bool,
            "its size is a launch argument",
            is_dynamic,
            "Whether the tile is `extern __shared__`.",
        ),
        p("rows", vec![SHARED], Int, "number of rows", rows, "The product of all extents but the last."),
        p(
            "row_bytes",
            vec![SHARED],
            Bytes,
            "bytes of one row",
            row_bytes,
            "The last extent times the size of an element.",
        ),
        p("tile_bytes", vec![SHARED], Bytes, "bytes of the tile", tile_bytes, "The size of the whole tile."),
        p(
            "widest_access",
            vec![SHARED],
            Bytes,
            "bytes of the widest access",
            widest_access,
            "The widest load or store of the tile; known only where every use is a plain subscript.",
        ),
        p(
            "only_subscripted",
            vec![SHARED],
            Bool,
            "every use is a full subscript",
            only_subscripted,
            "The tile is never passed on, cast, captured, measured by sizeof or named without all its subscripts, and no \
             address of an element is taken.",
        ),
        p(
            "in_extents",
            vec![SHARED],
            Bool,
            "every subscript lies within its own extent",
            in_extents,
            "No subscript runs over the end of its own row, which would rely on the next row following.",
        ),
        p(
            "shared_bytes",
            vec![],
            Bytes,
            "static shared memory of the kernel",
            shared_bytes,
            "The sum of the kernel's static shared variables, each at its alignment.",
        ),
        p(
            "bank_degree",
            vec![SHARED],
            Int,
            "most lanes that meet in one bank",
            bank_degree,
            "The largest number of different words that the lanes of a warp, all active, want from one of the 32 banks at \
             once, over all accesses of the tile. 1 is free of conflicts; lanes that want the same word share it.",
        ),
        p(
            "bank_degree_padded",
            vec![SHARED, Int],
            Int,
            "the same with longer rows",
            bank_degree_padded,
            "What bank_degree would be if every row were longer by so many elements.",
        ),
    ]
}

fn tile(q: &Query) -> Result<TileId, Answer> {
    match q.anchor(0)? {
        Place::Tile(t) if q.facts.function.tiles.len() > t.0 as usize => Ok(t),
        other => Err(Answer::unknown(format!("a {} is no shared tile", other.surface()))),
    }
}

fn decl<'a>(q: &Query<'a>, t: TileId) -> (&'a SharedTile, &'a Var) {
    let f = q.facts.function;
    let s = &f.tiles[t.0 as usize];
    (s, f.var(s.var))
}

fn rank(q: &Query) -> Answer {
    settle(tile(q).map(|t| {
        let (s, var) = decl(q, t);
        Answer::int(s.dims.len() as i128, Because::at(var.span, "declared here"))
    }))
}

fn extents_known(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| Ok(Answer::yes(q.facts.extents(t)?.because))))
}

fn is_dynamic(q: &Query) -> Answer {
    settle(tile(q).map(|t| {
        let (s, var) = decl(q, t);
        let because = Because::at(var.span, "declared here");
        if s.is_dynamic {
            Answer::yes(because)
        } else {
            Answer::no(because, "its size is fixed", vec![(var.span, "here".into())])
        }
    }))
}

fn element_bytes(facts: &Facts, var: &Var) -> Result<i128, Missing> {
    let ty = var.ty.innermost();
    let bytes = ty.bytes().or_else(|| facts.scalar(ty).map(Scalar::bytes));
    bytes.map(i128::from).ok_or_else(|| Missing::new("the size of an element is not known").at(var.span, "this tile"))
}

fn product(values: &[i128]) -> Result<i128, Missing> {
    values.iter().try_fold(1i128, |p, v| p.checked_mul(*v)).ok_or_else(|| Missing::new("the tile is too large"))
}

fn rows(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let e = q.facts.extents(t)?;
        let outer = e.value.split_last().map_or(&[][..], |(_, rest)| rest);
        Ok(Answer::int(product(outer)?, e.because))
    }))
}

fn row_bytes(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let e = q.facts.extents(t)?;
        let last = e.value.last().copied().unwrap_or(1);
        let bytes = product(&[last, element_bytes(q.facts, decl(q, t).1)?])?;
        Ok(Answer::int(bytes, e.because))
    }))
}

fn tile_bytes(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let e = q.facts.extents(t)?;
        let bytes = product(&[product(&e.value)?, element_bytes(q.facts, decl(q, t).1)?])?;
        Ok(Answer::int(bytes, e.because))
    }))
}

fn widest_access(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let (s, var) = decl(q, t);
        if let Some(span) = q.facts.other_use(t)? {
            return Err(Missing::new("the tile is used otherwise than by its subscripts").at(span, "here").into());
        }
        let mut widest = element_bytes(q.facts, var)?;
        for (i, a) in q.facts.function.accesses.iter().enumerate().filter(|(_, a)| a.base == s.var) {
            let (_, state) = q.facts.access(AccessId(i as u32))?;
            let span = q.facts.function.expr(a.expr).span;
            let bytes =
                state.bytes.ok_or_else(|| Missing::new("the width of this access is not known").at(span, "here"))?;
            widest = widest.max(i128::from(bytes));
        }
        Ok(Answer::int(widest, Because::at(var.span, "and all its uses")))
    }))
}

fn only_subscripted(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let (_, var) = decl(q, t);
        Ok(match q.facts.other_use(t)? {
            None => Answer::yes(Because::at(var.span, "and all its uses")),
            Some(span) => Answer::no(Because::nothing(), "this use is no full subscript", vec![(span, "here".into())]),
        })
    }))
}

fn in_extents(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let facts = q.facts;
        let (s, _) = decl(q, t);
        if let Some(span) = facts.other_use(t)? {
            return Err(Missing::new("the tile is used otherwise than by its subscripts").at(span, "here").into());
        }
        let extents = facts.extents(t)?;
        let mut because = extents.because.clone();
        for (i, a) in facts.function.accesses.iter().enumerate().filter(|(_, a)| a.base == s.var) {
            let (_, state) = facts.access(AccessId(i as u32))?;
            for (index, extent) in a.indices.iter().zip(&extents.value) {
                let span = facts.function.expr(*index).span;
                let why = within(facts, *index, *extent, &state.place.known).ok_or_else(|| {
                    let m = Missing::new(format!("this subscript is not known to lie in 0..{extent}")).at(span, "here");
                    m.next("assume the block shape in the contract, such as `blockDim.x == 32`")
                })?;
                because.join(&why);
            }
        }
        Ok(Answer::yes(because))
    }))
}

fn within(facts: &Facts, index: ExprId, extent: i128, known: &crate::facts::Known) -> Option<Because> {
    let Fact::Int(v) = facts.walked.value(index)? else { return None };
    if v.modular {
        return None;
    }
    let low = known.prove_nonneg(&v.poly)?;
    let high = known.prove_nonneg(&Poly::constant(extent - 1).sub(&v.poly)?)?;
    Some(low.and(&high).and(&v.because))
}

fn shared_bytes(q: &Query) -> Answer {
    settle(static_bytes(q.facts).map_err(Answer::from))
}

fn static_bytes(facts: &Facts) -> Result<Answer, Missing> {
    facts.usable()?;
    let f = facts.function;
    let mut total = 0i128;
    let mut because = Because::nothing();
    for (i, var) in f.vars.iter().enumerate().filter(|(_, v)| v.kind == VarKind::Shared && !v.is_extern) {
        let elem = element_bytes(facts, var)?;
        let tile = f.tiles.iter().position(|t| t.var.0 as usize == i);
        let count = match (&var.ty, tile) {
            (Type::Array { .. }, Some(t)) => product(&facts.extents(TileId(t as u32))?.value)?,
            (Type::Array { .. }, None) => return Err(Missing::new("this array is not modelled").at(var.span, "here")),
            _ => 1,
        };
        let align = i128::from(var.alignment.unwrap_or(1)).max(elem).max(1);
        let start = (total + align - 1) / align * align;
        total = product(&[count, elem])?.checked_add(start).ok_or_else(|| Missing::new("too much shared memory"))?;
        because.join(&Because::at(var.span, "counted"));
    }
    // Functions that the kernel calls may have shared variables of their own.
    for c in &f.calls {
        let name = c.callee.rsplit("::").next().unwrap_or(&c.callee);
        let mut own = functions_named(facts, name);
        if own.any(|g| g.vars.iter().any(|v| v.kind == VarKind::Shared) || !g.calls.is_empty()) {
            return Err(Missing::new("a function that is called may use shared memory").at(f.expr(c.expr).span, "here"));
        }
    }
    Ok(Answer::int(total, because))
}

/// Every function of the program that has this name.
pub(super) fn functions_named<'f>(facts: &'f Facts, name: &str) -> impl Iterator<Item = &'f Function> {
    let all = facts.macros.names().map_or(&[][..], |n| n.everywhere(name));
    all.iter().map(|r| facts.program.function(*r))
}

fn bank_degree(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let d = q.facts.bank_degree(t, 0)?;
        Ok(Answer::int(d.value, d.because))
    }))
}

fn bank_degree_padded(q: &Query) -> Answer {
    settle(tile(q).and_then(|t| {
        let pad = q.constant(1)?;
        if !(0..=1024).contains(&pad) {
            return Err(Answer::unknown("the pad is out of range"));
        }
        let d = q.facts.bank_degree(t, pad)?;
        Ok(Answer::int(d.value, d.because))
    }))
}
