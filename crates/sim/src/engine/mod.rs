//! The event loop: what happens next, until the window ends.
//!
//! Endpoints send and receive in [`endpoints`]; packets move from link to link in [`path`]; what both act on is the
//! [`Network`].
//!
//! Few things stand in line for the next event: one head per delay line, and one for timers, servers and probes together.

mod applications;
mod endpoints;
mod path;
mod stages;
mod traced;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evenflow_base::{Duration, Options, Packet, Time};
use evenflow_queue::Dropped;
use evenflow_traffic::{Call, Event};
use evenflow_transport::Segment;
use evenflow_transport::connection::Notice;

use crate::RunError;
use crate::events::{Heads, Key, Lane, NEVER, Rank, key, lane_of, rank_of, time_of};
use crate::network::Network;
use crate::port::Queue;
use crate::probe::{Gauges, Probes};
use crate::wakeups::Wakeups;

/// Set in the index of a service that is a scheduler's wake-up, not the end of a transmission.
const WAKE: u32 = 1 << 31;

/// Events between looks at the stop flag: one may take a millisecond, where a scheduler of 10^5 queues looks at all of them.
const STOP_EVERY: u64 = 1 << 8;

/// Events between looks at what may end a run besides.
const FAULT_EVERY: u64 = 1 << 16;

