//! The event loop.
//!
//! Few things stand in line for the next event: one head per delay line, and one for timers, servers and probes together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evenflow_base::schema::Sampler;
use evenflow_base::{Duration, Ecn, Fine, Packet, Stream, Time, flags};
use evenflow_queue::{Gone, Queued, Reason, Verdict};
use evenflow_stage::Stage;
use evenflow_traffic::Source;
use evenflow_transport::sender::Life;
use evenflow_transport::sender::metrics::Metrics;
use evenflow_transport::{Profile, Receiver, Report, Reports, Segment, Sender};

use crate::RunError;
use crate::events::{Class, Heads, InFlight, Key, Lane, NEVER, class_of, key, sequence_of, time_of};
use crate::measure::{ClassCounters, FlowCounters, Window, WindowMeter};
use crate::port::{Gate, Port, Queue};
use crate::probe::{Happening, Probes};

/// Set in a route entry that is a stage; the rest is its index. Without it the entry is the index of a port, with [`KEEP`]
/// and [`FOLD`].
pub const STAGE: u32 = 1 << 31;
/// The port hears from one host, receiver or link alone: a packet keeps the sequence number it comes with.
pub const KEEP: u32 = 1 << 30;
/// The next port on the route hears from this one alone, in the order in which this one accepts: its work is done at once,
/// with the instant at which the packet will reach it, and needs no event.
pub const FOLD: u32 = 1 << 29;
/// The port itself.
pub const PORT: u32 = FOLD - 1;
/// The route entry where the way to the receiver ends and the way back begins.
pub const RECEIVER: u32 = u32::MAX;
/// The route entry where the way back ends.
pub const SENDER: u32 = u32::MAX - 1;

/// The route entry behind the last, where packets arrive that were lost at random: they keep the time they would have taken,
/// and their stamp, which nobody will read, says on which port they were lost.
pub const LOST: u32 = u32::MAX - 2;

/// Set in the index of a service that is a scheduler's wake-up, not the end of a transmission.
const WAKE: u32 = 1 << 31;

/// Events between looks at the stop flag.
const STOP_EVERY: u64 = 1 << 16;

/// What a flow is and where its packets go.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Where its route begins in [`Engine::routes`].
    pub route: u32,
    /// Where on it the way back begins.
    pub back: u8,
    /// Where on it [`LOST`] stands.
    pub lost: u8,
    /// Its traffic class.
    pub class: u8,
    /// Whether it is a TCP connection.
    pub tcp: bool,
    /// ACKs tell the receiver's clock: the sender's congestion control wants one-way delays.
    pub tells_clock: bool,
    /// Its first link hears from its host alone and is FIFO: the link's work is done when the packet is launched, with the
    /// instant at which it will leave the host.
    pub folded: bool,
    /// Index into [`Engine::connections`] or [`Engine::datagrams`].
    pub endpoint: u32,
    /// Index into [`Engine::hosts`].
    pub host: u32,
}

/// Both ends of a TCP connection.
#[derive(Debug)]
pub struct Connection {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Index into [`Engine::profiles`].
    pub profile: u32,
    /// The sender's wake-up on record; any other is stale.
    pub sender_wake: Time,
    /// The receiver's.
    pub receiver_wake: Time,
    /// Integrals of the congestion window.
    pub meter: WindowMeter,
}

impl Connection {
    /// When to wake the sender, if that is earlier than the wake-up on record, which it then replaces.
    #[inline]
    fn sender_due(&mut self) -> Option<Time> {
        earlier(self.sender.deadline(), &mut self.sender_wake)
    }

    /// The same for the receiver.
    #[inline]
    fn receiver_due(&mut self) -> Option<Time> {
        earlier(self.receiver.deadline(), &mut self.receiver_wake)
    }
}

#[inline]
fn earlier(deadline: Time, wake: &mut Time) -> Option<Time> {
    (deadline < *wake).then(|| {
        *wake = deadline;
        deadline
    })
}

/// A datagram flow.
#[derive(Debug)]
pub struct Datagrams {
    /// When and how large.
    pub source: Source,
    /// Draws of gaps.
    pub gaps: Stream,
    /// Draws of sizes.
    pub sizes: Stream,
    /// Packets sent.
    pub sent: u64,
    /// Application bytes received in the whole run.
    pub received: u64,
}

/// The machine of one user.
#[derive(Debug)]
pub struct Host {
    /// Time it spends on a data packet; absent: none.
    pub processing: Option<(Sampler, Stream)>,
    /// When its last packet left it; order is kept.
    pub left: Time,
    /// The profiles of its own, in [`Engine::profiles`], where its connections share metrics.
    pub profiles: Range<usize>,
}

impl Host {
    /// When a packet handed to the machine at `now` leaves it; `None`: at once, for the machine takes no time.
    #[inline]
    fn process(&mut self, packet: &Packet, now: Time) -> Option<Time> {
        let (law, stream) = self.processing.as_mut()?;
        let spent = match packet.is_data() {
            true => Duration::from_seconds(law.draw(stream, 0)),
            false => Duration::ZERO,
        };
        self.left = self.left.max(now + spent);
        Some(self.left)
    }
}

