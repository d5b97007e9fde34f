//! The conformance vectors of stages in tests/conformance, whose README.md says what a vector is.

use evenflow_base::bucket::Params;
use evenflow_base::credit::Arithmetic;
use evenflow_base::limit::Limit;
use evenflow_base::packet::ip;

use evenflow_base::schema::Way;
use evenflow_base::tunnel::Rules;
use evenflow_base::{Duration, Ecn, Packet, Rate, Stream, Time, flags};
use evenflow_stage::auditor::{self, Audit, Auditor, Losses, Rule};
use evenflow_stage::bandwidth_manager::{self, BandwidthManager};
use evenflow_stage::congestion_controller::{self, AccountOf, CongestionController, Mode};
use evenflow_stage::congestion_meter::CongestionMeter;
use evenflow_stage::congestion_policer::{self, Action, Charge, CongestionPolicer, Harshness};
use evenflow_stage::congestion_reporter::{self, CongestionReporter, Report};
use evenflow_stage::sessions::{self, Policy};
use evenflow_stage::three_colour::{Beyond, Colour, Meter, Profile, Unit};
use evenflow_stage::tunnel::{Entry, Exit, Re};
use evenflow_stage::window_tuner::{self, By, Rounding, WindowTuner};
use evenflow_stage::{
    Act, Message, Own, Pass, Setting, Shaper, Station, Stepper, TunnelEgress, TunnelIngress,
};
use serde_json::Value as Json;

#[path = "../../../tests/conformance/reader.rs"]
mod reader;
use reader::vectors;

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

fn code(ecn: &Json, re: &Json) -> (Ecn, bool) {
    let bits = ["not-ect", "ect1", "ect0", "ce"].iter().position(|word| ecn == word);
    (Ecn::of(bits.unwrap_or_else(|| panic!("{ecn} is no codepoint")) as u8), re == &Json::Bool(true))
}

/// The line of a vector, or what holds without it.
fn line<'a>(vector: &'a Json, name: &str, default: &'a str) -> &'a str {
    vector.get(name).map_or(default, |line| line.as_str().expect("a word"))
}

/// Runs one vector of a congestion policer and says the first thing that differs.
fn run_congestion_policer(vector: &Json) -> Result<(), String> {
    let depth = vector["depth"].as_f64().expect("a depth");
    let params = congestion_policer::Params {
        unit: if vector["unit"] == "packets" { Unit::Packets } else { Unit::Bytes },
        rate: vector["rate"].as_f64().expect("a rate"),
        depth,
        level: depth * line(vector, "level", "1").parse::<f64>().expect("a share"),
        harshness: Harshness::of(line(vector, "harshness", "mild")),
        charge: if line(vector, "charge", "arrival") == "pass" { Charge::Pass } else { Charge::Arrival },
        floor: line(vector, "floor", "none") == "end",
        action: match line(vector, "action", "drop") {
            "class" => Action::Class(7),
            "mark" => Action::Mark,
            _ => Action::Drop,
        },
        credit: line(vector, "credit", "free") == "charged",
        cancelled: line(vector, "cancelled", "charged") == "charged",
        legacy: line(vector, "legacy", "pass") == "police",
        bits: false,
    };
    let numbers: Vec<f64> =
        vector["draws"].as_array().expect("a list").iter().map(|n| n.as_f64().expect("a number")).collect();
    let total = numbers.len();
    let mut draws = Stream::scripted(numbers);
    let mut policer = CongestionPolicer::new(params);
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let size = u16::try_from(whole(event, "bytes")).expect("a size");
        let (ecn, re) = code(&event["ecn"], &event["re"]);
        let mut packet = Packet { ip: ip::DATAGRAM, ..Packet::new(0, size, size) }.with_ecn(ecn);
        packet.set_re(re);
        let now = Time(whole(event, "at_ns"));
        let verdict = match policer.meet(&mut packet, now, &mut draws) {
            Pass::On if packet.class == 7 => "class",
            Pass::On => "pass",
            Pass::Mark(_) => "mark",
            Pass::Drop(_) => "drop",
            Pass::Held => "hold",
        };
        let expect = &event["expect"];
        let tokens = policer.observe("tokens", now).expect("it is known");
        let right = expect["verdict"] == verdict
            && (packet.ecn(), packet.re()) == code(&expect["ecn"], &expect["re"])
            && (tokens - expect["tokens"].as_f64().expect("a number")).abs() <= 1e-9 * depth
            && (total - draws.left()) as u64 == whole(expect, "draws");
        if !right {
            return Err(format!("event {n}: {verdict}, {tokens} tokens, and not {expect}"));
        }
    }
    if draws.left() == 0 { Ok(()) } else { Err(format!("{} numbers are left", draws.left())) }
}

