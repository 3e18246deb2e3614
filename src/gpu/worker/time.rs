//! Versions of a computation that take turns: what they answer, how long they take, what they answer afterwards.

use std::collections::BTreeMap;

use super::super::driver::{Context, Function, Module};
use super::super::job::Step;
use super::super::timing::{Answer, Policy, Timed, Timing, When};
use super::clock::{self, Watch};
use super::samples::{Plans, sample_all};
use super::sets::{Set, Sources, Version};
use super::tools::{self, Tools};
use super::{Trouble, images, name, nonsense, run};

/// At most so many bytes of answers are read while timing, and so many differing answers are sent back.
const READ_WHILE_TIMING: u64 = 2 << 30;
const SENT_BACK: u64 = 3 << 30;
/// Samples with other answers that are kept; one would be enough.
const MOST_DURING: usize = 4;

pub fn time(context: &Context, timing: &Timing, parts: &[Vec<u8>]) -> Result<(Timed, Vec<Vec<u8>>), Trouble> {
    let mut modules: Vec<Vec<Module>> = vec![];
    for (n, arm) in timing.arms.iter().enumerate() {
        modules.push(images::load(context, &arm.kernels, parts, &|_| n)?);
    }
    let mut functions: Vec<Vec<Function>> = vec![];
    for (n, (arm, modules)) in timing.arms.iter().zip(&modules).enumerate() {
        for step in &arm.variables {
            let Step::Symbol { kernel, name, part } = step else { return Err(nonsense("a variable that is a step")) };
            run::set_variable(modules, parts, *kernel, name, *part)?;
        }
        functions.push(images::functions(modules, &arm.kernels, &|_| n)?);
    }
    let image = tools::image(context)?;
    let tools = Tools::new(context, &image)?;
    let sources = Sources::new(context, &timing.arms, parts)?;
    let mut versions: Vec<Version> = vec![];
    for (index, (arm, functions)) in timing.arms.iter().zip(&functions).enumerate() {
        let mut version = Version { index, arm, functions, sets: vec![] };
        for _ in 0..version.kinds() {
            version.add_set(context, &sources)?;
        }
        versions.push(version);
    }
    let nvml = clock::open();
    let (watch, unread) = Watch::new(&nvml, &context.bus()?);
    let mut book = Book::default();
    book.notes.extend(unread);
    if let Some(n) = watch.processes().filter(|n| *n > 1) {
        book.notes.push(format!("{} other processes compute on the device", n - 1));
    }
    let bench = Bench { tools: &tools, sources: &sources, policy: &timing.policy };
    book.compare(&versions, &bench, When::Before)?;
    let plans = Plans::new(context, &mut versions, &bench, &mut book.notes)?;
    let measured = sample_all(&versions, &plans, &bench, &watch, &mut book)?;
    book.compare(&versions, &bench, When::After)?;
    let timed = Timed {
        device: name(context),
        driver: context.driver.clone(),
        l2_bytes: tools.l2_bytes,
        empty: plans.empty,
        methods: plans.methods(),
        samples: measured.samples,
        retaken: measured.retaken,
        answers: book.answers,
        looked_at: book.looked_at,
        spoiled: spoiled(&versions, &sources)?,
        guards: guards(&versions)?,
        notes: book.notes,
    };
    Ok((timed, book.sent))
}

fn spoiled(versions: &[Version], sources: &Sources) -> Result<Vec<(u32, usize)>, Trouble> {
    let mut found = vec![];
    for version in versions {
        let places = version.spoiled(version.set(0)?, sources)?;
        found.extend(places.into_iter().map(|n| (version.index as u32, n)));
    }
    Ok(found)
}

fn guards(versions: &[Version]) -> Result<Vec<(u32, usize)>, Trouble> {
    let mut found = vec![];
    for version in versions {
        for set in &version.sets {
            for (n, (place, at)) in version.arm.places.iter().zip(&set.placed).enumerate() {
                let known = found.contains(&(version.index as u32, n));
                if !known && !at.is_guarded(&place.buffer)? {
                    found.push((version.index as u32, n));
                }
            }
        }
    }
    Ok(found)
}

