//! Flow queues under a deficit round robin that serves new flows first (RFC 8290 sections 4.1 and 4.2).
//! Each has its own AQM `A`.

use std::collections::VecDeque;

use evenflow_base::random::salted;
use evenflow_base::{Heap, Reason, Stream};

use crate::held::{Dropped, HashStats, Queued, Sent};

/// Observables of the lists of queues, which change with every packet.
pub(crate) const OBSERVABLES: [&str; 2] = ["active_queues", "new_queues"];

/// The list in which a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum List {
    /// It is not active.
    #[default]
    None,
    New,
    Old,
}

/// A queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow<A> {
    pub packets: VecDeque<Queued>,
    pub bytes: u64,
    /// Credits, bytes.
    pub deficit: i64,
    pub list: List,
    pub aqm: A,
    /// Key of the last packet.
    key: usize,
}

impl<A> Flow<A> {
    /// An empty one.
    pub fn new(aqm: A) -> Flow<A> {
        Flow { packets: VecDeque::new(), bytes: 0, deficit: 0, list: List::None, aqm, key: usize::default() }
    }

    /// Removes its head; `total` are the bytes of all queues.
    #[inline]
    pub fn pop(&mut self, total: &mut u64) -> Option<Queued> {
        let item = self.packets.pop_front()?;
        self.bytes -= u64::from(item.packet.size);
        *total -= u64::from(item.packet.size);
        Some(item)
    }
}

/// The queues.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueues<A> {
    pub flows: Vec<Flow<A>>,
    pub new: VecDeque<u32>,
    pub old: VecDeque<u32>,
    /// Bytes of all queues.
    pub bytes: u64,
    /// Bytes per round.
    quantum: i64,
    salt: u64,
    /// Counters.
    pub stats: HashStats,
}

impl<A: Clone> FlowQueues<A> {
    /// `flows` empty ones with an AQM each; the hash's salt is the first number of `stream`.
    pub fn new(flows: usize, quantum: i64, aqm: A, mut stream: Stream) -> FlowQueues<A> {
        FlowQueues {
            flows: vec![Flow::new(aqm); flows],
            new: VecDeque::with_capacity(flows),
            old: VecDeque::with_capacity(flows),
            bytes: 0,
            quantum,
            salt: stream.bits(),
            stats: HashStats::default(),
        }
    }

    /// The salted hash of a flow's key.
    #[inline]
    pub fn hash(&self, key: usize) -> u64 {
        salted(key as u64, self.salt)
    }

    /// The queue of a flow with `key`.
    #[inline]
    pub fn place(&mut self, key: usize) -> usize {
        let queue = (self.hash(key) % self.flows.len() as u64) as usize;
        self.joins(queue, key);
        queue
    }

    /// A packet of the flow with `key` comes to `queue`.
    #[inline]
    pub fn joins(&mut self, queue: usize, key: usize) {
        let flow = &mut self.flows[queue];
        self.stats.collisions += u64::from(!flow.packets.is_empty() && flow.key != key);
        flow.key = key;
    }

    /// RFC 8290 section 4.1.
    #[inline]
    pub fn push(&mut self, queue: usize, item: Queued) {
        if self.flows[queue].list == List::None {
            self.activate(queue, self.quantum);
        }
        self.hold(queue, item);
    }

    /// Makes an inactive queue a new one.
    #[inline]
    pub fn activate(&mut self, queue: usize, credits: i64) {
        let flow = &mut self.flows[queue];
        flow.list = List::New;
        flow.deficit = credits;
        self.stats.new_flows += 1;
        self.new.push_back(queue as u32);
    }

    /// Adds a packet to a queue.
    #[inline]
    pub fn hold(&mut self, queue: usize, item: Queued) {
        let flow = &mut self.flows[queue];
        flow.bytes += u64::from(item.packet.size);
        self.bytes += u64::from(item.packet.size);
        flow.packets.push_back(item);
    }

    /// RFC 8290 section 4.2. `next` takes the packet to send from a queue, where `total` are the bytes of
    /// all.
    #[inline]
    pub fn pop(&mut self, mut next: impl FnMut(&mut Flow<A>, &mut u64) -> Option<Sent>) -> Option<Sent> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let queue = *list.front()?;
            let flow = &mut self.flows[queue as usize];
            if flow.deficit <= 0 {
                list.pop_front();
                flow.deficit += self.quantum;
                flow.list = List::Old;
                self.old.push_back(queue);
                continue;
            }
            if let Some(sent) = next(flow, &mut self.bytes) {
                flow.deficit -= i64::from(sent.0.packet.size);
                return Some(sent);
            }
            list.pop_front();
            if flow.list == List::New {
                // Through the old ones once, so that it cannot starve them by coming back as a new one.
                flow.list = List::Old;
                self.old.push_back(queue);
            } else {
                flow.list = List::None;
            }
        }
    }

    /// The queue with the most bytes, counting a newcomer's; of equals the first.
    pub fn fattest(&self, queue: usize, size: u16) -> usize {
        let bytes = |n: usize| self.flows[n].bytes + if n == queue { u64::from(size) } else { 0 };
        (0..self.flows.len()).rev().max_by_key(|&n| bytes(n)).unwrap_or(queue)
    }

    /// Drops up to `most` packets from the head of a queue.
    pub fn drop_head(&mut self, queue: usize, most: usize, dropped: &mut Vec<Dropped>) {
        let before = dropped.len();
        let flow = &mut self.flows[queue];
        let gone = (0..most).map_while(|_| flow.pop(&mut self.bytes));
        dropped.extend(gone.map(|item| (item, Reason::PushedOut)));
        self.stats.pushed_out += (dropped.len() - before) as u64;
    }

    /// Queues in the two lists.
    pub fn active(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let packets = self.flows.iter().map(|flow| flow.packets.heap_bytes()).sum::<u64>();
        packets + self.flows.heap_bytes() + self.new.heap_bytes() + self.old.heap_bytes()
    }

    /// Shows all packets.
    pub fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.flows.iter().flat_map(|flow| &flow.packets).for_each(show);
    }
}
