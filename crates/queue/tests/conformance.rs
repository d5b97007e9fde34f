//! The conformance vectors in tests/conformance: whatever stands there must be what the rules here decide.
//!
//! tests/conformance/README.md says what a vector is. Parameters are read by their form alone, so that nothing of the
//! scenario's decoder is needed.

use std::path::PathBuf;
use std::sync::Arc;

use evenflow_base::bucket;
use evenflow_base::credit::Arithmetic;
use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, Ecn, Packet, Rate, Stream, Time};
use evenflow_queue::{
    Admission, FqCodel, Htb, Limit, LinkFacts, MECHANISMS, Occupancy, Queued, Reason, Scheduler, Sfq, Tbf,
    Verdict, codel, complete, fq_codel, htb, sfq,
};
use serde_json::{Map, Value as Json};

#[path = "../../../tests/conformance/reader.rs"]
mod reader;

type Table = Map<String, Json>;

/// Folders whose vectors are of stages and of applications, and read by their own crates.
const OTHERS: [&str; 16] = [
    "abr",
    "auditor",
    "bandwidth-manager",
    "congestion-meter",
    "congestion-policer",
    "dropper",
    "eecn",
    "has",
    "player",
    "policer",
    "reecn-policer",
    "report",
    "shaper",
    "tunnel",
    "window-tuner",
    "wire",
];

