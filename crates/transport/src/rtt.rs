//! Round-trip time and retransmission timeout: RFC 6298, in whole ticks, and Linux's form.

use evenflow_base::{Duration, Time};

use crate::Profile;
use crate::profile::RtoRule;

/// SRTT and RTTVAR, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    smoothed: Option<i64>,
    /// RTTVAR. Linux's form: the largest deviation of this and the last round trip.
    variation: i64,
    /// Linux's form: the smoothed deviation and its maximum of this round trip.
    deviation: i64,
    highest: i64,
    /// Linux's form: the byte whose acknowledgement ends this round trip.
    round: u64,
    /// The smallest time seen; [`UNSEEN`]: none was.
    least: Duration,
    /// The last sample in ns, with [`FRESH`] until it is taken; all other bits set: there was none.
    latest: u64,
}

/// A bit of [`RttEstimator::latest`] that no time has.
const FRESH: u64 = 1 << 63;

/// Longer than every time.
const UNSEEN: Duration = Duration(u64::MAX);

impl Default for RttEstimator {
    fn default() -> RttEstimator {
        RttEstimator {
            smoothed: None,
            variation: 0,
            deviation: 0,
            highest: 0,
            round: 0,
            least: UNSEEN,
            latest: !FRESH,
        }
    }
}

