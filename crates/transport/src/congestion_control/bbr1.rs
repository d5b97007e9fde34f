//! BBRv1 as mainline Linux has it (Cardwell et al., "BBR: congestion-based congestion control", ACM Queue
//! 14(5), 2016; `tcp_bbr` of Linux 6.12).
//!
//! The model of the path is the largest delivery rate of ten round trips and the least round-trip time of
//! ten seconds. The sender paces at a gain times that rate; the window is twice their product. Losses change
//! nothing, except for the first round trip of a recovery and where they look like those of a policer.

use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Stream, Time};

use crate::Profile;

use super::{
    Acked, Cause, Congestion, Control, Needs, Path, Proposal, RateSample, Recovery, Registered, Sent,
    Spurious, WINDOW, Window,
};

/// Both gains in Startup: 2 / ln 2, with Linux's digits.
pub const HIGH_GAIN: f64 = 2.885;

/// Pacing gains of a ProbeBW cycle.
pub const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The part of the bandwidth that is paced: one per cent less.
pub(super) const MARGIN: f64 = 0.99;

/// Round trips of the bandwidth filter.
const BANDWIDTH_ROUNDS: u64 = 10;

/// Stay at four packets in ProbeRTT.
pub(super) const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// The largest burst, bytes.
pub(super) const LARGEST_BURST: f64 = 65_536.0;

/// The time that an unknown round trip counts as.
const UNKNOWN_RTT: Duration = Duration::from_millis(1);

/// The largest of the values of the last rounds by three candidates (Kathleen Nichols' filter, as Linux and
/// the BBR draft have it).
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    /// Round and value: the best, and the best after it and after that.
    best: [(u64, f64); 3],
}

impl WindowedMax {
    /// The largest value.
    #[inline]
    pub fn value(&self) -> f64 {
        self.best[0].1
    }

    /// A value in round `at`; returns the largest of the last `length` rounds.
    pub fn update(&mut self, length: u64, at: u64, value: f64) -> f64 {
        let new = (at, value);
        if value >= self.best[0].1 || at - self.best[2].0 > length {
            self.best = [new; 3];
            return value;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let age = at - self.best[0].0;
        if age > length {
            self.best = [self.best[1], self.best[2], new];
            if at - self.best[0].0 > length {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age > length / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].0 == self.best[1].0 && age > length / 2 {
            self.best[2] = new;
        }
        self.best[0].1
    }
}

/// Segments that a control itself counts as application-limited: those of ProbeRTT
/// (`MarkConnectionAppLimited`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnLimit {
    since: Time,
    /// Delivered bytes that end it.
    until: u64,
}

impl OwnLimit {
    pub(super) fn mark(&mut self, sample: &RateSample) {
        if sample.total.0 > self.until {
            self.since = sample.now;
        }
        self.until = (sample.total.0 + sample.in_flight).max(1);
    }

    /// Whether the sample is application-limited, by this or by the application.
    pub(super) fn covers(&self, packet: &Sent) -> bool {
        packet.application_limited || (packet.delivered <= self.until && packet.at > self.since)
    }
}

/// State of BBRv1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The rate doubles each round trip.
    Startup,
    /// The queue of Startup drains.
    Drain,
    /// Cycles of gains around the bandwidth.
    ProbeBw,
    /// Four packets in flight, to measure the least round trip.
    ProbeRtt,
}

/// The long-term sampler that detects policers: two intervals between losses with the same rate.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    /// The rate of the last interval, bytes/s; 0: none.
    bandwidth: f64,
    in_use: bool,
    sampling: bool,
    rounds: u32,
    at: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    fn begin_interval(&mut self, now: Time, total: (u64, u64)) {
        (self.at, self.rounds) = (now, 0);
        (self.delivered, self.lost) = total;
    }

    fn reset(&mut self, now: Time, total: (u64, u64)) {
        *self = Policer::default();
        self.begin_interval(now, total);
    }
}

