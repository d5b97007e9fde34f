//! Observables of a sender: names, units and meaning. [`crate::Sender::observe`] has the values.

use evenflow_base::schema::Observable;

/// The observables of a sender, in the order of documents.
pub static OBSERVABLES: &[Observable] = &[
    Observable { name: "window", unit: "packets", doc: "Congestion window of a TCP flow." },
    Observable {
        name: "ssthresh",
        unit: "packets",
        doc: "Slow-start threshold of a TCP flow; no value before the first threshold.",
    },
    Observable {
        name: "rtt",
        unit: "s",
        doc: "Last sample of the round-trip time; no value before the first.",
    },
    Observable {
        name: "srtt",
        unit: "s",
        doc: "Smoothed round-trip time; no value before the first sample.",
    },
    Observable {
        name: "flight",
        unit: "packets",
        doc: "Data in flight as the sender estimates it: sent, neither acknowledged nor considered lost.",
    },
    Observable {
        name: "recovery",
        unit: "1",
        doc: "State of loss recovery: 0 open, 1 disorder, 2 reduction after marks, 3 fast recovery, \
              4 after a timeout.",
    },
    Observable {
        name: "delivery_rate",
        unit: "bit/s",
        doc: "Last sample of the delivery rate (draft-ietf-ccwg-bbr-06 section 4.1); no value before the first.",
    },
    Observable {
        name: "receive_window",
        unit: "packets",
        doc: "Receive window as the sender knows it, from the first byte that is not acknowledged.",
    },
    Observable {
        name: "app_limited",
        unit: "1",
        doc: "State: 0 no, 1 yes. Whether only the application limits the sender: it has no data to send, or \
              the send buffer is full.",
    },
    Observable {
        name: "probed_window",
        unit: "packets",
        doc: "With every = \"packet\": the congestion window before each segment that the sender receives, \
              when it differs from the last one logged (Linux's tcp_probe).",
    },
    Observable {
        name: "probed_ssthresh",
        unit: "packets",
        doc: "Threshold logged with tcp_probe_window: at least 75 % of the window, except during a \
              reduction.",
    },
];

/// Whether an observable is logged with each segment that the sender receives, as Linux's tcp_probe does, and not at intervals.
pub fn is_probed(name: &str) -> bool {
    matches!(name, "probed_window" | "probed_ssthresh")
}
