//! Counters of flows and stages in the measuring window. Links have separate counters.

use evenflow_base::{Duration, Heap, Reason, Time};
pub use evenflow_link::counters::{
    Bins, Moments, PortCounters, SideCounters, Window, bin_of, edge, quantile,
};

/// Common counters of all copies of a stage.
#[derive(Clone, Debug)]
pub struct StageCounters {
    /// The stage's name.
    pub name: String,
    /// Drops in the window, forward and backward, by reason.
    pub drops: [[u64; Reason::ALL.len()]; 2],
    /// Marks, the same.
    pub marks: [[u64; Reason::ALL.len()]; 2],
    /// Packets sent by the stage in the window, and their bytes.
    pub sent: (u64, u64),
    /// Dropped in the whole run.
    pub all_dropped: u64,
}

impl StageCounters {
    /// Of a stage without packets.
    pub fn new(name: &str) -> StageCounters {
        let none = [[0; Reason::ALL.len()]; 2];
        StageCounters { name: name.into(), drops: none, marks: none, sent: (0, 0), all_dropped: 0 }
    }
}

/// log2 of the bins of an octave: a bin is at most 1/128 of its delays wide, interpolated when read.
const BIN_BITS: u32 = 7;

/// Bits of a float's mantissa below those that choose a bin.
const BELOW: u32 = f64::MANTISSA_DIGITS - 1 - BIN_BITS;

/// Added to nanoseconds, so that bins begin at zero and those of the shortest delays are one nanosecond wide.
const SHIFT: u64 = 1 << BIN_BITS;

/// Number of the bin of zero among floats.
const FIRST: u64 = (SHIFT as f64).to_bits() >> BELOW;

/// The bin of a duration: exponent and first bits of the mantissa of a float, which is faster than by whole numbers.
#[inline(always)]
fn fine_bin(ns: u64) -> usize {
    (((ns + SHIFT) as i64 as f64).to_bits() >> BELOW).wrapping_sub(FIRST) as usize
}

/// Where a bin begins, ns.
fn fine_edge(bin: usize) -> f64 {
    f64::from_bits((bin as u64 + FIRST) << BELOW) - SHIFT as f64
}

/// A histogram of durations, with their exact mean and maximum.
#[derive(Clone, Debug)]
pub struct Durations {
    /// Counts by bin, up to that of the longest.
    bins: Vec<u64>,
    sum: u64,
    /// The shortest in ns, and how much longer the longest is.
    min: u64,
    span: u64,
}

impl Default for Durations {
    fn default() -> Durations {
        Durations { bins: Vec::new(), sum: 0, min: u64::MAX, span: 0 }
    }
}

impl Durations {
    /// Adds one.
    #[inline(always)]
    pub fn add(&mut self, time: Duration) {
        if time.0.wrapping_sub(self.min) > self.span {
            self.extend(time.0);
        }
        self.sum += time.0;
        self.bins[fine_bin(time.0)] += 1;
    }

    /// One that is shorter or longer than all others.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, ns: u64) {
        let max = if self.bins.is_empty() { ns } else { ns.max(self.min + self.span) };
        self.min = self.min.min(ns);
        self.span = max - self.min;
        let bins = (fine_bin(max) + 1).next_multiple_of(1 << BIN_BITS);
        if bins > self.bins.len() {
            self.bins.resize(bins, 0);
        }
    }

    fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Mean, seconds.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / 1e9 / count as f64)
    }

    /// The time that a share `q` does not exceed, seconds.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let ends = (Duration(self.min), Duration(self.min.saturating_add(self.span)));
        quantile(self.bins.iter().copied(), self.count(), q, ends, fine_edge)
    }

    /// Mean of the shortest share `of` them, seconds, as if they were uniform in their bins.
    pub fn mean_of_shortest(&self, of: f64) -> Option<f64> {
        let wanted = of * self.count() as f64;
        let Bins { low, high, counts } = Durations::bins(std::slice::from_ref(self));
        let (mut left, mut sum) = (wanted, 0.0);
        for ((low, high), count) in low.iter().zip(&high).zip(counts.first()?) {
            let (count, taken) = (*count as f64, left.min(*count as f64));
            sum += taken * (low + (high - low) * taken / count / 2.0);
            left -= taken;
        }
        (wanted > 0.0).then(|| sum / wanted)
    }

    /// The longest, seconds.
    pub fn longest(&self) -> Option<f64> {
        (!self.bins.is_empty()).then(|| Duration(self.min + self.span).seconds())
    }

    /// The bins that are not empty, of one or several.
    pub fn bins(all: &[Durations]) -> Bins {
        Bins::of(&all.iter().map(|one| one.bins.as_slice()).collect::<Vec<_>>(), fine_edge)
    }
}

