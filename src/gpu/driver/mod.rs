//! The driver's calls that kopt needs, with owners that free what they hold. All of kopt's unsafe code for the GPU
//! stands in this folder.
//!
//! A [`Context`] exists only where the library was found, so that the loader of cudarc, which panics without it, is
//! never reached. Every pointer that goes to the driver is made here from a buffer of known size.

mod memory;
mod module;
mod stream;

use cudarc::driver::{DriverError, result, sys};

pub use memory::DeviceMemory;
pub use module::{Function, Module, Shape};
pub use stream::{Event, Graph, Stream};

/// A device with its primary context, current on the thread that opened it.
pub struct Context {
    device: sys::CUdevice,
    pub name: String,
    /// `sm_90`.
    pub arch: String,
    /// `13.0`.
    pub driver: String,
}

/// The driver's name of an error with its explanation.
pub fn describe(error: DriverError) -> String {
    let text =
        |s: Result<&std::ffi::CStr, DriverError>| s.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{} ({})", text(error.error_name()), text(error.error_string()))
}

/// The newest CUDA version that the driver knows.
pub fn driver_version() -> Result<String, DriverError> {
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// The oldest driver that has every call of this folder.
const OLDEST: i32 = 12_000;

/// Why the driver cannot be used, where it is there and too old: some of its calls would be missing.
pub fn too_old() -> Result<Option<String>, DriverError> {
    let mut version = 0;
    // SAFETY: the pointer is valid for the call.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    let name = |v: i32| format!("{}.{}", v / 1000, v % 1000 / 10);
    Ok((version < OLDEST).then(|| format!("the driver is for CUDA {}, and {} is needed", name(version), name(OLDEST))))
}

/// Whether the driver's library is there. Nothing else of this file may be called where it is not.
pub fn is_present() -> bool {
    // SAFETY: the call only tries to open the library.
    unsafe { sys::is_culib_present() }
}

/// Name and architecture of a device.
pub fn device(ordinal: i32) -> Result<(sys::CUdevice, String, String), DriverError> {
    use sys::CUdevice_attribute_enum as Attribute;
    let device = result::device::get(ordinal)?;
    // SAFETY: `device` was given by the driver.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) };
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((device, result::device::get_name(device)?, format!("sm_{major}{minor}")))
}

impl Context {
    /// Opens a device and makes its primary context current.
    pub fn open(ordinal: i32) -> Result<Context, DriverError> {
        result::init()?;
        let (device, name, arch) = device(ordinal)?;
        // SAFETY: `device` was given by the driver; the context is released when this value is dropped.
        unsafe { result::ctx::set_current(result::primary_ctx::retain(device)?) }?;
        Ok(Context { device, name, arch, driver: driver_version()? })
    }

    /// Waits for everything that was launched.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        result::ctx::synchronize()
    }

    /// Bytes of device memory that nobody has, and all of it.
    pub fn memory(&self) -> Result<(u64, u64), DriverError> {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both pointers are valid for the call.
        unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) }.result()?;
        Ok((free as u64, total as u64))
    }

    /// Bytes of the level-2 cache.
    pub fn l2_bytes(&self) -> Result<u64, DriverError> {
        self.attribute(sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
    }

    pub fn multiprocessors(&self) -> Result<u64, DriverError> {
        self.attribute(sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    /// Where the device sits, `0000:0e:00.0`: by this other libraries find the same one.
    pub fn bus(&self) -> Result<String, DriverError> {
        use sys::CUdevice_attribute_enum as Attribute;
        let domain = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
        let bus = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
        let slot = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
        Ok(format!("{domain:04x}:{bus:02x}:{slot:02x}.0"))
    }

    fn attribute(&self, which: sys::CUdevice_attribute_enum) -> Result<u64, DriverError> {
        // SAFETY: `device` was given by the driver.
        let value = unsafe { result::device::get_attribute(self.device, which) }?;
        Ok(u64::try_from(value).unwrap_or(0))
    }

    /// Lines that a kernel made stay in the level-2 cache are ordinary lines again.
    pub fn reset_persisting_l2(&self) -> Result<(), DriverError> {
        // SAFETY: no argument; a context is current.
        unsafe { sys::cuCtxResetPersistingL2Cache() }.result()
    }
}

fn outside() -> DriverError {
    DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`. After a fault the driver refuses, and the process ends soon.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
