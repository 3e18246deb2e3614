//! How far an output may be off.
//!
//! Rounding errors of a sum of L terms grow like sqrt(L) where they are independent (Higham, "Accuracy and Stability of
//! Numerical Algorithms", 2nd edition, section 4.2 and 2.8). With u the unit roundoff of the output and v that of the
//! arithmetic, an output of root mean square R may be off by
//!
//! ```text
//! root mean square:  4 (u R + v sqrt(L) S)
//! one element r:    16 (u max(|r|, R) + v sqrt(L) max(|r|, S))
//! ```
//!
//! where S is R or, if larger, the sensitivity of the output: how much it moves, per relative change of the inputs, when
//! they are rounded to the next lower precision. A backward stable algorithm is as good as exact inputs that were changed
//! by some v, so S carries the condition of the problem: a sum that cancels may be off by more than its own size says.

use super::element;
use crate::contract::Tolerance;
use crate::ir::Scalar;

const RMS_FACTOR: f64 = 4.0;
const MAX_FACTOR: f64 = 16.0;

/// The bound of one output of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub kind: BoundKind,
    /// Root mean square of the reference's finite elements.
    pub magnitude: f64,
    /// Absolute error that is never counted: a few of the smallest numbers of the type.
    pub floor: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum BoundKind {
    /// Bit for bit.
    Exact,
    /// From the contract: in units of `magnitude`; `None` is no bound.
    Given {
        rms: Option<f64>,
        max: Option<f64>,
    },
    Derived(Derivation),
}

/// What a derived bound was derived from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derivation {
    /// Unit roundoff of the output.
    pub output: f64,
    /// Unit roundoff of the arithmetic.
    pub arithmetic: f64,
    /// Length of the longest reduction, estimated.
    pub length: f64,
    /// Movement of the output per relative change of the inputs.
    pub sensitivity: f64,
    /// Errors of the original itself against a float64 reference, where there is one: root mean square and largest.
    pub original: Option<(f64, f64)>,
}

impl Bound {
    /// Bit for bit.
    pub fn exact() -> Bound {
        Bound { kind: BoundKind::Exact, magnitude: 0.0, floor: 0.0 }
    }

    /// What the contract says of this output, or the derived bound.
    pub fn of(dtype: Scalar, given: Option<&Tolerance>, magnitude: f64, derivation: Derivation) -> Bound {
        let floor = RMS_FACTOR * element::least(dtype) * derivation.length.sqrt();
        let kind = match given {
            Some(t) if t.exact => BoundKind::Exact,
            Some(t) if t.rms.is_some() || t.max.is_some() => BoundKind::Given { rms: t.rms, max: t.max },
            _ if !dtype.is_float() => BoundKind::Exact,
            _ => BoundKind::Derived(derivation),
        };
        Bound { kind, magnitude, floor }
    }

    pub fn is_exact(&self) -> bool {
        self.kind == BoundKind::Exact
    }

    /// The largest allowed root mean square error; absolute.
    pub fn rms(&self) -> f64 {
        match &self.kind {
            BoundKind::Exact => 0.0,
            BoundKind::Given { rms: Some(rms), .. } => rms * self.magnitude,
            BoundKind::Given { rms: None, .. } => f64::INFINITY,
            BoundKind::Derived(d) => {
                let spread = self.magnitude.max(d.sensitivity);
                let derived = RMS_FACTOR * (d.output * self.magnitude + d.accumulated() * spread);
                derived.max(d.original.map_or(0.0, |(rms, _)| 2.0 * rms)) + self.floor
            }
        }
    }

    /// The largest allowed error of an element whose reference is `r`; absolute.
    pub fn element(&self, r: f64) -> f64 {
        match &self.kind {
            BoundKind::Exact => 0.0,
            BoundKind::Given { max: Some(max), .. } => max * self.magnitude,
            BoundKind::Given { max: None, .. } => f64::INFINITY,
            BoundKind::Derived(d) => {
                let own = r.abs().max(self.magnitude);
                let spread = own.max(d.sensitivity);
                let derived = MAX_FACTOR * (d.output * own + d.accumulated() * spread);
                derived.max(d.original.map_or(0.0, |(_, max)| 2.0 * max)) + self.floor
            }
        }
    }

    /// In words, with its figures.
    pub fn describe(&self) -> String {
        match &self.kind {
            BoundKind::Exact => "bit for bit".into(),
            BoundKind::Given { rms, max } => {
                let say = |what: &str, v: &Option<f64>| v.map(|v| format!("{what} {v:.1e}"));
                let parts: Vec<String> = [say("rms", rms), say("max", max)].into_iter().flatten().collect();
                format!("{} (contract)", parts.join(", "))
            }
            BoundKind::Derived(d) => {
                let relative = if self.magnitude > 0.0 { self.rms() / self.magnitude } else { 0.0 };
                format!("rms {relative:.1e} (reduction length about {:.0})", d.length)
            }
        }
    }
}

impl Derivation {
    fn accumulated(&self) -> f64 {
        self.arithmetic * self.length.max(1.0).sqrt()
    }
}

/// Root mean square of the finite values, without overflow; 0 of none.
pub fn rms(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let finite = values.filter(|v| v.is_finite());
    let largest = finite.clone().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let (sum, count) = finite.fold((0.0, 0u64), |(s, n), v| (s + (v / largest) * (v / largest), n + 1));
    largest * (sum / count as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(length: f64, sensitivity: f64) -> Bound {
        let u = element::unit_roundoff(Scalar::F32).unwrap();
        let d = Derivation { output: u, arithmetic: u, length, sensitivity, original: None };
        Bound::of(Scalar::F32, None, 1.0, d)
    }

    #[test]
    fn the_bound_grows_with_the_root_of_the_length_and_with_sensitivity() {
        let (one, hundred) = (derived(1.0, 0.0), derived(10_000.0, 0.0));
        assert!(one.rms() < 5e-7 && hundred.rms() > 40.0 * one.rms() && hundred.rms() < 60.0 * one.rms());
        assert!(derived(1.0, 100.0).rms() > 40.0 * one.rms());
        assert!(one.element(1000.0) > 900.0 * one.element(1.0) && one.element(0.0) == one.element(1.0));
    }

    #[test]
    fn a_contract_overrules_what_is_derived() {
        let d = Derivation { output: 1e-7, arithmetic: 1e-7, length: 1.0, sensitivity: 0.0, original: None };
        let given = |exact, rms, max| Tolerance { output: "y".into(), exact, rms, max, span: None };
        let exact = Bound::of(Scalar::F32, Some(&given(true, None, None)), 2.0, d);
        assert!(exact.is_exact());
        let b = Bound::of(Scalar::F32, Some(&given(false, Some(1e-3), None)), 2.0, d);
        assert_eq!((b.rms(), b.element(5.0)), (2e-3, f64::INFINITY));
        assert!(Bound::of(Scalar::I32, None, 2.0, d).is_exact());
    }

    #[test]
    fn root_mean_squares_do_not_overflow() {
        assert_eq!(rms([3e200, -3e200, f64::INFINITY, f64::NAN].into_iter()), 3e200);
        assert_eq!(rms([0.0; 3].into_iter()), 0.0);
        assert_eq!(rms(std::iter::empty()), 0.0);
    }
}
