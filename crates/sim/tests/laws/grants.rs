//! Links that serve in grants, follow a trace, or stop.

use evenflow_scenario::Scenario;

use crate::common::{close, run};

/// Users who each send a datagram of 1000 B every so often, all at the same instants.
fn scenario(link: &str, users: u32, rate: &str) -> String {
    format!(
        r#"
duration = "10.04 s"
links.line = {{ delay = "1 ms", {link} }}
groups.all = {{ users = {users}, path = ["line"], traffic = {{ kind = "cbr", rate = "{rate}", packet = "1000 B" }} }}
"#
    )
}

/// Under overload a link sends its rate to within two grants, and uses all of them.
#[test]
fn the_long_run_rate_is_exact() {
    for (serve, grant_s) in [
        (r#"preset = "docsis""#, 2e-3),
        (r#"preset = "lte""#, 1e-3),
        (r#"preset = "wifi""#, 5.5855e-3),
        (r#"every = "0.7 ms""#, 0.7e-3),
    ] {
        let link = format!(
            r#"rate = "8 Mbit/s", queue = {{ limit = "50 packets" }}, serve = {{ kind = "grants", {serve} }}"#
        );
        let r = run(&scenario(&link, 10, "1 Mbit/s"), 1);
        let bytes = r.number("links.line.delivered_packets") * 1000.0;
        let idle = 16e-3; // until the first datagrams and their request, at most
        assert!((bytes - 10.04e6).abs() <= 1e6 * (2.0 * grant_s + idle) + 1000.0, "{serve}: {bytes}");
        assert!(r.number("links.line.utilisation") > 0.997, "{serve}");
    }
}

/// A burst of 20 kB needs two grants of 12.5 kB: the unused grants before it are lost. The request adds its wait.
#[test]
fn unused_bytes_are_lost() {
    let delays = |wait: &str| {
        let link = format!(
            r#"rate = "10 Mbit/s", queue = {{ limit = "50 packets" }}, serve = {{ kind = "grants", every = "10 ms"{wait} }}"#
        );
        let r = run(&scenario(&link, 20, "100 kbit/s"), 1);
        assert_eq!(r.drops("line"), 0.0);
        close(r.number("links.line.utilisation"), 0.2, 0.02);
        (r.number("links.line.queue_delay_s_mean"), r.number("links.line.queue_delay_s_max"))
    };
    // Datagrams arrive at multiples of 80 ms, at a grant: 13 leave at once, the last of them in part, and 7 in 10 ms.
    let (mean, longest) = delays("");
    close(longest, 10e-3, 1e-9);
    close(mean, 7.0 * 10e-3 / 20.0, 1e-9);
    let (later, _) = delays(r#", wait = "25 ms""#);
    close(later, mean + 30e-3, 1e-9);
}

/// Opportunities of a trace are its lines, in ms; the next round begins at the last one.
#[test]
fn a_trace_repeats_from_its_last_line() {
    let link =
        r#"rate = { opportunities = [1, 1, 4, 10], bytes = "500 B" }, queue = { limit = "50 packets" }"#;
    let r = run(&scenario(link, 1, "10 Mbit/s"), 1);
    // 2000 B in each 10 ms.
    close(r.number("links.line.delivered_packets"), 2008.0, 0.002);
    close(r.number("links.line.utilisation"), 1.0, 0.002);
}

/// Nothing leaves while the rate is zero; the backlog leaves afterwards.
#[test]
fn a_rate_of_zero_is_an_outage() {
    for queue in
        [r#"{ limit = "5000 packets" }"#, r#"{ kind = "fq-codel", limit = "5000 packets", target = "5 s" }"#]
    {
        let link = format!(
            r#"rate = {{ steps = [["0 s", "0 bit/s"], ["1 s", "10 Mbit/s"], ["4 s", "0 bit/s"], ["6 s", "10 Mbit/s"]] }}, queue = {queue}"#
        );
        let r = run(&scenario(&link, 1, "2 Mbit/s"), 1);
        assert_eq!(r.drops("line"), 0.0, "{queue}");
        let longest = r.number("links.line.queue_delay_s_max");
        assert!((1.99..2.01).contains(&longest), "{queue}: {longest}");
        close(r.number("groups.all.delivered_packets"), r.number("groups.all.sent_packets"), 1e-3);
    }
}

/// A packet of 1000 B begins at 2 s; its end follows from the rates by division.
#[test]
fn a_packet_in_transmission_takes_the_new_rate() {
    let delay = |steps: &str, more: &str| {
        let text = format!(
            r#"
duration = "3.99 s"
links.line = {{ rate = {{ steps = [["0 s", "8 kbit/s"], {steps}] }}{more} }}
groups.all = {{ users = 1, path = ["line"], traffic = {{ kind = "cbr", rate = "4 kbit/s", packet = "1000 B" }} }}
"#
        );
        run(&text, 1).number("groups.all.delay_s_max")
    };
    let new = r#", in_flight = "new-rate""#;
    for (steps, rest) in [
        (r#"["2.5 s", "16 kbit/s"]"#, 0.75),
        (r#"["2.5 s", "0 bit/s"], ["3.5 s", "16 kbit/s"]"#, 1.75),
        (r#"["2.25 s", "4 kbit/s"], ["2.5 s", "32 kbit/s"]"#, 0.65625),
        (r#"["1 s", "16 kbit/s"], ["2.5 s", "1 bit/s"]"#, 0.5),
    ] {
        close(delay(steps, new), rest, 1e-8);
        let old = if steps.starts_with("[\"1 s") { 0.5 } else { 1.0 };
        close(delay(steps, ""), old, 1e-8);
        close(delay(steps, r#", in_flight = "old-rate""#), old, 1e-8);
    }
}

/// Under overload, delivered bytes are the integral of the rate, whatever the steps: an independent sum. By default the
/// link is off by much more than a packet.
#[test]
fn delivered_bytes_are_the_integral_of_the_rate() {
    // Rates from 0 to 9 Mbit/s in steps of irregular length, by a recursion of whole numbers.
    let (mut steps, mut integral, mut at, mut x) = (Vec::new(), 0.0, 0u64, 1u64);
    while at < 5_000_000 {
        x = x * 1_103_515_245 % 2_147_483_648 + 12_345;
        let (rate, length) = ((x >> 8) % 10, 300 + (x >> 12) % 2_000);
        steps.push(format!("[\"{at} us\", \"{} Mbit/s\"]", if at == 0 { 1 } else { rate }));
        let rate = if at == 0 { 1 } else { rate };
        let inside = (at + length).min(5_000_000).saturating_sub(at.max(1_000_000));
        integral += rate as f64 * inside as f64 / 8.0;
        at += length;
    }
    let delivered = |more: &str| {
        let text = format!(
            r#"
duration = "5 s"
warmup = "1 s"
links.line = {{ rate = {{ steps = [{}] }}, queue = {{ limit = "50 packets" }}{more} }}
groups.all = {{ users = 10, path = ["line"], traffic = {{ kind = "cbr", rate = "1 Mbit/s", packet = "1000 B" }} }}
"#,
            steps.join(", ")
        );
        run(&text, 1).number("links.line.delivered_packets") * 1000.0
    };
    let new = delivered(r#", in_flight = "new-rate""#);
    assert!((new - integral).abs() <= 1000.0, "{new} {integral}");
    let old = delivered("");
    assert!((old - integral).abs() > 20_000.0, "{old} {integral}");
}

/// The series `rate` follows steps; of opportunities it has their bytes in each interval, also where nothing is sent.
#[test]
fn the_rate_of_a_link_can_be_recorded() {
    let rates = |link: &str, every: &str, packets: &str| {
        let series = format!(r#"record.series = [{{ of = "links.line.rate", every = "{every}" }}]"#);
        let text = scenario(link, 1, packets) + &series;
        let r = run(&text, 1);
        let plain = run(&scenario(link, 1, packets), 1);
        assert_eq!(r.value("links"), plain.value("links"), "{link}: a series changes nothing");
        let (times, values) = r.column("links.line.rate");
        times.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>()
    };
    let steps = r#"rate = { steps = [["0 s", "3 Mbit/s"], ["1 s", "7 Mbit/s"], ["4 s", "0 bit/s"], ["6 s", "2.5 kbit/s"]] }"#;
    for packets in ["2 Mbit/s", "1 kbit/s"] {
        for (at, rate) in rates(steps, "500 ms", packets) {
            let expected = match at {
                at if at < 1.0 => 3e6,
                at if at < 4.0 => 7e6,
                at if at < 6.0 => 0.0,
                _ => 2.5e3,
            };
            assert_eq!(rate, expected, "{at} {packets}");
        }
    }
    let trace = r#"rate = { opportunities = [1, 1, 4, 10], bytes = "500 B" }"#;
    for packets in ["10 Mbit/s", "1 kbit/s"] {
        let found = rates(trace, "5 ms", packets);
        let by_interval: Vec<f64> = found.iter().map(|it| (it.1 * 5e-3 / 8.0).round()).collect();
        assert_eq!(by_interval[..4], [1500.0, 500.0, 1500.0, 500.0], "{packets}");
    }
    let grants = r#"rate = "8 Mbit/s", serve = { kind = "grants", preset = "lte" }"#;
    for link in [grants, r#"rate = "8 Mbit/s""#, r#"rate = "8 Mbit/s", queue = { kind = "fq-codel" }"#] {
        assert!(rates(link, "10 ms", "1 Mbit/s").iter().all(|it| it.1 == 8e6), "{link}");
    }
    let text = scenario("", 1, "1 Mbit/s") + r#"record.series = [{ of = "links.line.rate", every = "1 s" }]"#;
    let refused = Scenario::from_toml(&text).expect_err("a delay has no rate").to_string();
    assert_eq!(refused, "record.series[0].of: this link has no rate");
}

#[test]
fn service_that_makes_no_sense_is_refused() {
    let said = |link: &str| {
        let text = scenario(link, 1, "1 Mbit/s");
        Scenario::from_toml(&text).map(|_| String::new()).unwrap_or_else(|e| e.to_string())
    };
    assert_eq!(
        said(r#"rate = "1 Mbit/s", serve = { kind = "grants" }"#),
        "links.line.serve.every: is required without a preset: duration, for example \"2 ms\""
    );
    assert!(
        said(r#"rate = "1 Mbit/s", serve = { kind = "grants", preset = "docsiss" }"#).contains("\"docsis\"")
    );
    assert_eq!(
        said(r#"serve = { kind = "grants", every = "1 ms" }"#),
        "links.line.serve: a link without a rate serves each packet at once; give it a rate"
    );
    assert_eq!(
        said(r#"rate = { opportunities = [2, 1] }"#),
        "links.line.rate.opportunities: must be whole milliseconds in rising order, the last later than 0"
    );
    assert_eq!(
        said(r#"rate = { steps = [["0 s", "0 bit/s"]] }"#),
        "links.line.rate.steps: at least one rate must be above zero"
    );
}
