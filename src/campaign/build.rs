//! Compiles many units in one call, and finds out which of them a compiler refuses.

use std::collections::BTreeMap;

use super::device::{Unit, joined};
use crate::compile::CompileGate;
use crate::compile::nvrtc::NvrtcError;
use crate::ptx::{Program, parse};

/// The virtual architecture that programs are compiled for, and the one whose limits hold when they run.
pub const VIRTUAL: &str = "compute_80";
pub const ARCH: &str = "sm_80";

/// Bytes of shared memory that a kernel may declare.
const STATIC_SHARED: u32 = 48 << 10;

/// The kernels of one unit by name, or what the compiler says against it.
pub type Built = Result<BTreeMap<String, Program>, String>;

/// Compiles all units, together where that works.
///
/// # Errors
/// When the compiler could not be asked; says nothing about the units.
pub fn build(gate: &CompileGate, units: &[Unit]) -> Result<Vec<Built>, NvrtcError> {
    if units.is_empty() {
        return Ok(vec![]);
    }
    let names: Vec<String> = units.iter().flat_map(Unit::names).collect();
    match gate.ptx(&joined(units), VIRTUAL, &names) {
        Ok(output) => {
            let module = match parse(&output.ptx) {
                Ok(module) => module,
                Err(e) => return Ok(units.iter().map(|_| Err(e.to_string())).collect()),
            };
            let of = |unit: &Unit| -> Built {
                let decoded = unit.kernels.iter().map(|k| {
                    let symbol = output.lowered.get(&unit.expression(k));
                    let symbol = symbol.ok_or_else(|| format!("the compiler did not name `{}`", k.0))?;
                    let program = Program::decode(&module, symbol).map_err(|e| e.to_string())?;
                    // What the assembler would say, which does not run here.
                    if program.shared_bytes > STATIC_SHARED {
                        return Err(format!("`{}` uses too much shared data: {} bytes", k.0, program.shared_bytes));
                    }
                    Ok((k.0.clone(), program))
                });
                decoded.collect()
            };
            Ok(units.iter().map(of).collect())
        }
        Err(NvrtcError::Rejected { log }) if units.len() == 1 => Ok(vec![Err(log)]),
        // One of them is refused, or kills the compiler: halves find it.
        Err(NvrtcError::Rejected { .. } | NvrtcError::Crashed { .. } | NvrtcError::TimedOut { .. })
            if units.len() > 1 =>
        {
            let (first, second) = units.split_at(units.len() / 2);
            let mut all = build(gate, first)?;
            all.extend(build(gate, second)?);
            Ok(all)
        }
        Err(other) => Err(other),
    }
}
