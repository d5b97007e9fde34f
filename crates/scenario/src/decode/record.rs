//! `[record]`: decodes its targets to components, copies and observables.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use evenflow_base::Duration;
use evenflow_base::schema::{Observable, Range, Type};
use evenflow_transport::observables::{OBSERVABLES, is_probed};
use serde_json::Value as Json;

use super::drafts::{GroupDraft, LinkDraft, StageDraft, copies};
use super::table::{Table, unknown_keys};
use super::{as_table, list, single, text};

use crate::errors::{Errors, join, quoted, shown, suggestion};
use crate::model::{
    Component, Copies, EventKind, Every, Histogram, Hop, Link, Node, Per, REVERSED, Record, SchedulerPer,
    Series, Spec, Target, Traced,
};
use crate::sections::{FLOW, LINK, LOSS, QUEUE, RECORD, SERIES};

/// The words of `events`.
const EVENTS: &[&str] = EventKind::WORDS;

/// Values a run may record in all its series: more is a slip, and would not fit anywhere.
const MOST_VALUES: f64 = 1e9;

/// Flows that a run may trace.
const MOST_TRACED: u64 = 1000;

/// Components that a path of `[record]` may name.
struct Network<'a> {
    links: &'a [LinkDraft],
    stages: &'a [StageDraft],
    groups: &'a [GroupDraft],
    /// Traffic classes; `None`: what decides on them has errors.
    classes: Option<&'a [String]>,
    /// Copies of components as they were counted, so that many series count them once.
    counts: RefCell<BTreeMap<(Component, Per), Option<u64>>>,
}

/// `[record]`.
pub(super) fn record(
    root: &Table,
    links: &[LinkDraft],
    stages: &[StageDraft],
    groups: &[GroupDraft],
    classes: Option<&[String]>,
    duration: Option<Duration>,
    errors: &mut Errors,
) -> Option<Record> {
    let Some(json) = root.get("record") else { return Some(Record::default()) };
    let table = as_table(json, "record", errors)?;
    unknown_keys(table, RECORD.names(), "record", errors);
    let network = Network { links, stages, groups, classes, counts: RefCell::default() };
    let before = errors.len();
    let mut record = Record::default();
    let mut values = 0.0;
    let mut taken = Taken::default();
    for (json, path) in items(table, "series", "{ of, every } tables", errors) {
        let Some(series) = series(json, &network, &path, errors) else { continue };
        let (thing, copies) = thing(&series.target);
        if let Some(other) = taken.take(thing, copies, record.series.len()) {
            errors.push(join(&path, "of"), format!("record.series[{other}] has it already"));
        }
        if let (Every::Interval(every), Some(duration)) = (series.every, duration) {
            values += duration.seconds() / every.seconds() * network.taken(&series.target) as f64;
            if values > MOST_VALUES {
                errors.push(
                    join(&path, "every"),
                    format!("too fine: {values:.1e} values in all; at most {MOST_VALUES:.0e} are possible"),
                );
            }
        }
        record.series.push(series);
    }
    let mut histograms = BTreeSet::new();
    for (json, path) in items(table, "histograms", "paths", errors) {
        let Some(histogram) = histogram(json, &network, &path, errors) else { continue };
        if histograms.insert(histogram) {
            record.histograms.push(histogram);
        } else {
            errors.push(path, "appears twice");
        }
    }
    for (json, path) in items(table, "events", &EVENTS.join(", "), errors) {
        let kind = match json {
            Json::String(word) if EVENTS.contains(&word.as_str()) => Ok(EventKind::of(word)),
            Json::String(word) => Err(format!(
                "no event is called {}{}",
                quoted(word),
                suggestion(word, EVENTS.iter().copied())
            )),
            other => Err(format!("one of {} is needed, not {}", EVENTS.join(", "), shown(other))),
        };
        match kind {
            Ok(kind) if record.events.contains(&kind) => errors.push(path, "appears twice"),
            Ok(kind) => record.events.push(kind),
            Err(message) => errors.push(path, message),
        }
    }
    let (mut traced, mut last) = (0, String::new());
    let mut traces = Taken::default();
    for (json, path) in items(table, "trace", "paths to flows", errors) {
        let Some(of) = text(json, &path, errors) else { continue };
        let trace = match network.traced(of) {
            Ok(trace) => trace,
            Err(message) => {
                message.into_iter().for_each(|message| errors.push(&path, message));
                continue;
            }
        };
        let flows = trace.flows.unwrap_or(Copies::All);
        let whose = (Component::Link(trace.group), "", None);
        if let Some(other) = traces.take(whose, [trace.users, flows], record.trace.len()) {
            errors.push(path, format!("record.trace[{other}] has it already"));
            continue;
        }
        traced += network.flows_of(&trace);
        last = path;
        record.trace.push(trace);
    }
    if traced > MOST_TRACED {
        errors.push(
            last,
            format!(
                "a trace of {traced} flows: at most {MOST_TRACED} can be followed packet by packet; name some, as in \"groups.NAME.users[0].flows[0]\""
            ),
        );
    }
    record.trace.sort_unstable_by(|a, b| a.of.cmp(&b.of));
    // Their order in the file means nothing, so it must not show in a record.
    record.histograms.sort_unstable();
    const ORDER: [EventKind; 5] =
        [EventKind::Arrival, EventKind::Drop, EventKind::Mark, EventKind::Open, EventKind::Close];
    record.events.sort_unstable_by_key(|kind| ORDER.iter().position(|other| other == kind));
    (errors.len() == before).then_some(record)
}

