//! SEARCH, Slow start Exit At Right CHokepoint (draft-chung-ccwg-search-09).
//!
//! Bytes sent and acknowledged are noted in bins of time. A window of ACKs is compared with the window that was sent a
//! round trip earlier. Slow start ends when the ACKs bring clearly less. Not here: the drain phase after the exit.

use evenflow_base::{Duration, Time};

use super::Acked;

/// Bins of a window.
const BINS: usize = 10;

/// A window in first round-trip times.
pub const WINDOW: f64 = 3.5;

/// Bins beyond a window by which a round trip can be looked back.
const EXTRA: usize = 15;

/// The part of the earlier window that must be missing (THRESH).
pub const MISSING: f64 = 0.26;

/// The state of SEARCH in one slow start.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The length of a bin; zero before the first sample.
    bin: Duration,
    /// When the present bin ends.
    end: Time,
    /// Its number.
    number: usize,
    /// The last round-trip time.
    rtt: Duration,
    /// Acknowledged bytes at the end of each bin.
    acked: [u64; BINS + 1],
    /// Sent bytes at the end of each bin.
    sent: [u64; BINS + 1 + EXTRA],
}

impl Search {
    /// Forgets everything, as after a congestion event.
    pub fn reset(&mut self) {
        *self = Search::default();
    }

    /// Whether slow start ends with this ACK.
    pub fn leaves(&mut self, acked: &Acked) -> bool {
        self.rtt = acked.rtt.unwrap_or(self.rtt);
        if self.bin == Duration::ZERO {
            self.bin = Duration::from_seconds(self.rtt.seconds() * WINDOW / BINS as f64);
            self.end = acked.now + self.bin;
            self.note(acked);
            return false;
        }
        if acked.now <= self.end {
            return false;
        }
        let passed = (acked.now.since(self.end).0 / self.bin.0 + 1) as usize;
        if passed > BINS {
            self.reset(); // a pause: the bins are too old (an option of the draft)
            return false;
        }
        let (bytes, sent) =
            (self.acked[self.number % self.acked.len()], self.sent[self.number % self.sent.len()]);
        for _ in 1..passed {
            self.number += 1;
            self.put(bytes, sent);
        }
        self.number += 1;
        self.end = Time(self.end.0 + self.bin.0 * passed as u64);
        self.note(acked);
        self.is_behind()
    }

    fn note(&mut self, acked: &Acked) {
        self.put(acked.una, acked.next);
    }

    fn put(&mut self, acked: u64, sent: u64) {
        let (a, s) = (self.number % self.acked.len(), self.number % self.sent.len());
        (self.acked[a], self.sent[s]) = (acked, sent);
    }

    /// Compares the last window of ACKs with the window that was sent a round trip ago, between two bins if need be.
    fn is_behind(&self) -> bool {
        let back = self.rtt.0 as f64 / self.bin.0 as f64;
        let whole = back as usize;
        if whole >= EXTRA || self.number <= whole + BINS {
            return false; // the round trip grew beyond the bins, or the bins are too few
        }
        let window = |end: usize| {
            (self.sent[end % self.sent.len()] - self.sent[(end - BINS) % self.sent.len()]) as f64
        };
        let (end, part) = (self.number - whole, back - whole as f64);
        let before = (1.0 - part) * window(end) + part * window(end - 1);
        let delivered =
            self.acked[self.number % self.acked.len()] - self.acked[(self.number - BINS) % self.acked.len()];
        before > 0.0 && before - delivered as f64 >= MISSING * before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn ack(at_ms: u64, una: u64, next: u64, rtt: Duration) -> Acked {
        Acked {
            now: Time(at_ms * 1_000_000),
            una,
            next,
            bytes: 0,
            segments: 0,
            mss: 1000.0,
            flight: f64::INFINITY,
            rtt: Some(rtt),
            one_way: None,
            marks: 0,
        }
    }

    /// Sends an ACK at each end of a bin of 35 ms. The rate doubles each round trip for `growing` bins.
    /// Returns the bin in which slow start ends.
    fn ends(growing: u32, rtt: impl Fn(u64) -> Duration) -> Option<u64> {
        let mut search = Search::default();
        assert!(!search.leaves(&ack(100, 0, 10_000, RTT)));
        let rate = |bin: i32| 1000.0 * libm::exp2(f64::from(bin.min(growing as i32)) * 0.35);
        let total = |bins: i32| (-40..bins).map(rate).sum::<f64>() as u64;
        (1..60).find(|&n| {
            // A full link delivers at its rate, but twice as much is sent.
            let (una, next) = (total(n as i32), 2 * total(n as i32));
            search.leaves(&ack(101 + 35 * n, una, next, rtt(n)))
        })
    }

    /// As long as each round trip brings twice as much, nothing is missing.
    #[test]
    fn growth_does_not_end_slow_start() {
        assert_eq!(ends(60, |_| RTT), None);
    }

    /// After the rate stops to grow, the exit comes within a window.
    #[test]
    fn a_full_link_ends_slow_start() {
        let end = ends(20, |_| RTT).expect("slow start ends");
        assert!((21..=30).contains(&end), "{end}");
    }

    /// Nothing is compared before a window and a round trip have passed, or if a round trip exceeds the bins.
    #[test]
    fn too_few_bins_say_nothing() {
        assert!(ends(0, |_| RTT).is_some_and(|end| end >= 13));
        assert_eq!(ends(20, |_| Duration::from_millis(35 * EXTRA as u64)), None);
    }

    /// A pause of more than a window resets the bins.
    #[test]
    fn a_pause_resets() {
        let mut search = Search::default();
        search.leaves(&ack(100, 0, 10_000, RTT));
        search.leaves(&ack(136, 1000, 12_000, RTT));
        assert_eq!(search.number, 1);
        assert!(!search.leaves(&ack(136 + 36 * 11, 2000, 12_000, RTT)));
        assert_eq!((search.number, search.bin), (0, Duration::ZERO));
    }

    /// Bins without an ACK repeat the bin before them.
    #[test]
    fn skipped_bins_repeat_the_last() {
        let mut search = Search::default();
        search.leaves(&ack(100, 0, 10_000, RTT));
        search.leaves(&ack(100 + 35 * 3 + 1, 5000, 20_000, RTT));
        assert_eq!(search.number, 3);
        assert_eq!(search.acked[..4], [0, 0, 0, 5000]);
        assert_eq!(search.sent[..4], [10_000, 10_000, 10_000, 20_000]);
    }
}