/// Runs one vector of an auditor and says the first thing that differs.
fn run_auditor(vector: &Json) -> Result<(), String> {
    let number =
        |name: &str, default: f64| vector.get(name).map_or(default, |n| n.as_f64().expect("a number"));
    let unit = if vector["unit"] == "packets" { Unit::Packets } else { Unit::Bytes };
    let audit = line(vector, "audit", "both");
    let params = auditor::Params {
        rule: match line(vector, "rule", "balance") {
            "ratio" => Rule::Ratio {
                weight: number("weight", 0.01),
                left_out: line(vector, "cancelled", "left-out") == "left-out",
            },
            _ => Rule::Balance { limit: number("limit", 10.0) },
        },
        audit: Audit { ecn: audit != "loss", loss: audit != "ecn" },
        unit,
        allowance: number("allowance", 3.0),
        delay: Duration(number("delay_ns", 0.0) as u64),
        losses: match line(vector, "losses", "gaps") {
            "retransmissions" => Losses::Retransmissions,
            _ => Losses::Gaps,
        },
        reordering: number("reordering", 3.0) as u32,
        order: match line(vector, "order", "timestamps") {
            "count" => auditor::Order::Count,
            _ => auditor::Order::Timestamps {
                late: Duration(number("reordering_window_ns", 100e6) as u64),
                repair: Duration(number("repair_ns", 3e9) as u64),
            },
        },
        own_drops: line(vector, "own_drops", "free") == "counted",
        action: auditor::Action::Drop,
        together: line(vector, "strangers", "own") == "together",
        apart: line(vector, "encoding", "ipv4") == "ipv6",
        idle: Duration(number("idle_ns", 60e9) as u64),
    };
    let numbers: Vec<f64> =
        vector["draws"].as_array().expect("a list").iter().map(|n| n.as_f64().expect("a number")).collect();
    let total = numbers.len();
    let mut draws = Stream::scripted(numbers);
    let mut auditor = Auditor::new(params);
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let of = |name: &str| u16::try_from(whole(event, name)).expect("a size");
        let (ecn, re) = code(&event["ecn"], &event["re"]);
        let mut packet = Packet::new(0, of("bytes"), of("payload")).with_ecn(ecn);
        packet.set_re(re);
        let bits = event["bits"].as_str().unwrap_or_default().chars().map(|bit| match bit {
            'L' => ip::LOSS,
            'E' => ip::MARK,
            'C' => ip::CREDIT,
            other => panic!("{other} is no bit"),
        });
        packet.set_conex(bits.fold(0, |all, bit| all | bit));
        packet.stamp = event["stamp"].as_u64().unwrap_or(0) as u32;
        let now = Time(whole(event, "at_ns"));
        let verdict = match auditor.judge(&packet, whole(event, "seq"), whole(event, "flow"), now, &mut draws)
        {
            auditor::Verdict::Pass => "pass",
            auditor::Verdict::Sanction => "sanction",
            auditor::Verdict::Behind(_) => "behind",
        };
        let expect = &event["expect"];
        let balance = auditor.observe("balance", now).expect("it is known");
        let same = expect["balance"].as_f64().is_none_or(|expected| (balance - expected).abs() <= 1e-6);
        if expect["verdict"] != verdict || !same || (total - draws.left()) as u64 != whole(expect, "draws") {
            return Err(format!("event {n}: {verdict}, a balance of {balance}, and not {expect}"));
        }
    }
    if draws.left() == 0 { Ok(()) } else { Err(format!("{} numbers are left", draws.left())) }
}

