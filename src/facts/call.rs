//! Calls, and the launches of the host.

use super::because::Because;
use super::effects::CallEffect;
use super::eval::is_library;
use super::library::VARYING;
use super::poly::Poly;
use super::state::{EventKind, LaunchState};
use super::value::Value;
use super::walk::Walker;
use crate::ir::*;

impl Walker<'_> {
    pub(super) fn call(&mut self, id: ExprId, callee: &str, receiver: Option<ExprId>, args: &[ExprId]) -> Value {
        let expr = self.f.expr(id);
        let because = Because::at(expr.span, format!("result of `{callee}`"));
        let effect = self.scope.call_effect(id);
        let is_barrier = self.f.barriers.iter().position(|b| b.expr == id);
        if let Some(n) = is_barrier
            && self.quiet == 0
        {
            let place = self.place();
            self.out.barriers.insert(BarrierId(n as u32), place);
        }
        receiver.iter().for_each(|r| drop(self.eval(*r)));
        let values: Vec<Value> = args.iter().map(|a| self.eval(*a)).collect();
        let uniform = values.iter().all(|v| self.is_uniform(v));
        let name = callee.rsplit("::").next().unwrap_or(callee);
        match effect {
            CallEffect::Pure => {
                let own = self.scope.macros.names().is_none_or(|n| n.has_function(name));
                if let ("min" | "max", [Value::Int(a), Value::Int(b)], false) = (name, values.as_slice(), own) {
                    return self.extreme(name, a.clone(), b.clone());
                }
                if name == "dim3" {
                    return self.dim3_of(&values);
                }
                // A macro may read variables that are no arguments.
                let varies = self.scope.macros.contains(name)
                    || own
                    || VARYING.contains(&name)
                    || name.starts_with("__shfl")
                    || name.starts_with("__ballot");
                self.fresh_of_type(&expr.ty, uniform && !varies, because)
            }
            CallEffect::Reads => {
                let pointer = match values.first() {
                    Some(Value::Pointer(p)) => Some(p.clone()),
                    _ => None,
                };
                self.touch(id, pointer.as_ref(), false);
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Barrier(kind) => {
                self.event(EventKind::Barrier(kind), expr.span);
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Fence | CallEffect::Atomic => {
                self.event(if effect == CallEffect::Fence { EventKind::Fence } else { EventKind::Atomic }, expr.span);
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Unknown => {
                self.event(EventKind::Call, expr.span);
                if !is_library(name) {
                    let writes = self.scope.writes(&[id], &[]);
                    self.havoc_writes(&writes);
                }
                self.fresh_of_type(&expr.ty, false, because)
            }
            CallEffect::Anything => {
                let writes = self.scope.writes(&[id], &[]);
                self.event(EventKind::Anything, expr.span);
                self.havoc_writes(&writes);
                self.fresh_of_type(&expr.ty, false, because)
            }
        }
    }

    /// A `dim3` variable's value from its initialiser.
    pub(super) fn dim3(&mut self, value: Value, init: ExprId) -> Value {
        match value {
            Value::Dim3(..) => value,
            Value::Int(_) => self.dim3_of(&[value]),
            _ => match self.f.kind_of(init).clone() {
                ExprKind::InitList(items) => {
                    let values: Vec<Value> = items.iter().map(|e| self.requiet(*e)).collect();
                    self.dim3_of(&values)
                }
                _ => Value::Other,
            },
        }
    }

    pub(super) fn dim3_of(&mut self, values: &[Value]) -> Value {
        let mut dims = [Poly::constant(1), Poly::constant(1), Poly::constant(1)];
        let mut because = Because::nothing();
        if values.len() > 3 {
            return Value::Other;
        }
        for (slot, v) in dims.iter_mut().zip(values) {
            let Value::Int(i) = v else { return Value::Other };
            let i = self.convert(i.clone(), Scalar::U32);
            because.join(&i.because);
            *slot = i.poly;
        }
        Value::Dim3(dims, because)
    }

    pub(super) fn launch(&mut self, n: u32) -> Value {
        let Some(launch) = self.scope.unit.launches.get(n as usize) else { return Value::Other };
        let shape = |w: &mut Self, e: Option<ExprId>| {
            let v = w.eval(e?);
            let v = if let Value::Int(_) = v { w.dim3_of(&[v]) } else { v };
            match v {
                Value::Dim3(d, b) => Some((d, b)),
                _ => None,
            }
        };
        let grid = shape(self, launch.grid);
        let block = shape(self, launch.block);
        let args: Vec<Value> = launch.args.iter().map(|a| self.eval(*a)).collect();
        let mut because = Because::at(launch.span, "this launch");
        block.iter().for_each(|(_, b)| because.join(b));
        let state = LaunchState {
            block: block.map(|(d, _)| d),
            grid: grid.map(|(d, _)| d),
            args,
            known: self.known.clone(),
            because,
        };
        if self.quiet == 0 {
            self.out.launches.insert(n, state);
        }
        self.event(EventKind::Call, launch.span);
        Value::Other
    }
}
