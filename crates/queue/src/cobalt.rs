//! COBALT, CoDel and BLUE alternate (Linux sch_cake; Palmei et al. 2019): the AQM of CAKE's queues.
//!
//! The CoDel part signals at the head of the queue while the sojourn time exceeds a target. Its count falls
//! step by step afterwards. The BLUE part drops at random. Its probability rises at each overflow and falls
//! when the queue runs empty.
//!
//! The behaviour is that of Linux. A queue that never signalled, or was at rest for an interval, signals at
//! its second head above the target, without delay. Not modelled: the table of inverse square roots.

use std::collections::VecDeque;

use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Heap, Packet, Rate, Reason, Stream, Time, Verdict};

use crate::action::mark;
use crate::codel::control_law;
use crate::held::{DRAW, Dropped, FlowTable, Kind, Note, Notes, Queued, Schedule, Sent, Served, note};

/// Default limit in packets: that of CAKE.
pub const LIMIT: f64 = 10_240.0;

params! {
    /// Its parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Given {
        /// Acceptable queueing delay.
        target: Duration = Duration, Text("5 ms"), Range::POSITIVE => source: "Linux, sch_cake (target)";
        /// Time above the target before the first signal; also the first interval between signals.
        interval: Duration = Duration, Text("100 ms"), Range::at_least(1e-6) => source: "Linux, sch_cake (interval)";
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = Flag, Text("true") => source: "Linux, sch_cake";
        /// Increase of BLUE's probability at an overflow.
        increase: f64 = Number, Text("0.00390625"), Range::between(0.0, 1.0) => source: "Linux, sch_cake (p_inc): 1/256";
        /// Decrease of BLUE's probability when the queue runs empty.
        decrease: f64 = Number, Text("0.000244140625"), Range::between(0.0, 1.0)
            => source: "Linux, sch_cake (p_dec): 1/4096";
        /// No signal while the queueing delay is at most that of four such packets at the link's rate.
        max_packet: u64 = Bytes, Text("1514 B"), Range::PACKET_SIZE => source: "Linux, sch_cake (mtu_time)";
    }
}

/// The parameters of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    target: Duration,
    interval: Duration,
    /// Transmission time of a packet of the largest size.
    packet_time: Duration,
    ecn: bool,
    increase: f64,
    decrease: f64,
}

impl Params {
    /// Of a link with that rate.
    pub fn new(given: Given, rate: Option<Rate>) -> Params {
        let packet_time = rate.map_or(0.0, |rate| 8.0 * given.max_packet as f64 / rate.0);
        Params {
            target: given.target,
            interval: given.interval,
            packet_time: Duration::from_seconds(packet_time),
            ecn: given.ecn,
            increase: given.increase,
            decrease: given.decrease,
        }
    }

    /// Those of CAKE, with ECN. `packet_time` is the transmission time of a packet of the largest size.
    pub(crate) fn of_cake(target: Duration, interval: Duration, packet_time: Duration) -> Params {
        Params { target, interval, packet_time, ecn: true, increase: 1.0 / 256.0, decrease: 1.0 / 4096.0 }
    }

    /// The next signal after one at `t`.
    fn after(&self, t: Time, count: u64) -> Time {
        control_law(t, self.interval, count.max(1))
    }
}

/// The state of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Signals of the present rate: the next gap is the interval over its square root. 0: at rest.
    count: u64,
    /// When the next signal, or the next decrease of `count`, is due.
    next: Time,
    /// Whether the last head was above the target.
    above: bool,
    /// Whether `count` ever changed the rate of signals. Linux' inverse square root is 0 before.
    started: bool,
    /// BLUE's probability.
    probability: f64,
    /// Its last change.
    changed: Time,
    /// Sojourn time of the last head.
    sojourn: Duration,
}

