//! A port: one direction of one copy of a link, and how its packets find their queues.

use evenflow_base::{Packet, Time};
use evenflow_link::Link;
use evenflow_scenario::model::SchedulerPer;

use crate::slots::Slots;

/// One direction of one copy of a link.
#[derive(Debug)]
pub struct Port {
    /// The link.
    pub link: Link,
    /// Its side of its link, as an index: twice the link's, plus one backwards. Also the index of its lane.
    pub side: u32,
    /// Number among the copies of its link.
    pub copy: u32,
    /// How a packet finds its queue.
    pub select: Select,
    /// The alarm on record, at or before the link's deadline; any other is stale.
    pub alarm: Time,
}

impl Port {
    /// By when the link must be looked at: at each decision if `eager`, else before a packet can reach its far end.
    #[inline]
    pub fn next(&self, eager: bool) -> Time {
        if eager { self.link.due() } else { self.link.deadline() }
    }
}

/// How a packet finds its queue in a scheduler.
#[derive(Clone, Debug)]
pub enum Select {
    /// There is one queue.
    One,
    /// By traffic class.
    Class,
    /// By flow, through a table of queues.
    Queue(std::sync::Arc<[u32]>),
    /// By flow, through a table of keys that the scheduler hashes.
    Key(std::sync::Arc<[u32]>, SchedulerPer),
}

impl Select {
    /// The queue of `packet`, or its key.
    #[inline]
    pub fn key(&self, packet: &Packet, slots: &Slots) -> usize {
        self.key_of(packet.flow, packet.class, slots)
    }

    /// The same for packets of a flow and class.
    #[inline]
    pub fn key_of(&self, flow: u32, class: u8, slots: &Slots) -> usize {
        match self {
            Select::One => 0,
            Select::Class => usize::from(class),
            Select::Queue(table) | Select::Key(table, _) => match table.get(flow as usize) {
                Some(key) => *key as usize,
                None => self.key_of_slot(flow, slots),
            },
        }
    }

    /// The key of a flow that was opened during the run: its user's, or its own.
    fn key_of_slot(&self, flow: u32, slots: &Slots) -> usize {
        match self {
            Select::Key(_, SchedulerPer::Flow) => slots.key(flow) as usize,
            Select::Queue(table) | Select::Key(table, _) => table[slots.root(flow) as usize] as usize,
            Select::One | Select::Class => 0,
        }
    }
}
