//! Queues that have an exact theory.

use crate::common::{Run, close, interval, run};

/// One Poisson source over one link; `packet` is a size or a law, `queue` a table or nothing.
fn poisson(link: &str, load: &str, packet: &str, queue: &str, duration: u32) -> String {
    format!(
        r#"
duration = "{duration} s"
warmup = "20 s"
links.only = {{ rate = "{link}", queue = {queue} }}
groups.all = {{ users = 1, path = ["only"], traffic = {{ kind = "poisson", rate = "{load}", packet = {packet} }} }}
"#
    )
}

const NO_LIMIT: &str = r#"{ kind = "droptail" }"#;

/// The metric over ten seeds must agree with theory within its 99 % interval, which must be narrow enough to mean
/// something.
#[track_caller]
fn agrees(runs: &[Run], metric: &str, theory: f64, narrow: f64) {
    let values: [f64; 10] = std::array::from_fn(|i| runs[i].number(metric));
    let (mean, half) = interval(&values);
    assert!((mean - theory).abs() <= half, "{metric}: {mean} ± {half}, theory {theory}");
    assert!(half <= narrow * theory, "{metric}: {mean} ± {half} is too wide");
}

fn ten(text: &str) -> Vec<Run> {
    (1..=10).map(|seed| run(text, seed)).collect()
}

/// M/D/1 (Pollaczek and Khinchine): W = s rho / (2 (1 - rho)), Lq = rho^2 / (2 (1 - rho)).
#[test]
fn m_d_1() {
    // 1500 bytes at 12 Mbit/s: s = 1 ms.
    for (load, rho) in [("6 Mbit/s", 0.5), ("9.6 Mbit/s", 0.8)] {
        let runs = ten(&poisson("12 Mbit/s", load, "\"1500 B\"", NO_LIMIT, 320));
        agrees(&runs, "links.only.queue_delay_s_mean", 1e-3 * rho / (2.0 * (1.0 - rho)), 0.03);
        agrees(&runs, "links.only.queue_packets_mean", rho * rho / (2.0 * (1.0 - rho)), 0.03);
        agrees(&runs, "links.only.utilisation", rho, 0.01);
    }
}

/// M/M/1: W = s rho / (1 - rho), P(wait > t) = rho exp(-(1 - rho) t / s). Whole bytes from 1 to 65535 with a mean of 5000
/// are exponential to 1e-5.
#[test]
fn m_m_1() {
    // 5000 bytes at 40 Mbit/s: s = 1 ms.
    let rho = 0.8;
    let runs = ten(&poisson("40 Mbit/s", "32 Mbit/s", "{ exponential = \"5000 B\" }", NO_LIMIT, 320));
    agrees(&runs, "links.only.queue_delay_s_mean", 1e-3 * rho / (1.0 - rho), 0.05);
    agrees(&runs, "links.only.queue_packets_mean", rho * rho / (1.0 - rho), 0.05);
    agrees(&runs, "links.only.utilisation", rho, 0.01);
    // Square of W's deviation: rho (2 - rho) s^2 / (1 - rho)^2.
    agrees(&runs, "links.only.queue_delay_s_sd", 1e-3 * (rho * (2.0 - rho)).sqrt() / (1.0 - rho), 0.05);
    for (name, above) in [("p50", 0.5), ("p95", 0.05), ("p99", 0.01)] {
        let theory = libm::log(rho / above) * 1e-3 / (1.0 - rho);
        let of = |r: &Run| r.number(&format!("links.only.queue_delay_s_{name}"));
        close(runs.iter().map(of).sum::<f64>() / 10.0, theory, 0.04);
    }
    // A fifth of the packets finds the link idle.
    assert!(runs.iter().all(|r| r.number("links.only.queue_delay_s_p5") == 0.0));
}

/// M/D/1/K by the chain embedded at departures: blocking, mean waiting packets and utilisation.
struct Finite {
    blocked: f64,
    waiting: f64,
    busy: f64,
}

