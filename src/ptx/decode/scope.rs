//! Names of a function body: registers, labels, local variables, in nested blocks.

use std::collections::HashMap;

use super::op::{Inst, Op, SINK_PRED};
use super::{Decoded, Decoder};
use crate::ptx::ast::*;

/// A register: its file and index, and its declared width in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reg {
    Pred(u16),
    /// 8, 16 or 32 bits.
    Word(u16, u8),
    Wide(u16),
    /// Two wide registers: low, high.
    Quad(u16, u16),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Reg(Reg),
    /// Offset in the frame of the function (depot, parameters of calls), bytes.
    Frame(u32),
    Shared(u32),
}

#[derive(Default)]
pub(super) struct Scope {
    /// By symbol; the undo list restores what an inner block shadowed.
    entries: Vec<Option<Entry>>,
    undo: Vec<(Symbol, Option<Entry>)>,
    prefixes: Vec<(Symbol, u32, Type)>,
    marks: Vec<(usize, usize, usize)>,
    labels: Vec<(Symbol, u32)>,
    targets: HashMap<Symbol, Vec<Symbol>>,
    /// Branches whose label was not seen yet.
    fixups: Vec<(usize, Symbol)>,
    /// Labels of blocks that were closed, with the range of fixups that could see them.
    fixup_marks: Vec<usize>,
    pub table_fixups: Vec<(usize, Vec<Symbol>)>,
}

impl Scope {
    pub fn new(names: usize) -> Self {
        Scope { entries: vec![None; names], ..Scope::default() }
    }

    pub fn clear(&mut self) {
        self.entries.iter_mut().for_each(|e| *e = None);
        self.undo.clear();
        self.prefixes.clear();
        self.marks.clear();
        self.labels.clear();
        self.targets.clear();
        self.fixups.clear();
        self.fixup_marks.clear();
        self.table_fixups.clear();
    }

    pub fn open(&mut self) {
        self.marks.push((self.undo.len(), self.prefixes.len(), self.labels.len()));
        self.fixup_marks.push(self.fixups.len());
    }

    pub fn set(&mut self, name: Symbol, entry: Entry) {
        if let Some(slot) = self.entries.get_mut(name.0 as usize) {
            self.undo.push((name, *slot));
            *slot = Some(entry);
        }
    }

    /// Names a register of a range that an outer block declared: the name lives as long as that block.
    fn set_for_range(&mut self, name: Symbol, entry: Entry, range: usize) {
        let level = self.marks.iter().filter(|m| m.1 <= range).count();
        if level == self.marks.len() {
            return self.set(name, entry);
        }
        if let Some(slot) = self.entries.get_mut(name.0 as usize) {
            let before = slot.replace(entry);
            if level > 0 {
                self.undo.insert(self.marks[level].0, (name, before));
            }
            for mark in &mut self.marks[level.max(1)..] {
                mark.0 += usize::from(level > 0);
            }
        }
    }

    pub fn get(&self, name: Symbol) -> Option<Entry> {
        self.entries.get(name.0 as usize).copied().flatten()
    }

    pub fn define_label(&mut self, name: Symbol, at: u32) {
        self.labels.push((name, at));
    }

    pub fn define_targets(&mut self, name: Symbol, targets: &[Symbol]) {
        self.targets.insert(name, targets.to_vec());
    }

    pub fn targets(&self, name: Symbol) -> Option<&Vec<Symbol>> {
        self.targets.get(&name)
    }

    pub fn fixup(&mut self, instruction: usize, label: Symbol) {
        self.fixups.push((instruction, label));
    }
}

