//! Laws of queues under arbitrary operation: conservation, order, fairness, and what each rule's paper promises.

use std::collections::{BTreeMap, VecDeque};

use evenflow_base::{Duration, Packet, Rate, Stream, Time, ip};
use evenflow_queue::csfq::{self, Csfq, Form};
use evenflow_queue::drr::Drr;
use evenflow_queue::fq::{self, Fq};
use evenflow_queue::medf::Medf;
use evenflow_queue::strict::Strict;
use evenflow_queue::{
    ActivityAqm, FqCodel, Limit, Occupancy, Queued, Reason, Rule, Scheduler, Sfq, Verdict, activity_aqm,
    codel, fq_codel, sfq,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(3),
        failure_persistence: None,
        max_shrink_iters: 1000,
        ..ProptestConfig::default()
    }
}

fn packet(size: u16, label: f64) -> Packet {
    Packet { label, ip: ip::DATAGRAM, ..Packet::new(0, size, size) }
}

fn item(at: u64, size: u16, id: u64) -> Queued {
    Queued { packet: Packet { seq: id, ..packet(size, 0.0) }, at: Time(at) }
}

// --- schedulers ---------------------------------------------------------------------------------------------------

/// The next packet of a scheduler that drops none on the way.
fn served(scheduler: &mut Scheduler) -> Option<Queued> {
    let mut dropped = Vec::new();
    let next = scheduler.dequeue(Time(0), &mut dropped);
    assert!(dropped.is_empty());
    next.map(|(item, mark)| {
        assert!(mark.is_none());
        item
    })
}

/// The one packet that makes room.
fn pushed_out(scheduler: &mut Scheduler, queue: usize, size: u16) -> Option<Queued> {
    let mut dropped = Vec::new();
    assert_eq!(scheduler.push_out(queue, size, &mut dropped), !dropped.is_empty());
    assert!(dropped.len() <= 1);
    dropped.pop().map(|(item, reason)| {
        assert_eq!(reason, Reason::PushedOut);
        item
    })
}

/// Queues of every scheduler under test.
const QUEUES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A packet of this size for this queue, this long after the last one.
    Enqueue(usize, u16, u64),
    Dequeue,
    /// Room is wanted for such a packet.
    PushOut(usize, u16),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let size = prop_oneof![40u16..1600, Just(1500u16), Just(1u16), Just(65_535u16)];
    let op = prop_oneof![
        5 => (0..QUEUES, size.clone(), 0u64..20).prop_map(|(q, s, t)| Op::Enqueue(q, s, t)),
        4 => Just(Op::Dequeue),
        1 => (0..QUEUES, size).prop_map(|(q, s)| Op::PushOut(q, s)),
    ];
    prop::collection::vec(op, 1..400)
}

fn schedulers() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        Just(()).prop_map(|()| Scheduler::Fifo(Box::default())),
        Just((0..QUEUES).collect::<Vec<_>>())
            .prop_shuffle()
            .prop_map(|o| Scheduler::Strict(Box::new(Strict::new(o)))),
        prop::collection::vec(0u64..100, QUEUES)
            .prop_map(|o| Scheduler::Medf(Box::new(Medf::new(o.into_iter().map(Duration).collect())))),
        (prop::collection::vec(1u64..3000, QUEUES), any::<bool>())
            .prop_map(|(quanta, longest)| Scheduler::Drr(Box::new(Drr::new(quanta, longest)))),
        (1i64..3000).prop_map(fair_queues),
    ]
}

/// What a scheduler should hold: each queue's packets in order of arrival.
#[derive(Default)]
struct Model {
    queues: [VecDeque<(u64, u16)>; QUEUES],
    fifo: bool,
}

impl Model {
    fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn bytes(&self, queue: usize) -> u64 {
        self.queues[queue].iter().map(|(_, size)| u64::from(*size)).sum()
    }

    /// The queue a packet is in.
    fn find(&self, id: u64) -> Option<usize> {
        self.queues.iter().position(|q| q.iter().any(|(held, _)| *held == id))
    }
}

