//! The event loop of a run.
//!
//! Endpoints send and receive in [`endpoints`]. Packets move between links in [`route`] and cross each in
//! [`path`]. All act on the [`Network`]. The queue of events is short: one head per delay line, and one for
//! timers, servers and probes together.

mod applications;
mod endpoints;
mod path;
mod route;
mod stages;
mod traced;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evenflow_base::dscp::dscp_of;
use evenflow_base::{Duration, End, Heap, Options, Packet, Time};
use evenflow_scenario::model::Component;
use evenflow_traffic::{Call, Event};
use evenflow_transport::connection::Notice;
use evenflow_transport::{MOST_AT_ONCE, Segment};

use crate::events::{Heads, Key, Lane, NEVER, Rank, key, lane_of, rank_of, time_of};
use crate::faults::{Invariant, RunError};
use crate::measure::SideCounters;
use crate::memory::{Limit, Usage};
use crate::network::{Endpoint, Network};
use crate::probe::Probes;
use crate::wakeups::Wakeups;

/// Events between looks at the stop flag: one may take a millisecond, where a scheduler of 10^5 queues looks at all of them.
const STOP_EVERY: u64 = 1 << 8;

/// Packets that one event sends between looks at the stop flag.
const SEND_AT_ONCE: usize = 1 << 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// An application begins.
    Start,
    /// An alarm of an application, by its number.
    Alarm(u32),
    /// A shared arrival process.
    Arrival,
    /// The alarm of a stage.
    Stage,
}

/// Everything a run is made of.
#[derive(Debug)]
pub struct Engine<'a> {
    /// Set by the caller to stop the run.
    stop: &'a AtomicBool,
    /// Why the run ends before its time.
    halted: Option<RunError>,
    /// The run ends before the first event from here on.
    end: Time,
    /// The network.
    pub net: Network,
    /// Series, histograms, lists.
    pub probes: Probes,
    /// Events so far.
    pub events: u64,
    heads: Heads,
    agenda: Key,
    timers: BinaryHeap<Reverse<(Key, u32, Wake)>>,
    /// When each source of datagrams begins or has its next.
    sources: BinaryHeap<Reverse<(Key, u32)>>,
    /// Alarms of links.
    services: BinaryHeap<Reverse<(Key, u32)>>,
    /// Folded hops serve packets that arrive by then.
    fence: Time,
    /// They skip probes until then: the fence, or zero where a probe counts crossings.
    unwatched: Time,
    /// By lane: packets that arrive at folded hops later than that.
    held: Vec<Lane>,
    /// Links make each decision when it is due: lists and traces keep the order of time.
    eager: bool,
    /// Ends of connections.
    wakeups: Wakeups,
    outbox: Vec<Segment>,
    /// Another, for what an end sends while the outbox is being sent.
    spare: Vec<Segment>,
    /// Options of packets under way.
    options: Options,
    /// DSCPs of traffic classes.
    dscp: Vec<u8>,
    /// Packets that a link dropped, until they are removed from the network.
    gone: Vec<path::Gone>,
    /// Packets that a link has served, until they reach the next hop, which is folded.
    served: Vec<(Packet, Time)>,
    staging: stages::Staging,
    created: u64,
    consumed: u64,
    /// Values of series taken at intervals, by 64.
    taken: u64,
    window_open: bool,
    /// Of its memory.
    limit: Limit,
    /// News not yet delivered: application and event.
    news: Vec<(u32, Event)>,
    /// Calls of an application.
    calls: Vec<Call>,
    /// Notices of a connection for its application.
    notices: Vec<Notice>,
}

/// Place of the head that is no lane's: the next of timers, servers and probes; the key's rank says which.
const AGENDA: u32 = 0;
/// Place of the first lane's head.
const LANES: u32 = 1;

