//! TDRM-UTEMA: the rate of a packet stream, unbiased from the first instant (Menth and Hauser 2017; Menth and Zeitler
//! 2018, equations 1 to 4).
//!
//! One parameter, the memory M: how far back, how smooth and how late the measurement is are all M.

use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Room, Values};
use evenflow_base::{Duration, Packet, Time};

use crate::station::{Cx, Kind, Owner, Pass, Station};

/// Beyond so many memories the weighted time equals M to the last bit of an f64: 1 - exp(-x) is 1 for x > 37.
const SATURATED: f64 = 38.0;

words! {
    /// When the measurement begins (t0).
    pub enum Start {
        /// With the run.
        Run = "run",
        /// With the first packet.
        FirstPacket = "first-packet",
    }
}

/// A rate meter.
#[derive(Clone, Copy, Debug)]
pub struct RateMeter {
    /// M, seconds.
    memory: f64,
    /// 1 / M.
    per_second: f64,
    /// t0; `None` until the first packet where that starts it.
    start: Option<Time>,
    /// S, bytes.
    sum: f64,
    /// t_last.
    last: Time,
}

impl RateMeter {
    /// A meter that has seen nothing.
    pub fn new(memory: Duration, start: Start) -> RateMeter {
        let memory = memory.seconds();
        RateMeter {
            memory,
            per_second: 1.0 / memory,
            start: (start == Start::Run).then_some(Time::ZERO),
            sum: 0.0,
            last: Time::ZERO,
        }
    }

    /// Counts `bytes` at `now` (equations 1 and 4) and gives the measured rate R_m in bit/s (equations 2 and 3).
    #[inline]
    pub fn add(&mut self, bytes: f64, now: Time) -> f64 {
        self.start.get_or_insert(now);
        self.sum = self.faded(now) + bytes;
        self.last = now;
        self.rate(now)
    }

    /// R_m at `now` with no packet, bit/s. Zero while the weighted time is (Menth and Hauser 2017).
    #[inline]
    pub fn rate(&self, now: Time) -> f64 {
        let time = self.weighted_time(now);
        if time > 0.0 { 8.0 * self.faded(now) / time } else { 0.0 }
    }

    /// S at `now`, bytes.
    #[inline]
    pub fn weighted_bytes(&self, now: Time) -> f64 {
        self.faded(now)
    }

    #[inline]
    fn faded(&self, now: Time) -> f64 {
        if now == self.last {
            return self.sum;
        }
        libm::exp(-now.since(self.last).seconds() * self.per_second) * self.sum
    }

    /// T (equation 2).
    #[inline]
    fn weighted_time(&self, now: Time) -> f64 {
        let Some(start) = self.start else { return 0.0 };
        let memories = now.since(start).seconds() * self.per_second;
        if memories > SATURATED { self.memory } else { -self.memory * libm::expm1(-memories) }
    }
}

/// The parameters every meter of this kind has.
pub(crate) const START: Param = Param {
    name: "start",
    ty: Start::TYPE,
    default: Fallback::Text("run"),
    range: Range::ANY,
    source: "Menth and Zeitler 2018, section IV-G: the activity advantage needs a meter that runs from the start",
    doc: "Start of the measurement (t0).",
};

impl Station for RateMeter {
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        self.add(f64::from(packet.size), cx.now);
        Pass::On
    }
}

impl Kind for RateMeter {
    fn build(values: &Values, _owner: Owner) -> Result<RateMeter, Vec<Problem>> {
        let Given { memory, start } = Given::read(values);
        Ok(RateMeter::new(memory, start))
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Given {
        /// Memory of the moving average.
        memory: Duration = Duration, Text("0.5 s"), Range::POSITIVE
            => source: "Menth and Zeitler 2018, section IV-G5";
        /// See [`START`].
        start: Start = START;
    }
}

observables! {
    RateMeter: meter, now;
    rate: "bit/s", "Measured rate." => meter.rate(now);
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "rate-meter",
    title: "Rate meter (TDRM-UTEMA)",
    example: r#"groups.users.path = ["meter", "bottleneck"]

[stages.meter]
kind = "rate-meter"
per = "user"
memory = "0.5 s""#,
    doc: "Measures the rate of passing packets and changes nothing.",
    source: "Menth and Hauser 2017; Menth and Zeitler 2018, equations 1 to 4",
    params: Given::PARAMS,
    observables: RateMeter::OBSERVABLES,
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    #[test]
    fn equations_1_to_3_by_hand() {
        // M = 2 s; 1000 bytes at 1 s: S = 1000, T = 2 (1 - exp(-1/2)), R = 8000 / 0.786938...
        let mut m = RateMeter::new(Duration::from_seconds(2.0), Start::Run);
        let t1 = 2.0 * (1.0 - libm::exp(-0.5));
        assert!((m.add(1000.0, at(1.0)) - 8000.0 / t1).abs() < 1e-9);
        // 500 bytes one second later: S = 1000 exp(-1/2) + 500, T = 2 (1 - exp(-1)).
        let s2 = 1000.0 * libm::exp(-0.5) + 500.0;
        let t2 = 2.0 * (1.0 - libm::exp(-1.0));
        assert!((m.add(500.0, at(2.0)) - 8.0 * s2 / t2).abs() < 1e-9);
    }

    #[test]
    fn a_steady_rate_is_found_and_its_sum_is_rate_times_memory() {
        // 5 Mbit/s: 1500 bytes every 2.4 ms; S -> R M / 8 = 1.875 MB (section IV-G1).
        let mut m = RateMeter::new(Duration::from_seconds(3.0), Start::Run);
        let mut rate = 0.0;
        for i in 1..20_000u64 {
            rate = m.add(1500.0, Time(i * 2_400_000));
        }
        assert!((rate / 5e6 - 1.0).abs() < 1e-3, "{rate}");
        assert!((m.weighted_bytes(Time(19_999 * 2_400_000)) / 1.875e6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn several_packets_at_one_instant_add_up() {
        let mut a = RateMeter::new(Duration::from_seconds(3.0), Start::Run);
        let mut b = a;
        a.add(500.0, at(1.0));
        let twice = a.add(500.0, at(1.0));
        assert_eq!(twice, b.add(1000.0, at(1.0)));
    }

    #[test]
    fn a_packet_at_the_very_start_has_rate_zero() {
        let mut m = RateMeter::new(Duration::from_seconds(3.0), Start::FirstPacket);
        assert_eq!(m.add(1500.0, at(9.0)), 0.0);
        assert!(m.add(1500.0, at(9.001)) > 0.0);
    }

    #[test]
    fn a_saturated_weighted_time_is_what_the_formula_gives() {
        let m = RateMeter::new(Duration::from_seconds(3.0), Start::Run);
        assert_eq!(m.weighted_time(at(38.1 * 3.0)), -3.0 * libm::expm1(-38.1));
    }
}
