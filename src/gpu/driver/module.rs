//! Images, their kernels and variables, and launches.

use std::ffi::{CString, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;

use cudarc::driver::{DriverError, result, sys};

use super::stream::Stream;
use super::{Context, outside};

impl Context {
    /// Loads PTX (compiled by the driver) or a CUBIN.
    pub fn load(&self, image: &[u8]) -> Result<Module<'_>, DriverError> {
        // PTX is text that ends with a zero byte; an ELF file does not mind one more.
        let mut image = image.to_vec();
        image.push(0);
        // SAFETY: the image is complete in memory for the call, and ends with a zero byte.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }?;
        Ok(Module { module, context: PhantomData })
    }
}

/// A loaded image.
pub struct Module<'a> {
    module: sys::CUmodule,
    context: PhantomData<&'a Context>,
}

/// A kernel of a module.
pub struct Function<'a> {
    function: sys::CUfunction,
    module: PhantomData<&'a Module<'a>>,
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
        Ok(Function { function, module: PhantomData })
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

    /// Launches on a stream, or on the default one. `sizes` are those of the parameters that the image declares.
    ///
    /// # Errors
    /// What the driver refuses; arguments that do not have the declared sizes are refused before it is asked.
    pub fn launch(
        &self,
        stream: Option<&Stream>,
        shape: &Shape,
        arguments: &mut [Vec<u8>],
        sizes: &[u32],
    ) -> Result<(), DriverError> {
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
            hStream: stream.map_or(ptr::null_mut(), Stream::handle),
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