/// Runs one vector of a tunnel and says the first thing that differs.
fn run_tunnel(vector: &Json) -> Result<(), String> {
    let rules = |name: &str| Rules::of(vector[name].as_str().expect("a word"));
    let re = match line(vector, "re", "copy") {
        "inner" => Re::Inner,
        "neutral" => Re::Neutral,
        _ => Re::Copy,
    };
    let of = |name: &str| u16::try_from(whole(vector, name)).expect("16 bits");
    let mut ingress = TunnelIngress::new(Entry {
        bytes: of("overhead"),
        numbered: true,
        rules: rules("into"),
        re,
        largest: of("max_size"),
        tunnel: 9,
        own: 1,
    });
    let reordering = whole(vector, "reordering") as u32;
    let mut egress = TunnelEgress::new(Exit { rules: rules("out"), re, reordering, from: Some(1) });
    let mut by_hand = Stepper::new(1);
    let mut inside: std::collections::BTreeMap<u64, Packet> = std::collections::BTreeMap::new();
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let mut is = serde_json::Map::new();
        match event["event"].as_str() {
            Some("in") => {
                let (ecn, flag) = code(&event["ecn"], &event["re"]);
                let size = u16::try_from(whole(event, "bytes")).expect("a size");
                let mut packet = Packet::new(0, size, size).with_ecn(ecn);
                packet.set_re(flag);
                let pass = ingress.forward(&mut packet, &mut by_hand.cx(Time::ZERO));
                is.insert("verdict".into(), if pass == Pass::On { "pass" } else { "drop" }.into());
                if pass == Pass::On {
                    is.insert("bytes".into(), packet.size.into());
                    is.insert("ecn".into(), word_of(packet.ecn()).into());
                    is.insert("re".into(), packet.re().into());
                    inside.insert(whole(event, "id"), packet);
                }
            }
            Some("lost") => {
                let packet = inside.remove(&whole(event, "id")).expect("it went in");
                by_hand.options.discard(&packet);
                continue;
            }
            _ => {
                let mut packet = inside.remove(&whole(event, "id")).expect("it went in");
                let (ecn, flag) = code(&event["ecn"], &event["re"]);
                packet.set_ecn(ecn);
                packet.set_re(flag);
                let pass = egress.forward(&mut packet, &mut by_hand.cx(Time::ZERO));
                is.insert("verdict".into(), if pass == Pass::On { "pass" } else { "drop" }.into());
                is.insert("bytes".into(), packet.size.into());
                if pass == Pass::On {
                    is.insert("ecn".into(), word_of(packet.ecn()).into());
                    is.insert("re".into(), packet.re().into());
                }
                for name in ["marks", "marks_lost", "dangerous", "lost", "late"] {
                    let count = egress.observe(name, Time::ZERO).expect("it is known");
                    is.insert(name.into(), (count as u64).into());
                }
                by_hand.options.discard(&packet);
            }
        }
        if Json::Object(is.clone()) != event["expect"] {
            return Err(format!("event {n}: {} and not {}", Json::Object(is), event["expect"]));
        }
    }
    let left = by_hand.options.len();
    if left == inside.len() { Ok(()) } else { Err(format!("{left} places are left")) }
}

/// What the reporter has sent since somebody looked.
fn reports_in(by_hand: &mut Stepper) -> Vec<(u16, Report)> {
    let sent = std::mem::take(&mut by_hand.acts).into_iter().filter_map(|act| match act {
        Act::Send(Own { message: Some(Message::Report(report)), size, .. }) => Some((size, *report)),
        _ => None,
    });
    sent.collect()
}

/// A report as a vector shows it; null: there is none.
fn shown(reports: &[(u16, Report)]) -> Json {
    let Some((size, report)) = reports.last() else { return Json::Null };
    assert_eq!(usize::from(*size), 48 + 4 * report.list.len(), "dossier: 48 B, and 4 B for each number");
    serde_json::json!({
        "last": report.last,
        "held_ns": report.held.0,
        "received": [report.received.0, report.received.1],
        "marked": [report.marked.0, report.marked.1],
        "marked_outside": report.marked_outside,
        "lost": report.lost,
        "list": report.list,
    })
}

