//! Near names for "did you mean".

/// The candidate closest to `name` by edit distance, if it is close enough to be a slip of the hand: a third of the
/// name's length, so that names of one or two letters have none. Ties go to the first in order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count() / 3;
    if limit == 0 {
        return None;
    }
    let own = letters(name);
    // One edit brings in one letter at most, and takes one away.
    let may_be_near = |c: &str| {
        let other = letters(c);
        (own & !other).count_ones().max((other & !own).count_ones()) as usize <= limit
    };
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(name.len()) <= limit + 1 && may_be_near(c))
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit && *d > 0)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Which letters, digits and underscores stand in a name, one bit for each, in either case; others have none.
fn letters(name: &str) -> u64 {
    let bit = |c: char| match c {
        c @ 'a'..='z' => 1 << (c as u32 - 'a' as u32),
        c @ '0'..='9' => 1 << (26 + c as u32 - '0' as u32),
        '_' => 1 << 36,
        _ => 0,
    };
    name.chars().take(64).flat_map(char::to_lowercase).fold(0, |all, c| all | bit(c))
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

    #[test]
    fn a_look_at_the_letters_rules_out_no_slip() {
        let words = [
            "requires",
            "require",
            "Pays",
            "pay5",
            "paths",
            "effects",
            "effect_",
            "t\u{fc}ne",
            "tune",
            "tunes",
            "in",
            "im",
        ];
        for name in words {
            let limit = name.chars().count() / 3;
            let all = words.iter().map(|c| (distance(name, c), *c)).filter(|(d, _)| *d <= limit && *d > 0);
            let near = all.filter(|(_, c)| c.len().abs_diff(name.len()) <= limit + 1).min_by_key(|(d, _)| *d);
            assert_eq!(nearest(name, words), near.map(|(_, c)| c), "{name}");
        }
        assert_eq!(nearest("REQUIRE", words), Some("requires"), "case does not count");
    }
}