/// What every part of a measurement uses.
pub struct Bench<'a> {
    pub tools: &'a Tools<'a>,
    pub sources: &'a Sources<'a>,
    pub policy: &'a Policy,
}

/// What the outputs were, and whether they still are.
#[derive(Default)]
pub struct Book {
    answers: Vec<Answer>,
    sent: Vec<Vec<u8>>,
    /// Of each arm and contents, what the outputs were before timing.
    known: BTreeMap<(usize, usize), Vec<blake3::Hash>>,
    looked_at: u32,
    bytes_read: u64,
    pub notes: Vec<String>,
}

impl Book {
    /// Runs each version once with all contents, and compares with the first version.
    fn compare(&mut self, versions: &[Version], bench: &Bench, when: When) -> Result<(), Trouble> {
        let kinds = versions.iter().map(Version::kinds).max().unwrap_or(1);
        for contents in 0..kinds {
            let mut first = vec![];
            for version in versions {
                let found = once(version, contents, bench)?;
                if when == When::Before {
                    self.known.insert((version.index, contents), hashes(&found));
                }
                match version.index {
                    0 => first = found,
                    arm => self.enter((arm, contents, when), &first, found),
                }
            }
        }
        Ok(())
    }

    /// Enters outputs of an arm beside those of the first.
    fn enter(&mut self, (arm, contents, when): (usize, usize, When), first: &[Vec<u8>], found: Vec<Vec<u8>>) {
        for (output, (own, reference)) in found.into_iter().zip(first).enumerate() {
            let mut differing = None;
            if own != *reference {
                let bytes: usize = self.sent.iter().map(Vec::len).sum();
                if (bytes + own.len() + reference.len()) as u64 > SENT_BACK {
                    self.notes.push(format!("an answer of arm {arm} differs and was too large to be looked at"));
                }
                differing = Some((self.sent.len(), self.sent.len() + 1));
                self.sent.push(reference.clone());
                self.sent.push(own);
            }
            self.answers.push(Answer { arm: arm as u32, output, contents: contents as u32, when, differing });
        }
    }

    /// Whether there is time to look at the outputs after a sample.
    pub fn may_look(&self, version: &Version) -> bool {
        self.bytes_read.saturating_add(version.answer_bytes()) <= READ_WHILE_TIMING
    }

    /// Looks at the outputs in a set that was just timed. Where they are others than before, the first version is asked
    /// again, too.
    pub fn look(&mut self, versions: &[Version], at: usize, set: &Set, bench: &Bench) -> Result<(), Trouble> {
        let Some(version) = versions.get(at) else { return Ok(()) };
        let found = version.answers(set)?;
        self.bytes_read = self.bytes_read.saturating_add(version.answer_bytes());
        self.looked_at += 1;
        let same = self.known.get(&(at, set.contents)).is_some_and(|known| *known == hashes(&found));
        let during = self.answers.iter().filter(|a| a.when == When::During).count();
        if same || during >= MOST_DURING {
            return Ok(());
        }
        let Some(original) = versions.first() else { return Ok(()) };
        let first = once(original, set.contents, bench)?;
        self.enter((at, set.contents, When::During), &first, found);
        Ok(())
    }
}

fn hashes(answers: &[Vec<u8>]) -> Vec<blake3::Hash> {
    answers.iter().map(|bytes| blake3::hash(bytes)).collect()
}

/// The outputs of a run with these contents.
fn once(version: &Version, contents: usize, bench: &Bench) -> Result<Vec<Vec<u8>>, Trouble> {
    let stream = &bench.tools.stream;
    let set = version.set(contents)?;
    version.prepare(stream, bench.sources, set)?;
    version.run(stream, set)?;
    version.wait(stream)?;
    version.answers(set)
}
