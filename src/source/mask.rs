//! The length-preserving mask: makes CUDA text parse without moving a byte.
//!
//! The grammar knows neither a project's macros nor an `#if` inside an expression. [`mask`] overwrites what it cannot
//! parse by blanks or by an equally long stand-in, so that every offset in the tree is valid in the original. What was
//! overwritten is kept: attributes with their arguments, dropped branches, stand-ins.
//!
//! **Read names, operators and literals from the original text, never from the masked one.** A stand-in may differ in
//! meaning: in `i < n && j > (m)` the `>` is written as `<`, which has the same precedence and cannot be taken for the
//! end of a template argument list. [`Masked::replaced`] lists every one.
//!
//! | what | in the masked text |
//! |---|---|
//! | `__launch_bounds__(..)`, `__align__(..)`, `#pragma unroll`, attribute macros | blanks, [`Masked::attributes`] |
//! | `MY_KERNEL` for `static __global__ void` | `__global__ void` if there is room, else `void` or blanks; [`Masked::kernels`] |
//! | `CHECK(x)` alone on a line | a `;` on the next blank, or `      x ;` where there is none |
//! | `LOOP(i, n) {` | `while(i, n) {` padded to the same length |
//! | `a < f<N>(x)` | `a < f   (x)` |
//! | `CAST(float, x)` | `CAST(_loat, x)` |
//! | `#if` that splits a statement | the first branch (the second of `#if 0`); [`Masked::split`], [`Masked::dropped`] |

mod angles;
mod constants;
mod kernels;
mod macros;
mod rules;
mod steps;
mod structure;
mod table;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub use constants::{evaluate, integer};
pub use macros::{Define, Macro, MacroTable};
pub(super) use steps::step;
pub use table::MacroKind;

use super::FileId;
use super::tokens::{self, Token, TokenKind};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use table::{Word, table};

/// What an attribute says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributeKind {
    LaunchBounds,
    Align,
    ClusterDims,
    MaxNReg,
    BlockSize,
    /// `__attribute__((..))`.
    Gnu,
    Declspec,
    /// An unroll pragma in any of its spellings; no argument means unroll fully.
    Unroll,
    /// Any other pragma.
    Pragma,
    /// A macro that expands to specifiers, or to nothing.
    Macro,
    Other,
}

/// An attribute that was blanked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub kind: AttributeKind,
    /// The arguments as text (macro parameters filled in) and where they stand in the file. For an attribute out of a
    /// macro body the place is the use of the macro.
    pub args: Vec<(String, Range<usize>)>,
    pub span: Range<usize>,
    /// For [`AttributeKind::Macro`]: the specifiers in its expansion, such as `__device__`, as far as known.
    pub expansion: Arc<str>,
}

/// What stands in the place of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// `typename`, `.template`, a lambda's `__device__`, a stray `const`: blanked.
    Keyword,
    /// An alias of `__global__`.
    KernelAlias,
    /// A semicolon was put on a blank.
    Semicolon,
    /// A statement macro whose name and parentheses were blanked; its arguments stand as an expression.
    StatementMacro,
    /// A macro call outside functions, blanked as a whole.
    OpaqueCall,
    /// The name of a loop macro, now `while` or `if`: how often its body runs is unknown.
    LoopMacro,
    /// Template arguments of a call, blanked.
    TemplateArguments,
    /// `>`, `>=` or `>>` written as `<`, `<=` or `<<`.
    Operator,
    /// A type as macro argument, written as a name.
    TypeArgument,
    /// A macro that stands for further parameters, blanked.
    Parameters,
    /// A preprocessor line that stood inside a statement, blanked.
    Directive,
    /// The condition of an `#if`, made readable for the grammar.
    Condition,
    /// Other words that the grammar does not accept, blanked.
    Other,
}

