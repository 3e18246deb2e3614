//! K02xx and K03xx: conditions, refusals and rewriting.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(200),
        title: "a skill applies here",
        explain: "Every precondition of the skill is proved, assumed or guarded at this place, and its `pays when` \
clause is true or cannot be answered without measurements. The notes list what is tested at run time. `kopt apply \
--skill NAME FILE` shows the rewrite as a diff; `--write` writes it.",
    },
    Entry {
        code: Code(201),
        title: "a condition of the skill is violated",
        explain: "At least one precondition is known to be false here, and the message names the witness: a \
counterexample, or the lines that contradict it. Applying the skill anyway would change what the kernel computes. All \
failed conditions are listed, not only the first. `kopt why FILE:LINE SKILL` shows those that hold as well.",
    },
    Entry {
        code: Code(202),
        title: "a condition of the skill is unknown",
        explain: "kopt can neither prove nor disprove a precondition: the index is data-dependent, a macro is opaque, \
the launch is not visible. Unknown is never permission. The next step says what would make it known, often a line such \
as `// kopt: assume cols % 4 == 0` above the kernel; the verdict is then `assumed`, by name.",
    },
    Entry {
        code: Code(203),
        title: "a feature is missing or in conflict",
        explain: "Skills state which features they require, provide and conflict with. A rewrite that pipelines a \
shared tile needs the tile to be there; one that pads a tile conflicts with one that swizzles it.",
    },
    Entry {
        code: Code(204),
        title: "sound, not expected to pay",
        explain: "All preconditions hold, so the rewrite would be correct, but the skill's `pays when` clause is false \
here. `kopt apply` leaves such places alone unless `--even-if-not-paying` is given.",
    },
    Entry {
        code: Code(206),
        title: "already behind the same run-time test",
        explain: "This is the fallback arm that an earlier run wrote: it runs only when the test of the skill's \
conditions is false. Rewriting it would repeat the test for nothing.",
    },
    Entry {
        code: Code(207),
        title: "one access of the loop stays as it is",
        explain: "The loop is rewritten, and this access in it is not, because a condition fails for it alone. The \
others do not depend on it.",
    },
    Entry {
        code: Code(301),
        title: "not edited: the text is not certain",
        explain: "The function holds a syntax error, a construct that probably means something else to the compiler \
than to the parser, or an `#if` branch that was not read, in or around the place to be edited. kopt never edits such a \
place. Moving the `#if` to whole statements usually helps.",
    },
    Entry {
        code: Code(302),
        title: "a body edits what its skill does not declare",
        explain: "Every skill declares in `touches` whether it changes the body, the signature, the launch, the \
workspace or the host code. An edit elsewhere is refused, whatever the body says.",
    },
    Entry {
        code: Code(303),
        title: "a promised feature is missing after the rewrite",
        explain: "After each rewrite the text is read again and the features that the skill provides are looked for. \
One of them was not found, so the rewrite was taken back.",
    },
    Entry {
        code: Code(304),
        title: "a pass broke off",
        explain: "The body met a shape that the skill's conditions should have excluded. Nothing was written. This is \
a defect of the skill; please report it with the kernel.",
    },
    Entry {
        code: Code(305),
        title: "no model is configured",
        explain: "The skill's body is to be written by a language model. None is configured, so the skill is checked \
and explained but not applied.",
    },
    Entry {
        code: Code(306),
        title: "no rule of the template matches",
        explain: "The skill's conditions hold, but none of its patterns has the shape of this expression.",
    },
    Entry {
        code: Code(307),
        title: "the run-time test cannot be written",
        explain: "A condition is unknown and the skill allows a guard, but there is no place for it: the rewritten \
statements declare names that later statements use, or the test needs values that the launch does not show.",
    },
    Entry {
        code: Code(308),
        title: "the rewritten text does not parse cleanly",
        explain: "After the edit, a function has a flaw that it had not before. The edit was taken back; the file is \
unchanged.",
    },
    Entry {
        code: Code(309),
        title: "a kernel is gone after the rewrite",
        explain: "Every kernel of the original must be found again in the rewritten text. One was not; the edit was \
taken back.",
    },
    Entry {
        code: Code(310),
        title: "the skills do not come to an end",
        explain: "Several skills in one run are applied until nothing changes. Here a state of the text came back, or \
the number of rewrites passed its limit, so that two skills undo each other's work. Nothing was written; the cycle is \
printed. Run the skills one at a time, or add a `conflicts` feature to one of them.",
    },
    Entry {
        code: Code(311),
        title: "edits cannot be applied",
        explain: "Two edits overlap, an edit lies outside the file, the file is not UTF-8, or it changed since it was \
read. Nothing was written.",
    },
    Entry {
        code: Code(312),
        title: "the rewritten text is not covered by its equivalence argument",
        explain: "A skill names the argument by which its result equals the original: the same iterations in blocks, the same \
subscripts, the same tree. kopt reads the new text by that argument, without knowing the code that wrote it, and refuses \
what it does not recognise. The file is unchanged. This is a fault of the skill's body: please report it.",
    },
];
