//! Fair queue (Linux sch_fq, 6.6, by its behaviour): a FIFO per flow, served by deficit round robin, new flows
//! first.
//!
//! Packets above the limit of their queue are dropped. `ce_threshold` marks packets that waited longer.
//! `max_rate` paces each queue: a queue that is ahead of its rate is throttled until its time.
//!
//! The queue is that of a router: no packet has a socket, and orphans are hashed. Not modelled: departure
//! times and pacing rates of sockets, the horizon, priority bands.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Heap, Packet, Rate, Reason, Stream, Time, Verdict};

use crate::action::mark;
use crate::flow_queues::{Flow, FlowQueues, List};
use crate::held::{
    COLLISIONS, Dropped, FlowTable, HashStats, Kind, Note, Notes, Queued, Schedule, Sent, Served, note,
};

/// Default limit in packets.
pub const LIMIT: f64 = 10_000.0;

/// The longest gap of a paced queue: its rate may change.
const LONGEST_GAP: Duration = Duration::from_millis(1000);

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Mask on a flow's hash. 1023 gives 1024 queues; 0 gives one queue for all flows.
        orphan_mask: usize = Integer, Text("1023"), Range::between(0.0, 65_535.0) => source: "tc-fq (orphan_mask)";
        /// Most packets of a queue.
        flow_limit: f64 = Packets, Text("100 packets"), Range::FROM_ONE => source: "tc-fq (flow_limit)";
        /// Bytes per round.
        quantum: i64 = Bytes, Text("3028 B"), Range::FROM_ONE
            => source: "tc-fq (quantum): two packets of the MTU and Ethernet's header";
        /// Credits of a queue at its first packet.
        initial_quantum: i64 = Bytes, Text("15140 B"), Range::NOT_NEGATIVE
            => source: "tc-fq (initial_quantum): ten packets of the MTU and Ethernet's header";
        /// Time after which an idle queue has at least a quantum again.
        refill_delay: Duration = Duration, Text("40 ms"), Range::NOT_NEGATIVE => source: "tc-fq (refill_delay)";
        /// Packets that waited longer are marked if they are ECN-capable.
        ce_threshold: Option<Duration> = Duration, Absent("off"), Range::NOT_NEGATIVE => source: "tc-fq (ce_threshold)";
        /// Maximum rate of each queue.
        max_rate: Option<Rate> = Rate, Absent("unlimited"), Range::POSITIVE => source: "tc-fq (maxrate)";
        /// A `max_rate` up to this spaces packets instead of bursts of a quantum.
        low_rate_threshold: Option<Rate> = Rate, Absent("550 kbit/s, with max_rate"), Range::NOT_NEGATIVE
            => source: "tc-fq (low_rate_threshold)";
    }
}

/// Whole bytes per second, as in Linux.
fn bytes_per_second(rate: Rate) -> u64 {
    (rate.0 / 8.0) as u64
}

/// The pacing of queues.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    /// Bytes per second.
    rate: u64,
    /// Whether each packet is followed by a gap.
    slow: bool,
}

impl Pacing {
    fn new(params: &Params) -> Option<Pacing> {
        let rate = bytes_per_second(params.max_rate?);
        let low = params.low_rate_threshold.unwrap_or(Rate(550e3));
        Some(Pacing { rate, slow: rate <= bytes_per_second(low) })
    }

    /// The gap after `bytes`. A queue whose turn at `due` came late gets up to half of the gap back.
    fn gap(&self, bytes: i64, due: Time, now: Time) -> Duration {
        let gap =
            (bytes as u64 * 1_000_000_000).checked_div(self.rate).unwrap_or(u64::MAX).min(LONGEST_GAP.0);
        let late = if due == Time::ZERO { 0 } else { now.since(due).0 };
        Duration(gap - late.min(gap / 2))
    }
}

/// State of a queue in addition to its packets.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// When it became idle; absent: it had no packet yet.
    emptied: Option<Time>,
    /// When its next packet may leave; zero: at any time.
    next: Time,
    /// It waits for `next` and is in no list.
    throttled: bool,
}

