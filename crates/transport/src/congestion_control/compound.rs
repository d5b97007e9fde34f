//! Compound TCP: a loss window like NewReno's plus a delay window (Tan, Song, Zhang and Sridharan, "A
//! compound TCP approach for high-speed and long distance networks", Infocom 2006.
//! draft-sridharan-tcpm-ctcp-02).
//!
//! The delay window grows as win^k while few packets of the connection are queued, and shrinks with more than
//! gamma. It is zero for small windows. Units are packets: real numbers, or whole packets on stacks that
//! count whole segments.

use evenflow_base::Duration;
use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Range, Room, Values};

use crate::Profile;

use super::newreno::NewReno;
use super::vegas::{INSTANT, queued};
use super::{Acked, Congestion, Control, Needs, Registered, Signal, WINDOW, Window};

/// A round's delay counts from so many samples on.
const SAMPLES: u32 = 3;

/// The law's constants (Tan et al. 2006 section III).
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// alpha: how steep the growth is.
    pub alpha: f64,
    /// k: its exponent.
    pub k: f64,
    /// beta: the share that a loss takes.
    pub beta: f64,
    /// zeta (eta in the draft): how fast the delay window gives way.
    pub zeta: f64,
}

/// The delay window after a round trip that queued `diff` packets (Tan et al. 2006 equation 5): alpha win^k - 1 more below
/// gamma, zeta diff less from there on, never below none.
#[inline]
pub fn step(dwnd: f64, win: f64, diff: f64, gamma: f64, shape: &Shape) -> f64 {
    if diff < gamma {
        dwnd + (shape.alpha * libm::pow(win, shape.k) - 1.0).max(0.0)
    } else {
        (dwnd - shape.zeta * diff).max(0.0)
    }
}

/// The same after a loss: what is missing to (1 - beta) win beside the halved loss window.
#[inline]
pub fn after_loss(win: f64, loss_window: f64, shape: &Shape) -> f64 {
    (win * (1.0 - shape.beta) - loss_window / 2.0).max(0.0)
}

/// gamma after a loss at which NewReno's part alone had `diff` packets in the queue: 3/4 of them enter with weight lambda
/// (the draft's selection of gamma, by emulation of NewReno).
#[inline]
pub fn tuned(gamma: f64, diff: f64, lambda: f64, range: (f64, f64)) -> f64 {
    ((1.0 - lambda) * gamma + lambda * 0.75 * diff).clamp(range.0, range.1)
}

/// Bounds of gamma, packets (the same).
pub const GAMMA: (f64, f64) = (5.0, 30.0);
/// lambda: weight of a new gamma.
pub const LAMBDA: f64 = 0.25;

/// The step in whole packets, as in the module of ns-2's Linux agent (Linux 2.6.18). The power, its product
/// and the result are rounded down.
#[inline]
pub fn whole_step(dwnd: f64, win: f64, diff: f64, gamma: f64, shape: &Shape) -> f64 {
    if diff < gamma {
        let grown = libm::floor(shape.alpha * libm::floor(libm::pow(libm::floor(win), shape.k)));
        dwnd + (grown - 1.0).max(0.0)
    } else {
        libm::floor((dwnd - shape.zeta * diff).max(0.0))
    }
}

/// Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    shape: Shape,
    /// The steps are whole packets.
    whole: bool,
    /// Packets.
    gamma: f64,
    tunes: bool,
    /// The delay window is none below this, packets.
    low_window: f64,
    /// dwnd, packets.
    dwnd: f64,
    /// BaseRTT.
    base: Option<Duration>,
    /// Least round-trip time of the round, and its number of samples.
    least: Option<Duration>,
    samples: u32,
    /// An ACK beyond this ends the round.
    end: u64,
    /// The last round's packets in the queue.
    diff: Option<f64>,
    reno: NewReno,
}

impl Registered for Compound {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Compound, Vec<Problem>> {
        let given = Given::read(values);
        Ok(Compound {
            shape: Shape { alpha: given.alpha, k: given.k, beta: given.beta, zeta: given.zeta },
            whole: profile.whole_segments,
            gamma: given.gamma,
            tunes: given.tune_gamma,
            low_window: given.low_window,
            dwnd: 0.0,
            base: None,
            least: None,
            samples: 0,
            end: 0,
            diff: None,
            reno: NewReno::of(profile),
        })
    }
}

