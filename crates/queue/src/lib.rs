//! Queues: admission rules (what may wait) and schedulers (who goes next).
//!
//! Sans I/O: the instant, the occupancy and the randomness are arguments. The same objects serve a simulated link and
//! a real one. A rule decides when a packet arrives ([`Admission::admit`]), some when it would leave ([`Admission::leave`]);
//! the link keeps the packets in order itself (FIFO) or in a [`Scheduler`].

pub mod action;
pub mod activity_aqm;
pub mod averager;
pub mod codel;
pub mod constant_probability;
pub mod credit;
pub mod csfq;
pub mod droptail;
pub mod fq_codel;
pub mod htb;
pub mod load_based;
pub mod pie;
pub mod red;
pub mod rem;
pub mod scheduler;
pub mod sfq;
pub mod tbf;
pub mod virtual_queue;

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Draw, Duration, Packet, Rate, Time};

pub use action::Action;
pub use activity_aqm::ActivityAqm;
pub use codel::Codel;
pub use constant_probability::ConstantProbability;
pub use csfq::Csfq;
pub use droptail::Limit;
pub use fq_codel::FqCodel;
pub use htb::Htb;
pub use load_based::LoadBased;
pub use pie::Pie;
pub use red::Red;
pub use rem::Rem;
pub use scheduler::{Gone, Queued, Scheduler};
pub use sfq::Sfq;
pub use tbf::Tbf;
pub use virtual_queue::VirtualQueue;

/// The link a rule is built for: what its parameters may default to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// Its rate at the start; absent for a link that is pure delay.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Duration,
}

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
    /// Since when the transmitter has had nothing to do; absent while it is busy.
    pub idle_since: Option<Time>,
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
    /// RED: the average is between the thresholds, and the draw said so.
    Early,
    /// RED: the average is above its top, or the queue at `mark_all_above`.
    Forced,
    /// The virtual queue has overflowed.
    Virtual,
    /// Load-based marking: the measured load, and the draw said so.
    Load,
    /// Constant-probability marking.
    Constant,
    /// REM: the price, and the draw said so.
    Price,
    /// CoDel: packets had waited too long for too long.
    Codel,
    /// CoDel: this packet had waited longer than `ce_threshold`.
    CeThreshold,
    /// PIE: the probability, and the draw said so.
    Pie,
    /// Larger than the scheduler could ever send.
    TooLarge,
    /// Lost on the link at random, whatever its queue.
    Loss,
}

impl Reason {
    /// All of them, in the order of their codes.
    pub const ALL: [Reason; 15] = [
        Reason::Limit,
        Reason::Activity,
        Reason::Csfq,
        Reason::PushedOut,
        Reason::Early,
        Reason::Forced,
        Reason::Virtual,
        Reason::Load,
        Reason::Constant,
        Reason::Price,
        Reason::Codel,
        Reason::CeThreshold,
        Reason::Pie,
        Reason::TooLarge,
        Reason::Loss,
    ];

    /// Its name in counters.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Limit => "limit",
            Reason::Activity => "activity",
            Reason::Csfq => "csfq",
            Reason::PushedOut => "pushed_out",
            Reason::Early => "early",
            Reason::Forced => "forced",
            Reason::Virtual => "virtual",
            Reason::Load => "load",
            Reason::Constant => "constant",
            Reason::Price => "price",
            Reason::Codel => "codel",
            Reason::CeThreshold => "ce_threshold",
            Reason::Pie => "pie",
            Reason::TooLarge => "too_large",
            Reason::Loss => "loss",
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
    /// See [`red`].
    Red(Box<Red>),
    /// See [`virtual_queue`].
    Virtual(Box<VirtualQueue>),
    /// See [`load_based`].
    Load(Box<LoadBased>),
    /// See [`constant_probability`].
    Constant(ConstantProbability),
    /// See [`rem`].
    Rem(Box<Rem>),
    /// See [`codel`].
    Codel(Box<Codel>),
    /// See [`pie`].
    Pie(Box<Pie>),
}

