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

/// What ConEx senders of a group were told, less what they still owe or left behind, is what they said.
fn balance(run: &Run, group: &str) {
    let at = |path: &str| run.number(&format!("groups.{group}.conex.{path}"));
    let unit = run.value(&format!("groups.{group}.conex.unit")).as_str().expect("a word").to_owned();
    let told = |what: &str| at(&format!("told.{what}.{unit}"));
    let reported = |what: &str| at(&format!("reports.{what}.{unit}"));
    let left = |what: &str| at(&format!("owed.{what}")) + at(&format!("dropped.{what}"));
    assert_eq!(told("loss") - told("needless") - left("loss"), reported("loss"), "losses");
    assert_eq!(told("mark") - left("mark"), reported("mark"), "marks");
    let users = |what: &str| {
        let list = run.value(&format!("groups.{group}.conex.users_{what}"));
        list.as_array().expect("a list").iter().filter_map(Value::as_f64).sum::<f64>()
    };
    assert_eq!(users("report_packets"), at("reports.loss.packets") + at("reports.mark.packets"));
    assert_eq!(users("congestion_bytes"), at("congestion.bytes"));
}

/// Every mark and every loss is reported, with accurate feedback; with classic feedback one mark for each reduction.
#[test]
fn what_is_told_is_reported() {
    for (unit, ecn) in
        [("packets", "accurate"), ("bytes", "accurate"), ("packets", "classic"), ("bytes", "classic")]
    {
        let lines = format!(r#"ecn = "{ecn}", conex = {{ unit = "{unit}" }}"#);
        let run = run(&red("mark", &lines), 1);
        balance(&run, "g");
        let (marks, told) = (run.number("groups.g.marks"), run.number("groups.g.conex.told.mark.packets"));
        if ecn == "accurate" {
            // What has not come back yet, or came back twice at most.
            assert!((told - marks).abs() < 40.0, "{told} told of {marks}");
        } else {
            assert_eq!(told, run.number("groups.g.senders.reductions.mark"));
            assert!(told < 0.9 * marks, "{told} told of {marks}");
        }
        assert_eq!(run.number("groups.g.conex.told.loss.packets"), run.number("groups.g.retransmits"));
        assert!(run.number("groups.g.conex.reports.mark.packets") > 50.0);
        assert!(run.number("groups.g.conex.owed.mark") < 20.0 * 1500.0);
    }
}

/// A sender that declares a quarter reports a quarter.
#[test]
fn a_share_is_declared() {
    let of = |declared: &str| {
        let lines = format!(r#"ecn = "accurate", conex = {{ unit = "packets", declared = {declared} }}"#);
        let run = run(&red("mark", &lines), 1);
        (run.number("groups.g.conex.told.mark.packets"), run.number("groups.g.conex.reports.mark.packets"))
    };
    let (told, all) = of("1");
    let (same, quarter) = of("0.25");
    assert_eq!(told, same, "where nobody looks nothing else changes");
    assert!((quarter - all / 4.0).abs() <= 6.0, "{quarter} of {all}");
    assert!((of("2").1 - 2.0 * all).abs() <= 20.0);
}

/// Short flows of a user through a queue that marks, with these ConEx lines.
fn short(conex: &str) -> String {
    format!(
        r#"
duration = "30 s"
warmup = "3 s"
links.access = {{ rate = "100 Mbit/s", delay = "5 ms", per = "user" }}
[links.bottleneck]
rate = "5 Mbit/s"
delay = "15 ms"
[links.bottleneck.queue]
kind = "red"
limit = "80 packets"
min_threshold = "3 packets"
max_threshold = "80 packets"
max_probability = 0.5
weight = 0.01
action = "mark"
[groups.g]
users = 3
path = ["access", "bottleneck"]
traffic = {{ kind = "short-flows", size = "14480 B", interval = {{ exponential = "90 ms" }} }}
tcp = {{ ecn = "accurate", conex = {conex} }}
"#
    )
}

/// What a short flow still owes at its end is made by the user's next flow, where it is carried; elsewhere it is lost.
#[test]
fn leftovers_are_carried_to_the_next_flow() {
    let (dropped, carried) = (
        run(&short(r#"{ unit = "packets" }"#), 2),
        run(&short(r#"{ unit = "packets", leftover = "carry" }"#), 2),
    );
    let at = |run: &Run, path: &str| run.number(&format!("groups.g.conex.{path}"));
    // Nobody looks: the flows themselves are the same.
    assert_eq!(at(&dropped, "told.mark.packets"), at(&carried, "told.mark.packets"));
    let told = at(&dropped, "told.mark.packets");
    assert!(
        told > 200.0 && at(&dropped, "dropped.mark") > 0.3 * told,
        "{told}, {}",
        at(&dropped, "dropped.mark")
    );
    assert_eq!(at(&carried, "dropped.mark"), 0.0);
    assert!(at(&carried, "reports.mark.packets") > 0.97 * told);
    assert!(at(&dropped, "reports.mark.packets") < 0.7 * told);
    assert!(at(&carried, "owed.mark") < 60.0);
    // Both ways of running give one record, and so does a unit of bytes.
    for unit in ["packets", "bytes"] {
        let text = short(&format!(r#"{{ unit = "{unit}", leftover = "carry", credit = "flight" }}"#));
        let [lazy, events] = [false, true].map(|events| crate::common::run_by(&text, 2, events));
        assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash);
    }
}

/// Uploads of one user, one after the other.
#[test]
fn an_upload_leaves_what_it_owes_to_the_next() {
    let of = |leftover: &str| {
        let lines = format!(r#"ecn = "accurate", conex = {{ unit = "packets", leftover = "{leftover}" }}"#);
        let text = red("mark", &lines).replace(
            r#"kind = "bulk", flows = 3, start = { uniform = ["0 ms", "300 ms"] }"#,
            r#"kind = "upload", size = "150 kB", flows = 40, start = { uniform = ["0 s", "15 s"] }"#,
        );
        let run = run(&text, 5);
        balance(&run, "g");
        ["reports.mark.packets", "dropped.mark", "owed.mark"]
            .map(|path| run.number(&format!("groups.g.conex.{path}")))
    };
    let ([some, left, _], [more, none, owed]) = (of("drop"), of("carry"));
    assert!(left > 5.0 && none == 0.0, "{left} {none}");
    assert_eq!(some + left, more + owed);
    assert!(owed < left);
}

/// Debts left to other flows of the user are reported there, not where they arose.
#[test]
fn reports_on_another_flow_of_the_user() {
    let conex = |cheat: &str| format!(r#"{{ unit = "packets", cheat = "{cheat}" }}"#);
    let text = red("mark", r#"ecn = "accurate""#).replace(
        r#"traffic = { kind = "bulk", flows = 3, start = { uniform = ["0 ms", "300 ms"] } }"#,
        &format!(
            "traffic = [{{ kind = \"bulk\", flows = 2, tcp = {{ ecn = \"accurate\", conex = {} }} }}, {{ kind = \"bulk\", tcp = {{ ecn = \
             \"accurate\", conex = {} }} }}]\nclass = \"be\"",
            conex("elsewhere"),
            conex("none")
        ),
    );
    let text = text.replace("tcp = { ecn = \"accurate\" }\n", "");
    let text = text + "\n[record]\ntrace = [\"groups.g.users[0]\"]\n";
    let run = run(&text, 1);
    balance(&run, "g");
    let at = |path: &str| run.number(&format!("groups.g.conex.{path}"));
    assert!(at("told.mark.packets") > 200.0);
    assert!(at("reports.mark.packets") > 0.9 * at("told.mark.packets"), "{}", at("reports.mark.packets"));
}

/// A receiver that hides marks: nobody is told, nobody reduces.
#[test]
fn a_receiver_that_hides_marks() {
    for ecn in ["classic", "accurate"] {
        let lines = format!(r#"ecn = "{ecn}", conex = {{ cheat = "hide-marks" }}"#);
        let run = run(&red("mark", &lines), 1);
        assert!(run.number("groups.g.marks") > 500.0);
        assert_eq!(run.number("groups.g.conex.told.mark.packets"), 0.0);
        assert_eq!(run.number("groups.g.senders.reductions.mark"), 0.0);
    }
}

/// Data that is sent again under new numbers never shows one that was seen before.
#[test]
fn retransmissions_under_new_numbers() {
    for traffic in [
        r#"{ kind = "bulk", flows = 3, start = { uniform = ["0 ms", "300 ms"] } }"#,
        r#"{ kind = "short-flows", size = "300 kB", interval = "500 ms" }"#,
    ] {
        let of = |cheat: &str| {
            let lines = format!(r#"conex = {{ report = "loss", cheat = "{cheat}" }}"#);
            let text = red("drop", &lines).replace(
                r#"{ kind = "bulk", flows = 3, start = { uniform = ["0 ms", "300 ms"] } }"#,
                traffic,
            );
            run(&(text + "\n[record]\ntrace = [\"groups.g.users[0]\"]\n"), 1)
        };
        let (honest, cheat) = (of("none"), of("renumber"));
        assert_eq!(plain(&honest)["groups"], plain(&cheat)["groups"], "nothing else changes");
        assert!(honest.number("groups.g.retransmits") > 60.0, "{}", honest.number("groups.g.retransmits"));
        let (honest, cheat) = (repeated(&honest), repeated(&cheat));
        assert!(honest.0 > 30 && cheat == (0, honest.1), "{honest:?} {cheat:?}");
    }
}

/// In a trace: data packets that leave with a number at or below one that their flow showed before, and all data packets that leave.
fn repeated(run: &Run) -> (usize, usize) {
    let column = |name: &str| run.column(&format!("trace.{name}")).1;
    let (flow, action, payload) = (column("flow"), column("action"), column("payload"));
    let (seq, backward) = (column("seq"), column("backward"));
    let mut highest: std::collections::BTreeMap<u64, f64> = std::collections::BTreeMap::new();
    let (mut again, mut all) = (0, 0);
    for i in 0..seq.len() {
        if action[i] == 0.0 && backward[i] == 0.0 && payload[i] > 0.0 {
            all += 1;
            let highest = highest.entry(flow[i] as u64).or_insert(-1.0);
            again += usize::from(seq[i] <= *highest);
            *highest = highest.max(seq[i]);
        }
    }
    (again, all)
}
