//! Counters of a link: exact integrals over the measuring window.
//!
//! Times are clipped to the window and added when they are known, for a FIFO that decides on arrival at the
//! acceptance of a packet.

use evenflow_base::{Duration, Heap, Reason, Time};

/// The measuring window.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its start (the end of the warm-up).
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Window {
    /// The part of `[a, b]` inside the window.
    #[inline]
    pub fn overlap(&self, a: Time, b: Time) -> u64 {
        if a >= self.from && b <= self.to {
            return b.0 - a.0;
        }
        let clip = |t: Time| t.0.clamp(self.from.0, self.to.0);
        clip(b) - clip(a)
    }

    /// Whether an event at `t` counts. The end of the warm-up belongs to the warm-up.
    #[inline]
    pub fn holds(&self, t: Time) -> bool {
        t <= self.to && (t > self.from || self.from == Time::ZERO)
    }
}

/// log2 of the bins of an octave of a delay histogram: a bin is 4.4 % wide, interpolated when read.
const BIN_BITS: u32 = 4;

/// Bins in all: 60 octaves.
const ALL_BINS: usize = 60 << BIN_BITS;

/// A histogram of durations with logarithmic bins.
#[derive(Clone, Debug)]
pub struct Delays {
    bins: Box<[u64; ALL_BINS]>,
    /// The longest.
    pub max: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Delays { bins: Box::new([0; ALL_BINS]), max: Duration::ZERO }
    }
}

impl Delays {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        self.bins[bin_of::<BIN_BITS>(delay.0).min(ALL_BINS - 1)] += 1;
        self.max = self.max.max(delay);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The duration that a share `q` does not exceed, seconds. Its error is less than a bin: 6.25 %.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        quantile(self.bins.iter().copied(), self.count(), q, (Duration::ZERO, self.max), edge::<BIN_BITS>)
    }

    /// The bins that are not empty.
    pub fn bins(&self) -> Bins {
        Bins::of(&[&self.bins[..]], edge::<BIN_BITS>)
    }
}

/// Bins of one or several histograms that are not empty in all. Their edges are fixed, so bins of two runs can be
/// merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// Where each begins, seconds.
    pub low: Vec<f64>,
    /// Where each ends, seconds.
    pub high: Vec<f64>,
    /// By histogram: the count of each.
    pub counts: Vec<Vec<u64>>,
}

impl Bins {
    /// Those of `histograms`; `edge` returns where a bin begins, ns.
    pub fn of(histograms: &[&[u64]], edge: fn(usize) -> f64) -> Bins {
        let all = histograms.iter().map(|bins| bins.len()).max().unwrap_or(0);
        let count = |bins: &[u64], bin: usize| bins.get(bin).copied().unwrap_or(0);
        let used: Vec<usize> =
            (0..all).filter(|bin| histograms.iter().any(|bins| count(bins, *bin) > 0)).collect();
        let at = |shift: usize| used.iter().map(|bin| edge(bin + shift) / 1e9).collect();
        let counts = histograms.iter().map(|bins| used.iter().map(|bin| count(bins, *bin)).collect());
        Bins { low: at(0), high: at(1), counts: counts.collect() }
    }
}

/// The duration that a share `q` of all `count` does not exceed, seconds; `bins` are counts of durations by bin, none is shorter
/// than `min` or longer than `max`, and `edge` says where a bin begins.
pub fn quantile(
    bins: impl Iterator<Item = u64>,
    count: u64,
    q: f64,
    (min, max): (Duration, Duration),
    edge: fn(usize) -> f64,
) -> Option<f64> {
    if count == 0 {
        return None;
    }
    let wanted = q * count as f64;
    let mut below = 0.0;
    for (bin, n) in bins.enumerate() {
        let here = n as f64;
        if here > 0.0 && below + here >= wanted {
            let (low, high) = (edge(bin).max(min.0 as f64), edge(bin + 1).min(max.0 as f64));
            let inside = ((wanted - below) / here).clamp(0.0, 1.0);
            return Some((low + (high - low).max(0.0) * inside) / 1e9);
        }
        below += here;
    }
    Some(max.seconds())
}

/// The bin of a duration: those below 2^`BITS` ns have a bin each; from there an octave has 2^`BITS`.
#[inline]
pub fn bin_of<const BITS: u32>(ns: u64) -> usize {
    if ns < 1 << BITS {
        return ns as usize;
    }
    let octave = ns.ilog2();
    let fraction = (ns >> (octave - BITS)) as usize & ((1 << BITS) - 1);
    ((octave - BITS + 1) as usize) << BITS | fraction
}

/// Where a bin begins, ns.
pub fn edge<const BITS: u32>(bin: usize) -> f64 {
    let (octave, fraction) = (bin >> BITS, bin & ((1 << BITS) - 1));
    if octave == 0 {
        return fraction as f64;
    }
    ((1 << BITS) + fraction) as f64 * (1u64 << (octave - 1)) as f64
}

