//! One mistake after another in a good file; the diagnostics are kept in `snapshots/`.

use super::{problems, render};

/// A small skill without mistakes.
pub const GOOD: &str = r#"skill widen_access "wider access" {
  direction memory-access
  intent "move neighbours together"
  class preserving because "same values"
  touches body
  scope { case any, scan platform sm_70.. after coalesce_access? }
  match k: loop
        a: access(global) in k
  let lanes = 16 / width(a)
  require {
    datatypes { vector_type_exists(dtype(a), lanes) because "no such type" }
    layout {
      stride(a, k) == 1 because "neighbours only"
      aligned(address(a, k = first), 16, all rows) guard dispatch because "misaligned"
    }
    storage none
    pipeline { divides(lanes, trip(k)) guard tail because "the rest is dropped" }
    hardware none
  }
  pays when { bytes_per_thread(a, k) >= 16 and bottleneck in {memory, latency} because "fewer requests" }
  features requires {} provides { access.vector16 @ a } conflicts { shared.pad1 @ a }
  effect sectors(a) falls
  risk "registers rise"
  tune unroll in {1, 2, 4}
  body cuda template {
    """f($x, $y)""" => """g($y, $x)"""
  }
  example "one" { before """__global__ void k(float* y) { y[0] = 1; }""" contract "n = 1" at 1 }
  refuse "type" { before """int x;""" because vector_type_exists }
  refuse "stride" { before """int x;""" because layout.stride }
  refuse "aligned" { before """int x;""" because layout }
}
"#;

