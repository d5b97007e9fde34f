//! Strict priority: the most urgent class that has a packet goes first, whatever the others have waited.

use std::collections::VecDeque;

use evenflow_base::schema::{Mechanism, Problem, Room, Values};
use evenflow_base::{Heap, Time};

use crate::held::{Dropped, Kind, PER, Per, Queued, Schedule, Sent, Served};

/// The queues.
#[derive(Clone, Debug)]
pub struct Strict {
    queues: Vec<VecDeque<Queued>>,
    /// Queue numbers, first served first.
    order: Vec<usize>,
}

impl Strict {
    /// `order` lists every queue once, the most urgent first.
    pub fn new(order: Vec<usize>) -> Strict {
        let count = order.iter().max().map_or(0, |m| m + 1);
        Strict { queues: vec![VecDeque::new(); count], order }
    }
}

impl Schedule for Strict {
    fn has(&self, key: usize) -> bool {
        key < self.queues.len()
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.queues[queue].push_back(item);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.order.iter().find_map(|&q| self.queues[q].pop_front()).map(|item| (item, None))
    }

    fn heap_bytes(&self) -> u64 {
        let queues = self.queues.iter().map(Heap::heap_bytes).sum::<u64>();
        queues + self.queues.heap_bytes() + self.order.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.iter().flatten().for_each(show);
    }
}

impl Kind for Strict {
    fn build(values: &Values, served: &Served) -> Result<Strict, Vec<Problem>> {
        let names = Given::read(values).order;
        let classes = served.link.classes;
        let mut order: Vec<usize> =
            names.iter().filter_map(|n| classes.iter().position(|c| c == n)).collect();
        // Classes that do not cross the link come last: they have no packets here.
        order.extend((0..classes.len()).filter(|c| !names.contains(&classes[*c])));
        Ok(Strict::new(order))
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// See [`PER`].
        per: Per = PER;
        /// Classes, highest priority first.
        order: Vec<String> = Names, Required => source: "";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "strict",
    title: "Strict priority",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "strict"
per = "class"
order = ["be"]"#,
    doc: "Serves the class of highest priority that has a packet. Lower classes can starve.",
    source: "Menth and Zeitler 2018, section III-D2",
    params: Given::PARAMS,
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
    fn strict_serves_the_urgent_class_first() {
        let mut s = Strict::new(vec![1, 0]);
        s.enqueue(0, item(0, 100, 1));
        s.enqueue(1, item(5, 100, 2));
        s.enqueue(1, item(6, 100, 3));
        assert_eq!(drained(s), [2, 3, 1]);
    }
}
