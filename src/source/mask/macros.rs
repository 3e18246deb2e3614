//! What the `#define`s of a project stand for: attributes, aliases of `__global__`, statements, loops, types, values.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::constants;
use super::table::{MacroKind, Word, table};
use crate::source::tokens::{self, Token, TokenKind, WordState};

/// One `#define` of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Define {
    pub name: String,
    pub name_range: Range<usize>,
    /// Parameter names of a function-like macro.
    pub params: Option<Vec<String>>,
    /// The whole directive.
    pub span: Range<usize>,
    /// The body, without comments behind it.
    pub body: Range<usize>,
    pub kind: MacroKind,
}

/// A macro as the table keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    pub kind: MacroKind,
    pub params: Option<Vec<String>>,
    /// The body; empty when it is longer than [`BODY_LIMIT`].
    pub body: Arc<str>,
    /// Whether definitions with other bodies were seen; its value is then unknown.
    pub ambiguous: bool,
}

const BODY_LIMIT: usize = 2048;

impl Macro {
    /// The body with `args` in the place of the parameters; `None` when their number differs, the body is too long or
    /// pastes and strings are made in it.
    pub fn expand(&self, args: &[&str]) -> Option<String> {
        let params = self.params.as_deref().unwrap_or(&[]);
        if self.body.is_empty() || params.len() != args.len() || self.ambiguous {
            return None;
        }
        let mut text = String::with_capacity(self.body.len());
        for token in tokens::scan_code(&self.body) {
            let piece = token.of(&self.body);
            if piece.starts_with('#') {
                return None;
            }
            text.push_str(params.iter().position(|p| p == piece).and_then(|i| args.get(i)).copied().unwrap_or(piece));
            text.push(' ');
        }
        Some(text)
    }
}

/// Macros by name. `learn` takes the definitions of one text, `merge` those of another table.
#[derive(Clone, Debug, Default)]
pub struct MacroTable {
    macros: HashMap<String, Macro, WordState>,
}

impl MacroTable {
    /// Takes the `#define`s of `text`; a text without any costs one search.
    pub fn learn(&mut self, text: &str) {
        if memchr::memmem::find(text.as_bytes(), b"define").is_none() {
            return;
        }
        self.learn_among(text, tokens::Scanner::new(text).filter(|t| t.kind == TokenKind::Directive));
    }

    /// Learns from the preprocessor lines of a text.
    pub fn learn_among(&mut self, text: &str, directives: impl IntoIterator<Item = Token>) {
        let mut names = vec![];
        for token in directives {
            if let Some(define) = read_define(text, token) {
                self.add(text, &define, None);
                names.push(define.name);
            }
        }
        self.settle(&names, None);
    }

    /// Like `learn`, for directives that were already found; `base` knows macros of other files.
    pub(super) fn learn_directives(
        &mut self,
        text: &str,
        directives: impl Iterator<Item = Token>,
        base: &MacroTable,
    ) -> Vec<Define> {
        let mut defines: Vec<Define> = directives.filter_map(|t| read_define(text, t)).collect();
        for define in &defines {
            self.add(text, define, Some(base));
        }
        let names: Vec<String> = defines.iter().map(|d| d.name.clone()).collect();
        self.settle(&names, Some(base));
        for define in &mut defines {
            define.kind = self.macros.get(&define.name).map_or(MacroKind::Value, |m| m.kind);
        }
        defines
    }

    fn add(&mut self, text: &str, define: &Define, base: Option<&MacroTable>) {
        let body = text.get(define.body.clone()).unwrap_or("");
        let kind = self.classify(body, define.params.as_deref(), base);
        let body = if body.len() <= BODY_LIMIT { body } else { "" };
        self.insert(
            define.name.clone(),
            Macro { kind, params: define.params.clone(), body: body.into(), ambiguous: false },
        );
    }

