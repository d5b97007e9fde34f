//! Laws of policers and shapers: what RFC 2697, RFC 2698 and RFC 2212 promise for any arrivals, in every interval.

use evenflow_base::bucket::Params;
use evenflow_base::credit::Arithmetic;
use evenflow_base::limit::Limit;
use evenflow_base::{Duration, Packet, Rate, Time};
use evenflow_stage::three_colour::{Beyond, Colour, Meter, Profile, Unit};
use evenflow_stage::{Act, Pass, Shaper, Station, Stepper};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A packet as a meter saw it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Time,
    /// In the meter's unit.
    amount: f64,
    before: Colour,
    after: Colour,
}

/// The most beyond `rate` (per second) that packets of at most this colour were in any interval that begins with a packet and
/// ends with one, both counted; no other can be worse.
fn excess(seen: &[Seen], rate: f64, worst: Colour) -> f64 {
    let mine: Vec<&Seen> = seen.iter().filter(|s| s.after <= worst).collect();
    let mut most = f64::NEG_INFINITY;
    for (i, first) in mine.iter().enumerate() {
        let mut amount = 0.0;
        for last in &mine[i..] {
            amount += last.amount;
            most = most.max(amount - rate * last.at.since(first.at).seconds());
        }
    }
    most
}

fn arrivals() -> impl Strategy<Value = Vec<(u16, u64, Colour)>> {
    let colour = prop_oneof![3 => Just(Colour::Green), 1 => Just(Colour::Yellow), 1 => Just(Colour::Red)];
    let gap = prop_oneof![Just(0u64), 1u64..200_000, 1u64..30_000_000];
    prop::collection::vec((40u16..1501, gap, colour), 1..150)
}

fn through(meter: &mut Meter, unit: Unit, arrivals: &[(u16, u64, Colour)]) -> Vec<Seen> {
    let mut now = Time::ZERO;
    let see = |&(size, gap, before): &(u16, u64, Colour)| {
        now += Duration(gap);
        let amount = if unit == Unit::Packets { 1.0 } else { f64::from(size) };
        Seen { at: now, amount, before, after: meter.colour(size, before, now) }
    };
    arrivals.iter().map(see).collect()
}

/// Amounts a second of a rate.
fn speed(unit: Unit, rate: f64) -> f64 {
    if unit == Unit::Packets { rate } else { rate / 8.0 }
}

/// A rate between 100 kbit/s and 100 Mbit/s or as many full frames a second, and bursts in the unit.
fn setting() -> impl Strategy<Value = (Unit, f64, u64, u64)> {
    let bytes = (1e5..1e8f64, 1500u64..30_000, 0u64..30_000);
    let packets = (1e1..1e4f64, 1u64..20, 0u64..20);
    prop_oneof![
        bytes.prop_map(|(rate, burst, more)| (Unit::Bytes, rate, burst, more)),
        packets.prop_map(|(rate, burst, more)| (Unit::Packets, rate, burst, more)),
    ]
}

/// Below this, amounts are the same.
const SAME: f64 = 1e-3;

