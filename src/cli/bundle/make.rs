//! `kopt gate bundle`: compiles candidates with their original for a machine that has no compiler.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use kopt::bundle::{Bundle, BundleError, Case, Packing, pack};
use kopt::config::Config;
use kopt::diag::Diagnostic;
use kopt::gate::Built;
use kopt::source::Sources;
use serde_json::{Value, json};

use super::super::exit::{Exit, Failure};
use super::super::options::Global;
use super::super::printer::Printer;
use super::super::verify::{Asked, Pair, Running, Subject, prepare, renamed};
use super::super::{json as printed, session, write};
use super::refused;

#[derive(ClapArgs, Clone)]
pub struct Make {
    /// The file that is taken for right: CUDA, PTX or a CUBIN
    #[arg(value_name = "ORIGINAL")]
    original: PathBuf,
    /// Files that are to do the same
    #[arg(value_name = "CANDIDATE", required = true)]
    candidates: Vec<PathBuf>,
    /// Where the bundle goes
    #[arg(long, short, value_name = "FILE", default_value = "bundle.kopt.zip")]
    output: PathBuf,
    /// An architecture to compile for; may be given several times
    #[arg(long = "for", value_name = "sm_90a")]
    archs: Vec<String>,
    /// The kernel of the original, where it has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// The kernel of every candidate, where it has another name
    #[arg(long, value_name = "NAME")]
    candidate_kernel: Option<String>,
    /// The candidates' own launches, under the args and dims of the original's contract
    #[arg(long, value_name = "FILE")]
    candidate_contract: Option<PathBuf>,
    /// What of the candidate stands for what of the original, where names do not say it
    #[arg(long = "match", value_name = "CANDIDATE=ORIGINAL", value_parser = renamed)]
    given: Vec<(String, String)>,
    /// The contract, instead of the one beside the original
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// Take guesses of the contract for the user's word
    #[arg(long)]
    accept_proposed: bool,
    /// A folder of headers
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// A macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

/// A candidate that is not in the bundle.
struct Left {
    file: PathBuf,
    problems: Vec<Diagnostic>,
    sources: Sources,
}

pub fn run(args: &Make, global: &Global, printer: &mut Printer) -> Result<Exit, Failure> {
    let options = configured(&session::config(global)?.0);
    let mut bundle = Bundle::new();
    let mut left: Vec<Left> = vec![];
    for candidate in &args.candidates {
        match pairs(args, candidate, global) {
            Ok(pairs) => add(&mut bundle, &pairs, candidate, args, &options)?,
            Err(Failure::Said { problems, sources, .. }) => {
                left.push(Left { file: candidate.clone(), problems, sources });
            }
            Err(quiet) => return Err(quiet),
        }
    }
    for l in &left {
        printer.line(format!("left out   {}", l.file.display()))?;
        for d in &l.problems {
            printer.diagnostic(&l.sources, d)?;
        }
    }
    // Nothing to judge is no bundle, and says what is wrong with the last one.
    if bundle.manifest.cases.is_empty() {
        let last = left.pop().map(|l| (l.problems, l.sources)).unwrap_or_default();
        return Err(Failure::in_files(Exit::Verification, last.0, last.1));
    }
    let mut bytes = Cursor::new(vec![]);
    kopt::bundle::write(&bundle, &mut bytes).map_err(|e| refused(&args.output, &e))?;
    write::atomically(&args.output, bytes.get_ref())?;
    let size = bytes.get_ref().len();
    for case in &bundle.manifest.cases {
        printer.line(format!("packed     {}  {}", case.short_id(), case.name))?;
    }
    let archs: Vec<&str> = architectures(&bundle);
    let (count, archs) = (bundle.manifest.cases.len(), archs.join(", "));
    let cases = if count == 1 { "case" } else { "cases" };
    printer.line(format!(
        "bundle     {}: {count} {cases}, {} KB, built for {archs}",
        args.output.display(),
        size >> 10
    ))?;
    printer.line(format!("next       on the GPU machine: kopt gate run {}", args.output.display()))?;
    printer.json(&document(&bundle, &left, args))?;
    Ok(if left.is_empty() { Exit::Done } else { Exit::Findings })
}

/// The pair, built for each architecture.
fn pairs(args: &Make, candidate: &Path, global: &Global) -> Result<Vec<Pair>, Failure> {
    let asked = Asked {
        candidate,
        kernel: args.kernel.as_deref(),
        candidate_kernel: args.candidate_kernel.as_deref(),
        candidate_contract: args.candidate_contract.as_deref(),
        given: &args.given,
    };
    let running = |arch: Option<String>| Running {
        contract: args.contract.clone(),
        accept_proposed: args.accept_proposed,
        include: args.include.clone(),
        define: args.define.clone(),
        arch,
        ..Running::default()
    };
    let archs: Vec<Option<String>> =
        if args.archs.is_empty() { vec![None] } else { args.archs.iter().cloned().map(Some).collect() };
    let build = |arch| {
        let mut prepared = prepare(&args.original, &asked, &running(arch), global)?;
        let plan = prepared.plan();
        if plan.reference != kopt::contract::Reference::Original {
            let note = "the contract's reference is not in the bundle: outputs are compared with the original's";
            prepared.pair.matched.push(note.to_owned());
        }
        Ok(prepared.pair)
    };
    archs.into_iter().map(build).collect()
}

/// What the project's settings give the compiler.
pub(super) fn configured(config: &Config) -> Vec<String> {
    config.define.iter().map(|d| format!("-D{d}")).chain(config.nvcc_flags.iter().cloned()).collect()
}

/// The command that judges the same from the sources.
fn command(args: &Make, candidate: &Path) -> String {
    let mut out = format!("kopt verify {} {}", args.original.display(), candidate.display());
    let path = |p: &Option<PathBuf>| p.as_ref().map(|p: &PathBuf| p.display().to_string());
    let flags = [("--contract", path(&args.contract)), ("--candidate-contract", path(&args.candidate_contract))];
    for (flag, value) in flags {
        out.extend(value.map(|v| format!(" {flag} {v}")));
    }
    out.extend(args.include.iter().map(|i| format!(" -I {}", i.display())));
    out.extend(args.define.iter().map(|d| format!(" -D {d}")));
    out
}

fn add(bundle: &mut Bundle, pairs: &[Pair], candidate: &Path, args: &Make, options: &[String]) -> Result<(), Failure> {
    let Some(first) = pairs.first() else { return Ok(()) };
    let case = Case {
        id: String::new(),
        name: name(bundle, candidate),
        // Filled by packing.
        original: nothing(),
        candidate: nothing(),
        contract: first.contract.clone(),
        accepted: first.accepted.clone(),
        launches: first.launches.clone(),
        matched: first.matched.clone(),
        options: options.to_vec(),
        command: command(args, candidate),
    };
    let builds = |side: fn(&Pair) -> &Subject| -> Vec<Built> { pairs.iter().map(|p| side(p).built.clone()).collect() };
    let (ours, theirs) = (builds(|p| &p.original), builds(|p| &p.candidate));
    let packing = |builds, s| packing(builds, s);
    pack(bundle, case, &packing(&ours, &first.original), &packing(&theirs, &first.candidate))
        .map_err(|e: BundleError| refused(&args.output, &e))
}

fn packing<'a>(builds: &'a [Built], subject: &'a Subject) -> Packing<'a> {
    Packing { builds, sources: &subject.sources, input: &subject.input }
}

fn nothing() -> kopt::bundle::Side {
    kopt::bundle::Side {
        file: String::new(),
        kernels: vec![],
        hash: String::new(),
        plan: kopt::bundle::Blob::of(&[]),
        texts: vec![],
        builds: vec![],
    }
}

/// A name for the results: the file's, with a number where that is taken.
fn name(bundle: &Bundle, candidate: &Path) -> String {
    let stem = candidate.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let stem: String = stem.chars().map(plain).take(150).collect();
    let stem = if stem.is_empty() { "candidate".to_owned() } else { stem };
    let taken = |n: &str| bundle.manifest.cases.iter().any(|c| c.name == n);
    if !taken(&stem) {
        return stem;
    }
    (2..).map(|n| format!("{stem}-{n}")).find(|n| !taken(n)).unwrap_or(stem)
}

fn architectures(bundle: &Bundle) -> Vec<&str> {
    let sides = bundle.manifest.cases.iter().flat_map(|c| [&c.original, &c.candidate]);
    let mut found: Vec<&str> = sides.flat_map(|s| &s.builds).map(|b| b.arch.as_str()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn document(bundle: &Bundle, left: &[Left], args: &Make) -> Value {
    let cases: Vec<Value> = bundle
        .manifest
        .cases
        .iter()
        .map(|c| json!({ "name": c.name, "id": c.id, "file": c.candidate.file, "kernels": c.candidate.kernels }))
        .collect();
    let left: Vec<Value> = left
        .iter()
        .map(|l| {
            let problems: Vec<Value> = l.problems.iter().map(|d| printed::diagnostic(&l.sources, d)).collect();
            json!({ "file": l.file, "problems": problems })
        })
        .collect();
    json!({
        "schema": "kopt/gate-bundle/1", "bundle": args.output, "arch": architectures(bundle), "cases": cases, "left_out": left,
    })
}
