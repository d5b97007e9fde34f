//! Requests and responses: a client asks, a server answers, the client thinks and asks again.

use evenflow_base::schema::{Mechanism, Problem, Room, Value, Values, sound};

use crate::Common;
use crate::app::{Machine, Setting};
use crate::client::Asking;
use crate::ending::Leaving;
use crate::visitor::{self, Visitor};

/// One client of one server.
pub type RequestResponse = Visitor<false>;

impl Machine for RequestResponse {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, setting: &Setting) -> Result<RequestResponse, Vec<Problem>> {
        sound(visitor::check(values))?;
        Ok(Visitor::new(values, Given::response, Given::requests, 1, None, setting))
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// See [`Common`].
        end: Option<Leaving> = Common::end.param;
        /// See [`Asking`].
        keep_alive: bool = Asking::keep_alive.param;
        /// See [`Asking`].
        patience: Option<Value> = Asking::patience.param;
        /// See [`Asking`].
        request: Value = Asking::request.param;
        /// Requests after which a user closes its connection.
        requests: Option<u64> = Integer, Absent("without end"), Range::FROM_ONE => source: "";
        /// Application bytes of a response, header fields included, drawn for each.
        response: Value = Bytes, Required, Range::FROM_ONE => source: "";
        /// See [`Asking`].
        service: Value = Asking::service.param;
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`Asking`].
        think: Value = Asking::think.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "request-response",
    title: "Request and response",
    example: r#"[groups.users.traffic]
