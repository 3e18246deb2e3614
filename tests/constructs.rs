//! Every construct of CUDA C++ that is known to be hard to parse, once each: what is read is snapshot as a dump.

use kopt::ir::dump::dump_unit;
use kopt::source::mask::MacroTable;
use kopt::source::{FileId, SourceFile};
use kopt::syntax::cuda::parse_unit;

/// The named snippets of the table: a line `A1 title`, then the text, separated by `----`.
fn snippets() -> Vec<(String, String)> {
    let table = include_str!("data/constructs.txt");
    let split = |s: &str| s.split_once('\n').map(|(title, text)| (title.to_owned(), text.to_owned()));
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
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("constructs", report));
}
