//! Cases that go through two stages at once: processors interpret the next ones while each GPU is busy with one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

/// Work in two stages. `first` runs on `ahead` threads, `second` on one thread for each of `lanes`; `done` is called on
/// this thread, in the order in which cases are finished.
///
/// A case that `first` finishes by itself is an `Err`, which goes straight to `done`.
pub fn run<T: Sync, Half: Send, End: Send, Lane: Sync>(
    cases: &[T],
    (ahead, lanes): (usize, &[Lane]),
    first: impl Fn(&T) -> Result<Half, End> + Sync,
    second: impl Fn(&Lane, &T, Half) -> End + Sync,
    mut done: impl FnMut(usize, End),
) {
    let next = AtomicUsize::new(0);
    // What waits is held in memory, so that few wait.
    let (give, take) = mpsc::sync_channel::<(usize, Half)>(lanes.len().max(1));
    let take = Mutex::new(take);
    let (say, hear) = mpsc::channel::<(usize, End)>();
    std::thread::scope(|scope| {
        for _ in 0..ahead.max(1) {
            let (give, say) = (give.clone(), say.clone());
            let (next, first) = (&next, &first);
            scope.spawn(move || {
                while let Some((n, case)) = claim(next, cases) {
                    match first(case) {
                        Ok(half) => drop(give.send((n, half))),
                        Err(end) => drop(say.send((n, end))),
                    }
                }
            });
        }
        drop(give);
        for lane in lanes {
            let say = say.clone();
            let (take, second) = (&take, &second);
            scope.spawn(move || {
                loop {
                    let waiting = take.lock().map(|t| t.recv());
                    let Ok(Ok((n, half))) = waiting else { return };
                    if let Some(case) = cases.get(n) {
                        drop(say.send((n, second(lane, case, half))));
                    }
                }
            });
        }
        drop(say);
        while let Ok((n, end)) = hear.recv() {
            done(n, end);
        }
    });
}

fn claim<'c, T>(next: &AtomicUsize, cases: &'c [T]) -> Option<(usize, &'c T)> {
    let n = next.fetch_add(1, Ordering::Relaxed);
    cases.get(n).map(|case| (n, case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_goes_through_both_stages_once() {
        for (ahead, lanes) in [(1, 1), (3, 1), (2, 4), (0, 1)] {
            let cases: Vec<usize> = (0..100).collect();
            let lanes: Vec<usize> = (0..lanes).collect();
            let mut ends = vec![0usize; cases.len()];
            run(
                &cases,
                (ahead, &lanes),
                |c| if c % 7 == 0 { Err(1) } else { Ok(c * 2) },
                |_, c, half| if half == c * 2 { 2 } else { 3 },
                |n, end| ends[n] += end,
            );
            let expected: Vec<usize> = cases.iter().map(|c| if c % 7 == 0 { 1 } else { 2 }).collect();
            assert_eq!(ends, expected);
        }
    }
}
