//! A launch: limits, the order of blocks, workers, the outcome.

use std::sync::Mutex;

use super::blocks::{Progress, Resident, communicates};
use super::context::{Context, Halt};
use super::counters::{Counters, Site, Traffic, settle};
use super::dispatch::{Instance, Level};
use super::findings::Findings;
use super::launch::{Launch, Mode, Options, Outcome, Schedule, check};
use super::memory::Memory;
use super::observe::Observer;
use super::permutation::Permutation;
use super::shadow::Shadow;
use super::touched::Touched;
use crate::ptx::decode::flow::Place;
use crate::ptx::decode::program::Program;
use crate::ptx::error::PtxError;

/// Instructions that a block runs before the next one when blocks may wait for each other.
const BLOCK_TURN: u64 = 1 << 20;
/// Bytes of shared memory that are kept for cooperative groups.
const RESERVED: u32 = 1024;
/// Blocks held at once then, at most.
const RESIDENT: usize = 4096;

/// Runs a kernel. Module variables that the program uses are loaded into `memory` first.
pub fn run(program: &Program, launch: &Launch, memory: &mut Memory, options: &Options) -> Result<Outcome, PtxError> {
    run_at(Level::detect(), program, launch, memory, options, None)
}

/// The same, telling `observer` of every note that the program makes. Blocks run on one thread.
pub fn run_observed(
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    observer: &Mutex<dyn Observer>,
) -> Result<Outcome, PtxError> {
    run_at(Level::detect(), program, launch, memory, &Options { threads: 1, ..*options }, Some(observer))
}

fn run_at(
    level: Level,
    program: &Program,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    observer: Option<&Mutex<dyn Observer>>,
) -> Result<Outcome, PtxError> {
    let shared = check(program, launch, options)?;
    memory.load(program)?;
    if program.is_cooperative() {
        memory.open_workspace()?;
    }
    let dynamic_offset = shared - launch.dynamic_shared;
    let blocks = launch.grid.iter().map(|n| u64::from(*n)).product::<u64>();
    let instance = match options.mode {
        Mode::Exact if options.checks || options.counters => Instance::Full,
        Mode::Exact => Instance::Plain,
        _ => Instance::Altered,
    };
    // See `dispatch::base`.
    let instance = if level == Level::Base && instance == Instance::Plain && cfg!(target_arch = "x86_64") {
        Instance::Full
    } else {
        instance
    };
    let unset = crate::ptx::decode::live::unset(program);
    let wider = options.mode == Mode::Float64;
    let granular = if wider { crate::ptx::decode::granular::granular(program) } else { vec![] };
    let job = Job { program, launch, options, shared, dynamic_offset, level, instance, observer, unset, granular };
    if memory.segment >= super::shadow::LAST / 2 {
        memory.forget();
    }
    let segment = memory.segment;
    let because = {
        let ctx = job.context(memory, segment, false);
        let room = job.room(&ctx) as u64;
        if program.is_cooperative() && blocks > room {
            let what =
                format!("a grid of {blocks} blocks that must all be under way at once; there is room for {room}");
            return Err(PtxError::Limit(what));
        }
        communicates(&ctx).map(str::to_owned)
    };
    let threads = u64::from(options.threads.clamp(1, 256)).min(blocks);
    let parts = if because.is_none() && threads > 1 { job.in_parallel(memory, blocks, threads) } else { None };
    let parts = match parts {
        Some(parts) => parts,
        None => vec![job.in_order(memory, 0..blocks, because.is_some())],
    };
    job.outcome(parts, memory, because)
}

struct Job<'a> {
    program: &'a Program,
    launch: &'a Launch,
    options: &'a Options,
    shared: u32,
    /// Where dynamic shared memory begins.
    dynamic_offset: u32,
    level: Level,
    instance: Instance,
    observer: Option<&'a Mutex<dyn Observer>>,
    unset: Vec<Place>,
    granular: Vec<bool>,
}

/// What one worker did.
struct Part {
    findings: Findings,
    sites: Vec<Site>,
    touched: Option<Touched>,
    prints: Vec<String>,
    print_bytes: u64,
    steps: u64,
    halt: Option<Halt>,
    segment: u32,
    exhausted: bool,
}

