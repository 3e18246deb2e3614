use super::*;

#[test]
fn nothing_to_do_changes_nothing() {
    let text = "__global__ void k(float* p) { p[threadIdx.x] = 1; }\n";
    let masked = mask(text, &MacroTable::default());
    assert_eq!(masked.text, text);
    assert_eq!(masked.kernels.len(), 1);
    assert_eq!(masked.kernels[0].name, "k");
}

#[test]
fn a_last_directive_without_a_newline_is_blanked() {
    let masked = mask("int x;\n#define A 1", &MacroTable::default());
    assert_eq!(masked.text, "int x;\n           ");
    assert_eq!(masked.defines.len(), 1);
}

#[test]
fn brackets_beyond_any_measure_are_said() {
    let masked = mask(&"(".repeat(30_000), &MacroTable::default());
    assert_eq!(masked.problems.iter().map(|p| p.code).collect::<Vec<_>>(), [Code(12)]);
}

#[test]
fn aliases_from_other_files_are_known() {
    let mut macros = MacroTable::default();
    macros.learn("#define LIB_KERNEL template <typename T> static\n#define OTHER_KERNEL static __global__ void\n");
    let masked = mask("OTHER_KERNEL k(float* p) { p[0] = 1; }\n", &macros);
    assert_eq!(masked.text, "void         k(float* p) { p[0] = 1; }\n");
    let mark = masked.kernel_named_in(&(13..14)).expect("a mark");
    assert!(mark.alias && mark.shape == KernelShape::Definition);
}

#[test]
fn arguments_keep_their_place() {
    let text = "__global__ void __launch_bounds__(N * 32, /* two */ 2) k(float* p) {}\n";
    let masked = mask(text, &MacroTable::default());
    let args: Vec<(&str, &str)> =
        masked.attributes[0].args.iter().map(|(t, r)| (t.as_str(), &text[r.clone()])).collect();
    assert_eq!(args, [("N * 32", "N * 32"), ("2", "2")]);
}

#[test]
fn an_edit_across_a_split_conditional_is_forbidden() {
    let text = "void h() {\n  f(1,\n#if A\n 2\n#else\n 3\n#endif\n  );\n  g();\n}\n";
    let masked = mask(text, &MacroTable::default());
    let call = text.find("f(1").expect("f")..text.find(");").expect("end");
    let other = text.find("g()").expect("g")..text.rfind(';').expect("end");
    assert!(masked.forbids_edit(&call));
    assert!(!masked.forbids_edit(&other));
}

#[test]
fn includes_are_listed() {
    let found = includes("#include <a/b.h>\n  # include \"c.cuh\" // x\n// #include \"d.h\"\n#include MACRO\n");
    let found: Vec<(&str, bool)> = found.iter().map(|i| (i.path.as_str(), i.angled)).collect();
    assert_eq!(found, [("a/b.h", true), ("c.cuh", false)]);
}

#[test]
fn loop_macros_can_be_expanded() {
    let mut macros = MacroTable::default();
    macros.learn("#define LOOP(i, n) for (int i = 0; i < (n); ++i)\n#define S(x) #x\n");
    let text = macros.get("LOOP").and_then(|m| m.expand(&["j", "a + b"]));
    assert_eq!(text.as_deref(), Some("for ( int j = 0 ; j < ( a + b ) ; ++ j ) "));
    assert_eq!(macros.get("S").and_then(|m| m.expand(&["y"])), None);
    assert_eq!(macros.get("LOOP").and_then(|m| m.expand(&["j"])), None);
}

/// Texts that ask for much work at every one of `n` places.
fn hostile(n: usize) -> Vec<String> {
    vec![
        "(".repeat(n),
        "(".repeat(5 * n),
        "{".repeat(5 * n),
        "a<".repeat(5 * n),
        "a < f<".repeat(n),
        "A(".repeat(n),
        "A(int,".repeat(n),
        "#if A\n".repeat(n),
        "#if (\nf(\n#else\n".repeat(n),
        format!("{}{}", "#if A\nf(\n#else\n".repeat(n), "#endif\n".repeat(n)),
        "__global__ x ".repeat(n),
        "__global__ f(".repeat(n),
        "R\"(".repeat(n),
        "R\"x".repeat(n),
        "/*".repeat(n),
        "'".repeat(n),
        "\"\n".repeat(n),
        "__attribute__((".repeat(n),
        "[".repeat(n),
        "[]{ A(1)\n".repeat(n),
        "X(struct { ".repeat(n),
        "new a * ".repeat(n),
        format!("#define A {}\n{}", "B ".repeat(900), "A ".repeat(n)),
        format!("#define B __align__(4)\n#define A {}\n{}", "B ".repeat(900), "A ".repeat(n)),
        (0..n / 8).map(|i| format!("#define A{i} A{} A{}\n", i + 1, i + 1)).collect(),
        "#define A \\\n".repeat(n),
        "f(a)\n".repeat(n),
        "\\\n".repeat(n),
        "}".repeat(n),
        "typename ".repeat(n),
        "template <".repeat(n),
        "-> a ".repeat(n),
    ]
}

