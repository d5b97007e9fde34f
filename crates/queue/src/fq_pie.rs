//! FQ-PIE (Linux sch_fq_pie, draft-tahiliani-tsvwg-fq-pie): flows are hashed to queues, each with its own
//! PIE (RFC 8033). A deficit round robin serves them and prefers new flows.
//!
//! A full buffer drops the arriving packet. Not modelled: the timer that updates 2048 flows per tick only,
//! and the estimate of the departure rate, which is off by default in Linux.

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Ecn, Packet, Reason, Stream, Time, Verdict};

use crate::action::mark;
use crate::flow_queues::{Flow, FlowQueues};
use crate::held::{
    COLLISIONS, DRAW, Dropped, FlowTable, HashStats, Kind, NEW_FLOWS, Queued, Schedule, Sent, Served,
};
use crate::pie::{self, Latency, Pie};
use crate::rule::{Occupancy, Rule};

/// Default limit in packets.
pub const LIMIT: f64 = 10_240.0;

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Queues to which flows are hashed.
        flows: usize = Integer, Text("1024"), Range::between(1.0, 65_536.0) => source: "Linux, tc-fq_pie (flows)";
        /// Bytes per round.
        quantum: i64 = Bytes, Text("1514 B"), Range::FROM_ONE
            => source: "Linux, tc-fq_pie (quantum): the MTU and Ethernet's header";
        /// Target of the queueing delay of each queue.
        target: Duration = Duration, Text("15 ms"), Range::POSITIVE => source: "Linux, tc-fq_pie (target)";
        /// Time between updates of the probabilities.
        period: Duration = Duration, Text("15 ms"), Range::at_least(1e-6) => source: "Linux, tc-fq_pie (tupdate)";
        /// Gain of the distance from the target, in 1/s.
        alpha: f64 = Number, Text("0.125"), Range::NOT_NEGATIVE => source: "RFC 8033 section 4.2";
        /// Gain of the change since the last update, in 1/s.
        beta: f64 = Number, Text("1.25"), Range::NOT_NEGATIVE => source: "RFC 8033 section 4.2";
        /// Duration of a burst that each queue accepts after a time without congestion.
        max_burst: Duration = Duration, Text("150 ms"), Range::NOT_NEGATIVE => source: "RFC 8033 section 4.4";
        /// No early drop while the backlog of the queue is at most twice this.
        mean_packet: u64 = Bytes, Text("1514 B"), Range::PACKET_SIZE => source: "Linux, sch_pie: the MTU";
        /// Mark ECN-capable packets instead of dropping them, up to `ecn_threshold`.
        ecn: bool = Flag, Text("false") => source: "Linux, tc-fq_pie (ecn)";
        /// Probability up to which ECN-capable packets are marked instead of dropped.
        ecn_threshold: f64 = Number, Text("0.1"), Range::between(0.0, 1.0)
            => source: "Linux, tc-fq_pie (ecn_prob); RFC 8033 section 5.1";
        /// ECT(1) packets pass PIE and are marked above this queueing delay.
        ce_threshold: Option<Duration> = Duration, Absent("off"), Range::NOT_NEGATIVE => source: "ns-3, FqPieQueueDisc (UseL4s)";
        /// Maximum backlog of all queues in bytes, in addition to the limit.
        memory_limit: Option<u64> = Bytes, Absent("off"), Range::FROM_ONE => source: "Linux, tc-fq_pie (32 MB there)";
    }
}

impl Params {
    /// Of the PIE of a queue.
    fn pie(&self) -> pie::Params {
        pie::Params {
            target: self.target.seconds(),
            period: self.period,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            mean_packet: self.mean_packet,
            ecn_threshold: if self.ecn { self.ecn_threshold } else { 0.0 },
            latency: Latency::Timestamps,
            rate_threshold: 16_384,
            derandomize: true,
            cap: true,
        }
    }
}

/// The AQM of a queue.
#[derive(Clone, Debug)]
struct Aqm {
    pie: Pie,
    /// Whether it is in the list of queues to update.
    awake: bool,
}

