//! Token-bucket filter: a FIFO that sends no faster than a token bucket fills (RFC 2215 section 3.6;
//! `net/sched/sch_tbf.c` of Linux 3.2 by its behaviour; tc-tbf(8)).
//!
//! At most rate * t + burst bytes leave in any time t (RFC 2212, policing). A second bucket of `mtu` bytes at
//! `peak_rate` limits the rate of a burst. The buckets are [`evenflow_base::bucket`]. Shapers and policers as
//! stages are in `crates/stage`. Not modelled: other queues behind the bucket, fragmentation of packets that
//! are too large.

use std::collections::VecDeque;

use evenflow_base::bucket::{Given, Pacer, Params};
use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Value, Values};
use evenflow_base::{Heap, Reason, Time};

use crate::held::{Dropped, Kind, Queued, Schedule, Sent, Served};

/// The filter.
#[derive(Clone, Debug)]
pub struct Tbf {
    packets: VecDeque<Queued>,
    pacer: Pacer,
    /// When there will be tokens for the first in line.
    next: Time,
}

impl Tbf {
    /// A filter with full buckets.
    pub fn new(params: Params) -> Tbf {
        Tbf { packets: VecDeque::new(), pacer: Pacer::new(params), next: Time::NEVER }
    }
}

impl Schedule for Tbf {
    #[inline]
    fn refuses(&self, size: u16) -> Option<Reason> {
        self.pacer.refuses(size).then_some(Reason::TooLarge)
    }

    fn enqueue(&mut self, _queue: usize, item: Queued) {
        self.packets.push_back(item);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.next = Time::NEVER;
        let size = self.packets.front()?.packet.size;
        if let Err(next) = self.pacer.take(size, now) {
            self.next = next;
            return None;
        }
        self.packets.pop_front().map(|item| (item, None))
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn next_event(&self) -> Time {
        self.next
    }

    fn blocked_until(&self, now: Time) -> Option<Time> {
        (now < self.next && self.next != Time::NEVER).then_some(self.next)
    }

    fn heap_bytes(&self) -> u64 {
        self.packets.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.packets.iter().for_each(show);
    }
}

impl Kind for Tbf {
    fn build(values: &Values, _served: &Served) -> Result<Tbf, Vec<Problem>> {
        Params::new(&Given::read(values)).map(Tbf::new)
    }

    /// Packets that exceed the new buckets would never leave.
    fn adopt(&mut self, other: Tbf, now: Time, dropped: &mut Vec<Dropped>) {
        self.pacer.adopt(other.pacer, now);
        self.next = Time::NEVER;
        let pacer = &self.pacer;
        self.packets.retain(|item| {
            let fits = !pacer.refuses(item.packet.size);
            if !fits {
                dropped.push((*item, Reason::TooLarge));
            }
            fits
        });
    }

    fn check(values: &Values) -> Vec<Problem> {
        Params::new(&Given::read(values)).err().unwrap_or_default()
    }

    fn limit(values: &Values) -> Option<Value> {
        let latency = values.at(Given::latency)?;
        Some(Value::Bytes(Params::new(&Given::read(values)).ok()?.limit(latency)))
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "tbf",
    traits: Traits {
        shapes: true,
        changes: &[Given::rate.name, Given::burst.name, Given::peak_rate.name],
        ..Mechanism::PLAIN
    },
    title: "Token-bucket filter (TBF)",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "tbf"
rate = "8 Mbit/s"
burst = "10 kB"
latency = "50 ms""#,
    doc: "A FIFO with a token bucket: a packet leaves when the bucket has a token for each of its bytes. At \
          most rate * t + burst bytes leave in any time t. The limit is that of the queue, or follows from \
          latency.",
    source: "RFC 2215 section 3.6, RFC 2212; Linux 3.2, sch_tbf; tc-tbf(8)",
    params: Given::PARAMS,
    counters: &[
        Counter::new("too_large", "Larger than the bucket; it could never leave."),
        Counter::new("reconfigured", "Waited in a filter that a step deleted and recreated."),
    ],
    deviations: &[
        Deviation {
            what: "peak_rate must be more than rate.",
            why: "The kernel accepts any; a lower one makes a filter with one bucket of mtu bytes.",
        },
        Deviation {
            what: "In ticks, a burst that is not a whole number of cells refuses packets of its size.",
            why: "The kernel does the same: a burst of 1514 bytes refuses a frame of 1514, which counts as \
                  1520.",
        },
    ],
    ..Mechanism::of(Room::Scheduler)
};

#[cfg(test)]
mod tests {
    use evenflow_base::credit::Arithmetic;
    use evenflow_base::{Packet, Rate};

    use super::*;

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
                    let due = q.next_event();
                    assert!(due > now);
                    let between = Time(now.0.midpoint(due.0));
                    assert_eq!(q.blocked_until(between), Some(due));
                    assert!(q.dequeue(between, &mut Vec::new()).is_none() && q.next_event() == due);
                    now = due;
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
}
