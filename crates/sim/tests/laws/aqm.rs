//! CoDel, PIE, FQ-CoDel and SFQ at a link: what their documents promise.

use crate::common::{Run, close, run};

/// TCP flows of three round-trip times against a link of 10 Mbit/s.
fn bulk(queue: &str, ecn: &str, flows: u32) -> String {
    format!(
        r#"
duration = "70 s"
warmup = "20 s"
links.access = {{ rate = "100 Mbit/s", delay = {{ values = ["5 ms", "15 ms", "30 ms"] }}, per = "user" }}
links.bottleneck = {{ rate = "10 Mbit/s", delay = "5 ms", queue = {queue} }}
groups.bulk = {{ users = {flows}, path = ["access", "bottleneck"], traffic = {{ kind = "bulk", start = {{ uniform = ["0 s", "5 s"] }} }}, tcp = {{ stack = "rfc", ecn = "{ecn}" }} }}
groups.voice = {{ users = 1, path = ["access", "bottleneck"], class = "voice", traffic = {{ kind = "cbr", rate = "80 kbit/s", packet = "200 B" }} }}
"#
    )
}

/// Packets that never react, 1.2 times what the link carries: drops follow RFC 8289's control law, interval / sqrt(count)
/// apart, from an interval after the wait first exceeded the target on.
#[test]
fn codel_drops_by_its_control_law() {
    let text = |duration: u32| {
        format!(
            r#"
duration = "{duration} s"
links.only = {{ rate = "10 Mbit/s", queue = {{ kind = "codel" }} }}
groups.flood = {{ users = 1, path = ["only"], traffic = {{ kind = "cbr", rate = "12 Mbit/s", packet = "1000 B" }} }}
"#
        )
    };
    // A packet of 0.8 ms each 0.667 ms: number n waits n * 0.1333 ms, 5 ms are reached by n = 38, which leaves at
    // 38 * 0.8 + 0.667 = 31 ms. From 131 ms on drops are due.
    for duration in [1u32, 2, 4] {
        let (mut due, mut drops) = (0.131, 0.0);
        while due < f64::from(duration) {
            drops += 1.0;
            due += 0.1 / f64::sqrt(drops);
        }
        let counted = run(&text(duration), 1).number("links.only.drops.codel");
        assert!((counted - drops).abs() <= 1.0, "{counted} drops in {duration} s, not {drops}");
    }
}