    fn insert(&mut self, name: String, new: Macro) {
        match self.macros.entry(name) {
            std::collections::hash_map::Entry::Vacant(v) => {
                v.insert(new);
            }
            std::collections::hash_map::Entry::Occupied(mut old) => {
                let old = old.get_mut();
                let differs = old.body != new.body || old.params != new.params;
                if new.kind > old.kind {
                    *old = new;
                }
                old.ambiguous |= differs;
            }
        }
    }

    /// Takes what `other` knows and this table does not; call [`MacroTable::settle_all`] after the last merge.
    pub fn merge(&mut self, other: &MacroTable) {
        let mut names: Vec<&String> = other.macros.keys().collect();
        names.sort();
        for name in names {
            if let Some(m) = other.macros.get(name) {
                self.insert(name.clone(), m.clone());
            }
        }
    }

    /// Judges all macros once more, after those of every file are known.
    pub fn settle_all(&mut self) {
        let names: Vec<String> = self.macros.keys().cloned().collect();
        self.settle(&names, None);
    }

    pub fn get(&self, name: &str) -> Option<&Macro> {
        self.macros.get(name)
    }

    pub fn len(&self) -> usize {
        self.macros.len()
    }

    pub fn is_empty(&self) -> bool {
        self.macros.is_empty()
    }

