//! The report that `--xml --save FILE` writes.

use roxmltree::{Document, Node};

use super::{Finding, Level, Place, Tool, Witness};

/// Why a report says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("its report is no XML: {0}")]
    Xml(String),
    #[error("its report is another document: <{0}>")]
    Other(String),
}

/// The findings of a report, one for each record and not yet grouped. Calls of the driver that failed are not among them:
/// they follow from a kernel that failed, and the run itself says so.
///
/// # Errors
/// See [`Unreadable`]. A record of a kind that is not known is a finding all the same.
pub fn parse(tool: Tool, text: &str) -> Result<Vec<Finding>, Unreadable> {
    let document = Document::parse(text).map_err(|e| Unreadable::Xml(e.to_string()))?;
    let root = document.root_element();
    if root.tag_name().name() != "ComputeSanitizerOutput" {
        return Err(Unreadable::Other(root.tag_name().name().to_owned()));
    }
    let records = children(root, "record").filter(|r| text_of(*r, "kind") != "Api");
    Ok(records.flat_map(|r| record(tool, r)).collect())
}

fn record(tool: Tool, record: Node) -> Vec<Finding> {
    let what = child(record, "what");
    let level = match text_of(record, "level") {
        "Warning" => Level::Warning,
        "Info" => Level::Info,
        // Tools that know one level only write none.
        _ => Level::Error,
    };
    let samples: Vec<Witness> = child(record, "who").map(|who| witness(who, what)).into_iter().collect();
    let base = Finding {
        tool,
        level,
        what: words(record, what),
        place: child(record, "where").map(place).unwrap_or_default(),
        other: None,
        callers: frames(record),
        count: 1,
        samples,
    };
    match what.and_then(|w| child(w, "source")) {
        Some(source) => race(base, source, what),
        None => vec![base],
    }
}

/// A race has one source and one destination or several.
fn race(base: Finding, source: Node, what: Option<Node>) -> Vec<Finding> {
    let does = |n: Node| text_of(n, "direction").to_lowercase();
    let at = |n: Node| child(n, "where").map(place).unwrap_or_default();
    let ends: Vec<Node> = what.into_iter().flat_map(|w| children(w, "destination")).collect();
    let one = |other: Option<Node>| Finding {
        what: match other {
            Some(o) => format!("{} between a {} and a {}", base.what.to_lowercase(), does(source), does(o)),
            None => base.what.to_lowercase(),
        },
        place: at(source),
        other: other.map(|o| (does(o), at(o))),
        count: other.and_then(|o| text_of(o, "count").parse().ok()).unwrap_or(1),
        ..base.clone()
    };
    if ends.is_empty() { vec![one(None)] } else { ends.into_iter().map(|o| one(Some(o))).collect() }
}

/// The tool's words: its text, and its type where it has one; its kind where it has no words.
fn words(record: Node, what: Option<Node>) -> String {
    let of = |name| what.map_or("", |w| text_of(w, name));
    match (of("text"), of("type")) {
        ("", "") => text_of(record, "kind").to_owned(),
        (text, "") => text.to_owned(),
        ("", kind) => kind.to_owned(),
        (text, kind) => format!("{text}: {kind}"),
    }
}

fn witness(who: Node, what: Option<Node>) -> Witness {
    Witness {
        block: triple(who, "blockIdx"),
        thread: triple(who, "threadIdx"),
        address: what.map_or("", |w| text_of(w, "address")).to_owned(),
    }
}

fn triple(who: Node, name: &str) -> [u32; 3] {
    let Some(index) = child(who, name) else { return [0; 3] };
    ["x", "y", "z"].map(|axis| text_of(index, axis).parse().unwrap_or(0))
}

fn place(at: Node) -> Place {
    Place {
        function: text_of(at, "func").to_owned(),
        file: text_of(at, "path").to_owned(),
        line: text_of(at, "line").parse().unwrap_or(0),
    }
}

fn frames(record: Node) -> Vec<Place> {
    child(record, "deviceStack").map_or_else(Vec::new, |stack| children(stack, "frame").map(place).collect())
}

