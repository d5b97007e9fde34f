//! DualPI2, the coupled dual queue of L4S (RFC 9332, appendix A).
//!
//! Packets with ECT(1) or CE wait in the L queue, all others in the C queue. One PI controller sets a base probability p'. The C
//! queue drops or marks with p'^2. The L queue marks with k p', or by a threshold. Flows of both kinds then get similar rates.
//!
//! `form = "linux"` follows sch_dualpi2 of Linux 6.17. Omitted: classifiers other than ECN, and the splitting of GSO packets.

use std::collections::VecDeque;

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Ecn, Heap, Packet, Reason, Stream, Time, Verdict};

use crate::action::mark;
use crate::held::{DRAW, Dropped, FlowTable, Kind, Note, Notes, Queued, Schedule, Sent, Served, note};

/// Packets that may wait where the scenario has no limit: that of Linux. `buffer` is the RFC's limit.
pub const LIMIT: f64 = 10_000.0;

words! {
    /// The document that is followed.
    pub enum Form {
        /// RFC 9332, appendix A.
        Rfc = "rfc9332",
        /// sch_dualpi2 of Linux 6.17.
        Linux = "linux",
    }
}

words! {
    /// How the L queue marks by its own delay.
    pub enum Native {
        /// With a probability that rises from `min_threshold` on.
        Ramp = "ramp",
        /// Always above `step`.
        Step = "step",
    }
}

words! {
    /// Which queue is served.
    pub enum Turn {
        /// Weighted round robin by bytes.
        Wrr = "wrr",
        /// The queue whose head has waited longer, with a head start for L.
        Fifo = "time-shifted-fifo",
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Given {
        /// The document whose details and defaults apply.
        form: Form = Form::TYPE, Text("rfc9332") => source: "RFC 9332 appendix A; Linux 6.17, sch_dualpi2";
        /// Queueing delay at which p' is constant.
        target: Duration = Duration, Text("15 ms"), Range::POSITIVE => source: "RFC 9332 appendix A.1 (target)";
        /// Largest round-trip time for which the gains are stable.
        rtt_max: Duration = Duration, Text("100 ms"), Range::POSITIVE => source: "RFC 9332 appendix A.1 (RTT_max)";
        /// Time between two updates of p'.
        period: Option<Duration> = Duration, Absent("min(target, rtt_max / 3); 16 ms in form linux"), Range::at_least(1e-6)
            => source: "RFC 9332 appendix A.1 (Tupdate); Linux 6.17";
        /// Integral gain, in Hz.
        alpha: Option<f64> = Number, Absent("0.1 period / rtt_max^2; 41/256 in form linux"), Range::NOT_NEGATIVE
            => source: "RFC 9332 appendix A.1 (alpha); Linux 6.17";
        /// Proportional gain, in Hz.
        beta: Option<f64> = Number, Absent("0.3 / rtt_max; 819/256 in form linux"), Range::NOT_NEGATIVE
            => source: "RFC 9332 appendix A.1 (beta); Linux 6.17";
        /// Coupling factor k: the L queue marks with k p'.
        coupling: f64 = Number, Text("2"), Range::at_least(1.0) => source: "RFC 9332 section 2.1 (k)";
        /// How the L queue marks by its own delay.
        native: Option<Native> = Native::TYPE, Absent("ramp; step in form linux")
            => source: "RFC 9332 appendix A.1 (laqm); Linux 6.17";
        /// Delay in the L queue at which the ramp starts.
        min_threshold: Duration = Duration, Text("800 us"), Range::NOT_NEGATIVE => source: "RFC 9332 appendix A.1 (minTh)";
        /// Length of the ramp: above `min_threshold + range` all packets are marked.
        range: Duration = Duration, Text("400 us"), Range::POSITIVE => source: "RFC 9332 appendix A.1 (range)";
        /// Delay in the L queue above which the step marks.
        step: Duration = Duration, Text("1 ms"), Range::NOT_NEGATIVE => source: "Linux 6.17 (step_thresh)";
        /// The L queue marks by its own delay only if more packets than this are in it, with the leaving one.
        min_packets: Option<u64> = Integer, Absent("1; 0 in form linux"), Range::NOT_NEGATIVE
            => source: "RFC 9332 appendix A.1 (Th_len); Linux 6.17 (min_qlen_step)";
        /// Which queue is served next.
        turn: Turn = Turn::TYPE, Text("wrr") => source: "RFC 9332 section 4.2.2 and appendix A.1";
        /// Share of the bytes that the C queue gets when both have packets.
        classic_share: Option<f64> = Number, Absent("1/16; 0.1 in form linux"), Range::between(0.0, 1.0)
            => source: "RFC 9332 section 4.2.2; Linux 6.17 (classic_protection)";
        /// Head start of the L queue with `turn = "time-shifted-fifo"`.
        time_shift: Duration = Duration, Text("50 ms"), Range::NOT_NEGATIVE => source: "RFC 9332 section 4.2.2 (tshift)";
        /// In overload (k p' at 1) the L queue drops with p'^2. If false, p' is at most 1/k, and only a full buffer drops.
        drop_overload: bool = Flag, Text("true") => source: "RFC 9332 section 4.2.3; Linux 6.17 (drop_overload)";
        /// Signal at arrival instead of departure.
        drop_early: bool = Flag, Text("false") => source: "Linux 6.17 (drop_early)";
        /// The buffer in time at the link's rate at the start.
        buffer: Option<Duration> = Duration, Absent("250 ms; none in form linux"), Range::POSITIVE
            => source: "RFC 9332 appendix A.1 (limit)";
        /// The largest packet.
        max_packet: u64 = Bytes, Text("1514 B"), Range::PACKET_SIZE => source: "RFC 9332 appendix A.1 (MTU)";
    }
}

/// Its parameters with all defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    given: Given,
    /// Tupdate.
    period: Duration,
    alpha: f64,
    beta: f64,
    native: Native,
    min_packets: usize,
    classic_share: f64,
    /// Waiting bytes that leave space for no further packet.
    most_bytes: Option<u64>,
}

