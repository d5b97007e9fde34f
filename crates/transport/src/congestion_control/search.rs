//! SEARCH, Slow start Exit At Right CHokepoint (draft-chung-ccwg-search-09).
//!
//! Bytes sent and acknowledged are noted in bins of time. A window of ACKs is compared with the window that
//! was sent a round trip earlier. Slow start ends when the ACKs bring clearly less. The drain phase then
//! lowers the window to the data that the last round trip delivered, in the rules of the authors' Linux
//! module.

use evenflow_base::{Duration, Time};

use super::{Acked, Window};

/// Bins of a window.
const BINS: usize = 10;

/// A window in first round-trip times.
pub const WINDOW: f64 = 3.5;

/// Bins beyond a window by which a round trip can be looked back.
const EXTRA: usize = 15;

/// The part of the earlier window that must be missing (THRESH).
pub const MISSING: f64 = 0.26;

/// Bins that span the first round trip.
const RTT_BINS: usize = 3;

/// The drain phase sends a segment for so many that are acknowledged.
const DRAIN: u64 = 16;

/// Its least window, segments.
const LEAST: f64 = 10.0;

/// The state of SEARCH in one slow start.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// A drain phase follows.
    drains: bool,
    /// The window at its end, once it has begun, and the segments acknowledged in it.
    target: Option<f64>,
    drained: u64,
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
    /// With a drain phase or without.
    pub fn new(drains: bool) -> Search {
        Search { drains, ..Search::default() }
    }

    /// Forgets everything, as after a congestion event.
    pub fn reset(&mut self) {
        *self = Search::new(self.drains);
    }

    /// Slow start with `bytes` to grow by. Gives the bytes used up, or `None` where slow start goes on.
    pub fn step(&mut self, w: &mut Window, acked: &Acked, bytes: f64) -> Option<f64> {
        if let Some(target) = self.target {
            return Some(self.drain(w, acked, target, bytes));
        }
        if !self.leaves(acked) {
            return None;
        }
        if self.drains {
            let (now, before) = (self.number, self.number - RTT_BINS);
            let delivered = self.acked[now % self.acked.len()] - self.acked[before % self.acked.len()];
            self.target = Some((delivered as f64).max(LEAST * acked.mss));
            return Some(bytes);
        }
        w.ssthresh = w.cwnd;
        Some(0.0)
    }

    /// The window follows the data in flight down to `target`, where slow start ends.
    fn drain(&mut self, w: &mut Window, acked: &Acked, target: f64, bytes: f64) -> f64 {
        let before = self.drained / DRAIN;
        self.drained += acked.segments;
        let more = (self.drained / DRAIN - before) as f64 * acked.mss;
        let flight = (acked.flight.min(w.cwnd) - acked.bytes as f64).max(0.0);
        w.cwnd = (flight + more).max(target);
        if w.cwnd > target {
            return bytes;
        }
        w.ssthresh = w.cwnd;
        self.reset();
        0.0
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

    /// Draft section 3.2: the target is what three bins of ACKs delivered. The window follows the flight,
    /// plus a segment for 16 acknowledged ones. Slow start ends where it reaches the target.
    #[test]
    fn the_drain_phase_lowers_the_window_to_the_delivered_data() {
        let mut search = Search { number: 30, bin: RTT, end: Time(0), rtt: RTT, ..Search::new(true) };
        for (bin, acked) in (0..=30u64).map(|bin| (bin as usize, bin * 5000)) {
            search.number = bin;
            search.put(acked, 3 * acked);
        }
        let mut w = Window { cwnd: 60_000.0, ssthresh: f64::INFINITY };
        let now = ack(1, 155_000, 500_000, RTT);
        assert_eq!(search.step(&mut w, &now, 2000.0), Some(2000.0));
        assert_eq!((w.cwnd, search.target), (60_000.0, Some(15_000.0)));
        let step = |search: &mut Search, w: &mut Window, segments: u64| {
            let bytes = segments * 1000;
            search.step(w, &Acked { bytes, segments, flight: w.cwnd, ..now }, bytes as f64)
        };
        assert_eq!(step(&mut search, &mut w, 10), Some(10_000.0));
        assert_eq!(w.cwnd, 50_000.0);
        assert_eq!(step(&mut search, &mut w, 10), Some(10_000.0));
        assert_eq!(w.cwnd, 41_000.0, "16 segments were acknowledged");
        assert_eq!(step(&mut search, &mut w, 20), Some(20_000.0));
        assert_eq!((w.cwnd, w.ssthresh), (22_000.0, f64::INFINITY));
        assert_eq!(step(&mut search, &mut w, 8), Some(0.0));
        assert_eq!((w.cwnd, w.ssthresh, search.target, search.drains), (15_000.0, 15_000.0, None, true));
    }

    /// The target is at least ten segments, and a congestion event ends the drain.
    #[test]
    fn a_drain_keeps_ten_segments_and_ends_with_a_loss() {
        let mut search = Search { number: 30, bin: RTT, end: Time(0), rtt: RTT, ..Search::new(true) };
        for bin in 0..=30 {
            search.number = bin;
            search.put(0, bin as u64 * 1000);
        }
        let mut w = Window { cwnd: 60_000.0, ssthresh: f64::INFINITY };
        assert!(search.step(&mut w, &ack(1, 0, 20_000, RTT), 1000.0).is_some());
        assert_eq!(search.target, Some(10_000.0));
        search.reset();
        assert_eq!((search.target, search.drains), (None, true));
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
