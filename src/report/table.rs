//! Counters of both sides, row by row. They are what the interpreter counted; a device caches, schedules and fuses.

use crate::gate::Counters;
use crate::ptx::{Class, Counts};

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRow {
    pub what: &'static str,
    pub before: f64,
    pub after: f64,
    /// Digits behind the point.
    pub digits: usize,
}

impl CounterRow {
    pub fn show(&self, value: f64) -> String {
        if self.digits == 0 { group(value as u64) } else { format!("{value:.*}", self.digits) }
    }

    /// `x0.50` and the like; nothing where there is nothing to compare.
    pub fn ratio(&self) -> String {
        if self.before == self.after {
            "same".into()
        } else if self.before == 0.0 {
            "new".into()
        } else {
            format!("x{:.2}", self.after / self.before)
        }
    }
}

/// Digits in groups of three.
pub fn group(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// The rows in which either side counted something.
pub fn counter_rows(before: &Counts, after: &Counts) -> Vec<CounterRow> {
    let bytes_per = |c: &Counts| {
        if c.global_sectors == 0 { 0.0 } else { 100.0 * c.global_bytes as f64 / (32.0 * c.global_sectors as f64) }
    };
    let conflicts =
        |c: &Counts| if c.shared_requests == 0 { 0.0 } else { c.shared_wavefronts as f64 / c.shared_requests as f64 };
    type Of<'a> = Box<dyn Fn(&Counts) -> f64 + 'a>;
    let count = |f: fn(&Counts) -> u64| -> Of { Box::new(move |c| f(c) as f64) };
    let class = |k: Class| -> Of { Box::new(move |c: &Counts| c.class(k) as f64) };
    let rows: Vec<(&'static str, Of, usize)> = vec![
        ("warp instructions", count(|c| c.instructions), 0),
        ("active lanes per instruction", Box::new(Counts::active_lanes), 1),
        ("floating-point operations", count(|c| c.flops), 0),
        ("global requests", count(|c| c.global_requests), 0),
        ("global sectors (32 bytes)", count(|c| c.global_sectors), 0),
        ("sectors per request", Box::new(Counts::sectors_per_request), 2),
        ("bytes asked for / sector bytes, %", Box::new(bytes_per), 1),
        ("shared requests", count(|c| c.shared_requests), 0),
        ("shared wavefronts", count(|c| c.shared_wavefronts), 0),
        ("wavefronts per request", Box::new(conflicts), 2),
        ("special functions", class(Class::Special), 0),
        ("matrix instructions", class(Class::Matrix), 0),
        ("barriers and fences", class(Class::Synchronise), 0),
        ("shuffles and votes", class(Class::Exchange), 0),
        ("atomics", class(Class::Atomic), 0),
        ("local memory accesses", Box::new(|c| (c.class(Class::LocalLoad) + c.class(Class::LocalStore)) as f64), 0),
    ];
    let row =
        |(what, f, digits): (&'static str, Of, usize)| CounterRow { what, before: f(before), after: f(after), digits };
    rows.into_iter().map(row).filter(|r| r.before != 0.0 || r.after != 0.0).collect()
}

/// Unique bytes read and written of each buffer, original and candidate; a buffer counts all launches.
pub fn traffic_rows(before: &Counters, after: &Counters) -> Vec<(String, [u64; 4])> {
    let mut found: Vec<(String, [u64; 4])> = vec![];
    for (n, side) in [before, after].iter().enumerate() {
        for t in &side.traffic {
            let at = match found.iter().position(|(name, _)| *name == t.allocation) {
                Some(at) => at,
                None => {
                    found.push((t.allocation.clone(), [0; 4]));
                    found.len() - 1
                }
            };
            if let Some((_, row)) = found.get_mut(at) {
                row[2 * n] += t.read;
                row[2 * n + 1] += t.written;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_with_something_in_them_are_shown() {
        let a = Counts { instructions: 1_234_567, lanes: 32 * 1_234_567, ..Counts::default() };
        let b = Counts { instructions: 617_284, lanes: 617_284 * 16, ..Counts::default() };
        let rows = counter_rows(&a, &b);
        let names: Vec<_> = rows.iter().map(|r| r.what).collect();
        assert_eq!(names, ["warp instructions", "active lanes per instruction"]);
        assert_eq!((rows[0].show(rows[0].before), rows[0].ratio()), ("1,234,567".into(), "x0.50".into()));
        assert_eq!((rows[1].show(rows[1].after), rows[1].show(32.0)), ("16.0".into(), "32.0".into()));
    }
}