/// Runs one vector of reports and says the first thing that differs.
fn run_reports(vector: &Json) -> Result<(), String> {
    let mut ingress = TunnelIngress::new(Entry {
        bytes: 40,
        numbered: vector["numbered"] == true,
        rules: Rules::Paper,
        re: Re::Neutral,
        largest: u16::MAX,
        tunnel: 9,
        own: 1,
    });
    let mut controller = CongestionController::new(congestion_controller::Params {
        mode: if vector["split"] == true { Mode::Split } else { Mode::Police },
        account: if vector["account"] == "flow" { AccountOf::Flow } else { AccountOf::Bearer },
    });
    let mut reporter = CongestionReporter::new(congestion_reporter::Params {
        every: Duration(whole(vector, "every_ns")),
        early: whole(vector, "early"),
        list: vector["list"] == true,
        size: 48,
        loss: 0.0,
        reordering: whole(vector, "reordering") as u32,
    });
    let mut by_hand = Stepper::new(1);
    let mut inside: std::collections::BTreeMap<u64, Packet> = std::collections::BTreeMap::new();
    let mut made: std::collections::BTreeMap<u64, Report> = std::collections::BTreeMap::new();
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let (now, expect) = (Time(whole(event, "at_ns")), &event["expect"]);
        let marked = event["marked"] == true;
        let mut reports = Vec::new();
        let is = match event["event"].as_str() {
            Some("in") => {
                let size = whole(event, "bytes") as u16 - 40;
                let ecn = if marked { Ecn::Congestion } else { Ecn::NotCapable };
                let mut packet = Packet::new(0, size, size).with_ecn(ecn);
                by_hand.whose.flow = whole(event, "flow");
                ingress.forward(&mut packet, &mut by_hand.cx(now));
                controller.forward(&mut packet, &mut by_hand.cx(now));
                let is = serde_json::json!({ "ecn": word_of(packet.ecn()), "re": packet.re() });
                inside.insert(whole(event, "id"), packet);
                is
            }
            Some("out") => {
                let mut packet = inside.remove(&whole(event, "id")).expect("it went in");
                if marked {
                    packet.set_ecn(Ecn::Congestion);
                }
                reporter.forward(&mut packet, &mut by_hand.cx(now));
                by_hand.options.discard(&packet);
                reports = reports_in(&mut by_hand);
                shown(&reports)
            }
            Some("alarm") => {
                reporter.wake(&mut by_hand.cx(now));
                reports = reports_in(&mut by_hand);
                shown(&reports)
            }
            Some("hear") => {
                let report = made.get(&whole(event, "report")).expect("it was made").clone();
                controller.receive(Message::Report(Box::new(report)), &mut by_hand.cx(now));
                let expect = expect.as_object().expect("an object");
                for (name, wanted) in expect {
                    let of = name.strip_suffix("_s").unwrap_or(name);
                    let (is, wanted) = (controller.observe(of, now), wanted.as_f64());
                    let near = is.zip(wanted).is_some_and(|(a, b)| (a - b).abs() < 1e-7 * (1.0 + b.abs()));
                    if !near && (is.is_some() || wanted.is_some()) {
                        return Err(format!("event {n}: {name} is {is:?} and not {wanted:?}"));
                    }
                }
                continue;
            }
            _ => {
                let mut packet = Packet { flags: flags::ACK, ..Packet::new(0, 40, 0) };
                by_hand.whose.flow = whole(event, "flow");
                controller.backward(&mut packet, &mut by_hand.cx(now));
                (packet.flags & flags::ECE != 0).into()
            }
        };
        if is != *expect {
            return Err(format!("event {n}: {is} and not {expect}"));
        }
        made.extend(reports.into_iter().map(|(_, report)| (report.received.0, report)));
    }
    Ok(())
}

