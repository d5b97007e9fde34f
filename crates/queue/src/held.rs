//! Waiting packets, what schedulers have in common, and what they count.

use std::sync::Arc;

use evenflow_base::params::Key;
use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Value, Values};
use evenflow_base::{Carried, Packet, Rate, Reason, Share, Stream, Time, Verdict};

use crate::rule::LinkFacts;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// When it was accepted.
    pub at: Time,
}

/// A packet that was held and is dropped, and why.
pub type Dropped = (Queued, Reason);

/// A packet that leaves its queue, and why it was marked, if it was marked on its way out.
pub type Sent = (Queued, Option<Reason>);

/// The owners of a scheduler's queues.
#[derive(Clone, Debug)]
pub struct Served<'a> {
    /// The link, with all traffic classes.
    pub link: LinkFacts<'a>,
    /// A user or flow for each queue, in the order of the queues' numbers. With a queue per class: an owner for each class.
    pub owners: &'a [Owner],
    /// By flow: what a hash tells flows apart by.
    pub keys: Arc<[u32]>,
    /// Salts of hashes.
    pub hash: &'a Stream,
    /// The scheduler's own stream.
    pub draws: &'a Stream,
}

/// A user, flow or class with its own queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    /// Scales its share.
    pub weight: f64,
    /// The parameter `each` of a scheduler that has one, drawn for this owner.
    pub each: Option<Arc<Values>>,
}

/// Facts about a packet outside the packet: its flow's addresses and its TCP options.
pub trait FlowTable {
    /// Its source and destination hosts.
    fn hosts(&self, packet: &Packet) -> (u32, u32);

    /// Its DSCP (RFC 2474).
    fn dscp(&self, packet: &Packet) -> u8;

    /// The options that it carries.
    fn options(&self, packet: &Packet) -> &Carried;
}

/// Of packets without flows: one host, best effort, no options.
impl FlowTable for () {
    fn hosts(&self, _packet: &Packet) -> (u32, u32) {
        (0, 0)
    }

    fn dscp(&self, _packet: &Packet) -> u8 {
        0
    }

    fn options(&self, _packet: &Packet) -> &Carried {
        Carried::NONE
    }
}

/// The observable of the random number of a decision.
pub const DRAW: &str = "draw";

/// Values of a queue when it dropped or marked a leaving packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When.
    pub at: Time,
    /// By observable.
    pub values: Vec<(&'static str, f64)>,
}

/// Notes, if a series asks for them.
pub type Notes = Option<Box<Vec<Note>>>;

