//! A client that asks a server for objects over HTTP/1.1: so many connections at most, one object at a time on each.
//!
//! Connections are kept alive, or the server closes each after its response (RFC 9112 sections 9.3 and 9.6). Both ends are
//! here: the server answers when the whole request has arrived and its own time has passed. Not here: pipelining, HTTP/2, a
//! server that closes idle connections.

use evenflow_base::schema::Values;
use evenflow_base::{End, Time};

use crate::app::{Call, Conn, Drawn, Event, Setting};

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
    /// When the server answers it.
    answers: Time,
    /// Whether the first byte of the current response has arrived.
    began: bool,
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
        answers: Time::NEVER,
        began: false,
        closed: [false; 2],
    };
}

/// What the client has learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The first byte of an object.
    Begun,
    /// All of an object, of so many bytes.
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
}

impl Client {
    /// A client of at most `most` connections; `request`, `service` and `keep_alive` are parameters.
    pub fn new(values: &Values, most: u32, setting: &Setting) -> Client {
        Client {
            most: most.max(1),
            keep: values.flag("keep_alive"),
            request: Drawn::new(values, "request", 1.0, setting),
            service: Drawn::new(values, "service", 0.0, setting),
            channels: Vec::new(),
        }
    }

    /// Asks for an object of `size` bytes, on a connection that is idle or a new one; `false` if all are busy.
    pub fn ask(&mut self, size: u64, calls: &mut Vec<Call>) -> bool {
        if let Some(number) = self.find(Stage::Idle) {
            self.channels[number as usize].size = size;
            self.send(number, calls);
            return true;
        }
        let live = |c: &&Channel| matches!(c.stage, Stage::Opening | Stage::Idle | Stage::Busy);
        if self.channels.iter().filter(live).count() >= self.most as usize {
            return false;
        }
        let number = self.find(Stage::Free).unwrap_or_else(|| {
            self.channels.push(Channel::NEW);
            self.channels.len() as u32 - 1
        });
        self.channels[number as usize] = Channel { stage: Stage::Opening, size, ..Channel::NEW };
        calls.push(Call::Open(number));
        true
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
        (channel.heard, channel.began, channel.answers) = (false, false, Time::NEVER);
        calls.push(Call::Write(number, End::Client, request));
    }

    /// The server answers.
    fn answer(&mut self, number: Conn, calls: &mut Vec<Call>) {
        let channel = &mut self.channels[number as usize];
        channel.answers = Time::NEVER;
        calls.push(Call::Write(number, End::Server, channel.size));
        if !self.keep {
            self.shut(number, End::Server, calls);
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
            if matches!(channel.stage, Stage::Opening | Stage::Busy) || (idle && channel.stage == Stage::Idle)
            {
                (channel.stage, channel.closed) = (Stage::Leaving, [true; 2]);
                calls.push(Call::Abort(number as Conn, End::Client));
            }
        }
    }

    /// Closes every connection on which nothing is asked for.
    pub fn close(&mut self, calls: &mut Vec<Call>) {
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
            Event::Received(number, End::Server, bytes) if self.stage(number) == Stage::Busy => {
                let channel = &mut self.channels[number as usize];
                if bytes >= channel.asked && !channel.heard {
                    channel.heard = true;
                    let service = self.service.duration();
                    if service.0 == 0 {
                        self.answer(number, calls);
                    } else {
                        channel.answers = now + service;
                        calls.push(Call::Timer(number, channel.answers));
                    }
                }
            }
            Event::Timer(number) => {
                let due = |c: &Channel| c.stage == Stage::Busy && c.answers == now;
                if self.channels.get(number as usize).is_some_and(due) {
                    self.answer(number, calls);
                }
            }
            Event::Received(number, End::Client, bytes) if self.stage(number) == Stage::Busy => {
                return self.response(number, bytes);
            }
            // The server has closed after its response, or the client has nothing more to ask.
            Event::PeerClosed(number, end) => self.shut(number, end, calls),
            Event::Reset(number, _) => return self.gone(number, Stage::Leaving),
            Event::Closed(number) => return self.gone(number, Stage::Free),
            _ => {}
        }
        None
    }

    fn response(&mut self, number: Conn, bytes: u64) -> Option<News> {
        let channel = &mut self.channels[number as usize];
        if bytes < channel.before + channel.size {
            let begins = !channel.began && bytes > channel.before;
            channel.began |= begins;
            return begins.then_some(News::Begun);
        }
        let size = channel.size;
        channel.before += size;
        channel.stage = if self.keep { Stage::Idle } else { Stage::Leaving };
        Some(News::Done(size))
    }

    fn gone(&mut self, number: Conn, next: Stage) -> Option<News> {
        let channel = &mut self.channels[number as usize];
        channel.closed = [true; 2];
        let before = std::mem::replace(&mut channel.stage, next);
        matches!(before, Stage::Opening | Stage::Busy).then_some(News::Failed)
    }

    fn stage(&self, number: Conn) -> Stage {
        self.channels[number as usize].stage
    }
}
