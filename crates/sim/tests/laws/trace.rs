//! `[record] trace`: what it says of single packets, and that it moves nothing.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::{Options, Outcome};

use crate::common::{Run, close, run};

/// Actions by number.
const SEND: f64 = 0.0;
const ARRIVE: f64 = 1.0;
const LEAVE: f64 = 2.0;
const PASS: f64 = 3.0;
const MARK: f64 = 4.0;
const DROP: f64 = 6.0;
const RECEIVE: f64 = 7.0;

/// The rows of a trace: their time, and one value each of the columns asked for.
fn rows(run: &Run, names: &[&str]) -> Vec<(f64, Vec<f64>)> {
    let columns: Vec<_> = names.iter().map(|name| run.column(&format!("trace.{name}"))).collect();
    (0..columns[0].0.len()).map(|i| (columns[0].0[i], columns.iter().map(|c| c.1[i]).collect())).collect()
}

/// One datagram of 1250 B a second over 10 Mbit/s and 10 ms, then a meter, then pure delay of 2 ms.
#[test]
fn a_datagram_on_its_way() {
    let text = r#"
duration = "1.5 s"
links.first = { rate = "10 Mbit/s", delay = "10 ms" }
stages.meter = { kind = "rate-meter" }
links.second = { delay = "2 ms" }
groups.a = { users = 1, path = ["first", "meter", "second"], traffic = { kind = "cbr", rate = "10 kbit/s", packet = "1250 B" } }
record.trace = ["groups.a"]
"#;
    let run = run(text, 1);
    let found = rows(&run, &["action", "link", "stage", "size", "payload", "backward"]);
    let (first, nan) = (found[0].0, f64::NAN);
    // At 0.5 s + n seconds or another phase: only differences count.
    for (i, (time, action, link, stage)) in [
        (0.0, SEND, nan, nan),
        (0.0, ARRIVE, 0.0, nan),
        (0.011, LEAVE, 0.0, nan), // 1250 B at 10 Mbit/s take 1 ms
        (0.011, PASS, nan, 0.0),
        (0.011, ARRIVE, 1.0, nan),
        (0.013, LEAVE, 1.0, nan),
        (0.013, RECEIVE, nan, nan),
    ]
    .into_iter()
    .enumerate()
    {
        let (at, row) = &found[i];
        close(at - first, time, 1e-9);
        assert_eq!(row[0], action, "row {i}");
        for (value, expected) in [(row[1], link), (row[2], stage)] {
            assert!(value == expected || (value.is_nan() && expected.is_nan()), "row {i}: {row:?}");
        }
        assert_eq!(row[3..], [1250.0, 1222.0, 0.0]);
    }
}

/// A handshake and two segments: numbers, flags and echo as a packet capture has them.
#[test]
fn an_upload_as_a_capture_shows_it() {
    let text = r#"
duration = "2 s"
links.all = { rate = "10 Mbit/s", delay = "10 ms" }
groups.a = { users = 1, path = ["all"], traffic = { kind = "upload", size = "2896 B" }, tcp = { ecn = "classic" } }
record.trace = ["groups.a.users[0].flows[0]"]
"#;
    let run = run(text, 1);
    let found = rows(&run, &["action", "backward", "flags", "seq", "ack", "payload", "ecn"]);
    let ends: Vec<_> =
        found.iter().filter(|(_, row)| row[0] == RECEIVE).map(|(_, row)| row[1..].to_vec()).collect();
    let (syn, ack, ece, cwr) = (0x02, 0x10, 0x40, 0x80);
    // Backward, flags, number, acknowledgement, payload, ECN field.
    let expected = [
        (0.0, syn | ece | cwr, Some(0.0), None, 0.0, 0.0),
        (1.0, syn | ack | ece, Some(0.0), Some(0.0), 0.0, 0.0),
        (0.0, ack, None, Some(0.0), 0.0, 0.0),
        (0.0, 0, Some(0.0), None, 1448.0, 2.0),
        (0.0, 0, Some(1448.0), None, 1448.0, 2.0),
        (1.0, ack, None, Some(2896.0), 0.0, 0.0),
    ];
    assert_eq!(ends.len(), expected.len(), "{ends:?}");
    for (row, (back, flags, seq, ack, payload, ecn)) in ends.iter().zip(expected) {
        let some = |value: f64| if value.is_nan() { None } else { Some(value) };
        assert_eq!(
            (row[0], row[1], some(row[2]), some(row[3])),
            (back, f64::from(flags), seq, ack),
            "{row:?}"
        );
        assert_eq!((row[4], row[5]), (payload, ecn), "{row:?}");
    }
}