/// The backlog of a queue, for its PIE.
fn seen(flow: &Flow<Aqm>) -> Occupancy {
    let packets = flow.packets.len() as u32;
    Occupancy { packets, bytes: flow.bytes, rate: None, full: false, idle_since: None }
}

/// The queues.
#[derive(Clone, Debug)]
pub struct FqPie {
    params: Params,
    queues: FlowQueues<Aqm>,
    /// Queues whose PIE an update may change.
    awake: Vec<u32>,
    next: Time,
    draws: Stream,
    /// The queue of the last arrival.
    judged: usize,
    /// A series records the random numbers of decisions.
    watched: bool,
    /// That of the last decision, if it drew one.
    drawn: Option<f64>,
}

impl FqPie {
    /// Empty ones; the hash's salt is the first number of `hash`.
    pub fn new(params: Params, hash: Stream, draws: Stream) -> FqPie {
        let aqm = Aqm { pie: Pie::new(params.pie()), awake: false };
        let queues = FlowQueues::new(params.flows, params.quantum, aqm, hash);
        let awake = Vec::with_capacity(params.flows);
        let next = Time::ZERO + params.period;
        FqPie { params, queues, awake, next, draws, judged: 0, watched: false, drawn: None }
    }

    /// The queue of the last arrival.
    fn last(&self) -> &Flow<Aqm> {
        &self.queues.flows[self.judged]
    }

    /// The highest probability of a queue with packets.
    fn probability(&self) -> f64 {
        let waiting = self.queues.flows.iter().filter(|flow| !flow.packets.is_empty());
        waiting.map(|flow| flow.aqm.pie.probability).fold(0.0, f64::max)
    }

    /// Whether its packets are not for PIE.
    fn is_scalable(&self, packet: &Packet) -> bool {
        self.params.ce_threshold.is_some() && packet.ecn() == Ecn::Capable1
    }
}

impl Schedule for FqPie {
    fn place(&mut self, key: usize, _packet: &Packet, _flows: &dyn FlowTable, _now: Time) -> usize {
        self.queues.place(key)
    }

    fn admit(&mut self, queue: usize, packet: &mut Packet, now: Time) -> Verdict {
        self.judged = queue;
        if self.is_scalable(packet) {
            return Verdict::Accept;
        }
        let before = self.watched.then(|| self.draws.clone());
        let flow = &mut self.queues.flows[queue];
        let seen = seen(flow);
        let verdict = flow.aqm.pie.admit(packet, now, &seen, &mut self.draws);
        if let Some(mut before) = before {
            self.drawn = (before != self.draws).then(|| before.open01());
        }
        verdict
    }

    fn watch(&mut self) {
        self.watched = true;
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.queues.push(queue, item);
        let aqm = &mut self.queues.flows[queue].aqm;
        if !aqm.awake {
            aqm.awake = true;
            self.awake.push(queue as u32);
        }
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Dropped>) -> Option<Sent> {
        let threshold = self.params.ce_threshold;
        self.queues.pop(|flow, total| {
            let mut item = flow.pop(total)?;
            let seen = seen(flow);
            flow.aqm.pie.on_dequeue(&mut item.packet, item.at, now, &seen);
            let late = threshold.is_some_and(|threshold| now.since(item.at) > threshold);
            let marked = late && item.packet.ecn() == Ecn::Capable1 && mark(&mut item.packet);
            Some((item, marked.then_some(Reason::CeThreshold)))
        })
    }

    fn next_tick(&self) -> Time {
        self.next
    }

