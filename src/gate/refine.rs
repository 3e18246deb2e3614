//! What a bound is derived from, for one cell: sensitivity, reduction length, and outputs in other precisions.

use std::sync::OnceLock;

use super::bound::{Bound, Derivation, rms};
use super::calibrate::rounded;
use super::cell::{CellRun, original_again};
use super::compare::compare;
use super::element;
use super::execute::Output;
use super::pair::Settings;
use super::side::Side;
use crate::contract::{Init, Tolerance};
use crate::ptx::{Arguments, Launch, Memory, Mode, Options, Program, parse, run};

/// Of each output of one cell.
#[derive(Clone, Debug, Default)]
pub struct Refined {
    pub bounds: Vec<Bound>,
    /// The original's output in float64, where the machine has that mode.
    pub references: Vec<Option<Vec<u8>>>,
    pub lower: Vec<Option<Vec<u8>>>,
}

/// How many times the bound an original may itself be off against float64.
const PLAUSIBLE: f64 = 4.0;

/// Runs the original again as often as its bounds need it. `given` are the outputs of a reference that the contract names:
/// then the original is measured against it, and its own error widens no bound.
pub fn refine(side: &Side, cell: &CellRun, settings: &Settings, given: Option<&[Vec<u8>]>) -> Refined {
    let again = |mode, lowered| original_again(side, &cell.cell, settings, mode, lowered).ok().map(|r| r.outputs);
    let moved = again(Mode::Exact, true);
    let modes = has_modes();
    let exact = if modes && given.is_none() { again(Mode::Float64, false) } else { None };
    let low = if modes { again(Mode::Lower, false) } else { None };
    let length = length(cell);
    let step = input_step(side);
    let mut found = Refined::default();
    for (n, o) in cell.original.outputs.iter().enumerate() {
        let bytes = |list: &Option<Vec<Output>>| list.as_ref().and_then(|l| l.get(n)).map(|o| o.bytes.clone());
        // A result in f64 is as exact as the machine is.
        let reference = bytes(&exact).filter(|_| o.dtype.is_float() && o.dtype != crate::ir::Scalar::F64);
        let elsewhere = given.and_then(|g| g.get(n)).filter(|b| b.len() == o.bytes.len()).cloned();
        let own = reference.as_ref().map(|r| original_error(o, r));
        let sensitivity = match (bytes(&moved), step) {
            (Some(moved), Some(step)) => sensitivity(o, &moved, step),
            _ => 0.0,
        };
        let base = reference.as_deref().unwrap_or(&o.bytes);
        let magnitude = rms(written(o, base));
        let tolerance = side.plan.tolerances.iter().find(|t| t.output == o.name);
        let derivation = |original| Derivation {
            output: element::unit_roundoff(o.dtype).unwrap_or(0.0),
            arithmetic: side.arithmetic,
            length,
            sensitivity,
            original,
        };
        let alone = Bound::of(o.dtype, None, magnitude, derivation(None));
        // An original that is far beyond what rounding explains was not followed in float64: code that takes numbers apart
        // by their bits, as library functions do, is another computation there.
        let is_plausible = own.is_none_or(|(rms, _)| rms <= PLAUSIBLE * alone.rms());
        let reference = elsewhere.or(reference.filter(|_| is_plausible));
        let own = own.filter(|_| is_plausible && given.is_none());
        found.bounds.push(Bound::of(o.dtype, tolerance, magnitude, derivation(own)));
        found.lower.push(bytes(&low).or_else(|| rounded(o)));
        found.references.push(reference);
    }
    found
}

/// Whether an output is compared bit for bit whatever was seen.
pub fn is_exact(output: &Output, given: Option<&Tolerance>) -> bool {
    !output.dtype.is_float() || given.is_some_and(|t| t.exact)
}

fn written<'a>(o: &'a Output, bytes: &'a [u8]) -> impl Iterator<Item = f64> + Clone + 'a {
    let all = 0..bytes.len() / o.dtype.bytes() as usize;
    all.filter(|i| !o.is_unwritten(*i as u64)).map(move |i| element::value(o.dtype, element::bits(o.dtype, bytes, i)))
}

