//! TCP endpoints and congestion controls without I/O: segments and timers in, segments out.
//!
//! [`Sender`] has recovery, ACKs and the retransmission timer. A [`CongestionControl`] only changes the
//! window. [`Receiver`] reassembles and acknowledges. A [`Profile`] is data. Times are arguments; the caller
//! wakes an endpoint at [`Sender::deadline`] and [`Receiver::deadline`].

#[macro_use(observables, params, words)]
extern crate evenflow_base;

pub mod congestion_control;
pub mod connection;
pub mod ecn;
pub mod exposure;
pub mod profile;
pub mod receiver;
pub mod rtt;
pub mod scripted;
pub mod sender;

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Ecn, flags, ip};

pub use congestion_control::{CONTROLS, CongestionControl, Window};
pub use connection::{Connection, Notice, State};
pub use profile::Profile;
pub use receiver::Receiver;
pub use sender::Sender;

/// Segments that a sender gives out in one call: a run that reaches them ends.
pub const MOST_AT_ONCE: usize = 1 << 22;

/// A segment that an endpoint wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Data: offset of the first byte. ACK: next byte expected.
    pub seq: u64,
    /// Application bytes.
    pub payload: u16,
    /// Timestamp value or echo.
    pub stamp: u32,
    /// Bits of [`flags`].
    pub flags: u8,
    /// Bits of [`ip`]: the ECN field it is sent with, and which way it goes.
    pub ip: u8,
    /// Sent before: a retransmission.
    pub again: bool,
}

impl Segment {
    /// The ECN field it is sent with.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::of(self.ip)
    }

    /// Whether it goes backwards: what the receiving end sends.
    #[inline]
    pub fn is_backward(&self) -> bool {
        self.ip & ip::BACKWARD != 0
    }

    /// Its size on the wire, bytes.
    #[inline]
    pub fn size(&self, profile: &Profile) -> u16 {
        let extra = if self.flags & flags::SYN != 0 { profile.syn_extra } else { 0 };
        (u64::from(self.payload) + profile.header + extra) as u16
    }
}

/// The tables of stacks.
pub static STACKS: &[&Mechanism] = &[&profile::TCP];

/// Errors in the combination of parameters. [`Profile::apply`] checks the options of a profile.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    if kind == profile::TCP.kind {
        return Vec::new();
    }
    CongestionControl::build(kind, values, &Profile::rfc(), 1.0).err().unwrap_or_default()
}
