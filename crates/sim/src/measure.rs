//! Counters of flows and stages in the measuring window. Links have separate counters.

use evenflow_base::{Reason, Time};
pub use evenflow_link::counters::{Moments, PortCounters, SideCounters, Window, bin_of, edge, quantile};

/// Common counters of all copies of a stage.
#[derive(Clone, Debug)]
pub struct StageCounters {
    /// The stage's name.
    pub name: String,
    /// Drops in the window, forward and backward, by reason.
    pub drops: [[u64; Reason::ALL.len()]; 2],
    /// Marks, the same.
    pub marks: [[u64; Reason::ALL.len()]; 2],
    /// Packets sent by the stage in the window, and their bytes.
    pub sent: (u64, u64),
    /// Dropped in the whole run.
    pub all_dropped: u64,
}

impl StageCounters {
    /// Of a stage without packets.
    pub fn new(name: &str) -> StageCounters {
        let none = [[0; Reason::ALL.len()]; 2];
        StageCounters { name: name.into(), drops: none, marks: none, sent: (0, 0), all_dropped: 0 }
    }
}

/// Counters of one flow in the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCounters {
    /// Data packets that reached the end of the path.
    pub delivered: u64,
    /// Of those, with a congestion mark.
    pub marks: u64,
    /// Their bytes.
    pub throughput_bytes: u64,
    /// Data packets dropped on the path.
    pub losses: u64,
    /// Data packets sent.
    pub sent: u64,
    /// Of those, sent before.
    pub retransmits: u64,
    /// Application bytes received before the window.
    pub received_before: u64,
    /// Application bytes received in the window by flows that were modelled after this one and are over.
    pub received_by_others: u64,
}

impl FlowCounters {
    /// Adds what a flow has counted that was modelled after this one, and how many application bytes reached it in the window.
    pub fn add(&mut self, of: &FlowCounters, received: u64) {
        self.delivered += of.delivered;
        self.marks += of.marks;
        self.throughput_bytes += of.throughput_bytes;
        self.losses += of.losses;
        self.sent += of.sent;
        self.retransmits += of.retransmits;
        self.received_by_others += received;
    }
}

/// Time integrals of a congestion window over the part of the window in which the connection is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowMeter {
    last: Time,
    /// Bytes times nanoseconds.
    pub bytes_time: f64,
    /// Nanoseconds open.
    pub open: u64,
    /// Nanoseconds at the floor of one segment.
    pub at_floor: u64,
}

impl WindowMeter {
    /// It does not run before [`WindowMeter::skip`] starts it.
    pub const IDLE: WindowMeter = WindowMeter { last: Time::NEVER, bytes_time: 0.0, open: 0, at_floor: 0 };

    /// Whether it has not been started.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.last == Time::NEVER
    }

    /// With integrals that are known.
    pub fn of((bytes_time, open, at_floor): (u128, u64, u64)) -> WindowMeter {
        WindowMeter { last: Time::ZERO, bytes_time: bytes_time as f64, open, at_floor }
    }

    /// The window was `bytes` since the last call; call before it changes.
    #[inline]
    pub fn advance(&mut self, bytes: f64, mss: f64, now: Time, window: &Window) {
        let passed = window.overlap(self.last, now);
        self.last = now;
        self.bytes_time += bytes * passed as i64 as f64; // from a signed number it is one instruction
        self.open += passed;
        if bytes <= mss {
            self.at_floor += passed;
        }
    }

    /// Stops until [`WindowMeter::skip`] starts it again.
    pub fn stop(&mut self) {
        self.last = Time::NEVER;
    }

    /// The connection was not open since the last call.
    pub fn skip(&mut self, now: Time) {
        self.last = now;
    }
}
