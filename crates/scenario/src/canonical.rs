//! The canonical form of a scenario, the input of its hash.
//!
//! It is a scenario file itself, as JSON: quantities in SI units, defaults explicit, keys sorted, no title, no
//! `[sweep]`. Decoding it gives the same scenario and the same canonical form. Two files have the same hash exactly if
//! they mean the same.

use evenflow_base::schema::{Law, Value, Values};
use evenflow_base::{Duration, Rate, Time, dscp};
use evenflow_traffic::Leaving;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::model::{
    Arrivals, Component, Direction, Every, Group, Hop, InFlight, Jitter, Link, Loss, Lost, Per, Queue,
    RateSpec, Record, Scenario, Serve, Service, Spec, Stage, Tcp, Traffic,
};

/// The canonical JSON of a scenario.
pub(crate) fn json(scenario: &Scenario) -> String {
    let arrivals = || scenario.arrivals.iter().map(|a| (a.name.as_str(), arrivals(a))).collect::<Json>();
    text(json!({
        "duration": time(scenario.duration),
        "warmup": time(scenario.warmup),
        "links": scenario.links.iter().map(|l| (l.name.as_str(), link(l))).collect::<Json>(),
        "stages": scenario.stages.iter().map(|s| (s.name.as_str(), stage(s, scenario))).collect::<Json>(),
        "arrivals": (!scenario.arrivals.is_empty()).then(arrivals),
        "groups": scenario.groups.iter().map(|g| (g.name.as_str(), group(g, scenario))).collect::<Json>(),
        "record": record(&scenario.record, scenario),
    }))
}

/// The first 16 hexadecimal digits of the SHA-256 of a canonical form.
pub(crate) fn hash(canonical: &str) -> String {
    Sha256::digest(canonical.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Compact JSON with sorted keys, whatever order the map has. Keys without a value are left out.
fn text(json: Json) -> String {
    fn present(json: Json) -> Json {
        match json {
            Json::Object(table) => {
                let given = table.into_iter().filter(|(_, value)| !value.is_null());
                given.map(|(key, value)| (key, present(value))).collect()
            }
            Json::Array(list) => list.into_iter().map(present).collect(),
            scalar => scalar,
        }
    }
    let mut json = present(json);
    json.sort_all_objects();
    json.to_string()
}

fn seconds(x: f64) -> Json {
    format!("{x} s").into()
}

fn time(time: Duration) -> Json {
    seconds(time.seconds())
}

fn bits_per_second(x: f64) -> Json {
    format!("{x} bit/s").into()
}

fn bytes(x: f64) -> Json {
    format!("{x} B").into()
}

/// Whole numbers without a point, so that `1` and `1.0` are the same.
fn number(x: f64) -> Json {
    if x.fract() == 0.0 && x.abs() < 9_007_199_254_740_992.0 { json!(x as i64) } else { json!(x) }
}

pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Rate(x) => bits_per_second(*x),
        Value::Seconds(x) => seconds(*x),
        Value::Bytes(x) => bytes(*x),
        Value::Packets(x) => format!("{x} packets").into(),
        Value::PacketRate(x) => format!("{x} packets/s").into(),
        Value::Number(x) => number(*x),
        Value::Flag(flag) => json!(flag),
        Value::Word(word) => json!(word),
        Value::Names(names) => json!(names),
        Value::Rates(rates) => rates.iter().copied().map(bits_per_second).collect(),
        Value::ByteRows(rows) => {
            rows.iter().map(|row| row.iter().copied().map(bytes).collect::<Json>()).collect()
        }
        Value::Numbers(table) => table.iter().map(|(class, x)| (class.as_str(), number(*x))).collect(),
        Value::SecondsPerClass(table) => {
            table.iter().map(|(class, x)| (class.as_str(), seconds(*x))).collect()
        }
        Value::Table(table) => self::table(table),
        Value::Tables(tables) => tables.iter().map(|(name, t)| (name.as_str(), table(t))).collect(),
        Value::Random(law) => self::law(law),
    }
}

fn table(values: &Values) -> Json {
    values.0.iter().map(|(name, v)| (*name, value(v))).collect()
}

fn law(law: &Law) -> Json {
    match law {
        Law::Uniform(low, high) => json!({ "uniform": [value(low), value(high)] }),
        Law::Normal(mean, deviation) => json!({ "normal": [value(mean), value(deviation)] }),
        Law::Exponential(mean) => json!({ "exponential": value(mean) }),
        Law::Gamma(mean, shape) => json!({ "gamma": [value(mean), number(*shape)] }),
        Law::Pareto(mean, shape) => json!({ "pareto": [value(mean), number(*shape)] }),
        Law::Lognormal(mean, sigma) => json!({ "lognormal": [value(mean), number(*sigma)] }),
        Law::Dealt(values) => json!({ "values": values.iter().map(value).collect::<Json>() }),
    }
}

