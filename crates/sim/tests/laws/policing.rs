//! Policers and shapers on a path: what they let through is what their buckets say, on both paths, and links see the classes that
//! policers give.

use crate::common::{close, run, run_by};

/// A thousand packets a second of 1500 B, 12 Mbit/s, of one user, through a stage and a link of 100 Mbit/s.
fn through(stage: &str, more: &str) -> String {
    format!(
        r#"
duration = "20 s"
stages.it = {{ {stage} }}
links.line = {{ rate = "100 Mbit/s", delay = "5 ms", queue = {{ limit = "100 packets"{more} }} }}
groups.a = {{ users = 1, path = ["it", "line"], traffic = {{ kind = "cbr", rate = "12 Mbit/s" }} }}
"#
    )
}

/// 3 Mbit/s pass 250 packets a second, and the burst of ten besides; all others are red and dropped, by name.
#[test]
fn a_policer_passes_its_rate_and_its_burst() {
    let text = through(r#"kind = "policer", rate = "3 Mbit/s", burst = "15 kB""#, "");
    let r = run(&text, 1);
    let (passed, dropped) = (r.number("stages.it.passed_packets"), r.number("stages.it.drops.policed_red"));
    assert_eq!(passed + dropped, r.number("groups.a.sent_packets"));
    // In less than 20 s of packets; the last tokens do not pay for a whole one.
    assert_eq!(passed, 10.0 + 4999.0);
    assert_eq!((r.number("stages.it.green"), r.number("stages.it.red")), (passed, dropped));
    assert_eq!(r.number("groups.a.losses"), dropped);
    assert_eq!(r.number("links.line.arrived_packets"), passed);
    assert_eq!(r.number("links.line.classes.be.arrived_packets"), passed);
}

/// RFC 2698: 3 Mbit/s are green and keep their class, 3 Mbit/s more are yellow and get another, 6 are red and dropped.
#[test]
fn two_rates_are_three_classes() {
    let stage = r#"kind = "policer", rate = "3 Mbit/s", burst = "15 kB", peak_rate = "6 Mbit/s", peak_burst = "15 kB", yellow = "late""#;
    let order = r#", scheduler = { kind = "strict", order = ["be", "late"] }"#;
    let r = run(&through(stage, order), 1);
    let of = |class: &str| r.number(&format!("links.line.classes.{class}.delivered_packets"));
    close(of("be"), 5000.0, 0.01);
    close(of("late"), 5000.0, 0.01);
    close(r.number("stages.it.drops.policed_red"), 10_000.0, 0.01);
    assert_eq!(of("late"), r.number("stages.it.yellow"));
}

/// The class that a packet got is its class at all that follows: there it is of its colour already.
#[test]
fn colours_travel_as_classes() {
    let text = through(r#"kind = "policer", rate = "3 Mbit/s", burst = "15 kB", red = "late""#, "")
        .replace(r#"path = ["it", "line"]"#, r#"path = ["it", "again", "line"]"#)
        + r#"stages.again = { kind = "policer", rate = "100 Mbit/s", burst = "15 kB", precoloured_red = ["late"] }"#;
    let r = run(&text, 1);
    assert_eq!(r.number("stages.again.green"), r.number("stages.it.green"));
    assert_eq!(r.number("stages.again.drops.policed_red"), r.number("stages.it.red"));
    assert_eq!(sum(&r, "it"), 0.0);
}

/// Bursts of Poisson packets of unlike sizes through a shaper before a fast link are what they are through the scheduler `tbf` of
/// that link: one arithmetic.
#[test]
fn a_shaper_is_a_tbf_before_the_link() {
    for more in ["", r#", peak_rate = "5 Mbit/s", mtu = "1600 B""#, r#", arithmetic = "ticks""#] {
        let bucket = format!(r#"rate = "3 Mbit/s", burst = "9 kB"{more}"#);
        let text = |stage: &str, path: &str, scheduler: &str| {
            format!(
                r#"
duration = "30 s"
warmup = "1 s"
{stage}
links.wire = {{ rate = "10 Gbit/s", queue = {{ limit = "100 MB"{scheduler} }} }}
links.last = {{ delay = "3 ms" }}
[groups.a]
users = 1
path = [{path}, "last"]
traffic = {{ kind = "poisson", rate = "2.8 Mbit/s", packet = {{ uniform = ["100 B", "1500 B"] }} }}
[record]
series = [{{ of = "links.wire.delivered_bytes", every = "500 us" }}]
"#
            )
        };
        let stage = format!(r#"stages.it = {{ kind = "shaper", {bucket} }}"#);
        let shaped = run(&text(&stage, r#""it", "wire""#, ""), 7);
        let tbf = run(&text("", r#""wire""#, &format!(r#", scheduler = {{ kind = "tbf", {bucket} }}"#)), 7);
        assert_eq!(shaped.number("groups.a.delivered_packets"), tbf.number("groups.a.delivered_packets"));
        let of = "links.wire.delivered_bytes";
        let (a, b) = (shaped.column(of).1, tbf.column(of).1);
        // In a look's half millisecond a packet may be on this side of the wire or on that.
        let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(a.len() > 50_000 && worst <= 1500.0, "{worst}");
        assert!(a.iter().zip(b).filter(|(a, b)| a != b).count() < 60, "{more}");
    }
}

/// TCP through both, per user and shared, on both paths, with loss, marks and other kinds on the way: equal records, and the books
/// are right.
#[test]
fn both_paths_give_the_same() {
    for stages in [
        r#"stages.one = { kind = "policer", rate = "4 Mbit/s", burst = "40 kB", excess_burst = "20 kB", yellow = "be", per = "user" }
stages.two = { kind = "shaper", rate = "8 Mbit/s", burst = "9 kB", limit = "40 packets" }"#,
        r#"stages.one = { kind = "shaper", rate = "3 Mbit/s", burst = "3 kB", latency = "40 ms", per = "user" }
stages.two = { kind = "policer", rate = "700 packets/s", burst = "30 packets", peak_rate = "900 packets/s", peak_burst = "20 packets", yellow = "ef" }"#,
    ] {
        let text = format!(
            r#"
duration = "12 s"
warmup = "2 s"
links.access = {{ rate = "50 Mbit/s", delay = "1 ms", per = "user" }}
{stages}
links.line = {{ rate = "9 Mbit/s", delay = "8 ms", queue = {{ limit = "60 packets", kind = "codel" }}, loss = 0.001 }}
[groups.a]
users = 3
path = ["access", "one", "two", "line"]
traffic = {{ kind = "bulk", flows = 2, start = {{ uniform = ["0 s", "1 s"] }} }}
[groups.b]
class = "ef"
users = 1
path = ["access", "one", "two", "line"]
traffic = {{ kind = "poisson", rate = "1 Mbit/s", packet = "500 B" }}
"#
        );
        let [folded, events] = [false, true].map(|events| run_by(&text, 5, events));
        assert_eq!(folded.outcome.record_hash, events.outcome.record_hash);
        assert!(folded.number("groups.a.goodput_bps") > 5e5, "{stages}");
        let drops: f64 = ["one", "two"].iter().map(|s| sum(&folded, s)).sum();
        assert!(drops > 0.0);
        let lost = folded.drops("line") + folded.drops("access");
        let all = folded.number("groups.a.losses") + folded.number("groups.b.losses");
        assert_eq!(all, drops + lost);
    }
}

fn sum(r: &crate::common::Run, stage: &str) -> f64 {
    crate::common::sum(r.value(&format!("stages.{stage}.drops")))
}
