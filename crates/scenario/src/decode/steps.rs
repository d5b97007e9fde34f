//! `{ steps = [[time, value], …] }`: values of a link's rate or queue over time.

use evenflow_base::Time;
use evenflow_base::schema::{Mechanism, Range, Room, Type};
use serde_json::Value as Json;

use super::{Table, single};
use crate::catalogue;
use crate::errors::{At, Errors, suggestion};

/// The most instants at which a queue changes: it is built for each of them.
const MOST: usize = 1000;

/// Pairs of time and value, read by `value`; the first at zero, in rising order.
pub(super) fn steps<T>(
    json: &Json,
    of: &str,
    at: &At,
    mut value: impl FnMut(&Json, &At) -> Option<T>,
) -> Option<Vec<(Time, T)>> {
    let before = at.count();
    let items = at.list(json, &format!("a list of [time, {of}] pairs is needed"))?;
    if items.is_empty() {
        return at.none(format!("must have at least one {of}"));
    }
    let mut last: Option<f64> = None;
    let step = |(i, item): (usize, &Json)| {
        let here = at.item(i);
        let pair = here.list(item, &format!("[time, {of}] is needed"))?;
        let [time, given] = pair else {
            return here.none(format!("[time, {of}] is needed, not a list of {}", pair.len()));
        };
        let (given, here) = (value(given, &here.item(1)), here.item(0));
        let time = single(time, Type::Duration, &Range::NOT_NEGATIVE, &here)?.number()?;
        if i == 0 && time != 0.0 {
            here.error("the first step must be at \"0 s\"");
        }
        if last.replace(time).is_some_and(|last| time <= last) {
            here.error("steps must be in order of time");
        }
        Some((Time::from_seconds(time), given?))
    };
    let steps: Vec<_> = items.iter().enumerate().map(step).collect();
    steps.into_iter().collect::<Option<_>>().filter(|_| at.count() == before)
}

/// A value of a queue's table that has steps.
struct Stepped {
    /// The keys that lead to it from the queue's table.
    keys: Vec<String>,
    path: String,
    steps: Vec<(Time, Json)>,
}

/// A queue's table as it is from each instant on, the first from zero; one version where nothing has steps.
pub(super) struct Versions {
    stepped: Vec<Stepped>,
    /// Paths of values with wrong steps, already reported.
    broken: Vec<String>,
    /// When they begin.
    pub(super) times: Vec<Time>,
}

impl Versions {
    /// Looks for steps in the limit and the scheduler of a queue's `table` at `path`.
    pub(super) fn of(table: &Table, at: &At) -> Versions {
        let (mut stepped, mut broken) = (Vec::new(), Vec::new());
        let kind = table.get("scheduler").and_then(|scheduler| scheduler.get("kind")).and_then(Json::as_str);
        let mechanism =
            kind.and_then(|kind| catalogue::all(Room::Scheduler).into_iter().find(|m| m.kind == kind));
        for key in ["limit", "scheduler"] {
            if let Some(json) = table.get(key) {
                let keys = &mut vec![key.to_owned()];
                look(json, keys, mechanism, &mut stepped, &mut broken, &at.key(key));
            }
        }
        let all = stepped.iter().flat_map(|value| value.steps.iter().map(|step| step.0));
        let mut times: Vec<Time> = std::iter::once(Time::ZERO).chain(all).collect();
        times.sort_unstable();
        times.dedup();
        if times.len() > MOST {
            at.error(format!("changes {} times; {MOST} are the most", times.len() - 1));
            times.truncate(1);
        }
        Versions { stepped, broken, times }
    }

    /// Whether anything changes, or was to.
    pub(super) fn changes(&self) -> bool {
        self.times.len() > 1 || !self.broken.is_empty()
    }

    /// The table at `time`.
    pub(super) fn at(&self, table: &Table, time: Time) -> Table {
        let mut table = table.clone();
        for value in &self.stepped {
            let Some((first, rest)) = value.keys.split_first() else { continue };
            let mut place = table.get_mut(first);
            for key in rest {
                place = place.and_then(|place| place.get_mut(key));
            }
            if let (Some(place), Some((_, now))) =
                (place, value.steps.iter().rev().find(|step| step.0 <= time))
            {
                *place = now.clone();
            }
        }
        table
    }

    /// Reports the errors of the table at `time`, at the step that set it.
    pub(super) fn report(&self, found: &Errors, time: Time, at: &At) {
        // A table of steps is neither a quantity nor a distribution.
        let said = |path: &str| {
            let mut below = self.broken.iter().filter_map(|broken| path.strip_prefix(broken.as_str()));
            below.any(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for (path, message) in found.iter().filter(|(path, _)| !said(path)) {
            let of = self.stepped.iter().find(|value| value.path == path);
            let step = of.and_then(|value| value.steps.iter().rposition(|step| step.0 <= time));
            match step {
                Some(step) => at.elsewhere(path).key("steps").item(step).item(1).error(message),
                None => at.elsewhere(path).error(message),
            }
        }
    }
}

/// Parameters that may change in a nested table; `keys` lead there from the mechanism's table.
fn may_change(mechanism: &Mechanism, keys: &[String]) -> &'static [&'static str] {
    let (mut params, mut changes) = (mechanism.params, mechanism.traits.changes);
    let mut inner = keys.iter().skip(1).take(keys.len().saturating_sub(2));
    while let Some(key) = inner.next() {
        let param = params.iter().find(|param| param.name == key);
        match param.map(|param| param.ty) {
            Some(Type::Table(table)) => (params, changes) = (table.params, table.changes),
            Some(Type::TablePerName(table)) => {
                inner.next();
                (params, changes) = (table.params, table.changes);
            }
            _ => return &[],
        }
    }
    changes
}

/// Finds the tables of steps in `json`, which stands where `keys` lead.
fn look(
    json: &Json,
    keys: &mut Vec<String>,
    mechanism: Option<&Mechanism>,
    found: &mut Vec<Stepped>,
    broken: &mut Vec<String>,
    at: &At,
) {
    let Json::Object(table) = json else { return };
    let Some(given) = table.get("steps") else {
        for (key, json) in table {
            keys.push(key.clone());
            look(json, keys, mechanism, found, broken, &at.key(key));
            keys.pop();
        }
        return;
    };
    super::unknown_keys(table, ["steps"], at);
    let key = keys.last().map_or("", String::as_str);
    let changes = mechanism.map_or(&[][..], |mechanism| may_change(mechanism, keys));
    if keys.len() > 1 && !changes.contains(&key) {
        let hint = match (mechanism, changes) {
            (Some(mechanism), []) => format!("; nothing of {} can", mechanism.kind),
            _ => suggestion(key, changes.iter().copied()),
        };
        at.error(format!("{key} cannot change during the run{hint}"));
    }
    let plain = |json: &Json, at: &At| match json {
        Json::Object(_) | Json::Array(_) => at.wrong(json, "a value is needed"),
        value => Some(value.clone()),
    };
    let path = at.path().to_owned();
    match steps(given, key, &at.key("steps"), plain) {
        Some(steps) => found.push(Stepped { keys: keys.clone(), path, steps }),
        None => broken.push(path),
    }
}
