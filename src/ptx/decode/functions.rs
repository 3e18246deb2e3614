//! Which functions belong to a kernel: the one that is asked for, those whose address is taken, those that may recur.

use super::{Decoded, Decoder};
use crate::ptx::ast::*;

impl Decoder<'_> {
    /// Functions whose address a pointer may hold: all that initialisers of used variables name, transitively.
    pub(super) fn decode_address_taken(&mut self) -> Decoded<()> {
        while self.address_taken {
            self.address_taken = false;
            let stored = self.program.variables.iter().flat_map(|v| &v.addresses);
            let named: Vec<Symbol> = stored.map(|a| a.symbol).collect();
            for symbol in named {
                if let Some(&index) = self.function_by_name.get(&symbol) {
                    self.function_ref(index);
                } else {
                    self.variable(symbol)?;
                }
            }
            while let Some(index) = self.pending.pop() {
                self.function(index)?;
            }
        }
        Ok(())
    }

    /// Functions that may call themselves, directly or not. What lies between two cycles counts too; with an indirect
    /// call, all do.
    pub(super) fn mark_recursive(&mut self) {
        let count = self.program.functions.len();
        if self.edges.iter().any(|e| e.1 == u32::MAX) {
            self.program.functions.iter_mut().for_each(|f| f.recursive = true);
            return;
        }
        let mut edges = std::mem::take(&mut self.edges);
        edges.sort_unstable();
        edges.dedup();
        let mut removed = vec![false; count];
        // Once along the calls and once against them: functions without calls to what is left are in no cycle.
        for _ in 0..2 {
            let mut calls = vec![0; count];
            let mut callers: Vec<Vec<u32>> = vec![vec![]; count];
            for &(from, to) in edges.iter().filter(|e| !removed[e.0 as usize] && !removed[e.1 as usize]) {
                calls[from as usize] += 1;
                callers[to as usize].push(from);
            }
            let mut leaves: Vec<u32> = (0..count as u32).filter(|f| calls[*f as usize] == 0).collect();
            while let Some(leaf) = leaves.pop() {
                removed[leaf as usize] = true;
                for &caller in &callers[leaf as usize] {
                    calls[caller as usize] -= 1;
                    if calls[caller as usize] == 0 {
                        leaves.push(caller);
                    }
                }
            }
            edges.iter_mut().for_each(|e| *e = (e.1, e.0));
        }
        for (function, removed) in self.program.functions.iter_mut().zip(removed) {
            function.recursive = !removed;
        }
    }
}

pub(super) fn find_kernel(module: &Module, name: &str) -> Option<usize> {
    let kernels = || module.functions.iter().enumerate().filter(|(_, f)| f.is_entry && f.has_body);
    if let Some((index, _)) = kernels().find(|(_, f)| module.name(f.name) == name) {
        return Some(index);
    }
    let mangled = format!("{}{name}", name.len());
    let mut found = kernels().filter(|(_, f)| module.name(f.name).contains(&mangled)).map(|(i, _)| i);
    let first = found.next();
    if found.next().is_some() { None } else { first }
}

/// The file of the first location of the function that is not inlined.
pub(super) fn own_file(module: &Module, function: &Function) -> Option<u32> {
    let locations = function.body.iter().filter_map(|s| match s {
        Statement::Instruction(i) => i.location.and_then(|l| module.locations.get(l as usize)),
        _ => None,
    });
    let mut first = None;
    for location in locations {
        first = first.or(Some(location.place.file));
        if location.inlined_at.is_none() {
            return Some(location.place.file);
        }
    }
    first
}
