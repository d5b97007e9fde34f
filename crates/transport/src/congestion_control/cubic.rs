//! CUBIC (RFC 9438): after a congestion event the window first rises fast, then levels off where the event was, then probes.
//!
//! It speaks packets and seconds. [`Rfc`] is the RFC in real numbers; [`linux`] the same curve in the whole numbers of a
//! Linux kernel, which counts acknowledged packets, and [`linux_3_2`] those of an older one, which counted ACKs. Slow start is plain, or left early by [`super::hystart`]. Constants are
//! those of section 4; ABE (RFC 8511) is not used: a mark and a loss cut alike.

pub mod linux;
pub mod linux_3_2;

use evenflow_base::schema::{
    Deviation, Fallback, Mechanism, Observable, Param, Problem, Range, Room, Type, Values,
};
use evenflow_base::{Duration, Time};

use crate::Profile;
use crate::profile::{SlowStart, WindowBase};

use super::hystart::{Hystart, HystartPlusPlus, MOST_SEGMENTS};
use super::newreno::slow_start;
use super::{Acked, Congestion, Control, Signal, WINDOW, Window};

/// The window by the curve, packets, `t` seconds into an epoch: C (t - K)^3 + W_max (RFC 9438 equation 1).
#[inline]
pub fn w_cubic(t: f64, k: f64, w_max: f64, c: f64) -> f64 {
    let off = t - k;
    c * (off * off * off) + w_max
}

/// Seconds until the curve reaches `w_max` from `start`: the cube root of (W_max - start) / C (RFC 9438 equation 2).
#[inline]
pub fn plateau(w_max: f64, start: f64, c: f64) -> f64 {
    libm::cbrt((w_max - start) / c)
}

/// The target of the next round trip: the curve, but no less than the window and at most half as much again (RFC 9438
/// section 4.2).
#[inline]
pub fn target(curve: f64, cwnd: f64) -> f64 {
    curve.max(cwnd).min(1.5 * cwnd)
}

/// Packets per round trip by which a window that `beta` multiplies at a loss averages as much as Reno's (RFC 9438
/// section 4.3, alpha).
#[inline]
pub fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// The parameters of the curve.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// C, packets/s^3.
    pub c: f64,
    /// What a congestion event multiplies the window by.
    pub beta: f64,
    /// Whether a window below the last maximum gives up more.
    pub fast_convergence: bool,
    /// Whether the window is at least Reno's.
    pub reno_friendly: bool,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// t_epoch.
    began: Time,
    /// K, seconds.
    k: f64,
    /// W_est, packets.
    w_est: f64,
}

/// What a congestion event overwrites (RFC 9438 section 4.9.2).
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// cwnd_prior, packets.
    prior: Option<f64>,
    /// W_max, packets.
    w_max: Option<f64>,
    epoch: Option<Epoch>,
}

/// The curve in real numbers.
#[derive(Clone, Copy, Debug)]
pub struct Rfc {
    shape: Shape,
    half_of: WindowBase,
    now: Memory,
    before: Option<Memory>,
    /// The last ACK that was seen.
    last: Time,
}

impl Rfc {
    fn new(shape: Shape, half_of: WindowBase) -> Rfc {
        let now = Memory { prior: None, w_max: None, epoch: None };
        Rfc { shape, half_of, now, before: None, last: Time::ZERO }
    }

    /// What an ACK of `segments` (need not be whole) adds to the window in congestion avoidance; `smoothed` is the
    /// smoothed round-trip time in seconds.
    fn grow(&mut self, cwnd: f64, segments: f64, now: Time, smoothed: f64) -> f64 {
        let Shape { c, beta, reno_friendly, .. } = self.shape;
        let memory = &mut self.now;
        let epoch = memory.epoch.get_or_insert_with(|| {
            // Without a maximum to return to, or with one below, the plateau is here (sections 4.8 and 4.10).
            let w_max = memory.w_max.filter(|top| *top > cwnd).unwrap_or(cwnd);
            memory.w_max = Some(w_max);
            Epoch { began: now, k: plateau(w_max, cwnd, c), w_est: cwnd }
        });
        let prior = *memory.prior.get_or_insert(cwnd);
        let w_max = memory.w_max.unwrap_or(cwnd);
        let t = now.since(epoch.began).seconds();
        // Section 4.3, equation 4; from cwnd_prior on Reno's own pace.
        let pace = if epoch.w_est < prior { alpha(beta) } else { 1.0 };
        epoch.w_est += pace * segments / cwnd;
        if reno_friendly && w_cubic(t, epoch.k, w_max, c) < epoch.w_est {
            return (epoch.w_est - cwnd).max(0.0);
        }
        // Sections 4.4 and 4.5: the concave and the convex region have one rule.
        (target(w_cubic(t + smoothed, epoch.k, w_max, c), cwnd) - cwnd) / cwnd
    }

