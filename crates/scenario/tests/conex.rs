//! ConEx senders in a scenario: their table, what does not go together, and the four variants of Sanhaji et al. 2015, table III.

mod common;

use common::{errors, valid, with};
use evenflow_scenario::Scenario;
use evenflow_transport::exposure::{Credit, Encoding, Reports, Settings, Unit};
use evenflow_transport::profile::Ecn;
use serde_json::{Value as Json, json};

const TCP: &str = "groups.heavy.tcp";

/// RED of the example with these lines of the heavy users' `tcp` table.
fn red(lines: &[(&str, Json)]) -> Json {
    let changes: Vec<(String, Json)> =
        lines.iter().map(|(line, json)| (format!("{TCP}.{line}"), json.clone())).collect();
    let changes: Vec<(&str, Json)> =
        changes.iter().map(|(path, json)| (path.as_str(), json.clone())).collect();
    with("red-ecn", &changes)
}

#[test]
fn an_empty_table_is_an_honest_sender_of_rfc_7786() {
    let scenario = valid(&red(&[("conex", json!({}))]));
    let profile = &scenario.groups[0].traffic[0].tcp.as_ref().expect("TCP").profile;
    let honest = Settings { unit: Unit::Bytes, ..Settings::honest(true) };
    assert_eq!(profile.conex, Some(honest));
    // Over IPv4 what is sent again is ConEx as well (dossier, trap 8).
    assert!(profile.ecn_on_retransmissions);
    let without = valid(&red(&[("conex", json!({})), ("ecn_on_retransmissions", json!(false))]));
    assert!(!without.groups[0].traffic[0].tcp.as_ref().expect("TCP").profile.ecn_on_retransmissions);
}

#[test]
fn the_canonical_form_is_a_scenario_again() {
    for conex in [
        json!({}),
        json!({ "report": "loss", "encoding": "ipv6", "declared": 0.25, "late": 2 }),
        json!({ "credit": "half-in-slow-start", "leftover": "carry", "cheat": "elsewhere" }),
    ] {
        let scenario = valid(&red(&[("conex", conex)]));
        let again =
            Scenario::from_value(&serde_json::from_str(&scenario.canonical).expect("JSON")).expect("valid");
        assert_eq!((again.canonical, again.hash), (scenario.canonical, scenario.hash));
    }
    // A sender of losses alone that has no ECN.
    let quiet = with("newreno-droptail", &[("groups.heavy.tcp.conex", json!({ "report": "loss" }))]);
    let scenario = valid(&quiet);
    let again =
        Scenario::from_value(&serde_json::from_str(&scenario.canonical).expect("JSON")).expect("valid");
    assert_eq!(again.hash, scenario.hash);
    // Without ConEx nothing is written of it: hashes are those of before.
    assert!(!valid(&red(&[])).canonical.contains("conex"));
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let wrong = errors(&red(&[
        ("ecn", json!("off")),
        ("conex", json!({ "reprt": "loss", "unit": "octets", "declared": -1, "cheat": "lie" })),
    ]));
    assert_eq!(
        wrong.to_string(),
        "groups.heavy.tcp.conex.cheat: \"lie\" is not valid; valid names are elsewhere, hide-marks, legacy, none, renumber\n\
         groups.heavy.tcp.conex.declared: must be at least 0, at most 100, not -1\n\
         groups.heavy.tcp.conex.reprt: unknown key \"reprt\"; did you mean \"report\"?\n\
         groups.heavy.tcp.conex.unit: \"octets\" is not valid; valid names are bytes, packets"
    );
}

#[test]
fn marks_that_do_not_come_back_cannot_be_reported() {
    let wrong = errors(&red(&[
        ("ecn", json!("off")),
        ("sack", json!(false)),
        ("conex", json!({ "cheat": "hide-marks", "undo_spurious": true })),
    ]));
    assert_eq!(
        wrong.to_string(),
        "groups.heavy.tcp.conex.cheat: hide-marks: with ecn = \"off\" there are none to hide\n\
         groups.heavy.tcp.conex.report: marks do not come back with ecn = \"off\"; nearest: report = \"loss\", or ecn = \"accurate\"\n\
         groups.heavy.tcp.conex.undo_spurious: needs sack = true: only then duplicates are reported (RFC 2883)"
    );
}

/// Dossier, trap 3: the codes of IPv4 are ECN-capable, so a queue that marks would turn REDConEx into another variant.
#[test]
fn a_sender_of_losses_alone_does_not_meet_a_queue_that_marks() {
    let silent = [("ecn", json!("off")), ("conex", json!({ "report": "loss" }))];
    assert_eq!(
        errors(&red(&silent)).to_string(),
        "groups.heavy.tcp.conex.encoding: over IPv4 its data is ECT(1), which links.bottleneck marks, and with ecn = \"off\" \
         nobody hears of it; nearest: action = \"drop\" there, ecn = \"accurate\", or encoding = \"ipv6\""
    );
    valid(&red(&[("ecn", json!("off")), ("conex", json!({ "report": "loss", "encoding": "ipv6" }))]));
    let mut drops = red(&silent);
    *common::at(&mut drops, "links.bottleneck.queue.action") = json!("drop");
    valid(&drops);
}

