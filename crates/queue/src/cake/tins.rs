//! The tins of CAKE: their DSCPs, threshold rates and shares, and the flow queues of one.

use std::collections::VecDeque;

use evenflow_base::{Duration, Heap, Rate, Time};

use super::QUEUES;
use super::hosts::{Hosts, Isolation, Loads, SIDES, ways};
use super::shaper::Threshold;
use crate::cobalt;
use crate::flow_queues::Flow;
use crate::held::Queued;

words! {
    /// How packets are sorted into tins by their DSCP.
    pub enum Scheme {
        /// One tin.
        BestEffort = "besteffort",
        /// Best effort, bulk, voice.
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video, voice.
        Diffserv4 = "diffserv4",
        /// Eight tins for the classes of RFC 4594.
        Diffserv8 = "diffserv8",
        /// Eight tins for the three upper bits.
        Precedence = "precedence",
    }
}

impl Scheme {
    /// The tin of a DSCP.
    #[inline]
    pub(super) fn tin(self, dscp: u8) -> usize {
        match self {
            Scheme::BestEffort => 0,
            Scheme::Precedence => usize::from(dscp >> 3 & 7),
            Scheme::Diffserv3 => match dscp {
                1 | 8 => 1,                 // LE, CS1
                4 | 44 | 46 | 48 | 56 => 2, // TOS 4, VA, EF, CS6, CS7
                _ => 0,
            },
            Scheme::Diffserv4 => match dscp {
                1 | 8 => 1,
                // TOS 4, CS2, AF2x, CS3, AF3x, AF4x
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3, // CS4, CS5, VA, EF, CS6, CS7
                _ => 0,
            },
            Scheme::Diffserv8 => match dscp {
                1 => 0,                                // LE
                2 | 8 | 10 | 12 | 14 => 1,             // TOS 2, CS1, AF1x
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3, // CS3, AF3x, AF4x
                4 | 18 | 20 | 22 => 4,                 // TOS 4, AF2x
                16 => 5,                               // CS2
                32 | 40 | 44 | 46 => 6,                // CS4, CS5, VA, EF
                48 | 56 => 7,                          // CS6, CS7
                _ => 2,
            },
        }
    }

    /// The rate in B/s below which each tin has priority, and its share in bytes where there is no shaper. A
    /// tin with a higher number has priority over one with a lower number.
    pub(super) fn tins(self, rate: u64) -> Vec<(u64, i64)> {
        let parts = |shifts: &[u32]| shifts.iter().map(|shift| (rate >> shift, 1024 >> shift)).collect();
        match self {
            Scheme::BestEffort => vec![(rate, 65_535)],
            Scheme::Diffserv3 => parts(&[0, 4, 2]),
            Scheme::Diffserv4 => parts(&[0, 4, 1, 2]),
            Scheme::Diffserv8 | Scheme::Precedence => {
                let next = |&(rate, share): &(u64, i64)| Some((rate * 7 / 8, share * 7 / 8));
                std::iter::successors(Some((rate, 256)), next).take(8).collect()
            }
        }
    }
}

/// The rotation in which a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// None: it has no packets and no state.
    #[default]
    Idle,
    Sparse,
    /// It is empty and among the bulk flows, and counts as sparse.
    SparseWait,
    Bulk,
    /// It is empty, and its COBALT is not at rest.
    Decaying,
}

/// State of a flow queue in addition to its packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    pub cobalt: cobalt::State,
    pub set: Set,
    /// Hash of its flow.
    pub tag: u32,
    /// Places of its hosts in [`Tin::hosts`].
    pub hosts: [u16; SIDES],
}

/// A byte of a queue's credits, which have fractions.
pub(super) const BYTE: i64 = 1 << 16;

/// The rotations: [`Tin::lists`].
pub(super) const NEW: usize = 0;
pub(super) const OLD: usize = 1;
pub(super) const DECAYING: usize = 2;

