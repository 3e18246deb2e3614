//! What each variable holds at one point of the walk.

use std::sync::Arc;

use super::value::Value;
use crate::ir::VarId;

/// Values by variable. A copy shares them until one of the two changes: paths are copied at every branch and loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Env {
    slots: Arc<Vec<Option<Value>>>,
}

impl Env {
    pub(super) fn get(&self, var: &VarId) -> Option<&Value> {
        self.slots.get(var.0 as usize)?.as_ref()
    }

    pub(super) fn contains_key(&self, var: &VarId) -> bool {
        self.get(var).is_some()
    }

    pub(super) fn insert(&mut self, var: VarId, value: Value) {
        let slots = Arc::make_mut(&mut self.slots);
        let at = var.0 as usize;
        if slots.len() <= at {
            slots.resize(at + 1, None);
        }
        if let Some(slot) = slots.get_mut(at) {
            *slot = Some(value);
        }
    }

    pub(super) fn remove(&mut self, var: &VarId) {
        if self.contains_key(var)
            && let Some(slot) = Arc::make_mut(&mut self.slots).get_mut(var.0 as usize)
        {
            *slot = None;
        }
    }

    /// The variables that hold something, in their order.
    pub(super) fn vars(&self) -> impl Iterator<Item = VarId> {
        let held = |(i, slot): (usize, &Option<Value>)| slot.is_some().then_some(VarId(i as u32));
        self.slots.iter().enumerate().filter_map(held)
    }

    /// Whether both are one and the same state.
    pub(super) fn is_shared_with(&self, other: &Env) -> bool {
        Arc::ptr_eq(&self.slots, &other.slots)
    }
}
