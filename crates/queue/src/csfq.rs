//! Core-stateless fair queueing (Stoica, Shenker, Zhang 1998 and 2003), the core of it.
//!
//! Packets carry the rate of their aggregate in their label, written by an edge stage. The link estimates the fair rate
//! α from the rates that arrive (Â) and are accepted (F̂) and drops with probability max(0, 1 - α / label).
//! The default form is that of the authors' ns-2 program, which Menth and Zeitler ported; the paper form is the text's.
//! Both amendments are in: a buffer overflow lowers α by 1 %, at most 25 % a window; a link with a short queue is not
//! congested. `q_min` is Menth and Zeitler's addition (section V-E1). Not here: the edge (stage `csfq-edge`).

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Rate, Stream, Time};

use crate::rule::capacity;
use crate::{LinkFacts, Occupancy, Reason, Rule, Verdict};

/// Overflows that may lower α in one window: 0.99^29 is about 0.75, the cap of 25 %.
const OVERFLOW_BUDGET: i32 = 29;
/// Factor on α at a buffer overflow.
const OVERFLOW_FACTOR: f64 = 0.99;

words! {
    /// Which description of the algorithm is followed.
    pub enum Form {
        /// The authors' ns-2 program.
        Ns2 = "ns2",
        /// The papers.
        Paper = "paper",
    }
}

/// Probability of dropping a packet of an aggregate with rate `label` (1998, equation 2). A label of zero is never dropped.
#[inline]
pub fn drop_probability(alpha: f64, label: f64) -> f64 {
    if label > 0.0 { (1.0 - alpha / label).max(0.0) } else { 0.0 }
}

/// One step of the exponential average of a rate: `bits` in the `gap` seconds since the last step (1998, equation 5).
#[inline]
pub fn rate_step(rate: f64, bits: f64, gap: f64, memory: f64) -> f64 {
    let keep = libm::exp(-gap / memory);
    (1.0 - keep) * bits / gap + keep * rate
}

/// The rule and its state. Rates in bit/s.
#[derive(Clone, Debug)]
pub struct Csfq {
    params: Params,
    /// The link's capacity, in bit/s.
    capacity: f64,
    /// Â.
    arrival_rate: f64,
    /// F̂.
    accepted_rate: f64,
    /// α; zero in the ns-2 form means "drop nothing".
    alpha: f64,
    /// Largest label seen in an uncongested window.
    largest_label: f64,
    congested: bool,
    /// Start of the window.
    start: Time,
    /// Last update of the rates; `None` before the first packet.
    last: Option<Time>,
    arrived_bits: f64,
    accepted_bits: f64,
    budget: i32,
}

impl Csfq {
    /// A rule that has seen nothing.
    pub fn new(params: Params, capacity: f64) -> Csfq {
        Csfq {
            params,
            capacity,
            arrival_rate: 0.0,
            accepted_rate: 0.0,
            alpha: if params.form == Form::Paper { capacity } else { 0.0 },
            largest_label: 0.0,
            congested: true,
            start: Time::ZERO,
            last: None,
            arrived_bits: 0.0,
            accepted_bits: 0.0,
            budget: OVERFLOW_BUDGET,
        }
    }

    /// Updates Â, F̂ and α with one packet. One that then meets a full buffer counts as accepted: it passed the toss.
    fn estimate(&mut self, packet: &Packet, now: Time, seen: &Occupancy, dropped: bool) {
        let bits = f64::from(packet.size) * 8.0;
        let label = packet.label;
        self.arrived_bits += bits;
        if !dropped {
            self.accepted_bits += bits;
        }
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        if now == last {
            return;
        }
        let (gap, memory) = (now.since(last).seconds(), self.params.memory.seconds());
        self.arrival_rate = rate_step(self.arrival_rate, self.arrived_bits, gap, memory);
        self.accepted_rate = rate_step(self.accepted_rate, self.accepted_bits, gap, memory);
        self.last = Some(now);
        self.arrived_bits = 0.0;
        self.accepted_bits = 0.0;
        match self.params.form {
            Form::Ns2 => self.fair_rate_ns2(label, now, seen),
            Form::Paper => self.fair_rate_paper(label, now, seen),
        }
    }

    fn short_queue(&self, seen: &Occupancy) -> bool {
        f64::from(seen.packets) < self.params.q_threshold
    }

    fn window_over(&self, now: Time) -> bool {
        now >= self.start + self.params.interval
    }

    /// α ← α C / F̂, at most C; left alone while F̂ is zero.
    fn scale_alpha(&mut self) {
        if self.accepted_rate > 0.0 {
            self.alpha = (self.alpha * self.capacity / self.accepted_rate).min(self.capacity);
        }
    }

