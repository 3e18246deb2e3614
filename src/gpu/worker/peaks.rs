//! What the device does at most: reads, writes, copies, and float32 arithmetic.

use super::super::driver::{Context, DeviceMemory, Function, Shape, Stream};
use super::super::timing::Peaks;
use super::tools::{self, Tools};
use super::{Trouble, name, other};

/// Bytes that are read, set and copied; many times the largest cache.
const BYTES: u64 = 2 << 30;
/// The best of so many counts.
const TIMES: usize = 10;
/// Threads of a block, and fused multiply-adds of a thread, of `kopt_multiply_add`.
const THREADS: u32 = 256;
const MULTIPLY_ADDS: u64 = 4096 * 8;

pub fn peaks(context: &Context) -> Result<Peaks, Trouble> {
    let image = tools::image(context)?;
    let tools = Tools::new(context, &image)?;
    let bytes = BYTES.min(context.memory()?.0 / 4) / 4096 * 4096;
    let from = other("allocating memory", context.allocate(bytes))?;
    let to = other("allocating memory", context.allocate(bytes))?;
    from.fill(0, bytes, 0)?;
    context.synchronize()?;
    let stream = &tools.stream;
    let best = |work: &dyn Fn() -> Result<(), Trouble>| -> Result<f64, Trouble> {
        let mut least = f64::INFINITY;
        for _ in 0..TIMES {
            stream.record(&tools.start)?;
            work()?;
            stream.record(&tools.end)?;
            least = least.min(tools.elapsed()?);
        }
        Ok(least / 1e9)
    };
    let read = best(&|| tools.read(&from, bytes))?;
    let write = best(&|| Ok(stream.fill(&to, 0, bytes, 1)?))?;
    let copy = best(&|| Ok(stream.copy((&to, 0), (&from, 0), bytes)?))?;
    let arithmetic = image.function("kopt_multiply_add")?;
    let blocks = 16 * u32::try_from(context.multiprocessors()?).unwrap_or(1).max(1);
    let compute = best(&|| multiply_add(stream, &arithmetic, &to, blocks))?;
    let operations = 2.0 * MULTIPLY_ADDS as f64 * f64::from(THREADS) * f64::from(blocks);
    Ok(Peaks {
        device: name(context),
        driver: context.driver.clone(),
        read: bytes as f64 / read,
        write: bytes as f64 / write,
        copy: 2.0 * bytes as f64 / copy,
        f32: operations / compute,
    })
}

fn multiply_add(stream: &Stream, function: &Function, to: &DeviceMemory, blocks: u32) -> Result<(), Trouble> {
    let shape = Shape { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared: 0, cluster: None, cooperative: false };
    Ok(function.launch(Some(stream), &shape, &mut [to.address().to_le_bytes().to_vec()], &[8])?)
}
