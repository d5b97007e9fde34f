//! Traffic that opens its flows during the run, arrivals that groups share, ends of traffic, laws with a shape.

use evenflow_base::Duration;
use evenflow_base::schema::{Law, Value};
use evenflow_scenario::Scenario;
use evenflow_scenario::model::Share;
use serde_json::{Value as Json, json};

/// Two groups, `a` and `b`, over one link.
fn tree(a: &Json, b: &Json) -> Json {
    let group = |users: u32, traffic: &Json| json!({ "users": users, "path": ["l"], "traffic": traffic });
    json!({
        "duration": "10 s",
        "links": { "l": { "rate": "10 Mbit/s", "delay": "5 ms" } },
        "groups": { "a": group(10, a), "b": group(90, b) },
    })
}

fn with_arrivals(a: &Json, b: &Json, arrivals: &Json) -> Json {
    let mut tree = tree(a, b);
    tree["arrivals"] = json!({ "all": arrivals });
    tree
}

#[track_caller]
fn valid(tree: &Json) -> Scenario {
    Scenario::from_value(tree).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn errors(tree: &Json) -> String {
    Scenario::from_value(tree).expect_err("an error").to_string()
}

fn flows(share: Option<f64>) -> Json {
    let mut traffic = json!({ "kind": "short-flows", "arrivals": "all", "size": "14600 B" });
    traffic.as_object_mut().expect("a table").extend(share.map(|share| ("share".into(), json!(share))));
    traffic
}

fn bulk() -> Json {
    json!({ "kind": "bulk" })
}

fn gaps() -> Json {
    json!({ "interval": { "gamma": ["6 ms", 0.5] } })
}

#[test]
fn groups_share_a_process() {
    let mut process = gaps();
    process["until"] = json!("8 s");
    let scenario = valid(&with_arrivals(&flows(Some(0.8)), &flows(Some(0.2)), &process));
    let arrivals = &scenario.arrivals[0];
    assert_eq!(arrivals.interval, Value::Random(Law::Gamma(Box::new(Value::Seconds(0.006)), 0.5)));
    assert_eq!(
        (arrivals.start, arrivals.ending),
        (Duration::ZERO, Some((Duration::from_seconds(8.0), false)))
    );
    let share = |group, share| Share { group, traffic: 0, share };
    assert_eq!(arrivals.shares, [share(0, 0.8), share(1, 0.2)]);
    assert!(scenario.groups.iter().all(|g| g.traffic[0].arrivals == Some(0) && g.flows_per_user() == 0));
    // The canonical form is a scenario that means the same.
    let again = Scenario::from_json(&scenario.canonical).expect("valid");
    assert_eq!((&again.canonical, &again.hash), (&scenario.canonical, &scenario.hash));
    // Shares in decimals need not add up to the last bit.
    let mut thirds = with_arrivals(&flows(Some(0.1)), &flows(Some(0.2)), &gaps());
    thirds["groups"]["c"] = thirds["groups"]["a"].clone();
    thirds["groups"]["c"]["traffic"]["share"] = json!(0.7);
    valid(&thirds);
    // Alone, a group has them all.
    let alone = valid(&with_arrivals(&flows(None), &bulk(), &gaps()));
    let said = valid(&with_arrivals(&flows(Some(1.0)), &bulk(), &gaps()));
    assert_eq!(alone.hash, said.hash);
}

#[test]
fn shares_that_do_not_add_up_are_refused() {
    assert_eq!(
        errors(&with_arrivals(&flows(Some(0.8)), &flows(Some(0.3)), &gaps())),
        "arrivals.all: the shares of its groups must add up to 1, not 1.1: a (0.8), b (0.3)"
    );
    assert_eq!(
        errors(&with_arrivals(&flows(None), &flows(None), &gaps())),
        "arrivals.all: the shares of its groups must add up to 1, not 2: a (1), b (1)"
    );
    let idle = valid(&with_arrivals(&bulk(), &bulk(), &gaps()));
    assert!(idle.arrivals[0].shares.is_empty());
}

#[test]
fn a_process_is_found_by_name_and_says_itself_when_it_ends() {
    let mut typo = flows(None);
    typo["arrivals"] = json!("al");
    assert_eq!(
        errors(&with_arrivals(&typo, &bulk(), &gaps())),
        "groups.a.traffic.arrivals: there is no [arrivals.al]; did you mean \"all\"?"
    );
    let mut own = flows(None);
    own["until"] = json!("5 s");
    own["interval"] = json!("1 s");
    assert_eq!(
        errors(&with_arrivals(&own, &bulk(), &gaps())),
        "groups.a.traffic.arrivals: excludes interval: flows have one source of arrivals"
    );
    own.as_object_mut().expect("a table").remove("interval");
    assert_eq!(
        errors(&with_arrivals(&own, &bulk(), &gaps())),
        "groups.a.traffic.until: excludes arrivals; write it in [arrivals.all], for all groups"
    );
    let ends = json!({ "interval": "6 ms", "start": "4 s", "until": "4 s", "ned": "abort" });
    assert_eq!(
        errors(&with_arrivals(&flows(None), &bulk(), &ends)),
        "arrivals.all.ned: unknown key \"ned\"; did you mean \"end\"?\n\
         arrivals.all.until: must be later than start: 4 s is not after 4 s"
    );
    assert_eq!(
        errors(&with_arrivals(&flows(None), &bulk(), &json!({ "interval": "0 s", "end": "abort" }))),
        "arrivals.all.end: requires until\n\
         arrivals.all.interval: must be more than 0 s, not \"0 s\""
    );
}

#[test]
fn traffic_ends_after_it_starts() {
    let ends = |more: Json| {
        let mut traffic = json!({ "kind": "bulk" });
        traffic.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        tree(&traffic, &bulk())
    };
    let scenario = valid(&ends(json!({ "until": "5 s" })));
    assert_eq!(scenario.hash, valid(&ends(json!({ "until": "5 s", "end": "close" }))).hash);
    assert_ne!(scenario.hash, valid(&ends(json!({ "until": "5 s", "end": "abort" }))).hash);
    assert_eq!(
        errors(&ends(json!({ "start": "5 s", "until": "2 s" }))),
        "groups.a.traffic.until: must be later than start: 2 s is not after 5 s"
    );
    assert_eq!(
        errors(&ends(
            json!({ "start": { "uniform": ["0 s", "5 s"] }, "until": { "uniform": ["4 s", "9 s"] } })
        )),
        "groups.a.traffic.until: must be later than start: 4 s is not after 5 s"
    );
    assert_eq!(errors(&ends(json!({ "end": "abort" }))), "groups.a.traffic.end: requires until");
    assert_eq!(
        errors(&ends(json!({ "until": "5 s", "end": "reset" }))),
        "groups.a.traffic.end: \"reset\" is not valid; valid names are abort, close"
    );
}

#[test]
fn nothing_has_a_copy_for_each_of_flows_without_end() {
    let web = json!({ "kind": "web", "page_size": "10 kB" });
    let mut per_flow = tree(&web, &bulk());
    per_flow["links"]["l"]["per"] = json!("flow");
    assert_eq!(
        errors(&per_flow),
        "links.l.per: \"flow\" is a copy for each flow, and web of the group a opens flows during the run; write \"user\""
    );
    let drr = |per: &str, kind: &str| {
        let mut tree = tree(&web, &bulk());
        tree["links"]["l"]["queue"] =
            json!({ "limit": "50 packets", "scheduler": { "kind": kind, "per": per } });
        tree
    };
    assert_eq!(
        errors(&drr("flow", "drr")),
        "links.l.queue.scheduler.per: drr has a queue for each flow, and web of the group a opens flows during the run. Write \"user\", or use sfq or fq-codel, which hash flows"
    );
    valid(&drr("user", "drr"));
    valid(&drr("flow", "sfq"));
    let mut fq = tree(&web, &bulk());
    fq["links"]["l"]["queue"] = json!({ "kind": "fq-codel" });
    valid(&fq);
    let mut stage = tree(&bulk(), &web);
    stage["stages"] = json!({ "m": { "kind": "rate-meter", "per": "flow" } });
    stage["groups"]["b"]["path"] = json!(["m", "l"]);
    assert_eq!(
        errors(&stage),
        "stages.m.per: \"flow\" is a copy for each flow, and web of the group b opens flows during the run; write \"user\""
    );
    stage["groups"]["b"]["path"] = json!(["l"]);
    stage["groups"]["a"]["path"] = json!(["m", "l"]);
    valid(&stage);
}

#[test]
fn single_flows_have_series_by_their_numbers() {
    let series = |of: &str, a: Json| {
        let mut tree = tree(&a, &bulk());
        tree["record"] = json!({ "series": [{ "of": of, "every": "1 s" }] });
        tree
    };
    let web = json!({ "kind": "web", "page_size": "10 kB" });
    assert_eq!(
        errors(&series("groups.a.users[0].flows[*].window", web.clone())),
        "record.series[0].of: web opens its flows during the run, so their number is unknown: name one, \"flows[0]\" for a user's first; see \
         groups.a.transfers"
    );
    // One that will be opened has a number, and a window while it is open.
    valid(&series("groups.a.users[0].flows[3].window", web.clone()));
    assert_eq!(
        errors(&series("groups.a.users[0].flows[0].received_bytes", web.clone())),
        "record.series[0].of: web opens its flows during the run; they have no received_bytes; see groups.a.transfers"
    );
    // The bulk transfer beside it has number 0.
    valid(&series("groups.a.users[0].flows[0].window", json!([web, { "kind": "bulk" }])));
}

#[test]
fn users_must_let_time_pass_and_laws_have_means() {
    let web = |more: Json| {
        let mut traffic = json!({ "kind": "web", "page_size": "10 kB" });
        traffic.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        tree(&traffic, &bulk())
    };
    assert_eq!(
        errors(&web(json!({ "patience": "0 s" }))),
        "groups.a.traffic.patience: a user without think time and without patience would repeat requests endlessly at one instant; set think or patience above 0 s, or leave patience out"
    );
    valid(&web(json!({ "patience": "0 s", "think": { "exponential": "1 s" } })));
    assert_eq!(
        errors(&web(json!({ "object_size": { "pareto": ["10 kB", 1] }, "conections": 6 }))),
        "groups.a.traffic.conections: unknown key \"conections\"; did you mean \"connections\"?\n\
         groups.a.traffic.object_size.pareto[1]: a Pareto distribution of shape 1 has no mean: the shape must be more than 1; for \
         heavier tails write lognormal with a large sigma"
    );
    let pings = json!({ "kind": "ping", "timeout": { "exponential": "1 s" } });
    assert_eq!(
        errors(&tree(&pings, &bulk())),
        "groups.a.traffic.timeout: cannot be drawn; a plain value is needed"
    );
    let mut datagrams = json!({ "kind": "ping" });
    datagrams["tcp"] = json!({});
    assert_eq!(
        errors(&tree(&datagrams, &bulk())),
        "groups.a.traffic.tcp: ping sends datagrams, which have no TCP"
    );
}

#[test]
fn gaps_jitter_by_a_part_of_the_mean() {
    let cbr = |gap: Option<Json>| {
        let mut traffic = json!({ "kind": "cbr", "rate": "1 Mbit/s" });
        traffic.as_object_mut().expect("a table").extend(gap.map(|gap| ("gap".into(), gap)));
        tree(&traffic, &bulk())
    };
    let half = valid(&cbr(Some(json!({ "jitter": 0.5 }))));
    assert_eq!(half.hash, Scenario::from_json(&half.canonical).expect("valid").hash);
    assert_eq!(valid(&cbr(Some(json!({ "jitter": 0 })))).hash, valid(&cbr(None)).hash);
    assert_eq!(
        errors(&cbr(Some(json!({ "jitter": 1.5 })))),
        "groups.a.traffic.gap.jitter: must be at least 0, at most 1, not 1.5"
    );
    assert_eq!(
        errors(&cbr(Some(json!({ "jitter": { "uniform": [0, 1] } })))),
        "groups.a.traffic.gap: jitter cannot be drawn; a plain number is needed"
    );
    assert_eq!(
        errors(&cbr(Some(json!({ "jiter": 0.5 })))),
        "groups.a.traffic.gap.jiter: unknown key \"jiter\"; did you mean \"jitter\"?\n\
         groups.a.traffic.gap.jitter: is required: number, for example 0.5"
    );
}

#[test]
fn laws_stand_wherever_a_quantity_may_be_drawn() {
    for law in [
        json!({ "gamma": ["5 ms", 2] }),
        json!({ "pareto": ["5 ms", 1.5] }),
        json!({ "lognormal": ["5 ms", 1] }),
    ] {
        let mut tree = tree(&json!({ "kind": "bulk", "start": law }), &bulk());
        tree["links"]["l"]["delay"] = law.clone();
        tree["groups"]["a"]["processing"] = law.clone();
        let scenario = valid(&tree);
        assert_eq!(Scenario::from_json(&scenario.canonical).expect("valid").hash, scenario.hash);
    }
}
