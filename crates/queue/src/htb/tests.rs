//! Numbers worked out by hand from the kernel's rules, one test a branch. 8 Mbit/s is a byte a microsecond.

use super::params::leaf;
use super::tables::Leaf;
use super::*;
use crate::held::Owner;
use crate::{Limit, Qdisc, codel, fq_codel, sfq};
use evenflow_base::schema::Value;

type Htb = super::Htb<Qdisc>;
use evenflow_base::Packet;

const MBIT: f64 = 1e6;
const BYTE_A_US: f64 = 8.0 * MBIT;

fn class(parent: Option<usize>, rate: f64, ceil: f64) -> ClassParams {
    ClassParams {
        parent,
        rate: Rate(rate),
        ceil: Rate(ceil),
        burst: 1600,
        cburst: 1600,
        priority: 0,
        quantum: 1000,
        overhead: 0,
        mpu: 0,
        leaf: LeafParams { limit: Limit::None, discipline: Discipline::Fifo },
    }
}

fn htb(arithmetic: Arithmetic, classes: Vec<ClassParams>) -> Htb {
    let is_leaf = |n: &usize| classes.iter().all(|c| c.parent != Some(*n));
    let leaves = (0..classes.len()).filter(is_leaf).map(Some).collect();
    let classes = classes.into_iter().map(Arc::new).collect();
    Htb::new(Params { arithmetic, r2q: 10.0, classes, leaves }, Arc::from([]), &Stream::new(1, "hash"))
}

fn real(classes: Vec<ClassParams>) -> Htb {
    htb(Arithmetic::Real, classes)
}

fn item(queue: usize, size: u16, id: u64) -> Queued {
    let packet = Packet { seq: id, class: queue as u8, ..Packet::new(queue as u32, size, size) };
    Queued { packet, at: Time(0) }
}

fn put(q: &mut Htb, queue: usize, size: u16, count: usize) {
    for n in 0..count {
        let place = q.place(queue, &Packet::new(queue as u32, 1000, 1000), &(), Time(0));
        q.enqueue(place, item(queue, size, n as u64));
    }
}

/// Who leaves at `now`; no leaf may drop or mark.
fn next(q: &mut Htb, now: Time) -> Option<Queued> {
    let mut dropped = Vec::new();
    let served = q.dequeue(now, &mut dropped);
    assert!(dropped.is_empty() && served.is_none_or(|(_, mark)| mark.is_none()));
    served.map(|(item, _)| item)
}

/// Who leaves when, in microseconds, until `end`, through a link that is never busy.
fn departures(q: &mut Htb, end: f64) -> Vec<(u8, f64)> {
    let (mut now, mut left) = (Time(0), Vec::new());
    while (now.0 as f64) < end * 1e3 {
        match next(q, now) {
            Some(item) => left.push((item.packet.class, now.0 as f64 / 1e3)),
            None if q.leaves.iter().all(|leaf| leaf.queue.packets() == 0) => break,
            None => {
                let due = q.next_event();
                assert!(due > now && due != Time::NEVER);
                let between = Time(now.0.midpoint(due.0));
                assert_eq!(q.blocked_until(between), Some(due));
                assert!(next(q, between).is_none() && q.next_event() == due);
                now = due;
            }
        }
    }
    left
}

fn counts(q: &Htb, n: usize) -> NodeCounts {
    q.count_of(n).map_or(NodeCounts::default(), |at| q.node_counts()[at])
}

/// Packets that each queue sends until `end` microseconds, all of them backlogged with packets of 1000 bytes.
fn shares(mut q: Htb, queues: usize, end: f64) -> Vec<usize> {
    for queue in 0..queues {
        put(&mut q, queue, 1000, (end / 1000.0) as usize + 10);
    }
    let left = departures(&mut q, end);
    (0..queues).map(|queue| left.iter().filter(|(class, _)| usize::from(*class) == queue).count()).collect()
}

// --- the rules in numbers -------------------------------------------------------------------------------------------

#[test]
fn the_ceiling_decides_first_then_the_rate() {
    assert_eq!(mode(0, 0), (Mode::Can, 0));
    assert_eq!(mode(5, -3), (Mode::Cannot, 3));
    assert_eq!(mode(-4, -3), (Mode::Cannot, 3));
    assert_eq!(mode(-4, 0), (Mode::MayBorrow, 4));
}

#[test]
fn a_bucket_is_cut_at_its_brim_before_the_charge_and_at_a_minute_of_debt() {
    assert_eq!(charged(100, 50, 1000, 30, 9999), 120);
    assert_eq!(charged(100, 5000, 1000, 30, 9999), 970);
    assert_eq!(charged(-9990, 0, 1000, 30, 9999), -9998);
}

