//! How far an output may be off. Without an entry the gate derives it from dtype, magnitude and reduction length.

use crate::source::Span;

/// The bound of one output.
#[derive(Clone, Debug, Default)]
pub struct Tolerance {
    /// The argument that it is about.
    pub output: String,
    /// Bit for bit; excludes the others.
    pub exact: bool,
    /// Normalised root mean square error: |x - r| over |r|, both as root mean squares over all elements.
    pub rms: Option<f64>,
    /// Largest absolute error of one element, in units of the output's root mean square.
    pub max: Option<f64>,
    pub span: Option<Span>,
}

impl PartialEq for Tolerance {
    fn eq(&self, o: &Tolerance) -> bool {
        (&self.output, self.exact, self.rms, self.max) == (&o.output, o.exact, o.rms, o.max)
    }
}
