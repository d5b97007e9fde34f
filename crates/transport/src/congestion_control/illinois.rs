//! TCP-Illinois: losses trigger a decrease, and the queueing delay sets the sizes of increase and decrease.
//!
//! Liu, Başar and Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed
//! networks", Performance Evaluation 65, 2008. Units are packets: real numbers, or the kernel's integers
//! (alpha in 1/128, beta in 1/64) on stacks that count whole segments.

use evenflow_base::Duration;
use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Range, Room, Values};

use crate::Profile;

use super::newreno::NewReno;
use super::{Acked, Congestion, Control, Needs, Registered, Signal, WINDOW, Window};

/// Maximum of a round-trip sample (Linux: 3.355443 s, for its arithmetic).
const LONGEST: Duration = Duration::from_millis(3355);

/// The curves' parameters (Liu et al. 2008 section 3).
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// alpha_max, packets per round trip.
    pub alpha_max: f64,
    /// alpha_min.
    pub alpha_min: f64,
    /// beta_max.
    pub beta_max: f64,
    /// beta_min.
    pub beta_min: f64,
}

/// Below this share of the largest queueing delay the increase is the largest: eta_1 (Liu et al. 2008 section 3.2).
pub const ETA_1: f64 = 0.01;
/// Below this share the decrease is the smallest: eta_2.
pub const ETA_2: f64 = 0.1;
/// Above this share the decrease is the largest: eta_3.
pub const ETA_3: f64 = 0.8;

/// Increase in packets per round trip at mean queueing delay `delay`, with the maximum `most` so far. Above
/// eta_1 `most` it is k1 / (k2 + delay), from alpha_max down to alpha_min (Liu et al. 2008 equations 3 and
/// 5).
#[inline]
pub fn alpha(delay: f64, most: f64, shape: &Shape) -> f64 {
    let low = ETA_1 * most;
    let (delay, span) = (delay - low, most - low);
    if delay <= 0.0 || span <= 0.0 {
        return shape.alpha_max;
    }
    let steep = (shape.alpha_max - shape.alpha_min) / shape.alpha_min;
    span * shape.alpha_max / (span + delay * steep)
}

/// The share of the window that a loss takes: beta_min up to eta_2, beta_max from eta_3 on, a line between (Liu et al. 2008
/// equations 4 and 6).
#[inline]
pub fn beta(delay: f64, most: f64, shape: &Shape) -> f64 {
    let (low, high) = (ETA_2 * most, ETA_3 * most);
    if delay <= low {
        shape.beta_min
    } else if delay >= high || high <= low {
        shape.beta_max
    } else {
        (shape.beta_min * high - shape.beta_max * low + (shape.beta_max - shape.beta_min) * delay)
            / (high - low)
    }
}

/// TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    shape: Shape,
    /// W_thresh, packets: below it the window moves as NewReno's.
    threshold: f64,
    /// theta: so many round trips of low delay bring the largest increase back.
    patience: u32,
    whole: bool,
    /// Least and greatest round-trip time of the connection.
    extremes: Option<(Duration, Duration)>,
    /// Sum and number of the round's samples.
    sum: f64,
    samples: u32,
    /// An ACK beyond this ends the round.
    end: u64,
    alpha: f64,
    beta: f64,
    /// The delay was above eta_1 since the increase was last the largest.
    above: bool,
    /// Round trips of low delay since then.
    low: u32,
    /// Packets acknowledged that have not grown the window.
    credit: f64,
    reno: NewReno,
}

impl Registered for Illinois {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Illinois, Vec<Problem>> {
        // The kernel's constants are whole parts themselves: an alpha_min of 0.3 is 38/128.
        let given = Given::read(values);
        let of = |x: f64, parts: f64| match profile.whole_segments {
            true => libm::floor(x * parts) / parts,
            false => x,
        };
        let shape = Shape {
            alpha_max: of(given.alpha_max, 128.0),
            alpha_min: of(given.alpha_min, 128.0).max(1.0 / 128.0),
            beta_max: of(given.beta_max, 64.0),
            beta_min: of(given.beta_min, 64.0),
        };
        Ok(Illinois {
            shape,
            threshold: given.window_threshold,
            patience: given.theta,
            whole: profile.whole_segments,
            extremes: None,
            sum: 0.0,
            samples: 0,
            end: 0,
            alpha: shape.alpha_max,
            beta: shape.beta_max,
            above: false,
            low: 0,
            credit: 0.0,
            reno: NewReno::of(profile),
        })
    }
}

