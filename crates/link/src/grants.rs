//! A transmitter that serves in grants: each gives a number of bytes at an instant. Unused bytes are lost.
//!
//! Packets leave the queue at a grant. One that is larger than the rest of a grant ends in a later grant. An arrival
//! at an empty link first requests a grant, as in DOCSIS and in the uplink of LTE.

use std::sync::Arc;

use evenflow_base::{Duration, Time};

use crate::counters::Window;

/// When grants are, and their bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// One at each multiple of a period, with the bytes that a constant rate sends in it.
    Every {
        /// The period.
        every: Duration,
        /// The long-run rate, bit/s.
        rate: u64,
    },
    /// The delivery opportunities of a Mahimahi trace, repeated: the next round begins at the last one.
    Trace {
        /// Opportunities in ms, in order; the last is later than zero.
        ms: Arc<[u64]>,
        /// Bytes of each.
        bytes: u32,
    },
}

impl Plan {
    /// When grant number `n` is.
    fn at(&self, n: u64) -> Time {
        match self {
            Plan::Every { every, .. } => Time(every.0.saturating_mul(n + 1)),
            Plan::Trace { ms, .. } => {
                let count = ms.len() as u64;
                let at = (n / count) * last(ms) + ms[(n % count) as usize];
                Time(at.saturating_mul(MS))
            }
        }
    }

    /// Bytes of the first `n` grants. Those of a rate never drift from it.
    fn total(&self, n: u64) -> u64 {
        match self {
            Plan::Every { every, rate } => {
                (u128::from(n) * u128::from(every.0) * u128::from(*rate) / 8_000_000_000) as u64
            }
            Plan::Trace { bytes, .. } => n * u64::from(*bytes),
        }
    }

    /// The number of the first grant at `now` or later.
    fn first_from(&self, now: Time) -> u64 {
        match self {
            Plan::Every { every, .. } => now.0.div_ceil(every.0).max(1) - 1,
            Plan::Trace { ms, .. } => {
                let now = now.0.div_ceil(MS);
                // A round ends with its last instant, at which the next one begins.
                let round = now.saturating_sub(1) / last(ms);
                round * ms.len() as u64 + ms.partition_point(|at| round * last(ms) + at < now) as u64
            }
        }
    }

}

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

fn last(ms: &[u64]) -> u64 {
    ms[ms.len() - 1]
}

/// A plan in service.
#[derive(Debug)]
pub struct Grants {
    plan: Plan,
    /// Least time from an arrival at an empty link to its first grant.
    wait: Duration,
    /// The present grant: its number and its instant.
    number: u64,
    at: Time,
    /// Its bytes that are left.
    left: u64,
    /// Before this instant no grant is for this link.
    requested: Time,
    /// Nothing waited when the transmitter last looked.
    idle: bool,
    /// Bytes used in the window.
    used: u64,
}

impl Grants {
    /// A transmitter at rest.
    pub fn new(plan: Plan, wait: Duration) -> Grants {
        let (at, left) = (plan.at(0), plan.total(1));
        Grants { plan, wait, number: 0, at, left, requested: Time::ZERO, idle: true, used: 0 }
    }

    /// When the next packet may leave, if that is later than `now`; [`Time::NEVER`]: when a packet arrives.
    pub(crate) fn closed(&mut self, now: Time, waiting: bool) -> Option<Time> {
        if !waiting {
            self.idle = true;
            return Some(Time::NEVER);
        }
        if std::mem::take(&mut self.idle) {
            self.requested = now + self.wait;
        }
        let from = now.max(self.requested);
        if self.at < from || self.left == 0 {
            self.go_to(self.plan.first_from(from).max(self.number + 1));
        }
        (self.at > now).then_some(self.at)
    }

    /// Sends a packet of `size` bytes from now on. Returns when its last byte leaves.
    pub(crate) fn send(&mut self, size: u16, window: &Window) -> Time {
        let mut rest = u64::from(size);
        loop {
            let part = rest.min(self.left);
            self.left -= part;
            rest -= part;
            self.used += if window.holds(self.at) { part } else { 0 };
            if rest == 0 {
                return self.at;
            }
            self.go_to(self.number + 1);
        }
    }

    fn go_to(&mut self, number: u64) {
        self.number = number;
        self.at = self.plan.at(number);
        self.left = self.plan.total(number + 1) - self.plan.total(number);
    }

    /// The share of the bytes granted in the window that was used.
    pub(crate) fn utilisation(&self, window: &Window) -> f64 {
        let before = |time: Time| self.plan.total(self.plan.first_from(Time(time.0 + 1)));
        let start = if window.from == Time::ZERO { 0 } else { before(window.from) };
        let granted = before(window.to) - start;
        if granted == 0 { 0.0 } else { self.used as f64 / granted as f64 }
    }
}
