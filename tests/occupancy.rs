//! The occupancy formula against NVIDIA's own `cuda_occupancy.h`, where the header and a C compiler are there.

use std::fmt::Write as _;
use std::process::Command;

use kopt::compile::Toolchain;
use kopt::compile::occupancy::{TABLE, occupancy};

const THREADS: &[u32] = &[32, 64, 96, 128, 160, 192, 256, 288, 384, 512, 640, 768, 1024];
const REGISTERS: &[u32] = &[16, 24, 31, 32, 33, 40, 48, 56, 64, 72, 80, 96, 128, 168, 200, 255];
const SHARED: &[u32] = &[0, 1, 1000, 2048, 8192, 16_384, 33_000, 49_152];

/// A program that prints the blocks per multiprocessor for every point, one per line.
fn program() -> String {
    let list = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut devices = String::new();
    for l in TABLE {
        let _ = writeln!(
            devices,
            "{{{}, {}, 1024, {}, 65536, 65536, 32, 49152, {}, 1, {}, {}}},",
            l.sm / 10,
            l.sm % 10,
            l.threads_per_sm,
            l.shared_per_sm,
            l.shared_per_block_optin,
            l.shared_reserved
        );
    }
    format!(
        r#"#include <string.h>
#include <stdio.h>
#include "cuda_occupancy.h"
static const int threads[] = {{{}}}, registers[] = {{{}}}, shared[] = {{{}}};
static const long devices[][12] = {{ {devices} }};
#define COUNT(a) (sizeof(a) / sizeof(a[0]))
int main(void) {{
  for (size_t d = 0; d < COUNT(devices); d++) for (size_t t = 0; t < COUNT(threads); t++)
  for (size_t r = 0; r < COUNT(registers); r++) for (size_t s = 0; s < COUNT(shared); s++) {{
    const long* v = devices[d];
    cudaOccDeviceProp p; cudaOccFuncAttributes a; cudaOccDeviceState state; cudaOccResult result;
    memset(&p, 0, sizeof p); memset(&a, 0, sizeof a); memset(&state, 0, sizeof state);
    p.computeMajor = v[0]; p.computeMinor = v[1]; p.maxThreadsPerBlock = v[2]; p.maxThreadsPerMultiprocessor = v[3];
    p.regsPerBlock = v[4]; p.regsPerMultiprocessor = v[5]; p.warpSize = v[6]; p.sharedMemPerBlock = v[7];
    p.sharedMemPerMultiprocessor = v[8]; p.numSms = v[9]; p.sharedMemPerBlockOptin = v[10];
    p.reservedSharedMemPerBlock = v[11];
    a.maxThreadsPerBlock = 1024; a.numRegs = registers[r]; a.sharedSizeBytes = shared[s];
    a.partitionedGCConfig = PARTITIONED_GC_OFF; a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    a.maxDynamicSharedSizeBytes = v[10];
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &p, &a, &state, threads[t], 0);
    printf("%d\n", error ? -error : result.activeBlocksPerMultiprocessor);
  }}
  return 0;
}}
"#,
        list(THREADS),
        list(REGISTERS),
        list(SHARED)
    )
}

#[test]
fn the_formula_is_that_of_the_vendors_header() {
    let toolchain = Toolchain::find();
    let header = toolchain.includes.iter().find(|p| p.join("cuda_occupancy.h").is_file());
    let compiler = Command::new("cc").arg("--version").output().is_ok_and(|o| o.status.success());
    let (Some(include), true) = (header, compiler) else {
        assert!(std::env::var_os("KOPT_REQUIRE_TIER1").is_none(), "cuda_occupancy.h or cc is missing");
        println!("occupancy against cuda_occupancy.h: not run (needs cc and the CUDA headers; kopt toolchain install)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("occ.c"), folder.path().join("occ"));
    std::fs::write(&source, program()).unwrap();
    let built = Command::new("cc").arg("-I").arg(include).arg(&source).arg("-o").arg(&binary).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let printed = Command::new(&binary).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let mut lines = printed.lines();
    let (mut points, mut wrong) = (0, vec![]);
    for l in TABLE {
        for &threads in THREADS {
            for &registers in REGISTERS {
                for &shared in SHARED {
                    let theirs: i32 = lines.next().unwrap().parse().unwrap();
                    assert!(theirs >= 0, "cuda_occupancy.h gives error {theirs} for sm_{}", l.sm);
                    let ours = occupancy(l, threads, registers, shared).map_or(0, |o| o.blocks) as i32;
                    points += 1;
                    if ours != theirs {
                        wrong.push((l.sm, threads, registers, shared, ours, theirs));
                    }
                }
            }
        }
    }
    println!("occupancy: {points} points compared with cuda_occupancy.h");
    assert!(
        wrong.is_empty(),
        "{} of {points} differ (sm, threads, registers, shared, ours, theirs): {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(12)]
    );
}
