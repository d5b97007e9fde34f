//! An application stepped by hand: an event in, calls out.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use serde_json::{Value, json};

use evenflow_base::schema::{Problem, Values};
use evenflow_base::{Ecn, End, Stream, Time};
use evenflow_traffic::{App, Call, Common, Conn, Datagram, Event, Setting, Transfer, ending};

use crate::args::{Args, bad};

/// The events that it takes.
pub const METHODS: &str =
    "start, arrival, timer, opened, received, acked, room, peer_closed, reset, closed, datagram";

/// An application, and the connections that it has open.
pub struct Application {
    app: App,
    open: BTreeSet<Conn>,
}

impl Application {
    /// The application called `kind`, with streams of this seed.
    pub fn new(kind: &str, values: &Values, seed: u64) -> Result<Application, Vec<Problem>> {
        let stream = |purpose: &str| Stream::new(seed, purpose);
        let ending = ending(values, &mut stream("until"), 0);
        let arrivals = values.has(Common::arrivals);
        let app = App::build(kind, values, &Setting { stream: &stream, ending, arrivals, user: 0 })?;
        Ok(Application { app, open: BTreeSet::new() })
    }

    /// Tells it what happened; `None`, if no event has this name.
    pub fn call(&mut self, method: &str, args: &Args, now: Time) -> PyResult<Option<Args>> {
        let Some(event) = self.event(method, args)? else { return Ok(None) };
        let mut calls = Vec::new();
        self.app.on(event, now, &mut calls);
        if let Event::Closed(conn) = event {
            self.open.remove(&conn);
        }
        for call in &calls {
            if let Call::Open(conn) | Call::Bind(conn) = call {
                self.open.insert(*conn);
            }
        }
        let calls: Vec<Value> = calls.into_iter().map(as_json).collect();
        Ok(Some(Args::from_iter([("calls".to_owned(), Value::Array(calls))])))
    }

    fn event(&self, method: &str, args: &Args) -> PyResult<Option<Event>> {
        let conn = || {
            let conn = whole(args, "conn", Some(0))? as Conn;
            if self.open.contains(&conn) {
                return Ok(conn);
            }
            let open: Vec<String> = self.open.iter().map(Conn::to_string).collect();
            let open =
                if open.is_empty() { "none is".to_owned() } else { format!("open: {}", open.join(", ")) };
            Err(bad(format!("connection {conn} is not open; {open}")))
        };
        let end = || match args.get("end").and_then(Value::as_str) {
            Some("client") => Ok(End::Client),
            Some("server") => Ok(End::Server),
            _ => Err(bad("end must be \"client\" or \"server\"")),
        };
        Ok(Some(match method {
            "start" => Event::Start,
            "arrival" => Event::Arrival,
            "timer" => Event::Timer(whole(args, "number", None)? as u32),
            "opened" => Event::Opened(conn()?, end()?),
            "received" => Event::Received(conn()?, end()?, whole(args, "total", None)?),
            "acked" => Event::Acked(conn()?, end()?),
            "room" => Event::Room(conn()?, end()?),
            "peer_closed" => Event::PeerClosed(conn()?, end()?),
            "reset" => Event::Reset(conn()?, end()?),
            "closed" => Event::Closed(conn()?),
            "datagram" => {
                let bytes = whole(args, "bytes", Some(84))?;
                let bytes = u16::try_from(bytes).ok().filter(|n| *n > 0);
                let bytes = bytes.ok_or_else(|| bad("bytes must be between 1 and 65535"))?;
                let datagram = Datagram { tag: whole(args, "tag", Some(0))?, bytes, ecn: Ecn::NotCapable };
                Event::Datagram(conn()?, end()?, datagram)
            }
            _ => return Ok(None),
        }))
    }
}

fn whole(args: &Args, name: &str, default: Option<u64>) -> PyResult<u64> {
    match args.get(name) {
        None => default.ok_or_else(|| bad(format!("the argument {name} is missing"))),
        Some(value) => {
            let whole = value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..=9e15).contains(x));
            whole.map(|x| x as u64).ok_or_else(|| bad(format!("{name} must be a whole number, not {value}")))
        }
    }
}

fn name(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

/// A call as a table: `do` says which.
fn as_json(call: Call) -> Value {
    match call {
        Call::Open(conn) => json!({ "do": "open", "conn": conn }),
        Call::Bind(conn) => json!({ "do": "bind", "conn": conn }),
        Call::Write(conn, end, bytes) => {
            json!({ "do": "write", "conn": conn, "end": name(end), "bytes": bytes })
        }
        Call::TakeBack(conn, end) => json!({ "do": "take_back", "conn": conn, "end": name(end) }),
        Call::Close(conn, end) => json!({ "do": "close", "conn": conn, "end": name(end) }),
        Call::Abort(conn, end) => json!({ "do": "abort", "conn": conn, "end": name(end) }),
        Call::Pace(conn, end) => json!({ "do": "pace", "conn": conn, "end": name(end) }),
        Call::Read(conn, end, bytes) => {
            json!({ "do": "read", "conn": conn, "end": name(end), "bytes": bytes })
        }
        Call::Send(conn, end, Datagram { tag, bytes, .. }) => {
            json!({ "do": "send", "conn": conn, "end": name(end), "tag": tag, "bytes": bytes })
        }
        Call::Timer(number, at) => json!({ "do": "timer", "number": number, "at_s": at.seconds() }),
        Call::Transfer(transfer) => match transfer {
            Transfer::Started => json!({ "do": "transfer", "what": "started" }),
            Transfer::Completed { bytes, first_byte, took } => json!({
                "do": "transfer", "what": "completed", "bytes": bytes,
                "first_byte_s": first_byte.map(|first| first.seconds()), "took_s": took.seconds(),
            }),
            Transfer::Abandoned => json!({ "do": "transfer", "what": "abandoned" }),
            Transfer::Failed => json!({ "do": "transfer", "what": "failed" }),
        },
    }
}
