//! `[links]` and `[stages]`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use evenflow_base::bucket;
use evenflow_base::options::OUTER;
use evenflow_base::schema::{Law, Mechanism, Mouth, Param, Place, Range, Room, Type, Value, Values, Way};
use evenflow_base::{Duration, Rate, Time};
use evenflow_queue::htb::leaf_names;
use evenflow_queue::{Admission, LinkFacts};
use evenflow_stage::rewriter;
use evenflow_stage::sessions::{self, SessionWord};
use evenflow_stage::tunnel::{self, Entrance};
use serde_json::Value as Json;

use super::drafts::{GroupDraft, LinkDraft, Network, Sends, StageDraft};
use super::steps::{Versions, steps};
use super::table::{self, Table, unknown_keys};
use super::{TABLE, TEXT, by_name, mechanism_in, nothing, number, plain, seconds, section, single, typed};
use crate::errors::{At, nearest, quoted, shown, suggestion};
use crate::model::{
    Change, Component, Direction, Directions, Hop, InFlight, Jitter, Link, Loss, Lost, Order, Per, Preset,
    Queue, RateSpec, SchedulerPer, Serve, Service, Spec, Stage,
};
use crate::sections::{
    JITTER, Key, LINK, LINK_RATE, LOSS, QUEUE, REVERSE, SERVE, STAGE, jitter, link, loss, queue, reverse,
    serve,
};
use crate::{catalogue, quantity};

/// `[links.NAME]`.
pub(super) fn links(root: &Table, at: &At) -> Vec<LinkDraft> {
    let draft = |(name, at, table): (&str, At, Option<&Table>)| {
        let draft = LinkDraft { name: name.into(), ..LinkDraft::default() };
        let Some(table) = table else { return draft };
        let at = &at;
        unknown_keys(table, LINK.names(), at);
        let per = per(table, at);
        let rate = rate(table, at);
        let delay = plain(table, &link::delay, at);
        if !table.contains_key("rate") && !table.contains_key("delay") {
            at.error("a link needs a rate, a delay or both");
        }
        let queue = queue(table, table.contains_key("rate"), at);
        let reverse = reverse(table, rate.as_ref(), delay.as_ref(), at);
        let jitter = jitter(table, at);
        let loss = loss(table, at);
        let serve = serve(table, rate.as_ref(), at);
        let in_flight = in_flight(table, at);
        let back = reverse.as_ref().map(|way| way.as_ref().and_then(|way| way.queue.clone()));
        let table_back = table.get("reverse").map_or(Some(nothing()), Json::as_object);
        let marks = [marks(queue.as_ref(), Some(table)), marks(back.as_ref(), table_back)];
        let queues = [queue.clone().flatten(), back.flatten()];
        let read = loss.clone().flatten();
        let link = (|| {
            let forward = Direction { rate: rate?, delay: delay?, queue: queue?, serve: serve? };
            try_rule(&forward, at)?;
            let (jitter, loss, in_flight) = (jitter?, loss?, in_flight?);
            Some(Link { name: name.into(), per: per?, forward, reverse: reverse?, jitter, loss, in_flight })
        })();
        LinkDraft { per, queues, marks, loss: read, link, ..draft }
    };
    by_name(root, "links", at).into_iter().map(draft).collect()
}

/// Whether the queue of a direction marks packets, now or after a step. `None`: unknown because of errors.
fn marks(queue: Option<&Option<Queue>>, direction: Option<&Table>) -> Option<bool> {
    if let Some(queue) = queue {
        return Some(queue.as_ref().is_some_and(Queue::marks));
    }
    let Some(Json::Object(table)) = direction?.get("queue") else { return None };
    let scheduler = match table.get("scheduler") {
        Some(json) => Some(table::quietly(json.as_object()?, Room::Scheduler)?),
        None => None,
    };
    let rule = match table.contains_key("kind") {
        true => Some(table::quietly(table, Room::Queue)?),
        // Drop-tail, unless something else was meant.
        false if table.keys().all(|key| QUEUE.names().any(|name| name == key)) => None,
        false => return None,
    };
    let decoded = [rule, scheduler];
    let mut decoded = decoded.iter().flatten();
    if decoded.clone().any(|(mechanism, values, _)| evenflow_queue::marks(mechanism.kind, values)) {
        return Some(true);
    }
    let unknown = decoded.any(|(mechanism, values, faulty)| {
        let could_mark = |value: Value, param: &Param| {
            let mut values = values.clone();
            values.0.insert(param.name, value);
            evenflow_queue::marks(mechanism.kind, &values)
        };
        faulty.iter().any(|param| match param.ty {
            Type::Table(_) | Type::TablePerName(_) | Type::Mechanism(_) => true,
            Type::Choice(words) => words.iter().any(|word| could_mark(Value::Word((*word).into()), param)),
            Type::Flag => could_mark(Value::Flag(true), param),
            _ => could_mark(Value::Number(1.0), param),
        })
    });
    (!unknown).then_some(false)
}

/// `reverse` of a link; the outer `None` means errors.
fn reverse(
    link: &Table,
    forward_rate: Option<&Option<RateSpec>>,
    forward_delay: Option<&Value>,
    at: &At,
) -> Option<Option<Direction>> {
    section(link, "reverse", None, at, |table, at| {
        if table.is_empty() {
            return Some(None);
        }
        unknown_keys(table, REVERSE.names(), at);
        // A random value of the forward direction would be drawn again. Without `reverse`, both directions
        // share the draw.
        let drawn_again = |key: &str| {
            at.key(key).error(format!(
                "is required: the forward {key} is random and would be drawn again for this direction"
            ));
        };
        let rate = match forward_rate {
            _ if table.contains_key("rate") => rate(table, at),
            Some(Some(RateSpec::Constant(Value::Random(_)))) => {
                drawn_again("rate");
                None
            }
            same => same.cloned(),
        };
        let delay = match forward_delay {
            _ if table.contains_key("delay") => plain(table, &reverse::delay, at),
            Some(Value::Random(_)) => {
                drawn_again("delay");
                None
            }
            same => same.cloned(),
        };
        let has_rate = table.contains_key("rate") || link.contains_key("rate");
        let queue = queue(table, has_rate, at);
        let serve = serve(table, rate.as_ref(), at);
        let reverse = Direction { rate: rate?, delay: delay?, queue: queue?, serve: serve? };
        try_rule(&reverse, at)?;
        Some(Some(reverse))
    })
}

