//! The K-codes and what `kopt explain` says of each.
//!
//! Ranges: K00xx reading and parsing, K01xx skill files, K02xx conditions of a skill (refusals), K03xx editing,
//! K04xx compile gate and toolchain, K05xx lock and command line, K060x-K064x contracts and launch plans, K065x-K069x verification, K070x walks, K071x the memory, K1xxx hazards in kernels.

pub mod cli;
pub mod compile;
pub mod contract;
pub mod engine;
pub mod gate;
pub mod lock;
pub mod memory;
pub mod optimize;
pub mod plan;
pub mod skill;
pub mod source;
pub mod syntax;

/// A stable diagnostic code such as `K0002`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

/// The long form of a code.
pub struct Entry {
    pub code: Code,
    pub title: &'static str,
    /// One paragraph in plain words, with an example where it helps.
    pub explain: &'static str,
}

/// All entries, by code.
pub fn entries() -> Vec<&'static Entry> {
    let families: &[&'static [Entry]] = &[
        cli::ENTRIES,
        compile::ENTRIES,
        contract::ENTRIES,
        engine::ENTRIES,
        gate::ENTRIES,
        lock::ENTRIES,
        memory::ENTRIES,
        optimize::ENTRIES,
        plan::ENTRIES,
        skill::ENTRIES,
        source::ENTRIES,
        syntax::ENTRIES,
    ];
    let mut all: Vec<&Entry> = families.iter().flat_map(|f| f.iter()).collect();
    all.sort_by_key(|e| e.code);
    all
}

pub fn entry(code: Code) -> Option<&'static Entry> {
    entries().into_iter().find(|e| e.code == code)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_one_meaning() {
        for pair in entries().windows(2) {
            assert!(pair[0].code < pair[1].code, "{} is explained twice", pair[1].code);
        }
    }
}