#[test]
fn defaults_are_those_of_tc_and_the_kernel() {
    // rate / 1e9 + 1600; a rate of 8 Mbit/s is 1e6 B/s.
    assert_eq!(default_burst(Rate(BYTE_A_US)), 1600.001);
    // 1e6 / 10; 585200 / 10; 8000 / 10 is too little, 1.25e8 / 10 too much.
    assert_eq!(default_quantum(Rate(BYTE_A_US), 10.0), 100_000.0);
    assert_eq!(default_quantum(Rate(4_681_600.0), 10.0), 58_520.0);
    assert_eq!(default_quantum(Rate(64e3), 10.0), 1000.0);
    assert_eq!(default_quantum(Rate(1e9), 10.0), 200_000.0);
}

#[test]
fn numbers_come_in_order() {
    let mut set = Numbers::below(200);
    for n in [3, 64, 199] {
        set.insert(n);
        set.insert(n);
    }
    assert_eq!(
        [0, 3, 4, 65, 199].map(|from| set.next(from)),
        [Some(3), Some(3), Some(64), Some(199), Some(199)]
    );
    set.remove(199);
    set.remove(199);
    assert_eq!((set.next(65), set.next(200), set.count), (None, None, 2));
}

// --- one class ------------------------------------------------------------------------------------------------------

#[test]
fn alone_it_sends_its_burst_and_a_packet_more_and_then_its_rate() {
    // 1600 | 600 | -400: wait 400 until 0 | -1000: wait 1000, ...
    let mut q = real(vec![class(None, BYTE_A_US, BYTE_A_US)]);
    put(&mut q, 0, 1000, 5);
    let times: Vec<f64> = departures(&mut q, 1e6).into_iter().map(|(_, t)| t).collect();
    assert_eq!(times, [0.0, 0.0, 400.0, 1400.0, 2400.0]);
}

#[test]
fn in_ticks_frames_of_1514_bytes_leave_every_1520_us() {
    // 25000 ticks | 1250 | -22500: 1440 us | -23750: 1520 us, ...
    let mut q = htb(Arithmetic::Ticks, vec![class(None, BYTE_A_US, BYTE_A_US)]);
    put(&mut q, 0, 1514, 5);
    let times: Vec<f64> = departures(&mut q, 1e6).into_iter().map(|(_, t)| t).collect();
    assert_eq!(times, [0.0, 0.0, 1440.0, 2960.0, 4480.0]);
}

#[test]
fn in_ticks_a_shaping_rate_gives_the_payload_that_the_table_says() {
    // 4681.6 kbit/s: a frame with 1448 bytes of payload costs 40578 ticks = 2.596992 ms: 4460.5 kbit/s of payload.
    let mut q = htb(Arithmetic::Ticks, vec![class(None, 4_681_600.0, 4_681_600.0)]);
    put(&mut q, 0, 1514, 1002);
    let left = departures(&mut q, 1e9);
    let (second, last) = (left[1].1, left[1001].1);
    // From a full bucket of 1600 bytes: 42718 - 2 * 40578 = -38438 ticks of debt, then a frame at a time.
    assert_eq!(second, 0.0);
    assert!((last - (38_438.0 + 999.0 * 40_578.0) * 0.064).abs() < 1e-6, "{last}");
    let payload: f64 = 1448.0 * 8.0 / (40_578.0 * 0.064e-3);
    assert!((payload - 4460.5).abs() < 0.1, "{payload}");
}

#[test]
fn time_without_work_fills_the_bucket_to_its_brim() {
    let mut q = real(vec![class(None, BYTE_A_US, BYTE_A_US)]);
    put(&mut q, 0, 1000, 3);
    assert_eq!(departures(&mut q, 1e6).len(), 3);
    put(&mut q, 0, 1000, 3);
    let later = Time(1_000_000_000);
    assert!(next(&mut q, later).is_some() && next(&mut q, later).is_some() && next(&mut q, later).is_none());
    assert_eq!(q.next_event(), later + Duration(400_000));
}

#[test]
fn a_class_between_rate_and_ceiling_without_a_parent_waits_for_its_rate() {
    let mut q = real(vec![class(None, BYTE_A_US / 2.0, BYTE_A_US)]);
    put(&mut q, 0, 1000, 4);
    // Half a byte a microsecond: 3200 us deep; 1200 | -800 | wait 800 | -2000: wait 2000.
    let times: Vec<f64> = departures(&mut q, 1e6).into_iter().map(|(_, t)| t).collect();
    assert_eq!(times, [0.0, 0.0, 800.0, 2800.0]);
}

// --- borrowing ------------------------------------------------------------------------------------------------------

/// A root of 8 Mbit/s and leaves below it.
fn below(root: f64, leaves: impl IntoIterator<Item = ClassParams>) -> Vec<ClassParams> {
    let mut classes = vec![class(None, root, root)];
    classes.extend(leaves.into_iter().map(|leaf| ClassParams { parent: Some(0), ..leaf }));
    classes
}

