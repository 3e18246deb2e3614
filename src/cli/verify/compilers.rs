//! Whether a kernel is another program under another compiler: sources can ask which one reads them.
//!
//! The interpreter runs what NVRTC made of the file; the user's build runs what nvcc makes of it. Where the kernel's own
//! text asks for what tells the two apart, it is compiled a second time with the answers that nvcc gives, and both must
//! be the same.

use kopt::compile::Sliced;

/// Words that NVRTC defines and nvcc does not, or that kopt defines for it.
const ONLY_HERE: &[&str] = &["__CUDACC_RTC__", "__NVRTC__", "_CG_LIMIT_INCLUDED_DEPENDENCIES"];
/// Words that nvcc with a usual host compiler defines and NVRTC does not, with a value.
const ONLY_THERE: &[(&str, &str)] = &[
    ("__NVCC__", "1"),
    ("__GNUC__", "13"),
    ("__GNUC_MINOR__", "2"),
    ("__linux__", "1"),
    ("__unix__", "1"),
    ("__ELF__", "1"),
    ("__x86_64__", "1"),
    ("__CUDACC_EXTENDED_LAMBDA__", "1"),
];
const ABSENT: &str = "kopt_not_defined_elsewhere";

/// The slice as nvcc would read it.
pub struct Elsewhere {
    pub slice: Sliced,
    pub options: Vec<String>,
    /// What it asks for, each once.
    pub words: Vec<String>,
    /// The first place: file and line.
    pub place: (String, u32),
}

/// `None` where nothing in the user's text tells compilers apart.
pub fn elsewhere(sliced: &Sliced) -> Option<Elsewhere> {
    let mut out = String::with_capacity(sliced.text.len());
    let mut words: Vec<String> = vec![];
    let mut place = None;
    let (mut file, mut line) = (String::new(), 0u32);
    for text in sliced.text.split_inclusive('\n') {
        if let Some((number, name)) = line_directive(text) {
            (file, line) = (name, number.saturating_sub(1));
            out.push_str(text);
            continue;
        }
        line += 1;
        let own = sliced.files.contains(&file);
        let (changed, asked) = if own { replaced(text) } else { (text.to_owned(), vec![]) };
        if !asked.is_empty() {
            place.get_or_insert((file.clone(), line));
            words.extend(asked);
        }
        out.push_str(&changed);
    }
    words.sort();
    words.dedup();
    let value = |w: &String| ONLY_THERE.iter().find(|(n, _)| n == w).map(|(n, v)| format!("-D{}={v}", stand_in(n)));
    let mut options: Vec<String> = words.iter().filter_map(value).collect();
    if words.iter().any(|w| w == "__has_include") {
        options.push(format!("-D{}(x)=1", stand_in("__has_include")));
    }
    let mut slice = sliced.clone();
    slice.text = out;
    place.map(|place| Elsewhere { slice, options, words, place })
}

fn stand_in(word: &str) -> String {
    format!("kopt_elsewhere_{}", word.trim_matches('_'))
}

/// `#line 12 "k.cu"`
fn line_directive(text: &str) -> Option<(u32, String)> {
    let rest = text.strip_prefix("#line ")?;
    let (number, name) = rest.split_once(' ')?;
    let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some((number.parse().ok()?, name.replace("\\\"", "\"").replace("\\\\", "\\")))
}

/// The line with other words for those that tell compilers apart; comments and texts count too, which does no harm.
fn replaced(text: &str) -> (String, Vec<String>) {
    let mut out = String::new();
    let mut asked = vec![];
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '_' || c.is_ascii_alphabetic()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        if ONLY_HERE.contains(&word) {
            out.push_str(ABSENT);
            asked.push(word.to_owned());
        } else if word == "__has_include" || ONLY_THERE.iter().any(|(n, _)| *n == word) {
            out.push_str(&stand_in(word));
            asked.push(word.to_owned());
        } else {
            out.push_str(word);
        }
        rest = after;
    }
    out.push_str(rest);
    (out, asked)
}

/// Whether two PTX texts are the same program: without comments, and without the hash of the text in names of internal
/// linkage.
pub fn same_program(a: &str, b: &str) -> bool {
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"));
        lines.map(without_hash).collect()
    };
    plain(a) == plain(b)
}

fn without_hash(line: &str) -> String {
    let mark = "_INTERNAL_";
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(mark) {
        let (before, after) = rest.split_at(at + mark.len());
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}