impl Job<'_> {
    fn context<'a>(&'a self, memory: &'a Memory, segment: u32, bits: bool) -> Context<'a> {
        let full = self.instance == Instance::Full;
        let count = if full { self.program.code.len() } else { 0 };
        Context {
            program: self.program,
            memory,
            launch: self.launch,
            options: self.options,
            params: &self.launch.params,
            shared: vec![],
            shared_bytes: self.shared,
            reserved: self.reserved(),
            dynamic_offset: self.dynamic_offset,
            hints: vec![0; self.program.code.len()],
            block_registers: super::blocks::block_registers(self.program),
            granular: &self.granular,
            unset: self.unset.clone(),
            block: 0,
            threads: self.launch.block.iter().product(),
            findings: Findings::default(),
            sites: vec![Site::default(); count],
            shadow: Shadow::new(segment, self.program.traits.synchronises),
            touched: (bits || full).then(|| Touched::new(memory.allocations.len())),
            prints: vec![],
            print_bytes: 0,
            barriers: vec![],
            released: vec![],
            fuel: 0,
            steps: 0,
            polls: 0,
            yields: 0,
            makes_way: false,
            workspace: if self.program.is_cooperative() { memory.workspace() } else { 0 },
            halt: None,
            flows: None,
            observer: self.observer,
        }
    }

    /// Where the memory lies that is kept for cooperative groups: behind the program's own, far enough for what runs over
    /// its end not to meet it.
    fn reserved(&self) -> std::ops::Range<u32> {
        if !self.program.uses_reserved_shared() {
            return 0..0;
        }
        let start = self.shared.next_multiple_of(RESERVED) + RESERVED;
        start..start + RESERVED
    }

    /// How many blocks may be under way at once.
    fn room(&self, ctx: &Context) -> usize {
        (self.options.limits.state_bytes / Resident::bytes(ctx).max(1)).clamp(1, RESIDENT as u64) as usize
    }

    fn part(ctx: Context, prints: Vec<String>) -> Part {
        Part {
            findings: ctx.findings,
            sites: ctx.sites,
            touched: ctx.touched,
            prints,
            print_bytes: ctx.print_bytes,
            steps: ctx.steps,
            halt: ctx.halt,
            segment: ctx.shadow.end(),
            exhausted: ctx.shadow.exhausted,
        }
    }

    /// Blocks of a range in order; with `fair`, each for a turn, so that none waits for ever for a later one.
    fn in_order(&self, memory: &Memory, range: std::ops::Range<u64>, fair: bool) -> Part {
        let mut ctx = self.context(memory, memory.segment, !fair && self.options.threads > 1);
        let check = self.instance == Instance::Full;
        let mut prints = vec![];
        let room = self.room(&ctx);
        let count = self.launch.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        // Blocks that wait for others may rely on lower ones being under way: then only those held at once change places.
        let window = if fair { room as u64 } else { count };
        let mut next = range.start;
        let mut resident: Vec<Resident> = vec![];
        let mut spare: Vec<Resident> = vec![];
        let mut finished: Vec<(u64, Vec<String>)> = vec![];
        while ctx.halt.is_none() && (next < range.end || !resident.is_empty()) {
            // One pass over the blocks that are under way, then a new one joins.
            let mut at = 0;
            while at < resident.len() && ctx.halt.is_none() {
                match resident[at].run(&mut ctx, self.level, self.instance, BLOCK_TURN) {
                    Progress::Unfinished => at += 1,
                    _ => {
                        let mut done = resident.remove(at);
                        finished.push((done.position, std::mem::take(&mut done.prints)));
                        spare.push(done);
                    }
                }
                self.budget(&mut ctx);
            }
            while next < range.end && resident.len() < room && ctx.halt.is_none() {
                let mut state = spare.pop().unwrap_or_else(|| Resident::new(&ctx));
                let start = next / window * window;
                let order = Permutation::new(self.options.order, window.min(count - start));
                state.begin(&mut ctx, start + order.at(next - start), check);
                state.position = next;
                next += 1;
                let quantum = if fair { BLOCK_TURN } else { u64::MAX };
                match state.run(&mut ctx, self.level, self.instance, quantum) {
                    Progress::Unfinished => resident.push(state),
                    _ => {
                        finished.push((state.position, std::mem::take(&mut state.prints)));
                        spare.push(state);
                    }
                }
                self.budget(&mut ctx);
            }
        }
        finished.sort_by_key(|f| f.0);
        prints.extend(finished.into_iter().flat_map(|f| f.1));
        Job::part(ctx, prints)
    }

    fn budget(&self, ctx: &mut Context) {
        if ctx.steps > self.options.limits.steps && ctx.halt.is_none() {
            ctx.halt = Some(Halt::EndlessLoop);
        }
    }

    /// Ranges of blocks on several threads. None if what they did depends on their order; memory is as before then.
    fn in_parallel(&self, memory: &mut Memory, blocks: u64, threads: u64) -> Option<Vec<Part>> {
        memory.begin_undo();
        let parts = self.on_threads(memory, blocks, threads).filter(|parts| {
            let touched: Vec<&Touched> = parts.iter().filter_map(|p| p.touched.as_ref()).collect();
            let clash = touched.iter().enumerate().any(|(n, a)| touched[n + 1..].iter().any(|b| a.conflicts(b)));
            !clash && parts.iter().all(|p| p.halt.is_none())
        });
        memory.end_undo(parts.is_none());
        parts
    }

    /// One range for each thread, the first one for this thread. None if the system gives no threads.
    fn on_threads(&self, memory: &Memory, blocks: u64, threads: u64) -> Option<Vec<Part>> {
        let range = |n: u64| blocks * n / threads..blocks * (n + 1) / threads;
        std::thread::scope(|scope| {
            let spawn = |n: u64| {
                std::thread::Builder::new().spawn_scoped(scope, move || self.in_order(memory, range(n), false)).ok()
            };
            let others: Vec<_> = (1..threads).map(spawn).collect();
            let mut parts = vec![self.in_order(memory, range(0), false)];
            for other in others {
                parts.push(other?.join().ok()?);
            }
            Some(parts)
        })
    }

    fn outcome(&self, parts: Vec<Part>, memory: &mut Memory, because: Option<String>) -> Result<Outcome, PtxError> {
        let mut findings = Findings::default();
        let mut sites = vec![Site::default(); self.program.code.len()];
        let mut prints = vec![];
        let mut touched: Option<Touched> = None;
        let (mut steps, mut print_bytes, mut halt, mut notes) = (0, 0, None, vec![]);
        let mut exhausted = false;
        for part in parts {
            findings.merge(part.findings);
            sites.iter_mut().zip(&part.sites).for_each(|(to, from)| to.add(from));
            prints.extend(part.prints);
            steps += part.steps;
            print_bytes += part.print_bytes;
            halt = halt.or(part.halt);
            memory.segment = memory.segment.max(part.segment);
            exhausted |= part.exhausted;
            match (&mut touched, part.touched) {
                (Some(all), Some(more)) => all.merge(&more),
                (all, more) => *all = all.take().or(more),
            }
        }
        settle(&mut sites);
        if steps > self.options.limits.steps {
            return Err(PtxError::Limit(format!("more than {} warp instructions", self.options.limits.steps)));
        }
        if halt == Some(Halt::PrintLimit) || print_bytes > self.options.limits.print_bytes {
            return Err(PtxError::Limit(format!("more than {} bytes printed", self.options.limits.print_bytes)));
        }
        if exhausted {
            notes.push(
                "too many barriers to tell all accesses apart: races were looked for in the first part only".into(),
            );
        }
        // Another precision than the program's is run without counting.
        let counted = self.options.counters && self.instance == Instance::Full;
        let counters = counted.then(|| {
            let mut counters = Counters::collect(self.program, &sites);
            if let Some(touched) = &touched {
                counters.traffic = traffic(memory, touched);
            }
            counters
        });
        let mut list = findings.into_list();
        if !self.options.checks {
            list.retain(|f| f.kind.is_always_checked());
        }
        let schedule = match because {
            Some(because) => Schedule::Ordered { because },
            None => Schedule::Independent,
        };
        Ok(Outcome { findings: list, counters, prints, schedule, steps, completed: halt.is_none(), notes })
    }
}

