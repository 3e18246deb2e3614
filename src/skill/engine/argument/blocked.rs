//! `blocked_iterations`: the new text runs iterations `i .. i + L - 1` of the old loop as one block, each once and in
//! their order, and a remaining loop runs the rest.
//!
//! Every copy of the body is compared with the old one word by word: the counter reads `i + j` in copy `j`, a member
//! access reads lane `j` of its vector, and nothing else may differ. So the pairs of iteration and address are the same,
//! and so is every value expression. Loads of a member's vector stand before the copies and stores after them, which the
//! condition `movable_in_blocks` admits; within an address the order of accesses is that of the old text.

use super::words::Words;
use crate::edit::Edit;
use crate::edit::builder::{element_text, vector_name};
use crate::ir::{Access, AccessMode, Compare, ExprKind, Function, Induction, Loop, Scalar, StmtKind};
use crate::skill::engine::{Proof, Site};
use crate::source::Span;
use crate::source::tokens::{self, scan_code};

pub fn check(site: &Site, proof: &Proof, edits: &[Edit]) -> Result<(), String> {
    let [edit] = edits else { return Err("more than one place changes".into()) };
    let mut old = Old::new(site)?;
    if edit.span != old.k.unroll.as_ref().map_or(old.span, |(_, pragma)| pragma.to(old.span)) {
        return Err("something other than the loop changes".into());
    }
    let mut w = Words::new(&edit.text);
    if proof.needs_tail() {
        with_tail(&mut old, &mut w)?
    } else {
        without_tail(&mut old, &mut w)?
    }
    w.end()
}

/// The old loop.
struct Old<'a> {
    site: &'a Site<'a>,
    f: &'a Function,
    k: &'a Loop,
    induction: Induction,
    span: Span,
    counter: &'a str,
    lanes: usize,
    init: &'a str,
    condition: &'a str,
    step: &'a str,
    /// One for each place that members name, in the order of the text.
    vectors: Vec<Vector<'a>>,
}

/// The elements of a block that one place names.
struct Vector<'a> {
    place: &'a str,
    members: Vec<&'a Access>,
    elem: Scalar,
    /// Its name in the new text, once it was declared there.
    name: String,
    by_letter: bool,
}

impl Vector<'_> {
    fn is_read(&self) -> bool {
        self.members.iter().any(|m| m.mode != AccessMode::Store)
    }

    fn is_written(&self) -> bool {
        self.members.iter().any(|m| m.mode != AccessMode::Load)
    }
}

impl<'a> Old<'a> {
    fn new(site: &'a Site<'a>) -> Result<Old<'a>, String> {
        let f = site.function();
        let k = site.loop_at("k").map_err(|b| b.0)?;
        let induction = k.induction.ok_or("the loop has no counter")?;
        let stmt = f.stmt(k.stmt);
        let StmtKind::For { init, condition: Some(condition), step: Some(step), .. } = &stmt.kind else {
            return Err("the loop is no counted for".into());
        };
        let [init] = init[..] else { return Err("the loop declares more than its counter".into()) };
        let elem = site.dtype("element").map_err(|b| b.0)?;
        let lanes = (16 / elem.bytes().max(1)) as usize;
        let mut vectors: Vec<Vector<'a>> = vec![];
        for a in site.accesses("a").map_err(|b| b.0)? {
            let place = site.text(f.expr(a.expr).span);
            match vectors.iter_mut().find(|v| v.place == place) {
                Some(v) => v.members.push(a),
                None => vectors.push(Vector { place, members: vec![a], elem, name: String::new(), by_letter: false }),
            }
        }
        Ok(Old {
            site,
            f,
            k,
            induction,
            span: stmt.span,
            counter: f.var(induction.var).name.as_str(),
            lanes,
            init: site.text(f.stmt(init).span).trim_end_matches(';').trim_end(),
            condition: site.text(f.expr(*condition).span),
            step: site.text(f.expr(*step).span),
            vectors,
        })
    }

    fn in_blocks(&self) -> String {
        format!("{} += {}", self.counter, self.lanes)
    }
}