/// Makes the rule of a queue, as the link will: what follows from the link's rate and delay may contradict what is given.
fn try_rule(direction: &Direction, at: &At) -> Option<()> {
    let (Some(queue), Some(rate)) = (&direction.queue, &direction.rate) else { return Some(()) };
    let rates = match rate {
        RateSpec::Constant(Value::Random(law)) => {
            let (least, most) = law.extremes();
            vec![least.max(1.0), most.max(1.0)]
        }
        RateSpec::Constant(value) => vec![value.bounds().1],
        other => other.fixed().iter().map(|rate| rate.0).collect(),
    };
    let before = at.count();
    let at = &at.key("queue");
    let fastest = Rate(match rate {
        RateSpec::Constant(_) => rates.iter().copied().fold(0.0, f64::max),
        RateSpec::Steps(steps) => steps.iter().map(|step| step.1.0).fold(0.0, f64::max),
        RateSpec::Opportunities(..) => f64::INFINITY,
    });
    for values in table::likely(&queue.rule.values) {
        for (name, why) in evenflow_queue::Scheduler::check_link(queue.rule.mechanism.kind, &values, fastest)
        {
            at.key(name).error(why);
        }
    }
    for rate in rates.into_iter().filter(|rate| rate.is_finite()) {
        let delay = Duration::from_seconds(direction.delay.bounds().0);
        for values in table::likely(&queue.rule.values) {
            let facts = LinkFacts { rate: Some(Rate(rate)), delay, classes: &[] };
            let built = Admission::build(queue.rule.mechanism.kind, &values, facts);
            for (name, why) in built.err().unwrap_or_default() {
                at.key(name).error(format!("{why} (at a link of {rate} bit/s)"));
            }
        }
    }
    (at.count() == before).then_some(())
}

/// `jitter`; the outer `None` means errors.
fn jitter(link: &Table, at: &At) -> Option<Option<Jitter>> {
    section(link, "jitter", Some(&JITTER), at, |table, at| {
        let deviation = plain(table, &jitter::normal, at);
        let correlation = number(table, &jitter::correlation, at);
        let order = typed::<Order>(table, &jitter::order, at);
        let (from, until) = span(table, &jitter::from, &jitter::until, at);
        let ways = typed::<Directions>(table, &jitter::direction, at);
        let (deviation, correlation, order) = (deviation?, correlation?, order?);
        let jitter = Jitter { deviation, correlation, order, from: from?, until, ways: ways? };
        // Without deviation it is the same as no jitter at all.
        Some(Some(jitter).filter(|jitter| jitter.deviation.number() != Some(0.0)))
    })
}

/// `in_flight`.
fn in_flight(link: &Table, at: &At) -> Option<InFlight> {
    let steps = |table: &Table| table.get("rate").is_some_and(|rate| rate.get("steps").is_some());
    let back = link.get("reverse").and_then(Json::as_object);
    if link.contains_key("in_flight") && !steps(link) && !back.is_some_and(steps) {
        at.key("in_flight").error("has no effect without rate.steps, which change the rate");
    }
    typed::<InFlight>(link, &link::in_flight, at)
}

/// From when on something applies, and until when if not to the end.
pub(super) fn span(table: &Table, from: &Key, until: &Key, at: &At) -> (Option<Duration>, Option<Duration>) {
    let (first, end) = (number(table, from, at), number(table, until, at));
    if let (Some(first), Some(end)) = (first, end)
        && end <= first
    {
        let why = format!("must be later than {}: {end} s is not after {first} s", from.name);
        at.key(until.name).error(why);
    }
    (first.map(Duration::from_seconds), end.map(Duration::from_seconds))
}

/// `loss`: a probability, or a table with one; the outer `None` means errors.
fn loss(link: &Table, at: &At) -> Option<Option<Loss>> {
    let Some(json) = link.get("loss") else { return Some(None) };
    let (at, before) = (&at.key("loss"), at.count());
    // A distribution of probabilities is a table too.
    let full = json.as_object().filter(|table| !quantity::LAWS.iter().any(|law| table.contains_key(*law)));
    let short = || Table::from_iter([("probability".to_owned(), json.clone())]);
    let table = &full.cloned().unwrap_or_else(short);
    unknown_keys(table, LOSS.names(), at);
    let has = |key: &str| table.contains_key(key);
    let wrong = |key: &str, why: &str| at.key(key).error(why);
    let repairs = has("retransmissions");
    match (has("probability"), has("every")) {
        (false, false) if repairs => wrong(
            "retransmissions",
            "has no effect on a link without errors; give their `probability` or `every`",
        ),
        (one, other) if one == other => {
            at.error("give either `probability` (of each packet) or `every` (the n-th packet is lost)");
        }
        _ => {}
    }
    let probability = match full {
        Some(_) => plain(table, &loss::probability, at),
        None => table::value(json, Type::Number, &loss::probability.range, at),
    };
    let every = number(table, &loss::every, at);
    let (from, until) = span(table, &loss::from, &loss::until, at);
    let burst = number(table, &loss::burst, at);
    let most = number(table, &loss::retransmissions, at);
    let delay = seconds(table, &loss::retransmission_delay, at);
    let ways = typed::<Directions>(table, &loss::direction, at);
    if burst.is_some() && has("every") {
        wrong("burst", "has no effect with every, which places each loss");
    }
    if let (Some(burst), Some((_, most))) = (burst, probability.as_ref().map(Value::bounds))
        && most > burst / (1.0 + burst)
    {
        let nearest = (1000.0 * burst / (1.0 + burst)).floor() / 1000.0;
        at.key("burst").error(format!(
            "is too short for a probability of {most}: two bursts are at least a packet apart; nearest: a \
             probability of {nearest}"
        ));
    }
    let no_loss = probability.as_ref().is_some_and(|p| p.number() == Some(0.0));
    match (repairs, has("retransmission_delay")) {
        (true, false) => wrong(
            "retransmission_delay",
            "is required with retransmissions: the delay of each, for example \"8 ms\"",
        ),
        (false, true) => wrong("retransmission_delay", "has no effect without retransmissions"),
        _ => {}
    }
    if repairs && no_loss {
        wrong("retransmissions", "has no effect on a link without errors: the probability is 0");
    }
    if repairs && link.contains_key("jitter") {
        wrong("retransmissions", "cannot be together with jitter: leave one of the two out");
    }
    if at.count() > before {
        return None;
    }
    if no_loss {
        return Some(None); // the same as no loss at all
    }
    let which = match (probability, burst) {
        (Some(probability), Some(burst)) => Lost::Bursts(probability, burst),
        (Some(probability), None) => Lost::Random(probability),
        (None, _) => Lost::Every(every? as u64),
    };
    let again = most.zip(delay).map(|(most, delay)| (most as u32, delay));
    Some(Some(Loss { which, from: from?, until, ways: ways?, again }))
}