impl Params {
    /// For a link whose rate is `rate` bit/s; `None`: it has none.
    pub fn new(given: Given, rate: Option<f64>) -> Params {
        let linux = given.form == Form::Linux;
        let or =
            |given: Option<f64>, rfc: f64, kernel: f64| given.unwrap_or(if linux { kernel } else { rfc });
        let (target, rtt_max) = (given.target.seconds(), given.rtt_max.seconds());
        let period = or(given.period.map(Duration::seconds), target.min(rtt_max / 3.0), 0.016);
        let buffer = given.buffer.or((!linux).then_some(Duration::from_millis(250)));
        Params {
            given,
            period: Duration::from_seconds(period),
            alpha: or(given.alpha, 0.1 * period / (rtt_max * rtt_max), 41.0 / 256.0),
            beta: or(given.beta, 0.3 / rtt_max, 819.0 / 256.0),
            native: given.native.unwrap_or(if linux { Native::Step } else { Native::Ramp }),
            min_packets: given.min_packets.unwrap_or(u64::from(!linux)) as usize,
            classic_share: or(given.classic_share, 1.0 / 16.0, 0.1),
            most_bytes: rate.zip(buffer).map(|(rate, time)| (rate * time.seconds() / 8.0) as u64),
        }
    }

    /// The base probability after an update, where the delay is `delay` and was `before`, in seconds: dualpi2_update.
    #[inline]
    pub fn next_probability(&self, p: f64, delay: f64, before: f64) -> f64 {
        let next = p + self.alpha * (delay - self.given.target.seconds()) + self.beta * (delay - before);
        let most = if self.given.drop_overload { 1.0 } else { 1.0 / self.given.coupling };
        next.clamp(0.0, most)
    }