/// Who gets what, as a vector of a gateway says it.
fn sessions_of(vector: &Json) -> sessions::Params {
    let policy = match vector["policy"].as_str() {
        Some("levels") => Policy::Levels {
            ladder: numbers(&vector["ladder_bps"]),
            margin: vector["margin"].as_f64().expect("a number"),
        },
        _ => Policy::Equal,
    };
    sessions::Params {
        policy,
        rate: Rate(vector["rate_bps"].as_f64().expect("a rate")),
        by_flow: vector["session"] == "flow",
        idle: Duration(whole(vector, "idle_ns")),
    }
}

fn numbers(list: &Json) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|n| n.as_f64().expect("a number")).collect()
}

/// The segment of an event, without what is carried beside it; whose it is and which way it goes is told to `by_hand`.
fn segment(event: &Json, by_hand: &mut Stepper) -> Packet {
    by_hand.whose.user = whole(event, "user") as u32;
    by_hand.whose.flow = whole(event, "flow");
    by_hand.whose.slot = whole(event, "flow") as u32;
    by_hand.way = if event["way"] == "up" { Way::Backward } else { Way::Forward };
    let bits = match event["flags"].as_str() {
        Some("syn") if event["way"] == "up" => flags::SYN,
        Some("syn") => flags::SYN | flags::ACK,
        Some("fin") => flags::FIN | flags::ACK,
        Some("rst") => flags::RST | flags::ACK,
        _ => flags::ACK,
    };
    Packet { flags: bits, ..Packet::new(0, 66, 0) }
}

/// Runs one vector of a manager of bandwidth and says the first thing that differs.
fn run_bandwidth_manager(vector: &Json) -> Result<(), String> {
    let params =
        bandwidth_manager::Params { sessions: sessions_of(vector), ceil: None, burst: None, replace: false };
    let by_flow = params.sessions.by_flow;
    let (mut manager, mut by_hand) = (BandwidthManager::new(params), Stepper::new(1));
    // a session is set by one of its flows: that of the segment that opened it
    let mut opened: Vec<(u64, u64)> = Vec::new();
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let now = Time(whole(event, "at_ns"));
        if event["event"] == "silence" {
            manager.wake(&mut by_hand.cx(now));
        } else {
            let mut packet = segment(event, &mut by_hand);
            if event["flags"] == "syn" {
                packet.flags = flags::SYN; // either end may open
            }
            let key = by_hand.whose.flow;
            opened.push((key, if by_flow { key } else { u64::from(by_hand.whose.user) }));
            let mut cx = by_hand.cx(now);
            let pass = match event["way"].as_str() {
                Some("up") => manager.backward(&mut packet, &mut cx),
                _ => manager.forward(&mut packet, &mut cx),
            };
            assert_eq!(pass, Pass::On);
        }
        let is: Vec<(u64, f64)> = by_hand
            .acts
            .drain(..)
            .filter_map(|act| match act {
                Act::Set(Setting::Share(slot, _, share)) => {
                    let key = opened.iter().find(|(flow, _)| *flow == u64::from(slot)).expect("it passed").1;
                    Some((key, share.rate.0))
                }
                _ => None,
            })
            .collect();
        let expect = event["expect"]["set"].as_array().cloned().unwrap_or_default();
        let same = is.len() == expect.len()
            && is.iter().zip(&expect).all(|((key, rate), pair)| {
                let given = pair[1].as_f64().expect("a rate");
                pair[0].as_u64() == Some(*key) && (rate - given).abs() <= 1e-9 * given
            });
        if !same {
            return Err(format!("event {n}: {is:?} and not {}", event["expect"]));
        }
    }
    Ok(())
}

