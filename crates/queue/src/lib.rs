//! Queues: admission rules (what may wait), schedulers (who goes next), and the discipline that joins them ([`Qdisc`]).
//!
//! Sans I/O: the instant, the occupancy and the randomness are arguments. The same objects serve a simulated link and
//! a real one. A rule decides when a packet arrives ([`Rule::admit`]), some when it would leave ([`Rule::on_dequeue`]);
//! packets wait in a scheduler ([`Schedule`]).
//!
//! ```text
//! held, rule ← one file per rule or scheduler ← admission, scheduler (the lists of all) ← qdisc
//! ```

pub mod action;
pub mod activity_aqm;
mod admission;
pub mod averager;
pub mod codel;
pub mod constant_probability;
pub mod csfq;
pub mod drop_preference;
pub mod droptail;
pub mod drr;
pub mod fifo;
pub mod fq_codel;
pub mod held;
pub mod htb;
pub mod load_based;
pub mod medf;
pub mod pie;
pub mod qdisc;
pub mod red;
pub mod rem;
mod rule;
mod scheduler;
pub mod sfq;
pub mod strict;
pub mod tbf;
pub mod virtual_queue;

use evenflow_base::schema::{Mechanism, Param, Problem, Traits, Type, Value, Values};
use evenflow_base::{Duration, Rate};

pub use evenflow_base::{Reason, Verdict};

pub use action::Action;
pub use activity_aqm::ActivityAqm;
pub use admission::{Admission, MECHANISMS, check_partly, complete, presets};
pub use codel::Codel;
pub use constant_probability::ConstantProbability;
pub use csfq::Csfq;
pub use droptail::{DropTail, Limit};
pub use fq_codel::FqCodel;
pub use held::{Dropped, Queued, Schedule};
pub use load_based::LoadBased;
pub use pie::Pie;
pub use qdisc::{Gate, Next, Qdisc, Setting};
pub use red::Red;
pub use rem::Rem;
pub use rule::{LinkFacts, Occupancy, RESTS_EVERY, Rule};
pub use scheduler::SCHEDULERS;
pub use sfq::Sfq;
pub use tbf::Tbf;
pub use virtual_queue::VirtualQueue;

/// A scheduler whose classes hold disciplines.
pub type Scheduler = scheduler::Scheduler<Qdisc>;
/// A tree whose classes hold disciplines.
pub type Htb = htb::Htb<Qdisc>;

/// Why a rule cannot be put before a scheduler.
pub fn clash(rule: &Mechanism, scheduler: &Mechanism) -> Option<String> {
    let Traits { shapes, .. } = scheduler.traits;
    (rule.traits.drops_at_departure && shapes).then(|| {
        format!(
            "{} drops packets that {} has charged for already; give the link the rate instead",
            rule.kind, scheduler.kind
        )
    })
}

/// Whether a rule or scheduler with these parameters, or one inside it, marks ECN-capable packets.
pub fn may_mark(values: &Values) -> bool {
    values.0.iter().any(|(name, value)| match (*name, value) {
        ("action", Value::Word(word)) => action::Action::named(word) != action::Action::Drop,
        ("ecn", value) => *value == Value::Flag(true),
        ("ecn_threshold", value) => value.bounds().1 > 0.0,
        ("ce_threshold", _) => true,
        (_, Value::Table(table)) => may_mark(table),
        (_, Value::Tables(tables)) => tables.values().any(may_mark),
        _ => false,
    })
}

/// Whether a parameter has a part in [`may_mark`].
pub fn says_marks(param: &Param) -> bool {
    ["action", "ecn", "ecn_threshold", "ce_threshold"].contains(&param.name)
        || matches!(param.ty, Type::Table(_) | Type::TablePerName(_) | Type::Mechanism(_))
}

/// The limit that a scheduler's parameters imply, if they do.
pub fn implied_limit(kind: &str, values: &Values) -> Option<Value> {
    Scheduler::limit(kind, values)
}

/// The limit of a queue with this rule or scheduler where none is given: what its parameters imply, or its document says.
pub fn default_limit(mechanism: &Mechanism, values: &Values) -> Option<Value> {
    implied_limit(mechanism.kind, values).or(mechanism.traits.default_limit.map(Value::Packets))
}

/// About how many bytes a scheduler takes that has room for packets which are not there; see [`Schedule::memory`].
pub fn memory(kind: &str, values: &Values, owners: usize, comers: usize) -> u64 {
    Scheduler::memory(kind, values, owners, comers)
}

/// Whether a rule may mark packets, by what its parameters say of marks.
pub fn marks(values: &Values) -> bool {
    values.get("action").is_some_and(|action| *action != Value::Word("drop".into()))
        || values.get("ecn") == Some(&Value::Flag(true))
        || values.get("ecn_threshold").is_some_and(|threshold| threshold.bounds().1 > 0.0)
        || values.get("ce_threshold").is_some()
}

/// What is wrong with several parameters together.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    if SCHEDULERS.iter().any(|m| m.kind == kind) {
        return Scheduler::check(kind, values).unwrap_or_default();
    }
    // A rate that no rule finds too slow: what it does to a rule is not judged here.
    let link = LinkFacts { rate: Some(Rate(10e6)), delay: Duration::ZERO, classes: &[] };
    Admission::build(kind, values, link).err().unwrap_or_default()
}
