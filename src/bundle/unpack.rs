//! A side out of a bundle.

use super::{Build, Bundle, BundleError, Side};
use crate::contract;
use crate::gate::{Built, Compiled, KernelKey};
use crate::report::Input;
use crate::source::{FileId, SourceFile, Sources};

/// One side that is ready to be run.
pub struct Unpacked {
    pub built: Built,
    pub sources: Sources,
    pub input: Input,
}

/// The side as it was built for the GPU of architecture `arch`, or else as the driver can compile it from PTX.
///
/// # Errors
/// Parts that are missing or make no sense, and no program for the architecture.
pub fn unpack(bundle: &Bundle, side: &Side, arch: &str) -> Result<Unpacked, BundleError> {
    let text = bundle.text(&side.plan)?;
    let (read, problems) = contract::read(FileId(0), &SourceFile::new("contract", text.to_owned()));
    if let Some(problem) = problems.first() {
        return Err(BundleError::Damaged(format!("the contract: {}", problem.message)));
    }
    let plan = read.plans.into_iter().next();
    let plan = plan.ok_or_else(|| BundleError::Damaged("the contract has no plan".to_owned()))?;
    let build = chosen(side, arch)?;
    let mut built = Built::new(plan, build.arch.clone(), build.toolchain.clone());
    let exact = is_for(&build.arch, arch);
    if !exact {
        built.notes.push(format!("compiled by the driver for {arch} from PTX for {}", build.arch));
    }
    for kernel in &build.kernels {
        let key = KernelKey { name: kernel.name.clone(), template: kernel.template.clone() };
        let ptx = kernel.ptx.as_ref().map(|b| bundle.text(b)).transpose()?.unwrap_or_default();
        let cubin = kernel.cubin.as_ref().filter(|_| exact).map(|b| bundle.contents(b)).transpose()?;
        built.add(
            &key,
            Compiled {
                symbol: kernel.symbol.clone(),
                ptx: ptx.to_owned(),
                cubin: cubin.unwrap_or_default().to_vec(),
                resources: kernel.resources.clone(),
            },
        )?;
    }
    let new: Vec<String> = build.notes.iter().filter(|n| !built.notes.contains(n)).cloned().collect();
    built.notes.extend(new);
    let mut sources = Sources::default();
    for t in &side.texts {
        sources.add(SourceFile::new(t.name.clone(), bundle.text(&t.text)?.to_owned()));
    }
    let input = Input {
        file: side.file.clone(),
        kernels: side.kernels.clone(),
        hash: side.hash.clone(),
        text: side.texts.first().map(|t| bundle.text(&t.text)).transpose()?.unwrap_or_default().to_owned(),
    };
    Ok(Unpacked { built, sources, input })
}

/// The build for exactly this architecture, else the newest whose PTX a driver compiles for it.
fn chosen<'s>(side: &'s Side, arch: &str) -> Result<&'s Build, BundleError> {
    if let Some(exact) = side.builds.iter().find(|b| is_for(&b.arch, arch)) {
        return Ok(exact);
    }
    let has_ptx = |b: &&Build| b.kernels.iter().all(|k| k.ptx.is_some());
    let older = |b: &&Build| number(&b.arch) <= number(arch) && b.arch.ends_with(|c: char| c.is_ascii_digit());
    let newest = side.builds.iter().filter(has_ptx).filter(older).max_by_key(|b| number(&b.arch));
    newest.ok_or_else(|| BundleError::NoBuild {
        wanted: arch.to_owned(),
        there: side.builds.iter().map(|b| b.arch.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// Whether machine code for `built` runs on a device of `arch`: what is specific to an architecture (`sm_90a`) runs on
/// that architecture.
fn is_for(built: &str, arch: &str) -> bool {
    number(built) == number(arch)
}

fn number(arch: &str) -> u32 {
    let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}