    fn tick(&mut self, now: Time) {
        let flows = &mut self.queues.flows;
        self.awake.retain(|&queue| {
            let flow = &mut flows[queue as usize];
            let seen = seen(flow);
            flow.aqm.pie.tick(&seen);
            flow.aqm.awake = !(flow.packets.is_empty() && flow.aqm.pie.rests());
            flow.aqm.awake
        });
        self.next = now + self.params.period;
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn is_full(&self, _queue: usize, bytes: u64, size: u16) -> bool {
        self.params.memory_limit.is_some_and(|limit| bytes + u64::from(size) > limit)
    }

    fn turned_away(&mut self, queue: usize, _reason: Reason) {
        self.queues.flows[queue].aqm.pie.refused();
    }

    fn heap_bytes(&self) -> u64 {
        self.queues.heap_bytes() + (self.awake.capacity() * size_of::<u32>()) as u64
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.for_each(show);
    }

    fn hash_stats(&self) -> Option<&HashStats> {
        Some(&self.queues.stats)
    }
}

impl Kind for FqPie {
    fn build(values: &Values, served: &Served) -> Result<FqPie, Vec<Problem>> {
        Ok(FqPie::new(Params::read(values), served.hash.clone(), served.draws.clone()))
    }

    fn marks(values: &Values) -> bool {
        values.at(Params::ecn) == Some(true) || values.raw(Params::ce_threshold).is_some()
    }

