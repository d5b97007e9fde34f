//! The queue discipline as a whole: what goes in comes out, is dropped or waits, whatever rule and scheduler it is made of.

use std::sync::Arc;

use evenflow_base::credit;
use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, Packet, Rate, Reason, Stream, Time, Verdict, ip};
use evenflow_queue::held::{Owner, Served};
use evenflow_queue::htb::{ClassParams, Discipline, LeafParams, Params};
use evenflow_queue::{
    Admission, Gate, Htb, Limit, LinkFacts, Next, Qdisc, Queued, Scheduler, Setting, codel, fq_codel, sfq,
};
use proptest::prelude::*;

const RATE: Rate = Rate(8e6); // a byte a microsecond

fn rule(kind: &str) -> Admission {
    let mut values = Values::default();
    let seconds = |x| Value::Seconds(x);
    let params: Vec<(&'static str, Value)> = match kind {
        "codel" | "fq-codel" => vec![
            ("target", seconds(0.005)),
            ("interval", seconds(0.1)),
            ("max_packet", Value::Bytes(1500.0)),
            ("ecn", Value::Flag(true)),
            ("flows", Value::Number(4.0)),
            ("quantum", Value::Bytes(1514.0)),
            ("drop_batch", Value::Number(64.0)),
        ],
        "constant-probability" => {
            vec![("probability", Value::Number(0.2)), ("action", Value::Word("drop".into()))]
        }
        _ => Vec::new(),
    };
    values.0.extend(params);
    Admission::build(kind, &values, LinkFacts { rate: Some(RATE), delay: Duration::ZERO, classes: &[] })
        .expect("sound")
}

fn leaf(discipline: Discipline) -> ClassParams {
    ClassParams {
        parent: Some(0),
        rate: Rate(1e6),
        ceil: RATE,
        burst: 3000,
        cburst: 3000,
        priority: 0,
        quantum: 1500,
        overhead: 0,
        mpu: 0,
        leaf: LeafParams { limit: Limit::Packets(6), discipline },
    }
}

/// A tree with a leaf for each kind of discipline that a leaf may hold.
fn tree() -> Scheduler {
    let kinds = [
        Discipline::Fifo,
        Discipline::Sfq(sfq::Params { divisor: 4, ..sfq::Params::DEFAULT }),
        Discipline::Codel(codel::Params::DEFAULT),
        Discipline::FqCodel(fq_codel::Params { flows: 4, ..fq_codel::Params::DEFAULT }),
    ];
    let root = ClassParams { parent: None, rate: RATE, ..leaf(Discipline::Fifo) };
    let classes = [root].into_iter().chain(kinds.map(leaf)).map(Arc::new).collect();
    let leaves = (1..5).map(Some).collect();
    let params = Params { arithmetic: credit::Arithmetic::Real, r2q: 10.0, classes, leaves };
    Scheduler::Htb(Box::new(Htb::new(params, Arc::from([]), &Stream::new(1, "hash"))))
}

fn scheduler(kind: &str) -> Scheduler {
    if kind == "htb" {
        return tree();
    }
    let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
    let values = Values(
        [
            ("order", Value::Names(names.clone())),
            ("quantum", Value::Bytes(600.0)),
            ("overflow", Value::Word("longest".into())),
            ("divisor", Value::Number(4.0)),
            ("flows", Value::Number(4.0)),
            ("target", Value::Seconds(0.005)),
            ("interval", Value::Seconds(0.1)),
            ("max_packet", Value::Bytes(1500.0)),
            ("drop_batch", Value::Number(64.0)),
            ("rate", Value::Rate(4e6)),
            ("burst", Value::Bytes(3000.0)),
            ("arithmetic", Value::Word("real".into())),
        ]
        .into(),
    );
    let owners = vec![Owner { weight: 1.0, each: None }; 4];
    let hash = Stream::new(1, "hash");
    let served = Served { classes: &names, owners: &owners, keys: Arc::from([]), hash: &hash };
    Scheduler::build(kind, &values, &served).expect("sound")
}

fn qdisc(rule_kind: &str, scheduler_kind: &str, limit: Limit) -> Qdisc {
    let gate = Gate::new(rule(rule_kind), limit, Stream::new(1, "rule"), Some(RATE));
    Qdisc::new(gate, scheduler(scheduler_kind))
}

fn item(id: u64, key: usize, size: u16, at: u64) -> Queued {
    let packet = Packet { seq: id, ip: ip::DATAGRAM, ..Packet::new(key as u32, size, size) };
    Queued { packet, at: Time(at) }
}

/// Rules and schedulers that go together.
const PAIRS: [(&str, &str); 12] = [
    ("droptail", "fifo"),
    ("droptail", "strict"),
    ("droptail", "medf"),
    ("droptail", "drr"),
    ("droptail", "sfq"),
    ("droptail", "tbf"),
    ("droptail", "htb"),
    ("codel", "fifo"),
    ("codel", "drr"),
    ("fq-codel", "fq-codel"),
    ("constant-probability", "sfq"),
    ("constant-probability", "htb"),
];

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
