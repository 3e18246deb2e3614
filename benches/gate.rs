//! The compile gate on a small kernel: compiled afresh, and found in the cache. `cargo bench --bench gate`; without a
//! compiler there is nothing to measure. Figures are kept in docs/measurements.md.

use std::cell::Cell;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use kopt::compile::{Cache, CompileGate, CompileRequest, NoHeaders, Sliced, Target, Toolchain, slice};

const KERNEL: &str = "__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
";

fn cut(text: &str) -> Sliced {
    slice("scale.cu", text, &Target::Name("scale"), &NoHeaders).expect("a kernel that needs nothing")
}

fn gate(c: &mut Criterion) {
    let found = Toolchain::find();
    if found.nvrtc.is_none() {
        println!("not run: no NVRTC was found (kopt toolchain install)");
        return;
    }
    let compile = |gate: &CompileGate, sliced: &Sliced| {
        let request = CompileRequest { slice: sliced, names: vec![], arch: "sm_80", options: &[] };
        gate.compile(&request).expect("the kernel compiles").kernels.len()
    };
    let mut group = c.benchmark_group("compile gate, small kernel");
    group.sample_size(20);
    let fresh = CompileGate::new(found.clone(), Cache::none());
    let turn = Cell::new(0u32);
    group.bench_function("compiled", |b| {
        b.iter(|| {
            // A new text every time, so that nothing inside the compiler can remember it.
            turn.set(turn.get() + 1);
            compile(&fresh, black_box(&cut(&KERNEL.replace("2.0f", &format!("{}.0f", turn.get())))))
        });
    });
    let folder = tempfile::tempdir().expect("a folder for the cache");
    let cached = CompileGate::new(found, Cache::in_folder(folder.path()));
    let sliced = cut(KERNEL);
    compile(&cached, &sliced);
    group.bench_function("cached", |b| b.iter(|| compile(&cached, black_box(&sliced))));
    group.finish();
}

criterion_group!(benches, gate);
criterion_main!(benches);
