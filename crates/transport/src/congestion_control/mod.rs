//! Congestion controls: window, threshold and pacing rate of a connection.
//!
//! Windows are in bytes; a control whose paper or RFC counts packets converts them itself. A
//! [`CongestionControl`] holds the window and calls its [`Control`]. The sender decides when:
//! [`Control::grow`] for an ACK of new data outside recovery, [`Control::on_congestion_event`] once for each
//! loss, round trip with marks, or timeout.

mod control;
mod events;
pub mod hystart;
#[cfg(test)]
mod probe;
mod register;
pub mod search;
pub mod slow_start;
pub mod stepper;

use evenflow_base::schema::{Mechanism, Observable, Problem, Values};
use evenflow_base::{Duration, Stream, Time};

pub use control::{Control, External, Needs, Registered};
pub(crate) use events::three_quarters;
pub use events::{Acked, Cause, Congestion, Path, Proposal, RateSample, Recovery, Sent, Signal, Spurious};

use crate::Profile;

// Module, type and storage. A control with much state is boxed, so that NewReno flows stay small.
register::controls! {
    newreno: NewReno(NewReno),
    cubic: Cubic(Box<Cubic>),
    multcp: MulTcp(Box<MulTcp>),
    wtp: Wtp(Box<Wtp>),
    constant: Constant(Constant),
    vegas: Vegas(Box<Vegas>),
    illinois: Illinois(Box<Illinois>),
    compound: Compound(Box<Compound>),
    ledbat: Ledbat(Box<Ledbat>),
    dctcp: Dctcp(Box<Dctcp>),
    prague: Prague(Box<Prague>),
    bbr1: Bbr1(Box<Bbr1>),
    bbr: Bbr(Box<Bbr>),
}

/// Registration of a control; the functions are those of [`Registered`].
struct Registration {
    table: &'static Mechanism,
    build: fn(&Values, &Profile, f64) -> Result<Kind, Vec<Problem>>,
    adopt: fn(&mut Profile),
    contradictions: fn(&Values, &Profile) -> Vec<String>,
}

fn registered(kind: &str) -> Option<&'static Registration> {
    REGISTER.iter().find(|registration| registration.table.kind == kind)
}

/// See [`Registered::adopt`].
pub fn adopt(kind: &str, profile: &mut Profile) {
    if let Some(registration) = registered(kind) {
        (registration.adopt)(profile);
    }
}

/// See [`Registered::contradictions`].
pub fn contradictions(kind: &str, values: &Values, profile: &Profile) -> Vec<String> {
    registered(kind).map_or(Vec::new(), |registration| (registration.contradictions)(values, profile))
}

/// A congestion control with its window. Nothing else writes the window; the calls are those of [`Control`].
#[derive(Clone, Debug)]
pub struct CongestionControl {
    window: Window,
    kind: Kind,
}

impl CongestionControl {
    /// The control called `kind` ([`Registered::build`]).
    pub fn build(
        kind: &str,
        values: &Values,
        profile: &Profile,
        weight: f64,
    ) -> Result<CongestionControl, Vec<Problem>> {
        Ok(CongestionControl::of(Kind::build(kind, values, profile, weight)?))
    }

    /// A control that no scenario names.
    pub fn external(control: Box<dyn External>) -> CongestionControl {
        CongestionControl::of(Kind::External(control))
    }

    fn of(kind: Kind) -> CongestionControl {
        CongestionControl { window: Window { cwnd: 0.0, ssthresh: f64::INFINITY }, kind }
    }

    /// With the flow's random stream, where the control asks for one.
    pub fn seeded(mut self, of: &dyn Fn(&str) -> Stream) -> CongestionControl {
        if self.needs().random {
            self.kind.get_mut().seed(of("congestion_control"));
        }
        self
    }

    /// Bytes on the heap: a control that is larger than its place is in a box.
    pub fn heap_bytes(&self) -> u64 {
        let size = size_of_val(self.kind.get());
        if size > size_of::<Kind>() { size as u64 } else { 0 }
    }

    /// The window.
    #[inline(always)]
    pub fn window(&self) -> Window {
        self.window
    }

    /// See [`Control::needs`].
    pub fn needs(&self) -> Needs {
        self.kind.get().needs()
    }

    /// See [`Control::on_start`]; `initial` is the profile's window.
    pub fn start(&mut self, initial: Window, mss: f64) {
        self.window = initial;
        self.kind.get_mut().on_start(&mut self.window, mss);
    }