proptest! {
    #![proptest_config(config(1000))]

    /// Every packet comes out once, by service or by pushing out; a scheduler that holds a packet serves one (work
    /// conservation); within a queue the order is that of arrival; pushing out takes the last packet of the longest queue
    /// and never makes the newcomer's the longest.
    #[test]
    fn packets_are_conserved_and_keep_their_order(mut scheduler in schedulers(), ops in ops()) {
        let mut model = Model { fifo: matches!(scheduler, Scheduler::Fifo(_)), ..Model::default() };
        let (mut now, mut id) = (0, 0);
        for op in ops {
            match op {
                Op::Enqueue(queue, size, later) => {
                    now += later;
                    id += 1;
                    let queue = if model.fifo { 0 } else { queue };
                    scheduler.enqueue(queue, item(now, size, id));
                    model.queues[queue].push_back((id, size));
                }
                Op::Dequeue => {
                    let served = served(&mut scheduler);
                    prop_assert_eq!(served.is_some(), model.len() > 0);
                    if let Some(served) = served {
                        let queue = model.find(served.packet.seq).expect("held");
                        let head = model.queues[queue].pop_front();
                        prop_assert_eq!(head, Some((served.packet.seq, served.packet.size)));
                    }
                }
                Op::PushOut(queue, size) => {
                    if let Some(out) = pushed_out(&mut scheduler, queue, size) {
                        let from = model.find(out.packet.seq).expect("held");
                        prop_assert_ne!(from, queue);
                        prop_assert!((0..QUEUES).all(|q| model.bytes(q) <= model.bytes(from)));
                        prop_assert!(model.bytes(from) > model.bytes(queue) + u64::from(size));
                        let tail = model.queues[from].pop_back();
                        prop_assert_eq!(tail, Some((out.packet.seq, out.packet.size)));
                    }
                }
            }
        }
        let left = std::iter::from_fn(|| served(&mut scheduler)).count();
        prop_assert_eq!(left, model.len());
    }

    /// Strict priority: nothing is served while a more urgent packet waits.
    #[test]
    fn strict_never_lets_the_less_urgent_pass(ops in ops()) {
        let order = [2, 0, 3, 1];
        let mut scheduler = Scheduler::Strict(Box::new(Strict::new(order.to_vec())));
        let mut waiting = [0u32; QUEUES];
        let mut of = BTreeMap::new();
        for (id, op) in ops.into_iter().enumerate() {
            match op {
                Op::Enqueue(queue, size, _) => {
                    scheduler.enqueue(queue, item(0, size, id as u64));
                    waiting[queue] += 1;
                    of.insert(id as u64, queue);
                }
                Op::Dequeue | Op::PushOut(..) => {
                    let Some(served) = served(&mut scheduler) else { continue };
                    let queue = of[&served.packet.seq];
                    let first = order.iter().copied().find(|q| waiting[*q] > 0);
                    prop_assert_eq!(Some(queue), first);
                    waiting[queue] -= 1;
                }
            }
        }
    }

    /// MEDF cannot starve: while a best-effort packet waits, no expedited packet that arrived more than the offset after it
    /// is served; and an expedited packet is served before any best-effort one of its instant or later
    /// (Menth and Zeitler 2018, section III-D2).
    #[test]
    fn medf_bounds_the_wait_of_best_effort(ops in ops(), offset in 1u64..200) {
        let (be, ef) = (0, 1);
        let mut scheduler = Scheduler::Medf(Box::new(Medf::new(vec![Duration(offset), Duration(0)])));
        let mut waiting: [VecDeque<(u64, u64)>; 2] = Default::default();
        let mut now = 0;
        for (id, op) in ops.into_iter().enumerate() {
            match op {
                Op::Enqueue(queue, size, later) => {
                    now += later;
                    scheduler.enqueue(queue % 2, item(now, size, id as u64));
                    waiting[queue % 2].push_back((id as u64, now));
                }
                Op::Dequeue | Op::PushOut(..) => {
                    let Some(served) = served(&mut scheduler) else { continue };
                    let is_ef = waiting[ef].front().map(|w| w.0) == Some(served.packet.seq);
                    let (own, other) = if is_ef { (ef, be) } else { (be, ef) };
                    let (id, at) = waiting[own].pop_front().expect("held");
                    prop_assert_eq!(id, served.packet.seq);
                    if let Some(&(_, passed)) = waiting[other].front() {
                        if is_ef {
                            prop_assert!(at <= passed + offset, "EF of {at} passed BE of {passed}");
                        } else {
                            prop_assert!(at + offset < passed, "BE of {at} passed EF of {passed}");
                        }
                    }
                }
            }
        }
    }

    /// Shreedhar and Varghese 1996, lemma 2 and theorem 3: over any interval in which two queues always have packets,
    /// rounds differ by one and each queue is within one largest packet of its quanta, so that
    /// |served_i / q_i - served_j / q_j| <= 1 + max / q_i + max / q_j.
    #[test]
    fn drr_is_fair_over_every_backlogged_interval(
        quanta in prop::collection::vec(200u64..4000, 2..6),
        sizes in prop::collection::vec(40u16..1501, 300..600),
        seed: u64,
    ) {
        let n = quanta.len();
        let mut drr = Scheduler::Drr(Box::new(Drr::new(quanta.clone(), true)));
        let mut stream = Stream::new(seed, "sizes");
        let mut id = 0;
        let mut owner = BTreeMap::new();
        let mut fill = |drr: &mut Scheduler, owner: &mut BTreeMap<u64, usize>, queue: usize| {
            id += 1;
            let size = sizes[(stream.bits() % sizes.len() as u64) as usize];
            owner.insert(id, queue);
            drr.enqueue(queue, item(0, size, id));
        };
        for queue in 0..n {
            for _ in 0..3 {
                fill(&mut drr, &mut owner, queue);
            }
        }
        // Served so far after each packet; every queue stays backlogged because one goes in for one that goes out.
        let mut history = vec![vec![0.0; n]];
        for _ in 0..300 {
            let served = served(&mut drr).expect("backlogged");
            let queue = owner[&served.packet.seq];
            fill(&mut drr, &mut owner, queue);
            let mut row = history[history.len() - 1].clone();
            row[queue] += f64::from(served.packet.size);
            history.push(row);
        }
        for (i, qi) in quanta.iter().enumerate() {
            for (j, qj) in quanta.iter().enumerate().skip(i + 1) {
                let (qi, qj) = (*qi as f64, *qj as f64);
                // The difference of two instants is an interval's; its extremes are those of the running difference.
                let lead = history.iter().map(|row| row[i] / qi - row[j] / qj);
                let (low, high) = lead.fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
                let bound = 1.0 + 1500.0 / qi + 1500.0 / qj;
                prop_assert!(high - low <= bound + 1e-9, "{i}, {j}: {} > {bound}", high - low);
            }
        }
    }
}

