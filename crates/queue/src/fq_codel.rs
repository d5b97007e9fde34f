//! FQ-CoDel (RFC 8290): flows are hashed to queues, each with its own CoDel state. A deficit round robin
//! serves them and prefers new flows.
//!
//! A full buffer drops a batch from the head of the longest queue. The hash salt comes from the link's random
//! stream: another seed gives other collisions. Not modelled: other classifiers (section 4.1.1), and Linux's
//! increase of CoDel's count after such a drop.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Packet, Reason, Stream, Time, Verdict};

use crate::codel::{self, MARKING};
use crate::flow_queues::{Flow, FlowQueues};
use crate::held::{
    COLLISIONS, Dropped, FlowTable, HashStats, Kind, NEW_FLOWS, Note, Notes, PUSHED_OUT, Queued, Schedule,
    Sent, Served, note,
};

/// Default limit in packets (RFC 8290 section 5.2.3).
pub const LIMIT: f64 = 10_240.0;

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        ..codel: codel::Params;
        /// Queues to which flows are hashed.
        flows: usize = Integer, Text("1024"), Range::between(1.0, 65_536.0) => source: "RFC 8290 section 5.2.5";
        /// Bytes per round.
        quantum: i64 = Bytes, Text("1514 B"), Range::FROM_ONE
            => source: "RFC 8290 section 5.2.4: the MTU and Ethernet's header";
        /// Maximum number of packets dropped together when the buffer is full, at most half of their queue.
        drop_batch: usize = Integer, Text("64"), Range::FROM_ONE => source: "RFC 8290 section 4.1";
        /// Maximum backlog of all queues in bytes, in addition to the limit.
        memory_limit: Option<u64> = Bytes, Absent("off"), Range::FROM_ONE
            => source: "Linux, tc-fq_codel (32 MiB there)";
    }
}

impl Params {
    /// Those of RFC 8290, which [`TABLE`] has as its defaults.
    pub const DEFAULT: Params = Params {
        codel: codel::Params::DEFAULT,
        flows: 1024,
        quantum: 1514,
        drop_batch: 64,
        memory_limit: None,
    };

    /// From decoded values.
    pub fn new(values: &Values) -> Result<Params, Vec<Problem>> {
        let params = Params::read(values);
        let mut problems = params.codel.check();
        if params.memory_limit.is_some_and(|limit| limit < params.codel.max_packet) {
            let why =
                format!("must hold a packet of max_packet; give at least {} B", params.codel.max_packet);
            problems.push((Params::memory_limit.name, why));
        }
        if problems.is_empty() { Ok(params) } else { Err(problems) }
    }
}

/// How many of the fattest queue's `packets` leave at once: half of them, at least one (RFC 8290 section
/// 4.1).
#[inline]
pub fn batch(packets: usize, most: usize) -> usize {
    (packets / 2).clamp(1, most)
}

/// The next packet of a queue that CoDel accepts. CoDel's check for a small backlog uses the `total` of all
/// queues (RFC 8289 section 4.4). `signalled` sees the CoDel of a packet that it dropped or marked.
#[inline]
fn next(
    flow: &mut Flow<codel::State>,
    p: &codel::Params,
    now: Time,
    total: &mut u64,
    dropped: &mut Vec<Dropped>,
    mut signalled: impl FnMut(&codel::State),
) -> Option<Sent> {
    while let Some(mut item) = flow.pop(total) {
        match flow.aqm.head(p, &mut item.packet, item.at, now, *total) {
            Verdict::Accept => return Some((item, None)),
            Verdict::Mark(reason) => {
                signalled(&flow.aqm);
                return Some((item, Some(reason)));
            }
            Verdict::Drop(reason) => {
                signalled(&flow.aqm);
                dropped.push((item, reason));
            }
        }
    }
    flow.aqm.emptied();
    None
}

/// The queues.
#[derive(Clone, Debug)]
pub struct FqCodel {
    params: Params,
    queues: FlowQueues<codel::State>,
    /// The CoDel that dropped or marked last, as it was then.
    signalled: codel::State,
    notes: Notes,
}

