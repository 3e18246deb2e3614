//! Where variables live: parameters, frame, shared memory, module variables.

use super::op::Op;
use super::program::{FUNCTION_BASE, GlobalVariable, Parameter, StoredAddress, Value};
use super::scope::Entry;
use super::{Decoded, Decoder};
use crate::ptx::ast::*;
use crate::ptx::error::PtxError;

/// Frames, parameter blocks and static shared memory larger than this are refused.
const BYTES: u64 = 1 << 26;

impl<'a> Decoder<'a> {
    pub(super) fn kernel_params(&mut self, function: &Function) -> Decoded<()> {
        let mut at = 0u64;
        for param in &function.params {
            at = at.next_multiple_of(u64::from(param.align.max(1)));
            let name = self.module.name(param.name).to_owned();
            self.program.params.push(Parameter {
                name,
                offset: at as u32,
                size: param.size.min(BYTES) as u32,
                align: param.align,
            });
            at += param.size;
            if at > BYTES {
                return Err(PtxError::Limit("parameters larger than 64 MB".into()));
            }
        }
        self.program.param_bytes = at as u32;
        Ok(())
    }

    fn frame_space(&mut self, variable: &Variable) -> Decoded<(u32, u32)> {
        let at = u64::from(self.frame).next_multiple_of(u64::from(variable.align.max(4)));
        let end = at + variable.size.next_multiple_of(4);
        if end > BYTES {
            return Err(PtxError::Limit("a frame larger than 64 MB".into()));
        }
        self.frame = end as u32;
        Ok((at as u32, variable.size as u32))
    }

    pub(super) fn frame_variables(&mut self, variables: &[Variable]) -> Decoded<Vec<(u32, u32)>> {
        let mut places = vec![];
        for variable in variables {
            let place = self.frame_space(variable)?;
            self.scope.set(variable.name, Entry::Frame(place.0));
            places.push(place);
        }
        Ok(places)
    }

    pub(super) fn declare_local(&mut self, variable: &Variable) -> Decoded<()> {
        match variable.space {
            Space::Local | Space::Param => {
                let (at, _) = self.frame_space(variable)?;
                self.scope.set(variable.name, Entry::Frame(at));
                Ok(())
            }
            Space::Shared => {
                let at = self.shared_space(variable)?;
                self.scope.set(variable.name, Entry::Shared(at));
                Ok(())
            }
            space => self.unsupported(&format!("a {space} variable in a function")),
        }
    }

    fn shared_space(&mut self, variable: &Variable) -> Decoded<u32> {
        let at = u64::from(self.program.shared_bytes).next_multiple_of(u64::from(variable.align.max(1)));
        let end = at + variable.size;
        if end > BYTES {
            return Err(PtxError::Limit("shared memory larger than 64 MB".into()));
        }
        self.program.shared_bytes = end as u32;
        Ok(at as u32)
    }

    fn module_variable(&self, name: Symbol) -> Option<&'a Variable> {
        self.module.variables.iter().find(|v| v.name == name)
    }

    /// The offset of a shared variable in the block's shared memory. The dynamic part comes after all static variables;
    /// its address is only known at the end, so it is the one `Variable` with space `Shared`.
    pub(super) fn shared_address(&mut self, name: Symbol) -> Decoded<Option<u32>> {
        if let Some(Entry::Shared(at)) = self.scope.get(name) {
            return Ok(Some(at));
        }
        if let Some(at) = self.shared_offsets.get(&name) {
            return Ok(Some(*at));
        }
        let Some(variable) = self.module_variable(name).filter(|v| v.space == Space::Shared && !v.unsized_array) else {
            return Ok(None);
        };
        let at = self.shared_space(variable)?;
        self.shared_offsets.insert(name, at);
        Ok(Some(at))
    }

    /// The value of `name + offset` as an address.
    pub(super) fn address_value(&mut self, name: Symbol, offset: i64) -> Decoded<Option<Value>> {
        if let Some(at) = self.shared_address(name)? {
            return Ok(Some(Value::Bits(i64::from(at).wrapping_add(offset) as u64)));
        }
        if let Some(index) = self.variable(name)? {
            return Ok(Some(Value::Variable(index, offset)));
        }
        if let Some(&function) = self.function_by_name.get(&name) {
            self.function_ref(function);
            return Ok(Some(Value::Bits(FUNCTION_BASE + 16 * function as u64)));
        }
        Ok(None)
    }

    /// The index of a module variable in the program, entered at its first use.
    pub(super) fn variable(&mut self, name: Symbol) -> Decoded<Option<u16>> {
        if let Some(index) = self.variable_index.get(&name) {
            return Ok(Some(*index));
        }
        let Some(variable) = self.module_variable(name) else { return Ok(None) };
        let Ok(index) = u16::try_from(self.program.variables.len()) else {
            return self.unsupported("more than 65,535 module variables");
        };
        if variable.space == Space::Shared {
            self.program.dynamic_align = self.program.dynamic_align.max(variable.align);
        }
        let mut kept = GlobalVariable {
            name: self.module.name(name).to_owned(),
            space: variable.space,
            size: variable.size,
            align: variable.align,
            external: variable.external,
            bytes: vec![],
            addresses: vec![],
        };
        if variable.ty == Type::B128 && !variable.initial.is_empty() {
            return self.unsupported("an initialiser of 128-bit elements");
        }
        let width = u64::from(variable.ty.bytes());
        for (n, initial) in variable.initial.iter().enumerate() {
            let at = n as u64 * width;
            if at + width > variable.size {
                return self.invalid("an initialiser longer than its variable");
            }
            match initial {
                Initial::Bits(bits) => kept.bytes.extend_from_slice(&bits.to_le_bytes()[..width.min(8) as usize]),
                Initial::Address { symbol, offset, .. } => {
                    kept.bytes.extend(std::iter::repeat_n(0, width as usize));
                    kept.addresses.push(StoredAddress {
                        at,
                        symbol: *symbol,
                        name: self.module.name(*symbol).to_owned(),
                        function: self.function_by_name.get(symbol).map(|f| *f as u32),
                        offset: *offset,
                        width: width as u8,
                    });
                }
            }
        }
        self.program.variables.push(kept);
        self.variable_index.insert(name, index);
        self.address_taken = true;
        // What its initialiser names is entered by `decode_address_taken`, without recursion.
        Ok(Some(index))
    }

    /// `mov d, variable` of a frame variable needs the frame base.
    pub(super) fn frame_offset(&self, name: Symbol) -> Option<u32> {
        match self.scope.get(name) {
            Some(Entry::Frame(at)) => Some(at),
            _ => None,
        }
    }

    pub(super) fn frame_address(&mut self, d: u16, wide: bool, offset: i64) -> Decoded<()> {
        let mut inst = super::Inst::new(Op::FrameAddress);
        (inst.d, inst.m, inst.off) = (d, u32::from(wide), offset as i32);
        self.push(inst)
    }
}
