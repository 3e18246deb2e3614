//! A walk over host code that follows sizes, device memory and launches in the order in which they happen.
//!
//! It runs the statements once, with symbols for sizes. What is not modelled gives values that say why they are not
//! known; nothing is guessed. A condition that only leads out of the function (a usage message, a failed check) is taken
//! to be false, for the plan is about the run that succeeds; one that cannot be decided otherwise is noted on every
//! launch in its arms.

use std::collections::{BTreeMap, BTreeSet};

use super::value::{Arm, Buffer, Event, Symbol, Val};
use super::view::View;
use crate::contract::Expr;
use crate::ir::*;
use crate::source::{Sources, Span};

pub(super) const MAX_DEPTH: u32 = 8;

/// Where statements stand.
#[derive(Clone)]
pub(super) struct Frame<'a> {
    pub unit: u32,
    pub f: &'a Function,
    pub id: u32,
    /// Template arguments by parameter.
    pub types: BTreeMap<String, String>,
    /// The place of the object of a method.
    pub this: Option<String>,
}

/// What a way leads out of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    Iteration,
    Function,
    Program,
}

pub(super) enum Flow {
    Next,
    Return(Val),
    Break,
    Continue,
    /// The program ends.
    Exit,
}

pub struct Host<'a> {
    pub(super) program: &'a Program,
    pub(super) sources: &'a Sources,
    /// Template arguments of the class whose constructor runs.
    pub(super) class_types: BTreeMap<String, String>,
    pub(super) text_depth: u32,
    pub(super) view: &'a View,
    /// The unit of the function with which the walk began.
    pub(super) root: u32,
    /// Values by place: a variable of a frame, with members and subscripts.
    pub(super) memory: BTreeMap<String, Val>,
    pub(super) types: BTreeMap<String, Type>,
    pub symbols: Vec<Symbol>,
    pub buffers: Vec<Buffer>,
    pub events: Vec<Event>,
    /// From which expression of which function the host copies into a buffer.
    pub(super) contents: Vec<(usize, u32, FunctionId, ExprId)>,
    /// Symbols whose value decided which way the code went.
    pub decided: BTreeSet<String>,
    pub(super) steps: u32,
    /// Iterations of loops that only compute.
    pub(super) computed: u32,
    pub(super) depth: u32,
    /// Calls that are being followed.
    pub(super) nested: u32,
    /// Names of variables by place.
    pub(super) names: BTreeMap<String, String>,
    pub(super) frames: u32,
    pub(super) arms: Vec<Arm>,
    /// Ways that led out of what is being run, and of what.
    pub(super) left: Vec<(Vec<Arm>, Left)>,
    pub(super) conditions: u32,
    pub(super) cut: Option<String>,
}

