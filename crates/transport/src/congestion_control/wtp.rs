//! Willingness to pay (Gibbens and Kelly 1999; Siris, Courcoubetis, Margetis, "Service differentiation and performance of
//! weighted window-based congestion control and packet marking algorithms in ECN networks", Computer Communications 2002).
//!
//! Each ACK adds to the window, each mark takes a fixed step off it, and the balance is a rate proportional to the weight:
//! W = wi wd / p. It speaks packets, in real numbers, on any stack, and needs the mark of each packet.

use evenflow_base::schema::{Deviation, Mechanism, Problem, Room, Traits, Values, sound};

use crate::Profile;
use crate::profile::{Ecn, WindowBase};

use super::{Acked, Congestion, Control, Needs, Registered, Signal, WINDOW, Window};

/// The two weights of the window's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// wi: what an ACK adds is in proportion to it.
    pub increase: f64,
    /// wd: what a mark takes off is in inverse proportion to it.
    pub decrease: f64,
}

/// Willingness to pay.
#[derive(Clone, Copy, Debug)]
pub struct Wtp {
    /// k, a pure number: gain per round trip.
    gain: f64,
    weights: Weights,
    /// Packets.
    min_window: f64,
    max_window: Option<f64>,
    /// Slow start until the first mark.
    slow_start: bool,
    /// An ACK that carries a mark adds to the window as any other.
    marked_adds: bool,
    half_of: WindowBase,
}

/// The change of a window of `cwnd` packets by an ACK with f marks: k (wi / cwnd - f / wd) (Siris et al.
/// 2002, equation 4 and the first of section 3). Without `marked_adds`, an ACK with a mark changes it by - k
/// f / wd.
#[inline]
pub fn step(cwnd: f64, marks: f64, gain: f64, weights: Weights, marked_adds: bool) -> f64 {
    let added = if marks > 0.0 && !marked_adds { 0.0 } else { weights.increase / cwnd };
    gain * (added - marks / weights.decrease)
}

impl Registered for Wtp {
    const TABLE: &'static Mechanism = &TABLE;

    /// From its parameters; `weight` is its user's.
    fn build(values: &Values, profile: &Profile, weight: f64) -> Result<Wtp, Vec<Problem>> {
        let given = Given::read(values);
        let (form, min_window, max_window) = (given.form, given.min_window, given.max_window);
        let explicit = [
            (Given::increase_weight.name, given.increase_weight),
            (Given::decrease_weight.name, given.decrease_weight),
        ];
        let mut problems: Vec<Problem> = Vec::new();
        for (name, value) in explicit {
            match (form, value) {
                (Form::General, None) => problems.push((name, "is required with form = \"general\"".into())),
                (Form::General, Some(_)) | (_, None) => {}
                _ => {
                    problems.push((name, format!("is only for form = \"general\", not \"{}\"", form.word())))
                }
            }
        }
        if max_window.is_some_and(|max| max < min_window) {
            problems.push((Given::max_window.name, "must be at least min_window".into()));
        }
        sound(problems)?;
        let weights = match (form, explicit) {
            (Form::InverseDecrease, _) => Weights { increase: 1.0, decrease: weight },
            (Form::General, [(_, Some(increase)), (_, Some(decrease))]) => Weights { increase, decrease },
            _ => Weights { increase: weight, decrease: 1.0 },
        };
        Ok(Wtp {
            gain: given.gain,
            weights,
            min_window,
            max_window,
            slow_start: given.start == Start::SlowStart,
            marked_adds: given.marked_ack == MarkedAck::Increase,
            half_of: profile.half_of,
        })
    }

    fn contradictions(_: &Values, profile: &Profile) -> Vec<String> {
        match profile.ecn {
            Ecn::PerPacket => Vec::new(),
            ecn => vec![format!(
                "wtp reacts to the mark of each packet and needs ecn = \"per-packet\", not \"{}\"",
                ecn.word()
            )],
        }
    }
}

impl Control for Wtp {
    fn needs(&self) -> Needs {
        Needs { every_mark: true, ..Needs::default() }
    }

    /// Without slow start it begins with its least window; with it, with the stack's initial one.
    fn on_start(&mut self, w: &mut Window, mss: f64) {
        if self.slow_start {
            w.ssthresh = f64::INFINITY;
        } else {
            w.cwnd = self.min_window * mss;
            w.ssthresh = w.cwnd;
        }
    }

