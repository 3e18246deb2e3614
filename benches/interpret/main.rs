//! The interpreter on folders of sources: `cargo bench --bench interpret -- [OPTIONS] DIR..`
//!
//! Per folder: kernels that the slice compiles; how many of them parse and decode; how many have a contract that is
//! inferred without questions, and of these how many run, with all checks, on the first cell; for the others why not.
//!
//! | option | |
//! |---|---|
//! | `--arch sm_80` | the architecture that is compiled for |
//! | `--steps N` | warp instructions that one run may take |
//! | `--shard I/N` | the I-th of N parts of the folders, counted from 0; all parts together are the whole |
//! | `--minutes N` | kernels that no part of this time is left for are counted as not looked at |
//! | `--out FILE` | one line of JSON for each kernel, added to the file; what stands there already is not done again |
//! | `--table FILE..` | the table of such files instead of a run |
//! | `--findings` | every finding with its place: on a kernel that is known to be right it is a false alarm |
//! | `--questions` | every question of a contract |
//!
//! Figures are kept in docs/measurements.md.

mod record;
mod repository;
mod running;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kopt::compile::{Cache, CompileGate, Toolchain, Worker, toolchain, worker};
use rayon::prelude::*;
use record::{Record, read, table};
use repository::Repository;

struct Options {
    arch: String,
    steps: u64,
    shard: (usize, usize),
    minutes: Option<u64>,
    out: Option<PathBuf>,
    findings: bool,
    questions: bool,
    table: bool,
    paths: Vec<PathBuf>,
}

fn options() -> Option<Options> {
    let mut o = Options {
        arch: "sm_80".to_owned(),
        steps: 1 << 26,
        shard: (0, 1),
        minutes: None,
        out: None,
        findings: false,
        questions: false,
        table: false,
        paths: vec![],
    };
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--findings" => o.findings = true,
            "--questions" => o.questions = true,
            "--table" => o.table = true,
            "--arch" => o.arch = args.next()?,
            "--steps" => o.steps = args.next()?.parse().ok()?,
            "--minutes" => o.minutes = Some(args.next()?.parse().ok()?),
            "--out" => o.out = Some(args.next()?.into()),
            "--shard" => {
                let text = args.next()?;
                let (i, n) = text.split_once('/')?;
                o.shard = (i.parse().ok()?, n.parse().ok()?);
            }
            _ if arg.starts_with("--") => return None,
            _ => o.paths.push(arg.into()),
        }
    }
    (o.shard.0 < o.shard.1).then_some(o)
}

fn main() {
    if std::env::args().any(|a| a == "--worker") {
        let served = worker::serve(std::io::stdin().lock(), std::io::stdout().lock());
        std::process::exit(i32::from(served.is_err()));
    }
    let Some(options) = options() else {
        println!(
            "usage: [--arch A] [--steps N] [--shard I/N] [--minutes N] [--out FILE] [--findings] [--questions] DIR.."
        );
        std::process::exit(2);
    };
    let records = if options.table { options.paths.iter().flat_map(|p| read(p)).collect() } else { measure(&options) };
    table(&records, options.findings, options.questions);
}

/// The records of the folders that the options name.
fn measure(options: &Options) -> Vec<Record> {
    let found = Toolchain::find();
    if found.nvrtc.is_none() {
        println!("not run: no NVRTC was found (kopt toolchain install)");
        return vec![];
    }
    let me = std::env::current_exe().expect("this program");
    let cache = toolchain::cache_folder().map_or_else(Cache::none, |folder| Cache::in_folder(&folder));
    let gate =
        CompileGate::new(found, cache).with_worker(Worker::new(me, vec!["--worker".into()], Duration::from_secs(60)));
    // A syntax tree can be as deep as its file is long.
    let pool = rayon::ThreadPoolBuilder::new().stack_size(16 << 20).build().expect("threads");
    let until = options.minutes.map(|m| Instant::now() + Duration::from_secs(60 * m));
    let mut all: Vec<Record> = options.out.iter().flat_map(|p| read(p)).collect();
    let done: BTreeSet<_> = all.iter().map(Record::key).collect();
    let out = options.out.as_ref().map(|path| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("the file of --out");
        Mutex::new(file)
    });
    for dir in &options.paths {
        let records = pool.install(|| {
            let repository = Repository::read(dir, &gate, &options.arch);
            let groups: Vec<_> = repository.groups().into_iter().enumerate().collect();
            let own = groups.into_par_iter().filter(|(i, _)| i % options.shard.1 == options.shard.0);
            let found = own.flat_map(|(_, (files, kernels))| {
                running::group(
                    &repository,
                    &files,
                    &kernels,
                    options.steps,
                    until,
                    &|r| !done.contains(&r.key()),
                    &|r| {
                        if let Some(out) = &out {
                            let line = serde_json::to_string(r).unwrap_or_default();
                            let mut file = out.lock().unwrap_or_else(|e| e.into_inner());
                            let _ = writeln!(file, "{line}");
                        }
                    },
                )
            });
            found.collect::<Vec<Record>>()
        });
        all.extend(records);
    }
    all.sort_by_key(Record::key);
    all
}
