//! K01xx: skill files and directions.

use super::{Code, Entry};

pub const ENTRIES: &[Entry] = &[
    Entry {
        code: Code(101),
        title: "text that means nothing in a skill file",
        explain: "A skill file holds words, numbers, texts in quotes, brackets and operators. Anything else stands in quotes \
                  or behind `#` as a comment.",
    },
    Entry {
        code: Code(102),
        title: "a text is not closed",
        explain: "A text in \"...\" ends on its line. A text over several lines stands in \"\"\"...\"\"\"; its common \
                  indentation is removed and everything else is kept as written.",
    },
    Entry {
        code: Code(103),
        title: "brackets do not match",
        explain: "Every `{` and `(` needs its partner. Where a clause word starts a line no deeper than the clause before \
                  it, an open bracket is taken to be forgotten and reading goes on, so that one missing brace is one message.",
    },
    Entry {
        code: Code(104),
        title: "unknown clause",
        explain: "A skill is made of the clauses direction, intent, class, touches, scope, match, let, require, pays when, \
                  features, effect, risk, tune, body, carrier, equivalence, example and refuse.",
    },
    Entry {
        code: Code(105),
        title: "something else is expected here",
        explain: "The grammar allows other things at this place; the message lists them. Comparisons do not chain: write \
                  `1 < n and n < 8`.",
    },
    Entry {
        code: Code(106),
        title: "nested too deeply",
        explain: "Brackets nest 24 deep and operators 48. Give names to parts of a condition with `let`.",
    },
    Entry {
        code: Code(107),
        title: "a number cannot be read",
        explain: "Integers fit 64 bits. Sizes take the units B, KB, KiB, MB and MiB without a blank: `48KB`. As usual for \
                  on-chip memory, KB is 1024 bytes.",
    },
    Entry { code: Code(108), title: "the file is too large", explain: "Skill files over 1 MiB are not read." },
    Entry {
        code: Code(109),
        title: "more than one skill in a file",
        explain: "One file holds one skill and carries its name, so that a skill can be found, moved and versioned alone.",
    },
    Entry {
        code: Code(110),
        title: "a clause is missing",
        explain: "Every skill has a title and the clauses direction, intent, class, touches, match and require.",
    },
    Entry {
        code: Code(111),
        title: "given twice",
        explain: "The clauses let, match, effect, risk, tune, body, carrier, example and refuse may be repeated, all others \
                  stand once; so do the words inside of them.",
    },
    Entry {
        code: Code(112),
        title: "not one of the known words",
        explain: "Classes, surfaces, guards, groups, languages and kinds of body are closed lists; the message names them.",
    },
    Entry {
        code: Code(113),
        title: "a reason is missing",
        explain: "Each condition says with `because` what goes wrong where it does not hold: this is the text that a user reads \
                  in a refusal. The class is justified in the same way, and a refuse case names what refuses it.",
    },
    Entry {
        code: Code(114),
        title: "a group of conditions is missing",
        explain: "`require` speaks of datatypes, layout, storage, pipeline and hardware, so that none of the five is forgotten. \
                  If nothing has to hold write, for example, `hardware none`.",
    },
    Entry {
        code: Code(115),
        title: "an empty group of conditions",
        explain: "`layout { }` may mean that nothing has to hold or that somebody has not got round to it. Write `layout none`.",
    },
    Entry {
        code: Code(116),
        title: "not a name for a skill",
        explain: "Skills are called verb_object in lower case, and their file carries the same name: \
                  `skills/memory-access/vectorize_access.skill`.",
    },
    Entry {
        code: Code(117),
        title: "the scope cannot be read",
        explain: "Platforms are `sm_80`, `sm_70..`, `sm_80..sm_90` (both ends included) or `sm_90a` for features of one \
                  architecture alone. `?` behind a prior skill means: better after it, but sound without.",
    },
    Entry {
        code: Code(118),
        title: "an incomplete clause",
        explain: "`touches` names at least one thing, a template has rules, a case has a program after `before`.",
    },
    Entry {
        code: Code(120),
        title: "a name that is not bound",
        explain: "Conditions, features and effects may use the anchors of `match`, the values of `let` and `tune`, predicates, \
                  and the words that a predicate's parameter lists. Names hold hyphens, so a minus needs a blank behind it.",
    },
    Entry {
        code: Code(121),
        title: "unknown predicate",
        explain: "Conditions ask registered predicates only: each has an evaluator over the facts, an explanation and, where \
                  that is possible, a run-time test. A skill cannot invent one.",
    },
    Entry {
        code: Code(122),
        title: "wrong number of arguments",
        explain: "The message shows how the predicate is called; arguments in square brackets may be left out.",
    },
    Entry {
        code: Code(123),
        title: "a value of the wrong type",
        explain: "Anchors have the surface that `match` gives them; a predicate on loops does not take an access. Sizes and \
                  integers mix, other types do not.",
    },
    Entry {
        code: Code(124),
        title: "unknown keyword argument",
        explain: "`address(a, k = first)` names a loop of `match` and where its variable stands. Other predicates take the \
                  keywords that their help lists.",
    },
    Entry {
        code: Code(125),
        title: "no guard can be written",
        explain: "`guard tail`, `dispatch` and `in-kernel` test a condition when the kernel runs, which only some predicates \
                  allow. `guard contract` lets the caller promise it instead. `pays when` takes no guard.",
    },
    Entry {
        code: Code(126),
        title: "not a condition",
        explain: "A condition is true or false: a comparison, a membership, a predicate that answers yes or no.",
    },
    Entry {
        code: Code(127),
        title: "a name is used twice",
        explain: "Anchors, `let`, `tune`, the labels of conditions and the titles of cases are each unique in a skill.",
    },
    Entry {
        code: Code(128),
        title: "not a feature at an anchor",
        explain: "Features are dotted names at an anchor, `access.vector16 @ a`: plans are made by comparing what one skill \
                  provides with what the next requires at the same place.",
    },
    Entry { code: Code(129), title: "unknown direction", explain: "The directions stand in skills/directions.toml." },
    Entry {
        code: Code(130),
        title: "an unbound metavariable",
        explain: "The replacement of a template may use `$x` only if its pattern holds `$x`, or if `let` or `tune` gives x.",
    },
    Entry {
        code: Code(131),
        title: "no body that can be used",
        explain: "At least one body that is not an inverse carries the skill out, in a language that its scope includes.",
    },
    Entry {
        code: Code(132),
        title: "no example",
        explain: "Examples are the tests and the documentation of a skill; at least one program shows where it fires.",
    },
    Entry {
        code: Code(133),
        title: "a condition without a refuse case",
        explain: "A condition that no case exercises may be wrong or superfluous without anybody noticing. The case names the \
                  condition by label or predicate (`because aligned`), or its group (`because layout`), which counts for one \
                  condition of the group.",
    },
    Entry {
        code: Code(134),
        title: "a refuse case names nothing that refuses",
        explain: "`because` names a group, a label, a predicate (also `layout.aligned`), `match`, `scope` or `pays`.",
    },
    Entry {
        code: Code(135),
        title: "an equivalence argument that does not fit",
        explain: "`equivalence NAME \"\"\"..\"\"\"` names an argument of the engine, which is checked on every rewrite and rests on \
                  conditions that the skill must ask for. Without a name the text is for people, and no site is proved.",
    },
    Entry {
        code: Code(138),
        title: "a tunable cannot be tried",
        explain: "`tune unroll in {1, 2, 4}`: integers, at least one, the default first.",
    },
    Entry {
        code: Code(139),
        title: "a feature contradicts itself",
        explain: "A skill cannot provide or require a feature and be in conflict with it at the same anchor.",
    },
    Entry {
        code: Code(140),
        title: "two skills of one name",
        explain: "Names are unique over the built-in skills and those of the user.",
    },
    Entry {
        code: Code(141),
        title: "a native body in a user's skill",
        explain: "Native bodies are Rust code in passes/ and compiled into kopt. A skill loaded at run time has a template or \
                  model body.",
    },
    Entry {
        code: Code(142),
        title: "a skill in the wrong folder",
        explain: "Built-in skills lie in the folder of their direction.",
    },
    Entry {
        code: Code(150),
        title: "directions.toml cannot be read",
        explain: "Each direction has goal, trigger, risk, hazard and serves, and a list `to` of transitions with direction, \
                  when, why, risk and prior.",
    },
    Entry {
        code: Code(151),
        title: "a transition to an unknown direction",
        explain: "The target of a transition is a direction of the same file, each named once.",
    },
    Entry {
        code: Code(152),
        title: "a weight out of range",
        explain: "Priors, hazards and weights lie between 0 and 1.",
    },
    Entry {
        code: Code(153),
        title: "unknown bottleneck",
        explain: "The gate tells five bottlenecks apart: memory, latency, compute, shared and launch.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_of_this_family() {
        let codes: Vec<u16> = ENTRIES.iter().map(|e| e.code.0).collect();
        assert!(codes.windows(2).all(|w| w[0] < w[1]));
        assert!(codes.iter().all(|c| (100..200).contains(c)));
    }
}
