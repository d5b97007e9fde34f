//! Data over connections that carry nothing else: bulk transfers and uploads.
//!
//! Without `until` the transport needs only the amount, and flows last for the whole run. With `until` they
//! are applications, which close or reset their connections. A close writes nothing more; sent data is still
//! delivered before the FIN.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Value, Values};
use evenflow_base::{Duration, End, Heap, Time};

use crate::Common;
use crate::app::{Call, Conn, Drawn, Event, External, Machine, Setting, Transfer};
use crate::ending::{Ending, Leaving};

/// The alarm of the end; those of starts have the numbers of flows.
const OVER: u32 = u32::MAX;

/// More than a run sends over one connection: 35 TB.
const ENDLESS: u64 = 1 << 45;

/// How far a flow has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before its start.
    Waiting,
    Opening,
    Sending,
    /// It has closed, and its data is in flight.
    Closing,
    Over,
}

/// One flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    stage: Stage,
    started: Time,
    /// Bytes of its file; absent: without end.
    size: Option<u64>,
    received: u64,
    first_byte: Option<Duration>,
}

/// A user's flows, with a file each or without end. One with a file is a transfer.
#[derive(Clone, Debug)]
pub struct Data<const FILE: bool> {
    starts: Drawn,
    /// Bytes of a file; absent: without end.
    size: Option<Drawn>,
    count: u32,
    ending: Option<Ending>,
    over: bool,
    flows: Vec<Flow>,
}

/// A user's bulk transfers.
pub type Bulk = Data<false>;

/// A user's uploads.
pub type Upload = Data<true>;

impl<const FILE: bool> Machine for Data<FILE> {
    const TABLE: &'static Mechanism = if FILE { &UPLOAD } else { &BULK };

    fn build(values: &Values, setting: &Setting) -> Result<Self, Vec<Problem>> {
        let count = values.at(Common::flows).unwrap_or(1);
        let first = setting.user * count as usize;
        Ok(Data {
            starts: Drawn::new(values, Common::start, 0.0, setting).dealt_from(first),
            size: values
                .raw(UploadGiven::size)
                .map(|_| Drawn::new(values, UploadGiven::size, 1.0, setting).dealt_from(first)),
            count,
            ending: setting.ending,
            over: false,
            flows: Vec::new(),
        })
    }
}

impl<const FILE: bool> External for Data<FILE> {
    fn own_starts(&self) -> bool {
        true
    }

    fn heap_bytes(&self) -> u64 {
        self.flows.heap_bytes()
    }

    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
        match event {
            Event::Start => self.start(now, calls),
            Event::Timer(OVER) => self.end(now, calls),
            Event::Timer(number) => self.open(number, now, calls),
            Event::Opened(number, End::Client) => {
                let Some(flow) = self.flow(number, Stage::Opening) else { return };
                flow.stage = Stage::Sending;
                calls.push(Call::Write(number, End::Client, flow.size.unwrap_or(ENDLESS)));
                if self.over {
                    self.close(number, calls);
                }
            }
            Event::Received(number, End::Server, bytes) => {
                let flow = &mut self.flows[number as usize];
                flow.received = bytes;
                flow.first_byte.get_or_insert(now - flow.started);
            }
            Event::Acked(number, End::Client) => self.acked(number, now, calls),
            Event::PeerClosed(number, End::Server) => calls.push(Call::Close(number, End::Server)),
            Event::Reset(number, _) | Event::Closed(number) => self.finish(number, Transfer::Failed, calls),
            _ => {}
        }
    }
}

impl<const FILE: bool> Data<FILE> {
    fn start(&mut self, now: Time, calls: &mut Vec<Call>) {
        calls.extend(self.ending.map(|ending| Call::Timer(OVER, ending.at)));
        for number in 0..self.count {
            let at = Time::from_seconds(self.starts.seconds()).max(now);
            let size = self.size.as_mut().map(Drawn::bytes);
            self.flows.push(Flow { stage: Stage::Waiting, started: at, size, received: 0, first_byte: None });
            if self.ending.is_none_or(|ending| at < ending.at) {
                calls.push(Call::Timer(number, at));
            }
        }
    }

