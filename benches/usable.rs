//! Counts the kernels of a folder that can be worked on after masking: `cargo bench --bench usable -- DIR..`
//!
//! A kernel is usable when the tree holds a function of its name, at its place, without ERROR or MISSING inside.
//! With `-v` every kernel that is not usable is listed with the place of the first error.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kopt::source::mask::{KernelShape, MacroTable, Masked, mask};
use tree_sitter::{Node, Parser};

#[derive(Default)]
struct Count {
    files: usize,
    dirty: usize,
    bytes: usize,
    lexical: usize,
    raw_usable: usize,
    usable: usize,
    dropped: usize,
    by_macro: usize,
    masking: Duration,
    parsing: Duration,
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let verbose = args.iter().any(|a| a == "-v");
    args.retain(|a| a != "-v");
    println!(
        "{:44} {:>6} {:>6} {:>9} {:>7} {:>7} {:>6} {:>7} {:>5} {:>5}",
        "folder", "files", "dirty", "bytes", "kernels", "usable", "%", "raw %", "#if", "macro"
    );
    let mut total = Count::default();
    let mut failures: BTreeMap<String, usize> = BTreeMap::new();
    for dir in &args {
        let count = folder(Path::new(dir), verbose, &mut failures);
        row(dir.rsplit('/').find(|p| !p.is_empty()).unwrap_or(dir), &count);
        total.files += count.files;
        total.dirty += count.dirty;
        total.bytes += count.bytes;
        total.lexical += count.lexical;
        total.usable += count.usable;
        total.raw_usable += count.raw_usable;
        total.dropped += count.dropped;
        total.by_macro += count.by_macro;
        total.masking += count.masking;
        total.parsing += count.parsing;
    }
    row("all", &total);
    let speed = |t: Duration| total.bytes as f64 / 1e6 / t.as_secs_f64().max(1e-9);
    println!("mask {:.1} MB/s, mask and parse {:.1} MB/s", speed(total.masking), speed(total.masking + total.parsing));
    let mut failures: Vec<_> = failures.into_iter().collect();
    failures.sort_by_key(|f| std::cmp::Reverse(f.1));
    for (what, n) in failures.iter().take(25) {
        println!("{n:6} {what}");
    }
}

fn row(name: &str, c: &Count) {
    let share = |n: usize| 100.0 * n as f64 / c.lexical.max(1) as f64;
    println!(
        "{name:44} {:6} {:6} {:9} {:7} {:7} {:6.2} {:7.2} {:5} {:5}",
        c.files,
        c.dirty,
        c.bytes,
        c.lexical,
        c.usable,
        share(c.usable),
        share(c.raw_usable),
        c.dropped,
        c.by_macro
    );
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let wanted = ["cu", "cuh", "h", "hpp", "cpp", "inl", "inc", "cc", "cxx", "hh"];
    let mut found: Vec<PathBuf> = ignore::WalkBuilder::new(dir)
        .standard_filters(false)
        .build()
        .flatten()
        .map(|e| e.into_path())
        .filter(|p| p.extension().and_then(|e| e.to_str()).is_some_and(|e| wanted.contains(&e)))
        .collect();
    found.sort();
    found
}

fn folder(dir: &Path, verbose: bool, failures: &mut BTreeMap<String, usize>) -> Count {
    let texts: Vec<(PathBuf, String)> = files(dir)
        .into_iter()
        .filter_map(|p| Some((p.clone(), String::from_utf8_lossy(&std::fs::read(p).ok()?).into_owned())))
        .collect();
    let mut macros = MacroTable::default();
    for (_, text) in &texts {
        macros.learn(text);
    }
    let aliases: Vec<String> = macros.kernel_aliases().into_iter().map(str::to_owned).collect();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_cuda::LANGUAGE.into()).expect("the grammar fits the library");
    let mut count = Count::default();
    for (path, text) in &texts {
        let cuda = path.extension().is_some_and(|e| e == "cu" || e == "cuh");
        if !cuda && !text.contains("__global__") && !aliases.iter().any(|a| text.contains(a.as_str())) {
            continue;
        }
        count.files += 1;
        count.bytes += text.len();
        let clock = Instant::now();
        let masked = mask(text, &macros);
        count.masking += clock.elapsed();
        let clock = Instant::now();
        let tree = parser.parse(&masked.text, None);
        count.parsing += clock.elapsed();
        let Some(tree) = tree else { continue };
        count.dirty += usize::from(tree.root_node().has_error());
        let raw = parser.parse(text, None);
        let raw_clean = raw.map(|t| functions(t.root_node())).unwrap_or_default();
        let clean = functions(tree.root_node());
        for kernel in masked
            .kernels
            .iter()
            .filter(|k| k.shape != KernelShape::Declaration && k.shape != KernelShape::Instantiation)
        {
            if kernel.dropped {
                count.dropped += 1;
                continue;
            }
            if kernel.shape == KernelShape::MacroCall {
                count.by_macro += 1;
                continue;
            }
            count.lexical += 1;
            count.raw_usable += usize::from(raw_clean.get(&kernel.name_range.start) == Some(&None));
            match clean.get(&kernel.name_range.start) {
                Some(None) => count.usable += 1,
                found => report(path, text, &masked, &kernel.name, kernel.name_range.clone(), found, verbose, failures),
            }
        }
    }
    count
}

#[expect(clippy::too_many_arguments)]
fn report(
    path: &Path,
    text: &str,
    masked: &Masked,
    name: &str,
    at: Range<usize>,
    found: Option<&Option<usize>>,
    verbose: bool,
    failures: &mut BTreeMap<String, usize>,
) {
    let place = match found {
        Some(Some(error)) => *error,
        _ => at.start,
    };
    let start = text[..place].rfind('\n').map_or(0, |n| n + 1);
    let line = masked.text[start..].lines().next().unwrap_or("").trim();
    let kind = if found.is_some() { "error" } else { "no function" };
    let short: String = line.chars().take(110).collect();
    *failures.entry(format!("{kind}: {short}")).or_default() += 1;
    if verbose {
        let number = text[..place].matches('\n').count() + 1;
        println!("  {}:{number}: {name}: {kind}: {short}", path.display());
    }
}

/// Functions with a body by the place of their name, each with the place of its first error.
fn functions(root: Node<'_>) -> BTreeMap<usize, Option<usize>> {
    let mut found = BTreeMap::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if node.kind() == "function_definition"
            && let Some(name) = name_of(node)
        {
            found.insert(name, first_error(node));
        }
        let mut cursor = node.walk();
        stack.extend(node.children(&mut cursor));
    }
    found
}

fn name_of(function: Node<'_>) -> Option<usize> {
    let mut node = function.child_by_field_name("declarator")?;
    for _ in 0..64 {
        if node.kind() == "template_function"
            || node.kind() == "qualified_identifier"
            || node.kind() == "template_method"
        {
            node = node.child_by_field_name("name")?;
        } else if matches!(node.kind(), "identifier" | "field_identifier" | "type_identifier" | "operator_name") {
            return Some(node.start_byte());
        } else {
            node = node.child_by_field_name("declarator").or_else(|| node.named_child(0))?;
        }
    }
    None
}

fn first_error(node: Node<'_>) -> Option<usize> {
    if !node.has_error() {
        return None;
    }
    let mut node = node;
    loop {
        if node.is_error() || node.is_missing() {
            return Some(node.start_byte());
        }
        let mut cursor = node.walk();
        let next = node.children(&mut cursor).find(|c| c.has_error() || c.is_missing());
        match next {
            Some(n) => node = n,
            None => return Some(node.start_byte()),
        }
    }
}
