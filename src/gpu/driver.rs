//! The driver's calls that kopt needs, with owners that free what they hold. All of kopt's unsafe code for the GPU
//! stands in this file.
//!
//! A [`Context`] exists only where the library was found, so that the loader of cudarc, which panics without it, is
//! never reached. Every pointer that goes to the driver is made here from a buffer of known size.

use std::ffi::{CString, c_uint, c_void};
use std::ptr;

use cudarc::driver::{DriverError, result, sys};

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

    /// Device memory; its contents are undefined.
    pub fn allocate(&self, bytes: u64) -> Result<DeviceMemory<'_>, DriverError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
        // SAFETY: a plain allocation; it is freed when the value is dropped, before the context.
        let address = unsafe { result::malloc_sync(bytes) }?;
        Ok(DeviceMemory { address, bytes, context: std::marker::PhantomData })
    }

    /// Loads PTX (compiled by the driver) or a CUBIN.
    pub fn load(&self, image: &[u8]) -> Result<Module<'_>, DriverError> {
        // PTX is text that ends with a zero byte; an ELF file does not mind one more.
        let mut image = image.to_vec();
        image.push(0);
        // SAFETY: the image is complete in memory for the call, and ends with a zero byte.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        Ok(Module { module, context: std::marker::PhantomData })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`. After a fault the driver refuses, and the process ends soon.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Device memory that is freed when dropped.
pub struct DeviceMemory<'a> {
    address: sys::CUdeviceptr,
    bytes: usize,
    context: std::marker::PhantomData<&'a Context>,
}

impl DeviceMemory<'_> {
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address of a range of bytes; none where it leaves the allocation.
    fn range(&self, offset: u64, bytes: usize) -> Option<sys::CUdeviceptr> {
        let start = usize::try_from(offset).ok()?;
        (start.checked_add(bytes)? <= self.bytes).then_some(self.address + offset)
    }

    /// Sets bytes; a range outside of the allocation is an error of the driver's kind.
    pub fn fill(&self, offset: u64, bytes: u64, byte: u8) -> Result<(), DriverError> {
        let count = usize::try_from(bytes).map_err(|_| outside())?;
        let at = self.range(offset, count).ok_or_else(outside)?;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the range lies inside an allocation that lives.
        unsafe { result::memset_d8_sync(at, byte, count) }
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DriverError> {
        let at = self.range(offset, bytes.len()).ok_or_else(outside)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: as in `fill`; the source is a slice.
        unsafe { result::memcpy_htod_sync(at, bytes) }
    }

    pub fn read(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, DriverError> {
        let count = usize::try_from(bytes).map_err(|_| outside())?;
        let at = self.range(offset, count).ok_or_else(outside)?;
        let mut out = vec![0; count];
        if count > 0 {
            // SAFETY: as in `fill`; the destination has as many bytes.
            unsafe { result::memcpy_dtoh_sync(&mut out, at) }?;
        }
        Ok(out)
    }

    /// Copies from another allocation of the device.
    pub fn copy_from(&self, offset: u64, from: &DeviceMemory, from_offset: u64, bytes: u64) -> Result<(), DriverError> {
        let count = usize::try_from(bytes).map_err(|_| outside())?;
        let to = self.range(offset, count).ok_or_else(outside)?;
        let from = from.range(from_offset, count).ok_or_else(outside)?;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: both ranges lie inside allocations that live.
        unsafe { result::memcpy_dtod_sync(to, from, count) }
    }
}

fn outside() -> DriverError {
    DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)
}

impl Drop for DeviceMemory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once. After a fault the driver refuses; the memory goes with the process.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// A loaded image.
pub struct Module<'a> {
    module: sys::CUmodule,
    context: std::marker::PhantomData<&'a Context>,
}

/// A kernel of a module.
pub struct Function<'a> {
    function: sys::CUfunction,
    module: std::marker::PhantomData<&'a Module<'a>>,
}

/// How a kernel is launched.
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub cluster: Option<[u32; 3]>,
    pub cooperative: bool,
}

