//! The link: its transmitter, its queue, and what it needs of its surroundings.

use evenflow_base::{Duration, Fine, Packet, Rate, Reason, Time, Verdict};
use evenflow_queue::{FlowTable, Note, Queued, Setting};

use crate::counters::{ClassCounters, Lengths, PortCounters, SideCounters, Window};
use crate::{Fifo, Scheduled};

/// The surroundings of a link: the flow table, the far end, and probes.
pub trait Surroundings: FlowTable {
    /// Whether decisions and marks must be reported.
    fn watches(&self) -> bool;

    /// The queue of a packet, or the key that its scheduler hashes.
    fn key(&self, packet: &Packet) -> usize;

    /// The hash key of a packet's flow, if the flow was opened during the run.
    fn opened(&self, packet: &Packet) -> Option<u32>;

    /// An arriving packet was decided on and does not wait yet; `observe` reads the queue.
    fn decided(
        &mut self,
        packet: &Packet,
        verdict: Verdict,
        observe: &dyn Fn(Option<u32>, &str) -> Option<f64>,
        now: Time,
    );

    /// A packet was marked as it left the queue.
    fn marked(&mut self, packet: &Packet, reason: Reason, now: Time);

    /// A packet will be lost on the link: it travels on, and is dropped at the far end.
    fn lose(&mut self, packet: &mut Packet);

    /// A packet was dropped, while `waiting` others were in the queue.
    fn dropped(&mut self, packet: &Packet, reason: Reason, waiting: u32, now: Time);

    /// A packet reaches the far end at `arrival`.
    fn deliver(&mut self, packet: &Packet, arrival: Time);
}

/// The counters that all copies of a link share, and the window.
#[derive(Debug)]
pub struct Account<'a> {
    /// Of all copies in this direction.
    pub side: &'a mut SideCounters,
    /// The measuring window.
    pub window: &'a Window,
}

impl Account<'_> {
    /// The same, for one call.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> Account<'_> {
        Account { side: self.side, window: self.window }
    }

    /// Adds one to a counter of class `class`, inside the window.
    fn count(&mut self, class: u8, now: Time, counter: impl FnOnce(&mut ClassCounters) -> &mut u64) {
        *counter(&mut self.side.by_class[usize::from(class)]) += u64::from(self.window.holds(now));
    }
}

/// A call of a link: its instant, and what it acts on.
pub(crate) struct Call<'a, S> {
    pub(crate) now: Time,
    pub(crate) wire: &'a mut Wire,
    pub(crate) account: Account<'a>,
    pub(crate) around: &'a mut S,
}

impl<S: Surroundings> Call<'_, S> {
    /// Counts a packet that will not be counted whole.
    pub(crate) fn count_arrival(&mut self, class: u8) {
        self.account.count(class, self.now, |counters| &mut counters.other_arrived);
    }

    /// Counts a mark.
    pub(crate) fn count_mark(&mut self, class: u8, reason: Reason) {
        self.wire.counters.marks += 1;
        self.account.count(class, self.now, |counters| &mut counters.marks[reason as usize]);
    }

    /// Drops a packet, while `waiting` others are in the queue.
    pub(crate) fn drop(&mut self, packet: &Packet, reason: Reason, waiting: u32) {
        self.wire.count_drop(packet.class, reason, self.now, self.account.lend());
        self.around.dropped(packet, reason, waiting, self.now);
    }
}

/// The transmitter and the line behind it, with their counters.
#[derive(Debug)]
pub struct Wire {
    /// When the transmitter is free.
    pub free_at: Fine,
    /// How long a byte takes; zero: pure delay.
    pub byte_time: Fine,
    /// Propagation delay; with jitter or retransmission, that of the last packet.
    pub delay: Duration,
    /// Counters of this copy.
    pub counters: PortCounters,
}

/// When a transmission begins and ends, in whole nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    began: Time,
    pub(crate) ended: Time,
}

impl Wire {
    /// When the transmitter is ready for a packet that may leave from `now` on, exactly and in whole nanoseconds.
    #[inline(always)]
    pub(crate) fn ready(&self, free: Time, now: Time) -> (Fine, Time) {
        if free > now { (self.free_at, free) } else { (Fine::at(now), now) }
    }

