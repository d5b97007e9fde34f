//! From a tree of tables to a [`Scenario`], with all errors together.
//!
//! Each section is decoded as far as possible. Checks of several sections follow, if their parts are valid. A
//! scenario results only without errors.

mod arrivals;
mod conex;
mod drafts;
mod groups;
mod network;
mod record;
mod reports;
mod steps;
pub(crate) mod table;

use std::cell::RefCell;

use evenflow_base::Duration;
use evenflow_base::params::Parameter;
use evenflow_base::schema::{Fallback, Mechanism, Room, Value};
use serde_json::{Map, Value as Json};

use crate::errors::{At, Errors, quoted, suggestion};
use crate::model::{Scenario, Spec};
use crate::quantity::one as single;
use crate::sections::{Key, SCENARIO, Section, Shape, scenario};
use crate::{canonical, catalogue};
use drafts::Network;
use table::{Table, required, unknown_keys, written};

impl Scenario {
    /// Decodes the tree of a scenario file, given as JSON text.
    pub fn from_json(text: &str) -> Result<Scenario, Errors> {
        reading(|at| scenario(&at.ok(from_json(text, "is"))?, at))
    }

    /// Decodes a scenario file.
    pub fn from_toml(text: &str) -> Result<Scenario, Errors> {
        let tree = text.parse::<toml::Table>().map_err(|e| {
            let at = e.span().map_or(0, |span| span.start.min(text.len()));
            // A span may start within a letter where the text is odd; the last whole one before it will do.
            let before = &text.as_bytes()[..at];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
            let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
            let message = e.message().lines().collect::<Vec<_>>().join(", ");
            Errors::one("", format!("line {line}, column {column}: {message}"))
        })?;
        Scenario::from_value(&json(toml::Value::Table(tree)))
    }

    /// Decodes the tree of a scenario file. `[sweep]` is not looked into.
    pub fn from_value(tree: &Json) -> Result<Scenario, Errors> {
        reading(|at| scenario(tree, at))
    }
}

/// The result of `read`, or all errors that it has found.
fn reading<T>(read: impl FnOnce(&At) -> Option<T>) -> Result<T, Errors> {
    let found = RefCell::default();
    let result = read(&At::root(&found));
    let found: Errors = found.into_inner();
    match result {
        Some(result) if found.is_empty() => Ok(result),
        _ if found.is_empty() => Err(Errors::one("", "cannot be decoded")), // not reached: every None has its error
        _ => Err(found.sorted()),
    }
}

/// Decodes the parameters of the mechanism called `kind`, in whatever room, from the JSON text of a table.
pub fn mechanism(kind: &str, params_json: &str) -> Result<Spec, Errors> {
    reading(|at| {
        let Some(mechanism) = catalogue::with_hidden().find(|m| m.kind == kind) else {
            let announced = catalogue::rooms().find_map(|room| catalogue::not_built(room, kind));
            return at.none(announced.unwrap_or_else(|| {
                let near = suggestion(kind, catalogue::mechanisms().map(|m| m.kind));
                format!("unknown mechanism {}{near}", quoted(kind))
            }));
        };
        let tree = at.ok(from_json(params_json, "the parameters are"))?;
        table::spec(at.table(&tree, TABLE)?, mechanism, &[], at)
    })
}

/// Decodes a `tcp` table from JSON text: the stack with its overrides, and the congestion control.
pub fn tcp(table_json: &str) -> Result<(evenflow_transport::Profile, Spec), Errors> {
    let tcp = reading(|at| groups::tcp(&at.ok(from_json(table_json, "this is"))?, at))?;
    Ok((tcp.profile, tcp.congestion_control))
}

fn from_json(text: &str, subject: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|e| format!("{subject} no valid JSON: {e}"))
}

/// TOML as JSON. Floats that JSON cannot hold become text, which then is reported as no number.
fn json(value: toml::Value) -> Json {
    match value {
        toml::Value::String(text) => Json::String(text),
        toml::Value::Integer(n) => n.into(),
        toml::Value::Float(x) => {
            serde_json::Number::from_f64(x).map_or_else(|| Json::String(x.to_string()), Json::Number)
        }
        toml::Value::Boolean(flag) => Json::Bool(flag),
        toml::Value::Datetime(instant) => Json::String(instant.to_string()),
        toml::Value::Array(list) => list.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Json::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect())
        }
    }
}

