//! Throughput of the last chunk, believed the more the fuller the buffer is (Ben Ameur et al. 2016, equation 5).

use evenflow_base::schema::{Mechanism, Problem, Room, Values};

use super::{Known, Rule, harmonic_mean};

/// The rule.
#[derive(Clone, Debug)]
pub struct AggressiveRate {
    /// σ.
    aggressiveness: f64,
    /// Number of chunks in the mean of the throughput.
    window: usize,
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Given {
        /// Relative increase of the throughput at a full buffer (σ).
        aggressiveness: f64 = Number, Text("0.2"), Range::NOT_NEGATIVE
            => source: "Ben Ameur et al. 2016, section 4.1";
        /// Chunks in the harmonic mean of the throughput.
        window: Option<usize> = Integer, Absent("the last chunk"), Range::between(1.0, 1000.0)
            => source: "Ben Ameur et al. 2016, section 4.1 (the last chunk)";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "aggressive-rate",
    title: "Throughput of the last chunk, raised by the buffer level",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "aggressive-rate"
aggressiveness = 0.2"#,
    doc: "Requests the highest level within an adjusted throughput. The throughput is that of the last \
          chunk, or the harmonic mean of the last chunks. It is multiplied by 1 + aggressiveness * buffer \
          level / capacity.",
    source: "Ben Ameur et al. 2016, equation 5",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

/// ρ: how far above its estimate a player dares to go with `buffer` of `capacity` seconds.
fn daring(aggressiveness: f64, buffer: f64, capacity: f64) -> f64 {
    if capacity > 0.0 { aggressiveness * (buffer / capacity).min(1.0) } else { 0.0 }
}

impl Rule for AggressiveRate {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        let Given { aggressiveness, window } = Given::read(values);
        Ok(AggressiveRate { aggressiveness, window: window.unwrap_or(1) })
    }

    fn choose(&mut self, known: &Known) -> usize {
        // One throughput is taken as it is: its mean would be rounded.
        let latest = match self.window {
            1 => known.throughputs.last().copied(),
            window => harmonic_mean(known.throughputs, window),
        };
        let Some(latest) = latest else { return 0 };
        let rho = daring(self.aggressiveness, known.buffer, known.capacity);
        known.ladder.highest_within(latest * (1.0 + rho))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{built, tests::paper};
    use super::*;

    fn level(throughput: f64, chunks: f64) -> usize {
        let (ladder, throughputs) = (paper(), [throughput]);
        let known = Known {
            ladder: &ladder,
            next: 1,
            buffer: 2.0 * chunks,
            capacity: 30.0,
            throughputs: &throughputs,
            last: Some(0),
        };
        built::<AggressiveRate>(&[]).choose(&known)
    }

    /// The lone client of the dossier, section 2.16: 4.06 Mbit/s need four chunks of fifteen for the highest level, 3.92 seven.
    #[test]
    fn a_lone_client() {
        assert_eq!(level(1.55e6, 1.0), 2);
        assert_eq!(level(3.7e6, 2.0), 3);
        assert_eq!((level(4.06e6, 3.0), level(4.06e6, 4.0)), (3, 4));
        assert_eq!((level(3.92e6, 6.0), level(3.92e6, 7.0)), (3, 4));
    }

    /// The harmonic mean of 1 and 3 Mbit/s is 1.5 Mbit/s: one level below that of the last chunk alone.
    #[test]
    fn the_mean_of_a_window() {
        let ladder = paper();
        let throughputs = [9e9, 1e6, 3e6];
        let known = Known {
            ladder: &ladder,
            next: 3,
            buffer: 0.0,
            capacity: 30.0,
            throughputs: &throughputs,
            last: None,
        };
        assert_eq!(built::<AggressiveRate>(&[]).choose(&known), 3);
        assert_eq!(built::<AggressiveRate>(&[("window", 2.0)]).choose(&known), 2);
    }

    #[test]
    fn an_empty_buffer_adds_nothing_and_a_full_one_a_fifth() {
        assert_eq!((level(4_256e3, 0.0), level(4_255e3, 0.0)), (4, 3));
        // 4,256 / 1.2 = 3,546.67.
        assert_eq!((level(3_547e3, 15.0), level(3_546e3, 15.0)), (4, 3));
    }

    #[test]
    fn too_slow_for_any_level_is_the_lowest_and_so_is_the_first() {
        assert_eq!(level(100e3, 15.0), 0);
        let ladder = paper();
        let known =
            Known { ladder: &ladder, next: 0, buffer: 0.0, capacity: 30.0, throughputs: &[], last: None };
        assert_eq!(built::<AggressiveRate>(&[]).choose(&known), 0);
    }
}
