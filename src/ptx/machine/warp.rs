//! A warp: registers, local memory, and groups of lanes that are at the same place.

use std::sync::Arc;

use super::file::File;
use super::regs::{Row, WideRow};
use crate::ptx::decode::flow::Place;
use crate::ptx::decode::program::Program;

/// A call on the stack of a group.
pub(crate) struct Frame {
    pub return_pc: u32,
    pub function: u32,
    /// Base of the caller's frame, bytes.
    pub base: u32,
    pub site: u32,
    pub parent: Option<Arc<Frame>>,
    pub depth: u32,
    /// The callee's registers as they were, if it was active already.
    pub saved: Option<Saved>,
    pub any_saved: bool,
}

pub(crate) struct Saved {
    pub r: Vec<Row>,
    pub q: Vec<WideRow>,
    pub p: Vec<u32>,
}

/// Deep recursions must not be freed by recursion.
impl Drop for Frame {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut frame) = next.and_then(|f| Arc::try_unwrap(f).ok()) {
            next = frame.parent.take();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// At a warp-wide operation, until the lanes of the mask are there too.
    WaitsForLanes(u32),
    AtBarrier(u8),
    /// At an mbarrier wait or another poll: ready, but others go first.
    Yielded,
}

/// Lanes at one place with one stack.
#[derive(Clone)]
pub(crate) struct Group {
    pub pc: u32,
    pub mask: u32,
    pub state: State,
    pub stack: Option<Arc<Frame>>,
    pub depth: u32,
    /// Base of the current frame, bytes.
    pub base: u32,
    /// Place of the last store since the last barrier, for the divergent-barrier check.
    pub last_store: u32,
    /// Goes on without lanes that it waited for.
    pub forced: bool,
    /// When it last ran.
    pub ran: u64,
}

impl Group {
    /// Whether two groups can go on as one.
    pub fn joins(&self, other: &Group) -> bool {
        if self.pc != other.pc || self.depth != other.depth || self.state != other.state || self.base != other.base {
            return false;
        }
        let (mut a, mut b) = (&self.stack, &other.stack);
        loop {
            match (a, b) {
                (None, None) => return true,
                (Some(x), Some(y)) => {
                    if Arc::ptr_eq(x, y) {
                        return true;
                    }
                    // Saved registers belong to the lanes of one call.
                    if x.any_saved || y.any_saved || x.return_pc != y.return_pc || x.base != y.base {
                        return false;
                    }
                    (a, b) = (&x.parent, &y.parent);
                }
                _ => return false,
            }
        }
    }
}

pub(crate) struct Warp {
    pub index: u32,
    pub r: File<u32>,
    pub q: File<u64>,
    pub p: Vec<u32>,
    /// f64 values beside the 32-bit registers; used in one mode only.
    pub wide: Vec<[f64; 32]>,
    /// Rows of 32 lanes; row n is word n of every lane's local memory.
    pub local: Vec<Row>,
    pub groups: Vec<Group>,
    pub exited: u32,
    /// Lanes that exist.
    pub exists: u32,
    pub clock: u64,
    /// By lane: where it last stored before it exited.
    pub exit_store: Row,
    pub copies: super::exec::async_copy::Copies,
    /// By word of local memory and byte: lanes that wrote it. Kept with checks only.
    pub written: Vec<[u32; 4]>,
    /// Undefined values in registers, once there was one.
    pub undefined: Option<Box<super::undefined::Undefined>>,
}

impl Warp {
    pub fn new(program: &Program, index: u32) -> Self {
        Warp {
            index,
            r: File::new(usize::from(program.r)),
            q: File::new(usize::from(program.q)),
            p: vec![0; usize::from(program.p)],
            wide: vec![],
            local: vec![],
            groups: vec![],
            exited: 0,
            exists: 0,
            clock: 0,
            exit_store: [0; 32],
            copies: Default::default(),
            written: vec![],
            undefined: None,
        }
    }

    /// Ready for a new block. Registers keep what the last block left, but for those that may be read before they are
    /// written; those with constants and special values are never written.
    pub fn reset(&mut self, lanes: u32, frame: u32, unset: &[Place]) {
        // Results that nobody reads.
        (self.r[0], self.q[0]) = ([0; 32], [0; 32]);
        for place in unset {
            match place {
                Place::Word(r) => self.r[usize::from(*r)] = [0; 32],
                Place::Wide(r) => self.q[usize::from(*r)] = [0; 32],
                Place::Predicate(_) => {}
            }
        }
        self.p.iter_mut().for_each(|p| *p = 0);
        self.p[0] = u32::MAX;
        self.local.clear();
        self.local.resize(frame as usize / 4, [0; 32]);
        self.written.clear();
        self.undefined = None;
        self.exists = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
        self.exited = !self.exists;
        self.wide.clear();
        self.groups.clear();
        self.exit_store = [0; 32];
        self.copies.clear();
        self.groups.push(Group {
            pc: 0,
            mask: self.exists,
            state: State::Ready,
            stack: None,
            depth: 0,
            base: 0,
            last_store: 0,
            forced: false,
            ran: 0,
        });
    }

    /// Lanes that have not exited.
    pub fn live(&self) -> u32 {
        !self.exited
    }

    /// The next group to run: the deepest in calls, then the lowest place; with `oldest`, the one that waited longest.
    pub fn pick(&mut self, oldest: bool) -> Option<Group> {
        let ready = self.groups.iter().enumerate().filter(|(_, g)| g.state == State::Ready);
        let best = if oldest {
            ready.min_by_key(|(_, g)| g.ran)
        } else {
            ready.min_by_key(|(_, g)| (u32::MAX - g.depth, g.pc))
        };
        let (index, _) = best?;
        let mut group = self.groups.swap_remove(index);
        self.absorb(&mut group);
        Some(group)
    }

    /// Takes all groups at the same place into one.
    pub fn absorb(&mut self, group: &mut Group) {
        let mut at = 0;
        while at < self.groups.len() {
            if self.groups[at].joins(group) {
                let other = self.groups.swap_remove(at);
                group.mask |= other.mask;
                group.last_store = group.last_store.max(other.last_store);
            } else {
                at += 1;
            }
        }
    }

    /// The place at which a group must stop because others wait there or before.
    pub fn limit(&self, group: &Group) -> u32 {
        let others = self.groups.iter().filter(|g| g.state == State::Ready && g.depth == group.depth);
        others.map(|g| g.pc).filter(|pc| *pc > group.pc).min().unwrap_or(u32::MAX)
    }
}
