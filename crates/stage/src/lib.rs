//! Stages: what packets pass that is no link. Meters and edges today; policers, auditors and tunnel ends later.
//!
//! Sans I/O: the instant and the randomness are arguments.

pub mod activity_meter;
pub mod csfq_edge;
pub mod rate_meter;
mod station;
pub mod three_colour;

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Packet, Stream, Time};

pub use activity_meter::{ActivityMeter, FairMeter};
pub use csfq_edge::CsfqEdge;
pub use rate_meter::RateMeter;
pub use station::{Owner, Station};

/// The places of the stages: variant, type, and what calls them by name.
macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident($stage:ty),)*) => {
        /// A stage, dispatched statically.
        #[derive(Clone, Debug)]
        pub enum Stage {
            $($(#[$doc])* $name($stage),)*
        }

        /// The tables of all stages.
        pub static MECHANISMS: &[&Mechanism] = &[$(<$stage as Station>::TABLE,)*];

        impl Stage {
            /// The stage called `kind`.
            pub fn build(kind: &str, values: &Values, owner: Owner) -> Result<Stage, Vec<Problem>> {
                $(if kind == <$stage as Station>::TABLE.kind {
                    return <$stage as Station>::build(values, owner).map(Stage::$name);
                })*
                panic!("no stage is called {kind}")
            }

            /// See [`Station::forward`].
            #[inline]
            pub fn forward(&mut self, packet: &mut Packet, now: Time, stream: &mut Stream) {
                match self { $(Stage::$name(stage) => stage.forward(packet, now, stream),)* }
            }

            /// See [`Station::observe`].
            pub fn observe(&self, name: &str, now: Time) -> Option<f64> {
                match self { $(Stage::$name(stage) => stage.observe(name, now),)* }
            }
        }
    };
}

// A new stage is a line here, in the order in which documents list them.
stages! {
    /// See [`activity_meter`].
    Activity(ActivityMeter),
    /// See [`csfq_edge`].
    CsfqEdge(CsfqEdge),
    /// See [`activity_meter`].
    Fair(FairMeter),
    /// See [`rate_meter`].
    Rate(RateMeter),
}

/// What is wrong with several parameters together.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    Stage::build(kind, values, Owner { classes: &[], weight: 1.0 }).err().unwrap_or_default()
}