    /// The probability of a mark by the delay of the L queue alone: laqm.
    #[inline]
    pub fn native(&self, delay: Duration, packets: usize) -> f64 {
        if packets <= self.min_packets {
            return 0.0;
        }
        match self.native {
            Native::Step => f64::from(u8::from(delay > self.given.step)),
            Native::Ramp => {
                let above = delay.0.saturating_sub(self.given.min_threshold.0);
                (above as f64 / self.given.range.0 as f64).min(1.0)
            }
        }
    }
}

/// One of the two queues.
#[derive(Clone, Debug, Default)]
struct Backlog {
    packets: VecDeque<Queued>,
    /// Sum of the probabilities since the last signal: `count` of recur.
    sum: f64,
}

impl Backlog {
    /// How long its head has waited; zero if it is empty.
    fn age(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |head| now.since(head.at))
    }
}

const L: usize = 0;
const C: usize = 1;

/// The queues and the controller.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: Params,
    queues: [Backlog; 2],
    bytes: u64,
    /// p'.
    base: f64,
    /// prevq, seconds.
    before: f64,
    next: Time,
    /// Bytes that L has been served beyond its share; L is served while it is not positive.
    credit: f64,
    draws: Stream,
    /// The last number that was drawn, or the sum of probabilities that stands for one.
    drawn: f64,
    /// Of the packet that left last: its delay, and the probability of a mark for it alone.
    sojourn: Duration,
    native: f64,
    notes: Notes,
}

impl DualPi2 {
    /// Without packets.
    pub fn new(params: Params, draws: Stream) -> DualPi2 {
        let next = Time::ZERO + params.period;
        let queues = [Backlog::default(), Backlog::default()];
        let mut new = DualPi2 {
            params,
            queues,
            bytes: 0,
            base: 0.0,
            before: 0.0,
            next,
            credit: 0.0,
            draws,
            drawn: f64::NAN,
            sojourn: Duration::ZERO,
            native: 0.0,
            notes: None,
        };
        new.credit = new.first_credit();
        new
    }

    /// The credit of empty queues: L first, for one packet of the largest size.
    fn first_credit(&self) -> f64 {
        self.params.given.max_packet as f64 * (2.0 * self.params.classic_share - 1.0)
    }

    /// p_CL, which may exceed 1.
    fn coupled(&self) -> f64 {
        self.params.given.coupling * self.base
    }

    /// Whether p_CL has reached its maximum, and drops take over. Linux requires more than 1.
    fn is_overloaded(&self) -> bool {
        let beyond = match self.params.given.form {
            Form::Rfc => self.coupled() >= 1.0,
            Form::Linux => self.coupled() > 1.0,
        };
        beyond && self.params.given.drop_overload
    }

    /// Whether a packet of a queue is picked with probability `p`: a sum of probabilities (recur), or a draw in Linux.
    fn picks(&mut self, queue: usize, p: f64) -> bool {
        if self.params.given.form == Form::Linux {
            self.drawn = self.draws.open01();
            return self.drawn < p;
        }
        let sum = &mut self.queues[queue].sum;
        *sum += p;
        self.drawn = *sum;
        let picked = *sum > 1.0;
        *sum -= f64::from(u8::from(picked));
        picked
    }

    /// Whether it is picked with p'^2: in Linux by two draws.
    fn picks_squared(&mut self, queue: usize) -> bool {
        match self.params.given.form {
            Form::Rfc => self.picks(queue, self.base * self.base),
            Form::Linux => self.picks(queue, self.base) && self.picks(queue, self.base),
        }
    }