    /// Names that stand for `__global__`, for the prefilter.
    pub fn kernel_aliases(&self) -> Vec<&str> {
        let is_kernel = |k| matches!(k, MacroKind::KernelAlias(_) | MacroKind::KernelDefinition);
        let mut names: Vec<&str> =
            self.macros.iter().filter(|(_, m)| is_kernel(m.kind)).map(|(n, _)| n.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// Object-like macros whose body is an integer constant, with its value, by name.
    pub fn constants(&self) -> Vec<(String, i128)> {
        let mut found = constants::evaluate_all(self);
        found.sort();
        found
    }

    pub(super) fn object_bodies(&self) -> impl Iterator<Item = (&str, &str)> {
        self.macros
            .iter()
            .filter(|(_, m)| m.params.is_none() && !m.ambiguous && !m.body.is_empty())
            .map(|(n, m)| (n.as_str(), m.body.as_ref()))
    }

    /// Judges once more those of `names` whose body begins with a word, which may be a macro that was defined later.
    fn settle(&mut self, names: &[String], base: Option<&MacroTable>) {
        for _ in 0..2 {
            let mut changed: Vec<(&String, MacroKind)> = vec![];
            for name in names {
                let Some(m) = self.macros.get(name) else { continue };
                let open = matches!(m.kind, MacroKind::Value | MacroKind::Expression);
                if open && m.body.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') {
                    let kind = self.classify(&m.body, m.params.as_deref(), base);
                    if kind != m.kind {
                        changed.push((name, kind));
                    }
                }
            }
            if changed.is_empty() {
                return;
            }
            for (name, kind) in changed {
                if let Some(m) = self.macros.get_mut(name) {
                    m.kind = kind;
                }
            }
        }
    }

    fn word(&self, word: &str, base: Option<&MacroTable>) -> Word {
        match self.macros.get(word).or_else(|| base.and_then(|b| b.macros.get(word))) {
            Some(m) => Word::Macro(m.kind),
            None => table().word(word),
        }
    }

    fn classify(&self, body: &str, params: Option<&[String]>, base: Option<&MacroTable>) -> MacroKind {
        let tokens: Vec<Token> = tokens::scan_code(body).into_iter().take(4096).collect();
        let Some(first) = tokens.first() else { return MacroKind::Empty };
        if let Some(kind) = self.specifiers(body, &tokens, base) {
            return kind;
        }
        let word = |t: &Token| match t.kind {
            TokenKind::Word => self.word(t.of(body), base),
            _ => Word::Plain,
        };
        let global = tokens.iter().any(|t| matches!(word(t), Word::Global | Word::Macro(MacroKind::KernelAlias(_))));
        if global && tokens.iter().any(|t| t.of(body) == "{") {
            return MacroKind::KernelDefinition;
        }
        if params.is_some() {
            return self.function_like(body, &tokens, word(first));
        }
        let type_like = |t: &Token| {
            matches!(
                word(t),
                Word::Primitive | Word::Type | Word::Qualifier | Word::Record | Word::Macro(MacroKind::Type)
            ) || matches!(t.of(body), "*" | "&")
        };
        let last = tokens.last().map_or("", |t| t.of(body));
        match word(first) {
            Word::Macro(MacroKind::Statement) | Word::Lead | Word::Case => MacroKind::Statement,
            Word::Control if is_head(body, &tokens) => MacroKind::Loop,
            Word::Control => MacroKind::Statement,
            _ if last == ";" || first.of(body) == "{" => MacroKind::Statement,
            _ if tokens.iter().all(type_like) => MacroKind::Type,
            _ => MacroKind::Value,
        }
    }

    fn function_like(&self, body: &str, tokens: &[Token], first: Word) -> MacroKind {
        let text = |i: usize| tokens.get(i).map_or("", |t| t.of(body));
        let last = text(tokens.len() - 1);
        match first {
            Word::Control if is_head(body, tokens) => MacroKind::Loop,
            Word::Control | Word::Lead | Word::Case => MacroKind::Statement,
            Word::Macro(MacroKind::Loop) if text(1) == "(" && skip_group(body, tokens, 1) == tokens.len() => {
                MacroKind::Loop
            }
            Word::Macro(MacroKind::Statement) => MacroKind::Statement,
            _ if matches!(text(0), "{" | ";") || last == ";" || last == "}" => MacroKind::Statement,
            // A block in parentheses is an expression, a semicolon outside any is none.
            _ => {
                let mut depth = 0i32;
                for token in tokens {
                    match token.of(body) {
                        "(" | "{" => depth += 1,
                        ")" | "}" => depth -= 1,
                        ";" if depth == 0 => return MacroKind::Statement,
                        _ => {}
                    }
                }
                MacroKind::Expression
            }
        }
    }

    /// `Attribute` or `KernelAlias` when the body is made of specifiers only.
    fn specifiers(&self, body: &str, tokens: &[Token], base: Option<&MacroTable>) -> Option<MacroKind> {
        let (mut global, mut typed, mut i, mut seen) = (false, false, 0, false);
        while let Some(token) = tokens.get(i) {
            i += 1;
            let word = match token.kind {
                TokenKind::Word => self.word(token.of(body), base),
                TokenKind::Text => continue,
                TokenKind::Punct if token.of(body) == "[" && tokens.get(i).is_some_and(|t| t.of(body) == "[") => {
                    i = skip_group(body, tokens, i - 1);
                    seen = true;
                    continue;
                }
                _ => return None,
            };
            let parenthesised = tokens.get(i).is_some_and(|t| t.of(body) == "(");
            match word {
                Word::Global => global = true,
                Word::Macro(MacroKind::KernelAlias(with_type)) => {
                    global = true;
                    typed |= with_type;
                }
                Word::Qualifier | Word::Space | Word::Blank if !parenthesised => {}
                Word::Macro(MacroKind::Attribute | MacroKind::Empty) | Word::Attribute(_) => {
                    if parenthesised {
                        i = skip_group(body, tokens, i);
                    }
                }
                Word::Primitive | Word::Type if !parenthesised => typed = true,
                _ if token.of(body) == "__extension__" => {}
                _ => return None,
            }
            seen = true;
        }
        match (global, typed, seen) {
            (true, typed, _) => Some(MacroKind::KernelAlias(typed)),
            (false, false, true) => Some(MacroKind::Attribute),
            _ => None,
        }
    }
}

/// Whether the body is only the heads of loops and conditions: `for (..) if (..)`.
fn is_head(body: &str, tokens: &[Token]) -> bool {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.of(body));
    let mut i = 0;
    while i < tokens.len() {
        let open = i + 1 + usize::from(text(i + 1) == "constexpr");
        if table().word(text(i)) != Word::Control || text(open) != "(" {
            return false;
        }
        i = skip_group(body, tokens, open);
    }
    i > 0
}

