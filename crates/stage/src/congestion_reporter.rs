//! Congestion reporter at a network's egress: counts congestion and reports it to its peer at the ingress
//! (Zhang et al. 2011 section III.B, step 3: the eNodeB).
//!
//! The loop of re-ECN stays inside the network, so that terminals need no change. The reporter precedes the
//! tunnel's egress and sees both ECN fields; a packet counts once. Missing numbers are losses. Counters are
//! cumulative: a lost report costs time, not accuracy. Without a tunnel it counts marks only.
//! [`crate::congestion_controller`] receives the reports.

use std::collections::BTreeMap;

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Ecn, Heap, Packet, Time};

use crate::Message;
use crate::station::{Cx, Kind, Own, Owner, Pass, Station, To, Whose};
use crate::tunnel::Numbers;

/// Its name in scenarios.
pub const KIND: &str = "congestion-reporter";
/// The name of the stage that receives its reports.
pub const PEER: &str = "congestion-controller";

/// A report on one bearer. All counts start with the bearer's first packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The tunnel's number; absent: packets were in none.
    pub tunnel: Option<u32>,
    /// The number of the packet that came last, where packets have one.
    pub last: Option<u16>,
    /// For how long that has been here.
    pub held: Duration,
    /// Packets and bytes, headers included.
    pub received: (u64, u64),
    /// Those of them that met congestion, by either field.
    pub marked: (u64, u64),
    /// Those marked outside.
    pub marked_outside: u64,
    /// Packets that are missing.
    pub lost: u64,
    /// Numbers of those that were marked or lost since the last report, where they are listed.
    pub list: Vec<u16>,
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Time between two reports on a tunnel. An interval without packets has no report.
        every: Duration = Duration, Text("200 ms"), Range::POSITIVE
            => source: "Zhang et al. 2011 section III.B: once per round trip, or less often";
        /// Marked or lost packets that trigger an immediate report.
        early: u64 = Integer, Text("32"), Range::FROM_ONE => source: "our choice: a burst of marks is urgent";
        /// List the numbers of marked and lost packets, 4 B each, so that the peer can assign them to flows.
        list: bool = Flag, Text("true") => source: PAPER;
        /// Size of a report without its list.
        size: u16 = Bytes, Text("48 B"), Range::between(1.0, 1500.0)
            => source: "our choice: headers of IPv4, UDP and GTP-U, and four counters of three bytes";
        /// Share of reports lost, in addition to losses at queues and links.
        loss: f64 = Number, Text("0"), Range::between(0.0, 1.0)
            => source: "our choice: a loss of reports that does not affect ACKs";
        /// Later numbers after which a missing one counts as lost.
        reordering: u32 = Integer, Text("3"), Range::between(1.0, 1000.0)
            => source: "RFC 5681 section 3.2: three duplicate acknowledgements";
    }
}

/// Bytes of a number in the list.
const ENTRY: usize = 4;

/// A bearer, that is a tunnel.
#[derive(Clone, Debug, Default)]
struct Bearer {
    numbers: Numbers,
    /// The next report.
    report: Report,
    /// When the last packet came.
    at: Time,
    /// Something has come since the last report.
    news: bool,
    /// Congestion since then.
    since: u64,
    /// No report before then.
    due: Time,
    along: Whose,
}

/// The reporter.
#[derive(Clone, Debug)]
pub struct CongestionReporter {
    params: Params,
    bearers: BTreeMap<Option<u32>, Bearer>,
    alarm: Time,
    reports: u64,
    reports_lost: u64,
}

impl CongestionReporter {
    /// A reporter that has seen nothing.
    pub fn new(params: Params) -> CongestionReporter {
        CongestionReporter {
            params,
            bearers: BTreeMap::new(),
            alarm: Time::NEVER,
            reports: 0,
            reports_lost: 0,
        }
    }

    fn send(params: &Params, bearer: &mut Bearer, cx: &mut Cx) -> bool {
        let list = std::mem::take(&mut bearer.report.list);
        let size = usize::from(params.size) + ENTRY * list.len();
        let report = Report { list, held: cx.now - bearer.at, ..bearer.report.clone() };
        (bearer.news, bearer.since, bearer.due) = (false, 0, cx.now + params.every);
        if params.loss > 0.0 && cx.stream.open01() < params.loss {
            return false;
        }
        cx.send(Own {
            to: To::Peer,
            size: u16::try_from(size).unwrap_or(u16::MAX),
            class: bearer.along.class,
            along: bearer.along,
            message: Some(Message::Report(Box::new(report))),
        });
        true
    }

    fn count(&mut self, sent: bool) {
        self.reports += 1;
        self.reports_lost += u64::from(!sent);
    }

    /// Asks for the alarm at `at`, if that is before the one that is set.
    fn alarm(&mut self, at: Time, cx: &mut Cx) {
        if at < self.alarm {
            self.alarm = at;
            cx.wake_at(at);
        }
    }

    fn sum(&self, of: impl Fn(&Bearer) -> u64) -> f64 {
        self.bearers.values().map(of).sum::<u64>() as f64
    }
}