/// `rate`; the outer `None` means errors.
fn rate(table: &Table, at: &At) -> Option<Option<RateSpec>> {
    let Some(json) = table.get("rate") else { return Some(None) };
    let at = &at.key("rate");
    let inner = |key| Some((json.as_object()?, json.get(key)?));
    if let Some((table, steps)) = inner("steps") {
        unknown_keys(table, ["steps"], at);
        return rate_steps(steps, &at.key("steps")).map(|s| Some(RateSpec::Steps(s)));
    }
    if let Some((table, list)) = inner("opportunities") {
        unknown_keys(table, ["opportunities", "bytes"], at);
        let opportunities = opportunities(list, &at.key("opportunities"));
        let bytes = table.get("bytes").map_or(Some(MAHIMAHI_BYTES), |bytes| {
            single(bytes, Type::Bytes, &Range::between(1.0, 1e9), &at.key("bytes"))?.number()
        });
        return Some(Some(RateSpec::Opportunities(opportunities?, bytes? as u32)));
    }
    table::value(json, Type::Rate, &LINK_RATE, at).map(|v| Some(RateSpec::Constant(v)))
}

fn rate_steps(json: &Json, at: &At) -> Option<Vec<(Time, Rate)>> {
    let steps = steps(json, "rate", at, |json, at| {
        match quantity::single(json, Type::Rate, &Range::NOT_NEGATIVE).map(|value| value.number()) {
            Ok(Some(0.0)) => Some(Rate(0.0)),
            _ => single(json, Type::Rate, &LINK_RATE, at)?.number().map(Rate),
        }
    })?;
    if steps.iter().all(|step| step.1.0 == 0.0) {
        return at.none("at least one rate must be above zero");
    }
    Some(steps)
}

/// Delivery opportunities: whole milliseconds in order, the last later than zero.
fn opportunities(json: &Json, at: &At) -> Option<Arc<[u64]>> {
    let items = at.list(json, "a list of milliseconds is needed")?;
    let times: Option<Arc<[u64]>> = items.iter().map(Json::as_u64).collect();
    let sound = |times: &Arc<[u64]>| {
        times.is_sorted() && times.last().is_some_and(|last| (1..=MOST_MS).contains(last))
    };
    times
        .filter(sound)
        .or_else(|| at.none("must be whole milliseconds in rising order, the last later than 0"))
}

/// Bytes of a delivery opportunity of Mahimahi: an MTU of 1500 and its header of 4.
const MAHIMAHI_BYTES: f64 = 1504.0;

/// No trace is longer.
const MOST_MS: u64 = 1_000_000_000;

/// `serve` of a direction; the outer `None` means errors.
fn serve(direction: &Table, rate: Option<&Option<RateSpec>>, at: &At) -> Option<Option<Serve>> {
    section(direction, "serve", Some(&SERVE), at, |table, at| {
        typed::<Service>(table, &serve::kind, at);
        let preset = typed::<Preset>(table, &serve::preset, at).map(Preset::serve);
        let every = seconds(table, &serve::every, at);
        let wait = seconds(table, &serve::wait, at);
        match rate {
            Some(Some(RateSpec::Constant(_))) | None => {}
            Some(None) => at.error("a link without a rate serves each packet at once; give it a rate"),
            Some(Some(_)) => at.error("needs a constant rate; steps and traces have their own service"),
        }
        if !table.contains_key("every") && !table.contains_key("preset") {
            at.key("every").error("is required without a preset: duration, for example \"2 ms\"");
        }
        let every = every.or(preset.map(|preset| preset.every))?;
        let wait = wait.or(preset.map(|preset| preset.wait)).unwrap_or_default();
        Some(Some(Serve { every, wait }))
    })
}

/// `per`.
fn per(table: &Table, at: &At) -> Option<Per> {
    const EXAMPLES: &str = "\"user\", \"flow\", \"group\" or a number of users such as \"5 users\"";
    let Some(json) = table.get("per") else { return Some(Per::Shared) };
    let at = &at.key("per");
    let text = at.text(json, &format!("{EXAMPLES} is needed"))?;
    let number = text.strip_suffix(" users").or_else(|| text.strip_suffix(" user"));
    match (text, number.map(str::parse::<u32>)) {
        ("user", _) | (_, Some(Ok(1))) => Some(Per::User),
        ("flow", _) => Some(Per::Flow),
        ("group", _) => Some(Per::Group),
        (_, Some(Ok(0))) => at.none("must be at least 1 user"),
        (_, Some(Ok(n))) => Some(Per::Users(n)),
        _ => {
            let hint = match nearest(text, &["user", "flow", "group"]) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("write {EXAMPLES}, or leave it out for one shared by all"),
            };
            at.none(format!("{} is not valid; {hint}", quoted(text)))
        }
    }
}

/// `queue` of a direction; the outer `None` means errors.
fn queue(direction: &Table, has_rate: bool, at: &At) -> Option<Option<Queue>> {
    section(direction, "queue", None, at, |table, at| {
        if !has_rate {
            at.error("a link without a rate is pure delay and has no queue");
        }
        let before = at.count();
        let versions = Versions::of(table, at);
        let change = typed::<Change>(table, &queue::change, at);
        if table.contains_key("change") && !versions.changes() {
            at.key("change").error("is for steps, and this queue has none");
        }
        let mut decoded = Vec::new();
        for &time in &versions.times {
            let found = RefCell::default();
            let queue = queue_at(&versions.at(table, time), has_rate, &at.reporting(&found));
            versions.report(&found.into_inner(), time, at);
            decoded.push(queue.map(|queue| (time, queue)));
        }
        let mut decoded = decoded.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let (_, first) = decoded.next().filter(|_| at.count() == before)?;
        Some(Some(Queue { changes: decoded.collect(), change: change?, ..first }))
    })
}

