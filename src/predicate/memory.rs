//! Accesses: element types, widths, strides, addresses, alignment.

use std::sync::Arc;

use super::value::{AddressValue, Answer, GuardCode, Number, Value};
use super::{Guard, Predicate, Query};
use crate::facts::{Atom, Because, Facts, Missing, Poly};
use crate::ir::*;
use crate::skill::vocabulary::{Keywords, Signature, Surface, SurfaceSet, ValueType};

pub(super) const ACCESS: ValueType =
    ValueType::Anchor(SurfaceSet::of(&[Surface::Access, Surface::Load, Surface::Store]));
pub(super) const LOOP: ValueType = ValueType::Anchor(SurfaceSet::of(&[Surface::Loop]));
pub(super) const ANY: ValueType = ValueType::Anchor(SurfaceSet::ANY);
const ROWS: ValueType = ValueType::Symbol(&["all rows", "first row"]);

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::*;
    vec![
        Predicate {
            name: "width",
            signature: Signature::new(vec![ANY], Bytes, "bytes of one element"),
            eval: width,
            guard: Guard::None,
            explain: "The number of bytes that the access moves, or the size of the tile's or parameter's elements.",
        },
        Predicate {
            name: "dtype",
            signature: Signature::new(vec![ANY], DType, "element type"),
            eval: dtype,
            guard: Guard::None,
            explain: "The scalar type of an access, tile, reduction or parameter; of a vector, that of its lanes.",
        },
        Predicate {
            name: "vector_type_exists",
            signature: Signature::new(vec![DType, Int], Bool, "a built-in vector type of that many lanes exists"),
            eval: vector_type_exists,
            guard: Guard::None,
            explain: "Whether CUDA has a type for so many lanes of at most 16 bytes, such as float4 or half2.",
        },
        Predicate {
            name: "is_scalar",
            signature: Signature::new(vec![ACCESS], Bool, "plain access of one scalar element"),
            eval: is_scalar,
            guard: Guard::None,
            explain: "The access is not volatile, goes through no cast, names no member and moves one scalar.",
        },
        Predicate {
            name: "stride",
            signature: Signature::new(vec![ACCESS, LOOP], Int, "elements between neighbouring iterations"),
            eval: stride,
            guard: Guard::None,
            explain: "By how many elements the address grows from one iteration of the loop to the next. Known only where \
                      it is the same amount in every iteration.",
        },
        Predicate {
            name: "address",
            signature: Signature::new(vec![ACCESS], Address, "byte address").keywords(Keywords::LoopPositions),
            eval: address,
            guard: Guard::None,
            explain: "The byte address of an access; `k = first` takes the one of the loop's first iteration.",
        },
        Predicate {
            name: "aligned",
            signature: Signature::new(vec![Address, Bytes], Bool, "multiple of so many bytes")
                .optional(vec![ROWS])
                .guarded(),
            eval: aligned,
            guard: Guard::Code(aligned_guard),
            explain: "Whether an address is a multiple of so many bytes for all threads, blocks and iterations around it: \
                      the base and every row, as an odd row pitch misaligns every second row although the base is aligned.",
        },
        Predicate {
            name: "bytes_per_thread",
            signature: Signature::new(vec![ACCESS, LOOP], Bytes, "bytes that one thread moves"),
            eval: bytes_per_thread,
            guard: Guard::None,
            explain: "Iterations of the loop times bytes of the access.",
        },
    ]
}

impl<'a> Query<'a> {
    pub(super) fn anchor(&self, n: usize) -> Result<Place, Answer> {
        match self.args.get(n) {
            Some(Value::Anchor(a)) => Ok(a.place),
            _ => Err(Answer::unknown("an anchor is expected here")),
        }
    }

    pub(super) fn access(&self, n: usize) -> Result<AccessId, Answer> {
        match self.anchor(n)? {
            Place::Access(a) => Ok(a),
            other => Err(Answer::unknown(format!("a {} is no access", other.surface()))),
        }
    }

    pub(super) fn lp(&self, n: usize) -> Result<LoopId, Answer> {
        match self.anchor(n)? {
            Place::Loop(l) => Ok(l),
            Place::Reduction(r) => match self.facts.function.reductions.get(r.0 as usize) {
                Some(r) => Ok(r.id_loop),
                None => Err(Answer::unknown("no such reduction")),
            },
            other => Err(Answer::unknown(format!("a {} is no loop", other.surface()))),
        }
    }

