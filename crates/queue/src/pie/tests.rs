//! Numbers worked out from RFC 8033 by hand.

use evenflow_base::{Ecn, Rate, Stream};

use super::*;

const MS: u64 = 1_000_000;

fn params() -> Params {
    Params {
        target: 0.015,
        period: Duration::from_millis(15),
        alpha: 0.125,
        beta: 1.25,
        max_burst: Duration::from_millis(150),
        mean_packet: 1024,
        ecn_threshold: 0.1,
        latency: Latency::LinkRate,
        rate_threshold: 16_384,
        derandomize: false,
        cap: false,
    }
}

fn seen(bytes: u64) -> Occupancy {
    Occupancy { packets: (bytes / 1500) as u32, bytes, rate: Some(Rate(10e6)), full: false, idle_since: None }
}

fn packet(ecn: Ecn) -> Packet {
    Packet::new(0, 1500, 1448).with_ecn(ecn)
}

#[track_caller]
fn near(is: f64, expected: f64) {
    assert!((is - expected).abs() < 1e-15, "{is} is not {expected}");
}

#[test]
fn the_update_by_hand() {
    let p = params();
    // 0.125 * (0.031 - 0.015) + 1.25 * (0.031 - 0.027) = 0.002 + 0.005
    near(next_probability(&p, 0.5, 0.031, 0.027), 0.507);
    near(next_probability(&p, 0.05, 0.031, 0.027), 0.0535); // halved below 0.1
    near(next_probability(&p, 0.0, 0.031, 0.027), 0.007 / 2048.0);
    // 0.125 * -0.015 + 1.25 * -0.02 = -0.026875
    near(next_probability(&p, 0.5, 0.0, 0.02), 0.473_125);
    assert_eq!(next_probability(&p, 0.01, 0.0, 0.02), 0.0); // not below zero
    assert_eq!(next_probability(&p, 0.999, 1.0, 0.5), 1.0); // nor above one
}

#[test]
fn corrections_are_scaled_by_the_probability() {
    let steps =
        [(0.0, 2048.0), (1e-6, 512.0), (1e-5, 128.0), (1e-4, 32.0), (1e-3, 8.0), (1e-2, 2.0), (0.1, 1.0)];
    for (n, (from, divisor)) in steps.into_iter().enumerate() {
        assert_eq!(scale(from), divisor);
        if n > 0 {
            assert_eq!(scale(from.next_down()), steps[n - 1].1);
        }
    }
}

#[test]
fn without_a_queue_the_probability_decays() {
    // 0.98 * (0.5 - 0.125 * 0.015) = 0.98 * 0.498125
    near(next_probability(&params(), 0.5, 0.0, 0.0), 0.488_162_5);
}

#[test]
fn the_cap_holds_from_a_tenth_on() {
    let p = Params { cap: true, ..params() };
    // 0.125 * 0.085 + 1.25 * 0.08 = 0.110625
    near(next_probability(&p, 0.1, 0.1, 0.02), 0.12);
    near(next_probability(&params(), 0.1, 0.1, 0.02), 0.210_625);
    near(next_probability(&p, 0.09, 0.1, 0.02), 0.09 + 0.110_625 / 2.0);
    near(next_probability(&p, 0.5, 0.0, 0.1), 0.5 - 0.126_875); // not downwards
}

#[test]
fn the_average_of_departures_by_hand() {
    near(next_average(0.0, 0.012, 16_384.0), 0.012); // the first measurement is the average
    near(next_average(0.012, 0.016, 16_384.0), 0.013); // a quarter of the new one
}

#[test]
fn departures_are_measured_while_there_are_enough() {
    let p = Params { latency: Latency::DepartureRate, ..params() };
    let mut rule = Pie::new(p);
    let mut leave = |ms: u64, behind: u64| {
        rule.on_dequeue(&mut packet(Ecn::NotCapable), Time(0), Time(ms * MS), &seen(behind));
        rule.observe("departure_rate").unwrap()
    };
    assert_eq!(leave(1, 16_383), 0.0); // too little to begin with
    assert_eq!(leave(2, 16_384), 0.0); // begins here; this packet does not count
    for ms in 3..13 {
        assert_eq!(leave(ms, 0), 0.0); // 10 packets: 15000 bytes
    }
    // The eleventh: 16500 bytes, 11 ms; taken as the time of 16384 bytes (appendix B).
    near(leave(13, 20_000) / 1e7, 16_384.0 * 8.0 / 0.011 / 1e7);
    // It begins again at once: this one after 22 ms more.
    for ms in 14..24 {
        leave(ms, 0);
    }
    near(leave(35, 0) / 1e7, 16_384.0 * 8.0 / (0.75 * 0.011 + 0.25 * 0.022) / 1e7);
    rule.tick(&seen(16_384));
    near(rule.observe("delay").unwrap(), 0.013_75);
}

