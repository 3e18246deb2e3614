//! Pages that `ncu --csv` prints: `raw`, one row for each launch, and `source`, one table for each function.
//!
//! Fields are quoted and their quotes are not doubled, so that a source line with quotes in it is no CSV: fields end where
//! a quote, a comma and a quote stand together, and what is too much belongs to the source text.

use super::{Launch, Line, is_kept};

/// Why a page says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("its page has no table")]
    NoTable,
    #[error("a row of its page has {there} fields, its head {head}")]
    Row { there: usize, head: usize },
    #[error("`{text}` stands where a number of {metric} should")]
    Number { metric: String, text: String },
    #[error("the unit of {metric} is `{unit}`, which is not known")]
    Unit { metric: String, unit: String },
}

fn fields(line: &str) -> Option<Vec<&str>> {
    Some(line.strip_prefix('"')?.strip_suffix('"')?.split("\",\"").collect())
}

/// Launches of the page `raw`, in their order. Lines before the head are remarks of the tool.
///
/// # Errors
/// See [`Unreadable`].
pub fn launches(page: &str) -> Result<Vec<Launch>, Unreadable> {
    let mut rows = page.lines().skip_while(|l| !l.starts_with("\"ID\",")).map_while(fields);
    let (Some(head), Some(units)) = (rows.next(), rows.next()) else { return Err(Unreadable::NoTable) };
    let of_head = |row: &[&str]| match row.len() == head.len() {
        true => Ok(()),
        false => Err(Unreadable::Row { there: row.len(), head: head.len() }),
    };
    of_head(&units)?;
    let mut found = vec![];
    for row in rows {
        of_head(&row)?;
        let mut launch = Launch::default();
        for ((name, unit), text) in head.iter().zip(&units).zip(&row) {
            if *name == "Kernel Name" {
                launch.kernel = (*text).to_owned();
            }
            // A metric that this device does not have is an empty field.
            if is_kept(name) && !text.is_empty() && *text != "n/a" {
                let factor =
                    scale(unit).ok_or_else(|| Unreadable::Unit { metric: (*name).into(), unit: (*unit).into() })?;
                let value =
                    number(text).ok_or_else(|| Unreadable::Number { metric: (*name).into(), text: (*text).into() })?;
                launch.metrics.insert((*name).to_owned(), value * factor);
            }
        }
        found.push(launch);
    }
    Ok(found)
}

/// Numbers have commas between thousands.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok().filter(|v: &f64| v.is_finite())
}

/// Factor to bytes, seconds, percent or a count.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "%" | "byte" | "s" | "second" | "inst" | "sector" | "sectors" | "request" | "warp" | "cycle" | "SM"
        | "block" => 1.0,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        "Tbyte" => 1e12,
        "ns" | "nsecond" => 1e-9,
        "us" | "usecond" => 1e-6,
        "ms" | "msecond" => 1e-3,
        _ => return None,
    })
}

/// Lines of the page `source` in the view `cuda,sass`: rows that have a line number; those of machine code have none. A line
/// that several functions or launches share is there for each of them.
///
/// # Errors
/// [`Unreadable::NoTable`] where there is no function at all.
pub fn lines(page: &str) -> Result<Vec<Line>, Unreadable> {
    let (mut file, mut function, mut head): (String, String, Vec<&str>) = Default::default();
    let mut found = vec![];
    let mut tables = 0;
    for row in page.lines().filter_map(fields) {
        match row.as_slice() {
            ["File Path", path] => file = (*path).to_owned(),
            ["File Name", _] => {}
            ["Function Name", name] => function = (*name).to_owned(),
            ["Line No", ..] => {
                head = row;
                tables += 1;
            }
            _ => found.extend(line(&head, &row).map(|l| Line { file: file.clone(), function: function.clone(), ..l })),
        }
    }
    if tables == 0 { Err(Unreadable::NoTable) } else { Ok(found) }
}

