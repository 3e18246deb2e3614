//! A kernel of a [`Module`] to a [`Program`]: labels become indices, names become registers, immediates and special
//! registers become registers that are filled when a warp starts, so that every source operand is a register.
//!
//! One file per family of opcodes. An opcode or modifier that no family takes is `unsupported` at its line.

mod arithmetic;
pub(crate) mod async_copy;
pub(crate) mod atomic;
pub(crate) mod classify;
mod compare;
mod control;
mod convert;
mod float;
pub(crate) mod flow;
mod functions;
pub(crate) mod granular;
mod half;
pub(crate) mod live;
pub(crate) mod matrix;
pub(crate) mod memory;
mod mods;
mod moves;
pub(crate) mod op;
mod operand;
mod patterns;
pub(crate) mod program;
mod scope;
mod variables;
mod warp;

use std::collections::HashMap;

use super::ast::*;
use super::error::PtxError;
use functions::{find_kernel, own_file};
use mods::Mods;
use op::{Inst, Op, Scalar, ScalarOp};
use program::*;
use scope::Scope;

pub(super) type Decoded<T> = Result<T, PtxError>;

/// Programs longer than this are refused.
const INSTRUCTIONS: usize = 4_000_000;

impl Program {
    /// Decodes one kernel with the device functions that it reaches. The kernel is found by its mangled name, or by the
    /// plain name if exactly one kernel's name contains it as a word.
    pub fn decode(module: &Module, kernel: &str) -> Result<Program, PtxError> {
        Decoder::new(module).kernel(kernel)
    }
}

pub(super) struct Decoder<'a> {
    pub module: &'a Module,
    pub program: Program,
    /// Statement location of the instruction in hand.
    location: Option<u32>,
    line: u32,
    own_file: Option<u32>,
    line_ids: HashMap<(String, u32), LineId>,
    location_lines: Vec<Option<LineId>>,
    scope: Scope,
    constants32: HashMap<Value, u16>,
    constants64: HashMap<Value, u16>,
    /// Module function index to index in `program.functions`.
    function_index: HashMap<usize, u32>,
    pending: Vec<usize>,
    function_by_name: HashMap<Symbol, usize>,
    variable_index: HashMap<Symbol, u16>,
    shared_offsets: HashMap<Symbol, u32>,
    in_kernel: bool,
    frame: u32,
    current: usize,
    body: &'a [Statement],
    /// What a pragma said of the instruction that comes next.
    used_bytes: Option<u32>,
    /// How often the function in hand names each symbol; made when it is first asked.
    pub mentions: Vec<u32>,
    edges: Vec<(u32, u32)>,
    address_taken: bool,
    red_kinds: Vec<(u8, Type)>,
}

impl<'a> Decoder<'a> {
    fn new(module: &'a Module) -> Self {
        let function_by_name =
            module.functions.iter().enumerate().filter(|(_, f)| f.has_body).map(|(i, f)| (f.name, i)).collect();
        let program = Program {
            kernel: String::new(),
            target: module.target.clone(),
            params: vec![],
            param_bytes: 0,
            shared_bytes: 0,
            dynamic_align: 16,
            variables: vec![],
            lines: vec![],
            required_threads: None,
            max_threads: None,
            code: vec![],
            statics: vec![],
            scalars: vec![],
            lists: vec![],
            used_bytes: vec![],
            targets: vec![],
            functions: vec![],
            calls: vec![],
            r: 1,
            q: 1,
            p: 3,
            values32: vec![],
            values64: vec![],
            matrix: vec![],
            traits: Traits::default(),
            function_indices: vec![],
        };
        Decoder {
            module,
            program,
            location: None,
            line: 0,
            own_file: None,
            line_ids: HashMap::new(),
            location_lines: vec![None; module.locations.len()],
            scope: Scope::new(module.names.len()),
            constants32: HashMap::new(),
            constants64: HashMap::new(),
            function_index: HashMap::new(),
            pending: vec![],
            function_by_name,
            variable_index: HashMap::new(),
            shared_offsets: HashMap::new(),
            in_kernel: true,
            frame: 0,
            current: 0,
            body: &[],
            used_bytes: None,
            mentions: vec![],
            edges: vec![],
            address_taken: false,
            red_kinds: vec![],
        }
    }

