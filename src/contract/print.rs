//! A contract as TOML: what is read back is equal, and comments stand where a person looks for them.

use std::fmt::Write as _;

use super::Contract;
use super::args::{Arg, Bound, Value};
use super::dims::Dim;
use super::expr::Expr;
use super::load::VERSION;
use super::plan::{Argument, BufferRef, Launch, Plan, Step};
use super::proposed::Proposed;
use super::reference::Reference;

/// The text of the whole file. Assumptions are printed as they were written.
pub fn print(contract: &Contract) -> String {
    let mut out = format!("contract = {VERSION}\n");
    let texts = |list: &[super::Assumption]| list.iter().map(|a| quoted(&a.text)).collect::<Vec<_>>().join(", ");
    if !contract.assumptions.everywhere.is_empty() {
        let _ = writeln!(out, "assume = [{}]", texts(&contract.assumptions.everywhere));
    }
    // Keys of the top plan stand before the first table.
    if let Some(top) = contract.plans.iter().find(|p| p.name.is_empty()) {
        plan(&mut out, top, "");
    }
    for p in contract.plans.iter().filter(|p| !p.name.is_empty()) {
        if p.has_own_keys() || p.steps.is_empty() {
            let _ = writeln!(out, "\n[plan.{}]", key(&p.name));
        }
        plan(&mut out, p, &format!("plan.{}.", key(&p.name)));
    }
    for (kernel, list) in &contract.assumptions.by_kernel {
        let _ = writeln!(out, "\n[kernel.{}]\nassume = [{}]", key(kernel), texts(list));
    }
    out
}

impl Plan {
    /// Whether anything is printed before its first table.
    fn has_own_keys(&self) -> bool {
        !self.notes.0.is_empty()
            || !self.require.is_empty()
            || self.noalias
            || !self.alias.is_empty()
            || self.reference != Reference::Original
    }
}

fn plan(out: &mut String, p: &Plan, prefix: &str) {
    comments(out, &p.notes.0);
    if !p.require.is_empty() {
        let _ = writeln!(out, "require = {}", list(&p.require));
    }
    if p.noalias {
        let _ = writeln!(out, "noalias = true");
    }
    if !p.alias.is_empty() {
        let group = |g: &Vec<String>| format!("[{}]", g.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", "));
        let _ = writeln!(out, "alias = [{}]", p.alias.iter().map(group).collect::<Vec<_>>().join(", "));
    }
    match &p.reference {
        Reference::Original => {}
        Reference::Kernel(k) => _ = writeln!(out, "reference = {{ kernel = {} }}", quoted(k)),
        Reference::Host(h) => _ = writeln!(out, "reference = {{ host = {} }}", quoted(h)),
        Reference::Command(c) => {
            let words: Vec<String> = c.iter().map(|w| quoted(w)).collect();
            let _ = writeln!(out, "reference = {{ command = [{}] }}", words.join(", "));
        }
    }
    for d in &p.dims {
        dim(out, d, prefix);
    }
    for a in &p.args {
        arg(out, a, prefix);
    }
    for s in &p.steps {
        step(out, s, prefix);
    }
    for t in &p.tolerances {
        let _ = writeln!(out, "\n[{prefix}tolerance.{}]", key(&t.output));
        if t.exact {
            let _ = writeln!(out, "exact = true");
        }
        for (name, v) in [("rms", t.rms), ("max", t.max)] {
            if let Some(v) = v {
                let _ = writeln!(out, "{name} = {}", float(v));
            }
        }
    }
    permissions(out, p, prefix);
}

fn permissions(out: &mut String, p: &Plan, prefix: &str) {
    let q = &p.permissions;
    if *q == super::permit::Permissions::default() {
        return;
    }
    let _ = writeln!(out, "\n[{prefix}permissions]");
    if !q.mutable_globals.is_empty() {
        let names: Vec<String> = q.mutable_globals.iter().map(|n| quoted(n)).collect();
        let _ = writeln!(out, "mutable_globals = [{}]", names.join(", "));
    }
    let flags = [("atomic_order", q.atomic_order), ("reassociate", q.reassociate), ("approximate", q.approximate)];
    for (name, _) in flags.iter().filter(|(_, on)| *on) {
        let _ = writeln!(out, "{name} = true");
    }
}

fn dim(out: &mut String, d: &Dim, prefix: &str) {
    let _ = writeln!(out, "\n[{prefix}dims.{}]", key(&d.name));
    comments(out, &d.notes);
    if !d.samples.is_empty() {
        let values: Vec<String> = d.samples.iter().map(i64::to_string).collect();
        let _ = writeln!(out, "samples = [{}]", values.join(", "));
    }
    for (name, v) in [("min", d.min), ("max", d.max), ("divisible_by", d.divisible_by)] {
        if let Some(v) = v {
            let _ = writeln!(out, "{name} = {v}");
        }
    }
    proposed(out, &d.proposed);
}

