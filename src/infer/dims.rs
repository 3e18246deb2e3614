//! Which symbols of the host code become dims of a plan, and which are constants of it.

use std::collections::{BTreeMap, BTreeSet};

use super::host::Host;
use super::value::Symbol;
use crate::contract::{Dim, Expr};

/// The choice for one plan.
pub struct Choice {
    /// Symbols that vary with the caller, in the order of the text.
    pub dims: Vec<Symbol>,
    constants: BTreeMap<String, i64>,
}

impl Choice {
    /// `sizes` are shapes and integer arguments, `blocks` the shapes of blocks, `others` grids and shared memory.
    pub fn of(host: &Host, sizes: &[&Expr], blocks: &[&Expr], others: &[&Expr]) -> Choice {
        let names =
            |list: &[&Expr]| -> BTreeSet<String> { list.iter().flat_map(|e| e.names()).map(str::to_owned).collect() };
        let (in_sizes, in_blocks, in_others) = (names(sizes), names(blocks), names(others));
        let mut dims = vec![];
        let mut constants = BTreeMap::new();
        for s in &host.symbols {
            let used = in_sizes.contains(&s.name) || in_others.contains(&s.name) || in_blocks.contains(&s.name);
            if !used {
                continue;
            }
            match s.value {
                // A block of another shape would be another launch.
                Some(v) if in_blocks.contains(&s.name) || !in_sizes.contains(&s.name) => {
                    _ = constants.insert(s.name.clone(), v)
                }
                _ => dims.push(s.clone()),
            }
        }
        Choice { dims, constants }
    }

    /// The same with every dim at the value in view.
    pub fn pinned(&self) -> Choice {
        let values = self.dims.iter().filter_map(|d| Some((d.name.clone(), d.value?)));
        Choice { dims: self.dims.clone(), constants: self.constants.clone().into_iter().chain(values).collect() }
    }

    /// The expression over dims.
    pub fn settle(&self, e: &Expr) -> Expr {
        if e.names().iter().any(|n| self.constants.contains_key(*n)) {
            e.substitute(&|n| self.constants.get(n).map(|v| Expr::Int(*v)))
        } else {
            e.clone()
        }
    }

    /// The dims with what is known of them. `fixed` says why they may not vary; `tile` is the largest that divides grids.
    pub fn made(&self, decided: &BTreeSet<String>, fixed: Option<&str>, multiple: i64, tile: i64) -> Vec<Dim> {
        let count = self.dims.len();
        let one = |s: &Symbol| {
            let mut d = Dim { span: Some(s.span), ..Dim::new(&s.name) };
            match s.value {
                Some(v) => d.samples = vec![v],
                None => {
                    // Small enough for a product of all.
                    let small: i64 = if count > 2 {
                        64
                    } else if count == 2 {
                        128
                    } else {
                        1024
                    };
                    d.samples = vec![(small + tile - 1) / tile * tile];
                    if s.is_input && fixed.is_none() {
                        d.notes.push("The program reads it when it runs; every access is inside for any value.".into());
                    } else {
                        d.proposed.field("samples");
                        d.notes.push("The files do not show a value: which ones does the caller use?".into());
                    }
                }
            }
            let sample = s.value;
            match (fixed, sample) {
                (Some(why), Some(v)) => {
                    d.min = Some(v);
                    d.max = Some(v);
                    d.notes.push(format!("Only this size is sure: {why}."));
                }
                _ if decided.contains(&s.name) && sample.is_some() => {
                    d.min = sample;
                    d.max = sample;
                    d.notes.push("Only this size is sure: the host code goes another way for others.".into());
                }
                (Some(why), None) => {
                    d.min = Some(1);
                    d.proposed.field("min");
                    d.notes.push(format!("For which sizes is the kernel defined? {why}."));
                }
                (None, _) if multiple > 1 => {
                    d.min = Some(multiple);
                    d.divisible_by = Some(multiple);
                    d.notes.push(format!("In bounds for multiples of {multiple}."));
                }
                (None, _) => d.min = Some(1),
            }
            d
        };
        self.dims.iter().map(one).collect()
    }
}
