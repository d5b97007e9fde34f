//! The network of a run as data: ports, lanes, stages, routes, flows and their endpoints.

use std::ops::Range;

use evenflow_base::schema::{Sampler, Way};
use evenflow_base::{Duration, End, Packet, Stream, Time};
use evenflow_stage::{RoundTrip, Stage};
use evenflow_traffic::Source;
use evenflow_transport::connection::Carries;
use evenflow_transport::exposure::Exposure;
use evenflow_transport::{Connection, Profile, Sender};

use crate::conex::{Conex, Sums as Exposed};
use crate::events::Lane;
use crate::faults::Invariant;
use crate::hosting::{Arrivals, Hosted, Live};
use crate::measure::{Delays, FlowCounters, PortCounters, SideCounters, StageCounters, Window};
use crate::port::Port;
use crate::probe::Gauges;
use crate::senders::{SenderSums, Served};
use crate::slots::Slots;
use crate::tcp::Tcp;
use crate::transfers::Transfers;

/// An entry of a route: what a packet meets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A port of a link. `folded`: the next hop serves a packet when this one accepts it, with the instant of its arrival there,
    /// and needs no event ([`crate::build::fold`]).
    Port { index: u32, folded: bool },
    /// A stage, crossed in this direction.
    Stage { index: u32, way: Way },
    /// The stage to which its peer has sent the packet.
    Peer(u32),
    /// The trace records packets of traced flows as they leave an end.
    TapSend,
    /// The same as they reach an end.
    TapReceive,
    /// The same as they reach the port with this index.
    TapPort(u32),
    /// An end of the flow.
    End(End),
    /// Where packets arrive that were lost at random. They keep the time they would have taken, and carry
    /// the port at which they were lost.
    Discard,
    /// The end of a stage's packet without a destination.
    Sink,
}

/// The endpoint of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A TCP connection: index into [`Network::connections`].
    Tcp(u32),
    /// A source of datagrams: index into [`Network::datagrams`].
    Source(u32),
    /// An application that exchanges datagrams.
    Application,
    /// Nothing: flows that this application opens are modelled after it. Index into
    /// [`Network::applications`].
    Model(u32),
}

/// A flow and its route.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// Where its route begins in [`Network::routes`].
    pub route: u32,
    /// Its rank among events of one instant: its own, or that of the flow it was modelled after.
    pub tie: u32,
    /// Index into [`Network::hosts`].
    pub host: u32,
    /// Number of its group.
    pub group: u32,
    /// Start of the reverse path on its route.
    pub back: u8,
    /// Where on it [`Hop::Discard`] is.
    pub discard: u8,
    /// Its traffic class.
    pub class: u8,
    /// Its DSCP; absent: that of the packet's class.
    pub dscp: Option<u8>,
    /// Options in its connection's packets.
    pub carries: Carries,
    /// `ip::BACKWARD` where the client is at the end of the path: the server's segments follow the path. Otherwise 0.
    pub turn: u8,
    /// Its first link is FIFO and has no other input. The link processes a packet at launch, with the instant
    /// at which it will leave the host.
    pub folded: bool,
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
    /// It has begun.
    pub started: bool,
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
    /// Number of its user's group.
    pub group: u32,
    /// When its last packet left it; order is kept.
    pub left: Time,
    /// Its own profiles in [`Network::profiles`], if its connections share metrics.
    pub profiles: Range<usize>,
    /// Its connections, if their senders may receive ACKs before their time; otherwise empty.
    pub connections: Range<u32>,
    /// Not later than the next wake-up of their senders. [`Time::NEVER`] without any.
    pub soonest: Time,
}

