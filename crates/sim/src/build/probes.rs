//! Probes of a `[record]` section.

use evenflow_base::Time;
use evenflow_queue::held::is_counter;
use evenflow_queue::htb;
use evenflow_scenario::model::{Copies as Which, EventKind, Every, Histogram, Node, Per, REVERSED, Target};

use super::Builder;
use super::copies::Places;
use crate::column::Column;
use crate::probe::{Probes, Source, Timed};
use crate::slots::lasting_flows;
use crate::trace::Trace;

impl Builder<'_, '_> {
    pub(super) fn probes(&self, places: &Places) -> Probes {
        let record = &self.scenario.record;
        let mut probes = Probes::default();
        for series in &record.series {
            for (name, source, packet) in self.sources(&series.target, places) {
                let column = probes.series.len();
                probes.series.push(Column { name, ..Column::default() });
                probes.watches_links |= matches!(source, Source::Port(..));
                match series.every {
                    Every::Interval(every) => {
                        let next = Time::ZERO + every;
                        probes.timed.push(Timed { source, every, next, before: 0.0, column });
                    }
                    Every::Departure => match source {
                        Source::Queue(port, _, name) => probes.departures.push((port, name, column)),
                        Source::Loss(port, name) => probes.losses.push((port, name, column)),
                        _ => {}
                    },
                    Every::Packet => match source {
                        Source::Queue(_, node, name) => {
                            probes.port_series.push((packet.0, packet.1, node, name, column));
                        }
                        Source::Stage(_, name) => {
                            probes.stage_series.push((packet.0, packet.1, name, column))
                        }
                        Source::Sender(flow, name) => {
                            probes.flow_series.push((flow, name, column, f64::NAN));
                        }
                        _ => {}
                    },
                }
            }
        }
        for &what in &record.histograms {
            if let Histogram::AtDrop(link) = what {
                probes.at_drop.push((2 * link as u32, Vec::new()));
            }
        }
        for &kind in &record.events {
            match kind {
                EventKind::Open => {
                    probes.opened = Some(Vec::new());
                    probes.whose = self.whose();
                }
                EventKind::Close => probes.closed = Some(Vec::new()),
                _ => probes.lists.push((kind, Vec::new())),
            }
        }
        let lists = |kind| record.events.contains(&kind);
        probes.watches_drops = !probes.at_drop.is_empty() || lists(EventKind::Drop);
        probes.watches_ports =
            !probes.port_series.is_empty() || lists(EventKind::Mark) || lists(EventKind::Arrival);
        probes.watches_stages = !probes.stage_series.is_empty();
        probes.watches_senders = !probes.flow_series.is_empty();
        if !record.trace.is_empty() {
            probes.trace = Some(Box::new(self.traced_flows()));
            (probes.watches_ports, probes.watches_stages) = (true, true);
            (probes.watches_drops, probes.watches_links) = (true, true);
        }
        probes
    }

    /// Owner of each place among the initial flows: group, user, number.
    fn whose(&self) -> Vec<[u32; 3]> {
        let mut all = Vec::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            for user in 0..group.users {
                all.extend((0..self.flows[g] as u32).map(|number| [g as u32, user, number]));
            }
        }
        all
    }

    /// Which flows are traced.
    fn traced_flows(&self) -> Trace {
        let mut trace = Trace::default();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            let chosen = self.scenario.record.trace.iter().filter(|traced| traced.group == g);
            let chosen: Vec<_> = chosen.collect();
            for user in 0..group.users {
                let of_user = || chosen.iter().filter(|traced| traced.users.holds(user));
                trace.hosts.push(of_user().any(|traced| traced.flows.is_none()));
                let of_flow = |flow: usize| {
                    of_user().any(|traced| traced.flows.is_none_or(|flows| flows.holds(flow as u32)))
                };
                trace.flows.extend((0..self.flows[g]).map(of_flow));
            }
        }
        trace
    }

    /// The expanded sources of a series: name, what to read, and (side or stage, copy) for series by packet.
    pub(super) fn sources(&self, target: &Target, places: &Places) -> Vec<(String, Source, (u32, u32))> {
        let scenario = self.scenario;
        let Places { links, stages, first_port, first_stage } = places;
        let numbers = |copies: Which, count: usize| match copies {
            Which::All => (0..count).collect::<Vec<_>>(),
            Which::One(n) => vec![n as usize],
        };
        let index = |per: Per, n: usize| if per == Per::Shared { String::new() } else { format!("[{n}]") };
        match *target {
            Target::Queue { link, way, copies, observable } => {
                let spec = &scenario.links[link];
                numbers(copies, links[link].list.len())
                    .into_iter()
                    .map(|n| {
                        let of = format!("links.{}{}.{}", spec.name, index(spec.per, n), REVERSED[way]);
                        let source = queue_source(first_port[link] + 2 * n + way, None, observable);
                        (format!("{of}queue.{observable}"), source, ((2 * link + way) as u32, n as u32))
                    })
                    .collect()
            }
            Target::Loss { link, way, copies, observable } => {
                let spec = &scenario.links[link];
                numbers(copies, links[link].list.len())
                    .into_iter()
                    .map(|n| {
                        let of = format!("links.{}{}.{}", spec.name, index(spec.per, n), REVERSED[way]);
                        let source = Source::Loss(first_port[link] + 2 * n + way, observable);
                        (format!("{of}loss.{observable}"), source, ((2 * link + way) as u32, n as u32))
                    })
                    .collect()
            }
            Target::Node { link, copies, node, observable } => {
                let spec = &scenario.links[link];
                let tree = spec.forward.queue.as_ref().and_then(|q| q.scheduler.as_ref());
                let names: Vec<&str> = tree.into_iter().flat_map(|s| htb::class_names(&s.values)).collect();
                let nodes: Vec<(String, u32)> = match node {
                    Node::Named(n) => vec![(format!("classes.{}", names[n as usize]), n)],
                    Node::Leaves(leaves) => numbers(leaves, self.owners(link, spec.scheduler_per()).len())
                        .into_iter()
                        .map(|n| (format!("leaves[{n}]"), (names.len() + n) as u32))
                        .collect(),
                };
                let mut out = Vec::new();
                for n in numbers(copies, links[link].list.len()) {
                    for (node, number) in &nodes {
                        let name =
                            format!("links.{}{}.queue.{node}.{observable}", spec.name, index(spec.per, n));
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
                        let source = match counter {
                            "rate" => Source::Rate(port),
                            counter => Source::Port(port, counter),
                        };
                        (name, source, (2 * link as u32, n as u32))
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
                let lasting = lasting_flows(spec);
                let mut out = Vec::new();
                for user in numbers(users, spec.users as usize) {
                    for flow in numbers(flows, self.flows[group]) {
                        if self.is_stopped() {
                            return out;
                        }
                        let id = self.first_flow[group] + user * self.flows[group] + flow;
                        let name = format!("groups.{}.users[{user}].flows[{flow}].{observable}", spec.name);
                        let source = match observable {
                            name if flow >= lasting => {
                                let before: u32 = scenario.groups[..group].iter().map(|g| g.users).sum();
                                Source::Opened(before + user as u32, flow as u32, name)
                            }
                            "received_bytes" => Source::Received(id),
                            name => Source::Sender(id, name),
                        };
                        out.push((name, source, (0, 0)));
                    }
                }
                out
            }
        }
    }
}

/// The source of a series: a port's queue, or a node of its scheduler.
fn queue_source(port: usize, node: Option<u32>, observable: &'static str) -> Source {
    if is_counter(observable) {
        Source::Count(port, node, observable)
    } else {
        Source::Queue(port, node, observable)
    }
}
