//! Loaded kernels and their launches.

use super::super::driver::{Context, Function, Module, Shape, Stream};
use super::super::job::{Argument, Kernel, Launch, Stage};
use super::memory::Placed;
use super::{Trouble, failed, nonsense};

/// Loads the images of kernels. `step` gives what is blamed where the image of a kernel cannot be loaded.
pub fn load<'a>(
    context: &'a Context,
    kernels: &[Kernel],
    parts: &[Vec<u8>],
    step: &dyn Fn(usize) -> usize,
) -> Result<Vec<Module<'a>>, Trouble> {
    let load = |(n, kernel): (usize, &Kernel)| {
        let image = parts.get(kernel.image).ok_or_else(|| nonsense("a kernel without image"))?;
        failed(step(n), Stage::Load, context.load(image))
    };
    kernels.iter().enumerate().map(load).collect()
}

/// The kernels in modules that [`load`] loaded.
pub fn functions<'a>(
    modules: &'a [Module<'a>],
    kernels: &[Kernel],
    step: &dyn Fn(usize) -> usize,
) -> Result<Vec<Function<'a>>, Trouble> {
    let all = modules.iter().zip(kernels).enumerate();
    all.map(|(n, (module, kernel))| failed(step(n), Stage::Load, module.function(&kernel.symbol))).collect()
}

/// Launches on a stream or on the default one; `n` is the step to blame.
pub fn launch(
    n: usize,
    stream: Option<&Stream>,
    (functions, kernels): (&[Function], &[Kernel]),
    l: &Launch,
    placed: &[Placed],
) -> Result<(), Trouble> {
    let function = functions.get(l.kernel).ok_or_else(|| nonsense("a launch without kernel"))?;
    let sizes = kernels.get(l.kernel).map(|k| k.parameters.as_slice()).unwrap_or_default();
    // What the driver refuses here is a limit of the device: the launch could not be made.
    failed(n, Stage::Launch, function.allow_shared(l.shared))?;
    if l.cluster.is_some_and(|c| c.iter().product::<u32>() > 8) {
        failed(n, Stage::Launch, function.allow_large_clusters())?;
    }
    let bytes = |a: &Argument| -> Result<Vec<u8>, Trouble> {
        match a {
            Argument::Bytes(bytes) => Ok(bytes.clone()),
            Argument::Address { buffer, offset } => {
                let at = placed.get(*buffer).ok_or_else(|| nonsense("an argument without buffer"))?;
                let address = at.memory.address().wrapping_add(at.first).wrapping_add(*offset);
                Ok(address.to_le_bytes().to_vec())
            }
        }
    };
    let mut arguments: Vec<Vec<u8>> = l.arguments.iter().map(bytes).collect::<Result<_, _>>()?;
    let fit = arguments.len() == sizes.len() && arguments.iter().zip(sizes).all(|(a, n)| a.len() == *n as usize);
    if !fit {
        return Err(nonsense("arguments of other sizes than the parameters"));
    }
    let shape =
        Shape { grid: l.grid, block: l.block, shared: l.shared, cluster: l.cluster, cooperative: l.cooperative };
    failed(n, Stage::Launch, function.launch(stream, &shape, &mut arguments, sizes))
}
