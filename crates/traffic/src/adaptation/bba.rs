//! BBA-0: a level by the buffer alone (Huang et al. 2014, section 4).

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};

use super::{Known, Ladder, Rule};

/// The rule.
#[derive(Clone, Debug)]
pub struct Bba0 {
    /// Seconds; absent: a share of the capacity.
    reservoir: Option<f64>,
    cushion: Option<f64>,
}

/// 90 and 126 of 240 seconds (Huang et al. 2014, section 4: a buffer of 240 s, a reservoir of 90 s, the upper tenth above the
/// cushion).
const RESERVOIR: f64 = 90.0 / 240.0;
const CUSHION: f64 = 126.0 / 240.0;

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Given {
        /// Buffer range, in seconds of video, over which the level rises from the lowest to the highest.
        cushion: Option<f64> = Duration, Absent("52.5 % of the buffer"), Range::POSITIVE
            => source: "Huang et al. 2014, section 4: 126 of 240 s";
        /// Buffer level, in seconds of video, below which the lowest level is requested.
        reservoir: Option<f64> = Duration, Absent("37.5 % of the buffer"), Range::NOT_NEGATIVE
            => source: "Huang et al. 2014, section 4: 90 of 240 s";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "bba-0",
    traits: Traits { by_buffer: true, ..Mechanism::PLAIN },
    title: "Buffer-based adaptation BBA-0",
    example: r#"groups.users.traffic.kind = "has"
groups.users.traffic.ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]

[groups.users.traffic.adaptation]
kind = "bba-0"
reservoir = "10 s""#,
    doc: "Maps the buffer level to a bitrate by a linear function. It rises from the lowest level at the \
          reservoir to the highest at the end of the cushion. The level changes only when the function passes the next \
          level above or below.",
    source: "Huang et al. 2014, section 4 and algorithm 1",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Adaptation)
};

/// f(B), bit/s: the line between the lowest and the highest level.
fn line(ladder: &Ladder, buffer: f64, reservoir: f64, cushion: f64) -> f64 {
    let (low, high) = (ladder.levels()[0], ladder.levels()[ladder.top()]);
    let along = ((buffer - reservoir) / cushion).clamp(0.0, 1.0);
    low + (high - low) * along
}

impl Rule for Bba0 {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values) -> Result<Self, Vec<Problem>> {
        let Given { reservoir, cushion } = Given::read(values);
        Ok(Bba0 { reservoir, cushion })
    }

    // Algorithm 1.
    fn choose(&mut self, known: &Known) -> usize {
        let (ladder, top) = (known.ladder, known.ladder.top());
        let reservoir = self.reservoir.unwrap_or(RESERVOIR * known.capacity);
        let cushion = self.cushion.unwrap_or(CUSHION * known.capacity);
        let last = known.last.unwrap_or(0).min(top);
        if known.buffer <= reservoir {
            return 0;
        }
        if known.buffer >= reservoir + cushion {
            return top;
        }
        let f = line(ladder, known.buffer, reservoir, cushion);
        let levels = ladder.levels();
        if f >= levels[(last + 1).min(top)] {
            levels.iter().rposition(|&level| level < f).unwrap_or(0)
        } else if f <= levels[last.saturating_sub(1)] {
            levels.iter().position(|&level| level > f).unwrap_or(top)
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{built, tests::paper};
    use super::*;

    fn level(buffer: f64, last: usize) -> usize {
        let ladder = paper();
        let known =
            Known { ladder: &ladder, next: 1, buffer, capacity: 240.0, throughputs: &[], last: Some(last) };
        built::<Bba0>(&[]).choose(&known)
    }

    #[test]
    fn the_line_of_the_paper() {
        let at = |buffer| line(&paper(), buffer, 90.0, 126.0);
        assert_eq!([90.0, 153.0, 216.0].map(at), [248e3, 2_252e3, 4_256e3]);
        assert_eq!([0.0, 240.0].map(at), [248e3, 4_256e3]);
    }

    #[test]
    fn lowest_in_the_reservoir_and_highest_above_the_cushion() {
        assert_eq!((level(90.0, 4), level(216.0, 0)), (0, 4));
    }

    /// At 153 s the line is at 2,252 kbit/s: above level 3, below level 4.
    #[test]
    fn a_level_stays_until_the_line_passes_its_neighbour() {
        assert_eq!(level(153.0, 3), 3);
        // From below: the highest level under the line. From above it stays at 4 until the line is at level 3.
        assert_eq!(level(153.0, 0), 3);
        assert_eq!(level(153.0, 4), 4);
        // The line passes 1,632 kbit/s at 90 + 126 x 1,384 / 4,008 = 133.51 s; below it the lowest level above the line is 3.
        assert_eq!((level(133.6, 4), level(133.4, 4)), (4, 3));
    }
}
