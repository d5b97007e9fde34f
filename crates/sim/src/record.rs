//! The record of a run: counters as JSON (docs/metrics.md), series as columns, and the hash that must agree everywhere.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use evenflow_base::schema::{Observable, Way};
use evenflow_base::{Duration, End, Reason, Time};
use evenflow_link::counters::Delays as QueueDelays;
use evenflow_link::{Queue, Scheduled};
use evenflow_queue::held::{NodeCounts, Note, is_counter};
use evenflow_queue::htb;
use evenflow_scenario::metrics;
use evenflow_scenario::model::{
    EventKind, Group, Histogram, Per, Queue as QueueSpec, RateSpec, Scenario, Spec, Stage,
};
use evenflow_transport::exposure::{Owed, Settings, Unit, Volume};
use evenflow_transport::sender::Life;

use crate::column::Column;
use crate::conex::Sums as Exposed;
use crate::engine::Engine;
use crate::measure::{Bins, Durations, FlowCounters, WindowMeter};
use crate::network::{Endpoint, StageSlot};
use crate::port::Port;
use crate::probe::Happening;
use crate::quality;
use crate::senders::{SenderSums, Served};
use crate::slots::flows_per_user;
use crate::trace::STAGES;
use crate::transfers::{Sums, Times, Transfers};
use crate::viewing::Viewed;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The record without series data and without provenance.
    pub record: Map<String, Value>,
    /// See [`hash`].
    pub record_hash: String,
    /// Series and lists of events.
    pub columns: Vec<Column>,
    /// Share of link crossings without an event; provenance.
    pub folded: f64,
}

/// Builds the record of a finished run; `None` where that was stopped.
pub fn record(engine: &Engine, scenario: &Scenario, seed: u64) -> Option<Outcome> {
    let seconds = engine.net.window.to.since(engine.net.window.from).seconds();
    let mut out = Map::new();
    out.insert("scenario_hash".into(), scenario.hash.clone().into());
    out.insert("seed".into(), seed.into());
    out.insert("window_s".into(), json!([engine.net.window.from.seconds(), engine.net.window.to.seconds()]));
    out.insert("events".into(), engine.events.into());
    out.insert("packet_hops".into(), engine.packet_hops().into());
    out.insert("groups".into(), groups(engine, scenario, seconds));
    out.insert("links".into(), links(engine, scenario, seconds));
    out.insert("stages".into(), stages(engine, scenario));
    out.insert("histograms".into(), histograms(engine, scenario));
    let reasons: Vec<&str> = Reason::ALL.iter().map(|r| r.name()).collect();
    out.insert("event_reasons".into(), json!(reasons));
    out.insert("record_version".into(), metrics::VERSION.into());
    let columns = columns(engine, scenario);
    if engine.is_stopped() {
        return None;
    }
    let record_hash = hash(&out, &columns, metrics::VERSION);
    Some(Outcome { record: out, record_hash, columns, folded: engine.folded() })
}

/// The record hash: SHA-256 over the measurements, 16 hexadecimal digits.
///
/// It excludes the scenario (`scenario_hash`), provenance (`engine`, `wall_s`, `cpu_s`), and `events`, which
/// depends on shortcuts. Of `event_reasons` it covers only names in use, so that a new reason changes no
/// other record.
///
/// `version` limits it to fields of that version of the record ([`metrics::VERSION`] is the latest). A record
/// of a later engine can then be compared with the hash of an earlier one.
pub fn hash(record: &Map<String, Value>, columns: &[Column], version: u32) -> String {
    let mut covered = record.clone();
    for provenance in
        ["scenario_hash", "record_hash", "record_version", "engine", "folded", "wall_s", "cpu_s", "events"]
    {
        covered.remove(provenance);
    }
    let names = covered.remove("event_reasons");
    let mut covered = Value::Object(covered);
    for path in later_fields(version) {
        forget(&mut covered, &path);
    }
    if version < 2 {
        forget_classes_that_left_nothing(&mut covered);
    }
    let mut sha = Sha256::new();
    sha.update(serde_json::to_vec(&covered).unwrap_or_default());
    for column in columns {
        sha.update(column.name.as_bytes());
        for x in column.times.iter().chain(&column.values) {
            sha.update(x.to_bits().to_le_bytes());
        }
    }
    let lists = |c: &&Column| c.name.starts_with("events.") || c.name.starts_with("trace.");
    let coded = columns.iter().filter(|c| lists(c) && c.name.ends_with(".reason"));
    let values = coded.flat_map(|c| &c.values).filter(|code| !code.is_nan());
    let codes: BTreeSet<usize> = values.map(|code| *code as usize).collect();
    for code in codes {
        let name = names.as_ref().and_then(|names| names.get(code)).and_then(Value::as_str);
        sha.update(format!("{code}={}", name.unwrap_or_default()));
    }
    sha.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// The paths of what records have had only after this version: a table of which no field is older goes as a whole.
fn later_fields(version: u32) -> Vec<Vec<&'static str>> {
    let older = || metrics::METRICS.iter().filter(|metric| metric.since <= version);
    let mut paths = Vec::new();
    for metric in metrics::METRICS.iter().filter(|metric| metric.since > version) {
        let mut path: Vec<&str> = metric.name.split('.').collect();
        let kept =
            |path: &[&str]| older().any(|m| m.name.split('.').take(path.len()).eq(path.iter().copied()));
        while path.len() > 1 && !kept(&path[..path.len() - 1]) {
            path.pop();
        }
        if let ["links", "L", field, ..] = path[..]
            && field != "reverse"
        {
            let mut reverse = path.clone();
            reverse.insert(2, "reverse");
            paths.push(reverse);
        }
        paths.push(path);
    }
    paths
}

