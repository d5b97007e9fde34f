//! `[record]`: decodes its targets to components, copies and observables.

use std::cell::RefCell;
use std::collections::BTreeMap;

use evenflow_base::Duration;
use evenflow_base::schema::{Observable, Range, Type};
use evenflow_transport::sender::observe::{View, is_probed};
use serde_json::Value as Json;

use super::drafts::Network;
use super::table::{Table, unknown_keys};
use super::{TABLE, TEXT, section, single};
use crate::errors::{At, quoted, suggestion};
use crate::model::{
    Component, Copies, EventKind, Every, Histogram, Hop, Link, Per, REVERSED, Record, SchedulerPer, Series,
    Spec, Subject, Target, Traced,
};
use crate::sections::{FLOW, LINK, LOSS, QUEUE, RECORD, SERIES};

/// Values a run may record in all its series: more is a slip, and would not fit anywhere.
const MOST_VALUES: f64 = 1e9;

/// Flows that a run may trace.
const MOST_TRACED: u64 = 1000;

/// `[record]`. `classes` are the traffic classes, if they are known.
pub(super) fn record(
    root: &Table,
    network: &Network,
    classes: Option<&Vec<String>>,
    duration: Option<Duration>,
) -> Option<Record> {
    let reader = Reader { network, classes: classes.map(Vec::as_slice), counts: RefCell::default() };
    let record = section(root, "record", Some(&RECORD), &network.at, |table, at| {
        let mut record = Record {
            series: reader.all_series(table, duration, at),
            histograms: distinct(table, "histograms", "paths", at, |json, at| {
                reader.histogram(at.text(json, TEXT)?, at)
            }),
            events: distinct(table, "events", &EventKind::WORDS.join(", "), at, event),
            trace: reader.traces(table, at),
        };
        record.trace.sort_unstable_by(|a, b| a.of.cmp(&b.of));
        // Their order in the file means nothing, so it must not show in a record.
        record.histograms.sort_unstable();
        const ORDER: [EventKind; 5] =
            [EventKind::Arrival, EventKind::Drop, EventKind::Mark, EventKind::Open, EventKind::Close];
        record.events.sort_unstable_by_key(|kind| ORDER.iter().position(|other| other == kind));
        Some(Some(record))
    })?;
    Some(record.unwrap_or_default())
}

/// The items of one of the lists, with their places.
fn items<'t, 'a>(record: &'t Table, key: &str, of: &str, at: &At<'a>) -> Vec<(&'t Json, At<'a>)> {
    let at = at.key(key);
    let list = record.get(key).and_then(|json| at.list(json, &format!("a list of {of} is needed")));
    list.unwrap_or_default().iter().enumerate().map(|(i, item)| (item, at.item(i))).collect()
}

/// The items of one of the lists, without duplicates.
fn distinct<T: PartialEq>(
    record: &Table,
    key: &str,
    of: &str,
    at: &At,
    read: impl Fn(&Json, &At) -> Option<T>,
) -> Vec<T> {
    let mut all = Vec::new();
    for (json, at) in items(record, key, of, at) {
        match read(json, &at) {
            Some(item) if all.contains(&item) => at.error("appears twice"),
            item => all.extend(item),
        }
    }
    all
}

fn event(json: &Json, at: &At) -> Option<EventKind> {
    let words = EventKind::WORDS;
    let word = at.text(json, &format!("one of {} is needed", words.join(", ")))?;
    if words.contains(&word) {
        return Some(EventKind::of(word));
    }
    at.none(format!("no event is called {}{}", quoted(word), suggestion(word, words.iter().copied())))
}

/// A histogram of a link or group, and of a class.
type Make = fn(usize, usize) -> Histogram;

