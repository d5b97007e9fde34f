//! Traces of packets of chosen flows at each component, for `[record] trace`.
//!
//! Routes of such flows have *taps* next to components. Other flows have none, and a run without a trace has
//! no cost. A run with a trace does all work at its time.

use evenflow_base::options::OUTER;
use evenflow_base::{Carried, Heap, Options, Outer, Packet, Reason, Time, ip};

use crate::column::Column;
use crate::faults::RunError;

/// Rows that a run may keep: about half a gigabyte as columns.
pub const MOST_ROWS: usize = 1_000_000;

/// The event of a packet. Its number is in the column `trace.action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// It leaves an end.
    Send = 0,
    /// It comes to a link.
    Arrive = 1,
    /// It comes out at the far end of a link.
    Leave = 2,
    /// A stage lets it pass.
    Pass = 3,
    /// A link or stage marks it.
    Mark = 4,
    /// A stage keeps it for later.
    Hold = 5,
    /// A link or stage drops it, or a link loses it.
    Drop = 6,
    /// It comes to an end.
    Receive = 7,
}

/// Set in the number of a component that is a stage.
pub const STAGES: u32 = 1 << 31;

/// Where: an end, a link and direction, or a stage.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Twice the link's index, plus one backwards; the stage's index and [`STAGES`]; [`Place::END`].
    pub component: u32,
    /// Number among its copies.
    pub copy: u32,
}

impl Place {
    /// One of the two ends.
    pub const END: Place = Place { component: u32::MAX, copy: 0 };
}

/// One thing that happened to one packet.
#[derive(Clone, Copy, Debug)]
struct Row {
    time: Time,
    /// As it was then, with its own number.
    packet: Packet,
    /// Its flow's number in lists of events.
    flow: u32,
    place: Place,
    action: Action,
    reason: Option<Reason>,
    /// Where in [`Trace::carried`] what it carried is.
    carried: Option<u32>,
}

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// By flow, of those that there are from the start: whether it is traced.
    pub flows: Vec<bool>,
    /// By host: whether the flows that it opens are traced.
    pub hosts: Vec<bool>,
    rows: Vec<Row>,
    carried: Vec<Carried>,
    /// The outer headers of each of those, and how many there are.
    headers: Vec<([Outer; OUTER], usize)>,
}

impl Trace {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.rows.heap_bytes() + self.carried.heap_bytes() + self.headers.heap_bytes()
    }

    /// Adds a row, if there is space for it.
    #[expect(clippy::too_many_arguments, reason = "the fields of a row")]
    pub fn add(
        &mut self,
        time: Time,
        flow: u32,
        place: Place,
        action: Action,
        reason: Option<Reason>,
        packet: &Packet,
        options: &Options,
    ) -> Result<(), RunError> {
        if self.rows.len() >= MOST_ROWS {
            let seconds = self.rows.last().map_or(0.0, |row| row.time.seconds());
            return Err(RunError::Trace { most: MOST_ROWS, seconds });
        }
        let carried = packet.place().map(|_| {
            self.carried.push(*options.of(packet));
            self.carried.len() as u32 - 1
        });
        let (ip, headers, depth) = options.of(packet).layers(packet.ip);
        self.headers.extend(carried.map(|_| (headers, depth)));
        let packet = Packet { seq: options.seq(packet), ip, ..*packet };
        self.rows.push(Row { time, packet, flow, place, action, reason, carried });
        Ok(())
    }

    /// The columns. Fields that a packet does not have are NaN.
    pub fn columns(&self) -> Vec<Column> {
        let times: Vec<f64> = self.rows.iter().map(|row| row.time.seconds()).collect();
        let counts = self.carried.iter().any(|carried| carried.accurate.is_some());
        let accurate = if counts { ACCURATE } else { &[] };
        FIELDS
            .iter()
            .chain(accurate)
            .map(|(name, value)| Column {
                name: format!("trace.{name}"),
                times: times.clone(),
                values: self
                    .rows
                    .iter()
                    .map(|row| value(row, self.beside(row)).unwrap_or(f64::NAN))
                    .collect(),
            })
            .collect()
    }

    fn beside(&self, row: &Row) -> Beside<'_> {
        row.carried.map_or(Beside { carried: Carried::NONE, headers: &[] }, |place| {
            let (headers, depth) = &self.headers[place as usize];
            Beside { carried: &self.carried[place as usize], headers: &headers[..*depth] }
        })
    }
}

/// The options that a packet carried.
#[derive(Clone, Copy)]
struct Beside<'a> {
    carried: &'a Carried,
    headers: &'a [Outer],
}

impl std::ops::Deref for Beside<'_> {
    type Target = Carried;

    fn deref(&self) -> &Carried {
        self.carried
    }
}

/// The value of a row in one column; `None`: no value.
type Value = fn(&Row, Beside) -> Option<f64>;

fn flag(on: bool) -> Option<f64> {
    Some(f64::from(u8::from(on)))
}

/// An ACK that carries nothing else, and takes no number.
fn is_pure_ack(packet: &Packet) -> bool {
    use evenflow_base::flags::{ACK, FIN, RST, SYN};
    !packet.is_data() && packet.flags & (ACK | FIN | RST | SYN) == ACK
}

