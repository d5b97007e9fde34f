//! What a run will need.

mod legs;
mod lives;

use std::collections::BTreeMap;

use evenflow_base::options::Carried;
use evenflow_base::schema::Value;
use evenflow_scenario::model::{
    Component, Copies, EventKind, Every, Group, Hop, Lost, Per, Queue as QueueSpec, Scenario, SchedulerPer,
    Spec, Stage, Target, Traffic,
};
use evenflow_stage::HeldPacket;
use evenflow_transport::congestion_control::Reach;
use evenflow_transport::exposure::Exposure;
use evenflow_transport::sender::board::Sent;
use evenflow_transport::{Profile, Segment};

use super::flows::{flows_per_user, saves_metrics};
use crate::conex::Conex;
use crate::events::InFlight;
use crate::network::{Connection, Flow};
use crate::port::{Fifo, Port};

use legs::{Leg, high, legs, narrowest};
use lives::{come, connections, live_flows};

/// How long, in seconds, traffic begins or writes something new: from its start to its `until`, or that of the arrivals that open
/// it, within the run.
fn begins_for(scenario: &Scenario, traffic: &Traffic) -> f64 {
    let values = &traffic.spec.values;
    let (start, until) = match traffic.arrivals.map(|process| &scenario.arrivals[process]) {
        Some(process) => (process.start.seconds(), process.ending.map(|(until, _)| until.seconds())),
        None => (
            values.get("start").map_or(0.0, |start| start.bounds().0),
            values.get("until").map(|until| until.bounds().1),
        ),
    };
    (until.unwrap_or(f64::INFINITY).min(scenario.duration.seconds()) - start.max(0.0)).max(0.0)
}

/// Flows of one kind of traffic that there may be at once.
fn flows_of(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    match traffic.opens() {
        true => live_flows(scenario, group, traffic),
        false => f64::from(group.users) * f64::from(traffic.flows().max(1)),
    }
}

/// A flow that an application has open, with SACK (docs/design.md).
const LIVE_FLOW: u64 = 1600;

/// What a record has of a group or a stage, as a tree and as text; of a link twice as much.
const IN_A_RECORD: u64 = 12 << 10;

/// A connection of an application that is asked for something, with both of its ends.
const ASKED_FLOW: u64 = 3000;

/// A viewer of adaptive video: his buffer, his level at each instant, what was measured of chunks.
const VIEWER: u64 = 7500;

/// What is remembered of a flow by stages that know flows, by their kinds.
const ACCOUNTS: [(&str, u64); 5] = [
    ("congestion-policer", 215),
    ("auditor", 205),
    ("window-tuner", 115),
    ("bandwidth-manager", 115),
    ("rewriter", 48),
];

/// An event of a list, and once more as bytes on its way out.
const LISTED: f64 = 80.0;

/// A flow's opening, or its end.
const OPENED: f64 = 32.0;

/// What is kept of a chunk of video.
const CHUNK: f64 = 285.0;

/// What a congestion control beyond a window and a threshold takes of a connection.
const BOARD: u64 = 1100;

/// An estimate of what a run needs, in bytes: state of flows, users and copies, packets under way, series.
pub fn memory_bytes(scenario: &Scenario) -> u64 {
    let crossing = Crossing::of(scenario);
    let Packets { flying, shaped, listed, wrapped } = Packets::at_once(scenario);
    // Rings double. What waits in a queue is in a ring of its own too.
    let ring = |packets: f64| (packets.min(1e15).ceil() as u64).next_power_of_two();
    let in_flight = ring(flying) * (size_of::<InFlight>() + 16) as u64;
    // In a shaper's ring, and once more where the run checks at its end that nothing is lost.
    let held =
        ring(shaped).saturating_add(shaped.min(1e15) as u64).saturating_mul(size_of::<HeldPacket>() as u64);
    let in_flight = in_flight.saturating_add(held);
    let in_flight = in_flight.saturating_add(ring(wrapped).saturating_mul(size_of::<Carried>() as u64));
    // What is on a scoreboard, dropped or not.
    let in_flight = in_flight.saturating_add(ring(listed).saturating_mul(size_of::<Sent>() as u64));
    let outbox = 2.0 * scenario.groups.iter().map(sent_by_one).fold(0.0, f64::max);
    let in_flight = in_flight.saturating_add((outbox.min(1e15) as u64) * size_of::<Segment>() as u64);
    // Instants and values, and once more as bytes on their way out.
    let series = (samples(scenario, &crossing) * 32.0).min(1e18) as u64;
    let lists = (listed_events(scenario) * LISTED).min(1e18) as u64;
    // A count for each length, and its text.
    let lengths = flying.min(1e15) as u64;
    let histograms = (scenario.record.histograms.len() as u64).saturating_mul(lengths.saturating_mul(48));
    [in_flight, series, lists, histograms]
        .into_iter()
        .fold(state_bytes(scenario, &crossing), u64::saturating_add)
}

