//! K071x: the transition memory.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(710),
        title: "there is no memory",
        explain: "Nothing was recorded at this place yet. `--memory FILE` names another file, before `KOPT_MEMORY`, the key \
`memory` of kopt.toml, and the folder of the user's data. A memory is made by the first step that is recorded, by `kopt memory \
import` or by `kopt memory merge`.",
    },
    Entry {
        code: Code(711),
        title: "the file is no memory of kopt",
        explain: "It is no database, or that of another program. It was left as it is. Only files that end in `.sqlite` and hold no \
database any more are taken for a damaged memory and set aside.",
    },
    Entry {
        code: Code(712),
        title: "the memory is of a later version of kopt",
        explain: "An older kopt does not write into a layout that it does not know. Use the later version, or export there with \
`kopt memory export` and import here into a new file.",
    },
    Entry {
        code: Code(713),
        title: "the memory is damaged",
        explain: "The database says that its pages are not what they should be: the disk, a copy that was cut off, or a program that \
wrote into the file. A file that cannot be opened at all is moved to a new name (`memory.sqlite.damaged-1`) and a new memory is begun; \
nothing is overwritten. `kopt memory doctor` examines everything; with `--mend` it sets the file aside and saves what can be read.",
    },
    Entry {
        code: Code(714),
        title: "the disk is full",
        explain: "The step that was being recorded was taken back as a whole; what was there before is there still. Make room and \
record again.",
    },
    Entry {
        code: Code(715),
        title: "another process holds the memory",
        explain: "Several processes may use one memory, each waits for the others. Half a minute has passed: a process was stopped in \
the middle of writing, or the file lies on a network drive without locks.",
    },
    Entry {
        code: Code(716),
        title: "the memory cannot be used",
        explain: "The file or its folder cannot be read and written. The message says what the system answered.",
    },
    Entry {
        code: Code(717),
        title: "a line of evidence cannot be read",
        explain: "`kopt memory import` reads what `kopt memory export` wrote: one JSON object a line, with a version and an id that is \
the hash of the rest. A line that was edited, cut or merged badly is refused, and nothing of the file is imported.",
    },
    Entry {
        code: Code(718),
        title: "evidence has an impossible value",
        explain: "Names must not be empty or hold blanks, steps are counted from 1, speed-ups are positive. Trouble of the machine \
(no compiler, no GPU, a full disk) has no form as evidence: it says nothing about a step.",
    },
    Entry {
        code: Code(719),
        title: "the memory knows nothing of this name",
        explain: "`kopt memory show` takes a direction, a skill, or the first digits of the id of a piece of evidence; `--context` one \
that has evidence, such as `sm_80/cuda/reduction`, `cuda/reduction` or `reduction`.",
    },
];