impl Heap for Durations {
    fn heap_bytes(&self) -> u64 {
        self.bins.heap_bytes()
    }
}

/// Delays of a group in the window.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// One-way delays of its data packets.
    pub one_way: Durations,
    /// The same by user or class, where a histogram asks for it.
    pub parts: Option<Box<Parts>>,
    /// Samples of the round-trip time.
    pub rtt: Durations,
}

/// One-way delays of the parts of a group.
#[derive(Clone, Debug)]
pub struct Parts {
    /// By user, if asked for.
    pub users: Vec<Durations>,
    /// By traffic class, if asked for.
    pub classes: Vec<Durations>,
    /// The machine of the first user.
    pub first_host: u32,
}

impl Parts {
    #[inline(never)]
    fn add(&mut self, host: u32, class: u8, delay: Duration) {
        if let Some(user) = self.users.get_mut((host - self.first_host) as usize) {
            user.add(delay);
        }
        if let Some(own) = self.classes.get_mut(usize::from(class)) {
            own.add(delay);
        }
    }
}

impl Delays {
    /// A data packet of this class arrived, of the user with machine `host`.
    #[inline(always)]
    pub fn arrived(&mut self, host: u32, class: u8, delay: Duration) {
        self.one_way.add(delay);
        if let Some(parts) = &mut self.parts {
            parts.add(host, class, delay);
        }
    }

    /// By user, if asked for.
    pub fn users(&self) -> &[Durations] {
        self.parts.as_ref().map_or(&[], |parts| &parts.users)
    }

    /// Of a traffic class, if asked for.
    pub fn class(&self, class: usize) -> Option<&Durations> {
        self.parts.as_ref()?.classes.get(class)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let lists = self.parts.iter().flat_map(|parts| [&parts.users, &parts.classes]);
        let parts = lists.map(|list| list.heap_bytes() + list.iter().map(Heap::heap_bytes).sum::<u64>());
        self.one_way.heap_bytes() + self.rtt.heap_bytes() + parts.sum::<u64>()
    }
}

/// Counters of one flow in the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCounters {
    /// Data packets that reached the end of the path.
    pub delivered: u64,
    /// Of those, with a congestion mark.
    pub marks: u64,
    /// Their bytes.
    pub throughput_bytes: u64,
    /// Data packets dropped on the path.
    pub losses: u64,
    /// Data packets sent.
    pub sent: u64,
    /// Of those, sent before.
    pub retransmits: u64,
    /// Application bytes received before the window.
    pub received_before: u64,
    /// Application bytes received in the window by flows that were modelled after this one and are over.
    pub received_by_others: u64,
}

impl FlowCounters {
    /// Adds what a flow has counted that was modelled after this one, and how many application bytes reached it in the window.
    pub fn add(&mut self, of: &FlowCounters, received: u64) {
        self.delivered += of.delivered;
        self.marks += of.marks;
        self.throughput_bytes += of.throughput_bytes;
        self.losses += of.losses;
        self.sent += of.sent;
        self.retransmits += of.retransmits;
        self.received_by_others += received;
    }
}

/// Time integrals of a congestion window over the part of the window in which the connection is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowMeter {
    last: Time,
    /// Bytes times nanoseconds.
    pub bytes_time: f64,
    /// Nanoseconds open.
    pub open: u64,
    /// Nanoseconds at the floor of one segment.
    pub at_floor: u64,
}

impl WindowMeter {
    /// It does not run before [`WindowMeter::skip`] starts it.
    pub const IDLE: WindowMeter = WindowMeter { last: Time::NEVER, bytes_time: 0.0, open: 0, at_floor: 0 };

    /// Whether it has not been started.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.last == Time::NEVER
    }

    /// With integrals that are known.
    pub fn of((bytes_time, open, at_floor): (u128, u64, u64)) -> WindowMeter {
        WindowMeter { last: Time::ZERO, bytes_time: bytes_time as f64, open, at_floor }
    }

    /// The window was `bytes` since the last call; call before it changes.
    #[inline]
    pub fn advance(&mut self, bytes: f64, mss: f64, now: Time, window: &Window) {
        let passed = window.overlap(self.last, now);
        self.last = now;
        self.bytes_time += bytes * passed as i64 as f64; // from a signed number it is one instruction
        self.open += passed;
        if bytes <= mss {
            self.at_floor += passed;
        }
    }

    /// Stops until [`WindowMeter::skip`] starts it again.
    pub fn stop(&mut self) {
        self.last = Time::NEVER;
    }

    /// The connection was not open since the last call.
    pub fn skip(&mut self, now: Time) {
        self.last = now;
    }
}
