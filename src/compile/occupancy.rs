//! How many blocks of a kernel one multiprocessor holds, from the limits of the architecture.
//!
//! The formula is that of NVIDIA's `cuda_occupancy.h`: the least of five limits, each rounded as the hardware
//! allocates. Thirty-two threads are a warp; registers are given out per warp in units of 256, and the warps of a
//! block are dealt over four sub-partitions.

use super::ptxas::KernelResources;

/// The limits of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Compute capability as in `sm_80`.
    pub sm: u32,
    pub threads_per_sm: u32,
    pub blocks_per_sm: u32,
    /// Bytes.
    pub shared_per_sm: u32,
    /// Bytes that one block may have after opting in.
    pub shared_per_block_optin: u32,
    /// Allocation unit in bytes.
    pub shared_unit: u32,
    /// Bytes that the system takes of each block's shared memory.
    pub shared_reserved: u32,
}

pub const REGISTERS_PER_SM: u32 = 65_536;
pub const REGISTERS_PER_THREAD: u32 = 255;
pub const REGISTER_UNIT: u32 = 256;
pub const WARP: u32 = 32;
pub const PARTITIONS: u32 = 4;
pub const THREADS_PER_BLOCK: u32 = 1024;
/// Static shared memory of one block, without opting in.
pub const STATIC_SHARED: u32 = 48 * 1024;

const fn row(sm: u32, threads: u32, blocks: u32, shared_kb: u32, optin_kb: u32) -> Limits {
    let old = sm < 80;
    Limits {
        sm,
        threads_per_sm: threads,
        blocks_per_sm: blocks,
        shared_per_sm: shared_kb * 1024,
        shared_per_block_optin: optin_kb * 1024,
        shared_unit: if old { 256 } else { 128 },
        shared_reserved: if old { 0 } else { 1024 },
    }
}

/// By rising `sm`.
pub const TABLE: &[Limits] = &[
    row(75, 1024, 16, 64, 64),
    row(80, 2048, 32, 164, 163),
    row(86, 1536, 16, 100, 99),
    row(87, 1536, 16, 164, 163),
    row(89, 1536, 24, 100, 99),
    row(90, 2048, 32, 228, 227),
    row(100, 2048, 32, 228, 227),
    row(103, 2048, 32, 228, 227),
    row(120, 1536, 24, 100, 99),
    row(121, 1536, 24, 100, 99),
];

/// The limits of `sm_80`, `sm_90a`, `compute_120`; `None` for one that is not in the table.
pub fn limits(arch: &str) -> Option<&'static Limits> {
    let digits: String = arch.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let sm: u32 = digits.parse().ok()?;
    TABLE.iter().find(|l| l.sm == sm)
}

/// What keeps more blocks from fitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limiter {
    Threads,
    Registers,
    Shared,
    Blocks,
}

impl std::fmt::Display for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Limiter::Threads => "threads",
            Limiter::Registers => "registers",
            Limiter::Shared => "shared memory",
            Limiter::Blocks => "blocks",
        })
    }
}

/// Blocks that one multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Occupancy {
    pub blocks: u32,
    pub warps: u32,
    pub max_warps: u32,
    pub limiter: Limiter,
}

impl Occupancy {
    /// Resident warps as a share of what the multiprocessor can hold, in percent.
    pub fn percent(self) -> f64 {
        100.0 * f64::from(self.warps) / f64::from(self.max_warps.max(1))
    }
}

/// Why a block cannot run at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DoesNotFit {
    #[error("a block of {0} threads (1 to {THREADS_PER_BLOCK} are possible)")]
    Threads(u32),
    #[error("{0} registers per thread (at most {REGISTERS_PER_THREAD} are possible)")]
    RegistersPerThread(u32),
    #[error("{registers} registers per thread for {threads} threads: a multiprocessor has {REGISTERS_PER_SM}")]
    Registers { registers: u32, threads: u32 },
    #[error("{bytes} bytes of shared memory per block (at most {limit} on this architecture)")]
    Shared { bytes: u32, limit: u32 },
}

