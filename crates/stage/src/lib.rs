//! Stages: components on a path other than links. They measure, drop, mark, delay, rewrite or answer packets.
//!
//! A stage does no I/O: instant, randomness and the packet's owner are arguments. It requests other actions
//! through [`Cx`], and its caller carries them out.

#[macro_use(observables, params, words)]
extern crate evenflow_base;

pub mod activity_meter;
pub mod auditor;
pub mod bandwidth_manager;
pub mod congestion_controller;
pub mod congestion_meter;
pub mod congestion_policer;
pub mod congestion_reporter;
pub mod csfq_edge;
pub mod dropper;
mod kept;
pub mod policer;
pub mod probe_stage;
pub mod rate_meter;
pub mod reecn_policer;
pub mod rewriter;
pub mod sessions;
pub mod shaper;
mod station;
mod stepper;
pub mod three_colour;
pub mod tunnel;
pub mod window_tuner;
pub mod windows;

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Packet, Time};

pub use activity_meter::{ActivityMeter, FairMeter};
pub use auditor::Auditor;
pub use bandwidth_manager::BandwidthManager;
pub use congestion_policer::CongestionPolicer;
pub use csfq_edge::CsfqEdge;
pub use kept::Kept;
use kept::mean;
pub use policer::Policer;
pub use probe_stage::ProbeStage;
pub use rate_meter::RateMeter;
pub use rewriter::Rewriter;
pub use shaper::Shaper;
pub use station::{
    Act, Cx, HeldPacket, Kind, Own, Owner, Pass, Reads, RoundTrip, Setting, Signal, Station, To, Whose,
};
pub use stepper::Stepper;
pub use tunnel::{TunnelEgress, TunnelIngress};
pub use window_tuner::WindowTuner;

/// A message from a stage to its peer.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Of a [`probe_stage`].
    Probe(probe_stage::Probe),
    /// Of a [`congestion_reporter`].
    Report(Box<congestion_reporter::Report>),
}

