//! Registers, spills, shared memory and occupancy of an original and a candidate side by side.

use super::occupancy::{self, DoesNotFit, Occupancy};
use super::ptxas::KernelResources;

/// How both kernels are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Threads per block.
    pub threads: u32,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    pub what: &'static str,
    pub before: String,
    pub after: String,
    pub change: Change,
}

/// Which way a figure went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Same,
    Better,
    Worse,
    /// One of the two is not known.
    Unknown,
}

/// The table for one architecture.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Comparison {
    pub arch: String,
    pub rows: Vec<Row>,
    pub occupancy: (Option<Occupancy>, Option<Occupancy>),
    /// Why a block of the candidate cannot run at all.
    pub does_not_fit: Option<String>,
}

impl Comparison {
    /// What became worse, to be called out.
    pub fn rises(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|r| r.change == Change::Worse)
    }

    /// The table as aligned text.
    pub fn text(&self) -> String {
        let widths = self.rows.iter().fold((0, 6, 5), |(a, b, c), r| {
            (a.max(r.what.len()), b.max(r.before.chars().count()), c.max(r.after.chars().count()))
        });
        let mut out = format!(
            "{:<w0$}  {:>w1$}  {:>w2$}\n",
            self.arch,
            "before",
            "after",
            w0 = widths.0,
            w1 = widths.1,
            w2 = widths.2
        );
        for row in &self.rows {
            let mark = if row.change == Change::Worse { "  worse" } else { "" };
            let (w0, w1, w2) = widths;
            out += &format!("{:<w0$}  {:>w1$}  {:>w2$}{mark}\n", row.what, row.before, row.after);
        }
        if let Some(reason) = &self.does_not_fit {
            out += &format!("the candidate cannot run: {reason}\n");
        }
        out
    }
}

/// Compares the kernels of an original and a candidate, each with its launch.
pub fn compare(
    arch: &str,
    original: (&KernelResources, BlockShape),
    candidate: (&KernelResources, BlockShape),
) -> Comparison {
    let of = |(kernel, shape): (&KernelResources, BlockShape)| -> Option<Result<Occupancy, DoesNotFit>> {
        let limits = occupancy::limits(arch)?;
        Some(occupancy::of_kernel(limits, kernel, shape.threads, shape.dynamic_shared))
    };
    let (before, after) = (of(original), of(candidate));
    let (a, b) = (original.0, candidate.0);
    let shared = |(k, s): (&KernelResources, BlockShape)| k.shared.saturating_add(s.dynamic_shared);
    let mut rows = vec![
        less_is_better("registers per thread", a.registers, b.registers),
        less_is_better("spill stores, bytes", a.spill_stores, b.spill_stores),
        less_is_better("spill loads, bytes", a.spill_loads, b.spill_loads),
        less_is_better("shared memory, bytes", shared(original), shared(candidate)),
        less_is_better("stack frame, bytes", a.stack, b.stack),
    ];
    rows.push(occupancy_row(before.as_ref(), after.as_ref()));
    rows.push(limiter_row(before.as_ref(), after.as_ref()));
    let does_not_fit = after.as_ref().and_then(|r| r.as_ref().err()).map(ToString::to_string);
    let known = |r: Option<Result<Occupancy, DoesNotFit>>| r.and_then(Result::ok);
    Comparison { arch: arch.to_owned(), rows, occupancy: (known(before), known(after)), does_not_fit }
}

fn less_is_better(what: &'static str, before: u32, after: u32) -> Row {
    let change = match after.cmp(&before) {
        std::cmp::Ordering::Less => Change::Better,
        std::cmp::Ordering::Equal => Change::Same,
        std::cmp::Ordering::Greater => Change::Worse,
    };
    Row { what, before: before.to_string(), after: after.to_string(), change }
}

type Answer<'a> = Option<&'a Result<Occupancy, DoesNotFit>>;

fn occupancy_row(before: Answer<'_>, after: Answer<'_>) -> Row {
    let text = |o: Answer<'_>| match o {
        Some(Ok(o)) => format!("{:.0} % ({} of {} warps)", o.percent(), o.warps, o.max_warps),
        Some(Err(_)) => "does not fit".to_owned(),
        None => "not known".to_owned(),
    };
    let warps = |o: Answer<'_>| o.map(|o| o.as_ref().map_or(0, |o| o.warps));
    let change = match (warps(before), warps(after)) {
        (Some(a), Some(b)) if a == b => Change::Same,
        (Some(a), Some(b)) if a < b => Change::Better,
        (Some(_), Some(_)) => Change::Worse,
        _ => Change::Unknown,
    };
    Row { what: "occupancy", before: text(before), after: text(after), change }
}

fn limiter_row(before: Answer<'_>, after: Answer<'_>) -> Row {
    let text = |o: Answer<'_>| match o {
        Some(Ok(o)) => format!("{} blocks, {}", o.blocks, o.limiter),
        _ => "-".to_owned(),
    };
    Row { what: "limited to, by", before: text(before), after: text(after), change: Change::Same }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(registers: u32, spill: u32, shared: u32) -> KernelResources {
        KernelResources { registers, spill_stores: spill, spill_loads: spill, shared, ..KernelResources::default() }
    }

    #[test]
    fn a_rise_is_called_out_and_a_fall_is_not() {
        let shape = BlockShape { threads: 256, dynamic_shared: 0 };
        let table = compare("sm_80", (&kernel(32, 0, 2048), shape), (&kernel(72, 16, 1024), shape));
        let worse: Vec<_> = table.rises().map(|r| r.what).collect();
        assert_eq!(worse, ["registers per thread", "spill stores, bytes", "spill loads, bytes", "occupancy"]);
        let text = table.text();
        assert!(text.contains("100 % (64 of 64 warps)") && text.contains("38 % (24 of 64 warps)  worse"), "{text}");
        assert_eq!(compare("sm_80", (&kernel(72, 0, 0), shape), (&kernel(32, 0, 0), shape)).rises().count(), 0);
    }

    #[test]
    fn what_cannot_run_or_is_not_known_is_said() {
        let shape = BlockShape { threads: 1024, dynamic_shared: 0 };
        let table = compare("sm_80", (&kernel(32, 0, 0), shape), (&kernel(128, 0, 0), shape));
        assert!(table.text().contains("cannot run"), "{}", table.text());
        let unknown = compare("sm_52", (&kernel(32, 0, 0), shape), (&kernel(32, 0, 0), shape));
        assert!(unknown.text().contains("not known") && unknown.rises().count() == 0);
    }
}