    pub(super) fn number(&self, n: usize) -> Result<&'a Number, Answer> {
        match self.args.get(n) {
            Some(Value::Int(v)) => Ok(v),
            _ => Err(Answer::unknown("an integer is expected here")),
        }
    }

    pub(super) fn constant(&self, n: usize) -> Result<i128, Answer> {
        let poly = &self.number(n)?.poly;
        poly.as_constant().ok_or_else(|| Answer::unknown("the number is not a known constant"))
    }
}

/// Turns an early answer into the answer.
pub(super) fn settle(r: Result<Answer, Answer>) -> Answer {
    r.unwrap_or_else(|a| a)
}

/// The type of what an anchor holds.
fn element(q: &Query, place: Place) -> Result<(Type, Because), Answer> {
    let f = q.facts.function;
    let of_var = |v: VarId| {
        let var = f.vars.get(v.0 as usize).ok_or_else(|| Answer::unknown("no such variable"))?;
        let ty = match &var.ty {
            Type::Pointer(p) => p.ty.clone(),
            t => t.innermost().clone(),
        };
        Ok((ty, Because::at(var.span, format!("declaration of `{}`", var.name))))
    };
    match place {
        Place::Access(a) => {
            let access = f.accesses.get(a.0 as usize).ok_or_else(|| Answer::unknown("no such access"))?;
            Ok((access.ty.clone(), Because::at(f.expr(access.expr).span, "this access")))
        }
        Place::Tile(t) => of_var(f.tiles.get(t.0 as usize).ok_or_else(|| Answer::unknown("no such tile"))?.var),
        Place::Parameter(v) => of_var(v),
        Place::Reduction(r) => match f.reductions.get(r.0 as usize).map(|r| &r.kind) {
            Some(ReductionKind::SharedTree { tile, .. }) => of_var(*tile),
            Some(ReductionKind::Serial { accumulator }) => of_var(*accumulator),
            None => Err(Answer::unknown("no such reduction")),
        },
        other => Err(Answer::unknown(format!("a {} has no element type", other.surface()))),
    }
}

fn scalar(facts: &Facts, ty: &Type) -> Option<Scalar> {
    match ty {
        Type::Vector { elem, .. } => Some(*elem),
        t => facts.scalar(t),
    }
}

fn width(q: &Query) -> Answer {
    settle(q.anchor(0).and_then(|place| {
        let (ty, because) = element(q, place)?;
        let bytes = ty.bytes().or_else(|| q.facts.scalar(&ty).map(Scalar::bytes));
        match bytes {
            Some(b) => Ok(Answer::int(i128::from(b), because)),
            None => Err(Missing::new("the size of the element type is not known").into()),
        }
    }))
}

fn dtype(q: &Query) -> Answer {
    settle(q.anchor(0).and_then(|place| {
        let (ty, because) = element(q, place)?;
        match scalar(q.facts, &ty) {
            Some(s) => Ok(Answer::known(Value::DType(s), because)),
            None => Err(Missing::new("the element type is not a scalar that is modelled").into()),
        }
    }))
}

/// The lanes for which CUDA has a vector type of at most 16 bytes.
fn vector_type_exists(q: &Query) -> Answer {
    let Some(Value::DType(s)) = q.args.first() else { return Answer::unknown("an element type is expected here") };
    settle(q.constant(1).map(|lanes| {
        let exists = match s {
            Scalar::Bool | Scalar::F8 => false,
            Scalar::F16 | Scalar::BF16 => lanes == 2,
            s => (1..=4).contains(&lanes) && lanes != 3 && i128::from(s.bytes()) * lanes <= 16,
        };
        if exists {
            Answer::yes(Because::nothing())
        } else {
            Answer::no(Because::nothing(), format!("CUDA has no vector of {lanes} x {}", s.name()), vec![])
        }
    }))
}