/// Version 1 listed those traffic classes of a link of which something was sent in the window.
fn forget_classes_that_left_nothing(record: &mut Value) {
    let Some(links) = record.get_mut("links").and_then(Value::as_object_mut) else { return };
    let sent = |class: &Value| {
        class["delivered_packets"].as_u64() != Some(0) || !class["queue_delay_s_mean"].is_null()
    };
    for link in links.values_mut() {
        let keep = |way: &mut Value| {
            if let Some(classes) = way.get_mut("classes").and_then(Value::as_object_mut) {
                classes.retain(|_, class| sent(class));
            }
        };
        link.get_mut("reverse").map(keep);
        keep(link);
    }
}

/// Removes the fields at a metric's path; a part in capitals stands for every name.
fn forget(tree: &mut Value, path: &[&str]) {
    let (Some((first, rest)), Some(map)) = (path.split_first(), tree.as_object_mut()) else { return };
    let any = first.chars().all(|c| c.is_ascii_uppercase());
    if rest.is_empty() && !any {
        map.remove(*first);
    } else if rest.is_empty() {
        map.clear();
    } else if any {
        map.values_mut().for_each(|below| forget(below, rest));
    } else if let Some(below) = map.get_mut(*first) {
        forget(below, rest);
    }
}

/// A number, or null where it is undefined.
fn number(x: Option<f64>) -> Value {
    x.filter(|x| x.is_finite()).map_or(Value::Null, |x| json!(x))
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for x in values.flatten() {
        sum += x;
        n += 1.0;
    }
    ratio(sum, n)
}

