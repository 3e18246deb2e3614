//! Reads the text of an expression; mistakes name the bytes at which they stand.

use std::ops::Range;

use super::expr::{Expr, Op};
use crate::ir::Scalar;

/// What is wrong with an expression, and at which bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ParseError {
    pub at: Range<usize>,
    pub why: String,
}

/// Nested deeper than anybody writes by hand.
const MAX_DEPTH: u32 = 64;

/// Reads one expression.
///
/// # Errors
/// Text that is no expression, with the place of the first mistake.
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0, end: text.len() };
    let found = reader.select()?;
    match reader.tokens.get(reader.at) {
        None => Ok(found),
        Some((token, at)) => Err(ParseError { at: at.clone(), why: format!("`{token}` is not expected here") }),
    }
}

type Token<'a> = (&'a str, Range<usize>);

fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut found = vec![];
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        if c.is_whitespace() {
            continue;
        }
        let mut end = start + c.len_utf8();
        let mut take = |rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>, wanted: &dyn Fn(char) -> bool| {
            while let Some((i, c)) = rest.peek().copied().filter(|(_, c)| wanted(*c)) {
                end = i + c.len_utf8();
                rest.next();
            }
        };
        if c.is_ascii_alphanumeric() || c == '_' {
            take(&mut rest, &|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
        } else {
            let second = match c {
                '=' | '!' | '<' | '>' => Some('='),
                '&' => Some('&'),
                '|' => Some('|'),
                _ => None,
            };
            if second.is_some() && rest.peek().map(|(_, c)| *c) == second {
                end += 1;
                rest.next();
            }
        }
        let token = text.get(start..end).unwrap_or("");
        const KNOWN: &[&str] =
            &["+", "-", "*", "/", "%", "(", ")", ",", "?", ":", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!"];
        if !c.is_ascii_alphanumeric() && c != '_' && !KNOWN.contains(&token) {
            return Err(ParseError { at: start..end, why: format!("`{token}` has no meaning in an expression") });
        }
        found.push((token, start..end));
    }
    Ok(found)
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: u32,
    end: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |(t, _)| t)
    }

    fn place(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, r)| r.clone())
    }

    fn fail<T>(&self, why: String) -> Result<T, ParseError> {
        Err(ParseError { at: self.place(), why })
    }

    fn take(&mut self, token: &str) -> bool {
        let hit = self.peek() == token;
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, token: &str) -> Result<(), ParseError> {
        if self.take(token) {
            return Ok(());
        }
        match self.peek() {
            "" => self.fail(format!("`{token}` is missing at the end")),
            other => self.fail(format!("`{token}` is expected before `{other}`")),
        }
    }

    fn select(&mut self) -> Result<Expr, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("nested too deeply".into());
        }
        let condition = self.binary(1)?;
        let found = if self.take("?") {
            let then = self.select()?;
            self.expect(":")?;
            let otherwise = self.select()?;
            Expr::Select(Box::new(condition), Box::new(then), Box::new(otherwise))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(found)
    }

    fn binary(&mut self, least: u8) -> Result<Expr, ParseError> {
        let mut left = self.unary()?;
        // A long chain makes a deep tree, which later walks would recurse into.
        for _ in 0..256 {
            let Some(op) = operator(self.peek()).filter(|o| o.precedence() >= least) else { return Ok(left) };
            self.at += 1;
            let right = self.binary(op.precedence() + 1)?;
            left = Expr::binary(op, left, right);
        }
        self.fail("too long".into())
    }

    fn unary(&mut self) -> Result<Expr, ParseError> {
        let negates = self.peek();
        if matches!(negates, "-" | "!") {
            self.at += 1;
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return self.fail("nested too deeply".into());
            }
            let operand = self.unary()?;
            self.depth -= 1;
            return Ok(match (negates, operand) {
                ("-", Expr::Int(v)) if v > 0 => Expr::Int(-v),
                ("-", e) => Expr::Neg(Box::new(e)),
                (_, e) => Expr::Not(Box::new(e)),
            });
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expr, ParseError> {
        if self.take("(") {
            let inner = self.select()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.peek();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.integer(word);
        }
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return match word {
                "" => self.fail("a value is missing at the end".into()),
                _ => self.fail(format!("a value is expected instead of `{word}`")),
            };
        }
        let place = self.place();
        self.at += 1;
        if !self.take("(") {
            return Ok(Expr::name(word));
        }
        let op = match word {
            "sizeof" => return self.size_of(),
            "min" => Op::Min,
            "max" => Op::Max,
            "ceil_div" => Op::CeilDiv,
            _ => {
                let why = format!("`{word}` is no function of expressions: min, max, ceil_div and sizeof are");
                return Err(ParseError { at: place, why });
            }
        };
        let left = self.select()?;
        self.expect(",")?;
        let right = self.select()?;
        self.expect(")")?;
        Ok(Expr::binary(op, left, right))
    }

    fn size_of(&mut self) -> Result<Expr, ParseError> {
        let word = self.peek();
        let Some(scalar) = dtype(word) else {
            return self.fail(format!("`{word}` is no type of known size: write f32, i64, float or the like"));
        };
        self.at += 1;
        self.expect(")")?;
        Ok(Expr::SizeOf(scalar))
    }

    fn integer(&mut self, word: &str) -> Result<Expr, ParseError> {
        let plain: String = word.chars().filter(|c| *c != '\'').collect();
        let value = match plain.strip_prefix("0x").or(plain.strip_prefix("0X")) {
            Some(hex) => i64::from_str_radix(hex, 16),
            None => plain.parse(),
        };
        match value {
            Ok(v) => {
                self.at += 1;
                Ok(Expr::Int(v))
            }
            Err(_) => self.fail(format!("`{word}` is no integer of 64 bits")),
        }
    }
}

