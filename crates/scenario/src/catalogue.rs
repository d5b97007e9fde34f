//! Every mechanism there is, by room, and the documents made of their tables.

use evenflow_base::schema::{
    Counter, Fallback, Mechanism, Nested, Observable, Param, Problem, Room, Type, Values,
};
use evenflow_transport::Profile;
use evenflow_transport::profile::{COMPLETE, LINES, UNDOCUMENTED};
use serde_json::{Value as Json, json};

use crate::metrics::{self, METRICS};
use crate::quantity::Quantity;
use crate::sections::{CONGESTION_CONTROL, Key, SECTIONS, Section, Shape};

/// The rooms that have mechanisms.
pub fn rooms() -> impl Iterator<Item = Room> {
    Room::WORDS.iter().map(|word| Room::of(word)).filter(|room| *room != Room::Scenario)
}

/// The mechanisms of a room.
pub fn all(room: Room) -> Vec<&'static Mechanism> {
    mechanisms().filter(|m| m.room == room).collect()
}

/// All mechanisms of all rooms.
pub fn mechanisms() -> impl Iterator<Item = &'static Mechanism> {
    with_hidden().filter(|m| !m.traits.hidden)
}

/// The same with those for tests, which scenarios may name and no list does.
pub(crate) fn with_hidden() -> impl Iterator<Item = &'static Mechanism> {
    [
        evenflow_queue::MECHANISMS.as_slice(),
        evenflow_queue::SCHEDULERS,
        evenflow_stage::MECHANISMS,
        evenflow_traffic::MECHANISMS,
        evenflow_traffic::adaptation::MECHANISMS,
        evenflow_transport::CONTROLS,
        evenflow_transport::STACKS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The tables inside mechanisms' tables, the outer ones first.
pub fn nested() -> Vec<&'static Nested> {
    let mut found: Vec<&'static Nested> = Vec::new();
    let mut left: Vec<&'static [Param]> = mechanisms().map(|m| m.params).collect();
    while let Some(params) = left.pop() {
        for param in params {
            if let Type::Table(table) | Type::TablePerName(table) = param.ty
                && found.iter().all(|n| n.name != table.name)
            {
                found.push(table);
                left.push(table.params);
            }
        }
    }
    found
}

/// Errors in the combination of a mechanism's parameters.
pub fn check(mechanism: &Mechanism, values: &Values) -> Vec<Problem> {
    match mechanism.room {
        Room::Queue | Room::Scheduler => evenflow_queue::check(mechanism.kind, values),
        Room::Stage => evenflow_stage::check(mechanism.kind, values),
        Room::Traffic => evenflow_traffic::check(mechanism.kind, values),
        Room::CongestionControl | Room::Stack => evenflow_transport::check(mechanism.kind, values),
        Room::Adaptation => evenflow_traffic::adaptation::check(mechanism.kind, values),
        Room::Scenario => Vec::new(),
    }
}

/// The same check, if some parameters are missing because they could not be decoded.
pub(crate) fn check_partly(mechanism: &Mechanism, values: &Values) -> Vec<Problem> {
    match mechanism.room {
        Room::Queue => evenflow_queue::check_partly(mechanism.kind, values),
        Room::Stage => evenflow_stage::check_partly(mechanism.kind, values),
        Room::Traffic => evenflow_traffic::check_partly(mechanism.kind, values),
        _ => Vec::new(),
    }
}

/// Sets absent parameters from a preset.
pub(crate) fn complete(mechanism: &Mechanism, values: &mut Values) {
    match mechanism.room {
        Room::Queue => evenflow_queue::complete(mechanism.kind, values),
        Room::Traffic => evenflow_traffic::complete(values),
        _ => {}
    }
}

/// The mechanism of a room where a scenario names none.
///
/// # Panics
/// The room has no default.
pub(crate) fn default(room: Room) -> &'static Mechanism {
    mechanisms().find(|m| m.room == room && m.traits.default).expect("a default")
}

/// The noun for a mechanism of a room in messages.
pub(crate) fn noun(room: Room) -> &'static str {
    match room {
        Room::Queue => "queue kind",
        Room::Scheduler => "scheduler",
        Room::Stage => "stage kind",
        Room::Traffic => "traffic kind",
        Room::CongestionControl => "congestion control",
        Room::Stack => "stack",
        Room::Adaptation => "adaptation rule",
        Room::Scenario => "table",
    }
}

