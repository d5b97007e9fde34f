//! Re-ECN on a path: its policers before a queue that marks, its dropper behind it, and senders who declare what they are told, or less.

use evenflow_scenario::Scenario;

use crate::common::{Run, close, run, run_by};

/// Four flows of a sender who declares a share `declared` of his marks over a queue that marks; `police` before it, `audit` behind it.
fn network(declared: f64, police: &str, audit: &str) -> String {
    let stage = |name: &str, kind: &str, text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("stages.{name} = {{ kind = \"{kind}\", {text} }}")
        }
    };
    let on = |name: &str, text: &str| if text.is_empty() { String::new() } else { format!("\"{name}\", ") };
    format!(
        r#"
duration = "40 s"
warmup = "5 s"
{}
{}
links.access = {{ rate = "100 Mbit/s", delay = "10 ms", per = "user" }}
links.core = {{ rate = "10 Mbit/s", delay = "10 ms", queue = {{ kind = "red", variant = "floyd", action = "mark", weight = 0.02, min_threshold = "10 packets", max_threshold = "60 packets", limit = "120 packets" }} }}
links.last = {{ delay = "5 ms" }}
[groups.all]
users = 2
path = [{}"access", "core", {}"last"]
traffic = {{ kind = "bulk", flows = 2, start = {{ uniform = ["0 s", "1 s"] }} }}
tcp = {{ ecn = "accurate", ecn_on_retransmissions = false, conex = {{ unit = "packets", credit = "first-and-third", declared = {declared} }} }}
"#,
        stage("police", "congestion-policer", police),
        stage("audit", "auditor", audit),
        on("police", police),
        on("audit", audit),
    )
}

fn goodput(r: &Run) -> f64 {
    r.number("groups.all.throughput_bps")
}

/// Honest senders: a dropper with a lag of two round trips touches nobody, and a run with it is the run without it.
#[test]
fn a_dropper_leaves_honest_senders_alone() {
    let without = goodput(&run(&network(1.0, "", ""), 1));
    for rule in ["strict", "negative-only", "paper"] {
        let r = run(&network(1.0, "", &format!("rule = \"{rule}\", delay = \"600 ms\"")), 1);
        assert_eq!(r.number("stages.audit.sanctioned"), 0.0, "{rule}");
        assert_eq!(goodput(&r), without, "{rule}");
        assert!(r.number("stages.audit.marks_met") > 20.0);
    }
}

