//! `[links]` and `[stages]`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenflow_base::bucket;
use evenflow_base::options::OUTER;
use evenflow_base::schema::{Law, Mechanism, Mouth, Param, Place, Range, Room, Type, Value, Values, Way};
use evenflow_base::{Duration, Rate, Time};
use evenflow_queue::held::Per as Sorted;
use evenflow_queue::htb::leaf_names;
use evenflow_queue::{Admission, LinkFacts};
use evenflow_stage::rewriter;
use evenflow_stage::sessions::{self, SessionWord};
use evenflow_stage::tunnel::{self, Entrance};
use serde_json::Value as Json;

use super::drafts::{self, GroupDraft, LinkDraft, Sends, StageDraft};
use super::steps::{Versions, steps};
use super::table::{self, Table, unknown_keys};
use super::{as_table, by_name, fixed_number, list, mechanism_in, nothing, plain, single, text, typed};
use crate::errors::{Errors, join, nearest, quoted, shown, suggestion};
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
pub(super) fn links(root: &Table, errors: &mut Errors) -> Vec<LinkDraft> {
    let mut drafts = Vec::new();
    for (name, path, table) in by_name(root, "links", errors) {
        let Some(table) = table else {
            drafts.push(LinkDraft {
                name: name.into(),
                per: None,
                queues: [None, None],
                marks: [None; 2],
                loss: None,
                link: None,
            });
            continue;
        };
        unknown_keys(table, LINK.names(), &path, errors);
        let per = per(table, &path, errors);
        let rate = rate(table, &path, errors);
        let delay = plain(table, &link::delay, &path, errors);
        if !table.contains_key("rate") && !table.contains_key("delay") {
            errors.push(&path, "a link needs a rate, a delay or both");
        }
        let queue = queue(table, table.contains_key("rate"), &path, errors);
        let reverse = reverse(table, rate.as_ref(), delay.as_ref(), &path, errors);
        let jitter = jitter(table, &path, errors);
        let loss = loss(table, &path, errors);
        let serve = serve(table, rate.as_ref(), &path, errors);
        let in_flight = in_flight(table, &path, errors);
        let back = reverse.as_ref().map(|way| way.as_ref().and_then(|way| way.queue.clone()));
        let table_back = table.get("reverse").map_or(Some(nothing()), Json::as_object);
        let marks = [marks(queue.as_ref(), Some(table)), marks(back.as_ref(), table_back)];
        let queues = [queue.clone().flatten(), back.flatten()];
        let read = loss.clone().flatten();
        let link = (|| {
            let forward = Direction { rate: rate?, delay: delay?, queue: queue?, serve: serve? };
            try_rule(&forward, &path, errors)?;
            let (jitter, loss) = (jitter?, loss?);
            Some(Link {
                name: name.into(),
                per: per?,
                forward,
                reverse: reverse?,
                jitter,
                loss,
                in_flight: in_flight?,
            })
        })();
        drafts.push(LinkDraft { name: name.into(), per, queues, marks, loss: read, link });
    }
    drafts
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
    path: &str,
    errors: &mut Errors,
) -> Option<Option<Direction>> {
    let Some(json) = link.get("reverse") else { return Some(None) };
    let path = join(path, "reverse");
    let table = as_table(json, &path, errors)?;
    if table.is_empty() {
        return Some(None);
    }
    unknown_keys(table, REVERSE.names(), &path, errors);
    // A random value of the forward direction would be drawn again. Without `reverse`, both directions share
    // the draw.
    let shared = |random: bool, key: &str, errors: &mut Errors| {
        if random {
            errors.push(
                join(&path, key),
                format!(
                    "is required: the forward {key} is random and would be drawn again for this direction"
                ),
            );
        }
        !random
    };
    let rate = if table.contains_key("rate") {
        rate(table, &path, errors)
    } else {
        let random = matches!(forward_rate, Some(Some(RateSpec::Constant(Value::Random(_)))));
        forward_rate.filter(|_| shared(random, "rate", errors)).cloned()
    };
    let delay = if table.contains_key("delay") {
        plain(table, &reverse::delay, &path, errors)
    } else {
        let random = matches!(forward_delay, Some(Value::Random(_)));
        forward_delay.filter(|_| shared(random, "delay", errors)).cloned()
    };
    let has_rate = table.contains_key("rate") || link.contains_key("rate");
    let queue = queue(table, has_rate, &path, errors);
    let serve = serve(table, rate.as_ref(), &path, errors);
    let reverse = Direction { rate: rate?, delay: delay?, queue: queue?, serve: serve? };
    try_rule(&reverse, &path, errors)?;
    Some(Some(reverse))
}

/// Makes the rule of a queue, as the link will: what follows from the link's rate and delay may contradict what is given.
fn try_rule(direction: &Direction, path: &str, errors: &mut Errors) -> Option<()> {
    let (Some(queue), Some(rate)) = (&direction.queue, &direction.rate) else { return Some(()) };
    let rates = match rate {
        RateSpec::Constant(Value::Random(law)) => {
            let (least, most) = law.extremes();
            vec![least.max(1.0), most.max(1.0)]
        }
        RateSpec::Constant(value) => vec![value.bounds().1],
        other => other.fixed().iter().map(|rate| rate.0).collect(),
    };
    let before = errors.len();
    let path = join(path, "queue");
    let fastest = Rate(match rate {
        RateSpec::Constant(_) => rates.iter().copied().fold(0.0, f64::max),
        RateSpec::Steps(steps) => steps.iter().map(|step| step.1.0).fold(0.0, f64::max),
        RateSpec::Opportunities(..) => f64::INFINITY,
    });
    for values in table::likely(&queue.rule.values) {
        for (name, why) in evenflow_queue::check_link(queue.rule.mechanism.kind, &values, fastest) {
            errors.push(join(&path, name), why);
        }
    }
    for rate in rates.into_iter().filter(|rate| rate.is_finite()) {
        let delay = Duration::from_seconds(direction.delay.bounds().0);
        for values in table::likely(&queue.rule.values) {
            let facts = LinkFacts { rate: Some(Rate(rate)), delay, classes: &[] };
            let built = Admission::build(queue.rule.mechanism.kind, &values, facts);
            for (name, why) in built.err().unwrap_or_default() {
                errors.push(join(&path, name), format!("{why} (at a link of {rate} bit/s)"));
            }
        }
    }
    (errors.len() == before).then_some(())
}

