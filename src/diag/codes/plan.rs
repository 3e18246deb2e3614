//! K060x-K064x: contracts and launch plans.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(600),
        title: "a part of the contract has the wrong form",
        explain: "The file is not TOML, a value is of another kind than its key needs, or something is missing without which \
the rest means nothing. docs/contracts.md shows every table; `kopt contract infer FILE` writes one for a file of kernels.",
    },
    Entry {
        code: Code(601),
        title: "a key of the contract has no meaning",
        explain: "Keys that nothing reads would be ignored in silence, so each is named, with the nearest key that there is.",
    },
    Entry {
        code: Code(602),
        title: "an expression cannot be read",
        explain: "Shapes, grids, regions and values are integer expressions over dims and scalar arguments: + - * / % with the \
meaning of C, comparisons, && || !, `c ? a : b`, min, max, ceil_div and sizeof(f32). The place of the first mistake is \
marked.",
    },
    Entry {
        code: Code(603),
        title: "a word of the contract is none of those expected",
        explain: "Roles are in, out, inout, scalar and temp; init is zero, poison or keep; dtypes are f32, f64, f16, bf16, i8 to \
i64, u8 to u64, bool; distributions are listed in docs/contracts.md.",
    },
    Entry {
        code: Code(604),
        title: "a name that the contract does not declare",
        explain: "Expressions name dims and scalar arguments, launches name buffers. Each must have its table: `[dims.n]`, \
`[args.x]`.",
    },
    Entry {
        code: Code(605),
        title: "parts of the contract contradict each other",
        explain: "A range without a value, a sample that `min`, `max` or `divisible_by` excludes, an alignment that is no power of \
two, a field that says nothing under the given role, or an integer given to a kernel without its type: write `i32(n)`.",
    },
    Entry {
        code: Code(606),
        title: "a name is declared twice",
        explain: "Every dim and every argument has a name of its own. A scalar argument cannot carry the name of a buffer, nor any \
argument that of another.",
    },
    Entry {
        code: Code(610),
        title: "the contract names a kernel that is not there",
        explain: "A launch, a reference or assumptions name a kernel that no file read so far defines. The nearest name is given. \
If the kernel is in another file, name that file, too.",
    },
    Entry {
        code: Code(611),
        title: "a launch does not give every parameter a value",
        explain: "`args` of a launch has one entry for each parameter of the kernel, in their order.",
    },
    Entry {
        code: Code(612),
        title: "an argument has another type than its parameter",
        explain: "A buffer's dtype must be that of the elements that the parameter points to (a `float4*` points to f32), a \
scalar's that of the parameter. Bytes of another type would be passed on as they are.",
    },
    Entry {
        code: Code(613),
        title: "the contract leaves a question open",
        explain: "Something that no file shows: a shape, a size, an argument. kopt does not guess what it then runs; write the field \
that is named.",
    },
    Entry {
        code: Code(614),
        title: "the contract holds a guess",
        explain: "`kopt contract infer` marks what it could not see with `proposed = true`, or with the list of such fields. Correct \
them if needed and remove the mark; nothing is verified under a contract with guesses unless they are accepted by name.",
    },
    Entry {
        code: Code(615),
        title: "an expression has no value for these sizes",
        explain: "It overflows 64 bits or divides by zero. Restrict the dims to what the caller uses, or mend the expression.",
    },
    Entry {
        code: Code(616),
        title: "the sizes are not in the contract",
        explain: "A value of a dim that `min`, `max`, `divisible_by` or `require` excludes, or a dim without a value.",
    },
    Entry {
        code: Code(617),
        title: "a number that no launch can have",
        explain: "A negative or too large extent, an offset or region beyond the end of its buffer, a block of more than 1024 threads, \
a scalar that does not fit its type.",
    },
    Entry {
        code: Code(618),
        title: "contents cannot be generated",
        explain: "The legal range has no element of the dtype, or the dtype has no one encoding (f8).",
    },
    Entry {
        code: Code(620),
        title: "nothing uses this part of the contract",
        explain: "A dim that no shape, launch, region or value names, or an argument that no launch is given. It is probably a \
misspelt name, or left over.",
    },
    Entry {
        code: Code(621),
        title: "an assumption says nothing",
        explain: "It names no parameter, template value or launch shape of the kernel that it is meant for, so that no condition can \
rest on it. Pointers have no value that can be compared: use `aligned(x, 16)` and `noalias(x, y)`.",
    },
    Entry {
        code: Code(622),
        title: "the contract launches otherwise than the file",
        explain: "Grid, block or dynamic shared memory of a launch in the contract differ from every launch of the kernel that the \
file shows, for the contract's first samples. One of the two is wrong, or the contract is for another caller: then say so with \
another kernel or file.",
    },
    Entry {
        code: Code(623),
        title: "the template arguments do not fit",
        explain: "A launch of a template needs its arguments in `template`, as many as the kernel declares without defaults; a kernel \
that is no template has none.",
    },
    Entry {
        code: Code(624),
        title: "the role of an argument contradicts the kernels",
        explain: "An argument with the role `in` is written by a kernel that it is given to, or an output is written by none.",
    },
    Entry {
        code: Code(630),
        title: "nothing to infer a contract from",
        explain: "The file holds no kernel that could be read, or none of the given name. `kopt check FILE` says what was read.",
    },
];
