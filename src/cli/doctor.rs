//! `kopt doctor`: what is there of each tier, and the command that mends what is not.

use std::path::{Path, PathBuf};

use kopt::compile::Toolchain;
use kopt::config::Config;
use kopt::gpu::{self, Gpu};
use serde_json::json;

use super::device::{Device, missing};
use super::exit::{Exit, Failure};
use super::printer::Printer;
use super::{session, toolchain};

#[derive(clap::Args)]
pub struct Args {
    /// Measure what the GPU does at most, and keep it
    #[arg(long)]
    gpu: bool,
    #[command(flatten)]
    place: Device,
}

struct Tier {
    number: u8,
    gives: &'static str,
    there: bool,
    found: String,
    mend: Option<String>,
}

pub fn run(args: &Args, printer: &mut Printer) -> Result<Exit, Failure> {
    let library = session::library(&Config::default())?;
    let found = Toolchain::find();
    let gpu = gpu::find();
    let tiers = [
        Tier {
            number: 0,
            gives: "parse, conditions, rewriting",
            there: true,
            found: format!("kopt {}, {} skills", env!("CARGO_PKG_VERSION"), library.len()),
            mend: None,
        },
        compiler(&found),
        disassembler(&found),
        Tier {
            number: 3,
            gives: "kernels on the GPU that is here: results (`--on gpu`) and times (`kopt verify --time`)",
            there: matches!(gpu, Gpu::Found { .. }),
            found: gpu.to_string(),
            mend: match gpu {
                Gpu::Found { .. } => None,
                Gpu::NotBuilt => Some("cargo install --path . --features gpu".into()),
                Gpu::NoDriver => Some("install NVIDIA's driver; `nvidia-smi` must list a GPU".into()),
                Gpu::Silent { .. } => Some("nvidia-smi".into()),
            },
        },
    ];
    for tier in &tiers {
        let word = if tier.there { "there" } else { "missing" };
        printer.heading(&format!("tier {}  {word}: {}", tier.number, tier.gives))?;
        for line in tier.found.trim_end().lines() {
            printer.line(format!("        {line}"))?;
        }
        if let Some(mend) = &tier.mend {
            printer.line(format!("        next: {mend}"))?;
        }
    }
    let peaks = args.gpu.then(|| args.place.measure_peaks().map_err(missing)).transpose()?;
    if let Some(p) = &peaks {
        printer.heading(&format!("peaks of {}", p.device))?;
        let rate = |what: &str, bytes: f64| format!("        {what:<22} {:.2} TB/s", bytes / 1e12);
        printer.line(rate("read", p.read))?;
        printer.line(rate("set", p.write))?;
        printer.line(rate("copied, both ways", p.copy))?;
        printer.line(format!("        {:<22} {:.1} TFLOP/s", "float32, fused", p.f32 / 1e12))?;
    }
    let tier =
        |t: &Tier| json!({ "tier": t.number, "gives": t.gives, "there": t.there, "found": t.found, "next": t.mend });
    printer.json(&json!({
        "schema": "kopt/doctor/1",
        "tiers": tiers.iter().map(tier).collect::<Vec<_>>(),
        "toolchain": toolchain::describe(&found),
        "gpu": gpu,
        "peaks": peaks,
    }))?;
    Ok(Exit::Done)
}

fn compiler(found: &Toolchain) -> Tier {
    let there = found.nvrtc.is_some();
    // The report carries its own next step; here it stands in one place with those of the other tiers.
    let report = found.report();
    let report: Vec<&str> = report.lines().filter(|l| !l.trim_start().starts_with("next:")).collect();
    Tier {
        number: 1,
        gives: "compiling: registers, spills, shared memory, occupancy",
        there,
        found: report.join("\n"),
        mend: (!there).then(|| "kopt toolchain install".into()),
    }
}

fn disassembler(found: &Toolchain) -> Tier {
    let beside = found.nvcc.as_ref().and_then(|n| n.path.parent()).map(|p| p.join("nvdisasm"));
    let path: Option<Vec<PathBuf>> =
        std::env::var_os("PATH").map(|p| std::env::split_paths(&p).map(|d| d.join("nvdisasm")).collect());
    let places: Vec<PathBuf> = beside.into_iter().chain(path.unwrap_or_default()).collect();
    let tool = places.iter().find(|p| p.is_file()).map(PathBuf::as_path);
    let text = |p: &Path| format!("nvdisasm ({})", p.display());
    Tier {
        number: 2,
        gives: "machine code (no command of this version needs it)",
        there: tool.is_some(),
        found: tool.map_or_else(|| "nvdisasm: not found".into(), text),
        mend: tool.is_none().then(|| "install the CUDA toolkit's nvdisasm and put it into PATH".into()),
    }
}
