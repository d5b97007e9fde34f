//! Data Center TCP (RFC 8257): the window decreases in proportion to the marks.
//!
//! Each window of data gives the share M of marked bytes; alpha is its moving average. The first mark of a
//! window takes alpha / 2 of the congestion window. Growth and losses are NewReno's. Marks return by accurate
//! ECN or per packet. The RFC's state machine of ECN-echo is not modelled.

use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Values};

use crate::Profile;
use crate::profile::Ecn;

use super::newreno::NewReno;
use super::{Acked, Congestion, Control, Needs, Registered, Signal, WINDOW, Window};

/// alpha after a window of which the share `marked` was marked: (1 - g) alpha + g M (RFC 8257 section 3.3 step 6).
#[inline]
pub fn average(alpha: f64, marked: f64, gain: f64) -> f64 {
    alpha * (1.0 - gain) + gain * marked
}

/// Factor of the window at the first mark of a window: 1 - alpha / 2 (RFC 8257 section 3.3 step 9).
#[inline]
pub fn left(alpha: f64) -> f64 {
    1.0 - alpha / 2.0
}

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// g.
    gain: f64,
    /// DCTCP.Alpha.
    alpha: f64,
    /// DCTCP.BytesAcked.
    acked: f64,
    /// DCTCP.BytesMarked.
    marked: f64,
    /// DCTCP.WindowEnd.
    end: u64,
    reno: NewReno,
}

impl Registered for Dctcp {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Dctcp, Vec<Problem>> {
        let Given { gain, initial_alpha } = Given::read(values);
        Ok(Dctcp { gain, alpha: initial_alpha, acked: 0.0, marked: 0.0, end: 0, reno: NewReno::of(profile) })
    }

    /// Everything is ECN-capable (sections 3.6 and 4.1), as in kernels.
    fn adopt(profile: &mut Profile) {
        (profile.ecn_on_retransmissions, profile.ecn_on_control) = (true, true);
    }

    fn contradictions(_: &Values, profile: &Profile) -> Vec<String> {
        match profile.ecn {
            Ecn::Off | Ecn::Classic => vec![format!(
                "dctcp counts marked packets and needs ecn = \"accurate\" or \"per-packet\", not \"{}\"",
                profile.ecn.word()
            )],
            _ => Vec::new(),
        }
    }
}

impl Control for Dctcp {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    /// Every ACK that says something: the share of marked bytes (RFC 8257 section 3.3).
    fn on_ack(&mut self, _: &mut Window, acked: &Acked, _: bool) {
        let bytes = acked.bytes as f64;
        self.acked += bytes;
        self.marked += (f64::from(acked.marks) * acked.mss).min(bytes);
        if acked.una <= self.end {
            return;
        }
        if self.acked > 0.0 {
            self.alpha = average(self.alpha, self.marked / self.acked, self.gain);
        }
        (self.acked, self.marked, self.end) = (0.0, 0.0, acked.next);
    }

    /// NewReno's growth.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        self.reno.grow(w, acked);
    }

    /// The threshold after `event`, which is also the window. A mark takes alpha / 2 of the window (RFC 8257
    /// section 3.3 step 9), down to two segments (Linux's `dctcp_ssthresh`). A loss halves it like NewReno
    /// (section 3.5).
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        match event.signal {
            Signal::Mark => (w.cwnd * left(self.alpha)).max(2.0 * event.mss),
            Signal::Loss | Signal::Timeout => self.reno.ssthresh(w, event),
        }
    }

    /// Its observable.
    fn observe(&self, name: &str) -> Option<f64> {
        (name == "alpha").then_some(self.alpha)
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Weight g of a new sample in alpha.
        gain: f64 = Number, Text("0.0625"), Range::up_to(1.0) => source: "RFC 8257 section 4.2";
        /// Initial alpha. With 1 the first mark halves the window.
        initial_alpha: f64 = Number, Text("1"), Range::between(0.0, 1.0) => source: "RFC 8257 section 3.3";
    }
}

/// DCTCP's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "dctcp",
    title: "Data Center TCP (DCTCP)",
    example: r#"[groups.users.tcp]
