//! Deficit round robin (Shreedhar and Varghese 1996, section 3), with buffer stealing from the longest queue (section 3.2).

use std::collections::VecDeque;

use evenflow_base::schema::{Counter, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Heap, Reason, Time};

use crate::held::{Dropped, Kind, PER, Per, Queued, Schedule, Sent, Served};

/// The queues.
#[derive(Clone, Debug)]
pub struct Drr {
    queues: Vec<Backlog>,
    /// Queues with packets, in the order of their turns.
    active: VecDeque<u32>,
    /// Whether the queue at the front has had its quantum for this turn.
    served: bool,
    longest_queue_drop: bool,
}

#[derive(Clone, Debug, Default)]
struct Backlog {
    packets: VecDeque<Queued>,
    bytes: u64,
    deficit: u64,
    /// Bytes per turn: the scheduler's quantum times the owner's weight.
    quantum: u64,
}

impl Drr {
    /// One queue for each quantum (bytes, at least 1).
    pub fn new(quanta: Vec<u64>, longest_queue_drop: bool) -> Drr {
        let queues =
            quanta.into_iter().map(|q| Backlog { quantum: q.max(1), ..Backlog::default() }).collect();
        Drr { queues, active: VecDeque::new(), served: false, longest_queue_drop }
    }

    fn put(&mut self, queue: usize, item: Queued) {
        let q = &mut self.queues[queue];
        if q.packets.is_empty() {
            q.deficit = 0;
            self.active.push_back(queue as u32);
        }
        q.bytes += u64::from(item.packet.size);
        q.packets.push_back(item);
    }

    fn take(&mut self) -> Option<Queued> {
        loop {
            let turn = *self.active.front()?;
            let q = &mut self.queues[turn as usize];
            if !self.served {
                q.deficit += q.quantum;
                self.served = true;
            }
            // A queue emptied by pushing out leaves the round here.
            let fits = q.packets.front().map(|head| u64::from(head.packet.size) <= q.deficit);
            if fits == Some(true) {
                let item = q.packets.pop_front()?;
                let size = u64::from(item.packet.size);
                q.deficit -= size;
                q.bytes -= size;
                if q.packets.is_empty() {
                    self.active.pop_front();
                    self.served = false;
                }
                return Some(item);
            }
            self.active.pop_front();
            self.served = false;
            if fits == Some(false) {
                self.active.push_back(turn);
            }
        }
    }

    /// The longest queue, if it is longer than the newcomer's would be.
    fn victim(&self, queue: usize, size: u16) -> Option<usize> {
        let own = self.queues[queue].bytes + u64::from(size);
        let longest =
            self.active.iter().copied().max_by_key(|&q| (self.queues[q as usize].bytes, q))? as usize;
        (longest != queue && self.queues[longest].bytes > own).then_some(longest)
    }

    fn steal(&mut self, queue: usize, size: u16) -> Option<Queued> {
        let longest = self.victim(queue, size)?;
        let q = &mut self.queues[longest];
        let item = q.packets.pop_back()?;
        q.bytes -= u64::from(item.packet.size);
        if q.packets.is_empty() {
            // Leave the round, so that a later arrival does not enter it twice.
            let front = self.active.front() == Some(&(longest as u32));
            self.active.retain(|&a| a as usize != longest);
            self.served &= !front;
        }
        Some(item)
    }
}

impl Schedule for Drr {
    fn has(&self, key: usize) -> bool {
        key < self.queues.len()
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.put(queue, item);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.take().map(|item| (item, None))
    }

    fn can_push_out(&self, queue: usize, size: u16) -> bool {
        self.longest_queue_drop && self.victim(queue, size).is_some()
    }