impl Control for Illinois {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    /// Every ACK that says something.
    fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
        if let Some(rtt) = acked.rtt {
            let rtt = rtt.min(LONGEST);
            let (least, most) = self.extremes.unwrap_or((rtt, rtt));
            self.extremes = Some((least.min(rtt), most.max(rtt)));
            self.sum += rtt.seconds();
            self.samples += 1;
        }
        if open && acked.una > self.end {
            self.end = acked.next;
            self.update(w.cwnd / acked.mss);
        }
    }

    /// NewReno's slow start; from the threshold on alpha packets per round trip.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        if w.cwnd < w.ssthresh {
            return self.reno.grow(w, acked);
        }
        let cwnd = w.cwnd / acked.mss;
        let segments = acked.bytes as f64 / acked.mss;
        if !self.whole {
            w.cwnd += self.alpha * segments / cwnd * acked.mss;
            return;
        }
        self.credit += acked.segments as f64;
        let delta = libm::floor(self.credit * self.alpha);
        if delta >= cwnd {
            w.cwnd += libm::floor(delta / cwnd) * acked.mss;
            self.credit = 0.0;
        }
    }

    /// The threshold after `event`: the window minus the share beta, at least two packets.
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        let mss = event.mss;
        let cut = w.cwnd / mss * self.beta;
        let left = w.cwnd - if self.whole { libm::floor(cut) } else { cut } * mss;
        if event.signal == Signal::Timeout {
            self.forget();
        }
        self.credit = 0.0;
        left.max(2.0 * mss)
    }

    /// Everything is lost: as after a timeout; a round begins.
    fn on_timeout_confirmed(&mut self, next: u64) {
        self.forget();
        self.end = next;
    }

    /// Its observables.
    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "alpha" => Some(self.alpha),
            "beta" => Some(self.beta),
            _ => None,
        }
    }
}

impl Illinois {
    /// A round trip is over: alpha and beta from its mean delay.
    fn update(&mut self, cwnd: f64) {
        if cwnd < self.threshold {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if let (Some((least, most)), true) = (self.extremes, self.samples > 0) {
            let delay = self.sum / f64::from(self.samples) - least.seconds();
            let most = most.seconds() - least.seconds();
            self.alpha = self.increase(delay, most);
            self.beta = beta(delay, most, &self.shape);
            if self.whole {
                self.alpha = libm::floor(self.alpha * 128.0) / 128.0;
                self.beta = libm::floor(self.beta * 64.0) / 64.0;
            }
        }
        (self.sum, self.samples) = (0.0, 0);
    }

    /// alpha, which comes back to the largest only after `theta` round trips of low delay.
    fn increase(&mut self, delay: f64, most: f64) -> f64 {
        if delay > ETA_1 * most {
            self.above = true;
            return alpha(delay, most, &self.shape);
        }
        if !self.above {
            return self.shape.alpha_max;
        }
        self.low += 1;
        if self.low < self.patience {
            return self.alpha;
        }
        (self.low, self.above) = (0, false);
        self.shape.alpha_max
    }

    fn forget(&mut self) {
        (self.alpha, self.beta, self.above, self.low) = (1.0, 0.5, false, 0);
        (self.sum, self.samples) = (0.0, 0);
    }
}

const SHARE: Range = Range { min: 0.0, closed: false, max: 0.99 };

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Increase per round trip with an empty queue, in packets.
        alpha_max: f64 = Number, Text("10"), Range::GAIN => source: "Liu, Başar, Srikant 2008 section 4";
        /// Increase per round trip with a full queue, in packets.
        alpha_min: f64 = Number, Text("0.3"), Range::GAIN => source: "Liu, Başar, Srikant 2008 section 4";
        /// Decrease at a loss with a full queue, as a share of the window.
        beta_max: f64 = Number, Text("0.5"), SHARE => source: "Liu, Başar, Srikant 2008 section 4";
        /// Decrease at a loss with an empty queue, as a share of the window.
        beta_min: f64 = Number, Text("0.125"), SHARE => source: "Liu, Başar, Srikant 2008 section 4";
        /// Window below which Illinois is NewReno (W_thresh).
        window_threshold: f64 = Packets, Text("15 packets"), Range::NOT_NEGATIVE
            => source: "Linux (win_thresh); Liu, Başar, Srikant 2008 section 4 has 10";
        /// Round trips of low delay after which alpha returns to alpha_max.
        theta: u32 = Integer, Text("5"), Range::FROM_ONE => source: "Liu, Başar, Srikant 2008 section 4";
    }
}

/// Illinois's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "illinois",
    title: "TCP-Illinois",
    example: r#"[groups.users.tcp.congestion_control]
