//! A walk over host code that follows sizes, device memory and launches in the order in which they happen.
//!
//! It runs the statements once, with symbols for sizes. What is not modelled gives values that say why they are not
//! known; nothing is guessed. A condition that only leads out of the function (a usage message, a failed check) is taken
//! to be false, for the plan is about the run that succeeds; one that cannot be decided otherwise is noted on every
//! launch in its arms.

use std::collections::{BTreeMap, BTreeSet};

use super::value::{Buffer, Event, Symbol, Val};
use crate::contract::Expr;
use crate::ir::*;
use crate::source::{Sources, Span};

pub(super) const MAX_DEPTH: u32 = 8;
/// Statements that one walk runs.
const MAX_STEPS: u32 = 60_000;
/// Launches of one loop are followed so often; of a longer loop the first few stand for it.
const MAX_TRIPS: u32 = 16;
const FIRST_TRIPS: u32 = 2;

/// Where statements stand.
#[derive(Clone)]
pub(super) struct Frame<'a> {
    pub unit: u32,
    pub f: &'a Function,
    pub id: u32,
    /// Template arguments by parameter.
    pub types: BTreeMap<String, String>,
}

pub(super) enum Flow {
    Next,
    Return(Val),
    Break,
    Continue,
    /// The program ends.
    Exit,
}

/// Function-like macros: parameters and body.
pub(super) type MacroBodies = BTreeMap<String, (Vec<String>, String)>;

pub struct Host<'a> {
    pub(super) program: &'a Program,
    pub(super) macros: MacroBodies,
    /// Values by place: a variable of a frame, with members and subscripts.
    pub(super) memory: BTreeMap<String, Val>,
    pub(super) types: BTreeMap<String, Type>,
    pub symbols: Vec<Symbol>,
    pub buffers: Vec<Buffer>,
    pub events: Vec<Event>,
    /// Symbols whose value decided which way the code went.
    pub decided: BTreeSet<String>,
    /// Names that device code uses: as constants of the program they cannot vary.
    pub(super) device_words: BTreeSet<String>,
    pub(super) steps: u32,
    pub(super) depth: u32,
    /// Calls that are being followed.
    pub(super) nested: u32,
    /// Names of variables by place.
    pub(super) names: BTreeMap<String, String>,
    pub(super) frames: u32,
    pub(super) arms: Vec<(u32, u32)>,
    pub(super) conditions: u32,
    pub(super) cut: Option<String>,
}