/// A queue without steps.
fn queue_at(table: &Table, has_rate: bool, at: &At) -> Option<Queue> {
    let rule = rule(table, at);
    let before = at.count();
    let limit = limit(table, at);
    let limit_sound = at.count() == before;
    let at = &at.key("scheduler");
    let (scheduler, mut scheduler_per) = match table.get("scheduler") {
        None => (None, SchedulerPer::Class),
        Some(json) => scheduler(json, at)?,
    };
    if limit.is_some() && scheduler.as_ref().is_some_and(|s| s.values.has(bucket::Given::latency)) {
        let why = "is another form of limit, and the queue has one; give one of the two";
        return at.key("latency").none(why);
    }
    let rule = rule?;
    if rule.mechanism.traits.owns_queues {
        if scheduler.is_some() {
            return at.none(format!("{} is a scheduler itself; leave this out", rule.mechanism.kind));
        }
        scheduler_per = SchedulerPer::Flow;
    }
    let clash = scheduler.as_ref().and_then(|s| evenflow_queue::clash(rule.mechanism, s.mechanism));
    if let Some(why) = clash {
        return at.none(why);
    }
    (has_rate && limit_sound).then_some(())?;
    let traits = scheduler.iter().chain([&rule]).map(|spec| spec.mechanism.traits);
    let limit = limit.or_else(|| traits.into_iter().find_map(|t| t.default_limit).map(Value::Packets));
    Some(Queue { rule, limit, scheduler, scheduler_per, changes: Vec::new(), change: Change::Keep })
}

/// The admission rule: the `kind` and parameters of a queue.
fn rule(table: &Table, at: &At) -> Option<Spec> {
    if table.contains_key("kind") {
        return mechanism_in(table, &QUEUE, Room::Queue, at).1;
    }
    let stray = |m: &&&Mechanism| m.params.iter().any(|p| table.contains_key(p.name));
    let owners: Vec<&str> = catalogue::all(Room::Queue).iter().filter(stray).map(|m| m.kind).collect();
    if !owners.is_empty() {
        let why = format!("is required: the parameters are those of {}", owners.join(" or "));
        return at.key("kind").none(why);
    }
    let also: Vec<&str> = QUEUE.names().collect();
    table::spec(table, catalogue::default(Room::Queue), &also, at)
}

fn limit(table: &Table, at: &At) -> Option<Value> {
    let json = table.get("limit")?;
    let at = &at.key("limit");
    if let Ok(value) = quantity::single(json, Type::QueueLength, &Range::ANY)
        && value.number() == Some(0.0)
    {
        return at
            .none("a queue of zero holds nothing; give a limit above 0, or none for an unlimited queue");
    }
    let value = table::value(json, Type::QueueLength, &queue::limit.range, at)?;
    // A limit holds whole packets.
    let too_small = |v: &Value| matches!(v, Value::Packets(x) if *x < 1.0);
    let too_small = match &value {
        Value::Random(Law::Uniform(low, _)) => too_small(low),
        Value::Random(Law::Pareto(unit, _)) => too_small(&unit.with(value.bounds().0)),
        Value::Random(Law::Dealt(values)) => values.iter().any(too_small),
        other => too_small(other),
    };
    if too_small {
        return at.none(format!("must be at least 1 packet, not {}", shown(json)));
    }
    Some(value)
}

fn scheduler(json: &Json, at: &At) -> Option<(Option<Spec>, SchedulerPer)> {
    at.table(json, TABLE)?;
    let spec = table::mechanism(json, Room::Scheduler, at)?;
    let mechanism = spec.mechanism;
    if std::ptr::eq(mechanism, catalogue::default(Room::Scheduler)) {
        return Some((None, SchedulerPer::Class)); // as without a scheduler
    }
    let per = spec.values.at(SchedulerPer::KEY).unwrap_or(SchedulerPer::Class);
    if per != SchedulerPer::Class && class_tables(&spec.values).next().is_some() {
        let why = format!("must be \"class\": {} tells classes apart by name", mechanism.kind);
        return at.key("per").none(why);
    }
    Some((Some(spec), per))
}

/// The parameters of a mechanism that name traffic classes, and the names.
fn class_tables(values: &Values) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
    let by_class = values.is(SchedulerPer::KEY, SchedulerPer::Class);
    values.0.iter().filter_map(move |(name, value)| match value {
        Value::Tables(_) => by_class.then(|| (*name, leaf_names(values))),
        Value::Names(list) => Some((*name, list.iter().map(String::as_str).collect())),
        Value::Numbers(table) | Value::SecondsPerClass(table) => {
            Some((*name, table.keys().map(String::as_str).collect()))
        }
        _ => None,
    })
}

impl<'a> Network<'a> {
    /// A copy per flow is impossible with flows that open during the run: their number is unlimited.
    pub(super) fn check_per_flow(&self) {
        let opener =
            |component| self.crossing_groups(component).find_map(|group| Some((&group.name, group.opens()?)));
        let copies = |(group, kind)| {
            format!(
                "\"flow\" is a copy for each flow, and {kind} of the group {group} opens flows during the \
                 run; write \"user\""
            )
        };
        for (i, draft) in self.links.iter().enumerate() {
            let (Some(link), Some(opener)) = (&draft.link, opener(Component::Link(i))) else { continue };
            let at = self.at.key("links").key(&link.name);
            if link.per == Per::Flow {
                at.key("per").error(copies(opener));
            }
            for (way, at) in [at.clone(), at.key("reverse")].iter().enumerate() {
                let Some(queue) = link.queue(way).filter(|queue| !queue.is_hashed()) else { continue };
                if let (SchedulerPer::Flow, Some(scheduler)) = (queue.scheduler_per, &queue.scheduler) {
                    let (kind, (group, opener)) = (scheduler.mechanism.kind, opener);
                    at.key("queue").key("scheduler").key("per").error(format!(
                        "{kind} has a queue for each flow, and {opener} of the group {group} opens flows \
                         during the run. Write \"user\", or use sfq or fq-codel, which hash flows"
                    ));
                }
            }
        }
        for (i, draft) in self.stages.iter().enumerate() {
            if let (Some(Per::Flow), Some(opener)) = (draft.per, opener(Component::Stage(i))) {
                self.stage(i).key("per").error(copies(opener));
            }
        }
    }

    fn place(&self, stage: usize) -> Place {
        self.stages[stage].mechanism.map_or(Place::Anywhere, |mechanism| mechanism.traits.place)
    }

    /// Checks the places of stages on paths, as far as paths are known. A stage on no path is an error only if
    /// all are known.
    pub(super) fn check_places(&self) {
        let known = !self.groups.is_empty() && self.paths().is_some();
        let is_off = |i: &usize| self.crossing_groups(Component::Stage(*i)).next().is_none();
        for i in (0..self.stages.len()).filter(|i| known && is_off(i)) {
            let there = match self.place(i) {
                Place::Anywhere => continue,
                Place::OnPath => "on the path of the groups that it is for",
                Place::Ingress => "where packets enter the network, before shared links",
                Place::Egress => "where packets leave the network, behind the queues that mark them",
            };
            let name = quoted(&self.stages[i].name);
            self.stage(i).error(format!("is on no path and has no effect: write {name} {there}"));
        }
        for group in &self.groups {
            for (n, hop) in group.hops().enumerate() {
                if let Component::Stage(own) = hop.component
                    && self.place(own) == Place::Egress
                {
                    self.check_egress(own, group, n);
                }
            }
        }
    }

