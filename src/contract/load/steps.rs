//! The steps of a plan: launches, fills and copies, with what each parameter is given.

use toml::de::DeTable;

use super::tables::{CONTRADICTION, value_names};
use super::value::{FORM, Item, Reader};
use crate::contract::args::Role;
use crate::contract::expr::{Expr, Op};
use crate::contract::expr_parse::dtype;
use crate::contract::plan::{Argument, BufferRef, Launch, LaunchSpans, Plan, Step};
use crate::diag::Diagnostic;
use crate::source::Span;

const LAUNCH_KEYS: &[&str] =
    &["kernel", "template", "grid", "block", "shared", "cluster", "args", "initialises", "proposed"];
const FILL_KEYS: &[&str] = &["fill", "byte", "bytes"];
const COPY_KEYS: &[&str] = &["copy", "to", "bytes"];
const ARGUMENTS: &str = "`args = [\"x\", \"y + n\", \"i32(n)\", \"f32(0.5)\", \"null\"]`";

impl Reader {
    /// `[[step]]` of a file, or `launch = {..}` of a comment above `kernel`.
    pub fn steps(&mut self, plan: &mut Plan, table: &DeTable, kernel: Option<(&str, Span)>) {
        if let Some(item) = table.get("step") {
            for item in self.list(item, "`[[step]]` with `kernel = \"NAME\"`").unwrap_or_default() {
                let step = self.step(plan, item);
                plan.steps.extend(step);
            }
        }
        if let (Some(item), Some((name, at))) = (table.get("launch"), kernel)
            && let Some(t) = self.table(item, "`launch = { grid = [..], block = [256], args = [..] }`")
        {
            let known: Vec<&str> = LAUNCH_KEYS.iter().copied().filter(|k| *k != "kernel").collect();
            self.known_keys(t, &known, "a launch");
            let mut launch = self.launch(plan, t, Some(self.span(item)));
            launch.kernel = name.to_owned();
            launch.spans.kernel = Some(at);
            plan.steps.push(Step::Launch(launch));
        }
    }

    fn step(&mut self, plan: &Plan, item: &Item) -> Option<Step> {
        let t = self.table(item, "`[[step]]` with `kernel = \"NAME\"`")?;
        if let Some(buffer) = t.get("fill") {
            self.known_keys(t, FILL_KEYS, "a fill");
            let buffer = self.buffer(plan, buffer)?;
            let byte = t.get("byte").and_then(|i| self.integer(i, "`byte = 0`")).unwrap_or(0);
            let Ok(byte) = u8::try_from(byte) else {
                return t.get("byte").and_then(|i| self.form(i, "a byte from 0 to 255", "`byte = 0`"));
            };
            return Some(Step::Fill { buffer, byte, bytes: t.get("bytes").and_then(|i| self.expr(i)) });
        }
        if let Some(from) = t.get("copy") {
            self.known_keys(t, COPY_KEYS, "a copy");
            let from = self.buffer(plan, from)?;
            let Some(to) = t.get("to") else { return self.form(item, "a copy with its target", "`to = \"y\"`") };
            let to = self.buffer(plan, to)?;
            return Some(Step::Copy { from, to, bytes: t.get("bytes").and_then(|i| self.expr(i)) });
        }
        self.known_keys(t, LAUNCH_KEYS, "a launch");
        let whole = Some(self.span(item));
        if !t.contains_key("kernel") {
            let d = Diagnostic::error(FORM, "this step names no kernel, fill or copy");
            self.problem(whole.into_iter().fold(d, |d, s| d.at(s, "this step")).next("add `kernel = \"NAME\"`"));
            return None;
        }
        Some(Step::Launch(self.launch(plan, t, whole)))
    }

    fn buffer(&mut self, plan: &Plan, item: &Item) -> Option<BufferRef> {
        let text = self.text(item, "`\"x\"`")?;
        match self.argument(plan, text, item)? {
            Argument::Buffer(r) => Some(r),
            _ => self.form(item, "a buffer", "`\"x\"` or `\"x + n\"`"),
        }
    }

