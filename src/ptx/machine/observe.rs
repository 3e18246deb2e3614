//! What a program tells of itself while it runs: calls of a function that has no body.

/// The function that a program calls to be observed:
/// `extern "C" __device__ void __kopt_note(unsigned id, unsigned long long value, unsigned what)`.
/// Without an observer the call does nothing.
pub const NOTE: &str = "__kopt_note";

/// One call by the lanes of one warp.
#[derive(Debug, Clone, Copy)]
pub struct Note<'a> {
    /// Index of the block in the order x, y, z.
    pub block: u64,
    pub warp: u32,
    /// The lanes that call.
    pub lanes: u32,
    /// Arguments by lane; only those of `lanes` mean something. `id` and `what` are equal in all of them.
    pub id: u32,
    pub values: &'a [u64; 32],
    pub what: u32,
}

/// Hears the notes of one launch, in the order in which they are made.
pub trait Observer: Send {
    fn note(&mut self, note: &Note);
}
