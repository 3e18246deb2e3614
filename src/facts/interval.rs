//! Sets of integers between two ends.

/// Integers from `lo` to `hi`, either end open where it is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    pub lo: Option<i128>,
    pub hi: Option<i128>,
}

impl Interval {
    pub const ALL: Interval = Interval { lo: None, hi: None };

    pub fn new(lo: i128, hi: i128) -> Interval {
        Interval { lo: Some(lo), hi: Some(hi) }
    }

    pub fn at_least(lo: i128) -> Interval {
        Interval { lo: Some(lo), hi: None }
    }

    pub fn point(v: i128) -> Interval {
        Interval::new(v, v)
    }

    pub fn within(self, outer: Interval) -> bool {
        let lo = outer.lo.is_none_or(|o| self.lo.is_some_and(|s| s >= o));
        let hi = outer.hi.is_none_or(|o| self.hi.is_some_and(|s| s <= o));
        lo && hi
    }

    pub fn meet(self, other: Interval) -> Interval {
        let lo = match (self.lo, other.lo) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        let hi = match (self.hi, other.hi) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Interval { lo, hi }
    }

    pub fn plus(self, other: Interval) -> Interval {
        let add = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Interval { lo: add(self.lo, other.lo), hi: add(self.hi, other.hi) }
    }

    pub fn times(self, factor: i128) -> Interval {
        let m = |v: Option<i128>| v?.checked_mul(factor);
        match factor {
            0 => Interval::point(0),
            1 => self,
            f if f > 0 => Interval { lo: m(self.lo), hi: m(self.hi) },
            _ => Interval { lo: m(self.hi), hi: m(self.lo) },
        }
    }

    /// All quotients by a positive divisor, rounded towards minus infinity.
    pub fn floor_div(self, divisor: i128) -> Interval {
        let divide = |v: i128| v.checked_div_euclid(divisor);
        Interval { lo: self.lo.and_then(divide), hi: self.hi.and_then(divide) }
    }

    /// The interval as the first factor of a product: what [`Interval::product`] of it and 1 would be.
    pub(super) fn factor(self) -> Interval {
        match (self.lo, self.hi) {
            (Some(_), Some(_)) => self,
            (Some(lo), None) if lo >= 0 => self,
            _ => Interval::ALL,
        }
    }

    /// All products of a value of each.
    pub fn product(self, other: Interval) -> Interval {
        if let (Some(a), Some(b), Some(c), Some(d)) = (self.lo, self.hi, other.lo, other.hi) {
            let corners = (a.checked_mul(c), a.checked_mul(d), b.checked_mul(c), b.checked_mul(d));
            let (Some(w), Some(x), Some(y), Some(z)) = corners else { return Interval::ALL };
            return Interval::new(w.min(x).min(y).min(z), w.max(x).max(y).max(z));
        }
        match (self.lo, other.lo) {
            (Some(a), Some(b)) if a >= 0 && b >= 0 => {
                let hi = self.hi.zip(other.hi).and_then(|(x, y)| x.checked_mul(y));
                Interval { lo: a.checked_mul(b), hi }
            }
            _ => Interval::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_factor_is_the_product_with_one() {
        let ends = [None, Some(-3), Some(0), Some(4)];
        for (lo, hi) in ends.iter().flat_map(|lo| ends.iter().map(move |hi| (*lo, *hi))) {
            let range = Interval { lo, hi };
            if lo.zip(hi).is_none_or(|(lo, hi)| lo <= hi) {
                assert_eq!(range.factor(), Interval::point(1).product(range), "{range:?}");
            }
        }
    }
}
