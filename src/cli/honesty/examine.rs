//! One plan of a file: its kernels in a text that makes notes, run on cells and compared with what is claimed.

use std::sync::{Arc, Mutex, PoisonError};

use kopt::contract::{Cell, Contract, Distribution, OpenKind, Plan, Sampling, cells};
use kopt::diag::{Code, Diagnostic};
use kopt::facts::Macros;
use kopt::gate::finding::is_undefined;
use kopt::gate::{How, KernelKey, Settings, Side, execute, execute_watched, shrink, starts};
use kopt::honesty::{Book, Depth, Kind, Outcome, Shape, Study, Sums, Watch, Watches, say, sums};
use kopt::infer::matching::{Unclear, kernel};
use kopt::ir::FunctionRef;
use kopt::ptx::Observer;

use super::super::exit::{Exit, Failure};
use super::super::verify::Opened;
use super::{Args, Kernel};

/// By how much what a cell may take is less than elsewhere.
const NOTING: u64 = 8;

pub struct Examiner<'a> {
    pub opened: &'a Opened,
    pub macros: &'a [Macros],
    pub args: &'a Args,
}

/// A kernel that tells what it does.
struct Noting<'a> {
    key: KernelKey,
    study: Study<'a>,
    depth: Depth,
    books: Vec<Arc<Book>>,
    outcome: Outcome,
    blocks: (u64, u64),
}

