use super::*;
use evenflow_base::schema::Values;

fn given(change: impl FnOnce(&mut Given)) -> Given {
    let mut given = Given {
        form: Form::Rfc,
        target: Duration::from_millis(15),
        rtt_max: Duration::from_millis(100),
        period: None,
        alpha: None,
        beta: None,
        coupling: 2.0,
        native: None,
        min_threshold: Duration(800_000),
        range: Duration(400_000),
        step: Duration::from_millis(1),
        min_packets: None,
        turn: Turn::Wrr,
        classic_share: None,
        time_shift: Duration::from_millis(50),
        drop_overload: true,
        drop_early: false,
        buffer: None,
        max_packet: 1500,
    };
    change(&mut given);
    given
}

fn linux(change: impl FnOnce(&mut Given)) -> Params {
    Params::new(
        given(|g| {
            g.form = Form::Linux;
            change(g);
        }),
        Some(10e6),
    )
}

fn queues(params: Params) -> DualPi2 {
    DualPi2::new(params, Stream::new(1, "dualpi2"))
}

fn item(seq: u64, ecn: Ecn, at: Time) -> Queued {
    Queued { packet: Packet { seq, ..Packet::new(0, 1500, 1448) }.with_ecn(ecn), at }
}

/// Adds packets of one kind that arrive at `at`.
fn add(q: &mut DualPi2, seqs: std::ops::Range<u64>, ecn: Ecn, at: Time) {
    for seq in seqs {
        let item = item(seq, ecn, at);
        let queue = q.place(0, &item.packet, &(), at);
        q.enqueue(queue, item);
    }
}

fn ms(ms: f64) -> Time {
    Time((ms * 1e6) as u64)
}

/// RFC 9332 appendix A.1 with its defaults: Tupdate 15 ms, alpha 0.15 Hz, beta 3 Hz; Linux: 16 ms, 0.160 and 3.199 Hz.
#[test]
fn defaults_of_both_forms() {
    let rfc = Params::new(given(|_| {}), Some(10e6));
    assert_eq!(rfc.period, Duration::from_millis(15));
    assert!((rfc.alpha - 0.15).abs() < 1e-12 && (rfc.beta - 3.0).abs() < 1e-12);
    assert_eq!((rfc.native, rfc.min_packets, rfc.classic_share), (Native::Ramp, 1, 0.0625));
    assert_eq!(rfc.most_bytes, Some(312_500));
    let kernel = linux(|_| {});
    assert_eq!(kernel.period, Duration::from_millis(16));
    assert!((kernel.alpha - 0.160).abs() < 1e-3 && (kernel.beta - 3.199).abs() < 1e-3);
    assert_eq!((kernel.native, kernel.min_packets, kernel.classic_share), (Native::Step, 0, 0.1));
    assert_eq!(kernel.most_bytes, None);
}

/// 25 ms after 15 ms: 0.15 * 0.010 + 3 * 0.010 = 0.0315.
#[test]
fn updates_by_hand() {
    let p = Params::new(given(|_| {}), None);
    assert!((p.next_probability(0.0, 0.025, 0.015) - 0.0315).abs() < 1e-12);
    assert!((p.next_probability(0.1, 0.010, 0.020) - (0.1 - 0.00075 - 0.03)).abs() < 1e-12);
    assert_eq!(p.next_probability(0.01, 0.0, 0.1), 0.0);
    assert_eq!(p.next_probability(0.9, 1.0, 0.0), 1.0);
    let capped = Params::new(given(|g| g.drop_overload = false), None);
    assert_eq!(capped.next_probability(0.4, 1.0, 0.0), 0.5);
}

#[test]
fn ramp_and_step_by_hand() {
    let ramp = Params::new(given(|_| {}), None);
    let at = |p: &Params, us: u64, packets| p.native(Duration(us * 1000), packets);
    assert_eq!(
        [at(&ramp, 800, 9), at(&ramp, 1000, 9), at(&ramp, 1200, 9), at(&ramp, 5000, 9)],
        [0.0, 0.5, 1.0, 1.0]
    );
    assert_eq!(at(&ramp, 5000, 1), 0.0, "it waits alone");
    let step = linux(|_| {});
    assert_eq!([at(&step, 1000, 1), at(&step, 1001, 1)], [0.0, 1.0]);
    assert_eq!(at(&linux(|g| g.min_packets = Some(2)), 5000, 2), 0.0);
}

#[test]
fn the_lower_bit_of_the_ecn_field_decides() {
    let mut q = queues(Params::new(given(|_| {}), None));
    let all = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congestion];
    assert_eq!(all.map(|ecn| q.place(0, &item(0, ecn, Time(0)).packet, &(), Time(0))), [C, L, C, L]);
}

