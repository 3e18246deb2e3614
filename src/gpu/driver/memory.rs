//! Memory of the device: ranges are checked before the driver sees them.

use std::marker::PhantomData;

use cudarc::driver::{DriverError, result, sys};

use super::{Context, outside};

impl Context {
    /// Device memory; its contents are undefined.
    pub fn allocate(&self, bytes: u64) -> Result<DeviceMemory<'_>, DriverError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
        // SAFETY: a plain allocation; it is freed when the value is dropped, before the context.
        let address = unsafe { result::malloc_sync(bytes) }?;
        Ok(DeviceMemory { address, bytes, context: PhantomData })
    }
}

/// Device memory that is freed when dropped.
pub struct DeviceMemory<'a> {
    address: sys::CUdeviceptr,
    bytes: usize,
    context: PhantomData<&'a Context>,
}

impl DeviceMemory<'_> {
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address of a range of bytes; none where it leaves the allocation.
    pub(super) fn range(&self, offset: u64, bytes: usize) -> Option<sys::CUdeviceptr> {
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

impl Drop for DeviceMemory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once. After a fault the driver refuses; the memory goes with the process.
        let _ = unsafe { result::free_sync(self.address) };
    }
}