/// FQ-CoDel's queues with nothing for CoDel to do below `target_ms` of waiting.
fn flow_queues(quantum: i64, target_ms: u64) -> Scheduler {
    let codel = codel::Params {
        target: Duration::from_millis(target_ms),
        interval: Duration::from_millis(10 * target_ms),
        max_packet: 1500,
        ecn: false,
        ce_threshold: None,
        ce_threshold_selector: None,
    };
    let params = fq_codel::Params { codel, flows: QUEUES, quantum, drop_batch: 64, memory_limit: None };
    Scheduler::FqCodel(Box::new(FqCodel::new(params, Stream::new(1, "hash"))))
}

fn fair_queues(quantum: i64) -> Scheduler {
    let params = fq::Params {
        orphan_mask: QUEUES - 1,
        flow_limit: 100.0,
        quantum,
        initial_quantum: quantum,
        refill_delay: Duration::from_millis(40),
        ce_threshold: None,
        max_rate: None,
        low_rate_threshold: None,
    };
    Scheduler::Fq(Box::new(Fq::new(params, Stream::new(1, "hash"))))
}

fn slots(quantum: u64) -> Scheduler {
    let params = sfq::Params { divisor: QUEUES, quantum, ..sfq::Params::DEFAULT };
    Scheduler::Sfq(Box::new(Sfq::new(params, Stream::new(1, "hash"))))
}

