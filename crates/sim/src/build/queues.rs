//! Ports, their queues, and whom these serve.

use std::sync::Arc;

use evenflow_base::random::key_of;
use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, Rate, Stream, Time};
use evenflow_link::counters::Lengths;
use evenflow_link::grants::{Grants, Plan};
use evenflow_link::impairments::{Again, Jitter, Loss, LossRule};
use evenflow_link::{Fifo, Impairments, Link, Queue, Scheduled};
use evenflow_queue::held::{DRAW, Owner, Served};
use evenflow_queue::htb;
use evenflow_queue::{Admission, Gate, Limit, LinkFacts, Qdisc, Scheduler, Setting};
use evenflow_scenario::model::{
    Change, Component, Direction, EventKind, Every, Histogram, InFlight, Jitter as JitterSpec, Lost, Order,
    Queue as QueueSpec, RateSpec, SchedulerPer, Serve, Spec, Subject,
};

use super::Builder;
use super::copies::{Copies, Copy, draw, stream};
use crate::events::Lane;
use crate::port::{Port, Select};

impl Builder<'_, '_> {
    /// All ports, the first of each link, and a lane for each link and direction. The hosts' lane is last, if
    /// a group has processing.
    pub(super) fn ports(&self, links: &[Copies]) -> (Vec<Port>, Vec<usize>, Vec<Lane>) {
        let scenario = self.scenario;
        let mut ports = Vec::new();
        let mut lanes = Vec::new();
        let mut first_port = Vec::new();
        for (i, link) in scenario.links.iter().enumerate() {
            first_port.push(ports.len());
            let selects = [Some(&link.forward), link.reverse.as_ref()].map(|d| self.select(d, i));
            for (number, copy) in links[i].list.iter().enumerate() {
                if self.is_stopped() {
                    break;
                }
                let first = ports.len();
                self.add_ports(&mut ports, i, number, copy, &selects);
                let heap = ports[first..].iter().map(|port| port.link.heap_bytes()).sum::<u64>();
                self.count(Component::Link(i), heap + ((ports.len() - first) * size_of::<Port>()) as u64);
            }
            for direction in [&link.forward, link.reverse.as_ref().unwrap_or(&link.forward)] {
                let random_rate = matches!(&direction.rate, Some(RateSpec::Constant(Value::Random(_))));
                let jitters =
                    link.jitter.as_ref().is_some_and(|jitter| jitter.ways.contains(&(lanes.len() % 2)))
                        || link.loss.as_ref().is_some_and(|loss| {
                            loss.again.is_some() && loss.ways.contains(&(lanes.len() % 2))
                        });
                let unordered = random_rate || jitters || matches!(direction.delay, Value::Random(_));
                lanes.push(Lane::new(unordered));
            }
        }
        if scenario.groups.iter().any(|g| g.processing.is_some()) {
            lanes.push(Lane::new(false)); // the hosts'
        }
        (ports, first_port, lanes)
    }

