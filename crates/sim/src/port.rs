//! A port: one direction of one copy of a link.
//!
//! Lazy path: a FIFO with a fixed rate knows a packet's fate when it accepts it, so transmission starts and ends are
//! computed at once and waiting packets are a ring of start times. Event path: a scheduler or a changing rate decides
//! later, so the port keeps the packets and is called when its server becomes free.
//!
//! A packet in transmission when the rate changes finishes at the old rate.

use std::collections::VecDeque;

use evenflow_base::{Duration, Fine, Packet, Rate, Stream, Time};
use evenflow_queue::scheduler::Meetings;
use evenflow_queue::{Admission, Gone, Limit, Occupancy, Queued, Reason, Scheduler, Verdict, htb};

use crate::measure::PortCounters;

/// One direction of one copy of a link.
#[derive(Debug)]
pub struct Port {
    /// When the server is free.
    pub free_at: Fine,
    /// How long a byte takes; zero: pure delay.
    pub byte_time: Fine,
    /// Propagation delay.
    pub delay: Duration,
    /// Index of its class (link and direction), which is also its lane.
    pub class: u32,
    /// Number among the copies of its link.
    pub copy: u32,
    /// What holds packets back.
    pub queue: Queue,
    /// What it counted.
    pub counters: PortCounters,
}

/// How a port queues.
#[derive(Debug)]
pub enum Queue {
    /// FIFO that never drops: no state at all.
    Open,
    /// FIFO with an admission rule, lazy.
    Fifo(Box<Fifo>),
    /// Scheduler or changing rate, by events.
    Events(Box<Events>),
}

/// What both paths share: the rule, its limit, its stream, and the queue-length histogram where one is wanted.
#[derive(Debug)]
pub struct Gate {
    /// The rule.
    pub admission: Admission,
    /// The limit.
    pub limit: Limit,
    /// The rule's own stream.
    pub stream: Stream,
    /// Random loss of what has been accepted.
    pub loss: Option<Loss>,
    /// Random delay of what has been accepted.
    pub jitter: Option<Jitter>,
    /// There is one of these two.
    pub fickle: bool,
    /// Nothing but a limit: an idle link takes any packet and remembers nothing of it.
    pub plain: bool,
    /// Waiting packets.
    pub packets: u32,
    /// Waiting bytes.
    pub bytes: u64,
    /// Rate now; absent: pure delay.
    pub rate: Option<Rate>,
    /// Time spent at each queue length.
    pub lengths: Option<Lengths>,
}

/// Loss on the way over a link.
#[derive(Debug)]
pub struct Loss {
    /// Which of the accepted packets.
    pub loses: Loses,
    /// Packets accepted at or after this may be lost.
    pub from: Time,
    /// Packets accepted at or after this are not.
    pub until: Time,
}

/// A delay that is drawn for each packet.
#[derive(Debug)]
pub struct Jitter {
    /// Mean, seconds.
    pub mean: f64,
    /// Standard deviation, seconds.
    pub deviation: f64,
    /// Absent: packets may overtake each other. Else when the last one arrives.
    pub last: Option<Time>,
    /// One number of it for each packet.
    pub stream: Stream,
}

/// No packet is further from the mean than this many deviations: about where netem's table of the normal law ends.
const FARTHEST: f64 = 4.0;

impl Jitter {
    /// How long a packet that is on the wire until `ended` takes to the far end. In order, it waits there for the one before.
    pub fn delay(&mut self, ended: Time) -> Duration {
        let z = self.stream.normal(0.0, 1.0).clamp(-FARTHEST, FARTHEST);
        let drawn = ended + Duration::from_seconds((self.mean + self.deviation * z).max(0.0));
        let Some(last) = &mut self.last else { return drawn - ended };
        *last = drawn.max(*last);
        *last - ended
    }
}

/// Which packets a link loses.
#[derive(Debug)]
pub enum Loses {
    /// Each with this probability; one number of the stream for each accepted packet, at all times.
    Random(f64, Stream),
    /// The last of so many; how many have passed since.
    Every(u64, u64),
}

impl Loss {
    /// Whether a packet accepted at `now` will be lost.
    pub fn strikes(&mut self, now: Time) -> bool {
        let inside = now >= self.from && now < self.until;
        match &mut self.loses {
            Loses::Random(probability, stream) => (stream.open01() < *probability) && inside,
            Loses::Every(nth, passed) => {
                *passed = (*passed + u64::from(inside)) % *nth;
                inside && *passed == 0
            }
        }
    }
}

/// Time spent at each queue length, in the window.
#[derive(Debug, Default)]
pub struct Lengths {
    /// Nanoseconds by length.
    pub time: Vec<u64>,
    last: Time,
}

impl Lengths {
    /// The length was `length` until `now`.
    #[inline(never)]
    pub fn advance(&mut self, length: u32, now: Time, window: &crate::measure::Window) {
        let length = length as usize;
        if self.time.len() <= length {
            self.time.resize(length + 1, 0);
        }
        self.time[length] += window.overlap(self.last, now);
        self.last = now;
    }
}

