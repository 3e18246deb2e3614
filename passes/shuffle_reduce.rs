//! Finish a shared-memory tree reduction with warp shuffles.
//!
//! ## Before and after
//! ```cuda
//! for (int s = blockDim.x / 2; s > 0; s >>= 1) {      { int s = blockDim.x / 2;
//!   if (t < s) sum[t] += sum[t + s];                    for (; s > 16; s >>= 1) { ...as before... }
//!   __syncthreads();                                    if (t < 32) {
//! }                                                       float v = sum[t];
//!                                                         for (int d = s; d > 0; d >>= 1)
//!                                                           { o = __shfl_down_sync(0xffffffffu, v, d); v += o; }
//!                                                         if (t == 0) sum[t] = v; }
//!                                                       __syncthreads(); }
//! ```
//! ## How
//! `for` and `while` trees alike. Levels with a distance above 16 stay in shared memory. Below that all participants are lanes of the first warp, and
//! lane `t` at distance `s` holds exactly what `sum[t]` held, for every `t < s`: the result of lane 0 is the same
//! expression tree, bit for bit, whatever the size of the block.
//!
//! ## Limits
//! The block has at least 32 threads, so that the first warp is full; further warps may be partial. Only element 0 is
//! read afterwards.

use crate::edit::Editor;
use crate::edit::builder::type_text;
use crate::ir::{BinaryOp, ExprId, ExprKind, Function, Loop, Reduction, ReductionKind, Step, StmtId, StmtKind, query};
use crate::pass::{Broken, Pass};
use crate::skill::engine::{Proof, Site};
use crate::source::Span;

pub struct ShuffleReduce;

/// Lanes of a warp, and the largest distance within one.
const WARP: u32 = 32;
const HALF: u32 = 16;

impl Pass for ShuffleReduce {
    fn rewrite(&self, site: &Site, _proof: &Proof, edit: &mut Editor) -> Result<(), Broken> {
        let f = site.function();
        let r = site.reduction("r")?;
        let k = &f.loops[r.id_loop.0 as usize];
        let span = f.stmt(k.stmt).span;
        let indent = edit.indent_of(span).to_owned();
        let inner = format!("{indent}{}", edit.indent_unit());
        let tree = upper_levels(site, k, edit, &indent, &inner)?;
        let settled = settled(f, r, &inner)?;
        let warp = warp_levels(site, k, edit, &inner)?;
        let whole = k.unroll.as_ref().map_or(span, |(_, pragma)| pragma.to(span));
        edit.replace(
            whole,
            &format!("{{\n{tree}{settled}{warp}{inner}__syncthreads();\n{}{indent}}}", spent(f, k, &inner)),
        );
        Ok(())
    }
}

/// The loop as it was, ended at distance 16.
fn upper_levels(site: &Site, k: &Loop, edit: &Editor, indent: &str, inner: &str) -> Result<String, Broken> {
    let f = site.function();
    let s = distance(f, k)?;
    let body = edit.reindent(site.text(k.body_span), indent, inner);
    let gap = if k.has_braces { " ".to_owned() } else { format!("\n{inner}{}", edit.indent_unit()) };
    let pragma = k.unroll.as_ref().map(|(text, _)| format!("{}\n{inner}", text.trim())).unwrap_or_default();
    let body = body.trim_start();
    match &f.stmt(k.stmt).kind {
        StmtKind::For { init, step: Some(step), .. } => {
            let first = match init[..] {
                [] => String::new(),
                [one] => format!("{inner}{};\n", site.text(f.stmt(one).span).trim_end_matches(';').trim_end()),
                _ => return Err(Broken("the tree declares more than its distance".into())),
            };
            let step = site.text(f.expr(*step).span);
            Ok(format!("{first}{inner}{pragma}for (; {s} > {HALF}; {step}){gap}{body}\n"))
        }
        StmtKind::While { .. } => Ok(format!("{inner}{pragma}while ({s} > {HALF}){gap}{body}\n")),
        _ => Err(Broken("the tree is neither a for nor a while loop".into())),
    }
}

/// Where the loop's own barrier stands in front of the update, one more settles the last level (or the tile itself, when
/// no level is left to the loop).
fn settled(f: &Function, r: &Reduction, indent: &str) -> Result<String, Broken> {
    let ReductionKind::SharedTree { barrier, .. } = &r.kind else { return Err(Broken("no shared tree".into())) };
    let surface = f.barriers.get(barrier.0 as usize).ok_or_else(|| Broken("the tree has no barrier".into()))?;
    let before = f.stmt(surface.stmt).span.start < f.stmt(r.stmt).span.start;
    Ok(if before { format!("{indent}__syncthreads();\n") } else { String::new() })
}

