//! A client that requests objects from a server over HTTP/1.1, with a maximum number of connections and one
//! object at a time on each.
//!
//! Connections are kept alive, or the server closes each after its response (RFC 9112 sections 9.3 and 9.6).
//! The server answers when it has the whole request and its service time has passed. Not modelled:
//! pipelining, HTTP/2, a server that closes idle connections.

use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, End, Heap, Time};

use crate::app::{Call, Conn, Drawn, Event, Setting};

params! {
    /// Parameters of a client of a server.
    #[derive(Clone, Debug)]
    pub struct Asking {
        /// Serve several requests on a connection. Otherwise the server closes it after its response, and
        /// each request opens a new one.
        keep_alive: bool = Flag, Text("true")
            => source: "RFC 9112 section 9.3: persistent connections are the default";
        /// Maximum waiting time of a user, drawn for each transfer. After it the user resets the connections
        /// in use and continues as if served.
        patience: Option<Value> = Duration, Absent("unlimited"), Range::NOT_NEGATIVE
            => source: "";
        /// Application bytes of a request, drawn for each.
        request: Value = Bytes, Text("350 B"), Range::FROM_ONE
            => source: "docs/scenarios.md: a GET with its header fields";
        /// Time from the last byte of a request at the server to its response, drawn for each.
        service: Value = Duration, Text("0 s"), Range::NOT_NEGATIVE => source: "docs/scenarios.md";
        /// Time from the end of a transfer to the start of the next, drawn for each.
        think: Value = Duration, Text("0 s"), Range::NOT_NEGATIVE => source: "docs/scenarios.md";
    }
}

/// How far a connection has got, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its number is free.
    Free,
    Opening,
    /// Open, and not asked for anything.
    Idle,
    /// An object is asked for.
    Busy,
    /// Its response is no longer needed.
    Draining,
    /// Nothing will be asked for any more; both ends may still be closing.
    Leaving,
}

/// One connection.
#[derive(Clone, Copy, Debug)]
struct Channel {
    stage: Stage,
    /// Bytes of all requests so far.
    asked: u64,
    /// Bytes of all responses before the current one.
    before: u64,
    /// Bytes of the current response.
    size: u64,
    /// Whether the server has the current request.
    heard: bool,
    /// When the server writes next.
    writes: Time,
    /// Start of the server's response, and its bytes and number of writes since.
    answered: Time,
    written: u64,
    writes_done: u64,
    /// How it writes; absent: all at once.
    pace: Option<Pace>,
    /// Bytes of the current response that have arrived.
    arrived: u64,
    /// Which ends have closed.
    closed: [bool; 2],
}

impl Channel {
    const NEW: Channel = Channel {
        stage: Stage::Free,
        asked: 0,
        before: 0,
        size: 0,
        heard: false,
        writes: Time::NEVER,
        answered: Time::NEVER,
        written: 0,
        writes_done: 0,
        pace: None,
        arrived: 0,
        closed: [false; 2],
    };
}

/// How a server writes a response: the first bytes at once, then equal chunks at equal gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Bytes at once, at least one.
    pub first: u64,
    /// Bytes of a chunk, at least one.
    pub chunk: u64,
    /// Seconds from one chunk to the next.
    pub gap: f64,
}

/// News for the client's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The first bytes of an object, with their number.
    Begun(u64),
    /// Part of an object: total bytes so far.
    More(u64),
    /// An object is complete, with its bytes.
    Done(u64),
    /// A connection on which an object was asked for is gone.
    Failed,
}

/// The client and its server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    most: u32,
    keep: bool,
    request: Drawn,
    service: Drawn,
    channels: Vec<Channel>,
    /// Nothing more will be asked for.
    leaves: bool,
}

