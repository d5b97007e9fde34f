//! Activity meter: writes into each packet how active its user is (Menth and Zeitler 2018, sections III-B, III-D1, III-E).
//!
//! Activity is the logarithm to base 2 of the user's measured rate over the user's reference rate. Bytes of a
//! class count by its accounting factor. The fair meter multiplies the rate with a uniform draw first, so that equal
//! parts of unequal aggregates look alike. Not here: the token-bucket meter of the earlier ABC.

use std::collections::BTreeMap;

use evenflow_base::schema::{Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Time};

use crate::rate_meter::{RateMeter, START, Start};
use crate::station::{Cx, Kind, Owner, Pass, Station};

/// Minimum rate for an activity, in bit/s. log2(0) would make every average infinite.
const RATE_FLOOR: f64 = 1.0;

/// Its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// M_AM.
    pub memory: Duration,
    /// R_r, bit/s, times the weight of the user.
    pub reference_rate: f64,
    /// a_PHB by class index; classes beyond it count once.
    pub accounting: Vec<f64>,
    /// When the measurement begins.
    pub start: Start,
    /// Multiply with a uniform draw (section III-E).
    pub fair: bool,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values, classes: &[String], weight: f64, fair: bool) -> Result<Params, Vec<Problem>> {
        let mut accounting = vec![1.0; classes.len()];
        let given = Given::read(values);
        for (class, factor) in given.accounting.into_iter().flatten() {
            if let Some(index) = classes.iter().position(|c| *c == class) {
                accounting[index] = factor;
            }
        }
        Ok(Params {
            memory: given.memory,
            reference_rate: given.reference_rate * weight,
            accounting,
            start: given.start,
            fair,
        })
    }
}

/// A = log2(R_m / R_r) (equation 5).
#[inline]
pub fn activity(rate: f64, reference_rate: f64) -> f64 {
    libm::log2(rate / reference_rate)
}

/// The meter and its state.
#[derive(Clone, Debug)]
pub struct ActivityMeter {
    params: Params,
    rate: RateMeter,
    /// Activity written last.
    activity: f64,
    /// Packets whose rate was below the floor.
    floored: u64,
}

impl ActivityMeter {
    /// A meter that has seen nothing.
    pub fn new(params: Params) -> ActivityMeter {
        let rate = RateMeter::new(params.memory, params.start);
        ActivityMeter { params, rate, activity: 0.0, floored: 0 }
    }
}

impl Station for ActivityMeter {
    /// Meters the packet, whatever becomes of it, and writes its activity.
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let factor = self.params.accounting.get(usize::from(packet.class)).copied().unwrap_or(1.0);
        let mut rate = self.rate.add(factor * f64::from(packet.size), cx.now);
        if self.params.fair {
            rate *= cx.stream.open01();
        }
        if rate < RATE_FLOOR {
            rate = RATE_FLOOR;
            self.floored += 1;
        }
        self.activity = activity(rate, self.params.reference_rate);
        packet.label = self.activity;
        Pass::On
    }
}

impl Kind for ActivityMeter {
    fn build(values: &Values, owner: Owner) -> Result<ActivityMeter, Vec<Problem>> {
        Params::new(values, owner.classes, owner.weight, false).map(ActivityMeter::new)
    }
}

/// The same with a draw.
#[derive(Clone, Debug)]
pub struct FairMeter(ActivityMeter);

impl Station for FairMeter {
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.0.forward(packet, cx)
    }

    fn observe(&self, name: &str, now: Time) -> Option<f64> {
        self.0.observe(name, now)
    }
}

impl Kind for FairMeter {
    fn build(values: &Values, owner: Owner) -> Result<FairMeter, Vec<Problem>> {
        Params::new(values, owner.classes, owner.weight, true).map(|p| FairMeter(ActivityMeter::new(p)))
    }
}

const PAPER: &str = "Menth and Zeitler 2018, Table 1";

observables! {
    ActivityMeter: meter, now;
    activity: "1", "Activity written into the last packet." => meter.activity;
    rate: "bit/s", "Measured rate." => meter.rate.rate(now);
    weighted_bytes: "B", "Weighted sum of bytes, S." => meter.rate.weighted_bytes(now);
    floored: "packets", "Packets metered at a rate below 1 bit/s." => meter.floored;
}

const DEVIATIONS: &[Deviation] = &[Deviation {
    what: "A measured rate below 1 bit/s counts as 1 bit/s; a counter counts such packets.",
    why: "Otherwise the logarithm of zero would stay in every average. It occurs only at the meter's first \
          instant.",
}];

