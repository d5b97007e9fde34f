//! The conformance vectors in tests/conformance/abr: whatever stands there must be what the rules here decide.

use std::path::Path;

use evenflow_base::schema::{Fallback, Value, Values};
use evenflow_traffic::adaptation::{Adaptation, Known, Ladder, MECHANISMS};
use serde_json::Value as Json;

fn vectors() -> Vec<(String, Json)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/abr");
    let mut found: Vec<(String, Json)> = std::fs::read_dir(&folder)
        .expect("the folder of vectors")
        .map(|file| {
            let path = file.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a file");
            (path.display().to_string(), serde_json::from_str(&text).expect("JSON"))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// A rule with the defaults of its table.
fn rule(kind: &str) -> Adaptation {
    let table = MECHANISMS.iter().find(|m| m.kind == kind).unwrap_or_else(|| panic!("no rule {kind}"));
    let mut values = Values::default();
    for param in table.params {
        if let Fallback::Text(text) = param.default {
            let number = text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number first");
            values.0.insert(param.name, Value::Number(number));
        }
    }
    Adaptation::build(kind, &values).expect("defaults go together")
}

fn run(vector: &Json) -> Result<(), String> {
    let sizes = match &vector["sizes_bytes"] {
        Json::Null => None,
        rows => Some(rows.as_array().expect("a list").iter().map(numbers).collect()),
    };
    let ladder = Ladder::new(numbers(&vector["ladder_bps"]), vector["chunk_s"].as_f64().expect("s"), sizes)
        .map_err(|problems| format!("{problems:?}"))?;
    let mut rule = rule(vector["rule"].as_str().expect("a rule"));
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let throughputs = numbers(&event["throughputs_bps"]);
        let known = Known {
            ladder: &ladder,
            next: event["next"].as_u64().expect("a number") as usize,
            buffer: event["buffer_s"].as_f64().expect("s"),
            capacity: vector["capacity_s"].as_f64().expect("s"),
            throughputs: &throughputs,
            last: event["last"].as_u64().map(|l| l as usize),
        };
        let (level, expected) = (rule.choose(&known), &event["expect"]["level"]);
        if expected.as_u64() != Some(level as u64) {
            return Err(format!("event {n}: level {level}, not {expected}"));
        }
    }
    Ok(())
}

#[test]
fn every_vector_is_met() {
    let vectors = vectors();
    assert!(vectors.len() >= 18, "only {} vectors", vectors.len());
    let kinds: std::collections::BTreeSet<&str> =
        vectors.iter().filter_map(|(_, vector)| vector["rule"].as_str()).collect();
    assert!(MECHANISMS.iter().all(|m| kinds.contains(m.kind)), "a rule has no vector");
    let failed: Vec<String> = vectors
        .iter()
        .filter_map(|(path, vector)| run(vector).err().map(|why| format!("{path}: {why}")))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_wrong_vector_is_noticed() {
    for (path, mut vector) in vectors() {
        let events = vector["events"].as_array_mut().expect("a list");
        let last = events.last_mut().expect("an event");
        let level = last["expect"]["level"].as_u64().expect("a level");
        last["expect"]["level"] = (level + 1).into();
        assert!(run(&vector).is_err(), "{path}");
    }
}