/// Runs one vector of a tuner of windows and says the first thing that differs.
fn run_window_tuner(vector: &Json) -> Result<(), String> {
    let mut tuner = WindowTuner::new(window_tuner::Params {
        sessions: sessions_of(vector),
        by: match vector["round_trip"].as_str() {
            Some("handshake") => By::Handshake,
            Some("timestamps") => By::Timestamps(Duration(whole(vector, "tick_ns"))),
            _ => By::Request,
        },
        rounding: match vector["rounding"].as_str() {
            Some("floor") => Rounding::Floor,
            Some("nearest") => Rounding::Nearest,
            Some("ceil") => Rounding::Ceil,
            _ => Rounding::None,
        },
        pure: vector["rewrites"] == "pure-acks",
    });
    let mut by_hand = Stepper::new(1);
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let mut packet = segment(event, &mut by_hand);
        packet.payload = whole(event, "payload") as u16;
        packet.stamp = whole(event, "stamp") as u32;
        if packet.payload == 0 {
            packet.seq = whole(event, "ack");
        }
        let carried = by_hand.options.attach(&mut packet);
        carried.window = event["window"].as_u64().map(|field| field as u16);
        carried.scale = event["scale"].as_u64().map(|scale| scale as u8);
        carried.ack = whole(event, "ack");
        if packet.is(flags::SYN) && packet.is(flags::ACK) {
            carried.ts_val = packet.stamp;
        }
        let mut cx = by_hand.cx(Time(whole(event, "at_ns")));
        let pass = match event["way"].as_str() {
            Some("up") => tuner.backward(&mut packet, &mut cx),
            _ => tuner.forward(&mut packet, &mut cx),
        };
        assert_eq!(pass, Pass::On);
        let field = by_hand.options.of(&packet).window.map(u64::from);
        by_hand.options.discard(&packet);
        if field != event["expect"]["window"].as_u64() {
            return Err(format!("event {n}: {field:?} and not {}", event["expect"]));
        }
    }
    Ok(())
}

#[test]
fn every_vector_of_managers_of_bandwidth_is_met() {
    assert_met("bandwidth-manager", 9, run_bandwidth_manager);
}

#[test]
fn every_vector_of_tuners_of_windows_is_met() {
    assert_met("window-tuner", 9, run_window_tuner);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_a_gateway_is_noticed() {
    for (path, vector) in vectors("bandwidth-manager") {
        let events = vector["events"].as_array().expect("a list");
        let at = events.iter().rposition(|event| event["expect"]["set"][0].is_array()).expect("one");
        let mut wrong = vector.clone();
        wrong["events"][at]["expect"]["set"][0][1] = 1.0.into();
        assert!(run_bandwidth_manager(&wrong).is_err(), "{path}");
    }
    for (path, vector) in vectors("window-tuner") {
        let events = vector["events"].as_array().expect("a list");
        let lowered = events.iter().rposition(|event| event["expect"]["window"] != event["window"]);
        let at = lowered.unwrap_or_else(|| panic!("{path}: none is lowered"));
        let mut wrong = vector.clone();
        wrong["events"][at]["expect"]["window"] = vector["events"][at]["window"].clone();
        assert!(run_window_tuner(&wrong).is_err(), "{path}");
    }
}

fn word_of(field: Ecn) -> &'static str {
    ["not-ect", "ect1", "ect0", "ce"][field as usize]
}

/// Runs one vector of a policer of re-ECN and says the first thing that differs.
fn run_reecn_policer(vector: &Json) -> Result<(), String> {
    use evenflow_stage::congestion_policer::{RttFrom, Scope};
    use evenflow_stage::reecn_policer::{K, Params, ReEcnPolicer, Rule, Sanction};
    let number = |name: &str| vector[name].as_f64().unwrap_or(1.0);
    let rule = match vector["rule"].as_str() {
        Some("tcp-rate") => Rule::TcpRate {
            start: number("start_s"),
            depth: number("most_s"),
            merge: vector["event_merge"] == Json::Bool(true),
        },
        Some("rate-bytes") => Rule::RateBytes { depth: number("depth") },
        _ => Rule::Volume {
            unit: Unit::Bytes,
            rate: number("rate"),
            depth: number("depth"),
            level: number("depth"),
            credit: vector["credit"].as_array().map(|pair| {
                let of = |n: usize| pair[n].as_f64().expect("a number");
                (of(0), of(1))
            }),
        },
    };
    let mut policer = ReEcnPolicer::new(Params {
        rule,
        scope: if vector["rule"] == "volume" { Scope::User } else { Scope::Flow },
        sanction: match vector["action"].as_str() {
            Some("drop-while-empty") => Sanction::DropWhileEmpty,
            Some("block") => Sanction::Block(Duration(u64::MAX)),
            _ => Sanction::DropOne,
        },
        factor: number("factor"),
        k: K,
        rtt_from: RttFrom::Given,
        rtt: Duration::from_seconds(number("rtt_s")),
        together: true,
        legacy: false,
        idle: Duration::from_seconds(1e6),
    });
    let mut by_hand = Stepper::new(1);
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let size = u16::try_from(whole(event, "bytes")).expect("a size");
        let (ecn, re) = code(&event["ecn"], &event["re"]);
        let mut packet = Packet { ip: ip::DATAGRAM, ..Packet::new(0, size, size) }.with_ecn(ecn);
        packet.set_re(re);
        let now = Time(whole(event, "at_ns"));
        let pass =
            policer.meet(&mut packet, (0, 3), evenflow_stage::RoundTrip::default(), now, &mut by_hand.stream);
        let verdict = if pass == Pass::On { "pass" } else { "drop" };
        let policing = evenflow_stage::reecn_policer::Policing::ReEcn(Box::new(policer.clone()));
        let tokens = policing.observe("tokens", now).expect("there is a bucket");
        let expect = &event["expect"];
        let same =
            (tokens - expect["tokens"].as_f64().expect("a number")).abs() <= 1e-6 * tokens.abs().max(1.0);
        if expect["verdict"] != verdict || !same {
            return Err(format!("event {n}: {verdict}, {tokens} tokens, and not {expect}"));
        }
    }
    Ok(())
}