    fn launch(&mut self, plan: &Plan, t: &DeTable, whole: Option<Span>) -> Launch {
        let at = |r: &Reader, key: &str| t.get(key).map(|i| r.span(i));
        let spans = LaunchSpans {
            whole,
            kernel: at(self, "kernel"),
            grid: at(self, "grid"),
            block: at(self, "block"),
            shared: at(self, "shared"),
            args: vec![],
        };
        let mut launch = Launch { spans, ..Launch::default() };
        launch.kernel = t.get("kernel").and_then(|i| self.text(i, "`kernel = \"NAME\"`")).unwrap_or("").to_owned();
        let texts = t.get("template").map(|i| self.texts(i, "`template = [\"float\", \"4\"]`"));
        launch.template = texts.unwrap_or_default().into_iter().map(|(s, _)| s).collect();
        launch.grid = t.get("grid").map(|i| self.axes(i)).unwrap_or_default();
        launch.block = t.get("block").map(|i| self.axes(i)).unwrap_or_default();
        launch.shared = t.get("shared").and_then(|i| self.expr(i));
        launch.cluster = t.get("cluster").map(|i| self.axes(i)).unwrap_or_default();
        launch.initialises = t.get("initialises").and_then(|i| self.boolean(i)).unwrap_or(false);
        launch.proposed = t.get("proposed").map(|i| self.proposed(i)).unwrap_or_default();
        let items = t.get("args").and_then(|i| self.list(i, ARGUMENTS)).unwrap_or_default();
        for item in items {
            launch.spans.args.push(self.span(item));
            let read = self.text(item, ARGUMENTS).and_then(|text| self.argument(plan, text, item));
            launch.args.push(read.unwrap_or(Argument::Open));
        }
        launch
    }

    /// `x`, `x + n`, `i32(n)`, `f32(0.5)`, `null`, `?`, or the name of a scalar.
    fn argument(&mut self, plan: &Plan, text: &str, item: &Item) -> Option<Argument> {
        let trimmed = text.trim();
        match trimmed {
            "?" => return Some(Argument::Open),
            "null" => return Some(Argument::Null),
            _ => {}
        }
        if let Some((word, inner)) = trimmed.split_once('(').and_then(|(w, i)| Some((w.trim(), i.strip_suffix(')')?)))
            && let Some(dtype) = dtype(word)
        {
            if dtype.is_float()
                && let Some(value) = real(inner)
            {
                return Some(Argument::Float { dtype, value });
            }
            let e = self.value_expr(plan, inner, item)?;
            return Some(match e.constant() {
                Some(v) if dtype.is_float() => Argument::Float { dtype, value: v as f64 },
                _ => Argument::Int { dtype, value: e },
            });
        }
        let e = self.expr_text(trimmed, item)?;
        let Some(first) = leftmost(&e) else { return self.typed(trimmed, item) };
        match plan.arg(first) {
            Some(a) if a.role == Role::Scalar && e == Expr::name(first) => Some(Argument::Scalar(first.to_owned())),
            Some(a) if a.is_buffer() => {
                let offset = without_leftmost(&e);
                self.values_exist(plan, &offset, item)?;
                let offset = Some(offset).filter(|o| *o != Expr::Int(0));
                Some(Argument::Buffer(BufferRef { buffer: first.to_owned(), offset }))
            }
            Some(_) => self.typed(trimmed, item),
            None if value_names(plan).any(|n| n == first) => self.typed(trimmed, item),
            None => {
                let known = plan.args.iter().map(|a| a.name.as_str());
                let d = self.unknown_name(first, "argument", known, self.span(item));
                self.problem(d);
                None
            }
        }
    }

    fn value_expr(&mut self, plan: &Plan, text: &str, item: &Item) -> Option<Expr> {
        let e = self.expr_text(text, item)?;
        self.values_exist(plan, &e, item)?;
        Some(e)
    }

    fn values_exist(&mut self, plan: &Plan, e: &Expr, item: &Item) -> Option<()> {
        let unknown = e.names().into_iter().find(|n| !value_names(plan).any(|v| v == *n));
        if let Some(name) = unknown {
            let d = self.unknown_name(name, "dim or scalar", value_names(plan), self.span(item));
            self.problem(d);
            return None;
        }
        Some(())
    }

    /// An integer without its type.
    fn typed<T>(&mut self, text: &str, item: &Item) -> Option<T> {
        let d =
            Diagnostic::error(CONTRADICTION, format!("`{text}` needs the type of the parameter that it is given to"));
        let span = self.span(item);
        self.problem(d.at(span, "of which type?").next(format!("write `i32({text})`, or declare it in `args`")));
        None
    }
}

fn real(text: &str) -> Option<f64> {
    let t = text.trim();
    let number = t.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    let infinite = matches!(t, "inf" | "-inf");
    (number || infinite).then(|| t.parse::<f64>().ok())?
}

/// The name with which a sum begins.
fn leftmost(e: &Expr) -> Option<&str> {
    match e {
        Expr::Name(n) => Some(n),
        Expr::Binary(Op::Add | Op::Sub, a, _) => leftmost(a),
        _ => None,
    }
}

fn without_leftmost(e: &Expr) -> Expr {
    match e {
        Expr::Binary(op @ (Op::Add | Op::Sub), a, b) => Expr::binary(*op, without_leftmost(a), (**b).clone()).folded(),
        _ => Expr::Int(0),
    }
}
