//! Observables of a sender: names, units and meaning. [`crate::Sender::observe`] has the values.

use evenflow_base::schema::Observable;

/// The observables of a sender, in the order of documents.
pub static OBSERVABLES: &[Observable] = &[
    Observable::new("window", "packets", "Congestion window of a TCP flow."),
    Observable::new(
        "ssthresh",
        "packets",
        "Slow-start threshold of a TCP flow; no value before the first threshold.",
    ),
    Observable::new("rtt", "s", "Last sample of the round-trip time; no value before the first."),
    Observable::new("srtt", "s", "Smoothed round-trip time; no value before the first sample."),
    Observable::new(
        "flight",
        "packets",
        "Data in flight as the sender estimates it: sent, neither acknowledged nor considered lost.",
    ),
    Observable::new(
        "recovery",
        "1",
        "State of loss recovery: 0 open, 1 disorder, 2 reduction after marks, 3 fast recovery, \
              4 after a timeout.",
    ),
    Observable::new(
        "delivery_rate",
        "bit/s",
        "Last sample of the delivery rate (draft-ietf-ccwg-bbr-06 section 4.1); no value before the first.",
    ),
    Observable::new(
        "receive_window",
        "packets",
        "Receive window as the sender knows it, from the first byte that is not acknowledged.",
    ),
    Observable::new(
        "app_limited",
        "1",
        "State: 0 no, 1 yes. Whether only the application limits the sender: it has no data to send, or \
              the send buffer is full.",
    ),
    Observable::new(
        "probed_window",
        "packets",
        "With every = \"packet\": the congestion window before each segment that the sender receives, \
              when it differs from the last one logged (Linux's tcp_probe).",
    ),
    Observable::new(
        "probed_ssthresh",
        "packets",
        "Threshold logged with tcp_probe_window: at least 75 % of the window, except during a \
              reduction.",
    ),
];

/// Whether an observable is logged with each segment that the sender receives, as Linux's tcp_probe does, and not at intervals.
pub fn is_probed(name: &str) -> bool {
    matches!(name, "probed_window" | "probed_ssthresh")
}