fn is_scalar(q: &Query) -> Answer {
    settle(q.access(0).and_then(|id| {
        let (surface, state) = q.facts.access(id)?;
        let span = q.facts.function.expr(surface.expr).span;
        let no = |text: &str| Ok(Answer::no(Because::nothing(), text, vec![(span, "this access".into())]));
        // `__ldcv` fetches again each time, as a volatile access does.
        let kind = q.facts.function.kind_of(surface.expr);
        let refetches = matches!(kind, ExprKind::Call { callee, .. } if callee == "__ldcv");
        if state.is_volatile || refetches {
            return no("the access is volatile");
        }
        if surface.through_cast {
            return no("the access goes through a cast");
        }
        if surface.mode == AccessMode::Store && matches!(kind, ExprKind::Call { .. }) {
            return no("the store is a call of an intrinsic");
        }
        if !surface.members.is_empty() {
            return no("the access is of a member");
        }
        match surface.ty {
            Type::Scalar(_) | Type::Param(_) => Ok(Answer::yes(Because::at(span, "one element"))),
            Type::Vector { .. } => no("the access moves a vector"),
            _ => Err(Missing::new("the type of the access is not known").at(span, "this access").into()),
        }
    }))
}

fn stride(q: &Query) -> Answer {
    settle(q.access(0).and_then(|a| {
        let k = q.lp(1)?;
        let s = q.facts.stride(a, k)?;
        Ok(Answer::number(s.value, s.because))
    }))
}

fn address(q: &Query) -> Answer {
    settle(q.access(0).and_then(|a| {
        let mut first = vec![];
        for (anchor, position) in q.keywords {
            match (anchor, position) {
                (Value::Anchor(Anchor { place: Place::Loop(k), .. }), Value::Symbol(w)) if w == "first" => {
                    first.push(*k)
                }
                (Value::Anchor(Anchor { place: Place::Loop(k), .. }), Value::Int(n)) if n.poly.is_zero() => {
                    first.push(*k)
                }
                _ => return Err(Answer::unknown("only the first iteration is modelled as a position")),
            }
        }
        let (pointer, known) = q.facts.address(a, &first)?;
        let because = pointer.because.clone();
        let value = AddressValue { access: a, pointer, known: Arc::new(known) };
        Ok(Answer::known(Value::Address(Box::new(value)), because))
    }))
}

fn parts<'q>(q: &Query<'q>) -> Result<(&'q AddressValue, i128), Answer> {
    match q.args.first() {
        Some(Value::Address(a)) => Ok((a, q.constant(1)?)),
        _ => Err(Answer::unknown("an address is expected here")),
    }
}

fn aligned(q: &Query) -> Answer {
    settle(parts(q).map(|(a, bytes)| {
        let span = q.facts.function.accesses.get(a.access.0 as usize).map(|x| q.facts.function.expr(x.expr).span);
        let here: Vec<_> = span.iter().map(|s| (*s, "this access".to_owned())).collect();
        match q.facts.aligned(&a.pointer, &a.known, bytes) {
            Some((true, because)) => Answer::yes(because),
            Some((false, because)) => Answer::no(because, format!("the address is never a multiple of {bytes}"), here),
            None if q.brief => Answer::unknown("the alignment"),
            None => {
                let name = q.facts.function.var(a.pointer.root).name.clone();
                Answer::Unknown {
                    reason: format!(
                        "whether `{name}` + {} bytes is a multiple of {bytes}",
                        q.facts.render(&a.pointer.offset)
                    ),
                    at: here,
                    next: Some(match aligned_guard(q) {
                        Ok(code) => format!("assume in the contract what a guard would test: {}", code.text),
                        Err(why) => why,
                    }),
                }
            }
        }
    }))
}

