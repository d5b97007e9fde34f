//! Colour-aware three-colour markers: RFC 2697 (single rate) and RFC 2698 (two rates). A colour-blind marker
//! assumes that every packet arrives green, which makes the rules of both RFCs equal.
//!
//! A meter is pure: size, earlier colour and instant are arguments. Buckets fill continuously, where the RFCs
//! add single tokens.

use evenflow_base::bucket::Bucket;
use evenflow_base::credit::Arithmetic;
use evenflow_base::{Rate, Time};

/// The colour of a packet: how far it is beyond its profile. A meter never gives a better one than the packet had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Within the committed rate and burst.
    Green,
    /// Beyond that, within the excess burst or the peak rate.
    Yellow,
    /// Beyond that too.
    Red,
}

impl Colour {
    /// All of them, the best first.
    pub const ALL: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];
}

/// Unit of a meter. With packets, each counts one, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes on the wire; rates in bit/s.
    Bytes,
    /// Packets; rates in packets a second.
    Packets,
}

impl Unit {
    /// The amount of a packet of this size.
    #[inline]
    pub fn of(self, size: u16) -> f64 {
        match self {
            Unit::Bytes => f64::from(size),
            Unit::Packets => 1.0,
        }
    }

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Packets => "packets",
        }
    }
}

/// A rate and the burst beside it, in the meter's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Bit/s, or packets a second.
    pub rate: f64,
    /// Bytes or packets.
    pub burst: u64,
}

/// The second test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beyond {
    /// RFC 2697: a second bucket of this size, filled by the overflow of the first; zero: two colours only.
    Excess(u64),
    /// RFC 2698: a second bucket with its own rate, at least the committed one.
    Peak(Profile),
}

/// A three-colour marker.
#[derive(Clone, Debug)]
pub struct Meter {
    unit: Unit,
    /// C, of CBS tokens that come at CIR.
    committed: Bucket,
    second: Second,
    last: Time,
}

#[derive(Clone, Debug)]
enum Second {
    /// E, of EBS tokens.
    Excess(Bucket),
    /// P, of PBS tokens that come at PIR.
    Peak(Bucket),
}

const REAL: Arithmetic = Arithmetic::Real;

impl Meter {
    /// A meter with full buckets.
    pub fn new(unit: Unit, committed: Profile, beyond: Beyond) -> Meter {
        // A packet is counted as one byte.
        let bucket = |p: Profile| match unit {
            Unit::Bytes => Bucket::new(REAL, Rate(p.rate), p.burst, 0),
            Unit::Packets => Bucket::new(REAL, Rate(8.0 * p.rate), p.burst, 0),
        };
        let second = match beyond {
            Beyond::Excess(burst) => Second::Excess(bucket(Profile { burst, ..committed })),
            Beyond::Peak(peak) => Second::Peak(bucket(peak)),
        };
        Meter { unit, committed: bucket(committed), second, last: Time::ZERO }
    }

    /// The colour of a packet of `size` bytes at `now` that arrives with the colour `before`.
    #[inline]
    pub fn colour(&mut self, size: u16, before: Colour, now: Time) -> Colour {
        let size = match self.unit {
            Unit::Bytes => u32::from(size),
            Unit::Packets => 1,
        };
        let passed = REAL.credit(now.since(self.last));
        self.last = now;
        let committed = &mut self.committed;
        let spilt = committed.fill(passed);
        match &mut self.second {
            Second::Excess(excess) => {
                excess.fill(spilt);
                single_rate(committed, excess, size, before)
            }
            Second::Peak(peak) => {
                peak.fill(passed);
                two_rates(committed, peak, size, before)
            }
        }
    }

    /// Tokens in the committed bucket and in the second one at `now`, bytes or packets.
    pub fn tokens(&self, now: Time) -> (f64, f64) {
        let mut later = self.clone();
        later.colour(0, Colour::Red, now);
        let second = match &later.second {
            Second::Excess(bucket) | Second::Peak(bucket) => bucket,
        };
        (later.committed.bytes(0), second.bytes(0))
    }
}

/// RFC 2697 section 3: tokens of a colour are spent on packets of that colour alone.
#[inline]
fn single_rate(committed: &mut Bucket, excess: &mut Bucket, size: u32, before: Colour) -> Colour {
    if before == Colour::Green && committed.pay(size) {
        Colour::Green
    } else if before <= Colour::Yellow && excess.pay(size) {
        Colour::Yellow
    } else {
        Colour::Red
    }
}

/// RFC 2698 section 3: a packet that is not red costs tokens of the peak bucket, a green one of both buckets.
#[inline]
fn two_rates(committed: &mut Bucket, peak: &mut Bucket, size: u32, before: Colour) -> Colour {
    if before == Colour::Red || !peak.pay(size) {
        Colour::Red
    } else if before == Colour::Green && committed.pay(size) {
        Colour::Green
    } else {
        Colour::Yellow
    }
}

#[cfg(test)]
mod tests {
    use super::Colour::{Green, Red, Yellow};
    use super::*;

    /// Packets in (instant in ms, bytes, colour), colours out, as a table.
    fn colours(mut meter: Meter, packets: &[(u64, u16, Colour)]) -> Vec<Colour> {
        packets.iter().map(|&(ms, size, before)| meter.colour(size, before, Time(ms * 1_000_000))).collect()
    }

    /// 8 kbit/s: a byte a millisecond.
    const SLOW: Profile = Profile { rate: 8000.0, burst: 1000 };

