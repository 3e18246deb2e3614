//! Two contents of one output, element by element.

use super::bound::Bound;
use super::element;
use crate::ir::Scalar;

/// Bins of the histogram of errors: one for none, then one for each decade of error over magnitude, from below 1e-9 to
/// above 1e1, and one for what is not finite on one side only.
pub const BINS: usize = 14;

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub elements: u64,
    /// Elements whose bits differ; two NaNs count as equal unless the bound is exact.
    pub differing: u64,
    /// Elements outside of the bound.
    pub outside: u64,
    /// Root mean square error, absolute, over elements that are finite on both sides.
    pub rms: f64,
    /// The largest error over its bound, and the largest error itself.
    pub worst: f64,
    pub max: f64,
    /// The first element outside of the bound, or else the one that is worst.
    pub shown: Option<Mismatch>,
    pub histogram: [u64; BINS],
    pub within: bool,
}

/// One element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    pub index: u64,
    pub reference: u64,
    pub candidate: u64,
    pub ulps: Option<u64>,
    pub error: f64,
    pub allowed: f64,
}

impl Comparison {
    pub fn is_equal(&self) -> bool {
        self.differing == 0
    }
}

/// Compares `candidate` with `reference`, both of `dtype`, under `bound`. Elements for which `skip` is true are left out.
pub fn compare(
    dtype: Scalar,
    reference: &[u8],
    candidate: &[u8],
    bound: &Bound,
    skip: &dyn Fn(usize) -> bool,
) -> Comparison {
    let elements = reference.len() / dtype.bytes() as usize;
    let mut found = Comparison {
        elements: elements as u64,
        differing: 0,
        outside: 0,
        rms: 0.0,
        worst: 0.0,
        max: 0.0,
        shown: None,
        histogram: [0; BINS],
        within: true,
    };
    if reference == candidate {
        found.histogram[0] = elements as u64;
        return found;
    }
    let mut errors = vec![];
    let mut first_outside = None;
    let mut worst: Option<Mismatch> = None;
    for index in (0..elements).filter(|i| !skip(*i)) {
        let (r, c) = (element::bits(dtype, reference, index), element::bits(dtype, candidate, index));
        if r == c {
            found.histogram[0] += 1;
            continue;
        }
        let (x, y) = (element::value(dtype, r), element::value(dtype, c));
        let both_nan = x.is_nan() && y.is_nan();
        if both_nan && !bound.is_exact() {
            found.histogram[0] += 1;
            continue;
        }
        found.differing += 1;
        let finite = x.is_finite() && y.is_finite();
        let error = if finite { (y - x).abs() } else { f64::INFINITY };
        let allowed = bound.element(x);
        let outside = bound.is_exact() || !finite || error > allowed;
        found.outside += u64::from(outside);
        found.histogram[bin(error, bound.magnitude)] += 1;
        if finite {
            errors.push(error);
            found.max = found.max.max(error);
        }
        let over = if allowed > 0.0 { error / allowed } else { f64::INFINITY };
        let mismatch = || Mismatch {
            index: index as u64,
            reference: r,
            candidate: c,
            ulps: element::ulps(dtype, r, c),
            error,
            allowed,
        };
        if outside && first_outside.is_none() {
            first_outside = Some(mismatch());
        }
        if worst.is_none() || over > found.worst {
            worst = Some(mismatch());
        }
        found.worst = found.worst.max(over);
    }
    // The mean is over all elements that can be compared: those that are equal count as 0.
    let compared = elements.max(1) as f64;
    let root = super::bound::rms(errors.iter().copied()) * (errors.len() as f64 / compared).sqrt();
    found.rms = root;
    found.shown = first_outside.or(worst);
    found.within = found.outside == 0 && (found.differing == 0 || root <= bound.rms());
    found
}

fn bin(error: f64, magnitude: f64) -> usize {
    if !error.is_finite() {
        return BINS - 1;
    }
    let relative = if magnitude > 0.0 { error / magnitude } else { error };
    if relative == 0.0 {
        return 1;
    }
    (relative.log10().floor() + 11.0).clamp(1.0, (BINS - 2) as f64) as usize
}

/// What a bin of the histogram counts.
pub fn bin_label(bin: usize) -> String {
    match bin {
        0 => "equal".into(),
        1 => "< 1e-9".into(),
        b if b == BINS - 1 => "not finite".into(),
        b if b == BINS - 2 => ">= 1e1".into(),
        b => format!("1e{}", b as i32 - 11),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bound::Derivation;
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn derived(values: &[f32]) -> Bound {
        let u = element::unit_roundoff(Scalar::F32).unwrap();
        let magnitude = super::super::bound::rms(values.iter().map(|v| f64::from(*v)));
        let d = Derivation { output: u, arithmetic: u, length: 1.0, sensitivity: 0.0, original: None };
        Bound::of(Scalar::F32, None, magnitude, d)
    }

    fn check(reference: &[f32], candidate: &[f32]) -> Comparison {
        compare(Scalar::F32, &bytes(reference), &bytes(candidate), &derived(reference), &|_| false)
    }

    #[test]
    fn the_first_element_outside_is_shown_with_its_distance() {
        let r = [1.0, 2.0, 3.0, 4.0];
        let c = [1.0, f32::from_bits(2f32.to_bits() + 1), 3.5, 0.0];
        let found = check(&r, &c);
        let shown = found.shown.unwrap();
        assert_eq!((found.differing, found.outside, shown.index, found.within), (3, 2, 2, false));
        assert_eq!(shown.ulps, Some(1 << 21));
        assert_eq!(found.max, 4.0);
    }

    #[test]
    fn one_unit_in_the_last_place_is_within_and_not_equal() {
        let found = check(&[1.0, 2.0], &[1.0, f32::from_bits(2f32.to_bits() + 1)]);
        assert!(found.within && !found.is_equal() && found.shown.is_some());
        assert_eq!(found.histogram.iter().sum::<u64>(), 2);
    }

    #[test]
    fn what_is_not_finite_must_agree_in_kind() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (r, c, within) in [
            (nan, nan, true),
            (nan, f32::from_bits(nan.to_bits() ^ 1), true),
            (nan, 1.0, false),
            (1.0, nan, false),
            (inf, inf, true),
            (inf, -inf, false),
            (inf, f32::MAX, false),
        ] {
            assert_eq!(check(&[1.0, r], &[1.0, c]).within, within, "{r} {c}");
        }
        let b = bytes(&[nan]);
        let c = bytes(&[f32::from_bits(nan.to_bits() ^ 1)]);
        assert!(!compare(Scalar::F32, &b, &c, &Bound::exact(), &|_| false).within);
    }

    #[test]
    fn integers_are_compared_bit_for_bit() {
        let found = compare(Scalar::I32, &1i32.to_le_bytes(), &2i32.to_le_bytes(), &Bound::exact(), &|_| false);
        assert!(!found.within && found.outside == 1 && found.shown.unwrap().ulps.is_none());
        assert!(compare(Scalar::I32, &[], &[], &Bound::exact(), &|_| false).is_equal());
    }

    #[test]
    fn a_small_error_everywhere_exceeds_the_mean_before_it_exceeds_an_element() {
        let r: Vec<f32> = (0..1000).map(|i| 1.0 + i as f32 / 1000.0).collect();
        let c: Vec<f32> = r.iter().map(|v| v * (1.0 + 8e-7)).collect();
        let found = check(&r, &c);
        assert!(found.outside == 0 && !found.within, "{found:?}");
    }
}
