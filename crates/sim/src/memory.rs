//! The memory of a run: a lower bound before it, and what its components report while it goes on.

use evenflow_base::{Heap, Time};
use evenflow_scenario::model::{Component, Copies, Every, Group, Per, Scenario, Subject, Target};

use crate::faults::RunError;
use crate::hosting::Hosted;
use crate::measure::{Delays, FlowCounters};
use crate::network::{Flow, Host, Network, StageSlot};
use crate::port::Port;
use crate::probe::Probes;
use crate::slots::flows_per_user;
use crate::tcp::Tcp;

/// Maximum bytes that an event or a sent packet adds: connections, packets in flight and their scoreboards,
/// values of series.
const STEP: u64 = 1 << 10;

/// Minimum number of events and sent packets between two sums.
const LEAST_BETWEEN: u64 = 1 << 12;

/// A value of a series with its instant.
const SAMPLE: u64 = 16;

/// A lower bound of a run's memory, in bytes: users, flows, copies of links and stages, and series at intervals.
pub fn memory_bytes(scenario: &Scenario) -> u64 {
    let mut bytes = series_bytes(scenario);
    for group in &scenario.groups {
        let (users, flows) = (u64::from(group.users), flows_per_user(group) as u64);
        let connections = group.traffic.iter().filter(|t| t.tcp.is_some() && !t.opens());
        let connections: u64 = connections.map(|traffic| u64::from(traffic.flows())).sum();
        let applications = group.traffic.iter().filter(|traffic| traffic.opens()).count();
        let of_user = flows * (size_of::<Flow>() + size_of::<FlowCounters>() + size_of::<Time>()) as u64
            + connections * size_of::<Tcp>() as u64
            + (size_of::<Host>() + applications * size_of::<Hosted>()) as u64;
        bytes = bytes.saturating_add(users.saturating_mul(of_user));
        for hop in &group.path {
            let (per, copy) = match hop.component {
                Component::Link(i) => (scenario.links[i].per, 2 * size_of::<Port>()),
                Component::Stage(i) => (scenario.stages[i].per, size_of::<StageSlot>()),
            };
            bytes = bytes.saturating_add(copies(per, group).saturating_mul(copy as u64));
        }
    }
    bytes
}

/// Copies of a component that the flows of a group cross; one that is shared is not counted.
fn copies(per: Per, group: &Group) -> u64 {
    let users = u64::from(group.users);
    match per {
        Per::Shared => 0,
        Per::Group => 1,
        Per::User => users,
        Per::Users(n) => users.div_ceil(u64::from(n)),
        Per::Flow => users * flows_per_user(group) as u64,
    }
}

/// The series that are taken at intervals.
fn series_bytes(scenario: &Scenario) -> u64 {
    let all = |per: Per, component: Component| {
        let crosses = |group: &&Group| group.path.iter().any(|hop| hop.component == component);
        scenario.groups.iter().filter(crosses).map(|group| copies(per, group)).sum::<u64>().max(1)
    };
    let mut bytes = 0.0;
    for series in &scenario.record.series {
        let Every::Interval(every) = series.every else { continue };
        let Target { of, copies: which, inner, .. } = series.target;
        let number = |which: Copies, all: u64| if which == Copies::All { all } else { 1 };
        let columns = match of {
            Subject::Flow(group) => {
                let group = &scenario.groups[group];
                number(which, group.users.into()) * number(inner, flows_per_user(group) as u64)
            }
            of => of.component().map_or(1, |of| number(which, all(scenario.per(of), of))),
        };
        bytes += columns as f64 * (scenario.duration.seconds() / every.seconds()) * SAMPLE as f64;
    }
    bytes as u64
}

/// Memory of a run by consumer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Bytes by link, by stage, by group.
    links: Vec<u64>,
    stages: Vec<u64>,
    groups: Vec<u64>,
    /// Tables of users and flows, timers, packets' options.
    pub(crate) tables: u64,
    /// Series, histograms, lists, the trace.
    pub(crate) record: u64,
}

