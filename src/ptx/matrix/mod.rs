//! Matrix.
