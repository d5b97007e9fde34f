//! Both ends of a connection over a channel that loses, repeats, reorders and rewrites windows, with any sequence of calls of both
//! applications: what must hold whatever happens.

use std::collections::BTreeMap;

use evenflow_base::schema::Values;
use evenflow_base::{Carried, Duration, End, Options, Packet, Stream, Time, flags};
use evenflow_transport::connection::Outlet;
use evenflow_transport::profile::{Ecn, Handshake, LossDetection, PartialAck, WindowProbe};
use evenflow_transport::{CongestionControl, Connection, Notice, Profile, Segment, State};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MSS: u64 = 100;

/// What the channel does to a packet.
#[derive(Clone, Copy, Debug)]
struct Channel {
    loss: [f64; 2],
    repeat: f64,
    /// Probability of telling another window: any smaller one.
    rewrite: f64,
    delay: Duration,
    jitter: Duration,
}

/// What an application does.
#[derive(Clone, Copy, Debug)]
enum Call {
    Write(u64),
    Read(u64),
    Close,
    Abort,
}

/// What is known of the stream that an end writes, from outside.
#[derive(Clone, Debug, Default)]
struct Half {
    written: u64,
    /// Wanted by its application and not yet taken.
    wanted: u64,
    closed: bool,
    /// The furthest edge that was announced to it.
    edge: Option<u64>,
    /// The highest number acknowledged.
    acked: u64,
    /// Bytes that reached the other end, and what its application was given.
    arrived: Vec<bool>,
    handed: u64,
    opened: bool,
    over: u32,
    reset: bool,
    peer_closed: bool,
}

struct World {
    profile: Profile,
    connection: Connection,
    channel: Channel,
    stream: Stream,
    options: Options,
    air: BTreeMap<(Time, u64), (End, Packet)>,
    calls: Vec<(Time, End, Call)>,
    paced: [bool; 2],
    halves: [Half; 2],
    sent: u64,
    now: Time,
    /// Who has written all closes; who reads by itself reads all after a while.
    orderly: bool,
}

fn control(profile: &Profile) -> CongestionControl {
    CongestionControl::build("newreno", &Values::default(), profile, 1.0).expect("no parameters")
}

impl World {
    fn new(
        profile: Profile,
        channel: Channel,
        paced: [bool; 2],
        calls: Vec<(u64, End, Call)>,
        seed: u64,
    ) -> World {
        let mut connection = Connection::talking(&profile, control(&profile));
        for end in End::BOTH {
            if paced[end.index()] {
                connection.pace(end, &profile);
            }
        }
        let tells = paced[0] || paced[1] || channel.rewrite > 0.0;
        if tells {
            connection.tell_windows(&profile);
        }
        connection.equip(control(&profile), Time::ZERO, &profile);
        let mut at = Time::ZERO;
        let calls = calls
            .into_iter()
            .map(|(pause, end, call)| {
                at += Duration::from_millis(pause);
                (at, end, call)
            })
            .collect();
        World {
            profile,
            connection,
            channel,
            stream: Stream::new(seed, "channel"),
            options: Options::default(),
            air: BTreeMap::new(),
            calls,
            paced,
            halves: Default::default(),
            sent: 0,
            now: Time::ZERO,
            orderly: false,
        }
    }

    fn shift(&self) -> u8 {
        let window = self.profile.max_window;
        if self.profile.window_scaling { (0..=14).find(|s| window >> s <= 65_535).unwrap_or(14) } else { 0 }
    }

    fn transmit(&mut self, out: &mut Vec<Segment>) {
        for segment in out.drain(..) {
            let from = if segment.is_backward() { End::Server } else { End::Client };
            let mut packet = Packet {
                seq: segment.seq,
                stamp: segment.stamp,
                flags: segment.flags,
                ip: segment.ip,
                ..Packet::new(0, segment.size(&self.profile), segment.payload)
            };
            self.connection.attach(&segment, &mut packet, &mut self.options, self.now, &self.profile);
            let carried = *self.options.release(&mut packet);
            self.check_sent(from, &packet, &carried);
            for _ in 0..1 + u64::from(self.stream.open01() < self.channel.repeat) {
                self.sent += 1;
                if self.stream.open01() < self.channel.loss[from.index()] {
                    continue;
                }
                let extra = self.channel.jitter.seconds() * self.stream.open01();
                let at = self.now + self.channel.delay + Duration::from_seconds(extra);
                let mut copy = packet;
                if carried != *Carried::NONE {
                    let kept = self.options.attach(&mut copy);
                    (kept.ack, kept.own, kept.ts_val) = (carried.ack, carried.own, carried.ts_val);
                    (kept.window, kept.scale, kept.report) = (carried.window, carried.scale, carried.report);
                    if self.stream.open01() < self.channel.rewrite {
                        kept.window = kept.window.map(|w| (f64::from(w) * self.stream.open01()) as u16);
                    }
                }
                self.air.insert((at, self.sent), (from.other(), copy));
            }
        }
    }