/// A mechanism as a table: its kind and its parameters.
fn spec(spec: &Spec) -> Json {
    let mut json = table(&spec.values);
    json["kind"] = spec.mechanism.kind.into();
    json
}

fn per(per: Per) -> Json {
    match per {
        Per::Shared => Json::Null,
        Per::User => "user".into(),
        Per::Flow => "flow".into(),
        Per::Group => "group".into(),
        Per::Users(n) => format!("{n} users").into(),
    }
}

fn link(link: &Link) -> Json {
    let mut json = direction(&link.forward);
    json["per"] = per(link.per);
    json["reverse"] = link.reverse.as_ref().map(direction).into();
    json["in_flight"] = Some(link.in_flight.word()).filter(|_| link.in_flight != InFlight::OldRate).into();
    json["jitter"] = link.jitter.as_ref().map(jitter).into();
    json["loss"] = link.loss.as_ref().map(loss).into();
    json
}

fn jitter(jitter: &Jitter) -> Json {
    json!({
        "normal": value(&jitter.deviation),
        "correlation": Some(jitter.correlation).filter(|correlation| *correlation > 0.0),
        "order": jitter.order.word(),
        "from": Some(jitter.from).filter(|from| *from > Duration::ZERO).map(time),
        "until": jitter.until.map(time),
        "direction": jitter.ways.word(),
    })
}

fn loss(loss: &Loss) -> Json {
    let (probability, burst, every) = match &loss.which {
        Lost::Random(probability) => (Some(value(probability)), None, None),
        Lost::Bursts(probability, burst) => (Some(value(probability)), Some(burst), None),
        Lost::Every(nth) => (None, None, Some(nth)),
    };
    json!({
        "probability": probability,
        "burst": burst,
        "every": every,
        "from": time(loss.from),
        "until": loss.until.map(time),
        "direction": loss.ways.word(),
        "retransmissions": loss.again.map(|(most, _)| most),
        "retransmission_delay": loss.again.map(|(_, delay)| time(delay)),
    })
}

fn direction(direction: &Direction) -> Json {
    let step =
        |(at, rate): &(Time, Rate)| json!([seconds(at.seconds()), bits_per_second(rate.bits_per_second())]);
    let rate = |rate: &RateSpec| match rate {
        RateSpec::Constant(rate) => value(rate),
        RateSpec::Steps(steps) => json!({ "steps": steps.iter().map(step).collect::<Json>() }),
        RateSpec::Opportunities(at, size) => {
            json!({ "opportunities": &**at, "bytes": bytes((*size).into()) })
        }
    };
    let serve = |Serve { every, wait }: Serve| json!({ "kind": Service::Grants.word(), "every": time(every), "wait": time(wait) });
    json!({
        "rate": direction.rate.as_ref().map(rate),
        "delay": value(&direction.delay),
        "serve": direction.serve.map(serve),
        "queue": direction.queue.as_ref().map(queue),
    })
}

fn queue(queue: &Queue) -> Json {
    let mut now = spec(&queue.rule);
    now["limit"] = queue.limit.as_ref().map(value).into();
    now["scheduler"] = match &queue.scheduler {
        None => json!({ "kind": evenflow_queue::fifo::TABLE.kind }),
        Some(scheduler) => spec(scheduler),
    };
    if queue.changes.is_empty() {
        return now;
    }
    let later = queue.changes.iter().map(|(at, queue)| (seconds(at.seconds()), self::queue(queue)));
    let mut all = stepped(std::iter::once((seconds(0.0), now)).chain(later).collect());
    all["change"] = json!(queue.change.word());
    all
}

/// Versions of a table by the instants from which they hold, as one: values that differ have steps.
fn stepped(versions: Vec<(Json, Json)>) -> Json {
    let Some((_, first)) = versions.first() else { return Json::Null };
    if let Json::Object(table) = first {
        let of = |key: &str| versions.iter().map(|(at, v)| (at.clone(), v[key].clone())).collect();
        return table.keys().map(|key| (key.as_str(), stepped(of(key)))).collect();
    }
    let mut steps = versions;
    steps.dedup_by(|later, before| later.1 == before.1);
    match steps.len() {
        1 => steps.remove(0).1,
        _ => json!({ "steps": steps.into_iter().map(|(at, value)| json!([at, value])).collect::<Json>() }),
    }
}

fn stage(stage: &Stage, scenario: &Scenario) -> Json {
    let mut json = spec(&stage.spec);
    json["per"] = per(stage.per);
    json["peer"] = stage.peer.map(|peer| scenario.stages[peer].name.as_str()).into();
    let controlled = |(link, way): (usize, usize)| signed(&scenario.links[link].name, way == 1);
    json["controls"] = stage.controls.map(controlled).into();
    json
}

