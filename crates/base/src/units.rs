//! Instants, durations and rates.
//!
//! An instant is a whole number of nanoseconds since the run began. Serialisation times are rarely whole:
//! [`Fine`] keeps 64 fractional bits, so that a million packets on a link of odd rate do not drift.

use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NANOS: f64 = 1e9;

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub u64);

/// The nearest whole number, halves upwards, of one that is not negative: `x.round() as u64` without a library call.
#[inline]
fn round(x: f64) -> u64 {
    if x >= 4_503_599_627_370_496.0 {
        return x as u64; // 2^52: from there on there is no fraction
    }
    let whole = x as i64; // signed: that takes fewer instructions
    whole.max(0) as u64 + u64::from(x - whole as f64 >= 0.5)
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// This instant in seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// The nearest instant to `seconds`, which must not be negative.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Time {
        Time(round(seconds * NANOS))
    }

    /// The time passed since `earlier`; zero if `earlier` is in fact later.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// This length in seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// The nearest length to `seconds`, which must not be negative.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Duration {
        Duration(round(seconds * NANOS))
    }

    /// A length of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, rhs: Duration) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, rhs: Time) -> Duration {
        self.since(rhs)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_add(rhs.0))
    }
}

/// A rate in bits per second, greater than zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

impl Rate {
    /// Bits per second.
    #[inline]
    pub fn bits_per_second(self) -> f64 {
        self.0
    }

    /// How long one byte takes at this rate.
    pub fn byte_time(self) -> Fine {
        let exact = 8.0 * NANOS / self.0;
        if self.0.fract() == 0.0 && self.0 >= 1.0 && self.0 < 9e15 {
            return Fine(((8_000_000_000_u128) << 64) / self.0 as u128);
        }
        Fine((exact * 18_446_744_073_709_551_616.0) as u128)
    }
}

impl Rate {
    /// The rate at which one byte takes `time`, to a thousandth of a bit/s.
    pub fn of_byte_time(time: Fine) -> Rate {
        let exact = 8.0 * NANOS * 18_446_744_073_709_551_616.0 / time.0 as f64;
        Rate(libm::round(exact * 1e3) / 1e3)
    }
}

/// An instant or length in nanoseconds with 64 fractional bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fine(pub u128);

impl Fine {
    /// The exact form of a whole instant.
    #[inline]
    pub fn at(time: Time) -> Fine {
        Fine((time.0 as u128) << 64)
    }

    /// The first whole instant that is not earlier.
    #[inline]
    pub fn ceil(self) -> Time {
        Time((self.0 >> 64) as u64 + u64::from(self.0 as u64 != 0))
    }

    /// This length, `times` times.
    #[inline]
    pub fn times(self, times: u32) -> Fine {
        Fine(self.0 * times as u128)
    }
}

impl Add for Fine {
    type Output = Fine;
    #[inline]
    fn add(self, rhs: Fine) -> Fine {
        Fine(self.0 + rhs.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_takes_1_2_ms_at_10_mbit() {
        assert_eq!(Rate(10e6).byte_time().times(1500).ceil(), Time(1_200_000));
    }

    #[test]
    fn the_remainder_of_a_serialisation_time_is_kept() {
        // 3 Mbit/s: a byte takes 2666.67 ns. Three bytes are exactly 8000 ns; rounding each would give 8001.
        let byte = Rate(3e6).byte_time();
        let mut free = Fine::at(Time(5));
        for _ in 0..3_000_000 {
            free = free + byte;
        }
        assert_eq!(free.ceil(), Time(5 + 8_000_000_000));
    }

    #[test]
    fn ceil_never_comes_early() {
        assert_eq!(Fine(1).ceil(), Time(1));
        assert_eq!(Fine::at(Time(7)).ceil(), Time(7));
    }

    #[test]
    fn rounding_is_that_of_the_library() {
        let near = |x: f64| [x.next_down(), x, x.next_up()];
        let whole = [0.0, 0.5, 1.0, 1.5, 2.5, 1e9 + 0.5, 4_503_599_627_370_495.5, 9e15, 1.8e19, 1e300];
        for x in whole.into_iter().flat_map(near).chain([f64::INFINITY, f64::NAN, -0.7]) {
            assert_eq!(round(x), x.round() as u64, "{x}");
        }
    }

    #[test]
    fn instants_do_not_wrap() {
        assert_eq!(Time(3).since(Time(5)), Duration(0));
        assert_eq!(Time::NEVER + Duration(1), Time::NEVER);
    }
}
