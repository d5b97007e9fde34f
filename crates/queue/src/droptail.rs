//! Drop-tail: a packet may wait while there is room, in packets, bytes or time at line rate.
//!
//! Waiting packets count, the one in transmission does not, as in Linux and ns-3 (ns-2's `limit_` differs by one).
//! Not here: any rule that drops earlier; those take the same [`Limit`] beside their own thresholds.

pub use evenflow_base::limit::Limit;
use evenflow_base::schema::{Counter, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Packet, Reason, Stream, Time, Verdict};

use crate::rule::{LinkFacts, Occupancy, Rule};

/// Takes a packet where there is room: all that drop-tail asks, and rules that decide later.
#[inline]
pub fn admit_if_room(seen: &Occupancy) -> Verdict {
    if seen.full { Verdict::Drop(Reason::Limit) } else { Verdict::Accept }
}

/// The rule, which has no state.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl Rule for DropTail {
    const PLAIN: bool = true;

    fn build(_values: &Values, _link: LinkFacts) -> Result<DropTail, Vec<Problem>> {
        Ok(DropTail)
    }

    #[inline]
    fn admit(&mut self, _packet: &mut Packet, _now: Time, seen: &Occupancy, _draws: &mut Stream) -> Verdict {
        admit_if_room(seen)
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "droptail",
    traits: Traits { default: true, drops_tail: true, ..Mechanism::PLAIN },
    title: "Drop-tail",
    example: r#"[links.bottleneck.queue]
kind = "droptail"
limit = "50 packets""#,
    doc: "Accepts packets up to the limit and drops the rest. Without a limit it never drops.",
    source: "RFC 7567 section 2",
    counters: &[Counter::new("limit", "The queue was full.")],
    ..Mechanism::of(Room::Queue)
};
