//! Stochastic fairness queueing as in Linux 3.2 (McKenney 1990; `net/sched/sch_sfq.c` by its behaviour):
//! flows are hashed to slots, which take turns by bytes. A full buffer drops from the longest slot.
//!
//! A slot sends while its allotment is positive, so it may overdraw by one packet. Additions of later kernels
//! are not modelled: a depth per flow, drops from the head, RED in each slot, rehashing of the backlog.

use std::collections::VecDeque;

use evenflow_base::random::salted;
use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Heap, Packet, Reason, Stream, Time};

use crate::held::{
    COLLISIONS, Dropped, FlowTable, HashStats, Kind, PUSHED_OUT, Per, Queued, Schedule, Sent, Served,
};

/// Default limit in packets (SFQ_DEPTH - 1).
pub const LIMIT: f64 = 127.0;

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Key that is hashed.
        per: Per = Choice(&["flow", "user"]), Text("flow") => source: "Linux 3.2: addresses and ports";
        /// Bytes per turn. The quantum and each packet are rounded up to a multiple of 8.
        quantum: u64 = Bytes, Text("1514 B"), Range::FROM_ONE => source: "Linux 3.2: the MTU and Ethernet's header";
        /// Slots to which flows are hashed.
        divisor: usize = Integer, Text("1024"), Range::between(1.0, 65_536.0)
            => source: "Linux 3.2: SFQ_DEFAULT_HASH_DIVISOR";
        /// Time between changes of the hash. A change can reorder packets of a flow.
        perturb: Option<Duration> = Duration, Absent("never"), Range::at_least(1e-3)
            => source: "Linux 3.2: off";
    }
}

impl Params {
    /// Those of Linux 3.2, which [`TABLE`] has as its defaults.
    pub const DEFAULT: Params = Params { per: Per::Flow, quantum: 1514, divisor: 1024, perturb: None };
}

/// Cost of `bytes` in units of 8 bytes, rounded up (SFQ_ALLOT_SIZE).
#[inline]
pub fn cost(bytes: u64) -> i64 {
    bytes.div_ceil(8) as i64
}

/// The packets of the flows that a hash throws together.
#[derive(Clone, Debug, Default)]
struct Slot {
    packets: VecDeque<Queued>,
    /// Units of 8 bytes.
    allot: i64,
    /// When its length changed last, in changes of all slots.
    changed: u64,
    /// Key of the last packet.
    key: usize,
}

/// The slots.
#[derive(Clone, Debug)]
pub struct Sfq {
    params: Params,
    slots: Vec<Slot>,
    /// Slots with packets, the next to be served first.
    ring: VecDeque<u32>,
    changes: u64,
    salt: u64,
    /// When the hash changes next.
    perturbed: Time,
    stream: Stream,
    /// Counters.
    pub(crate) stats: HashStats,
}

impl Sfq {
    /// Empty slots; the hash's salts are numbers of `stream`.
    pub fn new(params: Params, mut stream: Stream) -> Sfq {
        Sfq {
            params,
            slots: vec![Slot::default(); params.divisor],
            ring: VecDeque::with_capacity(params.divisor),
            changes: 0,
            salt: stream.bits(),
            perturbed: params.perturb.map_or(Time::NEVER, |period| Time::ZERO + period),
            stream,
            stats: HashStats::default(),
        }
    }

    fn changed(&mut self, queue: usize) {
        self.changes += 1;
        self.slots[queue].changed = self.changes;
    }

    /// The slot that loses a packet to a newcomer of `queue`; `None` if that is the newcomer. The kernel
    /// queues the newcomer first and then drops the last packet of the longest slot. In a tie that is the
    /// slot whose length changed last, the newcomer's. If no slot has more than one packet, the slot at turn
    /// loses it.
    fn victim(&self, queue: usize) -> Option<usize> {
        let own = self.slots[queue].packets.len() + 1;
        let longest = self.ring.iter().copied().max_by_key(|&n| {
            let slot = &self.slots[n as usize];
            (slot.packets.len(), slot.changed)
        })? as usize;
        match self.slots[longest].packets.len() {
            length if length > own => Some(longest),
            1 if own == 1 => self.ring.front().map(|&n| n as usize),
            _ => None,
        }
    }
}