impl RttEstimator {
    /// A sample (section 2.2 and 2.3: gains 1/8 and 1/4). `una` and `next` delimit what is in flight.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Duration, una: u64, next: u64, profile: &Profile) {
        self.latest = rtt.0 | FRESH;
        if profile.rto == RtoRule::Rfc {
            self.take(rtt.0 as i64)
        } else {
            self.sample_otherwise(rtt, una, next, profile)
        }
    }

    #[inline(never)]
    fn sample_otherwise(&mut self, rtt: Duration, una: u64, next: u64, profile: &Profile) {
        match profile.rto {
            RtoRule::Rfc => self.take(rtt.0 as i64),
            RtoRule::Linux => self.sample_linux(rtt, una, next, profile),
            RtoRule::LinuxTicks => self.sample_linux_ticks(rtt, una, next, profile),
            RtoRule::AnyAck => {
                // ns-2 rounds to the nearest jiffy; with timestamps in whole ones nothing is left to round.
                self.take_linux_ticks(Duration(rtt.0 + profile.jiffy() / 2), profile);
            }
            RtoRule::Ticks => {
                // A sample is a whole number of ticks and at least one.
                let tick = profile.clock_tick.0 as i64;
                self.take(((rtt.0 as i64 + tick / 2) / tick).max(1) * tick);
            }
        }
    }

    #[inline(always)]
    fn take(&mut self, r: i64) {
        match &mut self.smoothed {
            None => {
                self.smoothed = Some(r);
                self.variation = r / 2;
            }
            Some(srtt) => {
                self.variation += ((*srtt - r).abs() - self.variation) / 4;
                *srtt += (r - *srtt) / 8;
            }
        }
    }

    /// The last sample, once.
    #[inline]
    pub fn take_sample(&mut self) -> Option<Duration> {
        (self.latest & FRESH != 0).then(|| {
            self.latest &= !FRESH;
            Duration(self.latest)
        })
    }

    /// The last sample.
    pub fn latest(&self) -> Option<Duration> {
        let latest = self.latest & !FRESH;
        (latest != !FRESH).then_some(Duration(latest))
    }

    /// The time that the newest segment of an ACK took, for the smallest.
    #[inline]
    pub fn seen(&mut self, rtt: Duration) {
        self.least = self.least.min(rtt);
    }

    /// Linux: the deviation is the maximum of a round trip, at least the floor. It rises immediately and
    /// falls by a quarter per round trip. A sample below the mean by more than the deviation counts one
    /// eighth.
    fn sample_linux(&mut self, rtt: Duration, una: u64, next: u64, profile: &Profile) {
        let (r, floor) = (rtt.0 as i64, profile.min_rto.0 as i64);
        let Some(srtt) = &mut self.smoothed else {
            self.smoothed = Some(r);
            self.deviation = r / 2;
            self.variation = (r / 2 * 4).max(floor);
            self.highest = self.variation;
            self.round = next;
            return;
        };
        let error = r - *srtt;
        *srtt += error / 8;
        let mut size = error.abs() - self.deviation;
        if error < 0 && size > 0 {
            size /= 8;
        }
        self.deviation += size / 4;
        if 4 * self.deviation > self.highest {
            self.highest = 4 * self.deviation;
            self.variation = self.variation.max(self.highest);
        }
        if una > self.round {
            if self.highest < self.variation {
                self.variation -= (self.variation - self.highest) / 4;
            }
            self.round = next;
            self.highest = floor;
        }
    }

    /// The same in whole ticks of the clock (Linux 3.2): what a shift drops is lost.
    fn sample_linux_ticks(&mut self, rtt: Duration, una: u64, next: u64, profile: &Profile) {
        let tick = profile.clock_tick.0 as i64;
        let floor = (profile.min_rto.0 as i64).div_euclid(tick);
        let first = self.smoothed.is_none();
        self.take_linux_ticks(rtt, profile);
        if first {
            self.highest = self.deviation.max(floor);
            self.variation = self.highest * tick;
            self.round = next;
            return;
        }
        let mut variation = self.variation / tick;
        if self.deviation > self.highest {
            self.highest = self.deviation;
            variation = variation.max(self.highest);
        }
        if una > self.round {
            if self.highest < variation {
                variation -= (variation - self.highest) >> 2;
            }
            self.round = next;
            self.highest = floor;
        }
        self.variation = variation * tick;
    }

    /// Mean and deviation in whole ticks: the mean in eighths, the deviation, four times itself, in ones.
    fn take_linux_ticks(&mut self, rtt: Duration, profile: &Profile) {
        let tick = profile.jiffy() as i64;
        let r = (rtt.0 as i64 / tick).max(1);
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(r * tick);
            self.deviation = 2 * r; // four times r / 2
            return;
        };
        let mut eighths = smoothed * 8 / tick;
        let error = r - (eighths >> 3);
        eighths += error;
        self.smoothed = Some(eighths * tick / 8);
        let mut size = error.abs() - (self.deviation >> 2);
        if error < 0 && size > 0 {
            size >>= 3;
        }
        self.deviation += size;
    }

    /// After the first sample: a connection before left a larger mean, or a larger mean deviation.
    pub fn remembered(&mut self, srtt: Duration, deviation: Duration, profile: &Profile) {
        let Some(smoothed) = &mut self.smoothed else { return };
        *smoothed = (*smoothed).max(srtt.0 as i64);
        if deviation <= self.deviation(profile) {
            return;
        }
        let (deviation, floor) = (deviation.0 as i64, profile.min_rto.0 as i64);
        let tick = profile.clock_tick.0 as i64;
        match profile.rto {
            RtoRule::Rfc | RtoRule::Ticks => self.variation = deviation,
            RtoRule::Linux => {
                self.deviation = deviation;
                self.highest = (4 * deviation).max(floor);
                self.variation = self.highest;
            }
            RtoRule::LinuxTicks => {
                self.deviation = 4 * deviation / tick;
                self.highest = self.deviation.max(floor.div_euclid(tick));
                self.variation = self.highest * tick;
            }
            RtoRule::AnyAck => self.deviation = 4 * deviation / profile.jiffy() as i64,
        }
    }

    /// The mean deviation.
    pub fn deviation(&self, profile: &Profile) -> Duration {
        let deviation = match profile.rto {
            RtoRule::Rfc | RtoRule::Ticks => self.variation,
            RtoRule::Linux => self.deviation,
            RtoRule::LinuxTicks | RtoRule::AnyAck => self.deviation * profile.jiffy() as i64 / 4,
        };
        Duration(deviation as u64)
    }

    /// RTO = SRTT + max(G, 4 RTTVAR), within the profile's floor and ceiling; 1 s before any sample (section 2.1).
    #[inline(always)]
    pub fn timeout(&self, profile: &Profile) -> Duration {
        let (Some(srtt), RtoRule::Rfc | RtoRule::Ticks) = (self.smoothed, profile.rto) else {
            return self.timeout_otherwise(profile);
        };
        let rto = Duration((srtt + (4 * self.variation).max(profile.clock_tick.0 as i64)) as u64);
        rto.max(profile.min_rto).min(profile.max_rto)
    }

    /// Before any sample, and in Linux's form.
    #[inline(never)]
    fn timeout_otherwise(&self, profile: &Profile) -> Duration {
        let Some(srtt) = self.smoothed else {
            return Duration::from_millis(1000).max(profile.min_rto).min(profile.max_rto);
        };
        if profile.rto == RtoRule::AnyAck {
            let tick = profile.jiffy() as i64;
            let ticks = srtt / tick + self.deviation; // the deviation is four times itself
            return Duration((ticks * tick) as u64).max(profile.min_rto).min(profile.max_rto);
        }
        let tick = if profile.rto == RtoRule::LinuxTicks { profile.clock_tick.0 as i64 } else { 1 };
        // The floor is on the variation, which `variation` holds already multiplied by four.
        Duration((srtt / tick * tick + self.variation) as u64).min(profile.max_rto)
    }

    /// SRTT, if there was a sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(|s| Duration(s as u64))
    }

    /// The smallest round-trip time so far (RFC 8985: RACK.min_RTT).
    pub fn least(&self) -> Option<Duration> {
        (self.least != UNSEEN).then_some(self.least)
    }
}