/// Runs one vector of a dropper and says the first thing that differs.
fn run_dropper(vector: &Json) -> Result<(), String> {
    use evenflow_stage::dropper::{Dropper, Params, Rule};
    let number = |name: &str| vector[name].as_f64().expect("a number");
    let mut dropper = Dropper::new(Params {
        rule: match vector["rule"].as_str() {
            Some("strict") => Rule::Strict,
            Some("negative-only") => Rule::NegativeOnly,
            _ => Rule::Paper { rho: vector["rho"].as_f64(), weight: number("weight") },
        },
        unit: Unit::Packets,
        allowance: number("allowance"),
        lag: Duration(whole(vector, "delay_ns")),
        class: None,
        together: false,
        idle: Duration(whole(vector, "idle_ns")),
    });
    let numbers: Vec<f64> =
        vector["draws"].as_array().expect("a list").iter().map(|n| n.as_f64().expect("a number")).collect();
    let total = numbers.len();
    let mut draws = Stream::scripted(numbers);
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let (ecn, re) = code(&event["ecn"], &event["re"]);
        let mut packet = Packet::new(0, 1000, 960).with_ecn(ecn);
        packet.set_re(re);
        let dropped = dropper.judge(&packet, whole(event, "flow"), Time(whole(event, "at_ns")), &mut draws);
        let used = (total - draws.left()) as u64;
        if event["expect"]["dropped"] != dropped || whole(&event["expect"], "draws") != used {
            return Err(format!("event {n}: {dropped}, {used} drawn, and not {}", event["expect"]));
        }
    }
    Ok(())
}

#[test]
fn every_vector_of_re_ecns_policers_is_met() {
    assert_met("reecn-policer", 12, run_reecn_policer);
}

