//! What instructions did, for each place in the program; summed by source line at the end.

use std::collections::BTreeMap;

use crate::ptx::decode::classify::Class;
use crate::ptx::decode::program::{LineId, Program};

/// Raw counts of one instruction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Site {
    /// While blocks run: runs that begin here less runs that end before it; see `settle`.
    pub executions: u64,
    /// The same, times the lanes that took no part in a run.
    pub absent_runs: u64,
    /// Lanes that took part in the run but not in this instruction.
    pub absent: u64,
    pub requests: u64,
    pub sectors: u64,
    pub wavefronts: u64,
    pub bytes: u64,
}

impl Site {
    pub fn add(&mut self, other: &Site) {
        self.executions = self.executions.wrapping_add(other.executions);
        self.absent_runs = self.absent_runs.wrapping_add(other.absent_runs);
        self.absent += other.absent;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.wavefronts += other.wavefronts;
        self.bytes += other.bytes;
    }
}

/// From runs to instructions: each is executed by the runs that began before it and have not ended.
pub(crate) fn settle(sites: &mut [Site]) {
    let (mut running, mut absent) = (0u64, 0u64);
    for site in sites {
        running = running.wrapping_add(site.executions);
        absent = absent.wrapping_add(site.absent_runs);
        site.executions = running;
        site.absent = site.absent.wrapping_add(absent);
        site.absent_runs = 0;
    }
}

/// Counts of one source line, or of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Warp instructions.
    pub instructions: u64,
    /// Warp instructions by class, as in `Class::ALL`.
    pub classes: [u64; 20],
    /// Thread instructions: active lanes summed.
    pub lanes: u64,
    /// Floating-point operations of all threads; a fused multiply-add counts two.
    pub flops: u64,
    /// Warp-wide requests to global memory, and the 32-byte sectors they touch.
    pub global_requests: u64,
    pub global_sectors: u64,
    /// Bytes that lanes asked for in global memory.
    pub global_bytes: u64,
    /// Warp-wide requests to shared memory, and the wavefronts of 32 banks of 4 bytes that they take.
    pub shared_requests: u64,
    pub shared_wavefronts: u64,
}

impl Counts {
    /// Warp instructions of one class.
    pub fn class(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    /// Sectors for each request; 4 is ideal for 4-byte accesses of full warps.
    pub fn sectors_per_request(&self) -> f64 {
        if self.global_requests == 0 { 0.0 } else { self.global_sectors as f64 / self.global_requests as f64 }
    }

    /// Mean active lanes of a warp instruction.
    pub fn active_lanes(&self) -> f64 {
        if self.instructions == 0 { 0.0 } else { self.lanes as f64 / self.instructions as f64 }
    }

    fn add(&mut self, site: &Site, class: u8, flops: u16) {
        self.instructions += site.executions;
        self.classes[usize::from(class)] += site.executions;
        let lanes = 32 * site.executions - site.absent;
        self.lanes += lanes;
        self.flops += lanes * u64::from(flops);
        if site.wavefronts > 0 {
            self.shared_requests += site.requests;
            self.shared_wavefronts += site.wavefronts;
        } else {
            self.global_requests += site.requests;
            self.global_sectors += site.sectors;
            self.global_bytes += site.bytes;
        }
    }
}

/// Unique bytes of one allocation that a launch touched, to whole 4-byte words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    pub allocation: String,
    pub read: u64,
    pub written: u64,
}

/// Counters of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    pub total: Counts,
    pub lines: BTreeMap<LineId, Counts>,
    pub traffic: Vec<Traffic>,
}

impl Counters {
    pub(crate) fn collect(program: &Program, sites: &[Site]) -> Counters {
        let mut counters = Counters::default();
        for (site, known) in sites.iter().zip(&program.statics).filter(|(s, _)| s.executions > 0) {
            counters.total.add(site, known.class, known.flops);
            counters.lines.entry(known.line).or_default().add(site, known.class, known.flops);
        }
        counters
    }
}
