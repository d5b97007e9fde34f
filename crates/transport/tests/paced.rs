//! A small control from outside the crate that sends at a fixed rate: pacing, transmit records, rate samples
//! and events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use evenflow_base::schema::Values;
use evenflow_base::{Carried, Duration, Packet, Report, Stream, Time, flags};
use evenflow_transport::congestion_control::{
    Acked, Congestion, CongestionControl, Control, Needs, Path, Proposal, RateSample, Sent, Window,
};
use evenflow_transport::profile::PacingRule;
use evenflow_transport::sender::Recovery;
use evenflow_transport::{Profile, Receiver, Segment, Sender};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Sends `rate` bytes/s in bursts of `quantum` bytes. Nothing moves its window.
#[derive(Clone, Debug)]
struct FixedRate {
    rate: f64,
    quantum: f64,
    seen: Arc<Mutex<Seen>>,
}

/// What the control was called with.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<Sent>,
    lost: Vec<Sent>,
    samples: Vec<RateSample>,
    states: Vec<Recovery>,
    draw: Option<f64>,
}

impl Control for FixedRate {
    fn needs(&self) -> Needs {
        Needs { pacing: true, rate_samples: true, states: true, random: true, ..Needs::default() }
    }

    fn seed(&mut self, mut stream: Stream) {
        self.seen.lock().unwrap().draw = Some(stream.uniform(0.0, 1.0));
    }

    fn on_start(&mut self, w: &mut Window, _: f64) {
        w.cwnd = 1e9;
    }

    fn grow(&mut self, _: &mut Window, _: &Acked) {}

    fn ssthresh(&mut self, w: &Window, _: &Congestion) -> f64 {
        w.ssthresh
    }

    fn on_proposal(&mut self, _: &mut Window, _: &Proposal) {}

    fn on_packet_sent(&mut self, _: &mut Window, sent: &Sent) {
        self.seen.lock().unwrap().sent.push(*sent);
    }

    fn on_packet_lost(&mut self, _: &mut Window, lost: &Sent) {
        self.seen.lock().unwrap().lost.push(*lost);
    }

    fn on_rate_sample(&mut self, _: &mut Window, sample: &RateSample) {
        self.seen.lock().unwrap().samples.push(*sample);
    }

    fn on_state(&mut self, _: &mut Window, state: Recovery) {
        self.seen.lock().unwrap().states.push(state);
    }

    fn pacing_rate(&self, _: &Window, _: &Path) -> Option<f64> {
        Some(self.rate)
    }

    fn send_quantum(&self, _: f64) -> f64 {
        self.quantum
    }
}

/// A sender and a receiver `delay` apart.
struct World {
    profile: Profile,
    sender: Sender,
    receiver: Receiver,
    delay: Duration,
    air: BTreeMap<(Time, usize), (Segment, Report)>,
    seen: Arc<Mutex<Seen>>,
    /// Data that left: when, and how many bytes.
    departures: Vec<(Time, u64)>,
    count: usize,
    now: Time,
}

impl World {
    fn new(profile: Profile, rate: f64, quantum: f64, size: Option<u64>) -> World {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let control = Box::new(FixedRate { rate, quantum, seen: seen.clone() });
        let control = CongestionControl::external(control).seeded(&|name| Stream::new(7, name));
        World::with(profile, control, seen, size)
    }

    fn with(
        profile: Profile,
        control: CongestionControl,
        seen: Arc<Mutex<Seen>>,
        size: Option<u64>,
    ) -> World {
        World {
            sender: Sender::new(&profile, control, size),
            receiver: Receiver::new(&profile),
            profile,
            delay: Duration::from_millis(20),
            air: BTreeMap::new(),
            seen,
            departures: Vec::new(),
            count: 0,
            now: Time::ZERO,
        }
    }

    /// Runs up to `until`; `drops` says which packets are lost.
    fn run(&mut self, until: Time, mut drops: impl FnMut(&Segment) -> bool) {
        let mut out = Vec::new();
        if self.now == Time::ZERO {
            self.sender.open(self.now, &self.profile, &mut out);
        }
        loop {
            for segment in out.drain(..) {
                let mut report = Report::default();
                if segment.is_backward() && self.profile.sack {
                    self.receiver.report(&mut report);
                } else if segment.payload > 0 {
                    self.departures.push((self.now, u64::from(segment.payload)));
                }
                self.count += 1;
                if !drops(&segment) {
                    self.air.insert((self.now + self.delay, self.count), (segment, report));
                }
            }
            let arrival = self.air.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let next = arrival.min(self.sender.deadline()).min(self.receiver.deadline());
            if next >= until {
                break;
            }
            self.now = self.now.max(next);
            let (now, profile) = (self.now, &self.profile);
            if arrival == next
                && let Some((_, (segment, report))) = self.air.pop_first()
            {
                let Segment { seq, stamp, flags, ip, payload, .. } = segment;
                let packet =
                    Packet { seq, stamp, flags, ip, ..Packet::new(0, segment.size(profile), payload) };
                if segment.is_backward() {
                    self.sender.receive(&packet, &Carried::reporting(report), now, profile, &mut out);
                } else {
                    self.receiver.receive(&packet, now, profile, &mut out);
                }
            } else if self.sender.deadline() == next {
                self.sender.wake(now, profile, &mut out);
            } else {
                self.receiver.wake(now, &mut out);
            }
        }
        self.now = until;
    }
}

