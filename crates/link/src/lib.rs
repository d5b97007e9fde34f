//! A link: a queue served at a rate, then a delay. [`Link::offer`] is its only entrance.
//!
//! ```text
//! offer: due decisions → queue → transmitter → delay, impairments → far end
//! ```
//!
//! A link serves lazily. A decision depends only on what came before it, so all that are due are made before the next arrival,
//! before a probe, or by [`Link::deadline`]. A FIFO that decides on arrival leaves nothing to decide.
//!
//! Sans I/O: the instant and everything around the link ([`Surroundings`]) are arguments. Not here: routes, flows, the event loop.

pub mod counters;
mod fifo;
pub mod impairments;
mod link;
pub mod ring;
mod scheduled;

pub use fifo::Fifo;
pub use impairments::Impairments;
pub use link::{Account, Link, Queue, Surroundings, Wire};
pub use scheduled::Scheduled;