/// What is wrong, the text that is replaced, and by what.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("nothing wrong", "", ""),
    ("unknown character", "touches body", "touches ` § body"),
    ("string not closed", "risk \"registers rise\"", "risk \"registers rise"),
    ("block not closed", "\"\"\"g($y, $x)\"\"\"", "\"\"\"g($y, $x)"),
    ("number too large", "== 1 ", "== 99999999999999999999 "),
    ("unknown unit", "== 1 ", "== 1px "),
    ("brace of a clause missing", "after coalesce_access? }", "after coalesce_access?"),
    ("brace of a group missing", "    storage none", "    storage { "),
    ("brace of the file missing", "because layout }\n}\n", "because layout }\n"),
    ("brace too many", "    hardware none\n  }", "    hardware none\n  } }"),
    ("bracket missing", "stride(a, k) ==", "stride(a, k =="),
    ("bracket too many", "stride(a, k) ==", "stride(a, k)) =="),
    ("misspelt clause", "require {", "reqiure {"),
    ("unknown clause with content", "  risk", "  wishes { many { of them } }\n  risk"),
    ("clause without a word", "  risk", "  == 4\n  risk"),
    ("text before the skill", "skill widen", "hello there skill widen"),
    ("two skills", "because layout }\n}\n", "because layout }\n}\nskill other_one \"x\" { }\n"),
    ("no title", " \"wider access\"", ""),
    ("bad name", "skill widen_access", "skill Widen"),
    ("no direction", "  direction memory-access\n", ""),
    ("no match", "  match k: loop\n        a: access(global) in k\n", ""),
    ("clause twice", "  risk", "  intent \"again\"\n  risk"),
    ("unknown direction", "memory-access", "memory-acess"),
    ("unknown class", "class preserving", "class preservng"),
    ("class without reason", " because \"same values\"", ""),
    ("unknown touch", "touches body", "touches bodies"),
    ("touches nothing", "touches body", "touches"),
    ("unknown operator family", "case any, scan", "case any, scam"),
    ("unknown part of scope", "scope { case", "scope { kase"),
    ("bad platform", "sm_70..", "sm_seventy.."),
    ("empty platform range", "sm_70..", "sm_90..sm_80"),
    ("question mark on a case", "case any", "case any?"),
    ("after itself", "coalesce_access?", "widen_access"),
    ("unknown surface", "k: loop", "k: lop"),
    ("unknown argument of a surface", "access(global)", "access(globl)"),
    ("argument where none is", "k: loop", "k: loop b: parameter(x)"),
    ("binding without surface", "k: loop", "k loop"),
    ("misspelt each", "a: access", "eahc a: access"),
    ("call names nothing", "k: loop", "k: loop c: call"),
    ("anchor in an unbound one", "in k\n", "in kk\n"),
    (
        "anchor bound later",
        "match k: loop\n        a: access(global) in k",
        "match a: access(global) in k\n        k: loop",
    ),
    ("name bound twice", "a: access", "k: access"),
    ("name is a word already", "let lanes", "let first"),
    ("unbound name in let", "16 / width(a)", "16 / widht"),
    ("hyphen for a minus", "16 / width(a)", "lanes-first"),
    ("unknown predicate", "stride(a, k)", "strde(a, k)"),
    ("unknown predicate far from all", "stride(a, k)", "happiness(a, k)"),
    ("too few arguments", "stride(a, k)", "stride(a)"),
    ("too many arguments", "trip(k)", "trip(k, k)"),
    ("wrong surface", "stride(a, k)", "stride(k, a)"),
    ("wrong type", "divides(lanes, trip(k))", "divides(dtype(a), trip(k))"),
    ("predicate without arguments", "trip(k)", "trip"),
    ("unknown keyword", "k = first", "j = first"),
    ("keyword where none is", "trip(k)", "trip(k, k = first)"),
    ("unknown position", "k = first", "k = frist"),
    ("unknown word of a parameter", "all rows", "all columns"),
    ("keyword twice", "k = first", "k = first, k = last"),
    ("not a condition", "stride(a, k) == 1", "stride(a, k)"),
    ("chained comparison", "stride(a, k) == 1", "1 <= stride(a, k) <= 1"),
    ("assignment for comparison", "stride(a, k) == 1", "stride(a, k) = 1"),
    ("unequal types", "stride(a, k) == 1", "dtype(a) == 1"),
    ("order of words", "stride(a, k) == 1", "dtype(a) < f32"),
    ("unknown word in a set", "{memory, latency}", "{memroy, latency}"),
    ("empty set", "{memory, latency}", "{}"),
    ("operand missing", "stride(a, k) == 1", "stride(a, k) =="),
    ("two mistakes in two conditions", "stride(a, k) == 1", "stride(a k) == 1 because \"x\"\n      ) == 2"),
    ("missing group", "    storage none\n", ""),
    ("misspelt group", "storage none", "strage none"),
    ("empty group", "storage none", "storage { }"),
    ("group twice", "storage none", "storage none storage none"),
    ("group neither none nor braces", "storage none", "storage nothing"),
    ("condition without reason", " because \"neighbours only\"", ""),
    ("empty reason", "\"neighbours only\"", "\" \""),
    ("reason without text", "because \"neighbours only\"", "because neighbours"),
    ("unknown guard", "guard dispatch", "guard dispach"),
    ("guard where none can be", "stride(a, k) == 1", "vector_type_exists(dtype(a), lanes) guard tail"),
    ("guard with nothing to test", "stride(a, k) == 1", "lanes == 4 guard in-kernel"),
    ("guard in pays", "and bottleneck in {memory, latency}", "guard contract"),
    ("label twice", "stride(a, k) == 1", "one: stride(a, k) == 1 because \"x\"\n one: trip(k) > 1"),
    ("label of a group", "stride(a, k) == 1", "storage: stride(a, k) == 1"),
    ("pays without when", "pays when", "pays"),
    ("feature without anchor", "access.vector16 @ a", "access.vector16"),
    ("feature on an unbound anchor", "access.vector16 @ a", "access.vector16 @ b"),
    ("feature without a dot", "access.vector16 @ a", "vector16 @ a"),
    ("misspelt kind of feature", "provides", "provide"),
    ("provided and in conflict", "shared.pad1 @ a", "access.vector16 @ a"),
    ("effect on an unbound anchor", "sectors(a)", "sectors(z)"),
    ("unknown trend", "falls", "sinks"),
    ("tunable without values", "{1, 2, 4}", "{}"),
    ("tunable of words", "{1, 2, 4}", "{1, two}"),
    ("tunable value twice", "{1, 2, 4}", "{1, 2, 1}"),
    ("unbound metavariable", "g($y, $x)", "g($y, $xx)"),
    ("empty pattern", "f($x, $y)", " "),
    ("rule without arrow", "\"\"\" => \"\"\"", "\"\"\" \"\"\""),
    (
        "template without rules",
        "body cuda template {\n    \"\"\"f($x, $y)\"\"\" => \"\"\"g($y, $x)\"\"\"\n  }",
        "body cuda template",
    ),
    ("model with rules", "body cuda template", "body cuda model"),
    ("unknown kind of body", "body cuda template", "body cuda tempalte"),
    ("unknown language of a body", "body cuda", "body cdua"),
    ("body twice", "  example", "  body cuda model\n  example"),
    ("only an inverse body", "body cuda", "body inverse cuda"),
    ("body outside the scope", "case any, scan", "case any language tilelang"),
    (
        "no example",
        "  example \"one\" { before \"\"\"__global__ void k(float* y) { y[0] = 1; }\"\"\" contract \"n = 1\" at 1 }\n",
        "",
    ),
    ("example without program", "before \"\"\"__global__ void k(float* y) { y[0] = 1; }\"\"\"", ""),
    ("example with a reason", "at 1", "because layout"),
    ("unknown part of a case", "at 1", "on 1"),
    ("place from zero", "at 1", "at 0"),
    ("refuse without reason", "because layout.stride", ""),
    ("refuse of a group without conditions", "because layout }", "because storage }"),
    ("refuse of an unknown condition", "because layout.stride", "because layout.strid"),
    ("refuse of a misspelt predicate", "because vector_type_exists", "because vector_type_exist"),
    ("condition without a refuse case", "  refuse \"aligned\" { before \"\"\"int x;\"\"\" because layout }\n", ""),
    ("two cases of one title", "refuse \"stride\"", "refuse \"type\""),
];

