//! The scenario format: decoding, checks, and the input of a run.
//!
//! [`Scenario::from_json`] (or `from_toml`, `from_value`) returns a [`Scenario`] or all [`Errors`] together,
//! each with its path and the nearest valid name. Mechanisms declare their tables in other crates,
//! [`sections`] declares the scenario's own. [`catalogue`] joins both. Studies expand `[sweep]` before
//! decoding.

#[macro_use(words)]
extern crate evenflow_base;

/// The last of one or two expressions.
macro_rules! last {
    ($one:expr) => {
        $one
    };
    ($one:expr, $last:expr) => {
        $last
    };
}

mod canonical;
pub mod catalogue;
mod copies;
mod decode;
mod errors;
mod json_schema;
pub mod metrics;
pub mod model;
pub mod quantity;
pub mod sections;

pub use catalogue::schema_json;
pub use decode::{mechanism, tcp};
pub use errors::Errors;
pub use json_schema::json_schema;
pub use model::Scenario;