impl Host {
    /// When a packet handed to the machine at `now` leaves it; `None`: at once, for the machine takes no time.
    #[inline]
    pub fn process(&mut self, packet: &Packet, now: Time) -> Option<Time> {
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
    /// Index of its table in the scenario, for counters and probes.
    pub spec: u32,
    /// Number among its copies.
    pub copy: u32,
    /// It asks for round-trip times.
    pub round_trips: bool,
    /// Number of the group that it belongs to, where it is not shared.
    pub group: u32,
    /// The first flow whose path leads here.
    pub home: u32,
    /// Packets that it holds.
    pub held: u32,
    /// When it wants to be woken; [`Time::NEVER`]: not at all.
    pub wake: Time,
    /// When it was woken or given a message last, and how often before at that instant.
    pub called: (Time, u32),
    /// Packets and bytes that passed in the window, forward and backward.
    pub passed: [(u64, u64); 2],
    /// Ports that it controls.
    pub controls: Vec<u32>,
}

/// A network.
#[derive(Debug)]
pub struct Network {
    /// The measuring window; the run ends where it ends.
    pub window: Window,
    /// Ports: forward and backward of each copy beside each other.
    pub ports: Vec<Port>,
    /// One lane per link and direction; behind them that of the hosts, where some group has processing.
    pub lanes: Vec<Lane>,
    /// Counters by link and direction.
    pub sides: Vec<SideCounters>,
    /// Stages.
    pub stages: Vec<StageSlot>,
    /// Counters by stage of the scenario.
    pub stage_counters: Vec<StageCounters>,
    /// All routes, one after the other. Each has a forward part, an end, a reverse part, the other end, and
    /// [`Hop::Discard`]. Routes of packets from stages follow. The index on a route is a packet's whole
    /// position.
    pub routes: Vec<Hop>,
    /// Where on a route the ways begin of packets that a stage makes, by [`evenflow_stage::To`]; 0: there is none. By group, then
    /// stage of the scenario; empty where no stage makes any.
    pub own_ways: Vec<[u8; 3]>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Counters of flows.
    pub counters: Vec<FlowCounters>,
    /// Delays by group.
    pub delays: Vec<Delays>,
    /// Some mechanism uses labels of packets: their options have the time of sending.
    pub labels: bool,
    /// TCP connections.
    pub connections: Vec<Tcp>,
    /// Datagram flows.
    pub datagrams: Vec<Datagrams>,
    /// TCP configurations.
    pub profiles: Vec<Profile>,
    /// Users' machines.
    pub hosts: Vec<Host>,
    /// When each flow starts that there is from the start.
    pub starts: Vec<Time>,
    /// Traffic that opens flows during the run.
    pub applications: Vec<Hosted>,
    /// The flows that it has opened.
    pub slots: Slots,
    /// Their slots.
    pub live: Vec<Live>,
    /// Arrival processes that groups share.
    pub arrivals: Vec<Arrivals>,
    /// Transfers of the groups that have some, by index of the group.
    pub transfers: Vec<Option<Transfers>>,
    /// The seed of all streams.
    pub seed: u64,
    /// By group: what its senders had counted when the window opened.
    pub senders_before: Vec<SenderSums>,
    /// By application: what the servers of its video had counted then.
    pub served_before: Vec<Served>,
    /// Where some sender is one of ConEx.
    pub conex: Option<Box<Conex>>,
}

impl Network {
    /// The round-trip times of a flow, for a stage that asks.
    #[inline(never)]
    pub fn round_trip(&self, flow: u32) -> RoundTrip {
        let info = &self.flows[flow as usize];
        let route = &self.routes[info.route as usize..][..usize::from(info.discard)];
        let delay = |hop: &Hop| match hop {
            Hop::Port { index, .. } => self.ports[*index as usize].link.wire.delay.0,
            _ => 0,
        };
        let base = Duration(route.iter().map(delay).sum());
        let smoothed = match info.endpoint {
            Endpoint::Tcp(index) => {
                self.connections[index as usize].connection.senders().find_map(Sender::smoothed_rtt)
            }
            _ => None,
        };
        RoundTrip { base: Some(base), smoothed, reported: None }
    }

    /// The connection of a flow that was opened during the run, unless it is over.
    pub fn going_on(&self, flow: u32) -> Option<u32> {
        let slot = self.slots.get(flow).filter(|slot| slot.taken && !slot.over);
        match self.flows[flow as usize].endpoint {
            Endpoint::Tcp(index) => slot.map(|_| index),
            _ => None,
        }
    }

    /// Flows with a TCP connection. `opened`: including those opened during the run that are not over.
    fn tcp(&self, opened: bool) -> impl Iterator<Item = (u32, &Flow, &Connection)> {
        let counts =
            move |flow: u32| self.slots.get(flow).is_none_or(|slot| opened && slot.taken && !slot.over);
        let flows = (0u32..).zip(&self.flows).filter(move |(flow, _)| counts(*flow));
        flows.filter_map(|(flow, info)| match info.endpoint {
            Endpoint::Tcp(index) => Some((flow, info, &self.connections[index as usize].connection)),
            _ => None,
        })
    }

