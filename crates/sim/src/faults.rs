//! Why a run ends early or has no record.

use evenflow_base::Misplaced;
use evenflow_transport::exposure::Unbalanced;

/// Why there is no record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The stop flag was raised.
    #[error("the run was interrupted")]
    Interrupted,
    /// A stage makes the run senseless.
    #[error(transparent)]
    Stage(#[from] StageFault),
    /// The trace that the scenario asks for has grown too long.
    #[error("record.trace: more than {most} rows by {seconds} s; trace fewer flows, or run for less long")]
    Trace {
        /// Rows that a trace may have.
        most: usize,
        /// When the last of them was added.
        seconds: f64,
    },
    /// A connection sends too many packets in one event.
    #[error(
        "a connection sends {most} packets or more at once, at {seconds} s of simulated time; use smaller windows"
    )]
    Burst {
        /// Packets that end the run.
        most: usize,
        /// The simulated time.
        seconds: f64,
    },
    /// The run would use more memory than it may.
    #[error("more than {} of memory at {seconds} s of simulated time: {}", size(*limit), list(largest))]
    Memory {
        /// Bytes that it may use.
        limit: u64,
        /// The simulated time.
        seconds: f64,
        /// The three largest consumers, and the bytes of each.
        largest: Vec<(String, u64)>,
    },
    /// A fault of the program.
    #[error("a fault in Evenflow, please report it: {0}")]
    Invariant(#[from] Invariant),
}

/// Bytes in a sentence.
fn size(bytes: u64) -> String {
    let gib = bytes as f64 / (1u64 << 30) as f64;
    if gib >= 1.0 { format!("{gib:.1} GiB") } else { format!("{:.1} MiB", gib * 1024.0) }
}

fn list(consumers: &[(String, u64)]) -> String {
    consumers.iter().map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect::<Vec<_>>().join(", ")
}

/// Faults of a stage.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum StageFault {
    #[error(
        "stages.{stage} is woken, or answered by its peer, without end at {seconds} s: time does not pass between"
    )]
    Endless { stage: String, seconds: f64 },
    #[error("stages.{stage} sends on a packet that it does not hold")]
    NotHeld { stage: String },
    #[error("stages.{stage} holds {held} packets indefinitely: it has requested no wake-up to send them")]
    HeldForever { stage: String, held: u32 },
}

/// A law of conservation that is broken, or a state that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum Invariant {
    #[error(
        "side {side} of links: {offered} packets offered, {delivered} delivered, {dropped} dropped, {inside} inside"
    )]
    Side { side: usize, offered: u64, delivered: u64, dropped: u64, inside: u64 },
    #[error(
        "network: {created} packets sent, {consumed} arrived, {dropped} dropped by links, {by_stages} by stages, \
         {inside} inside, {held} held by stages"
    )]
    Network { created: u64, consumed: u64, dropped: u64, by_stages: u64, inside: u64, held: u64 },
    #[error("stage number {stage} counts {own} packets that it holds, the engine {held}")]
    Held { stage: usize, own: usize, held: u32 },
    #[error("messages: {kept} kept, {under_way} under way")]
    Messages { kept: usize, under_way: usize },
    #[error(
        "application of group {group}, user {user}: {written} bytes written, {delivered} delivered, \
         {abandoned} abandoned, {held} in buffers"
    )]
    Bytes { group: u32, user: u32, written: u64, delivered: u64, abandoned: u64, held: u64 },
    #[error(
        "application of group {group}, user {user}: {lost} bytes of connections that closed in order did not arrive"
    )]
    LostBytes { group: u32, user: u32, lost: u64 },
    #[error("application of group {group}, user {user}: level {level} was chosen, the ladder ends at {top}")]
    Level { group: u32, user: u32, level: usize, top: usize },
    #[error("application of group {group}, user {user}: it uses TCP where it has no connection")]
    Unconnected { group: u32, user: u32 },
    #[error("options of packets: {0:?}")]
    Options(Misplaced),
    #[error("a ConEx sender: {0:?}")]
    Exposure(Unbalanced),
    #[error("lane {lane} is empty when a packet arrives")]
    EmptyLane { lane: u32 },
    #[error("a packet of flow {flow} leaves a link that is not on its route")]
    NoPort { flow: u32 },
    #[error("no timer is due when one fires")]
    NoTimer,
    #[error("flow {flow} cannot receive packets")]
    NoEndpoint { flow: u32 },
}
