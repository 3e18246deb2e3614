//! A site: one skill bound to one place, and the proof that its conditions hold there.

use std::collections::BTreeMap;

use super::judge::Judged;
use crate::ir::{
    Access, Anchor, ExprId, Function, FunctionRef, Launch, Loop, Place, Program, Reduction, Scalar, SharedTile,
};
use crate::pass::Broken;
use crate::predicate::Value;
use crate::skill::ast::{GuardPolicy, Skill};
use crate::source::{Revision, Sources, Span};

/// What a name of the `match` clause is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    One(Anchor),
    /// `each`: the members that passed every condition.
    Each(Vec<Anchor>),
}

impl Bound {
    pub fn anchors(&self) -> &[Anchor] {
        match self {
            Bound::One(anchor) => std::slice::from_ref(anchor),
            Bound::Each(anchors) => anchors,
        }
    }
}

/// A skill bound to anchors of one function. Lookups name what the skill's `match` clause binds; asking for anything
/// else is [`Broken`].
pub struct Site<'a> {
    pub skill: &'a Skill,
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub at: FunctionRef,
    pub bindings: BTreeMap<String, Bound>,
    /// `let` values and tunables.
    pub values: BTreeMap<String, Value>,
}

impl<'a> Site<'a> {
    pub fn function(&self) -> &'a Function {
        self.program.function(self.at)
    }

    pub fn text(&self, span: Span) -> &'a str {
        self.sources.slice(span)
    }

    pub fn text_of(&self, file: crate::source::FileId) -> &'a str {
        &self.sources.get(file).text
    }

    /// The place that the report speaks of: the first binding's span.
    pub fn span(&self) -> Span {
        let first = self.skill.bindings.first().and_then(|b| self.bindings.get(&b.name.node));
        first.and_then(|b| b.anchors().first()).map_or(self.function().name_span, |a| a.span)
    }

    /// The place and kind of the first binding, which name the site in the lock.
    pub fn place(&self) -> Place {
        let first = self.skill.bindings.first().and_then(|b| self.bindings.get(&b.name.node));
        first.and_then(|b| b.anchors().first()).map_or(Place::Kernel, |a| a.place)
    }

    pub fn anchor(&self, name: &str) -> Result<Anchor, Broken> {
        self.bindings
            .get(name)
            .and_then(|b| b.anchors().first())
            .copied()
            .ok_or_else(|| Broken(format!("`{name}` is not bound")))
    }

    pub fn loop_at(&self, name: &str) -> Result<&'a Loop, Broken> {
        match self.anchor(name)?.place {
            Place::Loop(id) => Ok(&self.function().loops[id.0 as usize]),
            _ => Err(wrong(name, "loop")),
        }
    }

    pub fn accesses(&self, name: &str) -> Result<Vec<&'a Access>, Broken> {
        let bound = self.bindings.get(name).ok_or_else(|| Broken(format!("`{name}` is not bound")))?;
        let f = self.function();
        let of = |a: &Anchor| match a.place {
            Place::Access(id) => Ok(&f.accesses[id.0 as usize]),
            _ => Err(wrong(name, "access")),
        };
        bound.anchors().iter().map(of).collect()
    }

    pub fn tile(&self, name: &str) -> Result<&'a SharedTile, Broken> {
        match self.anchor(name)?.place {
            Place::Tile(id) => Ok(&self.function().tiles[id.0 as usize]),
            _ => Err(wrong(name, "shared tile")),
        }
    }

    pub fn reduction(&self, name: &str) -> Result<&'a Reduction, Broken> {
        match self.anchor(name)?.place {
            Place::Reduction(id) => Ok(&self.function().reductions[id.0 as usize]),
            _ => Err(wrong(name, "reduction")),
        }
    }

    pub fn expr(&self, name: &str) -> Result<ExprId, Broken> {
        match self.anchor(name)?.place {
            Place::Expr(id) => Ok(id),
            _ => Err(wrong(name, "expression")),
        }
    }

    /// Every launch of the kernel that the program shows.
    pub fn launches(&self) -> Vec<&'a Launch> {
        self.program.launches_of(self.at).into_iter().map(|l| self.program.launch(l)).collect()
    }

    /// `let` values and tunables as texts; those that are no constants are left out.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let text = |value: &Value| match value {
            Value::Bool(b) => Some(b.to_string()),
            Value::Int(p) => p.poly.as_constant().map(|n| n.to_string()),
            Value::Symbol(word) => Some(word.clone()),
            Value::DType(scalar) => Some(format!("{scalar:?}").to_lowercase()),
            _ => None,
        };
        self.values.iter().filter_map(|(name, v)| Some((name.clone(), text(v)?))).collect()
    }

    /// A `let` value that is an element type.
    pub fn dtype(&self, name: &str) -> Result<Scalar, Broken> {
        match self.values.get(name) {
            Some(Value::DType(scalar)) => Ok(*scalar),
            _ => Err(Broken(format!("`{name}` is no element type here"))),
        }
    }

    /// A `let` value or tunable that is an integer.
    pub fn integer(&self, name: &str) -> Result<i64, Broken> {
        let value = match self.values.get(name) {
            Some(Value::Int(n)) if !n.clamped => n.poly.as_constant().and_then(|n| i64::try_from(n).ok()),
            _ => None,
        };
        value.ok_or_else(|| Broken(format!("`{name}` is no integer here")))
    }
}

fn wrong(name: &str, what: &str) -> Broken {
    Broken(format!("`{name}` is bound to something that is no {what}"))
}

/// Evidence that every condition of the skill holds at a site of one revision, some of them behind guards. Only
/// [`super::judge`] makes one.
#[derive(Clone, Debug)]
pub struct Proof {
    pub(super) revision: Revision,
    pub(super) judged: Vec<Judged>,
}

impl Proof {
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// All conditions with their verdicts, in the order of the skill file.
    pub fn conditions(&self) -> &[Judged] {
        &self.judged
    }

    /// Whether some condition rests on a remainder that the pass has to emit.
    pub fn needs_tail(&self) -> bool {
        self.judged.iter().any(|j| j.guard() == Some(GuardPolicy::Tail))
    }
}
