//! Fuzz harnesses on stable Rust: mutated real inputs for mask + syntax, the skill parser, edit application, and the PTX
//! interpreter.
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
    campaign_with(name, seeds, mutate, check);
}

fn campaign_with(
    name: &str,
    seeds: &[String],
    mutate: impl Fn(&mut Random, &[String]) -> Vec<u8>,
    check: impl Fn(&[u8]),
) {
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

/// What makes trouble in PTX.
const PTX_SPICE: &[&str] = &[
    "0",
    "-1",
    "1",
    "31",
    "32",
    "4294967295",
    "0x7fffffffffffffff",
    "-2147483648",
    "0f7fc00000",
    "0d7ff0000000000000",
    "%tid.x",
    "%ctaid.x",
    "%clock64",
    "%laneid",
    "@%p1",
    "@!%p1",
    "%r0",
    "%d1",
    "%f1",
    "%p1",
    "_",
    "{%r1, %r2}",
    "[%d4]",
    "[%r7+4]",
    "bar.sync 0;",
    "bar.sync 1, 32;",
    "bar.arrive 1, 64;",
    "bar.warp.sync 3;",
    "ret;",
    "exit;",
    "trap;",
    "bra LOOP;",
    "membar.gl;",
    ".v2",
    ".v4",
    ".u8",
    ".f64",
    ".volatile",
    ".shared",
    ".global",
    ".local",
    ".param",
    ".const",
    ".pred",
    ".reg .b32 %z<9>;",
    "{",
    "}",
    ";",
    ",",
];

/// Words of PTX replaced by others, statements moved, and bytes changed, so that much of it still decodes and runs.
fn mutate_ptx(random: &mut Random, seeds: &[String]) -> Vec<u8> {
    let text = &seeds[random.below(seeds.len())];
    if random.below(8) == 0 {
        return mutate(random, seeds);
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "%_.$".contains(c);
    for _ in 0..=random.below(5) {
        let at = random.below(lines.len());
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines[random.below(lines.len())].clone();
                lines.insert(at, line);
            }
            2 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            kind => {
                let words: Vec<(usize, usize)> = {
                    let line = &lines[at];
                    let starts = line.char_indices().filter(|(n, c)| is_word(*c) && !line[..*n].ends_with(is_word));
                    starts.map(|(n, _)| (n, n + line[n..].chars().take_while(|c| is_word(*c)).count())).collect()
                };
                let Some(&(from, to)) = words.get(random.below(words.len())) else { continue };
                let donor = &lines[random.below(lines.len())];
                let from_text: Vec<&str> = donor.split(|c| !is_word(c)).filter(|w| !w.is_empty()).collect();
                let new = if kind == 3 || from_text.is_empty() {
                    PTX_SPICE[random.below(PTX_SPICE.len())].to_owned()
                } else {
                    from_text[random.below(from_text.len())].to_owned()
                };
                lines[at].replace_range(from..to, &new);
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n").into_bytes()
}

/// Whatever the text, it is refused, or runs to its end or a limit, and the same for any number of threads.
#[test]
fn ptx() {
    use kopt::ptx::{Launch, Limits, Memory, Mode, Options, Program, parse};
    let seeds = files("tests/data/ptx/fuzz", "ptx");
    campaign_with("ptx", &seeds, mutate_ptx, |bytes| {
        let Ok(module) = parse(&String::from_utf8_lossy(bytes)) else { return };
        let kernels: Vec<String> = module.kernels().map(str::to_owned).collect();
        for kernel in kernels {
            let Ok(program) = Program::decode(&module, &kernel) else { continue };
            if program.param_bytes > 4096 {
                continue;
            }
            let random = bytes.len() as u64;
            let once = |threads: u32| {
                let mut memory = Memory::with_limit(1 << 20);
                let buffer = memory.allocate("buffer", 4096).expect("room");
                memory.write(buffer, 0, &[1; 2048]).expect("inside");
                let address = memory.address(buffer).expect("there").to_le_bytes();
                let params = (0..program.param_bytes as usize).map(|n| address[n % 8]).collect();
                let launch = Launch { grid: [3, 1, 1], block: [64, 1, 1], dynamic_shared: 1024, params };
                let limits = Limits {
                    block_steps: 4000,
                    steps: 12_000,
                    print_bytes: 1000,
                    stack_bytes: 4096,
                    shared_bytes: 48 << 10,
                    state_bytes: 16 << 20,
                };
                let mode = [Mode::Exact, Mode::Exact, Mode::Float64, Mode::Lower][(random % 4) as usize];
                let checks = !random.is_multiple_of(3);
                let options = Options { mode, checks, counters: checks, threads, limits, order: random % 5 };
                let outcome = kopt::ptx::run(&program, &launch, &mut memory, &options);
                (outcome, memory.read(buffer, 0, 4096).expect("there"))
            };
            let (one, two) = (once(1), once(2));
            assert_eq!(one.0, two.0, "`{kernel}`: another outcome on two threads");
            assert!(one.1 == two.1, "`{kernel}`: other results on two threads");
        }
    });
}
