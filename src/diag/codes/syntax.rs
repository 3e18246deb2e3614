//! K00xx: from the parse tree to the intermediate representation.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(1),
        title: "kernel holds something that could not be parsed",
        explain: "The grammar met text that it does not know inside this kernel, nearly always a macro with an unusual \
                  shape. The rest of the kernel is read, and what was read is reported on, but the kernel is never edited: \
                  a rewrite must not rest on a tree with a hole. Rewrite the construct, or give the macro's definition to \
                  the run (a header that is not included in it is the usual cause).",
    },
    Entry {
        code: Code(2),
        title: "kernel in the text that is not modelled",
        explain: "The text says `__global__` (or a macro that stands for it) in front of a definition, and no kernel came \
                  out of parsing it. Nothing is said about this kernel and nothing in it is changed. The usual causes are a \
                  kernel that a macro's body defines, and a head that a macro splits, as in `KERNEL_HEAD(k, float) {..}`.",
    },
    Entry {
        code: Code(13),
        title: "file is too large or too tangled to be parsed",
        explain: "The parser was stopped: the file is longer than 8 MB, or needs many times the work that a text of its \
                  length needs, as happens with generated tables and with text that is not CUDA at all. Nothing in the file \
                  is read. The limit counts work and not time, so that the answer is the same on every machine.",
    },
];
