//! kopt: a source-to-source optimiser for GPU kernels that applies a rewrite only where it can show that it is sound.
//!
//! # Guide
//! A file becomes a [`source::SourceFile`], is masked ([`source::mask`]) and lowered ([`syntax`]) to an [`ir::Unit`];
//! units form an [`ir::Program`]. [`facts`] answers questions about it, [`predicate`] gives the questions names. A
//! [`skill::Skill`] states when a rewrite is sound and when it pays; [`skill::engine`] finds the places, judges the
//! conditions and runs the body: a template of the skill, or a [`pass`] in `passes/`. Edits ([`edit`]) are data. What
//! is said to the user is a [`diag::Diagnostic`].
//!
//! # Module map, in the order in which modules may use each other
//! `source` -> `diag` -> `ir` -> `syntax` -> `contract` -> `facts` -> `predicate` -> `edit` -> `skill`, `pass`; all of
//! these are pure, and so are `infer`, which proposes contracts from facts, and `ptx`, which runs kernels in an
//! interpreter. `project` (reading files) and `compile` (the gate's first tier) do I/O; `gate` compares two versions of a
//! computation; `memory` (pure but for its store) remembers what was tried, and `policy` (pure) chooses by it; `optimize` walks from step to step and keeps the journal; `lock`, `config` and `gpu` stand at the end; the command line (`src/cli`) is the binary's.
//!
//! # Invariants
//! 1. The pure modules do no I/O.
//! 2. Parsing never fails and never loses a kernel in silence (K0002).
//! 3. Text that was not certainly understood is never edited.
//! 4. A refusal leaves the bytes identical; bytes outside edits never change; applying twice equals applying once.
//! 5. A rewrite needs a [`skill::engine::Proof`], which only the engine makes, for one revision of the text.
//! 6. A body edits only what its skill declares to touch.
//! 7. Facts of a template hold for every known instantiation.
//! 8. Results depend neither on thread count nor on hash order.
//! 9. An absent tier of the gate is named and supports no claim.
//! 10. Trouble of the machine is never a verdict about code.
//! 11. Candidate code runs only in child processes with limits, or in the interpreter, which has its own.
//!
//! `docs/architecture.md` says why, and how to add a skill, a pass, a question or a language.

pub mod bundle;
pub mod campaign;
pub mod child;
pub mod compile;
pub mod config;
pub mod contract;
pub mod diag;
pub mod edit;
pub mod facts;
pub mod gate;
pub mod gpu;
pub mod honesty;
pub mod infer;
pub mod ir;
pub mod lock;
pub mod lower;
pub mod memory;
pub mod optimize;
pub mod pass;
pub mod policy;
pub mod predicate;
pub mod project;
pub mod ptx;
pub mod report;
pub mod skill;
pub mod source;
pub mod syntax;
