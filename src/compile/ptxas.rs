//! The resource lines that `ptxas -v` prints, through NVRTC or nvcc alike.

use serde::{Deserialize, Serialize};

/// What one kernel takes, as compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// The name in the object file (mangled).
    pub symbol: String,
    /// The name that was asked for, where it is known: `ns::kernel<float, 4>`.
    pub name: String,
    pub registers: u32,
    /// Bytes.
    pub spill_stores: u32,
    /// Bytes.
    pub spill_loads: u32,
    /// Static shared memory in bytes.
    pub shared: u32,
    /// Stack frame in bytes per thread.
    pub stack: u32,
    /// Constant memory in bytes, all banks.
    pub constant: u32,
    /// Named barriers.
    pub barriers: u32,
}

/// Reads the resources of every entry function from a compiler log, in order of their symbols.
pub fn resources(log: &str) -> Vec<KernelResources> {
    let mut out: Vec<KernelResources> = vec![];
    let mut current: Option<KernelResources> = None;
    for line in log.lines() {
        if let Some(rest) = after(line, "Compiling entry function '") {
            out.extend(current.take());
            let symbol = rest.split('\'').next().unwrap_or("").to_owned();
            current = Some(KernelResources { symbol, ..KernelResources::default() });
        } else if let Some(rest) = after(line, "Function properties for ") {
            // Properties of a called function follow those of its kernel; they are not the kernel's.
            if current.as_ref().is_some_and(|k| k.symbol != rest.trim()) {
                out.extend(current.take());
            }
        } else if let Some(kernel) = current.as_mut() {
            if line.contains("bytes stack frame") {
                kernel.stack = number_before(line, "bytes stack frame");
                kernel.spill_stores = number_before(line, "bytes spill stores");
                kernel.spill_loads = number_before(line, "bytes spill loads");
            } else if line.contains(" registers") {
                kernel.registers = number_before(line, "registers");
                kernel.barriers = number_before(line, "barriers");
                kernel.shared = number_before(line, "bytes smem");
                kernel.constant = line
                    .split(',')
                    .filter(|p| p.contains("bytes cmem["))
                    .map(|p| number_before(p, "bytes cmem["))
                    .sum();
            }
        }
    }
    out.extend(current);
    out.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    out
}

/// The log without the resource lines: what is left are messages.
pub fn messages_only(log: &str) -> String {
    let noise = |l: &&str| {
        !(l.starts_with("ptxas info") || l.trim_start().starts_with("ptxas         .") || l.starts_with("Remark:"))
    };
    log.lines().filter(noise).collect::<Vec<_>>().join("\n")
}

fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.find(key).and_then(|i| line.get(i + key.len()..))
}

/// The number directly before `unit`, 0 if there is none.
fn number_before(line: &str, unit: &str) -> u32 {
    let Some(at) = line.find(unit) else { return 0 };
    let before = line.get(..at).unwrap_or("").trim_end();
    let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |i| i + 1);
    before.get(digits..).and_then(|d| d.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_registers_spills_shared_and_constants() {
        let log = "ptxas info    : 24 bytes gmem, 48 bytes cmem[4]\n\
            ptxas info    : Compiling entry function '_Z1zPi' for 'sm_80'\n\
            ptxas info    : Function properties for _Z1zPi\n\
            ptxas         .     8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
            ptxas info    : Used 24 registers, used 1 barriers, 8 bytes cumulative stack size, 2048 bytes smem, 360 bytes cmem[0], 4 bytes cmem[2]\n\
            ptxas info    : Compile time = 2.328 ms\n\
            ptxas info    : Compiling entry function '_Z1a' for 'sm_80'\n\
            ptxas info    : Function properties for _Z1a\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers\n";
        let all = resources(log);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].symbol.as_str(), all[0].registers), ("_Z1a", 8));
        let z = &all[1];
        assert_eq!((z.registers, z.stack, z.spill_stores, z.spill_loads), (24, 8, 12, 16));
        assert_eq!((z.shared, z.constant, z.barriers), (2048, 364, 1));
    }

    #[test]
    fn other_text_gives_nothing() {
        assert!(resources("k.cu(1): error: x\nUsed registers\n").is_empty());
        assert!(resources("").is_empty());
        assert_eq!(number_before("99999999999999 registers", "registers"), 0);
    }
}
