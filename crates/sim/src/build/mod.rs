//! From a scenario to a network at rest: copies, draws, queues, routes, flows, probes.

mod applications;
mod copies;
mod exposure;
mod flows;
mod memory;
mod probes;
mod queues;
mod routes;

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenflow_base::Time;
use evenflow_base::schema::Values;
use evenflow_scenario::model::{Component, Group, Scenario, Traffic};
use evenflow_stage::{Owner, Stage};

use crate::Options;
use crate::engine::Engine;
use crate::measure::{FlowCounters, SideCounters, StageCounters, Window};
use crate::network::{Network, StageSlot};
use crate::senders::SenderSums;
use crate::slots::Slots;
use crate::transfers::Transfers;
use copies::{Copies, Copy, Place, Places, draw, stream};

pub use flows::flows_per_user;
pub use memory::memory_bytes;

/// What a group's transfers are counted in; `None`: its traffic knows none.
fn transfers(group: &Group) -> Option<Transfers> {
    group.traffic.iter().any(Traffic::opens).then(|| Transfers::new(group.users as usize))
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
}

/// Builds the network; `None` where `stop` was raised meanwhile.
pub fn build<'a>(
    scenario: &Scenario,
    seed: u64,
    options: Options,
    stop: &'a AtomicBool,
) -> Option<Engine<'a>> {
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
    let flow_keys = OnceCell::new();
    let builder = Builder { scenario, seed, options, flows, weights, first_flow, flow_keys, stop };
    builder.build(total)
}

impl<'a> Builder<'a, '_> {
    /// Nobody wants the network any more: what is built need not be whole.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn build(&self, total_flows: usize) -> Option<Engine<'a>> {
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

        let (ports, first_port, lanes) = self.ports(&links);
        let (stages, first_stage) = self.stages(&stage_copies);
        if self.is_stopped() {
            return None;
        }
        let places = Places { links, stages: stage_copies, first_port, first_stage };
        let mut net = Network {
            window,
            sides: vec![SideCounters::new(scenario.classes.len()); 2 * scenario.links.len()],
            ports,
            lanes,
            stages,
            stage_counters: scenario
                .stages
                .iter()
                .map(|stage| StageCounters { name: stage.name.clone(), ..StageCounters::default() })
                .collect(),
            routes: Vec::new(),
            own_ways: Vec::new(),
            flows: Vec::with_capacity(total_flows),
            connections: Vec::new(),
            datagrams: Vec::new(),
            profiles: Vec::new(),
            hosts: Vec::new(),
            starts: Vec::with_capacity(total_flows),
            applications: Vec::new(),
            slots: Slots::default(),
            live: Vec::new(),
            arrivals: Vec::new(),
            transfers: scenario.groups.iter().map(transfers).collect(),
            seed: self.seed,
            group_flows: self
                .first_flow
                .iter()
                .zip(&scenario.groups)
                .zip(&self.flows)
                .map(|((first, group), flows)| *first..first + group.users as usize * flows)
                .collect(),
            served_before: Vec::new(),
            senders_before: vec![SenderSums::default(); scenario.groups.len()],
            conex: exposure::books(scenario),
            counters: vec![FlowCounters::default(); total_flows],
        };
        if scenario.stages.iter().any(|stage| stage.spec.mechanism.traits.sends) {
            let first = |group| Place { group, user: 0, flow: 0 };
            let groups = scenario.groups.iter().enumerate();
            net.own_ways = groups.flat_map(|(g, group)| self.own_ways(group, first(g), &places)).collect();
        }
        self.add_users(&mut net, &places)?;
        let probes = self.probes(&places);
        Some(Engine::new(net, probes, self.stop))
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
