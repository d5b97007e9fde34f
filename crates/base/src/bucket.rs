//! Token buckets (RFC 2215 section 3.6) for policers and shapers.
//!
//! A [`Bucket`] fills at a rate and pays for packets. A [`Pacer`] has one or two buckets and returns the time
//! of the next departure. In any time t a bucket pays for at most rate * t + burst bytes (RFC 2212,
//! policing).

use crate::credit::{ARITHMETIC, Arithmetic, Price, depth};
use crate::schema::{Problem, sound};
use crate::units::{Rate, Time};

/// The default packet size of iproute2's table, in bytes (tc_core.c: `tc_calc_rtable`).
const TABLE_MTU: u32 = 2047;

/// The longest that a bucket may take to fill, nanoseconds (73 years): beyond it credits are too large for their type.
const LONGEST_FILL: f64 = (1u64 << 61) as f64;

/// A bucket of tokens, counted as the time in which they come.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: Rate,
    arithmetic: Arithmetic,
    price: Price,
    depth: i128,
    tokens: i128,
}

impl Bucket {
    /// A full one that fills at `rate` and holds `burst` bytes; `table_mtu` decides on the cells of [`Arithmetic::Ticks`].
    pub fn new(arithmetic: Arithmetic, rate: Rate, burst: u64, table_mtu: u32) -> Bucket {
        let depth = depth(arithmetic, rate, burst);
        Bucket { rate, arithmetic, price: Price::new(arithmetic, rate, table_mtu), depth, tokens: depth }
    }

    /// Adds what comes in the time `passed`; gives what finds no room.
    #[inline]
    pub fn fill(&mut self, passed: i128) -> i128 {
        let filled = self.tokens + passed;
        self.tokens = filled.min(self.depth);
        filled - self.tokens
    }

    /// Tokens left after a packet of `size` bytes; negative: missing tokens.
    #[inline]
    pub fn after(&self, size: u32) -> i128 {
        self.tokens - self.price.cost(size)
    }

    /// Sets how many tokens are in it, see [`Bucket::after`].
    #[inline]
    pub fn set(&mut self, tokens: i128) {
        self.tokens = tokens;
    }

    /// Pays for a packet of `size` bytes; `false`: there are too few tokens, and all of them stay.
    #[inline]
    pub fn pay(&mut self, size: u32) -> bool {
        let left = self.after(size);
        if left >= 0 {
            self.tokens = left;
        }
        left >= 0
    }

    /// Takes over rate and depth of `other`. Tokens stay, up to the new depth.
    pub fn adopt(&mut self, other: Bucket) {
        let tokens = self.arithmetic.carried(self.tokens, self.rate, other.rate).min(other.depth);
        *self = Bucket { tokens, ..other };
    }

    /// Tokens in it after the time `passed` has been added, bytes.
    pub fn bytes(&self, passed: i128) -> f64 {
        self.arithmetic.seconds((self.tokens + passed).min(self.depth)) * self.rate.0 / 8.0
    }

    /// The largest packet that it pays for when it is full, bytes.
    pub fn largest(&self) -> u64 {
        self.price.affordable(self.depth)
    }
}

/// The error of a bucket of `burst` bytes at `rate` that is too large to count.
pub fn too_deep(rate: Rate, burst: f64) -> Option<String> {
    let seconds = burst * 8.0 / rate.0;
    (seconds * 1e9 > LONGEST_FILL)
        .then(|| format!("takes {:.0} years to fill at this rate; 73 are the most", seconds / 31_557_600.0))
}

