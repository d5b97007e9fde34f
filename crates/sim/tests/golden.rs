//! What a networking person can judge at a glance: four schemes on the workloads every paper on fairness begins with.
//!
//! Numbers are rounded: rates to 10 kbit/s, queues to tenths of a packet. Seed 1, 100 s after 30 s of warm-up.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
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
