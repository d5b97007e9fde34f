//! First in, first out: the scheduler of a queue that has none, and the shortest there is.

use std::collections::VecDeque;

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Heap, Packet, Time};

use crate::held::{Dropped, FlowTable, Kind, Queued, Schedule, Sent, Served};

/// One queue, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    packets: VecDeque<Queued>,
}

impl Schedule for Fifo {
    #[inline]
    fn place(&mut self, _key: usize, _packet: &Packet, _flows: &dyn FlowTable, _now: Time) -> usize {
        0
    }

    fn enqueue(&mut self, _queue: usize, item: Queued) {
        self.packets.push_back(item);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.packets.pop_front().map(|item| (item, None))
    }

    fn heap_bytes(&self) -> u64 {
        self.packets.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.packets.iter().for_each(show);
    }
}

impl Kind for Fifo {
    fn build(_values: &Values, _served: &Served) -> Result<Fifo, Vec<Problem>> {
        Ok(Fifo::default())
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "fifo",
    traits: Traits { default: true, ..Mechanism::PLAIN },
    title: "First in, first out (FIFO)",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "fifo""#,
    doc: "One queue, served in order of arrival.",
    source: "RFC 7567 section 2",
    ..Mechanism::of(Room::Scheduler)
};