params! {
    /// The parameters of both meters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Memory of the rate meter (M_AM). It should exceed the memory of the averager.
        memory: Duration = Duration, Text("3 s"), Range::POSITIVE => source: PAPER;
        /// Rate with an activity of zero (R_r). Users share bandwidth in proportion to it; the group's weight
        /// multiplies it.
        reference_rate: f64 = Rate, Text("10 kbit/s"), Range::POSITIVE => source: PAPER;
        /// Factor on the bytes of each class (a_PHB).
        accounting: Option<BTreeMap<String, f64>> = NumberPerClass, Absent("1 for every class"), Range::POSITIVE
            => source: "Menth and Zeitler 2018, section III-D1";
        /// See [`START`].
        start: Start = START;
    }
}

/// The normal meter's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "activity-meter",
    traits: Traits { labels: true, ..Mechanism::PLAIN },
    title: "Activity meter",
    example: r#"groups.users.path = ["meter", "bottleneck"]

[stages.meter]
kind = "activity-meter"
per = "user"
reference_rate = "10 kbit/s""#,
    doc: "Measures the rate of each user and writes log2(rate / reference rate) into each packet before a \
          queue decides on it.",
    source: "Menth and Zeitler 2018, section III-B, equations 1 to 5",
    params: Given::PARAMS,
    observables: ActivityMeter::OBSERVABLES,
    deviations: DEVIATIONS,
    ..Mechanism::of(Room::Stage)
};

/// The fair meter's table.
pub static FAIR_TABLE: Mechanism = Mechanism {
    kind: "fair-activity-meter",
    traits: Traits { labels: true, draws: "always", ..Mechanism::PLAIN },
    title: "Fair activity meter",
    example: r#"groups.users.path = ["meter", "bottleneck"]

[stages.meter]
kind = "fair-activity-meter"
per = "user"
reference_rate = "10 kbit/s""#,
    doc: "Like activity-meter, but multiplies the measured rate by a uniform draw from (0, 1) for each \
          packet.",
    source: "Menth and Zeitler 2018, section III-E",
    params: Given::PARAMS,
    observables: ActivityMeter::OBSERVABLES,
    deviations: DEVIATIONS,
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stepper;
    use evenflow_base::ip;

    fn params() -> Params {
        Params {
            memory: Duration::from_seconds(3.0),
            reference_rate: 10e3,
            accounting: vec![1.0, 3.0],
            start: Start::Run,
            fair: false,
        }
    }

    fn packet(class: u8) -> Packet {
        Packet { label: f64::NAN, class, ip: ip::DATAGRAM, ..Packet::new(0, 1500, 1470) }
    }

    fn label_after(meter: &mut ActivityMeter, class: u8, seconds: f64) -> f64 {
        let mut p = packet(class);
        meter.forward(&mut p, &mut Stepper::new(1).cx(Time::from_seconds(seconds)));
        p.label
    }

    #[test]
    fn equation_5_by_hand() {
        assert_eq!(activity(10e3, 10e3), 0.0);
        assert!((activity(5e6, 10e3) - 8.965_784_284_662_087).abs() < 1e-12);
        assert_eq!(activity(2.5e3, 10e3), -2.0);
    }

    #[test]
    fn expedited_bytes_count_three_times() {
        let be = label_after(&mut ActivityMeter::new(params()), 0, 1.0);
        let ef = label_after(&mut ActivityMeter::new(params()), 1, 1.0);
        assert!((ef - be - libm::log2(3.0)).abs() < 1e-12);
    }

    #[test]
    fn every_packet_of_a_user_carries_the_one_meters_activity() {
        let mut m = ActivityMeter::new(params());
        let ef = label_after(&mut m, 1, 1.0);
        let be = label_after(&mut m, 0, 1.0);
        // 3 * 1500 and then 4 * 1500 bytes at one instant.
        assert!((be - ef - libm::log2(4.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn a_rate_of_zero_never_reaches_the_averager() {
        let mut m = ActivityMeter::new(params());
        let label = label_after(&mut m, 0, 0.0);
        assert!((label + libm::log2(10e3)).abs() < 1e-12);
        assert_eq!(m.observe("floored", Time(0)), Some(1.0));
    }

    #[test]
    fn the_fair_meter_has_the_known_mean_and_spread() {
        // E[log2 x] = -1/ln 2 = -1.4427, standard deviation 1.4427, for uniform x.
        let mut m = ActivityMeter::new(Params { fair: true, ..params() });
        let mut by_hand = Stepper::new(1);
        let (mut sum, mut squares, n) = (0.0, 0.0, 100_000);
        for i in 0..n {
            let mut p = packet(0);
            let now = Time::from_seconds(100.0 + 2.4e-3 * f64::from(i));
            m.forward(&mut p, &mut by_hand.cx(now));
            let x = p.label - activity(m.rate.rate(now), 10e3);
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        let deviation = (squares / f64::from(n) - mean * mean).sqrt();
        assert!((mean + std::f64::consts::LOG2_E).abs() < 0.025, "{mean}");
        assert!((deviation - std::f64::consts::LOG2_E).abs() < 0.03, "{deviation}");
    }
}