/// BBRv1.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    params: Params,
    stream: Option<Stream>,
    mss: f64,
    /// The initial window, bytes.
    initial: f64,
    state: State,
    pacing_gain: f64,
    window_gain: f64,
    /// Pacing rate, bytes/s, once a round trip is known.
    rate: Option<f64>,
    bandwidth: WindowedMax,
    rounds: u64,
    /// A segment that left with as much delivered begins a round.
    next_round: u64,
    round_start: bool,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    /// Bandwidth that Startup compares with, and rounds without growth.
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    cycle: usize,
    cycle_at: Time,
    policer: Policer,
    /// Window before recovery or ProbeRTT, bytes.
    prior_window: f64,
    recovery: Recovery,
    conserves: bool,
    idle_restart: bool,
    restarting: bool,
    started: bool,
    /// When a segment last left or an ACK last came.
    now: Time,
    own_limit: OwnLimit,
    /// ACK aggregation: the epoch, and its largest excess of the last and this five rounds.
    epoch_at: Time,
    epoch_acked: f64,
    excess: [f64; 2],
    excess_rounds: u32,
    /// Of the last sample: totals, bytes in flight, newly acknowledged bytes.
    total: (u64, u64),
    in_flight: f64,
    newly_acked: f64,
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug)]
    pub struct Params {
        /// Window gain outside Startup, Drain and ProbeRTT.
        cwnd_gain: f64 = Number, Text("2"), Range::between(1.0, 16.0) => source: "Linux: bbr_cwnd_gain";
        /// Length of the filter of the least round-trip time, and interval of ProbeRTT.
        min_rtt_window: Duration = Duration, Text("10 s"), Range::POSITIVE => source: "Linux: bbr_min_rtt_win_sec";
        /// Detects policers by two loss intervals with the same rate, and paces at that rate for 48 rounds.
        policer_detection: bool = Flag, Text("true") => source: "Linux: bbr_lt_bw_sampling";
    }
}

impl Registered for Bbr1 {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, _: &Profile, _: f64) -> Result<Bbr1, Vec<Problem>> {
        Ok(Bbr1 {
            params: Params::read(values),
            stream: None,
            mss: 1.0,
            initial: 0.0,
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rate: None,
            bandwidth: WindowedMax::default(),
            rounds: 0,
            next_round: 0,
            round_start: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            cycle: 0,
            cycle_at: Time::ZERO,
            policer: Policer::default(),
            prior_window: 0.0,
            recovery: Recovery::Open,
            conserves: false,
            idle_restart: false,
            restarting: false,
            started: false,
            now: Time::ZERO,
            own_limit: OwnLimit::default(),
            epoch_at: Time::ZERO,
            epoch_acked: 0.0,
            excess: [0.0; 2],
            excess_rounds: 0,
            total: (0, 0),
            in_flight: 0.0,
            newly_acked: 0.0,
        })
    }
}

impl Control for Bbr1 {
    /// Every mark: BBRv1 ignores them.
    fn needs(&self) -> Needs {
        Needs {
            every_mark: true,
            rate_samples: true,
            no_growth: true,
            states: true,
            pacing: true,
            random: true,
            ..Needs::default()
        }
    }

    fn seed(&mut self, stream: Stream) {
        self.stream = Some(stream);
    }

    fn on_start(&mut self, w: &mut Window, mss: f64) {
        (self.mss, self.initial) = (mss, w.cwnd);
    }

    fn on_packet_sent(&mut self, w: &mut Window, sent: &Sent) {
        self.tick(sent.at);
        if !self.restarting {
            return;
        }
        self.restarting = false;
        (self.epoch_at, self.epoch_acked) = (sent.at, 0.0);
        match self.state {
            State::ProbeBw => self.rate = self.rate.map(|_| self.bandwidth() * MARGIN),
            State::ProbeRtt => self.end_probe_rtt(w, sent.at),
            State::Startup | State::Drain => {}
        }
    }

