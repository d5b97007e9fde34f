//! Drop-tail: a packet may wait while there is room, in packets, bytes or time at line rate.
//!
//! Waiting packets count, the one in transmission does not, as in Linux and ns-3 (ns-2's `limit_` differs by one).
//! Not here: any rule that drops earlier; those take the same [`Limit`] beside their own thresholds.

use evenflow_base::schema::{Counter, Mechanism, Problem, Room, Value, Values};
use evenflow_base::{Draw, Packet, Rate, Reason, Time, Verdict};

use crate::rule::{LinkFacts, Occupancy, Rule};

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Any amount.
    None,
    /// So many packets, whatever their size.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
    /// So many seconds at line rate.
    Seconds(f64),
}

impl Limit {
    /// From a decoded quantity; a fractional number of packets holds its whole part.
    pub fn new(value: Option<&Value>) -> Limit {
        match value {
            Some(Value::Packets(n)) => Limit::Packets(*n as u32),
            Some(Value::Bytes(n)) => Limit::Bytes(*n as u64),
            Some(Value::Seconds(s)) => Limit::Seconds(*s),
            _ => Limit::None,
        }
    }

    /// Whether a packet of `size` bytes finds no room behind `packets` and `bytes` that wait.
    #[inline]
    pub fn is_full(&self, packets: u32, bytes: u64, size: u16, rate: Option<Rate>) -> bool {
        match *self {
            Limit::None => false,
            Limit::Packets(most) => packets >= most,
            Limit::Bytes(most) => bytes + u64::from(size) > most,
            Limit::Seconds(most) => {
                rate.is_some_and(|rate| (bytes + u64::from(size)) as f64 * 8.0 > most * rate.0)
            }
        }
    }
}

/// Takes a packet where there is room: all that drop-tail asks, and rules that decide later.
#[inline]
pub fn admit_if_room(seen: &Occupancy) -> Verdict {
    if seen.full { Verdict::Drop(Reason::Limit) } else { Verdict::Accept }
}

/// The rule, which has no state.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl Rule for DropTail {
    const TABLE: &'static Mechanism = &TABLE;
    const PLAIN: bool = true;

    fn build(_values: &Values, _link: LinkFacts) -> Result<DropTail, Vec<Problem>> {
        Ok(DropTail)
    }

    #[inline]
    fn admit<D: Draw>(
        &mut self,
        _packet: &mut Packet,
        _now: Time,
        seen: &Occupancy,
        _draws: &mut D,
    ) -> Verdict {
        admit_if_room(seen)
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "droptail",
    room: Room::Queue,
    traits: Mechanism::PLAIN,
    title: "Drop-tail",
    doc: "Accepts every packet while the limit leaves room. Without a limit it never drops.",
    source: "RFC 7567 section 2",
    params: &[],
    observables: &[],
    counters: &[Counter { name: "limit", doc: "The queue was full." }],
    deviations: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_count_slots_whatever_their_size() {
        let limit = Limit::Packets(24);
        assert!(!limit.is_full(23, 1_000_000, 1500, None));
        assert!(limit.is_full(24, 0, 40, None));
    }

    #[test]
    fn bytes_must_fit_whole() {
        let limit = Limit::Bytes(3000);
        assert!(!limit.is_full(1, 1500, 1500, None));
        assert!(limit.is_full(1, 1501, 1500, None));
    }

    #[test]
    fn time_is_bytes_at_line_rate() {
        // 28.8 ms at 10 Mbit/s are 36000 bytes, 24 full frames.
        let limit = Limit::Seconds(0.0288);
        assert!(!limit.is_full(23, 34_500, 1500, Some(Rate(10e6))));
        assert!(limit.is_full(24, 36_000, 1500, Some(Rate(10e6))));
    }
}