#[test]
fn each_mistake_is_named_with_place_and_next_step() {
    let mut report = String::new();
    for (title, from, to) in MISTAKES {
        assert!(GOOD.contains(from), "{title}: {from}");
        let text = GOOD.replacen(from, to, 1);
        let found = problems(&text);
        assert_eq!(found.is_empty(), *title == "nothing wrong", "{title}\n{}", render(&text, &found));
        for p in &found {
            assert!(p.next.is_some() && p.primary().is_some_and(|s| s.end as usize <= text.len()), "{title}: {p:?}");
        }
        report += &format!("== {title}\n{}\n", render(&text, &found));
    }
    snapshot("skill__mistakes", &report);
}

#[test]
fn whole_files_that_are_no_skills() {
    let mut report = String::new();
    for text in [
        "",
        "# only a comment\n",
        "skill",
        "skill x_y",
        "skill x_y {",
        "}",
        "{",
        "skill { }",
        "\"\"\"",
        "skill x_y \"t\" { match }",
    ] {
        report += &format!("== {text:?}\n{}\n", render(text, &problems(text)));
    }
    snapshot("skill__whole_files", &report);
}

#[test]
fn all_mistakes_of_a_file_come_in_one_run() {
    let independent = [
        ("memory-access", "memory-acess"),
        ("class preserving", "class preservng"),
        ("k: loop", "k: lop"),
        ("strid", "strd"),
        ("guard dispatch", "guard dispach"),
        ("storage none", "strage none"),
        ("falls", "sinks"),
        ("{1, 2, 4}", "{1 2}"),
        ("g($y, $x)", "g($y, $xx)"),
        ("at 1", "on 1"),
        ("because layout.stride", "because layout.strid"),
    ];
    let text = independent.iter().fold(GOOD.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
    snapshot("skill__all_in_one_run", &render(&text, &problems(&text)));
}

fn snapshot(name: &str, report: &str) {
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, report);
    });
}
