//! Global memory: allocations at addresses of their own with guard zones between.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

pub(crate) use super::allocation::Allocation;
use super::allocation::zeros;
use super::undo::Undo;
use crate::ptx::ast::Space;
use crate::ptx::decode::program::{FUNCTION_BASE, Program};
use crate::ptx::error::PtxError;

/// Addresses between allocations that belong to nobody, at least.
const GUARD: u64 = 1 << 16;
const FIRST: u64 = 0x10_0000_0000;
/// Bytes by which the blocks of a cooperative launch meet.
pub(crate) const WORKSPACE: u32 = 64;

/// One allocation, by its number in the order of allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationId(pub u32);

/// Global and constant memory of one or more launches.
#[derive(Default)]
pub struct Memory {
    pub(crate) allocations: Vec<Allocation>,
    by_name: HashMap<String, AllocationId>,
    next: u64,
    used: u64,
    limit: Option<u64>,
    /// The words by which the blocks of a cooperative launch meet.
    workspace: Option<AllocationId>,
    /// First number for accesses of the next launch; see `shadow`.
    pub(crate) segment: u32,
}

impl Memory {
    /// No allocations; at most 4 GB unless `with_limit` says otherwise.
    pub fn new() -> Self {
        Memory::default()
    }

    /// The most bytes of all allocations together.
    pub fn with_limit(bytes: u64) -> Self {
        Memory { limit: Some(bytes), ..Memory::default() }
    }

