//! A port: one direction of one copy of a link.
//!
//! Lazy path: a FIFO with a fixed rate knows a packet's fate when it accepts it, so transmission starts and ends are
//! computed at once and waiting packets are a ring of start times. Event path: a scheduler or a changing rate decides
//! later, so the port has a queue discipline ([`Qdisc`]), which is asked when its server becomes free.
//!
//! A packet in transmission when the rate changes finishes at the old rate.

use evenflow_base::{Duration, Fine, Packet, Rate, Stream, Time};
use evenflow_queue::held::{HashStats, NodeCounts};
use evenflow_queue::{Dropped, Gate, Qdisc, RESTS_EVERY, Setting};
use evenflow_scenario::model::SchedulerPer;

use crate::measure::{PortCounters, Window};
use crate::ring::Ring;
use crate::slots::Slots;

/// One direction of one copy of a link.
#[derive(Debug)]
pub struct Port {
    /// When the server is free.
    pub free_at: Fine,
    /// How long a byte takes; zero: pure delay.
    pub byte_time: Fine,
    /// Propagation delay.
    pub delay: Duration,
    /// Its side of its link, as an index: twice the link's, plus one backwards. Also the index of its lane.
    pub side: u32,
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

impl Queue {
    /// Waiting packets, as far as the clock has been brought.
    pub fn packets(&self) -> u32 {
        match self {
            Queue::Open => 0,
            Queue::Fifo(q) => q.gate.packets,
            Queue::Events(q) => q.qdisc.packets(),
        }
    }

    /// Time spent at each queue length, where somebody wants to know.
    pub fn lengths(&self) -> Option<&Lengths> {
        match self {
            Queue::Open => None,
            Queue::Fifo(q) => q.lengths.as_ref(),
            Queue::Events(q) => q.lengths.as_ref(),
        }
    }
}

/// What a link does at random to packets that it has accepted.
#[derive(Debug, Default)]
pub struct Impairments {
    /// Loss on the way.
    pub loss: Option<Loss>,
    /// A delay of their own.
    pub jitter: Option<Jitter>,
    /// What is lost is sent again.
    pub again: Option<Again>,
}

impl Impairments {
    /// Whether it does anything.
    pub fn any(&self) -> bool {
        self.loss.is_some() || self.jitter.is_some()
    }

    /// Whether packets take times of their own.
    pub fn varies(&self) -> bool {
        self.jitter.is_some() || self.again.is_some()
    }

    /// Whether a packet accepted at `now` will be lost on its way over the link. One that would be sent again is judged when it is sent
    /// ([`Impairments::repeat`]).
    pub fn will_lose(&mut self, now: Time) -> bool {
        self.again.is_none() && self.loss.as_mut().is_some_and(|loss| loss.strikes(now))
    }

    /// How long a packet that is on the wire until `ended`, and was accepted at `now`, takes to the far end, and whether it is lost; `None`:
    /// nothing is sent again here.
    pub fn repeat(&mut self, now: Time, ended: Time) -> Option<(Duration, bool)> {
        let (again, loss) = (self.again.as_mut()?, self.loss.as_mut()?);
        let failed = (0..=again.most).take_while(|_| loss.strikes(now)).count() as u32;
        let tries = failed.min(again.most);
        let arrives = ended + again.usual + Duration(again.delay.0 * u64::from(tries));
        // In order, just behind the one before.
        again.last = arrives.max(again.last + Duration(1));
        Some((again.last - ended, failed > again.most))
    }
}

/// Retransmission by the link itself, in order (RLC in acknowledged mode).
#[derive(Debug)]
pub struct Again {
    /// How often at most.
    pub most: u32,
    /// How much later each time.
    pub delay: Duration,
    /// The link's own delay.
    pub usual: Duration,
    /// When the last one arrives.
    pub last: Time,
}

/// Loss on the way over a link.
#[derive(Debug)]
pub struct Loss {
    /// Which of the accepted packets.
    pub which: LossRule,
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
        // Just behind the one before, not with it: at one instant flows would go by number.
        *last = drawn.max(*last + Duration(1));
        *last - ended
    }
}

/// Which packets a link loses.
#[derive(Debug)]
pub enum LossRule {
    /// Each with this probability; one number of the stream for each accepted packet, at all times.
    Random(f64, Stream),
    /// All in the bad state: the probabilities to enter it and to stay there, and whether it holds; one number for each packet.
    Bursts(f64, f64, bool, Stream),
    /// The last of so many; how many have passed since.
    Every(u64, u64),
}

impl LossRule {
    /// Losses of this share in bursts of this mean length (Gilbert 1960; Elliott 1963): the chain begins as it is in the long run.
    pub fn bursts(share: f64, burst: f64, mut stream: Stream) -> LossRule {
        let bad = stream.open01() < share;
        LossRule::Bursts(share / (burst * (1.0 - share)), 1.0 - 1.0 / burst, bad, stream)
    }
}