/// A stage with its stream.
#[derive(Debug)]
pub struct StageSlot {
    /// The stage.
    pub stage: Stage,
    /// Its own stream.
    pub stream: Stream,
    /// Index of its class in the scenario, for probes.
    pub class: u32,
    /// Number among its copies.
    pub copy: u32,
    /// Packets and bytes that passed forward in the window.
    pub passed: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    Start,
    Sender,
    Receiver,
    Source,
}

/// Everything a run is made of.
#[derive(Debug)]
pub struct Engine {
    /// The measuring window; the run ends where it ends.
    pub window: Window,
    /// Ports: forward and backward of each copy beside each other.
    pub ports: Vec<Port>,
    /// One lane a link and direction; behind them that of the hosts, where some group has processing.
    pub lanes: Vec<Lane>,
    /// Counters by link and direction.
    pub classes: Vec<ClassCounters>,
    /// Stages.
    pub stages: Vec<StageSlot>,
    /// All routes, one after the other. Each goes there and back: ports and stages, [`RECEIVER`], ports, [`SENDER`]. One
    /// position on it says all about where a packet is, so that little is left to decide at each hop.
    pub routes: Vec<u32>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// What flows counted.
    pub counters: Vec<FlowCounters>,
    /// TCP connections.
    pub connections: Vec<Connection>,
    /// Datagram flows.
    pub datagrams: Vec<Datagrams>,
    /// TCP configurations.
    pub profiles: Vec<Profile>,
    /// Users' machines.
    pub hosts: Vec<Host>,
    /// When each flow starts.
    pub starts: Vec<Time>,
    /// Series, histograms, lists.
    pub probes: Probes,
    /// Events so far.
    pub events: u64,
    heads: Heads,
    agenda: Key,
    timers: BinaryHeap<Reverse<(Key, u32, Wake)>>,
    services: BinaryHeap<Reverse<(Key, u32)>>,
    sequence: u64,
    outbox: Vec<Segment>,
    /// SACK options of ACKs under way.
    reports: Reports,
    /// What ports drop after they had accepted it, until it is booked.
    gone: Vec<Gone>,
    created: u64,
    consumed: u64,
    window_open: bool,
}

/// Place of the head that is no lane's: the next of timers, servers and probes; the key's class tells which.
const AGENDA: u32 = 0;
/// Place of the first lane's head.
const LANES: u32 = 1;

/// What [`Engine::new`] is given.
pub struct Parts {
    /// See [`Engine`].
    pub window: Window,
    /// See [`Engine`].
    pub ports: Vec<Port>,
    /// See [`Engine`].
    pub lanes: Vec<Lane>,
    /// See [`Engine`].
    pub classes: Vec<ClassCounters>,
    /// See [`Engine`].
    pub stages: Vec<StageSlot>,
    /// See [`Engine`].
    pub routes: Vec<u32>,
    /// See [`Engine`].
    pub flows: Vec<Flow>,
    /// See [`Engine`].
    pub connections: Vec<Connection>,
    /// See [`Engine`].
    pub datagrams: Vec<Datagrams>,
    /// See [`Engine`].
    pub profiles: Vec<Profile>,
    /// See [`Engine`].
    pub hosts: Vec<Host>,
    /// See [`Engine`].
    pub starts: Vec<Time>,
    /// See [`Engine`].
    pub probes: Probes,
}

impl Engine {
    /// A network at rest, its flows' starts in the timers.
    pub fn new(p: Parts) -> Engine {
        let mut engine = Engine {
            counters: vec![FlowCounters::default(); p.flows.len()],
            heads: Heads::new(LANES as usize + p.lanes.len()),
            agenda: NEVER,
            timers: BinaryHeap::with_capacity(p.flows.len() + 1),
            services: BinaryHeap::new(),
            window: p.window,
            ports: p.ports,
            lanes: p.lanes,
            classes: p.classes,
            stages: p.stages,
            routes: p.routes,
            flows: p.flows,
            connections: p.connections,
            datagrams: p.datagrams,
            profiles: p.profiles,
            hosts: p.hosts,
            starts: p.starts,
            probes: p.probes,
            events: 0,
            sequence: 0,
            outbox: Vec::new(),
            reports: Reports::default(),
            gone: Vec::new(),
            created: 0,
            consumed: 0,
            window_open: p.window.from == Time::ZERO,
        };
        for flow in 0..engine.flows.len() as u32 {
            let start = engine.starts[flow as usize];
            engine.set_timer(start, flow, Wake::Start);
        }
        if !engine.window_open {
            engine.probes.schedule_window(p.window.from);
        }
        engine.update_agenda();
        engine
    }

    /// Runs to the end of the window.
    pub fn run(&mut self, stop: &AtomicBool, clock: Option<&AtomicU64>) -> Result<(), RunError> {
        let end = key(self.window.to + Duration(1), Class::Service, 0);
        loop {
            let (next, place) = self.heads.first();
            if next >= end {
                break;
            }
            self.events += 1;
            if self.events.is_multiple_of(STOP_EVERY) {
                if stop.load(Ordering::Relaxed) {
                    return Err(RunError::Interrupted);
                }
                if let Some(clock) = clock {
                    clock.store(time_of(next).seconds().to_bits(), Ordering::Relaxed);
                }
            }
            let now = time_of(next);
            if place >= LANES {
                self.arrival((place - LANES) as usize, now);
                continue;
            }
            match class_of(next) {
                Class::Service => self.service(now),
                Class::Probe => self.probe(now),
                _ => self.timer(next, now),
            }
            self.update_agenda();
        }
        self.finish();
        Ok(())
    }

