//! Writes calls into the text of a kernel that tell what it does.
//!
//! Nothing is taken away and nothing moves: an expression `e` becomes `__kopt_value(7, e)`, an access `a[i]` becomes
//! `__kopt_at(8, a[i])`, statements that only note are put beside others. The calls have no body, so that the compiler
//! can neither drop, join, move nor foresee them.

use std::collections::BTreeSet;

use super::claim::Probe;
use super::observable::{Observable, Through};
use super::prelude;
use crate::facts::Atom;
use crate::ir::*;
use crate::ptx::NOTE;
use crate::source::Span;
use crate::source::tokens::scan_code;

/// How much is observed. Less is tried where the compiler refuses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Values, addresses, loops and barriers.
    Full,
    /// Addresses, loops and barriers.
    Addresses,
    /// Loops and barriers.
    Frame,
}

impl Depth {
    pub const ALL: [Depth; 3] = [Depth::Full, Depth::Addresses, Depth::Frame];

    pub fn word(self) -> &'static str {
        match self {
            Depth::Full => "full",
            Depth::Addresses => "addresses",
            Depth::Frame => "frame",
        }
    }
}

/// A text that tells what one of its kernels does.
#[derive(Clone, Debug)]
pub struct Instrumented {
    pub text: String,
    /// By the number of a note.
    pub probes: Vec<Probe>,
}

/// Rewrites `text`, in which `f` stands. `symbols` are what claims speak of.
pub fn instrument(
    text: &str,
    f: &Function,
    observable: &Observable,
    symbols: &BTreeSet<Atom>,
    depth: Depth,
) -> Option<Instrumented> {
    let body = f.body_span?;
    let mut w = Writer { text, f, inserts: vec![], probes: vec![] };
    w.entry(body, symbols);
    if depth <= Depth::Addresses {
        w.addresses(observable, symbols);
    }
    if depth == Depth::Full {
        for e in &observable.values {
            let n = w.number(Probe::Value(*e));
            w.around(f.expr(*e).span, VALUE, format!("__kopt_value({n}u, "), ")".into());
        }
    }
    for k in &observable.loops {
        w.lp(*k)?;
    }
    for (stmt, b) in &observable.barriers {
        let n = w.number(Probe::Barrier(*b));
        w.around(f.stmt(*stmt).span, STATEMENT, format!("{{ {NOTE}({n}u, 0, 0); "), " }".into());
    }
    let probes = std::mem::take(&mut w.probes);
    Some(Instrumented { text: w.finish()?, probes })
}

/// Layers of what stands around the same text, innermost first.
const ADDRESS: u8 = 0;
const VALUE: u8 = 1;
const TURN: u8 = 2;
const STATEMENT: u8 = 3;

struct Insert {
    at: u32,
    /// What ends here comes before what stands here, and that before what begins here.
    phase: u8,
    /// Within a phase: inner ends first, outer beginnings first.
    key: (i64, i64),
    text: String,
}

struct Writer<'a> {
    text: &'a str,
    f: &'a Function,
    inserts: Vec<Insert>,
    probes: Vec<Probe>,
}

