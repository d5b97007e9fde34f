//! A window that never moves, for tests: whatever is lost or marked, so many packets are in flight.

use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Room, Type, Value, Values};

use crate::Profile;

use super::{Acked, Congestion, Control, Reach, WINDOW, Window, most};

/// A constant window.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Packets.
    window: f64,
}

impl Control for Constant {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, _: &Profile, _: f64) -> Result<Constant, Vec<Problem>> {
        Ok(Constant { window: values.number("window") })
    }

    fn reach(values: &Values, _: &Value) -> Reach {
        let window = most(values, "window", 1.0);
        Reach { least: window, most: window, ..Reach::default() }
    }

    fn start(&mut self, w: &mut Window, mss: f64) {
        self.hold(w, mss);
    }

    /// Sets it again, whatever a recovery made of it.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        self.hold(w, acked.mss);
    }

    fn reduce(&mut self, _: &Window, event: &Congestion) -> f64 {
        self.window * event.mss
    }

    /// No mark moves it.
    fn takes_every_mark(&self) -> bool {
        true
    }

    fn floor(&self, mss: f64) -> f64 {
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
    room: Room::CongestionControl,
    traits: Mechanism::PLAIN,
    title: "Constant window",
    doc: "The window never moves, neither with acknowledgements nor at losses, marks or timeouts; for tests and for fixed \
          loads. During a recovery without SACK duplicate ACKs still let packets out, as RFC 6582 has it.",
    source: "Evenflow",
    params: &[Param {
        name: "window",
        ty: Type::Packets,
        default: Fallback::Text("10 packets"),
        range: Range::WINDOW,
        source: "RFC 6928 section 2: an initial window, kept",
        doc: "The window, in full segments.",
    }],
    observables: &[WINDOW],
    counters: &[],
    deviations: &[],
};
