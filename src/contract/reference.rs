//! What a candidate is compared with.

/// Where reference outputs come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// The original plan.
    #[default]
    Original,
    /// The plan with every launch replaced by one of this kernel of the file, with the same arguments.
    Kernel(String),
    /// A host function of the file that takes the buffers and scalars of the arguments, in their order.
    Host(String),
    /// A program with its arguments that exchanges raw arrays; started in a trusted folder only.
    Command(Vec<String>),
}
