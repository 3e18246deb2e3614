//! Kernels written to break the skills. Each case of `tests/data/hostile/*.cu` begins with a line such as
//! `// pad_shared: refuses because full_subscripts` or `// shuffle_reduce: rewrites`; lines `// assume: ..` are its contract.
//! `// without: text` and `// with: text` say what the rewritten text must not hold, or must.

mod common;

use kopt::ir::Program;
use kopt::skill::ast::{Platform, Skill};
use kopt::skill::engine::rewrite::Stop;
use kopt::skill::engine::{Outcome, Request, run};
use kopt::source::FileId;

struct Hostile {
    file: String,
    skill: String,
    expected: String,
    text: String,
}

fn cases() -> Vec<Hostile> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hostile");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the cases").map(|f| f.expect("a file").path()).collect();
    files.sort();
    let mut found: Vec<Hostile> = vec![];
    for path in files {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for line in std::fs::read_to_string(&path).expect("UTF-8").split_inclusive('\n') {
            let head = line.strip_prefix("// ").and_then(|l| l.split_once(": "));
            match head.filter(|(skill, _)| skill.contains('_') && !skill.contains(' ')) {
                Some((skill, expected)) => found.push(Hostile {
                    file: file.clone(),
                    skill: skill.to_owned(),
                    expected: expected.trim().to_owned(),
                    text: line.to_owned(),
                }),
                None => found.last_mut().expect("a case starts the file").text.push_str(line),
            }
        }
    }
    found
}

fn noted<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines()
        .filter_map(|l| l.strip_prefix("// ")?.strip_prefix(word)?.strip_prefix(": "))
        .map(|w| w.trim().trim_matches('"'))
        .collect()
}

fn apply(skill: &Skill, case: &common::Case) -> Result<Outcome, String> {
    let passes = common::passes();
    let request = Request {
        skills: &[skill],
        assumptions: &case.assumptions,
        platform: Platform::parse("sm_80"),
        passes: &passes,
        at: vec![],
        files: vec![FileId(0)],
        even_if_not_paying: true,
        parse: &common::parse,
    };
    run::apply(&case.program, &case.sources, &request).map_err(|e| format!("no end: {:?}", e.cycle))
}

/// What is wrong with the outcome of a case, if anything.
fn judge(h: &Hostile, skill: &Skill) -> Result<(), String> {
    let assumed: Vec<String> = noted(&h.text, "assume").iter().map(|a| format!("{a:?}")).collect();
    let contract = format!("assume = [{}]", assumed.join(", "));
    let case = common::case_of(&h.text, Some(&contract));
    let outcome = apply(skill, &case)?;
    if let Some(r) = outcome.rolled_back.first() {
        let word = match r.reason {
            run::Rejection::Stop(Stop::NoGuard(_)) => "no_guard",
            run::Rejection::Stop(Stop::Broken(_)) => "broken",
            run::Rejection::Stop(Stop::Flawed { .. }) => "flawed",
            run::Rejection::FeatureMissing(_) => "features",
            _ => "other",
        };
        if h.expected == format!("refuses because {word}") && outcome.changes.is_empty() {
            return Ok(());
        }
        return Err(format!("taken back: {:?}", r.reason));
    }
    let text = outcome.sources.get(FileId(0)).text.to_string();
    let Some(reason) = h.expected.strip_prefix("refuses because ") else {
        assert_eq!(h.expected, "rewrites", "an expectation is `rewrites` or `refuses because ..`");
        if outcome.changes.is_empty() {
            return Err(format!("refused: {:?}", common::reasons(skill, &outcome.findings)));
        }
        let missing = noted(&h.text, "with").into_iter().find(|w| text.matches(w).count() < 2);
        if let Some(word) = missing {
            return Err(format!("`{word}` is missing in\n{text}"));
        }
        if let Some(word) = noted(&h.text, "without").into_iter().find(|w| text.matches(w).count() > 1) {
            return Err(format!("`{word}` occurs in\n{text}"));
        }
        let again = apply(skill, &common::case_of(&text, Some(&contract)))?;
        return if again.changes.is_empty() { Ok(()) } else { Err(format!("a second run changes\n{text}")) };
    };
    if !outcome.changes.is_empty() {
        return Err(format!("rewritten as\n{text}"));
    }
    assert_eq!(text, h.text, "a refusal leaves the bytes alone");
    let said = common::reasons(skill, &outcome.findings);
    if said.iter().any(|s| s == reason) { Ok(()) } else { Err(format!("refused because {said:?}")) }
}

#[test]
fn hostile_kernels_are_refused_or_rewritten_as_their_headers_say() {
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    let mut wrong = vec![];
    for h in cases() {
        let skill = library.iter().map(|s| &s.skill).find(|s| s.name.node == h.skill).expect("the case names a skill");
        if let Err(why) = judge(&h, skill) {
            let title = h.text.lines().nth(1).unwrap_or_default();
            wrong.push(format!("{} {title}\n  expected: {} {}\n  {why}", h.file, h.skill, h.expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn hostile_kernels_keep_their_line_ends() {
    let library = kopt::skill::Library::built_in().expect("the built-in skills load");
    // A line continuation with CR LF is not understood inside a string: such a case is refused.
    for h in cases().iter().filter(|h| h.expected == "rewrites" && !h.text.contains("\"one\\\n")) {
        let skill = library.iter().map(|s| &s.skill).find(|s| s.name.node == h.skill).expect("the case names a skill");
        let assumed: Vec<String> = noted(&h.text, "assume").iter().map(|a| format!("{a:?}")).collect();
        let contract = format!("assume = [{}]", assumed.join(", "));
        let lf = apply(skill, &common::case_of(&h.text, Some(&contract))).expect("an end");
        let crlf = apply(skill, &common::case_of(&h.text.replace('\n', "\r\n"), Some(&contract))).expect("an end");
        let text = |o: &Outcome| o.sources.get(FileId(0)).text.to_string();
        assert_eq!(text(&lf).replace('\n', "\r\n"), text(&crlf), "{}", h.text);
    }
}

#[test]
fn every_kernel_of_the_cases_is_modelled() {
    for h in cases() {
        let case = common::case_of(&h.text, None);
        let Program { units, .. } = &case.program;
        assert!(units.iter().any(|u| u.kernels().next().is_some()) || !h.text.contains("__global__"), "{}", h.text);
    }
}

#[test]
fn nesting_costs_no_more_than_its_length() {
    let started = std::time::Instant::now();
    for (open, close) in [("#if 1\n", "\n#endif"), ("namespace a {", "}"), ("{", "}"), ("extern \"C\" {", "}")] {
        for n in [500, 15_000] {
            let kernel = "__global__ void k(float* x, int n) { x[0] = 1; }";
            let case = common::case_of(&format!("{}{kernel}{}", open.repeat(n), close.repeat(n)), None);
            let unit = &case.program.units[0];
            assert!(unit.kernels().count() == 1 || !unit.problems.is_empty(), "the kernel is lost in silence");
        }
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
