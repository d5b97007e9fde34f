//! Congestion controls: how the window grows and shrinks, and nothing else.
//!
//! Each speaks bytes here; one whose paper or RFC speaks packets converts at its own door. Recovery decides *when* these
//! are called: [`CongestionControl::grow`] for an ACK of new data outside recovery, [`CongestionControl::reduce`] once
//! for each congestion event (a loss, a round trip with congestion marks, a timeout).

pub mod compound;
pub mod constant;
pub mod cubic;
pub mod dctcp;
pub mod hystart;
pub mod illinois;
pub mod ledbat;
pub mod multcp;
pub mod newreno;
pub mod vegas;
pub mod wtp;

use evenflow_base::schema::{Observable, Problem, Values};
use evenflow_base::{Duration, Time};

pub use compound::Compound;
pub use constant::Constant;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use illinois::Illinois;
pub use ledbat::Ledbat;
pub use multcp::MulTcp;
use newreno::Counting;
pub use newreno::NewReno;
pub use vegas::Vegas;
pub use wtp::Wtp;

use crate::Profile;
use crate::profile::Ecn;

/// What every congestion control shows.
const WINDOW: Observable = Observable { name: "window", unit: "packets", doc: "Congestion window." };

/// The congestion window and the slow-start threshold, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// cwnd.
    pub cwnd: f64,
    /// ssthresh; infinite before the first loss.
    pub ssthresh: f64,
}

/// What one acknowledgement of new data says.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it came.
    pub now: Time,
    /// SND.UNA, this ACK included.
    pub una: u64,
    /// SND.NXT: the end of a round that begins now.
    pub next: u64,
    /// Newly acknowledged bytes.
    pub bytes: u64,
    /// Full segments among them, the remainder of earlier ACKs included.
    pub segments: u64,
    /// Bytes of a full segment.
    pub mss: f64,
    /// Bytes in flight before the ACK.
    pub flight: f64,
    /// The round-trip time that this ACK shows, where it shows one.
    pub rtt: Option<Duration>,
    /// The one-way delay of the packet that it acknowledges, where the other end tells its clock.
    pub one_way: Option<Duration>,
    /// Congestion marks that it reports. For [`CongestionControl::grow`] more than zero only where the control takes every
    /// mark.
    pub marks: u32,
}

/// What the network said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment was lost.
    Loss,
    /// A packet came through with a congestion mark.
    Mark,
    /// The retransmission timer fired.
    Timeout,
}

/// A congestion event: at most one a round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// What happened.
    pub signal: Signal,
    /// When.
    pub now: Time,
    /// Bytes in flight.
    pub flight: f64,
    /// Bytes of a full segment.
    pub mss: f64,
}

/// A congestion control, dispatched statically. Those with much to remember are boxed: a flow of NewReno pays nothing for
/// them.
#[derive(Clone, Debug)]
pub enum CongestionControl {
    /// See [`newreno`].
    NewReno(NewReno),
    /// See [`cubic`].
    Cubic(Box<Cubic>),
    /// See [`multcp`].
    MulTcp(Box<MulTcp>),
    /// See [`wtp`].
    Wtp(Box<Wtp>),
    /// See [`constant`].
    Constant(Constant),
    /// See [`vegas`].
    Vegas(Box<Vegas>),
    /// See [`illinois`].
    Illinois(Box<Illinois>),
    /// See [`compound`].
    Compound(Box<Compound>),
    /// See [`ledbat`].
    Ledbat(Box<Ledbat>),
    /// See [`dctcp`].
    Dctcp(Box<Dctcp>),
}

/// What is wrong with the control `kind` on a stack, its parameters being sound by themselves: a feedback that it needs
/// and does not get.
pub fn contradictions(kind: &str, values: &Values, profile: &Profile) -> Vec<String> {
    match (kind, profile.ecn) {
        ("wtp", Ecn::PerPacket) => Vec::new(),
        ("wtp", ecn) => vec![format!(
            "wtp answers the mark of each packet and needs ecn = \"per-packet\", not \"{}\"",
            ecn.word()
        )],
        ("multcp", Ecn::Off | Ecn::Classic) if values.word("react") == "every-mark" => vec![format!(
            "react = \"every-mark\" needs ecn = \"per-packet\" or \"accurate\"; \"{}\" tells no single marks",
            profile.ecn.word()
        )],
        ("dctcp", Ecn::Off | Ecn::Classic) => vec![format!(
            "dctcp counts marked packets and needs ecn = \"accurate\" or \"per-packet\", not \"{}\"",
            profile.ecn.word()
        )],
        _ => Vec::new(),
    }
}

/// NewReno's window as a stack counts it, by itself or as part of another control.
fn newreno_of(profile: &Profile) -> NewReno {
    NewReno {
        counting: match (profile.byte_counting, profile.count_acks, profile.whole_bytes) {
            (true, ..) => Counting::Bytes,
            (false, true, _) => Counting::AcksWhole,
            (false, false, true) => Counting::Acks,
            (false, false, false) => Counting::AcksReal,
        },
        half_of: profile.half_of,
        slow_start_segments: profile.slow_start_segments,
        counted: 0.0,
    }
}

