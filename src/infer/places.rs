//! Places of host code, what stands there, and addresses of them.

use super::host::{Frame, Host, last};
use super::value::{Val, combine};
use crate::contract::{Expr, Op};
use crate::ir::*;

impl<'a> Host<'a> {
    /// The place that an lvalue names.
    pub(super) fn place(&mut self, frame: &Frame<'a>, e: ExprId) -> Option<String> {
        let f = frame.f;
        match f.kind_of(e) {
            ExprKind::Var(v) => {
                let key = self.var_key(frame, *v);
                match self.memory.get(&key) {
                    Some(Val::Ref(p)) if matches!(f.var(*v).ty, Type::Reference(_)) => Some(p.clone()),
                    _ => Some(key),
                }
            }
            ExprKind::Name(n) => Some(self.member(frame, n).unwrap_or_else(|| format!("g:{}", last(n)))),
            ExprKind::This => Some(frame.this.clone().unwrap_or_else(|| "this".into())),
            ExprKind::Member { base, name, arrow } => {
                let base = match (arrow, f.kind_of(*base)) {
                    (_, ExprKind::This) => frame.this.clone().unwrap_or_else(|| "this".into()),
                    (false, _) => self.place(frame, *base)?,
                    (true, _) => match self.eval(frame, *base) {
                        Val::Ref(p) => p,
                        _ => self.place(frame, *base)?,
                    },
                };
                Some(format!("{base}.{name}"))
            }
            ExprKind::Index { base, index } => {
                let nth = self.eval(frame, *index).as_int().and_then(|e| self.sampled(&e))?;
                let base = match self.eval(frame, *base) {
                    Val::Ref(p) => p,
                    _ => self.place(frame, *base)?,
                };
                Some(format!("{base}[{nth}]"))
            }
            ExprKind::Deref(inner) => match self.eval(frame, *inner) {
                Val::Ref(p) => Some(p),
                _ => None,
            },
            ExprKind::Cast { operand, .. } => self.place(frame, *operand),
            _ => None,
        }
    }

    /// The place of a member that a method names without its object.
    fn member(&self, frame: &Frame, name: &str) -> Option<String> {
        let this = frame.this.as_ref()?;
        let place = format!("{this}.{name}");
        let units = &self.program.units;
        let of_file = units
            .iter()
            .any(|u| u.globals.iter().any(|g| g.name == name) || u.constants.iter().any(|(n, ..)| n == name));
        (self.memory.contains_key(&place) || !of_file).then_some(place)
    }

    /// A captured variable is that of the function around the lambda.
    fn var_key(&self, frame: &Frame, v: VarId) -> String {
        let var = frame.f.var(v);
        if matches!(var.kind, VarKind::Global | VarKind::Constant | VarKind::Unresolved) {
            return self.member(frame, &var.name).unwrap_or_else(|| format!("g:{}", var.name));
        }
        if var.kind == VarKind::Captured
            && let Some(parent) = frame.f.parent.and_then(|p| self.program.unit(frame.unit).functions.get(p.0 as usize))
        {
            let index = parent.vars.iter().position(|w| w.name == var.name && w.kind != VarKind::Captured);
            let known = index.and_then(|i| {
                let suffix = format!(":{i}");
                let frames = self.memory.keys().filter(|k| k.ends_with(&suffix));
                frames
                    .filter_map(|k| Some((k.split(':').next()?.parse::<u32>().ok()?, k)))
                    .filter(|(n, _)| *n < frame.id)
                    .max()
            });
            if let Some((_, key)) = known {
                return key.clone();
            }
        }
        self.key(frame, v)
    }

    /// The value at a place.
    pub(super) fn load(&mut self, frame: &Frame<'a>, e: ExprId) -> Val {
        let f = frame.f;
        if let ExprKind::Member { base, name, .. } = f.kind_of(e) {
            let axis = ["x", "y", "z"].iter().position(|a| a == name);
            if let (Some(axis), Val::Dim3(d)) = (axis, self.eval(frame, *base)) {
                return d.get(axis).cloned().map_or(Val::Null, Val::Int);
            }
        }
        if let ExprKind::Index { base, .. } | ExprKind::Deref(base) = f.kind_of(e)
            && let v @ (Val::Device { .. } | Val::Host(_)) = self.eval(frame, *base)
        {
            let constant = self.place(frame, e).and_then(|p| self.memory.get(&p).cloned());
            let from = if matches!(v, Val::Host(_)) { "host memory" } else { "device memory" };
            let input = matches!(f.expr(*base).ty.element(), Some(Type::Pointer(_))) && is_argv(f, *base);
            return constant.unwrap_or(if input {
                Val::Input(None)
            } else {
                Val::unknown(format!("it is read from {from}"))
            });
        }
        if let Some(f) = self.function_value(frame, e) {
            return f;
        }
        let Some(place) = self.place(frame, e) else { return Val::unknown("it is reached through a pointer") };
        if let Some(v) = self.memory.get(&place) {
            return v.clone();
        }
        match f.kind_of(e) {
            ExprKind::Name(n) => self.global(frame, n),
            ExprKind::Var(v) => {
                let var = f.var(*v);
                if matches!(var.kind, VarKind::Global | VarKind::Constant | VarKind::Unresolved) {
                    return self.global(frame, &var.name.clone());
                }
                Val::unknown(format!("`{}` is not known", var.name))
            }
            ExprKind::Index { base, .. } if is_argv(f, *base) => Val::Input(None),
            _ => Val::unknown("it is not known"),
        }
    }

