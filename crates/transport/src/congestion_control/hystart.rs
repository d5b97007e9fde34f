//! Exit from slow start before a loss.
//!
//! [`Hystart`] is hybrid slow start (Ha and Rhee, "Taming the elephants: new TCP slow start", Computer
//! Networks 55, 2011) as in Linux. It exits when the ACKs of a round arrive without gaps for half the minimum
//! round-trip time, or when a round's minimum round-trip time rises. [`HystartPlusPlus`] is RFC 9406: a rise
//! starts a conservative phase, which ends slow start only if the rise persists. Sequence numbers delimit
//! rounds in both.

use evenflow_base::{Duration, Time};

use super::Acked;

/// How much later a round's least round trip must come: an eighth of the time compared with, 4 to 16 ms (RFC 9406
/// section 4.3, MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR; Linux has the same).
pub fn threshold(rtt: Duration) -> Duration {
    Duration(rtt.0 / 8).max(Duration::from_millis(4)).min(Duration::from_millis(16))
}

/// Samples of a round before its least round trip says anything (RFC 9406 section 4.3, N_RTT_SAMPLE; Linux as well).
pub const SAMPLES: u32 = 8;

/// Linux looks for an exit from this window on, packets (Ha and Rhee 2011 section 3.3; `hystart_low_window`).
pub const LOW_WINDOW: f64 = 16.0;

/// ACKs so close belong to one train (Ha and Rhee 2011 section 3.2; `hystart_ack_delta_us`).
pub const TRAIN_GAP: Duration = Duration::from_millis(2);

/// The allowance that Linux makes for offloaded segments: four of the largest at the pacing rate, at most this.
pub const MOST_CUSHION: Duration = Duration::from_millis(1);

/// Bytes of the largest offloaded segment of Linux.
const LARGEST_OFFLOADED: f64 = 65_536.0;

/// Hybrid slow start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hystart {
    /// Slow start was left; until the next timeout nothing is looked for.
    found: bool,
    /// When the round began.
    began: Time,
    /// The last ACK of the train that began the round.
    train: Time,
    /// An ACK beyond this ends the round.
    end: u64,
    /// Least round-trip time of the round.
    least: Option<Duration>,
    samples: u32,
}

impl Hystart {
    /// Forgets everything, as after a timeout.
    pub fn reset(&mut self) {
        *self = Hystart::default();
    }

    /// Whether slow start ends with the ACK `acked`, which shows the round-trip time `rtt`. `least` is the least of the
    /// connection, `window` the window in packets, `smoothed` the smoothed round-trip time.
    pub fn leaves(
        &mut self,
        acked: &Acked,
        rtt: Duration,
        least: Duration,
        window: f64,
        smoothed: Duration,
    ) -> bool {
        if self.found {
            return false;
        }
        if acked.una > self.end {
            self.began = acked.now;
            self.train = acked.now;
            self.end = acked.next;
            self.least = None;
            self.samples = 0;
        }
        if window < LOW_WINDOW {
            return false;
        }
        if acked.now.since(self.train) <= TRAIN_GAP {
            self.train = acked.now;
            let span = least + cushion(window * acked.mss, smoothed);
            self.found = acked.now.since(self.began).0 > span.0 / 2;
        }
        let lowest = self.least.map_or(rtt, |known| known.min(rtt));
        self.least = Some(lowest);
        // The samples are complete with the ACK before the one that is compared.
        if self.samples < SAMPLES {
            self.samples += 1;
        } else if lowest > least + threshold(least) {
            self.found = true;
        }
        self.found
    }
}

/// How long four of the largest offloaded segments take at the pacing rate of slow start, twice a window a round trip.
fn cushion(window: f64, smoothed: Duration) -> Duration {
    let rate = 2.0 * window / smoothed.seconds().max(1e-9);
    Duration::from_seconds(4.0 * LARGEST_OFFLOADED / rate).min(MOST_CUSHION)
}

/// Conservative slow start grows by this part of slow start (RFC 9406 section 4.3, CSS_GROWTH_DIVISOR).
pub const CONSERVATIVE_DIVISOR: f64 = 4.0;

/// Conservative slow start lasts so many rounds, the one in which it begins included (RFC 9406 section 4.3, CSS_ROUNDS).
pub const CONSERVATIVE_ROUNDS: u32 = 5;

