//! How much may wait: in a queue, or behind a stage that holds packets back.

use crate::schema::Value;
use crate::units::Rate;

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Any amount.
    None,
    /// Packets, whatever their size.
    Packets(u32),
    /// Bytes.
    Bytes(u64),
    /// Seconds at line rate.
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