impl Decoder<'_> {
    pub(super) fn close_scope(&mut self) -> Decoded<()> {
        let scope = &mut self.scope;
        let (Some((undo, prefixes, labels)), Some(fixups)) = (scope.marks.pop(), scope.fixup_marks.pop()) else {
            return self.invalid("unbalanced braces");
        };
        // Branches of this block to its own labels are bound now; others look further out.
        let inner: HashMap<Symbol, u32> = scope.labels.drain(labels..).collect();
        let mut open = vec![];
        for (instruction, label) in scope.fixups.drain(fixups..) {
            match inner.get(&label) {
                Some(at) => self.program.code[instruction].off = *at as i32,
                None => open.push((instruction, label)),
            }
        }
        scope.fixups.extend(open);
        while scope.undo.len() > undo {
            if let Some((name, entry)) = scope.undo.pop() {
                scope.entries[name.0 as usize] = entry;
            }
        }
        scope.prefixes.truncate(prefixes);
        Ok(())
    }

    pub(super) fn resolve_labels(&mut self) -> Decoded<()> {
        let labels: HashMap<Symbol, u32> = self.scope.labels.drain(..).collect();
        for (instruction, label) in std::mem::take(&mut self.scope.fixups) {
            match labels.get(&label) {
                Some(at) => self.program.code[instruction].off = *at as i32,
                None => return self.invalid(format!("undefined label `{}`", self.module.name(label))),
            }
        }
        for (table, names) in std::mem::take(&mut self.scope.table_fixups) {
            for name in names {
                match labels.get(&name) {
                    Some(at) => self.program.targets[table].push(*at),
                    None => return self.invalid(format!("undefined label `{}`", self.module.name(name))),
                }
            }
        }
        Ok(())
    }

    pub(super) fn declare_registers(
        &mut self,
        prefix: Symbol,
        count: Option<u32>,
        ty: Type,
        vector: u8,
    ) -> Decoded<()> {
        if vector != 1 {
            return self.unsupported("vector registers");
        }
        match count {
            None => {
                let reg = self.new_register(ty)?;
                self.scope.set(prefix, Entry::Reg(reg));
            }
            // Registers of a range come into being when they are first named.
            Some(count) => self.scope.prefixes.push((prefix, count, ty)),
        }
        Ok(())
    }

    pub(super) fn new_register(&mut self, ty: Type) -> Decoded<Reg> {
        let program = &mut self.program;
        let (file, made) = match ty {
            Type::Pred => (&mut program.p, 0),
            Type::B128 => {
                let low = program.q;
                program.q = low.saturating_add(2);
                if program.q >= 0x7fff {
                    return self.unsupported("more than 32,766 registers of one kind");
                }
                return Ok(Reg::Quad(low, low + 1));
            }
            _ if ty.bytes() == 8 => (&mut program.q, 1),
            _ => (&mut program.r, 2),
        };
        let index = *file;
        *file = index.saturating_add(1);
        if *file >= 0x7fff {
            return self.unsupported("more than 32,766 registers of one kind");
        }
        Ok(match made {
            0 => Reg::Pred(index),
            1 => Reg::Wide(index),
            _ => Reg::Word(index, 8 * ty.bytes() as u8),
        })
    }

    /// A declared register by name.
    pub(super) fn register(&mut self, name: Symbol) -> Decoded<Option<Reg>> {
        match self.scope.get(name) {
            Some(Entry::Reg(reg)) => return Ok(Some(reg)),
            Some(_) => return Ok(None),
            None => {}
        }
        let text = self.module.name(name);
        let digits = text.len() - text.bytes().rev().take_while(u8::is_ascii_digit).count();
        for length in (digits.min(text.len().saturating_sub(1))..text.len()).take(10) {
            let Some(head) = text.get(..length) else { continue };
            let Some(range) = self.scope.prefixes.iter().rposition(|p| self.module.name(p.0) == head) else { continue };
            let (_, count, ty) = self.scope.prefixes[range];
            let number = &text[length..];
            if (number.len() > 1 && number.starts_with('0')) || number.parse::<u32>().map_or(true, |n| n >= count) {
                continue;
            }
            let reg = self.new_register(ty)?;
            self.scope.set_for_range(name, Entry::Reg(reg), range);
            return Ok(Some(reg));
        }
        Ok(None)
    }

    /// A predicate register by name.
    pub(super) fn predicate(&mut self, name: Symbol) -> Decoded<u16> {
        match self.register(name)? {
            Some(Reg::Pred(p)) => Ok(p),
            _ => self.invalid(format!("`{}` is no predicate", self.module.name(name))),
        }
    }

    /// A branch to a label, bound when the block that holds the label closes.
    pub(super) fn branch(&mut self, op: Op, label: Symbol) -> Decoded<()> {
        let at = self.program.code.len();
        self.push(Inst::new(op))?;
        self.scope.fixup(at, label);
        Ok(())
    }

    pub(super) fn temporary_predicate(&mut self) -> Decoded<u16> {
        match self.new_register(Type::Pred)? {
            Reg::Pred(p) => Ok(p),
            _ => Ok(SINK_PRED),
        }
    }
}
