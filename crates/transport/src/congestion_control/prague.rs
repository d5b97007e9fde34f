//! TCP Prague: DCTCP's response to marks, paced, with a growth that does not depend on short round trips.
//!
//! The rules are those of the Linux implementation, versions 0.7 and 0.6; the IETF draft
//! (draft-briscoe-iccrg-prague-congestion-control-04) has expired. The window W is a fraction of packets. The
//! sender's window follows it, one packet per ACK.

use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Values};
use evenflow_base::units::NANOS;
use evenflow_base::{Duration, Time};

use crate::Profile;
use crate::profile::{Ecn, Ect};

use super::dctcp::{average, left};
use super::{
    Acked, Congestion, Control, Needs, Path, Proposal, Recovery, Registered, Spurious, WINDOW, Window,
};

/// Packets that W grows by in a round trip of `rtt`: those that make the growth of the rate independent of
/// round trips below `virtual_rtt`.
#[inline]
pub fn increase(rtt: f64, virtual_rtt: f64) -> f64 {
    let ratio = rtt / virtual_rtt;
    if ratio < 1.0 { ratio * ratio } else { 1.0 }
}

/// Longest burst, seconds at the pacing rate.
const BURST: f64 = 1.0 / 4096.0;

/// The low-rate mode begins at this window, bytes.
const LOW_WINDOW: f64 = 6000.0;

/// Its least rate, bytes/s: 100 kbit/s.
const LEAST_RATE: f64 = 12_500.0;

/// Its dither: the rate is above the mean for half a virtual round trip, then below.
const DITHER: f64 = 0.03;

/// Mean deviation of the round trip at which the score of a classic queue does not move, seconds.
const DEVIATION: f64 = 750e-6;

/// Queueing delay above which the score rises, seconds.
const DEPTH: f64 = 2e-3;

/// Score below which the queue counts as L4S, and most.
const L4S: f64 = 8.0;
const MOST: f64 = 17.0;

/// Least alpha behind a classic queue: the window falls to 69 %.
const CLASSIC_ALPHA: f64 = 0.625;

/// Detection of a single queue with classic ECN by the variation and the depth of the queue (RFC 9331
/// appendix A.3).
#[derive(Clone, Copy, Debug)]
struct Classic {
    /// Slow means of the round trip and of its deviation, and the least round trip, seconds; 0 before the
    /// first.
    mean: f64,
    deviation: f64,
    least: f64,
    /// Weight of a sample in `mean`, twice that in `deviation`.
    weight: f64,
    /// 0 to 8 L4S, 9 and more classic.
    score: f64,
}

impl Classic {
    const NEW: Classic =
        Classic { mean: 0.0, deviation: 1e-6, least: f64::INFINITY, weight: 1.0 / 262_144.0, score: 0.0 };

    fn sample(&mut self, rtt: f64) {
        self.least = self.least.min(rtt);
        if self.mean == 0.0 {
            self.mean = rtt;
            return;
        }
        let error = rtt - self.mean;
        self.mean += error * self.weight;
        self.deviation += (error.abs() - self.deviation) * self.weight / 2.0;
    }

    /// The means reach over 2 W^1.5 samples, W in packets rounded down to a power of two.
    fn scale(&mut self, packets: f64) {
        let log = libm::floor(libm::log2(packets.max(1.0)));
        self.weight = libm::exp2(-(log + libm::floor(log / 2.0) + 1.0).min(18.0));
    }

    /// One more round.
    fn update(&mut self) {
        let log = |value: f64, reference: f64| 0.5 * libm::log2(value / reference);
        let depth = (self.mean - self.least).max(1e-6);
        let change = log(self.deviation.max(1e-6), DEVIATION) + log(depth, DEPTH).max(0.0);
        self.score = (self.score + change).clamp(0.0, MOST);
    }

    /// Least alpha of a reduction.
    fn alpha(&self) -> f64 {
        CLASSIC_ALPHA * (self.score - L4S).clamp(0.0, 1.0)
    }
}

