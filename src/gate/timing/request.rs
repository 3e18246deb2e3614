//! Two sides and a cell as what the process that owns the GPU is asked to time.

use std::collections::BTreeMap;

use super::super::device::{Image, Loaded, homes, shared_variable, taken};
use super::super::on_device::OnDevice;
use super::super::side::KernelKey;
use crate::contract::{Cell, ConcreteBuffer, ConcretePlan, ConcreteStep, Contents, DEVICE_ALIGNMENT, Role, Start};
use crate::gpu::job::{self, Buffer, Step};
use crate::gpu::timing::{Arm, Place, Policy, Timing};

/// Contents of one buffer are made for this many bytes and repeated from there on: they are made on the host.
const MADE: u64 = 16 << 20;
/// How many different contents there are.
const KINDS: u64 = 2;

/// The request, with its parts.
pub struct Request {
    pub timing: Timing,
    pub parts: Vec<Vec<u8>>,
    /// The plan of the original in the timed cell.
    pub plan: ConcretePlan,
    /// Bytes of a buffer that are repeated, where some are.
    pub repeated: Option<u64>,
}

/// The original, the original once more, and the candidate.
///
/// # Errors
/// Why the pair cannot be timed.
pub fn request(original: &OnDevice, candidate: &OnDevice, cell: &Cell, policy: Policy) -> Result<Request, String> {
    let mut made = Maker { parts: vec![], known: BTreeMap::new(), repeated: None };
    let (first, plan) = made.arm(original, cell)?;
    let (last, _) = made.arm(candidate, cell)?;
    let answers = |a: &Arm| a.places.iter().filter(|p| p.answer).map(|p| p.buffer.bytes).collect::<Vec<u64>>();
    if answers(&first) != answers(&last) {
        return Err("the two sides have outputs of other sizes".to_owned());
    }
    let arms = vec![first.clone(), first, last];
    let timing = Timing { device: original.ordinal, arms, policy };
    Ok(Request { timing, parts: made.parts, plan, repeated: made.repeated })
}

struct Maker {
    parts: Vec<Vec<u8>>,
    /// Contents that are there already; both sides begin with the same.
    known: BTreeMap<String, Vec<usize>>,
    repeated: Option<u64>,
}

impl Maker {
    fn arm(&mut self, side: &OnDevice, cell: &Cell) -> Result<(Arm, ConcretePlan), String> {
        if let Some(name) = shared_variable(side.images) {
            return Err(format!("several kernels use the variable `{name}`, and each would have one of its own"));
        }
        let plan = side.side.plan.concrete(cell).map_err(|e| e.to_string())?;
        let mut arm = Arm { kernels: vec![], places: vec![], variables: vec![], before: vec![], steps: vec![] };
        let mut kernels: BTreeMap<KernelKey, usize> = BTreeMap::new();
        for (key, image) in side.images {
            let parameters = image.parameters.clone();
            kernels.insert(key.clone(), arm.kernels.len());
            arm.kernels.push(job::Kernel { image: self.image(image), symbol: image.symbol.clone(), parameters });
        }
        for buffer in &plan.buffers {
            let variables = homes(side.images, &kernels, buffer.symbol.as_deref());
            if buffer.symbol.is_some() && buffer.role.is_output() {
                return Err(format!("the output `{}` is a variable of the module", buffer.name));
            }
            for (kernel, name) in variables {
                let part = self.whole(buffer)?;
                arm.variables.push(Step::Symbol { kernel, name, part });
            }
            arm.places.push(self.place(buffer)?);
        }
        let loaded = Loaded { kernels: &kernels, images: side.images };
        for step in taken(&plan) {
            let initialises = matches!(step, ConcreteStep::Launch(l) if l.initialises);
            let made = loaded.step(step, 0)?;
            // What prepares buffers is not timed, as long as nothing that is timed came before it.
            if initialises && !arm.steps.iter().any(|s| matches!(s, Step::Launch(_))) {
                arm.before.append(&mut arm.steps);
                arm.before.push(made);
            } else {
                arm.steps.push(made);
            }
        }
        if !arm.steps.iter().any(|s| matches!(s, Step::Launch(_))) {
            return Err("nothing is launched that could be timed".to_owned());
        }
        Ok((arm, plan))
    }

    fn image(&mut self, image: &Image) -> usize {
        self.parts.push(image.bytes.clone());
        self.parts.len() - 1
    }

    /// A part with all of the contents.
    fn whole(&mut self, buffer: &ConcreteBuffer) -> Result<usize, String> {
        self.parts.push(buffer.start_bytes(0..buffer.elements).map_err(|e| format!("`{}`: {e}", buffer.name))?);
        Ok(self.parts.len() - 1)
    }

    fn place(&mut self, buffer: &ConcreteBuffer) -> Result<Place, String> {
        let mut contents = vec![];
        let start = match &buffer.start {
            Start::Zero => job::Start::Byte(0),
            Start::Poison(byte) => job::Start::Byte(*byte),
            Start::Contents(c) => {
                contents = self.contents(buffer, c)?;
                job::Start::Byte(0)
            }
        };
        // No better aligned than the contract promises.
        let before = if buffer.align < DEVICE_ALIGNMENT { buffer.align } else { 0 };
        Ok(Place {
            buffer: Buffer { bytes: buffer.bytes, before, start },
            contents,
            restored: buffer.role != Role::In,
            answer: buffer.role.is_output(),
        })
    }

    fn contents(&mut self, buffer: &ConcreteBuffer, contents: &Contents) -> Result<Vec<usize>, String> {
        let key = format!("{contents:?} {}", buffer.elements);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let width = u64::from(buffer.dtype.bytes()).max(1);
        let elements = buffer.elements.min(MADE / width);
        if elements < buffer.elements {
            self.repeated = Some(MADE);
        }
        let mut found = vec![];
        for kind in 0..KINDS {
            let own = Contents { seed: contents.seed.wrapping_add(7919 * kind), ..contents.clone() };
            let bytes = own.bytes(0..elements).map_err(|e| format!("`{}`: {e}", buffer.name))?;
            found.push(self.parts.len());
            self.parts.push(bytes);
        }
        self.known.insert(key, found.clone());
        Ok(found)
    }
}
