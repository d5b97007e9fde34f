//! Shapers and jitter at a link: rates, shares, delays, order; and that both paths compute the same physics.

use crate::common::{Run, close, run, run_by};

/// Datagrams of 1000 bytes into a queue.
fn flood(queue: &str, groups: &str) -> String {
    format!(
        r#"
duration = "12 s"
warmup = "2 s"
links.only = {{ rate = "100 Mbit/s", delay = "1 ms", queue = {queue} }}
{groups}
"#
    )
}

fn cbr(name: &str, class: &str, rate: &str) -> String {
    format!(
        r#"groups.{name} = {{ users = 1, class = "{class}", path = ["only"], traffic = {{ kind = "cbr", rate = "{rate}", packet = "1000 B" }} }}
"#
    )
}

fn mbit(run: &Run, group: &str) -> f64 {
    run.number(&format!("groups.{group}.throughput_bps")) / 1e6
}

#[test]
fn a_token_bucket_filter_is_a_link_of_its_rate() {
    // 3 Mbit/s from 8; the bucket was full at the start only. The queue holds 20 ms and the burst: 7500 + 3000 bytes.
    let queue = r#"{ scheduler = { kind = "tbf", rate = "3 Mbit/s", burst = "3000 B", latency = "20 ms" } }"#;
    let r = run(&flood(queue, &cbr("a", "be", "8 Mbit/s")), 1);
    close(mbit(&r, "a"), 3.0, 0.001);
    // Ten packets fit; with ten waiting, the one that comes waits for ten to go before it leaves.
    let longest = r.number("links.only.queue_delay_s_max");
    assert!((0.0240..=0.0281).contains(&longest), "{longest}");
    close(r.number("links.only.utilisation"), 0.03, 0.001);
    close(r.number("links.only.drops.limit"), (8.0 - 3.0) * 1e6 / 8000.0 * 10.0, 0.002);
}

#[test]
fn a_peak_rate_spaces_what_the_bucket_lets_pass() {
    // Bursts of ten packets each half second: 10 kB of tokens let them pass, a peak rate of 8 Mbit/s puts 1 ms between them.
    let text = |peak: &str| {
        format!(
            r#"
duration = "10 s"
links.feed = {{ rate = "80 Mbit/s" }}
links.only = {{ rate = "80 Mbit/s", queue = {{ scheduler = {{ kind = "tbf", rate = "1 Mbit/s", burst = "10 kB"{peak} }} }} }}
groups.a = {{ users = 10, path = ["feed", "only"], traffic = {{ kind = "cbr", rate = "16 kbit/s", packet = "1000 B" }} }}
"#
        )
    };
    let (free, spaced) = (run(&text(""), 1), run(&text(r#", peak_rate = "8 Mbit/s", mtu = "1000 B""#), 1));
    assert!(free.number("links.only.queue_delay_s_max") < 1e-6);
    // They come 0.1 ms apart: number n waits n * 0.9 ms, nine of them.
    close(spaced.number("links.only.queue_delay_s_max"), 0.0081, 0.001);
    close(spaced.number("links.only.queue_delay_s_mean"), 0.00405, 0.001);
}

#[test]
fn packets_that_no_bucket_holds_are_dropped_for_that() {
    let queue = r#"{ scheduler = { kind = "tbf", rate = "3 Mbit/s", burst = "999 B" } }"#;
    let r = run(&flood(queue, &cbr("a", "be", "1 Mbit/s")), 1);
    close(r.number("links.only.drops.too_large"), 1250.0, 0.001);
    assert_eq!(r.number("groups.a.throughput_bps"), 0.0);
}

const TREE: &str = r#"{ scheduler = { kind = "htb", classes = {
    all = { rate = "8 Mbit/s" },
    a = { parent = "all", rate = "2 Mbit/s", ceil = "8 Mbit/s", quantum = "3000 B", leaf = { limit = "50 packets" } },
    b = { parent = "all", rate = "1 Mbit/s", ceil = "8 Mbit/s", quantum = "1000 B", leaf = { limit = "50 packets" } },
    c = { parent = "all", rate = "1 Mbit/s", leaf = { limit = "5 packets" } } } } }"#;