/// Mechanisms that are announced, or that people look for, and do not exist: their names are not mistakes. Each with what
/// comes nearest.
pub fn announced(room: Room) -> &'static [(&'static str, &'static str)] {
    const SHAPERS: &str = "a link's scheduler htb, or the stage shaper";
    match room {
        Room::Queue => &[("blue", "cobalt, or pie"), ("l4s", "dualpi2, and congestion_control \"prague\"")],
        Room::Scheduler => &[("wfq", "drr"), ("cake", "the queue kind cake")],
        Room::Stage => &[("cake", SHAPERS)],
        Room::Traffic => &[
            ("dash", "has"),
            ("hls", "has"),
            ("video", "has, or youtube"),
            ("http", "request-response, or web"),
            ("ftp", "upload, or bulk"),
            ("icmp", "ping"),
            ("short-flow", "short-flows"),
        ],
        Room::CongestionControl => &[("hybla", "cubic"), ("westwood", "newreno")],
        Room::Adaptation => &[
            ("bba-1", "bba-0"),
            ("bba-2", "bba-0"),
            ("bola-o", "bola"),
            ("bola-u", "bola"),
            ("festive", "rate"),
            ("pensieve", "robust-mpc"),
            ("throughput", "rate"),
        ],
        Room::Stack | Room::Scenario => &[],
    }
}

/// The answer to the name of a planned mechanism, with the nearest existing one, or of a scheduler in place of a queue kind.
pub fn not_built(room: Room, name: &str) -> Option<String> {
    let plain = name.to_lowercase().replace('_', "-");
    if room == Room::Queue && mechanisms().any(|m| m.room == Room::Scheduler && m.kind == plain) {
        return Some(format!(
            "\"{plain}\" is a scheduler; write scheduler = {{ kind = \"{plain}\" }} in the queue"
        ));
    }
    let (known, near) = announced(room).iter().find(|(known, _)| *known == plain)?;
    Some(format!("{} \"{known}\": planned, not built; nearest: {near}", noun(room)))
}

/// Everything that `describe`, the documentation and the Python types are made of, as JSON.
pub fn schema_json() -> String {
    let own = mechanisms().map(mechanism_json);
    let sections = SECTIONS.iter().map(|s| section_json(s));
    let inner = nested().into_iter().map(nested_json);
    let mechanisms: Vec<Json> = own.chain(sections).chain(inner).collect();
    let metrics: Vec<Json> = METRICS
        .iter()
        .map(|m| {
            json!({ "name": m.name, "unit": m.unit, "window": m.window, "formula": m.formula, "doc": m.doc,
                    "since": m.since })
        })
        .collect();
    json!({ "mechanisms": mechanisms, "metrics": metrics, "profiles": profiles(), "record_version": metrics::VERSION })
        .to_string()
}

/// The stack profiles that are complete, with every line.
fn profiles() -> Vec<Json> {
    let one = |name: &&str| {
        let profile = Profile::named(name)?;
        let lines: Vec<Json> = LINES
            .iter()
            .filter(|line| !UNDOCUMENTED.contains(&line.param.name))
            .map(|line| {
                json!({ "name": line.param.name, "value": crate::canonical::value(&(line.get)(&profile)),
                        "doc": line.param.doc, "source": line.param.source })
            })
            .collect();
        Some(json!({ "name": name, "doc": profile.doc(), "lines": lines }))
    };
    COMPLETE.iter().filter_map(one).collect()
}

/// A variant's name in lower case.
fn word(variant: impl std::fmt::Debug) -> String {
    format!("{variant:?}").to_lowercase()
}

fn mechanism_json(m: &Mechanism) -> Json {
    let documented = |p: &&Param| m.room != Room::Stack || !UNDOCUMENTED.contains(&p.name);
    let mut params: Vec<Json> =
        m.params.iter().filter(documented).map(|p| param_json(p, m.traits.changes)).collect();
    if m.room == Room::Stack {
        params.push(key_json(&CONGESTION_CONTROL, GRAMMAR));
    }
    let deviations: Vec<Json> =
        m.deviations.iter().map(|d| json!({ "what": d.what, "why": d.why })).collect();
    let acts = match m.room {
        Room::Stage => word(m.traits.ways),
        _ => String::new(),
    };
    json!({
        "kind": m.kind, "room": m.room.word(), "title": m.title, "doc": m.doc, "source": m.source, "acts": acts,
        "params": params, "observables": observables(m.observables), "counters": counters(m.counters),
        "deviations": deviations, "presets": evenflow_queue::presets(m.kind).unwrap_or_default(),
        "example": m.example, "traits": m.traits.flags(), "draws": m.traits.draws, "peers": m.traits.peers,
        "mouth": m.traits.mouth.map(word), "place": word(m.traits.place),
        "completion": m.traits.completion,
    })
}

fn section_json(s: &Section) -> Json {
    json!({
        "kind": s.name, "room": Room::Scenario.word(), "title": s.title, "doc": s.doc, "source": GRAMMAR,
        "params": s.keys.iter().map(|key| key_json(key, GRAMMAR)).collect::<Vec<_>>(),
        "observables": observables(s.observables), "counters": counters(s.counters), "deviations": [],
        "presets": [],
    })
}

