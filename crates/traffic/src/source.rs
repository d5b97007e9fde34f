//! Sources of datagrams: when the next packet comes and how large it is.
//!
//! Unit draws are independent of the rate, so that two runs that differ in a rate see the same sequence, scaled.

use evenflow_base::schema::{Sampler, Value};
use evenflow_base::{Ecn, Stream, Time};

/// How gaps between datagrams are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Exponential: a Poisson process.
    Exponential,
    /// All alike.
    Constant,
    /// Uniform around the mean, by this part of it to either side.
    Uniform(f64),
}

/// A source of datagrams.
#[derive(Clone, Debug)]
pub struct Source {
    gaps: Gaps,
    /// Mean gap, seconds: mean size over rate.
    mean_gap: f64,
    /// Bytes; draws are rounded to whole bytes within 1 to 65535.
    sizes: Sampler,
    /// The size of all, where it is fixed.
    size: Option<u16>,
    /// Exact instant of the last packet, so that constant gaps do not drift.
    clock: f64,
    /// No packet at this instant or later.
    until: Time,
    /// The ECN field of its packets.
    pub ecn: Ecn,
}

impl Source {
    /// A source of `rate` bit/s on average.
    pub fn new(gaps: Gaps, rate: f64, packet: &Value) -> Source {
        let sizes = packet.sampler(1500.0);
        let mean_gap = sizes.mean() * 8.0 / rate;
        let size = if let Sampler::Fixed(size) = sizes { Some(whole(size)) } else { None };
        Source { gaps, mean_gap, sizes, size, clock: 0.0, until: Time::NEVER, ecn: Ecn::NotCapable }
    }

    /// It sends nothing at this instant or later.
    pub fn until(&mut self, at: Time) {
        self.until = at;
    }

    /// Starts the clock: the first packet comes one gap later.
    pub fn start(&mut self, now: Time) {
        self.clock = now.seconds();
    }

    /// When the next packet comes; [`Time::NEVER`], if there is none.
    #[inline]
    pub fn next(&mut self, stream: &mut Stream) -> Time {
        self.clock += match self.gaps {
            Gaps::Exponential => stream.exponential(self.mean_gap),
            Gaps::Constant => self.mean_gap,
            Gaps::Uniform(part) => self.mean_gap * stream.uniform(1.0 - part, 1.0 + part),
        };
        let at = Time::from_seconds(self.clock);
        if at < self.until { at } else { Time::NEVER }
    }

    /// Its size on the wire, bytes.
    #[inline]
    pub fn size(&self, stream: &mut Stream, index: u64) -> u16 {
        self.size.unwrap_or_else(|| whole(self.sizes.draw(stream, index as usize)))
    }
}

/// A size in whole bytes that a packet can have.
fn whole(size: f64) -> u16 {
    size.round().clamp(1.0, 65_535.0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_gaps_average_size_over_rate() {
        // 12000 bits at 10 Mbit/s: 1.2 ms.
        let mut source = Source::new(Gaps::Exponential, 10e6, &Value::Bytes(1500.0));
        let mut stream = Stream::new(1, "gaps");
        source.start(Time::ZERO);
        let n = 100_000;
        let last = (0..n).map(|_| source.next(&mut stream)).last().unwrap();
        // Standard error 1.2 ms * sqrt(n).
        assert!((last.seconds() - 120.0).abs() < 5.0 * 1.2e-3 * f64::from(n).sqrt(), "{last:?}");
    }

    #[test]
    fn the_same_draws_at_another_rate_are_the_same_sequence_scaled() {
        for gaps in [Gaps::Exponential, Gaps::Uniform(0.5)] {
            let times = |rate| {
                let mut source = Source::new(gaps, rate, &Value::Bytes(1500.0));
                let mut stream = Stream::new(1, "gaps");
                (0..100).map(|_| source.next(&mut stream).seconds()).collect::<Vec<_>>()
            };
            for (slow, fast) in times(1e6).iter().zip(times(2e6)) {
                assert!((slow - 2.0 * fast).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn constant_gaps_do_not_drift() {
        let mut source = Source::new(Gaps::Constant, 3e6, &Value::Bytes(1000.0));
        let mut stream = Stream::new(1, "gaps");
        source.start(Time::from_seconds(1.0));
        let last = (0..3_000).map(|_| source.next(&mut stream)).last().unwrap();
        assert!((last.seconds() - 9.0).abs() < 1e-8, "{last:?}");
    }

    #[test]
    fn jitter_spreads_gaps_evenly_and_keeps_the_rate() {
        // 1000 B at 8 Mbit/s: 1 ms, within 0.5 and 1.5 ms; the variance of a uniform gap is (1 ms)^2 / 12.
        let mut source = Source::new(Gaps::Uniform(0.5), 8e6, &Value::Bytes(1000.0));
        let mut stream = Stream::new(1, "gaps");
        source.start(Time::ZERO);
        let (mut last, mut longest, mut shortest) = (0.0, 0.0_f64, 1.0_f64);
        let n = 100_000;
        for _ in 0..n {
            let next = source.next(&mut stream).seconds();
            longest = longest.max(next - last);
            shortest = shortest.min(next - last);
            last = next;
        }
        assert!(shortest > 0.499e-3 && shortest < 0.501e-3, "{shortest}");
        assert!(longest < 1.501e-3 && longest > 1.499e-3, "{longest}");
        assert!((last - 100.0).abs() < 5.0 * 1e-3 * (f64::from(n) / 12.0).sqrt(), "{last}");
    }

    #[test]
    fn no_packet_comes_at_its_end_or_later() {
        let mut source = Source::new(Gaps::Constant, 8e6, &Value::Bytes(1000.0));
        let mut stream = Stream::new(1, "gaps");
        source.until(Time(4_000_000));
        source.start(Time::ZERO);
        let times: Vec<Time> = (0..4).map(|_| source.next(&mut stream)).collect();
        assert_eq!(times, [Time(1_000_000), Time(2_000_000), Time(3_000_000), Time::NEVER]);
    }

    #[test]
    fn exponential_sizes_keep_their_mean() {
        let law = evenflow_base::schema::Law::Exponential(Box::new(Value::Bytes(1000.0)));
        let source = Source::new(Gaps::Exponential, 1e6, &Value::Random(law));
        let mut stream = Stream::new(1, "sizes");
        let n = 100_000u64;
        let sum: u64 = (0..n).map(|i| u64::from(source.size(&mut stream, i))).sum();
        assert!((sum as f64 / n as f64 - 1000.0).abs() < 5.0 * 1000.0 / (n as f64).sqrt());
    }
}
