//! Steps of scanning and masking, which tests count instead of time: bytes scanned or blanked, and looks at tokens.

/// Counts steps in tests; nothing else.
#[inline(always)]
pub(in crate::source) fn step(_count: usize) {
    #[cfg(test)]
    counter::add(_count);
}

/// The steps of this thread since the last call.
#[cfg(test)]
pub(super) fn take() -> u64 {
    counter::take()
}

#[cfg(test)]
mod counter {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub fn add(steps: usize) {
        STEPS.set(STEPS.get() + steps as u64);
    }

    pub fn take() -> u64 {
        STEPS.replace(0)
    }
}
