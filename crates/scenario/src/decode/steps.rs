//! `{ steps = [[time, value], …] }`: values of a link's rate or queue over time.

use evenflow_base::Time;
use evenflow_base::schema::{Mechanism, Range, Room, Type};
use serde_json::Value as Json;

use super::{Table, list, single};
use crate::catalogue;
use crate::errors::{Errors, join, shown, suggestion};

/// The most instants at which a queue changes: it is built for each of them.
const MOST: usize = 1000;

/// Pairs of time and value, read by `value`; the first at zero, in rising order.
pub(super) fn steps<T>(
    json: &Json,
    of: &str,
    path: &str,
    errors: &mut Errors,
    mut value: impl FnMut(&Json, &str, &mut Errors) -> Option<T>,
) -> Option<Vec<(Time, T)>> {
    let before = errors.len();
    let items = list(json, &format!("[time, {of}] pairs"), path, errors)?;
    if items.is_empty() {
        return errors.none(path, format!("must have at least one {of}"));
    }
    let mut steps: Vec<Option<(Time, T)>> = Vec::new();
    let mut last: Option<f64> = None;
    for (i, item) in items.iter().enumerate() {
        let here = format!("{path}[{i}]");
        let Json::Array(pair) = item else {
            errors.push(here, format!("[time, {of}] is needed, not {}", shown(item)));
            steps.push(None);
            continue;
        };
        let [at, given] = pair.as_slice() else {
            errors.push(here, format!("[time, {of}] is needed, not a list of {}", pair.len()));
            steps.push(None);
            continue;
        };
        let at = single(at, Type::Duration, &Range::NOT_NEGATIVE, &format!("{here}[0]"), errors)
            .and_then(|v| v.number());
        let given = value(given, &format!("{here}[1]"), errors);
        if let Some(at) = at {
            if i == 0 && at != 0.0 {
                errors.push(format!("{here}[0]"), "the first step must be at \"0 s\"");
            }
            if last.is_some_and(|last| at <= last) {
                errors.push(format!("{here}[0]"), "steps must be in order of time");
            }
            last = Some(at);
        }
        steps.push(at.zip(given).map(|(at, given)| (Time::from_seconds(at), given)));
    }
    steps.into_iter().collect::<Option<_>>().filter(|_| errors.len() == before)
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
    pub(super) fn of(table: &Table, path: &str, errors: &mut Errors) -> Versions {
        let (mut stepped, mut broken) = (Vec::new(), Vec::new());
        let kind = table.get("scheduler").and_then(|scheduler| scheduler.get("kind")).and_then(Json::as_str);
        let mechanism =
            kind.and_then(|kind| catalogue::all(Room::Scheduler).into_iter().find(|m| m.kind == kind));
        for key in ["limit", "scheduler"] {
            if let Some(json) = table.get(key) {
                let at = (&mut vec![key.to_owned()], join(path, key));
                look(json, at, mechanism, &mut stepped, &mut broken, errors);
            }
        }
        let all = stepped.iter().flat_map(|value| value.steps.iter().map(|step| step.0));
        let mut times: Vec<Time> = std::iter::once(Time::ZERO).chain(all).collect();
        times.sort_unstable();
        times.dedup();
        if times.len() > MOST {
            let why = format!("changes {} times; {MOST} are the most", times.len() - 1);
            errors.push(path, why);
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
    pub(super) fn report(&self, found: &Errors, time: Time, errors: &mut Errors) {
        // A table of steps is neither a quantity nor a distribution.
        let said = |path: &str| {
            self.broken.iter().any(|broken| {
                path.strip_prefix(broken.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        for (path, message) in found.iter().filter(|(path, _)| !said(path)) {
            let of = self.stepped.iter().find(|value| value.path == path);
            let step = of.and_then(|value| value.steps.iter().rposition(|step| step.0 <= time));
            match step {
                Some(step) => errors.push(format!("{path}.steps[{step}][1]"), message),
                None => errors.push(path, message),
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
    (keys, path): (&mut Vec<String>, String),
    mechanism: Option<&Mechanism>,
    found: &mut Vec<Stepped>,
    broken: &mut Vec<String>,
    errors: &mut Errors,
) {
    let Json::Object(table) = json else { return };
    let Some(given) = table.get("steps") else {
        for (key, json) in table {
            keys.push(key.clone());
            look(json, (keys, join(&path, key)), mechanism, found, broken, errors);
            keys.pop();
        }
        return;
    };
    super::unknown_keys(table, ["steps"], &path, errors);
    let key = keys.last().map_or("", String::as_str);
    let changes = mechanism.map_or(&[][..], |mechanism| may_change(mechanism, keys));
    if keys.len() > 1 && !changes.contains(&key) {
        let hint = match (mechanism, changes) {
            (Some(mechanism), []) => format!("; nothing of {} can", mechanism.kind),
            _ => suggestion(key, changes.iter().copied()),
        };
        errors.push(&path, format!("{key} cannot change during the run{hint}"));
    }
    let plain = |json: &Json, path: &str, errors: &mut Errors| match json {
        Json::Object(_) | Json::Array(_) => {
            errors.none(path, format!("a value is needed, not {}", shown(json)))
        }
        value => Some(value.clone()),
    };
    match steps(given, key, &join(&path, "steps"), errors, plain) {
        Some(steps) => found.push(Stepped { keys: keys.clone(), path, steps }),
        None => broken.push(path),
    }
}
