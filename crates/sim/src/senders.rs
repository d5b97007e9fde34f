//! Counters of a group's TCP senders.

use evenflow_base::Time;
use evenflow_transport::sender::Life;
use evenflow_transport::{Profile, Sender};

/// Log of Linux's `tcp_probe`: window and threshold before each received segment, when the window differs
/// from the last one logged.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    window: f64,
    threshold: f64,
    falls: u64,
}

impl Logged {
    /// Nothing yet.
    pub const NOTHING: Logged = Logged { window: f64::NAN, threshold: f64::NAN, falls: 0 };

    /// A segment is about to be received.
    pub fn log(&mut self, sender: &Sender, profile: &Profile) {
        let segments = |bytes: f64| (bytes / profile.segment()).floor();
        let window = segments(sender.window().cwnd);
        if window == self.window || sender.life() == Life::Opening {
            return;
        }
        let threshold = segments(sender.remembered_threshold(profile));
        self.falls += u64::from(threshold < self.threshold);
        (self.window, self.threshold) = (window, threshold);
    }
}

/// Counters of the servers of one player's video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Falls of the slow-start threshold.
    pub threshold_falls: u64,
    /// Falls of the threshold that a probe logs.
    pub probed_falls: u64,
    /// Times when a server went on after it had been idle for longer than a timeout.
    pub idle_periods: u64,
    /// Of those, that reduced the window.
    pub restarts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl Served {
    /// Adds a connection's server.
    pub fn add(&mut self, sender: &Sender, logged: &Logged) {
        let counts = sender.counts();
        self.threshold_falls += u64::from(counts.threshold_falls);
        self.probed_falls += logged.falls;
        self.idle_periods += u64::from(counts.idle_periods);
        self.restarts += u64::from(counts.restarts);
        self.timeouts += u64::from(counts.timeouts);
    }

    /// The increase since `before`.
    pub fn since(self, before: &Served) -> Served {
        Served {
            threshold_falls: self.threshold_falls - before.threshold_falls,
            probed_falls: self.probed_falls - before.probed_falls,
            idle_periods: self.idle_periods - before.idle_periods,
            restarts: self.restarts - before.restarts,
            timeouts: self.timeouts - before.timeouts,
        }
    }

    /// Adds others.
    pub fn join(&mut self, other: &Served) {
        self.threshold_falls += other.threshold_falls;
        self.probed_falls += other.probed_falls;
        self.idle_periods += other.idle_periods;
        self.restarts += other.restarts;
        self.timeouts += other.timeouts;
    }
}

/// Sums over senders, since each was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderSums {
    /// Reductions of the window: after losses, after marks, after timeouts.
    pub reductions: [u64; 3],
    /// Falls of the slow-start threshold.
    pub threshold_falls: u64,
    /// Restarts after idle.
    pub restarts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Nanoseconds limited by the congestion window, by the receive window, by the application.
    pub limited: [u64; 3],
}

impl SenderSums {
    /// Adds the counters of a sender at `now`.
    pub fn add(&mut self, sender: &Sender, now: Time) {
        let (counts, limited) = (sender.counts(), sender.limited(now));
        let of = counts.reductions;
        for (sum, count) in self.reductions.iter_mut().zip([of.loss, of.mark, of.timeout]) {
            *sum += u64::from(count);
        }
        self.threshold_falls += u64::from(counts.threshold_falls);
        self.restarts += u64::from(counts.restarts);
        self.timeouts += u64::from(counts.timeouts);
        for (sum, spent) in self.limited.iter_mut().zip(limited) {
            *sum += spent.0;
        }
    }

    /// Adds the sums of others.
    pub fn join(&mut self, other: &SenderSums) {
        self.combine(other, |a, b| a + b);
    }

    /// The increase since `before`.
    pub fn since(mut self, before: &SenderSums) -> SenderSums {
        self.combine(before, |a, b| a - b);
        self
    }

    fn combine(&mut self, other: &SenderSums, with: fn(u64, u64) -> u64) {
        for (own, other) in self.reductions.iter_mut().zip(other.reductions) {
            *own = with(*own, other);
        }
        for (own, other) in self.limited.iter_mut().zip(other.limited) {
            *own = with(*own, other);
        }
        self.threshold_falls = with(self.threshold_falls, other.threshold_falls);
        self.restarts = with(self.restarts, other.restarts);
        self.timeouts = with(self.timeouts, other.timeouts);
    }
}