/// How many events the lists of a `[record]` section hold.
fn listed_events(scenario: &Scenario) -> f64 {
    let kinds = |kind: EventKind| scenario.record.events.contains(&kind);
    let mut events = 0.0;
    for group in &scenario.groups {
        let mut offered = 0.0; // data packets to each link
        for traffic in &group.traffic {
            let seconds = begins_for(scenario, traffic);
            let bits = 8.0 * packet_of(traffic);
            let carried =
                narrowest(scenario, group).map_or(0.0, |(rate, _)| rate * scenario.duration.seconds());
            let tcp = traffic.tcp.as_ref().map_or(0.0, |_| carried.min(total(scenario, group, traffic)));
            offered += (pace(scenario, group, traffic) * seconds + tcp) / bits;
            if traffic.tcp.is_some() && traffic.opens() {
                let flows = come(scenario, group, traffic)
                    .max(f64::from(group.users) * connections(scenario, group, traffic));
                let both = f64::from(u8::from(kinds(EventKind::Open)) + u8::from(kinds(EventKind::Close)));
                events += flows * both * (OPENED / LISTED);
            }
        }
        let mut lists = if kinds(EventKind::Arrival) {
            offered * legs(scenario, group).filter(|leg| leg.rates().is_some()).count() as f64
        } else {
            0.0
        };
        let datagrams = group.traffic.iter().any(|traffic| traffic.tcp.is_none());
        for kind in [EventKind::Drop, EventKind::Mark] {
            // Those who heed drops and marks have few of them.
            lists += if kinds(kind) { offered * if datagrams { 1.0 } else { 0.1 } } else { 0.0 };
        }
        events += lists;
    }
    events
}

/// Bits that traffic over TCP sends in all, as far as that is known.
fn total(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    match (traffic.spec.mechanism.kind, traffic.spec.values.get("size")) {
        ("short-flows", Some(size)) => {
            8.0 * mean(size).max(packet_of(traffic)) * come(scenario, group, traffic)
        }
        _ => f64::INFINITY,
    }
}

/// By link and by stage: the groups whose path has it.
struct Crossing {
    links: Vec<Vec<usize>>,
    stages: Vec<Vec<usize>>,
}

impl Crossing {
    fn of(scenario: &Scenario) -> Crossing {
        let mut crossing = Crossing {
            links: vec![Vec::new(); scenario.links.len()],
            stages: vec![Vec::new(); scenario.stages.len()],
        };
        for (g, group) in scenario.groups.iter().enumerate() {
            for hop in &group.path {
                let list = match hop.component {
                    Component::Link(i) => &mut crossing.links[i],
                    Component::Stage(i) => &mut crossing.stages[i],
                };
                if list.last() != Some(&g) {
                    list.push(g);
                }
            }
        }
        crossing
    }
}

/// The middle of what a quantity may be.
fn mean(value: &Value) -> f64 {
    match value {
        Value::Random(law) => law.sampler().mean(),
        fixed => fixed.number().unwrap_or(0.0),
    }
}

/// Copies of a component that the flows of a group meet.
fn copies(per: Per, group: &Group) -> f64 {
    let users = f64::from(group.users);
    match per {
        Per::Shared | Per::Group => 1.0,
        Per::User => users,
        Per::Users(n) => (users / f64::from(n)).ceil(),
        Per::Flow => users * flows_per_user(group) as f64,
    }
}

/// The data of a segment, bytes: a server that writes less at a time sends less.
fn segment_of(traffic: &Traffic, profile: &Profile) -> f64 {
    let written = match traffic.spec.mechanism.kind {
        "youtube" => traffic.spec.values.get("chunk").map_or(f64::INFINITY, legs::low),
        _ => f64::INFINITY,
    };
    (profile.mss as f64).min(written).max(1.0)
}

/// What a source sends at the least in bytes, header included.
fn packet_of(traffic: &Traffic) -> f64 {
    match &traffic.tcp {
        Some(tcp) => segment_of(traffic, &tcp.profile) + tcp.profile.header as f64,
        None => traffic.spec.values.get("packet").map_or(1500.0, mean).max(1.0),
    }
}

/// The shapers that it crosses.
fn shapers_of<'a>(scenario: &'a Scenario, group: &'a Group) -> impl Iterator<Item = (usize, &'a Stage)> {
    let stages = group.path.iter().filter_map(|hop| match hop.component {
        Component::Stage(i) => Some((i, &scenario.stages[i])),
        Component::Link(_) => None,
    });
    stages.filter(|(_, stage)| is_shaper(stage))
}

fn is_shaper(stage: &Stage) -> bool {
    stage.spec.mechanism.kind == "shaper"
}

/// What all sources of datagrams send into each link and each stage, in bit/s.
struct Loads {
    links: Vec<f64>,
    stages: Vec<f64>,
}

impl Loads {
    fn of(scenario: &Scenario) -> Loads {
        let mut loads =
            Loads { links: vec![0.0; scenario.links.len()], stages: vec![0.0; scenario.stages.len()] };
        for group in &scenario.groups {
            let own = paces_of(scenario, group);
            for hop in &group.path {
                match hop.component {
                    Component::Link(i) => loads.links[i] += own,
                    Component::Stage(i) => loads.stages[i] += own,
                }
            }
        }
        loads
    }
}

/// What packets may be under way at once: no more than the windows allow, than senders can have released by the end, and than
/// links, queues and shapers hold. What groups share holds them together.
struct Packets {
    /// On links and in queues.
    flying: f64,
    /// In shapers.
    shaped: f64,
    /// On the scoreboards of senders with SACK.
    listed: f64,
    /// Of all of them, with something beside the packet: an outer header, or that it is lost on the wire and where.
    wrapped: f64,
}

