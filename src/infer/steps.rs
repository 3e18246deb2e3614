//! The steps of a plan: launches, fills and copies in their order.

use super::build::{Builder, Use};
use super::dims::Choice;
use super::memory::Memory;
use super::value::{Event, Val, divide};
use crate::contract::{BufferRef, Expr, Plan, Step};
use crate::ir::Scalar;

impl Builder<'_, '_> {
    pub(super) fn steps(&self, uses: &[Use], memories: &[Memory], choice: &Choice, plan: &mut Plan) {
        let (Some(from), Some(to)) = (uses.first().map(|u| u.event), uses.last().map(|u| u.event)) else { return };
        let of = |id: usize| memories.iter().find(|m| m.id == id);
        let place = |id: usize, bytes: &Expr| {
            let m = of(id)?;
            let width = Expr::Int(i64::from(m.dtype.map_or(1, Scalar::bytes)));
            let offset = divide(choice.settle(bytes), width);
            Some(BufferRef { buffer: m.name.clone(), offset: Some(offset).filter(|o| *o != Expr::Int(0)) })
        };
        let first_use = |id: usize| self.touched(uses, id).first().map(|(e, _)| *e);
        for (i, event) in self.host.events.iter().enumerate().take(to + 1) {
            let bytes = |b: &Option<Expr>| b.as_ref().map(|e| choice.settle(e));
            match event {
                Event::Launch(_) => {
                    if let Some(u) = uses.iter().find(|u| u.event == i) {
                        let launch = self.launch(u, &place, choice);
                        plan.steps.push(Step::Launch(launch));
                    }
                }
                Event::Fill { buffer, offset, byte, bytes: n, span } => {
                    let Some(r) = place(*buffer, offset) else { continue };
                    let first = first_use(*buffer);
                    let needed = match first.filter(|f| i < *f) {
                        // Zeros in all of it before the first use are the buffer's `init`.
                        Some(f) => self.before(*buffer, f).fills.contains(&i),
                        None => i > from && !self.overwritten(uses, *buffer, i),
                    };
                    match byte {
                        _ if !needed => {}
                        Some(b) => {
                            let whole = self.host.covers(event) && of(*buffer).is_some_and(|m| m.elements.is_ok());
                            plan.steps.push(Step::Fill { buffer: r, byte: *b, bytes: bytes(n).filter(|_| !whole) });
                        }
                        None => plan.notes.0.push(format!(
                            "Line {}: the byte that fills `{}` is not known.",
                            self.line(*span),
                            r.buffer
                        )),
                    }
                }
                Event::Copy { from: a, to: b, bytes: n, span } if i > from => {
                    match (place(a.0, &a.1), place(b.0, &b.1)) {
                        (Some(x), Some(y)) => plan.steps.push(Step::Copy { from: x, to: y, bytes: bytes(n) }),
                        (None, Some(y)) => self.changed(plan, &y.buffer, *span),
                        _ => {}
                    }
                }
                Event::ToDevice { buffer, span, .. } if i > from && first_use(*buffer).is_some_and(|f| f < i) => {
                    if let Some(m) = of(*buffer) {
                        self.changed(plan, &m.name, *span);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether something covers all of a buffer after an event and before a launch is given it.
    fn overwritten(&self, uses: &[Use], id: usize, event: usize) -> bool {
        for (i, e) in self.host.events.iter().enumerate().skip(event + 1) {
            let given = |u: &Use| {
                u.event == i && u.l.args.iter().any(|v| matches!(v, Val::Device { buffer, .. } if *buffer == id))
            };
            if uses.iter().any(given) {
                return false;
            }
            if e.writes().is_some_and(|(buffer, ..)| buffer == id) && self.host.covers(e) {
                return true;
            }
            if matches!(e, Event::ToHost { buffer } if *buffer == id) {
                return false;
            }
        }
        false
    }

    /// The host writes memory between two launches: no step says that.
    fn changed(&self, plan: &mut Plan, name: &str, span: crate::source::Span) {
        let line = self.line(span);
        if let Some(a) = plan.args.iter_mut().find(|a| a.name == name)
            && !a.proposed.covers("init")
        {
            a.proposed.field("init");
            a.notes.push(format!("Line {line}: the host writes it between launches, which this plan leaves out."));
        }
    }
}