/// The largest difference of what two always backlogged queues are served over any interval, in bytes (SFQ: of 8).
fn unfairness(mut scheduler: Scheduler, sizes: &[u16], seed: u64) -> f64 {
    let by_eight = matches!(scheduler, Scheduler::Sfq(_));
    let unit = |size: u16| f64::from(if by_eight { 8 * size.div_ceil(8) } else { size });
    let mut stream = Stream::new(seed, "sizes");
    let mut any = || sizes[(stream.bits() % sizes.len() as u64) as usize];
    let mut owner = BTreeMap::new();
    let mut id = 0;
    let mut arrivals: Vec<usize> = (0..QUEUES).flat_map(|queue| [queue; 3]).collect();
    let mut total = [0.0; QUEUES];
    let mut extremes = [[(0.0f64, 0.0f64); QUEUES]; QUEUES];
    for _ in 0..400 {
        for queue in arrivals.drain(..) {
            id += 1;
            owner.insert(id, queue);
            scheduler.enqueue(queue, item(0, any(), id));
        }
        let served = served(&mut scheduler).expect("backlogged");
        let queue = owner[&served.packet.seq];
        arrivals.push(queue);
        total[queue] += unit(served.packet.size);
        for i in 0..QUEUES {
            for j in 0..i {
                let (lead, (low, high)) = (total[i] - total[j], &mut extremes[i][j]);
                (*low, *high) = (low.min(lead), high.max(lead));
            }
        }
    }
    extremes.iter().flatten().map(|(low, high)| high - low).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(config(300))]

    /// A queue that may overdraw is within one largest packet of its quanta at the end of each turn, and turns differ by one:
    /// the bound is that of Shreedhar and Varghese 1996, theorem 3, quantum + 2 max.
    #[test]
    fn sfq_fq_and_fq_codel_are_fair_over_every_backlogged_interval(
        quantum in 100u16..4000,
        sizes in prop::collection::vec(40u16..1501, 1..40),
        seed: u64,
    ) {
        let most = f64::from(*sizes.iter().max().expect("one at least"));
        let unfair = unfairness(flow_queues(i64::from(quantum), 1000), &sizes, seed);
        prop_assert!(unfair <= f64::from(quantum) + 2.0 * most, "FQ-CoDel: {unfair}");
        let unfair = unfairness(fair_queues(i64::from(quantum)), &sizes, seed);
        prop_assert!(unfair <= f64::from(quantum) + 2.0 * most, "FQ: {unfair}");
        let up = |x: f64| 8.0 * (x / 8.0).ceil();
        let unfair = unfairness(slots(u64::from(quantum)), &sizes, seed);
        prop_assert!(unfair <= up(f64::from(quantum)) + 2.0 * up(most), "SFQ: {unfair}");
    }

    /// FQ-CoDel: every packet comes out once, by service, by CoDel or by pushing out; who waits is served; order is kept within a
    /// queue; room is made in the fattest queue, from its head, by at most half of it.
    #[test]
    fn fq_codel_conserves_packets_and_order(quantum in 1i64..3000, ops in ops()) {
        let mut scheduler = flow_queues(quantum, 1);
        let mut model = Model::default();
        let (mut now, mut id) = (0, 0);
        for op in ops {
            let mut dropped = Vec::new();
            match op {
                Op::Enqueue(queue, size, later) => {
                    now += later * 300_000; // up to 6 ms
                    id += 1;
                    scheduler.enqueue(queue, item(now, size, id));
                    model.queues[queue].push_back((id, size));
                }
                Op::Dequeue => {
                    let waited = model.len();
                    let next = scheduler.dequeue(Time(now), &mut dropped);
                    prop_assert_eq!(next.is_some(), waited > 0, "CoDel spares the last packet");
                    prop_assert!(dropped.iter().all(|(_, reason)| *reason == Reason::Codel));
                    let out = dropped.iter().map(|(item, _)| *item).chain(next.map(|(item, _)| item));
                    for item in out {
                        let queue = model.find(item.packet.seq).expect("held");
                        prop_assert_eq!(model.queues[queue].pop_front(), Some((item.packet.seq, item.packet.size)));
                    }
                }
                Op::PushOut(queue, size) => {
                    let bytes = |q| model.bytes(q) + if q == queue { u64::from(size) } else { 0 };
                    let most = (0..QUEUES).map(bytes).max();
                    prop_assert_eq!(scheduler.can_push_out(queue, size), scheduler.push_out(queue, size, &mut dropped));
                    let Some((first, _)) = dropped.first() else {
                        prop_assert!(model.queues[queue].is_empty() && Some(bytes(queue)) == most);
                        continue;
                    };
                    let from = model.find(first.packet.seq).expect("held");
                    prop_assert_eq!(Some(bytes(from)), most);
                    let length = model.queues[from].len() + usize::from(from == queue);
                    prop_assert_eq!(dropped.len(), (length / 2).clamp(1, 64));
                    for (item, reason) in dropped {
                        prop_assert_eq!(reason, Reason::PushedOut);
                        prop_assert_eq!(model.queues[from].pop_front(), Some((item.packet.seq, item.packet.size)));
                    }
                }
            }
        }
        let mut left = 0;
        scheduler.for_each(&mut |_: &Queued| left += 1);
        prop_assert_eq!(left, model.len());
    }

    /// SFQ the same; room is made at the tail of a longest queue, in packets, never for a newcomer to one as long.
    #[test]
    fn sfq_conserves_packets_and_order(quantum in 1u64..3000, ops in ops()) {
        let mut scheduler = slots(quantum);
        let mut model = Model::default();
        let mut id = 0;
        for op in ops {
            match op {
                Op::Enqueue(queue, size, _) => {
                    id += 1;
                    scheduler.enqueue(queue, item(0, size, id));
                    model.queues[queue].push_back((id, size));
                }
                Op::Dequeue => {
                    let next = served(&mut scheduler);
                    prop_assert_eq!(next.is_some(), model.len() > 0);
                    if let Some(next) = next {
                        let queue = model.find(next.packet.seq).expect("held");
                        prop_assert_eq!(model.queues[queue].pop_front(), Some((next.packet.seq, next.packet.size)));
                    }
                }
                Op::PushOut(queue, size) => {
                    let length = |model: &Model, q: usize| model.queues[q].len();
                    let longest = (0..QUEUES).map(|q| length(&model, q)).max().unwrap_or(0);
                    let own = length(&model, queue) + 1;
                    let out = pushed_out(&mut scheduler, queue, size);
                    prop_assert_eq!(out.is_some(), longest > own || (longest == 1 && own == 1));
                    if let Some(out) = out {
                        let from = model.find(out.packet.seq).expect("held");
                        prop_assert_eq!(length(&model, from), longest);
                        prop_assert_eq!(model.queues[from].pop_back(), Some((out.packet.seq, out.packet.size)));
                    }
                }
            }
        }
        let mut left = 0;
        scheduler.for_each(&mut |_: &Queued| left += 1);
        prop_assert_eq!(left, model.len());
    }
}