impl State {
    /// Decides on the head of a queue, accepted at `at`. `bulk` is the number of bulk flows in CAKE's
    /// ingress mode, else 0.
    pub fn head(
        &mut self,
        p: &Params,
        packet: &mut Packet,
        at: Time,
        now: Time,
        bulk: u64,
        draws: &mut Stream,
    ) -> Verdict {
        self.sojourn = now.since(at);
        let spared = p.packet_time.0 * (2 * bulk).max(4);
        let above = self.sojourn > p.target && self.sojourn.0 > spared;
        let mut late = now > self.next;
        let due = self.count > 0 && now >= self.next;
        if above && !self.above {
            self.next = if self.started { p.after(now, self.count) } else { now };
        }
        if above {
            self.count = self.count.max(1);
        }
        self.above = above;
        let mut verdict = Verdict::Accept;
        self.started |= due;
        if due && above {
            let marked = p.ecn && mark(packet);
            verdict = if marked { Verdict::Mark(Reason::Codel) } else { Verdict::Drop(Reason::Codel) };
            self.count += 1;
            self.next = p.after(self.next, self.count);
            late = now > self.next;
        } else if due {
            while self.count > 0 && now >= self.next {
                self.count -= 1;
                self.next = p.after(self.next, self.count);
            }
            late = now > self.next;
        }
        let dropped = matches!(verdict, Verdict::Drop(_));
        if self.probability > 0.0 && !dropped && draws.open01() < self.probability {
            verdict = Verdict::Drop(Reason::Blue);
        }
        if self.count == 0 {
            self.next = now + p.interval;
        } else if late && !matches!(verdict, Verdict::Drop(_)) {
            self.next = now;
        }
        verdict
    }

    /// Whether nothing is left of past congestion, and no packet has left within an interval.
    pub(crate) fn rests(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.next
    }

    /// A packet of the queue was dropped at a full buffer.
    pub fn full(&mut self, p: &Params, now: Time) {
        if now.since(self.changed) > p.target {
            self.probability = (self.probability + p.increase).min(1.0);
            self.changed = now;
        }
        self.above = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue had no packet to send.
    pub fn emptied(&mut self, p: &Params, now: Time) {
        if self.probability > 0.0 && now.since(self.changed) > p.target {
            self.probability = (self.probability - p.decrease).max(0.0);
            self.changed = now;
        }
        self.above = false;
        if self.count > 0 && now >= self.next {
            self.started = true;
            self.count -= 1;
            self.next = p.after(self.next, self.count);
        }
    }
}

/// One queue with COBALT.
#[derive(Clone, Debug)]
pub struct Cobalt {
    params: Params,
    state: State,
    packets: VecDeque<Queued>,
    /// Instant of the last arrival.
    arrived: Time,
    draws: Stream,
    notes: Notes,
}

impl Cobalt {
    /// An empty one.
    pub fn new(params: Params, draws: Stream) -> Cobalt {
        let packets = VecDeque::new();
        Cobalt { params, state: State::default(), packets, arrived: Time::ZERO, draws, notes: None }
    }
}

impl Schedule for Cobalt {
    fn place(&mut self, _key: usize, _packet: &Packet, _flows: &dyn FlowTable, now: Time) -> usize {
        self.arrived = now;
        0
    }

    fn enqueue(&mut self, _queue: usize, item: Queued) {
        self.packets.push_back(item);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        while let Some(mut item) = self.packets.pop_front() {
            let before = self.notes.is_some().then(|| self.draws.clone());
            let verdict = self.state.head(&self.params, &mut item.packet, item.at, now, 0, &mut self.draws);
            let signals = match verdict {
                Verdict::Drop(_) => !self.packets.is_empty(), // the last packet is not dropped
                verdict => verdict != Verdict::Accept,
            };
            if let Some(mut before) = before.filter(|_| signals) {
                let drawn = (before != self.draws).then(|| before.open01());
                let value = |name: &str| if name == DRAW { drawn } else { self.state.observe(name) };
                note(&mut self.notes, &TABLE, now, value);
            }
            match verdict {
                Verdict::Drop(reason) if signals => dropped.push((item, reason)),
                Verdict::Mark(reason) => return Some((item, Some(reason))),
                _ => return Some((item, None)),
            }
        }
        self.state.emptied(&self.params, now);
        None
    }