/// The one segment of a round trip whose time is taken (RFC 6298 section 3, Karn's rule).
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The byte whose acknowledgement ends it; beyond every number where none is timed.
    end: u64,
    sent: Time,
}

impl Timed {
    /// No segment is timed.
    pub const NONE: Timed = Timed { end: u64::MAX, sent: Time::ZERO };

    /// A segment that ends before `end` is sent at `now`: it is timed unless another one is.
    pub fn begin(&mut self, end: u64, now: Time) {
        if self.end == u64::MAX {
            *self = Timed { end, sent: now };
        }
    }

    /// The round-trip time of the timed segment, if this ACK is for it.
    #[inline]
    pub fn end(&mut self, ack: u64, now: Time) -> Option<Duration> {
        (ack >= self.end).then(|| now.since(std::mem::replace(self, Timed::NONE).sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(profile: &Profile, list: &[u64]) -> RttEstimator {
        let mut rtt = RttEstimator::default();
        for (n, ms) in list.iter().enumerate() {
            // Each sample in a round trip of its own.
            rtt.sample(Duration::from_millis(*ms), 10 * n as u64, 10 * n as u64 + 5, profile);
        }
        rtt
    }

    #[test]
    fn rfc6298_section_2_by_hand() {
        let profile = Profile { min_rto: Duration::from_millis(1), ..Profile::ns3_26() };
        assert_eq!(samples(&profile, &[]).timeout(&profile), Duration::from_millis(1000));
        // SRTT 100, RTTVAR 50.
        assert_eq!(samples(&profile, &[100]).timeout(&profile), Duration::from_millis(300));
        // RTTVAR = 3/4 50 + 1/4 80 = 57.5, SRTT = 110.
        assert_eq!(samples(&profile, &[100, 180]).timeout(&profile), Duration(340_000_000));
    }

    #[test]
    fn the_floor_and_the_ceiling_hold() {
        let profile = Profile::ns3_26();
        assert_eq!(samples(&profile, &[10]).timeout(&profile), Duration::from_millis(1000));
        assert_eq!(samples(&profile, &[10, 900_000]).timeout(&profile), Duration::from_millis(60_000));
    }

    #[test]
    fn linux_has_its_floor_on_the_variation() {
        let profile = Profile::linux();
        // A steady 20 ms: SRTT 20 + 200.
        assert_eq!(samples(&profile, &[20; 50]).timeout(&profile), Duration::from_millis(220));
        // The first sample of 200 ms: deviation 100, four times that is above the floor.
        assert_eq!(samples(&profile, &[200]).timeout(&profile), Duration::from_millis(600));
        // Steady afterwards it falls towards SRTT + 200.
        let settled = samples(&profile, &[200; 60]).timeout(&profile);
        assert!((399..=402).contains(&(settled.0 / 1_000_000)), "{settled:?}");
    }

    /// Ticks of 4 ms, RTT 100 ms = 25: SRTT 25, four times the deviation 50, which is the floor: 75 ticks. Then 150 ms = 37
    /// (37.5 is cut): error 12, SRTT 26.5, deviation 50 + 12 - 50 / 4 = 50. Then 50 ms = 12: error 12 - 26 = -14, SRTT 24.75;
    /// 14 - 12 = 2 in eighths is nothing. RTO 24 + 50 ticks.
    #[test]
    fn linux_in_whole_ticks() {
        let profile = Profile::linux3_2();
        assert_eq!(samples(&profile, &[100]).timeout(&profile), Duration::from_millis(300));
        assert_eq!(samples(&profile, &[100, 150]).smoothed(), Some(Duration::from_millis(106)));
        assert_eq!(samples(&profile, &[100, 150]).timeout(&profile), Duration::from_millis(304));
        assert_eq!(samples(&profile, &[100, 150, 50]).timeout(&profile), Duration::from_millis(296));
        // 200 ms: 50 ticks and a deviation of 100 of them at first; steady, it falls to SRTT + 200.
        assert_eq!(samples(&profile, &[200]).timeout(&profile), Duration::from_millis(600));
        // The shift of the fall stops three ticks above the floor.
        assert_eq!(samples(&profile, &[200; 60]).timeout(&profile), Duration::from_millis(412));
        // A sample below a tick is one.
        assert_eq!(samples(&profile, &[1]).timeout(&profile), Duration::from_millis(204));
    }

    /// ns-2's Agent/TCP/Linux: 100 + 2 * 100 ms at first. Steady, four times the deviation falls to the three that the shift
    /// cannot take off, and the floor holds for the whole.
    #[test]
    fn any_ack_has_its_floor_on_the_whole() {
        let profile = Profile::ns2_linux();
        assert_eq!(samples(&profile, &[100]).timeout(&profile), Duration::from_millis(300));
        assert_eq!(samples(&profile, &[250; 60]).timeout(&profile), Duration::from_millis(253));
        assert_eq!(samples(&profile, &[100; 60]).timeout(&profile), Duration::from_millis(200));
        // Finer timestamps are rounded to whole milliseconds.
        let fine = Profile { clock_tick: Duration(1000), ..profile };
        let mut rtt = RttEstimator::default();
        rtt.sample(Duration(249_600_000), 0, 1, &fine);
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(250)));
    }

    /// After a first sample of 50 ms, whose deviation is 25: a mean of 60 and a deviation of 70 count, smaller ones do not. The
    /// floor is on the whole (1 ms here) or on four times the deviation (200 ms).
    #[test]
    fn what_is_remembered_counts_where_it_is_more() {
        let ms = Duration::from_millis;
        for (profile, fresh, more) in [
            (Profile { min_rto: ms(1), ..Profile::rfc() }, 50 + 4 * 25, 60 + 4 * 70),
            (Profile { min_rto: ms(1), ..Profile::ns2() }, 50 + 4 * 25, 60 + 4 * 70),
            (Profile::linux(), 50 + 200, 60 + 4 * 70),
            // Ticks of 4 ms: 12 and, for 60 and 70, 15 and 4 * 70 / 4.
            (Profile::linux3_2(), 4 * 12 + 200, 4 * 15 + 4 * 70),
            (Profile { min_rto: ms(1), ..Profile::ns2_linux() }, 50 + 4 * 25, 60 + 4 * 70),
        ] {
            let mut rtt = samples(&profile, &[50]);
            rtt.remembered(ms(40), ms(20), &profile);
            assert_eq!(rtt.timeout(&profile), ms(fresh), "{}", profile.name);
            rtt.remembered(ms(60), ms(70), &profile);
            assert_eq!(rtt.timeout(&profile), ms(more), "{}", profile.name);
            assert_eq!(rtt.deviation(&profile), ms(70), "{}", profile.name);
        }
        let mut rtt = RttEstimator::default();
        rtt.remembered(ms(60), ms(70), &Profile::rfc());
        assert_eq!(rtt.smoothed(), None, "before a sample nothing counts");
    }

    #[test]
    fn ticks_are_whole() {
        let profile = Profile { min_rto: Duration::from_millis(1), ..Profile::ns2() };
        // 104 ms is 10 ticks: SRTT 100, RTTVAR 50.
        assert_eq!(samples(&profile, &[104]).timeout(&profile), Duration::from_millis(300));
        assert_eq!(samples(&profile, &[1]).smoothed(), Some(Duration::from_millis(10)));
    }
}