    /// The table by which a scheduler of a link finds the queue of a flow; queues are numbered over all copies.
    pub(super) fn select(&self, direction: Option<&Direction>, link: usize) -> (Select, Vec<f64>) {
        let queue = direction.and_then(|d| d.queue.as_ref());
        let scheduled = |q: &&QueueSpec| q.scheduler.is_some() || q.rule.mechanism.traits.owns_queues;
        let Some(queue) = queue.filter(scheduled) else { return (Select::One, Vec::new()) };
        if queue.scheduler_per == SchedulerPer::Class {
            return (Select::Class, vec![1.0; self.scenario.classes.len()]);
        }
        if queue.is_hashed() {
            return (Select::Key(self.keys(queue.scheduler_per), queue.scheduler_per), Vec::new());
        }
        let mut table = Vec::new();
        let mut weights = Vec::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            let crosses = group.path.iter().any(|hop| hop.component == Component::Link(link));
            for user in (0..group.users as usize).take_while(|_| !self.is_stopped()) {
                for flow in 0..self.flows[g] {
                    let own = crosses && (flow == 0 || queue.scheduler_per == SchedulerPer::Flow);
                    if own {
                        weights.push(self.weights[g][user]);
                    }
                    table.push(weights.len().saturating_sub(1) as u32);
                }
            }
        }
        (Select::Queue(Arc::from(table)), weights)
    }

    /// Hash keys of flows or users. They follow from names, so that collisions do not depend on other flows.
    pub(super) fn keys(&self, per: SchedulerPer) -> Arc<[u32]> {
        let mut keys = Vec::new();
        for (g, group) in self.scenario.groups.iter().enumerate() {
            for user in (0..group.users as usize).take_while(|_| !self.is_stopped()) {
                let owner = format!("{}/{user}", group.name);
                keys.extend((0..self.flows[g]).take_while(|_| !self.is_stopped()).map(|flow| match per {
                    SchedulerPer::Flow => key_of(&format!("{owner}/{flow}")) as u32,
                    _ => key_of(&owner) as u32,
                }));
            }
        }
        Arc::from(keys)
    }

    pub(super) fn add_ports(
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
                Some(other) => other.fixed(),
            };
            let delay = draw(&d.delay, || of(&format!("{prefix}delay")), copy.index);
            (rate, Duration::from_seconds(delay.number().unwrap_or(0.0)))
        };
        let (rate, delay) = physical(&spec.forward, "");
        let mut add = |direction: usize, rate: Option<Rate>, delay: Duration, spec: Option<&Direction>| {
            let facts = LinkFacts { rate, delay, classes: &self.scenario.classes };
            let select = &selects[direction];
            let queue = match spec {
                Some(d) => self.queue(d, facts, &name, copy, direction, link, &select.1),
                None => Queue::Open,
            };
            let scheduled = matches!(&queue, Queue::Scheduled(_));
            ports.push(Port {
                link: Link::new(rate, delay, queue),
                side: (2 * link + direction) as u32,
                copy: number as u32,
                select: if scheduled { select.0.clone() } else { Select::One },
                alarm: Time::NEVER,
            });
        };
        add(0, rate, delay, Some(&spec.forward));
        match &spec.reverse {
            None => {
                // A rate that changes does so in both directions; and loss may be of both.
                let back = Direction { queue: None, serve: None, ..spec.forward.clone() };
                let own = matches!(back.rate, Some(RateSpec::Steps(_) | RateSpec::Opportunities(..)))
                    || self.is_lossy(link, 1)
                    || self.jitter(link, 1).is_some()
                    || self.scenario.stages.iter().any(|stage| stage.controls == Some((link, 1)));
                add(1, rate, delay, own.then_some(&back));
            }
            Some(reverse) => {
                let (rate, delay) = physical(reverse, "reverse.");
                add(1, rate, delay, Some(reverse));
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a queue is built from many parts in one place")]
    pub(super) fn queue(
        &self,
        direction: &Direction,
        link_facts: LinkFacts,
        name: &str,
        copy: &Copy,
        way: usize,
        link: usize,
        weights: &[f64],
    ) -> Queue {
        let purpose = |what: &str| format!("{}{what}", if way == 1 { "reverse." } else { "" });
        let own = |what: &str| stream(self.seed, name, &copy.owner, &purpose(what));
        let loss =
            self.scenario.links[link].loss.as_ref().filter(|_| self.is_lossy(link, way)).map(|loss| Loss {
                which: match &loss.which {
                    Lost::Random(probability) => LossRule::Random(
                        draw(probability, || own("loss.probability"), copy.index).number().unwrap_or(0.0),
                        own("loss"),
                    ),
                    Lost::Bursts(probability, burst) => LossRule::bursts(
                        draw(probability, || own("loss.probability"), copy.index).number().unwrap_or(0.0),
                        *burst,
                        own("loss"),
                    ),
                    Lost::Every(nth) => LossRule::Every(*nth, 0),
                },
                from: Time(loss.from.0),
                until: loss.until.map_or(Time::NEVER, |until| Time(until.0)),
                notes: self.watches_losses(link, way).then(Box::default),
            });
        let jitter = self.jitter(link, way).map(|jitter| Jitter {
            correlated: (jitter.correlation > 0.0)
                .then(|| (jitter.correlation, own("jitter.correlation").open01())),
            mean: link_facts.delay.seconds(),
            deviation: draw(&jitter.deviation, || own("jitter.normal"), copy.index).number().unwrap_or(0.0),
            from: Time(jitter.from.0),
            until: jitter.until.map_or(Time::NEVER, |until| Time(until.0)),
            last: (jitter.order == Order::Keep).then_some(Time::ZERO),
            stream: own("jitter"),
        });
        let spec_again = self.scenario.links[link].loss.as_ref().and_then(|spec| spec.again);
        let again = spec_again.filter(|_| loss.is_some()).map(|(most, delay)| Again {
            most,
            delay,
            usual: link_facts.delay,
            last: Time::ZERO,
        });
        let controlled = self.scenario.stages.iter().any(|stage| stage.controls == Some((link, way)));
        let stepped = matches!(&direction.rate, Some(RateSpec::Steps(steps)) if steps.len() > 1)
            || direction.queue.as_ref().is_some_and(|queue| !queue.changes.is_empty());
        let grants = grants(direction, link_facts.rate);
        let fixed = !stepped && !controlled && grants.is_none();
        let free = fixed && loss.is_none() && jitter.is_none() && !self.options.eager;
        let (rule, limit, spec) = match &direction.queue {
            None if free && !self.observed(link, way) => return Queue::Open,
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
                (rule, limit_of(q, copy, &own), Some(q))
            }
        };
        let wants_lengths = way == 0 && self.scenario.record.histograms.contains(&Histogram::Packets(link));
        let impairments = Impairments { loss, jitter, again };
        let lengths = wants_lengths.then(Lengths::default);
        let scheduler = spec.and_then(|q| match q.rule.mechanism.traits.owns_queues {
            true => Some(&q.rule),
            false => q.scheduler.as_ref(),
        });
        let decides_at_arrival = !rule.sees_dequeue() && !rule.watches_departures();
        let lazy = scheduler.is_none() && fixed && decides_at_arrival;
        let mut gate = Gate::new(rule, limit, own("queue"), link_facts.rate);
        let watched = self.watches_decisions(link, way);
        gate.watched = watched;
        if lazy && !self.options.eager {
            return Queue::Fifo(Box::new(Fifo::new(gate, impairments, lengths)));
        }
        let build = |spec: &Spec, q: &QueueSpec| {
            let values = match q.rule.mechanism.traits.owns_queues {
                true => self.drawn(&spec.values, name, copy),
                false => spec.values.drawn(&|what| own(&format!("scheduler.{what}")), copy.index),
            };
            self.scheduler(spec, &values, q.scheduler_per, (link, link_facts), weights, &own)
        };
        let scheduler = match (scheduler, spec) {
            (Some(spec), Some(q)) => build(spec, q),
            _ => Scheduler::Fifo(Box::default()),
        };
        let mut changes = Vec::new();
        if let Some(RateSpec::Steps(steps)) = &direction.rate {
            let first = steps.iter().take(1).filter(|step| step.1.0 == 0.0);
            let later = steps.iter().skip(1);
            changes.extend(first.chain(later).map(|&(at, rate)| (at, Setting::LinkRate(rate))));
        }
        let (mut before, replaces) = (spec, spec.is_some_and(|q| q.change == Change::Replace));
        for (at, now) in spec.iter().flat_map(|q| &q.changes) {
            changes.push((*at, Setting::Limit(limit_of(now, copy, &own))));
            let values = |q: &QueueSpec| q.scheduler.as_ref().map(|spec| spec.values.clone());
            if let Some(spec) = now.scheduler.as_ref().filter(|_| before.and_then(values) != values(now)) {
                let set = if replaces { Setting::Replace } else { Setting::Change };
                changes.push((*at, set(Box::new(build(spec, now)))));
            }
            before = Some(now);
        }
        changes.sort_by_key(|change| change.0);
        let mut qdisc = Qdisc::new(gate, scheduler);
        if watched {
            qdisc.watch();
        }
        let stops = matches!(&direction.rate, Some(RateSpec::Steps(steps)) if steps.iter().any(|step| step.1.0 == 0.0));
        let qdisc = if stops || grants.is_some() { qdisc.holding_all() } else { qdisc };
        let mut scheduled = Scheduled::new(qdisc, impairments, lengths, changes, grants);
        scheduled.finishes_at_new_rate = self.scenario.links[link].in_flight == InFlight::NewRate;
        Queue::Scheduled(Box::new(scheduled))
    }

    /// How a link's delay varies in one of its directions.
    pub(super) fn jitter(&self, link: usize, way: usize) -> Option<&JitterSpec> {
        self.scenario.links[link].jitter.as_ref().filter(|jitter| jitter.ways.contains(&way))
    }

    /// Whether a link loses packets at random in one of its directions.
    pub(super) fn is_lossy(&self, link: usize, way: usize) -> bool {
        self.scenario.links[link].loss.as_ref().is_some_and(|loss| loss.ways.contains(&way))
    }

    /// The scheduler of a link's copy; `own` makes the copy's streams.
    pub(super) fn scheduler(
        &self,
        spec: &Spec,
        values: &Values,
        per: SchedulerPer,
        (link, facts): (usize, LinkFacts),
        weights: &[f64],
        own: &dyn Fn(&str) -> Stream,
    ) -> Scheduler {
        let mut owners: Vec<Owner> =
            weights.iter().map(|weight| Owner { weight: *weight, each: None }).collect();
        if let Some(Value::Table(each)) = spec.values.raw(htb::Given::each) {
            let of = |owner: &str, what: &str| own(&format!("scheduler.each.{what}/{owner}"));
            if each.is_random() {
                for (place, (owner, index)) in owners.iter_mut().zip(self.owners(link, per)) {
                    place.each = Some(Arc::new(each.drawn(&|what| of(&owner, what), index)));
                }
            } else {
                let each = Arc::new(each.clone());
                owners.iter_mut().for_each(|owner| owner.each = Some(each.clone()));
            }
        }
        let served = Served {
            link: facts,
            owners: &owners,
            keys: match spec.mechanism.traits.tree {
                true => self.flow_keys.get_or_init(|| self.keys(SchedulerPer::Flow)).clone(),
                false => Arc::from([]),
            },
            hash: &own("hash"),
            draws: &own("scheduler"),
        };
        Scheduler::build(spec.mechanism.kind, values, &served).expect("the scenario was checked")
    }

    /// Owners of the queues of a scheduler by user or flow, in the order of their numbers: names, and numbers
    /// in their groups.
    pub(super) fn owners(&self, link: usize, per: SchedulerPer) -> Vec<(String, usize)> {
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

    /// Whether a series records values of single decisions of a link's queue.
    fn watches_decisions(&self, link: usize, way: usize) -> bool {
        self.scenario.record.series.iter().any(|series| {
            series.target.of == Subject::Queue(link, way)
                && (series.every == Every::Departure || series.target.observable == DRAW)
        })
    }

    /// Whether a series records values of a link's random losses.
    fn watches_losses(&self, link: usize, way: usize) -> bool {
        self.scenario.record.series.iter().any(|series| series.target.of == Subject::Loss(link, way))
    }

    /// Whether a `[record]` section looks at the queue of a link, which must then exist as one.
    pub(super) fn observed(&self, link: usize, way: usize) -> bool {
        let record = &self.scenario.record;
        let read = record.series.iter().any(|s| match s.target.of {
            Subject::Class(l, _) | Subject::Leaves(l) => l == link && way == 0,
            of => of == Subject::Queue(link, way),
        });
        let counted = record.histograms.iter().any(|histogram| histogram.queue_read() == Some(link));
        read || (way == 0 && (counted || record.events.contains(&EventKind::Arrival)))
    }
}

/// How much may wait in a link's copy, whose streams `own` makes.
fn limit_of(queue: &QueueSpec, copy: &Copy, own: &dyn Fn(&str) -> Stream) -> Limit {
    let limit = queue.limit.as_ref().map(|limit| draw(limit, || own("limit"), copy.index));
    let limit = limit.or_else(|| {
        let spec = queue.scheduler.as_ref()?;
        let values = spec.values.drawn(&|what| own(&format!("scheduler.{what}")), copy.index);
        Scheduler::limit(spec.mechanism.kind, &values)
    });
    Limit::new(limit.as_ref())
}

/// The grants of a direction at a rate, if it serves so.
fn grants(direction: &Direction, rate: Option<Rate>) -> Option<Grants> {
    if let Some(RateSpec::Opportunities(ms, bytes)) = &direction.rate {
        return Some(Grants::new(Plan::Trace { ms: ms.clone(), bytes: *bytes }, Duration::default()));
    }
    let Serve { every, wait } = direction.serve?;
    let rate = rate?.bits_per_second().round() as u64;
    Some(Grants::new(Plan::Every { every, rate }, wait))
}