fn thousand() -> Profile {
    Profile { mss: 1000, ..Profile::rfc() }
}

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

    /// In any interval at most rate times time and a quantum leave, retransmissions included, in every
    /// recovery.
    #[test]
    fn no_interval_has_more_than_its_rate_and_a_quantum(
        stack in 0usize..5, rate in 2e4..2e6, segments in 1.0..20.0, loss in 0.0..0.2, seed in 0u64..1000,
    ) {
        let profile = [
            thousand(),
            Profile { sack: false, ..Profile::rfc() },
            Profile { pacing_rule: PacingRule::Draft, ..Profile::linux() },
            Profile::linux3_2(),
            Profile::ns2_linux(),
        ][stack].clone();
        let quantum = segments * profile.segment();
        let mut stream = Stream::new(seed, "loss");
        let mut world = World::new(profile, rate, quantum, None);
        world.run(ms(4000), |s| s.flags & flags::SYN == 0 && stream.open01() < loss);
        prop_assert!(world.departures.len() > 10);
        let (mut bytes, mut least) = (0.0, f64::INFINITY);
        for &(at, len) in &world.departures {
            let budget = rate * at.seconds();
            least = least.min(bytes - budget);
            bytes += len as f64;
            prop_assert!(bytes - budget - least <= quantum + 1.0, "at {at:?}");
        }
    }
}

/// A megabyte a second in segments of 1000 bytes: one leaves each millisecond, and the ACKs show that rate.
#[test]
fn segments_leave_at_the_rate_and_samples_show_it() {
    let mut world = World::new(thousand(), 1e6, 1000.0, None);
    world.run(ms(500), |_| false);
    // The SYN-ACK comes at 40 ms.
    let times: Vec<u64> = world.departures.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(times, (40..500).collect::<Vec<u64>>());
    let seen = world.seen.lock().unwrap();
    let sample = seen.samples.last().unwrap();
    assert!((sample.rate().unwrap() / 1e6 - 1.0).abs() < 0.03, "{sample:?}");
    // Segments wait for an ACK of every second one: 40 ms and up to 1.
    let packet = sample.packet.unwrap();
    assert_eq!(sample.rtt, Some(Duration::from_millis(40)));
    assert_eq!((packet.lost, sample.newly_lost, packet.application_limited), (0, 0, false));
    assert!((40_000..=42_000).contains(&packet.in_flight), "{packet:?}");
    assert_eq!(sample.newly_acked, 2000);
    assert!(seen.lost.is_empty() && seen.states.is_empty());
}

/// Section 4.1.2 step by step. Nothing was in flight when the first segment left at 40 ms, so both intervals begin then. The ACK
/// of two segments that left at 40 and 41 ms comes at 81 ms: it took 41 ms, sending took 1 ms.
#[test]
fn the_first_rate_samples_by_hand() {
    let mut world = World::new(thousand(), 1e6, 1000.0, None);
    world.run(ms(90), |_| false);
    let seen = world.seen.lock().unwrap();
    let of = |n: usize| {
        let sample = &seen.samples[n];
        let packet = sample.packet.unwrap();
        (sample.now, packet.seq, packet.delivered, sample.delivered, sample.interval, sample.rtt)
    };
    let time = |t| Some(Duration::from_millis(t));
    assert_eq!(of(0), (ms(81), 1000, 0, 2000, time(41), time(40)));
    assert_eq!(of(1), (ms(83), 3000, 0, 4000, time(43), time(40)));
    assert_eq!(seen.samples[1].packet.unwrap().first_sent, ms(40));
}

/// The ACK of a retransmission alone shows no round trip: it may be that of the original (Karn's rule).
#[test]
fn a_retransmission_shows_no_round_trip() {
    let mut world = World::new(thousand(), 1e6, 1000.0, None);
    let mut left = 1;
    world.run(ms(400), |s| s.seq == 50_000 && s.payload > 0 && std::mem::take(&mut left) > 0);
    let seen = world.seen.lock().unwrap();
    let again: Vec<&RateSample> = seen.samples.iter().filter(|s| s.packet.is_some_and(|p| p.again)).collect();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].packet.unwrap().seq, again[0].rtt), (50_000, None));
    assert!(seen.samples.iter().all(|s| s.rtt.is_none_or(|rtt| rtt >= Duration::from_millis(40))));
}

/// Bursts of four segments leave each four milliseconds.
#[test]
fn a_quantum_leaves_at_once() {
    let mut world = World::new(thousand(), 1e6, 4000.0, None);
    world.run(ms(60), |_| false);
    let times: Vec<u64> = world.departures.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(times, [40, 44, 48, 52, 56].map(|t| [t; 4]).concat());
}