/// Percentiles of delays, by their names.
const SHARES: [(&str, f64); 4] = [("p5", 0.05), ("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// Seconds, rounded down to nanoseconds: what a simulated delay can be.
fn whole(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|s| (s * 1e9).floor() / 1e9)
}

/// Mean, percentiles and maximum.
fn durations(out: &mut Map<String, Value>, name: &str, of: &Durations) {
    out.insert(format!("{name}_s_mean"), number(of.mean()));
    for (what, q) in SHARES {
        out.insert(format!("{name}_s_{what}"), number(whole(of.quantile(q))));
    }
    out.insert(format!("{name}_s_max"), number(of.longest()));
}

/// A histogram of durations: its bins that are not empty. The counts are by histogram, if `each`.
fn bins(of: Bins, each: bool) -> Value {
    let counts = match (of.counts.as_slice(), each) {
        ([one], false) => json!(one),
        _ => json!(of.counts),
    };
    json!({ "low_s": of.low, "high_s": of.high, "count": counts })
}

fn groups(engine: &Engine, scenario: &Scenario, seconds: f64) -> Value {
    let mut out = Map::new();
    let senders = engine.net.senders(engine.net.window.to, false);
    let mut exposed =
        engine.net.exposed().into_iter().enumerate().map(|(host, sums)| match &engine.net.conex {
            Some(conex) => sums.since(&conex.before[host]),
            None => sums,
        });
    let videos = videos(engine, scenario);
    let asked = |histogram| scenario.record.histograms.contains(&histogram);
    let mut flow = 0;
    for (g, group) in scenario.groups.iter().enumerate() {
        let users = group.users as usize;
        let per_user = flows_per_user(group);
        let mut total = FlowCounters::default();
        let mut goodputs = Vec::with_capacity(users);
        let mut throughputs = Vec::with_capacity(users);
        let mut flow_rates = Vec::with_capacity(users * per_user);
        let mut meters = Vec::new();
        let mut dead = 0u64;
        for _ in 0..users {
            let (mut good, mut through) = (0.0, 0.0);
            for _ in 0..per_user {
                if engine.is_stopped() {
                    return Value::Null; // the run was stopped
                }
                let c = &engine.net.counters[flow];
                total.throughput_bytes += c.throughput_bytes;
                total.delivered += c.delivered;
                total.marks += c.marks;
                total.losses += c.losses;
                total.sent += c.sent;
                total.retransmits += c.retransmits;
                let rate = c.throughput_bytes as f64 * 8.0 / seconds;
                through += rate;
                let info = &engine.net.flows[flow];
                let profile = |index: u32| engine.net.profiles.get(index as usize);
                let mss = |index: u32| profile(index).map_or(1.0, |p| p.mss as f64);
                good += match info.endpoint {
                    Endpoint::Model(_) => c.received_by_others,
                    _ => engine.net.received(flow as u32) - c.received_before,
                } as f64
                    * 8.0
                    / seconds;
                match info.endpoint {
                    Endpoint::Model(index) => {
                        let hosted = &engine.net.applications[index as usize];
                        dead += hosted.sums.dead;
                        meters.push((WindowMeter::of(hosted.sums.meter), mss(hosted.profile)));
                    }
                    Endpoint::Tcp(index) => {
                        let tcp = &engine.net.connections[index as usize];
                        dead += u64::from(tcp.connection.sender.life() == Life::Dead);
                        meters.push((tcp.ends[End::Client.index()].meter, mss(tcp.profile)));
                        flow_rates.push(rate);
                    }
                    Endpoint::Source(_) | Endpoint::Application => flow_rates.push(rate),
                }
                flow += 1;
            }
            goodputs.push(good);
            throughputs.push(through);
        }
        let open = |f: fn(&WindowMeter, f64) -> f64| {
            mean(meters.iter().map(|(m, mss)| ratio(f(m, *mss), m.open as f64)))
        };
        let n = users as f64;
        let mut entry = json!({
                "users": users,
                "goodput_bps": goodputs.iter().sum::<f64>() / n,
                "throughput_bps": throughputs.iter().sum::<f64>() / n,
                "users_goodput_bps": goodputs,
                "users_throughput_bps": throughputs,
                "flows_throughput_bps": flow_rates,
                "sent_packets": total.sent,
                "delivered_packets": total.delivered,
                "retransmits": total.retransmits,
                "losses": total.losses,
                "marks": total.marks,
                "loss_ratio": number(ratio(total.losses as f64, total.sent as f64)),
                "window_packets_mean": number(open(|m, mss| m.bytes_time / mss)),
                "window_at_floor": number(open(|m, _| m.at_floor as f64)),
                "flows_dead": dead,
        });
        let delays = &engine.net.delays[g];
        if let Some(entry) = entry.as_object_mut() {
            durations(entry, "delay", &delays.one_way);
            for (what, q) in SHARES[1..].iter().filter(|_| !delays.users().is_empty()) {
                let list = delays.users().iter().map(|user| number(whole(user.quantile(*q)))).collect();
                entry.insert(format!("users_delay_s_{what}"), Value::Array(list));
            }
            if asked(Histogram::Delay(g)) {
                let lost = ratio(total.losses as f64, total.sent as f64);
                let throughput = throughputs.iter().sum::<f64>() / n;
                let score = quality::outcome(&delays.one_way, lost, throughput);
                entry.insert("quality_of_outcome".into(), number(score));
            }
        }
        if let Some(entry) = entry.as_object_mut()
            && group.traffic.iter().any(|traffic| traffic.tcp.is_some())
        {
            let counted = senders[g].since(&engine.net.senders_before[g]);
            entry.insert("senders".into(), self::senders(&counted));
            durations(entry, "rtt", &delays.rtt);
            if asked(Histogram::Rtt(g)) {
                let trips = quality::responsiveness(&delays.rtt);
                entry.insert("responsiveness_rpm".into(), number(trips));
            }
        }
        let exposed: Vec<Exposed> = exposed.by_ref().take(users).collect();
        if let Some(settings) = conex(group)
            && let Some(entry) = entry.as_object_mut()
        {
            entry.insert("conex".into(), self::exposed(&exposed, settings.unit));
        }
        if let (Some(transfers), Some(entry)) = (&engine.net.transfers[g], entry.as_object_mut()) {
            entry.insert("transfers".into(), self::transfers(transfers, engine));
        }
        if let (Some(video), Some(entry)) = (&videos[g], entry.as_object_mut()) {
            entry.insert("video".into(), self::video(video));
        }
        out.insert(group.name.clone(), entry);
    }
    Value::Object(out)
}

/// Views of each group's users with video in the window, and whether the video is adaptive.
fn videos(engine: &Engine, scenario: &Scenario) -> Vec<Option<(bool, Vec<Viewer>)>> {
    let mut groups: Vec<Option<(bool, Vec<Viewer>)>> = vec![None; scenario.groups.len()];
    let served = engine.net.served(false);
    let window = &engine.net.window;
    for (number, hosted) in engine.net.applications.iter().enumerate() {
        let Some(playback) = hosted.app.playback() else { continue };
        let group = hosted.group as usize;
        let users = scenario.groups[group].users as usize;
        let (adaptive, viewers) =
            groups[group].get_or_insert_with(|| (false, vec![Viewer::default(); users]));
        *adaptive |= hosted.adapts;
        let viewer = &mut viewers[hosted.user as usize];
        viewer.0.add(&playback.moments(window.to), window);
        if hosted.adapts {
            let before = engine.net.served_before.get(number).copied().unwrap_or_default();
            viewer.1.join(&served[number].since(&before));
        }
    }
    groups
}

/// A viewer's measurements, and the counters of its video servers.
type Viewer = (Viewed, Served);

/// The measurements of a group's viewers.
fn video((adaptive, viewers): &(bool, Vec<Viewer>)) -> Value {
    let users: Vec<&Viewed> = viewers.iter().map(|(seen, _)| seen).collect();
    let sum = |of: fn(&Viewed) -> u64| users.iter().map(|u| of(u)).sum::<u64>();
    let list = |of: fn(&Viewed) -> u64| json!(users.iter().map(|u| of(u)).collect::<Vec<u64>>());
    let time = |of: fn(&Viewed) -> Duration| json!(users.iter().map(|u| of(u).seconds()).sum::<f64>());
    let times =
        |of: fn(&Viewed) -> Duration| json!(users.iter().map(|u| of(u).seconds()).collect::<Vec<f64>>());
    let maybe = |of: fn(&Viewed) -> Option<f64>| Value::Array(users.iter().map(|u| number(of(u))).collect());
    let all =
        |of: fn(&Viewed) -> &[Duration]| users.iter().flat_map(move |u| of(u).iter().map(|d| d.seconds()));
    let longest = |values: &mut dyn Iterator<Item = f64>| number(values.reduce(f64::max));
    let bitrate = |u: &Viewed| ratio(u.bitrates, u.parts as f64);
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("asked", sum(|u| u.asked).into());
    put("started", sum(|u| u.started).into());
    put("finished", sum(|u| u.finished).into());
    put("left", sum(|u| u.left).into());
    put("startup_s_mean", number(mean(all(|u| &u.startups).map(Some))));
    put("startup_s_max", longest(&mut all(|u| &u.startups)));
    put("stalls", sum(|u| u.stalls.len() as u64).into());
    put("stall_s_mean", number(mean(all(|u| &u.stalls).map(Some))));
    put("stall_s_max", longest(&mut all(|u| &u.stalls)));
    put("played_s", time(|u| u.played));
    put("stalled_s", time(|u| u.stalled));
    put("waited_s", time(|u| u.waited));
    let bitrates = users.iter().map(|u| u.bitrates).sum::<f64>();
    put("bitrate_bps", number(ratio(bitrates, sum(|u| u.parts) as f64)));
    put("users_asked", list(|u| u.asked));
    put("users_started", list(|u| u.started));
    put("users_finished", list(|u| u.finished));
    put("users_finished_s", maybe(|u| u.finished_at.map(Time::seconds)));
    put("users_left", list(|u| u.left));
    put("users_startup_s", maybe(|u| mean(u.startups.iter().map(|d| Some(d.seconds())))));
    put("users_stalls", list(|u| u.stalls.len() as u64));
    put("users_stall_s", times(Viewed::stall_time));
    put("users_played_s", times(|u| u.played));
    put("users_stalled_s", times(|u| u.stalled));
    put("users_waited_s", times(|u| u.waited));
    put("users_bitrate_bps", Value::Array(users.iter().map(|u| number(bitrate(u))).collect()));
    if *adaptive {
        type Levels = Vec<(Time, u32)>;
        let levels = |of: fn(&Viewed) -> &Levels| -> Value {
            let list = |list: &Levels| {
                list.iter().map(|(at, level)| json!([at.seconds(), level])).collect::<Value>()
            };
            users.iter().map(|u| list(of(u))).collect()
        };
        let served = |of: fn(&Served) -> u64| json!(viewers.iter().map(|(_, s)| of(s)).collect::<Vec<u64>>());
        put("chunks", sum(|u| u.parts).into());
        put("switches", sum(|u| u.switches).into());
        put("users_chunks", list(|u| u.parts));
        put("users_switches", list(|u| u.switches));
        put("users_switched_bps", json!(users.iter().map(|u| u.switched).collect::<Vec<f64>>()));
        put("users_levels", levels(|u| &u.levels));
        put("users_levels_received", levels(|u| &u.received));
        put("users_levels_shown", levels(|u| &u.shown));
        put("chunks_received", sum(|u| u.parts_received).into());
        put("users_chunks_received", list(|u| u.parts_received));
        put("users_asked_s", maybe(|u| u.asked_at.map(Time::seconds)));
        put("users_threshold_falls", served(|s| s.threshold_falls));
        put("users_probed_threshold_falls", served(|s| s.probed_falls));
        put("users_idle_periods", served(|s| s.idle_periods));
        put("users_restarts", served(|s| s.restarts));
        put("users_timeouts", served(|s| s.timeouts));
    }
    Value::Object(out)
}

/// The counters of a group's senders in the window.
fn senders(of: &SenderSums) -> Value {
    let [congestion, receive, application] = of.limited.map(|ns| ns as f64 / 1e9);
    let [loss, mark, timeout] = of.reductions;
    json!({
        "reductions": { "loss": loss, "mark": mark, "timeout": timeout },
        "threshold_falls": of.threshold_falls,
        "restarts": of.restarts,
        "timeouts": of.timeouts,
        "limited_s": { "congestion": congestion, "receive": receive, "application": application },
    })
}

/// The settings of a group's first ConEx sender; all have the same unit.
fn conex(group: &Group) -> Option<&Settings> {
    group.traffic.iter().find_map(|traffic| traffic.tcp.as_ref()?.profile.conex.as_ref())
}

/// Totals of a group's ConEx senders in the window, and their state at its end.
fn exposed(users: &[Exposed], unit: Unit) -> Value {
    let mut sum = Exposed::default();
    users.iter().for_each(|user| sum.join(user));
    let volume = |of: Volume| json!({ "packets": of.packets, "bytes": of.bytes });
    let owed = |of: Owed| json!({ "loss": of.loss, "mark": of.ecn });
    let list = |of: fn(&Exposed) -> u64| users.iter().map(of).collect::<Vec<u64>>();
    let t = sum.tally;
    json!({
        "unit": unit.word(),
        "reports": { "loss": volume(t.loss), "mark": volume(t.ecn), "credit": volume(t.credit) },
        "told": { "loss": volume(t.lost), "mark": volume(t.marked), "needless": volume(t.needless) },
        "congestion": volume(sum.congestion()),
        "owed": owed(sum.owed.owed()),
        "dropped": owed(sum.dropped.owed()),
        "users_report_packets": list(|user| user.reports().packets),
        "users_report_bytes": list(|user| user.reports().bytes),
        "users_congestion_packets": list(|user| user.congestion().packets),
        "users_congestion_bytes": list(|user| user.congestion().bytes),
    })
}

/// A group's transfers in the window.
fn transfers(of: &Transfers, engine: &Engine) -> Value {
    let sum = |field: fn(&Sums) -> u64| of.users.iter().map(field).sum::<u64>();
    let list = |field: fn(&Sums) -> u64| of.users.iter().map(field).collect::<Vec<u64>>();
    let window = engine.net.window;
    let mut out = Map::new();
    out.insert("started".into(), sum(|u| u.started).into());
    out.insert("completed".into(), sum(|u| u.completed).into());
    out.insert("abandoned".into(), sum(|u| u.abandoned).into());
    out.insert("failed".into(), sum(|u| u.failed).into());
    out.insert("in_progress_mean".into(), number(of.in_progress(window.to.since(window.from))));
    out.insert("bytes".into(), sum(|u| u.bytes).into());
    for (name, times) in [("first_byte", &of.first_byte), ("completion", &of.completion)] {
        let values = [
            ("mean", times.moments.mean()),
            ("sd", times.moments.deviation()),
            ("p50", times.quantile(0.5)),
            ("p95", times.quantile(0.95)),
            ("p99", times.quantile(0.99)),
            ("max", times.longest()),
        ];
        out.extend(values.map(|(what, value)| (format!("{name}_s_{what}"), number(value))));
    }
    out.insert("users_started".into(), list(|u| u.started).into());
    out.insert("users_completed".into(), list(|u| u.completed).into());
    out.insert("users_abandoned".into(), list(|u| u.abandoned).into());
    out.insert("users_failed".into(), list(|u| u.failed).into());
    out.insert("users_bytes".into(), list(|u| u.bytes).into());
    let times: Vec<f64> = of.users.iter().map(|u| u.completion as f64 / 1e9).collect();
    out.insert("users_completion_s".into(), times.into());
    Value::Object(out)
}

fn links(engine: &Engine, scenario: &Scenario, seconds: f64) -> Value {
    let mut by_side: Vec<Vec<&Port>> = vec![Vec::new(); 2 * scenario.links.len()];
    for port in &engine.net.ports {
        by_side[port.side as usize].push(port);
    }
    let mut out = Map::new();
    for (i, link) in scenario.links.iter().enumerate() {
        let rated = |d: &Option<RateSpec>| d.is_some();
        let back = link.reverse.as_ref().unwrap_or(&link.forward);
        let mut forward =
            direction(engine, scenario, &by_side[2 * i], 2 * i, rated(&link.forward.rate), seconds);
        let mut reverse =
            direction(engine, scenario, &by_side[2 * i + 1], 2 * i + 1, rated(&back.rate), seconds);
        let queues = [Some(&link.forward), link.reverse.as_ref()].map(|d| d.and_then(|d| d.queue.as_ref()));
        for (way, out) in [&mut forward, &mut reverse].into_iter().enumerate() {
            if let Some(counted) = queues[way].and_then(|q| scheduled(engine, &by_side[2 * i + way], q)) {
                out.insert("queue".into(), Value::Object(counted));
            }
        }
        forward.insert("reverse".into(), Value::Object(reverse));
        out.insert(link.name.clone(), Value::Object(forward));
    }
    Value::Object(out)
}

fn direction(
    engine: &Engine,
    scenario: &Scenario,
    ports: &[&Port],
    side: usize,
    rated: bool,
    seconds: f64,
) -> Map<String, Value> {
    let c = &engine.net.sides[side];
    let ns = seconds * 1e9;
    let over = |f: &dyn Fn(&Port) -> Option<f64>| mean(ports.iter().map(|p| f(p)));
    let asks = |class| scenario.record.histograms.contains(&Histogram::ClassQueueDelay(side / 2, class));
    let classes: Map<String, Value> = scenario
        .classes
        .iter()
        .zip(&c.by_class)
        .enumerate()
        .filter(|(_, (_, class))| class.waits.count + class.delivered() + class.arrived() > 0)
        .map(|(number_of_class, (name, class))| {
            let mut entry = json!({
                "queue_delay_s_mean": number(class.waits.mean()),
                "queue_delay_s_sd": number(class.waits.deviation()),
                "arrived_packets": class.arrived(),
                "delivered_packets": class.delivered(),
                "drops": reasons(&class.drops),
                "marks": reasons(&class.marks),
            });
            let delays = c.class_delays.get(number_of_class).filter(|_| asks(number_of_class));
            if let (Some(delays), Some(entry)) = (delays, entry.as_object_mut()) {
                queue_delays(entry, delays);
            }
            (name.clone(), entry)
        })
        .collect();
    let mut out = Map::new();
    out.insert("copies".into(), ports.len().into());
    let utilisation = if rated { over(&|p| Some(p.link.wire.counters.busy as f64 / ns)) } else { None };
    out.insert("utilisation".into(), number(utilisation));
    out.insert(
        "queue_packets_mean".into(),
        number(over(&|p| Some(p.link.wire.counters.queue_time() as f64 / ns))),
    );
    out.insert("queue_delay_s_mean".into(), number(over(&|p| p.link.wire.counters.waits.mean())));
    out.insert("queue_delay_s_sd".into(), number(over(&|p| p.link.wire.counters.waits.deviation())));
    queue_delays(&mut out, &c.delays);
    out.insert("arrived_packets".into(), c.arrived().into());
    out.insert("delivered_packets".into(), c.delivered().into());
    out.insert("drops".into(), reasons(&c.drops()));
    out.insert("marks".into(), reasons(&c.marks()));
    out.insert("classes".into(), Value::Object(classes));
    out
}

/// Percentiles and maximum of queueing delays.
fn queue_delays(out: &mut Map<String, Value>, of: &QueueDelays) {
    for (what, q) in SHARES {
        let exact = of.quantile(q);
        let value = if what == "p99" { exact } else { whole(exact) };
        out.insert(format!("queue_delay_s_{what}"), number(value));
    }
    let longest = (of.count() > 0).then(|| of.max.seconds());
    out.insert("queue_delay_s_max".into(), number(longest));
}

/// Counts by reason, those that are none left out.
fn reasons(counts: &[u64]) -> Value {
    let named = Reason::ALL.iter().zip(counts).filter(|(_, n)| **n > 0);
    Value::Object(named.map(|(r, n)| (r.name().to_string(), json!(n))).collect())
}

/// Counters of the schedulers of a link's copies in the window, and their state at its end, if they count.
fn scheduled(engine: &Engine, ports: &[&Port], spec: &QueueSpec) -> Option<Map<String, Value>> {
    let mut copies: Vec<&Scheduled> = Vec::new();
    for port in ports {
        if let Queue::Scheduled(q) = &port.link.queue {
            copies.push(q);
        }
    }
    let first = copies.first()?.qdisc.scheduler();
    let own = spec.scheduler.as_ref().unwrap_or(&spec.rule);
    if own.mechanism.traits.tree {
        return Some(nodes(engine, &copies, htb::class_names(&own.values).collect(), first.nodes()));
    }
    own.mechanism.traits.hashes.then(|| hash_stats(engine, &copies, own.mechanism.observables))
}

/// Counts of schedulers that hash flows, summed over copies, and means of where they stand.
fn hash_stats(engine: &Engine, copies: &[&Scheduled], observables: &[Observable]) -> Map<String, Value> {
    let count = |q: &Scheduled, name: &str| {
        let now = q.qdisc.scheduler().hash_stats().and_then(|m| m.named(name)).unwrap_or(0);
        now - q.opened.hash_stats.named(name).unwrap_or(0)
    };
    let value = |name: &str| match is_counter(name) {
        true => json!(copies.iter().map(|q| count(q, name)).sum::<u64>()),
        false => number(mean(copies.iter().map(|q| q.qdisc.observe(None, name, engine.net.window.to)))),
    };
    observables.iter().map(|o| (o.name.to_owned(), value(o.name))).collect()
}

/// The same of a tree's nodes: of each class by its name, and of those without names, the leaves of users or flows, in lists.
fn nodes(engine: &Engine, copies: &[&Scheduled], names: Vec<&str>, count: usize) -> Map<String, Value> {
    let counts = |q: &&Scheduled, n: usize| {
        let at = q.qdisc.scheduler().count_of(n)?;
        Some((q.qdisc.scheduler().node_counts()[at], q.opened.nodes.get(at).copied().unwrap_or_default()))
    };
    let value = |n: usize, name: &str| match is_counter(name) {
        true => {
            let rise = |q: &&Scheduled| {
                let (now, before) = counts(q, n)?;
                Some(now.named(name)? - before.named(name)?)
            };
            json!(copies.iter().filter_map(rise).sum::<u64>())
        }
        false => number(mean(copies.iter().map(|q| q.qdisc.observe(Some(n), name, engine.net.window.to)))),
    };
    let drops = |n: usize| -> [u64; Reason::ALL.len()] {
        std::array::from_fn(|reason| {
            let rise = |(now, before): (NodeCounts, NodeCounts)| now.drops[reason] - before.drops[reason];
            copies.iter().filter_map(|q| counts(q, n)).map(rise).sum()
        })
    };
    let observables = htb::TABLE.observables.iter().filter(|o| o.name != "drops");
    let named: Map<String, Value> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let mut entry: Map<String, Value> =
                observables.clone().map(|o| (o.name.to_owned(), value(n, o.name))).collect();
            entry.insert("drops".into(), reasons(&drops(n)));
            ((*name).to_owned(), Value::Object(entry))
        })
        .collect();
    let mut out = Map::new();
    out.insert("classes".into(), Value::Object(named));
    let leaves = names.len()..count;
    if !leaves.is_empty() {
        let list = |name: &str| Value::Array(leaves.clone().map(|n| value(n, name)).collect());
        let mut entry: Map<String, Value> = observables.map(|o| (o.name.to_owned(), list(o.name))).collect();
        let by_leaf: Vec<_> = leaves.clone().map(drops).collect();
        let of = |reason: usize| by_leaf.iter().map(|drops| drops[reason]).collect::<Vec<u64>>();
        let lists = Reason::ALL.iter().enumerate().map(|(i, reason)| (reason, of(i)));
        let told = lists.filter(|(_, list)| list.iter().any(|n| *n > 0));
        entry.insert("drops".into(), told.map(|(r, list)| (r.name().to_owned(), json!(list))).collect());
        out.insert("leaves".into(), Value::Object(entry));
    }
    out
}