impl Control for Compound {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    /// Every ACK that says something: round-trip times; at the end of a round, the delay window.
    fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
        if let Some(rtt) = acked.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if acked.una <= self.end {
            return;
        }
        if open
            && w.cwnd >= w.ssthresh
            && self.samples >= SAMPLES
            && let (Some(base), Some(least)) = (self.base, self.least)
        {
            let win = w.cwnd / acked.mss;
            let diff = queued(win, base.seconds(), least.max(INSTANT).seconds());
            self.diff = Some(diff);
            if win < self.low_window {
                self.dwnd = 0.0; // all of it is the loss window: NewReno's from here on
            } else {
                let law = if self.whole { whole_step } else { step };
                let next = law(self.dwnd, win, diff, self.gamma, &self.shape);
                w.cwnd = (w.cwnd + (next - self.dwnd) * acked.mss).max(acked.mss);
                self.dwnd = next;
            }
        }
        (self.least, self.samples, self.end) = (None, 0, acked.next);
    }

    /// NewReno's slow start without a delay window; from the threshold on 1 / win packets per ACK.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        self.reno.grow(w, acked);
    }

    /// ssthresh after `event`.
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        let mss = event.mss;
        let win = w.cwnd / mss;
        let loss_window = (win - self.dwnd).max(0.0);
        if self.tunes
            && win >= self.low_window
            && let Some(diff) = self.diff
        {
            // The loss window's share of the queued packets.
            self.gamma = tuned(self.gamma, diff * loss_window / win, LAMBDA, GAMMA);
        }
        self.dwnd = match event.signal {
            Signal::Timeout => 0.0,
            Signal::Loss | Signal::Mark => after_loss(win, loss_window, &self.shape),
        };
        let left = self.reno.ssthresh(w, event);
        if self.dwnd > 0.0 { (win * (1.0 - self.shape.beta) * mss).max(2.0 * mss) } else { left }
    }

    /// The window after a mark: NewReno's, or the larger threshold.
    fn after_mark(&self, before: &Window, event: &Congestion, ssthresh: f64) -> f64 {
        self.reno.after_mark(before, event, ssthresh)
    }

    /// Its observables.
    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "delay_window" => Some(self.dwnd),
            "gamma" => Some(self.gamma),
            "diff" => self.diff,
            _ => None,
        }
    }
}

const SHARE: Range = Range { min: 0.0, closed: false, max: 0.99 };

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Factor alpha in the growth of the delay window per round trip, alpha win^k - 1.
        alpha: f64 = Number, Text("0.125"), Range::GAIN => source: "Tan et al. 2006 section III";
        /// Exponent k of that growth.
        k: f64 = Number, Text("0.75"), SHARE => source: "Tan et al. 2006 section III";
        /// Decrease of the window at a loss, as a share.
        beta: f64 = Number, Text("0.5"), SHARE => source: "Tan et al. 2006 section III";
        /// Decrease of the delay window per queued packet, from gamma queued packets on.
        zeta: f64 = Number, Text("1"), Range::GAIN => source: "Tan et al. 2006 section III";
        /// Queued packets from which the delay window shrinks; the initial value with tune_gamma.
        gamma: f64 = Packets, Text("30 packets"), Range::POSITIVE => source: "Tan et al. 2006 section III";
        /// At a loss, move gamma by a quarter towards 3/4 of the packets that the loss window had queued,
        /// within 5 to 30 packets.
        tune_gamma: bool = Flag, Text("true") => source: "draft-sridharan-tcpm-ctcp-02";
        /// Window below which Compound is NewReno, without a delay window.
        low_window: f64 = Packets, Text("38 packets"), Range::NOT_NEGATIVE
            => source: "RFC 3649 section 5 (Low_Window); draft-sridharan-tcpm-ctcp-02 has some 41";
    }
}

/// Compound TCP's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "compound",
    title: "Compound TCP",
    example: r#"[groups.users.tcp.congestion_control]
