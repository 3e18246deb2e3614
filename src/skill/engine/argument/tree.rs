//! `same_tree`: the levels of a shared tree above distance 16 stay as they are, and the warp does the others with the
//! same update on the same operands.
//!
//! The new text is read word by word, which gives the distances at which each part works; the expression of element 0 is
//! then built for both texts over elements that are mere symbols, and must be the same one, for tiles of many sizes.

use super::words::Words;
use crate::edit::Edit;
use crate::edit::builder::type_text;
use crate::ir::{BinaryOp, ExprKind, Function, Loop, Reduction, ReductionKind, Step, StmtKind};
use crate::skill::engine::{Proof, Site};
use crate::source::Span;
use crate::source::tokens::{self, scan_code};

const WARP: usize = 32;
const HALF: usize = 16;

pub fn check(site: &Site, _proof: &Proof, edits: &[Edit]) -> Result<(), String> {
    let [edit] = edits else { return Err("more than one place changes".into()) };
    let f = site.function();
    let r = site.reduction("r").map_err(|b| b.0)?;
    let k = &f.loops[r.id_loop.0 as usize];
    let span = f.stmt(k.stmt).span;
    if edit.span != k.unroll.as_ref().map_or(span, |(_, pragma)| pragma.to(span)) {
        return Err("something other than the loop changes".into());
    }
    let old = Old::new(site, f, r, k)?;
    let mut w = Words::new(&edit.text);
    w.take("{")?;
    upper(&old, &mut w)?;
    if old.barrier_first {
        // The loop's own barrier stands before its update: one more settles the last level.
        w.take("__syncthreads();")?;
    }
    warp(&old, &mut w)?;
    w.take("__syncthreads();")?;
    let induction = k.induction.ok_or("the tree has no distance")?;
    if !induction.declared_in_header {
        w.take(&format!("{} = 0;", old.distance))?;
    }
    w.take("}")?;
    w.end()?;
    same_expression(old.divisor)
}

/// The old loop in words.
struct Old<'a> {
    site: &'a Site<'a>,
    f: &'a Function,
    r: &'a Reduction,
    k: &'a Loop,
    distance: &'a str,
    lane: &'a str,
    own: &'a str,
    other: &'a str,
    element: String,
    counter: String,
    /// By how much a step divides the distance, and how that is written.
    divisor: usize,
    halves: String,
    barrier_first: bool,
}

