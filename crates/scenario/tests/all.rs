//! All integration tests of the crate in one program, which links the workspace once.

mod applications;
mod bad_input;
mod bytes;
mod common;
mod conex;
mod decoding;
mod schema;