fn stages(engine: &Engine, scenario: &Scenario) -> Value {
    let mut out = Map::new();
    for (i, stage) in scenario.stages.iter().enumerate() {
        let mut entry = Map::new();
        let copies: Vec<_> = engine.net.stages.iter().filter(|s| s.spec == i as u32).collect();
        entry.insert("copies".into(), copies.len().into());
        let (counters, traits) = (&engine.net.stage_counters[i], stage.spec.mechanism.traits);
        let passed = |way: usize| {
            let sum = |of: fn((u64, u64)) -> u64| copies.iter().map(|s| of(s.passed[way])).sum::<u64>();
            let mut out = Map::new();
            out.insert("passed_packets".into(), sum(|p| p.0).into());
            out.insert("passed_bytes".into(), sum(|p| p.1).into());
            out.insert("drops".into(), reasons(&counters.drops[way]));
            out.insert("marks".into(), reasons(&counters.marks[way]));
            out
        };
        entry.extend(passed(0));
        if traits.ways.has(Way::Backward) {
            entry.insert("reverse".into(), Value::Object(passed(1)));
        }
        if traits.sends {
            entry.insert("sent_packets".into(), counters.sent.0.into());
            entry.insert("sent_bytes".into(), counters.sent.1.into());
        }
        for observable in shown(stage) {
            let value = mean(copies.iter().map(|s| s.stage.observe(observable.name, engine.net.window.to)));
            entry.insert(observable.name.into(), number(value));
        }
        if traits.accounts && stage.per != Per::Shared {
            entry.insert("groups".into(), accounts(engine, scenario, &copies, stage));
        }
        out.insert(stage.name.clone(), Value::Object(entry));
    }
    Value::Object(out)
}

