//! Runs on a GPU, for the commands that offer it: which device, and the process that owns it.

use std::path::PathBuf;
#[cfg(feature = "gpu")]
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use kopt::contract::ConcretePlan;
use kopt::diag::{Code, Diagnostic};
use kopt::gate::{Ran, Stopped, device};
use kopt::gpu::Gpu;
use kopt::gpu::job::{Done, GpuError, Job};
use kopt::gpu::timing::{Peaks, Timed, Timing};

use super::exit::{Exit, Failure};
use kopt::gate::Built;

/// The hidden command that owns a GPU.
pub const WORKER: &str = "gpu-worker";

/// Where a kernel is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// The PTX interpreter
    #[default]
    Emulator,
    /// A GPU of this machine
    Gpu,
    /// Both, and compared element by element
    Both,
}

/// Which GPU, and how long.
#[derive(ClapArgs, Clone)]
pub struct Device {
    /// The GPU, by its ordinal
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u16,
    /// How long a run on the GPU may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub gpu_limit: u64,
}

/// A run on a GPU with what is known of where.
pub struct OnDevice {
    pub ran: Ran,
    /// `NVIDIA H200, sm_90, driver for CUDA 13.0`
    pub device: String,
}

impl Device {
    /// The architecture of the chosen GPU; kernels are compiled for it.
    pub fn arch(&self) -> Result<String, Failure> {
        let found = kopt::gpu::find();
        match &found {
            Gpu::Found { devices, .. } => match devices.get(usize::from(self.device)) {
                Some(device) => Ok(device.arch.clone()),
                None => Err(missing(format!("there is no device {}: {found}", self.device))),
            },
            _ => Err(missing(found.to_string())),
        }
    }

    /// Runs jobs in processes that own the GPU, a new one for each: a candidate cannot disturb the next.
    #[cfg(feature = "gpu")]
    pub fn executor(&self) -> Result<Box<Execute>, Failure> {
        let me = std::env::current_exe().map_err(|e| missing(e.to_string()))?;
        let limit = Duration::from_secs(self.gpu_limit.max(1));
        Ok(Box::new(move |job, parts| {
            let runner = kopt::gpu::Runner::new(me.clone(), vec![WORKER.into()], limit);
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            runner.run(job, &parts)
        }))
    }

    #[cfg(not(feature = "gpu"))]
    pub fn executor(&self) -> Result<Box<Execute>, Failure> {
        Err(missing(kopt::gpu::find().to_string()))
    }

    /// Times versions in a process that owns the GPU.
    #[cfg(feature = "gpu")]
    pub fn stopwatch(&self) -> Result<Box<Stopwatch>, Failure> {
        let me = std::env::current_exe().map_err(|e| missing(e.to_string()))?;
        // Many runs: the limit of one would be over too soon.
        let limit = Duration::from_secs(self.gpu_limit.max(1).saturating_mul(10));
        Ok(Box::new(move |timing, parts| {
            let runner = kopt::gpu::Runner::new(me.clone(), vec![WORKER.into()], limit);
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            runner.time(timing, &parts)
        }))
    }

    #[cfg(not(feature = "gpu"))]
    pub fn stopwatch(&self) -> Result<Box<Stopwatch>, Failure> {
        Err(missing(kopt::gpu::find().to_string()))
    }

    /// What the device does at most: measured once and kept in kopt's cache folder.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn peaks(&self) -> Result<Peaks, String> {
        match self.kept_peaks() {
            Some(peaks) => Ok(peaks),
            None => self.measure_peaks(),
        }
    }

    /// Peaks that were measured on this device with this driver.
    fn kept_peaks(&self) -> Option<Peaks> {
        let text = std::fs::read(self.peaks_file()?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// One file for each device and driver.
    fn peaks_file(&self) -> Option<PathBuf> {
        let Gpu::Found { driver, devices } = kopt::gpu::find() else { return None };
        let device = devices.get(usize::from(self.device))?;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String =
            format!("{} {} cuda {driver} n{}", device.name, device.arch, self.device).chars().map(plain).collect();
        Some(kopt::compile::toolchain::cache_folder()?.join("gpu").join(format!("{name}.json")))
    }

    /// Measures peaks and keeps them.
    ///
    /// # Errors
    /// Why nothing was measured; that they could not be kept is no reason.
    #[cfg(feature = "gpu")]
    pub fn measure_peaks(&self) -> Result<Peaks, String> {
        let me = std::env::current_exe().map_err(|e| e.to_string())?;
        let runner = kopt::gpu::Runner::new(me, vec![WORKER.into()], Duration::from_secs(60));
        let peaks = runner.peaks(i32::from(self.device)).map_err(|e| e.to_string())?;
        if let (Some(path), Ok(text)) = (self.peaks_file(), serde_json::to_vec_pretty(&peaks)) {
            // Without it they are measured again next time.
            let _ = path.parent().map(std::fs::create_dir_all);
            let _ = super::write::atomically(&path, &text);
        }
        Ok(peaks)
    }

    #[cfg(not(feature = "gpu"))]
    pub fn measure_peaks(&self) -> Result<Peaks, String> {
        Err(kopt::gpu::find().to_string())
    }

    /// Runs a plan once.
    pub fn run(&self, built: &Built, plan: &ConcretePlan, starts: &[Vec<u8>]) -> Result<OnDevice, Failure> {
        let execute = self.executor()?;
        let runs = [device::Run { plan, starts, reuse: None }];
        let (job, parts) = device::job(&built.images, &runs, i32::from(self.device)).map_err(missing)?;
        let kernel = plan.launches().next().map_or_else(String::new, |l| l.kernel.clone());
        let failed = |stopped| OnDevice { ran: stopped_run(stopped), device: format!("device {}", self.device) };
        match execute(&job, &parts) {
            Ok((done, contents)) => Ok(OnDevice {
                ran: device::rans(&runs, &done, contents).pop().unwrap_or_default(),
                device: format!("{}, driver for CUDA {}", done.device, done.driver),
            }),
            Err(GpuError::Kernel(f)) => Ok(failed(device::stopped(&runs, &job, &f).1)),
            Err(e @ GpuError::TimedOut { .. }) => Ok(failed(Stopped::Limit { kernel, why: e.to_string() })),
            Err(e @ GpuError::Crashed { .. }) => Ok(failed(Stopped::Launch { kernel, why: e.to_string() })),
            Err(GpuError::NotRun(why)) => Err(missing(why)),
        }
    }
}

/// As [`kopt::gate::timing::Stopwatch`].
pub type Stopwatch = dyn Fn(&Timing, &[Vec<u8>]) -> Result<(Timed, Vec<Vec<u8>>), GpuError>;

/// As [`kopt::gate::on_device::Executor`].
pub type Execute = dyn Fn(&Job, &[Vec<u8>]) -> Result<(Done, Vec<Vec<u8>>), GpuError>;

fn stopped_run(stopped: Stopped) -> Ran {
    Ran { stopped: Some(stopped), ..Ran::default() }
}

pub fn missing(why: String) -> Failure {
    let d = Diagnostic::error(Code(680), format!("nothing was run on a GPU: {why}"));
    Failure::new(Exit::TierMissing, d.next("kopt doctor names the GPUs; without one, leave out --on"))
}

/// Runs what the parent process asks for, until it asks no more.
pub fn serve() -> Result<Exit, Failure> {
    #[cfg(feature = "gpu")]
    kopt::gpu::worker::serve(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Exit::Done)
}