    fn kernel(mut self, name: &str) -> Decoded<Program> {
        let module = self.module;
        let index = find_kernel(module, name).ok_or_else(|| PtxError::NoKernel(name.to_owned()))?;
        let function = &module.functions[index];
        self.line = function.line;
        if module.address_size == 32 {
            return self.unsupported("32-bit addresses (.address_size 32)");
        }
        if let Some(what) = &function.unsupported {
            return self.unsupported(what);
        }
        self.program.kernel = module.name(function.name).to_owned();
        self.program.required_threads = function.required_threads;
        self.program.max_threads = function.max_threads;
        self.kernel_params(function)?;
        self.own_file = own_file(module, function);
        self.function_ref(index);
        while let Some(index) = self.pending.pop() {
            self.function(index)?;
        }
        self.finish()
    }

    /// The index of a device function in the program; it is decoded later.
    fn function_ref(&mut self, module_index: usize) -> u32 {
        let next = self.program.functions.len() as u32;
        let index = *self.function_index.entry(module_index).or_insert(next);
        if index == next {
            self.program.functions.push(FunctionInfo::default());
            self.pending.push(module_index);
        }
        index
    }

    fn function(&mut self, module_index: usize) -> Decoded<()> {
        let module = self.module;
        let function = &module.functions[module_index];
        self.current = self.function_index[&module_index] as usize;
        self.in_kernel = function.is_entry;
        self.frame = 0;
        self.body = &function.body;
        self.mentions.clear();
        self.scope.clear();
        self.location = None;
        self.line = function.line;
        let first = (self.program.r, self.program.q, self.program.p);
        let entry = self.program.code.len() as u32;
        if !function.is_entry {
            let params = self.frame_variables(&function.params)?;
            let returns = self.frame_variables(&function.returns)?;
            let info = &mut self.program.functions[self.current];
            (info.params, info.returns) = (params, returns);
        }
        for statement in &function.body {
            self.statement(statement)?;
        }
        // A body that runs off its end returns.
        let mut last = Inst::new(if self.in_kernel { Op::Exit } else { Op::Ret });
        last.m = 0;
        self.push(last)?;
        self.resolve_labels()?;
        let frame = self.frame.next_multiple_of(16);
        let last = (self.program.r, self.program.q, self.program.p);
        let info = &mut self.program.functions[self.current];
        (info.entry, info.frame) = (entry, frame);
        (info.r, info.q, info.p) = ((first.0, last.0), (first.1, last.1), (first.2, last.2));
        Ok(())
    }

    fn statement(&mut self, statement: &'a Statement) -> Decoded<()> {
        match statement {
            Statement::Label(name) => {
                let at = self.program.code.len() as u32;
                self.scope.define_label(*name, at);
                Ok(())
            }
            Statement::Instruction(instruction) => {
                self.location = instruction.location;
                self.line = instruction.line;
                let decoded = self.instruction(instruction);
                self.used_bytes = None;
                decoded
            }
            Statement::Registers { prefix, count, ty, vector } => self.declare_registers(*prefix, *count, *ty, *vector),
            Statement::Variable(variable) => self.declare_local(variable),
            Statement::UsedBytes(mask) => {
                self.used_bytes = Some(*mask);
                Ok(())
            }
            Statement::Targets(label, targets) => {
                self.scope.define_targets(*label, targets);
                Ok(())
            }
            Statement::Prototype(..) => Ok(()),
            Statement::Open => {
                self.scope.open();
                Ok(())
            }
            Statement::Close => self.close_scope(),
        }
    }

