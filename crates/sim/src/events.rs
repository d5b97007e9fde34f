//! Delay lines and the order of events.
//!
//! Events are ordered by time, then by rank, then by subject: arrivals by lane and flow, timers by flow,
//! services by port. Packets of a flow that arrive together on a lane keep their order. So the order of
//! events depends neither on unrelated traffic nor on early processing.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use evenflow_base::{Heap, Packet, Time};

use evenflow_link::ring::Ring;

/// Time, rank, lane and flow in one comparable number.
pub type Key = u128;

/// Later than any event.
pub const NEVER: Key = Key::MAX;

/// The order of events at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rank {
    /// A queue's server becomes free.
    Service = 0,
    /// A packet arrives.
    Arrival = 1,
    /// A timer fires.
    Timer = 2,
    /// A probe looks.
    Probe = 3,
}

/// Lanes that a run can have.
pub const MOST_LANES: u32 = 1 << 30;

/// Below the time of a key: two bits of rank, thirty of the lane, and what it is about.
const RANK_SHIFT: u32 = 62;
const LANE_SHIFT: u32 = 32;

/// Builds a key. `about` is a packet's or timer's flow, a host, or a port.
#[inline(always)]
pub fn key(time: Time, rank: Rank, lane: u32, about: u32) -> Key {
    let tie = (rank as u64) << RANK_SHIFT | u64::from(lane) << LANE_SHIFT | u64::from(about);
    u128::from(time.0) << 64 | u128::from(tie)
}

/// The instant of a key.
#[inline]
pub fn time_of(key: Key) -> Time {
    Time((key >> 64) as u64)
}

/// The lane of an arrival; `None`: the key is another event's.
#[inline]
pub fn lane_of(key: Key) -> Option<u32> {
    let lane =
        ((key as u64 >> LANE_SHIFT) as u32).wrapping_sub((Rank::Arrival as u32) << (RANK_SHIFT - LANE_SHIFT));
    (lane < MOST_LANES).then_some(lane)
}

/// The rank of a key.
#[inline]
pub fn rank_of(key: Key) -> Rank {
    match (key as u64) >> RANK_SHIFT {
        0 => Rank::Service,
        1 => Rank::Arrival,
        2 => Rank::Timer,
        _ => Rank::Probe,
    }
}

/// A packet on its way over a link.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// When it arrives.
    pub key: Key,
    /// The packet.
    pub packet: Packet,
}

impl Default for InFlight {
    fn default() -> InFlight {
        InFlight { key: NEVER, packet: Packet::new(0, 0, 0) }
    }
}
impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for InFlight {}
impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// How far back a late packet walks before it goes to the heap instead.
const WALK: usize = 32;

/// The delay line of all copies of one link in one direction: packets in the order of their arrival.
///
/// One link delivers in order; many copies of a link with one rate and delay nearly so. A packet out of order
/// moves back a few places, or waits in a heap. The order does not depend on the place: a packet in the heap
/// is earlier than a packet of the ring that no move reaches.
#[derive(Debug, Default)]
pub struct Lane {
    ring: Ring<InFlight>,
    /// With the number of those that were late before: equal keys come out as they went in.
    late: BinaryHeap<Reverse<(InFlight, u64)>>,
    were_late: u64,
    /// Not earlier than what is last in the ring.
    last: Key,
    /// Copies have different delays or rates, so packets arrive in any order.
    unordered: bool,
}

impl Lane {
    /// An empty lane. `unordered` says that order is not to be hoped for.
    pub fn new(unordered: bool) -> Lane {
        Lane { unordered, ..Lane::default() }
    }

    /// Adds a packet that arrives at `key`; says whether it is the next to come out.
    #[inline(always)]
    pub fn push(&mut self, key: Key, packet: &Packet) -> bool {
        if key < self.last {
            return self.push_late(InFlight { key, packet: *packet });
        }
        self.last = key;
        let alone = self.ring.is_empty();
        let item = self.ring.add();
        item.key = key;
        item.packet = *packet;
        alone && (self.late.is_empty() || self.head() == key)
    }

    #[inline(never)]
    fn push_late(&mut self, item: InFlight) -> bool {
        let mut at = self.ring.len();
        if !self.unordered {
            let stop = at.saturating_sub(WALK);
            while at > stop && self.is_later(at - 1, item.key) {
                at -= 1;
            }
        }
        if at > 0 && self.is_later(at - 1, item.key) {
            self.were_late += 1;
            self.late.push(Reverse((item, self.were_late)));
        } else {
            self.ring.insert(at, item);
        }
        self.head() == item.key
    }

    /// Whether packet `i` of the ring comes after `key`.
    fn is_later(&self, i: usize, key: Key) -> bool {
        self.ring.get(i).is_some_and(|item| item.key > key)
    }

    /// The key of the next packet.
    #[inline]
    pub fn head(&self) -> Key {
        let first = self.ring.front().map_or(NEVER, |i| i.key);
        if self.late.is_empty() { first } else { first.min(self.late.peek().map_or(NEVER, |i| i.0.0.key)) }
    }

    /// Takes the next packet out, into `packet`, and gives the key of what follows; `None`: there is no packet. By a reference,
    /// because what is copied through one is copied in one piece, and what a function returns is not.
    #[inline(always)]
    pub fn take(&mut self, packet: &mut Packet) -> Option<Key> {
        if !self.late.is_empty() {
            return self.take_among_late(packet);
        }
        let first = self.ring.front()?;
        *packet = first.packet;
        self.ring.drop_front();
        Some(self.ring.front().map_or(NEVER, |i| i.key))
    }

