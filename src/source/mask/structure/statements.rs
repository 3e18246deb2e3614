//! Macro calls that end a statement without a semicolon.

use super::*;

impl Walker<'_, '_, '_> {
    /// Ends a statement macro that has no semicolon, once the token behind it (`None`: the end of the file) is known.
    pub(super) fn end_of_macro(&mut self, next: Option<usize>) {
        let (Some(callee), Some(close)) = (self.state.closed, self.prev()) else { return };
        let name = self.tok(callee);
        let next_tok = next.map(|i| self.toks[i]);
        let gap_end = next_tok.map_or(self.m.text.len(), |t| t.start as usize);
        let newline = memchr::memchr(b'\n', self.m.str(close.end as usize..gap_end).as_bytes()).is_some();
        let scope = self.scope();
        let known = matches!(name.word, Word::Macro(_));
        if !known && !matches!(name.word, Word::Plain | Word::Upper)
            || matches!(name.word, Word::Macro(MacroKind::Attribute | MacroKind::KernelAlias(_)))
        {
            return;
        }
        let Some(next_tok) = next_tok else { return self.end_call(callee, close, gap_end, scope, false) };
        if next_tok.kind == TokenKind::Directive {
            return self.end_call(callee, close, gap_end, scope, true);
        }
        let looped = name.word == Word::Macro(MacroKind::Loop);
        let statement = name.word == Word::Macro(MacroKind::Statement);
        if scope == Scope::Block && (next_tok.is(b'{') && !statement || looped && !next_tok.is(b';')) {
            let stand_in = if name.len() >= 5 { "while" } else { "if" };
            if self.m.write(name.range(), stand_in) {
                self.m.replace(name.range(), What::LoopMacro);
                self.state.start = true;
            }
            return;
        }
        let starts = match next_tok.kind {
            TokenKind::Word => {
                let word = self.m.word(next_tok);
                !matches!(
                    word,
                    "const"
                        | "noexcept"
                        | "override"
                        | "final"
                        | "mutable"
                        | "requires"
                        | "and"
                        | "or"
                        | "volatile"
                        | "try"
                )
            }
            TokenKind::Punct => next_tok.is(b'}') || next_tok.is(b'{') && statement,
            _ => false,
        };
        if starts && (newline || next_tok.is(b'}') || statement) {
            self.end_call(callee, close, gap_end, scope, false);
        }
    }

    pub(super) fn end_call(&mut self, callee: u32, close: Tok, gap_end: usize, scope: Scope, directive: bool) {
        let call = self.tok(callee).start as usize..close.end as usize;
        match scope {
            Scope::Block => {
                let gap = self.m.str(close.end as usize..gap_end).as_bytes();
                let blank = gap
                    .iter()
                    .take_while(|&&b| b != b'/' && !(directive && b == b'\n'))
                    .position(|&b| matches!(b, b' ' | b'\t' | b'\r'));
                match blank {
                    Some(n) => {
                        let at = close.end as usize + n;
                        self.m.put(at, b';');
                        self.m.replace(at..at + 1, What::Semicolon);
                    }
                    None => {
                        let open = self.tok(callee + 1);
                        self.m.blank(self.tok(callee).range());
                        self.m.blank(open.range());
                        self.m.put(close.start as usize, b';');
                        self.m.replace(call, What::StatementMacro);
                    }
                }
            }
            Scope::File | Scope::Class => {
                self.later.push(call.clone());
                self.m.replace(call, What::OpaqueCall);
                while self.kept.last().is_some_and(|k| k.tok.start >= self.tok(callee).start) {
                    self.kept.pop();
                }
            }
            _ => return,
        }
        self.state.closed = None;
        self.end_statement();
    }
}