impl Examiner<'_> {
    pub fn plan(&self, plan: &Plan, skipped: &mut Vec<String>) -> Result<Vec<Kernel>, String> {
        let open = plan.open();
        if let Some(o) = open.iter().find(|o| o.kind == OpenKind::Missing || !self.args.running.accept_proposed) {
            return Err(format!("the contract is not settled: {} of {}: {}", o.field, o.table, o.question));
        }
        let failed = |u: super::super::verify::Unbuilt| match u.failure(Exit::Inconclusive, self.opened.sources()) {
            Failure::Said { problems, .. } => problems.first().map(|d| d.message.clone()).unwrap_or_default(),
            Failure::Quiet => String::new(),
        };
        let mut side = self.opened.build(plan).map_err(failed)?.side;
        // A kernel that tells what it does takes many times the instructions.
        let settings = self.args.running.settings();
        let settings = Settings { steps: settings.steps / NOTING, ..settings };
        side.plan = shrink::fit(&side, &settings).0;
        let (mut noting, programs): (Vec<Noting>, Vec<_>) = self.noting(&side, skipped).into_iter().unzip();
        let mut observed = side.clone();
        observed.programs.extend(noting.iter().map(|n| n.key.clone()).zip(programs));
        if noting.is_empty() {
            return Ok(vec![]);
        }
        let mut cells_run = 0;
        for cell in self.cells(&side.plan, &settings) {
            match self.cell(&side, &observed, &mut noting, &cell, &settings) {
                Ok(()) => cells_run += 1,
                Err(why) => skipped.push(format!("plan `{}`: {}: {why}", plan.name, kopt::report::cell_text(&cell))),
            }
        }
        if cells_run == 0 {
            return Err("no cell could be run".into());
        }
        Ok(noting.into_iter().map(|n| self.judged(n)).collect())
    }

    fn cells(&self, plan: &Plan, settings: &Settings) -> Vec<Cell> {
        let sampling = Sampling {
            seed: settings.seed,
            thorough: settings.thorough,
            max_bytes: settings.max_bytes,
            ..Sampling::default()
        };
        let found = cells(plan, &sampling).cells;
        if !found.is_empty() {
            return found.into_iter().take(self.args.cells.max(1)).collect();
        }
        let dims = plan.dims.iter().filter_map(|d| Some((d.name.clone(), *d.samples.first()?))).collect();
        vec![Cell::new(dims, Distribution::Normal, settings.seed)]
    }

    /// Every kernel of the plan in a text that makes notes.
    fn noting(&self, side: &Side, skipped: &mut Vec<String>) -> Vec<(Noting<'_>, kopt::ptx::Program)> {
        let program = &self.opened.loaded.program;
        let contract = Contract { plans: vec![side.plan.clone()], ..Contract::default() };
        let mut assumptions = contract.all_assumptions(program);
        assumptions.extend(kopt::contract::from_comments(program, self.opened.sources()).0);
        let mut found = vec![];
        for key in Side::keys(&side.plan) {
            let at = match self.kernel(&key.name, &side.plan) {
                Ok(at) => at,
                Err(why) => {
                    skipped.push(format!("`{key}`: not one kernel of this name is modelled: {}", why.message));
                    continue;
                }
            };
            let study = match Study::of(program, self.macros, at, &assumptions.of_function(program.function(at))) {
                Ok(study) => study,
                Err(why) => {
                    skipped.push(format!("`{key}`: nothing is said of it: {}", why.reason));
                    continue;
                }
            };
            match self.compiled(&study, at, &key) {
                Ok((depth, books, program)) => {
                    let outcome = Outcome::new(&study);
                    found.push((Noting { key, study, depth, books, outcome, blocks: (0, 0) }, program));
                }
                Err(why) => skipped.push(format!("`{key}`: it cannot be observed: {why}")),
            }
        }
        found
    }

    /// The kernel that a plan means; of kernels in several files that of the file in question.
    fn kernel(&self, name: &str, plan: &Plan) -> Result<FunctionRef, Unclear> {
        let program = &self.opened.loaded.program;
        let all = program.kernels();
        let own: Vec<FunctionRef> =
            all.iter().filter(|r| program.unit(r.unit).file == self.opened.file()).copied().collect();
        let arguments = plan.launches().find(|l| l.kernel == name).map(|l| l.args.len());
        kernel(program, &all, name, arguments, "--kernel")
            .or_else(|why| kernel(program, &own, name, arguments, "--kernel").map_err(|_| why))
    }

    fn compiled(
        &self,
        study: &Study,
        at: FunctionRef,
        key: &KernelKey,
    ) -> Result<(Depth, Vec<Arc<Book>>, kopt::ptx::Program), String> {
        let sources = self.opened.sources();
        let source = sources.get(self.opened.file());
        let own = sources.get(self.opened.loaded.program.unit(at.unit).file);
        let end = study.function().span.end as usize;
        let mut first = None;
        for depth in Depth::ALL {
            let Some(i) = study.instrument(&own.text, depth) else { continue };
            // What stands behind the kernel is as it was.
            let at = (i.text.len() + end).saturating_sub(own.text.len() + 1);
            match self.opened.builder().noting(source, (&own.name, &i.text, at), key) {
                Ok(program) => return Ok((depth, study.books(&i), program)),
                Err(why) => _ = first.get_or_insert(why),
            }
        }
        Err(first.unwrap_or_default())
    }

    /// Runs one cell as it is, and, where it is defined, again with watches.
    fn cell(
        &self,
        side: &Side,
        observed: &Side,
        noting: &mut [Noting],
        cell: &Cell,
        settings: &Settings,
    ) -> Result<(), String> {
        let plan = side.plan.concrete(cell).map_err(|e| e.to_string())?;
        let how = How { counters: false, ..kopt::gate::cell::how(settings, settings.steps) };
        let begin = starts(&plan)?;
        let ran = execute(side, &plan, &begin, &how)?;
        if let Some(why) = &ran.stopped {
            return Err(why.to_string());
        }
        if let Some(f) = ran.findings.iter().find(|f| is_undefined(f.kind)) {
            return Err(format!("the kernel is not defined there: {}", kopt::gate::finding::describe(f.kind)));
        }
        let mut watching: Vec<(usize, Arc<Mutex<Watches>>)> = vec![];
        let limits = kopt::ptx::Limits { steps: u64::MAX >> 1, block_steps: u64::MAX >> 1, ..how.limits };
        let how = How { checks: false, limits, ..how };
        let ran = execute_watched(observed, &plan, &begin, &how, &mut |l| {
            let n = noting.iter().position(|n| n.key == KernelKey::of(l))?;
            let noting = noting.get_mut(n)?;
            let shape = Shape { grid: l.grid, block: l.block };
            let (seen, all) = shape.watched();
            noting.blocks = (noting.blocks.0 + seen, noting.blocks.1 + all);
            let watches = noting.books.iter().map(|b| Watch::new(b.clone(), shape)).collect();
            let shared = Arc::new(Mutex::new(Watches(watches)));
            watching.push((n, shared.clone()));
            Some(shared as Arc<Mutex<dyn Observer>>)
        })?;
        let last = watching.len();
        for (i, (n, watches)) in watching.into_iter().enumerate() {
            let completed = ran.stopped.is_none() || i + 1 < last;
            let watches = std::mem::take(&mut watches.lock().unwrap_or_else(PoisonError::into_inner).0);
            let watched = watches.into_iter().map(|w| w.finish(completed)).collect();
            if let Some(n) = noting.get_mut(n) {
                n.outcome.add(watched);
            }
        }
        match ran.stopped {
            Some(why) => Err(format!("observed, {why}")),
            None => Ok(()),
        }
    }

    fn judged(&self, n: Noting) -> Kernel {
        let mut kinds: Vec<(Kind, Sums)> = Kind::ALL.iter().map(|k| (*k, Sums::default())).collect();
        let mut contradictions = vec![];
        let mut assumed = vec![];
        for (i, ((launches, tallies), book)) in n.outcome.contexts.iter().zip(&n.books).enumerate() {
            if *launches == 0 {
                continue;
            }
            kinds.iter_mut().zip(sums(book, tallies)).for_each(|((_, to), (_, from))| to.add(&from));
            let (Some(facts), Some(claims)) = (n.study.facts(i), n.study.claims.get(i)) else { continue };
            for (claim, tally) in claims.claims.iter().zip(tallies) {
                let Some(c) = tally.first.as_ref().filter(|_| tally.failed > 0) else { continue };
                let text = say(facts, &claim.says);
                let seen = format!(
                    "seen {} of {} times, first in block {} thread {}: {}",
                    tally.failed, tally.asserted, c.block, c.thread, c.seen
                );
                if claim.is_proved() {
                    let message = format!(
                        "a fact of `{}` that is called proved does not hold ({}, {}): {text}",
                        n.key,
                        claim.kind.word(),
                        claims.context
                    );
                    contradictions.push(Diagnostic::error(Code(670), message).at(claim.span, seen));
                } else {
                    let ids: Vec<&str> = claim.assumed.iter().map(|s| &**s).collect();
                    assumed.push(format!("{text} ({}): {seen}", ids.join(", ")));
                }
            }
        }
        let overflow = |(claim, threads): (&usize, &u64)| {
            let claim = n.study.claims.first()?.claims.get(*claim)?;
            let text = self.opened.sources().slice(claim.span);
            Some(format!("signed arithmetic overflows in `{text}` in {threads} threads"))
        };
        let overflowed = n.outcome.overflowed.iter().filter_map(overflow).collect();
        Kernel {
            name: n.key.to_string(),
            depth: n.depth,
            launches: n.outcome.launches,
            unmatched: n.outcome.unmatched,
            overflowed,
            blocks: n.blocks,
            kinds,
            contradictions,
            assumed,
        }
    }
}
