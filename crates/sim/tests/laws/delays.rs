//! Percentiles of delays: exact cases, exact values from a packet trace, and histograms.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::{Options, Outcome};
use serde_json::Value;

use crate::common::{Run, close, run};

/// Actions of a trace by number.
const SEND: f64 = 0.0;
const ARRIVE: f64 = 1.0;
const LEAVE: f64 = 2.0;
const DROP: f64 = 6.0;
const RECEIVE: f64 = 7.0;

const SHARES: [(&str, f64); 4] = [("p5", 0.05), ("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// Bounds of docs/metrics.md.
const OF_GROUPS: f64 = 0.008;
const OF_LINKS: f64 = 0.063;

/// 1500 B take 1 ms, the line 10 ms; nothing waits. The ACK of 52 B takes 34.667 µs.
#[test]
fn constant_delays_are_exact() {
    let text = r#"
duration = "5 s"
warmup = "1 s"
links.only = { rate = "12 Mbit/s", delay = "10 ms" }
groups.a = { users = 1, path = ["only"], traffic = { kind = "cbr", rate = "1.2 Mbit/s" } }
record.histograms = ["groups.a.delay", "links.only.queue.delay"]
"#;
    let r = run(text, 1);
    for what in ["p5", "p50", "p95", "p99", "max"] {
        assert_eq!(r.number(&format!("groups.a.delay_s_{what}")), 0.011, "{what}");
        assert!(r.number(&format!("links.only.queue_delay_s_{what}")) <= 1e-9, "{what}");
    }
    close(r.number("groups.a.delay_s_mean"), 0.011, 1e-12);
    let list = |name: &str, key: &str| r.outcome.record["histograms"][name][key].clone();
    let delivered = r.number("groups.a.delivered_packets");
    assert_eq!(list("groups.a.delay", "count"), serde_json::json!([delivered as u64]));
    let [low, high] =
        ["low_s", "high_s"].map(|key| list("groups.a.delay", key)[0].as_f64().expect("a number"));
    assert!(low <= 0.011 && 0.011 < high && high - low < OF_GROUPS * 0.011, "{low} {high}");
    assert!(r.maybe("groups.a.rtt_s_p50").is_none(), "no TCP, no round-trip times");
    assert_eq!(list("links.only.queue.delay", "low_s"), serde_json::json!([0.0]));
}

/// A window of one segment: each round trip is a segment of 1500 B, an ACK of 52 B and twice the line.
#[test]
fn a_round_trip_without_a_queue_is_exact() {
    let text = r#"
duration = "5 s"
warmup = "1 s"
links.only = { rate = "12 Mbit/s", delay = "10 ms" }
groups.a = { users = 1, path = ["only"], traffic = { kind = "bulk" }, tcp = { stack = "linux", max_window = "1448 B", ack_every = 1 } }
groups.b = { users = 1, path = ["only"], traffic = { kind = "bulk", start = "1000 s" } }
"#;
    let r = run(text, 1);
    let size = r.number("groups.a.throughput_bps") / 8.0 * 4.0 / r.number("groups.a.delivered_packets");
    let ack = size - 1448.0;
    let rtt = 0.02 + (size + ack) * 8.0 / 12e6;
    for what in ["p5", "p50", "p95", "p99", "max", "mean"] {
        close(r.number(&format!("groups.a.rtt_s_{what}")), rtt, 1e-6);
        assert!(r.value(&format!("groups.b.rtt_s_{what}")).is_null(), "{what}");
        assert!(r.value(&format!("groups.b.delay_s_{what}")).is_null(), "{what}");
    }
}

/// Bulk, a window of datagrams, echoes and pages on the same bottleneck, where timeouts are shorter than the queue.
/// `stage` and `queue` may use labels.
fn mixture(stage: &str, queue: &str, record: &str) -> String {
    format!(
        r#"
duration = "8 s"
warmup = "2 s"
links.access = {{ rate = "50 Mbit/s", delay = "1 ms", per = "user" }}
links.line = {{ rate = "3 Mbit/s", delay = "9 ms", queue = {queue} }}
{stage}
groups.bulk = {{ users = 2, path = ["access", {on_path} "line"], traffic = {{ kind = "bulk", flows = 2 }}, processing = {{ uniform = ["0 s", "1.2 ms"] }}, class = "low" }}
groups.noise = {{ users = 2, path = ["access", {on_path} "line"], traffic = {{ kind = "poisson", rate = "0.3 Mbit/s" }} }}
groups.pages = {{ users = 2, path = ["access", {on_path} "line"], traffic = {{ kind = "web", page_size = "60 kB", objects = 3, think = "300 ms" }}, tcp = {{ min_rto = "20 ms" }} }}
groups.ping = {{ users = 1, path = ["access", {on_path} "line"], traffic = {{ kind = "ping", interval = "20 ms" }} }}
[record]
{record}
"#,
        on_path = if stage.is_empty() { "" } else { "\"own\"," },
    )
}

const CASES: [(&str, &str, &str); 4] = [
    ("a long queue", "", r#"{ limit = "200 packets" }"#),
    ("fq-codel", "", r#"{ kind = "fq-codel" }"#),
    (
        "activity",
        r#"stages.own = { kind = "activity-meter", per = "user" }"#,
        r#"{ kind = "activity-aqm", limit = "60 packets" }"#,
    ),
    (
        "csfq",
        r#"stages.own = { kind = "csfq-edge", per = "user" }"#,
        r#"{ kind = "csfq", limit = "60 packets" }"#,
    ),
];

const GROUPS: [&str; 4] = ["bulk", "noise", "pages", "ping"];

fn by(text: &str, options: Options) -> Outcome {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"));
    evenflow_sim::run(&scenario, 5, options, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"))
}

/// By action: times of data packets of a flow under one number, oldest first. Copies keep their order.
type Sent = BTreeMap<(u64, u64, u64), VecDeque<f64>>;

/// Exact delays of a trace: of data packets to the end of the path by group, and in the queue of `line`.
fn exact(r: &Run, groups: &[usize]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let names = ["action", "flow", "seq", "payload", "backward", "link", "size"];
    let columns: Vec<&[f64]> = names.iter().map(|name| r.column(&format!("trace.{name}")).1).collect();
    let (opened, of_group) = (r.column("events.open.flow").1, r.column("events.open.group").1);
    let group: BTreeMap<u64, usize> =
        opened.iter().zip(of_group).map(|(flow, group)| (*flow as u64, *group as usize)).collect();
    let times = r.column("trace.action").0;
    let line = 1.0;
    let (mut sent, mut asked) = (Sent::new(), Sent::new());
    let (mut delays, mut waits) = (vec![Vec::new(); groups.len()], Vec::new());
    for (i, time) in times.iter().enumerate() {
        let [action, flow, seq, payload, backward, link, size] = [0, 1, 2, 3, 4, 5, 6].map(|c| columns[c][i]);
        let whose = (flow as u64, seq.to_bits(), payload as u64 + ((backward as u64) << 32));
        let inside = *time > 2.0;
        if action == SEND && payload > 0.0 {
            sent.entry(whose).or_default().push_back(*time);
        } else if action == RECEIVE && payload > 0.0 {
            let at = sent.get_mut(&whose).and_then(VecDeque::pop_front).expect("it was sent");
            if inside
                && let Some(to) = group.get(&(flow as u64)).and_then(|g| groups.iter().position(|o| o == g))
            {
                delays[to].push(time - at);
            }
        } else if action == DROP && payload > 0.0 {
            sent.get_mut(&whose).and_then(VecDeque::pop_front).expect("it was sent");
        }
        if link == line && backward == 0.0 {
            let key = (whose.0, whose.1, whose.2 + ((size as u64) << 40));
            if action == ARRIVE {
                asked.entry(key).or_default().push_back(*time);
            } else if action == DROP {
                asked.get_mut(&key).and_then(VecDeque::pop_front).expect("it arrived");
            } else if action == LEAVE {
                let at = asked.get_mut(&key).and_then(VecDeque::pop_front).expect("it arrived");
                let transmission = size * 8.0 / 3e6;
                if time - 0.009 - transmission > 2.0 {
                    waits.push(time - 0.009 - transmission - at);
                }
            }
        }
    }
    (delays, waits)
}

#[track_caller]
fn agree(r: &Run, metric: &str, mut all: Vec<f64>, bound: f64, what: &str) {
    all.sort_by(f64::total_cmp);
    let n = all.len() as f64;
    for (name, q) in SHARES {
        let rank = ((q * n).ceil() as usize).max(1);
        let (exact, found) = (all[rank - 1], r.number(&format!("{metric}_{name}")));
        assert!(
            (found - exact).abs() <= bound * exact + 3e-9,
            "{what}: {metric}_{name} is {found}, exactly {exact}"
        );
    }
    // Packets that a link transmits at the end of the window do not leave it in time to be traced.
    let share = if metric.starts_with("links") { 2e-3 } else { 1e-6 };
    close(r.number(&format!("{metric}_max")), all[all.len() - 1], share);
    close(r.number(&format!("{metric}_mean")), all.iter().sum::<f64>() / n, share);
}

/// Percentiles lie within the stated bound of those of a trace of the same run, on all paths of the engine.
#[test]
fn percentiles_are_those_of_a_trace() {
    let traced = r#"trace = ["groups.bulk", "groups.noise", "groups.pages", "groups.ping"]
events = ["open"]"#;
    for (name, stage, queue) in CASES {
        let r = Run::of(by(&mixture(stage, queue, traced), Options::default()));
        let (delays, waits) = exact(&r, &[0, 1, 2, 3]);
        for (group, delays) in GROUPS.iter().zip(delays) {
            assert_eq!(
                delays.len() as f64,
                r.number(&format!("groups.{group}.delivered_packets")),
                "{name}: {group}"
            );
            agree(&r, &format!("groups.{group}.delay_s"), delays, OF_GROUPS, name);
        }
        agree(&r, "links.line.queue_delay_s", waits, OF_LINKS, name);
        let [again, lost] = ["retransmits", "losses"].map(|what| r.number(&format!("groups.pages.{what}")));
        assert!(name != "a long queue" || again > lost, "no retransmission overtook an acknowledgement");
        for (eager, unfolded) in [(false, false), (true, false), (false, true)] {
            let plain =
                Run::of(by(&mixture(stage, queue, ""), Options { eager, unfolded, ..Options::default() }));
            assert_eq!(
                plain.value("groups"),
                r.value("groups"),
                "{name}, eager {eager}, unfolded {unfolded}"
            );
            assert_eq!(plain.value("links"), r.value("links"), "{name}, eager {eager}, unfolded {unfolded}");
        }
    }
}

/// The series of a flow agree with the record: round trips of one segment in flight, and states of recovery.
#[test]
fn series_of_a_flow_have_its_round_trips_and_states() {
    let text = |tcp: &str, queue: &str| {
        format!(
            r#"
duration = "8 s"
links.only = {{ rate = "12 Mbit/s", delay = "10 ms", queue = {{ limit = "{queue} packets" }} }}
groups.a = {{ users = 1, path = ["only"], traffic = {{ kind = "bulk" }}, tcp = {{ stack = "linux", {tcp} }} }}
[record]
series = [
    {{ of = "groups.a.users[0].flows[0].rtt", every = "3 ms" }},
    {{ of = "groups.a.users[0].flows[0].srtt", every = "3 ms" }},
    {{ of = "groups.a.users[0].flows[0].flight", every = "3 ms" }},
    {{ of = "groups.a.users[0].flows[0].recovery", every = "3 ms" }},
]
"#
        )
    };
    let series = |r: &Run, name: &str| r.column(&format!("groups.a.users[0].flows[0].{name}")).1.to_vec();
    let calm = run(&text(r#"max_window = "1448 B", ack_every = 1"#, "20"), 1);
    let rtt = series(&calm, "rtt")[100];
    close(calm.number("groups.a.rtt_s_p50"), rtt, 0.008);
    assert!(series(&calm, "rtt")[100..].iter().all(|x| *x == rtt), "{rtt}");
    assert!(series(&calm, "srtt")[1000..].iter().all(|x| (x - rtt).abs() < 1e-4), "{rtt}");
    assert!(series(&calm, "flight")[100..].iter().all(|x| *x == 1.0));
    assert!(series(&calm, "recovery").iter().all(|x| *x == 0.0));
    let lossy = run(&text("ack_every = 1", "20"), 1);
    assert!(lossy.number("groups.a.senders.reductions.loss") > 3.0);
    let states = series(&lossy, "recovery");
    let seen = |state: f64| states.iter().filter(|x| **x == state).count();
    assert!(seen(0.0) > seen(3.0) && seen(3.0) > 5, "{} {}", seen(0.0), seen(3.0));
    let [least, most] = ["p5", "max"].map(|what| lossy.number(&format!("groups.a.rtt_s_{what}")));
    let rtts = series(&lossy, "rtt");
    assert!(rtts[100..].iter().all(|x| *x <= most) && rtts.iter().any(|x| *x > least));
}

/// Series `names` of one flow every 3 ms, and the run.
fn of_one_flow(link: &str, traffic: &str, tcp: &str, names: &[&str]) -> (Run, Vec<Vec<f64>>) {
    let of = |name: &&str| format!(r#"{{ of = "groups.a.users[0].flows[0].{name}", every = "3 ms" }}"#);
    let series: Vec<String> = names.iter().map(of).collect();
    let text = format!(
        r#"
duration = "8 s"
links.only = {{ rate = "12 Mbit/s", delay = "10 ms", {link} }}
groups.a = {{ users = 1, path = ["only"], traffic = {{ {traffic} }}, tcp = {{ {tcp} }} }}
record.series = [{}]
"#,
        series.join(", ")
    );
    let r = run(&text, 1);
    let column = |name: &&str| r.column(&format!("groups.a.users[0].flows[0].{name}")).1.to_vec();
    let columns = names.iter().map(column).collect();
    (r, columns)
}

const BULK: &str = r#"kind = "bulk""#;

/// Without a queue, a window arrives in each round trip; with one, segments arrive at the rate of the link.
#[test]
fn the_delivery_rate_is_that_of_the_path() {
    for control in ["newreno", "cubic"] {
        let tcp = format!(
            r#"stack = "linux", max_window = "5792 B", ack_every = 1, congestion_control = "{control}""#
        );
        let (_, columns) = of_one_flow("", BULK, &tcp, &["delivery_rate", "rtt"]);
        // The last of four segments has waited for three: the rate is that of a window in a round trip.
        let (rate, rtt) = (columns[0][2000], columns[1][2000]);
        close(rate, 4.0 * 1448.0 * 8.0 / rtt, 1e-4);
        assert!(columns[0][..3].iter().all(|x| x.is_nan()), "no sample in the first 9 ms");
    }
    let link = r#"queue = { limit = "50 packets" }"#;
    let full = r#"stack = "linux", ack_every = 1"#;
    let (r, columns) = of_one_flow(link, BULK, full, &["delivery_rate"]);
    let late = &columns[0][1000..];
    close(late.iter().sum::<f64>() / late.len() as f64, 12e6 * 1448.0 / 1500.0, 0.01);
    assert!(r.number("groups.a.senders.reductions.loss") > 0.0);
}

/// A sender that takes samples for a series alone sends what it would send without.
#[test]
fn samples_of_the_delivery_rate_change_nothing() {
    let link = r#"loss = 0.01, queue = { kind = "red", action = "mark", limit = "30 packets", min_threshold = "5 packets", max_threshold = "15 packets" }"#;
    let stacks = [
        r#"stack = "rfc""#,
        r#"stack = "rfc", sack = false"#,
        r#"stack = "linux", ecn = "classic""#,
        r#"stack = "linux3.2""#,
        r#"stack = "linux", congestion_control = "prague", ecn = "accurate""#,
        r#"stack = "linux", congestion_control = "bbr""#,
    ];
    let echo = r#"kind = "request-response", response = "80 kB", think = "100 ms""#;
    for tcp in stacks {
        for traffic in [BULK, echo] {
            let (plain, _) = of_one_flow(link, traffic, tcp, &[]);
            let (with, columns) = of_one_flow(link, traffic, tcp, &["delivery_rate"]);
            assert_eq!(plain.value("groups"), with.value("groups"), "{tcp} {traffic}");
            assert!(columns[0].iter().any(|x| *x > 1e5), "{tcp} {traffic}");
        }
    }
}

/// The state of the application limit agrees with the record's time; the window is the advertised one.
#[test]
fn the_limits_of_a_sender_can_be_followed() {
    let echo = r#"kind = "request-response", response = "80 kB", think = "100 ms""#;
    let tcp = r#"stack = "linux", max_window = "28960 B""#;
    let names = ["app_limited", "receive_window", "flight"];
    let (r, columns) = of_one_flow("", echo, tcp, &names);
    let share = columns[0].iter().filter(|x| **x == 1.0).count() as f64 * 3e-3;
    // The client's sender is counted too: it has nothing to send except requests.
    let client = r.number("groups.a.senders.limited_s.application") - share;
    assert!((2.0..7.0).contains(&share) && (7.9..8.0).contains(&client), "{share} {client}");
    let open = columns[1].iter().zip(&columns[2]).filter(|(window, _)| !window.is_nan());
    assert!(
        open.clone().count() > 2000
            && open.clone().all(|(window, flight)| *window == 20.0 && window >= flight)
    );
    let (_, bulk) = of_one_flow("", BULK, tcp, &names);
    assert!(bulk[0][10..].iter().all(|x| *x == 0.0) && bulk[1][10..].iter().all(|x| *x == 20.0));
}

const ALL: &str = r#"histograms = [
    "links.line.queue.delay", "links.line.classes.low.queue.delay", "groups.bulk.delay", "groups.bulk.users.delay",
    "groups.bulk.rtt", "groups.pages.rtt", "groups.bulk.classes.low.delay", "groups.noise.classes.be.delay",
    "groups.pages.transfers.completion", "groups.pages.transfers.first_byte",
]"#;

/// The counts of a histogram by the beginning of their bins, ns.
fn counts(r: &Run, name: &str) -> BTreeMap<u64, u64> {
    let table = &r.outcome.record["histograms"][name];
    let list = |key: &str| table[key].as_array().unwrap_or_else(|| panic!("no {name}.{key}"));
    let (low, high) = (list("low_s"), list("high_s"));
    let edges =
        low.iter().zip(high).map(|(l, h)| (l.as_f64().expect("a number"), h.as_f64().expect("a number")));
    let one = |n: &Value| match n {
        Value::Array(users) => users.iter().filter_map(Value::as_u64).sum(),
        n => n.as_u64().expect("a count"),
    };
    let by_bin: Vec<u64> = match list("count").first() {
        Some(Value::Array(_)) => {
            (0..low.len()).map(|bin| list("count").iter().map(|user| one(&user[bin])).sum()).collect()
        }
        _ => list("count").iter().map(one).collect(),
    };
    assert_eq!((by_bin.len(), high.len()), (low.len(), low.len()), "{name}");
    assert!(edges.clone().all(|(low, high)| low < high), "{name}");
    let edges: Vec<f64> = edges.map(|(low, _)| low).collect();
    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
    edges.iter().zip(by_bin).map(|(low, n)| ((low * 1e9).round() as u64, n)).collect()
}

fn total(counts: &BTreeMap<u64, u64>) -> f64 {
    counts.values().sum::<u64>() as f64
}

/// A histogram changes neither the rest of the record nor how much is folded, and has what the record counts.
#[test]
fn histograms_change_nothing_and_count_all() {
    for (name, stage, queue) in CASES {
        let plain = by(&mixture(stage, queue, ""), Options::default());
        let with = by(&mixture(stage, queue, ALL), Options::default());
        assert_eq!(plain.folded, with.folded, "{name}");
        let (plain, with) = (Run::of(plain), Run::of(with));
        for part in ["stages", "links.access", "groups.noise", "links.line.reverse", "links.line.drops"] {
            assert_eq!(plain.value(part), with.value(part), "{name}: {part}");
        }
        for metric in
            ["links.line.queue_delay_s_p50", "links.line.arrived_packets", "links.line.delivered_packets"]
        {
            assert_eq!(plain.value(metric), with.value(metric), "{name}: {metric}");
        }
        assert_eq!(total(&counts(&with, "groups.bulk.delay")), with.number("groups.bulk.delivered_packets"));
        assert_eq!(counts(&with, "groups.bulk.users.delay"), counts(&with, "groups.bulk.delay"), "{name}");
        assert!(total(&counts(&with, "groups.bulk.rtt")) > 100.0, "{name}");
        let (all, low) =
            (counts(&with, "links.line.queue.delay"), counts(&with, "links.line.classes.low.queue.delay"));
        assert!(low.iter().all(|(bin, n)| all.get(bin).is_some_and(|all| n <= all)), "{name}");
        let delivered = with.number("links.line.classes.low.delivered_packets");
        assert!((total(&low) - delivered).abs() <= 1.0, "{name}");
        let class = |what: &str| with.number(&format!("links.line.classes.low.queue_delay_s_{what}"));
        assert!(class("p5") <= class("p50") && class("p50") <= class("p99") && class("p99") <= class("max"));
        assert!(with.maybe("links.line.classes.be.queue_delay_s_p50").is_none());
        let users =
            |what: &str| [0, 1].map(|u| with.number(&format!("groups.bulk.users_delay_s_{what}.{u}")));
        let group = with.number("groups.bulk.delay_s_p50");
        let [a, b] = users("p50");
        assert!(a.min(b) <= group * 1.008 && group <= a.max(b) * 1.008, "{name}: {a} {b} {group}");
    }
}

/// Times of transfers agree with the record's percentiles, which have the same bins.
#[test]
fn times_of_transfers_have_a_histogram() {
    let (_, stage, queue) = CASES[0];
    let longer = mixture(stage, queue, ALL).replace("duration = \"8 s\"", "duration = \"40 s\"");
    let r = Run::of(by(&longer, Options::default()));
    let transfers = |what: &str| r.number(&format!("groups.pages.transfers.{what}"));
    for name in ["completion", "first_byte"] {
        let found = counts(&r, &format!("groups.pages.transfers.{name}"));
        assert_eq!(total(&found), transfers("completed"), "{name}");
        assert!(total(&found) > 5.0);
        for (what, share) in [("p50", 0.5), ("p95", 0.95)] {
            let mut below = 0;
            let bin = found.iter().find(|(_, n)| {
                below += **n;
                below as f64 >= share * total(&found)
            });
            let low = *bin.expect("a bin").0 as f64 / 1e9;
            let recorded = transfers(&format!("{name}_s_{what}"));
            assert!(
                low <= recorded * (1.0 + 1e-9) && recorded <= low * 1.004,
                "{name} {what}: {low} {recorded}"
            );
        }
    }
}

/// Delays of a group's classes add up to those of the group, and the scheduler's favourite has the shorter ones.
#[test]
fn classes_of_a_group_have_their_delays() {
    let text = r#"
duration = "8 s"
warmup = "1 s"
links.line = { rate = "3 Mbit/s", delay = "9 ms", queue = { limit = "50 packets", scheduler = { kind = "strict", order = ["voice", "data"] } } }
groups.home = { users = 2, path = ["line"], traffic = [
    { kind = "bulk", class = "data" }, { kind = "cbr", rate = "100 kbit/s", packet = "200 B", class = "voice" },
] }
groups.other = { users = 1, path = ["line"], traffic = { kind = "cbr", rate = "100 kbit/s", class = "voice" } }
record.histograms = ["groups.home.delay", "groups.home.classes.voice.delay", "groups.home.classes.data.delay"]
"#;
    let r = run(text, 1);
    let of = |name: &str| counts(&r, &format!("groups.home.{name}"));
    let (mut sum, data) = (of("classes.voice.delay"), of("classes.data.delay"));
    assert!(total(&sum) > 700.0 && total(&data) > 1000.0, "{} {}", total(&sum), total(&data));
    let longest = |of: &BTreeMap<u64, u64>| *of.keys().last().expect("packets");
    assert!(longest(&sum) < 25_000_000 && longest(&data) > 80_000_000);
    data.into_iter().for_each(|(bin, n)| *sum.entry(bin).or_default() += n);
    assert_eq!(sum, of("delay"));
}

/// Bins have fixed edges: those of two windows add up to those of both.
#[test]
fn histograms_can_be_merged() {
    let (_, stage, queue) = CASES[0];
    let of = |from: u32, to: u32| {
        let text = mixture(stage, queue, ALL);
        let text = text.replace("warmup = \"2 s\"", &format!("warmup = \"{from} s\""));
        Run::of(by(
            &text.replace("duration = \"8 s\"", &format!("duration = \"{to} s\"")),
            Options::default(),
        ))
    };
    let [first, second, whole] = [(0, 3), (3, 8), (0, 8)].map(|(from, to)| of(from, to));
    let transfers = ["completion", "first_byte"].map(|name| format!("groups.pages.transfers.{name}"));
    let packets = ["links.line.queue.delay", "groups.bulk.delay", "groups.bulk.rtt", "groups.pages.rtt"];
    for name in packets.into_iter().chain(transfers.iter().map(String::as_str)) {
        let mut sum = counts(&first, name);
        counts(&second, name).into_iter().for_each(|(bin, n)| *sum.entry(bin).or_default() += n);
        assert_eq!(sum, counts(&whole, name), "{name}");
    }
}