/// A tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub flows: Vec<Flow<Lane>>,
    pub lists: [VecDeque<u16>; 3],
    pub hosts: [Hosts; SIDES],
    isolation: Isolation,
    pub sparse: u32,
    pub bulk: u32,
    /// Bytes of all queues.
    pub bytes: u64,
    /// Credits per round by the load of a flow's hosts.
    shares: Box<[u32; QUEUES + 1]>,
    pub cobalt: cobalt::Params,
    pub threshold: Threshold,
    /// Bytes per round of the tin, and its credits, where there is no shaper.
    pub share: i64,
    pub credit: i64,
}

impl Tin {
    /// Without packets, with a threshold of `rate` B/s; 0: there is no shaper.
    pub fn new(isolation: Isolation, rate: u64, share: i64, rtt: Duration, max_packet: u64) -> Tin {
        let threshold = Threshold::new(Rate(8.0 * rate as f64));
        let packet_time = if rate == 0 { Duration::ZERO } else { threshold.pace.time(max_packet) };
        let (target, interval) = control(rtt, packet_time);
        Tin {
            flows: vec![Flow::new(Lane::default()); QUEUES],
            lists: Default::default(),
            hosts: [Hosts::new(), Hosts::new()],
            isolation,
            sparse: 0,
            bulk: 0,
            bytes: 0,
            shares: shares(if rate == 0 { 1514 } else { (rate >> 12).clamp(300, 1514) as u32 }),
            cobalt: cobalt::Params::of_cake(target, interval, packet_time),
            threshold,
            share,
            credit: 0,
        }
    }

    /// Whether a flow may have packets.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The queue of a flow with `hash` between hosts with these hashes. `true`: another flow had it, since
    /// all eight of the set were taken.
    #[inline]
    pub fn place(&mut self, hash: u32, hosts: [u32; SIDES]) -> (usize, bool) {
        let first = hash as usize % QUEUES;
        let lane = &self.flows[first].aqm;
        if lane.tag == hash && lane.set != Set::Idle {
            return (first, false);
        }
        self.find(first, hash, hosts)
    }

    fn find(&mut self, first: usize, hash: u32, hosts: [u32; SIDES]) -> (usize, bool) {
        let lanes = &self.flows;
        let mine = ways(first).find(|&n| lanes[n].aqm.tag == hash);
        if let Some(queue) = mine.filter(|&n| lanes[n].aqm.set != Set::Idle) {
            return (queue, false);
        }
        let free = || ways(first).find(|&n| lanes[n].aqm.set == Set::Idle);
        let found = mine.or_else(free);
        let queue = found.unwrap_or(first);
        let lane = &mut self.flows[queue].aqm;
        lane.tag = hash;
        for side in self.isolation.sides() {
            let own = &mut self.hosts[side];
            // A queue that changes hands takes its load to the new hosts.
            if lane.set == Set::Bulk {
                own.leave(lane.hosts[side]);
            }
            lane.hosts[side] = own.place(hosts[side]);
            if lane.set == Set::Bulk {
                own.join(lane.hosts[side]);
            }
        }
        (queue, found.is_none())
    }

    /// Credits of a queue for a round.
    #[inline]
    fn credits(&self, queue: usize) -> i64 {
        let loads = self.hosts.each_ref().map(Hosts::loads);
        credits(&self.shares, loads, self.flows[queue].aqm.hosts)
    }

