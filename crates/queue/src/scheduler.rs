//! Schedulers: who goes next among several queues of one link.
//!
//! FIFO needs none of this: its link knows a packet's fate when it accepts it. These hold packets until the link asks.
//! Limit and admission averages are shared by all queues of a link; not here: any rule that drops, except the choice of
//! a victim when room must be made ([`Scheduler::push_out`]), and the queues that have a rule each ([`crate::fq_codel`]).

use std::collections::VecDeque;

use evenflow_base::schema::{
    Counter, Deviation, Fallback, Mechanism, Observable, Param, Range, Room, Type, Values,
};
use evenflow_base::{Duration, Packet, Time};

use crate::Reason;
use crate::fq_codel::{self, FqCodel};
use crate::htb::{self, Htb};
use crate::sfq::{self, Sfq};
use crate::tbf::Tbf;

/// A packet that was held and is dropped, and why.
pub type Gone = (Queued, Reason);

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// When it was accepted.
    pub at: Time,
    /// Drawn when it entered the link; orders ties downstream.
    pub sequence: u64,
}

/// What a scheduler that hashes flows has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meetings {
    /// Packets that came to where another flow's packet had come last and packets waited.
    pub collisions: u64,
    /// How often an inactive queue became a new one.
    pub new_flows: u64,
    /// Packets pushed out.
    pub pushed_out: u64,
}

impl Meetings {
    /// A counter by its name among the observables.
    pub fn named(&self, name: &str) -> Option<u64> {
        match name {
            "collisions" => Some(self.collisions),
            "new_flows" => Some(self.new_flows),
            "pushed_out" => Some(self.pushed_out),
            _ => None,
        }
    }
}

/// The observable of that name.
pub(crate) const COLLISIONS: Observable = Observable {
    name: "collisions",
    unit: "packets",
    doc: "Packets that met packets where the last to come had been another flow's; a counter.",
};

/// The observable of that name.
pub(crate) const PUSHED_OUT: Observable = Observable {
    name: "pushed_out",
    unit: "packets",
    doc: "Packets pushed out of a full buffer; a counter.",
};

/// Whether an observable of a scheduler is a count of what has been: its series gives the increase, a record what came in the
/// window.
pub fn is_counter(name: &str) -> bool {
    htb::Counts::default().named(name).or(Meetings::default().named(name)).is_some()
}

/// About how many bytes a scheduler takes that has room for packets which are not there; `owners` are those it tells apart. The
/// lists of others are no longer than their packets.
pub fn memory(kind: &str, values: &Values, owners: usize) -> u64 {
    let size = |key: &str| values.maybe(key).unwrap_or(0.0) as usize;
    match kind {
        "sfq" => sfq::memory(size("divisor")),
        "fq-codel" => fq_codel::memory(size("flows")),
        "htb" => htb::memory(values, owners),
        _ => 0,
    }
}

/// A scheduler over numbered queues.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// One queue, in order of arrival.
    Fifo(VecDeque<Queued>),
    /// The first non-empty queue in order of priority.
    Strict(Strict),
    /// The head with the earliest modified deadline.
    Medf(Medf),
    /// Deficit round robin.
    Drr(Drr),
    /// See [`crate::sfq`].
    Sfq(Box<Sfq>),
    /// See [`crate::fq_codel`].
    FqCodel(Box<FqCodel>),
    /// See [`crate::htb`].
    Htb(Box<Htb>),
    /// See [`crate::tbf`].
    Tbf(Box<Tbf>),
}

impl Scheduler {
    /// The queue of a packet of `flow` that arrives at `now`, where its link tells it from others by `key`: the key itself, or
    /// where it is hashed to.
    #[inline]
    pub fn place(&mut self, key: usize, flow: u32, now: Time) -> usize {
        match self {
            Scheduler::Sfq(s) => s.place(key, now),
            Scheduler::FqCodel(s) => s.place(key),
            Scheduler::Htb(s) => s.place(key, flow, now),
            _ => key,
        }
    }

    /// Takes a packet into queue number `queue`.
    pub fn enqueue(&mut self, queue: usize, item: Queued) {
        match self {
            Scheduler::Fifo(packets) => packets.push_back(item),
            Scheduler::Strict(s) => s.queues[queue].push_back(item),
            Scheduler::Medf(s) => s.queues[queue].push_back(item),
            Scheduler::Drr(s) => s.enqueue(queue, item),
            Scheduler::Sfq(s) => s.enqueue(queue, item),
            Scheduler::FqCodel(s) => s.enqueue(queue, item),
            Scheduler::Htb(s) => s.enqueue(queue, item),
            Scheduler::Tbf(s) => s.enqueue(item),
        }
    }