/// `jitter`; the outer `None` means errors.
fn jitter(link: &Table, path: &str, errors: &mut Errors) -> Option<Option<Jitter>> {
    let Some(json) = link.get("jitter") else { return Some(None) };
    let path = join(path, "jitter");
    let table = as_table(json, &path, errors)?;
    let before = errors.len();
    unknown_keys(table, JITTER.names(), &path, errors);
    let deviation = plain(table, &jitter::normal, &path, errors);
    let correlation = fixed_number(table, &jitter::correlation, &path, errors);
    let order = typed::<Order>(table, &jitter::order, &path, errors);
    let (from, until) = span(table, &jitter::from, &jitter::until, &path, errors);
    let ways = typed::<Directions>(table, &jitter::direction, &path, errors);
    if errors.len() > before {
        return None;
    }
    let deviation = deviation?;
    if deviation.number() == Some(0.0) {
        return Some(None); // the same as no jitter at all
    }
    Some(Some(Jitter {
        deviation,
        correlation: correlation?,
        order: order?,
        from: from?,
        until,
        ways: ways?,
    }))
}

/// `in_flight`.
fn in_flight(link: &Table, path: &str, errors: &mut Errors) -> Option<InFlight> {
    let steps = |table: &Table| table.get("rate").is_some_and(|rate| rate.get("steps").is_some());
    let back = link.get("reverse").and_then(Json::as_object);
    if link.contains_key("in_flight") && !steps(link) && !back.is_some_and(steps) {
        errors.push(join(path, "in_flight"), "has no effect without rate.steps, which change the rate");
    }
    typed::<InFlight>(link, &link::in_flight, path, errors)
}

/// From when on an impairment applies, and until when if not to the end.
fn span(
    table: &Table,
    from: &Key,
    until: &Key,
    path: &str,
    errors: &mut Errors,
) -> (Option<Duration>, Option<Duration>) {
    let (from, until) = (fixed_number(table, from, path, errors), fixed_number(table, until, path, errors));
    if let (Some(from), Some(until)) = (from, until)
        && until <= from
    {
        errors.push(join(path, "until"), format!("must be later than from: {until} s is not after {from} s"));
    }
    (from.map(Duration::from_seconds), until.map(Duration::from_seconds))
}

/// `loss`: a probability, or a table with one; the outer `None` means errors.
fn loss(link: &Table, path: &str, errors: &mut Errors) -> Option<Option<Loss>> {
    let Some(json) = link.get("loss") else { return Some(None) };
    let path = join(path, "loss");
    // A distribution of probabilities is a table too.
    let table = match json {
        Json::Object(table) if !quantity::LAWS.iter().any(|law| table.contains_key(*law)) => table.clone(),
        probability => Table::from_iter([("probability".to_owned(), probability.clone())]),
    };
    let short = !json.is_object() || table.get("probability") == Some(json);
    let before = errors.len();
    unknown_keys(&table, LOSS.names(), &path, errors);
    let repairs = table.contains_key("retransmissions");
    match (table.contains_key("probability"), table.contains_key("every")) {
        (false, false) if repairs => {
            let why = "has no effect on a link without errors; give their `probability` or `every`";
            errors.push(join(&path, "retransmissions"), why);
        }
        (one, other) if one == other => errors.push(
            path.clone(),
            "give either `probability` (of each packet) or `every` (the n-th packet is lost)",
        ),
        _ => {}
    }
    let probability = if short {
        table::value(json, Type::Number, &loss::probability.range, &path, errors)
    } else {
        plain(&table, &loss::probability, &path, errors)
    };
    let every = fixed_number(&table, &loss::every, &path, errors);
    let (from, until) = span(&table, &loss::from, &loss::until, &path, errors);
    let burst = fixed_number(&table, &loss::burst, &path, errors);
    let most = fixed_number(&table, &loss::retransmissions, &path, errors);
    let delay = fixed_number(&table, &loss::retransmission_delay, &path, errors);
    let ways = typed::<Directions>(&table, &loss::direction, &path, errors);
    if burst.is_some() && table.contains_key("every") {
        errors.push(join(&path, "burst"), "has no effect with every, which places each loss");
    }
    if let (Some(burst), Some(probability)) = (burst, &probability)
        && probability.bounds().1 > burst / (1.0 + burst)
    {
        let why = format!(
            "is too short for a probability of {}: two bursts are at least a packet apart; nearest: a \
             probability of {}",
            probability.bounds().1,
            (1000.0 * burst / (1.0 + burst)).floor() / 1000.0
        );
        errors.push(join(&path, "burst"), why);
    }
    let mut again = |name: &str, why: &str| errors.push(join(&path, name), why);
    match (repairs, table.contains_key("retransmission_delay")) {
        (true, false) => again(
            "retransmission_delay",
            "is required with retransmissions: the delay of each, for example \"8 ms\"",
        ),
        (false, true) => again("retransmission_delay", "has no effect without retransmissions"),
        _ => {}
    }
    if repairs && probability.as_ref().is_some_and(|p| p.number() == Some(0.0)) {
        again("retransmissions", "has no effect on a link without errors: the probability is 0");
    }
    if repairs && link.contains_key("jitter") {
        again("retransmissions", "cannot be together with jitter: leave one of the two out");
    }
    if errors.len() > before {
        return None;
    }
    let which = match (probability, every) {
        // None is lost: the same as no loss at all.
        (Some(probability), _) if probability.number() == Some(0.0) => return Some(None),
        (Some(probability), _) => match burst {
            Some(burst) => Lost::Bursts(probability, burst),
            None => Lost::Random(probability),
        },
        (None, every) => Lost::Every(every? as u64),
    };
    let again = most.zip(delay).map(|(most, delay)| (most as u32, Duration::from_seconds(delay)));
    Some(Some(Loss { which, from: from?, until, ways: ways?, again }))
}

/// `rate`; the outer `None` means errors.
fn rate(table: &Table, path: &str, errors: &mut Errors) -> Option<Option<RateSpec>> {
    let Some(json) = table.get("rate") else { return Some(None) };
    let path = join(path, "rate");
    if let Json::Object(inner) = json
        && let Some(steps) = inner.get("steps")
    {
        unknown_keys(inner, ["steps"], &path, errors);
        return rate_steps(steps, &join(&path, "steps"), errors).map(|s| Some(RateSpec::Steps(s)));
    }
    if let Json::Object(inner) = json
        && let Some(at) = inner.get("opportunities")
    {
        unknown_keys(inner, ["opportunities", "bytes"], &path, errors);
        let at = opportunities(at, &join(&path, "opportunities"), errors);
        let bytes = inner.get("bytes").map_or(Some(MAHIMAHI_BYTES), |bytes| {
            let bytes = single(bytes, Type::Bytes, &Range::between(1.0, 1e9), &join(&path, "bytes"), errors);
            bytes.and_then(|value| value.number()).map(|bytes| bytes as u32)
        });
        return Some(Some(RateSpec::Opportunities(at?, bytes?)));
    }
    table::value(json, Type::Rate, &LINK_RATE, &path, errors).map(|v| Some(RateSpec::Constant(v)))
}