impl Schedule for Sfq {
    /// The slot of the flow `key`. Queued packets keep their slot when the hash changes.
    fn place(&mut self, key: usize, _packet: &Packet, _flows: &dyn FlowTable, now: Time) -> usize {
        while let Some(period) = self.params.perturb.filter(|_| self.perturbed <= now) {
            self.salt = self.stream.bits();
            self.perturbed += period;
        }
        let queue = (salted(key as u64, self.salt) % self.params.divisor as u64) as usize;
        let slot = &mut self.slots[queue];
        self.stats.collisions += u64::from(!slot.packets.is_empty() && slot.key != key);
        slot.key = key;
        queue
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        let slot = &mut self.slots[queue];
        if slot.packets.is_empty() {
            slot.allot = cost(self.params.quantum);
            self.ring.push_back(queue as u32);
        }
        slot.packets.push_back(item);
        self.changed(queue);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        loop {
            let queue = *self.ring.front()?;
            let slot = &mut self.slots[queue as usize];
            if slot.allot <= 0 {
                slot.allot += cost(self.params.quantum);
                self.ring.rotate_left(1);
                continue;
            }
            let item = slot.packets.pop_front()?;
            slot.allot -= cost(u64::from(item.packet.size));
            if slot.packets.is_empty() {
                self.ring.pop_front();
            }
            self.changed(queue as usize);
            return Some((item, None));
        }
    }

    fn can_push_out(&self, queue: usize, _size: u16) -> bool {
        self.victim(queue).is_some()
    }

    fn push_out(&mut self, queue: usize, _size: u16, dropped: &mut Vec<Dropped>) -> bool {
        let Some(victim) = self.victim(queue) else { return false };
        let Some(item) = self.slots[victim].packets.pop_back() else { return false };
        if self.slots[victim].packets.is_empty() {
            self.ring.retain(|&n| n as usize != victim);
        }
        self.changed(victim);
        self.stats.pushed_out += 1;
        dropped.push((item, Reason::PushedOut));
        true
    }

    fn heap_bytes(&self) -> u64 {
        let packets = self.slots.iter().map(|slot| slot.packets.heap_bytes()).sum::<u64>();
        packets + self.slots.heap_bytes() + self.ring.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.slots.iter().flat_map(|slot| &slot.packets).for_each(show);
    }

    fn hash_stats(&self) -> Option<&HashStats> {
        Some(&self.stats)
    }
}

impl Kind for Sfq {
    fn build(values: &Values, served: &Served) -> Result<Sfq, Vec<Problem>> {
        Ok(Sfq::new(Params::read(values), served.hash.clone()))
    }
}

