//! What can be observed of a sender, by the names in [`OBSERVABLES`].

use evenflow_base::schema::Observable;

use crate::Profile;

use super::{Life, Sender};

/// The observables of a sender, in the order of documents.
pub static OBSERVABLES: &[Observable] = &[
    Observable { name: "window", unit: "packets", doc: "Congestion window of a TCP flow." },
    Observable {
        name: "ssthresh",
        unit: "packets",
        doc: "Slow-start threshold of a TCP flow; nothing before it has one.",
    },
    Observable {
        name: "probed_window",
        unit: "packets",
        doc: "With every = \"packet\": the congestion window before each segment that the sender receives, where it differs from the last one logged (Linux's tcp_probe).",
    },
    Observable {
        name: "probed_ssthresh",
        unit: "packets",
        doc: "The threshold that is logged beside it: at least three quarters of the window, except while a window comes down.",
    },
];

/// Whether an observable is logged with each segment that the sender receives, as Linux's tcp_probe does, and not at intervals.
pub fn is_probed(name: &str) -> bool {
    matches!(name, "probed_window" | "probed_ssthresh")
}

impl Sender {
    /// The value of an observable. A probed one has none before the handshake is over.
    pub fn observe(&self, name: &str, profile: &Profile) -> Option<f64> {
        let segments = |bytes: f64| Some(bytes / profile.mss as f64).filter(|value| value.is_finite());
        let probed = |bytes: f64| segments(bytes).filter(|_| self.life() != Life::Opening);
        match name {
            "window" => segments(self.window().cwnd),
            "ssthresh" => segments(self.window().ssthresh),
            "probed_window" => probed(self.window().cwnd),
            "probed_ssthresh" => probed(self.remembered_threshold(profile)),
            _ => None,
        }
    }
}
