//! What a candidate may do beyond computing the same.

/// Permissions of one plan. Nothing is permitted that is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// `__device__` variables that may keep a value from one launch to the next.
    pub mutable_globals: Vec<String>,
    /// Results may depend on the order in which atomics happen.
    pub atomic_order: bool,
    /// Sums may be taken in another order.
    pub reassociate: bool,
    /// Approximate intrinsics may be used.
    pub approximate: bool,
}

impl Permissions {
    /// The assumptions that say the same to the analysis.
    pub fn assumptions(&self) -> Vec<&'static str> {
        let both = [(self.approximate, "permit(approximate)"), (self.reassociate, "permit(reassociate)")];
        both.into_iter().filter(|(on, _)| *on).map(|(_, text)| text).collect()
    }
}
