//! Throughput of the front: mask, parse and lower, facts and all skills, on the bundled kernels repeated to a file of a
//! given size. `cargo bench --bench front`; figures are kept in docs/measurements.md.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kopt::contract::Assumptions;
use kopt::ir::Program;
use kopt::skill::engine::survey::{Input, survey};
use kopt::source::mask::{MacroTable, mask};
use kopt::source::{FileId, SourceFile, Sources};
use kopt::syntax::cuda::parse_unit;

/// As in the program.
#[path = "../src/alloc.rs"]
mod alloc;

/// The demo's kernels under new names, until the text has `lines` lines.
fn text_of(lines: usize) -> String {
    let unit = include_str!("../src/cli/demo/attention_rows.cu");
    // A file of its own has every kernel once: with namesakes, each launch might be of each of them.
    let after = |part: &'static str| part.split('(').next().and_then(|head| head.split_whitespace().last());
    let names: Vec<&str> = unit.split("__global__").skip(1).filter_map(after).collect();
    let mut text = String::new();
    let mut n = 0;
    while text.lines().count() < lines {
        let renamed = names.iter().fold(unit.to_owned(), |t, name| t.replace(name, &format!("{name}_{n}")));
        text += &format!("{}\n", renamed.replace("int main", &format!("int run_all_{n}")));
        n += 1;
    }
    text
}

fn front(c: &mut Criterion) {
    alloc::serve_the_parser();
    let text = text_of(2000);
    let mut group = c.benchmark_group("2000-line file");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.sample_size(20);
    let known = MacroTable::default();
    group.bench_function("mask", |b| b.iter(|| mask(black_box(&text), &known).text.len()));
    let source = SourceFile::new("bench.cu", text.clone());
    group.bench_function("mask, parse, lower", |b| {
        b.iter(|| parse_unit(FileId(0), black_box(&source), &known).functions.len());
    });
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    let skills: Vec<_> = library.iter().map(|s| &s.skill).collect();
    group.bench_function("parse, facts, all skills", |b| {
        b.iter(|| {
            let mut sources = Sources::default();
            let file = sources.add(source.clone());
            let units = vec![parse_unit(file, sources.get(file), &known)];
            let program = Program { units, complete: false };
            let assumptions = Assumptions::default();
            let input = Input {
                program: &program,
                sources: &sources,
                skills: &skills,
                assumptions: &assumptions,
                platform: None,
            };
            survey(input).len()
        });
    });
    group.finish();
}

criterion_group!(benches, front);
criterion_main!(benches);
