//! Values of TOML with their places: each mistake becomes a diagnostic on the contract's own line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::contract::expr::{self, Expr};
use crate::contract::near::near;
use crate::contract::proposed::Proposed;
use crate::diag::{Code, Diagnostic};
use crate::source::{FileId, Span};

pub(super) type Item<'i> = Spanned<DeValue<'i>>;

/// A text that is being read: where it stands, and what was found wrong so far.
pub(super) struct Reader {
    pub file: FileId,
    /// Offset of the TOML text in the file.
    pub base: usize,
    pub problems: Vec<Diagnostic>,
}

pub(super) const FORM: Code = Code(600);
const KEY: Code = Code(601);
const EXPRESSION: Code = Code(602);
const WORD: Code = Code(603);

impl Reader {
    pub fn span<T>(&self, item: &Spanned<T>) -> Span {
        let range = item.span();
        Span::new(self.file, self.base + range.start, self.base + range.end)
    }

    pub fn problem(&mut self, d: Diagnostic) {
        self.problems.push(d);
    }

    /// A value of the wrong form.
    pub fn form<T>(&mut self, item: &Item, expected: &str, example: &str) -> Option<T> {
        let d = Diagnostic::error(FORM, format!("{expected} is expected here"));
        let d = d.at(self.span(item), format!("this is {}", kind(item.get_ref()))).next(format!("write {example}"));
        self.problem(d);
        None
    }

    pub fn table<'a, 'i>(&mut self, item: &'a Item<'i>, example: &str) -> Option<&'a DeTable<'i>> {
        match item.get_ref() {
            DeValue::Table(t) => Some(t),
            _ => self.form(item, "a table", example),
        }
    }

    /// The entries of a table in the order of the text.
    pub fn entries<'a, 'i>(&mut self, table: &'a DeTable<'i>) -> Vec<(String, Span, &'a Item<'i>)> {
        let mut found: Vec<(String, Span, &Item)> =
            table.iter().map(|(k, v)| (k.get_ref().to_string(), self.span(k), v)).collect();
        found.sort_by_key(|(_, at, _)| *at);
        found
    }

    /// Reports each key that has no meaning.
    pub fn known_keys(&mut self, table: &DeTable, known: &[&str], what: &str) {
        for (key, at, _) in self.entries(table) {
            if known.contains(&key.as_str()) {
                continue;
            }
            let next = match near(&key, known.iter().copied()) {
                Some(right) => format!("write `{right}`"),
                None => format!("{what} has {}", known.join(", ")),
            };
            let d = Diagnostic::error(KEY, format!("`{key}` has no meaning in {what}"));
            self.problem(d.at(at, "this key").next(next));
        }
    }

