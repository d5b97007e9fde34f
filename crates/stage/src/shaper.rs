//! Shaper: a token bucket on a path that delays packets (RFC 2215 section 3.6; RFC 2475 section 2.3.3.3).
//!
//! Its buckets are those of the scheduler `tbf` ([`evenflow_base::bucket`]): at most rate * t + burst bytes
//! leave in any time t. With `per`, each user, flow or group has its own. Released packets leave immediately,
//! not at a link's rate. [`crate::policer`] drops early packets instead.

use std::collections::VecDeque;

use evenflow_base::bucket::{self, Pacer, Params};
use evenflow_base::limit::Limit;
use evenflow_base::schema::{Counter, Mechanism, Problem, Room, Value, Values};
use evenflow_base::{Heap, Packet, Reason, Time};

use crate::station::{Cx, HeldPacket, Kind, Owner, Pass, Station};

/// The shaper and what it holds.
#[derive(Clone, Debug)]
pub struct Shaper {
    pacer: Box<Pacer>,
    limit: Limit,
    waiting: VecDeque<HeldPacket>,
    /// Bytes that wait.
    bytes: u64,
    /// When there will be tokens for the first in line.
    due: Time,
}

impl Shaper {
    /// A shaper with full buckets behind which `limit` may wait.
    pub fn new(params: Params, limit: Limit) -> Shaper {
        let pacer = Box::new(Pacer::new(params));
        Shaper { pacer, limit, waiting: VecDeque::new(), bytes: 0, due: Time::NEVER }
    }

    /// Lets go whom the tokens pay for, and asks to be woken for the next one.
    fn let_go(&mut self, cx: &mut Cx) {
        self.due = Time::NEVER;
        while let Some(first) = self.waiting.front() {
            let size = first.packet.size;
            if let Err(due) = self.pacer.take(size, cx.now) {
                self.due = due;
                break;
            }
            self.bytes -= u64::from(size);
            if let Some(first) = self.waiting.pop_front() {
                cx.release(first);
            }
        }
        cx.wake_at(self.due);
    }
}

impl Station for Shaper {
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        if self.pacer.refuses(packet.size) {
            return Pass::Drop(Reason::TooLarge);
        }
        if self.due <= cx.now {
            self.let_go(cx); // its alarm may be due at this instant, before or after the current packet
        }
        if self.waiting.is_empty() {
            match self.pacer.take(packet.size, cx.now) {
                Ok(()) => return Pass::On,
                Err(due) => self.due = due,
            }
            if self.limit.is_full(0, 0, packet.size, None) {
                self.due = Time::NEVER;
                return Pass::Drop(Reason::Limit);
            }
            cx.wake_at(self.due);
        } else if self.limit.is_full(self.waiting.len() as u32, self.bytes, packet.size, None) {
            return Pass::Drop(Reason::Limit);
        }
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(cx.hold(packet));
        Pass::Held
    }

    fn wake(&mut self, cx: &mut Cx) {
        self.let_go(cx);
    }

    fn held(&self) -> Vec<HeldPacket> {
        self.waiting.iter().copied().collect()
    }

    fn heap_bytes(&self) -> u64 {
        size_of::<Pacer>() as u64 + self.waiting.heap_bytes()
    }
}

impl Kind for Shaper {
    fn build(values: &Values, _owner: Owner) -> Result<Shaper, Vec<Problem>> {
        let given = Given::read(values);
        let params = Params::new(&given.buckets)?;
        let limit = match given.buckets.latency {
            Some(_) if given.limit.is_some() => {
                return Err(vec![(
                    bucket::Given::latency.name,
                    "is another form of limit; give one of the two".into(),
                )]);
            }
            Some(latency) => Limit::new(Some(&Value::Bytes(params.limit(latency)))),
            None => Limit::new(given.limit.as_ref()),
        };
        Ok(Shaper::new(params, limit))
    }

    fn buckets(values: &Values) -> &'static [&'static str] {
        match values.has(bucket::Given::peak_rate) {
            true => &[bucket::Given::burst.name, bucket::Given::mtu.name],
            false => &[bucket::Given::burst.name],
        }
    }

    fn problems(values: &Values) -> Vec<Problem> {
        use bucket::Given as Buckets;
        let known = values.has(Buckets::rate)
            && values.has(Buckets::burst)
            && values.has(Buckets::mtu)
            && values.has(Buckets::arithmetic);
        if known { Shaper::build(values, Owner::of(&[])).err().unwrap_or_default() } else { Vec::new() }
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        ..buckets: bucket::Given;
        /// Maximum backlog; packets beyond it are dropped.
        limit: Option<Value> = PacketsOrBytes, Absent("any number"), Range::FROM_ONE => source: "tc-tbf(8)";
    }
}

