//! Lazy and eager service are two computations of one physics.

use crate::common::{Run, run, run_by};

/// Every admission rule that decides at enqueue, with the stage that labels its packets.
const RULES: [(&str, &str, &str); 26] = [
    ("drop-tail, packets", "rate-meter", r#"{ kind = "droptail", limit = "24 packets" }"#),
    ("drop-tail, bytes", "rate-meter", r#"{ kind = "droptail", limit = "30 kB" }"#),
    ("drop-tail, time", "rate-meter", r#"{ kind = "droptail", limit = "60 ms" }"#),
    ("activity", "activity-meter", r#"{ kind = "activity-aqm", limit = "24 packets" }"#),
    ("activity, fair meter", "fair-activity-meter", r#"{ kind = "activity-aqm", limit = "24 packets" }"#),
    (
        "activity, delay form",
        "activity-meter",
        r#"{ kind = "activity-aqm", limit = "90 ms", q_min = "44 ms", q_base = "73 ms", gamma = "58 ms" }"#,
    ),
    (
        "activity, over received",
        "activity-meter",
        r#"{ kind = "activity-aqm", limit = "24 packets", average_over = "received" }"#,
    ),
    ("csfq", "csfq-edge", r#"{ kind = "csfq", limit = "24 packets" }"#),
    (
        "csfq, paper",
        "csfq-edge",
        r#"{ kind = "csfq", limit = "24 packets", form = "paper", q_min = "6 packets" }"#,
    ),
    ("red, ns2", "rate-meter", r#"{ kind = "red", limit = "24 packets" }"#),
    (
        "red, ns2, marking from a length on",
        "rate-meter",
        r#"{ kind = "red", limit = "24 packets", action = "mark-everything", mark_all_above = "9 packets" }"#,
    ),
    (
        "red, ns3, bytes",
        "rate-meter",
        r#"{ kind = "red", limit = "24 packets", variant = "ns3", action = "mark", max_threshold = "14 kB" }"#,
    ),
    (
        "red, linux",
        "rate-meter",
        r#"{ kind = "red", limit = "40 kB", variant = "linux", action = "mark", max_threshold = "39 kB" }"#,
    ),
    (
        "red, linux, steep",
        "rate-meter",
        r#"{ kind = "red", limit = "24 packets", variant = "linux", weight = 0.2, max_probability = 0.5, min_threshold = "3 packets" }"#,
    ),
    (
        "red, floyd",
        "rate-meter",
        r#"{ kind = "red", limit = "24 packets", variant = "floyd", weight = 0.02 }"#,
    ),
    ("virtual queue", "rate-meter", r#"{ kind = "virtual-queue", limit = "24 packets" }"#),
    (
        "virtual queue, overflow, bytes",
        "rate-meter",
        r#"{ kind = "virtual-queue", limit = "24 packets", mark = "overflow", buffer = "20 kB", action = "mark" }"#,
    ),
    (
        "load-based",
        "rate-meter",
        r#"{ kind = "load-based", limit = "24 packets", interval = "70 ms", action = "mark", gain = 0.2 }"#,
    ),
    (
        "load-based, sliding",
        "rate-meter",
        r#"{ kind = "load-based", limit = "24 packets", window = "sliding", target = 0.8 }"#,
    ),
    (
        "constant probability",
        "rate-meter",
        r#"{ kind = "constant-probability", limit = "24 packets", probability = 0.01, action = "mark" }"#,
    ),
    // An update in each nanosecond that is a multiple of 0.3636 ms, a tenth of a packet: some strike as packets come and go.
    (
        "rem",
        "rate-meter",
        r#"{ kind = "rem", limit = "24 packets", period = "363636 ns", target = "8 packets", gain = 0.2 }"#,
    ),
    (
        "rem, marking",
        "rate-meter",
        r#"{ kind = "rem", limit = "24 packets", target = "8 packets", base = 1.01, action = "mark" }"#,
    ),
    (
        "pie",
        "rate-meter",
        r#"{ kind = "pie", limit = "24 packets", latency = "link-rate", target = "20 ms", max_burst = "30 ms" }"#,
    ),
    // An update in each nanosecond that is a multiple of 0.3636 ms, as above.
    (
        "pie, derandomised",
        "rate-meter",
        r#"{ kind = "pie", limit = "24 packets", latency = "link-rate", period = "363636 ns", target = "20 ms", derandomize = true, cap = true, ecn_threshold = 0.05 }"#,
    ),
    ("random loss", "rate-meter", r#"{ limit = "24 packets" }"#),
    ("random loss and red", "rate-meter", r#"{ kind = "red", limit = "24 packets", variant = "floyd" }"#),
];

/// The rules among them whose marks come back one by one.
const TOLD_OF_EACH_MARK: [&str; 5] = [
    "red, ns2, marking from a length on",
    "red, linux",
    "virtual queue, overflow, bytes",
    "load-based",
    "constant probability",
];

/// What else a path may have.
#[derive(Clone, Copy)]
struct Extras<'a> {
    processing: &'a str,
    access: &'a str,
    bottleneck: &'a str,
    groups: &'a str,
}

const PLAIN: Extras = Extras { processing: "", access: r#"delay = "0.1 ms""#, bottleneck: "", groups: "" };

fn scenario((name, stage, queue): (&str, &str, &str), with: Extras) -> String {
    let Extras { processing, access, bottleneck, groups } = with;
    // Markers get something to mark: some meet connections that are told of each mark, the others RFC 3168's.
    let (stack, ecn) = match name {
        _ if !queue.contains("mark") => ("ns3.26", "off"),
        _ if TOLD_OF_EACH_MARK.contains(&name) => ("rfc", "accurate"),
        _ => ("ns2", "classic"),
    };
    let loss = if name.contains("loss") {
        r#"loss = { probability = 0.02, from = "2.5 s", until = "11 s", direction = "both" }"#
    } else {
        ""
    };
    format!(
        r#"
duration = "12 s"
warmup = "3 s"

[links.access]
rate = "100 Mbit/s"
{access}
per = "user"
queue = {{ kind = "droptail", limit = "50 packets" }}

[stages.label]
kind = "{stage}"
per = "user"

# No packet takes a whole number of nanoseconds: 1500 bytes are 3636363.63…
[links.bottleneck]
rate = "3.3 Mbit/s"
delay = "7 ms"
queue = {queue}
{bottleneck}
{loss}

[groups.heavy]
users = 2
path = ["access", "label", "bottleneck"]
traffic = {{ kind = "bulk", flows = 4, start = {{ uniform = ["0 s", "2 s"] }} }}
tcp = {{ stack = "{stack}", ecn = "{ecn}" }}
{processing}

[groups.light]
users = 3
path = ["access", "label", "bottleneck"]
traffic = {{ kind = "bulk", start = {{ uniform = ["0 s", "2 s"] }} }}
tcp = {{ stack = "{stack}", ecn = "{ecn}" }}

[groups.noise]
users = 1
path = ["access", "label", "bottleneck"]
traffic = {{ kind = "poisson", rate = "1.5 Mbit/s", packet = {{ exponential = "700 B" }}, ecn_capable = true }}

[groups.tick]
users = 1
path = ["access", "label", "bottleneck"]
traffic = {{ kind = "cbr", rate = "0.6 Mbit/s", packet = "1500 B" }}
{groups}
"#
    )
}

#[track_caller]
fn same(text: &str, seed: u64, what: &str) -> Run {
    let (lazy, events) = (run_by(text, seed, false), run_by(text, seed, true));
    for part in ["groups", "links", "stages", "histograms"] {
        assert_eq!(lazy.value(part), events.value(part), "{what}, seed {seed}: {part}");
    }
    assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash, "{what}, seed {seed}");
    assert!(lazy.number("events") < events.number("events"), "{what}: service was not eager");
    assert_eq!(lazy.number("packet_hops"), events.number("packet_hops"), "{what}");
    lazy
}

#[test]
fn every_rule_gives_one_record_on_both_paths() {
    for (name, stage, queue) in RULES {
        for seed in [1, 2, 3] {
            let run = same(&scenario((name, stage, queue), PLAIN), seed, name);
            let decisions = run.drops("bottleneck") + run.marks("bottleneck");
            assert!(decisions > 20.0, "{name}: nothing was at stake");
            let own = ["red", "virtual", "load", "constant", "rem", "pie"]
                .iter()
                .any(|rule| name.starts_with(rule));
            if own {
                let limit =
                    run.value("links.bottleneck.drops").get("limit").and_then(serde_json::Value::as_f64);
                assert!(
                    decisions > limit.unwrap_or(0.0) + 20.0,
                    "{name}: its own decisions were not at stake"
                );
            }
            if name.contains("loss") {
                assert!(run.number("links.bottleneck.drops.loss") > 20.0, "{name}");
                assert!(run.number("links.bottleneck.reverse.drops.loss") > 5.0, "{name}");
            }
        }
    }
}

#[test]
fn both_paths_agree_with_processing() {
    let processing = r#"processing = { uniform = ["0 s", "1.2 ms"] }"#;
    for (name, stage, queue) in RULES {
        same(&scenario((name, stage, queue), Extras { processing, ..PLAIN }), 4, name);
    }
}

#[test]
fn both_paths_agree_where_copies_differ() {
    let access = r#"delay = { uniform = ["0.1 ms", "30 ms"] }"#;
    for (name, stage, queue) in RULES {
        same(&scenario((name, stage, queue), Extras { access, ..PLAIN }), 5, name);
    }
    let access =
        "delay = \"1 ms\"\nreverse = { rate = \"20 Mbit/s\", delay = { uniform = [\"1 ms\", \"9 ms\"] } }";
    same(&scenario(RULES[0], Extras { access, ..PLAIN }), 5, "reverse delays of their own");
}

#[test]
fn both_paths_agree_where_acks_are_lost() {
    // What the noise leaves to TCP makes 25 kbit/s of ACKs; 13 kbit/s are too few.
    let bottleneck = r#"reverse = { rate = "13 kbit/s", delay = "3 ms", queue = { kind = "droptail", limit = "5 packets" } }"#;
    for (name, stage, queue) in RULES {
        let run = same(&scenario((name, stage, queue), Extras { bottleneck, ..PLAIN }), 6, name);
        assert!(run.number("links.bottleneck.reverse.drops.limit") > 5.0, "{name}");
    }
}

#[test]
fn both_paths_agree_where_a_link_is_crossed_both_ways() {
    let groups = r#"
[groups.upload]
users = 2
path = ["access", "-bottleneck"]
traffic = { kind = "bulk", flows = 2 }
tcp = { stack = "ns3.26" }
"#;
    let bottleneck = r#"reverse = { rate = "2.7 Mbit/s", delay = "3 ms", queue = { limit = "20 packets" } }"#;
    for (name, stage, queue) in RULES {
        let run = same(&scenario((name, stage, queue), Extras { groups, bottleneck, ..PLAIN }), 7, name);
        assert!(run.number("groups.upload.throughput_bps") > 0.2e6, "{name}");
        assert!(run.number("links.bottleneck.reverse.drops.limit") > 0.0, "{name}");
    }
}

#[test]
fn both_paths_agree_on_what_is_recorded() {
    let groups = r#"
[record]
series = [
    { of = "links.bottleneck.queue.packets", every = "10 ms" },
    { of = "links.bottleneck.queue.wait", every = "packet" },
    { of = "links.bottleneck.delivered_bytes", every = "100 ms" },
    { of = "links.bottleneck.drops", every = "100 ms" },
OBSERVED
    { of = "links.access[*].queue.packets", every = "50 ms" },
    { of = "groups.heavy.users[*].flows[*].window", every = "100 ms" },
    { of = "groups.light.users[0].flows[0].received_bytes", every = "100 ms" },
]
histograms = ["links.bottleneck.queue.packets", "links.bottleneck.queue.at_drop"]
events = ["drop", "mark", "arrival"]
"#;
    for (name, stage, queue) in RULES {
        let observables = match queue.split('"').nth(1) {
            Some("red") => vec!["average", "count"],
            Some("virtual-queue") => vec!["virtual_length"],
            Some("load-based") => vec!["load"],
            Some("rem") => vec!["price"],
            _ => vec![],
        };
        let of = |o: &str| format!("    {{ of = \"links.bottleneck.queue.{o}\", every = \"13 ms\" }},\n");
        let groups = &groups.replace("OBSERVED\n", &observables.into_iter().map(of).collect::<String>());
        same(&scenario((name, stage, queue), Extras { groups, ..PLAIN }), 8, name);
    }
}

/// Packets that are lost on their way when the run ends have not crossed the link.
#[test]
fn both_paths_count_the_same_crossings_where_losses_go_on_to_the_end() {
    let bottleneck = r#"loss = { probability = 0.3, direction = "both" }"#;
    for seed in 1..=100 {
        let text = scenario(RULES[0], Extras { bottleneck, ..PLAIN }).replace("12 s", "4 s");
        let run = same(&text, seed, "losses to the end");
        assert!(run.number("links.bottleneck.drops.loss") > 20.0);
    }
}

/// With one class, one user or one flow every scheduler is FIFO.
#[test]
fn a_scheduler_with_one_queue_is_fifo() {
    let text = |scheduler: &str| {
        format!(
            r#"
duration = "20 s"
warmup = "5 s"
links.access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
links.bottleneck = {{ rate = "3.3 Mbit/s", delay = "9 ms", queue = {{ limit = "20 packets"{scheduler} }} }}
groups.all = {{ users = 1, path = ["access", "bottleneck"], traffic = {{ kind = "bulk", flows = 5 }}, tcp = {{ stack = "ns3.26" }}, processing = {{ uniform = ["0 s", "1 ms"] }} }}
"#
        )
    };
    let fifo = run(&text(""), 1);
    assert!(fifo.drops("bottleneck") > 20.0);
    for scheduler in [
        r#"{ kind = "fifo" }"#,
        r#"{ kind = "strict", order = ["be"] }"#,
        r#"{ kind = "medf", offsets = { be = "20 ms" } }"#,
        r#"{ kind = "drr", per = "user", quantum = "300 B" }"#,
        r#"{ kind = "drr", per = "class", overflow = "arriving" }"#,
    ] {
        let other = run(&text(&format!(", scheduler = {scheduler}")), 1);
        assert_eq!(fifo.value("groups"), other.value("groups"), "{scheduler}");
        assert_eq!(fifo.value("links"), other.value("links"), "{scheduler}");
    }
}
