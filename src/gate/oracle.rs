//! Outputs from elsewhere, with which both sides are compared: a kernel of the file, or whatever the caller runs.

use super::cell::how;
use super::execute::{execute, starts};
use super::pair::Settings;
use super::side::Side;
use crate::contract::{Cell, ConcretePlan};

/// Who computes the reference.
pub trait Oracle: Sync {
    /// The bytes of every output of a cell, in the order of the plan's buffers. `starts` are the contents of its buffers.
    ///
    /// # Errors
    /// Why there are none; this says nothing about original and candidate.
    fn outputs(&self, cell: &Cell, plan: &ConcretePlan, starts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String>;
}

/// A kernel of the file, in the interpreter.
pub struct KernelOracle {
    pub side: Side,
    pub settings: Settings,
}

impl Oracle for KernelOracle {
    fn outputs(&self, cell: &Cell, _: &ConcretePlan, _: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        let plan = self.side.plan.concrete(cell).map_err(|e| e.to_string())?;
        let ran = execute(&self.side, &plan, &starts(&plan)?, &how(&self.settings, self.settings.steps.saturating_mul(16)))?;
        if let Some(stopped) = ran.stopped {
            return Err(stopped.to_string());
        }
        if let Some(f) = ran.findings.iter().find(|f| super::finding::is_undefined(f.kind)) {
            return Err(format!("line {}: {}", f.line, super::finding::describe(f.kind)));
        }
        Ok(ran.outputs.into_iter().map(|o| o.bytes).collect())
    }
}