fn rate_steps(json: &Json, path: &str, errors: &mut Errors) -> Option<Vec<(Time, Rate)>> {
    let steps = steps(json, "rate", path, errors, |json, path, errors| {
        match quantity::single(json, Type::Rate, &Range::NOT_NEGATIVE).map(|value| value.number()) {
            Ok(Some(0.0)) => Some(Rate(0.0)),
            _ => single(json, Type::Rate, &LINK_RATE, path, errors).and_then(|v| v.number()).map(Rate),
        }
    })?;
    if steps.iter().all(|step| step.1.0 == 0.0) {
        return errors.none(path, "at least one rate must be above zero");
    }
    Some(steps)
}

/// Delivery opportunities: whole milliseconds in order, the last later than zero.
fn opportunities(json: &Json, path: &str, errors: &mut Errors) -> Option<Arc<[u64]>> {
    let items = list(json, "milliseconds", path, errors)?;
    let at: Option<Arc<[u64]>> = items.iter().map(Json::as_u64).collect();
    match at {
        Some(at) if at.is_sorted() && at.last().is_some_and(|last| (1..=MOST_MS).contains(last)) => Some(at),
        _ => errors.none(path, "must be whole milliseconds in rising order, the last later than 0"),
    }
}

/// Bytes of a delivery opportunity of Mahimahi: an MTU of 1500 and its header of 4.
const MAHIMAHI_BYTES: u32 = 1504;

/// No trace is longer.
const MOST_MS: u64 = 1_000_000_000;

/// `serve` of a direction; the outer `None` means errors.
fn serve(
    direction: &Table,
    rate: Option<&Option<RateSpec>>,
    path: &str,
    errors: &mut Errors,
) -> Option<Option<Serve>> {
    let Some(json) = direction.get("serve") else { return Some(None) };
    let path = join(path, "serve");
    let table = as_table(json, &path, errors)?;
    let before = errors.len();
    unknown_keys(table, SERVE.names(), &path, errors);
    typed::<Service>(table, &serve::kind, &path, errors);
    let preset = match table.contains_key("preset") {
        true => typed::<Preset>(table, &serve::preset, &path, errors).map(Preset::serve),
        false => None,
    };
    let every = fixed_number(table, &serve::every, &path, errors).map(Duration::from_seconds);
    let wait = fixed_number(table, &serve::wait, &path, errors).map(Duration::from_seconds);
    match rate {
        Some(Some(RateSpec::Constant(_))) | None => {}
        Some(None) => errors.push(&path, "a link without a rate serves each packet at once; give it a rate"),
        Some(Some(_)) => errors.push(&path, "needs a constant rate; steps and traces have their own service"),
    }
    if !table.contains_key("every") && !table.contains_key("preset") {
        errors.push(join(&path, "every"), "is required without a preset: duration, for example \"2 ms\"");
    }
    if errors.len() > before {
        return None;
    }
    let every = every.or(preset.map(|preset| preset.every))?;
    let wait = wait.or(preset.map(|preset| preset.wait)).unwrap_or_default();
    Some(Some(Serve { every, wait }))
}

/// `per`.
fn per(table: &Table, path: &str, errors: &mut Errors) -> Option<Per> {
    const EXAMPLES: &str = "\"user\", \"flow\", \"group\" or a number of users such as \"5 users\"";
    let Some(json) = table.get("per") else { return Some(Per::Shared) };
    let path = join(path, "per");
    let Json::String(text) = json else {
        return errors.none(path, format!("{EXAMPLES} is needed, not {}", shown(json)));
    };
    match text.as_str() {
        "user" => return Some(Per::User),
        "flow" => return Some(Per::Flow),
        "group" => return Some(Per::Group),
        _ => {}
    }
    let number = text.strip_suffix(" users").or_else(|| text.strip_suffix(" user"));
    match number.map(str::parse::<u32>) {
        Some(Ok(0)) => errors.push(path, "must be at least 1 user"),
        Some(Ok(1)) => return Some(Per::User),
        Some(Ok(n)) => return Some(Per::Users(n)),
        _ => {
            let hint = match nearest(text, &["user", "flow", "group"]) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("write {EXAMPLES}, or leave it out for one shared by all"),
            };
            errors.push(path, format!("{} is not valid; {hint}", quoted(text)));
        }
    }
    None
}

/// `queue` of a direction; the outer `None` means errors.
fn queue(direction: &Table, has_rate: bool, path: &str, errors: &mut Errors) -> Option<Option<Queue>> {
    let Some(json) = direction.get("queue") else { return Some(None) };
    let path = join(path, "queue");
    let table = as_table(json, &path, errors)?;
    if !has_rate {
        errors.push(&path, "a link without a rate is pure delay and has no queue");
    }
    let before = errors.len();
    let versions = Versions::of(table, &path, errors);
    let change = typed::<Change>(table, &queue::change, &path, errors);
    if table.contains_key("change") && !versions.changes() {
        errors.push(join(&path, "change"), "is for steps, and this queue has none");
    }
    let mut decoded = Vec::new();
    for &time in &versions.times {
        let mut found = Errors::default();
        let queue = queue_at(&versions.at(table, time), has_rate, &path, &mut found);
        versions.report(&found, time, errors);
        decoded.push(queue.map(|queue| (time, queue)));
    }
    let mut decoded = decoded.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
    let (_, first) = decoded.next().filter(|_| errors.len() == before)?;
    Some(Some(Queue { changes: decoded.collect(), change: change?, ..first }))
}

/// A queue without steps.
fn queue_at(table: &Table, has_rate: bool, path: &str, errors: &mut Errors) -> Option<Queue> {
    let rule = rule(table, path, errors);
    let before = errors.len();
    let limit = limit(table, path, errors);
    let limit_sound = errors.len() == before;
    let scheduler = match table.get("scheduler") {
        None => Some((None, SchedulerPer::Class)),
        Some(json) => scheduler(json, &join(path, "scheduler"), errors),
    };
    let (scheduler, mut scheduler_per) = scheduler?;
    if limit.is_some() && scheduler.as_ref().is_some_and(|s| s.values.has(bucket::Given::latency)) {
        let why = "is another form of limit, and the queue has one; give one of the two";
        return errors.none(join(&join(path, "scheduler"), "latency"), why);
    }
    let rule = rule?;
    if rule.mechanism.traits.owns_queues {
        if scheduler.is_some() {
            let path = join(path, "scheduler");
            return errors
                .none(path, format!("{} is a scheduler itself; leave this out", rule.mechanism.kind));
        }
        scheduler_per = SchedulerPer::Flow;
    }
    let clash = scheduler.as_ref().and_then(|s| evenflow_queue::clash(rule.mechanism, s.mechanism));
    if let Some(why) = clash {
        return errors.none(join(path, "scheduler"), why);
    }
    (has_rate && limit_sound).then_some(())?;
    let traits = [scheduler.as_ref(), Some(&rule)].into_iter().flatten().map(|spec| spec.mechanism.traits);
    let limit = limit.or_else(|| traits.into_iter().find_map(|t| t.default_limit).map(Value::Packets));
    Some(Queue { rule, limit, scheduler, scheduler_per, changes: Vec::new(), change: Change::Keep })
}

