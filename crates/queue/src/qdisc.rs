//! The queue discipline of a link: admission rule, limit and scheduler.
//!
//! ```text
//! offer: clock → place → rule → push out → hold        next: clock → scheduler → rule → to the wire
//! ```
//!
//! Packets enter with [`Qdisc::offer`]. The owner of the transmitter calls [`Qdisc::next`] when it is free.
//! Simulated links, tests, Python, real packets and HTB's classes ([`Nested`]) use the same object. A
//! simulated FIFO link has a shortcut without events, which shares the [`Gate`].

use evenflow_base::{Packet, Rate, Reason, Share, Stream, Time, Verdict};

use crate::admission::Admission;
use crate::codel::Codel;
use crate::droptail::{DropTail, Limit};
use crate::fq_codel::FqCodel;
use crate::held::{DRAW, Dropped, FlowTable, Nested, Note, Notes, Queued, Sent, note};
use crate::htb::{Discipline, LeafParams};
use crate::rule::{Occupancy, RESTS_EVERY};
use crate::scheduler::Scheduler;
use crate::sfq::Sfq;

/// Admission of packets: rule, limit and backlog.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The rule.
    pub rule: Admission,
    /// How much may wait.
    pub limit: Limit,
    /// The rule's own stream.
    pub stream: Stream,
    /// Waiting packets.
    pub packets: u32,
    /// Waiting bytes.
    pub bytes: u64,
    /// The link's rate now; absent: pure delay.
    pub rate: Option<Rate>,
    /// A series records the random numbers of decisions.
    pub watched: bool,
    /// That of the last decision, if it drew one.
    drawn: Option<f64>,
}

impl Gate {
    /// With nothing behind it.
    pub fn new(rule: Admission, limit: Limit, stream: Stream, rate: Option<Rate>) -> Gate {
        Gate { rule, limit, stream, packets: 0, bytes: 0, rate, watched: false, drawn: None }
    }

    /// The backlog as a rule sees it.
    #[inline]
    pub fn occupancy(&self, full: bool, idle_since: Option<Time>) -> Occupancy {
        Occupancy { packets: self.packets, bytes: self.bytes, rate: self.rate, full, idle_since }
    }

    /// Whether a packet of `size` bytes does not fit into the backlog.
    #[inline]
    pub fn is_full(&self, size: u16) -> bool {
        self.limit.is_full(self.packets, self.bytes, size, self.rate)
    }

    /// Asks the rule; its clock must have been brought to `now`.
    #[inline]
    pub fn ask(&mut self, packet: &mut Packet, now: Time, full: bool, idle_since: Option<Time>) -> Verdict {
        let seen = self.occupancy(full, idle_since);
        if self.watched {
            return self.ask_watched(packet, now, &seen);
        }
        self.rule.admit(packet, now, &seen, &mut self.stream)
    }

    /// The same, and notes the number that the rule draws.
    #[cold]
    #[inline(never)]
    fn ask_watched(&mut self, packet: &mut Packet, now: Time, seen: &Occupancy) -> Verdict {
        let mut before = self.stream.clone();
        let verdict = self.rule.admit(packet, now, seen, &mut self.stream);
        self.drawn = (before != self.stream).then(|| before.open01());
        verdict
    }

    /// One packet of `size` bytes more waits.
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// One packet of `size` bytes less waits.
    #[inline]
    pub fn remove(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }

    fn remove_all(&mut self, dropped: &[Dropped]) {
        for (item, _) in dropped {
            self.remove(u32::from(item.packet.size));
        }
    }

    /// The value of an observable: of the queue itself or of its rule.
    pub fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "packets" => Some(f64::from(self.packets)),
            "bytes" => Some(self.bytes as f64),
            "wait" => Some(self.occupancy(false, None).wait()),
            DRAW => self.rule.observe(DRAW).or(self.drawn),
            _ => self.rule.observe(name),
        }
    }
}

/// A change during a run.
#[derive(Debug)]
pub enum Setting {
    /// The link's rate from now on, which a limit in time and many rules depend on.
    LinkRate(Rate),
    /// A new limit. The backlog stays.
    Limit(Limit),
    /// New parameters of the scheduler, as a scheduler of the same kind. The backlog stays.
    Change(Box<Scheduler<Qdisc>>),
    /// A new scheduler. The backlog is dropped.
    Replace(Box<Scheduler<Qdisc>>),
    /// The share of packets with this key.
    Share(usize, Share),
}

/// The answer of [`Qdisc::next`] to the transmitter.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// This packet, and why it was marked, if it was marked on its way out.
    Packet(Queued, Option<Reason>),
    /// Nothing before this instant: packets wait, but none may leave yet.
    At(Time),
    /// Nothing before a packet arrives.
    Nothing,
}