impl<'a> Old<'a> {
    fn new(site: &'a Site<'a>, f: &'a Function, r: &'a Reduction, k: &'a Loop) -> Result<Old<'a>, String> {
        let ReductionKind::SharedTree { lane, target, other, barrier, .. } = &r.kind else {
            return Err("the reduction is no shared tree".into());
        };
        let induction = k.induction.ok_or("the tree has no distance")?;
        let Step::Scale { op, amount } = induction.step else { return Err("the distance does not shrink".into()) };
        let ExprKind::Int(by) = f.kind_of(amount) else { return Err("the step is no plain number".into()) };
        let by = usize::try_from(*by).map_err(|_| "the step is negative")?;
        let (divisor, sign) = match op {
            BinaryOp::Shr if by < 31 => (1usize << by, ">>"),
            BinaryOp::Div => (by, "/"),
            _ => return Err("the distance is not divided".into()),
        };
        let (target, other) = (&f.accesses[target.0 as usize], &f.accesses[other.0 as usize]);
        let text = |e| site.text(f.expr(e).span);
        let counter = f.var(induction.var);
        let surface = f.barriers.get(barrier.0 as usize).ok_or("the tree has no barrier")?;
        Ok(Old {
            site,
            f,
            r,
            k,
            distance: counter.name.as_str(),
            lane: text(*lane),
            own: text(target.expr),
            other: text(other.expr),
            element: type_text(&target.ty).ok_or("the element has no name")?,
            counter: type_text(&counter.ty).unwrap_or_else(|| "unsigned int".to_owned()),
            divisor,
            halves: format!("{sign}= {}", text(amount)),
            barrier_first: f.stmt(surface.stmt).span.start < f.stmt(r.stmt).span.start,
        })
    }
}

/// The loop as it was, down to distance 17.
fn upper(old: &Old, w: &mut Words) -> Result<(), String> {
    let text = |span: Span| old.site.text(span);
    match &old.f.stmt(old.k.stmt).kind {
        StmtKind::For { init, step: Some(step), .. } => {
            if let [one] = init[..] {
                w.take(text(old.f.stmt(one).span).trim_end_matches(';'))?;
                w.take(";")?;
            }
            w.takes_pragma(old.k);
            w.take(&format!("for (; {} > {HALF};", old.distance))?;
            w.take(text(old.f.expr(*step).span))?;
            w.take(")")?;
        }
        StmtKind::While { .. } => {
            w.takes_pragma(old.k);
            w.take(&format!("while ({} > {HALF})", old.distance))?;
        }
        _ => return Err("the tree is neither a for nor a while loop".into()),
    }
    w.take(text(old.k.body_span))
}

/// The levels from distance 16 on, in the registers of the first warp.
fn warp(old: &Old, w: &mut Words) -> Result<(), String> {
    let Old { lane, own, element, counter, distance, halves, .. } = old;
    let lane_at = |w: &mut Words, compare: &str| {
        if w.takes(&format!("if (({lane}) {compare})")) { Ok(()) } else { w.take(&format!("if ({lane} {compare})")) }
    };
    lane_at(w, &format!("< {WARP}"))?;
    w.take("{")?;
    w.take(element)?;
    let v = w.next().to_owned();
    w.take(&format!("= {own};"))?;
    w.take(&format!("for ({counter}"))?;
    let d = w.next().to_owned();
    w.take(&format!("= {distance}; {d} > 0; {d} {halves}) {{"))?;
    w.take(&format!("const {element}"))?;
    let o = w.next().to_owned();
    w.take(&format!("= __shfl_down_sync(0xffffffffu, {v}, {d});"))?;
    let words = tokens::words(old.site.text_of(old.f.name_span.file));
    if [&v, &d, &o].iter().any(|n| words.contains(n.as_str())) || v == d || v == o || d == o {
        return Err("a name of the program is used for something else".into());
    }
    update(old, &v, &o, w)?;
    w.take("}")?;
    lane_at(w, "== 0")?;
    w.take(&format!("{{ {own} = {v}; }} }}"))
}

/// The old update with its two elements in registers.
fn update(old: &Old, v: &str, o: &str, w: &mut Words) -> Result<(), String> {
    let span = old.f.stmt(old.r.stmt).span;
    let text = old.site.text(span);
    let mut skip = 0;
    for token in scan_code(text) {
        let at = span.start + token.start;
        if at < skip {
            continue;
        }
        let access =
            old.f.accesses.iter().map(|a| old.f.expr(a.expr).span).find(|s| s.start == at && span.contains(*s));
        let Some(access) = access else {
            w.take(token.of(text))?;
            continue;
        };
        let place = same_words(old.site.text(access), old.own);
        match place {
            true => w.take(v)?,
            false if same_words(old.site.text(access), old.other) => w.take(o)?,
            false => return Err("the update reads a third element".into()),
        }
        skip = access.end;
    }
    Ok(())
}

fn same_words(a: &str, b: &str) -> bool {
    let words = |t: &str| scan_code(t).iter().map(|w| w.of(t).to_owned()).collect::<Vec<_>>();
    words(a) == words(b)
}

/// Expressions over the elements, each once, so that equal ones have equal numbers.
#[derive(Default)]
struct Terms {
    known: std::collections::BTreeMap<(usize, usize), usize>,
}

impl Terms {
    fn combined(&mut self, a: usize, b: usize) -> usize {
        let next = 1_000_000 + self.known.len();
        *self.known.entry((a, b)).or_insert(next)
    }
}

/// Element 0 of the old tree and of the new one, for trees that begin at each of these distances.
fn same_expression(divisor: usize) -> Result<(), String> {
    if divisor < 2 {
        return Err("the distance does not shrink".into());
    }
    for first in [1, 2, 3, 7, 8, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 63, 64, 96, 100, 127, 128, 192, 256, 512] {
        let mut terms = Terms::default();
        let mut tile: Vec<usize> = (0..2 * first.max(WARP)).collect();
        let mut distance = first;
        let level = |tile: &mut Vec<usize>, s: usize, terms: &mut Terms| {
            for t in 0..s {
                tile[t] = terms.combined(tile[t], tile[t + s]);
            }
        };
        while distance > HALF {
            level(&mut tile, distance, &mut terms);
            distance /= divisor;
        }
        let mut lanes: Vec<usize> = tile[..WARP].to_vec();
        while distance > 0 {
            level(&mut tile, distance, &mut terms);
            // A lane beyond the last one gives its own value.
            let before = lanes.clone();
            for t in 0..WARP {
                lanes[t] = terms.combined(before[t], before[if t + distance < WARP { t + distance } else { t }]);
            }
            distance /= divisor;
        }
        if lanes[0] != tile[0] {
            return Err(format!("element 0 is another expression when the tree begins at distance {first}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dividing_by_two_or_more_keeps_the_expression() {
        for divisor in [2, 3, 4, 8] {
            assert_eq!(same_expression(divisor), Ok(()), "{divisor}");
        }
        assert!(same_expression(1).is_err());
    }
}