impl Admission {
    /// The rule called `kind` for the link `line`. What is rule and scheduler in one ([`owns_scheduler`]) has nothing to say
    /// when a packet arrives but whether there is room.
    pub fn build(kind: &str, values: &Values, line: Line) -> Result<Admission, Vec<Problem>> {
        match kind {
            "droptail" => Ok(Admission::DropTail),
            "activity-aqm" => {
                activity_aqm::Params::new(values).map(|p| Admission::Activity(Box::new(ActivityAqm::new(p))))
            }
            "csfq" => csfq::Params::new(values, line.rate).map(|p| Admission::Csfq(Box::new(Csfq::new(p)))),
            "red" => red::Params::new(values, line).map(|p| Admission::Red(Box::new(Red::new(p)))),
            "virtual-queue" => virtual_queue::Params::new(values, line.rate)
                .map(|p| Admission::Virtual(Box::new(VirtualQueue::new(p)))),
            "load-based" => load_based::Params::new(values, line.rate)
                .map(|p| Admission::Load(Box::new(LoadBased::new(p)))),
            "constant-probability" => {
                Ok(Admission::Constant(ConstantProbability::new(constant_probability::Params::new(values))))
            }
            "rem" => rem::Params::new(values, line.rate).map(|p| Admission::Rem(Box::new(Rem::new(p)))),
            "codel" => Ok(Admission::Codel(Box::new(Codel::new(codel::Params::new(values))))),
            "pie" => Ok(Admission::Pie(Box::new(Pie::new(pie::Params::new(values))))),
            "fq-codel" => fq_codel::Params::new(values).map(|_| Admission::DropTail),
            other => panic!("no admission rule is called {other}"),
        }
    }

    /// Decides on `packet` at `now`. `draws` are the rule's own. Every [`Admission::next_tick`] up to `now` must have been
    /// given before.
    #[inline]
    pub fn admit<D: Draw>(
        &mut self,
        packet: &mut Packet,
        now: Time,
        seen: &Occupancy,
        draws: &mut D,
    ) -> Verdict {
        match self {
            Admission::DropTail | Admission::Codel(_) if seen.full => Verdict::Drop(Reason::Limit),
            Admission::DropTail | Admission::Codel(_) => Verdict::Accept,
            Admission::Activity(rule) => rule.admit(packet, now, seen),
            Admission::Csfq(rule) => rule.admit(packet, now, seen, draws),
            Admission::Red(rule) => rule.admit(packet, now, seen, draws),
            Admission::Virtual(rule) => rule.admit(packet, now, seen),
            Admission::Load(rule) => rule.admit(packet, seen, draws),
            Admission::Constant(rule) => rule.admit(packet, seen, draws),
            Admission::Rem(rule) => rule.admit(packet, seen, draws),
            Admission::Pie(rule) => rule.admit(packet, seen, draws),
        }
    }

    /// When the rule's own clock strikes next; [`Time::NEVER`] for a rule without one.
    #[inline]
    pub fn next_tick(&self) -> Time {
        match self {
            Admission::Load(rule) => rule.next_tick(),
            Admission::Rem(rule) => rule.next_tick(),
            Admission::Pie(rule) => rule.next_tick(),
            _ => Time::NEVER,
        }
    }

    /// The clock strikes at `now`, which is [`Admission::next_tick`], and the queue is as `seen`. A packet that begins its
    /// transmission at that very instant waits no longer; one that arrives at it is not there yet.
    pub fn tick(&mut self, now: Time, seen: &Occupancy) {
        debug_assert_eq!(now, self.next_tick());
        match self {
            Admission::Load(rule) => rule.tick(),
            Admission::Rem(rule) => rule.tick(seen),
            Admission::Pie(rule) => rule.tick(seen),
            _ => {}
        }
    }

    /// A packet accepted at `at` is first in line and would leave for the wire at `now`; `seen` is what waits behind it. It
    /// leaves, perhaps marked, or is dropped; then the next is first in line, or [`Admission::emptied`] is called. Only rules
    /// with [`Admission::judges_departures`] need it.
    pub fn leave(&mut self, packet: &mut Packet, at: Time, now: Time, seen: &Occupancy) -> Verdict {
        match self {
            Admission::Virtual(rule) => rule.leave(packet, now).map_or(Verdict::Accept, Verdict::Mark),
            Admission::Codel(rule) => rule.state.head(&rule.params, packet, at, now, seen.bytes),
            Admission::Pie(rule) => {
                rule.leave(packet.size, at, now, seen.bytes);
                Verdict::Accept
            }
            _ => Verdict::Accept,
        }
    }

    /// A packet was wanted for the wire, and none waits (any more).
    pub fn emptied(&mut self) {
        if let Admission::Codel(rule) = self {
            rule.state.emptied();
        }
    }

