//! What is counted, where, and in which window.

use crate::common::{Run, close, run, run_by, sum};

/// TCP against noise through an odd rate, measured in `[warmup, duration]`.
fn measured(warmup: u32, duration: u32, queue: &str) -> String {
    format!(
        r#"
duration = "{duration} s"
warmup = "{warmup} s"

[links.access]
rate = "50 Mbit/s"
delay = "0.5 ms"
per = "user"
queue = {{ limit = "3 packets" }}

[stages.meter]
kind = "activity-meter"
per = "user"

[links.bottleneck]
rate = "7.7 Mbit/s"
delay = "11 ms"
queue = {queue}

[groups.heavy]
users = 2
path = ["access", "meter", "bottleneck"]
traffic = {{ kind = "bulk", flows = 4, start = {{ uniform = ["0 s", "3 s"] }} }}
tcp = {{ stack = "ns3.26" }}

[groups.noise]
users = 1
path = ["access", "meter", "bottleneck"]
traffic = {{ kind = "poisson", rate = "3 Mbit/s" }}

[record]
histograms = ["links.bottleneck.queue.packets", "links.bottleneck.queue.at_drop"]
"#
    )
}

/// Two windows that meet add up to the one that covers both: nothing at the seam is lost or counted twice.
#[test]
fn windows_add_up() {
    for queue in [
        r#"{ limit = "20 packets" }"#,
        r#"{ kind = "activity-aqm", limit = "24 packets" }"#,
        r#"{ limit = "20 packets", scheduler = { kind = "drr", per = "user" } }"#,
        r#"{ limit = "20 packets", scheduler = { kind = "sfq" } }"#,
        r#"{ limit = "60 packets", kind = "codel" }"#,
        r#"{ limit = "60 packets", kind = "pie" }"#,
        r#"{ limit = "60 packets", kind = "fq-codel" }"#,
    ] {
        let [first, second, whole] =
            [(5, 13), (13, 30), (5, 30)].map(|(from, to)| run(&measured(from, to, queue), 3));
        let (a, b) = (8.0 / 25.0, 17.0 / 25.0);
        let counts = [
            "links.bottleneck.arrived_packets",
            "links.bottleneck.delivered_packets",
            "links.bottleneck.reverse.delivered_packets",
            "links.bottleneck.classes.be.delivered_packets",
            "links.access.arrived_packets",
            "links.access.delivered_packets",
            "groups.heavy.sent_packets",
            "groups.heavy.delivered_packets",
            "groups.heavy.retransmits",
            "groups.heavy.losses",
            "groups.noise.losses",
            "stages.meter.passed_packets",
            "stages.meter.passed_bytes",
        ];
        for metric in counts {
            assert_eq!(
                first.number(metric) + second.number(metric),
                whole.number(metric),
                "{queue} {metric}"
            );
            assert!(whole.number(metric) > 0.0, "{metric}");
        }
        for link in ["access", "bottleneck"] {
            assert_eq!(first.drops(link) + second.drops(link), whole.drops(link), "{queue} {link}");
        }
        let averages = [
            "links.bottleneck.utilisation",
            "links.bottleneck.queue_packets_mean",
            "links.access.utilisation",
            "links.access.queue_packets_mean",
            "groups.heavy.goodput_bps",
            "groups.heavy.throughput_bps",
            "groups.noise.goodput_bps",
        ];
        for metric in averages {
            let sum = a * first.number(metric) + b * second.number(metric);
            close(sum, whole.number(metric), 1e-9);
        }
        let longest = "links.bottleneck.queue_delay_s_max";
        assert_eq!(first.number(longest).max(second.number(longest)), whole.number(longest));
        let at_drop = |r: &crate::common::Run| -> u64 {
            let n =
                r.outcome.record["histograms"]["links.bottleneck.queue.at_drop"].as_array().expect("a list");
            n.iter().filter_map(serde_json::Value::as_u64).sum()
        };
        assert_eq!(at_drop(&first) + at_drop(&second), at_drop(&whole));
        assert_eq!(at_drop(&whole) as f64, whole.drops("bottleneck"));
    }
}