    /// A stage that stands where packets leave: nothing behind it marks or polices, and what re-ECN declares
    /// for losses gets to it.
    fn check_egress(&self, own: usize, group: &GroupDraft, n: usize) {
        let (at, path) = (self.hop(group, n), group.path.as_deref().unwrap_or_default());
        let stage = &self.stages[own];
        let own = format!("{}, the {},", quoted(&stage.name), stage.kind());
        let marks = |i: usize, hop: &Hop| self.links[i].marks[usize::from(hop.against)] == Some(true);
        let mut said = Vec::new();
        for hop in &path[n + 1..] {
            let why = match hop.component {
                Component::Link(i) if marks(i, hop) => {
                    let name = quoted(&self.links[i].name);
                    format!("the link {name}, whose queue marks packets: it would not see these marks")
                }
                Component::Stage(i) if self.place(i) == Place::Ingress => {
                    let other = &self.stages[i];
                    format!("{}, a {}, whose drops it would not see", quoted(&other.name), other.kind())
                }
                _ => continue,
            };
            if !said.contains(&why) {
                at.error(format!("{own} is before {why}; put it behind"));
                said.push(why);
            }
        }
        if !evenflow_stage::dropper::is_named(&stage.values) {
            return;
        }
        // A link that marks and loses cannot have the dropper between the two.
        let between = path[..n].iter().rev().map_while(|hop| match hop.component {
            Component::Link(i) if marks(i, hop) => None,
            Component::Link(i) => Some(Some((&self.links[i], usize::from(hop.against)))),
            Component::Stage(_) => Some(None),
        });
        let loses = |(link, way): &(&LinkDraft, usize)| {
            link.loss.as_ref().is_some_and(|loss| loss.ways.contains(way))
        };
        if let Some((link, _)) = between.flatten().find(loses) {
            let link = quoted(&link.name);
            at.error(format!(
                "{own} is behind the link {link}, which loses packets: their declarations would be missing, \
                 and senders declare these losses too; put it before"
            ));
        }
    }

    /// A packet in a tunnel must leave it at that tunnel's end, on every path and in both directions. Checked
    /// only if all paths, stage kinds and tunnel ends are known, after peers are tied.
    pub(super) fn check_tunnels(&self) {
        self.check_teids();
        let Some(paths) = self.paths() else { return };
        if self.stages.iter().any(|stage| stage.mechanism.is_none()) {
            return;
        }
        let mut sound = true;
        for (i, draft) in self.stages.iter().enumerate() {
            match self.mouth(i) {
                Some(Mouth::Ingress) if draft.lacks_peer() => {
                    self.needs_peer(i, tunnel::EGRESS.kind, "removes the header");
                }
                Some(Mouth::Egress) if draft.lacks_peer() => {
                    self.needs_peer(i, tunnel::INGRESS.kind, "adds the header");
                }
                _ => {}
            }
            sound &= self.mouth(i).is_none() || draft.tied.is_some();
        }
        for (group, path) in self.groups.iter().zip(paths).filter(|_| sound) {
            let there = path.iter().enumerate().map(|(n, hop)| (n, hop.component, hop.against));
            let back = path.iter().enumerate().rev().map(|(n, hop)| (n, hop.component, !hop.against));
            let acknowledged = group.classes.iter().flatten().any(|sends| sends.answered);
            let found = self.tunnelled(there);
            let found = found.and_then(|()| if acknowledged { self.tunnelled(back) } else { Ok(()) });
            if let Err((hop, why)) = found {
                self.hop(group, hop).error(why);
            }
        }
    }

    /// Follows packets over hops (number, component, backward or not). Returns the error and its hop.
    fn tunnelled(&self, way: impl Iterator<Item = (usize, Component, bool)>) -> Result<(), (usize, String)> {
        let name = |stage: usize| quoted(&self.stages[stage].name);
        let mut inside: Vec<(usize, usize)> = Vec::new();
        for (hop, component, against) in way {
            let Component::Stage(i) = component else { continue };
            let (Some(mouth), false) = (self.mouth(i), against) else { continue };
            let own = name(i);
            let why = match (mouth, inside.last()) {
                (Mouth::Ingress, _) if inside.len() == OUTER => {
                    format!("{own} would be the third tunnel around a packet; there may be two")
                }
                (Mouth::Ingress, _) => {
                    inside.push((hop, i));
                    continue;
                }
                (Mouth::Egress, Some((_, of))) if self.stages[*of].tied == Some(i) => {
                    inside.pop();
                    continue;
                }
                (Mouth::Egress, Some((_, of))) => format!(
                    "{own} removes the header of its peer, but the outermost one is that of {}: tunnels \
                     overlap; put one inside the other",
                    name(*of)
                ),
                (Mouth::Egress, None) => {
                    format!(
                        "packets reach {own}, which removes a header, without one; put its peer before it"
                    )
                }
            };
            return Err((hop, why));
        }
        let Some((hop, i)) = inside.pop() else { return Ok(()) };
        let (own, peer) = (name(i), self.stages[i].tied.map_or(quoted(""), name));
        let why = format!(
            "packets that enter at {own} do not leave the tunnel before their end; put {peer} behind it"
        );
        Err((hop, why))
    }

    /// Checks that tunnel numbers are unique. Copies of a stage count from its `teid`; without it, from 1 over
    /// all stages.
    fn check_teids(&self) {
        let mut before = Some(0);
        let mut taken: Vec<(u64, u64, usize, bool)> = Vec::new();
        for (i, draft) in self.stages.iter().enumerate() {
            let copies = draft.per.and_then(|per| self.copies(Component::Stage(i), per));
            let given = draft.values.at(Entrance::teid).map(u64::from);
            let unread = draft.unread.contains(&Entrance::teid.name);
            let itself = before.filter(|_| !unread).map(|before| before + 1);
            before = before.zip(copies).map(|(before, copies)| before + copies);
            if draft.kind() != tunnel::INGRESS.kind {
                continue;
            }
            let Some(first) = given.or(itself) else { continue };
            let last = first + copies.unwrap_or(1).max(1) - 1;
            let error = |stage: usize, why| self.stage(stage).key(Entrance::teid.name).error(why);
            let numbers = |first: u64, last: u64, given: bool| match (given, first == last) {
                (true, true) => String::new(),
                (true, false) => format!(", whose copies have {first} to {last}"),
                (false, _) => ", which is numbered automatically".to_owned(),
            };
            if last > u64::from(u32::MAX) {
                let why = format!("its copies would have {first} to {last}, and {} is the last", u32::MAX);
                error(i, why);
            }
            let clash = taken
                .iter()
                .find(|(from, to, _, wrote)| *from <= last && first <= *to && (given.is_some() || *wrote));
            if let Some(&(from, to, other, wrote)) = clash {
                // Said where a number is written.
                let (own, other, rest) = match given {
                    Some(_) => (i, other, numbers(from, to, wrote)),
                    None => (other, i, numbers(first, last, false)),
                };
                let (number, other) = (first.max(from), quoted(&self.stages[other].name));
                let why =
                    format!("{number} is the number of {other} too{rest}; no two tunnels have one number");
                error(own, why);
            }
            taken.push((first, last, i, given.is_some()));
        }
    }

