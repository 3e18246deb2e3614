//! Writes the kept part of a program out as a translation unit.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::headers::{self, Header};
use super::items::{Event, Item, ItemKind};
use super::lex;
use super::reach::Reach;
use super::slice::PRELUDE;
use super::standard;

/// Writes the kept entries as one unit; also the names of the files that it has text of.
pub(super) fn write(reach: &Reach<'_>, asked: &BTreeSet<String>) -> (String, Vec<String>) {
    let program = reach.program;
    let owned = |set: &BTreeSet<&str>| set.iter().map(|s| s.to_string()).collect::<BTreeSet<String>>();
    let words = owned(&reach.words);
    let (mut body, mut files, mut included) = (String::new(), BTreeSet::new(), BTreeSet::new());
    for (i, entry) in program.entries.iter().enumerate() {
        let group_kept = entry.group.is_some_and(|g| reach.kept[g]);
        match &entry.event {
            Event::Item(Item { kind: ItemKind::Include { name, .. }, .. }) => {
                include(reach, name, &words, &mut included);
            }
            Event::Item(item) if reach.kept[i] => {
                files.insert(entry.file);
                line(reach, i, item.start, &mut body);
                body.push_str(&plain_lambdas(program.text(i, item.start, item.end)));
                body.push('\n');
            }
            Event::Open { start, end, .. } | Event::If { start, end } if reach.kept[i] => {
                line(reach, i, *start, &mut body);
                body.push_str(program.text(i, *start, *end));
                body.push('\n');
            }
            Event::Else { start, end } if group_kept => {
                line(reach, i, *start, &mut body);
                body.push_str(program.text(i, *start, *end));
                body.push('\n');
            }
            Event::Close { .. } if group_kept => body.push_str("}\n"),
            Event::Endif { .. } if group_kept => body.push_str("#endif\n"),
            _ => {}
        }
    }
    for name in &program.brought {
        include(reach, name, &words, &mut included);
    }
    // Types that only the name expressions speak of.
    for name in ["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"] {
        include(reach, name, asked, &mut included);
    }
    let words: BTreeSet<String> = words.union(asked).cloned().collect();
    let mut text = prelude(reach, &words, included);
    // What nvcc accepts and the run-time compiler does not: both say nothing to device code.
    for word in ["__host__", "register"] {
        if body.contains(word) {
            let _ = writeln!(text, "#define {word}");
        }
    }
    text.push_str(&body);
    let names = files.into_iter().map(|f| program.files[f].name.clone()).collect::<BTreeSet<_>>();
    (text, names.into_iter().collect())
}

fn include(reach: &Reach<'_>, name: &str, words: &BTreeSet<String>, out: &mut BTreeSet<String>) {
    let Header::Device(needs) = headers::classify(name) else { return };
    if !headers::needed(needs, words) {
        return;
    }
    if name != "cub/cub.cuh" {
        out.insert(name.to_owned());
        return;
    }
    for (_, member) in reach.qualified.iter().filter(|(scope, _)| *scope == "cub") {
        // What is not in the table belongs to the host, or the compiler will name it.
        out.extend(headers::cub_header(member).map(str::to_owned));
    }
}

/// Headers and stand-ins for the standard library.
fn prelude(reach: &Reach<'_>, words: &BTreeSet<String>, mut included: BTreeSet<String>) -> String {
    let using_std = reach
        .program
        .items()
        .any(|(i, it)| reach.kept[i] && it.kind == ItemKind::UsingNamespace && it.names.contains("std"));
    let qualified = reach.qualified.iter().filter(|(scope, _)| *scope == "std").map(|(_, m)| m.to_string());
    let mut members: BTreeSet<String> = qualified.collect();
    if using_std {
        // A bare `min` or `sqrt` finds the compiler's own at global scope.
        let bare = words.iter().filter(|w| !reach.by_name.contains_key(w.as_str()));
        let common = |w: &str| matches!(w, "array" | "tuple" | "pair" | "complex" | "make_pair" | "make_tuple");
        let piece = |w: &str| standard::is_piece(w) && !matches!(w, "min" | "max" | "swap" | "move" | "byte" | "clamp");
        members.extend(bare.filter(|w| common(w) || piece(w)).cloned());
    }
    let unsupplied = members.iter().filter(|m| !standard::supplies(m));
    let extra: BTreeSet<String> =
        unsupplied.filter_map(|m| headers::cuda_std(m)).map(|h| format!("cuda/std/{h}")).collect();
    let defined = reach.by_name.keys().map(|s| s.to_string()).collect();
    let cccl = |h: &String| ["cuda/", "cub/", "thrust/"].iter().any(|p| h.starts_with(p));
    included.extend(extra.iter().cloned());
    let has_cccl = included.iter().any(cccl);
    if has_cccl {
        let pieces = members.iter().filter(|m| standard::is_piece(m));
        included.extend(pieces.filter_map(|m| standard::cuda_std_instead(m)).map(|h| format!("cuda/std/{h}")));
    }
    let mut out = format!("#line 1 \"{PRELUDE}\"\n");
    if !has_cccl && included.iter().any(|h| h.starts_with("cooperative_groups")) {
        // With it the header brings its own few traits instead of a second's worth of `cuda/std`.
        out.push_str("#define _CG_LIMIT_INCLUDED_DEPENDENCIES\n");
    }
    for header in &included {
        let _ = writeln!(out, "#include <{header}>");
    }
    if using_std {
        out.push_str("namespace std {}\n");
    }
    out.push_str(&standard::prelude(words, &members, &defined, has_cccl));
    if has_cccl && !members.is_empty() {
        out.push_str("namespace std { using namespace cuda::std; }\n");
    }
    out
}

/// A `#line` for the text at `offset`, and blanks up to its column so that carets stay true.
fn line(reach: &Reach<'_>, index: usize, offset: usize, out: &mut String) {
    let file = &reach.program.files[reach.program.entries[index].file];
    let line = file.lines.line_of(offset);
    let column = offset - file.lines.start_of(line).unwrap_or(offset).min(offset);
    let name = file.name.replace(['\n', '\r'], " ").replace('\\', "\\\\").replace('"', "\\\"");
    let _ = writeln!(out, "#line {line} \"{name}\"");
    out.extend(std::iter::repeat_n(' ', if column <= 200 { column } else { 0 }));
}

/// The text with the annotations of lambdas blanked: NVRTC refuses `[=] __device__ (..)`, where the annotation says
/// nothing that the enclosing function does not say.
fn plain_lambdas(text: &str) -> Cow<'_, str> {
    if !text.contains(']') || !(text.contains("__device__") || text.contains("__host__")) {
        return Cow::Borrowed(text);
    }
    let mut out = Cow::Borrowed(text);
    let mut after_capture = false;
    for token in lex::tokens(text) {
        let annotation = matches!(token.text(text), "__device__" | "__host__");
        if after_capture && annotation {
            out.to_mut().replace_range(token.start..token.end, &" ".repeat(token.end - token.start));
        }
        after_capture = token.is(b']') || (after_capture && annotation);
    }
    out
}
