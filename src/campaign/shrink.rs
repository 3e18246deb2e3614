//! Makes a failing program small: the record of its choices is shortened and its numbers lowered for as long as the
//! program that it makes still fails in the same way.

use super::{Failure, Skills, generate, run_programs};
use crate::compile::CompileGate;
use crate::compile::nvrtc::NvrtcError;

/// A smaller program with the same kind of failure under the same skills; the given one if there is none. `tries` limits
/// how many programs are compiled.
///
/// # Errors
/// When the compiler could not be asked.
pub fn shrink(failure: &Failure, skills: &Skills, gate: &CompileGate, tries: usize) -> Result<Failure, NvrtcError> {
    let mut search = Search { best: failure.clone(), skills, gate, left: tries };
    // As long as a whole round makes it smaller.
    loop {
        let before = search.best.record.clone();
        search.shorten()?;
        search.lower()?;
        if search.left == 0 || search.best.record == before {
            return Ok(search.best);
        }
    }
}

struct Search<'a> {
    best: Failure,
    skills: &'a Skills<'a>,
    gate: &'a CompileGate,
    left: usize,
}

/// Programs that are tried in one compile.
const TOGETHER: usize = 12;

impl Search<'_> {
    /// The first of the records that still fails becomes the best one.
    fn first_failing(&mut self, records: &[Vec<u32>]) -> Result<bool, NvrtcError> {
        for some in records.chunks(TOGETHER) {
            let some = &some[..some.len().min(self.left)];
            if some.is_empty() {
                return Ok(false);
            }
            self.left -= some.len();
            let seed = self.best.seed;
            let programs: Vec<_> = some.iter().map(|r| generate::replay(r, seed)).collect();
            let report = run_programs(programs, self.skills, self.gate)?;
            let same = |f: &&Failure| f.kind == self.best.kind && f.skills == self.best.skills;
            let smaller = |f: &&Failure| size(&f.record) < size(&self.best.record);
            if let Some(found) = report.failures.iter().filter(same).find(smaller) {
                self.best = found.clone();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Drops runs of choices, long ones first.
    fn shorten(&mut self) -> Result<(), NvrtcError> {
        let mut length = self.best.record.len().div_ceil(2);
        while length > 0 && self.left > 0 {
            let record = self.best.record.clone();
            let without = |at: usize| {
                let mut r = record.clone();
                r.drain(at..(at + length).min(r.len()));
                r
            };
            let candidates: Vec<_> = (0..record.len()).step_by(length).map(without).collect();
            if !self.first_failing(&candidates)? {
                length /= 2;
            }
        }
        Ok(())
    }

    /// Lowers single choices: to 0, or to half.
    fn lower(&mut self) -> Result<(), NvrtcError> {
        let mut at = 0;
        while at < self.best.record.len() && self.left > 0 {
            let value = self.best.record[at];
            let with = |v: u32| {
                let mut r = self.best.record.clone();
                r[at] = v;
                r
            };
            let mut candidates = vec![];
            if value > 0 {
                candidates.push(with(0));
            }
            if value > 1 {
                candidates.extend([with(value / 2), with(value - 1)]);
            }
            if candidates.is_empty() || !self.first_failing(&candidates)? {
                at += 1;
            }
        }
        Ok(())
    }
}

/// Shorter is smaller; of records of one length, the one with the smaller numbers.
fn size(record: &[u32]) -> (usize, u64) {
    (record.len(), record.iter().map(|n| u64::from(*n)).sum())
}