    /// The coupled signals to a packet of `queue`, where the L queue marks by itself with probability `native`.
    fn signal(&mut self, queue: usize, packet: &mut Packet, native: f64) -> Verdict {
        let linux = self.params.given.form == Form::Linux;
        // Linux signals nothing while less than two packets wait.
        let spared = linux && self.bytes < 2 * self.params.given.max_packet;
        let overloaded = self.is_overloaded();
        if queue == C {
            if spared || !self.picks_squared(C) {
                return Verdict::Accept;
            }
            return match !overloaded && mark(packet) {
                true => Verdict::Mark(Reason::Pi2),
                false => Verdict::Drop(Reason::Pi2),
            };
        }
        let coupled = self.coupled().min(1.0);
        if overloaded && !spared {
            if self.picks_squared(L) {
                return Verdict::Drop(Reason::Overload);
            }
            mark(packet);
            return Verdict::Mark(Reason::Coupled);
        }
        let reason = match linux {
            // The step marks in addition to the coupled marks.
            true if !spared && self.picks(L, coupled) => Reason::Coupled,
            true if native >= 1.0 || (native > 0.0 && self.picks(L, native)) => Reason::Native,
            false if self.picks(L, native.max(coupled)) => {
                if native > coupled {
                    Reason::Native
                } else {
                    Reason::Coupled
                }
            }
            _ => return Verdict::Accept,
        };
        mark(packet);
        Verdict::Mark(reason)
    }

    /// The queue that is served next.
    fn turn(&self, now: Time) -> Option<usize> {
        let [l, c] = &self.queues;
        match (l.packets.is_empty(), c.packets.is_empty()) {
            (true, true) => None,
            (false, true) => Some(L),
            (true, false) => Some(C),
            (false, false) => Some(match self.params.given.turn {
                Turn::Wrr if self.credit <= 0.0 => L,
                Turn::Fifo if l.age(now) + self.params.given.time_shift >= c.age(now) => L,
                _ => C,
            }),
        }
    }

    /// Counts the bytes of a packet that left `queue`; nothing changes while the other queue is empty.
    fn charge(&mut self, queue: usize, size: u16) {
        let (share, bytes) = (self.params.classic_share, f64::from(size));
        if !self.queues[1 - queue].packets.is_empty() {
            self.credit += if queue == L { share * bytes } else { (share - 1.0) * bytes };
        }
    }
}

impl Schedule for DualPi2 {
    /// By the lower bit of the ECN field: ECT(1) and CE go to L.
    fn place(&mut self, _key: usize, packet: &Packet, _flows: &dyn FlowTable, _now: Time) -> usize {
        match packet.ecn() {
            Ecn::Capable1 | Ecn::Congestion => L,
            Ecn::NotCapable | Ecn::Capable0 => C,
        }
    }

    fn admit(&mut self, queue: usize, packet: &mut Packet, _now: Time) -> Verdict {
        if self.params.given.drop_early { self.signal(queue, packet, 0.0) } else { Verdict::Accept }
    }

    fn enqueue(&mut self, queue: usize, item: Queued) {
        self.bytes += u64::from(item.packet.size);
        self.queues[queue].packets.push_back(item);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        while let Some(queue) = self.turn(now) {
            let packets = self.queues[queue].packets.len();
            let mut item = self.queues[queue].packets.pop_front()?;
            self.bytes -= u64::from(item.packet.size);
            self.sojourn = now.since(item.at);
            let native = if queue == L { self.params.native(self.sojourn, packets) } else { 0.0 };
            self.native = native;
            // With `drop_early` only the threshold of the L queue is left.
            let verdict = if !self.params.given.drop_early {
                self.signal(queue, &mut item.packet, native)
            } else if native > 0.0 && self.picks(L, native) {
                mark(&mut item.packet);
                Verdict::Mark(Reason::Native)
            } else {
                Verdict::Accept
            };
            if verdict != Verdict::Accept && self.notes.is_some() {
                let mut notes = self.notes.take();
                note(&mut notes, &TABLE, now, |name| self.observe(name, now));
                self.notes = notes;
            }
            if let Verdict::Drop(reason) = verdict {
                dropped.push((item, reason));
                continue;
            }
            self.charge(queue, item.packet.size);
            let reason = match verdict {
                Verdict::Mark(reason) => Some(reason),
                _ => None,
            };
            return Some((item, reason));
        }
        self.credit = self.first_credit();
        None
    }

    fn watch(&mut self) {
        self.notes = Some(Box::default());
    }

    fn notes(&self) -> &[Note] {
        self.notes.as_deref().map_or(&[], Vec::as_slice)
    }

    fn next_tick(&self) -> Time {
        self.next
    }