    #[cold]
    #[inline(never)]
    fn take_among_late(&mut self, packet: &mut Packet) -> Option<Key> {
        self.fetch_late();
        *packet = self.ring.front()?.packet;
        self.ring.drop_front();
        Some(self.head())
    }

    /// Puts the first late packet at the front of the ring if that is its place.
    fn fetch_late(&mut self) {
        let first = self.ring.front().map_or(NEVER, |i| i.key);
        if self.late.peek().is_some_and(|l| l.0.0.key < first)
            && let Some(Reverse((late, _))) = self.late.pop()
        {
            self.ring.push_front(late);
        }
    }

    /// Those packets, in no order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.ring.iter().chain(self.late.iter().map(|late| &late.0.0)).map(|item| &item.packet)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.ring.heap_bytes() + self.late.heap_bytes()
    }

    /// How many packets are on their way.
    pub fn len(&self) -> usize {
        self.ring.len() + self.late.len()
    }
}

/// The next of a few sources of events, by their heads.
///
/// A linear search takes more instructions than a sorted list but less time, because the moves in such a list
/// are hard to predict.
#[derive(Debug, Default)]
pub struct Heads(Vec<Key>);

impl Heads {
    /// Sources 0 to `count` - 1, none with an event.
    pub fn new(count: usize) -> Heads {
        assert!(count < MOST_LANES as usize, "{count} links: more than a run can have");
        Heads(Vec::with_capacity(count))
    }

    /// The next event; [`NEVER`] if there is none.
    #[inline(always)]
    pub fn first(&self) -> Key {
        let mut heads = self.0.iter();
        let mut least = heads.next().copied().unwrap_or(NEVER);
        for &head in heads {
            // Half a key at a time: nearly all heads differ in their times.
            let (time, known) = (time_of(head), time_of(least));
            if time < known || (time == known && (head as u64) < least as u64) {
                least = head;
            }
        }
        least
    }

    /// The head of `source` is now `key`; [`NEVER`]: it has none.
    #[inline(always)]
    pub fn set(&mut self, source: u32, key: Key) {
        match self.0.get_mut(source as usize) {
            Some(place) => *place = key,
            None => self.add(source, key),
        }
    }

    #[cold]
    fn add(&mut self, source: u32, head: Key) {
        self.0.resize(source as usize, NEVER);
        self.0.push(head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn item(time: u64, flow: u32, seq: u64) -> InFlight {
        let packet = Packet { seq, ..Packet::new(flow, 1, 1) };
        InFlight { key: key(Time(time), Rank::Arrival, 0, flow), packet }
    }

    #[test]
    fn one_instant_goes_by_rank_lane_and_flow() {
        let at = |rank, lane, about| key(Time(5), rank, lane, about);
        let (lane, flow) = (MOST_LANES - 1, u32::MAX);
        let sorted = [
            at(Rank::Service, 0, 9),
            at(Rank::Arrival, 0, 7),
            at(Rank::Arrival, 1, 0),
            at(Rank::Arrival, 1, 1),
            at(Rank::Arrival, lane, flow),
            at(Rank::Timer, 0, 0),
            at(Rank::Timer, 0, flow),
            at(Rank::Probe, 0, 0),
            key(Time(6), Rank::Service, 0, 0),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b));
        let lanes = sorted.map(lane_of);
        assert_eq!(lanes, [None, Some(0), Some(1), Some(1), Some(lane), None, None, None, None]);
        assert_eq!((time_of(sorted[4]), rank_of(sorted[4])), (Time(5), Rank::Arrival));
        assert_eq!((lane_of(NEVER), rank_of(NEVER)), (None, Rank::Probe));
    }

    proptest! {
        /// The least head is first, whatever is set in between.
        #[test]
        fn the_least_head_is_first(changes in prop::collection::vec((0u32..5, 0u64..50), 1..100)) {
            let mut heads = Heads::new(5);
            let mut model = [NEVER; 5];
            for (source, time) in changes {
                let new = if time == 0 { NEVER } else { key(Time(time), Rank::Arrival, source, 0) };
                model[source as usize] = new;
                heads.set(source, new);
                prop_assert_eq!(heads.first(), *model.iter().min().unwrap());
            }
        }

        /// Whatever the order in, and mixed with takes, the least key comes out, and of equal keys the first that went in.
        #[test]
        fn a_lane_is_a_stable_priority_queue(
            items in prop::collection::vec((0u64..400, 0u32..2), 1..300), few: bool, takes in 0usize..4, unordered: bool
        ) {
            let mut lane = Lane { unordered, ..Lane::default() };
            let mut model = std::collections::BTreeSet::new();
            for (i, (time, flow)) in items.into_iter().enumerate() {
                let it = item(if few { time / 40 } else { time }, flow, i as u64);
                let next = lane.push(it.key, &it.packet);
                model.insert((it.key, it.packet.seq));
                let head = model.first().unwrap().0;
                // It may say so of one that comes out behind its equals: the head is the same.
                prop_assert!(!next || head == it.key);
                prop_assert!(next || model.first().unwrap().1 != it.packet.seq);
                prop_assert_eq!(lane.head(), head);
                if takes > 0 && i % 4 < takes {
                    let (head, mut packet) = (lane.head(), Packet::new(0, 0, 0));
                    let follows = lane.take(&mut packet);
                    prop_assert_eq!(Some((head, packet.seq)), model.pop_first());
                    prop_assert_eq!(follows, Some(model.first().map_or(NEVER, |m| m.0)));
                }
                prop_assert_eq!(lane.len(), model.len());
            }
            let mut packet = Packet::new(0, 0, 0);
            while let (head, Some(_)) = (lane.head(), lane.take(&mut packet)) {
                prop_assert_eq!(Some((head, packet.seq)), model.pop_first());
            }
            prop_assert!(model.is_empty());
        }
    }
}