impl Station for CongestionReporter {
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        if packet.is_of_stage() {
            return Pass::On;
        }
        let (inner, outer, depth) = cx.options.of(packet).layers(packet.ip);
        let header = outer[..depth].last();
        let params = self.params;
        let bearer = self.bearers.entry(header.map(|header| header.tunnel)).or_default();
        let before = bearer.report.lost;
        let report = &mut bearer.report;
        if let Some(header) = header {
            report.tunnel = Some(header.tunnel);
            if header.numbered {
                report.last = Some(header.sequence);
                let list = &mut report.list;
                bearer.numbers.arrive_telling(header.sequence, u64::from(params.reordering), |number| {
                    if params.list {
                        list.push(number as u16);
                    }
                });
                report.lost = bearer.numbers.lost();
            }
        }
        let outside = packet.ecn() == Ecn::Congestion;
        let marked = outside || Ecn::of(inner) == Ecn::Congestion;
        let bytes = u64::from(packet.size);
        report.received = (report.received.0 + 1, report.received.1 + bytes);
        if marked {
            report.marked = (report.marked.0 + 1, report.marked.1 + bytes);
            report.marked_outside += u64::from(outside);
            if params.list
                && let Some(last) = report.last
            {
                report.list.push(last);
            }
        }
        bearer.since += u64::from(marked) + (report.lost - before);
        (bearer.news, bearer.at, bearer.along) = (true, cx.now, cx.whose);
        if bearer.since >= params.early || bearer.due <= cx.now {
            let sent = CongestionReporter::send(&params, bearer, cx);
            self.count(sent);
        } else {
            let due = bearer.due;
            self.alarm(due, cx);
        }
        Pass::On
    }

    fn wake(&mut self, cx: &mut Cx) {
        self.alarm = Time::NEVER;
        let mut next = Time::NEVER;
        let (mut all, mut gone) = (0, 0);
        for bearer in self.bearers.values_mut().filter(|bearer| bearer.news) {
            if bearer.due <= cx.now {
                all += 1;
                gone += u64::from(!CongestionReporter::send(&self.params, bearer, cx));
            } else {
                next = next.min(bearer.due);
            }
        }
        (self.reports, self.reports_lost) = (self.reports + all, self.reports_lost + gone);
        self.alarm(next, cx);
    }

    fn heap_bytes(&self) -> u64 {
        let of = |bearer: &Bearer| bearer.numbers.heap_bytes() + bearer.report.list.heap_bytes();
        self.bearers.values().map(of).sum::<u64>() + self.bearers.heap_bytes()
    }
}

impl Kind for CongestionReporter {
    fn build(values: &Values, _owner: Owner) -> Result<CongestionReporter, Vec<Problem>> {
        Ok(CongestionReporter::new(Params::read(values)))
    }
}

const PAPER: &str = "Zhang et al. 2011 section III.B, step 3";

observables! {
    CongestionReporter: reporter, _now;
    reports: "packets", "Reports made." => reporter.reports;
    reports_lost: "packets", "Reports lost by the parameter loss." => reporter.reports_lost;
    received: "packets", "Packets received." => reporter.sum(|b| b.report.received.0);
    received_bytes: "B", "Bytes received, headers included." => reporter.sum(|b| b.report.received.1);
    marked: "packets", "Packets with an outer or inner mark." => reporter.sum(|b| b.report.marked.0);
    marked_bytes: "B", "Their bytes." => reporter.sum(|b| b.report.marked.1);
    marked_outside: "packets", "Packets with an outer mark." => reporter.sum(|b| b.report.marked_outside);
    lost: "packets", "Missing numbers; 0 for packets without numbers." => reporter.sum(|b| b.report.lost);
    late: "packets", "Packets that arrived after they had been counted as lost, or twice."
        => reporter.sum(|b| b.numbers.late());
    unreported: "packets", "Packets marked or lost since the last report." => reporter.sum(|b| b.since);
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: KIND,
    traits: Traits { sends: true, peers: &[PEER], ..Mechanism::PLAIN },
    title: "Congestion reporter",
    example: r#"groups.users.path = ["gateway", "bottleneck", "report"]

[stages]
gateway = { kind = "congestion-controller", peer = "report" }
report = { kind = "congestion-reporter", peer = "gateway", every = "200 ms" }"#,
    doc: "Counts the received, marked and lost packets of each tunnel. A packet counts as marked once, if \
          its outer or inner header is marked. Reports these counts to its peer, the congestion-controller \
          behind the tunnel's ingress. Place it before the egress: the eNodeB of re-ECN's infrastructure \
          mode. Reports take the reverse path and may be lost like any packet.",
    source: PAPER,
    params: Params::PARAMS,
    observables: CongestionReporter::OBSERVABLES,
    deviations: &[evenflow_base::schema::Deviation {
        what: "Drops and marks of the eNodeB's own queue are not counted separately.",
        why: "The paper has counters for both. The eNodeB's queue is on the link before the reporter; the \
              sum is the same.",
    }],
    ..Mechanism::of(Room::Stage)
};