    fn fair_rate_ns2(&mut self, label: f64, now: Time, seen: &Occupancy) {
        let capacity = self.capacity;
        if self.alpha == 0.0 {
            if self.short_queue(seen) {
                self.largest_label = self.largest_label.max(label);
                return;
            }
            self.alpha = if self.largest_label > 0.0 { self.largest_label } else { capacity / 2.0 };
            self.largest_label = 0.0;
        }
        if self.arrival_rate >= capacity {
            if !self.congested {
                self.congested = true;
                self.start = now;
                self.budget = OVERFLOW_BUDGET;
            } else if self.window_over(now) {
                self.start = now;
                self.scale_alpha();
            }
        } else if self.congested {
            self.congested = false;
            self.start = now;
            self.largest_label = 0.0;
        } else if !self.window_over(now) {
            self.largest_label = self.largest_label.max(label);
        } else {
            self.alpha = self.largest_label;
            self.start = now;
            if self.short_queue(seen) {
                self.alpha = 0.0;
            } else {
                self.largest_label = 0.0;
            }
        }
    }

    fn fair_rate_paper(&mut self, label: f64, now: Time, seen: &Occupancy) {
        if self.arrival_rate >= self.capacity {
            if !self.congested {
                if self.short_queue(seen) {
                    return; // the second amendment
                }
                self.congested = true;
                self.start = now;
                self.budget = OVERFLOW_BUDGET;
            } else if self.window_over(now) {
                self.start = now;
                self.budget = OVERFLOW_BUDGET;
                self.scale_alpha();
            }
        } else if self.congested {
            self.congested = false;
            self.start = now;
            self.largest_label = label;
        } else if !self.window_over(now) {
            self.largest_label = self.largest_label.max(label);
        } else {
            self.alpha = self.largest_label.max(label);
            self.start = now;
            self.largest_label = 0.0;
        }
    }
}

impl Rule for Csfq {
    fn build(values: &Values, link: LinkFacts) -> Result<Csfq, Vec<Problem>> {
        let params = Params::read(values);
        Ok(Csfq::new(params, capacity(params.capacity, link.rate)?.0))
    }