    /// Bytes that a congestion event leaves (section 4.6).
    fn cut(&self, w: &Window, event: &Congestion) -> f64 {
        let base = match self.half_of {
            WindowBase::Flight => event.flight,
            WindowBase::Window => w.cwnd,
        };
        base * self.shape.beta
    }

    fn reduce(&mut self, w: &Window, event: &Congestion) -> f64 {
        let Shape { beta, fast_convergence, .. } = self.shape;
        let cwnd = w.cwnd / event.mss;
        self.before = Some(self.now);
        // Section 4.7. After a timeout the curve has no maximum to return to (section 4.8).
        let w_max = match (event.signal, self.now.w_max) {
            (Signal::Timeout, _) => None,
            (_, Some(top)) if cwnd < top && fast_convergence => Some(cwnd * (1.0 + beta) / 2.0),
            _ => Some(cwnd),
        };
        self.now = Memory { prior: Some(cwnd), w_max, epoch: None };
        self.cut(w, event).max(2.0 * event.mss)
    }

    /// Time passes that the curve does not count.
    fn pass(&mut self, time: Duration) {
        self.last += time;
        if let Some(epoch) = &mut self.now.epoch {
            epoch.began += time;
        }
    }

    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "k" => self.now.epoch.map(|epoch| epoch.k),
            "w_max" => self.now.w_max,
            "w_est" => self.now.epoch.map(|epoch| epoch.w_est),
            _ => None,
        }
    }
}

/// The two forms of the curve.
#[derive(Clone, Copy, Debug)]
enum Curve {
    Rfc(Rfc),
    Linux(linux::Curve),
    Linux3_2(linux_3_2::Curve),
}

/// How slow start ends when nothing is lost.
#[derive(Clone, Copy, Debug)]
enum Start {
    Standard,
    Hystart(Hystart),
    HystartPlusPlus(HystartPlusPlus),
}

/// CUBIC.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    shape: Shape,
    curve: Curve,
    start: Start,
    /// Most segments by which one ACK opens the window in plain slow start.
    slow_start_segments: Option<u32>,
    /// Smoothed round-trip time, seconds (RFC 6298 section 2.3: gain 1/8).
    smoothed: Option<f64>,
    /// Least round-trip time (Linux's `delay_min`).
    least: Option<Duration>,
}

/// Linux takes no least round-trip time from the first second after a recovery.
const UNSETTLED: Duration = Duration::from_millis(1000);

/// β_cubic (RFC 9438 section 4.6).
const BETA: f64 = 0.7;

/// What it was in Linux 2.6.22.
const OLD_BETA: f64 = 819.0 / 1024.0;

impl Control for Cubic {
    const TABLE: &'static Mechanism = &TABLE;

    /// From its parameters.
    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Cubic, Vec<Problem>> {
        let given = |name| values.get(name).map(|_| values.word(name));
        let usual = match profile.name {
            "linux" => "linux",
            "linux3.2" => "linux-3.2",
            "ns2-linux" => "linux-2.6.22",
            _ => "rfc",
        };
        let form = given("form").unwrap_or(usual);
        let shape = Shape {
            c: values.number("c"),
            beta: values.maybe("beta").unwrap_or(if form == "linux-2.6.22" { OLD_BETA } else { BETA }),
            fast_convergence: values.flag("fast_convergence"),
            reno_friendly: values.flag("reno_friendly"),
        };
        let slow_start = given("slow_start").map_or(profile.slow_start, SlowStart::of);
        let curve = match form {
            "linux-3.2" => Curve::Linux3_2(linux_3_2::Curve::new(&shape, slow_start == SlowStart::Hystart)),
            "linux" => Curve::Linux(linux::Curve::new(&shape, linux::TODAY)),
            "linux-2.6.22" => Curve::Linux(linux::Curve::new(&shape, linux::OF_2_6_22)),
            _ => Curve::Rfc(Rfc::new(shape, profile.half_of)),
        };
        let start = match slow_start {
            // It has its own, or none.
            _ if form == "linux-3.2" => Start::Standard,
            SlowStart::Standard => Start::Standard,
            SlowStart::Hystart => Start::Hystart(Hystart::default()),
            SlowStart::HystartPlusPlus => Start::HystartPlusPlus(HystartPlusPlus::default()),
        };
        let slow_start_segments = profile.slow_start_segments;
        Ok(Cubic { shape, curve, start, slow_start_segments, smoothed: None, least: None })
    }