/// A queue that was away does not come back with the credit of its absence (Shreedhar and Varghese 1996, section 3).
#[test]
fn drr_forgets_the_deficit_of_an_empty_queue() {
    let mut drr = Scheduler::Drr(Box::new(Drr::new(vec![1500, 1500], true)));
    drr.enqueue(0, item(0, 100, 1));
    assert_eq!(served(&mut drr).map(|q| q.packet.seq), Some(1)); // 1400 would be left
    for id in 0..4 {
        drr.enqueue(0, item(0, 700, 10 + id));
        drr.enqueue(1, item(0, 700, 20 + id));
    }
    let order: Vec<u64> = std::iter::from_fn(|| served(&mut drr)).map(|q| q.packet.seq).collect();
    assert_eq!(order, [10, 11, 20, 21, 12, 13, 22, 23]);
}

/// A queue pushed empty in the middle of its turn leaves the next one a whole turn.
#[test]
fn drr_starts_a_new_turn_after_pushing_out() {
    let mut drr = Scheduler::Drr(Box::new(Drr::new(vec![1500; 3], true)));
    drr.enqueue(0, item(0, 100, 1));
    drr.enqueue(0, item(0, 1500, 2));
    drr.enqueue(1, item(0, 1000, 3));
    drr.enqueue(2, item(0, 1000, 4));
    assert_eq!(served(&mut drr).map(|q| q.packet.seq), Some(1));
    assert_eq!(pushed_out(&mut drr, 1, 100).map(|q| q.packet.seq), Some(2));
    assert_eq!(served(&mut drr).map(|q| q.packet.seq), Some(3));
    assert_eq!(served(&mut drr).map(|q| q.packet.seq), Some(4));
}