crate::params! {
    /// The parameters of a shaper.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Given {
        /// Token rate.
        rate: Rate = Rate, Required, Range::at_least(1.0) => source: "";
        /// Size of the bucket; it starts full.
        burst: f64 = Bytes, Required, Range::FROM_ONE => source: "";
        /// How fast a burst may leave: a second bucket, of mtu bytes. Must exceed rate.
        peak_rate: Option<Rate> = Rate, Absent("bursts leave at the link's rate"), Range::at_least(1.0)
            => source: "tc-tbf(8): peakrate";
        /// Size of the second bucket; unused without peak_rate.
        mtu: u64 = Bytes, Text("1514 B"), Range::between(1.0, 65_535.0)
            => source: "tc-tbf(8): the interface's MTU; here with Ethernet's header";
        /// Instead of a limit: the longest waiting time. It allows rate * latency + burst bytes.
        latency: Option<f64> = Duration, Absent("the queue's limit holds"), Range::POSITIVE => source: "tc-tbf(8)";
        /// See [`Arithmetic`].
        arithmetic: Arithmetic = ARITHMETIC;
    }
}

/// The buckets of a shaper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How fast tokens come.
    pub rate: Rate,
    /// Tokens that the bucket holds, bytes.
    pub burst: u64,
    /// The second bucket: its rate, and the bytes it holds.
    pub peak: Option<(Rate, u64)>,
    /// In what tokens are counted.
    pub arithmetic: Arithmetic,
}

impl Params {
    /// From decoded values.
    pub fn new(given: &Given) -> Result<Params, Vec<Problem>> {
        let Given { rate, burst, arithmetic, .. } = *given;
        let peak = given.peak_rate.map(|peak| (peak, given.mtu));
        let mut problems = Vec::new();
        problems.extend(too_deep(rate, burst).map(|why| (Given::burst.name, why)));
        if let Some((peak, _)) = peak
            && peak.0 <= rate.0
        {
            let why = format!("must be more than rate: {} bit/s is not more than {} bit/s", peak.0, rate.0);
            problems.push((Given::peak_rate.name, why));
        }
        sound(problems)?;
        Ok(Params { rate, burst: burst as u64, peak, arithmetic })
    }

    /// The backlog in bytes with a maximum delay of `latency` seconds (tc-tbf(8)): the bucket plus the bytes
    /// sent in that time. With a peak rate, the minimum for both buckets.
    pub fn limit(&self, latency: f64) -> f64 {
        let of = |rate: Rate, bucket: u64| rate.0 / 8.0 * latency + bucket as f64;
        let limit = of(self.rate, self.burst);
        self.peak.map_or(limit, |(peak, mtu)| limit.min(of(peak, mtu)))
    }
}

/// When packets that wait in line may leave: a bucket, and perhaps a second one that bounds how fast a burst leaves.
#[derive(Clone, Debug)]
pub struct Pacer {
    arithmetic: Arithmetic,
    bucket: Bucket,
    peak: Option<Bucket>,
    /// The clock when the buckets were last filled.
    last: i128,
    /// The largest packet that full buckets pay for.
    largest: u64,
}

impl Pacer {
    /// Full buckets.
    pub fn new(params: Params) -> Pacer {
        let arithmetic = params.arithmetic;
        let table_mtu = params.peak.map_or(TABLE_MTU, |(_, mtu)| mtu as u32);
        let bucket = Bucket::new(arithmetic, params.rate, params.burst, table_mtu);
        let peak = params.peak.map(|(rate, mtu)| Bucket::new(arithmetic, rate, mtu, table_mtu));
        let largest = peak.as_ref().map_or(u64::MAX, Bucket::largest).min(bucket.largest());
        Pacer { arithmetic, bucket, peak, last: 0, largest }
    }

    /// Whether a packet of `size` bytes is larger than the buckets could ever pay for.
    #[inline]
    pub fn refuses(&self, size: u16) -> bool {
        u64::from(size) > self.largest
    }

