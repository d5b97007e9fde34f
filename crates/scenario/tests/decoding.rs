//! What valid scenarios become, and that equal ones are equal.

use crate::common;

use common::{EXAMPLES, at, tree, valid, with, without};
use evenflow_base::schema::{Law, Value};
use evenflow_base::{Duration, Rate, Time};
use evenflow_scenario::Scenario;
use evenflow_scenario::model::{
    Component, Copies, EventKind, Every, Histogram, Per, RateSpec, SchedulerPer, Subject, Target,
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

#[test]
fn the_abc_example_is_what_it_says() {
    let s = Scenario::from_toml(common::example("abc-default")).expect("valid");
    assert_eq!(s.title, "ABC, default configuration");
    assert_eq!((s.duration, s.warmup), (Duration::from_millis(200_000), Duration::from_millis(100_000)));
    assert_eq!(s.classes, ["be"]);
    let [access, bottleneck] = s.links.as_slice() else { panic!("two links") };
    assert_eq!((access.name.as_str(), access.per), ("access", Per::User));
    assert_eq!(access.forward.rate, Some(RateSpec::Constant(Value::Rate(1e8))));
    assert_eq!(access.forward.delay, Value::Seconds(0.0001));
    assert!(access.reverse.is_none());
    let queue = bottleneck.forward.queue.as_ref().expect("a queue");
    assert_eq!(queue.rule.mechanism.kind, "activity-aqm");
    assert_eq!(queue.rule.values.get("gamma"), Some(&Value::Packets(16.0)));
    assert_eq!(queue.rule.values.get("average_over"), Some(&Value::Word("accepted".into())));
    assert_eq!(queue.limit, Some(Value::Packets(24.0)));
    assert!(queue.scheduler.is_none());
    let reference_rate = s.stages[0].spec.values.get("reference_rate");
    assert_eq!(reference_rate.and_then(Value::number), Some(10_000.0));
    let [heavy, light] = s.groups.as_slice() else { panic!("two groups") };
    assert_eq!((heavy.users, light.users), (1, 10));
    let path: Vec<Component> = heavy.path.iter().map(|hop| hop.component).collect();
    assert_eq!(path, [Component::Link(0), Component::Stage(0), Component::Link(1)]);
    assert_eq!((heavy.flows_per_user(), light.flows_per_user()), (10, 1));
    assert_eq!(heavy.weight, Value::Number(1.0));
    let tcp = heavy.traffic[0].tcp.as_ref().expect("TCP");
    assert_eq!(tcp.profile, evenflow_transport::Profile::ns3_26());
    assert_eq!(tcp.congestion_control.mechanism.kind, "newreno");
    let start = Law::Uniform(Box::new(Value::Seconds(0.0)), Box::new(Value::Seconds(15.0)));
    assert_eq!(heavy.traffic[0].spec.values.get("start"), Some(&Value::Random(start)));
    assert_eq!(s.copies(Component::Link(0)), 11);
    assert_eq!(s.copies(Component::Link(1)), 1);
    assert_eq!(s.hash.len(), 16);
}

#[test]
fn a_queue_without_kind_is_droptail() {
    let s = valid(&with("newreno-droptail", &[("links.bottleneck.queue", json!({ "limit": "20 ms" }))]));
    let queue = s.links[1].forward.queue.as_ref().expect("a queue");
    assert_eq!(queue.rule.mechanism.kind, "droptail");
    assert_eq!(queue.limit, Some(Value::Seconds(0.02)));
}

#[test]
fn schedulers_say_by_what_they_tell_packets_apart() {
    let scheduler = json!({ "kind": "drr" });
    let s = valid(&with("newreno-droptail", &[("links.bottleneck.queue.scheduler", scheduler)]));
    let queue = s.links[1].forward.queue.as_ref().expect("a queue");
    assert_eq!(queue.scheduler_per, SchedulerPer::User);
    assert_eq!(queue.scheduler.as_ref().expect("a scheduler").mechanism.kind, "drr");
}

#[test]
fn reverse_takes_what_it_lacks_from_the_forward_direction() {
    let s = valid(&with("newreno-droptail", &[("links.bottleneck.reverse", json!({ "rate": "1 Mbit/s" }))]));
    let reverse = s.links[1].reverse.as_ref().expect("a reverse direction");
    assert_eq!(reverse.rate, Some(RateSpec::Constant(Value::Rate(1e6))));
    assert_eq!(reverse.delay, Value::Seconds(0.005));
    assert!(reverse.queue.is_none());
    let s = valid(&with("newreno-droptail", &[("links.bottleneck.reverse", json!({}))]));
    assert!(s.links[1].reverse.is_none());
    let drawn = [
        ("links.bottleneck.delay", json!({ "uniform": ["1 ms", "9 ms"] })),
        ("links.bottleneck.reverse", json!({ "rate": "1 Mbit/s" })),
    ];
    assert_eq!(
        common::errors(&with("newreno-droptail", &drawn)).to_string(),
        "links.bottleneck.reverse.delay: is required: the forward delay is random and would be drawn again for this direction"
    );
}

#[test]
fn rates_may_change_in_steps() {
    let steps = json!({ "steps": [["0 s", "10 Mbit/s"], ["100 s", "2 Mbit/s"]] });
    let s = valid(&with("newreno-droptail", &[("links.bottleneck.rate", steps)]));
    let expected = vec![(Time(0), Rate(1e7)), (Time(100_000_000_000), Rate(2e6))];
    assert_eq!(s.links[1].forward.rate, Some(RateSpec::Steps(expected)));
}

#[test]
fn users_may_send_several_kinds_of_traffic() {
    let traffic = json!([
        { "kind": "bulk", "flows": 2 },
        { "kind": "cbr", "rate": "64 kbit/s", "packet": "200 B", "class": "ef" },
        { "kind": "upload", "size": "1 MB", "tcp": { "stack": "ns3.26", "ack_every": 1, "max_window": "1 MiB" } },
    ]);
    let s = valid(&with("newreno-droptail", &[("groups.heavy.traffic", traffic)]));
    assert_eq!(s.classes, ["be", "ef"]);
    let heavy = &s.groups[0];
    assert_eq!(heavy.flows_per_user(), 4);
    assert_eq!(heavy.traffic.iter().map(|t| t.class).collect::<Vec<_>>(), [0, 1, 0]);
    assert!(heavy.traffic[1].tcp.is_none());
    let profile = &heavy.traffic[2].tcp.as_ref().expect("TCP").profile;
    assert_eq!((profile.ack_every, profile.max_window), (1, 1_048_576));
    assert_eq!(s.copies(Component::Link(0)), 2);
}

#[test]
fn copies_are_counted_by_what_they_are_for() {
    for (per, copies) in [("user", 11), ("flow", 20), ("group", 2), ("4 users", 4), ("1 user", 11)] {
        let s = valid(&with("abc-default", &[("links.access.per", json!(per))]));
        assert_eq!(s.copies(Component::Link(0)), copies, "{per}");
    }
}

#[test]
fn records_are_resolved() {
    let record = json!({
        "series": [
            { "of": "links.bottleneck.queue.threshold", "every": "10 ms" },
            { "of": "links.access[2].queue.packets", "every": "packet" },
            { "of": "links.access.delivered_bytes", "every": "1 s" },
            { "of": "stages.meter[*].activity", "every": "packet" },
            { "of": "groups.heavy.users[0].flows[3].window", "every": "10 ms" },
            { "of": "groups.light.users.flows.received_bytes", "every": "1 s" },
        ],
        "histograms": [
            "links.bottleneck.queue.at_drop", "links.bottleneck.queue.packets", "links.bottleneck.queue.delay",
            "links.access.classes.be.queue.delay", "groups.heavy.rtt", "groups.heavy.users.delay", "groups.light.delay",
        ],
        "events": ["mark", "drop"],
    });
    let s = valid(&with("abc-default", &[("record", record)]));
    let names: Vec<&str> = s.record.series.iter().map(|series| series.of.as_str()).collect();
    assert_eq!(
        names,
        [
            "links.bottleneck.queue.threshold",
            "links.access[2].queue.packets",
            "links.access[*].delivered_bytes",
            "stages.meter[*].activity",
            "groups.heavy.users[0].flows[3].window",
            "groups.light.users[*].flows[*].received_bytes",
        ]
    );
    let target = |of, copies, inner, observable| Target { of, copies, inner, observable };
    let targets: Vec<Target> = s.record.series.iter().map(|series| series.target).collect();
    assert_eq!(
        targets,
        [
            target(Subject::Queue(1, 0), Copies::All, Copies::One(0), "threshold"),
            target(Subject::Queue(0, 0), Copies::One(2), Copies::One(0), "packets"),
            target(Subject::Link(0), Copies::All, Copies::One(0), "delivered_bytes"),
            target(Subject::Stage(0), Copies::All, Copies::One(0), "activity"),
            target(Subject::Flow(0), Copies::One(0), Copies::One(3), "window"),
            target(Subject::Flow(1), Copies::All, Copies::All, "received_bytes"),
        ]
    );
    assert_eq!(s.record.series[0].every, Every::Interval(Duration::from_millis(10)));
    assert_eq!(s.record.series[1].every, Every::Packet);
    assert_eq!(
        s.record.histograms,
        [
            Histogram::Packets(1),
            Histogram::AtDrop(1),
            Histogram::QueueDelay(1),
            Histogram::ClassQueueDelay(0, 0),
            Histogram::Delay(1),
            Histogram::UsersDelay(0),
            Histogram::Rtt(0),
        ]
    );
    assert_eq!(s.record.events, [EventKind::Drop, EventKind::Mark]);
}

#[test]
fn a_link_on_no_path_is_fine_whatever_its_classes() {
    let queue = json!({ "scheduler": { "kind": "strict", "order": ["ef", "be"] } });
    valid(&with("abc-default", &[("links.spare", json!({ "rate": "1 Mbit/s", "queue": queue }))]));
}

#[test]
fn a_single_mechanism_is_decoded_alone() {
    let spec = evenflow_scenario::mechanism("activity-aqm", r#"{ "gamma": "8 packets" }"#).expect("valid");
    assert_eq!(spec.values.get("gamma"), Some(&Value::Packets(8.0)));
    let errors =
        evenflow_scenario::mechanism("activity-aqm", r#"{ "gama": "8 packets" }"#).expect_err("an error");
    assert_eq!(errors.to_string(), "gama: unknown key \"gama\"; did you mean \"gamma\"?");
    let errors = evenflow_scenario::mechanism("activty-aqm", "{}").expect_err("an error");
    assert_eq!(errors.to_string(), "unknown mechanism \"activty-aqm\"; did you mean \"activity-aqm\"?");
    let errors = evenflow_scenario::mechanism("dash", "{}").expect_err("an error");
    assert_eq!(errors.to_string(), "traffic kind \"dash\": planned, not built; nearest: has");
}

/// What is rule and scheduler in one, and what has a limit where the file gives none.
#[test]
fn queues_that_bring_their_scheduler_or_their_limit() {
    let with = |queue: Json| {
        let links = json!({ "b": { "rate": "10 Mbit/s", "queue": queue } });
        let group = json!({ "users": 1, "path": ["b"], "traffic": { "kind": "cbr", "rate": "1 Mbit/s" } });
        json!({ "duration": "1 s", "links": links, "groups": { "a": group } }).to_string()
    };
    let limit = |queue: Json| {
        let scenario = evenflow_scenario::Scenario::from_json(&with(queue)).expect("valid");
        scenario.links[0].forward.queue.clone().expect("a queue").limit
    };
    assert_eq!(limit(json!({ "kind": "fq-codel" })), Some(Value::Packets(10_240.0)));
    assert_eq!(limit(json!({ "kind": "fq-codel", "limit": "9 kB" })), Some(Value::Bytes(9000.0)));
    assert_eq!(limit(json!({ "scheduler": { "kind": "sfq" } })), Some(Value::Packets(127.0)));
    assert_eq!(limit(json!({ "kind": "codel" })), None);
    let both = with(json!({ "kind": "fq-codel", "scheduler": { "kind": "drr" } }));
    let errors = evenflow_scenario::Scenario::from_json(&both).expect_err("an error");
    assert_eq!(errors.to_string(), "links.b.queue.scheduler: fq-codel is a scheduler itself; leave this out");
    let small = with(json!({ "kind": "fq-codel", "memory_limit": "1400 B" }));
    let errors = evenflow_scenario::Scenario::from_json(&small).expect_err("an error");
    assert_eq!(
        errors.to_string(),
        "links.b.queue.memory_limit: must hold a packet of max_packet; give at least 1500 B"
    );
    let small = with(json!({ "kind": "fq-pie", "memory_limit": "1400 B" }));
    let errors = evenflow_scenario::Scenario::from_json(&small).expect_err("an error");
    assert_eq!(
        errors.to_string(),
        "links.b.queue.memory_limit: must hold a packet of mean_packet; give at least 1514 B"
    );
    for kind in ["codel", "fq-codel"] {
        let lonely = with(json!({ "kind": kind, "ce_threshold_selector": "ect1" }));
        let errors = evenflow_scenario::Scenario::from_json(&lonely).expect_err("an error");
        let why = "has no effect without ce_threshold; give ce_threshold, or leave this out";
        assert_eq!(errors.to_string(), format!("links.b.queue.ce_threshold_selector: {why}"));
    }
}

/// Tables inside tables come back as they were, defaults and all, and may be drawn.
#[test]
fn shapers_and_jitter_survive_the_canonical_form() {
    let link = json!({
        "rate": "100 Mbit/s",
        "jitter": { "normal": "7 ms", "order": "reorder", "direction": "both" },
        "queue": { "scheduler": {
            "kind": "htb",
            "per": "user",
            "classes": { "all": { "rate": "8 Mbit/s", "burst": { "uniform": ["2 kB", "3 kB"] } } },
            "each": {
                "parent": "all",
                "rate": { "values": ["1 Mbit/s", "2 Mbit/s"] },
                "leaf": { "kind": "sfq", "limit": "67 packets" },
            },
        } },
    });
    let group = json!({ "users": 2, "path": ["b"], "traffic": { "kind": "cbr", "rate": "1 Mbit/s" } });
    let tree = json!({ "duration": "1 s", "links": { "b": link }, "groups": { "a": group } });
    let scenario = valid(&tree);
    let again = evenflow_scenario::Scenario::from_json(&scenario.canonical).expect("valid");
    assert_eq!(scenario.canonical, again.canonical);
    let told: Json = serde_json::from_str(&scenario.canonical).expect("JSON");
    let link = &told["links"]["b"];
    assert_eq!(link["jitter"], json!({ "direction": "both", "normal": "0.007 s", "order": "reorder" }));
    let tree = &link["queue"]["scheduler"];
    assert_eq!(tree["arithmetic"], "real");
    assert_eq!(tree["each"]["leaf"], json!({ "kind": "sfq", "limit": "67 packets" }));
    assert_eq!(tree["each"]["rate"], json!({ "values": ["1000000 bit/s", "2000000 bit/s"] }));
    assert_eq!(tree["classes"]["all"]["burst"], json!({ "uniform": ["2000 B", "3000 B"] }));
    let without = |jitter: Json| {
        let mut tree = told.clone();
        tree["links"]["b"]["jitter"] = jitter;
        valid(&tree).links[0].jitter.is_none()
    };
    assert!(without(json!({ "normal": "0 ms" })), "no deviation is no jitter");
}

// The canonical form.

#[track_caller]
fn same(a: &Json, b: &Json) {
    let (a, b) = (valid(a), valid(b));
    assert_eq!(a.canonical, b.canonical);
    assert_eq!(a.hash, b.hash);
}

#[track_caller]
fn different(a: &Json, b: &Json) {
    assert_ne!(valid(a).hash, valid(b).hash);
}

#[test]
fn spellings_do_not_matter() {
    let plain = tree("abc-default");
    let spelled = [
        ("title", json!("another")),
        ("sweep", json!({})),
        ("duration", json!("200000 ms")),
        ("warmup", json!("1.6666666666666667 min")),
        ("links.bottleneck.delay", json!("0.005 s")),
        ("links.bottleneck.rate", json!("1.25 MB/s")),
        ("links.bottleneck.queue.average_over", json!("accepted")),
        ("links.bottleneck.queue.scheduler", json!({ "kind": "fifo" })),
        ("links.access.per", json!("1 users")),
        ("links.access.reverse", json!({})),
        ("groups.heavy.users", json!(1.0)),
        ("groups.heavy.weight", json!(1.0)),
        ("groups.heavy.class", json!("be")),
        ("groups.heavy.tcp.ack_every", json!(2)),
        ("groups.heavy.tcp.congestion_control", json!({ "kind": "newreno" })),
        ("groups.heavy.tcp.max_window", json!("128 KiB")),
        ("record", json!({ "series": [] })),
    ];
    same(&plain, &with("abc-default", &spelled));
    same(&plain, &without("abc-default", &["title", "sweep", "links.bottleneck.queue.q_min"]));
    let mut listed = plain.clone();
    let one = at(&mut listed, "groups.light.traffic").clone();
    *at(&mut listed, "groups.light.traffic") = json!([one]);
    same(&plain, &listed);
}

#[test]
fn meanings_do() {
    let plain = tree("abc-default");
    for (path, json) in [
        ("duration", json!("201 s")),
        ("links.bottleneck.delay", json!("5.000001 ms")),
        ("links.bottleneck.queue.limit", json!("25 packets")),
        ("groups.heavy.weight", json!(2)),
        ("groups.heavy.traffic.flows", json!(11)),
        ("groups.heavy.tcp.ack_every", json!(1)),
        ("groups.heavy.class", json!("ef")),
        ("record.events", json!(["drop"])),
        ("links.spare", json!({ "delay": "1 ms" })),
    ] {
        different(&plain, &with("abc-default", &[(path, json)]));
    }
}

#[test]
fn series_names_have_one_spelling() {
    let series =
        |of: &str| with("abc-default", &[("record.series", json!([{ "of": of, "every": "10 ms" }]))]);
    same(&series("links.access.queue.packets"), &series("links.access[*].queue.packets"));
    different(&series("links.access[0].queue.packets"), &series("links.access[*].queue.packets"));
}

#[test]
fn the_canonical_form_of_the_smallest_scenario() {
    let tree = json!({
        "duration": "10 s",
        "links": { "l": { "rate": "1 Mbit/s", "delay": "5 ms" } },
        "groups": { "g": { "users": 1, "path": ["l"], "traffic": { "kind": "cbr", "rate": "64 kbit/s" } } },
    });
    assert_eq!(
        valid(&tree).canonical,
        concat!(
            r#"{"duration":"10 s","groups":{"g":{"path":["l"],"traffic":[{"class":"be","ecn_capable":false,"kind":"cbr","#,
            r#""packet":"1500 B","rate":"64000 bit/s","start":"0 s"}],"users":1,"weight":1}},"#,
            r#""links":{"l":{"delay":"0.005 s","rate":"1000000 bit/s"}},"#,
            r#""record":{"events":[],"histograms":[],"series":[]},"stages":{},"warmup":"0 s"}"#
        )
    );
}

#[test]
fn random_loss_has_one_spelling() {
    let loss = |json: serde_json::Value| with("abc-default", &[("links.bottleneck.loss", json)]);
    let table = json!({ "probability": 0.01, "from": "0 s", "direction": "forward" });
    same(&loss(json!(0.01)), &loss(table.clone()));
    assert!(
        valid(&loss(json!(0.01)))
            .canonical
            .contains(r#""loss":{"direction":"forward","from":"0 s","probability":0.01},"queue""#)
    );
    same(&loss(json!(0)), &tree("abc-default"));
    same(&loss(json!({ "probability": 0, "from": "7 s" })), &tree("abc-default"));
    for (key, value) in [("from", "1 s"), ("until", "60 s"), ("direction", "both")] {
        let mut other = table.clone();
        other[key] = json!(value);
        different(&loss(table.clone()), &loss(other.clone()));
        is_idempotent(&valid(&loss(other)));
    }
    let counted = loss(json!({ "every": 1000 }));
    assert!(
        valid(&counted)
            .canonical
            .contains(r#""loss":{"direction":"forward","every":1000,"from":"0 s"},"queue""#)
    );
    is_idempotent(&valid(&counted));
    different(&counted, &loss(json!({ "every": 1001 })));
    let law = loss(json!({ "uniform": [0.0, 0.1] }));
    same(&law, &loss(json!({ "probability": { "uniform": [0.0, 0.1] } })));
    is_idempotent(&valid(&law));
}

#[test]
fn a_preset_and_its_lines_written_out_are_the_same_scenario() {
    let red = |queue: serde_json::Value| {
        let mut tree = without("abc-default", &["links.bottleneck.queue"]);
        *common::at(&mut tree, "links.bottleneck.queue") = queue;
        tree
    };
    let short = json!({ "kind": "red", "variant": "ns3", "min_threshold": "20 packets" });
    let long = json!({
        "kind": "red", "variant": "ns3", "min_threshold": "20 packets", "max_threshold": "60 packets", "weight": 0.002,
        "gentle": true, "spread": "ns2", "max_probability": 0.02, "mean_packet": "500 B",
    });
    same(&red(short.clone()), &red(long));
    is_idempotent(&valid(&red(short.clone())));
    let mut other = short;
    other["gentle"] = json!(false);
    different(&red(json!({ "kind": "red", "variant": "ns3", "min_threshold": "20 packets" })), &red(other));
    for variant in ["ns2", "ns3", "linux", "floyd"] {
        is_idempotent(&valid(&red(json!({ "kind": "red", "variant": variant }))));
        // As in examples/scenarios/red-ecn.toml.
        is_idempotent(&valid(&red(json!({
            "kind": "red", "variant": variant, "limit": "833 packets", "min_threshold": "83 packets",
            "max_threshold": "833 packets", "max_probability": 1.0, "weight": 0.002, "action": "mark",
        }))));
    }
}

/// The canonical form is a scenario file, and its own canonical form.
#[track_caller]
fn is_idempotent(scenario: &Scenario) {
    let again = Scenario::from_json(&scenario.canonical)
        .unwrap_or_else(|errors| panic!("{}\n{errors}", scenario.canonical));
    assert_eq!(again.canonical, scenario.canonical);
    assert_eq!(again.hash, scenario.hash);
}

#[test]
fn the_canonical_form_is_a_scenario_of_the_same_meaning() {
    for (name, text) in EXAMPLES.iter() {
        let scenario = Scenario::from_toml(text).expect(name);
        is_idempotent(&scenario);
    }
    let rich = with(
        "abc-default",
        &[
            ("links.access.delay", json!({ "values": ["1 ms", "0.1 ms", "3 us"] })),
            ("links.access.rate", json!({ "normal": ["10 Mbit/s", "1 kbit/s"] })),
            (
                "links.bottleneck.rate",
                json!({ "steps": [["0 s", "10 Mbit/s"], ["1.23456789 s", "3 Mbit/s"]] }),
            ),
            ("links.bottleneck.reverse", json!({ "rate": "1 Mbit/s", "queue": { "limit": "64 KiB" } })),
            ("groups.heavy.processing", json!({ "uniform": ["0 s", "1.2 ms"] })),
            ("groups.heavy.weight", json!({ "values": [1, 2.5, 4] })),
            ("groups.light.tcp.retries", json!("unlimited")),
            ("stages.meter.accounting", json!({ "ef": 3, "be": 1 })),
            ("groups.light.path", json!(["access", "meter", "-bottleneck"])),
            ("record.series", json!([{ "of": "stages.meter[1].rate", "every": "packet" }])),
            ("record.histograms", json!(["links.access.queue.at_drop"])),
            ("record.events", json!(["arrival", "drop"])),
        ],
    );
    is_idempotent(&valid(&rich));
}

// Whatever stands in a file, the decoder answers.

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        prop::sample::select(WORDS).prop_map(Json::from),
        "\\PC{0,8}".prop_map(Json::from),
        "[0-9.e+-]{1,5} ?(ms|s|B|packets|Mbit/s|users)".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop_oneof![prop::sample::select(WORDS).prop_map(str::to_owned), "\\PC{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|table| Json::Object(table.into_iter().collect())),
        ]
    })
}

/// Words that lead the decoder into its corners.
const WORDS: &[&str] = &[
    "title",
    "duration",
    "warmup",
    "links",
    "stages",
    "groups",
    "record",
    "sweep",
    "rate",
    "delay",
    "per",
    "queue",
    "reverse",
    "kind",
    "limit",
    "scheduler",
    "steps",
    "users",
    "path",
    "traffic",
    "tcp",
    "class",
    "processing",
    "weight",
    "series",
    "histograms",
    "events",
    "of",
    "every",
    "stack",
    "congestion_control",
    "uniform",
    "normal",
    "exponential",
    "values",
    "droptail",
    "activity-aqm",
    "csfq",
    "drr",
    "strict",
    "medf",
    "order",
    "offsets",
    "bulk",
    "upload",
    "cbr",
    "poisson",
    "access",
    "bottleneck",
    "meter",
    "-access",
    "heavy",
    "light",
    "ns3.26",
    "newreno",
    "packet",
    "user",
    "flow",
    "5 users",
    "0 s",
    "5 ms",
    "24 packets",
    "64 KiB",
    "10 Mbit/s",
    "0 packets",
    "nan ms",
    "links.access[1].queue.packets",
    "groups.heavy.users[0].flows[9].window",
    "stages.meter.rate",
    "be",
    "ef",
    "accounting",
    "activity-meter",
    "flows",
    "mss",
    "max_window",
    "unlimited",
    "retries",
    "q_base",
    "gamma",
];

/// Every place of a tree, as a list of keys.
fn places(json: &Json) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let children: Vec<(String, &Json)> = match json {
        Json::Array(list) => list.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        Json::Object(table) => table.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        for mut rest in places(child) {
            rest.insert(0, key.clone());
            all.push(rest);
        }
    }
    all
}

fn place<'a>(json: &'a mut Json, keys: &[String]) -> &'a mut Json {
    keys.iter().fold(json, |place, key| match place {
        Json::Array(list) => &mut list[key.parse::<usize>().expect("an index")],
        Json::Object(table) => table.get_mut(key).expect("a key"),
        _ => unreachable!("places() leads to what is there"),
    })
}

