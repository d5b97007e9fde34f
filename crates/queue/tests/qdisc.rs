//! The queue discipline as a whole: what goes in comes out, is dropped or waits, whatever rule and scheduler it is made of.

use evenflow_base::{Packet, Rate, Reason, Time, Verdict};
use evenflow_queue::{Limit, Next, Qdisc, Queued, Setting};
use proptest::prelude::*;

use crate::kinds::{PAIRS, item, qdisc};

proptest! {
    /// Every packet leaves once, is dropped once, or waits; a free transmitter is never idle while a packet may leave; and what
    /// waits obeys the limit.
    #[test]
    fn packets_are_conserved(
        pair in 0..PAIRS.len(),
        limit in 1u32..12,
        arrivals in prop::collection::vec((0usize..4, 60u16..1500, 0u64..3000), 1..200),
    ) {
        let (rule_kind, scheduler_kind) = PAIRS[pair];
        let mut q = qdisc(rule_kind, scheduler_kind, Limit::Packets(limit));
        let mut dropped = Vec::new();
        let mut fate = vec![0u32; arrivals.len()];
        let (mut now, mut free, mut refused) = (0u64, 0u64, 0u32);
        let mut wake = Time::NEVER;
        for (id, (key, size, later)) in arrivals.iter().enumerate() {
            let arrives = now + later * 1000;
            // What leaves until then.
            loop {
                let due = if q.is_busy() { Time(free) } else { wake };
                if due.0 > arrives { break }
                now = due.0;
                match q.next(Time(now), &mut dropped) {
                    Next::Packet(sent, _) => {
                        fate[sent.packet.seq as usize] += 1;
                        (free, wake) = (now + u64::from(sent.packet.size) * 1000, Time::NEVER);
                    }
                    Next::At(at) => {
                        prop_assert!(at > Time(now) && q.packets() > 0);
                        wake = at;
                    }
                    Next::Nothing => {
                        prop_assert_eq!(q.packets(), 0);
                        wake = Time::NEVER;
                    }
                }
            }
            now = arrives;
            let verdict = q.offer(item(id as u64, *key, *size, now), *key, &mut dropped);
            if verdict.is_drop() {
                refused += 1;
                fate[id] += 1;
            }
            prop_assert!(q.packets() <= limit, "{} wait", q.packets());
            if !q.is_busy() && !verdict.is_drop() {
                match q.next(Time(now), &mut dropped) {
                    Next::Packet(sent, _) => {
                        fate[sent.packet.seq as usize] += 1;
                        (free, wake) = (now + u64::from(sent.packet.size) * 1000, Time::NEVER);
                    }
                    Next::At(at) => wake = at,
                    Next::Nothing => wake = Time::NEVER,
                }
            }
        }
        dropped.iter().for_each(|(item, _)| fate[item.packet.seq as usize] += 1);
        let mut held = 0;
        q.for_each(|item| { fate[item.packet.seq as usize] += 1; held += 1; });
        prop_assert_eq!(held, q.packets());
        prop_assert!(fate.iter().all(|n| *n == 1), "{:?}, {} refused", fate, refused);
    }
}

#[test]
fn a_free_transmitter_takes_any_packet_and_then_the_limit_counts_those_that_wait() {
    let mut q = qdisc("droptail", "fifo", Limit::Bytes(100));
    let mut dropped = Vec::new();
    assert_eq!(q.offer(item(0, 0, 1500, 0), 0, &mut dropped), Verdict::Accept);
    assert!(matches!(q.next(Time(0), &mut dropped), Next::Packet(..)));
    assert_eq!(q.offer(item(1, 0, 101, 1), 0, &mut dropped), Verdict::Drop(Reason::Limit));
    assert_eq!(q.offer(item(2, 0, 100, 2), 0, &mut dropped), Verdict::Accept);
    assert_eq!((q.packets(), q.observe(None, "bytes", Time(2))), (1, Some(100.0)));
}

#[test]
fn a_limit_in_time_follows_the_rate_and_a_new_limit_holds_at_once() {
    let mut q = qdisc("droptail", "fifo", Limit::Seconds(0.003)); // 3000 bytes at a byte a microsecond
    let mut dropped = Vec::new();
    let mut offer = |q: &mut Qdisc, id| q.offer(item(id, 0, 1000, id), 0, &mut dropped) == Verdict::Accept;
    assert!(offer(&mut q, 0));
    assert!(matches!(q.next(Time(0), &mut Vec::new()), Next::Packet(..)));
    assert!(offer(&mut q, 1) && offer(&mut q, 2));
    assert_eq!(q.observe(None, "wait", Time(2)), Some(0.002));
    q.set(Setting::LinkRate(Rate(4e6)), Time(3), &mut Vec::new()); // 1500 bytes: what waits is too much already, and stays
    assert_eq!((offer(&mut q, 4), q.packets()), (false, 2));
    assert_eq!(q.observe(None, "wait", Time(4)), Some(0.004));
    q.set(Setting::Limit(Limit::Packets(3)), Time(5), &mut Vec::new());
    assert!(offer(&mut q, 6) && !offer(&mut q, 7));
}

#[test]
fn a_class_holds_a_discipline_with_a_limit_of_its_own() {
    let mut q = qdisc("droptail", "htb", Limit::None);
    let mut dropped = Vec::new();
    let verdicts: Vec<bool> =
        (0..9).map(|id| q.offer(item(id, 0, 1000, 0), 0, &mut dropped).is_drop()).collect();
    // Nobody asks: the first finds a free link, whatever its leaf says, and six wait in the leaf.
    assert_eq!(verdicts.iter().filter(|dropped| **dropped).count(), 3);
    assert_eq!(q.observe(Some(1), "packets", Time(0)), Some(6.0));
    assert_eq!(q.observe(Some(1), "drops", Time(0)), Some(3.0));
    assert_eq!(q.observe(Some(2), "packets", Time(0)), Some(0.0));
    // The leaf with SFQ pushes out for its own newcomers: of two flows the one with more packets pays.
    let offer = |q: &mut Qdisc, id, flow: usize, dropped: &mut Vec<_>| {
        let packet = Packet { seq: id, ..Packet::new(flow as u32, 1000, 1000) };
        q.offer(Queued { packet, at: Time(0) }, 1, dropped)
    };
    for id in 10..16 {
        assert_eq!(offer(&mut q, id, 1, &mut dropped), Verdict::Accept);
    }
    // The first flow that is hashed elsewhere.
    assert!((3..20).any(|flow| offer(&mut q, 20, flow, &mut dropped) == Verdict::Accept));
    assert_eq!(
        dropped.iter().map(|(item, reason)| (item.packet.seq, *reason)).collect::<Vec<_>>(),
        [(15, Reason::PushedOut)]
    );
    assert_eq!(q.packets(), 12);
}

#[test]
fn in_hand_mode_every_packet_waits() {
    let mut q = qdisc("droptail", "strict", Limit::None).holding_all();
    let mut dropped = Vec::new();
    q.offer(item(0, 1, 100, 0), 1, &mut dropped);
    q.offer(item(1, 0, 100, 0), 0, &mut dropped);
    let next = |q: &mut Qdisc| match q.next(Time(0), &mut Vec::new()) {
        Next::Packet(item, _) => Some(item.packet.seq),
        _ => None,
    };
    assert_eq!([next(&mut q), next(&mut q), next(&mut q)], [Some(1), Some(0), None]);
}
