//! Strict priority: the most urgent class that has a packet goes first, whatever the others have waited.

use std::collections::VecDeque;

use evenflow_base::Time;
use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Room, Type, Value, Values};

use crate::held::{Dropped, PER, Queued, Schedule, Sent, Served};

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
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, served: &Served) -> Result<Strict, Vec<Problem>> {
        let Some(Value::Names(names)) = values.get("order") else {
            return Err(vec![("order", "is missing".into())]);
        };
        let classes = served.classes;
        let mut order: Vec<usize> =
            names.iter().filter_map(|n| classes.iter().position(|c| c == n)).collect();
        // Classes that do not cross the link come last: they have no packets here.
        order.extend((0..classes.len()).filter(|c| !names.contains(&classes[*c])));
        Ok(Strict::new(order))
    }

    fn has(&self, key: usize) -> bool {
        key < self.queues.len()
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.queues[queue].push_back(item);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.order.iter().find_map(|&q| self.queues[q].pop_front()).map(|item| (item, None))
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.iter().flatten().for_each(show);
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "strict",
    room: Room::Scheduler,
    traits: Mechanism::PLAIN,
    title: "Strict priority",
    doc: "Serves the most urgent class that has a packet. A class may starve those behind it.",
    source: "Menth and Zeitler 2018, section III-D2",
    params: &[
        PER,
        Param {
            name: "order",
            ty: Type::Names,
            default: Fallback::Required,
            range: Range::ANY,
            source: "",
            doc: "The classes, most urgent first.",
        },
    ],
    observables: &[],
    counters: &[],
    deviations: &[],
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