proptest! {
    #[test]
    fn no_tree_makes_the_decoder_panic(tree in any_json()) {
        let _ = Scenario::from_value(&tree);
    }

    #[test]
    fn no_mutation_of_an_example_makes_the_decoder_panic(
        which in 0..EXAMPLES.len(),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0..4, any_json(), prop::sample::select(WORDS)), 1..4),
    ) {
        let mut tree = tree(EXAMPLES[which].0);
        for (index, what, json, word) in mutations {
            let places = places(&tree);
            let keys = index.get(&places);
            let (last, parent) = match keys.split_last() {
                Some((last, parent)) => (last.as_str(), parent),
                None => ("", &[][..]),
            };
            match (what, place(&mut tree, parent)) {
                (0, Json::Object(table)) => { table.remove(last); }
                (1, Json::Object(table)) => {
                    if let Some(value) = table.remove(last) {
                        table.insert(word.into(), value);
                    }
                }
                (2, _) => *place(&mut tree, keys) = word.into(),
                _ => *place(&mut tree, keys) = json,
            }
        }
        match Scenario::from_value(&tree) {
            Ok(scenario) => is_idempotent(&scenario),
            Err(errors) => prop_assert!(!errors.is_empty()),
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,30}") {
        let _ = Scenario::from_toml(&text);
        let _ = Scenario::from_json(&text);
    }

    #[test]
    fn no_path_makes_the_record_panic(of in "(links|stages|groups|x)[.](access|bottleneck|meter|heavy|light)(\\[[0-9*x]{0,3}\\])?([.][a-z_]{0,8}(\\[[0-9*]\\])?){0,3}") {
        let tree = with("abc-default", &[("record.series", json!([{ "of": of, "every": "packet" }]))]);
        if let Ok(scenario) = Scenario::from_value(&tree) {
            is_idempotent(&scenario);
        }
    }
}
