//! A sender and a receiver over a channel that loses, repeats and reorders: what must hold whatever it does.

use std::collections::BTreeMap;

use evenflow_base::schema::Values;
use evenflow_base::{Carried, Duration, Ecn, Packet, Report, Stream, Time, flags};
use evenflow_transport::profile::{Ecn as Mode, LossDetection, Reduction, RttSource};
use evenflow_transport::sender::{Life, Recovery};
use evenflow_transport::{CongestionControl, Profile, Receiver, Segment, Sender};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Small segments keep the model of bytes small.
const MSS: u32 = 100;

/// What the channel does to a packet.
#[derive(Clone, Copy, Debug)]
struct Channel {
    /// Probability of losing it, forwards and backwards.
    loss: [f64; 2],
    /// Probability of a second copy.
    repeat: f64,
    /// Probability of a congestion mark on what can bear one.
    mark: f64,
    /// Delay: this, plus up to that.
    delay: Duration,
    jitter: Duration,
}

fn newreno(profile: &Profile) -> CongestionControl {
    CongestionControl::build("newreno", &Values::default(), profile, 1.0).expect("no parameters")
}

struct World {
    profile: Profile,
    sender: Sender,
    receiver: Receiver,
    channel: Channel,
    stream: Stream,
    /// Packets under way by time of arrival and number.
    air: BTreeMap<(Time, u64), (bool, Segment, Report)>,
    /// What the application will add, and how long after all before it was acknowledged.
    pieces: Vec<(Duration, u64)>,
    /// When it adds the next.
    offer_at: Time,
    sent: u64,
    now: Time,
    /// Bytes that reached the receiver at least once.
    arrived: Vec<bool>,
    /// So many from the first on.
    prefix: u64,
    /// One beyond the highest byte sent, and the highest ACK that reached the sender.
    high: u64,
    acked: u64,
    /// Marked packets that arrived.
    marks: u64,
    /// `high` when the threshold was last lowered.
    lowered: u64,
}

impl World {
    fn new(profile: Profile, size: u64, channel: Channel, seed: u64) -> World {
        World {
            sender: Sender::new(&profile, newreno(&profile), Some(size)),
            receiver: Receiver::new(&profile),
            profile,
            channel,
            stream: Stream::new(seed, "channel"),
            air: BTreeMap::new(),
            pieces: Vec::new(),
            offer_at: Time::NEVER,
            sent: 0,
            now: Time::ZERO,
            arrived: vec![false; size as usize],
            prefix: 0,
            high: 0,
            acked: 0,
            marks: 0,
            lowered: 0,
        }
    }

    fn transmit(&mut self, out: &mut Vec<Segment>) {
        let before = (self.high, out.len());
        for mut segment in out.drain(..) {
            let back = segment.is_backward();
            let mut report = Report::default();
            if back && self.profile.sack {
                self.receiver.report(&mut report);
            }
            for &(from, to) in report.blocks() {
                assert!(
                    self.arrived[from as usize..to as usize].iter().all(|&there| there),
                    "reported {from}..{to}"
                );
            }
            if segment.ecn() != Ecn::NotCapable {
                // RFC 3168 sections 6.1.1, 6.1.4, 6.1.5.
                assert!(segment.payload > 0 && !segment.again && segment.flags & flags::SYN == 0);
                assert_ne!(self.sender.ecn(), Mode::Off);
                if self.stream.open01() < self.channel.mark {
                    segment.ip |= Ecn::Congestion as u8;
                }
            }
            if segment.payload > 0 {
                assert!(u32::from(segment.payload) <= MSS);
                let again = segment.seq < self.high;
                assert_eq!(segment.again, again, "{segment:?}");
                self.high = self.high.max(segment.seq + u64::from(segment.payload));
                assert!(self.high <= self.arrived.len() as u64, "beyond what the application has");
                let out = self.high - self.acked;
                assert!(self.profile.window_clamp || out <= self.profile.max_window, "beyond the window");
            }
            let copies = 1 + u64::from(self.stream.open01() < self.channel.repeat);
            for _ in 0..copies {
                self.sent += 1;
                if self.stream.open01() < self.channel.loss[usize::from(back)] {
                    continue;
                }
                let extra = self.channel.jitter.seconds() * self.stream.open01();
                let at = self.now + self.channel.delay + Duration::from_seconds(extra);
                self.air.insert((at, self.sent), (back, segment, report));
            }
        }
        self.check_burst(before.0, before.1);
    }