#[test]
fn the_clock_sees_the_queue_of_its_instant() {
    let mut rule = Pie::new(params());
    assert_eq!(rule.next_tick(), Time(15 * MS));
    rule.tick(&seen(37_500)); // 30 ms at 10 Mbit/s
    // (0.125 * 0.015 + 1.25 * 0.03) / 2048
    near(rule.observe("probability").unwrap(), 0.039_375 / 2048.0);
    near(rule.observe("burst_allowance").unwrap(), 0.135);
    assert_eq!(rule.next_tick(), Time(30 * MS));
    rule.tick(&seen(25_000)); // 20 ms: 0.125 * 0.005 - 1.25 * 0.01 < 0
    assert_eq!(rule.observe("probability"), Some(0.0)); // 1.9e-5 - 0.011875 / 128 = 1.9e-5 - 9.3e-5
}

/// A rule whose burst is over, with this probability and 30 ms of delay before.
fn pressed(params: Params, probability: f64) -> Pie {
    let mut rule = Pie::new(params);
    (rule.probability, rule.delay, rule.old, rule.burst) = (probability, 0.03, 0.03, Duration::ZERO);
    rule
}

fn asked(rule: &mut Pie, bytes: u64, ecn: Ecn, draws: &mut Stream) -> Verdict {
    rule.admit(&mut packet(ecn), Time(0), &seen(bytes), draws)
}

#[test]
fn the_draw_decides() {
    let mut rule = pressed(params(), 0.25);
    let mut draws = Stream::scripted([0.249, 0.25]);
    assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Drop(Reason::Pie));
    assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Accept);
}

#[test]
fn a_burst_passes_and_no_number_is_drawn() {
    let mut rule = pressed(params(), 0.9);
    rule.burst = Duration(1);
    assert_eq!(asked(&mut rule, 90_000, Ecn::NotCapable, &mut Stream::scripted([])), Verdict::Accept);
    // Without congestion the allowance is back: 7.5 ms is half of the target, 7.4 is below.
    for (delay, back) in [(0.0075, 0), (0.0074, 150 * MS)] {
        let mut rule = pressed(params(), 0.0);
        (rule.delay, rule.old) = (delay, delay);
        asked(&mut rule, 0, Ecn::NotCapable, &mut Stream::scripted([]));
        assert_eq!(rule.burst.0, back);
    }
}

#[test]
fn a_short_queue_is_spared() {
    let mut draws = Stream::scripted([0.1, 0.1, 0.1]);
    let mut rule = pressed(params(), 0.5);
    assert_eq!(asked(&mut rule, 2048, Ecn::NotCapable, &mut draws), Verdict::Accept);
    assert_eq!(asked(&mut rule, 2049, Ecn::NotCapable, &mut draws), Verdict::Drop(Reason::Pie));
    // A short delay before: only where the probability is below a fifth.
    (rule.old, rule.probability) = (0.0074, 0.199);
    assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Accept);
    rule.probability = 0.2;
    assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Drop(Reason::Pie));
    assert_eq!(draws.left(), 1);
}

#[test]
fn marks_below_a_tenth_and_drops_above() {
    let mut draws = Stream::scripted([0.01; 4]);
    for (probability, ecn, verdict) in [
        (0.099, Ecn::Capable0, Verdict::Mark(Reason::Pie)),
        (0.099, Ecn::Congestion, Verdict::Mark(Reason::Pie)),
        (0.099, Ecn::NotCapable, Verdict::Drop(Reason::Pie)),
        (0.1, Ecn::Capable0, Verdict::Drop(Reason::Pie)),
    ] {
        assert_eq!(asked(&mut pressed(params(), probability), 9000, ecn, &mut draws), verdict);
    }
}

#[test]
fn derandomised_drops_keep_their_distance() {
    let p = Params { derandomize: true, ..params() };
    let mut rule = pressed(p, 0.2);
    // 0.2, 0.4, 0.6, 0.8 add up to less than 0.85: nothing is drawn. Then the draw decides.
    let mut draws = Stream::scripted([0.9, 0.1]);
    for _ in 0..5 {
        assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Accept);
    }
    assert_eq!(draws.left(), 1);
    assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Drop(Reason::Pie));
    assert_eq!(rule.added_up, 0.0);
    // 8.5 come together at the 17th of 0.5: certain, without a draw.
    let mut rule = pressed(p, 0.5);
    let mut draws = Stream::scripted([0.9; 15]);
    for _ in 0..16 {
        assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Accept);
    }
    assert_eq!(asked(&mut rule, 9000, Ecn::NotCapable, &mut draws), Verdict::Drop(Reason::Pie));
    assert_eq!(draws.left(), 0);
    // "If accu_prob < 0.85": a sum of 0.85 is drawn (RFC 8033 section 5.4).
    let mut rule = pressed(p, CERTAINLY_NOT);
    assert_eq!(
        asked(&mut rule, 9000, Ecn::NotCapable, &mut Stream::scripted([0.1])),
        Verdict::Drop(Reason::Pie)
    );
}