impl Gate {
    /// What waits, for a rule that asks at any time.
    #[inline]
    pub fn occupancy(&self, full: bool, idle_since: Option<Time>) -> Occupancy {
        Occupancy { packets: self.packets, bytes: self.bytes, rate: self.rate, full, idle_since }
    }

    /// Whether a packet of `size` bytes finds no room behind what waits.
    #[inline]
    pub fn is_full(&self, size: u16) -> bool {
        self.limit.is_full(self.packets, self.bytes, size, self.rate)
    }

    /// Decides on `packet` by the limit alone: for a plain queue.
    #[inline]
    pub fn admit_plain(&self, packet: &Packet, busy: bool) -> Verdict {
        if busy && self.is_full(packet.size) { Verdict::Drop(Reason::Limit) } else { Verdict::Accept }
    }

    /// Asks the rule; its clock must have been brought to `now`.
    #[inline]
    pub fn ask(&mut self, packet: &mut Packet, now: Time, full: bool, idle_since: Option<Time>) -> Verdict {
        let seen = self.occupancy(full, idle_since);
        self.admission.admit(packet, now, &seen, &mut self.stream)
    }

    /// The value of an observable: of the queue itself or of its rule.
    pub fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "packets" => Some(f64::from(self.packets)),
            "bytes" => Some(self.bytes as f64),
            "wait" => Some(self.occupancy(false, None).wait()),
            _ => self.admission.observe(name),
        }
    }
}

/// A lazy FIFO.
#[derive(Debug)]
pub struct Fifo {
    /// Rule and limit.
    pub gate: Gate,
    /// Waiting packets: when each starts, and its size.
    pub waiting: VecDeque<(Time, u32)>,
}

impl Fifo {
    /// A packet of `size` bytes, accepted at `now`, waits until `start` if that is later.
    #[inline]
    pub fn wait(&mut self, start: Time, size: u16, now: Time, window: &crate::measure::Window) {
        if start <= now {
            return;
        }
        if let Some(lengths) = &mut self.gate.lengths {
            lengths.advance(self.gate.packets, now, window);
        }
        self.waiting.push_back((start, u32::from(size)));
        self.gate.packets += 1;
        self.gate.bytes += u64::from(size);
    }

    /// Lets the rule's clock strike, each time with what waits then, and forgets packets whose transmission has begun by
    /// `now`. The transmitter is free at `free`.
    #[inline]
    pub fn advance(&mut self, now: Time, free: Time, window: &crate::measure::Window) {
        while self.gate.admission.next_tick() <= now {
            let at = self.gate.admission.next_tick();
            self.release(at, window);
            let seen = self.gate.occupancy(false, (free <= at).then_some(free));
            self.gate.admission.tick(at, &seen);
        }
        self.release(now, window);
    }

    /// Forgets packets whose transmission has begun by `now`.
    #[inline]
    pub fn release(&mut self, now: Time, window: &crate::measure::Window) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            if let Some(lengths) = &mut self.gate.lengths {
                lengths.advance(self.gate.packets, start, window);
            }
            self.waiting.pop_front();
            self.gate.packets -= 1;
            self.gate.bytes -= u64::from(size);
        }
    }
}

/// A queue by events.
#[derive(Debug)]
pub struct Events {
    /// Rule and limit.
    pub gate: Gate,
    /// Who goes next.
    pub scheduler: Scheduler,
    /// How a packet finds its queue.
    pub select: Select,
    /// Rule or scheduler must see every packet leave, also one that need not wait.
    pub sees_all: bool,
    /// When the scheduler wants to be asked again although nothing happens; [`Time::NEVER`]: not at all.
    pub wake: Time,
    /// Whether something is in transmission.
    pub busy: bool,
    /// Size of what is in transmission, and when it began.
    pub sending: (u16, Time),
    /// Rate changes still to come, the next one last.
    pub steps: Vec<(Time, Rate)>,
    /// What the scheduler had counted when the window opened.
    pub opened: Opened,
}

/// What a scheduler had counted at some time.
#[derive(Debug, Default)]
pub struct Opened {
    /// Of one that hashes flows.
    pub meetings: Meetings,
    /// Of a tree's classes.
    pub classes: Vec<htb::Counts>,
}

/// How a packet finds its queue in a scheduler.
#[derive(Clone, Debug)]
pub enum Select {
    /// There is one queue.
    One,
    /// By traffic class.
    Class,
    /// By flow, through a table: of queues, or of keys that the scheduler hashes.
    Flow(std::sync::Arc<[u32]>),
}

impl Select {
    /// The queue of `packet`, or its key.
    #[inline]
    pub fn key(&self, packet: &Packet) -> usize {
        match self {
            Select::One => 0,
            Select::Class => usize::from(packet.class),
            Select::Flow(table) => table[packet.flow as usize] as usize,
        }
    }
}