fn nested_json(n: &Nested) -> Json {
    json!({
        "kind": n.name, "room": Room::Scenario.word(), "title": n.doc.trim_end_matches('.'), "doc": n.doc,
        "source": GRAMMAR,
        "params": n.params.iter().map(|p| param_json(p, n.changes)).collect::<Vec<_>>(),
        "observables": [], "counters": [], "deviations": [], "presets": [],
    })
}

/// Where the grammar of the scenario file is defined.
const GRAMMAR: &str = "docs/scenarios.md";

/// A parameter; those called as one of `changes` may have steps.
fn param_json(p: &Param, changes: &[&str]) -> Json {
    key_json(&Key::of(p, changes), p.source)
}

fn key_json(key: &Key, source: &str) -> Json {
    let unit = match key.shape {
        Shape::Value(ty) | Shape::Stepped(ty) => unit(ty),
        Shape::Rate => unit(Type::Rate),
        _ => "",
    };
    json!({
        "name": key.name, "type": key.shape.describe(), "unit": unit, "default": default_words(key.default),
        "range": key.range.words(), "source": source, "doc": key.doc,
    })
}

fn observables(list: &[Observable]) -> Vec<Json> {
    list.iter().map(|o| json!({ "name": o.name, "unit": o.unit, "doc": o.doc })).collect()
}

fn counters(list: &[Counter]) -> Vec<Json> {
    list.iter().map(|c| json!({ "name": c.name, "doc": c.doc })).collect()
}

/// The unit in which ranges and canonical values are given.
fn unit(ty: Type) -> &'static str {
    match ty {
        Type::Rates => unit(Type::Rate),
        Type::DurationPerClass => unit(Type::Duration),
        Type::BytesOr(_) | Type::ByteRows => unit(Type::Bytes),
        Type::Number | Type::NumberPerClass | Type::Integer | Type::IntegerOr(_) => "1",
        _ => Quantity::of(ty).map_or("", |quantity| quantity.2),
    }
}

/// A default in words.
fn default_words(fallback: Fallback) -> String {
    match fallback {
        Fallback::Required => "required".into(),
        Fallback::Absent(meaning) => format!("absent: {meaning}"),
        Fallback::Text(text) => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::decode::table::{value, written};
    use crate::errors::At;

    #[test]
    fn every_default_is_valid() {
        for m in mechanisms() {
            for p in m.params {
                let Fallback::Text(text) = p.default else { continue };
                let found = RefCell::default();
                let decoded = value(&written(text, p.ty), p.ty, &p.range, &At::root(&found));
                let errors = found.into_inner();
                assert!(decoded.is_some() && errors.is_empty(), "{} {}: {errors}", m.kind, p.name);
            }
        }
        for s in SECTIONS {
            for k in s.keys {
                let (Shape::Value(ty), Fallback::Text(text)) = (&k.shape, k.default) else { continue };
                let found = RefCell::default();
                value(&written(text, *ty), *ty, &k.range, &At::root(&found));
                let errors = found.into_inner();
                assert!(errors.is_empty(), "{} {}: {errors}", s.name, k.name);
            }
        }
    }

    #[test]
    fn every_room_is_furnished_and_no_kind_is_both_known_and_announced() {
        for room in rooms() {
            assert!(!all(room).is_empty(), "{room:?}");
            for m in all(room) {
                assert!(announced(room).iter().all(|(name, _)| *name != m.kind), "{} exists", m.kind);
            }
        }
    }

    #[test]
    fn parameters_do_not_collide_with_the_keys_beside_them() {
        use crate::sections::{QUEUE, STAGE, TRAFFIC};
        for (room, section) in [(Room::Queue, &QUEUE), (Room::Stage, &STAGE), (Room::Traffic, &TRAFFIC)] {
            for m in all(room) {
                for p in m.params {
                    assert!(section.names().all(|key| key != p.name), "{} {}", m.kind, p.name);
                }
            }
        }
    }

    #[test]
    fn the_schema_has_every_mechanism_and_section_with_text_only() {
        let schema: Json = serde_json::from_str(&schema_json()).expect("JSON");
        let listed = schema["mechanisms"].as_array().expect("a list");
        assert_eq!(listed.len(), mechanisms().count() + SECTIONS.len() + nested().len());
        for m in listed {
            for key in ["kind", "room", "title", "doc", "source"] {
                assert!(m[key].is_string(), "{m}");
            }
            for p in m["params"].as_array().expect("a list") {
                for key in ["name", "type", "unit", "default", "range", "source", "doc"] {
                    assert!(p[key].is_string(), "{p}");
                }
            }
        }
        assert!(schema["metrics"].as_array().is_some_and(|list| list.len() > 20));
    }
}
