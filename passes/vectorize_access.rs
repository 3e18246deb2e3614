//! Widen the contiguous accesses of one thread's loop to 16-byte vector accesses.
//!
//! ## Before and after
//! ```cuda
//! for (int k = 0; k < n; ++k)            { int k = 0;
//!   s += x[k];                             for (; k < n && n - k > 3; k += 4) {
//!                                            const float4 x_4 = *reinterpret_cast<const float4*>(&x[k]);
//!                                            s += x_4.x; s += x_4.y; s += x_4.z; s += x_4.w; }
//!                                          for (; k < n; ++k) s += x[k]; }
//! ```
//! ## How
//! The loop is strip-mined by `lanes`. The body is copied once per lane with the induction variable advanced; a member
//! access becomes a component of a vector that is loaded before the copies or stored after them, so every value is
//! computed by the same expression in the same order. Where the proof leaves a remainder, the original loop runs it.
//!
//! ## Limits
//! Counted `for` loops with step one. Elements of four bytes use CUDA's own vector types, smaller ones a 16-byte array
//! moved as `uint4`.

use crate::edit::Editor;
use crate::edit::builder::{element_text, vector_name};
use crate::ir::{Access, AccessMode, Compare, ExprKind, Function, Induction, Loop, Scalar, StmtKind};
use crate::pass::{Broken, Pass};
use crate::skill::engine::{Proof, Site};
use crate::source::Span;
use crate::source::tokens::{Token, TokenKind, scan_code, scan_directive};

pub struct VectorizeAccess;

impl Pass for VectorizeAccess {
    fn rewrite(&self, site: &Site, proof: &Proof, edit: &mut Editor) -> Result<(), Broken> {
        let strip = Strip::new(site, proof, edit)?;
        let used = strip.streams.iter().map(|s| s.vector(strip.lanes).unwrap_or("uint4"));
        if let Some(name) =
            used.into_iter().find(|name| declares_type(site.text_of(site.function().name_span.file), name))
        {
            return Err(Broken(format!("the program has a `{name}` of its own")));
        }
        let text = strip.emit(edit)?;
        // A pragma in front of the loop moves to the vector loop.
        let whole = strip.k.unroll.as_ref().map_or(strip.span, |(_, pragma)| pragma.to(strip.span));
        edit.replace(whole, &text);
        Ok(())
    }
}

/// One vector: the accesses of the loop that share an address, and how their lanes are spelled.
struct Stream<'a> {
    name: String,
    elem: Scalar,
    /// How the program spells the element type, where that is not the type of a vector's components.
    spelled: Option<String>,
    /// Text of the access, with the induction variable at the first lane.
    place: &'a str,
    /// The intrinsic that loads, such as `__ldg`, and the text of its pointer.
    through: Option<(&'a str, &'a str)>,
    spans: Vec<Span>,
    loaded: bool,
    stored: bool,
}

impl Stream<'_> {
    fn vector(&self, lanes: usize) -> Option<&'static str> {
        vector_name(self.elem, lanes as u8).filter(|_| self.elem.bytes() >= 4 && self.spelled.is_none())
    }

    /// The first lane seen as one `ty`, as a value.
    fn loaded_as(&self, ty: &str) -> String {
        match self.through {
            Some((intrinsic, pointer)) => format!("{intrinsic}(reinterpret_cast<const {ty}*>({pointer}))"),
            None => format!("*reinterpret_cast<const {ty}*>(&{})", self.place),
        }
    }

    fn lane(&self, j: usize, lanes: usize) -> String {
        match self.vector(lanes) {
            Some(_) => format!("{}.{}", self.name, ["x", "y", "z", "w"][j]),
            None => format!("{}[{j}]", self.name),
        }
    }

    /// Declares the vector and, where it is read, fills it.
    fn prologue(&self, lanes: usize, indent: &str) -> String {
        let name = &self.name;
        let konst = if self.stored { "" } else { "const " };
        match (self.vector(lanes), self.loaded) {
            (Some(ty), true) => {
                format!("{indent}{konst}{ty} {name} = {};\n", self.loaded_as(ty))
            }
            (Some(ty), false) => format!("{indent}{ty} {name};\n"),
            (None, loaded) => {
                let ty = self.spelled.as_deref().unwrap_or(self.elem.cuda());
                let mut text = format!("{indent}__align__(16) {ty} {name}[{lanes}];\n");
                if loaded {
                    text += &format!("{indent}*reinterpret_cast<uint4*>({name}) = {};\n", self.loaded_as("uint4"));
                }
                text
            }
        }
    }

    fn epilogue(&self, lanes: usize, indent: &str) -> String {
        let Stream { name, place, .. } = self;
        match self.vector(lanes) {
            _ if !self.stored => String::new(),
            Some(ty) => format!("{indent}*reinterpret_cast<{ty}*>(&{place}) = {name};\n"),
            None => {
                format!("{indent}*reinterpret_cast<uint4*>(&{place}) = *reinterpret_cast<const uint4*>({name});\n")
            }
        }
    }
}

