//! A side with everything that was compiled for it: what the interpreter runs, what a driver loads, and what the report
//! says of how it was made.

use std::collections::BTreeMap;

use super::arithmetic;
use super::device::Image;
use super::side::{KernelKey, Side};
use crate::compile::KernelResources;
use crate::compile::cubin::{self, CubinError};
use crate::contract::Plan;
use crate::ptx::{Program, PtxError, parse};

/// Registers whose values only a device has.
const MACHINE: &[&str] = &["%clock", "%globaltimer", "%smid", "%nsmid", "%warpid", "%nwarpid", "%gridid"];

#[derive(Clone, Debug)]
pub struct Built {
    pub side: Side,
    /// What a driver loads for each kernel.
    pub images: BTreeMap<KernelKey, Image>,
    /// What the images were made of.
    pub compiled: BTreeMap<KernelKey, Compiled>,
    /// Approximate instructions.
    pub approximate: Vec<String>,
    /// What is worth saying of how it was made.
    pub notes: Vec<String>,
    pub toolchain: String,
}

/// What a compiler gave for one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// The kernel's name in it.
    pub symbol: String,
    /// Empty where only machine code is there: then the interpreter says nothing.
    pub ptx: String,
    /// Empty where the driver compiles the PTX.
    pub cubin: Vec<u8>,
    /// Not known of PTX that the user has.
    pub resources: Option<KernelResources>,
}

/// Why a side has no program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// The interpreter does not know what the kernel does.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    #[error(transparent)]
    Cubin(#[from] CubinError),
    #[error("the CUBIN has no kernel `{wanted}`; it has {there}")]
    NoKernel { wanted: String, there: String },
}

impl Built {
    /// A side whose kernels are added one by one.
    pub fn new(plan: Plan, arch: String, toolchain: String) -> Built {
        let (programs, resources) = (BTreeMap::new(), BTreeMap::new());
        Built {
            side: Side { plan, programs, resources, arch, arithmetic: 0.0 },
            images: BTreeMap::new(),
            compiled: BTreeMap::new(),
            approximate: vec![],
            notes: vec![],
            toolchain,
        }
    }

    /// Takes what a compiler gave for a kernel.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn add(&mut self, key: &KernelKey, made: Compiled) -> Result<(), BuildError> {
        let resources =
            if made.ptx.is_empty() { self.add_machine_code(key, &made)? } else { self.add_ptx(key, &made)? };
        self.side.resources.extend(resources.map(|r| (key.clone(), r)));
        self.compiled.insert(key.clone(), made);
        Ok(())
    }

    fn add_ptx(&mut self, key: &KernelKey, made: &Compiled) -> Result<Option<KernelResources>, BuildError> {
        let program = parse(&made.ptx).and_then(|m| Program::decode(&m, &made.symbol))?;
        self.absorb(&made.ptx);
        self.images.insert(key.clone(), Image::of_program(&program, &made.ptx, &made.cubin, &made.symbol));
        self.side.programs.insert(key.clone(), program);
        Ok(made.resources.clone())
    }

    fn add_machine_code(&mut self, key: &KernelKey, made: &Compiled) -> Result<Option<KernelResources>, BuildError> {
        let cubin = cubin::read(&made.cubin)?;
        let kernel = cubin.kernel(&made.symbol).ok_or_else(|| {
            let there: Vec<String> = cubin.kernels.iter().map(|k| format!("`{}`", k.resources.symbol)).collect();
            BuildError::NoKernel { wanted: made.symbol.clone(), there: there.join(", ") }
        })?;
        self.images.insert(key.clone(), Image::of_cubin(&cubin, kernel, &made.cubin));
        self.side.arithmetic = self.side.arithmetic.max(arithmetic::F32);
        self.say("machine code: the precision it computes in is not known, and taken for that of f32");
        Ok(Some(made.resources.clone().unwrap_or_else(|| kernel.resources.clone())))
    }

    /// A side from PTX that the user has.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn from_ptx(text: &str, plan: &Plan) -> Result<Built, BuildError> {
        let arch = parse(text)?.target;
        let mut built = Built::new(plan.clone(), arch, "PTX as given".to_owned());
        for key in Side::keys(plan) {
            let made = Compiled { symbol: key.name.clone(), ptx: text.to_owned(), ..Compiled::default() };
            built.add(&key, made)?;
        }
        Ok(built)
    }

    /// A side from machine code that the user has: a device runs it, the interpreter does not.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn from_cubin(bytes: &[u8], plan: &Plan) -> Result<Built, BuildError> {
        let arch = cubin::read(bytes)?.arch;
        let mut built = Built::new(plan.clone(), arch, "CUBIN as given".to_owned());
        for key in Side::keys(plan) {
            let made = Compiled { symbol: key.name.clone(), cubin: bytes.to_vec(), ..Compiled::default() };
            built.add(&key, made)?;
        }
        Ok(built)
    }

    /// Whether the interpreter can run it.
    pub fn is_interpretable(&self) -> bool {
        self.images.keys().all(|k| self.side.programs.contains_key(k))
    }

    fn absorb(&mut self, ptx: &str) {
        self.side.arithmetic = self.side.arithmetic.max(arithmetic::unit_roundoff(ptx));
        self.approximate.extend(arithmetic::approximate(ptx));
        self.approximate.sort();
        self.approximate.dedup();
        let odd = MACHINE.iter().filter(|word| ptx.contains(**word));
        for word in odd {
            self.say(&format!("reads `{word}`, which is another value on a device"));
        }
    }

    fn say(&mut self, note: &str) {
        if !self.notes.iter().any(|n| n == note) {
            self.notes.push(note.to_owned());
        }
    }
}
