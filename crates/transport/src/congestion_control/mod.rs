//! Congestion controls: how the window grows and shrinks, and nothing else.
//!
//! Each speaks bytes here; one whose paper or RFC speaks packets converts at its own door. Recovery decides *when* these
//! are called: [`Control::grow`] for an ACK of new data outside recovery, [`Control::reduce`] once for each congestion event
//! (a loss, a round trip with congestion marks, a timeout).

mod control;
pub mod hystart;
mod register;
pub mod stepper;

use evenflow_base::schema::{Mechanism, Observable, Problem, Values};
use evenflow_base::{Duration, Time};

pub use control::Control;

use crate::Profile;

// Module, type, and how it is kept: those with much to remember in a box, so that a flow of NewReno pays nothing for them.
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
}

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
    /// The one-way delay of the packet that it acknowledges, where the other end puts its clock into its ACKs.
    pub one_way: Option<Duration>,
    /// Congestion marks that it reports. For [`Control::grow`] more than zero only where the control takes every
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

#[cfg(test)]
mod tests;
