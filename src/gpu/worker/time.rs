//! Versions of a computation that take turns: what they answer, how long they take, what they answer afterwards.

use std::collections::BTreeMap;

use super::super::driver::{Context, DeviceMemory, Function, Module};
use super::super::job::Step;
use super::super::timing::{Answer, Difference, Policy, Timed, Timing, When};
use super::clock::{self, Watch};
use super::samples::{Plans, sample_all};
use super::sets::{Set, Sources, Version};
use super::tools::{self, Tools};
use super::{Trouble, images, name, nonsense, other, run};

/// Of an answer that differs at most so many bytes are sent back.
const WINDOW: u64 = 128 << 20;
/// Where a window begins is a multiple of this, so that no element is cut.
const GRAIN: u64 = 4096;
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
    book.keep(context, &versions)?;
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
        spoiled: spoiled(&versions, &bench)?,
        guards: guards(&versions)?,
        notes: book.notes,
    };
    Ok((timed, book.sent))
}

/// Places that no run may change and that are others than before.
fn spoiled(versions: &[Version], bench: &Bench) -> Result<Vec<(u32, usize)>, Trouble> {
    let mut found = vec![];
    for version in versions {
        let set = version.set(0)?;
        for (n, (place, at)) in version.arm.places.iter().zip(&set.placed).enumerate().filter(|(_, (p, _))| !p.restored)
        {
            let Some(source) = bench.sources.of(place, set.contents) else { continue };
            if !bench.tools.are_equal((&at.memory, at.first), (source, 0), place.buffer.bytes)? {
                found.push((version.index as u32, n));
            }
        }
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

/// What the outputs were, and whether they still are. They are compared on the device, and only those that differ leave it.
#[derive(Default)]
pub struct Book<'a> {
    answers: Vec<Answer>,
    sent: Vec<Vec<u8>>,
    /// Of each arm and contents, copies of what the outputs were before timing.
    known: BTreeMap<(usize, usize), Vec<DeviceMemory<'a>>>,
    looked_at: u32,
    pub notes: Vec<String>,
}

impl<'a> Book<'a> {
    /// Runs each version once with all contents, and compares with the first version.
    fn compare(&mut self, versions: &[Version], bench: &Bench, when: When) -> Result<(), Trouble> {
        let kinds = versions.iter().map(Version::kinds).max().unwrap_or(1);
        for contents in 0..kinds {
            for version in versions {
                once(version, contents, bench)?;
                if version.index > 0 {
                    self.enter(versions, version, version.set(contents)?, bench, when)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps what the outputs are now.
    fn keep(&mut self, context: &'a Context, versions: &[Version]) -> Result<(), Trouble> {
        for version in versions {
            for set in version.sets.iter().take(version.kinds()) {
                let mut copies = vec![];
                for (place, at) in version.outputs(set) {
                    let copy = other("allocating memory for answers", context.allocate(place.buffer.bytes))?;
                    copy.copy_from(0, &at.memory, at.first, place.buffer.bytes)?;
                    copies.push(copy);
                }
                self.known.insert((version.index, set.contents), copies);
            }
        }
        // As in `Sources::new`.
        Ok(context.synchronize()?)
    }

    /// Enters outputs of a version beside those that the first one has for the same contents.
    fn enter(
        &mut self,
        versions: &[Version],
        version: &Version,
        set: &Set,
        bench: &Bench,
        when: When,
    ) -> Result<(), Trouble> {
        let Some(original) = versions.first() else { return Ok(()) };
        let (arm, contents) = (version.index as u32, set.contents as u32);
        let both = original.outputs(original.set(set.contents)?).zip(version.outputs(set));
        for (output, ((place, first), (_, own))) in both.enumerate() {
            let bytes = place.buffer.bytes;
            let same = |offset: u64, bytes: u64| {
                bench.tools.are_equal((&first.memory, first.first + offset), (&own.memory, own.first + offset), bytes)
            };
            let mut differing = None;
            if !same(0, bytes)? {
                let (from, length) = if bytes <= WINDOW { (0, bytes) } else { window(bytes, &same)? };
                let parts = (self.sent.len(), self.sent.len() + 1);
                self.sent.push(other("reading memory", first.memory.read(first.first + from, length))?);
                self.sent.push(other("reading memory", own.memory.read(own.first + from, length))?);
                differing = Some(Difference { parts, from, is_window: length < bytes });
            }
            self.answers.push(Answer { arm, output, contents, when, differing });
        }
        Ok(())
    }

    /// Looks at the outputs in a set that was just timed. Where they are others than before, the first version is asked
    /// again, too.
    pub fn look(&mut self, versions: &[Version], at: usize, set: &Set, bench: &Bench) -> Result<(), Trouble> {
        let Some(version) = versions.get(at) else { return Ok(()) };
        self.looked_at += 1;
        let during = self.answers.iter().filter(|a| a.when == When::During).count();
        let Some(known) = self.known.get(&(at, set.contents)).filter(|_| during < MOST_DURING) else { return Ok(()) };
        for ((place, own), known) in version.outputs(set).zip(known) {
            if !bench.tools.are_equal((&own.memory, own.first), (known, 0), place.buffer.bytes)? {
                if let Some(original) = versions.first().filter(|_| at > 0) {
                    once(original, set.contents, bench)?;
                    self.enter(versions, version, set, bench, When::During)?;
                }
                break;
            }
        }
        Ok(())
    }
}

/// The first bytes that differ, and as many as go into a window: where it begins, and its length. `same` compares a range.
fn window(bytes: u64, same: &dyn Fn(u64, u64) -> Result<bool, Trouble>) -> Result<(u64, u64), Trouble> {
    // The first difference lies at or after `low` and before `high`.
    let (mut low, mut high) = (0, bytes);
    while high - low > GRAIN {
        let middle = low + (high - low).div_ceil(2).div_ceil(GRAIN) * GRAIN;
        if middle >= high {
            break;
        }
        if same(low, middle - low)? { low = middle } else { high = middle }
    }
    Ok((low, WINDOW.min(bytes - low)))
}

/// A run with these contents.
fn once(version: &Version, contents: usize, bench: &Bench) -> Result<(), Trouble> {
    let stream = &bench.tools.stream;
    let set = version.set(contents)?;
    version.prepare(stream, bench.sources, set)?;
    version.run(stream, set)?;
    version.wait(stream)
}