    /// dualpi2_update: the longer delay of the two counts.
    fn tick(&mut self, now: Time) {
        let delay = self.queues[L].age(now).max(self.queues[C].age(now)).seconds();
        self.base = self.params.next_probability(self.base, delay, self.before);
        self.before = delay;
        self.next = now + self.params.period;
    }

    fn sees_all(&self) -> bool {
        true
    }

    /// The RFC leaves space for one packet of the largest size.
    fn is_full(&self, _queue: usize, bytes: u64, _size: u16) -> bool {
        self.params.most_bytes.is_some_and(|most| bytes + self.params.given.max_packet > most)
    }

    fn heap_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.packets.heap_bytes()).sum()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.queues.iter().flat_map(|queue| &queue.packets).for_each(show);
    }
}

impl Kind for DualPi2 {
    fn build(values: &Values, served: &Served) -> Result<DualPi2, Vec<Problem>> {
        let params = Params::new(Given::read(values), served.link.rate.map(|rate| rate.0));
        Ok(DualPi2::new(params, served.draws.clone()))
    }

    fn marks(_values: &Values) -> bool {
        true
    }
}

observables! {
    DualPi2: queue, now;
    base_probability: "1", "Base probability p' of the controller." => queue.base;
    classic_probability: "1", "Probability of a signal in the C queue, p'^2." => queue.base * queue.base;
    coupled_probability: "1", "Probability of a coupled mark in the L queue, k p', at most 1."
        => queue.coupled().min(1.0);
    l_packets: "packets", "Packets in the L queue." => queue.queues[L].packets.len();
    c_packets: "packets", "Packets in the C queue." => queue.queues[C].packets.len();
    l_delay: "s", "Waiting time of the head of the L queue." => queue.queues[L].age(now);
    c_delay: "s", "Waiting time of the head of the C queue." => queue.queues[C].age(now);
    credit: "bytes", "Credit of the round robin. L is served while it is not positive." => queue.credit;
    sojourn: "s", "Queueing delay of the packet that left last." => queue.sojourn;
    native_probability: "1",
        "Probability of a mark of the packet that left last, by the L queue's own threshold."
        => queue.native;
    ..DRAW => Some(queue.drawn).filter(|drawn| !drawn.is_nan());
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "dualpi2",
    room: Room::Queue,
    traits: Traits {
        notes_departures: true,
        owns_queues: true,
        default_limit: Some(LIMIT),
        draws: "form = linux",
        ..Mechanism::PLAIN
    },
    title: "Dual-queue coupled AQM of L4S (DualPI2)",
    example: r#"[links.bottleneck.queue]
kind = "dualpi2"
target = "15 ms"
coupling = 2
form = "linux""#,
    doc: "Packets with ECT(1) or CE wait in an L queue, all others in a C queue. A PI controller of the longer delay sets a base \
          probability p'. The C queue drops or marks with p'^2. The L queue marks with k p', or by its own delay threshold. The L queue is \
          served first, up to the share of the C queue.",
    source: "RFC 9332",
    params: Given::PARAMS,
    observables: DualPi2::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The buffer was full."),
        Counter::new("pi2", "C queue: picked with p'^2."),
        Counter::new("coupled", "L queue: marked with k p'."),
        Counter::new("native", "L queue: marked for its own delay."),
        Counter::new("overload", "L queue: dropped with p'^2 because k p' reached 1."),
    ],
    deviations: &[
        Deviation {
            what: "The delay of the L queue is that of the leaving packet, and `min_packets` counts that packet.",
            why: "The pseudo-code reads the queue after the packet was taken from it. A packet that waits alone is not marked.",
        },
        Deviation {
            what: "Weighted round robin is the credit scheme of Linux, with the share of the RFC.",
            why: "RFC 9332 leaves the scheduler open.",
        },
        Deviation {
            what: "In overload all L packets that are not dropped are marked.",
            why: "The pseudo-code marks them with p_CL, which is 1 in overload.",
        },
    ],
};

#[cfg(test)]
mod tests;
