//! BBRv3 (draft-ietf-ccwg-bbr-06 with the editors' copy of August 2026).
//!
//! The model of the path has long-term bounds: the largest delivery rate of two probing cycles, and the most
//! data in flight without much loss. Losses add short-term bounds. Cycles of ProbeBW accelerate, drain and
//! cruise around it. ProbeRTT halves the data in flight every five seconds without a lower round trip.
//! Names in parentheses are the draft's.

use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Traits, Values};
use evenflow_base::units::NANOS;
use evenflow_base::{Duration, Stream, Time};

use crate::Profile;
use crate::profile::Ecn;

use super::bbr1::{LARGEST_BURST, MARGIN, OwnLimit, PROBE_RTT_TIME, WindowedMax};
use super::{
    Acked, Cause, Congestion, Control, Needs, Path, Proposal, RateSample, Recovery, Registered, Sent,
    Spurious, WINDOW, Window,
};

/// `StartupPacingGain`: 4 ln 2.
pub const STARTUP_GAIN: f64 = 2.77;

/// `MinRTTFilterLen`.
const MIN_RTT_WINDOW: Duration = Duration::from_millis(10_000);

/// `ExtraAckedFilterLen`, rounds.
const EXTRA_ACKED_ROUNDS: u64 = 10;

/// `BBRStartupFullLossCnt`.
const LOSS_RANGES: u32 = 6;

/// Linux: rounds of each of the two windows of extra_acked, and the time of data that it may be worth.
const EXTRA_ACKED_WINDOW: u32 = 5;
const EXTRA_ACKED_TIME: f64 = 0.1;

/// Linux: the burst of a path without delay. It halves with each 512 µs of the least round trip.
const HALVING: f64 = 512e-6;

/// Marks count up to this least round trip, seconds (`bbr_ecn_max_rtt_us`).
const ECN_RTT: f64 = 0.005;

/// Weight of a round in alpha (`bbr_ecn_alpha_gain`).
const ECN_GAIN: f64 = 1.0 / 16.0;

/// Share of alpha by which a round with marks cuts the data in flight (`bbr_ecn_factor`).
const ECN_FACTOR: f64 = 1.0 / 3.0;

/// Share of marked data above which a probe went too high (`bbr_ecn_thresh`).
const ECN_THRESHOLD: f64 = 0.5;

/// Rounds with such a share that end Startup (`bbr_full_ecn_cnt`).
const ECN_ROUNDS: u32 = 2;

/// The data in flight at which losses crossed `threshold` (`InflightAtLoss`). A lost segment of `len` bytes left
/// with `in_flight` bytes, and `lost` bytes were lost since. Both include the segment.
pub fn inflight_at_loss(in_flight: f64, lost: f64, len: f64, threshold: f64) -> f64 {
    let before = in_flight - len;
    before + ((threshold * before - (lost - len)) / (1.0 - threshold)).max(0.0)
}

/// A short-term bound after a round with losses (`LossLowerBounds`).
pub fn short_term(bound: f64, latest: f64, beta: f64) -> f64 {
    latest.max(beta * bound)
}

/// State of BBRv3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The rate doubles each round trip.
    Startup,
    /// The queue of Startup drains.
    Drain,
    /// ProbeBW_DOWN: below the bandwidth.
    Down,
    /// ProbeBW_CRUISE: at the bandwidth.
    Cruise,
    /// ProbeBW_REFILL: a round trip at the bandwidth, without short-term bounds.
    Refill,
    /// ProbeBW_UP: above the bandwidth.
    Up,
    /// Half the product in flight, to measure the least round trip.
    ProbeRtt,
}

impl State {
    /// Gains of rate and window.
    fn gains(self) -> (f64, f64) {
        match self {
            State::Startup => (STARTUP_GAIN, 2.0),
            State::Drain => (0.5, 2.0),
            State::Down => (0.9, 2.0),
            State::Cruise | State::Refill => (1.0, 2.0),
            State::Up => (1.25, 2.25),
            State::ProbeRtt => (1.0, 0.5),
        }
    }

    /// `IsInAProbeBWState`.
    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// Meaning of ACKs for the probe of the bandwidth (`ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Response to marks (google/bbr v3).
#[derive(Clone, Copy, Debug)]
struct Echo {
    /// The least round trip was short enough once.
    eligible: bool,
    /// Mean share of marked data.
    alpha: f64,
    /// Marks, and delivered bytes and marks at the last update of alpha.
    total: u64,
    updated: (u64, u64),
    in_round: bool,
    in_cycle: bool,
    loss_in_cycle: bool,
    /// Rounds of Startup with many marks.
    rounds: u32,
    /// Delivered bytes at the end of a reduction by marks (TCP_CA_CWR).
    reduced_to: u64,
}

/// State from before a recovery that may turn out spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// A state that losses ended.
    state: Option<State>,
    bandwidth_short: f64,
    inflight_short: f64,
    inflight_long: f64,
}

/// BBRv3. Volumes are in bytes, rates in bytes/s.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    /// Form linux.
    linux: bool,
    echo: Option<Echo>,
    /// Form linux: the two windows of extra_acked, the present one, and its rounds.
    extra_windows: [f64; 2],
    extra_window: usize,
    extra_rounds: u32,
    stream: Option<Stream>,
    /// `C.has_selective_acks`.
    selective: bool,
    mss: f64,
    initial: f64,
    state: State,
    rate: Option<f64>,
    quantum: f64,
    recovery: Recovery,
    prior_window: f64,
    /// `None` between episodes of loss.
    undo: Option<Undo>,
    // Rounds.
    rounds: u64,
    round_start: bool,
    next_round: u64,
    idle_restart: bool,
    restarting: bool,
    started: bool,
    /// When a segment last left or an ACK last came. A transition after a loss takes the time of the next.
    now: Time,
    stamps: bool,
    // The model.
    bandwidth: f64,
    /// The largest rates of the last and of this cycle (`max_bw_filter`).
    rates: [f64; 2],
    bandwidth_short: f64,
    inflight_long: f64,
    inflight_short: f64,
    /// Infinite: none is known.
    min_rtt: f64,
    min_rtt_at: Time,
    probe_rtt_min: f64,
    probe_rtt_min_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    max_inflight: f64,
    extra_acked: WindowedMax,
    extra_since: Time,
    extra_delivered: f64,
    // Congestion.
    bandwidth_latest: f64,
    inflight_latest: f64,
    loss_round: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    loss_ranges: u32,
    loss_end: u64,
    // Full bandwidth.
    full: bool,
    full_now: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    // ProbeBW.
    drain_round: u64,
    acks: Acks,
    probe_samples: bool,
    up_acked: f64,
    up_acked_per_step: f64,
    up_rounds: u32,
    rounds_since_up: u64,
    wait: Duration,
    cycle_at: Time,
    was_too_high: bool,
    was_precautionary: bool,
    own_limit: OwnLimit,
    /// The window was full in this and the last round (`C.is_cwnd_limited`).
    window_full: [bool; 2],
    /// Of the last sample.
    delivered: u64,
    /// Bytes declared lost (`C.lost`).
    lost: u64,
}

words! {
    /// Implementation of BBRv3.
    pub enum Form {
        /// draft-ietf-ccwg-bbr-06.
        Draft = "draft",
        /// google/bbr v3.
        Linux = "linux",
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug)]
    pub struct Params {
        /// Share of lost data in a round trip above which a probe went too high (LossThresh).
        loss_threshold: f64 = Number, Text("0.02"), Range::up_to(0.5) => source: "draft-ietf-ccwg-bbr-06 section 2.7";
        /// Factor of the short-term bounds after a round trip with losses (Beta).
        beta: f64 = Number, Text("0.7"), Range::up_to(1.0) => source: "draft-ietf-ccwg-bbr-06 section 2.7";
        /// Share of the long-term bound of data in flight that cruising leaves free (Headroom).
        headroom: f64 = Number, Text("0.15"), Range::between(0.0, 0.9) => source: "draft-ietf-ccwg-bbr-06 section 2.7";
        /// Time without a lower round trip before ProbeRTT (ProbeRTTInterval).
        probe_rtt_interval: Duration = Duration, Text("5 s"), Range::POSITIVE
            => source: "draft-ietf-ccwg-bbr-06 section 2.14.2";
        /// Rules of the draft or of the Linux implementation.
        form: Option<Form> = Form::TYPE, Absent("draft") => source: "google/bbr v3, tcp_bbr.c";
        /// Respond to marks as Linux does on paths that mark early, up to a round trip of 5 ms. Needs counted
        /// marks.
        ecn: Option<bool> = Flag, Absent("false") => source: "google/bbr v3, tcp_bbr.c";
    }
}