impl Client {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.channels.heap_bytes()
    }

    /// A client of at most `most` connections, each kept for more than one object or not; `request` and `service` are parameters.
    pub fn new(values: &Values, most: u32, keep: bool, setting: &Setting) -> Client {
        Client {
            most: most.max(1),
            keep,
            request: Drawn::new(values, Asking::request, 1.0, setting),
            service: Drawn::new(values, Asking::service, 0.0, setting),
            channels: Vec::new(),
            leaves: false,
        }
    }

    /// Asks for an object of `size` bytes, on a connection that is idle or a new one; `false` if all are busy.
    pub fn ask(&mut self, size: u64, calls: &mut Vec<Call>) -> bool {
        self.ask_at_pace(size, None, calls)
    }

    /// The same, of a server that writes at a pace.
    pub fn ask_at_pace(&mut self, size: u64, pace: Option<Pace>, calls: &mut Vec<Call>) -> bool {
        if let Some(number) = self.find(Stage::Idle) {
            let channel = &mut self.channels[number as usize];
            (channel.size, channel.pace) = (size, pace);
            self.send(number, calls);
            return true;
        }
        if self.live() >= self.most as usize {
            return false;
        }
        let number = self.find(Stage::Free).unwrap_or_else(|| {
            self.channels.push(Channel::NEW);
            self.channels.len() as u32 - 1
        });
        self.channels[number as usize] = Channel { stage: Stage::Opening, size, pace, ..Channel::NEW };
        calls.push(Call::Open(number));
        true
    }

    /// Connections that serve the client, or can.
    fn live(&self) -> usize {
        let live = |c: &&Channel| matches!(c.stage, Stage::Opening | Stage::Idle | Stage::Busy);
        self.channels.iter().filter(live).count()
    }

    fn find(&self, stage: Stage) -> Option<Conn> {
        self.channels.iter().position(|c| c.stage == stage).map(|n| n as Conn)
    }

    /// Sends the request for the object of a connection's `size`.
    fn send(&mut self, number: Conn, calls: &mut Vec<Call>) {
        let request = self.request.bytes();
        let channel = &mut self.channels[number as usize];
        channel.stage = Stage::Busy;
        channel.asked += request;
        (channel.heard, channel.arrived) = (false, 0);
        (channel.writes, channel.written, channel.writes_done) = (Time::NEVER, 0, 0);
        calls.push(Call::Write(number, End::Client, request));
    }

    /// The server writes: all of its answer, or the next part of it.
    fn answer(&mut self, number: Conn, now: Time, calls: &mut Vec<Call>) {
        let channel = &mut self.channels[number as usize];
        let left = channel.size - channel.written;
        let bytes = match channel.pace {
            None => left,
            Some(pace) if channel.written == 0 => {
                channel.answered = now;
                pace.first.min(left)
            }
            Some(pace) => pace.chunk.min(left),
        };
        channel.written += bytes;
        channel.writes_done += 1;
        channel.writes = Time::NEVER;
        calls.push(Call::Write(number, End::Server, bytes));
        match channel.pace.filter(|_| channel.written < channel.size) {
            Some(pace) => {
                // By the clock of the first write, so that gaps do not drift.
                let since = Duration::from_seconds(pace.gap * channel.writes_done as f64);
                channel.writes = channel.answered + since;
                calls.push(Call::Timer(number, channel.writes));
            }
            None if !self.keep => self.shut(number, End::Server, calls),
            None => {}
        }
    }

    /// An end closes, if it has not yet.
    fn shut(&mut self, number: Conn, end: End, calls: &mut Vec<Call>) {
        let closed = &mut self.channels[number as usize].closed[end.index()];
        if !std::mem::replace(closed, true) {
            calls.push(Call::Close(number, end));
        }
    }

    /// Resets every connection on which an object is asked for. With `idle` the others too.
    pub fn abort(&mut self, idle: bool, calls: &mut Vec<Call>) {
        for (number, channel) in self.channels.iter_mut().enumerate() {
            if matches!(channel.stage, Stage::Opening | Stage::Busy)
                || (idle && matches!(channel.stage, Stage::Idle | Stage::Draining))
            {
                (channel.stage, channel.closed) = (Stage::Leaving, [true; 2]);
                calls.push(Call::Abort(number as Conn, End::Client));
            }
        }
    }

    /// The requested object is no longer needed. It still arrives, and its connection may then serve another
    /// request. A connection in its handshake is reset.
    pub fn drain(&mut self, calls: &mut Vec<Call>) {
        for (number, channel) in self.channels.iter_mut().enumerate() {
            match channel.stage {
                Stage::Busy => channel.stage = Stage::Draining,
                Stage::Opening => {
                    (channel.stage, channel.closed) = (Stage::Leaving, [true; 2]);
                    calls.push(Call::Abort(number as Conn, End::Client));
                }
                _ => {}
            }
        }
    }

    /// The client closes its end of every connection at once, whatever still comes; one that is only opening is reset.
    pub fn hang_up(&mut self, calls: &mut Vec<Call>) {
        self.drain(calls);
        for number in 0..self.channels.len() as Conn {
            let stage = &mut self.channels[number as usize].stage;
            if matches!(stage, Stage::Idle | Stage::Draining) {
                *stage = Stage::Leaving;
                self.shut(number, End::Client, calls);
            }
        }
    }

    /// Bytes that have arrived of the objects that are asked for.
    pub fn arrived(&self) -> u64 {
        self.channels.iter().filter(|c| c.stage == Stage::Busy).map(|c| c.arrived).sum()
    }

    /// Closes every connection on which nothing is asked for; those that drain later.
    pub fn close(&mut self, calls: &mut Vec<Call>) {
        self.leaves = true;
        while let Some(number) = self.find(Stage::Idle) {
            self.channels[number as usize].stage = Stage::Leaving;
            self.shut(number, End::Client, calls);
        }
    }

    /// Something happened to one of its connections.
    pub fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) -> Option<News> {
        match event {
            Event::Opened(number, End::Client) if self.stage(number) == Stage::Opening => {
                self.send(number, calls);
            }
            Event::Received(number, End::Server, bytes) if self.is_served(number) => {
                let channel = &mut self.channels[number as usize];
                if bytes >= channel.asked && !channel.heard {
                    channel.heard = true;
                    let service = self.service.duration();
                    if service.0 == 0 {
                        self.answer(number, now, calls);
                    } else {
                        channel.writes = now + service;
                        calls.push(Call::Timer(number, channel.writes));
                    }
                }
            }
            Event::Timer(number) => {
                let asked = |c: &Channel| matches!(c.stage, Stage::Busy | Stage::Draining);
                let due = |c: &Channel| asked(c) && c.writes == now;
                if self.channels.get(number as usize).is_some_and(due) {
                    self.answer(number, now, calls);
                }
            }
            Event::Received(number, End::Client, bytes) if self.is_served(number) => {
                return self.response(number, bytes, calls);
            }
            // The server has closed after its response, or the client has nothing more to ask.
            Event::PeerClosed(number, end) => self.shut(number, end, calls),
            Event::Reset(number, _) => return self.gone(number, Stage::Leaving),
            Event::Closed(number) => return self.gone(number, Stage::Free),
            _ => {}
        }
        None
    }

    fn response(&mut self, number: Conn, bytes: u64, calls: &mut Vec<Call>) -> Option<News> {
        let channel = &mut self.channels[number as usize];
        let wanted = channel.stage == Stage::Busy;
        if bytes < channel.before + channel.size {
            let so_far = bytes.saturating_sub(channel.before);
            let begins = channel.arrived == 0;
            channel.arrived = so_far;
            return match so_far {
                0 => None,
                _ if !wanted => None,
                _ if begins => Some(News::Begun(so_far)),
                _ => Some(News::More(so_far)),
            };
        }
        let size = channel.size;
        channel.before += size;
        channel.stage = if self.keep { Stage::Idle } else { Stage::Leaving };
        if wanted {
            return Some(News::Done(size));
        }
        // Others may have taken its place in the meantime.
        if self.keep && (self.leaves || self.live() > self.most as usize) {
            self.channels[number as usize].stage = Stage::Leaving;
            self.shut(number, End::Client, calls);
        }
        None
    }

    fn gone(&mut self, number: Conn, next: Stage) -> Option<News> {
        let channel = &mut self.channels[number as usize];
        channel.closed = [true; 2];
        let before = std::mem::replace(&mut channel.stage, next);
        matches!(before, Stage::Opening | Stage::Busy).then_some(News::Failed)
    }

    /// Whether an object is asked for, wanted or not.
    fn is_served(&self, number: Conn) -> bool {
        matches!(self.stage(number), Stage::Busy | Stage::Draining)
    }

    fn stage(&self, number: Conn) -> Stage {
        self.channels[number as usize].stage
    }
}