fn vectors() -> Vec<(PathBuf, Table)> {
    let folders = std::fs::read_dir(reader::folder("")).expect("the folder of vectors");
    let names = folders.map(|folder| folder.expect("an entry").path()).filter(|path| path.is_dir());
    let names = names.filter(|path| !OTHERS.iter().any(|other| path.ends_with(other)));
    let mut found: Vec<(PathBuf, Table)> = names
        .flat_map(|path| reader::vectors(path.file_name().and_then(|name| name.to_str()).expect("a name")))
        .map(|(path, vector)| (path.into(), vector.as_object().expect("a table").clone()))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn value(json: &Json) -> Value {
    match json {
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(n) => Value::Number(n.as_f64().expect("a number")),
        Json::String(text) => {
            let parts = text.split_once(' ').and_then(|(n, unit)| Some((n.parse::<f64>().ok()?, unit)));
            match parts {
                Some((n, "packets")) => Value::Packets(n),
                Some((n, "B")) => Value::Bytes(n),
                Some((n, "s")) => Value::Seconds(n),
                Some((n, "bit/s")) => Value::Rate(n),
                Some((_, unit)) => panic!("a vector may not use the unit {unit}"),
                None => Value::Word(text.clone()),
            }
        }
        other => panic!("{other} is no parameter"),
    }
}

fn values(kind: &str, table: &Table) -> Values {
    let mechanism = MECHANISMS.iter().find(|m| m.kind == kind).expect("a rule");
    let mut values = Values::default();
    for (name, json) in table {
        let param =
            mechanism.params.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{kind}: {name}"));
        values.0.insert(param.name, value(json));
    }
    values
}

fn ecn(name: &str) -> Ecn {
    match name {
        "capable" | "ect0" => Ecn::Capable0,
        "ect1" => Ecn::Capable1,
        "not-capable" | "not-ect" => Ecn::NotCapable,
        "marked" | "ce" => Ecn::Congestion,
        other => panic!("no codepoint is called {other}"),
    }
}

fn whole(event: &Table, name: &str) -> u64 {
    event.get(name).map_or(0, |v| v.as_u64().unwrap_or_else(|| panic!("{name} is {v}")))
}

fn seen(event: &Table, rate: Rate) -> Occupancy {
    Occupancy {
        packets: whole(event, "waiting_packets") as u32,
        bytes: whole(event, "waiting_bytes"),
        rate: Some(rate),
        full: event.get("full").and_then(Json::as_bool).unwrap_or(false),
        idle_since: event.get("idle_since_ns").and_then(Json::as_u64).map(Time),
    }
}

fn packet(event: &Table) -> Packet {
    let field = ecn(event["ecn"].as_str().expect("a codepoint"));
    let mut packet = Packet::new(0, whole(event, "bytes") as u16, 0).with_ecn(field);
    packet.set_re(event.get("re").and_then(Json::as_bool).unwrap_or(false));
    packet
}

/// The scheduler of a vector. CoDel has nothing to do there.
fn scheduler(vector: &Table) -> Scheduler {
    let (quantum, queues) = (whole(vector, "quantum"), whole(vector, "queues") as usize);
    let hash = Stream::new(1, "hash");
    if vector["scheduler"] == "sfq" {
        let params = sfq::Params { divisor: queues, quantum, ..sfq::Params::DEFAULT };
        return Scheduler::Sfq(Box::new(Sfq::new(params, hash)));
    }
    let codel = codel::Params {
        target: Duration::from_millis(1),
        interval: Duration::from_millis(1),
        max_packet: 1500,
        ecn: false,
        ce_threshold: None,
        ce_threshold_selector: None,
    };
    let params = fq_codel::Params {
        codel,
        flows: queues,
        quantum: quantum as i64,
        drop_batch: 64,
        memory_limit: None,
    };
    Scheduler::FqCodel(Box::new(FqCodel::new(params, hash)))
}

/// Runs one vector of a scheduler, whose queues are given by number.
fn run_turns(vector: &Table) -> Result<(), String> {
    let mut scheduler = scheduler(vector);
    let limit = whole(vector, "limit_packets");
    let mut held = 0;
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let event = event.as_object().expect("a table");
        let expect = event["expect"].as_object().expect("a table");
        let mut dropped = Vec::new();
        let (told, is) = if event["event"] == "depart" {
            let served = scheduler.dequeue(Time::ZERO, &mut dropped);
            held -= u64::from(served.is_some());
            assert!(dropped.is_empty());
            ("id", served.map_or(Json::Null, |(item, _)| item.packet.seq.into()))
        } else {
            let (queue, id, size) =
                (whole(event, "queue") as usize, whole(event, "id"), whole(event, "bytes"));
            let room = held < limit || scheduler.push_out(queue, size as u16, &mut dropped);
            held -= dropped.len() as u64;
            let mut lost: Vec<u64> = dropped.iter().map(|(item, _)| item.packet.seq).collect();
            assert!(dropped.iter().all(|(_, reason)| *reason == Reason::PushedOut));
            if room {
                let arrived =
                    Table::from_iter([("bytes".into(), size.into()), ("ecn".into(), "not-capable".into())]);
                let packet = Packet { seq: id, ..packet(&arrived) };
                scheduler.enqueue(queue, Queued { packet, at: Time::ZERO });
                held += 1;
            } else {
                lost.push(id);
            }
            ("dropped", lost.into())
        };
        if expect[told] != is {
            return Err(format!("event {n}: {told} is {is}, not {}", expect[told]));
        }
    }
    if held == 0 { Ok(()) } else { Err(format!("{held} packets are left")) }
}

/// A number of a vector's table.
fn amount(table: &Table, name: &str) -> f64 {
    table[name].as_f64().unwrap_or_else(|| panic!("{name} is {}", table[name]))
}

/// The shaper of a vector.
fn shaper(vector: &Table) -> Scheduler {
    let arithmetic = if vector["arithmetic"] == "ticks" { Arithmetic::Ticks } else { Arithmetic::Real };
    if vector["shaper"] == "tbf" {
        let peak = vector
            .get("peak_rate_bps")
            .map(|_| (Rate(amount(vector, "peak_rate_bps")), whole(vector, "mtu_bytes")));
        let rate = Rate(amount(vector, "rate_bps"));
        let params = bucket::Params { rate, burst: whole(vector, "burst_bytes"), peak, arithmetic };
        return Scheduler::Tbf(Box::new(Tbf::new(params)));
    }
    let one = |json: &Json| {
        let table = json.as_object().expect("a table");
        htb::ClassParams {
            parent: table["parent"].as_u64().map(|n| n as usize),
            rate: Rate(amount(table, "rate")),
            ceil: Rate(amount(table, "ceil")),
            burst: whole(table, "burst"),
            cburst: whole(table, "cburst"),
            priority: whole(table, "prio") as usize,
            quantum: whole(table, "quantum") as i64,
            overhead: whole(table, "overhead") as u32,
            mpu: whole(table, "mpu") as u32,
            leaf: htb::LeafParams { limit: Limit::None, discipline: htb::Discipline::Fifo },
        }
    };
    let classes: Vec<htb::ClassParams> =
        vector["classes"].as_array().expect("a list").iter().map(one).collect();
    let is_leaf = |n: &usize| classes.iter().all(|c| c.parent != Some(*n));
    let leaves = (0..classes.len()).filter(is_leaf).map(Some).collect();
    let classes = classes.into_iter().map(Arc::new).collect();
    let params = htb::Params { arithmetic, r2q: 10.0, classes, leaves };
    Scheduler::Htb(Box::new(Htb::new(params, Arc::from([]), &Stream::new(1, "hash"))))
}