/// Floating-point operations for each element that is written: an estimate of the longest sum from above.
fn length(cell: &CellRun) -> f64 {
    let floats = cell.original.outputs.iter().filter(|o| o.dtype.is_float());
    let elements: u64 = floats.map(|o| o.elements() - o.count_unwritten(&(0..o.elements()))).sum();
    (cell.original.counts.flops as f64 / elements.max(1) as f64).max(1.0)
}

/// The mean relative change of an input that is rounded to the next lower precision: the coarsest of all.
fn input_step(side: &Side) -> Option<f64> {
    let read = side.plan.args.iter().filter(|a| a.is_buffer() && a.init() == Init::Keep);
    let mantissas = read.filter_map(|a| element::lower_mantissa(a.dtype?));
    mantissas.min().map(|m| 2f64.powi(-(m as i32) - 2))
}

/// Movement of the output per relative change of the inputs. Most elements must move for it to count: a few that jump
/// because a comparison went the other way say nothing about rounding.
fn sensitivity(o: &Output, moved: &[u8], step: f64) -> f64 {
    let pairs = written(o, &o.bytes).zip(written(o, moved));
    let mut by: Vec<f64> = pairs.map(|(a, b)| (a - b).abs()).filter(|d| d.is_finite()).collect();
    let mean = rms(by.iter().copied());
    by.sort_by(f64::total_cmp);
    let median = by.get(by.len() / 2).copied().unwrap_or(0.0);
    mean.min(4.0 * median) / step
}

/// Errors of the original against the reference: root mean square and largest.
fn original_error(o: &Output, reference: &[u8]) -> (f64, f64) {
    let found = compare(o.dtype, reference, &o.bytes, &Bound::exact(), &|i| o.is_unwritten(i as u64));
    (found.rms, found.max)
}

/// Whether the interpreter carries out the other precisions, asked of it with one addition and one subtraction that
/// come out differently in each.
pub fn has_modes() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let ask = |mode| probe(mode).unwrap_or(f32::NAN);
        ask(Mode::Exact) == 0.0 && ask(Mode::Float64) == 2f32.powi(-30) && ask(Mode::Lower) == 0.0 && {
            // In the lower precision even 2^-20 is lost.
            let small = |mode| probe_with(mode, 2f32.powi(-20)).unwrap_or(f32::NAN);
            small(Mode::Exact) == 2f32.powi(-20) && small(Mode::Lower) == 0.0
        }
    })
}

const PROBE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry probe(.param .u64 p, .param .f32 x)\n{\n\
.reg .f32 %f<4>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\nld.param.f32 %f1, [x];\ncvta.to.global.u64 %rd2, %rd1;\n\
add.f32 %f2, %f1, 0f3F800000;\nsub.f32 %f3, %f2, 0f3F800000;\nst.global.f32 [%rd2], %f3;\nret;\n}\n";

fn probe(mode: Mode) -> Option<f32> {
    probe_with(mode, 2f32.powi(-30))
}

/// `(x + 1) - 1` in a mode.
fn probe_with(mode: Mode, x: f32) -> Option<f32> {
    let program = Program::decode(&parse(PROBE).ok()?, "probe").ok()?;
    let mut memory = Memory::new();
    let id = memory.allocate("y", 4).ok()?;
    let params = Arguments::new().u64(memory.address(id).ok()?).f32(x).bytes();
    let launch = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params };
    run(&program, &launch, &mut memory, &Options { mode, ..Options::default() }).ok()?;
    memory.read(id, 0, 4).ok()?.try_into().ok().map(f32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_probe_runs_in_the_exact_mode() {
        assert_eq!(super::probe_with(crate::ptx::Mode::Exact, 2f32.powi(-20)), Some(2f32.powi(-20)));
        assert_eq!(super::probe(crate::ptx::Mode::Exact), Some(0.0));
    }
}
