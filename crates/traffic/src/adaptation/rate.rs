//! The harmonic mean of the latest throughputs (Jiang et al. 2012, section 4.2).

use evenflow_base::schema::{Mechanism, Problem, Room, Values};

use super::{Known, Rule, harmonic_mean};

/// The rule.
#[derive(Clone, Debug)]
pub struct Rate {
    window: usize,
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Given {
        /// Chunks in the harmonic mean of the throughput.
        window: usize = Integer, Text("5"), Range::between(1.0, 1_000.0)
            => source: "Yin et al. 2015, section 5.2: the harmonic mean of the last five chunks";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "rate",
    title: "Harmonic mean of the throughput",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "rate"
window = 5"#,
    doc: "Requests the highest level within the harmonic mean of the latest throughputs; the lowest level \
          before the first chunk.",
    source: "Jiang et al. 2012, section 4.2; Yin et al. 2015, section 7.1 (\"RB\")",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

impl Rule for Rate {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        Ok(Rate { window: Given::read(values).window })
    }

    fn choose(&mut self, known: &Known) -> usize {
        let mean = harmonic_mean(known.throughputs, self.window);
        mean.map_or(0, |mean| known.ladder.highest_within(mean))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{built, tests::paper};
    use super::*;

    fn level(throughputs: &[f64], window: f64) -> usize {
        let ladder = paper();
        let known =
            Known { ladder: &ladder, next: 1, buffer: 9.0, capacity: 30.0, throughputs, last: Some(0) };
        built::<Rate>(&[("window", window)]).choose(&known)
    }

    #[test]
    fn one_slow_chunk_weighs_more_than_one_fast_chunk() {
        // Harmonic mean of 1 and 9: 1.8 Mbit/s; the arithmetic mean would be 5.
        assert_eq!(level(&[1e6, 9e6], 5.0), 3);
        assert_eq!(level(&[1e6, 9e6], 1.0), 4);
    }

    #[test]
    fn five_chunks_count_and_the_sixth_is_forgotten() {
        assert_eq!(level(&[1e3, 2e6, 2e6, 2e6, 2e6, 2e6], 5.0), 3);
        assert_eq!(level(&[1e3, 2e6, 2e6, 2e6, 2e6], 5.0), 0);
        assert_eq!(level(&[], 5.0), 0);
    }
}
