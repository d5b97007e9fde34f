//! Stages: what packets pass that is no link. Meters and edges today; policers, auditors and tunnel ends later.
//!
//! Sans I/O: the instant and the randomness are arguments.

pub mod activity_meter;
pub mod csfq_edge;
pub mod rate_meter;

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Packet, Stream, Time};

pub use activity_meter::ActivityMeter;
pub use csfq_edge::CsfqEdge;
pub use rate_meter::RateMeter;

/// A stage, dispatched statically.
#[derive(Clone, Debug)]
pub enum Stage {
    /// See [`activity_meter`]; the fair meter is the same with a draw.
    Activity(ActivityMeter),
    /// See [`csfq_edge`].
    CsfqEdge(CsfqEdge),
    /// See [`rate_meter`].
    Rate(RateMeter),
}

impl Stage {
    /// The stage called `kind`. `classes` are the scenario's; `weight` is its owner's.
    pub fn build(
        kind: &str,
        values: &Values,
        classes: &[String],
        weight: f64,
    ) -> Result<Stage, Vec<Problem>> {
        match kind {
            "activity-meter" | "fair-activity-meter" => {
                activity_meter::Params::new(values, classes, weight, kind == "fair-activity-meter")
                    .map(|p| Stage::Activity(ActivityMeter::new(p)))
            }
            "csfq-edge" => Ok(Stage::CsfqEdge(CsfqEdge::new(csfq_edge::Params {
                memory: values.duration("memory"),
                weight,
            }))),
            "rate-meter" => Ok(Stage::Rate(RateMeter::new(
                values.duration("memory"),
                rate_meter::Start::from_word(values.word("start")),
            ))),
            other => panic!("no stage is called {other}"),
        }
    }

    /// A packet passes forward at `now`. `stream` is the stage's own.
    #[inline]
    pub fn forward(&mut self, packet: &mut Packet, now: Time, stream: &mut Stream) {
        match self {
            Stage::Activity(meter) => meter.forward(packet, now, stream),
            Stage::CsfqEdge(edge) => edge.forward(packet, now),
            Stage::Rate(meter) => {
                meter.add(f64::from(packet.size), now);
            }
        }
    }

    /// An observable by name, at `now`, for a series or a test.
    pub fn observe(&self, name: &str, now: Time) -> Option<f64> {
        match self {
            Stage::Activity(meter) => meter.observe(name, now),
            Stage::CsfqEdge(edge) => (name == "label").then(|| edge.label()),
            Stage::Rate(meter) => (name == "rate").then(|| meter.rate(now)),
        }
    }
}

/// The tables of all stages.
pub static MECHANISMS: &[&Mechanism] =
    &[&activity_meter::TABLE, &csfq_edge::TABLE, &activity_meter::FAIR_TABLE, &rate_meter::TABLE];

/// What is wrong with several parameters together.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    Stage::build(kind, values, &[], 1.0).err().unwrap_or_default()
}
