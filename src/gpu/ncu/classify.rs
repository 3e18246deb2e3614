//! What binds a launch, by one rule with thresholds; docs/profile.md says it in words.

use std::fmt;

use serde::Serialize;

use super::{
    BLOCKS, COMPUTE_SHARE, DRAM_SHARE, DURATION, L2_SHARE, LSU_SHARE, Launch, MULTIPROCESSORS, SHARED_CONFLICTS,
    SHARED_IDEAL, SHARED_SHARE, SHARED_WAVEFRONTS,
};

/// Seconds below which starting the kernel is a large part of it: an empty one takes two to three microseconds.
pub const SHORT: f64 = 5e-6;
/// Blocks for each multiprocessor below which most of the device has nothing to do.
pub const FEW_BLOCKS: f64 = 0.5;
/// Percent of its peak from which on a unit binds, as in ncu's own rules.
pub const BUSY: f64 = 60.0;
/// The share of the load and store unit's wavefronts from which on shared memory is what it is busy with.
const MOSTLY: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// Too little work: the launch takes as long as the kernel, or most of the device is idle.
    Launch,
    /// Device memory.
    Dram,
    L2,
    /// The load and store unit, with accesses to global memory.
    L1,
    /// Shared memory.
    Shared,
    Compute,
    /// No unit is busy: warps wait for each other or for what they asked for.
    Latency,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bottleneck::Launch => "launch",
            Bottleneck::Dram => "memory (DRAM)",
            Bottleneck::L2 => "memory (L2)",
            Bottleneck::L1 => "memory (L1)",
            Bottleneck::Shared => "shared memory",
            Bottleneck::Compute => "compute",
            Bottleneck::Latency => "latency",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Classified {
    pub bottleneck: Bottleneck,
    /// The numbers that say so.
    pub why: String,
}

/// `None` where a metric that the rule needs is missing.
pub fn classify(l: &Launch) -> Option<Classified> {
    let is = |bottleneck, why: String| Some(Classified { bottleneck, why });
    let (duration, blocks, multiprocessors) = (l.get(DURATION)?, l.get(BLOCKS)?, l.get(MULTIPROCESSORS)?);
    if blocks < FEW_BLOCKS * multiprocessors {
        return is(Bottleneck::Launch, format!("{blocks:.0} blocks on {multiprocessors:.0} multiprocessors"));
    }
    if duration < SHORT {
        return is(Bottleneck::Launch, format!("{:.1} us, less than {:.0} us", duration * 1e6, SHORT * 1e6));
    }
    let lsu = l.get(LSU_SHARE)?;
    // The kinds of access share one unit.
    let shared = l.get(SHARED_SHARE)?;
    let inside = if shared >= MOSTLY * lsu { Bottleneck::Shared } else { Bottleneck::L1 };
    let units = [
        (Bottleneck::Dram, l.get(DRAM_SHARE)?),
        (Bottleneck::L2, l.get(L2_SHARE)?),
        (inside, lsu),
        (Bottleneck::Compute, l.get(COMPUTE_SHARE)?),
    ];
    let (unit, most) = units.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if most < BUSY {
        let mut why = format!("no unit reaches {BUSY:.0} % of its peak, {unit} comes next with {most:.1} %");
        if let Some((reason, share)) = l.stalls().first() {
            why.push_str(&format!("; warps wait most for {reason} ({:.0} % of all waiting)", 100.0 * share));
        }
        return is(Bottleneck::Latency, why);
    }
    let mut why = format!("{most:.1} % of its peak");
    if unit == Bottleneck::Shared {
        why.push_str(&conflicts(l));
    }
    is(unit, why)
}

/// How many of the wavefronts are there because of bank conflicts.
fn conflicts(l: &Launch) -> String {
    let excess = match (l.get(SHARED_WAVEFRONTS), l.get(SHARED_IDEAL)) {
        (Some(there), Some(ideal)) if there > 0.0 => 100.0 * (there - ideal).max(0.0) / there,
        _ => return l.get(SHARED_CONFLICTS).map_or_else(String::new, |n| format!("; {n:.0} bank conflicts")),
    };
    format!("; {excess:.0} % of its wavefronts are bank conflicts")
}

#[cfg(test)]
mod tests {
    use super::super::launches;
    use super::*;

    fn recorded() -> Launch {
        launches(include_str!("../../../tests/data/gpu/tools/ncu-raw.csv")).unwrap().remove(0)
    }

    fn with(changes: &[(&str, f64)]) -> Classified {
        let mut l = recorded();
        l.metrics.extend(changes.iter().map(|(m, v)| ((*m).to_owned(), *v)));
        classify(&l).unwrap()
    }

    #[test]
    fn a_transpose_with_bank_conflicts_is_bound_by_shared_memory() {
        let c = with(&[]);
        assert_eq!(c.bottleneck, Bottleneck::Shared);
        assert_eq!(c.why, "60.5 % of its peak; 94 % of its wavefronts are bank conflicts");
    }

    #[test]
    fn every_threshold_decides_from_both_sides() {
        let quiet =
            [(LSU_SHARE, 10.0), (SHARED_SHARE, 9.0), (DRAM_SHARE, 10.0), (L2_SHARE, 10.0), (COMPUTE_SHARE, 10.0)];
        let and = |more: &[(&'static str, f64)]| with(&[&quiet, more].concat()).bottleneck;
        assert_eq!(and(&[]), Bottleneck::Latency);
        for (metric, what) in
            [(DRAM_SHARE, Bottleneck::Dram), (L2_SHARE, Bottleneck::L2), (COMPUTE_SHARE, Bottleneck::Compute)]
        {
            assert_eq!(and(&[(metric, 60.0)]), what);
            assert_eq!(and(&[(metric, 59.9)]), Bottleneck::Latency);
        }
        assert_eq!(and(&[(LSU_SHARE, 70.0), (SHARED_SHARE, 35.0)]), Bottleneck::Shared);
        assert_eq!(and(&[(LSU_SHARE, 70.0), (SHARED_SHARE, 34.9)]), Bottleneck::L1);
        assert_eq!(and(&[(DRAM_SHARE, 90.0), (L2_SHARE, 80.0)]), Bottleneck::Dram);
        assert_eq!(and(&[(DRAM_SHARE, 90.0), (DURATION, 4.9e-6)]), Bottleneck::Launch);
        assert_eq!(and(&[(DRAM_SHARE, 90.0), (DURATION, 5.1e-6)]), Bottleneck::Dram);
        assert_eq!(and(&[(COMPUTE_SHARE, 90.0), (BLOCKS, 65.0)]), Bottleneck::Launch);
        assert_eq!(and(&[(COMPUTE_SHARE, 90.0), (BLOCKS, 66.0)]), Bottleneck::Compute);
        assert!(with(&quiet).why.contains("warps wait most for short_scoreboard"));
    }

    #[test]
    fn a_missing_metric_leaves_it_open() {
        for metric in [DURATION, BLOCKS, MULTIPROCESSORS, LSU_SHARE, SHARED_SHARE, DRAM_SHARE, L2_SHARE, COMPUTE_SHARE]
        {
            let mut l = recorded();
            l.metrics.remove(metric);
            assert_eq!(classify(&l), None, "{metric}");
        }
    }
}