impl<'a> Engine<'a> {
    /// A network at rest, its flows' starts in the timers. `stop` is looked at while it runs.
    pub fn new(
        net: Network,
        probes: Probes,
        classes: &[String],
        stop: &'a AtomicBool,
        eager: bool,
        mut limit: Limit,
    ) -> Engine<'a> {
        limit.allow_for(net.step());
        let mut engine = Engine {
            limit,
            stop,
            halted: None,
            end: net.window.to + Duration(1),
            heads: Heads::new(LANES as usize + net.lanes.len()),
            agenda: NEVER,
            fence: Time::ZERO,
            unwatched: Time::ZERO,
            held: net.sides.iter().map(|_| Lane::new(true)).collect(),
            timers: BinaryHeap::new(),
            sources: BinaryHeap::new(),
            services: BinaryHeap::new(),
            eager: eager || probes.watches_ports || probes.watches_drops,
            wakeups: Wakeups::with_capacity(net.connections.len()),
            window_open: net.window.from == Time::ZERO,
            net,
            probes,
            events: 0,
            outbox: Vec::new(),
            spare: Vec::new(),
            options: Options::default(),
            dscp: classes.iter().map(|class| dscp_of(class)).collect(),
            gone: Vec::new(),
            served: Vec::new(),
            staging: stages::Staging::default(),
            created: 0,
            consumed: 0,
            taken: 0,
            news: Vec::new(),
            calls: Vec::new(),
            notices: Vec::new(),
        };
        for (flow, start) in (0u32..).zip(std::mem::take(&mut engine.net.starts)) {
            if engine.is_stopped() {
                break; // the first look ends it
            }
            match engine.net.flows[flow as usize].endpoint {
                Endpoint::Tcp(index) => {
                    engine.net.connections[index as usize].ends[End::Client.index()].wake = start;
                    engine.set_wakeup(flow, index, End::Client, start);
                }
                Endpoint::Source(_) => engine.sources.push(Reverse((key(start, Rank::Timer, 0, flow), flow))),
                Endpoint::Model(application) => engine.set_timer(start, flow, application, Wake::Start),
                Endpoint::Application => {} // none is open yet
            }
        }
        engine.start_arrivals();
        engine.set_alarms();
        let opens = (!engine.window_open).then_some(engine.net.window.from);
        engine.probes.schedule(opens);
        engine.move_fence();
        engine.update_agenda();
        engine
    }

    /// Runs to the end of the window. Apart, so that the loop keeps its registers.
    #[inline(never)]
    pub fn run(&mut self, clock: Option<&AtomicU64>) -> Result<(), RunError> {
        if self.limit.next == 0 {
            self.weigh(Time::ZERO, 0);
        }
        self.start_stages();
        loop {
            let next = self.heads.first();
            let now = time_of(next);
            if now >= self.end {
                break;
            }
            self.events += 1;
            if self.events.is_multiple_of(STOP_EVERY) {
                self.look_up(now, clock);
            }
            if let Some(lane) = lane_of(next) {
                self.arrival(lane, now);
                continue;
            }
            match rank_of(next) {
                Rank::Service => self.service(now),
                Rank::Probe => self.probe(now),
                _ => self.timer(next, now),
            }
            self.update_agenda();
        }
        if let Some(why) = self.halted.take() {
            return Err(why);
        }
        self.finish();
        Ok(())
    }

    /// Whether the run is to go on. Apart, so that the loop keeps its registers.
    #[cold]
    #[inline(never)]
    fn look_up(&mut self, now: Time, clock: Option<&AtomicU64>) {
        if self.is_stopped() {
            self.halt(RunError::Interrupted);
        }
        if let Some(clock) = clock {
            clock.store(now.seconds().to_bits(), Ordering::Relaxed);
        }
        if self.work() >= self.limit.next {
            self.weigh(now, 0);
        }
    }

    /// Work that makes memory grow: events, sent packets, values of series.
    fn work(&self) -> u64 {
        self.events + self.created + self.taken
    }

    /// Sums up the memory that the run uses, and `beside`; ends it above its limit.
    #[cold]
    #[inline(never)]
    fn weigh(&mut self, now: Time, beside: u64) {
        let mut usage = self.usage();
        usage.tables += beside;
        usage.record += self.probes.outgoing_bytes();
        if !self.limit.allows(usage.total(), self.work(), self.net.parts()) {
            self.halt(self.limit.error(&usage, now));
        }
    }

    /// Memory of the run.
    pub fn usage(&self) -> Usage {
        let mut usage = self.net.usage();
        usage.record = self.probes.heap_bytes();
        for (side, held) in self.held.iter().enumerate() {
            usage.add(Component::Link(side / 2), held.heap_bytes());
        }
        let lists = [
            self.timers.heap_bytes(),
            self.sources.heap_bytes(),
            self.services.heap_bytes(),
            self.wakeups.heap_bytes(),
            self.outbox.heap_bytes(),
            self.spare.heap_bytes(),
            self.options.heap_bytes(),
            self.gone.heap_bytes(),
            self.served.heap_bytes(),
            self.staging.messages.heap_bytes(),
        ];
        usage.tables += lists.into_iter().sum::<u64>();
        usage
    }

    /// The run ends before its next event; the first reason counts.
    #[cold]
    fn halt(&mut self, why: impl Into<RunError>) {
        self.halted.get_or_insert(why.into());
        self.end = Time::ZERO;
    }

    /// Whether the stop flag is set.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sends the outbox in pieces, and checks the stop flag between them.
    #[cold]
    #[inline(never)]
    fn send_in_pieces(&mut self, now: Time, mut send: impl FnMut(&mut Self)) {
        let all = std::mem::take(&mut self.outbox);
        if all.len() >= MOST_AT_ONCE {
            return self.halt(RunError::Burst { most: MOST_AT_ONCE, seconds: now.seconds() });
        }
        for piece in all.chunks(SEND_AT_ONCE) {
            if self.is_stopped() {
                // After unsent packets the run is invalid.
                return self.halt(RunError::Interrupted);
            }
            if self.work() >= self.limit.next {
                self.weigh(now, all.heap_bytes());
                if self.halted.is_some() {
                    return;
                }
            }
            self.outbox.extend_from_slice(piece);
            send(self);
        }
    }

    /// Closes every integral at the end of the window.
    fn finish(&mut self) {
        let (end, window) = (self.net.window.to, self.net.window);
        self.catch_up_all(end);
        for port in &mut self.net.ports {
            port.link.finish(&window);
            self.net.sides[port.side as usize].join(&port.link.wire.counters);
        }
        self.net.sides.iter_mut().for_each(SideCounters::complete);
        for index in 0..self.net.connections.len() as u32 {
            self.advance(index, End::Client, end);
        }
        self.sum_up_all();
    }

    /// Packets made = packets arrived + dropped + still inside, for the network and for each link and direction. Options are kept
    /// for the packets inside, and for no other.
    pub fn check_conservation(&self) -> Result<(), Invariant> {
        let mut held = vec![0u64; self.net.sides.len()];
        for port in &self.net.ports {
            held[port.side as usize] += u64::from(port.link.undecided());
        }
        let mut inside = self.net.lanes.get(self.net.sides.len()).map_or(0, Lane::len) as u64;
        let mut dropped = 0;
        for (i, side) in self.net.sides.iter().enumerate() {
            let inside_it = (self.net.lanes[i].len() + self.held[i].len()) as u64 + held[i];
            if side.all_offered != side.all_delivered + side.all_dropped + inside_it {
                return Err(Invariant::Side {
                    side: i,
                    offered: side.all_offered,
                    delivered: side.all_delivered,
                    dropped: side.all_dropped,
                    inside: inside_it,
                });
            }
            inside += inside_it;
            dropped += side.all_dropped;
        }
        let held: u64 = self.net.stages.iter().map(|slot| u64::from(slot.held)).sum();
        let by_stages: u64 = self.net.stage_counters.iter().map(|stage| stage.all_dropped).sum();
        let (created, consumed) = (self.created, self.consumed);
        if created != consumed + dropped + by_stages + inside + held {
            return Err(Invariant::Network { created, consumed, dropped, by_stages, inside, held });
        }
        self.check_bytes()?;
        self.net.check_exposed()?;
        self.check_options()
    }

    /// Options and messages between stages are kept for packets inside only.
    fn check_options(&self) -> Result<(), Invariant> {
        // Most packets carry nothing: there is nothing to check.
        let carries = |packet: &Packet| packet.place().is_some() || packet.is_of_stage();
        let lanes = self.net.lanes.iter().chain(&self.held).flat_map(Lane::packets);
        let mut inside: Vec<Packet> = lanes.filter(|packet| carries(packet)).copied().collect();
        for port in &self.net.ports {
            port.link.for_each(|item| inside.extend(Some(item.packet).filter(carries)));
        }
        for slot in &self.net.stages {
            inside.extend(slot.stage.held().iter().map(|held| held.packet).filter(carries));
        }
        self.options.check(inside.iter()).map_err(Invariant::Options)?;
        self.check_messages(&inside)
    }

    /// Link crossings so far.
    pub fn packet_hops(&self) -> u64 {
        self.net.sides.iter().map(|side| side.all_delivered).sum()
    }

    /// The share of link crossings that needed no event, because the next hop was folded.
    pub fn folded(&self) -> f64 {
        let events = self.net.sides.iter().map(|side| side.events).sum::<u64>();
        // Arrivals of lost packets are events, but no crossings.
        let hops = self.packet_hops().max(1);
        hops.saturating_sub(events) as f64 / hops as f64
    }

    /// Something new is due at `key`.
    fn advance_agenda(&mut self, key: Key) {
        if key < self.agenda {
            self.agenda = key;
            self.heads.set(AGENDA, key);
        }
    }

    fn update_agenda(&mut self) {
        let mut next = self.probes.head();
        // Most heaps are empty.
        if let Some(timer) = self.timers.peek() {
            next = next.min(timer.0.0);
        }
        if let Some(service) = self.services.peek() {
            next = next.min(service.0.0);
        }
        if let Some(source) = self.sources.peek() {
            next = next.min(source.0.0);
        }
        if let Some(wakeup) = self.wakeups.first() {
            next = next.min(wakeup.key);
        }
        self.agenda = next;
        self.heads.set(AGENDA, next);
    }

    /// Sets a timer of `whose`. Among events of one instant `tie` decides on the order.
    fn set_timer(&mut self, at: Time, tie: u32, whose: u32, wake: Wake) {
        let key = key(at, Rank::Timer, 0, tie);
        self.timers.push(Reverse((key, whose, wake)));
        self.advance_agenda(key);
    }

    // Apart, so that the loop keeps its registers.
    #[cold]
    #[inline(never)]
    fn probe(&mut self, now: Time) {
        self.catch_up_all(now);
        if self.probes.take_window(now) {
            self.window_open = true;
            self.net.senders_before = self.net.senders(now, true);
            self.net.served_before = self.net.served(true);
            let exposed = self.net.exposed();
            if let Some(conex) = &mut self.net.conex {
                conex.before = exposed.into_iter().map(|sums| sums.tally).collect();
            }
            for flow in 0..self.net.flows.len() {
                self.net.counters[flow].received_before = self.net.received(flow as u32);
            }
            self.net.ports.iter_mut().for_each(|port| port.link.open_window());
        }
        self.probes.look(now, &mut self.net);
        self.move_fence();
        self.taken += self.probes.timed.len() as u64 / 64;
        if self.work() >= self.limit.next {
            self.weigh(now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use evenflow_base::Time;
    use evenflow_scenario::Scenario;
    use evenflow_transport::Segment;

    use crate::Options;

    /// Files of which ACKs with SACK blocks are dropped, by a queue and at random: when all is over, nothing is kept of them.
    #[test]
    fn what_dropped_packets_carried_is_given_up() {
        let text = r#"
duration = "100 s"
[links.all]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { limit = "10 packets" }
reverse = { rate = "60 kbit/s", queue = { limit = "4 packets" } }
loss = { probability = 0.02, direction = "both" }
[groups.files]
users = 3
path = ["all"]
traffic = { kind = "upload", size = "500 kB" }
"#;
        let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
        for eager in [false, true] {
            let stop = AtomicBool::new(false);
            let options = Options { eager, ..Options::default() };
            let mut engine = crate::build::build(&scenario, 1, options, &stop).expect("nobody stops it");
            engine.run(None).expect("it runs to its end");
            engine.check_conservation().expect("nothing is lost");
            assert_eq!(engine.created, engine.consumed + dropped(&engine), "packets are left");
            assert!(dropped(&engine) > 100);
            assert_eq!(engine.options.len(), 0, "eager: {eager}");
        }
    }

    const BULK: &str = r#"
duration = "1 s"
links.l = { rate = "10 Mbit/s", delay = "5 ms" }
groups.g = { users = 3, path = ["l"], traffic = { kind = "bulk" } }
"#;

    /// By counts of events and packets, not by a clock: a raised flag is heard before the next look.
    #[test]
    fn a_raised_flag_is_heard_while_building_between_events_and_within_one() {
        let scenario = Scenario::from_toml(BULK).unwrap_or_else(|e| panic!("{e}"));
        let stop = AtomicBool::new(true);
        let (why, net) =
            crate::build::build(&scenario, 1, Options::default(), &stop).expect_err("it is stopped");
        assert_eq!(why, crate::RunError::Interrupted);
        assert_eq!((net.ports.len(), net.flows.len(), net.flows.capacity()), (0, 0, 0));
        stop.store(false, Ordering::Relaxed);
        let mut engine =
            crate::build::build(&scenario, 1, Options::default(), &stop).expect("nobody stops it");
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(engine.run(None), Err(crate::RunError::Interrupted)));
        assert_eq!(engine.events, super::STOP_EVERY);

        stop.store(false, Ordering::Relaxed);
        let segment = Segment { seq: 0, payload: 0, stamp: 0, flags: 0, ip: 0, again: false };
        let (mut pieces, mut sent) = (0, 0);
        engine.outbox = vec![segment; 3 * super::SEND_AT_ONCE - 1];
        engine.send_in_pieces(Time::ZERO, |engine| {
            sent += std::mem::take(&mut engine.outbox).len();
            pieces += 1;
        });
        assert_eq!((pieces, sent), (3, 3 * super::SEND_AT_ONCE - 1));
        engine.outbox = vec![segment; 5 * super::SEND_AT_ONCE];
        engine.send_in_pieces(Time::ZERO, |engine| {
            engine.outbox.clear();
            pieces += 1;
            stop.store(pieces == 5, Ordering::Relaxed);
        });
        assert_eq!(pieces, 5);
        // What was not sent is no part of a run, even where the flag is lowered again.
        stop.store(false, Ordering::Relaxed);
        let events = engine.events;
        assert!(matches!(engine.run(None), Err(crate::RunError::Interrupted)));
        assert!(engine.events <= events + 1);
    }

    fn dropped(engine: &super::Engine) -> u64 {
        engine.net.sides.iter().map(|side| side.all_dropped).sum()
    }
}
