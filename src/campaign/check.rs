//! Runs a program and its variants on equal inputs, with every check of the interpreter, and compares.

use std::collections::BTreeMap;

use super::build::ARCH;
use super::device::{Unit, which};
use super::program::{Made, Sizes};
use crate::contract::{Binding, Cell, ConcreteBuffer, ConcretePlan, ConcreteStep, Distribution, Plan, Role, Start};
use crate::gate::bound::{Bound, BoundKind};
use crate::gate::cell::CellRun;
use crate::gate::{
    CellVerdict, Fault, How, KernelKey, Ran, Settings, Side, cell::how, element, execute, judge::judge, starts,
};
use crate::ir::Scalar;
use crate::ptx::Program;

/// One way in which a program is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub sizes: Sizes,
    pub distribution: Distribution,
    pub seed: u64,
    /// Buffers whose alignment is not promised begin at a multiple of their element only.
    pub shifted: bool,
}

/// The settings of a kernel: each of its sizes, the first two also with unaligned buffers.
pub fn settings(kernel: &Made, seed: u64) -> Vec<Setting> {
    let mut found = vec![];
    for (i, sizes) in kernel.cells.iter().enumerate() {
        let distribution = if i % 2 == 0 { Distribution::Normal } else { Distribution::Integers };
        let plain = Setting { sizes: sizes.clone(), distribution, seed, shifted: false };
        if i < 2 && !kernel.loose.is_empty() {
            found.push(Setting { shifted: true, ..plain.clone() });
        }
        found.push(plain);
    }
    found
}

/// Warp instructions of one run.
const STEPS: u64 = 4 << 20;

/// A version of a program, ready to be run.
pub struct Version<'a> {
    pub unit: &'a Unit,
    pub kernels: &'a BTreeMap<String, Program>,
}

impl Version<'_> {
    fn side(&self, plan: &Plan) -> Side {
        let template = plan.launches().next().map(|l| l.template.clone()).unwrap_or_default();
        let is_template = |k: &String| self.unit.kernels.iter().any(|(n, list)| n == k && !list.is_empty());
        let key = |k: &String| KernelKey {
            name: k.clone(),
            template: if is_template(k) { template.clone() } else { vec![] },
        };
        Side {
            plan: plan.clone(),
            programs: self.kernels.iter().map(|(k, p)| (key(k), p.clone())).collect(),
            resources: BTreeMap::new(),
            arch: ARCH.to_owned(),
            arithmetic: 0.0,
        }
    }
}

/// The original under one setting: what it did, and what everything else is compared with.
pub struct Reference {
    pub setting: Setting,
    concrete: ConcretePlan,
    starts: Vec<Vec<u8>>,
    ran: Ran,
}

/// What the original does under a setting.
///
/// # Errors
/// What cannot be run; a fault of the generator or of this program.
pub fn reference(plan: &Plan, original: &Version, setting: &Setting, loose: &[String]) -> Result<Reference, String> {
    let cell = cell_of(setting);
    let mut concrete = plan.concrete(&cell).map_err(|e| e.to_string())?;
    if setting.shifted {
        for b in concrete.buffers.iter_mut().filter(|b| loose.contains(&b.name)) {
            b.align = u64::from(b.dtype.bytes());
        }
    }
    let starts = starts(&concrete)?;
    let ran = execute(&original.side(plan), &concrete, &starts, &patience(STEPS))?;
    Ok(Reference { setting: setting.clone(), concrete, starts, ran })
}

fn cell_of(setting: &Setting) -> Cell {
    Cell::new(setting.sizes.clone(), setting.distribution, setting.seed)
}

fn patience(steps: u64) -> How {
    How { counters: false, ..how(&Settings { memory: 64 << 20, ..Settings::default() }, steps) }
}

impl Reference {
    /// Why nothing can be asked of a rewrite here: the original itself is not defined.
    pub fn undefined(&self) -> Option<String> {
        let found = crate::gate::judge::undefined(&self.ran);
        found.first().map(|u| format!("{u:?}"))
    }

