//! The network of a run: ports, lanes, stages, routes, flows and their endpoints, as data. What happens in it is the
//! engine's affair.

use std::ops::Range;

use evenflow_base::schema::Sampler;
use evenflow_base::{Duration, End, Packet, Stream, Time};
use evenflow_stage::{RoundTrip, Stage};
use evenflow_traffic::Source;
use evenflow_transport::exposure::Exposure;
use evenflow_transport::{Profile, Receiver, Sender};

use crate::conex::{Conex, Sums as Exposed};
use crate::events::Lane;
use crate::hosting::{Arrivals, Hosted, Live};
use crate::measure::{FlowCounters, PortCounters, SideCounters, StageCounters, Window, WindowMeter};
use crate::port::{Port, Queue};
use crate::probe::Gauges;
use crate::senders::{SenderSums, Served};
use crate::slots::Slots;
use crate::transfers::Transfers;

/// Set in a route entry that is a stage, whose index it has, with [`BACK`] and [`PEER`]. Without it the entry is the index of a
/// port, with [`FOLD`].
pub const STAGE: u32 = 1 << 31;
/// The stage is crossed backward.
pub const BACK: u32 = 1 << 30;
/// The stage is not crossed: what comes here was sent to it by its peer.
pub const PEER: u32 = 1 << 29;
/// With [`STAGE`]: no stage, but a look at packets of traced flows. The rest is 0 where they leave an end, 1 where they reach one,
/// and 2 + the port before a link.
pub const TAP: u32 = BACK | PEER;
/// The stage itself.
pub const STAGE_INDEX: u32 = PEER - 1;
/// The next port on the route hears from this one alone, in the order in which this one accepts: its work is done at once,
/// with the instant at which the packet will reach it, and needs no event.
pub const FOLD: u32 = 1 << 30;
/// The port itself.
pub const PORT: u32 = FOLD - 1;
/// The route entry where the way to the receiver ends and the way back begins.
pub const RECEIVER: u32 = u32::MAX;
/// The route entry where the way back ends.
pub const SENDER: u32 = u32::MAX - 1;

/// The route entry in place of [`RECEIVER`] and [`SENDER`] where both ends talk: connections and datagrams of applications.
pub const HOSTED: u32 = u32::MAX - 4;

/// The route entry behind the last, where packets arrive that were lost at random: they keep the time they would have taken, and
/// carry on which port they were lost.
pub const DISCARD: u32 = u32::MAX - 2;

/// The route entry where a packet of a stage's own ends that is for nobody.
pub const NOBODY: u32 = u32::MAX - 3;

/// What a flow is and where its packets go.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Where its route begins in [`Network::routes`].
    pub route: u32,
    /// Where on it the way back begins.
    pub back: u8,
    /// Where on it [`DISCARD`] stands.
    pub discard: u8,
    /// Its traffic class.
    pub class: u8,
    /// Whether it is a TCP connection that there is from the start.
    pub tcp: bool,
    /// Whether an application opened it on the way, or it is what such flows are modelled after.
    pub hosted: bool,
    /// ACKs carry the receiver's clock as a timestamp value: the sender's congestion control wants one-way delays.
    pub sends_timestamps: bool,
    /// What it sends needs more than a look at its segments: timestamps of ACKs, numbers of a ConEx cheat, debts that flows of one
    /// user share.
    pub special: bool,
    /// Its first link hears from its host alone and is FIFO: the link's work is done when the packet is launched, with the
    /// instant at which it will leave the host.
    pub folded: bool,
    /// Index into [`Network::connections`] or [`Network::datagrams`]; of a hosted one into [`Network::applications`].
    pub endpoint: u32,
    /// Whose place it takes among events of one instant: its own, or that of the flow it was modelled after.
    pub tie: u32,
    /// Index into [`Network::hosts`].
    pub host: u32,
}

/// Both ends of a TCP connection.
#[derive(Debug)]
pub struct Connection {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Index into [`Network::profiles`].
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
    pub fn sender_due(&mut self) -> Option<Time> {
        earlier(self.sender.deadline(), &mut self.sender_wake)
    }

    /// The same for the receiver.
    #[inline]
    pub fn receiver_due(&mut self) -> Option<Time> {
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
    /// Number of its user's group.
    pub group: u32,
    /// When its last packet left it; order is kept.
    pub left: Time,
    /// The profiles of its own, in [`Network::profiles`], where its connections share metrics.
    pub profiles: Range<usize>,
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
    /// All routes, one after the other. Each goes there and back: ports and stages, [`RECEIVER`], ports and stages, [`SENDER`],
    /// [`DISCARD`]; then the ways of packets that stages on it make. One position on it says all about where a packet is, so that
    /// little is left to decide at each hop.
    pub routes: Vec<u32>,
    /// Where on a route the ways begin of packets that a stage makes, by [`evenflow_stage::To`]; 0: there is none. By group, then
    /// stage of the scenario; empty where no stage makes any.
    pub own_ways: Vec<[u8; 3]>,
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
    /// When each flow starts that there is from the start.
    pub starts: Vec<Time>,
    /// Traffic that opens flows on the way.
    pub applications: Vec<Hosted>,
    /// The flows that it has opened.
    pub slots: Slots,
    /// What is in their places.
    pub live: Vec<Live>,
    /// Arrival processes that groups share.
    pub arrivals: Vec<Arrivals>,
    /// Transfers of the groups that have some, by index of the group.
    pub transfers: Vec<Option<Transfers>>,
    /// The seed of all streams.
    pub seed: u64,
    /// By group: its flows that there are from the start, and those that its others are modelled after.
    pub group_flows: Vec<Range<usize>>,
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
        let links = route.iter().filter(|entry| **entry & STAGE == 0);
        let base = Duration(links.map(|entry| self.ports[(entry & PORT) as usize].delay.0).sum());
        let smoothed = if info.hosted {
            let live = flow.checked_sub(self.slots.first()).and_then(|place| self.live.get(place as usize));
            live.and_then(|live| live.senders().find_map(Sender::smoothed_rtt))
        } else if info.tcp {
            self.connections[info.endpoint as usize].sender.smoothed_rtt()
        } else {
            None
        };
        RoundTrip { base: Some(base), smoothed }
    }

