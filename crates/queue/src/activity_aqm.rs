//! Activity AQM: drops packets of active users early (Menth and Zeitler 2018, section III-C, equation 10).
//!
//! A meter writes an activity into each packet. The rule averages the activities that it accepts. A packet is
//! accepted while the queue is shorter than its threshold, which falls with activity above the average. The
//! rule needs no randomness and no state per user. The delay form uses expected delays instead of queue
//! lengths (section III-C2). Not modelled: the probabilistic AQM of the earlier ABC.
//!
//! Settings (section IV-F): `q_base` some packets below the limit, `q_min` about half the limit, `gamma`
//! about `q_base`.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Value, Values};
use evenflow_base::{Duration, Packet, Stream, Time};

use crate::averager::Averager;
use crate::{LinkFacts, Occupancy, Reason, Rule, Verdict};

/// Memory of the estimate of the departure rate: our choice, the paper leaves it open.
const RATE_MEMORY: Duration = Duration::from_millis(100);

words! {
    /// Which packets enter the average.
    pub enum Over {
        /// Those that are accepted.
        Accepted = "accepted",
        /// All that arrive.
        Received = "received",
    }
}

words! {
    /// The rate that the delay form divides by.
    pub enum RateEstimate {
        /// The link's.
        Link = "link",
        /// A measured one.
        Departures = "departures",
    }
}

/// Its configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Below this nothing is dropped (Q_min). Packets, or seconds in the delay form.
    pub q_min: f64,
    /// The threshold for a packet of average activity (Q_base).
    pub q_base: f64,
    /// How much the threshold falls per unit of activity, that is per factor 2 of rate (γ).
    pub gamma: f64,
    /// Whether the three above are seconds.
    pub in_time: bool,
    /// Memory of the averager (M_AA).
    pub memory: Duration,
    /// Averages what arrives instead of what is accepted: the fault of the earlier design (section III-C3).
    pub average_received: bool,
    /// The delay form divides by a measured departure rate instead of the link's.
    pub measure_rate: bool,
}

impl Params {
    /// From decoded values.
    pub fn new(values: &Values) -> Result<Params, Vec<Problem>> {
        let mut problems = Vec::new();
        let given = Given::read(values);
        let is_time = |value: &Value| matches!(value, Value::Seconds(_));
        let in_time = is_time(&given.q_base);
        let all =
            [(Given::q_min, &given.q_min), (Given::q_base, &given.q_base), (Given::gamma, &given.gamma)];
        for (key, value) in all {
            if is_time(value) != in_time {
                problems
                    .push((key.name, "q_min, q_base and gamma must have one unit: packets or time".into()));
            }
        }
        let p = Params {
            q_min: given.q_min.number().unwrap_or(0.0),
            q_base: given.q_base.number().unwrap_or(0.0),
            gamma: given.gamma.number().unwrap_or(0.0),
            in_time,
            memory: given.memory,
            average_received: given.average_over == Over::Received,
            measure_rate: given.rate_estimate == RateEstimate::Departures,
        };
        if problems.is_empty() && p.q_min > p.q_base {
            problems.push(("q_min", "must not exceed q_base".into()));
        }
        if !in_time && p.q_min < 1.0 {
            // With Q = 0 and a threshold of 0 everything is dropped, and the average only moves on acceptance.
            problems.push((
                "q_min",
                "must be at least 1 packet; with less, an empty queue can drop all packets indefinitely"
                    .into(),
            ));
        }
        if p.measure_rate && !in_time {
            problems.push(("rate_estimate", "is only for q_min, q_base and gamma in units of time".into()));
        }
        if problems.is_empty() { Ok(p) } else { Err(problems) }
    }
}

/// Drop threshold T_drop(A) (equation 10), in the unit of `q_base`.
#[inline]
pub fn drop_threshold(p: &Params, activity: f64, average: f64) -> f64 {
    p.q_min.max(p.q_base - p.gamma * (activity - average))
}

/// The rule and its state.
#[derive(Clone, Debug)]
pub struct ActivityAqm {
    params: Params,
    /// A_avg.
    activities: Averager,
    /// Bits sent over seconds on the wire, for the measured rate.
    departures: Averager,
    /// Threshold applied to the last packet.
    threshold: f64,
}

impl ActivityAqm {
    /// A rule that has seen nothing.
    pub fn new(params: Params) -> ActivityAqm {
        ActivityAqm {
            params,
            activities: Averager::new(params.memory),
            departures: Averager::new(RATE_MEMORY),
            threshold: params.q_base,
        }
    }