/// The admission rule: the `kind` and parameters of a queue.
fn rule(table: &Table, path: &str, errors: &mut Errors) -> Option<Spec> {
    if table.contains_key("kind") {
        return mechanism_in(table, &QUEUE, Room::Queue, path, errors).1;
    }
    let stray = |m: &&&Mechanism| m.params.iter().any(|p| table.contains_key(p.name));
    let owners: Vec<&str> = catalogue::all(Room::Queue).iter().filter(stray).map(|m| m.kind).collect();
    if !owners.is_empty() {
        return errors.none(
            join(path, "kind"),
            format!("is required: the parameters are those of {}", owners.join(" or ")),
        );
    }
    table::spec(table, catalogue::default(Room::Queue), &super::keys(&QUEUE), path, errors)
}

fn limit(table: &Table, path: &str, errors: &mut Errors) -> Option<Value> {
    let json = table.get("limit")?;
    let path = join(path, "limit");
    if let Ok(value) = quantity::single(json, Type::QueueLength, &Range::ANY)
        && value.number() == Some(0.0)
    {
        return errors.none(
            path,
            "a queue of zero holds nothing; give a limit above 0, or none for an unlimited queue",
        );
    }
    let value = table::value(json, Type::QueueLength, &queue::limit.range, &path, errors)?;
    // A limit holds whole packets.
    let too_small = |v: &Value| matches!(v, Value::Packets(x) if *x < 1.0);
    let too_small = match &value {
        Value::Random(Law::Uniform(low, _)) => too_small(low),
        Value::Random(Law::Pareto(unit, _)) => too_small(&unit.with(value.bounds().0)),
        Value::Random(Law::Dealt(values)) => values.iter().any(too_small),
        other => too_small(other),
    };
    if too_small {
        return errors.none(path, format!("must be at least 1 packet, not {}", shown(json)));
    }
    Some(value)
}

fn scheduler(json: &Json, path: &str, errors: &mut Errors) -> Option<(Option<Spec>, SchedulerPer)> {
    let table = as_table(json, path, errors)?;
    let mechanism = table::kind(table, Room::Scheduler, path, errors)?;
    let spec = table::spec(table, mechanism, &["kind"], path, errors)?;
    if std::ptr::eq(mechanism, catalogue::default(Room::Scheduler)) {
        return Some((None, SchedulerPer::Class)); // as without a scheduler
    }
    let per = match spec.values.at(Sorted::KEY) {
        Some(Sorted::User) => SchedulerPer::User,
        Some(Sorted::Flow) => SchedulerPer::Flow,
        _ => SchedulerPer::Class,
    };
    if per != SchedulerPer::Class && class_tables(&spec).next().is_some() {
        return errors.none(
            join(path, "per"),
            format!("must be \"class\": {} tells classes apart by name", mechanism.kind),
        );
    }
    Some((Some(spec), per))
}

/// The parameters of a mechanism that name traffic classes, and the names.
fn class_tables(spec: &Spec) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
    let by_class = spec.values.is(Sorted::KEY, Sorted::Class);
    spec.values.0.iter().filter_map(move |(name, value)| match value {
        Value::Tables(_) => by_class.then(|| (*name, leaf_names(&spec.values))),
        Value::Names(list) => Some((*name, list.iter().map(String::as_str).collect())),
        Value::Numbers(table) => Some((*name, table.keys().map(String::as_str).collect())),
        Value::SecondsPerClass(table) => Some((*name, table.keys().map(String::as_str).collect())),
        _ => None,
    })
}

/// A copy per flow is impossible with flows that open during the run: their number is unlimited.
pub(super) fn check_per_flow(
    links: &[LinkDraft],
    stages: &[StageDraft],
    groups: &[GroupDraft],
    errors: &mut Errors,
) {
    let opener = |component: Component| {
        let crosses = |g: &&GroupDraft| g.path.iter().flatten().any(|hop| hop.component == component);
        groups.iter().filter(crosses).find_map(|g| Some((g.name.as_str(), g.opens()?)))
    };
    let copies = |(group, kind)| {
        format!(
            "\"flow\" is a copy for each flow, and {kind} of the group {group} opens flows during the run; \
             write \"user\""
        )
    };
    for (i, draft) in links.iter().enumerate() {
        let (Some(link), Some(opener)) = (&draft.link, opener(Component::Link(i))) else { continue };
        let path = join("links", &link.name);
        if link.per == Per::Flow {
            errors.push(join(&path, "per"), copies(opener));
        }
        let reverse = link.reverse.as_ref().map(|way| (way, join(&path, "reverse")));
        for (way, path) in [(&link.forward, path.clone())].into_iter().chain(reverse) {
            let Some(queue) = &way.queue else { continue };
            let own_queues = queue.scheduler_per == SchedulerPer::Flow && !queue.is_hashed();
            if let (true, Some(scheduler)) = (own_queues, &queue.scheduler) {
                let kind = scheduler.mechanism.kind;
                errors.push(
                    join(&join(&join(&path, "queue"), "scheduler"), "per"),
                    format!(
                        "{kind} has a queue for each flow, and {} of the group {} opens flows during the \
                         run. Write \"user\", or use sfq or fq-codel, which hash flows",
                        opener.1, opener.0
                    ),
                );
            }
        }
    }
    for (i, draft) in stages.iter().enumerate() {
        if let (Some(Per::Flow), Some(opener)) = (draft.per, opener(Component::Stage(i))) {
            errors.push(join(&join("stages", &draft.name), "per"), copies(opener));
        }
    }
}

/// Checks the places of stages on paths, as far as paths are known. A stage on no path is an error only if
/// all are known.
pub(super) fn check_places(
    links: &[LinkDraft],
    stages: &[StageDraft],
    groups: &[GroupDraft],
    errors: &mut Errors,
) {
    let place = |i: usize| stages[i].mechanism.map_or(Place::Anywhere, |mechanism| mechanism.traits.place);
    let known = !groups.is_empty() && groups.iter().all(|group| group.path.is_some());
    let on = |i: usize| {
        groups.iter().flat_map(|g| g.path.iter().flatten()).any(|hop| hop.component == Component::Stage(i))
    };
    for (i, draft) in stages.iter().enumerate().filter(|(i, _)| known && !on(*i)) {
        let there = match place(i) {
            Place::Anywhere => continue,
            Place::OnPath => "on the path of the groups that it is for",
            Place::Ingress => "where packets enter the network, before shared links",
            Place::Egress => "where packets leave the network, behind the queues that mark them",
        };
        let why = format!("is on no path and has no effect: write {} {there}", quoted(&draft.name));
        errors.push(join("stages", &draft.name), why);
    }
    for group in groups {
        let Some(path) = &group.path else { continue };
        for (n, hop) in path.iter().enumerate() {
            let Component::Stage(own) = hop.component else { continue };
            let here = format!("{}.path[{n}]", join("groups", &group.name));
            if place(own) == Place::Egress {
                check_egress(links, stages, own, (path, n), &here, errors);
            }
        }
    }
}