impl CongestionControl {
    /// The control called `kind` on a stack. `weight` is its user's; a weight among the values goes before it.
    pub fn build(
        kind: &str,
        values: &Values,
        profile: &Profile,
        weight: f64,
    ) -> Result<CongestionControl, Vec<Problem>> {
        match kind {
            "newreno" => Ok(CongestionControl::NewReno(newreno_of(profile))),
            "cubic" => Ok(CongestionControl::Cubic(Box::new(Cubic::build(values, profile)))),
            "multcp" => MulTcp::build(values, weight).map(|cc| CongestionControl::MulTcp(Box::new(cc))),
            "wtp" => Wtp::build(values, profile, weight).map(|cc| CongestionControl::Wtp(Box::new(cc))),
            "constant" => Ok(CongestionControl::Constant(Constant::build(values))),
            "vegas" => {
                Ok(CongestionControl::Vegas(Box::new(Vegas::build(values, profile, newreno_of(profile)))))
            }
            "illinois" => Ok(CongestionControl::Illinois(Box::new(Illinois::build(
                values,
                profile,
                newreno_of(profile),
            )))),
            "compound" => Ok(CongestionControl::Compound(Box::new(Compound::build(
                values,
                profile,
                newreno_of(profile),
            )))),
            "ledbat" => Ok(CongestionControl::Ledbat(Box::new(Ledbat::build(values, newreno_of(profile))))),
            "dctcp" => Ok(CongestionControl::Dctcp(Box::new(Dctcp::build(values, newreno_of(profile))))),
            other => panic!("no congestion control is called {other}"),
        }
    }

    /// Sets the window with which a connection begins; `w` holds the stack's own.
    pub fn start(&mut self, w: &mut Window, mss: f64) {
        match self {
            CongestionControl::Wtp(cc) => cc.start(w, mss),
            CongestionControl::Constant(cc) => cc.hold(w, mss),
            _ => {}
        }
    }

    /// Whether the control wants to hear every ACK that says something ([`CongestionControl::heard`]).
    #[inline]
    pub fn listens(&self) -> bool {
        match self {
            CongestionControl::Vegas(_)
            | CongestionControl::Illinois(_)
            | CongestionControl::Compound(_)
            | CongestionControl::Ledbat(_)
            | CongestionControl::Dctcp(_) => true,
            CongestionControl::Cubic(cc) => cc.listens(),
            _ => false,
        }
    }

    /// Whether it needs the one-way delay, for which the other end must tell its clock.
    pub fn needs_one_way_delay(&self) -> bool {
        matches!(self, CongestionControl::Ledbat(_))
    }

    /// An ACK of new data came, in whatever state recovery is and whether the window was used or not; `open`: nothing is
    /// lost or out of order. Growth follows by [`CongestionControl::grow`], where it is allowed.
    #[inline(never)]
    pub fn heard(&mut self, window: &mut Window, acked: &Acked, open: bool) {
        match self {
            CongestionControl::Cubic(cc) => cc.heard(window, acked, open),
            CongestionControl::Vegas(cc) => cc.heard(window, acked, open),
            CongestionControl::Illinois(cc) => cc.heard(window, acked, open),
            CongestionControl::Compound(cc) => cc.heard(window, acked, open),
            CongestionControl::Ledbat(cc) => cc.heard(acked),
            CongestionControl::Dctcp(cc) => cc.heard(acked),
            _ => {}
        }
    }

