//! BOLA: buffer occupancy and logarithmic utility (Spiteri, Urgaonkar and Sitaraman 2016), with the parameters that dash.js
//! derives from two buffer levels.
//!
//! Not here: BOLA-O and BOLA-U (no oscillations), abandoned chunks, the placeholder buffer with which dash.js starts and seeks.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};

use super::{Known, Ladder, Rule};

/// The rule.
#[derive(Clone, Debug)]
pub struct Bola {
    minimum: f64,
    target: f64,
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Given {
        /// Buffer below which the lowest level is requested.
        minimum_buffer: f64 = Duration, Text("10 s"), Range::POSITIVE
            => source: "dash.js, BolaRule: MINIMUM_BUFFER_S";
        /// Buffer level at which waiting is as good as the highest level.
        target_buffer: f64 = Duration, Text("30 s"), Range::POSITIVE => source: "dash.js, bufferTimeAtTopQuality";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "bola",
    traits: Traits { by_buffer: true, ..Mechanism::PLAIN },
    title: "BOLA: buffer occupancy with logarithmic utility",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "bola"
minimum_buffer = "10 s"
target_buffer = "30 s""#,
    doc: "Requests the level with the largest utility per bit, given the buffer level. It trades quality \
          against the risk of a stall and needs no throughput estimate.",
    source: "Spiteri et al. 2016, equation 8, with V and γ p from two buffer levels as dash.js has them",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

/// Errors in the two buffer levels.
pub(super) fn check(minimum: f64, target: f64) -> Vec<Problem> {
    if target > minimum {
        return Vec::new();
    }
    vec![("target_buffer", format!("must be more than minimum_buffer, {minimum} s; it is {target} s"))]
}

impl Bola {
    /// A rule between two buffer levels, seconds.
    pub(super) fn between(minimum: f64, target: f64) -> Bola {
        Bola { minimum, target }
    }

    /// V p and γ p, so that the lowest level is best at `minimum` and below, and the buffer never wants more than `target`.
    fn weights(&self, ladder: &Ladder) -> (f64, f64) {
        // Utilities begin at 1; a ladder of one level has none to trade.
        let rise = libm::log(ladder.levels()[ladder.top()] / ladder.levels()[0]);
        let gamma = rise / (self.target / self.minimum - 1.0);
        (if gamma > 0.0 { self.minimum / gamma } else { 0.0 }, gamma)
    }

    /// The level of the largest (V (u + γp) - Q) / S (equation 8).
    pub(super) fn level(&self, ladder: &Ladder, buffer: f64) -> usize {
        let (v, gamma) = self.weights(ladder);
        let score = |level: usize| {
            let rate = ladder.levels()[level];
            let utility = 1.0 + libm::log(rate / ladder.levels()[0]);
            (v * (utility + gamma) - buffer) / rate
        };
        (1..=ladder.top()).fold(0, |best, level| if score(level) >= score(best) { level } else { best })
    }
}

impl Rule for Bola {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        let Given { minimum_buffer: minimum, target_buffer: target } = Given::read(values);
        let problems = check(minimum, target);
        if problems.is_empty() { Ok(Bola::between(minimum, target)) } else { Err(problems) }
    }

    fn choose(&mut self, known: &Known) -> usize {
        self.level(known.ladder, known.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{built, tests::paper};
    use super::*;

    /// Between levels m and n the scores are equal at V ((u_m + γ) r_n - (u_n + γ) r_m) / (r_n - r_m). With rise ln(4256/248) =
    /// 2.84266: γ = 1.42133, V = 7.03566.
    #[test]
    fn where_the_levels_change() {
        let ladder = paper();
        let rule = built::<Bola>(&[]);
        for (i, at) in [11.93, 16.49, 21.08, 26.10].into_iter().enumerate() {
            assert_eq!((rule.level(&ladder, at - 0.01), rule.level(&ladder, at + 0.01)), (i, i + 1));
        }
    }

    #[test]
    fn empty_is_the_lowest_and_full_the_highest() {
        let (ladder, rule) = (paper(), built::<Bola>(&[]));
        assert_eq!(
            (rule.level(&ladder, 0.0), rule.level(&ladder, 30.0), rule.level(&ladder, 300.0)),
            (0, 4, 4)
        );
    }

    #[test]
    fn one_level_is_no_choice() {
        let ladder = Ladder::new(vec![1e6], 2.0, None).expect("a ladder");
        assert_eq!(built::<Bola>(&[]).level(&ladder, 12.0), 0);
    }

    #[test]
    fn a_target_below_the_minimum_is_refused() {
        assert_eq!(check(10.0, 30.0), []);
        assert_eq!(check(10.0, 10.0)[0].1, "must be more than minimum_buffer, 10 s; it is 10 s");
    }
}
