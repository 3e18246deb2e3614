//! Buffers in device memory between guard zones.

use super::super::driver::{Context, DeviceMemory};
use super::super::job::{Buffer, CANARY, GUARD, Start};
use super::{Trouble, nonsense, other};

/// A buffer in device memory.
pub struct Placed<'a> {
    pub memory: DeviceMemory<'a>,
    /// Offset of its first byte.
    pub first: u64,
    /// Bytes after its last one that belong to nobody.
    after: u64,
}

/// What is around a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Zones that show a write beside it.
    Guards,
    /// Nothing beyond what its alignment takes, for a tool that knows allocations.
    Nothing,
}

/// Device memory with guard zones; what is between them is undefined.
pub fn reserve<'a>(context: &'a Context, buffer: &Buffer, around: Around) -> Result<Placed<'a>, Trouble> {
    let zone = if around == Around::Guards { GUARD } else { 0 };
    let first = zone + buffer.before;
    let whole = first.checked_add(buffer.bytes).and_then(|n| n.checked_add(zone));
    let whole = whole.ok_or_else(|| nonsense("a buffer without end"))?;
    // The driver allocates no memory of no size.
    let memory = other(&format!("allocating {whole} bytes"), context.allocate(whole.max(1)))?;
    if around == Around::Guards {
        other("filling a guard zone", memory.fill(0, first, CANARY))?;
        other("filling a guard zone", memory.fill(first + buffer.bytes, zone, CANARY))?;
    }
    Ok(Placed { memory, first, after: zone })
}

/// Device memory as the buffer says.
pub fn place<'a>(
    context: &'a Context,
    buffer: &Buffer,
    parts: &[Vec<u8>],
    around: Around,
) -> Result<Placed<'a>, Trouble> {
    let placed = reserve(context, buffer, around)?;
    begin(&placed, buffer, buffer.start, parts)?;
    Ok(placed)
}

/// Writes a whole buffer.
pub fn begin(at: &Placed, buffer: &Buffer, start: Start, parts: &[Vec<u8>]) -> Result<(), Trouble> {
    match start {
        Start::Byte(byte) => other("filling a buffer", at.memory.fill(at.first, buffer.bytes, byte)),
        Start::Part(part) => {
            let bytes = parts.get(part).filter(|p| p.len() as u64 == buffer.bytes);
            let bytes = bytes.ok_or_else(|| nonsense("contents of another size"))?;
            other("writing a buffer", at.memory.write(at.first, bytes))
        }
        Start::Undefined => Ok(()),
    }
}

impl Placed<'_> {
    /// Whether nothing wrote into the guard zones of the buffer.
    pub fn is_guarded(&self, buffer: &Buffer) -> Result<bool, Trouble> {
        if self.after == 0 {
            return Ok(true);
        }
        let before = other("reading memory", self.memory.read(0, self.first))?;
        let after = other("reading memory", self.memory.read(self.first + buffer.bytes, self.after))?;
        Ok(before.iter().chain(&after).all(|b| *b == CANARY))
    }

    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>, Trouble> {
        other("reading memory", self.memory.read(self.first, buffer.bytes))
    }
}
