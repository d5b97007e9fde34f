use super::*;
use evenflow_base::{Carried, Options, flags};

const RATE: Rate = Rate(8e6); // a byte a microsecond

/// A flow's number is its source host plus 100 times its destination host; its class is its DSCP.
struct Table(Options);

impl FlowTable for Table {
    fn hosts(&self, packet: &Packet) -> (u32, u32) {
        (packet.flow % 100, packet.flow / 100 % 100)
    }

    fn dscp(&self, packet: &Packet) -> u8 {
        packet.class
    }

    fn options(&self, packet: &Packet) -> &Carried {
        self.0.of(packet)
    }
}

struct Bench {
    cake: Cake,
    table: Table,
    next: u64,
    dropped: Vec<Dropped>,
}

impl Bench {
    fn new(change: impl FnOnce(&mut Params)) -> Bench {
        let mut params = Params {
            rate: None,
            tins: Scheme::Diffserv3,
            isolation: Isolation::Triple,
            rtt: Duration::from_millis(100),
            ingress: false,
            ack_filter: AckFilter::Off,
            overhead: 0,
            mpu: 0,
            framing: Framing::None,
            memory_limit: None,
            max_packet: 1514,
        };
        change(&mut params);
        let cake = Cake::new(params, Stream::new(1, "hash"), Stream::new(1, "draws"));
        Bench { cake, table: Table(Options::default()), next: 0, dropped: Vec::new() }
    }

    fn arrive(&mut self, packet: Packet, now: Time) -> bool {
        let queue = self.cake.place(packet.flow as usize, &packet, &self.table, now);
        while self.cake.packets > 0 && self.cake.is_full(queue, 0, packet.size) {
            if !self.cake.can_push_out(queue, packet.size) {
                self.cake.turned_away(queue, Reason::Limit);
                return false;
            }
            assert!(self.cake.push_out(queue, packet.size, &mut self.dropped));
        }
        self.cake.enqueue(queue, Queued { packet, at: now });
        true
    }

    /// A packet of a flow with its own number; the DSCP is the class.
    fn packet(&mut self, flow: u32, dscp: u8, size: u16, now: Time) {
        self.next += 1;
        let packet = Packet { seq: self.next, class: dscp, ..Packet::new(flow, size, size) };
        self.arrive(packet, now);
    }

    /// Bytes that each of `flows` gets while all have packets of 1000 bytes, which all take part in `rounds`
    /// departures.
    fn shares(&mut self, flows: &[(u32, u8)], rounds: u64) -> Vec<u64> {
        let mut sent = vec![0; flows.len()];
        let mut now = Time(0);
        for _ in 0..4 {
            flows.iter().for_each(|&(flow, dscp)| self.packet(flow, dscp, 1000, now));
        }
        for _ in 0..rounds {
            now = self.cake.blocked_until(now).unwrap_or(now);
            let (item, _) = self.cake.dequeue(now, &mut self.dropped).expect("all have packets");
            let (flow, dscp) = (item.packet.flow, item.packet.class);
            let place = flows.iter().position(|own| *own == (flow, dscp)).unwrap();
            sent[place] += u64::from(item.packet.size);
            let refill = 1 + std::mem::take(&mut self.dropped).len();
            (0..refill).for_each(|_| self.packet(flow, dscp, 1000, now));
        }
        sent
    }
}

/// Of all, in percent.
fn percent(shares: &[u64]) -> Vec<f64> {
    let all: u64 = shares.iter().sum();
    shares.iter().map(|own| (1000.0 * *own as f64 / all as f64).round() / 10.0).collect()
}

/// A source with 1 flow and one with 10, each flow to its own destination.
fn two_hosts() -> Vec<(u32, u8)> {
    (0..11).map(|n| (if n == 0 { 1 } else { 2 } + 100 * n, 0)).collect()
}

#[test]
fn hosts_with_1_and_10_flows_share_as_their_mode_says() {
    let half = |mode: Isolation| {
        let mut bench = Bench::new(|params| params.isolation = mode);
        let shares = percent(&bench.shares(&two_hosts(), 22_000));
        assert!(shares[1..].iter().all(|own| (own - shares[1]).abs() < 0.3), "{shares:?}");
        shares[0]
    };
    assert!((half(Isolation::DualSource) - 50.0).abs() < 1.0);
    assert!((half(Isolation::Triple) - 50.0).abs() < 1.0);
    assert!((half(Isolation::Flows) - 9.1).abs() < 0.2);
    // All destinations have one flow.
    assert!((half(Isolation::DualDestination) - 9.1).abs() < 0.2);
    assert!((half(Isolation::Destination) - 9.1).abs() < 0.2);
    assert!((half(Isolation::Hosts) - 9.1).abs() < 0.2);
}

