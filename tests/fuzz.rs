//! Fuzz harnesses on stable Rust: mutated real inputs for mask + syntax, the skill parser, and edit application.
//!
//! `KOPT_FUZZ_SECONDS` sets how long each runs (one second by default), `KOPT_FUZZ_SEED` where it starts. A failing
//! input is printed with its seed, so that it can be repeated and turned into a test.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use kopt::edit::{Edit, EditSet};
use kopt::source::{FileId, SourceFile, Span};

/// A small, repeatable generator (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }
}

/// Words that make trouble in C++ and in skill files.
const SPICE: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<<<",
    ">>>",
    "<",
    ">",
    "\"",
    "\"\"\"",
    "'",
    "/*",
    "*/",
    "//",
    "\\\n",
    "\r\n",
    "\t",
    "#if 0\n",
    "#else\n",
    "#endif\n",
    "#define X(",
    "R\"(",
    "__global__",
    "__shared__",
    "template <",
    "typename",
    "for (",
    "if (",
    ";",
    "@",
    "$x",
    "=>",
    "..",
    "require {",
    "match",
    "because",
    "\u{feff}",
    "é",
    "\0",
    "0x",
    "1'0",
    "asm volatile(",
    "[&]",
    "__launch_bounds__(",
    "operator",
    "::",
    "->",
    "skill s \"t\" {",
    "guard",
    "in {",
    "0.5",
    "48KB",
];

fn mutate(random: &mut Random, seeds: &[String]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone().into_bytes();
    if random.below(4) == 0 {
        let other = &seeds[random.below(seeds.len())];
        let at = random.below(bytes.len() + 1);
        let from = random.below(other.len() + 1);
        bytes.splice(at..at, other.bytes().skip(from).take(400));
    }
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => {
                let end = (at + random.below(60)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + random.below(200)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let times = 1 + random.below(40);
                bytes.splice(at..at, copy.repeat(times).into_iter().take(20_000));
            }
            _ => {
                let word = SPICE[random.below(SPICE.len())];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes
}

/// Runs `check` on mutated seeds until the time is over; returns how many inputs it saw.
fn campaign(name: &str, seeds: &[String], check: impl Fn(&[u8])) {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (limit, start) = (Duration::from_secs(number("KOPT_FUZZ_SECONDS", 1)), Instant::now());
    let mut seed = number("KOPT_FUZZ_SEED", 0x9e37_79b9_7f4a_7c15);
    let mut slowest = Duration::ZERO;
    let mut runs = 0u64;
    while start.elapsed() < limit {
        let mut random = Random(seed | 1);
        let input = mutate(&mut random, seeds);
        let began = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| check(&input)));
        slowest = slowest.max(began.elapsed());
        let shown = String::from_utf8_lossy(&input);
        assert!(result.is_ok(), "{name}: seed {seed} panics on:\n{shown}");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{name}: seed {seed} takes {:?} on:\n{shown}",
            began.elapsed()
        );
        seed = random.next();
        runs += 1;
    }
    println!("{name}: {runs} inputs, slowest {slowest:?}");
    assert!(runs > 0);
}

fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = vec![];
    let mut pending = vec![std::path::PathBuf::from(folder)];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let mut inside: Vec<_> = std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect();
            inside.sort();
            pending.extend(inside);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    assert!(!found.is_empty(), "{folder} holds no .{extension}");
    found
}

fn kernels() -> Vec<String> {
    let mut seeds: Vec<String> =
        std::fs::read_to_string("tests/data/constructs.txt").unwrap().split("----").map(str::to_owned).collect();
    seeds.extend(files("src/cli/demo", "cu"));
    for skill in files("skills", "skill") {
        seeds.extend(skill.split("\"\"\"").skip(1).step_by(2).map(str::to_owned));
    }
    seeds
}

#[test]
fn syntax() {
    campaign("syntax", &kernels(), |bytes| {
        let source = SourceFile::new("fuzz.cu", bytes.to_vec());
        let known = kopt::source::mask::MacroTable::default();
        let unit = kopt::syntax::cuda::parse_unit(FileId(0), &source, &known);
        for f in &unit.functions {
            assert!(f.span.end as usize <= source.text.len());
        }
    });
}

#[test]
fn skill() {
    let seeds = files("skills", "skill");
    campaign("skill", &seeds, kopt::skill::fuzz_parse);
}

#[test]
fn edit() {
    campaign("edit", &kernels(), |bytes| {
        let source = SourceFile::new("fuzz.cu", bytes.to_vec());
        let mut random = Random(bytes.len() as u64 | 1);
        let edits: Vec<Edit> = (0..random.below(5))
            .map(|_| {
                let start = random.below(bytes.len() + 2);
                let end = start + random.below(9);
                Edit { span: Span::new(FileId(0), start, end), text: SPICE[random.below(SPICE.len())].into() }
            })
            .collect();
        let Ok(set) = EditSet::new(FileId(0), &source, edits) else { return };
        let new = set.apply(&source).expect("a set applies to its own revision");
        let grown: i64 = set.edits().iter().map(|e| e.text.len() as i64 - e.span.len() as i64).sum();
        assert_eq!(new.len() as i64, source.text.len() as i64 + grown);
        let forward = set.forwarding();
        for at in 0..source.text.len().min(300) {
            let span = Span::new(FileId(0), at, at + 1);
            if let (Ok(now), true) = (forward.forward(span), source.text.is_char_boundary(at)) {
                let (old, new) = (source.text.as_bytes()[at], new.as_bytes()[now.start as usize]);
                assert_eq!(old, new, "byte {at} moved to {}", now.start);
            }
        }
    });
}
