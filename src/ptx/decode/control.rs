//! Branches, calls, barriers, exits.

use super::mods::Mods;
use super::op::*;
use super::program::CallSite;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

/// Marks a call's missing frame area.
const NO_AREA: u32 = u32::MAX;

impl<'a> Decoder<'a> {
    pub(super) fn control(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        match m.base {
            "bra" => {
                m.flag("uni");
                let Operand::Name(label) = self.operand(i, 0)? else { return self.invalid("a label is expected") };
                self.branch(Op::Bra, *label)?;
            }
            "brx" => {
                if !m.flag("idx") {
                    return Ok(false);
                }
                m.flag("uni");
                let mut inst = Inst::new(Op::BraIndexed);
                inst.a = self.src32(self.operand(i, 0)?, Type::U32)?;
                let Operand::Name(table) = self.operand(i, 1)? else { return self.invalid("a table is expected") };
                let Some(names) = self.scope.targets(*table).cloned() else {
                    return self.invalid("unknown branch targets");
                };
                inst.off = self.program.targets.len() as i32;
                self.program.targets.push(vec![]);
                self.scope.table_fixups.push((inst.off as usize, names));
                self.push(inst)?;
            }
            "ret" => {
                m.flag("uni");
                self.push(Inst::new(if self.in_kernel { Op::Exit } else { Op::Ret }))?;
            }
            "exit" => self.push(Inst::new(Op::Exit))?,
            "trap" => self.push(Inst::new(Op::Trap))?,
            "brkpt" | "pmevent" => {
                m.flag("mask");
                self.push(Inst::new(Op::Nop))?;
            }
            "nanosleep" => {
                m.ty();
                self.push(Inst::new(Op::Nanosleep))?;
            }
            "griddepcontrol" => {
                // Without dependent launches both forms do nothing.
                m.one_of(&["wait", "launch_dependents"]);
                self.push(Inst::new(Op::Nop))?;
            }
            "setmaxnreg" => {
                m.skip(|p| matches!(p, "inc" | "dec" | "sync" | "aligned" | "u32"));
                self.push(Inst::new(Op::Nop))?;
            }
            "call" => {
                m.flag("uni");
                self.call(i)?;
            }
            "bar" | "barrier" => return self.barrier(m, i),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `bar.sync a{, b}`, `bar.arrive a, b`, `bar.red.op`, `bar.warp.sync mask`.
    /// `m`: bits 0-1 reduction (popc, and, or), 2 has a thread count, 3 not aligned.
    fn barrier(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        if m.flag("warp") {
            if !m.flag("sync") {
                return Ok(false);
            }
            let mut inst = Inst::new(Op::WarpSync);
            inst.a = self.src32(self.operand(i, 0)?, Type::B32)?;
            self.push(inst)?;
            return Ok(true);
        }
        m.flag("cta");
        let aligned = m.flag("aligned") || m.base == "bar";
        let kind = m.one_of(&["sync", "arrive", "red"]);
        let mut inst = Inst::new(Op::Barrier);
        if !aligned {
            inst.m |= 8;
        }
        let mut operands: &[Operand] = &i.operands;
        match kind {
            Some("sync") => {}
            Some("arrive") => inst.op = Op::BarrierArrive,
            Some("red") => {
                inst.op = Op::BarrierReduce;
                let (Some(op), Some(ty)) = (m.one_of(&["popc", "and", "or"]), m.ty()) else { return Ok(false) };
                inst.m |= match op {
                    "popc" => 0,
                    "and" => 1,
                    _ => 2,
                };
                inst.d =
                    if ty == Type::Pred { self.dstp(self.operand(i, 0)?)? } else { self.dst32(self.operand(i, 0)?)? };
                let Some(predicate) = operands.last() else { return self.invalid("operands are missing") };
                inst.c = self.srcp(predicate)?;
                operands = &operands[1..operands.len() - 1];
            }
            _ => return Ok(false),
        }
        let Some(id) = operands.first() else { return self.invalid("the barrier is missing") };
        inst.a = self.src32(id, Type::U32)?;
        if let Some(count) = operands.get(1) {
            inst.m |= 4;
            inst.b = self.src32(count, Type::U32)?;
            self.program.traits.partial_barriers = true;
        }
        if inst.op == Op::BarrierArrive {
            self.program.traits.partial_barriers = true;
            if operands.len() < 2 {
                return self.invalid("bar.arrive needs a thread count");
            }
        }
        self.push(inst)?;
        Ok(true)
    }

    /// `call (results), function, (arguments)`; the function may be a register.
    fn call(&mut self, i: &'a Instruction) -> Decoded<()> {
        let (results, rest): (&[Operand], &[Operand]) = match i.operands.as_slice() {
            [Operand::List(results), rest @ ..] => (results, rest),
            rest => (&[], rest),
        };
        let Some(Operand::Name(target)) = rest.first() else { return self.invalid("a function is expected") };
        let arguments: &[Operand] = match rest.get(1) {
            Some(Operand::List(list)) => list,
            _ => &[],
        };
        let results = self.areas(results)?;
        let arguments = self.areas(arguments)?;
        let text = self.module.name(*target);
        let from = self.current as u32;
        if let Some(super::scope::Reg::Wide(register)) = self.register(*target)? {
            let mut inst = Inst::new(Op::CallIndirect);
            inst.a = register;
            inst.m = self.program.calls.len() as u32;
            self.program.calls.push(CallSite { function: u32::MAX, arguments, results });
            self.edges.push((from, u32::MAX));
            return self.push(inst);
        }
        let alias = self.module.aliases.iter().find(|a| a.0 == *target).map_or(*target, |a| a.1);
        if let Some(&index) = self.function_by_name.get(&alias) {
            let function = self.function_ref(index);
            self.edges.push((from, function));
            let mut inst = Inst::new(Op::Call);
            inst.m = self.program.calls.len() as u32;
            self.program.calls.push(CallSite { function, arguments, results });
            return self.push(inst);
        }
        let op = match text {
            "vprintf" => Op::Print,
            crate::ptx::NOTE => Op::Note,
            "__assertfail" => Op::Assert,
            _ => return self.unsupported(&format!("call of `{text}`, which has no body here")),
        };
        let mut inst = Inst::new(op);
        inst.m = self.program.calls.len() as u32;
        self.program.calls.push(CallSite { function: 0, arguments, results });
        self.push(inst)
    }

    /// Frame offsets of call areas; registers and immediates are not used by current compilers.
    fn areas(&mut self, operands: &[Operand]) -> Decoded<Vec<u32>> {
        let mut areas = vec![];
        for operand in operands {
            areas.push(match operand {
                Operand::Sink => NO_AREA,
                Operand::Name(name) => match self.frame_offset(*name) {
                    Some(at) => at,
                    None => return self.unsupported("a call with register arguments"),
                },
                _ => return self.unsupported("a call with immediate arguments"),
            });
        }
        Ok(areas)
    }
}