ecn = "accurate"
congestion_control = { kind = "dctcp", gain = 0.0625 }"#,
    doc: "The first mark of a window takes alpha / 2 of it. Alpha is the moving average of the share of \
          marked bytes. Growth and losses are those of NewReno. Needs ecn = \"accurate\" or \"per-packet\". \
          By default ecn_on_retransmissions and ecn_on_control are true.",
    source: "RFC 8257",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable::new("alpha", "1", "Moving average of the share of marked bytes (DCTCP.Alpha)."),
    ],
    deviations: &[
        Deviation {
            what: "Marks return by accurate ECN (RFC 9768) or per packet, not by the RFC's state machine of \
                   ECN-echo.",
            why: "Both report the number of marked packets, which is the purpose of that machine.",
        },
        Deviation {
            what: "Marked bytes are marked packets times a full segment, at most the bytes that the ACK \
                   covers.",
            why: "The feedback counts packets.",
        },
        Deviation {
            what: "A mark reduces the window to two segments or more.",
            why: "As in Linux; the RFC names no minimum. With an ACK for every second segment, one segment \
                  waits for the delayed ACK.",
        },
    ],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests {
    use evenflow_base::Time;
    use evenflow_base::schema::Value;

    use super::*;

    const MSS: f64 = 1000.0;

    fn dctcp() -> Dctcp {
        let values = Values([("gain", Value::Number(0.0625)), ("initial_alpha", Value::Number(1.0))].into());
        let built = Dctcp::build(&values, &Profile::rfc(), 1.0).expect("they are sound");
        Dctcp { reno: NewReno::default(), ..built }
    }

    fn ack(una: u64, next: u64, segments: u64, marks: u32) -> Acked {
        Acked {
            now: Time::ZERO,
            una,
            next,
            bytes: segments * 1000,
            segments,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: None,
            one_way: None,
            marks,
        }
    }

    fn event(signal: Signal) -> Congestion {
        Congestion::new(signal, Time::ZERO, 20.0 * MSS, MSS)
    }

    #[test]
    fn alpha_follows_the_share_of_marked_bytes_window_by_window() {
        let mut cc = dctcp();
        cc.on_ack(&mut Window { cwnd: 0.0, ssthresh: 0.0 }, &ack(1_000, 11_000, 1, 0), true); // beyond the first window's end, 0: nothing of it was marked
        assert_eq!(cc.alpha, 15.0 / 16.0);
        for segment in 2..=11 {
            cc.on_ack(
                &mut Window { cwnd: 0.0, ssthresh: 0.0 },
                &ack(segment * 1000, 30_000, 1, u32::from(segment % 5 == 0)),
                true,
            );
            assert_eq!(cc.alpha, 15.0 / 16.0, "the window ends beyond 11000");
        }
        cc.on_ack(&mut Window { cwnd: 0.0, ssthresh: 0.0 }, &ack(12_000, 30_000, 1, 1), true); // eleven segments, three marked
        assert_eq!(cc.alpha, 15.0 / 16.0 * 15.0 / 16.0 + 3.0 / 11.0 / 16.0);
    }

    #[test]
    fn an_ack_marks_no_more_bytes_than_it_covers() {
        let mut cc = dctcp();
        cc.end = 5_000;
        cc.on_ack(&mut Window { cwnd: 0.0, ssthresh: 0.0 }, &ack(1_000, 9_000, 1, 7), true);
        assert_eq!((cc.acked, cc.marked), (1000.0, 1000.0));
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        let mut cc = dctcp();
        cc.alpha = 0.25;
        let w = Window { cwnd: 40.0 * MSS, ssthresh: f64::INFINITY };
        assert_eq!(cc.ssthresh(&w, &event(Signal::Mark)), 35.0 * MSS);
        assert_eq!(cc.ssthresh(&w, &event(Signal::Loss)), 10.0 * MSS); // half of what is in flight
        // 2 segments less an eighth: the floor is two.
        let small = Window { cwnd: 2.0 * MSS, ssthresh: 2.0 * MSS };
        assert_eq!(cc.ssthresh(&small, &event(Signal::Mark)), 2.0 * MSS);
        assert_eq!(cc.after_mark(&small, &event(Signal::Mark), 2.0 * MSS), 2.0 * MSS);
    }
}