impl Usage {
    /// Nothing yet.
    pub(crate) fn new(scenario: &Scenario) -> Usage {
        Usage::of(scenario.links.len(), scenario.stages.len(), scenario.groups.len())
    }

    fn of(links: usize, stages: usize, groups: usize) -> Usage {
        Usage {
            links: vec![0; links],
            stages: vec![0; stages],
            groups: vec![0; groups],
            tables: 0,
            record: 0,
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.all().sum()
    }

    /// Adds what a component uses.
    pub(crate) fn add(&mut self, component: Component, bytes: u64) {
        match component {
            Component::Link(i) => self.links[i] += bytes,
            Component::Stage(i) => self.stages[i] += bytes,
        }
    }

    /// All consumers, in the order of [`Limit::names`].
    fn all(&self) -> impl Iterator<Item = u64> {
        let lists = [&self.links, &self.stages, &self.groups];
        lists.into_iter().flatten().copied().chain([self.tables, self.record])
    }
}

/// The limit of a run's memory, and when its memory is summed up next.
#[derive(Debug)]
pub struct Limit {
    most: u64,
    /// Maximum that one event or packet adds.
    step: u64,
    /// Events and sent packets before the next sum.
    pub next: u64,
    /// Names of consumers.
    names: Vec<String>,
}

impl Limit {
    /// A run of `scenario` may use `most` bytes.
    pub fn new(scenario: &Scenario, most: Option<u64>) -> Limit {
        let links = scenario.links.iter().map(|link| format!("links.{}", link.name));
        let stages = scenario.stages.iter().map(|stage| format!("stages.{}", stage.name));
        let groups = scenario.groups.iter().map(|group| format!("groups.{}", group.name));
        let rest = ["tables of flows", "record"].map(str::to_owned);
        let names = links.chain(stages).chain(groups).chain(rest).collect();
        let next = if most.is_some() { 0 } else { u64::MAX };
        Limit { most: most.unwrap_or(u64::MAX), step: STEP, next, names }
    }

    /// Allows one event to add this many bytes.
    pub fn allow_for(&mut self, step: u64) {
        self.step = self.step.max(step);
    }

    /// The error of a run that would use more bytes than it may.
    pub fn error(&self, usage: &Usage, now: Time) -> RunError {
        let mut all: Vec<(String, u64)> = self.names.iter().cloned().zip(usage.all()).collect();
        all.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        all.truncate(3);
        RunError::Memory { limit: self.most, seconds: now.seconds(), largest: all }
    }

    /// Whether this many bytes are within the limit.
    pub fn holds(&self, bytes: u64) -> bool {
        bytes <= self.most
    }

