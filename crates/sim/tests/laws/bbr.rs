//! BBR in a network: its states in order, its small queue, its share against CUBIC.

use super::common::{Run, run};

/// Bulk flows over 10 Mbit/s and 40 ms: `groups` of (name, users, TCP options). A packet of 1514 bytes with 1448 of
/// payload takes 1.2112 ms, so the product is 33 packets. The buffer is `buffer` packets.
fn share(groups: &[(&str, u32, &str)], buffer: u32, duration: &str, series: &str, seed: u64) -> Run {
    let mut text = format!(
        r#"
duration = "{duration}"
warmup = "10 s"
links.access = {{ rate = "100 Mbit/s", delay = "1 ms", per = "user" }}
links.bottleneck = {{ rate = "10 Mbit/s", delay = "19 ms", queue = {{ limit = "{buffer} packets" }} }}
"#
    );
    for (name, users, tcp) in groups {
        text += &format!(
            r#"
[groups.{name}]
users = {users}
path = ["access", "bottleneck"]
traffic = {{ kind = "bulk", start = {{ uniform = ["0 s", "1 s"] }} }}
tcp = {{ stack = "linux", {tcp} }}
"#
        );
    }
    run(&(text + series), seed)
}

fn alone(control: &str, buffer: u32, duration: &str, seed: u64) -> Run {
    let series: String = ["state", "bandwidth", "min_rtt", "window"]
        .map(|name| format!("  {{ of = \"groups.one.users[0].flows[0].{name}\", every = \"5 ms\" }},\n"))
        .concat();
    let tcp = format!("congestion_control = \"{control}\"");
    share(&[("one", 1, &tcp)], buffer, duration, &format!("[record]\nseries = [\n{series}]\n"), seed)
}

/// The states that a flow passes through, and when each begins.
fn states(run: &Run) -> Vec<(f64, u32)> {
    let (times, states) = run.column("groups.one.users[0].flows[0].state");
    let mut seen: Vec<(f64, u32)> = Vec::new();
    for (&at, &state) in times.iter().zip(states).filter(|(_, state)| !state.is_nan()) {
        if seen.last().is_none_or(|last| last.1 != state as u32) {
            seen.push((at, state as u32));
        }
    }
    seen
}