/// `for (init; condition; i += L) { block }`, where L divides the number of iterations.
fn without_tail(old: &mut Old, w: &mut Words) -> Result<(), String> {
    w.takes_pragma(old.k);
    w.take("for (")?;
    w.take(old.init)?;
    w.take(";")?;
    w.take(old.condition)?;
    w.take(";")?;
    w.take(&old.in_blocks())?;
    w.take(") {")?;
    block(old, w)?;
    w.take("}")
}

/// `{ init; for (; condition && L are left; i += L) { block } for (; condition; step) body }`.
fn with_tail(old: &mut Old, w: &mut Words) -> Result<(), String> {
    w.take("{")?;
    w.take(old.init)?;
    w.take(";")?;
    w.takes_pragma(old.k);
    w.take("for (;")?;
    w.take(old.condition)?;
    w.take("&&")?;
    enough_left(old, w)?;
    w.take(";")?;
    w.take(&old.in_blocks())?;
    w.take(") {")?;
    block(old, w)?;
    w.take("}")?;
    w.take("for (;")?;
    w.take(old.condition)?;
    w.take(";")?;
    w.take(old.step)?;
    w.take(")")?;
    w.take(old.site.text(old.k.body_span))?;
    w.take("}")
}

/// `bound - i > L - 1`, in a type in which the difference does not overflow.
fn enough_left(old: &Old, w: &mut Words) -> Result<(), String> {
    let f = old.f;
    let bound = old.site.text(f.expr(old.induction.bound).span);
    let i = old.counter;
    let casts =
        ["unsigned int", "unsigned long long"].map(|ty| format!("static_cast<{ty}>({bound}) - static_cast<{ty}>({i})"));
    let cast = casts.iter().position(|text| w.takes(text));
    match cast {
        Some(narrow) => {
            let fits = |e: crate::ir::ExprId| f.expr(e).ty.scalar().is_some_and(|s| s.bytes() <= 4);
            let var = f.var(old.induction.var).ty.scalar().is_some_and(|s| s.bytes() <= 4);
            if narrow == 0 && !(var && fits(old.induction.bound)) {
                return Err("the difference is taken in a type that is too narrow".into());
            }
        }
        None => {
            let plain = format!("{bound} - {i}");
            if !w.takes(&format!("({bound}) - {i}")) {
                if !simple(&f.expr(old.induction.bound).kind) {
                    return Err("the bound needs parentheses".into());
                }
                w.take(&plain)?;
            }
            let counts_from_zero =
                old.induction.init.is_some_and(|e| matches!(f.kind_of(e), ExprKind::Int(n) if *n >= 0));
            let unsigned = f.var(old.induction.var).ty.scalar().is_some_and(Scalar::is_unsigned);
            if !counts_from_zero && !unsigned {
                return Err("the difference may overflow".into());
            }
        }
    }
    let compare = if old.induction.compare == Compare::Le { ">=" } else { ">" };
    w.take(&format!("{compare} {}", old.lanes - 1))
}

fn simple(kind: &ExprKind) -> bool {
    use ExprKind::*;
    matches!(kind, Int(_) | Var(_) | Name(_) | Builtin(_) | Index { .. } | Call { .. } | Member { .. })
}

/// Declarations of the vectors, one copy of the body for each lane, stores of the vectors.
fn block(old: &mut Old, w: &mut Words) -> Result<(), String> {
    for n in 0..old.vectors.len() {
        declaration(old, n, w)?;
    }
    let words = tokens::words(old.site.text_of(old.span.file));
    for v in &old.vectors {
        if words.contains(v.name.as_str()) {
            return Err(format!("`{}` is a name of the program", v.name));
        }
    }
    for lane in 0..old.lanes {
        copy(old, lane, w).map_err(|why| format!("copy {lane} of the body: {why}"))?;
    }
    for v in old.vectors.iter().filter(|v| v.is_written()) {
        let Vector { place, name, elem, by_letter, .. } = v;
        match vector_name(*elem, old.lanes as u8).filter(|_| *by_letter) {
            Some(ty) => w.take(&format!("*reinterpret_cast<{ty}*>(&{place}) = {name};"))?,
            None => {
                w.take(&format!("*reinterpret_cast<uint4*>(&{place}) = *reinterpret_cast<const uint4*>({name});"))?
            }
        }
    }
    Ok(())
}