    /// By user's machine: what its ConEx senders have been told and have said by now, and what they owe.
    pub fn exposed(&self) -> Vec<Exposed> {
        let Some(conex) = &self.conex else { return Vec::new() };
        let mut sums = conex.sums();
        for info in self.flows.iter().filter(|info| info.tcp) {
            sums[info.host as usize].add(&self.connections[info.endpoint as usize].sender);
        }
        for flow in self.slots.taken().filter(|flow| !self.slots.of(self.slots.place(*flow)).over) {
            let host = self.flows[flow as usize].host as usize;
            self.live[self.slots.place(flow)].senders().for_each(|sender| sums[host].add(sender));
        }
        sums
    }

    /// Whether the books of all ConEx senders balance; else what is wrong with one.
    pub fn check_exposed(&self) -> Result<(), String> {
        let Some(conex) = &self.conex else { return Ok(()) };
        let live = self.live.iter().flat_map(Live::senders);
        let senders = self.connections.iter().map(|connection| &connection.sender).chain(live);
        senders.filter_map(Sender::exposure).try_for_each(Exposure::check)?;
        conex.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// By application: what the servers of its video have counted by now. `live`: also those of flows that have not been summed up
    /// yet.
    pub fn served(&self, live: bool) -> Vec<Served> {
        let mut sums: Vec<Served> = self.applications.iter().map(|hosted| hosted.sums.served).collect();
        let going_on = |flow: &u32| live && !self.slots.of(self.slots.place(*flow)).over;
        for flow in self.slots.taken().filter(going_on) {
            self.live[self.slots.place(flow)].served(&mut sums[self.flows[flow as usize].endpoint as usize]);
        }
        sums
    }

    /// By group: what its senders have counted by `now`. `live`: also those of flows that have not been summed up yet.
    pub fn senders(&self, now: Time, live: bool) -> Vec<SenderSums> {
        let mut sums = vec![SenderSums::default(); self.group_flows.len()];
        for (sum, flows) in sums.iter_mut().zip(&self.group_flows) {
            for info in &self.flows[flows.clone()] {
                if info.hosted {
                    sum.join(&self.applications[info.endpoint as usize].sums.senders);
                } else if info.tcp {
                    sum.add(&self.connections[info.endpoint as usize].sender, now);
                }
            }
        }
        let going_on = |flow: &u32| live && !self.slots.of(self.slots.place(*flow)).over;
        for flow in self.slots.taken().filter(going_on) {
            let group = self.applications[self.flows[flow as usize].endpoint as usize].group;
            let ends = self.live[self.slots.place(flow)].senders();
            ends.for_each(|sender| sums[group as usize].add(sender, now));
        }
        sums
    }
}

impl Gauges for Network {
    fn queue(&mut self, port: usize, node: Option<u32>, name: &str, now: Time) -> Option<f64> {
        let port = &mut self.ports[port];
        let free = port.free_at.ceil();
        match &mut port.queue {
            Queue::Open => None,
            Queue::Fifo(q) => {
                q.advance(now, free, &self.window);
                q.gate.observe(name)
            }
            Queue::Events(q) => {
                q.qdisc.advance(now);
                q.qdisc.observe(node.map(|node| node as usize), name, now)
            }
        }
    }

    fn port(&self, port: usize) -> &PortCounters {
        &self.ports[port].counters
    }

    fn stage(&self, stage: usize, name: &str, now: Time) -> Option<f64> {
        self.stages[stage].stage.observe(name, now)
    }

    fn received(&self, flow: usize) -> u64 {
        let info = &self.flows[flow];
        if info.hosted {
            (flow as u32)
                .checked_sub(self.slots.first())
                .map_or(0, |place| self.live[place as usize].delivered())
        } else if info.tcp {
            self.connections[info.endpoint as usize].receiver.delivered()
        } else {
            self.datagrams[info.endpoint as usize].received
        }
    }

    fn sender(&self, flow: usize, name: &str) -> Option<f64> {
        let connection = &self.connections[self.flows[flow].endpoint as usize];
        connection.sender.observe(name, &self.profiles[connection.profile as usize])
    }

    fn opened(&self, host: u32, number: u32, name: &str) -> Option<f64> {
        let of = |flow: &u32| {
            let slot = self.slots.of(self.slots.place(*flow));
            slot.number == number && !slot.over && self.slots.openers[slot.opener as usize].host == host
        };
        let flow = self.slots.taken().find(of)?;
        let connection = self.live[self.slots.place(flow)].connection()?;
        // What is sent forward is the server's; who has none sends back.
        let sender = connection.half(End::Server).or_else(|| connection.half(End::Client))?;
        let hosted = &self.applications[self.flows[flow as usize].endpoint as usize];
        sender.observe(name, &self.profiles[hosted.profile as usize])
    }
}