    fn check(values: &Values) -> Vec<Problem> {
        let params = Params::read(values);
        let small = params.memory_limit.is_some_and(|limit| limit < params.mean_packet);
        let why = format!("must hold a packet of mean_packet; give at least {} B", params.mean_packet);
        Vec::from_iter(small.then_some((Params::memory_limit.name, why)))
    }
}

observables! {
    FqPie: fq, _now;
    active_queues: "1", "Active queues, new or old: with packets, or empty and not yet removed by the scheduler."
        => fq.queues.active();
    new_queues: "1", "Active new queues, which are served first." => fq.queues.new.len();
    probability: "1", "Highest probability of a queue with packets." => fq.probability();
    new_flows: "1", NEW_FLOWS => fq.queues.stats.new_flows;
    collisions: "packets", COLLISIONS => fq.queues.stats.collisions;
    flow_probability: "1", "Probability of the queue of the last arrival." => fq.last().aqm.pie.probability;
    flow_delay: "s", "Queueing delay that its PIE knows." => fq.last().aqm.pie.delay;
    flow_packets: "packets", "Packets in it." => fq.last().packets.len();
    ..DRAW => fq.drawn;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "fq-pie",
    room: Room::Queue,
    traits: Traits {
        hashes: true,
        in_turn: true,
        owns_queues: true,
        default_limit: Some(LIMIT),
        draws: "always",
        ..Mechanism::PLAIN
    },
    title: "Flow queue PIE (FQ-PIE)",
    example: r#"[links.bottleneck.queue]
kind = "fq-pie"
flows = 1024
target = "15 ms"
ecn = true"#,
    doc: "Hashes flows to queues and serves them by deficit round robin, new flows first. Each queue has its own PIE, which drops or \
          marks at arrival. FQ-PIE is rule and scheduler in one. A full buffer drops the arriving packet.",
    source: "Linux, sch_fq_pie; RFC 8033",
    params: Params::PARAMS,
    observables: FqPie::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The buffer was full."),
        Counter::new(Reason::Pie.name(), "Picked at random with the probability of its queue."),
        Counter::new("ce_threshold", "Marked: the packet's queueing delay exceeded ce_threshold."),
    ],
    deviations: &[
        Deviation {
            what: "PIE is that of RFC 8033 with its options of sections 5.4 and 5.5.",
            why: "sch_fq_pie also adds 2 % while the delay exceeds 250 ms, and subtracts 1/64 instead of multiplying by 0.98.",
        },
        Deviation {
            what: "All queues are updated at the same instant.",
            why: "Linux spreads updates over ticks with more than 2048 queues.",
        },
        Deviation {
            what: "The hash is a salted 64-bit hash of the flow's name.",
            why: "Flows have names instead of addresses. Only uniformity and salt matter.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(params: impl FnOnce(&mut Params)) -> FqPie {
        let mut given = Params {
            flows: 4,
            quantum: 1514,
            target: Duration::from_millis(15),
            period: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            mean_packet: 1514,
            ecn: false,
            ecn_threshold: 0.1,
            ce_threshold: None,
            memory_limit: None,
        };
        params(&mut given);
        FqPie::new(given, Stream::new(1, "hash"), Stream::new(1, "draws"))
    }

    fn offer(q: &mut FqPie, queue: usize, mut packet: Packet, now: Time) -> Verdict {
        while q.next_tick() <= now {
            let at = q.next_tick();
            q.tick(at);
        }
        let verdict = q.admit(queue, &mut packet, now);
        if !matches!(verdict, Verdict::Drop(_)) {
            q.enqueue(queue, Queued { packet, at: now });
        }
        verdict
    }

    const MS: u64 = 1_000_000;

    /// ns-3's test of FQ-PIE with L4S: a packet of each kind every 0.5 ms, one is served every 1 ms. 66
    /// marks, no drop.
    #[test]
    fn ns3_vector_of_scalable_packets() {
        let mut q = queues(|p| {
            p.ecn = true;
            p.ce_threshold = Some(Duration::from_millis(2));
        });
        let (mut marks, mut dropped) = (0, Vec::new());
        let packet = |ecn| {
            let mut packet = Packet::new(0, 1500, 1500);
            packet.set_ecn(ecn);
            packet
        };
        for n in 0..280u64 {
            let now = Time(n * MS / 2);
            if n < 70 {
                assert_eq!(offer(&mut q, 0, packet(Ecn::Capable1), now), Verdict::Accept);
            } else if n < 140 {
                assert_eq!(offer(&mut q, 1, packet(Ecn::Capable0), now), Verdict::Accept);
            }
            if n % 2 == 1 {
                marks += u32::from(q.dequeue(now, &mut dropped).is_some_and(|(_, reason)| reason.is_some()));
            }
        }
        assert!(dropped.is_empty());
        assert_eq!(marks, 66);
    }

    /// A queue at rest is not updated. Its state is that of one with an update every period.
    #[test]
    fn a_queue_at_rest_needs_no_update() {
        let mut q = queues(|_| ());
        let mut all = Pie::new(q.params.pie());
        let mut draws = Stream::new(1, "draws");
        let mut held: std::collections::VecDeque<Time> = Default::default();
        let mut bytes = 0;
        let occupancy = |bytes| Occupancy { packets: 0, bytes, rate: None, full: false, idle_since: None };
        let (mut tick, mut drops) = (15 * MS, 0);
        for n in 0..12_000u64 {
            let now = Time(n * MS);
            while tick <= now.0 {
                all.tick(&occupancy(bytes));
                q.tick(Time(tick));
                tick += 15 * MS;
            }
            // Overload for two seconds, silence for four.
            if (n / 2000) % 3 == 0 {
                let mut packet = Packet::new(0, 1500, 1500);
                let expected = all.admit(&mut packet, now, &occupancy(bytes), &mut draws);
                assert_eq!(offer(&mut q, 2, Packet::new(0, 1500, 1500), now), expected, "{n}");
                if expected == Verdict::Accept {
                    bytes += 1500;
                    held.push_back(now);
                } else {
                    drops += 1;
                }
            }
            if n % 2 == 0
                && let Some(at) = held.pop_front()
            {
                bytes -= 1500;
                all.on_dequeue(&mut Packet::new(0, 1500, 1500), at, now, &occupancy(bytes));
                assert!(q.dequeue(now, &mut Vec::new()).is_some());
            }
        }
        assert!(drops > 100, "{drops}");
        assert!(q.awake.is_empty() && held.is_empty());
    }

    #[test]
    fn a_burst_passes_and_each_queue_has_its_own_allowance() {
        let mut q = queues(|p| p.max_burst = Duration::from_millis(60));
        let mut first = [None, None];
        // Queue 0 is congested from the start, queue 1 from 3 s on.
        for n in 0..8000u64 {
            let now = Time(n * MS / 2);
            for queue in 0..2 {
                let begins = [0, 6000][queue];
                if n >= begins
                    && matches!(offer(&mut q, queue, Packet::new(0, 1500, 1500), now), Verdict::Drop(_))
                {
                    first[queue].get_or_insert(n - begins);
                }
            }
            if n % 4 == 0 {
                q.dequeue(now, &mut Vec::new());
            }
        }
        for n in first {
            let n = n.expect("it drops");
            assert!(n >= 120, "no drop within 60 ms: {n}");
        }
    }
}