/// The queues.
#[derive(Clone, Debug)]
pub struct Fq {
    params: Params,
    pacing: Option<Pacing>,
    queues: FlowQueues<Lane>,
    packets: usize,
    /// Throttled queues by the instant from which they may send. The number keeps the order of equal instants.
    throttled: BinaryHeap<Reverse<(Time, u64, u32)>>,
    throttles: u64,
    /// The queue of the last arrival.
    judged: usize,
    /// Queueing delay of the packet marked last.
    sojourn: Duration,
    notes: Notes,
}

impl Fq {
    /// Empty ones; the hash's salt is the first number of `hash`.
    pub fn new(params: Params, hash: Stream) -> Fq {
        let queues = FlowQueues::new(params.orphan_mask + 1, params.quantum, Lane::default(), hash);
        Fq {
            params,
            pacing: Pacing::new(&params),
            queues,
            packets: 0,
            throttled: BinaryHeap::new(),
            throttles: 0,
            judged: 0,
            sojourn: Duration::ZERO,
            notes: None,
        }
    }

    /// Credits of a queue that gets its first packet after a time without packets.
    fn credits(&self, flow: &Flow<Lane>, now: Time) -> i64 {
        match flow.aqm.emptied {
            None => self.params.initial_quantum,
            Some(at) if now.since(at) > self.params.refill_delay => flow.deficit.max(self.params.quantum),
            Some(_) => flow.deficit,
        }
    }

    /// Throttled queues whose time has come are served again, after the others.
    fn release(&mut self, now: Time) {
        while let Some(&Reverse((at, _, queue))) = self.throttled.peek()
            && at <= now
        {
            self.throttled.pop();
            let flow = &mut self.queues.flows[queue as usize];
            flow.aqm.throttled = false;
            flow.list = List::Old;
            self.queues.old.push_back(queue);
        }
    }

    /// The next queue that may send, at the head of its list.
    fn turn(&mut self, now: Time) -> Option<usize> {
        let FlowQueues { flows, new, old, .. } = &mut self.queues;
        loop {
            let from_new = !new.is_empty();
            let list = if from_new { &mut *new } else { &mut *old };
            let queue = *list.front()?;
            let flow = &mut flows[queue as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.params.quantum;
                list.pop_front();
                flow.list = List::Old;
                old.push_back(queue);
                continue;
            }
            if !flow.packets.is_empty() {
                if flow.aqm.next <= now {
                    return Some(queue as usize);
                }
                list.pop_front();
                flow.list = List::None;
                flow.aqm.throttled = true;
                self.throttles += 1;
                self.throttled.push(Reverse((flow.aqm.next, self.throttles, queue)));
                continue;
            }
            list.pop_front();
            if from_new && !old.is_empty() {
                // Through the old ones once, so that it cannot starve them by coming back as a new one.
                flow.list = List::Old;
                old.push_back(queue);
            } else {
                flow.list = List::None;
                flow.aqm.emptied = Some(now);
            }
        }
    }
}

impl Schedule for Fq {
    #[inline]
    fn place(&mut self, key: usize, _packet: &Packet, _flows: &dyn FlowTable, _now: Time) -> usize {
        self.judged = self.queues.hash(key) as usize & self.params.orphan_mask;
        self.queues.joins(self.judged, key);
        self.judged
    }

    fn admit(&mut self, queue: usize, _packet: &mut Packet, _now: Time) -> Verdict {
        let full = self.queues.flows[queue].packets.len() as f64 >= self.params.flow_limit;
        if full { Verdict::Drop(Reason::FlowLimit) } else { Verdict::Accept }
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        let flow = &self.queues.flows[queue];
        if flow.list == List::None && !flow.aqm.throttled {
            let credits = self.credits(flow, item.at);
            self.queues.activate(queue, credits);
        }
        self.packets += 1;
        self.queues.hold(queue, item);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        // Linux does not look at empty queues while nothing waits: they stay in their lists.
        if self.packets == 0 {
            return None;
        }
        self.release(now);
        let queue = self.turn(now)?;
        let flow = &mut self.queues.flows[queue];
        let mut item = flow.pop(&mut self.queues.bytes)?;
        let delay = now.since(item.at.max(flow.aqm.next));
        self.packets -= 1;
        let mut bytes = i64::from(item.packet.size);
        flow.deficit -= bytes;
        if let Some(pacing) = self.pacing {
            if pacing.slow {
                flow.deficit = 0;
            } else {
                bytes = bytes.max(self.params.quantum);
            }
            if flow.deficit <= 0 {
                flow.aqm.next = now + pacing.gap(bytes, flow.aqm.next, now);
            }
        }
        let late = self.params.ce_threshold.is_some_and(|threshold| delay > threshold);
        let marked = late && mark(&mut item.packet);
        if marked {
            self.sojourn = delay;
            note(&mut self.notes, &TABLE, now, |name| (name == "sojourn").then_some(delay.seconds()));
        }
        Some((item, marked.then_some(Reason::CeThreshold)))
    }

