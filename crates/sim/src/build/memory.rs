//! What a run will need.

use evenflow_base::schema::Value;
use evenflow_scenario::model::{
    Component, Copies, Direction, Every, Group, Link, Lost, Per, Queue as QueueSpec, RateSpec, Scenario,
    SchedulerPer, Spec, Stage, Target, Traffic,
};
use evenflow_stage::HeldPacket;
use evenflow_transport::exposure::Exposure;
use evenflow_transport::{Profile, Segment};

use super::flows::{flows_per_user, saves_metrics};
use crate::conex::Conex;
use crate::events::InFlight;
use crate::network::{Connection, Flow};
use crate::port::{Fifo, Port};

/// How many flows the applications of a group may have open at once: one for each user, or, where flows come whether or not those
/// before them are over, what the narrowest link does not serve.
fn live_flows(scenario: &Scenario, group: &Group) -> f64 {
    let seconds = scenario.duration.seconds();
    let users = f64::from(group.users);
    let served = narrowest(scenario, group).map_or(0.0, |narrowest| narrowest.0 * seconds / 8.0);
    let of = |traffic: &Traffic| {
        let values = &traffic.spec.values;
        let interval = match traffic.arrivals {
            // one process for all of them, of other groups too
            Some(process) => mean(&scenario.arrivals[process].interval) * users,
            None => values.get("interval").map_or(f64::INFINITY, mean),
        };
        let come = users * seconds / interval.max(1e-9 / users);
        let size = values.get("size").map_or(packet_of(traffic), mean).max(packet_of(traffic));
        (come - served / size).max(users)
    };
    group.traffic.iter().filter(|traffic| traffic.opens()).map(of).sum()
}

/// What a sender may have out: no TCP window is larger (RFC 7323 section 2.3).
const MOST_OUT: f64 = 1_073_741_824.0;

/// A flow that an application has open, with SACK (docs/design.md).
const LIVE_FLOW: u64 = 1600;

/// An estimate of what a run needs, in bytes: state of flows, users and copies, packets under way, series.
pub fn memory_bytes(scenario: &Scenario) -> u64 {
    let (flying, shaped) = packets_at_once(scenario);
    // Rings double. What waits in a queue is in a ring of its own too.
    let ring = |packets: f64| (packets.min(1e15).ceil() as u64).next_power_of_two();
    let in_flight = ring(flying) * (size_of::<InFlight>() + 16) as u64;
    // In a shaper's ring, and once more where the run checks at its end that nothing is lost.
    let held =
        ring(shaped).saturating_add(shaped.min(1e15) as u64).saturating_mul(size_of::<HeldPacket>() as u64);
    let in_flight = in_flight.saturating_add(held);
    let outbox = 2.0 * scenario.groups.iter().map(sent_by_one).fold(0.0, f64::max);
    let in_flight = in_flight + (outbox.min(MOST_OUT) as u64) * size_of::<Segment>() as u64;
    // Instants and values, and once more as bytes on their way out.
    let series = (samples(scenario) * 32.0).min(1e18) as u64;
    state_bytes(scenario).saturating_add(in_flight).saturating_add(series)
}

/// The middle of what a quantity may be.
fn mean(value: &Value) -> f64 {
    match value {
        Value::Random(law) => law.sampler().mean(),
        fixed => fixed.number().unwrap_or(0.0),
    }
}