/// What a link counts by traffic class adds up over the classes to what it counts in all, over windows that meet to the window
/// of both, and is the same on both paths: arrivals, deliveries, drops, marks, with queues that drop at arrival, at departure
/// and to make room, and with random loss.
#[test]
fn counts_by_class_add_up() {
    const CLASSES: [&str; 3] = ["be", "ef", "lost"];
    let text = |warmup: u32, duration: u32, queue: &str| {
        format!(
            r#"
duration = "{duration} s"
warmup = "{warmup} s"
links.access = {{ rate = "50 Mbit/s", delay = "0.5 ms", per = "user", queue = {{ limit = "3 packets" }}, loss = 0.01 }}
links.bottleneck = {{ rate = "7.7 Mbit/s", delay = "11 ms", queue = {queue}, reverse = {{ rate = "90 kbit/s", queue = {{ limit = "4 packets" }} }} }}
[groups.heavy]
users = 2
path = ["access", "bottleneck"]
traffic = {{ kind = "bulk", flows = 4, start = {{ uniform = ["0 s", "3 s"] }} }}
tcp = {{ ecn = "accurate" }}
[groups.noise]
users = 1
class = "ef"
path = ["access", "bottleneck"]
traffic = {{ kind = "poisson", rate = "3 Mbit/s" }}
[groups.blocked]
class = "lost"
users = 1
path = ["dead", "bottleneck"]
traffic = {{ kind = "cbr", rate = "1 Mbit/s" }}
[links.dead]
rate = "1 Mbit/s"
loss = 1.0
"#
        )
    };
    let table = |r: &Run, way: &str, of: &str| -> Vec<f64> {
        let one = |class: &&str| r.maybe(&format!("links.{way}.classes.{class}.{of}"));
        CLASSES.iter().map(|class| one(class).map_or(0.0, sum)).collect()
    };
    for queue in [
        r#"{ limit = "20 packets" }"#,
        r#"{ limit = "20 packets", scheduler = { kind = "drr", per = "user" } }"#,
        r#"{ limit = "20 packets", scheduler = { kind = "sfq" } }"#,
        r#"{ limit = "60 packets", kind = "codel", ce_threshold = "2 ms" }"#,
        r#"{ limit = "60 packets", kind = "pie" }"#,
        r#"{ limit = "60 packets", kind = "fq-codel" }"#,
    ] {
        let [first, second, whole] =
            [(5, 9), (9, 20), (5, 20)].map(|(from, to)| run(&text(from, to, queue), 3));
        let events = run_by(&text(5, 20, queue), 3, true);
        for way in ["access", "access.reverse", "bottleneck", "bottleneck.reverse", "dead"] {
            for of in ["arrived_packets", "delivered_packets", "drops", "marks"] {
                let all = table(&whole, way, of);
                let total = sum(whole.value(&format!("links.{way}.{of}")));
                assert_eq!(all.iter().sum::<f64>(), total, "{queue} {way} {of}");
                assert_eq!(all, table(&events, way, of), "{queue} {way} {of}: the paths differ");
                let halves = table(&first, way, of).into_iter().zip(table(&second, way, of));
                assert_eq!(all, halves.map(|(a, b)| a + b).collect::<Vec<_>>(), "{queue} {way} {of}");
            }
        }
        assert!(whole.drops("bottleneck") + whole.marks("bottleneck") > 0.0, "{queue}");
        let arrived = table(&whole, "bottleneck", "arrived_packets");
        assert!(arrived[0] > 0.0 && arrived[1] > 0.0 && arrived[2] == 0.0, "{queue} {arrived:?}");
        assert_eq!(table(&whole, "dead", "drops")[2], whole.number("links.dead.drops.loss"));
    }
}

