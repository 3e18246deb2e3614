//! The CUDA runtime as host code calls it, and launches.

use super::arith::type_named;
use super::host::{Frame, Host};
use super::value::{Buffer, Event, Launched, Val};
use crate::contract::Expr;
use crate::ir::*;
use crate::source::Span;

/// Multiprocessors of an A100 (NVIDIA A100 Tensor Core GPU Architecture, table 1): a program has to do with any number.
const MULTIPROCESSORS: i64 = 108;

impl<'a> Host<'a> {
    /// The CUDA runtime; `None` where the name is none of it.
    pub(super) fn runtime(
        &mut self,
        frame: &Frame<'a>,
        name: &str,
        v: &[Val],
        args: &[ExprId],
        span: Span,
    ) -> Option<Val> {
        let done = Val::int(0);
        match name {
            "cudaMalloc" | "cudaMallocManaged" | "cudaMallocAsync" => {
                self.allocate(v, name == "cudaMallocManaged");
                return Some(done);
            }
            "cudaMallocHost" | "cudaHostAlloc" => {
                // Memory of the host that the device may reach, too.
                self.allocate(v, true);
                return Some(done);
            }
            "cudaHostGetDevicePointer" => {
                if let (Some(Val::Ref(p)), Some(from)) = (v.first(), v.get(1)) {
                    self.memory.insert(p.clone(), from.clone());
                }
                return Some(done);
            }
            "cudaMemset" | "cudaMemsetAsync" => {
                if let Some(Val::Device { buffer, bytes: offset }) = v.first() {
                    let byte = v.get(1).and_then(Val::as_int).and_then(|e| self.sampled(&e)).map(|b| b as u8);
                    let bytes = v.get(2).and_then(Val::as_int);
                    self.events.push(Event::Fill { buffer: *buffer, offset: offset.clone(), byte, bytes, span });
                }
                return Some(done);
            }
            "cudaMemcpy" | "cudaMemcpyAsync" => {
                self.copy(frame, v, args, span);
                return Some(done);
            }
            "cudaMemcpyToSymbol" | "cudaMemcpyToSymbolAsync" => {
                let named = |e: ExprId| match frame.f.kind_of(e) {
                    ExprKind::Name(n) => Some(query::base_name(n).to_owned()),
                    ExprKind::Var(v) => Some(frame.f.var(*v).name.clone()),
                    _ => None,
                };
                let name = args.first().and_then(|a| frame.f.walk(*a).into_iter().find_map(named));
                self.events.push(Event::ToSymbol { name: name.unwrap_or_else(|| "?".into()), span });
                return Some(done);
            }
            "cudaGetDeviceProperties" | "cudaGetDeviceProperties_v2" => {
                if let Some(Val::Ref(p)) = v.first() {
                    self.properties(&p.clone());
                }
                return Some(done);
            }
            "cudaDeviceGetAttribute" => {
                let of_device = args.get(1).is_some_and(|a| {
                    matches!(frame.f.kind_of(*a), ExprKind::Name(n) if n.ends_with("cudaDevAttrMultiProcessorCount"))
                });
                if let Some(Val::Ref(p)) = v.first() {
                    let value = if of_device {
                        Val::Input(Some(MULTIPROCESSORS))
                    } else {
                        Val::unknown(format!("`{name}` sets it"))
                    };
                    self.memory.insert(p.clone(), value);
                }
                return Some(done);
            }
            "cudaMemPrefetchAsync"
            | "cudaMemAdvise"
            | "cudaFree"
            | "cudaFreeHost"
            | "cudaFreeAsync"
            | "cudaDeviceSynchronize"
            | "cudaGetLastError"
            | "cudaPeekAtLastError"
            | "cudaStreamSynchronize"
            | "cudaThreadSynchronize"
            | "cudaDeviceReset"
            | "cudaSetDevice"
            | "cudaFuncSetAttribute"
            | "cudaFuncSetCacheConfig" => {}
            _ if name.starts_with("cuda") && name.chars().nth(4).is_some_and(char::is_uppercase) => {
                for r in v {
                    if let Val::Ref(p) = r {
                        self.memory.insert(p.clone(), Val::unknown(format!("`{name}` sets it")));
                    }
                }
            }
            "swap" if v.len() == 2 => {
                let (a, b) = (self.place(frame, *args.first()?)?, self.place(frame, *args.get(1)?)?);
                self.memory.insert(a, v.get(1)?.clone());
                self.memory.insert(b, v.first()?.clone());
                return Some(Val::Null);
            }
            _ => return None,
        }
        Some(done)
    }

    /// What is the same on every device that kopt knows, and how many multiprocessors one of them has.
    fn properties(&mut self, place: &str) {
        let all = [("maxThreadsPerBlock", 1024), ("warpSize", 32), ("sharedMemPerBlock", 48 << 10)];
        for (name, value) in all {
            self.memory.insert(format!("{place}.{name}"), Val::int(value));
        }
        self.memory.insert(format!("{place}.multiProcessorCount"), Val::Input(Some(MULTIPROCESSORS)));
    }

    fn allocate(&mut self, v: &[Val], is_managed: bool) {
        let Some(Val::Ref(place)) = v.first() else { return };
        let ty = self.types.get(place).cloned();
        let element = ty.as_ref().and_then(Type::element).and_then(|t| self.element_of(self.root, t));
        let (bytes, why_unknown) = match v.get(1) {
            Some(Val::Unknown(why)) => (None, why.clone()),
            Some(v) => (v.as_int(), "its size is not an integer".to_owned()),
            None => (None, "no size is given".to_owned()),
        };
        let name = self.place_name(place);
        self.buffers.push(Buffer {
            name,
            element,
            bytes,
            why_unknown,
            is_managed,
            is_given: false,
            depth: self.nested,
        });
        self.memory.insert(place.clone(), Val::Device { buffer: self.buffers.len() - 1, bytes: Expr::Int(0) });
    }