fn scenario(tree: &Json, at: &At) -> Option<Scenario> {
    let root = at.table(tree, TABLE)?;
    unknown_keys(root, SCENARIO.names(), at);
    let title = root.get("title").map_or(Some(""), |json| at.key("title").text(json, TEXT));
    let (duration, warmup) = window(root, at);
    let links = network::links(root, at);
    let mut network = Network { at: at.clone(), links, stages: Vec::new(), groups: Vec::new() };
    network.stages = network.read_stages(root);
    let mut arrivals = arrivals::arrivals(root, at);
    network.groups = groups::groups(root, &network, &arrivals, at);
    arrivals::shares(&mut arrivals, &network.groups, at);
    let crossing = network.crossing();
    network.check_classes(crossing.as_ref());
    network.check_per_flow();
    conex::check(&network);
    network.check_places();
    network.tie();
    network.check_tunnels();
    reports::check(&network);
    let classes = groups::classes(&network.groups, crossing.as_ref().map(|crossing| &crossing.all), at);
    let known = crossing.is_some() && network.groups.iter().all(|group| group.classes.is_some());
    let record = record::record(root, &network, known.then_some(&classes), duration);
    section(root, "sweep", None, at, |_, _| Some(Some(())));
    let Network { links, stages, groups, .. } = network;
    let mut scenario = Scenario {
        title: title?.to_owned(),
        duration: duration?,
        warmup: warmup?,
        links: links.into_iter().map(|draft| draft.link).collect::<Option<_>>()?,
        stages: stages.into_iter().map(|draft| draft.stage).collect::<Option<_>>()?,
        arrivals: arrivals.into_iter().map(|draft| draft.arrivals).collect::<Option<_>>()?,
        groups: groups.into_iter().map(|draft| draft.finish(&classes)).collect::<Option<_>>()?,
        classes,
        record: record?,
        canonical: String::new(),
        hash: String::new(),
    };
    if at.count() == 0 {
        scenario.canonical = canonical::json(&scenario);
        scenario.hash = canonical::hash(&scenario.canonical);
    }
    Some(scenario)
}

/// `duration` and `warmup`.
fn window(root: &Table, at: &At) -> (Option<Duration>, Option<Duration>) {
    let duration = number(root, &scenario::duration, at);
    let warmup = number(root, &scenario::warmup, at);
    if let (Some(duration), Some(warmup)) = (duration, warmup)
        && warmup >= duration
    {
        at.key("warmup").error(format!(
            "must be shorter than the duration: {warmup} s of {duration} s leave nothing to measure"
        ));
    }
    (duration.map(Duration::from_seconds), warmup.map(Duration::from_seconds))
}

/// A plain value of a section, or its default; random ones are allowed.
fn plain(table: &Table, key: &Key, at: &At) -> Option<Value> {
    let Shape::Value(ty) = key.shape else { return None };
    let here = at.key(key.name);
    match (table.get(key.name), key.default) {
        (Some(json), _) => table::value(json, ty, &key.range, &here),
        (None, Fallback::Text(text)) => table::value(&written(text, ty), ty, &key.range, &here),
        (None, Fallback::Required) => here.none(required(ty)),
        (None, Fallback::Absent(_)) => None,
    }
}

/// A value of a section with its type.
fn typed<T: Parameter>(table: &Table, key: &Key, at: &At) -> Option<T::One> {
    T::one(&plain(table, key, at)?)
}

/// The number of a value of the whole scenario, which cannot be drawn.
fn number(table: &Table, key: &Key, at: &At) -> Option<f64> {
    match plain(table, key, at)? {
        Value::Random(_) => at.key(key.name).none("cannot be drawn; a plain value is needed"),
        value => value.number(),
    }
}

/// The same for a duration.
fn seconds(table: &Table, key: &Key, at: &At) -> Option<Duration> {
    number(table, key, at).map(Duration::from_seconds)
}

/// The messages for values that are no table or text.
const TABLE: &str = "a table is needed";
const TEXT: &str = "text is needed";

/// Reads the table at a key, where there is one; the outer `None` means errors. With a `section` it has
/// that section's keys, and any error counts.
fn section<T>(
    table: &Table,
    key: &str,
    section: Option<&Section>,
    at: &At,
    read: impl FnOnce(&Table, &At) -> Option<Option<T>>,
) -> Option<Option<T>> {
    let Some(json) = table.get(key) else { return Some(None) };
    let (at, before) = (&at.key(key), at.count());
    let table = at.table(json, TABLE)?;
    if let Some(section) = section {
        unknown_keys(table, section.names(), at);
    }
    read(table, at).filter(|_| section.is_none() || at.count() == before)
}

/// The tables by name below `key`, in the order of their names; names that cannot be are errors.
fn by_name<'t, 'a>(root: &'t Table, key: &str, at: &At<'a>) -> Vec<(&'t str, At<'a>, Option<&'t Table>)> {
    let at = at.key(key);
    let tables = root.get(key).and_then(|json| at.table(json, TABLE)).unwrap_or(nothing());
    let mut named: Vec<(&str, &Json)> = tables.iter().map(|(name, json)| (name.as_str(), json)).collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    let one = |(name, json): (&'t str, &'t Json)| {
        let here = at.key(name);
        here.name(name);
        let table = here.table(json, TABLE);
        (name, here, table)
    };
    named.into_iter().map(one).collect()
}

/// An empty table, for what may be absent.
fn nothing() -> &'static Table {
    static NOTHING: std::sync::OnceLock<Table> = std::sync::OnceLock::new();
    NOTHING.get_or_init(Map::new)
}

/// The parameters of the mechanism of `room` that `kind` names, in a table that has keys of `section` too.
fn mechanism_in(
    table: &Table,
    section: &Section,
    room: Room,
    at: &At,
) -> (Option<&'static Mechanism>, Option<Spec>) {
    let mechanism = table::kind(table, room, at);
    let also: Vec<&str> = section.names().collect();
    (mechanism, mechanism.and_then(|mechanism| table::spec(table, mechanism, &also, at)))
}
