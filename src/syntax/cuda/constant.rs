//! Integer constant expressions over the constants that a file defines.

use super::expr::binary_op;
use super::lower::Lower;
use crate::ir::{BinaryOp, Global};
use crate::source::mask::evaluate;

const DEPTH: u32 = 40;

impl Lower<'_> {
    /// The value of `text`, where it is made of literals, known constants, casts-free arithmetic and parentheses.
    pub fn constant_value(&self, text: &str) -> Option<i128> {
        if text.len() > 400 {
            return None;
        }
        let known = |name: &str| self.known_constant(name);
        let mut reader = Reader { rest: text.trim(), known: &known };
        let value = reader.conditional(0)?;
        reader.rest.trim().is_empty().then_some(value)
    }

    pub fn known_constant(&self, name: &str) -> Option<i128> {
        // Branches of an `#if` are all read: a name that two of them define is one of several.
        let tables = [&self.input.masked.macros, self.input.known];
        if tables.iter().filter_map(|t| t.get(name)).any(|m| m.ambiguous) {
            return None;
        }
        let macros = || one(self.unit.constants.iter().filter(|(n, ..)| n == name).map(|(_, v, _)| Some(*v)));
        let named = |g: &&Global| g.name == name || g.qualified == name;
        let globals = || one(self.unit.globals.iter().filter(named).map(|g| g.value));
        match macros().or_else(globals) {
            Some(value) => value,
            None => self.input.known.get(name).and_then(|_| evaluate(self.input.known, name)),
        }
    }
}

/// The value on which all definitions agree; none of no definition.
fn one(mut values: impl Iterator<Item = Option<i128>>) -> Option<Option<i128>> {
    let first = values.next()?;
    Some(first.filter(|_| values.all(|other| other == first)))
}

struct Reader<'t> {
    rest: &'t str,
    known: &'t dyn Fn(&str) -> Option<i128>,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let trimmed = self.rest.trim_start();
        match trimmed.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn conditional(&mut self, depth: u32) -> Option<i128> {
        let condition = self.binary(0, depth)?;
        if !self.eat("?") {
            return Some(condition);
        }
        let then = self.conditional(depth + 1)?;
        if !self.eat(":") {
            return None;
        }
        let otherwise = self.conditional(depth + 1)?;
        Some(if condition != 0 { then } else { otherwise })
    }

    fn binary(&mut self, min: u8, depth: u32) -> Option<i128> {
        if depth > DEPTH {
            return None;
        }
        let mut left = self.unary(depth + 1)?;
        loop {
            let Some((op, token, level)) = self.peek_operator() else { return Some(left) };
            if level < min {
                return Some(left);
            }
            self.eat(token);
            let right = self.binary(level + 1, depth + 1)?;
            left = apply(op, left, right)?;
        }
    }

    fn peek_operator(&self) -> Option<(BinaryOp, &'static str, u8)> {
        const LEVELS: &[(&str, u8)] = &[
            ("<<", 8),
            (">>", 8),
            ("<=", 7),
            (">=", 7),
            ("==", 6),
            ("!=", 6),
            ("&&", 2),
            ("||", 1),
            ("*", 10),
            ("/", 10),
            ("%", 10),
            ("+", 9),
            ("-", 9),
            ("<", 7),
            (">", 7),
            ("&", 5),
            ("^", 4),
            ("|", 3),
        ];
        let text = self.rest.trim_start();
        let (token, level) = LEVELS.iter().find(|(t, _)| text.starts_with(t))?;
        Some((binary_op(token)?, token, *level))
    }

    fn unary(&mut self, depth: u32) -> Option<i128> {
        if depth > DEPTH {
            return None;
        }
        if self.eat("-") {
            return self.unary(depth + 1)?.checked_neg();
        }
        if self.eat("+") {
            return self.unary(depth + 1);
        }
        if self.eat("!") {
            return Some(i128::from(self.unary(depth + 1)? == 0));
        }
        if self.eat("(") {
            let value = self.conditional(depth + 1)?;
            return self.eat(")").then_some(value);
        }
        let text = self.rest.trim_start();
        let end =
            text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | ':' | '\'')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let first = word.chars().next()?;
        let value = if first.is_ascii_digit() {
            match super::literal::number(word).0 {
                crate::ir::ExprKind::Int(v) => v,
                _ => return None,
            }
        } else {
            match word {
                "true" => 1,
                "false" => 0,
                _ => (self.known)(word)?,
            }
        };
        // `4.5` is no integer, and a call is not evaluated.
        if rest.starts_with(['.', '(', '<'])
            && !rest.starts_with("<<")
            && !rest.starts_with("<=")
            && !rest.starts_with("< ")
        {
            return None;
        }
        self.rest = rest;
        Some(value)
    }
}

fn apply(op: BinaryOp, l: i128, r: i128) -> Option<i128> {
    use BinaryOp::*;
    Some(match op {
        Add => l.checked_add(r)?,
        Sub => l.checked_sub(r)?,
        Mul => l.checked_mul(r)?,
        Div => l.checked_div(r)?,
        Rem => l.checked_rem(r)?,
        Shl => {
            let by = u32::try_from(r).ok().filter(|b| *b < 64)?;
            l.checked_mul(1i128.checked_shl(by)?)?
        }
        Shr => l.checked_shr(u32::try_from(r).ok().filter(|b| *b < 64)?)?,
        BitAnd => l & r,
        BitOr => l | r,
        BitXor => l ^ r,
        And => i128::from(l != 0 && r != 0),
        Or => i128::from(l != 0 || r != 0),
        Eq => i128::from(l == r),
        Ne => i128::from(l != r),
        Lt => i128::from(l < r),
        Le => i128::from(l <= r),
        Gt => i128::from(l > r),
        Ge => i128::from(l >= r),
    })
}
