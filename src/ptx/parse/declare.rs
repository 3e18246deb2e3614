//! Declarations: linkage, functions with their directives, variables with initialisers, registers.

use super::{Parser, Result_};
use crate::ptx::ast::*;
use crate::ptx::lex::Token;

impl<'a> Parser<'a> {
    /// `[linkage] .entry | .func | variable`
    pub(super) fn declaration(&mut self) -> Result_<()> {
        let mut external = false;
        loop {
            match self.token {
                Token::Word(".visible" | ".weak" | ".common") => {}
                Token::Word(".extern") => external = true,
                Token::Word(".entry" | ".func") => return self.function(),
                _ => break,
            }
            self.advance();
        }
        let mut variables = self.variables()?;
        for variable in &mut variables {
            variable.external = external;
        }
        self.module.variables.append(&mut variables);
        Ok(())
    }

    fn function(&mut self) -> Result_<()> {
        let line = self.line;
        let is_entry = self.token == Token::Word(".entry");
        self.advance();
        while self.accept_word(".noreturn") || self.accept_word(".unique") {}
        let returns = if self.is(b'(') { self.parameters()? } else { vec![] };
        let name = self.symbol()?;
        let params = if self.is(b'(') { self.parameters()? } else { vec![] };
        let mut function = Function {
            name,
            is_entry,
            has_body: false,
            returns,
            params,
            body: vec![],
            required_threads: None,
            max_threads: None,
            unsupported: None,
            line,
        };
        self.directives(&mut function)?;
        self.location = None;
        self.places.clear();
        if self.accept(b'{') {
            function.body = self.body()?;
            function.has_body = true;
        } else {
            self.expect(b';')?;
        }
        self.location = None;
        self.module.functions.push(function);
        Ok(())
    }

    fn directives(&mut self, function: &mut Function) -> Result_<()> {
        while let Token::Word(word) = self.token {
            self.advance();
            match word {
                ".maxntid" => function.max_threads = Some(self.extents()?),
                ".reqntid" => function.required_threads = Some(self.extents()?),
                ".minnctapersm" | ".maxnctapersm" | ".maxnreg" | ".maxclusterrank" => {
                    self.small()?;
                }
                ".noreturn" | ".abi_preserve" | ".abi_preserve_control" => {
                    if matches!(self.token, Token::Int(_)) {
                        self.advance();
                    }
                }
                ".pragma" => self.skip_statement()?,
                ".reqnctapercluster" => {
                    if self.extents()? != [1, 1, 1] {
                        function.unsupported = Some("thread block clusters (.reqnctapercluster)".into());
                    }
                }
                ".explicitcluster" => function.unsupported = Some("thread block clusters (.explicitcluster)".into()),
                ".blocksareclusters" => {
                    function.unsupported = Some("thread block clusters (.blocksareclusters)".into())
                }
                other => return self.fail(format!("unknown directive `{other}`")),
            }
        }
        Ok(())
    }

    fn extents(&mut self) -> Result_<[u32; 3]> {
        let mut extents = [self.small()?, 1, 1];
        for extent in &mut extents[1..] {
            if !self.accept(b',') {
                break;
            }
            *extent = self.small()?;
        }
        Ok(extents)
    }

    pub(super) fn parameters(&mut self) -> Result_<Vec<Variable>> {
        self.expect(b'(')?;
        let mut list = vec![];
        while !self.accept(b')') {
            if !list.is_empty() {
                self.expect(b',')?;
            }
            let mut shape = self.shape()?;
            list.push(self.declarator(&mut shape)?);
        }
        Ok(list)
    }

    /// The part of a variable declaration before the name.
    fn shape(&mut self) -> Result_<Shape> {
        let mut shape = Shape { space: Space::Generic, ty: Type::B8, align: None, lanes: 1 };
        let mut typed = false;
        while let Token::Word(word) = self.token {
            if !word.starts_with('.') {
                break;
            }
            self.advance();
            match word {
                ".global" if !typed => shape.space = Space::Global,
                ".const" if !typed => shape.space = Space::Const,
                ".shared" if !typed => shape.space = Space::Shared,
                ".local" if !typed => shape.space = Space::Local,
                ".param" if !typed => shape.space = Space::Param,
                ".reg" => shape.space = Space::Param,
                // What a pointer parameter points to.
                ".ptr" | ".global" | ".const" | ".shared" | ".local" | ".param" => {}
                ".align" => {
                    let align = self.small()?;
                    if !align.is_power_of_two() || align > 4096 {
                        return self.fail(format!("`.align {align}` is no power of two up to 4096"));
                    }
                    // After the type it is the alignment of what a pointer parameter points to.
                    if !typed {
                        shape.align = Some(align);
                    }
                }
                ".v2" => shape.lanes = 2,
                ".v4" => shape.lanes = 4,
                ".attribute" => {
                    self.expect(b'(')?;
                    while !self.accept(b')') {
                        if self.token == Token::End {
                            return self.fail("the text ends inside an attribute");
                        }
                        self.advance();
                    }
                }
                _ => match word.strip_prefix('.').and_then(Type::named) {
                    Some(ty) => (shape.ty, typed) = (ty, true),
                    // Opaque handles: kept as eight bytes, decoding refuses their use.
                    None if matches!(word, ".texref" | ".samplerref" | ".surfref") => {
                        (shape.ty, typed) = (Type::B64, true)
                    }
                    None => return self.fail(format!("unknown directive `{word}`")),
                },
            }
        }
        if !typed {
            return self.fail(format!("expected a declaration, found {:?}", self.token));
        }
        Ok(shape)
    }

