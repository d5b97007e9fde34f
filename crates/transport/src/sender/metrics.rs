//! What a connection leaves behind for the next one to the same host (Linux's route metrics, as Linux 3.2 keeps them).
//!
//! A scenario gives them as the lines `cached_ssthresh`, `cached_reordering` and `cached_srtt`; who runs connections one after
//! another carries [`Metrics`] from one to the next by [`Metrics::learn`] and [`Metrics::apply`]. The window itself is never
//! kept.

use evenflow_base::Duration;

use crate::Profile;

use super::{Recovery, Sender};

/// The cache of one destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Slow-start threshold, segments.
    pub ssthresh: Option<u32>,
    /// Reordering, segments.
    pub reordering: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
}

impl Metrics {
    /// What a profile's connections begin with.
    pub fn of(profile: &Profile) -> Metrics {
        Metrics {
            ssthresh: profile.cached_ssthresh,
            reordering: profile.cached_reordering,
            srtt: profile.cached_srtt,
        }
    }

    /// A profile whose connections begin with these.
    pub fn apply(&self, profile: &Profile) -> Profile {
        Profile {
            cached_ssthresh: self.ssthresh,
            cached_reordering: self.reordering,
            cached_srtt: self.srtt,
            ..profile.clone()
        }
    }

    /// An orderly close. The round-trip time is taken over where it is longer, and approached by an eighth where it is
    /// shorter. Where slow start was never left, a threshold that is known rises to half the window; in congestion avoidance
    /// it is half the window or the threshold, whichever is more; otherwise one that is known rises to the threshold.
    pub fn learn(&mut self, sender: &Sender, profile: &Profile) {
        let mss = profile.segment();
        let window = sender.window();
        let segments = |bytes: f64| (bytes / mss) as u32;
        if let Some(srtt) = sender.smoothed_rtt() {
            let known = self.srtt;
            self.srtt = if srtt >= known { srtt } else { Duration(known.0 - (known.0 - srtt.0) / 8) };
        }
        let half = segments(window.cwnd) >> 1;
        if window.ssthresh.is_infinite() {
            self.ssthresh = self.ssthresh.map(|known| known.max(half));
        } else if window.cwnd > window.ssthresh && sender.recovery() == Recovery::Open {
            self.ssthresh = Some(half.max(segments(window.ssthresh)));
        } else {
            self.ssthresh = self.ssthresh.map(|known| known.max(segments(window.ssthresh)));
        }
        if let Some(seen) = sender.reordering().filter(|seen| *seen > profile.duplicate_threshold) {
            self.reordering = Some(self.reordering.map_or(seen, |known| known.max(seen)));
        }
    }
}