    /// Puts `size` bytes on the wire at `start`.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, size: u16, (start, began): (Fine, Time)) -> Times {
        let end = start + self.byte_time.times(u32::from(size));
        self.free_at = end;
        Times { began, ended: end.ceil() }
    }

    /// Puts a packet on the wire until `end`.
    pub(crate) fn transmit_until(&mut self, end: Fine, began: Time) -> Times {
        self.free_at = end;
        Times { began, ended: end.ceil() }
    }

    /// A packet is on the wire from `began` to `ended`.
    pub(crate) fn occupy(&mut self, began: Time, ended: Time) -> Times {
        self.free_at = Fine::at(ended);
        Times { began, ended }
    }

    /// Carries a packet that is accepted at `now`, where the transmitter is free at `free`. Returns its arrival at the far end.
    #[inline(always)]
    fn carry(&mut self, packet: &Packet, free: Time, now: Time, account: Account) -> Time {
        let times = self.transmit(packet.size, self.ready(free, now));
        self.count(packet, now, times, account);
        times.ended + self.delay
    }

    /// Counts a transmission of a packet that was accepted at `now`.
    #[inline(always)]
    fn count(&mut self, packet: &Packet, now: Time, times: Times, mut account: Account) {
        if now > account.side.whole_from && times.ended <= account.window.to {
            self.count_inside(packet.class, now, times, account.side);
            if packet.class > 0 {
                account.side.by_class[usize::from(packet.class)].whole += 1;
            }
        } else {
            account.count(packet.class, now, |counters| &mut counters.other_arrived);
            self.count_clipped(packet.class, now, times, account);
        }
    }

    /// Counts a transmission of a packet that was accepted at `accepted` and whose arrival is counted.
    #[inline(always)]
    pub(crate) fn count_served(&mut self, class: u8, accepted: Time, times: Times, account: Account) {
        if accepted > account.side.whole_from && times.ended <= account.window.to {
            self.count_inside(class, accepted, times, account.side);
            self.counters.clipped += 1;
            account.side.by_class[usize::from(class)].other_delivered += 1;
        } else {
            self.count_clipped(class, accepted, times, account);
        }
    }

    /// Counts the times of a packet that was accepted and transmitted inside the window: nearly every one.
    /// [`SideCounters::complete`] derives the rest.
    #[inline(always)]
    fn count_inside(&mut self, class: u8, accepted: Time, times: Times, side: &mut SideCounters) {
        let waited = Duration(times.began.0 - accepted.0);
        self.counters.busy += times.ended.0 - times.began.0;
        self.counters.waits.count += 1;
        if waited > Duration::ZERO {
            self.counters.waits.add_time(waited);
            side.delays.add(waited);
        }
        if class > 0 {
            side.by_class[usize::from(class)].waits.add(waited);
        }
    }

    /// The same for one that may lie across an edge of the window or outside.
    #[inline(never)]
    fn count_clipped(
        &mut self,
        class: u8,
        accepted: Time,
        Times { began, ended }: Times,
        Account { side, window }: Account,
    ) {
        let own = &mut side.by_class[usize::from(class)];
        self.counters.busy += window.overlap(began, ended);
        self.counters.add_queue_time(window.overlap(accepted, began));
        if window.holds(began) {
            let waited = began.since(accepted);
            self.counters.add_queue_time(waited.0.wrapping_neg());
            self.counters.waits.add(waited);
            self.counters.clipped += 1;
            side.delays.add(waited);
            if class > 0 {
                own.waits.add(waited);
            }
            if let Some(delays) = side.class_delays.get_mut(usize::from(class)) {
                delays.add(waited);
            }
        }
        own.other_delivered += u64::from(window.holds(ended));
    }

    /// Counts a drop.
    pub fn count_drop(&mut self, class: u8, reason: Reason, now: Time, mut account: Account) {
        self.counters.drops += 1;
        account.side.all_dropped += 1;
        account.count(class, now, |counters| &mut counters.drops[reason as usize]);
    }
}

/// How a link queues.
#[derive(Debug)]
pub enum Queue {
    /// No transmitter, only a delay: packets may be offered in any order.
    Delay,
    /// FIFO that never drops: no state.
    Open,
    /// FIFO whose rule decides on arrival: the instants of service are known at once.
    Fifo(Box<Fifo>),
    /// A discipline that decides when the transmitter is free.
    Scheduled(Box<Scheduled>),
}

/// One direction of one copy of a link.
#[derive(Debug)]
pub struct Link {
    /// The transmitter and the line.
    pub wire: Wire,
    /// The queue.
    pub queue: Queue,
}

