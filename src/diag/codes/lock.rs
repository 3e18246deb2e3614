//! K051x: the lock.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(510),
        title: "the lock has no entry for a file",
        explain: "`--locked` only replays what was recorded. Run `kopt apply` without `--locked` once, with `--write` or \
`--out DIR`, look at the result, and put kopt.lock under version control.",
    },
    Entry {
        code: Code(511),
        title: "the lock cannot be read",
        explain: "kopt.lock is TOML written by kopt. It was edited by hand or merged badly, or another version of kopt \
wrote it. Take it from version control, or delete it and record again.",
    },
    Entry {
        code: Code(512),
        title: "stale lock: a kernel is gone",
        explain: "The recorded rewrite belongs to a kernel, or to a host function that is edited with it, that is not in \
the file any more under this name.",
    },
    Entry {
        code: Code(513),
        title: "stale lock: the kernel changed",
        explain: "The comment-free tokens of the kernel differ from those on which the rewrite was judged. A change of \
comments, of blank lines or of other functions does not do this. Apply the skills again and look at the new result.",
    },
    Entry {
        code: Code(514),
        title: "stale lock: a launch changed",
        explain: "A proof may rest on how the kernel is launched: block size, grid size, arguments. One of the launches \
in view changed, came or went, so the proof has to be made again.",
    },
    Entry {
        code: Code(515),
        title: "stale lock: the skill changed",
        explain: "The conditions of the skill, or another clause of it, are not those under which the rewrite was \
recorded, or its file is gone.",
    },
    Entry {
        code: Code(516),
        title: "stale lock: the body changed",
        explain: "What carries the skill out is another: the rules of a template changed, or the code of a native body \
does, as it may with another version of kopt.",
    },
    Entry {
        code: Code(517),
        title: "stale lock: a comment inside the replaced text changed",
        explain: "Comments and white space may change anywhere but inside the text that the rewrite replaces: replaying \
would bring the old comment back and lose the new one. Apply the skills again; the new rewrite keeps the comment.",
    },
    Entry {
        code: Code(518),
        title: "stale lock: a condition fails now",
        explain: "The tokens of the kernel are the same, but something that they refer to is not: a macro, a type, a \
constant, an assumption. `--locked` judges every condition again before it replays, and one of them fails. `kopt why \
FILE:LINE SKILL` shows all of them.",
    },
    Entry {
        code: Code(519),
        title: "stale lock: the result would be another",
        explain: "All conditions hold, but with other verdicts or parameters, or the skill would now write other code \
than what was recorded; for instance because a type that the kernel names stands for another one.",
    },
];