    /// The packet to send next at `now`, and why it was marked if it was marked here. What is dropped on the way is added to
    /// `gone`. `None` where none waits, or none may be sent before [`Scheduler::next_event`].
    pub fn dequeue(&mut self, now: Time, gone: &mut Vec<Gone>) -> Option<(Queued, Option<Reason>)> {
        let item = match self {
            Scheduler::Fifo(packets) => packets.pop_front(),
            Scheduler::Strict(s) => s.dequeue(),
            Scheduler::Medf(s) => s.dequeue(),
            Scheduler::Drr(s) => s.dequeue(),
            Scheduler::Sfq(s) => s.dequeue(),
            Scheduler::FqCodel(s) => return s.dequeue(now, gone),
            Scheduler::Htb(s) => return s.dequeue(now, gone),
            Scheduler::Tbf(s) => s.dequeue(now),
        };
        item.map(|item| (item, None))
    }

    /// When a scheduler that keeps its packets back may send one, after [`Scheduler::dequeue`] has given none;
    /// [`Time::NEVER`] where an arrival must come first.
    pub fn next_event(&self) -> Time {
        match self {
            Scheduler::Htb(s) => s.next_event(),
            Scheduler::Tbf(s) => s.next_event(),
            _ => Time::NEVER,
        }
    }

    /// Whether it remembers packets that did not have to wait: they must pass it too.
    pub fn sees_all(&self) -> bool {
        matches!(self, Scheduler::FqCodel(_) | Scheduler::Htb(_) | Scheduler::Tbf(_))
    }

    /// Whether it has no room for a packet of `size` bytes bound for `queue` behind the `bytes` that wait, beside the link's
    /// own limit.
    pub fn is_full(&self, queue: usize, bytes: u64, size: u16) -> bool {
        match self {
            Scheduler::FqCodel(s) => s.is_full(bytes, size),
            Scheduler::Htb(s) => s.is_full(queue, size),
            _ => false,
        }
    }

    /// Why a packet of `size` bytes can never be sent, if it cannot.
    #[inline]
    pub fn refuses(&self, size: u16) -> Option<Reason> {
        match self {
            Scheduler::Tbf(s) => s.refuses(size).then_some(Reason::TooLarge),
            _ => None,
        }
    }

    /// Whether [`Scheduler::push_out`] would remove something.
    pub fn can_push_out(&self, queue: usize, size: u16) -> bool {
        match self {
            Scheduler::Drr(s) if s.longest_queue_drop => s.victim(queue, size).is_some(),
            Scheduler::Sfq(s) => s.can_push_out(queue),
            Scheduler::FqCodel(s) => s.can_push_out(queue, size),
            Scheduler::Htb(s) => s.can_push_out(queue, size),
            _ => false,
        }
    }

    /// Makes room for a packet of `size` bytes bound for `queue` by moving others to `gone`: the last packet of the longest
    /// queue, or what the scheduler's own document says. `false` where the newcomer itself must go (its queue would be the
    /// longest, or this scheduler does not push out).
    pub fn push_out(&mut self, queue: usize, size: u16, gone: &mut Vec<Gone>) -> bool {
        match self {
            Scheduler::Drr(s) if s.longest_queue_drop => {
                let item = s.push_out(queue, size);
                gone.extend(item.map(|item| (item, Reason::PushedOut)));
                item.is_some()
            }
            Scheduler::Sfq(s) => s.push_out(queue, gone),
            Scheduler::FqCodel(s) => s.push_out(queue, size, gone),
            Scheduler::Htb(s) => s.push_out(queue, size, gone),
            _ => false,
        }
    }

    /// A packet bound for `queue` was dropped for `reason` instead of being taken.
    pub fn turned_away(&mut self, queue: usize, reason: Reason) {
        if let Scheduler::Htb(s) = self {
            s.turned_away(queue, reason);
        }
    }

    /// An observable by name, at `now`; of a class, where it is HTB's.
    pub fn observe(&self, class: usize, name: &str, now: Time) -> Option<f64> {
        match self {
            Scheduler::Sfq(s) => s.observe(name),
            Scheduler::FqCodel(s) => s.observe(name),
            Scheduler::Htb(s) => s.observe(class, name, now),
            _ => None,
        }
    }

    /// What a scheduler that hashes flows has counted.
    pub fn meetings(&self) -> Option<&Meetings> {
        match self {
            Scheduler::Sfq(s) => Some(&s.meetings),
            Scheduler::FqCodel(s) => Some(&s.meetings),
            _ => None,
        }
    }