impl Link {
    /// A link at rest.
    pub fn new(rate: Option<Rate>, delay: Duration, queue: Queue) -> Link {
        let queue = if rate.is_none() && matches!(queue, Queue::Open) { Queue::Delay } else { queue };
        let byte_time = rate.map_or(Fine::default(), Rate::byte_time);
        let counters = PortCounters::default();
        Link { wire: Wire { free_at: Fine::default(), byte_time, delay, counters }, queue }
    }

    /// A packet enters the link at `now`. Returns its arrival at the far end if its fate is known; else it was dropped, or waits
    /// and is delivered to the surroundings later. `watched` says whether those want to see decisions.
    #[inline(always)]
    pub fn offer<S: Surroundings>(
        &mut self,
        packet: &mut Packet,
        now: Time,
        mut account: Account,
        watched: bool,
        surroundings: impl FnOnce() -> S,
    ) -> Option<Time> {
        account.side.all_offered += 1;
        self.wire.counters.arrived_bytes += u64::from(packet.size);
        let wire = &mut self.wire;
        let free = wire.free_at.ceil();
        match &mut self.queue {
            Queue::Delay | Queue::Open => {}
            Queue::Fifo(q) => {
                let verdict = q.ask(packet, free, now, account.window);
                if verdict == Verdict::Accept && !watched {
                    q.wait(free, packet.size, now, account.window);
                    if !q.unimpaired && q.loses(wire, packet.size, free, now) {
                        surroundings().lose(packet);
                    }
                } else {
                    let (account, around) = (account.lend(), &mut surroundings());
                    if !q.conclude(packet, verdict, free, &mut Call { now, wire, account, around }) {
                        return None;
                    }
                }
            }
            Queue::Scheduled(q) => {
                let around = &mut surroundings();
                q.offer(packet, &mut Call { now, wire, account, around });
                return None;
            }
        }
        Some(wire.carry(packet, free, now, account))
    }

    /// A short cut of [`Link::offer`] for a link that asks no rule and drops nothing now: it needs no surroundings. `None`: nothing
    /// was done, and the packet is to be offered.
    #[inline(always)]
    pub fn pass(&mut self, packet: &Packet, now: Time, account: Account) -> Option<Time> {
        let fifo = match &mut self.queue {
            Queue::Delay => {
                account.side.all_offered += 1;
                self.wire.counters.arrived_bytes += u64::from(packet.size);
                self.wire.count(packet, now, Times { began: now, ended: now }, account);
                return Some(now + self.wire.delay);
            }
            Queue::Open => None,
            Queue::Fifo(q) if q.plain => Some(q),
            _ => return None,
        };
        let free = self.wire.free_at.ceil();
        if let Some(q) = fifo
            && free > now
            && !q.enters(packet.size, free, now, account.window)
        {
            return None;
        }
        account.side.all_offered += 1;
        self.wire.counters.arrived_bytes += u64::from(packet.size);
        Some(self.wire.carry(packet, free, now, account))
    }

    /// When the first decision not made yet is due; [`Time::NEVER`]: none is.
    #[inline]
    pub fn due(&self) -> Time {
        match &self.queue {
            Queue::Scheduled(q) => q.due(),
            _ => Time::NEVER,
        }
    }

    /// By when [`Link::catch_up`] must be called: before that, no packet can reach the far end.
    #[inline]
    pub fn deadline(&self) -> Time {
        match &self.queue {
            Queue::Scheduled(q) if q.varies || q.due() == Time::NEVER => q.due(),
            Queue::Scheduled(q) => q.due() + self.wire.delay,
            _ => Time::NEVER,
        }
    }

