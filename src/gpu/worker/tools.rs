//! What measuring needs beside the versions that are measured: a cache without their lines, events, and the cost of a
//! launch.

use super::super::driver::{Context, DeviceMemory, Event, Function, Module, Shape, Stream};
use super::{Trouble, other};

const IMAGE: &str = include_str!("tools.ptx");
/// A cold cache has read this many times its size of other memory.
const TIMES_L2: u64 = 2;

/// The image that the tools are in.
pub fn image(context: &Context) -> Result<Module<'_>, Trouble> {
    other("loading the kernel that empties the cache", context.load(IMAGE.as_bytes()))
}

pub struct Tools<'a> {
    pub stream: Stream<'a>,
    pub start: Event<'a>,
    pub end: Event<'a>,
    pub l2_bytes: u64,
    flush: Function<'a>,
    nothing: Function<'a>,
    compare_quads: Function<'a>,
    compare_bytes: Function<'a>,
    /// Is set where something differs.
    differs: DeviceMemory<'a>,
    other_lines: DeviceMemory<'a>,
    /// Blocks that fill the device.
    blocks: u32,
    context: &'a Context,
}

impl<'a> Tools<'a> {
    pub fn new(context: &'a Context, image: &'a Module<'a>) -> Result<Tools<'a>, Trouble> {
        let l2_bytes = context.l2_bytes()?.max(1 << 20);
        let bytes = TIMES_L2 * l2_bytes;
        let other_lines = other("allocating what empties the cache", context.allocate(bytes))?;
        other_lines.fill(0, bytes, 0)?;
        // Setting and copying go to the default stream, which no other one waits for.
        context.synchronize()?;
        let multiprocessors = u32::try_from(context.multiprocessors()?).unwrap_or(1).max(1);
        Ok(Tools {
            stream: context.stream()?,
            start: context.event()?,
            end: context.event()?,
            l2_bytes,
            flush: image.function("kopt_flush")?,
            nothing: image.function("kopt_nothing")?,
            compare_quads: image.function("kopt_compare_quads")?,
            compare_bytes: image.function("kopt_compare_bytes")?,
            differs: other("allocating memory", context.allocate(4))?,
            other_lines,
            blocks: 4 * multiprocessors,
            context,
        })
    }

    /// Leaves lines in the cache that nobody uses. It takes longer than the launches after it take to be queued.
    pub fn flush(&self) -> Result<(), Trouble> {
        self.context.reset_persisting_l2()?;
        self.read(&self.other_lines, TIMES_L2 * self.l2_bytes)
    }

    /// Reads memory that holds zeros, from its first byte.
    pub fn read(&self, memory: &DeviceMemory, bytes: u64) -> Result<(), Trouble> {
        let mut arguments = [memory.address().to_le_bytes().to_vec(), (bytes / 16).to_le_bytes().to_vec()];
        let shape =
            Shape { grid: [self.blocks, 1, 1], block: [512, 1, 1], shared: 0, cluster: None, cooperative: false };
        Ok(self.flush.launch(Some(&self.stream), &shape, &mut arguments, &[8, 8])?)
    }

    /// Whether two ranges of device memory hold the same bytes.
    pub fn are_equal(
        &self,
        (a, a_offset): (&DeviceMemory, u64),
        (b, b_offset): (&DeviceMemory, u64),
        bytes: u64,
    ) -> Result<bool, Trouble> {
        let (a, b) = (a.address().wrapping_add(a_offset), b.address().wrapping_add(b_offset));
        let whole = if a % 16 == 0 && b % 16 == 0 { bytes / 16 * 16 } else { 0 };
        self.stream.fill(&self.differs, 0, 4, 0)?;
        let shape =
            Shape { grid: [self.blocks, 1, 1], block: [512, 1, 1], shared: 0, cluster: None, cooperative: false };
        for (kernel, from, count) in
            [(&self.compare_quads, 0, whole / 16), (&self.compare_bytes, whole, bytes.saturating_sub(whole))]
        {
            if count > 0 {
                let numbers = [a.wrapping_add(from), b.wrapping_add(from), count, self.differs.address()];
                let mut arguments = numbers.map(|n: u64| n.to_le_bytes().to_vec());
                kernel.launch(Some(&self.stream), &shape, &mut arguments, &[8; 4])?;
            }
        }
        self.stream.synchronize()?;
        Ok(self.differs.read(0, 4)?.iter().all(|b| *b == 0))
    }

    fn launch_nothing(&self) -> Result<(), Trouble> {
        let shape = Shape { grid: [1, 1, 1], block: [32, 1, 1], shared: 0, cluster: None, cooperative: false };
        Ok(self.nothing.launch(Some(&self.stream), &shape, &mut [], &[])?)
    }

    /// Nanoseconds that the events are apart, waiting for the device.
    pub fn elapsed(&self) -> Result<f64, Trouble> {
        self.end.synchronize()?;
        Ok(self.end.since(&self.start)?)
    }

    /// What an empty kernel takes between two events, and as one of many in a graph.
    pub fn empty(&self) -> Result<(f64, f64), Trouble> {
        const MANY: usize = 100;
        let graph = self.stream.capture(|| (0..MANY).try_for_each(|_| self.launch_nothing()))?;
        let mut single = vec![];
        let mut many = vec![];
        for _ in 0..21 {
            self.flush()?;
            self.stream.record(&self.start)?;
            self.launch_nothing()?;
            self.stream.record(&self.end)?;
            single.push(self.elapsed()?);
            self.flush()?;
            self.stream.record(&self.start)?;
            self.stream.replay(&graph)?;
            self.stream.record(&self.end)?;
            many.push(self.elapsed()? / MANY as f64);
        }
        Ok((median(&mut single), median(&mut many)))
    }
}

/// The middle one; 0 of none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
