//! Short flows: connections that each carry a few bytes and close, opened without regard to those still open.
//!
//! The opener sends. A flow is complete when its sender has the acknowledgement of the last byte, as ns-2 and a socket that
//! lingers have it. Not here: data in the other direction, which is `request-response`.

use evenflow_base::schema::{Mechanism, Problem, Room, Value, Values};
use evenflow_base::{Duration, End, Heap, Time};

use crate::Common;
use crate::app::{Call, Conn, Drawn, Event, External, Machine, Setting, Transfer};
use crate::ending::{Ending, Leaving};

/// The alarm of the next flow.
const NEXT: u32 = 0;
/// The alarm of the end.
const OVER: u32 = 1;

/// One flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    started: Time,
    size: u64,
    first_byte: Option<Duration>,
    stage: Stage,
}

/// How far a flow has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    Sending,
    /// Its transfer is over; the connection may still be closing.
    Over,
}

/// A user's short flows.
#[derive(Clone, Debug)]
pub struct ShortFlows {
    /// Gaps of the user's own process; absent where flows come from a shared one.
    interval: Option<Drawn>,
    size: Drawn,
    ending: Option<Ending>,
    /// Exact instant of the last flow, so that constant gaps do not drift.
    clock: f64,
    due: Time,
    /// Flows by number; `free` has the unused numbers.
    flows: Vec<Flow>,
    free: Vec<Conn>,
}

impl ShortFlows {
    /// Sets the alarm of the next flow.
    fn schedule(&mut self, calls: &mut Vec<Call>) {
        let Some(interval) = &mut self.interval else { return };
        self.clock += interval.seconds();
        let at = Time::from_seconds(self.clock);
        self.due = if self.ending.is_none_or(|ending| at < ending.at) { at } else { Time::NEVER };
        if self.due != Time::NEVER {
            calls.push(Call::Timer(NEXT, self.due));
        }
    }