/// The items of one of the lists, with their paths.
fn items<'a>(record: &'a Table, key: &str, of: &str, errors: &mut Errors) -> Vec<(&'a Json, String)> {
    let path = join("record", key);
    let Some(json) = record.get(key) else { return Vec::new() };
    let Some(items) = list(json, of, &path, errors) else { return Vec::new() };
    items.iter().enumerate().map(|(i, item)| (item, format!("{path}[{i}]"))).collect()
}

fn series(json: &Json, network: &Network, path: &str, errors: &mut Errors) -> Option<Series> {
    let table = as_table(json, path, errors)?;
    unknown_keys(table, SERIES.names(), path, errors);
    let of_path = join(path, "of");
    let target = match table.get("of") {
        Some(json) => text(json, &of_path, errors).and_then(|of| {
            let found = network.target(of);
            found.map_err(|message| message.map(|m| errors.push(&of_path, m))).ok()
        }),
        None => errors.none(
            &of_path,
            "is required: the quantity to record, for example \"links.bottleneck.queue.packets\"",
        ),
    };
    let every_path = join(path, "every");
    let every = match table.get("every") {
        Some(Json::String(word)) if word == "packet" => Some(Every::Packet),
        Some(Json::String(word)) if word == "departure" => Some(Every::Departure),
        Some(json) => single(json, Type::Duration, &Range::POSITIVE, &every_path, errors)
            .and_then(|v| v.number())
            .map(|s| Every::Interval(Duration::from_seconds(s))),
        None => errors.none(&every_path, "is required: a duration, for example \"10 ms\", or \"packet\""),
    };
    let probed = matches!(target, Some(Target::Flow { observable, .. }) if is_probed(observable));
    if let Some(Target::Queue { observable, .. } | Target::Node { observable, .. }) = target
        && every == Some(Every::Packet)
        && evenflow_queue::held::is_counter(observable)
    {
        return errors
            .none(every_path, format!("{} is a counter; a duration is needed here", quoted(observable)));
    }
    let of_component =
        |t: &Target| matches!(t, Target::Queue { .. } | Target::Node { .. } | Target::Stage { .. });
    if matches!(target, Some(Target::Loss { .. })) && every.is_some_and(|every| every != Every::Departure) {
        return errors
            .none(every_path, "a random loss has a value for each lost packet; write \"departure\"");
    }
    let by_packet = probed || target.as_ref().is_none_or(of_component);
    if every == Some(Every::Packet) && !by_packet {
        return errors
            .none(every_path, "\"packet\" is for queues and stages only; a duration is needed here");
    }
    if let (Some(Every::Departure), Some(target)) = (every, target)
        && !network.decides_at_departure(&target)
    {
        errors.push(
            every_path,
            "\"departure\" is for random losses, and for queues that drop or mark leaving packets: codel, fq, fq-codel, \
             cobalt and dualpi2",
        );
        return None;
    }
    if probed && matches!(every, Some(Every::Interval(_))) {
        return errors.none(every_path, "a probe records each segment; write \"packet\"");
    }
    let target = target?;
    Some(Series { of: network.name(&target), target, every: every? })
}

fn histogram(json: &Json, network: &Network, path: &str, errors: &mut Errors) -> Option<Histogram> {
    let of = text(json, path, errors)?;
    network.histogram(of).map_err(|message| message.map(|m| errors.push(path, m))).ok()
}

/// All histograms.
const HISTOGRAMS: [&str; 10] = [
    "links.NAME.queue.packets",
    "links.NAME.queue.at_drop",
    "links.NAME.queue.delay",
    "links.NAME.classes.CLASS.queue.delay",
    "groups.NAME.delay",
    "groups.NAME.users.delay",
    "groups.NAME.rtt",
    "groups.NAME.classes.CLASS.delay",
    "groups.NAME.transfers.completion",
    "groups.NAME.transfers.first_byte",
];