    /// What one call let out: no more than the window, but for a single segment that goes in any case (a retransmission, a
    /// probe, limited transmit).
    fn check_burst(&self, before: u64, segments: usize) {
        let (cwnd, mss) = (self.sender.window().cwnd, u64::from(MSS));
        let in_flight = self.sender.in_flight(&self.profile);
        if self.profile.sack && segments >= 2 {
            assert!(in_flight <= cwnd + f64::from(MSS), "{in_flight} in flight, window {cwnd}");
        }
        if !self.profile.sack && self.high > before + mss {
            assert!((self.high - self.acked) as f64 <= cwnd, "{} out, window {cwnd}", self.high - self.acked);
        }
        if self.profile.sack {
            // Each byte at most once as sent and once as sent again.
            assert!(in_flight <= 2.0 * (self.high - self.acked) as f64);
        }
        if self.profile.write.is_none() {
            // Each piece may end with a short segment.
            let most = self.profile.max_window / mss + 4 + self.pieces.capacity() as u64;
            assert!(segments as u64 <= most, "{segments} segments at once");
        }
    }

    fn deliver(&mut self, back: bool, segment: Segment, report: Report, out: &mut Vec<Segment>) {
        let packet = Packet {
            seq: segment.seq,
            stamp: segment.stamp,
            flags: segment.flags,
            ip: segment.ip,
            ..Packet::new(0, segment.size(&self.profile), segment.payload)
        };
        if back {
            if packet.is(flags::ACK) && !packet.is(flags::SYN) {
                self.acked = self.acked.max(packet.seq);
            }
            let before = self.sender.window().ssthresh;
            self.sender.receive(&packet, &Carried::reporting(report), self.now, &self.profile, out);
            return self.check_threshold(before);
        }
        self.marks += u64::from(packet.ecn() == Ecn::Congestion);
        let (from, to) = (packet.seq as usize, packet.seq as usize + usize::from(packet.payload));
        self.arrived[from..to].fill(true);
        while self.arrived.get(self.prefix as usize) == Some(&true) {
            self.prefix += 1;
        }
        self.receiver.receive(&packet, self.now, &self.profile, out);
    }

    /// One window of data lowers the threshold once, whether by losses or by marks (RFC 3168 section 6.1.2).
    fn check_threshold(&mut self, before: f64) {
        let after = self.sender.window().ssthresh;
        if after < before && self.sender.recovery() != Recovery::Loss {
            let ecn = self.profile.ecn != Mode::Off;
            assert!(!ecn || self.acked >= self.lowered, "{} and {}", self.acked, self.lowered);
            self.lowered = self.high;
        } else if after > before {
            self.lowered = 0; // taken back
        }
    }

    /// One event; `false` when nothing is left to happen.
    fn step(&mut self) -> bool {
        let packet = self.air.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let next = packet.min(self.sender.deadline()).min(self.receiver.deadline()).min(self.offer_at);
        if next == Time::NEVER {
            return false;
        }
        assert!(next >= self.now, "a deadline lies in the past");
        self.now = next;
        let mut out = Vec::new();
        if packet == next {
            let (_, (back, segment, report)) = self.air.pop_first().expect("a packet");
            self.deliver(back, segment, report, &mut out);
        } else if self.offer_at == next {
            self.offer_at = Time::NEVER;
            let (_, more) = self.pieces.remove(0);
            self.sender.offer(more, next, &self.profile, &mut out);
        } else if self.sender.deadline() == next {
            self.sender.wake(next, &self.profile, &mut out);
        } else {
            self.receiver.wake(next, &mut out);
        }
        self.transmit(&mut out);
        if self.sender.window().ssthresh.is_finite() && packet != next {
            self.lowered = self.lowered.min(self.acked); // a timeout is another event
        }
        if self.offer_at == Time::NEVER
            && let Some(&(pause, _)) = self.pieces.first()
            && matches!(self.sender.life(), Life::Open | Life::Done)
        {
            self.offer_at = self.now + pause;
        }
        self.check();
        true
    }

