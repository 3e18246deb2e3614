//! Dims: the sizes of a computation, with what the caller guarantees of them.

use super::proposed::Proposed;
use crate::source::Span;

/// One size. Where `min`, `max` and `divisible_by` are given, the caller never uses another value.
#[derive(Clone, Debug, Default)]
pub struct Dim {
    pub name: String,
    /// Values that the caller uses; the first is the one that stands for the dim where only one is asked for.
    pub samples: Vec<i64>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub divisible_by: Option<i64>,
    pub proposed: Proposed,
    /// Comments that stand above it when it is printed.
    pub notes: Vec<String>,
    pub span: Option<Span>,
}

impl Dim {
    pub fn new(name: impl Into<String>) -> Dim {
        Dim { name: name.into(), ..Dim::default() }
    }

    /// Why the caller never uses `value`; `None` where it may. A size is never negative, whatever the contract says.
    pub fn excludes(&self, value: i64) -> Option<String> {
        let name = &self.name;
        match (self.min, self.max, self.divisible_by) {
            _ if value < 0 => Some(format!("{name} is a size and not negative")),
            (Some(min), ..) if value < min => Some(format!("{name} >= {min}")),
            (_, Some(max), _) if value > max => Some(format!("{name} <= {max}")),
            (_, _, Some(by)) if by > 0 && value % by != 0 => Some(format!("{name} % {by} == 0")),
            _ => None,
        }
    }

    pub fn admits(&self, value: i64) -> bool {
        self.excludes(value).is_none()
    }

    /// Whether only one value is possible.
    pub fn is_fixed(&self) -> bool {
        self.min.is_some() && self.min == self.max
    }
}

impl PartialEq for Dim {
    /// Comments and places do not count.
    fn eq(&self, other: &Dim) -> bool {
        let of = |d: &Dim| (d.name.clone(), d.samples.clone(), d.min, d.max, d.divisible_by, d.proposed.clone());
        of(self) == of(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_caller_guarantees_filters_values() {
        let d = Dim { min: Some(4), max: Some(64), divisible_by: Some(4), ..Dim::new("n") };
        let cases = [
            (4, None),
            (64, None),
            (0, Some("n >= 4")),
            (68, Some("n <= 64")),
            (6, Some("n % 4 == 0")),
            (-4, Some("n is a size and not negative")),
        ];
        for (value, why) in cases {
            assert_eq!(d.excludes(value).as_deref(), why, "{value}");
        }
        assert!(!d.is_fixed() && Dim { min: Some(4), max: Some(4), ..d }.is_fixed());
        assert!(Dim::new("n").admits(0) && !Dim::new("n").admits(-1));
    }
}
