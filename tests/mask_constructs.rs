//! Every construct of `tests/data/constructs.txt` parses after masking, and the side tables say what was masked.
//!
//! The file holds cases separated by `----`: a title, the code, and lines `=> ..` with what is expected of the mask.
//! A case whose title ends in `(refused)` must instead keep its syntax error, so that nobody edits it.

use kopt::source::mask::{MacroTable, Masked, mask};

const CASES: &str = include_str!("data/constructs.txt");

struct Case<'t> {
    title: &'t str,
    code: &'t str,
    expected: Vec<&'t str>,
}

fn cases() -> Vec<Case<'static>> {
    CASES
        .split("\n----\n")
        .map(|text| {
            let (title, rest) = text.split_once('\n').expect("a title and code");
            let code_end = rest.find("\n=> ").map_or(rest.len(), |n| n + 1);
            let expected = rest[code_end..].lines().filter_map(|l| l.strip_prefix("=> ")).collect();
            Case { title, code: &rest[..code_end], expected }
        })
        .collect()
}

/// What the mask found, in the words of the data file.
fn describe(code: &str, masked: &Masked) -> Vec<String> {
    let mut lines = vec![];
    for k in &masked.kernels {
        lines.push(format!(
            "kernel {} {:?}{}{}",
            k.name,
            k.shape,
            if k.alias { " alias" } else { "" },
            if k.dropped { " dropped" } else { "" }
        ));
    }
    for a in &masked.attributes {
        let args: Vec<&str> = a.args.iter().map(|(text, _)| text.as_str()).collect();
        lines.push(format!("attribute {:?} ({}) {}", a.kind, args.join("; "), a.expansion).trim_end().to_owned());
    }
    lines.extend(
        masked.replaced.iter().map(|r| format!("replaced {:?} `{}`", r.what, one_line(&code[r.range.clone()]))),
    );
    lines.extend(masked.dropped.iter().map(|r| format!("dropped `{}`", one_line(code[r.clone()].trim()))));
    lines.extend(masked.suspicions.iter().map(|r| format!("suspicion `{}`", one_line(&code[r.clone()]))));
    lines.extend(masked.problems.iter().map(|p| format!("problem {}", p.code)));
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has_error(text: &str) -> bool {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_cuda::LANGUAGE.into()).expect("the grammar fits the library");
    parser.parse(text, None).expect("a tree").root_node().has_error()
}

#[test]
fn every_construct_parses_or_is_refused() {
    let mut failed = vec![];
    for case in cases() {
        let masked = mask(case.code, &MacroTable::default());
        if has_error(&masked.text) != case.title.ends_with("(refused)") {
            failed.push(format!("{}\n{}", case.title, masked.text));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn the_side_tables_say_what_was_masked() {
    let mut failed = vec![];
    for case in cases() {
        let found = describe(case.code, &mask(case.code, &MacroTable::default()));
        if found != case.expected {
            let found: Vec<String> = found.iter().map(|l| format!("=> {l}")).collect();
            failed.push(format!("{}\n{}{}", case.title, case.code, found.join("\n")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n----\n"));
}

#[test]
fn offsets_stay_and_a_second_mask_finds_nothing_to_do() {
    for case in cases() {
        let masked = mask(case.code, &MacroTable::default());
        assert_eq!(masked.text.len(), case.code.len(), "{}", case.title);
        let newlines = |t: &str| t.match_indices('\n').map(|(i, _)| i).collect::<Vec<_>>();
        assert_eq!(newlines(&masked.text), newlines(case.code), "{}", case.title);
        assert_eq!(mask(&masked.text, &MacroTable::default()).text, masked.text, "{}", case.title);
    }
}
