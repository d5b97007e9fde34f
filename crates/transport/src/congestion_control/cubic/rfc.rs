//! CUBIC as RFC 9438 has it, in real numbers of packets and seconds.

use evenflow_base::{Duration, Time};

use crate::congestion_control::{Acked, Congestion, Control, Signal, Spurious, Window};
use crate::profile::WindowBase;

use super::{Shape, SlowStart};

/// The window by the curve, packets, `t` seconds into an epoch: C (t - K)^3 + W_max (RFC 9438 equation 1).
#[inline]
pub fn w_cubic(t: f64, k: f64, w_max: f64, c: f64) -> f64 {
    let off = t - k;
    c * (off * off * off) + w_max
}

/// Seconds until the curve reaches `w_max` from `start`: the cube root of (W_max - start) / C (RFC 9438
/// equation 2).
#[inline]
pub fn plateau(w_max: f64, start: f64, c: f64) -> f64 {
    libm::cbrt((w_max - start) / c)
}

/// The target of the next round trip: the curve, but no less than the window and at most half as much again
/// (RFC 9438 section 4.2).
#[inline]
pub fn target(curve: f64, cwnd: f64) -> f64 {
    curve.max(cwnd).min(1.5 * cwnd)
}

/// Packets per round trip by which a window that `beta` multiplies at a loss averages as much as Reno's (RFC
/// 9438 section 4.3, alpha).
#[inline]
pub fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    /// t_epoch.
    began: Time,
    /// K, seconds.
    pub(super) k: f64,
    /// W_est, packets.
    pub(super) w_est: f64,
}

/// State that a congestion event overwrites (RFC 9438 section 4.9.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// cwnd_prior, packets.
    pub(super) prior: Option<f64>,
    /// W_max, packets.
    pub(super) w_max: Option<f64>,
    pub(super) epoch: Option<Epoch>,
}

/// The curve in real numbers.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    shape: Shape,
    half_of: WindowBase,
    pub(super) now: Memory,
    before: Option<Memory>,
    /// The last ACK that was seen.
    last: Time,
}

impl Curve {
    pub(super) fn new(shape: Shape, half_of: WindowBase) -> Curve {
        let now = Memory { prior: None, w_max: None, epoch: None };
        Curve { shape, half_of, now, before: None, last: Time::ZERO }
    }

    /// The increase in congestion avoidance for an ACK of `segments`, which may be a fraction; `smoothed` is
    /// the smoothed round-trip time in seconds.
    pub(super) fn grow(&mut self, cwnd: f64, segments: f64, now: Time, smoothed: f64) -> f64 {
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

    pub(super) fn reduce(&mut self, w: &Window, event: &Congestion) -> f64 {
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

/// The control.
#[derive(Clone, Debug)]
pub struct Rfc {
    pub(super) curve: Curve,
    pub(super) start: SlowStart,
}

impl Control for Rfc {
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        self.start.sample(acked, self.curve.now.epoch.map(|epoch| epoch.began));
        let mut bytes = acked.bytes as f64;
        if w.cwnd < w.ssthresh {
            bytes -= self.start.grow(w, acked, bytes);
        }
        if bytes > 0.0 && w.cwnd >= w.ssthresh {
            let (cwnd, segments) = (w.cwnd / acked.mss, bytes / acked.mss);
            let smoothed = self.start.smoothed.unwrap_or(0.0);
            w.cwnd += self.curve.grow(cwnd, segments, acked.now, smoothed) * acked.mss;
        }
        self.curve.last = acked.now;
    }

    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        self.start.on_congestion_event(event.signal);
        self.curve.reduce(w, event)
    }

    /// At least one packet; the threshold is at least two (section 4.6).
    fn after_mark(&self, w: &Window, event: &Congestion, _: f64) -> f64 {
        self.curve.cut(w, event).max(event.mss)
    }

    /// The curve does not count idle time (section 4.2).
    fn on_idle_restart(&mut self, idle: Duration) {
        self.curve.pass(idle);
    }

    /// Nor time in which the window was not used (section 4.2).
    fn on_application_limited(&mut self, now: Time) {
        self.curve.pass(now.since(self.curve.last));
    }

    /// The curve before the event, unless the window has passed it meanwhile (section 4.9.2).
    fn on_spurious_loss(&mut self, w: &mut Window, spurious: &Spurious) {
        let curve = &mut self.curve;
        if let Some(before) = curve.before.take()
            && curve.now.prior.is_some_and(|prior| w.cwnd / spurious.mss < prior)
        {
            curve.now = before;
        }
        spurious.restore(w);
    }

    fn observe(&self, name: &str) -> Option<f64> {
        self.curve.observe(name)
    }
}