proptest! {
    #![proptest_config(config(400))]

    /// RFC 2697: green is never more than CIR * t + CBS in any interval, green and yellow never more than CIR * t + CBS + EBS, and no
    /// packet gets a better colour than it had.
    #[test]
    fn a_single_rate_marker_conforms_in_every_interval((unit, rate, burst, more) in setting(), arrivals in arrivals()) {
        let mut meter = Meter::new(unit, Profile { rate, burst }, Beyond::Excess(more));
        let seen = through(&mut meter, unit, &arrivals);
        prop_assert!(excess(&seen, speed(unit, rate), Colour::Green) <= burst as f64 + SAME);
        prop_assert!(excess(&seen, speed(unit, rate), Colour::Yellow) <= (burst + more) as f64 + SAME);
        prop_assert!(seen.iter().all(|s| s.after >= s.before));
    }

    /// RFC 2698: green conforms to CIR and CBS, green and yellow together to PIR and PBS.
    #[test]
    fn a_two_rate_marker_conforms_in_every_interval(
        (unit, rate, burst, more) in setting(),
        faster in 1.0..20.0f64,
        arrivals in arrivals(),
    ) {
        let peak = Profile { rate: rate * faster, burst: more + 1 };
        let mut meter = Meter::new(unit, Profile { rate, burst }, Beyond::Peak(peak));
        let seen = through(&mut meter, unit, &arrivals);
        prop_assert!(excess(&seen, speed(unit, rate), Colour::Green) <= burst as f64 + SAME);
        prop_assert!(excess(&seen, speed(unit, peak.rate), Colour::Yellow) <= peak.burst as f64 + SAME);
        prop_assert!(seen.iter().all(|s| s.after >= s.before));
    }

    /// Nothing is given a worse colour without need: a packet that fits into a bucket of bytes in floating point, with room to
    /// spare, is green, and one that lacks tokens there is not.
    #[test]
    fn a_colour_is_no_worse_than_the_tokens((unit, rate, burst, more) in setting(), arrivals in arrivals()) {
        let mut meter = Meter::new(unit, Profile { rate, burst }, Beyond::Excess(more));
        let seen = through(&mut meter, unit, &arrivals);
        let (mut c, mut e, mut last) = (burst as f64, more as f64, Time::ZERO);
        for s in seen {
            let new = speed(unit, rate) * s.at.since(last).seconds();
            last = s.at;
            let into = new.min(burst as f64 - c);
            c += into;
            e = (e + new - into).min(more as f64);
            let fits = |tokens: f64| (tokens > s.amount + SAME, tokens < s.amount - SAME);
            match s.after {
                Colour::Green => {
                    prop_assert!(!fits(c).1);
                    c -= s.amount;
                }
                Colour::Yellow => {
                    prop_assert!(!fits(e).1 && (s.before != Colour::Green || !fits(c).0));
                    e -= s.amount;
                }
                Colour::Red => prop_assert!(
                    s.before == Colour::Red || !fits(e).0 && (s.before != Colour::Green || !fits(c).0)
                ),
            }
        }
    }

    /// RFC 2212: in no interval does more leave than rate * t + burst, nor than peak * t + mtu; order is kept, nothing is lost, and no
    /// packet waits while there are tokens for it.
    #[test]
    fn a_shaper_conforms_in_every_interval(
        rate in 1e5..1e8f64,
        burst in 1500u64..30_000,
        peak in prop::option::of((1.01..20.0f64, 1500u64..4000)),
        arrivals in arrivals(),
    ) {
        let peak = peak.map(|(times, mtu)| (Rate(rate * times), mtu));
        let params = Params { rate: Rate(rate), burst, peak, arithmetic: Arithmetic::Real };
        let left = shaped(Shaper::new(params, Limit::None), &arrivals);
        prop_assert_eq!(left.iter().map(|l| l.1).collect::<Vec<_>>(), (0..arrivals.len()).collect::<Vec<_>>());
        let seen: Vec<Seen> = left
            .iter()
            .map(|&(at, n)| {
                let amount = f64::from(arrivals[n].0);
                Seen { at, amount, before: Colour::Green, after: Colour::Green }
            })
            .collect();
        prop_assert!(excess(&seen, rate / 8.0, Colour::Green) <= burst as f64 + SAME);
        if let Some((peak, mtu)) = peak {
            prop_assert!(excess(&seen, peak.0 / 8.0, Colour::Green) <= mtu as f64 + SAME);
            return Ok(());
        }
        // A bucket in floating point: each leaves when it arrives, after the one before, or when its tokens have come.
        let (mut tokens, mut last, mut arrived) = (burst as f64, 0.0, 0.0);
        for (&(at, n), s) in left.iter().zip(&seen) {
            arrived += arrivals[n].1 as f64;
            let ready = f64::max(arrived, last);
            let have = f64::min(burst as f64, tokens + (ready - last) * rate / 8e9);
            let due = ready + f64::max(0.0, (s.amount - have) * 8e9 / rate);
            prop_assert!((at.0 as f64 - due).abs() <= 1.0 + 1e-6 * due, "{} is not {due}", at.0);
            tokens = f64::min(burst as f64, tokens + (at.0 as f64 - last) * rate / 8e9) - s.amount;
            last = at.0 as f64;
        }
    }
}

/// When each packet leaves a shaper, and its number, in the order in which they do.
fn shaped(mut shaper: Shaper, arrivals: &[(u16, u64, Colour)]) -> Vec<(Time, usize)> {
    let (mut by_hand, mut alarm, mut left) = (Stepper::new(1), Time::NEVER, Vec::new());
    let note = |by_hand: &mut Stepper, alarm: &mut Time, left: &mut Vec<(Time, usize)>, now: Time| {
        for act in by_hand.acts.drain(..) {
            match act {
                Act::Wake(at) => *alarm = at,
                Act::Release(held) => left.push((now, held.packet.seq as usize)),
                other => panic!("{other:?}"),
            }
        }
    };
    let mut now = Time::ZERO;
    for (n, &(size, gap, _)) in arrivals.iter().enumerate() {
        now += Duration(gap);
        while alarm <= now {
            let at = alarm;
            shaper.wake(&mut by_hand.cx(at));
            note(&mut by_hand, &mut alarm, &mut left, at);
        }
        let mut packet = Packet { seq: n as u64, ..Packet::new(0, size, size) };
        match shaper.forward(&mut packet, &mut by_hand.cx(now)) {
            Pass::On => left.push((now, n)),
            Pass::Held => {}
            other => panic!("{other:?}"),
        }
        note(&mut by_hand, &mut alarm, &mut left, now);
    }
    while alarm != Time::NEVER {
        let at = alarm;
        shaper.wake(&mut by_hand.cx(at));
        note(&mut by_hand, &mut alarm, &mut left, at);
    }
    left
}