    fn check(&self) {
        assert_eq!(self.receiver.delivered(), self.prefix, "every byte once, in order, nothing else");
        assert!(self.acked <= self.prefix, "acknowledged before it arrived");
        let window = self.sender.window();
        let mss = f64::from(MSS);
        // The floor. A timeout sets one segment. A partial ACK deflates to nothing at worst and adds one segment back;
        // a full ACK takes the lesser of ssthresh, two segments at least, and flight plus one segment. Everything
        // else grows. So ns-3.26 never goes below one segment, and ssthresh never below two.
        // PRR's window is what is in flight plus what may go, which may be nothing.
        if !self.profile.sack || self.sender.recovery() == Recovery::Open {
            assert!(window.cwnd >= mss, "cwnd {}", window.cwnd);
        }
        assert!(
            window.ssthresh >= (2.0 * mss).min(self.profile.max_window as f64),
            "ssthresh {}",
            window.ssthresh
        );
        match self.sender.life() {
            Life::Opening => assert!(self.sender.deadline() < Time::NEVER),
            Life::Open if self.high > self.acked => {
                let latest = self.profile.due(self.now, self.profile.max_rto);
                assert!(self.sender.deadline() <= latest, "no timer");
            }
            Life::Done | Life::Dead => assert_eq!(self.sender.deadline(), Time::NEVER),
            Life::Idle | Life::Open => {}
        }
        if self.sender.recovery() == Recovery::Recovery {
            assert!(self.high > self.acked, "nothing to recover");
        }
    }

    fn run(&mut self) {
        let mut out = Vec::new();
        self.sender.open(self.now, &self.profile, &mut out);
        self.transmit(&mut out);
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 200_000, "it never ends");
        }
    }
}

fn channels() -> impl Strategy<Value = Channel> {
    (0.0..0.35f64, 0.0..0.35f64, 0.0..0.2f64, 0u64..120, prop_oneof![Just(0u64), 0u64..200], 0.0..1.0f64)
        .prop_map(|(forth, back, repeat, delay, jitter, mark)| Channel {
            loss: [forth, back],
            repeat,
            mark,
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
        })
}