    fn watch(&mut self) {
        self.notes = Some(Box::default());
    }

    fn notes(&self) -> &[Note] {
        self.notes.as_deref().map_or(&[], Vec::as_slice)
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn turned_away(&mut self, _queue: usize, _reason: Reason) {
        self.state.full(&self.params, self.arrived);
    }

    fn observe(&self, name: &str, _now: Time) -> Option<f64> {
        self.state.observe(name)
    }

    fn heap_bytes(&self) -> u64 {
        self.packets.heap_bytes()
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.packets.iter().for_each(show);
    }
}

impl Kind for Cobalt {
    fn build(values: &Values, served: &Served) -> Result<Cobalt, Vec<Problem>> {
        Ok(Cobalt::new(Params::new(Given::read(values), served.link.rate), served.draws.clone()))
    }

    fn marks(values: &Values) -> bool {
        values.at(Given::ecn) == Some(true)
    }
}

observables! {
    State: state;
    sojourn: "s", "Queueing delay of the last packet that was judged." => state.sojourn;
    count: "1", "CoDel's count: gaps are interval / sqrt(count)." => state.count;
    probability: "1", "Drop probability of BLUE." => state.probability;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "cobalt",
    room: Room::Queue,
    traits: Traits {
        drops_at_departure: true,
        notes_departures: true,
        owns_queues: true,
        default_limit: Some(LIMIT),
        draws: "always",
        ..Mechanism::PLAIN
    },
    title: "CoDel and BLUE alternate (COBALT)",
    example: r#"[links.bottleneck.queue]
kind = "cobalt"
limit = "1000 packets"
target = "5 ms"
interval = "100 ms""#,
    doc: "CoDel marks or drops at the head of the queue. After congestion its rate of signals falls step by step. BLUE adds random drops: \
          its probability rises when the buffer overflows and falls when the queue is empty. Both together also control unresponsive \
          traffic. The last packet is never dropped. COBALT is rule and scheduler in one.",
    source: "Linux, sch_cake; Palmei et al. 2019",
    params: Given::PARAMS,
    observables: State::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The buffer was full."),
        Counter::new(Reason::Codel.name(), "The queueing delay was above the target, and a signal was due."),
        Counter::new("blue", "Picked at random with BLUE's probability."),
    ],
    deviations: &[Deviation {
        what: "The gap is the interval over the exact square root of the count.",
        why: "Linux uses an approximation in integers.",
    }],
};

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::Ecn;

    const MS: u64 = 1_000_000;

    fn params() -> Params {
        Params {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            packet_time: Duration::ZERO,
            ecn: true,
            increase: 1.0 / 256.0,
            decrease: 1.0 / 4096.0,
        }
    }

    fn queue(packets: u64, ecn: Ecn) -> Cobalt {
        let mut q = Cobalt::new(params(), Stream::new(1, "draws"));
        for _ in 0..packets {
            let mut packet = Packet::new(0, 1500, 1500);
            packet.set_ecn(ecn);
            q.enqueue(0, Queued { packet, at: Time::ZERO });
        }
        q
    }

    /// ns-3's test: 20 packets; no signal at twice the target, the first one two intervals later.
    #[test]
    fn ns3_vector_of_drops_and_marks() {
        for (ecn, signal) in [(Ecn::NotCapable, "dropped"), (Ecn::Capable0, "marked")] {
            let mut q = queue(20, ecn);
            let mut dropped = Vec::new();
            assert!(matches!(q.dequeue(Time(10 * MS), &mut dropped), Some((_, None))));
            assert_eq!((dropped.len(), q.packets.len()), (0, 19));
            let sent = q.dequeue(Time(210 * MS), &mut dropped);
            let marked = sent.is_some_and(|(_, reason)| reason == Some(Reason::Codel));
            assert_eq!(
                (!dropped.is_empty(), marked),
                if signal == "dropped" { (true, false) } else { (false, true) }
            );
        }
    }