    /// The law of the window, or slow start by one packet per ACK below the threshold. A mark ends slow start where it is:
    /// there is no halving.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        if acked.segments == 0 && acked.marks == 0 {
            return;
        }
        let cwnd = w.cwnd / acked.mss;
        let grown = if w.cwnd < w.ssthresh && acked.marks == 0 {
            cwnd + 1.0
        } else {
            cwnd + step(cwnd, f64::from(acked.marks), self.gain, self.weights, self.marked_adds)
        };
        w.cwnd = grown.max(self.min_window).min(self.max_window.unwrap_or(f64::INFINITY)) * acked.mss;
        if acked.marks > 0 {
            // Slow start does not regain the decrease by a mark. Nothing else moves the threshold: after a
            // timeout slow start continues up to it (RFC 5681 section 3.1).
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    /// The threshold after `event`: a loss halves it like NewReno; marks are no events.
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        let base = match (event.signal, self.half_of) {
            (Signal::Mark, _) => return w.cwnd,
            (_, WindowBase::Flight) => event.flight,
            (_, WindowBase::Window) => w.cwnd,
        };
        (base / 2.0).max(2.0 * event.mss)
    }

    /// The least window, bytes.
    fn min_window(&self, mss: f64) -> f64 {
        self.min_window * mss
    }
}

words! {
    /// Where the weight is.
    pub enum Form {
        /// In the increase.
        Increase = "proportional-increase",
        /// In the decrease.
        InverseDecrease = "inverse-decrease",
        /// In both.
        General = "general",
    }
}

words! {
    /// How a connection begins.
    pub enum Start {
        /// With the minimum window.
        None = "none",
        /// By slow start until its first mark.
        SlowStart = "slow-start-until-mark",
    }
}

words! {
    /// The increase by an ACK with a mark.
    pub enum MarkedAck {
        /// As by any ACK.
        Increase = "increase",
        /// None.
        None = "none",
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Gain per round trip.
        gain: f64 = Number, Text("0.5"), Range::GAIN => source: "Siris et al. 2002 section 4";
        /// Place of the weight: in the increase, in the decrease, or in both by the two weights below.
        form: Form = Form::TYPE, Text("proportional-increase") => source: "Siris et al. 2002 equations 5 and 6";
        /// Weight of the increase per ACK, for form = "general".
        increase_weight: Option<f64> = Number, Absent("derived from form and the group's weight"), Range::GAIN
            => source: "Siris et al. 2002 section 2.2";
        /// Weight that divides the decrease per mark, for form = "general".
        decrease_weight: Option<f64> = Number, Absent("derived from form and the group's weight"), Range::GAIN
            => source: "Siris et al. 2002 section 2.2";
        /// Minimum window.
        min_window: f64 = Packets, Text("1 packet"), Range::WINDOW
            => source: "the paper gives none; below one packet a sender would stop";
        /// Maximum window.
        max_window: Option<f64> = Packets, Absent("unlimited"), Range::FROM_ONE => source: "Siris et al. 2002";
        /// Start of a connection: the minimum window, or slow start until the first mark. After a timeout,
        /// slow start ends at half of the window or at a mark.
        start: Start = Start::TYPE, Text("none")
            => source: "Siris et al. 2002 measure after 60 s and describe no start";
        /// Increase by an ACK with a mark: as for any ACK, or none, as in RFC 3168 section 6.1.2. With none
        /// the mean window is weight * (1 - p) / p instead of weight / p.
        marked_ack: MarkedAck = MarkedAck::TYPE, Text("increase")
            => source: "Siris et al. 2002 equations 4 and 6: f is 1 or 0 in one formula that every ACK applies";
    }
}

/// Willingness to pay's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "wtp",
    traits: Traits { no_slow_start: true, ..Mechanism::PLAIN },
    title: "Willingness to pay",
    example: r#"groups.users.weight = 2

