//! A queue discipline in service: it decides when the transmitter is free.
//!
//! Decisions are made late, in order, each with its own instant: [`Scheduled::catch_up`]. A packet in transmission when the rate changes
//! finishes at the old rate, unless the link says otherwise.

use evenflow_base::{Fine, Heap, Packet, Time, Verdict};
use evenflow_queue::held::{HashStats, NodeCounts};
use evenflow_queue::{Dropped, Next, Qdisc, Queued, Setting};

use crate::counters::{Lengths, Window};
use crate::grants::Grants;
use crate::impairments::Impairments;
use crate::link::{Call, Surroundings, Wire};

/// The discipline and what is still to come.
#[derive(Debug)]
pub struct Scheduled {
    /// The discipline.
    pub qdisc: Qdisc,
    /// Loss and delay at random.
    pub(crate) impairments: Impairments,
    /// Packets have different delays.
    pub(crate) varies: bool,
    /// The transmitter serves in grants.
    grants: Option<Box<Grants>>,
    /// The rate is zero, now or later: the transmitter looks before it takes a packet.
    stops: bool,
    /// The rate is zero now.
    stopped: bool,
    /// A packet in transmission takes a new rate at once.
    pub finishes_at_new_rate: bool,
    /// Time spent at each queue length.
    pub(crate) lengths: Option<Lengths>,
    /// Changes still to come, the next one last.
    changes: Vec<(Time, Setting)>,
    /// When more than the link's rate changes: packets may leave sooner then, or be dropped.
    reconfigured: Time,
    /// When the discipline wants to be asked again if nothing arrives.
    wake: Time,
    /// When the next decision is due.
    due: Time,
    /// Packets dropped after they had been accepted, until they are counted.
    dropped: Vec<Dropped>,
    /// Counters of the scheduler at the start of the window.
    pub opened: Opened,
}

/// Counters of a scheduler at some time.
#[derive(Debug, Default)]
pub struct Opened {
    /// Of one that hashes flows.
    pub hash_stats: HashStats,
    /// Of a tree's nodes.
    pub nodes: Vec<NodeCounts>,
}

impl Scheduled {
    /// A discipline at rest, with its changes in order of time. One that serves in grants or stops must hold all
    /// packets.
    pub fn new(
        qdisc: Qdisc,
        impairments: Impairments,
        lengths: Option<Lengths>,
        mut changes: Vec<(Time, Setting)>,
        grants: Option<Grants>,
    ) -> Scheduled {
        changes.reverse();
        let stops = changes.iter().any(|(_, setting)| is_stop(setting));
        let mut scheduled = Scheduled {
            qdisc,
            varies: impairments.varies(),
            grants: grants.map(Box::new),
            stops,
            stopped: false,
            finishes_at_new_rate: false,
            impairments,
            lengths,
            changes,
            reconfigured: Time::NEVER,
            wake: Time::NEVER,
            due: Time::NEVER,
            dropped: Vec::new(),
            opened: Opened::default(),
        };
        scheduled.find_reconfiguration();
        scheduled.due = scheduled.reconfigured;
        scheduled
    }

