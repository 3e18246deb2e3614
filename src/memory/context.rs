//! Where something was tried: architecture, language and kind of operator, from fine to coarse.

use serde::{Deserialize, Serialize};

/// Words of an enumeration, in files and in output, in both directions.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$each])* #[serde(rename = $word)] $variant),* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|v| v.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// What a kernel computes, as far as its shape tells: experience carries over inside a family.
    Family {
        /// Each element by itself.
        Elementwise = "elementwise",
        /// Many elements to one.
        Reduction = "reduction",
        /// Elements scaled by statistics of their row: softmax, layer norm.
        Normalisation = "normalisation",
        /// Every prefix has a result.
        Scan = "scan",
        /// Elements and their neighbours at fixed offsets.
        Stencil = "stencil",
        /// Sums of products over a shared index.
        Matmul = "matmul",
        /// Two products with a normalisation between them.
        Attention = "attention",
        /// Addresses that are data.
        Gather = "gather",
        Other = "other",
    }
}

words! {
    /// What limits a kernel, from the gate's counters. The words are those of `skills/directions.toml`.
    Bottleneck {
        Memory = "memory",
        Latency = "latency",
        Compute = "compute",
        Shared = "shared",
        Launch = "launch",
    }
}

/// What experience is conditioned on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// `sm_80`.
    pub arch: String,
    /// `cuda`, `tilelang`.
    pub language: String,
    pub family: Family,
}

/// How many levels of context there are, from the context itself to everything.
pub const LEVELS: usize = 4;

impl Context {
    /// The context and its coarser ones, finest first: architecture, language and family; language and family; family; all.
    pub fn levels(&self) -> [String; LEVELS] {
        let Context { arch, language, family } = self;
        [format!("{arch}/{language}/{family}"), format!("{language}/{family}"), family.to_string(), String::new()]
    }

    /// What is wrong with the names, if anything: they become parts of keys.
    pub fn mistake(&self) -> Option<String> {
        let bad = |s: &str| {
            s.is_empty() || s.len() > 40 || !s.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.+".contains(&b))
        };
        let (name, value) = [("arch", &self.arch), ("language", &self.language)].into_iter().find(|(_, v)| bad(v))?;
        Some(format!("{name} `{value}` is no name of letters, digits, `_`, `-`, `.` or `+`"))
    }
}

impl std::fmt::Display for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.levels()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bottlenecks_are_those_of_the_directions() {
        let words: Vec<&str> = Bottleneck::ALL.iter().map(|b| b.as_str()).collect();
        assert_eq!(words, crate::skill::directions::BOTTLENECKS);
    }

    #[test]
    fn names_that_would_spoil_a_key_are_refused() {
        let context = |arch: &str| Context { arch: arch.into(), language: "cuda".into(), family: Family::Scan };
        assert_eq!(context("sm_90a").mistake(), None);
        for bad in ["", "sm/80", "sm 80", "sm_80\n", &"x".repeat(41)] {
            assert!(context(bad).mistake().is_some(), "{bad}");
        }
    }
}
