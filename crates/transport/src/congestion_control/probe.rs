//! Rate samples and losses step by step, for tests of controls that use them.

use evenflow_base::{Duration, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{Cause, Control, Path, Proposal, RateSample, Recovery, Sent, Window};

/// A control on a path of segments of 1000 bytes; its first window has ten.
#[derive(Debug)]
pub(super) struct Rig<C> {
    pub(super) cc: C,
    pub(super) w: Window,
    pub(super) now: Time,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Samples are application-limited.
    pub(super) limited: bool,
    /// Delivered bytes when the segment left that the next ACK delivers.
    behind: u64,
    newly_lost: u64,
    /// Marks that the next ACK reports.
    pub(super) marks: u32,
    /// Lost bytes when that segment left.
    lost_before: u64,
}

/// An event of a random path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Ack(f64, u64, u64),
    Round(f64, u64, u64),
    Lose(u64),
    State(Recovery),
    Timeout,
    Limited(bool),
    Idle(u64),
}

pub(super) fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 300,
        max_shrink_iters: 500,
        rng_seed: RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let state = prop_oneof![Just(Recovery::Open), Just(Recovery::Disorder), Just(Recovery::Recovery)];
    let sample = || (1e3..1e8, 1u64..500, 0u64..500_000);
    let step = prop_oneof![
        10 => sample().prop_map(|(rate, rtt, flight)| Step::Ack(rate, rtt, flight)),
        10 => sample().prop_map(|(rate, rtt, flight)| Step::Round(rate, rtt, flight)),
        3 => (1u64..30).prop_map(|n| Step::Lose(1000 * n)),
        2 => state.prop_map(Step::State),
        1 => Just(Step::Timeout),
        1 => any::<bool>().prop_map(Step::Limited),
        1 => (0u64..20_000).prop_map(Step::Idle),
    ];
    proptest::collection::vec(step, 1..300)
}

impl<C: Control> Rig<C> {
    pub(super) fn new(mut cc: C) -> Rig<C> {
        let mut w = Window { cwnd: 10_000.0, ssthresh: f64::INFINITY };
        cc.on_start(&mut w, 1000.0);
        let mut rig = Rig {
            cc,
            w,
            now: Time::ZERO,
            delivered: 0,
            lost: 0,
            limited: false,
            behind: 0,
            newly_lost: 0,
            marks: 0,
            lost_before: 0,
        };
        let sent = rig.sent(10_000);
        rig.cc.on_packet_sent(&mut rig.w, &sent);
        rig
    }

    /// A segment that leaves now with `in_flight` bytes.
    fn sent(&self, in_flight: u64) -> Sent {
        Sent {
            seq: 0,
            len: 1000,
            at: self.now,
            delivered: self.behind,
            delivered_at: self.now,
            first_sent: self.now,
            application_limited: self.limited,
            in_flight,
            lost: self.lost_before,
            marked: 0,
            again: false,
        }
    }

    /// An ACK of a segment that a round trip brings: it ends the round.
    pub(super) fn round(&mut self, rate: f64, rtt: u64, in_flight: u64) {
        self.now += Duration::from_millis(rtt);
        self.behind = self.delivered;
        self.sample(rate, rtt, in_flight, ((rate * rtt as f64 / 1000.0) as u64).max(1000));
        self.lost_before = self.lost;
    }

    /// An ACK of a segment of 1000 bytes within the round, without time.
    pub(super) fn ack(&mut self, rate: f64, rtt: u64, in_flight: u64) {
        self.sample(rate, rtt, in_flight, 1000);
    }

    fn sample(&mut self, rate: f64, rtt: u64, in_flight: u64, newly_acked: u64) {
        let mut packet = self.sent(in_flight);
        packet.at = Time(self.now.0.saturating_sub(rtt * 1_000_000));
        self.delivered += newly_acked;
        let delivered = self.delivered - self.behind;
        let rtt = Duration::from_millis(rtt);
        let sample = RateSample {
            now: self.now,
            total: (self.delivered, self.lost),
            packet: Some(packet),
            delivered,
            lost: self.lost - self.lost_before,
            newly_acked,
            newly_lost: std::mem::take(&mut self.newly_lost),
            interval: Some(Duration::from_seconds(delivered as f64 / rate)).filter(|d| *d > Duration::ZERO),
            in_flight,
            rtt: Some(rtt),
            path: Path { smoothed: Some(rtt), least: Some(rtt) },
            marks: self.marks,
            marked: u64::from(self.marks),
        };
        self.cc.on_rate_sample(&mut self.w, &sample);
    }

    /// A segment of `len` bytes is declared lost; it left a round trip ago in a full window.
    pub(super) fn lose(&mut self, len: u64) {
        self.lose_of(len, self.w.cwnd as u64);
    }

    /// The same, where `in_flight` bytes were in flight with it.
    pub(super) fn lose_of(&mut self, len: u64, in_flight: u64) {
        self.lost += len;
        self.newly_lost += len;
        let sent = Sent { len, seq: 2 * self.lost, ..self.sent(in_flight) };
        self.cc.on_packet_lost(&mut self.w, &sent);
    }

    pub(super) fn state(&mut self, state: Recovery) {
        self.cc.on_state(&mut self.w, state);
    }

    pub(super) fn timeout(&mut self) {
        let window = Window { cwnd: 1000.0, ..self.w };
        self.cc.on_proposal(&mut self.w, &Proposal::Window { window, cause: Cause::Timeout });
        self.state(Recovery::Loss);
    }

    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Ack(rate, rtt, in_flight) => self.ack(rate, rtt, in_flight),
            Step::Round(rate, rtt, in_flight) => self.round(rate, rtt, in_flight),
            Step::Lose(len) => self.lose(len),
            Step::State(state) => self.state(state),
            Step::Timeout => self.timeout(),
            Step::Limited(limited) => self.limited = limited,
            Step::Idle(ms) => {
                self.now += Duration::from_millis(ms);
                self.cc.on_idle_restart(Duration::from_millis(ms));
                let sent = self.sent(1000);
                self.cc.on_packet_sent(&mut self.w, &sent);
            }
        }
    }
}