    /// See [`Control::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, acked: &Acked, open: bool) {
        self.kind.on_ack(&mut self.window, acked, open);
    }

    /// See [`Control::grow`].
    #[inline(always)]
    pub fn grow(&mut self, acked: &Acked) {
        match &mut self.kind {
            Kind::NewReno(control) => control.grow(&mut self.window, acked),
            other => other.grow(&mut self.window, acked),
        }
    }

    /// One step of slow start at the threshold, which stays.
    #[inline(never)]
    pub fn grow_at_threshold(&mut self, acked: &Acked) {
        let threshold = self.window.ssthresh;
        self.window.ssthresh += acked.mss;
        self.grow(acked);
        self.window.ssthresh = threshold;
    }

    /// See [`Control::on_application_limited`].
    #[cold]
    #[inline(never)]
    pub fn on_application_limited(&mut self, now: Time) {
        self.kind.on_application_limited(now);
    }

    /// See [`Control::on_congestion_event`].
    pub fn on_congestion_event(&mut self, event: &Congestion) {
        self.kind.get_mut().on_congestion_event(&mut self.window, event);
    }

    /// See [`Control::on_proposal`].
    #[inline]
    pub fn propose(&mut self, proposal: &Proposal) {
        self.kind.on_proposal(&mut self.window, proposal);
    }

    /// A window of `cwnd` bytes is proposed; the threshold stays.
    #[inline]
    pub fn propose_cwnd(&mut self, cwnd: f64, cause: Cause) {
        let window = Window { cwnd, ..self.window };
        self.propose(&Proposal::Window { window, cause });
    }

    /// See [`Control::on_spurious_loss`].
    pub fn on_spurious_loss(&mut self, spurious: &Spurious) {
        self.kind.get_mut().on_spurious_loss(&mut self.window, spurious);
    }

    /// See [`Control::on_state`].
    pub fn on_state(&mut self, state: Recovery) {
        self.kind.get_mut().on_state(&mut self.window, state);
    }

    /// See [`Control::on_timeout_confirmed`].
    pub fn on_timeout_confirmed(&mut self, next: u64) {
        self.kind.get_mut().on_timeout_confirmed(next);
    }

    /// See [`Control::on_idle_restart`].
    pub fn on_idle_restart(&mut self, idle: Duration) {
        self.kind.get_mut().on_idle_restart(idle);
    }

    /// See [`Control::on_packet_sent`].
    #[inline]
    pub fn on_packet_sent(&mut self, sent: &Sent) {
        self.kind.on_packet_sent(&mut self.window, sent);
    }

    /// See [`Control::on_packet_lost`].
    pub fn on_packet_lost(&mut self, lost: &Sent) {
        self.kind.get_mut().on_packet_lost(&mut self.window, lost);
    }

    /// See [`Control::on_rate_sample`].
    #[inline]
    pub fn on_rate_sample(&mut self, sample: &RateSample) {
        self.kind.on_rate_sample(&mut self.window, sample);
    }

    /// See [`Control::min_window`].
    pub fn min_window(&self, mss: f64) -> f64 {
        self.kind.get().min_window(mss)
    }

    /// See [`Control::pacing_rate`] and [`Control::send_quantum`].
    #[inline]
    pub fn pacing(&self, path: impl Fn() -> Path, mss: f64) -> Option<(f64, f64)> {
        self.kind.pacing(&self.window, path, mss)
    }

    /// See [`Control::observe`].
    pub fn observe(&self, name: &str) -> Option<f64> {
        self.kind.get().observe(name)
    }

    /// A window of a test.
    #[cfg(test)]
    pub(crate) fn set(&mut self, window: Window) {
        self.window = window;
    }
}

impl Kind {
    fn build(kind: &str, values: &Values, profile: &Profile, weight: f64) -> Result<Kind, Vec<Problem>> {
        let registration =
            registered(kind).unwrap_or_else(|| panic!("there is no congestion control {kind}"));
        (registration.build)(values, profile, weight)
    }
}

/// Observables of every congestion control.
const WINDOW: Observable = Observable::new("window", "packets", "Congestion window.");

/// The congestion window and the slow-start threshold, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// cwnd.
    pub cwnd: f64,
    /// ssthresh; infinite before the first loss.
    pub ssthresh: f64,
}

#[cfg(test)]
mod tests;
