//! What a user's connections leave to those that come after them (docs/tcp.md, route metrics).

use crate::common::{Run, run_by};

/// Uploads of 400 segments by Linux 3.2, each acknowledged, over a link on which a packet of 1514 B takes 0.1 ms, each way 50 ms
/// long: 100.104 ms a round trip, and 100.010 for SYN and SYN-ACK of 74 B. The first data goes out at 100.010 ms; by ACKs of
/// segments 0..9 from 200.114 ms on, 10..29 from 300.219 and 30..69 from 400.323 the window doubles to 20, 40 and 80. What the
/// ACK of segment 30 lets out, 70 and 71, is lost; the reports of 72 and 73 tell it, and the threshold is 80 / 2.
fn uploads(group: &str) -> String {
    format!(
        r#"
duration = "7 s"

[links.only]
rate = "121.12 Mbit/s"
delay = "50 ms"
loss = {{ probability = 1, from = "400.27 ms", until = "400.37 ms", direction = "forward" }}

[groups.own]
path = ["only"]
{group}

[record]
series = [
    {{ of = "groups.own.users[*].flows[*].window", every = "50 ms" }},
    {{ of = "groups.own.users[*].flows[*].ssthresh", every = "50 ms" }},
]
"#
    )
}

const SAVES: &str =
    r#"{ stack = "linux3.2", congestion_control = "newreno", ack_every = 1, save_metrics = true }"#;

/// Both connections of one user.
fn of_one_user(starts: &str, tcp: &str) -> String {
    let upload = format!(r#"kind = "upload", size = "579200 B", flows = 2, start = {{ values = {starts} }}"#);
    uploads(&format!("users = 1\ntraffic = {{ {upload} }}\ntcp = {tcp}"))
}

/// Runs it on both paths.
fn run(text: &str) -> Run {
    let (lazy, events) = (run_by(text, 1, false), run_by(text, 1, true));
    assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash, "{text}");
    lazy
}

/// Window and threshold of a flow at a time, packets.
fn at(run: &Run, flow: &str, time: f64) -> (f64, f64) {
    let value = |what: &str| {
        let (times, values) = run.column(&format!("groups.own.{flow}.{what}"));
        let i = times.iter().position(|t| (t - time).abs() < 1e-6).expect("a sample");
        values[i]
    };
    (value("window"), value("ssthresh"))
}

/// The first upload ends in avoidance, not above 80: max(W / 2, 40) = 40. The second leaves slow start there: the 31st ACK still
/// finds a window of its threshold and makes it 41; of the 42 that the next step takes there were 39 after three and a half
/// round trips. Without the line it is at 80 by then.
#[test]
fn an_upload_begins_with_the_threshold_that_the_last_one_left() {
    let text = of_one_user(r#"["0 s", "5 s"]"#, SAVES);
    let both = run(&text);
    let (window, threshold) = at(&both, "users[0].flows[0]", 5.0);
    assert!(threshold == 40.0 && (41.0..=80.0).contains(&window), "{window} above {threshold}");
    assert_eq!(at(&both, "users[0].flows[1]", 5.45), (41.0, 40.0));
    assert_eq!(both.number("links.only.drops.loss"), 2.0);

    let without = run(&text.replace(", save_metrics = true", ""));
    assert_eq!(at(&without, "users[0].flows[0]", 5.0), (window, threshold));
    let (window, threshold) = at(&without, "users[0].flows[1]", 5.45);
    assert!(window == 80.0 && !threshold.is_finite(), "{window}, {threshold}");
}

/// Two uploads are one entry by whatever traffic of the user they come, as long as both have the line.
#[test]
fn the_traffic_of_a_user_shares_one_entry() {
    let text = |second: &str| {
        let upload = r#"kind = "upload", size = "579200 B""#;
        uploads(&format!(
            "users = 1\ntraffic = [{{ {upload}, tcp = {SAVES} }}, {{ {upload}, start = \"5 s\", tcp = {second} }}]"
        ))
    };
    assert_eq!(at(&run(&text(SAVES)), "users[0].flows[1]", 5.45), (41.0, 40.0));
    let other = run(&text(&SAVES.replace(", save_metrics = true", "")));
    assert_eq!(at(&other, "users[0].flows[1]", 5.45).0, 80.0);
}

#[test]
fn users_do_not_share() {
    let upload = r#"{ kind = "upload", size = "579200 B", start = { values = ["0 s", "5 s"] } }"#;
    let run = run(&uploads(&format!("users = 2\ntraffic = {upload}\ntcp = {SAVES}")));
    assert_eq!(at(&run, "users[0].flows[0]", 5.0).1, 40.0);
    let (window, threshold) = at(&run, "users[1].flows[0]", 5.45);
    assert!(window == 80.0 && !threshold.is_finite(), "{window}, {threshold}");
}

/// The second opens while the first still sends: there is nothing to begin with yet.
#[test]
fn an_upload_learns_nothing_from_one_that_is_not_over() {
    let run = run(&of_one_user(r#"["0 s", "0.6 s"]"#, SAVES));
    let (_, first) = at(&run, "users[0].flows[0]", 0.6);
    assert_eq!(first, 40.0);
    let window = |time: f64| at(&run, "users[0].flows[0]", time).0;
    assert!(window(0.8) > window(0.7), "the first still sends when the second has opened");
    let (window, threshold) = at(&run, "users[0].flows[1]", 1.05);
    assert!(window == 80.0 && !threshold.is_finite(), "{window}, {threshold}");
}