    /// Shows all packets that wait, in no order.
    pub fn for_each(&self, mut show: impl FnMut(&Queued)) {
        match self {
            Scheduler::Fifo(packets) => packets.iter().for_each(show),
            Scheduler::Strict(s) => s.queues.iter().flatten().for_each(show),
            Scheduler::Medf(s) => s.queues.iter().flatten().for_each(show),
            Scheduler::Drr(s) => s.queues.iter().flat_map(|q| &q.packets).for_each(show),
            Scheduler::Sfq(s) => s.waiting().for_each(&mut show),
            Scheduler::FqCodel(s) => s.waiting().for_each(&mut show),
            Scheduler::Htb(s) => s.waiting().for_each(&mut show),
            Scheduler::Tbf(s) => s.waiting().for_each(&mut show),
        }
    }
}

/// Strict priority.
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

    fn dequeue(&mut self) -> Option<Queued> {
        self.order.iter().find_map(|&q| self.queues[q].pop_front())
    }
}

/// Modified earliest deadline first (Menth, Schmid, Heiß, Reim 2003; Menth and Zeitler 2018, section III-D2).
#[derive(Clone, Debug)]
pub struct Medf {
    queues: Vec<VecDeque<Queued>>,
    /// Δ of each queue.
    offsets: Vec<Duration>,
    /// Queue numbers by growing offset, so that a tie goes to the more urgent class.
    order: Vec<usize>,
}

impl Medf {
    /// One offset a queue.
    pub fn new(offsets: Vec<Duration>) -> Medf {
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_by_key(|&q| (offsets[q], q));
        Medf { queues: vec![VecDeque::new(); offsets.len()], offsets, order }
    }

    fn dequeue(&mut self) -> Option<Queued> {
        let mut best: Option<(Time, usize)> = None;
        for &q in &self.order {
            if let Some(head) = self.queues[q].front() {
                let deadline = head.at + self.offsets[q];
                if best.is_none_or(|(earliest, _)| deadline < earliest) {
                    best = Some((deadline, q));
                }
            }
        }
        best.and_then(|(_, q)| self.queues[q].pop_front())
    }
}

/// Deficit round robin (Shreedhar and Varghese 1996, section 3), with buffer stealing from the longest queue (section 3.2).
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
    /// Bytes a turn: the scheduler's quantum times the owner's weight.
    quantum: u64,
}

impl Drr {
    /// One queue for each quantum (bytes, at least 1).
    pub fn new(quanta: Vec<u64>, longest_queue_drop: bool) -> Drr {
        let queues =
            quanta.into_iter().map(|q| Backlog { quantum: q.max(1), ..Backlog::default() }).collect();
        Drr { queues, active: VecDeque::new(), served: false, longest_queue_drop }
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        let q = &mut self.queues[queue];
        if q.packets.is_empty() {
            q.deficit = 0;
            self.active.push_back(queue as u32);
        }
        q.bytes += u64::from(item.packet.size);
        q.packets.push_back(item);
    }

