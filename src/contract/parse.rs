//! The text of one assumption: `cols % 4 == 0`, `n <= 4096`, `aligned(x, 16)`, `noalias(x, y)`, `blockDim.x == 256`.

use super::{Assumption, AssumptionKind, Relation, Term};
use crate::source::Span;

/// Reads one assumption; the error says what is wrong with it.
/// What a caller can permit beyond equal results.
pub const PERMISSIONS: &[&str] = &["approximate", "reassociate"];

pub fn parse_assumption(text: &str, span: Option<Span>) -> Result<Assumption, String> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0 };
    let kind = reader.assumption()?;
    if reader.at < tokens.len() {
        return Err(format!("`{}` is not expected here", tokens[reader.at..].concat()));
    }
    // The normal form is the tokens without spaces.
    let id = tokens.concat();
    Ok(Assumption { id, text: text.trim().to_owned(), kind, span })
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut found: Vec<String> = vec![];
    let chars: Vec<char> = text.chars().collect();
    let mut i = 0;
    while let Some(&c) = chars.get(i) {
        let start = i;
        if c.is_whitespace() {
            i += 1;
            continue;
        } else if c.is_ascii_alphanumeric() || c == '_' {
            while chars.get(i).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '.') {
                i += 1;
            }
        } else {
            let pair: String = chars[i..chars.len().min(i + 2)].iter().collect();
            i += if matches!(pair.as_str(), "==" | "!=" | "<=" | ">=") { 2 } else { 1 };
            if i - start == 1 && !"%+-*()<>,".contains(c) {
                return Err(format!("`{c}` has no meaning in an assumption"));
            }
        }
        found.push(chars[start..i].iter().collect());
    }
    if found.is_empty() { Err("the assumption is empty".into()) } else { Ok(found) }
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn take(&mut self, token: &str) -> bool {
        let hit = self.peek() == token;
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(format!("`{token}` is expected before `{}`", self.peek())) }
    }

    fn name(&mut self) -> Result<String, String> {
        let word = self.peek().to_owned();
        if !word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(format!("a name is expected instead of `{word}`"));
        }
        self.at += 1;
        Ok(word)
    }

    fn integer(&mut self) -> Result<i128, String> {
        let negative = self.take("-");
        let word = self.peek().to_owned();
        let value: i128 = match word.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => word.parse(),
        }
        .map_err(|_| format!("an integer is expected instead of `{word}`"))?;
        self.at += 1;
        Ok(if negative { -value } else { value })
    }

    fn assumption(&mut self) -> Result<AssumptionKind, String> {
        match self.peek() {
            "aligned" => {
                self.at += 1;
                self.expect("(")?;
                let pointer = self.name()?;
                self.expect(",")?;
                let bytes = self.integer()?;
                self.expect(")")?;
                if bytes <= 0 || bytes & (bytes - 1) != 0 || bytes > 1 << 32 {
                    return Err(format!("{bytes} is not an alignment: a power of two is expected"));
                }
                Ok(AssumptionKind::Aligned { pointer, bytes })
            }
            "noalias" => {
                self.at += 1;
                self.expect("(")?;
                let mut names = vec![self.name()?];
                while self.take(",") {
                    names.push(self.name()?);
                }
                self.expect(")")?;
                if names.len() < 2 {
                    return Err("noalias needs at least two pointers".into());
                }
                Ok(AssumptionKind::NoAlias(names))
            }
            "permit" => {
                self.at += 1;
                self.expect("(")?;
                let what = self.name()?;
                self.expect(")")?;
                if !PERMISSIONS.contains(&what.as_str()) {
                    return Err(format!("`{what}` is no permission: one of {}", PERMISSIONS.join(", ")));
                }
                Ok(AssumptionKind::Permit(what))
            }
            "no_wrap" => {
                self.at += 1;
                Ok(AssumptionKind::NoWrap)
            }
            "complete" => {
                self.at += 1;
                Ok(AssumptionKind::Complete)
            }
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Result<AssumptionKind, String> {
        let term = self.sum()?;
        if self.take("%") {
            let modulus = self.integer()?;
            self.expect("==")?;
            let residue = self.integer()?;
            if modulus <= 0 || !(0..modulus).contains(&residue) {
                return Err(format!("a value modulo {modulus} cannot be {residue}"));
            }
            return Ok(AssumptionKind::Congruent { term, modulus, residue });
        }
        let op = match self.peek() {
            "==" => Relation::Eq,
            "!=" => Relation::Ne,
            "<" => Relation::Lt,
            "<=" => Relation::Le,
            ">" => Relation::Gt,
            ">=" => Relation::Ge,
            other => return Err(format!("a comparison is expected instead of `{other}`")),
        };
        self.at += 1;
        let right = self.sum()?;
        Ok(AssumptionKind::Compare { left: term, op, right })
    }

    fn sum(&mut self) -> Result<Term, String> {
        let mut left = self.product()?;
        loop {
            if self.take("+") {
                left = Term::Add(Box::new(left), Box::new(self.product()?));
            } else if self.take("-") {
                left = Term::Sub(Box::new(left), Box::new(self.product()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Term, String> {
        let mut left = self.factor()?;
        while self.take("*") {
            left = Term::Mul(Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > 64 {
            return Err("nested too deeply".into());
        }
        if self.take("(") {
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.peek().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Ok(Term::Int(self.integer()?));
        }
        Ok(Term::Name(self.name()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_should() {
        for (text, id) in [
            ("cols % 4 == 0", "cols%4==0"),
            ("n >= 1", "n>=1"),
            ("blockDim.x * blockDim.y == 256", "blockDim.x*blockDim.y==256"),
            ("aligned(x, 16)", "aligned(x,16)"),
            ("noalias(x, y)", "noalias(x,y)"),
            ("(rows + 1) * cols <= 4096", "(rows+1)*cols<=4096"),
        ] {
            assert_eq!(parse_assumption(text, None).map(|a| a.id), Ok(id.to_owned()), "{text}");
        }
    }

    #[test]
    fn rejects_what_it_should() {
        for text in [
            "",
            "cols",
            "cols % 0 == 0",
            "cols % 4 == 5",
            "aligned(x, 12)",
            "aligned(x)",
            "noalias(x)",
            "n = 4",
            "n >= 1 junk",
            "n >= 1; rm",
            "n >= 99999999999999999999999999999999999999999999",
            "n <",
            "(n >= 1",
            "n >= --1",
        ] {
            assert!(parse_assumption(text, None).is_err(), "{text}");
        }
    }
}
