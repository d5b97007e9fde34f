//! Every congestion control in a network: alone on a link, whatever it takes to be right in the small.

use super::common::{close, run};

/// One bulk flow over 10 Mbit/s and 40 ms with a buffer of half a bandwidth-delay product, measured from 20 s to 60 s.
fn alone(tcp: &str, queue: &str) -> String {
    format!(
        r#"
duration = "60 s"
warmup = "20 s"
links.access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
links.bottleneck = {{ rate = "10 Mbit/s", delay = "19 ms", queue = {queue} }}
groups.one = {{ users = 1, path = ["access", "bottleneck"], traffic = {{ kind = "bulk" }}, tcp = {tcp} }}

[record]
series = [
    {{ of = "groups.one.users[0].flows[0].window", every = "100 ms" }},
    {{ of = "groups.one.users[0].flows[0].ssthresh", every = "100 ms" }},
]
"#
    )
}

#[test]
fn cubic_fills_a_link_in_every_form_and_on_every_stack() {
    for stack in ["rfc", "linux", "linux3.2", "ns2", "ns2-linux"] {
        for form in ["rfc", "linux", "linux-3.2"] {
            let tcp = format!(
                r#"{{ stack = "{stack}", congestion_control = {{ kind = "cubic", form = "{form}" }} }}"#
            );
            let run = run(&alone(&tcp, r#"{ limit = "20 packets" }"#), 1);
            let used = run.number("links.bottleneck.utilisation");
            assert!(used > 0.95, "{stack}, form {form}: {used}");
            assert!(run.drops("bottleneck") > 0.0, "{stack}, form {form}");
            let (_, windows) = run.column("groups.one.users[0].flows[0].window");
            let (_, thresholds) = run.column("groups.one.users[0].flows[0].ssthresh");
            assert!(windows.iter().all(|w| *w >= 1.0));
            // Nothing was lost yet when it began (ns-2's threshold is its unbounded window); then two segments at least.
            assert!(thresholds[0].is_nan() || thresholds[0] > 1e6);
            assert!(thresholds.iter().skip(300).all(|t| *t >= 2.0), "{stack}, form {form}");
        }
    }
}

/// Linux 3.2 with each of its controls: Vegas keeps two to four packets in the queue and loses none after slow start, the
/// others fill it.
#[test]
fn linux_3_2_fills_a_link_with_each_of_its_controls() {
    for control in ["newreno", "cubic", "illinois", "vegas"] {
        let tcp = format!(r#"{{ stack = "linux3.2", congestion_control = "{control}" }}"#);
        let run = run(&alone(&tcp, r#"{ limit = "20 packets" }"#), 1);
        let used = run.number("links.bottleneck.utilisation");
        assert!(used > 0.95, "{control}: {used}");
        assert_eq!(run.drops("bottleneck") > 0.0, control != "vegas", "{control}");
        let queue = run.number("links.bottleneck.queue_packets_mean");
        assert!(control != "vegas" || (1.0..=4.0).contains(&queue), "{queue}");
    }
}

/// Ben Ameur et al. (2016): 8 Mbit/s and 100 ms. Where the receive window binds at 40 segments, a window that only grows while
/// less than a third of it is free stops at 60; Vegas's own steps do not ask. Where it does not bind, the path's 66 packets
/// (100 ms at 8 Mbit/s, 1514 B) and the queue's 67 are lost from 133 on, and the window grows by a few until that is told: to 138 by
/// the paper's threshold of 69 after a halving (figure 3b).
#[test]
fn linux_3_2_stops_where_its_window_is_not_used() {
    let windows = |control: &str, max_window: u32| {
        let tcp = format!(
            r#"{{ stack = "linux3.2", congestion_control = "{control}", max_window = "{max_window} B" }}"#
        );
        let text = alone(&tcp, r#"{ limit = "67 packets" }"#)
            .replace("\"10 Mbit/s\", delay = \"19 ms\"", "\"8 Mbit/s\", delay = \"49 ms\"")
            .replace("flows[0].window\", every = \"100 ms\"", "flows[0].probed_window\", every = \"packet\"");
        let run = run(&text, 1);
        let (times, windows) = run.column("groups.one.users[0].flows[0].probed_window");
        let late = times.iter().zip(windows).filter(|(t, _)| **t > 10.0).map(|(_, w)| *w);
        (windows.iter().copied().fold(0.0, f64::max), late.fold(0.0, f64::max))
    };
    for control in ["newreno", "illinois", "cubic"] {
        assert_eq!(windows(control, 40 * 1448).0, 60.0, "{control}");
        let (_, late) = windows(control, 262_144);
        assert!((133.0..=138.0).contains(&late), "{control}: {late}");
    }
    assert!(windows("vegas", 40 * 1448).0 > 100.0);
}

/// What the kernel's probe logs: a line for each segment that the sender receives with another window than the last line's,
/// beside it a threshold of three quarters of the window at least (in whole quarters), but in recovery.
#[test]
fn the_probe_logs_changes_of_the_window() {
    let text =
        alone(r#"{ stack = "linux3.2", congestion_control = "newreno" }"#, r#"{ limit = "20 packets" }"#)
            .replace("flows[0].window\", every = \"100 ms\"", "flows[0].probed_window\", every = \"packet\"")
            .replace(
                "flows[0].ssthresh\", every = \"100 ms\"",
                "flows[0].probed_ssthresh\", every = \"packet\"",
            );
    let run = run(&text, 1);
    let (times, windows) = run.column("groups.one.users[0].flows[0].probed_window");
    let (beside, thresholds) = run.column("groups.one.users[0].flows[0].probed_ssthresh");
    assert_eq!(times, beside);
    assert_eq!(windows[..3], [10.0, 11.0, 12.0]);
    assert!(windows.windows(2).all(|pair| pair[0] != pair[1]));
    let remembered = |w: f64| (w as u64 / 2 + w as u64 / 4) as f64;
    // Nothing was lost before the window was twice the path and its buffer; in a recovery alone the threshold is lower.
    assert!(thresholds[..20].iter().all(|t| t.is_nan()));
    let rows = || windows.iter().zip(thresholds).filter(|(_, t)| t.is_finite());
    let falling = rows().filter(|(w, t)| **t < remembered(**w)).count();
    let calm = rows().filter(|(w, t)| **t == remembered(**w)).count();
    assert!(falling > 0 && calm > 0, "{falling} and {calm}");
}

/// 10 packets of 1500 B in 42.0 ms and what they wait in the queue: ten leave a window's time idle.
#[test]
fn a_constant_window_sends_a_window_a_round_trip() {
    let tcp = r#"{ stack = "ns2", congestion_control = { kind = "constant", window = "10 packets" } }"#;
    let run = run(&alone(tcp, r#"{ limit = "100 packets" }"#), 1);
    // Propagation 40 ms, data 0.12 + 1.2 ms, ACK of 40 B 0.032 + 0.0032 ms.
    let round_trip = 0.040 + 1.32e-3 + 35.2e-6;
    close(run.number("groups.one.goodput_bps"), 10.0 * 1460.0 * 8.0 / round_trip, 0.002);
}

/// Siris et al. 2002: with marks of probability p the mean window is weight / p, sent are its whole packets.
#[test]
fn willingness_to_pay_and_multcp_are_proportional_to_their_weights() {
    let tcp =
        |control: &str| format!(r#"{{ stack = "ns2", ecn = "per-packet", congestion_control = {control} }}"#);
    let window = |control: &str, weight: f64, probability: f64| {
        let queue = format!(r#"{{ kind = "constant-probability", probability = {probability} }}"#);
        let text =
            alone(&tcp(control), &queue).replace("users = 1,", &format!("users = 1, weight = {weight},"));
        // The window must fit into the link, so that nothing waits: 1 Gbit/s.
        let run = run(&text.replace("10 Mbit/s", "1 Gbit/s").replace("100 Mbit/s", "10 Gbit/s"), 3);
        let (times, windows) = run.column("groups.one.users[0].flows[0].window");
        let late: Vec<f64> = times.iter().zip(windows).filter(|(t, _)| **t > 20.0).map(|(_, w)| *w).collect();
        late.iter().sum::<f64>() / late.len() as f64
    };
    for weight in [1.0, 3.0] {
        close(window(r#"{ kind = "wtp" }"#, weight, 0.05), weight / 0.05, 0.06);
        close(window(r#"{ kind = "wtp", form = "inverse-decrease" }"#, weight, 0.05), weight / 0.05, 0.08);
        // Only unmarked ACKs add: (1 - p) weight / p.
        let unmarked = r#"{ kind = "wtp", marked_ack = "none" }"#;
        close(window(unmarked, 2.0 * weight, 0.2), 0.8 * 2.0 * weight / 0.2, 0.06);
        let multcp = r#"{ kind = "multcp", react = "every-mark" }"#;
        close(window(multcp, weight, 0.02), weight * f64::sqrt(2.0 / 0.02), 0.15);
    }
}

/// One flow of DCTCP through a marker that picks every packet with this probability and drops it where it is not ECN-capable.
fn dctcp_through_a_strict_marker(probability: f64, tcp: &str) -> crate::common::Run {
    let queue =
        format!(r#"{{ kind = "constant-probability", probability = {probability}, action = "mark" }}"#);
    run(
        &alone(
            &format!(
                r#"{{ ecn = "accurate", initial_window = "4 packets", {tcp} congestion_control = "dctcp" }}"#
            ),
            &queue,
        ),
        1,
    )
}

/// SYNs and retransmissions are ECN-capable with DCTCP, so that such a marker drops nothing, whatever it picks. Without the two
/// lines a marker that picks everything lets no connection begin.
#[test]
fn dctcp_does_not_stall_where_what_is_not_capable_is_dropped() {
    for probability in [0.05, 0.5, 1.0] {
        let run = dctcp_through_a_strict_marker(probability, "");
        assert_eq!(run.drops("bottleneck"), 0.0, "{probability}");
        assert!(run.number("groups.one.goodput_bps") > 0.4e6, "{probability}");
    }
    let off = dctcp_through_a_strict_marker(1.0, "ecn_on_control = false,");
    assert_eq!(off.number("groups.one.goodput_bps"), 0.0);
    assert!(
        run(
            &alone(
                r#"{ ecn = "accurate", congestion_control = "newreno" }"#,
                r#"{ kind = "constant-probability", probability = 1.0, action = "mark" }"#
            ),
            1
        )
        .number("groups.one.goodput_bps")
            == 0.0
    );
}

/// Every packet is marked, so alpha is 1 and every mark asks for half of the window. Two segments stay, which one ACK answers: two
/// segments per round trip of 40 ms and their transmission, 2.4 ms, not one for each delayed ACK (200 ms more).
#[test]
fn dctcp_does_not_starve_behind_delayed_acks() {
    let marked = dctcp_through_a_strict_marker(1.0, "");
    let (_, windows) = marked.column("groups.one.users[0].flows[0].window");
    assert!(windows.iter().skip(50).all(|w| *w >= 2.0), "{windows:?}");
    let expected = 2.0 * 1448.0 * 8.0 / 0.0424;
    let goodput = marked.number("groups.one.goodput_bps");
    assert!(goodput > 0.9 * expected && goodput < 2.0 * expected, "{goodput}, {expected}");
}

/// A flow's mean rate in two runs through a marker of probability `p`, in packets of 1448 B per second. Nothing waits:
/// 1 Gbit/s.
fn prague_rate(p: f64, round_trip_ms: f64) -> f64 {
    let queue = format!(r#"{{ kind = "constant-probability", probability = {p}, action = "mark" }}"#);
    let text = alone(r#"{ congestion_control = "prague" }"#, &queue)
        .replace("10 Mbit/s", "1 Gbit/s")
        .replace("100 Mbit/s", "10 Gbit/s")
        .replace("\"1 ms\"", "\"0 ms\"")
        .replace("19 ms", &format!("{} ms", round_trip_ms / 2.0));
    let rate = |seed| {
        let run = run(&text, seed);
        assert_eq!(run.drops("bottleneck"), 0.0);
        run.number("groups.one.goodput_bps") / 8.0 / 1448.0
    };
    (rate(1) + rate(2)) / 2.0
}

/// TCP Prague adds (1 - p) packets in 25 ms and takes W p / 2 at a mark. Let x = W p marks arrive in 25 ms. If each 25 ms
/// with a mark has a reduction, x (1 - exp(-x)) = 2 (1 - p). If a reduction waits 25 ms and then for a mark, it is less
/// frequent: x x / (1 + x) = 2 (1 - p). The rate lies between these, whatever the round trip below 25 ms.
#[test]
fn prague_has_the_rate_of_a_round_trip_of_25_ms_where_its_own_is_shorter() {
    for p in [0.02, 0.08] {
        let (mut least, mut most) = (2.0, 2.0);
        for _ in 0..50 {
            least = 2.0 * (1.0 - p) / (1.0 - libm::exp(-least));
            most = 2.0 * (1.0 - p) * (1.0 + most) / most;
        }
        let range = 0.9 * least / p / 0.025..1.1 * most / p / 0.025;
        for round_trip_ms in [5.0, 10.0, 25.0] {
            let rate = prague_rate(p, round_trip_ms);
            assert!(range.contains(&rate), "{p}, {round_trip_ms} ms: {rate}, not in {range:?}");
        }
        // A longer round trip has the same window.
        let rate = 2.0 * prague_rate(p, 50.0);
        assert!(range.contains(&rate), "{p}, 50 ms: {rate}, not in {range:?}");
    }
}

/// The shares of a Prague flow beside a CUBIC flow behind `queue`, in percent, without and with its fallback,
/// and the last score of the queue.
fn prague_beside_cubic(queue: &str, fallback: bool) -> (f64, f64) {
    let text = format!(
        r#"
duration = "30 s"
warmup = "10 s"
links.line = {{ rate = "20 Mbit/s", delay = "10 ms", queue = {queue} }}
[groups.cubic]
users = 1
path = ["line"]
traffic = {{ kind = "bulk" }}
tcp = {{ stack = "linux", congestion_control = "cubic", ecn = "classic" }}
[groups.prague]
users = 1
path = ["line"]
traffic = {{ kind = "bulk", start = "1 s" }}
tcp = {{ stack = "linux", congestion_control = {{ kind = "prague", fallback = {fallback} }} }}
[record]
series = [{{ of = "groups.prague.users[0].flows[0].classic_score", every = "1 s" }}]
"#
    );
    let run = run(&text, 1);
    let rate = |group: &str| run.number(&format!("groups.{group}.throughput_bps"));
    let score = run.column("groups.prague.users[0].flows[0].classic_score").1.last().copied();
    (100.0 * rate("prague") / (rate("prague") + rate("cubic")), score.unwrap_or(f64::NAN))
}

/// RFC 9331 section 4.3: behind a single queue with classic ECN Prague takes nine tenths of the line. With
/// its fallback the shares are near even. Behind DualPI2 the fallback changes nothing.
#[test]
fn prague_falls_back_behind_a_classic_queue_only() {
    let red =
        r#"{ kind = "red", action = "mark", min_threshold = "20 packets", max_threshold = "60 packets" }"#;
    for queue in [r#"{ kind = "codel" }"#, red] {
        let (plain, _) = prague_beside_cubic(queue, false);
        let (fallen, score) = prague_beside_cubic(queue, true);
        assert!(
            plain > 85.0 && (40.0..65.0).contains(&fallen) && score > 9.0,
            "{queue}: {plain} {fallen} {score}"
        );
    }
    let (plain, _) = prague_beside_cubic(r#"{ kind = "dualpi2" }"#, false);
    assert_eq!(prague_beside_cubic(r#"{ kind = "dualpi2" }"#, true), (plain, 0.0));
}

/// SEARCH leaves slow start after the link is full, at five or six bandwidth-delay products. A larger buffer then loses
/// nothing. Plain slow start leaves by losses only.
#[test]
fn search_leaves_slow_start_between_full_link_and_full_buffer() {
    let start = |rule: &str| {
        run(
            &format!(
                r#"
duration = "4 s"
warmup = "1.5 s"
links.line = {{ rate = "20 Mbit/s", delay = "50 ms", queue = {{ limit = "1200 packets" }} }}
[groups.a]
users = 1
path = ["line"]
traffic = {{ kind = "bulk" }}
tcp = {{ stack = "linux", congestion_control = {{ kind = "cubic", slow_start = "{rule}" }} }}
"#
            ),
            1,
        )
    };
    let (search, standard) = (start("search"), start("standard"));
    assert_eq!(search.drops("line"), 0.0);
    assert!(standard.drops("line") > 100.0, "{}", standard.drops("line"));
    assert!(search.number("links.line.utilisation") > 0.99);
    let queue = search.number("links.line.queue_packets_mean");
    assert!((4.0 * 173.0..6.0 * 173.0).contains(&queue), "{queue}"); // a bandwidth-delay product is 173 packets
    // The drain phase takes the queue away.
    let drain = start("search-drain");
    assert_eq!(drain.drops("line"), 0.0);
    let (queue, used) =
        (drain.number("links.line.queue_packets_mean"), drain.number("links.line.utilisation"));
    assert!(queue < 173.0 && used > 0.9, "{queue} {used}");
}