impl Packets {
    fn at_once(scenario: &Scenario) -> Packets {
        let loads = Loads::of(scenario);
        let (mut released, mut held, mut in_shapers) = (Pools::default(), Pools::default(), Pools::default());
        let (mut datagrams, mut in_shapers_of_datagrams, mut first, mut listed) = (0.0, 0.0, 0.0, 0.0);
        let (mut wrapped_datagrams, mut wraps_tcp) = (0.0, 0.0_f64);
        for (g, group) in scenario.groups.iter().enumerate() {
            let (flying, shaped) = datagrams_at_once(scenario, group, &loads);
            datagrams += flying + given_up(scenario, group);
            in_shapers_of_datagrams += shaped;
            let wraps = wrapped_share(scenario, group);
            wrapped_datagrams += (flying + shaped) * wraps;
            let (mut most, mut all) = (0.0, 0.0);
            let (server, rate) = served(scenario, g, group);
            for traffic in &group.traffic {
                let Some(own) = Released::of(scenario, group, traffic, rate) else { continue };
                released.add(server, own.first, own.most, own.freed);
                most += own.most;
                all += own.most.min(own.first + own.freed);
                first += own.begun.min(own.most);
                // That of a flow that was opened on the way is part of [`LIVE_FLOW`].
                let lists = traffic.tcp.as_ref().is_some_and(|tcp| tcp.profile.sack) && !traffic.opens();
                listed += if lists { own.most.min(own.first + own.freed) } else { 0.0 };
            }
            if most > 0.0 {
                wraps_tcp = wraps_tcp.max(wraps);
                let (place, room) = held_of_tcp(scenario, g, group);
                held.add(place, 0.0, all, room);
                for (i, stage) in shapers_of(scenario, group) {
                    let place = if stage.per == Per::Shared { Server::Stage(i) } else { Server::Own(g) };
                    in_shapers.add(place, 0.0, all, room_of(stage, group));
                }
            }
        }
        // What comes at random comes in bursts.
        let datagrams = if datagrams > 0.0 { datagrams.max(1000.0) } else { 0.0 };
        let out = released.total();
        let (of_tcp, shaped_of_tcp) = (out.min(held.total() + first), out.min(in_shapers.total()));
        Packets {
            flying: datagrams + of_tcp,
            shaped: in_shapers_of_datagrams + shaped_of_tcp,
            listed: out.min(listed),
            wrapped: wrapped_datagrams + (of_tcp + shaped_of_tcp) * wraps_tcp,
        }
    }
}

/// What serves the packets of several groups together, or of one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Server {
    /// A link that all share.
    Link(usize),
    /// A stage that all share.
    Stage(usize),
    /// A group's own copies.
    Own(usize),
}

/// Packets of those who share a server: together they have no more than it has for one of them, whoever that is.
#[derive(Default)]
struct Pools {
    /// By server: what somebody has at once, has at the most, and would have besides if he were alone.
    shares: BTreeMap<Server, Vec<(f64, f64, f64)>>,
}

impl Pools {
    fn add(&mut self, server: Server, first: f64, most: f64, alone: f64) {
        self.shares.entry(server).or_default().push((first.min(most), most, alone));
    }

    /// All of them at the most: where one has more for the same share of the server, he has it.
    fn total(self) -> f64 {
        let of = |mut shares: Vec<(f64, f64, f64)>| {
            shares.sort_by(|a, b| b.2.total_cmp(&a.2));
            let mut left = 1.0;
            let mut sum = 0.0;
            for (first, most, alone) in shares {
                let more = (most - first).min(if left > 0.0 { left * alone } else { 0.0 });
                left -= if alone > 0.0 { more / alone } else { 0.0 };
                sum += first + more;
            }
            sum
        };
        self.shares.into_values().map(of).sum()
    }
}

/// What the senders of one kind of traffic may have out.
struct Released {
    /// Before anything is acknowledged, and however far windows grow beside what ACKs let go.
    first: f64,
    /// What their windows allow.
    most: f64,
    /// What ACKs let go.
    freed: f64,
    /// What may go at once before any queue drops it: of flows that there are from the start.
    begun: f64,
}

impl Released {
    /// `None`: it is no TCP. Its packets arrive at `rate` bit/s at the most.
    fn of(scenario: &Scenario, group: &Group, traffic: &Traffic, rate: f64) -> Option<Released> {
        let tcp = traffic.tcp.as_ref()?;
        let seconds = scenario.duration.seconds();
        let flows = flows_of(scenario, group, traffic);
        let reach = reach(group, traffic)?;
        let first = tcp.profile.initial_window;
        let bits = 8.0 * packet_of(traffic);
        // What is asked for before the end of an application comes all the same; data that is written ends there.
        let writes = matches!(traffic.spec.mechanism.kind, "bulk" | "upload");
        let sends_for = if writes { begins_for(scenario, traffic) } else { seconds };
        // Each flow's share of the ACKs; what all grow by is most where the shares are equal.
        let grown = reach.window(first, rate * sends_for / bits / flows) * flows;
        // An ACK releases what it acknowledges and at most as much again.
        let fills_for = if fills(scenario, group, traffic) { sends_for } else { sends_for.min(1.0) };
        let segment = segment_of(traffic, &tcp.profile);
        let whole = piece(scenario, group, traffic) / segment + 1.0;
        let out = most_out(&tcp.profile) * (tcp.profile.mss as f64 / segment);
        // Slow start doubles in a round trip, where an ACK adds no more than it acknowledges.
        let rounds = seconds / lives::round_trip(scenario, group).max(1e-9) + 1.0;
        let doubled = match reach.round <= 1.0 && reach.ack <= 1.0 && reach.least <= first {
            true => first * libm::exp2(rounds.min(1000.0)),
            false => f64::INFINITY,
        };
        let most = flows * out.min(reach.most.max(reach.least)).min(whole).min(doubled.max(first));
        // A timeout that waiting alone has caused sends again what the least window lets, each after twice as long.
        let again = if reach.least > first { 1.0 + timeouts(&tcp.profile, seconds) } else { 1.0 };
        let users = f64::from(group.users);
        Some(Released {
            first: grown.min(most) * again,
            most: most * again,
            freed: rate * fills_for / bits * reach.ack.min(1.0),
            begun: flows.min(users * f64::from(traffic.flows().max(1))) * first.max(reach.burst()),
        })
    }
}