/// Runs one vector of a shaper.
fn run_shaper(vector: &Table) -> Result<(), String> {
    let mut shaper = shaper(vector);
    let mut held = 0;
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let event = event.as_object().expect("a table");
        let now = Time(whole(event, "at_ns"));
        if event["event"] == "arrive" {
            let size = whole(event, "bytes");
            let arrived =
                Table::from_iter([("bytes".into(), size.into()), ("ecn".into(), "not-capable".into())]);
            let packet = Packet { seq: whole(event, "id"), ..packet(&arrived) };
            assert!(shaper.refuses(packet.size).is_none());
            let place = shaper.place(whole(event, "queue") as usize, &packet, &(), now);
            shaper.enqueue(place, Queued { packet, at: now });
            held += 1;
            continue;
        }
        let served = shaper.dequeue(now, &mut Vec::new());
        held -= i64::from(served.is_some());
        let is = match served {
            Some((item, _)) => ("id", item.packet.seq),
            None => ("until_ns", shaper.next_event().0),
        };
        let expect = event["expect"].as_object().expect("a table");
        if expect.get(is.0).and_then(Json::as_u64) != Some(is.1) {
            return Err(format!("event {n}: {} is {}, not {}", is.0, is.1, event["expect"]));
        }
    }
    if held == 0 { Ok(()) } else { Err(format!("{held} packets are left")) }
}

