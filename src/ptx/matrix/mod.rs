//! Warp-wide matrix instructions: which lane holds which element, and what they compute.
//!
//! A register of the warp is `[u32; 32]`, one word a lane (`[u64; 32]` for f64); a fragment is a slice of registers in
//! the order of the instruction's operand list. Nothing here touches memory: `ldmatrix`, `stmatrix` and `wmma.load` are
//! given as maps, and the caller moves the bytes.
//!
//! | module | instructions |
//! |---|---|
//! | [`fragment`] | position of every element of a fragment: lane, register, part -> row, column |
//! | [`mma`] | `mma.sync`: f16, bf16, tf32, f64, s8/u8, s4/u4, e4m3/e5m2 |
//! | [`wmma`] | `wmma.load`, `wmma.mma`, `wmma.store` |
//! | [`transfer`] | `ldmatrix`, `stmatrix`, `movmatrix` |
//! | [`dot`] | the sum of products of the tensor cores, bit for bit |
//!
//! Not supported: sparse `mma`, `m8n8k4` on f16, one-bit types, `wgmma`, `tcgen05`.

pub mod dot;
pub mod fragment;
pub mod mma;
pub mod transfer;
pub mod wmma;

pub use fragment::Fragment;
pub use mma::{Accumulator, Element, Mma, Types};
pub use wmma::Wmma;

/// One 32-bit register of a warp.
pub type Register = [u32; 32];
/// One 64-bit register of a warp.
pub type Register64 = [u64; 32];
