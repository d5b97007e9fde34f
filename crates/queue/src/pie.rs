//! PIE, proportional integral controller enhanced (RFC 8033): drops arriving packets with a probability that
//! a controller updates from the queueing delay.
//!
//! Updates are scaled down while the probability is small (auto-tuning). A burst after an idle time is
//! accepted. The delay comes from timestamps (appendix A), from the backlog and the link's rate (section
//! 4.3), or from the backlog and the measured departure rate (section 5.2).
//!
//! Options: ECN (section 5.1), de-randomisation (section 5.4), a cap on updates (section 5.5). Not modelled:
//! turning PIE off (section 5.3) and scaling by packet size.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Stream, Time};

use crate::action::mark;
use crate::rule::last_strike;
use crate::{LinkFacts, Occupancy, Reason, Rule, Verdict};

words! {
    /// How the queueing delay is measured.
    pub enum Latency {
        /// By the waiting time of the last departed packet.
        Timestamps = "timestamps",
        /// By the backlog over the link's rate.
        LinkRate = "link-rate",
        /// By the backlog over the estimated departure rate.
        DepartureRate = "departure-rate",
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Target of the queueing delay (QDELAY_REF).
        target: f64 = Duration, Text("15 ms"), Range::POSITIVE => source: "RFC 8033 appendix A";
        /// Time between updates of the probability (T_UPDATE).
        period: Duration = Duration, Text("15 ms"), Range::at_least(1e-6)
            => source: "RFC 8033 appendix A";
        /// Gain of the distance from the target, in 1/s.
        alpha: f64 = Number, Text("0.125"), Range::NOT_NEGATIVE => source: "RFC 8033 appendix A";
        /// Gain of the change since the last update, in 1/s.
        beta: f64 = Number, Text("1.25"), Range::NOT_NEGATIVE => source: "RFC 8033 appendix A";
        /// Duration of a burst that is accepted after a time without congestion (MAX_BURST).
        max_burst: Duration = Duration, Text("150 ms"), Range::NOT_NEGATIVE => source: "RFC 8033 appendix A";
        /// Mean packet size: no early drop while the backlog is at most twice this.
        mean_packet: u64 = Bytes, Text("1024 B"), Range::PACKET_SIZE
            => source: "RFC 8034 appendix A.1.2 (MEAN_PKTSIZE); RFC 8033 gives no value";
        /// Probability below which ECN-capable packets are marked instead of dropped; 0: never mark
        /// (MAX_ECNTH).
        ecn_threshold: f64 = Number, Text("0.1"), Range::between(0.0, 1.0)
            => source: "RFC 8033 section 5.1";
        /// Source of the delay: timestamps of departing packets, backlog over the link's rate, or backlog
        /// over the measured departure rate.
        latency: Latency = Latency::TYPE, Text("timestamps")
            => source: "RFC 8033 appendix A; section 4.3; section 5.2";
        /// Minimum backlog for a measurement of the departure rate, and its length in bytes (DQ_THRESHOLD).
        /// Divided by 65536 B it is the weight of a measurement.
        rate_threshold: u64 = Bytes, Text("16384 B"), Range::between(1.0, 65_536.0)
            => source: "RFC 8033 section 5.2";
        /// Spread drops: none until the accumulated probability since the last drop reaches 0.85, always from
        /// 8.5.
        derandomize: bool = Flag, Text("false") => source: "RFC 8033 section 5.4";
        /// Limit an update to 0.02 once the probability is at least 0.1.
        cap: bool = Flag, Text("false") => source: "RFC 8033 section 5.5";
    }
}

