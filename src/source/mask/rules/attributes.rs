//! Attributes, macros that expand to attributes, and aliases of `__global__`.

use super::*;

impl Rules<'_, '_, '_> {
    pub(super) fn attribute(&mut self, i: usize, kind: AttributeKind) -> usize {
        let end = self.behind_group(i + 1);
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.m.blank(span.clone());
        if kind == AttributeKind::Pragma {
            let inner = self.span(i + 1, end);
            let text = self.m.str(inner.clone()).trim_matches(['(', ')', '"', ' ']);
            let offset = inner.start + self.m.str(inner).find(text).unwrap_or(0);
            if unroll_pragma(self.m, text, offset, span.clone()) {
                return end;
            }
        }
        self.m.found.attributes.push(Attribute { kind, args, span, expansion: "".into() });
        end
    }

    /// The top-level arguments between the brackets at `open` and `close`.
    pub(super) fn arguments(&self, open: usize, close: usize) -> Vec<(String, Range<usize>)> {
        let mut args = vec![];
        let mut from = open + 1;
        let mut j = from;
        while j <= close {
            if j == close || self.at(j).is(b',') {
                if j > from {
                    let range = self.span(from, j);
                    args.push((self.m.str(range.clone()).to_owned(), range));
                }
                from = j + 1;
            }
            j = self.behind_group(j).max(j + 1);
        }
        args
    }

    pub(super) fn attribute_macro(&mut self, i: usize) -> usize {
        let tok = self.at(i);
        let (prev, next) = (self.before(i), self.at(i + 1));
        let Some(found) = self.m.macro_of(tok) else { return i + 1 };
        let mut end = i + 1;
        if found.params.is_some() {
            if !next.is(b'(') {
                return i + 1;
            }
            end = self.behind_group(i + 1);
        }
        let after = self.at(end);
        let listed =
            (prev.is(b'(') || prev.is(b',') || prev.is(b'<')) && (after.is(b')') || after.is(b',') || after.is(b'>'));
        // A call that expands to nothing is left as the call it looks like.
        let called = found.kind == MacroKind::Empty
            && (found.params.is_some() && !after.is_word() || after.is(b';') && self.k[i].start);
        if listed
            || called
            || prev.is(b'.')
            || prev.is(b'=')
            || matches!(prev.word, Word::Record | Word::Enum | Word::Namespace) && !after.is_word()
        {
            return end;
        }
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.expand(found, &args, &span, 0);
        self.m.blank(span.clone());
        let expansion = found.body.clone();
        self.m.found.attributes.push(Attribute { kind: AttributeKind::Macro, args, span, expansion });
        end
    }

    /// Records the attributes in the body of a macro, with its parameters filled in.
    pub(super) fn expand(&mut self, found: &Macro, args: &[(String, Range<usize>)], span: &Range<usize>, depth: u32) {
        if self.m.work < found.body.len() {
            return;
        }
        self.m.work -= found.body.len();
        let tokens: Vec<_> = tokens::scan_code(&found.body).into_iter().take(256).collect();
        let params = found.params.as_deref().unwrap_or(&[]);
        let text = |j: usize| tokens.get(j).map_or("", |t| t.of(&found.body));
        for j in 0..tokens.len() {
            let word = text(j);
            let inner = self.m.local.get(word).or_else(|| self.m.global.get(word));
            if let (Some(inner), true) = (inner, depth < 4)
                && word != &*found.body
                && inner.params.is_none()
            {
                self.expand(inner, &[], span, depth + 1);
            }
            let Word::Attribute(kind) = table().word(word) else { continue };
            let mut values = vec![];
            if text(j + 1) == "(" {
                let (mut depth, mut value, mut place) = (0, String::new(), span.clone());
                for token in &tokens[j + 1..] {
                    let piece = token.of(&found.body);
                    depth += i32::from(piece == "(") - i32::from(piece == ")");
                    let ends = depth == 0 || (depth == 1 && piece == ",");
                    if ends && !value.is_empty() {
                        values.push((std::mem::take(&mut value), std::mem::replace(&mut place, span.clone())));
                    } else if !(ends || depth == 1 && piece == "(" && value.is_empty() && values.is_empty()) {
                        match params.iter().position(|p| p == piece).and_then(|p| args.get(p)) {
                            Some((arg, range)) => {
                                place = if value.is_empty() { range.clone() } else { span.clone() };
                                value.push_str(arg);
                            }
                            None => value.push_str(piece),
                        }
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            let pragma = values
                .first()
                .map(|v| v.0.trim_matches(['"', ' ']).to_owned())
                .filter(|_| kind == AttributeKind::Pragma);
            match pragma.as_deref().and_then(unroll_factor) {
                Some(factor) => {
                    let args = factor.map(|(f, _)| (f.to_owned(), span.clone())).into_iter().collect();
                    self.push(AttributeKind::Unroll, args, span);
                }
                None => self.push(kind, values, span),
            }
        }
    }

    pub(super) fn push(&mut self, kind: AttributeKind, args: Vec<(String, Range<usize>)>, span: &Range<usize>) {
        self.m.found.attributes.push(Attribute { kind, args, span: span.clone(), expansion: "".into() });
    }

    pub(super) fn kernel_alias(&mut self, i: usize, typed: bool) -> usize {
        let tok = self.at(i);
        let Some(found) = self.m.macro_of(tok) else { return i + 1 };
        let end = if found.params.is_some() { self.behind_group(i + 1) } else { i + 1 };
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.expand(found, &args, &span, 0);
        let stand_ins: &[&str] = if typed { &["__global__ void", "void"] } else { &["__global__"] };
        if !stand_ins.iter().any(|s| self.m.write(span.clone(), s)) {
            self.m.blank(span.clone());
        }
        let expansion = found.body.clone();
        self.m.found.attributes.push(Attribute { kind: AttributeKind::Macro, args, span: span.clone(), expansion });
        self.m.replace(span, What::KernelAlias);
        end
    }

    pub(super) fn attribute_like(&mut self, i: usize, end: usize) -> usize {
        let span = self.span(i, end);
        let args = if end > i + 1 { self.arguments(i + 1, end - 1) } else { vec![] };
        self.m.blank(span.clone());
        self.m.found.attributes.push(Attribute { kind: AttributeKind::Macro, args, span, expansion: "".into() });
        end
    }
}
