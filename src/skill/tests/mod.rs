//! Skill files with every kind of mistake, good files through the printer, and noise.

mod mistakes;
mod noise;

use super::ast::BodyKind;
use super::*;
use crate::diag::{Diagnostic, Severity};
use crate::predicate::registry;
use crate::source::{FileId, Lines, Span};

const FILE: FileId = FileId(0);

/// All problems of a text: those of reading it and, if it holds a skill, those of its meaning.
fn problems(text: &str) -> Vec<Diagnostic> {
    examine(FILE, text, registry(), Some(&Library::built_in().unwrap().directions)).problems
}

/// One line per problem: code, place, message, label, next step.
fn render(text: &str, problems: &[Diagnostic]) -> String {
    let lines = Lines::new(text);
    let mut out = String::new();
    for p in problems {
        let at = p.primary().map(|s| lines.position(text, s.start as usize));
        let place = at.map_or("-".to_owned(), |p| format!("{}:{}", p.line, p.column));
        let label = p.labels.iter().find(|l| l.primary).map_or("", |l| l.text.as_str());
        let severity = if p.severity == Severity::Warning { "warning " } else { "" };
        let next = p.next.as_deref().unwrap_or("-");
        out += &format!("{severity}{} {place} {}\n    {label}\n    next: {next}\n", p.code, p.message);
    }
    out
}

/// A skill without its spans.
fn bare(mut skill: Skill) -> String {
    skill.span = Span::new(FILE, 0, 0);
    let text = format!("{skill:?}");
    let mut out = String::new();
    for piece in text.split("Span { file: FileId(0), start: ") {
        let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
        let rest = piece.strip_prefix(|c: char| c.is_ascii_digit()).map_or(piece, |_| {
            let tail = piece.get(digits(piece)..).unwrap_or("");
            tail.strip_prefix(", end: ").map_or(tail, |t| t.get(digits(t)..).unwrap_or(""))
        });
        out += rest;
    }
    out
}

#[test]
fn built_in_skills_are_clean() {
    let library = Library::built_in().unwrap_or_else(|e| panic!("{e}: {:#?}", e.problems));
    let problems = library.check(registry());
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(library.len() >= 4);
    assert_eq!(library.near("vectorise_access"), Some("vectorize_access"));
}

#[test]
fn printing_and_parsing_again_gives_the_same_skill() {
    for item in Library::built_in().unwrap().iter() {
        let text = print::print(&item.skill);
        let again = parse(FILE, &text);
        assert!(again.problems.is_empty(), "{}\n{text}", render(&text, &again.problems));
        let again = again.skill.unwrap();
        assert_eq!(print::print(&again), text);
        assert_eq!(again.hash(), item.skill.hash());
        let original = Library::built_in().unwrap().sources.get(item.file).text.to_string();
        assert_eq!(bare(parse(FILE, &original).skill.unwrap()), bare(again), "{}", item.skill.name.node);
    }
}

#[test]
fn the_hash_ignores_comments_blanks_and_the_order_of_clauses() {
    let hash = |text: &str| {
        let parsed = parse(FILE, text);
        assert!(parsed.problems.is_empty(), "{}", render(text, &parsed.problems));
        parsed.skill.unwrap().hash()
    };
    let base = hash(mistakes::GOOD);
    assert_eq!(base, hash(&mistakes::GOOD.replace("  risk", "# note\n\n  // more\n  risk  ")));
    assert_eq!(base, hash(&mistakes::GOOD.replace('\n', "\r\n")));
    let moved = mistakes::GOOD.replace("  touches body\n", "").replace("  risk", "  touches body\n  risk");
    assert_eq!(base, hash(&moved));
    assert_ne!(base, hash(&mistakes::GOOD.replace("== 1", "== 2")));
    assert_ne!(base, hash(&mistakes::GOOD.replace("y[0] = ", "y[1] = ")));
}

