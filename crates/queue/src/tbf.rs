//! Token-bucket filter: a FIFO that sends no faster than a token bucket fills (the bucket: RFC 2215 section 3.6;
//! `net/sched/sch_tbf.c` of Linux 3.2 and tc-tbf(8), by their behaviour).
//!
//! The bucket holds `burst` bytes and fills at `rate`; a packet leaves when there is a token for each of its bytes. In no
//! interval of length t do more than rate * t + burst bytes leave (RFC 2212, policing). A second bucket of `mtu` bytes that
//! fills at `peak_rate` bounds how fast a burst leaves. Not here: a policer, which drops what comes too early; other queues
//! than a FIFO behind the bucket; the kernel's fragmentation of packets that are too large.

use std::collections::VecDeque;

use evenflow_base::schema::{
    Counter, Deviation, Fallback, Mechanism, Param, Problem, Range, Room, Traits, Type, Value, Values,
};
use evenflow_base::{Rate, Reason, Time};

use crate::credit::{ARITHMETIC, Arithmetic, Price, depth};
use crate::held::{Dropped, Queued, Schedule, Sent, Served};

/// The packet that iproute2 makes the table for where nobody says, bytes (tc_core.c: `tc_calc_rtable`).
const TABLE_MTU: u32 = 2047;

/// Its configuration.
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
    pub fn new(values: &Values) -> Result<Params, Vec<Problem>> {
        let (rate, burst) = (Rate(values.number("rate")), values.number("burst") as u64);
        let peak = values.rate("peak_rate").map(|peak| (peak, values.number("mtu") as u64));
        let mut problems = Vec::new();
        if let Some((peak, _)) = peak
            && peak.0 <= rate.0
        {
            let why = format!("must be more than rate: {} bit/s is not more than {} bit/s", peak.0, rate.0);
            problems.push(("peak_rate", why));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let arithmetic = Arithmetic::of(values);
        Ok(Params { rate, burst, peak, arithmetic })
    }
}

/// The bytes that may wait where nothing waits longer than `latency` seconds (tc-tbf(8)): what the bucket lets pass at once
/// and what leaves in that time; with a peak rate, the less of what either bucket gives.
pub fn limit_of(params: &Params, latency: f64) -> f64 {
    let of = |rate: Rate, bucket: u64| rate.0 / 8.0 * latency + bucket as f64;
    let limit = of(params.rate, params.burst);
    params.peak.map_or(limit, |(peak, mtu)| limit.min(of(peak, mtu)))
}

/// A bucket of tokens, counted as time.
#[derive(Clone, Debug)]
struct Bucket {
    price: Price,
    depth: i128,
    tokens: i128,
}

impl Bucket {
    fn new(arithmetic: Arithmetic, rate: Rate, bytes: u64, table_mtu: u32) -> Bucket {
        let depth = depth(arithmetic, rate, bytes);
        Bucket { price: Price::new(arithmetic, rate, table_mtu), depth, tokens: depth }
    }

    /// What would be left after a packet of `size` bytes, `passed` after the last one; negative: it cannot go yet.
    fn after(&self, passed: i128, size: u16) -> i128 {
        (self.tokens + passed).min(self.depth) - self.price.cost(u32::from(size))
    }
}

/// The filter.
#[derive(Clone, Debug)]
pub struct Tbf {
    packets: VecDeque<Queued>,
    arithmetic: Arithmetic,
    bucket: Bucket,
    peak: Option<Bucket>,
    /// The clock when a packet left last.
    last: i128,
    /// The largest packet that a full bucket pays for.
    largest: u64,
    /// When there will be tokens for the first in line.
    next: Time,
}

impl Tbf {
    /// A filter with full buckets.
    pub fn new(params: Params) -> Tbf {
        let arithmetic = params.arithmetic;
        let table_mtu = params.peak.map_or(TABLE_MTU, |(_, mtu)| mtu as u32);
        let bucket = Bucket::new(arithmetic, params.rate, params.burst, table_mtu);
        let peak = params.peak.map(|(rate, mtu)| Bucket::new(arithmetic, rate, mtu, table_mtu));
        let largest = |bucket: &Bucket| bucket.price.affordable(bucket.depth);
        let largest = peak.as_ref().map_or(u64::MAX, largest).min(largest(&bucket));
        Tbf { packets: VecDeque::new(), arithmetic, bucket, peak, last: 0, largest, next: Time::NEVER }
    }
}

