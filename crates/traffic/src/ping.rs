//! Ping: an echo request each so often, and its reply: the latency of the path under whatever load it has.
//!
//! Datagrams of ICMP's size. The request takes the path forward, the reply comes back, each through its queues. A reply that
//! is late by `timeout` counts as lost.

use std::collections::VecDeque;

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Value, Values};
use evenflow_base::{Duration, Ecn, End, Heap, Time};

use crate::app::{Call, Datagram, Drawn, Event, External, Machine, Setting, Transfer};
use crate::ending::{Ending, Leaving};
use crate::{Common, UDP_HEADER};

/// The alarm of the next request.
const NEXT: u32 = 0;
/// The alarm of the oldest reply that is waited for.
const LATE: u32 = 1;
/// The alarm of the end, where it gives up the probes under way.
const OVER: u32 = 2;

/// A user's ping.
#[derive(Clone, Debug)]
pub struct Ping {
    interval: Drawn,
    bytes: Drawn,
    timeout: Duration,
    ending: Option<Ending>,
    /// Exact instant of the last request, so that constant intervals do not drift.
    clock: f64,
    due: Time,
    sent: u64,
    /// Requests without a reply, oldest first: number and instant.
    waiting: VecDeque<(u64, Time)>,
    /// Expiry of the timer for the oldest of them, or for an earlier one already answered.
    late: Time,
}

impl Ping {
    fn request(&mut self, now: Time, calls: &mut Vec<Call>) {
        let bytes = self.bytes.bytes().min(u64::from(u16::MAX)) as u16;
        let request = Datagram { tag: self.sent, bytes, ecn: Ecn::NotCapable };
        calls.extend([Call::Transfer(Transfer::Started), Call::Send(0, End::Client, request)]);
        self.waiting.push_back((self.sent, now));
        self.sent += 1;
        self.watch(calls);
        self.clock += self.interval.seconds();
        let at = Time::from_seconds(self.clock);
        self.due = if self.ending.is_none_or(|ending| at < ending.at) { at } else { Time::NEVER };
        if self.due != Time::NEVER {
            calls.push(Call::Timer(NEXT, self.due));
        }
    }

    /// Sets the timer of the oldest request, if none is set.
    fn watch(&mut self, calls: &mut Vec<Call>) {
        if let (Time::NEVER, Some((_, sent))) = (self.late, self.waiting.front()) {
            self.late = *sent + self.timeout;
            calls.push(Call::Timer(LATE, self.late));
        }
    }

    /// Gives up requests that have timed out.
    fn give_up(&mut self, now: Time, calls: &mut Vec<Call>) {
        while self.waiting.front().is_some_and(|(_, sent)| now >= *sent + self.timeout) {
            self.waiting.pop_front();
            calls.push(Call::Transfer(Transfer::Failed));
        }
        self.late = Time::NEVER;
        self.watch(calls);
    }
}

impl Machine for Ping {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, setting: &Setting) -> Result<Ping, Vec<Problem>> {
        Ok(Ping {
            interval: Drawn::new(values, Given::interval, 1.0, setting),
            bytes: Drawn::new(values, Given::packet, 84.0, setting),
            timeout: values.read(Given::timeout),
            ending: setting.ending,
            clock: 0.0,
            due: Time::NEVER,
            sent: 0,
            waiting: VecDeque::new(),
            late: Time::NEVER,
        })
    }
}

impl External for Ping {
    fn heap_bytes(&self) -> u64 {
        self.waiting.heap_bytes()
    }

    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
        match event {
            Event::Start if self.ending.is_none_or(|ending| now < ending.at) => {
                calls.push(Call::Bind(0));
                self.clock = now.seconds();
                if let Some(ending) = self.ending.filter(|ending| ending.abort) {
                    calls.push(Call::Timer(OVER, ending.at));
                }
                self.request(now, calls);
            }
            Event::Timer(NEXT) if now == self.due => self.request(now, calls),
            Event::Timer(LATE) => self.give_up(now, calls),
            Event::Timer(OVER) => {
                calls.extend(self.waiting.drain(..).map(|_| Call::Transfer(Transfer::Abandoned)));
            }
            Event::Datagram(0, End::Server, request) => {
                let reply = Datagram { ecn: Ecn::NotCapable, ..request };
                calls.push(Call::Send(0, End::Server, reply));
            }
            Event::Datagram(0, End::Client, reply) => {
                let Ok(at) = self.waiting.binary_search_by_key(&reply.tag, |(tag, _)| *tag) else { return };
                let Some((_, sent)) = self.waiting.remove(at) else { return };
                let took = now - sent;
                let bytes = u64::from(reply.bytes.saturating_sub(UDP_HEADER));
                calls.push(Call::Transfer(Transfer::Completed { bytes, first_byte: Some(took), took }));
            }
            _ => {}
        }
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// End of the traffic. `close`: wait for outstanding replies. `abort`: give them up.
        end: Option<Leaving> = Common::end.param => source: Common::end.param.source;
        /// Time between two requests, drawn for each.
        interval: Value = Duration, Text("1 s"), Range::POSITIVE => source: "ping(8), option -i";
        /// Size of request and reply on the wire with 28 B of headers, drawn for each request.
        packet: Value = Bytes, Text("84 B"), Range::PACKET_SIZE
            => source: "ping(8), option -s: 56 B, and 28 B of headers";
        /// See [`Common`].
        start: Value = Common::start.param;
        /// Time after which a request without a reply has failed.
        timeout: Duration = Duration, Text("10 s"), Range::POSITIVE => source: "ping.c of iputils: MAXWAIT";
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "ping",
    traits: Traits { datagrams: true, replies: true, endless: true, completion: "RTT", ..Mechanism::PLAIN },
    title: "Ping",
    example: r#"[groups.users.traffic]
kind = "ping"
interval = "1 s"
packet = "84 B""#,
    doc: "Sends echo requests along the path and receives their replies, to measure latency under load. Each \
          echo is a transfer that lasts a round trip.",
    source: "RFC 792 (echo); defaults: ping of iputils",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;

