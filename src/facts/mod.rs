//! Facts with provenance: what is known of a kernel's values, addresses and control flow, and on which places of the
//! text and which assumptions that rests.
//!
//! [`analyse`] walks a kernel once for every launch in general and once for each launch in view; [`Facts`] answers
//! questions about one such walk. Whatever is not modelled is unknown.

pub mod alias;
mod arith;
mod atom;
pub mod banks;
mod because;
mod bounds;
mod call;
pub mod context;
mod depend;
mod divide;
mod effects;
mod env;
mod eval;
mod host;
mod induction;
mod interval;
mod join;
mod library;
mod list;
mod loops;
mod macros;
mod names;
mod narrow;
mod notes;
mod place;
mod poly;
mod product;
mod questions;
mod range;
mod search;
mod state;
mod substitute;
mod tested;
mod value;
mod walk;

#[cfg(test)]
mod tests;

pub use alias::Alias;
pub use atom::Atom;
pub use because::{Because, Fact};
pub use context::Context;
pub use effects::CallEffect;
pub use interval::Interval;
pub use macros::Macros;
pub use names::Names;
pub use poly::{Poly, function, gcd};
pub use questions::{Missing, Trip};
pub use range::{Congruence, Known, Stated};
pub use state::{AccessState, Births, Divergence, Event, EventKind, Here, LaunchState, LoopState, Place, Walked};
pub use value::{Formula, IntValue, PointerValue, Truth, Value, type_range};

use std::cell::OnceCell;
use std::sync::Arc;

use notes::Notes;

use crate::contract::Assumption;
use crate::ir::{Function, FunctionRef, Program, Unit};
use crate::source::{FileId, Sources, mask};

/// One function under one context.
pub struct Facts<'a> {
    pub program: &'a Program,
    pub unit: &'a Unit,
    pub function: &'a Function,
    pub macros: &'a Macros,
    pub context: Context,
    pub walked: Walked,
    notes: Arc<Notes>,
    /// How often each loop runs; found when first asked.
    trips: Vec<OnceCell<Result<Fact<Trip>, Missing>>>,
}

/// One function under all its contexts.
pub struct Analysis<'a> {
    /// Holds for every launch.
    pub general: Facts<'a>,
    /// The launches and instantiations in view, each walked at the first question about it.
    visible: Vec<(Context, OnceCell<Facts<'a>>)>,
}

impl<'a> Analysis<'a> {
    /// How many launches and instantiations are in view.
    pub fn count_visible(&self) -> usize {
        self.visible.len()
    }

    /// The facts of each launch and instantiation in view, in order.
    pub fn visible(&self) -> impl Iterator<Item = &Facts<'a>> {
        let Facts { program, unit, function, macros, ref notes, .. } = self.general;
        let walk = move |c: &Context| Facts::of(program, unit, function, macros, c.clone(), notes.clone());
        self.visible.iter().map(move |(context, facts)| facts.get_or_init(|| walk(context)))
    }
}

impl<'a> Facts<'a> {
    fn of(
        program: &'a Program,
        unit: &'a Unit,
        function: &'a Function,
        macros: &'a Macros,
        context: Context,
        notes: Arc<Notes>,
    ) -> Facts<'a> {
        let walked = walk::Walker::run(program, unit, function, macros, &context, &notes);
        Facts { program, unit, function, macros, context, walked, notes, trips: cells(function.loops.len()) }
    }
}

/// So many empty cells.
fn cells<T>(count: usize) -> Vec<OnceCell<T>> {
    std::iter::repeat_with(OnceCell::new).take(count).collect()
}

/// The macros of each unit of the program, in order.
pub fn macros_of(program: &Program, sources: &Sources) -> Vec<Macros> {
    let names = Arc::new(Names::of(program, sources));
    let read = |u: &Unit| Macros::read(sources.get(u.file).text.clone());
    program.units.iter().zip(0..).map(|(u, n)| read(u).within(names.clone(), n)).collect()
}

/// The macros after one file was replaced.
pub fn macros_after(program: &Program, sources: &Sources, macros: Vec<Macros>, file: FileId) -> Vec<Macros> {
    let text = &sources.get(file).text;
    let includes = |text: &str| -> Vec<_> { mask::includes(text).into_iter().map(|i| (i.path, i.angled)).collect() };
    let replaced = program.units.iter().position(|u| u.file == file).and_then(|n| macros.get(n));
    let known = replaced.filter(|m| includes(&m.text) == includes(text)).and_then(Macros::names);
    let names = Arc::new(known.map_or_else(|| Names::of(program, sources), |n| n.after(program)));
    let fresh = |(u, old): (&Unit, Macros)| if u.file == file { Macros::read(text.clone()) } else { old };
    program.units.iter().zip(macros).map(fresh).zip(0..).map(|(m, n)| m.within(names.clone(), n)).collect()
}

/// Analyses `kernel`. `macros` is what [`macros_of`] gives for the same program.
pub fn analyse<'a>(
    program: &'a Program,
    macros: &'a [Macros],
    kernel: FunctionRef,
    assumptions: &[&Assumption],
) -> Option<Analysis<'a>> {
    let unit = program.units.get(kernel.unit as usize)?;
    let function = unit.functions.get(kernel.function.0 as usize)?;
    let own = macros.get(kernel.unit as usize)?;
    let all = context::contexts(program, kernel, assumptions, macros);
    let notes = Arc::new(Notes::of(&effects::Scope { program, unit, function, macros: own }));
    let general = Facts::of(program, unit, function, own, all.general, notes);
    Some(Analysis { general, visible: all.visible.into_iter().map(|c| (c, OnceCell::new())).collect() })
}