    /// By how many bytes packets are longer, on a group's path, where they meet a stage.
    fn longest_headers(&self, group: &GroupDraft, stage: usize) -> f64 {
        let (mut longer, mut most) = (0.0, 0.0);
        let mut open: Vec<f64> = Vec::new();
        for hop in group.hops() {
            let Component::Stage(n) = hop.component else { continue };
            if n == stage {
                most = f64::max(most, longer);
            }
            let Some(stage) = self.stages[n].stage.as_ref().filter(|_| !hop.against) else { continue };
            match self.mouth(n) {
                Some(Mouth::Ingress) => {
                    open.push(evenflow_stage::grows(stage.spec.mechanism.kind, &stage.spec.values));
                }
                Some(Mouth::Egress) => _ = open.pop(),
                None => {}
            }
            longer = open.iter().sum();
        }
        most
    }

    /// The classes that cross every component; `None` if a path, a class or a stage's classes have errors.
    pub(super) fn crossing(&self) -> Option<Crossing> {
        let mut crossing = Crossing {
            links: vec![Default::default(); self.links.len()],
            sent: vec![Default::default(); self.links.len()],
            stages: vec![BTreeSet::new(); self.stages.len()],
            all: BTreeSet::new(),
        };
        for group in &self.groups {
            let path = group.path.as_ref()?;
            for sends in group.classes.as_ref()? {
                let start = || BTreeSet::from([sends.class.clone()]);
                let there = path.iter().map(|hop| (hop.component, hop.against));
                crossing.follow(&self.stages, there, start())?;
                if sends.answered {
                    let back = path.iter().rev().map(|hop| (hop.component, !hop.against));
                    crossing.follow(&self.stages, back, start())?;
                }
            }
        }
        Some(crossing)
    }

    /// Schedulers must know exactly the classes that cross their link, stages name classes that there are,
    /// and their buckets hold the packets that cross them. Said only where all paths and classes are known,
    /// so that one mistake does not make two errors.
    pub(super) fn check_classes(&self, crossing: Option<&Crossing>) {
        let Some(crossing) = crossing else { return };
        let queues = self.links.iter().flat_map(|draft| draft.queues.iter().flatten());
        let specs = queues.flat_map(|queue| [Some(&queue.rule), queue.scheduler.as_ref()]).flatten();
        let sent: BTreeSet<&String> =
            self.groups.iter().flat_map(|g| g.classes.iter().flatten()).map(|sends| &sends.class).collect();
        let mut known: BTreeSet<String> = sent.iter().map(|class| (*class).clone()).collect();
        let read = self.stages.iter().filter(|draft| draft.mechanism.is_some()).map(|draft| &draft.values);
        for values in specs.map(|spec| &spec.values).chain(read) {
            known.extend(class_tables(values).flat_map(|(_, names)| names).map(str::to_owned));
        }
        // An unknown class is reported only where it is given.
        let there = |set: &BTreeSet<String>| set.intersection(&known).cloned().collect::<BTreeSet<String>>();
        for (i, draft) in self.links.iter().enumerate() {
            let at = self.at.key("links").key(&draft.name);
            for (way, at) in [at.key("queue"), at.key("reverse").key("queue")].into_iter().enumerate() {
                let (classes, sent) = (there(&crossing.links[i][way]), &crossing.sent[i][way]);
                let Some(queue) = &draft.queues[way] else { continue };
                check_tables(&queue.rule, &classes, sent, &at);
                if let Some(scheduler) = &queue.scheduler {
                    check_tables(scheduler, &classes, sent, &at.key("scheduler"));
                }
            }
        }
        for (i, draft) in self.stages.iter().enumerate() {
            let Some(Stage { spec: Spec { mechanism, values }, .. }) = &draft.stage else { continue };
            let (at, classes) = (self.stage(i), there(&crossing.stages[i]));
            let (given, words) = evenflow_stage::classes_given(mechanism.kind, values);
            for (name, class) in given.iter().filter(|(_, class)| !known.contains(class)) {
                let near = suggestion(class, words.iter().copied().chain(known.iter().map(String::as_str)));
                let class = quoted(class);
                at.key(name).error(format!(
                    "no group sends packets of class {class}, and no queue or other stage names it{near}"
                ));
            }
            for (name, value) in &values.0 {
                if let Value::Word(word) = value
                    && words.contains(&word.as_str())
                    && sent.contains(word)
                {
                    let word = quoted(word);
                    at.key(name).error(format!(
                        "{word} is a word here and a traffic class too; give the class another name"
                    ));
                }
            }
            // Without classes, the stage is on no path.
            for (name, value) in values.0.iter().filter(|_| !classes.is_empty()) {
                let Value::Names(named) = value else { continue };
                for class in named.iter().filter(|class| !classes.contains(*class)) {
                    let near = suggestion(class, classes.iter().map(String::as_str));
                    let class = quoted(class);
                    at.key(name).error(format!("no packet of class {class} crosses this stage{near}"));
                }
            }
        }
        self.check_buckets();
    }

    /// A packet larger than a bucket never finds enough tokens.
    fn check_buckets(&self) {
        for (i, draft) in self.stages.iter().enumerate() {
            let Some(Stage { spec: Spec { mechanism, values }, .. }) = &draft.stage else { continue };
            let longer = |g: &GroupDraft| Some(g.largest_packet()? + self.longest_headers(g, i));
            let crossing = self.crossing_groups(Component::Stage(i));
            let largest = crossing.filter_map(|g| Some((longer(g)?, &g.name)));
            let Some((largest, group)) = largest.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            for name in evenflow_stage::buckets(mechanism.kind, values) {
                if let Some(bytes) = values.get(name).and_then(least_bytes)
                    && bytes < largest
                {
                    let group = quoted(group);
                    self.stage(i).key(name).error(format!(
                        "is {bytes} B, less than the largest packet that crosses this stage, {largest} B of \
                         group {group}: there would never be enough tokens for it"
                    ));
                }
            }
        }
    }