/// The places of the stages: variant, type, and what calls them by name.
macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident($stage:ty) = $table:expr,)*) => {
        stages!(@all {
            $($(#[$doc])* $name($stage),)*
            /// One that is no part of this crate.
            External(Box<dyn Station>),
        });

        /// The tables of all stages.
        pub static MECHANISMS: &[&Mechanism] = &[$(&$table,)*];

        impl Stage {
            /// The stage called `kind`.
            pub fn build(kind: &str, values: &Values, owner: Owner) -> Result<Stage, Vec<Problem>> {
                $(if kind == $table.kind {
                    return <$stage as Kind>::build(values, owner).map(Stage::$name);
                })*
                panic!("there is no stage {kind}")
            }
        }

        /// See [`Kind::needs_windows`].
        pub fn needs_windows(kind: &str, values: &Values) -> bool {
            $(if kind == $table.kind {
                return <$stage as Kind>::needs_windows(values);
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::classes_after`].
        pub fn classes_after(kind: &str, values: &Values, class: &str) -> Vec<String> {
            $(if kind == $table.kind {
                return <$stage as Kind>::classes_after(values, class);
            })*
            panic!("there is no stage {kind}")
        }

        /// The traffic classes that a stage may assign, each with its parameter, and the other words that
        /// such a parameter allows.
        pub fn classes_given(kind: &str, values: &Values) -> (Vec<(&'static str, String)>, &'static [&'static str]) {
            $(if kind == $table.kind {
                return (<$stage as Kind>::classes_given(values), <$stage as Kind>::words_for_classes());
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::buckets`].
        pub fn buckets(kind: &str, values: &Values) -> &'static [&'static str] {
            $(if kind == $table.kind {
                return <$stage as Kind>::buckets(values);
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::reads`].
        pub fn reads(kind: &str, values: &Values) -> Option<Reads> {
            $(if kind == $table.kind {
                return <$stage as Kind>::reads(values);
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::grows`].
        pub fn grows(kind: &str, values: &Values) -> f64 {
            $(if kind == $table.kind {
                return <$stage as Kind>::grows(values);
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::shows`].
        pub fn shows(kind: &str, values: &Values, name: &str) -> bool {
            $(if kind == $table.kind {
                return <$stage as Kind>::shows(values, name);
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::needs_round_trips`].
        pub fn needs_round_trips(kind: &str, values: &Values) -> bool {
            $(if kind == $table.kind {
                return <$stage as Kind>::needs_round_trips(values);
            })*
            panic!("there is no stage {kind}")
        }

        /// See [`Kind::problems`].
        pub fn check_partly(kind: &str, values: &Values) -> Vec<Problem> {
            $(if kind == $table.kind {
                return <$stage as Kind>::problems(values);
            })*
            Vec::new()
        }
    };
    (@all { $($(#[$doc:meta])* $name:ident($stage:ty),)* }) => {
        /// A stage, dispatched statically.
        #[derive(Debug)]
        pub enum Stage {
            $($(#[$doc])* $name($stage),)*
        }

        impl Stage {
            /// See [`Station::forward`].
            #[inline]
            pub fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
                match self { $(Stage::$name(stage) => stage.forward(packet, cx),)* }
            }

            /// See [`Station::backward`].
            #[inline]
            pub fn backward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
                match self { $(Stage::$name(stage) => stage.backward(packet, cx),)* }
            }

            /// See [`Station::start`].
            pub fn start(&mut self, cx: &mut Cx) {
                match self { $(Stage::$name(stage) => stage.start(cx),)* }
            }

            /// See [`Station::wake`].
            pub fn wake(&mut self, cx: &mut Cx) {
                match self { $(Stage::$name(stage) => stage.wake(cx),)* }
            }

            /// See [`Station::receive`].
            pub fn receive(&mut self, message: Message, cx: &mut Cx) {
                match self { $(Stage::$name(stage) => stage.receive(message, cx),)* }
            }

            /// See [`Station::held`].
            pub fn held(&self) -> Vec<HeldPacket> {
                match self { $(Stage::$name(stage) => stage.held(),)* }
            }

            /// See [`Station::heap_bytes`].
            pub fn heap_bytes(&self) -> u64 {
                match self { $(Stage::$name(stage) => stage.heap_bytes(),)* }
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
    Activity(ActivityMeter) = activity_meter::TABLE,
    /// See [`auditor`].
    Auditor(dropper::Auditing) = auditor::TABLE,
    /// See [`bandwidth_manager`].
    Bandwidth(BandwidthManager) = bandwidth_manager::TABLE,
    /// See [`congestion_controller`].
    Controller(congestion_controller::CongestionController) = congestion_controller::TABLE,
    /// See [`congestion_meter`].
    CongestionMeter(congestion_meter::CongestionMeter) = congestion_meter::TABLE,
    /// See [`congestion_policer`].
    Congestion(reecn_policer::Policing) = congestion_policer::TABLE,
    /// See [`congestion_reporter`].
    Reporter(congestion_reporter::CongestionReporter) = congestion_reporter::TABLE,
    /// See [`csfq_edge`].
    CsfqEdge(CsfqEdge) = csfq_edge::TABLE,
    /// See [`activity_meter`].
    Fair(FairMeter) = activity_meter::FAIR_TABLE,
    /// See [`policer`].
    Policer(Policer) = policer::TABLE,
    /// See [`probe_stage`].
    Probe(ProbeStage) = probe_stage::TABLE,
    /// See [`rate_meter`].
    Rate(RateMeter) = rate_meter::TABLE,
    /// See [`rewriter`].
    Rewriter(Rewriter) = rewriter::TABLE,
    /// See [`shaper`].
    Shaper(Shaper) = shaper::TABLE,
    /// See [`tunnel`].
    TunnelEgress(TunnelEgress) = tunnel::EGRESS,
    /// See [`tunnel`].
    TunnelIngress(TunnelIngress) = tunnel::INGRESS,
    /// See [`window_tuner`].
    Tuner(WindowTuner) = window_tuner::TABLE,
}

/// Errors in the combination of several parameters.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    Stage::build(kind, values, Owner::of(&[])).err().unwrap_or_default()
}