    #[test]
    fn rfc_2697_colour_blind() {
        // C and E hold 1000 and 500. (C, E) before each packet and the colour:
        let meter = Meter::new(Unit::Bytes, SLOW, Beyond::Excess(500));
        let table = [
            (0, 600, Green),    // (1000, 500): C pays, 400
            (0, 400, Green),    // (400, 500): C pays the last, 0
            (0, 300, Green),    // (0, 500): E pays, 200
            (0, 201, Green),    // (0, 200): a byte short of both
            (0, 200, Green),    // (0, 200): E pays the last
            (150, 150, Green),  // (150, 0): C pays
            (1250, 101, Green), // 1100 ms: C full at 1000, E gets the other 100; C pays: 899
            (1250, 900, Green), // (899, 100): neither
            (1250, 100, Green), // (899, 100): C pays although E could
            (1250, 800, Green), // (799, 100)
            (1250, 799, Green), // C pays the last
            (1250, 100, Green), // (0, 100): E pays the last
        ];
        let out = [Green, Green, Yellow, Red, Yellow, Green, Green, Red, Green, Red, Green, Yellow];
        assert_eq!(colours(meter, &table), out);
    }

    #[test]
    fn rfc_2697_colour_aware() {
        let meter = Meter::new(Unit::Bytes, SLOW, Beyond::Excess(500));
        let table = [
            (0, 100, Red),    // (1000, 500): red stays red and costs nothing
            (0, 300, Yellow), // E pays, 200, though C is full
            (0, 300, Yellow), // (1000, 200): red, for yellow has no right to C
            (0, 900, Green),  // C pays: 100
            (0, 150, Green),  // (100, 200): E pays, 50: yellow
            (0, 100, Green),  // (100, 50): C pays the last
            (0, 51, Yellow),  // (0, 50)
            (60, 60, Yellow), // (60, 50): C fills first, E not at all
            (60, 60, Green),  // C pays
            (60, 50, Yellow), // E pays the last
        ];
        let out = [Red, Yellow, Red, Green, Yellow, Green, Red, Red, Green, Yellow];
        assert_eq!(colours(meter, &table), out);
    }

    #[test]
    fn rfc_2697_without_an_excess_burst_has_two_colours() {
        let meter = Meter::new(Unit::Bytes, SLOW, Beyond::Excess(0));
        let table =
            [(0, 1000, Green), (0, 1, Green), (5000, 1000, Green), (5999, 1000, Green), (6000, 1000, Green)];
        assert_eq!(colours(meter, &table), [Green, Red, Green, Red, Green]);
    }

    #[test]
    fn rfc_2698_colour_blind() {
        // C: 1000 at a byte a millisecond; P: 1500 at two.
        let peak = Profile { rate: 16_000.0, burst: 1500 };
        let meter = Meter::new(Unit::Bytes, SLOW, Beyond::Peak(peak));
        let table = [
            (0, 600, Green),     // (C 1000, P 1500): both pay: (400, 900)
            (0, 500, Green),     // C is short: yellow, P pays: (400, 400)
            (0, 401, Green),     // P is short: red, though C could not either: (400, 400)
            (0, 400, Green),     // both pay their last
            (100, 150, Green),   // (100, 200): yellow: (100, 50)
            (100, 60, Green),    // P is short: red, although C has 100
            (100, 50, Green),    // both pay: (50, 0)
            (2000, 1000, Green), // full: (1000, 1500)
            (2000, 500, Green),  // (0, 500): yellow
            (2000, 1, Green),    // (0, 0)
        ];
        let out = [Green, Yellow, Red, Green, Yellow, Red, Green, Green, Yellow, Red];
        assert_eq!(colours(meter, &table), out);
    }

    #[test]
    fn rfc_2698_colour_aware() {
        let peak = Profile { rate: 16_000.0, burst: 1500 };
        let meter = Meter::new(Unit::Bytes, SLOW, Beyond::Peak(peak));
        let table = [
            (0, 100, Red),    // costs nothing: (1000, 1500)
            (0, 700, Yellow), // P pays: (1000, 800)
            (0, 801, Yellow), // red
            (0, 500, Green),  // both: (500, 300)
            (0, 300, Yellow), // (500, 0)
            (0, 1, Green),    // P is empty: red, although C has 500
            (10, 20, Green),  // (510, 20): green: (490, 0)
        ];
        let out = [Red, Yellow, Red, Green, Yellow, Red, Green];
        assert_eq!(colours(meter, &table), out);
    }

    #[test]
    fn in_packets_a_large_one_counts_as_a_small_one() {
        // 10 packets a second, bursts of 2 and 1: a token in 100 ms.
        let meter = Meter::new(Unit::Packets, Profile { rate: 10.0, burst: 2 }, Beyond::Excess(1));
        let table = [
            (0, 1500, Green),
            (0, 40, Green),
            (0, 1500, Green),
            (0, 40, Green),
            (99, 40, Green),
            (100, 1500, Green),
            (399, 40, Green), // two tokens and 0.99 of one for E
            (399, 40, Green),
            (399, 40, Green),
        ];
        assert_eq!(colours(meter, &table), [Green, Green, Yellow, Red, Red, Green, Green, Green, Red]);
    }

    #[test]
    fn tokens_are_seen_without_being_touched() {
        let mut meter = Meter::new(Unit::Bytes, SLOW, Beyond::Excess(500));
        meter.colour(700, Green, Time::ZERO);
        assert_eq!(meter.tokens(Time(100_000_000)), (400.0, 500.0));
        assert_eq!(meter.tokens(Time::ZERO), (300.0, 500.0));
        assert_eq!(meter.colour(300, Green, Time::ZERO), Green);
    }
}