/// The most bytes that a connection has under way at once, for it asks for nothing more before they are there.
fn piece(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    let values = &traffic.spec.values;
    let most = |name: &str| values.get(name).map_or(f64::INFINITY, |size| size.bounds().1);
    match traffic.spec.mechanism.kind {
        "short-flows" => most("size"),
        "request-response" => most("response"),
        "web" => most("page_size").max(most("object_size")),
        // A chunk comes in a part over each of them.
        "has" => match (values.get("ladder"), values.get("sizes")) {
            (_, Some(Value::ByteRows(rows))) => {
                rows.iter().flatten().fold(0.0, |most, size| f64::max(most, *size))
            }
            (Some(Value::Rates(ladder)), _) => {
                ladder.iter().fold(0.0, |most, rate| f64::max(most, *rate)) / 8.0 * values.number("chunk")
                    / connections(scenario, group, traffic)
            }
            _ => f64::INFINITY,
        },
        _ if traffic.opens() => f64::INFINITY,
        _ => values.get("size").map_or(f64::INFINITY, mean),
    }
}

/// How many timeouts there are one after the other in so many seconds, each after twice as long.
fn timeouts(profile: &Profile, seconds: f64) -> f64 {
    let (mut next, mut at, mut count) = (profile.min_rto.seconds().max(1e-6), 0.0, 0.0);
    while at + next < seconds {
        (at, next, count) = (at + next, 2.0 * next, count + 1.0);
    }
    count
}

/// How far the windows of its flows go.
fn reach(group: &Group, traffic: &Traffic) -> Option<Reach> {
    let control = &traffic.tcp.as_ref()?.congestion_control;
    Some(evenflow_transport::congestion_control::reach(
        control.mechanism.kind,
        &control.values,
        &group.weight,
    ))
}

/// What one sender of a group hands over in one event.
fn sent_by_one(group: &Group) -> f64 {
    let of = |traffic: &Traffic| {
        let profile = &traffic.tcp.as_ref()?.profile;
        Some(reach(group, traffic)?.burst().max(profile.initial_window).min(most_out(profile)))
    };
    group.traffic.iter().filter_map(of).fold(0.0, f64::max)
}

/// Packets that a sender may ever have out.
fn most_out(profile: &Profile) -> f64 {
    (profile.most_out() as f64 / profile.mss as f64).max(1.0)
}

/// At what rate a group's packets arrive at the most, and by what: its narrowest link or shaper, in bit/s.
fn served(scenario: &Scenario, g: usize, group: &Group) -> (Server, f64) {
    let own = |per: Per, server: Server| if per == Per::Shared { server } else { Server::Own(g) };
    let narrowest = narrowest(scenario, group);
    let link = narrowest.map(|(rate, leg)| (own(leg.link.per, Server::Link(leg.place)), rate));
    let shapers = shapers_of(scenario, group);
    let shapers = shapers.map(|(i, stage)| {
        (own(stage.per, Server::Stage(i)), rate_of(&stage.spec) * copies(stage.per, group))
    });
    let all = link.into_iter().chain(shapers);
    all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Server::Own(g), f64::INFINITY))
}

/// The parameter `rate` of a table.
fn rate_of(spec: &Spec) -> f64 {
    spec.values.get("rate").map_or(f64::INFINITY, mean)
}

/// Whether a sender whose packets are never dropped fills a queue without end.
fn fills(scenario: &Scenario, group: &Group, traffic: &Traffic) -> bool {
    let kind = traffic.tcp.as_ref().map_or("", |tcp| tcp.congestion_control.mechanism.kind);
    let by_loss = !matches!(kind, "vegas" | "ledbat" | "cubic" | "compound" | "illinois" | "wtp");
    by_loss && legs(scenario, group).all(|leg| leg.link.loss.is_none())
}

/// What share of a group's packets has something beside it: all in a tunnel, and those that a link loses.
fn wrapped_share(scenario: &Scenario, group: &Group) -> f64 {
    let tunnel = group.path.iter().any(|hop| {
        matches!(hop.component, Component::Stage(i) if scenario.stages[i].spec.mechanism.kind == "tunnel-ingress")
    });
    if tunnel { 1.0 } else { legs(scenario, group).map(Leg::loses).fold(0.0, f64::max) }
}