    /// A function that is named without being called: it may be called later under another name.
    fn function_value(&self, frame: &Frame<'a>, e: ExprId) -> Option<Val> {
        let name = match frame.f.kind_of(e) {
            ExprKind::Name(n) => n.as_str(),
            ExprKind::Var(v) if frame.f.var(*v).kind == VarKind::Unresolved => &frame.f.var(*v).name,
            _ => return None,
        };
        self.named_function(frame.unit, query::base_name(name)).map(|(unit, f)| Val::Lambda(unit, f.id))
    }

    /// A constant or a variable of file scope.
    pub(super) fn global(&mut self, frame: &Frame<'a>, name: &str) -> Val {
        let short = last(name);
        let varies = !self.view.device_words.contains(short);
        let units = self.view.units(self.root, frame.unit);
        for u in units.iter().copied() {
            let unit = self.program.unit(u);
            let mut constants = unit.constants.iter().filter(|(n, ..)| n == short);
            if let Some((_, v, span)) = constants.next() {
                let Ok(v) = i64::try_from(*v) else { return Val::unknown("it does not fit 64 bits") };
                if constants.any(|(_, w, _)| i128::from(v) != *w) {
                    return Val::unknown(format!("`{short}` has several definitions"));
                }
                let (span, large) = (*span, v > 1);
                return if varies && large {
                    Val::Int(Expr::name(self.symbol(short, Some(v), span, false)))
                } else {
                    Val::int(v)
                };
            }
            let Some(g) = unit.globals.iter().find(|g| g.name == short) else { continue };
            let number = g.value.and_then(|v| i64::try_from(v).ok());
            if let Some(v) = number {
                let span = g.span;
                return if varies && v > 1 {
                    Val::Int(Expr::name(self.symbol(short, Some(v), span, false)))
                } else {
                    Val::int(v)
                };
            }
            if let Some(v) = g.init.as_ref().and_then(|i| i.trim().trim_end_matches(['f', 'F']).parse::<f64>().ok()) {
                return if g.ty.scalar().is_some_and(|s| s.is_float()) {
                    Val::Float(v)
                } else {
                    Val::unknown("not modelled")
                };
            }
            if let (true, Some(init)) = (g.is_const || g.is_constexpr, g.init.clone())
                && let Some(v) = self.text(frame, &init, &[])
            {
                return v;
            }
            return Val::unknown(format!("`{short}` is a variable of the file"));
        }
        // An object-like macro whose body is no plain integer.
        if let Some(v) = self.view.object_macro(&units, short).and_then(|b| self.text(frame, b, &[])) {
            return v;
        }
        Val::unknown(format!("`{short}` is not defined in view"))
    }

    pub(super) fn store(&mut self, frame: &Frame<'a>, target: ExprId, value: Val) {
        let f = frame.f;
        // A member of a dim3.
        if let ExprKind::Member { base, name, .. } = f.kind_of(target)
            && let Some(axis) = ["x", "y", "z"].iter().position(|a| a == name)
            && let Some(place) = self.place(frame, *base)
            && let Some(Val::Dim3(d)) = self.memory.get_mut(&place)
        {
            if let (Some(slot), Some(v)) = (d.get_mut(axis), value.as_int()) {
                *slot = v;
            } else {
                self.memory.insert(place, Val::unknown("a size that is not known"));
            }
            return;
        }
        let Some(place) = self.place(frame, target) else { return };
        let whole = match f.kind_of(target) {
            ExprKind::Var(v) => Some((*v, f.var(*v).name.clone(), f.var(*v).ty.clone())),
            _ => None,
        };
        let span = f.expr(target).span;
        let value = match whole {
            Some((v, name, ty)) => self.named(frame, &name, Some(v), &ty, value, span),
            None => {
                let name = place.rsplit(['.', ':']).next().unwrap_or("size").replace(['[', ']'], "_");
                let ty = f.expr(target).ty.clone();
                let ty = if matches!(ty, Type::Unknown) { Type::Auto } else { ty };
                self.named(frame, &name, None, &ty, value, span)
            }
        };
        self.memory.insert(place, value);
    }

    pub(super) fn address(&mut self, frame: &Frame<'a>, inner: ExprId) -> Val {
        if let Some(f) = self.function_value(frame, inner) {
            return f;
        }
        if let ExprKind::Index { base, index } = frame.f.kind_of(inner) {
            let base_value = self.eval(frame, *base);
            if let Val::Device { .. } = base_value {
                let by = self.eval(frame, *index);
                return self.advance(frame, *base, base_value, by, false);
            }
            if let Val::Host(n) = base_value {
                // An array of pointers is not data.
                if !matches!(frame.f.expr(inner).ty, Type::Pointer(_)) {
                    return Val::Host(n);
                }
            }
        }
        match self.place(frame, inner) {
            Some(p) => Val::Ref(p),
            None => Val::unknown("an address"),
        }
    }

    /// A device pointer moved by elements.
    fn advance(&mut self, frame: &Frame<'a>, pointer: ExprId, value: Val, by: Val, back: bool) -> Val {
        let Val::Device { buffer, bytes } = value else { return Val::unknown("an address") };
        let ty = frame.f.expr(pointer).ty.clone();
        let width = ty.element().and_then(|t| self.size_of(frame, t));
        let own = self.buffers.get(buffer).and_then(|b| b.element).map(|(s, n)| i64::from(s.bytes()) * i64::from(n));
        let (Some(width), Some(by)) = (width.or(own), by.as_int()) else {
            return Val::unknown("an address at a distance that is not known");
        };
        let distance = combine(Op::Mul, by, Expr::Int(width));
        Val::Device { buffer, bytes: combine(if back { Op::Sub } else { Op::Add }, bytes, distance) }
    }
}

fn is_argv(f: &Function, e: ExprId) -> bool {
    matches!(f.kind_of(e), ExprKind::Var(v) if f.params.get(1) == Some(v) && f.name == "main")
}
