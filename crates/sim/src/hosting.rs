//! What hosts of applications keep: the application of each user, the connections that it has opened, and arrival processes.

use evenflow_base::schema::Values;
use evenflow_base::{End, Stream, Time};
use evenflow_traffic::App;
use evenflow_transport::connection::Connection;
use evenflow_transport::sender::Life;
use evenflow_transport::{CongestionControl, Profile, Sender};

use crate::measure::{Window, WindowMeter};
use crate::probe::How;
use crate::senders::SenderSums;

/// The place of an application's connection that it does not have.
pub const NONE: u32 = u32::MAX;

/// One kind of traffic of one user that opens flows on the way.
#[derive(Debug)]
pub struct Hosted {
    /// The application.
    pub app: App,
    /// The flow that its flows are modelled after.
    pub root: u32,
    /// Index of its group.
    pub group: u32,
    /// Number of its user in the group.
    pub user: u32,
    /// Its client is at the end of the path.
    pub client_at_end: bool,
    /// Something on the path reads or writes receive windows: every segment tells one.
    pub tells_windows: bool,
    /// Index into [`crate::network::Network::profiles`].
    pub profile: u32,
    /// What congestion controls are made of; absent: it opens no connection.
    pub control: Option<Control>,
    /// By the application's own number: the flow of a connection, or [`NONE`].
    pub conns: Vec<u32>,
    /// Ends of connections that it is about to open which read at a pace of their own.
    pub paced: Vec<(u32, End)>,
    /// What became of its flows.
    pub sums: Sums,
}

impl Hosted {
    /// The flow of connection `conn`, if there is one.
    pub fn flow(&self, conn: u32) -> Option<u32> {
        self.conns.get(conn as usize).copied().filter(|flow| *flow != NONE)
    }

    /// From now on connection `conn` is `flow`.
    pub fn bind(&mut self, conn: u32, flow: u32) {
        let at = conn as usize;
        if self.conns.len() <= at {
            self.conns.resize(at + 1, NONE);
        }
        self.conns[at] = flow;
    }
}

/// How the congestion control of a flow is made.
#[derive(Debug)]
pub struct Control {
    /// Its kind.
    pub kind: &'static str,
    /// Its parameters.
    pub values: Values,
    /// The user's weight.
    pub weight: f64,
    /// One that nobody has used; absent where some parameter is drawn for each flow.
    pub fresh: Option<CongestionControl>,
}

impl Control {
    /// A new one for user number `user`; `of` makes the flow's streams.
    pub fn make(&self, profile: &Profile, of: &dyn Fn(&str) -> Stream, user: usize) -> CongestionControl {
        if let Some(fresh) = &self.fresh {
            return fresh.clone();
        }
        let values = self.values.drawn(of, user);
        CongestionControl::build(self.kind, &values, profile, self.weight).expect("the scenario was checked")
    }
}

/// What became of the flows of one kind of traffic of one user that are over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Integrals of their congestion windows: bytes times nanoseconds, nanoseconds open, nanoseconds at the floor. Whole, so that the
    /// order of flows does not matter.
    pub meter: (u128, u64, u64),
    /// Connections that gave up.
    pub dead: u64,
    /// What their senders have counted.
    pub senders: SenderSums,
    /// Application bytes in the whole run.
    pub bytes: Bytes,
}

impl Sums {
    /// Adds a flow as of `now`.
    pub fn add(&mut self, live: &Live, now: Time) {
        live.senders().for_each(|sender| self.senders.add(sender, now));
        for side in &live.sides {
            self.meter.0 += side.meter.bytes_time.round() as u128;
            self.meter.1 += side.meter.open;
            self.meter.2 += side.meter.at_floor;
            self.bytes.written += side.written;
            self.bytes.delivered += side.received;
        }
    }
}

/// Where application bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Written by applications.
    pub written: u64,
    /// Given to the application at the other end.
    pub delivered: u64,
    /// Not delivered when their connection was over.
    pub abandoned: u64,
    /// Of those, of connections that closed in order: must be none.
    pub lost: u64,
}

/// What one end of a live flow has done.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Bytes written by its application.
    pub written: u64,
    /// Of those, that wait for room in its send buffer.
    pub waiting: u64,
    /// So much was written when all of it was acknowledged last.
    pub acknowledged: u64,
    /// Bytes that reached its application in order.
    pub received: u64,
    /// Payload of datagrams that reached it.
    pub datagrams: u64,
    /// Its wake-up on record; any other is stale.
    pub wake: Time,
    /// Integrals of its congestion window.
    pub meter: WindowMeter,
}

impl Side {
    const NEW: Side = Side {
        written: 0,
        waiting: 0,
        acknowledged: 0,
        received: 0,
        datagrams: 0,
        wake: Time::NEVER,
        meter: WindowMeter::EMPTY,
    };
}

/// What is in the place of a flow that was opened on the way.
#[derive(Debug)]
pub struct Live {
    /// Both ends of its connection, or of the last one that was here, whose room the next takes.
    connection: Option<Connection>,
    /// The connection is the flow's; not so where it carries datagrams, or the place is free.
    connected: bool,
    /// By [`End`].
    pub sides: [Side; 2],
    /// By [`End`]: it closes when it has written what waits.
    pub closes: [bool; 2],
    /// How it comes to its end.
    pub how: How,
}