    fn open(&mut self, now: Time, calls: &mut Vec<Call>) {
        let flow = Flow { started: now, size: self.size.bytes(), first_byte: None, stage: Stage::Opening };
        let number = match self.free.pop() {
            Some(number) => {
                self.flows[number as usize] = flow;
                number
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        calls.extend([Call::Transfer(Transfer::Started), Call::Open(number)]);
    }

    /// Resets flows that still send.
    fn abort(&mut self, calls: &mut Vec<Call>) {
        for (number, flow) in self.flows.iter_mut().enumerate().filter(|(_, flow)| flow.stage != Stage::Over)
        {
            flow.stage = Stage::Over;
            calls.extend([Call::Abort(number as Conn, End::Client), Call::Transfer(Transfer::Abandoned)]);
        }
    }
}

impl Machine for ShortFlows {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, setting: &Setting) -> Result<ShortFlows, Vec<Problem>> {
        let (given, named) = (values.has(Given::interval), values.has(Given::arrivals));
        let problem = match (given, named, values.raw(Given::share)) {
            (true, true, _) => Some((
                Given::arrivals.name,
                "excludes interval: flows have one source of arrivals".to_owned(),
            )),
            (false, false, _) => Some((
                Given::interval.name,
                "is required: the time between flows of a user, for example { exponential = \"1 s\" }; or \
                 arrivals, a shared process"
                    .to_owned(),
            )),
            (_, false, Some(_)) => {
                Some((Given::share.name, "is a share of arrivals, which is absent".to_owned()))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(vec![problem]);
        }
        Ok(ShortFlows {
            interval: (given && !setting.arrivals).then(|| Drawn::new(values, Given::interval, 0.0, setting)),
            size: Drawn::new(values, Given::size, 1.0, setting),
            ending: setting.ending,
            clock: 0.0,
            due: Time::NEVER,
            flows: Vec::new(),
            free: Vec::new(),
        })
    }
}

impl External for ShortFlows {
    fn heap_bytes(&self) -> u64 {
        self.flows.heap_bytes() + self.free.heap_bytes()
    }

    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
        match event {
            Event::Start if self.ending.is_none_or(|ending| now < ending.at) => {
                self.clock = now.seconds();
                self.schedule(calls);
                if let Some(ending) = self.ending.filter(|ending| ending.abort) {
                    calls.push(Call::Timer(OVER, ending.at));
                }
            }
            Event::Arrival => self.open(now, calls),
            Event::Timer(NEXT) if now == self.due => {
                self.open(now, calls);
                self.schedule(calls);
            }
            Event::Timer(OVER) => self.abort(calls),
            Event::Opened(number, End::Client) => {
                let flow = &mut self.flows[number as usize];
                if flow.stage == Stage::Opening {
                    flow.stage = Stage::Sending;
                    calls.extend([
                        Call::Write(number, End::Client, flow.size),
                        Call::Close(number, End::Client),
                    ]);
                }
            }
            Event::Received(number, End::Server, bytes) if bytes > 0 => {
                let flow = &mut self.flows[number as usize];
                flow.first_byte.get_or_insert(now - flow.started);
            }
            Event::Acked(number, End::Client) => {
                let flow = &mut self.flows[number as usize];
                if flow.stage == Stage::Sending {
                    flow.stage = Stage::Over;
                    calls.push(Call::Transfer(Transfer::Completed {
                        bytes: flow.size,
                        first_byte: flow.first_byte,
                        took: now - flow.started,
                    }));
                }
            }
            Event::PeerClosed(number, End::Server) => calls.push(Call::Close(number, End::Server)),
            Event::Reset(number, _) => self.fail(number, calls),
            Event::Closed(number) => {
                self.fail(number, calls);
                self.free.push(number);
            }
            _ => {}
        }
    }
}

impl ShortFlows {
    /// A connection is gone; its transfer failed, if it was not over.
    fn fail(&mut self, number: Conn, calls: &mut Vec<Call>) {
        let flow = &mut self.flows[number as usize];
        if flow.stage != Stage::Over {
            flow.stage = Stage::Over;
            calls.push(Call::Transfer(Transfer::Failed));
        }
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// See [`Common`].
        arrivals: Option<String> = Common::arrivals.param;
        /// See [`Common`].
        end: Option<Leaving> = Common::end.param;
        /// Time between two flows of a user, drawn for each. { exponential = … } gives a Poisson process.
        interval: Option<Value> = Duration, Absent("required without arrivals"), Range::POSITIVE => source: "";
        /// See [`Common`].
        share: Option<Value> = Common::share.param;
        /// Application bytes of a flow, drawn for each.
        size: Value = Bytes, Required, Range::FROM_ONE => source: "";
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "short-flows",
    title: "Short flows",
    example: r#"[groups.users.traffic]
kind = "short-flows"
interval = { exponential = "1 s" }
size = { pareto = ["15 kB", 1.3] }"#,
    doc: "TCP connections that open by a random process, independent of earlier ones. Each carries a few \
          bytes along the path and closes. A flow's transfer lasts from the opening to the ACK of its last \
          byte.",
    source: "Ben Fredj et al. 2001, section 2 (flow arrivals are independent of flows in progress)",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::{Law, Value};

    use super::*;
    use crate::app::testing::{at, machine, steps};

    fn values(more: &[(&'static str, Value)]) -> Values {
        Values([("size", Value::Bytes(14_600.0))].into_iter().chain(more.iter().cloned()).collect())
    }

    const DONE: Transfer = Transfer::Completed {
        bytes: 14_600,
        first_byte: Some(Duration::from_millis(50)),
        took: Duration::from_millis(300),
    };

    #[test]
    fn a_flow_opens_writes_closes_and_is_complete_with_its_last_acknowledgement() {
        let mut app: ShortFlows = machine(&values(&[("interval", Value::Seconds(2.0))]), None, false);
        steps(
            &mut app,
            &[
                (0, Event::Start, &[Call::Timer(NEXT, at(2_000))]),
                (
                    2_000,
                    Event::Timer(NEXT),
                    &[Call::Transfer(Transfer::Started), Call::Open(0), Call::Timer(NEXT, at(4_000))],
                ),
                (
                    2_000,
                    Event::Opened(0, End::Client),
                    &[Call::Write(0, End::Client, 14_600), Call::Close(0, End::Client)],
                ),
                (2_050, Event::Opened(0, End::Server), &[]),
                (2_050, Event::Received(0, End::Server, 1_460), &[]),
                (2_250, Event::Received(0, End::Server, 14_600), &[]),
                (2_250, Event::PeerClosed(0, End::Server), &[Call::Close(0, End::Server)]),
                (2_300, Event::Acked(0, End::Client), &[Call::Transfer(DONE)]),
                (2_300, Event::PeerClosed(0, End::Client), &[]),
                (2_400, Event::Closed(0), &[]),
            ],
        );
    }

    #[test]
    fn flows_overlap_and_numbers_are_used_again() {
        let mut app: ShortFlows = machine(&values(&[("arrivals", Value::Word("all".into()))]), None, true);
        let opens = |number| [Call::Transfer(Transfer::Started), Call::Open(number)];
        steps(
            &mut app,
            &[
                (0, Event::Start, &[]),
                (1, Event::Arrival, &opens(0)),
                (2, Event::Arrival, &opens(1)),
                (3, Event::Reset(0, End::Client), &[Call::Transfer(Transfer::Failed)]),
                (3, Event::Closed(0), &[]),
                (4, Event::Arrival, &opens(0)),
                (5, Event::Arrival, &opens(2)),
            ],
        );
    }

    #[test]
    fn closing_opens_nothing_new_and_aborting_resets_what_is_open() {
        let interval = ("interval", Value::Seconds(2.0));
        let mut app: ShortFlows = machine(
            &values(std::slice::from_ref(&interval)),
            Some(Ending { at: at(2_000), abort: false }),
            false,
        );
        steps(&mut app, &[(0, Event::Start, &[])]);
        let mut app: ShortFlows =
            machine(&values(&[interval]), Some(Ending { at: at(3_000), abort: true }), false);
        steps(
            &mut app,
            &[
                (0, Event::Start, &[Call::Timer(NEXT, at(2_000)), Call::Timer(OVER, at(3_000))]),
                (2_000, Event::Timer(NEXT), &[Call::Transfer(Transfer::Started), Call::Open(0)]),
                (
                    3_000,
                    Event::Timer(OVER),
                    &[Call::Abort(0, End::Client), Call::Transfer(Transfer::Abandoned)],
                ),
                (3_000, Event::Opened(0, End::Client), &[]),
                (3_000, Event::Closed(0), &[]),
            ],
        );
    }

    #[test]
    fn its_parameters_are_checked_together() {
        let problem = |more: &[(&'static str, Value)]| {
            let problems = crate::check("short-flows", &values(more));
            problems.into_iter().map(|(name, why)| format!("{name}: {why}")).collect::<Vec<_>>().join("; ")
        };
        assert!(problem(&[]).starts_with("interval: is required"));
        let name = || ("arrivals", Value::Word("all".into()));
        let gap = ("interval", Value::Random(Law::Exponential(Box::new(Value::Seconds(1.0)))));
        assert!(problem(&[name(), gap.clone()]).starts_with("arrivals: excludes interval"));
        assert!(
            problem(&[gap.clone(), ("share", Value::Number(0.5))])
                .starts_with("share: is a share of arrivals")
        );
        assert_eq!(problem(&[gap]), "");
        assert_eq!(problem(&[name()]), "");
    }
}
