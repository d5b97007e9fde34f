//! Topologies, copies, weights, and who gets what.

use crate::common::{close, run};

/// Two bottlenecks in a row: each user gets what the tighter one leaves.
#[test]
fn two_bottlenecks_share_as_they_must() {
    // Long crosses both; short only the second. Per-user DRR gives max-min shares: at the first link long has 2 Mbit/s
    // alone, at the second short takes the other 8.
    let text = r#"
duration = "60 s"
warmup = "20 s"
links.first = { rate = "2 Mbit/s", delay = "3 ms", queue = { limit = "30 packets" } }
links.second = { rate = "10 Mbit/s", delay = "3 ms", queue = { limit = "60 packets", scheduler = { kind = "drr", per = "user" } } }
groups.long = { users = 1, path = ["first", "second"], traffic = { kind = "bulk", flows = 2 }, tcp = { stack = "ns3.26" } }
groups.short = { users = 1, path = ["second"], traffic = { kind = "bulk", flows = 4 }, tcp = { stack = "ns3.26" } }
"#;
    let r = run(text, 1);
    close(r.number("groups.long.throughput_bps"), 2e6, 0.03);
    close(r.number("groups.short.throughput_bps"), 8e6, 0.03);
    assert!(r.number("links.first.utilisation") > 0.97);
    assert!(r.number("links.second.utilisation") > 0.97);
}

/// Copies per user, flow, group and number of users: each copy is a link of its own.
#[test]
fn every_copy_is_a_link_of_its_own() {
    // 6 users with 2 flows each, all copies at 1 Mbit/s, overloaded.
    for (per, copies) in [("user", 6.0), ("flow", 12.0), ("group", 1.0), ("4 users", 2.0), ("5 users", 2.0)] {
        let text = format!(
            r#"
duration = "20 s"
warmup = "5 s"
links.only = {{ rate = "1 Mbit/s", delay = "5 ms", per = "{per}", queue = {{ limit = "20 packets" }} }}
groups.all = {{ users = 6, path = ["only"], traffic = [{{ kind = "cbr", rate = "1.3 Mbit/s" }}, {{ kind = "cbr", rate = "1.7 Mbit/s" }}] }}
"#
        );
        let r = run(&text, 1);
        assert_eq!(r.number("links.only.copies"), copies, "{per}");
        close(r.number("links.only.utilisation"), 1.0, 1e-3);
        close(r.number("groups.all.throughput_bps"), copies * 1e6 / 6.0, 1e-3);
        let users = r.value("groups.all.users_throughput_bps").as_array().expect("a list");
        let of = |user: usize| users[user].as_f64().expect("a rate");
        match per {
            "user" => (0..6).for_each(|u| close(of(u), 1e6, 1e-3)),
            "flow" => (0..6).for_each(|u| close(of(u), 2e6, 1e-3)),
            // Users 0 to 3 share one, 4 and 5 the other.
            "4 users" => close(of(4) + of(5), 1e6, 1e-3),
            "5 users" => close(of(5), 1e6, 1e-3),
            _ => {}
        }
    }
}