/// `float4 v = load;`, or an array of the elements that is filled as a `uint4`. What is read must be loaded.
fn declaration(old: &mut Old, n: usize, w: &mut Words) -> Result<(), String> {
    let (f, lanes) = (old.f, old.lanes);
    let v = &old.vectors[n];
    let vector = vector_name(v.elem, lanes as u8).filter(|_| v.elem.bytes() >= 4);
    let constant = w.takes("const");
    if let Some(ty) = vector.filter(|ty| w.takes(ty)) {
        let name = w.next().to_owned();
        if v.is_read() {
            w.take("=")?;
            load(old, v, ty, w)?;
        }
        w.take(";")?;
        if constant && v.is_written() {
            return Err("what is stored is constant".into());
        }
        let v = &mut old.vectors[n];
        (v.name, v.by_letter) = (name, true);
        return Ok(());
    }
    w.take("__align__(16)")?;
    let spelled = element_text(f, old.site.sources.get(f.name_span.file), v.members[0].base);
    if !w.takes(v.elem.cuda()) {
        w.take(&spelled.ok_or("the element type is spelled in a way that is not known")?)?;
    }
    let name = w.next().to_owned();
    w.take(&format!("[{lanes}];"))?;
    if v.is_read() {
        w.take(&format!("*reinterpret_cast<uint4*>({name}) ="))?;
        load(old, v, "uint4", w)?;
        w.take(";")?;
    }
    old.vectors[n].name = name;
    Ok(())
}

/// The vector at the place of lane 0, through the intrinsic that the members read with.
fn load(old: &Old, v: &Vector, ty: &str, w: &mut Words) -> Result<(), String> {
    match old.f.kind_of(v.members[0].expr) {
        ExprKind::Call { callee, args, .. } => {
            let pointer = args.first().ok_or("a load without a pointer")?;
            let pointer = old.site.text(old.f.expr(*pointer).span);
            w.take(&format!("{callee}(reinterpret_cast<const {ty}*>({pointer}))"))
        }
        _ => w.take(&format!("*reinterpret_cast<const {ty}*>(&{})", v.place)),
    }
}

/// The old body with the counter `lane` further and the members' elements taken from their vectors.
fn copy(old: &Old, lane: usize, w: &mut Words) -> Result<(), String> {
    let mark = w.mark();
    if w.takes("{") {
        if body(old, lane, w).and_then(|()| w.take("}")).is_ok() {
            return Ok(());
        }
        w.back_to(mark);
    }
    body(old, lane, w)
}

fn body(old: &Old, lane: usize, w: &mut Words) -> Result<(), String> {
    let Span { start, end, .. } = old.k.body_span;
    let text = old.site.text(old.k.body_span);
    let all = scan_code(text);
    let inner = if old.k.has_braces && all.len() >= 2 { &all[1..all.len() - 1] } else { &all[..] };
    let mut skip = 0;
    for (n, token) in inner.iter().enumerate() {
        let at = start + token.start;
        if at < skip {
            continue;
        }
        let member = old.vectors.iter().find_map(|v| {
            let span = v.members.iter().map(|m| old.f.expr(m.expr).span).find(|s| s.start == at && s.end <= end)?;
            Some((v, span))
        });
        if let Some((v, span)) = member {
            element(v, lane, w)?;
            skip = span.end;
            continue;
        }
        let word = token.of(text);
        if word != old.counter || !is_counter(old, at) {
            w.take(word)?;
            continue;
        }
        let near = |n: Option<usize>| n.and_then(|n| inner.get(n)).map_or("", |t| t.of(text));
        let whole_subscript = near(n.checked_sub(1)) == "[" && near(Some(n + 1)) == "]";
        match lane {
            0 => w.take(word)?,
            _ if whole_subscript && w.takes(&format!("{word} + {lane}")) => {}
            _ => w.take(&format!("({word} + {lane})"))?,
        }
    }
    Ok(())
}

fn is_counter(old: &Old, at: u32) -> bool {
    old.f.exprs.iter().any(|e| e.span.start == at && matches!(e.kind, ExprKind::Var(v) if v == old.induction.var))
}

fn element(v: &Vector, lane: usize, w: &mut Words) -> Result<(), String> {
    match v.by_letter {
        true => w.take(&format!("{}.{}", v.name, ["x", "y", "z", "w"].get(lane).unwrap_or(&"?"))),
        false => w.take(&format!("{}[{lane}]", v.name)),
    }
}