    pub fn text<'a>(&mut self, item: &'a Item, example: &str) -> Option<&'a str> {
        match item.get_ref() {
            DeValue::String(s) => Some(s),
            _ => self.form(item, "a text", example),
        }
    }

    pub fn integer(&mut self, item: &Item, example: &str) -> Option<i64> {
        match item.get_ref() {
            DeValue::Integer(i) => match i64::from_str_radix(&i.as_str().replace('_', ""), i.radix()) {
                Ok(v) => Some(v),
                Err(_) => self.form(item, "an integer of 64 bits", example),
            },
            _ => self.form(item, "an integer", example),
        }
    }

    pub fn float(&mut self, item: &Item, example: &str) -> Option<f64> {
        match item.get_ref() {
            DeValue::Float(f) => match f.as_str().replace('_', "").parse::<f64>() {
                Ok(v) if !v.is_nan() => Some(v),
                _ => self.form(item, "a number", example),
            },
            DeValue::Integer(_) => self.integer(item, example).map(|v| v as f64),
            _ => self.form(item, "a number", example),
        }
    }

    pub fn boolean(&mut self, item: &Item) -> Option<bool> {
        match item.get_ref() {
            DeValue::Boolean(b) => Some(*b),
            _ => self.form(item, "true or false", "`true`"),
        }
    }

    pub fn list<'a, 'i>(&mut self, item: &'a Item<'i>, example: &str) -> Option<Vec<&'a Item<'i>>> {
        match item.get_ref() {
            DeValue::Array(items) => Some(items.iter().collect()),
            _ => self.form(item, "a list", example),
        }
    }

    pub fn texts(&mut self, item: &Item, example: &str) -> Vec<(String, Span)> {
        let Some(items) = self.list(item, example) else { return vec![] };
        let one = |i: &&Item| Some((self.text(i, example)?.to_owned(), self.span(i)));
        items.iter().filter_map(one).collect()
    }

    /// An integer, or a text that is an expression.
    pub fn expr(&mut self, item: &Item) -> Option<Expr> {
        match item.get_ref() {
            DeValue::Integer(_) => self.integer(item, "`256`").map(Expr::Int),
            DeValue::String(text) => self.expr_text(text, item),
            _ => self.form(item, "an integer or an expression", "`256` or `\"ceil_div(n, 256)\"`"),
        }
    }

    pub fn expr_text(&mut self, text: &str, item: &Item) -> Option<Expr> {
        match expr::parse(text) {
            Ok(e) => Some(e),
            Err(e) => {
                let span = self.inside(item, text, e.at.clone());
                let d = Diagnostic::error(EXPRESSION, format!("this expression cannot be read: {}", e.why));
                let next = "write integers, dims, + - * / %, comparisons, min, max, ceil_div and sizeof";
                self.problem(d.at(span, e.why).next(next));
                None
            }
        }
    }

    /// The place of a part of a text: exact where the text stands in plain quotes, else all of it.
    pub fn inside(&self, item: &Item, text: &str, part: std::ops::Range<usize>) -> Span {
        let whole = self.span(item);
        if whole.len() != text.len() + 2 {
            return whole;
        }
        let start = whole.start as usize + 1 + part.start;
        Span::new(self.file, start, (start + part.len().max(1)).min(whole.end as usize))
    }

    /// One expression, or a list of at most three.
    pub fn axes(&mut self, item: &Item) -> Vec<Expr> {
        match item.get_ref() {
            DeValue::Array(items) if items.len() > 3 || items.is_empty() => {
                self.form::<()>(item, "one to three axes", "`[\"ceil_div(n, 256)\", 1, 1]`");
                vec![]
            }
            DeValue::Array(items) => items.iter().filter_map(|i| self.expr(i)).collect(),
            _ => self.expr(item).into_iter().collect(),
        }
    }

    pub fn exprs(&mut self, item: &Item, example: &str) -> Vec<Expr> {
        match item.get_ref() {
            DeValue::Array(items) => items.iter().filter_map(|i| self.expr(i)).collect(),
            DeValue::Integer(_) | DeValue::String(_) => self.expr(item).into_iter().collect(),
            _ => self.form(item, "a list of expressions", example).unwrap_or_default(),
        }
    }

    /// One of some words.
    pub fn word<T>(&mut self, item: &Item, what: &str, words: &[&str], read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let example = words.first().map(|w| format!("`\"{w}\"`")).unwrap_or_default();
        let text = self.text(item, &example)?;
        if let Some(found) = read(text) {
            return Some(found);
        }
        let next = match near(text, words.iter().copied()) {
            Some(right) => format!("write `{right}`"),
            None => format!("write one of {}", words.join(", ")),
        };
        let d = Diagnostic::error(WORD, format!("`{text}` is no {what}"));
        let span = self.span(item);
        self.problem(d.at(span, format!("no {what}")).next(next));
        None
    }

    pub fn proposed(&mut self, item: &Item) -> Proposed {
        match item.get_ref() {
            DeValue::Boolean(all) => Proposed { all: *all, fields: vec![] },
            _ => {
                let fields = self.texts(item, "`true`, or a list of fields").into_iter().map(|(t, _)| t).collect();
                Proposed { all: false, fields }
            }
        }
    }
}

fn kind(v: &DeValue) -> &'static str {
    match v {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