/// A stage that stands where packets leave: nothing behind it marks or polices, and what re-ECN declares for losses gets to it.
fn check_egress(
    links: &[LinkDraft],
    stages: &[StageDraft],
    own: usize,
    (path, n): (&[Hop], usize),
    here: &str,
    errors: &mut Errors,
) {
    let (name, kind) = (quoted(&stages[own].name), stages[own].kind());
    let marks = |i: usize, hop: &Hop| links[i].marks[usize::from(hop.against)] == Some(true);
    let mut said = Vec::new();
    for hop in &path[n + 1..] {
        let why = match hop.component {
            Component::Link(i) if marks(i, hop) => format!(
                "the link {}, whose queue marks packets: it would not see these marks",
                quoted(&links[i].name)
            ),
            Component::Stage(i)
                if stages[i].mechanism.is_some_and(|other| other.traits.place == Place::Ingress) =>
            {
                format!("{}, a {}, whose drops it would not see", quoted(&stages[i].name), stages[i].kind())
            }
            _ => continue,
        };
        if !said.contains(&why) {
            errors.push(here, format!("{name}, the {kind}, is before {why}; put it behind"));
            said.push(why);
        }
    }
    if !evenflow_stage::dropper::is_named(&stages[own].values) {
        return;
    }
    // A link that marks and loses cannot have the dropper between the two.
    let between = path[..n].iter().rev().map_while(|hop| match hop.component {
        Component::Link(i) if marks(i, hop) => None,
        Component::Link(i) => Some(Some((i, usize::from(hop.against)))),
        Component::Stage(_) => Some(None),
    });
    let loses =
        |(i, way): &(usize, usize)| links[*i].loss.as_ref().is_some_and(|loss| loss.ways.contains(way));
    if let Some((i, _)) = between.flatten().find(loses) {
        let why = format!(
            "{name}, the {kind}, is behind the link {}, which loses packets: their declarations would be \
             missing, and senders declare these losses too; put it before",
            quoted(&links[i].name)
        );
        errors.push(here, why);
    }
}

/// A packet in a tunnel must leave it at that tunnel's end, on every path and in both directions. Checked
/// only if all paths, stage kinds and tunnel ends are known, after peers are tied.
pub(super) fn check_tunnels(stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    check_teids(stages, groups, errors);
    let Some(paths) = groups.iter().map(|g| Some((g, g.path.as_ref()?))).collect::<Option<Vec<_>>>() else {
        return;
    };
    let mouth = |i: usize| stages[i].mechanism.and_then(|mechanism| mechanism.traits.mouth);
    if stages.iter().any(|stage| stage.mechanism.is_none()) || (0..stages.len()).all(|i| mouth(i).is_none()) {
        return;
    }
    let mut sound = true;
    for (i, draft) in stages.iter().enumerate() {
        if let (Some(mouth), None, None) = (mouth(i), draft.tied, &draft.peer) {
            let (other, what) = match mouth {
                Mouth::Ingress => (tunnel::EGRESS.kind, "removes the header"),
                Mouth::Egress => (tunnel::INGRESS.kind, "adds the header"),
            };
            let near: Vec<&str> = (0..stages.len())
                .filter(|n| mouth_of(stages, *n).is_some_and(|own| own != mouth))
                .map(|n| stages[n].name.as_str())
                .collect();
            let near =
                if let [one] = near[..] { format!(", for example {}", quoted(one)) } else { String::new() };
            let why = format!("is required: the stage of kind {other} that {what}{near}");
            errors.push(join(&join("stages", &draft.name), "peer"), why);
            sound = false;
        }
        sound &= mouth(i).is_none() || draft.tied.is_some();
    }
    for (group, path) in paths.iter().filter(|_| sound) {
        let there = path.iter().enumerate().map(|(n, hop)| (n, hop.component, hop.against));
        let back = path.iter().enumerate().rev().map(|(n, hop)| (n, hop.component, !hop.against));
        let acknowledged = group.classes.iter().flatten().any(|sends| sends.answered);
        let found = tunnelled(stages, there).err();
        let found = found.or_else(|| if acknowledged { tunnelled(stages, back).err() } else { None });
        if let Some((hop, why)) = found {
            errors.push(format!("{}.path[{hop}]", join("groups", &group.name)), why);
        }
    }
}

fn mouth_of(stages: &[StageDraft], i: usize) -> Option<Mouth> {
    stages[i].mechanism.and_then(|mechanism| mechanism.traits.mouth)
}

/// Follows packets over hops (number, component, backward or not). Returns the error and its hop.
fn tunnelled(
    stages: &[StageDraft],
    way: impl Iterator<Item = (usize, Component, bool)>,
) -> Result<(), (usize, String)> {
    let mut inside: Vec<(usize, usize)> = Vec::new();
    for (hop, component, against) in way {
        let Component::Stage(i) = component else { continue };
        let (Some(mouth), false) = (mouth_of(stages, i), against) else { continue };
        let own = quoted(&stages[i].name);
        match (mouth, inside.last()) {
            (Mouth::Ingress, _) if inside.len() == OUTER => {
                return Err((
                    hop,
                    format!("{own} would be the third tunnel around a packet; there may be two"),
                ));
            }
            (Mouth::Ingress, _) => inside.push((hop, i)),
            (Mouth::Egress, Some((_, of))) if stages[*of].tied == Some(i) => {
                inside.pop();
            }
            (Mouth::Egress, Some((_, of))) => {
                let why = format!(
                    "{own} removes the header of its peer, but the outermost one is that of {}: tunnels \
                     overlap; put one inside the other",
                    quoted(&stages[*of].name)
                );
                return Err((hop, why));
            }
            (Mouth::Egress, None) => {
                return Err((
                    hop,
                    format!(
                        "packets reach {own}, which removes a header, without one; put its peer before it"
                    ),
                ));
            }
        }
    }
    match inside.last() {
        None => Ok(()),
        Some((hop, i)) => {
            let peer = stages[*i].tied.map_or("", |peer| &stages[peer].name);
            let own = quoted(&stages[*i].name);
            Err((
                *hop,
                format!(
                    "packets that enter at {own} do not leave the tunnel before their end; put {} behind it",
                    quoted(peer)
                ),
            ))
        }
    }
}