/// The packet on the wire.
#[derive(Clone, Copy, Debug)]
struct Sending {
    size: u16,
    since: Time,
}

/// A queue discipline.
#[derive(Debug)]
pub struct Qdisc {
    gate: Gate,
    scheduler: Scheduler<Qdisc>,
    /// When the clock of rule or scheduler ticks next.
    tick: Time,
    /// Rule or scheduler must see every packet leave, also one that need not wait.
    sees_all: bool,
    /// A packet that finds the transmitter free and need not be seen: it goes out with the next call.
    passing: Option<Queued>,
    /// The packet on the wire; absent: the transmitter is free.
    sending: Option<Sending>,
    /// When the transmitter became free.
    free_since: Time,
    /// Values at drops and marks of leaving packets by the rule.
    notes: Notes,
}

impl Qdisc {
    /// Without packets; the transmitter has been free since the beginning of time.
    pub fn new(gate: Gate, scheduler: Scheduler<Qdisc>) -> Qdisc {
        let sees_all = gate.rule.sees_dequeue() || scheduler.sees_all();
        let tick = gate.rule.next_tick().min(scheduler.next_tick());
        Qdisc {
            gate,
            scheduler,
            tick,
            sees_all,
            passing: None,
            sending: None,
            free_since: Time::ZERO,
            notes: None,
        }
    }

    /// Notes values of decisions for series: random numbers, and all values at drops and marks of leaving packets.
    pub fn watch(&mut self) {
        self.gate.watched = true;
        self.notes = Some(Box::default());
        self.scheduler.watch();
    }

    /// Values at drops and marks of leaving packets, in order of time.
    pub fn notes(&self) -> &[Note] {
        self.notes.as_ref().filter(|notes| !notes.is_empty()).map_or(self.scheduler.notes(), |notes| notes)
    }

    fn note(&mut self, now: Time) {
        let rule = &self.gate.rule;
        note(&mut self.notes, rule.table(), now, |name| rule.observe(name));
    }

    /// The same, where every packet waits until it is asked for, even behind a free transmitter.
    pub fn holding_all(self) -> Qdisc {
        Qdisc { sees_all: true, ..self }
    }

    /// A packet of no flow arrives at `item.at`; its link tells it from others by `key`. Says what becomes of it; what is pushed
    /// out to make room is added to `dropped`. If the transmitter is free, [`Qdisc::next`] is to be called.
    #[inline]
    pub fn offer(&mut self, item: Queued, key: usize, dropped: &mut Vec<Dropped>) -> Verdict {
        let queue = self.place(key, &item.packet, &(), item.at);
        self.enter(item, queue, dropped, |_, _, _| {})
    }

    /// The queue of a packet that arrives at `now`, and that its link tells from others by `key`. [`Qdisc::enter`] follows.
    #[inline]
    pub fn place(&mut self, key: usize, packet: &Packet, flows: &dyn FlowTable, now: Time) -> usize {
        self.advance(now);
        self.scheduler.place(key, packet, flows, now)
    }

    /// A packet bound for `queue` enters; `show` sees it when it has been decided on and does not wait yet. See [`Qdisc::offer`].
    pub fn enter(
        &mut self,
        mut item: Queued,
        queue: usize,
        dropped: &mut Vec<Dropped>,
        show: impl FnOnce(&Qdisc, &mut Packet, Verdict),
    ) -> Verdict {
        let verdict = self.decide(queue, &mut item.packet, item.at, dropped);
        show(self, &mut item.packet, verdict);
        match verdict {
            Verdict::Drop(reason) => self.scheduler.turned_away(queue, reason),
            _ if self.is_occupied() || self.sees_all => self.hold(queue, item),
            _ => self.passing = Some(item),
        }
        verdict
    }

    /// The rule decides before a packet is pushed out. It sees a queue with free space if another packet can
    /// be pushed out.
    fn decide(
        &mut self,
        queue: usize,
        packet: &mut Packet,
        now: Time,
        dropped: &mut Vec<Dropped>,
    ) -> Verdict {
        let size = packet.size;
        if let Some(reason) = self.scheduler.refuses(size) {
            return Verdict::Drop(reason);
        }
        let mut lacks_room = self.lacks_room(queue, size);
        let full = lacks_room && !self.scheduler.can_push_out(queue, size);
        let verdict = match self.gate.ask(packet, now, full, self.idle_since()) {
            Verdict::Drop(reason) => return Verdict::Drop(reason),
            passed => match self.scheduler.admit(queue, packet, now) {
                Verdict::Accept => passed,
                within => within,
            },
        };
        while lacks_room && !verdict.is_drop() {
            let before = dropped.len();
            let did = self.scheduler.push_out(queue, size, dropped);
            self.gate.remove_all(&dropped[before..]);
            if !did {
                return Verdict::Drop(Reason::Limit);
            }
            lacks_room = self.lacks_room(queue, size);
        }
        verdict
    }