    fn next_event(&self) -> Time {
        self.throttled.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    #[inline]
    fn blocked_until(&self, now: Time) -> Option<Time> {
        let Reverse((at, ..)) = self.throttled.peek()?;
        let idle = self.queues.new.is_empty() && self.queues.old.is_empty();
        (idle && *at > now).then_some(*at)
    }

    fn watch(&mut self) {
        self.notes = Some(Box::default());
    }

    fn notes(&self) -> &[Note] {
        self.notes.as_deref().map_or(&[], Vec::as_slice)
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn heap_bytes(&self) -> u64 {
        self.queues.heap_bytes() + self.throttled.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.for_each(show);
    }

    fn hash_stats(&self) -> Option<&HashStats> {
        Some(&self.queues.stats)
    }
}

impl Kind for Fq {
    fn build(values: &Values, served: &Served) -> Result<Fq, Vec<Problem>> {
        Ok(Fq::new(Params::read(values), served.hash.clone()))
    }

    fn marks(values: &Values) -> bool {
        values.raw(Params::ce_threshold).is_some()
    }

    fn check(values: &Values) -> Vec<Problem> {
        let lone = values.raw(Params::low_rate_threshold).is_some() && values.raw(Params::max_rate).is_none();
        let why = || "has no effect without max_rate; add max_rate or remove it".into();
        Vec::from_iter(lone.then(|| (Params::low_rate_threshold.name, why())))
    }
}

observables! {
    Fq: fq, _now;
    active_queues: "1", "Queues in the two lists: with packets, or empty and not yet removed by the scheduler."
        => fq.queues.active();
    new_queues: "1", "Active new queues, which are served first." => fq.queues.new.len();
    throttled_queues: "1", "Queues with packets that `max_rate` holds back (tc: throttled)." => fq.throttled.len();
    new_flows: "1",
        "Number of times a packet made its queue a new one. Counter: a series shows the increase per interval."
        => fq.queues.stats.new_flows;
    collisions: "packets", COLLISIONS => fq.queues.stats.collisions;
    flow_packets: "packets", "Packets in the queue of the last arrival." => fq.queues.flows[fq.judged].packets.len();
    sojourn: "s",
        "Queueing delay of the packet that `ce_threshold` marked last. Time in a throttled queue does not count."
        => fq.sojourn;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "fq",
    room: Room::Queue,
    traits: Traits {
        hashes: true,
        shapes: true,
        in_turn: true,
        owns_queues: true,
        default_limit: Some(LIMIT),
        notes_departures: true,
        ..Mechanism::PLAIN
    },
    title: "Fair queue (FQ)",
    example: r#"[links.bottleneck.queue]
kind = "fq"
ce_threshold = "1 ms"
orphan_mask = 0
flow_limit = "1000 packets""#,
    doc: "Hashes flows to FIFO queues and serves them by deficit round robin, new flows first. There is no AQM: `flow_limit` bounds \
          each queue, and `ce_threshold` marks packets that waited longer. With `orphan_mask = 0` all flows share one FIFO. FQ is \
          rule and scheduler in one. A full buffer drops the arriving packet. The transport paces (`pacing`), as a host's FQ does.",
    source: "Linux 6.6, sch_fq; tc-fq(8)",
    params: Params::PARAMS,
    observables: Fq::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The buffer was full."),
        Counter::new(
            Reason::FlowLimit.name(),
            "The packet's queue held `flow_limit` packets (tc: flows_plimit).",
        ),
        Counter::new("ce_threshold", "Marked: the packet's queueing delay exceeded ce_threshold."),
    ],
    deviations: &[
        Deviation {
            what: "Every packet is an orphan, sorted by its flow's hash.",
            why: "A router's packets have no socket. On a host, Linux gives each socket its own queue.",
        },
        Deviation {
            what: "No priority bands, no control queue and no fast path.",
            why: "Linux sends control packets first; since 6.7 it has three bands by priority. Up to eight packets then bypass the \
                  queues while no queue is active.",
        },
        Deviation {
            what: "A queue never gets initial_quantum again.",
            why: "Linux frees a queue that was idle for 3 s, but only when the lookup of another flow passes it.",
        },
        Deviation {
            what: "refill_delay and the end of a throttled time are exact.",
            why: "Linux counts jiffies and lets its timer be 10 us late.",
        },
        Deviation {
            what: "The hash is a salted 64-bit hash of the flow's name.",
            why: "Flows have names instead of addresses. Only uniformity and salt matter.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::Ecn;

    const MS: u64 = 1_000_000;

    fn queues(params: impl FnOnce(&mut Params)) -> Fq {
        let mut given = Params {
            orphan_mask: 3,
            flow_limit: 100.0,
            quantum: 3000,
            initial_quantum: 4500,
            refill_delay: Duration::from_millis(40),
            ce_threshold: None,
            max_rate: None,
            low_rate_threshold: None,
        };
        params(&mut given);
        Fq::new(given, Stream::new(1, "hash"))
    }

    fn item(id: u64, size: u16, at: u64) -> Queued {
        Queued { packet: Packet { seq: id, ..Packet::new(0, size, size) }, at: Time(at) }
    }

    fn next(q: &mut Fq, now: u64) -> Option<u64> {
        q.dequeue(Time(now), &mut Vec::new()).map(|(item, _)| item.packet.seq)
    }

    fn drain(q: &mut Fq, now: u64, most: usize) -> Vec<u64> {
        std::iter::from_fn(|| next(q, now)).take(most).collect()
    }

    #[test]
    fn credits_by_hand() {
        let mut q = queues(|_| ());
        for n in 0..12 {
            q.enqueue((n % 2) as usize, item(n, 1500, 0));
        }
        // Both begin with 4500: three packets each as new queues, then two each per round.
        assert_eq!(drain(&mut q, 0, 12), [0, 2, 4, 1, 3, 5, 6, 8, 7, 9, 10, 11]);
        // 0 was empty at its turn: it left the list. 1 stays among the old ones, as nothing waits.
        assert_eq!((next(&mut q, 0), q.queues.flows[0].list), (None, List::None));
        assert_eq!((q.queues.flows[0].aqm.emptied, q.queues.flows[0].deficit), (Some(Time(0)), 1500));
        q.enqueue(1, item(12, 1500, 100 * MS));
        assert_eq!((q.queues.flows[1].list, q.queues.flows[1].deficit), (List::Old, 1500));
        q.enqueue(0, item(13, 1500, 100 * MS));
        assert_eq!((q.queues.flows[0].list, q.queues.flows[0].deficit), (List::New, 3000));
        assert_eq!(drain(&mut q, 100 * MS, 9), [13, 12]);
    }

    #[test]
    fn an_idle_queue_gets_a_quantum_after_the_delay() {
        let q = queues(|_| ());
        let credits = |deficit, emptied, now| {
            let mut flow = Flow::new(Lane { emptied, ..Lane::default() });
            flow.deficit = deficit;
            q.credits(&flow, Time(now))
        };
        assert_eq!(credits(0, None, 0), 4500);
        let at = Some(Time(MS));
        assert_eq!(credits(-700, at, 41 * MS), -700);
        assert_eq!(credits(-700, at, 41 * MS + 1), 3000);
        assert_eq!(credits(4000, at, 41 * MS + 1), 4000);
    }

    #[test]
    fn an_emptied_new_queue_passes_the_old_ones_if_there_are_any() {
        let mut q = queues(|p| p.initial_quantum = 1000);
        q.enqueue(0, item(0, 1500, 0));
        q.enqueue(0, item(1, 1500, 0));
        assert_eq!(next(&mut q, 0), Some(0));
        q.enqueue(1, item(2, 500, 0));
        // 0 has used its credits up: it is old with 2500. 1 is empty after its packet and goes behind 0.
        assert_eq!(drain(&mut q, 0, 2), [2, 1]);
        assert_eq!(q.queues.flows[1].list, List::Old);
        let mut alone = queues(|_| ());
        alone.enqueue(0, item(0, 100, 0));
        assert_eq!(next(&mut alone, 0), Some(0));
        alone.enqueue(1, item(1, 100, 0));
        assert_eq!(next(&mut alone, 0), Some(1), "the new queue 0 is empty and no queue is old: it leaves");
        assert_eq!(alone.queues.flows[0].list, List::None);
    }

    #[test]
    fn a_queue_holds_its_limit() {
        let mut q = queues(|p| p.flow_limit = 2.0);
        let mut packet = Packet::new(0, 1500, 1500);
        for n in 0..2 {
            assert_eq!(q.admit(0, &mut packet, Time(0)), Verdict::Accept);
            q.enqueue(0, item(n, 1500, 0));
        }
        assert_eq!(q.admit(0, &mut packet, Time(0)), Verdict::Drop(Reason::FlowLimit));
        assert_eq!(q.admit(1, &mut packet, Time(0)), Verdict::Accept);
    }

    #[test]
    fn the_mask_selects_bits_of_the_hash() {
        let places = |mask| {
            let mut q = queues(|p| p.orphan_mask = mask);
            let place = |key| q.place(key, &Packet::new(0, 100, 100), &(), Time(0));
            (0..1000).map(place).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(places(0), [0].into());
        assert_eq!(places(6), [0, 2, 4, 6].into());
        assert_eq!(places(3), [0, 1, 2, 3].into());
    }

    #[test]
    fn packets_that_wait_longer_are_marked() {
        let mut q = queues(|p| p.ce_threshold = Some(Duration::from_millis(1)));
        for (id, ecn) in [Ecn::Capable0, Ecn::NotCapable, Ecn::Capable1].into_iter().enumerate() {
            let mut one = item(id as u64, 100, 0);
            one.packet.set_ecn(ecn);
            q.enqueue(0, one);
        }
        let mut sent = |now| q.dequeue(Time(now), &mut Vec::new()).and_then(|(_, reason)| reason);
        let marked = Some(Reason::CeThreshold);
        assert_eq!([sent(MS), sent(MS + 1), sent(MS + 1)], [None, None, marked]);
    }

    /// 8 Mbit/s: 3000 bytes take 3 ms.
    #[test]
    fn a_rate_spaces_bursts_of_a_quantum() {
        let mut q = queues(|p| {
            p.max_rate = Some(Rate(8e6));
            p.initial_quantum = 3000;
        });
        (0..8).for_each(|n| q.enqueue(0, item(n, 1500, 0)));
        assert_eq!(drain(&mut q, 0, 9), [0, 1]);
        assert_eq!((q.next_event(), q.blocked_until(Time(0))), (Time(3 * MS), Some(Time(3 * MS))));
        assert_eq!(q.observe("throttled_queues", Time(0)), Some(1.0));
        // Late by 1 ms: the next gap is 2 ms.
        assert_eq!(drain(&mut q, 4 * MS, 9), [2, 3]);
        assert_eq!(q.next_event(), Time(6 * MS));
        // Late by 4 ms: half of the gap is the most.
        assert_eq!(drain(&mut q, 10 * MS, 9), [4, 5]);
        assert_eq!(q.next_event(), Time(11 * MS + MS / 2));
        // A throttled queue takes packets and is in no list; another one is not held up.
        q.enqueue(0, item(8, 1500, 10 * MS));
        q.enqueue(1, item(20, 1500, 10 * MS));
        assert_eq!(drain(&mut q, 10 * MS, 9), [20]);
        assert_eq!(drain(&mut q, 11 * MS + MS / 2, 9), [6, 7]);
    }

    #[test]
    fn a_low_rate_spaces_packets() {
        let mut q = queues(|p| p.max_rate = Some(Rate(480e3))); // 60 000 B/s
        (0..3).for_each(|n| q.enqueue(0, item(n, 600, 0)));
        assert_eq!(drain(&mut q, 0, 9), [0]);
        assert_eq!(q.next_event(), Time(10 * MS));
        assert_eq!(drain(&mut q, 10 * MS, 9), [1]);
        assert_eq!(q.next_event(), Time(20 * MS));
        let slowest = Pacing { rate: 0, slow: true };
        assert_eq!(slowest.gap(40, Time::ZERO, Time(5)), LONGEST_GAP);
    }
}
