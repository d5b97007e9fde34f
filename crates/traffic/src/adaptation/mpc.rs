//! Model predictive control (Yin et al. 2015): the first level of the best plan for the next chunks, at
//! constant throughput.
//!
//! A plan's value is the quality of its chunks minus the cost of switches and stalls (equation 5; quality is
//! the bitrate in kbit/s). The search is branch and bound: a plan ends when its bound ([`Planner::most`]) is
//! below the best value so far. It starts with plans of constant level.

use evenflow_base::schema::{Mechanism, Problem, Room, Values};

use super::{Known, Rule, harmonic_mean, rate};

/// State of both rules.
#[derive(Clone, Debug)]
struct Planner {
    horizon: usize,
    window: usize,
    /// λ.
    switching: f64,
    /// μ, kbit/s for each second of stall.
    stalling: f64,
}

params! {
    /// The parameters of both rules.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Given {
        ..rate: rate::Given;
        /// Number of chunks to plan.
        horizon: usize = Integer, Text("5"), Range::between(1.0, 8.0) => source: "Yin et al. 2015, section 7.1";
        /// Cost of a second of stall, in kbit/s of quality (μ).
        stall_penalty: f64 = Number, Text("3000"), Range::NOT_NEGATIVE
            => source: "Yin et al. 2015, section 7.1: \"balanced\"";
        /// Cost of a switch per kbit/s between the levels (λ).
        switch_penalty: f64 = Number, Text("1"), Range::NOT_NEGATIVE
            => source: "Yin et al. 2015, section 7.1: \"balanced\"";
    }
}