    /// No byte is sent that was not written, none beyond the edge (but for a probe of one), and nothing acknowledged that did not
    /// arrive.
    fn check_sent(&mut self, from: End, packet: &Packet, carried: &Carried) {
        let half = &self.halves[from.index()];
        let other = &self.halves[from.other().index()];
        let prefix = other.arrived.iter().take_while(|&&there| there).count() as u64;
        if packet.is(flags::RST | flags::SYN) {
            assert_eq!(packet.payload, 0);
            return;
        }
        let holds = packet.payload > 0 || packet.is(flags::FIN);
        if packet.is(flags::ACK) {
            let ack = if holds { carried.ack } else { packet.seq };
            assert!(ack <= prefix, "{from:?} acknowledges {ack} of {prefix}");
            for &(a, b) in carried.report.blocks() {
                assert!(
                    other.arrived[a as usize..b as usize].iter().all(|&there| there),
                    "reported {a}..{b}"
                );
            }
        }
        if !holds {
            return;
        }
        let end = packet.seq + u64::from(packet.payload);
        assert!(end <= half.written, "{from:?} sends {end} of {}", half.written);
        assert!(u64::from(packet.payload) <= MSS);
        if packet.is(flags::FIN) {
            assert!(half.closed && end == half.written, "a FIN at {end} of {}", half.written);
        }
        let last = end + u64::from(packet.is(flags::FIN));
        let sender = self.connection.half(from).expect("it sends");
        let allowed = half.edge.unwrap_or(u64::MAX).min(sender.edge(&self.profile));
        let closed = sender.is_closed(&self.profile);
        let probe = closed && last == packet.seq + 1 && packet.seq >= sender.numbers().0;
        assert!(last <= allowed || probe, "{from:?} sends {}..{last}, the edge is {allowed}", packet.seq);
        if self.halves[from.index()].edge.is_none() && !self.profile.window_clamp {
            assert!(last <= sender.numbers().0 + self.profile.max_window);
        }
    }

    fn deliver(&mut self, at: End, mut packet: Packet, out: &mut Vec<Segment>, notices: &mut Vec<Notice>) {
        let carried = *self.options.release(&mut packet);
        let from = at.other();
        if !packet.is(flags::RST | flags::SYN) {
            let holds = packet.payload > 0 || packet.is(flags::FIN);
            let len = u64::from(packet.payload) + u64::from(packet.is(flags::FIN));
            if holds {
                let arrived = &mut self.halves[from.index()].arrived;
                let end = (packet.seq + len) as usize;
                if arrived.len() < end {
                    arrived.resize(end, false);
                }
                arrived[packet.seq as usize..end].fill(true);
            }
        }
        let before = self.connection.half(at).map(|s| s.numbers());
        let to = Outlet { now: self.now, profile: &self.profile, out, notices };
        self.connection.receive(at, &packet, &carried, to);
        let after = self.connection.half(at).map(|s| s.numbers());
        if let (Some((una, _)), Some((now, _))) = (before, after) {
            assert!(now >= una, "SND.UNA goes back");
            self.halves[at.index()].acked = now;
        }
        if let Some(window) = carried.window.filter(|_| !packet.is(flags::RST)) {
            // The furthest edge that was ever announced to this end.
            let syn = packet.is(flags::SYN);
            let shift = if syn || !self.profile.window_scaling { 0 } else { self.shift() };
            let holds = packet.payload > 0 || packet.is(flags::FIN);
            let ack = if syn {
                0
            } else if holds {
                carried.ack
            } else {
                packet.seq
            };
            let edge = &mut self.halves[at.index()].edge;
            *edge = Some(edge.unwrap_or(0).max(ack + (u64::from(window) << shift)));
        }
    }