fn line(head: &[&str], row: &[&str]) -> Option<Line> {
    let line: u32 = row.first()?.parse().ok()?;
    // Source text that looks like the end of a field is counted from the other end.
    let surplus = row.len().checked_sub(head.len())?;
    let value = |name: &str| {
        let at = head.iter().position(|h| *h == name)? + surplus;
        number(row.get(at)?)
    };
    let of = |name: &str| value(name).unwrap_or(0.0);
    let reasons = head.iter().filter(|h| h.starts_with("stall_") && !h.ends_with(')') && **h != "stall_selected");
    let mut stalls: Vec<(String, f64)> = reasons
        .filter_map(|h| Some((h.strip_prefix("stall_")?.to_owned(), value(h)?)))
        .filter(|(_, samples)| *samples > 0.0)
        .collect();
    stalls.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    // Without a metric the table is the source text alone.
    value("Instructions Executed")?;
    Some(Line {
        line,
        samples: of("# Samples"),
        instructions: of("Instructions Executed"),
        shared_wavefronts: of("L1 Wavefronts Shared"),
        shared_wavefronts_ideal: of("L1 Wavefronts Shared Ideal"),
        global_sectors: of("L2 Theoretical Sectors Global"),
        global_sectors_ideal: of("L2 Theoretical Sectors Global Ideal"),
        stalls,
        ..Line::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    const RAW: &str = include_str!("../../../tests/data/gpu/tools/ncu-raw.csv");
    const SOURCE: &str = include_str!("../../../tests/data/gpu/tools/ncu-source.csv");

    #[test]
    fn a_launch_has_its_metrics_in_base_units() {
        let found = launches(RAW).unwrap();
        assert_eq!(found.len(), 1);
        let l = &found[0];
        assert_eq!(l.kernel, "transpose(const float *, float *, int)");
        let near = |metric: &str, v: f64| assert!((l.get(metric).unwrap() / v - 1.0).abs() < 1e-6, "{metric}: {l:?}");
        near(DURATION, 123.776e-6);
        near(DRAM_READ, 67_118_336.0);
        near(DRAM_WRITTEN, 47_972_608.0);
        near(INSTRUCTIONS, 15_728_640.0);
        near(LOAD_SECTORS, 2_097_152.0);
        near(SHARED_WAVEFRONTS, 17_301_504.0);
        near(OCCUPANCY, 89.753527);
        near(MULTIPROCESSORS, 132.0);
        assert_eq!(l.get(L1_HITS), Some(0.0));
        assert!(METRICS.iter().all(|m| l.get(m).is_some()), "{l:?}");
        let stalls = l.stalls();
        let reasons: Vec<&str> = stalls.iter().take(2).map(|s| s.0.as_str()).collect();
        assert_eq!(reasons, ["short_scoreboard", "drain"]);
        assert!((stalls.iter().map(|s| s.1).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn lines_carry_counters_and_reasons() {
        let found = lines(SOURCE).unwrap();
        let numbers: Vec<u32> = found.iter().map(|l| l.line).collect();
        assert_eq!(numbers, [2, 8, 10, 11, 12, 13, 14, 15, 16, 17]);
        let store = found.iter().find(|l| l.line == 16).unwrap();
        assert_eq!(
            (store.file.as_str(), store.samples, store.instructions),
            ("kernels/transpose.cu", 6369.0, 3_670_016.0)
        );
        assert_eq!((store.shared_wavefronts, store.shared_wavefronts_ideal), (16_777_216.0, 524_288.0));
        assert_eq!((store.global_sectors, store.global_sectors_ideal), (2_097_152.0, 2_097_152.0));
        assert_eq!(store.stalls[0].0, "short_sb");
        let load = found.iter().find(|l| l.line == 2).unwrap();
        assert_eq!((load.global_sectors, load.shared_wavefronts), (2_097_152.0, 0.0));
    }

    #[test]
    fn source_text_with_quotes_and_commas_moves_nothing() {
        let odd = SOURCE.replace("__syncthreads();", "f(\"a\",\"b\",\"c\");");
        assert_ne!(odd, SOURCE);
        assert_eq!(lines(&odd), lines(SOURCE));
    }

    #[test]
    fn what_is_no_page_is_refused() {
        assert_eq!(launches(""), Err(Unreadable::NoTable));
        assert_eq!(launches("==ERROR== ERR_NVGPUCTRPERM\n"), Err(Unreadable::NoTable));
        assert_eq!(lines("==WARNING== nothing"), Err(Unreadable::NoTable));
        let cut = RAW.trim_end().rsplit_once("\",\"").unwrap().0.to_owned() + "\"\n";
        assert!(matches!(launches(&cut), Err(Unreadable::Row { .. })));
        let broken = RAW.replace("123.776000", "fast");
        assert!(matches!(launches(&broken), Err(Unreadable::Number { .. })));
        let unit = RAW.replace("\"us\"", "\"fortnight\"");
        assert!(matches!(launches(&unit), Err(Unreadable::Unit { .. })));
        assert_eq!(lines("\"Line No\",\"Source\"\n\"1\",\"int a;\"\n"), Ok(vec![]), "no counters, no lines");
    }
}