/// The delay is that of the older head, and the packet on the wire is not in it.
#[test]
fn the_controller_uses_the_longer_delay() {
    let mut q = queues(Params::new(given(|_| {}), None));
    add(&mut q, 0..2, Ecn::NotCapable, ms(0.0));
    add(&mut q, 2..3, Ecn::Capable1, ms(5.0));
    assert_eq!(q.next_tick(), ms(15.0));
    q.tick(ms(15.0));
    assert!((q.before - 0.015).abs() < 1e-12 && (q.base - 3.0 * 0.015).abs() < 1e-12);
    assert_eq!(q.next_tick(), ms(30.0));
    // Both old packets leave: the L packet is left, 25 ms old.
    q.credit = 1.0;
    q.dequeue(ms(16.0), &mut Vec::new());
    q.credit = 1.0;
    q.dequeue(ms(17.0), &mut Vec::new());
    q.tick(ms(30.0));
    assert!((q.before - 0.025).abs() < 1e-12);
}

/// recur: a signal comes when the sum of the probabilities exceeds 1, and takes 1 from it.
#[test]
fn signals_of_the_rfc_are_regular() {
    let mut q = queues(Params::new(given(|_| {}), None));
    let picked: Vec<bool> = (0..8).map(|_| q.picks(C, 0.25)).collect();
    // 0.25, 0.5, 0.75, 1.0 (not more than 1), 1.25: the fifth; then 0.5, 0.75, 1.0.
    assert_eq!(picked, [false, false, false, false, true, false, false, false]);
    assert!(q.picks(C, 0.25));
    assert_eq!(q.queues[L].sum, 0.0, "each queue has its own sum");
}

/// With p' = 0.25, k = 2: C signals a share of 1/16, L one of 1/2.
#[test]
fn coupled_shares_by_hand() {
    for params in [Params::new(given(|_| {}), None), linux(|_| {})] {
        let mut q = queues(params);
        q.base = 0.25;
        q.bytes = 1_000_000;
        let n = 64_000;
        let mut count = |queue: usize, ecn: Ecn| {
            (0..n)
                .filter(|_| q.signal(queue, &mut item(0, ecn, Time(0)).packet, 0.0) != Verdict::Accept)
                .count()
        };
        let (l, c) = (count(L, Ecn::Capable1), count(C, Ecn::Capable0));
        // Independent draws scatter: five standard errors.
        assert!(l.abs_diff(n / 2) < 640, "{l}");
        assert!(c.abs_diff(n / 16) < 310, "{c}");
    }
}

#[test]
fn what_a_signal_does() {
    let mut q = queues(Params::new(given(|_| {}), None));
    q.base = 0.4;
    q.bytes = 1_000_000;
    let signal = |q: &mut DualPi2, queue: usize, ecn: Ecn, native: f64| {
        q.queues[queue].sum = 1.0;
        let mut packet = item(0, ecn, Time(0)).packet;
        (q.signal(queue, &mut packet, native), packet.ecn())
    };
    assert_eq!(signal(&mut q, C, Ecn::NotCapable, 0.0), (Verdict::Drop(Reason::Pi2), Ecn::NotCapable));
    assert_eq!(signal(&mut q, C, Ecn::Capable0, 0.0), (Verdict::Mark(Reason::Pi2), Ecn::Congestion));
    assert_eq!(signal(&mut q, L, Ecn::Capable1, 0.0), (Verdict::Mark(Reason::Coupled), Ecn::Congestion));
    assert_eq!(signal(&mut q, L, Ecn::Capable1, 0.9), (Verdict::Mark(Reason::Native), Ecn::Congestion));
    // Overload: p' = 1/k. ECN does not protect a C packet any more, L packets are dropped with p'^2 or marked.
    q.base = 0.5;
    assert_eq!(signal(&mut q, C, Ecn::Capable0, 0.0).0, Verdict::Drop(Reason::Pi2));
    assert_eq!(signal(&mut q, L, Ecn::Capable1, 0.0).0, Verdict::Drop(Reason::Overload));
    q.queues[L].sum = 0.0;
    let mut packet = item(0, Ecn::Capable1, Time(0)).packet;
    assert_eq!(q.signal(L, &mut packet, 0.0), Verdict::Mark(Reason::Coupled));
    // Without drop_overload nothing in L is dropped.
    q.params.given.drop_overload = false;
    assert_eq!(signal(&mut q, L, Ecn::Capable1, 0.0).0, Verdict::Mark(Reason::Coupled));
}

/// Linux: overload is k p' > 1, and less than two packets in all are spared by the controller but not by the step.
#[test]
fn details_of_linux() {
    let mut q = queues(linux(|_| {}));
    q.base = 0.5;
    assert!(!q.is_overloaded());
    q.base = 0.500_001;
    assert!(q.is_overloaded());
    q.bytes = 2 * 1500 - 1;
    let mut packet = item(0, Ecn::Capable0, Time(0)).packet;
    q.base = 1.0;
    assert_eq!(q.signal(C, &mut packet, 0.0), Verdict::Accept);
    let mut packet = item(0, Ecn::Capable1, Time(0)).packet;
    assert_eq!(q.signal(L, &mut packet, 1.0), Verdict::Mark(Reason::Native));
    // With two draws p' = 0.5 drops a quarter, not a half.
    q.base = 0.5;
    q.bytes = 1_000_000;
    let drops = (0..40_000)
        .filter(|_| q.signal(C, &mut item(0, Ecn::NotCapable, Time(0)).packet, 0.0).is_drop())
        .count();
    assert!(drops.abs_diff(10_000) < 430, "{drops}");
}