    fn push_out(&mut self, queue: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool {
        let item = if self.longest_queue_drop { self.steal(queue, size) } else { None };
        dropped.extend(item.map(|item| (item, Reason::PushedOut)));
        item.is_some()
    }

    fn heap_bytes(&self) -> u64 {
        let packets = self.queues.iter().map(|queue| queue.packets.heap_bytes()).sum::<u64>();
        packets + self.queues.heap_bytes() + self.active.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.iter().flat_map(|q| &q.packets).for_each(show);
    }
}

impl Kind for Drr {
    fn build(values: &Values, served: &Served) -> Result<Drr, Vec<Problem>> {
        let Given { quantum, overflow, .. } = Given::read(values);
        let quanta = served.owners.iter().map(|owner| (quantum * owner.weight).round() as u64).collect();
        Ok(Drr::new(quanta, overflow == Overflow::Longest))
    }
}

words! {
    /// Which packet is dropped when the buffer is full.
    pub enum Overflow {
        /// The last one of the longest queue.
        Longest = "longest",
        /// The arriving one.
        Arriving = "arriving",
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Given {
        /// See [`PER`].
        per: Per = Param { default: Text("user"), ..PER };
        /// Bytes per round for weight 1.
        quantum: f64 = Bytes, Text("1500 B"), Range::FROM_ONE
            => source: "Shreedhar and Varghese 1996, section 3: one maximum-size packet, for constant work \
                        per packet";
        /// Packet to drop when the buffer is full: the last of the longest queue, or the arriving one.
        overflow: Overflow = Overflow::TYPE, Text("longest")
            => source: "Shreedhar and Varghese 1996, section 3.2 (buffer stealing)";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "drr",
    traits: Traits { in_turn: true, ..Mechanism::PLAIN },
    title: "Deficit round robin (DRR)",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "drr"
per = "user"
quantum = "1500 B""#,
    doc: "Serves the queues in rounds. Each round adds quantum times weight to a queue's credit; unused \
          credit carries over while packets wait.",
    source: "Shreedhar and Varghese, IEEE/ACM ToN 1996",
    params: Given::PARAMS,
    counters: &[Counter::new("pushed_out", "Pushed out of the longest queue by an arriving packet.")],
    ..Mechanism::of(Room::Scheduler)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::drained;
    use evenflow_base::Packet;

    fn item(at: u64, size: u16, id: u64) -> Queued {
        Queued { packet: Packet { seq: id, ..Packet::new(0, size, size) }, at: Time(at) }
    }

    #[test]
    fn drr_shares_bytes_not_packets() {
        let mut s = Drr::new(vec![1500, 1500], true);
        for i in 0..4 {
            s.enqueue(0, item(0, 1500, i));
        }
        for i in 0..8 {
            s.enqueue(1, item(0, 750, 100 + i));
        }
        assert_eq!(drained(s), [0, 100, 101, 1, 102, 103, 2, 104, 105, 3, 106, 107]);
    }

    #[test]
    fn drr_carries_the_deficit_over() {
        // Quantum 1000, packets of 1500: nothing in the first round, one in the second with 500 left.
        let mut s = Drr::new(vec![1000, 1000], true);
        s.enqueue(0, item(0, 1500, 1));
        s.enqueue(0, item(0, 1500, 2));
        s.enqueue(1, item(0, 400, 3));
        assert_eq!(s.take().unwrap().packet.seq, 3);
        assert_eq!(s.take().unwrap().packet.seq, 1);
        assert_eq!(s.queues[0].deficit, 500);
        assert_eq!(s.take().unwrap().packet.seq, 2);
        assert!(s.take().is_none());
    }

    #[test]
    fn drr_pushes_out_of_the_longest_queue() {
        let mut s = Drr::new(vec![1500, 1500], true);
        for i in 0..3 {
            s.enqueue(0, item(0, 1500, i));
        }
        let mut dropped = Vec::new();
        assert!(s.push_out(1, 1500, &mut dropped));
        assert_eq!((dropped[0].0.packet.seq, dropped[0].1), (2, Reason::PushedOut));
        assert!(!s.push_out(0, 1500, &mut dropped), "the newcomer's own queue is the longest");
        assert_eq!(dropped.len(), 1);
    }

    #[test]
    fn a_queue_emptied_by_pushing_out_can_come_back() {
        let mut s = Drr::new(vec![1500, 1500], true);
        s.enqueue(0, item(0, 1500, 1));
        assert_eq!(s.steal(1, 100).unwrap().packet.seq, 1);
        assert!(s.take().is_none());
        s.enqueue(0, item(0, 1500, 2));
        assert_eq!(s.active.len(), 1);
        assert_eq!(s.take().unwrap().packet.seq, 2);
    }
}
