//! Near names for "did you mean".

/// The candidate closest to `name` by edit distance, if it is close enough to be a slip of the hand: a third of the
/// name's length, so that names of one or two letters have none. Ties go to the first in order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count() / 3;
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(name.len()) <= limit + 1)
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit && *d > 0)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Edit distance with insertion, removal, replacement and the swap of two neighbours; names are cut at 64 characters.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + same);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_no_more() {
        let names = ["stride", "aligned", "divides", "trip"];
        assert_eq!(nearest("strid", names), Some("stride"));
        assert_eq!(nearest("algined", names), Some("aligned"));
        assert_eq!(nearest("stride", names), None);
        assert_eq!(nearest("bank", names), None);
    }
}
