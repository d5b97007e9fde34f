//! TCP endpoints and congestion controls, sans I/O: segments and timers in, segments out.
//!
//! [`Sender`] owns recovery, acknowledgements and the retransmission timer; a [`CongestionControl`] says only how the
//! window grows and shrinks; [`Receiver`] reassembles and acknowledges. What a profile decides is data ([`Profile`]).
//! Times are arguments; the caller wakes an endpoint at [`Sender::deadline`] and [`Receiver::deadline`].

pub mod congestion_control;
pub mod profile;
pub mod receiver;
pub mod rtt;
pub mod sender;

use evenflow_base::flags;
use evenflow_base::schema::{Mechanism, Problem, Values};

pub use congestion_control::{CongestionControl, Window};
pub use profile::Profile;
pub use receiver::Receiver;
pub use sender::Sender;

/// A segment that an endpoint wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Data: offset of the first byte. ACK: next byte expected.
    pub seq: u64,
    /// Application bytes.
    pub payload: u16,
    /// Bits of [`flags`].
    pub flags: u8,
    /// Timestamp value or echo.
    pub stamp: u32,
}

impl Segment {
    /// Its size on the wire, bytes.
    #[inline]
    pub fn size(&self, profile: &Profile) -> u16 {
        let extra = if self.flags & flags::SYN != 0 { profile.syn_extra } else { 0 };
        (u32::from(self.payload) + profile.header + extra) as u16
    }
}

/// The tables of congestion controls and stacks.
pub static MECHANISMS: &[&Mechanism] = &[&congestion_control::NEWRENO, &profile::TCP];

/// What is wrong with several parameters together.
pub fn check(_kind: &str, _values: &Values) -> Vec<Problem> {
    Vec::new()
}