    /// The flow of this number, if it has got so far and no further.
    fn flow(&mut self, number: Conn, stage: Stage) -> Option<&mut Flow> {
        self.flows.get_mut(number as usize).filter(|flow| flow.stage == stage)
    }

    fn open(&mut self, number: Conn, now: Time, calls: &mut Vec<Call>) {
        let Some(flow) = self.flow(number, Stage::Waiting) else { return };
        (flow.stage, flow.started) = (Stage::Opening, now);
        if flow.size.is_some() {
            calls.push(Call::Transfer(Transfer::Started));
        }
        calls.push(Call::Open(number));
    }

    /// All that was written, and not taken back, is acknowledged.
    fn acked(&mut self, number: Conn, now: Time, calls: &mut Vec<Call>) {
        let flow = self.flows[number as usize];
        let Some(size) = flow.size.filter(|_| matches!(flow.stage, Stage::Sending | Stage::Closing)) else {
            return;
        };
        if flow.stage == Stage::Sending {
            calls.push(Call::Close(number, End::Client));
        }
        let whole = flow.received >= size;
        let (first_byte, took) = (flow.first_byte, now - flow.started);
        let how =
            if whole { Transfer::Completed { bytes: size, first_byte, took } } else { Transfer::Abandoned };
        self.finish(number, how, calls);
    }

    /// A flow is over, if it was not.
    fn finish(&mut self, number: Conn, how: Transfer, calls: &mut Vec<Call>) {
        let flow = &mut self.flows[number as usize];
        if std::mem::replace(&mut flow.stage, Stage::Over) != Stage::Over && flow.size.is_some() {
            calls.push(Call::Transfer(how));
        }
    }

    /// A flow that sends writes nothing more.
    fn close(&mut self, number: Conn, calls: &mut Vec<Call>) {
        self.flows[number as usize].stage = Stage::Closing;
        calls.extend([Call::TakeBack(number, End::Client), Call::Close(number, End::Client)]);
    }

    fn end(&mut self, _now: Time, calls: &mut Vec<Call>) {
        self.over = true;
        let abort = self.ending.is_some_and(|ending| ending.abort);
        for number in 0..self.flows.len() as Conn {
            match (self.flows[number as usize].stage, abort) {
                (Stage::Sending, false) => self.close(number, calls),
                (Stage::Opening | Stage::Sending, true) => {
                    calls.push(Call::Abort(number, End::Client));
                    self.finish(number, Transfer::Abandoned, calls);
                }
                // One that is opening closes as soon as it is open.
                _ => {}
            }
        }
    }
}

