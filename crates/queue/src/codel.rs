//! CoDel, controlled delay (RFC 8289): drops at the head of the queue when the sojourn time exceeds a target
//! for a whole interval. Drops become more frequent until the sojourn time falls below the target.
//!
//! [`State::head`] is the pseudo-code of section 5.5, split at its calls of `dodequeue`. It judges one head
//! packet at a time, until it accepts one or [`State::emptied`] ends the departure. A test compares both
//! forms.
//!
//! A mark counts as a drop and the marked packet is sent, as in Linux. Not modelled: Linux's integer square
//! root.
//!
//! Settings (sections 4.2, 4.3): an interval as long as most round trips, a target of 5 to 10 % of it.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Ecn, Packet, Reason, Stream, Time, Verdict};

use crate::action::mark;
use crate::droptail::admit_if_room;
use crate::rule::{LinkFacts, Occupancy, Rule};

words! {
    /// Which packets `ce_threshold` marks.
    pub enum Selector {
        /// All that are ECN-capable.
        Capable = "ecn-capable",
        /// Those with ECT(1).
        Scalable = "ect1",
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Acceptable queueing delay.
        target: Duration = Duration, Text("5 ms"), Range::POSITIVE => source: "RFC 8289 section 4.3";
        /// Time above the target before the first drop; also the first interval between drops.
        interval: Duration = Duration, Text("100 ms"), Range::at_least(1e-6) => source: "RFC 8289 section 4.2";
        /// No drop while the backlog behind the packet is at most this.
        max_packet: u64 = Bytes, Text("1500 B"), Range::PACKET_SIZE
            => source: "RFC 8289 section 5.3: the interface's MTU";
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = Flag, Text("true") => source: "RFC 8290 section 5.2.6; RFC 3168 section 5";
        /// Mark every ECN-capable packet with a longer queueing delay, also with `ecn = false`.
        ce_threshold: Option<Duration> = Duration, Absent("off"), Range::NOT_NEGATIVE
            => source: "RFC 8290 section 5.2.7";
        /// Which packets `ce_threshold` marks.
        ce_threshold_selector: Option<Selector> = Selector::TYPE, Absent("ecn-capable")
            => source: "Linux, tc-fq_codel (ce_threshold_selector)";
    }
}

impl Params {
    /// Those of RFC 8289 with RFC 8290's marking, which [`TABLE`] has as its defaults.
    pub const DEFAULT: Params = Params {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        max_packet: 1500,
        ecn: true,
        ce_threshold: None,
        ce_threshold_selector: None,
    };

    /// Errors in the combination of parameters.
    pub(crate) fn check(&self) -> Vec<Problem> {
        let lonely = self.ce_threshold_selector.is_some() && self.ce_threshold.is_none();
        let why = "has no effect without ce_threshold; give ce_threshold, or leave this out";
        Vec::from_iter(lonely.then(|| (Params::ce_threshold_selector.name, why.into())))
    }

    /// Whether some packets are marked.
    pub(crate) fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }
}

/// Whether a CoDel with these parameters marks; some may be missing.
pub(crate) fn marks(values: &Values) -> bool {
    values.at(Params::ecn) == Some(true) || values.raw(Params::ce_threshold).is_some()
}

/// When the next drop is due after one that was due at `t`: `control_law`, RFC 8289 section 5.6.
#[inline]
pub fn control_law(t: Time, interval: Duration, count: u64) -> Time {
    t + Duration::from_seconds(interval.seconds() / (count as f64).sqrt())
}

/// The count at the start of a drop state (RFC 8289 section 5.5, `dequeue`). The last state began with
/// `lastcount`, ended with `count` and would have dropped next at `drop_next`.
#[inline]
pub fn first_count(count: u64, lastcount: u64, now: Time, drop_next: Time, interval: Duration) -> u64 {
    let delta = count - lastcount;
    // An instant still to come is a negative difference, which is small enough.
    let recently = now.since(drop_next).0 < interval.0.saturating_mul(16);
    if delta > 1 && recently { delta } else { 1 }
}

/// The verdict on the previous head of this departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// It left, or there was none: this is the first head that is looked at.
    #[default]
    Left,
    /// It was dropped in drop state.
    Dropped,
    /// It was dropped to enter drop state.
    Entered,
}

/// State variables of RFC 8289 section 5.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// When the sojourn time will have been above the target for an interval; absent: it is below.
    first_above: Option<Time>,
    /// When the next packet is dropped, or would have been.
    pub(crate) drop_next: Time,
    /// Drops in this drop state, or in the last.
    pub(crate) count: u64,
    /// `count` at the beginning of this drop state.
    lastcount: u64,
    /// Whether in drop state.
    pub(crate) dropping: bool,
    before: Before,
    /// Of the last head.
    pub(crate) sojourn: Duration,
}