    use super::*;
    use crate::app::testing::{at, machine, steps};

    fn ping(ending: Option<Ending>) -> Ping {
        let values = [
            ("interval", Value::Seconds(1.0)),
            ("packet", Value::Bytes(84.0)),
            ("timeout", Value::Seconds(1.5)),
        ];
        machine(&Values(values.into_iter().collect()), ending, false)
    }

    fn echo(tag: u64) -> Datagram {
        Datagram { tag, bytes: 84, ecn: Ecn::NotCapable }
    }

    fn done(ms: u64) -> Call {
        let took = Duration::from_millis(ms);
        Call::Transfer(Transfer::Completed { bytes: 56, first_byte: Some(took), took })
    }

    const STARTED: Call = Call::Transfer(Transfer::Started);

    fn send(tag: u64) -> Call {
        Call::Send(0, End::Client, echo(tag))
    }

    #[test]
    fn each_reply_completes_its_request_and_a_late_one_none() {
        steps(
            &mut ping(None),
            &[
                (
                    500,
                    Event::Start,
                    &[
                        Call::Bind(0),
                        STARTED,
                        send(0),
                        Call::Timer(LATE, at(2_000)),
                        Call::Timer(NEXT, at(1_500)),
                    ],
                ),
                (530, Event::Datagram(0, End::Server, echo(0)), &[Call::Send(0, End::Server, echo(0))]),
                (560, Event::Datagram(0, End::Client, echo(0)), &[done(60)]),
                // The timer of the answered request is still set.
                (1_500, Event::Timer(NEXT), &[STARTED, send(1), Call::Timer(NEXT, at(2_500))]),
                (2_000, Event::Timer(LATE), &[Call::Timer(LATE, at(3_000))]),
                (2_500, Event::Timer(NEXT), &[STARTED, send(2), Call::Timer(NEXT, at(3_500))]),
                (
                    3_000,
                    Event::Timer(LATE),
                    &[Call::Transfer(Transfer::Failed), Call::Timer(LATE, at(4_000))],
                ),
                (3_100, Event::Datagram(0, End::Client, echo(2)), &[done(600)]),
                (3_200, Event::Datagram(0, End::Client, echo(1)), &[]),
                (3_300, Event::Datagram(0, End::Client, echo(2)), &[]),
                (4_000, Event::Timer(LATE), &[]),
            ],
        );
    }

    #[test]
    fn an_end_stops_requests_and_an_abort_gives_up_what_is_on_the_way() {
        steps(
            &mut ping(Some(Ending { at: at(1_000), abort: false })),
            &[
                (0, Event::Start, &[Call::Bind(0), STARTED, send(0), Call::Timer(LATE, at(1_500))]),
                (1_200, Event::Datagram(0, End::Client, echo(0)), &[done(1_200)]),
            ],
        );
        steps(
            &mut ping(Some(Ending { at: at(900), abort: true })),
            &[
                (
                    0,
                    Event::Start,
                    &[
                        Call::Bind(0),
                        Call::Timer(OVER, at(900)),
                        STARTED,
                        send(0),
                        Call::Timer(LATE, at(1_500)),
                    ],
                ),
                (900, Event::Timer(OVER), &[Call::Transfer(Transfer::Abandoned)]),
                (1_200, Event::Datagram(0, End::Client, echo(0)), &[]),
            ],
        );
        steps(&mut ping(Some(Ending { at: at(900), abort: true })), &[(900, Event::Start, &[])]);
    }
}
