//! A TCP connection of a run: both ends, their wake-ups and the integrals of their windows.

use evenflow_base::{End, Time};
use evenflow_transport::sender::Life;
use evenflow_transport::{Connection, Profile};

use crate::measure::{Window, WindowMeter};

/// A TCP connection of a run.
#[derive(Debug)]
pub struct Tcp {
    /// Both ends.
    pub connection: Connection,
    /// The engine's state of each end.
    pub ends: [TcpEnd; 2],
    /// Index into [`Network::profiles`].
    pub profile: u32,
    /// The flow whose connection it is.
    pub flow: u32,
}

/// The engine's state of an end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpEnd {
    /// When it is to be woken.
    pub wake: Time,
    /// Integrals of its congestion window.
    pub meter: WindowMeter,
}

impl TcpEnd {
    /// An end that has not written.
    pub const NEW: TcpEnd = TcpEnd { wake: Time::NEVER, meter: WindowMeter::IDLE };
}

impl Tcp {
    /// An end is to be woken at `due`: whether that is earlier than the wake-up on record, which it then replaces.
    #[inline(always)]
    pub fn due(&mut self, end: End, due: Time) -> Option<Time> {
        let wake = &mut self.ends[end.index()].wake;
        (due < *wake).then(|| {
            *wake = due;
            due
        })
    }

    /// Integrates the congestion window of an end up to `now`.
    #[inline]
    pub fn advance(&mut self, end: End, profile: &Profile, now: Time, window: &Window) {
        let meter = &mut self.ends[end.index()].meter;
        if meter.is_idle() {
            return;
        }
        match self.connection.half(end).filter(|sender| sender.life() == Life::Open) {
            Some(sender) => meter.advance(sender.window().cwnd, profile.segment(), now, window),
            None => meter.skip(now),
        }
    }
}
