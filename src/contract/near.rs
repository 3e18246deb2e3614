//! "Did you mean": the nearest of some names.

/// The candidate that differs from `name` by the fewest letters, where that is at most a third of them. Ties go to the
/// first.
pub fn near<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (name.chars().count() / 3).max(1);
    let close =
        candidates.into_iter().map(|c| (edits(name, c), c)).filter(|(d, c)| *d > 0 && *d <= most && c.len() > 1);
    close.min_by_key(|(d, _)| *d).map(|(_, c)| c)
}

/// Insertions, removals, replacements and swaps of neighbours that turn one word into the other.
fn edits(a: &str, b: &str) -> usize {
    let lower = |s: &str| -> Vec<char> { s.chars().take(64).flat_map(char::to_lowercase).collect() };
    let (a, b) = (lower(a), lower(b));
    let mut before: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (at(&last, j) + usize::from(x != y)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn finds_slips_and_no_more() {
        let names = ["shape", "role", "dtype", "samples"];
        for (wrong, right) in [("shpae", Some("shape")), ("sample", Some("samples")), ("dtyp", Some("dtype"))] {
            assert_eq!(near(wrong, names), right, "{wrong}");
        }
        for none in ["shape", "tolerance", ""] {
            assert_eq!(near(none, names), None, "{none}");
        }
    }
}
