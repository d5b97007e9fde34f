//! REM, random exponential marking (Athuraliya, Low, Li and Yin, IEEE Network 2001): marks with a probability
//! that depends on a price. Along a path the prices add up.
//!
//! Each period: P ← max(0, P + γ (a (b - b\*) + x - c)). A packet is marked with probability 1 - φ^(-P). In
//! equilibrium the queue is at its target b\* and the load equals the capacity, for any number of users.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Rate, Stream, Time};

use crate::action::ACTION;
use crate::rule::{capacity, last_strike};
use crate::{Action, LinkFacts, Occupancy, Reason, Rule, Verdict};

/// The next price, where `backlog` packets wait and `arrived` have come in the period.
#[inline]
pub fn next_price(p: &Params, capacity: f64, price: f64, backlog: f64, arrived: f64) -> f64 {
    (price + p.gain * (p.backlog_weight * (backlog - p.target) + arrived - capacity)).max(0.0)
}

/// The probability of a mark at a price.
#[inline]
pub fn probability(base: f64, price: f64) -> f64 {
    1.0 - libm::pow(base, -price)
}

/// The rule and its state.
#[derive(Clone, Debug)]
pub struct Rem {
    params: Params,
    /// c: packets of mean size that the link carries in a period.
    capacity: f64,
    price: f64,
    probability: f64,
    /// Bytes that have arrived in this period.
    arrived: u64,
    next: Time,
}

impl Rem {
    /// A rule that has seen nothing.
    pub fn new(params: Params, rate: Rate) -> Rem {
        let capacity = rate.0 * params.period.seconds() / (8.0 * params.mean_packet);
        Rem { params, capacity, price: 0.0, probability: 0.0, arrived: 0, next: Time::ZERO + params.period }
    }
}

impl Rule for Rem {
    fn build(values: &Values, link: LinkFacts) -> Result<Rem, Vec<Problem>> {
        let params = Params::read(values);
        Ok(Rem::new(params, capacity(params.capacity, link.rate)?))
    }

    /// One number is drawn for every packet.
    #[inline]
    fn admit(&mut self, packet: &mut Packet, _now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict {
        self.arrived += u64::from(packet.size);
        let picked = draws.open01() <= self.probability;
        match (seen.full, picked) {
            (true, _) => Verdict::Drop(Reason::Limit),
            (false, true) => self.params.action.apply(packet, Reason::Price),
            (false, false) => Verdict::Accept,
        }
    }

    #[inline]
    fn next_tick(&self) -> Time {
        self.next
    }

    fn tick(&mut self, seen: &Occupancy) {
        let p = &self.params;
        let arrived = self.arrived as f64 / p.mean_packet;
        self.price = next_price(p, self.capacity, self.price, f64::from(seen.packets), arrived);
        self.probability = probability(p.base, self.price);
        self.arrived = 0;
        self.next += p.period;
    }

    fn rest(&mut self, seen: &Occupancy, until: Time) {
        let mut next = self.clone();
        next.tick(seen);
        let state = |rule: &Rem| (rule.price.to_bits(), rule.probability.to_bits(), rule.arrived);
        if state(&next) == state(self) {
            self.next = last_strike(self.next, self.params.period, until);
        }
    }
}

const PAPER: &str = "Athuraliya et al. 2001";

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Params {
        /// Gain of the price (gamma).
        gain: f64 = Number, Text("0.001"), Range::POSITIVE => source: PAPER;
        /// Weight of a packet in the queue, compared with a packet of excess arrivals in the period (alpha).
        backlog_weight: f64 = Number, Text("0.1"), Range::NOT_NEGATIVE => source: PAPER;
        /// Queue length in equilibrium (b*).
        target: f64 = Packets, Text("20 packets"), Range::NOT_NEGATIVE => source: PAPER;
        /// Base of the exponential that turns prices into probabilities (phi).
        base: f64 = Number, Text("1.001"), Range { min: 1.0, closed: false, max: f64::INFINITY } => source: PAPER;
        /// Time between updates of the price.
        period: Duration = Duration, Text("2 ms"), Range::at_least(1e-6)
            => source: "our choice: a few packet times on links for which the defaults were meant";
        /// Packet size for counting load and capacity. It does not affect the equilibrium.
        mean_packet: f64 = Bytes, Text("1000 B"), Range::PACKET_SIZE => source: "our choice: ns-2's packets";
        /// See [`ACTION`].
        action: Action = ACTION;
        /// Assumed link capacity.
        capacity: Option<Rate> = Rate, Absent("the link's rate at the start"), Range::POSITIVE => source: PAPER;
    }
}