/// TCP Prague.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    gain: f64,
    virtual_rtt: f64,
    low_rate: bool,
    /// Detects a queue with classic ECN.
    classic: Option<Classic>,
    /// The last ACK.
    now: Time,
    /// Rounds after slow start without scaling by round trips.
    plain_rounds: u32,
    /// Mean share of marked bytes.
    alpha: f64,
    /// W, bytes.
    window: f64,
    /// Smoothed round trip, seconds; 0 before the first sample.
    srtt: f64,
    /// A mark has arrived.
    marked: bool,
    /// Loss recovery sets the window.
    in_loss: bool,
    /// Acknowledged and marked bytes since the last update of alpha.
    counted: (f64, f64),
    /// Alpha changes when data beyond this is acknowledged, and a virtual round trip is over.
    end: u64,
    updated: Time,
    /// The last reduction by a mark.
    cut: Option<Time>,
    /// The current round ends with this byte; rounds since slow start.
    round: (u64, u32),
}

impl Registered for Prague {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, _: &Profile, _: f64) -> Result<Prague, Vec<Problem>> {
        let Given { form, gain, initial_alpha, virtual_rtt, low_rate, fallback } = Given::read(values);
        let plain_rounds = match form {
            Form::V07 => 4,
            Form::V06 => 500,
        };
        Ok(Prague {
            gain,
            virtual_rtt,
            low_rate: low_rate == Some(true),
            classic: (fallback == Some(true)).then_some(Classic::NEW),
            now: Time::ZERO,
            plain_rounds,
            alpha: initial_alpha,
            window: 0.0,
            srtt: 0.0,
            marked: false,
            in_loss: false,
            counted: (0.0, 0.0),
            end: 0,
            updated: Time::ZERO,
            cut: None,
            round: (0, 0),
        })
    }

    /// Accurate ECN, ECT(1) on every packet.
    fn adopt(profile: &mut Profile) {
        (profile.ecn, profile.ect) = (Ecn::Accurate, Ect::One);
        (profile.ecn_on_retransmissions, profile.ecn_on_control) = (true, true);
    }

    fn contradictions(_: &Values, profile: &Profile) -> Vec<String> {
        let mut wrong = Vec::new();
        if !matches!(profile.ecn, Ecn::Accurate | Ecn::PerPacket) {
            wrong.push(format!(
                "prague counts marks: it needs ecn = \"accurate\", not \"{}\"",
                profile.ecn.word()
            ));
        } else if profile.ect != Ect::One {
            wrong.push("prague is an L4S control: it needs ect = 1".into());
        }
        wrong
    }
}

impl Prague {
    /// max(srtt, 25 ms), or the round trip while it does not scale.
    fn virtual_rtt(&self) -> f64 {
        if self.round.1 < self.plain_rounds { self.srtt } else { self.srtt.max(self.virtual_rtt) }
    }

    /// The sender's window: W in whole packets, at least two.
    fn target(&self, mss: f64) -> f64 {
        libm::ceil(self.window / mss).max(2.0) * mss
    }

    fn slow_start(&self, w: &Window) -> bool {
        w.cwnd < w.ssthresh
    }

    /// Whether the rate follows W below two packets.
    fn is_low(&self) -> bool {
        self.low_rate && self.marked && self.window <= LOW_WINDOW
    }

    /// The rate in the low-rate mode.
    fn low_rate(&self, rtt: f64) -> f64 {
        let half = Duration::from_seconds(self.virtual_rtt() / 2.0);
        let above = half.0 == 0 || (self.now.0 / half.0).is_multiple_of(2);
        let dither = if above { 1.0 + DITHER } else { 1.0 - DITHER };
        (self.window / rtt * dither).max(LEAST_RATE)
    }

    /// Whether a virtual round trip is over since `from`.
    fn is_over(&self, from: Time, now: Time) -> bool {
        now >= from + Duration::from_seconds(self.virtual_rtt())
    }