impl Schedule for Tbf {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, _served: &Served) -> Result<Tbf, Vec<Problem>> {
        Params::new(values).map(Tbf::new)
    }

    #[inline]
    fn refuses(&self, size: u16) -> Option<Reason> {
        (u64::from(size) > self.largest).then_some(Reason::TooLarge)
    }

    fn enqueue(&mut self, _queue: usize, item: Queued) {
        self.packets.push_back(item);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.next = Time::NEVER;
        let size = self.packets.front()?.packet.size;
        let clock = self.arithmetic.clock(now);
        let passed = clock - self.last;
        let left = self.bucket.after(passed, size);
        let peak_left = self.peak.as_ref().map_or(0, |peak| peak.after(passed, size));
        let short = left.min(peak_left);
        if short < 0 {
            self.next = self.arithmetic.instant(clock - short);
            return None;
        }
        self.last = clock;
        self.bucket.tokens = left;
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak_left;
        }
        self.packets.pop_front().map(|item| (item, None))
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn next_event(&self) -> Time {
        self.next
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.packets.iter().for_each(show);
    }

    fn check(values: &Values) -> Vec<Problem> {
        Params::new(values).err().unwrap_or_default()
    }

    fn limit(values: &Values) -> Option<Value> {
        let (latency, params) = (values.maybe("latency")?, Params::new(values).ok()?);
        Some(Value::Bytes(limit_of(&params, latency)))
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "tbf",
    room: Room::Scheduler,
    traits: Traits { shapes: true, ..Mechanism::PLAIN },
    title: "Token-bucket filter (TBF)",
    doc: "A FIFO whose packets leave when a token bucket holds a token for each of their bytes; never more than rate * t + burst \
          bytes in any time t. A limit is the queue's, or follows from latency.",
    source: "RFC 2215 section 3.6, RFC 2212; Linux 3.2, sch_tbf; tc-tbf(8)",
    params: &[
        Param {
            name: "rate",
            ty: Type::Rate,
            default: Fallback::Required,
            range: Range { min: 1.0, closed: true, max: f64::INFINITY },
            source: "",
            doc: "How fast tokens come.",
        },
        Param {
            name: "burst",
            ty: Type::Bytes,
            default: Fallback::Required,
            range: Range::FROM_ONE,
            source: "",
            doc: "Tokens that the bucket holds; at first it is full.",
        },
        Param {
            name: "peak_rate",
            ty: Type::Rate,
            default: Fallback::Absent("bursts leave at the link's rate"),
            range: Range { min: 1.0, closed: true, max: f64::INFINITY },
            source: "tc-tbf(8): peakrate",
            doc: "How fast a burst may leave, more than rate: a second bucket, of mtu bytes.",
        },
        Param {
            name: "mtu",
            ty: Type::Bytes,
            default: Fallback::Text("1514 B"),
            range: Range { min: 1.0, closed: true, max: 65_535.0 },
            source: "tc-tbf(8): the interface's MTU; here with Ethernet's header",
            doc: "Tokens that the second bucket holds; without peak_rate it means nothing.",
        },
        Param {
            name: "latency",
            ty: Type::Duration,
            default: Fallback::Absent("the queue's limit holds"),
            range: Range::POSITIVE,
            source: "tc-tbf(8)",
            doc: "In place of a limit: the longest that a packet may wait, so that rate * latency + burst bytes may.",
        },
        ARITHMETIC,
    ],
    observables: &[],
    counters: &[Counter { name: "too_large", doc: "Larger than the bucket, so that it could never leave." }],
    deviations: &[
        Deviation {
            what: "peak_rate must be more than rate.",
            why: "The kernel takes any; a lower one makes a filter of one bucket, of mtu bytes.",
        },
        Deviation {
            what: "In ticks, a burst that is no whole number of cells does not let its last packet pass.",
            why: "So it is in the kernel: 1514 bytes of burst refuse a frame of 1514, which counts as 1520.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::Packet;

    const MBIT8: Rate = Rate(8e6); // a byte a microsecond

    fn filter(burst: u64, peak: Option<(Rate, u64)>, arithmetic: Arithmetic) -> Tbf {
        Tbf::new(Params { rate: MBIT8, burst, peak, arithmetic })
    }

    fn item(id: u64, size: u16) -> Queued {
        let packet = Packet { seq: id, ..Packet::new(0, size, size) };
        Queued { packet, at: Time(0) }
    }

    /// When packets of these sizes leave, all there at the start, in microseconds.
    fn departures(mut q: Tbf, sizes: &[u16]) -> Vec<f64> {
        for (n, size) in sizes.iter().enumerate() {
            q.enqueue(0, item(n as u64, *size));
        }
        let (mut now, mut left) = (Time(0), Vec::new());
        while !q.packets.is_empty() {
            match q.dequeue(now, &mut Vec::new()) {
                Some(_) => left.push(now.0 as f64 / 1e3),
                None => {
                    assert!(q.next_event() > now);
                    now = q.next_event();
                }
            }
        }
        left
    }

    #[test]
    fn a_full_bucket_lets_its_burst_pass_and_then_the_rate() {
        // 3000 bytes pass at once; each further 1000 need 1000 us.
        let q = filter(3000, None, Arithmetic::Real);
        assert_eq!(departures(q, &[1000; 6]), [0.0, 0.0, 0.0, 1000.0, 2000.0, 3000.0]);
    }

    #[test]
    fn a_head_waits_for_all_its_tokens() {
        // 500 left after the first; the second lacks 400, the small one behind it waits its turn.
        let q = filter(1500, None, Arithmetic::Real);
        assert_eq!(departures(q, &[1000, 900, 100]), [0.0, 400.0, 500.0]);
    }

    #[test]
    fn an_idle_bucket_fills_to_its_brim_and_no_further() {
        let mut q = filter(2000, None, Arithmetic::Real);
        q.enqueue(0, item(0, 2000));
        assert!(q.dequeue(Time(0), &mut Vec::new()).is_some());
        for n in 1..4 {
            q.enqueue(0, item(n, 1000));
        }
        let later = Time(1_000_000_000);
        assert!(q.dequeue(later, &mut Vec::new()).is_some() && q.dequeue(later, &mut Vec::new()).is_some());
        assert!(q.dequeue(later, &mut Vec::new()).is_none());
        assert_eq!(q.next_event(), later + evenflow_base::Duration(1_000_000));
    }

    #[test]
    fn a_peak_rate_spaces_a_burst() {
        // Peak 16 Mbit/s, a packet of 1000 deep: every 500 us while the 3000 of the bucket last. It gains 500 between packets:
        // 3000 - 1000 | 2500 - 1000 | 2000 - 1000 | 1500 - 1000 | 1000 - 1000 | then every 1000 us.
        let q = filter(3000, Some((Rate(16e6), 1000)), Arithmetic::Real);
        let left = departures(q, &[1000; 7]);
        assert_eq!(left, [0.0, 500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0]);
    }

    #[test]
    fn what_no_bucket_holds_is_refused() {
        let q = filter(1500, None, Arithmetic::Real);
        assert!(q.refuses(1500).is_none() && q.refuses(1501).is_some());
        let q = filter(9000, Some((Rate(16e6), 1514)), Arithmetic::Real);
        assert!(q.refuses(1514).is_none() && q.refuses(1515).is_some());
        let q = filter(1514, None, Arithmetic::Ticks);
        assert!(q.refuses(1511).is_none() && q.refuses(1512).is_some());
    }

    #[test]
    fn in_ticks_a_frame_of_1514_bytes_costs_1520() {
        // 1600 us of burst pay for one, leaving 80 us; the next lacks 1440 us.
        let q = filter(1600, None, Arithmetic::Ticks);
        assert_eq!(departures(q, &[1514; 3]), [0.0, 1440.0, 2960.0]);
    }

    #[test]
    fn in_ticks_the_clock_stands_still_for_64_ns() {
        let mut q = filter(1600, None, Arithmetic::Ticks);
        q.enqueue(0, item(0, 1600));
        assert!(q.dequeue(Time(63), &mut Vec::new()).is_some()); // still tick 0
        q.enqueue(0, item(1, 7));
        assert!(q.dequeue(Time(7999), &mut Vec::new()).is_none()); // tick 124; a cell costs 125
        assert_eq!(q.next_event(), Time(8000));
        assert!(q.dequeue(Time(8000), &mut Vec::new()).is_some());
    }

    #[test]
    fn a_latency_is_a_limit() {
        let params = Params { rate: MBIT8, burst: 1600, peak: None, arithmetic: Arithmetic::Real };
        assert_eq!(limit_of(&params, 0.02), 21_600.0);
        let peaked = Params { peak: Some((Rate(16e6), 1514)), ..params };
        assert_eq!(limit_of(&peaked, 0.02), 21_600.0);
        assert_eq!(limit_of(&Params { burst: 90_000, ..peaked }, 0.02), 41_514.0);
    }
}
