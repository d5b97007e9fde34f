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

    /// The number of the grant with byte number `byte`, counted from 1 over all grants.
    fn with_byte(&self, byte: u64) -> u64 {
        match self {
            Plan::Every { every, rate } => {
                let per_grant = u128::from(every.0) * u128::from(*rate);
                (u128::from(byte) * 8_000_000_000).div_ceil(per_grant) as u64 - 1
            }
            Plan::Trace { bytes, .. } => byte.div_ceil(u64::from(*bytes)) - 1,
        }
    }

    /// Bytes of all grants until `now`, this instant included.
    fn until(&self, now: Time) -> u64 {
        self.total(self.first_from(Time(now.0 + 1)))
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
    /// The next byte to be used, counted from 0 over all grants.
    next: u64,
    /// The end of the present grant's bytes.
    end: u64,
    /// Grants before this instant are not for this link.
    requested: Time,
    /// Nothing waited when the transmitter last looked.
    idle: bool,
    /// Bytes used in the window.
    used: u64,
    /// The first byte granted in the window and the end of the last, once needed.
    granted: Option<(u64, u64)>,
}

impl Grants {
    /// A transmitter at rest.
    pub fn new(plan: Plan, wait: Duration) -> Grants {
        let (at, end) = (plan.at(0), plan.total(1));
        Grants {
            plan,
            wait,
            number: 0,
            at,
            next: 0,
            end,
            requested: Time::ZERO,
            idle: true,
            used: 0,
            granted: None,
        }
    }

    /// The rate at `now`, bit/s; `Err`: the bits that delivery opportunities had by then.
    pub(crate) fn rate(&self, now: Time) -> Result<f64, f64> {
        match self.plan {
            Plan::Every { rate, .. } => Ok(rate as f64),
            Plan::Trace { .. } => Err(8.0 * self.plan.until(now) as f64),
        }
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
        if self.at < from {
            self.next = self.plan.total(self.plan.first_from(from));
            self.go_to_byte(self.next + 1);
        } else if self.next == self.end {
            self.go_to_byte(self.next + 1);
        }
        (self.at > now).then_some(self.at)
    }

    /// Sends a packet of `size` bytes from now on. Returns when its last byte leaves.
    pub(crate) fn send(&mut self, size: u16, window: &Window) -> Time {
        let first = self.next;
        self.next += u64::from(size);
        if self.next > self.end {
            self.go_to_byte(self.next);
        }
        let (from, to) = self.granted(window);
        self.used += self.next.clamp(from, to) - first.clamp(from, to);
        self.at
    }

    /// Makes the grant with byte number `byte`, counted from 1, the present one.
    fn go_to_byte(&mut self, byte: u64) {
        self.number = self.plan.with_byte(byte);
        self.at = self.plan.at(self.number);
        self.end = self.plan.total(self.number + 1);
    }

    fn granted(&mut self, window: &Window) -> (u64, u64) {
        *self.granted.get_or_insert_with(|| {
            let from = if window.from == Time::ZERO { 0 } else { self.plan.until(window.from) };
            (from, self.plan.until(window.to))
        })
    }

    /// The share of the bytes granted in the window that was used.
    pub(crate) fn utilisation(&mut self, window: &Window) -> f64 {
        let (from, to) = self.granted(window);
        if from == to { 0.0 } else { self.used as f64 / (to - from) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, instants and bytes of grants are inverse to each other.
    #[test]
    fn grants_are_found_by_instant_and_by_byte() {
        let trace = Plan::Trace { ms: vec![0, 1, 1, 4, 9].into(), bytes: 3 };
        let slow = Plan::Every { every: Duration(7), rate: 300_000_000 };
        let fast = Plan::Every { every: Duration::from_millis(2), rate: 12_345_678 };
        for plan in [trace, slow, fast] {
            for n in 0..500 {
                assert!(plan.at(n) <= plan.at(n + 1));
                let first = plan.first_from(plan.at(n));
                assert!(first <= n && plan.at(first) == plan.at(n), "{plan:?} {n}");
                assert!(plan.first_from(Time(plan.at(n).0 + 1)) > n);
                for byte in plan.total(n) + 1..=plan.total(n + 1) {
                    assert_eq!(plan.with_byte(byte), n, "{plan:?}");
                }
            }
        }
    }

    /// A byte each 27 ns from grants each 7 ns: most grants are empty.
    #[test]
    fn grants_of_less_than_a_byte_add_up() {
        let plan = Plan::Every { every: Duration(7), rate: 300_000_000 };
        let mut grants = Grants::new(plan, Duration::default());
        let window = Window { from: Time::ZERO, to: Time(1_000_000) };
        let mut now = Time::ZERO;
        for _ in 0..10 {
            let at = grants.closed(now, true).unwrap_or(now);
            now = grants.send(1000, &window);
            assert!(at <= now);
        }
        assert_eq!(now, Time(266_672)); // 10,000 bytes at 37.5 bytes per us, at the next multiple of 7 ns
    }
}
