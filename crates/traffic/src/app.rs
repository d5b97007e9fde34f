//! Applications: state machines that receive events of their connections and return calls.
//!
//! An application does no I/O; the instant is an argument. One machine acts at both ends of its connections,
//! but each [`Event`] happens at one end. The host (the simulator or a test) carries out the [`Call`]s in
//! order after [`External::on`] returns. Results arrive as later events.

use evenflow_base::params::Key;
use evenflow_base::schema::{Mechanism, Problem, Sampler, Values};
use evenflow_base::{Duration, Ecn, End, Stream, Time};

use crate::ending::Ending;
use crate::playback::Playback;

/// An application's own small number of a connection, or of a flow of datagrams. It may be used again after
/// [`Event::Closed`].
pub type Conn = u32;

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The application's tag.
    pub tag: u64,
    /// Size on the wire, bytes.
    pub bytes: u16,
    /// Its ECN field: as it is sent, or as it arrived.
    pub ecn: Ecn,
}

/// An event of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It begins. First of all, and once.
    Start,
    /// A shared arrival process has drawn this user.
    Arrival,
    /// The alarm of this number that was set for this instant.
    Timer(u32),
    /// The handshake is complete at this end.
    Opened(Conn, End),
    /// Total bytes that reached this end in order, read or not.
    Received(Conn, End, u64),
    /// Everything that this end has written so far is acknowledged.
    Acked(Conn, End),
    /// The last byte that waited for room in this end's send buffer has been taken into it.
    Room(Conn, End),
    /// The other end has closed, and all that it wrote has arrived.
    PeerClosed(Conn, End),
    /// The other end has reset the connection, or this end's TCP has given up.
    Reset(Conn, End),
    /// The connection is over, however it ended. The last event of every connection.
    Closed(Conn),
    /// A datagram has reached this end.
    Datagram(Conn, End, Datagram),
}

/// A call of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens a TCP connection; the caller is the client.
    Open(Conn),
    /// Opens a flow of datagrams, which either end may send at once. It has no end but that of the run.
    Bind(Conn),
    /// This end writes bytes. Bytes that do not fit into its send buffer wait; [`Event::Room`] follows when
    /// all are taken.
    Write(Conn, End, u64),
    /// This end withdraws written data that its TCP has neither sent nor buffered.
    TakeBack(Conn, End),
    /// This end writes nothing more: its FIN follows its last byte.
    Close(Conn, End),
    /// This end resets the connection. Undelivered data is lost.
    Abort(Conn, End),
    /// Before [`Call::Open`]: this end empties its receive buffer at its own pace. Without it an end reads at once.
    Pace(Conn, End),
    /// An end with its own reading pace reads this many bytes, or all.
    Read(Conn, End, u64),
    /// This end sends a datagram.
    Send(Conn, End, Datagram),
    /// Sets an alarm of this number. It cannot be taken back: a machine ignores one that it no longer waits for.
    Timer(u32, Time),
    /// The end of a transfer.
    Transfer(Transfer),
}

/// The life of a transfer, which a user requests and waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// It begins.
    Started,
    /// All of it has arrived.
    Completed {
        /// Application bytes.
        bytes: u64,
        /// From its start to the first of them; absent where it had none.
        first_byte: Option<Duration>,
        /// From its start to the last of them.
        took: Duration,
    },
    /// The application has given it up.
    Abandoned,
    /// A connection of it was reset, or gave up.
    Failed,
}

/// The context of a new application, without its parameters.
pub struct Setting<'a> {
    /// Makes the stream of a purpose.
    pub stream: &'a dyn Fn(&str) -> Stream,
    /// When it ends, and how; absent: with the run.
    pub ending: Option<Ending>,
    /// Whether a shared arrival process starts its flows.
    pub arrivals: bool,
    /// The number of its user, by which values are dealt that each user has one of.
    pub user: usize,
}