kind = "illinois"
alpha_max = 10
beta_min = 0.125"#,
    doc: "Adds alpha packets per round trip and removes the share beta of the window at a loss. With growing \
          queueing delay, relative to its maximum so far, alpha falls and beta grows. On stacks that count \
          whole segments it uses the kernel's integers.",
    source: "Liu, Başar, Srikant 2008; Linux",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable::new("alpha", "packets", "Increase in packets per round trip."),
        Observable::new("beta", "1", "Decrease at a loss, as a share of the window."),
    ],
    deviations: &[
        Deviation {
            what: "The minimum and the maximum round-trip time are those of the whole connection.",
            why: "Neither the paper nor Linux resets them.",
        },
        Deviation {
            what: "Round trips of low delay count towards theta, even if not consecutive.",
            why: "As in Linux; the paper does not define it.",
        },
    ],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests {
    use evenflow_base::Time;
    use evenflow_base::schema::Value as V;

    use super::*;

    const MSS: f64 = 1000.0;
    const SHAPE: Shape = Shape { alpha_max: 10.0, alpha_min: 0.3, beta_max: 0.5, beta_min: 0.125 };

    fn illinois(profile: Profile) -> Illinois {
        let values = [
            ("alpha_max", V::Number(10.0)),
            ("alpha_min", V::Number(0.3)),
            ("beta_max", V::Number(0.5)),
            ("beta_min", V::Number(0.125)),
            ("window_threshold", V::Packets(15.0)),
            ("theta", V::Number(5.0)),
        ];
        let built = Illinois::build(&Values(values.into()), &profile, 1.0).expect("they are sound");
        Illinois { reno: NewReno::default(), ..built }
    }

    #[test]
    fn the_increase_is_largest_at_eta_1_and_smallest_at_the_largest_delay() {
        assert_eq!(alpha(1.0, 100.0, &SHAPE), 10.0);
        assert!((alpha(100.0, 100.0, &SHAPE) - 0.3).abs() < 1e-12);
        // Half way: 99 * 10 / (99 + 49 * 9.7 / 0.3) = 990 / 1683.33.
        assert!((alpha(50.0, 100.0, &SHAPE) - 990.0 / (99.0 + 49.0 * 9.7 / 0.3)).abs() < 1e-12);
    }

    #[test]
    fn the_decrease_is_flat_then_a_line_then_flat() {
        assert_eq!(beta(10.0, 100.0, &SHAPE), 0.125);
        assert_eq!(beta(80.0, 100.0, &SHAPE), 0.5);
        assert!((beta(45.0, 100.0, &SHAPE) - 0.3125).abs() < 1e-12); // half way between 10 and 80
        assert_eq!(beta(1.0, 0.0, &SHAPE), 0.5); // no delay was ever seen
    }

    fn update(cc: &mut Illinois, mean_ms: f64) {
        cc.sum = mean_ms / 1e3;
        cc.samples = 1;
        cc.update(100.0);
    }

    #[test]
    fn five_round_trips_of_low_delay_bring_the_largest_increase_back() {
        let mut cc = illinois(Profile::rfc());
        cc.extremes = Some((Duration::from_millis(100), Duration::from_millis(200)));
        update(&mut cc, 200.0);
        assert!((cc.alpha - 0.3).abs() < 1e-9);
        for _ in 0..4 {
            update(&mut cc, 100.0);
            assert!((cc.alpha - 0.3).abs() < 1e-9);
        }
        update(&mut cc, 100.0);
        assert_eq!(cc.alpha, 10.0);
        update(&mut cc, 100.0);
        assert_eq!(cc.alpha, 10.0);
    }

    #[test]
    fn a_small_window_is_newrenos() {
        let mut cc = illinois(Profile::rfc());
        cc.update(14.9);
        assert_eq!((cc.alpha, cc.beta), (1.0, 0.5));
    }

    #[test]
    fn the_kernel_counts_in_128ths_and_64ths_and_grows_by_whole_packets() {
        let mut cc = illinois(Profile::linux());
        cc.extremes = Some((Duration::from_millis(100), Duration::from_millis(200)));
        update(&mut cc, 150.0);
        // Of 100 ms half: 99 * 1280 / (99 + 49 * 1242 / 38) = 74.56 of 128, alpha_min being 38 of 128.
        assert_eq!(cc.alpha, 74.0 / 128.0);
        assert_eq!(cc.beta, libm::floor(beta(0.05, 0.1, &SHAPE) * 64.0) / 64.0);
        cc.alpha = 2.0;
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 2.0 * MSS };
        let acked = Acked {
            now: Time::ZERO,
            una: 0,
            next: 0,
            bytes: 1000,
            segments: 1,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: None,
            one_way: None,
            marks: 0,
        };
        for _ in 0..4 {
            cc.grow(&mut w, &acked);
        }
        assert_eq!(w.cwnd, 10.0 * MSS);
        cc.grow(&mut w, &acked); // five packets times two make a window
        assert_eq!(w.cwnd, 11.0 * MSS);
    }

    #[test]
    fn a_loss_takes_beta_and_a_timeout_forgets() {
        let mut cc = illinois(Profile::rfc());
        cc.beta = 0.25;
        let w = Window { cwnd: 40.0 * MSS, ssthresh: 2.0 * MSS };
        let event = |signal| Congestion::new(signal, Time::ZERO, 0.0, MSS);
        assert_eq!(cc.ssthresh(&w, &event(Signal::Loss)), 30.0 * MSS);
        cc.ssthresh(&w, &event(Signal::Timeout));
        assert_eq!((cc.alpha, cc.beta), (1.0, 0.5));
    }
}
