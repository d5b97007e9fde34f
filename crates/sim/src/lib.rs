//! The run: a pure function from a scenario and a seed to a record.
//!
//! ```text
//! scenario --build--> Network (ports, stages, flows, routes) --events--> counters --record--> Record
//! ```
//!
//! One event a hop: links are served lazily (`evenflow_link`). Nothing is allocated per packet once the rings have grown. No
//! clock, no thread, no file.

mod build;
mod column;
mod conex;
mod engine;
mod events;
mod faults;
mod hosting;
mod measure;
mod memory;
mod network;
mod port;
mod probe;
mod quality;
mod record;
mod senders;
mod slots;
mod tcp;
mod trace;
mod transfers;
mod viewing;
mod wakeups;

use std::sync::atomic::{AtomicBool, AtomicU64};

use evenflow_scenario::model::Scenario;

pub use column::Column;
pub use faults::{Invariant, RunError, StageFault};
pub use memory::memory_bytes;
pub use record::{Outcome, hash as record_hash};

/// How a run is carried out; none of it changes the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A test double of lazy service: every link has a discipline, and an event for each of its decisions.
    pub eager: bool,
    /// No hop is folded, and every ACK takes the general path. For the test that short cuts change nothing.
    pub unfolded: bool,
    /// Where the loop writes, whenever it looks at the stop flag, which instant it has reached: seconds, as bits of an f64.
    pub clock: Option<&'static AtomicU64>,
    /// Bytes of memory that the run may use; absent: any.
    pub memory: Option<u64>,
}

/// The memory of a finished run. Dropping it takes time in proportion to its size: seconds for millions of
/// flows.
#[derive(Debug)]
pub struct Remains<'a>(Left<'a>);

#[derive(Debug)]
enum Left<'a> {
    Unfinished(Box<network::Network>),
    Run(Box<engine::Engine<'a>>),
}

impl Remains<'_> {
    /// Bytes on the heap, as the components report them.
    pub fn heap_bytes(&self) -> u64 {
        match &self.0 {
            Left::Unfinished(net) => net.usage().total(),
            Left::Run(engine) => engine.usage().total(),
        }
    }
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
        Err((why, net)) => return (Err(why), Remains(Left::Unfinished(net))),
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
    engine.check_conservation()?;
    record::record(engine, scenario, seed).ok_or(RunError::Interrupted)
}