/// Notes the values of all observables of `table`, and the number that was drawn.
#[cold]
#[inline(never)]
pub(crate) fn note(
    notes: &mut Notes,
    table: &Mechanism,
    at: Time,
    value: impl Fn(&'static str) -> Option<f64>,
) {
    if let Some(notes) = notes {
        let names = table.observables.iter().map(|observable| observable.name).chain([DRAW]);
        notes.push(Note { at, values: names.filter_map(|name| Some((name, value(name)?))).collect() });
    }
}

/// A scheduler. Only the methods that store packets have no default; [`crate::fifo`] is the shortest example.
///
/// Between [`Schedule::place`] and [`Schedule::enqueue`] other packets may be pushed out.
pub trait Schedule: std::fmt::Debug + Send {
    /// Takes a packet into queue number `queue`.
    fn enqueue(&mut self, queue: usize, item: Queued);

    /// The packet to send next at `now`; dropped packets are added to `dropped`. `None`: no packet waits, or
    /// none may leave before [`Schedule::next_event`].
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent>;

    /// Shows all packets that wait, in no order.
    fn for_each(&self, show: &mut dyn FnMut(&Queued));

    /// Notes values at drops and marks of leaving packets from now on, if it makes them.
    fn watch(&mut self) {}

    /// Those, in order of time.
    fn notes(&self) -> &[Note] {
        &[]
    }

    /// The queue of a packet with `key`: the key itself or its hash.
    #[inline]
    fn place(&mut self, key: usize, _packet: &Packet, _flows: &dyn FlowTable, _now: Time) -> usize {
        key
    }

    /// When the scheduler's own clock ticks next; [`Time::NEVER`] for one without a clock.
    #[inline]
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The clock ticks, at [`Schedule::next_tick`]. A packet that begins its transmission at that instant waits no longer; one that
    /// arrives at it is not there yet.
    fn tick(&mut self, _now: Time) {}

    /// From now on packets of `flow` are sorted by `key` where a queue within hashes flows: of a flow that [`Served::keys`] did
    /// not know.
    fn introduce(&mut self, _flow: u32, _key: u32) {}

    /// Gives the queue of packets with that key another share at `now`. `false`: it has none to give.
    fn share(&mut self, _key: usize, _share: &Share, _now: Time, _dropped: &mut Vec<Dropped>) -> bool {
        false
    }

    /// Whether a packet with that key has a queue.
    fn has(&self, _key: usize) -> bool {
        true
    }

    /// When it may send one of the packets that it keeps back, after [`Schedule::dequeue`] has given none; [`Time::NEVER`] where
    /// an arrival must come first.
    fn next_event(&self) -> Time {
        Time::NEVER
    }

    /// [`Schedule::next_event`], if [`Schedule::dequeue`] is known to return and change nothing at `now`.
    #[inline]
    fn blocked_until(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Whether it remembers packets that did not have to wait: they must pass it too.
    fn sees_all(&self) -> bool {
        false
    }

    /// Whether a limit other than the link's refuses a packet of `size` bytes in `queue`, with `bytes` in the
    /// backlog.
    fn is_full(&self, _queue: usize, _bytes: u64, _size: u16) -> bool {
        false
    }

    /// Why a packet of `size` bytes can never be sent, if it cannot.
    #[inline]
    fn refuses(&self, _size: u16) -> Option<Reason> {
        None
    }

    /// A rule within, if there is one: decides on a packet bound for `queue` that the rule before the scheduler has let pass.
    #[inline]
    fn admit(&mut self, _queue: usize, _packet: &mut Packet, _now: Time) -> Verdict {
        Verdict::Accept
    }

    /// Whether [`Schedule::push_out`] would remove something.
    fn can_push_out(&self, _queue: usize, _size: u16) -> bool {
        false
    }

    /// Makes room for a packet of `size` bytes bound for `queue` by moving others to `dropped`. `false` where the newcomer itself
    /// must go.
    fn push_out(&mut self, _queue: usize, _size: u16, _dropped: &mut Vec<Dropped>) -> bool {
        false
    }

    /// A packet bound for `queue` was dropped for `reason` instead of being taken.
    fn turned_away(&mut self, _queue: usize, _reason: Reason) {}

    /// An observable by name, at `now`.
    fn observe(&self, _name: &str, _now: Time) -> Option<f64> {
        None
    }

    /// An observable of a node of a tree, by name: classes and leaves, as in [`Schedule::nodes`].
    fn observe_node(&self, _node: usize, _name: &str, _now: Time) -> Option<f64> {
        None
    }

    /// The counters of a scheduler that hashes flows.
    fn hash_stats(&self) -> Option<&HashStats> {
        None
    }

    /// Bytes on the heap, packets included.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// The most bytes that one packet may add to these, packets not counted: those of a class's queue.
    fn heap_step(&self) -> u64 {
        0
    }

    /// How many nodes its tree has: classes with names first, in their order, then the leaves of users or flows.
    fn nodes(&self) -> usize {
        0
    }

    /// The counters of a tree's nodes, in order of their first packet.
    fn node_counts(&self) -> &[NodeCounts] {
        &[]
    }

    /// Which of these counts is that node's; `None`: it has none, for no packet has come to it.
    fn count_of(&self, _node: usize) -> Option<usize> {
        None
    }
}

/// A scheduler that scenarios name: its table, and how it is made.
pub trait Kind: Schedule + Sized {
    /// Without packets, from decoded values, for those whom it serves.
    fn build(values: &Values, served: &Served) -> Result<Self, Vec<Problem>>;

    /// Takes over the parameters of `other`, a new scheduler, at `now`. The backlog and credits stay. Packets
    /// that could never leave are added to `dropped`. The caller must then ask for the next packet again.
    fn adopt(&mut self, _other: Self, _now: Time, _dropped: &mut Vec<Dropped>) {}

    /// It is in the place of `old`, from which all packets were taken: goes on with its counts.
    fn succeed(&mut self, _old: &Self) {}

    /// Errors in the combination of several parameters.
    fn check(_values: &Values) -> Vec<Problem> {
        Vec::new()
    }

    /// Errors on a link whose rate is never more than `rate`.
    fn check_link(_values: &Values, _rate: Rate) -> Vec<Problem> {
        Vec::new()
    }

    /// The limit that its parameters imply, if they do.
    fn limit(_values: &Values) -> Option<Value> {
        None
    }

    /// Whether it marks ECN-capable packets with these parameters; some may be missing.
    fn marks(_values: &Values) -> bool {
        false
    }
}

/// A queue discipline inside a scheduler's class, with its own limit and rule.
pub trait Nested: std::fmt::Debug + Send {
    /// Its parameters.
    type Params;

    /// Without packets, of a class that may send at `rate`; `hash` salts its hashes.
    fn nested(params: &Self::Params, rate: Rate, hash: &Stream) -> Self;

    /// Sets the limit from `params`. The backlog stays.
    fn limit(&mut self, params: &Self::Params);

    /// Waiting packets.
    fn packets(&self) -> u32;

    /// Their bytes.
    fn bytes(&self) -> u64;

    /// See [`Schedule::place`].
    fn place(&mut self, key: usize, packet: &Packet, flows: &dyn FlowTable, now: Time) -> usize;

    /// Whether a packet of `size` bytes does not fit into `queue`.
    fn is_full(&self, queue: usize, size: u16) -> bool;

    /// See [`Schedule::admit`].
    fn admit(&mut self, queue: usize, packet: &mut Packet, now: Time) -> Verdict;

    /// See [`Schedule::can_push_out`].
    fn can_push_out(&self, queue: usize, size: u16) -> bool;

    /// See [`Schedule::push_out`].
    fn push_out(&mut self, queue: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool;

    /// See [`Schedule::enqueue`].
    fn enqueue(&mut self, queue: usize, item: Queued);

    /// See [`Schedule::dequeue`].
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent>;

    /// See [`Schedule::for_each`].
    fn for_each(&self, show: &mut dyn FnMut(&Queued));

    /// See [`Schedule::heap_bytes`].
    fn heap_bytes(&self) -> u64;
}

/// Counters of a scheduler that hashes flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashStats {
    /// Packets that came to where another flow's packet had come last and packets waited.
    pub collisions: u64,
    /// How often an inactive queue became a new one.
    pub new_flows: u64,
    /// Packets pushed out.
    pub pushed_out: u64,
}

impl HashStats {
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

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Tally {
    /// One more, of `size` bytes.
    #[inline]
    pub fn add(&mut self, size: u16) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// Counters of a class or leaf of HTB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCounts {
    /// Packets sent by it or by a leaf below it.
    pub sent: Tally,
    /// Of that, with its own tokens (`lends`).
    pub lent: Tally,
    /// Of that, with those of a node above it (`borrows`). The rest was sent with the tokens of a node below it.
    pub borrowed: Tally,
    /// Packets dropped at a leaf, by reason.
    pub drops: [u64; Reason::ALL.len()],
}

impl Default for NodeCounts {
    fn default() -> NodeCounts {
        let none = Tally::default();
        NodeCounts { sent: none, lent: none, borrowed: none, drops: [0; Reason::ALL.len()] }
    }
}

impl NodeCounts {
    /// A counter by its name among the observables.
    pub fn named(&self, name: &str) -> Option<u64> {
        Some(match name {
            "sent_packets" => self.sent.packets,
            "sent_bytes" => self.sent.bytes,
            "lent_packets" => self.lent.packets,
            "lent_bytes" => self.lent.bytes,
            "borrowed_packets" => self.borrowed.packets,
            "borrowed_bytes" => self.borrowed.bytes,
            "drops" => self.drops.iter().sum(),
            _ => return None,
        })
    }
}

/// Whether an observable of a scheduler is a count of what has been: its series gives the increase, a record what came in the
/// window.
pub fn is_counter(name: &str) -> bool {
    NodeCounts::default().named(name).or(HashStats::default().named(name)).is_some()
}

/// The observable of that name.
pub(crate) const COLLISIONS: &str =
    "Packets that found packets in their queue when another flow's packet arrived last. Counter.";

/// The observable of that name.
pub(crate) const NEW_FLOWS: &str = "Number of times a packet made its queue a new one (tc: new_flow_count). Counter: a \
                                    series shows the increase per interval.";

/// The observable of that name.
pub(crate) const PUSHED_OUT: &str = "Packets pushed out of a full buffer. Counter.";

words! {
    /// By what a scheduler sorts packets into queues.
    pub enum Per {
        /// By traffic class.
        Class = "class",
        /// By user.
        User = "user",
        /// By flow.
        Flow = "flow",
    }
}

impl Per {
    /// The parameter of every scheduler that has several queues.
    pub const KEY: Key<Per> = Key::new(PER);
}

/// The parameter of schedulers with several queues.
pub(crate) const PER: Param = Param {
    name: "per",
    ty: Per::TYPE,
    default: Fallback::Text("class"),
    range: Range::ANY,
    source: "docs/scenarios.md",
    doc: "Key that sorts packets into queues.",
};

/// The numbers of all packets that a scheduler sends, in its order, where it may send them at once.
#[cfg(test)]
pub(crate) fn drained(mut scheduler: impl Schedule) -> Vec<u64> {
    std::iter::from_fn(|| scheduler.dequeue(Time(0), &mut Vec::new())).map(|(q, _)| q.packet.seq).collect()
}
