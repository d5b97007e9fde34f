//! Flows opened during a run: their owners, numbers and slots.
//!
//! A user numbers its flows in the order of opening, after its initial flows. Names of streams, hash keys and
//! the order of events follow user and number. A *slot* in the tables of flows is reused when a flow is over
//! and none of its packets is left. No result depends on the slot.

use std::fmt::Write;

use evenflow_base::random::key_of;
use evenflow_base::{Heap, Stream};
use evenflow_scenario::model::Group;

/// Flows of a user of `group` from the start of the run.
pub fn lasting_flows(group: &Group) -> usize {
    let lasting = group.traffic.iter().filter(|traffic| !traffic.opens());
    lasting.map(|t| t.flows() as usize).sum()
}

/// Places of a user of `group` among flows: its initial flows, then one for each kind of traffic that opens
/// flows.
pub fn flows_per_user(group: &Group) -> usize {
    lasting_flows(group) + group.traffic.iter().filter(|traffic| traffic.opens()).count()
}

/// Traffic of one user that opens flows during the run.
#[derive(Clone, Debug)]
pub struct Opener {
    /// Its place among flows: a flow that carries nothing itself, after which those that it opens are modelled.
    pub root: u32,
    /// The user's host.
    pub host: u32,
    /// `group/user/`.
    pub owner: String,
}

/// A place for a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// Which of the openers opened it.
    pub opener: u32,
    /// Its number among the user's flows.
    pub number: u32,
    /// Its number among all flows of the run, in lists of events.
    pub id: u32,
    /// Its hash key, if a queue hashes flows.
    pub key: u32,
    /// The connection's number among those of its application.
    pub conn: u32,
    /// Its packets in the network.
    pub inside: u32,
    /// It is over: the place is free when nothing is left inside.
    pub over: bool,
    /// It is taken.
    pub taken: bool,
}

/// All flows opened during the run.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// Those who open flows.
    pub openers: Vec<Opener>,
    /// Index of the first place among flows: behind those of flows that there are from the start.
    first: u32,
    places: Vec<Slot>,
    free: Vec<u32>,
    /// Flows opened so far.
    opened: u32,
    /// By host: flows that the user has had.
    numbers: Vec<u32>,
    /// Some queue hashes flows.
    hashes: bool,
    name: String,
}

impl Slots {
    /// No flow yet; there are `first` from the start, by host `numbers` of them.
    pub fn new(openers: Vec<Opener>, first: usize, numbers: Vec<u32>, hashes: bool) -> Slots {
        Slots { openers, first: first as u32, numbers, hashes, ..Slots::default() }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let owners = self.openers.iter().map(|opener| opener.owner.capacity() as u64).sum::<u64>();
        let lists = [self.openers.heap_bytes(), self.places.heap_bytes(), self.free.heap_bytes()];
        owners + self.numbers.heap_bytes() + lists.into_iter().sum::<u64>()
    }