    /// A packet of `size` bytes has been on the wire for `busy`. Only rules with [`Admission::watches_departures`] need it.
    pub fn departed(&mut self, size: u16, busy: Duration, now: Time) {
        match self {
            Admission::Activity(rule) => rule.departed(size, busy, now),
            Admission::Load(rule) => rule.departed(size),
            _ => {}
        }
    }

    /// Whether the rule must see the end of each transmission, and therefore needs an event for it.
    pub fn watches_departures(&self) -> bool {
        match self {
            Admission::Activity(rule) => rule.watches_departures(),
            Admission::Load(rule) => rule.watches_departures(),
            _ => false,
        }
    }

    /// Whether the rule must see each packet leave the queue, to judge it or to learn from it; that needs an event too.
    pub fn judges_departures(&self) -> bool {
        match self {
            Admission::Virtual(rule) => rule.marks_departures(),
            Admission::Codel(_) => true,
            Admission::Pie(rule) => rule.sees_departures(),
            _ => false,
        }
    }

    /// An observable of the rule by name, as of its last decision or tick.
    pub fn observe(&self, name: &str) -> Option<f64> {
        match self {
            Admission::DropTail => None,
            Admission::Activity(rule) => rule.observe(name),
            Admission::Csfq(rule) => rule.observe(name),
            Admission::Red(rule) => rule.observe(name),
            Admission::Virtual(rule) => rule.observe(name),
            Admission::Load(rule) => rule.observe(name),
            Admission::Constant(_) => None,
            Admission::Rem(rule) => rule.observe(name),
            Admission::Codel(rule) => rule.state.observe(name),
            Admission::Pie(rule) => rule.observe(name),
        }
    }
}

/// Whether the rule called `kind` is a scheduler too, and so tolerates no other.
pub fn owns_scheduler(kind: &str) -> bool {
    kind == "fq-codel"
}

/// Why the rule `kind` cannot stand before `scheduler`.
pub fn clash(kind: &str, scheduler: &str) -> Option<String> {
    let shaper = matches!(scheduler, "htb" | "tbf");
    (kind == "codel" && shaper).then(|| {
        format!(
            "codel drops packets that {scheduler} has charged for already; give the link the rate instead"
        )
    })
}

/// The packets that a queue with this rule or this scheduler holds where the scenario gives no limit; `None`: any number.
pub fn default_limit(kind: &str) -> Option<f64> {
    match kind {
        "fq-codel" => Some(fq_codel::LIMIT),
        "sfq" => Some(sfq::LIMIT),
        _ => None,
    }
}

/// The tables of all admission rules.
pub static MECHANISMS: &[&Mechanism] = &[
    &activity_aqm::TABLE,
    &codel::TABLE,
    &constant_probability::TABLE,
    &csfq::TABLE,
    &droptail::TABLE,
    &fq_codel::TABLE,
    &load_based::TABLE,
    &pie::TABLE,
    &red::TABLE,
    &rem::TABLE,
    &virtual_queue::TABLE,
];

/// The tables of all schedulers.
pub static SCHEDULERS: &[&Mechanism] = &[
    &scheduler::FIFO,
    &scheduler::STRICT,
    &scheduler::MEDF,
    &scheduler::DRR,
    &sfq::TABLE,
    &htb::TABLE,
    &tbf::TABLE,
];

/// What is wrong with several parameters together.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    match kind {
        "htb" => return htb::tree_problems(values),
        "tbf" => return tbf::Params::new(values).err().unwrap_or_default(),
        _ if SCHEDULERS.iter().any(|m| m.kind == kind) => return Vec::new(),
        _ => {}
    }
    // A rate that no rule finds too slow: what it does to a rule is not judged here.
    let line = Line { rate: Some(Rate(10e6)), delay: Duration::ZERO };
    Admission::build(kind, values, line).err().unwrap_or_default()
}

/// The same where some parameters could not be decoded and are missing: what can be said nevertheless.
pub fn check_partly(kind: &str, values: &Values) -> Vec<Problem> {
    if kind == "red" { red::threshold_problems(values) } else { Vec::new() }
}

/// Fills in what a preset decides about parameters that were not given, so that a canonical scenario says it all.
pub fn complete(kind: &str, values: &mut Values) {
    if kind == "red" {
        red::complete(values);
    }
}

/// How the presets of `kind` differ, for the documentation: rows of a parameter and its value in each preset, the first
/// row their names.
pub fn presets(kind: &str) -> Option<Vec<Vec<String>>> {
    (kind == "red").then(red::presets)
}