    /// Pays for a packet of `size` bytes that wants to leave at `now`, or says at which instant it can, if no other leaves before.
    #[inline]
    pub fn take(&mut self, size: u16, now: Time) -> Result<(), Time> {
        let (clock, size) = (self.arithmetic.clock(now), u32::from(size));
        let passed = clock - self.last;
        self.last = clock;
        self.bucket.fill(passed);
        let left = self.bucket.after(size);
        let peak_left = self.peak.as_mut().map_or(0, |peak| {
            peak.fill(passed);
            peak.after(size)
        });
        let short = left.min(peak_left);
        if short < 0 {
            return Err(self.arithmetic.instant(clock - short));
        }
        self.bucket.set(left);
        if let Some(peak) = &mut self.peak {
            peak.set(peak_left);
        }
        Ok(())
    }

    /// Takes over the rates and depths of `other` at `now`; what its buckets hold stays, as far as there is room. A bucket that was
    /// not there is full.
    pub fn adopt(&mut self, mut other: Pacer, now: Time) {
        let clock = self.arithmetic.clock(now);
        let pairs =
            [(Some(&mut self.bucket), Some(&mut other.bucket)), (self.peak.as_mut(), other.peak.as_mut())];
        for (old, new) in pairs {
            let (Some(old), Some(new)) = (old, new) else { continue };
            old.fill(clock - self.last);
            old.adopt(new.clone());
            *new = old.clone();
        }
        *self = Pacer { last: clock, ..other };
    }

    /// Tokens in the first bucket at `now`, bytes.
    pub fn tokens(&self, now: Time) -> f64 {
        self.bucket.bytes(self.arithmetic.clock(now) - self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT8: Rate = Rate(8e6); // a byte a microsecond

    #[test]
    fn a_bucket_gives_back_what_finds_no_room() {
        let mut bucket = Bucket::new(Arithmetic::Real, MBIT8, 3000, 0);
        let us = |n: u64| Arithmetic::Real.clock(Time(n * 1000));
        assert_eq!(bucket.fill(us(10)), us(10)); // it was full
        assert!(bucket.pay(2000) && !bucket.pay(1001) && bucket.pay(1000));
        assert_eq!(bucket.fill(us(2500)), 0);
        assert_eq!(bucket.fill(us(700)), us(200)); // 3200 of 3000
        assert_eq!(bucket.after(4000), -us(1000));
        assert!(bucket.pay(2000));
        assert_eq!((bucket.bytes(us(700)), bucket.bytes(us(5000))), (1700.0, 3000.0));
    }

    #[test]
    fn a_full_bucket_pays_for_its_burst_and_then_for_the_rate() {
        let params = Params { rate: MBIT8, burst: 3000, peak: None, arithmetic: Arithmetic::Real };
        let mut pacer = Pacer::new(params);
        let us = |n: u64| Time(n * 1000);
        assert_eq!([pacer.take(1500, us(0)), pacer.take(1500, us(0))], [Ok(()); 2]);
        assert_eq!(pacer.take(1500, us(0)), Err(us(1500)));
        assert_eq!(pacer.take(1500, us(400)), Err(us(1500)), "asking costs nothing");
        assert_eq!(pacer.take(1000, us(1000)), Ok(()));
        assert!(!pacer.refuses(3000) && pacer.refuses(3001));
    }

    #[test]
    fn a_latency_is_a_limit() {
        let params = Params { rate: MBIT8, burst: 1600, peak: None, arithmetic: Arithmetic::Real };
        assert_eq!(params.limit(0.02), 21_600.0);
        let peaked = Params { peak: Some((Rate(16e6), 1514)), ..params };
        assert_eq!(peaked.limit(0.02), 21_600.0);
        assert_eq!(Params { burst: 90_000, ..peaked }.limit(0.02), 41_514.0);
    }

    #[test]
    fn a_bucket_that_takes_a_lifetime_to_fill_is_refused() {
        assert_eq!(too_deep(Rate(1.0), 2e8), None); // 50 years
        assert_eq!(
            too_deep(Rate(1.0), 1e9).as_deref(),
            Some("takes 254 years to fill at this rate; 73 are the most")
        );
        Bucket::new(Arithmetic::Real, Rate(1.0), 280_000_000, 0)
            .fill(Arithmetic::Real.clock(Time(u64::MAX >> 4)));
    }
}
