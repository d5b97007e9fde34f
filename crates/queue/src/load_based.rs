//! Load-based marking: the probability grows with the measured utilisation of the link (Siris et al.,
//! Computer Communications 2002, section 4.3).
//!
//! At the end of each interval, ρ = bits / (C t_avg). In the next interval each packet is marked with
//! probability α (ρ - ρ0), limited to 0 to 1. The first interval marks none. The probability is at most α (1
//! - ρ0) at full load; senders that need more marks fill the queue.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Rate, Stream, Time};

use crate::action::ACTION;
use crate::rule::{capacity, last_strike};
use crate::{Action, LinkFacts, Occupancy, Reason, Rule, Verdict};

/// Parts of a sliding interval.
const PARTS: usize = 10;

words! {
    /// Which packets are counted.
    pub enum Count {
        /// Those that arrive.
        Arrivals = "arrivals",
        /// Those that have been sent.
        Departures = "departures",
    }
}

words! {
    /// How the interval moves.
    pub enum Window {
        /// By its whole length.
        Fixed = "fixed",
        /// By a tenth of its length.
        Sliding = "sliding",
    }
}

impl Params {
    /// From one tick to the next.
    fn step(&self) -> Duration {
        if self.window == Window::Sliding { Duration(self.interval.0 / PARTS as u64) } else { self.interval }
    }
}

/// ρ: utilisation by `bytes` in `interval` seconds.
#[inline]
pub fn load(bytes: u64, capacity: f64, interval: f64) -> f64 {
    bytes as f64 * 8.0 / (capacity * interval)
}

/// p = α (ρ - ρ0), within 0 and 1.
#[inline]
pub fn probability(gain: f64, load: f64, target: f64) -> f64 {
    (gain * (load - target)).clamp(0.0, 1.0)
}

/// The rule and its state.
#[derive(Clone, Debug)]
pub struct LoadBased {
    params: Params,
    /// The link's capacity, in bit/s.
    capacity: f64,
    /// Bytes of the last parts of the interval; the first is being counted, fixed intervals have no other.
    parts: [u64; PARTS],
    next: Time,
    load: f64,
    probability: f64,
}

impl LoadBased {
    /// A rule that has seen nothing.
    pub fn new(params: Params, capacity: f64) -> LoadBased {
        let next = Time::ZERO + params.step();
        LoadBased { params, capacity, parts: [0; PARTS], next, load: 0.0, probability: 0.0 }
    }
}

impl Rule for LoadBased {
    fn build(values: &Values, link: LinkFacts) -> Result<LoadBased, Vec<Problem>> {
        let params = Params::read(values);
        Ok(LoadBased::new(params, capacity(params.capacity, link.rate)?.0))
    }

    /// One number is drawn for every packet.
    #[inline]
    fn admit(&mut self, packet: &mut Packet, _now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict {
        if self.params.count == Count::Arrivals {
            self.parts[0] += u64::from(packet.size);
        }
        let picked = draws.open01() <= self.probability;
        match (seen.full, picked) {
            (true, _) => Verdict::Drop(Reason::Limit),
            (false, true) => self.params.action.apply(packet, Reason::Load),
            (false, false) => Verdict::Accept,
        }
    }

    #[inline]
    fn next_tick(&self) -> Time {
        self.next
    }

    fn tick(&mut self, _seen: &Occupancy) {
        let p = &self.params;
        let (bytes, interval) = match p.window == Window::Sliding {
            true => (self.parts.iter().sum(), (p.step().0 * PARTS as u64) as f64 / 1e9),
            false => (self.parts[0], p.interval.seconds()),
        };
        self.load = load(bytes, self.capacity, interval);
        self.probability = probability(p.gain, self.load, p.target);
        self.parts.rotate_right(1);
        self.parts[0] = 0;
        self.next += p.step();
    }

    fn rest(&mut self, seen: &Occupancy, until: Time) {
        let mut next = self.clone();
        next.tick(seen);
        let state = |rule: &LoadBased| (rule.parts, rule.load.to_bits(), rule.probability.to_bits());
        if state(&next) == state(self) {
            self.next = last_strike(self.next, self.params.step(), until);
        }
    }

    /// Whether it counts departures.
    fn watches_departures(&self) -> bool {
        self.params.count == Count::Departures
    }

    fn departed(&mut self, size: u16, _busy: Duration, _now: Time) {
        if self.params.count == Count::Departures {
            self.parts[0] += u64::from(size);
        }
    }
}

const PAPER: &str = "Siris et al. 2002, section 5";

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Params {
        /// Interval over which the load is averaged; the probability changes at its end (t_avg).
        interval: Duration = Duration, Text("0.5 s"), Range::at_least(1e-5) => source: PAPER;
        /// Load below which no packet is picked (rho_0).
        target: f64 = Number, Text("0.6"), Range::NOT_NEGATIVE => source: PAPER;
        /// Probability per load above the target (alpha).
        gain: f64 = Number, Text("0.71"), Range::POSITIVE => source: PAPER;
        /// Bytes that count as load: arrivals, or completed transmissions, whose load cannot exceed 1.
        count: Count = Count::TYPE, Text("arrivals") => source: "Siris et al. 2002, section 4.3, leaves it open";
        /// Consecutive intervals, or one that slides by a tenth of its length.
        window: Window = Window::TYPE, Text("fixed") => source: "Siris et al. 2002, section 4.3, leaves it open";
        /// See [`ACTION`].
        action: Action = ACTION;
        /// Rate that corresponds to a load of 1.
        capacity: Option<Rate> = Rate, Absent("the link's rate at the start"), Range::POSITIVE
            => source: "Siris et al. 2002, section 4.3";
    }
}