    /// The share of marked bytes of the last virtual round trip enters alpha.
    fn update(&mut self, acked: &Acked) {
        if acked.una < self.end || !self.is_over(self.updated, acked.now) {
            return;
        }
        let (bytes, marked) = self.counted;
        if self.marked && bytes > 0.0 {
            self.alpha = average(self.alpha, marked / bytes, self.gain);
            if let Some(classic) = &mut self.classic {
                classic.update();
            }
        }
        (self.counted, self.end, self.updated) = ((0.0, 0.0), acked.next, acked.now);
    }

    /// A mark reduces W by alpha / 2, once in a virtual round trip; the first one by half. It ends slow start.
    fn reduce(&mut self, w: &mut Window, acked: &Acked) {
        if !self.in_loss && self.cut.is_none_or(|cut| self.is_over(cut, acked.now)) {
            if let Some(classic) = &mut self.classic {
                classic.scale(self.window / acked.mss);
            }
            let alpha = self.classic.map_or(self.alpha, |classic| self.alpha.max(classic.alpha()));
            self.window *= if self.marked { left(alpha) } else { 0.5 };
            if self.low_rate {
                self.window = self.window.max(LEAST_RATE * self.srtt);
            }
            self.cut = Some(acked.now);
        }
        self.marked = true;
        w.ssthresh = w.ssthresh.min(self.target(acked.mss));
    }
}

impl Control for Prague {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, every_mark: true, states: true, pacing: true, ..Needs::default() }
    }

    fn on_start(&mut self, w: &mut Window, _: f64) {
        self.window = w.cwnd;
    }

    fn on_ack(&mut self, w: &mut Window, acked: &Acked, _: bool) {
        self.now = acked.now;
        if let Some(rtt) = acked.rtt.map(Duration::seconds) {
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
            if let Some(classic) = &mut self.classic {
                classic.sample(rtt);
            }
        }
        let bytes = acked.bytes as f64;
        self.counted.0 += bytes;
        self.counted.1 += (f64::from(acked.marks) * acked.mss).min(bytes);
        if acked.una >= self.round.0 {
            self.round.0 = acked.next;
            self.round.1 = self.round.1.saturating_add(u32::from(w.ssthresh.is_finite()));
        }
        if acked.marks > 0 {
            self.reduce(w, acked);
        }
        self.update(acked);
        if !self.in_loss && w.cwnd > self.target(acked.mss) {
            w.cwnd = libm::ceil(w.cwnd / acked.mss - 1.0) * acked.mss;
        }
    }

    /// Slow start by each packet without a mark, then W grows by `increase` packets per round trip.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        let packets = acked.segments.saturating_sub(u64::from(acked.marks)) as f64;
        if self.slow_start(w) {
            w.cwnd += packets * acked.mss;
            self.window = w.cwnd;
            return;
        }
        let scale =
            if self.round.1 < self.plain_rounds { 1.0 } else { increase(self.srtt, self.virtual_rtt) };
        self.window += packets * scale * acked.mss * acked.mss / self.window.max(acked.mss);
        if w.cwnd < self.target(acked.mss) {
            w.cwnd = libm::floor(w.cwnd / acked.mss + 1.0) * acked.mss;
        }
    }

    /// Half of W after a loss or a timeout.
    fn ssthresh(&mut self, _: &Window, event: &Congestion) -> f64 {
        (self.window / 2.0).max(2.0 * event.mss)
    }

    fn on_state(&mut self, w: &mut Window, state: Recovery) {
        let in_loss = matches!(state, Recovery::Recovery | Recovery::Loss);
        if self.in_loss && !in_loss {
            self.window = w.cwnd;
        }
        self.in_loss = in_loss;
    }

    fn on_proposal(&mut self, w: &mut Window, proposal: &Proposal) {
        proposal.accept(w, proposal.half_threshold(w));
        self.window = w.cwnd;
    }

    fn on_spurious_loss(&mut self, w: &mut Window, spurious: &Spurious) {
        spurious.restore(w);
        self.window = w.cwnd;
    }

    /// W per round trip, twice that below half of the threshold.
    fn pacing_rate(&self, w: &Window, path: &Path) -> Option<f64> {
        let rtt = path.smoothed.filter(|rtt| rtt.0 > 0)?.0 as i64 as f64 / NANOS;
        if self.is_low() {
            return Some(self.low_rate(rtt));
        }
        let factor = if self.window < w.ssthresh / 2.0 { 2.0 } else { 1.0 };
        Some(factor * self.window.max(w.cwnd) / rtt)
    }

    /// 244 µs at the pacing rate, at least a packet.
    fn send_quantum(&self, mss: f64) -> f64 {
        if self.srtt > 0.0 { (self.window / self.srtt * BURST).max(mss) } else { mss }
    }

    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "alpha" => Some(self.alpha),
            "virtual_rtt" => Some(self.virtual_rtt()),
            "classic_score" => self.classic.map(|classic| classic.score),
            _ => None,
        }
    }
}