/// With TCP, CoDel keeps the wait short where drop-tail fills the buffer, and the link busy.
#[test]
fn codel_holds_the_queue_down() {
    let tail = run(&bulk(r#"{ limit = "200 packets" }"#, "off", 12), 1);
    let filled = tail.number("links.bottleneck.queue_delay_s_mean");
    assert!(filled > 0.1, "{filled}");
    for (ecn, counted) in [("off", "drops"), ("classic", "marks")] {
        let r = run(&bulk(r#"{ kind = "codel", limit = "200 packets" }"#, ecn, 12), 1);
        let mean = r.number("links.bottleneck.queue_delay_s_mean");
        assert!(mean > 0.002 && mean < filled / 5.0, "{ecn}: {mean} against {filled}");
        assert!(r.number("links.bottleneck.utilisation") > 0.95, "{ecn}");
        assert!(r.number(&format!("links.bottleneck.{counted}.codel")) > 100.0, "{ecn}");
        assert_eq!(r.value("links.bottleneck.drops").get("limit"), None, "{ecn}");
    }
}

/// PIE's integral leaves no error: the delay settles at the target, however many flows and however it is told.
#[test]
fn pie_settles_at_its_target() {
    for latency in ["timestamps", "link-rate", "departure-rate"] {
        for (flows, target) in [(6, 15), (18, 15), (18, 30)] {
            let queue = format!(
                r#"{{ kind = "pie", limit = "400 packets", latency = "{latency}", target = "{target} ms" }}"#
            );
            let r = run(&bulk(&queue, "off", flows), 1);
            let mean = r.number("links.bottleneck.queue_delay_s_mean");
            close(mean, f64::from(target) / 1000.0, 0.15);
            assert!(r.number("links.bottleneck.utilisation") > 0.95, "{latency}");
            assert_eq!(r.value("links.bottleneck.drops").get("limit"), None);
        }
    }
}

/// Marks while the probability is below a tenth, for those who understand them.
#[test]
fn pie_marks_instead_of_dropping() {
    let r = run(&bulk(r#"{ kind = "pie", limit = "400 packets" }"#, "classic", 12), 1);
    let (marks, drops) = (r.number("links.bottleneck.marks.pie"), r.drops("bottleneck"));
    // Dropped: voice and what is never capable, such as retransmissions; and any packet above a tenth.
    assert!(marks > 500.0 && drops < 0.2 * marks, "{marks} marks, {drops} drops");
}

/// A thin flow hardly waits beside heavy ones, and loses nothing (RFC 8290 section 1.3).
#[test]
fn flow_queues_let_thin_flows_pass() {
    for (name, queue) in [
        ("fq-codel", r#"{ kind = "fq-codel", flows = 65536 }"#),
        ("sfq", r#"{ scheduler = { kind = "sfq", divisor = 65536 } }"#),
    ] {
        let r = run(&bulk(queue, "off", 9), 1);
        assert_eq!(r.number("groups.voice.losses"), 0.0, "{name}");
        assert!(r.number("links.bottleneck.utilisation") > 0.95, "{name}");
        // It waits for the packet on the wire (at most 1.2 ms), and for one of another queue that CoDel has just emptied and
        // that is new again; where new flows are not served first, for one of each of the others.
        // The bound was 1.3 ms while a flow's own queue had to hold an MTU; by section 4.4 of RFC 8289, of all queues, the
        // mean is 1.33 ms. It is one of nine flows: beside twenty it is 2.5 ms.
        let voice = r.number("links.bottleneck.classes.voice.queue_delay_s_mean");
        let most = if name == "fq-codel" { 2.0 * 0.0012 } else { 10.0 * 0.0012 };
        assert!(voice < most, "{name}: {voice}");
        let all = r.number("links.bottleneck.queue_delay_s_mean");
        assert!(voice < all / 3.0, "{name}: {voice} against {all}");
    }
}

/// Max-min shares in bytes, whatever is sent and in packets of which size: who sends less than a share loses nothing, the
/// others get the same. What a flood sends beyond is its own loss, from the fattest queue where the buffer is full. (CoDel
/// would keep the queues of 2.25 Mbit/s near one packet, and so empty now and then; here it has nothing to do. SFQ without
/// perturbation, which gives a flow a second slot until its first is empty.)
#[test]
fn flow_queues_share_alike() {
    let text = |queue: &str| {
        format!(
            r#"
duration = "40 s"
warmup = "10 s"
links.bottleneck = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {queue} }}
groups.flood = {{ users = 1, path = ["bottleneck"], traffic = {{ kind = "cbr", rate = "30 Mbit/s", packet = "1500 B" }} }}
groups.heavy = {{ users = 3, path = ["bottleneck"], traffic = {{ kind = "poisson", rate = "2.7 Mbit/s", packet = "1000 B" }} }}
groups.thin = {{ users = 1, path = ["bottleneck"], traffic = {{ kind = "cbr", rate = "1 Mbit/s", packet = "500 B" }} }}
"#
        )
    };
    for queue in [
        r#"{ kind = "fq-codel", target = "9 s", limit = "500 packets", flows = 65536 }"#,
        r#"{ kind = "fq-codel", target = "9 s", memory_limit = "600 kB", flows = 65536 }"#,
        r#"{ limit = "127 packets", scheduler = { kind = "sfq", divisor = 65536 } }"#,
    ] {
        let r = run(&text(queue), 1);
        assert_eq!(r.number("groups.thin.losses"), 0.0, "{queue}");
        close(r.number("groups.thin.throughput_bps"), 1e6, 0.002);
        close(r.number("groups.flood.throughput_bps"), 9e6 / 4.0, 0.01);
        close(r.number("groups.heavy.throughput_bps"), 9e6 / 4.0, 0.01);
        assert!(r.number("links.bottleneck.drops.pushed_out") > 1000.0, "{queue}");
    }
}

/// With one slot or one queue, flows are not told apart: the flood takes what it sends.
#[test]
fn one_bucket_shares_nothing() {
    let text = |queue: &str| {
        format!(
            r#"
duration = "20 s"
warmup = "5 s"
links.bottleneck = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {queue} }}
groups.flood = {{ users = 1, path = ["bottleneck"], traffic = {{ kind = "poisson", rate = "30 Mbit/s" }} }}
groups.heavy = {{ users = 1, path = ["bottleneck"], traffic = {{ kind = "poisson", rate = "10 Mbit/s" }} }}
"#
        )
    };
    for queue in [
        r#"{ kind = "fq-codel", limit = "500 packets", flows = 1 }"#,
        r#"{ scheduler = { kind = "sfq", divisor = 1 } }"#,
    ] {
        let r = run(&text(queue), 1);
        close(r.number("groups.flood.throughput_bps"), 7.5e6, 0.04);
        close(r.number("groups.heavy.throughput_bps"), 2.5e6, 0.08);
    }
}

/// RFC 9332 section 2.1 and appendix C.2: scalable flows (DCTCP with ECT(1)) and Reno at one DualPI2. The marks of the L queue are k
/// times the root of the drops of the C queue, the delay of the C queue is the target, and rates are as R_C / (1.22 R_L).
#[test]
fn dualpi2_couples_its_queues() {
    for (form, of_ratio) in [("rfc9332", 0.15), ("linux", 0.3)] {
        let text = format!(
            r#"
duration = "60 s"
warmup = "20 s"
links.line = {{ rate = "100 Mbit/s", delay = "10 ms", queue = {{ kind = "dualpi2", form = "{form}" }} }}
groups.classic = {{ users = 1, class = "c", path = ["line"], traffic = {{ kind = "bulk", flows = 5, start = {{ uniform = ["0 s", "5 s"] }} }} }}
groups.scalable = {{ users = 1, class = "l", path = ["line"], traffic = {{ kind = "bulk", flows = 5, start = {{ uniform = ["0 s", "5 s"] }} }}, tcp = {{ congestion_control = "dctcp", ecn = "accurate", ect = "1" }} }}
"#
        );
        let r = run(&text, 1);
        let of = |class: &str, what: &str| r.number(&format!("links.line.classes.{class}.{what}"));
        let (c, l) = (of("c", "queue_delay_s_mean"), of("l", "queue_delay_s_mean"));
        close(c, 0.015, 0.1);
        assert!(l < 0.001, "{form}: {l}");
        let dropped = of("c", "drops.pi2") / of("c", "arrived_packets");
        let marked = of("l", "marks.coupled") / of("l", "arrived_packets");
        close(marked, 2.0 * dropped.sqrt(), 0.1);
        assert_eq!(r.drops("line"), of("c", "drops.pi2"), "{form}: the L queue drops nothing");
        let rate = |group: &str| r.number(&format!("groups.{group}.throughput_bps"));
        close(rate("scalable") / rate("classic"), (0.02 + c) / (1.22 * (0.02 + l)), of_ratio);
        assert!(r.number("links.line.utilisation") > 0.99, "{form}");
    }
}

/// Datagrams that never react, 1.5 times what the link carries: DualPI2 drops also in the L queue once k p' reaches 1, so that the
/// delay stays bounded; without `drop_overload` only the full buffer drops.
#[test]
fn dualpi2_in_overload() {
    let text = |more: &str| {
        format!(
            r#"
duration = "40 s"
warmup = "20 s"
links.line = {{ rate = "10 Mbit/s", queue = {{ kind = "dualpi2"{more} }} }}
groups.flood = {{ users = 1, path = ["line"], traffic = {{ kind = "cbr", rate = "15 Mbit/s", packet = "1000 B", ecn_capable = true }} }}
"#
        )
    };
    // ECT(0): the C queue. A third must go: p'^2 = 1/3 > p_Cmax = 1/4, where ECN does not protect any more.
    let r = run(&text(""), 1);
    close(r.number("links.line.drops.pi2"), 20.0 * 5e6 / 8e3, 0.02);
    assert_eq!(r.value("links.line.drops").get("limit"), None);
    close(r.number("links.line.queue_delay_s_mean"), 0.015, 0.1);
    // p' is at most 1/2, and a quarter is marked: the buffer of 250 ms fills.
    let r = run(&text(", drop_overload = false, coupling = 2"), 1);
    close(r.number("links.line.queue_delay_s_mean"), 0.25, 0.05);
    assert!(r.number("links.line.drops.limit") > 0.0);
}

/// Times and values of a series.
type Column = (Vec<f64>, Vec<f64>);

/// Eight flows over a queue, with series of its values: `every` packet or departure.
fn watched(queue: &str, tcp: &str, every: &str, names: &[&str]) -> (Run, Vec<Column>) {
    let of = |name: &&str| format!(r#"{{ of = "links.line.queue.{name}", every = "{every}" }}"#);
    let series: Vec<String> = names.iter().map(of).collect();
    let events = if names.is_empty() { "" } else { r#"record.events = ["drop", "mark"]"# };
    let text = format!(
        r#"
duration = "6 s"
links.line = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {{ {queue} }} }}
groups.g = {{ users = 4, path = ["line"], traffic = {{ kind = "bulk", flows = 2 }}, tcp = {{ stack = "linux", {tcp} }} }}
record.series = [{}]
{events}
"#,
        series.join(", ")
    );
    let r = run(&text, 1);
    let column = |name: &&str| r.column(&format!("links.line.queue.{name}"));
    let columns = names.iter().map(column).map(|(times, values)| (times.to_vec(), values.to_vec())).collect();
    let plain = if names.is_empty() { None } else { Some(watched(queue, tcp, every, &[]).0) };
    if let Some(plain) = plain {
        assert_eq!(plain.value("groups"), r.value("groups"), "{queue}: series change nothing");
        assert_eq!(plain.value("links"), r.value("links"), "{queue}");
    }
    (r, columns)
}

/// The recorded number decides: a packet is dropped or marked early if and only if it is below the recorded
/// probability.
#[test]
fn the_number_of_a_decision_is_recorded() {
    let red =
        r#"kind = "red", limit = "100 packets", min_threshold = "5 packets", max_threshold = "40 packets""#;
    let interval = format!(r#"{red}, spread = "floyd", draw = "interval""#);
    for (queue, probability, tcp) in [
        (
            r#"kind = "constant-probability", limit = "500 packets", probability = 0.01"#,
            "bytes",
            r#"ecn = "classic""#,
        ),
        (r#"kind = "rem", limit = "500 packets", base = 1.01"#, "probability", r#"ecn = "classic""#),
        (r#"kind = "pie", limit = "500 packets""#, "probability", ""),
        (red, "spread_probability", ""),
    ] {
        let (r, columns) = watched(queue, tcp, "packet", &["draw", probability]);
        let constant = probability == "bytes"; // it has no observable for its parameter
        let limit =
            r.value("event_reasons").as_array().expect("a list").iter().position(|name| name == "limit");
        let mut picked = Vec::new();
        for kind in ["drop", "mark"] {
            let (times, reasons) = r.column(&format!("events.{kind}.reason"));
            let early = times.iter().zip(reasons).filter(|(_, reason)| Some(**reason as usize) != limit);
            picked.extend(early.map(|(time, _)| *time));
        }
        let [(times, draws), (_, probabilities)] = &columns[..] else { panic!("two series") };
        let mut seen = 0;
        for (i, time) in times.iter().enumerate().filter(|(i, _)| !draws[*i].is_nan()) {
            assert!((0.0..1.0).contains(&draws[i]));
            // Several packets may arrive at one instant.
            if times.iter().filter(|other| *other == time).count() == 1 {
                let below = draws[i] <= if constant { 0.01 } else { probabilities[i] };
                assert_eq!(picked.contains(time), below, "{queue} at {time}");
                seen += usize::from(below);
            }
        }
        assert!(seen > 10, "{queue}: {seen}");
    }
    // One number for each interval between drops: the product reaches it.
    let (r, columns) = watched(&interval, "", "packet", &["draw", "probability", "count"]);
    let dropped = r.column("events.drop.reason").0;
    let [(times, draws), (_, probabilities), (_, counts)] = &columns[..] else { panic!("three series") };
    let mut seen = 0;
    for i in (1..times.len()).filter(|i| probabilities[*i] > 0.0 && probabilities[*i] < 1.0) {
        if dropped.contains(&times[i]) && counts[i] == 0.0 && times[i] > times[i - 1] {
            assert!((counts[i - 1] + 1.0) * probabilities[i] >= draws[i], "at {}", times[i]);
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

/// CoDel's values at each drop and mark of a leaving packet follow RFC 8289's control law.
#[test]
fn codel_notes_its_values_at_departure() {
    for (tcp, kind) in [("", "drop"), (r#"ecn = "classic""#, "mark")] {
        let queue = r#"kind = "codel", limit = "1000 packets""#;
        let (r, columns) = watched(queue, tcp, "departure", &["sojourn", "count", "drop_next", "dropping"]);
        let (times, sojourns) = &columns[0];
        let (counts, nexts) = (&columns[1].1, &columns[2].1);
        let events = r.column(&format!("events.{kind}.reason")).0;
        assert!(times.len() > 20, "{kind}: {}", times.len());
        assert_eq!(times[..], *events, "{kind}");
        assert!(sojourns.iter().all(|sojourn| *sojourn >= 0.005) && columns[3].1.iter().all(|on| *on == 1.0));
        for i in 1..times.len() {
            // RFC 8289 section 5.5: the next drop of a drop state is due interval / sqrt(count) later.
            if counts[i] == counts[i - 1] + 1.0 && counts[i] > 2.0 && times[i] < nexts[i - 1] + 0.02 {
                assert!(times[i] >= nexts[i - 1], "{kind} {i}");
            }
            if kind == "mark" && counts[i] == counts[i - 1] + 1.0 && times[i] - times[i - 1] < 0.09 {
                close(nexts[i] - nexts[i - 1], 0.1 / counts[i].sqrt(), 1e-6);
            }
        }
    }
}

/// DualPI2 notes the probability and the number behind each signal at departure.
#[test]
fn dualpi2_notes_its_values_at_departure() {
    for tcp in ["", r#"ecn = "classic""#, r#"congestion_control = "prague", ecn = "accurate""#] {
        let names = ["draw", "base_probability", "coupled_probability", "native_probability", "sojourn"];
        let queue = r#"kind = "dualpi2", limit = "1000 packets", form = "linux""#;
        let (r, columns) = watched(queue, tcp, "departure", &names);
        let of = |name: &str| &columns[names.iter().position(|other| *other == name).expect("known")].1;
        // At one instant packets are dropped before the one that leaves.
        let mut events: Vec<(f64, f64)> = Vec::new();
        for kind in ["drop", "mark"] {
            let (times, reasons) = r.column(&format!("events.{kind}.reason"));
            events.extend(times.iter().copied().zip(reasons.iter().copied()));
        }
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(events.len() > 20, "{tcp}");
        assert!(columns[0].0.iter().eq(events.iter().map(|(time, _)| time)), "{tcp}");
        let mut seen = 0;
        for (i, (_, reason)) in events.iter().enumerate() {
            let name =
                r.value(&format!("event_reasons.{}", *reason as usize)).as_str().expect("a name").to_owned();
            match name.as_str() {
                "pi2" | "overload" => assert!(of("draw")[i] < of("base_probability")[i], "{tcp} {i}"),
                "coupled" => assert!(of("draw")[i] < of("coupled_probability")[i], "{tcp} {i}"),
                "native" => assert!(of("native_probability")[i] > 0.0 && of("sojourn")[i] > 0.0, "{tcp} {i}"),
                other => panic!("{other}"),
            }
            seen += usize::from(name != "native");
        }
        assert!(seen > 10, "{tcp}: {seen}");
    }
}

/// Times of drops and marks whose reason is one of `wanted`, and the reasons.
fn signals(r: &Run, wanted: &[&str]) -> Vec<(f64, String)> {
    let mut found = Vec::new();
    for kind in ["drop", "mark"] {
        let (times, reasons) = r.column(&format!("events.{kind}.reason"));
        let named =
            |number: f64| r.value(&format!("event_reasons.{}", number as usize)).as_str().map(String::from);
        found.extend(times.iter().zip(reasons).filter_map(|(time, reason)| Some((*time, named(*reason)?))));
    }
    found.retain(|(_, reason)| wanted.contains(&reason.as_str()));
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// FQ-CoDel and COBALT note the values of the CoDel that signals, and the number behind a drop of BLUE.
#[test]
fn flow_queues_note_their_values_at_departure() {
    for (kind, limit) in [("fq-codel", 1000), ("cobalt", 60)] {
        for tcp in ["", r#"ecn = "classic""#] {
            let queue = format!(r#"kind = "{kind}", limit = "{limit} packets""#);
            let cobalt = kind == "cobalt";
            let names: &[&str] = match cobalt {
                true => &["sojourn", "count", "probability", "draw"],
                false => &["sojourn", "count", "dropping", "drop_next"],
            };
            let (r, columns) = watched(&queue, tcp, "departure", names);
            let events = signals(&r, &["codel", "blue"]);
            assert!(events.len() > 20, "{kind} {tcp}: {}", events.len());
            assert!(columns[0].0.iter().eq(events.iter().map(|(time, _)| time)), "{kind} {tcp}");
            let value = |name: &str, i: usize| columns[names.iter().position(|n| *n == name).unwrap()].1[i];
            for (i, (_, reason)) in events.iter().enumerate() {
                match reason.as_str() {
                    "codel" => {
                        assert!(value("sojourn", i) >= 0.005 && value("count", i) >= 1.0, "{kind} {i}")
                    }
                    _ => assert!(value("draw", i) < value("probability", i), "{i}"),
                }
            }
            assert_eq!(cobalt, events.iter().any(|(_, reason)| reason == "blue"), "{kind} {tcp}");
        }
    }
}

/// FQ-PIE shows the PIE of the arriving packet's queue, and the number that it compared.
#[test]
fn fq_pie_shows_the_queue_of_the_arrival() {
    let queue = r#"kind = "fq-pie", limit = "500 packets""#;
    let (r, columns) = watched(queue, "", "packet", &["draw", "flow_probability", "flow_packets"]);
    let events = signals(&r, &["pie"]);
    let [(times, draws), (_, probabilities), (_, packets)] = &columns[..] else { panic!("three series") };
    let mut seen = 0;
    for (time, _) in &events {
        let at: Vec<usize> =
            (0..times.len()).filter(|i| times[*i] == *time && draws[*i] < probabilities[*i]).collect();
        assert!(!at.is_empty() && at.iter().all(|i| packets[*i] >= 1.0), "at {time}");
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

/// Each random loss has the number that decided it. In bursts it entered the lossy state or kept it.
#[test]
fn the_number_of_a_random_loss_is_recorded() {
    let text = |loss: &str, queue: &str, series: &str| {
        format!(
            r#"
duration = "6 s"
links.line = {{ rate = "10 Mbit/s", delay = "20 ms", loss = {{ {loss}, direction = "both" }}, queue = {{ {queue} }}, reverse = {{ rate = "1 Mbit/s" }} }}
groups.g = {{ users = 4, path = ["line"], traffic = {{ kind = "bulk", flows = 2 }} }}
{series}
"#
        )
    };
    for queue in [r#"limit = "50 packets""#, r#"kind = "fq-codel""#] {
        for (loss, burst) in [("probability = 0.02", 1.0), ("probability = 0.02, burst = 4", 4.0)] {
            let of = |path: &str| format!(r#"{{ of = "links.line.{path}", every = "departure" }}"#);
            let stays = if burst > 1.0 { vec![of("loss.stays")] } else { Vec::new() };
            let names = [
                "loss.draw",
                "loss.probability",
                "loss.flow",
                "reverse.loss.draw",
                "reverse.loss.probability",
            ];
            let series: Vec<String> = names.iter().map(|name| of(name)).chain(stays).collect();
            let asked = format!("record.series = [{}]", series.join(", "));
            let r = run(&text(loss, queue, &asked), 1);
            let plain = run(&text(loss, queue, ""), 1);
            assert_eq!(plain.value("links"), r.value("links"), "series change nothing");
            let (draws, flows) = (r.column("links.line.loss.draw").1, r.column("links.line.loss.flow").1);
            assert_eq!(draws.len(), flows.len());
            assert!((0..8).all(|flow| flows.contains(&f64::from(flow))), "{loss}: eight flows lose packets");
            for way in ["", "reverse."] {
                let column = |name: &str| r.column(&format!("links.line.{way}loss.{name}"));
                let ((times, draws), (_, probabilities)) = (column("draw"), column("probability"));
                let lost = r.number(&format!("links.line.{way}drops.loss"));
                // The last ones may still be on the line at the end.
                let late = times.len() as f64 - lost;
                assert!((0.0..12.0).contains(&late) && lost > 10.0, "{way}{loss}: {lost}, {late}");
                assert!(draws.iter().zip(probabilities).all(|(draw, p)| draw < p), "{way}{loss}");
                let among = |p: &f64| [0.02, 0.02 / (burst * 0.98), 1.0 - 1.0 / burst].contains(p);
                assert!(probabilities.iter().all(among), "{way}{loss}");
            }
            if burst > 1.0 {
                let stays = r.column("links.line.loss.stays").1;
                let probabilities = r.column("links.line.loss.probability").1;
                for (stays, p) in stays.iter().zip(probabilities) {
                    assert_eq!(*stays == 1.0, *p == 0.75, "{queue}");
                }
            }
        }
    }
}

/// Series of the reverse direction are of its queue, and change nothing.
#[test]
fn the_reverse_direction_has_series() {
    let text = |series: &str| {
        format!(
            r#"
duration = "6 s"
links.line = {{ rate = "10 Mbit/s", delay = "20 ms", queue = {{ limit = "60 packets" }}, reverse = {{ rate = "100 kbit/s", queue = {{ kind = "codel", limit = "30 packets" }} }} }}
groups.g = {{ users = 2, path = ["line"], traffic = {{ kind = "bulk", flows = 2 }} }}
{series}
"#
        )
    };
    let of = |path: &str, every: &str| format!(r#"{{ of = "links.line.{path}", every = "{every}" }}"#);
    let asked = [
        of("reverse.queue.packets", "packet"),
        of("reverse.queue.count", "departure"),
        of("queue.packets", "packet"),
    ];
    let r = run(&text(&format!("record.series = [{}]", asked.join(", "))), 1);
    assert_eq!(run(&text(""), 1).value("links"), r.value("links"));
    let longest = |path: &str| r.column(&format!("links.line.{path}")).1.iter().copied().fold(0.0, f64::max);
    assert_eq!((longest("reverse.queue.packets"), longest("queue.packets")), (30.0, 60.0));
    let dropped = r.column("links.line.reverse.queue.count").0.len() as f64;
    assert_eq!(dropped, r.number("links.line.reverse.drops.codel"));
    assert!(dropped > 10.0);
    let timed = run(&text(&format!("record.series = [{}]", of("reverse.queue.packets", "5 ms"))), 1);
    assert!(timed.column("links.line.reverse.queue.packets").1.contains(&30.0));
}

#[test]
fn values_at_departure_are_of_queues_that_decide_there() {
    let text = |kind: &str| {
        format!(
            r#"
duration = "6 s"
links.line = {{ rate = "10 Mbit/s", queue = {{ {kind} }} }}
groups.g = {{ users = 1, path = ["line"], traffic = {{ kind = "bulk" }} }}
record.series = [{{ of = "links.line.queue.packets", every = "departure" }}]
"#
        )
    };
    for kind in [r#"limit = "10 packets""#, r#"kind = "codel""#] {
        let said = evenflow_scenario::Scenario::from_toml(&text(kind)).expect_err("none").to_string();
        assert_eq!(
            said,
            "record.series[0].every: \"departure\" is for random losses, and for queues that drop or mark leaving packets: codel, fq, fq-codel, cobalt and dualpi2"
        );
    }
}
