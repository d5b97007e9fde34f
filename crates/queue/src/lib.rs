//! Queues: admission rules (what may wait) and schedulers (who goes next).
//!
//! Sans I/O: the instant, the occupancy and the randomness are arguments. The same objects serve a simulated link and
//! a real one. A rule decides when a packet arrives ([`Admission::admit`]); the link keeps the packets in order itself
//! (FIFO) or in a [`Scheduler`].

pub mod activity_aqm;
pub mod averager;
pub mod csfq;
pub mod droptail;
pub mod scheduler;

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Duration, Packet, Rate, Stream, Time};

pub use activity_aqm::ActivityAqm;
pub use csfq::Csfq;
pub use droptail::Limit;
pub use scheduler::{Queued, Scheduler};

/// What waits at a link at the instant of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Occupancy {
    /// Waiting packets; the one in service does not count.
    pub packets: u32,
    /// Waiting bytes.
    pub bytes: u64,
    /// The link's rate now; absent for a link that is pure delay.
    pub rate: Option<Rate>,
    /// Whether the queue's limit leaves no room for this packet.
    pub full: bool,
}

impl Occupancy {
    /// How long the waiting bytes take at line rate, seconds.
    #[inline]
    pub fn wait(&self) -> f64 {
        self.rate.map_or(0.0, |rate| self.bytes as f64 * 8.0 / rate.0)
    }
}

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// The queue was full.
    Limit,
    /// The activity AQM: too active for the queue of that moment.
    Activity,
    /// CSFQ: above the fair rate, and the coin said so.
    Csfq,
    /// Taken out of the longest queue to make room.
    PushedOut,
}

impl Reason {
    /// All of them, in the order of their codes.
    pub const ALL: [Reason; 4] = [Reason::Limit, Reason::Activity, Reason::Csfq, Reason::PushedOut];

    /// Its name in counters.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Limit => "limit",
            Reason::Activity => "activity",
            Reason::Csfq => "csfq",
            Reason::PushedOut => "pushed_out",
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may wait.
    Accept,
    /// It may wait and now carries a congestion mark.
    Mark(Reason),
    /// It is gone.
    Drop(Reason),
}

/// An admission rule, dispatched statically.
#[derive(Clone, Debug)]
pub enum Admission {
    /// Nothing but the limit.
    DropTail,
    /// See [`activity_aqm`].
    Activity(Box<ActivityAqm>),
    /// See [`csfq`].
    Csfq(Box<Csfq>),
}

impl Admission {
    /// The rule called `kind`. `rate` is its link's, for parameters that default to it.
    pub fn build(kind: &str, values: &Values, rate: Option<Rate>) -> Result<Admission, Vec<Problem>> {
        match kind {
            "droptail" => Ok(Admission::DropTail),
            "activity-aqm" => {
                activity_aqm::Params::new(values).map(|p| Admission::Activity(Box::new(ActivityAqm::new(p))))
            }
            "csfq" => csfq::Params::new(values, rate).map(|p| Admission::Csfq(Box::new(Csfq::new(p)))),
            other => panic!("no admission rule is called {other}"),
        }
    }

    /// Decides on `packet` at `now`. `stream` is the rule's own.
    #[inline]
    pub fn admit(
        &mut self,
        packet: &mut Packet,
        now: Time,
        seen: &Occupancy,
        stream: &mut Stream,
    ) -> Verdict {
        match self {
            Admission::DropTail if seen.full => Verdict::Drop(Reason::Limit),
            Admission::DropTail => Verdict::Accept,
            Admission::Activity(rule) => rule.admit(packet, now, seen),
            Admission::Csfq(rule) => rule.admit(packet, now, seen, stream),
        }
    }

    /// A packet of `size` bytes has been on the wire for `busy`. Only rules with [`Admission::watches_departures`] need it.
    pub fn departed(&mut self, size: u16, busy: Duration, now: Time) {
        if let Admission::Activity(rule) = self {
            rule.departed(size, busy, now);
        }
    }

    /// Whether the rule must see each departure, and therefore needs an event for it.
    pub fn watches_departures(&self) -> bool {
        matches!(self, Admission::Activity(rule) if rule.watches_departures())
    }

    /// An observable of the rule by name, as of its last decision.
    pub fn observe(&self, name: &str) -> Option<f64> {
        match self {
            Admission::DropTail => None,
            Admission::Activity(rule) => rule.observe(name),
            Admission::Csfq(rule) => rule.observe(name),
        }
    }
}

/// The tables of all admission rules.
pub static MECHANISMS: &[&Mechanism] = &[&activity_aqm::TABLE, &csfq::TABLE, &droptail::TABLE];

/// The tables of all schedulers.
pub static SCHEDULERS: &[&Mechanism] =
    &[&scheduler::FIFO, &scheduler::STRICT, &scheduler::MEDF, &scheduler::DRR];

/// What is wrong with several parameters together.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    if SCHEDULERS.iter().any(|m| m.kind == kind) {
        return Vec::new();
    }
    Admission::build(kind, values, Some(Rate(1.0))).err().unwrap_or_default()
}
