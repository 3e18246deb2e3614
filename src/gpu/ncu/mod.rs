//! Hardware counters as `ncu` reports them: what is asked for, the report as numbers in base units, and what binds a
//! launch. Only [`run`] starts a program.

pub mod classify;
mod csv;
#[cfg(feature = "gpu")]
pub mod run;

pub use classify::{Bottleneck, Classified, classify};
pub use csv::{Unreadable, launches, lines};

use std::collections::BTreeMap;

use serde::Serialize;

/// One launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Launch {
    pub kernel: String,
    /// Metrics by ncu's names, in bytes, seconds, percent, or as counts.
    pub metrics: BTreeMap<String, f64>,
}

impl Launch {
    pub fn get(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).copied()
    }

    /// Why warps waited, the longest first: ncu's word and the share of all waiting.
    pub fn stalls(&self) -> Vec<(String, f64)> {
        let waited =
            self.metrics.iter().filter_map(|(name, v)| Some((name.strip_prefix(STALL)?.strip_suffix(PER_ISSUE)?, *v)));
        // A warp that is selected does not wait.
        let waited: Vec<(&str, f64)> = waited.filter(|(reason, v)| *reason != "selected" && *v > 0.0).collect();
        let all: f64 = waited.iter().map(|(_, v)| v).sum();
        let mut shares: Vec<(String, f64)> = waited.into_iter().map(|(r, v)| (r.to_owned(), v / all)).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shares
    }
}

const STALL: &str = "smsp__average_warps_issue_stalled_";
const PER_ISSUE: &str = "_per_issue_active.ratio";

/// A line of the user's with what was counted there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    pub function: String,
    pub file: String,
    pub line: u32,
    /// Samples in which a warp stood at this line, waiting or not.
    pub samples: f64,
    pub instructions: f64,
    pub shared_wavefronts: f64,
    pub shared_wavefronts_ideal: f64,
    pub global_sectors: f64,
    pub global_sectors_ideal: f64,
    /// Why warps waited there, the most frequent first, with samples.
    pub stalls: Vec<(String, f64)>,
}

pub const DURATION: &str = "gpu__time_duration.sum";
pub const INSTRUCTIONS: &str = "smsp__inst_executed.sum";
pub const LOAD_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
pub const LOAD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
pub const STORE_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
pub const STORE_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
/// Wavefronts that shared accesses need by their addresses; the pipe counts its repetitions, too.
pub const SHARED_WAVEFRONTS: &str = "memory_l1_wavefronts_shared";
/// Wavefronts that the same accesses would need without a conflict.
pub const SHARED_IDEAL: &str = "memory_l1_wavefronts_shared_ideal";
pub const SHARED_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
pub const SHARED_SHARE: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed";
pub const LSU_SHARE: &str = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed";
pub const OCCUPANCY: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
pub const DRAM_READ: &str = "dram__bytes_read.sum";
pub const DRAM_WRITTEN: &str = "dram__bytes_write.sum";
pub const DRAM_SHARE: &str = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
pub const L2_SHARE: &str = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
pub const L2_HITS: &str = "lts__t_sector_hit_rate.pct";
pub const L1_HITS: &str = "l1tex__t_sector_hit_rate.pct";
pub const COMPUTE_SHARE: &str = "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed";
pub const BLOCKS: &str = "launch__grid_size";
pub const MULTIPROCESSORS: &str = "launch__sm_count";

/// What is asked for by name; the sections [`SECTIONS`] bring the rest, and every launch its shape.
pub const METRICS: &[&str] = &[
    DURATION,
    INSTRUCTIONS,
    LOAD_REQUESTS,
    LOAD_SECTORS,
    STORE_REQUESTS,
    STORE_SECTORS,
    SHARED_CONFLICTS,
    SHARED_SHARE,
    LSU_SHARE,
    OCCUPANCY,
    DRAM_READ,
    DRAM_WRITTEN,
    DRAM_SHARE,
    L2_SHARE,
    L2_HITS,
    L1_HITS,
    COMPUTE_SHARE,
];

/// Counters by source line, and why warps wait.
pub const SECTIONS: &[&str] = &["SourceCounters", "WarpStateStats"];

fn is_kept(name: &str) -> bool {
    METRICS.contains(&name)
        || [SHARED_WAVEFRONTS, SHARED_IDEAL, BLOCKS, MULTIPROCESSORS].contains(&name)
        || (name.starts_with(STALL) && name.ends_with(PER_ISSUE))
}