/// Packets that one event sends between looks at the stop flag.
const SEND_AT_ONCE: usize = 1 << 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    Start,
    Sender,
    Receiver,
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
    /// Raised where nobody wants the run any more.
    stop: &'a AtomicBool,
    /// Something was not sent because of it.
    cut: bool,
    /// What it moves packets through.
    pub net: Network,
    /// Series, histograms, lists.
    pub probes: Probes,
    /// Events so far.
    pub events: u64,
    heads: Heads,
    agenda: Key,
    timers: BinaryHeap<Reverse<(Key, u32, Wake)>>,
    /// When each flow of datagrams has its next: apart from timers, most of which are far off.
    sources: BinaryHeap<Reverse<(Key, u32)>>,
    services: BinaryHeap<Reverse<(Key, u32)>>,
    /// Ends of flows that were opened on the way.
    wakeups: Wakeups,
    outbox: Vec<Segment>,
    /// What packets under way carry besides.
    options: Options,
    /// What ports drop after they had accepted it, until it is booked.
    dropped: Vec<Dropped>,
    staging: stages::Staging,
    created: u64,
    consumed: u64,
    window_open: bool,
    /// What applications have not heard yet: the number of each, and the news.
    news: Vec<(u32, Event)>,
    /// What an application wants.
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
    pub fn new(net: Network, probes: Probes, stop: &'a AtomicBool) -> Engine<'a> {
        let mut engine = Engine {
            stop,
            cut: false,
            heads: Heads::new(LANES as usize + net.lanes.len()),
            agenda: NEVER,
            timers: BinaryHeap::with_capacity(net.flows.len() + 1),
            sources: BinaryHeap::new(),
            services: BinaryHeap::new(),
            wakeups: Wakeups::default(),
            window_open: net.window.from == Time::ZERO,
            net,
            probes,
            events: 0,
            outbox: Vec::new(),
            options: Options::default(),
            dropped: Vec::new(),
            staging: stages::Staging::default(),
            created: 0,
            consumed: 0,
            news: Vec::new(),
            calls: Vec::new(),
            notices: Vec::new(),
        };
        for flow in 0..engine.net.flows.len() as u32 {
            if engine.is_stopped() {
                break; // the first look ends it
            }
            let start = engine.net.starts[flow as usize];
            engine.set_timer(start, flow, Wake::Start);
        }
        engine.start_arrivals();
        engine.schedule_changes();
        let opens = (!engine.window_open).then_some(engine.net.window.from);
        engine.probes.schedule(opens);
        engine.update_agenda();
        engine
    }

    /// Runs to the end of the window. Apart, so that the loop keeps its registers.
    #[inline(never)]
    pub fn run(&mut self, clock: Option<&AtomicU64>) -> Result<(), RunError> {
        let end = key(self.net.window.to + Duration(1), Rank::Service, 0, 0);
        self.start_stages();
        loop {
            let next = self.heads.first();
            if next >= end {
                if self.cut {
                    return Err(RunError::Interrupted);
                }
                break;
            }
            self.events += 1;
            if self.events.is_multiple_of(STOP_EVERY) {
                self.look_up(time_of(next), clock)?;
            }
            let now = time_of(next);
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
        self.finish();
        Ok(())
    }

    /// Whether the run is to go on. Apart, so that the loop keeps its registers.
    #[cold]
    #[inline(never)]
    fn look_up(&mut self, now: Time, clock: Option<&AtomicU64>) -> Result<(), RunError> {
        if self.is_stopped() || self.cut {
            return Err(RunError::Interrupted);
        }
        if let Some(clock) = clock {
            clock.store(now.seconds().to_bits(), Ordering::Relaxed);
        }
        if self.events.is_multiple_of(FAULT_EVERY) {
            self.stage_fault()?;
            self.trace_fault()?;
        }
        Ok(())
    }

    /// Whether somebody has raised the stop flag.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What one event sends, in pieces, so that a raised flag is heard between two of them; what is left then is not sent, for
    /// nobody will see the run.
    #[inline(never)]
    fn send_in_pieces(&mut self, mut send: impl FnMut(&mut Self)) {
        if self.outbox.len() <= SEND_AT_ONCE {
            return send(self);
        }
        let all = std::mem::take(&mut self.outbox);
        for piece in all.chunks(SEND_AT_ONCE) {
            if self.is_stopped() {
                // The loop looks before the next event: what follows from packets that were not sent is nobody's run.
                self.events |= STOP_EVERY - 1;
                self.cut = true;
                return;
            }
            self.outbox.extend_from_slice(piece);
            send(self);
        }
    }

    /// Closes every integral at the end of the window.
    fn finish(&mut self) {
        let (end, window) = (self.net.window.to, self.net.window);
        for port in &mut self.net.ports {
            match &mut port.queue {
                Queue::Open => {}
                Queue::Fifo(q) => {
                    q.release(end, &window);
                    if let Some(lengths) = &mut q.lengths {
                        lengths.advance(q.gate.packets, end, &window);
                    }
                }
                Queue::Events(q) => {
                    // What still waits has waited since it was accepted; the lazy path knew that at once.
                    let counters = &mut port.counters;
                    q.qdisc.for_each(|item| counters.queue_time += window.overlap(item.at, end));
                    q.note_length(end, &window);
                }
            }
        }
        for connection in &mut self.net.connections {
            endpoints::advance(connection, &self.net.profiles[connection.profile as usize], end, &window);
        }
        self.sum_up_all();
    }

    /// Packets made = packets arrived + dropped + still inside, for the network and for each link and direction; and what packets
    /// carry besides is kept for those that are inside, and for no other.
    pub fn check_conservation(&self) -> Result<(), String> {
        let mut held = vec![0u64; self.net.sides.len()];
        for port in &self.net.ports {
            if let Queue::Events(q) = &port.queue {
                held[port.side as usize] += u64::from(q.qdisc.packets());
            }
        }
        let mut inside = self.net.lanes.get(self.net.sides.len()).map_or(0, Lane::len) as u64;
        let mut dropped = 0;
        for (i, side) in self.net.sides.iter().enumerate() {
            let here = self.net.lanes[i].len() as u64 + held[i];
            if side.all_offered != side.all_delivered + side.all_dropped + here {
                return Err(format!(
                    "side {i} of links: {} packets offered, {} delivered, {} dropped, {here} inside",
                    side.all_offered, side.all_delivered, side.all_dropped
                ));
            }
            inside += here;
            dropped += side.all_dropped;
        }
        let with_stages: u64 = self.net.stages.iter().map(|slot| u64::from(slot.held)).sum();
        let by_stages: u64 = self.net.stage_counters.iter().map(|stage| stage.all_dropped).sum();
        if self.created != self.consumed + dropped + by_stages + inside + with_stages {
            return Err(format!(
                "network: {} packets sent, {} arrived, {dropped} dropped by links, {by_stages} by stages, {inside} inside, {with_stages} held by stages",
                self.created, self.consumed
            ));
        }
        self.check_bytes()?;
        self.net.check_exposed()?;
        self.check_options()
    }

    /// What packets carry besides is kept for those that are inside, and so is messages between stages.
    fn check_options(&self) -> Result<(), String> {
        // Of millions of packets that nobody wrote on there is nothing to check.
        let carries = |packet: &Packet| packet.place().is_some() || packet.is_of_stage();
        let lanes = self.net.lanes.iter().flat_map(Lane::packets);
        let mut inside: Vec<Packet> = lanes.filter(|packet| carries(packet)).copied().collect();
        for port in &self.net.ports {
            if let Queue::Events(q) = &port.queue {
                q.qdisc.for_each(|item| inside.extend(Some(item.packet).filter(carries)));
            }
        }
        for slot in &self.net.stages {
            inside.extend(slot.stage.held().iter().map(|held| held.packet).filter(carries));
        }
        self.options.check(inside.iter())?;
        self.check_messages(&inside)
    }

    /// Link crossings so far.
    pub fn packet_hops(&self) -> u64 {
        self.net.sides.iter().map(|side| side.all_delivered - side.ahead).sum()
    }

    /// Something new is due at `key`.
    fn advance_agenda(&mut self, key: Key) {
        if key < self.agenda {
            self.agenda = key;
            self.heads.set(AGENDA, key);
        }
    }

    fn update_agenda(&mut self) {
        let timer = self.timers.peek().map_or(NEVER, |t| t.0.0);
        let service = self.services.peek().map_or(NEVER, |s| s.0.0);
        let source = self.sources.peek().map_or(NEVER, |s| s.0.0);
        let wakeup = self.wakeups.first().map_or(NEVER, |w| w.key);
        self.agenda = timer.min(service).min(source).min(wakeup).min(self.probes.head());
        self.heads.set(AGENDA, self.agenda);
    }

    fn set_timer(&mut self, at: Time, flow: u32, wake: Wake) {
        self.set_timer_as(at, flow, flow, wake);
    }

    /// The same where `tie` decides on the order among events of one instant, and `whose` says whom the timer wakes.
    fn set_timer_as(&mut self, at: Time, tie: u32, whose: u32, wake: Wake) {
        let key = key(at, Rank::Timer, 0, tie);
        self.timers.push(Reverse((key, whose, wake)));
        self.advance_agenda(key);
    }

    // Apart, so that the loop keeps its registers.
    #[cold]
    #[inline(never)]
    fn probe(&mut self, now: Time) {
        if self.probes.take_window(now) {
            self.window_open = true;
            self.net.senders_before = self.net.senders(now, true);
            self.net.served_before = self.net.served(true);
            let exposed = self.net.exposed();
            if let Some(conex) = &mut self.net.conex {
                conex.before = exposed.into_iter().map(|sums| sums.tally).collect();
            }
            for flow in 0..self.net.flows.len() {
                self.net.counters[flow].received_before = self.net.received(flow);
            }
            for port in &mut self.net.ports {
                if let Queue::Events(q) = &mut port.queue {
                    q.open_window();
                }
            }
        }
        self.probes.look(now, &mut self.net);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

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
        for event_path in [false, true] {
            let stop = AtomicBool::new(false);
            let options = Options { event_path, ..Options::default() };
            let mut engine = crate::build::build(&scenario, 1, options, &stop).expect("nobody stops it");
            engine.run(None).expect("it runs to its end");
            engine.check_conservation().expect("nothing is lost");
            assert_eq!(engine.created, engine.consumed + dropped(&engine), "packets are left");
            assert!(dropped(&engine) > 100);
            assert_eq!(engine.options.len(), 0, "event path: {event_path}");
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
        let net = crate::build::build(&scenario, 1, Options::default(), &stop).expect_err("it is stopped");
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
        engine.send_in_pieces(|engine| {
            sent += std::mem::take(&mut engine.outbox).len();
            pieces += 1;
        });
        assert_eq!((pieces, sent), (3, 3 * super::SEND_AT_ONCE - 1));
        engine.outbox = vec![segment; 5 * super::SEND_AT_ONCE];
        engine.send_in_pieces(|engine| {
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
