//! What became of each claim.

use crate::facts::Facts;

use super::book::Book;
use super::claim::{Kind, Says};

/// One time that a claim did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    pub block: u64,
    pub thread: u32,
    pub seen: String,
}

/// What became of one claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often it was compared with what happened.
    pub asserted: u64,
    /// How often it could not be, because a symbol in it had no value.
    pub unresolved: u64,
    pub failed: u64,
    pub first: Option<Contradiction>,
}

impl Tally {
    pub fn merge(&mut self, other: &Tally) {
        self.asserted += other.asserted;
        self.unresolved += other.unresolved;
        self.failed += other.failed;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}

/// Sums over the claims of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Claims that were compared at least once, and how often in all.
    pub facts: u64,
    pub assertions: u64,
    /// Claims that were never compared: there is no place for them in the text, their place was not reached, or a symbol
    /// had no value.
    pub unplaced: u64,
    pub unreached: u64,
    pub unresolved: u64,
    /// Proved claims that did not hold, and assumed ones.
    pub contradicted: u64,
    pub assumption_failed: u64,
}

impl Sums {
    pub fn add(&mut self, other: &Sums) {
        self.facts += other.facts;
        self.assertions += other.assertions;
        self.unplaced += other.unplaced;
        self.unreached += other.unreached;
        self.unresolved += other.unresolved;
        self.contradicted += other.contradicted;
        self.assumption_failed += other.assumption_failed;
    }
}

/// The sums of a book by kind, in the order of [`Kind::ALL`].
pub fn sums(book: &Book, tallies: &[Tally]) -> Vec<(Kind, Sums)> {
    let mut found: Vec<(Kind, Sums)> = Kind::ALL.iter().map(|k| (*k, Sums::default())).collect();
    for (n, (claim, tally)) in book.claims.claims.iter().zip(tallies).enumerate() {
        let Some((_, s)) = found.iter_mut().find(|(k, _)| *k == claim.kind) else { continue };
        s.assertions += tally.asserted;
        match tally {
            t if t.asserted > 0 => s.facts += 1,
            t if t.unresolved > 0 => s.unresolved += 1,
            _ if book.unplaced.get(n) == Some(&true) => s.unplaced += 1,
            _ => s.unreached += 1,
        }
        if tally.failed > 0 {
            match claim.is_proved() {
                true => s.contradicted += 1,
                false => s.assumption_failed += 1,
            }
        }
    }
    found
}

/// What a claim says, in words for a reader of the source.
pub fn say(facts: &Facts, says: &Says) -> String {
    use crate::facts::Stated;
    let poly = |p| facts.render(p);
    match says {
        Says::Equals { value, modular: false } => format!("its value is {}", poly(value)),
        Says::Equals { value, .. } => format!("its value is {} modulo 2^64", poly(value)),
        Says::Within(r) => format!("its value lies in {}", range(r)),
        Says::Leaves { modulus, residue } => format!("it leaves {residue} when divided by {modulus}"),
        Says::Type { bytes, unsigned } => {
            format!("it is {} of {bytes} bytes", if *unsigned { "unsigned" } else { "signed" })
        }
        Says::Means(f) => format!("it is true where {}", formula(facts, f)),
        Says::Decided(v) => format!("it is always {v}"),
        Says::Known(Stated::Bound(a, r)) => format!("here `{}` lies in {}", facts.name(a), range(r)),
        Says::Known(Stated::Holds(f)) => format!("here {}", formula(facts, f)),
        Says::Known(Stated::OneOf(list)) => {
            let parts: Vec<String> = list.iter().map(|f| formula(facts, f)).collect();
            format!("here one holds of: {}", parts.join("; "))
        }
        Says::Known(Stated::Leaves(c)) => {
            format!("here {} leaves {} when divided by {}", poly(&c.poly), c.residue, c.modulus)
        }
        Says::Address { root, offset } => {
            format!("its address is `{}` + {} bytes", facts.function.var(*root).name, poly(offset))
        }
        Says::OffsetWithin { root, range: r } => {
            format!("it lies {} bytes behind `{}`", range(r), facts.function.var(*root).name)
        }
        Says::Width(bytes) => format!("it moves {bytes} bytes"),
        Says::Aligned { bytes, always, first } => {
            let when = if first.is_empty() { "" } else { " in the first iteration" };
            format!("its address is {} a multiple of {bytes}{when}", if *always { "always" } else { "never" })
        }
        Says::Stride { step, .. } => format!("its address grows by {} bytes in each iteration", poly(step)),
        Says::LaneStride { step } => format!("its address grows by {} bytes with threadIdx.x", poly(step)),
        Says::Uniform => "all threads of a block agree on it".into(),
        Says::Together => "all threads of a block come here together".into(),
        Says::Trip { count, clamped: false } => format!("the loop runs {} times", poly(count)),
        Says::Trip { count, .. } => format!("the loop runs max({}, 0) times", poly(count)),
        Says::Once { .. } => "it runs once in each iteration".into(),
        Says::Movable { .. } => "no other access touches the same memory in another iteration".into(),
        Says::Distinct(a, b) => {
            let name = |v: &crate::ir::VarId| facts.function.var(*v).name.clone();
            format!("`{}` and `{}` lead to different memory", name(a), name(b))
        }
        Says::Unwritten(v) => format!("nothing writes what `{}` points to", facts.function.var(*v).name),
        Says::BankDegree { degree, .. } => format!("at most {degree} lanes meet in a bank"),
        Says::Threads { axis: 3, range: r } => format!("a block has {} threads", range(r)),
        Says::Threads { axis, range: r } => format!("axis {axis} of a block has {} threads", range(r)),
        Says::ThreadsDivide { by, always } => {
            format!("{by} {} blockDim.x", if *always { "divides" } else { "does not divide" })
        }
    }
}

fn range(r: &crate::facts::Interval) -> String {
    let end = |v: Option<i128>| v.map_or("..".to_owned(), |v| v.to_string());
    format!("[{}, {}]", end(r.lo), end(r.hi))
}

fn formula(facts: &Facts, f: &crate::facts::Formula) -> String {
    use crate::facts::Formula;
    let list = |parts: &[Formula], word: &str| {
        let parts: Vec<String> = parts.iter().map(|p| formula(facts, p)).collect();
        format!("({})", parts.join(word))
    };
    match f {
        Formula::True => "true".into(),
        Formula::False => "false".into(),
        Formula::NonNeg(p) => format!("{} >= 0", facts.render(p)),
        Formula::Zero(p) => format!("{} == 0", facts.render(p)),
        Formula::NonZero(p) => format!("{} != 0", facts.render(p)),
        Formula::And(parts) => list(parts, " && "),
        Formula::Or(parts) => list(parts, " || "),
        Formula::Unknown => "?".into(),
    }
}
