//! The conformance vectors of stages in tests/conformance, whose README.md says what a vector is.

use std::path::Path;

use evenflow_base::bucket::Params;
use evenflow_base::credit::Arithmetic;
use evenflow_base::limit::Limit;
use evenflow_base::{Packet, Rate, Time};
use evenflow_stage::three_colour::{Beyond, Colour, Meter, Profile, Unit};
use evenflow_stage::{Act, Pass, Shaper, Station, Stepper};
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

/// Runs one vector of a shaper and says the first thing that differs.
fn run_shaper(vector: &Json) -> Result<(), String> {
    let rate = |name: &str| Rate(vector[name].as_f64().expect("a rate"));
    let params = Params {
        rate: rate("rate_bps"),
        burst: whole(vector, "burst_bytes"),
        peak: vector.get("peak_rate_bps").map(|_| (rate("peak_rate_bps"), whole(vector, "mtu_bytes"))),
        arithmetic: if vector["arithmetic"] == "ticks" { Arithmetic::Ticks } else { Arithmetic::Real },
    };
    let limit = vector.get("limit_packets").and_then(Json::as_u64);
    let limit = limit.map_or(Limit::None, |packets| Limit::Packets(packets as u32));
    let (mut shaper, mut by_hand) = (Shaper::new(params, limit), Stepper::new(1));
    let mut alarm = Time::NEVER;
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let now = Time(whole(event, "at_ns"));
        let mut is = serde_json::Map::new();
        if event["event"] == "arrive" {
            let size = u16::try_from(whole(event, "bytes")).expect("a size");
            let mut packet = Packet { seq: whole(event, "id"), ..Packet::new(0, size, size) };
            let (verdict, reason) = match shaper.forward(&mut packet, &mut by_hand.cx(now)) {
                Pass::On => ("pass", None),
                Pass::Held => ("hold", None),
                Pass::Drop(reason) => ("drop", Some(reason.name())),
                Pass::Mark(_) => ("mark", None),
            };
            is.insert("verdict".into(), verdict.into());
            is.extend(reason.map(|reason| ("reason".into(), reason.into())));
        } else {
            if alarm != now {
                return Err(format!("event {n}: the alarm is at {alarm:?}"));
            }
            shaper.wake(&mut by_hand.cx(now));
            is.insert("ids".into(), Json::Array(Vec::new()));
        }
        for act in by_hand.acts.drain(..) {
            match act {
                Act::Wake(at) => alarm = at,
                Act::Release(held) => match is.get_mut("ids").and_then(Json::as_array_mut) {
                    Some(ids) => ids.push(held.packet.seq.into()),
                    None => return Err(format!("event {n}: it lets go of {}", held.packet.seq)),
                },
                other => return Err(format!("event {n}: it asks for {other:?}")),
            }
        }
        if event["expect"].get("next_ns").is_some() {
            is.insert("next_ns".into(), if alarm == Time::NEVER { Json::Null } else { alarm.0.into() });
        }
        if Json::Object(is.clone()) != event["expect"] {
            return Err(format!("event {n}: {} and not {}", Json::Object(is), event["expect"]));
        }
    }
    if shaper.held().is_empty() { Ok(()) } else { Err(format!("{} are left", shaper.held().len())) }
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

#[test]
fn every_vector_of_shapers_is_met() {
    assert_met("shaper", 4, run_shaper);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_a_shaper_is_noticed() {
    for (path, vector) in vectors("shaper") {
        let events = vector["events"].as_array().expect("a list");
        for key in ["verdict", "next_ns", "ids"] {
            let at =
                events.iter().rposition(|event| !event["expect"][key].is_null()).expect("one that has it");
            let mut wrong = vector.clone();
            wrong["events"][at]["expect"][key] = 99.into();
            assert!(run_shaper(&wrong).is_err(), "{path} {key}");
        }
    }
}

/// The same of policers.
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