/// All histograms by name.
const HISTOGRAMS: [(&str, Make); 10] = [
    ("links.NAME.queue.packets", |link, _| Histogram::Packets(link)),
    ("links.NAME.queue.at_drop", |link, _| Histogram::AtDrop(link)),
    ("links.NAME.queue.delay", |link, _| Histogram::QueueDelay(link)),
    ("links.NAME.classes.CLASS.queue.delay", Histogram::ClassQueueDelay),
    ("groups.NAME.delay", |group, _| Histogram::Delay(group)),
    ("groups.NAME.users.delay", |group, _| Histogram::UsersDelay(group)),
    ("groups.NAME.rtt", |group, _| Histogram::Rtt(group)),
    ("groups.NAME.classes.CLASS.delay", Histogram::ClassDelay),
    ("groups.NAME.transfers.completion", |group, _| Histogram::Completion(group)),
    ("groups.NAME.transfers.first_byte", |group, _| Histogram::FirstByte(group)),
];

/// Recorded subjects with an observable, and the first item of a list with each.
#[derive(Default)]
struct Taken(BTreeMap<(Subject, &'static str, [Option<u32>; 2]), usize>);

/// A number for any copy, above all valid ones.
const ANY: Option<u32> = Some(u32::MAX);

impl Taken {
    /// Item `number` takes these copies, unless an item has one of them already: the first that does.
    fn take(&mut self, Target { of, copies, inner, observable }: Target, number: usize) -> Option<usize> {
        let index = |copies| match copies {
            Copies::All => None,
            Copies::One(n) => Some(n),
        };
        let (a, b) = (index(copies), index(inner));
        // One copy collides with the same copy and with all; all collide with any.
        let met = |x: Option<u32>| if x.is_none() { vec![ANY] } else { vec![x, None] };
        let found = met(a)
            .into_iter()
            .flat_map(|a| met(b).into_iter().map(move |b| [a, b]))
            .filter_map(|copies| self.0.get(&(of, observable, copies)).copied())
            .min();
        if found.is_none() {
            for copies in [[a, b], [a, ANY], [ANY, b], [ANY, ANY]] {
                self.0.entry((of, observable, copies)).or_insert(number);
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

fn parts<'p>(of: &'p str, at: &At) -> Option<Vec<Part<'p>>> {
    let part = |part: &'p str| {
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
            let part = quoted(part);
            return at.none(format!(
                "cannot read {part}; an index is a number from 0 or \"*\", as in \
                 \"links.access[2].queue.packets\""
            ));
        }
        Some(Part { name, index })
    };
    of.split('.').map(part).collect()
}

/// The item named `name`, or an error. Items are sorted by name.
fn find<'a, T>(
    items: &'a [T],
    name_of: impl Fn(&'a T) -> &'a str,
    name: &str,
    what: &str,
    at: &At,
) -> Option<usize> {
    items.binary_search_by(|item| name_of(item).cmp(name)).ok().or_else(|| {
        let near = suggestion(name, items.iter().map(name_of));
        at.none(format!("no {what} is called {}{near}", quoted(name)))
    })
}

fn no_index<'p>(parts: impl IntoIterator<Item = &'p Part<'p>>, at: &At) -> Option<()> {
    match parts.into_iter().find(|part| part.index.is_some()) {
        None => Some(()),
        Some(part) => at.none(format!("{} takes no index", quoted(part.name))),
    }
}

/// The observable called `name` among those that may be.
fn observable(
    name: &str,
    valid: impl Iterator<Item = &'static str> + Clone,
    whose: &str,
    at: &At,
) -> Option<&'static str> {
    let found = valid.clone().find(|v| *v == name);
    found
        .or_else(|| at.none(format!("{whose} has no observable {}{}", quoted(name), suggestion(name, valid))))
}