observables! {
    Shaper: shaper, now;
    packets: "packets", "Packets in the backlog." => shaper.waiting.len();
    bytes: "B", "Bytes in the backlog." => shaper.bytes;
    tokens: "B", "Tokens in the bucket of rate and burst." => shaper.pacer.tokens(now);
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "shaper",
    title: "Shaper",
    example: r#"groups.users.path = ["shaper", "bottleneck"]

[stages.shaper]
kind = "shaper"
per = "user"
rate = "5 Mbit/s"
burst = "10 kB"
latency = "50 ms""#,
    doc: "Delays packets until a token bucket has a token for each of their bytes, first in, first out. At \
          most rate * t + burst bytes leave in any time t.",
    source: "RFC 2215 section 3.6, RFC 2475 section 2.3.3.3; tc-tbf(8)",
    params: Given::PARAMS,
    observables: Shaper::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The backlog was at its limit."),
        Counter::new("too_large", "Larger than the bucket; it could never leave."),
    ],
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use evenflow_base::Rate;
    use evenflow_base::credit::Arithmetic;

    use super::*;
    use crate::Stepper;
    use crate::station::Act;

    /// A byte a microsecond.
    fn shaper(burst: u64, limit: Limit) -> Shaper {
        Shaper::new(Params { rate: Rate(8e6), burst, peak: None, arithmetic: Arithmetic::Real }, limit)
    }

    fn us(us: u64) -> Time {
        Time(us * 1000)
    }

    fn meet(shaper: &mut Shaper, by_hand: &mut Stepper, at: u64, id: u64, size: u16) -> Pass {
        let mut packet = Packet { seq: id, ..Packet::new(0, size, size) };
        shaper.forward(&mut packet, &mut by_hand.cx(us(at)))
    }

    /// Packets released since the last call, and the alarm.
    fn said(by_hand: &mut Stepper) -> (Vec<u64>, Option<Time>) {
        let (mut gone, mut alarm) = (Vec::new(), None);
        for act in by_hand.acts.drain(..) {
            match act {
                Act::Release(held) => gone.push(held.packet.seq),
                Act::Wake(at) => alarm = Some(at),
                _ => {}
            }
        }
        (gone, alarm)
    }

    #[test]
    fn a_burst_passes_and_the_rest_waits_for_its_tokens() {
        // 3000 bytes pass at once; each further 1000 need 1000 us.
        let (mut shaper, mut by_hand) = (shaper(3000, Limit::None), Stepper::new(1));
        let met: Vec<Pass> = (0..5).map(|n| meet(&mut shaper, &mut by_hand, 0, n, 1000)).collect();
        assert_eq!(met, [Pass::On, Pass::On, Pass::On, Pass::Held, Pass::Held]);
        assert_eq!(said(&mut by_hand), (vec![], Some(us(1000))));
        assert_eq!(
            [shaper.observe("packets", us(0)), shaper.observe("bytes", us(0))],
            [Some(2.0), Some(2000.0)]
        );
        shaper.wake(&mut by_hand.cx(us(1000)));
        assert_eq!(said(&mut by_hand), (vec![3], Some(us(2000))));
        assert_eq!(shaper.held().len(), 1);
        shaper.wake(&mut by_hand.cx(us(2000)));
        assert_eq!(said(&mut by_hand), (vec![4], Some(Time::NEVER)));
        assert_eq!(shaper.observe("tokens", us(2500)), Some(500.0));
    }

    #[test]
    fn a_small_one_does_not_overtake() {
        let (mut shaper, mut by_hand) = (shaper(1500, Limit::None), Stepper::new(1));
        assert_eq!(meet(&mut shaper, &mut by_hand, 0, 0, 1000), Pass::On);
        assert_eq!(meet(&mut shaper, &mut by_hand, 0, 1, 900), Pass::Held); // 400 are missing
        assert_eq!(meet(&mut shaper, &mut by_hand, 0, 2, 40), Pass::Held); // though 500 are there
        assert_eq!(said(&mut by_hand), (vec![], Some(us(400))));
        // At the very instant a packet comes before the alarm: the first in line goes first.
        assert_eq!(meet(&mut shaper, &mut by_hand, 400, 3, 40), Pass::Held);
        assert_eq!(said(&mut by_hand), (vec![1], Some(us(440))));
    }

    #[test]
    fn what_finds_no_room_is_dropped() {
        let (mut packets, mut by_hand) = (shaper(1000, Limit::Packets(1)), Stepper::new(1));
        let met = [0, 1, 2].map(|n| meet(&mut packets, &mut by_hand, 0, n, 1000));
        assert_eq!(met, [Pass::On, Pass::Held, Pass::Drop(Reason::Limit)]);
        let mut bytes = shaper(1000, Limit::Bytes(999));
        let met = [1000, 1000, 999, 1].map(|size| meet(&mut bytes, &mut by_hand, 0, 0, size));
        assert_eq!(met, [Pass::On, Pass::Drop(Reason::Limit), Pass::Held, Pass::Drop(Reason::Limit)]);
        assert_eq!(meet(&mut packets, &mut by_hand, 0, 3, 1001), Pass::Drop(Reason::TooLarge));
    }
}