    /// Closes every integral at the end of the window.
    fn finish(&mut self) {
        let (end, window) = (self.window.to, self.window);
        for port in &mut self.ports {
            match &mut port.queue {
                Queue::Open => {}
                Queue::Fifo(q) => {
                    q.release(end, &window);
                    if let Some(lengths) = &mut q.gate.lengths {
                        lengths.advance(q.gate.packets, end, &window);
                    }
                }
                Queue::Events(q) => {
                    // What still waits has waited since it was accepted; the lazy path knew that at once.
                    let counters = &mut port.counters;
                    q.scheduler.for_each(|item| counters.queue_time += window.overlap(item.at, end));
                    if let Some(lengths) = &mut q.gate.lengths {
                        lengths.advance(q.gate.packets, end, &window);
                    }
                }
            }
        }
        for connection in &mut self.connections {
            advance(connection, &self.profiles[connection.profile as usize], end, &window);
        }
    }

    /// Packets made = packets arrived + dropped + still inside, for the network and for each link and direction.
    pub fn check_conservation(&self) -> Result<(), String> {
        let mut held = vec![0u64; self.classes.len()];
        for port in &self.ports {
            if let Queue::Events(q) = &port.queue {
                held[port.class as usize] += u64::from(q.gate.packets);
            }
        }
        let mut inside = self.lanes.get(self.classes.len()).map_or(0, Lane::len) as u64;
        let mut dropped = 0;
        for (i, class) in self.classes.iter().enumerate() {
            let here = self.lanes[i].len() as u64 + held[i];
            if class.all_offered != class.all_delivered + class.all_dropped + here {
                return Err(format!(
                    "link class {i}: {} packets offered, {} delivered, {} dropped, {here} inside",
                    class.all_offered, class.all_delivered, class.all_dropped
                ));
            }
            inside += here;
            dropped += class.all_dropped;
        }
        if self.created != self.consumed + dropped + inside {
            return Err(format!(
                "network: {} packets sent, {} arrived, {dropped} dropped, {inside} inside",
                self.created, self.consumed
            ));
        }
        Ok(())
    }

    /// Link crossings so far.
    pub fn packet_hops(&self) -> u64 {
        self.classes.iter().map(|class| class.all_delivered - class.ahead).sum()
    }

