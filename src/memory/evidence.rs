//! One step that was tried and judged.

use serde::{Deserialize, Serialize};

use super::context::{Bottleneck, Context};

/// How many steps of the path evidence may carry.
pub const MAX_PREFIX: usize = 16;
/// How long a reason may be, in bytes; longer ones are cut by [`Evidence::shorten`].
pub const MAX_REASON: usize = 600;
/// The version of the lines that are exported.
pub const LINE_VERSION: u32 = 1;

/// A speed-up, original time over new time, in millionths: what is printed is what is hashed, summed and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gain(u64);

impl Gain {
    /// `None` unless the value is finite, positive and below a million.
    pub fn of(speedup: f64) -> Option<Gain> {
        let millionths = (speedup * 1e6).round();
        (speedup.is_finite() && (1.0..1e12).contains(&millionths)).then_some(Gain(millionths as u64))
    }

    pub fn value(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Its natural logarithm, clipped to -1..1, in millionths.
    pub fn reward(self) -> i64 {
        (self.value().ln().clamp(-1.0, 1.0) * 1e6).round() as i64
    }
}

impl Serialize for Gain {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Gain {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Gain, D::Error> {
        let value = f64::deserialize(d)?;
        Gain::of(value).ok_or_else(|| serde::de::Error::custom(format!("{value} is no speed-up")))
    }
}

/// How a step ended. Trouble of the machine (no compiler, no GPU, no disk) has no variant here: it says nothing about the
/// step and cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outcome {
    /// Correct, and timed on a GPU against what the step began with.
    Measured {
        speedup: Gain,
    },
    /// Correct, not timed. An estimate never becomes a measurement.
    Correct {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimated: Option<Gain>,
    },
    NotCompiled,
    Wrong,
}

impl Outcome {
    /// The reward in millionths: the logarithm of the speed-up clipped to -1..1, -0.5 for what does not compile, -1 for
    /// what is wrong. `None` where it was correct and not timed.
    pub fn reward(self) -> Option<i64> {
        match self {
            Outcome::Measured { speedup } => Some(speedup.reward()),
            Outcome::Correct { .. } => None,
            Outcome::NotCompiled => Some(-500_000),
            Outcome::Wrong => Some(-1_000_000),
        }
    }

    pub fn is_correct(self) -> bool {
        matches!(self, Outcome::Measured { .. } | Outcome::Correct { .. })
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Measured { speedup } => write!(f, "correct, {:.3}x", speedup.value()),
            Outcome::Correct { estimated: Some(e) } => write!(f, "correct, not timed, {:.3}x estimated", e.value()),
            Outcome::Correct { estimated: None } => f.write_str("correct, not timed"),
            Outcome::NotCompiled => f.write_str("does not compile"),
            Outcome::Wrong => f.write_str("wrong"),
        }
    }
}

/// A step of the path before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathStep {
    pub direction: String,
    pub outcome: Outcome,
}

/// One step that was tried and judged. Whatever the memory says is a sum over these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// A name of the run that no other run has.
    pub run: String,
    /// From 1.
    pub step: u32,
    /// When the run started, in seconds since 1970; the caller says it.
    pub started: u64,
    pub context: Context,
    /// What limited the kernel before the step, where counters were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// The last steps before this one, oldest first.
    pub prefix: Vec<PathStep>,
    pub direction: String,
    pub skill: String,
    pub outcome: Outcome,
    /// Fingerprint of the kernel that the step began with.
    pub kernel: String,
    /// Hash of the change.
    pub diff: String,
    /// Why it ended so: the verdict, the first error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Evidence that cannot be recorded or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    #[error("{0}")]
    Field(String),
    #[error("this is no line of evidence: {0}")]
    Syntax(String),
    #[error("the line has version {0}, and this version of kopt reads {LINE_VERSION}")]
    Version(u64),
    #[error("the line says it is {said} and its content is {found}: it was changed")]
    Changed { said: String, found: String },
}

