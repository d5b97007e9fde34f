//! The canonical form of a scenario, the input of its hash.
//!
//! It is a scenario file itself, as JSON: quantities in SI units, defaults explicit, keys sorted, no title, no
//! `[sweep]`. Decoding it gives the same scenario and the same canonical form. Two files have the same hash exactly if
//! they mean the same.

use evenflow_base::schema::{Law, Value, Values};
use evenflow_base::{Duration, dscp};
use evenflow_traffic::Leaving;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use crate::model::{
    Arrivals, Component, Direction, Every, Group, Hop, InFlight, Jitter, Link, Loss, Lost, Per, Queue,
    RateSpec, Record, Scenario, Serve, Service, Spec, Stage, Tcp, Traffic,
};

/// The canonical JSON of a scenario.
pub(crate) fn json(scenario: &Scenario) -> String {
    let named = |items: Vec<(&str, Json)>| {
        Json::Object(items.into_iter().map(|(name, json)| (name.to_owned(), json)).collect())
    };
    let mut tree = json!({
        "duration": seconds(scenario.duration.seconds()),
        "warmup": seconds(scenario.warmup.seconds()),
        "links": named(scenario.links.iter().map(|l| (l.name.as_str(), link(l))).collect()),
        "stages": named(scenario.stages.iter().map(|s| (s.name.as_str(), stage(s, scenario))).collect()),
        "groups": named(scenario.groups.iter().map(|g| (g.name.as_str(), group(g, scenario))).collect()),
        "record": record(&scenario.record, scenario),
    });
    if !scenario.arrivals.is_empty() {
        tree["arrivals"] = named(scenario.arrivals.iter().map(|a| (a.name.as_str(), arrivals(a))).collect());
    }
    let mut text = String::new();
    write(&tree, &mut text);
    text
}

