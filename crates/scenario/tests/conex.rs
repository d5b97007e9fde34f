//! ConEx senders in a scenario: their table, what does not go together, and the four variants of Sanhaji et al. 2015, table III.

use crate::common;

use common::{errors, valid, with};
use evenflow_base::schema::Value;
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
        "groups.heavy.tcp.conex.cheat: hide-marks has no effect with ecn = \"off\"\n\
         groups.heavy.tcp.conex.report: marks do not return with ecn = \"off\"; nearest: report = \"loss\", or ecn = \"accurate\" if a queue marks\n\
         groups.heavy.tcp.conex.undo_spurious: needs sack = true, which reports duplicates (RFC 2883)"
    );
}

/// Dossier, trap 3: the codes of IPv4 are ECN-capable, so a queue that marks would turn REDConEx into another variant.
#[test]
fn a_sender_of_losses_alone_does_not_meet_a_queue_that_marks() {
    let silent = [("ecn", json!("off")), ("conex", json!({ "report": "loss" }))];
    assert_eq!(
        errors(&red(&silent)).to_string(),
        "groups.heavy.tcp.conex.encoding: over IPv4 its data is ECT(1), which links.bottleneck marks, and with ecn = \"off\" \
         marks have no effect. Nearest: action = \"drop\" there, ecn = \"accurate\", or encoding = \"ipv6\""
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
        "groups.heavy.tcp.ect: with ecn_on_control pure ACKs would be ECT(1) without RE, which means Re-Echo; nearest: ect = \"0\", \
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
        let word = rule.values.get("action").map(|value| match value {
            Value::Word(word) => word.as_str(),
            other => panic!("{other:?} is no word"),
        });
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

const POLICER: &str = "stages.police";

/// The heavy users' ConEx senders behind a policer; `stages` are more lines of that, `lines` those of the `tcp` table.
fn policed(lines: &[(&str, Json)], stages: &[(&str, Json)]) -> Json {
    let mut tree = red(lines);
    *common::at(&mut tree, POLICER) =
        json!({ "kind": "congestion-policer", "rate": "20 packets/s", "depth": "100 packets" });
    *common::at(&mut tree, "groups.heavy.path") = json!(["access", "police", "bottleneck"]);
    for (path, json) in stages {
        *common::at(&mut tree, path) = json.clone();
    }
    tree
}

const DROPS: (&str, &str) = ("links.bottleneck.queue.action", "drop");
const NOTHING_MARKS: &str = "groups.heavy.tcp.conex.report: nothing on its path marks: the queues there only drop; nearest: report = \
                             \"loss\", or a queue that marks (kind = \"red\" with action = \"mark\")";
const NO_DEPTH: &str = "stages.police.depth: must be more than 0, not \"0 packets\"";
const SILENT: &str = "groups.heavy.tcp.conex.encoding: over IPv4 its data is ECT(1), which links.bottleneck marks, and with ecn = \"off\" \
                      marks have no effect. Nearest: action = \"drop\" there, ecn = \"accurate\", or encoding = \"ipv6\"";

/// What is wrong with a scenario, a line each.
fn wrong(tree: &Json) -> Vec<String> {
    errors(tree).to_string().lines().map(str::to_owned).collect()
}

/// A stage with errors hides nothing of its path, unless it may mark.
#[test]
fn a_faulty_stage_hides_no_error_of_its_path() {
    let (depth, drops) = ((("stages.police.depth"), json!("0 packets")), (DROPS.0, json!(DROPS.1)));
    let conex = [("conex", json!({}))];
    assert_eq!(wrong(&policed(&conex, &[depth.clone(), drops.clone()])), [NOTHING_MARKS, NO_DEPTH]);
    let silent = [("ecn", json!("off")), ("conex", json!({ "report": "loss" }))];
    assert_eq!(wrong(&policed(&silent, std::slice::from_ref(&depth))), [SILENT, NO_DEPTH]);
    // It may mark: by its action, because that has an error, or because nobody knows what it is.
    let action = |word: &str| ("stages.police.action", json!(word));
    assert_eq!(wrong(&policed(&conex, &[depth.clone(), drops.clone(), action("mark")])), [NO_DEPTH]);
    let typo = wrong(&policed(&conex, &[drops.clone(), action("mrak")]));
    assert!(typo.len() == 1 && typo[0].starts_with("stages.police.action: "), "{typo:?}");
    let unknown = wrong(&policed(&conex, &[drops, ("stages.police.kind", json!("congestion-polizer"))]));
    assert!(unknown.iter().all(|line| line.starts_with("stages.police")), "{unknown:?}");
}

/// Nor does a link with errors elsewhere than in what decides whether its queue marks.
#[test]
fn a_faulty_link_hides_no_error_of_its_path() {
    let conex = [("conex", json!({}))];
    let drops = (DROPS.0, json!(DROPS.1));
    for (path, json) in [
        ("links.bottleneck.delay", json!("26 metres")),
        ("links.bottleneck.queue.limit", json!("0 packets")),
        ("links.bottleneck.queue.max_probability", json!(7)),
        ("links.access.rate", json!(-1)),
    ] {
        let said = wrong(&policed(&conex, &[drops.clone(), (path, json)]));
        assert!(said.len() == 2 && said.contains(&NOTHING_MARKS.to_owned()), "{said:?}");
        assert!(said.iter().any(|line| line.starts_with(path)), "{said:?}");
    }
    let unknown = wrong(&policed(&conex, &[(DROPS.0, json!("drpo"))]));
    assert!(unknown.len() == 1 && unknown[0].starts_with(DROPS.0), "{unknown:?}");
    // One that marks is found whatever else is wrong with it.
    let silent = [("ecn", json!("off")), ("conex", json!({ "report": "loss" }))];
    let said = wrong(&policed(&silent, &[("links.bottleneck.delay", json!("26 metres"))]));
    assert!(said.len() == 2 && said.contains(&SILENT.to_owned()), "{said:?}");
}

/// A sender's table with errors is judged by its other lines, where these suffice.
#[test]
fn a_faulty_sender_is_judged_by_its_other_lines() {
    let drops = [(DROPS.0, json!(DROPS.1))];
    let unit = "groups.heavy.tcp.conex.unit: \"pakets\" is not valid; did you mean \"packets\"?";
    assert_eq!(wrong(&policed(&[("conex", json!({ "unit": "pakets" }))], &drops)), [NOTHING_MARKS, unit]);
    let silent = [("ecn", json!("off")), ("conex", json!({ "report": "loss", "unit": "pakets" }))];
    assert_eq!(wrong(&policed(&silent, &[])), [SILENT, unit]);
    // A line of the stack beside it.
    let said = wrong(&policed(&[("mss", json!("0 B")), ("conex", json!({}))], &drops));
    assert!(said.len() == 2 && said.contains(&NOTHING_MARKS.to_owned()), "{said:?}");
    // What the queue check needs is what is wrong: nothing follows.
    for (lines, at) in [
        (vec![("ecn", json!("accurat")), ("conex", json!({}))], "groups.heavy.tcp.ecn"),
        (vec![("conex", json!({ "report": "los" }))], "groups.heavy.tcp.conex.report"),
    ] {
        let said = wrong(&policed(&lines, &drops));
        assert!(said.len() == 1 && said[0].starts_with(at), "{said:?}");
    }
}

/// RFC 7837's bits are not the codes of IPv4, and a stage reads one of the two.
#[test]
fn stages_read_what_senders_write() {
    let ipv6 = [("conex", json!({ "encoding": "ipv6" }))];
    let reads_codes = |stage: &str| {
        format!(
            "stages.{stage}.encoding: is \"ipv4\" and reads IPv4's codes, and groups.heavy writes IPv6's bits: it would see no report; write \
             encoding = \"ipv6\""
        )
    };
    assert_eq!(wrong(&policed(&ipv6, &[])), [reads_codes("police")]);
    let encoding = |word: &str| ("stages.police.encoding", json!(word));
    valid(&policed(&ipv6, &[encoding("ipv6")]));
    assert_eq!(
        wrong(&policed(&[("conex", json!({}))], &[encoding("ipv6")])),
        [
            "stages.police.encoding: is \"ipv6\" and reads IPv6's bits, and groups.heavy writes IPv4's codes: one code for losses and \
          marks is no bit for either; write encoding = \"ipv4\""
        ]
    );
    // An auditor too, and all of them at once, beside other errors.
    let audited = [
        ("stages.audit", json!({ "kind": "auditor" })),
        ("groups.heavy.path", json!(["access", "police", "bottleneck", "audit"])),
        ("stages.police.depth", json!("0 packets")),
    ];
    assert_eq!(
        wrong(&policed(&ipv6, &audited)),
        [reads_codes("audit"), NO_DEPTH.into(), reads_codes("police")]
    );
    // Nothing is said where the word itself is wrong, or where nobody declares anything.
    let typo = wrong(&policed(&ipv6, &[encoding("ipv5")]));
    assert!(typo.len() == 1 && typo[0].contains("\"ipv5\" is not valid"), "{typo:?}");
    valid(&policed(&[("conex", json!({ "encoding": "ipv6", "cheat": "legacy" }))], &[]));
}

/// A stage that reads IPv4's codes alone, or must read them for others, leaves the sender to change.
#[test]
fn a_stage_that_cannot_read_otherwise() {
    let ipv6 = [("conex", json!({ "encoding": "ipv6" }))];
    let meter = [("stages.police", json!({ "kind": "congestion-meter" }))];
    assert_eq!(
        wrong(&policed(&ipv6, &meter)),
        [
            "groups.heavy.tcp.conex.encoding: is \"ipv6\", and stages.police on its path reads IPv4's codes, and nothing else; write \
          encoding = \"ipv4\", or leave that stage off its path"
        ]
    );
    let volume = wrong(&policed(&ipv6, &[("stages.police.rule", json!("volume"))]));
    assert!(volume.len() == 1 && volume[0].starts_with("groups.heavy.tcp.conex.encoding"), "{volume:?}");
    let both = [
        ("groups.light.path", json!(["access", "police", "bottleneck"])),
        ("groups.light.tcp.conex", json!({})),
    ];
    assert_eq!(
        wrong(&policed(&ipv6, &both)),
        [
            "groups.heavy.tcp.conex.encoding: is \"ipv6\", and stages.police on its path reads IPv4's codes and must, for groups.light; write \
          encoding = \"ipv4\", or give each a separate stage"
        ]
    );
}

/// In a tunnel stages read the outer header.
#[test]
fn a_stage_in_a_tunnel_reads_the_outer_header() {
    let tunnel = [
        ("stages.in", json!({ "kind": "tunnel-ingress", "overhead": "ipip", "peer": "out" })),
        ("stages.out", json!({ "kind": "tunnel-egress" })),
        ("groups.heavy.path", json!(["access", "in", "police", "bottleneck", "out"])),
    ];
    valid(&policed(&[("conex", json!({ "encoding": "ipv6" }))], &tunnel));
}
