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

use evenflow_base::Duration;
use evenflow_base::params::Parameter;
use evenflow_base::schema::{Fallback, Mechanism, Room, Value};
use serde_json::{Map, Value as Json};

use crate::errors::{Errors, join, shown, suggestion};
use crate::model::{Scenario, Spec};
use crate::quantity::one as single;
use crate::sections::{Key, SCENARIO, Section, Shape, scenario};
use crate::{canonical, catalogue};
use table::{Table, name_problem, required, unknown_keys, written};

impl Scenario {
    /// Decodes the tree of a scenario file, given as JSON text.
    pub fn from_json(text: &str) -> Result<Scenario, Errors> {
        let tree =
            serde_json::from_str(text).map_err(|e| Errors::one("", format!("is no valid JSON: {e}")))?;
        Scenario::from_value(&tree)
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
        let mut errors = Errors::default();
        let scenario = scenario(tree, &mut errors);
        match scenario {
            Some(scenario) if errors.is_empty() => Ok(scenario),
            _ if errors.is_empty() => Err(Errors::one("", "cannot be decoded")), // not reached: every None has its error
            _ => Err(errors.sorted()),
        }
    }
}

/// Decodes the parameters of the mechanism called `kind`, in whatever room, from the JSON text of a table.
pub fn mechanism(kind: &str, params_json: &str) -> Result<Spec, Errors> {
    let Some(mechanism) = catalogue::with_hidden().find(|m| m.kind == kind) else {
        let named = Json::String(kind.into());
        let mut errors = Errors::default();
        match catalogue::ROOMS.iter().find_map(|room| catalogue::not_built(*room, kind)) {
            Some(message) => errors.push("", message),
            None => {
                let valid = catalogue::mechanisms().map(|m| m.kind);
                let near = suggestion(kind, valid);
                errors.push("", format!("unknown mechanism {}{near}", shown(&named)));
            }
        }
        return Err(errors);
    };
    let tree: Json = serde_json::from_str(params_json)
        .map_err(|e| Errors::one("", format!("the parameters are no valid JSON: {e}")))?;
    let mut errors = Errors::default();
    let spec = as_table(&tree, "", &mut errors)
        .and_then(|params| table::spec(params, mechanism, &[], "", &mut errors));
    spec.ok_or_else(|| errors.sorted())
}