/// Sum, sum of squares and count of delays, for mean and deviation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// Nanoseconds.
    sum: u64,
    /// Square nanoseconds; whole, so that the order of packets does not matter.
    squares: u128,
    /// How many.
    pub count: u64,
}

impl Moments {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        self.count += 1;
        if delay > Duration::ZERO {
            self.add_time(delay);
        }
    }

    /// Adds the time of one that is counted already.
    #[inline(always)]
    pub(crate) fn add_time(&mut self, delay: Duration) {
        self.sum += delay.0;
        self.squares += u128::from(delay.0) * u128::from(delay.0);
    }

    /// Adds all of `other`.
    fn join(&mut self, other: &Moments) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Takes all of `other` away.
    fn remove(&mut self, other: &Moments) {
        self.count -= other.count;
        self.sum -= other.sum;
        self.squares -= other.squares;
    }

    /// Mean in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / 1e9 / self.count as f64)
    }

    /// Standard deviation of the population, seconds.
    pub fn deviation(&self) -> Option<f64> {
        self.mean().map(|m| (self.squares as f64 / 1e18 / self.count as f64 - m * m).max(0.0).sqrt())
    }
}

/// Common counters of all copies of one link in one direction.
#[derive(Clone, Debug)]
pub struct SideCounters {
    /// Waiting times of packets whose transmission began in the window.
    pub delays: Delays,
    /// Counters by traffic class.
    pub by_class: Vec<ClassCounters>,
    /// Packets accepted later may count by the short cut: the start of the window, or never where classes have
    /// histograms.
    pub whole_from: Time,
    /// The same as `delays` by traffic class, where a histogram asks for it; else empty.
    pub class_delays: Vec<Delays>,
    /// Offered in the whole run.
    pub all_offered: u64,
    /// Dropped in the whole run.
    pub all_dropped: u64,
    /// Handed over at the far end in the whole run.
    pub all_delivered: u64,
    /// Arrivals at the far end that were an event.
    pub events: u64,
}

impl SideCounters {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let histograms = 1 + self.class_delays.len() as u64;
        histograms * size_of_val(&*self.delays.bins) as u64
            + self.class_delays.heap_bytes()
            + self.by_class.heap_bytes()
    }

    /// All zero, for a window that begins at `from`. `histograms`: delays by class too.
    pub fn new(classes: usize, from: Time, histograms: bool) -> SideCounters {
        SideCounters {
            delays: Delays::default(),
            by_class: vec![ClassCounters::default(); classes],
            class_delays: vec![Delays::default(); if histograms { classes } else { 0 }],
            whole_from: if histograms { Time::NEVER } else { from },
            all_offered: 0,
            all_dropped: 0,
            all_delivered: 0,
            events: 0,
        }
    }

    /// Adds the counters of a copy. [`SideCounters::complete`] follows.
    pub fn join(&mut self, copy: &PortCounters) {
        let first = &mut self.by_class[0];
        first.waits.join(&copy.waits);
        first.whole += copy.waits.count - copy.clipped;
    }

    /// Derives the counters that are not kept packet by packet: those of class 0, and zero waits.
    pub fn complete(&mut self) {
        let [first, others @ ..] = &mut self.by_class[..] else { return };
        self.delays.bins[0] = first.waits.count - self.delays.bins[1..].iter().sum::<u64>();
        for other in others {
            first.waits.remove(&other.waits);
            first.whole -= other.whole;
        }
    }

    /// Packets offered in the window.
    pub fn arrived(&self) -> u64 {
        self.by_class.iter().map(ClassCounters::arrived).sum()
    }

    /// Packets whose transmission ended in the window.
    pub fn delivered(&self) -> u64 {
        self.by_class.iter().map(ClassCounters::delivered).sum()
    }

    /// Drops in the window, by reason.
    pub fn drops(&self) -> Reasons {
        self.sum(|class| &class.drops)
    }

    /// Marks in the window, by reason.
    pub fn marks(&self) -> Reasons {
        self.sum(|class| &class.marks)
    }

    fn sum(&self, of: impl Fn(&ClassCounters) -> &Reasons) -> Reasons {
        std::array::from_fn(|reason| self.by_class.iter().map(|class| of(class)[reason]).sum())
    }
}

/// Counts by reason.
pub type Reasons = [u64; Reason::ALL.len()];

/// Counters of one traffic class on a link, in the window. Those of class 0 need [`SideCounters::complete`].
#[derive(Clone, Copy, Debug)]
pub struct ClassCounters {
    /// Waiting times of packets whose transmission began in the window.
    pub waits: Moments,
    /// Packets that were offered, and whose transmission ended, in the window: nearly all, counted once.
    pub whole: u64,
    /// Other packets that were offered in the window.
    pub other_arrived: u64,
    /// Other packets whose transmission ended in the window.
    pub other_delivered: u64,
    /// Drops, by reason.
    pub drops: Reasons,
    /// Marks, by reason.
    pub marks: Reasons,
}

