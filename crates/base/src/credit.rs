//! Credits of token buckets in units of time.
//!
//! The tokens of a bucket are the time that their bytes take at its rate; filling it adds elapsed time. Linux
//! (`net/sched`: HTB, TBF, police) does the same. In both [`Arithmetic`]s a credit is an integer, so that
//! results are exact on all machines.

use std::sync::Arc;

use crate::schema::{Fallback, Param, Range};
use crate::units::{Duration, Fine, Rate, Time};

crate::words! {
    /// How credits are counted.
    pub enum Arithmetic {
        /// Nanoseconds with 64 binary places: exact for every run.
        Real = "real",
        /// As in Linux 3.2: clock and credits in whole ticks of 64 ns (PSCHED_SHIFT 6). Costs come from a
        /// table with cells of 8 bytes, which iproute2 computes in whole microseconds.
        Ticks = "ticks",
    }
}

/// Binary digits of a nanosecond behind the point, [`Arithmetic::Real`].
const PLACES: u32 = 64;
/// Nanoseconds in a tick as a power of two: `PSCHED_SHIFT` of Linux 2.6.31 and later.
const SHIFT: u32 = 6;
/// Ticks in a microsecond, as `/proc/net/psched` tells iproute2 (1000 / 64).
const TICKS_PER_MICROSECOND: f64 = 15.625;
/// Entries of a rate table (`TC_RTAB_SIZE`, 1024 bytes of 4 each).
const ENTRIES: usize = 256;

impl Arithmetic {
    /// The clock at `now`.
    #[inline]
    pub fn clock(self, now: Time) -> i128 {
        match self {
            Arithmetic::Real => i128::from(now.0) << PLACES,
            Arithmetic::Ticks => i128::from(now.0 >> SHIFT),
        }
    }

    /// A length of time as a credit, rounded down.
    pub fn credit(self, length: Duration) -> i128 {
        self.clock(Time(length.0))
    }

    /// Converts a credit from one rate to another. Its bytes stay, rounded down. In ticks its time stays, as
    /// in the kernel.
    pub fn carried(self, credit: i128, from: Rate, to: Rate) -> i128 {
        match self {
            Arithmetic::Real if from != to => (credit as f64 * (from.0 / to.0)).floor() as i128,
            _ => credit,
        }
    }

    /// A credit in seconds.
    pub fn seconds(self, credit: i128) -> f64 {
        match self {
            Arithmetic::Real => credit as f64 / (1u128 << PLACES) as f64 / 1e9,
            Arithmetic::Ticks => credit as f64 * (1u64 << SHIFT) as f64 / 1e9,
        }
    }

    /// The first instant at which the clock shows `clock` or more.
    #[inline]
    pub fn instant(self, clock: i128) -> Time {
        match self {
            Arithmetic::Real => {
                let whole = (clock >> PLACES) + i128::from(clock as u64 != 0);
                u64::try_from(whole).map_or(Time::NEVER, Time)
            }
            Arithmetic::Ticks => u64::try_from(clock << SHIFT).map_or(Time::NEVER, Time),
        }
    }
}

/// How a token bucket counts.
pub const ARITHMETIC: Param = Param {
    name: "arithmetic",
    ty: Arithmetic::TYPE,
    default: Fallback::Text("real"),
    range: Range::ANY,
    source: "Linux 3.2 (ticks); since 3.10 the kernel counts nanoseconds, all but real",
    doc: "Real numbers, or Linux 3.2's whole ones: ticks of 64 ns, packets in cells of 8 bytes (larger for a larger mtu), \
          costs in whole microseconds.",
};

/// The cost of sending at a rate.
#[derive(Clone, Debug)]
pub enum Price {
    /// So much a byte.
    Byte(Fine),
    /// By a table of cells.
    Cells(Arc<Cells>),
}

/// iproute2's rate table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Bytes in a cell as a power of two.
    log: u32,
    /// Ticks of 1 to 256 cells.
    ticks: [u32; ENTRIES],
}

/// Ticks that `bytes` take at `rate`: in whole microseconds, then in whole ticks, both rounded down (iproute2 until 2025,
/// tc_core.c: `tc_calc_xmittime`).
pub fn ticks(rate: Rate, bytes: f64) -> u32 {
    let microseconds = (1e6 * (bytes / (rate.0 / 8.0))) as u32;
    (f64::from(microseconds) * TICKS_PER_MICROSECOND) as u32
}

impl Cells {
    /// The table of `rate` with the smallest cells that cover `mtu` bytes. No cell costs less than `mpu`
    /// bytes (iproute2: `tc_calc_rtable`).
    pub fn new(rate: Rate, mtu: u32, mpu: u32) -> Cells {
        let mut log = 0;
        while mtu >> log > 255 {
            log += 1;
        }
        let bytes = |i: usize| ((i as u32 + 1) << log).max(mpu);
        Cells { log, ticks: std::array::from_fn(|i| ticks(rate, f64::from(bytes(i)))) }
    }

    /// Ticks of a packet of `size` bytes, rounded up to whole cells; longer ones are put together (`qdisc_l2t`).
    #[inline]
    pub fn cost(&self, size: u32) -> i128 {
        let slot = size.saturating_sub(1) as usize >> self.log;
        let last = ENTRIES - 1;
        if slot <= last {
            return i128::from(self.ticks[slot]);
        }
        let whole = i128::from(self.ticks[last]) * (slot >> 8) as i128;
        whole + i128::from(self.ticks[slot & last])
    }