fn one_line(toml: &str) -> String {
    toml.replace('\n', " ").replace(", }", " }")
}

#[test]
fn what_a_class_leaves_goes_to_others_by_quantum() {
    let three = |a: &str, b: &str, c: &str| {
        let groups = cbr("a", "a", a) + &cbr("b", "b", b) + &cbr("c", "c", c);
        run(&flood(&one_line(TREE), &groups), 1)
    };
    // All want more: 2, 1 and 1 are their own; c may not borrow; the 4 left go three to one.
    let r = three("9 Mbit/s", "9 Mbit/s", "9 Mbit/s");
    for (group, share) in [("a", 5.0), ("b", 2.0), ("c", 1.0)] {
        close(mbit(&r, group), share, 0.005);
    }
    assert!(r.number("links.only.drops.limit") > 1000.0);
    // Nobody else: all of it. b wants less than its own, and what it leaves goes to a.
    close(mbit(&three("9 Mbit/s", "1 kbit/s", "1 kbit/s"), "a"), 8.0, 0.005);
    let r = three("9 Mbit/s", "0.5 Mbit/s", "9 Mbit/s");
    for (group, share) in [("a", 6.5), ("b", 0.5), ("c", 1.0)] {
        close(mbit(&r, group), share, 0.005);
    }
}

/// Whose tokens what was sent with, in the window and by time.
#[test]
fn classes_count_what_they_lend_and_borrow() {
    let series = r#"
record.series = [
    { of = "links.only.queue.classes.a.borrowed_packets", every = "1 s" },
    { of = "links.only.queue.classes.c.drops", every = "2 s" },
    { of = "links.only.queue.classes.all.tokens", every = "0.3 ms" },
    { of = "links.only.queue.classes.b.packets", every = "packet" },
]
"#;
    let groups = ["a", "b", "c"].map(|name| cbr(name, name, "9 Mbit/s")).concat();
    let r = run(&flood(&one_line(TREE), &(groups + series)), 1);
    // In ten seconds 1 Mbit/s are 1250 packets: 2, 1 and 1 are own; three and one are borrowed, and lent by the root.
    let of = |class: &str, what: &str| r.number(&format!("links.only.queue.classes.{class}.{what}"));
    for (class, lent, borrowed) in [("a", 2500.0, 3750.0), ("b", 1250.0, 1250.0), ("c", 1250.0, 0.0)] {
        close(of(class, "lent_packets"), lent, 0.005);
        close(of(class, "borrowed_packets"), borrowed, 0.005);
        assert_eq!(of(class, "lent_packets") + of(class, "borrowed_packets"), of(class, "sent_packets"));
        assert_eq!(1000.0 * of(class, "sent_packets"), of(class, "sent_bytes"));
    }
    let leaves = |what: &str| ["a", "b", "c"].map(|class| of(class, what)).iter().sum::<f64>();
    assert_eq!(of("all", "lent_packets"), leaves("borrowed_packets"));
    assert_eq!(of("all", "sent_packets"), leaves("sent_packets"));
    assert_eq!(of("all", "borrowed_packets"), 0.0);
    assert_eq!(leaves("drops.limit"), r.number("links.only.drops.limit"));
    // b's leaf is full, or a packet has just left it.
    assert!((49.0..=50.0).contains(&of("b", "packets")));
    let (times, borrowed) = r.column("links.only.queue.classes.a.borrowed_packets");
    assert_eq!((times.len(), times[11]), (12, 12.0));
    assert_eq!(borrowed[2..].iter().sum::<f64>(), of("a", "borrowed_packets"));
    let (_, drops) = r.column("links.only.queue.classes.c.drops");
    assert_eq!(drops[1..].iter().sum::<f64>(), of("c", "drops.limit"));
    // Never more than the brim. It lends down to a packet below nothing, and pays for what leaves send with their own: no more
    // than comes in meanwhile, and for each of three a bucket of 1600 and a packet.
    let (_, tokens) = r.column("links.only.queue.classes.all.tokens");
    assert!(tokens.iter().all(|t| (-8800.0..1600.01).contains(t)));
    assert!(tokens.iter().any(|t| *t < 0.0));
    let (_, waiting) = r.column("links.only.queue.classes.b.packets");
    assert_eq!(waiting.iter().copied().fold(0.0, f64::max), 50.0);
}

