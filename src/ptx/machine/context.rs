//! What a worker needs to run blocks: the launch, shared memory, barriers, results.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Mutex;

use super::counters::Site;
use super::findings::{Findings, Kind, Sample};
use super::launch::{Launch, Options};
use super::memory::Memory;
use super::observe::Observer;
use super::shadow::Shadow;
use super::touched::Touched;
use crate::ptx::decode::flow::{Flow, Place};
use crate::ptx::decode::program::{LineId, Program};

/// How a run was configured; constants, so that what is off costs nothing.
pub(crate) trait Config {
    const CHECK: bool;
    const COUNT: bool;
    /// Arithmetic in another precision than the program says.
    const ALTERED: bool;
}

pub(crate) struct Plain;
impl Config for Plain {
    const CHECK: bool = false;
    const COUNT: bool = false;
    const ALTERED: bool = false;
}

pub(crate) struct Full;
impl Config for Full {
    const CHECK: bool = true;
    const COUNT: bool = true;
    const ALTERED: bool = false;
}

pub(crate) struct Altered;
impl Config for Altered {
    const CHECK: bool = false;
    const COUNT: bool = false;
    const ALTERED: bool = true;
}

/// One of the sixteen barriers of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Barrier {
    /// By warp: lanes that arrived since the last release.
    pub arrived: Vec<u32>,
    /// Expected threads; 0 for all of the block.
    pub count: u32,
    pub in_use: bool,
    /// Votes of `barrier.red`.
    pub ayes: u32,
    pub votes: u32,
    /// (place, warp, lanes of the warp that were elsewhere) of the first arrivals.
    pub suspects: Vec<(u32, u32, u32)>,
}

impl Barrier {
    /// As no thread had come yet.
    pub fn clear(&mut self) {
        self.arrived.clear();
        self.suspects.clear();
        (self.count, self.in_use, self.ayes, self.votes) = (0, false, 0, 0);
    }
}

/// Something that ends a launch early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    EndlessLoop,
    Deadlock,
    PrintLimit,
    StackLimit,
}

pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub launch: &'a Launch,
    pub options: &'a Options,
    pub params: &'a [u8],
    pub shared: Vec<u32>,
    pub shared_bytes: u32,
    /// Byte offsets that are kept for cooperative groups, apart from the program's own; empty if it uses none.
    pub reserved: Range<u32>,
    /// Where the dynamic part begins.
    pub dynamic_offset: u32,
    pub hints: Vec<u32>,
    pub block_registers: Vec<(u16, u8, bool)>,
    /// Instructions that are there to round; see `decode::granular`. Kept in `Mode::Float64` only.
    pub granular: &'a [bool],
    /// Registers that may be read before they are written.
    pub unset: Vec<Place>,
    pub block: u64,
    pub threads: u32,
    pub findings: Findings,
    pub sites: Vec<Site>,
    pub shadow: Shadow,
    pub touched: Option<Touched>,
    pub prints: Vec<String>,
    pub print_bytes: u64,
    pub barriers: Vec<Barrier>,
    /// Barriers that became complete.
    pub released: Vec<u8>,
    /// Warp instructions that this block may still run.
    pub fuel: u64,
    pub steps: u64,
    /// Polls since the block last made way.
    pub polls: u32,
    /// Times that a group of the block made way.
    pub yields: u32,
    /// The block waits for the rest of the grid: the others go on first.
    pub makes_way: bool,
    /// Address of the words by which the grid meets; 0 if it does not.
    pub workspace: u64,
    pub halt: Option<Halt>,
    /// What registers each instruction reads and writes; made when it is first needed.
    pub flows: Option<Rc<Vec<Flow>>>,
    /// Who is told of notes.
    pub observer: Option<&'a Mutex<dyn Observer>>,
}

impl Context<'_> {
    /// Words of shared memory of a block, with what is kept for cooperative groups.
    pub fn shared_words(&self) -> usize {
        self.shared_bytes.max(self.reserved.end) as usize / 4
    }

    /// Block index as x, y, z.
    pub fn block_index(&self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.launch.grid.map(u64::from);
        [(block % x) as u32, (block / x % y) as u32, (block / x / y) as u32]
    }

    pub fn thread_index(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        [thread % x, thread / x % y, thread / x / y]
    }

    #[cold]
    #[inline(never)]
    pub fn report(&mut self, kind: Kind, pc: u32, thread: u32, address: Option<u64>, detail: impl FnOnce() -> String) {
        self.report_many(kind, pc, thread, 1, address, detail);
    }

    #[cold]
    #[inline(never)]
    pub fn report_many(
        &mut self,
        kind: Kind,
        pc: u32,
        thread: u32,
        count: u64,
        address: Option<u64>,
        detail: impl FnOnce() -> String,
    ) {
        let line: LineId = self.program.line(pc);
        let (block, thread) = (self.block_index(self.block), self.thread_index(thread));
        self.findings.add(kind, line, count, || Sample { block, thread, address, detail: detail() });
    }

    pub fn site(&mut self, pc: u32) -> Option<&mut Site> {
        self.sites.get_mut(pc as usize)
    }
}
