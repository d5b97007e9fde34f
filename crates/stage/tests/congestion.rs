//! Laws of congestion policers and auditors, for any arrivals: what is charged in every interval, that every packet is accounted for,
//! and that an honest flow's balance is never below its credit less what is in flight.

use evenflow_base::codepoint::CODEPOINTS;
use evenflow_base::packet::ip;
use evenflow_base::{Codepoint, Duration, Packet, Stream, Time};
use evenflow_stage::auditor::{self, Audit, Auditor, Losses, Rule};
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
            unit, rate, depth, floor: floor && !pass, level: level * depth, harshness, charge, action: Action::Drop, credit, cancelled, legacy, bits: false,
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

/// A flow of packets that pass marks and losses, and are told of one round trip later: `flight` packets are on their way.
#[derive(Clone, Debug)]
struct Honest {
    flight: usize,
    marks: f64,
    losses: f64,
    /// Credit for a window first.
    credit: bool,
    packets: usize,
    seed: u64,
}

fn honest() -> impl Strategy<Value = Honest> {
    (1usize..60, 0.0..0.2f64, 0.0..0.1f64, any::<bool>(), 50usize..600, any::<u64>()).prop_map(
        |(flight, marks, losses, credit, packets, seed)| Honest {
            flight,
            marks,
            losses,
            credit,
            packets,
            seed,
        },
    )
}

impl Honest {
    /// Sends all packets through `auditor`, which must see all losses at once. Says after each what the balance is, what of the flow's
    /// congestion the sender has not been told of or not yet reported, and how much credit has arrived (with what was
    /// lost before anything arrived).
    fn send(&self, auditor: &mut Auditor, mut each: impl FnMut(f64, f64, f64)) {
        let (mut draws, mut audits) = (Stream::new(self.seed, "network"), Stream::new(self.seed, "audit"));
        let mut told: std::collections::VecDeque<f64> = std::collections::VecDeque::new();
        let (mut owed, mut untold, mut credits, mut next) = (0.0, 0.0, 0, 0u64);
        // Lost before anything arrived: an auditor cannot know.
        let (mut unseen, mut arrived) = (0, false);
        for n in 0..self.packets {
            if told.len() == self.flight {
                let congestion = told.pop_front().unwrap_or(0.0);
                (owed, untold) = (owed + congestion, untold - congestion);
            }
            let mut code = Codepoint::NotMarked;
            let before = owed;
            if owed >= 1.0 {
                (code, owed) = (Codepoint::ReEcho, owed - 1.0);
            } else if self.credit && credits < self.flight {
                (code, credits) = (Codepoint::Credit, credits + 1);
            }
            let seq = next;
            next += 1448;
            if draws.open01() < self.losses {
                // What it reported is lost with it, and is reported again (RFC 7786 section 5).
                owed = if code == Codepoint::ReEcho { before } else { owed };
                credits -= usize::from(code == Codepoint::Credit);
                unseen += usize::from(!arrived);
                told.push_back(1.0);
                untold += 1.0;
                continue;
            }
            arrived = true;
            let marked = draws.open01() < self.marks;
            let after = code.marked(false).filter(|_| marked);
            let congestion = f64::from(u8::from(after.is_some()));
            told.push_back(congestion);
            untold += congestion;
            let mut packet = Packet::new(0, 1500, 1448).with_ecn(after.unwrap_or(code).ecn());
            packet.set_re(code.re());
            let _ = auditor.judge(&packet, seq, 0, Time(n as u64 * 1_000_000), &mut audits);
            each(
                auditor.observe("balance", Time::ZERO).unwrap_or(f64::NAN),
                owed + untold,
                (credits + unseen) as f64,
            );
        }
    }
}

fn balance(losses: bool, allowance: f64) -> Auditor {
    Auditor::new(params_of(losses, allowance))
}

fn params_of(losses: bool, allowance: f64) -> auditor::Params {
    auditor::Params {
        rule: Rule::Balance { limit: 10.0 },
        audit: Audit { ecn: true, loss: losses },
        unit: Unit::Packets,
        allowance,
        delay: Duration::ZERO,
        losses: Losses::Gaps,
        reordering: 1,
        order: auditor::Order::Count,
        own_drops: false,
        action: auditor::Action::Drop,
        together: false,
        apart: false,
        idle: Duration::from_seconds(60.0),
    }
}