words! {
    /// Version of the Linux implementation.
    pub enum Form {
        /// The growth scales 4 rounds after slow start.
        V07 = "v0.7",
        /// The growth scales 500 rounds after slow start.
        V06 = "v0.6",
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Version: the growth scales with the round trip 4 rounds (v0.7) or 500 rounds (v0.6) after slow
        /// start.
        form: Form = Form::TYPE, Text("v0.7") => source: "Linux implementation of TCP Prague";
        /// Weight of a new sample in alpha.
        gain: f64 = Number, Text("0.0625"), Range::up_to(1.0) => source: "Linux implementation of TCP Prague";
        /// Alpha at the first mark, which halves the window.
        initial_alpha: f64 = Number, Text("0"), Range::between(0.0, 1.0)
            => source: "Linux implementation of TCP Prague, modes 0 and 1";
        /// Round trip whose growth flows with shorter ones have.
        virtual_rtt: f64 = Duration, Text("25 ms"), Range::POSITIVE
            => source: "Linux implementation of TCP Prague";
        /// Below a window of 6000 bytes, pace at W per round trip even if W is less than two packets, down to
        /// 100 kbit/s.
        low_rate: Option<bool> = Flag, Absent("false") => source: "Linux implementation of TCP Prague, cwnd_mode 2";
        /// Detect a single queue with classic ECN by the variation and depth of the queueing delay. Behind
        /// one, a mark takes up to 31 % of the window.
        fallback: Option<bool> = Flag, Absent("false")
            => source: "RFC 9331 section 4.3; Linux implementation of TCP Prague v0.6, prague_ecn_fallback 1";
    }
}

/// TCP Prague's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "prague",
    room: Room::CongestionControl,
    traits: Mechanism::PLAIN,
    title: "TCP Prague",
    example: r#"[groups.users.tcp]