/// Startup, Drain, then cycles of DOWN, CRUISE, REFILL and UP; ProbeRTT returns to CRUISE. A step of 5 ms may miss a short
/// state.
#[test]
fn bbr_passes_through_its_states_in_order() {
    let run = alone("bbr", 264, "30 s", 1);
    let seen = states(&run);
    let order: Vec<u32> = seen.iter().map(|(_, state)| *state).collect();
    // The ACK that ends Drain finds a product in flight, which also ends DOWN.
    assert_eq!(order[..4], [0, 1, 3, 4], "{seen:?}");
    for pair in order.windows(2) {
        let follows = [(0, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (4, 5), (5, 2), (5, 3), (6, 3)];
        assert!(follows.contains(&(pair[0], pair[1])) || pair[1] == 6, "{seen:?}");
    }
    // 33 packets are 32 or 33 round trips of the Reno time scale from DOWN on: at least 1.3 s. ProbeRTT starts the wait again.
    let ups: Vec<f64> = seen.iter().filter(|(_, state)| *state == 5).map(|(at, _)| *at).collect();
    assert!(ups.windows(2).all(|pair| (1.3..4.0).contains(&(pair[1] - pair[0]))) && ups.len() > 7, "{ups:?}");
    // Alone, its own ProbeRTT finds a lower round trip only every 5 s at the soonest.
    let rtts: Vec<f64> = seen.iter().filter(|(_, state)| *state == 6).map(|(at, _)| *at).collect();
    assert!(rtts.windows(2).all(|pair| pair[1] - pair[0] >= 5.0) && rtts.len() <= 5, "{rtts:?}");
    let (_, bandwidth) = run.column("groups.one.users[0].flows[0].bandwidth");
    // The payload's share of 10 Mbit/s.
    let payload = 10e6 * 1448.0 / 1514.0;
    let last = bandwidth[bandwidth.len() - 1];
    assert!((last / payload - 1.0).abs() < 0.02, "{last}");
    let (_, min_rtt) = run.column("groups.one.users[0].flows[0].min_rtt");
    let last = min_rtt[min_rtt.len() - 1];
    assert!((0.040..0.046).contains(&last), "{last}");
}

#[test]
fn bbr1_passes_through_its_states_in_order() {
    let seen = states(&alone("bbr1", 264, "30 s", 1));
    let order: Vec<u32> = seen.iter().map(|(_, state)| *state).collect();
    assert_eq!(order[..3], [0, 1, 2], "{seen:?}");
    assert!(
        order[3..].iter().enumerate().all(|(i, state)| *state == if i % 2 == 0 { 3 } else { 2 }),
        "{seen:?}"
    );
    // ProbeRTT every ten seconds: two or three in 30 s, each of 200 ms and a round trip or two.
    let rtts = seen.iter().filter(|(_, state)| *state == 3).count();
    assert!((2..=3).contains(&rtts), "{seen:?}");
}

/// Alone, the queue has a bandwidth-delay product at most, whatever the buffer, and nothing is lost after Startup.
#[test]
fn alone_it_fills_the_link_with_a_small_queue() {
    for control in ["bbr1", "bbr"] {
        for buffer in [66, 264] {
            let run = alone(control, buffer, "60 s", 1);
            let used = run.number("links.bottleneck.utilisation");
            let queue = run.number("links.bottleneck.queue_packets_mean");
            assert!(used >= 0.9, "{control} with {buffer}: {used}");
            assert!(queue <= 33.0, "{control} with {buffer}: {queue}");
            assert_eq!(run.drops("bottleneck"), 0.0, "{control} with {buffer}");
        }
    }
}

/// The share of one BBR flow among CUBIC flows of which there are `others`, as the mean of two seeds.
fn share_of_bbr(control: &str, others: u32, buffer: u32) -> f64 {
    let of = |seed| {
        let tcp = format!("congestion_control = \"{control}\"");
        let groups = [("bbr", 1, &*tcp), ("cubic", others, "congestion_control = \"cubic\"")];
        let run = share(&groups, buffer, "130 s", "", seed);
        // Throughputs are those of a user.
        let bbr = run.number("groups.bbr.throughput_bps");
        bbr / (bbr + f64::from(others) * run.number("groups.cubic.throughput_bps"))
    };
    (of(1) + of(2)) / 2.0
}

/// Ware et al. (IMC 2019): BBRv1 takes most of a shallow drop-tail buffer from CUBIC, its share falls as the buffer deepens, and
/// it does not depend on the number of CUBIC flows. BBRv3 takes less of a shallow buffer.
#[test]
fn bbr1_takes_shallow_buffers_and_its_share_of_deep_ones_is_that_of_any_number_of_cubic_flows() {
    let shares = [1, 4].map(|others| [33, 66, 264, 1056].map(|buffer| share_of_bbr("bbr1", others, buffer)));
    for shares in shares {
        assert!(shares.windows(2).all(|pair| pair[1] < pair[0]), "{shares:?}");
        assert!(shares[0] > 0.75, "{shares:?}");
    }
    for n in 1..4 {
        assert!((shares[0][n] - shares[1][n]).abs() < 0.1, "{shares:?}");
    }
    assert!(share_of_bbr("bbr", 1, 33) < share_of_bbr("bbr1", 1, 33));
}

/// The last ACK may arrive while a segment waits for its release. The sender has no wake-up then.
#[test]
fn a_paced_transfer_ends_while_a_segment_waits() {
    let run = run(
        r#"
duration = "3 s"
warmup = "0 s"
links.access = { per = "user", rate = "4543 kbit/s", delay = "1 ms", queue = { limit = "32 packets" } }
links.one = { rate = "25434 kbit/s", delay = "0 s", queue = { limit = "5 packets" } }
links.two = { per = "2 users", rate = "21921 kbit/s", serve = { kind = "grants", preset = "lte" }, delay = "0 s" }
[links.three]
rate = "8962 kbit/s"
serve = { kind = "grants", preset = "docsis" }
delay = "0 s"
queue = { limit = "11 packets" }
[groups.g]
users = 2
path = ["access", "one", "-three", "two"]
traffic = [{ kind = "bulk", flows = 4, start = { uniform = ["0 s", "1 s"] } }, { kind = "upload", size = "199 kB" }]
tcp = { stack = "ns2-linux", ack_every = 2, congestion_control = "bbr", ecn = "classic" }
processing = "0.1 ms"
"#,
        247,
    );
    let uploaded = run.number("groups.g.flows_throughput_bps.4") * 3.0 / 8.0;
    assert!(uploaded >= 199_000.0, "{uploaded} B");
}