/// Boundary `n` of SACK block `block`.
fn block(c: Beside, block: usize, to: bool) -> Option<f64> {
    c.report.blocks().get(block).map(|(from, end)| if to { *end as f64 } else { *from as f64 })
}

fn outer(c: Beside, header: usize, of: fn(&Outer) -> f64) -> Option<f64> {
    c.headers.get(header).map(of)
}

/// The columns, in order.
const FIELDS: &[(&str, Value)] = &[
    ("flow", |r, _| Some(f64::from(r.flow))),
    ("action", |r, _| Some(f64::from(r.action as u8))),
    ("link", |r, _| (r.place.component & STAGES == 0).then(|| f64::from(r.place.component / 2))),
    ("stage", |r, _| {
        (r.place.component & STAGES != 0 && r.place.component != u32::MAX)
            .then(|| f64::from(r.place.component & !STAGES))
    }),
    ("copy", |r, _| (r.place.component != u32::MAX).then(|| f64::from(r.place.copy))),
    ("backward", |r, _| flag(r.packet.is_backward())),
    ("reason", |r, _| r.reason.map(|reason| f64::from(reason as u8))),
    ("class", |r, _| Some(f64::from(r.packet.class))),
    ("size", |r, _| Some(f64::from(r.packet.size))),
    ("payload", |r, _| Some(f64::from(r.packet.payload))),
    ("flags", |r, _| (!r.packet.is_datagram()).then(|| f64::from(r.packet.wire_flags()))),
    ("seq", |r, c| match is_pure_ack(&r.packet) {
        false => Some(r.packet.seq as f64),
        true => c.window.map(|_| c.own as f64),
    }),
    ("ack", |r, c| match (is_pure_ack(&r.packet), r.packet.is(evenflow_base::flags::ACK)) {
        (true, _) => Some(r.packet.seq as f64),
        // A SYN-ACK answers a SYN, which has no data.
        (false, true) if r.packet.is(evenflow_base::flags::SYN) => Some(0.0),
        (false, carries) => carries.then_some(c.ack as f64),
    }),
    ("window", |_, c| c.window.map(f64::from)),
    ("scale", |_, c| c.scale.map(f64::from)),
    ("stamp", |r, _| (!r.packet.is_datagram()).then(|| f64::from(r.packet.stamp))),
    ("ts_val", |_, c| (c.ts_val != 0).then(|| f64::from(c.ts_val))),
    ("ecn", |r, _| Some(f64::from(r.packet.ip & ip::ECN))),
    ("re", |r, _| flag(r.packet.re())),
    ("conex", |r, _| Some(f64::from(r.packet.conex() / ip::LOSS))),
    ("sack_1_from", |_, c| block(c, 0, false)),
    ("sack_1_to", |_, c| block(c, 0, true)),
    ("sack_2_from", |_, c| block(c, 1, false)),
    ("sack_2_to", |_, c| block(c, 1, true)),
    ("sack_3_from", |_, c| block(c, 2, false)),
    ("sack_3_to", |_, c| block(c, 2, true)),
    ("outer_1_ecn", |_, c| outer(c, 0, |o| f64::from(o.ip & ip::ECN))),
    ("outer_1_re", |_, c| outer(c, 0, |o| f64::from(u8::from(o.re())))),
    ("outer_1_tunnel", |_, c| outer(c, 0, |o| f64::from(o.tunnel))),
    ("outer_1_sequence", |_, c| outer(c, 0, |o| f64::from(o.sequence))),
    ("outer_1_bytes", |_, c| outer(c, 0, |o| f64::from(o.bytes))),
    ("outer_2_ecn", |_, c| outer(c, 1, |o| f64::from(o.ip & ip::ECN))),
    ("outer_2_re", |_, c| outer(c, 1, |o| f64::from(u8::from(o.re())))),
    ("outer_2_tunnel", |_, c| outer(c, 1, |o| f64::from(o.tunnel))),
    ("outer_2_sequence", |_, c| outer(c, 1, |o| f64::from(o.sequence))),
    ("outer_2_bytes", |_, c| outer(c, 1, |o| f64::from(o.bytes))),
];

/// A field of the AccECN option: 0 ECT(0), 1 CE, 2 ECT(1).
fn counter(c: Beside, field: usize) -> Option<f64> {
    c.accurate.and_then(|option| option.field(field)).map(f64::from)
}