fn no_histogram(name: &str, valid: &[&str]) -> Trouble {
    Some(format!("no histogram is called {}{}", quoted(name), suggestion(name, valid.iter().copied())))
}

/// The subject of a series without copies: a component or group, the observable, and of a tree the class or
/// leaf.
type Thing = (Component, &'static str, Option<u32>);

/// The subject of a series, and its copies: of the component and of the leaf, or users and flows. Groups are
/// marked by observables of flows, which links do not have.
fn thing(target: &Target) -> (Thing, [Copies; 2]) {
    const LEAF: u32 = u32::MAX;
    const LOSS_OF_LINK: u32 = u32::MAX - 1;
    let one = Copies::One(0);
    match *target {
        Target::Queue { link, way, copies, observable } => {
            ((Component::Link(4 * link + way), observable, None), [copies, one])
        }
        Target::Loss { link, way, copies, observable } => {
            ((Component::Link(4 * link + way), observable, Some(LOSS_OF_LINK)), [copies, one])
        }
        Target::Node { link, copies, node, observable } => match node {
            Node::Named(n) => ((Component::Link(4 * link), observable, Some(n)), [copies, one]),
            Node::Leaves(leaves) => ((Component::Link(4 * link), observable, Some(LEAF)), [copies, leaves]),
        },
        Target::Link { link, copies, counter } => {
            ((Component::Link(4 * link + 2), counter, None), [copies, one])
        }
        Target::Stage { stage, copies, observable } => {
            ((Component::Stage(2 * stage), observable, None), [copies, one])
        }
        Target::Flow { group, users, flows, observable } => {
            ((Component::Stage(2 * group + 1), observable, None), [users, flows])
        }
    }
}

/// Recorded subjects, and the first item of a list with each.
#[derive(Default)]
struct Taken(BTreeMap<(Thing, [Option<u32>; 2]), usize>);

/// A number for any copy, above all valid ones.
const ANY: Option<u32> = Some(u32::MAX);

impl Taken {
    /// Item `number` takes these copies, unless an item has one of them already: the first that does.
    fn take(&mut self, thing: Thing, [a, b]: [Copies; 2], number: usize) -> Option<usize> {
        let of = |copies| match copies {
            Copies::All => None,
            Copies::One(n) => Some(n),
        };
        let (a, b) = (of(a), of(b));
        // One copy collides with the same copy and with all; all collide with any.
        let met = |x: Option<u32>| if x.is_none() { vec![ANY] } else { vec![x, None] };
        let found = met(a)
            .into_iter()
            .flat_map(|a| met(b).into_iter().map(move |b| [a, b]))
            .filter_map(|copies| self.0.get(&(thing, copies)).copied())
            .min();
        if found.is_none() {
            for copies in [[a, b], [a, ANY], [ANY, b], [ANY, ANY]] {
                self.0.entry((thing, copies)).or_insert(number);
            }
        }
        found
    }
}

/// One part of a path: a name and perhaps an index.
struct Part<'a> {
    name: &'a str,
    index: Option<Copies>,
}

/// A message, or none where the reason is an error that is reported elsewhere.
type Trouble = Option<String>;

fn parts(of: &str) -> Result<Vec<Part<'_>>, Trouble> {
    of.split('.')
        .map(|part| {
            let (name, index) = match part.split_once('[') {
                None => (part, None),
                Some((name, rest)) => match rest.strip_suffix(']') {
                    Some("*") => (name, Some(Copies::All)),
                    Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                        (name, digits.parse().ok().map(Copies::One))
                    }
                    _ => (name, None),
                },
            };
            if name.is_empty() || name.contains(']') || (index.is_none() && part.contains('[')) {
                return Err(Some(format!(
                    "cannot read {}; an index is a number from 0 or \"*\", as in \"links.access[2].queue.packets\"",
                    quoted(part)
                )));
            }
            Ok(Part { name, index })
        })
        .collect()
}

/// The item named `name`, or the error. Items are sorted by name.
fn find<'a, T>(
    items: &'a [T],
    name_of: impl Fn(&'a T) -> &'a str,
    name: &str,
    what: &str,
) -> Result<usize, Trouble> {
    items.binary_search_by(|item| name_of(item).cmp(name)).map_err(|_| {
        Some(format!("no {what} is called {}{}", quoted(name), suggestion(name, items.iter().map(name_of))))
    })
}

fn no_index(part: &Part) -> Result<(), Trouble> {
    match part.index {
        None => Ok(()),
        Some(_) => Err(Some(format!("{} takes no index", quoted(part.name)))),
    }
}