kind = "compound"
low_window = "38 packets"
gamma = "30 packets""#,
    doc: "NewReno's loss window plus a delay window. The delay window grows fast while the connection has \
          few packets in the queue, and shrinks from gamma packets on. Below low_window packets it is \
          NewReno. On stacks that count whole segments, steps are whole packets.",
    source: "Tan, Song, Zhang, Sridharan 2006; draft-sridharan-tcpm-ctcp-02",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable::new("delay_window", "packets", "Delay window (dwnd)."),
        Observable::new("gamma", "packets", "Queued packets from which the delay window shrinks."),
        Observable::new("diff", "packets", "Packets of the connection in the queue at the last step."),
    ],
    deviations: &[
        Deviation {
            what: "The delay window changes in one step at the end of a round trip.",
            why: "The documents define the change per round trip; implementations spread it over the ACKs of \
                  the next one.",
        },
        Deviation {
            what: "The round-trip time of a round is the minimum of at least three samples.",
            why: "The documents use the average; delayed ACKs do not disturb the minimum.",
        },
        Deviation {
            what: "A window that falls below low_window keeps its size: the delay window becomes part of the \
                   loss window.",
            why: "NewReno would only have halved the window; removing the delay window too would reduce it \
                  further.",
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
    const SHAPE: Shape = Shape { alpha: 0.125, k: 0.75, beta: 0.5, zeta: 1.0 };

    fn compound(profile: Profile) -> Compound {
        let values = [
            ("alpha", Value::Number(0.125)),
            ("k", Value::Number(0.75)),
            ("beta", Value::Number(0.5)),
            ("zeta", Value::Number(1.0)),
            ("gamma", Value::Packets(30.0)),
            ("tune_gamma", Value::Flag(true)),
            ("low_window", Value::Packets(38.0)),
        ];
        let built = Compound::build(&Values(values.into()), &profile, 1.0).expect("they are sound");
        Compound { reno: NewReno::default(), ..built }
    }

    #[test]
    fn the_delay_window_grows_by_a_power_of_the_window_and_gives_up_what_waits() {
        // 81^0.75 = 27, an eighth of it less one: 2.375.
        assert!((step(10.0, 81.0, 29.9, 30.0, &SHAPE) - 12.375).abs() < 1e-12);
        assert_eq!(step(40.0, 81.0, 30.0, 30.0, &SHAPE), 10.0);
        assert_eq!(step(10.0, 81.0, 30.0, 30.0, &SHAPE), 0.0);
        assert_eq!(step(10.0, 4.0, 0.0, 30.0, &SHAPE), 10.0); // 8^0.5 / 8 < 1: no growth
    }

    #[test]
    fn whole_steps_round_down_and_grow_from_two_on() {
        // 40^0.75 = 15.9, an eighth of 15 is 1: nothing. 41^0.75 = 16.2: 2 - 1. 90^0.75 = 29.2: 3 - 1.
        for (win, grown) in [(40.9, 0.0), (41.0, 1.0), (90.0, 2.0)] {
            assert_eq!(whole_step(10.0, win, 29.0, 30.0, &SHAPE), 10.0 + grown);
        }
        assert_eq!(whole_step(40.0, 81.0, 30.5, 30.0, &SHAPE), 9.0);
        let (mut real, mut whole) = (compound(Profile::rfc()), compound(Profile::ns2_linux()));
        for (cc, after) in [(&mut real, 83.375), (&mut whole, 83.0)] {
            let mut w = Window { cwnd: 81.0 * MSS, ssthresh: 2.0 * MSS };
            round(cc, &mut w, 9_000, 100);
            assert!((w.cwnd / MSS - after).abs() < 1e-9);
        }
    }

    #[test]
    fn gamma_moves_a_quarter_of_the_way_within_its_bounds() {
        assert_eq!(tuned(30.0, 8.0, LAMBDA, GAMMA), 24.0); // 22.5 + 6 / 4
        assert_eq!(tuned(6.0, 0.0, LAMBDA, GAMMA), 5.0);
        assert_eq!(tuned(30.0, 400.0, LAMBDA, GAMMA), 30.0);
    }

    fn round(cc: &mut Compound, w: &mut Window, una: u64, rtt_ms: u64) {
        for last in [false, false, true] {
            let acked = Acked {
                now: Time::ZERO,
                una: if last { una } else { 0 },
                next: una + 1000,
                bytes: 1000,
                segments: 1,
                mss: MSS,
                flight: f64::INFINITY,
                rtt: Some(Duration::from_millis(rtt_ms)),
                one_way: None,
                marks: 0,
            };
            cc.on_ack(w, &acked, true);
        }
    }

    #[test]
    fn below_the_low_window_it_is_newreno() {
        let mut cc = compound(Profile::rfc());
        let mut w = Window { cwnd: 37.0 * MSS, ssthresh: 2.0 * MSS };
        round(&mut cc, &mut w, 1_000, 100);
        assert_eq!((w.cwnd, cc.dwnd), (37.0 * MSS, 0.0));
        w.cwnd = 81.0 * MSS;
        round(&mut cc, &mut w, 9_000, 100);
        assert!((w.cwnd / MSS - 83.375).abs() < 1e-9);
        w.cwnd = 30.0 * MSS;
        round(&mut cc, &mut w, 19_000, 100);
        assert_eq!((w.cwnd, cc.dwnd), (30.0 * MSS, 0.0));
    }

    #[test]
    fn a_loss_leaves_half_of_both_and_a_timeout_no_delay_window() {
        let event = |signal| Congestion::new(signal, Time::ZERO, 80.0 * MSS, MSS);
        let w = Window { cwnd: 80.0 * MSS, ssthresh: 2.0 * MSS };
        let mut cc = compound(Profile::rfc());
        cc.dwnd = 20.0;
        assert_eq!(cc.ssthresh(&w, &event(Signal::Loss)), 40.0 * MSS);
        assert_eq!(cc.dwnd, 10.0); // 40 less half of 60
        assert_eq!(cc.ssthresh(&w, &event(Signal::Timeout)), 40.0 * MSS);
        assert_eq!(cc.dwnd, 0.0);
    }
}