impl Evidence {
    /// The direction of the step before, or "" at the start of a run.
    pub fn from(&self) -> &str {
        self.prefix.last().map_or("", |s| &s.direction)
    }

    /// The first 128 bits of the hash of the content, in hexadecimal.
    pub fn id(&self) -> String {
        // Texts, numbers and enumerations always serialise.
        let content = serde_json::to_string(self).unwrap_or_default();
        blake3::hash(content.as_bytes()).to_hex()[..32].to_owned()
    }

    /// What evidence is sorted by: runs in their order, steps in theirs.
    pub fn order(&self) -> (u64, &str, u32) {
        (self.started, &self.run, self.step)
    }

    /// A reason of a length that the memory takes, cut at a character.
    pub fn shorten(reason: &str) -> String {
        let mut end = reason.len().min(MAX_REASON);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason[..end].to_owned()
    }

    /// Whether it can be recorded.
    ///
    /// # Errors
    /// The first field that has a value it cannot have.
    pub fn check(&self) -> Result<(), EvidenceError> {
        let bad = |text: String| Err(EvidenceError::Field(text));
        if let Some(mistake) = self.context.mistake() {
            return bad(mistake);
        }
        let directions = self.prefix.iter().map(|s| &s.direction).chain([&self.direction]);
        for (what, name) in directions.map(|d| ("direction", d)).chain([("skill", &self.skill), ("run", &self.run)]) {
            let plain = |b: u8| b.is_ascii_graphic() || b >= 0x80;
            if name.is_empty() || name.len() > 100 || !name.bytes().all(plain) {
                return bad(format!("{what} `{}` is no name", Evidence::shorten(name).escape_debug()));
            }
        }
        if self.prefix.len() > MAX_PREFIX {
            return bad(format!("the prefix has {} steps, and at most {MAX_PREFIX} are kept", self.prefix.len()));
        }
        if self.step == 0 {
            return bad("steps are counted from 1".to_owned());
        }
        if i64::try_from(self.started).is_err() {
            return bad(format!("{} is no time in seconds", self.started));
        }
        for (what, text) in [("reason", &self.reason), ("kernel", &self.kernel), ("diff", &self.diff)] {
            if text.len() > MAX_REASON {
                return bad(format!("the {what} has {} bytes, and at most {MAX_REASON} are kept", text.len()));
            }
        }
        Ok(())
    }

    /// The line that is exported, without a line end.
    pub fn line(&self) -> String {
        // As above; the order of the fields is that of the declaration, so the bytes are stable.
        let content = serde_json::to_string(self).unwrap_or_default();
        format!("{{\"v\":{LINE_VERSION},\"id\":\"{}\",{}", self.id(), &content[1..])
    }

