//! Renders a [`super::Diagnostic`] through codespan-reporting, as text with or without colour.