impl State {
    /// Whether a head that has waited for `sojourn` may be dropped, where `behind` bytes wait behind it: `dodequeue`,
    /// RFC 8289 section 5.6.
    #[inline]
    fn ok_to_drop(&mut self, p: &Params, sojourn: Duration, behind: u64, now: Time) -> bool {
        if sojourn < p.target || behind <= p.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + p.interval);
                false
            }
            Some(first_above) => now >= first_above,
        }
    }

    /// Decides on the head of the queue, accepted at `at`, where `behind` bytes wait behind it. After a drop the next head
    /// is to be shown, or [`State::emptied`] called.
    pub fn head(&mut self, p: &Params, packet: &mut Packet, at: Time, now: Time, behind: u64) -> Verdict {
        self.sojourn = now.since(at);
        let ok = self.ok_to_drop(p, self.sojourn, behind, now);
        let verdict = match std::mem::take(&mut self.before) {
            Before::Left if self.dropping => self.go_on(p, packet, now, ok),
            Before::Left if ok => self.enter(p, packet, now),
            Before::Left | Before::Entered => Verdict::Accept,
            Before::Dropped => {
                if ok {
                    self.drop_next = control_law(self.drop_next, p.interval, self.count);
                }
                self.go_on(p, packet, now, ok)
            }
        };
        match p.ce_threshold {
            Some(threshold)
                if verdict == Verdict::Accept
                    && self.sojourn > threshold
                    && (p.ce_threshold_selector != Some(Selector::Scalable)
                        || packet.ecn() == Ecn::Capable1)
                    && mark(packet) =>
            {
                Verdict::Mark(Reason::CeThreshold)
            }
            _ => verdict,
        }
    }

    /// In drop state.
    fn go_on(&mut self, p: &Params, packet: &mut Packet, now: Time, ok: bool) -> Verdict {
        self.dropping = ok;
        if !ok || now < self.drop_next {
            return Verdict::Accept;
        }
        self.count += 1;
        if p.ecn && mark(packet) {
            self.drop_next = control_law(self.drop_next, p.interval, self.count);
            return Verdict::Mark(Reason::Codel);
        }
        self.before = Before::Dropped;
        Verdict::Drop(Reason::Codel)
    }

    /// Into drop state.
    fn enter(&mut self, p: &Params, packet: &mut Packet, now: Time) -> Verdict {
        self.dropping = true;
        self.count = first_count(self.count, self.lastcount, now, self.drop_next, p.interval);
        self.drop_next = control_law(now, p.interval, self.count);
        self.lastcount = self.count;
        if p.ecn && mark(packet) {
            return Verdict::Mark(Reason::Codel);
        }
        self.before = Before::Entered;
        Verdict::Drop(Reason::Codel)
    }

    /// The queue had no head to look at.
    pub fn emptied(&mut self) {
        self.first_above = None;
        // A queue that enters drop state with the last packet stays in it until the next head is looked at.
        if std::mem::take(&mut self.before) != Before::Entered {
            self.dropping = false;
        }
    }
}

/// The rule and its state.
#[derive(Clone, Debug)]
pub struct Codel {
    /// Its configuration.
    pub params: Params,
    /// The control state.
    pub state: State,
}

impl Codel {
    /// A rule that has seen nothing.
    pub fn new(params: Params) -> Codel {
        Codel { params, state: State::default() }
    }
}

impl Rule for Codel {
    fn build(values: &Values, _link: LinkFacts) -> Result<Codel, Vec<Problem>> {
        let params = Params::read(values);
        let problems = params.check();
        if problems.is_empty() { Ok(Codel::new(params)) } else { Err(problems) }
    }

    #[inline]
    fn admit(&mut self, _packet: &mut Packet, _now: Time, seen: &Occupancy, _draws: &mut Stream) -> Verdict {
        admit_if_room(seen)
    }

    fn sees_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &mut Packet, at: Time, now: Time, seen: &Occupancy) -> Verdict {
        self.state.head(&self.params, packet, at, now, seen.bytes)
    }

    fn emptied(&mut self) {
        self.state.emptied();
    }

    fn observe(&self, name: &str) -> Option<f64> {
        self.state.observe(name)
    }

    fn marks(values: &Values) -> bool {
        marks(values)
    }
}

/// How it marks, where its document only drops.
pub const MARKING: Deviation = Deviation {
    what: "A mark counts as a drop: the next one is due after the same gap. The marked packet is sent.",
    why: "RFC 8289's pseudo-code only drops. Linux does the same.",
};

observables! {
    State: state;
    sojourn: "s", "Queueing delay of the last packet that CoDel judged." => state.sojourn;
    dropping: "1", "1 in drop state, else 0." => state.dropping;
    count: "1", "Drops and marks in this drop state or the last one, including its initial count." => state.count;
    drop_next: "s", "Instant from which the next packet is dropped, in drop state." => state.drop_next;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "codel",
    room: Room::Queue,
    traits: Traits { drops_at_departure: true, notes_departures: true, ..Mechanism::PLAIN },
    title: "Controlled delay (CoDel)",
    example: r#"[links.bottleneck.queue]
kind = "codel"
limit = "1000 packets"
target = "5 ms"
interval = "100 ms""#,
    doc: "Drops or marks at the head of the queue when the queueing delay exceeds the target for a whole \
          interval. The next drops follow after interval / sqrt(2), interval / sqrt(3), and so on. They end \
          with the first packet below the target.",
    source: "RFC 8289",
    params: Params::PARAMS,
    observables: State::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("codel", "The queueing delay was above the target for an interval, and a drop was due."),
        Counter::new("ce_threshold", "Marked: the packet's queueing delay exceeded ce_threshold."),
    ],
    deviations: &[MARKING],
};

#[cfg(test)]
mod tests;