    /// The largest packet that costs at most `credit`, as sch_tbf works it out: a byte less than the cells would hold.
    pub fn affordable(&self, credit: i128) -> u64 {
        let cells = self.ticks.iter().take_while(|ticks| i128::from(**ticks) <= credit).count();
        ((cells as u64) << self.log).saturating_sub(1)
    }
}

impl Price {
    /// The price of `rate`; `mtu` decides on the size of the cells, if there are any.
    pub fn new(arithmetic: Arithmetic, rate: Rate, mtu: u32) -> Price {
        match arithmetic {
            Arithmetic::Real => Price::Byte(rate.byte_time()),
            Arithmetic::Ticks => Price::Cells(Arc::new(Cells::new(rate, mtu, 0))),
        }
    }

    /// The cost of a packet of `size` bytes.
    #[inline]
    pub fn cost(&self, size: u32) -> i128 {
        match self {
            Price::Byte(time) => (time.0 * u128::from(size)) as i128,
            Price::Cells(cells) => cells.cost(size),
        }
    }

    /// The largest packet that costs at most `credit`, bytes.
    pub fn affordable(&self, credit: i128) -> u64 {
        match self {
            Price::Byte(time) => (credit.max(0) as u128 / time.0.max(1)) as u64,
            Price::Cells(cells) => cells.affordable(credit),
        }
    }
}

/// The credit of a bucket of `bytes` bytes at `rate`.
pub fn depth(arithmetic: Arithmetic, rate: Rate, bytes: u64) -> i128 {
    match arithmetic {
        Arithmetic::Real => (rate.byte_time().0 * u128::from(bytes)) as i128,
        Arithmetic::Ticks => i128::from(ticks(rate, bytes as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_64_ns() {
        let a = Arithmetic::Ticks;
        assert_eq!([0, 63, 64, 1_000_000].map(|ns| a.clock(Time(ns))), [0, 0, 1, 15_625]);
        assert_eq!(a.instant(15_625), Time(1_000_000));
        assert_eq!(a.credit(Duration(60_000_000_000)), 937_500_000); // HTB's minute
    }

    #[test]
    fn a_real_credit_comes_neither_early_nor_late() {
        let a = Arithmetic::Real;
        assert_eq!(a.instant(a.clock(Time(7))), Time(7));
        assert_eq!(a.instant(a.clock(Time(7)) + 1), Time(8));
        assert_eq!(a.instant(a.clock(Time(7)) - 1), Time(7));
    }

    #[test]
    fn a_frame_costs_whole_cells() {
        // 8 Mbit/s is a byte a microsecond. 1514 bytes fill 190 cells of 8: 1520 us = 23750 ticks; 1512 fill 189: 23625.
        let cells = Cells::new(Rate(8e6), 1600, 0);
        assert_eq!(cells.log, 3);
        assert_eq!(
            [1, 8, 9, 1512, 1514, 1520].map(|n| cells.cost(n)),
            [125, 125, 250, 23_625, 23_750, 23_750]
        );
        // 3000 bytes: slot 2999 / 8 = 374 = 256 + 118: 2048 us and 119 cells = 952 us: 32000 + 14875.
        assert_eq!(cells.cost(3000), 46_875);
    }

    #[test]
    fn a_table_is_made_in_whole_microseconds() {
        // 4681.6 kbit/s: 1520 bytes take 2597.4 us, so 2597; times 15.625 is 40578.125, so 40578.
        assert_eq!(ticks(Rate(4_681_600.0), 1520.0), 40_578);
        assert_eq!(Cells::new(Rate(4_681_600.0), 1600, 0).cost(1514), 40_578);
    }

    #[test]
    fn no_cell_is_cheaper_than_the_smallest_packet() {
        // mpu 84: cells of 8 to 80 bytes cost 84 us = 1312.5 ticks, cut to 1312; that of 88 costs 88 us = 1375.
        let cells = Cells::new(Rate(8e6), 1600, 84);
        assert_eq!([1, 60, 80, 81, 88, 89].map(|n| cells.cost(n)), [1312, 1312, 1312, 1375, 1375, 1500]);
    }

    #[test]
    fn large_packets_need_large_cells() {
        assert_eq!(
            [255, 256, 1514, 2047, 2048, 9000].map(|mtu| Cells::new(Rate(1e6), mtu, 0).log),
            [0, 1, 3, 3, 4, 6]
        );
    }

    #[test]
    fn what_a_credit_affords() {
        // Ticks: 1600 us pay for 200 cells, and the kernel takes a byte off. Real: bytes are what they are.
        let cells = Price::new(Arithmetic::Ticks, Rate(8e6), 1600);
        assert_eq!(cells.affordable(depth(Arithmetic::Ticks, Rate(8e6), 1600)), 1599);
        assert_eq!(cells.affordable(i128::from(u32::MAX)), 2047);
        assert_eq!(cells.affordable(0), 0);
        let real = Price::new(Arithmetic::Real, Rate(3e6), 1600);
        assert_eq!(real.affordable(depth(Arithmetic::Real, Rate(3e6), 1600)), 1600);
        assert_eq!(real.affordable(real.cost(1514) - 1), 1513);
    }
}