/// Runs one vector of a meter and says the first thing that differs.
fn run_meter(vector: &Json) -> Result<(), String> {
    let (mut meter, mut by_hand) = (CongestionMeter::default(), Stepper::new(1));
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let (ecn, re) = code(&event["ecn"], &event["re"]);
        let size = u16::try_from(whole(event, "bytes")).expect("a size");
        let mut packet = Packet::new(0, size, size).with_ecn(ecn);
        packet.set_re(re);
        assert_eq!(meter.forward(&mut packet, &mut by_hand.cx(Time::ZERO)), Pass::On);
        for (name, expected) in event["expect"].as_object().expect("a table") {
            let is = meter.observe(name, Time::ZERO);
            let same = match (is, expected.as_f64()) {
                (Some(is), Some(expected)) => (is - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                (is, expected) => is == expected,
            };
            if !same {
                return Err(format!("event {n}: {name} is {is:?}, not {expected}"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_vector_of_meters_is_met() {
    assert_met("congestion-meter", 2, run_meter);
    for (path, vector) in vectors("congestion-meter") {
        let mut wrong = vector.clone();
        wrong["events"][80]["expect"]["worth"] = 1.into();
        assert!(run_meter(&wrong).is_err(), "{path}");
    }
}

#[test]
fn every_vector_of_droppers_is_met() {
    assert_met("dropper", 4, run_dropper);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_a_dropper_or_policer_is_noticed() {
    for (path, vector) in vectors("dropper") {
        let events = vector["events"].as_array().expect("a list");
        let at = events.iter().rposition(|event| event["expect"]["dropped"] == true).expect("one is dropped");
        let mut wrong = vector.clone();
        wrong["events"][at]["expect"]["dropped"] = false.into();
        assert!(run_dropper(&wrong).is_err(), "{path}");
    }
    for (path, vector) in vectors("reecn-policer") {
        let events = vector["events"].as_array().expect("a list");
        let at = events.iter().rposition(|event| event["expect"]["verdict"] == "drop");
        let at = at.unwrap_or_else(|| panic!("{path}: nothing is dropped"));
        for (key, other) in [("verdict", Json::from("pass")), ("tokens", 1e9.into())] {
            let mut wrong = vector.clone();
            wrong["events"][at]["expect"][key] = other;
            assert!(run_reecn_policer(&wrong).is_err(), "{path} {key}");
        }
    }
}

#[test]
fn every_vector_of_tunnels_is_met() {
    assert_met("tunnel", 7, run_tunnel);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_a_tunnel_is_noticed() {
    for (path, vector) in vectors("tunnel") {
        let events = vector["events"].as_array().expect("a list");
        for key in ["verdict", "bytes", "marks", "dangerous", "lost"] {
            let at =
                events.iter().rposition(|event| !event["expect"][key].is_null()).expect("one that has it");
            let mut wrong = vector.clone();
            wrong["events"][at]["expect"][key] = 99.into();
            assert!(run_tunnel(&wrong).is_err(), "{path} {key}");
        }
    }
}

#[test]
fn every_vector_of_reports_is_met() {
    assert_met("report", 5, run_reports);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_reports_is_noticed() {
    for (path, vector) in vectors("report") {
        let events = vector["events"].as_array().expect("a list");
        for key in ["ecn", "re", "lost", "marked", "list", "held_ns", "owed", "congestion_volume", "stale"] {
            let at =
                events.iter().rposition(|event| !event["expect"][key].is_null()).expect("one that has it");
            let mut wrong = vector.clone();
            wrong["events"][at]["expect"][key] = 99_999.into();
            assert!(run_reports(&wrong).is_err(), "{path} {key}");
        }
    }
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

#[test]
fn every_vector_of_congestion_policers_is_met() {
    assert_met("congestion-policer", 15, run_congestion_policer);
}

#[test]
fn every_vector_of_auditors_is_met() {
    assert_met("auditor", 20, run_auditor);
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_an_auditor_is_noticed() {
    for (path, vector) in vectors("auditor") {
        let events = vector["events"].as_array().expect("a list");
        let sanctioned = events.iter().rposition(|event| event["expect"]["verdict"] == "sanction");
        let sanctioned = sanctioned.unwrap_or_else(|| panic!("{path}: nobody is caught"));
        for (key, other) in [("verdict", Json::from("pass")), ("balance", 99.into()), ("draws", 999.into())] {
            let mut wrong = vector.clone();
            wrong["events"][sanctioned]["expect"][key] = other;
            assert!(run_auditor(&wrong).is_err(), "{path} {key}");
        }
    }
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_of_a_congestion_policer_is_noticed() {
    for (path, vector) in vectors("congestion-policer") {
        let events = vector["events"].as_array().expect("a list");
        let policed = events.iter().rposition(|event| event["expect"]["verdict"] != "pass").expect("one");
        for (key, other) in [("verdict", Json::from("pass")), ("tokens", 99.into()), ("draws", 999.into())] {
            let mut wrong = vector.clone();
            wrong["events"][policed]["expect"][key] = other;
            assert!(run_congestion_policer(&wrong).is_err(), "{path} {key}");
        }
    }
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
