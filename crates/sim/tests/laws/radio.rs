//! Links that lose in bursts, and links that send again what they lose.

use evenflow_scenario::Scenario;

use crate::common::{close, run, run_by};

fn radio(loss: &str, queue: &str) -> String {
    format!(
        r#"
duration = "60 s"
links.radio = {{ rate = "10 Mbit/s", delay = "20 ms", loss = {{ {loss} }}{queue} }}
[groups.all]
users = 1
path = ["radio"]
traffic = {{ kind = "poisson", rate = "4 Mbit/s", packet = "1000 B" }}
"#
    )
}

/// The share is what it is without bursts; by events it is the same record.
#[test]
fn bursts_change_no_share() {
    for queue in ["", r#", queue = { scheduler = { kind = "drr", per = "user" } }"#] {
        let text = radio("probability = 0.05, burst = 5", queue);
        let r = run(&text, 1);
        let lost = r.number("links.radio.drops.loss") / r.number("groups.all.sent_packets");
        close(lost, 0.05, 0.15);
        assert_eq!(run_by(&text, 1, true).outcome.record_hash, r.outcome.record_hash);
    }
}

/// Of what is lost with 10 %, one in a thousand is left after two more tries.
#[test]
fn what_a_link_sends_again_arrives_late() {
    let plain = run(&radio("probability = 0.1", ""), 1);
    for queue in ["", r#", queue = { scheduler = { kind = "drr", per = "user" } }"#] {
        let text = radio(r#"probability = 0.1, retransmissions = 2, retransmission_delay = "8 ms""#, queue);
        let r = run(&text, 1);
        let sent = r.number("groups.all.sent_packets");
        let left = r.number("links.radio.drops.loss");
        assert!((left - 0.001 * sent).abs() < 5.0 * (0.001 * sent).sqrt(), "{left} of {sent}");
        assert!(plain.number("links.radio.drops.loss") > 0.09 * sent);
        assert_eq!(run_by(&text, 1, true).outcome.record_hash, r.outcome.record_hash, "{queue}");
    }
    // TCP sees a path without losses.
    let tcp = |loss: &str| {
        let text = radio(loss, "").replace(
            r#"traffic = { kind = "poisson", rate = "4 Mbit/s", packet = "1000 B" }"#,
            r#"traffic = { kind = "bulk" }"#,
        );
        let r = run(&text, 1);
        assert_eq!(run_by(&text, 1, true).outcome.record_hash, r.outcome.record_hash);
        r.number("groups.all.throughput_bps")
    };
    let (lost, again) = (
        tcp("probability = 0.02"),
        tcp(r#"probability = 0.02, retransmissions = 5, retransmission_delay = "8 ms""#),
    );
    assert!(again > 2.0 * lost, "{again} {lost}");
}

#[test]
fn losses_that_make_no_sense_are_refused() {
    let said = |loss: &str| {
        Scenario::from_toml(&radio(loss, "")).map(|_| String::new()).unwrap_or_else(|e| e.to_string())
    };
    assert_eq!(
        said("probability = 0.1, burst = 0.5"),
        "links.radio.loss.burst: must be at least 1, at most 1000000, not 0.5"
    );
    assert!(
        said("probability = 0.9, burst = 2")
            .starts_with("links.radio.loss.burst: is too short for a probability of 0.9")
    );
    assert!(said("every = 9, burst = 2").starts_with("links.radio.loss.burst: has no effect with every"));
    assert_eq!(
        said("probability = 0, retransmissions = 2, retransmission_delay = \"8 ms\""),
        "links.radio.loss.retransmissions: has no effect on a link without errors: the probability is 0"
    );
    assert!(
        said("probability = 0.1, retransmissions = 2")
            .starts_with("links.radio.loss.retransmission_delay: is required with retransmissions")
    );
    assert!(
        said("probability = 0.1, retransmission_delay = \"8 ms\"")
            .contains("has no effect without retransmissions")
    );
    let jitter = radio(
        r#"probability = 0.1, retransmissions = 2, retransmission_delay = "8 ms""#,
        r#", jitter = { normal = "1 ms" }"#,
    );
    let why = Scenario::from_toml(&jitter).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(why.contains("cannot be together with jitter"), "{why}");
}
