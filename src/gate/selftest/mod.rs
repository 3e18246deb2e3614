//! Kernels that are wrong on purpose, each beside its original, and kernels that are right: the gate must refuse the one
//! and pass the other. `kopt gate selftest` runs them all.

/// What the gate must say of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Refused, with one of these codes among its problems.
    Refused(&'static [u16]),
    /// Passed, with this verdict.
    Passed(&'static str),
}

/// One candidate.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    /// The original with its contract in comments.
    pub original: &'static str,
    pub candidate: &'static str,
    pub expected: Expected,
    /// What is wrong with it, or what is unusual and right.
    pub what: &'static str,
}

macro_rules! refused {
    ($name:literal, $original:literal, $codes:expr, $what:literal) => {
        Case {
            name: $name,
            original: include_str!(concat!("originals/", $original, ".cu")),
            candidate: include_str!(concat!("bad/", $name, ".cu")),
            expected: Expected::Refused(&$codes),
            what: $what,
        }
    };
}

macro_rules! passed {
    ($name:literal, $original:literal, $verdict:literal, $what:literal) => {
        Case {
            name: $name,
            original: include_str!(concat!("originals/", $original, ".cu")),
            candidate: include_str!(concat!("good/", $name, ".cu")),
            expected: Expected::Passed($verdict),
            what: $what,
        }
    };
}

/// All candidates.
pub const CASES: &[Case] = &[
    refused!("no_operation", "add", [656], "does nothing"),
    refused!("zeros", "add", [650], "writes zeros"),
    refused!("constant", "add", [650], "writes a constant"),
    refused!("copies_input", "add", [650], "copies an input"),
    refused!("keeps_stale_output", "add", [651, 656], "leaves what an earlier run wrote"),
    refused!("every_second_output", "add", [656], "writes half of the outputs"),
    refused!("drops_tail", "add", [656], "right only for whole blocks"),
    refused!("drops_tail_to_zero", "add", [650], "zeros in the last elements"),
    refused!("right_for_one_size", "add", [650], "right for the size of the sample"),
    refused!("right_for_one_seed", "add", [650], "right for one seed"),
    refused!("wrong_on_large_values", "add", [650], "right for small values"),
    refused!("changes_input", "add", [657], "writes its input, so that a reference that shares it agrees"),
    refused!("reads_past_end", "add", [651], "reads past the end and discards what it read"),
    refused!("writes_past_end", "add", [651], "writes past the end"),
    refused!("writes_before_start", "add", [651], "writes before the first element"),
    refused!("endless_loop", "add", [651, 658], "never ends"),
    refused!("prints_without_end", "add", [658], "floods the printf buffer"),
    refused!("not_a_number", "add", [650], "NaN, for a comparison that is blind to it"),
    refused!("depends_on_poison", "add", [651], "reads its output before it writes it"),
    refused!("off_by_one", "add", [650], "takes the neighbour's element"),
    refused!("too_many_threads_for_bounds", "add", [658], "cannot be launched with this block"),
    refused!("traps", "add", [651], "ends in a trap"),
    refused!(
        "caches_by_pointer",
        "add",
        [657],
        "remembers the pointer in a `__device__` variable and does nothing the next time"
    ),
    refused!("right_for_ten_launches", "add", [657], "counts its launches and is wrong later"),
    refused!("sums_in_half", "row_sum", [650], "accumulates in half precision"),
    refused!("sums_rounded_inputs", "row_sum", [650], "rounds its inputs as TF32 does"),
    refused!("race_without_barrier", "row_sum", [651], "a race that happens to pass"),
    refused!("race_in_one_warp", "row_sum", [651], "relies on the lanes of a warp running in step"),
    refused!("misaligned_vector_load", "row_sum", [651], "16-byte loads at odd rows"),
    refused!("divergent_barrier", "row_sum", [651], "a barrier in divergent code"),
    refused!("shuffle_beyond_live_lanes", "row_sum", [651], "a shuffle from lanes that left"),
    refused!("reads_unwritten_shared", "row_sum", [651], "reads shared memory that nothing wrote"),
    refused!(
        "softmax_without_maximum",
        "softmax",
        [650],
        "skips the subtraction of the maximum, right for small values"
    ),
    refused!("transposes_squares_only", "transpose", [650], "right for squares"),
    refused!("overwrites_instead_of_adding", "axpy", [650], "overwrites what it should add to"),
    refused!("adds_twice", "axpy", [650], "wrong in the last element"),
    refused!("loses_updates", "histogram", [651], "updates without atomics"),
    refused!("counts_one_too_many", "histogram", [650], "one count too many"),
    refused!("writes_padding", "padded", [656], "writes padding that the original leaves alone"),
    refused!("truncates_bf16", "scale_bf16", [650], "three bits of mantissa"),
    refused!("unfinished_copy", "stage", [651], "does not wait for its asynchronous copy"),
    refused!("too_much_shared_memory", "stage", [658], "asks for more shared memory than a block can have"),
    refused!("deadlock", "stage", [651], "halves of the block wait for each other"),
    refused!("truncated_index", "flags", [650, 651, 656], "an index of 8 bits"),
    refused!("flags_wrong_threshold", "flags", [650], "wrong threshold"),
    refused!("sixteen_bit_index", "add", [650, 651, 656], "an index of 16 bits"),
    refused!("restores_its_input", "add", [657], "uses its input as a scratch pad and puts it back"),
    refused!("right_where_memory_ascends", "add", [650], "compares addresses of different buffers"),
    refused!("asks_for_its_compiler", "add", [665], "is right under the compiler that the gate uses"),
    refused!("exchanged_parameters", "axpy", [650, 657], "has its parameters exchanged"),
    refused!("forgets_the_scalar", "blend", [650], "right for the scalar of the sample"),
    refused!(
        "clears_before_it_reads",
        "blend",
        [650],
        "wrong where the output is the input, as the caller may have it"
    ),
    refused!("wrong_beyond_half", "clip", [650], "right for values that half precision has"),
    refused!("passes_on_no_number", "clip", [650], "gives NaN where the original does not"),
    refused!("takes_taps_backwards", "taps", [650], "reads a table of constants from its end"),
    refused!("fills_nothing", "taps", [664], "reads a table of constants that nobody fills"),
    refused!("right_only_when_fresh", "tickets", [650], "wrong after some launches, by a variable that may change"),
    refused!("compacts_in_block_order", "compact", [650], "right only if blocks run in order"),
    refused!("first_rows_only", "row_sum", [650], "right for few rows"),
    refused!("fours_without_rest", "row_sum", [650], "right where the columns are a multiple of four"),
    refused!("one_rest_at_a_time", "transpose", [650, 656], "wrong where there are many more rows than columns"),
    refused!("counts_in_four_bits", "histogram", [650], "counters of four bits, which many equal keys overflow"),
    refused!("last_block_adds_up", "total", [651], "adds without an atomic, one block after the other"),
    refused!("waits_for_nobody", "total", [650, 651, 657], "takes the block with the highest index for the last"),
    passed!("grid_stride", "add", "equal-bits", "a grid-stride loop"),
    passed!("four_at_a_time", "add", "equal-bits", "16-byte accesses with a tail and launches of its own"),
    passed!("another_order", "row_sum", "within-tolerance", "another order of summation"),
    passed!("backwards", "row_sum", "within-tolerance", "summation from the end"),
    passed!("online_softmax", "softmax", "within-tolerance", "one pass instead of two"),
    passed!("padded_tile", "transpose", "equal-bits", "a padded tile in shared memory"),
    passed!(
        "fused_multiply_add",
        "axpy",
        "within-tolerance",
        "no fused multiply-add, on an output that is accumulated into"
    ),
    passed!("private_histogram", "histogram", "equal-bits", "exact integers, counted per block first"),
    passed!("permitted_atomics", "total", "within-tolerance", "permitted atomics in another order"),
    passed!("leaves_padding", "padded", "equal-bits", "padding that neither side writes"),
    passed!("paired_bf16", "scale_bf16", "equal-bits", "bf16 in pairs"),
    passed!("finished_copy", "stage", "equal-bits", "an asynchronous copy that is waited for"),
    passed!("half_in_shared", "scale_half", "equal-bits", "half precision in shared memory, two elements to a word"),
    passed!("same_value_from_many", "flags", "equal-bits", "unordered writes of one value"),
    passed!("other_order_of_parameters", "axpy", "equal-bits", "its parameters in another order"),
    passed!("reads_before_it_writes", "blend", "equal-bits", "in place where the caller may want it"),
    passed!("clips_with_fmax", "clip", "equal-bits", "the maximum as an instruction, NaN included"),
    passed!("taps_in_registers", "taps", "equal-bits", "a table of constants, copied first"),
    passed!(
        "counts_as_the_original",
        "tickets",
        "equal-bits",
        "a variable that may keep its value, and keeps the same"
    ),
    passed!("compacts_in_one_warp", "compact", "equal-bits", "in order, whatever the order of blocks is"),
];