/// A name, and whether it stands for the reverse direction.
fn signed(name: &str, reverse: bool) -> String {
    if reverse { format!("-{name}") } else { name.to_owned() }
}

fn arrivals(arrivals: &Arrivals) -> Json {
    let end = |(_, abort)| if abort { Leaving::Abort } else { Leaving::Close }.word();
    json!({
        "interval": value(&arrivals.interval),
        "start": time(arrivals.start),
        "until": arrivals.ending.map(|(until, _)| time(until)),
        "end": arrivals.ending.map(end),
    })
}

fn group(group: &Group, scenario: &Scenario) -> Json {
    let hop = |hop: &Hop| match hop.component {
        Component::Link(i) => signed(&scenario.links[i].name, hop.against),
        Component::Stage(i) => signed(&scenario.stages[i].name, hop.against),
    };
    json!({
        "users": group.users,
        "path": group.path.iter().map(hop).collect::<Json>(),
        "traffic": group.traffic.iter().map(|t| traffic(t, scenario)).collect::<Json>(),
        "processing": group.processing.as_ref().map(value),
        "weight": value(&group.weight),
    })
}

fn traffic(traffic: &Traffic, scenario: &Scenario) -> Json {
    let mut json = spec(&traffic.spec);
    json["class"] = scenario.classes[usize::from(traffic.class)].as_str().into();
    let name =
        |code| dscp::NAMES.iter().find(|(_, own)| *own == code).map_or(json!(code), |(name, _)| json!(name));
    json["dscp"] = traffic.dscp.map(name).into();
    json["tcp"] = traffic.tcp.as_ref().map(tcp).into();
    json
}

fn tcp(tcp: &Tcp) -> Json {
    let mut json: Json = tcp.profile.lines().into_iter().map(|(name, line)| (name, value(&line))).collect();
    json["congestion_control"] = spec(&tcp.congestion_control);
    json
}

fn record(record: &Record, scenario: &Scenario) -> Json {
    let series = record.series.iter().map(|series| {
        let every = match series.every {
            Every::Packet => "packet".into(),
            Every::Departure => "departure".into(),
            Every::Interval(every) => time(every),
        };
        json!({ "of": series.of, "every": every })
    });
    let mut histograms: Vec<String> = record.histograms.iter().map(|h| h.name(scenario)).collect();
    histograms.sort_unstable();
    let mut events: Vec<&str> = record.events.iter().map(|kind| kind.word()).collect();
    events.sort_unstable();
    let trace = || record.trace.iter().map(|traced| traced.of.as_str()).collect::<Json>();
    json!({
        "series": series.collect::<Json>(),
        "histograms": histograms,
        "events": events,
        "trace": (!record.trace.is_empty()).then(trace),
    })
}

#[cfg(test)]
mod tests {
    use evenflow_transport::Profile;
    use evenflow_transport::profile::{PacingRule, TCP};

    use super::*;

    #[test]
    fn every_line_of_a_tcp_table_is_in_the_canonical_form() {
        let conex = Some(evenflow_transport::exposure::Settings::honest(true));
        let (pacing_rule, gso) = (PacingRule::Linux, 65_536);
        let profile = Profile {
            conex,
            window_clamp: true,
            accurate_ecn_option: true,
            pacing: true,
            pacing_rule,
            gso,
            ..Profile::ns3_26()
        };
        let lines: Vec<&str> = profile.lines().iter().map(|(name, _)| *name).collect();
        for param in TCP.params {
            assert!(lines.contains(&param.name), "{} is missing", param.name);
        }
        assert_eq!(lines.len(), TCP.params.len());
    }

    #[test]
    fn whole_numbers_have_no_point() {
        assert_eq!(number(1.0).to_string(), "1");
        assert_eq!(number(0.25).to_string(), "0.25");
        assert_eq!(number(1e300).to_string(), "1e+300");
        assert_eq!(value(&Value::Seconds(0.005)), json!("0.005 s"));
        assert_eq!(value(&Value::Rate(1e7)), json!("10000000 bit/s"));
        assert_eq!(value(&Value::Packets(24.0)), json!("24 packets"));
        assert_eq!(value(&Value::Bytes(1500.0)), json!("1500 B"));
    }

    #[test]
    fn keys_are_sorted_and_nothing_is_padded() {
        let json = json!({ "b": [1, "x"], "a": { "d": null, "c": true } });
        assert_eq!(text(json), r#"{"a":{"c":true},"b":[1,"x"]}"#);
    }

    #[test]
    fn the_hash_is_the_beginning_of_sha256() {
        // SHA-256 of the empty text: FIPS 180-4 test vectors.
        assert_eq!(hash(""), "e3b0c44298fc1c14");
    }
}
