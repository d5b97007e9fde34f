//! Drop preference of re-ECN for queues under overload or attack (draft-briscoe-conex-re-ecn-tcp-04 section
//! 5.3).
//!
//! The draft gives the order of preferences only. Each preference has its own queue length above which it is
//! dropped (partial buffer sharing). [`evenflow_base::Codepoint::drop_preference`] has the order. The rule
//! never marks.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Values};
use evenflow_base::{Packet, Reason, Stream, Time, Verdict};

use crate::rule::{LinkFacts, Occupancy, Rule};

/// The preference that the limit alone drops.
const LAST: u8 = 5;

params! {
    /// The rule, which has no state.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DropPreference {
        /// Queue length per preference: packets of preference k (1 to 4) are dropped once the queue reaches k
        /// times this.
        step: f64 = Packets, Text("10 packets"), Range::POSITIVE
            => source: "our choice; the draft gives only the order";
    }
}

impl Rule for DropPreference {
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
    title: "Drop preference of re-ECN",
    example: r#"[links.bottleneck.queue]
kind = "drop-preference"
limit = "100 packets"
step = "20 packets""#,
    doc: "Drops arriving packets in the order of re-ECN's drop preference as the queue grows. The order is: \
          not ECN-capable, ECN-capable, neutral or marked, credit. Packets that declare congestion are \
          dropped only at the limit.",
    source: "draft-briscoe-conex-re-ecn-tcp-04 section 5.3; Zhang et al. 2011 section III.B, step 5",
    params: DropPreference::PARAMS,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("early", "The queue was too long for the packet's drop preference."),
    ],
    deviations: &[Deviation {
        what: "A queued packet is never pushed out by one of a higher preference.",
        why: "The draft leaves this open. Separate thresholds reserve space for higher preferences.",
    }],
    ..Mechanism::of(Room::Queue)
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