/// What all sources of datagrams send, in bit/s: nothing, where they begin after the end.
fn pace(scenario: &Scenario, group: &Group, traffic: &Traffic) -> f64 {
    if begins_for(scenario, traffic) == 0.0 {
        return 0.0;
    }
    let values = &traffic.spec.values;
    let one = match (&traffic.tcp, values.get("rate"), values.get("interval")) {
        (None, Some(rate), _) => high(rate),
        (None, None, Some(interval)) => 8.0 * packet_of(traffic) / mean(interval).max(1e-9),
        _ => 0.0,
    };
    f64::from(group.users) * f64::from(traffic.flows().max(1)) * one
}

/// Packets without data that wait where users lose patience before their SYN has left: a SYN and a reset for each attempt.
fn given_up(scenario: &Scenario, group: &Group) -> f64 {
    let seconds = scenario.duration.seconds();
    let of = |traffic: &Traffic| {
        let (tcp, patience) = (traffic.tcp.as_ref()?, traffic.spec.values.get("patience")?);
        let begins = traffic.spec.values.get("start").map_or(0.0, |start| start.bounds().0);
        let attempts = f64::from(group.users) * (seconds - begins).max(0.0) / mean(patience).max(1e-9);
        let packet = 8.0 * tcp.profile.header as f64;
        let (rate, waits) = narrowest(scenario, group).map_or((f64::INFINITY, 0.0), |(rate, leg)| {
            let limit = leg.queue().and_then(|queue| queue.limit.as_ref());
            (rate, limit.map_or(f64::INFINITY, |limit| bits_of(limit, packet, rate)))
        });
        let delay = legs(scenario, group).map(time_on).sum::<f64>().min(seconds);
        let sent = 2.0 * attempts;
        let under_way = sent.min(rate * seconds / packet) * delay / seconds;
        Some((sent - rate * seconds / packet).max(0.0).min(waits / packet) + under_way)
    };
    group.traffic.iter().filter_map(of).sum()
}

/// The part of it that is answered by as much.
fn echoed(scenario: &Scenario, group: &Group) -> f64 {
    let echoes = group.traffic.iter().filter(|traffic| traffic.tcp.is_none() && traffic.opens());
    echoes.map(|traffic| pace(scenario, group, traffic)).sum()
}

/// What all of a group's do.
fn paces_of(scenario: &Scenario, group: &Group) -> f64 {
    group.traffic.iter().map(|traffic| pace(scenario, group, traffic)).sum()
}

/// How long a packet may be under way on a link: its delay, what jitter adds to nearly all packets, and the transmissions that one packet in
/// 10^9 needs, for all behind it wait.
fn time_on(leg: Leg) -> f64 {
    let link = leg.link;
    const RARE: f64 = 1e-9;
    const DEVIATIONS: f64 = 5.0;
    let jitter = link.jitter.as_ref().map_or(0.0, |jitter| DEVIATIONS * mean(&jitter.deviation));
    let again = link.loss.as_ref().and_then(|loss| Some((loss.again?, &loss.which)));
    let again = again.map_or(0.0, |((most, later), which)| {
        let share = match which {
            Lost::Random(share) | Lost::Bursts(share, _) => share.bounds().1,
            Lost::Every(_) => RARE,
        };
        let (mut times, mut left) = (0, 1.0);
        while left > RARE && times < most {
            left *= share;
            times += 1;
        }
        f64::from(times) * later.seconds()
    });
    leg.delay() + jitter + again
}

/// What a limit, or a latency, lets wait in bits, where the packets are of so many and leave at a rate.
fn bits_of(limit: &Value, packet: f64, rate: f64) -> f64 {
    match limit {
        Value::Packets(n) => n * packet,
        Value::Bytes(bytes) => bytes * 8.0,
        other => mean(other) * rate,
    }
}

/// What a rule lets wait of datagrams, in bits, that come together at so many bit/s and heed nothing. RED and PIE come to drop all
/// that arrives, within a second beyond their thresholds and targets; CoDel drops one of those that leave, and no rule drops what it
/// can mark instead.
fn waits(rule: &Spec, group: &Group, together: f64, packet: f64) -> f64 {
    let marked = |traffic: &Traffic| traffic.tcp.is_none() && traffic.spec.values.flag("ecn_capable");
    if group.traffic.iter().any(marked) {
        return f64::INFINITY;
    }
    let of = |name: &str| rule.values.get(name);
    match rule.mechanism.kind {
        "red" => together + of("max_threshold").map_or(0.0, |value| 2.0 * bits_of(value, packet, together)),
        "pie" => {
            together * (1.0 + ["target", "max_burst"].iter().filter_map(|n| of(n)).map(mean).sum::<f64>())
        }
        _ => f64::INFINITY,
    }
}