fn named(observables: &'static [Observable]) -> impl Iterator<Item = &'static str> + Clone {
    observables.iter().map(|o| o.name)
}

/// Whether an index of things that `count` there are is one of them.
fn in_range(index: Option<Copies>, count: Option<u64>, what: &str, at: &At) -> Option<Copies> {
    let copies = index.unwrap_or(Copies::All);
    match (copies, count) {
        (Copies::One(_), Some(0)) => at.none(format!("there is no {what}: no path leads here")),
        (Copies::One(n), Some(count)) if u64::from(n) >= count => {
            at.none(format!("index {n} is out of range: there are {count}, counted from 0 ({what})"))
        }
        _ => Some(copies),
    }
}

/// The tree of classes of a link; errors of the link are reported elsewhere.
fn tree<'l>(link: Option<&'l Link>, at: &At) -> Option<&'l Spec> {
    let queue = link?.forward.queue.as_ref();
    let tree = queue.and_then(|q| q.scheduler.as_ref()).filter(|s| s.mechanism.traits.tree);
    tree.or_else(|| {
        let all = crate::catalogue::all(evenflow_base::schema::Room::Scheduler);
        let trees: Vec<String> = all.iter().filter(|m| m.traits.tree).map(|m| quoted(m.kind)).collect();
        at.none(format!("only the scheduler {} has classes to observe", trees.join(" or ")))
    })
}

/// Components that a path of `[record]` may name.
struct Reader<'a> {
    network: &'a Network<'a>,
    /// Traffic classes; `None`: what decides on them has errors.
    classes: Option<&'a [String]>,
    /// Copies of components as they were counted, so that many series count them once.
    counts: RefCell<BTreeMap<(Component, Per), Option<u64>>>,
}