#[test]
fn what_is_left_is_shared_by_quantum() {
    // Of 8, 2 and 1 are their own; of the 5 left the first takes three parts in four.
    let leaf = |rate: f64, quantum| ClassParams { quantum, ..class(None, rate, BYTE_A_US) };
    let q = real(below(BYTE_A_US, [leaf(2.0 * MBIT, 3000), leaf(MBIT, 1000)]));
    let sent = shares(q, 2, 4e6);
    // In 4 s: 4000 packets; 5.75 and 2.25 of 8.
    assert!((sent[0] as f64 - 2875.0).abs() < 10.0, "{sent:?}");
    assert!((sent[1] as f64 - 1125.0).abs() < 10.0, "{sent:?}");
}

#[test]
fn a_smaller_priority_takes_all_that_is_left() {
    let leaf = |priority| ClassParams { priority, ..class(None, MBIT, BYTE_A_US) };
    let sent = shares(real(below(BYTE_A_US, [leaf(1), leaf(0)])), 2, 4e6);
    // The less urgent keeps its rate of 1 of 8: 500; the other has 7.
    assert!((sent[0] as f64 - 500.0).abs() < 10.0, "{sent:?}");
    assert!((sent[1] as f64 - 3500.0).abs() < 10.0, "{sent:?}");
}

#[test]
fn a_ceiling_ends_borrowing() {
    let leaf = |ceil| class(None, MBIT, ceil);
    let sent = shares(real(below(BYTE_A_US, [leaf(3.0 * MBIT), leaf(BYTE_A_US)])), 2, 4e6);
    assert!((sent[0] as f64 - 1500.0).abs() < 10.0, "{sent:?}");
    assert!((sent[1] as f64 - 2500.0).abs() < 10.0, "{sent:?}");
}

#[test]
fn alone_a_leaf_borrows_all() {
    let mut q = real(below(BYTE_A_US, [class(None, MBIT, BYTE_A_US), class(None, MBIT, BYTE_A_US)]));
    put(&mut q, 0, 1000, 2000);
    let sent = departures(&mut q, 1e6).len();
    assert!((sent as f64 - 1000.0).abs() < 5.0, "{sent}");
    let (own, borrowed) = (counts(&q, 1).lent.packets, counts(&q, 1).borrowed.packets);
    assert_eq!((own + borrowed) as usize, sent);
    // An eighth is its own.
    assert!((own as f64 - 125.0).abs() < 5.0, "{own} {borrowed}");
}

#[test]
fn a_grandparent_lends_when_the_parent_has_nothing() {
    // 8 above 2 above two leaves of 1 each, and beside the 2 a leaf of 1: all may use 8. Each has 1; the 5 left are the root's:
    // its round is of two, the inner class and the leaf, and a visit to the inner one is a turn of each of its two leaves.
    let classes = vec![
        class(None, BYTE_A_US, BYTE_A_US),
        ClassParams { parent: Some(0), ..class(None, 2.0 * MBIT, BYTE_A_US) },
        ClassParams { parent: Some(1), ..class(None, MBIT, BYTE_A_US) },
        ClassParams { parent: Some(1), ..class(None, MBIT, BYTE_A_US) },
        ClassParams { parent: Some(0), ..class(None, MBIT, BYTE_A_US) },
    ];
    let sent = shares(real(classes), 3, 4e6);
    assert_eq!(sent.iter().sum::<usize>() / 10, 400);
    for one in sent {
        assert!((one as f64 - 1333.0).abs() < 15.0, "{one}");
    }
}

#[test]
fn a_lower_level_lends_first() {
    // The inner class may give 4, the root 8. While the inner one has tokens its leaf is served and the root's other leaf,
    // which borrows on the highest level, waits.
    let classes = vec![
        ClassParams { burst: 10_000, cburst: 10_000, ..class(None, BYTE_A_US, BYTE_A_US) },
        ClassParams { parent: Some(0), burst: 4000, cburst: 9000, ..class(None, BYTE_A_US / 2.0, BYTE_A_US) },
        ClassParams { parent: Some(1), burst: 1, cburst: 9000, ..class(None, 8000.0, BYTE_A_US) },
        ClassParams { parent: Some(0), burst: 1, cburst: 9000, ..class(None, 8000.0, BYTE_A_US) },
    ];
    let mut q = real(classes);
    put(&mut q, 0, 1000, 8);
    put(&mut q, 1, 1000, 8);
    let order: Vec<u8> = departures(&mut q, 1.0).into_iter().map(|(class, _)| class).collect();
    // Each sends a packet of its own (a byte, overdrawn). The inner class, charged with its leaf's, has 3000 left: 2000, 1000,
    // 0 and -1000 after four that it lends. Then both borrow from the root in turns until its 10000 and one more are dropped.
    assert_eq!(order[..6], [0, 1, 0, 0, 0, 0]);
    assert_eq!(order.len(), 11);
    assert_eq!(order[6..].iter().filter(|class| **class == 1).count(), 3);
}

