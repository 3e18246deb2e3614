//! K00xx: reading files and making them parse.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(3),
        title: "file too large",
        explain: "Files above 64 MB are not read. Such a file is nearly always generated or data; name the files that hold \
                  kernels instead.",
    },
    Entry {
        code: Code(4),
        title: "file cannot be read",
        explain: "The file or folder is missing, or its permissions forbid reading it. Other files are still analysed, but \
                  nothing is said about this one.",
    },
    Entry {
        code: Code(5),
        title: "file is not UTF-8",
        explain: "The file is analysed with each offending byte shown as `?`, and is never edited. Convert it, for example \
                  with `iconv -f latin1 -t utf-8`, to have it edited.",
    },
    Entry {
        code: Code(6),
        title: "#if splits a statement",
        explain: "An `#if` begins or ends inside a statement, an argument list or a header:\n\n    f(p,\n    #ifdef A\n      1\n    \
                  #else\n      2\n    #endif\n    );\n\nOne branch was read as if it always held (the first one, or the second of \
                  `#if 0`). No edit touches or crosses such a place. Put the `#if` around whole statements to have them edited.",
    },
    Entry {
        code: Code(7),
        title: "kernel in a branch that was not read",
        explain: "A kernel stands in a branch of an `#if` that splits another statement, so only the other branch was read. It \
                  is counted but not analysed. It is read once the `#if` encloses whole functions.",
    },
    Entry {
        code: Code(8),
        title: "kernel defined by a macro",
        explain: "A macro whose body holds a whole kernel is called here:\n\n    #define MAKE(n) __global__ void n(float* p) { .. }\n    \
                  MAKE(scale)\n\nThe kernel has no text of its own that could be edited; it is counted but not modelled. A template \
                  says the same and is modelled.",
    },
    Entry {
        code: Code(9),
        title: "conditional without #endif",
        explain: "An `#if` is never closed in this file. Its lines were ignored, so that the rest could be read.",
    },
    Entry {
        code: Code(10),
        title: "macro stands for parameters",
        explain: "A parameter list ends in a macro that stands for further parameters, as in `k(float* p EXTRA)`. The \
                  signature is incomplete, so nothing that changes or relies on the whole signature is offered.",
    },
    Entry {
        code: Code(11),
        title: "include not found",
        explain: "A quoted #include was found neither beside the file, nor in the include folders, nor under the project's root. \
                  Macros and constants from it are unknown: conditions that need them are answered with `unknown`. Name the folder \
                  with `-I`.",
    },
    Entry {
        code: Code(12),
        title: "file beyond the limits of the reader",
        explain: "The file has more than 16 million tokens, or brackets that nest more than 20000 deep. Its text was not prepared \
                  for parsing and its kernels were not counted: none of them is analysed or edited. Move the kernels to a file of \
                  their own.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(ENTRIES.windows(2).all(|w| w[0].code < w[1].code));
    }
}