/// Maximum and minimum of numbers that are never NaN, in one instruction each.
trait Bounds {
    fn at_least(self, least: f64) -> f64;
    fn at_most(self, most: f64) -> f64;
}

impl Bounds for f64 {
    #[inline(always)]
    fn at_least(self, least: f64) -> f64 {
        if self > least { self } else { least }
    }

    #[inline(always)]
    fn at_most(self, most: f64) -> f64 {
        if self < most { self } else { most }
    }
}

/// A count as a real number: from a signed number it is one instruction.
#[inline(always)]
fn real(count: u64) -> f64 {
    count as i64 as f64
}

#[inline(always)]
fn seconds(time: Duration) -> f64 {
    real(time.0) / NANOS
}

/// The per-ACK values of a sample (`RS`).
struct Rs<'a> {
    sample: &'a RateSample,
    packet: &'a Sent,
    /// `RS.delivery_rate`; 0: none.
    rate: f64,
    limited: bool,
    newly_acked: f64,
    delivered: f64,
    in_flight: f64,
}

impl Registered for Bbr {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Bbr, Vec<Problem>> {
        let params = Params::read(values);
        let echo = Echo {
            eligible: false,
            alpha: 1.0,
            total: 0,
            updated: (0, 0),
            in_round: false,
            in_cycle: false,
            loss_in_cycle: false,
            rounds: 0,
            reduced_to: 0,
        };
        Ok(Bbr {
            linux: params.form == Some(Form::Linux),
            echo: (params.ecn == Some(true)).then_some(echo),
            extra_windows: [0.0; 2],
            extra_window: 0,
            extra_rounds: 0,
            params,
            stream: None,
            selective: profile.sack,
            mss: 1.0,
            initial: 0.0,
            state: State::Startup,
            rate: None,
            quantum: 0.0,
            recovery: Recovery::Open,
            prior_window: 0.0,
            undo: None,
            rounds: 0,
            round_start: false,
            next_round: 0,
            idle_restart: false,
            restarting: false,
            started: false,
            now: Time::ZERO,
            stamps: true,
            bandwidth: 0.0,
            rates: [0.0; 2],
            bandwidth_short: f64::INFINITY,
            inflight_long: f64::INFINITY,
            inflight_short: f64::INFINITY,
            min_rtt: f64::INFINITY,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: f64::INFINITY,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_until: None,
            probe_rtt_round: false,
            max_inflight: 0.0,
            extra_acked: WindowedMax::default(),
            extra_since: Time::ZERO,
            extra_delivered: 0.0,
            bandwidth_latest: 0.0,
            inflight_latest: 0.0,
            loss_round: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_ranges: 0,
            loss_end: u64::MAX,
            full: false,
            full_now: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            drain_round: 0,
            acks: Acks::Init,
            probe_samples: false,
            up_acked: 0.0,
            up_acked_per_step: f64::INFINITY,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Duration::ZERO,
            cycle_at: Time::ZERO,
            was_too_high: false,
            was_precautionary: false,
            own_limit: OwnLimit::default(),
            window_full: [false; 2],
            delivered: 0,
            lost: 0,
        })
    }

    fn contradictions(values: &Values, profile: &Profile) -> Vec<String> {
        match profile.ecn {
            Ecn::Accurate | Ecn::PerPacket => Vec::new(),
            _ if Params::read(values).ecn != Some(true) => Vec::new(),
            ecn => vec![format!(
                "bbr with ecn = true counts marks: add ecn = \"accurate\" to tcp, not \"{}\"",
                ecn.word()
            )],
        }
    }
}

impl Control for Bbr {
    /// Every mark: the draft leaves ECN for later. Without the option `ecn` marks are ignored.
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
        (self.mss, self.initial, self.quantum) = (mss, w.cwnd, 2.0 * mss);
    }

    /// `OnTransmit`; it also notes whether the window is full.
    fn on_packet_sent(&mut self, w: &mut Window, sent: &Sent) {
        self.tick(sent.at);
        self.window_full[1] |= real(sent.in_flight) + self.mss > w.cwnd;
        if self.restarting {
            self.restarting = false;
            self.extra_since = sent.at;
            if self.state.probes_bandwidth() {
                self.rate = self.rate.map(|_| self.bandwidth * MARGIN);
            } else if self.state == State::ProbeRtt {
                self.end_probe_rtt(w, sent.at);
            }
        }
    }

    /// `HandleLostPacket`.
    fn on_packet_lost(&mut self, w: &mut Window, lost: &Sent) {
        self.lost += lost.len;
        if let Some(echo) = &mut self.echo {
            echo.loss_in_cycle = true;
        }
        self.loss_ranges += u32::from(!self.linux && lost.seq != self.loss_end);
        self.loss_end = lost.seq + lost.len;
        if !self.loss_in_round {
            self.loss_round = self.delivered;
            self.save_state(w);
        }
        self.loss_in_round = true;
        let since = (self.lost - lost.lost) as f64;
        if !self.probe_samples || !self.too_high(since, lost.in_flight as f64) {
            return;
        }
        let threshold = self.params.loss_threshold;
        let in_flight = inflight_at_loss(lost.in_flight as f64, since, lost.len as f64, threshold);
        self.was_too_high = true;
        self.probe_samples = false;
        if !self.own_limit.covers(lost) {
            self.inflight_long = in_flight.max(self.target_inflight(w) * self.params.beta);
        }
        if self.state == State::Up {
            if let Some(undo) = &mut self.undo {
                undo.state = Some(State::Up);
            }
            self.start_down();
            self.stamps = true;
        }
    }

    #[inline(always)]
    fn on_rate_sample(&mut self, w: &mut Window, sample: &RateSample) {
        let Some(packet) = &sample.packet else { return };
        self.tick(sample.now);
        self.delivered = sample.total.0;
        let rs = Rs {
            sample,
            packet,
            rate: sample.rate().unwrap_or(0.0),
            limited: self.own_limit.covers(packet),
            newly_acked: real(sample.newly_acked),
            delivered: real(sample.delivered),
            in_flight: real(sample.in_flight),
        };
        self.update_latest(&rs);
        self.update_congestion(w, &rs);
        self.update_extra_acked(w, &rs);
        self.check_full_bandwidth(&rs);
        self.check_startup_loss(&rs);
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
            self.drain_round = self.rounds;
            if self.linux {
                self.reset_congestion();
            }
        }
        if self.state == State::Drain && self.is_drained(&rs) {
            self.start_down();
        }
        if self.full {
            self.update_cycle(w, &rs);
        }
        self.update_min_rtt(&rs);
        self.check_probe_rtt(w, &rs);
        if self.loss_round_start {
            (self.bandwidth_latest, self.inflight_latest) = (rs.rate, rs.delivered);
            self.loss_ranges = 0;
        }
        self.bandwidth = self.max_bandwidth().at_most(self.bandwidth_short);
        let (pacing_gain, window_gain) = self.gains();
        self.set_rate(&sample.path, pacing_gain);
        self.set_window(w, &rs, window_gain);
        if let Some(echo) = &mut self.echo {
            echo.in_cycle |= sample.marked > 0;
            echo.loss_in_cycle |= sample.lost > 0;
        }
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
                self.save_state(w);
                self.save_window(w);
                w.cwnd = window.cwnd;
            }
            _ => {}
        }
    }

    fn on_state(&mut self, w: &mut Window, state: Recovery) {
        let was = self.is_recovering();
        match state {
            Recovery::Recovery => {
                self.save_state(w);
                self.save_window(w);
            }
            Recovery::Open | Recovery::Disorder | Recovery::Reduction if was => {
                self.undo = None;
                self.restore_window(w);
            }
            Recovery::Loss if self.linux && !was => {
                self.reset_full_bandwidth(0.0);
                if !self.is_probing() && self.inflight_short.is_infinite() {
                    self.inflight_short = w.cwnd.max(self.prior_window);
                }
            }
            _ => {}
        }
        self.recovery = state;
    }

    /// `HandleSpuriousLossDetection`.
    fn on_spurious_loss(&mut self, w: &mut Window, _: &Spurious) {
        let Some(undo) = self.undo.take() else { return };
        self.restore_window(w);
        self.loss_in_round = false;
        self.reset_full_bandwidth(0.0);
        self.bandwidth_short = self.bandwidth_short.max(undo.bandwidth_short);
        self.inflight_short = self.inflight_short.max(undo.inflight_short);
        self.inflight_long = self.inflight_long.max(undo.inflight_long);
        match undo.state {
            _ if self.linux => {} // Linux restores bounds only
            Some(State::Startup) if self.state != State::Startup => {
                self.full = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_refill();
            }
            _ => {}
        }
    }

    fn on_idle_restart(&mut self, _: Duration) {
        (self.idle_restart, self.restarting) = (true, true);
    }

    fn pacing_rate(&self, _: &Window, path: &Path) -> Option<f64> {
        Some(self.rate.unwrap_or_else(|| self.first_rate(path)))
    }

    fn send_quantum(&self, _: f64) -> f64 {
        self.quantum
    }

    fn observe(&self, name: &str) -> Option<f64> {
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        let packets = |bytes: f64| finite(bytes / self.mss);
        match name {
            "state" => Some(f64::from(self.state as u8)),
            "pacing_gain" => Some(self.gains().0),
            "cwnd_gain" => Some(self.gains().1),
            "pacing_rate" => self.rate.map(|rate| 8.0 * rate),
            "bandwidth" => Some(8.0 * self.max_bandwidth()),
            "bandwidth_shortterm" => finite(8.0 * self.bandwidth_short),
            "min_rtt" => finite(self.min_rtt),
            "max_inflight" => packets(self.max_inflight),
            "inflight_longterm" => packets(self.inflight_long),
            "inflight_shortterm" => packets(self.inflight_short),
            "extra_acked" => packets(self.extra_acked()),
            "alpha" => self.echo.map(|echo| echo.alpha),
            _ => None,
        }
    }
}

