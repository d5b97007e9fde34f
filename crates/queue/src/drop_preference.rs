//! Drop preference: when the queue grows, packets go in the order in which re-ECN can do without them.
//!
//! draft-briscoe-conex-re-ecn-tcp-04 section 5.3, for queues that are overloaded or under attack: what is not ECN-capable first, then what is ECN-capable
//! and not re-ECN, then packets that declare nothing, then credit, and those that declare congestion last. The draft gives the order alone; here
//! each preference has a length of its own from which it is dropped (partial buffer sharing). It marks nothing. Not here: who declares
//! ([`evenflow_base::Codepoint::drop_preference`] is the order), two priorities in time (the scheduler `strict` and a policer that gives a class).

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Values};
use evenflow_base::{Packet, Reason, Stream, Time, Verdict};

use crate::rule::{LinkFacts, Occupancy, Rule};

/// The preference that the limit alone drops.
const LAST: u8 = 5;

params! {
    /// The rule, which has no state.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DropPreference {
        /// A packet of preference k, 1 to 4, is dropped once k times so many packets wait.
        step: f64 = Packets, Text("10 packets"), Range::POSITIVE
            => source: "our choice; the draft gives the order alone";
    }
}

impl Rule for DropPreference {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, _link: LinkFacts) -> Result<DropPreference, Vec<Problem>> {
        Ok(DropPreference::read(values))
    }

    #[inline]
    fn admit(&mut self, packet: &mut Packet, _now: Time, seen: &Occupancy, _draws: &mut Stream) -> Verdict {
        let preference = packet.codepoint().drop_preference();
        if seen.full {
            Verdict::Drop(Reason::Limit)
        } else if preference < LAST && f64::from(seen.packets) >= self.step * f64::from(preference) {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Accept
        }
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "drop-preference",
    room: Room::Queue,
    traits: Mechanism::PLAIN,
    title: "Drop preference of re-ECN",
    doc: "Drops arriving packets in the order of re-ECN's drop preference as the queue grows: not ECN-capable, ECN-capable, neutral or marked, credit; what \
          declares congestion is dropped by the limit alone.",
    source: "draft-briscoe-conex-re-ecn-tcp-04 section 5.3; Zhang et al. 2011 section III.B, step 5",
    params: DropPreference::PARAMS,
    observables: &[],
    counters: &[
        Counter { name: "limit", doc: "The queue was full." },
        Counter { name: "early", doc: "The queue was too long for the packet's drop preference." },
    ],
    deviations: &[Deviation {
        what: "What waits stays: a packet is never pushed out by one of a higher preference.",
        why: "The draft leaves it open. Lengths of their own keep room for those that come last.",
    }],
};

#[cfg(test)]
mod tests {
    use evenflow_base::Stream;
    use evenflow_base::codepoint::CODEPOINTS;

    use super::*;

    /// The last column of the draft's table 3: the length from which each codepoint is dropped.
    #[test]
    fn each_codepoint_has_its_length() {
        let mut rule = DropPreference { step: 10.0 };
        let mut stream = Stream::new(1, "drops");
        for (codepoint, from) in CODEPOINTS.into_iter().zip([10, 40, 100, 30, 20, 20, 30, 30]) {
            let mut packet = Packet::new(0, 1500, 1448).with_ecn(codepoint.ecn());
            packet.set_re(codepoint.re());
            let mut at = |packets: u32| {
                let seen =
                    Occupancy { packets, bytes: 0, rate: None, full: packets >= 100, idle_since: None };
                rule.admit(&mut packet, Time::ZERO, &seen, &mut stream)
            };
            let why = if from == 100 { Reason::Limit } else { Reason::Early };
            assert_eq!((at(from - 1), at(from)), (Verdict::Accept, Verdict::Drop(why)), "{codepoint:?}");
            assert_eq!(at(100), Verdict::Drop(Reason::Limit));
        }
    }
}
