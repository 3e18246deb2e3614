//! The lexical count: every `__global__`, or macro that stands for it, which introduces a function.

use super::table::{MacroKind, Word};
use super::{KernelMark, KernelShape, Masker, Tok};
use crate::source::tokens::TokenKind;

/// How far behind `__global__` its name may stand.
const REACH: usize = 512;

pub fn run(m: &mut Masker<'_>, toks: &[Tok]) {
    let dropped = m.found.dropped.clone();
    if dropped.is_empty() {
        return mark(m, toks, &|_| true, false);
    }
    let is_dropped = |tok: &Tok| {
        let n = dropped.partition_point(|r| r.end <= tok.start as usize);
        dropped.get(n).is_some_and(|r| r.start <= tok.start as usize)
    };
    let live: Vec<Tok> = toks.iter().filter(|t| !is_dropped(t)).copied().collect();
    mark(m, &live, &|_| true, false);
    mark(m, toks, &is_dropped, true);
    m.found.kernels.sort_by_key(|k| k.range.start);
}

/// Marks the kernels that begin at a token of `toks` which `wanted` accepts.
fn mark(m: &mut Masker<'_>, toks: &[Tok], wanted: &dyn Fn(&Tok) -> bool, gone: bool) {
    for (i, tok) in toks.iter().enumerate() {
        let alias = match tok.word {
            Word::Global => false,
            Word::Macro(MacroKind::KernelAlias(_)) => true,
            Word::Macro(MacroKind::KernelDefinition) if wanted(tok) => {
                definition_macro(m, toks, i);
                continue;
            }
            _ => continue,
        };
        if !wanted(tok) {
            continue;
        }
        // `__global__ MY_KERNEL` introduces one kernel.
        if i > 0 && matches!(toks[i - 1].word, Word::Global | Word::Macro(MacroKind::KernelAlias(_))) {
            continue;
        }
        // `KERNEL(128) scale(..)`: the arguments are the alias's own.
        let own = alias
            && m.macro_of(*tok).is_some_and(|found| found.params.is_some())
            && toks.get(i + 1).is_some_and(|t| t.is(b'('));
        let last = if own { group_end(toks, i + 1).max(i + 1) - 1 } else { i };
        let Some((name, shape)) = introduces(toks, last) else { continue };
        let shape = if i > 0 && shape == KernelShape::Declaration && instantiates(toks, i) {
            KernelShape::Instantiation
        } else {
            shape
        };
        let mark = KernelMark {
            range: tok.range(),
            name: m.word(name).to_owned(),
            name_range: name.range(),
            shape,
            alias,
            dropped: gone,
        };
        if gone && shape == KernelShape::Definition {
            m.problem(7, name.range(), format!("kernel `{}` stands in an #if branch that was not read", mark.name));
        }
        m.found.kernels.push(mark);
    }
}

fn definition_macro(m: &mut Masker<'_>, toks: &[Tok], i: usize) {
    let Some(open) = toks.get(i + 1).filter(|t| t.is(b'(')) else { return };
    let name = toks.get(i + 2).filter(|t| t.is_word()).copied().unwrap_or(*open);
    m.problem(8, toks[i].range(), format!("macro `{}` defines a kernel, which is not modelled", m.word(toks[i])));
    m.found.kernels.push(KernelMark {
        range: toks[i].range(),
        name: m.word(name).to_owned(),
        name_range: name.range(),
        shape: KernelShape::MacroCall,
        alias: true,
        dropped: false,
    });
}

/// `template __global__ ..` without `<`.
fn instantiates(toks: &[Tok], i: usize) -> bool {
    toks[..i]
        .iter()
        .rev()
        .take(4)
        .find(|t| !matches!(t.word, Word::Qualifier))
        .is_some_and(|t| t.word == Word::Template)
}

/// The name of the function that `toks[at]` introduces.
fn introduces(toks: &[Tok], at: usize) -> Option<(Tok, KernelShape)> {
    let mut name: Option<Tok> = None;
    let mut angle = 0i32;
    let mut i = at + 1;
    let end = toks.len().min(at + REACH);
    while i < end {
        let tok = toks[i];
        match tok.kind {
            TokenKind::Directive => {}
            TokenKind::Word if tok.word == Word::Global => return None,
            TokenKind::Word => {
                let group = toks.get(i + 1).is_some_and(|t| t.is(b'('));
                let attribute =
                    matches!(tok.word, Word::Attribute(_) | Word::Macro(MacroKind::Attribute | MacroKind::Empty));
                if attribute && group {
                    i = group_end(toks, i + 1);
                    continue;
                }
                if angle == 0
                    && !attribute
                    && !matches!(tok.word, Word::Primitive | Word::Qualifier | Word::Space | Word::Global)
                {
                    name = Some(tok);
                }
            }
            TokenKind::Punct => match (tok.byte, tok.len()) {
                (b'<', 1) => angle += 1,
                (b'>', 1) => angle -= 1,
                (b'(', _) if angle > 0 => i = group_end(toks, i).max(i + 1) - 1,
                (b'(', _) => {
                    let after = group_end(toks, i);
                    let next = toks[after..].iter().take(16).find(|t| t.kind != TokenKind::Directive && !t.is_word());
                    // An unknown attribute macro with arguments in front of the name: `LB(4) void k(`.
                    let skipped = toks.get(after).is_some_and(|t| t.is_word() && t.word != Word::Qualifier)
                        && next.is_some_and(|t| t.is(b'('))
                        && name.is_some_and(|n| n.word == Word::Upper);
                    if skipped {
                        i = after;
                        continue;
                    }
                    let shape = if next.is_some_and(|t| t.is(b'{')) {
                        KernelShape::Definition
                    } else {
                        KernelShape::Declaration
                    };
                    return name.map(|n| (n, shape));
                }
                (b';' | b'{' | b'}' | b'=' | b')', _) => return None,
                _ => {}
            },
            _ => {}
        }
        i += 1;
    }
    None
}

/// The index behind the group that opens at `open`, or of a `__global__` inside it; at most a bounded number of tokens are looked at.
fn group_end(toks: &[Tok], open: usize) -> usize {
    let mut depth = 0usize;
    let end = toks.len().min(open + 8 * REACH);
    for (i, tok) in toks.iter().enumerate().take(end).skip(open) {
        if tok.word == Word::Global {
            return i;
        } else if tok.is(b'(') {
            depth += 1;
        } else if tok.is(b')') {
            depth -= 1;
            if depth == 0 {
                return i + 1;
            }
        }
    }
    end
}
