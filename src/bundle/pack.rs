//! Sides into a bundle.

use super::file::is_plain;
use super::{Build, Bundle, BundleError, Case, Kernel, Side, Text};
use crate::contract::{self, Contract, Plan};
use crate::gate::{Built, Compiled, KernelKey};
use crate::report::Input;
use crate::source::{FileId, SourceFile, Sources};

/// One side as it is packed: what was built for each architecture, with the same plan.
pub struct Packing<'a> {
    pub builds: &'a [Built],
    pub sources: &'a Sources,
    pub input: &'a Input,
}

/// Adds a case; `case` has everything but the sides and the id.
///
/// # Errors
/// A name that is taken or that is none for a file, and a contract that cannot be written down.
pub fn pack(bundle: &mut Bundle, case: Case, original: &Packing, candidate: &Packing) -> Result<(), BundleError> {
    if !is_plain(&case.name) {
        return Err(BundleError::Damaged(format!("`{}` is no name for a file", case.name)));
    }
    if bundle.manifest.cases.iter().any(|c| c.name == case.name) {
        return Err(BundleError::Twice(case.name));
    }
    let original = side(bundle, original)?;
    let candidate = side(bundle, candidate)?;
    let mut case = Case { original, candidate, ..case };
    case.id = case.computed_id();
    bundle.manifest.cases.push(case);
    Ok(())
}

fn side(bundle: &mut Bundle, packing: &Packing) -> Result<Side, BundleError> {
    let plan = packing.builds.first().map(|b| b.side.plan.clone()).unwrap_or_default();
    let toml = carried(&plan, &packing.input.file)?;
    let builds = packing.builds.iter().map(|b| build(bundle, b)).collect();
    Ok(Side {
        file: packing.input.file.replace('\\', "/"),
        kernels: packing.input.kernels.clone(),
        hash: packing.input.hash.clone(),
        plan: bundle.keep(toml.as_bytes()),
        texts: texts(bundle, packing),
        builds,
    })
}

/// The plan as TOML, which must give the same plan again.
fn carried(plan: &Plan, file: &str) -> Result<String, BundleError> {
    let text = contract::print(&Contract { plans: vec![plan.clone()], ..Contract::default() });
    let (back, problems) = contract::read(FileId(0), &SourceFile::new("contract", text.clone()));
    if !problems.is_empty() || back.plans.as_slice() != std::slice::from_ref(plan) {
        return Err(BundleError::Contract(file.to_owned()));
    }
    Ok(text)
}

/// The file itself, then everything else that was read for it: headers, of which no line need be left in the program, and a
/// contract that is a file.
fn texts(bundle: &mut Bundle, packing: &Packing) -> Vec<Text> {
    let mut found = vec![];
    for (_, file) in packing.sources.iter() {
        let text = Text { name: file.name.clone(), text: bundle.keep(file.text.as_bytes()) };
        if file.name == packing.input.file {
            found.insert(0, text);
        } else {
            found.push(text);
        }
    }
    found
}

fn build(bundle: &mut Bundle, built: &Built) -> Build {
    let mut kernel = |(key, made): (&KernelKey, &Compiled)| Kernel {
        name: key.name.clone(),
        template: key.template.clone(),
        symbol: made.symbol.clone(),
        ptx: (!made.ptx.is_empty()).then(|| bundle.keep(made.ptx.as_bytes())),
        cubin: (!made.cubin.is_empty()).then(|| bundle.keep(&made.cubin)),
        resources: made.resources.clone(),
    };
    Build {
        arch: built.side.arch.clone(),
        toolchain: built.toolchain.clone(),
        notes: built.notes.clone(),
        kernels: built.compiled.iter().map(&mut kernel).collect(),
    }
}