fn traffic(memory: &Memory, touched: &Touched) -> Vec<Traffic> {
    let both = memory.allocations.iter().zip(&touched.allocations);
    let counted = both.enumerate().filter(|(n, _)| memory.is_of_user(*n)).map(|(_, (a, bits))| {
        let (read, written) = bits.counts();
        Traffic { allocation: a.name.clone(), read: 4 * read, written: 4 * written }
    });
    counted.filter(|t| t.read + t.written > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    /// CPUs without vector instructions of 256 bits take another copy of the loop.
    #[test]
    fn an_old_cpu_gives_the_same() {
        let texts = [
            include_str!("../../../tests/data/ptx/fuzz/block_sum.ptx"),
            include_str!("../../../tests/data/ptx/fuzz/softmax.ptx"),
            include_str!("../../../tests/data/ptx/fuzz/wmma_tile.ptx"),
            include_str!("../../../tests/data/ptx/fuzz/recursion.ptx"),
            include_str!("../../../tests/data/ptx/fuzz/cooperative.ptx"),
        ];
        for text in texts {
            let module = parse(text).unwrap();
            let kernel = module.kernels().next().unwrap().to_owned();
            let program = Program::decode(&module, &kernel).unwrap();
            for (mode, checks) in
                [(Mode::Exact, false), (Mode::Exact, true), (Mode::Float64, false), (Mode::Lower, false)]
            {
                let once = |level: Level| {
                    let mut memory = Memory::new();
                    let buffer = memory.allocate("buffer", 1 << 16).unwrap();
                    memory.write(buffer, 0, &[63; 1 << 15]).unwrap();
                    let address = memory.address(buffer).unwrap().to_le_bytes();
                    let params = (0..program.param_bytes as usize).map(|n| address[n % 8]).collect();
                    let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], dynamic_shared: 64, params };
                    let mut options = Options { mode, checks, counters: checks, ..Options::default() };
                    options.limits.block_steps = 20_000;
                    let outcome = run_at(level, &program, &launch, &mut memory, &options, None);
                    (outcome, memory.read(buffer, 0, 1 << 16).unwrap())
                };
                let (old, new) = (once(Level::Base), once(Level::detect()));
                assert!(old == new, "{kernel}, {mode:?}, checks {checks}");
            }
        }
    }
}