/// Most segments that one ACK adds where packets are not paced (RFC 9406 section 4.3, L).
pub const MOST_SEGMENTS: f64 = 8.0;

/// HyStart++.
#[derive(Clone, Copy, Debug, Default)]
pub struct HystartPlusPlus {
    /// The first slow start is over; later ones are plain (RFC 9406 section 4.3).
    over: bool,
    /// `windowEnd`.
    end: Option<u64>,
    /// `lastRoundMinRTT`.
    last: Option<Duration>,
    /// `currentRoundMinRTT`.
    current: Option<Duration>,
    /// `rttSampleCount`.
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start under way.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// `cssBaselineMinRtt`.
    baseline: Duration,
    /// Rounds that ended.
    rounds: u32,
}

impl HystartPlusPlus {
    /// There was a congestion event: the first slow start is over.
    pub fn finish(&mut self) {
        self.over = true;
    }

    /// Whether it still has a say.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether growth is conservative.
    pub fn is_conservative(&self) -> bool {
        self.conservative.is_some()
    }

    /// Whether slow start ends with this ACK (RFC 9406 section 4.2).
    pub fn leaves(&mut self, acked: &Acked) -> bool {
        let end = *self.end.get_or_insert(acked.next);
        if let Some(rtt) = acked.rtt {
            self.current = Some(self.current.map_or(rtt, |known| known.min(rtt)));
            self.samples += 1;
        }
        if let (Some(current), true) = (self.current, self.samples >= SAMPLES) {
            match (self.conservative, self.last) {
                (Some(css), _) if current < css.baseline => self.conservative = None,
                (None, Some(last)) if current >= last + threshold(last) => {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
                _ => {}
            }
        }
        if acked.una >= end {
            self.end = Some(acked.next);
            self.last = self.current.take();
            self.samples = 0;
            if let Some(css) = &mut self.conservative {
                css.rounds += 1;
                self.over = css.rounds >= CONSERVATIVE_ROUNDS;
            }
        }
        self.over
    }

    /// By what part of the bytes acknowledged the window grows.
    pub fn divisor(&self) -> f64 {
        if self.is_conservative() { CONSERVATIVE_DIVISOR } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    fn ack(at_ms: u64, una: u64, next: u64, rtt: Duration) -> Acked {
        Acked {
            now: Time(at_ms * 1_000_000),
            una: una * MSS,
            next: next * MSS,
            bytes: MSS,
            segments: 1,
            mss: MSS as f64,
            flight: f64::INFINITY,
            rtt: Some(rtt),
            one_way: None,
            marks: 0,
        }
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        assert_eq!(threshold(ms(8)), ms(4)); // 1 ms is too little
        assert_eq!(threshold(ms(80)), ms(10));
        assert_eq!(threshold(ms(400)), ms(16)); // 50 ms is too much
    }

    #[test]
    fn a_rise_of_the_delay_is_found_with_the_ninth_sample() {
        // Least 80 ms, threshold 10 ms: 91 ms is a rise, 90 ms is none. ACKs come 5 ms apart: no train.
        for (rtt, rises) in [(91, true), (90, false)] {
            let mut h = Hystart::default();
            for n in 1..=12 {
                let left = h.leaves(&ack(1000 + 5 * n, n, 100, ms(rtt)), ms(rtt), ms(80), 20.0, ms(80));
                assert_eq!(left, rises && n == 9, "{rtt} ms, ACK {n}");
            }
        }
    }

    #[test]
    fn a_single_fast_ack_of_the_round_speaks_against_a_rise() {
        let mut h = Hystart::default();
        for n in 1..=30 {
            let rtt = if n == 4 { ms(80) } else { ms(200) };
            assert!(!h.leaves(&ack(1000 + 5 * n, n, 100, rtt), rtt, ms(80), 20.0, ms(80)));
        }
    }

    #[test]
    fn a_train_longer_than_half_the_least_round_trip_ends_slow_start() {
        // ACKs 2 ms apart from the round's first on; least 80 ms; the pacing rate 2 * 20 kB / 80 ms = 500 kB/s makes the
        // allowance its most, 1 ms: the train must last longer than 40.5 ms, that is 42 ms, 21 gaps.
        let mut h = Hystart::default();
        let left: Vec<u64> = (0..40)
            .filter(|n| h.leaves(&ack(1000 + 2 * n, n + 1, 100, ms(80)), ms(80), ms(80), 20.0, ms(80)))
            .collect();
        assert_eq!(left, [21]);
    }

    #[test]
    fn a_gap_ends_the_train_for_the_rest_of_the_round() {
        let mut h = Hystart::default();
        let found = (0..60).any(|n| {
            let at = if n < 10 { 1000 + 2 * n } else { 1001 + 2 * n };
            h.leaves(&ack(at, n + 1, 100, ms(80)), ms(80), ms(80), 20.0, ms(80))
        });
        assert!(!found);
    }

    #[test]
    fn a_new_round_begins_beyond_the_old_ones_end() {
        let mut h = Hystart::default();
        // Round one: eight samples at 200 ms, then the round ends; the ninth sample is the first of the next round.
        for n in 1..=8 {
            assert!(!h.leaves(&ack(1000 + 5 * n, n, 8, ms(200)), ms(200), ms(80), 20.0, ms(80)));
        }
        assert!(!h.leaves(&ack(1100, 9, 30, ms(200)), ms(200), ms(80), 20.0, ms(80)));
    }

    #[test]
    fn windows_below_sixteen_are_left_alone_and_a_timeout_begins_anew() {
        let mut h = Hystart::default();
        for n in 1..=50 {
            assert!(!h.leaves(&ack(1000 + 5 * n, n, 100, ms(200)), ms(200), ms(80), 15.9, ms(80)));
        }
        let mut left = false;
        for n in 51..=70 {
            left |= h.leaves(&ack(1000 + 5 * n, n, 100, ms(200)), ms(200), ms(80), 16.0, ms(80));
        }
        assert!(left && h.found);
        assert!(!h.leaves(&ack(2000, 80, 100, ms(200)), ms(200), ms(80), 16.0, ms(80)));
        h.reset();
        assert!(!h.found);
    }

    #[test]
    fn the_allowance_for_offloading_is_small_at_high_rates() {
        // 2 * 10 MB / 20 ms = 1 GB/s: 262144 B take 0.262144 ms.
        assert_eq!(cushion(10e6, ms(20)), Duration(262_144));
        assert_eq!(cushion(20e3, ms(80)), ms(1));
    }

    /// One round of `n` ACKs at `rtt`; the window's end is acknowledged by the last. Gives whether slow start was left.
    fn round(h: &mut HystartPlusPlus, una: &mut u64, n: u64, rtt: Duration) -> bool {
        let end = *una + n;
        let mut left = false;
        for _ in 0..n {
            *una += 1;
            let next = if *una == end { end + n } else { end };
            left |= h.leaves(&ack(0, *una, next, rtt));
        }
        left
    }

    #[test]
    fn a_rise_begins_the_conservative_phase_and_five_rounds_end_slow_start() {
        let (mut h, mut una) = (HystartPlusPlus::default(), 0);
        assert!(!round(&mut h, &mut una, 10, ms(80)));
        assert!(!h.is_conservative());
        // RFC 9406 section 4.2: 90 >= 80 + max(4, min(80 / 8, 16)). The round in which it begins counts.
        for _ in 0..4 {
            assert!(!round(&mut h, &mut una, 10, ms(90)));
            assert!(h.is_conservative() && h.divisor() == 4.0);
        }
        assert!(round(&mut h, &mut una, 10, ms(90)));
        assert!(h.is_over());
    }

    #[test]
    fn a_fall_below_the_baseline_resumes_slow_start() {
        let (mut h, mut una) = (HystartPlusPlus::default(), 0);
        round(&mut h, &mut una, 10, ms(80));
        round(&mut h, &mut una, 10, ms(100));
        assert!(h.is_conservative());
        round(&mut h, &mut una, 10, ms(99));
        assert!(!h.is_conservative() && !h.is_over() && h.divisor() == 1.0);
    }

    #[test]
    fn seven_samples_say_nothing() {
        let (mut h, mut una) = (HystartPlusPlus::default(), 0);
        round(&mut h, &mut una, 10, ms(80));
        round(&mut h, &mut una, 7, ms(500));
        assert!(!h.is_conservative());
    }

    #[test]
    fn a_rise_below_the_threshold_is_none() {
        let (mut h, mut una) = (HystartPlusPlus::default(), 0);
        round(&mut h, &mut una, 10, ms(20));
        round(&mut h, &mut una, 10, Duration(23_999_999)); // 20 + 4 ms less a nanosecond
        assert!(!h.is_conservative());
    }
}
