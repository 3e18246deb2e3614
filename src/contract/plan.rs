//! The launch plan of one computation: what runs, in which order, on which arguments.

use super::args::{Arg, Role};
use super::dims::Dim;
use super::expr::Expr;
use super::permit::Permissions;
use super::proposed::{Open, OpenKind, Proposed};
use super::reference::Reference;
use super::tolerance::Tolerance;
use crate::ir::Scalar;
use crate::source::Span;

/// One computation. A contract of a single one keeps it at the top of its file, under no name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub name: String,
    pub dims: Vec<Dim>,
    /// Relations between dims that the caller guarantees, such as `k <= n`.
    pub require: Vec<Expr>,
    pub args: Vec<Arg>,
    pub steps: Vec<Step>,
    pub tolerances: Vec<Tolerance>,
    pub reference: Reference,
    pub permissions: Permissions,
    /// Whether the buffers of different arguments never overlap in the caller's program.
    pub noalias: bool,
    /// Groups of arguments for which the caller may pass one buffer.
    pub alias: Vec<Vec<String>>,
    /// Comments that stand above it when it is printed.
    pub notes: Notes,
}

/// Comments; they do not count when contracts are compared.
#[derive(Clone, Debug, Default)]
pub struct Notes(pub Vec<String>);

impl PartialEq for Notes {
    fn eq(&self, _: &Notes) -> bool {
        true
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Launch(Launch),
    /// Sets every byte of a buffer, or of its first `bytes`.
    Fill {
        buffer: BufferRef,
        byte: u8,
        bytes: Option<Expr>,
    },
    /// Copies `bytes`, or as many as both have, from one buffer to another.
    Copy {
        from: BufferRef,
        to: BufferRef,
        bytes: Option<Expr>,
    },
}

/// A place in a buffer; `offset` counts elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferRef {
    pub buffer: String,
    pub offset: Option<Expr>,
}

/// One launch.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// As the file names it, without template arguments.
    pub kernel: String,
    pub template: Vec<String>,
    /// Blocks along x, y, z; missing axes are 1.
    pub grid: Vec<Expr>,
    /// Threads along x, y, z; missing axes are 1.
    pub block: Vec<Expr>,
    /// Bytes of dynamic shared memory; `None` is 0.
    pub shared: Option<Expr>,
    /// Blocks of a cluster; empty where there are none.
    pub cluster: Vec<Expr>,
    pub args: Vec<Argument>,
    /// It prepares buffers and is no part of what is measured.
    pub initialises: bool,
    pub proposed: Proposed,
    /// Comments that stand above it when it is printed.
    pub notes: Vec<String>,
    pub spans: LaunchSpans,
}

/// Where the parts of a launch stand in the contract.
#[derive(Clone, Debug, Default)]
pub struct LaunchSpans {
    pub whole: Option<Span>,
    pub kernel: Option<Span>,
    pub grid: Option<Span>,
    pub block: Option<Span>,
    pub shared: Option<Span>,
    pub args: Vec<Span>,
}

/// What a kernel's parameter is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Buffer(BufferRef),
    /// `i32(n)`: an integer of the parameter's type.
    Int {
        dtype: Scalar,
        value: Expr,
    },
    /// `f32(0.5)`
    Float {
        dtype: Scalar,
        value: f64,
    },
    /// A scalar of `args` by its name.
    Scalar(String),
    /// A null pointer.
    Null,
    /// `?`: not known.
    Open,
}

impl PartialEq for Launch {
    /// Comments and places do not count.
    fn eq(&self, o: &Launch) -> bool {
        (&self.kernel, &self.template, &self.grid, &self.block, &self.shared)
            == (&o.kernel, &o.template, &o.grid, &o.block, &o.shared)
            && (&self.cluster, &self.args, self.initialises, &self.proposed)
                == (&o.cluster, &o.args, o.initialises, &o.proposed)
    }
}

impl Plan {
    pub fn dim(&self, name: &str) -> Option<&Dim> {
        self.dims.iter().find(|d| d.name == name)
    }

    pub fn arg(&self, name: &str) -> Option<&Arg> {
        self.args.iter().find(|a| a.name == name)
    }

    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|s| if let Step::Launch(l) = s { Some(l) } else { None })
    }

    /// Everything that is missing or only proposed, in the order of the contract.
    pub fn open(&self) -> Vec<Open> {
        let mut found = vec![];
        for d in &self.dims {
            let table = format!("dims.{}", d.name);
            if d.samples.is_empty() {
                let question = format!("which values of `{}` does the caller use?", d.name);
                found.push(open(&table, "samples", OpenKind::Missing, question, d.span));
            }
            proposals(&mut found, &table, &d.proposed, d.span);
        }
        for a in &self.args {
            self.open_arg(a, &mut found);
        }
        for (i, l) in self.launches().enumerate() {
            let table = format!("launch {} of `{}`", i + 1, l.kernel);
            for (field, list) in [("grid", &l.grid), ("block", &l.block)] {
                if list.is_empty() {
                    let question = format!("with which {field} is `{}` launched?", l.kernel);
                    found.push(open(&table, field, OpenKind::Missing, question, l.spans.whole));
                }
            }
            for (n, a) in l.args.iter().enumerate().filter(|(_, a)| **a == Argument::Open) {
                let span = l.spans.args.get(n).copied().or(l.spans.whole);
                let _ = a;
                let question = format!("what is argument {} of `{}`?", n + 1, l.kernel);
                found.push(open(&table, "args", OpenKind::Missing, question, span));
            }
            proposals(&mut found, &table, &l.proposed, l.spans.whole);
        }
        found
    }

    fn open_arg(&self, a: &Arg, found: &mut Vec<Open>) {
        let table = format!("args.{}", a.name);
        if a.dtype.is_none() {
            let question = format!("what are the elements of `{}`?", a.name);
            found.push(open(&table, "dtype", OpenKind::Missing, question, a.span));
        }
        if a.role == Role::Scalar && a.value.is_none() {
            let question = format!("which value has `{}`?", a.name);
            found.push(open(&table, "value", OpenKind::Missing, question, a.span));
        }
        if a.role != Role::Scalar && a.shape.is_empty() {
            let question = format!("how many elements has `{}`?", a.name);
            found.push(open(&table, "shape", OpenKind::Missing, question, a.span));
        }
        // A range that is asked for and that nobody could guess.
        if a.proposed.fields.iter().any(|f| f == "legal") && a.legal.is_none() {
            let question = format!("which elements of `{}` are legal? They decide where memory is accessed", a.name);
            found.push(open(&table, "legal", OpenKind::Missing, question, a.span));
        }
        let mut guesses = a.proposed.clone();
        guesses.fields.retain(|f| f != "legal" || a.legal.is_some());
        proposals(found, &table, &guesses, a.span);
    }
}

fn open(table: &str, field: &str, kind: OpenKind, question: String, span: Option<Span>) -> Open {
    Open { table: table.to_owned(), field: field.to_owned(), kind, question, span }
}

fn proposals(found: &mut Vec<Open>, table: &str, proposed: &Proposed, span: Option<Span>) {
    let all = proposed.all.then_some("everything").into_iter();
    for field in all.chain(proposed.fields.iter().map(String::as_str)) {
        let question = match field {
            "everything" => "is all of this as the caller has it?".to_owned(),
            field => format!("is `{field}` as the caller has it?"),
        };
        found.push(open(table, field, OpenKind::Proposed, question, span));
    }
}
