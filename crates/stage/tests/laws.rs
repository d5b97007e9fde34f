//! Laws of meters: what their definitions promise for any arrivals.

use evenflow_base::{Duration, Packet, Time, ip};
use evenflow_stage::activity_meter::{self, ActivityMeter};
use evenflow_stage::csfq_edge::CsfqEdge;
use evenflow_stage::rate_meter::{RateMeter, Start};
use evenflow_stage::{Station, Stepper};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(4),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn packet(size: u16) -> Packet {
    Packet { ip: ip::DATAGRAM, ..Packet::new(0, size, size) }
}

fn meter(reference_rate: f64, fair: bool) -> ActivityMeter {
    ActivityMeter::new(activity_meter::Params {
        memory: Duration::from_seconds(3.0),
        reference_rate,
        accounting: vec![1.0],
        start: Start::Run,
        fair,
    })
}

/// P(A < a) = min(1, 2^a R_r / R_m) for the fair meter at a steady rate (Menth and Zeitler 2018, section III-E), by Kolmogorov's test:
/// the largest distance exceeds 2.2 / sqrt(n) once in 8000 tries, and the stream is fixed.
#[test]
fn fair_activities_have_the_distribution_of_a_uniform_part_of_the_rate() {
    let (reference, n) = (10e3, 20_000);
    let mut fair = meter(reference, true);
    let mut normal = meter(reference, false);
    let mut by_hand = Stepper::new(1);
    let mut uniform: Vec<f64> = Vec::with_capacity(n);
    for i in 0..n as u64 {
        let now = Time(30_000_000_000 + i * 2_400_000);
        let (mut f, mut m) = (packet(1500), packet(1500));
        fair.forward(&mut f, &mut by_hand.cx(now));
        normal.forward(&mut m, &mut by_hand.cx(now));
        // 2^A R_r / R_m, which must be uniform on (0, 1).
        uniform.push(libm::exp2(f.label - m.label));
    }
    uniform.sort_by(f64::total_cmp);
    let distance = uniform.iter().enumerate().map(|(i, u)| {
        let (below, upto) = (i as f64 / n as f64, (i + 1) as f64 / n as f64);
        (u - below).abs().max((upto - u).abs())
    });
    let distance = distance.fold(0.0, f64::max);
    assert!(uniform[0] > 0.0 && uniform[n - 1] <= 1.0);
    assert!(distance < 2.2 / (n as f64).sqrt(), "{distance}");
}

fn arrivals() -> impl Strategy<Value = Vec<(u16, u64)>> {
    prop::collection::vec((40u16..1501, prop_oneof![Just(0u64), 1u64..3_000_000_000]), 1..200)
}

proptest! {
    #![proptest_config(config(300))]

    /// TDRM-UTEMA is a weighted mean of the traffic: S(t) T(t) in closed form, never negative, falling in silence, and
    /// linear in the sizes.
    #[test]
    fn the_rate_meter_is_its_closed_form(arrivals in arrivals(), memory in 0.05..10.0f64) {
        let mut once = RateMeter::new(Duration::from_seconds(memory), Start::Run);
        let mut twice = once;
        let memory = Duration::from_seconds(memory).seconds();
        let mut past: Vec<(Time, f64)> = Vec::new();
        let mut now = Time(1_000_000);
        for (size, gap) in arrivals {
            now += Duration(gap);
            past.push((now, f64::from(size)));
            let rate = once.add(f64::from(size), now);
            let double = twice.add(2.0 * f64::from(size), now);
            let sum: f64 = past.iter().map(|(at, s)| s * libm::exp(-now.since(*at).seconds() / memory)).sum();
            let time = -memory * libm::expm1(-now.seconds() / memory);
            prop_assert!((rate / (8.0 * sum / time) - 1.0).abs() < 1e-9);
            prop_assert!((double / rate - 2.0).abs() < 1e-9);
            prop_assert!(once.rate(now + Duration::from_millis(10)) < rate * (1.0 + 1e-12));
        }
    }

    /// Activities fall by k where the reference rate is 2^k times as large; labels are never undefined.
    #[test]
    fn activities_scale_with_the_reference_rate(arrivals in arrivals(), k in -20i32..20) {
        let (mut here, mut there) = (meter(10e3, false), meter(10e3 * libm::exp2(f64::from(k)), false));
        let mut by_hand = Stepper::new(1);
        let mut now = Time(1_000_000);
        for (size, gap) in arrivals {
            now += Duration(gap);
            let (mut a, mut b) = (packet(size), packet(size));
            here.forward(&mut a, &mut by_hand.cx(now));
            there.forward(&mut b, &mut by_hand.cx(now));
            prop_assert!(a.label.is_finite());
            prop_assert!((a.label - b.label - f64::from(k)).abs() < 1e-9);
        }
    }

    /// The edge's label is finite and not negative, whatever comes, and between the old estimate and the rate of the gap.
    #[test]
    fn the_csfq_edge_averages(arrivals in arrivals()) {
        let mut edge = CsfqEdge::new(Duration::from_millis(100), 1.0);
        let (mut now, mut last, mut pending) = (Time(1_000_000), Time::ZERO, 0.0);
        for (size, gap) in arrivals {
            now += Duration(gap);
            let before = edge.label();
            pending += f64::from(size) * 8.0;
            let mut p = packet(size);
            edge.forward(&mut p, &mut Stepper::new(1).cx(now));
            prop_assert!(p.label.is_finite() && p.label >= 0.0);
            if now > last {
                let rate = pending / now.since(last).seconds();
                let slack = 1e-9 * rate.max(before);
                prop_assert!(p.label >= before.min(rate) - slack && p.label <= before.max(rate) + slack);
                (last, pending) = (now, 0.0);
            } else {
                prop_assert_eq!(p.label, before);
            }
        }
    }
}