[groups.users.tcp]
ecn = "per-packet"
ack_every = 1
congestion_control = { kind = "wtp", gain = 0.5 }"#,
    doc: "Each ACK adds gain * (increase weight / window); each mark takes gain / decrease weight. Rates \
          become proportional to the group's weight. Needs ecn = \"per-packet\". A loss halves the window \
          like NewReno.",
    source: "Siris, Courcoubetis, Margetis 2002; Gibbens, Kelly 1999",
    params: Given::PARAMS,
    observables: &[WINDOW],
    deviations: &[
        Deviation {
            what: "The window is at least one packet.",
            why: "The paper gives no minimum; a window below one packet gets no ACK, and the sender would \
                  stop.",
        },
        Deviation {
            what: "An ACK that covers several packets adds one step.",
            why: "The paper assumes one ACK per packet. Other ACKs come only from retransmissions, which the \
                  paper does not have.",
        },
    ],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;
    use evenflow_base::{Stream, Time};

    use super::*;

    const MSS: f64 = 1000.0;

    fn values(more: &[(&'static str, Value)]) -> Values {
        let word = |text: &str| Value::Word(text.into());
        let mut values = Values(
            [
                ("gain", Value::Number(0.5)),
                ("form", word("proportional-increase")),
                ("min_window", Value::Packets(1.0)),
                ("start", word("none")),
                ("marked_ack", word("increase")),
            ]
            .into(),
        );
        values.0.extend(more.iter().cloned());
        values
    }

    fn wtp(form: &str, weight: f64, more: &[(&'static str, Value)]) -> Wtp {
        let mut values = values(more);
        values.0.insert("form", Value::Word(form.into()));
        Wtp::build(&values, &Profile::ns2(), weight).expect("it is sound")
    }

    fn acked(marks: u32) -> Acked {
        Acked {
            now: Time::ZERO,
            una: 0,
            next: 0,
            bytes: MSS as u64,
            segments: 1,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: None,
            one_way: None,
            marks,
        }
    }

    fn one(cc: &mut Wtp, cwnd: f64, marks: u32) -> f64 {
        let mut w = Window { cwnd: cwnd * MSS, ssthresh: MSS };
        cc.grow(&mut w, &acked(marks));
        w.cwnd / MSS
    }

    #[test]
    fn the_three_forms_by_hand() {
        // cwnd = 10, k = 1/2, weight 4. Proportional increase: + 0.5 * 4 / 10, - 0.5 a mark.
        let mut cc = wtp("proportional-increase", 4.0, &[]);
        assert_eq!(one(&mut cc, 10.0, 0), 10.2);
        assert_eq!(one(&mut cc, 10.0, 1), 9.7);
        // Inverse decrease: + 0.5 / 10, - 0.5 / 4 a mark.
        let mut cc = wtp("inverse-decrease", 4.0, &[]);
        assert_eq!(one(&mut cc, 10.0, 0), 10.05);
        assert_eq!(one(&mut cc, 10.0, 1), 9.925);
        // General with weights 3 and 2: + 0.15, - 0.25.
        let weights = [("increase_weight", Value::Number(3.0)), ("decrease_weight", Value::Number(2.0))];
        let mut cc = wtp("general", 1.0, &weights);
        assert_eq!(one(&mut cc, 10.0, 0), 10.15);
        assert_eq!(one(&mut cc, 10.0, 1), 9.9);
    }

    #[test]
    fn without_an_increase_a_marked_ack_only_takes() {
        let none = ("marked_ack", Value::Word("none".into()));
        // cwnd = 10, k = 1/2, weight 4: unmarked ACKs as ever; 10.2 and 10.05 lack the increase of a marked one.
        let mut cc = wtp("proportional-increase", 4.0, std::slice::from_ref(&none));
        assert_eq!(one(&mut cc, 10.0, 0), 10.2);
        assert_eq!(one(&mut cc, 10.0, 1), 9.5); // - 0.5
        let mut cc = wtp("inverse-decrease", 4.0, std::slice::from_ref(&none));
        assert_eq!(one(&mut cc, 10.0, 0), 10.05);
        assert_eq!(one(&mut cc, 10.0, 1), 9.875); // - 0.5 / 4
        let weights =
            [("increase_weight", Value::Number(3.0)), ("decrease_weight", Value::Number(2.0)), none];
        let mut cc = wtp("general", 1.0, &weights);
        assert_eq!(one(&mut cc, 10.0, 1), 9.75); // - 0.5 / 2
        assert_eq!(one(&mut cc, 1.0, 1), 1.0); // 0.75, except for the least window
    }

    #[test]
    fn the_window_stays_between_its_bounds() {
        let mut cc = wtp("proportional-increase", 1.0, &[("max_window", Value::Packets(10.0))]);
        assert_eq!(one(&mut cc, 1.0, 2), 1.0); // 1 + 0.5 - 1 is half a packet
        assert_eq!(one(&mut cc, 10.0, 0), 10.0);
    }

    #[test]
    fn slow_start_ends_at_the_first_mark_without_halving() {
        let mut cc = wtp("inverse-decrease", 10.0, &[("start", Value::Word("slow-start-until-mark".into()))]);
        let mut w = Window { cwnd: MSS, ssthresh: 0.0 };
        cc.on_start(&mut w, MSS);
        for _ in 0..19 {
            cc.grow(&mut w, &acked(0));
        }
        assert_eq!(w.cwnd, 20.0 * MSS);
        cc.grow(&mut w, &acked(1));
        assert!((w.cwnd / MSS - 19.975).abs() < 1e-12); // 20 + 0.5 / 20 - 0.5 / 10
        cc.grow(&mut w, &acked(1));
        let low = w.cwnd;
        cc.grow(&mut w, &acked(0));
        assert!(w.cwnd - low < 0.1 * MSS, "slow start is over");
    }

    #[test]
    fn without_slow_start_it_begins_with_the_least_window() {
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
        let mut cc = wtp("proportional-increase", 2.0, &[]);
        cc.on_start(&mut w, MSS);
        assert_eq!(w.cwnd, MSS);
        cc.grow(&mut w, &acked(0));
        assert_eq!(w.cwnd, 2.0 * MSS); // 1 + 0.5 * 2 / 1
    }

    /// The window after each of `marks`' ACKs that follow a timeout at 20 packets, and the threshold after the last.
    fn after_a_timeout(start: &str, marks: &[u32]) -> (Vec<f64>, f64) {
        let mut cc = wtp("proportional-increase", 1.0, &[("start", Value::Word(start.into()))]);
        let mut w = Window { cwnd: 20.0 * MSS, ssthresh: MSS };
        let event = Congestion::new(Signal::Timeout, Time::ZERO, 0.0, MSS);
        w.ssthresh = cc.ssthresh(&w, &event);
        assert_eq!(w.ssthresh, 10.0 * MSS);
        w.cwnd = cc.min_window(MSS);
        let each = |marks: &u32| {
            cc.grow(&mut w, &acked(*marks));
            w.cwnd / MSS
        };
        let windows = marks.iter().map(each).collect();
        (windows, w.ssthresh / MSS)
    }

    #[test]
    fn a_loss_halves_and_slow_start_follows_a_timeout_up_to_the_threshold() {
        for start in ["none", "slow-start-until-mark"] {
            let (windows, ssthresh) = after_a_timeout(start, &[0; 10]);
            // One packet per ACK to 10, then 0.5 / 10.
            assert_eq!(windows, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 10.05], "{start}");
            assert_eq!(ssthresh, 10.0);
        }
    }

    #[test]
    fn a_mark_ends_the_slow_start_after_a_timeout() {
        // At 4 packets the mark: + 0.5 / 4 - 0.5; then + 0.5 / 3.625.
        let (windows, ssthresh) = after_a_timeout("none", &[0, 0, 0, 1, 0]);
        assert_eq!(windows, [2.0, 3.0, 4.0, 3.625, 3.625 + 0.5 / 3.625]);
        assert_eq!(ssthresh, 3.625);
    }

    #[test]
    fn weights_that_contradict_the_form_are_refused_together() {
        let names = |values: &Values| -> Vec<&str> {
            Wtp::build(values, &Profile::ns2(), 1.0).unwrap_err().iter().map(|(name, _)| *name).collect()
        };
        let both = [("increase_weight", Value::Number(3.0)), ("decrease_weight", Value::Number(2.0))];
        assert_eq!(names(&values(&both)), ["increase_weight", "decrease_weight"]);
        assert_eq!(
            names(&values(&[("form", Value::Word("general".into()))])),
            ["increase_weight", "decrease_weight"]
        );
        let bounds = [("min_window", Value::Packets(4.0)), ("max_window", Value::Packets(2.0))];
        assert_eq!(names(&values(&bounds)), ["max_window"]);
    }

    /// Mean W = wi wd / p, variance k wi / (2 p) (linear noise around Siris et al. 2002 equation 4; independent marks, one
    /// packet at a time). Without the increase of marked ACKs (1 - p) wi / W = p / wd, so the mean is (1 - p) as large;
    /// the variance stays. Two million packets: at a relaxation of W / (k p) * wd packets at most 16000, standard errors
    /// are 1 % of the mean at most and 12 % of the variance.
    #[test]
    fn mean_and_variance_under_independent_marks() {
        for (form, weight, p, marked) in [
            ("proportional-increase", 4.0, 0.05, "increase"),
            ("inverse-decrease", 4.0, 0.05, "increase"),
            ("inverse-decrease", 1.0, 0.02, "increase"),
            ("proportional-increase", 4.0, 0.2, "none"),
            ("inverse-decrease", 4.0, 0.2, "none"),
        ] {
            let mut cc = wtp(form, weight, &[("marked_ack", Value::Word(marked.into()))]);
            let Weights { increase, decrease } = cc.weights;
            let free = if marked == "none" { 1.0 - p } else { 1.0 };
            let predicted = free * increase * decrease / p;
            let mut w = Window { cwnd: predicted * MSS, ssthresh: MSS };
            let mut stream = Stream::new(3, "marks");
            // Time goes on by 1 / W of a round trip for each packet: the mean over round trips, not over packets.
            let (mut time, mut sum, mut squares) = (0.0, 0.0, 0.0);
            for _ in 0..2_000_000 {
                let cwnd = w.cwnd / MSS;
                (time, sum, squares) = (time + 1.0 / cwnd, sum + 1.0, squares + cwnd);
                cc.grow(&mut w, &acked(u32::from(stream.uniform(0.0, 1.0) < p)));
            }
            let mean = sum / time;
            let variance = squares / time - mean * mean;
            assert!((mean / predicted - 1.0).abs() < 0.03, "{form} {weight}: mean {mean} for {predicted}");
            let expected = 0.5 * increase / (2.0 * p);
            assert!((variance / expected - 1.0).abs() < 0.25, "{form} {weight}: {variance} for {expected}");
        }
    }
}
