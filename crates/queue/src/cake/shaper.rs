//! The deficit shaper of CAKE and the bytes that it counts.

use evenflow_base::{Duration, Rate, Time};

words! {
    /// The framing of the link layer behind the shaper.
    pub enum Framing {
        /// Packets as they are.
        None = "none",
        /// Cells of 53 bytes with 48 bytes of payload each.
        Atm = "atm",
        /// A byte more for each 64 bytes.
        Ptm = "ptm",
    }
}

/// The bytes that the link layer needs for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub overhead: i64,
    pub mpu: i64,
    pub framing: Framing,
}

impl Wire {
    #[inline]
    pub fn bytes(&self, size: u16) -> u64 {
        let bytes = (i64::from(size) + self.overhead).max(self.mpu).max(0) as u64;
        match self.framing {
            Framing::None => bytes,
            Framing::Atm => bytes.div_ceil(48) * 53,
            Framing::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

/// Bits of a fraction of a nanosecond.
const FRACTION: u32 = 32;

/// A rate as the time of a byte, with [`FRACTION`] binary digits of a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace(u64);

impl Pace {
    /// Of at least 64 bytes per second, as in Linux.
    pub fn of(rate: Rate) -> Pace {
        Pace((8e9 * (1_u64 << FRACTION) as f64 / rate.0.max(512.0)).round() as u64)
    }

    #[inline]
    fn exact(self, bytes: u64) -> u128 {
        u128::from(self.0) * u128::from(bytes)
    }

    #[inline]
    pub fn time(self, bytes: u64) -> Duration {
        Duration((self.exact(bytes) >> FRACTION) as u64)
    }
}

/// An instant with a fraction of a nanosecond: the shaper's rate is exact in the long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Clock {
    at: Time,
    fraction: u64,
}

impl Clock {
    #[inline]
    fn add(&mut self, time: u128) {
        let time = time + u128::from(self.fraction);
        self.at = Time(self.at.0 + (time >> FRACTION) as u64);
        self.fraction = time as u64 & ((1 << FRACTION) - 1);
    }
}

/// The shaper of all tins. A packet may leave when one of two clocks is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    pace: Pace,
    /// Counts all bytes.
    next: Clock,
    /// Counts sent bytes at two thirds of the rate: dropped ones cannot stop the link (ingress mode).
    failsafe: Clock,
}

impl Shaper {
    pub fn new(rate: Rate) -> Shaper {
        Shaper { pace: Pace::of(rate), next: Clock::default(), failsafe: Clock::default() }
    }

    /// When a packet may leave.
    #[inline]
    pub fn due(&self) -> Time {
        self.next.at.min(self.failsafe.at)
    }

    /// A packet finds all tins empty: idle time earns no burst.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if self.next.at < now {
            self.next = Clock { at: now, fraction: 0 };
            self.failsafe = self.next;
        }
    }

    /// Counts a packet that leaves or, in ingress mode, is dropped.
    #[inline]
    pub fn charge(&mut self, bytes: u64, dropped: bool) {
        let time = self.pace.exact(bytes);
        self.next.add(time);
        if !dropped {
            self.failsafe.add(time + time / 2);
        }
    }
}

/// The clock of a tin: below its threshold rate it is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub pace: Pace,
    pub next: Time,
}

impl Threshold {
    pub fn new(rate: Rate) -> Threshold {
        Threshold { pace: Pace::of(rate), next: Time::ZERO }
    }

    /// Counts a packet: time that was not used is credit, time used up in advance is at most that of a
    /// packet.
    #[inline]
    pub fn charge(&mut self, bytes: u64, now: Time) {
        let time = self.pace.time(bytes);
        if self.next < now {
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_on_the_wire() {
        let wire = |overhead, mpu, framing| Wire { overhead, mpu, framing };
        assert_eq!(wire(44, 0, Framing::Atm).bytes(1500), 33 * 53);
        assert_eq!(wire(0, 0, Framing::Atm).bytes(48), 53);
        assert_eq!(wire(0, 0, Framing::Atm).bytes(49), 106);
        assert_eq!(wire(22, 0, Framing::Ptm).bytes(1500), 1522 + 24);
        assert_eq!(wire(18, 84, Framing::None).bytes(40), 84);
        assert_eq!(wire(-14, 0, Framing::None).bytes(1514), 1500);
        assert_eq!(wire(-64, 0, Framing::None).bytes(40), 0);
    }

    #[test]
    fn the_rate_is_exact_in_the_long_run() {
        // 7 Mbit/s: a packet of 1000 bytes takes 8000 / 7 us, no whole number of nanoseconds.
        let mut shaper = Shaper::new(Rate(7e6));
        for _ in 0..7_000_000 {
            shaper.charge(1000, false);
        }
        assert!(shaper.next.at.0.abs_diff(8_000_000_000_000) <= 2, "{:?}", shaper.next);
        assert!(shaper.failsafe.at.0.abs_diff(12_000_000_000_000) <= 7_000_000);
    }

    #[test]
    fn idle_time_earns_no_burst() {
        let mut shaper = Shaper::new(Rate(8e6)); // a byte a microsecond
        shaper.charge(1000, false);
        assert_eq!(shaper.due(), Time(1_000_000));
        shaper.wake(Time(500_000));
        assert_eq!(shaper.due(), Time(1_000_000));
        shaper.wake(Time(9_000_000));
        assert_eq!(shaper.due(), Time(9_000_000));
    }

    #[test]
    fn dropped_packets_slow_the_link_to_two_thirds_at_most() {
        let mut shaper = Shaper::new(Rate(8e6));
        shaper.charge(1000, false);
        shaper.charge(200, true);
        assert_eq!(shaper.due(), Time(1_200_000));
        shaper.charge(5000, true);
        assert_eq!(shaper.due(), Time(1_500_000));
    }

    #[test]
    fn a_tin_keeps_credit_and_is_at_most_a_packet_in_advance() {
        let mut tin = Threshold::new(Rate(8e6));
        tin.charge(1000, Time(5_000_000));
        assert_eq!(tin.next, Time(1_000_000));
        tin.next = Time(5_000_000);
        tin.charge(1000, Time(5_000_000));
        assert_eq!(tin.next, Time(6_000_000));
        tin.charge(1000, Time(5_500_000));
        assert_eq!(tin.next, Time(6_500_000));
        tin.charge(1000, Time(5_000_000));
        assert_eq!(tin.next, Time(6_500_000));
    }
}