    /// `bytes` of undefined memory. Errors beyond the limit.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<AllocationId, PtxError> {
        self.place(name, bytes, 256, false)
    }

    fn place(&mut self, name: &str, bytes: u64, align: u64, constant: bool) -> Result<AllocationId, PtxError> {
        let used = self.used.saturating_add(bytes);
        let limit = self.limit.unwrap_or(4 << 30);
        if used > limit {
            return Err(PtxError::Limit(format!("`{name}`: {used} bytes of global memory, {limit} allowed")));
        }
        let align = align.max(256);
        let base = self.next.max(FIRST).next_multiple_of(align);
        self.next = base + bytes + GUARD;
        self.used = used;
        let words = bytes.div_ceil(8) as usize * 2;
        self.allocations.push(Allocation {
            name: name.to_owned(),
            base,
            bytes,
            constant,
            words: zeros(words),
            defined: zeros(words.div_ceil(8)),
            writers: OnceLock::new(),
            readers: OnceLock::new(),
            writer_forms: OnceLock::new(),
            reader_forms: OnceLock::new(),
            undo: None,
        });
        Ok(AllocationId(self.allocations.len() as u32 - 1))
    }

    fn get(&self, id: AllocationId) -> Result<&Allocation, PtxError> {
        self.allocations.get(id.0 as usize).ok_or_else(|| PtxError::Memory(format!("no allocation {}", id.0)))
    }

    fn range(&self, id: AllocationId, offset: u64, bytes: u64) -> Result<&Allocation, PtxError> {
        let allocation = self.get(id)?;
        if offset.checked_add(bytes).is_none_or(|end| end > allocation.bytes) {
            let size = allocation.bytes;
            return Err(PtxError::Memory(format!(
                "`{}` has {size} bytes, {bytes} at {offset} asked for",
                allocation.name
            )));
        }
        Ok(allocation)
    }

    /// Copies bytes in and marks them as defined.
    pub fn write(&mut self, id: AllocationId, offset: u64, data: &[u8]) -> Result<(), PtxError> {
        self.range(id, offset, data.len() as u64)?.store_bytes(offset as usize, data);
        Ok(())
    }

    /// Copies bytes out, defined or not.
    pub fn read(&self, id: AllocationId, offset: u64, bytes: u64) -> Result<Vec<u8>, PtxError> {
        let allocation = self.range(id, offset, bytes)?;
        let (start, end) = (offset as usize, (offset + bytes) as usize);
        let mut data = Vec::with_capacity(bytes as usize + 8);
        for word in &allocation.words[start / 4..end.div_ceil(4)] {
            data.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        data.drain(..start % 4);
        data.truncate(bytes as usize);
        Ok(data)
    }

    /// Fills a range with a byte pattern and marks it as undefined, so that reading it is a finding.
    pub fn poison(&mut self, id: AllocationId, offset: u64, bytes: u64, pattern: u8) -> Result<(), PtxError> {
        let allocation = self.range(id, offset, bytes)?;
        for at in offset..offset + bytes {
            allocation.write(at as usize, 1, u64::from(pattern));
        }
        allocation.fill_defined(offset as usize, (offset + bytes) as usize, false);
        Ok(())
    }

    /// Device address of an allocation.
    pub fn address(&self, id: AllocationId) -> Result<u64, PtxError> {
        Ok(self.get(id)?.base)
    }

    /// Size in bytes.
    pub fn size(&self, id: AllocationId) -> Result<u64, PtxError> {
        Ok(self.get(id)?.bytes)
    }

    /// A `__device__` or `__constant__` variable by its mangled name, once a program that uses it was loaded.
    pub fn symbol(&self, name: &str) -> Option<AllocationId> {
        self.by_name.get(name).copied()
    }

    /// Bytes of tags for the race check and of defined marks: what checking costs beside the buffers themselves.
    pub fn shadow_bytes(&self) -> u64 {
        let tags = |cell: &OnceLock<Box<[AtomicU32]>>| cell.get().map_or(0, |t| 4 * t.len() as u64);
        let forms = |cell: &OnceLock<Box<[AtomicU8]>>| cell.get().map_or(0, |f| f.len() as u64);
        let of = |a: &Allocation| {
            let tags = tags(&a.writers) + tags(&a.readers) + forms(&a.writer_forms) + forms(&a.reader_forms);
            4 * a.defined.len() as u64 + tags
        };
        self.allocations.iter().map(of).sum()
    }

    /// Allocates and initialises the module variables of a program that are not there yet. Unset bytes are zero.
    pub fn load(&mut self, program: &Program) -> Result<(), PtxError> {
        let mut fresh = vec![];
        for variable in program.variables.iter().filter(|v| matches!(v.space, Space::Global | Space::Const)) {
            if self.by_name.contains_key(&variable.name) {
                continue;
            }
            if variable.external {
                return Err(PtxError::Launch(format!("`{}` is defined in another module", variable.name)));
            }
            let constant = variable.space == Space::Const;
            let id = self.place(&variable.name, variable.size, u64::from(variable.align), constant)?;
            let allocation = self.get(id)?;
            allocation.store_bytes(0, &vec![0; variable.size as usize]);
            allocation.store_bytes(0, &variable.bytes);
            self.by_name.insert(variable.name.clone(), id);
            fresh.push((id, variable));
        }
        for (id, variable) in fresh {
            for stored in &variable.addresses {
                let value = match stored.function {
                    Some(index) => Some(FUNCTION_BASE + 16 * u64::from(index)),
                    None => self.symbol(&stored.name).and_then(|id| self.address(id).ok()),
                };
                let Some(value) = value else {
                    return Err(PtxError::Launch(format!(
                        "`{}` names `{}`, which is not there",
                        variable.name, stored.name
                    )));
                };
                let bytes = value.wrapping_add(stored.offset as u64).to_le_bytes();
                self.get(id)?.store_bytes(stored.at as usize, &bytes[..usize::from(stored.width).min(8)]);
            }
        }
        Ok(())
    }

    /// Forgets who wrote and read what in earlier launches, and numbers accesses from the start.
    pub(crate) fn forget(&mut self) {
        self.allocations.iter_mut().for_each(Allocation::forget);
        self.segment = 0;
    }

    /// Makes the words by which the blocks of a cooperative launch meet, as the driver does before each: the size of the
    /// structure, and the barrier, which is zero.
    pub(crate) fn open_workspace(&mut self) -> Result<(), PtxError> {
        let id = match self.workspace {
            Some(id) => id,
            None => self.place("words by which the grid meets", u64::from(WORKSPACE), 256, false)?,
        };
        self.workspace = Some(id);
        let mut words = [0; WORKSPACE as usize];
        words[..4].copy_from_slice(&WORKSPACE.to_le_bytes());
        self.get(id)?.store_bytes(0, &words);
        Ok(())
    }

    /// Address of that; 0 without one.
    pub(crate) fn workspace(&self) -> u64 {
        self.workspace.and_then(|id| self.address(id).ok()).unwrap_or(0)
    }

    /// Whether an allocation, by its index, is the user's and not the driver's.
    pub(crate) fn is_of_user(&self, index: usize) -> bool {
        self.workspace.is_none_or(|id| id.0 as usize != index)
    }

    /// From now on, what is written can be put back.
    pub(crate) fn begin_undo(&mut self) {
        for a in self.allocations.iter_mut().filter(|a| !a.constant) {
            a.undo = Some(Undo::new(a.words.len()));
        }
    }

    /// Puts back what was written since, if `back`, and forgets who wrote and read what then.
    pub(crate) fn end_undo(&mut self, back: bool) {
        for a in &mut self.allocations {
            let Some(undo) = a.undo.take() else { continue };
            if back {
                undo.put_back(&a.words, &a.defined);
                a.forget();
            }
        }
    }

    /// The allocation that holds an address, `hint` first.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, hint: &mut u32) -> Option<(&Allocation, u64)> {
        if let Some(allocation) = self.allocations.get(*hint as usize) {
            let offset = address.wrapping_sub(allocation.base);
            if offset < allocation.bytes {
                return Some((allocation, offset));
            }
        }
        self.search(address, hint)
    }

    #[inline(never)]
    fn search(&self, address: u64, hint: &mut u32) -> Option<(&Allocation, u64)> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let index = after.checked_sub(1)?;
        let allocation = &self.allocations[index];
        let offset = address - allocation.base;
        if offset >= allocation.bytes {
            return None;
        }
        *hint = index as u32;
        Some((allocation, offset))
    }

    /// Words for a diagnostic: which allocation an address misses, and by how much.
    pub(crate) fn describe(&self, address: u64) -> String {
        let after = self.allocations.partition_point(|a| a.base <= address);
        let before = after.checked_sub(1).and_then(|i| self.allocations.get(i));
        match (before, self.allocations.get(after)) {
            (Some(a), _) if address - a.base < a.bytes + GUARD / 2 || self.allocations.len() == after => {
                let offset = address - a.base;
                if offset < a.bytes {
                    format!("byte {offset} of `{}`", a.name)
                } else {
                    format!("{} bytes past the end of `{}` ({} bytes)", offset - a.bytes, a.name, a.bytes)
                }
            }
            (_, Some(b)) if address < b.base => format!("{} bytes before `{}`", b.base - address, b.name),
            _ => "no allocation".into(),
        }
    }
}