/// How many packets of a group's datagrams fly or wait in queues at once, and how many in shapers. Along the way each link and
/// shaper that gets more than it serves holds the rest, as far as its limit goes, and hands on what it serves.
fn datagrams_at_once(scenario: &Scenario, group: &Group, loads: &Loads) -> (f64, f64) {
    let own = paces_of(scenario, group);
    if own == 0.0 {
        return (0.0, 0.0);
    }
    let datagrams = group.traffic.iter().filter(|traffic| traffic.tcp.is_none());
    let packet = 8.0 * datagrams.map(packet_of).fold(f64::INFINITY, f64::min).max(1.0);
    let sources = group.traffic.iter().map(|traffic| {
        (pace(scenario, group, traffic), begins_for(scenario, traffic), flows_of(scenario, group, traffic))
    });
    let (mut window, mut sent) = (0_f64, 0.0);
    for (pace, seconds, flows) in sources.filter(|(pace, ..)| *pace > 0.0) {
        window = window.max(seconds);
        sent += pace * seconds + packet * flows;
    }
    let mut flow = own;
    let mut flying = own * group.processing.as_ref().map_or(0.0, mean).min(window);
    let mut shaped = 0.0;
    for hop in &group.path {
        let (per, all, rates) = match hop.component {
            Component::Link(i) => {
                let leg = Leg { place: i, link: &scenario.links[i], against: hop.against };
                (leg.link.per, loads.links[i], leg.rates())
            }
            Component::Stage(i) if is_shaper(&scenario.stages[i]) => {
                let stage = &scenario.stages[i];
                (stage.per, loads.stages[i], Some((rate_of(&stage.spec), rate_of(&stage.spec))))
            }
            Component::Stage(_) => continue,
        };
        let number = copies(per, group);
        let (most, least) = rates.map_or((f64::INFINITY, f64::INFINITY), |(m, l)| (m * number, l * number));
        let rate = rates.map_or(0.0, |rates| rates.0);
        let together = if per == Per::Shared { flow + (all - own).max(0.0) } else { flow };
        let least = each_of(hop, scenario).map_or(least, |each| least.min(each * f64::from(group.users)));
        let share = flow / together;
        let excess = (together - least).max(0.0) * window;
        match hop.component {
            Component::Link(i) => {
                let leg = Leg { place: i, link: &scenario.links[i], against: hop.against };
                let waits = |queue: &QueueSpec| match &queue.limit {
                    Some(limit) => bits_of(limit, packet, rate) * number,
                    None => waits(&queue.rule, group, together, packet),
                };
                let versions = |queue: &QueueSpec| {
                    queue.changes.iter().map(|(_, later)| waits(later)).fold(waits(queue), f64::max)
                };
                flow = flow.min(most * share);
                flying += excess.min(leg.queue().map_or(f64::INFINITY, versions)) * share
                    + flow * time_on(leg).min(window);
            }
            Component::Stage(i) => {
                let waits = limit_of(&scenario.stages[i])
                    .map_or(f64::INFINITY, |limit| bits_of(limit, packet, rate) * number);
                flow = flow.min(most * share);
                shaped += excess.min(waits) * share;
            }
        }
    }
    // Replies come back as far as requests came, each through its queues.
    let mut back = flow * echoed(scenario, group) / own;
    for leg in legs(scenario, group).map(Leg::back) {
        if back == 0.0 {
            break;
        }
        let number = copies(leg.link.per, group);
        let (most, least) =
            leg.rates().map_or((f64::INFINITY, f64::INFINITY), |(m, l)| (m * number, l * number));
        let waits = leg
            .queue()
            .and_then(|queue| queue.limit.as_ref())
            .map_or(f64::INFINITY, |limit| bits_of(limit, packet, most / number) * number);
        flying += ((back - least).max(0.0) * window).min(waits) + back * time_on(leg).min(window);
        back = back.min(most);
    }
    // No more than they ever send.
    (flying.min(sent) / packet, shaped.min(sent) / packet)
}

/// The most that a class of everybody's own lets go, bit/s, where the link has such classes.
fn each_of(hop: &Hop, scenario: &Scenario) -> Option<f64> {
    let Component::Link(i) = hop.component else { return None };
    let leg = Leg { place: i, link: &scenario.links[i], against: hop.against };
    let scheduler = leg.queue()?.scheduler.as_ref().filter(|one| one.mechanism.traits.tree)?;
    let Some(Value::Table(each)) = scheduler.values.get("each") else { return None };
    each.get("ceil").or(each.get("rate")).map(legs::low)
}

/// How much may wait in a shaper.
fn limit_of(stage: &Stage) -> Option<&Value> {
    stage.spec.values.get("limit").or(stage.spec.values.get("latency"))
}

/// How many packets of a group's TCP senders may wait in a shaper.
fn room_of(stage: &Stage, group: &Group) -> f64 {
    let packet = 8.0 * group.traffic.iter().map(packet_of).fold(f64::INFINITY, f64::min).max(1.0);
    let most = |limit| bits_of(limit, packet, rate_of(&stage.spec)) / packet;
    limit_of(stage).map_or(f64::INFINITY, |limit| most(limit) * copies(stage.per, group))
}

