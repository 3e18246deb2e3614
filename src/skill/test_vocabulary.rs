//! The predicates that the first skills ask, as signatures alone, for tests of the checker.

use super::vocabulary::{Keywords, Signature, Surface, SurfaceSet, ValueType, Vocabulary};
use ValueType::*;

const ACCESS: ValueType = Anchor(SurfaceSet::of(&[Surface::Access, Surface::Load, Surface::Store]));
const LOOP: ValueType = Anchor(SurfaceSet::of(&[Surface::Loop]));
const SHARED: ValueType = Anchor(SurfaceSet::of(&[Surface::Shared]));
const REDUCTION: ValueType = Anchor(SurfaceSet::of(&[Surface::Reduction]));
const CALL: ValueType = Anchor(SurfaceSet::of(&[Surface::Call]));
const BOTTLENECK: ValueType = Symbol(super::directions::BOTTLENECKS);
const OPS: ValueType = Symbol(&["add", "mul", "min", "max", "bit_and", "bit_or", "bit_xor"]);
const CALLEES: ValueType = Symbol(&["expf", "sinf", "cosf", "logf"]);
const ROWS: ValueType = Symbol(&["all rows", "first row"]);
const ANY: ValueType = Anchor(SurfaceSet::ANY);

pub struct Draft;

impl Vocabulary for Draft {
    fn signature(&self, name: &str) -> Option<Signature> {
        table().into_iter().find(|(n, _)| *n == name).map(|(_, s)| s)
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = table().into_iter().map(|(n, _)| n).collect();
        names.sort_unstable();
        names
    }
}

fn table() -> Vec<(&'static str, Signature)> {
    let s = Signature::new;
    vec![
        ("width", s(vec![ANY], Bytes, "bytes of one element")),
        ("dtype", s(vec![ANY], DType, "element type")),
        ("vector_type_exists", s(vec![DType, Int], Bool, "a built-in vector type of that many lanes exists")),
        ("is_scalar", s(vec![ACCESS], Bool, "plain access of one scalar element")),
        ("stride", s(vec![ACCESS, LOOP], Int, "elements between neighbouring iterations")),
        ("address", s(vec![ACCESS], Address, "byte address").keywords(Keywords::LoopPositions)),
        ("aligned", s(vec![Address, Bytes], Bool, "multiple of so many bytes").optional(vec![ROWS]).guarded()),
        ("divides", s(vec![Int, Int], Bool, "the second is a multiple of the first").guarded()),
        ("trip", s(vec![LOOP], Int, "iterations")),
        ("counted", s(vec![LOOP], Bool, "counts up by one to a fixed bound")),
        ("names_resolved", s(vec![LOOP], Bool, "no macro or lambda hides a use of the counter")),
        ("unconditional", s(vec![ACCESS, LOOP], Bool, "runs in every iteration")),
        ("single_exit", s(vec![LOOP], Bool, "left through its header alone, no barrier inside")),
        ("no_store_between", s(vec![ACCESS, LOOP], Bool, "may be moved over the iterations joined")),
        ("bytes_per_thread", s(vec![ACCESS, LOOP], Bytes, "bytes that one thread moves")),
        ("bottleneck", s(vec![], BOTTLENECK, "what limits the kernel")),
        ("rank", s(vec![SHARED], Int, "number of dimensions")),
        ("extents_known", s(vec![SHARED], Bool, "all extents are constants")),
        ("is_dynamic", s(vec![SHARED], Bool, "its size is a launch argument")),
        ("rows", s(vec![SHARED], Int, "number of rows")),
        ("widest_access", s(vec![SHARED], Bytes, "bytes of the widest access")),
        ("only_subscripted", s(vec![SHARED], Bool, "every use is a full subscript")),
        ("in_extents", s(vec![SHARED], Bool, "every subscript lies within its own extent")),
        ("shared_bytes", s(vec![], Bytes, "static shared memory of the kernel")),
        ("bank_degree", s(vec![SHARED], Int, "most lanes that meet in one bank")),
        ("bank_degree_padded", s(vec![SHARED, Int], Int, "the same with longer rows")),
        ("op", s(vec![REDUCTION], OPS, "operation")),
        ("lane_is_thread", s(vec![REDUCTION], Bool, "the lane index is threadIdx.x")),
        ("block_threads", s(vec![], Int, "threads per block").guarded()),
        ("block_is_1d", s(vec![], Bool, "blockDim.y and z are 1").guarded()),
        ("halving", s(vec![REDUCTION], Bool, "every step halves the distance, down to 1")),
        ("only_first_read", s(vec![REDUCTION], Bool, "afterwards only element 0 is read before it is written")),
        ("uniform", s(vec![ANY], Bool, "all threads of the block reach it together")),
        ("barrier_each_step", s(vec![REDUCTION], Bool, "a block barrier ends every step")),
        ("callee", s(vec![CALL], CALLEES, "name of the function")),
        ("resolves_to_builtin", s(vec![CALL], Bool, "names the function of the CUDA math library")),
        ("error_allowed", s(vec![CALL], Bool, "the contract's tolerance admits the approximation")),
        ("argument_within", s(vec![CALL, Real, Real], Bool, "the first argument lies in the range").guarded()),
        ("device_only", s(vec![CALL], Bool, "the call is compiled for the device only")),
        ("in_hot_path", s(vec![CALL], Bool, "inside a loop")),
        ("fast_math", s(vec![], Bool, "the unit is compiled with fast math")),
    ]
}
