//! All integration tests of the crate in one program, which links the workspace once.

mod conformance;
mod congestion;
mod external;
mod laws;
mod policing;