    /// Adds a packet. Returns whether its queue was idle.
    #[inline]
    pub fn push(&mut self, queue: usize, item: Queued) -> bool {
        let set = self.flows[queue].aqm.set;
        match set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => self.make_bulk(queue),
            Set::Idle | Set::Decaying => {
                if set == Set::Decaying {
                    let decaying = &mut self.lists[DECAYING];
                    let at = decaying.iter().position(|&other| usize::from(other) == queue);
                    at.and_then(|at| decaying.remove(at));
                }
                self.lists[NEW].push_back(queue as u16);
                self.sparse += 1;
                self.flows[queue].deficit = self.credits(queue);
                self.flows[queue].aqm.set = Set::Sparse;
            }
        }
        let flow = &mut self.flows[queue];
        flow.bytes += u64::from(item.packet.size);
        self.bytes += u64::from(item.packet.size);
        flow.packets.push_back(item);
        set == Set::Idle
    }

    /// A sparse flow with packets has used its credits up.
    fn make_bulk(&mut self, queue: usize) {
        let lane = &mut self.flows[queue].aqm;
        lane.set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
        self.isolation.sides().for_each(|side| self.hosts[side].join(lane.hosts[side]));
    }

    /// The queue at turn, and its list; a decaying one first, where `decaying`. Gives credits to those before
    /// it.
    #[inline]
    pub fn turn(&mut self, decaying: bool) -> Option<(usize, usize)> {
        let mut order = if decaying { [DECAYING, NEW, OLD] } else { [NEW, OLD, DECAYING] };
        loop {
            let list = order.into_iter().find(|&list| !self.lists[list].is_empty())?;
            order = [NEW, OLD, DECAYING];
            if list == OLD {
                return Some((self.rounds(), OLD));
            }
            let queue = usize::from(*self.lists[list].front()?);
            let flow = &mut self.flows[queue];
            if flow.deficit > 0 {
                return Some((queue, list));
            }
            if flow.aqm.set == Set::Sparse {
                if flow.packets.is_empty() {
                    flow.aqm.set = Set::SparseWait;
                } else {
                    self.make_bulk(queue);
                }
            }
            self.flows[queue].deficit += self.credits(queue);
            self.lists[list].pop_front();
            self.lists[OLD].push_back(queue as u16);
        }
    }

    /// The queue at turn among the old ones, of which there is one. The quantum is small where hosts have
    /// many flows: many rounds may pass, in which only credits change.
    fn rounds(&mut self) -> usize {
        let (flows, shares) = (&mut self.flows[..QUEUES], &*self.shares);
        let loads = self.hosts.each_ref().map(Hosts::loads);
        let old = self.lists[OLD].make_contiguous();
        loop {
            for (place, &queue) in old.iter().enumerate() {
                let flow = &mut flows[usize::from(queue) % QUEUES];
                if flow.deficit > 0 {
                    self.lists[OLD].rotate_left(place);
                    return usize::from(queue);
                }
                flow.deficit += credits(shares, loads, flow.aqm.hosts);
            }
        }
    }

    /// The queue at the head of `list` turned out to be empty.
    pub fn emptied(&mut self, queue: usize, list: usize, now: Time) {
        self.lists[list].pop_front();
        let lane = &mut self.flows[queue].aqm;
        lane.cobalt.emptied(&self.cobalt, now);
        match lane.set {
            Set::Bulk => {
                self.bulk -= 1;
                self.isolation.sides().for_each(|side| self.hosts[side].leave(lane.hosts[side]));
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Idle | Set::Decaying => {}
        }
        if lane.cobalt.rests(now) {
            lane.set = Set::Idle;
        } else {
            lane.set = Set::Decaying;
            self.lists[DECAYING].push_back(queue as u16);
        }
    }

    /// A packet of the queue is dropped at a full buffer.
    pub fn overflows(&mut self, queue: usize, now: Time) {
        self.flows[queue].aqm.cobalt.full(&self.cobalt, now);
    }

    /// The queues that may have packets.
    pub fn active(&self) -> impl Iterator<Item = usize> {
        self.lists[NEW].iter().chain(&self.lists[OLD]).map(|&queue| usize::from(queue))
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let packets = self.flows.iter().map(|flow| flow.packets.heap_bytes()).sum::<u64>();
        let lists = self.lists.iter().map(Heap::heap_bytes).sum::<u64>();
        packets
            + lists
            + size_of_val(&*self.shares) as u64
            + self.flows.heap_bytes()
            + self.hosts.iter().map(Hosts::heap_bytes).sum::<u64>()
    }
}

/// Credits of a flow for a round: its share by the larger number of bulk flows of its two hosts. On a side that
/// does not share, no host has any.
#[inline]
fn credits(shares: &[u32; QUEUES + 1], loads: [&Loads; SIDES], places: [u16; SIDES]) -> i64 {
    let of = |side: usize| loads[side][usize::from(places[side]) % QUEUES];
    i64::from(shares[usize::from(of(0).max(of(1)))])
}

