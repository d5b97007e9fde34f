//! From a scenario to a network at rest: copies, draws, queues, routes, flows, probes.

mod applications;
mod copies;
mod exposure;
mod flows;
pub mod fold;
mod probes;
mod queues;
mod routes;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenflow_base::Time;
use evenflow_base::schema::Values;
use evenflow_scenario::model::{Component, Group, Histogram, Queue, Scenario, Traffic};
use evenflow_stage::{Owner, Stage};

use crate::Options;
use crate::engine::Engine;
use crate::faults::RunError;
use crate::measure::{Delays, Durations, Parts, SideCounters, StageCounters, Window};
use crate::memory::{Limit, Usage};
use crate::network::{Network, StageSlot};
use crate::probe::Probes;
use crate::senders::SenderSums;
use crate::slots::{Slots, flows_per_user};
use crate::transfers::Transfers;
use copies::{Copies, Copy, Place, Places, draw, stream};

/// Counters of a group's transfers; `None`: its traffic has none.
fn transfers(group: &Group) -> Option<Transfers> {
    group.traffic.iter().any(Traffic::opens).then(|| Transfers::new(group.users as usize))
}

/// Counters by link and direction.
fn sides(scenario: &Scenario) -> Vec<SideCounters> {
    let asks = |side: usize| {
        let asks = |h: &Histogram| matches!(*h, Histogram::ClassQueueDelay(link, _) if 2 * link == side);
        scenario.record.histograms.iter().any(asks)
    };
    let new = |side| SideCounters::new(scenario.classes.len(), Time(scenario.warmup.0), asks(side));
    (0..2 * scenario.links.len()).map(new).collect()
}

/// Delays by group.
fn delays(scenario: &Scenario) -> Vec<Delays> {
    let mut first_host = 0;
    let of_group = |(g, group): (usize, &Group)| {
        let asked = &scenario.record.histograms;
        let by_user = asked.contains(&Histogram::UsersDelay(g));
        let by_class = asked.iter().any(|h| matches!(h, Histogram::ClassDelay(group, _) if *group == g));
        let list = |asked, count| vec![Durations::default(); if asked { count } else { 0 }];
        let parts = || Parts {
            users: list(by_user, group.users as usize),
            classes: list(by_class, scenario.classes.len()),
            first_host,
        };
        let parts = (by_user || by_class).then(|| Box::new(parts()));
        first_host += group.users;
        Delays { parts, ..Delays::default() }
    };
    scenario.groups.iter().enumerate().map(of_group).collect()
}

/// Whether some mechanism reads or writes labels of packets.
fn uses_labels(scenario: &Scenario) -> bool {
    fn labels(queue: &Queue) -> bool {
        let specs = [Some(&queue.rule), queue.scheduler.as_ref()];
        specs.into_iter().flatten().any(|spec| spec.mechanism.traits.labels)
            || queue.changes.iter().any(|(_, later)| labels(later))
    }
    let ways = scenario.links.iter().flat_map(|link| [Some(&link.forward), link.reverse.as_ref()]);
    let mut queues = ways.flatten().filter_map(|way| way.queue.as_ref());
    scenario.stages.iter().any(|stage| stage.spec.mechanism.traits.labels) || queues.any(labels)
}

struct Builder<'a, 'b> {
    scenario: &'b Scenario,
    stop: &'a AtomicBool,
    seed: u64,
    options: Options,
    flows: Vec<usize>,
    weights: Vec<Vec<f64>>,
    /// First flow of each group.
    first_flow: Vec<usize>,
    /// By flow: what trees tell flows apart by, made when the first copy of one wants it.
    flow_keys: OnceCell<Arc<[u32]>>,
    limit: Limit,
    /// Memory of ports and stages so far.
    usage: RefCell<Usage>,
    /// They use more than they may.
    over: Cell<bool>,
}