    /// Bytes on the heap, those of disciplines that are still to come included.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let later = self.changes.iter().map(|(_, setting)| match setting {
            Setting::Change(scheduler) | Setting::Replace(scheduler) => scheduler.heap_bytes(),
            _ => 0,
        });
        let lengths = self.lengths.as_ref().map_or(0, |lengths| lengths.time.heap_bytes());
        let lists = self.changes.heap_bytes() + self.dropped.heap_bytes() + self.opened.nodes.heap_bytes();
        let grants = self.grants.as_ref().map_or(0, |grants| size_of_val(&**grants) as u64);
        self.qdisc.heap_bytes() + later.sum::<u64>() + lengths + lists + grants
    }

    /// Whether the time that a packet takes on the wire is not always the same.
    pub(crate) fn changes_rate(&self) -> bool {
        self.grants.is_some() || self.changes.iter().any(|change| matches!(change.1, Setting::LinkRate(_)))
    }

    /// The rate at `now` where it differs from that of the wire, as of [`crate::Link::rate`].
    pub(crate) fn rate(&self, now: Time) -> Option<Result<f64, f64>> {
        if let Some(grants) = &self.grants {
            return Some(grants.rate(now));
        }
        let due = self.changes.iter().rev().take_while(|change| change.0 <= now);
        let rate = due.filter_map(|change| match &change.1 {
            Setting::LinkRate(rate) => Some(rate.0),
            _ => None,
        });
        rate.last().or(self.stopped.then_some(0.0)).map(Ok)
    }

    /// When the next decision is due; [`Time::NEVER`]: none is.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// A packet arrives.
    #[inline(never)]
    pub(crate) fn offer(&mut self, packet: &Packet, x: &mut Call<impl Surroundings>) {
        self.catch_up(x);
        x.count_arrival(packet.class);
        self.note_length(x.now, x.account.window);
        self.change_rate(x.wire, x.now);
        let (now, around) = (x.now, &mut *x.around);
        if let Some(key) = around.opened(packet) {
            self.qdisc.introduce(packet.flow, key);
        }
        let queue = self.qdisc.place(around.key(packet), packet, around, now);
        let impairments = &mut self.impairments;
        let show = |qdisc: &Qdisc, packet: &mut Packet, verdict: Verdict| {
            if around.watches() {
                let observe =
                    |node: Option<u32>, name: &str| qdisc.observe(node.map(|node| node as usize), name, now);
                around.decided(packet, verdict, &observe, now);
            }
            if !verdict.is_drop() && impairments.will_lose(now) {
                around.lose(packet);
            }
        };
        match self.qdisc.enter(Queued { packet: *packet, at: now }, queue, &mut self.dropped, show) {
            Verdict::Drop(reason) => x.drop(packet, reason, self.qdisc.packets()),
            accepted => {
                if let Verdict::Mark(reason) = accepted {
                    x.count_mark(packet.class, reason);
                }
                if !self.qdisc.is_busy() {
                    let open = self.grants.is_none() && !self.stops;
                    match self.qdisc.blocked_until(now).filter(|_| open) {
                        Some(at) => self.wake = at,
                        None => self.serve(x.wire.free_at.max(Fine::at(now)), x),
                    }
                }
            }
        }
        self.count_dropped(x);
        self.update_due(x.wire);
    }

    /// Makes all decisions that are due by `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, x: &mut Call<impl Surroundings>) {
        let now = x.now;
        while self.due <= now {
            x.now = self.due;
            self.decide(x);
        }
        x.now = now;
    }

    /// Makes the decision that is due now. A transmission ends before settings change.
    #[inline(never)]
    fn decide(&mut self, x: &mut Call<impl Surroundings>) {
        self.note_length(x.now, x.account.window);
        if self.qdisc.is_busy() && x.wire.free_at.ceil() <= x.now {
            self.serve(x.wire.free_at, x);
        } else {
            if self.reconfigured <= x.now {
                self.reconfigure(x.wire, x.now);
                self.count_dropped(x);
            }
            if !self.qdisc.is_busy() {
                self.serve(Fine::at(x.now), x);
            }
        }
        self.count_dropped(x);
        self.update_due(x.wire);
    }

    /// Puts the next packet on the wire at `start`, which is now or just before, if one may leave.
    fn serve(&mut self, start: Fine, x: &mut Call<impl Surroundings>) {
        let now = x.now;
        if let Some(until) = self.closed(x.wire, now) {
            self.qdisc.pause(now);
            self.wake = until;
            return;
        }
        let (mut item, mark) = match self.qdisc.next(now, &mut self.dropped) {
            Next::Packet(item, mark) => (item, mark),
            Next::At(at) => {
                self.wake = at;
                return;
            }
            Next::Nothing => {
                self.wake = Time::NEVER;
                return;
            }
        };
        self.change_rate(x.wire, now);
        if let Some(reason) = mark {
            x.count_mark(item.packet.class, reason);
            if x.around.watches() {
                x.around.marked(&item.packet, reason, now);
            }
        }
        let times = match &mut self.grants {
            None if self.finishes_at_new_rate => {
                let end = self.end_of(item.packet.size, start, x.wire.byte_time);
                x.wire.transmit_until(end, now)
            }
            None => x.wire.transmit(item.packet.size, (start, now)),
            Some(grants) => x.wire.occupy(now, grants.send(item.packet.size, x.account.window)),
        };
        x.wire.count_served(item.packet.class, item.at, times, x.account.lend());
        if self.varies && self.impairments.vary(&mut x.wire.delay, item.at, times.ended) {
            x.around.lose(&mut item.packet);
        }
        x.around.deliver(&item.packet, times.ended + x.wire.delay);
    }

    /// When a transmission of `size` bytes ends that begins at `start`, where a byte takes `byte_time`, through all steps of
    /// the rate.
    #[inline(never)]
    fn end_of(&self, size: u16, start: Fine, byte_time: Fine) -> Fine {
        let steps = self.changes.iter().rev().filter_map(|change| match &change.1 {
            Setting::LinkRate(rate) => Some((Fine::at(change.0), *rate)),
            _ => None,
        });
        let (mut at, mut left, mut present) = (start, f64::from(size), Some(byte_time));
        let mut end = Some(start + byte_time.times(u32::from(size)));
        for (step, rate) in steps {
            if end.is_some_and(|end| end <= step) {
                break;
            }
            if let Some(byte_time) = present {
                left -= (step.0 - at.0) as f64 / byte_time.0 as f64;
            }
            at = step;
            present = (rate.0 > 0.0).then(|| rate.byte_time());
            end = present.map(|byte_time| Fine(at.0 + (byte_time.0 as f64 * left) as u128));
        }
        end.unwrap_or(FOREVER)
    }

    /// When the next packet may leave, if grants or a rate of zero keep it back at `now`.
    #[inline]
    fn closed(&mut self, wire: &mut Wire, now: Time) -> Option<Time> {
        if let Some(grants) = &mut self.grants {
            return grants.closed(now, self.qdisc.packets() > 0);
        }
        if !self.stops {
            return None;
        }
        self.change_rate(wire, now);
        let rate = |change: &&(Time, Setting)| matches!(change.1, Setting::LinkRate(_));
        let next = self.changes.iter().rev().find(rate).map_or(Time::NEVER, |change| change.0);
        self.stopped.then_some(next)
    }

    /// Changes a setting at `now`; a share of a queue that is not there is ignored.
    pub(crate) fn set(&mut self, setting: Setting, x: &mut Call<impl Surroundings>) {
        if matches!(setting, Setting::Share(key, _) if !self.qdisc.has(key)) {
            return;
        }
        self.catch_up(x);
        self.note_length(x.now, x.account.window);
        self.change_rate(x.wire, x.now);
        let is_rate = matches!(setting, Setting::LinkRate(_));
        self.apply(x.wire, setting, x.now);
        if is_rate {
            return;
        }
        self.count_dropped(x);
        if !self.qdisc.is_busy() {
            self.serve(Fine::at(x.now), x);
        }
        self.count_dropped(x);
        self.update_due(x.wire);
    }

    /// Makes one change.
    fn apply(&mut self, wire: &mut Wire, setting: Setting, at: Time) {
        if let Setting::LinkRate(rate) = &setting {
            self.stopped = is_stop(&setting);
            if self.stopped {
                return; // limits in time keep the last rate
            }
            wire.byte_time = rate.byte_time();
        }
        self.qdisc.set(setting, at, &mut self.dropped);
    }

    /// Changes the link's rate, if that is the next change and is due by `now`.
    #[inline]
    fn change_rate(&mut self, wire: &mut Wire, now: Time) {
        let due = |change: &mut (Time, Setting)| change.0 <= now && matches!(change.1, Setting::LinkRate(_));
        while let Some((at, setting)) = self.changes.pop_if(due) {
            self.apply(wire, setting, at);
        }
    }

    /// Makes all changes that are due by `now`.
    fn reconfigure(&mut self, wire: &mut Wire, now: Time) {
        while let Some((at, setting)) = self.changes.pop_if(|change| change.0 <= now) {
            self.apply(wire, setting, at);
        }
        self.find_reconfiguration();
    }

    fn find_reconfiguration(&mut self) {
        let next = self.changes.iter().rev().find(|change| !matches!(change.1, Setting::LinkRate(_)));
        self.reconfigured = next.map_or(Time::NEVER, |change| change.0);
    }

    #[inline]
    fn update_due(&mut self, wire: &Wire) {
        let next = if self.qdisc.is_busy() { wire.free_at.ceil() } else { self.wake };
        self.due = next.min(self.reconfigured);
    }

    /// Counts packets that are dropped after they had been accepted.
    #[inline(always)]
    fn count_dropped(&mut self, x: &mut Call<impl Surroundings>) {
        if !self.dropped.is_empty() {
            self.drop_all(x);
        }
    }

    // Apart: mostly there are none.
    #[cold]
    #[inline(never)]
    fn drop_all(&mut self, x: &mut Call<impl Surroundings>) {
        for (item, reason) in self.dropped.drain(..) {
            x.wire.counters.add_queue_time(x.account.window.overlap(item.at, x.now));
            x.drop(&item.packet, reason, self.qdisc.packets());
        }
    }

    /// The queue is about to change at `now`: notes how long it was until then.
    #[inline]
    fn note_length(&mut self, now: Time, window: &Window) {
        if let Some(lengths) = &mut self.lengths {
            lengths.advance(self.qdisc.packets(), now, window);
        }
    }

    pub(crate) fn open_window(&mut self) {
        let scheduler = self.qdisc.scheduler();
        self.opened.hash_stats = scheduler.hash_stats().copied().unwrap_or_default();
        self.opened.nodes = scheduler.node_counts().to_vec();
    }

    /// A packet that still waits has waited since it was accepted.
    pub(crate) fn finish(&mut self, wire: &mut Wire, window: &Window) {
        self.qdisc.for_each(|item| wire.counters.add_queue_time(window.overlap(item.at, window.to)));
        self.note_length(window.to, window);
        if let Some(grants) = &mut self.grants {
            wire.counters.busy = (grants.utilisation(window) * (window.to.0 - window.from.0) as f64) as u64;
        }
    }
}

/// Later than any run.
const FOREVER: Fine = Fine((u64::MAX as u128) << 62);

/// Whether a setting is a rate of zero.
fn is_stop(setting: &Setting) -> bool {
    matches!(setting, Setting::LinkRate(rate) if rate.0 == 0.0)
}