impl Default for ClassCounters {
    fn default() -> ClassCounters {
        let none = [0; Reason::ALL.len()];
        let (waits, whole, other_arrived, other_delivered) = Default::default();
        ClassCounters { waits, whole, other_arrived, other_delivered, drops: none, marks: none }
    }
}

impl ClassCounters {
    /// Packets offered in the window.
    pub fn arrived(&self) -> u64 {
        self.whole + self.other_arrived
    }

    /// Packets whose transmission ended in the window.
    pub fn delivered(&self) -> u64 {
        self.whole + self.other_delivered
    }
}

/// Counters of one copy of a link in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounters {
    /// Waiting packets times nanoseconds in the window, less the sum of `waits`; may wrap.
    pub(crate) other_queue_time: u64,
    /// Nanoseconds of transmission in the window.
    pub busy: u64,
    /// Waiting times of packets whose transmission began in the window.
    pub waits: Moments,
    /// Those of them that are not counted whole.
    pub(crate) clipped: u64,
    /// Bytes offered in the whole run.
    pub arrived_bytes: u64,
    /// Bytes handed over at the far end, where a series asks for them.
    pub delivered_bytes: u64,
    /// Packets handed over at the far end, where a series asks for them.
    pub delivered: u64,
    /// Packets dropped in the whole run.
    pub drops: u64,
    /// Packets marked in the whole run.
    pub marks: u64,
}

impl PortCounters {
    /// Waiting packets times nanoseconds, in the window.
    pub fn queue_time(&self) -> u64 {
        self.waits.sum.wrapping_add(self.other_queue_time)
    }

    /// Adds to it, for a packet that is not in `waits`.
    pub(crate) fn add_queue_time(&mut self, time: u64) {
        self.other_queue_time = self.other_queue_time.wrapping_add(time);
    }
}

/// Time spent at each queue length, in the window.
#[derive(Debug, Default)]
pub struct Lengths {
    /// Nanoseconds by length.
    pub time: Vec<u64>,
    last: Time,
}

impl Lengths {
    /// The length was `length` until `now`.
    #[inline(never)]
    pub fn advance(&mut self, length: u32, now: Time, window: &Window) {
        let length = length as usize;
        if self.time.len() <= length {
            self.time.resize(length + 1, 0);
        }
        self.time[length] += window.overlap(self.last, now);
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_clipped_to_the_window() {
        let w = Window { from: Time(100), to: Time(200) };
        assert_eq!(w.overlap(Time(50), Time(150)), 50);
        assert_eq!(w.overlap(Time(120), Time(150)), 30);
        assert_eq!(w.overlap(Time(150), Time(900)), 50);
        assert_eq!(w.overlap(Time(0), Time(99)), 0);
        assert!(!w.holds(Time(100)) && w.holds(Time(101)) && w.holds(Time(200)) && !w.holds(Time(201)));
    }

    #[test]
    fn bins_have_edges_that_contain_their_values() {
        for ns in (0..2000u64).chain([12_345, 999_999_999, 1 << 40]) {
            let bin = bin_of::<4>(ns);
            assert!(edge::<4>(bin) <= ns as f64 && (ns as f64) < edge::<4>(bin + 1), "{ns} in bin {bin}");
        }
    }

    #[test]
    fn a_quantile_is_within_a_bin() {
        let mut d = Delays::default();
        for ms in 1..=1000u64 {
            d.add(Duration::from_millis(ms));
        }
        let p99 = d.quantile(0.99).unwrap();
        assert!((p99 / 0.99 - 1.0).abs() < 0.03, "{p99}");
        assert_eq!(d.quantile(1.0), Some(1.0));
    }

    /// 99 of 100 packets wait 1 ms, one 50 ms: 99 % wait no longer than 1 ms, whatever lies beyond the gap.
    #[test]
    fn a_quantile_before_a_gap_is_before_it() {
        let mut d = Delays::default();
        (0..99).for_each(|_| d.add(Duration::from_millis(1)));
        d.add(Duration::from_millis(50));
        let p99 = d.quantile(0.99).unwrap();
        assert!((0.00097..=0.00104).contains(&p99), "{p99}");
        assert!(d.quantile(0.991).unwrap() > 0.047);
    }

    #[test]
    fn moments_by_hand() {
        let mut m = Moments::default();
        m.add(Duration::from_millis(1000));
        m.add(Duration::from_millis(3000));
        assert_eq!((m.mean(), m.deviation()), (Some(2.0), Some(1.0)));
    }
}
