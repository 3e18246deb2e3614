//! The interpreter: a tiled matrix product and a vector addition, plain and with checks and counters, on one thread and
//! two; parsing and decoding of small kernels. `cargo bench --bench ptx`; without a compiler there is nothing to
//! measure. Figures are kept in docs/measurements.md.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kopt::compile::{Cache, CompileGate, CompileRequest, NoHeaders, Target, Toolchain, slice};
use kopt::ptx::{Arguments, Launch, Memory, Options, Program, parse, run};

/// As the program has it: what a run allocates and frees is a part of its time.
#[path = "../src/alloc.rs"]
mod alloc;

const SGEMM: &str = include_str!("../tests/data/ptx/kernels/sgemm.cu");
const VECTOR_ADD: &str = include_str!("../tests/data/ptx/kernels/vector_add.cu");
const SOFTMAX: &str = include_str!("../tests/data/ptx/kernels/softmax.cu");
const BLOCK_SUM: &str = include_str!("../tests/data/ptx/kernels/block_sum.cu");

/// PTX for sm_80; None without NVRTC.
fn compile(text: &str, kernel: &str) -> Option<String> {
    let found = Toolchain::find();
    found.nvrtc.as_ref()?;
    let gate = CompileGate::new(found, Cache::none());
    let cut = slice("kernel.cu", text, &Target::Name(kernel), &NoHeaders).expect("the kernel needs nothing");
    let request = CompileRequest { slice: &cut, names: vec![], arch: "sm_80", options: &[] };
    Some(gate.compile(&request).expect("the kernel compiles").ptx.to_string())
}

/// Buffers of f32: the last is the output.
fn memory(counts: &[usize]) -> (Memory, Vec<u64>) {
    let mut memory = Memory::new();
    let mut addresses = vec![];
    for (n, count) in counts.iter().enumerate() {
        let id = memory.allocate(&format!("buffer {n}"), 4 * *count as u64).expect("room");
        if n + 1 < counts.len() {
            let data: Vec<u8> = (0..*count).flat_map(|i| ((i % 13) as f32).to_le_bytes()).collect();
            memory.write(id, 0, &data).expect("inside");
        }
        addresses.push(memory.address(id).expect("there"));
    }
    (memory, addresses)
}

fn launch(grid: [u32; 3], block: [u32; 3], addresses: &[u64], n: i32) -> Launch {
    let arguments = addresses.iter().fold(Arguments::new(), |list, address| list.u64(*address));
    Launch { grid, block, dynamic_shared: 0, params: arguments.i32(n).bytes() }
}

/// One kernel in all modes; a fresh memory for each run, made outside of the measurement.
fn kernel(c: &mut Criterion, name: &str, ptx: &str, grid: [u32; 3], block: [u32; 3], counts: &[usize], n: i32) {
    let program = Program::decode(&parse(ptx).expect("PTX"), name).expect("a program");
    let steps = {
        let (mut memory, addresses) = memory(counts);
        let launch = launch(grid, block, &addresses, n);
        run(&program, &launch, &mut memory, &Options::default()).expect("it runs").steps
    };
    let mut group = c.benchmark_group(format!("{name}, {steps} warp instructions"));
    group.throughput(Throughput::Elements(steps)).sample_size(20);
    for (checked, threads) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let options = Options { checks: checked, counters: checked, threads, ..Options::default() };
        let id = BenchmarkId::new(if checked { "checked" } else { "plain" }, format!("{threads} thread(s)"));
        group.bench_function(id, |b| {
            b.iter_batched(
                || memory(counts),
                |(mut memory, addresses)| {
                    let launch = launch(grid, block, &addresses, n);
                    run(&program, &launch, &mut memory, &options).expect("it runs");
                    memory
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn interpreter(c: &mut Criterion) {
    alloc::serve_the_parser();
    let compiled = [SGEMM, VECTOR_ADD, SOFTMAX, BLOCK_SUM]
        .into_iter()
        .zip(["sgemm", "vector_add", "softmax", "block_sum"])
        .map(|(text, name)| compile(text, name).map(|ptx| (name, ptx)))
        .collect::<Option<Vec<_>>>();
    let Some(compiled) = compiled else {
        println!("not run: no NVRTC was found (kopt toolchain install)");
        return;
    };
    kernel(c, "sgemm", &compiled[0].1, [16, 16, 1], [16, 16, 1], &[1 << 16; 3], 256);
    kernel(c, "vector_add", &compiled[1].1, [4096, 1, 1], [256, 1, 1], &[1 << 20; 3], 1 << 20);
    let mut group = c.benchmark_group("parse and decode");
    for (name, ptx) in &compiled {
        group.bench_function(*name, |b| {
            b.iter(|| Program::decode(&parse(black_box(ptx)).expect("PTX"), name).expect("a program"));
        });
        let module = parse(ptx).expect("PTX");
        group.bench_function(format!("{name}, decode alone"), |b| {
            b.iter(|| Program::decode(black_box(&module), name).expect("a program"));
        });
    }
    group.finish();
}

criterion_group!(benches, interpreter);
criterion_main!(benches);