/// Arrivals, starts and ends at the very instant of the seam count once: with the window that ends there.
#[test]
fn what_happens_at_the_seam_counts_once() {
    // Pairs of packets every 2 ms, 1 ms each on the wire: the second ends when the next pair comes.
    let text = |warmup: u32, duration: u32| {
        format!(
            r#"
duration = "{duration} s"
warmup = "{warmup} s"
links.only = {{ rate = "12 Mbit/s", queue = {{ limit = "5 packets" }} }}
groups.a = {{ users = 2, path = ["only"], traffic = {{ kind = "cbr", rate = "6 Mbit/s" }} }}
"#
        )
    };
    let [first, second, whole] = [(0, 2), (2, 5), (0, 5)].map(|(from, to)| run(&text(from, to), 1));
    for (metric, counts) in [
        ("links.only.arrived_packets", [2000.0, 3000.0]),
        ("links.only.delivered_packets", [1998.0, 3000.0]),
        ("groups.a.delivered_packets", [1998.0, 3000.0]),
        ("groups.a.sent_packets", [2000.0, 3000.0]),
    ] {
        assert_eq!([first.number(metric), second.number(metric)], counts, "{metric}");
        assert_eq!(whole.number(metric), counts[0] + counts[1], "{metric}");
    }
}

/// Histogram, mean and counters tell one story.
#[test]
fn the_histogram_has_the_mean() {
    let r = run(&measured(5, 30, r#"{ limit = "20 packets" }"#), 1);
    let shares: Vec<f64> = r.outcome.record["histograms"]["links.bottleneck.queue.packets"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(serde_json::Value::as_f64)
        .collect();
    assert_eq!(shares.len(), 21);
    close(shares.iter().sum(), 1.0, 1e-9);
    let mean = shares.iter().enumerate().map(|(n, share)| n as f64 * share).sum();
    close(r.number("links.bottleneck.queue_packets_mean"), mean, 1e-9);
}

/// Packets of a group: sent = delivered + lost, except for packets under way at either end of the window; throughput counts
/// whole packets, goodput application bytes once.
#[test]
fn groups_account_for_every_packet() {
    let r = run(&measured(5, 30, r#"{ limit = "20 packets" }"#), 1);
    for group in ["heavy", "noise"] {
        let get = |metric: &str| r.number(&format!("groups.{group}.{metric}"));
        let (sent, delivered, lost) = (get("sent_packets"), get("delivered_packets"), get("losses"));
        assert!((sent - delivered - lost).abs() < 80.0, "{group}: {sent} {delivered} {lost}");
        close(get("loss_ratio"), lost / sent, 1e-12);
        assert!(get("goodput_bps") < get("throughput_bps"));
    }
    close(
        r.number("groups.noise.throughput_bps"),
        r.number("groups.noise.delivered_packets") * 12_000.0 / 25.0,
        1e-9,
    );
    // 1472 of 1500 bytes are payload.
    close(
        r.number("groups.noise.goodput_bps"),
        r.number("groups.noise.throughput_bps") * 1472.0 / 1500.0,
        1e-9,
    );
    let throughput: f64 = (0..2).map(|u| r.number(&format!("groups.heavy.users_throughput_bps.{u}"))).sum();
    close(throughput / 2.0, r.number("groups.heavy.throughput_bps"), 1e-12);
}

/// The rate changes in steps: overload is served at whatever the rate is, the buffer in time follows it, one in packets
/// does not.
#[test]
fn rate_steps_are_followed() {
    let text = |limit: &str| {
        format!(
            r#"
duration = "30 s"
links.only = {{ rate = {{ steps = [["0 s", "10 Mbit/s"], ["10 s", "2.5 Mbit/s"], ["20 s", "5 Mbit/s"]] }}, queue = {{ limit = "{limit}" }} }}
groups.all = {{ users = 1, path = ["only"], traffic = {{ kind = "cbr", rate = "16 Mbit/s" }} }}
record = {{ series = [{{ of = "links.only.delivered_bytes", every = "1 s" }}, {{ of = "links.only.queue.packets", every = "1 s" }}, {{ of = "links.only.queue.wait", every = "1 s" }}] }}
"#
        )
    };
    let expected = |i: usize| {
        if i <= 10 {
            10e6
        } else if i <= 20 {
            2.5e6
        } else {
            5e6
        }
    };
    let by_time = run(&text("24 ms"), 1);
    let (times, bytes) = by_time.column("links.only.delivered_bytes");
    assert_eq!((times.len(), times[0], times[29]), (30, 1.0, 30.0));
    for (i, bytes) in bytes.iter().enumerate().skip(1) {
        // The first second of a step ends a packet of the old rate.
        close(bytes * 8.0, expected(i + 1), 0.01);
    }
    let waits = by_time.column("links.only.queue.wait").1;
    let packets = by_time.column("links.only.queue.packets").1;
    for i in [5, 15, 25] {
        close(waits[i], 0.024, 0.25);
        close(packets[i], 0.024 * expected(i + 1) / 12_000.0, 0.25);
    }
    let by_packets = run(&text("20 packets"), 1);
    let packets = by_packets.column("links.only.queue.packets").1;
    for i in [5, 15, 25] {
        assert!(packets[i] >= 19.0, "{packets:?}");
    }
    // Busy all the time; on average 17.5 / 3 Mbit/s.
    close(by_packets.number("links.only.utilisation"), 1.0, 1e-3);
    close(by_packets.number("groups.all.throughput_bps"), 17.5e6 / 3.0, 0.01);
}

/// The first answer to a change of rate is that of the packet after the one in transmission.
#[test]
fn a_packet_in_transmission_keeps_its_rate() {
    // 12500 bytes at 100 kbit/s take 1 s; at 1 Mbit/s 0.1 s. The first is sent from 1 s to 2 s.
    let text = r#"
duration = "4 s"
links.only = { rate = { steps = [["0 s", "100 kbit/s"], ["1.5 s", "1 Mbit/s"]] } }
groups.all = { users = 1, path = ["only"], traffic = { kind = "cbr", rate = "100 kbit/s", packet = "12500 B", start = { values = ["0 s"] } } }
record = { series = [{ of = "links.only.delivered_packets", every = "50 ms" }] }
"#;
    let r = run(text, 1);
    let (times, counts) = r.column("links.only.delivered_packets");
    let at: Vec<f64> = times.iter().zip(counts).filter(|(_, n)| **n > 0.0).map(|(t, _)| *t).collect();
    assert_eq!(at.len(), 3, "{at:?}");
    for (is, expected) in at.iter().zip([2.0, 2.1, 3.1]) {
        assert!((is - expected).abs() < 0.051, "{at:?}");
    }
}

/// A file arrives whole, whatever is lost on its way, and then its sender is silent.
#[test]
fn uploads_arrive_whole() {
    let text = r#"
duration = "60 s"
links.access = { rate = "20 Mbit/s", delay = "3 ms", per = "user", queue = { limit = "5 packets" } }
links.bottleneck = { rate = "4 Mbit/s", delay = "9 ms", queue = { limit = "6 packets" } }
[groups.files]
users = 4
path = ["access", "bottleneck"]
traffic = { kind = "upload", size = "1234567 B", flows = 2, start = { uniform = ["0 s", "3 s"] } }
tcp = { stack = "ns3.26" }
"#;
    for seed in 1..=5 {
        let r = run(text, seed);
        assert!(r.number("groups.files.losses") > 10.0);
        for user in 0..4 {
            let goodput = r.number(&format!("groups.files.users_goodput_bps.{user}"));
            close(goodput * 60.0 / 8.0, 2.0 * 1_234_567.0, 1e-12);
        }
        assert_eq!(r.number("groups.files.flows_dead"), 0.0);
        let sent = r.number("groups.files.sent_packets");
        assert_eq!(sent, r.number("groups.files.delivered_packets") + r.number("groups.files.losses"));
    }
}
