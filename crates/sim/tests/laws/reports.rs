//! Re-ECN inside a network: what a base station counts comes back to the gateway, which declares it on outer headers, and no terminal changes.

use evenflow_scenario::Scenario;

use crate::common::{Run, close, run, run_by};

/// Two users of packets that are not ECN-capable, in a tunnel around a queue that marks. `gateway`, `report` and `police` are more lines of those
/// stages, `traffic` what they send.
fn network(gateway: &str, report: &str, police: &str, traffic: &str) -> String {
    let (with, on) = match police {
        "" => (String::new(), ""),
        _ => (format!("stages.police = {{ kind = \"congestion-policer\", {police} }}"), "\"police\", "),
    };
    format!(
        r#"
duration = "30 s"
stages.into = {{ kind = "tunnel-ingress", overhead = "gtp-u-sequence", ecn = "paper", peer = "out" }}
stages.gateway = {{ kind = "congestion-controller", peer = "report"{gateway} }}
stages.before = {{ kind = "congestion-meter" }}
stages.behind = {{ kind = "congestion-meter" }}
stages.report = {{ kind = "congestion-reporter", every = "100 ms"{report} }}
stages.out = {{ kind = "tunnel-egress", ecn = "paper" }}
{with}
links.first = {{ rate = "100 Mbit/s", delay = "10 ms" }}
links.core = {{ rate = "10 Mbit/s", delay = "10 ms", queue = {{ kind = "red", variant = "floyd", action = "mark", weight = 0.02, min_threshold = "10 packets", max_threshold = "60 packets", gentle = true, limit = "120 packets" }} }}
links.radio = {{ delay = "30 ms" }}
[groups.all]
users = 2
path = ["into", "gateway", {on}"first", "before", "core", "behind", "report", "out", "radio"]
{traffic}
"#
    )
}

const CBR: &str = r#"traffic = { kind = "poisson", rate = "6 Mbit/s", packet = "1000 B", until = "25 s" }"#;
const TCP: &str = r#"traffic = { kind = "bulk", flows = 2, start = { uniform = ["0 s", "1 s"] } }
tcp = { ecn = "gateway" }"#;

fn of(r: &Run, name: &str) -> f64 {
    r.number(&format!("stages.{name}"))
}

/// Every mark and every drop of the queue is counted once, comes back, and is declared; its bytes are the flows' and users' together.
#[test]
fn what_the_queue_did_is_what_the_gateway_declares() {
    let r = run(&network("", "", "", CBR), 1);
    let (marked, dropped) = (r.marks("core"), r.sum("links.core.drops"));
    assert!(marked > 500.0 && dropped > 20.0, "{marked} {dropped}");
    assert_eq!((of(&r, "report.marked"), of(&r, "report.lost")), (marked, dropped));
    assert_eq!((of(&r, "gateway.marked"), of(&r, "gateway.lost")), (marked, dropped));
    assert_eq!(of(&r, "report.marked_outside"), marked);
    // Exact: each listed packet has its own size, header included.
    assert_eq!(of(&r, "gateway.congestion_volume"), (marked + dropped) * 1040.0);
    assert_eq!(of(&r, "gateway.unlisted"), 0.0);
    assert_eq!(of(&r, "gateway.re_echoed") + of(&r, "gateway.owed"), marked + dropped);
    assert_eq!(of(&r, "before.positive"), of(&r, "gateway.re_echoed"));
    assert_eq!(of(&r, "before.credits"), of(&r, "gateway.credits"));
    assert_eq!(of(&r, "behind.cancelled") + of(&r, "behind.negative"), marked);
    // Nobody outside the tunnel sees any of it (c01, c22): the packets arrive as they were sent, and none is dropped at its end.
    assert_eq!((r.number("groups.all.marks"), r.sum("stages.out.drops")), (0.0, 0.0));
    close(of(&r, "gateway.congestion"), (marked + dropped) / of(&r, "into.wrapped"), 1e-9);
}

