//! Values of object-like macros that are integer constants.

use std::collections::HashMap;

use super::macros::MacroTable;
use crate::source::tokens::{self, Token, TokenKind, WordState};

/// How deep macros may name macros and parentheses may nest.
const DEPTH: u32 = 32;

/// Every macro of `table` that has a value, in no order.
pub fn evaluate_all(table: &MacroTable) -> Vec<(String, i128)> {
    let mut memo: Memo = HashMap::default();
    table
        .object_bodies()
        .filter_map(|(name, body)| Some((name.to_owned(), value_of(table, name, body, &mut memo, 0)?)))
        .collect()
}

/// The value of `expression` over the macros of `table`; `None` when it is no integer constant.
pub fn evaluate(table: &MacroTable, expression: &str) -> Option<i128> {
    parse(table, expression, &mut HashMap::default(), 0)
}

type Memo = HashMap<String, Option<i128>, WordState>;

fn value_of(table: &MacroTable, name: &str, body: &str, memo: &mut Memo, depth: u32) -> Option<i128> {
    if let Some(&known) = memo.get(name) {
        return known;
    }
    if depth > DEPTH {
        return None;
    }
    // A name that is being evaluated has no value: macros that name each other end here.
    memo.insert(name.to_owned(), None);
    let value = parse(table, body, memo, depth + 1);
    memo.insert(name.to_owned(), value);
    value
}

fn parse(table: &MacroTable, text: &str, memo: &mut Memo, depth: u32) -> Option<i128> {
    if text.len() > 4096 {
        return None;
    }
    let tokens = tokens::scan_code(text);
    let mut reader = Reader { table, text, tokens: &tokens, at: 0, memo, depth };
    let value = reader.ternary(depth)?;
    (reader.at == tokens.len()).then_some(value)
}

struct Reader<'a> {
    table: &'a MacroTable,
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    memo: &'a mut Memo,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |t| t.of(self.text))
    }

    /// The operator ahead and its length in tokens; `>>` is two tokens.
    fn operator(&self) -> (&str, usize) {
        let one = self.peek();
        match (one, self.tokens.get(self.at + 1)) {
            (">", Some(next)) if next.of(self.text) == ">" && self.tokens[self.at].end == next.start => (">>", 2),
            _ => (one, 1),
        }
    }

    fn ternary(&mut self, depth: u32) -> Option<i128> {
        let condition = self.binary(1, depth)?;
        if self.peek() != "?" {
            return Some(condition);
        }
        self.at += 1;
        let yes = self.ternary(self.deeper(depth)?)?;
        if self.peek() != ":" {
            return None;
        }
        self.at += 1;
        let no = self.ternary(self.deeper(depth)?)?;
        Some(if condition != 0 { yes } else { no })
    }

    fn deeper(&self, depth: u32) -> Option<u32> {
        (depth < self.depth + DEPTH).then_some(depth + 1)
    }

    fn binary(&mut self, least: u8, depth: u32) -> Option<i128> {
        let mut left = self.unary(self.deeper(depth)?)?;
        loop {
            let (operator, length) = self.operator();
            let strength = match operator {
                "||" => 1,
                "&&" => 2,
                "|" => 3,
                "^" => 4,
                "&" => 5,
                "==" | "!=" => 6,
                "<" | ">" | "<=" | ">=" => 7,
                "<<" | ">>" => 8,
                "+" | "-" => 9,
                "*" | "/" | "%" => 10,
                _ => return Some(left),
            };
            if strength < least {
                return Some(left);
            }
            let operator = operator.to_owned();
            self.at += length;
            let right = self.binary(strength + 1, self.deeper(depth)?)?;
            left = apply(&operator, left, right)?;
        }
    }

    fn unary(&mut self, depth: u32) -> Option<i128> {
        let deeper = self.deeper(depth)?;
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        match (token.kind, token.of(self.text)) {
            (_, "-") => self.unary(deeper)?.checked_neg(),
            (_, "+") => self.unary(deeper),
            (_, "!") => Some(i128::from(self.unary(deeper)? == 0)),
            (_, "~") => Some(!self.unary(deeper)?),
            (_, "(") => {
                let value = self.ternary(deeper)?;
                (self.peek() == ")").then(|| self.at += 1)?;
                Some(value)
            }
            (TokenKind::Number, number) => integer(number),
            (TokenKind::Word, "true") => Some(1),
            (TokenKind::Word, "false") => Some(0),
            (TokenKind::Word, name) => {
                let found = self.table.get(name).filter(|m| m.params.is_none() && !m.ambiguous)?;
                value_of(self.table, name, &found.body, self.memo, self.depth)
            }
            _ => None,
        }
    }
}

fn apply(operator: &str, a: i128, b: i128) -> Option<i128> {
    let shift = || u32::try_from(b).ok().filter(|&s| s < 64);
    match operator {
        "||" => Some(i128::from(a != 0 || b != 0)),
        "&&" => Some(i128::from(a != 0 && b != 0)),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "&" => Some(a & b),
        "==" => Some(i128::from(a == b)),
        "!=" => Some(i128::from(a != b)),
        "<" => Some(i128::from(a < b)),
        ">" => Some(i128::from(a > b)),
        "<=" => Some(i128::from(a <= b)),
        ">=" => Some(i128::from(a >= b)),
        "<<" => a.checked_mul(1i128.checked_shl(shift()?)?),
        ">>" => Some(a >> shift()?),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" => a.checked_div(b),
        "%" => a.checked_rem(b),
        _ => None,
    }
}

/// The value of an integer literal with any suffix and digit separators.
pub fn integer(literal: &str) -> Option<i128> {
    let digits: String = literal.chars().filter(|&c| c != '\'').collect();
    let digits = digits.to_ascii_lowercase();
    let (radix, rest) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits.as_str()),
    };
    let end = rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    if !matches!(suffix, "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu" | "z" | "uz" | "zu") {
        return None;
    }
    if number.is_empty() {
        return (radix == 8).then_some(0);
    }
    i128::from_str_radix(number, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_over_constants() {
        let mut table = MacroTable::default();
        table.learn(
            "#define TILE 32\n#define N (1<<20)\n#define BLOCKS ((N + TILE - 1) / TILE)\n#define F 1.5f\n#define A B\n#define B A\n\
             #define H 0x1'0u\n#define C (TILE > 16 ? 2 : 3)\n#define S sizeof(int)\n#define X 1\n#define X 2\n#define SHR (N >> 2)\n#define O 010",
        );
        let expected =
            [("BLOCKS", 32768), ("C", 2), ("H", 16), ("N", 1 << 20), ("O", 8), ("SHR", 1 << 18), ("TILE", 32)];
        assert_eq!(table.constants(), expected.map(|(n, v)| (n.to_owned(), v)));
    }

    #[test]
    fn deep_and_odd_expressions_have_no_value() {
        let table = MacroTable::default();
        for text in
            ["(".repeat(3000), "-".repeat(3000), "1/0".into(), "1<<99".into(), "1 +".into(), "".into(), "08".into()]
        {
            assert_eq!(evaluate(&table, &text), None);
        }
    }
}