    /// Takes a place for a flow that `opener` opens; gives its index among flows.
    pub fn open(&mut self, opener: u32, conn: u32) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Slot::default());
            self.places.len() as u32 - 1
        });
        let by = &self.openers[opener as usize];
        let count = &mut self.numbers[by.host as usize];
        let number = *count;
        *count += 1;
        let mut key = 0;
        if self.hashes {
            self.name.clear();
            let _ = write!(self.name, "{}{number}", by.owner); // a String takes anything
            key = key_of(&self.name) as u32;
        }
        let id = self.first + self.opened;
        self.opened += 1;
        self.places[place as usize] =
            Slot { opener, number, id, key, conn, inside: 0, over: false, taken: true };
        self.first + place
    }

    /// `count` packets of `flow` enter the network, or a call of its connection begins.
    #[inline]
    pub fn enter(&mut self, flow: u32, count: u32) {
        self.places[(flow - self.first) as usize].inside += count;
    }

    /// The reverse of [`Slots::enter`]; says whether the flow is over and nothing of it is left.
    #[inline]
    pub fn exit(&mut self, flow: u32) -> bool {
        let slot = &mut self.places[(flow - self.first) as usize];
        slot.inside -= 1;
        slot.inside == 0 && slot.over
    }

    /// The flow is over.
    pub fn end(&mut self, flow: u32) {
        self.places[(flow - self.first) as usize].over = true;
    }

    /// Gives the place of a flow back of which nothing is left.
    pub fn close(&mut self, flow: u32) {
        let place = flow - self.first;
        self.places[place as usize].taken = false;
        self.free.push(place);
    }

    /// The number of a flow's place.
    #[inline]
    pub fn place(&self, flow: u32) -> usize {
        (flow - self.first) as usize
    }

    /// The slot at a place.
    #[inline]
    pub fn of(&self, place: usize) -> &Slot {
        &self.places[place]
    }

    /// The slot of a flow opened during the run; `None` for an initial flow.
    #[inline]
    pub fn get(&self, flow: u32) -> Option<&Slot> {
        self.places.get(flow.checked_sub(self.first)? as usize)
    }

    /// The stream of `purpose` of a flow's end, by user and number.
    pub fn stream(&self, flow: u32, purpose: &str, seed: u64) -> Stream {
        let slot = self.of(self.place(flow));
        let owner = &self.openers[slot.opener as usize].owner;
        Stream::new(seed, &format!("groups/{owner}{}/{purpose}", slot.number))
    }

    /// Whether a flow was opened during the run.
    #[inline(always)]
    pub fn has(&self, flow: u32) -> bool {
        flow >= self.first
    }

    /// The flow that it was modelled after: itself, if there was from the start.
    #[inline]
    pub fn root(&self, flow: u32) -> u32 {
        self.get(flow).map_or(flow, |slot| self.openers[slot.opener as usize].root)
    }

    /// Its number among all flows of the run.
    #[inline]
    pub fn id(&self, flow: u32) -> u32 {
        self.get(flow).map_or(flow, |slot| slot.id)
    }

    /// The hash key of a flow opened during the run.
    pub fn key(&self, flow: u32) -> u32 {
        self.get(flow).map_or(0, |slot| slot.key)
    }

    /// Index of the first place among flows.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Places so far: the most flows that there were at a time.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The places that are taken, as indices among flows.
    pub fn taken(&self) -> impl Iterator<Item = u32> + '_ {
        let taken = self.places.iter().enumerate().filter(|(_, slot)| slot.taken);
        taken.map(|(place, _)| self.first + place as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Slots {
        let opener = |root, user| Opener { root, host: user, owner: format!("g/{user}/") };
        Slots::new(vec![opener(2, 0), opener(3, 1), opener(4, 1)], 5, vec![2, 0], true)
    }

    #[test]
    fn a_user_numbers_flows_in_the_order_of_opening_whatever_slot_they_get() {
        let mut slots = slots();
        let (a, b, c) = (slots.open(0, 0), slots.open(1, 0), slots.open(2, 0));
        let seen = |slots: &Slots, flow| {
            let slot = slots.get(flow).unwrap();
            (slots.root(flow), slot.number, slot.key)
        };
        // The first user has two flows from the start.
        assert_eq!(seen(&slots, a), (2, 2, key_of("g/0/2") as u32));
        assert_eq!(seen(&slots, b), (3, 0, key_of("g/1/0") as u32));
        assert_eq!(seen(&slots, c), (4, 1, key_of("g/1/1") as u32), "a user has one row of numbers");
        slots.close(a);
        let d = slots.open(1, 1);
        assert_eq!(d, a, "the slot is used again");
        assert_eq!(seen(&slots, d), (3, 2, key_of("g/1/2") as u32));
        assert_eq!([a, b, c].map(|flow| slots.id(flow)), [8, 6, 7]);
        assert_eq!((slots.root(1), slots.id(1)), (1, 1), "a flow from the start is itself");
        assert_eq!((slots.len(), slots.taken().count()), (3, 3));
    }
}
