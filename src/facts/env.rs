//! What each variable holds at one point of the walk.

use std::sync::Arc;

use super::value::Value;
use crate::ir::VarId;

/// Values by variable. A copy shares them until one of the two changes: paths are copied at every branch and loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Env {
    slots: Arc<Vec<Option<Arc<Value>>>>,
}

impl Env {
    pub(super) fn get(&self, var: &VarId) -> Option<&Value> {
        self.slots.get(var.0 as usize)?.as_deref()
    }

    pub(super) fn contains_key(&self, var: &VarId) -> bool {
        self.get(var).is_some()
    }

    pub(super) fn insert(&mut self, var: VarId, value: Value) {
        self.put(var, Arc::new(value));
    }

    fn put(&mut self, var: VarId, value: Arc<Value>) {
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
        let held = |(i, slot): (usize, &Option<Arc<Value>>)| slot.is_some().then_some(VarId(i as u32));
        self.slots.iter().enumerate().filter_map(held)
    }

    /// Whether both hold one and the same value of the variable.
    pub(super) fn shares(&self, other: &Env, var: &VarId) -> bool {
        let slot = |env: &Env| env.slots.get(var.0 as usize).cloned().flatten();
        slot(self).zip(slot(other)).is_some_and(|(a, b)| Arc::ptr_eq(&a, &b))
    }

    /// Takes over what `other` holds of the variable.
    pub(super) fn take(&mut self, other: &Env, var: &VarId) {
        if let Some(Some(value)) = other.slots.get(var.0 as usize) {
            let value = value.clone();
            self.put(*var, value);
        }
    }

    /// Whether both are one and the same state.
    pub(super) fn is_shared_with(&self, other: &Env) -> bool {
        Arc::ptr_eq(&self.slots, &other.slots)
    }
}
