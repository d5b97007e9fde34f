//! Constant-probability marking, for experiments with an open loop: it measures a control's response to a
//! known marking probability (Siris et al., Computer Communications 2002, figure 1). Random loss belongs to
//! the link instead.

use std::collections::BTreeMap;

use evenflow_base::schema::{Counter, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Packet, Stream, Time};

use crate::action::ACTION;
use crate::rule::by_class;
use crate::{Action, LinkFacts, Occupancy, Reason, Rule, Verdict};

/// Its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// p.
    pub probability: f64,
    /// That of each traffic class, by its number, where they differ.
    pub by_class: Option<Box<[f64]>>,
    /// The action on picked packets.
    pub action: Action,
}

impl Params {
    /// From decoded values; `classes` are all traffic classes, by number.
    pub fn new(values: &Values, classes: &[String]) -> Params {
        let given = Given::read(values);
        let probability = given.probability;
        Params {
            probability,
            by_class: given.class_probability.map(|table| by_class(&table, classes, probability).into()),
            action: given.action,
        }
    }
}

/// The rule; it has no state.
#[derive(Clone, Debug)]
pub struct ConstantProbability {
    params: Params,
}

impl ConstantProbability {
    /// A rule.
    pub fn new(params: Params) -> ConstantProbability {
        ConstantProbability { params }
    }
}

impl Rule for ConstantProbability {
    fn build(values: &Values, link: LinkFacts) -> Result<ConstantProbability, Vec<Problem>> {
        Ok(ConstantProbability::new(Params::new(values, link.classes)))
    }

    /// One number is drawn for every packet.
    #[inline]
    fn admit(&mut self, packet: &mut Packet, _now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict {
        let probability = match &self.params.by_class {
            None => self.params.probability,
            Some(by_class) => {
                by_class.get(usize::from(packet.class)).copied().unwrap_or(self.params.probability)
            }
        };
        let picked = draws.open01() <= probability;
        match (seen.full, picked) {
            (true, _) => Verdict::Drop(Reason::Limit),
            (false, true) => self.params.action.apply(packet, Reason::Constant),
            (false, false) => Verdict::Accept,
        }
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Probability for each packet, independent of the others.
        probability: f64 = Number, Required, Range::between(0.0, 1.0) => source: "";
        /// Probability for each traffic class that crosses the link.
        class_probability: Option<BTreeMap<String, f64>> = NumberPerClass, Absent("probability, for every class"), Range::between(0.0, 1.0)
            => source: "Zhang et al. 2011 section V.B";
        /// See [`ACTION`].
        action: Action = ACTION;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "constant-probability",
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "Constant-probability marking",
    example: r#"[links.bottleneck.queue]
kind = "constant-probability"
probability = 0.01
action = "drop""#,
    doc: "Marks or drops each packet with a constant probability, whatever the queue length. Use it for \
          experiments that need a known marking probability.",
    source: "Siris et al., Computer Communications 2002, figure 1",
    params: Given::PARAMS,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new(Reason::Constant.name(), "Picked at random."),
    ],
    ..Mechanism::of(Room::Queue)
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::{Ecn, Stream};

    fn verdicts(probability: f64, full: bool) -> (u32, u32) {
        let mut rule =
            ConstantProbability::new(Params { probability, by_class: None, action: Action::MarkEverything });
        let mut stream = Stream::new(1, "marks");
        let seen = Occupancy { packets: 0, bytes: 0, rate: None, full, idle_since: None };
        let (mut marks, mut drops) = (0, 0);
        for seq in 0..100_000 {
            let mut packet = Packet { seq, ..Packet::new(0, 1500, 1448).with_ecn(Ecn::Capable0) };
            match rule.admit(&mut packet, Time(0), &seen, &mut stream) {
                Verdict::Mark(Reason::Constant) => marks += 1,
                Verdict::Drop(Reason::Limit) => drops += 1,
                other => assert_eq!(other, Verdict::Accept),
            }
        }
        (marks, drops)
    }

    #[test]
    fn the_share_of_marks_is_the_probability() {
        // Five standard errors: 5 sqrt(0.1 * 0.9 * 1e5) = 474.
        let (marks, _) = verdicts(0.1, false);
        assert!(marks.abs_diff(10_000) < 474, "{marks}");
        assert_eq!(verdicts(0.0, false), (0, 0));
        assert_eq!(verdicts(1.0, false), (100_000, 0));
        assert_eq!(verdicts(1.0, true), (0, 100_000));
    }
}
