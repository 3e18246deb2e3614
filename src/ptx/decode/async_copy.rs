//! `cp.async` and mbarriers.
//!
//! `CpAsync`: `a` shared address, `b` global address, `c` source size register; `m`: bits 0-4 bytes, 5 has a source
//! size, 6 shared base has 64 bits, 7 ignore-src predicate in `c`. `off` the shared offset, `d` index of the list that
//! holds the global offset.

use super::mods::Mods;
use super::op::*;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

/// What an mbarrier instruction does, in `Inst::m` bits 0-3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MbarrierOp {
    Init,
    Inval,
    Arrive,
    ArriveDrop,
    ArriveExpectTx,
    TestWait,
    TryWait,
    TestParity,
    TryParity,
    Pending,
    ExpectTx,
    CompleteTx,
}

pub(crate) const MBARRIER_OPS: [MbarrierOp; 12] = {
    use MbarrierOp::*;
    [
        Init,
        Inval,
        Arrive,
        ArriveDrop,
        ArriveExpectTx,
        TestWait,
        TryWait,
        TestParity,
        TryParity,
        Pending,
        ExpectTx,
        CompleteTx,
    ]
};

impl<'a> Decoder<'a> {
    pub(super) fn async_copy(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        match m.base {
            "cp" => self.cp_async(m, i),
            "mbarrier" => self.mbarrier(m, i),
            _ => Ok(false),
        }
    }

    fn cp_async(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        if !m.flag("async") || m.whole.contains("bulk") {
            return Ok(false);
        }
        self.program.traits.asynchronous = true;
        if m.flag("commit_group") {
            self.push(Inst::new(Op::CpAsyncCommit))?;
            return Ok(true);
        }
        if let Some(wait) = m.one_of(&["wait_group", "wait_all"]) {
            let mut inst = Inst::new(Op::CpAsyncWait);
            inst.m = match i.operands.first() {
                Some(Operand::Int(n)) if wait == "wait_group" => (*n).clamp(0, 1 << 20) as u32,
                None if wait == "wait_all" => u32::MAX,
                _ => return self.invalid("wait_group takes an immediate"),
            };
            self.push(inst)?;
            return Ok(true);
        }
        if m.flag("mbarrier") {
            if !m.flag("arrive") {
                return Ok(false);
            }
            let noinc = m.flag("noinc");
            m.skip(|p| matches!(p, "shared" | "shared::cta" | "b64"));
            let address = self.address(self.operand(i, 0)?, Space::Shared)?;
            let mut inst = Inst::new(Op::CpAsyncArrive);
            (inst.a, inst.off) = (address.base, address.offset);
            inst.m = u32::from(noinc) | u32::from(address.wide) << 1;
            self.program.traits.mbarriers = true;
            self.push(inst)?;
            return Ok(true);
        }
        let Some(_) = m.one_of(&["ca", "cg"]) else { return Ok(false) };
        if m.one_of(&["shared", "shared::cta"]).is_none() || !m.flag("global") {
            return Ok(false);
        }
        m.skip(|p| p.starts_with("L2::"));
        if m.whole.contains("cache_hint") {
            return self.unsupported("a cache policy operand");
        }
        self.expect_operands(i, 3, 4)?;
        let shared = self.address(&i.operands[0], Space::Shared)?;
        let global = self.address(&i.operands[1], Space::Global)?;
        if !global.wide {
            return self.unsupported("a 32-bit global address");
        }
        let Operand::Int(bytes @ (4 | 8 | 16)) = i.operands[2] else {
            return self.invalid("cp.async copies 4, 8 or 16 bytes");
        };
        let mut inst = Inst::new(Op::CpAsync);
        (inst.a, inst.off, inst.b) = (shared.base, shared.offset, global.base);
        inst.m = bytes as u32 | u32::from(shared.wide) << 6;
        if let Some(size) = i.operands.get(3) {
            let ignore = match size {
                Operand::Name(name) => matches!(self.register(*name)?, Some(super::scope::Reg::Pred(_))),
                _ => false,
            };
            inst.c = if ignore { self.srcp(size)? } else { self.src32(size, Type::U32)? };
            inst.m |= if ignore { 1 << 7 } else { 1 << 5 };
        }
        // The global offset does not fit beside the shared one.
        inst.d = self.value32(super::Value::Bits(u64::from(global.offset as u32)))?;
        self.push(inst)?;
        Ok(true)
    }

    /// `d` state or predicate, `a` address, `b` count or state or parity; `m`: bits 0-3 operation, 4 64-bit base,
    /// 5 has `b`, 6 the destination is wanted.
    fn mbarrier(&mut self, m: &mut Mods, i: &'a Instruction) -> Decoded<bool> {
        use MbarrierOp::*;
        let name = m.one_of(&[
            "init",
            "inval",
            "arrive",
            "arrive_drop",
            "test_wait",
            "try_wait",
            "pending_count",
            "expect_tx",
            "complete_tx",
        ]);
        let parity = m.flag("parity");
        let expect = m.flag("expect_tx");
        let no_complete = m.flag("noComplete");
        let op = match (name, parity, expect) {
            (Some("init"), false, false) => Init,
            (Some("inval"), false, false) => Inval,
            (Some("arrive"), false, false) => Arrive,
            (Some("arrive"), false, true) => ArriveExpectTx,
            (Some("arrive_drop"), false, false) => ArriveDrop,
            (Some("test_wait"), false, false) => TestWait,
            (Some("try_wait"), false, false) => TryWait,
            (Some("test_wait"), true, false) => TestParity,
            (Some("try_wait"), true, false) => TryParity,
            (Some("pending_count"), false, false) => Pending,
            (Some("expect_tx"), false, false) => ExpectTx,
            (Some("complete_tx"), false, false) => CompleteTx,
            _ => return Ok(false),
        };
        if no_complete && op != Arrive {
            return Ok(false);
        }
        m.skip(|p| matches!(p, "shared" | "shared::cta" | "b64" | "relaxed" | "acquire" | "release" | "cta"));
        self.program.traits.mbarriers = true;
        let mut inst = Inst::new(Op::Mbarrier);
        let (mut at, mut bits) = (0, op as u32);
        match op {
            Pending => {
                inst.d = self.dst32(self.operand(i, 0)?)?;
                inst.a = self.src64(self.operand(i, 1)?, Type::B64)?;
                inst.m = bits | 1 << 4;
                self.push(inst)?;
                return Ok(true);
            }
            Arrive | ArriveDrop | ArriveExpectTx => {
                let first = self.operand(i, 0)?;
                if !matches!(first, Operand::Address(..)) {
                    inst.d = self.dst64(first)?;
                    bits |= 1 << 6;
                    at = 1;
                }
            }
            TestWait | TryWait | TestParity | TryParity => {
                inst.d = self.dstp(self.operand(i, 0)?)?;
                at = 1;
            }
            _ => {}
        }
        let address = self.address(self.operand(i, at)?, Space::Shared)?;
        (inst.a, inst.off) = (address.base, address.offset);
        bits |= u32::from(address.wide) << 4;
        if let Some(value) = i.operands.get(at + 1) {
            bits |= 1 << 5;
            inst.b = match op {
                TestWait | TryWait => self.src64(value, Type::B64)?,
                _ => self.src32(value, Type::U32)?,
            };
        }
        inst.m = bits;
        self.push(inst)?;
        Ok(true)
    }
}