/// The quantum over each load.
fn shares(quantum: u32) -> Box<[u32; QUEUES + 1]> {
    Box::new(std::array::from_fn(|load| quantum * (u32::from(u16::MAX) / load.max(1) as u32)))
}

/// Target and interval of COBALT where a packet of the largest size takes `packet_time`.
fn control(rtt: Duration, packet_time: Duration) -> (Duration, Duration) {
    let usual = rtt.0 / 20;
    let target = usual.max(packet_time.0 * 3 / 2);
    (Duration(target), Duration((rtt.0 + target - usual).max(2 * target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_have_the_tins_of_linux() {
        let tins = |scheme: Scheme| (0..64).map(|dscp| scheme.tin(dscp)).collect::<Vec<_>>();
        let (three, four, eight) =
            (tins(Scheme::Diffserv3), tins(Scheme::Diffserv4), tins(Scheme::Diffserv8));
        assert_eq!((three[46], three[8], three[1], three[0], three[34]), (2, 1, 1, 0, 0));
        assert_eq!((four[46], four[8], four[34], four[0], four[10]), (3, 1, 2, 0, 0));
        assert_eq!((eight[46], eight[8], eight[1], eight[0], eight[48], eight[16]), (6, 1, 0, 2, 7, 5));
        assert_eq!(tins(Scheme::Precedence)[63], 7);
        let count = |tins: &[usize], n| tins.iter().filter(|&&tin| tin == n).count();
        assert_eq!((0..3).map(|n| count(&three, n)).collect::<Vec<_>>(), [57, 2, 5]);
        assert_eq!((0..4).map(|n| count(&four, n)).collect::<Vec<_>>(), [44, 2, 12, 6]);
        assert_eq!((0..8).map(|n| count(&eight, n)).collect::<Vec<_>>(), [1, 5, 40, 7, 4, 1, 4, 2]);
        assert_eq!(tins(Scheme::BestEffort), [0; 64]);
    }

    #[test]
    fn thresholds_and_shares_are_parts_of_the_rate() {
        assert_eq!(Scheme::Diffserv3.tins(1_250_000), [(1_250_000, 1024), (78_125, 64), (312_500, 256)]);
        assert_eq!(Scheme::Diffserv4.tins(1_600), [(1_600, 1024), (100, 64), (800, 512), (400, 256)]);
        let eight = Scheme::Diffserv8.tins(1_000_000);
        assert_eq!(eight[..3], [(1_000_000, 256), (875_000, 224), (765_625, 196)]);
        assert_eq!(
            eight.iter().map(|tin| tin.1).collect::<Vec<_>>(),
            [256, 224, 196, 171, 149, 130, 113, 98]
        );
        assert_eq!(Scheme::BestEffort.tins(7), [(7, 65_535)]);
    }

    #[test]
    fn target_and_interval_follow_the_rate() {
        let ms = Duration::from_millis;
        assert_eq!(control(ms(100), Duration::ZERO), (ms(5), ms(100)));
        assert_eq!(control(ms(100), ms(12)), (ms(18), ms(113)));
        assert_eq!(control(ms(100), ms(100)), (ms(150), ms(300)));
        assert_eq!(control(ms(30), Duration::ZERO), (Duration(1_500_000), ms(30)));
    }

    #[test]
    fn the_ninth_flow_of_a_set_shares_the_queue_of_its_hash() {
        let mut tin = Tin::new(Isolation::Flows, 0, 1, Duration::from_millis(100), 1514);
        let item = Queued { packet: evenflow_base::Packet::new(0, 100, 100), at: Time(0) };
        let mut queues = Vec::new();
        for n in 0..10_u32 {
            // All begin in way 3 of set 0.
            let (queue, shared) = tin.place(3 + (n + 1) * QUEUES as u32, [0, 0]);
            assert_eq!(shared, n >= 8);
            tin.push(queue, item);
            queues.push(queue);
        }
        assert_eq!(queues, [3, 4, 5, 6, 7, 0, 1, 2, 3, 3]);
        // The flow in way 4 is found there.
        assert_eq!(tin.place(3 + 2 * QUEUES as u32, [0, 0]), (4, false));
    }
}
