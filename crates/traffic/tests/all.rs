//! All integration tests of the crate in one program, which links the workspace once.

mod network;
mod players;
