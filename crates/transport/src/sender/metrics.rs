//! Metrics that a connection saves for the next one to the same host (Linux 3.2's route metrics).
//!
//! A scenario gives them as `cached_ssthresh`, `cached_reordering`, `cached_srtt` and `cached_rttvar`. With
//! `save_metrics` a user's connections share them in their profile. It is read at the end of a handshake and
//! written at the end of a connection ([`Metrics::learn`], [`Metrics::keep`]). The window is never saved.

use evenflow_base::Duration;

use crate::Profile;
use crate::profile::LossDetection;

use super::{Recovery, Sender};

/// The cache of one destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Slow-start threshold, segments.
    pub ssthresh: Option<u32>,
    /// Reordering, segments.
    pub reordering: Option<u32>,
    /// Smoothed round-trip time; zero: not known.
    pub srtt: Duration,
    /// Its mean deviation.
    pub rttvar: Duration,
}

impl Metrics {
    /// Initial metrics of a profile's connections.
    pub fn of(profile: &Profile) -> Metrics {
        Metrics {
            ssthresh: profile.cached_ssthresh,
            reordering: profile.cached_reordering,
            srtt: profile.cached_srtt,
            rttvar: profile.cached_rttvar,
        }
    }

    /// Connections of this profile begin with what is known. Reordering is for those that learn it.
    pub fn keep(&self, profile: &mut Profile) {
        profile.cached_ssthresh = self.ssthresh.or(profile.cached_ssthresh);
        if profile.loss_detection == LossDetection::FackAdaptive {
            profile.cached_reordering = self.reordering.or(profile.cached_reordering);
        }
        (profile.cached_srtt, profile.cached_rttvar) = (self.srtt, self.rttvar);
    }

    /// Learns from an orderly close. A longer round-trip time replaces the old one, a shorter one counts 1/8.
    /// The deviation is at least their distance and likewise counts 1/4. The threshold rises to half the
    /// window in slow start. In congestion avoidance it is the maximum of that and the threshold. Otherwise a
    /// known one rises to the threshold.
    pub fn learn(&mut self, sender: &Sender, profile: &Profile) {
        let mss = profile.segment();
        let window = sender.window();
        let segments = |bytes: f64| (bytes / mss) as u32;
        if let Some(srtt) = sender.smoothed_rtt() {
            let (known, spread) = (self.srtt.0, self.rttvar.0);
            let apart = known.abs_diff(srtt.0).max(sender.rtt_deviation(profile).0);
            self.srtt = if srtt.0 >= known { srtt } else { Duration(known - (known - srtt.0) / 8) };
            self.rttvar = Duration(if apart >= spread { apart } else { spread - (spread - apart) / 4 });
        }
        let half = segments(window.cwnd) >> 1;
        if window.ssthresh.is_infinite() {
            self.ssthresh = self.ssthresh.map(|known| known.max(half));
        } else if window.cwnd > window.ssthresh && sender.recovery() == Recovery::Open {
            // A window of less than a segment, which some controls know, leaves none.
            self.ssthresh = Some(half.max(segments(window.ssthresh))).filter(|known| *known > 0);
        } else {
            self.ssthresh = self.ssthresh.map(|known| known.max(segments(window.ssthresh)));
        }
        if let Some(seen) = sender.reordering().filter(|seen| *seen > profile.duplicate_threshold) {
            self.reordering = Some(self.reordering.map_or(seen, |known| known.max(seen)));
        }
    }
}
