//! One version with its buffers in several sets: other addresses, and as far as there are parts other contents.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::super::driver::{Context, DeviceMemory, Function, Stream};
use super::super::job::{GUARD, Stage, Start, Step};
use super::super::timing::{Arm, Place};
use super::images::launch;
use super::memory::{Around, Placed, reserve};
use super::{Trouble, failed, nonsense, other};

/// Contents in device memory, from which buffers are filled and put back; all arms use the same.
pub struct Sources<'a>(BTreeMap<(usize, u64), DeviceMemory<'a>>);

impl<'a> Sources<'a> {
    pub fn new(context: &'a Context, arms: &[Arm], parts: &[Vec<u8>]) -> Result<Sources<'a>, Trouble> {
        let mut found = BTreeMap::new();
        for place in arms.iter().flat_map(|a| &a.places) {
            for part in &place.contents {
                if let Entry::Vacant(new) = found.entry((*part, place.buffer.bytes)) {
                    let bytes = parts.get(*part).ok_or_else(|| nonsense("a buffer without contents"))?;
                    new.insert(repeated(context, bytes, place.buffer.bytes)?);
                }
            }
        }
        // The stream of the measurement does not wait for the default one, which was used here.
        context.synchronize()?;
        Ok(Sources(found))
    }

    pub fn of(&self, place: &Place, contents: usize) -> Option<&DeviceMemory<'a>> {
        let part = place.contents.get(contents % place.contents.len().max(1))?;
        self.0.get(&(*part, place.buffer.bytes))
    }
}

/// Memory of `whole` bytes that holds `bytes` again and again.
fn repeated<'a>(context: &'a Context, bytes: &[u8], whole: u64) -> Result<DeviceMemory<'a>, Trouble> {
    let memory = other(&format!("allocating {whole} bytes"), context.allocate(whole))?;
    let first = bytes.get(..usize::try_from(whole).unwrap_or(usize::MAX)).unwrap_or(bytes);
    if first.is_empty() && whole > 0 {
        return Err(nonsense("a buffer without contents"));
    }
    memory.write(0, first)?;
    let mut done = first.len() as u64;
    while done < whole {
        let more = done.min(whole - done);
        memory.copy_from(done, &memory, 0, more)?;
        done += more;
    }
    Ok(memory)
}

/// The buffers of a run.
pub struct Set<'a> {
    pub placed: Vec<Placed<'a>>,
    /// Which contents it has.
    pub contents: usize,
}

/// A version that is timed.
pub struct Version<'a> {
    /// Index of the arm, which is blamed for what fails.
    pub index: usize,
    pub arm: &'a Arm,
    pub functions: &'a [Function<'a>],
    pub sets: Vec<Set<'a>>,
}

impl<'a> Version<'a> {
    /// How many contents there are.
    pub fn kinds(&self) -> usize {
        self.arm.places.iter().map(|p| p.contents.len()).max().unwrap_or(0).max(1)
    }

    /// Bytes of one set.
    pub fn bytes(&self) -> u64 {
        self.arm.places.iter().fold(0, |sum, p| sum.saturating_add(p.buffer.bytes))
    }

    /// Bytes that a set takes of the device.
    pub fn footprint(&self) -> u64 {
        self.bytes().saturating_add((2 * GUARD + 512).saturating_mul(self.arm.places.len() as u64))
    }

    /// Whether a second run in a row computes something else.
    pub fn accumulates(&self) -> bool {
        self.arm.places.iter().any(|p| p.restored && !p.contents.is_empty())
    }

    /// One more set, ready to be run.
    pub fn add_set(&mut self, context: &'a Context, sources: &Sources) -> Result<(), Trouble> {
        let contents = self.sets.len() % self.kinds();
        let mut placed = vec![];
        for place in &self.arm.places {
            let at = reserve(context, &place.buffer, Around::Guards)?;
            match sources.of(place, contents) {
                Some(source) => at.memory.copy_from(at.first, source, 0, place.buffer.bytes)?,
                None => at.memory.fill(at.first, place.buffer.bytes, byte(place))?,
            }
            placed.push(at);
        }
        // As in `Sources::new`.
        context.synchronize()?;
        self.sets.push(Set { placed, contents });
        Ok(())
    }

    pub fn set(&self, number: usize) -> Result<&Set<'a>, Trouble> {
        self.sets.get(number % self.sets.len().max(1)).ok_or_else(|| nonsense("a version without buffers"))
    }

    /// Puts back what runs change, and does what comes before a run.
    pub fn prepare(&self, stream: &Stream, sources: &Sources, set: &Set) -> Result<(), Trouble> {
        for (place, at) in self.arm.places.iter().zip(&set.placed).filter(|(p, _)| p.restored) {
            match sources.of(place, set.contents) {
                Some(source) => stream.copy((&at.memory, at.first), (source, 0), place.buffer.bytes)?,
                None => stream.fill(&at.memory, at.first, place.buffer.bytes, byte(place))?,
            }
        }
        self.take(stream, set, &self.arm.before)
    }

    /// One run.
    pub fn run(&self, stream: &Stream, set: &Set) -> Result<(), Trouble> {
        self.take(stream, set, &self.arm.steps)
    }

    fn take(&self, stream: &Stream, set: &Set, steps: &[Step]) -> Result<(), Trouble> {
        let at = |index: usize| set.placed.get(index).ok_or_else(|| nonsense("a step without buffer"));
        for step in steps {
            match step {
                Step::Launch(l) => {
                    launch(self.index, Some(stream), (self.functions, &self.arm.kernels), l, &set.placed)?;
                }
                Step::Fill { buffer, offset, bytes, byte } => {
                    let to = at(*buffer)?;
                    stream.fill(&to.memory, to.first.saturating_add(*offset), *bytes, *byte)?;
                }
                Step::Copy { from, from_offset, to, to_offset, bytes } => {
                    let (from, to) = (at(*from)?, at(*to)?);
                    let source = (&from.memory, from.first.saturating_add(*from_offset));
                    stream.copy((&to.memory, to.first.saturating_add(*to_offset)), source, *bytes)?;
                }
                _ => return Err(nonsense("a step that is not timed")),
            }
        }
        Ok(())
    }

    /// Waits for what was launched; a fault is this version's.
    pub fn wait(&self, stream: &Stream) -> Result<(), Trouble> {
        failed(self.index, Stage::Run, stream.synchronize())
    }

    /// The outputs in a set.
    pub fn outputs<'s>(&'s self, set: &'s Set<'a>) -> impl Iterator<Item = (&'s Place, &'s Placed<'a>)> {
        self.arm.places.iter().zip(&set.placed).filter(|(p, _)| p.answer)
    }
}

fn byte(place: &Place) -> u8 {
    match place.buffer.start {
        Start::Byte(byte) => byte,
        Start::Part(_) | Start::Undefined => 0,
    }
}
