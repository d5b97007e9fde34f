//! Probes: series, histograms and lists of events that a `[record]` section asks for.
//!
//! A run without one pays a flag test per packet.

use evenflow_base::{Duration, Packet, Time, Verdict};
use evenflow_scenario::model::EventKind;

use crate::column::Column;
use crate::events::{Key, NEVER, Rank, key};
use crate::measure::PortCounters;
use crate::trace::Trace;

/// Gauges of a network that series can read.
pub trait Gauges {
    /// An observable of a port's queue, or of a node of its scheduler, as of `now`.
    fn queue(&mut self, port: usize, node: Option<u32>, name: &str, now: Time) -> Option<f64>;
    /// The rate of a port at `now`, bit/s; `Err`: the bits that delivery opportunities had by then.
    fn rate(&self, port: usize, now: Time) -> Result<f64, f64>;
    /// The counters of a port.
    fn port(&self, port: usize) -> &PortCounters;
    /// An observable of a stage.
    fn stage(&self, stage: usize, name: &str, now: Time) -> Option<f64>;
    /// Application bytes that a flow has received so far.
    fn received(&self, flow: usize) -> u64;
    /// An observable of a TCP flow's sender.
    fn sender(&self, flow: usize, name: &str) -> Option<f64>;
    /// An observable of the flow with this number that a user's machine opened; `None` while it is not open.
    fn opened(&self, host: u32, number: u32, name: &str) -> Option<f64>;
}