/// Whoever's the mark was: by flow each declares its own, and starts with credit of its own.
#[test]
fn accounts_of_flows() {
    let bearer = run(&network("", "", "", CBR), 1);
    let flow = run(&network(r#", account = "flow""#, "", "", CBR), 1);
    assert_eq!((of(&bearer, "gateway.credits"), of(&flow, "gateway.credits")), (2.0, 4.0));
    assert_eq!(
        of(&flow, "gateway.re_echoed") + of(&flow, "gateway.owed"),
        of(&flow, "gateway.marked") + of(&flow, "gateway.lost")
    );
    // Without a list they are shared by bytes, and nothing of it gets lost.
    let shared = run(&network(r#", account = "flow""#, ", list = false", "", CBR), 1);
    let all = of(&shared, "gateway.marked") + of(&shared, "gateway.lost");
    assert_eq!(of(&shared, "gateway.unlisted"), all);
    close(of(&shared, "gateway.re_echoed") + of(&shared, "gateway.owed"), all, 1e-9);
    close(of(&shared, "gateway.congestion_volume"), all * 1040.0, 1e-9);
    assert!(of(&shared, "report.sent_bytes") < of(&flow, "report.sent_bytes"));
}

/// Counters are cumulative (c23): with three reports of ten lost, what the gateway knows is all that was counted when the last one left.
#[test]
fn lost_reports_cost_no_accuracy() {
    let mut exact = 0;
    for seed in 1..6 {
        let r = run(&network("", ", loss = 0.3", "", CBR), seed);
        let share = of(&r, "report.reports_lost") / of(&r, "report.reports");
        assert!((0.2..0.4).contains(&share), "{share}");
        let (known, all) = (
            of(&r, "gateway.marked") + of(&r, "gateway.lost"),
            of(&r, "report.marked") + of(&r, "report.lost"),
        );
        assert!(known <= all && all - known < 200.0, "{known} {all}");
        exact += u32::from(known == all);
        assert!(of(&r, "gateway.unlisted") > 0.0, "the lists of lost reports are gone");
    }
    assert!(exact >= 2, "where the last report arrives, nothing is missing");
    // On a link that loses packets in both directions it is the same.
    let lossy = network("", "", "", CBR).replace(
        r#"delay = "10 ms" }"#,
        r#"delay = "10 ms", loss = { probability = 0.05, direction = "reverse" } }"#,
    );
    let r = run(&lossy, 1);
    assert!(of(&r, "gateway.reports") < of(&r, "report.reports"));
    assert!(of(&r, "gateway.marked") <= of(&r, "report.marked"));
}

/// `split`: senders that stand at the gateway hear of congestion once a round trip of reports, and share the line; the terminals see no ECN.
#[test]
fn a_gateway_tells_senders_that_know_no_ecn() {
    let deaf = run(&network("", "", "", &TCP.replace("gateway", "off")), 1);
    let told = run(&network(r#", mode = "split""#, "", "", TCP), 1);
    assert_eq!((of(&deaf, "gateway.echoes"), told.number("groups.all.marks")), (0.0, 0.0));
    assert!(of(&told, "gateway.echoes") > 20.0, "{}", of(&told, "gateway.echoes"));
    // The queue marks all that it can instead of dropping: who hears nothing fills it.
    assert!(r_drops(&told) < 0.2 * r_drops(&deaf), "{} {}", r_drops(&told), r_drops(&deaf));
    assert!(told.marks("core") < 0.5 * deaf.marks("core"));
    assert!(told.number("groups.all.throughput_bps") > 0.8 * deaf.number("groups.all.throughput_bps"));
    // What was told were reductions, and not one for each mark.
    assert!(of(&told, "gateway.echoes") < told.marks("core"));
}

fn r_drops(r: &Run) -> f64 {
    r.sum("links.core.drops")
}

/// T by report is the round trip between gateway and base station: 40 ms and what waits, whatever the radio adds.
#[test]
fn policers_have_their_round_trip_from_reports() {
    let police =
        r#"rule = "tcp-rate", rtt_from = "report", start = "50 s", scope = "user", strangers = "own""#;
    let r = run(&network(r#", mode = "split""#, "", police, TCP), 1);
    let (known, police) = (of(&r, "gateway.rtt"), of(&r, "police.rtt"));
    assert!((0.040..0.100).contains(&known), "{known}");
    close(police, known, 0.02);
    assert!(of(&r, "police.charged") > 1.0);
    // What a policer takes out for good is what it has been told of.
    let volume = r#"rule = "volume", rate = "2 kbit/s", depth = "20 kB", action = "drop-while-empty""#;
    let held = run(&network("", "", volume, CBR), 1);
    let free = run(&network("", "", "", CBR), 1);
    assert!(of(&held, "police.policed") > 100.0);
    assert!(held.marks("core") < 0.7 * free.marks("core"));
}

/// The pair without a tunnel: a source that answers no mark and declares each (the attacker of Zhang et al. 2011 section V who tells the truth).
#[test]
fn a_source_that_declares_honestly_whatever_it_sends() {
    let bare = network("", r#", list = false, size = "40 B""#, "", CBR)
        .replace(r#""into", "gateway""#, r#""gateway""#);
    let bare = bare.replace(r#""report", "out""#, r#""report""#);
    let bare: String = bare
        .lines()
        .filter(|line| !line.starts_with("stages.into") && !line.starts_with("stages.out"))
        .collect::<Vec<_>>()
        .join("\n");
    let r = run(&bare, 1);
    assert_eq!(of(&r, "gateway.marked"), r.marks("core"));
    assert_eq!(of(&r, "gateway.lost"), 0.0, "there are no numbers");
    assert_eq!(of(&r, "gateway.re_echoed") + of(&r, "gateway.owed"), r.marks("core"));
    assert_eq!(of(&r, "before.positive"), of(&r, "gateway.re_echoed"));
    assert_eq!(of(&r, "before.others"), 0.0);
    assert_eq!(of(&r, "report.sent_bytes"), 40.0 * of(&r, "report.reports"));
}

#[test]
fn one_record_on_both_paths() {
    let police = r#"rule = "volume", rate = "20 kbit/s", depth = "20 kB""#;
    let text = network(
        r#", mode = "split", account = "flow", per = "user""#,
        r#", loss = 0.1, per = "user""#,
        police,
        TCP,
    )
    .replace(r#"peer = "out" }"#, r#"peer = "out", per = "user" }"#);
    let r = run(&text, 3);
    assert_eq!(run_by(&text, 3, true).outcome.record_hash, r.outcome.record_hash);
    // Two bearers, each with its accounts in the record.
    assert!(r.maybe("stages.gateway.groups.all.congestion_volume").is_some());
}

/// Each mistake by its path.
#[test]
fn loops_that_do_not_close_are_refused() {
    let said =
        |text: &str| Scenario::from_toml(text).map(|_| String::new()).unwrap_or_else(|e| e.to_string());
    let whole = network("", "", "", CBR);
    assert_eq!(said(&whole), "");
    assert_eq!(
        said(&whole.replace(", peer = \"report\"", "")),
        "stages.gateway.peer: is required: the stage of kind congestion-reporter that counts marks and losses, for example \"report\"\n\
         stages.report.peer: is required: the stage of kind congestion-controller that receives the reports, for example \"gateway\""
    );
    assert!(
        said(&whole.replace("gtp-u-sequence", "gtp-u"))
            .starts_with("stages.into.overhead: has no sequence numbers, so \"report\" could detect"),
        "{}",
        said(&whole.replace("gtp-u-sequence", "gtp-u"))
    );
    assert_eq!(
        said(&network("", ", every = \"0 s\"", "", CBR).replace("every = \"100 ms\", ", "")),
        "stages.report.every: must be more than 0 s, not \"0 s\""
    );
    let split = network(", mode = \"split\"", "", "", CBR)
        .replace("\"gateway\", \"first\"", "\"first\", \"gateway\"");
    assert!(
        said(&split).starts_with("groups.all.path[2]: \"gateway\" sets ECE for senders at the gateway"),
        "{}",
        said(&split)
    );
    let deaf = network(", mode = \"split\"", "", "", &TCP.replace("gateway", "off"));
    assert!(
        said(&deaf).starts_with("stages.gateway.mode: \"split\" sets ECE for senders with"),
        "{}",
        said(&deaf)
    );
    assert_eq!(
        said(&network(", mode = \"split\"", "", "", CBR)),
        "",
        "datagrams have nobody who could heed it"
    );
    let swapped =
        whole.replace("\"gateway\", ", "").replace("\"report\", \"out\"", "\"report\", \"gateway\", \"out\"");
    assert!(said(&swapped).contains("put \"gateway\" before it"), "{}", said(&swapped));
    let outside = whole.replace("\"into\", \"gateway\"", "\"gateway\", \"into\"");
    assert!(said(&outside).contains("not in the same tunnel"), "{}", said(&outside));
    let early = network("", "", "rule = \"tcp-rate\", rtt_from = \"report\"", CBR)
        .replace("\"gateway\", \"police\"", "\"police\", \"gateway\"");
    assert!(said(&early).contains("no congestion-controller in a tunnel is before it"), "{}", said(&early));
    assert!(
        said(&network("", "", "", TCP))
            .starts_with("groups.all.tcp.ecn: \"gateway\" is for senders whose ACKs pass")
    );
}
