//! Generated pages are up to date.

use std::path::Path;

fn up_to_date(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("KOPT_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let first = committed.lines().zip(text.lines()).position(|(a, b)| a != b).map_or(0, |i| i + 1);
    assert!(
        committed == text,
        "{} is out of date from line {first} on; regenerate it with `KOPT_BLESS=1 cargo test --test docs`",
        path.display()
    );
}

#[test]
fn skills_page() {
    let library = kopt::skill::Library::built_in().unwrap_or_else(|e| panic!("{e}: {:#?}", e.problems));
    up_to_date("docs/skills.md", &kopt::skill::doc::skills_page(library));
}