    fn step(&mut self) -> bool {
        let packet = self.air.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let call = self.calls.first().map_or(Time::NEVER, |call| call.0);
        let wake = End::BOTH.map(|end| self.connection.deadline(end));
        let next = packet.min(call).min(wake[0]).min(wake[1]);
        if next == Time::NEVER {
            return false;
        }
        assert!(next >= self.now, "a deadline lies in the past");
        self.now = next;
        let (mut out, mut notices) = (Vec::new(), Vec::new());
        if packet == next {
            let (_, (at, packet)) = self.air.pop_first().expect("a packet");
            self.deliver(at, packet, &mut out, &mut notices);
        } else if call == next {
            let (_, end, call) = self.calls.remove(0);
            self.call(end, call, &mut out, &mut notices);
        } else {
            let end = if wake[0] == next { End::Client } else { End::Server };
            let to = Outlet { now: next, profile: &self.profile, out: &mut out, notices: &mut notices };
            self.connection.wake(end, &mut { to });
        }
        self.transmit(&mut out);
        self.listen(notices);
        if self.orderly {
            self.close_what_is_written();
        }
        true
    }

    fn close_what_is_written(&mut self) {
        for end in End::BOTH {
            let half = &self.halves[end.index()];
            let busy = half.wanted > 0
                || self.calls.iter().any(|call| call.1 == end && !matches!(call.2, Call::Read(_)));
            if half.opened && !half.closed && !busy {
                self.calls.insert(0, (self.now, end, Call::Close));
            }
        }
    }

    fn call(&mut self, end: End, call: Call, out: &mut Vec<Segment>, notices: &mut Vec<Notice>) {
        let (now, profile) = (self.now, self.profile.clone());
        let c = &mut self.connection;
        let to = &mut Outlet { now, profile: &profile, out, notices };
        let half = &mut self.halves[end.index()];
        match call {
            Call::Write(bytes) => {
                let taken = c.write(end, bytes, to);
                assert!(taken <= bytes);
                half.written += taken;
                if profile.is_buffer_bounded() {
                    assert!(half.written - half.acked.min(half.written) <= profile.send_buffer);
                }
                half.wanted = if c.state(end) == State::Closed { 0 } else { half.wanted + bytes - taken };
            }
            Call::Read(bytes) => {
                c.read(end, bytes, to);
            }
            Call::Close => {
                half.closed = true;
                c.close(end, to);
            }
            Call::Abort => {
                half.closed = true;
                c.abort(end, to);
            }
        }
    }

    fn listen(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Opened(end) => {
                    assert!(!self.halves[end.index()].opened);
                    self.halves[end.index()].opened = true;
                }
                Notice::Received(end, bytes) => {
                    let other = &self.halves[end.other().index()];
                    let prefix = other.arrived.iter().take_while(|&&there| there).count() as u64;
                    assert!(
                        bytes > self.halves[end.index()].handed && bytes <= prefix && bytes <= other.written
                    );
                    self.halves[end.index()].handed = bytes;
                    if self.paced[end.index()] {
                        let after = Duration::from_seconds(0.5 * self.stream.open01());
                        self.calls.push((self.now + after, end, Call::Read(u64::MAX / 4)));
                        self.calls.sort_by_key(|call| call.0);
                    }
                }
                Notice::Room(end, room) => {
                    assert!(room > 0 && self.halves[end.index()].wanted > 0);
                    let wanted = std::mem::take(&mut self.halves[end.index()].wanted);
                    self.calls.insert(0, (self.now, end, Call::Write(wanted)));
                }
                Notice::PeerClosed(end) => {
                    let other = &self.halves[end.other().index()];
                    assert!(other.closed && self.halves[end.index()].handed == other.written);
                    assert!(!self.halves[end.index()].peer_closed);
                    self.halves[end.index()].peer_closed = true;
                }
                Notice::Closed(end) => self.halves[end.index()].over += 1,
                Notice::Reset(end) => {
                    self.halves[end.index()].over += 1;
                    self.halves[end.index()].reset = true;
                }
            }
        }
    }

    fn run(&mut self) {
        let (mut out, mut notices) = (Vec::new(), Vec::new());
        let to = Outlet { now: self.now, profile: &self.profile, out: &mut out, notices: &mut notices };
        self.connection.open(&mut { to });
        self.transmit(&mut out);
        self.listen(notices);
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(
                steps < 30_000,
                "it never ends: {:?} {:?} {:?} {:?}",
                End::BOTH.map(|e| self.connection.state(e)),
                self.now,
                End::BOTH.map(|e| self.connection.half(e).map(|s| (
                    s.numbers(),
                    s.written(),
                    s.edge(&self.profile)
                ))),
                End::BOTH.map(|e| (self.connection.received(e), self.connection.unread(e)))
            );
            let memory = self.profile.max_window;
            for end in End::BOTH {
                assert!(self.halves[end.index()].over <= 1);
                if self.paced[end.index()] {
                    // Rounding may tell a little more than there is.
                    let most = memory + (1 << self.shift());
                    assert!(self.connection.unread(end) <= most, "{} unread", self.connection.unread(end));
                }
            }
        }
        assert!(self.options.is_empty(), "options are left");
    }
}