    pub fn steps(&self) -> u64 {
        self.ran.steps
    }

    /// What is wrong with a variant here, and which kernel it launched. Results must be equal bit for bit where `exact`.
    ///
    /// # Errors
    /// The variant could not be run, for a reason that is no verdict on it.
    pub fn faults(&self, plan: &Plan, version: &Version, exact: bool) -> Result<(Vec<Fault>, String), String> {
        let mut side = version.side(plan);
        let mut concrete = self.concrete.clone();
        let own = plan.launches().next().map(|l| l.kernel.clone()).unwrap_or_default();
        let launched = self.launched(&own, &mut side, version)?;
        for step in &mut concrete.steps {
            if let ConcreteStep::Launch(l) = step {
                l.kernel = launched.clone();
            }
        }
        let most = self.ran.steps.saturating_mul(64).max(1 << 15);
        let ran = execute(&side, &concrete, &self.starts, &patience(most))?;
        let run = CellRun { cell: cell_of(&self.setting), original: self.ran.clone(), candidate: ran, shapes: vec![] };
        let result = judge(&run, &plan.permissions, &|_, output| {
            let bound = if exact { Bound::exact() } else { approximate(output.dtype, &output.bytes) };
            (bound, None)
        });
        match result.verdict {
            CellVerdict::Failed(faults) => Ok((faults, launched)),
            CellVerdict::EqualBits | CellVerdict::WithinTolerance => Ok((vec![], launched)),
            CellVerdict::Undefined(u) => Err(format!("the original is not defined: {u:?}")),
            CellVerdict::NotRun(why) => Err(why),
        }
    }

    /// The kernel that the host function launches with these arguments.
    fn launched(&self, own: &str, side: &mut Side, version: &Version) -> Result<String, String> {
        let Some(choices) = version.unit.launched.get(own) else { return Ok(own.to_owned()) };
        let mut concrete = self.concrete.clone();
        let chosen = concrete.buffers.len();
        concrete.buffers.push(ConcreteBuffer {
            name: "chosen".to_owned(),
            role: Role::Out,
            dtype: Scalar::I32,
            elements: 1,
            bytes: 4,
            align: 256,
            start: Start::Poison(0xff),
            writes: 0..1,
            symbol: None,
        });
        concrete.steps.retain_mut(|step| {
            let ConcreteStep::Launch(l) = step else { return false };
            l.kernel = which(own);
            l.template.clear();
            (l.grid, l.block) = ([1, 1, 1], [1, 1, 1]);
            l.args.push(Binding::Buffer { buffer: chosen, offset: 0 });
            true
        });
        let mut starts = self.starts.clone();
        starts.push(vec![0xff; 4]);
        let ran = execute(side, &concrete, &starts, &patience(1 << 16))?;
        let output = ran.outputs.last().ok_or("the guard gave no answer")?;
        let number = element::bits(Scalar::I32, &output.bytes, 0) as usize;
        choices.get(number).cloned().ok_or_else(|| format!("the guard was not evaluated: {:?}", ran.stopped))
    }
}

/// What approximate functions may change: the fast functions are off by some 2^-20 of their value (CUDA C++ Programming
/// Guide, "Intrinsic Functions"), and programs put a few of them into sums; rounding of the output comes on top.
fn approximate(dtype: Scalar, bytes: &[u8]) -> Bound {
    let count = bytes.len() / dtype.bytes() as usize;
    let values = (0..count).map(|i| element::value(dtype, element::bits(dtype, bytes, i)).abs());
    let largest = values.filter(|v| v.is_finite()).fold(1.0, f64::max);
    let of_output = element::unit_roundoff(dtype).unwrap_or(0.0);
    let max = Some(2f64.powi(-12) + 4.0 * of_output);
    Bound { kind: BoundKind::Given { rms: None, max }, magnitude: largest, floor: 0.0 }
}