observables! {
    Rem: rem;
    price: "1", "The price." => rem.price;
    probability: "1", "Current probability." => rem.probability;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "rem",
    room: Room::Queue,
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "Random exponential marking (REM)",
    example: r#"[links.bottleneck.queue]
kind = "rem"
limit = "100 packets"
target = "20 packets"
action = "mark""#,
    doc: "Picks each packet with probability 1 - base^(-price). The price rises while the queue is above its \
          target or arrivals exceed the capacity. Otherwise it falls.",
    source: "Athuraliya, Low, Li and Yin, IEEE Network 2001",
    params: Params::PARAMS,
    observables: Rem::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("price", "Picked with the probability of the price."),
    ],
    deviations: &[Deviation {
        what: "Load and capacity are in bytes over a mean packet size; the backlog is in packets.",
        why: "The paper has packets of one size.",
    }],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::{Ecn, Stream};

    /// 10 Mbit/s carry 2.5 packets of 1000 bytes in 2 ms.
    fn params() -> Params {
        Params {
            gain: 0.001,
            backlog_weight: 0.1,
            target: 20.0,
            base: 1.001,
            period: Duration::from_millis(2),
            capacity: None,
            mean_packet: 1000.0,
            action: Action::MarkEverything,
        }
    }

    fn seen(packets: u32) -> Occupancy {
        Occupancy {
            packets,
            bytes: u64::from(packets) * 1000,
            rate: Some(Rate(10e6)),
            full: false,
            idle_since: None,
        }
    }

    #[test]
    fn the_price_by_hand() {
        // 0.001 * (0.1 * (50 - 20) + 4 - 2.5) = 0.0045.
        assert!((next_price(&params(), 2.5, 0.0, 50.0, 4.0) - 0.0045).abs() < 1e-15);
        assert_eq!(next_price(&params(), 2.5, 0.001, 0.0, 0.0), 0.0); // 0.001 - 0.0045, not below zero
        assert_eq!(next_price(&params(), 2.5, 7.0, 20.0, 2.5), 7.0); // at rest
    }

    #[test]
    fn the_probability_by_hand() {
        assert_eq!(probability(1.001, 0.0), 0.0);
        // 1.001^-1000 = 0.36806...
        assert!((probability(1.001, 1000.0) - (1.0 - 0.368_063_304_288_817_56)).abs() < 1e-9);
        // Two links of prices 3 and 4 mark as one of price 7.
        let passes = (1.0 - probability(1.2, 3.0)) * (1.0 - probability(1.2, 4.0));
        assert!((1.0 - passes - probability(1.2, 7.0)).abs() < 1e-12);
    }

    #[test]
    fn a_period_counts_its_own_arrivals() {
        let mut rule = Rem::new(params(), Rate(10e6));
        let mut stream = Stream::new(1, "draws");
        let mut packet = Packet::new(0, 1000, 1000).with_ecn(Ecn::Capable0);
        for _ in 0..4 {
            rule.admit(&mut packet, Time(0), &seen(0), &mut stream);
        }
        assert_eq!(rule.next_tick(), Time(2_000_000));
        rule.tick(&seen(50));
        assert!((rule.observe("price").unwrap() - 0.0045).abs() < 1e-15);
        assert_eq!(rule.next_tick(), Time(4_000_000));
        rule.tick(&seen(20)); // nothing arrived: 2.5 packets too few
        assert!((rule.observe("price").unwrap() - 0.0020).abs() < 1e-15);
    }
}
