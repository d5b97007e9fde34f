//! Congestion controls: how the window grows and shrinks, and nothing else.
//!
//! Each speaks bytes here; one whose paper or RFC speaks packets converts at its own door. Recovery decides *when* these
//! are called: [`CongestionControl::grow`] for an ACK of new data outside recovery, [`CongestionControl::reduce`] once
//! for each congestion event (a loss, a round trip with congestion marks, a timeout).

pub mod constant;
pub mod cubic;
pub mod hystart;
pub mod multcp;
pub mod newreno;
pub mod wtp;

use evenflow_base::schema::{Observable, Problem, Values};
use evenflow_base::{Duration, Time};

pub use constant::Constant;
pub use cubic::Cubic;
pub use multcp::MulTcp;
use newreno::Counting;
pub use newreno::NewReno;
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
    /// Congestion marks that it reports. More than zero only where the control takes every mark.
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
        _ => Vec::new(),
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
            "newreno" => Ok(CongestionControl::NewReno(NewReno {
                counting: match (profile.byte_counting, profile.whole_bytes) {
                    (true, _) => Counting::Bytes,
                    (false, true) => Counting::Acks,
                    (false, false) => Counting::AcksReal,
                },
                half_of: profile.half_of,
                slow_start_segments: profile.slow_start_segments,
                counted: 0.0,
            })),
            "cubic" => Ok(CongestionControl::Cubic(Box::new(Cubic::build(values, profile)))),
            "multcp" => MulTcp::build(values, weight).map(|cc| CongestionControl::MulTcp(Box::new(cc))),
            "wtp" => Wtp::build(values, profile, weight).map(|cc| CongestionControl::Wtp(Box::new(cc))),
            "constant" => Ok(CongestionControl::Constant(Constant::build(values))),
            other => panic!("no congestion control is called {other}"),
        }
    }

    /// Sets the window with which a connection begins; `w` holds the stack's own.
    pub fn start(&mut self, w: &mut Window, mss: f64) {
        match self {
            CongestionControl::Wtp(cc) => cc.start(w, mss),
            CongestionControl::Constant(cc) => cc.hold(w, mss),
            CongestionControl::NewReno(_) | CongestionControl::Cubic(_) | CongestionControl::MulTcp(_) => {}
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
            CongestionControl::Wtp(_) | CongestionControl::Constant(_) => ssthresh,
        }
    }

    /// Whether [`CongestionControl::grow`] deals with congestion marks one by one. Where it does not, an ACK that carries
    /// marks grows nothing (RFC 3168 section 6.1.2), and the first of a round trip is a congestion event.
    #[inline]
    pub fn takes_every_mark(&self) -> bool {
        match self {
            CongestionControl::NewReno(_) | CongestionControl::Cubic(_) => false,
            CongestionControl::MulTcp(cc) => cc.takes_every_mark(),
            // No mark moves a constant window.
            CongestionControl::Wtp(_) | CongestionControl::Constant(_) => true,
        }
    }

    /// The floor of the window, bytes: where a timeout or a reduction may take it.
    #[inline]
    pub fn floor(&self, mss: f64) -> f64 {
        match self {
            CongestionControl::NewReno(_) | CongestionControl::Cubic(_) | CongestionControl::MulTcp(_) => mss,
            CongestionControl::Wtp(cc) => cc.floor(mss),
            CongestionControl::Constant(cc) => cc.window(mss),
        }
    }

    /// The application sends again with nothing in flight, `idle` after the last segment went out.
    pub fn resumed(&mut self, idle: Duration) {
        if let CongestionControl::Cubic(cc) = self {
            cc.resumed(idle);
        }
    }

    /// An ACK of new data came, and [`CongestionControl::grow`] was not called because the window was not used to the full.
    #[inline]
    pub fn held(&mut self, now: Time) {
        if let CongestionControl::Cubic(cc) = self {
            cc.held(now);
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
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
