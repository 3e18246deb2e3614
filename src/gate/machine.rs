//! A device on which a plan can run several times.

use std::collections::BTreeMap;

use super::element;
use super::execute::{ChangedGlobal, How, LineCounts, Listener, Ran, afterwards, launch};
use super::side::Side;
use super::symbols;
use crate::contract::{ConcretePlan, ConcreteStep, DEVICE_ALIGNMENT, Start};
use crate::ir::Scalar;
use crate::ptx::{AllocationId, Counts, Memory, PtxError};

/// One buffer in the machine: its allocation and the bytes before it that belong to nobody.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub id: AllocationId,
    pub before: u64,
}

pub(super) const CANARY: u8 = 0xa5;

/// A device with the buffers of a plan and the module variables of its kernels, on which the plan can run several times:
/// variables keep what a run left in them, buffers do not.
pub struct Machine<'m> {
    side: &'m Side,
    plan: &'m ConcretePlan,
    how: &'m How,
    memory: Memory,
    placed: Vec<Placed>,
    /// Variables that the contract fills and these kernels do not have.
    absent: Vec<String>,
    globals: Option<Vec<(String, Vec<u8>)>>,
}

impl<'m> Machine<'m> {
    /// # Errors
    /// As [`execute`].
    pub fn new(side: &'m Side, plan: &'m ConcretePlan, how: &'m How) -> Result<Machine<'m>, String> {
        let mut memory = Memory::with_limit(how.memory);
        let mut placed = vec![];
        let mut absent = vec![];
        for program in side.programs.values() {
            memory.load(program).map_err(|e| e.to_string())?;
        }
        let mut order: Vec<usize> = (0..plan.buffers.len()).collect();
        // Which of two buffers has the higher address says nothing.
        if how.order % 2 == 1 {
            order.reverse();
        }
        for n in order {
            let Some(buffer) = plan.buffers.get(n) else { continue };
            let variable = buffer.symbol.as_ref().map(|name| (name, symbols::find(side, &memory, name)));
            match variable {
                Some((name, Some(id))) => {
                    let room = memory.size(id).unwrap_or(0);
                    if room < buffer.bytes {
                        return Err(format!("the variable `{name}` has {room} bytes, the contract {}", buffer.bytes));
                    }
                    placed.push((n, Placed { id, before: 0 }));
                    continue;
                }
                Some((name, None)) => absent.push(name.clone()),
                None => {}
            }
            // No better aligned than the contract promises.
            let before = if buffer.align < DEVICE_ALIGNMENT { buffer.align } else { 0 };
            let id = memory.allocate(&buffer.name, before + buffer.bytes).map_err(|e| e.to_string())?;
            memory.poison(id, 0, before, CANARY).map_err(|e| e.to_string())?;
            placed.push((n, Placed { id, before }));
        }
        placed.sort_by_key(|(n, _)| *n);
        let placed = placed.into_iter().map(|(_, p)| p).collect();
        Ok(Machine { side, plan, how, memory, placed, absent, globals: None })
    }

    /// Fills the buffers and runs the plan once.
    ///
    /// # Errors
    /// As [`execute`].
    pub fn round(&mut self, starts: &[Vec<u8>]) -> Result<Ran, String> {
        self.watched_round(starts, &mut |_| None)
    }

    /// The same with an observer for every launch for which `listen` gives one.
    ///
    /// # Errors
    /// As [`execute`](super::execute::execute).
    pub fn watched_round(&mut self, starts: &[Vec<u8>], listen: &mut Listener<'_>) -> Result<Ran, String> {
        self.fill(starts).map_err(|e| e.to_string())?;
        let Machine { side, plan, how, memory, placed, .. } = self;
        // What stood in the module before its first run.
        let globals = self.globals.get_or_insert_with(|| globals(side, memory)).clone();
        let mut ran = Ran::default();
        let mut lines: BTreeMap<(String, String, u32), Counts> = BTreeMap::new();
        for step in &plan.steps {
            match step {
                ConcreteStep::Launch(l) if !l.runs() => ran.empty_launches += 1,
                ConcreteStep::Launch(l) => {
                    let observer = listen(l);
                    launch(side, plan, l, placed, memory, how, observer.as_deref(), &mut ran, &mut lines)?;
                    if ran.stopped.is_some() {
                        break;
                    }
                }
                ConcreteStep::Fill { buffer, offset, bytes, byte } => {
                    let at = placed.get(*buffer).ok_or("a step names no buffer")?;
                    memory
                        .write(at.id, at.before + offset, &vec![*byte; *bytes as usize])
                        .map_err(|e| e.to_string())?;
                }
                ConcreteStep::Copy { from, from_offset, to, to_offset, bytes } => {
                    let (a, b) =
                        (placed.get(*from).ok_or("a step names no buffer")?, placed.get(*to).ok_or("no buffer")?);
                    let data = memory.read(a.id, a.before + from_offset, *bytes).map_err(|e| e.to_string())?;
                    memory.write(b.id, b.before + to_offset, &data).map_err(|e| e.to_string())?;
                }
            }
        }
        let named = |((kernel, file, line), counts)| LineCounts { kernel, file, line, counts };
        ran.lines = lines.into_iter().map(named).collect();
        let absent = self.absent.iter();
        ran.notes.extend(absent.map(|n| format!("it has no variable `{n}`, which the contract fills")));
        afterwards(plan, starts, how, placed, memory, &mut ran).map_err(|e| e.to_string())?;
        for (symbol, before) in globals {
            let Some(id) = memory.symbol(&symbol) else { continue };
            let bytes = memory.read(id, 0, memory.size(id).unwrap_or(0)).map_err(|e| e.to_string())?;
            let is_output = plan.buffers.iter().zip(placed.iter()).any(|(b, p)| p.id == id && b.role.is_output());
            if bytes != before && !is_output {
                ran.changed_globals.push(ChangedGlobal { symbol, bytes });
            }
        }
        Ok(ran)
    }

    /// Contents of every buffer as they are before a run.
    fn fill(&mut self, starts: &[Vec<u8>]) -> Result<(), PtxError> {
        let Machine { plan, how, memory, placed, .. } = self;
        for ((buffer, start), at) in plan.buffers.iter().zip(starts).zip(placed) {
            match &buffer.start {
                Start::Poison(pattern) => memory.poison(at.id, at.before, buffer.bytes, *pattern)?,
                Start::Contents(_) if how.lowered_inputs => {
                    memory.write(at.id, at.before, &lowered(buffer.dtype, start))?;
                }
                Start::Zero | Start::Contents(_) => memory.write(at.id, at.before, start)?,
            }
        }
        Ok(())
    }
}

fn lowered(dtype: Scalar, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if element::lower_mantissa(dtype).is_some() {
        for i in 0..bytes.len() / dtype.bytes() as usize {
            element::put(dtype, &mut out, i, element::lowered(dtype, element::bits(dtype, bytes, i)));
        }
    }
    out
}

/// Mutable module variables with what stands in them.
fn globals(side: &Side, memory: &Memory) -> Vec<(String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for program in side.programs.values() {
        for v in program.variables.iter().filter(|v| v.space == crate::ptx::ast::Space::Global) {
            let Some(id) = memory.symbol(&v.name) else { continue };
            let bytes = memory.size(id).and_then(|n| memory.read(id, 0, n)).unwrap_or_default();
            found.insert(v.name.clone(), bytes);
        }
    }
    found.into_iter().collect()
}
