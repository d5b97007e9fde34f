//! Every kind of bad input gives its path, what is wrong, and the nearest valid name; all at once.

use crate::common;

use common::{at, errors, valid, with, without};
use evenflow_scenario::Scenario;
use serde_json::{Value as Json, json};

/// Changes one place of the ABC example and expects exactly one error.
#[track_caller]
fn one(path: &str, json: Json, expected: &str) {
    assert_eq!(errors(&with("abc-default", &[(path, json)])).to_string(), expected);
}

#[test]
fn unknown_keys_name_the_nearest() {
    one(
        "links.access.queue.lmit",
        json!("5 packets"),
        "links.access.queue.lmit: unknown key \"lmit\"; did you mean \"limit\"?",
    );
    one("durration", json!("5 s"), "durration: unknown key \"durration\"; did you mean \"duration\"?");
    one(
        "links.bottleneck.bandwidth",
        json!("5 s"),
        "links.bottleneck.bandwidth: unknown key \"bandwidth\"; valid names are delay, in_flight, jitter, loss, per, queue, rate, \
         reverse, serve",
    );
    one(
        "groups.heavy.trafic",
        json!({}),
        "groups.heavy.trafic: unknown key \"trafic\"; did you mean \"traffic\"?",
    );
    one(
        "groups.heavy.traffic.flow",
        json!(3),
        "groups.heavy.traffic.flow: unknown key \"flow\"; did you mean \"flows\"?",
    );
    one(
        "groups.heavy.tcp.initial_windw",
        json!(3),
        "groups.heavy.tcp.initial_windw: unknown key \"initial_windw\"; did you mean \"initial_window\"?",
    );
    one(
        "stages.meter.memry",
        json!("3 s"),
        "stages.meter.memry: unknown key \"memry\"; did you mean \"memory\"?",
    );
    one("record.serie", json!([]), "record.serie: unknown key \"serie\"; did you mean \"series\"?");
}

#[test]
fn missing_units_say_what_to_write() {
    one("links.bottleneck.delay", json!(5), "links.bottleneck.delay: needs a unit, for example \"5 ms\"");
    one("links.bottleneck.delay", json!("5"), "links.bottleneck.delay: needs a unit, for example \"5 ms\"");
    one("duration", json!(200), "duration: needs a unit, for example \"5 ms\"");
    one(
        "links.bottleneck.queue.limit",
        json!(24),
        "links.bottleneck.queue.limit: needs a unit, for example \"24 packets\", \"64 KiB\" or \"20 ms\"",
    );
}

#[test]
fn wrong_dimensions_are_named() {
    one(
        "links.bottleneck.delay",
        json!("10 Mbit/s"),
        "links.bottleneck.delay: \"10 Mbit/s\" is a rate, a duration is needed, for example \"5 ms\"",
    );
    one(
        "links.bottleneck.rate",
        json!("10 Mbps"),
        "links.bottleneck.rate: \"10 Mbps\" has an unknown unit; write \"Mbit/s\"",
    );
}

#[test]
fn a_flag_is_true_or_false() {
    one(
        "groups.heavy.tcp.save_metrics",
        json!("yes"),
        "groups.heavy.tcp.save_metrics: true or false is needed, not \"yes\"",
    );
    one(
        "groups.heavy.tcp.save_metrics",
        json!(1),
        "groups.heavy.tcp.save_metrics: true or false is needed, not 1",
    );
    valid(&with("abc-default", &[("groups.heavy.tcp.save_metrics", json!(true))]));
}

#[test]
fn a_deviation_goes_with_a_round_trip_time() {
    one("groups.heavy.tcp.cached_rttvar", json!("5 ms"), "groups.heavy.tcp.cached_rttvar: needs cached_srtt");
    let both = json!({ "stack": "rfc", "cached_rttvar": "5 ms", "cached_srtt": "9 ms" });
    valid(&with("abc-default", &[("groups.heavy.tcp", both)]));
}

#[test]
fn negative_quantities_are_refused() {
    one(
        "links.bottleneck.delay",
        json!("-5 ms"),
        "links.bottleneck.delay: \"-5 ms\" is negative, which a duration cannot be",
    );
    one(
        "groups.heavy.weight",
        json!(-1),
        "groups.heavy.weight: must be more than 0, at most 1000000, not -1",
    );
    one("groups.heavy.users", json!(-1), "groups.heavy.users: must not be negative, but is -1");
    one(
        "groups.heavy.traffic.start",
        json!({ "uniform": ["-1 s", "15 s"] }),
        "groups.heavy.traffic.start.uniform[0]: \"-1 s\" is negative, which a duration cannot be",
    );
}

#[test]
fn what_is_not_a_number_is_refused() {
    one("links.bottleneck.delay", json!("nan ms"), "links.bottleneck.delay: \"nan ms\" is not a number");
    one("links.bottleneck.rate", json!("inf bit/s"), "links.bottleneck.rate: \"inf bit/s\" is not finite");
    let toml = common::example("abc-default").replace("users = 10", "users = 10\nweight = nan");
    assert_eq!(
        Scenario::from_toml(&toml).expect_err("an error").to_string(),
        "groups.light.weight: \"NaN\" is not a number"
    );
    let toml = common::example("abc-default")
        .replace("\"5 ms\"\n\n[links.bottleneck.queue]", "inf\n[links.bottleneck.queue]");
    assert_eq!(
        Scenario::from_toml(&toml).expect_err("an error").to_string(),
        "links.bottleneck.delay: \"inf\" is not finite"
    );
}

#[test]
fn a_path_names_links_and_stages_that_exist() {
    one(
        "groups.heavy.path.2",
        json!("botleneck"),
        "groups.heavy.path[2]: no link or stage is called \"botleneck\"; did you mean \"bottleneck\"?",
    );
    one(
        "groups.heavy.path.2",
        json!("x"),
        "groups.heavy.path[2]: no link or stage is called \"x\"; valid names are access, bottleneck, meter",
    );
    one("groups.heavy.path", json!([]), "groups.heavy.path: a path needs at least one link");
    one("groups.heavy.path", json!(["meter"]), "groups.heavy.path: a path needs at least one link");
    one(
        "groups.heavy.path",
        json!("access"),
        "groups.heavy.path: a list of links and stages is needed, not \"access\"",
    );
    one(
        "groups.heavy.path.0",
        json!(7),
        "groups.heavy.path[0]: the name of a link or stage is needed, not 7",
    );
}

#[test]
fn a_path_is_not_endless() {
    one(
        "groups.heavy.path",
        json!(vec!["access"; 101]),
        "groups.heavy.path: has 101 components; 100 is the most that a path may have",
    );
}

#[test]
fn a_path_names_nothing_twice() {
    one(
        "groups.heavy.path",
        json!(["access", "meter", "bottleneck", "access"]),
        "groups.heavy.path[3]: \"access\" is on this path twice",
    );
    one(
        "groups.heavy.path",
        json!(["access", "bottleneck", "-access"]),
        "groups.heavy.path[2]: \"access\" is on this path twice",
    );
    one(
        "groups.heavy.path",
        json!(["access", "-meter", "bottleneck"]),
        "groups.heavy.path[1]: activity-meter acts forward only: data that crosses \"meter\" against its direction would not meet it",
    );
}