impl What {
    /// Whether the stand-in hides what the code does, so that an analysis must answer `unknown` for its statement.
    pub fn is_opaque(self) -> bool {
        matches!(self, What::StatementMacro | What::OpaqueCall | What::LoopMacro | What::Parameters)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    pub range: Range<usize>,
    pub what: What,
}

/// One lexical `__global__` or alias of it that introduces a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMark {
    /// The word `__global__` or the alias.
    pub range: Range<usize>,
    pub name: String,
    pub name_range: Range<usize>,
    pub shape: KernelShape,
    /// Whether an alias stands there, so that the tree may show no `__global__`.
    pub alias: bool,
    /// Whether it stands in a dropped `#if` branch, so that the tree does not show it at all.
    pub dropped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelShape {
    Definition,
    Declaration,
    /// `template __global__ void k<4>(..);`
    Instantiation,
    /// A call of a macro whose body defines a kernel: it cannot be modelled.
    MacroCall,
}

/// An `#include`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    pub path: String,
    pub range: Range<usize>,
    pub angled: bool,
}

/// Something the reader should know; [`Problem::diagnostic`] gives it a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    pub range: Range<usize>,
    pub message: String,
}

impl Problem {
    pub fn diagnostic(&self, file: FileId) -> Diagnostic {
        Diagnostic::warning(self.code, self.message.clone())
            .at(Span::new(file, self.range.start, self.range.end), "here")
    }
}

/// The masked text and everything that was learned on the way. All ranges are byte offsets valid in both texts.
#[derive(Clone, Debug, Default)]
pub struct Masked {
    pub text: String,
    pub attributes: Vec<Attribute>,
    /// Branches of an `#if` that were blanked, merged where they nest.
    pub dropped: Vec<Range<usize>>,
    /// Every `#if` .. `#endif` that splits a statement, of which one branch was read as if it always held. An edit that
    /// touches or crosses one is refused.
    pub split: Vec<Range<usize>>,
    pub replaced: Vec<Replaced>,
    /// Places where the tree may be wrong although it shows no error.
    pub suspicions: Vec<Range<usize>>,
    pub kernels: Vec<KernelMark>,
    pub defines: Vec<Define>,
    pub includes: Vec<Include>,
    pub problems: Vec<Problem>,
    /// The macros of this file alone.
    pub macros: MacroTable,
}

impl Masked {
    /// The attributes whose span lies inside `range`, in order.
    pub fn attributes_in(&self, range: Range<usize>) -> &[Attribute] {
        let from = self.attributes.partition_point(|a| a.span.start < range.start);
        let to = self.attributes.partition_point(|a| a.span.start < range.end);
        self.attributes.get(from..to).unwrap_or(&[])
    }

    /// The stand-ins that begin inside `range`, in order.
    pub fn replaced_in(&self, range: Range<usize>) -> &[Replaced] {
        let from = self.replaced.partition_point(|r| r.range.start < range.start);
        let to = self.replaced.partition_point(|r| r.range.start < range.end);
        self.replaced.get(from..to).unwrap_or(&[])
    }

    /// Whether a conditional that splits a statement or a suspected misparse overlaps `range`, so that no edit may touch it.
    pub fn forbids_edit(&self, range: &Range<usize>) -> bool {
        let hit = |r: &Range<usize>| r.start < range.end && range.start < r.end;
        self.split.iter().any(hit) || self.suspicions.iter().any(hit)
    }

    /// The kernel whose name stands in `range`, for a function whose `__global__` is hidden in an alias.
    pub fn kernel_named_in(&self, range: &Range<usize>) -> Option<&KernelMark> {
        self.kernels.iter().find(|k| range.start <= k.name_range.start && k.name_range.end <= range.end)
    }
}

/// A token with its meaning.
#[derive(Clone, Copy, Debug)]
struct Tok {
    start: u32,
    end: u32,
    kind: TokenKind,
    word: Word,
    /// First byte, which tells brackets and separators apart without a look at the text.
    byte: u8,
}

