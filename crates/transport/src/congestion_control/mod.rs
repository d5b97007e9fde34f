//! Congestion controls: how the window grows and shrinks, and nothing else.
//!
//! Each speaks bytes here; one whose paper or RFC speaks packets converts at its own door. Recovery decides *when* these
//! are called: [`CongestionControl::grow`] for an ACK of new data outside recovery, [`CongestionControl::reduce`] once
//! for each congestion event (a loss, a round trip with congestion marks, a timeout).

pub mod newreno;

use evenflow_base::schema::{Problem, Values};
use evenflow_base::{Duration, Time};

use newreno::Counting;
pub use newreno::NewReno;

use crate::Profile;

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

/// A congestion control, dispatched statically.
#[derive(Clone, Debug)]
pub enum CongestionControl {
    /// See [`newreno`].
    NewReno(NewReno),
}

impl CongestionControl {
    /// The control called `kind` on a stack. `weight` is its user's.
    pub fn build(
        kind: &str,
        _values: &Values,
        profile: &Profile,
        _weight: f64,
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
            other => panic!("no congestion control is called {other}"),
        }
    }

    /// Sets the window with which a connection begins; `w` holds the stack's own.
    pub fn start(&mut self, _w: &mut Window, _mss: f64) {}

    /// New data was acknowledged outside loss recovery.
    #[inline]
    pub fn grow(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            CongestionControl::NewReno(cc) => cc.grow(window, acked),
        }
    }

    /// The slow-start threshold after a congestion event. The window itself follows it as recovery decides.
    #[inline]
    pub fn reduce(&mut self, window: &Window, event: &Congestion) -> f64 {
        match self {
            CongestionControl::NewReno(cc) => cc.reduce(window, event),
        }
    }

    /// Whether [`CongestionControl::grow`] deals with congestion marks one by one. Where it does not, an ACK that carries
    /// marks grows nothing (RFC 3168 section 6.1.2), and the first of a round trip is a congestion event.
    #[inline]
    pub fn takes_every_mark(&self) -> bool {
        match self {
            CongestionControl::NewReno(_) => false,
        }
    }

    /// The floor of the window, bytes: where a timeout or a reduction may take it.
    #[inline]
    pub fn floor(&self, mss: f64) -> f64 {
        match self {
            CongestionControl::NewReno(_) => mss,
        }
    }

    /// The application sends again after having had nothing in flight for `idle`.
    pub fn resumed(&mut self, _idle: Duration) {}

    /// A congestion event was none after all: what [`CongestionControl::reduce`] forgot comes back.
    pub fn undo(&mut self, _window: &Window) {}
}