impl<'a> Host<'a> {
    pub fn new(program: &'a Program, sources: &Sources) -> Host<'a> {
        Host {
            program,
            macros: super::macros::bodies(program, sources),
            memory: BTreeMap::new(),
            types: BTreeMap::new(),
            symbols: vec![],
            buffers: vec![],
            events: vec![],
            decided: BTreeSet::new(),
            device_words: super::macros::device_words(program, sources),
            steps: 0,
            depth: 0,
            nested: 0,
            names: BTreeMap::new(),
            frames: 0,
            arms: vec![],
            conditions: 0,
            cut: None,
        }
    }

    /// Walks one function; what it is given is made up under the names of its parameters.
    pub fn run(&mut self, at: FunctionRef) {
        let f = self.program.function(at);
        let frame = self.frame(at.unit, f);
        for p in &f.params {
            let value = self.given(f.var(*p));
            let key = self.key(&frame, *p);
            self.types.insert(key.clone(), f.var(*p).ty.clone());
            self.memory.insert(key, value);
        }
        self.block(&frame, &f.body);
    }

    fn given(&mut self, var: &Var) -> Val {
        match &var.ty {
            Type::Scalar(s) if s.is_integer() => {
                Val::Int(Expr::name(self.symbol(&var.name, None, var.name_span, true)))
            }
            Type::Pointer(p) if matches!(p.ty, Type::Pointer(_)) => Val::unknown("it points to a pointer"),
            Type::Pointer(p) => {
                let element = super::cuda::element(&p.ty);
                self.buffers.push(Buffer {
                    name: var.name.clone(),
                    element,
                    bytes: None,
                    why_unknown: format!("`{}` comes from the caller", var.name),
                    is_managed: false,
                    is_given: true,
                });
                Val::Device { buffer: self.buffers.len() - 1, bytes: Expr::Int(0) }
            }
            _ => Val::unknown(format!("`{}` comes from the caller", var.name)),
        }
    }

    pub(super) fn frame(&mut self, unit: u32, f: &'a Function) -> Frame<'a> {
        self.frames += 1;
        Frame { unit, f, id: self.frames, types: BTreeMap::new() }
    }

    pub(super) fn key(&self, frame: &Frame, v: VarId) -> String {
        format!("{}:{}", frame.id, v.0)
    }

    fn enter_name(&mut self, key: &str, name: &str) {
        self.names.insert(key.to_owned(), name.to_owned());
    }

    /// A symbol of this name; another name where one of another value has it.
    pub(super) fn symbol(&mut self, name: &str, value: Option<i64>, span: Span, is_input: bool) -> String {
        let mut own = name.to_owned();
        for n in 2..100 {
            match self.symbols.iter().find(|s| s.name == own) {
                None => break,
                Some(s) if s.span == span && s.value == value => return own,
                Some(_) => own = format!("{name}_{n}"),
            }
        }
        self.symbols.push(Symbol { name: own.clone(), value, span, is_input });
        own
    }

    /// The value with every symbol at its sample.
    pub(super) fn sampled(&self, e: &Expr) -> Option<i64> {
        e.eval(&|n| self.symbols.iter().find(|s| s.name == n)?.value).ok()
    }

    pub(super) fn block(&mut self, frame: &Frame<'a>, block: &'a Block) -> Flow {
        for s in &block.stmts {
            match self.stmt(frame, *s) {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    fn stmt(&mut self, frame: &Frame<'a>, id: StmtId) -> Flow {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Flow::Exit;
        }
        let f = frame.f;
        match &f.stmt(id).kind {
            StmtKind::Declare { var, init } => {
                self.declare(frame, *var, *init);
                Flow::Next
            }
            StmtKind::Expr(e) => self.effect(frame, *e),
            StmtKind::Opaque { children, .. } => {
                for c in children {
                    if let Flow::Exit = self.effect(frame, *c) {
                        return Flow::Exit;
                    }
                }
                Flow::Next
            }
            StmtKind::If { condition, then, otherwise, .. } => self.branch(frame, *condition, then, otherwise.as_ref()),
            StmtKind::For { id, init, condition, step, body } => {
                for s in init {
                    self.stmt(frame, *s);
                }
                self.repeat(frame, *id, *condition, *step, body, true)
            }
            StmtKind::While { id, condition, body } => self.repeat(frame, *id, Some(*condition), None, body, true),
            StmtKind::DoWhile { id, body, condition } => self.repeat(frame, *id, Some(*condition), None, body, false),
            StmtKind::OpaqueLoop { id, body } => self.repeat(frame, *id, None, None, body, true),
            StmtKind::Switch { value, body } => self.switch(frame, *value, body),
            StmtKind::Return(e) => Flow::Return(e.map_or(Val::Null, |e| self.eval(frame, e))),
            StmtKind::Break => Flow::Break,
            StmtKind::Continue => Flow::Continue,
            StmtKind::Block(b) => self.block(frame, b),
            StmtKind::Preprocessor { arms } => match arms.first() {
                Some((_, b)) => self.block(frame, b),
                None => Flow::Next,
            },
            StmtKind::Asm { .. } | StmtKind::Pragma(_) | StmtKind::Empty => Flow::Next,
        }
    }

    fn effect(&mut self, frame: &Frame<'a>, e: ExprId) -> Flow {
        if let ExprKind::Call { callee, .. } = frame.f.kind_of(e)
            && matches!(query::base_name(callee), "exit" | "abort" | "_Exit" | "terminate")
        {
            return Flow::Exit;
        }
        self.eval(frame, e);
        Flow::Next
    }

    fn declare(&mut self, frame: &Frame<'a>, var: VarId, init: Option<ExprId>) {
        let v = frame.f.var(var);
        let key = self.key(frame, var);
        self.types.insert(key.clone(), v.ty.clone());
        self.enter_name(&key, &v.name);
        // A variable of a loop is made anew in every iteration.
        let nested: Vec<String> = self
            .memory
            .range(key.clone()..)
            .map(|(k, _)| k.clone())
            .take_while(|k| k.starts_with(&key))
            .filter(|k| below(k, &key))
            .collect();
        nested.iter().for_each(|k| _ = self.memory.remove(k));
        let value = match init {
            None => self.default_value(frame, &v.ty),
            Some(e) if matches!(v.ty, Type::Reference(_)) => match self.place(frame, e) {
                Some(p) => Val::Ref(p),
                None => self.eval(frame, e),
            },
            Some(e) => self.initial(frame, &v.ty, e, &key),
        };
        self.bind(frame, var, key, value);
    }

    /// The value of an initialiser; members of an object are copied with it.
    fn initial(&mut self, frame: &Frame<'a>, ty: &Type, e: ExprId, key: &str) -> Val {
        if let Type::Named(n) = ty
            && n.contains("device_vector<")
        {
            return self.device_vector(frame, n, e, key);
        }
        if let (Type::Named(_), Some(from)) = (ty, self.place(frame, e)) {
            let copies: Vec<(String, Val)> = self
                .memory
                .range(from.clone()..)
                .take_while(|(k, _)| k.starts_with(&from))
                .filter_map(|(k, v)| Some((k.strip_prefix(&from)?.to_owned(), v.clone())))
                .filter(|(rest, _)| rest.starts_with(['.', '[']))
                .collect();
            self.memory.extend(copies.into_iter().map(|(rest, v)| (format!("{key}{rest}"), v)));
        }
        self.eval(frame, e)
    }

    /// `thrust::device_vector<float> x(n)`, `x(n, 0)` or `x = h`.
    fn device_vector(&mut self, frame: &Frame<'a>, name: &str, e: ExprId, key: &str) -> Val {
        let inner = name.split_once('<').map_or("", |(_, t)| t.trim_end_matches('>'));
        let element = super::eval::type_named(inner).as_ref().and_then(super::cuda::element);
        let values: Vec<Val> = match frame.f.kind_of(e) {
            ExprKind::Construct { args, .. } | ExprKind::InitList(args) => {
                args.iter().map(|a| self.eval(frame, *a)).collect()
            }
            _ => vec![self.eval(frame, e)],
        };
        let (count, from_host) = match values.first() {
            Some(Val::Host(n)) => (n.clone(), true),
            v => (v.and_then(Val::as_int), false),
        };
        let filled = values.get(1).and_then(Val::as_int).and_then(|e| e.constant());
        let width = element.map(|(s, n)| i64::from(s.bytes()) * i64::from(n));
        let bytes = count.zip(width).map(|(c, w)| super::value::combine(crate::contract::Op::Mul, c, Expr::Int(w)));
        let span = frame.f.expr(e).span;
        let name = self.names.get(key).cloned().unwrap_or_default();
        let why_unknown = "its size is not known".to_owned();
        self.buffers.push(Buffer {
            name,
            element,
            bytes: bytes.clone(),
            why_unknown,
            is_managed: true,
            is_given: false,
        });
        let buffer = self.buffers.len() - 1;
        // A vector that is made of a count is filled with zeros.
        if !from_host && filled.is_none_or(|v| v == 0) {
            self.events.push(Event::Fill { buffer, offset: Expr::Int(0), byte: Some(0), bytes, span });
        } else {
            self.events.push(Event::ToDevice { buffer, span });
        }
        Val::Device { buffer, bytes: Expr::Int(0) }
    }

    fn default_value(&mut self, frame: &Frame<'a>, ty: &Type) -> Val {
        match ty {
            Type::Named(n) if last(n) == "dim3" => Val::Dim3([Expr::Int(1), Expr::Int(1), Expr::Int(1)]),
            Type::Named(n) if n.contains("vector<") => Val::Host(Some(Expr::Int(0))),
            Type::Array { len, .. } => Val::Host(len.and_then(|e| self.eval(frame, e).as_int())),
            _ => Val::unknown("it has no value before it is used"),
        }
    }

    /// Stores a value under a variable; a size that the program fixes or reads becomes a symbol.
    pub(super) fn bind(&mut self, frame: &Frame<'a>, var: VarId, key: String, value: Val) {
        let v = frame.f.var(var);
        let value = self.named(frame, &v.name, Some(var), &v.ty, value, v.name_span);
        self.memory.insert(key, value);
    }

    pub(super) fn named(
        &mut self,
        frame: &Frame<'a>,
        name: &str,
        var: Option<VarId>,
        ty: &Type,
        value: Val,
        span: Span,
    ) -> Val {
        let value = coerce(ty, value);
        let integer = matches!(ty, Type::Scalar(s) if s.is_integer()) || matches!(ty, Type::Auto);
        let counts = var.is_some_and(|v| is_counter(frame.f, v));
        match value {
            Val::Input(sample) if integer => Val::Int(Expr::name(self.symbol(name, sample, span, true))),
            Val::Int(e) if integer && !counts && !self.device_words.contains(name) => match e {
                Expr::Int(v) if v > 1 => Val::Int(Expr::name(self.symbol(name, Some(v), span, false))),
                other => Val::Int(other),
            },
            other => other,
        }
    }

    fn branch(&mut self, frame: &Frame<'a>, condition: ExprId, then: &'a Block, otherwise: Option<&'a Block>) -> Flow {
        let value = self.eval(frame, condition);
        let symbolic = value.as_int();
        let known = symbolic.as_ref().and_then(|e| self.sampled(e));
        if let (Some(e), Some(v)) = (&symbolic, known) {
            // A size for which the program gives up, or goes the same way, does not decide what it does otherwise.
            let other = if v != 0 { otherwise } else { Some(then) };
            let changes = |b: &Block| self.matters(frame, b) || assigns(frame.f, b);
            let decides = match other {
                Some(b) => !leaves(frame.f, b) && changes(b),
                None => changes(then),
            };
            if decides {
                self.decided.extend(e.names().into_iter().map(str::to_owned));
            }
        }
        match known {
            Some(0) => return otherwise.map_or(Flow::Next, |b| self.block(frame, b)),
            Some(_) => return self.block(frame, then),
            None => {}
        }
        if leaves(frame.f, then) {
            return otherwise.map_or(Flow::Next, |b| self.block(frame, b));
        }
        if let Some(b) = otherwise
            && leaves(frame.f, b)
        {
            return self.block(frame, then);
        }
        self.conditions += 1;
        let number = self.conditions;
        let before = self.memory.clone();
        self.arms.push((number, 0));
        let first = self.block(frame, then);
        self.arms.pop();
        let after_then = std::mem::replace(&mut self.memory, before);
        self.arms.push((number, 1));
        let second = otherwise.map_or(Flow::Next, |b| self.block(frame, b));
        self.arms.pop();
        self.merge(after_then);
        match (first, second) {
            (Flow::Exit, Flow::Exit) => Flow::Exit,
            (Flow::Return(v), Flow::Return(_)) => Flow::Return(v),
            _ => Flow::Next,
        }
    }

    /// Two memories into one: what differs is not known, but a size that is read in one arm only has the value of the
    /// other as its sample.
    fn merge(&mut self, other: BTreeMap<String, Val>) {
        for (key, a) in other {
            let b = self.memory.get(&key).cloned();
            let one = match (a, b) {
                (a, None) => a,
                (a, Some(b)) if a == b => a,
                (Val::Int(x), Some(Val::Int(y))) => self.either(x, y),
                (Val::Unknown(_), Some(Val::Device { buffer, bytes }))
                | (Val::Device { buffer, bytes }, Some(Val::Unknown(_))) => Val::Device { buffer, bytes },
                _ => Val::unknown("it depends on a condition that is not known"),
            };
            self.memory.insert(key, one);
        }
    }

    fn either(&mut self, x: Expr, y: Expr) -> Val {
        let input = |e: &Expr, all: &[Symbol]| match e {
            Expr::Name(n) => all.iter().position(|s| s.name == *n && s.is_input),
            _ => None,
        };
        let (i, other) = match (input(&x, &self.symbols), input(&y, &self.symbols)) {
            (Some(i), _) => (i, y),
            (None, Some(i)) => (i, x),
            _ => return Val::unknown("it depends on a condition that is not known"),
        };
        // A size with a default: the name that had the default stands for both.
        if let Expr::Name(n) = &other
            && let Some(s) = self.symbols.iter_mut().find(|s| s.name == *n)
        {
            s.is_input = true;
            return Val::Int(other);
        }
        let sample = self.sampled(&other);
        match self.symbols.get_mut(i) {
            Some(s) => {
                s.value = s.value.or(sample);
                Val::Int(Expr::Name(s.name.clone()))
            }
            None => Val::Int(other),
        }
    }

    fn switch(&mut self, frame: &Frame<'a>, value: ExprId, body: &'a Block) -> Flow {
        self.eval(frame, value);
        // Cases are not told apart: each launch is an alternative.
        self.conditions += 1;
        let number = self.conditions;
        for (n, s) in body.stmts.iter().enumerate() {
            self.arms.push((number, n as u32));
            let flow = self.stmt(frame, *s);
            self.arms.pop();
            if let Flow::Exit = flow {
                break;
            }
        }
        Flow::Next
    }

    fn repeat(
        &mut self,
        frame: &Frame<'a>,
        id: LoopId,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: &'a Block,
        tests_first: bool,
    ) -> Flow {
        if !self.matters(frame, body) {
            self.forget(frame, id, body, step);
            return Flow::Next;
        }
        let trips = self.count(frame, condition, step, tests_first);
        let cut_before = self.cut.clone();
        let most = match trips {
            Some(n) if n <= MAX_TRIPS => n,
            Some(n) => {
                self.cut = Some(format!("the loop around it runs {} times", say(n)));
                FIRST_TRIPS
            }
            None => {
                self.cut =
                    Some("the loop's end depends on values that are not known; one iteration stands for it".into());
                1
            }
        };
        let mut flow = Flow::Next;
        for n in 0..most {
            match self.block(frame, body) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                other => {
                    flow = other;
                    break;
                }
            }
            if n + 1 < most
                && let Some(e) = step
            {
                self.eval(frame, e);
            }
        }
        self.cut = cut_before;
        flow
    }

    /// How often a loop runs, tried on the values alone; more than a little over the limit is not counted.
    fn count(
        &mut self,
        frame: &Frame<'a>,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        tests_first: bool,
    ) -> Option<u32> {
        let (condition, step) = (condition?, step?);
        if query::has_side_effects(frame.f, condition) || !tests_first {
            return None;
        }
        let saved = self.memory.clone();
        let mut n = 0;
        let found = loop {
            let Some(e) = self.eval(frame, condition).as_int() else { break None };
            match self.sampled(&e) {
                Some(0) => break Some(n),
                Some(_) => {}
                None => break None,
            }
            if n > 2000 {
                break Some(n);
            }
            n += 1;
            self.eval(frame, step);
        };
        self.memory = saved;
        found
    }

    /// Whether the block launches, allocates, copies, or calls something that may.
    fn matters(&self, frame: &Frame<'a>, body: &Block) -> bool {
        let f = frame.f;
        query::stmts_in(f, body).into_iter().flat_map(|s| query::roots_of(f.stmt(s))).flat_map(|e| f.walk(e)).any(|e| {
            match f.kind_of(e) {
                ExprKind::Launch(_) => true,
                ExprKind::Call { callee, .. } => {
                    callee.starts_with("cudaM") || callee.starts_with("cudaLaunch") || self.reaches_device(callee, 0)
                }
                ExprKind::CallValue { .. } => true,
                _ => false,
            }
        })
    }

    fn reaches_device(&self, callee: &str, depth: u32) -> bool {
        let name = query::base_name(callee);
        let units = self.program.units.iter();
        let found = units.flat_map(|u| &u.functions).filter(|f| f.name == name && f.body_span.is_some());
        depth < 4
            && found.into_iter().any(|f| {
                f.exprs.iter().any(|e| match &e.kind {
                    ExprKind::Launch(_) => true,
                    ExprKind::Call { callee, .. } => {
                        callee.starts_with("cudaM") || self.reaches_device(callee, depth + 1)
                    }
                    _ => false,
                })
            })
    }

    /// Variables that a loop which is passed over may write are not known afterwards.
    fn forget(&mut self, frame: &Frame<'a>, _: LoopId, body: &Block, step: Option<ExprId>) {
        let f = frame.f;
        let mut written = vec![];
        let known = query::Signatures::default();
        for s in query::stmts_in(f, body) {
            for e in query::roots_of(f.stmt(s)).into_iter().flat_map(|r| f.walk(r)) {
                if let ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } = f.kind_of(e) {
                    written.extend(query::written_var(f, *target));
                }
            }
        }
        written.extend(step.into_iter().flat_map(|e| query::writes_of_expr(f, e, &known)));
        for v in written {
            let key = self.key(frame, v);
            if matches!(self.memory.get(&key), Some(Val::Int(_) | Val::Float(_) | Val::Ratio(..) | Val::Input(_))) {
                self.memory.insert(key, Val::unknown(format!("`{}` changes in a loop", f.var(v).name)));
            }
        }
    }
}

fn say(n: u32) -> String {
    if n > 2000 { "very often".into() } else { n.to_string() }
}

/// Whether `key` is a member or an element of what `whole` names.
fn below(key: &str, whole: &str) -> bool {
    key.strip_prefix(whole).is_some_and(|rest| rest.starts_with(['.', '[']))
}

pub(super) fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn coerce(ty: &Type, value: Val) -> Val {
    match (ty, value) {
        (Type::Scalar(s), v @ (Val::Ratio(..) | Val::Float(_))) if s.is_integer() => match v.as_int() {
            Some(e) => Val::Int(e),
            None => v,
        },
        (Type::Scalar(s), Val::Int(e)) if s.is_float() => match e.constant() {
            Some(v) => Val::Float(v as f64),
            None => Val::Ratio(e, Expr::Int(1)),
        },
        (Type::Named(n), Val::Int(e)) if last(n) == "dim3" => Val::Dim3([e, Expr::Int(1), Expr::Int(1)]),
        (_, value) => value,
    }
}

/// Whether the variable is counted up or down, or changed in place, anywhere in the function.
fn is_counter(f: &Function, v: VarId) -> bool {
    f.exprs.iter().any(|e| match &e.kind {
        ExprKind::Increment { target, .. } | ExprKind::Assign { op: Some(_), target, .. } => {
            matches!(f.kind_of(*target), ExprKind::Var(w) if *w == v)
        }
        _ => false,
    })
}

/// Whether the block writes a variable.
fn assigns(f: &Function, block: &Block) -> bool {
    let all = query::stmts_in(f, block).into_iter().flat_map(|s| query::roots_of(f.stmt(s))).flat_map(|e| f.walk(e));
    all.into_iter().any(|e| match f.kind_of(e) {
        ExprKind::Assign { target, .. } | ExprKind::Increment { target, .. } => {
            query::written_var(f, *target).is_some()
        }
        _ => false,
    })
}

/// Whether the block only leads out: it ends with a return, an exit, or a throw, and launches nothing.
fn leaves(f: &Function, block: &Block) -> bool {
    let Some(last) = block.stmts.last() else { return false };
    let launches =
        query::stmts_in(f, block).into_iter().flat_map(|s| query::roots_of(f.stmt(s))).flat_map(|e| f.walk(e));
    if launches.into_iter().any(|e| matches!(f.kind_of(e), ExprKind::Launch(_))) {
        return false;
    }
    match &f.stmt(*last).kind {
        StmtKind::Return(_) => true,
        StmtKind::Block(b) => leaves(f, b),
        StmtKind::Expr(e) => f.walk(*e).into_iter().any(|e| match f.kind_of(e) {
            ExprKind::Call { callee, .. } => {
                let name = query::base_name(callee).to_ascii_lowercase();
                matches!(name.as_str(), "exit" | "abort" | "_exit" | "usage" | "terminate" | "assert")
                    || name.contains("usage")
            }
            ExprKind::Opaque { what, .. } => what.contains("throw"),
            _ => false,
        }),
        StmtKind::Opaque { what, .. } => what.contains("throw") || what.contains("goto"),
        _ => false,
    }
}