impl Bbr {
    /// Something happens at `now`: the first segment starts the clocks, and a cycle that a loss began starts.
    fn tick(&mut self, now: Time) {
        self.now = now;
        if self.stamps {
            self.stamp(now);
        }
    }

    #[cold]
    fn stamp(&mut self, now: Time) {
        self.stamps = false;
        if self.started {
            self.cycle_at = now;
        } else {
            self.started = true;
            (self.min_rtt_at, self.probe_rtt_min_at, self.extra_since) = (now, now, now);
        }
    }

    fn is_recovering(&self) -> bool {
        matches!(self.recovery, Recovery::Recovery | Recovery::Loss)
    }

    fn max_bandwidth(&self) -> f64 {
        self.rates[0].at_least(self.rates[1])
    }

    /// `MinPipeCwnd`.
    fn least(&self) -> f64 {
        4.0 * self.mss
    }

    /// Gains of rate and window. Those of Linux are multiples of 1/256.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup if self.linux => (710.0 / 256.0, 2.0),
            State::Drain if self.linux => (88.0 / 256.0, 2.0),
            State::Down if self.linux => (232.0 / 256.0, 2.0),
            State::ProbeRtt if self.linux => (1.0, 1.0),
            state => state.gains(),
        }
    }

    /// The bandwidth is probed: short-term bounds do not change.
    fn is_probing(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    // Control parameters.

    fn first_rate(&self, path: &Path) -> f64 {
        let rtt = path.smoothed.map_or(0.001, Duration::seconds).max(1e-6);
        let gain = if self.linux { 710.0 / 256.0 * MARGIN } else { STARTUP_GAIN };
        gain * self.initial / rtt
    }

    /// `SetPacingRate` and `SetSendQuantum`.
    #[inline(always)]
    fn set_rate(&mut self, path: &Path, gain: f64) {
        let rate = gain * self.bandwidth * MARGIN;
        let before = self.rate.unwrap_or_else(|| self.first_rate(path));
        let rate = if self.full || rate > before { rate } else { before };
        self.rate = Some(rate);
        self.quantum = if self.linux {
            let more = LARGEST_BURST * libm::exp2(-libm::floor(self.min_rtt / HALVING));
            let bytes = (rate / 1024.0 + more).min(LARGEST_BURST);
            libm::floor(bytes / self.mss).max(2.0) * self.mss
        } else {
            (rate * 0.001).at_most(LARGEST_BURST).at_least(2.0 * self.mss)
        };
    }

    /// Bytes that aggregation of ACKs adds to the window.
    fn extra_acked(&self) -> f64 {
        if self.linux {
            let [a, b] = self.extra_windows;
            a.at_least(b).at_most(self.bandwidth * EXTRA_ACKED_TIME)
        } else {
            self.extra_acked.value()
        }
    }

    /// Whether the queue of Startup is gone.
    fn is_drained(&self, rs: &Rs) -> bool {
        if self.linux {
            return rs.in_flight <= self.inflight(self.max_bandwidth(), 1.0);
        }
        rs.in_flight <= self.inflight(self.bandwidth, 1.0) || self.rounds > self.drain_round + 3
    }

    /// `BDPMultiple`.
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt == f64::INFINITY { self.initial } else { gain * bandwidth * self.min_rtt }
    }

    /// `QuantizationBudget`.
    fn budget(&self, inflight: f64) -> f64 {
        let more = if self.state == State::Up { 2.0 * self.mss } else { 0.0 };
        inflight.at_least(3.0 * self.quantum).at_least(self.least()) + more
    }

    /// `Inflight`.
    fn inflight(&self, bandwidth: f64, gain: f64) -> f64 {
        self.budget(self.product(bandwidth, gain))
    }

    /// `TargetInflight`.
    fn target_inflight(&self, w: &Window) -> f64 {
        let product = self.product(self.bandwidth, 1.0);
        if self.linux { self.budget(product).at_most(w.cwnd) } else { product.at_most(w.cwnd) }
    }

    fn probe_rtt_window(&self) -> f64 {
        self.product(self.bandwidth, State::ProbeRtt.gains().1).max(self.least())
    }

    /// `SetCwnd`.
    #[inline(always)]
    fn set_window(&mut self, w: &mut Window, rs: &Rs, gain: f64) {
        let inflight = self.product(self.bandwidth, gain) + self.extra_acked();
        self.max_inflight = self.budget(inflight);
        if self.full {
            w.cwnd = (w.cwnd + rs.newly_acked).at_most(self.max_inflight);
        } else if w.cwnd < self.max_inflight || self.is_at_first(w) {
            w.cwnd += rs.newly_acked;
        }
        w.cwnd = w.cwnd.at_least(self.least());
        self.bound_window(w);
    }

    /// The window may grow beyond the target: until the initial window is delivered, in Linux up to two initial windows.
    fn is_at_first(&self, w: &Window) -> bool {
        if self.linux { w.cwnd < 2.0 * self.initial } else { (self.delivered as f64) < self.initial }
    }

    /// `BoundCwndForProbeRTT` and `BoundCwndForModel`.
    fn bound_window(&self, w: &mut Window) {
        if self.state == State::ProbeRtt {
            w.cwnd = w.cwnd.min(self.probe_rtt_window());
        }
        let bound = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
        };
        w.cwnd = w.cwnd.at_most(bound.at_most(self.inflight_short).at_least(self.least()));
    }

    fn save_window(&mut self, w: &Window) {
        self.prior_window = if self.is_recovering() || self.state == State::ProbeRtt {
            self.prior_window.max(w.cwnd)
        } else {
            w.cwnd
        };
    }

    fn restore_window(&self, w: &mut Window) {
        w.cwnd = w.cwnd.max(self.prior_window);
        if self.full {
            w.cwnd = w.cwnd.min(self.max_inflight);
        }
        self.bound_window(w);
    }

    /// `SaveStateUponLoss`, once for each episode of loss.
    fn save_state(&mut self, w: &Window) {
        if self.undo.is_some() {
            return;
        }
        self.save_window(w);
        self.undo = Some(Undo {
            state: None,
            bandwidth_short: self.bandwidth_short,
            inflight_short: self.inflight_short,
            inflight_long: self.inflight_long,
        });
    }

    // Model and state.

    /// `UpdateLatestDeliverySignals`.
    #[inline(always)]
    fn update_latest(&mut self, rs: &Rs) {
        self.bandwidth_latest = self.bandwidth_latest.at_least(rs.rate);
        self.inflight_latest = self.inflight_latest.at_least(rs.delivered);
        self.loss_round_start = rs.packet.delivered >= self.loss_round;
        if self.loss_round_start {
            self.loss_round = self.delivered;
        }
    }

    /// `UpdateCongestionSignals`.
    #[inline(always)]
    fn update_congestion(&mut self, w: &Window, rs: &Rs) {
        self.round_start = rs.packet.delivered >= self.next_round;
        if self.round_start {
            self.next_round = self.delivered;
            self.rounds += 1;
            self.rounds_since_up += 1;
            self.window_full = [self.window_full[1], false];
        }
        self.count_marks(rs);
        if rs.rate > 0.0 && (rs.rate >= self.max_bandwidth() || !rs.limited) {
            self.rates[1] = self.rates[1].at_least(rs.rate);
        }
        if !self.loss_round_start {
            return;
        }
        let cut = self.echo.filter(|echo| echo.in_round && !self.is_probing());
        let by_marks = cut.map_or(f64::INFINITY, |echo| {
            if self.inflight_short.is_infinite() {
                self.inflight_short = w.cwnd;
            }
            self.inflight_short * (1.0 - ECN_FACTOR * echo.alpha)
        });
        if self.loss_in_round && !self.is_probing() {
            if self.bandwidth_short.is_infinite() {
                self.bandwidth_short = self.max_bandwidth();
            }
            if self.inflight_short.is_infinite() {
                self.inflight_short = w.cwnd;
            }
            let beta = self.params.beta;
            self.bandwidth_short = short_term(self.bandwidth_short, self.bandwidth_latest, beta);
            self.inflight_short = short_term(self.inflight_short, self.inflight_latest, beta);
        }
        self.inflight_short = self.inflight_short.min(by_marks);
        self.loss_in_round = false;
        if let Some(echo) = &mut self.echo {
            echo.in_round = false;
        }
    }

    /// Marks of an ACK. Alpha moves once a round; two rounds with many marks end Startup.
    fn count_marks(&mut self, rs: &Rs) {
        let Some(echo) = &mut self.echo else { return };
        echo.total += u64::from(rs.sample.marks);
        if rs.sample.marks > 0 && self.delivered > echo.reduced_to {
            echo.reduced_to = self.delivered + rs.sample.in_flight;
        }
        if self.round_start {
            echo.eligible |= self.min_rtt <= ECN_RTT;
            let delivered = (self.delivered - echo.updated.0) as f64;
            if echo.eligible && delivered > 0.0 {
                let share = ((echo.total - echo.updated.1) as f64 * self.mss / delivered).min(1.0);
                echo.alpha += (share - echo.alpha) * ECN_GAIN;
                echo.updated = (self.delivered, echo.total);
                echo.rounds = if share >= ECN_THRESHOLD { echo.rounds + 1 } else { 0 };
            }
        }
        echo.in_round |= echo.eligible && rs.sample.marks > 0;
        if !self.full && echo.rounds >= ECN_ROUNDS {
            self.full = true;
            let inflight = self.inflight(self.max_bandwidth(), 1.0);
            self.inflight_long = inflight.max(self.inflight_latest);
        }
    }

    /// Whether a sample has too many marks.
    fn is_marked_too_much(&self, rs: &Rs) -> bool {
        let marked = rs.sample.marked as f64 * self.mss;
        self.echo.is_some_and(|echo| echo.eligible) && marked > ECN_THRESHOLD * rs.delivered
    }

    /// `UpdateACKAggregation`.
    #[inline(always)]
    fn update_extra_acked(&mut self, w: &Window, rs: &Rs) {
        let now = rs.sample.now;
        let mut expected = self.bandwidth * seconds(now.since(self.extra_since));
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_since, expected) = (0.0, now, 0.0);
        }
        self.extra_delivered += rs.newly_acked;
        let extra = (self.extra_delivered - expected).at_most(w.cwnd);
        if self.linux {
            if self.round_start {
                self.extra_rounds += 1;
                if self.extra_rounds >= if self.full { EXTRA_ACKED_WINDOW } else { 1 } {
                    (self.extra_rounds, self.extra_window) = (0, 1 - self.extra_window);
                    self.extra_windows[self.extra_window] = 0.0;
                }
            }
            let window = &mut self.extra_windows[self.extra_window];
            *window = window.at_least(extra);
            return;
        }
        let length = if self.full { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked.update(length, self.rounds, extra);
    }

    /// `ResetFullBW`, with a first baseline.
    fn reset_full_bandwidth(&mut self, baseline: f64) {
        (self.full_bandwidth, self.full_rounds, self.full_now) = (baseline, 0, false);
    }

    /// `CheckFullBWReached`.
    #[inline(always)]
    fn check_full_bandwidth(&mut self, rs: &Rs) {
        // Linux looks at each sample for growth, at rounds for a plateau.
        if self.full_now || (!self.round_start && !self.linux) || rs.limited {
            return;
        }
        if rs.rate >= 1.25 * self.full_bandwidth {
            return self.reset_full_bandwidth(rs.rate);
        }
        if !self.round_start {
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= 3;
        self.full |= self.full_now;
    }

    /// `CheckStartupHighLoss`.
    #[inline(always)]
    fn check_startup_loss(&mut self, rs: &Rs) {
        self.loss_ranges += u32::from(self.linux && rs.sample.newly_lost > 0);
        if self.state != State::Startup || self.recovery != Recovery::Recovery {
            return;
        }
        let leaves = if self.selective {
            let (lost, in_flight) = (rs.sample.lost as f64, rs.packet.in_flight as f64);
            self.loss_round_start && self.loss_ranges >= LOSS_RANGES && self.too_high(lost, in_flight)
        } else {
            rs.sample.newly_lost > 0
        };
        if !leaves {
            return;
        }
        if let Some(undo) = &mut self.undo {
            undo.state = Some(State::Startup);
        }
        let inflight = if self.linux {
            self.inflight(self.max_bandwidth(), 1.0)
        } else {
            self.full_now = true;
            self.product(self.bandwidth, 1.0)
        };
        self.full = true;
        self.inflight_long = inflight.max(self.inflight_latest);
    }

    /// `IsInflightTooHigh`.
    fn too_high(&self, lost: f64, in_flight: f64) -> bool {
        lost > in_flight * self.params.loss_threshold || (lost > 0.0 && !self.selective)
    }

    /// `InflightWithHeadroom`.
    fn with_headroom(&self) -> f64 {
        if self.inflight_long == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = self.mss.at_least(self.params.headroom * self.inflight_long);
        (self.inflight_long - headroom).at_least(self.least())
    }

    fn reset_short_term(&mut self) {
        (self.bandwidth_short, self.inflight_short) = (f64::INFINITY, f64::INFINITY);
    }

    /// `ResetCongestionSignals`.
    fn reset_congestion(&mut self) {
        (self.loss_in_round, self.bandwidth_latest, self.inflight_latest) = (false, 0.0, 0.0);
        if let Some(echo) = &mut self.echo {
            (echo.in_round, echo.in_cycle, echo.loss_in_cycle) = (false, false, false);
        }
    }

    /// `StartProbeBW_CRUISE`.
    fn start_cruise(&mut self) {
        if self.linux && self.inflight_short.is_finite() {
            self.inflight_short = self.inflight_short.min(self.inflight_long);
        }
        self.state = State::Cruise;
    }

    /// `StartProbeBW_DOWN`.
    fn start_down(&mut self) {
        self.reset_congestion();
        self.up_acked_per_step = f64::INFINITY;
        let mut draw = || self.stream.as_mut().map_or(0.5, |stream| stream.uniform(0.0, 1.0));
        self.rounds_since_up = u64::from(draw() >= 0.5);
        self.wait = Duration::from_seconds(2.0 + draw());
        self.cycle_at = self.now;
        self.acks = Acks::ProbeStopping;
        self.next_round = self.delivered;
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL`.
    fn start_refill(&mut self) {
        self.reset_short_term();
        (self.up_rounds, self.up_acked) = (0, 0.0);
        self.was_precautionary = false;
        self.acks = Acks::Refilling;
        self.next_round = self.delivered;
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, w: &Window, rs: &Rs) {
        self.acks = Acks::ProbeStarting;
        self.next_round = self.delivered;
        self.reset_full_bandwidth(rs.rate);
        self.state = State::Up;
        self.raise_slope(w);
    }

    /// `UpdateProbeBWCyclePhase`.
    #[inline(always)]
    fn update_cycle(&mut self, w: &Window, rs: &Rs) {
        if self.adapt_long_term(w, rs) {
            return;
        }
        if self.state == State::Up && self.is_time_to_go_down(w, rs) {
            self.was_too_high = false;
            return self.start_down();
        }
        match self.state {
            State::Down | State::Cruise if self.marks_have_ceased() => {
                // The first round adds half the long-term bound (`bbr_ecn_reprobe_gain`).
                self.start_refill();
                let half = (self.inflight_long / self.mss / 2.0).clamp(1.0, f64::from(1u32 << 30));
                self.up_rounds = libm::ilogb(half) as u32;
            }
            State::Down | State::Cruise if self.is_time_to_probe(w) => self.start_refill(),
            State::Down => {
                let least = self.with_headroom().at_most(self.inflight(self.max_bandwidth(), 1.0));
                if rs.in_flight <= least {
                    self.start_cruise();
                }
            }
            State::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(w, rs);
            }
            _ => {}
        }
    }

    /// Linux probes again in a cycle that had marks and no loss, a round trip after the marks at the earliest
    /// (`bbr_check_time_to_probe_bw` in state Open).
    fn marks_have_ceased(&self) -> bool {
        self.recovery == Recovery::Open
            && self.echo.is_some_and(|echo| {
                echo.eligible && echo.in_cycle && !echo.loss_in_cycle && self.delivered > echo.reduced_to
            })
    }

    /// `IsTimeToProbeBW`.
    fn is_time_to_probe(&self, w: &Window) -> bool {
        let packets = (self.target_inflight(w) / self.mss).at_most(63.0);
        self.now.since(self.cycle_at) > self.wait || real(self.rounds_since_up) >= packets
    }

    /// The window was full in the last round trip, and the long-term bound is why.
    fn is_bounded(&self, w: &Window) -> bool {
        (self.window_full[0] || self.window_full[1]) && w.cwnd >= self.inflight_long
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, w: &Window, rs: &Rs) -> bool {
        if self.was_too_high && rs.in_flight >= self.inflight_long {
            self.was_precautionary = true;
            return true;
        }
        if self.is_bounded(w) {
            self.reset_full_bandwidth(rs.rate);
        }
        self.full_now
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self, w: &Window) {
        let growth = f64::from(1u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_acked_per_step = (w.cwnd / growth).max(self.mss);
    }

    /// `AdaptLongTermModel`: whether it decided on a state.
    #[inline(always)]
    fn adapt_long_term(&mut self, w: &Window, rs: &Rs) -> bool {
        if self.acks == Acks::ProbeStarting && self.round_start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.round_start {
            self.probe_samples = false;
            self.acks = Acks::Init;
            if self.state.probes_bandwidth() && !rs.limited && self.rates[1] > 0.0 {
                self.rates = [self.rates[1], 0.0];
            }
            if self.state.probes_bandwidth() && self.was_precautionary && !self.was_too_high {
                self.start_refill();
                return true;
            }
        }
        let in_flight = real(rs.packet.in_flight);
        let lossy = self.too_high(real(rs.sample.lost), in_flight);
        let marked = self.is_marked_too_much(rs);
        if (marked || (lossy && self.linux)) && self.probe_samples {
            (self.was_too_high, self.probe_samples) = (true, false);
            if !rs.limited {
                self.inflight_long = in_flight.max(self.target_inflight(w) * self.params.beta);
            }
            if self.state == State::Up {
                self.start_down();
                return true;
            }
        }
        if lossy || marked || self.inflight_long == f64::INFINITY {
            return false;
        }
        self.inflight_long = self.inflight_long.at_least(in_flight);
        if self.state == State::Up && self.is_bounded(w) {
            self.up_acked += rs.newly_acked;
            if self.up_acked >= self.up_acked_per_step {
                let steps = libm::floor(self.up_acked / self.up_acked_per_step);
                self.up_acked -= steps * self.up_acked_per_step;
                self.inflight_long += steps * self.mss;
            }
            if self.round_start {
                self.raise_slope(w);
            }
        }
        false
    }

    /// `UpdateMinRTT`.
    #[inline(always)]
    fn update_min_rtt(&mut self, rs: &Rs) {
        let now = rs.sample.now;
        self.probe_rtt_expired = now.since(self.probe_rtt_min_at) > self.params.probe_rtt_interval;
        if let Some(rtt) = rs.sample.rtt.map(seconds)
            && (rtt < self.probe_rtt_min || self.probe_rtt_expired)
        {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (rtt, now);
        }
        let lower =
            if self.linux { self.probe_rtt_min <= self.min_rtt } else { self.probe_rtt_min < self.min_rtt };
        if lower || now.since(self.min_rtt_at) > MIN_RTT_WINDOW {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }

    /// `CheckProbeRTT` and `HandleProbeRTT`.
    #[inline(always)]
    fn check_probe_rtt(&mut self, w: &mut Window, rs: &Rs) {
        let now = rs.sample.now;
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_window(w);
            self.probe_rtt_until = None;
            self.acks = Acks::ProbeStopping;
            self.next_round = self.delivered;
        }
        if self.state == State::ProbeRtt {
            self.own_limit.mark(rs.sample);
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(w, now);
                }
            } else if rs.in_flight <= self.probe_rtt_window() {
                self.probe_rtt_until = Some(now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.next_round = self.delivered;
            }
        }
        if rs.sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    fn end_probe_rtt(&mut self, w: &mut Window, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_min_at = now;
        w.cwnd = w.cwnd.max(self.prior_window);
        self.reset_short_term();
        if self.full {
            self.start_down();
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}

/// BBRv3's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "bbr",
    room: Room::CongestionControl,
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "BBRv3",
    example: r#"groups.users.tcp.congestion_control = "bbr""#,
    doc: "Paces around the largest delivery rate of two probing cycles. The window is a gain times the product \
          of that rate and the least round-trip time. Losses above 2 % of a round trip bound the data in \
          flight; other losses bound rate and data in flight until the next probe. Congestion marks are \
          ignored, unless ecn = true.",
    source: "draft-ietf-ccwg-bbr-06, editors' copy of 3 August 2026",
    params: Params::PARAMS,
    observables: &[
        WINDOW,
        Observable {
            name: "state",
            unit: "1",
            doc: "State: 0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5 ProbeBW_UP, \
                  6 ProbeRTT.",
        },
        Observable {
            name: "pacing_gain",
            unit: "1",
            doc: "Pacing rate over bandwidth, before the margin of 1 %.",
        },
        Observable { name: "cwnd_gain", unit: "1", doc: "Window over bandwidth-delay product." },
        Observable { name: "pacing_rate", unit: "bit/s", doc: "Pacing rate of payload." },
        Observable { name: "bandwidth", unit: "bit/s", doc: "Largest delivery rate of two cycles (max_bw)." },
        Observable {
            name: "bandwidth_shortterm",
            unit: "bit/s",
            doc: "Bound after losses (bw_shortterm); none until a loss.",
        },
        Observable { name: "min_rtt", unit: "s", doc: "Least round-trip time of ten seconds." },
        Observable {
            name: "max_inflight",
            unit: "packets",
            doc: "Data in flight that fills the path (max_inflight).",
        },
        Observable {
            name: "inflight_longterm",
            unit: "packets",
            doc: "Data in flight without much loss (inflight_longterm); none until a probe goes too high.",
        },
        Observable {
            name: "inflight_shortterm",
            unit: "packets",
            doc: "Bound after losses (inflight_shortterm); none until a loss.",
        },
        Observable {
            name: "extra_acked",
            unit: "packets",
            doc: "Largest excess of ACKs over the bandwidth (extra_acked).",
        },
        Observable { name: "alpha", unit: "1", doc: "Mean share of marked data, with ecn = true." },
    ],
    counters: &[],
    deviations: &[
        Deviation {
            what: "Gains of the ProbeBW states are those of the draft's table.",
            why: "The pseudo-code of these states sets none.",
        },
        Deviation {
            what: "Inflight() takes a bandwidth: max_bw to leave ProbeBW_DOWN, bw to leave Drain.",
            why: "The pseudo-code calls it with one and with two arguments.",
        },
        Deviation {
            what: "probe_rtt_min_delay begins as infinite, its stamp with the first segment. \
                   loss_round_delivered begins as 0, and the filter of extra_acked as 0.",
            why: "The draft gives no initial values.",
        },
        Deviation {
            what: "State for an undo is saved once for each episode of loss, until recovery ends.",
            why: "The pseudo-code saves again when recovery begins, after the loss has changed the state.",
        },
        Deviation {
            what: "A timeout leaves a window of one segment.",
            why: "The draft adds 1 to bytes in flight and means a segment; after a timeout all data counts as \
                  lost.",
        },
        Deviation {
            what: "The Reno time scale counts the target of data in flight in segments.",
            why: "The pseudo-code compares rounds with bytes.",
        },
        Deviation {
            what: "The lost prefix of InflightAtLoss is not negative.",
            why: "Where losses before the segment exceed the threshold already, the crossing lies before it.",
        },
        Deviation {
            what: "The filter of max_bw does not advance after a cycle without a sample.",
            why: "As in Linux; otherwise the estimate would become 0.",
        },
        Deviation {
            what: "In Drain only the short-term bound limits the window.",
            why: "The pseudo-code of BoundCwndForModel; the draft's table also lists the long-term bound.",
        },
        Deviation {
            what: "Startup ends after 2 % loss only in fast recovery, at the end of a round trip with six \
                   separate lost ranges.",
            why: "The draft describes CheckStartupHighLoss in prose.",
        },
        Deviation {
            what: "Form linux counts in real numbers. A probe that repairs a tail loss counts as no loss, and data \
                   held by pacing counts as in flight.",
            why: "Control and pacing are separate; rounding differs by less than a packet.",
        },
        Deviation {
            what: "With ecn = true each path counts as one that marks early.",
            why: "Linux takes this from the route.",
        },
        Deviation {
            what: "After an idle time the restart is handled when the first segment leaves.",
            why: "The draft handles it before; the rate of that segment is the last one.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;
    use proptest::prelude::*;

    use super::*;
    use crate::congestion_control::probe::Rig;

    fn bbr(sack: bool) -> Bbr {
        let values = [
            ("loss_threshold", Value::Number(0.02)),
            ("beta", Value::Number(0.7)),
            ("headroom", Value::Number(0.15)),
            ("probe_rtt_interval", Value::Number(5.0)),
        ];
        let profile = Profile { sack, ..Profile::linux() };
        Bbr::build(&Values(values.into()), &profile, 1.0).expect("they are sound")
    }

    /// Ten segments of 1000 bytes to begin with. Without a stream a wait takes 2.5 s and one round.
    fn rig() -> Rig<Bbr> {
        Rig::new(bbr(true))
    }

    /// In ProbeBW_DOWN at a million bytes/s and 40 ms, with 60 000 bytes in flight.
    fn down() -> Rig<Bbr> {
        let mut rig = rig();
        for _ in 0..4 {
            rig.round(1e6, 40, 60_000);
        }
        assert_eq!(rig.cc.state, State::Drain);
        for _ in 0..4 {
            rig.round(1e6, 40, 60_000);
        }
        assert_eq!(rig.cc.state, State::Down);
        rig
    }

    /// In ProbeBW_UP, with samples of the probe.
    fn up() -> Rig<Bbr> {
        let mut rig = down();
        rig.round(1e6, 40, 40_000);
        assert_eq!(rig.cc.state, State::Cruise);
        while rig.cc.state == State::Cruise {
            rig.round(1e6, 40, 40_000);
        }
        assert_eq!(rig.cc.state, State::Refill);
        rig.round(1e6, 40, 40_000);
        assert_eq!(rig.cc.state, State::Up);
        rig
    }

    /// Form linux, with marks.
    fn linux() -> Rig<Bbr> {
        let values = [
            ("loss_threshold", Value::Number(0.02)),
            ("beta", Value::Number(0.7)),
            ("headroom", Value::Number(0.15)),
            ("probe_rtt_interval", Value::Number(5.0)),
            ("form", Value::Word("linux".into())),
            ("ecn", Value::Flag(true)),
        ];
        Rig::new(Bbr::build(&Values(values.into()), &Profile::linux(), 1.0).expect("they are sound"))
    }

    /// Gains in 1/256; Drain lasts until the queue is gone; bursts are larger on short paths.
    #[test]
    fn form_linux_has_gains_drain_and_bursts_of_the_kernel() {
        let mut rig = linux();
        let first =
            rig.cc.pacing_rate(&rig.w, &Path { smoothed: Some(Duration::from_millis(40)), least: None });
        assert!(close(first.unwrap(), 710.0 / 256.0 * 0.99 * 250_000.0));
        for _ in 0..4 {
            rig.round(1e6, 40, 60_000);
        }
        assert_eq!((rig.cc.state, rig.cc.gains()), (State::Drain, (88.0 / 256.0, 2.0)));
        for _ in 0..8 {
            rig.round(1e6, 40, 60_000);
        }
        assert_eq!(rig.cc.state, State::Drain);
        rig.round(1e6, 40, 40_000);
        assert_eq!(rig.cc.state, State::Cruise, "Down is over at once");
        // 9.9e6 B/s / 1024 are 9668 bytes; below 512 µs 64 KiB more, at 1.2 ms a quarter of that.
        rig.cc.bandwidth = 1e7;
        for (min_rtt, segments) in [(0.04, 9.0), (1.2e-3, 26.0), (0.4e-3, 65.0)] {
            rig.cc.min_rtt = min_rtt;
            rig.cc.set_rate(&Path::default(), rig.cc.gains().0);
            assert_eq!(rig.cc.quantum / 1000.0, segments, "{min_rtt}");
        }
        rig.cc.state = State::Down;
        assert_eq!(rig.cc.gains(), (232.0 / 256.0, 2.0));
    }

    /// Two rounds with half of the data marked end Startup. Only a short path counts marks.
    #[test]
    fn marks_end_startup_on_a_short_path() {
        for (rtt, ends) in [(4, true), (40, false)] {
            let mut rig = linux();
            let mut rate = 1e6;
            rig.round(rate, rtt, 10_000); // the first sample sets the least round trip
            for _ in 0..3 {
                rate *= 1.5;
                rig.marks = (rate * rtt as f64 / 1e6) as u32;
                rig.round(rate, rtt, 10_000);
            }
            assert_eq!(rig.cc.full, ends, "{rtt}");
        }
    }

    /// Alpha moves by a sixteenth a round. A round with marks cuts the short-term bound by a third of alpha, and a
    /// probe with more than half of its data marked goes too high.
    #[test]
    fn marks_cut_the_data_in_flight() {
        let mut rig = linux();
        for _ in 0..4 {
            rig.round(1e6, 4, 6000);
        }
        while rig.cc.state != State::Cruise {
            rig.round(1e6, 4, 3000);
        }
        let alpha = rig.cc.echo.unwrap().alpha;
        rig.marks = 1;
        rig.round(1e6, 4, 4000);
        let echo = rig.cc.echo.unwrap();
        assert!(close(echo.alpha, alpha + (0.25 - alpha) / 16.0), "one of four segments");
        let cut = 1.0 - echo.alpha / 3.0;
        assert!(rig.cc.inflight_short.is_finite() && cut < 1.0);
        rig.cc.state = State::Up;
        (rig.cc.probe_samples, rig.cc.was_too_high) = (true, false);
        rig.marks = 3;
        rig.round(1e6, 4, 4000);
        assert!(rig.cc.was_too_high && rig.cc.state == State::Down);
        assert!(rig.cc.inflight_long.is_finite());
    }

    /// While marks go on, the state of the kernel is CWR: no probe. It follows a round trip after the last
    /// mark.
    #[test]
    fn a_probe_follows_where_marks_have_ceased() {
        let mut rig = linux();
        for _ in 0..4 {
            rig.round(1e6, 4, 6000);
        }
        while rig.cc.state != State::Cruise {
            rig.round(1e6, 4, 3000);
        }
        rig.cc.rounds_since_up = 0;
        rig.cc.wait = Duration::from_millis(10_000);
        rig.marks = 1;
        for _ in 0..3 {
            rig.round(1e6, 4, 4000);
            rig.cc.rounds_since_up = 0;
            assert_eq!(rig.cc.state, State::Cruise);
        }
        rig.marks = 0;
        rig.round(1e6, 4, 4000);
        assert_eq!(rig.cc.state, State::Cruise, "data of the marked round is in flight");
        rig.round(1e6, 4, 4000);
        assert_eq!(rig.cc.state, State::Refill);
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    #[test]
    fn losses_cross_the_threshold_within_a_segment() {
        // 2 % of 100 000 B are 2000; 1000 are lost already: (2000 - 1000) / 0.98 more.
        assert!(close(inflight_at_loss(110_000.0, 11_000.0, 10_000.0, 0.02), 100_000.0 + 1000.0 / 0.98));
        // More than that is lost already.
        assert_eq!(inflight_at_loss(110_000.0, 13_000.0, 10_000.0, 0.02), 100_000.0);
        assert_eq!(short_term(100.0, 80.0, 0.7), 80.0);
        assert_eq!(short_term(100.0, 60.0, 0.7), 70.0);
    }

    #[test]
    fn gains_are_those_of_the_table() {
        let states = [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up];
        let gains = states.map(State::gains);
        assert_eq!(gains, [(2.77, 2.0), (0.5, 2.0), (0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.25)]);
        assert_eq!(State::ProbeRtt.gains(), (1.0, 0.5));
    }

    #[test]
    fn the_first_rate_is_that_of_the_initial_window() {
        let rig = rig();
        let rate = |smoothed| rig.cc.pacing_rate(&rig.w, &Path { smoothed, least: None }).expect("it paces");
        assert!(close(rate(Some(Duration::from_millis(40))), 2.77 * 250_000.0));
        assert!(close(rate(None), 2.77e7));
    }

    /// The rate has a margin of 1 %; a burst is a millisecond of it, two segments to 64 KiB.
    #[test]
    fn bursts_take_a_millisecond_of_the_rate() {
        let mut rig = down();
        for (bandwidth, rate, quantum) in
            [(1e6, 0.891e6, 2000.0), (1e7, 8.91e6, 8910.0), (1e9, 8.91e8, 65_536.0)]
        {
            rig.cc.bandwidth = bandwidth;
            rig.cc.set_rate(&Path::default(), rig.cc.gains().0);
            assert!(close(rig.cc.rate.unwrap(), rate) && close(rig.cc.quantum, quantum), "{bandwidth}");
        }
    }

    #[test]
    fn data_in_flight_has_three_bursts_and_four_segments_at_least() {
        let mut rig = down();
        assert!(close(rig.cc.inflight(1e6, 2.0), 80_000.0));
        assert_eq!(rig.cc.inflight(1e4, 1.0), 6000.0);
        rig.cc.quantum = 1000.0;
        assert_eq!(rig.cc.inflight(1e4, 1.0), 4000.0);
        rig.cc.state = State::Up;
        assert_eq!(rig.cc.inflight(1e4, 1.0), 6000.0);
    }

    #[test]
    fn startup_ends_after_three_rounds_without_a_quarter_more() {
        let mut rig = rig();
        for rate in [1e6, 1.25e6, 1.5e6, 1.55e6] {
            rig.round(rate, 40, 100_000);
        }
        for _ in 0..20 {
            rig.ack(1.5e6, 40, 100_000); // of one round
        }
        assert_eq!((rig.cc.state, rig.cc.full_rounds), (State::Startup, 2));
        rig.round(1.5e6, 40, 100_000);
        assert_eq!((rig.cc.state, rig.cc.full, rig.cc.full_now), (State::Drain, true, true));
    }

    #[test]
    fn application_limited_rounds_do_not_end_startup_and_only_raise_the_bandwidth() {
        let mut rig = rig();
        rig.round(1e6, 40, 10_000);
        rig.limited = true;
        for _ in 0..50 {
            rig.round(2e5, 40, 10_000);
        }
        assert_eq!((rig.cc.state, rig.cc.max_bandwidth()), (State::Startup, 1e6));
        rig.round(1.5e6, 40, 10_000);
        assert_eq!(rig.cc.max_bandwidth(), 1.5e6);
    }

    /// Six ranges of 1000 bytes in a round of 60 000 in fast recovery: more than 2 %.
    /// Appendix of the draft: without loss, application-limited rounds do not end a probe, however many.
    #[test]
    fn application_limited_rounds_do_not_end_a_probe() {
        let mut rig = up();
        rig.limited = true;
        for _ in 0..60 {
            rig.round(1e6, 40, 20_000);
            assert_eq!(rig.cc.state, State::Up);
        }
        rig.limited = false;
        for _ in 0..4 {
            rig.round(1e6, 40, 20_000);
        }
        assert_ne!(rig.cc.state, State::Up);
    }

    #[test]
    fn startup_ends_after_much_loss_even_when_application_limited() {
        for (ranges, ends) in [(5, false), (6, true)] {
            let mut rig = rig();
            rig.limited = true;
            rig.round(1e6, 40, 60_000);
            for _ in 0..ranges {
                rig.lose(1000);
            }
            rig.ack(1e6, 40, 60_000);
            rig.state(Recovery::Recovery);
            rig.round(1e6, 40, 60_000);
            assert_eq!((rig.cc.state == State::Drain, rig.cc.full), (ends, ends));
            assert_eq!(rig.cc.inflight_long.is_finite(), ends);
        }
        let mut rig = Rig::new(bbr(false));
        rig.round(1e6, 40, 60_000);
        rig.state(Recovery::Recovery);
        rig.lose(1000);
        rig.ack(1e6, 40, 60_000);
        assert_eq!(rig.cc.state, State::Drain, "without SACK one loss is enough");
    }

    #[test]
    fn drain_ends_after_three_rounds_of_too_much_in_flight() {
        let mut rig = rig();
        for _ in 0..4 {
            rig.round(1e6, 40, 60_000);
        }
        for _ in 0..3 {
            rig.round(1e6, 40, 60_000);
            assert_eq!(rig.cc.state, State::Drain);
        }
        rig.round(1e6, 40, 60_000);
        assert_eq!(rig.cc.state, State::Down);
    }

    #[test]
    fn down_ends_with_the_product_and_headroom_in_flight_or_with_the_wait() {
        let mut rig = down();
        rig.cc.rounds_since_up = 0;
        rig.ack(1e6, 40, 41_000);
        assert_eq!(rig.cc.state, State::Down);
        rig.cc.inflight_long = 40_000.0;
        rig.ack(1e6, 40, 39_000);
        assert_eq!(rig.cc.state, State::Down, "34 000 with headroom");
        rig.cc.inflight_long = 40_000.0;
        rig.ack(1e6, 40, 34_000);
        assert_eq!(rig.cc.state, State::Cruise);
        let mut rig = down();
        let began = rig.now;
        while rig.cc.state == State::Down {
            rig.round(1e6, 40, 60_000);
        }
        assert_eq!(rig.cc.state, State::Refill);
        // The Reno time scale comes first: 40 packets are 40 rounds, one of them counted.
        assert_eq!(rig.now.since(began), Duration::from_millis(39 * 40));
    }

    #[test]
    fn the_reno_time_scale_has_63_rounds_at_most_and_then_the_clock_decides() {
        let mut rig = down();
        rig.w.cwnd = 1e6;
        rig.cc.bandwidth = 1e7;
        rig.cc.rounds_since_up = 62;
        assert!(!rig.cc.is_time_to_probe(&rig.w));
        rig.cc.rounds_since_up = 63;
        assert!(rig.cc.is_time_to_probe(&rig.w));
        rig.cc.rounds_since_up = 0;
        rig.cc.now = rig.cc.cycle_at + Duration::from_millis(2500);
        assert!(!rig.cc.is_time_to_probe(&rig.w));
        rig.cc.now += Duration(1);
        assert!(rig.cc.is_time_to_probe(&rig.w));
    }

    #[test]
    fn up_ends_after_three_rounds_without_growth() {
        let mut rig = up();
        for _ in 0..2 {
            rig.round(1e6, 40, 50_000);
            assert_eq!(rig.cc.state, State::Up);
        }
        rig.round(1e6, 40, 50_000);
        assert_eq!((rig.cc.state, rig.cc.was_too_high), (State::Down, false));
        assert!(rig.cc.inflight_long.is_infinite());
    }

    #[test]
    fn a_lossy_probe_sets_the_long_term_bound_and_ends_once() {
        let mut rig = up();
        rig.w.cwnd = 90_000.0;
        rig.lose_of(1000, 50_000); // exactly 2 %: not above
        assert_eq!(rig.cc.state, State::Up);
        rig.lose_of(1000, 50_000);
        assert_eq!((rig.cc.state, rig.cc.was_too_high), (State::Down, true));
        // Before it 49 000 B were in flight and 1000 lost: 2 % of 49 000 less 1000 is negative.
        assert_eq!(rig.cc.inflight_long, 49_000.0);
        rig.lose_of(1000, 20_000);
        assert_eq!(rig.cc.inflight_long, 49_000.0, "once for each probe");
        // No less than 0.7 of the product.
        let mut rig = up();
        rig.w.cwnd = 90_000.0;
        rig.lose_of(5000, 10_000);
        assert!(close(rig.cc.inflight_long, 28_000.0));
        // An application-limited loss ends the probe only.
        let mut rig = up();
        rig.limited = true;
        rig.lose_of(5000, 10_000);
        assert_eq!(rig.cc.state, State::Down);
        assert!(rig.cc.inflight_long.is_infinite());
    }

    #[test]
    fn a_probe_after_a_lossy_one_stops_at_the_bound_and_a_clean_one_follows_at_once() {
        let mut rig = up();
        rig.lose_of(5000, 50_000);
        let bound = rig.cc.inflight_long;
        assert_eq!(rig.cc.state, State::Down);
        while rig.cc.state != State::Up {
            rig.round(1e6, 40, 20_000);
        }
        assert!(rig.cc.was_too_high);
        rig.round(1e6, 40, bound as u64 + 1000);
        assert_eq!((rig.cc.state, rig.cc.was_precautionary, rig.cc.was_too_high), (State::Down, true, false));
        rig.round(1e6, 40, 60_000);
        assert_eq!(rig.cc.state, State::Refill);
        rig.round(1e6, 40, 60_000);
        assert_eq!((rig.cc.state, rig.cc.was_precautionary), (State::Up, false));
    }

    /// 1, 2, 4 … segments a round trip, only where the window is full at the bound.
    #[test]
    fn the_long_term_bound_doubles_its_steps_each_round() {
        let mut rig = up();
        (rig.cc.inflight_long, rig.w.cwnd) = (40_000.0, 40_000.0);
        rig.cc.raise_slope(&rig.w);
        rig.cc.up_rounds = 0;
        rig.cc.raise_slope(&rig.w);
        let mut steps = Vec::new();
        for _ in 0..4 {
            let before = rig.cc.inflight_long;
            rig.cc.up_acked = 0.0;
            rig.cc.window_full = [true, true];
            rig.w.cwnd = rig.cc.inflight_long;
            let per_step = rig.cc.up_acked_per_step;
            let acked = (rig.w.cwnd / 1000.0) as u64 + 1;
            for _ in 0..acked {
                rig.cc.window_full = [true, true];
                rig.ack(1e6, 40, 20_000);
            }
            steps.push(((rig.cc.inflight_long - before) / 1000.0) as u64);
            assert!(per_step >= 1000.0);
            rig.cc.raise_slope(&rig.w);
        }
        assert_eq!(steps, [1, 2, 4, 8]);
    }

    #[test]
    fn a_round_with_losses_outside_a_probe_sets_short_term_bounds_until_the_refill() {
        let mut rig = down();
        rig.w.cwnd = 80_000.0;
        rig.round(1e6, 40, 40_000);
        assert_eq!(rig.cc.state, State::Cruise);
        rig.lose(1000);
        assert!(rig.cc.bandwidth_short.is_infinite());
        rig.round(6e5, 40, 40_000);
        // The latest samples of the round: 600 000 B/s, or 0.7 of a million.
        assert!(rig.cc.bandwidth_short >= 0.7e6 && rig.cc.bandwidth_short <= 1e6);
        assert_eq!(rig.cc.bandwidth, rig.cc.bandwidth_short);
        let (bandwidth, in_flight) = (rig.cc.bandwidth_short, rig.cc.inflight_short);
        rig.lose(1000);
        rig.round(1e5, 40, 40_000);
        assert!(rig.cc.bandwidth_short < bandwidth && rig.cc.inflight_short < in_flight);
        assert!(rig.cc.bandwidth_short >= 0.7 * bandwidth && rig.cc.inflight_short >= 0.7 * in_flight);
        while rig.cc.state == State::Cruise {
            rig.round(1e6, 40, 20_000);
        }
        assert_eq!(rig.cc.state, State::Refill);
        assert!(rig.cc.bandwidth_short.is_infinite() && rig.cc.inflight_short.is_infinite());
    }

    #[test]
    fn the_bandwidth_is_that_of_two_cycles() {
        let mut rig = rig();
        rig.cc.rates = [1e6, 8e5];
        assert_eq!(rig.cc.max_bandwidth(), 1e6);
        let mut rig = up();
        while rig.cc.state == State::Up {
            rig.round(1e6, 40, 60_000);
        }
        rig.cc.rates = [2e6, 1e6];
        rig.round(1e6, 40, 60_000); // the round after the probe ends
        assert_eq!(rig.cc.max_bandwidth(), 1e6);
        assert_eq!(rig.cc.rates[1], 0.0);
    }

    #[test]
    fn probe_rtt_holds_half_the_product_for_200_ms_and_a_round() {
        let mut rig = down();
        rig.cc.wait = Duration::from_millis(60_000);
        rig.w.cwnd = 80_000.0;
        while rig.cc.state != State::ProbeRtt {
            rig.round(1e6, 40, 40_000);
        }
        assert!(rig.now > Time::from_seconds(5.0) && rig.now < Time::from_seconds(5.2));
        assert!(close(rig.w.cwnd, 20_000.0));
        rig.round(1e6, 40, 20_000);
        let low = rig.now;
        while rig.cc.state == State::ProbeRtt {
            rig.round(1e5, 40, 20_000);
        }
        let held = rig.now.since(low);
        assert!(held > PROBE_RTT_TIME && held < Duration::from_millis(300), "{held:?}");
        assert_eq!(rig.cc.state, State::Cruise);
        assert!(rig.w.cwnd > 70_000.0);
    }

    #[test]
    fn an_idle_time_takes_the_place_of_probe_rtt() {
        let mut rig = down();
        rig.take(crate::congestion_control::probe::Step::Idle(6000));
        rig.round(1e6, 40, 10_000);
        assert!(rig.cc.state != State::ProbeRtt);
    }

    #[test]
    fn probe_rtt_during_startup_returns_to_startup() {
        let mut rig = rig();
        rig.limited = true;
        while rig.cc.state != State::ProbeRtt {
            rig.round(1e5, 40, 10_000);
        }
        while rig.cc.state == State::ProbeRtt {
            rig.round(1e5, 40, 4000);
        }
        assert_eq!(rig.cc.state, State::Startup);
    }

    #[test]
    fn a_timeout_leaves_a_segment_and_recovery_restores_the_window() {
        let mut rig = down();
        rig.w.cwnd = 60_000.0;
        rig.timeout();
        assert_eq!(rig.w.cwnd, 1000.0);
        rig.ack(1e6, 40, 1000);
        assert_eq!(rig.w.cwnd, 4000.0);
        rig.state(Recovery::Open);
        assert_eq!(rig.w.cwnd, 60_000.0);
    }

    #[test]
    fn a_spurious_loss_restores_state_and_bounds() {
        let spurious = Spurious {
            before: Window { cwnd: 0.0, ssthresh: 0.0 },
            to: crate::profile::UndoTo::Before,
            mss: 1000.0,
        };
        let mut rig = up();
        rig.w.cwnd = 90_000.0;
        rig.lose_of(5000, 50_000);
        rig.state(Recovery::Recovery);
        assert_eq!(rig.cc.state, State::Down);
        rig.cc.on_spurious_loss(&mut rig.w, &spurious);
        assert_eq!(rig.cc.state, State::Refill);
        assert!(rig.cc.inflight_long.is_infinite());
        // And of Startup.
        let mut rig = Rig::new(bbr(false));
        rig.round(1e6, 40, 60_000);
        rig.lose(1000);
        rig.state(Recovery::Recovery);
        rig.lose(1000);
        rig.ack(1e6, 40, 60_000);
        assert_eq!(rig.cc.state, State::Drain);
        rig.cc.on_spurious_loss(&mut rig.w, &spurious);
        assert_eq!((rig.cc.state, rig.cc.full), (State::Startup, false));
    }

    #[test]
    fn extra_acks_are_those_beyond_the_bandwidth() {
        let mut rig = down();
        let before = rig.cc.extra_acked.value();
        (rig.cc.extra_since, rig.cc.extra_delivered) = (rig.now, 1.0);
        for _ in 0..30 {
            rig.ack(1e6, 40, 40_000); // 30 000 B in no time
        }
        assert!(rig.cc.extra_acked.value() >= 30_000.0 && before < 60_001.0);
        assert!(rig.cc.max_inflight >= 110_000.0);
    }

    proptest! {
        #![proptest_config(crate::congestion_control::probe::config())]

        #[test]
        fn rate_and_window_are_sound_whatever_happens(steps in crate::congestion_control::probe::steps(), sack in any::<bool>()) {
            let mut rig = Rig::new(bbr(sack));
            for step in steps {
                let before = rig.cc.max_bandwidth();
                rig.take(step);
                let w = rig.w.cwnd;
                let least = if rig.cc.is_recovering() { 1000.0 } else { 4000.0 };
                prop_assert!(w.is_finite() && w >= least, "{w} {step:?}");
                let rate = rig.cc.pacing_rate(&rig.w, &Path::default()).expect("it paces");
                prop_assert!(rate > 0.0 && rate.is_finite());
                prop_assert!((2000.0..=65_536.0).contains(&rig.cc.quantum));
                prop_assert!(rig.cc.bandwidth <= rig.cc.max_bandwidth().max(before));
                prop_assert!(!rig.limited || rig.cc.max_bandwidth() >= before);
                prop_assert!(rig.cc.inflight_long > 0.0 && rig.cc.inflight_short > 0.0);
                let bounds = [State::Down, State::Refill, State::Up].contains(&rig.cc.state);
                let just_acked = matches!(step, crate::congestion_control::probe::Step::Ack(..));
                prop_assert!(!bounds || !just_acked || w <= rig.cc.inflight_long.max(4000.0));
                prop_assert!(matches!(rig.cc.state, State::Startup | State::ProbeRtt) || rig.cc.full);
            }
        }
    }
}