    /// A_avg, zero before the first accepted packet.
    #[inline]
    pub fn average(&self) -> f64 {
        self.activities.mean().unwrap_or(0.0)
    }

    /// Expected queueing delay in seconds: backlog over rate. With no waiting byte it is zero whatever the rate.
    fn expected_delay(&self, seen: &Occupancy) -> f64 {
        match self.departures.mean() {
            Some(rate) if self.params.measure_rate => seen.bytes as f64 * 8.0 / rate,
            _ => seen.wait(),
        }
    }
}

impl Rule for ActivityAqm {
    fn build(values: &Values, _link: LinkFacts) -> Result<ActivityAqm, Vec<Problem>> {
        Params::new(values).map(ActivityAqm::new)
    }

    /// A full buffer counts as such even where the AQM would have dropped too.
    #[inline]
    fn admit(&mut self, packet: &mut Packet, now: Time, seen: &Occupancy, _draws: &mut Stream) -> Verdict {
        let p = &self.params;
        let activity = packet.label;
        self.threshold = drop_threshold(p, activity, self.average());
        let queue = if p.in_time { self.expected_delay(seen) } else { f64::from(seen.packets) };
        let verdict = if seen.full {
            Verdict::Drop(Reason::Limit)
        } else if queue >= self.threshold {
            Verdict::Drop(Reason::Activity)
        } else {
            Verdict::Accept
        };
        if verdict == Verdict::Accept || self.params.average_received {
            self.activities.add(activity, now);
        }
        verdict
    }

    /// Whether it measures the departure rate.
    fn watches_departures(&self) -> bool {
        self.params.measure_rate
    }

    fn departed(&mut self, size: u16, busy: Duration, now: Time) {
        self.departures.add_weighted(f64::from(size) * 8.0, busy.seconds(), now);
    }
}

const PAPER: &str = "Menth and Zeitler 2018, Table 1";

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Queue length below which no packet is dropped.
        q_min: Value = PacketsOrDuration, Text("12 packets"), Range::NOT_NEGATIVE => source: PAPER;
        /// Threshold for a packet of average activity.
        q_base: Value = PacketsOrDuration, Text("20 packets"), Range::POSITIVE => source: PAPER;
        /// Decrease of the threshold per unit of activity above the average.
        gamma: Value = PacketsOrDuration, Text("16 packets"), Range::NOT_NEGATIVE => source: PAPER;
        /// Memory of the moving average of activities (M_AA).
        memory: Duration = Duration, Text("0.3 s"), Range::POSITIVE => source: PAPER;
        /// Packets that enter the average: those accepted, or those received as in the earlier design.
        average_over: Over = Over::TYPE, Text("accepted") => source: "Menth and Zeitler 2018, section III-C3";
        /// Rate that turns a backlog into a delay: the link's rate, or the departure rate measured while the
        /// link is busy with 0.1 s of memory. For the delay form only.
        rate_estimate: RateEstimate = RateEstimate::TYPE, Text("link")
            => source: "our choice: the paper leaves the estimate open";
    }
}