#[test]
fn blocks_lose_their_common_indentation_and_nothing_else() {
    let text = "    skip\n";
    assert_eq!(lexer::dedent(&format!("\n  a\n{text}\n  \n    b\n  ")), "a\n  skip\n\n\n  b\n");
    assert_eq!(lexer::dedent("one line "), "one line ");
    assert_eq!(lexer::dedent("\n"), "");
    assert_eq!(lexer::dedent(""), "");
    assert_eq!(lexer::unescape(r#"a\"b\\c\nd\e"#), "a\"b\\c\nd\\e");
}

#[test]
fn platforms_are_ranges_with_both_ends() {
    use ast::{Platform, PlatformRange};
    let p = |w: &str| Platform::parse(w).unwrap();
    let range = |from, to: Option<&str>, range| PlatformRange { from: p(from), to: to.map(p), range };
    assert!(range("sm_70", None, true).contains(p("sm_120")));
    assert!(!range("sm_80", None, true).contains(p("sm_75")));
    assert!(range("sm_80", Some("sm_90"), true).contains(p("sm_90a")));
    assert!(!range("sm_80", Some("sm_90"), true).contains(p("sm_100")));
    assert!(!range("sm_90a", None, true).contains(p("sm_100")));
    assert!(!range("sm_90a", None, false).contains(p("sm_90")));
    assert!(range("sm_90", None, false).contains(p("sm_90a")));
    assert_eq!(Platform::parse("sm_9"), None);
    assert_eq!(Platform::parse("sm_é"), None);
}

#[test]
fn a_new_skill_is_clean_from_the_start() {
    for kind in BodyKind::ALL {
        let made = scaffold::scaffold("fuse_something", "throughput", *kind).unwrap();
        let found = problems(&made.skill);
        assert!(found.is_empty(), "{}", render(&made.skill, &found));
        assert_eq!(made.pass.is_some(), *kind == BodyKind::Native);
        assert!(made.pass.is_none_or(|p| p.contains("pub struct FuseSomething;")));
    }
    assert!(scaffold::scaffold("Fuse", "throughput", BodyKind::Model).is_err());
}

#[test]
fn user_skills_join_the_library_or_say_why_not() {
    let library = Library::built_in().unwrap();
    let template = scaffold::scaffold("fuse_something", "throughput", BodyKind::Template).unwrap().skill;
    let add = |path: &str, text: &str| library.with_user_skills(&[(path.to_owned(), text.to_owned())], registry());
    let codes = |r: Result<Library, LibraryError>| -> Vec<u16> {
        r.err().map(|e| e.problems.iter().map(|p| p.code.0).collect()).unwrap_or_default()
    };
    let joined = add("mine/fuse_something.skill", &template).unwrap();
    assert_eq!(joined.len(), library.len() + 1);
    assert!(joined.get("fuse_something").is_some());
    assert_eq!(codes(add("other.skill", &template)), [116]);
    let clash = template.replace("skill fuse_something", "skill pad_shared");
    assert_eq!(codes(add("pad_shared.skill", &clash)), [140]);
    let native = scaffold::scaffold("fuse_something", "throughput", BodyKind::Native).unwrap().skill;
    assert_eq!(codes(add("fuse_something.skill", &native)), [141]);
    assert_eq!(codes(add("fuse_something.skill", &template.replace("call(sqrtf)", "call()"))), [112]);
    assert_eq!(codes(add("fuse_something.skill", &template.replace("direction throughput", "direction speed"))), [129]);
    let twice =
        [("a/fuse_something.skill".to_owned(), template.clone()), ("b/fuse_something.skill".to_owned(), template)];
    assert_eq!(codes(library.with_user_skills(&twice, registry())), [140]);
}

#[test]
fn the_build_script_sees_native_bodies_and_no_others() {
    let native = |text: &str| lexer::native_bodies(text);
    assert_eq!(native("body cuda native body tilelang model body inverse native"), ["cuda", "inverse"]);
    assert!(native("# body cuda native\n touches body intent \"body cuda native\"").is_empty());
    assert!(native("carrier cuda \"\"\" body cuda native \"\"\" body cuda template { }").is_empty());
    for item in Library::built_in().unwrap().iter() {
        let text = &Library::built_in().unwrap().sources.get(item.file).text;
        let declared = item.skill.bodies.iter().filter(|b| b.kind == BodyKind::Native).count();
        assert_eq!(native(text).len(), declared, "{}", item.skill.name.node);
    }
}