#[test]
fn queues_per_source_and_one_queue_for_all() {
    let mut bench = Bench::new(|params| params.isolation = Isolation::Source);
    let shares = percent(&bench.shares(&two_hosts(), 22_000));
    assert!((shares[0] - 50.0).abs() < 1.0, "{shares:?}");
    let mut bench = Bench::new(|params| params.isolation = Isolation::FlowBlind);
    (0..9).for_each(|n| bench.packet(n, 0, 1000, Time(0)));
    let order: Vec<u64> =
        (0..9).map(|_| bench.cake.dequeue(Time(0), &mut Vec::new()).unwrap().0.packet.seq).collect();
    assert_eq!(order, (1..10).collect::<Vec<_>>());
}

#[test]
fn triple_isolation_takes_the_larger_load() {
    // Host 1 sends four flows to four hosts, host 2 one flow; three flows go to the host of the latter:
    // quanta 1/4, 1/4, 1.
    let flows = [(101, 0), (201, 0), (301, 0), (401, 0), (502, 0)];
    let shares = percent(&Bench::new(|_| ()).shares(&flows, 20_000));
    assert!((shares[4] - 50.0).abs() < 1.0, "{shares:?}");
    let flows = [(101, 0), (201, 0), (301, 0), (901, 0), (902, 0), (903, 0)];
    let shares = percent(&Bench::new(|_| ()).shares(&flows, 20_000));
    // Loads 4, 4, 4, 4, 3, 3 of 1 + 2/3: 15 % and 20 %.
    assert!(shares[..4].iter().all(|own| (own - 15.0).abs() < 0.5), "{shares:?}");
    assert!(shares[4..].iter().all(|own| (own - 20.0).abs() < 0.5), "{shares:?}");
}

#[test]
fn without_a_shaper_tins_share_by_quantum() {
    let shares = percent(&Bench::new(|_| ()).shares(&[(1, 0), (2, 8), (3, 46)], 42_000));
    // 1024, 64, 256 of 1344.
    assert!(
        (shares[0] - 76.2).abs() < 0.5 && (shares[1] - 4.8).abs() < 0.5 && (shares[2] - 19.0).abs() < 0.5,
        "{shares:?}"
    );
}

#[test]
fn a_shaped_tin_has_priority_up_to_its_threshold() {
    let mut bench = Bench::new(|params| params.rate = Some(RATE));
    let shares = percent(&bench.shares(&[(1, 0), (2, 8), (3, 46)], 32_000));
    // Bulk 1/16 and voice 1/4 of the rate; best effort the rest.
    assert!((shares[1] - 6.25).abs() < 0.2 && (shares[2] - 25.0).abs() < 0.2, "{shares:?}");
    // Above both thresholds each clock is one packet in advance: 16 packet times for bulk, 4 for voice. Voice
    // goes first while its clock is not later: 13 times in a row.
    let mut bench = Bench::new(|params| params.rate = Some(RATE));
    let shares = percent(&bench.shares(&[(2, 8), (3, 46)], 32_000));
    assert_eq!(shares, percent(&[1, 13]));
}

#[test]
fn the_shaper_keeps_its_rate_and_allows_no_burst() {
    let mut bench = Bench::new(|params| {
        params.rate = Some(RATE);
        (params.overhead, params.framing) = (44, Framing::Atm);
    });
    let mut now = Time(50_000);
    (0..100).for_each(|_| bench.packet(1, 0, 1500, now));
    for n in 0..100 {
        assert_eq!(bench.cake.next_event(), Time(50_000 + n * 1_749_000));
        now = bench.cake.next_event();
        assert!(bench.cake.dequeue(Time(now.0 - 1), &mut Vec::new()).is_none());
        bench.cake.dequeue(now, &mut bench.dropped).unwrap();
        if bench.cake.packets == 0 {
            break;
        }
    }
}