/// Dealt values go to the copies of each group in turn.
#[test]
fn values_are_dealt_to_each_group_in_turn() {
    let text = r#"
duration = "10 s"
warmup = "2 s"
links.only = { rate = { values = ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"] }, per = "user", queue = { limit = "10 packets" } }
groups.five = { users = 5, path = ["only"], traffic = { kind = "cbr", rate = "5 Mbit/s" } }
groups.two = { users = 2, path = ["only"], traffic = { kind = "cbr", rate = "5 Mbit/s" } }
"#;
    let r = run(text, 1);
    for (group, rates) in [("five", &[1.0, 2.0, 4.0, 1.0, 2.0][..]), ("two", &[1.0, 2.0][..])] {
        for (user, rate) in rates.iter().enumerate() {
            let path = format!("groups.{group}.users_throughput_bps.{user}");
            close(r.number(&path), rate * 1e6, 3e-3);
        }
    }
}

/// Uniform delays: each copy has its own, within bounds, the same under any load and for both directions.
#[test]
fn uniform_delays_are_drawn_per_copy() {
    // A window of 10 segments over a round trip of 2 D plus little: the rate tells the delay.
    let text = r#"
duration = "40 s"
warmup = "10 s"
links.far = { delay = { uniform = ["20 ms", "80 ms"] }, per = "user" }
[groups.all]
users = 30
path = ["far"]
traffic = { kind = "bulk" }
tcp = { stack = "ns3.26", max_window = "14972 B", ack_every = 1 }
"#;
    let r = run(text, 1);
    let rates = r.value("groups.all.users_goodput_bps").as_array().expect("a list");
    let delays: Vec<f64> = rates.iter().map(|x| 14_460.0 * 8.0 / x.as_f64().expect("a rate") / 2.0).collect();
    let mean = delays.iter().sum::<f64>() / 30.0;
    assert!(delays.iter().all(|d| (0.0185..0.0815).contains(d)), "{delays:?}");
    // Standard error of the mean: 60 ms / sqrt(12 * 30) = 3.2 ms.
    assert!((mean - 0.05).abs() < 0.0127, "{mean}");
    assert!(delays.iter().any(|d| *d < 0.035) && delays.iter().any(|d| *d > 0.065));
}

/// A weight is a share, in each scheme that knows it: DRR's quantum, CSFQ's label, the activity's reference rate. The last
/// is shown with TCP, which seeks its share; two floods fill an activity queue beyond q_min with whatever comes.
#[test]
fn weights_scale_shares() {
    let shares = |stage: &str, queue: &str, traffic: &str, weight: f64| {
        let text = format!(
            r#"
duration = "120 s"
warmup = "30 s"
stages.label = {{ kind = "{stage}", per = "user" }}
links.only = {{ rate = "10 Mbit/s", delay = "5 ms", queue = {queue} }}
groups.favoured = {{ users = 1, weight = {weight:?}, path = ["label", "only"], traffic = {traffic} }}
groups.usual = {{ users = 1, path = ["label", "only"], traffic = {traffic} }}
"#
        );
        let text = if traffic.contains("bulk") {
            text.replace("users = 1,", "users = 1, tcp = { stack = \"ns3.26\" }, ")
        } else {
            text
        };
        let r = run(&text, 1);
        let ratio = r.number("groups.favoured.throughput_bps") / r.number("groups.usual.throughput_bps");
        (ratio, r.number("links.only.utilisation"))
    };
    let drr = r#"{ limit = "60 packets", scheduler = { kind = "drr", per = "user" } }"#;
    let abc = r#"{ kind = "activity-aqm", limit = "24 packets" }"#;
    let csfq = r#"{ kind = "csfq", limit = "24 packets" }"#;
    let flood = r#"{ kind = "poisson", rate = "12 Mbit/s" }"#;
    let bulk = r#"{ kind = "bulk", flows = 3, start = { uniform = ["0 s", "2 s"] } }"#;
    let schemes = [
        ("rate-meter", drr, flood, 0.02),
        ("csfq-edge", csfq, flood, 0.25),
        ("activity-meter", abc, bulk, 0.1),
    ];
    for (stage, queue, traffic, within) in schemes {
        for weight in [1.0, 3.0] {
            let (ratio, utilisation) = shares(stage, queue, traffic, weight);
            close(ratio, weight, within);
            assert!(utilisation > 0.97, "{stage}: {utilisation}");
        }
    }
}

/// The scale of all reference rates is invisible (Menth and Zeitler 2018, equations 11 to 13).
#[test]
fn a_common_scale_of_reference_rates_is_invisible() {
    let throughputs = |rate: &str| {
        let text = format!(
            r#"
duration = "30 s"
warmup = "10 s"
stages.meter = {{ kind = "activity-meter", per = "user", reference_rate = "{rate}" }}
links.only = {{ rate = "10 Mbit/s", delay = "5 ms", queue = {{ kind = "activity-aqm", limit = "24 packets" }} }}
groups.heavy = {{ users = 1, path = ["meter", "only"], traffic = {{ kind = "bulk", flows = 6, start = {{ uniform = ["0 s", "5 s"] }} }}, tcp = {{ stack = "ns3.26" }} }}
groups.light = {{ users = 2, path = ["meter", "only"], traffic = {{ kind = "bulk", start = {{ uniform = ["0 s", "5 s"] }} }}, tcp = {{ stack = "ns3.26" }} }}
"#
        );
        let r = run(&text, 1);
        (r.value("groups").clone(), r.value("links").clone())
    };
    let usual = throughputs("10 kbit/s");
    for rate in ["40960 bit/s", "20 kbit/s", "2.5 kbit/s", "10240 kbit/s"] {
        assert_eq!(usual, throughputs(rate), "{rate}");
    }
}

/// A flood of 12.5 Mbit/s against one TCP: behind drop-tail it starves, behind DRR with push-out it has its half.
#[test]
fn drr_with_push_out_protects_a_light_user_from_a_flood() {
    let throughput = |scheduler: &str| {
        let text = format!(
            r#"
duration = "60 s"
warmup = "20 s"
links.access = {{ rate = "100 Mbit/s", delay = "0.1 ms", per = "user" }}
links.bottleneck = {{ rate = "10 Mbit/s", delay = "5 ms", queue = {{ limit = "24 packets"{scheduler} }} }}
groups.flood = {{ users = 1, path = ["access", "bottleneck"], traffic = {{ kind = "poisson", rate = "12.5 Mbit/s" }} }}
groups.light = {{ users = 1, path = ["access", "bottleneck"], traffic = {{ kind = "bulk" }}, tcp = {{ stack = "ns3.26" }} }}
"#
        );
        let r = run(&text, 1);
        (r.number("groups.light.throughput_bps"), r.drops("bottleneck"), r.number("groups.light.losses"))
    };
    let (starved, ..) = throughput("");
    assert!(starved < 0.5e6, "{starved}");
    let (protected, drops, own) =
        throughput(r#", scheduler = { kind = "drr", per = "user", overflow = "longest" }"#);
    close(protected, 5e6, 0.05);
    assert!(own < 0.02 * drops, "{own} of {drops}");
    let (arriving, ..) = throughput(r#", scheduler = { kind = "drr", per = "user", overflow = "arriving" }"#);
    assert!(arriving < 0.6 * protected, "fair service alone does not save it: {arriving}");
}

/// EF before BE under strict priority, and MEDF's promise that BE waits at most an offset longer.
#[test]
fn priority_is_what_its_scheduler_says() {
    let delays = |scheduler: &str| {
        let text = format!(
            r#"
duration = "60 s"
warmup = "10 s"
links.only = {{ rate = "10 Mbit/s", queue = {{ limit = "400 packets", scheduler = {scheduler} }} }}
groups.urgent = {{ users = 1, class = "ef", path = ["only"], traffic = {{ kind = "poisson", rate = "5 Mbit/s" }} }}
groups.usual = {{ users = 1, class = "be", path = ["only"], traffic = {{ kind = "poisson", rate = "4 Mbit/s" }} }}
"#
        );
        let r = run(&text, 1);
        ["ef", "be"].map(|class| r.number(&format!("links.only.classes.{class}.queue_delay_s_mean")))
    };
    // Non-preemptive M/D/1 with priorities (Cobham): W0 = rho s / 2; EF: W0 / (1 - 0.5); BE: that / (1 - 0.9).
    let residual = 0.9 * 1.2e-3 / 2.0;
    let [ef, be] = delays(r#"{ kind = "strict", order = ["ef", "be"] }"#);
    close(ef, residual / 0.5, 0.03);
    close(be, residual / 0.5 / 0.1, 0.15);
    // Conservation: the mean over both classes is FIFO's, whatever the order (Kleinrock).
    let [fifo_ef, fifo_be] = delays(r#"{ kind = "fifo" }"#);
    let mean = |ef: f64, be: f64| (5.0 * ef + 4.0 * be) / 9.0;
    close(mean(ef, be), mean(fifo_ef, fifo_be), 0.01);
    let [medf_ef, medf_be] = delays(r#"{ kind = "medf", offsets = { ef = "0 ms", be = "3 ms" } }"#);
    close(mean(medf_ef, medf_be), mean(fifo_ef, fifo_be), 0.01);
    assert!(ef < medf_ef && medf_ef < fifo_ef && fifo_be < medf_be && medf_be < be);
    assert!(medf_be - medf_ef < 3e-3 + 1e-4, "{medf_be} {medf_ef}");
}