    /// See [`Schedule::introduce`](crate::held::Schedule::introduce).
    pub fn introduce(&mut self, flow: u32, key: u32) {
        self.scheduler.introduce(flow, key);
    }

    /// Ends the transmission at `now` and returns the next packet that may leave. Dropped packets are added
    /// to `dropped`.
    pub fn next(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Next {
        self.pause(now);
        let next = match self.passing.take() {
            Some(item) => Some((item, None)),
            None => self.take(now, dropped),
        };
        match next {
            Some((item, mark)) => {
                self.sending = Some(Sending { size: item.packet.size, since: now });
                Next::Packet(item, mark)
            }
            None if self.gate.packets == 0 => Next::Nothing,
            None => match self.scheduler.next_event() {
                Time::NEVER => Next::Nothing,
                at => Next::At(at),
            },
        }
    }

    /// Ends the transmission at `now`; the next one begins with [`Qdisc::next`].
    #[inline]
    pub fn pause(&mut self, now: Time) {
        // A clock that ticks at this instant ticks after everything else that happens at it.
        self.advance(Time(now.0.saturating_sub(1)));
        if let Some(sent) = self.sending.take() {
            self.gate.rule.departed(sent.size, now.since(sent.since), now);
            self.free_since = now;
        }
    }

    /// When [`Qdisc::next`] may return a packet, if it is known to return none at `now`. The transmitter is free.
    #[inline]
    pub fn blocked_until(&self, now: Time) -> Option<Time> {
        self.scheduler.blocked_until(now)
    }

    /// The first that scheduler and rule let go.
    fn take(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        loop {
            let before = dropped.len();
            let served = self.scheduler.dequeue(now, dropped);
            self.gate.remove_all(&dropped[before..]);
            let Some((mut item, mark)) = served else {
                if self.gate.packets == 0 {
                    self.gate.rule.emptied();
                }
                return None;
            };
            self.gate.remove(u32::from(item.packet.size));
            if !self.sees_all {
                return Some((item, mark));
            }
            let seen = self.gate.occupancy(false, None);
            match self.gate.rule.on_dequeue(&mut item.packet, item.at, now, &seen) {
                Verdict::Accept => return Some((item, mark)),
                Verdict::Mark(reason) => {
                    self.note(now);
                    return Some((item, Some(reason)));
                }
                Verdict::Drop(reason) => {
                    self.note(now);
                    dropped.push((item, reason));
                }
            }
        }
    }

    fn hold(&mut self, queue: usize, item: Queued) {
        self.gate.add(u32::from(item.packet.size));
        self.scheduler.enqueue(queue, item);
    }

    /// Lets the clocks tick up to and including `now`; nothing has changed since the last call.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if self.tick <= now {
            self.run_clocks(now);
        }
    }

    /// Apart, so that packets between two ticks keep their registers.
    #[inline(never)]
    fn run_clocks(&mut self, now: Time) {
        let mut ticks = 0_u32;
        while self.tick <= now {
            let at = self.tick;
            if self.gate.rule.next_tick() == at {
                let seen = self.gate.occupancy(false, self.idle_since());
                self.gate.rule.tick(at, &seen);
                ticks = ticks.wrapping_add(1);
                if ticks.is_multiple_of(RESTS_EVERY) {
                    self.gate.rule.rest(&seen, now.min(self.scheduler.next_tick()));
                }
            }
            if self.scheduler.next_tick() == at {
                self.scheduler.tick(at);
            }
            self.set_clock();
        }
    }

    fn set_clock(&mut self) {
        self.tick = self.gate.rule.next_tick().min(self.scheduler.next_tick());
    }

    /// Changes a setting at `now`; dropped packets are added to `dropped`. If the transmitter is free, call
    /// [`Qdisc::next`] afterwards.
    pub fn set(&mut self, setting: Setting, now: Time, dropped: &mut Vec<Dropped>) {
        self.advance(Time(now.0.saturating_sub(1)));
        let before = dropped.len();
        match setting {
            Setting::LinkRate(rate) => self.gate.rate = Some(rate),
            Setting::Limit(limit) => self.gate.limit = limit,
            Setting::Change(scheduler) => self.scheduler.adopt(*scheduler, now, dropped),
            Setting::Replace(scheduler) => self.scheduler.replace(*scheduler, dropped),
            Setting::Share(key, share) => {
                self.scheduler.share(key, &share, now, dropped);
            }
        }
        self.gate.remove_all(&dropped[before..]);
        self.set_clock();
    }

    /// Whether a packet of `size` bytes does not fit into `queue`. A free transmitter takes any packet.
    fn lacks_room(&self, queue: usize, size: u16) -> bool {
        (self.is_occupied() || self.gate.packets > 0)
            && (self.gate.is_full(size) || self.scheduler.is_full(queue, self.gate.bytes, size))
    }

    /// Since when there has been nothing to do.
    fn idle_since(&self) -> Option<Time> {
        (!self.is_occupied() && self.gate.packets == 0).then_some(self.free_since)
    }

    /// Whether a packet is on the wire.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.sending.is_some()
    }

    /// Whether an arriving packet must wait for another, though none may wait yet.
    fn is_occupied(&self) -> bool {
        self.is_busy() || self.passing.is_some()
    }

    /// Waiting packets.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.gate.packets
    }

    /// Bytes on the heap: rule, scheduler and waiting packets.
    pub fn heap_bytes(&self) -> u64 {
        self.gate.rule.heap_bytes() + self.scheduler.heap_bytes()
    }

    /// Whether a packet that its link tells from others by `key` has a queue.
    pub fn has(&self, key: usize) -> bool {
        self.scheduler.has(key)
    }

    /// The scheduler, for what it has counted.
    pub fn scheduler(&self) -> &Scheduler<Qdisc> {
        &self.scheduler
    }

    /// The value of an observable at `now`: of the queue, its rule, its scheduler, or a node of the
    /// scheduler. Advance the clock to `now` first.
    pub fn observe(&self, node: Option<usize>, name: &str, now: Time) -> Option<f64> {
        match node {
            None => self.gate.observe(name).or_else(|| self.scheduler.observe(name, now)),
            Some(node) => self.scheduler.observe_node(node, name, now),
        }
    }

    /// Shows all packets that wait, in no order.
    pub fn for_each(&self, mut show: impl FnMut(&Queued)) {
        self.scheduler.for_each(&mut show);
    }
}

