//! Web pages: a first object, then others that it refers to, over several connections; then the user thinks.
//!
//! Not here: HTTP/2, objects that refer to others, caches.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Value, Values, sound};

use crate::Common;
use crate::app::{Drawn, Machine, Setting};
use crate::client::Asking;
use crate::ending::Leaving;
use crate::visitor::{self, Objects, Visitor};

/// One user with one browser.
pub type Web = Visitor<true>;

impl Machine for Web {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, setting: &Setting) -> Result<Web, Vec<Problem>> {
        sound(visitor::check(values))?;
        let objects = Objects {
            count: Drawn::new(values, Given::objects, 0.0, setting),
            size: Drawn::new(values, Given::object_size, 1.0, setting),
        };
        let most = values.read(Given::connections);
        Ok(Visitor::new(values, Given::page_size, Given::pages, most, Some(objects), setting))
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Maximum number of parallel connections of a page.
        connections: u32 = Integer, Text("6"), Range::between(1.0, 1000.0)
            => source: "current browsers, to one host over HTTP/1.1";
        /// See [`Common`].
        end: Option<Leaving> = Common::end.param;
        /// See [`crate::request_response`].
        keep_alive: bool = Asking::keep_alive.param;
        /// Application bytes of each further object, drawn for each.
        object_size: Value = Bytes, Text("10 kB"), Range::FROM_ONE => source: "docs/scenarios.md";
        /// Further objects of a page, drawn for each page and rounded.
        objects: Value = Number, Text("0"), Range::between(0.0, 10_000.0) => source: "docs/scenarios.md";
        /// Application bytes of a page's first object, drawn for each page.
        page_size: Value = Bytes, Required, Range::FROM_ONE => source: "";
        /// Pages after which the user closes all connections.
        pages: Option<u64> = Integer, Absent("without end"), Range::FROM_ONE => source: "";
        /// See [`crate::request_response`].
        patience: Option<Value> = Asking::patience.param;
        /// See [`crate::request_response`].
        request: Value = Asking::request.param;
        /// See [`crate::request_response`].
        service: Value = Asking::service.param;
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`crate::request_response`].
        think: Value = Asking::think.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "web",
    traits: Traits { completion: "page time", ..Mechanism::PLAIN },
    title: "Web pages",
    example: r#"[groups.users.traffic]
kind = "web"
page_size = "10 kB"
objects = 8
object_size = "20 kB"
think = { exponential = "5 s" }"#,
    doc: "A user at the end of the path fetches a page, its first object and then all others. Then it thinks \
          and fetches the next page. Responses travel along the path, requests come with the ACKs. A page is \
          a transfer, from its first request to the last byte of its last object.",
    source: "RFC 9112; Mah 1997 (pages of several objects, think times)",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Law;
    use evenflow_base::{Duration, End};

    use super::*;
    use crate::app::testing::{at, machine, steps};
    use crate::app::{Call, Event, Transfer};

    const STARTED: Call = Call::Transfer(Transfer::Started);
    const THINK: u32 = u32::MAX;

    fn values(keep: bool, objects: f64) -> Values {
        let values = [
            ("connections", Value::Number(2.0)),
            ("keep_alive", Value::Flag(keep)),
            ("objects", Value::Number(objects)),
            ("object_size", Value::Bytes(2_000.0)),
            ("page_size", Value::Bytes(1_000.0)),
            ("request", Value::Bytes(300.0)),
            ("service", Value::Seconds(0.0)),
            ("think", Value::Seconds(1.0)),
        ];
        Values(values.into_iter().collect())
    }

    fn asks(number: u32) -> Call {
        Call::Write(number, End::Client, 300)
    }

    fn answers(number: u32, bytes: u64) -> Call {
        Call::Write(number, End::Server, bytes)
    }

    #[test]
    fn objects_follow_the_first_over_as_many_connections_as_there_may_be() {
        let mut user: Web = machine(&values(true, 3.0), None, false);
        let done = Call::Transfer(Transfer::Completed {
            bytes: 7_000,
            first_byte: Some(Duration::from_millis(20)),
            took: Duration::from_millis(60),
        });
        steps(
            &mut user,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (10, Event::Opened(0, End::Client), &[asks(0)]),
                (15, Event::Received(0, End::Server, 300), &[answers(0, 1_000)]),
                (20, Event::Received(0, End::Client, 500), &[]),
                (21, Event::Received(0, End::Client, 1_000), &[asks(0), Call::Open(1)]),
                (31, Event::Opened(1, End::Client), &[asks(1)]),
                (31, Event::Received(0, End::Server, 600), &[answers(0, 2_000)]),
                (36, Event::Received(1, End::Server, 300), &[answers(1, 2_000)]),
                (41, Event::Received(0, End::Client, 3_000), &[asks(0)]),
                (46, Event::Received(1, End::Client, 2_000), &[]),
                (50, Event::Received(0, End::Server, 900), &[answers(0, 2_000)]),
                (60, Event::Received(0, End::Client, 5_000), &[done, Call::Timer(THINK, at(1_060))]),
                // Both connections are kept for the next page, which begins on the first.
                (1_060, Event::Timer(THINK), &[STARTED, asks(0)]),
            ],
        );
    }

    #[test]
    fn each_object_has_a_connection_of_its_own_where_none_is_kept() {
        let mut user: Web = machine(&values(false, 2.0), None, false);
        let close = |number| Call::Close(number, End::Server);
        steps(
            &mut user,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (10, Event::Opened(0, End::Client), &[asks(0)]),
                (15, Event::Received(0, End::Server, 300), &[answers(0, 1_000), close(0)]),
                (20, Event::Received(0, End::Client, 1_000), &[Call::Open(1), Call::Open(2)]),
                (20, Event::PeerClosed(0, End::Client), &[Call::Close(0, End::Client)]),
                (25, Event::PeerClosed(0, End::Server), &[]),
                (25, Event::Closed(0), &[]),
            ],
        );
    }

    #[test]
    fn a_page_that_loses_a_connection_fails_as_a_whole() {
        let mut user: Web = machine(&values(true, 2.0), None, false);
        steps(
            &mut user,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (10, Event::Opened(0, End::Client), &[asks(0)]),
                (15, Event::Received(0, End::Server, 300), &[answers(0, 1_000)]),
                (20, Event::Received(0, End::Client, 1_000), &[asks(0), Call::Open(1)]),
                (
                    25,
                    Event::Reset(1, End::Client),
                    &[
                        Call::Abort(0, End::Client),
                        Call::Transfer(Transfer::Failed),
                        Call::Timer(THINK, at(1_025)),
                    ],
                ),
                (25, Event::Closed(1), &[]),
                (30, Event::Received(0, End::Client, 2_000), &[]),
                (30, Event::Reset(0, End::Server), &[]),
                (30, Event::Closed(0), &[]),
            ],
        );
    }

    #[test]
    fn who_never_thinks_and_never_waits_is_refused() {
        let problems = |think: Value, patience: Option<Value>| {
            let mut values = values(true, 2.0);
            values.0.insert("think", think);
            values.0.extend(patience.map(|value| ("patience", value)));
            crate::check("web", &values).len()
        };
        let zero = || Value::Seconds(0.0);
        let sometimes = Value::Random(Law::Uniform(Box::new(zero()), Box::new(Value::Seconds(1.0))));
        assert_eq!(problems(zero(), Some(zero())), 1);
        assert_eq!(problems(zero(), None), 0);
        assert_eq!(problems(zero(), Some(sometimes.clone())), 0);
        assert_eq!(problems(sometimes, Some(zero())), 0);
    }
}
