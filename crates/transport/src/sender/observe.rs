//! The observable values of a sender.

use crate::Profile;

use super::{Life, Limit, Sender};

/// A sender with the profile of its connection.
#[derive(Debug)]
pub struct View<'a> {
    sender: &'a Sender,
    profile: &'a Profile,
}

impl View<'_> {
    fn segments(&self, bytes: f64) -> Option<f64> {
        Some(bytes / self.profile.mss as f64).filter(|value| value.is_finite())
    }

    /// A probed value has none before the handshake is over.
    fn probed(&self, bytes: f64) -> Option<f64> {
        self.segments(bytes).filter(|_| self.sender.life() != Life::Opening)
    }
}

observables! {
    View<'_>: view;
    window: "packets", "Congestion window of a TCP flow." => view.segments(view.sender.window().cwnd);
    ssthresh: "packets", "Slow-start threshold of a TCP flow; no value before the first threshold."
        => view.segments(view.sender.window().ssthresh);
    rtt: "s", "Last sample of the round-trip time; no value before the first." => view.sender.core.rtt.latest();
    srtt: "s", "Smoothed round-trip time; no value before the first sample." => view.sender.smoothed_rtt();
    flight: "packets",
        "Data in flight as the sender estimates it: sent, neither acknowledged nor considered lost."
        => view.segments(view.sender.in_flight(view.profile));
    recovery: "1",
        "State of loss recovery: 0 open, 1 disorder, 2 reduction after marks, 3 fast recovery, 4 after a \
         timeout."
        => view.sender.core.state as u32;
    delivery_rate: "bit/s",
        "Last sample of the delivery rate (draft-ietf-ccwg-bbr-06 section 4.1); no value before the first."
        => view.sender.core.delivery_rate().map(|rate| 8.0 * rate);
    receive_window: "packets",
        "Receive window as the sender knows it, from the first byte that is not acknowledged."
        => view.segments(view.sender.core.receive_window(view.profile));
    app_limited: "1",
        "State: 0 no, 1 yes. Whether only the application limits the sender: it has no data to send, or the \
         send buffer is full."
        => view.sender.app_limited();
    probed_window: "packets",
        "With every = \"packet\": the congestion window before each segment that the sender receives, when \
         it differs from the last one logged (Linux's tcp_probe)."
        => view.probed(view.sender.window().cwnd);
    probed_ssthresh: "packets",
        "Threshold logged with tcp_probe_window: at least 75 % of the window, except during a reduction."
        => view.probed(view.sender.remembered_threshold(view.profile));
}

/// Whether an observable is logged as `tcp_probe` does: before each segment that the sender receives.
pub fn is_probed(name: &str) -> bool {
    matches!(name, "probed_window" | "probed_ssthresh")
}

impl Sender {
    /// The value of an observable, also of those of the congestion control.
    pub fn observe(&self, name: &str, profile: &Profile) -> Option<f64> {
        View { sender: self, profile }.observe(name).or_else(|| self.control().observe(name))
    }

    /// Whether only the application holds data back; unknown before the handshake is over and after a failure.
    fn app_limited(&self) -> Option<bool> {
        let open = matches!(self.life(), Life::Open | Life::Done);
        open.then_some(self.core.limited.by == Limit::Application)
    }
}
