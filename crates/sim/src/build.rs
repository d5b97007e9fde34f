//! From a scenario to a network at rest: copies, draws, routes, flows.

use std::collections::VecDeque;
use std::sync::Arc;

use evenflow_base::random::key_of;
use evenflow_base::schema::{Law, Sampler, Value, Values};
use evenflow_base::{Duration, Fine, Rate, Stream, Time};
use evenflow_queue::held::{Owner, Served, is_counter};
use evenflow_queue::{Admission, Gate, Limit, LinkFacts, Qdisc, Scheduler, htb, implied_limit};
use evenflow_scenario::model::{
    Component, Copies as Which, Direction, EventKind, Every, Group, Histogram, Jitter as JitterSpec, Lost,
    Per, Queue as QueueSpec, RateSpec, Scenario, SchedulerPer, Spec, Target, Traffic, TreeClass,
};
use evenflow_stage::Stage;
use evenflow_traffic::Application;
use evenflow_transport::{CongestionControl, Profile, Receiver, Sender};

use crate::Options;
use crate::engine::{
    Connection, DISCARD, Datagrams, Engine, FOLD, Flow, Host, KEEP, PORT, Parts, RECEIVER, SENDER, STAGE,
    StageSlot,
};
use crate::events::Lane;
use crate::measure::{ClassCounters, PortCounters, Window, WindowMeter};
use crate::port::{Events, Fifo, Impairments, Jitter, Lengths, Loses, Loss, Port, Queue, Select};
use crate::probe::{Log, Probes, Series, Source, Timed};

/// Whether packets leave a port in the order in which it takes them, at instants that are known at once.
fn in_order(port: &Port) -> bool {
    match &port.queue {
        Queue::Open => true,
        Queue::Fifo(q) => q.impairments.jitter.as_ref().is_none_or(|jitter| jitter.last.is_some()),
        Queue::Events(_) => false,
    }
}

/// One copy of a component: whose it is, as it stands in the names of its streams.
#[derive(Clone, Debug)]
struct Copy {
    owner: String,
    /// Number among the copies of its group: decides for dealt values.
    index: usize,
    /// Weight of its owner; 1 where users share it.
    weight: f64,
}

/// All copies of one component, and how to find a flow's.
#[derive(Debug, Default)]
struct Copies {
    list: Vec<Copy>,
    /// For each group: number of its first copy.
    base: Vec<usize>,
}

impl Copies {
    fn new(per: Per, used_by: &[bool], groups: &[Group], flows: &[usize], weights: &[Vec<f64>]) -> Copies {
        let mut copies = Copies { list: Vec::new(), base: vec![0; groups.len()] };
        for (g, group) in groups.iter().enumerate() {
            if !used_by[g] {
                continue;
            }
            let shared = per == Per::Shared;
            copies.base[g] = if shared { 0 } else { copies.list.len() };
            let count = match per {
                Per::Shared => usize::from(copies.list.is_empty()),
                Per::Group => 1,
                Per::User => group.users as usize,
                Per::Users(n) => group.users.div_ceil(n) as usize,
                Per::Flow => group.users as usize * flows[g],
            };
            for index in 0..count {
                let (owner, weight) = match per {
                    Per::Shared => (String::new(), 1.0),
                    Per::Group => (group.name.clone(), 1.0),
                    Per::User => (format!("{}/{index}", group.name), weights[g][index]),
                    Per::Users(_) => (format!("{}/{index}", group.name), 1.0),
                    Per::Flow => {
                        let user = index / flows[g];
                        (format!("{}/{user}/{}", group.name, index % flows[g]), weights[g][user])
                    }
                };
                copies.list.push(Copy { owner, index, weight });
            }
        }
        copies
    }

    /// The copy that a flow meets.
    fn of(&self, per: Per, group: usize, user: usize, flow: usize, flows: usize) -> usize {
        match per {
            Per::Shared => 0,
            Per::Group => self.base[group],
            Per::User => self.base[group] + user,
            Per::Users(n) => self.base[group] + user / n as usize,
            Per::Flow => self.base[group] + user * flows + flow,
        }
    }
}

/// The stream of `purpose` of the component `name`'s copy that belongs to `owner`.
fn stream(seed: u64, name: &str, owner: &str, purpose: &str) -> Stream {
    Stream::new(seed, &format!("{name}/{owner}/{purpose}"))
}

fn draw(value: &Value, stream: impl FnOnce() -> Stream, index: usize) -> Value {
    match value {
        Value::Random(law) => law.draw(&mut stream(), index),
        fixed => fixed.clone(),
    }
}