params! {
    /// Parameters of a bulk transfer.
    #[derive(Clone, Debug)]
    pub struct BulkGiven {
        /// End of a flow. `close`: it writes nothing more and closes, so that sent data still arrives.
        /// `abort`: it resets the connection.
        end: Option<Leaving> = Common::end.param => source: Common::end.param.source;
        /// See [`Common`].
        flows: u32 = Common::flows.param;
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Endless data over TCP.
pub static BULK: Mechanism = Mechanism {
    kind: "bulk",
    traits: Traits { lasts: true, endless: true, ..Mechanism::PLAIN },
    title: "Bulk transfer",
    example: r#"[groups.users.traffic]
kind = "bulk"
flows = 4
start = { uniform = ["0 s", "1 s"] }"#,
    doc: "TCP connections that always have data to send.",
    source: "Menth and Zeitler 2018, section IV-A3 (\"saturated\")",
    params: BulkGiven::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

params! {
    /// Parameters of an upload.
    #[derive(Clone, Debug)]
    pub struct UploadGiven {
        /// End of a flow. `close`: it writes nothing more and closes, so that sent data still arrives.
        /// `abort`: it resets the connection.
        end: Option<Leaving> = Common::end.param => source: Common::end.param.source;
        /// See [`Common`].
        flows: u32 = Common::flows.param;
        /// Application bytes of each connection.
        size: Option<Value> = Bytes, Absent("without end"), Range::FROM_ONE => source: "";
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// A file over TCP.
pub static UPLOAD: Mechanism = Mechanism {
    kind: "upload",
    traits: Traits { lasts: true, ..Mechanism::PLAIN },
    title: "Upload",
    example: r#"[groups.users.traffic]
kind = "upload"
size = "2 MB"
start = "1 s""#,
    doc: "TCP connections that each carry one file and then stay idle.",
    source: "Menth and Zeitler 2018, section IV-G2",
    params: UploadGiven::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;

    use super::*;
    use crate::app::testing::{at, machine, steps};

    fn upload(abort: bool) -> Upload {
        let values = [("size", Value::Bytes(100_000.0)), ("start", Value::Seconds(0.5))];
        machine(&Values(values.into_iter().collect()), Some(Ending { at: at(2_000), abort }), false)
    }

    const BEGIN: [Call; 2] = [Call::Transfer(Transfer::Started), Call::Open(0)];

    #[test]
    fn a_file_that_is_through_closes_and_one_that_is_not_is_abandoned() {
        let (write, close) = (Call::Write(0, End::Client, 100_000), Call::Close(0, End::Client));
        let took = Duration::from_millis(900);
        let done = Transfer::Completed { bytes: 100_000, first_byte: Some(Duration::from_millis(150)), took };
        steps(
            &mut upload(false),
            &[
                (0, Event::Start, &[Call::Timer(OVER, at(2_000)), Call::Timer(0, at(500))]),
                (500, Event::Timer(0), &BEGIN),
                (600, Event::Opened(0, End::Client), &[write]),
                (650, Event::Received(0, End::Server, 1_448), &[]),
                (1_350, Event::Received(0, End::Server, 100_000), &[]),
                (1_400, Event::Acked(0, End::Client), &[close, Call::Transfer(done)]),
                (1_450, Event::PeerClosed(0, End::Server), &[Call::Close(0, End::Server)]),
                (2_000, Event::Timer(OVER), &[]),
            ],
        );
        steps(
            &mut upload(false),
            &[
                (0, Event::Start, &[Call::Timer(OVER, at(2_000)), Call::Timer(0, at(500))]),
                (500, Event::Timer(0), &BEGIN),
                (600, Event::Opened(0, End::Client), &[write]),
                (2_000, Event::Timer(OVER), &[Call::TakeBack(0, End::Client), close]),
                (2_050, Event::Received(0, End::Server, 50_000), &[]),
                (2_100, Event::Acked(0, End::Client), &[Call::Transfer(Transfer::Abandoned)]),
            ],
        );
        steps(
            &mut upload(true),
            &[
                (0, Event::Start, &[Call::Timer(OVER, at(2_000)), Call::Timer(0, at(500))]),
                (500, Event::Timer(0), &BEGIN),
                (600, Event::Opened(0, End::Client), &[write]),
                (
                    2_000,
                    Event::Timer(OVER),
                    &[Call::Abort(0, End::Client), Call::Transfer(Transfer::Abandoned)],
                ),
                (2_000, Event::Closed(0), &[]),
            ],
        );
    }

    #[test]
    fn bulk_transfers_count_no_transfers_and_close_when_they_open_too_late() {
        let values = [("flows", Value::Number(2.0)), ("start", Value::Seconds(0.5))];
        let ending = Ending { at: at(600), abort: false };
        let mut bulk: Bulk = machine(&Values(values.into_iter().collect()), Some(ending), false);
        let alarms = [Call::Timer(OVER, at(600)), Call::Timer(0, at(500)), Call::Timer(1, at(500))];
        let ends = |n| [Call::TakeBack(n, End::Client), Call::Close(n, End::Client)];
        steps(
            &mut bulk,
            &[
                (0, Event::Start, &alarms),
                (500, Event::Timer(0), &[Call::Open(0)]),
                (500, Event::Timer(1), &[Call::Open(1)]),
                (590, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, ENDLESS)]),
                (600, Event::Timer(OVER), &ends(0)),
                (
                    610,
                    Event::Opened(1, End::Client),
                    &[Call::Write(1, End::Client, ENDLESS), ends(1)[0], ends(1)[1]],
                ),
            ],
        );
    }
}
