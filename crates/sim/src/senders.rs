//! What a group's TCP senders have counted of themselves.

use evenflow_base::Time;
use evenflow_transport::Sender;

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
    /// Adds what a sender has counted by `now`.
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

    /// What has come since `before`.
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
