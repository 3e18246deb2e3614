//! Whatever the input, reading it ends, does not panic, and points into the text.

use proptest::prelude::*;

use super::mistakes::GOOD;
use super::{FILE, problems};
use crate::skill::{Library, fuzz_parse, parse, print};

/// Pieces of which token soup is made.
const PIECES: &[&str] = &[
    "skill",
    "x_y",
    "{",
    "}",
    "(",
    ")",
    "\"t\"",
    "\"\"\"b\"\"\"",
    "match",
    "let",
    "require",
    "pays",
    "when",
    "layout",
    "none",
    "because",
    "guard",
    "tail",
    "k",
    ":",
    "loop",
    "==",
    "=",
    "=>",
    "..",
    "sm_70",
    "1",
    "48KB",
    "0.5",
    "in",
    "and",
    "or",
    "not",
    "-",
    "+",
    "@",
    "?",
    ",",
    ";",
    "example",
    "refuse",
    "before",
    "body",
    "cuda",
    "template",
    "features",
    "requires",
    "all",
    "rows",
    "tune",
    "touches",
    "scope",
    "case",
    "\n",
    "\n  ",
    "\"",
    "\"\"\"",
    "#",
    "é",
    "$x",
    "true",
    "where",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn token_soup(picks in prop::collection::vec(0..PIECES.len(), 0..120), inside in any::<bool>()) {
        let soup: Vec<&str> = picks.iter().filter_map(|i| PIECES.get(*i).copied()).collect();
        let soup = soup.join(" ");
        let text = if inside { format!("skill x_y \"t\" {{ require {{ layout {{ {soup} }} }} }}") } else { soup };
        fuzz_parse(text.as_bytes());
        for p in problems(&text) {
            prop_assert!(p.primary().is_some_and(|s| s.start <= s.end && s.end as usize <= text.len()));
        }
    }

    #[test]
    fn damaged_files(which in 0usize..5, cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0..PIECES.len()), 1..5)) {
        let library = Library::built_in().unwrap();
        let mut text: String = library.iter().nth(which).map_or(GOOD.to_owned(), |s| library.sources.get(s.file).text.to_string());
        for (place, length, piece) in cuts {
            let floor = |mut i: usize| { while !text.is_char_boundary(i) { i -= 1; } i };
            let start = floor(place.index(text.len() + 1));
            let end = floor((start + length).min(text.len()));
            text.replace_range(start..end, PIECES[piece]);
        }
        fuzz_parse(text.as_bytes());
        let parsed = parse(FILE, &text);
        if let Some(skill) = parsed.skill.as_ref().filter(|_| parsed.problems.is_empty()) {
            let printed = print::print(skill);
            let again = parse(FILE, &printed);
            prop_assert!(again.problems.is_empty(), "{printed}");
            prop_assert_eq!(print::print(&again.skill.unwrap()), printed);
        }
    }

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz_parse(&bytes);
    }
}

#[test]
fn cut_off_anywhere() {
    for end in (0..GOOD.len()).filter(|i| GOOD.is_char_boundary(*i)) {
        let text = &GOOD[..end];
        let found = problems(text);
        assert!(end >= GOOD.trim_end().len() || !found.is_empty(), "nothing is said of {text}");
    }
}

#[test]
fn deep_and_long_inputs() {
    let long = 20_000;
    for inner in [
        "(".repeat(long),
        "f(".repeat(long),
        "{".repeat(long),
        "}".repeat(long),
        ")".repeat(long),
        "not ".repeat(long),
        "- ".repeat(long),
        "1 + ".repeat(long),
        format!("{}1", "1 + ".repeat(long)),
        "a and ".repeat(long),
        "x in {".repeat(long),
        "a b ".repeat(long),
        "a: ".repeat(long),
        "\"\" ".repeat(long),
        "==;".repeat(long),
        "storage none ".repeat(long / 8),
    ] {
        fuzz_parse(inner.as_bytes());
        fuzz_parse(format!("skill x_y \"t\" {{ {inner} }}").as_bytes());
        fuzz_parse(format!("skill x_y \"t\" {{ let a = {inner} }}").as_bytes());
        fuzz_parse(format!("skill x_y \"t\" {{ require {{ layout {{ {inner} }} }} }}").as_bytes());
        fuzz_parse(format!("skill x_y \"t\" {{ match {inner} }}").as_bytes());
    }
    fuzz_parse("skill a_b \"t\" { risk \"x\" ".repeat(long / 4).as_bytes());
    fuzz_parse(&vec![b'x'; (1 << 20) + 1]);
}
