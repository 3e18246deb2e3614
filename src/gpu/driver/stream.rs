//! Streams, events and graphs: what is launched in an order, and how long it took.

use std::marker::PhantomData;
use std::ptr;

use cudarc::driver::{DriverError, sys};

use super::{Context, DeviceMemory, outside};

/// Work in an order. What it was given may only be freed after [`Stream::synchronize`].
pub struct Stream<'a> {
    stream: sys::CUstream,
    context: PhantomData<&'a Context>,
}

/// A point in a stream, with the time at which the device came there.
pub struct Event<'a> {
    event: sys::CUevent,
    context: PhantomData<&'a Context>,
}

/// Recorded work that is launched as one. What it uses must outlive it.
pub struct Graph<'a> {
    exec: sys::CUgraphExec,
    context: PhantomData<&'a Context>,
}

impl Context {
    /// A stream that does not wait for the default one.
    pub fn stream(&self) -> Result<Stream<'_>, DriverError> {
        let mut stream = ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer is valid for the call, and a context is current.
        unsafe { sys::cuStreamCreate(&raw mut stream, flags) }.result()?;
        Ok(Stream { stream, context: PhantomData })
    }

    pub fn event(&self) -> Result<Event<'_>, DriverError> {
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags_enum::CU_EVENT_DEFAULT as u32;
        // SAFETY: as in `stream`.
        unsafe { sys::cuEventCreate(&raw mut event, flags) }.result()?;
        Ok(Event { event, context: PhantomData })
    }
}

impl<'a> Stream<'a> {
    pub(super) fn handle(&self) -> sys::CUstream {
        self.stream
    }

    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the stream lives.
        unsafe { sys::cuStreamSynchronize(self.stream) }.result()
    }

    pub fn record(&self, event: &Event) -> Result<(), DriverError> {
        // SAFETY: stream and event live.
        unsafe { sys::cuEventRecord(event.event, self.stream) }.result()
    }

    /// Sets bytes; a range outside of the allocation is an error of the driver's kind.
    pub fn fill(&self, memory: &DeviceMemory, offset: u64, bytes: u64, byte: u8) -> Result<(), DriverError> {
        let count = usize::try_from(bytes).map_err(|_| outside())?;
        let at = memory.range(offset, count).ok_or_else(outside)?;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the range lies inside an allocation that lives until the stream was waited for.
        unsafe { sys::cuMemsetD8Async(at, byte, count, self.stream) }.result()
    }

    /// Copies between two allocations of the device.
    pub fn copy(
        &self,
        (to, to_offset): (&DeviceMemory, u64),
        (from, from_offset): (&DeviceMemory, u64),
        bytes: u64,
    ) -> Result<(), DriverError> {
        let count = usize::try_from(bytes).map_err(|_| outside())?;
        let to = to.range(to_offset, count).ok_or_else(outside)?;
        let from = from.range(from_offset, count).ok_or_else(outside)?;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: as in `fill`, for both ranges.
        unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, count, self.stream) }.result()
    }

    /// Records what `work` gives to this stream instead of doing it.
    ///
    /// # Errors
    /// Those of `work`, and of the driver, which refuses what cannot be part of a graph.
    pub fn capture<E: From<DriverError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Graph<'a>, E> {
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives.
        unsafe { sys::cuStreamBeginCapture_v2(self.stream, mode) }.result().map_err(E::from)?;
        let done = work();
        let mut graph = ptr::null_mut();
        // SAFETY: the pointer is valid; a capture that `work` made invalid ends with an error here.
        let ended = unsafe { sys::cuStreamEndCapture(self.stream, &raw mut graph) }.result();
        let made = done.and_then(|()| ended.map_err(E::from)).and_then(|()| {
            let mut exec = ptr::null_mut();
            // SAFETY: the graph was made just now.
            unsafe { sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0) }.result().map_err(E::from)?;
            Ok(Graph { exec, context: PhantomData })
        });
        if !graph.is_null() {
            // SAFETY: made above, not used any more: an executable graph is a copy.
            let _ = unsafe { sys::cuGraphDestroy(graph) };
        }
        made
    }

    pub fn replay(&self, graph: &Graph) -> Result<(), DriverError> {
        // SAFETY: both live, and what the graph uses lives as long as it.
        unsafe { sys::cuGraphLaunch(graph.exec, self.stream) }.result()
    }
}

impl Event<'_> {
    /// Waits until the device came here.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the event lives.
        unsafe { sys::cuEventSynchronize(self.event) }.result()
    }

    /// Nanoseconds from `earlier` to here; both must have been reached.
    pub fn since(&self, earlier: &Event) -> Result<f64, DriverError> {
        let mut milliseconds = 0f32;
        // SAFETY: the pointer is valid for the call, both events live.
        unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, earlier.event, self.event) }.result()?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once; the driver frees it after its work. After a fault it refuses.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        let _ = unsafe { sys::cuGraphExecDestroy(self.exec) };
    }
}
