//! Modified earliest deadline first: the head packet with the smallest arrival time plus offset of its class goes first (Menth,
//! Schmid, Heiß, Reim 2003; Menth and Zeitler 2018, section III-D2).

use std::collections::{BTreeMap, VecDeque};

use evenflow_base::schema::{Deviation, Mechanism, Problem, Room, Values};
use evenflow_base::{Duration, Heap, Time};

use crate::held::{Dropped, Kind, PER, Per, Queued, Schedule, Sent, Served};

/// The queues.
#[derive(Clone, Debug)]
pub struct Medf {
    queues: Vec<VecDeque<Queued>>,
    /// Δ of each queue.
    offsets: Vec<Duration>,
    /// Queue numbers by growing offset, so that a tie goes to the more urgent class.
    order: Vec<usize>,
}

impl Medf {
    /// With one offset per queue.
    pub fn new(offsets: Vec<Duration>) -> Medf {
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_by_key(|&q| (offsets[q], q));
        Medf { queues: vec![VecDeque::new(); offsets.len()], offsets, order }
    }
}

impl Schedule for Medf {
    fn has(&self, key: usize) -> bool {
        key < self.queues.len()
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.queues[queue].push_back(item);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        let mut best: Option<(Time, usize)> = None;
        for &q in &self.order {
            if let Some(head) = self.queues[q].front() {
                let deadline = head.at + self.offsets[q];
                if best.is_none_or(|(earliest, _)| deadline < earliest) {
                    best = Some((deadline, q));
                }
            }
        }
        best.and_then(|(_, q)| self.queues[q].pop_front()).map(|item| (item, None))
    }

    fn heap_bytes(&self) -> u64 {
        let queues = self.queues.iter().map(Heap::heap_bytes).sum::<u64>();
        queues + self.queues.heap_bytes() + self.offsets.heap_bytes() + self.order.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.iter().flatten().for_each(show);
    }
}

impl Kind for Medf {
    fn build(values: &Values, served: &Served) -> Result<Medf, Vec<Problem>> {
        let table = Given::read(values).offsets;
        let offset = |c: &String| Duration::from_seconds(table.get(c).copied().unwrap_or(0.0));
        Ok(Medf::new(served.link.classes.iter().map(offset).collect()))
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// See [`PER`].
        per: Per = PER;
        /// Offset of each class.
        offsets: BTreeMap<String, f64> = DurationPerClass, Required, Range::NOT_NEGATIVE
            => source: "Menth and Zeitler 2018: Delta_EF = 0, Delta_BE = 2 * Q_max * MTU * 8 / C_b";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "medf",
    title: "Modified earliest deadline first (MEDF)",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "medf"
per = "class"
offsets = { be = "57.6 ms" }"#,
    doc: "Serves the head packet with the smallest arrival time plus class offset. A class with a large \
          offset waits for others but cannot starve.",
    source: "Menth and Zeitler 2018, section III-D2",
    params: Given::PARAMS,
    deviations: &[Deviation {
        what: "In a tie the class with the smaller offset goes first.",
        why: "The paper does not define this.",
    }],
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
    fn medf_serves_best_effort_before_what_came_an_offset_later() {
        // Queue 0 is best effort with an offset of 10, queue 1 expedited with 0.
        let mut s = Medf::new(vec![Duration(10), Duration(0)]);
        s.enqueue(0, item(0, 100, 1)); // deadline 10
        s.enqueue(1, item(9, 100, 2)); // deadline 9
        s.enqueue(1, item(10, 100, 3)); // deadline 10: a tie, the urgent class wins
        s.enqueue(1, item(11, 100, 4)); // deadline 11: later than best effort's
        assert_eq!(drained(s), [2, 3, 1, 4]);
    }
}