fn arg(out: &mut String, a: &Arg, prefix: &str) {
    let _ = writeln!(out, "\n[{prefix}args.{}]", key(&a.name));
    comments(out, &a.notes);
    let _ = writeln!(out, "role = \"{}\"", a.role.word());
    if let Some(d) = a.dtype {
        let _ = writeln!(out, "dtype = \"{}\"", d.name());
    }
    if !a.shape.is_empty() {
        let _ = writeln!(out, "shape = {}", list(&a.shape));
    }
    if let Some(n) = a.align {
        let _ = writeln!(out, "align = {n}");
    }
    if !a.distribution.is_empty() {
        let words: Vec<String> = a.distribution.iter().map(|d| quoted(d.word())).collect();
        let _ = writeln!(out, "distribution = [{}]", words.join(", "));
    }
    if let Some((lo, hi)) = &a.legal {
        let end = |b: &Bound| match b {
            Bound::Int(e) => expr(e),
            Bound::Float(v) => float(*v),
        };
        let _ = writeln!(out, "legal = [{}, {}]", end(lo), end(hi));
    }
    for (name, on) in [("infinite", a.infinite), ("nan", a.nan)] {
        if on {
            let _ = writeln!(out, "{name} = true");
        }
    }
    if let Some(s) = &a.symbol {
        let _ = writeln!(out, "symbol = {}", quoted(s));
    }
    if let Some(i) = a.init {
        let _ = writeln!(out, "init = \"{}\"", i.word());
    }
    if let Some((from, to)) = &a.writes {
        let _ = writeln!(out, "writes = [{}, {}]", expr(from), expr(to));
    }
    match &a.value {
        None => {}
        Some(Value::Int(e)) => _ = writeln!(out, "value = {}", expr(e)),
        Some(Value::Float(v)) => _ = writeln!(out, "value = {}", float(*v)),
    }
    proposed(out, &a.proposed);
}

fn step(out: &mut String, s: &Step, prefix: &str) {
    let _ = writeln!(out, "\n[[{prefix}step]]");
    let length = |bytes: &Option<Expr>| bytes.as_ref().map(|b| format!("bytes = {}\n", expr(b))).unwrap_or_default();
    match s {
        Step::Launch(l) => launch(out, l),
        Step::Fill { buffer, byte, bytes } => {
            let _ = writeln!(out, "fill = {}\nbyte = {byte}", quoted(&place(buffer)));
            out.push_str(&length(bytes));
        }
        Step::Copy { from, to, bytes } => {
            let _ = writeln!(out, "copy = {}\nto = {}", quoted(&place(from)), quoted(&place(to)));
            out.push_str(&length(bytes));
        }
    }
}

fn launch(out: &mut String, l: &Launch) {
    comments(out, &l.notes);
    let _ = writeln!(out, "kernel = {}", quoted(&l.kernel));
    if !l.template.is_empty() {
        let texts: Vec<String> = l.template.iter().map(|t| quoted(t)).collect();
        let _ = writeln!(out, "template = [{}]", texts.join(", "));
    }
    for (name, axes) in [("grid", &l.grid), ("block", &l.block)] {
        if !axes.is_empty() {
            let _ = writeln!(out, "{name} = {}", list(axes));
        }
    }
    if let Some(s) = &l.shared {
        let _ = writeln!(out, "shared = {}", expr(s));
    }
    if !l.cluster.is_empty() {
        let _ = writeln!(out, "cluster = {}", list(&l.cluster));
    }
    let args: Vec<String> = l.args.iter().map(|a| quoted(&argument(a))).collect();
    let _ = writeln!(out, "args = [{}]", args.join(", "));
    if l.initialises {
        let _ = writeln!(out, "initialises = true");
    }
    proposed(out, &l.proposed);
}

/// As it stands in `args`.
pub fn argument(a: &Argument) -> String {
    match a {
        Argument::Buffer(r) => place(r),
        Argument::Int { dtype, value } => format!("{}({value})", dtype.name()),
        Argument::Float { dtype, value } => format!("{}({})", dtype.name(), float(*value)),
        Argument::Scalar(n) => n.clone(),
        Argument::Null => "null".into(),
        Argument::Open => "?".into(),
    }
}

fn place(r: &BufferRef) -> String {
    match &r.offset {
        None => r.buffer.clone(),
        Some(o) => Expr::binary(super::expr::Op::Add, Expr::name(&r.buffer), o.clone()).to_string(),
    }
}

fn comments(out: &mut String, notes: &[String]) {
    for line in notes.iter().flat_map(|n| n.lines()) {
        let _ = writeln!(out, "# {line}");
    }
}

fn proposed(out: &mut String, p: &Proposed) {
    if p.all {
        let _ = writeln!(out, "proposed = true");
    } else if !p.fields.is_empty() {
        let fields: Vec<String> = p.fields.iter().map(|f| quoted(f)).collect();
        let _ = writeln!(out, "proposed = [{}]", fields.join(", "));
    }
}

fn list(items: &[Expr]) -> String {
    format!("[{}]", items.iter().map(expr).collect::<Vec<_>>().join(", "))
}

fn expr(e: &Expr) -> String {
    match e {
        Expr::Int(v) => v.to_string(),
        other => quoted(&other.to_string()),
    }
}

/// With a point or an exponent, so that it is read back as a number and not as an integer.
fn float(v: f64) -> String {
    if v.is_infinite() { if v > 0.0 { "inf".into() } else { "-inf".into() } } else { format!("{v:?}") }
}

/// A bare key where that is possible.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => _ = write!(out, "\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