impl<'a> Host<'a> {
    pub fn new(program: &'a Program, sources: &'a Sources, view: &'a View) -> Host<'a> {
        Host {
            program,
            sources,
            class_types: BTreeMap::new(),
            text_depth: 0,
            view,
            root: 0,
            memory: BTreeMap::new(),
            types: BTreeMap::new(),
            symbols: vec![],
            buffers: vec![],
            events: vec![],
            contents: vec![],
            decided: BTreeSet::new(),
            steps: 0,
            computed: 0,
            depth: 0,
            nested: 0,
            names: BTreeMap::new(),
            frames: 0,
            arms: vec![],
            left: vec![],
            conditions: 0,
            cut: None,
        }
    }

    /// Walks one function; what it is given is made up under the names of its parameters.
    pub fn run(&mut self, at: FunctionRef) {
        let f = self.program.function(at);
        self.root = at.unit;
        let frame = self.frame(at.unit, f);
        for p in &f.params {
            let value = self.given(f.var(*p));
            let key = self.key(&frame, *p);
            self.types.insert(key.clone(), f.var(*p).ty.clone());
            self.memory.insert(key, value);
        }
        self.block(&frame, &f.body);
        self.arms.clear();
        self.left.clear();
    }

    /// Whether an event writes all of its buffer. Contents from the host without a known size count as all.
    pub fn covers(&self, e: &Event) -> bool {
        let Some((buffer, offset, bytes)) = e.writes() else { return false };
        let whole = self.buffers.get(buffer).and_then(|b| b.bytes.as_ref());
        let size = match (bytes, whole) {
            (Some(n), Some(all)) => super::value::same_size(n, all),
            (Some(_) | None, _) => matches!(e, Event::ToDevice { .. }),
        };
        size && offset.constant() == Some(0)
    }

    /// Scalar and lanes of what a type of a unit consists of.
    pub(super) fn element_of(&self, unit: u32, ty: &Type) -> Option<(Scalar, u8)> {
        super::cuda::element(ty).or_else(|| {
            let units = self.view.units(self.root, unit);
            self.view.layout(self.program, &units, ty).and_then(|l| l.element)
        })
    }

    /// The bytes that an event writes, where both ends are known.
    pub fn range(&self, e: &Event) -> Option<super::value::Range> {
        let (_, offset, bytes) = e.writes()?;
        let end = super::value::combine(crate::contract::Op::Add, offset.clone(), bytes?.clone());
        Some(super::value::Range { from: offset.clone(), to: end })
    }

    fn given(&mut self, var: &Var) -> Val {
        match &var.ty {
            Type::Scalar(s) if s.is_integer() => {
                Val::Int(Expr::name(self.symbol(&var.name, None, var.name_span, true)))
            }
            Type::Pointer(p) if matches!(p.ty, Type::Pointer(_)) => Val::unknown("it points to a pointer"),
            Type::Pointer(p) => {
                let element = self.element_of(self.root, &p.ty);
                self.buffers.push(Buffer {
                    name: var.name.clone(),
                    element,
                    bytes: None,
                    why_unknown: format!("`{}` comes from the caller", var.name),
                    is_managed: false,
                    is_given: true,
                    depth: 0,
                });
                Val::Device { buffer: self.buffers.len() - 1, bytes: Expr::Int(0) }
            }
            _ => Val::unknown(format!("`{}` comes from the caller", var.name)),
        }
    }

    pub(super) fn frame(&mut self, unit: u32, f: &'a Function) -> Frame<'a> {
        self.frames += 1;
        Frame { unit, f, id: self.frames, types: self.class_types.clone(), this: None }
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

    pub(super) fn declare(&mut self, frame: &Frame<'a>, var: VarId, init: Option<ExprId>) {
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
        let value = match (&v.ty, init) {
            (Type::Array { .. }, Some(e)) => self.elements(frame, e, &key).unwrap_or(value),
            (Type::Named(n), Some(e))
                if n.contains("vector<") && !n.contains("device_vector<") && is_list(frame.f, e) =>
            {
                self.elements(frame, e, &key).unwrap_or(value)
            }
            _ => value,
        };
        self.bind(frame, var, key, value);
    }

    /// The elements of an array with an initialiser, each at its place.
    fn elements(&mut self, frame: &Frame<'a>, e: ExprId, key: &str) -> Option<Val> {
        let (ExprKind::InitList(items) | ExprKind::Construct { args: items, .. }) = frame.f.kind_of(e) else {
            return None;
        };
        for (i, item) in items.iter().enumerate() {
            let value = self.eval(frame, *item);
            self.memory.insert(format!("{key}[{i}]"), value);
        }
        Some(Val::Host(i64::try_from(items.len()).ok().map(Expr::Int)))
    }

    /// The value of an initialiser; members of an object are copied with it.
    fn initial(&mut self, frame: &Frame<'a>, ty: &Type, e: ExprId, key: &str) -> Val {
        if let Type::Named(n) = ty
            && n.contains("device_vector<")
        {
            return self.device_vector(frame, n, e, key);
        }
        if self.construct_at(frame, ty, e, key) {
            return Val::unknown("an object");
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
        let element = super::arith::type_named(inner).as_ref().and_then(super::cuda::element);
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
            depth: self.nested,
        });
        let buffer = self.buffers.len() - 1;
        // A vector that is made of a count is filled with zeros.
        if !from_host && filled.is_none_or(|v| v == 0) {
            self.events.push(Event::Fill { buffer, offset: Expr::Int(0), byte: Some(0), bytes, span });
        } else {
            self.events.push(Event::ToDevice { buffer, offset: Expr::Int(0), bytes: None, span });
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
        // Memory that a function made for its caller is known by the caller's name.
        if let Val::Device { buffer, bytes: Expr::Int(0) } = &value
            && let Some(b) = self.buffers.get_mut(*buffer)
            && b.depth > self.nested
        {
            b.depth = self.nested;
            b.name = v.name.clone();
        }
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
            Val::Int(e) if integer && !counts && !self.view.template_words.contains(name) => match e {
                Expr::Int(v) if v > 1 => Val::Int(Expr::name(self.symbol(name, Some(v), span, false))),
                other => Val::Int(other),
            },
            other => other,
        }
    }
}

/// `{ 128, 256 }`
fn is_list(f: &Function, e: ExprId) -> bool {
    matches!(f.kind_of(e), ExprKind::InitList(_))
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
        (Type::Scalar(s), Val::Approx(_)) if !s.is_float() => Val::unknown("floating point"),
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