/// The observables that a stage has by its rule.
fn shown(stage: &Stage) -> impl Iterator<Item = &'static Observable> {
    let Spec { mechanism, values } = &stage.spec;
    mechanism.observables.iter().filter(|o| evenflow_stage::shows(mechanism.kind, values, o.name))
}

/// The observables of a stage's copies by group: their mean, and each copy's.
fn accounts(engine: &Engine, scenario: &Scenario, copies: &[&StageSlot], stage: &Stage) -> Value {
    let mut out = Map::new();
    for (g, group) in scenario.groups.iter().enumerate() {
        let own: Vec<&&StageSlot> = copies.iter().filter(|slot| slot.group as usize == g).collect();
        if own.is_empty() {
            continue;
        }
        let mut entry = Map::new();
        for observable in shown(stage) {
            let values: Vec<Option<f64>> =
                own.iter().map(|s| s.stage.observe(observable.name, engine.net.window.to)).collect();
            entry.insert(observable.name.into(), number(mean(values.iter().copied())));
            let each = values.into_iter().map(number).collect();
            entry.insert(format!("users_{}", observable.name), Value::Array(each));
        }
        out.insert(group.name.clone(), Value::Object(entry));
    }
    Value::Object(out)
}

/// A histogram of times of a group's transfers.
fn transfer_times(engine: &Engine, group: usize, of: fn(&Transfers) -> &Times) -> Value {
    bins(
        engine.net.transfers[group].as_ref().map(|transfers| of(transfers).bins()).unwrap_or_default(),
        false,
    )
}

