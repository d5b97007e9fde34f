//! Hosts of applications: the application of each user, its open connections, and arrival processes.

use evenflow_base::schema::Values;
use evenflow_base::{End, Stream, Time};
use evenflow_traffic::App;
use evenflow_transport::connection::Connection;
use evenflow_transport::sender::Life;
use evenflow_transport::{CongestionControl, Profile};

use crate::probe::How;
use crate::senders::{Logged, SenderSums, Served};
use crate::tcp::Tcp;

/// No flow, or no application.
pub const NONE: u32 = u32::MAX;

/// One kind of traffic of one user that opens flows during the run.
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
    /// It plays adaptive video: what its servers count is its own.
    pub adapts: bool,
    /// Something on the path reads or writes receive windows: every segment tells one.
    pub tells_windows: bool,
    /// Index into [`crate::network::Network::profiles`].
    pub profile: u32,
    /// Template of congestion controls; absent: it opens no connection.
    pub control: Option<Control>,
    /// By the application's own number: the flow of a connection, or [`NONE`].
    pub conns: Vec<u32>,
    /// Ends of future connections with their own reading pace.
    pub paced: Vec<(u32, End)>,
    /// Totals of its flows.
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
    /// A new congestion control; absent if a parameter is drawn for each flow.
    pub fresh: Option<CongestionControl>,
}

impl Control {
    /// A new one for user number `user`; `of` makes the flow's streams.
    pub fn make(&self, profile: &Profile, of: &dyn Fn(&str) -> Stream, user: usize) -> CongestionControl {
        if let Some(fresh) = &self.fresh {
            return fresh.clone().seeded(of);
        }
        let values = self.values.drawn(of, user);
        CongestionControl::build(self.kind, &values, profile, self.weight)
            .expect("the scenario was checked")
            .seeded(of)
    }
}

/// Totals of finished flows of one kind of traffic of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Integrals of their congestion windows: bytes times nanoseconds, nanoseconds open, nanoseconds at the floor. Whole, so that the
    /// order of flows does not matter.
    pub meter: (u128, u64, u64),
    /// Connections that gave up.
    pub dead: u64,
    /// Counters of their senders.
    pub senders: SenderSums,
    /// Counters of their servers about video.
    pub served: Served,
    /// Application bytes in the whole run.
    pub bytes: Bytes,
}

impl Sums {
    /// Adds a flow as of `now`.
    pub fn add(&mut self, live: &Live, tcp: &Tcp, now: Time) {
        tcp.connection.senders().for_each(|sender| self.senders.add(sender, now));
        live.served(&tcp.connection, &mut self.served);
        for (end, side) in End::BOTH.into_iter().zip(&live.sides) {
            let meter = &tcp.ends[end.index()].meter;
            self.meter.0 += meter.bytes_time.round() as u128;
            self.meter.1 += meter.open;
            self.meter.2 += meter.at_floor;
            self.bytes.written += side.written;
            self.bytes.delivered += tcp.connection.received(end);
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

/// Requests of an application for one end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// Bytes written.
    pub written: u64,
    /// Of those, that wait for room in its send buffer.
    pub waiting: u64,
    /// So much was written when all of it was acknowledged last.
    pub acknowledged: u64,
    /// It closes when all waiting data is in the send buffer.
    pub closes: bool,
    /// Probe log of its sender.
    pub logged: Logged,
}

/// The slot of a flow that was opened during the run.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// By [`End`].
    pub sides: [Side; 2],
    /// Payload of datagrams that reached either end.
    pub datagrams: u64,
    /// Index of the connection whose room its next connection takes.
    pub room: Option<u32>,
    /// How it comes to its end.
    pub how: How,
}

impl Live {
    /// A flow that has just been opened, in a place with this `room`.
    pub fn new(room: Option<u32>) -> Live {
        let side = Side { written: 0, waiting: 0, acknowledged: 0, closes: false, logged: Logged::NOTHING };
        Live { sides: [side; 2], datagrams: 0, room, how: How::Closed }
    }

    /// Adds what its server has counted.
    pub fn served(&self, connection: &Connection, to: &mut Served) {
        let server = connection.half(End::Server);
        server.into_iter().for_each(|sender| to.add(sender, &self.sides[End::Server.index()].logged));
    }

    /// Application bytes that were written and have not reached the other end.
    pub fn undelivered(&self, connection: &Connection) -> u64 {
        self.sides.iter().map(|side| side.written).sum::<u64>()
            - End::BOTH.iter().map(|end| connection.received(*end)).sum::<u64>()
    }

    /// Application bytes that wait for room or are in the connection's buffers, by its own account.
    pub fn held(&self, connection: &Connection) -> u64 {
        let of = |end: End| self.sides[end.index()].waiting + connection.buffered(end);
        of(End::Client) + of(End::Server)
    }

    /// Whether all that an end has written is acknowledged now, and was not before.
    pub fn all_acknowledged(&mut self, end: End, connection: &Connection) -> bool {
        let side = &mut self.sides[end.index()];
        if side.acknowledged == side.written || side.waiting > 0 {
            return false;
        }
        let half = connection.half(end);
        let all = half.is_some_and(|half| half.life() != Life::Dead && half.unacknowledged() == 0);
        if all {
            side.acknowledged = side.written;
        }
        all
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
    use evenflow_transport::connection::Outlet;
    use evenflow_transport::profile::Handshake;

    use super::*;
    use crate::network::Flow;
    use crate::slots::Slot;
    use crate::wakeups::Wakeup;

    /// What a flow of one segment holds while it lives: its place in the tables, both ends of its connection, their wake-ups. Not
    /// in it are what the application itself remembers of it (40 B in `short-flows`) and what the allocator adds.
    #[test]
    fn a_short_flow_is_small() {
        for (profile, most) in [(Profile::rfc(), 1596), (Profile { sack: false, ..Profile::rfc() }, 1148)] {
            let profile = Profile { handshake: Handshake::None, ..profile };
            let control = CongestionControl::build("newreno", &Values::default(), &profile, 1.0)
                .expect("no parameters");
            let mut connection = Connection::talking(&profile, control);
            let (mut out, mut notices) = (Vec::new(), Vec::new());
            let to = &mut Outlet { now: Time::ZERO, profile: &profile, out: &mut out, notices: &mut notices };
            connection.open(to);
            connection.write(End::Client, 1000, to);
            assert!(out.iter().any(|segment| segment.payload == 1000), "it is under way");
            let places = size_of::<Live>() + size_of::<Slot>() + size_of::<Flow>() + size_of::<Tcp>();
            let wakeups = 2 * (size_of::<Wakeup>() + size_of::<u32>());
            let bytes = (places + wakeups) as u64 + connection.heap_bytes();
            assert_eq!(bytes, most, "sack {}", profile.sack);
        }
    }
}
