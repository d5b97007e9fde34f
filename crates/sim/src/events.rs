//! What happens next: delay lines and the order of events.
//!
//! A key orders events by time, then by rank, then by a sequence number drawn when the packet entered the link (or the
//! timer was set): never by an address or by unrelated traffic.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use evenflow_base::{Packet, Time};

/// Time, rank and sequence in one comparable number.
pub type Key = u128;

/// Later than any event.
pub const NEVER: Key = Key::MAX;

/// What comes first among events at one instant.
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

/// The lowest bits of a key, below the sequence number: zero, or in [`Heads`] the number of a source. No two events have
/// the same sequence number, so these bits never decide on an order.
const SOURCE_BITS: u32 = 16;
const SOURCE_MASK: u128 = (1 << SOURCE_BITS) - 1;

/// Builds a key.
#[inline]
pub fn key(time: Time, rank: Rank, sequence: u64) -> Key {
    (u128::from(time.0) << 64) | u128::from(u64::from(rank as u8) << 62 | sequence << SOURCE_BITS)
}

/// The instant of a key.
#[inline]
pub fn time_of(key: Key) -> Time {
    Time((key >> 64) as u64)
}

/// The sequence number of a key.
#[inline]
pub fn sequence_of(key: Key) -> u64 {
    (key as u64 & ((1 << 62) - 1)) >> SOURCE_BITS
}

/// The rank of a key.
#[inline]
pub fn rank_of(key: Key) -> Rank {
    match (key as u64) >> 62 {
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
    /// What arrives.
    pub packet: Packet,
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

/// The delay line of all copies of one link in one direction: packets in the order they will arrive.
///
/// One link hands its packets over in order; many copies of a link with one rate and delay nearly so. What is out of
/// order walks back a little, or waits in a heap. Which of the two holds a packet never changes the order.
#[derive(Debug, Default)]
pub struct Lane {
    ring: VecDeque<InFlight>,
    late: BinaryHeap<Reverse<InFlight>>,
    /// Not earlier than what is last in the ring.
    last: Key,
    /// Copies with delays or rates of their own: order is not to be hoped for.
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
        self.ring.push_back(InFlight { key, packet: *packet });
        alone && (self.late.is_empty() || self.head() == key)
    }

    #[inline(never)]
    fn push_late(&mut self, item: InFlight) -> bool {
        let mut at = self.ring.len();
        if !self.unordered {
            let stop = at.saturating_sub(WALK);
            while at > stop && self.ring[at - 1].key > item.key {
                at -= 1;
            }
        }
        if at > 0 && self.ring[at - 1].key > item.key {
            self.late.push(Reverse(item));
        } else {
            self.ring.insert(at, item);
        }
        self.head() == item.key
    }

    /// The key of the next packet.
    #[inline]
    pub fn head(&self) -> Key {
        let first = self.ring.front().map_or(NEVER, |i| i.key);
        if self.late.is_empty() { first } else { first.min(self.late.peek().map_or(NEVER, |i| i.0.key)) }
    }

    /// The next packet; [`Lane::take`] takes it out. In two steps, because a reference is copied from in one piece and
    /// what `pop_front` returns is not.
    #[inline(always)]
    pub fn next(&mut self) -> Option<&InFlight> {
        if !self.late.is_empty() {
            self.fetch_late();
        }
        self.ring.front()
    }

    /// Takes out what [`Lane::next`] has shown and gives the key of what follows.
    #[inline(always)]
    pub fn take(&mut self) -> Key {
        self.ring.pop_front();
        self.head()
    }

    /// Puts the first late packet at the front of the ring if that is its place.
    #[inline(never)]
    fn fetch_late(&mut self) {
        let first = self.ring.front().map_or(NEVER, |i| i.key);
        if self.late.peek().is_some_and(|l| l.0.key < first)
            && let Some(late) = self.late.pop()
        {
            self.ring.push_front(late.0);
        }
    }

    /// Those packets, in no order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.ring.iter().chain(self.late.iter().map(|late| &late.0)).map(|item| &item.packet)
    }

    /// How many packets are on their way.
    pub fn len(&self) -> usize {
        self.ring.len() + self.late.len()
    }
}