    fn admit(&mut self, packet: &mut Packet, now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict {
        let tosses = self.alpha > 0.0 && f64::from(seen.packets) >= self.params.q_min;
        let probability = if tosses { drop_probability(self.alpha, packet.label) } else { 0.0 };
        let dropped = probability > 0.0 && draws.open01() < probability;
        self.estimate(packet, now, seen, dropped);
        if dropped {
            return Verdict::Drop(Reason::Csfq);
        }
        if self.alpha > 0.0 {
            packet.label = packet.label.min(self.alpha);
        }
        if seen.full {
            if self.budget >= 0 {
                self.alpha *= OVERFLOW_FACTOR;
            }
            self.budget -= 1;
            return Verdict::Drop(Reason::Limit);
        }
        Verdict::Accept
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Params {
        /// Averaging constant of the aggregate rates (K_alpha).
        memory: Duration = Duration, Text("100 ms"), Range::POSITIVE
            => source: "Menth and Zeitler 2018, section V-A";
        /// Window of the fair-rate estimate (K_c).
        interval: Duration = Duration, Text("100 ms"), Range::POSITIVE
            => source: "Menth and Zeitler 2018, section V-A";
        /// Assumed link capacity.
        capacity: Option<Rate> = Rate, Absent("the link's rate at the start"), Range::POSITIVE
            => source: "Stoica, Shenker, Zhang 1998";
        /// Queue length below which the link counts as uncongested (second amendment).
        q_threshold: f64 = Packets, Text("12 packets"), Range::NOT_NEGATIVE
            => source: "Stoica, Shenker, Zhang 2003: half the buffer (24 packets in Menth and Zeitler 2018)";
        /// Queue length below which no packet is dropped at random.
        q_min: f64 = Packets, Text("0 packets"), Range::NOT_NEGATIVE
            => source: "Menth and Zeitler 2018, section V-E1";
        /// Form of the algorithm: the authors' ns-2 program, or the paper.
        form: Form = Form::TYPE, Text("ns2")
            => source: "Menth and Zeitler 2018, section V-A: ported from the authors' ns-2 program";
    }
}

observables! {
    Csfq: csfq;
    alpha: "bit/s", "Estimated fair rate; 0 means no drops (ns-2 form)." => csfq.alpha;
    arrival_rate: "bit/s", "Estimated arrival rate." => csfq.arrival_rate;
    accepted_rate: "bit/s", "Estimated rate of accepted packets." => csfq.accepted_rate;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "csfq",
    room: Room::Queue,
    traits: Traits { labels: true, draws: "always", ..Mechanism::PLAIN },
    title: "Core-stateless fair queueing (CSFQ)",
    example: r#"groups.users.path = ["edge", "bottleneck"]
stages.edge = { kind = "csfq-edge", per = "user" }

[links.bottleneck.queue]
kind = "csfq"
limit = "24 packets""#,
    doc: "Drops a packet with probability max(0, 1 - alpha / label). The label is the rate of its aggregate, \
          measured at the edge. Alpha is the fair rate that this link estimates.",
    source: "Stoica, Shenker, Zhang, SIGCOMM 1998 and IEEE/ACM ToN 2003; parameters: Menth and Zeitler 2018, section V-A",
    params: Params::PARAMS,
    observables: Csfq::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("csfq", "The label exceeded the fair rate; dropped at random."),
    ],
    deviations: &[Deviation {
        what: "q_threshold is half the buffer. The public ns-2 program has a quarter.",
        why: "The papers use half. With a quarter of 24 packets the link idles more.",
    }],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::{Stream, ip};

    fn params(form: Form) -> Params {
        Params {
            capacity: None,
            memory: Duration::from_millis(100),
            interval: Duration::from_millis(100),
            q_threshold: 12.0,
            q_min: 0.0,
            form,
        }
    }

    fn packet(label: f64) -> Packet {
        Packet { label, ip: ip::DATAGRAM, ..Packet::new(0, 1500, 1470) }
    }

    fn seen(packets: u32) -> Occupancy {
        Occupancy {
            packets,
            bytes: u64::from(packets) * 1500,
            rate: Some(Rate(10e6)),
            full: packets >= 24,
            idle_since: None,
        }
    }

    #[test]
    fn the_drop_probability_by_hand() {
        assert_eq!(drop_probability(5e6, 10e6), 0.5);
        assert_eq!(drop_probability(5e6, 4e6), 0.0);
        assert_eq!(drop_probability(5e6, 0.0), 0.0);
    }

    #[test]
    fn a_rate_step_by_hand() {
        // 12000 bits in one memory of 0.1 s: (1 - 1/e) * 120000 + 50000/e.
        let expected = (1.0 - libm::exp(-1.0)) * 120_000.0 + 50_000.0 * libm::exp(-1.0);
        assert!((rate_step(50_000.0, 12_000.0, 0.1, 0.1) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_steady_overload_finds_the_fair_rate() {
        // Two aggregates of 10 Mbit/s on 10 Mbit/s: alpha must settle near 5 Mbit/s.
        for form in [Form::Ns2, Form::Paper] {
            let mut rule = Csfq::new(params(form), 10e6);
            let mut stream = Stream::new(1, "draws");
            let mut accepted = 0;
            for i in 0..40_000u64 {
                let now = Time(i * 600_000);
                let verdict = rule.admit(&mut packet(10e6), now, &seen(15), &mut stream);
                accepted += u32::from(i >= 20_000 && verdict == Verdict::Accept);
            }
            let alpha = rule.observe("alpha").unwrap();
            assert!((alpha / 5e6 - 1.0).abs() < 0.1, "{form:?}: {alpha}");
            assert!((f64::from(accepted) / 10_000.0 - 1.0).abs() < 0.05, "{form:?}: {accepted}");
        }
    }

    #[test]
    fn overflow_lowers_alpha_by_one_percent_and_a_quarter_at_most() {
        let mut rule = Csfq::new(params(Form::Paper), 10e6);
        let mut stream = Stream::new(1, "draws");
        for _ in 0..100 {
            rule.admit(&mut packet(1e6), Time(5), &seen(24), &mut stream);
        }
        // The program tests before it counts down: 30 decrements, 0.99^30.
        let expected = 10e6 * (0..30).fold(1.0, |a, _| a * OVERFLOW_FACTOR);
        assert!((rule.observe("alpha").unwrap() - expected).abs() < 1.0);
    }

    #[test]
    fn an_empty_link_drops_nothing_at_first() {
        let mut rule = Csfq::new(params(Form::Ns2), 10e6);
        let mut stream = Stream::new(1, "draws");
        for i in 0..1000 {
            assert_eq!(
                rule.admit(&mut packet(20e6), Time(i * 600_000), &seen(0), &mut stream),
                Verdict::Accept
            );
        }
    }

    #[test]
    fn q_min_suppresses_the_toss() {
        let mut rule = Csfq::new(Params { q_min: 12.0, ..params(Form::Paper) }, 10e6);
        let mut stream = Stream::new(1, "draws");
        for i in 0..5000 {
            let verdict = rule.admit(&mut packet(1e9), Time(i * 600_000), &seen(11), &mut stream);
            assert_eq!(verdict, Verdict::Accept);
        }
    }
}