    fn on_rate_sample(&mut self, w: &mut Window, sample: &RateSample) {
        let limited = sample.packet.is_some_and(|packet| self.own_limit.covers(&packet));
        self.tick(sample.now);
        self.total = sample.total;
        (self.in_flight, self.newly_acked) = (sample.in_flight as f64, sample.newly_acked as f64);
        self.update_bandwidth(sample, limited);
        self.update_excess(w, sample);
        if self.state == State::ProbeBw && self.phase_is_over(sample) {
            self.next_phase(sample.now);
        }
        self.check_full(limited);
        self.check_drain(sample);
        self.update_min_rtt(w, sample);
        self.update_gains();
        self.set_rate(&sample.path);
        self.set_window(w, sample);
    }

    /// The window follows from rate samples.
    #[inline]
    fn grow(&mut self, _: &mut Window, _: &Acked) {}

    /// There is none: it stays as it is.
    fn ssthresh(&mut self, w: &Window, _: &Congestion) -> f64 {
        w.ssthresh
    }

    fn on_congestion_event(&mut self, _: &mut Window, _: &Congestion) {}

    fn on_proposal(&mut self, w: &mut Window, proposal: &Proposal) {
        match proposal {
            Proposal::Window { window, cause: Cause::LostSyn } => w.cwnd = window.cwnd,
            Proposal::Window { window, cause: Cause::Timeout } => {
                self.save(w);
                w.cwnd = window.cwnd;
            }
            _ => {}
        }
    }

    fn on_state(&mut self, w: &mut Window, state: Recovery) {
        let was = self.is_recovering();
        match state {
            Recovery::Recovery => {
                self.save(w);
                self.conserves = true;
                self.next_round = self.total.0;
                w.cwnd = (self.in_flight + self.newly_acked).max(self.mss);
            }
            Recovery::Loss => {
                self.full_bandwidth = 0.0;
                self.round_start = true;
                self.sample_policer(self.now, 1, false);
            }
            Recovery::Open | Recovery::Disorder | Recovery::Reduction if was => self.restore(w),
            _ => {}
        }
        self.recovery = state;
    }

    fn on_spurious_loss(&mut self, w: &mut Window, _: &Spurious) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.policer.reset(self.now, self.total);
        self.restore(w);
    }

    fn on_idle_restart(&mut self, _: Duration) {
        (self.idle_restart, self.restarting) = (true, true);
    }

    fn pacing_rate(&self, _: &Window, path: &Path) -> Option<f64> {
        Some(self.rate.unwrap_or_else(|| self.first_rate(path)))
    }

    fn send_quantum(&self, mss: f64) -> f64 {
        burst(self.rate.unwrap_or(0.0), mss) * mss
    }

    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "state" => Some(f64::from(self.state as u8)),
            "pacing_gain" => Some(self.pacing_gain),
            "cwnd_gain" => Some(self.window_gain),
            "pacing_rate" => self.rate.map(|rate| 8.0 * rate),
            "bandwidth" => Some(8.0 * self.bandwidth()),
            "policed_bandwidth" => self.policer.in_use.then_some(8.0 * self.policer.bandwidth),
            "min_rtt" => self.min_rtt.map(Duration::seconds),
            "extra_acked" => Some(self.excess[0].max(self.excess[1]) / self.mss),
            _ => None,
        }
    }
}

/// Segments of a burst: about a millisecond of the rate, at least two, and one below 1.2 Mbit/s
/// (`bbr_tso_segs_goal`).
fn burst(rate: f64, mss: f64) -> f64 {
    let least = if rate < 150_000.0 { 1.0 } else { 2.0 };
    libm::floor((rate / 1024.0).min(LARGEST_BURST) / mss).max(least)
}

impl Bbr1 {
    /// Something happens at `now`; the first segment starts the clocks.
    fn tick(&mut self, now: Time) {
        self.now = now;
        if !self.started {
            self.started = true;
            (self.min_rtt_at, self.epoch_at, self.cycle_at, self.policer.at) = (now, now, now, now);
        }
    }

    fn is_recovering(&self) -> bool {
        matches!(self.recovery, Recovery::Recovery | Recovery::Loss)
    }

    /// `bbr_bw`, bytes/s.
    fn bandwidth(&self) -> f64 {
        if self.policer.in_use { self.policer.bandwidth } else { self.bandwidth.value() }
    }