#[test]
fn a_full_buffer_drops_the_head_of_the_longest_queue() {
    // Memory 2304, 2304, 2304, 2304 and then 1280: the fifth needs space.
    assert_eq!([60, 500, 640, 641, 1514].map(memory), [768, 1280, 1280, 2304, 2304]);
    let mut bench = Bench::new(|params| params.memory_limit = Some(10_000));
    for (flow, size) in [(1, 1000), (1, 1000), (2, 1500), (1, 1000)] {
        bench.packet(flow, 0, size, Time(0));
    }
    assert!(bench.dropped.is_empty());
    bench.packet(3, 46, 600, Time(1_000_000_000));
    let gone: Vec<(u64, Reason)> = bench.dropped.iter().map(|(item, why)| (item.packet.seq, *why)).collect();
    assert_eq!(gone, [(1, Reason::PushedOut)]);
    // Now 2000, 1500, 600: the newcomer makes its own queue the longest.
    bench.packet(2, 0, 1400, Time(1_000_000_000));
    assert_eq!(bench.dropped[1].0.packet.seq, 3);
    bench.dropped.clear();
    assert_eq!(bench.cake.observe("pushed_out", Time(0)), Some(2.0));
    // BLUE of both queues is active now, for their first packet waited longer than the target.
    let drops = |flow: u32, bench: &mut Bench| {
        let packet = Packet::new(flow, 100, 100);
        let place = bench.cake.place(flow as usize, &packet, &bench.table, Time(0));
        bench.cake.tins[place / QUEUES].flows[place % QUEUES].aqm.cobalt.observe("probability")
    };
    assert_eq!(drops(1, &mut bench), Some(1.0 / 256.0));
    assert_eq!(drops(3, &mut bench), Some(0.0));
}

#[test]
fn buffers_follow_rate_and_rtt() {
    let buffer = |rate: Option<f64>, limit: Option<u64>| {
        Bench::new(|params| (params.rate, params.memory_limit) = (rate.map(Rate), limit)).cake.buffer
    };
    assert_eq!(buffer(None, None), 10_240 * 1514);
    assert_eq!(buffer(Some(10e6), None), 4 << 20);
    assert_eq!(buffer(Some(200e6), None), 10_000_000);
    assert_eq!(buffer(Some(1e9), None), 10_240 * 1514);
    assert_eq!(buffer(Some(1e9), Some(30_000_000)), 30_000_000);
}

#[test]
fn a_queue_is_sparse_then_bulk_then_decaying_then_idle() {
    let mut bench = Bench::new(|_| ());
    let seen = |bench: &Bench| {
        ["active_queues", "bulk_queues", "decaying_queues", "new_flows"]
            .map(|name| bench.cake.observe(name, Time(0)).unwrap() as u32)
    };
    (0..3).for_each(|_| bench.packet(101, 0, 1000, Time(0)));
    assert_eq!(seen(&bench), [1, 0, 0, 1]);
    let take = |bench: &mut Bench, now: u64| bench.cake.dequeue(Time(now), &mut Vec::new()).is_some();
    assert!(take(&mut bench, 0) && take(&mut bench, 0));
    assert_eq!(seen(&bench), [1, 0, 0, 1], "the deficit is not looked at yet");
    bench.packet(202, 0, 100, Time(0));
    assert!(take(&mut bench, 0)); // host 1's flow gets a quantum in the old list; host 2's leaves
    assert_eq!(seen(&bench), [2, 1, 0, 2]);
    assert!(take(&mut bench, 0));
    bench.packet(202, 0, 100, Time(1));
    assert!(take(&mut bench, 1));
    // Host 2's flow is found empty, but it sent within an interval; host 1's is behind host 3's.
    (0..3).for_each(|_| bench.packet(303, 0, 60, Time(2)));
    assert!(take(&mut bench, 2) && take(&mut bench, 2));
    assert_eq!(seen(&bench), [2, 1, 1, 3]);
}

#[test]
fn the_ack_filter_acts_in_the_queue_of_its_flow() {
    for (filter, left) in [
        (AckFilter::Off, vec![1, 2, 3, 4]),
        (AckFilter::Filter, vec![3, 4]),
        (AckFilter::Aggressive, vec![4]),
    ] {
        let mut bench = Bench::new(|params| params.ack_filter = filter);
        for number in 1..5 {
            let packet = Packet { seq: number, flags: flags::ACK, ..Packet::new(101, 52, 0) };
            assert!(bench.arrive(packet, Time(0)));
            let other = Packet { seq: 100, flags: flags::ACK, ..Packet::new(102, 52, 0) };
            assert!(bench.arrive(other, Time(0)));
        }
        let sent =
            std::iter::from_fn(|| bench.cake.dequeue(Time(0), &mut Vec::new())).map(|(item, _)| item.packet);
        assert_eq!(
            sent.filter(|packet| packet.flow == 101).map(|packet| packet.seq).collect::<Vec<_>>(),
            left
        );
        assert!(bench.dropped.iter().all(|(_, reason)| *reason == Reason::AckFilter));
    }
}

