//! The conformance vectors in tests/conformance/abr, player and has: whatever stands there must be what the rules and the player here do.

use evenflow_base::schema::{Fallback, Value, Values};
use evenflow_base::{Duration, End, Stream, Time};
use evenflow_traffic::adaptation::{Adaptation, Known, Ladder, MECHANISMS};
use evenflow_traffic::{App, Call, Event, Moment, Playback, Setting, Thresholds};
use serde_json::Value as Json;

#[path = "../../../tests/conformance/reader.rs"]
mod reader;
use reader::vectors;

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// The defaults of a rule's table.
fn defaults(kind: &str) -> Values {
    let table = MECHANISMS.iter().find(|m| m.kind == kind).unwrap_or_else(|| panic!("no rule {kind}"));
    let mut values = Values::default();
    for param in table.params {
        if let Fallback::Text(text) = param.default {
            let number = text.split(' ').next().and_then(|n| n.parse().ok()).expect("a number first");
            values.0.insert(param.name, Value::Number(number));
        }
    }
    values
}

/// A rule with them.
fn rule(kind: &str) -> Adaptation {
    Adaptation::build(kind, &defaults(kind)).expect("defaults go together")
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
    let vectors = vectors("abr");
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
    for (path, mut vector) in vectors("abr") {
        let events = vector["events"].as_array_mut().expect("a list");
        let last = events.last_mut().expect("an event");
        let level = last["expect"]["level"].as_u64().expect("a level");
        last["expect"]["level"] = (level + 1).into();
        assert!(run(&vector).is_err(), "{path}");
    }
}

/// What a player's buffer did, as its vectors have it: what, and when in ns.
fn told(moments: &[(Time, Moment)]) -> Vec<(String, u64)> {
    let word = |what: &Moment| match what {
        Moment::Starts => Some("starts"),
        Moment::Stalls => Some("stalls"),
        Moment::Resumes => Some("resumes"),
        Moment::Ends => Some("ends"),
        _ => None,
    };
    moments.iter().filter_map(|(at, what)| Some((word(what)?.to_owned(), at.0))).collect()
}

/// Instants and buffers agree to two nanoseconds: video is counted in whole ones.
fn watch(vector: &Json) -> Result<(), String> {
    let ns = |json: &Json| json.as_u64().expect("nanoseconds");
    let seconds = |name: &str| Duration(ns(&vector[name])).seconds();
    let thresholds = Thresholds {
        start: seconds("start_ns"),
        resume: seconds("resume_ns"),
        stall: seconds("stall_ns"),
        above: vector["above"].as_bool().expect("a flag"),
    };
    let mut playback = Playback::new(thresholds);
    playback.ask(Time::ZERO);
    let mut shown = 0;
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let now = Time(ns(&event["at_ns"]));
        if event["event"] == "receive" {
            let bits = event["bytes"].as_f64().expect("bytes") * 8.0;
            let content = bits / vector["bitrate_bps"].as_f64().expect("bit/s");
            playback.receive(content, event["whole"].as_bool().expect("a flag"), now);
        }
        let all = told(&playback.moments(now));
        let expected = event["expect"]["moments"].as_array().expect("a list");
        let same = all.len() - shown == expected.len()
            && all[shown..]
                .iter()
                .zip(expected)
                .all(|((what, at), e)| e[0] == *what && at.abs_diff(ns(&e[1])) <= 2);
        if !same {
            return Err(format!("event {n}: {:?}, not {expected:?}", &all[shown..]));
        }
        shown = all.len();
        let buffered = (playback.buffered(now) * 1e9).round() as u64;
        if buffered.abs_diff(ns(&event["expect"]["buffered_ns"])) > 2 {
            return Err(format!(
                "event {n}: {buffered} ns in the buffer, not {}",
                event["expect"]["buffered_ns"]
            ));
        }
    }
    Ok(())
}

#[test]
fn every_vector_of_a_player_is_met_and_a_wrong_one_noticed() {
    let vectors = vectors("player");
    assert!(vectors.len() >= 7, "only {} vectors", vectors.len());
    for (path, mut vector) in vectors {
        watch(&vector).unwrap_or_else(|why| panic!("{path}: {why}"));
        let last = vector["events"].as_array_mut().expect("a list").last_mut().expect("an event");
        let moments = last["expect"]["moments"].as_array_mut().expect("a list");
        moments.push(serde_json::json!(["stalls", 1]));
        assert!(watch(&vector).is_err(), "{path}");
    }
}