/// Tests the base and what multiplies every term that is not divisible by itself.
fn aligned_guard(q: &Query) -> Result<GuardCode, String> {
    let (a, bytes) = parts(q).map_err(|_| "the address is not known".to_owned())?;
    if !(bytes > 0 && bytes & (bytes - 1) == 0 && bytes <= 128) {
        return Err(format!("{bytes} is not an alignment"));
    }
    let f = q.facts.function;
    let root = f.var(a.pointer.root);
    let stays = |v: VarId| q.facts.never_assigned(v);
    let mut code = GuardCode { text: String::new(), names: vec![], builtins: vec![] };
    let mut tests = vec![];
    let base = Poly::atom(Atom::Address(a.pointer.root));
    let shift = a.pointer.offset.constant_term().rem_euclid(bytes);
    let base_known = base.offset(shift).and_then(|p| a.known.prove_divides(bytes, &p)).is_some();
    if !base_known {
        if root.kind != VarKind::Param || !stays(a.pointer.root) {
            return Err(format!("where `{}` starts cannot be tested at the launch", root.name));
        }
        let text = format!("reinterpret_cast<size_t>({})", root.name);
        let text = if shift == 0 { text } else { format!("({text} + {shift})") };
        tests.push(format!("({text} & {}) == 0", bytes - 1));
        code.names.push(a.pointer.root);
    }
    for (m, c) in a.pointer.offset.terms() {
        if m.is_empty() {
            continue;
        }
        let mut term = Poly::constant(c);
        for x in m {
            term = term.mul(&Poly::atom(x.clone())).ok_or("the address is too large an expression")?;
        }
        if a.known.prove_divides(bytes, &term).is_some() {
            continue;
        }
        let needed = bytes / crate::facts::gcd(c, bytes);
        let (text, var, builtin) = testable(q, m, &stays).ok_or_else(|| {
            format!("`{}` differs between threads or blocks and cannot be tested at the launch", q.facts.render(&term))
        })?;
        let test = format!("{text} % {needed} == 0");
        if !tests.contains(&test) {
            tests.push(test);
        }
        code.names.extend(var);
        code.builtins.extend(builtin);
    }
    if tests.is_empty() {
        return Err("there is nothing to test".into());
    }
    let atoms = base.add(&a.pointer.offset).map(|p| p.atoms()).unwrap_or_default();
    if let Some(why) = a.known.failed_test(&atoms) {
        let place = why.spans().first().map_or(String::new(), |(_, t)| format!(": {t}"));
        return Err(format!("this is already the arm in which such a test failed{place}"));
    }
    code.names.sort();
    code.names.dedup();
    code.text = tests.join(" && ");
    Ok(code)
}

/// A factor that the launch can test: an integer parameter that keeps its value, or a launch dimension.
fn testable(q: &Query, m: &[Atom], stays: &dyn Fn(VarId) -> bool) -> Option<(String, Option<VarId>, Option<Builtin>)> {
    let param = m.iter().find_map(|a| match a {
        Atom::Param(v) if stays(*v) => Some((q.facts.function.var(*v).name.clone(), Some(*v), None)),
        // Remainders by powers of two survive the conversion to an unsigned type.
        Atom::Fun(call) if call.name.starts_with("wrap.") => match call.args.first().and_then(only_param) {
            Some(v) if stays(v) => Some((q.facts.function.var(v).name.clone(), Some(v), None)),
            _ => None,
        },
        _ => None,
    });
    param.or_else(|| {
        m.iter().find_map(|a| match a {
            Atom::BlockDim(x) => Some((format!("blockDim.{}", x.name()), None, Some(Builtin::BlockDim(*x)))),
            Atom::GridDim(x) => Some((format!("gridDim.{}", x.name()), None, Some(Builtin::GridDim(*x)))),
            Atom::Name(n) if !n.contains('(') => Some((n.to_string(), None, None)),
            _ => None,
        })
    })
}

/// The parameter that a polynomial is.
fn only_param(poly: &Poly) -> Option<VarId> {
    match poly.atoms().into_iter().next() {
        Some(Atom::Param(v)) if *poly == Poly::atom(Atom::Param(v)) => Some(v),
        _ => None,
    }
}

fn bytes_per_thread(q: &Query) -> Answer {
    settle(q.access(0).and_then(|a| {
        let k = q.lp(1)?;
        let (_, state) = q.facts.access(a)?;
        let trip = q.facts.trip(k)?;
        let known = q.facts.loop_state(k)?.before.known.clone();
        let total = state.bytes.and_then(|w| trip.value.count.scale(i128::from(w)));
        match total {
            Some(poly) => {
                let because = trip.because.clone();
                let n = Number { poly, clamped: trip.value.clamped, known: Some(known), because: because.clone() };
                Ok(Answer::known(Value::Int(n), because))
            }
            None => Err(Missing::new("the width of the access is not known").into()),
        }
    }))
}