    /// Reads an exported line.
    ///
    /// # Errors
    /// When it has another form, another version, or another content than its id says.
    pub fn parse_line(line: &str) -> Result<Evidence, EvidenceError> {
        let syntax = |e: serde_json::Error| EvidenceError::Syntax(e.to_string());
        let mut value: serde_json::Value = serde_json::from_str(line).map_err(syntax)?;
        let version = value.get("v").and_then(serde_json::Value::as_u64);
        let version = version.ok_or_else(|| EvidenceError::Syntax("it has no version `v`".to_owned()))?;
        if version != u64::from(LINE_VERSION) {
            return Err(EvidenceError::Version(version));
        }
        let fields = value.as_object_mut().ok_or_else(|| EvidenceError::Syntax("it is no object".to_owned()))?;
        fields.remove("v");
        let said = fields.remove("id").and_then(|id| id.as_str().map(str::to_owned));
        let said = said.ok_or_else(|| EvidenceError::Syntax("it has no `id`".to_owned()))?;
        let evidence: Evidence = serde_json::from_value(value).map_err(syntax)?;
        evidence.check()?;
        let found = evidence.id();
        if said == found { Ok(evidence) } else { Err(EvidenceError::Changed { said, found }) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::context::Family;
    use super::*;

    /// Evidence with a run, a step, a direction after another and an outcome.
    pub(crate) fn sample(run: &str, step: u32, from: &str, direction: &str, outcome: Outcome) -> Evidence {
        let prefix = if from.is_empty() {
            vec![]
        } else {
            vec![PathStep { direction: from.to_owned(), outcome: Outcome::Correct { estimated: None } }]
        };
        Evidence {
            run: run.to_owned(),
            step,
            started: 1_800_000_000,
            context: Context { arch: "sm_80".into(), language: "cuda".into(), family: Family::Reduction },
            bottleneck: Some(Bottleneck::Memory),
            prefix,
            direction: direction.to_owned(),
            skill: "vectorize_access".to_owned(),
            outcome,
            kernel: "k".to_owned(),
            diff: "d".to_owned(),
            reason: String::new(),
        }
    }

    fn measured(speedup: f64) -> Outcome {
        Outcome::Measured { speedup: Gain::of(speedup).unwrap() }
    }

    #[test]
    fn rewards_are_those_of_the_specification() {
        let cases = [
            (measured(1.0), Some(0)),
            (measured(1.5), Some(405_465)),
            (measured(0.5), Some(-693_147)),
            (measured(100.0), Some(1_000_000)),
            (measured(0.001), Some(-1_000_000)),
            (Outcome::NotCompiled, Some(-500_000)),
            (Outcome::Wrong, Some(-1_000_000)),
            (Outcome::Correct { estimated: Gain::of(3.0) }, None),
        ];
        for (outcome, reward) in cases {
            assert_eq!(outcome.reward(), reward, "{outcome}");
        }
        for bad in [0.0, -1.0, 1e-9, 1e7, f64::NAN, f64::INFINITY] {
            assert_eq!(Gain::of(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for (i, speedup) in [1.0, 1.234_567_891, 0.333_333_333, 999_999.0, 1e-6, 1.1, 2.3].into_iter().enumerate() {
            let mut e = sample("r", i as u32 + 1, "data-reuse", "throughput", measured(speedup));
            e.reason = "2 \"ulp\" off\nat é".to_owned();
            let line = e.line();
            let back = Evidence::parse_line(&line).unwrap();
            assert_eq!(back, e);
            assert_eq!(back.line(), line);
            assert!(!line.contains('\n'));
        }
    }

    #[test]
    fn a_changed_line_is_refused() {
        let e = sample("r", 1, "data-reuse", "throughput", measured(1.25));
        let line = e.line();
        let read = |from: &str, to: &str| {
            assert!(line.contains(from), "{from} in {line}");
            Evidence::parse_line(&line.replace(from, to))
        };
        assert!(matches!(read("1.25", "1.26"), Err(EvidenceError::Changed { .. })));
        assert!(matches!(read("\"k\"", "\"l\""), Err(EvidenceError::Changed { .. })));
        assert!(matches!(read("\"v\":1", "\"v\":2"), Err(EvidenceError::Version(2))));
        assert!(matches!(read("1.25", "-1"), Err(EvidenceError::Syntax(_))));
        assert!(matches!(read("\"measured\"", "\"disk-full\""), Err(EvidenceError::Syntax(_))));
        assert!(matches!(read("\"step\":1", "\"step\":0"), Err(EvidenceError::Field(_))));
        assert!(matches!(read("sm_80", "sm/80"), Err(EvidenceError::Field(_))));
        assert!(matches!(read("\"skill\"", "\"skil\""), Err(EvidenceError::Syntax(_))));
        for text in ["", "{", "[]", "1", "{\"v\":1}", "null"] {
            assert!(matches!(Evidence::parse_line(text), Err(EvidenceError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn reasons_are_cut_at_a_character() {
        let long = "é".repeat(MAX_REASON);
        let mut e = sample("r", 1, "", "throughput", Outcome::Wrong);
        e.reason = long.clone();
        assert!(e.check().is_err());
        e.reason = Evidence::shorten(&long);
        assert_eq!(e.check(), Ok(()));
        assert_eq!(e.reason.len(), MAX_REASON);
    }
}