    fn dequeue(&mut self) -> Option<Queued> {
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

    fn push_out(&mut self, queue: usize, size: u16) -> Option<Queued> {
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

const PER: Param = Param {
    name: "per",
    ty: Type::Choice(&["class", "user", "flow"]),
    default: Fallback::Text("class"),
    range: Range::ANY,
    source: "docs/scenarios.md",
    doc: "By what packets are told apart.",
};

/// First in, first out.
pub static FIFO: Mechanism = Mechanism {
    kind: "fifo",
    room: Room::Scheduler,
    title: "First in, first out",
    doc: "One queue, in order of arrival.",
    source: "RFC 7567 section 2",
    params: &[],
    observables: &[],
    counters: &[],
    deviations: &[],
};

/// Strict priority.
pub static STRICT: Mechanism = Mechanism {
    kind: "strict",
    room: Room::Scheduler,
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

/// Modified earliest deadline first.
pub static MEDF: Mechanism = Mechanism {
    kind: "medf",
    room: Room::Scheduler,
    title: "Modified earliest deadline first",
    doc: "Sends the head packet with the smallest arrival time plus offset of its class. A class with a large offset waits \
          for others but cannot starve.",
    source: "Menth and Zeitler 2018, section III-D2",
    params: &[
        PER,
        Param {
            name: "offsets",
            ty: Type::DurationPerClass,
            default: Fallback::Required,
            range: Range::NOT_NEGATIVE,
            source: "Menth and Zeitler 2018: Delta_EF = 0, Delta_BE = 2 * Q_max * MTU * 8 / C_b",
            doc: "Offset of each class.",
        },
    ],
    observables: &[],
    counters: &[],
    deviations: &[Deviation {
        what: "A tie goes to the class with the smaller offset.",
        why: "The paper does not say.",
    }],
};

/// Deficit round robin.
pub static DRR: Mechanism = Mechanism {
    kind: "drr",
    room: Room::Scheduler,
    title: "Deficit round robin",
    doc: "Serves queues in turn, each up to its quantum times the weight of its owner, and carries over what is left.",
    source: "Shreedhar and Varghese, IEEE/ACM ToN 1996",
    params: &[
        Param { default: Fallback::Text("user"), ..PER },
        Param {
            name: "quantum",
            ty: Type::Bytes,
            default: Fallback::Text("1500 B"),
            range: Range::FROM_ONE,
            source: "Shreedhar and Varghese 1996, section 3: one packet of largest size keeps the work per packet constant",
            doc: "Bytes a turn for weight 1.",
        },
        Param {
            name: "overflow",
            ty: Type::Choice(&["longest", "arriving"]),
            default: Fallback::Text("longest"),
            range: Range::ANY,
            source: "Shreedhar and Varghese 1996, section 3.2 (buffer stealing)",
            doc: "Who goes when the buffer is full: the last packet of the longest queue, or the arriving one.",
        },
    ],
    observables: &[],
    counters: &[Counter { name: "pushed_out", doc: "Taken out of the longest queue to make room." }],
    deviations: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::Ecn;

    fn item(at: u64, size: u16, id: u64) -> Queued {
        let packet = Packet {
            seq: id,
            label: 0.0,
            flow: 0,
            stamp: 0,
            size,
            payload: size,
            hop: 0,
            class: 0,
            flags: 8,
            ecn: Ecn::NotCapable,
        };
        Queued { packet, at: Time(at), sequence: id }
    }

    fn drain(mut s: Scheduler) -> Vec<u64> {
        std::iter::from_fn(|| s.dequeue(Time(0), &mut Vec::new())).map(|(q, _)| q.packet.seq).collect()
    }

    #[test]
    fn strict_serves_the_urgent_class_first() {
        let mut s = Scheduler::Strict(Strict::new(vec![1, 0]));
        s.enqueue(0, item(0, 100, 1));
        s.enqueue(1, item(5, 100, 2));
        s.enqueue(1, item(6, 100, 3));
        assert_eq!(drain(s), [2, 3, 1]);
    }

    #[test]
    fn medf_serves_best_effort_before_what_came_an_offset_later() {
        // Queue 0 is best effort with an offset of 10, queue 1 expedited with 0.
        let mut s = Scheduler::Medf(Medf::new(vec![Duration(10), Duration(0)]));
        s.enqueue(0, item(0, 100, 1)); // deadline 10
        s.enqueue(1, item(9, 100, 2)); // deadline 9
        s.enqueue(1, item(10, 100, 3)); // deadline 10: a tie, the urgent class wins
        s.enqueue(1, item(11, 100, 4)); // deadline 11: later than best effort's
        assert_eq!(drain(s), [2, 3, 1, 4]);
    }

    #[test]
    fn drr_shares_bytes_not_packets() {
        let mut s = Scheduler::Drr(Drr::new(vec![1500, 1500], true));
        for i in 0..4 {
            s.enqueue(0, item(0, 1500, i));
        }
        for i in 0..8 {
            s.enqueue(1, item(0, 750, 100 + i));
        }
        assert_eq!(drain(s), [0, 100, 101, 1, 102, 103, 2, 104, 105, 3, 106, 107]);
    }

    #[test]
    fn drr_carries_the_deficit_over() {
        // Quantum 1000, packets of 1500: nothing in the first round, one in the second with 500 left.
        let mut s = Drr::new(vec![1000, 1000], true);
        s.enqueue(0, item(0, 1500, 1));
        s.enqueue(0, item(0, 1500, 2));
        s.enqueue(1, item(0, 400, 3));
        assert_eq!(s.dequeue().unwrap().packet.seq, 3);
        assert_eq!(s.dequeue().unwrap().packet.seq, 1);
        assert_eq!(s.queues[0].deficit, 500);
        assert_eq!(s.dequeue().unwrap().packet.seq, 2);
        assert!(s.dequeue().is_none());
    }

    #[test]
    fn drr_pushes_out_of_the_longest_queue() {
        let mut s = Scheduler::Drr(Drr::new(vec![1500, 1500], true));
        for i in 0..3 {
            s.enqueue(0, item(0, 1500, i));
        }
        let mut gone = Vec::new();
        assert!(s.push_out(1, 1500, &mut gone));
        assert_eq!((gone[0].0.packet.seq, gone[0].1), (2, Reason::PushedOut));
        assert!(!s.push_out(0, 1500, &mut gone), "the newcomer's own queue is the longest");
        assert_eq!(gone.len(), 1);
    }

    #[test]
    fn a_queue_emptied_by_pushing_out_can_come_back() {
        let mut s = Drr::new(vec![1500, 1500], true);
        s.enqueue(0, item(0, 1500, 1));
        assert_eq!(s.push_out(1, 100).unwrap().packet.seq, 1);
        assert!(s.dequeue().is_none());
        s.enqueue(0, item(0, 1500, 2));
        assert_eq!(s.active.len(), 1);
        assert_eq!(s.dequeue().unwrap().packet.seq, 2);
    }
}