/// Everything that can happen to a packet: marks and drops of queues, both ways, losses, jitter, processing, stages that police
/// and hold, datagrams, applications.
fn busy(record: &str) -> String {
    format!(
        r#"
duration = "8 s"
warmup = "2 s"
links.access = {{ rate = "50 Mbit/s", delay = "1 ms", per = "user" }}
links.core = {{ rate = "4 Mbit/s", delay = "10 ms", queue = {{ kind = "red", variant = "floyd", action = "mark", min_threshold = "5 packets", limit = "30 packets" }}, reverse = {{ rate = "150 kbit/s", queue = {{ limit = "6 packets" }} }} }}
links.last = {{ rate = "20 Mbit/s", delay = "3 ms", loss = {{ probability = 0.01, direction = "both" }}, jitter = {{ normal = "1 ms", order = "keep" }} }}
stages.meter = {{ kind = "rate-meter", per = "user" }}
stages.police = {{ kind = "policer", rate = "1 Mbit/s", burst = "20 kB" }}
groups.bulk = {{ users = 2, path = ["access", "meter", "core", "last"], traffic = {{ kind = "bulk", flows = 2 }}, tcp = {{ ecn = "accurate" }}, processing = {{ uniform = ["0 s", "1 ms"] }} }}
groups.noise = {{ users = 2, path = ["access", "police", "core"], traffic = {{ kind = "poisson", rate = "800 kbit/s" }} }}
groups.short = {{ users = 1, path = ["access", "core", "last"], traffic = {{ kind = "short-flows", size = "20 kB", interval = {{ exponential = "500 ms" }} }} }}
{record}
"#
    )
}

const ALL: &str = r#"record.trace = ["groups.bulk", "groups.noise", "groups.short"]"#;

fn by(text: &str, eager: bool, unfolded: bool) -> Outcome {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { eager, unfolded, ..Options::default() };
    evenflow_sim::run(&scenario, 3, options, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"))
}

/// The record of a run with a trace is that of the run without, on either path; and both paths give the same trace.
#[test]
fn a_trace_moves_nothing() {
    let numbers = |outcome: &Outcome| {
        let mut record = outcome.record.clone();
        for other in ["scenario_hash", "events"] {
            record.remove(other);
        }
        record
    };
    for some in [ALL, r#"record.trace = ["groups.bulk.users[1].flows[0]"]"#] {
        let plain = [(false, false), (true, false), (false, true)].map(|(e, u)| by(&busy(""), e, u));
        let traced = [(false, false), (true, false), (false, true)].map(|(e, u)| by(&busy(some), e, u));
        for (plain, traced) in plain.iter().zip(&traced) {
            assert_eq!(numbers(plain), numbers(traced));
        }
        assert_eq!(traced[0].record_hash, traced[1].record_hash, "eager service");
        assert_eq!(traced[0].record_hash, traced[2].record_hash, "unfolded");
        assert!(plain[0].columns.is_empty());
    }
}

/// Each packet that was sent was received, or dropped, or is under way; and what links and stages count is what the trace has.
#[test]
fn a_trace_is_complete() {
    let text = busy(ALL).replace("warmup = \"2 s\"\n", "");
    let run = run(&text, 3);
    let found = rows(&run, &["action", "link", "stage", "backward", "flow", "seq"]);
    let count = |what: &dyn Fn(&[f64]) -> bool| found.iter().filter(|(_, row)| what(row)).count() as f64;
    let ends = count(&|row| row[0] == RECEIVE) + count(&|row| row[0] == DROP);
    let sent = count(&|row| row[0] == SEND);
    assert!(sent > 3000.0 && sent - ends < 200.0 && sent >= ends, "{sent} sent, {ends} received or dropped");
    for (i, name) in ["access", "core", "last"].into_iter().enumerate() {
        let at = |action: f64| count(&|row| row[0] == action && row[1] == i as f64 && row[3] == 0.0);
        assert_eq!(at(ARRIVE), run.number(&format!("links.{name}.arrived_packets")), "{name}");
        assert_eq!(at(DROP), run.drops(name), "{name}");
        assert_eq!(at(MARK), run.marks(name), "{name}");
        assert!(at(LEAVE) <= at(ARRIVE) - at(DROP) && at(LEAVE) > 0.9 * (at(ARRIVE) - at(DROP)), "{name}");
    }
    assert!(count(&|row| row[0] == MARK) > 50.0 && count(&|row| row[0] == DROP) > 50.0);
    // Stages by name: meter, police.
    let at_stage = |action: f64, stage: f64| count(&|row| row[0] == action && row[2] == stage);
    assert_eq!(at_stage(DROP, 0.0), 0.0);
    let policed = crate::common::sum(run.value("stages.police.drops"));
    assert!(policed > 100.0);
    assert_eq!(at_stage(DROP, 1.0), policed);
    assert_eq!(at_stage(PASS, 1.0), run.number("stages.police.passed_packets"));
    // Time runs forward.
    assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    // Flows that were opened on the way are there, under their numbers.
    let mut flows: BTreeMap<u64, u32> = BTreeMap::new();
    found.iter().for_each(|(_, row)| *flows.entry(row[4] as u64).or_default() += 1);
    assert!(flows.len() > 8 + 10, "{flows:?}");
}
