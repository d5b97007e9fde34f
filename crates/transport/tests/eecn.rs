//! The conformance vectors of re-ECN's sender in tests/conformance, whose README.md says what a vector is.

use evenflow_base::{Codepoint, Duration, Ecn, Time};
use evenflow_transport::ecn;
use evenflow_transport::exposure::{Credit, Exposure, Leaving, Settings};
use serde_json::Value as Json;

#[path = "../../../tests/conformance/reader.rs"]
mod reader;
use reader::vectors;

fn code(json: &Json) -> Codepoint {
    let bits = ["not-ect", "ect1", "ect0", "ce"].iter().position(|word| json["ecn"] == *word);
    Codepoint::of(Ecn::of(bits.expect("a field") as u8), json["re"] == Json::Bool(true))
}

/// Runs a vector: what is sent, what a queue makes of it, and what the counter on an ACK means.
fn run(vector: &Json) -> Result<(), String> {
    let mut exposure = Exposure::new(Settings { credit: Credit::FirstAndThird, ..Settings::honest(true) });
    let rtt = Duration(100_000_000);
    let mut known = 0;
    for (n, event) in vector["events"].as_array().expect("a list").iter().enumerate() {
        let whole = |name: &str| event[name].as_u64().unwrap_or_default();
        let now = Time(whole("at_ns"));
        match event["event"].as_str() {
            Some("send") => {
                let code_is = if event["again"] == Json::Bool(true) {
                    exposure.retransmitted((0, 0), 1000, now, rtt);
                    Codepoint::NotCapable
                } else {
                    let leaving = Leaving {
                        seq: 0,
                        una: 0,
                        bytes: 1000,
                        flight: 1.0,
                        acked: 0.0,
                        slow_start: false,
                        now,
                    };
                    exposure.report(&leaving).codepoint().expect("a code")
                };
                if code_is != code(&event["expect"]) {
                    return Err(format!("event {n}: {code_is:?} and not {}", event["expect"]));
                }
                if let Some(after) = event.get("marked") {
                    let marked = code_is.marked(vector["fne_is_ect"] == Json::Bool(true));
                    let expected = (!after.is_null()).then(|| code(after));
                    if marked != expected {
                        return Err(format!("event {n}: a mark makes {marked:?} and not {after}"));
                    }
                }
            }
            Some("lost") => exposure.retransmitted((0, 0), 1000, now, rtt),
            _ => {
                let shown = whole("eci") as u8;
                let marks = ecn::newly_marked(shown, known, whole("packets") as u32);
                known = shown;
                if marks > 0 {
                    exposure.marked(marks, 1000 * u64::from(marks), now, rtt);
                }
                if u64::from(marks) != event["expect"]["marks"].as_u64().expect("a number") {
                    return Err(format!("event {n}: {marks} marks and not {}", event["expect"]));
                }
            }
        }
    }
    exposure.check().map_err(|fault| format!("{fault:?}"))
}

#[test]
fn every_vector_of_a_sender_is_met() {
    let vectors = vectors("eecn");
    assert!(vectors.len() >= 3);
    let failed: Vec<String> =
        vectors.iter().filter_map(|(path, v)| run(v).err().map(|why| format!("{path}: {why}"))).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A vector that expects something else does not pass unnoticed.
#[test]
fn a_wrong_vector_is_noticed() {
    for (path, vector) in vectors("eecn") {
        let events = vector["events"].as_array().expect("a list");
        let last = |kind: &str| events.iter().rposition(|event| event["event"] == kind).expect("one");
        let mut wrong = vector.clone();
        wrong["events"][last("ack")]["expect"]["marks"] = 99.into();
        assert!(run(&wrong).is_err(), "{path}");
        let mut wrong = vector.clone();
        wrong["events"][last("send")]["expect"]["ecn"] = "ect0".into();
        assert!(run(&wrong).is_err(), "{path}");
    }
}
