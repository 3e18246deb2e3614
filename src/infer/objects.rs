//! Classes of host code: methods, constructors, and values that stand in the text only.

use std::collections::BTreeSet;

use super::arith::type_named;
use super::calls::rebuild;
use super::host::{Frame, Host, last};
use super::value::Val;
use crate::contract::Expr;
use crate::ir::*;

impl<'a> Host<'a> {
    /// Runs the constructor of a class on the object at `key`; whether there is one.
    pub(super) fn construct_at(&mut self, frame: &Frame<'a>, ty: &Type, e: ExprId, key: &str) -> bool {
        let (Type::Named(name), ExprKind::Construct { args, .. } | ExprKind::InitList(args)) = (ty, frame.f.kind_of(e))
        else {
            return false;
        };
        let (class, given) = name.split_once('<').unwrap_or((name, ""));
        let class = last(class).trim();
        let Some((unit, f)) = self.method_of(frame.unit, Some(class), class, args.len()) else { return false };
        let values: Vec<Val> = args.iter().map(|a| self.eval(frame, *a)).collect();
        // Template arguments of the class: its methods do not list them, so that every name in them is settled alike.
        let mut inner = frame.clone();
        let texts: Vec<&str> =
            given.trim_end_matches('>').split(',').map(str::trim).filter(|t| !t.is_empty()).collect();
        if let [one] = texts.as_slice() {
            inner.types.insert("T".into(), (*one).to_owned());
        }
        self.class_types = inner.types.clone();
        self.enter(&inner, unit, f, values, &[], args, Some(key.to_owned()));
        self.class_types.clear();
        true
    }

    /// `: n(count), data(nullptr)` in front of the body of a constructor.
    pub(super) fn member_initialisers(&mut self, frame: &Frame<'a>) {
        let (Some(this), Some(body)) = (frame.this.clone(), frame.f.body_span) else { return };
        if frame.f.class.as_deref() != Some(frame.f.name.as_str()) {
            return;
        }
        let text =
            self.sources.get(body.file).text.get(frame.f.name_span.end as usize..body.start as usize).unwrap_or("");
        let Some(list) = after_parameters(text).and_then(|t| t.trim_start().strip_prefix(':')) else { return };
        for item in split(list) {
            let Some(open) = item.find(['(', '{']) else { continue };
            let (name, rest) = item.split_at(open);
            let inner = rest.get(1..rest.len().saturating_sub(1)).unwrap_or("").trim().to_owned();
            let local = frame.f.params.iter().find(|p| frame.f.var(**p).name == inner);
            let value = match local {
                Some(p) => self.memory.get(&self.key(frame, *p)).cloned(),
                None if matches!(inner.as_str(), "nullptr" | "NULL") => Some(Val::Null),
                None => {
                    let ints: Vec<(String, Expr)> = frame
                        .f
                        .params
                        .iter()
                        .filter_map(|p| {
                            Some((frame.f.var(*p).name.clone(), self.memory.get(&self.key(frame, *p))?.as_int()?))
                        })
                        .collect();
                    self.text(frame, &inner, &ints)
                }
            };
            if let Some(v) = value {
                self.memory.insert(format!("{this}.{}", name.trim()), v);
            }
        }
    }

    /// The value of an expression that stands in the text only: the body of a macro, the initialiser of a global.
    pub(super) fn text(&mut self, frame: &Frame<'a>, text: &str, known: &[(String, Expr)]) -> Option<Val> {
        if self.text_depth > 6 {
            return None;
        }
        self.text_depth += 1;
        let found = self.text_inner(frame, text, known);
        self.text_depth -= 1;
        found
    }

    fn text_inner(&mut self, frame: &Frame<'a>, text: &str, known: &[(String, Expr)]) -> Option<Val> {
        let expanded = self.expand_text(frame, text)?;
        let plain = without_casts(&expanded);
        let parsed = crate::contract::expr::parse(&plain).ok()?;
        let mut values: Vec<(String, Expr)> = known.to_vec();
        for n in parsed.names() {
            if !values.iter().any(|(m, _)| m == n) {
                let own = frame.f.vars.iter().position(|v| v.name == n).map(|i| self.key(frame, VarId(i as u32)));
                let own = own.and_then(|k| self.memory.get(&k)).and_then(Val::as_int);
                let value = match own {
                    Some(e) => e,
                    None => self.global(frame, n).as_int()?,
                };
                values.push((n.to_owned(), value));
            }
        }
        Some(Val::Int(rebuild(&parsed, &|n| values.iter().find(|(m, _)| m == n).map(|(_, e)| e.clone()))))
    }