impl Writer<'_> {
    fn number(&mut self, probe: Probe) -> usize {
        self.probes.push(probe);
        self.probes.len() - 1
    }

    fn around(&mut self, span: Span, layer: u8, before: String, after: String) {
        let layer = i64::from(layer);
        let (start, end) = (i64::from(span.start), i64::from(span.end));
        self.inserts.push(Insert { at: span.start, phase: 2, key: (-end, -layer), text: before });
        self.inserts.push(Insert { at: span.end, phase: 0, key: (-start, layer), text: after });
    }

    fn at(&mut self, at: u32, text: String) {
        let key = (self.inserts.len() as i64, 0);
        self.inserts.push(Insert { at, phase: 1, key, text });
    }

    /// What is fixed while the kernel runs.
    fn entry(&mut self, body: Span, symbols: &BTreeSet<Atom>) {
        let n = self.number(Probe::Entered);
        let mut text = format!(" {NOTE}({n}u, 0, 0);");
        for atom in symbols {
            if let Some(call) = self.symbol(atom) {
                text += &call;
            }
        }
        let n = self.number(Probe::Started);
        text += &format!(" {NOTE}({n}u, 0, 0);");
        self.at(body.start + 1, text);
    }

    fn symbol(&mut self, atom: &Atom) -> Option<String> {
        let value = |w: &mut Self, e: &str| format!(" __kopt_value({}u, {e});", w.number(Probe::Symbol(atom.clone())));
        Some(match atom {
            Atom::Param(v) => value(self, &self.f.var(*v).name.clone()),
            Atom::Name(name) => match name.strip_prefix("sizeof(").and_then(|n| n.strip_suffix(')')) {
                Some(ty) if self.f.template.iter().any(|t| t.name == ty) => {
                    value(self, &format!("(unsigned long long)sizeof({ty})"))
                }
                None if self.f.template.iter().any(|t| t.name == **name) => value(self, name),
                _ => return None,
            },
            Atom::Fun(call) => {
                let member = call.name.strip_prefix("member.")?;
                let Some(Atom::Param(v)) = call.args.first()?.as_atom() else { return None };
                value(self, &format!("{}.{member}", self.f.var(*v).name))
            }
            Atom::Address(v) => {
                let var = self.f.var(*v);
                let entry = matches!(var.kind, VarKind::Param | VarKind::Global | VarKind::Constant);
                if !entry || var.name.is_empty() {
                    return None;
                }
                self.address(*v)
            }
            _ => return None,
        })
    }

    fn address(&mut self, v: VarId) -> String {
        let var = self.f.var(v);
        let n = self.probes.len();
        let text = match (&var.ty, var.kind) {
            (Type::Pointer(_), VarKind::Param) | (Type::Array { .. }, _) => {
                format!(" {NOTE}({n}u, (unsigned long long)(const volatile void*)({}), 8u);", var.name)
            }
            _ => {
                format!(" {NOTE}({n}u, (unsigned long long)&reinterpret_cast<const volatile char&>({}), 8u);", var.name)
            }
        };
        self.number(Probe::Symbol(Atom::Address(v)));
        text
    }

    fn addresses(&mut self, observable: &Observable, symbols: &BTreeSet<Atom>) {
        let f = self.f;
        for (stmt, vars) in &observable.declared {
            let mut text = String::new();
            for v in vars.iter().filter(|v| symbols.contains(&Atom::Address(**v))) {
                text += &self.address(*v);
            }
            if !text.is_empty() {
                self.at(f.stmt(*stmt).span.end, text);
            }
        }
        for (e, a) in &observable.lvalues {
            let n = self.number(Probe::Access(*a));
            self.around(f.expr(*e).span, ADDRESS, format!("__kopt_at({n}u, "), ")".into());
        }
        for (e, through) in &observable.pointers {
            let n = self.number(match through {
                Through::Access(a) => Probe::Access(*a),
                Through::Atomic(n) => Probe::Atomic(*n),
            });
            self.around(f.expr(*e).span, ADDRESS, format!("__kopt_through({n}u, "), ")".into());
        }
    }

    fn lp(&mut self, id: LoopId) -> Option<()> {
        let f = self.f;
        let l = f.loops.get(id.0 as usize)?;
        let turn = self.number(Probe::Turn(id));
        let enter = self.number(Probe::Enter(id));
        let whole = f.stmt(l.stmt).span;
        // A pragma must stay in front of its loop, at the start of a line.
        let start = l.unroll.as_ref().map_or(whole.start, |(_, pragma)| pragma.start.min(whole.start));
        let newline = if start < whole.start { "\n" } else { "" };
        let whole = Span { start, ..whole };
        self.around(whole, STATEMENT, format!("{{ {NOTE}({enter}u, 0, 0); {newline}"), " }".into());
        match &f.stmt(l.stmt).kind {
            StmtKind::For { condition: Some(c), .. } | StmtKind::While { condition: c, .. } => {
                self.around(f.expr(*c).span, TURN, format!("({NOTE}({turn}u, 0, 0), "), ")".into());
            }
            StmtKind::For { condition: None, .. } => {
                let at = self.empty_condition(l.header_span)?;
                self.at(at, format!(" ({NOTE}({turn}u, 0, 0), true)"));
            }
            StmtKind::DoWhile { .. } if l.has_braces => {
                self.at(l.body_span.start + 1, format!(" {NOTE}({turn}u, 0, 0);"));
            }
            _ => self.around(l.body_span, STATEMENT, format!("{{ {NOTE}({turn}u, 0, 0); "), " }".into()),
        }
        Some(())
    }

    /// Behind the first semicolon of a header.
    fn empty_condition(&self, header: Span) -> Option<u32> {
        let text = self.text.get(header.range())?;
        let mut depth = 0;
        for token in scan_code(text) {
            match token.of(text) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                ";" if depth == 1 => return Some(header.start + token.end),
                _ => {}
            }
        }
        None
    }

    fn finish(mut self) -> Option<String> {
        self.inserts.sort_by_key(|i| (i.at, i.phase, i.key));
        let mut out = prelude::text();
        let mut from = 0;
        for i in &self.inserts {
            out += self.text.get(from..i.at as usize)?;
            out += &i.text;
            from = i.at as usize;
        }
        out += self.text.get(from..)?;
        Some(out)
    }
}