/// The option `gso` replaces the control's quantum.
#[test]
fn a_gso_burst_leaves_at_once() {
    let mut world = World::new(Profile { gso: 4000, ..thousand() }, 1e6, 1000.0, None);
    world.run(ms(60), |_| false);
    let times: Vec<u64> = world.departures.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(times, [40, 44, 48, 52, 56].map(|t| [t; 4]).concat());
}

/// NewReno with a window of 40 segments and 40 ms, below half its threshold: two windows per round trip are two
/// segments per ms, in bursts of two. The first ten are not paced. With `gso` the whole window is one burst.
#[test]
fn a_window_is_paced_as_in_linux() {
    for (gso, times) in
        [(0, [vec![40; 10], (41..=55).flat_map(|t| [t, t]).collect()].concat()), (65_536, vec![40; 40])]
    {
        let profile = Profile { pacing: true, gso, initial_window: 40.0, ..thousand() };
        let control =
            CongestionControl::build("newreno", &Values::default(), &profile, 1.0).expect("it is sound");
        let mut world = World::with(profile, control, Arc::default(), None);
        world.run(ms(79), |_| false);
        let left: Vec<u64> = world.departures.iter().map(|(at, _)| at.0 / 1_000_000).collect();
        assert_eq!(left, times, "{gso}");
    }
}

/// By Linux's rule at a segment per ms no gap follows the first nine segments, whose burst has the tenth where it
/// may. The gap after it has the length of that burst.
#[test]
fn linux_does_not_pace_the_first_ten_segments() {
    for (quantum, times) in [
        (1000.0, [vec![40; 10], (41..=55).collect()].concat()),
        (2000.0, [vec![40; 10], (42..=55).step_by(2).flat_map(|t| [t, t]).collect()].concat()),
        (4000.0, [vec![40; 12], (44..=55).step_by(4).flat_map(|t| [t; 4]).collect()].concat()),
    ] {
        let profile = Profile { pacing_rule: PacingRule::Linux, ..thousand() };
        let mut world = World::new(profile, 1e6, quantum, None);
        world.run(ms(56), |_| false);
        let left: Vec<u64> = world.departures.iter().map(|(at, _)| at.0 / 1_000_000).collect();
        assert_eq!(left, times, "{quantum}");
    }
}

#[test]
fn a_lost_segment_is_reported_with_its_record_and_recovery_with_its_states() {
    for sack in [true, false] {
        let mut world = World::new(Profile { sack, ..thousand() }, 1e6, 1000.0, None);
        let mut left = 1;
        world.run(ms(400), |s| s.seq == 50_000 && s.payload > 0 && std::mem::take(&mut left) > 0);
        let seen = world.seen.lock().unwrap();
        let lost: Vec<(u64, u64, Time)> =
            seen.lost.iter().map(|sent| (sent.seq, sent.len, sent.at)).collect();
        assert_eq!(lost, [(50_000, 1000, ms(90))], "{sack}");
        assert_eq!(seen.states, [Recovery::Disorder, Recovery::Recovery, Recovery::Open], "{sack}");
        let again: Vec<&Sent> = seen.sent.iter().filter(|sent| sent.seq == 50_000).collect();
        assert_eq!((again.len(), again[1].lost), (2, 1000));
        // 43 segments, less three that arrived and, with SACK, the lost one; and the retransmission.
        assert_eq!(again[1].in_flight, if sack { 40_000 } else { 41_000 }, "{sack}");
        assert_eq!(seen.samples.iter().map(|sample| sample.newly_lost).sum::<u64>(), 1000);
    }
}

/// Ten segments, a pause, ten more: those of the second piece are marked until the flow has delivered past
/// the mark.
#[test]
fn a_pause_of_the_application_marks_what_is_sent_next() {
    let mut world = World::new(thousand(), 1e6, 1000.0, Some(10_000));
    world.run(ms(200), |_| false);
    let mut out = Vec::new();
    world.sender.offer(60_000, world.now, &world.profile, &mut out);
    assert_eq!(out.len(), 1);
    world.departures.push((world.now, 1000));
    world.air.insert((world.now + world.delay, 0), (out[0], Report::default()));
    world.run(ms(400), |_| false);
    let seen = world.seen.lock().unwrap();
    let limited: Vec<bool> = seen.sent.iter().map(|sent| sent.application_limited).collect();
    assert_eq!(limited[..10], [false; 10]);
    // The mark is the ten delivered segments: the first ACK of the second piece passes it.
    assert!(limited[10..50].iter().all(|limited| *limited), "{limited:?}");
    assert!(!limited[55]);
}

#[test]
fn the_random_stream_is_the_flows_own() {
    let world = World::new(thousand(), 1e6, 1000.0, None);
    let draw = Stream::new(7, "congestion_control").uniform(0.0, 1.0);
    assert_eq!(world.seen.lock().unwrap().draw, Some(draw));
}