    /// The text with function-like macros replaced by their bodies.
    fn expand_text(&self, frame: &Frame, text: &str) -> Option<String> {
        let units = self.view.units(self.root, frame.unit);
        let names = if text.contains('(') { self.view.function_macros(&units) } else { BTreeSet::new() };
        let mut text = text.to_owned();
        for _ in 0..8 {
            let hit = names.iter().find_map(|name| Some((call_of(&text, name)?, *name)));
            let Some(((start, open, end), name)) = hit else { return Some(text) };
            let (params, body) = self.view.function_macro(&units, name)?;
            let args: Vec<String> = split(text.get(open + 1..end)?).into_iter().map(|a| a.trim().to_owned()).collect();
            if args.len() != params.len() {
                return None;
            }
            let body = words(body, &|w| Some(format!("({})", args.get(params.iter().position(|p| p == w)?)?)));
            text = format!("{}({body}){}", text.get(..start)?, text.get(end + 1..)?);
        }
        None
    }
}

/// What stands behind the parameter list with which the text begins.
fn after_parameters(text: &str) -> Option<&str> {
    let open = text.find('(')?;
    text.get(closing(text, open)? + 1..)
}

fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (i, c) in text.char_indices().skip_while(|(i, _)| *i < open) {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// At commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut from) = (vec![], 0i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(text.get(from..i));
                from = i + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(from..));
    found.into_iter().map(str::trim).collect()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Replaces whole words.
fn words(text: &str, with: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_word) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c| !is_word(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        out.push_str(before);
        out.push_str(&with(word).unwrap_or_else(|| word.to_owned()));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Start, opening and closing parenthesis of a call of `name`.
fn call_of(text: &str, name: &str) -> Option<(usize, usize, usize)> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find(name).map(|i| i + from) {
        let end = at + name.len();
        let alone = !text.get(..at)?.ends_with(is_word);
        let open = end + text.get(end..)?.len() - text.get(end..)?.trim_start().len();
        if alone && text.get(open..)?.starts_with('(') {
            return Some((at, open, closing(text, open)?));
        }
        from = end;
    }
    None
}

/// `(int)x` and `sizeof(float)` as expressions of a contract know them.
fn without_casts(text: &str) -> String {
    let mut out = text.to_owned();
    for ty in ["int", "unsigned int", "unsigned", "size_t", "long", "long long", "uint32_t", "int64_t", "uint64_t"] {
        let cast = format!("({ty})");
        let mut from = 0;
        while let Some(at) = out.get(from..).and_then(|t| t.find(&cast)).map(|i| i + from) {
            if out.get(..at).is_some_and(|t| t.trim_end().ends_with("sizeof")) {
                from = at + cast.len();
            } else {
                out.replace_range(at..at + cast.len(), "");
            }
        }
    }
    let sized = words(&out, &|w| {
        if type_named(w).is_some() && crate::contract::dtype(w).is_none() {
            type_named(w)?.scalar().map(|s| s.name().to_owned())
        } else {
            None
        }
    });
    // Suffixes of integers.
    words(&sized, &|w| {
        let digits = w.trim_end_matches(['u', 'U', 'l', 'L']);
        (digits.len() < w.len() && digits.starts_with(|c: char| c.is_ascii_digit())).then(|| digits.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_where_people_see_it() {
        assert_eq!(split("a(1, 2), b{c}, d"), ["a(1, 2)", "b{c}", "d"]);
        assert_eq!(after_parameters("(int a, int (*f)(int)) : n(a)"), Some(" : n(a)"));
        assert_eq!(call_of("3 + imin (a, (b))", "imin"), Some((4, 9, 16)));
        assert_eq!(call_of("ximin(a)", "imin"), None);
        assert_eq!(without_casts("(int)n * sizeof(float) + 4u"), "n * sizeof(float) + 4");
    }
}