observables! {
    ActivityAqm: aqm;
    threshold: "packets or s", "Threshold of the last packet." => aqm.threshold;
    average: "1", "Moving average of accepted activities." => aqm.average();
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "activity-aqm",
    room: Room::Queue,
    traits: Traits { labels: true, ..Mechanism::PLAIN },
    title: "Activity AQM of ABC",
    example: r#"groups.users.path = ["meter", "bottleneck"]
stages.meter = { kind = "activity-meter", per = "user" }

[links.bottleneck.queue]
kind = "activity-aqm"
limit = "24 packets"
q_base = "20 packets""#,
    doc: "Drops a packet when the queue is at least max(q_min, q_base - gamma * (A - A_avg)). A is the \
          activity in the packet, written by a meter. A_avg is the moving average of accepted activities.",
    source: "Menth and Zeitler 2018, section III-C, equations 6 to 10",
    params: Given::PARAMS,
    observables: ActivityAqm::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("activity", "The queue was at least as long as the packet's threshold."),
    ],
    deviations: &[
        Deviation {
            what: "A drop at a full buffer counts as `limit`, also if the packet exceeded its threshold.",
            why: "The paper does not define this; it affects Fig. 10c only.",
        },
        Deviation {
            what: "q_min below one packet is an error.",
            why: "An empty queue could then drop all packets indefinitely.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::{Rate, Stream, ip};

    fn params() -> Params {
        Params {
            q_min: 12.0,
            q_base: 20.0,
            gamma: 16.0,
            in_time: false,
            memory: Duration::from_seconds(0.3),
            average_received: false,
            measure_rate: false,
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

    fn decide(rule: &mut ActivityAqm, label: f64, packets: u32) -> Verdict {
        rule.admit(&mut packet(label), Time(0), &seen(packets), &mut Stream::scripted([]))
    }

    #[test]
    fn equation_10_by_hand() {
        let p = params();
        assert_eq!(drop_threshold(&p, 8.0, 8.0), 20.0);
        assert_eq!(drop_threshold(&p, 8.25, 8.0), 16.0);
        assert_eq!(drop_threshold(&p, 9.0, 8.0), 12.0); // 20 - 16 = 4, but never below q_min
        assert_eq!(drop_threshold(&p, 7.0, 8.0), 36.0); // above the buffer: only the limit counts
    }

    #[test]
    fn a_queue_as_long_as_the_threshold_drops() {
        let mut rule = ActivityAqm::new(params());
        assert_eq!(decide(&mut rule, 8.0, 0), Verdict::Accept);
        assert_eq!(decide(&mut rule, 8.0, 19), Verdict::Accept);
        assert_eq!(decide(&mut rule, 8.0, 20), Verdict::Drop(Reason::Activity));
        assert_eq!(decide(&mut rule, 8.25, 15), Verdict::Accept);
    }

    #[test]
    fn the_threshold_stays_a_real_number() {
        // T = 20 - 16 * 0.38125 = 13.9: an integer-rounded 13 would already drop at 13.
        let mut rule = ActivityAqm::new(params());
        decide(&mut rule, 8.0, 0);
        assert_eq!(
            rule.admit(&mut packet(8.38125), Time(0), &seen(14), &mut Stream::scripted([])),
            Verdict::Drop(Reason::Activity)
        );
        assert_eq!(
            rule.admit(&mut packet(8.38125), Time(0), &seen(13), &mut Stream::scripted([])),
            Verdict::Accept
        );
    }

    #[test]
    fn a_full_buffer_counts_as_limit() {
        let mut rule = ActivityAqm::new(params());
        decide(&mut rule, 8.0, 0);
        assert_eq!(decide(&mut rule, 20.0, 24), Verdict::Drop(Reason::Limit));
    }

    #[test]
    fn only_accepted_packets_move_the_average() {
        let mut rule = ActivityAqm::new(params());
        decide(&mut rule, 8.0, 0);
        decide(&mut rule, 100.0, 23);
        assert_eq!(rule.average(), 8.0);
        let mut earlier = ActivityAqm::new(Params { average_received: true, ..params() });
        decide(&mut earlier, 8.0, 0);
        decide(&mut earlier, 100.0, 23);
        assert_eq!(earlier.average(), 54.0);
    }

    #[test]
    fn the_delay_form_decides_alike_on_a_constant_link() {
        let mut by_packets = ActivityAqm::new(params());
        let mut by_time = ActivityAqm::new(Params {
            q_min: 0.0144,
            q_base: 0.024,
            gamma: 0.0192,
            in_time: true,
            ..params()
        });
        let mut stream = evenflow_base::Stream::new(1, "test");
        for i in 0..10_000 {
            let label = stream.uniform(5.0, 9.0);
            let packets = (stream.uniform(0.0, 25.0)) as u32;
            let now = Time(i * 1_000_000);
            let a = by_packets.admit(&mut packet(label), now, &seen(packets), &mut Stream::scripted([]));
            let b = by_time.admit(&mut packet(label), now, &seen(packets), &mut Stream::scripted([]));
            assert_eq!(a, b, "packet {i}: activity {label}, queue {packets}");
        }
    }

    #[test]
    fn the_delay_form_measures_its_rate_while_busy() {
        let mut rule = ActivityAqm::new(Params {
            q_min: 0.0144,
            q_base: 0.024,
            gamma: 0.0192,
            in_time: true,
            measure_rate: true,
            ..params()
        });
        // 1500 bytes in 2.4 ms are 5 Mbit/s: 10 waiting packets mean 24 ms, not the 12 ms of the nominal rate.
        rule.departed(1500, Duration(2_400_000), Time(2_400_000));
        assert!((rule.expected_delay(&seen(10)) - 0.024).abs() < 1e-12);
    }
}