impl Reader<'_> {
    fn all_series(&self, table: &Table, duration: Option<Duration>, at: &At) -> Vec<Series> {
        let (mut all, mut taken, mut values) = (Vec::new(), Taken::default(), 0.0);
        for (json, at) in items(table, "series", "{ of, every } tables", at) {
            let Some(series) = self.series(json, &at) else { continue };
            if let Some(other) = taken.take(series.target, all.len()) {
                at.key("of").error(format!("record.series[{other}] has it already"));
            }
            if let (Every::Interval(every), Some(duration)) = (series.every, duration) {
                values += duration.seconds() / every.seconds() * self.taken(&series.target) as f64;
                if values > MOST_VALUES {
                    at.key("every").error(format!(
                        "too fine: {values:.1e} values in all; at most {MOST_VALUES:.0e} are possible"
                    ));
                }
            }
            all.push(series);
        }
        all
    }

    fn traces(&self, table: &Table, at: &At) -> Vec<Traced> {
        let (mut all, mut taken, mut traced, mut last) = (Vec::new(), Taken::default(), 0, at.clone());
        for (json, at) in items(table, "trace", "paths to flows", at) {
            let Some(trace) = at.text(json, TEXT).and_then(|of| self.traced(of, &at)) else { continue };
            let inner = trace.flows.unwrap_or(Copies::All);
            let flows = Target { of: Subject::Flow(trace.group), copies: trace.users, inner, observable: "" };
            if let Some(other) = taken.take(flows, all.len()) {
                at.error(format!("record.trace[{other}] has it already"));
                continue;
            }
            traced += self.flows_of(&trace);
            last = at;
            all.push(trace);
        }
        if traced > MOST_TRACED {
            last.error(format!(
                "a trace of {traced} flows: at most {MOST_TRACED} can be followed packet by packet; name some, \
                 as in \"groups.NAME.users[0].flows[0]\""
            ));
        }
        all
    }

    fn series(&self, json: &Json, at: &At) -> Option<Series> {
        let table = at.table(json, TABLE)?;
        unknown_keys(table, SERIES.names(), at);
        let (of_at, at) = (at.key("of"), at.key("every"));
        let target = match table.get("of") {
            Some(json) => of_at.text(json, TEXT).and_then(|of| self.target(of, &of_at)),
            None => of_at
                .none("is required: the quantity to record, for example \"links.bottleneck.queue.packets\""),
        };
        let every = match table.get("every") {
            Some(Json::String(word)) if word == "packet" => Some(Every::Packet),
            Some(Json::String(word)) if word == "departure" => Some(Every::Departure),
            Some(json) => single(json, Type::Duration, &Range::POSITIVE, &at)
                .and_then(|v| v.number())
                .map(|s| Every::Interval(Duration::from_seconds(s))),
            None => at.none("is required: a duration, for example \"10 ms\", or \"packet\""),
        };
        let (target, every) = (target?, every?);
        let probed = matches!(target.of, Subject::Flow(_)) && is_probed(target.observable);
        let counted = evenflow_queue::held::is_counter(target.observable);
        let why = match (every, target.of) {
            (Every::Packet, Subject::Queue(..) | Subject::Class(..) | Subject::Leaves(_)) if counted => {
                format!("{} is a counter; a duration is needed here", quoted(target.observable))
            }
            (Every::Packet | Every::Interval(_), Subject::Loss(..)) => {
                "a random loss has a value for each lost packet; write \"departure\"".into()
            }
            (Every::Packet, Subject::Link(_) | Subject::Flow(_)) if !probed => {
                "\"packet\" is for queues and stages only; a duration is needed here".into()
            }
            (Every::Departure, _) if !self.decides_at_departure(&target) => {
                "\"departure\" is for random losses, and for queues that drop or mark leaving packets: codel, \
                 fq, fq-codel, cobalt and dualpi2"
                    .into()
            }
            (Every::Interval(_), _) if probed => "a probe records each segment; write \"packet\"".into(),
            _ => return Some(Series { of: self.name(&target), target, every }),
        };
        at.none(why)
    }

    /// The target of `of`.
    fn target(&self, of: &str, at: &At) -> Option<Target> {
        let parts = parts(of, at)?;
        no_index(&parts[..1], at)?;
        match parts[0].name {
            "links" => self.link_target(of, &parts[1..], at),
            "stages" => self.stage_target(of, &parts[1..], at),
            "groups" => self.flow_target(of, &parts[1..], at),
            other => {
                let near = suggestion(other, ["links", "stages", "groups"]);
                at.none(format!("{} is neither links, stages nor groups{near}", quoted(other)))
            }
        }
    }

    fn link_target(&self, of: &str, parts: &[Part], at: &At) -> Option<Target> {
        let counters = || LINK.counters.iter().map(|c| c.name).chain(named(LINK.observables));
        let incomplete = || {
            let names: Vec<&str> = counters().collect();
            at.none(format!(
                "{} names no quantity; write \"links.NAME.queue.packets\", bytes, wait, or one of the link: \
                 links.NAME.{}",
                quoted(of),
                names.join(", ")
            ))
        };
        let Some(part) = parts.first() else { return incomplete() };
        let number = self.link(part.name, at)?;
        let draft = &self.network.links[number];
        let link = draft.link.as_ref();
        let copies = self.copies(Component::Link(number), draft.per, part, at)?;
        let (way, rest) = match &parts[1..] {
            [reverse, rest @ ..] if reverse.name == "reverse" => {
                no_index([reverse], at)?;
                (1, rest)
            }
            rest => (0, rest),
        };
        let names: Vec<&str> = rest.iter().map(|part| part.name).collect();
        let observed = |of, inner, observable| Some(Target { of, copies, inner, observable });
        let one = Copies::One(0);
        let whole = || no_index(rest, at);
        match names[..] {
            ["queue", name] => {
                whole()?;
                observed(Subject::Queue(number, way), one, self.queue_observable(link, way, name, at)?)
            }
            ["loss", name] => {
                whole()?;
                let observable = observable(name, named(LOSS.observables), "the loss of a link", at)?;
                if !link?.loss.as_ref().is_some_and(|loss| loss.ways.contains(&way)) {
                    return at.none(format!("this direction of {} loses no packets", quoted(part.name)));
                }
                observed(Subject::Loss(number, way), one, observable)
            }
            _ if way == 1 => at.none(format!(
                "{} names no quantity; the reverse direction has links.NAME.reverse.queue.packets and the like",
                quoted(of)
            )),
            ["queue", "classes", class, name] => {
                whole()?;
                let tree = tree(link, at)?;
                let names: Vec<&str> = evenflow_queue::htb::class_names(&tree.values).collect();
                let class = find(&names, |name| name, class, "class", at)? as u32;
                let observable = observable(name, named(tree.mechanism.observables), "a class", at)?;
                observed(Subject::Class(number, class), one, observable)
            }
            ["queue", "leaves", name] => {
                no_index([&rest[0], &rest[2]], at)?;
                let tree = tree(link, at)?;
                if link?.scheduler_per() == SchedulerPer::Class {
                    return at.none("leaves have names here: \"links.NAME.queue.classes.CLASS.tokens\"");
                }
                let leaves = in_range(rest[1].index, self.leaves(number), "leaves", at)?;
                let observable = observable(name, named(tree.mechanism.observables), "a class", at)?;
                observed(Subject::Leaves(number), leaves, observable)
            }
            [name] if name != "queue" => {
                whole()?;
                let counter = observable(name, counters().chain(["queue"]), "a link", at)?;
                if counter == "rate" && link?.forward.rate.is_none() {
                    return at.none("this link has no rate");
                }
                observed(Subject::Link(number), one, counter)
            }
            _ => incomplete(),
        }
    }

    fn link(&self, name: &str, at: &At) -> Option<usize> {
        find(&self.network.links, |l| &l.name, name, "link", at)
    }

    fn group(&self, name: &str, at: &At) -> Option<usize> {
        find(&self.network.groups, |g| &g.name, name, "group", at)
    }

    /// Whether a target is a value of a random loss, or of a queue that drops or marks packets as they leave.
    fn decides_at_departure(&self, target: &Target) -> bool {
        let Subject::Queue(link, way) = target.of else { return matches!(target.of, Subject::Loss(..)) };
        let decides = |kind: &str| evenflow_queue::notes_departures(kind, target.observable);
        let queue = |link: &Link| link.queue(way).map(|queue| queue.rule.mechanism.kind);
        self.network.links[link].link.as_ref().is_none_or(|link| queue(link).is_some_and(decides))
    }

    /// The observable of a link's queue; errors of the link are reported elsewhere.
    fn queue_observable(&self, link: Option<&Link>, way: usize, name: &str, at: &At) -> Option<&'static str> {
        let link = link?;
        let reverse = link.reverse.as_ref().filter(|_| way == 1);
        if reverse.unwrap_or(&link.forward).rate.is_none() {
            return at.none("this link has no rate, so it has no queue");
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
            return at.none(format!(
                "{} belongs to a class, \"links.NAME.queue.classes.CLASS.{name}\", or to a user or flow, \
                 \"links.NAME.queue.leaves[0].{name}\"",
                quoted(name)
            ));
        }
        let scheduler = scheduler.filter(|_| tree.is_none());
        let own = [rule, scheduler].into_iter().flatten().flat_map(|m| named(m.observables));
        let whose = rule.map_or("this queue".into(), |rule| format!("this {} queue", rule.kind));
        observable(name, named(QUEUE.observables).chain(own), &whose, at)
    }

    fn stage_target(&self, of: &str, parts: &[Part], at: &At) -> Option<Target> {
        let [part, rest @ ..] = parts else { return at.none(format!("{} names no stage", quoted(of))) };
        let stage = find(&self.network.stages, |s| &s.name, part.name, "stage", at)?;
        let draft = &self.network.stages[stage];
        let copies = self.copies(Component::Stage(stage), draft.per, part, at)?;
        let mechanism = draft.mechanism?;
        let [name] = rest else {
            let names: Vec<&str> = named(mechanism.observables).collect();
            return at.none(format!("{} needs one observable: {}", quoted(of), names.join(", ")));
        };
        no_index(rest, at)?;
        let whose = format!("this {} stage", mechanism.kind);
        let observable = observable(name.name, named(mechanism.observables), &whose, at)?;
        Some(Target { of: Subject::Stage(stage), copies, inner: Copies::One(0), observable })
    }

    fn flow_target(&self, of: &str, parts: &[Part], at: &At) -> Option<Target> {
        let [group, users, flows, name] = parts else {
            return at.none(format!(
                "{} is no path to a flow; write \"groups.NAME.users[0].flows[0].window\"",
                quoted(of)
            ));
        };
        no_index([group, name], at)?;
        users_and_flows(&parts[1..3], at)?;
        let index = self.group(group.name, at)?;
        let draft = &self.network.groups[index];
        let controls = draft.traffic.iter().flatten().filter_map(|t| t.tcp.as_ref()?.as_ref());
        let own = controls.flat_map(|tcp| named(tcp.congestion_control.mechanism.observables));
        let valid = named(View::OBSERVABLES).chain(named(FLOW)).chain(own);
        let observable = observable(name.name, valid, "a flow", at)?;
        let of_sender = !named(FLOW).any(|name| name == observable);
        let (per_user, kind) = (draft.lasting_flows(), draft.opens());
        let transfers = format!("groups.{}.transfers", draft.name);
        let opened = match (kind, flows.index, per_user) {
            // Flows that open during the run have numbers after the user's initial flows.
            (Some(_), Some(Copies::One(n)), Some(lasting)) => u64::from(n) >= lasting,
            (Some(kind), _, Some(0)) => {
                return at.none(format!(
                    "{kind} opens its flows during the run, so their number is unknown: name one, \
                     \"flows[0]\" for a user's first; see {transfers}"
                ));
            }
            _ => false,
        };
        let copies = in_range(users.index, draft.users.map(u64::from), "users of the group", at)?;
        let target = |inner| Target { of: Subject::Flow(index), copies, inner, observable };
        if let (true, Some(kind)) = (opened, kind) {
            if !of_sender || is_probed(observable) {
                return at.none(format!(
                    "{kind} opens its flows during the run; they have no {observable}; see {transfers}"
                ));
            }
            return flows.index.map(target);
        }
        let flows = in_range(flows.index, per_user, "flows of a user", at)?;
        if let Some(blocks) = draft.flows.as_deref().filter(|_| of_sender) {
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
                return at.none(format!("datagrams have no {observable}"));
            }
        }
        Some(target(flows))
    }

    /// The flows that a path leads to: those of a group, of a user, or one of them.
    fn traced(&self, of: &str, at: &At) -> Option<Traced> {
        let parts = parts(of, at)?;
        let (root, group, rest) = match parts.as_slice() {
            [root, group, rest @ ..] if root.name == "groups" && rest.len() <= 2 => (root, group, rest),
            _ => {
                return at.none(format!(
                    "{} is no path to flows; write \"groups.NAME\", \"groups.NAME.users[0]\" or \
                     \"groups.NAME.users[0].flows[0]\"",
                    quoted(of)
                ));
            }
        };
        no_index([root, group], at)?;
        users_and_flows(rest, at)?;
        let index = self.group(group.name, at)?;
        let draft = &self.network.groups[index];
        // Before each link a packet is looked at, which takes a place on its way, of which it counts so many.
        let sends = |hop: &&Hop| match hop.component {
            Component::Stage(i) => self.network.stages[i].mechanism.is_some_and(|m| m.traits.sends),
            Component::Link(_) => false,
        };
        let (count, senders) = (draft.hops().count(), draft.hops().filter(sends).count());
        let places = 4 * count;
        if places + 7 + senders * (places + 3) > usize::from(u8::MAX) {
            return at.none(format!("its path of {count} components is too long for a trace"));
        }
        let users = rest.first().and_then(|part| part.index);
        let users = in_range(users, draft.users.map(u64::from), "users of the group", at)?;
        let name = &draft.name;
        let per_user = draft.lasting_flows();
        let flows = match (rest.get(1), draft.opens()) {
            (None, _) => None,
            (Some(_), Some(kind)) if per_user == Some(0) => {
                return at.none(format!(
                    "{kind} opens its flows during the run, so they have no number yet; trace a user: \
                     \"groups.{name}.users[0]\""
                ));
            }
            (Some(part), _) => Some(in_range(part.index, per_user, "flows of a user", at)?),
        };
        let tail = flows.map_or_else(String::new, |flows| format!(".flows{flows}"));
        Some(Traced { of: format!("groups.{name}.users{users}{tail}"), group: index, users, flows })
    }

    /// The number of flows of a trace, as far as known; one for each user who opens flows during the run.
    fn flows_of(&self, trace: &Traced) -> u64 {
        let draft = &self.network.groups[trace.group];
        let of = |copies, all| if copies == Copies::All { all } else { 1 };
        let all = draft.lasting_flows().unwrap_or(0) + u64::from(draft.opens().is_some());
        of(trace.users, draft.users.map_or(1, u64::from)) * trace.flows.map_or(all, |flows| of(flows, all))
    }

    fn histogram(&self, of: &str, at: &At) -> Option<Histogram> {
        let parts = parts(of, at)?;
        let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
        let (last, path) = names.split_last()?;
        let fits = |(own, name): (&str, &&str)| own == *name || matches!(own, "NAME" | "CLASS");
        let begins = |pattern: &str| {
            pattern.split('.').count() >= names.len() && pattern.split('.').zip(path).all(fits)
        };
        let rest = |pattern: &str| pattern.split('.').skip(path.len()).collect::<Vec<_>>().join(".");
        let alike: Vec<(String, Make)> = HISTOGRAMS
            .iter()
            .filter(|(pattern, _)| begins(pattern))
            .map(|(pattern, histogram)| (rest(pattern), *histogram))
            .collect();
        if alike.iter().all(|(rest, _)| rest.contains('.')) {
            return at.none(format!(
                "{} is no histogram; valid names are {}",
                quoted(of),
                HISTOGRAMS.map(|(pattern, _)| quoted(pattern)).join(", ")
            ));
        }
        no_index(&parts, at)?;
        let is_link = names[0] == "links";
        let index = if is_link { self.link(names[1], at)? } else { self.group(names[1], at)? };
        let class = match names[2] {
            "classes" => self.class(names[3], (!is_link).then_some(index), at)?,
            _ => 0,
        };
        let Some((_, histogram)) = alike.iter().find(|(rest, _)| rest == last) else {
            let near = suggestion(last, alike.iter().map(|(rest, _)| rest.as_str()));
            return at.none(format!("no histogram is called {}{near}", quoted(last)));
        };
        let histogram = histogram(index, class);
        if is_link {
            self.queue_observable(self.network.links[index].link.as_ref(), 0, "packets", at)?;
            return Some(histogram);
        }
        let draft = &self.network.groups[index];
        match histogram {
            Histogram::Completion(_) | Histogram::FirstByte(_)
                if draft.opens().is_none() && draft.traffic.is_some() =>
            {
                at.none("this group opens no flows during the run, so it has no transfers")
            }
            Histogram::Rtt(_) if !draft.classes.as_ref()?.iter().any(|sends| sends.tcp) => {
                at.none("this group has no TCP, so it takes no round-trip times")
            }
            _ => Some(histogram),
        }
    }

    /// A traffic class by name; with a group, one that it sends.
    fn class(&self, name: &str, group: Option<usize>, at: &At) -> Option<usize> {
        let classes = self.classes?;
        let sends = group.and_then(|group| self.network.groups[group].classes.as_ref());
        let sent = |class: &&String| sends.is_none_or(|s| s.iter().any(|s| s.class == **class));
        let own: Vec<&String> = classes.iter().filter(sent).collect();
        let what = if group.is_some() { "class of the group" } else { "class" };
        let class = own[find(&own, |class| class, name, what, at)?];
        classes.iter().position(|other| other == class)
    }

    /// Which copies of a component a part of a path takes.
    fn copies(&self, component: Component, per: Option<Per>, part: &Part, at: &At) -> Option<Copies> {
        if let (Some(Per::Shared), Some(Copies::One(_))) = (per, part.index) {
            return at.none(format!("{} is shared and takes no index", quoted(part.name)));
        }
        in_range(part.index, per.and_then(|per| self.count(component, per)), "copies", at)
    }

    /// How many copies of a component there are; unknown while a group is.
    fn count(&self, component: Component, per: Per) -> Option<u64> {
        let mut counts = self.counts.borrow_mut();
        *counts.entry((component, per)).or_insert_with(|| self.network.copies(component, per))
    }

    /// How many leaves of users or flows the scheduler of a link has.
    fn leaves(&self, link: usize) -> Option<u64> {
        let draft = self.network.links[link].link.as_ref();
        let by_flow = draft.is_some_and(|link| link.scheduler_per() == SchedulerPer::Flow);
        self.count(Component::Link(link), if by_flow { Per::Flow } else { Per::User })
    }

    /// For whom a component has copies.
    fn per(&self, component: Component) -> Option<Per> {
        match component {
            Component::Link(link) => self.network.links[link].per,
            Component::Stage(stage) => self.network.stages[stage].per,
        }
    }

    /// How many series a target makes, as far as is known.
    fn taken(&self, target: &Target) -> u64 {
        let copies = |component| self.count(component, self.per(component)?);
        let (all, all_inner) = match target.of {
            Subject::Flow(group) => {
                let draft = &self.network.groups[group];
                (draft.users.map(u64::from), draft.lasting_flows())
            }
            Subject::Leaves(link) => (copies(Component::Link(link)), self.leaves(link)),
            of => (of.component().and_then(copies), None),
        };
        let of = |copies, all: Option<u64>| if copies == Copies::All { all.unwrap_or(1) } else { 1 };
        of(target.copies, all) * of(target.inner, all_inner)
    }

    /// The one spelling of a target, which names the series in a record.
    fn name(&self, target: &Target) -> String {
        let Target { of, copies, inner, observable } = *target;
        let Network { links, stages, groups, .. } = self.network;
        let shared = |component| matches!(self.per(component), None | Some(Per::Shared));
        let index = of.component().filter(|of| !shared(*of)).map_or(String::new(), |_| copies.to_string());
        let link = |link: usize| format!("links.{}{index}", links[link].name);
        match of {
            Subject::Queue(l, way) => format!("{}.{}queue.{observable}", link(l), REVERSED[way]),
            Subject::Loss(l, way) => format!("{}.{}loss.{observable}", link(l), REVERSED[way]),
            Subject::Class(l, n) => {
                let draft = links[l].link.as_ref();
                let scheduler = draft.and_then(|l| l.forward.queue.as_ref()?.scheduler.as_ref());
                let mut names =
                    scheduler.into_iter().flat_map(|s| evenflow_queue::htb::class_names(&s.values));
                let class = names.nth(n as usize).unwrap_or_default();
                format!("{}.queue.classes.{class}.{observable}", link(l))
            }
            Subject::Leaves(l) => format!("{}.queue.leaves{inner}.{observable}", link(l)),
            Subject::Link(l) => format!("{}.{observable}", link(l)),
            Subject::Stage(stage) => format!("stages.{}{index}.{observable}", stages[stage].name),
            Subject::Flow(group) => {
                format!("groups.{}.users{copies}.flows{inner}.{observable}", groups[group].name)
            }
        }
    }
}

/// Whether these parts are `users` and `flows`, or the first of them.
fn users_and_flows(parts: &[Part], at: &At) -> Option<()> {
    let wrong = parts.iter().zip(["users", "flows"]).find(|(part, expected)| part.name != *expected);
    let Some((part, expected)) = wrong else { return Some(()) };
    at.none(format!("\"{expected}\" is needed in place of {}", quoted(part.name)))
}