/// Divisor of an update at probability `p` (auto-tuning, section 4.2).
#[inline]
pub fn scale(p: f64) -> f64 {
    match p {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// The next probability, where the delay is `delay` and was `old` at the update before: section 4.2.
#[inline]
pub fn next_probability(p: &Params, probability: f64, delay: f64, old: f64) -> f64 {
    let mut step = (p.alpha * (delay - p.target) + p.beta * (delay - old)) / scale(probability);
    if p.cap && probability >= CAP_FROM && step > CAP {
        step = CAP;
    }
    let mut next = probability + step;
    if delay == 0.0 && old == 0.0 {
        next *= DECAY;
    }
    next.clamp(0.0, 1.0)
}

/// How much of the probability is left by an update without queue (section 4.2).
const DECAY: f64 = 0.98;
/// The probability from which the cap holds, and the cap (section 5.5).
const CAP_FROM: f64 = 0.1;
const CAP: f64 = 0.02;
/// While the probabilities since the last drop add up to less than the first, nothing is dropped; from the second on,
/// everything (section 5.4).
const CERTAINLY_NOT: f64 = 0.85;
const CERTAINLY: f64 = 8.5;
/// The probability below which a short delay makes PIE stand by (section 4.1).
const STAND_BY: f64 = 0.2;

/// Estimate of the rate of departures: section 5.2, as appendix B makes it.
#[derive(Clone, Copy, Debug, Default)]
struct Departures {
    /// avg_dq_time, seconds for DQ_THRESHOLD bytes; zero: not known.
    average: f64,
    /// measurement_start; absent: not in measurement.
    since: Option<Time>,
    /// dq_count, bytes.
    bytes: u64,
}

impl Departures {
    /// `size` bytes leave at `now`, and `behind` wait behind them.
    fn left(&mut self, threshold: u64, size: u16, behind: u64, now: Time) {
        if let Some(since) = self.since {
            self.bytes += u64::from(size);
            if self.bytes >= threshold {
                let time = now.since(since).seconds();
                self.average = next_average(self.average, time, threshold as f64);
                self.since = None;
            }
        }
        if self.since.is_none() && behind >= threshold {
            self.since = Some(now);
            self.bytes = 0;
        }
    }
}

/// The average time for `threshold` bytes, after `time` for the last of them: section 5.2; the first as in appendix B.
#[inline]
fn next_average(average: f64, time: f64, threshold: f64) -> f64 {
    if average == 0.0 {
        return time;
    }
    let weight = threshold / 65_536.0;
    time * weight + average * (1.0 - weight)
}

/// The rule and its state: the status variables of RFC 8033, appendix A.
#[derive(Clone, Debug)]
pub struct Pie {
    params: Params,
    /// drop_prob.
    pub(crate) probability: f64,
    /// current_qdelay, seconds.
    pub(crate) delay: f64,
    /// qdelay_old, seconds.
    old: f64,
    /// burst_allowance.
    burst: Duration,
    /// accu_prob.
    added_up: f64,
    departures: Departures,
    next: Time,
}

impl Pie {
    /// A rule that has seen nothing.
    pub fn new(params: Params) -> Pie {
        Pie {
            params,
            probability: 0.0,
            delay: 0.0,
            old: 0.0,
            burst: params.max_burst,
            added_up: 0.0,
            departures: Departures::default(),
            next: Time::ZERO + params.period,
        }
    }

    /// The measured departure rate, in bit/s.
    fn departure_rate(&self) -> f64 {
        let (bytes, time) = (self.params.rate_threshold as f64, self.departures.average);
        if time > 0.0 { 8.0 * bytes / time } else { 0.0 }
    }

    /// Whether a further tick changes nothing.
    pub(crate) fn rests(&self) -> bool {
        self.probability == 0.0 && self.delay == 0.0 && self.old == 0.0
    }

    /// A packet found no space.
    pub(crate) fn refused(&mut self) {
        self.added_up = 0.0;
    }

    /// `drop_early`: sections 4.1 and 5.4.
    fn drops_early(&mut self, seen: &Occupancy, draws: &mut Stream) -> bool {
        let p = &self.params;
        if (self.old < p.target / 2.0 && self.probability < STAND_BY) || seen.bytes <= 2 * p.mean_packet {
            return false;
        }
        if p.derandomize {
            if self.probability == 0.0 {
                self.added_up = 0.0;
            }
            self.added_up += self.probability;
            if self.added_up < CERTAINLY_NOT {
                return false;
            }
            if self.added_up >= CERTAINLY {
                return true;
            }
        }
        draws.open01() < self.probability
    }
}

impl Rule for Pie {
    fn build(values: &Values, _link: LinkFacts) -> Result<Pie, Vec<Problem>> {
        Ok(Pie::new(Params::read(values)))
    }

    /// `enque` of appendix A, with the options of section 5.
    fn admit(&mut self, packet: &mut Packet, _now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict {
        let short = self.params.target / 2.0;
        if self.probability == 0.0 && self.delay < short && self.old < short {
            self.burst = self.params.max_burst;
        }
        if seen.full {
            self.refused();
            return Verdict::Drop(Reason::Limit);
        }
        if self.burst > Duration::ZERO || !self.drops_early(seen, draws) {
            return Verdict::Accept;
        }
        self.added_up = 0.0;
        if self.probability < self.params.ecn_threshold && mark(packet) {
            return Verdict::Mark(Reason::Pie);
        }
        Verdict::Drop(Reason::Pie)
    }

    #[inline]
    fn next_tick(&self) -> Time {
        self.next
    }

    /// `calculate_drop_prob` of appendix A.
    fn tick(&mut self, seen: &Occupancy) {
        let p = &self.params;
        match p.latency {
            Latency::Timestamps => {}
            Latency::LinkRate => self.delay = seen.wait(),
            Latency::DepartureRate => {
                self.delay = seen.bytes as f64 * self.departures.average / p.rate_threshold as f64;
            }
        }
        self.probability = next_probability(p, self.probability, self.delay, self.old);
        self.old = self.delay;
        self.burst = Duration(self.burst.0.saturating_sub(p.period.0));
        self.next += p.period;
    }

    fn rest(&mut self, seen: &Occupancy, until: Time) {
        let mut next = self.clone();
        next.tick(seen);
        let state =
            |rule: &Pie| (rule.probability.to_bits(), rule.old.to_bits(), rule.delay.to_bits(), rule.burst);
        if state(&next) == state(self) {
            self.next = last_strike(self.next, self.params.period, until);
        }
    }

    /// Whether it must see packets leave.
    fn sees_dequeue(&self) -> bool {
        self.params.latency != Latency::LinkRate
    }

    /// `deque` of appendices A and B.
    fn on_dequeue(&mut self, packet: &mut Packet, at: Time, now: Time, seen: &Occupancy) -> Verdict {
        let (size, behind) = (packet.size, seen.bytes);
        match self.params.latency {
            Latency::Timestamps if behind == 0 => self.delay = 0.0,
            Latency::Timestamps => self.delay = now.since(at).seconds(),
            Latency::DepartureRate => self.departures.left(self.params.rate_threshold, size, behind, now),
            Latency::LinkRate => {}
        }
        Verdict::Accept
    }

    fn marks(values: &Values) -> bool {
        values.raw(Params::ecn_threshold).is_some_and(|threshold| threshold.bounds().1 > 0.0)
    }
}

observables! {
    Pie: pie;
    probability: "1", "Current probability." => pie.probability;
    delay: "s", "Queueing delay as PIE measures it." => pie.delay;
    burst_allowance: "s", "Remaining duration of the accepted burst." => pie.burst;
    departure_rate: "bit/s",
        "Departure rate measured with latency \"departure-rate\"; 0 before the first measurement."
        => pie.departure_rate();
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "pie",
    room: Room::Queue,
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "Proportional integral controller enhanced (PIE)",
    example: r#"[links.bottleneck.queue]
kind = "pie"
limit = "1000 packets"
target = "15 ms""#,
    doc: "Drops or marks arriving packets with a probability. Each period adds alpha * (delay - target) + \
          beta * (delay - previous delay) to it. Updates are scaled down while the probability is small.",
    source: "RFC 8033",
    params: Params::PARAMS,
    observables: Pie::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("pie", "Picked at random with the current probability."),
    ],
    deviations: &[
        Deviation {
            what: "Updates happen at multiples of the period since the start of the run.",
            why: "RFC 8033 uses a timer with an arbitrary start.",
        },
        Deviation {
            what: "With timestamps, the delay becomes zero when the queue runs empty.",
            why: "Otherwise the delay of the last packet would count during the whole idle time. Linux does \
                  the same.",
        },
        Deviation {
            what: "The probability decays only if the present and the previous delay are zero, also with the \
                   options.",
            why: "Section 4.2 and appendix A; appendix B decays below half of the target.",
        },
        Deviation {
            what: "A measurement of the departure rate lasts until enough bytes have left. The first value \
                   becomes the average.",
            why: "Appendix B; the text of section 5.2 would end it at each packet that does not complete it.",
        },
        Deviation {
            what: "The burst allowance is checked before the accumulated probability.",
            why: "The order of appendix A; with that of appendix B, a drop could follow immediately after \
                  the burst.",
        },
    ],
};

#[cfg(test)]
mod tests;
