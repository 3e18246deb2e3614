//! One side of a comparison: its plan and its decoded kernels.

use std::collections::BTreeMap;
use std::fmt;

use crate::compile::KernelResources;
use crate::compile::occupancy;
use crate::contract::{ConcreteLaunch, Launch, Plan};
use crate::ptx::Program;

/// A kernel with its template arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelKey {
    pub name: String,
    pub template: Vec<String>,
}

impl KernelKey {
    pub fn of(launch: &ConcreteLaunch) -> KernelKey {
        KernelKey { name: launch.kernel.clone(), template: launch.template.clone() }
    }

    pub fn of_launch(launch: &Launch) -> KernelKey {
        KernelKey { name: launch.kernel.clone(), template: launch.template.clone() }
    }
}

impl fmt::Display for KernelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.template.as_slice() {
            [] => f.write_str(&self.name),
            list => write!(f, "{}<{}>", self.name, list.join(", ")),
        }
    }
}

/// Plan and kernels of the original or of the candidate.
#[derive(Clone, Debug)]
pub struct Side {
    pub plan: Plan,
    pub programs: BTreeMap<KernelKey, Program>,
    /// What the compiler said of each; empty for PTX of the user.
    pub resources: BTreeMap<KernelKey, KernelResources>,
    pub arch: String,
    /// Unit roundoff of the least precise floating-point arithmetic that the kernels do; see [`super::arithmetic`].
    pub arithmetic: f64,
}

impl Side {
    pub fn program(&self, launch: &ConcreteLaunch) -> Option<&Program> {
        self.programs.get(&KernelKey::of(launch))
    }

    /// Why a block of this launch cannot run on the architecture at all.
    pub fn does_not_fit(&self, launch: &ConcreteLaunch) -> Option<String> {
        let limits = occupancy::limits(&self.arch)?;
        let key = KernelKey::of(launch);
        let threads = u32::try_from(launch.threads_per_block()).unwrap_or(u32::MAX);
        let fits = match self.resources.get(&key) {
            Some(r) => occupancy::of_kernel(limits, r, threads, launch.shared),
            None => {
                let own = self.programs.get(&key).map_or(0, |p| p.shared_bytes);
                occupancy::occupancy(limits, threads, 0, own.saturating_add(launch.shared))
            }
        };
        fits.err().map(|e| e.to_string())
    }

    /// Every kernel that the plan launches.
    pub fn keys(plan: &Plan) -> Vec<KernelKey> {
        let mut found: Vec<KernelKey> = plan.launches().map(KernelKey::of_launch).collect();
        found.sort();
        found.dedup();
        found
    }
}