kind = "request-response"
response = "20 kB"
think = { exponential = "1 s" }"#,
    doc: "A client at the end of the path requests one response at a time. Responses travel along the path, \
          requests come with the ACKs. A transfer lasts from the request to the last byte of the response. \
          Over a new connection it includes the opening.",
    source: "RFC 9112; Heyman, Lakshman and Neidhardt 1997 (closed-loop users with think times)",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;
    use evenflow_base::{Duration, End};

    use super::*;
    use crate::app::testing::{at, machine, steps};
    use crate::app::{Call, Event, Transfer};
    use crate::ending::Ending;

    fn user(keep: bool, more: &[(&'static str, Value)], ending: Option<Ending>) -> RequestResponse {
        let values = [
            ("keep_alive", Value::Flag(keep)),
            ("request", Value::Bytes(350.0)),
            ("response", Value::Bytes(10_000.0)),
            ("service", Value::Seconds(0.0)),
            ("think", Value::Seconds(1.0)),
        ];
        machine(&Values(values.into_iter().chain(more.iter().cloned()).collect()), ending, false)
    }

    const STARTED: Call = Call::Transfer(Transfer::Started);
    const THINK: u32 = u32::MAX;

    fn done(first: u64, all: u64) -> Call {
        Call::Transfer(Transfer::Completed {
            bytes: 10_000,
            first_byte: Some(Duration::from_millis(first)),
            took: Duration::from_millis(all),
        })
    }

    #[test]
    fn over_a_kept_connection_the_second_request_needs_no_opening() {
        steps(
            &mut user(true, &[], None),
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (150, Event::Received(0, End::Server, 350), &[Call::Write(0, End::Server, 10_000)]),
                (200, Event::Acked(0, End::Client), &[]),
                (200, Event::Received(0, End::Client, 1_448), &[]),
                (
                    300,
                    Event::Received(0, End::Client, 10_000),
                    &[done(200, 300), Call::Timer(THINK, at(1_300))],
                ),
                (1_300, Event::Timer(THINK), &[STARTED, Call::Write(0, End::Client, 350)]),
                (1_340, Event::Received(0, End::Server, 349), &[]),
                (1_350, Event::Received(0, End::Server, 700), &[Call::Write(0, End::Server, 10_000)]),
                (
                    1_400,
                    Event::Received(0, End::Client, 20_000),
                    &[done(100, 100), Call::Timer(THINK, at(2_400))],
                ),
            ],
        );
    }

    #[test]
    fn without_keeping_alive_the_server_closes_and_the_next_request_opens_anew() {
        steps(
            &mut user(false, &[], None),
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (
                    150,
                    Event::Received(0, End::Server, 350),
                    &[Call::Write(0, End::Server, 10_000), Call::Close(0, End::Server)],
                ),
                (
                    300,
                    Event::Received(0, End::Client, 10_000),
                    &[done(300, 300), Call::Timer(THINK, at(1_300))],
                ),
                (300, Event::PeerClosed(0, End::Client), &[Call::Close(0, End::Client)]),
                (350, Event::PeerClosed(0, End::Server), &[]),
                // The first connection is still there: the next has another number.
                (1_300, Event::Timer(THINK), &[STARTED, Call::Open(1)]),
                (1_350, Event::Closed(0), &[]),
            ],
        );
    }

    #[test]
    fn a_server_takes_its_time() {
        steps(
            &mut user(true, &[("service", Value::Seconds(0.5))], None),
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (0, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (50, Event::Received(0, End::Server, 350), &[Call::Timer(0, at(550))]),
                (550, Event::Timer(0), &[Call::Write(0, End::Server, 10_000)]),
            ],
        );
    }

    #[test]
    fn who_loses_patience_resets_and_a_lost_connection_fails() {
        steps(
            &mut user(true, &[("patience", Value::Seconds(2.0))], None),
            &[
                (0, Event::Start, &[STARTED, Call::Timer(THINK - 1, at(2_000)), Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (
                    2_000,
                    Event::Timer(THINK - 1),
                    &[
                        Call::Abort(0, End::Client),
                        Call::Transfer(Transfer::Abandoned),
                        Call::Timer(THINK, at(3_000)),
                    ],
                ),
                // The request arrives before the reset and gets no answer.
                (2_010, Event::Received(0, End::Server, 350), &[]),
                (2_050, Event::Reset(0, End::Server), &[]),
                (2_050, Event::Closed(0), &[]),
                (3_000, Event::Timer(THINK), &[STARTED, Call::Timer(THINK - 1, at(5_000)), Call::Open(0)]),
                (
                    3_500,
                    Event::Reset(0, End::Client),
                    &[Call::Transfer(Transfer::Failed), Call::Timer(THINK, at(4_500))],
                ),
                (3_500, Event::Closed(0), &[]),
                // Patience for what has failed.
                (5_000, Event::Timer(THINK - 1), &[]),
            ],
        );
    }

    #[test]
    fn an_end_lets_what_has_begun_finish_or_resets_it() {
        let over = THINK - 2;
        steps(
            &mut user(true, &[], Some(Ending { at: at(200), abort: false })),
            &[
                (0, Event::Start, &[Call::Timer(over, at(200)), STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (150, Event::Received(0, End::Server, 350), &[Call::Write(0, End::Server, 10_000)]),
                (200, Event::Timer(over), &[]),
                (
                    300,
                    Event::Received(0, End::Client, 10_000),
                    &[done(300, 300), Call::Close(0, End::Client)],
                ),
                (350, Event::PeerClosed(0, End::Server), &[Call::Close(0, End::Server)]),
                (400, Event::PeerClosed(0, End::Client), &[]),
                (400, Event::Closed(0), &[]),
            ],
        );
        steps(
            &mut user(true, &[], Some(Ending { at: at(200), abort: true })),
            &[
                (0, Event::Start, &[Call::Timer(over, at(200)), STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (
                    200,
                    Event::Timer(over),
                    &[Call::Abort(0, End::Client), Call::Transfer(Transfer::Abandoned)],
                ),
                (200, Event::Closed(0), &[]),
            ],
        );
        // Thinking, with an open connection.
        steps(
            &mut user(true, &[], Some(Ending { at: at(900), abort: false })),
            &[
                (0, Event::Start, &[Call::Timer(over, at(900)), STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (150, Event::Received(0, End::Server, 350), &[Call::Write(0, End::Server, 10_000)]),
                (
                    300,
                    Event::Received(0, End::Client, 10_000),
                    &[done(300, 300), Call::Timer(THINK, at(1_300))],
                ),
                (900, Event::Timer(over), &[Call::Close(0, End::Client)]),
                (1_300, Event::Timer(THINK), &[]),
            ],
        );
    }

    #[test]
    fn after_the_last_request_it_closes() {
        steps(
            &mut user(true, &[("requests", Value::Number(1.0))], None),
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (150, Event::Received(0, End::Server, 350), &[Call::Write(0, End::Server, 10_000)]),
                (
                    300,
                    Event::Received(0, End::Client, 10_000),
                    &[done(300, 300), Call::Close(0, End::Client)],
                ),
            ],
        );
    }
}
