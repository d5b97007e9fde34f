//! Congestion controls: how the window grows and shrinks, and nothing else.
//!
//! Each speaks bytes here; one whose paper or RFC speaks packets converts at its own door. Recovery decides *when* these
//! are called: [`Control::grow`] for an ACK of new data outside recovery, [`Control::reduce`] once for each congestion event
//! (a loss, a round trip with congestion marks, a timeout).

mod control;
pub mod hystart;
mod register;
pub mod stepper;

use evenflow_base::schema::{Mechanism, Observable, Problem, Value, Values};
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

/// How far a control's parameters let a window go, in packets: what an estimate of a run's memory has to know. Of what is drawn
/// the largest counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The window is never smaller.
    pub least: f64,
    /// Nor larger.
    pub most: f64,
    /// What one ACK may add to any window: one packet in slow start, none without.
    pub ack: f64,
    /// What the ACKs of a round trip may add together: each this much over the window.
    pub round: f64,
    /// From which window on.
    pub from: f64,
}

impl Default for Reach {
    /// Slow start and less: an ACK adds no more than it acknowledges.
    fn default() -> Reach {
        Reach { least: 1.0, most: f64::INFINITY, ack: 1.0, round: 1.0, from: 1.0 }
    }
}

impl Reach {
    /// How large the window is after so many ACKs of one connection, which began with `first` packets, what slow start adds left out.
    /// From a window w an ACK adds `round` / w: the first at most [`Reach::jump`], and the square of a window that is no longer small
    /// grows by 2.25 `round` at most.
    pub fn window(&self, first: f64, acks: f64) -> f64 {
        let own = if self.ack > 1.0 { (self.ack - 1.0) * acks } else { 0.0 };
        // Slow start is more than a packet a round trip.
        let counts = self.round > 1.0 || self.ack < 1.0;
        let shared = if counts { self.jump() + libm::sqrt(2.25 * self.round * acks) } else { 0.0 };
        (first.max(self.least) + own + shared).min(self.most.max(self.least))
    }

    /// The most that one ACK adds of what a round trip's add together.
    fn jump(&self) -> f64 {
        self.round / self.least.max(self.from).max(1.0)
    }

    /// What one ACK lets out at the most.
    pub fn burst(&self) -> f64 {
        self.ack.max(self.jump()).max(self.least).min(self.most.max(self.least))
    }
}

/// The largest that a parameter may be; absent: `otherwise`.
fn most(values: &Values, name: &str, otherwise: f64) -> f64 {
    values.get(name).map_or(otherwise, largest)
}

/// The largest that a quantity may be drawn as.
fn largest(value: &Value) -> f64 {
    match value {
        Value::Random(law) => law.extremes().1,
        fixed => fixed.number().unwrap_or(0.0),
    }
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