/// Both backlogged: L and C get bytes as 15:1 in the RFC's form and as 9:1 in that of Linux.
#[test]
fn shares_of_the_round_robin() {
    for (params, served) in [(Params::new(given(|_| {}), None), 160), (linux(|_| {}), 100)] {
        let mut q = queues(params);
        add(&mut q, 0..1000, Ecn::Capable1, Time(0));
        add(&mut q, 1000..2000, Ecn::NotCapable, Time(0));
        let sent: Vec<u64> =
            (0..served).map(|_| q.dequeue(Time(1000), &mut Vec::new()).unwrap().0.packet.seq).collect();
        assert!(sent[0] < 1000, "L goes first");
        assert_eq!(sent.iter().filter(|&&seq| seq >= 1000).count(), 10);
        // In order within each queue.
        assert!(sent.iter().filter(|&&seq| seq < 1000).is_sorted());
    }
    // Alone, either gets everything; the credit is reset when both are empty.
    let mut q = queues(linux(|_| {}));
    add(&mut q, 0..3, Ecn::NotCapable, Time(0));
    let sent = (0..3).map(|_| q.dequeue(Time(0), &mut Vec::new()).unwrap().0.packet.seq);
    assert_eq!(sent.collect::<Vec<_>>(), [0, 1, 2]);
    assert!(q.dequeue(Time(0), &mut Vec::new()).is_none());
    assert_eq!(q.credit, 1500.0 * -0.8);
}

#[test]
fn a_time_shifted_fifo_gives_l_a_head_start() {
    let mut q = queues(Params::new(given(|g| g.turn = Turn::Fifo), None));
    add(&mut q, 10..12, Ecn::NotCapable, ms(0.0));
    add(&mut q, 0..1, Ecn::Capable1, ms(49.0));
    add(&mut q, 1..2, Ecn::Capable1, ms(51.0));
    let mut next = |at: f64| q.dequeue(ms(at), &mut Vec::new()).unwrap().0.packet.seq;
    // 49 - 50 is before 0, 51 - 50 is not.
    assert_eq!([next(52.0), next(52.0), next(52.0), next(52.0)], [0, 10, 11, 1]);
}

/// A dropped packet uses no credit, and the next one is looked at in the same call.
#[test]
fn the_c_queue_drops_until_a_packet_passes() {
    let mut q = queues(Params::new(given(|_| {}), None));
    add(&mut q, 0..3, Ecn::NotCapable, ms(0.0));
    q.base = 1.0;
    q.queues[C].sum = 0.5;
    let mut dropped = Vec::new();
    // Sums 1.5, 1.5, 1.5: all three go.
    assert!(q.dequeue(ms(1.0), &mut dropped).is_none());
    assert_eq!(
        dropped.iter().map(|(item, reason)| (item.packet.seq, *reason)).collect::<Vec<_>>(),
        [(0, Reason::Pi2), (1, Reason::Pi2), (2, Reason::Pi2)]
    );
    assert_eq!(q.bytes, 0);
}

#[test]
fn the_limit_leaves_space_for_a_packet() {
    let q = queues(Params::new(given(|g| g.buffer = Some(Duration::from_millis(10))), Some(12e6)));
    // 15,000 bytes.
    assert!(!q.is_full(C, 13_500, 40));
    assert!(q.is_full(C, 13_501, 40));
    assert!(!queues(linux(|_| {})).is_full(C, 1 << 40, 1500));
}

#[test]
fn with_drop_early_signals_come_at_arrival() {
    let mut q = queues(linux(|g| g.drop_early = true));
    q.base = 0.4;
    q.bytes = 1_000_000;
    let arrivals = 10_000;
    let marked = (0..arrivals)
        .filter(|_| q.admit(L, &mut item(0, Ecn::Capable1, Time(0)).packet, Time(0)) != Verdict::Accept)
        .count();
    assert!(marked.abs_diff(8_000) < 200, "{marked}");
    add(&mut q, 0..100, Ecn::Capable1, ms(0.0));
    let marks = (0..100).filter(|_| q.dequeue(ms(0.5), &mut Vec::new()).unwrap().1.is_some()).count();
    assert_eq!(marks, 0, "only the step is left at departure");
    add(&mut q, 0..2, Ecn::Capable1, ms(0.0));
    assert_eq!(q.dequeue(ms(1.5), &mut Vec::new()).unwrap().1, Some(Reason::Native));
}

#[test]
fn it_always_marks() {
    assert!(<DualPi2 as Kind>::marks(&Values::default()));
}
