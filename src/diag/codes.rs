//! The K-codes and what `kopt explain` says of each.
//!
//! Ranges: K00xx reading and parsing, K01xx skill files, K02xx conditions of a skill (refusals), K03xx editing,
//! K04xx compile gate and toolchain, K05xx lock and command line, K1xxx hazards in kernels.

pub mod contract;
pub mod skill;

/// A stable diagnostic code such as `K0002`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "K{:04}", self.0)
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl Code {
    /// Reads `K0002`; case does not matter.
    pub fn parse(text: &str) -> Option<Code> {
        let digits = text.strip_prefix(['K', 'k'])?;
        (digits.len() == 4).then(|| digits.parse().ok().map(Code))?
    }
}

/// What is known of a code.
pub struct Entry {
    pub code: Code,
    pub title: &'static str,
    pub explain: &'static str,
}
