//! The scenario: its grammar, its checks, and what a run is given.
//!
//! [`Scenario::from_json`] (or `from_toml`, `from_value`) turns a file into a [`Scenario`] or into [`Errors`], all of them at
//! once, each with its path in the file and the nearest valid name. What a mechanism's table may hold stands in the
//! mechanism's own crate; what the scenario's tables may hold in [`sections`]; [`catalogue`] brings both together and
//! makes documents of them. Not here: `[sweep]`, which the studies expand before a scenario is decoded.

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
pub use decode::table::{Table, decode_table};
pub use decode::{mechanism, tcp};
pub use errors::Errors;
pub use json_schema::json_schema;
pub use model::Scenario;