congestion_control = "prague""#,
    doc: "L4S control: the share of marked bytes sets the decrease, as in DCTCP. It paces its packets and grows \
          at the rate of a 25 ms round trip where the round trip is shorter. By default ecn = \"accurate\", \
          ect = 1, and all packets are ECN-capable.",
    source: "draft-briscoe-iccrg-prague-congestion-control-04; Linux implementation v0.7",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable { name: "alpha", unit: "1", doc: "Moving average of the share of marked bytes." },
        Observable {
            name: "virtual_rtt",
            unit: "s",
            doc: "Virtual round-trip time: srtt, and max(srtt, 25 ms) from 4 rounds after slow start.",
        },
        Observable {
            name: "classic_score",
            unit: "1",
            doc: "Score of a queue with classic ECN, where fallback is on: up to 8 none, from 9 on one.",
        },
    ],
    counters: &[],
    deviations: &[
        Deviation {
            what: "Marked bytes are marked packets times a full segment; the AccECN option is not used.",
            why: "The feedback counts packets.",
        },
        Deviation {
            what: "W grows by at most one packet per unmarked packet.",
            why: "The rule divides by W, which many marks bring close to 0: then one ACK would add thousands of \
                  packets.",
        },
        Deviation {
            what: "low_rate keeps full packets, and dithers at ACKs only.",
            why: "Linux shrinks packets until two fit in 25 ms; segments of a sender have one size.",
        },
        Deviation {
            what: "fallback works with every form, in real numbers. The window sets the gain of its means, not ssthresh. \
                   The least round trip is the connection's.",
            why: "Only v0.6 has it, with integer logarithms that carry their remainders. ssthresh seldom rises here. \
                  Linux keeps the least round trip of 300 s.",
        },
        Deviation {
            what: "In loss recovery the profile's recovery sets the window, and a loss leaves two packets or more.",
            why: "Recovery is the profile's for every control. Linux moves the window by one packet per ACK here too.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;

    use super::super::Signal;
    use super::*;

    const MSS: f64 = 1000.0;

    fn prague(form: &str) -> Prague {
        let values = [
            ("form", Value::Word(form.into())),
            ("gain", Value::Number(0.0625)),
            ("initial_alpha", Value::Number(0.0)),
            ("virtual_rtt", Value::Number(0.025)),
        ];
        Prague::build(&Values(values.into()), &Profile::rfc(), 1.0).expect("they are sound")
    }

    fn ack(ms: u64, una: u64, next: u64, segments: u64, marks: u32) -> Acked {
        Acked {
            now: Time(ms * 1_000_000),
            una: una * 1000,
            next: next * 1000,
            bytes: segments * 1000,
            segments,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: Some(Duration(10_000_000)),
            one_way: None,
            marks,
        }
    }

    fn both(cc: &mut Prague, w: &mut Window, acked: &Acked) {
        cc.on_ack(w, acked, true);
        cc.grow(w, acked);
    }

    #[test]
    fn growth_per_round_is_the_square_of_the_ratio_of_round_trips() {
        assert_eq!(increase(0.125, 0.25), 0.25);
        assert_eq!(increase(0.025, 0.025), 1.0);
        assert_eq!(increase(0.1, 0.025), 1.0);
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut cc = prague("v0.7");
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
        cc.on_start(&mut w, MSS);
        both(&mut cc, &mut w, &ack(10, 2, 12, 2, 0));
        assert_eq!(w.cwnd, 12.0 * MSS);
        both(&mut cc, &mut w, &ack(11, 4, 14, 2, 1));
        // W is 6 and a sixth of the unmarked packet; the sender's window comes down one packet per ACK.
        assert_eq!((w.ssthresh, w.cwnd), (6.0 * MSS, 11.0 * MSS));
        assert_eq!(cc.window, 6.0 * MSS + MSS / 6.0);
        assert_eq!(cc.alpha, 0.0);
        // A second mark within the round trip changes nothing.
        cc.on_ack(&mut w, &ack(12, 6, 16, 2, 2), true);
        assert_eq!((cc.window, w.cwnd), (6.0 * MSS + MSS / 6.0, 10.0 * MSS));
    }

    #[test]
    fn alpha_follows_the_marks_once_in_a_virtual_round_trip() {
        let mut cc = prague("v0.7");
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 5.0 * MSS };
        cc.on_start(&mut w, MSS);
        (cc.marked, cc.round, cc.end, cc.updated) = (true, (1_000, 4), 2_000, Time(1));
        (cc.srtt, cc.alpha) = (0.010, 0.5);
        cc.on_ack(&mut w, &ack(10, 4, 14, 4, 1), true);
        assert_eq!(cc.alpha, 0.5, "a round trip is over, but not 25 ms");
        cc.on_ack(&mut w, &ack(26, 8, 18, 4, 1), true);
        assert_eq!(cc.alpha, average(0.5, 2.0 / 8.0, 0.0625));
        cc.on_ack(&mut w, &ack(60, 12, 22, 4, 4), true);
        assert_eq!(cc.alpha, average(0.5, 2.0 / 8.0, 0.0625), "25 ms are over, but not the round trip");
    }

    /// Low-rate mode: half a packet in 10 ms is 50 000 B/s, 3 % more and 3 % less in turn, and not below 12 500 B/s.
    #[test]
    fn the_rate_follows_a_window_below_two_packets() {
        let mut cc = prague("v0.7");
        let w = Window { cwnd: 2.0 * MSS, ssthresh: MSS };
        (cc.marked, cc.round, cc.srtt, cc.window) = (true, (0, 4), 0.010, 0.5 * MSS);
        let path = Path { smoothed: Some(Duration::from_millis(10)), least: None };
        assert_eq!(cc.pacing_rate(&w, &path), Some(200_000.0));
        cc.low_rate = true;
        for (ms, rate) in [(0, 51_500.0), (12, 51_500.0), (13, 48_500.0), (24, 48_500.0), (25, 51_500.0)] {
            cc.now = Time(ms * 1_000_000);
            assert!((cc.pacing_rate(&w, &path).unwrap() - rate).abs() < 1e-6, "{ms}");
        }
        cc.window = 100.0;
        assert_eq!(cc.pacing_rate(&w, &path), Some(12_500.0));
        (cc.window, cc.alpha) = (130.0, 1.0);
        cc.reduce(&mut w.clone(), &ack(100, 1, 3, 1, 1));
        assert_eq!(cc.window, 125.0);
        // Above 6000 bytes and before the first mark the mode is off.
        cc.window = 6001.0;
        assert_eq!(cc.pacing_rate(&w, &path), Some(600_100.0));
        (cc.window, cc.marked) = (500.0, false);
        assert_eq!(cc.pacing_rate(&w, &path), Some(200_000.0));
    }

    #[test]
    fn a_mark_takes_half_of_alpha_once_in_a_virtual_round_trip() {
        let mut cc = prague("v0.7");
        let mut w = Window { cwnd: 40.0 * MSS, ssthresh: 20.0 * MSS };
        cc.on_start(&mut w, MSS);
        (cc.marked, cc.round, cc.end, cc.srtt, cc.alpha) = (true, (u64::MAX, 4), u64::MAX, 0.010, 0.25);
        cc.on_ack(&mut w, &ack(100, 1, 41, 1, 1), true);
        assert_eq!(cc.window, 35.0 * MSS);
        cc.on_ack(&mut w, &ack(124, 2, 42, 1, 1), true);
        assert_eq!(cc.window, 35.0 * MSS);
        cc.on_ack(&mut w, &ack(125, 3, 43, 1, 1), true);
        assert_eq!(cc.window, 35.0 * MSS * 0.875);
    }

    /// Linux v0.6 with V0 = 750 us and D0 = 2 ms: a round adds half of lg(deviation / V0), and half of
    /// lg(depth / D0) where that is positive.
    #[test]
    fn a_deep_and_restless_queue_counts_as_classic() {
        let mut classic = Classic { mean: 0.012, least: 0.010, deviation: 3e-3, ..Classic::NEW };
        classic.update();
        assert_eq!(classic.score, 1.0, "half of lg 4, and 2 ms of queue");
        classic.mean = 0.026;
        classic.update();
        assert!((classic.score - 3.5).abs() < 1e-12, "and half of lg 8");
        for _ in 0..10 {
            classic.update();
        }
        assert_eq!((classic.score, classic.alpha()), (17.0, 0.625));
        // A shallow and calm queue: half of lg 1/4, whatever the depth.
        (classic.deviation, classic.mean) = (187.5e-6, 0.0105);
        for round in 1..=8 {
            classic.update();
            assert_eq!(classic.score, 17.0 - f64::from(round));
        }
        assert_eq!(classic.alpha(), 0.625, "9");
        classic.score = 8.4;
        assert!((classic.alpha() - 0.25).abs() < 1e-12);
        for _ in 0..20 {
            classic.update();
        }
        assert_eq!((classic.score, classic.alpha()), (0.0, 0.0));
    }

    /// The gain is 2^-(s + s/2 + 1) with s = floor(lg W), and half of that for the deviation.
    #[test]
    fn the_means_of_the_detection_reach_further_with_the_window() {
        let mut classic = Classic::NEW;
        for (packets, shift) in [(1.0, 1.0), (3.9, 2.0), (40.0, 8.0), (100.0, 10.0), (1e6, 18.0)] {
            classic.scale(packets);
            assert_eq!(classic.weight, libm::exp2(-shift), "{packets}");
        }
        classic.sample(0.010);
        assert_eq!((classic.mean, classic.deviation, classic.least), (0.010, 1e-6, 0.010));
        classic.weight = 0.25;
        classic.sample(0.014);
        assert!((classic.mean - 0.011).abs() < 1e-15);
        assert!((classic.deviation - (1e-6 + (0.004 - 1e-6) / 8.0)).abs() < 1e-15);
    }

    #[test]
    fn behind_a_classic_queue_a_mark_takes_up_to_a_third() {
        for (score, left) in [(0.0, 0.9375), (8.0, 0.9375), (8.5, 0.84375), (9.0, 0.6875), (17.0, 0.6875)] {
            let mut cc = prague("v0.7");
            let mut w = Window { cwnd: 40.0 * MSS, ssthresh: 20.0 * MSS };
            cc.on_start(&mut w, MSS);
            (cc.marked, cc.round, cc.end, cc.srtt, cc.alpha) = (true, (u64::MAX, 4), u64::MAX, 0.010, 0.125);
            cc.classic = Some(Classic { score, ..Classic::NEW });
            cc.reduce(&mut w, &ack(100, 1, 41, 1, 1));
            assert_eq!(cc.window, 40.0 * MSS * left, "{score}");
        }
    }

    #[test]
    fn growth_scales_four_rounds_after_slow_start_or_five_hundred() {
        for (form, rounds) in [("v0.7", 4), ("v0.6", 500)] {
            let mut cc = prague(form);
            let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 5.0 * MSS };
            cc.on_start(&mut w, MSS);
            for round in 1..=rounds + 1 {
                let before = cc.window;
                both(&mut cc, &mut w, &ack(10 * round, round, round, 1, 0));
                let step = (cc.window - before) * before / (MSS * MSS);
                let expected = if round < rounds { 1.0 } else { 0.16 };
                assert!((step - expected).abs() < 1e-9, "{form} {round}: {step}");
            }
        }
    }

    #[test]
    fn a_loss_halves_the_window_and_marks_do_not_cut_until_recovery_ends() {
        let mut cc = prague("v0.7");
        let mut w = Window { cwnd: 40.0 * MSS, ssthresh: 20.0 * MSS };
        cc.on_start(&mut w, MSS);
        (cc.marked, cc.alpha, cc.srtt) = (true, 1.0, 0.010);
        assert_eq!(cc.ssthresh(&w, &Congestion::new(Signal::Loss, Time::ZERO, 40.0 * MSS, MSS)), 20.0 * MSS);
        cc.on_state(&mut w, Recovery::Recovery);
        cc.on_ack(&mut w, &ack(100, 1, 41, 1, 1), true);
        assert_eq!((cc.window, w.cwnd), (40.0 * MSS, 40.0 * MSS));
        w.cwnd = 20.0 * MSS;
        cc.on_state(&mut w, Recovery::Open);
        assert_eq!(cc.window, 20.0 * MSS);
    }

    #[test]
    fn pacing_is_the_window_per_round_trip_and_twice_that_far_below_the_threshold() {
        let mut cc = prague("v0.7");
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
        cc.on_start(&mut w, MSS);
        let path = Path { smoothed: Some(Duration(10_000_000)), least: None };
        assert_eq!(cc.pacing_rate(&w, &path), Some(2e6));
        w.ssthresh = 20.0 * MSS;
        assert_eq!(cc.pacing_rate(&w, &path), Some(1e6));
        assert_eq!(cc.pacing_rate(&w, &Path::default()), None);
        assert_eq!(cc.send_quantum(MSS), MSS);
        (cc.window, cc.srtt) = (4096.0 * MSS, 0.1);
        assert_eq!(cc.send_quantum(MSS), 10.0 * MSS);
    }
}