    /// New data was acknowledged outside loss recovery.
    #[inline]
    pub fn grow(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            CongestionControl::NewReno(cc) => cc.grow(window, acked),
            other => other.grow_otherwise(window, acked),
        }
    }

    #[inline(never)]
    fn grow_otherwise(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            CongestionControl::NewReno(cc) => cc.grow(window, acked),
            CongestionControl::Cubic(cc) => cc.grow(window, acked),
            CongestionControl::MulTcp(cc) => cc.grow(window, acked),
            CongestionControl::Wtp(cc) => cc.grow(window, acked),
            CongestionControl::Constant(cc) => cc.hold(window, acked.mss),
            CongestionControl::Vegas(cc) => cc.grow(window, acked),
            CongestionControl::Illinois(cc) => cc.grow(window, acked),
            CongestionControl::Compound(cc) => cc.grow(window, acked),
            CongestionControl::Ledbat(cc) => cc.grow(window, acked),
            CongestionControl::Dctcp(cc) => cc.grow(window, acked),
        }
    }

    /// The slow-start threshold after a congestion event. The window itself follows it as recovery decides.
    #[inline]
    pub fn reduce(&mut self, window: &Window, event: &Congestion) -> f64 {
        match self {
            CongestionControl::NewReno(cc) => cc.reduce(window, event),
            CongestionControl::Cubic(cc) => cc.reduce(window, event),
            CongestionControl::MulTcp(cc) => cc.reduce(window, event),
            CongestionControl::Wtp(cc) => cc.reduce(window, event),
            CongestionControl::Constant(cc) => cc.window(event.mss),
            CongestionControl::Vegas(cc) => cc.reduce(window, event),
            CongestionControl::Illinois(cc) => cc.reduce(window, event),
            CongestionControl::Compound(cc) => cc.reduce(window, event),
            CongestionControl::Ledbat(cc) => cc.reduce(window, event),
            CongestionControl::Dctcp(cc) => cc.reduce(window, event),
        }
    }

    /// The window that answers a congestion mark, `before` and `ssthresh` being the window at the event and what
    /// [`CongestionControl::reduce`] made of it: the threshold, or less where a document lets a mark take a window of few
    /// packets below the least threshold (RFC 9438 section 4.6; ns-2).
    pub fn after_mark(&self, before: &Window, event: &Congestion, ssthresh: f64) -> f64 {
        match self {
            CongestionControl::NewReno(cc) => cc.after_mark(before, event, ssthresh),
            CongestionControl::Cubic(cc) => cc.after_mark(before, event, ssthresh),
            CongestionControl::MulTcp(cc) => cc.after_mark(before, event.mss),
            CongestionControl::Vegas(cc) => cc.after_mark(before, event, ssthresh),
            CongestionControl::Compound(cc) => cc.after_mark(before, event, ssthresh),
            CongestionControl::Dctcp(cc) => cc.after_mark(before, event, ssthresh),
            CongestionControl::Wtp(_)
            | CongestionControl::Constant(_)
            | CongestionControl::Illinois(_)
            | CongestionControl::Ledbat(_) => ssthresh,
        }
    }

    /// Whether [`CongestionControl::grow`] deals with congestion marks one by one. Where it does not, an ACK that carries
    /// marks grows nothing (RFC 3168 section 6.1.2), and the first of a round trip is a congestion event.
    #[inline]
    pub fn takes_every_mark(&self) -> bool {
        match self {
            CongestionControl::MulTcp(cc) => cc.takes_every_mark(),
            // No mark moves a constant window.
            CongestionControl::Wtp(_) | CongestionControl::Constant(_) => true,
            _ => false,
        }
    }

    /// The floor of the window, bytes: where a timeout or a reduction may take it.
    #[inline]
    pub fn floor(&self, mss: f64) -> f64 {
        match self {
            CongestionControl::Wtp(cc) => cc.floor(mss),
            CongestionControl::Constant(cc) => cc.window(mss),
            _ => mss,
        }
    }

    /// The application sends again with nothing in flight, `idle` after the last segment went out.
    pub fn resumed(&mut self, idle: Duration) {
        match self {
            CongestionControl::Cubic(cc) => cc.resumed(idle),
            CongestionControl::Vegas(cc) => cc.resumed(),
            _ => {}
        }
    }

    /// An ACK of new data came, and [`CongestionControl::grow`] was not called because the window was not used to the full.
    #[inline]
    pub fn held(&mut self, now: Time) {
        if let CongestionControl::Cubic(cc) = self {
            cc.held(now);
        }
    }

    /// Everything sent is believed lost after a timeout, where that is told later than the timeout itself (F-RTO).
    pub fn lost_all(&mut self, next: u64) {
        match self {
            CongestionControl::Cubic(cc) => cc.lost_all(next),
            CongestionControl::Illinois(cc) => cc.lost_all(next),
            _ => {}
        }
    }

    /// Below what rate halving does not take the window: half of the threshold in whole segments, with CUBIC the threshold
    /// (Linux's `min_cwnd`).
    pub fn halving_floor(&self, ssthresh: f64, mss: f64) -> f64 {
        match self {
            CongestionControl::Cubic(_) => ssthresh,
            _ => (ssthresh / mss / 2.0) as u64 as f64 * mss,
        }
    }

    /// The window that a needless reduction is taken back to, bytes, where the control remembers one (Linux 3.2's CUBIC).
    pub fn remembered(&self, mss: f64) -> Option<f64> {
        match self {
            CongestionControl::Cubic(cc) => cc.remembered(mss),
            _ => None,
        }
    }

    /// A congestion event was none after all: what [`CongestionControl::reduce`] forgot comes back. `window` is the window
    /// before the sender gives it back.
    pub fn undo(&mut self, window: &Window, mss: f64) {
        if let CongestionControl::Cubic(cc) = self {
            cc.undo(window, mss);
        }
    }

    /// An observable of its table, `window` excepted.
    pub fn observe(&self, name: &str) -> Option<f64> {
        match self {
            CongestionControl::Cubic(cc) => cc.observe(name),
            CongestionControl::Vegas(cc) => cc.observe(name),
            CongestionControl::Illinois(cc) => cc.observe(name),
            CongestionControl::Compound(cc) => cc.observe(name),
            CongestionControl::Ledbat(cc) => cc.observe(name),
            CongestionControl::Dctcp(cc) => cc.observe(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