/// Which of a few sources of events comes next: their heads, as far as sources ever had one.
///
/// All are looked at each time: keeping them sorted takes fewer instructions but more time, for how far a new head moves
/// is hard to foretell. A head is the event's key with the number of its source in the lowest bits.
#[derive(Debug, Default)]
pub struct Heads(Vec<Key>);

impl Heads {
    /// Sources 0 to `count` - 1, none with an event.
    pub fn new(count: usize) -> Heads {
        assert!(count < 1 << SOURCE_BITS, "{count} links: more than a run can have");
        Heads(Vec::with_capacity(count))
    }

    /// The next event and its source; [`NEVER`] if there is none.
    #[inline(always)]
    pub fn first(&self) -> (Key, u32) {
        let mut least = NEVER;
        for &head in &self.0 {
            if head < least {
                least = head;
            }
        }
        (least, (least & SOURCE_MASK) as u32)
    }

    /// The head of `source` is now `key`; [`NEVER`]: it has none.
    #[inline(always)]
    pub fn set(&mut self, source: u32, key: Key) {
        let head = key | u128::from(source);
        match self.0.get_mut(source as usize) {
            Some(place) => *place = head,
            None => self.add(source, head),
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

    fn item(time: u64, sequence: u64) -> InFlight {
        let packet = Packet { seq: sequence, ..Packet::new(0, 1, 1) };
        InFlight { key: key(Time(time), Rank::Arrival, sequence), packet }
    }

    #[test]
    fn ranks_order_events_of_one_instant() {
        let at = |rank| key(Time(5), rank, 9);
        assert!(at(Rank::Service) < at(Rank::Arrival));
        assert!(at(Rank::Arrival) < at(Rank::Timer));
        assert!(at(Rank::Timer) < at(Rank::Probe));
        assert!(at(Rank::Probe) < key(Time(6), Rank::Service, 0));
        assert_eq!(time_of(at(Rank::Probe)), Time(5));
    }

    proptest! {
        /// The least head is first, whatever is set in between.
        #[test]
        fn heads_stay_sorted(changes in prop::collection::vec((0u32..5, 0u64..50, any::<bool>()), 1..100)) {
            let mut heads = Heads::new(5);
            let mut model = [NEVER; 5];
            for (i, (source, time, replace)) in changes.into_iter().enumerate() {
                let new = if time == 0 { NEVER } else { key(Time(time), Rank::Arrival, i as u64) };
                let (least, first) = heads.first();
                if replace && least != NEVER && new >= least {
                    model[first as usize] = new;
                    heads.set(first, new);
                } else {
                    model[source as usize] = new;
                    heads.set(source, new);
                }
                let (least, first) = heads.first();
                let expected = *model.iter().min().unwrap();
                prop_assert_eq!(time_of(least), time_of(expected));
                prop_assert!(expected == NEVER || model[first as usize] == expected);
            }
        }

        /// Whatever the order in, and mixed with takes, the least key comes out.
        #[test]
        fn a_lane_is_a_priority_queue(times in prop::collection::vec(0u64..400, 1..300), unordered: bool) {
            let mut lane = Lane { unordered, ..Lane::default() };
            let mut model = std::collections::BTreeSet::new();
            for (i, time) in times.iter().enumerate() {
                let it = item(*time, i as u64);
                let next = lane.push(it.key, &it.packet);
                model.insert(it.key);
                prop_assert_eq!(next, model.first() == Some(&it.key));
                prop_assert_eq!(lane.head(), *model.first().unwrap());
                if i % 3 == 0 {
                    let next = lane.next().unwrap().key;
                    prop_assert_eq!(Some(next), model.pop_first());
                    prop_assert_eq!(lane.take(), model.first().copied().unwrap_or(NEVER));
                }
                prop_assert_eq!(lane.len(), model.len());
            }
            while let Some(next) = lane.next() {
                prop_assert_eq!(Some(next.key), model.pop_first());
                lane.take();
            }
            prop_assert!(model.is_empty());
        }
    }
}