#[test]
fn a_threshold_of_zero_never_marks() {
    let range = |name: &str| TABLE.params.iter().find(|param| param.name == name).map(|param| param.range);
    let range = range("ecn_threshold").expect("it has one");
    assert!(range.holds(0.0) && range.holds(1.0) && !range.holds(1.1));
    let mut rule = pressed(Params { ecn_threshold: 0.0, ..params() }, 0.05);
    assert_eq!(
        asked(&mut rule, 9000, Ecn::Capable0, &mut Stream::scripted([0.01])),
        Verdict::Drop(Reason::Pie)
    );
}

#[test]
fn a_full_buffer_starts_the_sum_again() {
    let mut rule = pressed(Params { derandomize: true, ..params() }, 0.5);
    asked(&mut rule, 9000, Ecn::NotCapable, &mut Stream::scripted([]));
    assert_eq!(rule.added_up, 0.5);
    let full = Occupancy { full: true, ..seen(9000) };
    let verdict = rule.admit(&mut packet(Ecn::Capable0), Time(0), &full, &mut Stream::scripted([]));
    assert_eq!((verdict, rule.added_up), (Verdict::Drop(Reason::Limit), 0.0));
}

#[test]
fn timestamps_tell_the_delay_of_the_last_departure() {
    let mut rule = Pie::new(Params { latency: Latency::Timestamps, ..params() });
    rule.on_dequeue(&mut packet(Ecn::NotCapable), Time(MS), Time(23 * MS), &seen(3000));
    near(rule.observe("delay").unwrap(), 0.022);
    rule.tick(&seen(0)); // what waits does not matter
    near(rule.observe("probability").unwrap(), (0.125 * 0.007 + 1.25 * 0.022) / 2048.0);
    rule.on_dequeue(&mut packet(Ecn::NotCapable), Time(MS), Time(30 * MS), &seen(0)); // nothing behind it
    assert_eq!(rule.observe("delay"), Some(0.0));
}

/// With a queue that answers, the delay settles at its target: the fluid of a load that falls with the probability.
#[test]
fn the_delay_settles_at_the_target() {
    let mut rule = Pie::new(params());
    let mut draws = Stream::new(1, "pie");
    let (mut bytes, mut at_rest, mut now) = (0u64, Vec::new(), 0u64);
    // 1500 bytes each 0.8 ms offered to 10 Mbit/s (1.2 ms each): p must become a third.
    for n in 0..200_000u64 {
        now += 800_000;
        bytes = bytes.saturating_sub(1000);
        while rule.next_tick().0 <= now {
            rule.tick(&seen(bytes));
            if n >= 100_000 {
                at_rest.push((rule.probability, rule.delay)); // the delays that the controller sums
            }
        }
        if rule.admit(&mut packet(Ecn::NotCapable), Time(0), &seen(bytes), &mut draws) == Verdict::Accept {
            bytes += 1500;
        }
    }
    let mean = |of: fn(&(f64, f64)) -> f64| at_rest.iter().map(of).sum::<f64>() / at_rest.len() as f64;
    // The integral's error vanishes: alpha * mean(delay - target) = 0; the probability is that of balance.
    assert!((mean(|x| x.1) - 0.015).abs() < 0.0005, "{}", mean(|x| x.1));
    assert!((mean(|x| x.0) - 1.0 / 3.0).abs() < 0.005, "{}", mean(|x| x.0));
}

/// Passing over strikes that change nothing comes to what striking comes to; while anything changes none is passed over.
#[test]
fn rest_is_what_striking_comes_to() {
    let p = Params { period: Duration(1000), max_burst: Duration(50_000), ..params() };
    for waits in [0, 30_000] {
        let mut struck = pressed(p, 0.2);
        let mut rested = struck.clone();
        let seen = seen(waits);
        let until = Time(struck.next.0 + 200_000_000);
        while struck.next <= until {
            struck.tick(&seen);
        }
        let mut strikes = 0;
        while rested.next <= until {
            rested.tick(&seen);
            strikes += 1;
            rested.rest(&seen, until);
        }
        let state = |rule: &Pie| (rule.probability.to_bits(), rule.old.to_bits(), rule.burst, rule.next);
        assert_eq!(state(&struck), state(&rested), "{waits} B");
        assert!(strikes < 100_000, "{waits} B: {strikes} strikes");
    }
}