// --- what it counts -------------------------------------------------------------------------------------------------

/// Packets sent, and of them those with own tokens and with borrowed ones.
fn counted(q: &Htb, n: usize) -> [u64; 3] {
    let counts = counts(q, n);
    let tallies = [counts.sent, counts.lent, counts.borrowed];
    assert!(tallies.iter().all(|tally| tally.bytes == 1000 * tally.packets));
    tallies.map(|tally| tally.packets)
}

#[test]
fn who_lent_and_who_borrowed() {
    // As in the test before: a packet of each leaf's own; four that the inner class lends to its leaf; five of the root's, two
    // of them for the inner class's leaf, three for its own.
    let classes = vec![
        ClassParams { burst: 10_000, cburst: 10_000, ..class(None, BYTE_A_US, BYTE_A_US) },
        ClassParams { parent: Some(0), burst: 4000, cburst: 9000, ..class(None, BYTE_A_US / 2.0, BYTE_A_US) },
        ClassParams { parent: Some(1), burst: 1, cburst: 9000, ..class(None, 8000.0, BYTE_A_US) },
        ClassParams { parent: Some(0), burst: 1, cburst: 9000, ..class(None, 8000.0, BYTE_A_US) },
    ];
    let mut q = real(classes);
    put(&mut q, 0, 1000, 8);
    put(&mut q, 1, 1000, 8);
    assert_eq!(departures(&mut q, 1.0).len(), 11);
    assert_eq!([0, 1, 2, 3].map(|n| counted(&q, n)), [[11, 5, 0], [7, 4, 2], [7, 1, 6], [4, 1, 3]]);
    // What all buckets hold: 10000 - 11 * 1000. 4000 less its leaf's own packet and four that it lent, as borrowing costs the
    // lender's; 9000 - 7 * 1000 of its ceiling. A byte less a packet.
    let state = |n: usize, name: &str, us: u64| q.observe_node(n, name, Time(us * 1000)).unwrap();
    let near =
        |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
    near(state(0, "tokens", 0), -1000.0);
    near(state(1, "tokens", 0), -1000.0);
    near(state(1, "ctokens", 0), 2000.0);
    near(state(2, "tokens", 0), -999.0);
    near(state(3, "ctokens", 0), 5000.0);
    // 2 ms later: a byte, half a byte and a thousandth of one in each microsecond more; and never above the brim.
    near(state(0, "tokens", 2000), 1000.0);
    near(state(1, "tokens", 2000), 0.0);
    near(state(2, "tokens", 2000), -997.0);
    near(state(0, "tokens", 1_000_000), 10_000.0);
    assert_eq!((state(2, "packets", 0), state(3, "bytes", 0)), (1.0, 4000.0));
    assert_eq!((q.observe_node(1, "packets", Time(0)), q.observe_node(1, "loans", Time(0))), (None, None));
    assert_eq!((state(1, "lent_bytes", 0), state(2, "borrowed_packets", 0)), (4000.0, 6.0));
}

#[test]
fn drops_are_the_leafs() {
    let sfq = sfq::Params { divisor: 1, ..sfq::Params::DEFAULT };
    let mut classes = below(BYTE_A_US, [class(None, MBIT, MBIT), class(None, MBIT, MBIT)]);
    classes[2].leaf = LeafParams { limit: Limit::Packets(1), discipline: Discipline::Sfq(sfq) };
    let mut q = real(classes);
    put(&mut q, 1, 1000, 1);
    let places = [0, 1].map(|queue| q.place(queue, &Packet::new(0, 1000, 1000), &(), Time(0)));
    q.turned_away(places[0], Reason::Limit);
    q.turned_away(places[0], Reason::Early);
    assert!(!q.push_out(places[1], 1000, &mut Vec::new()), "the newcomer's own slot is the longest");
    let drops = |n: usize, reason: Reason| counts(&q, n).drops[reason as usize];
    assert_eq!((drops(1, Reason::Limit), drops(1, Reason::Early), drops(2, Reason::PushedOut)), (1, 1, 0));
    assert_eq!([0, 1, 2].map(|n| q.observe_node(n, "drops", Time(0))), [Some(0.0), Some(2.0), Some(0.0)]);
}

// --- frames ---------------------------------------------------------------------------------------------------------

