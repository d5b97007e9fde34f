//! A run is a pure function of scenario and seed, and its streams belong to their names.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::{Options, RunError};

use crate::common::run;

/// Something of everything: TCP and datagrams, random starts, gaps, delays, processing, the fair meter's draws.
fn mixture(more: &str) -> String {
    format!(
        r#"
duration = "10 s"
warmup = "3 s"

[links.access]
rate = "100 Mbit/s"
delay = {{ uniform = ["0.1 ms", "5 ms"] }}
per = "user"

[stages.meter]
kind = "fair-activity-meter"
per = "user"

[links.bottleneck]
rate = "7 Mbit/s"
delay = "5 ms"
queue = {{ kind = "activity-aqm", limit = "24 packets" }}

[groups.heavy]
users = 2
path = ["access", "meter", "bottleneck"]
traffic = {{ kind = "bulk", flows = 5, start = {{ uniform = ["0 s", "2 s"] }} }}
tcp = {{ stack = "ns3.26" }}
processing = {{ uniform = ["0 s", "1 ms"] }}

[groups.noise]
users = 2
path = ["access", "meter", "bottleneck"]
traffic = {{ kind = "poisson", rate = {{ values = ["1 Mbit/s", "2 Mbit/s"] }}, packet = {{ exponential = "900 B" }} }}
{more}
"#
    )
}

#[test]
fn the_same_seed_gives_the_same_record_in_any_thread() {
    let text = mixture("");
    let first = run(&text, 1).outcome.record_hash;
    assert_eq!(run(&text, 1).outcome.record_hash, first);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|i| {
                scope.spawn({
                    let text = &text;
                    // Other seeds between, so that threads do different things at a time.
                    move || (run(text, 10 + i).outcome.record_hash, run(text, 1).outcome.record_hash)
                })
            })
            .collect();
        for thread in runs {
            assert_eq!(thread.join().expect("no panic").1, first);
        }
    });
}

#[test]
fn different_seeds_give_different_records() {
    let text = mixture("");
    let hashes: BTreeSet<String> = (1..=20).map(|seed| run(&text, seed).outcome.record_hash).collect();
    assert_eq!(hashes.len(), 20);
}

/// Common random numbers: what shares no link does not matter, wherever its name sorts.
#[test]
fn unrelated_traffic_changes_nothing() {
    let alone = run(&mixture(""), 1);
    for name in ["aaa", "zzz"] {
        let more = format!(
            r#"
[links.{name}]
rate = "5 Mbit/s"
delay = "2 ms"
queue = {{ limit = "10 packets" }}

[groups.{name}]
users = 3
path = ["{name}"]
traffic = [
    {{ kind = "bulk", flows = 3, start = {{ uniform = ["0 s", "1 s"] }} }},
    {{ kind = "poisson", rate = "1 Mbit/s" }},
]
tcp = {{ stack = "ns3.26" }}
processing = {{ uniform = ["0 s", "2 ms"] }}
"#
        );
        let both = run(&mixture(&more), 1);
        assert!(both.number(&format!("groups.{name}.throughput_bps")) > 1e6);
        for part in ["groups.heavy", "groups.noise", "links.access", "links.bottleneck", "stages.meter"] {
            assert_eq!(alone.value(part), both.value(part), "{part} with {name}");
        }
    }
}

/// Whoever looks does not disturb: the physics is the same with a `[record]` section and without.
#[test]
fn recording_changes_nothing() {
    let plain = run(&mixture(""), 1);
    let watched = run(
        &mixture(
            r#"
[record]
series = [{ of = "links.bottleneck.queue.threshold", every = "packet" }, { of = "links.access[*].queue.packets", every = "1 ms" }]
histograms = ["links.bottleneck.queue.packets"]
events = ["drop", "arrival"]
"#,
        ),
        1,
    );
    assert!(watched.column("links.access[3].queue.packets").0.len() > 9000);
    for part in ["groups", "links", "stages"] {
        assert_eq!(plain.value(part), watched.value(part), "{part}");
    }
}

/// Dealt values count within a group, so they do not depend on other groups either.
#[test]
fn dealt_starts_count_within_their_group() {
    let text = |more: &str| {
        format!(
            r#"
duration = "4 s"
links.a = {{ rate = "10 Mbit/s", delay = "1 ms" }}
links.b = {{ rate = "10 Mbit/s", delay = "1 ms" }}
groups.own = {{ users = 2, path = ["b"], traffic = {{ kind = "cbr", rate = "1 Mbit/s", start = {{ values = ["0 s", "2 s"] }} }} }}
{more}
"#
        )
    };
    let rates = |more: &str| run(&text(more), 1).value("groups.own.users_throughput_bps").clone();
    let alone = rates("");
    assert!(alone[0].as_f64() > alone[1].as_f64().map(|x| 1.5 * x), "dealt in turn: {alone}");
    let more = r#"groups.first = { users = 1, path = ["a"], traffic = { kind = "cbr", rate = "1 Mbit/s" } }"#;
    assert_eq!(alone, rates(more));
}

/// Dealt processing times are all used. The window of 131072 bytes fills a round trip of 20 ms, or of 24 ms.
#[test]
fn dealt_processing_uses_every_value() {
    let text = r#"
duration = "20 s"
warmup = "5 s"
links.only = { rate = "100 Mbit/s", delay = "10 ms" }
[groups.own]
users = 2
path = ["only"]
traffic = { kind = "bulk" }
tcp = { stack = "ns3.26" }
processing = { values = ["0 ms", "4 ms"] }
"#;
    let second = run(text, 1).number("groups.own.users_goodput_bps.1");
    assert!(second < 1.02 * 131_072.0 * 8.0 / 0.024, "{second}");
}

/// The same draws at another rate: what is exogenous is common to the points of a study.
#[test]
fn starts_and_gaps_do_not_depend_on_the_link() {
    let sent = |rate: &str, queue: &str| {
        let text = format!(
            r#"
duration = "20 s"
links.only = {{ rate = "{rate}", delay = "1 ms", queue = {queue} }}
groups.noise = {{ users = 3, path = ["only"], traffic = {{ kind = "poisson", rate = "2 Mbit/s", start = {{ uniform = ["0 s", "5 s"] }} }} }}
record = {{ events = ["arrival"] }}
"#
        );
        let r = run(&text, 1);
        let (times, flows) = r.column("events.arrival.flow");
        (times.to_vec(), flows.to_vec())
    };
    let droptail = sent("10 Mbit/s", r#"{ limit = "5 packets" }"#);
    assert!(droptail.0.len() > 5000);
    assert_eq!(droptail, sent("4 Mbit/s", r#"{ kind = "csfq", limit = "5 packets" }"#));
}

#[test]
fn a_raised_flag_interrupts() {
    let text = mixture("").replace("duration = \"10 s\"", "duration = \"100000 s\"");
    let scenario = Scenario::from_toml(&text).expect("valid");
    let stopped = evenflow_sim::run(&scenario, 1, Options::default(), &AtomicBool::new(true));
    assert!(matches!(stopped, Err(RunError::Interrupted)));
}

#[test]
fn a_flag_raised_on_the_way_interrupts_soon() {
    let text = mixture("").replace("duration = \"10 s\"", "duration = \"100000 s\"");
    let scenario = Scenario::from_toml(&text).expect("valid");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| evenflow_sim::run(&scenario, 1, Options::default(), &stop));
        std::thread::sleep(std::time::Duration::from_millis(50));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(running.join().expect("no panic"), Err(RunError::Interrupted)));
    });
}