/// The levels inside the first warp.
fn warp_levels(site: &Site, k: &Loop, edit: &mut Editor, i1: &str) -> Result<String, Broken> {
    let f = site.function();
    let r = site.reduction("r")?;
    let ReductionKind::SharedTree { lane, target, other, .. } = &r.kind else {
        return Err(Broken("the reduction is no shared tree".into()));
    };
    let access = &f.accesses[target.0 as usize];
    let induction = k.induction.ok_or_else(|| Broken("the tree has no distance".into()))?;
    let Step::Scale { op, amount } = induction.step else { return Err(Broken("the distance does not halve".into())) };
    let sign = if op == BinaryOp::Shr { ">>" } else { "/" };
    let elem = type_text(&access.ty).ok_or_else(|| Broken("the tile's element has no name".into()))?;
    let ty = type_text(&f.var(induction.var).ty).unwrap_or_else(|| "unsigned int".to_owned());
    let amount = site.text(f.expr(amount).span);
    let s = distance(f, k)?;
    let t = operand(site.text(f.expr(*lane).span), f.kind_of(*lane));
    let cell = site.text(f.expr(access.expr).span);
    let (v, d) = (edit.fresh("lane_value"), edit.fresh("distance"));
    let o = edit.fresh("other_value");
    let combined = combined(f, r.stmt, access.expr, f.accesses[other.0 as usize].expr, &v, &o, edit)?;
    let combined =
        edit.reindent(&combined, edit.indent_of(f.stmt(r.stmt).span), &format!("{i1}{0}{0}", edit.indent_unit()));
    let unit = edit.indent_unit();
    let (i2, i3) = (format!("{i1}{unit}"), format!("{i1}{unit}{unit}"));
    Ok(format!(
        "{i1}if ({t} < {WARP}) {{\n\
         {i2}{elem} {v} = {cell};\n\
         {i2}for ({ty} {d} = {s}; {d} > 0; {d} {sign}= {amount}) {{\n\
         {i3}const {elem} {o} = __shfl_down_sync(0xffffffffu, {v}, {d});\n{i3}{combined}\n{i2}}}\n\
         {i2}if ({t} == 0) {{\n{i3}{cell} = {v};\n{i2}}}\n\
         {i1}}}\n"
    ))
}

/// A distance that lives on after the loop ends at zero in every thread, as it did.
fn spent(f: &Function, k: &Loop, indent: &str) -> String {
    match k.induction {
        Some(i) if !i.declared_in_header => format!("{indent}{} = 0;\n", f.var(i.var).name),
        _ => String::new(),
    }
}

fn distance<'a>(f: &'a Function, k: &Loop) -> Result<&'a str, Broken> {
    let induction = k.induction.ok_or_else(|| Broken("the tree has no distance".into()))?;
    Ok(f.var(induction.var).name.as_str())
}

/// The update statement of the tree with its two elements replaced by the lane's own value and that of the other lane:
/// the same expression, with the operands in the same places.
fn combined(
    f: &Function,
    stmt: StmtId,
    own: ExprId,
    other: ExprId,
    own_name: &str,
    other_name: &str,
    edit: &Editor,
) -> Result<String, Broken> {
    let span = f.stmt(stmt).span;
    let mut parts: Vec<(Span, String)> = vec![];
    for access in f.accesses.iter().filter(|a| span.contains(f.expr(a.expr).span)) {
        let name = if query::same_expr(f, access.expr, own) {
            own_name
        } else if query::same_expr(f, access.expr, other) {
            other_name
        } else {
            return Err(Broken("the update reads a third element".into()));
        };
        parts.push((f.expr(access.expr).span, name.to_owned()));
    }
    edit.rewritten(span, &parts).map_err(|e| Broken(e.to_string()))
}

/// `text`, in parentheses unless it is a name or a member of one.
fn operand(text: &str, kind: &ExprKind) -> String {
    match kind {
        ExprKind::Var(_) | ExprKind::Builtin(_) | ExprKind::Name(_) => text.to_owned(),
        _ => format!("({text})"),
    }
}