    /// The first signal of a queue is due at 10 ms, then gaps of 100 / sqrt(2), 100 / sqrt(3) ms.
    #[test]
    fn gaps_shrink_with_the_count_and_the_count_falls_step_by_step() {
        let (p, mut s, mut draws) = (params(), State::default(), Stream::new(1, "draws"));
        let mut signals = Vec::new();
        let mut judge = |s: &mut State, at: u64, now: u64| {
            let mut packet = Packet::new(0, 1500, 1500);
            s.head(&p, &mut packet, Time(at), Time(now), 0, &mut draws)
        };
        judge(&mut s, 9 * MS, 9 * MS);
        for n in 0..400 {
            let now = (10 + n) * MS;
            if judge(&mut s, now - 10 * MS, now) != Verdict::Accept {
                signals.push(10 + n);
            }
        }
        let mut due = 10.0;
        let expected: Vec<f64> = (2..)
            .map(|count| {
                let this = due;
                due += 100.0 / f64::from(count).sqrt();
                this
            })
            .take_while(|due| *due < 410.0)
            .collect();
        assert_eq!(signals.len(), expected.len(), "{signals:?} {expected:?}");
        for (found, due) in signals.iter().zip(expected) {
            assert!((*found as f64 - due).abs() <= 1.0, "{found} {due}");
        }
        let before = s.count;
        assert!(before >= 5);
        // Below the target: a step down per gap, not a reset.
        let mut counts = Vec::new();
        for n in 0..1500 {
            let now = (410 + n) * MS;
            assert_eq!(judge(&mut s, now, now), Verdict::Accept);
            counts.push(s.count);
        }
        assert_eq!(counts[0], before);
        assert!(counts.windows(2).all(|pair| pair[1] == pair[0] || pair[1] + 1 == pair[0]), "{counts:?}");
        assert_eq!(*counts.last().unwrap(), 0);
        // The next congestion waits for an interval.
        let signal = (1910..).find(|now| judge(&mut s, (now - 10) * MS, now * MS) != Verdict::Accept);
        assert_eq!(signal, Some(2010));
    }

    #[test]
    fn blue_rises_once_per_target_and_drops_ect_packets() {
        let (p, mut s) = (params(), State::default());
        s.full(&p, Time(10 * MS));
        s.full(&p, Time(11 * MS));
        assert_eq!(s.probability, 1.0 / 256.0);
        s.full(&p, Time(16 * MS));
        assert_eq!(s.probability, 2.0 / 256.0);
        s.emptied(&p, Time(17 * MS));
        assert_eq!(s.probability, 2.0 / 256.0, "within a target of the last change");
        s.emptied(&p, Time(22 * MS));
        assert_eq!(s.probability, 2.0 / 256.0 - 1.0 / 4096.0);
        let mut draws = Stream::new(1, "draws");
        s = State { probability: 1.0, ..State::default() };
        let mut packet = Packet::new(0, 1500, 1500);
        packet.set_ecn(Ecn::Capable0);
        assert_eq!(
            s.head(&p, &mut packet, Time(30 * MS), Time(30 * MS), 0, &mut draws),
            Verdict::Drop(Reason::Blue)
        );
    }

    #[test]
    fn four_packet_times_and_the_last_packet_are_spared() {
        let slow = Params { packet_time: Duration::from_millis(12), ..params() };
        let (mut s, mut draws) = (State::default(), Stream::new(1, "draws"));
        for n in 0..1000 {
            let now = Time((40 + n) * MS);
            let mut packet = Packet::new(0, 1500, 1500);
            assert_eq!(s.head(&slow, &mut packet, Time(n * MS), now, 0, &mut draws), Verdict::Accept);
        }
        let mut q = queue(1, Ecn::NotCapable);
        q.state = State { probability: 1.0, ..State::default() };
        let mut dropped = Vec::new();
        assert!(q.dequeue(Time(MS), &mut dropped).is_some() && dropped.is_empty());
    }
}