/// Plays a vector's arrivals to a player of adaptive video: when it asks, for which level, and what is shown.
fn fetch(vector: &Json) -> Result<(), String> {
    let ns = |json: &Json| json.as_u64().expect("nanoseconds");
    let word = |name: &str| Value::Word(vector[name].as_str().expect("a word").to_owned());
    let seconds = |name: &str| Value::Seconds(vector[name].as_f64().expect("seconds"));
    let kind = vector["rule"].as_str().expect("a rule");
    let mut rule_values = defaults(kind);
    rule_values.0.insert("kind", Value::Word(kind.into()));
    let mut values = Values(
        [
            ("ladder", Value::Rates(numbers(&vector["ladder_bps"]))),
            ("adaptation", Value::Table(rule_values)),
            ("chunk", seconds("chunk_s")),
            ("buffer", seconds("capacity_s")),
            ("buffer_in", word("buffer_in")),
            ("steady", word("steady")),
            ("measure_from", Value::Word("request".into())),
            ("play_at", seconds("play_at_s")),
            ("resume_at", seconds("resume_at_s")),
            ("header", Value::Bytes(1.0)),
            ("request", Value::Bytes(1.0)),
            ("keep_alive", Value::Flag(true)),
        ]
        .into_iter()
        .collect(),
    );
    values.0.extend(vector["steady_after"].as_f64().map(|n| ("steady_after", Value::Number(n))));
    let stream = |purpose: &str| Stream::new(1, purpose);
    let setting = Setting { stream: &stream, ending: None, arrivals: false, user: 0 };
    let mut app = App::build("has", &values, &setting).map_err(|problems| format!("{problems:?}"))?;
    let mut calls = Vec::new();
    let (mut alarm, mut asked, mut answered) = (Time::ZERO, 0, 0);
    let events = vector["events"].as_array().expect("a list");
    for (n, event) in events.iter().enumerate() {
        // It asks by itself at an alarm, or at once when a chunk is there.
        if n == 0 {
            app.on(Event::Start, Time::ZERO, &mut calls);
            app.on(Event::Opened(0, End::Client), Time::ZERO, &mut calls);
        } else if alarm != Time::NEVER {
            app.on(Event::Timer(u32::MAX), alarm, &mut calls);
        }
        let playback = app.playback().expect("it plays video");
        let arrives = Time(ns(&event["arrives_ns"]));
        let part = |(at, what): &(Time, Moment)| match what {
            Moment::Part(level, _) => Some((at.0, u64::from(*level))),
            _ => None,
        };
        let moments = playback.moments(Time(ns(&event["at_ns"]) + 2));
        let latest = moments.iter().filter_map(part).nth(n);
        let expected = (ns(&event["at_ns"]), event["level"].as_u64().expect("a level"));
        if latest.is_none_or(|(at, level)| at.abs_diff(expected.0) > 2 || level != expected.1) {
            return Err(format!("event {n}: {latest:?}, not {expected:?}"));
        }
        asked += calls.iter().filter(|call| matches!(call, Call::Write(_, End::Client, _))).count() as u64;
        calls.clear();
        app.on(Event::Received(0, End::Server, asked), Time(latest.map_or(0, |(at, _)| at)), &mut calls);
        let written = calls.iter().find_map(|call| match call {
            Call::Write(_, End::Server, bytes) => Some(*bytes),
            _ => None,
        });
        answered += written.ok_or_else(|| format!("event {n}: no answer"))?;
        calls.clear();
        app.on(Event::Received(0, End::Client, answered), arrives, &mut calls);
        let due = calls.iter().find_map(|call| match call {
            Call::Timer(u32::MAX, due) => Some(*due),
            _ => None,
        });
        alarm = due.unwrap_or(Time::NEVER);
    }
    let last = Time(ns(&events.last().expect("an event")["arrives_ns"]));
    let all = told(&app.playback().expect("it plays video").moments(last));
    let expected = vector["moments"].as_array().expect("a list");
    let same = |((what, at), e): (&(String, u64), &Json)| e[0] == **what && at.abs_diff(ns(&e[1])) <= 2;
    if all.len() != expected.len() || !all.iter().zip(expected).all(same) {
        return Err(format!("shown: {all:?}, not {expected:?}"));
    }
    Ok(())
}

#[test]
fn every_vector_of_adaptive_video_is_met_and_a_wrong_one_noticed() {
    let vectors = vectors("has");
    let kinds: std::collections::BTreeSet<&str> =
        vectors.iter().filter_map(|(_, vector)| vector["rule"].as_str()).collect();
    assert!(MECHANISMS.iter().all(|m| kinds.contains(m.kind)), "a rule has no vector in a player");
    let mut failed = Vec::new();
    for (path, vector) in &vectors {
        failed.extend(fetch(vector).err().map(|why| format!("{path}: {why}")));
        let mut wrong = vector.clone();
        let last = wrong["events"].as_array_mut().expect("a list").last_mut().expect("an event");
        last["at_ns"] = (last["at_ns"].as_u64().expect("ns") + 1_000).into();
        assert!(fetch(&wrong).is_err(), "{path}");
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
