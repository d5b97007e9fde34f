//! Laws of congestion policers, for any arrivals: what they charge in every interval, and that every packet is accounted for.

use evenflow_base::packet::ip;
use evenflow_base::{Codepoint, Duration, Packet, Stream, Time};
use evenflow_stage::congestion_policer::{Action, Charge, CongestionPolicer, Harshness, Params};
use evenflow_stage::three_colour::Unit;
use evenflow_stage::{Pass, Station};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A size, the gap before it in ns, a codepoint.
type Arrival = (u16, u64, Codepoint);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    use Codepoint::{Cancelled, Credit, Legacy, Negative, NotCapable, NotMarked, ReEcho};
    let code = prop_oneof![
        4 => Just(ReEcho),
        4 => Just(NotMarked),
        1 => prop::sample::select(vec![NotCapable, Credit, Legacy, Cancelled, Negative]),
    ];
    let gap = prop_oneof![Just(0u64), 1u64..30_000_000, 1u64..400_000_000];
    prop::collection::vec((40u16..1501, gap, code), 1..250)
}

prop_compose! {
    fn params()(
        bytes: bool,
        rate in 0.5..200.0f64,
        depth in 0.5..60.0f64,
        level in 0.0..=1.0f64,
        harshness in prop::sample::select(vec![Harshness::Strict, Harshness::Mild, Harshness::Soft]),
        pass: bool,
        floor: bool,
        credit: bool,
        cancelled: bool,
        legacy: bool,
    ) -> Params {
        let (unit, of) = if bytes { (Unit::Bytes, 1500.0) } else { (Unit::Packets, 1.0) };
        let charge = if pass { Charge::Pass } else { Charge::Arrival };
        let (rate, depth) = (rate * of, depth * of);
        Params {
            unit, rate, depth, floor: floor && !pass, level: level * depth, harshness, charge, action: Action::Drop, credit, cancelled, legacy,
        }
    }
}

fn packet(size: u16, codepoint: Codepoint) -> Packet {
    let mut packet = Packet { ip: ip::DATAGRAM, ..Packet::new(0, size, size) }.with_ecn(codepoint.ecn());
    packet.set_re(codepoint.re());
    packet
}

fn seen(policer: &CongestionPolicer, name: &str, now: Time) -> f64 {
    policer.observe(name, now).unwrap_or(f64::NAN)
}

proptest! {
    #![proptest_config(config(400))]

    /// `pass`: in every interval of length t no more is charged than depth + rate * t, the debt at which everything is dropped, and
    /// one packet. What is charged without a debt stays within depth + rate * t.
    #[test]
    fn charged_if_they_pass_no_interval_is_overcharged(params in params(), arrivals in arrivals(), seed: u64) {
        let params = Params { charge: Charge::Pass, floor: false, ..params };
        let (mut policer, mut draws) = (CongestionPolicer::new(params), Stream::new(seed, "law"));
        let (mut now, mut charges) = (Time::ZERO, Vec::new());
        for (size, gap, code) in arrivals {
            now += Duration(gap);
            let before = seen(&policer, "charged", now);
            let _ = policer.meet(&mut packet(size, code), now, &mut draws);
            let cost = seen(&policer, "charged", now) - before;
            if cost > 0.0 {
                charges.push((now, cost, seen(&policer, "tokens", now)));
            }
        }
        let largest = if params.unit == Unit::Bytes { 1500.0 } else { 1.0 };
        let debt = params.harshness.end(params.depth) + largest;
        for (i, first) in charges.iter().enumerate() {
            let mut sum = 0.0;
            for last in &charges[i..] {
                sum += last.1;
                let may = params.depth + params.rate * last.0.since(first.0).seconds();
                prop_assert!(sum <= may + debt + 1e-6 * may);
                prop_assert!(last.2 < 0.0 || sum <= may * (1.0 + 1e-9) + 1e-6);
            }
        }
        prop_assert!(seen(&policer, "least_tokens", now) >= -debt - 1e-6);
    }

    /// Every packet that arrived went on or was dropped; with a floor the debt ends there; the level is what came less what was
    /// charged where the bucket was never full and there is no floor; and packets that are not ConEx never meet it unless asked.
    #[test]
    fn packets_and_tokens_are_accounted_for(params in params(), arrivals in arrivals(), seed: u64) {
        let (mut policer, mut draws) = (CongestionPolicer::new(params), Stream::new(seed, "law"));
        let (mut now, mut on, mut dropped, mut bypassed) = (Time::ZERO, 0u64, 0u64, 0u64);
        let mut full = params.level >= params.depth;
        for (size, gap, code) in &arrivals {
            now += Duration(*gap);
            full |= seen(&policer, "tokens", now) >= params.depth;
            let arrived = seen(&policer, "arrived", now);
            let before = packet(*size, *code);
            let mut after = before;
            match policer.meet(&mut after, now, &mut draws) {
                Pass::On => on += 1,
                Pass::Drop(_) => dropped += 1,
                other => panic!("{other:?}"),
            }
            prop_assert_eq!(before, after, "a policer that drops changes nothing");
            let legacy = matches!(code, Codepoint::NotCapable | Codepoint::Legacy)
                || *code == Codepoint::Cancelled && !params.cancelled;
            let met = seen(&policer, "arrived", now) > arrived;
            prop_assert_eq!(met, params.legacy || !legacy);
            bypassed += u64::from(!met);
        }
        prop_assert_eq!(on + dropped, arrivals.len() as u64);
        prop_assert_eq!(seen(&policer, "policed", now), dropped as f64);
        prop_assert_eq!(seen(&policer, "arrived", now), (on + dropped - bypassed) as f64);
        prop_assert_eq!(policer.observe("first_drop", now).is_some(), dropped > 0);
        if params.floor {
            prop_assert!(seen(&policer, "least_tokens", now) >= -params.harshness.end(params.depth));
        } else if !full {
            let level = params.level + params.rate * now.seconds() - seen(&policer, "charged", now);
            prop_assert!((seen(&policer, "tokens", now) - level).abs() <= 1e-6 * (1.0 + level.abs()));
        }
    }

    /// Drop functions fall with the level, from all to nothing.
    #[test]
    fn drop_functions_are_monotone(depth in 0.1..1e6f64, a in -2.0..2.0f64, b in -2.0..2.0f64) {
        let (low, high) = (a.min(b) * depth, a.max(b) * depth);
        for harshness in [Harshness::Strict, Harshness::Mild, Harshness::Soft] {
            let share = |level: f64| harshness.probability(level, depth);
            prop_assert!(share(low) >= share(high));
            prop_assert!((0.0..=1.0).contains(&share(low)));
            prop_assert_eq!(share(-harshness.end(depth) * (1.0 + 1e-12)), 1.0);
            prop_assert_eq!(share(1e-300), 0.0);
        }
    }
}