proptest! {
    #![proptest_config(config(300))]

    /// An honest flow's balance is the credit that it has given less what it has yet to be told of and to report: with credit for that
    /// it is never below zero, without it is never below what is in flight and owed. Within the allowance nothing is sanctioned.
    #[test]
    fn an_honest_balance_is_never_below_what_is_in_flight(flow in honest()) {
        let mut auditor = balance(true, flow.flight as f64);
        let (mut least, mut wrong) = (0.0f64, None);
        flow.send(&mut auditor, |balance, open, credit| {
            least = least.min(balance);
            if balance != credit - open {
                wrong = Some((balance, open, credit));
            }
        });
        prop_assert!(wrong.is_none(), "{wrong:?}");
        let sanctioned = auditor.observe("sanctioned", Time::ZERO).unwrap_or(f64::NAN);
        prop_assert!(sanctioned == 0.0 || least < -(flow.flight as f64));
    }

    /// Who declares nothing is in debt by all that the auditor saw, and every packet beyond the limit is dropped.
    #[test]
    fn who_declares_nothing_is_caught(marks in 0.02..0.3f64, seed: u64) {
        let (mut auditor, mut draws) = (balance(false, 3.0), Stream::new(seed, "network"));
        let (mut met, mut beyond) = (0u32, 0);
        for n in 0..2_000u64 {
            let code = if draws.open01() < marks { Codepoint::Negative } else { Codepoint::NotMarked };
            met += u32::from(code == Codepoint::Negative);
            let mut packet = packet(1500, code);
            packet.ip &= !ip::DATAGRAM;
            let verdict = auditor.judge(&packet, n * 1500, 0, Time(n * 1_000_000), &mut draws);
            if met >= 10 {
                prop_assert_eq!(verdict, auditor::Verdict::Sanction);
                beyond += 1;
            } else if met <= 3 {
                prop_assert_eq!(verdict, auditor::Verdict::Pass);
            }
        }
        prop_assert_eq!(auditor.observe("balance", Time::ZERO), Some(-f64::from(met)));
        prop_assert!(beyond > 0 && auditor.observe("sanctioned_flows", Time::ZERO) == Some(1.0));
    }

    /// Packets that arrived went on, were sanctioned or wait; the books of all flows together are what packets said and showed; and a
    /// report that is late by less than the delay is not late.
    #[test]
    fn an_auditors_books_add_up(codes in prop::collection::vec((0usize..8, 0u64..5), 1..400), seed: u64) {
        let mut auditor = balance(false, 1.0);
        let (mut draws, mut plus, mut minus, mut seen) = (Stream::new(seed, "law"), 0.0, 0.0, 0.0);
        let mut known = [false; 5];
        for (n, (code, flow)) in codes.iter().enumerate() {
            let code = CODEPOINTS[*code];
            let mut packet = packet(1500, code);
            packet.ip &= !ip::DATAGRAM;
            let _ = auditor.judge(&packet, 0, *flow, Time(n as u64), &mut draws);
            let stranger = !std::mem::replace(&mut known[*flow as usize], true);
            let skipped = code.worth().is_none() || stranger && code == Codepoint::Cancelled;
            if skipped {
                known[*flow as usize] &= !stranger;
                continue;
            }
            seen += 1.0;
            plus += f64::from(matches!(code, Codepoint::Credit | Codepoint::ReEcho | Codepoint::Cancelled) as u8);
            minus += f64::from(matches!(code, Codepoint::Negative | Codepoint::Cancelled) as u8);
        }
        let of = |name| auditor.observe(name, Time::ZERO).unwrap_or(f64::NAN);
        prop_assert_eq!(of("arrived"), seen);
        prop_assert_eq!(of("reports") + of("credits"), plus);
        prop_assert_eq!(of("marks_met"), minus);
        prop_assert_eq!(of("flows"), known.iter().filter(|known| **known).count() as f64);
    }

    /// However packets are shuffled on their way, none is lost for an auditor that looks at timestamps, unless it is late by more
    /// than the window; with losses that are sent again once, each is one loss, and none where the original comes too.
    #[test]
    fn what_is_late_is_never_lost(
        delays in prop::collection::vec((0u64..95, 0u8..10), 2..200),
        again: bool, wraps: bool,
    ) {
        let losses = if again { Losses::Retransmissions } else { Losses::Gaps };
        let order = auditor::Order::Timestamps { late: Duration(100_000_000), repair: Duration(3_000_000_000) };
        let mut auditor = Auditor::new(auditor::Params { losses, order, reordering: 3, ..params_of(true, 3.0) });
        // A packet a millisecond; of ten one is lost and sent again 100 ms later, which takes no time.
        let start = if wraps { u32::MAX - 50 } else { 7 };
        let (mut arrivals, mut lost) = (Vec::new(), 0.0);
        for (n, (delay, what)) in delays.iter().enumerate() {
            let n = n as u64;
            // The first one comes first: what was before it, nobody knows.
            if *what == 0 && n > 0 && n + 100 < delays.len() as u64 {
                arrivals.push((n + 200, n, start.wrapping_add(n as u32 + 100)));
                lost += 1.0;
            } else {
                arrivals.push((n + if n == 0 { 0 } else { 1 + delay }, n, start.wrapping_add(n as u32)));
            }
        }
        arrivals.sort();
        let mut draws = Stream::new(1, "law");
        for (at, n, stamp) in arrivals {
            let mut packet = Packet { stamp, ..Packet::new(0, 1500, 1448) }.with_ecn(Codepoint::NotMarked.ecn());
            packet.set_re(true);
            let _ = auditor.judge(&packet, n * 1448, 0, Time(at * 1_000_000), &mut draws);
        }
        prop_assert_eq!(auditor.observe("losses_met", Time::ZERO), Some(lost));
    }
}
