//! The launch, the hardware and what only a measurement can tell.

use super::memory::settle;
use super::value::{Answer, GuardCode};
use super::{Guard, Predicate, Query};
use crate::facts::{Atom, Because, Missing, Poly};
use crate::ir::{Axis, Builtin};
use crate::skill::directions::BOTTLENECKS;
use crate::skill::vocabulary::{Signature, ValueType};

pub(super) fn predicates() -> Vec<Predicate> {
    use ValueType::*;
    vec![
        Predicate {
            name: "block_threads",
            signature: Signature::new(vec![], Int, "threads per block").guarded(),
            eval: block_threads,
            guard: Guard::Code(|_| Ok(code("(blockDim.x * blockDim.y * blockDim.z)", &[Axis::X, Axis::Y, Axis::Z]))),
            explain: "The number of threads of a block. A guard gives the number itself.",
        },
        Predicate {
            name: "block_is_1d",
            signature: Signature::new(vec![], Bool, "blockDim.y and z are 1").guarded(),
            eval: block_is_1d,
            guard: Guard::Code(|_| Ok(code("blockDim.y * blockDim.z == 1", &[Axis::Y, Axis::Z]))),
            explain: "Whether blocks have one row of threads only.",
        },
        Predicate {
            name: "block_is_multiple_of",
            signature: Signature::new(vec![Int], Bool, "blockDim.x is a multiple").guarded(),
            eval: block_is_multiple_of,
            guard: Guard::Code(multiple_guard),
            explain: "Whether blockDim.x is a multiple of the number.",
        },
        unmeasured(
            "bottleneck",
            Symbol(BOTTLENECKS),
            "what limits the kernel",
            "Needs counters of a run on a GPU or the emulator.",
        ),
        unmeasured("registers", Int, "registers per thread", "Needs a compilation: the facts of the text do not tell."),
        unmeasured("occupancy", Real, "share of resident warps", "Needs registers and the architecture."),
        unmeasured(
            "compute_capability",
            Int,
            "architecture, as 80 for sm_80",
            "Needs the target that is compiled for.",
        ),
        unmeasured("fast_math", Bool, "the unit is compiled with fast math", "Needs the flags of the compilation."),
    ]
}

fn unmeasured(name: &'static str, returns: ValueType, help: &'static str, explain: &'static str) -> Predicate {
    Predicate { name, signature: Signature::new(vec![], returns, help), eval: unknown, guard: Guard::None, explain }
}

fn unknown(_: &Query) -> Answer {
    Answer::Unknown {
        reason: "the text alone does not tell; nothing has been compiled or measured".into(),
        at: vec![],
        next: Some("run `kopt profile`, or give the target and flags".into()),
    }
}

fn code(text: &str, axes: &[Axis]) -> GuardCode {
    GuardCode { text: text.into(), names: vec![], builtins: axes.iter().map(|a| Builtin::BlockDim(*a)).collect() }
}

fn block_threads(q: &Query) -> Answer {
    settle((|| {
        q.facts.usable()?;
        let mut product = Poly::constant(1);
        let mut because = Because::nothing();
        for axis in [Axis::X, Axis::Y, Axis::Z] {
            let dim = Poly::atom(Atom::BlockDim(axis));
            let factor = match q.facts.constant(&dim, &q.facts.context.known) {
                Some((v, why)) => {
                    because.join(&why);
                    Poly::constant(v)
                }
                None => dim,
            };
            product = product.mul(&factor).ok_or_else(|| Missing::new("too large"))?;
        }
        Ok(Answer::number(product, because))
    })())
}

fn block_is_1d(q: &Query) -> Answer {
    settle((|| {
        q.facts.usable()?;
        let mut because = Because::nothing();
        for axis in [Axis::Y, Axis::Z] {
            let (range, why) = q.facts.context.known.range(&Poly::atom(Atom::BlockDim(axis)));
            if range.lo.is_some_and(|l| l > 1) {
                let text = format!("blockDim.{} is at least {}", axis.name(), range.lo.unwrap_or_default());
                return Ok(Answer::no(why, text, vec![]));
            }
            if range.hi != Some(1) {
                let m = Missing::new(format!("blockDim.{} is not known", axis.name()));
                return Err(m.next("assume `blockDim.y == 1` and `blockDim.z == 1` in the contract").into());
            }
            because.join(&why);
        }
        Ok(Answer::yes(because))
    })())
}

fn block_is_multiple_of(q: &Query) -> Answer {
    settle(q.constant(0).and_then(|n| {
        q.facts.usable()?;
        let x = Poly::atom(Atom::BlockDim(Axis::X));
        if n <= 0 {
            return Err(Answer::unknown("a positive number is expected"));
        }
        if let Some((r, why)) = q.facts.context.known.residue(n, &x) {
            return Ok(if r == 0 {
                Answer::yes(why)
            } else {
                Answer::no(why, format!("blockDim.x leaves {r}"), vec![])
            });
        }
        let m = Missing::new(format!("whether {n} divides blockDim.x is not known"));
        Err(m.next(format!("assume `blockDim.x % {n} == 0` in the contract")).into())
    }))
}

fn multiple_guard(q: &Query) -> Result<GuardCode, String> {
    match q.constant(0) {
        Ok(n) if n > 0 => Ok(code(&format!("blockDim.x % {n} == 0"), &[Axis::X])),
        _ => Err("the number is not a known positive constant".into()),
    }
}