#[test]
fn in_ticks_a_class_gets_what_the_table_gives() {
    // 1000 bytes are 125 cells; at 1.3 Mbit/s 6153.8 us, in whole ones 6153, and 96140 ticks = 6152.96 us.
    let queue = r#"{ scheduler = { kind = "htb", arithmetic = "ticks", classes = { be = { rate = "1.3 Mbit/s", leaf = { limit = "9 packets" } } } } }"#;
    let r = run(&flood(queue, &cbr("a", "be", "2 Mbit/s")), 1);
    close(mbit(&r, "a"), 8000.0 / 6152.96, 0.0006); // a packet more or less in ten seconds
}

#[test]
fn users_have_classes_by_weight() {
    let queue = r#"{ scheduler = { kind = "htb", per = "user", classes = { all = { rate = "9 Mbit/s" } }, each = { parent = "all", rate = "1 Mbit/s", ceil = "9 Mbit/s", leaf = { limit = "20 packets" } } } }"#;
    let groups = r#"
record.series = [{ of = "links.only.queue.leaves[*].sent_packets", every = "2 s" }]
groups.heavy = { users = 1, weight = 3, path = ["only"], traffic = { kind = "cbr", rate = "20 Mbit/s", packet = "1000 B" } }
groups.light = { users = 2, path = ["only"], traffic = [{ kind = "cbr", rate = "20 Mbit/s", packet = "1000 B" }, { kind = "cbr", rate = "5 Mbit/s", packet = "1000 B" }] }
"#;
    let r = run(&flood(queue, groups), 1);
    // Rates of 3, 1 and 1, and the 4 left in the same ratio, as quanta follow rates.
    close(mbit(&r, "heavy"), 5.4, 0.01);
    close(mbit(&r, "light"), 1.8, 0.01);
    // The leaves in lists: the heavy one's first.
    for (n, [sent, lent]) in [[6750.0, 3750.0], [2250.0, 1250.0], [2250.0, 1250.0]].into_iter().enumerate() {
        close(r.number(&format!("links.only.queue.leaves.sent_packets.{n}")), sent, 0.01);
        close(r.number(&format!("links.only.queue.leaves.lent_packets.{n}")), lent, 0.01);
    }
    let lists = |of: &str| -> f64 {
        let list = r.value(&format!("links.only.queue.leaves.{of}")).as_array().expect("a list");
        list.iter().filter_map(serde_json::Value::as_f64).sum()
    };
    for n in 0..3 {
        let (_, sent) = r.column(&format!("links.only.queue.leaves[{n}].sent_packets"));
        let whole: f64 = sent[1..].iter().sum();
        assert_eq!(whole, r.number(&format!("links.only.queue.leaves.sent_packets.{n}")));
    }
    assert_eq!(lists("borrowed_bytes"), r.number("links.only.queue.classes.all.lent_bytes"));
    assert_eq!(lists("drops.limit"), r.number("links.only.drops.limit"));
}

/// An overhead is paid for and not carried: of 8 Mbit/s, 1000 bytes of 1038 are packets; and 100 of the 576 that count.
#[test]
fn frames_cost_what_the_wire_needs() {
    let queue = |size: &str| {
        format!(
            r#"{{ scheduler = {{ kind = "htb", classes = {{ be = {{ rate = "8 Mbit/s", overhead = "38 B", mpu = "{size}", leaf = {{ limit = "50 packets" }} }} }} }} }}"#
        )
    };
    let r = run(&flood(&queue("84 B"), &cbr("a", "be", "20 Mbit/s")), 1);
    close(mbit(&r, "a"), 8.0 * 1000.0 / 1038.0, 0.001);
    let small = cbr("a", "be", "4 Mbit/s").replace("1000 B", "100 B");
    close(mbit(&run(&flood(&queue("576 B"), &small), 1), "a"), 8.0 * 100.0 / 576.0, 0.001);
    close(mbit(&run(&flood(&queue("84 B"), &small), 1), "a"), 4.0, 0.001);
}