    fn declarator(&mut self, shape: &mut Shape) -> Result_<Variable> {
        let name = self.symbol()?;
        let element = u64::from(shape.ty.bytes()) * u64::from(shape.lanes);
        let (mut size, mut unsized_array) = (element, false);
        while self.accept(b'[') {
            if self.accept(b']') {
                unsized_array = true;
                continue;
            }
            let extent = self.integer()?;
            self.expect(b']')?;
            let extent = u64::try_from(extent).ok().and_then(|e| size.checked_mul(e)).filter(|s| *s < 1 << 40);
            let Some(total) = extent else { return self.fail("array too large") };
            size = total;
        }
        let mut initial = vec![];
        if self.accept(b'=') {
            self.initialiser(shape.ty, &mut initial, 0)?;
            if unsized_array {
                size = element * initial.len() as u64;
                unsized_array = false;
            }
        }
        if unsized_array {
            size = 0;
        }
        let align = shape.align.unwrap_or(element.min(4096) as u32);
        let (space, ty) = (shape.space, shape.ty);
        Ok(Variable { name, space, ty, align, size, unsized_array, external: false, initial })
    }

    fn initialiser(&mut self, ty: Type, out: &mut Vec<Initial>, depth: u32) -> Result_<()> {
        if depth > 8 {
            return self.fail("initialiser nested too deep");
        }
        if self.accept(b'{') {
            while !self.accept(b'}') {
                self.initialiser(ty, out, depth + 1)?;
                self.accept(b',');
            }
            return Ok(());
        }
        let negative = self.accept(b'-');
        let value = match self.advance() {
            Token::Int(value) => {
                let value = if negative { -value } else { value };
                match ty {
                    Type::F32 => Initial::Bits(u64::from((value as f32).to_bits())),
                    Type::F64 => Initial::Bits((value as f64).to_bits()),
                    _ => Initial::Bits(value as u64),
                }
            }
            Token::F32(bits) => Initial::Bits(u64::from(bits)),
            Token::F64(bits) => {
                let value = f64::from_bits(bits) * if negative { -1.0 } else { 1.0 };
                Initial::Bits(if ty == Type::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() })
            }
            Token::Word("generic") => {
                self.expect(b'(')?;
                let symbol = self.symbol()?;
                let mut offset = self.offset()?;
                self.expect(b')')?;
                offset = offset.wrapping_add(self.offset()?);
                Initial::Address { symbol, offset, generic: true }
            }
            Token::Word(word) => {
                let symbol = self.intern(word);
                Initial::Address { symbol, offset: self.offset()?, generic: false }
            }
            other => return self.fail(format!("expected an initial value, found {other:?}")),
        };
        out.push(value);
        Ok(())
    }

    pub(super) fn variables(&mut self) -> Result_<Vec<Variable>> {
        let mut shape = self.shape()?;
        let mut list = vec![self.declarator(&mut shape)?];
        while self.accept(b',') {
            list.push(self.declarator(&mut shape)?);
        }
        self.expect(b';')?;
        Ok(list)
    }

    /// `.reg .b32 %r<10>, %x;`
    pub(super) fn registers(&mut self, body: &mut Vec<Statement>) -> Result_<()> {
        self.advance();
        let mut vector = 1;
        let word = self.word()?;
        let word = match word {
            ".v2" | ".v4" => {
                vector = if word == ".v2" { 2 } else { 4 };
                self.word()?
            }
            _ => word,
        };
        let Some(ty) = word.strip_prefix('.').and_then(Type::named) else {
            return self.fail(format!("unknown register type `{word}`"));
        };
        loop {
            let prefix = self.symbol()?;
            let mut count = None;
            if self.accept(b'<') {
                count = Some(self.small()?);
                self.expect(b'>')?;
            }
            body.push(Statement::Registers { prefix, count, ty, vector });
            if !self.accept(b',') {
                return self.expect(b';');
            }
        }
    }
}

struct Shape {
    space: Space,
    ty: Type,
    align: Option<u32>,
    lanes: u32,
}