fn children<'a, 'i: 'a>(node: Node<'a, 'i>, name: &'a str) -> impl Iterator<Item = Node<'a, 'i>> + 'a {
    node.children().filter(move |c| c.tag_name().name() == name)
}

fn child<'a, 'i: 'a>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|c| c.tag_name().name() == name)
}

fn text_of<'a, 'i: 'a>(node: Node<'a, 'i>, name: &str) -> &'a str {
    child(node, name).and_then(|c| c.text()).unwrap_or("").trim()
}

#[cfg(test)]
mod tests {
    use super::super::group;
    use super::*;

    const OOB: &str = include_str!("../../../tests/data/gpu/tools/memcheck-oob.xml");
    const RACE: &str = include_str!("../../../tests/data/gpu/tools/racecheck-race.xml");
    const SYNC: &str = include_str!("../../../tests/data/gpu/tools/synccheck.xml");
    const NOTHING: &str = include_str!("../../../tests/data/gpu/tools/nothing.xml");

    fn at(function: &str, file: &str, line: u32) -> Place {
        Place { function: function.into(), file: format!("kernels/{file}"), line }
    }

    #[test]
    fn accesses_beyond_an_allocation_are_one_finding_with_its_callers() {
        let found = group(parse(Tool::Memcheck, OOB).unwrap());
        assert_eq!(found.len(), 1, "{found:#?}");
        let f = &found[0];
        assert_eq!(f.what, "Invalid __global__ read of size 4 bytes is out of bounds");
        assert_eq!((f.level, f.count), (Level::Error, 4));
        assert_eq!((&f.place, f.callers.as_slice()), (&at("twice", "oob.cu", 2), &[at("scale", "oob.cu", 10)][..]));
        assert_eq!(f.samples.len(), 4);
        let first = Witness { block: [3, 0, 0], thread: [232, 0, 0], address: "0x7fd8e8805fa0".into() };
        assert_eq!(f.samples[0], first);
    }

    #[test]
    fn a_race_has_two_ends_and_a_count_of_hazards() {
        let found = group(parse(Tool::Racecheck, RACE).unwrap());
        assert_eq!(found.len(), 1);
        let f = &found[0];
        assert_eq!(f.what, "race condition between a write and a read");
        assert_eq!((f.level, f.count, f.samples.len()), (Level::Error, 4096, 0));
        assert_eq!(f.place, at("reverse", "race.cu", 8));
        assert_eq!(f.other, Some(("read".into(), at("reverse", "race.cu", 9))));
    }

    #[test]
    fn barriers_in_divergent_code_are_errors_though_no_level_stands_there() {
        let found = group(parse(Tool::Synccheck, SYNC).unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "Barrier error: Divergent thread(s) in warp");
        assert_eq!((found[0].level, found[0].count), (Level::Error, 3));
        assert_eq!(found[0].place, at("half_waits", "sync.cu", 10));
    }

    #[test]
    fn nothing_found_is_an_empty_report_and_no_report_is_none() {
        assert_eq!(parse(Tool::Initcheck, NOTHING), Ok(vec![]));
        for text in ["", "========= COMPUTE-SANITIZER", &OOB[..OOB.len() / 2]] {
            assert!(matches!(parse(Tool::Memcheck, text), Err(Unreadable::Xml(_))), "{text}");
        }
        assert_eq!(parse(Tool::Memcheck, "<html/>"), Err(Unreadable::Other("html".into())));
    }

    #[test]
    fn a_record_of_an_unknown_kind_is_a_finding() {
        let odd = "<ComputeSanitizerOutput><record><kind>Novel</kind></record></ComputeSanitizerOutput>";
        let found = parse(Tool::Memcheck, odd).unwrap();
        assert_eq!((found.len(), found[0].what.as_str(), found[0].level), (1, "Novel", Level::Error));
    }

    #[test]
    fn the_order_of_records_does_not_matter() {
        let mut found = parse(Tool::Memcheck, OOB).unwrap();
        let straight = group(found.clone());
        found.reverse();
        assert_eq!(group(found), straight);
    }
}