/// The behaviour of an application, whatever its type. A plug-in or a test implements it too.
pub trait External: std::fmt::Debug + Send {
    /// Handles an event and appends the resulting calls to `calls`.
    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>);

    /// Whether the client is at the end of the path. Data then goes from server to client along the path, and
    /// requests come with the ACKs.
    fn client_at_end(&self) -> bool {
        false
    }

    /// Whether it starts with the run, and its flows at instants that it draws itself.
    fn own_starts(&self) -> bool {
        false
    }

    /// Whether it plays video of which it chooses the level.
    fn adapts(&self) -> bool {
        false
    }

    /// A fault in its behaviour.
    fn fault(&self) -> Option<NoLevel> {
        None
    }

    /// The playback of its user, if it plays video.
    fn playback(&self) -> Option<&Playback> {
        None
    }

    /// Bytes on the heap.
    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// An adaptation rule asked for a level beyond the top of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of a fault report")]
pub struct NoLevel {
    pub level: usize,
    pub top: usize,
}

/// An application of this crate.
pub trait Machine: External + Sized {
    /// Its table.
    const TABLE: &'static Mechanism;

    /// Quantities of its table that are fixed for the whole run, and cannot be drawn.
    const FIXED: &'static [&'static str] = &[];

    /// Errors in the combination of parameters; some may be missing because they are wrong or must not be
    /// drawn.
    fn problems(_values: &Values) -> Vec<Problem> {
        Vec::new()
    }

    /// A machine before its start, or errors in the combination of parameters.
    fn build(values: &Values, setting: &Setting) -> Result<Self, Vec<Problem>>;
}

/// A random quantity with its own stream: the n-th draw of an application does not depend on the network.
#[derive(Clone, Debug)]
pub struct Drawn {
    law: Sampler,
    stream: Stream,
    count: usize,
}

impl Drawn {
    /// A parameter, whose stream has the same name. An absent one is `otherwise`.
    pub fn new<T>(values: &Values, key: Key<T>, otherwise: f64, setting: &Setting) -> Drawn {
        let law = values.raw(key).map_or(Sampler::Fixed(otherwise), |value| value.sampler(otherwise));
        Drawn { law, stream: (setting.stream)(key.name), count: 0 }
    }

    /// The same, where values that are dealt begin with the one of this number.
    pub fn dealt_from(self, index: usize) -> Drawn {
        Drawn { count: index, ..self }
    }

    fn draw(&mut self) -> f64 {
        let x = self.law.draw(&mut self.stream, self.count);
        self.count += 1;
        x
    }

    /// The next, in seconds.
    pub fn seconds(&mut self) -> f64 {
        self.draw()
    }

    /// The next, as a time.
    pub fn duration(&mut self) -> Duration {
        Duration::from_seconds(self.draw())
    }

    /// The next, in whole bytes, at least one.
    pub fn bytes(&mut self) -> u64 {
        self.draw().round().clamp(1.0, MOST_BYTES) as u64
    }

    /// The next, as a whole number.
    pub fn whole(&mut self, most: u32) -> u32 {
        self.draw().round().clamp(0.0, f64::from(most)) as u32
    }
}

/// More than any transfer of a run: 1 PB.
pub(crate) const MOST_BYTES: f64 = 1e15;

#[cfg(test)]
pub(crate) mod testing {
    //! Machines stepped directly: events in, calls out.

    use super::*;

    /// The instant at this number of milliseconds.
    pub fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// A machine with these parameters.
    pub fn machine<M: Machine>(values: &Values, ending: Option<Ending>, arrivals: bool) -> M {
        let stream = |name: &str| Stream::new(1, name);
        M::build(values, &Setting { stream: &stream, ending, arrivals, user: 0 }).expect("they are sound")
    }

    /// Each event at its instant (ms) is answered by these calls.
    pub fn steps<M: Machine>(machine: &mut M, table: &[(u64, Event, &[Call])]) {
        for (ms, event, expected) in table {
            let mut calls = Vec::new();
            machine.on(*event, at(*ms), &mut calls);
            assert_eq!(calls, *expected, "{event:?} at {ms} ms");
        }
    }
}