fn framed(arithmetic: Arithmetic, burst: u64, overhead: u32, mpu: u32, size: u16) -> Vec<f64> {
    let bucket = ClassParams { burst, cburst: burst, overhead, mpu, ..class(None, BYTE_A_US, BYTE_A_US) };
    let mut q = htb(arithmetic, vec![bucket]);
    put(&mut q, 0, size, 4);
    let times = departures(&mut q, 1e6).into_iter().map(|(_, t)| t).collect();
    assert_eq!(counts(&q, 0).sent.bytes, 4 * u64::from(size), "counts are of packets");
    times
}

#[test]
fn overhead_costs_tokens() {
    // 1200 each: 1600 | 400 | -800: wait 800 | -1200: wait 1200.
    assert_eq!(framed(Arithmetic::Real, 1600, 200, 0, 1000), [0.0, 0.0, 800.0, 2000.0]);
    assert_eq!(framed(Arithmetic::Real, 1600, 200, 1200, 1000), [0.0, 0.0, 800.0, 2000.0]);
}

#[test]
fn no_packet_costs_less_than_mpu() {
    // 1500 each: 1600 | 100 | -1400: wait 1400 | -1500. With the overhead 1064 are 1500 too.
    assert_eq!(framed(Arithmetic::Real, 1600, 0, 1500, 1000), [0.0, 0.0, 1400.0, 2900.0]);
    assert_eq!(framed(Arithmetic::Real, 1600, 64, 1500, 1000), [0.0, 0.0, 1400.0, 2900.0]);
    // Ethernet's 18 around an IP packet of 46 make 64; with preamble and gap they take 84. 1 - 84, and then 84 each.
    assert_eq!(framed(Arithmetic::Real, 1, 18, 84, 46), [0.0, 83.0, 167.0, 251.0]);
}

#[test]
fn in_ticks_mpu_is_in_the_table_and_overhead_before_it() {
    // 64 bytes fill the eighth cell, which costs 84 us = 1312 ticks (of 1312.5); a byte is 15 ticks. 15 - 1312 = -1297: 83.008
    // us; then 1312 ticks = 83.968 us each.
    assert_eq!(framed(Arithmetic::Ticks, 1, 18, 84, 46), [0.0, 83.008, 166.976, 250.944]);
    // 65 bytes begin the ninth cell, of 72, which costs no less; 81 the eleventh, of 88: 1375 ticks.
    assert_eq!(framed(Arithmetic::Ticks, 1, 19, 84, 46), framed(Arithmetic::Ticks, 1, 18, 84, 46));
    assert_eq!(framed(Arithmetic::Ticks, 1, 35, 84, 46), [0.0, 87.04, 175.04, 263.04]);
}

// --- leaves ---------------------------------------------------------------------------------------------------------

#[test]
fn a_leaf_has_its_own_limit() {
    let mut classes = below(BYTE_A_US, [class(None, MBIT, MBIT), class(None, MBIT, MBIT)]);
    classes[1].leaf.limit = Limit::Packets(2);
    classes[2].leaf.limit = Limit::Seconds(0.016); // at 1 Mbit/s: 2000 bytes
    let mut q = real(classes);
    put(&mut q, 0, 1000, 2);
    put(&mut q, 1, 1000, 1);
    let places = [0, 1].map(|queue| q.place(queue, &Packet::new(0, 1000, 1000), &(), Time(0)));
    assert!(q.is_full(places[0], 0, 40) && !q.can_push_out(places[0], 1000));
    assert!(!q.is_full(places[1], 0, 1000) && q.is_full(places[1], 0, 1001));
}

#[test]
fn a_leaf_may_be_sfq() {
    let sfq = sfq::Params::DEFAULT;
    let mut leaf = class(None, BYTE_A_US, BYTE_A_US);
    leaf.leaf = LeafParams { limit: Limit::Packets(3), discipline: Discipline::Sfq(sfq) };
    let params = Params {
        arithmetic: Arithmetic::Real,
        r2q: 10.0,
        classes: vec![Arc::new(leaf)],
        leaves: vec![Some(0)],
    };
    let mut q = Htb::new(params, Arc::from([11, 22]), &Stream::new(1, "hash"));
    let places = [0, 1].map(|flow| q.place(0, &Packet::new(flow, 1000, 1000), &(), Time(0)));
    assert_ne!(places[0], places[1]);
    for id in 0..3 {
        q.enqueue(places[0], item(0, 1000, id));
    }
    assert!(q.is_full(places[1], 0, 1000) && !q.can_push_out(places[0], 1000));
    let mut dropped = Vec::new();
    assert!(q.push_out(places[1], 1000, &mut dropped));
    assert_eq!(
        dropped.pop().map(|(item, reason)| (item.packet.seq, reason)),
        Some((2, crate::Reason::PushedOut))
    );
    assert!(!q.is_full(places[1], 0, 1000));
    assert_eq!(counts(&q, 0).drops[Reason::PushedOut as usize], 1);
    q.enqueue(places[1], item(1, 1000, 10));
    // A quantum of 1514 bytes allows each flow two packets of 1000 before its turn is over.
    let order: Vec<u64> = std::iter::from_fn(|| next(&mut q, Time(0))).map(|item| item.packet.seq).collect();
    assert_eq!(order, [0, 1]); // 1600 deep: two packets
    assert!(next(&mut q, Time(400_000)).is_some_and(|item| item.packet.seq == 10));
}