/// Checks that tunnel numbers are unique. Copies of a stage count from its `teid`; without it, from 1 over
/// all stages.
fn check_teids(stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    let mut before = Some(0);
    let mut taken: Vec<(u64, u64, &StageDraft, bool)> = Vec::new();
    for (i, draft) in stages.iter().enumerate() {
        let copies = draft.per.and_then(|per| drafts::copies(groups, Component::Stage(i), per));
        let given = draft.values.at(Entrance::teid).map(u64::from);
        let itself = before.filter(|_| !draft.unread.contains(&Entrance::teid.name)).map(|before| before + 1);
        before = before.zip(copies).map(|(before, copies)| before + copies);
        let (true, Some(first)) = (draft.kind() == tunnel::INGRESS.kind, given.or(itself)) else { continue };
        let last = first + copies.unwrap_or(1).max(1) - 1;
        let at = |draft: &StageDraft| join(&join("stages", &draft.name), Entrance::teid.name);
        let numbers = |first: u64, last: u64, given: bool| match (given, first == last) {
            (true, true) => String::new(),
            (true, false) => format!(", whose copies have {first} to {last}"),
            (false, _) => ", which is numbered automatically".to_owned(),
        };
        if last > u64::from(u32::MAX) {
            errors.push(
                at(draft),
                format!("its copies would have {first} to {last}, and {} is the last", u32::MAX),
            );
        }
        let clash = taken
            .iter()
            .find(|(from, to, _, wrote)| *from <= last && first <= *to && (given.is_some() || *wrote));
        if let Some((from, to, other, wrote)) = clash {
            // Said where a number is written.
            let (own, other, rest) = match given {
                Some(_) => (draft, other, numbers(*from, *to, *wrote)),
                None => (*other, &draft, numbers(first, last, false)),
            };
            let number = first.max(*from);
            let why = format!(
                "{number} is the number of {} too{rest}; no two tunnels have one number",
                quoted(&other.name)
            );
            errors.push(at(own), why);
        }
        taken.push((first, last, draft, given.is_some()));
    }
}

