//! Probes of a `[record]` section.

use evenflow_base::Time;
use evenflow_queue::held::is_counter;
use evenflow_queue::htb;
use evenflow_scenario::model::{Copies as Which, EventKind, Every, Histogram, Per, Series, Subject, Target};

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
            for (name, source, packet) in self.sources(series, places) {
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
    pub(super) fn sources(&self, series: &Series, places: &Places) -> Vec<(String, Source, (u32, u32))> {
        let scenario = self.scenario;
        let Places { links, stages, first_port, first_stage } = places;
        let Target { of, copies, inner, observable } = series.target;
        let numbers = |copies: Which, count: usize| match copies {
            Which::All => 0..count,
            Which::One(n) => n as usize..n as usize + 1,
        };
        let shared = of.component().is_some_and(|component| scenario.per(component) == Per::Shared);
        let (mut inner_count, mut classes) = (1, 0);
        let count = match of {
            Subject::Stage(stage) => stages[stage].list.len(),
            Subject::Flow(group) => {
                inner_count = self.flows[group];
                scenario.groups[group].users as usize
            }
            Subject::Leaves(link) => {
                let spec = &scenario.links[link];
                let tree = spec.forward.queue.as_ref().and_then(|q| q.scheduler.as_ref());
                classes = tree.map_or(0, |tree| htb::class_names(&tree.values).count());
                inner_count = self.owners(link, spec.scheduler_per()).len();
                links[link].list.len()
            }
            Subject::Queue(link, _)
            | Subject::Loss(link, _)
            | Subject::Class(link, _)
            | Subject::Link(link) => links[link].list.len(),
        };
        let mut out = Vec::new();
        for n in numbers(copies, count) {
            for m in numbers(inner, inner_count) {
                if self.is_stopped() {
                    return out;
                }
                let (source, place) = match of {
                    Subject::Queue(link, way) => {
                        (queue_source(first_port[link] + 2 * n + way, None, observable), 2 * link + way)
                    }
                    Subject::Loss(link, way) => {
                        (Source::Loss(first_port[link] + 2 * n + way, observable), 2 * link + way)
                    }
                    Subject::Class(link, class) => {
                        (queue_source(first_port[link] + 2 * n, Some(class), observable), 2 * link)
                    }
                    Subject::Leaves(link) => {
                        let node = Some((classes + m) as u32);
                        (queue_source(first_port[link] + 2 * n, node, observable), 2 * link)
                    }
                    Subject::Link(link) if observable == "rate" => {
                        (Source::Rate(first_port[link] + 2 * n), 2 * link)
                    }
                    Subject::Link(link) => (Source::Port(first_port[link] + 2 * n, observable), 2 * link),
                    Subject::Stage(stage) => (Source::Stage(first_stage[stage] + n, observable), stage),
                    Subject::Flow(group) if m >= lasting_flows(&scenario.groups[group]) => {
                        let before: u32 = scenario.groups[..group].iter().map(|g| g.users).sum();
                        (Source::Opened(before + n as u32, m as u32, observable), 0)
                    }
                    Subject::Flow(group) => {
                        let id = self.first_flow[group] + n * self.flows[group] + m;
                        let received = observable == "received_bytes";
                        (if received { Source::Received(id) } else { Source::Sender(id, observable) }, 0)
                    }
                };
                // Its own name, with numbers in place of all copies.
                let stars = [(n, copies, shared), (m, inner, false)];
                let stars = stars.into_iter().filter(|(_, copies, shared)| *copies == Which::All && !shared);
                let name = stars.fold(series.of.clone(), |name, (number, ..)| {
                    name.replacen("[*]", &format!("[{number}]"), 1)
                });
                out.push((name, source, (place as u32, n as u32)));
            }
        }
        out
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