#[test]
fn in_ingress_mode_dropped_bytes_are_charged() {
    let sent = |ingress: bool, seconds: u64| {
        let mut bench = Bench::new(|params| (params.rate, params.ingress) = (Some(RATE), ingress));
        let (mut bytes, mut now) = (0, Time(0));
        while now < Time(seconds * 1_000_000_000) {
            while bench.cake.packets < 400 {
                bench.packet(1, 0, 1000, now);
            }
            bytes += bench
                .cake
                .dequeue(now, &mut bench.dropped)
                .map_or(0, |(item, _)| u64::from(item.packet.size));
            now = bench.cake.next_event();
        }
        (bytes, bench.dropped.len() as u64 * 1000)
    };
    let (bytes, dropped) = sent(false, 2);
    assert!(bytes.abs_diff(2_000_000) <= 1000 && dropped > 20_000, "{bytes} {dropped}");
    let (bytes, dropped) = sent(true, 2);
    assert!((bytes + dropped).abs_diff(2_000_000) <= 5000 && dropped > 20_000, "{bytes} {dropped}");
    // A flow that never slows down is dropped more and more. Two thirds of the rate stay.
    let (bytes, dropped) = sent(true, 20);
    assert!(bytes.abs_diff(20_000_000 * 2 / 3) <= 3000 && dropped > 7_000_000, "{bytes} {dropped}");
}

proptest::proptest! {
    /// Each packet leaves once or is dropped once, in the order of its flow; counts agree; host loads return
    /// to zero.
    #[test]
    fn packets_are_conserved(
        arrivals in proptest::collection::vec((0u32..400, 0u8..64, 40u16..1514, 0u64..3_000_000), 1..300),
        scheme in 0..5usize, mode in 0..8usize, shaped: bool, ingress: bool, filter in 0..3usize,
    ) {
        let schemes = [Scheme::BestEffort, Scheme::Diffserv3, Scheme::Diffserv4, Scheme::Diffserv8, Scheme::Precedence];
        let modes = [
            Isolation::FlowBlind, Isolation::Source, Isolation::Destination, Isolation::Hosts, Isolation::Flows,
            Isolation::DualSource, Isolation::DualDestination, Isolation::Triple,
        ];
        let mut bench = Bench::new(|params| {
            (params.tins, params.isolation, params.ingress) = (schemes[scheme], modes[mode], ingress);
            params.rate = shaped.then_some(RATE);
            params.ack_filter = [AckFilter::Off, AckFilter::Filter, AckFilter::Aggressive][filter];
            params.memory_limit = Some(20_000);
        });
        let (mut now, mut free, mut refused, mut sent) = (Time(0), Time(0), 0, Vec::new());
        let mut serve = |bench: &mut Bench, until: Time, sent: &mut Vec<Packet>| {
            while free <= until {
                free = match bench.cake.dequeue(free, &mut bench.dropped) {
                    Some((item, _)) => { sent.push(item.packet); Time(free.0 + 1_000_000) }
                    None if bench.cake.packets > 0 => { assert!(bench.cake.next_event() > free); bench.cake.next_event() }
                    None => break,
                };
            }
            free = free.max(until);
        };
        for (n, (flow, dscp, size, gap)) in arrivals.iter().enumerate() {
            now = Time(now.0 + gap);
            serve(&mut bench, now, &mut sent);
            let packet = Packet { seq: n as u64, class: *dscp, flags: flags::ACK, ..Packet::new(*flow, *size, 0) };
            refused += usize::from(!bench.arrive(packet, now));
            let mut shown = 0;
            bench.cake.for_each(&mut |_| shown += 1);
            proptest::prop_assert_eq!(shown, bench.cake.packets);
        }
        serve(&mut bench, Time(u64::MAX / 4), &mut sent);
        proptest::prop_assert_eq!((bench.cake.packets, bench.cake.memory), (0, 0));
        proptest::prop_assert_eq!(sent.len() + bench.dropped.len() + refused, arrivals.len());
        for own in 0..400 {
            let order: Vec<(u8, u64)> = sent.iter().filter(|p| p.flow == own).map(|p| (p.class, p.seq)).collect();
            for dscp in 0..64 {
                let mine: Vec<u64> = order.iter().filter(|p| p.0 == dscp).map(|p| p.1).collect();
                proptest::prop_assert!(mine.is_sorted());
            }
        }
        for tin in &bench.cake.tins {
            proptest::prop_assert_eq!(tin.bytes, 0);
            let bulk: usize = tin.hosts[0].loads().iter().map(|&n| usize::from(n)).sum();
            let counts = modes[mode].sides().contains(&0);
            proptest::prop_assert_eq!(bulk, if counts { tin.bulk as usize } else { 0 });
        }
    }
}