/// The observable called `name` among those that may be.
fn observable(
    name: &str,
    valid: impl Iterator<Item = &'static str> + Clone,
    whose: &str,
) -> Result<&'static str, Trouble> {
    let found = valid.clone().find(|v| *v == name);
    found
        .ok_or_else(|| Some(format!("{whose} has no observable {}{}", quoted(name), suggestion(name, valid))))
}

fn named(observables: &'static [Observable]) -> impl Iterator<Item = &'static str> + Clone {
    observables.iter().map(|o| o.name)
}

/// Whether an index of things that `count` there are is one of them.
fn in_range(index: Option<Copies>, count: Option<u64>, what: &str) -> Result<Copies, Trouble> {
    let copies = index.unwrap_or(Copies::All);
    match (copies, count) {
        (Copies::One(_), Some(0)) => Err(Some(format!("there is no {what}: no path leads here"))),
        (Copies::One(n), Some(count)) if u64::from(n) >= count => {
            Err(Some(format!("index {n} is out of range: there are {count}, counted from 0 ({what})")))
        }
        _ => Ok(copies),
    }
}

/// The tree of classes of a link; errors of the link are reported elsewhere.
fn tree(link: Option<&Link>) -> Result<&Spec, Trouble> {
    let queue = link.ok_or(None)?.forward.queue.as_ref();
    let tree = queue.and_then(|q| q.scheduler.as_ref()).filter(|s| s.mechanism.traits.tree);
    tree.ok_or_else(|| {
        let all = crate::catalogue::all(evenflow_base::schema::Room::Scheduler);
        let trees: Vec<String> = all.iter().filter(|m| m.traits.tree).map(|m| quoted(m.kind)).collect();
        Some(format!("only the scheduler {} has classes to observe", trees.join(" or ")))
    })
}

impl Network<'_> {
    /// The target of `of`.
    fn target(&self, of: &str) -> Result<Target, Trouble> {
        let parts = parts(of)?;
        no_index(&parts[0])?;
        match parts[0].name {
            "links" => self.link_target(of, &parts[1..]),
            "stages" => self.stage_target(of, &parts[1..]),
            "groups" => self.flow_target(of, &parts[1..]),
            other => {
                let near = suggestion(other, ["links", "stages", "groups"]);
                Err(Some(format!("{} is neither links, stages nor groups{near}", quoted(other))))
            }
        }
    }

    fn link_target(&self, of: &str, parts: &[Part]) -> Result<Target, Trouble> {
        let counters = || LINK.counters.iter().map(|c| c.name).chain(named(LINK.observables));
        let incomplete = || {
            let names: Vec<&str> = counters().collect();
            Some(format!(
                "{} names no quantity; write \"links.NAME.queue.packets\", bytes, wait, or one of the link: links.NAME.{}",
                quoted(of),
                names.join(", ")
            ))
        };
        let Some(part) = parts.first() else { return Err(incomplete()) };
        let link = find(self.links, |l| &l.name, part.name, "link")?;
        let draft = &self.links[link];
        let copies = self.copies(Component::Link(link), draft.per, part)?;
        let (way, rest) = match &parts[1..] {
            [reverse, rest @ ..] if reverse.name == "reverse" => {
                no_index(reverse)?;
                (1, rest)
            }
            rest => (0, rest),
        };
        match rest {
            [queue, name] if queue.name == "queue" => {
                no_index(queue)?;
                no_index(name)?;
                let observable = self.queue_observable(draft.link.as_ref(), way, name.name)?;
                Ok(Target::Queue { link, way, copies, observable })
            }
            [loss, name] if loss.name == "loss" => {
                no_index(loss)?;
                no_index(name)?;
                let observable = observable(name.name, named(LOSS.observables), "the loss of a link")?;
                let lossy = draft.link.as_ref().ok_or(None)?.loss.as_ref();
                if !lossy.is_some_and(|loss| loss.ways.contains(&way)) {
                    return Err(Some(format!("this direction of {} loses no packets", quoted(part.name))));
                }
                Ok(Target::Loss { link, way, copies, observable })
            }
            _ if way == 1 => Err(Some(format!(
                "{} names no quantity; the reverse direction has links.NAME.reverse.queue.packets and the like",
                quoted(of)
            ))),
            [queue, classes, class, name] if queue.name == "queue" && classes.name == "classes" => {
                for part in [queue, classes, class, name] {
                    no_index(part)?;
                }
                let tree = tree(draft.link.as_ref())?;
                let names: Vec<&str> = evenflow_queue::htb::class_names(&tree.values).collect();
                let node = Node::Named(find(&names, |name| name, class.name, "class")? as u32);
                let observable = observable(name.name, named(tree.mechanism.observables), "a class")?;
                Ok(Target::Node { link, copies, node, observable })
            }
            [queue, leaves, name] if queue.name == "queue" && leaves.name == "leaves" => {
                no_index(queue)?;
                no_index(name)?;
                let tree = tree(draft.link.as_ref())?;
                let count = match draft.link.as_ref().map(Link::scheduler_per) {
                    Some(SchedulerPer::User) => self.count(Component::Link(link), Per::User),
                    Some(SchedulerPer::Flow) => self.count(Component::Link(link), Per::Flow),
                    _ => {
                        return Err(Some(
                            "leaves have names here: \"links.NAME.queue.classes.CLASS.tokens\"".into(),
                        ));
                    }
                };
                let node = Node::Leaves(in_range(leaves.index, count, "leaves")?);
                let observable = observable(name.name, named(tree.mechanism.observables), "a class")?;
                Ok(Target::Node { link, copies, node, observable })
            }
            [name] if name.name != "queue" => {
                no_index(name)?;
                let valid = counters().chain(["queue"]);
                let counter = observable(name.name, valid, "a link")?;
                if counter == "rate" && draft.link.as_ref().ok_or(None)?.forward.rate.is_none() {
                    return Err(Some("this link has no rate".into()));
                }
                Ok(Target::Link { link, copies, counter })
            }
            _ => Err(incomplete()),
        }
    }

    /// Whether a target is a value of a random loss, or of a queue that drops or marks packets as they leave.
    fn decides_at_departure(&self, target: &Target) -> bool {
        if let Target::Loss { .. } = target {
            return true;
        }
        let Target::Queue { link, way, observable, .. } = *target else { return false };
        let decides = |kind: &str| evenflow_queue::notes_departures(kind, observable);
        let queue = |link: &Link| link.queue(way).map(|queue| queue.rule.mechanism.kind);
        self.links[link].link.as_ref().is_none_or(|link| queue(link).is_some_and(decides))
    }

    /// The observable of a link's queue; errors of the link are reported elsewhere.
    fn queue_observable(&self, link: Option<&Link>, way: usize, name: &str) -> Result<&'static str, Trouble> {
        let link = link.ok_or(None)?;
        let reverse = link.reverse.as_ref().filter(|_| way == 1);
        if reverse.unwrap_or(&link.forward).rate.is_none() {
            return Err(Some("this link has no rate, so it has no queue".into()));
        }
        let queue = link.queue(way);
        let rule = queue.map(|q| q.rule.mechanism);
        let scheduler = queue.and_then(|q| q.scheduler.as_ref()).map(|s| s.mechanism);
        // A tree's observables are its classes'.
        let tree = scheduler.filter(|m| m.traits.tree);
        if let Some(tree) = tree
            && named(tree.observables).any(|o| o == name)
            && !named(QUEUE.observables).any(|o| o == name)
        {
            return Err(Some(format!(
                "{} belongs to a class, \"links.NAME.queue.classes.CLASS.{name}\", or to a user or flow, \
                 \"links.NAME.queue.leaves[0].{name}\"",
                quoted(name)
            )));
        }
        let scheduler = scheduler.filter(|_| tree.is_none());
        let own = [rule, scheduler].into_iter().flatten().flat_map(|m| named(m.observables));
        let whose = match rule {
            Some(rule) => format!("this {} queue", rule.kind),
            None => "this queue".into(),
        };
        observable(name, named(QUEUE.observables).chain(own), &whose)
    }

    fn stage_target(&self, of: &str, parts: &[Part]) -> Result<Target, Trouble> {
        let [part, rest @ ..] = parts else {
            return Err(Some(format!("{} names no stage", quoted(of))));
        };
        let stage = find(self.stages, |s| &s.name, part.name, "stage")?;
        let draft = &self.stages[stage];
        let copies = self.copies(Component::Stage(stage), draft.per, part)?;
        let mechanism = draft.mechanism.ok_or(None)?;
        let [name] = rest else {
            let names: Vec<&str> = named(mechanism.observables).collect();
            return Err(Some(format!("{} needs one observable: {}", quoted(of), names.join(", "))));
        };
        no_index(name)?;
        let whose = format!("this {} stage", mechanism.kind);
        let observable = observable(name.name, named(mechanism.observables), &whose)?;
        Ok(Target::Stage { stage, copies, observable })
    }

    fn flow_target(&self, of: &str, parts: &[Part]) -> Result<Target, Trouble> {
        let [group, users, flows, name] = parts else {
            return Err(Some(format!(
                "{} is no path to a flow; write \"groups.NAME.users[0].flows[0].window\"",
                quoted(of)
            )));
        };
        no_index(group)?;
        no_index(name)?;
        for (part, expected) in [(users, "users"), (flows, "flows")] {
            if part.name != expected {
                return Err(Some(format!("\"{expected}\" is needed in place of {}", quoted(part.name))));
            }
        }
        let index = find(self.groups, |g| &g.name, group.name, "group")?;
        let draft = &self.groups[index];
        let controls = draft.traffic.iter().flatten().filter_map(|t| t.tcp.as_ref()?.as_ref());
        let own = controls.flat_map(|tcp| named(tcp.congestion_control.mechanism.observables));
        let valid = named(OBSERVABLES).chain(named(FLOW)).chain(own);
        let observable = observable(name.name, valid, "a flow")?;
        let of_sender = !named(FLOW).any(|name| name == observable);
        let blocks = draft.flows.as_deref();
        let per_user = blocks.map(|blocks| blocks.iter().map(|(_, n)| u64::from(*n)).sum());
        let kind = draft.opens();
        let opened = match (kind, flows.index, per_user) {
            // Flows that open during the run have numbers after the user's initial flows.
            (Some(_), Some(Copies::One(n)), Some(lasting)) => u64::from(n) >= lasting,
            (Some(kind), _, Some(0)) => {
                let why = format!(
                    "{kind} opens its flows during the run, so their number is unknown: name one, \
                     \"flows[0]\" for a user's first; see groups.{}.transfers",
                    draft.name
                );
                return Err(Some(why));
            }
            _ => false,
        };
        let users = in_range(users.index, draft.users.map(u64::from), "users of the group")?;
        if let (true, Some(kind)) = (opened, kind) {
            if !of_sender || is_probed(observable) {
                return Err(Some(format!(
                    "{kind} opens its flows during the run; they have no {observable}; see \
                     groups.{}.transfers",
                    draft.name
                )));
            }
            let Some(flows) = flows.index else { return Err(None) };
            return Ok(Target::Flow { group: index, users, flows, observable });
        }
        let flows = in_range(flows.index, per_user, "flows of a user")?;
        if let Some(blocks) = blocks.filter(|_| of_sender) {
            let has_sender = match flows {
                Copies::All => blocks.iter().any(|(tcp, _)| *tcp),
                Copies::One(n) => {
                    let mut before = 0;
                    let holds = |(_, flows): &&(bool, u32)| {
                        before += u64::from(*flows);
                        u64::from(n) < before
                    };
                    blocks.iter().find(holds).is_some_and(|(tcp, _)| *tcp)
                }
            };
            if !has_sender {
                return Err(Some(format!("datagrams have no {observable}")));
            }
        }
        Ok(Target::Flow { group: index, users, flows, observable })
    }

    /// The flows that a path leads to: those of a group, of a user, or one of them.
    fn traced(&self, of: &str) -> Result<Traced, Trouble> {
        let parts = parts(of)?;
        let unreadable = || {
            Some(format!(
                "{} is no path to flows; write \"groups.NAME\", \"groups.NAME.users[0]\" or \"groups.NAME.users[0].flows[0]\"",
                quoted(of)
            ))
        };
        let [root, group, rest @ ..] = parts.as_slice() else { return Err(unreadable()) };
        if root.name != "groups" || rest.len() > 2 {
            return Err(unreadable());
        }
        no_index(root)?;
        no_index(group)?;
        for (part, expected) in rest.iter().zip(["users", "flows"]) {
            if part.name != expected {
                return Err(Some(format!("\"{expected}\" is needed in place of {}", quoted(part.name))));
            }
        }
        let index = find(self.groups, |g| &g.name, group.name, "group")?;
        let draft = &self.groups[index];
        // Before each link a packet is looked at, which takes a place on its way, of which it counts so many.
        let sends = |hop: &&Hop| match hop.component {
            Component::Stage(i) => self.stages[i].mechanism.is_some_and(|m| m.traits.sends),
            Component::Link(_) => false,
        };
        let hops = draft.path.as_deref().unwrap_or_default();
        let places = 4 * hops.len();
        if places + 7 + hops.iter().filter(sends).count() * (places + 3) > usize::from(u8::MAX) {
            return Err(Some(format!("its path of {} components is too long for a trace", hops.len())));
        }
        let users = rest.first().and_then(|part| part.index);
        let users = in_range(users, draft.users.map(u64::from), "users of the group")?;
        let per_user = draft.flows.as_deref().map(|blocks| blocks.iter().map(|(_, n)| u64::from(*n)).sum());
        let flows = match rest.get(1) {
            None => None,
            Some(_) if draft.opens().is_some() && per_user == Some(0) => {
                let kind = draft.opens().unwrap_or_default();
                return Err(Some(format!(
                    "{kind} opens its flows during the run, so they have no number yet; trace a user: \
                     \"groups.{}.users[0]\"",
                    draft.name
                )));
            }
            Some(part) => Some(in_range(part.index, per_user, "flows of a user")?),
        };
        let shown = |copies| match copies {
            Copies::All => "[*]".to_owned(),
            Copies::One(n) => format!("[{n}]"),
        };
        let name = &draft.name;
        let of = match flows {
            None => format!("groups.{name}.users{}", shown(users)),
            Some(flows) => format!("groups.{name}.users{}.flows{}", shown(users), shown(flows)),
        };
        Ok(Traced { of, group: index, users, flows })
    }

    /// The number of flows of a trace, as far as known; one for each user who opens flows during the run.
    fn flows_of(&self, trace: &Traced) -> u64 {
        let draft = &self.groups[trace.group];
        let of = |copies, all| if copies == Copies::All { all } else { 1 };
        let lasting: u64 = draft.flows.iter().flatten().map(|(_, n)| u64::from(*n)).sum();
        let all = lasting + u64::from(draft.opens().is_some());
        of(trace.users, draft.users.map_or(1, u64::from)) * trace.flows.map_or(all, |flows| of(flows, all))
    }

    fn histogram(&self, of: &str) -> Result<Histogram, Trouble> {
        let parts = parts(of)?;
        let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
        let no_index = || parts.iter().try_for_each(no_index);
        match names[..] {
            ["links", link, "queue", name] => {
                no_index()?;
                let link = find(self.links, |l| &l.name, link, "link")?;
                let found = match name {
                    "packets" => Histogram::Packets(link),
                    "at_drop" => Histogram::AtDrop(link),
                    "delay" => Histogram::QueueDelay(link),
                    other => return Err(no_histogram(other, &["packets", "at_drop", "delay"])),
                };
                self.queue_observable(self.links[link].link.as_ref(), 0, "packets")?;
                Ok(found)
            }
            ["links", link, "classes", class, "queue", name] => {
                no_index()?;
                let link = find(self.links, |l| &l.name, link, "link")?;
                let classes = self.classes.ok_or(None)?;
                let class = find(classes, String::as_str, class, "class")?;
                if name != "delay" {
                    return Err(no_histogram(name, &["delay"]));
                }
                self.queue_observable(self.links[link].link.as_ref(), 0, "packets")?;
                Ok(Histogram::ClassQueueDelay(link, class))
            }
            ["groups", group, "users", name] => {
                no_index()?;
                let group = find(self.groups, |g| &g.name, group, "group")?;
                if name != "delay" {
                    return Err(no_histogram(name, &["delay"]));
                }
                Ok(Histogram::UsersDelay(group))
            }
            ["groups", group, "classes", class, name] => {
                no_index()?;
                let index = find(self.groups, |g| &g.name, group, "group")?;
                let (classes, sends) = (self.classes.ok_or(None)?, self.groups[index].classes.as_ref());
                let sent = |class: &&String| sends.is_none_or(|s| s.iter().any(|s| s.class == **class));
                let own: Vec<&String> = classes.iter().filter(sent).collect();
                let class = own[find(&own, |class| class, class, "class of the group")?];
                if name != "delay" {
                    return Err(no_histogram(name, &["delay"]));
                }
                Ok(Histogram::ClassDelay(index, find(classes, String::as_str, class, "class")?))
            }
            ["groups", group, "transfers", name] => {
                no_index()?;
                let index = find(self.groups, |g| &g.name, group, "group")?;
                let draft = &self.groups[index];
                let found = match name {
                    "completion" => Histogram::Completion(index),
                    "first_byte" => Histogram::FirstByte(index),
                    other => return Err(no_histogram(other, &["completion", "first_byte"])),
                };
                if draft.opens().is_none() && draft.traffic.is_some() {
                    return Err(Some(
                        "this group opens no flows during the run, so it has no transfers".into(),
                    ));
                }
                Ok(found)
            }
            ["groups", group, name] => {
                no_index()?;
                let group = find(self.groups, |g| &g.name, group, "group")?;
                let sends = self.groups[group].classes.as_ref().ok_or(None)?;
                match name {
                    "delay" => Ok(Histogram::Delay(group)),
                    "rtt" if sends.iter().any(|sends| sends.tcp) => Ok(Histogram::Rtt(group)),
                    "rtt" => Err(Some("this group has no TCP, so it takes no round-trip times".into())),
                    other => Err(no_histogram(other, &["delay", "rtt", "users.delay"])),
                }
            }
            _ => Err(Some(format!(
                "{} is no histogram; valid names are {}",
                quoted(of),
                HISTOGRAMS.map(quoted).join(", ")
            ))),
        }
    }

    /// Which copies of a component a part of a path takes.
    fn copies(&self, component: Component, per: Option<Per>, part: &Part) -> Result<Copies, Trouble> {
        if let (Some(Per::Shared), Some(Copies::One(_))) = (per, part.index) {
            return Err(Some(format!("{} is shared and takes no index", quoted(part.name))));
        }
        in_range(part.index, per.and_then(|per| self.count(component, per)), "copies")
    }

    /// How many copies of a component there are; unknown while a group is.
    fn count(&self, component: Component, per: Per) -> Option<u64> {
        if per == Per::Shared {
            return Some(1);
        }
        *self
            .counts
            .borrow_mut()
            .entry((component, per))
            .or_insert_with(|| copies(self.groups, component, per))
    }

    /// How many series a target makes.
    fn taken(&self, target: &Target) -> u64 {
        let of = |copies, component, per: Option<Per>| match copies {
            Copies::One(_) => 1,
            Copies::All => per.and_then(|per| self.count(component, per)).unwrap_or(1),
        };
        match *target {
            Target::Queue { link, copies, .. }
            | Target::Loss { link, copies, .. }
            | Target::Link { link, copies, .. } => of(copies, Component::Link(link), self.links[link].per),
            Target::Node { link, copies, node, .. } => {
                let draft = &self.links[link];
                let per = match draft.link.as_ref().map(Link::scheduler_per) {
                    Some(SchedulerPer::Flow) => Per::Flow,
                    _ => Per::User,
                };
                let leaves = match node {
                    Node::Leaves(Copies::All) => self.count(Component::Link(link), per).unwrap_or(1),
                    _ => 1,
                };
                leaves * of(copies, Component::Link(link), draft.per)
            }
            Target::Stage { stage, copies, .. } => {
                of(copies, Component::Stage(stage), self.stages[stage].per)
            }
            Target::Flow { group, users, flows, .. } => {
                let draft = &self.groups[group];
                let all_users = draft.users.map_or(1, u64::from);
                let all_flows = draft.flows.iter().flatten().map(|(_, n)| u64::from(*n)).sum();
                let of = |copies, all| if copies == Copies::All { all } else { 1 };
                of(users, all_users) * of(flows, all_flows)
            }
        }
    }

    /// The one spelling of a target, which names the series in a record.
    fn name(&self, target: &Target) -> String {
        let index = |copies| match copies {
            Copies::All => "[*]".to_owned(),
            Copies::One(n) => format!("[{n}]"),
        };
        let of = |name: &str, per: Option<Per>, copies| match per {
            None | Some(Per::Shared) => name.to_owned(),
            Some(_) => format!("{name}{}", index(copies)),
        };
        match *target {
            Target::Queue { link, way, copies, observable } => {
                let draft = &self.links[link];
                format!("links.{}.{}queue.{observable}", of(&draft.name, draft.per, copies), REVERSED[way])
            }
            Target::Loss { link, way, copies, observable } => {
                let draft = &self.links[link];
                format!("links.{}.{}loss.{observable}", of(&draft.name, draft.per, copies), REVERSED[way])
            }
            Target::Node { link, copies, node, observable } => {
                let draft = &self.links[link];
                let scheduler =
                    draft.link.as_ref().and_then(|l| l.forward.queue.as_ref()?.scheduler.as_ref());
                let node = match node {
                    Node::Named(n) => {
                        let names = scheduler.map(|s| evenflow_queue::htb::class_names(&s.values));
                        format!("classes.{}", names.into_iter().flatten().nth(n as usize).unwrap_or_default())
                    }
                    Node::Leaves(leaves) => format!("leaves{}", index(leaves)),
                };
                format!("links.{}.queue.{node}.{observable}", of(&draft.name, draft.per, copies))
            }
            Target::Link { link, copies, counter } => {
                let draft = &self.links[link];
                format!("links.{}.{counter}", of(&draft.name, draft.per, copies))
            }
            Target::Stage { stage, copies, observable } => {
                let draft = &self.stages[stage];
                format!("stages.{}.{observable}", of(&draft.name, draft.per, copies))
            }
            Target::Flow { group, users, flows, observable } => {
                let name = &self.groups[group].name;
                format!("groups.{name}.users{}.flows{}.{observable}", index(users), index(flows))
            }
        }
    }
}