impl Module<'_> {
    pub fn function(&self, symbol: &str) -> Result<Function<'_>, DriverError> {
        let name = CString::new(symbol).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND))?;
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.module, name) }?;
        Ok(Function { function, module: std::marker::PhantomData })
    }

    /// Writes the first bytes of a `__device__` or `__constant__` variable.
    ///
    /// # Errors
    /// There is none of that name, or it is smaller.
    pub fn write_variable(&self, name: &str, bytes: &[u8]) -> Result<(), DriverError> {
        let address = self.variable(name, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the variable has at least as many bytes, and its module stays loaded.
        unsafe { result::memcpy_htod_sync(address, bytes) }
    }

    /// The first bytes of a variable.
    ///
    /// # Errors
    /// As [`Module::write_variable`].
    pub fn read_variable(&self, name: &str, bytes: u64) -> Result<Vec<u8>, DriverError> {
        let count = usize::try_from(bytes).map_err(|_| outside())?;
        let address = self.variable(name, count)?;
        let mut out = vec![0; count];
        if count > 0 {
            // SAFETY: as above; the destination has as many bytes.
            unsafe { result::memcpy_dtoh_sync(&mut out, address) }?;
        }
        Ok(out)
    }

    /// The address of a variable of at least so many bytes.
    fn variable(&self, name: &str, bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
        let name = CString::new(name).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND))?;
        // SAFETY: the module is loaded.
        let (address, size) = unsafe { result::module::get_global(self.module, name) }?;
        if bytes <= size { Ok(address) } else { Err(outside()) }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: loaded once; nothing of it runs any more, since launches are waited for.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

impl Function<'_> {
    /// Allows as much dynamic shared memory as a launch asks for; above 48 KiB the driver wants to be told.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), DriverError> {
        let which = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(bytes).map_err(|_| outside())?;
        // SAFETY: the function belongs to a loaded module.
        unsafe { result::function::set_function_attribute(self.function, which, bytes) }
    }

    /// Allows clusters of more than eight blocks.
    pub fn allow_large_clusters(&self) -> Result<(), DriverError> {
        let which = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        // SAFETY: the function belongs to a loaded module.
        unsafe { result::function::set_function_attribute(self.function, which, 1) }
    }

    /// Launches on the default stream. `sizes` are those of the parameters that the image declares.
    ///
    /// # Errors
    /// What the driver refuses; arguments that do not have the declared sizes are refused before it is asked.
    pub fn launch(&self, shape: &Shape, arguments: &mut [Vec<u8>], sizes: &[u32]) -> Result<(), DriverError> {
        let fit = arguments.len() == sizes.len() && arguments.iter().zip(sizes).all(|(a, n)| a.len() == *n as usize);
        if !fit {
            return Err(outside());
        }
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|a| a.as_mut_ptr().cast()).collect();
        let mut attributes = attributes(shape);
        let [gx, gy, gz] = shape.grid;
        let [bx, by, bz] = shape.block;
        let config = sys::CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: shape.shared,
            hStream: ptr::null_mut(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        // SAFETY: the function lives as long as its module; each pointer leads to as many bytes as the image declares
        // for the parameter (compared above with what the image's text says), and the driver copies them in the call.
        unsafe { sys::cuLaunchKernelEx(&raw const config, self.function, pointers.as_mut_ptr(), ptr::null_mut()) }
            .result()
    }
}

fn attributes(shape: &Shape) -> Vec<sys::CUlaunchAttribute> {
    use sys::CUlaunchAttributeID as Id;
    let attribute = |id, value| sys::CUlaunchAttribute { id, pad: [0; 4], value };
    let mut found = vec![];
    if let Some([x, y, z]) = shape.cluster {
        // SAFETY: all bytes zero are a value of this union of plain numbers.
        let mut value: sys::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
        value.clusterDim.x = x;
        value.clusterDim.y = y;
        value.clusterDim.z = z;
        found.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value));
    }
    if shape.cooperative {
        // SAFETY: as above.
        let mut value: sys::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
        value.cooperative = 1;
        found.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value));
    }
    found
}