/// How many queues are busy, who meets whom, who is pushed out.
#[test]
fn schedulers_that_hash_count_who_meets() {
    let flood = |queue: &str| {
        let series = r#"
record.series = [{ of = "links.only.queue.active_queues", every = "1 s" }, { of = "links.only.queue.pushed_out", every = "1 s" }]
groups.a = { users = 10, path = ["only"], traffic = { kind = "cbr", rate = "20 Mbit/s", packet = "1000 B" } }
"#;
        run(&flood(queue, series), 1)
    };
    for (queue, slots) in [
        (r#"{ limit = "100 packets", scheduler = { kind = "sfq" } }"#, 1024),
        (r#"{ limit = "100 packets", scheduler = { kind = "sfq", divisor = 1 } }"#, 1),
        (r#"{ kind = "fq-codel", limit = "100 packets", target = "1 s", interval = "10 s" }"#, 1024),
    ] {
        let r = flood(queue);
        let of = |what: &str| r.number(&format!("links.only.queue.{what}"));
        let (_, active) = r.column("links.only.queue.active_queues");
        let (_, pushed) = r.column("links.only.queue.pushed_out");
        assert_eq!(pushed[2..].iter().sum::<f64>(), of("pushed_out"), "{queue}");
        let link = r.value("links.only.drops").get("pushed_out").map_or(0.0, |n| n.as_f64().unwrap());
        assert_eq!(of("pushed_out"), link, "{queue}");
        if slots == 1 {
            // Ten flows take turns; hardly ever do two packets of one come one after the other.
            assert_eq!((active[3], of("active_queues")), (1.0, 1.0));
            assert!(of("collisions") > 0.8 * r.number("links.only.arrived_packets"));
        } else {
            assert_eq!((active[3], of("active_queues"), of("collisions")), (10.0, 10.0, 0.0), "{queue}");
            assert!(of("pushed_out") > 1000.0, "{queue}");
        }
        if queue.contains("codel") {
            assert_eq!((of("new_queues"), of("new_flows")), (0.0, 0.0), "all are old");
        }
    }
}

#[test]
fn a_leaf_with_sfq_keeps_flows_apart() {
    let queue = r#"{ scheduler = { kind = "htb", classes = { be = { rate = "8 Mbit/s", leaf = { kind = "sfq", limit = "67 packets" } } } } }"#;
    let groups = cbr("loud", "be", "20 Mbit/s") + &cbr("soft", "be", "3 Mbit/s");
    let r = run(&flood(queue, &groups), 1);
    close(mbit(&r, "soft"), 3.0, 0.01);
    close(mbit(&r, "loud"), 5.0, 0.01);
    let fifo = run(&flood(&queue.replace("sfq", "fifo"), &groups), 1);
    assert!(mbit(&fifo, "soft") < 1.5, "{}", mbit(&fifo, "soft"));
}

/// TCP through a shaper: what the shaping rate says, in its headers' measure.
#[test]
fn tcp_fills_its_class() {
    let text = r#"
duration = "30 s"
warmup = "10 s"
links.gateway = { rate = "100 Mbit/s", delay = "50 ms", queue = { scheduler = { kind = "htb", arithmetic = "ticks", classes = { all = { rate = "8 Mbit/s" }, be = { parent = "all", rate = "4681.6 kbit/s", leaf = { kind = "sfq", limit = "67 packets" } } } } } }
groups.a = { users = 1, path = ["gateway"], traffic = { kind = "bulk" }, tcp = { stack = "linux", mss = "1448 B", header = "66 B" } }
"#;
    let r = run(text, 1);
    // A frame costs 40578 ticks of 64 ns.
    close(mbit(&r, "a"), 1514.0 * 8.0 / (40_578.0 * 0.064), 0.01);
    close(r.number("groups.a.goodput_bps") / 1e6, 4.4605, 0.01);
}

/// A shaper faster than its traffic is a FIFO.
#[test]
fn a_shaper_faster_than_its_link_is_fifo() {
    let text = |scheduler: &str| {
        format!(
            r#"
duration = "20 s"
warmup = "5 s"
links.access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
links.bottleneck = {{ rate = "3.3 Mbit/s", delay = "9 ms", queue = {{ limit = "20 packets", scheduler = {scheduler} }} }}
groups.all = {{ users = 1, path = ["access", "bottleneck"], traffic = {{ kind = "bulk", flows = 5 }}, tcp = {{ stack = "ns3.26" }}, processing = {{ uniform = ["0 s", "1 ms"] }} }}
"#
        )
    };
    let fifo = run(&text(r#"{ kind = "fifo" }"#), 1);
    assert!(fifo.drops("bottleneck") > 20.0);
    for scheduler in [
        r#"{ kind = "tbf", rate = "1 Tbit/s", burst = "100 kB" }"#,
        r#"{ kind = "htb", classes = { be = { rate = "1 Tbit/s" } } }"#,
        r#"{ kind = "htb", per = "user", classes = { all = { rate = "1 Tbit/s" } }, each = { parent = "all", rate = "1 Mbit/s", ceil = "1 Tbit/s" } }"#,
    ] {
        let other = run(&text(scheduler), 1);
        assert_eq!(fifo.value("groups"), other.value("groups"), "{scheduler}");
        let mut links = other.value("links").clone();
        if let Some(bottleneck) = links["bottleneck"].as_object_mut() {
            bottleneck.remove("queue"); // what a tree counts of its classes
        }
        assert_eq!(fifo.value("links"), &links, "{scheduler}");
    }
}

/// The same of rules in leaves: behind a shaper that never holds packets back they are what they are at the link itself, to the packet. FQ-CoDel
/// is where its queues never run empty: a tree does not ask a leaf that has nothing, a link does, and so forgets new queues sooner.
#[test]
fn a_rule_in_a_leaf_is_the_rule() {
    let text = |queue: &str| {
        let fq = queue.contains("fq-codel");
        let traffic = match fq {
            true => r#"{ kind = "cbr", rate = "1 Mbit/s", packet = "1000 B", ecn_capable = true }"#,
            false => r#"{ kind = "bulk", flows = 5 }"#,
        };
        format!(
            r#"
duration = "20 s"
warmup = "5 s"
links.bottleneck = {{ rate = "3.3 Mbit/s", delay = "9 ms", queue = {queue} }}
groups.all = {{ users = {users}, path = ["bottleneck"], traffic = {traffic}{tcp} }}
"#,
            users = if fq { 5 } else { 1 },
            tcp = if fq {
                ""
            } else {
                r#", tcp = { stack = "linux", ecn = "classic" }, processing = { uniform = ["0 s", "1 ms"] }"#
            },
        )
    };
    let htb = |leaf: &str| {
        format!(
            r#"{{ scheduler = {{ kind = "htb", classes = {{ be = {{ rate = "1 Tbit/s", leaf = {leaf} }} }} }} }}"#
        )
    };
    for (rule, reasons) in [
        (r#"{ kind = "codel", limit = "30 packets", ecn = false }"#, vec!["codel"]),
        (r#"{ kind = "codel", limit = "6 packets", interval = "500 ms" }"#, vec!["limit"]),
        (r#"{ kind = "fq-codel", limit = "100 packets", ecn = false }"#, vec!["codel"]),
        (r#"{ kind = "fq-codel", limit = "12 packets", flows = 2, quantum = "600 B" }"#, vec!["pushed_out"]),
        (r#"{ kind = "fq-codel", limit = "100 packets", ce_threshold = "3 ms" }"#, vec![]),
    ] {
        let (plain, leaf) = (run(&text(rule), 1), run(&text(&htb(rule)), 1));
        let without = |r: &Run| {
            let mut links = r.value("links").clone();
            links["bottleneck"].as_object_mut().expect("a table").remove("queue");
            links
        };
        assert_eq!(plain.value("groups"), leaf.value("groups"), "{rule}");
        assert_eq!(without(&plain), without(&leaf), "{rule}");
        for reason in &reasons {
            assert!(plain.number(&format!("links.bottleneck.drops.{reason}")) > 5.0, "{rule}");
        }
        assert!(!reasons.is_empty() || plain.marks("bottleneck") > 5.0, "{rule}");
        assert_eq!(
            leaf.value("links.bottleneck.queue.classes.be.drops"),
            leaf.value("links.bottleneck.drops")
        );
    }
}

/// Behind a shaper that holds packets back, a CoDel in each leaf keeps its queue short.
#[test]
fn each_leaf_has_its_own_codel() {
    let text = |leaf: &str| {
        format!(
            r#"
duration = "30 s"
warmup = "10 s"
links.only = {{ rate = "100 Mbit/s", delay = "20 ms", queue = {{ scheduler = {{ kind = "htb", classes = {{ all = {{ rate = "8 Mbit/s" }}, be = {{ parent = "all", rate = "3 Mbit/s", leaf = {leaf} }}, ef = {{ parent = "all", rate = "1 Mbit/s", ceil = "5 Mbit/s", leaf = {leaf} }} }} }} }} }}
groups.a = {{ users = 1, class = "be", path = ["only"], traffic = {{ kind = "bulk", flows = 4 }}, tcp = {{ stack = "linux" }} }}
groups.b = {{ users = 1, class = "ef", path = ["only"], traffic = {{ kind = "bulk", flows = 4 }}, tcp = {{ stack = "linux" }} }}
"#
        )
    };
    let wait = |r: &Run, class: &str| r.number(&format!("links.only.classes.{class}.queue_delay_s_mean"));
    let fifo = run(&text(r#"{ limit = "100 packets" }"#), 1);
    for kind in ["codel", "fq-codel"] {
        let r = run(&text(&format!(r#"{{ kind = "{kind}" }}"#)), 1);
        for (group, class, rate) in [("a", "be", 3.0), ("b", "ef", 5.0)] {
            close(mbit(&r, group), rate, 0.04);
            // A hundred packets of 1500 bytes at 3 Mbit/s are 0.4 s; one of each flow and another are 20 ms, of which 25 ms
            // at first made the bound; FQ-CoDel has 28.7.
            assert!(wait(&fifo, class) > 0.1 && wait(&r, class) < 0.04, "{kind}: {}", wait(&r, class));
            assert!(r.number(&format!("links.only.queue.classes.{class}.drops.codel")) > 20.0, "{kind}");
        }
    }
}

/// Rules see the queue of a shaper as any other, idle only when nothing waits.
#[test]
fn a_shaper_may_have_a_rule() {
    for rule in [
        r#"kind = "red", limit = "60 packets", capacity = "3 Mbit/s""#,
        r#"kind = "pie", limit = "100 packets", latency = "timestamps""#,
    ] {
        let text = format!(
            r#"
duration = "20 s"
warmup = "5 s"
links.only = {{ rate = "100 Mbit/s", delay = "9 ms", queue = {{ {rule}, scheduler = {{ kind = "tbf", rate = "3 Mbit/s", burst = "3 kB" }} }} }}
groups.all = {{ users = 5, path = ["only"], traffic = {{ kind = "bulk" }}, tcp = {{ stack = "rfc" }} }}
"#
        );
        let r = run(&text, 1);
        let all = 5.0 * mbit(&r, "all");
        assert!((2.7..3.01).contains(&all), "{rule}: {all}");
        assert_eq!(r.value("links.only.drops").get("limit"), None, "{rule}");
        assert!(r.drops("only") > 20.0, "{rule}");
    }
}

// --- jitter ---------------------------------------------------------------------------------------------------------

/// Two flows of datagrams in turns, a packet every `gap` ms, over a jittery link; when each reaches the next link.
fn arrivals(jitter: &str, delay: &str, gap: f64) -> (Vec<f64>, Vec<f64>) {
    let text = format!(
        r#"
duration = "60 s"
links.noisy = {{ delay = "{delay}", jitter = {jitter} }}
links.sink = {{ rate = "1 Gbit/s", queue = {{ limit = "1000 packets" }} }}
groups.a = {{ users = 1, path = ["noisy", "sink"], traffic = {{ kind = "cbr", rate = "{rate} bit/s", packet = "100 B" }} }}
groups.b = {{ users = 1, path = ["noisy", "sink"], traffic = {{ kind = "cbr", rate = "{rate} bit/s", packet = "100 B", start = "{gap} ms" }} }}
record.events = ["arrival"]
"#,
        rate = 800.0 / (2.0 * gap / 1e3)
    );
    let r = run(&text, 1);
    // Links are numbered by name: `sink` is the second.
    let (times, flows) = r.column("events.arrival.flow");
    let (_, links) = r.column("events.arrival.link");
    let all = times.iter().zip(flows).zip(links);
    all.filter(|(_, link)| **link == 1.0).map(|((time, flow), _)| (*time, *flow)).unzip()
}

#[test]
fn delays_have_the_moments_that_are_asked_for() {
    // 200 ms apart nothing meets, so that arrival n is packet n, sent at (n + 2) * 200 ms.
    for order in ["keep", "reorder"] {
        let (times, _) = arrivals(&format!(r#"{{ normal = "7 ms", order = "{order}" }}"#), "100 ms", 200.0);
        let delays: Vec<f64> = times.iter().enumerate().map(|(n, t)| t - (n + 2) as f64 * 0.2).collect();
        let n = delays.len() as f64;
        assert!(n > 290.0);
        let mean = delays.iter().sum::<f64>() / n;
        let sd = (delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0)).sqrt();
        // Three standard errors: 7 ms / sqrt(n), and 7 ms / sqrt(2 n).
        assert!((mean - 0.1).abs() < 3.0 * 0.007 / n.sqrt(), "{order}: {mean}");
        assert!((sd - 0.007).abs() < 3.0 * 0.007 / (2.0 * n).sqrt(), "{order}: {sd}");
        assert!(delays.iter().all(|d| (0.072..=0.128).contains(d)), "{order}: cut at four deviations");
    }
}

#[test]
fn packets_overtake_each_other_or_do_not() {
    // 1.5 ms apart with 7 ms: two neighbours swap with probability P(N(0, 9.9 ms) > 1.5 ms) = 0.44.
    let swaps = |order: &str| {
        let (_, flows) = arrivals(&format!(r#"{{ normal = "7 ms", order = "{order}" }}"#), "100 ms", 1.5);
        let twice = flows.windows(2).filter(|w| w[0] == w[1]).count();
        twice as f64 / flows.len() as f64
    };
    assert_eq!(swaps("keep"), 0.0);
    // In a random order neighbours are of one flow half the time; not all is mixed within 7 ms.
    let mixed = swaps("reorder");
    assert!((0.3..0.6).contains(&mixed), "{mixed}");
}

#[test]
fn who_waits_for_those_before_is_late_and_regular() {
    // Packet n leaves the link at the largest of its own delay and those of the packets k before it, less k gaps. With 7 ms
    // and gaps of 1.5 ms the distribution is the product of Phi((x + 1.5 k) / 7) over all k: mean 6.094 ms above that of
    // one packet, standard deviation 4.518 ms (numerically).
    let (times, _) = arrivals(r#"{ normal = "7 ms", order = "keep" }"#, "100 ms", 1.5);
    let late: Vec<f64> =
        times.iter().enumerate().skip(100).map(|(n, t)| t - (n + 2) as f64 * 0.0015 - 0.1).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    close(mean, 0.006_094, 0.03);
    let sd = (late.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / late.len() as f64).sqrt();
    close(sd, 0.004_518, 0.03);
}

#[test]
fn a_delay_is_never_negative() {
    let (times, _) = arrivals(r#"{ normal = "7 ms", order = "reorder" }"#, "0 ms", 200.0);
    let at_once = times.iter().enumerate().filter(|(n, t)| (**t - (n + 2) as f64 * 0.2).abs() < 1e-9).count();
    assert!((times.len() / 2).abs_diff(at_once) < times.len() / 8, "{at_once} of {}", times.len());
}

/// Jitter from 20 s until 40 s: before and after that each packet takes the link's delay.
#[test]
fn jitter_has_a_time() {
    for order in ["keep", "reorder"] {
        let jitter = format!(r#"{{ normal = "7 ms", order = "{order}", from = "20 s", until = "40 s" }}"#);
        let (times, _) = arrivals(&jitter, "100 ms", 200.0);
        let late =
            times.iter().enumerate().map(|(n, t)| ((n + 2) as f64 * 0.2, t - (n + 2) as f64 * 0.2 - 0.1));
        let varied: Vec<f64> = late.filter(|(_, late)| late.abs() > 1e-6).map(|(sent, _)| sent).collect();
        assert!(varied.len() > 95, "{order}: {}", varied.len());
        assert!(varied.iter().all(|sent| (19.99..40.0).contains(sent)), "{order}: {varied:?}");
    }
}

#[test]
fn both_paths_agree_on_jitter() {
    for order in ["keep", "reorder"] {
        for direction in ["forward", "reverse", "both"] {
            for extra in ["", r#", loss = { probability = 0.01, direction = "both" }"#] {
                let text = format!(
                    r#"
duration = "12 s"
warmup = "3 s"
links.access = {{ rate = "100 Mbit/s", delay = "0.1 ms", per = "user", queue = {{ limit = "50 packets" }} }}
links.bottleneck = {{ rate = "3.3 Mbit/s", delay = "20 ms", queue = {{ limit = "24 packets" }}, jitter = {{ normal = "3 ms", order = "{order}", direction = "{direction}" }}{extra} }}
links.far = {{ delay = "3 ms", per = "user", jitter = {{ normal = {{ uniform = ["0 ms", "1 ms"] }}, order = "{order}", direction = "{direction}" }} }}
groups.heavy = {{ users = 2, path = ["access", "bottleneck", "far"], traffic = {{ kind = "bulk", flows = 4 }}, tcp = {{ stack = "rfc" }} }}
groups.light = {{ users = 3, path = ["access", "bottleneck", "far"], traffic = {{ kind = "bulk" }}, tcp = {{ stack = "linux" }} }}
groups.noise = {{ users = 1, path = ["access", "bottleneck", "far"], traffic = {{ kind = "poisson", rate = "1 Mbit/s" }} }}
"#
                );
                let (lazy, events) = (run_by(&text, 4, false), run_by(&text, 4, true));
                for part in ["groups", "links"] {
                    assert_eq!(lazy.value(part), events.value(part), "{order}, {direction}{extra}: {part}");
                }
                assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash);
                assert!(lazy.drops("bottleneck") > 20.0);
            }
        }
    }
}

/// What reordering does to TCP: nothing where order is kept; where it is not, needless retransmissions, and reductions.
#[test]
fn tcp_takes_reordering_for_loss() {
    let told = |order: &str| {
        let text = format!(
            r#"
duration = "20 s"
links.wan = {{ rate = "8 Mbit/s", delay = "50 ms", jitter = {{ normal = "7 ms", order = "{order}" }} }}
groups.a = {{ users = 1, path = ["wan"], traffic = {{ kind = "bulk" }}, tcp = {{ stack = "rfc", max_window = "90 kB" }} }}
"#
        );
        let r = run(&text, 1);
        assert_eq!(r.drops("wan"), 0.0);
        (r.number("groups.a.retransmits"), mbit(&r, "a"))
    };
    let (kept, reordered) = (told("keep"), told("reorder"));
    assert_eq!(kept.0, 0.0);
    assert!(kept.1 > 6.0, "{kept:?}");
    assert!(reordered.0 > 10.0 && reordered.1 < kept.1 / 3.0, "{reordered:?}");
}

/// A rule's clock of microseconds does not hold up a link that is silent for days, and what it comes to is the same.
#[test]
fn a_silent_link_costs_no_strikes() {
    for queue in [
        r#"{ kind = "pie", period = "1 us" }"#,
        r#"{ kind = "pie", period = "1 us", latency = "departure-rate" }"#,
        r#"{ kind = "rem", period = "1 us" }"#,
        r#"{ kind = "load-based", interval = "10 us" }"#,
        r#"{ kind = "load-based", interval = "10 us", window = "sliding", count = "departures" }"#,
    ] {
        let text = format!(
            r#"
duration = "1e6 s"
links.l = {{ rate = "10 Mbit/s", delay = "5 ms", queue = {queue} }}
groups.g = {{ users = 1, path = ["l"], traffic = {{ kind = "cbr", rate = "1 bit/s" }} }}
"#
        );
        // 10^12 strikes one by one would take hours.
        let (fast, by_events) = (run_by(&text, 1, false), run_by(&text, 1, true));
        assert_eq!(
            fast.number("links.l.arrived_packets"),
            by_events.number("links.l.arrived_packets"),
            "{queue}"
        );
    }
}
