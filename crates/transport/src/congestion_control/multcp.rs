//! MulTCP (Crowcroft and Oechslin, "Differentiated end-to-end Internet services using a weighted proportional fair sharing
//! TCP", ACM CCR 28(3), 1998): one connection that behaves like N.
//!
//! It speaks packets, in real numbers, on any stack. With N = 1 it is NewReno as the stack `ns2` counts.

use evenflow_base::schema::{Mechanism, Problem, Room, Values};

use crate::Profile;
use crate::profile::Ecn;

use super::{Acked, Congestion, Control, Needs, Registered, WINDOW, Window};

/// MulTCP.
#[derive(Clone, Copy, Debug)]
pub struct MulTcp {
    /// N: how many connections it stands for.
    weight: f64,
    /// Up to this window, packets, slow start adds two packets per ACK.
    limit: f64,
    /// Each mark counts, not only the first of a round trip.
    every_mark: bool,
}

/// Window up to which slow start triples. After k round trips with 3^k = N 2^k, one tripling connection has
/// the windows of N doubling ones: 3^k packets (Crowcroft and Oechslin 1998 section 3.1).
pub fn tripling_limit(weight: f64) -> f64 {
    libm::pow(3.0, libm::log(weight) / (libm::log(3.0) - libm::log(2.0)))
}

/// By what the window is multiplied at a congestion event: one of N connections halves; in slow start all do.
#[inline]
pub fn decrease(weight: f64, slow_start: bool) -> f64 {
    if slow_start { 0.5 } else { (weight - 0.5) / weight }
}

impl Registered for MulTcp {
    const TABLE: &'static Mechanism = &TABLE;

    /// From its parameters; `weight` is its user's.
    fn build(values: &Values, _: &Profile, weight: f64) -> Result<MulTcp, Vec<Problem>> {
        let given = Given::read(values);
        let weight = given.weight.unwrap_or(weight);
        if weight < 1.0 {
            return Err(vec![(Given::weight.name, format!("N must be at least 1, but is {weight}"))]);
        }
        let every_mark = given.react == React::EveryMark;
        Ok(MulTcp { weight, limit: tripling_limit(weight), every_mark })
    }

    fn contradictions(values: &Values, profile: &Profile) -> Vec<String> {
        match profile.ecn {
            Ecn::Off | Ecn::Classic if values.at(Given::react) == Some(React::EveryMark) => vec![format!(
                "react = \"every-mark\" needs ecn = \"per-packet\" or \"accurate\"; \"{}\" does not report \
                 single marks",
                profile.ecn.word()
            )],
            _ => Vec::new(),
        }
    }
}

impl Control for MulTcp {
    fn needs(&self) -> Needs {
        Needs { every_mark: self.every_mark, ..Needs::default() }
    }

    /// N packets per round trip from the threshold on; below it one or two per ACK. Each mark takes its cut, and an ACK with
    /// a mark adds nothing.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        for _ in 0..acked.marks {
            let cwnd = w.cwnd * decrease(self.weight, w.cwnd < w.ssthresh);
            w.ssthresh = cwnd.max(2.0 * acked.mss);
            w.cwnd = cwnd.max(acked.mss);
        }
        let mut segments = acked.segments;
        if acked.marks > 0 {
            return;
        }
        if w.cwnd < w.ssthresh && segments > 0 {
            let triples = self.weight > 1.0 && w.cwnd <= self.limit * acked.mss;
            w.cwnd += if triples { 2.0 * acked.mss } else { acked.mss };
            segments -= 1;
        }
        if w.cwnd >= w.ssthresh && segments > 0 {
            w.cwnd += self.weight * (acked.mss * acked.mss / w.cwnd);
        }
    }

    /// ssthresh after `event`.
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        (w.cwnd * decrease(self.weight, w.cwnd < w.ssthresh)).max(2.0 * event.mss)
    }

    /// The window after a mark: the same with one packet as its floor.
    fn after_mark(&self, w: &Window, event: &Congestion, _: f64) -> f64 {
        (w.cwnd * decrease(self.weight, w.cwnd < w.ssthresh)).max(event.mss)
    }
}