    /// By user's machine: what its ConEx senders have been told and have said by now, and what they owe.
    pub fn exposed(&self) -> Vec<Exposed> {
        let Some(conex) = &self.conex else { return Vec::new() };
        let mut sums = conex.sums();
        for (_, info, connection) in self.tcp(true) {
            connection.senders().for_each(|sender| sums[info.host as usize].add(sender));
        }
        sums
    }

    /// Whether the books of all ConEx senders balance; else what is wrong with one.
    pub fn check_exposed(&self) -> Result<(), Invariant> {
        let Some(conex) = &self.conex else { return Ok(()) };
        let senders = self.connections.iter().flat_map(|tcp| tcp.connection.senders());
        let books = senders.filter_map(Sender::exposure).try_for_each(Exposure::check);
        books.and(conex.fault().map_or(Ok(()), Err)).map_err(Invariant::Exposure)
    }

    /// By application: what the servers of its video have counted by now. `live`: also those of flows that have not been summed up
    /// yet.
    pub fn served(&self, live: bool) -> Vec<Served> {
        let mut sums: Vec<Served> = self.applications.iter().map(|hosted| hosted.sums.served).collect();
        for (flow, _, connection) in self.tcp(live) {
            if let Some(slot) = self.slots.get(flow) {
                self.live[self.slots.place(flow)].served(connection, &mut sums[slot.opener as usize]);
            }
        }
        sums
    }

    /// By group: what its senders have counted by `now`. `live`: also those of flows that have not been summed up yet.
    pub fn senders(&self, now: Time, live: bool) -> Vec<SenderSums> {
        let mut sums = vec![SenderSums::default(); self.senders_before.len()];
        for hosted in &self.applications {
            sums[hosted.group as usize].join(&hosted.sums.senders);
        }
        for (_, info, connection) in self.tcp(live) {
            let group = self.hosts[info.host as usize].group as usize;
            connection.senders().for_each(|sender| sums[group].add(sender, now));
        }
        sums
    }

    /// An observable of a connection's sender. Data goes from the server to the client unless the server has
    /// never written.
    fn observed(&self, index: u32, name: &str) -> Option<f64> {
        let tcp = &self.connections[index as usize];
        let sender = tcp.connection.half(End::Server).unwrap_or(&tcp.connection.sender);
        sender.observe(name, &self.profiles[tcp.profile as usize])
    }

    /// Application bytes that have reached either end of a flow.
    pub fn received(&self, flow: u32) -> u64 {
        match self.flows[flow as usize].endpoint {
            Endpoint::Tcp(index) => {
                let connection = &self.connections[index as usize].connection;
                connection.received(End::Client) + connection.received(End::Server)
            }
            Endpoint::Source(index) => self.datagrams[index as usize].received,
            Endpoint::Application => self.live[self.slots.place(flow)].datagrams,
            Endpoint::Model(_) => 0,
        }
    }
}

impl Gauges for Network {
    fn queue(&mut self, port: usize, node: Option<u32>, name: &str, now: Time) -> Option<f64> {
        self.ports[port].link.observe(node, name, now, &self.window)
    }

    fn rate(&self, port: usize, now: Time) -> Result<f64, f64> {
        self.ports[port].link.rate(now)
    }

    fn port(&self, port: usize) -> &PortCounters {
        &self.ports[port].link.wire.counters
    }

    fn stage(&self, stage: usize, name: &str, now: Time) -> Option<f64> {
        self.stages[stage].stage.observe(name, now)
    }

    fn received(&self, flow: usize) -> u64 {
        self.received(flow as u32)
    }

    fn sender(&self, flow: usize, name: &str) -> Option<f64> {
        match self.flows[flow].endpoint {
            Endpoint::Tcp(index) => self.observed(index, name),
            _ => None,
        }
    }

    fn opened(&self, host: u32, number: u32, name: &str) -> Option<f64> {
        let of = |flow: &u32| {
            let slot = self.slots.of(self.slots.place(*flow));
            slot.number == number && !slot.over && self.slots.openers[slot.opener as usize].host == host
        };
        self.sender(self.slots.taken().find(of)? as usize, name)
    }
}
