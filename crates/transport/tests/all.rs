//! All integration tests of the crate in one program, which links the workspace once.

mod channel;
mod connection;
mod eecn;
mod paced;