observables! {
    LoadBased: rule;
    load: "1", "Load of the last interval." => rule.load;
    probability: "1", "Current probability." => rule.probability;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "load-based",
    room: Room::Queue,
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "Load-based marking",
    example: r#"[links.bottleneck.queue]
kind = "load-based"
target = 0.9
interval = "0.5 s"
action = "mark""#,
    doc: "Picks each packet with probability gain * (load - target). The load is the utilisation measured \
          over the last interval.",
    source: "Siris et al., Computer Communications 2002, section 4.3",
    params: Params::PARAMS,
    observables: LoadBased::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("load", "The load was above the target; picked at random."),
    ],
    deviations: &[
        Deviation {
            what: "Intervals start at multiples of their length. An arrival at the end of one belongs to the \
                   next.",
            why: "The paper does not define this.",
        },
        Deviation {
            what: "A sliding interval moves in tenths.",
            why: "A continuous one would need a record of every packet in half a second.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Occupancy =
        Occupancy { packets: 0, bytes: 0, rate: None, full: false, idle_since: Some(Time(0)) };
    use evenflow_base::{Ecn, Stream};

    fn params() -> Params {
        Params {
            interval: Duration::from_millis(500),
            target: 0.6,
            gain: 0.71,
            capacity: None,
            count: Count::Arrivals,
            window: Window::Fixed,
            action: Action::MarkEverything,
        }
    }

    fn arrive(rule: &mut LoadBased, size: u16) -> Verdict {
        let mut packet = Packet::new(0, size, size).with_ecn(Ecn::Capable0);
        let seen = Occupancy { packets: 0, bytes: 0, rate: None, full: false, idle_since: None };
        rule.admit(&mut packet, Time(0), &seen, &mut Stream::new(1, "draws"))
    }

    #[test]
    fn the_probability_by_hand() {
        // 562500 bytes in half a second are 9 Mbit/s: a load of 0.9 on 10 Mbit/s, and 0.71 * 0.3.
        assert_eq!(load(562_500, 10e6, 0.5), 0.9);
        assert!((probability(0.71, 0.9, 0.6) - 0.213).abs() < 1e-12);
        assert_eq!(probability(0.71, 0.5, 0.6), 0.0);
        assert_eq!(probability(2.0, 1.3, 0.7), 1.0);
    }

    #[test]
    fn an_interval_decides_about_the_next() {
        let mut rule = LoadBased::new(params(), 10e6);
        for _ in 0..1000 {
            assert_eq!(arrive(&mut rule, 625), Verdict::Accept); // no probability yet
        }
        assert_eq!(rule.next_tick(), Time::from_seconds(0.5));
        rule.tick(&IDLE);
        assert_eq!(rule.observe("load"), Some(1.0));
        assert!((rule.observe("probability").unwrap() - 0.71 * 0.4).abs() < 1e-12);
        assert_eq!(rule.next_tick(), Time::from_seconds(1.0));
        rule.tick(&IDLE); // an interval without packets
        assert_eq!((rule.observe("load"), rule.observe("probability")), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn a_sliding_interval_moves_by_a_tenth() {
        let mut rule = LoadBased::new(Params { window: Window::Sliding, ..params() }, 10e6);
        for _ in 0..50 {
            arrive(&mut rule, 1250);
        }
        assert_eq!(rule.next_tick(), Time::from_seconds(0.05));
        // 62500 bytes are a tenth of what half a second carries, for ten ticks, and then no longer.
        for _ in 0..10 {
            rule.tick(&IDLE);
            assert!((rule.observe("load").unwrap() - 0.1).abs() < 1e-12);
        }
        rule.tick(&IDLE);
        assert_eq!(rule.observe("load"), Some(0.0));
    }

    #[test]
    fn departures_count_instead_of_arrivals() {
        let mut rule = LoadBased::new(Params { count: Count::Departures, ..params() }, 10e6);
        arrive(&mut rule, 1500);
        rule.departed(625, Duration(0), Time(0));
        rule.tick(&IDLE);
        assert_eq!(rule.observe("load"), Some(625.0 * 8.0 / 5e6));
        let mut arrivals = LoadBased::new(params(), 10e6);
        arrivals.departed(625, Duration(0), Time(0));
        arrivals.tick(&IDLE);
        assert_eq!(arrivals.observe("load"), Some(0.0));
    }
}
