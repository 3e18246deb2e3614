//! How fast a run can be at best: the bytes that it must move over the most that the device was seen to move.

use super::super::pair::Outcome;
use super::super::side::Side;
use crate::contract::{ConcretePlan, Role};
use crate::gpu::timing::Peaks;
use crate::ptx::Traffic;

/// A measured time may be below the floor by this share; peaks are measured, too.
const SLACK: f64 = 0.95;
/// A buffer of which the interpreter saw this share touched counts as a whole.
const WHOLE: f64 = 0.99;

/// The least time of a run with a cold cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Bytes that must be read and written at least once.
    pub bytes: u64,
    /// Bytes per second of the device.
    pub peak: f64,
    pub nanoseconds: f64,
}

impl Floor {
    pub fn is_broken_by(&self, nanoseconds: f64) -> bool {
        nanoseconds < SLACK * self.nanoseconds
    }

    /// The share of the peak that a run of so long reaches with the bytes that it must move.
    pub fn share(&self, nanoseconds: f64) -> f64 {
        self.nanoseconds / nanoseconds
    }
}

/// The floor, where the bytes do not fit the cache and are known. Inputs count as far as the interpreter saw the candidate
/// read all of them at the size that it ran; outputs count with the elements that the contract says are written.
pub fn floor(
    plan: &ConcretePlan,
    candidate: &Side,
    emulated: &Outcome,
    peaks: Option<&Peaks>,
    l2_bytes: u64,
) -> Option<Floor> {
    let peaks = peaks?;
    let counted = emulated.counters.as_ref()?;
    let small = candidate.plan.concrete(&counted.cell).ok()?;
    let whole = |name: &str, of: &dyn Fn(&Traffic) -> u64| {
        let most = counted.candidate.traffic.iter().filter(|t| t.allocation == name).map(of).max().unwrap_or(0);
        let all = small.buffers.iter().find(|b| b.name == name).map_or(0, |b| b.bytes);
        all > 0 && most as f64 >= WHOLE * all as f64
    };
    let mut bytes = 0u64;
    for buffer in plan.buffers.iter().filter(|b| b.symbol.is_none()) {
        let width = u64::from(buffer.dtype.bytes());
        let written = buffer.writes.end.min(buffer.elements).saturating_sub(buffer.writes.start).saturating_mul(width);
        if matches!(buffer.role, Role::In | Role::InOut) && whole(&buffer.name, &|t| t.read) {
            bytes = bytes.saturating_add(buffer.bytes);
        }
        if buffer.role.is_output() && whole(&buffer.name, &|t| t.written) {
            bytes = bytes.saturating_add(written);
        }
    }
    let peak = peaks.read.max(peaks.copy).max(peaks.write);
    (bytes > l2_bytes && peak > 0.0).then(|| Floor { bytes, peak, nanoseconds: bytes as f64 / peak * 1e9 })
}