impl Live {
    /// A place that nobody has had.
    pub const EMPTY: Live = Live {
        connection: None,
        connected: false,
        sides: [Side::NEW; 2],
        closes: [false; 2],
        how: How::Closed,
    };

    /// Both ends of its connection, if it has one.
    #[inline]
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().filter(|_| self.connected)
    }

    /// The same, to be called.
    #[inline]
    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().filter(|_| self.connected)
    }

    /// The flow is a connection, which is to be opened.
    pub fn connect(&mut self, profile: &Profile, control: CongestionControl) -> &mut Connection {
        self.connected = true;
        match &mut self.connection {
            Some(room) => room.renew(profile, control),
            None => self.connection = Some(Connection::talking(profile, control)),
        }
        self.connection.as_mut().expect("it was just made")
    }

    /// The flow is over: the place is empty.
    pub fn vacate(&mut self) {
        self.connected = false;
        self.sides = [Side::NEW; 2];
        self.closes = [false; 2];
        self.how = How::Closed;
    }

    /// Application bytes that reached either end.
    pub fn delivered(&self) -> u64 {
        self.sides.iter().map(|side| side.received + side.datagrams).sum()
    }

    /// What its ends send with, as far as they send.
    pub fn senders(&self) -> impl Iterator<Item = &Sender> {
        let halves =
            |connection| End::BOTH.into_iter().filter_map(move |end| Connection::half(connection, end));
        self.connection().into_iter().flat_map(halves)
    }

    /// Application bytes that were written and have not reached the other end.
    pub fn undelivered(&self) -> u64 {
        self.sides.iter().map(|side| side.written).sum::<u64>()
            - self.sides.iter().map(|side| side.received).sum::<u64>()
    }

    /// Application bytes that wait for room or are in the connection's buffers, by its own account.
    pub fn held(&self) -> u64 {
        let Some(connection) = self.connection() else { return 0 };
        let of = |end: End| self.sides[end.index()].waiting + connection.buffered(end);
        of(End::Client) + of(End::Server)
    }

    /// Whether all that an end has written is acknowledged now, and was not before.
    pub fn all_acknowledged(&mut self, end: End) -> bool {
        let side = &self.sides[end.index()];
        if side.acknowledged == side.written || side.waiting > 0 {
            return false;
        }
        let half = self.connection().and_then(|connection| connection.half(end));
        let all = half.is_some_and(|half| half.life() != Life::Dead && half.unacknowledged() == 0);
        if all {
            let side = &mut self.sides[end.index()];
            side.acknowledged = side.written;
        }
        all
    }

    /// Brings the integrals of an end's congestion window up to `now`, if it has written.
    #[inline]
    pub fn advance(&mut self, end: End, profile: &Profile, now: Time, window: &Window) {
        if self.sides[end.index()].written > 0 {
            self.advance_written(end, profile, now, window);
        }
    }

    fn advance_written(&mut self, end: End, profile: &Profile, now: Time, window: &Window) {
        let connection = self.connection.as_ref().filter(|_| self.connected);
        let half = connection.and_then(|connection| connection.half(end));
        let side = &mut self.sides[end.index()];
        match half.filter(|half| half.life() == Life::Open) {
            Some(half) => side.meter.advance(half.window().cwnd, profile.segment(), now, window),
            None => side.meter.skip(now),
        }
    }
}

/// An arrival process that groups share.
#[derive(Debug)]
pub struct Arrivals {
    /// When, and whom of which share it meets.
    pub process: evenflow_traffic::Arrivals,
    /// For each share: the application of its first user, and how many lie between those of two users.
    pub shares: Vec<(u32, u32)>,
}

#[cfg(test)]
mod tests {
    use evenflow_transport::profile::Handshake;

    use super::*;
    use crate::network::Flow;
    use crate::slots::Slot;
    use crate::wakeups::Wakeup;

    /// What a flow of one segment holds while it lives: its place in the tables, both ends of its connection, their wake-ups. Not
    /// in it are what the application itself remembers of it (40 B in `short-flows`) and what the allocator adds.
    #[test]
    fn a_short_flow_is_small() {
        for (profile, most) in [(Profile::rfc(), 1404), (Profile { sack: false, ..Profile::rfc() }, 1028)] {
            let profile = Profile { handshake: Handshake::None, ..profile };
            let control = CongestionControl::build("newreno", &Values::default(), &profile, 1.0)
                .expect("no parameters");
            let mut live = Live::EMPTY;
            let connection = live.connect(&profile, control);
            let (mut out, mut notices) = (Vec::new(), Vec::new());
            connection.open(Time::ZERO, &profile, &mut out, &mut notices);
            connection.write(End::Client, 1000, Time::ZERO, &profile, &mut out);
            assert!(out.iter().any(|segment| segment.payload == 1000), "it is under way");
            let places = size_of::<Live>() + size_of::<Slot>() + size_of::<Flow>();
            let wakeups = 2 * (size_of::<Wakeup>() + size_of::<u32>());
            let bytes = places + wakeups + live.connection().expect("it is open").held_bytes();
            assert_eq!(bytes, most, "sack {}", profile.sack);
        }
    }
}