observables! {
    Sfq: sfq, _now;
    active_queues: "1", "Slots with a backlog." => sfq.ring.len();
    collisions: "packets", COLLISIONS => sfq.stats.collisions;
    pushed_out: "packets", PUSHED_OUT => sfq.stats.pushed_out;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "sfq",
    room: Room::Scheduler,
    traits: Traits { hashes: true, in_turn: true, default_limit: Some(LIMIT), ..Mechanism::PLAIN },
    title: "Stochastic fairness queueing (SFQ)",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "sfq"
per = "flow"
perturb = "10 s""#,
    doc: "Hashes flows to slots and serves them in turn, a quantum each. A full buffer drops the last packet \
          of the longest slot. The default limit is 127 packets.",
    source: "McKenney, INFOCOM 1990; Linux 3.2, sch_sfq",
    params: Params::PARAMS,
    observables: Sfq::OBSERVABLES,
    counters: &[Counter::new(
        "pushed_out",
        "Last packet of the longest slot. If each slot has one packet, that of the slot at turn.",
    )],
    deviations: &[
        Deviation {
            what: "A limit above 127 packets, in bytes or in time is allowed.",
            why: "The kernel silently uses a smaller number.",
        },
        Deviation {
            what: "The number of flows is unlimited.",
            why: "The kernel has 128 places; its limit never fills them.",
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
    use evenflow_base::Packet;

    fn slots(quantum: u64) -> Sfq {
        Sfq::new(Params { divisor: 8, quantum, ..Params::DEFAULT }, Stream::new(1, "hash"))
    }

    fn item(id: u64, size: u16) -> Queued {
        let packet = Packet { seq: id, ..Packet::new(0, size, size) };
        Queued { packet, at: Time(0) }
    }

    fn drain(q: &mut Sfq) -> Vec<u64> {
        std::iter::from_fn(|| q.dequeue(Time(0), &mut Vec::new())).map(|(item, _)| item.packet.seq).collect()
    }

    fn pushed(q: &mut Sfq, queue: usize) -> Option<u64> {
        let mut dropped = Vec::new();
        assert_eq!(q.can_push_out(queue, 1500), q.push_out(queue, 1500, &mut dropped));
        dropped.pop().map(|(item, _)| item.packet.seq)
    }

    #[test]
    fn costs_are_rounded_up_to_eight_bytes() {
        assert_eq!([1, 8, 9, 1500, 1514, 1520].map(cost), [1, 1, 2, 188, 190, 190]);
    }

    #[test]
    fn full_frames_alternate() {
        // 1514 and 1514 cost 190 each: used up to the unit, so the turn passes.
        let mut q = slots(1514);
        for n in 0..3 {
            q.enqueue(0, item(n, 1514));
            q.enqueue(1, item(10 + n, 1514));
        }
        assert_eq!(drain(&mut q), [0, 10, 1, 11, 2, 12]);
    }

    #[test]
    fn a_slot_sends_while_something_is_left() {
        // Two units a turn, packets of three: 2, -1 | +2 = 1, -2 | 0 | 2, …: a turn in three is passed over.
        let mut q = slots(16);
        for n in 0..4 {
            q.enqueue(0, item(n, 24));
        }
        q.enqueue(1, item(10, 8));
        q.enqueue(1, item(11, 8));
        q.enqueue(1, item(12, 8));
        q.enqueue(1, item(13, 8));
        // 0 (2, now -1), 10 and 11 (2, now 0), 0: 1 now -2, 12 and 13 of the next two, empty; then 2 and 3.
        assert_eq!(drain(&mut q), [0, 10, 11, 1, 12, 13, 2, 3]);
    }

    #[test]
    fn alone_it_is_drop_tail() {
        let mut q = slots(1514);
        q.enqueue(3, item(0, 1514));
        q.enqueue(3, item(1, 1514));
        assert_eq!(pushed(&mut q, 3), None); // the newcomer is the last of the longest
        assert_eq!(drain(&mut q), [0, 1]);
    }

    #[test]
    fn the_longest_slot_gives_its_last_packet() {
        let mut q = slots(1514);
        for n in 0..3 {
            q.enqueue(0, item(n, 40)); // packets count, not bytes
        }
        q.enqueue(1, item(10, 1514));
        assert_eq!(pushed(&mut q, 1), Some(2)); // 3 against 2 with the newcomer
        assert_eq!(pushed(&mut q, 1), None); // 2 against 2: the newcomer's changed last
        q.enqueue(2, item(20, 1514));
        q.enqueue(2, item(21, 1514));
        assert_eq!(pushed(&mut q, 3), Some(21)); // 2 against 2: slot 2 changed after slot 0
        assert_eq!(pushed(&mut q, 3), Some(1));
    }

    #[test]
    fn where_each_has_one_the_next_in_turn_goes() {
        let mut q = slots(1514);
        q.enqueue(4, item(0, 1514));
        q.enqueue(5, item(1, 1514));
        assert_eq!(pushed(&mut q, 6), Some(0));
        q.enqueue(6, item(2, 1514));
        assert_eq!(drain(&mut q), [1, 2]);
        assert!(q.ring.is_empty());
    }

    #[test]
    fn perturbation_changes_the_hash_and_leaves_what_waits() {
        let second = Duration::from_millis(1000);
        let params = Params { perturb: Some(second), ..Params::DEFAULT };
        let mut q = Sfq::new(params, Stream::new(1, "hash"));
        let before: Vec<usize> =
            (0..100).map(|key| q.place(key, &Packet::new(0, 1500, 1500), &(), Time(999_999_999))).collect();
        assert_eq!(before[0], q.place(0, &Packet::new(0, 1500, 1500), &(), Time(0)));
        q.enqueue(before[0], item(0, 100));
        let after: Vec<usize> =
            (0..100).map(|key| q.place(key, &Packet::new(0, 1500, 1500), &(), Time(1_000_000_000))).collect();
        let kept = before.iter().zip(&after).filter(|(a, b)| a == b).count();
        assert!(kept < 5, "{kept}");
        assert_eq!(q.perturbed, Time(2_000_000_000));
        q.place(0, &Packet::new(0, 1500, 1500), &(), Time(7_300_000_000));
        assert_eq!(q.perturbed, Time(8_000_000_000));
        assert_eq!(drain(&mut q), [0]);
    }

    #[test]
    fn stats_are_counted() {
        let mut q = Sfq::new(Params { divisor: 1, ..Params::DEFAULT }, Stream::new(1, "hash"));
        let arrive = |q: &mut Sfq, key: usize| {
            let place = q.place(key, &Packet::new(0, 1500, 1500), &(), Time(0));
            q.enqueue(place, item(0, 100));
        };
        arrive(&mut q, 7); // alone
        arrive(&mut q, 7); // after its own
        arrive(&mut q, 8); // after 7's
        arrive(&mut q, 8); // after its own
        arrive(&mut q, 7); // after 8's
        assert_eq!(
            (q.observe("collisions", Time(0)), q.observe("active_queues", Time(0))),
            (Some(2.0), Some(1.0))
        );
        while q.dequeue(Time(0), &mut Vec::new()).is_some() {}
        arrive(&mut q, 8); // nobody is there
        assert_eq!(q.observe("collisions", Time(0)), Some(2.0));
        assert!(q.dequeue(Time(0), &mut Vec::new()).is_some());
        assert_eq!(
            (q.observe("active_queues", Time(0)), q.observe("pushed_out", Time(0))),
            (Some(0.0), Some(0.0))
        );
    }
}
