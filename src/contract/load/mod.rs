//! Reads contracts: TOML files, and comment lines above kernels.

mod comments;
mod steps;
mod tables;
mod value;

#[cfg(test)]
pub(super) mod tests;

use toml::de::DeTable;

use super::plan::Plan;
use super::{Assumptions, Contract};
use crate::diag::Diagnostic;
use crate::source::{FileId, SourceFile, Span};
use value::{FORM, Reader};

pub use comments::plans_from_comments;

/// Keys at the top of a contract that are not those of a plan.
const TOP: &[&str] = &["contract", "assume", "kernel", "plan"];
/// The form that this version reads.
pub const VERSION: i64 = 1;

/// Reads a whole contract; what is wrong is said with the place in the file, and the rest is read all the same.
pub fn read(file: FileId, source: &SourceFile) -> (Contract, Vec<Diagnostic>) {
    let table = match DeTable::parse(&source.text) {
        Ok(table) => table.into_inner(),
        Err(e) => {
            let range = e.span().unwrap_or(0..0);
            let d = Diagnostic::error(FORM, format!("the contract is not TOML: {}", e.message()));
            let d = d.at(Span::new(file, range.start, range.end), "here");
            return (Contract::default(), vec![d.next("mend the file; `kopt contract infer FILE` shows the form")]);
        }
    };
    let (assumptions, problems) = super::read::assumptions_of(file, &table);
    let mut reader = Reader { file, base: 0, problems };
    let known: Vec<&str> = TOP.iter().chain(tables::PLAN_KEYS).copied().collect();
    reader.known_keys(&table, &known, "a contract");
    version(&mut reader, &table);
    let mut plans = vec![];
    if tables::PLAN_KEYS.iter().any(|k| table.contains_key(*k)) {
        plans.push(plan(&mut reader, &table, ""));
    }
    if let Some(item) = table.get("plan")
        && let Some(named) = reader.table(item, "`[plan.NAME]`")
    {
        for (name, _, item) in reader.entries(named) {
            if let Some(inner) = reader.table(item, "`[plan.NAME]`") {
                reader.known_keys(inner, tables::PLAN_KEYS, "a plan");
                plans.push(plan(&mut reader, inner, &name));
            }
        }
    }
    (Contract { plans, assumptions }, reader.problems)
}

fn plan(reader: &mut Reader, table: &DeTable, name: &str) -> Plan {
    let mut plan = Plan { name: name.to_owned(), ..Plan::default() };
    reader.names(&mut plan, table);
    reader.rest(&mut plan, table, None);
    reader.settle(&plan);
    plan
}

fn version(reader: &mut Reader, table: &DeTable) {
    let Some(item) = table.get("contract") else { return };
    let read = reader.integer(item, "`contract = 1`");
    if read.is_some_and(|v| v != VERSION) {
        let d = Diagnostic::error(FORM, format!("this version of kopt reads contracts of form {VERSION}"));
        let span = reader.span(item);
        reader.problem(d.at(span, "another form").next(format!("write `contract = {VERSION}`")));
    }
}

impl Contract {
    /// The assumptions that are written down, and those that follow from the guarantees on dims and arguments.
    pub fn all_assumptions(&self, program: &crate::ir::Program) -> Assumptions {
        let mut all = self.assumptions.clone();
        all.extend(super::guarantees::of_plans(&self.plans, program));
        all
    }
}