impl Loss {
    /// Whether a packet accepted at `now` will be lost.
    pub fn strikes(&mut self, now: Time) -> bool {
        let inside = now >= self.from && now < self.until;
        match &mut self.which {
            LossRule::Random(probability, stream) => (stream.open01() < *probability) && inside,
            LossRule::Bursts(enter, stay, bad, stream) => {
                let struck = *bad;
                *bad = stream.open01() < if struck { *stay } else { *enter };
                struck && inside
            }
            LossRule::Every(nth, passed) => {
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
    pub fn advance(&mut self, length: u32, now: Time, window: &Window) {
        let length = length as usize;
        if self.time.len() <= length {
            self.time.resize(length + 1, 0);
        }
        self.time[length] += window.overlap(self.last, now);
        self.last = now;
    }
}

/// A lazy FIFO: the short cut past a queue discipline, by the same rule and limit.
#[derive(Debug)]
pub struct Fifo {
    /// Rule, limit and what waits.
    pub gate: Gate,
    /// What the link does to packets besides.
    pub impairments: Impairments,
    /// It does something.
    pub impaired: bool,
    /// Nothing but a limit: an idle link takes any packet and remembers nothing of it.
    pub plain: bool,
    /// Time spent at each queue length.
    pub lengths: Option<Lengths>,
    /// Waiting packets: when each starts, and its size.
    pub waiting: Ring<(Time, u32)>,
}

impl Fifo {
    /// A packet of `size` bytes, accepted at `now`, waits until `start` if that is later.
    #[inline]
    pub fn wait(&mut self, start: Time, size: u16, now: Time, window: &Window) {
        if start <= now {
            return;
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.advance(self.gate.packets, now, window);
        }
        self.waiting.push_back((start, u32::from(size)));
        self.gate.add(u32::from(size));
    }

    /// Lets the rule's clock strike, each time with what waits then, and forgets packets whose transmission has begun by
    /// `now`. The transmitter is free at `free`.
    #[inline]
    pub fn advance(&mut self, now: Time, free: Time, window: &Window) {
        if self.gate.rule.next_tick() <= now {
            self.strike(now, free, window);
        }
        self.release(now, window);
    }

    /// Apart, so that packets between two strikes keep their registers.
    #[inline(never)]
    fn strike(&mut self, now: Time, free: Time, window: &Window) {
        let mut strikes = 0_u32;
        while self.gate.rule.next_tick() <= now {
            let at = self.gate.rule.next_tick();
            self.release(at, window);
            let seen = self.gate.occupancy(false, (free <= at).then_some(free));
            self.gate.rule.tick(at, &seen);
            strikes = strikes.wrapping_add(1);
            if strikes.is_multiple_of(RESTS_EVERY) {
                // The queue stays as it is until the next packet begins its transmission.
                let next = self.waiting.front().map_or(Time::NEVER, |(start, _)| Time(start.0 - 1));
                self.gate.rule.rest(&seen, now.min(next));
            }
        }
    }

    /// Forgets packets whose transmission has begun by `now`.
    #[inline]
    pub fn release(&mut self, now: Time, window: &Window) {
        while let Some(&(start, size)) = self.waiting.front() {
            if start > now {
                break;
            }
            if let Some(lengths) = &mut self.lengths {
                lengths.advance(self.gate.packets, start, window);
            }
            self.waiting.drop_front();
            self.gate.remove(size);
        }
    }
}

/// A queue by events.
#[derive(Debug)]
pub struct Events {
    /// The discipline.
    pub qdisc: Qdisc,
    /// What the link does to packets besides.
    pub impairments: Impairments,
    /// Time spent at each queue length.
    pub lengths: Option<Lengths>,
    /// How a packet finds its queue.
    pub select: Select,
    /// When the discipline wants to be asked again although nothing happens; [`Time::NEVER`]: not at all.
    pub wake: Time,
    /// Changes still to come, the next one last.
    pub changes: Vec<(Time, Setting)>,
    /// What the scheduler had counted when the window opened.
    pub opened: Opened,
}

/// What a scheduler had counted at some time.
#[derive(Debug, Default)]
pub struct Opened {
    /// Of one that hashes flows.
    pub hash_stats: HashStats,
    /// Of a tree's nodes.
    pub nodes: Vec<NodeCounts>,
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

    /// The same for a flow that was opened on the way: it shares its user's queue and key, or has a key of its own.
    fn key_of_slot(&self, flow: u32, slots: &Slots) -> usize {
        match self {
            Select::Key(_, SchedulerPer::Flow) => slots.key(flow) as usize,
            Select::Queue(table) | Select::Key(table, _) => table[slots.root(flow) as usize] as usize,
            Select::One | Select::Class => 0,
        }
    }
}

impl Events {
    /// A discipline at rest.
    pub fn new(qdisc: Qdisc, select: Select) -> Events {
        Events {
            qdisc,
            impairments: Impairments::default(),
            lengths: None,
            select,
            wake: Time::NEVER,
            changes: Vec::new(),
            opened: Opened::default(),
        }
    }

    /// Changes the link's rate, if that is what comes first and is due by `now`; gives the new one. The rest has events of its own.
    #[inline]
    pub fn change_rate(&mut self, now: Time) -> Option<Rate> {
        let mut changed = None;
        let due = |change: &mut (Time, Setting)| change.0 <= now && matches!(change.1, Setting::LinkRate(_));
        while let Some((at, setting)) = self.changes.pop_if(due) {
            if let Setting::LinkRate(rate) = setting {
                changed = Some(rate);
            }
            self.qdisc.set(setting, at, &mut Vec::new());
        }
        changed
    }

    /// Makes the changes due by `now`; gives the link's new rate if it has one. What must go is added to `dropped`.
    #[inline]
    pub fn change(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Rate> {
        let mut changed = None;
        while let Some((at, setting)) = self.changes.pop_if(|change| change.0 <= now) {
            if let Setting::LinkRate(rate) = setting {
                changed = Some(rate);
            }
            self.qdisc.set(setting, at, dropped);
        }
        changed
    }

    /// The instants at which more changes than the link's rate: what waits may then leave sooner, or be dropped.
    pub fn reconfigured(&self) -> impl Iterator<Item = Time> {
        self.changes.iter().filter(|change| !matches!(change.1, Setting::LinkRate(_))).map(|change| change.0)
    }

    /// The queue is about to change at `now`: notes how long it was as it is.
    #[inline]
    pub fn note_length(&mut self, now: Time, window: &Window) {
        if let Some(lengths) = &mut self.lengths {
            lengths.advance(self.qdisc.packets(), now, window);
        }
    }

    /// The window opens.
    pub fn open_window(&mut self) {
        let scheduler = self.qdisc.scheduler();
        self.opened.hash_stats = scheduler.hash_stats().copied().unwrap_or_default();
        self.opened.nodes = scheduler.node_counts().to_vec();
    }

    /// The discipline wants to be asked again at `at`; says whether no wake-up is on record for that instant.
    pub fn arm_wakeup(&mut self, at: Time) -> bool {
        let news = at != self.wake && at != Time::NEVER;
        self.wake = at;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share of 2 % in bursts of 5: what the two states give, within four standard errors.
    #[test]
    fn bursts_have_their_share_and_length() {
        let which = LossRule::bursts(0.02, 5.0, Stream::new(1, "loss"));
        let mut loss = Loss { which, from: Time::ZERO, until: Time::NEVER };
        const PACKETS: u32 = 1_000_000;
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for n in 0..PACKETS {
            let struck = loss.strikes(Time(u64::from(n)));
            lost += u32::from(struck);
            bursts += u32::from(struck && !before);
            before = struck;
        }
        let (share, length) = (f64::from(lost) / f64::from(PACKETS), f64::from(lost) / f64::from(bursts));
        assert!((share - 0.02).abs() < 4.0 * 0.02 * (9.0 / 20_000f64).sqrt(), "{share}");
        assert!((length - 5.0).abs() < 4.0 * (20f64 / 4_000.0).sqrt(), "{length}");
        let mut single = Loss { which: LossRule::bursts(0.2, 1.0, Stream::new(1, "loss")), ..loss };
        let struck: Vec<bool> = (0..1000).map(|n| single.strikes(Time(n))).collect();
        assert!(struck.windows(2).all(|two| !(two[0] && two[1])), "no burst of 1 is longer");
    }

    /// Sent again until it arrives, in order; after `most` failures it is lost.
    #[test]
    fn what_is_lost_is_sent_again() {
        let loss = Loss { which: LossRule::Every(2, 0), from: Time::ZERO, until: Time::NEVER };
        let again = |most| Again { most, delay: Duration(100), usual: Duration(10), last: Time::ZERO };
        let mut link = Impairments { loss: Some(loss), jitter: None, again: Some(again(3)) };
        // Of the tries every second fails: 1 passes, 2 fails and 3 passes, 4 fails and 5 passes.
        let of = |link: &mut Impairments, at: u64| {
            link.repeat(Time(at), Time(at)).map(|(delay, lost)| (at + delay.0, lost))
        };
        assert_eq!(of(&mut link, 0), Some((10, false)));
        assert_eq!(of(&mut link, 20), Some((130, false)));
        assert_eq!(of(&mut link, 40), Some((150, false)));
        assert!(!link.will_lose(Time(50)));
        let all = Loss { which: LossRule::Every(1, 0), from: Time::ZERO, until: Time(100) };
        let mut dead = Impairments { loss: Some(all), jitter: None, again: Some(again(3)) };
        assert_eq!(of(&mut dead, 0), Some((310, true)));
        assert_eq!(of(&mut dead, 50), Some((360, true)));
        assert_eq!(of(&mut dead, 100), Some((361, false)), "behind the one before");
    }

    #[test]
    fn every_third_packet_inside_its_time_is_lost() {
        let mut loss = Loss { which: LossRule::Every(3, 0), from: Time(10), until: Time(20) };
        let struck: Vec<u64> = (5..25).filter(|now| loss.strikes(Time(*now))).collect();
        assert_eq!(struck, [12, 15, 18]); // the third, sixth and ninth of 10 to 19
    }
}