/// Each of these must take work that grows with its length only: twice the length, not much more than twice the work.
/// Time would say the same on a quiet machine only.
#[test]
fn hostile_texts_are_linear() {
    let work = |text: &str| {
        steps::take();
        fuzz_mask(text.as_bytes());
        steps::take()
    };
    for (short, long) in hostile(5_000).iter().zip(&hostile(10_000)) {
        let (once, twice) = (work(short), work(long));
        let start = &short[..short.len().min(40)];
        assert!(once > 0, "{start:?}: nothing was counted");
        assert!(twice <= once * 5 / 2 + 10_000, "{start:?}: {once} steps, for twice the text {twice}");
        assert!(twice <= 100 * long.len() as u64, "{start:?}: {twice} steps for {} bytes", long.len());
    }
}

mod soup {
    use super::*;
    use proptest::prelude::*;

    const PIECES: &[&str] = &[
        "__global__",
        "void",
        "k",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "<<<",
        ">>>",
        ";",
        ",",
        ":",
        "::",
        "=",
        "*",
        "&",
        "&&",
        "||",
        "?",
        "->",
        ".",
        "template",
        "typename",
        "#if A\n",
        "\n#if 0\n",
        "\n#else\n",
        "\n#endif\n",
        "\n#define A B\n",
        "\n#define B __global__ void\n",
        "\n#define L(i) for (;;)\n",
        "\n#define S f();\n",
        "\n#define E\n",
        "A",
        "B",
        "L",
        "S",
        "E",
        "MY_DEVICE",
        "CHECK(x)",
        "int",
        "float*",
        "1'000",
        "'a'",
        "\"s\"",
        "R\"(x)\"",
        "/* c */",
        "// c\n",
        "\n",
        "\r\n",
        " ",
        "\\\n",
        "__launch_bounds__(1, 2)",
        "_Pragma(\"unroll\")",
        "\n#pragma unroll 4\n",
        "struct",
        "enum",
        "else",
        "for",
        "if",
        "new",
        "const",
        "__device__",
        "operator",
        "é",
        "asm",
        "return",
        "\"",
        "'",
        "/*",
        "#",
        "\u{feff}",
        "__restrict",
        "namespace",
        "case",
    ];

    fn check(text: &str) {
        fuzz_mask(text.as_bytes());
        let macros = MacroTable::default();
        let masked = mask(text, &macros);
        for range in masked
            .replaced
            .iter()
            .map(|r| &r.range)
            .chain(masked.attributes.iter().map(|a| &a.span))
            .chain(&masked.dropped)
        {
            assert!(range.start <= range.end && text.get(range.clone()).is_some(), "{range:?}");
        }
        for k in &masked.kernels {
            assert_eq!(text.get(k.name_range.clone()), Some(k.name.as_str()));
        }
        // What the mask wrote must not make it lose or move a byte the next time.
        fuzz_mask(masked.text.as_bytes());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn any_mix_of_tokens(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60), gap in prop::sample::select(&["", " "][..])) {
            check(&pieces.join(gap));
        }

        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            fuzz_mask(&bytes);
        }

        #[test]
        fn mutated_constructs(at in any::<prop::sample::Index>(), cut in 0usize..40, piece in prop::sample::select(PIECES)) {
            let cases: Vec<&str> = include_str!("../../../tests/data/constructs.txt").split("\n----\n").collect();
            let case = cases[at.index(cases.len())];
            let start = (0..=at.index(case.len())).rev().find(|&i| case.is_char_boundary(i)).unwrap_or(0);
            let end = (start..=(start + cut).min(case.len())).rev().find(|&i| case.is_char_boundary(i)).unwrap_or(start);
            check(&format!("{}{piece}{}", &case[..start], &case[end..]));
        }
    }
}
