//! A link: a queue served at a rate, then a delay. [`Link::offer`] is its only input; [`Link::pass`] is its short cut.
//!
//! ```text
//! offer: due decisions → queue → transmitter → delay, impairments → far end
//! ```
//!
//! A link is lazy: a decision depends only on earlier events. All due decisions are made before the next
//! arrival, before a probe, or by [`Link::deadline`]. Instant and surroundings ([`Surroundings`]) are
//! arguments.

pub mod counters;
mod fifo;
pub mod grants;
pub mod impairments;
mod link;
pub mod ring;
mod scheduled;

pub use fifo::Fifo;
pub use impairments::Impairments;
pub use link::{Account, Link, Queue, Surroundings, Wire};
pub use scheduled::Scheduled;
