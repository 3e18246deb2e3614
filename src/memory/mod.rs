//! The transition memory: what was tried, after what, in which context, and how it ended.
//!
//! [`Evidence`] is the only thing that is ever recorded. [`Tables`] are sums over a set of evidence, and depend on nothing
//! but the set: two memories merge by uniting their evidence, in any order. All sums are integers, so that this holds bit
//! for bit. [`Snapshot`] is what the policy ([`crate::policy`]) reads. These are pure; `store`
//! keeps them in a database that several processes share.
//!
//! # Decay
//! Runs stand in one order, by their start and then by their name. Evidence of the latest run weighs 1, each run before it
//! 0.98 of the next ([`tables::Weights`]). The weight follows from the set of runs alone, not from when it was recorded.

pub mod context;
pub mod evidence;
pub mod graph;
pub mod picture;
pub mod snapshot;
#[cfg(feature = "memory")]
pub mod store;
pub mod sums;
pub mod tables;

pub use context::{Bottleneck, Context, Family};
pub use evidence::{Evidence, EvidenceError, Gain, Outcome, PathStep};
pub use snapshot::Snapshot;
#[cfg(feature = "memory")]
pub use store::{Store, StoreError};
pub use sums::{Moments, Sums};
pub use tables::{Key, Kind, Tables};
