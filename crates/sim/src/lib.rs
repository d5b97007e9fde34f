//! The run: a pure function from a scenario and a seed to a record.
//!
//! ```text
//! scenario --build--> Network (ports, stages, flows, routes) --events--> counters --record--> Record
//! ```
//!
//! One event a hop where the admission rule decides at enqueue, two where a scheduler or a changing rate decides later;
//! nothing is allocated per packet once the rings have grown; no clock, no thread, no file.

mod build;
mod column;
mod conex;
mod engine;
mod events;
mod hosting;
mod measure;
mod network;
mod port;
mod probe;
mod record;
mod ring;
mod senders;
mod slots;
mod trace;
mod transfers;
mod viewing;
mod wakeups;

use std::sync::atomic::{AtomicBool, AtomicU64};

use evenflow_scenario::model::Scenario;

pub use build::memory_bytes;
pub use column::Column;
pub use record::{Outcome, hash as record_hash};

/// How a run is carried out; none of it changes the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Every queue takes the event path, even where one event per hop would do. For the test that the two paths agree.
    pub event_path: bool,
    /// Nothing is worked off early, even where that saves an event. For the test that folding changes nothing.
    pub unfolded: bool,
    /// Where the loop writes, whenever it looks at the stop flag, which instant it has reached: seconds, as bits of an f64.
    pub clock: Option<&'static AtomicU64>,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The stop flag was raised.
    #[error("the run was interrupted")]
    Interrupted,
    /// A stage makes the run senseless.
    #[error("{0}")]
    Stage(String),
    /// The trace that the scenario asks for has grown too long.
    #[error("{0}")]
    Trace(String),
    /// A law of conservation was broken: a fault of the program.
    #[error("a fault in Evenflow, please report it: {0}")]
    Invariant(String),
}

/// What a run leaves behind. To drop it takes as long as it is large: seconds, for millions of flows.
#[derive(Debug)]
pub struct Remains<'a>(#[expect(dead_code, reason = "it is there to be dropped")] Left<'a>);

#[derive(Debug)]
enum Left<'a> {
    Unfinished(#[expect(dead_code, reason = "it is there to be dropped")] Box<network::Network>),
    Run(#[expect(dead_code, reason = "it is there to be dropped")] Box<engine::Engine<'a>>),
}

/// Runs `scenario` with `seed`. The flag is looked at every 2^8 events, every 2^12 packets that one event sends, and at each flow
/// that is built or recorded.
pub fn run(scenario: &Scenario, seed: u64, options: Options, stop: &AtomicBool) -> Result<Outcome, RunError> {
    attempt(scenario, seed, options, stop).0
}

/// The same, for those who want the result before what the run leaves is dropped.
pub fn attempt<'a>(
    scenario: &Scenario,
    seed: u64,
    options: Options,
    stop: &'a AtomicBool,
) -> (Result<Outcome, RunError>, Remains<'a>) {
    let mut engine = match build::build(scenario, seed, options, stop) {
        Ok(engine) => Box::new(engine),
        Err(net) => return (Err(RunError::Interrupted), Remains(Left::Unfinished(net))),
    };
    let result = carry_out(&mut engine, scenario, seed, options);
    (result, Remains(Left::Run(engine)))
}

fn carry_out(
    engine: &mut engine::Engine,
    scenario: &Scenario,
    seed: u64,
    options: Options,
) -> Result<Outcome, RunError> {
    engine.run(options.clock)?;
    engine.check_stages()?;
    engine.trace_fault()?;
    engine.check_conservation().map_err(RunError::Invariant)?;
    record::record(engine, scenario, seed).ok_or(RunError::Interrupted)
}
