//! Calls on the host: functions, methods and lambdas of the program, macros, and the standard library.

use super::arith::{select, type_named};
use super::cuda::element;
use super::host::{Flow, Frame, Host, Left, MAX_DEPTH, last};
use super::value::{Buffer, Val, ceil_div, combine};
use crate::contract::{Expr, Op};
use crate::ir::*;

impl<'a> Host<'a> {
    pub(super) fn call(
        &mut self,
        frame: &Frame<'a>,
        e: ExprId,
        callee: &str,
        receiver: Option<ExprId>,
        template: &[String],
        args: &[ExprId],
    ) -> Val {
        let span = frame.f.expr(e).span;
        if let Some(object) = receiver {
            return self.method(frame, object, callee, template, args);
        }
        // A method of the same object.
        if let Some(this) = frame.this.clone()
            && let Some(class) = frame.f.class.as_deref()
            && let Some((unit, f)) = self.method_of(frame.unit, Some(class), query::base_name(callee), args.len())
        {
            let values: Vec<Val> = args.iter().map(|a| self.eval(frame, *a)).collect();
            return self.enter(frame, unit, f, values, template, args, Some(this));
        }
        let name = query::base_name(callee).to_owned();
        let values: Vec<Val> = args.iter().map(|a| self.eval(frame, *a)).collect();
        if let Some(v) = self.runtime(frame, &name, &values, args, span) {
            return v;
        }
        if let Some(v) = self.library(&name, &values) {
            return v;
        }
        // A lambda in a variable.
        let lambda = frame.f.vars.iter().position(|v| v.name == name).map(|i| self.key(frame, VarId(i as u32)));
        if let Some(v @ Val::Lambda(..)) = lambda.and_then(|k| self.memory.get(&k).cloned()) {
            return self.call_lambda(v, values);
        }
        if let Some(v) = self.expand(frame, &name, &values) {
            return v;
        }
        if let Some((unit, f)) = self.definition(frame.unit, &name, args.len()) {
            return self.enter(frame, unit, f, values, template, args, None);
        }
        // Something from outside may write what it is given the address of.
        for v in &values {
            if let Val::Ref(p) = v {
                self.memory.insert(p.clone(), Val::unknown(format!("`{name}` sets it")));
            }
        }
        Val::unknown(format!("the result of `{name}`"))
    }