    /// Makes all decisions that are due by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, account: Account, surroundings: &mut impl Surroundings) {
        if let Queue::Scheduled(q) = &mut self.queue {
            q.catch_up(&mut Call { now, wire: &mut self.wire, account, around: surroundings });
        }
    }

    /// Changes a setting at `now`. A FIFO that decides on arrival has none to change.
    pub fn set(
        &mut self,
        setting: Setting,
        now: Time,
        account: Account,
        surroundings: &mut impl Surroundings,
    ) {
        if let Queue::Scheduled(q) = &mut self.queue {
            q.set(setting, &mut Call { now, wire: &mut self.wire, account, around: surroundings });
        }
    }

    /// An observable of the queue at `now`, by which all due decisions must have been made.
    pub fn observe(&mut self, node: Option<u32>, name: &str, now: Time, window: &Window) -> Option<f64> {
        match &mut self.queue {
            Queue::Delay | Queue::Open => None,
            Queue::Fifo(q) => {
                q.advance(now, self.wire.free_at.ceil(), window);
                q.gate.observe(name)
            }
            Queue::Scheduled(q) => {
                q.qdisc.advance(now);
                q.qdisc.observe(node.map(|node| node as usize), name, now)
            }
        }
    }

    /// The rate at `now`, bit/s; `Err`: the bits that delivery opportunities had by then.
    pub fn rate(&self, now: Time) -> Result<f64, f64> {
        let constant = || Rate::of_byte_time(self.wire.byte_time).0;
        match &self.queue {
            Queue::Scheduled(q) => q.rate(now).unwrap_or_else(|| Ok(constant())),
            _ => Ok(constant()),
        }
    }

    /// Values at drops and marks of leaving packets, in order of time.
    pub fn notes(&self) -> &[Note] {
        match &self.queue {
            Queue::Scheduled(q) => q.qdisc.notes(),
            _ => &[],
        }
    }

    /// Values behind random losses, in order of time.
    pub fn losses(&self) -> &[Note] {
        match &self.queue {
            Queue::Delay | Queue::Open => &[],
            Queue::Fifo(q) => q.impairments.notes(),
            Queue::Scheduled(q) => q.impairments.notes(),
        }
    }

    /// The measuring window opens.
    pub fn open_window(&mut self) {
        if let Queue::Scheduled(q) = &mut self.queue {
            q.open_window();
        }
    }

    /// Closes the integrals at the end of the window, by which all due decisions must have been made.
    pub fn finish(&mut self, window: &Window) {
        match &mut self.queue {
            Queue::Delay | Queue::Open => {}
            Queue::Fifo(q) => q.finish(window),
            Queue::Scheduled(q) => q.finish(&mut self.wire, window),
        }
    }

    /// Packets that wait for a decision.
    pub fn undecided(&self) -> u32 {
        match &self.queue {
            Queue::Scheduled(q) => q.qdisc.packets(),
            _ => 0,
        }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        match &self.queue {
            Queue::Delay | Queue::Open => 0,
            Queue::Fifo(q) => size_of::<Fifo>() as u64 + q.heap_bytes(),
            Queue::Scheduled(q) => size_of::<Scheduled>() as u64 + q.heap_bytes(),
        }
    }

    /// The most bytes that one packet may add to these; see [`evenflow_queue::Schedule::heap_step`].
    pub fn heap_step(&self) -> u64 {
        match &self.queue {
            Queue::Scheduled(q) => q.qdisc.scheduler().heap_step(),
            _ => 0,
        }
    }

    /// Shows the packets that wait for a decision, in no order.
    pub fn for_each(&self, show: impl FnMut(&Queued)) {
        if let Queue::Scheduled(q) = &self.queue {
            q.qdisc.for_each(show);
        }
    }

    /// Whether each packet's fate is known on its arrival.
    pub fn decides_on_arrival(&self) -> bool {
        !matches!(self.queue, Queue::Scheduled(_))
    }

    /// Whether packets leave one after the other, each known before it reaches the far end: with a discipline, at a rate that
    /// never changes.
    pub fn is_serial(&self) -> bool {
        match &self.queue {
            Queue::Scheduled(q) => !q.varies && !q.changes_rate(),
            _ => self.keeps_order(),
        }
    }

    /// Whether packets leave in the order in which they came, at instants known on their arrival.
    fn keeps_order(&self) -> bool {
        match &self.queue {
            Queue::Delay | Queue::Open => true,
            Queue::Fifo(q) => q.impairments.jitter.as_ref().is_none_or(|jitter| jitter.last.is_some()),
            Queue::Scheduled(_) => false,
        }
    }

    /// Whether packets have different delays.
    pub fn varies(&self) -> bool {
        match &self.queue {
            Queue::Delay | Queue::Open => false,
            Queue::Fifo(q) => q.impairments.varies(),
            Queue::Scheduled(q) => q.varies,
        }
    }

    /// Time spent at each queue length, if it is recorded.
    pub fn lengths(&self) -> Option<&Lengths> {
        match &self.queue {
            Queue::Delay | Queue::Open => None,
            Queue::Fifo(q) => q.lengths.as_ref(),
            Queue::Scheduled(q) => q.lengths.as_ref(),
        }
    }
}