/// The loop, its streams and the texts of its header.
struct Strip<'a> {
    f: &'a Function,
    k: &'a Loop,
    induction: Induction,
    span: Span,
    lanes: usize,
    streams: Vec<Stream<'a>>,
    tail: bool,
    init: &'a str,
    condition: &'a str,
    step: &'a str,
}

impl<'a> Strip<'a> {
    fn new(site: &'a Site, proof: &Proof, edit: &mut Editor) -> Result<Strip<'a>, Broken> {
        let f = site.function();
        let k = site.loop_at("k")?;
        let induction = k.induction.ok_or_else(|| Broken("the loop has no induction variable".into()))?;
        let stmt = f.stmt(k.stmt);
        let StmtKind::For { init, condition: Some(condition), step: Some(step), .. } = &stmt.kind else {
            return Err(Broken("the loop is no counted for".into()));
        };
        let [init] = init[..] else { return Err(Broken("the loop declares more than its counter".into())) };
        let lanes = usize::try_from(site.integer("lanes")?).map_err(|_| Broken("lanes are negative".into()))?;
        Ok(Strip {
            f,
            k,
            induction,
            span: stmt.span,
            lanes,
            streams: streams(site, edit)?,
            tail: proof.needs_tail(),
            init: site.text(f.stmt(init).span).trim_end_matches(';').trim_end(),
            condition: site.text(f.expr(*condition).span),
            step: site.text(f.expr(*step).span),
        })
    }

    fn emit(&self, edit: &Editor) -> Result<String, Broken> {
        let indent = edit.indent_of(self.span).to_owned();
        let unit = edit.indent_unit().to_owned();
        let pragma = self.k.unroll.as_ref().map(|(text, _)| text.trim()).unwrap_or_default();
        let pragma = |indent: &str| if pragma.is_empty() { String::new() } else { format!("{pragma}\n{indent}") };
        let var = self.f.var(self.induction.var).name.as_str();
        if !self.tail {
            let body = self.copies(edit, &format!("{indent}{unit}"))?;
            let header = format!("for ({}; {}; {var} += {})", self.init, self.condition, self.lanes);
            return Ok(format!("{}{header} {{\n{body}{indent}}}", pragma(&indent)));
        }
        let inner = format!("{indent}{unit}");
        let body = self.copies(edit, &format!("{inner}{unit}"))?;
        let first = format!("for (; {}; {var} += {})", self.room(edit), self.lanes);
        let rest = edit.reindent(edit.text(self.k.body_span), &indent, &inner);
        let gap = if self.k.has_braces { " " } else { &format!("\n{inner}{unit}") };
        Ok(format!(
            "{{\n{inner}{};\n{inner}{}{first} {{\n{body}{inner}}}\n{inner}for (; {}; {}){gap}{}\n{indent}}}",
            self.init,
            pragma(&inner),
            self.condition,
            self.step,
            rest.trim_start(),
        ))
    }

    /// The condition that at least `lanes` iterations are left, free of signed overflow.
    fn room(&self, edit: &Editor) -> String {
        let var = self.f.var(self.induction.var);
        let bound = self.f.expr(self.induction.bound);
        let text = edit.text(bound.span);
        let bound_text = if is_atom(&bound.kind) { text.to_owned() } else { format!("({text})") };
        let from_zero = self.induction.init.is_some_and(|e| matches!(self.f.kind_of(e), ExprKind::Int(n) if *n >= 0));
        let unsigned = var.ty.scalar().is_some_and(Scalar::is_unsigned);
        let left = if from_zero || unsigned {
            format!("{bound_text} - {}", var.name)
        } else {
            let wide = [&var.ty, &bound.ty].iter().any(|t| t.scalar().is_none_or(|s| s.bytes() == 8));
            let ty = if wide { "unsigned long long" } else { "unsigned int" };
            format!("static_cast<{ty}>({text}) - static_cast<{ty}>({})", var.name)
        };
        let compare = if self.induction.compare == Compare::Le { ">=" } else { ">" };
        format!("{} && {left} {compare} {}", self.condition, self.lanes - 1)
    }

    /// The vector body: prologue, one copy of the body per lane, epilogue.
    fn copies(&self, edit: &Editor, indent: &str) -> Result<String, Broken> {
        let mut text: String = self.streams.iter().map(|s| s.prologue(self.lanes, indent)).collect();
        for j in 0..self.lanes {
            text += &self.copy(edit, j, indent)?;
        }
        text.extend(self.streams.iter().map(|s| s.epilogue(self.lanes, indent)));
        Ok(text)
    }

    fn copy(&self, edit: &Editor, j: usize, indent: &str) -> Result<String, Broken> {
        let mut parts: Vec<(Span, String)> = vec![];
        for stream in &self.streams {
            parts.extend(stream.spans.iter().map(|span| (*span, stream.lane(j, self.lanes))));
        }
        let taken: Vec<Span> = parts.iter().map(|(span, _)| *span).collect();
        if j > 0 {
            for use_of in self.uses(&taken) {
                parts.push((use_of.span, advanced(&self.f.var(self.induction.var).name, j, use_of.bare)));
            }
        }
        let whole = edit.rewritten(self.k.body_span, &parts).map_err(|e| Broken(e.to_string()))?;
        let from = edit.indent_of(self.k.body_span);
        let inner = if self.k.has_braces {
            whole.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(&whole).trim_matches(['\n', '\r'])
        } else {
            whole.as_str()
        };
        let old = if self.k.has_braces { first_indent(inner).unwrap_or(from) } else { from };
        let lines = edit.reindent(inner.trim(), old, if self.declares() { "" } else { indent });
        if !self.declares() {
            return Ok(format!("{indent}{}\n", lines.trim_end()));
        }
        let unit = edit.indent_unit();
        let lines = edit.reindent(inner.trim(), old, &format!("{indent}{unit}"));
        Ok(format!("{indent}{{\n{indent}{unit}{}\n{indent}}}\n", lines.trim_end()))
    }

    /// Whether the body declares names at its top level, so that each copy needs a scope of its own.
    fn declares(&self) -> bool {
        let body = match &self.f.stmt(self.k.stmt).kind {
            StmtKind::For { body, .. } => body,
            _ => return true,
        };
        body.stmts.iter().any(|&s| match &self.f.stmt(s).kind {
            StmtKind::Declare { .. } => true,
            StmtKind::Block(inner) => {
                inner.stmts.iter().any(|&s| matches!(self.f.stmt(s).kind, StmtKind::Declare { .. }))
            }
            _ => false,
        })
    }

    /// Uses of the induction variable in the body that no member access covers.
    fn uses(&self, taken: &[Span]) -> Vec<Use> {
        let bare = |span: Span| {
            self.f.exprs.iter().any(|e| match e.kind {
                ExprKind::Index { index, .. } => self.f.expr(index).span == span,
                _ => false,
            })
        };
        let is_var = |kind: &ExprKind| matches!(kind, ExprKind::Var(v) if *v == self.induction.var);
        let mut found: Vec<Use> = self
            .f
            .exprs
            .iter()
            .filter(|e| is_var(&e.kind) && self.k.body_span.contains(e.span))
            .filter(|e| !taken.iter().any(|t| t.contains(e.span)))
            .map(|e| Use { span: e.span, bare: bare(e.span) })
            .collect();
        found.sort_by_key(|u| u.span);
        found.dedup_by_key(|u| u.span);
        found
    }
}

struct Use {
    span: Span,
    /// The variable is a whole subscript, so that no parentheses are needed.
    bare: bool,
}

fn advanced(var: &str, j: usize, bare: bool) -> String {
    if bare { format!("{var} + {j}") } else { format!("({var} + {j})") }
}

fn is_atom(kind: &ExprKind) -> bool {
    use ExprKind::*;
    matches!(kind, Int(_) | Var(_) | Name(_) | Builtin(_) | Index { .. } | Call { .. } | Member { .. })
}

/// The indentation of the first line that is not blank.
fn first_indent(text: &str) -> Option<&str> {
    let line = text.lines().find(|l| !l.trim().is_empty())?;
    Some(&line[..line.len() - line.trim_start().len()])
}

/// The members of the site, one stream per distinct address.
fn streams<'a>(site: &'a Site, edit: &mut Editor) -> Result<Vec<Stream<'a>>, Broken> {
    let f = site.function();
    let mut found: Vec<Stream<'a>> = vec![];
    for access in site.accesses("a")? {
        let place = site.text(f.expr(access.expr).span);
        let span = f.expr(access.expr).span;
        let (loaded, stored) = (access.mode != AccessMode::Store, access.mode != AccessMode::Load);
        if let Some(stream) = found.iter_mut().find(|s| s.place == place) {
            stream.spans.push(span);
            stream.loaded |= loaded;
            stream.stored |= stored;
            continue;
        }
        let elem = site.dtype("element")?;
        let lanes = 16 / elem.bytes();
        let name = edit.fresh(&format!("{}_{lanes}", f.var(root(access)).name));
        let spelled = spelled(site, root(access), elem)?;
        let through = match f.kind_of(access.expr) {
            ExprKind::Call { callee, args, .. } if !stored => {
                let pointer = args.first().ok_or_else(|| Broken("a load without a pointer".into()))?;
                Some((callee.as_str(), site.text(f.expr(*pointer).span)))
            }
            ExprKind::Call { .. } => return Err(Broken("the store is a call".into())),
            _ => None,
        };
        found.push(Stream { name, elem, spelled, place, through, spans: vec![span], loaded, stored });
    }
    Ok(found)
}

