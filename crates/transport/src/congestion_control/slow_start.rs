//! Slow start (RFC 5681 section 3.1), and how it ends when nothing is lost.

use evenflow_base::{Duration, Time};

use crate::profile;

use super::hystart::{Hystart, HystartPlusPlus, MOST_SEGMENTS};
use super::search::Search;
use super::{Acked, Signal, Window};

/// How slow start ends when nothing is lost.
#[derive(Clone, Debug)]
enum Exit {
    Standard,
    Hystart(Hystart),
    HystartPlusPlus(HystartPlusPlus),
    Search(Box<Search>),
}

/// Slow start with one of these exits, for CUBIC and NewReno.
#[derive(Clone, Debug)]
pub struct SlowStart {
    exit: Exit,
    /// Most segments by which one ACK opens the window in plain slow start.
    most: Option<u32>,
    /// Smoothed round-trip time, seconds (RFC 6298 section 2.3: gain 1/8).
    pub(super) smoothed: Option<f64>,
    /// Least round-trip time (Linux's `delay_min`).
    pub(super) least: Option<Duration>,
}

impl SlowStart {
    pub(super) fn new(exit: profile::SlowStart, most: Option<u32>) -> SlowStart {
        let exit = match exit {
            profile::SlowStart::Standard => Exit::Standard,
            profile::SlowStart::Hystart => Exit::Hystart(Hystart::default()),
            profile::SlowStart::HystartPlusPlus => Exit::HystartPlusPlus(HystartPlusPlus::default()),
            profile::SlowStart::Search => Exit::Search(Box::default()),
            profile::SlowStart::SearchDrain => Exit::Search(Box::new(Search::new(true))),
        };
        SlowStart { exit, most, smoothed: None, least: None }
    }

    /// The round-trip time of an ACK, in an epoch that `began` then.
    pub(super) fn sample(&mut self, acked: &Acked, began: Option<Time>) {
        let Some(rtt) = acked.rtt else { return };
        let seconds = rtt.seconds();
        self.smoothed = Some(self.smoothed.map_or(seconds, |known| known + (seconds - known) / 8.0));
        if began.is_none_or(|began| acked.now.since(began) >= UNSETTLED) {
            let rtt = rtt.max(Duration(1000)); // Linux counts microseconds, at least one
            self.least = Some(self.least.map_or(rtt, |known| known.min(rtt)));
        }
    }

    pub(super) fn on_congestion_event(&mut self, signal: Signal) {
        match &mut self.exit {
            Exit::HystartPlusPlus(hystart) => hystart.finish(),
            Exit::Hystart(hystart) if signal == Signal::Timeout => hystart.reset(),
            Exit::Search(search) => search.reset(),
            _ => {}
        }
    }

    /// Slow start by at most `bytes`; gives the bytes used up.
    pub(super) fn grow(&mut self, w: &mut Window, acked: &Acked, bytes: f64) -> f64 {
        let plain = self.most.map_or(f64::INFINITY, |n| f64::from(n) * acked.mss);
        if let Exit::Search(search) = &mut self.exit
            && let Some(used) = search.step(w, acked, bytes)
        {
            return used;
        }
        match &mut self.exit {
            Exit::Hystart(hystart) => {
                if let (Some(rtt), Some(least)) = (acked.rtt, self.least) {
                    let smoothed = Duration::from_seconds(self.smoothed.unwrap_or(0.0));
                    if hystart.leaves(acked, rtt, least, w.cwnd / acked.mss, smoothed) {
                        w.ssthresh = w.cwnd;
                        return 0.0;
                    }
                }
            }
            Exit::HystartPlusPlus(hystart) if !hystart.is_over() => {
                if hystart.leaves(acked) {
                    w.ssthresh = w.cwnd;
                    return 0.0;
                }
                // RFC 9406 section 4.2: min(N, L SMSS), in the conservative phase a quarter of it.
                let divisor = hystart.divisor();
                let most = MOST_SEGMENTS * acked.mss / divisor;
                return (slow_start(w, bytes / divisor, most) * divisor).min(bytes);
            }
            _ => {}
        }
        slow_start(w, bytes, plain)
    }
}

/// Linux takes no least round-trip time from the first second after a recovery.
const UNSETTLED: Duration = Duration::from_millis(1000);

/// Slow start by `bytes` newly acknowledged, at most `most` (RFC 5681 equation 2); gives the bytes used up.
/// Those beyond `most` count as used; those beyond ssthresh do not.
#[inline]
pub fn slow_start(w: &mut Window, bytes: f64, most: f64) -> f64 {
    let step = bytes.min(most).min(w.ssthresh - w.cwnd);
    w.cwnd += step;
    if w.cwnd < w.ssthresh { bytes } else { step }
}
