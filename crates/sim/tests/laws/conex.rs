//! Congestion policers and auditors on a path, by packets that rewriters make into reports, or into those of a sender who declares
//! nothing: what passes is what the tokens pay for, who declares nothing is caught, and records have both by group and user.

use crate::common::{close, run, run_by};

/// 1000 packets of 1500 B a second of each of two heavy users, all of them reports; of a light user, 20. A bucket for each.
fn network(policer: &str) -> String {
    format!(
        r#"
duration = "20 s"
stages.report = {{ kind = "rewriter", ecn = "ect1", re = false }}
stages.police = {{ kind = "congestion-policer", per = "user", {policer} }}
links.line = {{ rate = "100 Mbit/s", delay = "5 ms", queue = {{ limit = "100 packets" }} }}
[groups.heavy]
users = 2
path = ["report", "police", "line"]
traffic = {{ kind = "cbr", rate = "12 Mbit/s" }}
[groups.light]
users = 1
path = ["report", "police", "line"]
traffic = {{ kind = "cbr", rate = "240 kbit/s" }}
[record]
series = [{{ of = "stages.police[0].tokens", every = "100 ms" }}, {{ of = "stages.police[*].policed", every = "1 s" }}]
"#
    )
}

/// `pass`: where the bucket stays empty, the reports that pass come at the rate of the tokens, and the depth at first; a light user
/// never notices.
#[test]
fn reports_that_pass_come_at_the_rate_of_the_tokens() {
    let text =
        network(r#"rate = "45 packets/s", depth = "45 packets", harshness = "strict", charge = "pass""#);
    let r = run(&text, 1);
    let of = |what: &str| r.number(&format!("stages.police.groups.{what}"));
    // 45 at first and 45 a second: the first is out of debt at once, the last is charged in advance.
    close(r.number("groups.heavy.delivered_packets"), 2.0 * (45.0 + 45.0 * 20.0), 0.002);
    assert_eq!(of("heavy.users_charged.0"), of("heavy.users_arrived.0") - of("heavy.users_policed.0"));
    assert_eq!(2.0 * of("heavy.policed"), r.number("stages.police.drops.congestion_policed"));
    assert_eq!(2.0 * of("heavy.policed"), r.number("groups.heavy.losses"));
    assert_eq!(of("heavy.congestion_volume"), 1500.0 * of("heavy.reports"));
    assert!(of("heavy.tokens") <= 0.0 && of("heavy.first_drop") < 0.1);
    assert_eq!(of("light.policed"), 0.0);
    assert!(r.value("stages.police.groups.light.users_first_drop.0").is_null());
    assert!(of("light.least_tokens") >= 44.0);
    let (times, policed) = r.column("stages.police[1].policed");
    assert_eq!(times.len(), 20);
    // 955 of 1000 in each second.
    assert!(policed.windows(2).all(|pair| (pair[1] - pair[0] - 955.0).abs() <= 1.0), "{policed:?}");
}

/// `arrival`, without a floor: the debt grows by what comes beyond the tokens, and nothing passes any more. With a floor it
/// ends with the drop function, at a tenth of the depth.
#[test]
fn charged_on_arrival_a_heavy_user_keeps_sinking() {
    let literal = r#"rate = "45 packets/s", depth = "45 packets", charge = "arrival""#;
    let r = run(&network(literal), 1);
    close(r.number("stages.police.groups.heavy.users_tokens.0"), 45.0 - (1000.0 - 45.0) * 20.0, 0.001);
    let first = r.number("stages.police.groups.heavy.first_drop");
    assert!((45.0 / 955.0..(45.0 + 4.5) / 955.0 + 0.001).contains(&first), "{first}");
    // Between the first drop and a debt of 4.5 packets a share passes.
    let passed = r.number("groups.heavy.delivered_packets") / 2.0;
    assert!((47.0..53.0).contains(&passed), "{passed}");
    let floor = run(&network(&format!(r#"{literal}, floor = "end""#)), 1);
    assert_eq!(floor.number("stages.police.groups.heavy.least_tokens"), -4.5);
    close(floor.number("stages.police.groups.heavy.tokens"), -4.5, 0.01);
}

/// Marked or put into another class instead of dropped: nothing is lost, and as many are picked.
#[test]
fn what_is_picked_may_be_marked_or_demoted() {
    let base = r#"rate = "45 packets/s", depth = "45 packets", charge = "pass", harshness = "strict""#;
    let picked = run(&network(base), 1).number("stages.police.drops.congestion_policed");
    let r = run(&network(&format!(r#"{base}, action = "mark""#)), 1);
    assert_eq!(r.number("stages.police.marks.congestion_policed"), picked);
    assert_eq!(r.number("groups.heavy.losses"), 0.0);
    close(r.number("groups.heavy.marks"), picked, 0.001); // a few are under way
    let demoted = network(&format!(r#"{base}, action = "class", class = "late""#)).replace(
        r#"limit = "100 packets""#,
        r#"limit = "100 packets", scheduler = { kind = "strict", order = ["be", "late"] }"#,
    );
    let r = run(&demoted, 1);
    assert_eq!(r.number("links.line.classes.late.arrived_packets"), picked);
}

/// One bucket that all share, both paths, and bytes for packets: what is the same is the same.
#[test]
fn bytes_are_packets_of_one_size_and_paths_agree() {
    let packets =
        network(r#"rate = "45 packets/s", depth = "45 packets", harshness = "soft", charge = "pass""#);
    let bytes = network(r#"rate = "540 kbit/s", depth = "67.5 kB", harshness = "soft", charge = "pass""#);
    let (a, b) = (run(&packets, 3), run(&bytes, 3));
    for what in ["heavy.policed", "heavy.reports", "light.policed", "heavy.users_policed.1"] {
        let path = format!("stages.police.groups.{what}");
        assert_eq!(a.number(&path), b.number(&path), "{what}");
    }
    assert_eq!(run_by(&packets, 3, true).outcome.record_hash, a.outcome.record_hash);
    let shared = run(
        &packets
            .replace(r#"per = "user", "#, "")
            .replace("police[0]", "police")
            .replace("police[*]", "police"),
        3,
    );
    assert!(shared.maybe("stages.police.groups").is_none());
    assert!(shared.number("stages.police.policed") > 2.0 * a.number("stages.police.groups.heavy.policed"));
}

/// 1000 packets a second of a user who says that he is ConEx and declares nothing, and as many of one who is not; a queue marks one of a
/// hundred of either, and an auditor stands behind it.
fn audited(auditor: &str) -> String {
    format!(
        r#"
duration = "20 s"
stages.nothing = {{ kind = "rewriter", ecn = "ect1", re = true }}
stages.audit = {{ kind = "auditor", per = "group", {auditor} }}
links.line = {{ rate = "100 Mbit/s", delay = "5 ms", queue = {{ kind = "constant-probability", probability = 0.01 }} }}
links.last = {{ rate = "100 Mbit/s", delay = "1 ms" }}
[groups.cheat]
users = 1
path = ["nothing", "line", "audit", "last"]
traffic = {{ kind = "cbr", rate = "12 Mbit/s" }}
[groups.legacy]
users = 1
path = ["line", "audit", "last"]
traffic = {{ kind = "cbr", rate = "12 Mbit/s", ecn_capable = true }}
"#
    )
}

/// Some ten marks, and nothing passes any more; who is not ConEx is not audited.
#[test]
fn who_declares_nothing_is_stopped() {
    let r = run(&audited(""), 1);
    let of = |what: &str| r.number(&format!("stages.audit.groups.{what}"));
    let passed = r.number("groups.cheat.delivered_packets");
    assert!((300.0..3_000.0).contains(&passed), "{passed}");
    assert_eq!(of("cheat.arrived") - of("cheat.sanctioned"), passed);
    assert_eq!(of("cheat.sanctioned"), r.number("stages.audit.drops.audited"));
    assert_eq!(of("cheat.sanctioned_flows"), 1.0);
    assert_eq!(of("cheat.least_balance"), -of("cheat.marks_met"));
    close(of("cheat.marks_met"), 200.0, 0.25); // 14 is a standard error
    assert_eq!((of("legacy.arrived"), of("legacy.sanctioned")), (0.0, 0.0));
    close(r.number("groups.legacy.delivered_packets"), 20_000.0, 0.001);
    let late = run(&audited(r#"delay = "5 s""#), 1);
    let more = late.number("groups.cheat.delivered_packets") - passed;
    assert!((4_500.0..5_500.0).contains(&more), "{more} packets in 5 s");
}

/// Held instead of dropped: nothing is lost, order is kept, and what is held at the end is counted.
#[test]
fn sanctioned_packets_may_wait() {
    let text = audited(r#"action = "delay", hold = "250 ms""#);
    let r = run(&text, 1);
    let of = |what: &str| r.number(&format!("stages.audit.groups.cheat.{what}"));
    assert_eq!(r.number("groups.cheat.losses"), 0.0);
    assert_eq!(of("held"), 250.0);
    let under_way = r.number("groups.cheat.sent_packets") - r.number("groups.cheat.delivered_packets");
    assert!((250.0..260.0).contains(&under_way), "{under_way}");
    let dropped = run(&audited(""), 1);
    assert_eq!(of("sanctioned"), dropped.number("stages.audit.groups.cheat.sanctioned"));
    assert_eq!(run_by(&text, 1, true).outcome.record_hash, r.outcome.record_hash);
}

/// The draft's rule: without credit guilty from the first mark on, and all that is not declared is dropped.
#[test]
fn the_drafts_rule_stops_a_cheat_too() {
    let r = run(
        &audited(r#"rule = "ratio", cancelled = "counted", delay = "0.2 s", allowance = "0 packets""#),
        1,
    );
    let passed = r.number("groups.cheat.delivered_packets");
    assert!(passed < 1_000.0, "{passed}");
}