    /// Whether a run of `parts` may go on that uses `bytes` after so much `work`. The next sum comes before the run can have used
    /// up the rest.
    pub fn allows(&mut self, bytes: u64, work: u64, parts: usize) -> bool {
        let least = if self.step > STEP { LEAST_BETWEEN >> 4 } else { LEAST_BETWEEN.max(parts as u64) };
        let soon = if self.step > STEP { least * self.step } else { 0 };
        let allowed = bytes.saturating_add(soon) <= self.most;
        self.next = work + (self.most.saturating_sub(bytes) / self.step).max(least);
        allowed
    }
}

impl Network {
    /// Memory of the network. Parts that belong to no component are in [`Usage::tables`].
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::of(self.sides.len() / 2, self.stage_counters.len(), self.senders_before.len());
        for port in &self.ports {
            usage.links[port.side as usize / 2] += size_of::<Port>() as u64 + port.link.heap_bytes();
        }
        for (link, pair) in self.lanes.chunks(2).take(usage.links.len()).enumerate() {
            usage.links[link] += pair.iter().map(|lane| lane.heap_bytes()).sum::<u64>();
        }
        for (link, pair) in self.sides.chunks(2).enumerate() {
            usage.links[link] += pair.iter().map(|side| side.heap_bytes()).sum::<u64>();
        }
        for slot in &self.stages {
            let own = size_of::<StageSlot>() as u64 + slot.stage.heap_bytes() + slot.controls.heap_bytes();
            usage.stages[slot.spec as usize] += own;
        }
        for tcp in &self.connections {
            let host = self.flows[tcp.flow as usize].host;
            let group = self.hosts[host as usize].group as usize;
            usage.groups[group] += size_of::<Tcp>() as u64 + tcp.connection.heap_bytes();
        }
        for hosted in &self.applications {
            let own = hosted.app.heap_bytes() + hosted.conns.heap_bytes() + hosted.paced.heap_bytes();
            let own = own + hosted.control.as_ref().map_or(0, |control| control.values.0.heap_bytes());
            usage.groups[hosted.group as usize] += size_of::<Hosted>() as u64 + own;
        }
        for (group, transfers) in self.transfers.iter().enumerate() {
            usage.groups[group] += transfers.as_ref().map_or(0, |transfers| transfers.heap_bytes());
        }
        for (group, delays) in self.delays.iter().enumerate() {
            usage.groups[group] += size_of::<Delays>() as u64 + delays.heap_bytes();
        }
        // Room of vectors that is not in use.
        let spare = (self.connections.capacity() - self.connections.len()) * size_of::<Tcp>()
            + (self.applications.capacity() - self.applications.len()) * size_of::<Hosted>()
            + (self.ports.capacity() - self.ports.len()) * size_of::<Port>()
            + (self.stages.capacity() - self.stages.len()) * size_of::<StageSlot>();
        let hosts = self.lanes.get(self.sides.len()).map_or(0, |lane| lane.heap_bytes());
        let lists = [
            self.routes.heap_bytes(),
            self.own_ways.heap_bytes(),
            self.flows.heap_bytes(),
            self.counters.heap_bytes(),
            self.datagrams.heap_bytes(),
            self.profiles.heap_bytes(),
            self.hosts.heap_bytes(),
            self.slots.heap_bytes(),
            self.live.heap_bytes(),
            self.conex.as_ref().map_or(0, |conex| conex.heap_bytes()),
        ];
        usage.tables = spare as u64 + hosts + lists.into_iter().sum::<u64>();
        usage
    }

    /// How many parts a sum looks at.
    pub fn parts(&self) -> usize {
        self.ports.len() + self.stages.len() + self.connections.len() + self.applications.len()
    }

    /// The most that one event may add, where it is more than a packet: the queue of a class that its first packet makes.
    pub fn step(&self) -> u64 {
        self.ports.iter().map(|port| port.link.heap_step()).max().unwrap_or(0)
    }
}

impl Probes {
    /// Bytes of series that the caller of a run gets in addition.
    pub fn outgoing_bytes(&self) -> u64 {
        self.series.iter().map(|column| 16 * column.times.len() as u64).sum()
    }

    /// Bytes of series, histograms, lists and the trace.
    pub fn heap_bytes(&self) -> u64 {
        let series = self.series.iter().map(|c| c.times.heap_bytes() + c.values.heap_bytes());
        let lists = self.lists.iter().map(|(_, list)| list.heap_bytes());
        let histograms = self.at_drop.iter().map(|(_, counts)| counts.heap_bytes());
        let tables = [
            self.series.heap_bytes(),
            self.timed.heap_bytes(),
            self.port_series.heap_bytes(),
            self.flow_series.heap_bytes(),
            self.whose.heap_bytes(),
            self.opened.as_ref().map_or(0, Heap::heap_bytes),
            self.closed.as_ref().map_or(0, Heap::heap_bytes),
            self.trace.as_ref().map_or(0, |trace| trace.heap_bytes()),
        ];
        series.chain(lists).chain(histograms).chain(tables).sum()
    }
}
