//! The values of what can be observed of a sender ([`crate::observables`]).

use evenflow_base::Duration;

use crate::Profile;

use super::{Life, Limit, Sender};

impl Sender {
    /// The value of an observable, also of those of the congestion control. A probed one has none before the handshake is over.
    pub fn observe(&self, name: &str, profile: &Profile) -> Option<f64> {
        let segments = |bytes: f64| Some(bytes / profile.mss as f64).filter(|value| value.is_finite());
        let probed = |bytes: f64| segments(bytes).filter(|_| self.life() != Life::Opening);
        match name {
            "window" => segments(self.window().cwnd),
            "ssthresh" => segments(self.window().ssthresh),
            "rtt" => self.core.rtt.latest().map(Duration::seconds),
            "srtt" => self.smoothed_rtt().map(Duration::seconds),
            "flight" => segments(self.in_flight(profile)),
            "recovery" => Some(f64::from(self.core.state as u8)),
            "delivery_rate" => self.core.delivery_rate().map(|rate| 8.0 * rate),
            "receive_window" => segments(self.core.receive_window(profile)),
            "app_limited" => self.app_limited().map(f64::from),
            "probed_window" => probed(self.window().cwnd),
            "probed_ssthresh" => probed(self.remembered_threshold(profile)),
            _ => self.control().observe(name),
        }
    }

    /// Whether only the application holds data back; unknown before the handshake is over and after a failure.
    fn app_limited(&self) -> Option<bool> {
        let open = matches!(self.life(), Life::Open | Life::Done);
        open.then_some(self.core.limited.by == Limit::Application)
    }
}
