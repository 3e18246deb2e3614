//! The GPU: which one is there ([`find`]), and kernels run ([`job`]) and timed ([`timing`]) on it in a process of their own.

#[cfg(feature = "gpu")]
mod client;
#[cfg(feature = "gpu")]
mod driver;
pub mod job;
mod memo;
pub mod ncu;
pub mod sanitizer;
pub mod timing;
pub mod tool;
#[cfg(feature = "gpu")]
pub mod worker;

#[cfg(feature = "gpu")]
pub use client::Runner;
pub use memo::Memo;

/// What is known of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Gpu {
    /// kopt was built without the feature `gpu`.
    NotBuilt,
    /// The driver's library is not there.
    NoDriver,
    /// The driver is there and does not answer, or has no device.
    Silent {
        reason: String,
    },
    Found {
        driver: String,
        devices: Vec<Device>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Device {
    pub name: String,
    /// `sm_90`.
    pub arch: String,
}

impl std::fmt::Display for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Gpu::NotBuilt => f.write_str("not asked: kopt was built without the feature `gpu`"),
            Gpu::NoDriver => f.write_str("no driver: libcuda was not found"),
            Gpu::Silent { reason } => write!(f, "no GPU: {reason}"),
            Gpu::Found { driver, devices } => {
                let list: Vec<String> = devices.iter().map(|d| format!("{} ({})", d.name, d.arch)).collect();
                write!(f, "{}, driver for CUDA {driver}", list.join(", "))
            }
        }
    }
}

#[cfg(not(feature = "gpu"))]
pub fn find() -> Gpu {
    Gpu::NotBuilt
}

/// The GPUs that the driver names.
#[cfg(feature = "gpu")]
pub fn find() -> Gpu {
    // Without this test every further call panics where the library is missing.
    if !driver::is_present() {
        return Gpu::NoDriver;
    }
    match ask() {
        Ok(found) => found,
        Err(error) => Gpu::Silent { reason: driver::describe(error) },
    }
}

#[cfg(feature = "gpu")]
fn ask() -> Result<Gpu, cudarc::driver::DriverError> {
    use cudarc::driver::result;
    result::init()?;
    let mut devices = vec![];
    for ordinal in 0..result::device::get_count()? {
        let (_, name, arch) = driver::device(ordinal)?;
        devices.push(Device { name, arch });
    }
    if devices.is_empty() {
        return Ok(Gpu::Silent { reason: "the driver lists no device".into() });
    }
    Ok(Gpu::Found { driver: driver::driver_version()?, devices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_name_and_nothing_panics() {
        assert!(!find().to_string().is_empty());
        let found =
            Gpu::Found { driver: "13.0".into(), devices: vec![Device { name: "H200".into(), arch: "sm_90".into() }] };
        assert_eq!(found.to_string(), "H200 (sm_90), driver for CUDA 13.0");
    }
}
