//! Contracts and assumptions.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(230),
        title: "the contract file cannot be read",
        explain: "The file is not TOML, or a table does not have the expected form. Assumptions for every kernel stand in \
                  `assume = [\"n >= 1\"]`, those for one kernel in `[kernel.softmax]` with `assume = [\"cols % 4 == 0\"]`.",
    },
    Entry {
        code: Code(231),
        title: "an assumption cannot be read",
        explain: "An assumption is one of: a comparison of integer expressions over parameters, template values and \
                  blockDim or gridDim members (`n <= 4096`, `blockDim.x * blockDim.y == 256`), a remainder (`cols % 4 == \
                  0`), `aligned(x, 16)`, `noalias(x, y)`, `no_wrap` or `complete`. It may stand in the contract file or in \
                  a comment right above the kernel: `// kopt: assume cols % 4 == 0, aligned(x, 16)`.",
    },
];