/// The program's own word for an element whose size belongs to two types: `long` and `long long` select different
/// overloads and template instances, `char` and `signed char` too.
fn spelled(site: &Site, base: crate::ir::VarId, elem: Scalar) -> Result<Option<String>, Broken> {
    if !matches!(elem, Scalar::I8 | Scalar::I64 | Scalar::U64) {
        return Ok(None);
    }
    let f = site.function();
    let text = element_text(f, site.sources.get(f.name_span.file), base)
        .ok_or_else(|| Broken("how the program spells the element type is not known".into()))?;
    let usual = match elem {
        Scalar::I8 => text == "signed char",
        _ => text.split_whitespace().filter(|w| *w == "long").count() == 2,
    };
    Ok((!usual).then_some(text))
}

/// Whether the text declares a type, an alias or a macro called `name`.
fn declares_type(text: &str, name: &str) -> bool {
    const BEFORE: &[&str] = &["struct", "class", "union", "enum", "using", "define"];
    let tokens = scan_code(text);
    let words = |t: &Token| match t.kind {
        TokenKind::Directive => scan_directive(text, t.range()).map(|t| t.of(text)).collect(),
        _ => vec![t.of(text)],
    };
    let mut before = "";
    for word in tokens.iter().flat_map(words) {
        if word == name && BEFORE.contains(&before) {
            return true;
        }
        before = word;
    }
    // `typedef T name;` and other declarations that end with the name.
    tokens.windows(3).any(|w| {
        w[1].of(text) == name
            && w[0].kind == TokenKind::Word
            && w[2].of(text) == ";"
            && !["return", "const"].contains(&w[0].of(text))
    })
}

fn root(access: &Access) -> crate::ir::VarId {
    access.base
}
