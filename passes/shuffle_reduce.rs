//! Finish a shared-memory tree reduction with warp shuffles.
//!
//! ## Before and after
//! ```cuda
//! for (int s = blockDim.x / 2; s > 0; s >>= 1) {      { int s = blockDim.x / 2;
//!   if (t < s) sum[t] += sum[t + s];                    for (; s > 16; s >>= 1) { ...as before... }
//!   __syncthreads();                                    if (t < 32) {
//! }                                                       float v = sum[t];
//!                                                         for (; s > 0; s >>= 1)
//!                                                           v += __shfl_down_sync(0xffffffffu, v, s);
//!                                                         if (t == 0) sum[t] = v; }
//!                                                       __syncthreads(); }
//! ```
//! ## How
//! Levels with a distance above 16 stay in shared memory. Below that all participants are lanes of the first warp, and
//! lane `t` at distance `s` holds exactly what `sum[t]` held, for every `t < s`: the result of lane 0 is the same
//! expression tree, bit for bit, whatever the size of the block.
//!
//! ## Limits
//! The block is one-dimensional and its size a multiple of 32, so that the first warp is full. Only element 0 is read
//! afterwards.

use crate::edit::Editor;
use crate::ir::{Compare, ExprKind, Function, ReductionKind, StmtKind};
use crate::pass::{Broken, Pass};
use crate::skill::engine::{Proof, Site};

pub struct ShuffleReduce;

/// Lanes of a warp, and the largest distance within one.
const WARP: u32 = 32;
const HALF: u32 = 16;

impl Pass for ShuffleReduce {
    fn rewrite(&self, site: &Site, _proof: &Proof, edit: &mut Editor) -> Result<(), Broken> {
        let f = site.function();
        let r = site.reduction("r")?;
        let ReductionKind::SharedTree { lane, target, .. } = &r.kind else {
            return Err(Broken("the reduction is no shared tree".into()));
        };
        let k = &f.loops[r.id_loop.0 as usize];
        let (stmt, header) = (f.stmt(k.stmt), header(f, k.stmt)?);
        let induction = k.induction.ok_or_else(|| Broken("the tree has no distance".into()))?;
        let access = &f.accesses[target.0 as usize];
        let elem = access.ty.scalar().ok_or_else(|| Broken("the tile's element is no scalar".into()))?.cuda();

        let indent = edit.indent_of(stmt.span).to_owned();
        let unit = edit.indent_unit().to_owned();
        let (i1, i2) = (format!("{indent}{unit}"), format!("{indent}{unit}{unit}"));
        let i3 = format!("{i2}{unit}");
        let s = f.var(induction.var).name.as_str();
        let t = operand(site.text(f.expr(*lane).span), f.kind_of(*lane));
        let cell = site.text(f.expr(access.expr).span);
        let v = edit.fresh("lane_value");
        let step = site.text(header.step);
        let init = header.init.map(|span| site.text(span).trim_end_matches(';').trim_end());
        let first = init.map_or(String::new(), |text| format!("{i1}{text};\n"));
        let body = edit.reindent(site.text(k.body_span), &indent, &i1);
        let gap = if k.has_braces { " " } else { &format!("\n{i2}") };
        let moved = format!("__shfl_down_sync(0xffffffffu, {v}, {s})");
        let combined = combine(&r.spelling, &v, &moved)?;
        let rest = if induction.compare == Compare::Ge { format!("{s} >= 1") } else { format!("{s} > 0") };
        let pragma = match &k.unroll {
            Some((text, span)) => {
                edit.remove(*span);
                format!("{}\n{i1}", text.trim())
            }
            None => String::new(),
        };
        edit.replace(
            stmt.span,
            &format!(
                "{{\n{first}{i1}{pragma}for (; {s} > {HALF}; {step}){gap}{body}\n\
                 {i1}if ({t} < {WARP}) {{\n\
                 {i2}{elem} {v} = {cell};\n\
                 {i2}for (; {rest}; {step}) {{\n{i3}{combined};\n{i2}}}\n\
                 {i2}if ({t} == 0) {{\n{i3}{cell} = {v};\n{i2}}}\n\
                 {i1}}}\n\
                 {i1}__syncthreads();\n{indent}}}",
                body = body.trim_start(),
            ),
        );
        Ok(())
    }
}

struct Header {
    init: Option<crate::source::Span>,
    step: crate::source::Span,
}

fn header(f: &Function, stmt: crate::ir::StmtId) -> Result<Header, Broken> {
    let StmtKind::For { init, step: Some(step), .. } = &f.stmt(stmt).kind else {
        return Err(Broken("the tree is no for loop".into()));
    };
    match init[..] {
        [] => Ok(Header { init: None, step: f.expr(*step).span }),
        [one] => Ok(Header { init: Some(f.stmt(one).span), step: f.expr(*step).span }),
        _ => Err(Broken("the tree declares more than its distance".into())),
    }
}

/// One step of the reduction as a statement without semicolon, in the source's own spelling. The operand order is that
/// of the tree (`own op other`), which matters for NaN in comparisons.
fn combine(spelling: &str, own: &str, other: &str) -> Result<String, Broken> {
    match spelling {
        "+=" | "*=" | "&=" | "|=" | "^=" => Ok(format!("{own} {spelling} {other}")),
        name if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':') && !name.is_empty() => {
            Ok(format!("{own} = {name}({own}, {other})"))
        }
        _ => Err(Broken(format!("the operation `{spelling}` has no shuffle form"))),
    }
}

/// `text`, in parentheses unless it is a name or a member of one.
fn operand(text: &str, kind: &ExprKind) -> String {
    match kind {
        ExprKind::Var(_) | ExprKind::Builtin(_) | ExprKind::Name(_) => text.to_owned(),
        _ => format!("({text})"),
    }
}