    /// `[stages.NAME]`.
    pub(super) fn read_stages(&self, root: &Table) -> Vec<StageDraft> {
        let draft = |(name, at, table): (&str, At, Option<&Table>)| {
            if self.links.iter().any(|link| link.name == name) {
                at.error("a link has this name too; a path could not tell them apart");
            }
            let mut draft = StageDraft { name: name.into(), ..StageDraft::default() };
            let Some(table) = table else { return draft };
            let written = |key| Some(at.key(key).text(table.get(key)?, TEXT)?.to_owned());
            (draft.peer, draft.controls) = (written("peer"), written("controls"));
            draft.per = per(table, &at);
            draft.mechanism = table::kind(table, Room::Stage, &at);
            let Some(mechanism) = draft.mechanism else { return draft };
            let also: Vec<&str> = STAGE.names().collect();
            let (spec, values) = table::partly(table, mechanism, &also, &at);
            draft.unread = table::unread(table, mechanism, &values);
            draft.values = values;
            draft.stage = draft.per.zip(spec).map(|(per, spec)| Stage {
                name: name.into(),
                per,
                spec,
                peer: None,
                controls: None,
            });
            draft
        };
        by_name(root, "stages", &self.at).into_iter().map(draft).collect()
    }

    /// Ties stages to their peers and controlled links. Errors are reported only if all paths and the kinds are known.
    pub(super) fn tie(&mut self) {
        self.check_rewriters();
        let mut peers: Vec<Option<usize>> = vec![None; self.stages.len()];
        let mut controls: Vec<Option<(usize, usize)>> = vec![None; self.stages.len()];
        for (i, stage) in self.stages.iter().enumerate() {
            let at = self.stage(i);
            peers[i] = stage.peer.as_ref().and_then(|name| self.peer(i, name, &at.key("peer")));
            let at = &at.key("controls");
            controls[i] = stage.controls.as_ref().and_then(|name| self.controlled(i, name, at));
            if let (None, Some(own)) = (&stage.controls, stage.mechanism)
                && own.traits.shares
            {
                at.error(format!("is required: {} gives shares to the queues of a link", own.kind));
            }
        }
        for (i, link) in controls.iter().enumerate() {
            let first = controls.iter().position(|other| other == link).filter(|first| *first < i);
            if let (Some(_), Some(first)) = (link, first) {
                let other = quoted(&self.stages[first].name);
                self.stage(i).key("controls").error(format!(
                    "{other} controls this direction of the link already; they would overwrite each other"
                ));
            }
        }
        // A stage that names no peer is the peer of the stage that names it.
        for i in 0..self.stages.len() {
            let Some(peer) = peers[i] else { continue };
            match peers[peer] {
                None if self.stages[peer].peer.is_none() => peers[peer] = Some(i),
                Some(other) if other != i => {
                    let [peer, other] = [peer, other].map(|stage| quoted(&self.stages[stage].name));
                    self.stage(i).key("peer").error(format!("the peer of {peer} is {other}"));
                }
                _ => {}
            }
        }
        for (i, draft) in self.stages.iter_mut().enumerate() {
            draft.tied = peers[i];
            if let Some(stage) = &mut draft.stage {
                (stage.peer, stage.controls) = (peers[i], controls[i]);
            }
        }
    }

    /// Checks that rewriters have packets to rewrite, if all paths and classes are known.
    fn check_rewriters(&self) {
        if self.groups.iter().any(|g| g.path.is_none() || g.classes.is_none()) {
            return;
        }
        for (i, draft) in self.stages.iter().enumerate() {
            let Some(stage) = &draft.stage else { continue };
            let at = self.stage(i);
            let here = self.crossing_groups(Component::Stage(i));
            let classes: Vec<&Sends> = here.flat_map(|g| g.classes.iter().flatten()).collect();
            if classes.is_empty() {
                continue; // a stage on no path
            }
            if stage.needs_windows() && classes.iter().all(|sends| !sends.tcp) {
                // The required parameter; kinds that compute the value have none.
                let windows = [rewriter::Given::window, rewriter::Given::max_window];
                let field = windows.into_iter().find(|key| stage.spec.values.has(*key));
                field.map_or(at.clone(), |field| at.key(field.name)).error(
                    "no packet that crosses this stage has a receive window: all of them are datagrams",
                );
            }
            let crossing: BTreeSet<&str> = classes.iter().map(|sends| sends.class.as_str()).collect();
            let names = stage.spec.values.at(rewriter::Given::of_class).unwrap_or_default();
            for name in names.iter().filter(|name| !crossing.contains(name.as_str())) {
                let near = suggestion(name, crossing.iter().copied());
                let why = format!("no packet of class {} crosses this stage{near}", quoted(name));
                at.key(rewriter::Given::of_class.name).error(why);
            }
        }
    }

    /// The peer called `name` of stage number `i`. `None`: errors are reported elsewhere.
    fn peer(&self, i: usize, name: &str, at: &At) -> Option<usize> {
        let own = self.stages[i].mechanism?;
        if own.traits.peers.is_empty() {
            return at.none(format!("{} has no peer; leave this out", own.kind));
        }
        if name == self.stages[i].name {
            return at.none("a stage is not its own peer");
        }
        let other = quoted(name);
        let Some(Component::Stage(peer)) = self.component_named(name) else {
            if self.component_named(name).is_some() {
                return at.none(format!("{other} is a link; a peer is a stage"));
            }
            let valid = self.stages.iter().enumerate().filter(|(n, _)| *n != i).map(|(_, s)| s.name.as_str());
            return at.none(format!("no stage is called {other}{}", suggestion(name, valid)));
        };
        let kind = self.stages[peer].mechanism?.kind;
        if !own.traits.peers.contains(&kind) {
            let wanted = own.traits.peers.join(" or ");
            let own = own.kind;
            return at
                .none(format!("{other} is a stage of kind {kind}; a peer of {own} is of kind {wanted}"));
        }
        let meet = self.paths().is_none_or(|paths| {
            let on = |path: &[Hop], stage| path.iter().any(|hop| hop.component == Component::Stage(stage));
            paths.iter().any(|path| on(path, i) && on(path, peer))
        });
        if meet { Some(peer) } else { at.none(format!("no path has both this stage and {other}")) }
    }