// --- admission rules ------------------------------------------------------------------------------------------------

const RATE: f64 = 10e6;

fn seen(packets: u32, limit: Limit, size: u16) -> Occupancy {
    let bytes = u64::from(packets) * 1500;
    let rate = Some(Rate(RATE));
    Occupancy { packets, bytes, rate, full: limit.is_full(packets, bytes, size, rate), idle_since: None }
}

fn aqm_params() -> impl Strategy<Value = activity_aqm::Params> {
    (1.0..20.0f64, 0.0..20.0f64, 0.0..64.0f64, 0.05..2.0f64, any::<bool>(), any::<bool>()).prop_map(
        |(q_min, above, gamma, memory, in_time, average_received)| {
            let unit = if in_time { 1500.0 * 8.0 / RATE } else { 1.0 };
            activity_aqm::Params {
                q_min: q_min * unit,
                q_base: (q_min + above) * unit,
                gamma: gamma * unit,
                in_time,
                memory: Duration::from_seconds(memory),
                average_received,
                measure_rate: false,
            }
        },
    )
}

/// Activities and queue lengths of arriving packets, and the gaps between them in microseconds.
fn arrivals() -> impl Strategy<Value = Vec<(f64, u32, u64)>> {
    prop::collection::vec((-14.0..24.0f64, 0u32..30, 0u64..5000), 1..200)
}

