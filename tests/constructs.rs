//! Every construct of CUDA C++ that is known to be hard to parse, once each: what is read is snapshot as a dump.

use kopt::ir::dump::dump_unit;
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile};
use kopt::syntax::cuda::parse_unit;

/// The named snippets of the table: a line `A1 title`, then the text, separated by `----`. Lines with `=>` say what the
/// mask finds and belong to its own test.
fn snippets() -> Vec<(String, String)> {
    let table = include_str!("data/constructs.txt");
    let code = |text: &str| text.lines().filter(|l| !l.starts_with("=>")).map(|l| format!("{l}\n")).collect::<String>();
    let split = |s: &str| s.split_once('\n').map(|(title, text)| (title.to_owned(), code(text)));
    table.split("\n----\n").filter_map(split).collect()
}

#[test]
fn constructs() {
    let mut report = String::new();
    for (title, text) in snippets() {
        let file = SourceFile::new("snippet.cu", text.as_bytes());
        let unit = parse_unit(FileId(0), &file, &MacroTable::default());
        report.push_str(&format!("== {title}\n{}\n{}\n", text.trim_end(), dump_unit(&unit, &text)));
    }
    snapshot("constructs", &report);
}

/// Kernels as people write them: loops, inductions, accesses, guards, reductions and launches in full.
#[test]
fn ordinary_kernels() {
    let text = include_str!("data/ordinary.cu");
    let file = SourceFile::new("ordinary.cu", text.as_bytes());
    let unit = parse_unit(FileId(0), &file, &MacroTable::default());
    snapshot("ordinary_kernels", &dump_unit(&unit, text));
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// No text at all makes the reader panic or hang: every prefix of every construct, and deep nesting of all kinds.
#[test]
fn any_text_is_read() {
    for (_, text) in snippets() {
        for end in (0..text.len()).filter(|i| text.is_char_boundary(*i)) {
            kopt::syntax::cuda::fuzz_parse(&text.as_bytes()[..end]);
        }
    }
    let kernel = |inside: &str| format!("__global__ void k(float* p, int i) {{ {inside} }}");
    let deep =
        |open: &str, middle: &str, close: &str| kernel(&format!("{}{middle}{}", open.repeat(4000), close.repeat(4000)));
    for text in [
        deep("(", "i", ")") + ";",
        deep("{", "", "}"),
        deep("if (i) ", ";", ""),
        deep("for (;;) ", ";", ""),
        deep("i + ", "i;", ""),
        deep("p[", "0", "]"),
        deep("f<", "", ""),
        deep("- ", "i;", ""),
        deep("[&] {", "", "}"),
        deep("x = i ? ", "i", " : i"),
        deep("#if 1\n", "", "\n#endif\n"),
        deep("else ", "", ""),
        format!("{} int x;", "namespace a {".repeat(4000)),
        format!("{} x;", "template <class T> ".repeat(4000)),
        format!("int {}x;", "*".repeat(4000)),
        format!("int x{};", "[1]".repeat(4000)),
        format!("int {}", "f(".repeat(4000)),
        "\u{feff}__global__ void \u{e4}(int \u{1f600}) {}".to_owned(),
    ] {
        kopt::syntax::cuda::fuzz_parse(text.as_bytes());
    }
    kopt::syntax::cuda::fuzz_parse(b"\xff\xfe\x00__global__ void k() { \x80 }");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Texts put together from pieces of real constructs.
    #[test]
    fn any_mixture_is_read(pieces in proptest::collection::vec((0usize..200, 0usize..200, 0usize..200), 1..12)) {
        let table = snippets();
        let mut text = String::new();
        for (which, from, to) in pieces {
            let (_, snippet) = &table[which % table.len()];
            let (a, b) = (from.min(snippet.len()), to.min(snippet.len()));
            text.push_str(snippet.get(a.min(b)..a.max(b)).unwrap_or("{"));
        }
        kopt::syntax::cuda::fuzz_parse(text.as_bytes());
    }
}

/// An assignment to an assignment, and so on: each is evaluated once, however long the chain.
#[test]
fn chains_cost_no_more_than_their_length() {
    for (open, close) in [("(", " += 1.f)"), ("(++", ")"), ("(x[0], ", ")"), ("(*&", ")"), ("(a ? x[1] : ", ")")] {
        let chain = format!("{}x[0]{}", open.repeat(60), close.repeat(60));
        let text = format!("__global__ void k(float* x, bool a) {{ {chain} = 2.f; float y = {chain}; x[1] = y; }}");
        let source = kopt::source::SourceFile::new("chain.cu", text);
        let unit = kopt::syntax::cuda::parse_unit(kopt::source::FileId(0), &source, &Default::default());
        let accesses: usize = unit.functions.iter().map(|f| f.accesses.len()).sum();
        assert!(accesses < 1_000, "{open}..{close}: {accesses} accesses");
    }
}
