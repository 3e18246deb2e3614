//! The buffers of a plan: their types, sizes, roles and contents.

use std::collections::BTreeSet;

use super::build::{Builder, Use, axes};
use super::dims::Choice;
use super::usage::Usage;
use super::value::{Event, Launched, Val, divide};
use crate::contract::{Arg, Expr, Init, Op, Plan, Role};
use crate::ir::*;

/// What stands in a buffer before its first use.
#[derive(Default)]
pub(super) struct Before {
    /// Zeros, or contents, in all of it.
    pub init: Option<Option<u8>>,
    /// The fills behind that, which no later contents cover: steps of the plan.
    pub fills: Vec<usize>,
    /// Where contents were written over a part of what a fill had left.
    pub mixed: Option<crate::source::Span>,
}

/// What is known of one buffer of the plan.
pub(super) struct Memory {
    pub id: usize,
    pub name: String,
    pub dtype: Option<Scalar>,
    /// Elements, once they are known.
    pub elements: Result<Expr, String>,
}

impl Builder<'_, '_> {
    pub(super) fn memories(&self, uses: &[Use]) -> Vec<Memory> {
        let mut found: Vec<Memory> = vec![];
        let mut add = |id: usize, dtype: Option<Scalar>| match found.iter_mut().find(|m| m.id == id) {
            Some(m) => m.dtype = m.dtype.or(dtype),
            None => found.push(Memory { id, name: String::new(), dtype, elements: Err(String::new()) }),
        };
        for u in uses {
            for (n, v) in u.l.args.iter().enumerate() {
                let Val::Device { buffer, .. } = v else { continue };
                let ty = u.f.params.get(n).map(|p| &u.f.var(*p).ty);
                let own = ty.and_then(Type::element).and_then(|t| self.element_of(u, t)).map(|(s, _)| s);
                add(*buffer, own);
            }
        }
        let mut taken = BTreeSet::new();
        for m in &mut found {
            let Some(b) = self.host.buffers.get(m.id) else { continue };
            m.dtype = m.dtype.or(b.element.map(|(s, _)| s));
            let plain: String = b.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let base = if plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                plain
            } else {
                format!("b{plain}")
            };
            m.name = base.clone();
            let mut n = 2;
            while !taken.insert(m.name.clone()) {
                m.name = format!("{base}_{n}");
                n += 1;
            }
            m.elements = match (&b.bytes, m.dtype) {
                (Some(bytes), Some(d)) => Ok(divide(bytes.clone(), Expr::Int(i64::from(d.bytes())))),
                (Some(_), None) => Err("the type of the elements is not known".into()),
                (None, _) => Err(b.why_unknown.clone()),
            };
        }
        found
    }

    /// Sizes of memory from outside: the smallest that holds every access.
    pub(super) fn extents(&self, uses: &[Use], memories: &mut [Memory]) {
        for m in memories.iter_mut() {
            let given = self.host.buffers.get(m.id).is_some_and(|b| b.bytes.is_none());
            let (true, Some(dtype)) = (given, m.dtype) else { continue };
            let mut sizes: Vec<Expr> = vec![];
            let mut all = true;
            for u in uses {
                let Some(known) = self.kernels.known(u.r) else { continue };
                for (n, v) in u.l.args.iter().enumerate() {
                    let (Val::Device { buffer, bytes }, Some(p)) = (v, u.f.params.get(n)) else { continue };
                    if *buffer != m.id {
                        continue;
                    }
                    let facts = known.facts(Some(u.l.at));
                    let setting = self.setting(facts, u, &Expr::clone, 1);
                    let followed = setting.followed().is_ok();
                    match setting.extent(*p, dtype.bytes()).filter(|_| followed && bytes.constant() == Some(0)) {
                        Some(e) if !sizes.contains(&e) => sizes.push(e),
                        Some(_) => {}
                        None => all = false,
                    }
                }
            }
            if all && let Some(size) = sizes.into_iter().reduce(|a, b| Expr::binary(Op::Max, a, b)) {
                m.elements = Ok(size);
            }
        }
    }

    pub(super) fn arg(&self, uses: &[Use], m: &Memory, choice: &Choice) -> Arg {
        let touched = self.touched(uses, m.id);
        let mut arg = Arg { dtype: m.dtype, ..Arg::new(&m.name, Role::In) };
        match &m.elements {
            Ok(e) => arg.shape = axes(&choice.settle(e)),
            Err(why) => arg.notes.push(format!("shape = [\"?\"]   # how many elements has it? {why}")),
        }
        if m.dtype.is_none() {
            arg.notes.push("dtype = \"?\"   # what are its elements? The files do not say".into());
        }
        let first = uses.iter().map(|u| u.event).min().unwrap_or(0);
        let first_use = touched.first().map_or(first, |(e, _)| *e);
        let Before { init: last_init, fills, mixed } = self.before(m.id, first_use);
        // A launch that is given it twice reads with one parameter what is there before it writes with another.
        let at_first: Vec<&Usage> = touched.iter().filter(|(e, _)| *e == first_use).map(|(_, u)| u).collect();
        let own = |u: &&Usage| u.reads && (u.reads_first || !u.writes);
        let reads_first = at_first.into_iter().any(|u| own(&u));
        let writes = touched.iter().any(|(_, u)| u.writes);
        let given = self.host.buffers.get(m.id).is_some_and(|b| b.is_given || b.is_managed);
        arg.role = match (writes, reads_first) {
            (false, _) => Role::In,
            (true, true) => Role::InOut,
            (true, false) => Role::Out,
        };
        match (last_init, arg.role) {
            (Some(Some(0)), _) => arg.init = Some(Init::Zero),
            (Some(None), Role::Out) => {}
            (None, Role::In | Role::InOut) if !given => {
                arg.proposed.field("init");
                arg.notes.push("It is read, and nothing in view fills it before: with what is it filled?".into());
                arg.init = Some(Init::Keep);
            }
            _ => {}
        }
        if let Some(span) = mixed {
            arg.proposed.field("init");
            let line = self.line(span);
            arg.notes.push(format!(
                "Line {line}: the host writes a part of what it has filled, which this plan leaves out."
            ));
        }
        if arg.init == Some(Init::Zero) && arg.role == Role::InOut {
            arg.role = Role::Out;
        }
        // What a step fills is no input that stays as it is.
        if !fills.is_empty() && arg.role == Role::In {
            arg.role = Role::InOut;
            arg.init = arg.init.filter(|i| *i != Init::Keep).or(last_init.is_none().then_some(Init::Poison));
        }
        let last_use = touched.last().map_or(first, |(e, _)| *e);
        let between = self.host.events.iter().enumerate().skip(first_use).take(last_use.saturating_sub(first_use));
        let step = |e: &Event| matches!(e, Event::Fill { .. } | Event::Copy { .. });
        if arg.role == Role::In && between.into_iter().any(|(_, e)| step(e) && e.writes().is_some_and(|w| w.0 == m.id))
        {
            arg.role = Role::InOut;
        }
        if touched.iter().any(|(_, u)| u.opaque) && arg.role != Role::In {
            arg.notes
                .push("A function out of view is given its address; its role is that of the parameter's type.".into());
        }
        arg
    }

    /// What stands in a buffer before an event.
    pub(super) fn before(&self, id: usize, event: usize) -> Before {
        let mut found = Before::default();
        for (i, e) in self.host.events.iter().enumerate().take(event) {
            let covers = self.host.covers(e);
            match e {
                Event::Fill { buffer, byte, .. } if *buffer == id => match (covers, byte) {
                    (true, Some(0)) => found = Before { init: Some(Some(0)), ..Before::default() },
                    (true, _) => found = Before { init: found.init, fills: vec![i], mixed: None },
                    (false, _) => found.fills.push(i),
                },
                Event::ToDevice { buffer, span, .. } if *buffer == id => self.contents(&mut found, e, covers, *span),
                Event::Copy { to, span, .. } if to.0 == id => self.contents(&mut found, e, covers, *span),
                // What another computation left there is as good as any contents.
                Event::Launch(l) if self.writes(l, id) => found = Before { init: Some(None), ..Before::default() },
                _ => {}
            }
        }
        found
    }

    /// Contents over what stood there. Those of a part leave a fill of another part as it was; a fill that they cover is
    /// gone; where they cover a piece of it, or zeros stay around them, no step says that.
    fn contents(&self, found: &mut Before, event: &Event, covers: bool, span: crate::source::Span) {
        if covers {
            *found = Before { init: Some(None), ..Before::default() };
            return;
        }
        let own = self.host.range(event);
        let mut mixed = found.init == Some(Some(0));
        found.fills.retain(|f| {
            let fill = self.host.events.get(*f).and_then(|f| self.host.range(f));
            match own.as_ref().zip(fill.as_ref()) {
                Some((own, fill)) if own.holds(fill) => false,
                Some((own, fill)) if own.is_apart(fill) => true,
                _ => {
                    mixed = true;
                    true
                }
            }
        });
        if mixed {
            found.mixed.get_or_insert(span);
        }
        found.init = Some(None);
    }

    fn writes(&self, l: &Launched, id: usize) -> bool {
        let Some(known) = self.kernels.of(l).and_then(|r| self.kernels.known(r)) else { return false };
        let writes = |(n, v): (usize, &Val)| {
            matches!(v, Val::Device { buffer, .. } if *buffer == id) && known.usages.get(n).is_some_and(|u| u.writes)
        };
        l.args.iter().enumerate().any(writes)
    }

    /// What each launch does with a buffer, in order.
    pub(super) fn touched(&self, uses: &[Use], id: usize) -> Vec<(usize, Usage)> {
        let mut found = vec![];
        for u in uses {
            for (n, v) in u.l.args.iter().enumerate() {
                if matches!(v, Val::Device { buffer, .. } if *buffer == id) {
                    found.push((u.event, self.usage(u, n)));
                }
            }
        }
        found
    }

    /// Written memory that the host never looks at is a temporary, where it looks at something else.
    pub(super) fn outputs(&self, plan: &mut Plan) {
        let names = |b: &usize| self.host.buffers.get(*b).map(|b| b.name.clone());
        let copied: BTreeSet<String> = self
            .host
            .events
            .iter()
            .filter_map(|e| if let Event::ToHost { buffer } = e { names(buffer) } else { None })
            .collect();
        let visible = |a: &Arg| {
            let own = self.host.buffers.iter().filter(|b| b.name == a.name);
            copied.contains(&a.name) || own.into_iter().any(|b| b.is_managed || b.is_given)
        };
        if plan.args.iter().any(|a| a.role.is_output() && visible(a)) {
            for a in plan.args.iter_mut().filter(|a| a.role == Role::Out && !visible(a)) {
                a.role = Role::Temp;
            }
        }
    }
}