fn histograms(engine: &Engine, scenario: &Scenario) -> Value {
    let mut out = Map::new();
    for &histogram in &scenario.record.histograms {
        let value = match histogram {
            Histogram::AtDrop(link) => {
                let counts = engine.probes.at_drop.iter().find(|(side, _)| *side == 2 * link as u32);
                json!(counts.map(|(_, n)| n.clone()).unwrap_or_default())
            }
            Histogram::Packets(link) => {
                let mut time: Vec<u64> = Vec::new();
                for port in engine.net.ports.iter().filter(|p| p.side as usize == 2 * link) {
                    let lengths = port.link.lengths();
                    for (n, t) in lengths.map(|l| l.time.as_slice()).unwrap_or_default().iter().enumerate() {
                        if time.len() <= n {
                            time.resize(n + 1, 0);
                        }
                        time[n] += t;
                    }
                }
                let total: u64 = time.iter().sum();
                let shares: Vec<f64> = time.iter().map(|t| *t as f64 / total.max(1) as f64).collect();
                json!(shares)
            }
            Histogram::QueueDelay(link) => bins(engine.net.sides[2 * link].delays.bins(), false),
            Histogram::ClassQueueDelay(link, class) => {
                let delays = engine.net.sides[2 * link].class_delays.get(class);
                bins(delays.map(QueueDelays::bins).unwrap_or_default(), false)
            }
            Histogram::Delay(g) => {
                bins(Durations::bins(std::slice::from_ref(&engine.net.delays[g].one_way)), false)
            }
            Histogram::Rtt(g) => {
                bins(Durations::bins(std::slice::from_ref(&engine.net.delays[g].rtt)), false)
            }
            Histogram::UsersDelay(g) => bins(Durations::bins(engine.net.delays[g].users()), true),
            Histogram::ClassDelay(g, class) => bins(
                Durations::bins(engine.net.delays[g].class(class).map_or(&[], std::slice::from_ref)),
                false,
            ),
            Histogram::Completion(g) => transfer_times(engine, g, |transfers| &transfers.completion),
            Histogram::FirstByte(g) => transfer_times(engine, g, |transfers| &transfers.first_byte),
        };
        out.insert(histogram.name(scenario), value);
    }
    Value::Object(out)
}