/// Builds the network; where `stop` was raised meanwhile or the memory does not suffice, why, and what there is of it.
pub fn build<'a>(
    scenario: &Scenario,
    seed: u64,
    options: Options,
    stop: &'a AtomicBool,
) -> Result<Engine<'a>, (RunError, Box<Network>)> {
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
                .map_while(|user| {
                    if stop.load(Ordering::Relaxed) {
                        return None;
                    }
                    let of = || stream(seed, "groups", &format!("{}/{user}", group.name), "weight");
                    Some(draw(&group.weight, of, user).number().unwrap_or(1.0))
                })
                .collect()
        })
        .collect();
    let flow_keys = OnceCell::new();
    let limit = Limit::new(scenario, options.memory);
    let (usage, over) = (RefCell::new(Usage::new(scenario)), Cell::new(false));
    let builder =
        Builder { scenario, seed, options, flows, weights, first_flow, flow_keys, stop, limit, usage, over };
    let mut net = Box::new(builder.nothing());
    match builder.fill(&mut net, total) {
        Some(probes) => Ok(Engine::new(*net, probes, &scenario.classes, stop, options.eager, builder.limit)),
        None if builder.over.get() => Err((builder.limit.error(&builder.usage.borrow(), Time::ZERO), net)),
        None => Err((RunError::Interrupted, net)),
    }
}

impl Builder<'_, '_> {
    /// The run was stopped: the network may stay incomplete.
    fn is_stopped(&self) -> bool {
        #[cfg(test)]
        tests::LOOKS.set(tests::LOOKS.get() + 1);
        self.over.get() || self.stop.load(Ordering::Relaxed)
    }

    /// Counts what a copy of a component uses.
    fn count(&self, component: Component, bytes: u64) {
        let mut usage = self.usage.borrow_mut();
        usage.add(component, bytes);
        self.over.set(!self.limit.holds(usage.total()));
    }

    /// A network without anything in it.
    fn nothing(&self) -> Network {
        let scenario = self.scenario;
        let window = Window { from: Time(scenario.warmup.0), to: Time(scenario.duration.0) };
        Network {
            window,
            sides: sides(scenario),
            ports: Vec::new(),
            lanes: Vec::new(),
            stages: Vec::new(),
            stage_counters: scenario.stages.iter().map(|stage| StageCounters::new(&stage.name)).collect(),
            routes: Vec::new(),
            own_ways: Vec::new(),
            flows: Vec::new(),
            connections: Vec::new(),
            datagrams: Vec::new(),
            profiles: Vec::new(),
            hosts: Vec::new(),
            starts: Vec::new(),
            applications: Vec::new(),
            slots: Slots::default(),
            live: Vec::new(),
            arrivals: Vec::new(),
            transfers: scenario.groups.iter().map(transfers).collect(),
            seed: self.seed,
            served_before: Vec::new(),
            senders_before: vec![SenderSums::default(); scenario.groups.len()],
            conex: exposure::books(scenario),
            counters: Vec::new(),
            delays: delays(scenario),
            labels: uses_labels(scenario),
        }
    }

    /// Puts everything into it; `None` where that was stopped.
    fn fill(&self, net: &mut Network, total_flows: usize) -> Option<Probes> {
        let scenario = self.scenario;
        let crossing = self.crossing();
        let copies = |per, component| {
            let groups = crossing.get(&component).map_or(&[][..], Vec::as_slice);
            Copies::new(per, groups, &scenario.groups, &self.flows, &self.weights, self.stop)
        };
        let links: Vec<Copies> =
            scenario.links.iter().enumerate().map(|(i, l)| copies(l.per, Component::Link(i))).collect();
        let stage_copies: Vec<Copies> =
            scenario.stages.iter().enumerate().map(|(i, s)| copies(s.per, Component::Stage(i))).collect();
        if self.is_stopped() {
            return None;
        }
        let (ports, first_port, lanes) = self.ports(&links);
        (net.ports, net.lanes) = (ports, lanes);
        let (stages, first_stage) = self.stages(&stage_copies);
        net.stages = stages;
        if self.is_stopped() {
            return None;
        }
        net.flows.reserve_exact(total_flows);
        net.starts.reserve_exact(total_flows);
        net.counters.reserve_exact(total_flows);
        let places = Places { links, stages: stage_copies, first_port, first_stage };
        if scenario.stages.iter().any(|stage| stage.spec.mechanism.traits.sends) {
            let first = |group| Place { group, user: 0, flow: 0 };
            let groups = scenario.groups.iter().enumerate();
            net.own_ways = groups.flat_map(|(g, group)| self.own_ways(group, first(g), &places)).collect();
        }
        self.add_users(net, &places)?;
        let mut probes = self.probes(&places);
        probes.watches_senders |= net.applications.iter().any(|hosted| hosted.adapts);
        (!self.is_stopped()).then_some(probes)
    }