/// How many flows a user of `group` has.
fn flows_per_user(group: &Group) -> usize {
    group.traffic.iter().map(|t| evenflow_traffic::flows(&t.spec.values) as usize).sum()
}

/// Whether connections of a user of `group` leave metrics to each other: they have profiles of their own then.
fn saves_metrics(group: &Group) -> bool {
    group.traffic.iter().filter_map(|t| t.tcp.as_ref()).any(|tcp| tcp.profile.save_metrics)
}

/// Adds the profiles of a group's traffic to `list`; gives the place of each.
fn add_profiles(group: &Group, list: &mut Vec<Profile>) -> Vec<u32> {
    let place = |t: &Traffic| {
        list.extend(t.tcp.as_ref().map(|tcp| tcp.profile.clone()));
        list.len().saturating_sub(1) as u32
    };
    group.traffic.iter().map(place).collect()
}

/// An estimate of what a run needs, in bytes: state of flows, users and copies, without packets in flight.
pub fn memory_bytes(scenario: &Scenario) -> u64 {
    let mut total = 4 << 20;
    for group in &scenario.groups {
        let users = u64::from(group.users);
        let flows = users * flows_per_user(group) as u64;
        total += flows * (size_of::<Connection>() + size_of::<Flow>() + 160) as u64 + users * 200;
        if saves_metrics(group) {
            total += users * (group.traffic.len() * size_of::<Profile>()) as u64;
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
        let schedulers = [Some(&queue.rule), queue.scheduler.as_ref()].into_iter().flatten();
        schedulers.map(|s| evenflow_queue::memory(s.mechanism.kind, &s.values, owners)).sum::<u64>()
    };
    copies * queues.map(of).sum::<u64>()
}

struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    options: Options,
    flows: Vec<usize>,
    weights: Vec<Vec<f64>>,
    /// First flow of each group.
    first_flow: Vec<usize>,
}

/// Builds the network.
pub fn build(scenario: &Scenario, seed: u64, options: Options) -> Engine {
    let flows: Vec<usize> = scenario.groups.iter().map(flows_per_user).collect();
    let mut first_flow = Vec::new();
    let mut total = 0;
    for (g, group) in scenario.groups.iter().enumerate() {
        first_flow.push(total);
        total += group.users as usize * flows[g];
    }
    let weights = scenario
        .groups
        .iter()
        .map(|group| {
            (0..group.users as usize)
                .map(|user| {
                    let of = || stream(seed, "groups", &format!("{}/{user}", group.name), "weight");
                    draw(&group.weight, of, user).number().unwrap_or(1.0)
                })
                .collect()
        })
        .collect();
    Builder { scenario, seed, options, flows, weights, first_flow }.build(total)
}