/// In a class of a tree: the tree has the transmitter, so that there always is something to wait for.
impl Nested for Qdisc {
    type Params = LeafParams;

    fn nested(params: &LeafParams, rate: Rate, hash: &Stream) -> Qdisc {
        let droptail = || Admission::DropTail(Box::new(DropTail));
        let fifo = || Scheduler::Fifo(Box::default());
        let (rule, scheduler) = match params.discipline {
            Discipline::Fifo => (droptail(), fifo()),
            Discipline::Sfq(sfq) => (droptail(), Scheduler::Sfq(Box::new(Sfq::new(sfq, hash.clone())))),
            Discipline::Codel(codel) => (Admission::Codel(Box::new(Codel::new(codel))), fifo()),
            Discipline::FqCodel(params) => {
                let queues = Scheduler::FqCodel(Box::new(FqCodel::new(params, hash.clone())));
                (droptail(), queues)
            }
        };
        Qdisc::new(Gate::new(rule, params.limit, hash.clone(), Some(rate)), scheduler)
    }

    fn limit(&mut self, params: &LeafParams) {
        self.gate.limit = params.limit;
    }

    fn packets(&self) -> u32 {
        self.gate.packets
    }

    fn bytes(&self) -> u64 {
        self.gate.bytes
    }

    fn place(&mut self, key: usize, packet: &Packet, flows: &dyn FlowTable, now: Time) -> usize {
        self.scheduler.place(key, packet, flows, now)
    }

    fn is_full(&self, queue: usize, size: u16) -> bool {
        self.gate.is_full(size) || self.scheduler.is_full(queue, self.gate.bytes, size)
    }

    /// There is room: the outer discipline has seen to it, or will.
    #[inline(never)]
    fn admit(&mut self, queue: usize, packet: &mut Packet, now: Time) -> Verdict {
        self.advance(now);
        match self.gate.ask(packet, now, false, None) {
            Verdict::Accept => self.scheduler.admit(queue, packet, now),
            verdict => verdict,
        }
    }

    fn can_push_out(&self, queue: usize, size: u16) -> bool {
        self.scheduler.can_push_out(queue, size)
    }

    fn push_out(&mut self, queue: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool {
        let before = dropped.len();
        let did = self.scheduler.push_out(queue, size, dropped);
        self.gate.remove_all(&dropped[before..]);
        did
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.hold(queue, item);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        self.advance(Time(now.0.saturating_sub(1)));
        self.take(now, dropped)
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.scheduler.for_each(show);
    }

    fn heap_bytes(&self) -> u64 {
        Qdisc::heap_bytes(self)
    }
}
