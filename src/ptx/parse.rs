//! PTX text to a [`Module`]: a recursive-descent parser over statements. Unknown opcodes are kept for the decoder to
//! name; unknown directives are errors, because they may change what a kernel means.

mod declare;

use std::collections::HashMap;

use super::ast::*;
use super::error::PtxError;
use super::lex::{Lexer, Token};

/// Texts nested deeper than this are refused.
const DEPTH: u32 = 64;

/// Reads a PTX text. Total: any text gives a module or an error.
pub fn parse(text: &str) -> Result<Module, PtxError> {
    let mut parser = Parser::new(text);
    parser.module()?;
    Ok(parser.module)
}

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// Line of `token`.
    line: u32,
    module: Module,
    interned: HashMap<&'a str, Symbol>,
    location: Option<u32>,
    places: HashMap<Place, u32>,
}

pub(super) type Result_<T> = Result<T, PtxError>;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let token = lexer.next();
        let line = lexer.line;
        let module = Module { address_size: 64, ..Module::default() };
        Parser { lexer, token, line, module, interned: HashMap::new(), location: None, places: HashMap::new() }
    }

    fn advance(&mut self) -> Token<'a> {
        let token = self.token;
        self.token = self.lexer.next();
        self.line = self.lexer.line;
        token
    }

    fn fail<T>(&self, what: impl Into<String>) -> Result_<T> {
        Err(PtxError::Syntax { line: self.line, what: what.into() })
    }

    fn intern(&mut self, text: &'a str) -> Symbol {
        let names = &mut self.module.names;
        *self.interned.entry(text).or_insert_with(|| {
            names.push(text.into());
            Symbol(names.len() as u32 - 1)
        })
    }

    fn is(&self, punct: u8) -> bool {
        self.token == Token::Punct(punct)
    }

    fn accept(&mut self, punct: u8) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: u8) -> Result_<()> {
        if self.accept(punct) {
            return Ok(());
        }
        self.fail(format!("expected `{}`, found {:?}", char::from(punct), self.token))
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.token == Token::Word(word);
        if found {
            self.advance();
        }
        found
    }

    fn word(&mut self) -> Result_<&'a str> {
        match self.token {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            other => self.fail(format!("expected a name, found {other:?}")),
        }
    }

    fn symbol(&mut self) -> Result_<Symbol> {
        let word = self.word()?;
        Ok(self.intern(word))
    }

    fn integer(&mut self) -> Result_<i128> {
        let negative = self.accept(b'-');
        match self.token {
            Token::Int(value) => {
                self.advance();
                Ok(if negative { -value } else { value })
            }
            other => self.fail(format!("expected an integer, found {other:?}")),
        }
    }

    fn small(&mut self) -> Result_<u32> {
        let value = self.integer()?;
        u32::try_from(value).or_else(|_| self.fail(format!("{value} is out of range")))
    }

    fn module(&mut self) -> Result_<()> {
        loop {
            match self.token {
                Token::End => return Ok(()),
                Token::Word(".version") => {
                    self.advance();
                    self.module.version = self.rest_of_line();
                }
                Token::Word(".target") => {
                    self.advance();
                    self.module.target = self.rest_of_line();
                }
                Token::Word(".address_size") => {
                    self.advance();
                    self.module.address_size = self.small()?;
                }
                Token::Word(".file") => self.file()?,
                Token::Word(".loc") => self.loc()?,
                Token::Word(".section") => self.section()?,
                Token::Word(".pragma") => self.skip_statement()?,
                Token::Word(".alias") => {
                    self.advance();
                    let new = self.symbol()?;
                    self.expect(b',')?;
                    let old = self.symbol()?;
                    self.expect(b';')?;
                    self.module.aliases.push((new, old));
                }
                Token::Punct(b';') => {
                    self.advance();
                }
                _ => self.declaration()?,
            }
        }
    }

    /// The words and numbers up to the next line.
    fn rest_of_line(&mut self) -> String {
        let line = self.line;
        let mut text = String::new();
        while self.line == line && self.token != Token::End {
            match self.advance() {
                Token::Word(word) | Token::Text(word) | Token::Bad(word) => text += word,
                Token::F64(bits) => text += &format!("{:?}", f64::from_bits(bits)),
                Token::Int(value) => text += &value.to_string(),
                Token::Punct(byte) => text.push(char::from(byte)),
                _ => {}
            }
        }
        text
    }

    fn skip_statement(&mut self) -> Result_<()> {
        while !self.is(b';') {
            if self.token == Token::End {
                return self.fail("the text ends inside a statement");
            }
            self.advance();
        }
        self.expect(b';')
    }

    fn file(&mut self) -> Result_<()> {
        self.advance();
        let number = self.small()?;
        let Token::Text(path) = self.token else { return self.fail("`.file` needs a path") };
        self.advance();
        while self.accept(b',') {
            self.integer()?;
        }
        self.module.files.push((number, path.to_owned()));
        Ok(())
    }

    fn place(&mut self) -> Result_<Place> {
        Ok(Place { file: self.small()?, line: self.small()?, column: self.small()? })
    }

    /// `.loc file line column [, function_name label [+ n]] [, inlined_at file line column]`
    fn loc(&mut self) -> Result_<()> {
        self.advance();
        let place = self.place()?;
        let mut inlined_at = None;
        while self.accept(b',') {
            match self.word()? {
                "function_name" => {
                    self.word()?;
                    if self.accept(b'+') {
                        self.integer()?;
                    }
                }
                "inlined_at" => inlined_at = Some(self.place()?),
                other => return self.fail(format!("unknown part `{other}` of `.loc`")),
            }
        }
        let index = self.module.locations.len() as u32;
        let outer = inlined_at.and_then(|at| self.places.get(&at).copied());
        self.module.locations.push(Location { place, inlined_at, outer });
        self.places.insert(place, index);
        self.location = Some(index);
        Ok(())
    }

    fn section(&mut self) -> Result_<()> {
        self.advance();
        self.word()?;
        self.expect(b'{')?;
        while !self.accept(b'}') {
            if self.token == Token::End {
                return self.fail("the text ends inside a section");
            }
            self.advance();
        }
        Ok(())
    }

    /// The statements of a function after its opening brace, through the closing one.
    fn body(&mut self) -> Result_<Vec<Statement>> {
        let mut body = vec![];
        let mut depth = 0;
        loop {
            match self.token {
                Token::Punct(b'{') => {
                    self.advance();
                    depth += 1;
                    if depth > DEPTH {
                        return self.fail("blocks are nested too deep");
                    }
                    body.push(Statement::Open);
                }
                Token::Punct(b'}') => {
                    self.advance();
                    if depth == 0 {
                        return Ok(body);
                    }
                    depth -= 1;
                    body.push(Statement::Close);
                }
                Token::Punct(b';') => {
                    self.advance();
                }
                Token::Punct(b'@') => body.push(self.guarded()?),
                Token::Word(".loc") => self.loc()?,
                Token::Word(".file") => self.file()?,
                Token::Word(".pragma") => self.pragma(&mut body)?,
                Token::Word(".reg") => self.registers(&mut body)?,
                Token::Word(word) if word.starts_with('.') => {
                    for variable in self.variables()? {
                        body.push(Statement::Variable(variable));
                    }
                }
                Token::Word(word) => {
                    let line = self.line;
                    self.advance();
                    if self.accept(b':') {
                        let label = self.intern(word);
                        body.push(self.labelled(label)?);
                    } else {
                        body.push(self.instruction(None, word, line)?);
                    }
                }
                other => return self.fail(format!("expected a statement, found {other:?}")),
            }
        }
    }

    /// Only what says something of the next load is kept.
    fn pragma(&mut self, body: &mut Vec<Statement>) -> Result_<()> {
        self.advance();
        let Token::Text(text) = self.token else { return self.skip_statement() };
        let used = text.split_whitespace().collect::<Vec<_>>();
        if let ["used_bytes_mask", mask] = used.as_slice() {
            let mask = match mask.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => mask.parse(),
            };
            body.extend(mask.ok().map(Statement::UsedBytes));
        }
        self.skip_statement()
    }

    fn labelled(&mut self, label: Symbol) -> Result_<Statement> {
        if self.accept_word(".branchtargets") || self.accept_word(".calltargets") {
            let mut targets = vec![self.symbol()?];
            while self.accept(b',') {
                targets.push(self.symbol()?);
            }
            self.expect(b';')?;
            return Ok(Statement::Targets(label, targets));
        }
        if self.accept_word(".callprototype") {
            let returns = if self.is(b'(') { self.parameters()? } else { vec![] };
            self.word()?;
            let params = if self.is(b'(') { self.parameters()? } else { vec![] };
            self.skip_statement()?;
            return Ok(Statement::Prototype(label, returns, params));
        }
        Ok(Statement::Label(label))
    }

    fn guarded(&mut self) -> Result_<Statement> {
        self.expect(b'@')?;
        let negated = self.accept(b'!');
        let predicate = self.symbol()?;
        let line = self.line;
        let opcode = self.word()?;
        self.instruction(Some((predicate, negated)), opcode, line)
    }

    fn instruction(&mut self, guard: Option<(Symbol, bool)>, opcode: &'a str, line: u32) -> Result_<Statement> {
        let opcode = self.intern(opcode);
        let mut operands = vec![];
        while !self.accept(b';') {
            if !operands.is_empty() {
                self.expect(b',')?;
            }
            operands.push(self.operand(0)?);
        }
        Ok(Statement::Instruction(Instruction { guard, opcode, operands, location: self.location, line }))
    }

    fn operands(&mut self, close: u8, depth: u32) -> Result_<Vec<Operand>> {
        let mut list = vec![];
        while !self.accept(close) {
            if !list.is_empty() {
                self.expect(b',')?;
            }
            list.push(self.operand(depth + 1)?);
        }
        Ok(list)
    }

    fn operand(&mut self, depth: u32) -> Result_<Operand> {
        if depth > DEPTH {
            return self.fail("operands are nested too deep");
        }
        match self.advance() {
            Token::Word("_") => Ok(Operand::Sink),
            Token::Word("WARP_SZ") => Ok(Operand::Int(32)),
            Token::Word(word) => {
                let name = self.intern(word);
                match self.token {
                    Token::Punct(b'|') => {
                        self.advance();
                        let second = self.symbol()?;
                        Ok(Operand::Pair(name, second))
                    }
                    Token::Punct(b'+' | b'-') => Ok(Operand::Offset(name, self.offset()?)),
                    _ => Ok(Operand::Name(name)),
                }
            }
            Token::Int(value) => Ok(Operand::Int(value)),
            Token::F32(bits) => Ok(Operand::F32(bits)),
            Token::F64(bits) => Ok(Operand::F64(bits)),
            Token::Punct(b'!') => Ok(Operand::Not(self.symbol()?)),
            Token::Punct(b'-') => match self.advance() {
                Token::Int(value) => Ok(Operand::Int(-value)),
                Token::F64(bits) => Ok(Operand::F64(bits ^ 1 << 63)),
                Token::Word(word) => Ok(Operand::Negated(self.intern(word))),
                other => self.fail(format!("expected a number after `-`, found {other:?}")),
            },
            Token::Punct(b'{') => Ok(Operand::Vector(self.operands(b'}', depth)?)),
            Token::Punct(b'(') => Ok(Operand::List(self.operands(b')', depth)?)),
            Token::Punct(b'[') => self.bracket(depth),
            other => self.fail(format!("expected an operand, found {other:?}")),
        }
    }

    /// `+ 4`, `-4`, `+-4`; nothing is zero.
    fn offset(&mut self) -> Result_<i64> {
        let mut sum = 0i128;
        while self.is(b'+') || self.is(b'-') {
            self.accept(b'+');
            sum += self.integer()?;
        }
        i64::try_from(sum).or_else(|_| self.fail("offset out of range"))
    }

    fn bracket(&mut self, depth: u32) -> Result_<Operand> {
        let list = self.operands(b']', depth)?;
        match list.as_slice() {
            [Operand::Name(base)] => Ok(Operand::Address(Some(*base), 0)),
            [Operand::Offset(base, offset)] => Ok(Operand::Address(Some(*base), *offset)),
            [Operand::Int(address)] => Ok(Operand::Address(None, *address as i64)),
            _ => Ok(Operand::Bracket(list)),
        }
    }
}