/// The flow of a randomly lost packet.
const LOST_FLOW: &str = "flow";

fn columns(engine: &Engine, scenario: &Scenario) -> Vec<Column> {
    let stages_decide = scenario.stages.iter().any(|stage| !stage.spec.mechanism.counters.is_empty());
    let mut columns: Vec<Column> = engine.probes.series.to_vec();
    let link = |port: usize| &engine.net.ports[port].link;
    let of_queues = engine.probes.departures.iter().map(|it| (it, link(it.0).notes()));
    let of_losses = engine.probes.losses.iter().map(|it| (it, link(it.0).losses()));
    for (&(port, name, column), notes) in of_queues.chain(of_losses) {
        let flows = || engine.probes.lost.iter().filter(|lost| lost.0 as usize == port);
        let value =
            |note: &Note| note.values.iter().find(|(of, _)| *of == name).map_or(f64::NAN, |(_, x)| *x);
        columns[column].times = notes.iter().map(|note| note.at.seconds()).collect();
        columns[column].values = match name {
            LOST_FLOW => flows().map(|lost| f64::from(lost.1)).collect(),
            _ => notes.iter().map(value).collect(),
        };
    }
    for (kind, list) in &engine.probes.lists {
        let (kind, code) = match kind {
            EventKind::Drop => ("drop", "reason"),
            EventKind::Mark => ("mark", "reason"),
            EventKind::Arrival => ("arrival", "marked"),
            EventKind::Open | EventKind::Close => continue, // these have separate lists
        };
        let times: Vec<f64> = list.iter().map(|h| h.time.seconds()).collect();
        let at_stage = |h: &Happening| h.component & STAGES != 0;
        let link = |h: &Happening| if at_stage(h) { -1.0 } else { f64::from(h.component / 2) };
        let stage = |h: &Happening| if at_stage(h) { f64::from(h.component & !STAGES) } else { -1.0 };
        let mut fields: Vec<(&str, Vec<f64>)> = vec![
            ("flow", list.iter().map(|h| f64::from(h.flow)).collect()),
            ("link", list.iter().map(link).collect()),
        ];
        if stages_decide && code == "reason" {
            fields.push(("stage", list.iter().map(stage).collect()));
        }
        fields.push((code, list.iter().map(|h| f64::from(h.code)).collect()));
        for (field, values) in fields {
            columns.push(Column { name: format!("events.{kind}.{field}"), times: times.clone(), values });
        }
    }
    if let Some(opened) = &engine.probes.opened {
        let times = || opened.iter().map(|o| o.time);
        columns.push(column("events.open.flow", times(), opened.iter().map(|o| o.flow)));
        columns.push(column("events.open.group", times(), opened.iter().map(|o| o.group)));
        columns.push(column("events.open.user", times(), opened.iter().map(|o| o.user)));
        columns.push(column("events.open.number", times(), opened.iter().map(|o| o.number)));
    }
    if let Some(closed) = &engine.probes.closed {
        let times = || closed.iter().map(|c| c.time);
        columns.push(column("events.close.flow", times(), closed.iter().map(|c| c.flow)));
        columns.push(column("events.close.how", times(), closed.iter().map(|c| c.how as u32)));
    }
    columns.extend(engine.probes.trace.iter().flat_map(|trace| trace.columns()));
    columns
}