/// The columns of a trace with AccECN options.
const ACCURATE: &[(&str, Value)] = &[
    ("accecn_kind", |_, c| c.accurate.map(|option| f64::from(option.kind()))),
    ("accecn_e0b", |_, c| counter(c, 0)),
    ("accecn_ceb", |_, c| counter(c, 1)),
    ("accecn_e1b", |_, c| counter(c, 2)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::options::AccEcn;
    use evenflow_base::{Ecn, flags};

    /// A data segment with everything that a packet can carry, and a pure ACK.
    #[test]
    fn every_field_of_a_packet_is_a_column() {
        let (mut trace, mut options) = (Trace::default(), Options::default());
        let mut data = Packet {
            seq: 7000,
            stamp: 12,
            class: 1,
            flags: flags::ACK | flags::PUSH | flags::AE,
            ip: Ecn::Capable1 as u8 | ip::RE | ip::CREDIT | ip::MARK,
            ..Packet::new(3, 1552, 1500)
        };
        let carried = options.attach(&mut data);
        (carried.ack, carried.window, carried.scale, carried.ts_val) = (900, Some(501), Some(7), 44);
        carried.report.push((10, 20));
        carried.report.push((1, 5));
        let header = Outer {
            ip: Ecn::Congestion as u8 | ip::RE,
            tunnel: 9,
            sequence: 65_535,
            bytes: 36,
            ..Outer::default()
        };
        assert!(options.push_outer(&mut data, header));
        let at = Place { component: 5, copy: 2 };
        assert_eq!(
            trace.add(Time(1_500_000_000), 3, at, Action::Mark, Some(Reason::Early), &data, &options),
            Ok(())
        );
        let ack =
            Packet { seq: 8500, stamp: 12, flags: flags::ACK, ip: ip::BACKWARD, ..Packet::new(3, 52, 0) };
        assert_eq!(
            trace.add(Time(1_600_000_000), 3, Place::END, Action::Receive, None, &ack, &options),
            Ok(())
        );
        let columns = trace.columns();
        let of = |name: &str, row: usize| {
            let found = columns.iter().find(|c| c.name == format!("trace.{name}"));
            let value = found.unwrap_or_else(|| panic!("{name}")).values[row];
            if value.is_nan() { None } else { Some(value) }
        };
        assert_eq!(columns[0].times, [1.5, 1.6]);
        for (name, first, second) in [
            ("flow", Some(3.0), Some(3.0)),
            ("action", Some(4.0), Some(7.0)),
            ("link", Some(2.0), None),
            ("stage", None, None),
            ("copy", Some(2.0), None),
            ("backward", Some(0.0), Some(1.0)),
            ("reason", Some(f64::from(Reason::Early as u8)), None),
            ("class", Some(1.0), Some(0.0)),
            ("size", Some(1588.0), Some(52.0)),
            ("payload", Some(1500.0), Some(0.0)),
            ("flags", Some(f64::from(0x118)), Some(f64::from(0x010))),
            ("seq", Some(7000.0), None),
            ("ack", Some(900.0), Some(8500.0)),
            ("window", Some(501.0), None),
            ("scale", Some(7.0), None),
            ("stamp", Some(12.0), Some(12.0)),
            ("ts_val", Some(44.0), None),
            ("ecn", Some(1.0), Some(0.0)),
            ("re", Some(1.0), Some(0.0)),
            ("conex", Some(6.0), Some(0.0)),
            ("sack_1_from", Some(10.0), None),
            ("sack_1_to", Some(20.0), None),
            ("sack_2_from", Some(1.0), None),
            ("sack_2_to", Some(5.0), None),
            ("sack_3_from", None, None),
            ("outer_1_ecn", Some(3.0), None),
            ("outer_1_re", Some(1.0), None),
            ("outer_1_tunnel", Some(9.0), None),
            ("outer_1_sequence", Some(65_535.0), None),
            ("outer_1_bytes", Some(36.0), None),
            ("outer_2_ecn", None, None),
        ] {
            assert_eq!((of(name, 0), of(name, 1)), (first, second), "{name}");
        }
    }

    /// Without an AccECN option there are no columns for it.
    #[test]
    fn counters_of_the_accecn_option_are_columns() {
        let (mut trace, mut options) = (Trace::default(), Options::default());
        let mut ack = Packet { seq: 8500, flags: flags::ACK, ..Packet::new(3, 52, 0) };
        let mut add = |ack: &Packet, options: &Options| {
            trace.add(Time(1), 3, Place::END, Action::Send, None, ack, options).expect("few rows");
            trace.columns().into_iter().filter(|c| c.name.contains("accecn")).collect::<Vec<_>>()
        };
        assert!(add(&ack, &options).is_empty());
        options.attach(&mut ack).accurate = Some(AccEcn::new(true, [7, 8, 9], 2));
        let found = add(&ack, &options);
        let names: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.values[1])).collect();
        assert_eq!(names[0], ("trace.accecn_kind", 174.0));
        assert!(names[1].1.is_nan() && found.iter().all(|c| c.values[0].is_nan()));
        assert_eq!(names[2..], [("trace.accecn_ceb", 8.0), ("trace.accecn_e1b", 9.0)]);
    }

    #[test]
    fn a_trace_that_is_too_long_ends_the_run_with_a_sentence() {
        let (mut trace, options) = (Trace::default(), Options::default());
        let packet = Packet::new(0, 1500, 1448);
        let mut add =
            |n: usize| trace.add(Time(n as u64), 0, Place::END, Action::Send, None, &packet, &options);
        assert!((0..MOST_ROWS).all(|n| add(n).is_ok()));
        let why = add(MOST_ROWS).unwrap_err().to_string();
        assert!(why.starts_with("record.trace: more than 1000000 rows by 0.000999999 s"), "{why}");
    }
}