/// How many packets of a group's TCP senders links and queues hold, and what holds them: the narrowest link.
fn held_of_tcp(scenario: &Scenario, g: usize, group: &Group) -> (Server, f64) {
    let bits = 8.0 * group.traffic.iter().map(packet_of).fold(f64::INFINITY, f64::min).max(1.0);
    let delay = (legs(scenario, group).map(time_on).sum::<f64>()
        + group.processing.as_ref().map_or(0.0, mean))
    .min(scenario.duration.seconds());
    let Some((rate, leg)) = narrowest(scenario, group) else { return (Server::Own(g), f64::INFINITY) };
    let link = leg.link;
    let server = if link.per == Per::Shared { Server::Link(leg.place) } else { Server::Own(g) };
    let Some(queue) = leg.queue() else { return (server, f64::INFINITY) };
    let limits = queue.changes.iter().map(|(_, later)| &later.limit).chain([&queue.limit]);
    let bits_in = |limit: &Option<Value>| limit.as_ref().map_or(f64::INFINITY, |l| bits_of(l, bits, rate));
    let largest = limits.max_by(|a, b| bits_in(a).total_cmp(&bits_in(b))).unwrap_or(&queue.limit);
    let waiting = match largest {
        Some(limit @ (Value::Packets(_) | Value::Bytes(_))) => {
            bits_of(limit, bits, rate) / bits * copies(link.per, group)
        }
        Some(time) => mean(time) * rate / bits,
        // A rule that is no limit holds what it aims at: no more than a second, by any document.
        None if queue.rule.mechanism.kind != "droptail" => rate / bits,
        None => return (server, f64::INFINITY),
    };
    // There and back, and twice that at the end of slow start.
    (server, 2.0 * (2.0 * delay * rate / bits + waiting))
}

/// How many values the series of a `[record]` section take.
fn samples(scenario: &Scenario, crossing: &Crossing) -> f64 {
    let seconds = scenario.duration.seconds();
    let meet = |per: Per, groups: &[usize]| match per {
        Per::Shared => 1.0,
        per => groups.iter().map(|g| copies(per, &scenario.groups[*g])).sum(),
    };
    // Once for all series.
    let of_links: Vec<f64> =
        scenario.links.iter().zip(&crossing.links).map(|(link, groups)| meet(link.per, groups)).collect();
    let of_stages: Vec<f64> =
        scenario.stages.iter().zip(&crossing.stages).map(|(stage, groups)| meet(stage.per, groups)).collect();
    // At every packet: what a link carries, or more, where datagrams flood it and are dropped.
    let loads = Loads::of(scenario);
    let carried = |place: usize| {
        let tcp = |g: &usize| scenario.groups[*g].traffic.iter().any(|traffic| traffic.tcp.is_some());
        let leg = Leg { place, link: &scenario.links[place], against: false };
        leg.rates().filter(|_| crossing.links[place].iter().any(tcp)).map_or(0.0, |rates| rates.0)
    };
    let of_link = |link: usize, which: Copies| {
        let number = if which == Copies::All { of_links[link] } else { 1.0 };
        (number, carried(link).max(loads.links[link] / of_links[link].max(1.0)))
    };
    let of_stage = |stage: usize, which: Copies| {
        let number = if which == Copies::All { of_stages[stage] } else { 1.0 };
        let groups = crossing.stages[stage].iter().map(|g| &scenario.groups[*g]);
        let tcp = groups.filter(|group| group.traffic.iter().any(|traffic| traffic.tcp.is_some()));
        let tcp =
            tcp.map(|group| narrowest(scenario, group).map_or(0.0, |(rate, _)| rate)).fold(0.0, f64::max);
        (number, (tcp + loads.stages[stage]) / of_stages[stage].max(1.0))
    };
    let size = scenario
        .groups
        .iter()
        .flat_map(|group| &group.traffic)
        .map(packet_of)
        .fold(f64::INFINITY, f64::min)
        .max(1.0);
    let of = |series: &evenflow_scenario::model::Series| {
        let (columns, rate) = match series.target {
            Target::Queue { link, copies, .. }
            | Target::Node { link, copies, .. }
            | Target::Link { link, copies, .. } => of_link(link, copies),
            Target::Stage { stage, copies, .. } => of_stage(stage, copies),
            Target::Flow { group, users, flows, .. } => {
                let group = &scenario.groups[group];
                let all = |which: Copies, all: f64| if which == Copies::All { all } else { 1.0 };
                (all(users, f64::from(group.users)) * all(flows, flows_per_user(group) as f64), 0.0)
            }
        };
        match series.every {
            Every::Interval(every) => columns * seconds / every.seconds(),
            Every::Packet => columns * rate * seconds / (8.0 * size),
        }
    };
    scenario.record.series.iter().map(of).sum()
}

