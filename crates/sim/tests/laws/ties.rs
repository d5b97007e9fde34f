//! Events of one instant: their order does not depend on whether work is done when it is due or early, nor on the path taken.

use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::Options;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A link's lines: times that are whole milliseconds or microseconds, so that much happens at one instant.
fn link(name: &'static str, per: &'static str) -> impl Strategy<Value = String> {
    let rate = prop_oneof![
        2 => Just(""),
        3 => Just("rate = \"8 Mbit/s\"\n"),
        1 => Just("rate = \"80 Mbit/s\"\n"),
        1 => Just("rate = \"1000 Gbit/s\"\n"),
    ];
    let delay = prop_oneof![Just("0 s"), Just("1 ms"), Just("5 ms")];
    let queue = prop_oneof![
        Just(""),
        Just("queue = { kind = \"droptail\", limit = \"5 packets\" }\n"),
        Just("queue = { kind = \"droptail\", limit = \"20 ms\" }\n"),
        Just("queue = { kind = \"rem\", limit = \"30 packets\" }\n"),
        Just(
            "queue = { kind = \"red\", limit = \"20 packets\", min_threshold = \"3 packets\", max_threshold = \"9 packets\" }\n"
        ),
        Just("queue = { kind = \"fq-codel\", limit = \"20 packets\" }\n"),
    ];
    let more = prop_oneof![
        6 => Just(""),
        1 => Just("loss = { every = 20, direction = \"both\" }\n"),
        1 => Just("jitter = { normal = \"1 ms\", order = \"keep\", direction = \"both\" }\n"),
        1 => Just("jitter = { normal = \"1 ms\", order = \"reorder\" }\n"),
    ];
    (rate, delay, queue, more).prop_map(move |(rate, delay, queue, more)| {
        let queue = if rate.is_empty() { "" } else { queue };
        format!("[links.{name}]\n{rate}delay = \"{delay}\"\n{per}{queue}{more}")
    })
}

/// A group whose flows all start at once.
fn group(name: &'static str) -> impl Strategy<Value = String> {
    let path = prop_oneof![
        3 => Just("\"access\", \"bottleneck\""),
        1 => Just("\"access\", \"core\", \"bottleneck\""),
        1 => Just("\"access\", \"bottleneck\", \"core\""),
        1 => Just("\"access\", \"-core\""),
        1 => Just("\"access\", \"meter\", \"bottleneck\""),
        1 => Just("\"bottleneck\", \"access\""),
        1 => Just("\"access\""),
    ];
    let traffic = prop_oneof![
        3 => Just("{ kind = \"bulk\", flows = 2 }"),
        1 => Just("{ kind = \"bulk\", flows = 1 }"),
        1 => Just("{ kind = \"upload\", size = \"30 kB\" }"),
        1 => Just("{ kind = \"cbr\", rate = \"1.2 Mbit/s\", packet = \"1500 B\" }"),
        1 => Just("[{ kind = \"bulk\", flows = 1 }, { kind = \"cbr\", rate = \"0.8 Mbit/s\", packet = \"100 B\" }]"),
    ];
    let processing = prop_oneof![
        2 => Just(""),
        1 => Just("processing = \"0.1 ms\"\n"),
        1 => Just("processing = { values = [\"0 s\", \"1 ms\"] }\n"),
        1 => Just("processing = { uniform = [\"0 s\", \"1 ms\"] }\n"),
    ];
    let stack = prop_oneof![Just("rfc"), Just("ns3.26"), Just("linux")];
    // ACK timers that end when packets arrive.
    let acks = prop_oneof![
        Just(""),
        Just(", ack_delay = \"3 ms\""),
        Just(", ack_delay = \"1.5 ms\", congestion_control = { kind = \"constant\", window = \"1 packet\" }"),
        Just(", ack_every = 1"),
    ];
    let tcp = (stack, acks);
    (1u32..4, path, traffic, processing, tcp).prop_map(
        move |(users, path, traffic, processing, (stack, acks))| {
            let tcp = match traffic.contains("bulk") || traffic.contains("upload") {
                true => format!("tcp = {{ stack = \"{stack}\"{acks} }}\n"),
                false => String::new(),
            };
            format!(
                "[groups.{name}]\nusers = {users}\npath = [{path}]\ntraffic = {traffic}\n{processing}{tcp}"
            )
        },
    )
}

fn scenario() -> impl Strategy<Value = String> {
    let per = |name| (link(name, ""), prop_oneof![3 => Just(""), 1 => Just("per = \"flow\"\n")]);
    let links = (link("access", "per = \"user\"\n"), link("bottleneck", ""), per("core"));
    let back = prop_oneof![
        2 => Just(""),
        1 => Just("reverse = { rate = \"0.8 Mbit/s\", delay = \"1 ms\", queue = { kind = \"droptail\", limit = \"9 packets\" } }\n"),
        1 => Just("reverse = { delay = \"0 s\" }\n"),
    ];
    let access_back = prop_oneof![3 => Just(""), 1 => Just("reverse = { delay = \"0 s\" }\n")];
    (links, (back, access_back), group("a"), group("b")).prop_map(|(links, (back, access_back), a, b)| {
        let (access, bottleneck, (core, per)) = links;
        // A flow that nothing slows down would send for ever in no time.
        let access = match access.contains("rate") {
            true => access.replace("1000 Gbit/s", "80 Mbit/s"),
            false => access.replace("delay", "rate = \"8 Mbit/s\"\ndelay"),
        };
        let stages = "[stages.meter]\nkind = \"activity-meter\"\nper = \"user\"\n";
        format!("duration = \"0.4 s\"\n{access}{access_back}{bottleneck}{back}{core}{per}{stages}{a}{b}")
    })
}

fn hash(text: &str, options: Options) -> Result<String, String> {
    let scenario = Scenario::from_toml(text).map_err(|e| e.to_string())?;
    let outcome = evenflow_sim::run(&scenario, 1, options, &AtomicBool::new(false));
    outcome.map(|o| o.record_hash).map_err(|e| e.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(12), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn folded_or_not_and_by_events_or_not_a_run_has_one_record(text in scenario()) {
        let plain = hash(&text, Options::default());
        // Paths that take no time at all are refused.
        prop_assume!(!plain.as_ref().is_err_and(|e| e.contains("no time at all")));
        prop_assert!(plain.is_ok(), "{:?}\n{}", plain, text);
        let unfolded = hash(&text, Options { unfolded: true, ..Options::default() });
        prop_assert_eq!(&plain, &unfolded, "folded and not differ:\n{}", text);
        for unfolded in [false, true] {
            let events = hash(&text, Options { eager: true, unfolded, ..Options::default() });
            prop_assert_eq!(&plain, &events, "lazy and by events differ, unfolded: {}\n{}", unfolded, text);
        }
    }
}
