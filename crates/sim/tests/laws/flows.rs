//! Flows that are opened on the way: exact laws of their transfers, and what must not depend on the places they take.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::Options;
use serde_json::Value;

use crate::common::{Run, close, run};

/// A user whose flows have an empty network to themselves: no ACK waits, no handshake, a window of two packets.
fn alone(traffic: &str, more: &str) -> String {
    format!(
        r#"
duration = "50 s"
[links.path]
rate = "100 Mbit/s"
delay = "50 ms"
[groups.users]
users = 1
path = ["path"]
traffic = {traffic}
tcp = {{ stack = "rfc", handshake = "none", ack_every = 1, initial_window = "2 packets"{more} }}
"#
    )
}

fn transfers(run: &Run, name: &str) -> f64 {
    run.number(&format!("groups.users.transfers.{name}"))
}

/// Ten packets with a window of two and a round trip of 100 ms: 2, 4 and the last 4, 300 ms and what transmission takes.
#[test]
fn ten_packets_take_three_round_trips() {
    let run = run(&alone(r#"{ kind = "short-flows", size = "14480 B", interval = "5 s" }"#, ""), 1);
    // Of 1500 bytes a transmission takes 120 us, of an ACK of 52 bytes 4.16 us. The tenth packet is the last of four that two ACKs
    // of the second round release, which are 120 us apart: it waits for the eighth and the ninth.
    let packet = 120e-6;
    let third_packet_acknowledged = 2.0 * (packet + 50e-3 + 4.16e-6 + 50e-3);
    let last = third_packet_acknowledged + 4.0 * packet + 50e-3 + 4.16e-6 + 50e-3;
    assert_eq!(transfers(&run, "completed"), 9.0);
    for statistic in ["mean", "p50", "p95", "p99", "max"] {
        let took = transfers(&run, &format!("completion_s_{statistic}"));
        assert!((took - last).abs() < 1e-8, "{statistic}: {took} is not {last}");
    }
    assert!(transfers(&run, "completion_s_sd") < 1e-8);
    close(transfers(&run, "first_byte_s_mean"), packet + 50e-3, 1e-6);
    assert_eq!(transfers(&run, "bytes"), 9.0 * 14_480.0);
}

/// With a handshake the same transfer takes a round trip more.
#[test]
fn a_handshake_is_a_round_trip() {
    let traffic = r#"{ kind = "short-flows", size = "14480 B", interval = "5 s" }"#;
    let without = run(&alone(traffic, ""), 1);
    let with = run(&alone(traffic, "").replace("handshake = \"none\", ", ""), 1);
    // SYN and SYN-ACK are 60 bytes, and the ACK of the SYN-ACK goes before the data.
    let longer = transfers(&with, "completion_s_mean") - transfers(&without, "completion_s_mean");
    close(longer, 100e-3 + 2.0 * 4.8e-6 + 4.16e-6, 1e-6);
}

/// An echo takes two transmissions of 84 bytes (6.72 us each) and a round trip, also where no user has TCP.
#[test]
fn an_echo_is_a_round_trip() {
    let text = alone(r#"{ kind = "ping" }"#, "");
    let without_tcp: Vec<&str> = text.lines().filter(|line| !line.starts_with("tcp")).collect();
    let run = run(&without_tcp.join("\n"), 1);
    assert_eq!(transfers(&run, "completed"), 50.0);
    for statistic in ["mean", "p50", "max"] {
        close(transfers(&run, &format!("completion_s_{statistic}")), 100e-3 + 2.0 * 6.72e-6, 1e-8);
    }
}

/// Every way in which flows can arrive.
fn processes() -> Vec<(&'static str, String)> {
    // Users who open at one instant again and again would meet at the queue each time.
    let own = |law: &str| {
        format!(
            r#"traffic = {{ kind = "short-flows", size = "20 kB", start = {{ uniform = ["0 s", "200 ms"] }}, interval = {law} }}"#
        )
    };
    let mut all: Vec<(&str, String)> = [
        ("constant", r#""201.7 ms""#),
        ("exponential", r#"{ exponential = "200 ms" }"#),
        ("uniform", r#"{ uniform = ["100 ms", "300 ms"] }"#),
        ("normal", r#"{ normal = ["200 ms", "40 ms"] }"#),
        ("gamma", r#"{ gamma = ["200 ms", 0.5] }"#),
        ("pareto", r#"{ pareto = ["200 ms", 2.5] }"#),
        ("lognormal", r#"{ lognormal = ["200 ms", 1] }"#),
    ]
    .map(|(name, law)| (name, own(law)))
    .to_vec();
    all.push(("shared", r#"traffic = { kind = "short-flows", size = "20 kB", arrivals = "all" }"#.into()));
    all
}

/// Little's law: transfers in progress = arrivals per second times duration, within the edges of the window.
#[test]
fn littles_law_of_every_arrival_process() {
    for (name, traffic) in processes() {
        let arrivals = match name {
            "shared" => "[arrivals.all]\ninterval = { gamma = [\"40 ms\", 2] }\n",
            _ => "",
        };
        let text = format!(
            r#"
duration = "300 s"
warmup = "20 s"
[links.path]
rate = "8 Mbit/s"
delay = "30 ms"
queue = {{ limit = "40 packets" }}
{arrivals}
[groups.users]
users = 5
path = ["path"]
{traffic}
"#
        );
        let run = run(&text, 3);
        let in_progress = transfers(&run, "in_progress_mean") * 280.0;
        let users: f64 = run
            .value("groups.users.transfers.users_completion_s")
            .as_array()
            .map_or(0.0, |list| list.iter().filter_map(Value::as_f64).sum());
        let completed = transfers(&run, "completed");
        close(users, completed * transfers(&run, "completion_s_mean"), 1e-9);
        // Transfers that are in progress at an edge count on one side only: no more than there ever are, and no longer than any takes.
        let edges = 2.0 * transfers(&run, "completion_s_max") * 40.0;
        assert!(completed > 5_000.0, "{name}: {completed}");
        assert!((in_progress - users).abs() < edges.min(0.02 * users), "{name}: {in_progress}, {users}");
        assert_eq!(transfers(&run, "failed") + transfers(&run, "abandoned"), 0.0, "{name}");
    }
}

/// The response-time law of closed users: throughput = users / (think + response).
#[test]
fn the_response_time_law_of_closed_users() {
    for (kind, size) in [
        ("request-response", r#"response = "60 kB""#),
        ("web", r#"page_size = "20 kB", object_size = "10 kB", objects = 4"#),
    ] {
        let text = format!(
            r#"
duration = "420 s"
warmup = "20 s"
[links.path]
rate = "5 Mbit/s"
delay = "20 ms"
queue = {{ limit = "60 packets" }}
[groups.users]
users = 12
path = ["path"]
traffic = {{ kind = "{kind}", {size}, think = {{ exponential = "1 s" }} }}
"#
        );
        let run = run(&text, 5);
        let (rate, response) = (transfers(&run, "completed") / 400.0, transfers(&run, "completion_s_mean"));
        // Mean of the thinking times that were drawn: 1 s with a standard error of 1 / sqrt(completed).
        let error = 1.0 / (rate * 400.0).sqrt();
        close(rate, 12.0 / (1.0 + response), 4.0 * error / (1.0 + response) + 0.01);
    }
}

/// Applications of all kinds through losses, and an end in the middle: `run` itself fails where bytes written are not bytes
/// delivered, in buffers or abandoned.
fn everything(queue: &str, end: &str) -> String {
    let traffic = [
        r#"{ kind = "short-flows", size = "30 kB", interval = { exponential = "300 ms" }, until = "15 s", end = "END" }"#,
        r#"{ kind = "request-response", response = "90 kB", think = "100 ms", until = "15 s", end = "END" }"#,
        r#"{ kind = "web", page_size = "20 kB", object_size = "30 kB", objects = 6, think = "1 s", until = "15 s", end = "END" }"#,
        r#"{ kind = "ping", until = "15 s" }"#,
    ];
    let mut text = format!(
        r#"
duration = "20 s"
warmup = "2 s"
[links.access]
rate = "20 Mbit/s"
delay = "1 ms"
per = "user"
[links.bottleneck]
rate = "6.1 Mbit/s"
delay = "9 ms"
queue = {queue}
reverse = {{ rate = "1 Mbit/s", queue = {{ limit = "20 packets" }} }}
loss = {{ probability = 0.01, direction = "both" }}
[arrivals.shared]
interval = {{ gamma = ["100 ms", 2] }}
[groups.bulk]
users = 2
path = ["access", "bottleneck"]
traffic = {{ kind = "bulk" }}
processing = {{ uniform = ["0 ms", "1 ms"] }}
[groups.shared]
users = 3
path = ["access", "bottleneck"]
traffic = {{ kind = "short-flows", size = {{ pareto = ["20 kB", 1.5] }}, arrivals = "shared" }}
weight = 2
"#
    );
    for (number, traffic) in traffic.iter().enumerate() {
        let (traffic, users) = (traffic.replace("END", end), number + 1);
        let _ = write!(
            text,
            "[groups.app{number}]\nusers = {users}\npath = [\"access\", \"bottleneck\"]\ntraffic = {traffic}\nprocessing = \"0.1 ms\"\n"
        );
    }
    text
}

const QUEUES: [&str; 7] = [
    r#"{ limit = "30 packets" }"#,
    r#"{ kind = "red", limit = "40 packets" }"#,
    r#"{ kind = "codel", limit = "60 packets" }"#,
    r#"{ kind = "fq-codel", limit = "60 packets" }"#,
    r#"{ limit = "40 packets", scheduler = { kind = "sfq" } }"#,
    r#"{ limit = "40 packets", scheduler = { kind = "drr", per = "user" } }"#,
    r#"{ limit = "60 packets", scheduler = { kind = "htb", per = "user", each = { rate = "0.6 Mbit/s", leaf = { kind = "sfq" } } } }"#,
];

fn by(text: &str, options: Options) -> Run {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"));
    let outcome = evenflow_sim::run(&scenario, 7, options, &AtomicBool::new(false))
        .unwrap_or_else(|e| panic!("{e}\nin\n{text}"));
    Run::of(outcome)
}

#[test]
fn every_kind_gives_one_record_on_both_paths_folded_or_not() {
    for queue in QUEUES {
        for end in ["close", "abort"] {
            let text = everything(queue, end);
            let run = by(&text, Options::default());
            for (eager, unfolded) in [(true, false), (false, true), (true, true)] {
                let other = by(&text, Options { eager, unfolded, ..Options::default() });
                for part in ["groups", "links"] {
                    for (name, one) in run.value(part).as_object().into_iter().flatten() {
                        for (field, value) in one.as_object().into_iter().flatten() {
                            let at = format!("{part}.{name}.{field}");
                            assert_eq!(value, other.value(&at), "{queue}, {end}, {eager}, {unfolded}: {at}");
                        }
                    }
                }
                assert_eq!(run.outcome.record_hash, other.outcome.record_hash, "{queue}, {end}");
            }
            for group in ["app0", "app1", "app2", "app3", "shared"] {
                let of = |name: &str| run.number(&format!("groups.{group}.transfers.{name}"));
                assert!(of("completed") >= 1.0, "{queue}, {end}: {group} completed {}", of("completed"));
                assert!(of("in_progress_mean") > 0.0);
            }
            let abandoned: f64 = ["app0", "app1", "app2"]
                .iter()
                .map(|g| run.number(&format!("groups.{g}.transfers.abandoned")))
                .sum();
            assert_eq!(abandoned > 0.0, end == "abort", "{queue}, {end}: {abandoned}");
        }
    }
}

/// A user that shares nothing with others does not feel them, although their flows take the places of his.
#[test]
fn the_places_of_flows_show_nowhere() {
    let text = |others: usize| {
        let mut text = r#"
duration = "30 s"
[links.own]
rate = "3 Mbit/s"
delay = "20 ms"
queue = { kind = "fq-codel", limit = "50 packets" }
[groups.users]
users = 3
path = ["own"]
traffic = [
  { kind = "short-flows", size = { lognormal = ["30 kB", 1] }, interval = { exponential = "250 ms" } },
  { kind = "web", page_size = "20 kB", object_size = "10 kB", objects = 5, think = { exponential = "1 s" } },
]
"#
        .to_owned();
        if others > 0 {
            let _ = write!(
                text,
                r#"
[links.other]
rate = "30 Mbit/s"
delay = "3 ms"
queue = {{ limit = "20 packets" }}
[groups.aside]
users = {others}
path = ["other"]
traffic = {{ kind = "short-flows", size = "20 kB", interval = {{ exponential = "70 ms" }} }}
"#
            );
        }
        text
    };
    let alone = run(&text(0), 2);
    for others in [1, 9] {
        let beside = run(&text(others), 2);
        assert_eq!(alone.value("groups.users"), beside.value("groups.users"));
        assert_eq!(alone.value("links.own"), beside.value("links.own"));
    }
}

/// Weights follow the user: two users ask for more than there is in many short flows, one has twice the other's share.
#[test]
fn shares_of_users_follow_their_weights_however_many_flows_they_open() {
    let schedulers =
        [r#"kind = "drr", per = "user""#, r#"kind = "htb", per = "user", each = { rate = "1.5 Mbit/s" }"#];
    for (number, scheduler) in schedulers.iter().enumerate() {
        let text = format!(
            r#"
duration = "100 s"
warmup = "20 s"
[links.path]
rate = "4 Mbit/s"
delay = "10 ms"
queue = {{ limit = "100 packets", scheduler = {{ {scheduler} }} }}
[groups.one]
users = 1
path = ["path"]
traffic = {{ kind = "short-flows", size = "30 kB", interval = {{ exponential = "20 ms" }} }}
[groups.two]
users = 1
path = ["path"]
weight = 2
traffic = {{ kind = "short-flows", size = "30 kB", interval = {{ exponential = "60 ms" }} }}
"#
        );
        let run = run(&text, 1);
        let [one, two] = ["one", "two"].map(|g| run.number(&format!("groups.{g}.throughput_bps")));
        if number == 0 {
            close(one + two, 4e6, 0.03);
            close(two / one, 2.0, 0.05);
        } else {
            // All of its rate, some of it for SYNs; the other finds the buffer full that they share.
            close(run.number("links.path.queue.leaves.sent_bytes.0") * 8.0 / 80.0, 1.5e6, 0.01);
            assert!(one < 1.5e6 && two < one);
        }
    }
}

#[test]
fn flows_are_listed_as_they_open_and_close() {
    let text = r#"
duration = "20 s"
[links.path]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { limit = "10 packets" }
[groups.users]
users = 2
path = ["path"]
traffic = [
  { kind = "bulk", flows = 2 },
  { kind = "short-flows", size = "10 kB", interval = { exponential = "1 s" }, until = "15 s", end = "abort" },
]
[record]
events = ["open", "close", "drop"]
"#;
    let run = run(text, 1);
    let (times, flows) = run.column("events.open.flow");
    let (_, numbers) = run.column("events.open.number");
    let (_, users) = run.column("events.open.user");
    assert!(times.is_sorted());
    assert_eq!(
        flows.iter().map(|f| *f as usize).collect::<std::collections::BTreeSet<_>>().len(),
        flows.len()
    );
    for user in [0.0, 1.0] {
        let own: Vec<f64> = numbers.iter().zip(users).filter(|(_, u)| **u == user).map(|(n, _)| *n).collect();
        let expected: Vec<f64> = (0..own.len()).map(|n| n as f64).collect();
        assert_eq!(own, expected, "a user numbers his flows as they open");
    }
    let (ends, closed) = run.column("events.close.flow");
    let (_, how) = run.column("events.close.how");
    for (flow, end) in closed.iter().zip(ends) {
        let at = flows.iter().position(|f| f == flow).expect("it was opened");
        assert!(times[at] < *end);
    }
    assert!(how.iter().filter(|how| **how == 0.0).count() > 10, "closed in order");
    let (_, dropped) = run.column("events.drop.flow");
    assert!(dropped.iter().all(|flow| flows.contains(flow)), "drops name flows as openings do");
    assert_eq!(
        run.value("groups.users.flows_throughput_bps").as_array().map(Vec::len),
        Some(4),
        "single flows"
    );
}

/// Section V of Sanhaji et al. 2015 (conex.md, M15 and M16): 166.7 flows a second, four of five of the heavy users; 7,500 datagrams a
/// second beside them, which RED drops as often as it marks what can be marked.
#[test]
fn short_flows_beside_ninety_megabits_of_datagrams() {
    let text = include_str!("../../../../examples/scenarios/short-flows.toml").replace("60 s", "20 s");
    let run = run(&text, 1);
    let started = |group: &str| run.number(&format!("groups.{group}.transfers.started"));
    let all = started("heavy") + started("light");
    // Gaps of shape 1 are exponential: the count has the deviation of its root.
    assert!((all - 20.0 / 6e-3).abs() < 4.0 * all.sqrt(), "{all}");
    assert!((started("heavy") - 0.8 * all).abs() < 4.0 * (0.16 * all).sqrt(), "{}", started("heavy"));
    let users: Vec<f64> = run
        .value("groups.heavy.transfers.users_started")
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let each = 0.8 * all / 10.0;
    assert!(users.iter().all(|n| (n - each).abs() < 4.5 * each.sqrt()), "{users:?}");
    let sent = run.number("groups.cross.sent_packets");
    // Gaps within half of their mean to either side have a deviation of 0.29 of it.
    assert!((sent - 20.0 * 7_500.0).abs() < 4.0 * 0.29 * sent.sqrt(), "{sent}");
    // 110 Mbit/s are offered: in the long run a ninth of the datagrams must go; the average takes a second or two to tell.
    let lost = run.number("groups.cross.loss_ratio");
    assert!((0.08..0.13).contains(&lost), "{lost}");
    let marked = run.number("groups.heavy.marks") / run.number("groups.heavy.delivered_packets");
    assert!((marked - lost).abs() < 0.02, "marked {marked}, dropped {lost}");
}