/// The first 16 hexadecimal digits of the SHA-256 of a canonical form.
pub(crate) fn hash(canonical: &str) -> String {
    Sha256::digest(canonical.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Compact JSON with sorted keys, whatever order the map has.
fn write(json: &Json, out: &mut String) {
    match json {
        Json::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(table) => {
            let mut keys: Vec<&String> = table.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Json::String(key.clone()).to_string());
                out.push(':');
                write(&table[key], out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn seconds(x: f64) -> Json {
    Json::String(format!("{x} s"))
}

fn bits_per_second(x: f64) -> Json {
    Json::String(format!("{x} bit/s"))
}

/// Whole numbers without a point, so that `1` and `1.0` are the same.
fn number(x: f64) -> Json {
    if x.fract() == 0.0 && x.abs() < 9_007_199_254_740_992.0 { json!(x as i64) } else { json!(x) }
}

pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Rate(x) => bits_per_second(*x),
        Value::Seconds(x) => seconds(*x),
        Value::Bytes(x) => Json::String(format!("{x} B")),
        Value::Packets(x) => Json::String(format!("{x} packets")),
        Value::PacketRate(x) => Json::String(format!("{x} packets/s")),
        Value::Number(x) => number(*x),
        Value::Flag(flag) => json!(flag),
        Value::Word(word) => json!(word),
        Value::Names(names) => json!(names),
        Value::Rates(rates) => rates.iter().map(|rate| bits_per_second(*rate)).collect(),
        Value::ByteRows(rows) => {
            let row = |row: &Vec<f64>| row.iter().map(|x| Json::String(format!("{x} B"))).collect::<Json>();
            rows.iter().map(row).collect()
        }
        Value::Numbers(table) => {
            Json::Object(table.iter().map(|(class, x)| (class.clone(), number(*x))).collect())
        }
        Value::SecondsPerClass(table) => {
            Json::Object(table.iter().map(|(class, x)| (class.clone(), seconds(*x))).collect())
        }
        Value::Table(table) => self::table(table),
        Value::Tables(tables) => {
            Json::Object(tables.iter().map(|(name, t)| (name.clone(), table(t))).collect())
        }
        Value::Random(law) => self::law(law),
    }
}

fn table(values: &Values) -> Json {
    Json::Object(values.0.iter().map(|(name, v)| ((*name).to_owned(), value(v))).collect())
}

fn law(law: &Law) -> Json {
    match law {
        Law::Uniform(low, high) => json!({ "uniform": [value(low), value(high)] }),
        Law::Normal(mean, deviation) => json!({ "normal": [value(mean), value(deviation)] }),
        Law::Exponential(mean) => json!({ "exponential": value(mean) }),
        Law::Gamma(mean, shape) => json!({ "gamma": [value(mean), number(*shape)] }),
        Law::Pareto(mean, shape) => json!({ "pareto": [value(mean), number(*shape)] }),
        Law::Lognormal(mean, sigma) => json!({ "lognormal": [value(mean), number(*sigma)] }),
        Law::Dealt(values) => json!({ "values": values.iter().map(value).collect::<Vec<_>>() }),
    }
}

/// A mechanism as a table: its kind and its parameters.
fn spec(spec: &Spec) -> Map<String, Json> {
    let mut table = Map::new();
    table.insert("kind".into(), json!(spec.mechanism.kind));
    table.extend(spec.values.0.iter().map(|(name, v)| ((*name).to_owned(), value(v))));
    table
}

fn set_per(table: &mut Map<String, Json>, per: Per) {
    let word = match per {
        Per::Shared => return,
        Per::User => "user".into(),
        Per::Flow => "flow".into(),
        Per::Group => "group".into(),
        Per::Users(n) => format!("{n} users"),
    };
    table.insert("per".into(), Json::String(word));
}

fn link(link: &Link) -> Json {
    let mut table = direction(&link.forward);
    set_per(&mut table, link.per);
    if let Some(reverse) = &link.reverse {
        table.insert("reverse".into(), Json::Object(direction(reverse)));
    }
    if link.in_flight != InFlight::OldRate {
        table.insert("in_flight".into(), json!(link.in_flight.word()));
    }
    if let Some(jitter) = &link.jitter {
        table.insert("jitter".into(), self::jitter(jitter));
    }
    if let Some(loss) = &link.loss {
        table.insert("loss".into(), self::loss(loss));
    }
    Json::Object(table)
}

fn jitter(jitter: &Jitter) -> Json {
    let (order, direction) = (jitter.order.word(), jitter.ways.word());
    let mut json = json!({ "normal": value(&jitter.deviation), "order": order, "direction": direction });
    if jitter.correlation > 0.0 {
        json["correlation"] = json!(jitter.correlation);
    }
    if jitter.from > Duration::ZERO {
        json["from"] = seconds(jitter.from.seconds());
    }
    if let Some(until) = jitter.until {
        json["until"] = seconds(until.seconds());
    }
    json
}

fn loss(loss: &Loss) -> Json {
    let mut table = Map::new();
    match &loss.which {
        Lost::Random(probability) => table.insert("probability".into(), value(probability)),
        Lost::Bursts(probability, burst) => {
            table.insert("burst".into(), json!(burst));
            table.insert("probability".into(), value(probability))
        }
        Lost::Every(nth) => table.insert("every".into(), json!(nth)),
    };
    table.insert("from".into(), seconds(loss.from.seconds()));
    table.extend(loss.until.map(|until| ("until".into(), seconds(until.seconds()))));
    table.insert("direction".into(), json!(loss.ways.word()));
    if let Some((most, delay)) = loss.again {
        table.insert("retransmissions".into(), json!(most));
        table.insert("retransmission_delay".into(), seconds(delay.seconds()));
    }
    Json::Object(table)
}

fn direction(direction: &Direction) -> Map<String, Json> {
    let mut table = Map::new();
    table.insert("delay".into(), value(&direction.delay));
    match &direction.rate {
        None => {}
        Some(RateSpec::Constant(rate)) => {
            table.insert("rate".into(), value(rate));
        }
        Some(RateSpec::Steps(steps)) => {
            let steps: Vec<Json> = steps
                .iter()
                .map(|(at, rate)| json!([seconds(at.seconds()), bits_per_second(rate.bits_per_second())]))
                .collect();
            table.insert("rate".into(), json!({ "steps": steps }));
        }
        Some(RateSpec::Opportunities(at, bytes)) => {
            table.insert("rate".into(), json!({ "opportunities": &**at, "bytes": format!("{bytes} B") }));
        }
    }
    if let Some(Serve { every, wait }) = direction.serve {
        let (every, wait) = (seconds(every.seconds()), seconds(wait.seconds()));
        table.insert("serve".into(), json!({ "kind": Service::Grants.word(), "every": every, "wait": wait }));
    }
    if let Some(queue) = &direction.queue {
        table.insert("queue".into(), self::queue(queue));
    }
    table
}

fn queue(queue: &Queue) -> Json {
    let mut table = spec(&queue.rule);
    if let Some(limit) = &queue.limit {
        table.insert("limit".into(), value(limit));
    }
    let scheduler = match &queue.scheduler {
        None => json!({ "kind": evenflow_queue::fifo::TABLE.kind }),
        Some(scheduler) => Json::Object(spec(scheduler)),
    };
    table.insert("scheduler".into(), scheduler);
    let now = Json::Object(table);
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
        let of = |key: &String| versions.iter().map(|(at, v)| (at.clone(), v[key].clone())).collect();
        return Json::Object(table.keys().map(|key| (key.clone(), stepped(of(key)))).collect());
    }
    let mut steps = versions;
    steps.dedup_by(|later, before| later.1 == before.1);
    match steps.len() {
        1 => steps.remove(0).1,
        _ => json!({ "steps": steps.into_iter().map(|(at, value)| json!([at, value])).collect::<Vec<_>>() }),
    }
}

fn stage(stage: &Stage, scenario: &Scenario) -> Json {
    let mut table = spec(&stage.spec);
    set_per(&mut table, stage.per);
    if let Some(peer) = stage.peer {
        table.insert("peer".into(), json!(scenario.stages[peer].name));
    }
    if let Some((link, way)) = stage.controls {
        let sign = if way == 1 { "-" } else { "" };
        table.insert("controls".into(), json!(format!("{sign}{}", scenario.links[link].name)));
    }
    Json::Object(table)
}

fn arrivals(arrivals: &Arrivals) -> Json {
    let mut table = Map::new();
    table.insert("interval".into(), value(&arrivals.interval));
    table.insert("start".into(), seconds(arrivals.start.seconds()));
    if let Some((until, abort)) = arrivals.ending {
        table.insert("until".into(), seconds(until.seconds()));
        table.insert("end".into(), json!(if abort { Leaving::Abort } else { Leaving::Close }.word()));
    }
    Json::Object(table)
}

fn group(group: &Group, scenario: &Scenario) -> Json {
    let hop = |hop: &Hop| {
        let name = match hop.component {
            Component::Link(i) => &scenario.links[i].name,
            Component::Stage(i) => &scenario.stages[i].name,
        };
        if hop.against { format!("-{name}") } else { name.clone() }
    };
    let mut table = Map::new();
    table.insert("users".into(), json!(group.users));
    table.insert("path".into(), json!(group.path.iter().map(hop).collect::<Vec<_>>()));
    table.insert("traffic".into(), group.traffic.iter().map(|t| traffic(t, scenario)).collect());
    if let Some(processing) = &group.processing {
        table.insert("processing".into(), value(processing));
    }
    table.insert("weight".into(), value(&group.weight));
    Json::Object(table)
}

fn traffic(traffic: &Traffic, scenario: &Scenario) -> Json {
    let mut table = spec(&traffic.spec);
    table.insert("class".into(), json!(scenario.classes[usize::from(traffic.class)]));
    if let Some(code) = traffic.dscp {
        let name = dscp::NAMES.iter().find(|(_, own)| *own == code);
        table.insert("dscp".into(), name.map_or(json!(code), |(name, _)| json!(name)));
    }
    if let Some(tcp) = &traffic.tcp {
        table.insert("tcp".into(), self::tcp(tcp));
    }
    Json::Object(table)
}

fn tcp(tcp: &Tcp) -> Json {
    let lines = tcp.profile.lines();
    let mut table: Map<String, Json> =
        lines.into_iter().map(|(name, line)| (name.to_owned(), value(&line))).collect();
    table.insert("congestion_control".into(), Json::Object(spec(&tcp.congestion_control)));
    Json::Object(table)
}

fn record(record: &Record, scenario: &Scenario) -> Json {
    let series = record.series.iter().map(|series| {
        let every = match series.every {
            Every::Packet => json!("packet"),
            Every::Departure => json!("departure"),
            Every::Interval(every) => seconds(every.seconds()),
        };
        json!({ "of": series.of, "every": every })
    });
    let mut histograms: Vec<String> = record.histograms.iter().map(|h| h.name(scenario)).collect();
    histograms.sort_unstable();
    let mut events: Vec<&str> = record.events.iter().map(|kind| kind.word()).collect();
    events.sort_unstable();
    let mut out = json!({ "series": series.collect::<Vec<_>>(), "histograms": histograms, "events": events });
    if !record.trace.is_empty() {
        out["trace"] = record.trace.iter().map(|traced| traced.of.as_str()).collect();
    }
    out
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
        let profile =
            Profile { conex, accurate_ecn_option: true, pacing: true, pacing_rule, gso, ..Profile::ns3_26() };
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
        let mut text = String::new();
        write(&json!({ "b": [1, "x"], "a": { "d": null, "c": true } }), &mut text);
        assert_eq!(text, r#"{"a":{"c":true,"d":null},"b":[1,"x"]}"#);
    }

    #[test]
    fn the_hash_is_the_beginning_of_sha256() {
        // SHA-256 of the empty text: FIPS 180-4 test vectors.
        assert_eq!(hash(""), "e3b0c44298fc1c14");
    }
}