macro_rules! on_device {
    ($name:literal, $expected:expr, $what:literal) => {
        Case {
            name: $name,
            original: include_str!("device/invert.cu"),
            candidate: include_str!(concat!("device/", $name, ".cu")),
            expected: $expected,
            what: $what,
        }
    };
}

/// Candidates that only a device tells apart, with a size at which they run beside the usual ones.
pub const ON_DEVICE: &[(Case, Option<(&str, i64)>)] = &[
    (
        on_device!("index_of_32_bits", Expected::Refused(&[650]), "an index that overflows beyond 2^32 elements"),
        Some(("n", (1 << 32) + 4096)),
    ),
    (
        on_device!("index_of_64_bits", Expected::Passed("equal-bits"), "more than 2^32 elements"),
        Some(("n", (1 << 32) + 4096)),
    ),
    (on_device!("wrong_by_the_clock", Expected::Refused(&[650]), "wrong where the clock says so"), None),
];

/// What only a device shows; the interpreter does not see it, and says so.
pub const DEVICE_ONLY: &[&str] = &[
    "an index that overflows beyond 2^31 elements: more memory than the interpreter is given (--on gpu)",
    "a candidate that is wrong only under timing: clocks (--on gpu), resident blocks that wait for each other, other orders of atomics",
    "an error of the driver after the launch, such as too many resources of another process",
    "differences between PTX and machine code: faults of the assembler, approximate functions on other architectures",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_files_and_each_stands_once() {
        let mut names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gate/selftest");
        for folder in ["bad", "good"] {
            for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
                let path = entry.expect("a file").path();
                let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
                assert!(names.contains(&stem), "{stem} is in no case");
            }
        }
    }
}