    /// Slow start below the threshold, the curve from there on.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        if let Curve::Linux3_2(curve) = &mut self.curve {
            return curve.grow(w, acked);
        }
        self.sample(acked);
        let mut bytes = match self.curve {
            Curve::Rfc(_) => acked.bytes as f64,
            Curve::Linux(_) | Curve::Linux3_2(_) => acked.segments as f64 * acked.mss,
        };
        if w.cwnd < w.ssthresh {
            bytes -= self.slow_start(w, acked, bytes);
        }
        if bytes > 0.0 && w.cwnd >= w.ssthresh {
            let cwnd = w.cwnd / acked.mss;
            let segments = bytes / acked.mss;
            match &mut self.curve {
                Curve::Rfc(curve) => {
                    let smoothed = self.smoothed.unwrap_or(0.0);
                    w.cwnd += curve.grow(cwnd, segments, acked.now, smoothed) * acked.mss;
                }
                Curve::Linux(curve) => {
                    let friendly = self.shape.reno_friendly;
                    let steps = curve.grow(cwnd as u64, segments as u64, acked.now, self.least, friendly);
                    w.cwnd += steps as f64 * acked.mss;
                }
                Curve::Linux3_2(_) => {}
            }
        }
        if let Curve::Rfc(curve) = &mut self.curve {
            curve.last = acked.now;
        }
    }

    /// ssthresh after `event`.
    fn reduce(&mut self, w: &Window, event: &Congestion) -> f64 {
        match &mut self.start {
            Start::HystartPlusPlus(hystart) => hystart.finish(),
            Start::Hystart(hystart) if event.signal == Signal::Timeout => hystart.reset(),
            _ => {}
        }
        match &mut self.curve {
            Curve::Rfc(curve) => curve.reduce(w, event),
            Curve::Linux(curve) => {
                let packets = (w.cwnd / event.mss) as u64;
                let ssthresh = curve.reduce(packets, self.shape.fast_convergence) as f64 * event.mss;
                if event.signal == Signal::Timeout {
                    curve.forget();
                    self.least = None;
                }
                ssthresh
            }
            Curve::Linux3_2(curve) => {
                let ssthresh = curve.reduce((w.cwnd / event.mss) as u64) as f64 * event.mss;
                if event.signal == Signal::Timeout {
                    curve.forget();
                }
                ssthresh
            }
        }
    }

    /// Whether it wants to hear every ACK of new data.
    #[inline]
    fn wants_every_ack(&self) -> bool {
        matches!(self.curve, Curve::Linux3_2(_))
    }

    /// An ACK of new data; `open`: nothing is lost or out of order.
    fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
        if let Curve::Linux3_2(curve) = &mut self.curve {
            curve.on_ack(w, acked, open);
        }
    }

    /// Everything sent is believed lost.
    fn lost_all(&mut self, next: u64) {
        if let Curve::Linux3_2(curve) = &mut self.curve {
            curve.lost_all(next);
        }
    }

    /// The window that a needless reduction is taken back to, bytes.
    fn remembered(&self, mss: f64) -> Option<f64> {
        match &self.curve {
            Curve::Linux3_2(curve) => Some(curve.last_max() as f64 * mss),
            _ => None,
        }
    }

    /// The window after a mark: by the RFC one packet at least, where the threshold is two (section 4.6).
    fn after_mark(&self, w: &Window, event: &Congestion, ssthresh: f64) -> f64 {
        match &self.curve {
            Curve::Rfc(curve) => curve.cut(w, event).max(event.mss),
            Curve::Linux(_) | Curve::Linux3_2(_) => ssthresh,
        }
    }

    /// The threshold itself.
    fn halving_floor(&self, ssthresh: f64, _: f64) -> f64 {
        ssthresh
    }

    /// The application was idle: the curve does not count that time (section 4.2).
    fn resumed(&mut self, idle: Duration) {
        match &mut self.curve {
            Curve::Rfc(curve) => curve.pass(idle),
            Curve::Linux(curve) => curve.shift(idle),
            Curve::Linux3_2(_) => {} // it counts idle time
        }
    }

    /// An ACK grew nothing because the window was not used to the full: the curve does not count that time (section 4.2).
    /// Linux's does.
    fn held(&mut self, now: Time) {
        if let Curve::Rfc(curve) = &mut self.curve {
            curve.pass(now.since(curve.last));
        }
    }

    /// The last congestion event was none (section 4.9.2); `w` is the window before it is given back. Linux gives back
    /// only the window.
    fn undo(&mut self, w: &Window, mss: f64) {
        if let Curve::Rfc(curve) = &mut self.curve
            && let Some(before) = curve.before.take()
            && curve.now.prior.is_some_and(|prior| w.cwnd / mss < prior)
        {
            curve.now = before;
        }
    }

    /// An observable of the table.
    fn observe(&self, name: &str) -> Option<f64> {
        match &self.curve {
            Curve::Rfc(curve) => curve.observe(name),
            Curve::Linux(curve) => curve.observe(name),
            Curve::Linux3_2(curve) => curve.observe(name),
        }
    }
}

