//! What a networking person can judge at a glance: four schemes on the workloads every paper on fairness begins with, and
//! every mechanism there is on a small network.
//!
//! The rows of the second come from the list of mechanisms: one for each with its defaults, and one for each other word of its
//! parameters. A new mechanism has a row by itself, and
//!
//! ```sh
//! INSTA_UPDATE=always cargo test -p evenflow-sim --test golden
//! ```
//!
//! writes what is measured to `snapshots/`, where `git diff` shows it. Rates are rounded to 10 kbit/s, queues to tenths of a
//! packet, delays to 10 us.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use evenflow_base::schema::{Fallback, Mechanism, Param, Room, Type};
use evenflow_scenario::{Scenario, catalogue};
use evenflow_sim::Options;
use serde_json::{Map, Value};

/// Name, the stage before the bottleneck, the bottleneck's queue.
const SCHEMES: [(&str, &str, &str); 4] = [
    ("drop-tail", "rate-meter", r#"{ limit = "24 packets" }"#),
    ("ABC", "activity-meter", r#"{ kind = "activity-aqm", limit = "24 packets" }"#),
    ("CSFQ", "csfq-edge", r#"{ kind = "csfq", limit = "24 packets" }"#),
    ("DRR", "rate-meter", r#"{ limit = "24 packets", scheduler = { kind = "drr", per = "user" } }"#),
];

/// Name, delay of the bottleneck, what user a sends, what user b sends.
const WORKLOADS: [(&str, &str, &str, &str); 4] = [
    (
        "10 vs 7.5 Mbit/s, Poisson",
        "5 ms",
        r#"{ kind = "poisson", rate = "10 Mbit/s" }"#,
        r#"{ kind = "poisson", rate = "7.5 Mbit/s" }"#,
    ),
    ("8 vs 1 TCP, 5 ms", "5 ms", r#"{ kind = "bulk", flows = 8, START }"#, r#"{ kind = "bulk", START }"#),
    ("8 vs 1 TCP, 50 ms", "50 ms", r#"{ kind = "bulk", flows = 8, START }"#, r#"{ kind = "bulk", START }"#),
    (
        "12.5 Mbit/s Poisson vs 1 TCP",
        "5 ms",
        r#"{ kind = "poisson", rate = "12.5 Mbit/s" }"#,
        r#"{ kind = "bulk", START }"#,
    ),
];

fn record(
    (_, stage, queue): (&str, &str, &str),
    (_, delay, a, b): (&str, &str, &str, &str),
) -> Map<String, Value> {
    let group = |traffic: &str| {
        let traffic = traffic.replace("START", r#"start = { uniform = ["0 s", "15 s"] }"#);
        let tcp = if traffic.contains("bulk") { r#"tcp = { stack = "ns3.26" }"# } else { "" };
        format!("users = 1\npath = [\"access\", \"label\", \"bottleneck\"]\ntraffic = {traffic}\n{tcp}\n")
    };
    let text = format!(
        r#"
duration = "130 s"
warmup = "30 s"
links.access = {{ rate = "100 Mbit/s", delay = "0.1 ms", per = "user", queue = {{ limit = "50 packets" }} }}
stages.label = {{ kind = "{stage}", per = "user" }}
links.bottleneck = {{ rate = "10 Mbit/s", delay = "{delay}", queue = {queue} }}
[groups.a]
{}
[groups.b]
{}
"#,
        group(a),
        group(b)
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    evenflow_sim::run(&scenario, 1, Options::default(), &AtomicBool::new(false)).expect("a record").record
}

/// Four schemes, seed 1, 100 s after 30 s of warm-up.
#[test]
fn schemes_on_workloads() {
    let mut table = String::new();
    for workload in WORKLOADS {
        let _ = writeln!(table, "{}", workload.0);
        let _ = writeln!(
            table,
            "  {:<10} {:>8} {:>8} {:>7} {:>8} {:>6}  drops",
            "scheme", "a Mbit/s", "b Mbit/s", "queue", "wait ms", "util"
        );
        for scheme in SCHEMES {
            let r = record(scheme, workload);
            let rate = |group: &str| r["groups"][group]["throughput_bps"].as_f64().unwrap_or(f64::NAN) / 1e6;
            let link = &r["links"]["bottleneck"];
            let get = |name: &str| link[name].as_f64().unwrap_or(f64::NAN);
            let drops = link["drops"].as_object().expect("a table");
            let drops: Vec<String> = drops.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
            let line = format!(
                "  {:<10} {:>8.2} {:>8.2} {:>7.1} {:>8.1} {:>6.3}  {}",
                scheme.0,
                rate("a"),
                rate("b"),
                get("queue_packets_mean"),
                get("queue_delay_s_mean") * 1e3,
                get("utilisation"),
                if drops.is_empty() { "none".into() } else { drops.join(", ") }
            );
            let _ = writeln!(table, "{line}");
        }
        let _ = writeln!(table);
    }
    insta::assert_snapshot!(table.trim_end());
}

/// What stands for a required parameter, by its type.
const FILLED: [(Type, &str); 8] = [
    (Type::Rate, r#""4 Mbit/s""#),
    (Type::Bytes, r#""6 kB""#),
    (Type::Packets, r#""10 packets""#),
    (Type::QueueLength, r#""10 packets""#),
    (Type::Duration, r#""10 ms""#),
    (Type::Number, "0.02"),
    (Type::Integer, "4"),
    (Type::Flag, "true"),
];

/// Parameters of a mechanism that requires what `FILLED` does not have, or would have nothing to do.
const SETTINGS: [(&str, &str); 19] = [
    ("bandwidth-manager", r#"rate = "8 Mbit/s", controls = "bottleneck""#),
    ("window-tuner", r#"rate = "4 Mbit/s""#),
    ("rewriter", r#"class = "be""#),
    ("strict", r#"order = ["ef", "af", "be"]"#),
    ("medf", r#"offsets = { ef = "0 ms", af = "12 ms", be = "30 ms" }"#),
    ("htb", HTB),
    ("tbf", r#"rate = "8 Mbit/s", burst = "15 kB""#),
    ("policer", r#"rate = "2 Mbit/s", burst = "15 kB""#),
    ("congestion-policer", r#"rate = "5 packets/s", depth = "5 packets""#),
    ("shaper", r#"rate = "2 Mbit/s", burst = "15 kB", limit = "20 packets""#),
    ("poisson", r#"rate = "1.5 Mbit/s""#),
    ("cbr", r#"rate = "1.5 Mbit/s""#),
    ("upload", r#"size = "200 kB""#),
    ("ping", r#"interval = "20 ms""#),
    ("request-response", r#"response = "20 kB", think = { exponential = "50 ms" }"#),
    ("short-flows", r#"interval = { gamma = ["100 ms", 0.5] }, size = { pareto = ["15 kB", 1.5] }"#),
    (
        "web",
        r#"page_size = "20 kB", objects = { uniform = [2, 8] }, object_size = { lognormal = ["10 kB", 1] }"#,
    ),
    (
        "has",
        r#"ladder = ["400 kbit/s", "900 kbit/s", "2 Mbit/s", "4 Mbit/s"], chunk = "0.4 s", buffer = "1.6 s""#,
    ),
    ("youtube", r#"bitrate = "1.2 Mbit/s", length = "1.5 s", burst = "0.6 s", videos = 9"#),
];

/// Classes that borrow, `ef` up to less than it sends; `be` goes last, with the smaller quantum. A queue of each kind.
const HTB: &str = r#"classes = {
    root = { rate = "8 Mbit/s" },
    tcp = { parent = "root", rate = "3 Mbit/s", ceil = "7.5 Mbit/s" },
    ef = { parent = "root", rate = "0.5 Mbit/s", ceil = "1.2 Mbit/s", burst = "4 kB", quantum = "1500 B", leaf = { kind = "codel", limit = "6 packets" } },
    af = { parent = "tcp", rate = "1 Mbit/s", ceil = "5 Mbit/s", prio = 1, quantum = "4500 B", leaf = { limit = "12 packets" } },
    be = { parent = "tcp", rate = "2 Mbit/s", ceil = "7 Mbit/s", prio = 1, quantum = "1500 B", leaf = { kind = "sfq", limit = "20 packets" } } }"#;

/// Leaves of users, of which the last has FQ-CoDel for its flows.
const HTB_PER_USER: &str = r#"per = "user", classes = { root = { rate = "8 Mbit/s" } },
    each = { parent = "root", rate = "1 Mbit/s", ceil = "6 Mbit/s", leaf = { kind = "fq-codel", limit = "20 packets" } }"#;

/// Rows of words that need other parameters beside them, and of numbers: kind, name, parameters.
const MORE: [(&str, &str, &str); 56] = [
    (
        "activity-aqm",
        "rate_estimate, in ms",
        r#"rate_estimate = "departures", q_min = "14 ms", q_base = "24 ms", gamma = "19 ms""#,
    ),
    ("cake", "shaped, atm", r#"rate = "9 Mbit/s", overhead = "44 B", framing = "atm", tins = "diffserv4""#),
    (
        "cake",
        "ingress, memory",
        r#"rate = "8 Mbit/s", ingress = true, rtt = "20 ms", memory_limit = "30 kB""#,
    ),
    ("codel", "ce_threshold", r#"ce_threshold = "8 ms""#),
    ("fq", "one queue, ce_threshold", r#"orphan_mask = 0, ce_threshold = "8 ms", flow_limit = "30 packets""#),
    ("fq", "paced", r#"max_rate = "1 Mbit/s", quantum = "1514 B""#),
    ("fq-codel", "few queues, memory", r#"flows = 2, memory_limit = "30 kB", quantum = "300 B""#),
    ("fq-codel", "ce_threshold", r#"ce_threshold = "8 ms", drop_batch = 4"#),
    ("pie", "cap, burst", r#"cap = true, target = "4 ms", max_burst = "40 ms", ecn_threshold = 0.02"#),
    (
        "pie",
        "derandomize, no ECN",
        r#"derandomize = true, target = "4 ms", max_burst = "0 ms", ecn_threshold = 0"#,
    ),
    ("red", "action, mark_all_above", r#"action = "mark", mark_all_above = "20 packets""#),
    ("red", "bytes", r#"max_threshold = "20 kB""#),
    ("red", "linux, bytes", r#"variant = "linux", max_threshold = "20 kB""#),
    ("red", "gentle = false", r#"gentle = false, weight = 0.05"#),
    ("red", "draw = interval", r#"variant = "floyd", draw = "interval""#),
    ("rem", "gain", r#"gain = 0.02, target = "8 packets""#),
    ("virtual-queue", "bytes", r#"buffer = "20 kB", mark = "overflow", action = "mark""#),
    ("drr", "small quantum", r#"quantum = "300 B""#),
    ("sfq", "two slots, perturbed", r#"divisor = 2, perturb = "0.3 s""#),
    ("htb", "per user, fq-codel", HTB_PER_USER),
    ("tbf", "peak_rate", r#"rate = "8 Mbit/s", burst = "15 kB", peak_rate = "9 Mbit/s", mtu = "1600 B""#),
    ("auditor", "strict", r#"rule = "strict", delay = "200 ms""#),
    ("auditor", "paper", r#"rule = "paper", delay = "200 ms", rho = 0"#),
    ("auditor", "ratio", r#"rule = "ratio", cancelled = "counted", delay = "200 ms", allowance = "0 B""#),
    (
        "congestion-policer",
        "tcp-rate, srtt",
        r#"rule = "tcp-rate", strangers = "own", start = "1 s", rtt_from = "srtt", action = "drop-while-empty""#,
    ),
    (
        "congestion-policer",
        "rate-bytes, base",
        r#"rule = "rate-bytes", strangers = "own", depth = "9 kB", rtt_from = "base", action = "probability""#,
    ),
    (
        "congestion-policer",
        "volume",
        r#"rule = "volume", rate = "20 kbit/s", depth = "9 kB", action = "block", block_for = "1 s""#,
    ),
    (
        "congestion-policer",
        "pass, strict, bytes",
        r#"rate = "20 kbit/s", depth = "9 kB", harshness = "strict", charge = "pass""#,
    ),
    (
        "policer",
        "excess_burst",
        r#"rate = "2 Mbit/s", burst = "15 kB", excess_burst = "30 kB", green = "af", yellow = "ef""#,
    ),
    (
        "policer",
        "two rates",
        r#"rate = "1 Mbit/s", burst = "15 kB", peak_rate = "2 Mbit/s", peak_burst = "15 kB", yellow = "be""#,
    ),
    (
        "policer",
        "packets, aware",
        r#"rate = "200 packets/s", burst = "10 packets", precoloured_red = ["ef"]"#,
    ),
    (
        "shaper",
        "peak_rate, latency",
        r#"rate = "2 Mbit/s", burst = "30 kB", peak_rate = "4 Mbit/s", mtu = "1600 B", latency = "50 ms""#,
    ),
    ("shaper", "ticks", r#"rate = "2 Mbit/s", burst = "15 kB", limit = "30 kB", arithmetic = "ticks""#),
    ("wtp", "general", r#"form = "general", increase_weight = 3, decrease_weight = 2"#),
    ("compound", "low_window, gamma", r#"low_window = "8 packets", gamma = "8 packets""#),
    ("ledbat", "target = 10 ms", r#"target = "10 ms""#),
    ("cubic", "steep, no Reno", r#"c = 4, reno_friendly = false"#),
    ("cubic", "linux, no Reno", r#"form = "linux", c = 4, reno_friendly = false"#),
    ("cubic", "linux, hystart", r#"form = "linux", slow_start = "hystart""#),
    ("cubic", "linux-3.2, hystart", r#"form = "linux-3.2", slow_start = "hystart""#),
    ("bulk", "until, closes", r#"until = "2.5 s""#),
    ("bulk", "until, aborts", r#"until = "2.5 s", end = "abort""#),
    ("upload", "until, aborts", r#"size = "2 MB", until = "0.5 s", end = "abort""#),
    ("cbr", "gap, until", r#"rate = "1.5 Mbit/s", gap = { jitter = 0.5 }, until = "4 s""#),
    ("poisson", "until", r#"rate = "1.5 Mbit/s", until = "2.5 s""#),
    ("ping", "until", r#"interval = "20 ms", until = "2.5 s""#),
    (
        "request-response",
        "until, aborts",
        r#"response = "20 kB", until = "2.5 s", end = "abort", service = "20 ms""#,
    ),
    (
        "short-flows",
        "until, aborts",
        r#"interval = { exponential = "50 ms" }, size = "50 kB", until = "2.5 s", end = "abort""#,
    ),
    (
        "short-flows",
        "until, closes",
        r#"interval = { exponential = "50 ms" }, size = "50 kB", until = "2.5 s""#,
    ),
    ("web", "patience", r#"page_size = "20 kB", objects = 8, patience = "300 ms""#),
    (
        "web",
        "until, one connection",
        r#"page_size = "20 kB", objects = 8, until = "2.5 s", connections = 1, think = "100 ms""#,
    ),
    (
        "has",
        "bba-0, plays when full",
        r#"ladder = ["1 Mbit/s", "3 Mbit/s"], chunk = "0.2 s", buffer = "2 s", adaptation = "bba-0", play_at = "2 s", steady = "room""#,
    ),
    (
        "has",
        "mpc of horizon 2, length",
        r#"ladder = ["1 Mbit/s", "3 Mbit/s"], chunk = "0.2 s", length = "2 s", adaptation = { kind = "mpc", horizon = 2 }"#,
    ),
    (
        "has",
        "two connections, drains, sizes",
        r#"ladder = ["1 Mbit/s", "3 Mbit/s"], chunk = "0.2 s", connections = 2, sizes = [["20 kB", "90 kB"], ["30 kB", "60 kB"]], abandon = { how = "drain", after = "50 ms", multiple = 0.5 }, until = "2.5 s", end = "drain""#,
    ),
    (
        "has",
        "gives up, a window of three",
        r#"ladder = ["1 Mbit/s", "3 Mbit/s"], chunk = "0.2 s", abandon = { after = "50 ms", multiple = 0.5 }, adaptation = { kind = "aggressive-rate", window = 3 }"#,
    ),
    (
        "youtube",
        "in chunks from the start",
        r#"bitrate = "2 Mbit/s", length = "1 s", burst = "0 s", chunk = "10 kB", pace = 2, videos = 20"#,
    ),
];

/// How marks come back to a control that needs more than `accurate`.
const FEEDBACK: [(&str, &str); 2] =
    [("wtp", r#"ecn = "per-packet", ack_every = 1"#), ("multcp", r#"ecn = "per-packet", ack_every = 1"#)];

/// The stage whose labels a queue reads.
const LABELS: [(&str, &str); 2] = [("activity-aqm", "activity-meter"), ("csfq", "csfq-edge")];

/// The network of a row: the parts that a mechanism may replace.
#[derive(Clone)]
struct World {
    rate: &'static str,
    delay: &'static str,
    queue: String,
    stage: String,
    /// The other end of a tunnel or of reports of which `stage` is one, which then stands behind the queue if packets meet it last.
    other: String,
    /// Of the group whose packets are of class be.
    tcp: String,
    /// Of the same group.
    weight: &'static str,
    data: String,
    /// What else the bottleneck has.
    link: &'static str,
}

/// 10 Mbit/s and 20 ms: 17 packets.
const SHORT: World = World {
    rate: "10 Mbit/s",
    delay: "9 ms",
    queue: String::new(),
    stage: String::new(),
    other: String::new(),
    tcp: String::new(),
    weight: "",
    data: String::new(),
    link: "",
};

impl World {
    /// Five seconds of four flows and some datagrams, as a row. `None` where the scenario is refused.
    fn row(&self) -> Result<String, String> {
        let or = |own: &str, usual: &str| if own.is_empty() { usual.to_owned() } else { own.to_owned() };
        let World { rate, delay, link, weight, other, .. } = self;
        let path = match other {
            other if other.is_empty() => r#"["access", "label", "bottleneck"]"#,
            other if other.contains("ingress") || other.contains("controller") => {
                r#"["access", "other", "bottleneck", "label"]"#
            }
            _ => r#"["access", "label", "bottleneck", "other"]"#,
        };
        let other = if other.is_empty() {
            String::new()
        } else {
            format!("stages.other = {{ {other}, per = \"user\" }}")
        };
        let text = format!(
            r#"
duration = "5 s"
links.access = {{ rate = "100 Mbit/s", delay = "1 ms", per = "user" }}
stages.label = {{ {}, per = "user" }}
{other}
[links.bottleneck]
rate = "{rate}"
delay = "{delay}"
queue = {{ {} }}
{link}
[groups.three]
users = 1
path = {path}
traffic = {{ kind = "bulk", flows = 3, start = {{ uniform = ["0 s", "0.5 s"] }} }}
tcp = {{ {} }}
{weight}
[groups.one]
users = 1
path = {path}
traffic = {{ kind = "bulk" }}
class = "af"
weight = 2
[groups.data]
users = 1
path = {path}
traffic = {{ {} }}
class = "ef"
"#,
            or(&self.stage, r#"kind = "rate-meter""#),
            or(&self.queue, r#"limit = "40 packets""#),
            or(&self.tcp, r#"ecn = "classic""#),
            or(
                &self.data,
                r#"kind = "poisson", rate = "1.5 Mbit/s", packet = { exponential = "700 B" }, ecn_capable = true"#
            ),
        )
        // Tables inside a table may not go over several lines in TOML 1.0.
        .replace("{\n    ", "{ ")
        .replace(",\n    ", ", ");
        let scenario = Scenario::from_toml(&text).map_err(|e| format!("{e}\n{text}"))?;
        let run = evenflow_sim::run(&scenario, 1, Options::default(), &AtomicBool::new(false));
        let r = run.map_err(|e| format!("{e}\n{text}"))?.record;
        let (groups, link) = (&r["groups"], &r["links"]["bottleneck"]);
        let mut row = String::new();
        for group in ["three", "one", "data"] {
            let rate = groups[group]["throughput_bps"].as_f64().expect("a rate");
            let _ = write!(row, " {:>6.2}", rate / 1e6);
        }
        for delay in ["queue_delay_s_mean", "queue_delay_s_p99"] {
            let _ = write!(row, " {:>7.2}", link[delay].as_f64().unwrap_or(f64::NAN) * 1e3);
        }
        for group in ["three", "one"] {
            let _ = write!(row, " {:>5}", groups[group]["retransmits"].as_u64().expect("a number"));
        }
        let mut notes = Vec::new();
        for (what, counts) in [("", &link["drops"]), ("marked ", &link["marks"])] {
            let counts = counts.as_object().expect("a table").iter();
            notes.extend(counts.map(|(reason, n)| format!("{what}{reason} {n}")));
        }
        let stage = r["stages"]["label"].as_object().expect("a table").iter();
        let own = stage.filter(|(name, _)| !self.stage.is_empty() && !STAGE_FIELDS.contains(&name.as_str()));
        notes.extend(own.map(|(name, x)| format!("{name} {:.4e}", x.as_f64().unwrap_or(f64::NAN))));
        let _ = write!(row, "  {}", notes.join(", "));
        Ok(row.trim_end().to_owned())
    }
}

/// What every stage's record has.
const STAGE_FIELDS: [&str; 9] = [
    "copies",
    "passed_packets",
    "passed_bytes",
    "drops",
    "marks",
    "reverse",
    "sent_packets",
    "sent_bytes",
    "groups",
];

/// The parameters that `mechanism` needs, as they stand in a file.
fn required(mechanism: &Mechanism) -> Vec<String> {
    if let Some((_, own)) = SETTINGS.iter().find(|(kind, _)| *kind == mechanism.kind) {
        return vec![(*own).to_owned()];
    }
    let needed = mechanism.params.iter().filter(|p| p.default == Fallback::Required);
    needed
        .map(|p| {
            let filled = FILLED.iter().find(|(ty, _)| *ty == p.ty).map(|(_, text)| (*text).to_owned());
            let filled = filled.or(match p.ty {
                Type::Choice(words) => words.first().map(|word| format!("{word:?}")),
                _ => None,
            });
            let (kind, name) = (mechanism.kind, p.name);
            let text = filled.unwrap_or_else(|| {
                let wanted = p.ty.describe().0;
                panic!("{kind} requires {name} ({wanted}): give it in SETTINGS, or its type in FILLED, of golden.rs")
            });
            format!("{name} = {text}")
        })
        .collect()
}

/// The values of a parameter that have a row each.
fn words(param: &Param) -> Vec<String> {
    let all: Vec<String> = match param.ty {
        Type::Choice(words) => words.iter().map(|word| format!("{word:?}")).collect(),
        Type::Flag => vec!["true".into(), "false".into()],
        _ => return Vec::new(),
    };
    let default = match param.default {
        Fallback::Text(text) => text,
        _ => "",
    };
    all.into_iter().filter(|word| word.trim_matches('"') != default).collect()
}

/// The rows of a mechanism: with its defaults; with each other word of each parameter, where that makes a difference; and `MORE`.
/// `world` has it in its place, given its parameters.
fn rows(table: &mut String, mechanism: &Mechanism, world: &dyn Fn(&str) -> World) {
    let kind = mechanism.kind;
    let given = required(mechanism);
    let with = |more: &[String]| [&given, more].concat().join(", ");
    let usual = world(&with(&[])).row().unwrap_or_else(|e| panic!("{kind} needs more in golden.rs: {e}"));
    let _ = writeln!(table, "{kind:<34}{usual}");
    let (mut silent, mut refused) = (Vec::new(), Vec::new());
    for param in mechanism.params {
        let (mut seen, mut same) = (false, false);
        for word in words(param) {
            let setting = format!("{} = {word}", param.name);
            let label = setting.replace('"', "");
            match world(&with(&[setting])).row() {
                Ok(row) if row != usual => {
                    let _ = writeln!(table, "{:<34}{row}", format!("  {label}"));
                    seen = true;
                }
                Ok(_) => same = true,
                Err(_) => refused.push(label),
            }
        }
        if same && !seen {
            silent.push(param.name.to_owned());
        }
    }
    for (_, name, settings) in MORE.iter().filter(|(of, _, _)| *of == kind) {
        let row = world(settings).row().unwrap_or_else(|e| panic!("{kind}, {name}: {e}"));
        let _ = writeln!(table, "{:<34}{row}", format!("  {name}"));
    }
    for (what, labels) in [("nothing changes with", silent), ("not by itself", refused)] {
        if !labels.is_empty() {
            let _ = writeln!(table, "  {what}: {}", labels.join(", "));
        }
    }
}

/// The table of a room.
fn table(room: Room, title: &str, world: &dyn Fn(&str, &str) -> World) -> String {
    let mut table = format!(
        "{title:<34} {:>6} {:>6} {:>6} {:>7} {:>7} {:>5} {:>5}  drops, marks\n",
        "three", "one", "data", "mean ms", "p99 ms", "rtx 3", "rtx 1"
    );
    for mechanism in catalogue::all(room) {
        rows(&mut table, mechanism, &|params: &str| world(mechanism.kind, params));
    }
    table
}

/// `kind` with its parameters.
fn of_kind(kind: &str, params: &str) -> String {
    format!("kind = {kind:?}{}{params}", if params.is_empty() { "" } else { ", " })
}

#[test]
fn every_queue() {
    let table = table(Room::Queue, "queue of 40 packets", &|kind, params| {
        let label = LABELS.iter().find(|(queue, _)| *queue == kind);
        let stage = label.map_or(String::new(), |(_, stage)| of_kind(stage, ""));
        World { queue: format!(r#"{}, limit = "40 packets""#, of_kind(kind, params)), stage, ..SHORT }
    });
    insta::assert_snapshot!(table);
}

#[test]
fn every_scheduler() {
    let table = table(Room::Scheduler, "scheduler of 40 packets", &|kind, params| {
        let queue = format!(r#"limit = "40 packets", scheduler = {{ {} }}"#, of_kind(kind, params));
        World { queue, ..SHORT }
    });
    insta::assert_snapshot!(table);
}

#[test]
fn every_stage() {
    let table = table(Room::Stage, "stage before its queue", &|kind, params| {
        let reader = LABELS.iter().find(|(_, stage)| kind.ends_with(stage));
        let queue = reader.map_or("droptail", |(queue, _)| queue);
        let other = TUNNEL.iter().find(|(own, _)| *own == kind).map_or("", |(_, other)| other);
        let queue = match kind {
            // It rewrites what marks depend on, or carries them.
            "rewriter"
            | "tunnel-ingress"
            | "tunnel-egress"
            | "congestion-controller"
            | "congestion-reporter" => MARKS.into(),
            "bandwidth-manager" => {
                // Sessions that are connections have classes of their own.
                let flows = params.contains(r#"session = "flow""#);
                let classes = if flows { HTB_PER_USER.replace("user", "flow") } else { HTB_PER_USER.into() };
                format!(r#"limit = "40 packets", scheduler = {{ kind = "htb", {classes} }}"#)
            }
            _ => format!(r#"kind = {queue:?}, limit = "40 packets""#),
        };
        // What is declared of congestion: losses, for the queue marks nothing.
        let tcp = if CONEX.contains(&kind) { r#"conex = { report = "loss" }"# } else { "" };
        let stage = of_kind(kind, params) + if other.is_empty() { "" } else { r#", peer = "other""# };
        World { queue, stage, other: other.into(), tcp: tcp.into(), ..SHORT }
    });
    insta::assert_snapshot!(table);
}

/// The ends of tunnels and of reports, and the other end of each.
const TUNNEL: [(&str, &str); 4] = [
    ("congestion-controller", r#"kind = "congestion-reporter", every = "20 ms""#),
    ("congestion-reporter", r#"kind = "congestion-controller""#),
    ("tunnel-egress", r#"kind = "tunnel-ingress", overhead = "gtp-u-sequence", ecn = "paper", re = "copy""#),
    ("tunnel-ingress", r#"kind = "tunnel-egress""#),
];

/// Stages that read what senders declare.
const CONEX: [&str; 2] = ["auditor", "congestion-policer"];

#[test]
fn every_traffic() {
    let table = table(Room::Traffic, "traffic beside four flows", &|kind, params| World {
        data: of_kind(kind, params),
        queue: MARKS.into(),
        ..SHORT
    });
    insta::assert_snapshot!(table);
}

/// RED that marks.
const MARKS: &str = r#"kind = "red", variant = "floyd", action = "mark", weight = 0.05, min_threshold = "5 packets", limit = "40 packets""#;

#[test]
fn every_congestion_control() {
    let control = |title: &str, world: World| {
        table(Room::CongestionControl, title, &|kind, params| {
            let feedback =
                FEEDBACK.iter().find(|(of, _)| *of == kind).map_or(r#"ecn = "accurate""#, |(_, how)| how);
            let tcp = format!("congestion_control = {{ {} }}, {feedback}", of_kind(kind, params));
            // Weights of its own and the group's exclude each other.
            World { tcp, weight: if params.contains("_weight") { "" } else { "weight = 2" }, ..world.clone() }
        })
    };
    let limit = |limit: &str| format!("limit = {limit:?}");
    let long = World { rate: "20 Mbit/s", delay: "39 ms", queue: limit("80 packets"), ..SHORT };
    let table = [
        control("control, 20 Mbit/s, 80 ms", long),
        control("control, RED that marks", World { queue: MARKS.into(), ..SHORT }),
    ];
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn every_stack() {
    let stack = |title: &str, ecn: &str, world: World| {
        table(Room::Stack, title, &|_, params| {
            let tcp = [ecn, params]
                .into_iter()
                .filter(|part| !part.is_empty() && (part == &params || !params.contains("ecn = ")));
            World { tcp: tcp.collect::<Vec<_>>().join(", "), ..world.clone() }
        })
    };
    let table = [
        stack("stack, 2 % of loss", "", World { link: "loss = 0.02", ..SHORT }),
        stack("stack, RED that marks", r#"ecn = "classic""#, World { queue: MARKS.into(), ..SHORT }),
    ];
    insta::assert_snapshot!(table.join("\n"));
}