/// The highest rate of a direction.
fn rate(direction: &Direction) -> Option<f64> {
    match direction.rate.as_ref()? {
        RateSpec::Constant(value) => Some(mean(value)),
        RateSpec::Steps(steps) => steps.iter().map(|step| step.1.0).reduce(f64::max),
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

/// What a source sends at the least in bytes, header included.
fn packet_of(traffic: &Traffic) -> f64 {
    match &traffic.tcp {
        Some(tcp) => (tcp.profile.mss + tcp.profile.header) as f64,
        None => traffic.spec.values.get("packet").map_or(1500.0, mean).max(1.0),
    }
}

/// The links that the data of a group crosses.
fn links_of<'a>(scenario: &'a Scenario, group: &'a Group) -> impl Iterator<Item = &'a Link> {
    group.path.iter().filter_map(|hop| match hop.component {
        Component::Link(i) => Some(&scenario.links[i]),
        Component::Stage(_) => None,
    })
}

/// The shapers that it crosses.
fn shapers_of<'a>(scenario: &'a Scenario, group: &'a Group) -> impl Iterator<Item = &'a Stage> {
    let stages = group.path.iter().filter_map(|hop| match hop.component {
        Component::Stage(i) => Some(&scenario.stages[i]),
        Component::Link(_) => None,
    });
    stages.filter(|stage| is_shaper(stage))
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
            let own = paces_of(group);
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

/// How many packets may be under way at once, and how many in shapers: no more than the windows allow, than senders can have
/// released by the end, and than links, queues and shapers hold.
fn packets_at_once(scenario: &Scenario) -> (f64, f64) {
    let loads = Loads::of(scenario);
    let of = |group: &Group| {
        let sent = sent_at_once(scenario, group);
        let (flying, shaped) = datagrams_at_once(scenario, group, &loads);
        let (in_links, in_shapers) = (held_of_tcp(scenario, group), shaped_of_tcp(scenario, group));
        (sent.min(flying + in_links), sent.min(shaped + in_shapers))
    };
    scenario.groups.iter().map(of).fold((0.0, 0.0), |(a, b), (flying, shaped)| (a + flying, b + shaped))
}

/// What one sender of a group hands over in one event.
fn sent_by_one(group: &Group) -> f64 {
    group.traffic.iter().filter_map(first_window).fold(0.0, f64::max)
}

/// Packets that a sender may have out before the first ACK.
fn first_window(traffic: &Traffic) -> Option<f64> {
    let tcp = traffic.tcp.as_ref()?;
    let window = tcp.congestion_control.values.get("window").map(mean);
    Some(window.unwrap_or(tcp.profile.initial_window).min(most_out(&tcp.profile)))
}

/// Packets that a sender may ever have out.
fn most_out(profile: &Profile) -> f64 {
    ((profile.max_window as f64).min(MOST_OUT) / profile.mss as f64).max(1.0)
}

/// The narrowest link of a group's way: the rate of all its copies that the group meets, and the link.
fn narrowest<'a>(scenario: &'a Scenario, group: &'a Group) -> Option<(f64, &'a Link)> {
    links_of(scenario, group)
        .filter_map(|link| Some((rate(&link.forward)? * copies(link.per, group), link)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// At what rate a group's packets arrive at the most: that of its narrowest link or shaper, in bit/s.
fn served(scenario: &Scenario, group: &Group) -> f64 {
    let shapers = shapers_of(scenario, group);
    let shaped = shapers.map(|stage| rate_of(&stage.spec) * copies(stage.per, group));
    shaped.fold(narrowest(scenario, group).map_or(f64::INFINITY, |narrowest| narrowest.0), f64::min)
}

/// The parameter `rate` of a table.
fn rate_of(spec: &Spec) -> f64 {
    spec.values.get("rate").map_or(f64::INFINITY, mean)
}

/// Whether a sender whose packets are never dropped fills a queue without end.
fn fills(scenario: &Scenario, group: &Group, traffic: &Traffic) -> bool {
    let kind = traffic.tcp.as_ref().map_or("", |tcp| tcp.congestion_control.mechanism.kind);
    let by_loss = !matches!(kind, "vegas" | "ledbat" | "cubic" | "compound" | "illinois" | "wtp");
    by_loss && links_of(scenario, group).all(|link| link.loss.is_none())
}

/// Whether a window grows by so much that neither ACKs nor drops hold it: its own bound does.
fn is_reckless(group: &Group, traffic: &Traffic) -> bool {
    const MANY: f64 = 1000.0;
    let Some(tcp) = &traffic.tcp else { return false };
    let values = &tcp.congestion_control.values;
    let of = |name: &str| values.get(name).map_or(0.0, |value| value.bounds().1);
    let own = ["weight", "alpha_min", "alpha_max", "min_window", "window"].map(of);
    own.into_iter().chain([group.weight.bounds().1]).any(|x| x.is_finite() && x > MANY)
}

/// What the senders of a group may have out.
fn sent_at_once(scenario: &Scenario, group: &Group) -> f64 {
    let seconds = scenario.duration.seconds();
    let rate = served(scenario, group);
    let of = |traffic: &Traffic| {
        let flows = flows_of(group, traffic);
        let size = packet_of(traffic);
        let Some(tcp) = &traffic.tcp else { return pace(group, traffic) * seconds / (8.0 * size) };
        let profile = &tcp.profile;
        let mss = profile.mss as f64;
        let window = tcp.congestion_control.values.get("window").map(mean);
        let first = first_window(traffic).unwrap_or(1.0);
        let most = most_out(profile).min(window.unwrap_or(f64::INFINITY));
        // An ACK releases what it acknowledges and at most as much again.
        let fills_for = if fills(scenario, group, traffic) { seconds } else { seconds.min(1.0) };
        let released = match is_reckless(group, traffic) {
            true => f64::INFINITY,
            false => flows * first + rate * fills_for / (8.0 * size),
        };
        let size = traffic.spec.values.get("size").filter(|_| !traffic.opens());
        let whole = size.map_or(f64::INFINITY, |size| mean(size) / mss + 1.0);
        (flows * most.min(whole)).min(released)
    };
    group.traffic.iter().map(of).sum()
}

fn flows_of(group: &Group, traffic: &Traffic) -> f64 {
    f64::from(group.users) * f64::from(traffic.flows().max(1))
}

/// What all sources of datagrams send, in bit/s.
fn pace(group: &Group, traffic: &Traffic) -> f64 {
    flows_of(group, traffic) * traffic.spec.values.get("rate").map_or(0.0, mean)
}

/// What all of a group's do.
fn paces_of(group: &Group) -> f64 {
    group.traffic.iter().map(|traffic| pace(group, traffic)).sum()
}

/// How long a packet may be under way on a link: its delay, what jitter adds to nearly all packets, and the transmissions that one packet in
/// 10^9 needs, for all behind it wait.
fn time_on(link: &Link) -> f64 {
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
    mean(&link.forward.delay) + jitter + again
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
    let own = paces_of(group);
    if own == 0.0 {
        return (0.0, 0.0);
    }
    let datagrams = group.traffic.iter().filter(|traffic| traffic.tcp.is_none());
    let packet = 8.0 * datagrams.map(packet_of).fold(f64::INFINITY, f64::min).max(1.0);
    let window = scenario.duration.seconds();
    let mut flow = own;
    let mut flying = own * group.processing.as_ref().map_or(0.0, mean).min(window);
    let mut shaped = 0.0;
    for hop in &group.path {
        let (per, all, rate) = match hop.component {
            Component::Link(i) => (scenario.links[i].per, loads.links[i], rate(&scenario.links[i].forward)),
            Component::Stage(i) if is_shaper(&scenario.stages[i]) => {
                let stage = &scenario.stages[i];
                (stage.per, loads.stages[i], Some(rate_of(&stage.spec)))
            }
            Component::Stage(_) => continue,
        };
        let number = copies(per, group);
        let served = rate.map_or(f64::INFINITY, |rate| rate * number);
        let together = if per == Per::Shared { flow + (all - own).max(0.0) } else { flow };
        let share = flow / together;
        let excess = (together - served).max(0.0) * window;
        match hop.component {
            Component::Link(i) => {
                let link = &scenario.links[i];
                let waits = link.forward.queue.as_ref().map_or(f64::INFINITY, |queue| match &queue.limit {
                    Some(limit) => bits_of(limit, packet, rate.unwrap_or(0.0)) * number,
                    None => waits(&queue.rule, group, together, packet),
                });
                flow = flow.min(served * share);
                flying += excess.min(waits) * share + flow * time_on(link).min(window);
            }
            Component::Stage(i) => {
                let waits = limit_of(&scenario.stages[i])
                    .map_or(f64::INFINITY, |limit| bits_of(limit, packet, rate.unwrap_or(0.0)) * number);
                flow = flow.min(served * share);
                shaped += excess.min(waits) * share;
            }
        }
    }
    // What comes at random comes in bursts.
    ((flying / packet).max(1000.0), shaped / packet)
}

/// How much may wait in a shaper.
fn limit_of(stage: &Stage) -> Option<&Value> {
    stage.spec.values.get("limit").or(stage.spec.values.get("latency"))
}

/// How many packets of a group's TCP senders wait in shapers.
fn shaped_of_tcp(scenario: &Scenario, group: &Group) -> f64 {
    if group.traffic.iter().all(|traffic| traffic.tcp.is_none()) {
        return 0.0;
    }
    let packet = 8.0 * group.traffic.iter().map(packet_of).fold(f64::INFINITY, f64::min).max(1.0);
    let of = |stage: &Stage| {
        let most = |limit| bits_of(limit, packet, rate_of(&stage.spec)) / packet;
        limit_of(stage).map_or(f64::INFINITY, |limit| most(limit) * copies(stage.per, group))
    };
    shapers_of(scenario, group).map(of).sum()
}

/// How many packets of a group's TCP senders are under way in links and queues.
fn held_of_tcp(scenario: &Scenario, group: &Group) -> f64 {
    if group.traffic.iter().all(|traffic| traffic.tcp.is_none()) {
        return 0.0;
    }
    if group.traffic.iter().any(|traffic| is_reckless(group, traffic)) {
        return f64::INFINITY;
    }
    let bits = 8.0 * group.traffic.iter().map(packet_of).fold(f64::INFINITY, f64::min).max(1.0);
    let delay = (links_of(scenario, group).map(time_on).sum::<f64>()
        + group.processing.as_ref().map_or(0.0, mean))
    .min(scenario.duration.seconds());
    let Some((rate, link)) = narrowest(scenario, group) else { return f64::INFINITY };
    let Some(queue) = &link.forward.queue else { return f64::INFINITY };
    let waiting = match &queue.limit {
        Some(limit @ (Value::Packets(_) | Value::Bytes(_))) => {
            bits_of(limit, bits, rate) / bits * copies(link.per, group)
        }
        Some(time) => mean(time) * rate / bits,
        // A rule that is no limit holds what it aims at: no more than a second, by any document.
        None if queue.rule.mechanism.kind != "droptail" => rate / bits,
        None => return f64::INFINITY,
    };
    let first = |traffic: &Traffic| {
        traffic.tcp.as_ref().map_or(0.0, |tcp| flows_of(group, traffic) * tcp.profile.initial_window)
    };
    // There and back, and twice that at the end of slow start.
    let first: f64 = group.traffic.iter().map(first).sum();
    2.0 * (2.0 * delay * rate / bits + waiting) + first
}

/// How many values the series of a `[record]` section take.
fn samples(scenario: &Scenario) -> f64 {
    let seconds = scenario.duration.seconds();
    let of_link = |link: usize, which: Copies| {
        let spec = &scenario.links[link];
        let crossing = scenario
            .groups
            .iter()
            .filter(|group| group.path.iter().any(|hop| hop.component == Component::Link(link)));
        let all: f64 = match spec.per {
            Per::Shared => 1.0,
            per => crossing.map(|group| copies(per, group)).sum(),
        };
        (if which == Copies::All { all } else { 1.0 }, rate(&spec.forward).unwrap_or(0.0))
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
            Target::Stage { stage, copies: which, .. } => {
                let per = scenario.stages[stage].per;
                let all: f64 = match per {
                    Per::Shared => 1.0,
                    per => scenario.groups.iter().map(|group| copies(per, group)).sum(),
                };
                (if which == Copies::All { all } else { 1.0 }, 0.0)
            }
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
fn state_bytes(scenario: &Scenario) -> u64 {
    let mut total = 16 << 20;
    for group in &scenario.groups {
        let users = u64::from(group.users);
        let flows = users * flows_per_user(group) as u64;
        total += flows * (size_of::<Connection>() + size_of::<Flow>() + 160) as u64 + users * 200;
        total += (live_flows(scenario, group).min(1e12) as u64) * LIVE_FLOW;
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
    total + (0..scenario.links.len()).map(|link| schedulers_bytes(scenario, link)).sum::<u64>()
}

/// Of that, what the schedulers of a link's copies take that have a place for everybody, or for every slot of a hash.
fn schedulers_bytes(scenario: &Scenario, index: usize) -> u64 {
    let link = &scenario.links[index];
    let crossing = |g: &&Group| g.path.iter().any(|hop| hop.component == Component::Link(index));
    let (mut users, mut flows, mut copies) = (0, 0, 0);
    for group in scenario.groups.iter().filter(crossing) {
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
        once * (1 + queue.changes.len() as u64)
    };
    copies * queues.map(of).sum::<u64>()
}