impl Cubic {
    /// The round-trip time of an ACK, and whether slow start ends with it by Linux's hybrid slow start.
    fn sample(&mut self, acked: &Acked) {
        let Some(rtt) = acked.rtt else { return };
        let seconds = rtt.seconds();
        self.smoothed = Some(self.smoothed.map_or(seconds, |known| known + (seconds - known) / 8.0));
        let began = match &self.curve {
            Curve::Rfc(curve) => curve.now.epoch.map(|epoch| epoch.began),
            Curve::Linux(curve) => curve.began(),
            Curve::Linux3_2(_) => None,
        };
        if began.is_none_or(|began| acked.now.since(began) >= UNSETTLED) {
            let rtt = rtt.max(Duration(1000)); // Linux counts microseconds, one at least
            self.least = Some(self.least.map_or(rtt, |known| known.min(rtt)));
        }
    }

    /// Slow start by at most `bytes`; gives the bytes used up.
    fn slow_start(&mut self, w: &mut Window, acked: &Acked, bytes: f64) -> f64 {
        let plain = self.slow_start_segments.map_or(f64::INFINITY, |n| f64::from(n) * acked.mss);
        match &mut self.start {
            Start::Hystart(hystart) => {
                if let (Some(rtt), Some(least)) = (acked.rtt, self.least) {
                    let smoothed = Duration::from_seconds(self.smoothed.unwrap_or(0.0));
                    if hystart.leaves(acked, rtt, least, w.cwnd / acked.mss, smoothed) {
                        w.ssthresh = w.cwnd;
                        return 0.0;
                    }
                }
            }
            Start::HystartPlusPlus(hystart) if !hystart.is_over() => {
                if hystart.leaves(acked) {
                    w.ssthresh = w.cwnd;
                    return 0.0;
                }
                // RFC 9406 section 4.2: min(N, L SMSS), in the conservative phase a quarter of it.
                let divisor = hystart.divisor();
                let most = MOST_SEGMENTS * acked.mss / divisor;
                return (slow_start(w, bytes / divisor, most) * divisor).min(bytes);
            }
            _ => {}
        }
        slow_start(w, bytes, plain)
    }
}

