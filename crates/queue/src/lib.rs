//! Queues: admission rules (what may wait), schedulers (who goes next), and the discipline that joins them ([`Qdisc`]).
//!
//! Sans I/O: the instant, the occupancy and the randomness are arguments. The same objects serve a simulated link and
//! a real one. A rule decides when a packet arrives ([`Rule::admit`]), some when it would leave ([`Rule::on_dequeue`]);
//! packets wait in a scheduler ([`Schedule`]).
//!
//! ```text
//! held, rule ← one file per rule or scheduler ← admission, scheduler (the lists of all) ← qdisc
//! ```

#[macro_use(observables, params, words)]
extern crate evenflow_base;

pub mod action;
pub mod activity_aqm;
mod admission;
pub mod averager;
pub mod cake;
pub mod cobalt;
pub mod codel;
pub mod constant_probability;
pub mod csfq;
pub mod drop_preference;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod fifo;
mod flow_queues;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
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

use std::sync::LazyLock;

use evenflow_base::schema::{Mechanism, Problem, Traits, Value, Values};
use evenflow_base::{Duration, Rate};

pub use evenflow_base::{Reason, Verdict};

pub use action::Action;
pub use activity_aqm::ActivityAqm;
pub use admission::{Admission, check_partly, complete, presets};
pub use codel::Codel;
pub use constant_probability::ConstantProbability;
pub use csfq::Csfq;
pub use droptail::{DropTail, Limit};
pub use fq_codel::FqCodel;
pub use held::{Dropped, FlowTable, Kind, Note, Queued, Schedule};
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

/// Whether a queue of this kind notes this observable at drops and marks of leaving packets.
pub fn notes_departures(kind: &str, observable: &str) -> bool {
    let table = MECHANISMS.iter().find(|table| table.kind == kind && table.traits.notes_departures);
    let noted = !held::is_counter(observable) && !flow_queues::OBSERVABLES.contains(&observable);
    table.is_some_and(|table| {
        noted && table.observables.iter().any(|own| own.name == observable) || observable == held::DRAW
    })
}

/// A scheduler whose classes hold disciplines.
pub type Scheduler = scheduler::Scheduler<Qdisc>;
/// A tree whose classes hold disciplines.
pub type Htb = htb::Htb<Qdisc>;

/// The tables of all admission rules and of what is rule and scheduler in one, by name.
pub static MECHANISMS: LazyLock<Vec<&Mechanism>> = LazyLock::new(|| {
    let mut all = [admission::RULES, scheduler::DISCIPLINES].concat();
    all.sort_unstable_by_key(|table| table.kind);
    all
});

/// Why a rule cannot be put before a scheduler.
pub fn clash(rule: &Mechanism, scheduler: &Mechanism) -> Option<String> {
    let Traits { shapes, .. } = scheduler.traits;
    (rule.traits.drops_at_departure && shapes).then(|| {
        format!(
            "{} drops packets that {} has already charged; set the rate of the link instead",
            rule.kind, scheduler.kind
        )
    })
}

/// Whether the rule or scheduler called `kind`, or one inside it, marks ECN-capable packets with these parameters; some may be
/// missing.
pub fn marks(kind: &str, values: &Values) -> bool {
    Scheduler::marks(kind, values).unwrap_or_else(|| admission::marks(kind, values))
}

/// The limit of a queue with this rule or scheduler where none is given: what its parameters imply, or its document says.
pub fn default_limit(mechanism: &Mechanism, values: &Values) -> Option<Value> {
    Scheduler::limit(mechanism.kind, values).or(mechanism.traits.default_limit.map(Value::Packets))
}

/// Errors in the combination of several parameters.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    if let Some(problems) = Scheduler::check(kind, values) {
        return problems;
    }
    // A rate that no rule finds too slow: what it does to a rule is not judged here.
    let link = LinkFacts { rate: Some(Rate(10e6)), delay: Duration::ZERO, classes: &[] };
    Admission::build(kind, values, link).err().unwrap_or_default()
}