/// Runs one vector and says the first thing that differs.
fn run(vector: &Table) -> Result<(), String> {
    if vector.contains_key("scheduler") {
        return run_turns(vector);
    }
    if vector.contains_key("shaper") {
        return run_shaper(vector);
    }
    let kind = vector["rule"].as_str().expect("a name");
    let given = values(kind, vector["parameters"].as_object().expect("a table"));
    let rate = Rate(vector["link"]["rate_bps"].as_f64().expect("a rate"));
    let delay = Duration(vector["link"]["delay_ns"].as_u64().expect("a delay"));
    let mut rule = Admission::build(kind, &given, LinkFacts { rate: Some(rate), delay, classes: &[] })
        .map_err(|e| format!("{e:?}"))?;
    if let Some(lines) = vector.get("lines") {
        let lines = values(kind, lines.as_object().expect("a table"));
        let mut full = given.clone();
        complete(kind, &mut full);
        for (name, expected) in &lines.0 {
            if full.get(name) != Some(expected) {
                return Err(format!("line {name} is {:?}, not {expected:?}", full.get(name)));
            }
        }
    }
    let listed = vector["draws"].as_array().expect("a list");
    let mut draws = Stream::scripted(listed.iter().map(|u| u.as_f64().expect("a number")));
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let event = event.as_object().expect("a table");
        let expect = event["expect"].as_object().expect("a table");
        let now = Time(whole(event, "at_ns"));
        let mut told = Table::new();
        let mut tell = |verdict: &str, reason: Option<&str>, ecn: Ecn| {
            let ecn = match ecn {
                Ecn::NotCapable => "not-capable",
                Ecn::Capable0 | Ecn::Capable1 => "capable",
                Ecn::Congestion => "marked",
            };
            told.insert("verdict".into(), verdict.into());
            told.insert("reason".into(), reason.map_or(Json::Null, Json::from));
            told.insert("ecn".into(), ecn.into());
        };
        match event["event"].as_str() {
            Some("tick") => {
                if rule.next_tick() != now {
                    return Err(format!("event {n}: the clock strikes at {:?}", rule.next_tick()));
                }
                rule.tick(now, &seen(event, rate));
            }
            Some("leave") => {
                let mut packet = packet(event);
                let at = event.get("accepted_at_ns").map_or(now, |_| Time(whole(event, "accepted_at_ns")));
                let (verdict, reason) = match rule.on_dequeue(&mut packet, at, now, &seen(event, rate)) {
                    Verdict::Accept => ("pass", None),
                    Verdict::Mark(reason) => ("mark", Some(reason)),
                    Verdict::Drop(reason) => ("drop", Some(reason)),
                };
                tell(verdict, reason.map(|r| r.name()), packet.ecn());
            }
            Some("empty") => rule.emptied(),
            Some("arrive") => {
                let mut packet = packet(event);
                if rule.next_tick() <= now {
                    return Err(format!("event {n}: the clock should have struck at {:?}", rule.next_tick()));
                }
                let (verdict, reason) = match rule.admit(&mut packet, now, &seen(event, rate), &mut draws) {
                    Verdict::Accept => ("accept", None),
                    Verdict::Mark(reason) => ("mark", Some(reason)),
                    Verdict::Drop(reason) => ("drop", Some(reason)),
                };
                tell(verdict, reason.map(|r| r.name()), packet.ecn());
                told.insert("draws".into(), (listed.len() - draws.left()).into());
            }
            other => panic!("no event is called {other:?}"),
        }
        for (name, expected) in expect {
            let is = match told.get(name) {
                Some(told) => told.clone(),
                None => rule.observe(name).map_or(Json::Null, Json::from),
            };
            let same = match (is.as_f64(), expected.as_f64()) {
                (Some(is), Some(expected)) => (is - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                _ => is == *expected,
            };
            if !same {
                return Err(format!("event {n}: {name} is {is}, not {expected}"));
            }
        }
    }
    match draws.left() {
        0 => Ok(()),
        left => Err(format!("{left} numbers were not drawn")),
    }
}

#[test]
fn every_vector_is_met() {
    let vectors = vectors();
    assert!(vectors.len() >= 58, "only {} vectors", vectors.len());
    let failed: Vec<String> = vectors
        .iter()
        .filter_map(|(path, vector)| run(vector).err().map(|why| format!("{}: {why}", path.display())))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_is_noticed() {
    let (_, vector) =
        vectors().into_iter().find(|(path, _)| path.ends_with("red/ns2-mark.json")).expect("there");
    for (key, json) in
        [("average", Json::from(0.25)), ("verdict", Json::from("drop")), ("draws", Json::from(99))]
    {
        let mut wrong = vector.clone();
        wrong["events"][100]["expect"][key] = json;
        assert!(run(&wrong).is_err_and(|why| why.contains(key)), "{key}");
    }
    for (folder, key) in [
        ("codel/drop.json", "count"),
        ("pie/quick.json", "delay"),
        ("sfq/full.json", "id"),
        ("htb/levels.json", "id"),
        ("tbf/rate.json", "until_ns"),
    ] {
        let (_, mut wrong) = vectors().into_iter().find(|(path, _)| path.ends_with(folder)).expect("there");
        let events = wrong["events"].as_array_mut().expect("a list");
        let last = events.iter_mut().rev().find(|e| !e["expect"][key].is_null()).expect("one that tells it");
        last["expect"][key] = 99.into();
        assert!(run(&wrong).is_err_and(|why| why.contains(key)), "{folder}");
    }
    let mut wrong = vector.clone();
    wrong["lines"]["spread"] = "floyd".into();
    assert!(run(&wrong).is_err_and(|why| why.contains("spread")));
    let mut wrong = vector;
    wrong["draws"].as_array_mut().expect("a list").push(0.5.into());
    assert!(run(&wrong).is_err_and(|why| why.contains("not drawn")));
}