/// Decodes a `tcp` table from JSON text: the stack with its overrides, and the congestion control.
pub fn tcp(table_json: &str) -> Result<(evenflow_transport::Profile, Spec), Errors> {
    let tree: Json = serde_json::from_str(table_json)
        .map_err(|e| Errors::one("", format!("this is no valid JSON: {e}")))?;
    let mut errors = Errors::default();
    let decoded = groups::tcp(&tree, "", &mut errors);
    decoded.map(|tcp| (tcp.profile, tcp.congestion_control)).ok_or_else(|| errors.sorted())
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

fn scenario(tree: &Json, errors: &mut Errors) -> Option<Scenario> {
    let root = as_table(tree, "", errors)?;
    unknown_keys(root, SCENARIO.names(), "", errors);
    let title = match root.get("title") {
        None => Some(String::new()),
        Some(json) => text(json, "title", errors).map(str::to_owned),
    };
    let (duration, warmup) = window(root, errors);
    let links = network::links(root, errors);
    let stages = network::stages(root, &links, errors);
    let mut arrivals = arrivals::arrivals(root, errors);
    let groups = groups::groups(root, &links, &stages, &arrivals, errors);
    arrivals::shares(&mut arrivals, &groups, errors);
    let crossing = network::crossing(&links, &stages, &groups);
    network::check_classes(&links, &stages, &groups, crossing.as_ref(), errors);
    network::check_per_flow(&links, &stages, &groups, errors);
    conex::check(&links, &stages, &groups, errors);
    network::check_places(&links, &stages, &groups, errors);
    let stages = network::ties(stages, &links, &groups, errors);
    network::check_tunnels(&stages, &groups, errors);
    reports::check(&stages, &groups, errors);
    let classes = groups::classes(&groups, crossing.as_ref().map(|crossing| &crossing.all), errors);
    let known = crossing.is_some() && groups.iter().all(|group| group.classes.is_some());
    let known = known.then_some(classes.as_slice());
    let record = record::record(root, &links, &stages, &groups, known, duration, errors);
    if let Some(json) = root.get("sweep") {
        as_table(json, "sweep", errors);
    }
    let mut scenario = Scenario {
        title: title?,
        duration: duration?,
        warmup: warmup?,
        links: links.into_iter().map(|draft| draft.link).collect::<Option<_>>()?,
        stages: stages.into_iter().map(|draft| draft.stage).collect::<Option<_>>()?,
        arrivals: arrivals.into_iter().map(drafts::ArrivalsDraft::finish).collect::<Option<_>>()?,
        groups: groups.into_iter().map(|draft| draft.finish(&classes)).collect::<Option<_>>()?,
        classes,
        record: record?,
        canonical: String::new(),
        hash: String::new(),
    };
    if errors.is_empty() {
        scenario.canonical = canonical::json(&scenario);
        scenario.hash = canonical::hash(&scenario.canonical);
    }
    Some(scenario)
}

/// `duration` and `warmup`.
fn window(root: &Table, errors: &mut Errors) -> (Option<Duration>, Option<Duration>) {
    let duration = fixed_number(root, &scenario::duration, "", errors);
    let warmup = fixed_number(root, &scenario::warmup, "", errors);
    if let (Some(duration), Some(warmup)) = (duration, warmup)
        && warmup >= duration
    {
        errors.push(
            "warmup",
            format!("must be shorter than the duration: {warmup} s of {duration} s leave nothing to measure"),
        );
    }
    (duration.map(Duration::from_seconds), warmup.map(Duration::from_seconds))
}

/// A plain value of a section, or its default; random ones are allowed.
fn plain(table: &Table, key: &Key, path: &str, errors: &mut Errors) -> Option<Value> {
    let Shape::Value(ty) = key.shape else { return None };
    let here = join(path, key.name);
    match (table.get(key.name), key.default) {
        (Some(json), _) => table::value(json, ty, &key.range, &here, errors),
        (None, Fallback::Text(text)) => table::value(&written(text, ty), ty, &key.range, &here, errors),
        (None, Fallback::Required) => errors.none(here, required(ty)),
        (None, Fallback::Absent(_)) => None,
    }
}

/// Like [`plain`], for values of the whole scenario, which cannot be drawn.
fn fixed(table: &Table, key: &Key, path: &str, errors: &mut Errors) -> Option<Value> {
    match plain(table, key, path, errors) {
        Some(Value::Random(_)) => {
            errors.none(join(path, key.name), "cannot be drawn; a plain value is needed")
        }
        other => other,
    }
}

/// A value of a section with its type.
fn typed<T: Parameter>(table: &Table, key: &Key, path: &str, errors: &mut Errors) -> Option<T::One> {
    T::one(&plain(table, key, path, errors)?)
}

/// The number of a value that cannot be drawn.
fn fixed_number(table: &Table, key: &Key, path: &str, errors: &mut Errors) -> Option<f64> {
    fixed(table, key, path, errors).and_then(|value| value.number())
}

fn as_table<'a>(json: &'a Json, path: &str, errors: &mut Errors) -> Option<&'a Table> {
    match json {
        Json::Object(table) => Some(table),
        other => errors.none(path, format!("a table is needed, not {}", shown(other))),
    }
}

fn list<'a>(json: &'a Json, of: &str, path: &str, errors: &mut Errors) -> Option<&'a [Json]> {
    match json {
        Json::Array(list) => Some(list),
        other => errors.none(path, format!("a list of {of} is needed, not {}", shown(other))),
    }
}

fn text<'a>(json: &'a Json, path: &str, errors: &mut Errors) -> Option<&'a str> {
    match json {
        Json::String(text) => Some(text),
        other => errors.none(path, format!("text is needed, not {}", shown(other))),
    }
}

/// The tables by name below `key`, in the order of their names; names that cannot be are errors.
fn by_name<'a>(root: &'a Table, key: &str, errors: &mut Errors) -> Vec<(&'a str, String, Option<&'a Table>)> {
    let Some(json) = root.get(key) else { return Vec::new() };
    let Some(tables) = as_table(json, key, errors) else { return Vec::new() };
    let mut named: Vec<(&str, &Json)> = tables.iter().map(|(name, json)| (name.as_str(), json)).collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    let mut out = Vec::new();
    for (name, json) in named {
        let path = join(key, name);
        if let Some(problem) = name_problem(name) {
            errors.push(&path, problem);
        }
        let table = as_table(json, &path, errors);
        out.push((name, path, table));
    }
    out
}

/// An empty table, for what may be absent.
fn nothing() -> &'static Table {
    static NOTHING: std::sync::OnceLock<Table> = std::sync::OnceLock::new();
    NOTHING.get_or_init(Map::new)
}

/// The room's own keys beside the parameters of a mechanism.
fn keys(section: &Section) -> Vec<&'static str> {
    section.names().collect()
}

/// The parameters of the mechanism of `room` that `kind` names, in a table that has keys of `section` too.
fn mechanism_in(
    table: &Table,
    section: &Section,
    room: Room,
    path: &str,
    errors: &mut Errors,
) -> (Option<&'static Mechanism>, Option<Spec>) {
    let Some(mechanism) = table::kind(table, room, path, errors) else { return (None, None) };
    (Some(mechanism), table::spec(table, mechanism, &keys(section), path, errors))
}