words! {
    /// Definition of a congestion event.
    pub enum React {
        /// All marks of a round trip.
        OncePerRtt = "once-per-rtt",
        /// Each mark.
        EveryMark = "every-mark",
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Congestion event: all marks of a round trip together, or each mark (needs feedback on each mark).
        react: React = React::TYPE, Text("once-per-rtt") => source: "Crowcroft, Oechslin 1998 section 3";
        /// Number N of emulated connections, instead of the group's weight.
        weight: Option<f64> = Number, Absent("the group's weight"), Range { closed: true, min: 1.0, ..Range::GAIN }
            => source: "Crowcroft, Oechslin 1998 section 3";
    }
}

/// MulTCP's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "multcp",
    title: "MulTCP",
    example: r#"groups.users.weight = 2

[groups.users.tcp]
congestion_control = { kind = "multcp", react = "once-per-rtt" }"#,
    doc: "One connection that behaves like N connections. It adds N packets per round trip, and a congestion \
          event takes 1/(2N) of the window. N is the group's weight.",
    source: "Crowcroft, Oechslin 1998; Siris et al. 2002",
    params: Given::PARAMS,
    observables: &[WINDOW],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;
    use evenflow_base::{Stream, Time};

    use super::*;
    use crate::congestion_control::newreno::Counting;
    use crate::congestion_control::{NewReno, Signal};
    use crate::profile::WindowBase;

    const MSS: f64 = 1000.0;

    fn multcp(weight: f64, react: &str) -> MulTcp {
        let values = Values([("react", Value::Word(react.into()))].into());
        MulTcp::build(&values, &Profile::ns2(), weight).expect("it is sound")
    }

    fn acked(segments: u64, marks: u32) -> Acked {
        Acked {
            now: Time::ZERO,
            una: 0,
            next: 0,
            bytes: segments * MSS as u64,
            segments,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: None,
            one_way: None,
            marks,
        }
    }

    fn event(signal: Signal) -> Congestion {
        Congestion::new(signal, Time::ZERO, 0.0, MSS)
    }

    #[test]
    fn tripling_catches_up_where_three_halves_to_the_k_is_n() {
        assert!((tripling_limit(1.5) - 3.0).abs() < 1e-12); // k = 1
        assert!((tripling_limit(2.25) - 9.0).abs() < 1e-12); // k = 2
        assert_eq!(tripling_limit(1.0), 1.0);
    }

    #[test]
    fn slow_start_adds_two_up_to_the_limit_and_then_one() {
        let mut cc = multcp(2.5, "once-per-rtt");
        let mut w = Window { cwnd: MSS, ssthresh: f64::INFINITY };
        let mut windows = Vec::new();
        for _ in 0..8 {
            cc.grow(&mut w, &acked(1, 0));
            windows.push(w.cwnd / MSS);
        }
        // (3/2)^k = 2.5 where k = 2.26, and 3^k = 11.97: from 11 packets two more, from 13 on one.
        assert_eq!(windows, [3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 14.0, 15.0]);
    }

    #[test]
    fn avoidance_adds_n_packets_a_window() {
        let mut cc = multcp(4.0, "once-per-rtt");
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 5.0 * MSS };
        cc.grow(&mut w, &acked(1, 0));
        assert_eq!(w.cwnd, 10.4 * MSS);
    }

    #[test]
    fn one_of_n_halves_but_all_do_in_slow_start() {
        let mut cc = multcp(4.0, "once-per-rtt");
        let w = Window { cwnd: 16.0 * MSS, ssthresh: 5.0 * MSS };
        assert_eq!(cc.ssthresh(&w, &event(Signal::Loss)), 14.0 * MSS); // 16 (4 - 1/2) / 4
        let w = Window { cwnd: 16.0 * MSS, ssthresh: f64::INFINITY };
        assert_eq!(cc.ssthresh(&w, &event(Signal::Mark)), 8.0 * MSS);
    }

    #[test]
    fn the_threshold_has_two_packets_and_the_window_one() {
        let mut cc = multcp(1.0, "every-mark");
        let w = Window { cwnd: 1.5 * MSS, ssthresh: 0.0 };
        assert_eq!(cc.ssthresh(&w, &event(Signal::Loss)), 2.0 * MSS);
        assert_eq!(cc.after_mark(&w, &event(Signal::Mark), MSS), MSS);
        let mut w = w;
        cc.grow(&mut w, &acked(1, 1));
        assert_eq!(w, Window { cwnd: MSS, ssthresh: 2.0 * MSS });
    }

    #[test]
    fn each_mark_cuts_and_adds_nothing() {
        let mut cc = multcp(2.0, "every-mark");
        let mut w = Window { cwnd: 16.0 * MSS, ssthresh: 4.0 * MSS };
        cc.grow(&mut w, &acked(2, 2));
        assert_eq!(w.cwnd, 9.0 * MSS); // 16 * 3/4 * 3/4
    }

    /// Siris et al. 2002 section 3.2: W = N sqrt(2 / p) where each mark counts. The mean of a sawtooth that jumps by
    /// a part 1/(2N) is off that fixed point by a part of order 1/(4N) at most; measured, 3 % at N = 4.
    #[test]
    fn each_mark_counted_the_mean_window_is_n_times_the_root_of_two_over_p() {
        for (weight, p) in [(4.0, 0.02), (8.0, 0.05)] {
            let mut cc = multcp(weight, "every-mark");
            let predicted = weight * f64::sqrt(2.0 / p);
            let mut w = Window { cwnd: predicted * MSS, ssthresh: MSS };
            let mut stream = Stream::new(1, "marks");
            let (mut sum, n) = (0.0, 400_000);
            for _ in 0..n {
                cc.grow(&mut w, &acked(1, u32::from(stream.uniform(0.0, 1.0) < p)));
                sum += w.cwnd / MSS;
            }
            let mean = sum / f64::from(n);
            assert!((mean / predicted - 1.0).abs() < 0.05, "N {weight}: {mean} for {predicted}");
        }
    }

    /// One connection of N = 1 is a plain one.
    #[test]
    fn with_n_one_it_is_newreno_as_ns2_counts_to_the_last_bit() {
        let mut one = multcp(1.0, "once-per-rtt");
        let mut reno =
            NewReno { counting: Counting::AcksReal, half_of: WindowBase::Window, ..NewReno::default() };
        let mut a = Window { cwnd: 2.0 * 1460.0, ssthresh: f64::INFINITY };
        let mut b = a;
        let mut stream = Stream::new(7, "steps");
        for _ in 0..20_000 {
            let draw = stream.uniform(0.0, 1.0);
            if draw < 0.02 {
                let signal = [Signal::Loss, Signal::Mark, Signal::Timeout][(draw * 1e6) as usize % 3];
                let event = Congestion::new(signal, Time::ZERO, 1.0, 1460.0);
                a.ssthresh = one.ssthresh(&a, &event);
                b.ssthresh = reno.ssthresh(&b, &event);
                a.cwnd = if signal == Signal::Timeout { 1460.0 } else { a.ssthresh };
                b.cwnd = if signal == Signal::Timeout { 1460.0 } else { b.ssthresh };
            } else {
                let acked = Acked { mss: 1460.0, ..acked(1 + u64::from(draw > 0.9), 0) };
                one.grow(&mut a, &acked);
                reno.grow(&mut b, &acked);
            }
            assert_eq!((a.cwnd.to_bits(), a.ssthresh.to_bits()), (b.cwnd.to_bits(), b.ssthresh.to_bits()));
        }
    }

    #[test]
    fn fewer_than_one_connection_is_refused() {
        let values = Values([("react", Value::Word("once-per-rtt".into()))].into());
        assert_eq!(MulTcp::build(&values, &Profile::ns2(), 0.5).unwrap_err()[0].0, "weight");
    }
}