/// The state of flows, users and copies.
fn state_bytes(scenario: &Scenario, crossing: &Crossing) -> u64 {
    let parts = scenario.groups.len() + 2 * scenario.links.len() + scenario.stages.len();
    let mut total = (16 << 20) + parts as u64 * IN_A_RECORD;
    for group in &scenario.groups {
        let users = u64::from(group.users);
        let flows = users * flows_per_user(group) as u64;
        total += flows * (size_of::<Connection>() + size_of::<Flow>() + 160) as u64 + users * 200;
        let remembers = |kind: &str| matches!(kind, "ledbat" | "cubic" | "compound");
        let boards = group.traffic.iter().filter(|traffic| {
            traffic.tcp.as_ref().is_some_and(|tcp| remembers(tcp.congestion_control.mechanism.kind))
        });
        total += users * boards.map(|traffic| u64::from(traffic.flows())).sum::<u64>() * BOARD;
        let opens = group.traffic.iter().filter(|traffic| traffic.opens());
        let live: f64 = opens.clone().map(|traffic| live_flows(scenario, group, traffic)).sum();
        let asks = |traffic: &&Traffic| {
            !matches!(traffic.spec.mechanism.kind, "short-flows" | "bulk" | "upload" | "ping")
        };
        let asked: f64 = opens.clone().filter(asks).map(|traffic| live_flows(scenario, group, traffic)).sum();
        total += (live.min(1e12) as u64) * LIVE_FLOW + (asked.min(1e12) as u64) * (ASKED_FLOW - LIVE_FLOW);
        total = total.saturating_add(group.traffic.iter().map(|one| of_users(scenario, group, one)).sum());
        if saves_metrics(group) {
            total += users * (group.traffic.len() * size_of::<Profile>()) as u64;
        }
        if group.traffic.iter().filter_map(|t| t.tcp.as_ref()).any(|tcp| tcp.profile.conex.is_some()) {
            total += flows * size_of::<Exposure>() as u64 + users * Conex::BYTES_OF_A_USER;
        }
        for hop in &group.path {
            let per = match hop.component {
                Component::Link(i) => scenario.links[i].per,
                Component::Stage(i) => scenario.stages[i].per,
            };
            let copies = match per {
                Per::Flow => flows,
                Per::User => users,
                Per::Users(n) => users / u64::from(n),
                Per::Shared | Per::Group => 1,
            };
            total += copies * (2 * size_of::<Port>() + size_of::<Fifo>() + 200) as u64;
        }
    }
    total + (0..scenario.links.len()).map(|i| schedulers_bytes(scenario, i, &crossing.links[i])).sum::<u64>()
}

/// What the users of an application take beside their connections, and what stages remember of these.
fn of_users(scenario: &Scenario, group: &Group, traffic: &Traffic) -> u64 {
    let values = &traffic.spec.values;
    let users = f64::from(group.users);
    let most = |name: &str| values.get(name).map_or(0.0, high);
    let each = match traffic.spec.mechanism.kind {
        "has" => {
            let remembered = match values.get("adaptation") {
                Some(Value::Table(rule)) => rule.maybe("window").unwrap_or(0.0),
                _ => 0.0,
            };
            let chunks = begins_for(scenario, traffic) / most("chunk").max(1e-9);
            let rows = match values.get("sizes") {
                Some(Value::ByteRows(rows)) => rows.iter().map(|row| 24.0 + 10.0 * row.len() as f64).sum(),
                _ => 0.0,
            };
            VIEWER as f64 + CHUNK * chunks + 8.0 * remembered.min(chunks) + 1.5 * rows
        }
        "web" => 8.0 * most("objects"),
        "ping" => {
            let waits = begins_for(scenario, traffic).min(most("timeout"));
            12.0 * waits / values.get("interval").map_or(f64::INFINITY, mean).max(1e-9)
        }
        _ => 0.0,
    };
    let seconds = begins_for(scenario, traffic).max(1e-9);
    let come = come(scenario, group, traffic);
    let accounts = group.path.iter().filter_map(|hop| match hop.component {
        Component::Stage(i) => Some(&scenario.stages[i].spec),
        Component::Link(_) => None,
    });
    let accounts = accounts.filter_map(|spec| {
        let (_, bytes) = ACCOUNTS.iter().find(|(kind, _)| *kind == spec.mechanism.kind)?;
        let idle = spec.values.get("idle").map_or(60.0, high);
        Some(*bytes as f64 * come * (idle / seconds).min(1.0))
    });
    (users * each + accounts.sum::<f64>()).min(1e18) as u64
}

/// Of that, what the schedulers of a link's copies take that have a place for everybody, or for every slot of a hash.
fn schedulers_bytes(scenario: &Scenario, index: usize, crossing: &[usize]) -> u64 {
    let link = &scenario.links[index];
    let (mut users, mut flows, mut copies) = (0, 0, 0);
    for group in crossing.iter().map(|g| &scenario.groups[*g]) {
        let of_group = u64::from(group.users) * flows_per_user(group) as u64;
        users += group.users as usize;
        flows += of_group as usize;
        copies += match link.per {
            Per::Shared => u64::from(copies == 0),
            Per::Group => 1,
            Per::User => u64::from(group.users),
            Per::Users(n) => u64::from(group.users.div_ceil(n)),
            Per::Flow => of_group,
        };
    }
    let ways = [Some(&link.forward), link.reverse.as_ref()];
    let queues = ways.into_iter().flatten().filter_map(|direction| direction.queue.as_ref());
    let of = |queue: &QueueSpec| {
        let owners = match queue.scheduler_per {
            SchedulerPer::Class => 0,
            SchedulerPer::User => users,
            SchedulerPer::Flow => flows,
        };
        // Everybody comes by one copy; of a link for each flow a user comes by several.
        let comers =
            if link.per == Per::Flow { owners.min(1) } else { owners.div_ceil(copies.max(1) as usize) };
        let schedulers = [Some(&queue.rule), queue.scheduler.as_ref()].into_iter().flatten();
        let once = schedulers
            .map(|s| evenflow_queue::memory(s.mechanism.kind, &s.values, owners, comers))
            .sum::<u64>();
        // A tree's classes are made when somebody comes.
        let tree = queue.scheduler.as_ref().is_some_and(|scheduler| scheduler.mechanism.traits.tree);
        let later = queue.changes.len() as u64;
        if tree { once + later * 4096 } else { once * (1 + later) }
    };
    copies * queues.map(of).sum::<u64>()
}