    /// Runs a function of the program. `this` is the place of the object of a method.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn enter(
        &mut self,
        caller: &Frame<'a>,
        unit: u32,
        f: &'a Function,
        values: Vec<Val>,
        template: &[String],
        args: &[ExprId],
        this: Option<String>,
    ) -> Val {
        let nested = self.frames_deep();
        if nested >= MAX_DEPTH {
            return Val::unknown(format!("`{}` is nested too deeply", f.name));
        }
        let mut frame = self.frame(unit, f);
        frame.this = this;
        if frame.this.is_some() && f.name == caller.f.name && f.class == caller.f.class {
            frame.types = caller.types.clone();
        }
        for (p, t) in f.template.iter().zip(template) {
            frame
                .types
                .insert(p.name.clone(), caller.types.get(t.trim()).cloned().unwrap_or_else(|| t.trim().to_owned()));
        }
        for (i, p) in f.params.iter().enumerate() {
            let var = f.var(*p);
            let key = self.key(&frame, *p);
            let by_reference = matches!(var.ty, Type::Reference(_));
            let place = args.get(i).filter(|_| by_reference).and_then(|a| self.place(caller, *a));
            let value = match (place, values.get(i)) {
                (Some(p), _) => Val::Ref(p),
                (None, Some(v)) => v.clone(),
                (None, None) => var.init.map_or(Val::unknown("no value is given"), |e| self.eval(&frame, e)),
            };
            // What is passed by value keeps its members.
            if let Some(from) = args.get(i).filter(|_| !by_reference).and_then(|a| self.place(caller, *a)) {
                let copies: Vec<(String, Val)> = self
                    .memory
                    .range(from.clone()..)
                    .take_while(|(k, _)| k.starts_with(&from))
                    .filter_map(|(k, v)| Some((k.strip_prefix(&from)?.to_owned(), v.clone())))
                    .filter(|(rest, _)| rest.starts_with(['.', '[']))
                    .collect();
                self.memory.extend(copies.into_iter().map(|(rest, v)| (format!("{key}{rest}"), v)));
            }
            self.types.insert(key.clone(), var.ty.clone());
            let given = args.get(i).map(|a| caller.f.expr(*a).ty.clone());
            self.infer_template(&mut frame, &var.ty, &value, given.as_ref());
            self.memory.insert(key, value);
        }
        self.member_initialisers(&frame);
        let flow = self.within(&frame, f);
        match flow {
            Flow::Return(v) => v,
            _ => Val::Null,
        }
    }

    /// Runs the body of a function. What stands behind the call is of every run that comes back.
    fn within(&mut self, frame: &Frame<'a>, f: &'a Function) -> Flow {
        self.nesting(1);
        let (arms, left) = (self.arms.len(), self.left.len());
        let flow = self.block(frame, &f.body);
        self.come_back(arms, left, Left::Function);
        self.nesting(-1);
        flow
    }

    fn frames_deep(&self) -> u32 {
        self.nested
    }

    fn nesting(&mut self, by: i32) {
        self.nested = self.nested.saturating_add_signed(by);
    }

    /// The type parameter that a pointer argument settles.
    fn infer_template(&self, frame: &mut Frame, ty: &Type, value: &Val, given: Option<&Type>) {
        let mut at = ty;
        while let Type::Pointer(p) | Type::Reference(p) = at {
            at = &p.ty;
        }
        let Type::Param(name) = at else { return };
        let element = match value {
            Val::Ref(place) => self.types.get(place).and_then(Type::element).and_then(element),
            Val::Device { buffer, .. } => self.buffers.get(*buffer).and_then(|b| b.element),
            _ => None,
        };
        let element = element.or_else(|| {
            let mut at = given?;
            while let Type::Pointer(p) | Type::Reference(p) = at {
                at = &p.ty;
            }
            super::cuda::element(at)
        });
        if let Some((s, 1)) = element {
            frame.types.entry(name.clone()).or_insert_with(|| s.name().to_owned());
        }
    }

    pub(super) fn call_lambda(&mut self, target: Val, values: Vec<Val>) -> Val {
        let Val::Lambda(unit, id) = target else { return Val::unknown("a call through a value") };
        let Some(f) = self.program.units.get(unit as usize).and_then(|u| u.functions.get(id.0 as usize)) else {
            return Val::unknown("a lambda");
        };
        if self.nested >= MAX_DEPTH {
            return Val::unknown("nested too deeply");
        }
        let frame = self.frame(unit, f);
        for (p, v) in f.params.iter().zip(values) {
            let key = self.key(&frame, *p);
            self.memory.insert(key, v);
        }
        let flow = self.within(&frame, f);
        if let Flow::Return(v) = flow { v } else { Val::Null }
    }

    /// A function-like macro whose body is an expression over its parameters and constants.
    fn expand(&mut self, frame: &Frame<'a>, name: &str, values: &[Val]) -> Option<Val> {
        let units = self.view.units(self.root, frame.unit);
        let (params, body) = self.view.function_macro(&units, name)?;
        if params.len() != values.len() {
            return None;
        }
        let ints: Vec<Expr> = values.iter().map(Val::as_int).collect::<Option<_>>()?;
        let known: Vec<(String, Expr)> = params.iter().cloned().zip(ints).collect();
        self.text(frame, body, &known)
    }

    fn library(&mut self, name: &str, v: &[Val]) -> Option<Val> {
        let int = |i: usize| v.get(i).and_then(Val::as_int);
        Some(match name {
            "min" | "max" | "fmin" | "fmax" => match (int(0), int(1)) {
                (Some(a), Some(b)) => {
                    Val::Int(Expr::binary(if name.ends_with("min") { Op::Min } else { Op::Max }, a, b).folded())
                }
                _ => Val::unknown("a minimum or maximum of values that are not known"),
            },
            "ceil" | "ceilf" => match v.first()? {
                Val::Ratio(a, b) => Val::Ratio(ceil_div(a.clone(), b.clone()), Expr::Int(1)),
                Val::Float(x) => Val::Float(x.ceil()),
                Val::Int(e) => Val::Int(e.clone()),
                _ => Val::unknown("floating point"),
            },
            "exp" | "expf" | "log" | "logf" | "sin" | "sinf" | "cos" | "cosf" | "tan" | "tanf" | "atan" | "atanf" => {
                let f: fn(f64) -> f64 = match name.trim_end_matches('f') {
                    "exp" => f64::exp,
                    "log" => f64::ln,
                    "sin" => f64::sin,
                    "cos" => f64::cos,
                    "tan" => f64::tan,
                    _ => f64::atan,
                };
                match v.first()? {
                    Val::Float(x) => Val::Float(f(*x)),
                    v => self.approximately(v).map_or(Val::unknown("floating point"), |x| Val::Approx(f(x))),
                }
            }
            "floor" | "floorf" => v.first()?.as_int().map_or(Val::unknown("floating point"), Val::Int),
            "sqrt" | "sqrtf" => match v.first()? {
                Val::Float(x) => Val::Float(x.sqrt()),
                Val::Int(Expr::Int(x)) => Val::Float((*x as f64).sqrt()),
                v => self.approximately(v).map_or(Val::unknown("a square root"), |x| Val::Approx(x.sqrt())),
            },
            "pow" | "powf" => match (int(0).and_then(|e| e.constant()), int(1).and_then(|e| e.constant())) {
                (Some(a), Some(b @ 0..=62)) => a.checked_pow(b as u32).map_or(Val::unknown("a power"), Val::int),
                _ => Val::unknown("a power"),
            },
            "abs" | "labs" => int(0).map_or(Val::unknown("not modelled"), Val::Int),
            "log2" | "log2f" => match int(0).and_then(|e| self.sampled(&e)) {
                Some(x) if x > 0 && x & (x - 1) == 0 => Val::Float(f64::from(x.trailing_zeros())),
                _ => Val::unknown("a logarithm"),
            },
            "atoi"
            | "atol"
            | "atoll"
            | "strtol"
            | "stoi"
            | "stol"
            | "stoul"
            | "strtoul"
            | "strtoull"
            | "stoull"
            | "getCmdLineArgumentInt" => Val::Input(None),
            "malloc" | "calloc" | "aligned_alloc" | "_mm_malloc" => Val::Host(None),
            "dim3" => {
                let at = |i: usize| if v.len() > i { int(i) } else { Some(Expr::Int(1)) };
                match (at(0), at(1), at(2)) {
                    (Some(x), Some(y), Some(z)) => Val::Dim3([x, y, z]),
                    _ => first_reason(v),
                }
            }
            "ceil_div" | "ceildiv" | "div_up" | "divup" | "cdiv" | "CeilDiv" | "DivUp" if v.len() == 2 => {
                match (int(0), int(1)) {
                    (Some(a), Some(b)) => Val::Int(ceil_div(a, b)),
                    _ => return None,
                }
            }
            "swap" => {
                return None;
            }
            "move" | "forward" | "as_const" => v.first()?.clone(),
            "printf" | "fprintf" | "free" | "puts" | "assert" | "srand" => Val::Null,
            "raw_pointer_cast" => v.first()?.clone(),
            "sizeof" => return None,
            _ => return None,
        })
    }

    fn method(&mut self, frame: &Frame<'a>, object: ExprId, callee: &str, template: &[String], args: &[ExprId]) -> Val {
        let name = callee.rsplit(['.', '>', ':']).next().unwrap_or(callee);
        let value = self.eval(frame, object);
        let values: Vec<Val> = args.iter().map(|a| self.eval(frame, *a)).collect();
        match (name, value) {
            ("data" | "begin" | "get" | "c_str", v @ (Val::Host(_) | Val::Device { .. })) => v,
            ("size" | "length" | "count", Val::Host(Some(n))) => Val::Int(n),
            ("resize" | "reserve" | "assign", Val::Host(_)) => {
                if let Some(p) = self.place(frame, object) {
                    self.memory.insert(p, Val::Host(values.first().and_then(Val::as_int)));
                }
                Val::Null
            }
            ("data_ptr" | "data" | "const_data_ptr" | "mutable_data_ptr", Val::Unknown(_)) => {
                self.tensor(frame, object, template)
            }
            ("size" | "numel" | "dim" | "stride", Val::Unknown(_)) if self.is_tensor(frame, object) => Val::Input(None),
            (_, value) => {
                let object = match value {
                    Val::Ref(p) => Some(p),
                    _ => self.place(frame, object),
                };
                let own = object.and_then(|o| Some((o, self.method_of(frame.unit, None, name, args.len())?)));
                match own {
                    Some((this, (unit, f))) => self.enter(frame, unit, f, values, template, args, Some(this)),
                    None => Val::unknown(format!("the result of `{name}`")),
                }
            }
        }
    }

    fn is_tensor(&self, frame: &Frame, object: ExprId) -> bool {
        let mut ty = &frame.f.expr(object).ty;
        if let Type::Reference(p) = ty {
            ty = &p.ty;
        }
        matches!(ty, Type::Named(n) if last(n) == "Tensor")
    }

    /// Device memory behind a tensor of a framework.
    fn tensor(&mut self, frame: &Frame<'a>, object: ExprId, template: &[String]) -> Val {
        let Some(place) = self.place(frame, object).map(|p| format!("{p}.data")) else {
            return Val::unknown("a tensor");
        };
        if let Some(v) = self.memory.get(&place) {
            return v.clone();
        }
        let name = match frame.f.kind_of(object) {
            ExprKind::Var(v) => frame.f.var(*v).name.clone(),
            _ => "tensor".into(),
        };
        let element = template.first().and_then(|t| type_named(t)).as_ref().and_then(element);
        let why = format!("`{name}` comes from the caller");
        self.buffers.push(Buffer {
            name,
            element,
            bytes: None,
            why_unknown: why,
            is_managed: false,
            is_given: true,
            depth: 0,
        });
        let v = Val::Device { buffer: self.buffers.len() - 1, bytes: Expr::Int(0) };
        self.memory.insert(place, v.clone());
        v
    }
}

fn first_reason(v: &[Val]) -> Val {
    let why = v.iter().find_map(|v| if let Val::Unknown(w) = v { Some(w.clone()) } else { None });
    Val::Unknown(why.unwrap_or_else(|| "a size that is not known".into()))
}

/// An expression built again with simplifications, names replaced.
pub(super) fn rebuild(e: &Expr, with: &dyn Fn(&str) -> Option<Expr>) -> Expr {
    match e {
        Expr::Binary(op, a, b) => combine(*op, rebuild(a, with), rebuild(b, with)),
        Expr::Select(c, a, b) => match select(rebuild(c, with), rebuild(a, with), rebuild(b, with)) {
            Val::Int(e) => e,
            _ => e.clone(),
        },
        other => other.substitute(with),
    }
}