impl Tok {
    fn range(self) -> Range<usize> {
        step(1);
        self.start as usize..self.end as usize
    }

    fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether this is the one-byte punctuation `b`.
    fn is(self, b: u8) -> bool {
        step(1);
        self.byte == b && self.kind == TokenKind::Punct && self.end - self.start == 1
    }

    fn is_word(self) -> bool {
        step(1);
        self.kind == TokenKind::Word
    }
}

/// Limits that no code written by people or generators comes near; beyond them a file is counted, not masked.
const MOST_TOKENS: usize = 16 << 20;
const DEEPEST: usize = 20_000;

/// Why `tokens` are not worth masking, if so.
fn beyond_limits(text: &str, tokens: &[Token]) -> Option<&'static str> {
    if tokens.len() > MOST_TOKENS {
        return Some("the file has more than 16 million tokens: it was not prepared for parsing");
    }
    let (mut depth, mut deepest) = (0usize, 0);
    for token in tokens.iter().filter(|t| t.kind == TokenKind::Punct) {
        match text.as_bytes().get(token.start as usize) {
            Some(b'(' | b'[' | b'{') => depth += 1,
            Some(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    (deepest > DEEPEST).then_some("brackets nest more than 20000 deep: the file was not prepared for parsing")
}

/// Masks `text`. `macros` holds what other files define; the definitions of `text` itself are learned here.
pub fn mask(text: &str, macros: &MacroTable) -> Masked {
    let raw = tokens::scan_code(text);
    let mut local = MacroTable::default();
    let directives = raw.iter().copied().filter(|t| t.kind == TokenKind::Directive);
    let defines = local.learn_directives(text, directives.clone(), macros);
    let includes = directives.filter_map(|t| read_include(text, t)).collect();
    if let Some(reason) = beyond_limits(text, &raw) {
        let problem = Problem { code: Code(12), range: 0..0, message: reason.to_owned() };
        return Masked {
            text: text.to_owned(),
            defines,
            includes,
            problems: vec![problem],
            macros: local,
            ..Masked::default()
        };
    }
    let toks = name_words(text, &raw, &local, macros);
    drop(raw);
    let mut masker = Masker {
        text,
        out: text.as_bytes().to_vec(),
        local: &local,
        global: macros,
        work: text.len().saturating_mul(4) + (1 << 16),
        found: Masked { defines, includes, ..Masked::default() },
    };
    if text.starts_with('\u{feff}') {
        masker.blank(0..3);
    }
    let kept = structure::run(&mut masker, &toks);
    kernels::run(&mut masker, &toks);
    rules::run(&mut masker, &kept);
    let Masker { out, mut found, .. } = masker;
    found.text = String::from_utf8(out).unwrap_or_else(|_| text.to_owned());
    found.macros = local;
    found.attributes.sort_by_key(|a| (a.span.start, a.span.end));
    found.replaced.sort_by_key(|r| (r.range.start, r.range.end));
    found.split.sort_by_key(|r| (r.start, r.end));
    found.suspicions.sort_by_key(|r| (r.start, r.end));
    found.problems.sort_by_key(|p| (p.range.start, p.range.end));
    found
}

/// Masks any bytes; for fuzzing. Panics only on a broken promise: another length or other newlines.
pub fn fuzz_mask(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let masked = mask(&text, &MacroTable::default());
    assert_eq!(masked.text.len(), text.len());
    assert!(memchr::memchr_iter(b'\n', text.as_bytes()).eq(memchr::memchr_iter(b'\n', masked.text.as_bytes())));
}

/// The `#include`s of `text` in order.
pub fn includes(text: &str) -> Vec<Include> {
    let directives: Vec<Token> = tokens::Scanner::new(text).filter(|t| t.kind == TokenKind::Directive).collect();
    includes_among(text, &directives)
}

/// Those among the preprocessor lines of a text.
pub fn includes_among(text: &str, directives: &[Token]) -> Vec<Include> {
    directives.iter().filter_map(|t| read_include(text, *t)).collect()
}

fn name_words(text: &str, raw: &[Token], local: &MacroTable, global: &MacroTable) -> Vec<Tok> {
    let table = table();
    let word_of = |token: &Token| {
        let word = token.of(text);
        match local.get(word).or_else(|| global.get(word)) {
            Some(found) => match table.word(word) {
                // A macro that only renames a word of the language keeps the word's meaning.
                known @ (Word::Plain | Word::Upper | Word::Type | Word::Blank) => {
                    let renames = &*found.body == word;
                    if renames { known } else { Word::Macro(found.kind) }
                }
                known => known,
            },
            None => table.word(word),
        }
    };
    // Most words come back: one look-up in place of three.
    let mut known: HashMap<&str, Word, tokens::WordState> = HashMap::default();
    let mut word_of = |token: &Token| *known.entry(token.of(text)).or_insert_with(|| word_of(token));
    raw.iter()
        .map(|t| Tok {
            start: t.start,
            end: t.end,
            kind: t.kind,
            word: if t.kind == TokenKind::Word { word_of(t) } else { Word::Plain },
            byte: text.as_bytes().get(t.start as usize).copied().unwrap_or(0),
        })
        .collect()
}

fn read_include(text: &str, token: Token) -> Option<Include> {
    let (name, after) = macros::directive_name(text, token)?;
    if name != "include" && name != "include_next" && name != "import" {
        return None;
    }
    let rest = text.get(after..token.end as usize)?;
    let open = rest.find(|c: char| !c.is_whitespace())?;
    let (close, angled) = match rest.as_bytes().get(open)? {
        b'"' => ('"', false),
        b'<' => ('>', true),
        _ => return None,
    };
    let path = &rest[open + 1..];
    let path = &path[..path.find(close)?];
    Some(Include { path: path.to_owned(), range: token.range(), angled })
}

/// The state of one run: the text being overwritten and what was found.
struct Masker<'t> {
    text: &'t str,
    out: Vec<u8>,
    local: &'t MacroTable,
    global: &'t MacroTable,
    /// How many tokens of macro bodies may still be looked at: keeps a hostile file linear.
    work: usize,
    found: Masked,
}

impl<'t> Masker<'t> {
    fn str(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or("")
    }

    fn word(&self, tok: Tok) -> &'t str {
        self.str(tok.range())
    }

    fn macro_of(&self, tok: Tok) -> Option<&'t Macro> {
        let name = self.word(tok);
        self.local.get(name).or_else(|| self.global.get(name))
    }

    /// Overwrites by blanks; newlines stay, and so do carriage returns in front of them.
    fn blank(&mut self, range: Range<usize>) {
        step(range.len());
        if let Some(bytes) = self.out.get_mut(range) {
            for b in bytes {
                if *b != b'\n' && *b != b'\r' {
                    *b = b' ';
                }
            }
        }
    }

    /// Blanks `range` and writes `with` at its start; nothing happens when it does not fit on one line.
    fn write(&mut self, range: Range<usize>, with: &str) -> bool {
        let old = self.str(range.clone());
        if with.len() > range.len() || old.get(..with.len()).is_none_or(|o| o.contains(['\n', '\r'])) {
            return false;
        }
        self.blank(range.clone());
        if let Some(bytes) = self.out.get_mut(range.start..range.start + with.len()) {
            bytes.copy_from_slice(with.as_bytes());
        }
        true
    }

    fn put(&mut self, at: usize, byte: u8) {
        if let Some(b) = self.out.get_mut(at) {
            *b = byte;
        }
    }

    fn replace(&mut self, range: Range<usize>, what: What) {
        self.found.replaced.push(Replaced { range, what });
    }

    fn problem(&mut self, code: u16, range: Range<usize>, message: impl Into<String>) {
        self.found.problems.push(Problem { code: Code(code), range, message: message.into() });
    }
}

#[cfg(test)]
mod tests;