impl Events {
    /// Lets the rule's clock strike up to and including `now`; nothing has changed since the last event.
    pub fn advance(&mut self, now: Time, free: Time) {
        while self.gate.admission.next_tick() <= now {
            let at = self.gate.admission.next_tick();
            let seen = self.gate.occupancy(false, self.idle_since(free));
            self.gate.admission.tick(at, &seen);
        }
    }

    /// Applies rate changes due by `now`; gives the new rate if there was one.
    pub fn step(&mut self, now: Time) -> Option<Rate> {
        let mut changed = None;
        while let Some(&(at, rate)) = self.steps.last() {
            if at > now {
                break;
            }
            self.steps.pop();
            self.gate.rate = Some(rate);
            changed = Some(rate);
        }
        changed
    }

    /// Which queue a packet that arrives at `now` is bound for.
    pub fn place(&mut self, packet: &Packet, now: Time) -> usize {
        self.scheduler.place(self.select.key(packet), packet.flow, now)
    }

    /// Whether a packet of `size` bytes bound for `queue` finds no room behind what waits. An idle link takes any packet.
    pub fn is_full(&self, queue: usize, size: u16) -> bool {
        let occupied = self.busy || self.gate.packets > 0;
        occupied && (self.gate.is_full(size) || self.scheduler.is_full(queue, self.gate.bytes, size))
    }

    /// Since when there has been nothing to do; the transmitter is free at `free`.
    pub fn idle_since(&self, free: Time) -> Option<Time> {
        (!self.busy && self.gate.packets == 0).then_some(free)
    }

    /// The value of an observable at `now`: of the queue, its rule or its scheduler; or of the scheduler's class, where there is one.
    pub fn observe(&self, class: Option<u32>, name: &str, now: Time) -> Option<f64> {
        match class {
            Some(class) => self.scheduler.observe(class as usize, name, now),
            None => self.gate.observe(name).or_else(|| match &self.scheduler {
                Scheduler::Htb(_) => None,
                scheduler => scheduler.observe(0, name, now),
            }),
        }
    }

    /// The window opens.
    pub fn open_window(&mut self) {
        self.opened.meetings = self.scheduler.meetings().copied().unwrap_or_default();
        if let Scheduler::Htb(tree) = &self.scheduler {
            self.opened.classes = tree.counts().to_vec();
        }
    }

    /// When to ask the scheduler again, where it keeps its packets back and no wake-up is on record for that instant.
    pub fn doze(&mut self) -> Option<Time> {
        let at = if self.gate.packets > 0 { self.scheduler.next_event() } else { Time::NEVER };
        let news = at != self.wake && at != Time::NEVER;
        self.wake = at;
        news.then_some(at)
    }

    /// Puts a packet in line.
    pub fn hold(&mut self, queue: usize, packet: Packet, at: Time, sequence: u64) {
        self.gate.packets += 1;
        self.gate.bytes += u64::from(packet.size);
        self.scheduler.enqueue(queue, Queued { packet, at, sequence });
    }

    /// Takes the next in line that may leave at `now`, and why it was marked, if it was on its way out. Those that may not are
    /// added to `gone`.
    pub fn next(&mut self, now: Time, gone: &mut Vec<Gone>) -> Option<(Queued, Option<Reason>)> {
        loop {
            let before = gone.len();
            let served = self.scheduler.dequeue(now, gone);
            for (item, _) in &gone[before..] {
                self.forget(&item.packet);
            }
            let Some((mut item, mark)) = served else {
                if self.gate.packets == 0 {
                    self.gate.admission.emptied();
                }
                return None;
            };
            self.forget(&item.packet);
            if !self.sees_all {
                return Some((item, mark));
            }
            let seen = self.gate.occupancy(false, None);
            match self.gate.admission.leave(&mut item.packet, item.at, now, &seen) {
                Verdict::Accept => return Some((item, mark)),
                Verdict::Mark(reason) => return Some((item, Some(reason))),
                Verdict::Drop(reason) => gone.push((item, reason)),
            }
        }
    }

    /// Takes some out to make room for a packet of `size` bytes bound for `queue`; says whether there was anybody to take.
    pub fn push_out(&mut self, queue: usize, size: u16, gone: &mut Vec<Gone>) -> bool {
        let before = gone.len();
        let did = self.scheduler.push_out(queue, size, gone);
        for (item, _) in &gone[before..] {
            self.forget(&item.packet);
        }
        did
    }

    fn forget(&mut self, packet: &Packet) {
        self.gate.packets -= 1;
        self.gate.bytes -= u64::from(packet.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_packet_inside_its_time_is_lost() {
        let mut loss = Loss { loses: Loses::Every(3, 0), from: Time(10), until: Time(20) };
        let struck: Vec<u64> = (5..25).filter(|now| loss.strikes(Time(*now))).collect();
        assert_eq!(struck, [12, 15, 18]); // the third, sixth and ninth of 10 to 19
    }
}
