//! K070x: walks of `kopt optimize`.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(700),
        title: "there is no such policy",
        explain: "`--policy` takes `full` or the name of an ablation or baseline (docs/memory.md). A walk makes at least one step.",
    },
    Entry {
        code: Code(701),
        title: "the journal cannot be read or written",
        explain: "Every choice, candidate and verdict is written into the journal before it counts. The step that could not be written \
did not happen; everything before it is kept, and `--resume` goes on from there.",
    },
    Entry {
        code: Code(702),
        title: "the journal was damaged",
        explain: "A line of the journal does not fit its check, or is no entry: the disk, or a program that wrote into the file. What \
stood before that line is used; the line and everything after it were moved to a file beside the journal.",
    },
    Entry {
        code: Code(703),
        title: "the run is under way",
        explain: "Another process holds this journal. Two runs of one file would spend twice and overwrite each other's best text. A \
process that was killed holds nothing.",
    },
    Entry {
        code: Code(704),
        title: "there is an earlier run",
        explain: "The folder has the journal of an earlier run. `--resume` goes on with it: no verdict that it has is judged again. \
Another `--out`, or removing the folder, begins a new run.",
    },
    Entry {
        code: Code(705),
        title: "the journal is about something else",
        explain: "The text of the file, the way of judging (GPU, sizes, kernel, contract, version of kopt) or the policy differ from \
those that the journal was begun with, or its steps are not those that this run makes. Its verdicts would be said of something that \
they were not found for.",
    },
    Entry {
        code: Code(706),
        title: "this is no journal, or one of another version",
        explain: "The file in the place of the journal was not written by this version of `kopt optimize`. It was left as it is.",
    },
];