fn profiles() -> impl Strategy<Value = Profile> {
    let base = prop::sample::select(vec!["rfc", "linux", "linux3.2", "ns3.26", "ns2", "ns2-linux"]);
    let ecn = prop::sample::select(vec![Mode::Off, Mode::Classic, Mode::Accurate, Mode::PerPacket]);
    let detection = prop::sample::select(vec![
        LossDetection::Sack,
        LossDetection::Fack,
        LossDetection::FackAdaptive,
        LossDetection::Rack,
    ]);
    let reduction = prop::sample::select(vec![
        Reduction::AtOnce,
        Reduction::Proportional,
        Reduction::ProportionalAlways,
        Reduction::RateHalving,
        Reduction::ProportionalOrHalving,
    ]);
    let small =
        (1u32..12, 1u32..4, 1u64..40, 1u32..300, prop::bool::ANY, prop_oneof![Just(1000u64), 20u64..1000]);
    (base, ecn, prop::option::of((detection, reduction, prop::bool::ANY)), small).prop_map(
        |(base, ecn, mixed, (initial, ack_every, windows, write, limited_transmit, min_rto))| {
            let mut profile = Profile {
                mss: MSS.into(),
                initial_window: f64::from(initial),
                ack_every: if ecn == Mode::PerPacket { 1 } else { ack_every },
                // Room for a segment however the writes fall.
                max_window: u64::from(MSS) * windows + u64::from(write),
                limited_transmit,
                min_rto: Duration::from_millis(min_rto),
                retries: None,
                syn_tries: 30,
                ecn,
                ..Profile::named(base).expect("complete")
            };
            if base == "ns3.26" {
                profile.write = Some(write);
            }
            // Any mixture of the lines of recovery with SACK.
            if let Some((detection, reduction, probe)) = mixed.filter(|_| profile.sack) {
                (profile.loss_detection, profile.reduction) = (detection, reduction);
                profile.tail_loss_probe = probe && detection == LossDetection::Rack;
                profile.rtt = if probe { RttSource::SendTimes } else { RttSource::Timestamps };
            }
            profile
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 500, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

    /// Unlimited retries: everything arrives, whatever the channel does, and then all is quiet.
    #[test]
    fn everything_arrives_once_and_in_order(
        profile in profiles(), channel in channels(), size in 1u64..12_000, seed: u64,
    ) {
        let mut world = World::new(profile, size, channel, seed);
        world.run();
        prop_assert_eq!(world.sender.life(), Life::Done);
        prop_assert_eq!(world.receiver.delivered(), size);
    }

    /// An application that writes in pieces with pauses, short and long: the same.
    #[test]
    fn pieces_arrive_once_and_in_order(
        profile in profiles(), channel in channels(), first in 0u64..2_000,
        pieces in prop::collection::vec((0u64..5_000, 1u64..2_000), 1..8), seed: u64,
    ) {
        let size = first + pieces.iter().map(|piece| piece.1).sum::<u64>();
        let mut world = World::new(profile, size, channel, seed);
        world.sender = Sender::new(&world.profile, newreno(&world.profile), Some(first));
        world.pieces = pieces.into_iter().map(|(ms, more)| (Duration::from_millis(ms), more)).collect();
        world.run();
        prop_assert_eq!(world.sender.life(), Life::Done);
        prop_assert_eq!(world.receiver.delivered(), size);
    }

    /// RFC 9768: where no ACK is lost or overtaken the sender knows of every mark, whatever is lost on the way there.
    #[test]
    fn accurate_feedback_counts_every_mark(
        profile in profiles(), channel in channels(), size in 1u64..12_000, seed: u64,
    ) {
        // Where the receiver merges reports, eight of them may hide a turn of the counter.
        let ack_compression = Duration::ZERO;
        let profile = Profile { ecn: Mode::Accurate, ack_compression, ..profile };
        prop_assume!(profile.sack);
        let channel = Channel { loss: [channel.loss[0], 0.0], repeat: 0.0, jitter: Duration::ZERO, ..channel };
        let mut world = World::new(profile, size, channel, seed);
        world.run();
        // Not if two SYNs were lost (section 3.1.4.1).
        let known = if world.sender.ecn() == Mode::Accurate { world.marks } else { 0 };
        prop_assert_eq!(world.sender.marks_reported(), known);
    }

    /// Six retries: it is done or dead at the end, never stuck.
    #[test]
    fn a_connection_ends_done_or_dead(channel in channels(), size in 1u64..6_000, seed: u64) {
        let profile = Profile { mss: MSS.into(), ..Profile::ns3_26() };
        let mut world = World::new(profile, size, channel, seed);
        world.run();
        let life = world.sender.life();
        prop_assert!(matches!(life, Life::Done | Life::Dead), "{:?}", life);
        prop_assert_eq!(life == Life::Done, world.acked == size);
    }

    /// A perfect channel: nothing is sent twice, and the whole takes as long as slow start needs, give or take an ACK
    /// held back.
    #[test]
    fn a_perfect_channel_needs_no_retransmission(size in 1u64..12_000, delay in 1u64..200, seed: u64) {
        let channel = Channel {
            loss: [0.0; 2], repeat: 0.0, mark: 0.0, delay: Duration::from_millis(delay), jitter: Duration::ZERO,
        };
        let mut world = World::new(Profile { mss: MSS.into(), ..Profile::ns3_26() }, size, channel, seed);
        world.run();
        prop_assert_eq!(world.sender.life(), Life::Done);
        prop_assert_eq!(world.sender.retransmitted(), 0);
        // Handshake, then at least half as much again each round trip.
        let (mut rounds, mut total, mut window) = (3.0, 1.0, 1.0);
        while total < size as f64 / f64::from(MSS) {
            window *= 1.5;
            total += window;
            rounds += 1.0;
        }
        prop_assert!(world.now.seconds() <= 2.0 * delay as f64 / 1e3 * rounds + 0.2 * rounds);
    }

    /// A channel that swallows everything kills the connection in the time the rules say, or it never opens.
    #[test]
    fn a_dead_channel_kills(after in 0u64..1500, seed: u64) {
        let open = Channel { loss: [0.0; 2], repeat: 0.0, mark: 0.0, delay: Duration::from_millis(50), jitter: Duration::ZERO };
        let mut world = World::new(Profile { mss: MSS.into(), ..Profile::ns3_26() }, 1_000_000, open, seed);
        let mut out = Vec::new();
        world.sender.open(Time::ZERO, &world.profile.clone(), &mut out);
        world.transmit(&mut out);
        while world.now < Time(after * 1_000_000) {
            prop_assert!(world.step());
        }
        world.channel.loss = [1.0; 2];
        world.air.clear();
        let cut = world.now;
        while world.step() {}
        prop_assert_eq!(world.sender.life(), Life::Dead);
        // Data: 1 + 2 + 4 + 8 + 16 + 32 + 60 s; a SYN: 3 * 63 s.
        prop_assert!(world.now.since(cut).seconds() <= 189.0);
    }
}
