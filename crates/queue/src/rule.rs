//! The interface of admission rules.

use std::collections::BTreeMap;

use evenflow_base::schema::{Problem, Values};
use evenflow_base::{Duration, Packet, Rate, Stream, Time, Verdict};

use crate::Action;

/// The link that a rule is built for: what its parameters may default to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkFacts<'a> {
    /// Its rate at the start; absent for a link that is pure delay.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Duration,
    /// All traffic classes, by number.
    pub classes: &'a [String],
}

/// The capacity that a rule assumes: the one given, or the link's.
pub(crate) fn capacity(given: Option<Rate>, link: Option<Rate>) -> Result<Rate, Vec<Problem>> {
    given.or(link).ok_or_else(|| vec![("capacity", "is required: the link has no rate".into())])
}

/// The numbers that a table gives to traffic classes, by the class's number; `usual` for one that is not in it.
pub fn by_class(table: &BTreeMap<String, f64>, classes: &[String], usual: f64) -> Vec<f64> {
    classes.iter().map(|class| table.get(class).copied().unwrap_or(usual)).collect()
}

/// The backlog of a link at a decision.
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

/// An admission rule: decides whether an arriving packet may wait. Rules with a clock, and those that see packets leave, say more.
pub trait Rule: Clone + std::fmt::Debug + Sized {
    /// Whether it asks for nothing but room, so that a link may leave it out where there is any.
    const PLAIN: bool = false;

    /// From decoded values, for a link.
    fn build(values: &Values, link: LinkFacts) -> Result<Self, Vec<Problem>>;

    /// Decides on `packet` at `now`. `draws` are the rule's own. Every [`Rule::next_tick`] up to `now` must have been given
    /// before.
    fn admit(&mut self, packet: &mut Packet, now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict;

    /// When the rule's own clock ticks next; [`Time::NEVER`] for a rule without one.
    #[inline]
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The clock ticks, at [`Rule::next_tick`], and the queue is as `seen`. A packet that begins its transmission at that very
    /// instant waits no longer; one that arrives at it is not there yet.
    fn tick(&mut self, _seen: &Occupancy) {}

    /// Skips ticks up to `until` that would find the queue as `seen` and change nothing else. A link that is
    /// idle for days then costs no work, even with a tick of a microsecond.
    fn rest(&mut self, _seen: &Occupancy, _until: Time) {}

    /// Whether the rule must see packets leave ([`Rule::on_dequeue`]). A simulated link then needs an event
    /// for each departure.
    fn sees_dequeue(&self) -> bool {
        false
    }

    /// The head packet, accepted at `at`, would leave at `now`; `seen` is the backlog behind it. It leaves,
    /// perhaps marked, or is dropped. The next call is for the next head or [`Rule::emptied`].
    fn on_dequeue(&mut self, _packet: &mut Packet, _at: Time, _now: Time, _seen: &Occupancy) -> Verdict {
        Verdict::Accept
    }

    /// A packet was wanted for the wire, and none waits (any more).
    fn emptied(&mut self) {}

    /// Whether the rule must see the end of each transmission ([`Rule::departed`]), and therefore needs an event for it.
    fn watches_departures(&self) -> bool {
        false
    }

    /// A packet of `size` bytes has been on the wire for `busy`.
    fn departed(&mut self, _size: u16, _busy: Duration, _now: Time) {}

    /// An observable of the rule by name, as of its last decision or tick.
    fn observe(&self, _name: &str) -> Option<f64> {
        None
    }

    /// Bytes on the heap.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// Whether it marks ECN-capable packets with these parameters; some may be missing.
    fn marks(values: &Values) -> bool {
        Action::marks(values)
    }

    /// Errors in the combination of parameters, if some could not be decoded and are missing.
    fn check_partly(_values: &Values) -> Vec<Problem> {
        Vec::new()
    }

    /// Fills in what a preset decides about parameters that were not given, so that a canonical scenario says it all.
    fn complete(_values: &mut Values) {}

    /// How its presets differ, for the documentation: rows of a parameter and its value in each preset, the first row their
    /// names.
    fn presets() -> Option<Vec<Vec<String>>> {
        None
    }
}

/// Ticks between two tries of [`Rule::rest`].
pub const RESTS_EVERY: u32 = 1 << 12;

/// The last tick up to `until` of a clock that ticks at `next` and every `period`.
pub(crate) fn last_strike(next: Time, period: Duration, until: Time) -> Time {
    let periods = until.0.saturating_sub(next.0) / period.0.max(1);
    Time(next.0 + periods * period.0)
}