    fn instruction(&mut self, i: &'a Instruction) -> Decoded<()> {
        let opcode = self.module.name(i.opcode);
        let Some(mut mods) = Mods::split(opcode) else { return self.unsupported(opcode) };
        let before = self.program.code.len();
        let known = self.arithmetic(&mut mods, i)?
            || self.convert(&mut mods, i)?
            || self.moves(&mut mods, i)?
            || self.memory(&mut mods, i)?
            || self.control(&mut mods, i)?
            || self.warp(&mut mods, i)?
            || self.atomic(&mut mods, i)?
            || self.half(&mut mods, i)?
            || self.async_copy(&mut mods, i)?
            || self.matrix(&mut mods, i)?;
        if !known {
            return self.unsupported(&format!("instruction `{opcode}`"));
        }
        if let Some(part) = mods.left() {
            return self.unsupported(&format!("modifier `.{part}` of `{opcode}`"));
        }
        if let Some((name, negated)) = i.guard {
            let guard = self.predicate(name)? | if negated { op::NEGATED } else { 0 };
            for instruction in &mut self.program.code[before..] {
                // Helper instructions of one PTX instruction that come first write temporaries only.
                instruction.guard = guard;
            }
        }
        Ok(())
    }

    /// Appends an instruction at the location in hand.
    pub fn push(&mut self, instruction: Inst) -> Decoded<()> {
        if self.program.code.len() >= INSTRUCTIONS {
            return Err(PtxError::Limit(format!("more than {INSTRUCTIONS} instructions")));
        }
        let line = self.line_id();
        let (class, flops) = classify::classify(&instruction, &self.program);
        self.program.code.push(instruction);
        self.program.statics.push(Static { line, class: class as u8, flops });
        Ok(())
    }

    pub fn scalar(&mut self, what: Scalar, wide_d: bool, wide: [bool; 3], mask: u64) -> u32 {
        self.program.scalars.push(ScalarOp { what, wide_d, wide, mask });
        self.program.scalars.len() as u32 - 1
    }

    fn line_id(&mut self) -> LineId {
        if let Some(id) = self.location.and_then(|l| self.location_lines[l as usize]) {
            return id;
        }
        let chain = self.location.map(|l| self.module.chain(l)).unwrap_or_default();
        let place = attributed(&chain, self.own_file);
        let key = place.map_or((String::new(), self.line), |p| (self.module.file(p.file).to_owned(), p.line));
        let lines = &mut self.program.lines;
        let module = self.module;
        let id = *self.line_ids.entry(key.clone()).or_insert_with(|| {
            let chain = chain.iter().map(|p| (module.file(p.file).to_owned(), p.line, p.column)).collect();
            lines.push(SourceLine { file: key.0, line: key.1, chain });
            LineId(lines.len() as u32 - 1)
        });
        if let Some(location) = self.location
            && place.is_some()
        {
            self.location_lines[location as usize] = Some(id);
        }
        id
    }

    fn place(&self) -> (String, u32) {
        let chain = self.location.map(|l| self.module.chain(l)).unwrap_or_default();
        match attributed(&chain, self.own_file) {
            Some(place) => (self.module.file(place.file).to_owned(), place.line),
            None => (String::new(), 0),
        }
    }

    pub fn unsupported<T>(&self, what: &str) -> Decoded<T> {
        let (file, user_line) = self.place();
        Err(PtxError::Unsupported { what: what.to_owned(), file, user_line, line: self.line })
    }

    pub fn invalid<T>(&self, what: impl Into<String>) -> Decoded<T> {
        let (file, user_line) = self.place();
        Err(PtxError::Invalid { what: what.into(), file, user_line, line: self.line })
    }

    fn finish(mut self) -> Decoded<Program> {
        self.decode_address_taken()?;
        self.mark_recursive();
        let mut kinds = std::mem::take(&mut self.red_kinds);
        kinds.dedup();
        let first = kinds.first().copied();
        if kinds.iter().any(|k| Some(*k) != first) {
            self.program.traits.ordered_atomics = true;
        }
        patterns::mark(&mut self.program);
        self.program.function_indices = self.function_index.iter().map(|(m, f)| (*m as u32, *f)).collect();
        self.program.function_indices.sort_unstable();
        Ok(self.program)
    }
}