fn channels(rewrite: f64) -> impl Strategy<Value = Channel> {
    (0.0..0.3f64, 0.0..0.3f64, 0.0..0.2f64, 1u64..80, prop_oneof![Just(0u64), 0u64..120], 0.0..1.0f64)
        .prop_map(move |(forth, back, repeat, delay, jitter, share)| Channel {
            loss: [forth, back],
            repeat,
            rewrite: rewrite * share,
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
        })
}

fn profiles() -> impl Strategy<Value = Profile> {
    let base = prop::sample::select(vec!["rfc", "linux", "linux3.2", "ns3.26", "ns2", "ns2-linux"]);
    let ecn = prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Accurate]);
    let small = (1u32..12, 1u32..4, 1u64..30, prop::option::of(1u64..20), prop::bool::ANY, prop::bool::ANY);
    let words = (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY, 0u64..3000);
    (base, ecn, small, words).prop_map(
        |(base, ecn, (initial, ack_every, window, buffer, nagle, octet), (none, reno, sack, wait))| {
            let mut profile = Profile {
                mss: MSS,
                initial_window: f64::from(initial),
                ack_every,
                max_window: MSS * window + 37,
                nagle,
                min_rto: Duration::from_millis(200),
                retries: None,
                syn_tries: 30,
                time_wait: Duration::from_millis(wait),
                ecn,
                ..Profile::named(base).expect("complete")
            };
            if let Some(buffer) = buffer {
                profile.send_buffer = MSS * buffer;
            }
            profile.zero_window_probe = if octet { WindowProbe::Octet } else { WindowProbe::Empty };
            if none {
                profile.handshake = Handshake::None;
            }
            if !sack && base == "rfc" {
                (profile.sack, profile.loss_detection) = (false, LossDetection::DuplicateAcks);
            }
            if reno && !profile.sack {
                profile.partial_ack = PartialAck::EndsRecovery;
            }
            profile
        },
    )
}

fn end() -> impl Strategy<Value = End> {
    prop::sample::select(vec![End::Client, End::Server])
}

fn calls() -> impl Strategy<Value = Vec<(u64, End, Call)>> {
    let call = prop_oneof![
        6 => (1u64..3000).prop_map(Call::Write),
        6 => (1u64..3000).prop_map(Call::Read),
        1 => Just(Call::Close),
        1 => Just(Call::Abort),
    ];
    prop::collection::vec((0u64..3000, end(), call), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 300, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any calls whatever: what is checked at every step holds, and it comes to rest.
    #[test]
    fn any_sequence_of_calls(
        profile in profiles(), channel in channels(0.0), paced in prop::array::uniform2(prop::bool::ANY), calls in calls(), seed: u64,
    ) {
        let mut world = World::new(profile, channel, paced, calls, seed);
        world.run();
    }

    /// Both write, read and close in the end: everything arrives, and both ends are closed.
    #[test]
    fn everything_arrives_both_ways(
        profile in profiles(), channel in channels(0.3), paced in prop::array::uniform2(prop::bool::ANY),
        pieces in prop::collection::vec((0u64..3000, end(), 1u64..3000), 1..12), seed: u64,
    ) {
        let mut sums = [0; 2];
        let mut calls = Vec::new();
        for (pause, end, bytes) in pieces {
            sums[end.index()] += bytes;
            calls.push((pause, end, Call::Write(bytes)));
        }
        if let Some(first) = calls.first_mut() {
            first.0 += 3_000_000; // when it is open in any case
        }
        let mut world = World::new(profile, channel, paced, calls, seed);
        world.orderly = true;
        world.run();
        for end in End::BOTH {
            prop_assert_eq!(world.halves[end.other().index()].handed, sums[end.index()], "from {:?}", end);
            prop_assert_eq!(world.halves[end.index()].over, 1);
            prop_assert!(!world.halves[end.index()].reset);
            prop_assert_eq!(world.connection.buffered(end), 0);
        }
        prop_assert!(world.connection.is_over());
    }
}