/// Blocks of `threads` threads with `registers` per thread and `shared` bytes (static and dynamic together) that
/// one multiprocessor holds. Dynamic shared memory above 48 KB takes opting in, which is assumed here.
pub fn occupancy(limits: &Limits, threads: u32, registers: u32, shared: u32) -> Result<Occupancy, DoesNotFit> {
    if threads == 0 || threads > THREADS_PER_BLOCK {
        return Err(DoesNotFit::Threads(threads));
    }
    if registers > REGISTERS_PER_THREAD {
        return Err(DoesNotFit::RegistersPerThread(registers));
    }
    if shared > limits.shared_per_block_optin {
        return Err(DoesNotFit::Shared { bytes: shared, limit: limits.shared_per_block_optin });
    }
    let warps = threads.div_ceil(WARP);
    let max_warps = limits.threads_per_sm / WARP;
    let by_threads = max_warps / warps;
    let by_registers = if registers == 0 {
        u32::MAX
    } else {
        let per_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
        let per_partition = REGISTERS_PER_SM / PARTITIONS / per_warp;
        // A block whose warps, rounded up to the partitions, do not fit cannot be launched.
        if per_warp * warps.next_multiple_of(PARTITIONS) > REGISTERS_PER_SM {
            return Err(DoesNotFit::Registers { registers, threads });
        }
        per_partition * PARTITIONS / warps
    };
    let taken = (shared + limits.shared_reserved).next_multiple_of(limits.shared_unit);
    let by_shared = limits.shared_per_sm.checked_div(taken).unwrap_or(u32::MAX);
    let each = [
        (by_threads, Limiter::Threads),
        (by_registers, Limiter::Registers),
        (by_shared, Limiter::Shared),
        (limits.blocks_per_sm, Limiter::Blocks),
    ];
    let (blocks, limiter) = each.into_iter().min_by_key(|&(n, _)| n).unwrap_or((0, Limiter::Blocks));
    Ok(Occupancy { blocks, warps: blocks * warps, max_warps, limiter })
}

/// The same for a compiled kernel with `dynamic` bytes of dynamic shared memory.
pub fn of_kernel(
    limits: &Limits,
    kernel: &KernelResources,
    threads: u32,
    dynamic: u32,
) -> Result<Occupancy, DoesNotFit> {
    occupancy(limits, threads, kernel.registers, kernel.shared.saturating_add(dynamic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example_holds() {
        for (arch, blocks) in
            [("sm_75", 4), ("sm_80", 6), ("sm_86", 6), ("sm_89", 6), ("sm_90a", 6), ("sm_100", 6), ("sm_120", 6)]
        {
            let l = limits(arch).expect(arch);
            assert_eq!(occupancy(l, 256, 40, 2048).map(|o| o.blocks), Ok(blocks), "{arch}");
        }
    }

    #[test]
    fn each_limit_can_bind() {
        let l = limits("sm_80").unwrap();
        let limiter = |t, r, s| occupancy(l, t, r, s).map(|o| o.limiter);
        assert_eq!(limiter(1024, 16, 0), Ok(Limiter::Threads));
        assert_eq!(limiter(256, 128, 0), Ok(Limiter::Registers));
        assert_eq!(limiter(128, 16, 40_000), Ok(Limiter::Shared));
        assert_eq!(limiter(32, 16, 0), Ok(Limiter::Blocks));
        assert_eq!(occupancy(l, 1024, 255, 0), Err(DoesNotFit::Registers { registers: 255, threads: 1024 }));
        assert!(
            occupancy(l, 2048, 1, 0).is_err() && occupancy(l, 0, 1, 0).is_err() && occupancy(l, 32, 256, 0).is_err()
        );
        assert!(occupancy(l, 32, 1, 200_000).is_err());
    }

    #[test]
    fn unknown_architectures_have_no_limits() {
        assert!(limits("sm_52").is_none() && limits("").is_none() && limits("sm_99999999999").is_none());
        assert!(TABLE.windows(2).all(|w| w[0].sm < w[1].sm));
    }
}