/// `k` packets at most, the one in service included (Gross and Harris, section 5.1.8).
fn m_d_1_k(rho: f64, k: usize) -> Finite {
    // Arrivals during one service.
    let mut a = vec![libm::exp(-rho)];
    for i in 1..=k {
        a.push(a[i - 1] * rho / i as f64);
    }
    // Left behind by a departure, up to a factor.
    let mut left = vec![1.0];
    for n in 0..k - 1 {
        let reached: f64 = (1..=n).map(|j| left[j] * a[n + 1 - j]).sum();
        left.push((left[n] - reached - left[0] * a[n]) / a[0]);
    }
    let total: f64 = left.iter().sum();
    // At any time; a cycle is one service and, from an empty system, one gap.
    let cycle = left[0] / total + rho;
    let at_any_time: Vec<f64> = left.iter().map(|x| x / total / cycle).collect();
    let blocked = 1.0 - 1.0 / cycle;
    let waiting = at_any_time.iter().enumerate().skip(1).map(|(n, p)| (n - 1) as f64 * p).sum::<f64>()
        + (k - 1) as f64 * blocked;
    Finite { blocked, waiting, busy: rho * (1.0 - blocked) }
}

#[test]
fn the_finite_theory_is_right() {
    // One place: Erlang's loss formula. Two in all at rho = 1: left = [1, e - 1], cycle = 1/e + 1.
    close(m_d_1_k(0.8, 1).blocked, 0.8 / 1.8, 1e-12);
    let e = libm::exp(1.0);
    close(m_d_1_k(1.0, 2).blocked, 1.0 - 1.0 / (1.0 / e + 1.0), 1e-12);
    // A long queue is M/D/1.
    close(m_d_1_k(0.5, 60).waiting, 0.25, 1e-9);
}

#[test]
fn m_d_1_with_a_limit() {
    for (load, rho, limit) in [("10.8 Mbit/s", 0.9, 4), ("14.4 Mbit/s", 1.2, 9)] {
        let queue = format!(r#"{{ kind = "droptail", limit = "{limit} packets" }}"#);
        let runs = ten(&poisson("12 Mbit/s", load, "\"1500 B\"", &queue, 170));
        // The packet in service does not count for the limit.
        let theory = m_d_1_k(rho, limit + 1);
        agrees(&runs, "groups.all.loss_ratio", theory.blocked, 0.03);
        agrees(&runs, "links.only.queue_packets_mean", theory.waiting, 0.03);
        agrees(&runs, "links.only.utilisation", theory.busy, 0.01);
        let wait = theory.waiting / (rho * 1000.0 * (1.0 - theory.blocked));
        agrees(&runs, "links.only.queue_delay_s_mean", wait, 0.03);
    }
}

/// Little's law and the busy fraction, run by run, whatever the queue: mean waiting = accepted per second * mean wait.
#[test]
fn littles_law_holds_in_every_queue() {
    let queues = [
        r#"{ limit = "24 packets" }"#,
        r#"{ kind = "activity-aqm", limit = "24 packets" }"#,
        r#"{ kind = "csfq", limit = "24 packets" }"#,
        r#"{ limit = "24 packets", scheduler = { kind = "drr", per = "user" } }"#,
        r#"{ limit = "24 packets", scheduler = { kind = "strict", order = ["ef", "be"] } }"#,
        r#"{ limit = "24 packets", scheduler = { kind = "medf", offsets = { ef = "0 s", be = "20 ms" } } }"#,
    ];
    for queue in queues {
        let text = format!(
            r#"
duration = "60 s"
warmup = "10 s"
stages.label = {{ kind = "{}", per = "user" }}
links.only = {{ rate = "9.7 Mbit/s", delay = "5 ms", queue = {queue} }}
groups.a = {{ users = 3, path = ["label", "only"], traffic = {{ kind = "poisson", rate = "2 Mbit/s" }}, class = "ef" }}
groups.b = {{ users = 2, path = ["label", "only"], traffic = {{ kind = "poisson", rate = "3 Mbit/s" }} }}
"#,
            if queue.contains("csfq") { "csfq-edge" } else { "activity-meter" }
        );
        let r = run(&text, 1);
        let seconds = 50.0;
        let served = r.number("links.only.delivered_packets");
        let waiting = served / seconds * r.number("links.only.queue_delay_s_mean");
        // What waits at either end of the window is a buffer at most.
        let pushed = r.value("links.only.drops").get("pushed_out").is_some();
        let slack = if pushed { 0.2 } else { 2.0 * 24.0 / served };
        close(r.number("links.only.queue_packets_mean"), waiting, slack);
        close(r.number("links.only.utilisation"), served * 1500.0 * 8.0 / 9.7e6 / seconds, 2.0 / served);
        let accepted = r.number("links.only.arrived_packets") - r.drops("only");
        assert!((accepted - served).abs() <= 26.0, "{queue}: {accepted} accepted, {served} served");
    }
}
