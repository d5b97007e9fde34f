//! A constant window, for tests and fixed loads.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};

use crate::Profile;

use super::{Acked, Congestion, Control, Needs, Registered, WINDOW, Window};

params! {
    /// A constant window.
    #[derive(Clone, Copy, Debug)]
    pub struct Constant {
        /// Window in full segments.
        window: f64 = Packets, Text("10 packets"), Range::WINDOW
            => source: "RFC 6928 section 2: an initial window, unchanged";
    }
}

impl Registered for Constant {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, _: &Profile, _: f64) -> Result<Constant, Vec<Problem>> {
        Ok(Constant::read(values))
    }
}

impl Control for Constant {
    fn needs(&self) -> Needs {
        Needs { every_mark: true, ..Needs::default() }
    }

    fn on_start(&mut self, w: &mut Window, mss: f64) {
        self.hold(w, mss);
    }

    /// Sets it again, whatever a recovery made of it.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        self.hold(w, acked.mss);
    }

    fn ssthresh(&mut self, _: &Window, event: &Congestion) -> f64 {
        self.window * event.mss
    }

    fn min_window(&self, mss: f64) -> f64 {
        self.window * mss
    }
}

impl Constant {
    fn hold(&self, w: &mut Window, mss: f64) {
        *w = Window { cwnd: self.window * mss, ssthresh: self.window * mss };
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "constant",
    traits: Traits { no_slow_start: true, fixed_window: true, ..Mechanism::PLAIN },
    title: "Constant window",
    example: r#"[groups.users.tcp.congestion_control]
kind = "constant"
window = "10 packets""#,
    doc: "A constant window: ACKs, losses, marks and timeouts do not change it. Use it for tests and fixed \
          loads. In a recovery without SACK, duplicate ACKs still release packets (RFC 6582).",
    source: "Evenflow",
    params: Constant::PARAMS,
    observables: &[WINDOW],
    ..Mechanism::of(Room::CongestionControl)
};
