//! Senders that report congestion: what they say is what they were told, and nothing else changes.

use serde_json::Value;

use crate::common::{Run, run};

/// Six flows of two users through RED at 10 Mbit/s, with these lines in their `tcp` table; `action` is that of RED.
fn red(action: &str, lines: &str) -> String {
    format!(
        r#"
duration = "20 s"
links.access = {{ rate = "100 Mbit/s", delay = "5 ms", per = "user" }}
[links.bottleneck]
rate = "10 Mbit/s"
delay = "15 ms"
[links.bottleneck.queue]
kind = "red"
limit = "60 packets"
min_threshold = "6 packets"
max_threshold = "60 packets"
max_probability = 0.5
weight = 0.002
action = "{action}"
[groups.g]
users = 2
path = ["access", "bottleneck"]
traffic = {{ kind = "bulk", flows = 3, start = {{ uniform = ["0 ms", "300 ms"] }} }}
tcp = {{ {lines} }}
"#
    )
}

/// The record without what only a ConEx sender has.
fn plain(run: &Run) -> Value {
    let mut record = Value::Object(run.outcome.record.clone());
    record["scenario_hash"] = Value::Null;
    if let Some(group) = record["groups"]["g"].as_object_mut() {
        group.remove("conex");
    }
    record
}

/// Reported per mark is apart from reduced once a round trip (dossier, trap 1): where nobody looks at the bits, a run is the same with
/// ConEx and without.
#[test]
fn nothing_changes_where_nobody_looks() {
    for (action, stack, ecn, conex) in [
        ("mark", "rfc", r#"ecn = "accurate", ecn_on_retransmissions = true"#, "{}"),
        ("mark", "linux", r#"ecn = "classic", ecn_on_retransmissions = true"#, r#"{ unit = "packets" }"#),
        (
            "mark",
            "linux3.2",
            r#"ecn = "accurate", ecn_on_retransmissions = true"#,
            r#"{ undo_spurious = true }"#,
        ),
        ("mark", "ns2-linux", r#"ecn = "accurate", ecn_on_retransmissions = false"#, r#"{ declared = 0.5 }"#),
        ("drop", "ns3.26", r#"ecn = "off""#, r#"{ report = "loss" }"#),
        ("drop", "rfc", r#"ecn = "off""#, r#"{ report = "loss", credit = "flight" }"#),
        ("mark", "rfc", r#"ecn = "accurate""#, r#"{ encoding = "ipv6", credit = "flight" }"#),
    ] {
        for control in ["newreno", "cubic"] {
            let lines = format!(r#"stack = "{stack}", congestion_control = "{control}", {ecn}"#);
            let without = run(&red(action, &lines), 3);
            let with = run(&red(action, &format!("{lines}, conex = {conex}")), 3);
            assert_eq!(plain(&with), plain(&without), "{lines} {conex}");
            let (marks, losses) = (without.marks("bottleneck"), without.drops("bottleneck"));
            assert!(if action == "mark" { marks > 100.0 } else { losses > 100.0 }, "{marks} {losses}");
        }
    }
}

/// Dossier, trap 3: REDConEx stays without marks.
#[test]
fn red_that_drops_marks_nobody() {
    let run = run(&red("drop", r#"conex = { report = "loss" }"#), 1);
    assert_eq!((run.marks("bottleneck"), run.number("groups.g.marks")), (0.0, 0.0));
    assert!(run.drops("bottleneck") > 100.0);
}