    /// The pacing rate before a bandwidth is known.
    fn first_rate(&self, path: &Path) -> f64 {
        let rtt = path.smoothed.unwrap_or(UNKNOWN_RTT).seconds().max(1e-6);
        HIGH_GAIN * self.initial / rtt * MARGIN
    }

    fn set_rate(&mut self, path: &Path) {
        let rate = self.pacing_gain * self.bandwidth() * MARGIN;
        let before = self.rate.unwrap_or_else(|| self.first_rate(path));
        self.rate = Some(if self.full || rate > before { rate } else { before });
    }

    /// The window to return to after recovery and ProbeRTT.
    fn save(&mut self, w: &Window) {
        self.prior_window = if self.is_recovering() || self.state == State::ProbeRtt {
            self.prior_window.max(w.cwnd)
        } else {
            w.cwnd
        };
    }

    fn restore(&mut self, w: &mut Window) {
        w.cwnd = w.cwnd.max(self.prior_window);
        self.conserves = false;
        if self.state == State::ProbeRtt {
            w.cwnd = w.cwnd.min(4.0 * self.mss);
        }
    }

    /// Bandwidth times round trip times a gain, in whole packets, as bytes.
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.min_rtt {
            None => 10.0 * self.mss,
            Some(rtt) => libm::ceil(bandwidth * rtt.seconds() * gain / self.mss) * self.mss,
        }
    }

    /// With three bursts, an even number of packets, and two more where the gain is 1.25
    /// (`bbr_quantization_budget`).
    fn budget(&self, window: f64) -> f64 {
        let packets = window / self.mss + 3.0 * burst(self.rate.unwrap_or(0.0), self.mss);
        let even = 2.0 * libm::floor((packets + 1.0) / 2.0);
        let more = if self.state == State::ProbeBw && self.cycle == 0 { 2.0 } else { 0.0 };
        (even + more) * self.mss
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.budget(self.product(self.bandwidth.value(), gain))
    }

    /// Bytes in flight when the next burst leaves, which a gain above 1 counts in.
    fn in_network(&self, in_flight: u64) -> f64 {
        let next = if self.pacing_gain > 1.0 { burst(self.rate.unwrap_or(0.0), self.mss) } else { 0.0 };
        in_flight as f64 + next * self.mss
    }

    fn update_bandwidth(&mut self, sample: &RateSample, limited: bool) {
        self.round_start = false;
        let (Some(packet), Some(rate)) = (sample.packet, sample.rate()) else { return };
        if packet.delivered >= self.next_round {
            self.next_round = sample.total.0;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_policer(sample.now, sample.newly_lost, limited);
        if !limited || rate >= self.bandwidth.value() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, rate);
        }
    }

    /// `bbr_lt_bw_sampling`: an interval is 4 to 16 rounds between losses, with at least 50 lost packets for
    /// 256 delivered ones.
    fn sample_policer(&mut self, now: Time, newly_lost: u64, limited: bool) {
        if !self.params.policer_detection {
            return;
        }
        let policer = &mut self.policer;
        if policer.in_use {
            if self.state == State::ProbeBw && self.round_start {
                policer.rounds += 1;
                if policer.rounds >= 48 {
                    policer.reset(now, self.total);
                    self.enter_probe_bw(now);
                }
            }
            return;
        }
        if !policer.sampling {
            if newly_lost == 0 {
                return;
            }
            policer.begin_interval(now, self.total);
            policer.sampling = true;
        }
        if limited {
            return policer.reset(now, self.total);
        }
        policer.rounds += u32::from(self.round_start);
        if policer.rounds < 4 {
            return;
        }
        if policer.rounds > 16 {
            return policer.reset(now, self.total);
        }
        let delivered = self.total.0 - policer.delivered;
        let lost = self.total.1 - policer.lost;
        let time = now.since(policer.at);
        if newly_lost == 0 || delivered == 0 || lost << 8 < 50 * delivered || time < Duration::from_millis(1)
        {
            return;
        }
        let bandwidth = delivered as f64 / time.seconds();
        let apart = (bandwidth - policer.bandwidth).abs();
        if policer.bandwidth > 0.0 && (apart <= policer.bandwidth / 8.0 || apart * MARGIN <= 500.0) {
            policer.bandwidth = (bandwidth + policer.bandwidth) / 2.0;
            (policer.in_use, policer.rounds) = (true, 0);
            self.pacing_gain = 1.0;
        } else {
            policer.bandwidth = bandwidth;
            policer.begin_interval(now, self.total);
        }
    }

    /// `bbr_update_ack_aggregation`: bytes acknowledged beyond the bandwidth, at most the window.
    fn update_excess(&mut self, w: &Window, sample: &RateSample) {
        if sample.newly_acked == 0 || sample.interval.is_none() {
            return;
        }
        if self.round_start {
            self.excess_rounds += 1;
            if self.excess_rounds >= 5 {
                self.excess_rounds = 0;
                self.excess = [self.excess[1], 0.0];
            }
        }
        let expected = self.bandwidth() * sample.now.since(self.epoch_at).seconds();
        let mut excess = self.epoch_acked - expected;
        let acked = sample.newly_acked as f64;
        if excess <= 0.0 || self.epoch_acked + acked >= 1_048_576.0 * self.mss {
            (self.epoch_at, self.epoch_acked, excess) = (sample.now, 0.0, 0.0);
        }
        self.epoch_acked += acked;
        let current = &mut self.excess[1];
        *current = current.max((excess + acked).min(w.cwnd));
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, sample: &RateSample) -> bool {
        let lasted = self.min_rtt.is_some_and(|rtt| sample.now.since(self.cycle_at) > rtt);
        let before = self.in_network(sample.in_flight + sample.newly_acked + sample.newly_lost);
        if self.pacing_gain > 1.0 {
            lasted && (sample.newly_lost > 0 || before >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            lasted || before <= self.inflight(1.0)
        } else {
            lasted
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    /// ProbeBW begins with any phase but 0.75.
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        let draw = self.stream.as_mut().map_or(0.0, |stream| stream.uniform(0.0, 7.0));
        self.cycle = CYCLE.len() - 1 - (draw as usize).min(6);
        self.next_phase(now);
    }

    fn check_full(&mut self, limited: bool) {
        if self.full || !self.round_start || limited {
            return;
        }
        let bandwidth = self.bandwidth.value();
        if bandwidth >= 1.25 * self.full_bandwidth {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
        } else {
            self.full_rounds += 1;
            self.full = self.full_rounds >= 3;
        }
    }

    fn check_drain(&mut self, sample: &RateSample) {
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.in_network(sample.in_flight) <= self.inflight(1.0) {
            self.enter_probe_bw(sample.now);
        }
    }

    fn update_min_rtt(&mut self, w: &mut Window, sample: &RateSample) {
        let now = sample.now;
        let expired = now.since(self.min_rtt_at) > self.params.min_rtt_window;
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save(w);
            self.probe_rtt_until = None;
        }
        if self.state == State::ProbeRtt {
            self.own_limit.mark(sample);
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(w, now);
                }
            } else if sample.in_flight as f64 <= 4.0 * self.mss {
                self.probe_rtt_until = Some(now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.next_round = sample.total.0;
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn end_probe_rtt(&mut self, w: &mut Window, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = now;
        w.cwnd = w.cwnd.max(self.prior_window);
        if self.full {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            State::ProbeBw if self.policer.in_use => (1.0, self.params.cwnd_gain),
            State::ProbeBw => (CYCLE[self.cycle], self.params.cwnd_gain),
            State::ProbeRtt => (1.0, 1.0),
        };
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, w: &mut Window, sample: &RateSample) {
        let (acked, mss) = (sample.newly_acked as f64, self.mss);
        if acked > 0.0 {
            w.cwnd = (w.cwnd - sample.newly_lost as f64).max(mss);
            if self.conserves {
                w.cwnd = w.cwnd.max(sample.in_flight as f64 + acked);
            } else {
                let excess = match self.full {
                    true => self.excess[0].max(self.excess[1]).min(0.1 * self.bandwidth()),
                    false => 0.0,
                };
                let target = self.budget(self.product(self.bandwidth(), self.window_gain) + excess);
                if self.full {
                    w.cwnd = (w.cwnd + acked).min(target);
                } else if w.cwnd < target || (sample.total.0 as f64) < 10.0 * mss {
                    w.cwnd += acked;
                }
                w.cwnd = w.cwnd.max(4.0 * mss);
            }
        }
        if self.state == State::ProbeRtt {
            w.cwnd = w.cwnd.min(4.0 * mss);
        }
    }
}

/// BBRv1's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "bbr1",
    room: Room::CongestionControl,
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "BBRv1",
    example: r#"groups.users.tcp.congestion_control = "bbr1""#,
    doc: "Paces at a gain times the largest delivery rate of ten round trips. The window is twice the product \
          of that rate and the least round-trip time of ten seconds. Losses change the rate only where they \
          look like those of a policer. Congestion marks are ignored.",
    source: "Linux 6.12 (tcp_bbr); Cardwell et al. 2016",
    params: Params::PARAMS,
    observables: &[
        WINDOW,
        Observable { name: "state", unit: "1", doc: "State: 0 Startup, 1 Drain, 2 ProbeBW, 3 ProbeRTT." },
        Observable {
            name: "pacing_gain",
            unit: "1",
            doc: "Pacing rate over bandwidth, before the margin of 1 %.",
        },
        Observable { name: "cwnd_gain", unit: "1", doc: "Window over bandwidth-delay product." },
        Observable { name: "pacing_rate", unit: "bit/s", doc: "Pacing rate of payload." },
        Observable { name: "bandwidth", unit: "bit/s", doc: "Estimated bandwidth of payload." },
        Observable {
            name: "policed_bandwidth",
            unit: "bit/s",
            doc: "Rate of a detected policer; else none.",
        },
        Observable { name: "min_rtt", unit: "s", doc: "Least round-trip time of the filter's window." },
        Observable {
            name: "extra_acked",
            unit: "packets",
            doc: "Largest excess of ACKs over the bandwidth.",
        },
    ],
    counters: &[],
    deviations: &[
        Deviation {
            what: "Rates, windows and round trips are real numbers of bytes and nanoseconds, not fixed-point \
                   numbers. The bandwidth-delay product is a whole number of packets, as in Linux.",
            why: "Linux's units exist for integer arithmetic.",
        },
        Deviation {
            what: "Data in flight at the next departure is data in flight now; with a gain above 1, plus a \
                   burst.",
            why: "Linux subtracts what arrives until the next departure, which is at most one burst away.",
        },
        Deviation {
            what: "A delayed ACK of a lone short segment may raise an expired minimum of the round-trip time.",
            why: "Linux ignores such ACKs; the sender does not identify them.",
        },
        Deviation {
            what: "After an idle time the end of ProbeRTT is checked when the first segment leaves.",
            why: "Linux checks just before. The first burst still has four packets or fewer.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;
    use proptest::prelude::*;

    use super::*;
    use crate::congestion_control::probe::Rig;

    fn bbr1() -> Bbr1 {
        let values = [
            ("cwnd_gain", Value::Number(2.0)),
            ("min_rtt_window", Value::Number(10.0)),
            ("policer_detection", Value::Flag(true)),
        ];
        Bbr1::build(&Values(values.into()), &Profile::linux(), 1.0).expect("they are sound")
    }

    /// Ten segments of 1000 bytes to begin with.
    fn rig() -> Rig<Bbr1> {
        Rig::new(bbr1())
    }

    /// Out of Startup at a million bytes/s and 40 ms.
    fn probing() -> Rig<Bbr1> {
        let mut rig = rig();
        for _ in 0..4 {
            rig.round(1e6, 40, 60_000);
        }
        assert_eq!(rig.cc.state, State::Drain);
        rig.round(1e6, 40, 40_000);
        assert_eq!(rig.cc.state, State::ProbeBw);
        rig
    }

    #[test]
    fn a_maximum_leaves_after_its_window_and_the_next_best_follows() {
        let mut filter = WindowedMax::default();
        let seen: Vec<f64> = [(0, 5.0), (3, 4.0), (6, 3.0), (10, 1.0), (11, 1.0), (14, 1.0), (17, 0.5)]
            .map(|(at, value)| filter.update(10, at, value))
            .into();
        assert_eq!(seen, [5.0, 5.0, 5.0, 5.0, 4.0, 3.0, 1.0]);
        assert_eq!(filter.update(10, 17, 9.0), 9.0);
        assert_eq!(filter.update(10, 28, 2.0), 2.0);
    }

    #[test]
    fn the_first_rate_is_that_of_the_initial_window() {
        let rig = rig();
        let rate = |smoothed| rig.cc.pacing_rate(&rig.w, &Path { smoothed, least: None }).expect("it paces");
        // 2.885 x 10 000 B / 40 ms x 0.99; without a round trip, 1 ms.
        assert!((rate(Some(Duration::from_millis(40))) - 714_037.5).abs() < 1e-6);
        assert!((rate(None) - 28_561_500.0).abs() < 1e-6);
    }

    #[test]
    fn bursts_take_a_millisecond_with_two_segments_at_least() {
        assert_eq!(burst(149_999.0, 1000.0), 1.0);
        assert_eq!(burst(150_000.0, 1000.0), 2.0);
        assert_eq!(burst(1_024_000.0 * 5.0, 1000.0), 5.0);
        assert_eq!(burst(1e12, 1000.0), 65.0);
    }

    #[test]
    fn startup_ends_after_three_rounds_without_a_quarter_more() {
        let mut rig = rig();
        for rate in [1e6, 1.25e6, 1.5e6, 1.55e6] {
            rig.round(rate, 40, 100_000);
            assert_eq!(rig.cc.state, State::Startup, "{rate}");
        }
        // Many ACKs of one round count once.
        for _ in 0..20 {
            rig.ack(1.5e6, 40, 100_000);
        }
        assert_eq!(rig.cc.full_rounds, 2);
        rig.round(1.5e6, 40, 100_000);
        assert_eq!(rig.cc.state, State::Drain);
        assert_eq!(rig.cc.pacing_gain, 1.0 / 2.885);
    }

    #[test]
    fn application_limited_samples_only_raise_the_bandwidth() {
        let mut rig = rig();
        rig.round(1e6, 40, 60_000);
        rig.limited = true;
        for _ in 0..30 {
            rig.round(2e5, 40, 60_000);
        }
        assert_eq!((rig.cc.bandwidth(), rig.cc.full_rounds), (1e6, 0));
        rig.round(1.5e6, 40, 60_000);
        assert_eq!(rig.cc.bandwidth(), 1.5e6);
    }

    /// 40 000 B are 40 packets; the budget adds three bursts of two and rounds to an even number.
    #[test]
    fn the_window_is_twice_the_product_and_three_bursts() {
        let mut rig = probing();
        rig.cc.cycle = 2;
        for _ in 0..40 {
            rig.ack(1e6, 40, 40_000);
        }
        assert_eq!(rig.cc.budget(rig.cc.product(1e6, 2.0)), 86_000.0);
        assert_eq!(rig.cc.budget(rig.cc.product(1.0001e6, 1.0)), 48_000.0); // 41 + 6, even
        rig.cc.cycle = 0;
        rig.cc.bandwidth.update(10, rig.cc.rounds + 20, 1e6);
        assert_eq!(rig.cc.inflight(1.25), 58_000.0); // 50 + 6 + 2
    }

    #[test]
    fn phases_last_a_round_trip_and_probing_until_it_shows() {
        let mut rig = probing();
        (rig.cc.cycle, rig.cc.cycle_at, rig.cc.pacing_gain) = (0, rig.now, 1.25);
        rig.round(1e6, 41, 5000);
        assert_eq!(rig.cc.cycle, 0, "it is not in flight yet");
        rig.round(1e6, 41, 60_000);
        assert_eq!((rig.cc.cycle, rig.cc.pacing_gain), (1, 0.75));
        rig.ack(1e6, 41, 40_000);
        assert_eq!((rig.cc.cycle, rig.cc.pacing_gain), (2, 1.0));
        rig.ack(1e6, 41, 40_000);
        assert_eq!(rig.cc.cycle, 2);
    }

    #[test]
    fn probe_rtt_holds_four_packets_for_200_ms_and_a_round() {
        let mut rig = probing();
        rig.w.cwnd = 80_000.0;
        while rig.cc.state != State::ProbeRtt {
            rig.round(1e6, 40, 40_000);
            assert!(rig.now < Time::from_seconds(12.0));
        }
        let began = rig.now;
        assert!(began.since(Time::ZERO) > Duration::from_millis(10_000));
        assert_eq!(rig.w.cwnd, 4000.0);
        rig.round(1e5, 40, 4000);
        let low = rig.now;
        while rig.cc.state == State::ProbeRtt {
            rig.round(1e5, 40, 4000);
        }
        assert!(rig.now.since(low) > PROBE_RTT_TIME && rig.now.since(low) < Duration::from_millis(300));
        assert_eq!(rig.cc.bandwidth(), 1e6, "its own samples are application-limited");
        assert!(rig.w.cwnd >= 80_000.0);
    }

    #[test]
    fn a_recovery_conserves_packets_for_a_round_and_restores_the_window() {
        let mut rig = probing();
        rig.w.cwnd = 80_000.0;
        rig.lose(1000);
        rig.ack(1e6, 40, 30_000);
        rig.state(Recovery::Recovery);
        assert_eq!(rig.w.cwnd, 31_000.0);
        rig.ack(1e6, 40, 30_000);
        assert_eq!(rig.w.cwnd, 31_000.0);
        rig.round(1e6, 40, 30_000);
        rig.ack(1e6, 40, 30_000);
        assert!(rig.w.cwnd > 31_000.0, "it grows after a round");
        rig.state(Recovery::Open);
        assert!(rig.w.cwnd >= 79_000.0);
    }

    #[test]
    fn two_loss_intervals_with_the_same_rate_are_a_policer() {
        let mut rig = probing();
        let mut rounds = 0;
        while !rig.cc.policer.in_use {
            rig.lose(15_000);
            rig.round(5e5, 40, 40_000);
            rounds += 1;
            assert!(rounds < 20);
        }
        // The interval that begins the sampling, and two of four rounds.
        assert!((8..=11).contains(&rounds), "{rounds}");
        assert!((rig.cc.bandwidth() / rig.cc.policer.bandwidth - 1.0).abs() < 1e-12);
        assert_eq!(rig.cc.pacing_gain, 1.0);
        for _ in 0..47 {
            rig.round(5e5, 40, 40_000);
        }
        assert!(rig.cc.policer.in_use);
        rig.round(5e5, 40, 40_000);
        assert!(!rig.cc.policer.in_use);
    }

    #[test]
    fn losses_of_a_few_packets_are_no_policer() {
        let mut rig = probing();
        for _ in 0..40 {
            rig.lose(2000); // of 42 000 B a round: less than 50/256
            rig.round(1e6, 40, 40_000);
            assert!(!rig.cc.policer.in_use);
        }
    }

    proptest! {
        #![proptest_config(crate::congestion_control::probe::config())]

        #[test]
        fn rate_and_window_are_sound_whatever_happens(steps in crate::congestion_control::probe::steps()) {
            let mut rig = rig();
            for step in steps {
                rig.take(step);
                let w = rig.w.cwnd;
                let recovers = rig.cc.is_recovering();
                prop_assert!(w.is_finite() && w >= if recovers { 1000.0 } else { 4000.0 }, "{w} {step:?}");
                let rate = rig.cc.pacing_rate(&rig.w, &Path::default()).expect("it paces");
                prop_assert!(rate > 0.0 && rate.is_finite());
                prop_assert!(rig.cc.state != State::ProbeRtt || w <= 4000.0 || recovers);
                prop_assert!(rig.cc.state == State::Startup || rig.cc.full || rig.cc.state == State::ProbeRtt);
            }
        }
    }
}