proptest! {
    #![proptest_config(config(300))]

    /// At every decision of any history: what is accepted at Q is accepted at any shorter queue, and a less active packet
    /// wherever a more active one is; below q_min only a full buffer drops; and the average lies within the activities
    /// it has seen.
    #[test]
    fn the_activity_aqm_is_monotone(params in aqm_params(), arrivals in arrivals(), limit in 1u32..40) {
        let limit = Limit::Packets(limit);
        let mut rule = ActivityAqm::new(params);
        let mut now = Time::ZERO;
        let unit = if params.in_time { 1500.0 * 8.0 / RATE } else { 1.0 };
        let accepts = |rule: &ActivityAqm, activity: f64, queue: u32, now: Time| {
            rule.clone().admit(&mut packet(1500, activity), now, &seen(queue, limit, 1500), &mut Stream::scripted([])) == Verdict::Accept
        };
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for (activity, queue, gap) in arrivals {
            now += Duration(gap * 1000);
            if accepts(&rule, activity, queue, now) {
                prop_assert!((0..queue).all(|q| accepts(&rule, activity, q, now)));
                prop_assert!([0.1, 1.0, 10.0].iter().all(|less| accepts(&rule, activity - less, queue, now)));
            }
            let verdict = rule.admit(&mut packet(1500, activity), now, &seen(queue, limit, 1500), &mut Stream::scripted([]));
            let full = seen(queue, limit, 1500).full;
            prop_assert_eq!(verdict == Verdict::Drop(Reason::Limit), full);
            if f64::from(queue) * unit < params.q_min {
                prop_assert_eq!(verdict == Verdict::Accept, !full);
            }
            if verdict == Verdict::Accept || params.average_received {
                (low, high) = (low.min(activity), high.max(activity));
                prop_assert!(rule.average() >= low - 1e-9 && rule.average() <= high + 1e-9);
            }
        }
    }

    /// All reference rates times 2^k: every activity falls by k, every decision stays, and the average falls by exactly k
    /// (Menth and Zeitler 2018, equations 11 to 13). The first packet meets an average of zero and is left out.
    #[test]
    fn the_activity_aqm_does_not_see_a_common_scale(
        params in aqm_params(), arrivals in arrivals(), k in -20i32..20,
    ) {
        let limit = Limit::Packets(24);
        let (mut here, mut there) = (ActivityAqm::new(params), ActivityAqm::new(params));
        let shift = f64::from(k);
        let mut now = Time(1);
        let admit = |rule: &mut ActivityAqm, activity: f64, queue, now| {
            rule.admit(&mut packet(1500, activity), now, &seen(queue, limit, 1500), &mut Stream::scripted([]))
        };
        // An empty queue accepts whatever the average is.
        admit(&mut here, 5.0, 0, now);
        admit(&mut there, 5.0 - shift, 0, now);
        for (activity, queue, gap) in arrivals {
            now += Duration(gap * 1000);
            // A threshold within rounding of the queue length may fall either way.
            let threshold = activity_aqm::drop_threshold(&params, activity, here.average());
            let length = f64::from(queue) * if params.in_time { 1500.0 * 8.0 / RATE } else { 1.0 };
            if (threshold - length).abs() < 1e-6 {
                continue;
            }
            let verdict = admit(&mut here, activity, queue, now);
            prop_assert_eq!(verdict, admit(&mut there, activity - shift, queue, now));
            prop_assert!((here.average() - there.average() - shift).abs() < 1e-9);
        }
    }

    /// CSFQ after any history: probabilities are probabilities, monotone in label and fair rate; the fair rate is never
    /// negative or undefined and exceeds neither C nor every label seen; estimated rates are never negative, and what is
    /// accepted is never more than what arrived; labels only shrink.
    #[test]
    fn csfq_stays_within_its_bounds(
        paper: bool, q_min in prop_oneof![Just(0.0), Just(12.0)], q_threshold in 0.0..24.0f64,
        arrivals in prop::collection::vec((0.0..40e6f64, 0u32..26, prop_oneof![Just(0u64), 0u64..200_000]), 1..400),
        seed: u64,
    ) {
        let form = if paper { Form::Paper } else { Form::Ns2 };
        let mut rule = Csfq::new(csfq::Params {
            capacity: None,
            memory: Duration::from_millis(100),
            interval: Duration::from_millis(100),
            q_threshold,
            q_min,
            form,
        }, RATE);
        let mut stream = Stream::new(seed, "draws");
        let (mut now, mut largest) = (Time::ZERO, RATE);
        for (label, queue, gap) in arrivals {
            now += Duration(gap * 1000);
            largest = largest.max(label);
            let alpha = rule.observe("alpha").unwrap();
            let probability = csfq::drop_probability(alpha, label);
            prop_assert!((0.0..=1.0).contains(&probability));
            prop_assert!(csfq::drop_probability(alpha, label + 1e6) >= probability);
            prop_assert!(csfq::drop_probability(alpha + 1e6, label) <= probability);
            let mut p = packet(1500, label);
            let full = seen(queue, Limit::Packets(24), 1500).full;
            let verdict = rule.admit(&mut p, now, &seen(queue, Limit::Packets(24), 1500), &mut stream);
            prop_assert!(p.label <= label);
            if f64::from(queue) < q_min || label <= alpha || (form == Form::Ns2 && alpha == 0.0) {
                prop_assert_ne!(verdict, Verdict::Drop(Reason::Csfq), "alpha {}, label {}", alpha, label);
            }
            prop_assert!(!(full && verdict == Verdict::Accept));
            let [alpha, arrived, accepted] =
                ["alpha", "arrival_rate", "accepted_rate"].map(|name| rule.observe(name).unwrap());
            prop_assert!(alpha.is_finite() && (0.0..=largest).contains(&alpha), "alpha {alpha}");
            prop_assert!(arrived >= accepted - 1e-6 * arrived && accepted >= 0.0, "{arrived}, {accepted}");
        }
    }

    /// Drop-tail limits: what fits in a fuller queue fits in an emptier one, and a smaller packet fits where a larger does.
    #[test]
    fn limits_are_monotone(packets in 0u32..100, bytes in 0u64..150_000, size in 1u16..=65_535, most in 1u32..100) {
        let limits = [
            Limit::None, Limit::Packets(most), Limit::Bytes(u64::from(most) * 1500), Limit::Seconds(f64::from(most) * 1.2e-3),
        ];
        for limit in limits {
            let full = |packets, bytes, size| limit.is_full(packets, bytes, size, Some(Rate(RATE)));
            if !full(packets, bytes, size) {
                prop_assert!(!full(packets.saturating_sub(1), bytes.saturating_sub(1), size));
                prop_assert!(!full(packets, bytes, size.saturating_sub(1).max(1)));
            }
        }
    }
}