    /// By component, the groups that meet it.
    fn crossing(&self) -> BTreeMap<Component, Vec<usize>> {
        let mut crossing: BTreeMap<Component, Vec<usize>> = BTreeMap::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            for hop in &group.path {
                crossing.entry(hop.component).or_default().push(g);
            }
        }
        crossing
    }

    /// All stages, and the first copy of each.
    fn stages(&self, copies: &[Copies]) -> (Vec<StageSlot>, Vec<usize>) {
        let scenario = self.scenario;
        let mut stages = Vec::new();
        let mut first_stage = Vec::new();
        for (i, stage) in scenario.stages.iter().enumerate() {
            first_stage.push(stages.len());
            let name = format!("stages.{}", stage.name);
            let round_trips =
                evenflow_stage::needs_round_trips(stage.spec.mechanism.kind, &stage.spec.values);
            for (number, copy) in copies[i].list.iter().enumerate() {
                if self.is_stopped() {
                    break;
                }
                let owner = Owner {
                    classes: &scenario.classes,
                    weight: copy.weight,
                    stage: i as u16,
                    peer: stage.peer.map(|peer| peer as u16),
                    copy: number as u32,
                    index: stages.len() as u32,
                };
                let values = self.drawn(&stage.spec.values, &name, copy);
                let built = Stage::build(stage.spec.mechanism.kind, &values, owner)
                    .expect("the scenario was checked");
                let stream = stream(self.seed, &name, &copy.owner, "own");
                self.count(Component::Stage(i), size_of::<StageSlot>() as u64 + built.heap_bytes());
                stages.push(StageSlot {
                    stage: built,
                    stream,
                    spec: i as u32,
                    copy: number as u32,
                    round_trips,
                    group: copy.group as u32,
                    home: u32::MAX,
                    held: 0,
                    wake: Time::NEVER,
                    called: (Time::NEVER, 0),
                    passed: [(0, 0); 2],
                    controls: Vec::new(),
                });
            }
        }
        (stages, first_stage)
    }

    fn drawn(&self, values: &Values, name: &str, copy: &Copy) -> Values {
        if !values.is_random() {
            return values.clone();
        }
        values.drawn(&|purpose| stream(self.seed, name, &copy.owner, purpose), copy.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        /// How often the builder looked at the stop flag.
        pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    fn engine<'a>(text: &str, stop: &'a AtomicBool) -> (Engine<'a>, Scenario) {
        let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
        let engine = build(&scenario, 1, Options::default(), stop).expect("nobody stops it");
        (engine, scenario)
    }

    /// A user may have millions of flows, a link a copy for each, a scheduler a queue: the flag is looked at for every one.
    #[test]
    fn the_flag_is_looked_at_for_every_flow_that_is_built() {
        let stop = AtomicBool::new(false);
        let looks = |flows: usize, link: &str| {
            let text = format!(
                "duration = \"1 s\"\nlinks.l = {{ rate = \"10 Mbit/s\"{link} }}\n\
                 groups.g = {{ users = 2, path = [\"l\"], traffic = {{ kind = \"upload\", flows = {flows} }} }}\n"
            );
            LOOKS.set(0);
            let (engine, _) = engine(&text, &stop);
            assert_eq!((engine.net.flows.len(), engine.net.counters.len()), (2 * flows, 2 * flows));
            LOOKS.get()
        };
        for link in ["", r#", per = "flow""#, r#", queue = { scheduler = { kind = "drr", per = "flow" } }"#] {
            assert!(looks(300, link) - looks(100, link) >= 400, "{link}");
        }
    }

    /// Nor is a record made whole that nobody waits for.
    #[test]
    fn a_record_is_given_up() {
        let stop = AtomicBool::new(false);
        let text = r#"
duration = "1 s"
links.l = { rate = "10 Mbit/s", delay = "5 ms" }
groups.g = { users = 3, path = ["l"], traffic = { kind = "bulk" } }
"#;
        let (mut engine, scenario) = engine(text, &stop);
        engine.run(None).expect("nobody stops it");
        assert!(crate::record::record(&engine, &scenario, 1).is_some());
        stop.store(true, Ordering::Relaxed);
        assert!(crate::record::record(&engine, &scenario, 1).is_none());
    }
}