/// Who declares half of it is caught, and brought to declare what he meets.
#[test]
fn a_dropper_holds_who_declares_half() {
    let r = run(&network(0.5, "", r#"rule = "strict", delay = "600 ms", allowance = "3 packets""#), 1);
    assert!(r.number("stages.audit.sanctioned_flows") >= 3.0);
    let free =
        run(&network(0.5, "", r#"rule = "strict", delay = "600 ms", allowance = "100000 packets""#), 1);
    let of = |r: &Run, name: &str| r.number(&format!("stages.audit.{name}"));
    // Free he owes more than a third of his marks for ever. Held, what he sends declares what he meets: the drops are losses, which he reports.
    assert!(of(&free, "reports") < 0.6 * of(&free, "marks_met"));
    assert!(of(&r, "reports") > of(&r, "marks_met") - 4.0 * 3.0);
    assert!(goodput(&r) < goodput(&free));
}

/// Compliant flows pass policer A; with a quarter of TCP's time they do not. T is near the path's 50 ms and what waits at the queue.
#[test]
fn policer_a_passes_tcp_and_holds_less_than_it() {
    let rule = |more: &str| format!(r#"rule = "tcp-rate", start = "10 s", most = "40 s"{more}"#);
    let r = run(&network(1.0, &rule(", rtt_from = \"srtt\""), ""), 1);
    assert_eq!(r.number("stages.police.policed"), 0.0);
    assert_eq!(r.number("stages.police.buckets"), 4.0);
    let slow = run(
        &network(1.0, &rule(r#", factor = 0.25, action = "drop-while-empty", rtt_from = "srtt""#), ""),
        1,
    );
    assert!(slow.number("stages.police.policed") > 10.0, "{}", slow.number("stages.police.policed"));
    let rtt = |from: &str| {
        run(&network(1.0, &rule(&format!(", rtt_from = \"{from}\"")), ""), 1).number("stages.police.rtt")
    };
    close(rtt("base"), 0.050, 1e-9);
    assert!((0.050..0.120).contains(&rtt("srtt")), "{}", rtt("srtt"));
    assert!((0.050..0.120).contains(&rtt("handshake")), "{}", rtt("handshake"));
}

/// Policer B: what a user's reports and credits cost is no more than his tokens (dossier 2.5), for users apart and together.
#[test]
fn policer_b_admits_what_tokens_pay_for() {
    for (per, scope, buckets) in
        [("user", "user", 1.0), ("group", "customer", 1.0), ("group", "user", 2.0), ("user", "flow", 2.0)]
    {
        let rule = format!(
            r#"per = "{per}", scope = "{scope}", rule = "volume", rate = "400 bit/s", depth = "3 kB", action = "drop-while-empty""#
        );
        let r = run(&network(1.0, &rule, ""), 1);
        assert_eq!(r.number("stages.police.buckets"), buckets, "{per} {scope}");
        let charged = r.number("stages.police.charged");
        assert!(charged <= buckets * (3_000.0 + 50.0 * 40.0 + 1_500.0), "{per} {scope}: {charged}");
        assert!(r.number("stages.police.policed") > 10.0, "{per} {scope}");
    }
    let blocked = run(
        &network(
            1.0,
            r#"per = "user", rule = "volume", rate = "400 bit/s", depth = "3 kB", action = "block""#,
            "",
        ),
        1,
    );
    assert!(blocked.number("stages.police.drops.blocked") > 0.0);
    assert!(goodput(&blocked) < 0.5 * goodput(&run(&network(1.0, "", ""), 1)));
}

/// A sender of re-ECN, whose receiver is what `tcp` says; a meter before the queue and one behind it.
fn reecn(tcp: &str, more: &str) -> String {
    format!(
        r#"
duration = "40 s"
stages.before = {{ kind = "congestion-meter" }}
stages.behind = {{ kind = "congestion-meter" }}
links.access = {{ rate = "100 Mbit/s", delay = "10 ms", per = "user" }}
links.core = {{ rate = "10 Mbit/s", delay = "10 ms", queue = {{ kind = "red", variant = "floyd", action = "mark", weight = 0.02, min_threshold = "10 packets", max_threshold = "60 packets", limit = "120 packets" }} }}
links.last = {{ delay = "5 ms" }}
[groups.all]
users = 1
path = ["access", "before", "core", "behind", "last"]
traffic = {{ kind = "bulk", flows = 2, start = {{ uniform = ["0 s", "1 s"] }} }}
tcp = {{ ecn = "re-ecn", {tcp}conex = {{ unit = "packets", credit = "first-and-third" }} }}
{more}
"#
    )
}

/// Draft sections 6.1.1 to 6.1.7. RECN: every mark is declared, and marks turn positive and neutral packets into cancelled and negative
/// ones; a receiver of RFC 3168 has one declared for each rise of ECE; one that knows no ECN has packets that say nothing.
#[test]
fn modes_follow_from_the_handshake() {
    let of = |tcp: &str| {
        let r = run(&reecn(tcp, ""), 1);
        let at = |stage: &str, name: &str| r.number(&format!("stages.{stage}.{name}"));
        let marked = at("behind", "cancelled") + at("behind", "negative");
        let reported = at("before", "positive");
        assert_eq!(
            at("before", "negative") + at("before", "cancelled"),
            0.0,
            "nothing is marked before the queue"
        );
        assert_eq!(
            at("before", "credits") + at("before", "neutral") + reported > 100.0,
            !tcp.contains("off")
        );
        (r, marked, reported)
    };
    let (r, marked, reported) = of("");
    assert!(marked > 50.0);
    assert!((r.marks("core") - marked).abs() <= 3.0, "some are on the link");
    // What is heard of late is declared late: at most what was under way.
    let lost = r.number("groups.all.retransmits");
    assert!((reported - marked - lost).abs() <= 12.0, "{reported} {marked} {lost}");
    // SYNs, and the first and third data packet of both flows.
    assert_eq!(r.number("stages.before.credits"), 6.0);
    let balance = r.number("stages.behind.balance");
    assert!(balance.abs() <= 12.0 * 1514.0, "{balance}");
    let downstream = r.number("stages.before.downstream_congestion");
    close(downstream, r.number("stages.before.path_congestion"), 1e-12);
    assert!(r.number("stages.behind.downstream_congestion").abs() < 0.1 * downstream + 1e-3);
    let (_, marked, reported) = of(r#"peer_ecn = "classic", "#);
    assert!(reported > 3.0 && reported < 0.8 * marked, "{reported} of {marked}: less than the marks");
    let (r, _, reported) = of(r#"peer_ecn = "off", "#);
    assert_eq!((reported, r.number("stages.before.neutral")), (0.0, 0.0));
    assert_eq!(r.number("stages.before.credits"), 2.0, "the SYNs alone, which asked");
}

/// The codes from the SYN on: FNE on the SYN, the SYN-ACK and data packets 1 and 3, RECT on the others; the ACK of the handshake and pure ACKs
/// say nothing (draft sections 6.1.5 to 6.1.7).
#[test]
fn the_codes_of_a_connection_that_begins() {
    let trace = "[record]\ntrace = [\"groups.all.users[0].flows[0]\"]";
    let r = run(&reecn("", trace).replace("duration = \"40 s\"", "duration = \"2 s\""), 1);
    let of = |name: &str| r.column(&format!("trace.{name}")).1.to_vec();
    let (action, backward, payload, flags) = (of("action"), of("backward"), of("payload"), of("flags"));
    let (ecn, re) = (of("ecn"), of("re"));
    const SEND: f64 = 0.0;
    let sent: Vec<usize> = (0..action.len()).filter(|i| action[*i] == SEND).collect();
    let code = |i: usize| (ecn[i] as u8, re[i] == 1.0);
    let opening: Vec<usize> = sent.iter().copied().filter(|i| flags[*i] as u16 & 2 != 0).collect();
    assert_eq!(opening.iter().map(|i| code(*i)).collect::<Vec<_>>(), [(0, true), (0, true)]);
    // AE, CWR and ECE are 256, 128 and 64 on the wire.
    assert_eq!(opening.iter().map(|i| flags[*i] as u16 & 0x1c0).collect::<Vec<_>>(), [0x1c0, 0x080]);
    let data: Vec<(u8, bool)> =
        sent.iter().filter(|i| payload[**i] > 0.0).take(20).map(|i| code(*i)).collect();
    let (fne, rect) = ((0, true), (1, true));
    assert_eq!(data[..4], [fne, rect, fne, rect]);
    assert!(data[4..].iter().all(|code| *code == rect), "{data:?}");
    let acks = sent.iter().filter(|i| backward[**i] == 1.0 && flags[**i] as u16 & 2 == 0);
    assert!(acks.clone().count() > 5 && acks.clone().all(|i| code(*i) == (0, false)));
    // The counter is 0 as long as nothing is marked.
    assert!(acks.take(3).all(|i| flags[*i] as u16 & 0x1c0 == 0));
}

#[test]
fn one_record_on_both_paths() {
    let police =
        r#"rule = "tcp-rate", start = "1 s", factor = 0.5, rtt_from = "srtt", action = "drop-while-empty""#;
    let text = network(0.7, police, r#"rule = "paper", delay = "300 ms""#);
    assert_eq!(run(&text, 4).outcome.record_hash, run_by(&text, 4, true).outcome.record_hash);
}

/// Each mistake with its path; the ConEx rules have nothing new in their records.
#[test]
fn mistakes_are_named() {
    let said = |police: &str, audit: &str| {
        Scenario::from_toml(&network(1.0, police, audit))
            .map(|_| String::new())
            .unwrap_or_else(|e| e.to_string())
    };
    assert_eq!(
        said(r#"rule = "tcp-rate", rtt = "0 s""#, ""),
        "stages.police.rtt: must be more than 0 s, not \"0 s\""
    );
    assert_eq!(
        said(r#"rule = "tcp-rate", start = "500 s""#, ""),
        "stages.police.start: must not exceed most: 500 s is more than 400 s"
    );
    assert_eq!(
        said("", r#"rule = "strict""#),
        "stages.audit.delay: is required with rule = \"strict\": twice the longest round trip, for example \"600 ms\""
    );
    assert_eq!(
        said(r#"rate = "5 packets/s""#, ""),
        "stages.police.depth: is required: packets or bytes, for example \"12 packets\" or \"18 kB\""
    );
    let before = network(1.0, "", r#"rule = "strict", delay = "1 s""#)
        .replace(r#""core", "audit""#, r#""audit", "core""#);
    let why = Scenario::from_toml(&before).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(why.contains("whose queue marks packets: it would not see these marks"), "{why}");
    let tcp = |text: &str| {
        let text = reecn("", "").replace(r#"conex = { unit = "packets", credit = "first-and-third" }"#, text);
        Scenario::from_toml(&text).map(|_| String::new()).unwrap_or_else(|e| e.to_string())
    };
    assert!(
        tcp("").starts_with(
            "groups.all.tcp.ecn: \"re-ecn\" is for a sender that reports congestion in the codes"
        ),
        "{}",
        tcp("")
    );
    assert!(tcp(r#"conex = { encoding = "ipv6" }"#).contains("in the codes of IPv4"));
    assert!(tcp(r#"ecn_on_control = true, conex = {}"#).contains("ecn_on_control: re-ECN's SYNs carry FNE"));
    let conex = run(&network(1.0, r#"rate = "45 packets/s", depth = "45 packets""#, ""), 1);
    assert!(conex.maybe("stages.police.buckets").is_none());
}

/// A queue of RFC 3168 drops FNE, one that knows re-ECN marks it (draft-briscoe-conex-re-ecn-tcp-04 section 5.3): of senders whose packets are
/// all credit it then drops none, and what it marks is negative.
#[test]
fn a_queue_that_knows_re_ecn_marks_credit() {
    let of = |action: &str| {
        let text = r#"
duration = "20 s"
stages.credit = { kind = "rewriter", re = true }
stages.behind = { kind = "congestion-meter" }
links.core = { rate = "10 Mbit/s", delay = "10 ms", queue = { kind = "constant-probability", probability = 0.1, action = "ACTION" } }
[groups.all]
users = 1
path = ["credit", "core", "behind"]
traffic = { kind = "poisson", rate = "5 Mbit/s", packet = "1000 B" }
"#;
        let r = run(&text.replace("ACTION", action), 1);
        let behind = |name: &str| r.number(&format!("stages.behind.{name}"));
        (r.sum("links.core.drops"), r.marks("core"), behind("negative"), behind("credits"))
    };
    let (dropped, marked, negative, credits) = of("mark");
    assert!(dropped > 1_000.0 && marked == 0.0 && negative == 0.0 && credits > 9_000.0);
    let (none, all, worse, rest) = of("mark-re-ecn");
    assert_eq!((none, all), (0.0, dropped), "the same packets");
    assert!((worse - all).abs() <= 20.0 && (rest - credits).abs() <= 20.0);
}

/// The counter without end is the same as three bits as long as none of these is lost; where ACKs come one for many packets, and are lost, it
/// still says all, and three bits do not.
#[test]
fn a_counter_without_end() {
    let of = |ecn: &str, loss: &str| {
        let lossy = format!("links.last = {{ delay = \"5 ms\"{loss} }}");
        let queue = r#"queue = { kind = "constant-probability", probability = 0.2, action = "mark-re-ecn" }"#;
        let tcp =
            format!(r#"ecn = "{ecn}", congestion_control = {{ kind = "constant", window = "60 packets" }}"#);
        let text = reecn("", "").replace("ecn = \"re-ecn\"", &tcp);
        let text = text.replace("links.last = { delay = \"5 ms\" }", &lossy);
        let at = text.find("queue = {").unwrap_or(0);
        let end = at + text[at..].find('}').unwrap_or(0) + 1;
        let text = format!("{}{queue}{}", &text[..at], &text[end..]);
        let r = run(&text, 1);
        let at = |name: &str| r.number(&format!("stages.behind.{name}"));
        (at("cancelled") + at("negative"), r.number("groups.all.conex.told.mark.packets"), goodput(&r))
    };
    assert_eq!(of("re-ecn", ""), of("re-ecn-unlimited", ""));
    let trains = r#", loss = { probability = 0.4, burst = 40, direction = "reverse" }"#;
    let (marked, told, _) = of("re-ecn-unlimited", trains);
    // Two windows of 60 packets may be under way at the end, a fifth of them marked, and a train of ACKs lost.
    assert!(marked > 1_000.0 && (0.0..60.0).contains(&(marked - told)), "{marked} {told}");
    let (by_three, told_by_three, _) = of("re-ecn", trains);
    assert!((by_three - told_by_three).abs() > 100.0, "{by_three} {told_by_three}");
}

/// Four classes on one average, and by fixed probabilities: whoever's class has the larger one sends less (Zhang et al. 2011 section V.B).
#[test]
fn probabilities_by_class() {
    let of = |rate: &str, queue: &str| {
        let mut text = format!(
            "duration = \"60 s\"\nwarmup = \"10 s\"\nlinks.core = {{ rate = \"{rate}\", delay = \"20 ms\", queue = {{ {queue}, action = \"mark\" }} }}\n"
        );
        for class in ["one", "two", "three", "four"] {
            text += &format!(
                "[groups.{class}]\nusers = 5\nclass = \"{class}\"\npath = [\"core\"]\ntraffic = {{ kind = \"bulk\", start = {{ uniform = [\"0 s\", \"2 s\"] }} }}\n\
                 tcp = {{ ecn = \"classic\" }}\n"
            );
        }
        let r = run(&text, 1);
        ["one", "two", "three", "four"].map(|class| r.number(&format!("groups.{class}.throughput_bps")))
    };
    let red = of(
        "20 Mbit/s",
        r#"kind = "red", variant = "floyd", weight = 0.002, min_threshold = "31 packets", max_threshold = "94 packets", gentle = true, limit = "250 packets", class_probability = { one = 0.01, two = 0.05, three = 0.1, four = 0.2 }"#,
    );
    assert!(red.windows(2).all(|two| two[0] > 1.1 * two[1]), "{red:?}");
    let fixed = of(
        "200 Mbit/s",
        r#"kind = "constant-probability", probability = 0.01, limit = "1000 packets", class_probability = { one = 0.002, two = 0.008, three = 0.018, four = 0.032 }"#,
    );
    // TCP's rate goes with one over the root: 1, 1/2, 1/3, 1/4.
    for (n, rate) in fixed.iter().enumerate() {
        close(rate * (n as f64 + 1.0), fixed[0], 0.25);
    }
    let missing = Scenario::from_toml(
        "duration = \"1 s\"\nlinks.l = { rate = \"1 Mbit/s\", queue = { kind = \"constant-probability\", probability = 0.1, class_probability = { on = 0.1 } } }\n\
         [groups.a]\nusers = 1\nclass = \"one\"\npath = [\"l\"]\ntraffic = { kind = \"cbr\", rate = \"100 kbit/s\" }",
    );
    let why = missing.err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(
        why,
        "links.l.queue.class_probability: class \"one\" crosses this link but is missing\n\
         links.l.queue.class_probability: no packet of class \"on\" crosses this link; did you mean \"one\"?"
    );
}

/// An overloaded queue that knows drop preference (dossier c26): of three sources whose packets are positive, neutral and not ECN-capable,
/// and which together send twice what it carries, the first loses nothing, the last most.
#[test]
fn drop_preference_at_an_overloaded_queue() {
    let text = r#"
duration = "20 s"
stages.positive = { kind = "rewriter", ecn = "ect1", re = false }
stages.neutral = { kind = "rewriter", ecn = "ect1", re = true }
links.core = { rate = "10 Mbit/s", queue = { kind = "drop-preference", step = "15 packets", limit = "100 packets" } }
"#;
    let group = |name: &str, stage: &str| {
        format!(
            "[groups.{name}]\nusers = 1\npath = [{stage}\"core\"]\ntraffic = {{ kind = \"poisson\", rate = \"6.6 Mbit/s\", packet = \"1000 B\" }}\n"
        )
    };
    let text = text.to_owned()
        + &group("positive", "\"positive\", ")
        + &group("neutral", "\"neutral\", ")
        + &group("legacy", "");
    let r = run(&text, 1);
    let lost = |name: &str| r.number(&format!("groups.{name}.loss_ratio"));
    assert_eq!(lost("positive"), 0.0);
    assert!(lost("neutral") > 0.2 && lost("legacy") > 0.95, "{} {}", lost("neutral"), lost("legacy"));
}
