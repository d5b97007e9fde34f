use evenflow_base::schema::Value;

use super::rfc::{Curve as Rfc, alpha, plateau, target, w_cubic};
use super::*;
use crate::congestion_control::Signal;
use crate::profile::{UndoTo, WindowBase};

const MSS: f64 = 1000.0;
const SHAPE: Shape = Shape { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true };

fn cubic(form: &str, start: &str, more: &[(&'static str, Value)]) -> Cubic {
    let word = |text: &str| Value::Word(text.into());
    let mut values = Values(
        [
            ("c", Value::Number(0.4)),
            ("beta", Value::Number(0.7)),
            ("fast_convergence", Value::Flag(true)),
            ("reno_friendly", Value::Flag(true)),
            ("form", word(form)),
            ("slow_start", word(start)),
        ]
        .into(),
    );
    values.0.extend(more.iter().cloned());
    let stack = if form == "linux" { Profile::linux() } else { Profile::rfc() };
    Cubic::build(&values, &stack, 1.0).expect("it is sound")
}

fn seconds(s: f64) -> Time {
    Time::from_seconds(s)
}

fn ack(at: f64, segments: u64) -> Acked {
    Acked {
        now: seconds(at),
        una: 0,
        next: 0,
        bytes: segments * MSS as u64,
        segments,
        mss: MSS,
        flight: f64::INFINITY,
        rtt: Some(Duration::from_millis(100)),
        one_way: None,
        marks: 0,
    }
}

fn event(signal: Signal, at: f64, flight: f64) -> Congestion {
    Congestion::new(signal, seconds(at), flight * MSS, MSS)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

#[test]
fn the_curve_by_hand() {
    // RFC 9438 section 4.2: W_max 100, epoch at 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.217 s.
    let k = plateau(100.0, 70.0, 0.4);
    assert!(near(k, 4.2172));
    assert!(near(w_cubic(0.0, k, 100.0, 0.4), 70.0));
    assert!(near(w_cubic(1.0, k, 100.0, 0.4), 86.6808)); // 100 - 0.4 * 3.21716^3
    assert!(near(w_cubic(k, k, 100.0, 0.4), 100.0));
    assert!(near(w_cubic(2.0 * k, k, 100.0, 0.4), 130.0)); // as far above as it was below
}

#[test]
fn the_target_is_between_the_window_and_half_as_much_again() {
    assert_eq!(target(90.0, 100.0), 100.0);
    assert_eq!(target(120.0, 100.0), 120.0);
    assert_eq!(target(1e9, 100.0), 150.0);
}

#[test]
fn renos_pace_is_529_thousandths() {
    assert!(near(alpha(0.7), 0.5294)); // 3 * 0.3 / 1.7
    assert_eq!(alpha(0.5), 1.0);
}

#[test]
fn a_step_of_the_concave_region_by_hand() {
    let mut rfc = Rfc::new(Shape { reno_friendly: false, ..SHAPE }, WindowBase::Flight);
    let w = Window { cwnd: 100.0 * MSS, ssthresh: MSS };
    assert_eq!(rfc.reduce(&w, &event(Signal::Loss, 10.0, 100.0)), 70.0 * MSS);
    // W_cubic(0 + 0.1) = 100 - 0.4 * 4.11716^3 = 72.084; (72.084 - 70) / 70 = 0.02977.
    assert!((rfc.grow(70.0, 1.0, seconds(10.0), 0.1) - 0.029_77).abs() < 1e-4);
}

#[test]
fn a_step_of_the_convex_region_by_hand() {
    let mut rfc = Rfc::new(Shape { reno_friendly: false, ..SHAPE }, WindowBase::Flight);
    rfc.reduce(&Window { cwnd: 100.0 * MSS, ssthresh: MSS }, &event(Signal::Loss, 10.0, 100.0));
    rfc.grow(70.0, 1.0, seconds(10.0), 0.1);
    // Four seconds beyond K, a tenth more for the round trip: 100 + 0.4 * 4.1^3 = 127.568; (127.568 - 120) / 120.
    let k = rfc.now.epoch.expect("there is one").k;
    let grown = rfc.grow(120.0, 1.0, seconds(10.0 + k + 4.0), 0.1);
    assert!((grown - 0.063_07).abs() < 1e-4, "{grown}");
}

#[test]
fn the_reno_friendly_region_by_hand() {
    let mut rfc = Rfc::new(SHAPE, WindowBase::Flight);
    rfc.reduce(&Window { cwnd: 10.0 * MSS, ssthresh: MSS }, &event(Signal::Loss, 0.0, 10.0));
    // W_est = 7 + 0.5294 * 2 / 7 = 7.1513 beats W_cubic(0) = 7.
    assert!(near(rfc.grow(7.0, 2.0, seconds(0.0), 0.01), 0.1513));
    // From cwnd_prior = 10 on the pace is 1: 10 + 1 / 10.
    rfc.now.epoch.as_mut().expect("there is one").w_est = 10.0;
    assert!(near(rfc.grow(10.0, 1.0, seconds(0.1), 0.01), 0.1));
}

/// One ACK a packet at a constant round-trip time, from time `at` to `until`.
fn run(cc: &mut Cubic, w: &mut Window, at: f64, until: f64, rtt: f64) -> f64 {
    let mut now = at;
    while now < until {
        now += rtt * MSS / w.cwnd;
        cc.grow(w, &ack(now, 1));
    }
    now
}

#[test]
fn the_window_is_at_the_plateau_at_k_and_a_mirror_image_later() {
    for form in ["rfc", "linux"] {
        let mut cc = cubic(form, "standard", &[]);
        let mut w = Window { cwnd: 500.0 * MSS, ssthresh: MSS };
        w.ssthresh = cc.ssthresh(&w, &event(Signal::Loss, 0.0, 500.0));
        w.cwnd = w.ssthresh;
        assert!(near(w.cwnd / MSS, 350.0));
        // K = cbrt(150 / 0.4) = 7.211 s. A round trip behind or ahead at half way: 1.95 packets per round trip.
        let now = run(&mut cc, &mut w, 0.0, 3.606, 0.1);
        assert!((w.cwnd / MSS - 481.25).abs() < 4.0, "{form}: {}", w.cwnd / MSS); // 500 - 150 / 8
        let now = run(&mut cc, &mut w, now, 7.211, 0.1);
        assert!((w.cwnd / MSS - 500.0).abs() < 1.5, "{form}: {}", w.cwnd / MSS);
        run(&mut cc, &mut w, now, 10.817, 0.1);
        assert!((w.cwnd / MSS - 518.75).abs() < 4.0, "{form}: {}", w.cwnd / MSS);
    }
}

#[test]
fn fast_convergence_aims_lower_than_where_a_loss_was() {
    for (fast, expected) in [(true, 76.5), (false, 90.0)] {
        let mut rfc = Rfc::new(Shape { fast_convergence: fast, ..SHAPE }, WindowBase::Window);
        let at = |cwnd: f64| Window { cwnd: cwnd * MSS, ssthresh: MSS };
        rfc.reduce(&at(100.0), &event(Signal::Loss, 0.0, 0.0));
        rfc.reduce(&at(90.0), &event(Signal::Mark, 1.0, 0.0)); // RFC 9438 section 4.7: 90 * 1.7 / 2
        assert_eq!(rfc.now.w_max, Some(expected));
        assert_eq!(rfc.now.prior, Some(90.0));
        rfc.reduce(&at(120.0), &event(Signal::Loss, 2.0, 0.0));
        assert_eq!(rfc.now.w_max, Some(120.0));
    }
}

#[test]
fn the_threshold_is_a_part_of_the_flight_and_two_segments_at_least() {
    let mut cc = cubic("rfc", "standard", &[]);
    let w = Window { cwnd: 100.0 * MSS, ssthresh: MSS };
    assert_eq!(cc.ssthresh(&w, &event(Signal::Loss, 0.0, 80.0)), 56.0 * MSS);
    assert_eq!(cc.ssthresh(&w, &event(Signal::Loss, 0.0, 2.0)), 2.0 * MSS);
    assert_eq!(cc.after_mark(&w, &event(Signal::Mark, 0.0, 2.0), 2.0 * MSS), 1.4 * MSS);
    assert_eq!(cc.after_mark(&w, &event(Signal::Mark, 0.0, 1.0), 2.0 * MSS), MSS);
    let mut cc = cubic("linux", "standard", &[]);
    let w = Window { cwnd: 101.0 * MSS, ssthresh: MSS };
    assert_eq!(cc.ssthresh(&w, &event(Signal::Loss, 0.0, 2.0)), 70.0 * MSS); // 101 * 717 / 1024 = 70.7
}

#[test]
fn after_a_timeout_the_plateau_is_where_avoidance_begins() {
    let mut cc = cubic("rfc", "standard", &[]);
    let mut w = Window { cwnd: 100.0 * MSS, ssthresh: MSS };
    w.ssthresh = cc.ssthresh(&w, &event(Signal::Timeout, 0.0, 100.0));
    assert_eq!(w.ssthresh, 70.0 * MSS);
    w.cwnd = MSS;
    let mut now = 1.0;
    while w.cwnd < w.ssthresh {
        cc.grow(&mut w, &ack(now, 1));
        now += 0.01;
    }
    cc.grow(&mut w, &ack(now, 1));
    // RFC 9438 section 4.8.
    assert_eq!((cc.observe("k"), cc.observe("w_max")), (Some(0.0), Some(70.0)));
}

#[test]
fn a_needless_reduction_is_forgotten_while_the_window_is_below() {
    let reduced = || {
        let mut cc = cubic("rfc", "standard", &[]);
        let w = Window { cwnd: 100.0 * MSS, ssthresh: MSS };
        cc.ssthresh(&w, &event(Signal::Loss, 0.0, 100.0));
        cc.grow(&mut Window { cwnd: 70.0 * MSS, ssthresh: 70.0 * MSS }, &ack(1.0, 1));
        let k = cc.observe("k");
        cc.ssthresh(&Window { cwnd: 90.0 * MSS, ssthresh: MSS }, &event(Signal::Loss, 2.0, 90.0));
        (cc, k)
    };
    let undo = |cc: &mut Cubic, cwnd: f64| {
        let mut w = Window { cwnd: cwnd * MSS, ssthresh: MSS };
        let before = Window { cwnd: 90.0 * MSS, ssthresh: MSS };
        cc.on_spurious_loss(&mut w, &Spurious { before, to: UndoTo::Before, mss: MSS });
        assert_eq!(w.cwnd, cwnd.max(90.0) * MSS);
    };
    let (mut cc, k) = reduced();
    undo(&mut cc, 63.0);
    assert_eq!((cc.observe("w_max"), cc.observe("k")), (Some(100.0), k));
    let (mut cc, _) = reduced();
    undo(&mut cc, 95.0); // RFC 9438 section 4.9.2: too late
    assert_eq!(cc.observe("w_max"), Some(76.5));
}

#[test]
fn idle_time_and_unused_windows_do_not_count() {
    // The same four ACKs; in the second and third run ten seconds pass in between in which nothing may grow.
    let grown = |pause: &dyn Fn(&mut Cubic) -> f64| {
        let mut cc = cubic("rfc", "standard", &[]);
        let mut w = Window { cwnd: 70.0 * MSS, ssthresh: 70.0 * MSS };
        cc.ssthresh(&Window { cwnd: 100.0 * MSS, ssthresh: MSS }, &event(Signal::Loss, 0.0, 100.0));
        cc.grow(&mut w, &ack(1.0, 1));
        cc.grow(&mut w, &ack(1.5, 1));
        let later = pause(&mut cc);
        cc.grow(&mut w, &ack(2.0 + later, 1));
        cc.grow(&mut w, &ack(2.5 + later, 1));
        w.cwnd
    };
    let plain = grown(&|_| 0.0);
    let idle = grown(&|cc| {
        cc.on_idle_restart(Duration::from_millis(10_000));
        10.0
    });
    let held = grown(&|cc| {
        cc.on_application_limited(seconds(6.5));
        cc.on_application_limited(seconds(11.5));
        10.0
    });
    assert!((plain - idle).abs() < 1e-6 && (plain - held).abs() < 1e-6);
    let counted = grown(&|_| 10.0);
    assert!(counted > plain + 100.0);
}

#[test]
fn plain_slow_start_adds_a_segment_an_ack_or_all_that_linux_saw() {
    let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
    cubic("rfc", "standard", &[]).grow(&mut w, &ack(0.0, 2));
    assert_eq!(w.cwnd, 11.0 * MSS); // RFC 5681 equation 2
    cubic("linux", "standard", &[]).grow(&mut w, &ack(0.0, 2));
    assert_eq!(w.cwnd, 13.0 * MSS);
}

/// Slow start at 10 ms a packet behind 100 ms: the window at which it ends. `rise` is what each round trip has on top for
/// each packet of the window above 20.
fn leaves_at(cc: &mut Cubic, rise: f64) -> f64 {
    let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
    let (mut una, mut next, mut now) = (0u64, 10_000u64, 0.0);
    for _ in 0..2000 {
        let rtt = 0.1 + rise * (w.cwnd / MSS - 20.0).max(0.0);
        now += rtt * MSS / w.cwnd;
        una += 1000;
        cc.grow(&mut w, &Acked { una, next, rtt: Some(Duration::from_seconds(rtt)), ..ack(now, 1) });
        next = next.max(una + w.cwnd as u64);
        if w.ssthresh.is_finite() {
            return w.ssthresh / MSS;
        }
    }
    f64::INFINITY
}

#[test]
fn both_hybrid_starts_leave_when_the_delay_rises_and_the_plain_one_does_not() {
    assert_eq!(leaves_at(&mut cubic("rfc", "standard", &[]), 1e-3), f64::INFINITY);
    let linux = leaves_at(&mut cubic("linux", "hystart", &[]), 1e-3);
    assert!(linux < 100.0, "{linux}");
    let conservative = leaves_at(&mut cubic("rfc", "hystart++", &[]), 1e-3);
    assert!(conservative > linux && conservative < 1000.0, "{conservative}");
}

#[test]
fn after_an_early_exit_the_plateau_is_there_and_the_maximum_known() {
    let mut cc = cubic("rfc", "hystart++", &[]);
    let left = leaves_at(&mut cc, 1e-3);
    // RFC 9438 section 4.10: K = 0, W_max = cwnd, cwnd_prior = cwnd, so that the pace is Reno's: 1 / cwnd an ACK.
    assert_eq!((cc.observe("k"), cc.observe("w_max")), (Some(0.0), Some(left)));
    assert!((cc.observe("w_est").unwrap_or(0.0) - left - 1.0 / left).abs() < 1e-9);
}

#[test]
fn hystart_plus_plus_adds_eight_segments_at_most_and_is_for_the_first_slow_start() {
    let mut cc = cubic("rfc", "hystart++", &[]);
    let mut w = Window { cwnd: 20.0 * MSS, ssthresh: f64::INFINITY };
    cc.grow(&mut w, &ack(0.0, 12));
    assert_eq!(w.cwnd, 28.0 * MSS); // RFC 9406 section 4.3, L
    w.ssthresh = cc.ssthresh(&w, &event(Signal::Timeout, 0.1, 28.0));
    w.cwnd = MSS;
    cc.grow(&mut w, &ack(0.2, 12));
    assert_eq!(w.cwnd, 2.0 * MSS); // plain again
}

#[test]
fn an_ack_that_ends_slow_start_spends_the_rest_on_the_curve() {
    let mut cc = cubic("linux", "standard", &[]);
    let mut w = Window { cwnd: 9.0 * MSS, ssthresh: 10.0 * MSS };
    cc.grow(&mut w, &ack(0.0, 22));
    // One packet to the threshold, 21 for the curve: more than 10 * 15 / 8 = 18, so that Reno has 11, and cnt is 10 / 1.
    assert_eq!(w.cwnd, 12.0 * MSS);
}

/// The mean window of `cycles` cycles with a loss after each 1/p packets (round-trip time 0.1 s), and the last maximum.
/// They begin as after a loss at `first` packets.
fn response(form: &str, p: f64, first: f64, cycles: usize) -> (f64, f64) {
    let mut cc = cubic(form, "standard", &[("fast_convergence", Value::Flag(false))]);
    let mut w = Window { cwnd: first * MSS, ssthresh: MSS };
    let (mut now, mut packets, mut top) = (0.0, 0.0, first);
    for _ in 0..cycles {
        w.ssthresh = cc.ssthresh(&w, &event(Signal::Loss, now, w.cwnd / MSS));
        w.cwnd = w.ssthresh;
        let mut sent = 0.0;
        while sent < 1.0 / p {
            now += 0.1 * MSS / w.cwnd;
            cc.grow(&mut w, &ack(now, 1));
            sent += 1.0;
        }
        packets += sent;
        top = w.cwnd / MSS;
    }
    (packets / (now / 0.1), top)
}

#[test]
fn the_response_function_is_that_of_the_rfc() {
    for form in ["rfc", "linux"] {
        // RFC 9438 section 5.1, table 1. The mean of the concave profile is W_max (1 - 0.3 / 4).
        for (p, expected) in [(1e-4, 187.0), (1e-5, 1054.0)] {
            let top = expected / 0.925;
            let (mean, _) = response(form, p, top, 40);
            assert!((mean / expected - 1.0).abs() < 0.03, "{form} at {p}: {mean} for {expected}");
            // Near the plateau the way back is slow: the error falls with its own cube (in whole numbers down to one packet).
            let (_, above) = response(form, p, 1.5 * top, 20);
            let (_, below) = response(form, p, 0.6 * top, 20);
            assert!(above < 1.35 * top && below > 0.8 * top, "{form} at {p}: {below} and {above} for {top}");
        }
        // The Reno-friendly region: 38 packets, as Reno has; its sawtooth ends at 38 / 0.85.
        let (mean, _) = response(form, 1e-3, 45.0, 60);
        assert!((mean / 38.0 - 1.0).abs() < 0.1, "{form}: {mean}");
    }
}
