//! Host isolation: how many bulk flows each host has.

use super::{QUEUES, WAYS};

/// Source and destination.
pub(super) const SIDES: usize = 2;
const SOURCE: usize = 0;
const DESTINATION: usize = 1;

words! {
    /// Between which parties a tin is shared.
    pub enum Isolation {
        /// One queue for all.
        FlowBlind = "flowblind",
        /// A queue per source host.
        Source = "srchost",
        /// A queue per destination host.
        Destination = "dsthost",
        /// A queue per pair of hosts.
        Hosts = "hosts",
        /// A queue per flow.
        Flows = "flows",
        /// A queue per flow; equal shares for source hosts.
        DualSource = "dual-srchost",
        /// A queue per flow; equal shares for destination hosts.
        DualDestination = "dual-dsthost",
        /// A queue per flow; no share of a source or destination host grows with its flows.
        Triple = "triple-isolate",
    }
}

impl Isolation {
    /// The sides on which flows of a host share.
    #[inline]
    pub(super) fn sides(self) -> std::ops::Range<usize> {
        match self {
            Isolation::DualSource => SOURCE..SOURCE + 1,
            Isolation::DualDestination => DESTINATION..DESTINATION + 1,
            Isolation::Triple => SOURCE..DESTINATION + 1,
            _ => 0..0,
        }
    }

    /// Whether it asks for the hosts of packets.
    pub(super) fn needs_hosts(self) -> bool {
        !matches!(self, Isolation::FlowBlind | Isolation::Flows)
    }

    /// The hash that selects the queue.
    #[inline]
    pub(super) fn hash(self, flow: u32, hosts: [u32; SIDES]) -> u32 {
        match self {
            Isolation::FlowBlind => 0,
            Isolation::Source => hosts[SOURCE],
            Isolation::Destination => hosts[DESTINATION],
            Isolation::Hosts => hosts[SOURCE] ^ hosts[DESTINATION],
            _ => flow,
        }
    }
}

/// The hosts on one side of a tin's flows, by place.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    tags: Box<[u32; QUEUES]>,
    /// Their bulk flows.
    bulk: Box<Loads>,
}

/// Bulk flows by place.
pub(super) type Loads = [u16; QUEUES];

impl Hosts {
    pub fn new() -> Hosts {
        Hosts { tags: Box::new([0; QUEUES]), bulk: Box::new([0; QUEUES]) }
    }

    /// The place of a host with that hash: its own, else one without load, else that of the hash.
    pub fn place(&mut self, hash: u32) -> u16 {
        let first = hash as usize % QUEUES;
        let own = ways(first).find(|&n| self.tags[n] == hash);
        let free = || ways(first).find(|&n| self.bulk[n] == 0);
        let place = own.or_else(free).unwrap_or(first);
        self.tags[place] = hash;
        place as u16
    }

    #[inline]
    pub fn loads(&self) -> &Loads {
        &self.bulk
    }

    /// A flow of the host becomes a bulk flow.
    pub fn join(&mut self, place: u16) {
        self.bulk[usize::from(place)] += 1;
    }

    /// A bulk flow of the host ends.
    pub fn leave(&mut self, place: u16) {
        self.bulk[usize::from(place)] -= 1;
    }

    pub fn heap_bytes(&self) -> u64 {
        (size_of_val(&*self.tags) + size_of_val(&*self.bulk)) as u64
    }
}

/// The places of a set, that of the hash first.
pub(super) fn ways(first: usize) -> impl Iterator<Item = usize> {
    let (way, set) = (first % WAYS, first - first % WAYS);
    (way..way + WAYS).map(move |n| set + n % WAYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_by_what_they_hash_and_share() {
        let hash = |mode: Isolation| mode.hash(7, [1, 2]);
        assert_eq!(
            [Isolation::FlowBlind, Isolation::Source, Isolation::Destination, Isolation::Hosts].map(hash),
            [0, 1, 2, 3]
        );
        for (mode, sides) in [
            (Isolation::Flows, vec![]),
            (Isolation::DualSource, vec![0]),
            (Isolation::DualDestination, vec![1]),
            (Isolation::Triple, vec![0, 1]),
        ] {
            assert_eq!((hash(mode), mode.sides().collect::<Vec<_>>()), (7, sides));
        }
    }

    #[test]
    fn a_host_without_load_gives_its_place_up() {
        let mut hosts = Hosts::new();
        let hash = |n: u32| 6 + n * QUEUES as u32;
        for n in 1..=8 {
            let place = hosts.place(hash(n));
            assert_eq!(u32::from(place), (6 + n - 1) % 8);
            hosts.join(place);
        }
        assert_eq!(hosts.place(hash(3)), 0, "its own");
        assert_eq!(hosts.place(hash(9)), 6, "all are loaded: that of the hash, shared");
        hosts.leave(2);
        assert_eq!(hosts.place(hash(10)), 2);
        assert_eq!((hosts.loads()[2], hosts.loads()[6]), (0, 1));
    }
}