/// A column of whole numbers.
fn column(name: &str, times: impl Iterator<Item = Time>, values: impl Iterator<Item = u32>) -> Column {
    Column {
        name: name.into(),
        times: times.map(Time::seconds).collect(),
        values: values.map(f64::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Map<String, Value> {
        let tree = json!({
            "scenario_hash": "a", "record_hash": "b", "record_version": 1, "seed": 3, "events": 10,
            "engine": { "id": "c" }, "wall_s": 1.0, "cpu_s": 1.0,
            "event_reasons": ["limit", "early", "new"],
            "groups": { "heavy": { "losses": 3, "marks": 1 }, "light": { "losses": 4, "marks": 2 } },
        });
        tree.as_object().cloned().unwrap_or_default()
    }

    fn drops(codes: &[f64]) -> Vec<Column> {
        let times = codes.iter().map(|_| 1.0).collect();
        vec![Column { name: "events.drop.reason".into(), times, values: codes.to_vec() }]
    }

    fn with(name: &str, value: Value) -> Map<String, Value> {
        let mut changed = record();
        changed.insert(name.into(), value);
        changed
    }

    #[test]
    fn the_hash_covers_what_was_measured_and_no_more() {
        let before = hash(&record(), &[], 1);
        for provenance in
            ["scenario_hash", "record_hash", "record_version", "events", "engine", "wall_s", "cpu_s"]
        {
            assert_eq!(hash(&with(provenance, json!("other")), &[], 1), before, "{provenance}");
        }
        assert_ne!(hash(&with("seed", json!(4)), &[], 1), before);
        assert_ne!(hash(&with("groups", json!({})), &[], 1), before);
        assert_ne!(hash(&record(), &drops(&[]), 1), before, "a series without values is a series");
    }

    #[test]
    fn of_the_reasons_those_count_that_recorded_events_use() {
        let others = with("event_reasons", json!(["limit", "early", "newer", "newest"]));
        assert_eq!(hash(&record(), &[], 1), hash(&others, &[], 1), "no events are recorded");
        assert_eq!(hash(&record(), &drops(&[1.0, 0.0, 1.0]), 1), hash(&others, &drops(&[1.0, 0.0, 1.0]), 1));
        assert_ne!(
            hash(&record(), &drops(&[2.0]), 1),
            hash(&others, &drops(&[2.0]), 1),
            "code 2 has another name"
        );
    }

    /// By version 1, a class's arrivals, drops and marks are not there, and neither is one of which nothing was sent.
    #[test]
    fn what_version_1_had_of_classes() {
        let class = |sent: u64, later: Value| {
            let mut class =
                json!({ "queue_delay_s_mean": null, "queue_delay_s_sd": null, "delivered_packets": sent });
            let table = class.as_object_mut().expect("a table");
            table.extend(later.as_object().cloned().expect("a table"));
            class
        };
        let links = |classes: Value| {
            let way = json!({ "drops": {}, "classes": classes });
            let mut link = way.clone();
            link["reverse"] = way;
            with("links", json!({ "only": link }))
        };
        let later = json!({ "arrived_packets": 9, "drops": { "limit": 3 }, "marks": {} });
        let now = links(json!({ "be": class(6, later.clone()), "ef": class(0, later) }));
        let then = links(json!({ "be": class(6, json!({})) }));
        assert_eq!(hash(&now, &[], 1), hash(&then, &[], 1));
        assert_ne!(hash(&now, &[], 2), hash(&then, &[], 2));
    }

    #[test]
    fn fields_of_later_versions_can_be_left_out() {
        let mut tree = Value::Object(record());
        forget(&mut tree, &["groups", "G", "marks"]);
        assert_eq!(tree["groups"], json!({ "heavy": { "losses": 3 }, "light": { "losses": 4 } }));
        forget(&mut tree, &["groups", "G", "absent", "deeper"]);
        forget(&mut tree, &["seed", "deeper"]);
        assert_eq!(tree["seed"], json!(3));
        forget(&mut tree, &["seed"]);
        assert_eq!(tree.get("seed"), None);
        let later = later_fields(1);
        for path in ["links.L.classes.CLASS.drops", "links.L.reverse.classes.CLASS.arrived_packets"] {
            assert!(later.contains(&path.split('.').collect()), "{path} in {later:?}");
        }
        assert!(later_fields(metrics::VERSION).is_empty());
        assert!(metrics::METRICS.iter().all(|m| (1..=metrics::VERSION).contains(&m.since)));
    }
}