/// By how many bytes packets are longer, on one of these paths, where they meet stage number `i`.
fn longest_headers(stages: &[StageDraft], group: &GroupDraft, i: usize) -> f64 {
    let (mut longer, mut most) = (0.0, 0.0);
    let mut open: Vec<f64> = Vec::new();
    for hop in group.path.iter().flatten() {
        let Component::Stage(n) = hop.component else { continue };
        if n == i {
            most = f64::max(most, longer);
        }
        let Some(stage) = stages[n].stage.as_ref().filter(|_| !hop.against) else { continue };
        match stage.spec.mechanism.traits.mouth {
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

/// The classes that cross every component; `None` if a path, a class or a stage's classes have errors.
pub(super) fn crossing(
    links: &[LinkDraft],
    stages: &[StageDraft],
    groups: &[GroupDraft],
) -> Option<Crossing> {
    let mut crossing = Crossing {
        links: vec![Default::default(); links.len()],
        sent: vec![Default::default(); links.len()],
        stages: vec![BTreeSet::new(); stages.len()],
        all: BTreeSet::new(),
    };
    for group in groups {
        let path = group.path.as_ref()?;
        for sends in group.classes.as_ref()? {
            let start = || BTreeSet::from([sends.class.clone()]);
            crossing.follow(stages, path.iter().map(|hop| (hop.component, hop.against)), start())?;
            if sends.answered {
                let back = path.iter().rev().map(|hop| (hop.component, !hop.against));
                crossing.follow(stages, back, start())?;
            }
        }
    }
    Some(crossing)
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

/// Schedulers must know exactly the classes that cross their link, stages name classes that there are, and their buckets hold
/// the packets that cross them. Said only where all paths and classes are known, so that one mistake does not make two
/// errors.
pub(super) fn check_classes(
    links: &[LinkDraft],
    stages: &[StageDraft],
    groups: &[GroupDraft],
    crossing: Option<&Crossing>,
    errors: &mut Errors,
) {
    let Some(crossing) = crossing else { return };
    let specs = |queue: &Queue| [Some(queue.rule.clone()), queue.scheduler.clone()];
    let queues = links.iter().flat_map(|draft| draft.queues.iter().flatten()).flat_map(specs).flatten();
    let read = stages
        .iter()
        .filter_map(|draft| Some(Spec { mechanism: draft.mechanism?, values: draft.values.clone() }));
    let met: Vec<(&Stage, &BTreeSet<String>)> = (stages.iter().zip(&crossing.stages))
        .filter_map(|(draft, classes)| Some((draft.stage.as_ref()?, classes)))
        .collect();
    let sent: BTreeSet<&String> =
        groups.iter().flat_map(|g| g.classes.iter().flatten()).map(|sends| &sends.class).collect();
    let mut known: BTreeSet<String> = sent.iter().map(|class| (*class).clone()).collect();
    for spec in queues.chain(read) {
        known.extend(class_tables(&spec).flat_map(|(_, names)| names).map(str::to_owned));
    }
    // An unknown class is reported only where it is given.
    let there = |set: &BTreeSet<String>| set.intersection(&known).cloned().collect::<BTreeSet<String>>();
    for (i, draft) in links.iter().enumerate() {
        let path = join("links", &draft.name);
        let crossing_it = crossing.links[i].each_ref().map(there);
        let paths = [join(&path, "queue"), join(&join(&path, "reverse"), "queue")];
        for (way, path) in paths.iter().enumerate() {
            let (queue, sent) = (draft.queues[way].as_ref(), &crossing.sent[i][way]);
            let rule = queue.iter().map(|queue| (&queue.rule, path.clone()));
            let scheduler = queue.iter().flat_map(|queue| &queue.scheduler);
            let scheduler = scheduler.map(|spec| (spec, join(path, "scheduler")));
            for (spec, path) in rule.chain(scheduler) {
                check_tables(spec, &crossing_it[way], sent, &path, errors);
            }
        }
    }
    for (stage, classes) in met {
        let Spec { mechanism, values } = &stage.spec;
        let path = join("stages", &stage.name);
        let (given, words) = evenflow_stage::classes_given(mechanism.kind, values);
        for (name, class) in given.iter().filter(|(_, class)| !known.contains(class)) {
            let near = suggestion(class, words.iter().copied().chain(known.iter().map(String::as_str)));
            let class = quoted(class);
            let why = format!(
                "no group sends packets of class {class}, and no queue or other stage names it{near}"
            );
            errors.push(join(&path, name), why);
        }
        for (name, value) in &values.0 {
            if let Value::Word(word) = value
                && words.contains(&word.as_str())
                && sent.contains(word)
            {
                let word = quoted(word);
                let why =
                    format!("{word} is a word here and a traffic class too; give the class another name");
                errors.push(join(&path, name), why);
            }
        }
        let classes = there(classes);
        if classes.is_empty() {
            continue; // a stage on no path
        }
        for (name, named) in class_tables(&stage.spec).filter(|(name, _)| is_list(values, name)) {
            for class in named.iter().filter(|class| !classes.contains(**class)) {
                let near = suggestion(class, classes.iter().map(String::as_str));
                let why = format!("no packet of class {} crosses this stage{near}", quoted(class));
                errors.push(join(&path, name), why);
            }
        }
    }
    check_buckets(stages, groups, errors);
}

fn is_list(values: &Values, name: &str) -> bool {
    matches!(values.get(name), Some(Value::Names(_)))
}

/// A packet larger than a bucket never finds enough tokens.
fn check_buckets(stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    for (i, draft) in stages.iter().enumerate() {
        let Some(stage) = &draft.stage else { continue };
        let Spec { mechanism, values } = &stage.spec;
        let crosses =
            |g: &&GroupDraft| g.path.iter().flatten().any(|hop| hop.component == Component::Stage(i));
        let longer = |g: &GroupDraft| Some(g.largest_packet()? + longest_headers(stages, g, i));
        let largest = groups.iter().filter(crosses).filter_map(|g| Some((longer(g)?, &g.name)));
        let Some((largest, group)) = largest.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        for name in evenflow_stage::buckets(mechanism.kind, values) {
            let least = values.get(name).map(least_bytes);
            if let Some(Some(bytes)) = least
                && bytes < largest
            {
                let why = format!(
                    "is {bytes} B, less than the largest packet that crosses this stage, {largest} B of group {}: there would \
                     never be enough tokens for it",
                    quoted(group)
                );
                errors.push(join(&join("stages", &stage.name), name), why);
            }
        }
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
fn check_tables(
    spec: &Spec,
    crossing: &BTreeSet<String>,
    sent: &BTreeSet<String>,
    path: &str,
    errors: &mut Errors,
) {
    if crossing.is_empty() {
        return; // a link on no path
    }
    for (name, classes) in class_tables(spec) {
        let path = join(path, name);
        for class in crossing.iter().filter(|class| !classes.contains(&class.as_str())) {
            errors.push(&path, format!("class {} crosses this link but is missing", quoted(class)));
        }
        for class in classes.iter().filter(|class| !crossing.contains(**class) && !sent.contains(**class)) {
            let near = suggestion(class, crossing.iter().map(String::as_str));
            errors.push(&path, format!("no packet of class {} crosses this link{near}", quoted(class)));
        }
    }
}

/// `[stages.NAME]`.
pub(super) fn stages(root: &Table, links: &[LinkDraft], errors: &mut Errors) -> Vec<StageDraft> {
    let mut drafts = Vec::new();
    for (name, path, table) in by_name(root, "stages", errors) {
        if links.iter().any(|link| link.name == name) {
            errors.push(&path, "a link has this name too; a path could not tell them apart");
        }
        let Some(table) = table else {
            drafts.push(StageDraft {
                name: name.into(),
                per: None,
                mechanism: None,
                values: Values(BTreeMap::new()),
                unread: Vec::new(),
                peer: None,
                controls: None,
                tied: None,
                stage: None,
            });
            continue;
        };
        let mut written =
            |key| table.get(key).and_then(|json| text(json, &join(&path, key), errors)).map(str::to_owned);
        let (peer, controls) = (written("peer"), written("controls"));
        let per = per(table, &path, errors);
        let mechanism = table::kind(table, Room::Stage, &path, errors);
        let (spec, values) = mechanism.map_or_else(
            || (None, Values(BTreeMap::new())),
            |own| table::partly(table, own, &super::keys(&STAGE), &path, errors),
        );
        let unread = mechanism.map_or_else(Vec::new, |own| table::unread(table, own, &values));
        let stage = per.zip(spec).map(|(per, spec)| Stage {
            name: name.into(),
            per,
            spec,
            peer: None,
            controls: None,
        });
        let name = name.into();
        drafts.push(StageDraft { name, per, mechanism, values, unread, peer, controls, tied: None, stage });
    }
    drafts
}

/// Ties stages to their peers and controlled links. Errors are reported only if all paths and the kinds are known.
pub(super) fn ties(
    mut stages: Vec<StageDraft>,
    links: &[LinkDraft],
    groups: &[GroupDraft],
    errors: &mut Errors,
) -> Vec<StageDraft> {
    let paths: Option<Vec<&Vec<Hop>>> = groups.iter().map(|g| g.path.as_ref()).collect();
    let meet = |a: Component, b: Component| {
        let on = |path: &&Vec<Hop>, c: Component| path.iter().any(|hop| hop.component == c);
        paths.as_ref().is_none_or(|paths| paths.iter().any(|path| on(path, a) && on(path, b)))
    };
    // Which ways data crosses a link on paths that have the stage too; `None` where a path is unknown.
    let ways = |stage: usize, link: usize| -> Option<Vec<usize>> {
        let shared = paths
            .as_ref()?
            .iter()
            .filter(|path| path.iter().any(|hop| hop.component == Component::Stage(stage)));
        let hops = shared.flat_map(|path| path.iter()).filter(|hop| hop.component == Component::Link(link));
        Some(hops.map(|hop| usize::from(hop.against)).collect())
    };
    lacking(&stages, groups, errors);
    let mut peers: Vec<Option<usize>> = vec![None; stages.len()];
    let mut controls: Vec<Option<(usize, usize)>> = vec![None; stages.len()];
    for (i, stage) in stages.iter().enumerate() {
        let path = join("stages", &stage.name);
        if let Some(name) = &stage.peer {
            match peer(i, name, &stages, links, &meet) {
                Ok(peer) => peers[i] = peer,
                Err(message) => errors.push(join(&path, "peer"), message),
            }
        }
        if stage.controls.is_none()
            && let Some(own) = stage.mechanism.filter(|own| own.traits.shares)
        {
            let why = format!("is required: {} gives shares to the queues of a link", own.kind);
            errors.push(join(&path, "controls"), why);
        }
        if let Some(name) = &stage.controls {
            match controlled(i, name, &stages, links, &ways) {
                Ok(link) => controls[i] = link,
                Err(message) => errors.push(join(&path, "controls"), message),
            }
        }
    }
    for (i, link) in controls.iter().enumerate() {
        let first = controls.iter().position(|other| other == link).filter(|first| *first < i);
        if let (Some(_), Some(first)) = (link, first) {
            let other = quoted(&stages[first].name);
            let why = format!(
                "{other} controls this direction of the link already; they would overwrite each other"
            );
            errors.push(join(&join("stages", &stages[i].name), "controls"), why);
        }
    }
    // A stage that names no peer is the peer of the stage that names it.
    for i in 0..stages.len() {
        let Some(peer) = peers[i] else { continue };
        let here = join(&join("stages", &stages[i].name), "peer");
        match peers[peer] {
            None if stages[peer].peer.is_none() => peers[peer] = Some(i),
            Some(other) if other != i => errors.push(
                here,
                format!("the peer of {} is {}", quoted(&stages[peer].name), quoted(&stages[other].name)),
            ),
            _ => {}
        }
    }
    for (i, draft) in stages.iter_mut().enumerate() {
        draft.tied = peers[i];
        if let Some(stage) = &mut draft.stage {
            (stage.peer, stage.controls) = (peers[i], controls[i]);
        }
    }
    stages
}

/// Checks that rewriters have packets to rewrite, if all paths and classes are known.
fn lacking(stages: &[StageDraft], groups: &[GroupDraft], errors: &mut Errors) {
    if groups.iter().any(|g| g.path.is_none() || g.classes.is_none()) {
        return;
    }
    for (i, draft) in stages.iter().enumerate() {
        let Some(stage) = &draft.stage else { continue };
        let path = join("stages", &stage.name);
        let here = |g: &&GroupDraft| g.path.iter().flatten().any(|hop| hop.component == Component::Stage(i));
        let classes: Vec<&Sends> =
            groups.iter().filter(here).flat_map(|g| g.classes.iter().flatten()).collect();
        if classes.is_empty() {
            continue; // a stage on no path
        }
        if stage.needs_windows() && classes.iter().all(|sends| !sends.tcp) {
            // The required parameter; kinds that compute the value have none.
            let windows = [rewriter::Given::window, rewriter::Given::max_window];
            let field = windows.into_iter().find(|key| stage.spec.values.has(*key)).map(|key| key.name);
            let why = "no packet that crosses this stage has a receive window: all of them are datagrams";
            errors.push(field.map_or_else(|| path.clone(), |field| join(&path, field)), why);
        }
        if let Some(names) = stage.spec.values.at(rewriter::Given::of_class) {
            let crossing: BTreeSet<&str> = classes.iter().map(|sends| sends.class.as_str()).collect();
            for name in names.iter().filter(|name| !crossing.contains(name.as_str())) {
                let near = suggestion(name, crossing.iter().copied());
                let why = format!("no packet of class {} crosses this stage{near}", quoted(name));
                errors.push(join(&path, rewriter::Given::of_class.name), why);
            }
        }
    }
}

/// The peer called `name` of stage number `i`; other errors are reported elsewhere.
fn peer(
    i: usize,
    name: &str,
    stages: &[StageDraft],
    links: &[LinkDraft],
    meet: &impl Fn(Component, Component) -> bool,
) -> Result<Option<usize>, String> {
    let Some(own) = stages[i].mechanism else { return Ok(None) };
    if own.traits.peers.is_empty() {
        return Err(format!("{} has no peer; leave this out", own.kind));
    }
    if name == stages[i].name {
        return Err("a stage is not its own peer".into());
    }
    let Ok(peer) = stages.binary_search_by(|stage| stage.name.as_str().cmp(name)) else {
        if links.iter().any(|link| link.name == name) {
            return Err(format!("{} is a link; a peer is a stage", quoted(name)));
        }
        let valid = stages.iter().enumerate().filter(|(n, _)| *n != i).map(|(_, s)| s.name.as_str());
        return Err(format!("no stage is called {}{}", quoted(name), suggestion(name, valid)));
    };
    let Some(mechanism) = stages[peer].mechanism else { return Ok(None) };
    if !own.traits.peers.contains(&mechanism.kind) {
        let wanted = own.traits.peers.join(" or ");
        let kind = mechanism.kind;
        return Err(format!(
            "{} is a stage of kind {kind}; a peer of {} is of kind {wanted}",
            quoted(name),
            own.kind
        ));
    }
    if !meet(Component::Stage(i), Component::Stage(peer)) {
        return Err(format!("no path has both this stage and {}", quoted(name)));
    }
    Ok(Some(peer))
}

/// The link called `name`, and the direction of it, that stage number `i` controls.
fn controlled(
    i: usize,
    name: &str,
    stages: &[StageDraft],
    links: &[LinkDraft],
    ways: &impl Fn(usize, usize) -> Option<Vec<usize>>,
) -> Result<Option<(usize, usize)>, String> {
    let Some(own) = stages[i].mechanism else { return Ok(None) };
    if !own.traits.controls {
        return Err(format!("{} controls nothing; leave this out", own.kind));
    }
    let (name, way) = name.strip_prefix('-').map_or((name, 0), |name| (name, 1));
    let Ok(link) = links.binary_search_by(|link| link.name.as_str().cmp(name)) else {
        if stages.iter().any(|stage| stage.name == name) {
            return Err(format!("{} is a stage; {} controls a link", quoted(name), own.kind));
        }
        let near = suggestion(name, links.iter().map(|link| link.name.as_str()));
        return Err(format!("no link is called {}{near}", quoted(name)));
    };
    let Some(spec) = &links[link].link else { return Ok(None) };
    let direction = if way == 1 { spec.reverse.as_ref().unwrap_or(&spec.forward) } else { &spec.forward };
    if direction.rate.is_none() {
        return Err(format!("{} has no rate that could be set", quoted(name)));
    }
    if own.traits.shares {
        if way == 1 && spec.reverse.is_none() {
            return Err(format!(
                "{} has no queue in its reverse direction; describe it with reverse = {{ rate = …, queue = … }}",
                quoted(name)
            ));
        }
        let scheduler = direction.queue.as_ref().and_then(|queue| queue.scheduler.as_ref());
        let per = direction.queue.as_ref().map(|queue| queue.scheduler_per);
        let values = |queue: &Queue| queue.scheduler.as_ref().map(|spec| spec.values.clone());
        let changes = |queue: &Queue| queue.changes.iter().any(|(_, later)| values(later) != values(queue));
        if direction.queue.as_ref().is_some_and(changes) {
            return Err(format!(
                "the scheduler of {} has steps, which would overwrite the shares that this stage sets; leave \
                 one of the two out",
                quoted(name)
            ));
        }
        if stages[i].says(sessions::Given::session, SessionWord::Flow) == Some(true)
            && per == Some(SchedulerPer::User)
        {
            return Err(format!(
                "each connection is a session, and {} has a class for each user, so connections would \
                 overwrite each other's share. Give its scheduler per = \"flow\", or write session = \
                 \"user\"",
                quoted(name)
            ));
        }
        if !scheduler.is_some_and(|s| s.mechanism.traits.tree) || per == Some(SchedulerPer::Class) {
            return Err(format!(
                "{} has no queue whose share could be set; give it a scheduler of kind \"htb\" with per = \"user\" or \"flow\"",
                quoted(name)
            ));
        }
    }
    match ways(i, link) {
        Some(ways) if ways.is_empty() => {
            return Err(format!("no path has both this stage and {}", quoted(name)));
        }
        Some(ways) if own.traits.shares && !ways.contains(&way) => {
            let (sign, against) = if way == 1 { ("", "along") } else { ("-", "against") };
            return Err(format!(
                "data crosses {} {against} its direction, so its queue there has no data; did you mean \
                 \"{sign}{name}\"?",
                quoted(name)
            ));
        }
        _ => {}
    }
    Ok(Some((link, way)))
}