/// The ns-2 form step by step, as its authors' program goes (Stoica, Shenker, Zhang 1998, figure 3, with both amendments).
#[test]
fn csfq_in_its_authors_form_step_by_step() {
    let mut rule = Csfq::new(
        csfq::Params {
            capacity: None,
            memory: Duration::from_millis(100),
            interval: Duration::from_millis(100),
            q_threshold: 12.0,
            q_min: 0.0,
            form: Form::Ns2,
        },
        RATE,
    );
    let mut stream = Stream::new(1, "draws");
    let mut step = |rule: &mut Csfq, ms: u64, label: f64, queue: u32| {
        let mut p = packet(1500, label);
        let now = Time(ms * 1_000_000);
        let verdict = rule.admit(&mut p, now, &seen(queue, Limit::Packets(24), 1500), &mut stream);
        (verdict, p.label, rule.observe("alpha").unwrap())
    };
    // A short queue: no fair rate, the largest label is kept; the very first packet only starts the clock.
    assert_eq!(step(&mut rule, 1, 9e6, 0), (Verdict::Accept, 9e6, 0.0));
    assert_eq!(step(&mut rule, 2, 6e6, 11), (Verdict::Accept, 6e6, 0.0));
    assert_eq!(step(&mut rule, 3, 4e6, 3), (Verdict::Accept, 4e6, 0.0));
    // The queue reaches the threshold: the fair rate becomes the largest label. The arrival rate, 12 Mbit/s times
    // 1 - exp(-0.03), is below C: the link turns uncongested. The label of an accepted packet shrinks to alpha.
    assert_eq!(step(&mut rule, 4, 8e6, 12), (Verdict::Accept, 6e6, 6e6));
    assert_eq!(step(&mut rule, 5, 3e6, 12), (Verdict::Accept, 3e6, 6e6));
    // Uncongested for 100 ms: the fair rate becomes the largest label of that time; with a short queue, none.
    assert_eq!(step(&mut rule, 104, 2e6, 12), (Verdict::Accept, 2e6, 3e6));
    assert_eq!(step(&mut rule, 150, 1e6, 12), (Verdict::Accept, 1e6, 3e6));
    assert_eq!(step(&mut rule, 205, 1e6, 11), (Verdict::Accept, 1e6, 0.0));
}
