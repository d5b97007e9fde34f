//! A window that never moves, for tests: whatever is lost or marked, so many packets are in flight.

use evenflow_base::schema::{Fallback, Mechanism, Param, Range, Room, Type, Values};

use super::{WINDOW, Window};

/// A constant window.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Packets.
    window: f64,
}

impl Constant {
    /// From its parameters.
    pub fn build(values: &Values) -> Constant {
        Constant { window: values.number("window") }
    }

    /// The window, bytes.
    #[inline]
    pub fn window(&self, mss: f64) -> f64 {
        self.window * mss
    }

    /// Sets it again, whatever a recovery made of it.
    #[inline]
    pub fn hold(&self, w: &mut Window, mss: f64) {
        *w = Window { cwnd: self.window(mss), ssthresh: self.window(mss) };
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
        range: Range::FROM_ONE,
        source: "RFC 6928 section 2: an initial window, kept",
        doc: "The window, in full segments.",
    }],
    observables: &[WINDOW],
    counters: &[],
    deviations: &[],
};