    // --- timers -------------------------------------------------------------------------------------------------

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
        self.agenda = timer.min(service).min(self.probes.head());
        self.heads.set(AGENDA, self.agenda);
    }

    #[inline(always)]
    fn draw_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn set_timer(&mut self, at: Time, flow: u32, wake: Wake) {
        let sequence = self.draw_sequence();
        let key = key(at, Class::Timer, sequence);
        self.timers.push(Reverse((key, flow, wake)));
        self.advance_agenda(key);
    }

    fn timer(&mut self, fired: Key, now: Time) {
        let Some(Reverse((_, flow, wake))) = self.timers.pop() else { return };
        let info = self.flows[flow as usize];
        let endpoint = info.endpoint as usize;
        match wake {
            Wake::Start => self.start(flow, now),
            Wake::Source => self.datagram(flow, now),
            Wake::Sender => {
                let (c, profiles) = (&mut self.connections[endpoint], &self.profiles);
                // A wake-up that is not the one on record is stale: its deadline moved earlier once.
                if c.sender_wake != time_of(fired) {
                    return;
                }
                c.sender_wake = Time::NEVER;
                let profile = &profiles[c.profile as usize];
                if now >= c.sender.deadline() {
                    advance(c, profile, now, &self.window);
                    c.sender.wake(now, profile, &mut self.outbox);
                    if c.sender.life() == Life::Done {
                        return self.leave(endpoint, info.host);
                    }
                }
                let (profile, due) = (c.profile, c.sender_due());
                self.after(flow, info, profile, Wake::Sender, due, now);
            }
            Wake::Receiver => {
                let c = &mut self.connections[endpoint];
                if c.receiver_wake != time_of(fired) {
                    return;
                }
                c.receiver_wake = Time::NEVER;
                c.receiver.wake(now, &mut self.outbox);
                let (profile, due) = (c.profile, c.receiver_due());
                self.after(flow, info, profile, Wake::Receiver, due, now);
            }
        }
    }

    /// A connection is over, in order, and leaves its metrics to those of its host.
    #[cold]
    fn leave(&mut self, endpoint: usize, host: u32) {
        let c = &self.connections[endpoint];
        let profile = &self.profiles[c.profile as usize];
        let mut metrics = Metrics::of(profile);
        metrics.learn(&c.sender, profile);
        let own = self.hosts[host as usize].profiles.clone();
        self.profiles[own].iter_mut().filter(|p| p.save_metrics).for_each(|p| metrics.keep(p));
    }

    fn start(&mut self, flow: u32, now: Time) {
        let info = self.flows[flow as usize];
        let endpoint = info.endpoint as usize;
        if info.tcp {
            let c = &mut self.connections[endpoint];
            let profile = &self.profiles[c.profile as usize];
            c.sender.open(now, profile, &mut self.outbox);
            let (profile, due) = (c.profile, c.sender_due());
            self.after(flow, info, profile, Wake::Sender, due, now);
        } else {
            let d = &mut self.datagrams[endpoint];
            d.source.start(now);
            let next = d.source.next(&mut d.gaps);
            self.set_timer(next, flow, Wake::Source);
        }
    }

    fn datagram(&mut self, flow: u32, now: Time) {
        let info = self.flows[flow as usize];
        let d = &mut self.datagrams[info.endpoint as usize];
        let size = d.source.size(&mut d.sizes, d.sent);
        let packet = Packet {
            seq: d.sent,
            label: 0.0,
            flow,
            stamp: 0,
            size,
            payload: size.saturating_sub(evenflow_traffic::UDP_HEADER),
            hop: 0,
            class: info.class,
            flags: flags::DATAGRAM,
            ecn: d.source.ecn,
        };
        d.sent += 1;
        let next = d.source.next(&mut d.gaps);
        self.set_timer(next, flow, Wake::Source);
        self.created += 1;
        self.launch(packet, info, now);
    }

    // --- endpoints ----------------------------------------------------------------------------------------------

    /// After a call of an endpoint: sets the wake-up that it wants and sends what it left in the outbox.
    #[inline(always)]
    fn after(&mut self, flow: u32, info: Flow, profile: u32, wake: Wake, due: Option<Time>, now: Time) {
        if let Some(at) = due {
            self.set_timer(at, flow, wake);
        }
        self.send(flow, info, profile, now);
    }

    #[inline(never)]
    fn send(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        if self.outbox.is_empty() {
            return;
        }
        if info.tells_clock {
            return self.send_telling(flow, info, profile, now);
        }
        self.send_all::<false>(flow, info, profile, now);
    }

    /// The same where ACKs tell the receiver's clock. Apart, so that others do not pay for it.
    #[inline(never)]
    fn send_telling(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        self.send_all::<true>(flow, info, profile, now);
    }

    #[inline(always)]
    fn send_all<const CLOCK: bool>(&mut self, flow: u32, info: Flow, profile: u32, now: Time) {
        let mut outbox = std::mem::take(&mut self.outbox);
        self.created += outbox.len() as u64;
        for segment in &outbox {
            let back = segment.flags & flags::BACKWARD != 0;
            let mut packet = Packet {
                seq: segment.seq,
                label: 0.0,
                flow,
                stamp: segment.stamp,
                size: segment.size(&self.profiles[profile as usize]),
                payload: segment.payload,
                hop: if back { info.back } else { 0 },
                class: info.class,
                flags: segment.flags,
                ecn: segment.ecn,
            };
            if back
                && self.profiles[profile as usize].sack
                && let Some(report) = self.connections[info.endpoint as usize].receiver.report()
            {
                packet.set_report(self.reports.keep(report));
            }
            if back && CLOCK {
                packet.tell(self.profiles[profile as usize].clock_at(now));
            }
            self.launch(packet, info, now);
        }
        outbox.clear();
        self.outbox = outbox;
    }

    /// A packet leaves its endpoint: at once, or after the host's processing.
    #[inline(always)]
    fn launch(&mut self, mut packet: Packet, info: Flow, now: Time) {
        let sequence = self.draw_sequence();
        if packet.is(flags::BACKWARD) {
            return self.enter(&mut packet, now, sequence);
        }
        if packet.is_data() && self.window_open {
            let counters = &mut self.counters[packet.flow as usize];
            counters.sent += 1;
            if packet.is(flags::RETRANSMIT) {
                counters.retransmits += 1;
            }
        }
        let Some(left) = self.hosts[info.host as usize].process(&packet, now) else {
            return self.enter(&mut packet, now, sequence);
        };
        if !info.folded {
            return self.fly(self.classes.len(), key(left, Class::Arrival, sequence), &packet);
        }
        packet.hop = 1;
        let first = self.routes[info.route as usize] & PORT;
        if let Some((lane, arrival)) = self.cross(first, &mut packet, left, sequence) {
            self.fly(lane, key(arrival, Class::Arrival, sequence), &packet);
        }
    }

    /// A packet that was just made begins its way.
    #[inline(never)]
    fn enter(&mut self, packet: &mut Packet, now: Time, sequence: u64) {
        self.carry(packet, now, sequence);
    }

    #[inline(never)]
    fn at_sender(&mut self, packet: &Packet, info: Flow, now: Time) {
        self.consumed += 1;
        if !self.probes.flow_series.is_empty() {
            self.log_sender(packet.flow, info, now);
        }
        let c = &mut self.connections[info.endpoint as usize];
        let profile = &self.profiles[c.profile as usize];
        advance(c, profile, now, &self.window);
        let taken;
        let report = match packet.report() {
            0 => Report::NONE,
            place => {
                taken = self.reports.take(place);
                &taken
            }
        };
        c.sender.receive(packet, report, now, profile, &mut self.outbox);
        let (profile, due) = (c.profile, c.sender_due());
        self.after(packet.flow, info, profile, Wake::Sender, due, now);
    }

    /// What Linux's probe sees of a sender that is about to receive a segment. Apart, so that others do not pay for it.
    #[cold]
    #[inline(never)]
    fn log_sender(&mut self, flow: u32, info: Flow, now: Time) {
        let c = &self.connections[info.endpoint as usize];
        if c.sender.life() == Life::Opening {
            return;
        }
        let profile = &self.profiles[c.profile as usize];
        let (window, threshold) = (c.sender.window().cwnd, c.sender.remembered_threshold(profile));
        let mss = profile.mss as f64;
        self.probes.at_sender(flow as usize, window / mss, threshold / mss, now);
    }

    #[inline(never)]
    fn at_receiver(&mut self, packet: &Packet, info: Flow, now: Time) {
        self.consumed += 1;
        if packet.is_data() && self.window_open {
            let counters = &mut self.counters[packet.flow as usize];
            counters.throughput_bytes += u64::from(packet.size);
            counters.delivered += 1;
            if packet.ecn == Ecn::Congestion {
                counters.marks += 1;
            }
        }
        if !info.tcp {
            self.datagrams[info.endpoint as usize].received += u64::from(packet.payload);
            return;
        }
        let c = &mut self.connections[info.endpoint as usize];
        let profile = &self.profiles[c.profile as usize];
        c.receiver.receive(packet, now, profile, &mut self.outbox);
        let (profile, due) = (c.profile, c.receiver_due());
        self.after(packet.flow, info, profile, Wake::Receiver, due, now);
    }

    // --- the way of a packet --------------------------------------------------------------------------------------

    /// Puts a packet into a lane, out of which it comes at `key`.
    #[inline(always)]
    fn fly(&mut self, lane: usize, key: Key, packet: &Packet) {
        if self.lanes[lane].push(key, packet) {
            self.heads.set(LANES + lane as u32, key);
        }
    }

    #[inline(always)]
    fn arrival(&mut self, lane: usize, now: Time) {
        let line = &mut self.lanes[lane];
        let Some(&InFlight { key, mut packet }) = line.next() else { return };
        let head = line.take();
        self.heads.set(LANES + lane as u32, head);
        // The hosts' lane is no link's.
        if let Some(class) = self.classes.get_mut(lane) {
            class.all_delivered += 1;
            if self.probes.watches_links {
                self.delivered(&packet);
            }
        }
        self.carry(&mut packet, now, sequence_of(key));
    }

    /// Counts what a port has handed over, where a series asks for it.
    #[inline(never)]
    fn delivered(&mut self, packet: &Packet) {
        let info = &self.flows[packet.flow as usize];
        if packet.hop == info.lost {
            return;
        }
        let route = info.route as usize + usize::from(packet.hop);
        let port = &mut self.ports[(self.routes[route - 1] & PORT) as usize];
        port.counters.delivered += 1;
        port.counters.delivered_bytes += u64::from(packet.size);
    }

    /// Takes a packet to the next link on its way, through the stages before it, or to its end. `number` is the sequence
    /// number it comes with.
    #[inline(always)]
    fn carry(&mut self, packet: &mut Packet, mut now: Time, mut number: u64) {
        let info = self.flows[packet.flow as usize];
        loop {
            let entry = self.routes[info.route as usize + usize::from(packet.hop)];
            packet.hop += 1;
            if entry & STAGE != 0 {
                match entry {
                    RECEIVER => return self.at_receiver(packet, info, now),
                    SENDER => return self.at_sender(packet, info, now),
                    LOST => return self.lost(packet, now),
                    stage => self.pass(stage & !STAGE, packet, now),
                }
                continue;
            }
            if entry & KEEP == 0 {
                number = self.draw_sequence();
            }
            let Some((lane, arrival)) = self.cross(entry & PORT, packet, now, number) else { return };
            if entry & FOLD == 0 {
                return self.fly(lane, key(arrival, Class::Arrival, number), packet);
            }
            let class = &mut self.classes[lane];
            class.all_delivered += 1;
            if arrival > self.window.to {
                class.ahead += 1;
            }
            now = arrival;
        }
    }

    /// A packet passes a stage.
    #[inline(never)]
    fn pass(&mut self, stage: u32, packet: &mut Packet, now: Time) {
        let slot = &mut self.stages[stage as usize];
        slot.stage.forward(packet, now, &mut slot.stream);
        slot.passed.0 += u64::from(self.window_open);
        slot.passed.1 += u64::from(packet.size) * u64::from(self.window_open);
        if self.probes.watches_stages {
            self.probes.at_stage(slot, now);
        }
    }

    /// A packet asks for a link. Gives the link's lane and the packet's arrival at the far end, if that is known by now.
    #[inline(always)]
    fn cross(&mut self, index: u32, packet: &mut Packet, now: Time, sequence: u64) -> Option<(usize, Time)> {
        let port = &mut self.ports[index as usize];
        let lane = port.class as usize;
        let class = &mut self.classes[lane];
        class.all_offered += 1;
        port.counters.arrived_bytes += u64::from(packet.size);
        let free = port.free_at.ceil();
        match &mut port.queue {
            Queue::Open => {}
            Queue::Fifo(q) if free <= now && q.gate.plain && !self.probes.watches_ports => {}
            Queue::Fifo(q) if q.gate.plain => {
                q.release(now, &self.window);
                let verdict = q.gate.admit_plain(packet, free > now);
                if verdict == Verdict::Accept && !self.probes.watches_ports {
                    q.wait(free, packet.size, now, &self.window);
                } else if !self.judged(index, packet, verdict, now, free) {
                    return None;
                }
            }
            Queue::Fifo(_) => {
                if !self.ask(index, packet, now, free) {
                    return None;
                }
            }
            Queue::Events(_) => {
                self.offer_by_events(index, *packet, sequence, now);
                return None;
            }
        }
        let (port, class) = (&mut self.ports[index as usize], &mut self.classes[lane]);
        let start = if free > now { (port.free_at, free) } else { (Fine::at(now), now) };
        let times = transmit(port, packet.size, start);
        if now > self.window.from && times.ended <= self.window.to {
            book(port, class, packet.class, now, times);
        } else {
            if !self.window.holds(now) {
                class.outside += 1;
            }
            book_clipped(port, class, packet.class, now, times, &self.window);
        }
        Some((lane, times.ended + port.delay))
    }

    /// A packet asks a lazy FIFO that has more than a limit, and is free at `free`; says whether it may go on.
    #[inline(never)]
    fn ask(&mut self, index: u32, packet: &mut Packet, now: Time, free: Time) -> bool {
        let Queue::Fifo(q) = &mut self.ports[index as usize].queue else { return false };
        q.advance(now, free, &self.window);
        let full = free > now && q.gate.is_full(packet.size);
        let verdict = q.gate.ask(packet, now, full, (free <= now).then_some(free));
        let fickle = q.gate.fickle;
        if verdict == Verdict::Accept && !self.probes.watches_ports {
            q.wait(free, packet.size, now, &self.window);
        } else if !self.judged(index, packet, verdict, now, free) {
            return false;
        }
        if fickle {
            self.chance(index, packet, now, free);
        }
        true
    }

    /// What a lazy FIFO, free at `free`, does at random to a packet that it has accepted.
    #[inline(never)]
    fn chance(&mut self, index: u32, packet: &mut Packet, now: Time, free: Time) {
        let port = &mut self.ports[index as usize];
        let Queue::Fifo(q) = &mut port.queue else { return };
        if let Some(jitter) = &mut q.gate.jitter {
            let start = if free > now { port.free_at } else { Fine::at(now) };
            port.delay = jitter.delay((start + port.byte_time.times(u32::from(packet.size))).ceil());
        }
        if loses(&mut q.gate, Verdict::Accept, now) {
            doom(packet, index, &self.flows);
        }
    }

    /// Books what the rule of a lazy FIFO, free at `free`, has decided, where it is more than a plain yes; says whether the
    /// packet may go on.
    #[inline(never)]
    fn judged(&mut self, index: u32, packet: &Packet, verdict: Verdict, now: Time, free: Time) -> bool {
        let port = &mut self.ports[index as usize];
        let class = &mut self.classes[port.class as usize];
        let Queue::Fifo(q) = &mut port.queue else { return false };
        if self.probes.watches_ports {
            let observe = |_, name: &str| q.gate.observe(name);
            self.probes.at_port(port.class, port.copy, observe, packet, verdict, now);
        }
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark(reason) => {
                port.counters.marks += 1;
                class.marks[reason as usize] += u64::from(self.window.holds(now));
            }
            Verdict::Drop(reason) => {
                class.outside += u64::from(!self.window.holds(now));
                self.dropped(index, packet, reason, now);
                return false;
            }
        }
        q.wait(free, packet.size, now, &self.window);
        true
    }

    #[inline(never)]
    fn offer_by_events(&mut self, index: u32, mut packet: Packet, sequence: u64, now: Time) {
        let window = self.window;
        let port = &mut self.ports[index as usize];
        let lane = port.class as usize;
        if !window.holds(now) {
            self.classes[lane].outside += 1;
        }
        let Queue::Events(q) = &mut port.queue else { return };
        if let Some(rate) = q.step(now) {
            port.byte_time = rate.byte_time();
        }
        // The rule decides first, about a queue that has room where somebody else can be pushed out.
        let free = port.free_at.ceil();
        q.advance(now, free);
        let queue = q.place(&packet, now);
        let full = q.is_full(queue, packet.size) && !q.scheduler.can_push_out(queue, packet.size);
        let idle_since = q.idle_since(free);
        let mut verdict = match q.scheduler.refuses(packet.size) {
            None => q.gate.ask(&mut packet, now, full, idle_since),
            Some(reason) => Verdict::Drop(reason),
        };
        let mut gone = std::mem::take(&mut self.gone);
        while !matches!(verdict, Verdict::Drop(_)) && q.is_full(queue, packet.size) {
            if let Some(lengths) = &mut q.gate.lengths {
                lengths.advance(q.gate.packets, now, &window);
            }
            if !q.push_out(queue, packet.size, &mut gone) {
                verdict = Verdict::Drop(Reason::Limit);
            }
        }
        if self.probes.watches_ports {
            let observe = |class, name: &str| q.observe(class, name, now);
            self.probes.at_port(lane as u32, port.copy, observe, &packet, verdict, now);
        }
        if let Verdict::Drop(reason) = verdict {
            q.scheduler.turned_away(queue, reason);
        }
        if loses(&mut q.gate, verdict, now) {
            doom(&mut packet, index, &self.flows);
        }
        let class = &mut self.classes[lane];
        match verdict {
            Verdict::Drop(reason) => self.dropped(index, &packet, reason, now),
            accepted => {
                if let Verdict::Mark(reason) = accepted {
                    port.counters.marks += 1;
                    class.marks[reason as usize] += u64::from(window.holds(now));
                }
                if q.busy || q.sees_all {
                    if let Some(lengths) = &mut q.gate.lengths {
                        lengths.advance(q.gate.packets, now, &window);
                    }
                    q.hold(queue, packet, now, sequence);
                }
                if !q.busy {
                    let start = port.free_at.max(Fine::at(now));
                    if q.sees_all {
                        self.serve_next(index, start, now, &mut gone);
                    } else {
                        self.serve(index, Queued { packet, at: now, sequence }, None, start);
                    }
                }
            }
        }
        self.lose(index, now, gone);
    }

    /// Books what a port has dropped at `now` after it had accepted it.
    fn lose(&mut self, index: u32, now: Time, mut gone: Vec<Gone>) {
        for (item, reason) in gone.drain(..) {
            self.ports[index as usize].counters.queue_time += self.window.overlap(item.at, now);
            self.dropped(index, &item.packet, reason, now);
        }
        self.gone = gone;
    }

    /// Puts the next packet of an event-path port on the wire, if one waits and may leave; or sees to it that the port is
    /// asked again when one may.
    fn serve_next(&mut self, index: u32, start: Fine, now: Time, gone: &mut Vec<Gone>) {
        let Queue::Events(q) = &mut self.ports[index as usize].queue else { return };
        match q.next(now, gone) {
            Some((item, mark)) => self.serve(index, item, mark, start),
            None => {
                q.busy = false;
                if let Some(at) = q.doze() {
                    let key = key(at, Class::Service, self.draw_sequence());
                    self.services.push(Reverse((key, index | WAKE)));
                    self.advance_agenda(key);
                }
            }
        }
    }

    /// A scheduler that kept its packets back is asked again.
    #[inline(never)]
    fn wake(&mut self, index: u32, now: Time) {
        let window = self.window;
        let port = &mut self.ports[index as usize];
        let free = port.free_at.ceil();
        let Queue::Events(q) = &mut port.queue else { return };
        // A wake-up that is not the one on record is stale, and who is busy will ask by itself.
        if q.wake != now {
            return;
        }
        q.wake = Time::NEVER;
        if q.busy {
            return;
        }
        q.advance(Time(now.0.saturating_sub(1)), free);
        if let Some(lengths) = &mut q.gate.lengths {
            lengths.advance(q.gate.packets, now, &window);
        }
        let mut gone = std::mem::take(&mut self.gone);
        self.serve_next(index, Fine::at(now), now, &mut gone);
        self.lose(index, now, gone);
    }

    /// Puts a packet of an event-path port on the wire, which was marked on its way out for `mark`.
    fn serve(&mut self, index: u32, item: Queued, mark: Option<Reason>, start: Fine) {
        let window = self.window;
        let port = &mut self.ports[index as usize];
        let lane = port.class as usize;
        let began = start.ceil();
        if let Queue::Events(q) = &mut port.queue {
            q.busy = true;
            q.sending = (item.packet.size, began);
            if let Some(rate) = q.step(began) {
                port.byte_time = rate.byte_time();
            }
        }
        if let Some(reason) = mark {
            port.counters.marks += 1;
            self.classes[lane].marks[reason as usize] += u64::from(window.holds(began));
            if self.probes.watches_ports {
                self.probes.marked(lane as u32, &item.packet, reason, began);
            }
        }
        let class = &mut self.classes[lane];
        let times = transmit(port, item.packet.size, (start, began));
        book_clipped(port, class, item.packet.class, item.at, times, &window);
        if let Queue::Events(q) = &mut port.queue
            && let Some(jitter) = &mut q.gate.jitter
        {
            port.delay = jitter.delay(times.ended);
        }
        let arrival = times.ended + port.delay;
        let free = port.free_at.ceil();
        let key = key(free, Class::Service, item.sequence);
        self.services.push(Reverse((key, index)));
        self.advance_agenda(key);
        self.fly(lane, self::key(arrival, Class::Arrival, item.sequence), &item.packet);
    }

    /// The server of an event-path port is free.
    fn service(&mut self, now: Time) {
        let Some(Reverse((_, index))) = self.services.pop() else { return };
        if index & WAKE != 0 {
            return self.wake(index & !WAKE, now);
        }
        let window = self.window;
        let port = &mut self.ports[index as usize];
        let free_at = port.free_at;
        let Queue::Events(q) = &mut port.queue else { return };
        let (size, began) = q.sending;
        // A clock that strikes at this very instant does so when all that happens at it has happened.
        q.advance(Time(now.0.saturating_sub(1)), free_at.ceil());
        q.gate.admission.departed(size, now.since(began), now);
        if let Some(lengths) = &mut q.gate.lengths {
            lengths.advance(q.gate.packets, now, &window);
        }
        let mut gone = std::mem::take(&mut self.gone);
        self.serve_next(index, free_at, now, &mut gone);
        self.lose(index, now, gone);
    }

    /// A packet that was lost at random would arrive now.
    #[inline(never)]
    fn lost(&mut self, packet: &Packet, now: Time) {
        let index = packet.stamp;
        let class = &mut self.classes[self.ports[index as usize].class as usize];
        class.all_delivered -= 1;
        class.ahead -= u64::from(now > self.window.to);
        self.dropped(index, packet, Reason::Loss, now);
    }

    /// Books a dropped packet.
    #[inline(never)]
    fn dropped(&mut self, index: u32, packet: &Packet, reason: Reason, now: Time) {
        let port = &mut self.ports[index as usize];
        port.counters.drops += 1;
        let class = &mut self.classes[port.class as usize];
        class.all_dropped += 1;
        if packet.is(flags::BACKWARD) && packet.report() != 0 {
            self.reports.take(packet.report());
        }
        let inside = self.window.holds(now);
        if inside {
            class.drops[reason as usize] += 1;
            self.counters[packet.flow as usize].losses +=
                u64::from(packet.is_data() && !packet.is(flags::BACKWARD));
        }
        if self.probes.watches_drops {
            let length = match &port.queue {
                Queue::Open => 0,
                Queue::Fifo(q) => q.gate.packets,
                Queue::Events(q) => q.gate.packets,
            };
            let drop = Happening { time: now, flow: packet.flow, class: port.class, code: reason as u8 };
            let met = (inside && reason != Reason::Loss).then_some(length);
            self.probes.dropped(drop, met);
        }
    }

    // --- probes ---------------------------------------------------------------------------------------------------

    // Apart, so that the loop keeps its registers.
    #[cold]
    #[inline(never)]
    fn probe(&mut self, now: Time) {
        let mut probes = std::mem::take(&mut self.probes);
        if probes.take_window(now) {
            self.window_open = true;
            for flow in 0..self.flows.len() {
                self.counters[flow].received_before = self.received(flow);
            }
            for port in &mut self.ports {
                if let Queue::Events(q) = &mut port.queue {
                    q.open_window();
                }
            }
        }
        probes.look(now, self);
        self.probes = probes;
    }

    /// Application bytes a flow has received so far.
    pub fn received(&self, flow: usize) -> u64 {
        let info = &self.flows[flow];
        if info.tcp {
            self.connections[info.endpoint as usize].receiver.delivered()
        } else {
            self.datagrams[info.endpoint as usize].received
        }
    }

    /// The congestion window and threshold of a TCP flow, packets.
    pub fn window(&self, flow: usize) -> evenflow_transport::Window {
        let connection = &self.connections[self.flows[flow].endpoint as usize];
        let mss = self.profiles[connection.profile as usize].mss as f64;
        let window = connection.sender.window();
        evenflow_transport::Window { cwnd: window.cwnd / mss, ssthresh: window.ssthresh / mss }
    }

    /// The value of an observable of a port's queue, or of a class of its scheduler, as of `now`.
    pub fn observe(&mut self, port: usize, class: Option<u32>, name: &str, now: Time) -> Option<f64> {
        let port = &mut self.ports[port];
        let free = port.free_at.ceil();
        match &mut port.queue {
            Queue::Open => None,
            Queue::Fifo(q) => {
                q.advance(now, free, &self.window);
                q.gate.observe(name)
            }
            Queue::Events(q) => {
                q.advance(now, free);
                q.observe(class, name, now)
            }
        }
    }
}