/// The index after the bracket group that opens at `open`.
fn skip_group(body: &str, tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.of(body) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The name of a directive and the token behind it: `# define` gives `define`.
pub(super) fn directive_name(text: &str, token: Token) -> Option<(&str, usize)> {
    let range = token.range();
    let inner = text.get(range.clone())?;
    let bytes = inner.as_bytes();
    let mut at = 1;
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let start = at;
    while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
        at += 1;
    }
    Some((inner.get(start..at)?, range.start + at))
}

fn read_define(text: &str, token: Token) -> Option<Define> {
    let (name, after) = directive_name(text, token)?;
    if name != "define" {
        return None;
    }
    let mut inner = tokens::scan_directive(text, after..token.end as usize);
    let name = inner.next().filter(|t| t.kind == TokenKind::Word)?;
    let mut params = None;
    let mut body_start = name.end as usize;
    if text.as_bytes().get(body_start) == Some(&b'(') {
        let mut names = vec![];
        inner.next()?;
        for t in inner.by_ref() {
            match t.of(text) {
                ")" => {
                    body_start = t.end as usize;
                    break;
                }
                "," => {}
                word => names.push(word.to_owned()),
            }
            body_start = t.end as usize;
        }
        params = Some(names);
    }
    let mut body = body_start..body_start;
    for (i, t) in inner.enumerate() {
        if i == 0 {
            body.start = t.start as usize;
        }
        body.end = t.end as usize;
    }
    Some(Define {
        name: name.of(text).to_owned(),
        name_range: name.range(),
        params,
        span: token.range(),
        body,
        kind: MacroKind::Value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str, name: &str) -> MacroKind {
        let mut table = MacroTable::default();
        table.learn(text);
        table.get(name).map(|m| m.kind).expect("defined")
    }

    #[test]
    fn bodies_are_judged() {
        use MacroKind::*;
        let cases = [
            ("#define A", Empty),
            ("#define A __device__ inline", Attribute),
            ("#define A __attribute__((always_inline)) __device__", Attribute),
            ("#define A [[nodiscard]]", Attribute),
            ("#define A _Pragma(\"unroll\")", Attribute),
            ("#define A(x) __launch_bounds__(x)", Attribute),
            ("#define A static __global__ void", KernelAlias(true)),
            ("#define A extern \"C\" __global__", KernelAlias(false)),
            ("#define B __global__\n#define A B void", KernelAlias(true)),
            ("#define A B void\n#define B __global__", KernelAlias(true)),
            ("#define A(n) __global__ void n(int* p) { *p = 1; }", KernelDefinition),
            ("#define A (1<<20)", Value),
            ("#define A 32", Value),
            ("#define A blockDim.x", Value),
            ("#define A float", Type),
            ("#define A unsigned int", Type),
            ("#define A(x) do { f(x); } while (0)", Statement),
            ("#define A(x) { f(x); }", Statement),
            ("#define A(x) f(x); g(x)", Statement),
            ("#define A(i, n) for (int i = 0; i < n; ++i)", Loop),
            ("#define A(x) if (!(x)) abort_at(#x)", Statement),
            ("#define A(i, j) for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j)", Loop),
            ("#define A(x) (*reinterpret_cast<float4*>(&(x)))", Expression),
            ("#ifdef X\n#define A __device__\n#else\n#define A\n#endif", Attribute),
            ("#ifdef X\n#define A\n#else\n#define A 1\n#endif", Value),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text, "A"), expected, "{text}");
        }
    }

    #[test]
    fn definitions_in_comments_and_strings_do_not_count() {
        let mut table = MacroTable::default();
        table.learn("/*\n#define A 1\n*/ const char* s = \"\\\n#define B 2\";\n // \\\n#define C 3\n");
        assert!(table.is_empty());
    }
}
