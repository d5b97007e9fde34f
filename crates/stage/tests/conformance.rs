//! The conformance vectors of stages in tests/conformance, whose README.md says what a vector is.

use std::path::Path;

use evenflow_base::Time;
use evenflow_stage::three_colour::{Beyond, Colour, Meter, Profile, Unit};
use serde_json::Value as Json;

/// The vectors of a folder, by name.
fn vectors(folder: &str) -> Vec<(String, Json)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
    let mut found: Vec<(String, Json)> = std::fs::read_dir(&root)
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

fn whole(table: &Json, name: &str) -> u64 {
    table[name].as_u64().unwrap_or_else(|| panic!("{name} is {}", table[name]))
}

fn colour(json: &Json) -> Colour {
    match json.as_str() {
        Some("green") => Colour::Green,
        Some("yellow") => Colour::Yellow,
        Some("red") => Colour::Red,
        _ => panic!("{json} is no colour"),
    }
}

/// Runs one vector of a policer and says the first thing that differs.
fn run_policer(vector: &Json) -> Result<(), String> {
    let unit = if vector["unit"] == "packets" { Unit::Packets } else { Unit::Bytes };
    let profile = |rate: &str, burst: &str| Profile {
        rate: vector[rate].as_f64().expect("a rate"),
        burst: whole(vector, burst),
    };
    let beyond = match vector.get("peak_rate") {
        Some(_) => Beyond::Peak(profile("peak_rate", "peak_burst")),
        None => Beyond::Excess(whole(vector, "excess_burst")),
    };
    let mut meter = Meter::new(unit, profile("rate", "burst"), beyond);
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let size = u16::try_from(whole(event, "bytes")).expect("a size");
        let is = meter.colour(size, colour(&event["colour"]), Time(whole(event, "at_ns")));
        if is != colour(&event["expect"]["colour"]) {
            return Err(format!("event {n}: colour is {is:?}, not {}", event["expect"]));
        }
    }
    Ok(())
}

fn assert_met(folder: &str, least: usize, run: fn(&Json) -> Result<(), String>) {
    let vectors = vectors(folder);
    assert!(vectors.len() >= least, "only {} vectors", vectors.len());
    let failed: Vec<String> =
        vectors.iter().filter_map(|(path, v)| run(v).err().map(|why| format!("{path}: {why}"))).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_vector_of_policers_is_met() {
    assert_met("policer", 7, run_policer);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_a_policer_is_noticed() {
    for (path, mut vector) in vectors("policer") {
        let events = vector["events"].as_array_mut().expect("a list");
        let last = events.last_mut().expect("one");
        let other = if last["expect"]["colour"] == "red" { "green" } else { "red" };
        last["expect"]["colour"] = other.into();
        assert!(run_policer(&vector).is_err_and(|why| why.contains("colour")), "{path}");
    }
}