#[test]
fn a_leaf_emptied_by_pushing_out_can_come_back() {
    let sfq = sfq::Params::DEFAULT;
    let mut leaf = class(None, BYTE_A_US, BYTE_A_US);
    leaf.leaf = LeafParams { limit: Limit::Packets(1), discipline: Discipline::Sfq(sfq) };
    let params = Params {
        arithmetic: Arithmetic::Real,
        r2q: 10.0,
        classes: vec![Arc::new(leaf)],
        leaves: vec![Some(0)],
    };
    let mut q = Htb::new(params, Arc::from([11, 22]), &Stream::new(1, "hash"));
    let places = [0, 1].map(|flow| q.place(0, &Packet::new(flow, 1000, 1000), &(), Time(0)));
    q.enqueue(places[0], item(0, 1000, 1));
    let mut dropped = Vec::new();
    assert!(q.push_out(places[1], 1000, &mut dropped));
    assert!(next(&mut q, Time(0)).is_none());
    q.enqueue(places[1], item(1, 1000, 2));
    assert!(next(&mut q, Time(0)).is_some_and(|item| item.packet.seq == 2));
}

// --- what is wrong with a tree --------------------------------------------------------------------------------------

fn table(entries: &[(&'static str, Value)]) -> Values {
    Values(entries.iter().cloned().collect())
}

fn given(per: &str, classes: &[(&str, Values)], each: Option<Values>) -> Values {
    let tables = classes.iter().map(|(name, table)| ((*name).to_owned(), table.clone())).collect();
    let mut values = table(&[
        ("per", Value::Word(per.into())),
        ("arithmetic", Value::Word("real".into())),
        ("r2q", Value::Number(10.0)),
        ("classes", Value::Tables(tables)),
    ]);
    values.0.extend(each.map(|each| ("each", Value::Table(each))));
    values
}

fn with_parent(parent: &str) -> Values {
    table(&[("rate", Value::Rate(1e6)), ("parent", Value::Word(parent.into()))])
}

#[test]
fn a_sound_tree_has_no_problems() {
    let root = table(&[("rate", Value::Rate(8e6))]);
    let values =
        given("class", &[("all", root), ("be", with_parent("all")), ("ef", with_parent("all"))], None);
    assert_eq!(tree_problems(&values), []);
    assert_eq!(leaf_names(&values), ["be", "ef"]);
    let params = Params::by_class(&values, &["ef".into(), "be".into()]).expect("sound");
    assert_eq!(params.leaves, [Some(2), Some(1)]);
    assert_eq!(params.classes[1].parent, Some(0));
    assert_eq!(params.classes[1].quantum, 12_500); // 125000 / 10
    assert_eq!(params.classes[1].ceil, params.classes[1].rate);
}

#[test]
fn users_have_leaves_by_weight() {
    let root = table(&[("rate", Value::Rate(8e6))]);
    let values = given("user", &[("all", root)], Some(with_parent("all")));
    assert_eq!(tree_problems(&values), []);
    let each = Arc::new(with_parent("all"));
    let owners = [1.0, 2.0].map(|weight| Owner { weight, each: Some(each.clone()) });
    let params = Params::by_owner(&values, &owners).expect("sound");
    assert_eq!(params.leaves, [Some(1), Some(2)]);
    let told: Vec<(f64, i64)> = params.classes[1..].iter().map(|c| (c.rate.0, c.quantum)).collect();
    assert_eq!(told, [(1e6, 12_500), (2e6, 25_000)]);
}

#[test]
fn leaves_have_what_is_theirs() {
    let made = |entries: &[(&'static str, Value)]| {
        let mut values = table(entries);
        values.0.entry("kind").or_insert_with(|| Value::Word("fifo".into()));
        leaf(Some(&Leaf::read(&values)))
    };
    let kind = |name: &str| ("kind", Value::Word(name.into()));
    assert_eq!(made(&[]), LeafParams { limit: Limit::Packets(1000), discipline: Discipline::Fifo });
    // The defaults are those of the rules themselves: RFC 8289 sections 4.2 and 4.3, RFC 8290 section 5.2.
    let codel = codel::Params {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        max_packet: 1500,
        ecn: true,
        ce_threshold: None,
        ce_threshold_selector: None,
    };
    let limit = Limit::Packets(1000);
    assert_eq!(made(&[kind("codel")]), LeafParams { limit, discipline: Discipline::Codel(codel) });
    let flows = fq_codel::Params { codel, flows: 1024, quantum: 1514, drop_batch: 64, memory_limit: None };
    let limit = Limit::Packets(10_240);
    assert_eq!(made(&[kind("fq-codel")]), LeafParams { limit, discipline: Discipline::FqCodel(flows) });
    let given = [kind("codel"), ("target", Value::Seconds(0.008)), ("ecn", Value::Flag(false))];
    let Discipline::Codel(codel) = made(&given).discipline else { panic!("not CoDel") };
    assert_eq!((codel.target, codel.ecn), (Duration::from_millis(8), false));
}

#[test]
fn each_mistake_is_told() {
    let told = |values: &Values| {
        let all: Vec<String> =
            tree_problems(values).into_iter().map(|(at, why)| format!("{at}: {why}")).collect();
        all.join("\n")
    };
    let plain = || table(&[("rate", Value::Rate(1e6))]);
    let has = |values: &Values, what: &str| {
        let told = told(values);
        assert!(told.contains(what), "{what} is not in: {told}");
    };
    has(&given("class", &[], None), "classes: is required");
    has(&given("user", &[], None), "each: is required");
    has(&given("class", &[("be", plain())], Some(plain())), "each: is for per");
    has(
        &given("class", &[("be", with_parent("bee"))], None),
        "classes: be.parent: no class is called \"bee\"",
    );
    has(&given("class", &[("a", with_parent("b")), ("b", with_parent("a"))], None), "form a cycle");
    // A name that nobody has is the only thing wrong.
    assert_eq!(
        told(&given("user", &[("a", with_parent("b"))], Some(with_parent("a")))),
        "classes: a.parent: no class is called \"b\""
    );
    has(&given("user", &[("all", plain())], Some(plain())), "classes: all: no class has it as its parent");
    let mut low = plain();
    low.0.insert("ceil", Value::Rate(5e5));
    has(&given("class", &[("be", low)], None), "classes: be.ceil: must be at least rate");
    let mut inner = plain();
    inner.0.insert("prio", Value::Number(1.0));
    has(
        &given("class", &[("all", inner), ("be", with_parent("all"))], None),
        "classes: all.prio: is for leaves",
    );
    let mut fifo = plain();
    let leaf = table(&[("kind", Value::Word("fifo".into())), ("divisor", Value::Number(8.0))]);
    fifo.0.insert("leaf", Value::Table(leaf));
    has(&given("class", &[("be", fifo)], None), "classes: be.leaf.divisor: is for kind = \"sfq\"");
    let names: Vec<String> = (0..9).map(|n| format!("c{n}")).collect();
    let chain: Vec<(&str, Values)> = (0..9)
        .map(|n| (names[n].as_str(), if n == 0 { plain() } else { with_parent(&names[n - 1]) }))
        .collect();
    has(&given("class", &chain, None), "classes: c8.parent: 9 levels are too many; at most 8 are allowed");
}

// --- classes that change

fn left_over(q: &Htb, n: usize, now: Time) -> f64 {
    q.observe_node(n, "tokens", now).expect("a bucket")
}

#[test]
fn a_changed_class_keeps_its_bytes_and_waits_for_the_rest_at_the_new_rate() {
    // 1600 of burst let two packets of 1000 go: 400 are overdrawn. 500 us at 0.25 bytes a us bring 125; the 275 that lack take
    // 550 us at 0.5.
    let mut q = real(vec![class(None, 2.0 * MBIT, 2.0 * MBIT)]);
    put(&mut q, 0, 1000, 3);
    assert!(next(&mut q, Time(0)).is_some() && next(&mut q, Time(0)).is_some());
    assert!(next(&mut q, Time(0)).is_none());
    assert_eq!(q.next_event(), Time(1_600_000));
    let other = real(vec![class(None, 4.0 * MBIT, 4.0 * MBIT)]);
    q.adopt(other, Time(500_000), &mut Vec::new());
    assert!((left_over(&q, 0, Time(500_000)) + 275.0).abs() < 1e-6);
    assert!(next(&mut q, Time(500_000)).is_none());
    assert_eq!(q.next_event(), Time(1_050_000));
    assert!(next(&mut q, Time(1_050_000)).is_some());
}

#[test]
fn in_ticks_a_changed_class_keeps_its_time() {
    // 1600 bytes at a byte a us are 25,000 ticks; at a tenth of the rate they are worth 160 bytes.
    let mut q = htb(Arithmetic::Ticks, vec![class(None, BYTE_A_US, BYTE_A_US)]);
    let other = htb(Arithmetic::Ticks, vec![class(None, BYTE_A_US / 10.0, BYTE_A_US / 10.0)]);
    q.adopt(other, Time(0), &mut Vec::new());
    assert!((left_over(&q, 0, Time(0)) - 160.0).abs() < 1e-6);
}

#[test]
fn a_leaf_with_packets_keeps_its_priority_until_it_has_been_empty() {
    let leaf = |priority| ClassParams { priority, ..class(None, BYTE_A_US, BYTE_A_US) };
    let mut q = real(vec![leaf(0), leaf(1)]);
    put(&mut q, 0, 100, 2);
    put(&mut q, 1, 100, 2);
    q.adopt(real(vec![leaf(5), leaf(1)]), Time(0), &mut Vec::new());
    for _ in 0..2 {
        assert_eq!(next(&mut q, Time(0)).expect("one may leave").packet.class, 0);
    }
    put(&mut q, 0, 100, 2);
    let order: Vec<u8> = std::iter::from_fn(|| next(&mut q, Time(0))).map(|item| item.packet.class).collect();
    assert_eq!(order, [1, 1, 0, 0]);
}

#[test]
fn a_share_is_what_tc_gives_a_class_that_names_no_more() {
    let mut q = real(vec![class(None, BYTE_A_US, BYTE_A_US), class(None, MBIT, MBIT)]);
    put(&mut q, 1, 1000, 3);
    let share = Share {
        rate: Rate(4.0 * MBIT),
        ceil: Rate(BYTE_A_US),
        burst: None,
        cburst: Some(9000),
        quantum: None,
        replace: false,
    };
    assert!(q.share(1, &share, Time(0), &mut Vec::new()));
    assert!(!q.share(7, &share, Time(0), &mut Vec::new()));
    let now = &q.params[1];
    assert_eq!((now.rate, now.ceil, now.burst, now.cburst), (Rate(4.0 * MBIT), Rate(BYTE_A_US), 1600, 9000));
    assert_eq!(now.quantum, 50_000); // 500,000 bytes a second over 10
    assert_eq!(q.observe_node(1, "packets", Time(0)), Some(3.0));
}

#[test]
fn a_class_without_packets_has_no_leaf_and_shows_what_one_with_them_would() {
    let classes = below(BYTE_A_US, vec![class(None, MBIT, MBIT); 1000]);
    let mut q = real(classes);
    assert_eq!((q.leaves.len(), q.counts.len(), q.nodes()), (0, 1, 1001));
    put(&mut q, 700, 1000, 2);
    assert!(next(&mut q, Time(0)).is_some());
    assert_eq!((q.leaves.len(), q.counts.len()), (1, 2));
    assert_eq!((q.count_of(701), q.count_of(702)), (Some(1), None));
    for (name, of_root, used, unused) in [
        ("packets", None, 1.0, 0.0),
        ("bytes", None, 1000.0, 0.0),
        ("sent_packets", Some(1.0), 1.0, 0.0),
        ("drops", Some(0.0), 0.0, 0.0),
    ] {
        let shown = [0, 701, 702].map(|n| q.observe_node(n, name, Time(0)));
        assert_eq!(shown, [of_root, Some(used), Some(unused)], "{name}");
    }
    assert!((left_over(&q, 701, Time(0)) - 600.0).abs() < 1e-6);
    assert!((left_over(&q, 702, Time(0)) - 1600.0).abs() < 1e-6);
    // Leaves made in another order wait in that of their classes.
    put(&mut q, 3, 1000, 1);
    let mut waiting = Vec::new();
    q.for_each(&mut |item| waiting.push(item.packet.class));
    assert_eq!(waiting, [3, 700u16 as u8]);
}

#[test]
fn a_replaced_class_drops_what_waits_and_is_full() {
    let mut q = real(vec![class(None, MBIT, MBIT), class(None, MBIT, MBIT)]);
    put(&mut q, 0, 1000, 4);
    assert!(next(&mut q, Time(0)).is_some() && next(&mut q, Time(0)).is_some());
    let share = Share {
        rate: Rate(MBIT),
        ceil: Rate(MBIT),
        burst: Some(1600),
        cburst: Some(1600),
        quantum: None,
        replace: true,
    };
    let mut dropped = Vec::new();
    assert!(q.share(0, &share, Time(1), &mut dropped));
    assert_eq!(
        dropped.iter().map(|(item, why)| (item.packet.seq, *why)).collect::<Vec<_>>(),
        [(2, Reason::Reconfigured), (3, Reason::Reconfigured)]
    );
    assert!((left_over(&q, 0, Time(1)) - 1600.0).abs() < 1e-6);
    assert_eq!(q.observe_node(0, "drops", Time(1)), Some(2.0));
    put(&mut q, 0, 1000, 1);
    assert!(next(&mut q, Time(1)).is_some());
    assert!(next(&mut q, Time(1)).is_none());
}
