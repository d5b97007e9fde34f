//! All integration tests of the crate in one program, which links the workspace once.

mod conformance;
mod kinds;
mod laws;
mod markers;
mod qdisc;
mod shapers;