impl FqCodel {
    /// Empty ones; the hash's salt is the first number of `stream`.
    pub fn new(params: Params, stream: Stream) -> FqCodel {
        let queues = FlowQueues::new(params.flows, params.quantum, codel::State::default(), stream);
        FqCodel { params, queues, signalled: codel::State::default(), notes: None }
    }
}

impl Schedule for FqCodel {
    fn place(&mut self, key: usize, _packet: &Packet, _flows: &dyn FlowTable, _now: Time) -> usize {
        self.queues.place(key)
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.queues.push(queue, item);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        let FqCodel { params, queues, signalled, notes } = self;
        queues.pop(|flow, total| {
            next(flow, &params.codel, now, total, dropped, |state| {
                *signalled = *state;
                if notes.is_some() {
                    note(notes, &TABLE, now, |name| state.observe(name));
                }
            })
        })
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

    fn is_full(&self, _queue: usize, bytes: u64, size: u16) -> bool {
        self.params.memory_limit.is_some_and(|limit| bytes + u64::from(size) > limit)
    }

    /// Not if the newcomer is the fattest queue by itself.
    fn can_push_out(&self, queue: usize, size: u16) -> bool {
        !self.queues.flows[self.queues.fattest(queue, size)].packets.is_empty()
    }

    /// Removes packets from the head of the fattest queue, the newcomer counted (RFC 8290 section 4.1).
    fn push_out(&mut self, queue: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool {
        let fattest = self.queues.fattest(queue, size);
        let packets = self.queues.flows[fattest].packets.len() + usize::from(fattest == queue);
        let before = dropped.len();
        self.queues.drop_head(fattest, batch(packets, self.params.drop_batch), dropped);
        dropped.len() > before
    }

    fn heap_bytes(&self) -> u64 {
        self.queues.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.for_each(show);
    }

    fn hash_stats(&self) -> Option<&HashStats> {
        Some(&self.queues.stats)
    }
}

impl Kind for FqCodel {
    fn build(values: &Values, served: &Served) -> Result<FqCodel, Vec<Problem>> {
        Params::new(values).map(|params| FqCodel::new(params, served.hash.clone()))
    }

    fn marks(values: &Values) -> bool {
        codel::marks(values)
    }

    fn check(values: &Values) -> Vec<Problem> {
        Params::new(values).err().unwrap_or_default()
    }
}

observables! {
    FqCodel: fq, _now;
    active_queues: "1", "Active queues, new or old: with packets, or empty and not yet removed by the scheduler."
        => fq.queues.active();
    new_queues: "1", "Active new queues, which are served first." => fq.queues.new.len();
    new_flows: "1", NEW_FLOWS => fq.queues.stats.new_flows;
    collisions: "packets", COLLISIONS => fq.queues.stats.collisions;
    pushed_out: "packets", PUSHED_OUT => fq.queues.stats.pushed_out;
    sojourn: "s", "Queueing delay of the packet that a CoDel dropped or marked last." => fq.signalled.sojourn;
    dropping: "1", "Of that CoDel: 1 in drop state, else 0." => fq.signalled.dropping;
    count: "1", "Of that CoDel: drops and marks in its drop state, including its initial count." => fq.signalled.count;
    drop_next: "s", "Of that CoDel: instant from which its next packet is dropped." => fq.signalled.drop_next;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "fq-codel",
    room: Room::Queue,
    traits: Traits {
        hashes: true,
        in_turn: true,
        owns_queues: true,
        default_limit: Some(LIMIT),
        notes_departures: true,
        ..Mechanism::PLAIN
    },
    title: "Flow queue CoDel (FQ-CoDel)",
    example: r#"[links.bottleneck.queue]
kind = "fq-codel"
flows = 1024
target = "5 ms"
interval = "100 ms""#,
    doc: "Hashes flows to queues and serves them by deficit round robin, new flows first. Each queue has its \
          own CoDel. FQ-CoDel is rule and scheduler in one. The max_packet check uses the backlog of all \
          queues (RFC 8289 section 4.4). A full buffer drops from the head of the longest queue. The default \
          limit is 10240 packets (RFC 8290 section 5.2.3).",
    source: "RFC 8290",
    params: Params::PARAMS,
    observables: FqCodel::OBSERVABLES,
    counters: &[
        Counter::new(Reason::Codel.name(), "Dropped by the CoDel of a queue."),
        Counter::new("ce_threshold", "Marked: the packet's queueing delay exceeded ce_threshold."),
        Counter::new("pushed_out", "Dropped from the head of the longest queue at a full buffer."),
        Counter::new("limit", "The buffer was full, and the arriving packet alone was the longest queue."),
    ],
    deviations: &[
        MARKING,
        Deviation {
            what: "A queue with zero credits loses its turn.",
            why: "RFC 8290 section 3 and Linux; section 4.2 is inconsistent (\"negative\", then \"at least a \
                  quantum\").",
        },
        Deviation {
            what: "The length of the longest queue includes the arriving packet. That packet is dropped only \
                   if it is alone.",
            why: "The packet is not queued yet; drops start at the head.",
        },
        Deviation {
            what: "The hash is a salted 64-bit hash of the flow's name, not Jenkins' hash of addresses and \
                   ports.",
            why: "Flows have names instead of addresses. Only uniformity and salt matter.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow_queues::List;
    use evenflow_base::{Duration, Packet};

    fn params() -> Params {
        Params {
            codel: codel::Params {
                target: Duration::from_millis(5),
                interval: Duration::from_millis(100),
                max_packet: 1500,
                ecn: true,
                ce_threshold: None,
                ce_threshold_selector: None,
            },
            flows: 4,
            quantum: 1514,
            drop_batch: 64,
            memory_limit: None,
        }
    }

    fn queues(params: Params) -> FqCodel {
        FqCodel::new(params, Stream::new(1, "hash"))
    }

    fn item(id: u64, size: u16) -> Queued {
        let packet = Packet { seq: id, ..Packet::new(0, size, size) };
        Queued { packet, at: Time(0) }
    }

    fn drain(q: &mut FqCodel, most: usize) -> Vec<u64> {
        let mut dropped = Vec::new();
        let served = std::iter::from_fn(|| q.dequeue(Time(1), &mut dropped)).take(most);
        let ids = served.map(|(item, _)| item.packet.seq).collect();
        assert!(dropped.is_empty());
        ids
    }

    #[test]
    fn a_new_flow_goes_before_the_old_ones() {
        let mut q = queues(params());
        for n in 0..6 {
            q.enqueue((n % 2) as usize, item(n, 1500));
        }
        // 0 and 1 are new with 1514 each: 0 sends two (14 left after the first), then 1.
        assert_eq!(drain(&mut q, 4), [0, 2, 1, 3]);
        // Both are old now or soon. A flow that comes with one small packet is next.
        q.enqueue(2, item(100, 60));
        assert_eq!(drain(&mut q, 9), [100, 4, 5]);
    }

    #[test]
    fn credits_by_hand() {
        let mut q = queues(params());
        q.enqueue(0, item(0, 1514));
        q.enqueue(0, item(1, 1000));
        q.enqueue(0, item(2, 1000));
        q.enqueue(1, item(10, 400));
        q.enqueue(1, item(11, 400));
        assert_eq!(drain(&mut q, 1), [0]);
        assert_eq!(q.queues.flows[0].deficit, 0); // used up, to the byte
        // 0 becomes old with 1514; 1 is new: both its packets; empty, it goes behind 0.
        assert_eq!(drain(&mut q, 2), [10, 11]);
        assert_eq!(q.queues.flows[1].deficit, 714);
        assert_eq!(drain(&mut q, 1), [1]);
        assert_eq!(
            (q.queues.flows[0].deficit, q.queues.flows[0].list, q.queues.flows[1].list),
            (514, List::Old, List::Old)
        );
        assert_eq!(drain(&mut q, 2), [2]);
        assert_eq!((q.queues.flows[0].list, q.queues.flows[1].list), (List::None, List::None));
    }

    #[test]
    fn an_emptied_new_flow_comes_back_as_an_old_one() {
        let mut q = queues(params());
        let seen = |q: &FqCodel| {
            ["active_queues", "new_queues", "new_flows"].map(|name| q.observe(name, Time(0)).unwrap())
        };
        assert_eq!(seen(&q), [0.0, 0.0, 0.0]);
        for n in 0..4 {
            q.enqueue(0, item(n, 1500));
        }
        assert_eq!(seen(&q), [1.0, 1.0, 1.0]);
        assert_eq!(drain(&mut q, 2), [0, 1]); // its credits are -1486
        q.enqueue(1, item(10, 60));
        assert_eq!(seen(&q), [2.0, 2.0, 2.0]); // nobody has looked at 0's credits yet
        assert_eq!(drain(&mut q, 1), [10]);
        assert_eq!(seen(&q), [2.0, 1.0, 2.0]);
        // Empty, but found so only at the next look: it then goes behind 0, with 1454 credits left.
        assert_eq!(drain(&mut q, 1), [2]);
        assert_eq!(q.queues.flows[1].list, List::Old);
        q.enqueue(1, item(11, 60));
        assert!(q.queues.new.is_empty());
        assert_eq!(seen(&q), [2.0, 0.0, 2.0]);
        assert_eq!(q.queues.flows[1].deficit, 1454);
    }

    #[test]
    fn half_of_the_fattest_queue_leaves_from_its_head() {
        assert_eq!([1, 2, 3, 7, 127, 128, 200].map(|n| batch(n, 64)), [1, 1, 1, 3, 63, 64, 64]);
        let mut q = queues(params());
        for n in 0..7 {
            q.enqueue(0, item(n, 100));
        }
        q.enqueue(1, item(10, 650));
        let mut dropped = Vec::new();
        let mut push_out = |q: &mut FqCodel, queue, size| {
            dropped.clear();
            let did = q.push_out(queue, size, &mut dropped);
            assert_eq!(did, !dropped.is_empty());
            dropped
                .iter()
                .map(|(item, reason)| (*reason == Reason::PushedOut).then_some(item.packet.seq))
                .collect()
        };
        let ids = |list: &[u64]| list.iter().map(|id| Some(*id)).collect::<Vec<_>>();
        let left: Vec<_> = push_out(&mut q, 2, 100); // 700 against 650
        assert_eq!(left, ids(&[0, 1, 2]));
        let left: Vec<_> = push_out(&mut q, 1, 50); // 400 against 700
        assert_eq!(left, ids(&[10]));
        let left: Vec<_> = push_out(&mut q, 0, 100); // its own: four and the newcomer
        assert_eq!(left, ids(&[3, 4]));
        assert!(!q.can_push_out(3, 201), "the newcomer would be the fattest by itself");
        let left: Vec<_> = push_out(&mut q, 3, 200); // a tie: the first
        assert_eq!(left, ids(&[5]));
        assert_eq!(q.queues.flows[0].bytes, 100);
        assert_eq!(q.observe("pushed_out", Time(0)), Some(7.0));
    }

    #[test]
    fn flows_that_meet_are_counted() {
        let mut q = queues(Params { flows: 1, ..params() });
        for (key, met) in [(7, 0.0), (7, 0.0), (8, 1.0), (8, 1.0), (7, 2.0)] {
            let place = q.place(key, &Packet::new(0, 1500, 1500), &(), Time(0));
            q.enqueue(place, item(0, 100));
            assert_eq!(q.observe("collisions", Time(0)), Some(met));
        }
        assert_eq!(drain(&mut q, 9).len(), 5);
        q.place(8, &Packet::new(0, 1500, 1500), &(), Time(0)); // the queue is empty
        assert_eq!(q.observe("collisions", Time(0)), Some(2.0));
    }

    #[test]
    fn the_memory_limit_counts_bytes() {
        let q = queues(Params { memory_limit: Some(3000), ..params() });
        assert!(!q.is_full(0, 1500, 1500));
        assert!(q.is_full(0, 1501, 1500));
        assert!(!queues(params()).is_full(0, 1 << 40, 1500));
    }

    #[test]
    fn each_queue_has_its_own_codel() {
        let mut q = queues(params());
        for n in 0..60 {
            q.enqueue((n % 2) as usize, item(n, 1500));
        }
        let mut dropped = Vec::new();
        let ms = 1_000_000;
        // Both are above the target from 10 ms on; an interval later each drops its own head.
        q.dequeue(Time(10 * ms), &mut dropped);
        q.dequeue(Time(10 * ms), &mut dropped);
        q.dequeue(Time(11 * ms), &mut dropped);
        q.dequeue(Time(12 * ms), &mut dropped);
        assert!(dropped.is_empty());
        for n in 0..4 {
            q.dequeue(Time((120 + n) * ms), &mut dropped);
        }
        let lost: Vec<u64> = dropped.iter().map(|(item, _)| item.packet.seq % 2).collect();
        assert_eq!(lost.len(), 2);
        assert_eq!(lost[0] + lost[1], 1, "one of each");
        assert!(dropped.iter().all(|(_, reason)| *reason == Reason::Codel));
    }

    /// RFC 8289 section 4.4: whether an MTU waits behind a packet is asked of all queues of the link.
    #[test]
    fn a_thin_queue_is_not_spared_for_being_thin() {
        let ms = 1_000_000;
        let run = |others: u64| {
            let mut q = queues(params());
            q.enqueue(0, item(0, 1500));
            q.enqueue(0, item(1, 1500));
            (0..others).for_each(|n| q.enqueue(1, item(10 + n, 1500)));
            let mut dropped = Vec::new();
            // Both have waited longer than 5 ms, the second an interval of 100 ms after the first; nothing
            // of their own queue waits behind the second.
            let sent =
                [10, 120].map(|at| q.dequeue(Time(at * ms), &mut dropped).map(|(item, _)| item.packet.seq));
            (sent, dropped.iter().map(|(item, _)| item.packet.seq).collect::<Vec<_>>(), q.queues.bytes)
        };
        assert_eq!(run(0), ([Some(0), Some(1)], vec![], 0));
        // Behind the second wait 1500 bytes in all: no more than an MTU.
        assert_eq!(run(1), ([Some(0), Some(1)], vec![], 1500));
        // 3000: it is dropped, and the other queue's first packet, whose interval begins, leaves instead.
        assert_eq!(run(2), ([Some(0), Some(10)], vec![1], 1500));
    }

    #[test]
    fn the_hash_is_even_and_salted() {
        let p = Params { flows: 1024, ..params() };
        let (mut a, mut b) = (queues(p), FqCodel::new(p, Stream::new(2, "hash")));
        assert_eq!(
            a.place(7, &Packet::new(0, 1500, 1500), &(), Time(0)),
            queues(p).place(7, &Packet::new(0, 1500, 1500), &(), Time(0))
        );
        let differ = (0..1000)
            .filter(|&key| {
                a.place(key, &Packet::new(0, 1500, 1500), &(), Time(0))
                    != b.place(key, &Packet::new(0, 1500, 1500), &(), Time(0))
            })
            .count();
        assert!(differ > 980, "{differ}");
        // 102400 keys in 1024 queues: 100 each, sd 10; chi-square has mean 1023, sd 45.
        let mut counts = vec![0.0f64; 1024];
        (0..102_400).for_each(|key| counts[a.place(key, &Packet::new(0, 1500, 1500), &(), Time(0))] += 1.0);
        let chi: f64 = counts.iter().map(|n| (n - 100.0) * (n - 100.0) / 100.0).sum();
        assert!((chi - 1023.0).abs() < 4.0 * 45.0, "{chi}");
    }
}