    /// The name of the variable or member that a place is.
    fn place_name(&self, place: &str) -> String {
        let tail = place.rsplit('.').next().filter(|t| *t != place);
        let own = tail.map(str::to_owned).or_else(|| self.names.get(place.split('[').next().unwrap_or(place)).cloned());
        let name = own.unwrap_or_else(|| place.trim_start_matches("g:").to_owned());
        let nth = place.split('[').nth(1).map(|i| i.trim_end_matches(']').to_owned()).filter(|_| !name.contains('['));
        let name = match nth {
            Some(i) => format!("{name}_{i}"),
            None => name,
        };
        name.replace(['[', ']', ':'], "_")
    }

    fn copy(&mut self, frame: &Frame<'a>, v: &[Val], args: &[ExprId], span: Span) {
        let kind = args.get(3).map_or("", |a| match frame.f.kind_of(*a) {
            ExprKind::Name(n) => n.as_str(),
            _ => "",
        });
        let (to, from) = (v.first(), v.get(1));
        if let (Some(Val::Device { buffer, .. }), Some(e), false) = (to, args.get(1), kind.ends_with("DeviceToHost")) {
            self.contents.push((*buffer, frame.unit, frame.f.id, *e));
        }
        match (to, from) {
            // Pinned memory of the host looks like memory of the device: the direction tells.
            (Some(Val::Device { buffer, bytes: offset }), _) if kind.ends_with("HostToDevice") => {
                let (buffer, offset, bytes) = (*buffer, offset.clone(), v.get(2).and_then(Val::as_int));
                self.events.push(Event::ToDevice { buffer, offset, bytes, span });
            }
            (_, Some(Val::Device { buffer, .. })) if kind.ends_with("DeviceToHost") => {
                self.events.push(Event::ToHost { buffer: *buffer });
            }
            (Some(Val::Device { buffer: to, bytes: t }), Some(Val::Device { buffer: from, bytes: f })) => {
                let bytes = v.get(2).and_then(Val::as_int);
                self.events.push(Event::Copy { from: (*from, f.clone()), to: (*to, t.clone()), bytes, span });
            }
            (Some(Val::Device { buffer, bytes: offset }), _) if !kind.ends_with("DeviceToHost") => {
                let (buffer, offset, bytes) = (*buffer, offset.clone(), v.get(2).and_then(Val::as_int));
                self.events.push(Event::ToDevice { buffer, offset, bytes, span });
            }
            (_, Some(Val::Device { buffer, .. })) if !kind.ends_with("HostToDevice") => {
                self.events.push(Event::ToHost { buffer: *buffer });
            }
            _ => {}
        }
    }

    pub(super) fn launch(&mut self, frame: &Frame<'a>, index: u32) {
        let Some(l) = self.program.unit(frame.unit).launches.get(index as usize) else { return };
        let shape = |host: &mut Self, e: Option<ExprId>| {
            let Some(e) = e else { return Err("it is not written".to_owned()) };
            match host.eval(frame, e) {
                Val::Dim3(d) => Ok(d),
                Val::Unknown(why) => Err(why),
                v => v.as_int().map(|e| [e, Expr::Int(1), Expr::Int(1)]).ok_or_else(|| "it is not known".to_owned()),
            }
        };
        let grid = shape(self, l.grid);
        let block = shape(self, l.block);
        let shared = match l.shared {
            None => Ok(Expr::Int(0)),
            Some(e) => match self.eval(frame, e) {
                Val::Unknown(why) => Err(why),
                Val::Null => Ok(Expr::Int(0)),
                v => v.as_int().ok_or_else(|| "it is not known".to_owned()),
            },
        };
        let args = l.args.iter().map(|a| self.eval(frame, *a)).collect();
        let template = l.template_args.iter().map(|t| self.template_argument(frame, t)).collect();
        self.events.push(Event::Launch(Box::new(Launched {
            at: (frame.unit, index),
            kernel: l.callee.clone(),
            template,
            grid,
            block,
            shared,
            args,
            span: l.span,
            arms: self.arms.clone(),
            left: self.left.iter().map(|(way, _)| way.clone()).collect(),
            cut: self.cut.clone(),
        })));
    }

    /// A template argument as it is outside of the function that launches.
    fn template_argument(&self, frame: &Frame, text: &str) -> String {
        let text = text.trim();
        if let Some(t) = frame.types.get(text) {
            return t.clone();
        }
        let local = frame.f.vars.iter().position(|v| v.name == text).map(|i| self.key(frame, VarId(i as u32)));
        let value = local.and_then(|k| self.memory.get(&k)).and_then(Val::as_int).and_then(|e| self.sampled(&e));
        value.map_or_else(|| text.to_owned(), |v| v.to_string())
    }
}

/// Scalar and lanes of what a pointer points to.
pub(super) fn element(ty: &Type) -> Option<(Scalar, u8)> {
    match ty {
        Type::Scalar(s) => Some((*s, 1)),
        Type::Vector { elem, lanes } => Some((*elem, *lanes)),
        Type::Named(n) => type_named(n).as_ref().and_then(|t| if let Type::Named(_) = t { None } else { element(t) }),
        _ => None,
    }
}