/// CUBIC's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "cubic",
    room: Room::CongestionControl,
    traits: Mechanism::PLAIN,
    title: "CUBIC",
    doc: "After a congestion event the window rises along a cubic in time to where the event was, levels off and probes \
          beyond; never slower than NewReno would. A loss and a mark both leave beta of the window.",
    source: "RFC 9438",
    params: &[
        Param {
            name: "c",
            ty: Type::Number,
            default: Fallback::Text("0.4"),
            range: Range { min: 0.0, closed: false, max: 100.0 },
            source: "RFC 9438 section 5.1",
            doc: "C, packets/s^3: how steep the curve is.",
        },
        Param {
            name: "beta",
            ty: Type::Number,
            default: Fallback::Absent("0.7, with form linux-2.6.22 819/1024"),
            range: Range { min: 0.0, closed: false, max: 0.99 },
            source: "RFC 9438 section 4.6",
            doc: "What a congestion event multiplies the window by.",
        },
        Param {
            name: "fast_convergence",
            ty: Type::Flag,
            default: Fallback::Text("true"),
            range: Range::ANY,
            source: "RFC 9438 section 4.7",
            doc: "A window that did not regain the last maximum aims lower than where it was.",
        },
        Param {
            name: "reno_friendly",
            ty: Type::Flag,
            default: Fallback::Text("true"),
            range: Range::ANY,
            source: "RFC 9438 section 4.3",
            doc: "The window grows at least as fast as NewReno's would on average.",
        },
        Param {
            name: "form",
            ty: Type::Choice(&["rfc", "linux", "linux-3.2", "linux-2.6.22"]),
            default: Fallback::Absent(
                "linux on linux, linux-3.2 on linux3.2, linux-2.6.22 on ns2-linux, else rfc",
            ),
            range: Range::ANY,
            source: "docs/tcp.md",
            doc: "The RFC in real numbers, the whole numbers of today's kernel, of Linux 3.2, or of the module that ns-2 ships.",
        },
        Param {
            name: "slow_start",
            ty: Type::Choice(SlowStart::WORDS),
            default: Fallback::Absent("as the stack says"),
            range: Range::ANY,
            source: "RFC 9438 section 4.10",
            doc: "How slow start ends when nothing is lost.",
        },
    ],
    observables: &[
        WINDOW,
        Observable { name: "k", unit: "s", doc: "K: from the start of the epoch to the plateau." },
        Observable { name: "w_max", unit: "packets", doc: "W_max: the plateau." },
        Observable { name: "w_est", unit: "packets", doc: "W_est: Reno's window." },
    ],
    counters: &[],
    deviations: &[
        Deviation {
            what: "An epoch that begins at or above W_max has K = 0 and its plateau where it begins.",
            why: "RFC 9438 says so for two such cases (sections 4.8 and 4.10) and leaves the others open; Linux does so in all.",
        },
        Deviation {
            what: "The window never falls to W_est: it is the larger of the two.",
            why: "Section 4.3 sets it to W_est; where the target of the next round trip was ahead, that would be a cut without congestion.",
        },
        Deviation {
            what: "ABE (RFC 8511) is not used: a mark cuts as a loss does.",
            why: "RFC 9438 section 4.6 has one beta; ABE is experimental.",
        },
        Deviation {
            what: "HyStart++ grows by up to eight segments an ACK whatever slow_start_segments says.",
            why: "RFC 9406 section 4.3 gives L = 8 where packets are not paced.",
        },
        Deviation {
            what: "Round-trip times are seen on ACKs that may grow the window only, not during recovery.",
            why: "A congestion control is asked only then; the least and the smoothed time hardly differ.",
        },
        Deviation {
            what: "Form linux: K comes from an exact cube root; a kernel's is up to 0.2 % off. A second has 1000 jiffies.",
            why: "The error of the approximation is below the length of a jiffy for most windows; CONFIG_HZ differs by distribution.",
        },
        Deviation {
            what: "Form linux-3.2 keeps what Linux 3.2 does: idle time belongs to the epoch, growth counts ACKs, and hybrid slow \
                   start compares with a sixteenth of the least delay and with half of it.",
            why: "Results of its time (Ben Ameur et al. 2016) rest on it; a window after a pause grows by a packet for two ACKs.",
        },
        Deviation {
            what: "Form linux-2.6.22 takes an ACK for 31/16 packets where each packet has its own.",
            why: "So does the module: its mean of the packets an ACK covers starts at two and comes to rest at 31 sixteenths.",
        },
    ],
};

#[cfg(test)]
mod tests;