#[test]
fn reports_of_marks_need_a_queue_that_marks() {
    let mut drops = red(&[("conex", json!({}))]);
    *common::at(&mut drops, "links.bottleneck.queue.action") = json!("drop");
    assert_eq!(
        errors(&drops).to_string(),
        "groups.heavy.tcp.conex.report: nothing on its path marks: the queues there only drop; nearest: report = \"loss\", or a \
         queue that marks (kind = \"red\" with action = \"mark\")"
    );
}

#[test]
fn pure_acks_must_not_say_re_echo() {
    let wrong = errors(&red(&[("ect", json!("1")), ("ecn_on_control", json!(true)), ("conex", json!({}))]));
    assert_eq!(
        wrong.to_string(),
        "groups.heavy.tcp.ect: with ecn_on_control pure ACKs would be ECT(1) without RE, which says Re-Echo; nearest: ect = \"0\", \
         or conex.encoding = \"ipv6\""
    );
}

#[test]
fn flows_of_one_user_count_alike() {
    let bulk =
        |unit: &str| json!({ "kind": "bulk", "tcp": { "ecn": "accurate", "conex": { "unit": unit } } });
    let mixed = with("red-ecn", &[("groups.heavy.traffic", json!([bulk("bytes"), bulk("packets")]))]);
    assert_eq!(
        errors(&mixed).to_string(),
        "groups.heavy.traffic[1].tcp.conex.unit: is packets, and other traffic of these users counts bytes; a user has one \
         unit"
    );
}

#[test]
fn a_share_cannot_be_drawn() {
    let wrong = errors(&red(&[("conex", json!({ "declared": { "uniform": [0, 1] } }))]));
    assert_eq!(
        wrong.to_string(),
        "groups.heavy.tcp.conex.declared: cannot be drawn; a plain value is needed"
    );
}

/// Re-ECN is the same sender with other settings (draft-briscoe-conex-re-ecn-tcp-04 section 6.1).
#[test]
fn re_ecn_is_settings_of_the_same_sender() {
    let scenario = valid(&red(&[
        ("ecn_on_retransmissions", json!(false)),
        ("conex", json!({ "unit": "packets", "credit": "first-and-third" })),
    ]));
    let profile = &scenario.groups[0].traffic[0].tcp.as_ref().expect("TCP").profile;
    let conex = profile.conex.expect("ConEx");
    assert_eq!(
        (conex.credit, conex.encoding, profile.ecn),
        (Credit::FirstAndThird, Encoding::Ipv4, Ecn::Accurate)
    );
    assert_eq!(conex.report, Reports::LossAndEcn);
}

/// A file that does not say what becomes of a cancelled report leaves it out, as worth does: 0.612 of the dossier's numbers, not 0.600.
#[test]
fn an_auditors_ratio_leaves_cancelled_reports_out_unless_it_is_asked_to_count_them() {
    use evenflow_stage::auditor::{Params, Rule};
    for (line, expected) in
        [("", true), (r#", cancelled = "left-out""#, true), (r#", cancelled = "counted""#, false)]
    {
        let text = format!(
            r#"
duration = "1 s"
links.line = {{ rate = "10 Mbit/s", delay = "1 ms", queue = {{ kind = "red", action = "mark", limit = "100 packets" }} }}
stages.audit = {{ kind = "auditor", rule = "ratio", delay = "600 ms"{line} }}
groups.x = {{ users = 1, path = ["line", "audit"], traffic = {{ kind = "bulk" }} }}
"#
        );
        let scenario = Scenario::from_toml(&text).expect("a scenario");
        let params = Params::new(&scenario.stages[0].spec.values, &[]).expect("parameters");
        assert_eq!(params.rule, Rule::Ratio { weight: 0.01, left_out: expected }, "{line}");
    }
}

/// Sanhaji et al. 2015, table III: queue, whether it marks, feedback, reports. The variants are cases of one scenario.
#[test]
fn the_four_variants_of_table_iii() {
    let text = include_str!("../../../examples/scenarios/conex-variants.toml");
    let tree: Json = serde_json::to_value(text.parse::<toml::Table>().expect("TOML")).expect("JSON");
    let cases = tree["sweep"]["cases"]["variant"].as_object().expect("cases").clone();
    assert_eq!(cases.len(), 4);
    for (name, kind, action, ecn, report) in [
        ("DTConEx", "droptail", None, Ecn::Off, Reports::Loss),
        ("REDConEx", "red", Some("drop"), Ecn::Off, Reports::Loss),
        ("ECNConEx", "red", Some("mark"), Ecn::Classic, Reports::LossAndEcn),
        ("FullConEx", "red", Some("mark"), Ecn::Accurate, Reports::LossAndEcn),
    ] {
        let mut variant = tree.clone();
        for (path, json) in cases[name].as_object().expect("overrides") {
            *common::at(&mut variant, path) = json.clone();
        }
        let scenario = valid(&variant);
        let link = scenario.links.iter().find(|link| link.name == "bottleneck").expect("a link");
        let rule = &link.forward.queue.as_ref().expect("a queue").rule;
        let word = rule.values.get("action").map(|_| rule.values.word("action"));
        assert_eq!((rule.mechanism.kind, word), (kind, action), "{name}");
        for group in &scenario.groups {
            let profile = &group.traffic[0].tcp.as_ref().expect("TCP").profile;
            let conex = profile.conex.expect("ConEx");
            assert_eq!((profile.ecn, conex.report, conex.unit), (ecn, report, Unit::Packets), "{name}");
            // Trap 8: what is sent again is a ConEx packet too.
            assert!(profile.ecn_on_retransmissions, "{name}");
        }
    }
}
