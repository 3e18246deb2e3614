//! K054x: configuration and the command line.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(540),
        title: "kopt.toml has a mistake",
        explain: "A key is not known, a value has the wrong form, or the file is not TOML. Every mistake is listed with its \
place. `kopt init` writes a file with all common settings.",
    },
    Entry {
        code: Code(541),
        title: "a file cannot be read or written",
        explain: "The path does not exist, is a folder where a file is expected, or may not be read or written. Nothing \
was written.",
    },
    Entry {
        code: Code(542),
        title: "no such skill, code, direction or predicate",
        explain: "The name is not known. The message gives the nearest name; `kopt skills list` and `kopt explain --list` \
give all of them.",
    },
    Entry {
        code: Code(543),
        title: "an explicit skill changed nothing",
        explain: "`kopt apply --skill NAME` was told what to do and found no place for it. The refusals above say why; \
`kopt why FILE:LINE SKILL` shows all conditions. With `--allow-refusal` this is no failure.",
    },
    Entry {
        code: Code(544),
        title: "the file has changes that are not committed",
        explain: "`--write` changes files in place and refuses those with changes that git does not have, so that the \
rewrite can always be told apart and undone. Commit or stash them, or add `--allow-dirty`. A file outside of any git \
repository is written.",
    },
    Entry {
        code: Code(545),
        title: "a place is not understood",
        explain: "A place is written FILE:LINE, with lines counted from 1, such as `src/softmax.cu:42`.",
    },
    Entry {
        code: Code(546),
        title: "a required tier is not there",
        explain: "`--verify compile` needs a CUDA compiler. `kopt toolchain install` brings one, `kopt doctor` says what is \
there. With `--verify auto` the rewrite is made without it and the output says `compile: not run`.",
    },
    Entry {
        code: Code(547),
        title: "the rewritten kernel does not compile",
        explain: "The original compiles and the candidate does not, so all rewrites of the file were taken back and nothing \
was written. The compiler's message is shown on the rewritten text. This is a defect of the skill; please report it.",
    },
    Entry {
        code: Code(548),
        title: "not checked by the compiler",
        explain: "The original kernel could not be cut out of its file or does not compile by itself, so that the compile \
gate has nothing to say about the rewrite. The reason is named. The conditions of the skill hold all the same.",
    },
    Entry {
        code: Code(549),
        title: "some kernels are not modelled",
        explain: "Under `--strict` every kernel of the files must be understood. K0002 names each that is not, with the \
reason.",
    },
    Entry {
        code: Code(550),
        title: "an assumption cannot be read",
        explain: "`--assume` takes comparisons such as `cols % 4 == 0` and `n <= 4096`, `aligned(x, 16)` and \
`noalias(x, y)`.",
    },
    Entry {
        code: Code(551),
        title: "a file exists already",
        explain: "`kopt init` and `kopt new` never write over a file. Remove it, or choose another name.",
    },
];
