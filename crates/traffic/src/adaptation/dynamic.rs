//! BOLA where the buffer is well filled, throughput where it is not (Spiteri et al. 2018, DYNAMIC, as dash.js has it).
//!
//! Not modelled: dash.js's insufficient-buffer, switch-history and abandon rules.

use evenflow_base::schema::{Mechanism, Problem, Room, Values, sound};

use super::bola::{self, Bola};
use super::{Known, Rule, harmonic_mean, rate};

/// The rule.
#[derive(Clone, Debug)]
pub struct Dynamic {
    bola: Bola,
    stable: f64,
    safety: f64,
    window: usize,
    /// The buffer decides.
    by_buffer: bool,
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Given {
        ..bola: bola::Given;
        ..rate: rate::Given;
        /// Usable share of the throughput.
        safety: f64 = Number, Text("0.9"), Range::up_to(1.0) => source: "dash.js, bandwidthSafetyFactor";
        /// Buffer level above which BOLA is used.
        stable_buffer: f64 = Duration, Text("12 s"), Range::POSITIVE => source: "dash.js, stableBufferTime";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "dynamic",
    title: "BOLA, or throughput at low buffer",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "dynamic"
safety = 0.9
stable_buffer = "12 s""#,
    doc: "Uses BOLA once the buffer exceeds stable_buffer, until it falls to half of it. Otherwise it \
          requests the highest level within safety times the harmonic mean of the throughput.",
    source: "Spiteri, Sitaraman and Sparacio 2018, section 4; dash.js, AbrController (dynamic strategy)",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

impl Rule for Dynamic {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        let Given { bola, rate, stable_buffer: stable, safety } = Given::read(values);
        let (minimum, target) = (bola.minimum_buffer, bola.target_buffer);
        sound(bola::check(minimum, target))?;
        Ok(Dynamic {
            bola: Bola::between(minimum, target),
            stable,
            safety,
            window: rate.window,
            by_buffer: false,
        })
    }

    fn choose(&mut self, known: &Known) -> usize {
        // Two thresholds, so that the rules do not take turns.
        let threshold = if self.by_buffer { self.stable / 2.0 } else { self.stable };
        self.by_buffer = known.buffer > threshold;
        if self.by_buffer {
            return self.bola.level(known.ladder, known.buffer);
        }
        let mean = harmonic_mean(known.throughputs, self.window);
        mean.map_or(0, |mean| known.ladder.highest_within(self.safety * mean))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{built, tests::paper};
    use super::*;

    #[test]
    fn two_thresholds() {
        let ladder = paper();
        let mut rule = built::<Dynamic>(&[]);
        let mut at = |buffer| {
            let throughputs = [5e6];
            let known = Known {
                ladder: &ladder,
                next: 1,
                buffer,
                capacity: 60.0,
                throughputs: &throughputs,
                last: Some(0),
            };
            rule.choose(&known)
        };
        // 0.9 x 5 Mbit/s: the highest level. BOLA at 12.1 and 6.1 s: levels 1 and 0.
        assert_eq!([11.0, 12.0, 12.1, 11.0, 6.1, 6.0, 12.0].map(&mut at), [4, 4, 1, 0, 0, 4, 4]);
    }

    #[test]
    fn a_tenth_of_the_throughput_is_not_counted_on() {
        let ladder = paper();
        let level = |throughput| {
            let throughputs = [throughput];
            let known = Known {
                ladder: &ladder,
                next: 1,
                buffer: 4.0,
                capacity: 60.0,
                throughputs: &throughputs,
                last: None,
            };
            built::<Dynamic>(&[]).choose(&known)
        };
        // 1,632 / 0.9 = 1,813.3 kbit/s.
        assert_eq!((level(1.814e6), level(1.813e6)), (3, 2));
    }
}