/// Whether an accepted packet will be lost on its way over the link.
fn loses(gate: &mut Gate, verdict: Verdict, now: Time) -> bool {
    let accepted = !matches!(verdict, Verdict::Drop(_));
    accepted && gate.loss.as_mut().is_some_and(|loss| loss.strikes(now))
}

/// From here on the packet's way leads to [`LOST`].
fn doom(packet: &mut Packet, port: u32, flows: &[Flow]) {
    packet.hop = flows[packet.flow as usize].lost;
    packet.stamp = port;
}

/// Integrates a connection's window up to `now`.
#[inline]
fn advance(c: &mut Connection, profile: &Profile, now: Time, window: &Window) {
    if c.sender.life() == Life::Open {
        c.meter.advance(c.sender.window().cwnd, profile.segment(), now, window);
    } else {
        c.meter.skip(now);
    }
}

/// When a transmission begins and ends, in whole nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    began: Time,
    ended: Time,
}

/// Puts `size` bytes on the wire at `start` (exactly, and in whole nanoseconds).
#[inline(always)]
fn transmit(port: &mut Port, size: u16, (start, began): (Fine, Time)) -> Times {
    let end = start + port.byte_time.times(u32::from(size));
    port.free_at = end;
    Times { began, ended: end.ceil() }
}

/// Books a transmission of a packet accepted at `accepted`, all of it inside the window: nearly every one.
#[inline(always)]
fn book(port: &mut Port, class: &mut ClassCounters, kind: u8, accepted: Time, times: Times) {
    let own = &mut class.by_class[usize::from(kind)];
    let waited = Duration(times.began.0 - accepted.0);
    port.counters.busy += times.ended.0 - times.began.0;
    port.counters.queue_time += waited.0;
    port.counters.waits.add(waited);
    class.delays.add(waited);
    own.0.add(waited);
    own.1 += 1;
}

/// The same for one that may lie across an edge of the window or outside.
#[inline(never)]
fn book_clipped(
    port: &mut Port,
    class: &mut ClassCounters,
    kind: u8,
    accepted: Time,
    Times { began, ended }: Times,
    window: &Window,
) {
    let own = &mut class.by_class[usize::from(kind)];
    port.counters.queue_time += window.overlap(accepted, began);
    port.counters.busy += window.overlap(began, ended);
    if window.holds(began) {
        let waited = began.since(accepted);
        port.counters.waits.add(waited);
        class.delays.add(waited);
        own.0.add(waited);
    }
    own.1 += u64::from(window.holds(ended));
}
