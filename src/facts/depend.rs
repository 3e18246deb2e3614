//! Dependences that stand in the way of moving an access over neighbouring iterations, and uses of a shared tile.

use super::Facts;
use super::alias::Alias;
use super::because::Because;
use super::questions::Missing;
use super::state::{Event, EventKind};
use crate::ir::*;
use crate::source::Span;
use crate::source::tokens::{TokenKind, scan_code};

/// Something that certainly forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub text: String,
    pub at: Vec<(Span, String)>,
}

/// Whether a load is carried out before the store that may meet it in the same iteration.
fn keeps_order(own: AccessMode, other: AccessMode, other_first: bool) -> bool {
    match (own, other) {
        (AccessMode::Load, AccessMode::Store | AccessMode::Update) => !other_first,
        (AccessMode::Store, AccessMode::Load) => other_first,
        _ => false,
    }
}

/// Holds, certainly does not, or is not known.
pub type Verdict = Result<Result<Because, Obstacle>, Missing>;

impl Facts<'_> {
    /// Whether `id` may be carried out for several neighbouring iterations of `k` at once: a load at the first, a store
    /// at the last of them. The accesses `together` move with it in blocks of one width, each aligned to that width: two
    /// such blocks are equal or disjoint.
    pub fn movable(&self, id: AccessId, k: LoopId, together: &[AccessId]) -> Verdict {
        let (surface, state) = self.access(id)?;
        let lp = self.loop_state(k)?;
        let span = self.function.expr(surface.expr).span;
        if state.is_volatile {
            return Ok(Err(Obstacle { text: "the access is volatile".into(), at: vec![(span, "this access".into())] }));
        }
        if surface.mode == AccessMode::Update {
            return Err(Missing::new("an update reads and writes in one expression").at(span, "this access"));
        }
        let mut because = Because::nothing();
        for event in self.events_in(lp) {
            match self.event_conflict(id, event, k, together)? {
                Ok(b) => because.join(&b),
                Err(obstacle) => return Ok(Err(obstacle)),
            }
        }
        Ok(Ok(because))
    }

    fn event_conflict(&self, id: AccessId, event: &Event, k: LoopId, together: &[AccessId]) -> Verdict {
        let (surface, state) = self.access(id)?;
        let own = self.function.expr(surface.expr).span;
        let is_load = surface.mode == AccessMode::Load;
        let unknown = |why: &str| Err(Missing::new(why).at(event.span, "here").at(own, "this access"));
        match event.kind {
            EventKind::Access(other) if other == id => Ok(Ok(Because::nothing())),
            EventKind::Access(other) => {
                let blocks = together.contains(&id) && together.contains(&other);
                self.access_conflict(id, other, event.seq < state.place.seq, k, blocks)
            }
            EventKind::Read if is_load => Ok(Ok(Because::nothing())),
            EventKind::Exit => Ok(Ok(Because::nothing())),
            EventKind::Atomic => self.atomic_conflict(id, event),
            EventKind::Barrier(_) | EventKind::Fence => Ok(Err(Obstacle {
                text: "what other threads write becomes visible in between".into(),
                at: vec![(event.span, "here".into()), (own, "this access".into())],
            })),
            EventKind::Read => unknown("this may read what the access writes"),
            EventKind::Unlisted => unknown("this may write the memory of the access"),
            EventKind::Call => unknown("this call may write the memory of the access"),
            EventKind::Anything => unknown("this is not modelled and may write the memory of the access"),
        }
    }

    fn atomic_conflict(&self, id: AccessId, event: &Event) -> Verdict {
        let (surface, _, pointer) = self.pointer(id)?;
        let atomic = self.function.atomics.iter().find(|a| self.function.expr(a.expr).span == event.span);
        let own = self.function.expr(surface.expr).span;
        let base = atomic.and_then(|a| a.base).filter(|b| self.never_assigned(*b));
        match base.and_then(|b| self.disjoint_roots(pointer.root, b)) {
            Some(because) => Ok(Ok(because)),
            None => Err(Missing::new("this atomic may write the memory of the access")
                .at(event.span, "here")
                .at(own, "this access")),
        }
    }

    fn access_conflict(&self, id: AccessId, other: AccessId, other_first: bool, k: LoopId, blocks: bool) -> Verdict {
        let (a, sa) = self.access(id)?;
        let (b, sb) = self.access(other)?;
        let f = self.function;
        let spans = || {
            vec![(f.expr(a.expr).span, "this access".to_owned()), (f.expr(b.expr).span, "meets this one".to_owned())]
        };
        if a.mode == AccessMode::Load && b.mode == AccessMode::Load && !sb.is_volatile {
            return Ok(Ok(Because::nothing()));
        }
        if sb.is_volatile {
            let m = Missing::new("a volatile access in the loop keeps its place among the others");
            return Err(Missing { at: spans(), ..m });
        }
        let lp = self.loop_state(k)?;
        match self.relation(sa, sb, k, lp) {
            Alias::Never(because) => Ok(Ok(because)),
            // Loads stay before the store of their own iteration.
            Alias::SameIteration(because) => {
                let fine = keeps_order(a.mode, b.mode, other_first);
                let text = "within one iteration the order of the two matters";
                if fine { Ok(Ok(because)) } else { Ok(Err(Obstacle { text: text.into(), at: spans() })) }
            }
            Alias::AtDistance(m, _) => {
                let text = format!("iteration i and iteration i{m:+} touch the same memory");
                Ok(Err(Obstacle { text, at: spans() }))
            }
            // Equal or disjoint, and a load and a store of one iteration: the load comes first, as it did.
            Alias::Unknown(_) if blocks && keeps_order(a.mode, b.mode, other_first) => {
                let text = "aligned blocks are equal or disjoint, and the load comes first";
                Ok(Ok(Because::at(f.expr(b.expr).span, text)))
            }
            Alias::Unknown(why) => {
                let names = match (&sa.pointer, &sb.pointer) {
                    (Some(p), Some(q)) if p.root != q.root => {
                        Some((f.var(p.root).name.clone(), f.var(q.root).name.clone()))
                    }
                    _ => None,
                };
                let m = Missing { reason: why, at: spans(), next: None };
                Err(match names {
                    Some((x, y)) => {
                        m.next(format!("declare both `__restrict__`, or assume `noalias({x}, {y})` in the contract"))
                    }
                    None => m,
                })
            }
        }
    }

    /// Where a macro or a lambda in `k` uses `var` without its name standing in the text of the loop.
    pub fn hidden_use(&self, k: LoopId, var: VarId) -> Result<Option<Span>, Missing> {
        self.usable()?;
        let f = self.function;
        let lp = f.loops.get(k.0 as usize).ok_or_else(|| Missing::new("no such loop"))?;
        let name = &f.var(var).name;
        let whole = f.stmt(lp.stmt).span;
        if let Some(flaw) = f.flaws.iter().find(|x| whole.overlaps(x.span)) {
            return Err(Missing::new("this text is not modelled").at(flaw.span, "here"));
        }
        let inside = |s: &Span| whole.contains(*s);
        for e in f.exprs.iter().filter(|e| inside(&e.span)) {
            match &e.kind {
                ExprKind::Lambda(g) => {
                    let captures =
                        self.unit.functions.get(g.0 as usize).is_none_or(|g| g.vars.iter().any(|v| v.name == *name));
                    if captures {
                        return Ok(Some(e.span));
                    }
                }
                ExprKind::Call { callee: word, .. } | ExprKind::Name(word) => {
                    if self.macros.contains(word) {
                        if self.macros.mentions(word).contains(name) {
                            return Ok(Some(e.span));
                        }
                    } else if matches!(e.kind, ExprKind::Call { .. }) && !self.is_known_call(word) {
                        return Err(
                            Missing::new(format!("whether `{word}` is a macro is not known")).at(e.span, "here")
                        );
                    }
                }
                ExprKind::Opaque { .. } => return Err(Missing::new("this text is not modelled").at(e.span, "here")),
                _ => {}
            }
        }
        let odd =
            |s: &&Stmt| inside(&s.span) && matches!(s.kind, StmtKind::Opaque { .. } | StmtKind::Preprocessor { .. });
        match f.stmts.iter().find(odd) {
            Some(s) => Err(Missing::new("this text is not modelled").at(s.span, "here")),
            None => Ok(None),
        }
    }

    /// Whether a name that is called is a function for certain: of the program, or of the library.
    fn is_known_call(&self, name: &str) -> bool {
        let last = name.rsplit([':', '.', '>']).next().unwrap_or(name);
        let own = self.macros.names().is_none_or(|n| n.has_function(last));
        own || name.contains("::")
            || name.contains('.')
            || super::library::is_pure(last)
            || super::library::READS.contains(&last)
            || last.starts_with("__")
            || last.starts_with("atomic")
    }

    /// Where the tile is used otherwise than by a full subscript.
    pub fn other_use(&self, tile: TileId) -> Result<Option<Span>, Missing> {
        self.usable()?;
        self.notes.other_use(tile, || self.find_other_use(tile))
    }

    fn find_other_use(&self, tile: TileId) -> Result<Option<Span>, Missing> {
        let f = self.function;
        let t = f.tiles.get(tile.0 as usize).ok_or_else(|| Missing::new("no such tile"))?;
        let name = &f.var(t.var).name;
        if self.macros.any_mentions(name) {
            return Err(Missing::new(format!("a macro mentions `{name}`")).at(f.var(t.var).name_span, "this tile"));
        }
        let captured =
            |g: &&Function| g.id != f.id && g.vars.iter().any(|v| v.kind == VarKind::Captured && v.name == *name);
        if let Some(g) = self.unit.functions.iter().find(captured) {
            return Ok(Some(g.span));
        }
        let parents = self.notes.parents(f);
        for (i, e) in f.exprs.iter().enumerate() {
            match &e.kind {
                ExprKind::Var(v) if *v == t.var && !self.is_full_subscript(ExprId(i as u32), t.dims.len(), parents) => {
                    return Ok(Some(e.span));
                }
                // Which array it is the size of is not kept.
                ExprKind::SizeOf(Some(Type::Array { .. }) | None) => return Ok(Some(e.span)),
                ExprKind::Opaque { children, .. } if children.is_empty() => {
                    let m = Missing::new("this text is not modelled and may use the tile");
                    return Err(m.at(e.span, "here"));
                }
                _ => {}
            }
        }
        let odd = f.stmts.iter().find(|s| matches!(s.kind, StmtKind::Opaque { .. }));
        match odd {
            Some(s) => Err(Missing::new("this text is not modelled and may use the tile").at(s.span, "here")),
            None => Ok(self.unseen_mention(name)),
        }
    }

    /// A word of the function's text that is `name` and that no expression or declaration accounts for: an operand of
    /// `decltype`, an argument that a macro drops.
    fn unseen_mention(&self, name: &str) -> Option<Span> {
        let f = self.function;
        let uses = f.exprs.iter().filter(|e| matches!(e.kind, ExprKind::Var(v) if f.var(v).name == *name));
        let seen: std::collections::BTreeSet<u32> =
            uses.map(|e| e.span.start).chain(f.vars.iter().map(|v| v.name_span.start)).collect();
        // Other functions see a tile of file scope, too.
        let inside = f.vars.iter().all(|v| v.name != *name || f.span.contains(v.name_span));
        let start = if inside { f.span.start } else { 0 };
        let text: &str = if inside { self.macros.text.get(f.span.range())? } else { &self.macros.text };
        let mut before = "";
        for token in scan_code(text) {
            let word = token.of(text);
            let at = start + token.start;
            if token.kind == TokenKind::Word
                && word == name
                && ![".", "->", "::"].contains(&before)
                && !seen.contains(&at)
            {
                return Some(Span { file: f.span.file, start: at, end: at + word.len() as u32 });
            }
            before = word;
        }
        None
    }

    fn is_full_subscript(&self, var: ExprId, rank: usize, parents: &[Vec<ExprId>]) -> bool {
        let f = self.function;
        let mut at = var;
        for _ in 0..rank {
            let up = parents.get(at.0 as usize).map_or(&[][..], |p| p);
            let [one] = up else { return false };
            match f.kind_of(*one) {
                ExprKind::Index { base, .. } if *base == at => at = *one,
                _ => return false,
            }
        }
        let above = parents.get(at.0 as usize).map_or(&[][..], |p| p);
        // A call might bind a reference to the element; calls that take values do not mind, but are not told apart here.
        rank > 0
            && above.iter().all(|p| match f.kind_of(*p) {
                ExprKind::AddressOf(_) | ExprKind::Member { .. } | ExprKind::Opaque { .. } => false,
                ExprKind::Cast { ty: Type::Reference(_) | Type::Pointer(_), .. } => false,
                ExprKind::Call { .. } => self.takes_values(*p),
                ExprKind::CallValue { .. } | ExprKind::InitList(_) => false,
                _ => true,
            })
            && !f
                .vars
                .iter()
                .any(|v| matches!(v.ty, Type::Reference(_)) && v.init.is_some_and(|i| f.walk(i).contains(&at)))
    }

    fn takes_values(&self, call: ExprId) -> bool {
        let scope = super::effects::Scope {
            program: self.program,
            unit: self.unit,
            function: self.function,
            macros: self.macros,
        };
        use super::effects::CallEffect::*;
        matches!(scope.call_effect(call), Pure | Reads)
    }

    /// Whether after the loop of a tree over `tile` no element but the first is read.
    pub fn only_first_read_after(&self, tile: VarId, k: LoopId) -> Verdict {
        let lp = self.loop_state(k)?;
        let f = self.function;
        let Some(index) = f.tiles.iter().position(|t| t.var == tile) else {
            return Err(Missing::new("the reduction is not over a shared tile"));
        };
        if let Some(span) = self.other_use(TileId(index as u32))? {
            return Err(Missing::new("the tile is used otherwise than by its subscripts").at(span, "here"));
        }
        if let Some(outer) = lp.before.loops.last().and_then(|l| f.loops.get(l.0 as usize)) {
            let m = Missing::new("the reduction stands in a loop, whose next turn may read the tile");
            return Err(m.at(outer.header_span, "this loop"));
        }
        if f.var(tile).is_extern && f.vars.iter().filter(|v| v.is_extern && v.kind == VarKind::Shared).count() > 1 {
            return Err(Missing::new("several dynamic tiles share the same memory").at(f.var(tile).span, "this tile"));
        }
        let mut because = Because::nothing();
        for e in self.walked.events.iter().filter(|e| e.seq > lp.events.1) {
            match e.kind {
                EventKind::Access(a) => {
                    let (surface, state) = self.access(a)?;
                    let Some(p) = &state.pointer else {
                        if surface.space == Space::Global {
                            continue;
                        }
                        return Err(Missing::new("this access may read the tile").at(e.span, "here"));
                    };
                    if p.root != tile || surface.mode == AccessMode::Store {
                        continue;
                    }
                    match state.place.known.prove_zero(&p.offset) {
                        Some(b) => because.join(&b.and(&p.because)),
                        None => {
                            let text = "an element other than the first is read afterwards".to_owned();
                            let certain = p.offset.as_constant().is_some() || !self.is_block_uniform(&p.offset);
                            let at = vec![(e.span, "here".to_owned())];
                            return if certain {
                                Ok(Err(Obstacle { text, at }))
                            } else {
                                Err(Missing { reason: text, at, next: None })
                            };
                        }
                    }
                }
                EventKind::Anything => return Err(Missing::new("this text may read the tile").at(e.span, "here")),
                EventKind::Call if f.var(tile).is_extern => {
                    return Err(Missing::new("this call may read dynamic shared memory").at(e.span, "here"));
                }
                _ => {}
            }
        }
        Ok(Ok(because))
    }
}