impl Builder<'_> {
    fn build(&self, total_flows: usize) -> Engine {
        let scenario = self.scenario;
        let window = Window { from: Time(scenario.warmup.0), to: Time(scenario.duration.0) };
        let copies = |per, component| {
            let used: Vec<bool> =
                scenario.groups.iter().map(|g| g.path.iter().any(|hop| hop.component == component)).collect();
            Copies::new(per, &used, &scenario.groups, &self.flows, &self.weights)
        };
        let links: Vec<Copies> =
            scenario.links.iter().enumerate().map(|(i, l)| copies(l.per, Component::Link(i))).collect();
        let stage_copies: Vec<Copies> =
            scenario.stages.iter().enumerate().map(|(i, s)| copies(s.per, Component::Stage(i))).collect();

        let mut ports = Vec::new();
        let mut lanes = Vec::new();
        let mut first_port = Vec::new();
        for (i, link) in scenario.links.iter().enumerate() {
            first_port.push(ports.len());
            let selects = [Some(&link.forward), link.reverse.as_ref()].map(|d| self.select(d, i));
            for (number, copy) in links[i].list.iter().enumerate() {
                self.add_ports(&mut ports, i, number, copy, &selects);
            }
            for direction in [&link.forward, link.reverse.as_ref().unwrap_or(&link.forward)] {
                let random_rate = matches!(&direction.rate, Some(RateSpec::Constant(Value::Random(_))));
                let jitters =
                    link.jitter.as_ref().is_some_and(|jitter| jitter.ways.contains(&(lanes.len() % 2)));
                let unordered = random_rate || jitters || matches!(direction.delay, Value::Random(_));
                lanes.push(Lane::new(unordered));
            }
        }
        if scenario.groups.iter().any(|g| g.processing.is_some()) {
            lanes.push(Lane::new(false)); // the hosts'
        }

        let mut stages = Vec::new();
        let mut first_stage = Vec::new();
        for (i, stage) in scenario.stages.iter().enumerate() {
            first_stage.push(stages.len());
            let name = format!("stages.{}", stage.name);
            for (number, copy) in stage_copies[i].list.iter().enumerate() {
                let values = self.drawn(&stage.spec.values, &name, copy);
                let built = Stage::build(stage.spec.mechanism.kind, &values, &scenario.classes, copy.weight)
                    .expect("the scenario was checked");
                let stream = stream(self.seed, &name, &copy.owner, "own");
                stages.push(StageSlot {
                    stage: built,
                    stream,
                    class: i as u32,
                    copy: number as u32,
                    passed: (0, 0),
                });
            }
        }

        let mut parts = Parts {
            window,
            classes: vec![ClassCounters::new(scenario.classes.len()); 2 * scenario.links.len()],
            ports,
            lanes,
            stages,
            routes: Vec::new(),
            flows: Vec::with_capacity(total_flows),
            connections: Vec::new(),
            datagrams: Vec::new(),
            profiles: Vec::new(),
            hosts: Vec::new(),
            starts: Vec::with_capacity(total_flows),
            probes: Probes::default(),
        };
        for (g, group) in scenario.groups.iter().enumerate() {
            let per_flow = group.path.iter().any(|hop| match hop.component {
                Component::Link(i) => scenario.links[i].per == Per::Flow,
                Component::Stage(i) => scenario.stages[i].per == Per::Flow,
            });
            let mut profiles = Vec::new();
            let shares = saves_metrics(group);
            for user in 0..group.users as usize {
                let host = parts.hosts.len() as u32;
                let owner = format!("{}/{user}", group.name);
                let mut own = self.host(group, user, &owner);
                if shares || user == 0 {
                    let first = parts.profiles.len();
                    profiles = add_profiles(group, &mut parts.profiles);
                    own.profiles = first..parts.profiles.len();
                }
                parts.hosts.push(own);
                let mut number = 0;
                let mut route = parts.routes.len() as u32;
                for (t, traffic) in group.traffic.iter().enumerate() {
                    let kind = traffic.spec.mechanism.kind;
                    for _ in 0..evenflow_traffic::flows(&traffic.spec.values) {
                        if per_flow || number == 0 {
                            route = parts.routes.len() as u32;
                            for hop in &group.path {
                                let entry = match hop.component {
                                    Component::Link(i) => {
                                        let copy = links[i].of(
                                            scenario.links[i].per,
                                            g,
                                            user,
                                            number,
                                            self.flows[g],
                                        );
                                        (first_port[i] + 2 * copy) as u32 | u32::from(hop.against)
                                    }
                                    Component::Stage(i) => {
                                        let per = scenario.stages[i].per;
                                        let copy = stage_copies[i].of(per, g, user, number, self.flows[g]);
                                        STAGE | (first_stage[i] + copy) as u32
                                    }
                                };
                                parts.routes.push(entry);
                            }
                            self.complete(group, &mut parts.routes, route as usize, &parts.ports);
                        }
                        let of = |purpose: &str| {
                            stream(self.seed, "groups", &format!("{owner}/{number}"), purpose)
                        };
                        let mut values = traffic.spec.values.clone();
                        if let Some(Value::Random(law)) = values.0.get("rate") {
                            let drawn = law.draw(&mut of("rate"), user);
                            values.0.insert("rate", drawn);
                        }
                        if let Some(Value::Random(law)) = values.0.get("size") {
                            let drawn = law.draw(&mut of("size"), user);
                            values.0.insert("size", drawn);
                        }
                        let start =
                            evenflow_traffic::start(&values, &mut of("start"), user * self.flows[g] + number);
                        parts.starts.push(Time::ZERO + start);
                        let (tcp, endpoint) = match evenflow_traffic::application(kind, &values) {
                            Application::Bytes(size) => {
                                let profile = &parts.profiles[profiles[t] as usize];
                                let control =
                                    self.control(profile, traffic, self.weights[g][user], &of, user);
                                parts.connections.push(connection(profile, control, profiles[t], size));
                                (true, parts.connections.len() - 1)
                            }
                            Application::Datagrams(source) => {
                                parts.datagrams.push(Datagrams {
                                    source,
                                    gaps: of("gap"),
                                    sizes: of("packet"),
                                    sent: 0,
                                    received: 0,
                                });
                                (false, parts.datagrams.len() - 1)
                            }
                        };
                        let folded = self
                            .folds(group, parts.ports.get((parts.routes[route as usize] & PORT) as usize));
                        parts.flows.push(Flow {
                            folded,
                            route,
                            back: group.path.len() as u8 + 1,
                            lost: (parts.routes.len() - 1 - route as usize) as u8,
                            class: traffic.class,
                            tcp,
                            tells_clock: tcp
                                && parts.connections[endpoint].sender.control().needs_one_way_delay(),
                            endpoint: endpoint as u32,
                            host,
                        });
                        number += 1;
                    }
                }
            }
        }
        parts.probes = self.probes(&links, &stage_copies, &first_port, &first_stage);
        Engine::new(parts)
    }

    /// The congestion control of a flow of user number `user`; `of` makes the flow's streams.
    fn control(
        &self,
        profile: &Profile,
        traffic: &Traffic,
        weight: f64,
        of: &dyn Fn(&str) -> Stream,
        user: usize,
    ) -> CongestionControl {
        let spec = &traffic.tcp.as_ref().expect("it goes over TCP").congestion_control;
        let drawn = spec.values.is_random().then(|| spec.values.drawn(of, user));
        CongestionControl::build(spec.mechanism.kind, drawn.as_ref().unwrap_or(&spec.values), profile, weight)
            .expect("the scenario was checked")
    }

    /// Adds the way back to the route that begins at `first`: the same links the other way; stages act only on the way
    /// there. Then marks ports that hear from one side alone.
    fn complete(&self, group: &Group, routes: &mut Vec<u32>, first: usize, ports: &[Port]) {
        let there = routes.len();
        routes.push(RECEIVER);
        for i in (first..there).rev() {
            if routes[i] & STAGE == 0 {
                routes.push(routes[i] ^ 1);
            }
        }
        for half in [first..there, there + 1..routes.len()] {
            if let Some(entry) = routes[half].iter_mut().find(|entry| **entry & STAGE == 0) {
                *entry |= KEEP; // the first link keeps the number that was drawn when the packet was sent
            }
        }
        if let [.., before, last] = &mut routes[there + 1..]
            && self.last_is_private(group)
        {
            *last |= KEEP;
            let lazy = in_order(&ports[(*before & PORT) as usize]);
            let open = matches!(ports[(*last & PORT) as usize].queue, Queue::Open);
            if lazy && open && !self.watched() {
                *before |= FOLD;
            }
        }
        routes.push(SENDER);
        routes.push(DISCARD);
        let most = usize::from(u8::MAX);
        assert!(routes.len() - first <= most, "a path has more components than a packet can count");
    }

    /// Whether the last link on the way back to a user hears from one copy of one link alone.
    fn last_is_private(&self, group: &Group) -> bool {
        let mut links = group.path.iter().filter_map(|hop| match hop.component {
            Component::Link(i) => Some(i),
            Component::Stage(_) => None,
        });
        let (Some(last), Some(before)) = (links.next(), links.next()) else { return false };
        let per = |link: usize| self.scenario.links[link].per;
        per(last) == Per::User && per(before) != Per::Flow && before != last && links.all(|link| link != last)
    }

    /// Whether a `[record]` section looks at anything while the run goes on: then nothing may be booked before its time.
    fn watched(&self) -> bool {
        let record = &self.scenario.record;
        !(record.series.is_empty() && record.histograms.is_empty() && record.events.is_empty())
    }

    /// Whether a group's first link may be worked off at launch: nobody else enters it, it is FIFO, and nobody looks at
    /// it while time has not come so far.
    fn folds(&self, group: &Group, port: Option<&Port>) -> bool {
        let private = match group.path.first().map(|hop| hop.component) {
            Some(Component::Link(i)) => self.scenario.links[i].per == Per::User,
            _ => false,
        };
        private && !self.watched() && port.is_some_and(|p| !matches!(p.queue, Queue::Events(_)))
    }

    fn host(&self, group: &Group, user: usize, owner: &str) -> Host {
        let law = match &group.processing {
            // Dealt values go to the users in turn; everything else is drawn for each packet.
            Some(Value::Random(Law::Dealt(values))) => {
                values[user % values.len()].number().map(Sampler::Fixed)
            }
            Some(Value::Random(law)) => Some(law.sampler()),
            Some(fixed) => fixed.number().filter(|x| *x > 0.0).map(Sampler::Fixed),
            None => None,
        };
        let processing = law.map(|law| (law, stream(self.seed, "groups", owner, "processing")));
        Host { processing, left: Time::ZERO, profiles: 0..0 }
    }

    fn drawn(&self, values: &Values, name: &str, copy: &Copy) -> Values {
        if !values.is_random() {
            return values.clone();
        }
        values.drawn(&|purpose| stream(self.seed, name, &copy.owner, purpose), copy.index)
    }

    /// The table by which a scheduler of a link finds the queue of a flow; queues are numbered over all copies.
    fn select(&self, direction: Option<&Direction>, link: usize) -> (Select, Vec<f64>) {
        let queue = direction.and_then(|d| d.queue.as_ref());
        let scheduled = |q: &&QueueSpec| q.scheduler.is_some() || q.rule.mechanism.traits.owns_queues;
        let Some(queue) = queue.filter(scheduled) else { return (Select::One, Vec::new()) };
        if queue.scheduler_per == SchedulerPer::Class {
            return (Select::Class, vec![1.0; self.scenario.classes.len()]);
        }
        if queue.is_hashed() {
            return (Select::Flow(self.keys(queue.scheduler_per)), Vec::new());
        }
        let mut table = Vec::new();
        let mut weights = Vec::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            let crosses = group.path.iter().any(|hop| hop.component == Component::Link(link));
            for user in 0..group.users as usize {
                for flow in 0..self.flows[g] {
                    let own = crosses && (flow == 0 || queue.scheduler_per == SchedulerPer::Flow);
                    if own {
                        weights.push(self.weights[g][user]);
                    }
                    table.push(weights.len().saturating_sub(1) as u32);
                }
            }
        }
        (Select::Flow(Arc::from(table)), weights)
    }

    /// What a hash tells flows or users apart by: their names, so that nobody else decides on whom they meet.
    fn keys(&self, per: SchedulerPer) -> Arc<[u32]> {
        let mut keys = Vec::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            for user in 0..group.users as usize {
                let owner = format!("{}/{user}", group.name);
                keys.extend((0..self.flows[g]).map(|flow| match per {
                    SchedulerPer::Flow => key_of(&format!("{owner}/{flow}")) as u32,
                    _ => key_of(&owner) as u32,
                }));
            }
        }
        Arc::from(keys)
    }

    fn add_ports(
        &self,
        ports: &mut Vec<Port>,
        link: usize,
        number: usize,
        copy: &Copy,
        selects: &[(Select, Vec<f64>); 2],
    ) {
        let spec = &self.scenario.links[link];
        let name = format!("links.{}", spec.name);
        let of = |purpose: &str| stream(self.seed, &name, &copy.owner, purpose);
        let physical = |d: &Direction, prefix: &str| {
            let rate = match &d.rate {
                None => None,
                Some(RateSpec::Constant(value)) => {
                    let rate = draw(value, || of(&format!("{prefix}rate")), copy.index);
                    // A normal or exponential draw may come near zero.
                    Some(Rate(rate.number().unwrap_or(1.0).max(1.0)))
                }
                Some(RateSpec::Steps(steps)) => steps.first().map(|s| s.1),
            };
            let delay = draw(&d.delay, || of(&format!("{prefix}delay")), copy.index);
            (rate, Duration::from_seconds(delay.number().unwrap_or(0.0)))
        };
        let (rate, delay) = physical(&spec.forward, "");
        let mut add = |direction: usize, rate: Option<Rate>, delay: Duration, spec: Option<&Direction>| {
            let facts = LinkFacts { rate, delay };
            let queue = match spec {
                Some(d) => self.queue(d, facts, &name, copy, direction, link, &selects[direction]),
                None => Queue::Open,
            };
            ports.push(Port {
                free_at: Fine::default(),
                byte_time: rate.map_or(Fine::default(), Rate::byte_time),
                delay,
                class: (2 * link + direction) as u32,
                copy: number as u32,
                queue,
                counters: PortCounters::default(),
            });
        };
        add(0, rate, delay, Some(&spec.forward));
        match &spec.reverse {
            None => {
                // A rate that changes does so in both directions; and loss may be of both.
                let back = Direction { queue: None, ..spec.forward.clone() };
                let own = matches!(back.rate, Some(RateSpec::Steps(_)))
                    || self.loses(link, 1)
                    || self.jitter(link, 1).is_some();
                add(1, rate, delay, own.then_some(&back));
            }
            Some(reverse) => {
                let (rate, delay) = physical(reverse, "reverse.");
                add(1, rate, delay, Some(reverse));
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what decides on a queue is many things, gathered in one place"
    )]
    fn queue(
        &self,
        direction: &Direction,
        link_facts: LinkFacts,
        name: &str,
        copy: &Copy,
        way: usize,
        link: usize,
        select: &(Select, Vec<f64>),
    ) -> Queue {
        let steps = match &direction.rate {
            Some(RateSpec::Steps(steps)) => steps.iter().skip(1).rev().copied().collect(),
            _ => Vec::new(),
        };
        let purpose = |what: &str| format!("{}{what}", if way == 1 { "reverse." } else { "" });
        let own = |what: &str| stream(self.seed, name, &copy.owner, &purpose(what));
        let loss =
            self.scenario.links[link].loss.as_ref().filter(|_| self.loses(link, way)).map(|loss| Loss {
                loses: match &loss.which {
                    Lost::Random(probability) => Loses::Random(
                        draw(probability, || own("loss.probability"), copy.index).number().unwrap_or(0.0),
                        own("loss"),
                    ),
                    Lost::Every(nth) => Loses::Every(*nth, 0),
                },
                from: Time(loss.from.0),
                until: loss.until.map_or(Time::NEVER, |until| Time(until.0)),
            });
        let jitter = self.jitter(link, way).map(|jitter| Jitter {
            mean: link_facts.delay.seconds(),
            deviation: draw(&jitter.deviation, || own("jitter.normal"), copy.index).number().unwrap_or(0.0),
            last: jitter.keeps_order.then_some(Time::ZERO),
            stream: own("jitter"),
        });
        let free = steps.is_empty() && loss.is_none() && jitter.is_none() && !self.options.event_path;
        let (rule, limit, spec) = match &direction.queue {
            None if free && (way == 1 || !self.observed(link)) => return Queue::Open,
            None => {
                let kind = evenflow_queue::droptail::TABLE.kind;
                (
                    Admission::build(kind, &Values::default(), link_facts).expect("it has no parameters"),
                    Limit::None,
                    None,
                )
            }
            Some(q) => {
                let values = self.drawn(&q.rule.values, name, copy);
                let rule = Admission::build(q.rule.mechanism.kind, &values, link_facts)
                    .expect("the scenario was checked");
                let limit = q.limit.as_ref().map(|l| draw(l, || own("limit"), copy.index));
                let limit = limit.or_else(|| {
                    let spec = q.scheduler.as_ref()?;
                    let values = spec.values.drawn(&|what| own(&format!("scheduler.{what}")), copy.index);
                    implied_limit(spec.mechanism.kind, &values)
                });
                (rule, Limit::new(limit.as_ref()), Some(q))
            }
        };
        let wants_lengths = way == 0
            && self.scenario.record.histograms.iter().any(|&(l, h)| l == link && h == Histogram::Packets);
        let impairments = Impairments { loss, jitter };
        let lengths = wants_lengths.then(Lengths::default);
        let scheduler = spec.and_then(|q| match q.rule.mechanism.traits.owns_queues {
            true => Some(&q.rule),
            false => q.scheduler.as_ref(),
        });
        let decides_at_arrival = !rule.sees_dequeue() && !rule.watches_departures();
        let lazy = scheduler.is_none() && steps.is_empty() && decides_at_arrival;
        let (plain, impaired) = (rule.is_plain() && !impairments.any(), impairments.any());
        let gate = Gate::new(rule, limit, own("queue"), link_facts.rate);
        if lazy && !self.options.event_path {
            let waiting = VecDeque::new();
            return Queue::Fifo(Box::new(Fifo { gate, impairments, impaired, plain, lengths, waiting }));
        }
        let (scheduler, select) = match (scheduler, spec) {
            (Some(spec), Some(q)) => {
                let values = match q.rule.mechanism.traits.owns_queues {
                    true => self.drawn(&spec.values, name, copy),
                    false => spec.values.drawn(&|what| own(&format!("scheduler.{what}")), copy.index),
                };
                (self.scheduler(spec, &values, q.scheduler_per, link, &select.1, &own), select.0.clone())
            }
            _ => (Scheduler::Fifo(Box::default()), Select::One),
        };
        let qdisc = Qdisc::new(gate, scheduler);
        Queue::Events(Box::new(Events { impairments, lengths, steps, ..Events::new(qdisc, select) }))
    }

    /// How a link's delay varies in one of its directions.
    fn jitter(&self, link: usize, way: usize) -> Option<&JitterSpec> {
        self.scenario.links[link].jitter.as_ref().filter(|jitter| jitter.ways.contains(&way))
    }

    /// Whether a link loses packets at random in one of its directions.
    fn loses(&self, link: usize, way: usize) -> bool {
        self.scenario.links[link].loss.as_ref().is_some_and(|loss| loss.ways.contains(&way))
    }

    /// The scheduler of a link's copy; `own` makes the copy's streams.
    fn scheduler(
        &self,
        spec: &Spec,
        values: &Values,
        per: SchedulerPer,
        link: usize,
        weights: &[f64],
        own: &dyn Fn(&str) -> Stream,
    ) -> Scheduler {
        let mut owners: Vec<Owner> =
            weights.iter().map(|weight| Owner { weight: *weight, each: None }).collect();
        if let Some(Value::Table(each)) = spec.values.get("each") {
            let of = |owner: &str, what: &str| own(&format!("scheduler.each.{what}/{owner}"));
            for (place, (owner, index)) in owners.iter_mut().zip(self.owners(link, per)) {
                place.each = Some(each.drawn(&|what| of(&owner, what), index));
            }
        }
        let served = Served {
            classes: &self.scenario.classes,
            owners: &owners,
            keys: if spec.mechanism.traits.tree { self.keys(SchedulerPer::Flow) } else { Arc::from([]) },
            hash: &own("hash"),
        };
        Scheduler::build(spec.mechanism.kind, values, &served).expect("the scenario was checked")
    }

    /// Whose the queues of a scheduler by user or flow are, in the order of their numbers: names, and numbers in their groups.
    fn owners(&self, link: usize, per: SchedulerPer) -> Vec<(String, usize)> {
        let mut owners = Vec::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            if !group.path.iter().any(|hop| hop.component == Component::Link(link)) {
                continue;
            }
            for user in 0..group.users as usize {
                match per {
                    SchedulerPer::Flow => owners.extend(
                        (0..self.flows[g]).map(|flow| (format!("{}/{user}/{flow}", group.name), user)),
                    ),
                    _ => owners.push((format!("{}/{user}", group.name), user)),
                }
            }
        }
        owners
    }

    fn probes(
        &self,
        links: &[Copies],
        stages: &[Copies],
        first_port: &[usize],
        first_stage: &[usize],
    ) -> Probes {
        let record = &self.scenario.record;
        let mut probes = Probes::default();
        for series in &record.series {
            for (name, source, packet) in self.sources(&series.target, links, stages, first_port, first_stage)
            {
                let column = probes.series.len();
                probes.series.push(Series { name, ..Series::default() });
                probes.watches_links |= matches!(source, Source::Port(..));
                match series.every {
                    Every::Interval(every) => {
                        let next = Time::ZERO + every;
                        probes.timed.push(Timed { source, every, next, before: 0.0, column });
                    }
                    Every::Packet => match source {
                        Source::Queue(_, class, name) => {
                            probes.port_series.push((packet.0, packet.1, class, name, column));
                        }
                        Source::Stage(_, name) => {
                            probes.stage_series.push((packet.0, packet.1, name, column))
                        }
                        Source::Logged(flow, what) => {
                            probes.flow_series.push((flow, what, column, f64::NAN));
                        }
                        _ => {}
                    },
                }
            }
        }
        for &(link, what) in &record.histograms {
            if what == Histogram::AtDrop {
                probes.at_drop.push((2 * link as u32, Vec::new()));
            }
        }
        for &kind in &record.events {
            probes.lists.push((kind, Vec::new()));
        }
        let lists = |kind| record.events.contains(&kind);
        probes.watches_drops = !probes.at_drop.is_empty() || lists(EventKind::Drop);
        probes.watches_ports =
            !probes.port_series.is_empty() || lists(EventKind::Mark) || lists(EventKind::Arrival);
        probes.watches_stages = !probes.stage_series.is_empty();
        probes
    }

    /// Whether a `[record]` section looks at the queue of a link, which must then exist as one.
    fn observed(&self, link: usize) -> bool {
        let record = &self.scenario.record;
        record.histograms.iter().any(|h| h.0 == link)
            || record.series.iter().any(|s| match s.target {
                Target::Queue { link: l, .. } | Target::Class { link: l, .. } => l == link,
                _ => false,
            })
            || record.events.contains(&EventKind::Arrival)
    }

    /// The expanded sources of a series: name, what to read, and (class, copy) for series by packet.
    fn sources(
        &self,
        target: &Target,
        links: &[Copies],
        stages: &[Copies],
        first_port: &[usize],
        first_stage: &[usize],
    ) -> Vec<(String, Source, (u32, u32))> {
        let scenario = self.scenario;
        let numbers = |copies: Which, count: usize| match copies {
            Which::All => (0..count).collect::<Vec<_>>(),
            Which::One(n) => vec![n as usize],
        };
        let index = |per: Per, n: usize| if per == Per::Shared { String::new() } else { format!("[{n}]") };
        match *target {
            Target::Queue { link, copies, observable } => {
                let spec = &scenario.links[link];
                numbers(copies, links[link].list.len())
                    .into_iter()
                    .map(|n| {
                        let name = format!("links.{}{}.queue.{observable}", spec.name, index(spec.per, n));
                        let source = queue_source(first_port[link] + 2 * n, None, observable);
                        (name, source, (2 * link as u32, n as u32))
                    })
                    .collect()
            }
            Target::Class { link, copies, class, observable } => {
                let spec = &scenario.links[link];
                let tree = spec.forward.queue.as_ref().and_then(|q| q.scheduler.as_ref());
                let names: Vec<&str> = tree.into_iter().flat_map(|s| htb::class_names(&s.values)).collect();
                let classes: Vec<(String, u32)> = match class {
                    TreeClass::Named(n) => vec![(format!("classes.{}", names[n as usize]), n)],
                    TreeClass::Leaves(leaves) => {
                        numbers(leaves, self.owners(link, spec.scheduler_per()).len())
                            .into_iter()
                            .map(|n| (format!("leaves[{n}]"), (names.len() + n) as u32))
                            .collect()
                    }
                };
                let mut out = Vec::new();
                for n in numbers(copies, links[link].list.len()) {
                    for (class, number) in &classes {
                        let name =
                            format!("links.{}{}.queue.{class}.{observable}", spec.name, index(spec.per, n));
                        let source = queue_source(first_port[link] + 2 * n, Some(*number), observable);
                        out.push((name, source, (2 * link as u32, n as u32)));
                    }
                }
                out
            }
            Target::Link { link, copies, counter } => {
                let spec = &scenario.links[link];
                numbers(copies, links[link].list.len())
                    .into_iter()
                    .map(|n| {
                        let name = format!("links.{}{}.{counter}", spec.name, index(spec.per, n));
                        let port = first_port[link] + 2 * n;
                        (name, Source::Port(port, counter), (2 * link as u32, n as u32))
                    })
                    .collect()
            }
            Target::Stage { stage, copies, observable } => {
                let spec = &scenario.stages[stage];
                numbers(copies, stages[stage].list.len())
                    .into_iter()
                    .map(|n| {
                        let name = format!("stages.{}{}.{observable}", spec.name, index(spec.per, n));
                        (name, Source::Stage(first_stage[stage] + n, observable), (stage as u32, n as u32))
                    })
                    .collect()
            }
            Target::Flow { group, users, flows, observable } => {
                let spec = &scenario.groups[group];
                let mut out = Vec::new();
                for user in numbers(users, spec.users as usize) {
                    for flow in numbers(flows, self.flows[group]) {
                        let id = self.first_flow[group] + user * self.flows[group] + flow;
                        let name = format!("groups.{}.users[{user}].flows[{flow}].{observable}", spec.name);
                        let source = match observable {
                            "window" => Source::Window(id),
                            "ssthresh" => Source::Threshold(id),
                            "probed_window" => Source::Logged(id, Log::Window),
                            "probed_ssthresh" => Source::Logged(id, Log::Threshold),
                            _ => Source::Received(id),
                        };
                        out.push((name, source, (0, 0)));
                    }
                }
                out
            }
        }
    }
}

/// What a series reads of a port's queue, or of a class of its scheduler.
fn queue_source(port: usize, class: Option<u32>, observable: &'static str) -> Source {
    if is_counter(observable) {
        Source::Count(port, class, observable)
    } else {
        Source::Queue(port, class, observable)
    }
}

fn connection(profile: &Profile, control: CongestionControl, index: u32, size: Option<u64>) -> Connection {
    Connection {
        sender: Sender::new(profile, control, size),
        receiver: Receiver::new(profile),
        profile: index,
        sender_wake: Time::NEVER,
        receiver_wake: Time::NEVER,
        meter: WindowMeter::default(),
    }
}
