//! Transfers: what applications ask of the network and wait for. How many are started, completed, abandoned and failed, how
//! many are in progress, and how long they take.

use evenflow_base::{Duration, Heap, Time};
use evenflow_traffic::Transfer;

use crate::measure::{Bins, Moments, Window, bin_of, edge, quantile};

/// log2 of the bins of an octave: a bin is 0.27 % wide, interpolated when read.
const BIN_BITS: u32 = 8;

/// Times of a group's transfers: mean, deviation and quantiles.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Mean and deviation.
    pub moments: Moments,
    min: Duration,
    max: Duration,
    /// Counts by bin, as far as there are any.
    bins: Vec<u32>,
}

impl Times {
    /// Adds one.
    pub fn add(&mut self, time: Duration) {
        self.min = if self.moments.count == 0 { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.moments.add(time);
        let bin = bin_of::<BIN_BITS>(time.0);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }

    /// The time that a share `q` does not exceed, seconds.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let counts = self.bins.iter().map(|n| u64::from(*n));
        quantile(counts, self.moments.count, q, (self.min, self.max), edge::<BIN_BITS>)
    }

    /// The bins that are not empty.
    pub fn bins(&self) -> Bins {
        let counts: Vec<u64> = self.bins.iter().map(|n| u64::from(*n)).collect();
        Bins::of(&[counts.as_slice()], edge::<BIN_BITS>)
    }

    /// The longest, seconds.
    pub fn longest(&self) -> Option<f64> {
        (self.moments.count > 0).then(|| self.max.seconds())
    }
}

/// Totals of one user's transfers in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Started.
    pub started: u64,
    /// Completed.
    pub completed: u64,
    /// Given up by the application.
    pub abandoned: u64,
    /// Broken off by the network.
    pub failed: u64,
    /// Application bytes of those completed.
    pub bytes: u64,
    /// Nanoseconds that those completed took, in all.
    pub completion: u64,
}

/// The transfers of a group.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// By user.
    pub users: Vec<Sums>,
    /// From start to first byte, of transfers completed in the window.
    pub first_byte: Times,
    /// From start to last byte, of the same.
    pub completion: Times,
    /// In progress now.
    progressing: u64,
    /// Since when.
    since: Time,
    /// Transfers in progress times nanoseconds, in the window.
    time: u64,
}

impl Transfers {
    /// Of a group of `users`, none started.
    pub fn new(users: usize) -> Transfers {
        Transfers { users: vec![Sums::default(); users], ..Transfers::default() }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.users.heap_bytes() + self.first_byte.bins.heap_bytes() + self.completion.bins.heap_bytes()
    }

    /// Brings the time integral up to `now`.
    pub fn advance(&mut self, now: Time, window: &Window) {
        self.time += self.progressing * window.overlap(self.since, now);
        self.since = now;
    }

    /// Something became of one of a user's.
    pub fn note(&mut self, user: usize, what: Transfer, now: Time, window: &Window) {
        self.advance(now, window);
        match what {
            Transfer::Started => self.progressing += 1,
            _ => self.progressing -= 1,
        }
        if !window.holds(now) {
            return;
        }
        let sums = &mut self.users[user];
        match what {
            Transfer::Started => sums.started += 1,
            Transfer::Completed { bytes, first_byte, took } => {
                sums.completed += 1;
                sums.bytes += bytes;
                sums.completion += took.0;
                self.completion.add(took);
                if let Some(first) = first_byte {
                    self.first_byte.add(first);
                }
            }
            Transfer::Abandoned => sums.abandoned += 1,
            Transfer::Failed => sums.failed += 1,
        }
    }

    /// Their mean number in progress in a window of `length`.
    pub fn in_progress(&self, length: Duration) -> Option<f64> {
        (length.0 > 0).then(|| self.time as f64 / length.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { from: Time(1_000), to: Time(2_000) };

    fn done(took: u64) -> Transfer {
        Transfer::Completed { bytes: 10, first_byte: Some(Duration(took / 2)), took: Duration(took) }
    }

    #[test]
    fn counts_are_of_the_window_and_times_of_those_that_end_in_it() {
        let mut t = Transfers::new(2);
        t.note(0, Transfer::Started, Time(400), &WINDOW);
        t.note(0, done(200), Time(600), &WINDOW); // before the window
        t.note(0, Transfer::Started, Time(500), &WINDOW);
        t.note(0, done(1_000), Time(1_500), &WINDOW); // ends in it, started before
        t.note(1, Transfer::Started, Time(1_600), &WINDOW);
        t.note(1, Transfer::Abandoned, Time(1_700), &WINDOW);
        t.note(1, Transfer::Started, Time(1_750), &WINDOW);
        t.note(1, Transfer::Failed, Time(1_800), &WINDOW);
        t.note(1, Transfer::Started, Time(1_900), &WINDOW); // still in progress
        t.advance(Time(2_000), &WINDOW);
        assert_eq!(t.users[0], Sums { completed: 1, bytes: 10, completion: 1_000, ..Sums::default() });
        assert_eq!(t.users[1], Sums { started: 3, abandoned: 1, failed: 1, ..Sums::default() });
        assert_eq!((t.completion.moments.count, t.first_byte.moments.count), (1, 1));
        // 500 of the first, 100, 50 and 100 of the others, of 1000 ns.
        assert_eq!(t.in_progress(Duration(1_000)), Some(0.75));
    }

    #[test]
    fn quantiles_are_within_a_bin() {
        let mut times = Times::default();
        for ms in 1..=1_000u64 {
            times.add(Duration::from_millis(ms));
        }
        for q in [0.5, 0.95, 0.99] {
            let measured = times.quantile(q).unwrap();
            assert!((measured / q - 1.0).abs() < 0.003, "{q}: {measured}");
        }
        assert_eq!((times.quantile(1.0), times.longest()), (Some(1.0), Some(1.0)));
        assert_eq!(Times::default().quantile(0.5), None);
    }
}