/// Stages that talk and control, each with a mistake: all are said at once.
#[test]
fn stages_are_tied_to_what_can_be_tied() {
    let text = r#"
duration = "1 s"
links.one = { rate = "10 Mbit/s", delay = "1 ms" }
links.two = { delay = "1 ms" }
links.three = { rate = "10 Mbit/s" }
stages.a = { kind = "probe-stage", peer = "metre", controls = "tow" }
stages.b = { kind = "probe-stage", peer = "meter", controls = "two" }
stages.c = { kind = "probe-stage", peer = "c", controls = "a" }
stages.d = { kind = "probe-stage", peer = "one", controls = "-three" }
stages.e = { kind = "probe-stage", peer = "f" }
stages.f = { kind = "probe-stage", controls = 3 }
stages.g = { kind = "probe-stage", peer = "f" }
stages.h = { kind = "probe-stage", peer = "d" }
stages.meter = { kind = "rate-meter" }
groups.x = { users = 1, path = ["a", "one", "two", "b", "c", "d", "e", "f", "g", "meter"], traffic = { kind = "bulk" } }
groups.y = { users = 1, path = ["three", "h"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        r#"stages.a.controls: no link is called "tow"; did you mean "two"?"#,
        r#"stages.a.peer: no stage is called "metre"; did you mean "meter"?"#,
        r#"stages.b.controls: "two" has no rate that could be set"#,
        r#"stages.b.peer: "meter" is a stage of kind rate-meter; a peer of probe-stage is of kind probe-stage"#,
        r#"stages.c.controls: "a" is a stage; probe-stage controls a link"#,
        "stages.c.peer: a stage is not its own peer",
        r#"stages.d.controls: no path has both this stage and "three""#,
        r#"stages.d.peer: "one" is a link; a peer is a stage"#,
        "stages.f.controls: text is needed, not 3",
        r#"stages.g.peer: the peer of "f" is "e""#,
        r#"stages.h.peer: no path has both this stage and "d""#,
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Fields that packets do not have, and parameters that contradict each other.
#[test]
fn a_rewriter_needs_what_it_rewrites() {
    let text = r#"
duration = "1 s"
links.one = { rate = "10 Mbit/s", delay = "1 ms" }
stages.a = { kind = "rewriter", window = "20 kB", of_class = ["fe"] }
stages.b = { kind = "rewriter", ecn = "ect2", from = "2 s", until = "1 s" }
stages.c = { kind = "rewriter" }
stages.d = { kind = "rewriter", ecn = "ce", ecn_map = { ce = "ect0" }, window = "2 kB", max_window = "3 kB" }
groups.x = { users = 1, class = "ef", path = ["a", "one", "b", "c", "d"], traffic = { kind = "cbr", rate = "1 Mbit/s" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        r#"stages.a.of_class: no packet of class "fe" crosses this stage; did you mean "ef"?"#,
        "stages.a.window: no packet that crosses this stage has a receive window: all of them are datagrams",
        r#"stages.b.ecn: "ect2" is not valid; did you mean "ect0"?"#,
        "stages.c.ecn: changes nothing; give one of ecn, ecn_map, re, class, window, max_window",
        "stages.d.ecn_map: excludes ecn; give one of the two",
        "stages.d.max_window: excludes window; give one of the two",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Policers and shapers, each with mistakes: all are said at once.
#[test]
fn buckets_hold_packets_and_colours_name_classes() {
    let text = r#"
duration = "1 s"
links.line = { rate = "10 Mbit/s", delay = "1 ms", queue = { scheduler = { kind = "strict", order = ["be", "ef", "late"] } } }
stages.a = { kind = "policer", rate = "5 Mbit/s", burst = "1 kB", excess_burst = { uniform = ["1.2 kB", "9 kB"] }, yellow = "laet", red = "drp" }
stages.b = { kind = "policer", rate = "5 Mbit/s", burst = "15 kB", peak_rate = "10 Mbit/s", peak_burst = "1499 B", yellow = "late", precoloured_red = ["bee"] }
stages.c = { kind = "shaper", rate = "5 Mbit/s", burst = "1400 B", peak_rate = "10 Mbit/s", mtu = "1400 B" }
stages.d = { kind = "policer", rate = "300 packets/s", burst = "1 packet" }
groups.x = { users = 1, path = ["a", "b", "c", "d", "line"], traffic = { kind = "bulk" } }
groups.y = { users = 1, path = ["d", "line"], class = "ef", traffic = { kind = "poisson", rate = "1 Mbit/s", packet = "9000 B" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let tcp = "less than the largest packet that crosses this stage, 1500 B of group \"x\": there would never be enough tokens for it";
    let expected = [
        format!("stages.a.burst: is 1000 B, {tcp}"),
        format!("stages.a.excess_burst: is 1200 B, {tcp}"),
        r#"stages.a.red: no group sends packets of class "drp", and no queue or other stage names it; did you mean "drop"?"#.into(),
        r#"stages.a.yellow: no group sends packets of class "laet", and no queue or other stage names it; did you mean "late"?"#.into(),
        format!("stages.b.peak_burst: is 1499 B, {tcp}"),
        r#"stages.b.precoloured_red: no packet of class "bee" crosses this stage; did you mean "be"?"#.into(),
        format!("stages.c.burst: is 1400 B, {tcp}"),
        format!("stages.c.mtu: is 1400 B, {tcp}"),
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Congestion policers, each with mistakes, and one on no path: all are said at once.
#[test]
fn a_congestion_policer_counts_one_thing_and_stands_on_a_path() {
    let text = r#"
duration = "1 s"
links.line = { rate = "10 Mbit/s", delay = "1 ms" }
stages.a = { kind = "congestion-policer", rate = "45 packets/s", depth = "67 kB", harshness = "midl", level = 2 }
stages.b = { kind = "congestion-policer", rate = "540 kbit/s", depth = "0 kB", chrge = "pass" }
stages.c = { kind = "congestion-policer", rate = "540 kbit/s", depth = "45 packets", action = "class" }
stages.d = { kind = "congestion-policer", rate = "9 packets/s", depth = "5 packets", action = "class", class = "laet", charge = "pass", floor = "end" }
stages.e = { kind = "congestion-policer", rate = "9 packets/s", depth = { values = ["5 packets", "6 packets"] } }
groups.x = { users = 1, class = "late", path = ["a", "b", "c", "d", "line"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        r#"stages.a.depth: counts bytes, but rate counts packets; tokens have one unit: write "45 packets""#,
        r#"stages.a.harshness: "midl" is not valid; did you mean "mild"?"#,
        "stages.a.level: must be at least 0, at most 1, not 2",
        r#"stages.b.chrge: unknown key "chrge"; did you mean "charge"?"#,
        r#"stages.b.depth: must be more than 0, not "0 kB""#,
        r#"stages.c.class: is required with action = "class": the traffic class of picked packets"#,
        r#"stages.c.depth: counts packets, but rate counts bytes; tokens have one unit: write "67.5 kB""#,
        r#"stages.d.floor: excludes charge = "pass", which limits the debt to one packet anyway; leave one of the two out"#,
        r#"stages.e: is on no path and has no effect: write "e" where packets enter the network, before shared links"#,
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// What the bucket of ConEx alone has is refused beside a rule of re-ECN, which would not heed it.
#[test]
fn rules_of_re_ecn_have_no_drop_function() {
    let text = r#"
duration = "1 s"
links.line = { rate = "10 Mbit/s", delay = "1 ms" }
stages.a = { kind = "congestion-policer", rule = "tcp-rate", harshness = "soft", charge = "pass", floor = "end", level = 0.5 }
stages.b = { kind = "congestion-policer", rule = "rate-bytes", depth = "60 kB", level = 0, encoding = "ipv6" }
stages.c = { kind = "congestion-policer", rule = "volume", rate = "540 kbit/s", depth = "67.5 kB", level = 0.5, credit = "charged", cancelled = "free" }
groups.x = { users = 1, path = ["a", "b", "c", "line"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let bucket = |at: &str, rule: &str| {
        format!("stages.{at}: has no effect with rule = \"{rule}\", only with \"bucket\"")
    };
    let volume = |at: &str, rule: &str, nearest: &str| {
        format!("stages.{at}: has no effect with rule = \"{rule}\", only with \"volume\"{nearest}")
    };
    let expected = [
        bucket("a.charge", "tcp-rate"),
        bucket("a.floor", "tcp-rate"),
        bucket("a.harshness", "tcp-rate"),
        volume("a.level", "tcp-rate", "; nearest: start, in seconds"),
        bucket("b.encoding", "rate-bytes"),
        volume("b.level", "rate-bytes", ""),
        bucket("c.cancelled", "volume"),
        bucket("c.credit", "volume"),
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// A dropper of re-ECN stands before the radio: behind a link that loses packets, what these declared is missing. ConEx's auditor infers
/// losses, and may stand there; so may a dropper where the link that loses is the one that marks, or lies before it.
#[test]
fn a_dropper_stands_before_links_that_lose() {
    let text = |rule: &str, path: &str| {
        format!(
            r#"
duration = "1 s"
links.core = {{ rate = "5 Mbit/s", delay = "10 ms", queue = {{ kind = "red", action = "mark-re-ecn", limit = "100 packets" }} }}
links.radio = {{ rate = "100 Mbit/s", delay = "10 ms", loss = {{ probability = 0.05, burst = 5 }} }}
links.back = {{ rate = "100 Mbit/s", delay = "10 ms", loss = {{ every = 100, direction = "reverse" }} }}
links.both = {{ rate = "5 Mbit/s", delay = "10 ms", loss = 0.01, queue = {{ kind = "red", action = "mark", limit = "100 packets" }} }}
stages.drop = {{ kind = "auditor", rule = "{rule}", delay = "200 ms" }}
groups.g = {{ users = 1, path = [{path}], traffic = {{ kind = "bulk" }}, tcp = {{ ecn = "re-ecn", conex = {{ unit = "packets" }} }} }}
"#
        )
    };
    for rule in ["strict", "negative-only", "paper"] {
        for (path, link, hop) in [
            (r#""core", "radio", "drop""#, "radio", 2),
            (r#""core", "radio", "back", "drop""#, "radio", 3),
            (r#""core", "-back", "drop""#, "back", 2),
        ] {
            let errors = Scenario::from_toml(&text(rule, path)).expect_err("errors").to_string();
            let expected = format!(
                "groups.g.path[{hop}]: \"drop\", the auditor, is behind the link \"{link}\", which loses packets: their declarations would be \
                 missing, and senders declare these losses too; put it before"
            );
            assert_eq!(errors, expected, "{rule}, {path}");
        }
        for path in [
            r#""core", "drop", "radio""#,
            r#""core", "back", "drop""#,
            r#""radio", "core", "drop""#,
            r#""both", "drop""#,
        ] {
            assert!(Scenario::from_toml(&text(rule, path)).is_ok(), "{rule}, {path}");
        }
    }
    for rule in ["balance", "ratio"] {
        assert!(Scenario::from_toml(&text(rule, r#""core", "radio", "drop""#)).is_ok(), "{rule}");
    }
}

/// Ten mistakes of a loop of reports: one that hides another is no excuse.
#[test]
fn a_loop_of_reports_is_checked_whatever_else_is_wrong_with_its_stages() {
    let text = r#"
duration = "5 s"
stages.into = { kind = "tunnel-ingress", peer = "out", overhead = "gtp-u", ecn = "paper", teid = 9 }
stages.gateway = { kind = "congestion-controller", peer = "report", mode = "split" }
stages.report = { kind = "congestion-reporter", every = "0 s" }
stages.out = { kind = "tunnel-egress", ecn = "paper" }
stages.into2 = { kind = "tunnel-ingress", peer = "out2", overhead = "gtp-u", ecn = "paper", teid = 9, max_size = "0 B" }
stages.out2 = { kind = "tunnel-egress", ecn = "paper" }
stages.drop = { kind = "auditor", rule = "strict", delay = "100 ms" }
stages.pol = { kind = "congestion-policer", rule = "tcp-rate", rtt = "0 s", start = "500 s" }
links.a = { rate = "50 Mbit/s", delay = "10 ms", loss = { retransmissions = 3 } }
links.b = { rate = "50 Mbit/s", delay = "10 ms", loss = { probability = 0, retransmissions = 3 } }
links.core = { rate = "5 Mbit/s", delay = "10 ms", loss = { probability = 0.01, burst = 0.2 }, queue = { kind = "red", action = "mark-re-ecn", limit = "100 packets", class_probability = { x = 0.1 } } }
groups.g = { users = 1, path = ["a", "into", "gateway", "pol", "drop", "core", "report", "out", "b"], traffic = { kind = "bulk" } }
groups.h = { users = 1, path = ["into2", "core", "out2"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let found: Vec<&str> = errors.lines().collect();
    let expected = [
        r#"groups.g.path[2]: "gateway" sets ECE for senders at the gateway, but there are links before it"#,
        r#"groups.g.path[4]: "drop", the auditor, is before the link "core", whose queue marks packets"#,
        "links.a.loss.retransmission_delay: is required with retransmissions",
        "links.a.loss.retransmissions: has no effect on a link without errors; give their `probability` or `every`",
        "links.b.loss.retransmission_delay: is required with retransmissions",
        "links.b.loss.retransmissions: has no effect on a link without errors: the probability is 0",
        "links.core.loss.burst: must be at least 1",
        r#"links.core.queue.class_probability: class "be" crosses this link but is missing"#,
        r#"links.core.queue.class_probability: no packet of class "x" crosses this link"#,
        r#"stages.gateway.mode: "split" sets ECE for senders with tcp.ecn = "gateway", but no sender"#,
        r#"stages.into.overhead: has no sequence numbers, so "report" could detect neither losses nor the flows of marks"#,
        "stages.into2.max_size: must be at least 1",
        r#"stages.into2.teid: 9 is the number of "into" too"#,
        "stages.pol.rtt: must be more than 0 s",
        "stages.pol.start: must not exceed most",
        "stages.report.every: must be more than 0 s",
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\nand not\n{expected}");
    }
    assert_eq!(found.len(), expected.len(), "{errors}");
}

/// A parameter that is given and wrong is not missing.
#[test]
fn what_is_wrong_is_not_missing_too() {
    let text = r#"
duration = "1 s"
links.line = { rate = "10 Mbit/s", delay = "1 ms" }
stages.a = { kind = "auditor", rule = "strict", delay = "-1 s" }
stages.b = { kind = "auditor", rule = "ratio", delay = 3 }
groups.x = { users = 1, path = ["line", "a", "b"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors");
    let paths: Vec<&str> = errors.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["stages.a.delay", "stages.b.delay"], "{errors}");
}

/// What could not be read is not judged: a wrong word is one error, not two.
#[test]
fn a_wrong_word_in_the_loop_is_said_once() {
    let text = |overhead: &str, mode: &str| {
        format!(
            r#"
duration = "5 s"
stages.into = {{ kind = "tunnel-ingress", peer = "out", overhead = "{overhead}", ecn = "paper" }}
stages.gateway = {{ kind = "congestion-controller", peer = "report", mode = "{mode}" }}
stages.report = {{ kind = "congestion-reporter" }}
stages.out = {{ kind = "tunnel-egress", ecn = "paper" }}
links.core = {{ rate = "5 Mbit/s", delay = "10 ms" }}
groups.g = {{ users = 1, path = ["into", "gateway", "core", "report", "out"], traffic = {{ kind = "bulk" }}, tcp = {{ ecn = "gateway" }} }}
"#
        )
    };
    let lines = |overhead, mode| {
        let errors = Scenario::from_toml(&text(overhead, mode)).expect_err("errors");
        errors.iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>()
    };
    assert!(Scenario::from_toml(&text("gtp-u-sequence", "split")).is_ok());
    assert_eq!(lines("gtp-u-sequenc", "split"), ["stages.into.overhead"]);
    assert_eq!(lines("gtp-u-sequence", "splt"), ["stages.gateway.mode"]);
    assert_eq!(lines("gtp-u", "police"), ["groups.g.tcp.ecn", "stages.into.overhead"]);
}

/// Auditors where they see too little, each with mistakes: all are said at once.
#[test]
fn an_auditor_stands_behind_what_marks_and_drops() {
    let text = r#"
duration = "1 s"
links.first = { rate = "10 Mbit/s", delay = "1 ms" }
links.line = { rate = "10 Mbit/s", delay = "1 ms", queue = { kind = "codel", limit = "100 packets" } }
links.dropping = { rate = "10 Mbit/s", delay = "1 ms", queue = { kind = "red", limit = "100 packets", action = "drop" } }
links.back = { rate = "10 Mbit/s", delay = "1 ms", reverse = { rate = "1 Mbit/s", delay = "1 ms", queue = { kind = "constant-probability", probability = 0.1 } } }
stages.police = { kind = "congestion-policer", rate = "45 packets/s", depth = "45 packets", per = "user" }
stages.a = { kind = "auditor" }
stages.b = { kind = "auditor", allowance = "3 kB", limit = "10 packets", delay = "0.5 s", hold = "1 s", class = "be", rule = "balance" }
stages.c = { kind = "auditor", rule = "ratoi", weight = 0, reordering = 0 }
stages.d = { kind = "auditor", rule = "ratio", limit = "5 packets" }
stages.e = { kind = "auditor" }
groups.x = { users = 1, path = ["police", "a", "first", "dropping", "line"], traffic = { kind = "bulk" } }
groups.y = { users = 1, path = ["first", "b", "back", "police", "c", "d"], traffic = { kind = "bulk" } }
groups.z = { users = 1, path = ["police", "line", "d", "first", "-back"], traffic = { kind = "bulk" } }
groups.well = { users = 1, path = ["police", "line", "d", "first", "back", "dropping"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        r#"groups.x.path[1]: "a", the auditor, is before the link "line", whose queue marks packets: it would not see these marks; put it behind"#,
        r#"groups.y.path[1]: "b", the auditor, is before "police", a congestion-policer, whose drops it would not see; put it behind"#,
        r#"groups.z.path[2]: "d", the auditor, is before the link "back", whose queue marks packets: it would not see these marks; put it behind"#,
        r#"stages.b.class: has no effect without action = "class""#,
        r#"stages.b.hold: has no effect without action = "delay""#,
        r#"stages.b.limit: counts packets, but allowance counts bytes; use one unit for both"#,
        r#"stages.c.reordering: must be at least 1, at most 1000, not 0"#,
        r#"stages.c.rule: "ratoi" is not valid; did you mean "ratio"?"#,
        r#"stages.c.weight: must be more than 0, at most 1, not 0"#,
        r#"stages.d.delay: is required with rule = "ratio": at least twice the longest round trip, for example "600 ms""#,
        r#"stages.d.limit: has no effect with rule = "ratio", which drops by the missing share"#,
        r#"stages.e: is on no path and has no effect: write "e" where packets leave the network, behind the queues that mark them"#,
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// What contradicts itself in one policer, beside a key that does not exist.
#[test]
fn a_policer_counts_one_thing_and_its_peak_is_no_less_than_its_rate() {
    let text = r#"
duration = "1 s"
links.line = { rate = "10 Mbit/s" }
stages.a = { kind = "policer", rate = "5 Mbit/s", burst = "5 packets", peak_rate = "4 Mbit/s", excess_burst = "3 kB", gren = "drop" }
stages.b = { kind = "policer", rate = "0 bit/s", burst = "0 B" }
stages.c = { kind = "policer", rate = "1 bit/s", burst = "1 GB", peak_burst = "3 kB" }
stages.d = { kind = "shaper", rate = "2 Mbit/s", burst = "3 kB", peak_rate = "1 Mbit/s", latency = "20 ms", limit = "20 ms" }
stages.e = { kind = "policer", rate = "5 pps", burst = "3 kB" }
stages.f = { kind = "token-bucket" }
groups.x = { users = 1, path = ["line"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        "stages.a.burst: counts packets, but rate counts bytes; use one unit for both",
        "stages.a.excess_burst: excludes peak_rate; give one of the two (RFC 2697 has an excess burst, RFC 2698 a peak rate)",
        r#"stages.a.gren: unknown key "gren"; did you mean "green"?"#,
        r#"stages.a.peak_burst: is required with peak_rate: bytes or packets, for example "30 kB""#,
        "stages.a.peak_rate: must be at least rate: 4000000 bit/s is less than 5000000 bit/s",
        r#"stages.b.burst: must be at least 1, not "0 B""#,
        r#"stages.b.rate: must be more than 0, not "0 bit/s""#,
        "stages.c.burst: takes 254 years to fill at this rate; 73 are the most",
        "stages.c.peak_burst: has no effect without peak_rate",
        r#"stages.d.limit: "20 ms" is a duration, a number of packets or of bytes is needed, for example "12 packets" or "18 kB""#,
        "stages.d.peak_rate: must be more than rate: 1000000 bit/s is not more than 2000000 bit/s",
        r#"stages.e.rate: "5 pps" has an unknown unit; write "packets/s""#,
        r#"stages.f.kind: unknown stage kind "token-bucket"; valid names are activity-meter, auditor, bandwidth-manager, congestion-controller, congestion-meter, congestion-policer, congestion-reporter, csfq-edge, fair-activity-meter, policer, rate-meter, rewriter, shaper, tunnel-egress, tunnel-ingress, window-tuner"#,
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// A packet counts in eight bits where it is.
#[test]
fn a_path_has_room_for_the_packets_of_its_stages() {
    let stages: String = (0..10).map(|i| format!("stages.s{i} = {{ kind = \"probe-stage\" }}\n")).collect();
    let names: String = (0..10).map(|i| format!("\"s{i}\", ")).collect();
    let text = |count: usize| {
        let names: String = names.split_inclusive(", ").take(count).collect();
        format!(
            "duration = \"1 s\"\nlinks.l = {{ rate = \"1 Mbit/s\" }}\n{stages}groups.x = {{ users = 1, path = [{names}\"l\"], traffic = {{ kind = \"bulk\" }} }}\n"
        )
    };
    assert!(Scenario::from_toml(&text(9)).is_ok());
    assert_eq!(
        Scenario::from_toml(&text(10)).expect_err("an error").to_string(),
        "groups.x.path: has 11 components, of which 10 send packets; that is more than a packet can count: use fewer of either"
    );
}

#[test]
fn a_path_takes_some_time() {
    let tree = with(
        "newreno-droptail",
        &[("links.wire", json!({ "delay": "0 s" })), ("groups.light.path", json!(["wire"]))],
    );
    assert_eq!(
        errors(&tree).to_string(),
        "groups.light.path: packets would take no time at all: one link needs a rate or a delay above 0"
    );
    one("links.wire", json!({}), "links.wire: a link needs a rate, a delay or both");
}

#[test]
fn groups_have_users() {
    one(
        "groups.heavy.users",
        json!(0),
        "groups.heavy.users: a group needs at least one user; leave the group out if it has none",
    );
    one("groups.heavy.users", json!(2.5), "groups.heavy.users: a whole number is needed, not 2.5");
    one("groups.heavy.users", json!("ten"), "groups.heavy.users: a whole number is needed, not \"ten\"");
    one(
        "groups.heavy.users",
        json!(5_000_000),
        "groups.heavy.users: must be at least 1, at most 4000000, not 5000000",
    );
    assert_eq!(
        errors(&without("abc-default", &["groups.heavy.users"])).to_string(),
        "groups.heavy.users: is required: whole number, for example 10"
    );
    assert_eq!(
        errors(&without("abc-default", &["groups"])).to_string(),
        "groups: at least one group of users is needed"
    );
    one("groups", json!({}), "groups: at least one group of users is needed");
}

#[test]
fn a_million_users_are_a_valid_scenario_and_too_many_flows_say_how_many() {
    let million = with("abc-default", &[("groups.light.users", json!(1_000_000))]);
    assert!(Scenario::from_value(&million).is_ok());
    let tree = with(
        "abc-default",
        &[("groups.light.users", json!(1_000_000)), ("groups.light.traffic.flows", json!(100))],
    );
    assert_eq!(errors(&tree).to_string(), "groups: 100000010 flows in all; at most 64000000 are possible");
}

#[test]
fn a_limit_of_zero_is_refused() {
    let expected = "links.bottleneck.queue.limit: a queue of zero holds nothing; give a limit above 0, \
                    or none for an unlimited queue";
    for zero in ["0 packets", "0 B", "0 ms"] {
        one("links.bottleneck.queue.limit", json!(zero), expected);
    }
    one(
        "links.bottleneck.queue.limit",
        json!("0.5 packets"),
        "links.bottleneck.queue.limit: must be at least 1 packet, not \"0.5 packets\"",
    );
}

#[test]
fn something_is_measured() {
    one(
        "warmup",
        json!("200 s"),
        "warmup: must be shorter than the duration: 200 s of 200 s leave nothing to measure",
    );
    one("duration", json!("0 s"), "duration: must be more than 0 s, not \"0 s\"");
    one("duration", json!({ "exponential": "100 s" }), "duration: cannot be drawn; a plain value is needed");
    assert_eq!(
        errors(&without("abc-default", &["duration"])).to_string(),
        "duration: is required: duration, for example \"5 ms\""
    );
}

#[test]
fn videos_that_cannot_be_played() {
    let video = |more: Json| {
        let mut table = json!({ "kind": "youtube" });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        errors(&with("abc-default", &[("groups.heavy.traffic", table)])).to_string()
    };
    assert_eq!(
        video(json!({ "play_above": "0.3 s", "stall_below": "0.4 s" })),
        "groups.heavy.traffic.play_above: must be more than 0.4 s, the stall threshold, but is 0.3 s: it would stall as soon as it \
         plays"
    );
    assert_eq!(
        video(json!({ "pace": { "uniform": [1, 2] }, "burst": { "exponential": "5 s" } })),
        "groups.heavy.traffic.burst: cannot be drawn; a plain value is needed\n\
         groups.heavy.traffic.pace: cannot be drawn; a plain value is needed"
    );
    assert_eq!(
        video(json!({ "bitrate": "0 bit/s", "videos": 0, "chunks": "64 KiB" })),
        "groups.heavy.traffic.bitrate: must be more than 0 bit/s, not \"0 bit/s\"\n\
         groups.heavy.traffic.chunks: unknown key \"chunks\"; did you mean \"chunk\"?\n\
         groups.heavy.traffic.videos: must be at least 1, not 0"
    );
}

/// What is wrong with fields by themselves, with several together, and in tables inside, none of it hidden by the rest.
#[test]
fn all_that_is_wrong_with_a_player_and_its_gateway() {
    let falling = json!(["3 Mbit/s", "1 Mbit/s"]);
    let said = |player: Json, manager: Json| {
        let mut given = json!({ "kind": "has", "ladder": ["1 Mbit/s", "3 Mbit/s"] });
        given.as_object_mut().expect("a table").extend(player.as_object().expect("a table").clone());
        let mut stage =
            json!({ "kind": "window-tuner", "rate": "8 Mbit/s", "policy": "levels", "ladder": ["1 Mbit/s"] });
        stage.as_object_mut().expect("a table").extend(manager.as_object().expect("a table").clone());
        let path = json!(["access", "tuner", "meter", "bottleneck"]);
        let tree = with(
            "abc-default",
            &[("groups.heavy.traffic", given), ("groups.heavy.path", path), ("stages.tuner", stage)],
        );
        let all = Scenario::from_value(&tree).map_or_else(|errors| errors.to_string(), |_| String::new());
        let path = |line: &str| line.split(": ").next().expect("a path").to_owned();
        all.lines().map(path).map(|path| path.replace("groups.heavy.traffic.", "")).collect::<Vec<_>>()
    };
    assert_eq!(said(json!({ "ladder": falling, "buffer": "1 s" }), json!({})), ["buffer", "ladder"]);
    let late = json!({ "start": "9 s", "until": "5 s", "ladder": falling, "buffer": "1 s" });
    assert_eq!(said(late, json!({})), ["buffer", "ladder", "until"]);
    let rule = json!({ "kind": "aggressive-rate", "aggressiveness": -0.1 });
    assert_eq!(
        said(json!({ "adaptation": rule, "ladder": falling, "buffer": "1 s", "sizes": [] }), json!({})),
        ["adaptation.aggressiveness", "buffer", "ladder", "sizes"]
    );
    assert_eq!(
        said(
            json!({ "chunk": "0 s", "ladder": falling, "buffer": "1 s", "adaptation": rule, "start": "9 s", "until": "5 s" }),
            json!({ "margin": -1, "ladder": falling })
        ),
        [
            "adaptation.aggressiveness",
            "chunk",
            "ladder",
            "until",
            "stages.tuner.ladder",
            "stages.tuner.margin"
        ]
    );
    assert_eq!(
        said(json!({}), json!({ "rate": "0.5 Mbit/s", "ladder": falling })),
        ["stages.tuner.ladder", "stages.tuner.rate"]
    );
    // What could not be read is not missing, nor is what was not asked for.
    assert_eq!(said(json!({}), json!({ "ladder": ["1 Mbit"] })), ["stages.tuner.ladder[0]"]);
    let dealt = json!({ "chunk": { "uniform": ["1 s", "2 s"] }, "ladder": falling });
    assert_eq!(said(dealt, json!({})), ["chunk", "ladder"]);
}

#[test]
fn adaptive_video_that_cannot_be_played() {
    let video = |more: Json| {
        let mut table = json!({ "kind": "has", "ladder": ["1 Mbit/s", "3 Mbit/s"] });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        let tree = with("abc-default", &[("groups.heavy.traffic", table)]);
        Scenario::from_value(&tree).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    let heavy = |text: &str| format!("groups.heavy.traffic.{text}");
    assert_eq!(video(json!({ "adaptation": { "kind": "mpc", "horizon": 3 } })), "");
    assert_eq!(
        video(json!({ "ladder": ["3 Mbit/s", "1 Mbit/s"] })),
        heavy("ladder: must rise, but 1000000 bit/s follows 3000000 bit/s")
    );
    assert_eq!(video(json!({ "ladder": [] })), heavy("ladder: needs at least one level"));
    assert_eq!(
        video(json!({ "connection": "new" })),
        heavy(
            "connection: unknown key \"connection\"; did you mean \"keep_alive\"? It is true, or false for a new connection for each request"
        )
    );
    assert_eq!(
        video(json!({ "ladder": ["3 Mbit", 5] })).lines().count(),
        2,
        "{}",
        video(json!({ "ladder": ["3 Mbit", 5] }))
    );
    assert_eq!(
        video(json!({ "ladder": "1 Mbit/s" })),
        heavy(
            "ladder: a list of rates is needed, for example [\"1 Mbit/s\", \"3 Mbit/s\"], not \"1 Mbit/s\""
        )
    );
    assert_eq!(
        video(json!({ "chunk": "0 s", "buffer": "3 s" })),
        heavy("chunk: must be more than 0 s, not \"0 s\"")
    );
    assert_eq!(
        video(json!({ "buffer": "3 s" })),
        heavy("buffer: must hold at least two chunks of 2 s; it is 3 s")
    );
    assert_eq!(video(json!({ "sizes": [["60 kB", "110 kB"]], "connections": 2, "abandon": {} })), "");
    assert_eq!(
        video(json!({ "sizes": [["60 kB"], ["0 B", "110"], "9 kB"] })),
        [
            heavy("sizes[1][0]: must be at least 1 B, not \"0 B\""),
            heavy("sizes[1][1]: needs a unit, for example \"64 KiB\""),
            heavy("sizes[2]: a list of bytes is needed, not \"9 kB\""),
        ]
        .join("\n")
    );
    assert_eq!(
        video(json!({ "sizes": [["60 kB"]], "chunk": "2 s" })),
        heavy("sizes: chunk 0 has 1 sizes, the ladder 2 levels")
    );
    assert_eq!(
        video(
            json!({ "connections": 0, "abandon": { "how": "flush", "multiple": 0, "afer": "1 s" }, "end": "drian" })
        ),
        [
            heavy("abandon.afer: unknown key \"afer\"; did you mean \"after\"?"),
            heavy("abandon.how: \"flush\" is not valid; valid names are close, drain"),
            heavy("abandon.multiple: must be more than 0, not 0"),
            heavy("connections: must be at least 1, at most 100, not 0"),
            heavy("end: \"drian\" is not valid; did you mean \"drain\"?"),
        ]
        .join("\n")
    );
    assert_eq!(
        video(json!({ "abandon": { "multiple": { "uniform": [1, 2] } } })),
        heavy("abandon: its parameters cannot be drawn; plain values are needed")
    );
    assert_eq!(
        video(json!({ "until": "2 s", "start": "3 s", "end": "drain" })),
        heavy("until: must be later than start: 2 s is not after 3 s")
    );
    assert_eq!(
        video(json!({ "adaptation": "bolla" })),
        heavy("adaptation: unknown adaptation rule \"bolla\"; did you mean \"bola\"?")
    );
    assert_eq!(
        video(json!({ "adaptation": { "kind": "bola", "minimum_buffer": "40 s" } })),
        heavy("adaptation.target_buffer: must be more than minimum_buffer, 40 s; it is 30 s")
    );
    assert_eq!(
        video(json!({ "adaptation": { "kind": "aggressive-rate", "aggressiveness": -0.1, "sigma": 1 } }))
            .lines()
            .count(),
        2
    );
    assert_eq!(
        video(
            json!({ "adaptation": { "kind": "aggressive-rate", "aggressiveness": { "uniform": [0, 1] } } })
        ),
        heavy("adaptation: its parameters cannot be drawn; plain values are needed")
    );
    assert_eq!(
        video(json!({ "adaptation": "pensieve" })),
        heavy("adaptation: adaptation rule \"pensieve\": planned, not built; nearest: robust-mpc")
    );
}

#[test]
fn kinds_are_known_or_announced_or_mistyped() {
    one(
        "links.access.queue.kind",
        json!("droptial"),
        "links.access.queue.kind: unknown queue kind \"droptial\"; did you mean \"droptail\"?",
    );
    one(
        "links.access.queue.kind",
        json!("htb"),
        "links.access.queue.kind: \"htb\" is a scheduler; write scheduler = { kind = \"htb\" } in the queue",
    );
    one(
        "groups.heavy.traffic",
        json!({ "kind": "dash" }),
        "groups.heavy.traffic.kind: traffic kind \"dash\": planned, not built; nearest: has",
    );
    one(
        "groups.heavy.traffic",
        json!({ "kind": "bluk" }),
        "groups.heavy.traffic.kind: unknown traffic kind \"bluk\"; did you mean \"bulk\"?",
    );
    one(
        "groups.heavy.traffic",
        json!({}),
        "groups.heavy.traffic.kind: is required: one of bulk, has, ping, request-response, short-flows, upload, web, youtube, cbr, poisson",
    );
    one(
        "stages.meter.kind",
        json!("activity-metre"),
        "stages.meter.kind: unknown stage kind \"activity-metre\"; did you mean \"activity-meter\"?",
    );
    one(
        "groups.heavy.tcp.congestion_control",
        json!("newrno"),
        "groups.heavy.tcp.congestion_control: unknown congestion control \"newrno\"; did you mean \"newreno\"?",
    );
    one(
        "groups.heavy.tcp.congestion_control",
        json!({ "kind": "vegsa" }),
        "groups.heavy.tcp.congestion_control.kind: unknown congestion control \"vegsa\"; did you mean \"vegas\"?",
    );
    one(
        "groups.heavy.tcp.stack",
        json!("ns3"),
        "groups.heavy.tcp.stack: \"ns3\" is not valid; did you mean \"ns3.26\"?",
    );
    one(
        "groups.heavy.tcp.save_metric",
        json!(true),
        "groups.heavy.tcp.save_metric: unknown key \"save_metric\"; did you mean \"save_metrics\"?",
    );
    one("stages.meter.peer", json!("x"), "stages.meter.peer: activity-meter has no peer; leave this out");
    one(
        "stages.meter.controls",
        json!("x"),
        "stages.meter.controls: activity-meter controls nothing; leave this out",
    );
    one(
        "links.bottleneck.queue.scheduler",
        json!({ "kind": "wfq" }),
        "links.bottleneck.queue.scheduler.kind: scheduler \"wfq\": planned, not built; nearest: drr",
    );
}

#[test]
fn jitter_has_a_deviation_an_order_and_a_direction() {
    let key = "links.bottleneck.jitter";
    one(key, json!({}), "links.bottleneck.jitter.normal: is required: duration, for example \"5 ms\"");
    one(
        key,
        json!({ "normal": "7 packets" }),
        "links.bottleneck.jitter.normal: \"7 packets\" is a number of packets, a duration is needed, for example \"5 ms\"",
    );
    one(
        key,
        json!({ "normal": "7 ms", "order": "keeps" }),
        "links.bottleneck.jitter.order: \"keeps\" is not valid; did you mean \"keep\"?",
    );
    one(
        key,
        json!({ "normal": "7 ms", "direction": "backwards" }),
        "links.bottleneck.jitter.direction: \"backwards\" is not valid; valid names are both, forward, reverse",
    );
    one(
        key,
        json!({ "normal": "7 ms", "sd": 1 }),
        "links.bottleneck.jitter.sd: unknown key \"sd\"; valid names are correlation, direction, from, normal, order, until",
    );
    one(
        key,
        json!({ "normal": "7 ms", "correlation": 1.5 }),
        "links.bottleneck.jitter.correlation: must be at least 0, at most 1, not 1.5",
    );
    one(
        key,
        json!({ "normal": "7 ms", "from": "9 s", "until": "9 s" }),
        "links.bottleneck.jitter.until: must be later than from: 9 s is not after 9 s",
    );
}

#[test]
fn the_packet_in_transmission_needs_a_step() {
    let key = "links.bottleneck.in_flight";
    one(
        key,
        json!("new-rate"),
        "links.bottleneck.in_flight: has no effect without rate.steps, which change the rate",
    );
    one(
        "links.bottleneck",
        json!({ "rate": { "steps": [["0 s", "1 Mbit/s"], ["1 s", "2 Mbit/s"]] }, "in_flight": "newrate" }),
        "links.bottleneck.in_flight: \"newrate\" is not valid; did you mean \"new-rate\"?",
    );
}

/// A queue with this scheduler and no rule of its own.
fn scheduled(scheduler: Json, expected: &str) {
    let queue = json!({ "limit": "24 packets", "scheduler": scheduler });
    one("links.bottleneck.queue", queue, &format!("links.bottleneck.queue.scheduler{expected}"));
}

#[test]
fn shapers_say_what_they_need() {
    scheduled(
        json!({ "kind": "tbf", "rate": "1 Mbit/s" }),
        ".burst: is required: bytes, for example \"64 KiB\"",
    );
    let filter = |key: &str, json: Json| {
        let mut filter = json!({ "kind": "tbf", "rate": "1 Mbit/s", "burst": "3 kB" });
        filter[key] = json;
        filter
    };
    scheduled(
        filter("peak_rate", json!("1 Mbit/s")),
        ".peak_rate: must be more than rate: 1000000 bit/s is not more than 1000000 bit/s",
    );
    scheduled(
        filter("latency", json!("20 ms")),
        ".latency: is another form of limit, and the queue has one; give one of the two",
    );
    scheduled(
        json!({ "kind": "htb" }),
        ".classes: is required: with per = \"class\" it gives the rate of each class",
    );
    scheduled(
        json!({ "kind": "htb", "classes": { "be": { "ceil": "1 Mbit/s" } } }),
        ".classes.be.rate: is required: rate, for example \"10 Mbit/s\"",
    );
    scheduled(
        json!({ "kind": "htb", "classes": { "be": { "rate": "1 Mbit/s", "parent": "root" } } }),
        ".classes: be.parent: no class is called \"root\"",
    );
    scheduled(
        json!({ "kind": "htb", "classes": { "be": { "rate": "1 Mbit/s", "leaf": { "limit": "0 packets" } } } }),
        ".classes.be.leaf.limit: must be more than 0, not \"0 packets\"",
    );
    scheduled(
        json!({ "kind": "htb", "classes": { "ef": { "rate": "1 Mbit/s" } } }),
        ".classes: class \"be\" crosses this link but is missing\n\
         links.bottleneck.queue.scheduler.classes: no packet of class \"ef\" crosses this link; the only valid name is \"be\"",
    );
    scheduled(json!({ "kind": "htb", "per": "user" }), ".each: is required: it gives the rate of each user");
    one(
        "links.bottleneck.queue",
        json!({ "kind": "codel", "scheduler": { "kind": "tbf", "rate": "1 Mbit/s", "burst": "3 kB" } }),
        "links.bottleneck.queue.scheduler: codel drops packets that tbf has already charged; set the rate of the link instead",
    );
}

/// The bottleneck's group with a stack on which every packet tells its mark, and this congestion control.
fn per_packet(control: Json) -> Json {
    with(
        "abc-default",
        &[(
            "groups.heavy.tcp",
            json!({ "stack": "ns2", "ecn": "per-packet", "congestion_control": control }),
        )],
    )
}

#[test]
fn congestion_controls_get_the_feedback_they_answer() {
    valid(&per_packet(json!("wtp")));
    valid(&per_packet(json!({ "kind": "multcp", "react": "every-mark" })));
    one(
        "groups.heavy.tcp.congestion_control",
        json!("wtp"),
        "groups.heavy.tcp.congestion_control: wtp reacts to the mark of each packet and needs ecn = \"per-packet\", not \"off\"",
    );
    one(
        "groups.heavy.tcp.congestion_control",
        json!({ "kind": "multcp", "react": "every-mark" }),
        "groups.heavy.tcp.congestion_control: react = \"every-mark\" needs ecn = \"per-packet\" or \"accurate\"; \
         \"off\" does not report single marks",
    );
}

#[test]
fn cubic_of_linux_3_2_has_no_later_slow_start() {
    const PATH: &str = "groups.heavy.tcp";
    let tcp = |more: Json| {
        let mut tcp =
            json!({ "stack": "linux3.2", "congestion_control": { "kind": "cubic", "form": "linux-3.2" } });
        let (Json::Object(all), Json::Object(more)) = (&mut tcp, more) else { unreachable!() };
        all.extend(more);
        tcp
    };
    valid(&with("abc-default", &[(PATH, tcp(json!({})))]));
    valid(&with("abc-default", &[(PATH, tcp(json!({ "stack": "rfc" })))])); // the stack's default counts for other forms
    let refused = |word: &str| {
        format!(
            "groups.heavy.tcp.congestion_control: form = \"linux-3.2\" has no slow_start = \"{word}\"; write \
             slow_start = \"hystart\" or form = \"linux\""
        )
    };
    let chosen =
        json!({ "congestion_control": { "kind": "cubic", "form": "linux-3.2", "slow_start": "search" } });
    one(PATH, tcp(chosen), &refused("search"));
    one(PATH, tcp(json!({ "slow_start": "hystart++" })), &refused("hystart++"));
}

#[test]
fn the_accecn_option_needs_accurate_feedback() {
    const PATH: &str = "groups.heavy.tcp";
    valid(&with("abc-default", &[(PATH, json!({ "ecn": "accurate", "accurate_ecn_option": true }))]));
    one(
        PATH,
        json!({ "ecn": "classic", "accurate_ecn_option": true }),
        "groups.heavy.tcp.accurate_ecn_option: needs ecn = \"accurate\" (RFC 9768)",
    );
}

#[test]
fn bursts_need_a_control_that_paces() {
    const PATH: &str = "groups.heavy.tcp";
    valid(&with("abc-default", &[(PATH, json!({ "congestion_control": "bbr", "gso": "64 KiB" }))]));
    valid(&with("abc-default", &[(PATH, json!({ "pacing": true, "gso": "64 KiB" }))]));
    one(
        PATH,
        json!({ "congestion_control": "cubic", "gso": "64 KiB" }),
        "groups.heavy.tcp.gso: cubic does not pace; add pacing = true, or leave gso out",
    );
    one(
        PATH,
        json!({ "congestion_control": "bbr", "pacing": true }),
        "groups.heavy.tcp.pacing: bbr paces itself; leave pacing out",
    );
    one(
        PATH,
        json!({ "congestion_control": { "kind": "bbr", "ecn": true } }),
        "groups.heavy.tcp.congestion_control: bbr with ecn = true counts marks: add ecn = \"accurate\" to tcp, not \"off\"",
    );
}

#[test]
fn a_weight_stands_in_one_place() {
    let general = json!({ "kind": "wtp", "form": "general", "increase_weight": 2, "decrease_weight": 3 });
    let mut tree = per_packet(general.clone());
    valid(&tree);
    *at(&mut tree, "groups.heavy.weight") = json!(2);
    assert_eq!(
        errors(&tree).to_string(),
        "groups.heavy.weight: excludes decrease_weight of the congestion control wtp; give one of the two\n\
         groups.heavy.weight: excludes increase_weight of the congestion control wtp; give one of the two"
    );
    let half = json!({ "kind": "wtp", "form": "general", "increase_weight": 2 });
    assert_eq!(
        errors(&per_packet(half)).to_string(),
        "groups.heavy.tcp.congestion_control.decrease_weight: is required with form = \"general\""
    );
    let both = json!({ "kind": "wtp", "increase_weight": 2, "decrease_weight": 0 });
    assert_eq!(
        errors(&per_packet(both)).to_string(),
        "groups.heavy.tcp.congestion_control.decrease_weight: must be more than 0, at most 1000000, not 0"
    );
    let other = json!({ "kind": "wtp", "form": "inverse-decrease", "increase_weight": 2 });
    assert_eq!(
        errors(&per_packet(other)).to_string(),
        "groups.heavy.tcp.congestion_control.increase_weight: is only for form = \"general\", not \"inverse-decrease\""
    );
}

#[test]
fn multcp_stands_for_one_connection_at_least() {
    let mut tree = per_packet(json!("multcp"));
    valid(&tree);
    for weight in [json!(0.5), json!({ "uniform": [0.5, 2] }), json!({ "values": [4, 0.25] })] {
        *at(&mut tree, "groups.heavy.weight") = weight;
        assert_eq!(
            errors(&tree).to_string(),
            "groups.heavy.weight: is N of multcp, which must be at least 1 for every draw"
        );
    }
    *at(&mut tree, "groups.heavy.weight") = json!({ "uniform": [1, 2] });
    valid(&tree);
    assert_eq!(
        errors(&per_packet(json!({ "kind": "multcp", "weight": 0 }))).to_string(),
        "groups.heavy.tcp.congestion_control.weight: must be at least 1, at most 1000000, not 0"
    );
    assert_eq!(
        errors(&per_packet(json!({ "kind": "multcp", "weight": { "normal": [2, 1] } }))).to_string(),
        "groups.heavy.tcp.congestion_control.weight: N must be at least 1, but is 0 (as it may be drawn)"
    );
}

/// Changes the queue of the ABC example to a RED and gives its errors, as many as there are.
fn red(queue: Json) -> Vec<String> {
    let mut tree = without("abc-default", &["links.bottleneck.queue"]);
    *common::at(&mut tree, "links.bottleneck.queue") = queue;
    errors(&tree).iter().map(|(path, message)| format!("{path}: {message}")).collect()
}

#[test]
fn everything_that_is_wrong_with_a_red_is_said_at_once() {
    let queue = json!({
        "kind": "red", "min_threshold": "20 packets", "max_threshold": "20 packets", "weight": 0, "max_probability": 1.5,
        "mark_all_above": "7 packets",
    });
    assert_eq!(
        red(queue),
        [
            "links.bottleneck.queue.mark_all_above: must not be below min_threshold: 7 is less than 20",
            "links.bottleneck.queue.max_probability: must be more than 0, at most 1, not 1.5",
            "links.bottleneck.queue.max_threshold: must be above min_threshold: 20 is not more than 20",
            "links.bottleneck.queue.weight: must be more than 0, at most 1, not 0",
        ]
    );
    assert_eq!(
        red(json!({ "kind": "red", "min_threshold": "20 packets", "max_threshold": "60 kB", "weight": 1.1 })),
        [
            "links.bottleneck.queue.max_threshold: must be in the unit of min_threshold: packets or bytes",
            "links.bottleneck.queue.weight: must be more than 0, at most 1, not 1.1",
        ]
    );
    assert_eq!(
        red(json!({ "kind": "red", "min_threshold": "20 ms", "variant": "ns4", "spread": "uniform" })),
        [
            "links.bottleneck.queue.min_threshold: \"20 ms\" is a duration, a number of packets or of bytes is needed, for example \
             \"12 packets\" or \"18 kB\"",
            "links.bottleneck.queue.spread: \"uniform\" is not valid; valid names are bernoulli, floyd, ns2",
            "links.bottleneck.queue.variant: \"ns4\" is not valid; did you mean \"ns2\"?",
        ]
    );
}

#[test]
fn a_virtual_queue_must_hold_a_packet() {
    assert_eq!(
        red(
            json!({ "kind": "virtual-queue", "buffer": "1 packets", "mark": "busy-departure", "action": "mark" })
        ),
        [
            "links.bottleneck.queue.action: must be \"mark-everything\" with mark = \"busy-departure\": departing \
             packets cannot be dropped",
            "links.bottleneck.queue.buffer: times buffer_factor must be at least 1 packet; it is 0.95",
        ]
    );
}

#[test]
fn losses_are_probabilities() {
    one("links.bottleneck.loss", json!(1.5), "links.bottleneck.loss: must be at least 0, at most 1, not 1.5");
    one(
        "links.bottleneck.loss",
        json!({ "probabilty": 0.1 }),
        "links.bottleneck.loss: give either `probability` (of each packet) or `every` (the n-th packet is lost)\n\
         links.bottleneck.loss.probabilty: unknown key \"probabilty\"; did you mean \"probability\"?",
    );
    one(
        "links.bottleneck.loss",
        json!({ "probability": 0.1, "every": 10 }),
        "links.bottleneck.loss: give either `probability` (of each packet) or `every` (the n-th packet is lost)",
    );
    one(
        "links.bottleneck.loss",
        json!({ "every": 0 }),
        "links.bottleneck.loss.every: must be at least 1, not 0",
    );
    one(
        "links.bottleneck.loss",
        json!({ "probability": 0.1, "from": "5 s", "until": "5 s", "direction": "backward" }),
        "links.bottleneck.loss.direction: \"backward\" is not valid; valid names are both, forward, reverse\n\
         links.bottleneck.loss.until: must be later than from: 5 s is not after 5 s",
    );
}

/// Beyond 2^53 floats skip whole numbers: what would become another number is refused, as a whole number and as a float.
#[test]
fn whole_numbers_end_where_floats_skip_some() {
    let path = "links.bottleneck.loss";
    let wrong = |json: Json, shown: &str| {
        let message = format!("{path}.every: must be at most 9007199254740992, not {shown}");
        one(path, json!({ "every": json }), &message);
    };
    wrong(json!(1e18), "1e+18");
    wrong(json!(1_000_000_000_000_000_000_u64), "1000000000000000000");
    wrong(json!(9_007_199_254_740_993_u64), "9007199254740993");
    wrong(json!(u64::MAX), "18446744073709551615");
    valid(&with("abc-default", &[(path, json!({ "every": 9_007_199_254_740_992_u64 }))]));
    one(
        "groups.heavy.users",
        json!(1e20),
        "groups.heavy.users: must be at least 1, at most 4000000, not 1e+20",
    );
    one(
        "groups.heavy.users",
        json!(i64::MIN),
        "groups.heavy.users: must not be negative, but is -9223372036854775808",
    );
    one("groups.heavy.users", json!(2.5), "groups.heavy.users: a whole number is needed, not 2.5");
}

#[test]
fn a_queue_needs_a_kind_for_its_parameters() {
    let tree = without("abc-default", &["links.bottleneck.queue.kind"]);
    assert_eq!(
        errors(&tree).to_string(),
        "links.bottleneck.queue.kind: is required: the parameters are those of activity-aqm or csfq"
    );
    one(
        "links.wire",
        json!({ "delay": "1 ms", "queue": {} }),
        "links.wire.queue: a link without a rate is pure delay and has no queue",
    );
}

#[test]
fn parameters_of_a_rule_agree_with_each_other() {
    let tree = with("abc-default", &[("links.bottleneck.queue.q_base", json!("20 ms"))]);
    assert!(errors(&tree).to_string().starts_with("links.bottleneck.queue."), "{}", errors(&tree));
    let tree =
        with("abc-default", &[("links.bottleneck.queue.q_base", json!({ "uniform": ["1 ms", "20 ms"] }))]);
    assert!(errors(&tree).to_string().starts_with("links.bottleneck.queue."), "{}", errors(&tree));
}

#[test]
fn rates_in_steps_begin_at_zero_and_go_forward() {
    let steps = |steps: Json| json!({ "steps": steps });
    one(
        "links.bottleneck.rate",
        steps(json!([["1 s", "10 Mbit/s"]])),
        "links.bottleneck.rate.steps[0][0]: the first step must be at \"0 s\"",
    );
    one(
        "links.bottleneck.rate",
        steps(json!([["0 s", "10 Mbit/s"], ["5 s", "1 Mbit/s"], ["5 s", "2 Mbit/s"]])),
        "links.bottleneck.rate.steps[2][0]: steps must be in order of time",
    );
    one(
        "links.bottleneck.rate",
        steps(json!([["0 s", "0 bit/s"]])),
        "links.bottleneck.rate.steps: at least one rate must be above zero",
    );
    one(
        "links.bottleneck.rate",
        steps(json!([])),
        "links.bottleneck.rate.steps: must have at least one rate",
    );
    one(
        "links.bottleneck.rate",
        steps(json!([["0 s"]])),
        "links.bottleneck.rate.steps[0]: [time, rate] is needed, not a list of 1",
    );
}

#[test]
fn copies_are_for_users_flows_groups() {
    one("links.access.per", json!("usr"), "links.access.per: \"usr\" is not valid; did you mean \"user\"?");
    one("links.access.per", json!("0 users"), "links.access.per: must be at least 1 user");
    one(
        "links.access.per",
        json!("everybody"),
        "links.access.per: \"everybody\" is not valid; write \"user\", \"flow\", \"group\" or a number of users such as \
         \"5 users\", or leave it out for one shared by all",
    );
}

#[test]
fn schedulers_know_exactly_the_classes_that_cross_their_link() {
    let scheduler = |scheduler: Json| ("links.bottleneck.queue.scheduler", scheduler);
    let ef = ("groups.light.class", json!("ef"));
    let tree = with(
        "abc-default",
        &[ef.clone(), scheduler(json!({ "kind": "strict", "per": "class", "order": ["ef", "be"] }))],
    );
    assert!(Scenario::from_value(&tree).is_ok());
    let tree = with("abc-default", &[ef.clone(), scheduler(json!({ "kind": "strict", "order": ["ef"] }))]);
    assert_eq!(
        errors(&tree).to_string(),
        "links.bottleneck.queue.scheduler.order: class \"be\" crosses this link but is missing"
    );
    let offsets = json!({ "ef": "0 ms", "be": "57.6 ms", "af": "1 ms" });
    let tree = with("abc-default", &[ef.clone(), scheduler(json!({ "kind": "medf", "offsets": offsets }))]);
    assert_eq!(
        errors(&tree).to_string(),
        "links.bottleneck.queue.scheduler.offsets: no packet of class \"af\" crosses this link; did you mean \"ef\"?"
    );
    let tree = with(
        "abc-default",
        &[ef, scheduler(json!({ "kind": "strict", "per": "user", "order": ["ef", "be"] }))],
    );
    assert_eq!(
        errors(&tree).to_string(),
        "links.bottleneck.queue.scheduler.per: must be \"class\": strict tells classes apart by name"
    );
}

#[test]
fn acknowledgements_cross_the_other_way() {
    // Upstream data of class `up` share the link's reverse direction with the acknowledgements of class `be`.
    let queue = json!({ "scheduler": { "kind": "strict", "order": ["up", "be"] } });
    let changes = [
        ("groups.light.path", json!(["access", "-bottleneck"])),
        ("groups.light.class", json!("up")),
        ("links.bottleneck.reverse", json!({ "queue": queue })),
    ];
    assert!(Scenario::from_value(&with("newreno-droptail", &changes)).is_ok());
    let datagrams = with(
        "poisson-droptail",
        &[
            ("groups.one.class", json!("up")),
            ("groups.one.path", json!(["access", "-bottleneck"])),
            ("links.bottleneck.reverse", json!({ "queue": queue })),
        ],
    );
    assert_eq!(
        errors(&datagrams).to_string(),
        "links.bottleneck.reverse.queue.scheduler.order: no packet of class \"be\" crosses this link; the only valid \
         name is \"up\""
    );
}

#[test]
fn the_replies_of_a_ping_cross_the_other_way() {
    let queue = json!({ "scheduler": { "kind": "htb", "classes": { "be": { "rate": "1 Mbit/s" } } } });
    let ping = |class: &str| {
        with(
            "poisson-droptail",
            &[
                ("groups.one.class", json!(class)),
                ("groups.one.traffic", json!({ "kind": "ping" })),
                ("links.bottleneck.reverse", json!({ "queue": queue })),
            ],
        )
    };
    assert!(Scenario::from_value(&ping("be")).is_ok());
    assert_eq!(
        errors(&ping("ef")).to_string(),
        "links.bottleneck.reverse.queue.scheduler.classes: class \"ef\" crosses this link but is missing\n\
         links.bottleneck.reverse.queue.scheduler.classes: no packet of class \"be\" crosses this link; the only valid \
         name is \"ef\""
    );
}

#[test]
fn datagrams_have_no_tcp() {
    let poisson = json!({ "kind": "poisson", "rate": "1 Mbit/s" });
    one(
        "groups.heavy.traffic",
        poisson.clone(),
        "groups.heavy.tcp: all traffic of this group is datagrams, which have no TCP",
    );
    let mut own = poisson.clone();
    own["tcp"] = json!({ "stack": "ns3.26" });
    one(
        "groups.heavy.traffic",
        json!([{ "kind": "bulk" }, own]),
        "groups.heavy.traffic[1].tcp: poisson sends datagrams, which have no TCP",
    );
}

#[test]
fn names_can_stand_in_a_path() {
    one(
        "links",
        json!({ "a.b": { "delay": "1 ms" }, "access": { "delay": "1 ms" }, "bottleneck": { "rate": "1 Mbit/s" } }),
        "links.\"a.b\": \"a.b\" is no name: a name has letters, digits, \"_\" and \"-\", and does not start with \"-\"",
    );
    one(
        "stages.access",
        json!({ "kind": "rate-meter", "memory": "1 s" }),
        "stages.access: a link has this name too; a path could not tell them apart",
    );
    one(
        "groups.heavy.traffic.class",
        json!(""),
        "groups.heavy.traffic.class: \"\" is no name: a name has letters, digits, \"_\" and \"-\", and does not start \
         with \"-\"",
    );
}

#[test]
fn series_lead_somewhere() {
    let series = |of: &str, every: &str| json!([{ "of": of, "every": every }]);
    let table = [
        ("links.botleneck.queue.packets", "no link is called \"botleneck\"; did you mean \"bottleneck\"?"),
        (
            "links.bottleneck.queue.treshold",
            "this activity-aqm queue has no observable \"treshold\"; did you mean \"threshold\"?",
        ),
        (
            "links.access[0].queue.threshold",
            "this droptail queue has no observable \"threshold\"; valid names are bytes, draw, packets, wait",
        ),
        ("links.access[11].queue.packets", "index 11 is out of range: there are 11, counted from 0 (copies)"),
        ("links.bottleneck[0].queue.packets", "\"bottleneck\" is shared and takes no index"),
        ("links.bottleneck.dorps", "a link has no observable \"dorps\"; did you mean \"drops\"?"),
        (
            "stages.meter[0].activty",
            "this activity-meter stage has no observable \"activty\"; did you mean \"activity\"?",
        ),
        (
            "groups.heavy.users[1].flows[0].window",
            "index 1 is out of range: there are 1, counted from 0 (users of the group)",
        ),
        (
            "groups.heavy.users[0].flows[10].window",
            "index 10 is out of range: there are 10, counted from 0 (flows of a user)",
        ),
        (
            "groups.heavy.window",
            "\"groups.heavy.window\" is no path to a flow; write \"groups.NAME.users[0].flows[0].window\"",
        ),
        ("link.bottleneck.drops", "\"link\" is neither links, stages nor groups; did you mean \"links\"?"),
        (
            "links.access[x].drops",
            "cannot read \"access[x]\"; an index is a number from 0 or \"*\", as in \"links.access[2].queue.packets\"",
        ),
    ];
    for (of, message) in table {
        one("record.series", series(of, "10 ms"), &format!("record.series[0].of: {message}"));
    }
    one(
        "record.series",
        series("links.bottleneck.drops", "0 s"),
        "record.series[0].every: must be more than 0 s, not \"0 s\"",
    );
    one(
        "record.series",
        series("links.bottleneck.drops", "packet"),
        "record.series[0].every: \"packet\" is for queues and stages only; a duration is needed here",
    );
    one(
        "record.series",
        json!([
            { "of": "stages.meter[*].activity", "every": "1 s" },
            { "of": "stages.meter[3].activity", "every": "packet" },
        ]),
        "record.series[1].of: record.series[0] has it already",
    );
    one(
        "record.series",
        series("links.access.queue.packets", "1 us"),
        "record.series[0].every: too fine: 2.2e9 values in all; at most 1e9 are possible",
    );
    one(
        "record.histograms",
        json!(["links.bottleneck.queue.at_drp"]),
        "record.histograms[0]: no histogram is called \"at_drp\"; did you mean \"at_drop\"?",
    );
    for (name, message) in [
        (
            "links.bottleneck.classes.eff.queue.delay",
            r#"no class is called "eff"; the only valid name is "be""#,
        ),
        ("links.access.classes.be.queue.dlay", r#"no histogram is called "dlay"; did you mean "delay"?"#),
        ("groups.hevy.delay", r#"no group is called "hevy"; did you mean "heavy"?"#),
        ("groups.heavy.dealy", r#"no histogram is called "dealy"; did you mean "delay"?"#),
        ("groups.heavy.users[0].delay", r#""users" takes no index"#),
        (
            "groups.heavy.classes.ef.delay",
            r#"no class of the group is called "ef"; the only valid name is "be""#,
        ),
        ("groups.heavy.classes.be.rtt", r#"no histogram is called "rtt"; the only valid name is "delay""#),
        (
            "groups.heavy.transfers.complete",
            r#"no histogram is called "complete"; did you mean "completion"?"#,
        ),
        (
            "groups.heavy.transfers.completion",
            "this group opens no flows during the run, so it has no transfers",
        ),
        ("groups.heavy.users.rtt", r#"no histogram is called "rtt"; the only valid name is "delay""#),
        (
            "groups.heavy",
            "\"groups.heavy\" is no histogram; valid names are \"links.NAME.queue.packets\", \
             \"links.NAME.queue.at_drop\", \"links.NAME.queue.delay\", \
             \"links.NAME.classes.CLASS.queue.delay\", \"groups.NAME.delay\", \"groups.NAME.users.delay\", \
             \"groups.NAME.rtt\", \"groups.NAME.classes.CLASS.delay\", \
             \"groups.NAME.transfers.completion\", \"groups.NAME.transfers.first_byte\"",
        ),
    ] {
        one("record.histograms", json!([name]), &format!("record.histograms[0]: {message}"));
    }
    one(
        "record.events",
        json!(["drops"]),
        "record.events[0]: no event is called \"drops\"; did you mean \"drop\"?",
    );
}

#[test]
fn series_of_classes_lead_to_one() {
    let by_class = json!({ "scheduler": { "kind": "htb", "classes": {
        "all": { "rate": "8 Mbit/s" }, "be": { "parent": "all", "rate": "1 Mbit/s", "ceil": "8 Mbit/s" } } } });
    let by_user = json!({ "scheduler": { "kind": "htb", "per": "user", "classes": { "all": { "rate": "8 Mbit/s" } },
        "each": { "parent": "all", "rate": "1 Mbit/s" } } });
    let wrong = |queue: &Json, of: &str, every: &str| {
        let series = json!([{ "of": format!("links.bottleneck.queue.{of}"), "every": every }]);
        let tree =
            with("abc-default", &[("links.bottleneck.queue", queue.clone()), ("record.series", series)]);
        errors(&tree).to_string()
    };
    let table = [
        (&by_class, "classes.al.tokens", "of: no class is called \"al\"; did you mean \"all\"?"),
        (&by_class, "classes.all.token", "of: a class has no observable \"token\"; did you mean \"tokens\"?"),
        (
            &by_class,
            "leaves[0].tokens",
            "of: leaves have names here: \"links.NAME.queue.classes.CLASS.tokens\"",
        ),
        (
            &by_class,
            "ctokens",
            "of: \"ctokens\" belongs to a class, \"links.NAME.queue.classes.CLASS.ctokens\", or to a user or flow, \"links.NAME.queue.leaves[0].ctokens\"",
        ),
        (
            &by_user,
            "leaves[11].tokens",
            "of: index 11 is out of range: there are 11, counted from 0 (leaves)",
        ),
        (
            &json!({ "limit": "24 packets" }),
            "classes.all.tokens",
            "of: only the scheduler \"htb\" has classes to observe",
        ),
    ];
    for (queue, of, message) in table {
        assert_eq!(wrong(queue, of, "1 s"), format!("record.series[0].{message}"));
    }
    assert_eq!(
        wrong(&by_user, "leaves[*].sent_bytes", "packet"),
        "record.series[0].every: \"sent_bytes\" is a counter; a duration is needed here"
    );
    assert_eq!(
        wrong(&by_user, "leaves[*].sent_bytes", "1 us"),
        "record.series[0].every: too fine: 2.2e9 values in all; at most 1e9 are possible"
    );
}

#[test]
fn a_datagram_flow_has_no_window() {
    let tree = with(
        "poisson-droptail",
        &[("record.series", json!([{ "of": "groups.one.users[0].flows[0].window", "every": "1 s" }]))],
    );
    assert_eq!(errors(&tree).to_string(), "record.series[0].of: datagrams have no window");
}

#[test]
fn everything_wrong_is_said_at_once_sorted_by_path() {
    let tree = with(
        "abc-default",
        &[
            ("tittle", json!("x")),
            ("warmup", json!(5)),
            ("links.bottleneck.rate", json!("10 Mbps")),
            ("links.bottleneck.queue.limit", json!("0 packets")),
            ("stages.meter.memory", json!("nan s")),
            ("groups.heavy.users", json!(0)),
            ("groups.heavy.path", json!(["access", "metr", "bottleneck"])),
            ("groups.light.traffic.flows", json!("many")),
            ("record.series", json!([{ "of": "links.bottleneck.queue.packets", "every": "5" }])),
            ("sweep", json!([])),
        ],
    );
    let errors = errors(&tree);
    let paths: Vec<&str> = errors.iter().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        [
            "groups.heavy.path[1]",
            "groups.heavy.users",
            "groups.light.traffic.flows",
            "links.bottleneck.queue.limit",
            "links.bottleneck.rate",
            "record.series[0].every",
            "stages.meter.memory",
            "sweep",
            "tittle",
            "warmup",
        ]
    );
}

#[test]
fn syntax_errors_have_line_and_column() {
    let message = Scenario::from_toml("title = \"x\"\nduration = 5 s\n").expect_err("an error").to_string();
    assert!(message.starts_with("line 2, column 12: "), "{message}");
    assert!(!message.contains('\n'), "{message}");
    let message = Scenario::from_json("{").expect_err("an error").to_string();
    assert!(message.starts_with("is no valid JSON: "), "{message}");
    assert_eq!(errors(&json!(7)).to_string(), "a table is needed, not 7");
}

#[test]
fn lines_of_a_connection() {
    one(
        "groups.heavy.tcp.send_buffer",
        json!("1000 B"),
        "groups.heavy.tcp.send_buffer: must hold one segment of 1446 bytes",
    );
    one(
        "groups.heavy.tcp.partial_ack",
        json!("ends-recover"),
        "groups.heavy.tcp.partial_ack: \"ends-recover\" is not valid; did you mean \"ends-recovery\"?",
    );
    one(
        "groups.heavy.tcp",
        json!({"stack": "rfc", "partial_ack": "ends-recovery"}),
        "groups.heavy.tcp.partial_ack: ends-recovery is only for sack = false",
    );
    one(
        "groups.heavy.tcp",
        json!({"stack": "rfc", "mss": "100 B", "write": 600, "send_buffer": "500 B"}),
        "groups.heavy.tcp.write: a write of 600 bytes does not fit into a send buffer of 500",
    );
    one(
        "groups.heavy.tcp.time_wait",
        json!(60),
        "groups.heavy.tcp.time_wait: needs a unit, for example \"5 ms\"",
    );
}

/// A trace: paths to flows, none twice, and no more than can be followed.
#[test]
fn a_trace_names_flows_that_there_are_and_not_too_many() {
    let trace = |list: Json| errors(&with("abc-default", &[("record.trace", list)])).to_string();
    for (list, expected) in [
        (json!("groups.heavy"), "record.trace: a list of paths to flows is needed, not \"groups.heavy\""),
        (json!([1]), "record.trace[0]: text is needed, not 1"),
        (json!(["groups.heavi"]), "record.trace[0]: no group is called \"heavi\"; did you mean \"heavy\"?"),
        (
            json!(["links.bottleneck"]),
            "record.trace[0]: \"links.bottleneck\" is no path to flows; write \"groups.NAME\", \"groups.NAME.users[0]\" or \"groups.NAME.users[0].flows[0]\"",
        ),
        (json!(["groups.heavy.flows[0]"]), "record.trace[0]: \"users\" is needed in place of \"flows\""),
        (
            json!(["groups.heavy.users[0].flows[10]"]),
            "record.trace[0]: index 10 is out of range: there are 10, counted from 0 (flows of a user)",
        ),
        (
            json!(["groups.heavy.users[0].flows[0]", "groups.heavy"]),
            "record.trace[1]: record.trace[0] has it already",
        ),
    ] {
        assert_eq!(trace(list), expected);
    }
    let many = [
        ("groups.light.users", json!(1_000_000)),
        ("record.trace", json!(["groups.heavy.users[0]", "groups.light"])),
    ];
    let text = errors(&with("abc-default", &many)).to_string();
    assert!(
        text.contains(
            "record.trace[1]: a trace of 1000010 flows: at most 1000 can be followed packet by packet"
        ),
        "{text}"
    );
    // A user of whom it is not known yet which flows he will open; and one flow of him.
    let web = json!({ "kind": "short-flows", "size": "20 kB", "interval": "500 ms" });
    let of = |path: &str| {
        with("abc-default", &[("groups.light.traffic", web.clone()), ("record.trace", json!([path]))])
    };
    valid(&of("groups.light.users[0]"));
    assert!(
        errors(&of("groups.light.users[0].flows[0]"))
            .to_string()
            .contains("short-flows opens its flows during the run")
    );
    // A route counts in eight bits, and taps stand on it.
    let links: serde_json::Map<String, Json> =
        (0..70).map(|n| (format!("l{n}"), json!({ "rate": "1 Gbit/s", "delay": "1 ms" }))).collect();
    let path: Vec<String> = (0..70).map(|n| format!("l{n}")).collect();
    let long = json!({
        "duration": "1 s",
        "links": links,
        "groups": { "a": { "users": 1, "path": path, "traffic": { "kind": "bulk" } } },
    });
    let mut traced = long.clone();
    traced["record"] = json!({ "trace": ["groups.a"] });
    valid(&long);
    assert_eq!(
        errors(&traced).to_string(),
        "record.trace[0]: its path of 70 components is too long for a trace"
    );
}

/// What is drawn is judged at the ends of what may be drawn, whatever the law; seeds then cannot differ in whether a run is
/// possible.
#[test]
fn laws_are_judged_at_their_extremes() {
    let queue = |queue: Json| {
        let changes = [("links.bottleneck.queue", queue)];
        errors(&with("abc-default", &changes)).to_string()
    };
    for law in [
        json!({ "normal": ["50 packets", "5.6 packets"] }),
        json!({ "exponential": "1000 packets" }),
        json!({ "gamma": ["1000 packets", 2] }),
        json!({ "lognormal": ["1000 packets", 2] }),
        json!({ "pareto": ["9 packets", 2] }),
        json!({ "uniform": ["5 packets", "9 packets"] }),
        json!({ "values": ["9 packets", "4 packets"] }),
    ] {
        let said = queue(json!({ "kind": "red", "min_threshold": "5 packets", "max_threshold": law }));
        assert!(
            said.starts_with("links.bottleneck.queue.max_threshold: must be above min_threshold"),
            "{law}: {said}"
        );
        assert!(said.ends_with("(as it may be drawn)") || law.get("values").is_some(), "{said}");
    }
    let fine = json!({ "normal": ["50 packets", "5.4 packets"] });
    valid(&with(
        "abc-default",
        &[(
            "links.bottleneck.queue",
            json!({ "kind": "red", "min_threshold": "5 packets", "max_threshold": fine }),
        )],
    ));
    // Two draws at once: the one low, the other high.
    let both = queue(json!({
        "kind": "red",
        "min_threshold": { "uniform": ["5 packets", "15 packets"] },
        "max_threshold": { "uniform": ["10 packets", "20 packets"] },
    }));
    assert!(both.contains("10 is not more than 15"), "{both}");
    // A range is one for draws too.
    let window = json!({ "kind": "constant", "window": { "normal": ["1e6 packets", "1e4 packets"] } });
    let said = errors(&with("abc-default", &[("groups.heavy.tcp", json!({ "congestion_control": window }))]))
        .to_string();
    assert!(said.contains("congestion_control.window: may be drawn as 1.082e6, and must be"), "{said}");
}

/// What opens a window by more than there can be is refused, each in its place.
#[test]
fn weights_and_gains_have_an_upper_bound() {
    let mut tree = per_packet(json!({ "kind": "multcp" }));
    *at(&mut tree, "groups.heavy.weight") = json!(1e6);
    valid(&tree);
    *at(&mut tree, "groups.heavy.weight") = json!(1e300);
    assert_eq!(
        errors(&tree).to_string(),
        "groups.heavy.weight: must be more than 0, at most 1000000, not 1e+300"
    );
    for (kind, name) in [
        ("multcp", "weight"),
        ("wtp", "gain"),
        ("wtp", "increase_weight"),
        ("wtp", "decrease_weight"),
        ("illinois", "alpha_min"),
        ("illinois", "alpha_max"),
        ("compound", "alpha"),
        ("compound", "zeta"),
    ] {
        let said = errors(&per_packet(json!({ "kind": kind, name: 1e7 }))).to_string();
        assert!(said.contains(&format!("congestion_control.{name}: must be ")), "{kind}: {said}");
        assert!(said.contains("at most 1000000, not 10000000"), "{kind}: {said}");
    }
}

/// A gateway that gives the bitrates of levels needs one.
#[test]
fn a_ladder_has_a_rate() {
    for stage in [
        json!({ "kind": "window-tuner", "policy": "levels", "rate": "8 Mbit/s", "ladder": [] }),
        json!({ "kind": "bandwidth-manager", "policy": "levels", "rate": "8 Mbit/s", "ladder": [], "controls": "l" }),
    ] {
        let said = errors(&json!({
            "duration": "1 s",
            "links": { "l": { "rate": "8 Mbit/s", "queue": { "scheduler": { "kind": "htb", "per": "user", "each": { "rate": "1 Mbit/s" } } } } },
            "stages": { "s": stage },
            "groups": { "g": { "users": 1, "path": ["s", "l"], "traffic": { "kind": "bulk" } } },
        }));
        assert_eq!(said.to_string(), "stages.s.ladder: needs at least one level");
    }
}

/// A fault in a queue, or in another group's path, hides nothing of where auditors stand, and all that one stands before is said.
#[test]
fn what_is_wrong_elsewhere_hides_no_place() {
    let text = r#"
duration = "1 s"
links.access = { rate = "100 Mbit/s", delay = "1 ms" }
links.line = { rate = "10 Mbit/s", delay = "1 ms", queue = { kind = "red", action = "mark", limit = "0 packets" } }
stages.police = { kind = "congestion-policer", rate = "45 packets/s", depth = "45 packets", per = "user" }
stages.audit = { kind = "auditor" }
groups.x = { users = 1, path = ["access", "audit", "police", "line"], traffic = { kind = "bulk" } }
groups.y = { users = 1, path = ["acces"], traffic = { kind = "bulk" } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        r#"groups.x.path[1]: "audit", the auditor, is before "police", a congestion-policer, whose drops it would not see; put it behind"#,
        r#"groups.x.path[1]: "audit", the auditor, is before the link "line", whose queue marks packets: it would not see these marks; put it behind"#,
        r#"groups.y.path[0]: no link or stage is called "acces"; did you mean "access"?"#,
        "links.line.queue.limit: a queue of zero holds nothing; give a limit above 0, or none for an unlimited queue",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Numbers that copies of a stage have, or that a stage gives itself, are no other tunnel's either.
#[test]
fn no_two_tunnels_have_one_number() {
    let said = |into: &str, other: &str| {
        let text = format!(
            r#"
duration = "1 s"
links.line = {{ rate = "10 Mbit/s", delay = "1 ms" }}
stages.into = {{ kind = "tunnel-ingress", peer = "out"{into} }}
stages.other = {{ kind = "tunnel-ingress", peer = "there"{other} }}
stages.out = {{ kind = "tunnel-egress" }}
stages.there = {{ kind = "tunnel-egress" }}
groups.x = {{ users = 10, path = ["into", "line", "out"], traffic = {{ kind = "bulk" }} }}
groups.y = {{ users = 1, path = ["other", "line", "there"], traffic = {{ kind = "bulk" }} }}
"#
        );
        Scenario::from_toml(&text).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    let each = r#", per = "user""#;
    assert_eq!(said("", ""), "");
    assert_eq!(said(&format!("{each}, teid = 5"), ", teid = 15"), "");
    assert_eq!(
        said(&format!("{each}, teid = 5"), ", teid = 14"),
        r#"stages.other.teid: 14 is the number of "into" too, whose copies have 5 to 14; no two tunnels have one number"#
    );
    assert_eq!(
        said(each, ", teid = 8"),
        r#"stages.other.teid: 8 is the number of "into" too, which is numbered automatically; no two tunnels have one number"#
    );
    assert_eq!(said(each, ", teid = 11"), "");
    assert_eq!(
        said(", teid = 2", ""),
        r#"stages.into.teid: 2 is the number of "other" too, which is numbered automatically; no two tunnels have one number"#
    );
    assert_eq!(
        said(&format!("{each}, teid = 4294967290"), ""),
        "stages.into.teid: its copies would have 4294967290 to 4294967299, and 4294967295 is the last"
    );
}

/// What would do nothing, or something else than it says.
#[test]
fn what_would_do_nothing_is_refused() {
    let text = r#"
duration = "1 s"
links.line = { rate = "8 Mbit/s", delay = "1 ms", queue = { scheduler = { kind = "htb", per = "user", each = { rate = "1 Mbit/s" } } } }
stages.a = { kind = "congestion-policer", rule = "tcp-rate", action = "probability" }
stages.b = { kind = "congestion-policer", rule = "rate-bytes", depth = "60 kB", start = "500 s" }
stages.c = { kind = "auditor", audit = "ecn", losses = "retransmissions" }
stages.m = { kind = "bandwidth-manager", controls = "line", rate = "8 Mbit/s", policy = "equal", session = "flow" }
stages.t = { kind = "window-tuner", rate = "8 Mbit/s", policy = "equal" }
stages.u = { kind = "tunnel" }
groups.x = { users = 1, path = ["a", "b", "m", "line", "c"], traffic = { kind = "has", ladder = ["248 kbit/s"], adaptation = { kind = "bba-0", reservoir = "90 s", cushion = "126 s" } } }
"#;
    let errors = Scenario::from_toml(text).expect_err("errors").to_string();
    let expected = [
        "groups.x.traffic.adaptation: its reservoir of 90 s exceeds the buffer of 30 s: every chunk would have the lowest level",
        r#"stages.a.action: "probability" drops the share beyond TCP's rate, which rule = "tcp-rate" does not measure; nearest: "drop-while-empty", or rule = "rate-bytes""#,
        r#"stages.b.start: has no effect without rule = "tcp-rate""#,
        r#"stages.c.losses: "retransmissions" has no effect with audit = "ecn", which counts no losses"#,
        r#"stages.m.controls: each connection is a session, and "line" has a class for each user, so connections would overwrite each other's share. Give its scheduler per = "flow", or write session = "user""#,
        r#"stages.t: is on no path and has no effect: write "t" on the path of the groups that it is for"#,
        r#"stages.u.kind: unknown stage kind "tunnel"; did you mean "tunnel-egress" or "tunnel-ingress"?"#,
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Who gives shares gives them to queues where data waits.
#[test]
fn shares_are_given_where_data_waits() {
    let said = |controls: &str, reverse: &str, path: &str, more: &str| {
        let queue = r#"queue = { scheduler = { kind = "htb", per = "user", each = { rate = "1 Mbit/s" } } }"#;
        let text = format!(
            r#"
duration = "1 s"
links.line = {{ rate = "8 Mbit/s", delay = "1 ms", {queue}{reverse} }}
stages.m = {{ kind = "bandwidth-manager", policy = "levels", ladder = ["1 Mbit/s", "2 Mbit/s"], rate = "8 Mbit/s", controls = "{controls}"{more} }}
groups.x = {{ users = 1, path = {path}, traffic = {{ kind = "bulk" }} }}
"#
        );
        Scenario::from_toml(&text).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    let (down, up) = (r#"["m", "line"]"#, r#"["-line", "m"]"#);
    let reverse = r#", reverse = { rate = "1 Mbit/s", queue = { scheduler = { kind = "htb", per = "user", each = { rate = "1 Mbit/s" } } } }"#;
    assert_eq!(said("line", "", down, ""), "");
    assert_eq!(said("-line", reverse, up, ""), "");
    assert_eq!(
        said("-line", "", up, ""),
        r#"stages.m.controls: "line" has no queue in its reverse direction; describe it with reverse = { rate = …, queue = … }"#
    );
    assert_eq!(
        said("line", "", up, ""),
        r#"stages.m.controls: data crosses "line" against its direction, so its queue there has no data; did you mean "-line"?"#
    );
    assert_eq!(
        said("-line", reverse, down, ""),
        r#"stages.m.controls: data crosses "line" along its direction, so its queue there has no data; did you mean "line"?"#
    );
    assert_eq!(said("line", "", down, r#", ceil = "1.5 Mbit/s""#), "");
    assert_eq!(
        said("line", "", down, r#", ceil = "1 Mbit/s""#),
        "stages.m.ceil: must be at least a session's share: 1000000 bit/s is less than the 1100000 bit/s of the lowest level"
    );
}

/// What is wrong with steps is said of the steps, not of a law that they are not.
#[test]
fn steps_are_no_law() {
    let said = |rate: Json| {
        errors(&json!({
            "duration": "1 s",
            "links": { "l": { "rate": "8 Mbit/s", "queue": { "scheduler": { "kind": "tbf", "rate": rate, "burst": "10 kB" }, "limit": "50 kB" } } },
            "groups": { "g": { "users": 1, "path": ["l"], "traffic": { "kind": "bulk" } } },
        }))
        .to_string()
    };
    let here = "links.l.queue.scheduler.rate";
    assert_eq!(
        said(json!({ "steps": [["0 s", "4 Mbit/s"], ["-1 s", "2 Mbit/s"]] })),
        format!("{here}.steps[1][0]: \"-1 s\" is negative, which a duration cannot be")
    );
    assert_eq!(said(json!({ "steps": [] })), format!("{here}.steps: must have at least one rate"));
    assert_eq!(
        said(json!({ "steps": [["0 s", "4 Mbit/s", 1]] })),
        format!("{here}.steps[0]: [time, rate] is needed, not a list of 3")
    );
    assert_eq!(
        said(json!({ "steps": [["1 s", "4 Mbit/s"]] })),
        format!("{here}.steps[0][0]: the first step must be at \"0 s\"")
    );
    assert_eq!(
        said(json!({ "step": [["0 s", "4 Mbit/s"]] })),
        format!("{here}.step: unknown distribution \"step\"; did you mean \"steps\"?")
    );
    one(
        "links.bottleneck.delay",
        json!({ "steps": [["0 s", "4 ms"]] }),
        "links.bottleneck.delay.steps: cannot change during the run; only a link's rate and values of its queue may have steps",
    );
}