    /// The link called `name`, and the direction of it, that stage number `i` controls. `None`: errors are
    /// reported elsewhere.
    fn controlled(&self, i: usize, name: &str, at: &At) -> Option<(usize, usize)> {
        let own = self.stages[i].mechanism?;
        if !own.traits.controls {
            return at.none(format!("{} controls nothing; leave this out", own.kind));
        }
        let (name, way) = name.strip_prefix('-').map_or((name, 0), |name| (name, 1));
        let shown = quoted(name);
        let Some(Component::Link(link)) = self.component_named(name) else {
            if self.component_named(name).is_some() {
                return at.none(format!("{shown} is a stage; {} controls a link", own.kind));
            }
            let near = suggestion(name, self.links.iter().map(|link| link.name.as_str()));
            return at.none(format!("no link is called {shown}{near}"));
        };
        let spec = self.links[link].link.as_ref()?;
        let direction = if way == 1 { spec.reverse.as_ref().unwrap_or(&spec.forward) } else { &spec.forward };
        if direction.rate.is_none() {
            return at.none(format!("{shown} has no rate that could be set"));
        }
        if own.traits.shares {
            if way == 1 && spec.reverse.is_none() {
                return at.none(format!(
                    "{shown} has no queue in its reverse direction; describe it with reverse = {{ rate = …, \
                     queue = … }}"
                ));
            }
            let queue = direction.queue.as_ref();
            let scheduler = queue.and_then(|queue| queue.scheduler.as_ref());
            let per = queue.map(|queue| queue.scheduler_per);
            let values = |queue: &Queue| queue.scheduler.as_ref().map(|spec| spec.values.clone());
            let changes =
                |queue: &Queue| queue.changes.iter().any(|(_, later)| values(later) != values(queue));
            if queue.is_some_and(changes) {
                return at.none(format!(
                    "the scheduler of {shown} has steps, which would overwrite the shares that this stage \
                     sets; leave one of the two out"
                ));
            }
            let by_flow = self.stages[i].says(sessions::Given::session, SessionWord::Flow) == Some(true);
            if by_flow && per == Some(SchedulerPer::User) {
                return at.none(format!(
                    "each connection is a session, and {shown} has a class for each user, so connections \
                     would overwrite each other's share. Give its scheduler per = \"flow\", or write session \
                     = \"user\""
                ));
            }
            if !scheduler.is_some_and(|s| s.mechanism.traits.tree) || per == Some(SchedulerPer::Class) {
                return at.none(format!(
                    "{shown} has no queue whose share could be set; give it a scheduler of kind \"htb\" with \
                     per = \"user\" or \"flow\""
                ));
            }
        }
        let Some(paths) = self.paths() else { return Some((link, way)) };
        // Which ways data crosses the link on paths that have the stage too.
        let has_stage = |path: &&&[Hop]| path.iter().any(|hop| hop.component == Component::Stage(i));
        let hops = paths.iter().filter(has_stage).flat_map(|path| path.iter());
        let hops = hops.filter(|hop| hop.component == Component::Link(link));
        let ways: BTreeSet<usize> = hops.map(|hop| usize::from(hop.against)).collect();
        if ways.is_empty() {
            return at.none(format!("no path has both this stage and {shown}"));
        }
        if own.traits.shares && !ways.contains(&way) {
            let (sign, against) = if way == 1 { ("", "along") } else { ("-", "against") };
            return at.none(format!(
                "data crosses {shown} {against} its direction, so its queue there has no data; did you mean \
                 \"{sign}{name}\"?"
            ));
        }
        Some((link, way))
    }
}

/// The traffic classes of packets that cross links and stages, as they arrive there: stages may change them.
pub(super) struct Crossing {
    /// By link, then forward and against it.
    links: Vec<[BTreeSet<String>; 2]>,
    /// The same as they were sent.
    sent: Vec<[BTreeSet<String>; 2]>,
    stages: Vec<BTreeSet<String>>,
    /// Anywhere.
    pub all: BTreeSet<String>,
}

impl Crossing {
    /// Packets of these classes go this way.
    fn follow(
        &mut self,
        stages: &[StageDraft],
        way: impl Iterator<Item = (Component, bool)>,
        mut classes: BTreeSet<String>,
    ) -> Option<()> {
        let sent = classes.clone();
        self.all.extend(classes.iter().cloned());
        for (component, against) in way {
            match component {
                Component::Link(i) => {
                    self.links[i][usize::from(against)].extend(classes.iter().cloned());
                    self.sent[i][usize::from(against)].extend(sent.iter().cloned());
                }
                Component::Stage(i) => {
                    let draft = Some(&stages[i]).filter(|draft| draft.classes_are_known())?;
                    let (mechanism, values) = (draft.mechanism?, &draft.values);
                    let way = if against { Way::Backward } else { Way::Forward };
                    if mechanism.traits.ways.has(way) {
                        self.stages[i].extend(classes.iter().cloned());
                        let after =
                            |class: &String| evenflow_stage::classes_after(mechanism.kind, values, class);
                        classes = classes.iter().flat_map(after).collect();
                        self.all.extend(classes.iter().cloned());
                    }
                }
            }
        }
        Some(())
    }
}

/// The least number of bytes that a value may be drawn as; `None`: it counts something else, or may be anything.
fn least_bytes(value: &Value) -> Option<f64> {
    match value {
        Value::Bytes(bytes) => Some(*bytes),
        Value::Random(Law::Uniform(low, _)) => least_bytes(low),
        Value::Random(Law::Dealt(list)) => list.iter().filter_map(least_bytes).min_by(f64::total_cmp),
        _ => None,
    }
}

/// The classes that a rule or scheduler names must be those that cross its link. `sent` are the classes as sent: it may
/// name these too, whatever a stage makes of them.
fn check_tables(spec: &Spec, crossing: &BTreeSet<String>, sent: &BTreeSet<String>, at: &At) {
    if crossing.is_empty() {
        return; // a link on no path
    }
    for (name, classes) in class_tables(&spec.values) {
        let at = &at.key(name);
        for class in crossing.iter().filter(|class| !classes.contains(&class.as_str())) {
            at.error(format!("class {} crosses this link but is missing", quoted(class)));
        }
        for class in classes.iter().filter(|class| !crossing.contains(**class) && !sent.contains(**class)) {
            let near = suggestion(class, crossing.iter().map(String::as_str));
            at.error(format!("no packet of class {} crosses this link{near}", quoted(class)));
        }
    }
}