/// A type by its short name (`f32`) or by the name that C gives it.
pub fn dtype(word: &str) -> Option<Scalar> {
    Scalar::from_name(word).or(match word {
        "float" => Some(Scalar::F32),
        "double" => Some(Scalar::F64),
        "half" | "__half" => Some(Scalar::F16),
        "bfloat16" | "__nv_bfloat16" => Some(Scalar::BF16),
        "char" => Some(Scalar::I8),
        "short" => Some(Scalar::I16),
        "int" => Some(Scalar::I32),
        "unsigned" => Some(Scalar::U32),
        "int8_t" => Some(Scalar::I8),
        "uint8_t" => Some(Scalar::U8),
        "int32_t" => Some(Scalar::I32),
        "uint32_t" => Some(Scalar::U32),
        "int64_t" => Some(Scalar::I64),
        "uint64_t" | "size_t" => Some(Scalar::U64),
        _ => None,
    })
}

fn operator(token: &str) -> Option<Op> {
    use Op::*;
    [Add, Sub, Mul, Div, Rem, Eq, Ne, Lt, Le, Gt, Ge, And, Or].into_iter().find(|o| o.spelling() == token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_place() {
        let cases = [
            ("", "", "missing"),
            ("n +", "", "missing"),
            ("n + * 2", "*", "instead of `*`"),
            ("n $ 2", "$", "no meaning"),
            ("ceil(n, 2)", "ceil", "no function"),
            ("(n", "", "`)` is missing"),
            ("n m", "m", "not expected"),
            ("n = 4", "=", "no meaning"),
            ("n & 4", "&", "no meaning"),
            ("99999999999999999999", "99999999999999999999", "64 bits"),
            ("1.5", ".", "no meaning"),
            ("sizeof(floaty)", "floaty", "no type"),
            ("min(n)", ")", "`,` is expected"),
        ];
        for (text, at, why) in cases {
            let e = parse(text).expect_err(text);
            assert_eq!(text.get(e.at.clone()), Some(at), "{text}: {e:?}");
            assert!(e.why.contains(why), "{text}: {e:?}");
        }
    }

    #[test]
    fn deep_and_long_texts_are_refused() {
        assert!(parse(&format!("{}n{}", "(".repeat(1000), ")".repeat(1000))).is_err());
        assert!(parse(&"-".repeat(1000)).is_err());
        assert!(parse(&vec!["n"; 2000].join(" + ")).is_err());
        assert!(parse(&vec!["n"; 100].join(" + ")).is_ok());
    }
}