/// Table of the plain rule.
pub static MPC: Mechanism = Mechanism {
    kind: "mpc",
    title: "Model predictive control",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "mpc"
horizon = 5"#,
    doc: "Plans the levels of the next chunks at the harmonic mean of the throughput. The best plan \
          maximises quality minus the cost of switches and stalls. It requests the first level of that plan.",
    source: "Yin et al. 2015, section 4 (\"MPC\")",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

/// Table of the robust rule.
pub static ROBUST_MPC: Mechanism = Mechanism {
    kind: "robust-mpc",
    title: "Robust model predictive control",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "robust-mpc"
horizon = 5"#,
    doc: "Like mpc, with the harmonic mean divided by 1 + e. The value e is the maximum relative error of \
          this mean for the latest chunks.",
    source: "Yin et al. 2015, sections 4.3 and 7.1 (\"RobustMPC\")",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

/// A plan under way.
#[derive(Clone, Copy)]
struct Step {
    /// Chunks planned so far.
    depth: usize,
    /// Seconds in the buffer.
    buffer: f64,
    /// Its value so far, in kbit/s.
    worth: f64,
    /// Level of the last chunk.
    last: Option<usize>,
    /// Level of the first chunk.
    first: usize,
}

impl Planner {
    fn build(values: &Values) -> Planner {
        let Given { rate, horizon, stall_penalty: stalling, switch_penalty: switching } = Given::read(values);
        Planner { horizon, window: rate.window, switching, stalling }
    }

    /// Bound on a plan's further value. It uses only the sum S of the qualities. Some chunk has at least S /
    /// n, which is a switch if that exceeds the last one. The download takes at least `pace` seconds per
    /// kbit/s and stalls when the buffer and all chunks but the last are played. The bound is piecewise
    /// linear in S, so its maximum is at a corner.
    fn most(&self, known: &Known, pace: f64, step: &Step) -> f64 {
        let ladder = known.ladder;
        let quality = |level: usize| ladder.levels()[level] / 1e3;
        let n = (self.horizon - step.depth) as f64;
        let (low, high) = (n * quality(0), n * quality(ladder.top()));
        let shown = step.buffer + (n - 1.0) * ladder.chunk();
        let last = step.last.map_or(high, |level| n * quality(level));
        let worth = |sum: f64| {
            let switched = ((sum - last) / n).max(0.0);
            let stalled = (sum * pace - shown).max(0.0);
            sum - self.switching * switched - self.stalling * stalled
        };
        let most = [low, last, shown / pace, high].map(|sum| worth(sum.clamp(low, high)));
        // Sums in another order differ by a rounding.
        most.into_iter().fold(f64::NEG_INFINITY, f64::max) + 1e-6
    }

    /// The first level of the best plan at `throughput` bit/s; of equal plans that of the lower levels.
    fn first(&self, known: &Known, throughput: f64) -> usize {
        let start = Step { depth: 0, buffer: known.buffer, worth: 0.0, last: known.last, first: 0 };
        let level = |level: usize| {
            (0..self.horizon).fold(start, |step, _| self.step(known, throughput, &step, level)).worth
        };
        let least = (0..=known.ladder.top()).map(level).fold(f64::NEG_INFINITY, f64::max);
        // The best plan is worth more than this, so that it is found, though it be one of them.
        let mut best = (least - 1e-6 * (1.0 + least.abs() * 1e-6), 0);
        let pace = self.least_pace(known, throughput);
        self.follow(known, (throughput, pace), start, &mut best);
        best.1
    }

    /// A plan with one chunk more.
    fn step(&self, known: &Known, throughput: f64, step: &Step, level: usize) -> Step {
        let ladder = known.ladder;
        let quality = |level: usize| ladder.levels()[level] / 1e3;
        let fetching = ladder.size(known.next + step.depth, level) * 8.0 / throughput;
        let stalled = (fetching - step.buffer).max(0.0);
        let switched = step.last.map_or(0.0, |last| (quality(level) - quality(last)).abs());
        let full = (step.buffer - fetching).max(0.0) + ladder.chunk();
        Step {
            depth: step.depth + 1,
            // A player waits rather than holding more than its capacity (equation 4).
            buffer: full.min(known.capacity.max(ladder.chunk())),
            worth: step.worth + quality(level) - self.switching * switched - self.stalling * stalled,
            last: Some(level),
            first: if step.depth == 0 { level } else { step.first },
        }
    }

    /// Seconds that it takes at least to fetch a chunk, for each kbit/s of its quality.
    fn least_pace(&self, known: &Known, throughput: f64) -> f64 {
        let ladder = known.ladder;
        let of = |chunk: usize, level: usize| {
            ladder.size(known.next + chunk, level) * 8.0 / throughput / (ladder.levels()[level] / 1e3)
        };
        let chunks = if ladder.chunks().is_some() { self.horizon } else { 1 };
        let all = (0..chunks).flat_map(|chunk| (0..=ladder.top()).map(move |level| of(chunk, level)));
        all.fold(f64::INFINITY, f64::min)
    }

    fn follow(&self, known: &Known, (throughput, pace): (f64, f64), step: Step, best: &mut (f64, usize)) {
        if step.depth == self.horizon {
            if step.worth > best.0 {
                *best = (step.worth, step.first);
            }
            return;
        }
        if step.worth + self.most(known, pace, &step) <= best.0 {
            return;
        }
        for level in 0..=known.ladder.top() {
            self.follow(known, (throughput, pace), self.step(known, throughput, &step, level), best);
        }
    }
}

/// The largest relative error of the harmonic mean over the latest `window` chunks: |predicted - found| / found.
fn largest_error(throughputs: &[f64], window: usize) -> f64 {
    let first = throughputs.len().saturating_sub(window);
    let errors = (first..throughputs.len()).filter_map(|i| {
        let predicted = harmonic_mean(&throughputs[..i], window)?;
        Some((predicted - throughputs[i]).abs() / throughputs[i])
    });
    errors.fold(0.0, f64::max)
}

/// The plain rule.
#[derive(Clone, Debug)]
pub struct Mpc(Planner);

impl Rule for Mpc {
    const TABLE: &'static Mechanism = &MPC;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        Ok(Mpc(Planner::build(values)))
    }

    fn choose(&mut self, known: &Known) -> usize {
        harmonic_mean(known.throughputs, self.0.window).map_or(0, |mean| self.0.first(known, mean))
    }
}

/// The robust rule.
#[derive(Clone, Debug)]
pub struct RobustMpc(Planner);

impl Rule for RobustMpc {
    const TABLE: &'static Mechanism = &ROBUST_MPC;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        Ok(RobustMpc(Planner::build(values)))
    }

    fn choose(&mut self, known: &Known) -> usize {
        let Some(mean) = harmonic_mean(known.throughputs, self.0.window) else { return 0 };
        self.0.first(known, mean / (1.0 + largest_error(known.throughputs, self.0.window)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ladder, built, tests::paper};
    use super::*;
    use proptest::prelude::*;

    fn known<'a>(ladder: &'a Ladder, buffer: f64, throughputs: &'a [f64], last: Option<usize>) -> Known<'a> {
        Known { ladder, next: 3, buffer, capacity: 30.0, throughputs, last }
    }

    /// One chunk ahead, two levels of 1 and 3 Mbit/s, chunks of 2 s, 2 Mbit/s: the higher one takes 3 s.
    #[test]
    fn one_step_by_hand() {
        let ladder = Ladder::new(vec![1e6, 3e6], 2.0, None).expect("a ladder");
        let level = |buffer, stalls: f64, last| {
            built::<Mpc>(&[("horizon", 1.0), ("stall_penalty", stalls), ("switch_penalty", 0.5)])
                .choose(&known(&ladder, buffer, &[2e6], last))
        };
        // From level 1: 3000 - 3000 x stall against 1000 - 0.5 x 2000: a stall of just under 1 s is worth it.
        assert_eq!((level(2.1, 3_000.0, Some(1)), level(1.9, 3_000.0, Some(1))), (1, 0));
        // From level 0: 3000 - 1000 - 3000 x stall against 1000: a third of a second.
        assert_eq!((level(2.7, 3_000.0, Some(0)), level(2.6, 3_000.0, Some(0))), (1, 0));
        // Before the first chunk nothing is switched: two thirds of a second.
        assert_eq!((level(2.4, 3_000.0, None), level(2.3, 3_000.0, None)), (1, 0));
        assert_eq!(level(0.0, 0.0, Some(0)), 1);
    }

    #[test]
    fn without_a_throughput_the_lowest() {
        assert_eq!(built::<Mpc>(&[]).choose(&known(&paper(), 30.0, &[], None)), 0);
    }

    #[test]
    fn the_largest_error_of_the_latest_predictions() {
        // Predictions 4, harmonic mean of 4 and 2 = 8/3; found 2, 4: errors 1 and 1/3.
        assert_eq!(largest_error(&[4.0, 2.0, 4.0], 5), 1.0);
        // With a window of one only the last counts: 2 was predicted.
        assert_eq!(largest_error(&[4.0, 2.0, 4.0], 1), 0.5);
        assert_eq!(largest_error(&[4.0], 5), 0.0);
    }

    #[test]
    fn a_poor_prediction_makes_the_robust_rule_careful() {
        let ladder = paper();
        let throughputs = [9e6, 2.5e6, 9e6, 9e6];
        let seen = known(&ladder, 8.0, &throughputs, Some(3));
        let (plain, robust) = (built::<Mpc>(&[]).choose(&seen), built::<RobustMpc>(&[]).choose(&seen));
        assert!(robust < plain, "{robust} against {plain}");
        let steady = [5e6; 4];
        let seen = known(&ladder, 8.0, &steady, Some(3));
        assert_eq!(built::<Mpc>(&[]).choose(&seen), built::<RobustMpc>(&[]).choose(&seen));
    }

    /// The same over all plans, without giving any up.
    fn exhaustive(planner: &Planner, known: &Known, throughput: f64) -> usize {
        let ladder = known.ladder;
        let count = ladder.levels().len();
        let mut best = (f64::NEG_INFINITY, 0);
        for plan in 0..count.pow(planner.horizon as u32) {
            let digit = |i: usize| plan / count.pow((planner.horizon - 1 - i) as u32) % count;
            let (mut buffer, mut worth, mut last) = (known.buffer, 0.0, known.last);
            for i in 0..planner.horizon {
                let level = digit(i);
                let quality = |level: usize| ladder.levels()[level] / 1e3;
                let fetching = ladder.size(known.next + i, level) * 8.0 / throughput;
                let stalled = (fetching - buffer).max(0.0);
                let switched = last.map_or(0.0, |l| (quality(level) - quality(l)).abs());
                worth = worth + quality(level) - planner.switching * switched - planner.stalling * stalled;
                buffer = ((buffer - fetching).max(0.0) + ladder.chunk()).min(known.capacity);
                last = Some(level);
            }
            if worth > best.0 {
                best = (worth, digit(0));
            }
        }
        best.1
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn giving_plans_up_loses_nothing(
            buffer in 0.0f64..30.0, throughput in 1e5f64..1e7, last in prop::option::of(0usize..5), horizon in 1usize..5,
            switching in prop_oneof![Just(0.0), Just(1.0), 0.0f64..5.0],
            stalling in prop_oneof![Just(0.0), Just(3_000.0), 0.0f64..9_000.0],
            sizes in prop::option::of(prop::collection::vec(prop::collection::vec(1e4f64..2e6, 5), 1..4)),
        ) {
            let ladder = Ladder::new(paper().levels().to_vec(), 2.0, sizes).expect("a ladder");
            let seen = known(&ladder, buffer, &[], last);
            let planner = Planner { horizon, window: 5, switching, stalling };
            prop_assert_eq!(planner.first(&seen, throughput), exhaustive(&planner, &seen, throughput));
        }
    }
}