/// Source of a timed series.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Observable of a port's queue, or of a node of its scheduler (a class of HTB).
    Queue(usize, Option<u32>, &'static str),
    /// A value behind each random loss of a port.
    Loss(usize, &'static str),
    /// A count of a port's scheduler, or of a node of it: its increase.
    Count(usize, Option<u32>, &'static str),
    /// The rate of a port; of delivery opportunities, the mean since the last look.
    Rate(usize),
    /// Counter of a port: its increase.
    Port(usize, &'static str),
    /// Observable of a stage.
    Stage(usize, &'static str),
    /// Observable of a flow's sender.
    Sender(usize, &'static str),
    /// An observable of a flow opened during the run: the user's machine, and the flow's number there.
    Opened(u32, u32, &'static str),
    /// Application bytes received by a flow: the increase.
    Received(usize),
}

/// A series taken at intervals.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Its source.
    pub source: Source,
    /// How often.
    pub every: Duration,
    /// When next.
    pub next: Time,
    /// Value of a counter at the last look.
    pub before: f64,
    /// Its column.
    pub column: usize,
}

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Happening {
    /// When.
    pub time: Time,
    /// To a packet of which flow.
    pub flow: u32,
    /// At which link and direction: twice the link's index, plus one backwards. Or at which stage: its index and [`crate::trace::STAGES`].
    pub component: u32,
    /// Reason of a drop or mark; of an arrival: whether it was marked.
    pub code: u8,
}

/// A flow was opened.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// When.
    pub time: Time,
    /// Its number in lists of events.
    pub flow: u32,
    /// Index of its group.
    pub group: u32,
    /// Number of its user in the group.
    pub user: u32,
    /// Its number among the user's flows.
    pub number: u32,
}

/// How a flow came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum How {
    /// Both ends were closed in order.
    Closed = 0,
    /// One end reset the connection.
    Reset = 1,
    /// One end gave up after too many retransmissions.
    GaveUp = 2,
}

/// A flow was over.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// When.
    pub time: Time,
    /// Its number in lists of events.
    pub flow: u32,
    /// How.
    pub how: How,
}

/// Everything a `[record]` section asks for.
#[derive(Debug, Default)]
pub struct Probes {
    /// Some port must report each packet.
    pub watches_ports: bool,
    /// Some stage must report each packet.
    pub watches_stages: bool,
    /// Drops must be reported.
    pub watches_drops: bool,
    /// Senders must be logged with each segment that they receive.
    pub watches_senders: bool,
    /// Deliveries must be counted by port.
    pub watches_links: bool,
    /// Columns.
    pub series: Vec<Column>,
    /// Series at intervals.
    pub timed: Vec<Timed>,
    /// Per packet: (side, copy, node of the scheduler, observable, column).
    pub port_series: Vec<(u32, u32, Option<u32>, &'static str, usize)>,
    /// Per packet: (stage, copy, observable, column).
    pub stage_series: Vec<(u32, u32, &'static str, usize)>,
    /// With each segment that a sender receives: (flow, observable, column, the window logged last).
    pub flow_series: Vec<(usize, &'static str, usize, f64)>,
    /// At drops and marks of leaving packets: (port, observable, column). Links keep them until the end.
    pub departures: Vec<(usize, &'static str, usize)>,
    /// The same at random losses.
    pub losses: Vec<(usize, &'static str, usize)>,
    /// Ports and flows of randomly lost packets, if there are such series.
    pub lost: Vec<(u32, u32)>,
    /// Drops by queue length: (side, counts).
    pub at_drop: Vec<(u32, Vec<u64>)>,
    /// Lists.
    pub lists: Vec<(EventKind, Vec<Happening>)>,
    /// Flows opened, where they are to be listed.
    pub opened: Option<Vec<Opened>>,
    /// Owners of the initial flows: group, user, number. Only if openings are listed.
    pub whose: Vec<[u32; 3]>,
    /// The trace of chosen flows, if requested.
    pub trace: Option<Box<Trace>>,
    /// Flows over, where they are to be listed.
    pub closed: Option<Vec<Closed>>,
    window_at: Option<Time>,
    /// When the next look is due: the least of what follows from `timed` and `window_at`.
    due: Option<Time>,
}

impl Probes {
    /// The window opens at `at`, unless it is open from the start.
    pub fn schedule(&mut self, at: Option<Time>) {
        self.window_at = at;
        self.update();
    }

    /// Whether the window opens now; true once. A look follows.
    pub fn take_window(&mut self, now: Time) -> bool {
        self.window_at.take_if(|at| *at <= now).is_some()
    }

    /// When the next look is due.
    #[inline]
    pub fn head(&self) -> Key {
        self.due.map_or(NEVER, |at| key(at, Rank::Probe, 0, 0))
    }

    fn update(&mut self) {
        self.due = self.timed.iter().map(|t| t.next).chain(self.window_at).min();
    }

    /// Takes every value that is due.
    pub fn look(&mut self, now: Time, gauges: &mut impl Gauges) {
        for timed in &mut self.timed {
            if timed.next > now {
                continue;
            }
            timed.next = now + timed.every;
            let mut rise = |total: f64| {
                let rise = total - timed.before;
                timed.before = total;
                rise
            };
            let value = match timed.source {
                Source::Queue(port, node, name) => gauges.queue(port, node, name, now),
                Source::Count(port, node, name) => gauges.queue(port, node, name, now).map(rise),
                Source::Rate(port) => {
                    Some(gauges.rate(port, now).unwrap_or_else(|bits| rise(bits) / timed.every.seconds()))
                }
                Source::Port(port, name) => {
                    let c = gauges.port(port);
                    Some(rise(match name {
                        "arrived_bytes" => c.arrived_bytes as f64,
                        "delivered_bytes" => c.delivered_bytes as f64,
                        "delivered_packets" => c.delivered as f64,
                        "marks" => c.marks as f64,
                        _ => c.drops as f64,
                    }))
                }
                Source::Loss(..) => None, // links keep these values until the end
                Source::Stage(stage, name) => gauges.stage(stage, name, now),
                Source::Sender(flow, name) => gauges.sender(flow, name),
                Source::Opened(host, number, name) => gauges.opened(host, number, name),
                Source::Received(flow) => Some(rise(gauges.received(flow) as f64)),
            };
            self.series[timed.column].times.push(now.seconds());
            self.series[timed.column].values.push(value.unwrap_or(f64::NAN));
        }
        self.update();
    }

    /// A sender with a congestion window of `window` packets is about to receive a segment. Only a changed window is logged.
    pub fn at_sender(&mut self, flow: usize, window: f64, observe: impl Fn(&str) -> Option<f64>, now: Time) {
        for (of, name, column, last) in &mut self.flow_series {
            if *of != flow || *last == window {
                continue;
            }
            *last = window;
            self.series[*column].times.push(now.seconds());
            self.series[*column].values.push(observe(name).unwrap_or(f64::NAN));
        }
    }

    /// A packet of a flow, which is named by its number in lists, was decided on at a port, and does not wait there yet.
    pub fn at_port(
        &mut self,
        side: u32,
        copy: u32,
        observe: impl Fn(Option<u32>, &str) -> Option<f64>,
        (packet, flow): (&Packet, u32),
        verdict: Verdict,
        now: Time,
    ) {
        for &(of, number, node, name, column) in &self.port_series {
            if of == side && number == copy {
                self.series[column].times.push(now.seconds());
                self.series[column].values.push(observe(node, name).unwrap_or(f64::NAN));
            }
        }
        for (kind, list) in &mut self.lists {
            let code = match (&kind, verdict) {
                (EventKind::Arrival, _) if packet.is_data() && !packet.is_backward() => {
                    u8::from(packet.ecn() == evenflow_base::Ecn::Congestion)
                }
                (EventKind::Mark, Verdict::Mark(reason)) => reason as u8,
                _ => continue,
            };
            list.push(Happening { time: now, flow, component: side, code });
        }
    }

    /// A packet passed a stage.
    pub fn at_stage(&mut self, stage: u32, copy: u32, observe: impl Fn(&str) -> Option<f64>, now: Time) {
        for &(of, number, name, column) in &self.stage_series {
            if of == stage && number == copy {
                self.series[column].times.push(now.seconds());
                self.series[column].values.push(observe(name).unwrap_or(f64::NAN));
            }
        }
    }

    /// A packet was marked as it left a queue, or by a stage.
    pub fn marked(&mut self, mark: Happening) {
        for (kind, list) in &mut self.lists {
            if *kind == EventKind::Mark {
                list.push(mark);
            }
        }
    }

    /// A packet was dropped; `met` is how many packets waited, where that is to be counted.
    pub fn dropped(&mut self, drop: Happening, met: Option<u32>) {
        for (side, counts) in &mut self.at_drop {
            if let Some(length) = met.filter(|_| *side == drop.component) {
                let length = length as usize;
                if counts.len() <= length {
                    counts.resize(length + 1, 0);
                }
                counts[length] += 1;
            }
        }
        for (kind, list) in &mut self.lists {
            if *kind == EventKind::Drop {
                list.push(drop);
            }
        }
    }
}
