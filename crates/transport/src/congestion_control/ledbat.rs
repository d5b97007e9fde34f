//! LEDBAT (RFC 6817): background transfer with a small queueing delay, which yields to other traffic.
//!
//! The queueing delay is the one-way delay of an acknowledged packet minus the minimum of the last minutes.
//! The window changes in proportion to the distance from the target. Units are packets, in real numbers.
//! [`Form::Ns2`] is the ns-2 module of Rossi, Testa, Valenti and Muscariello, with a target of 25 ms and
//! whole steps (Sanhaji 2015).

use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Values};
use evenflow_base::{Duration, Time};

use crate::Profile;

use super::newreno::NewReno;
use super::{Acked, Congestion, Control, Needs, Registered, Signal, WINDOW, Window};

/// How much the window changes a round trip, as a share of a packet: (TARGET - queuing_delay) / TARGET (RFC 6817 section
/// 2.4.2).
#[inline]
pub fn off_target(queueing: f64, target: f64) -> f64 {
    (target - queueing) / target
}

words! {
    /// Implementation of LEDBAT.
    pub enum Form {
        /// RFC 6817.
        Rfc = "rfc",
        /// The module for ns-2.
        Ns2 = "ns2",
    }
}

/// Maximum number of base delays; base_history and current_filter may be smaller.
const MOST: usize = 20;

/// One-way delays: the least of each of the last minutes, and the last few samples.
#[derive(Clone, Copy, Debug)]
struct Delays {
    form: Form,
    /// Least of each minute, the present one last; infinite: there was no sample.
    base: [f64; MOST],
    minutes: usize,
    /// The minute that the last of them is of.
    minute: u64,
    /// The last samples and when they came.
    current: [(f64, Time); MOST],
    samples: usize,
    /// The last round-trip time; not before one is known.
    rtt: Option<Duration>,
    /// How many minutes, and how many samples.
    history: usize,
    filter: usize,
}

impl Delays {
    fn new(form: Form, history: usize, filter: usize) -> Delays {
        Delays {
            form,
            base: [0.0; MOST],
            minutes: 0,
            minute: 0,
            current: [(0.0, Time::ZERO); MOST],
            samples: 0,
            rtt: None,
            history: history.clamp(1, MOST),
            filter: filter.clamp(1, MOST),
        }
    }

    /// A minute begins, its least delay being `delay` so far.
    fn begin(&mut self, delay: f64) {
        if self.minutes == self.history {
            self.base.copy_within(1..self.minutes, 0);
            self.minutes -= 1;
        }
        self.base[self.minutes] = delay;
        self.minutes += 1;
    }

    /// RFC 6817 section 2.4.2: update_base_delay and update_current_delay. Minutes without a sample count as well, but
    /// not in the module.
    fn add(&mut self, delay: f64, now: Time) {
        let minute = now.0 / Duration::from_millis(60_000).0;
        if self.minutes == 0 || minute > self.minute {
            if self.minutes > 0 && self.form == Form::Rfc {
                let idle = (minute - self.minute - 1).min(self.history as u64);
                (0..idle).for_each(|_| self.begin(f64::INFINITY));
            }
            self.begin(delay);
            self.minute = minute;
        } else {
            let last = &mut self.base[self.minutes - 1];
            *last = last.min(delay);
        }
        if self.samples == self.filter {
            self.current.copy_within(1..self.samples, 0);
            self.samples -= 1;
        }
        self.current[self.samples] = (delay, now);
        self.samples += 1;
    }

    /// The least of the last samples, s; by the RFC none is older than a round-trip time (section 2.5).
    fn present(&self) -> Option<f64> {
        let samples = &self.current[..self.samples];
        let (_, newest) = *samples.last()?;
        let counts = |at: Time| match (self.form, self.rtt) {
            (Form::Rfc, Some(rtt)) => newest.since(at) <= rtt,
            _ => true,
        };
        samples.iter().filter(|(_, at)| counts(*at)).map(|(delay, _)| *delay).reduce(f64::min)
    }

    /// The queueing delay: the least of the last samples over the least of the last minutes, s.
    fn queueing(&self) -> Option<f64> {
        let base = self.base[..self.minutes].iter().copied().reduce(f64::min)?;
        Some(self.present()? - base)
    }
}

/// LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    form: Form,
    /// TARGET, s.
    target: f64,
    gain: f64,
    /// ALLOWED_INCREASE, packets.
    allowed_increase: f64,
    /// MIN_CWND, packets.
    min_window: f64,
    delays: Delays,
    /// Form ns2: what has gathered towards a step, s times packets.
    credit: f64,
    reno: NewReno,
}

impl Registered for Ledbat {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Ledbat, Vec<Problem>> {
        let given = Given::read(values);
        let form = given.form;
        let (target, min_window, base_history, current_filter) = match form {
            Form::Rfc => (0.1, 2.0, 10, 4),
            Form::Ns2 => (0.025, 1.0, 6, 3),
        };
        Ok(Ledbat {
            form,
            target: given.target.unwrap_or(target),
            gain: given.gain,
            allowed_increase: given.allowed_increase,
            min_window: given.min_window.unwrap_or(min_window),
            delays: Delays::new(
                form,
                given.base_history.unwrap_or(base_history),
                given.current_filter.unwrap_or(current_filter),
            ),
            credit: 0.0,
            reno: NewReno::of(profile),
        })
    }
}

impl Control for Ledbat {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, one_way_delay: true, ..Needs::default() }
    }

    /// Every ACK that says something: its packet's one-way delay.
    fn on_ack(&mut self, _: &mut Window, acked: &Acked, _: bool) {
        self.delays.rtt = acked.rtt.or(self.delays.rtt);
        if let Some(delay) = acked.one_way {
            self.delays.add(delay.seconds(), acked.now);
        }
    }

    /// The law of the window.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        let Some(queueing) = self.delays.queueing() else { return };
        match self.form {
            Form::Rfc => self.rfc(w, acked, queueing),
            Form::Ns2 => self.ns2(w, acked, queueing),
        }
    }

    /// ssthresh after `event`: half the window after a loss or a mark, MIN_CWND and two packets at least (RFC 6817 sections
    /// 2.4.2 and 1.3; the module: as Reno).
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        match event.signal {
            Signal::Loss | Signal::Mark => (w.cwnd / 2.0).max(self.min_window.max(2.0) * event.mss),
            Signal::Timeout => self.reno.ssthresh(w, event),
        }
    }

    /// Its observable.
    fn observe(&self, name: &str) -> Option<f64> {
        (name == "queueing_delay").then(|| self.delays.queueing()).flatten()
    }
}

impl Ledbat {
    /// RFC 6817 section 2.4.2.
    fn rfc(&self, w: &mut Window, acked: &Acked, queueing: f64) {
        let mss = acked.mss;
        let off = off_target(queueing, self.target);
        let grown = w.cwnd + self.gain * off * acked.bytes as f64 * mss / w.cwnd;
        let allowed = acked.flight + self.allowed_increase * mss;
        w.cwnd = grown.min(allowed).max(self.min_window * mss);
    }

    /// The ns-2 module: whole packets, a credit of at most the target an ACK.
    fn ns2(&mut self, w: &mut Window, acked: &Acked, queueing: f64) {
        let mss = acked.mss;
        let cwnd = w.cwnd / mss;
        self.credit += (self.target - queueing).min(self.target) * self.gain * acked.segments as f64;
        if self.credit >= cwnd * self.target {
            w.cwnd += mss;
            self.credit = 0.0;
        } else if self.credit < 0.0 {
            w.cwnd = (w.cwnd - mss).max(self.min_window * mss);
            self.credit = (w.cwnd / mss - 1.0).max(0.0) * self.target;
        }
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Implementation: RFC 6817, or the ns-2 module with steps of whole packets.
        form: Form = Form::TYPE, Text("rfc") => source: "RFC 6817; the module for ns-2's Linux agent";
        /// Target of the queueing delay (TARGET).
        target: Option<f64> = Duration, Absent("100 ms; form ns2: 25 ms"), Range::up_to(0.1)
            => source: "RFC 6817 section 2.5: at most 100 ms";
        /// Increase in packets per round trip without queueing delay (GAIN).
        gain: f64 = Number, Text("1"), Range::up_to(1.0) => source: "RFC 6817 section 2.5: at most 1";
        /// Excess of the window over the flight size (ALLOWED_INCREASE).
        allowed_increase: f64 = Packets, Text("1 packet"), Range::POSITIVE
            => source: "RFC 6817 section 2.5: more than 0";
        /// Minimum window (MIN_CWND).
        min_window: Option<f64> = Packets, Absent("2 packets; form ns2: 1 packet"), Range::WINDOW
            => source: "RFC 6817 section 2.5";
        /// Minutes whose minimum delay is the base delay; with form ns2, minutes with a sample
        /// (BASE_HISTORY).
        base_history: Option<usize> = Integer, Absent("10; form ns2: 6"), Range::between(1.0, MOST as f64)
            => source: "RFC 6817 section 2.5";
        /// Samples whose minimum is the current delay; with form rfc, only those of the last round trip
        /// (CURRENT_FILTER).
        current_filter: Option<usize> = Integer, Absent("4; form ns2: 3"), Range::between(1.0, MOST as f64)
            => source: "RFC 6817 section 2.5";
    }
}

/// LEDBAT's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "ledbat",
    title: "LEDBAT",
    example: r#"[groups.users.tcp.congestion_control]
kind = "ledbat"
target = "60 ms"
gain = 1"#,
    doc: "Background transfer. The window grows while the queueing delay is below the target, and shrinks \
          above it. The queueing delay is the one-way delay minus its minimum.",
    source: "RFC 6817; Rossi, Testa, Valenti, Muscariello 2010",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable::new("queueing_delay", "s", "Current one-way delay minus the base delay."),
    ],
    deviations: &[
        Deviation {
            what: "One-way delays have the resolution of the timestamp clock (`clock_tick`).",
            why: "They are differences of timestamps (RFC 7323) of both ends; the clocks of both ends agree.",
        },
        Deviation {
            what: "A window that was not fully used stays unchanged. RFC 6817 allows a decrease to the \
                   flight size.",
            why: "The stack's rule (`window_validation`): the window survives a pause of the application.",
        },
        Deviation {
            what: "There is no slow start, and slow_start_segments has no effect.",
            why: "RFC 6817 section 2.2 leaves it to the implementation; the ns-2 module has none.",
        },
        Deviation {
            what: "The initial window is the stack's `initial_window`, not INIT_CWND, which should be 2.",
            why: "One parameter serves all controls; RFC 6817 section 2.5 only requires the limit of RFC \
                  5681.",
        },
        Deviation {
            what: "An ACK reports the delay of one packet, even if it covers several.",
            why: "It carries one pair of timestamps; RFC 6817 section 2.3 allows reports of all.",
        },
        Deviation {
            what: "A loss leaves a window of at least two packets, even of a window of one; RFC 6817 section \
                   2.4.2 leaves one.",
            why: "The threshold is at least two segments (RFC 5681 equation 4), and the next ACK restores \
                  MIN_CWND anyway.",
        },
    ],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests {
    use evenflow_base::schema::Value;

    use super::*;

    const MSS: f64 = 1000.0;

    fn ledbat(form: &str) -> Ledbat {
        let values = [
            ("form", Value::Word(form.into())),
            ("gain", Value::Number(1.0)),
            ("allowed_increase", Value::Packets(1.0)),
        ];
        let built = Ledbat::build(&Values(values.into()), &Profile::rfc(), 1.0).expect("they are sound");
        Ledbat { reno: NewReno::default(), ..built }
    }

    fn ack(at_s: u64, delay_ms: u64, flight: f64) -> Acked {
        Acked {
            now: Time(at_s * 1_000_000_000),
            una: 0,
            next: 0,
            bytes: 1000,
            segments: 1,
            mss: MSS,
            flight,
            rtt: None,
            one_way: Some(Duration::from_millis(delay_ms)),
            marks: 0,
        }
    }

    fn delays(cc: &mut Ledbat, at_s: u64, ms: &[u64]) {
        for &delay in ms {
            cc.on_ack(&mut Window { cwnd: 0.0, ssthresh: 0.0 }, &ack(at_s, delay, 0.0), true);
        }
    }

    #[test]
    fn the_queueing_delay_is_the_least_of_the_last_four_over_the_least_of_ten_minutes() {
        let mut cc = ledbat("rfc");
        assert_eq!(cc.observe("queueing_delay"), None);
        delays(&mut cc, 0, &[50, 90, 80, 85, 95]);
        assert!((cc.delays.queueing().unwrap() - 0.030).abs() < 1e-12); // 80 - 50
        for minute in 1..=9 {
            delays(&mut cc, 60 * minute, &[80]);
        }
        assert!((cc.delays.queueing().unwrap() - 0.030).abs() < 1e-12);
        delays(&mut cc, 600, &[80]); // the first minute, and its 50 ms, are forgotten
        assert_eq!(cc.delays.queueing(), Some(0.0));
    }

    #[test]
    fn the_window_moves_in_proportion_to_what_is_missing_to_the_target() {
        let mut cc = ledbat("rfc");
        delays(&mut cc, 0, &[50, 50, 50, 50]);
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
        cc.grow(&mut w, &ack(0, 50, 20.0 * MSS));
        assert_eq!(w.cwnd, 10_100.0); // 1000 * 1000 / 10000, all of it
        delays(&mut cc, 1, &[125, 125, 125, 125]);
        w.cwnd = 10.0 * MSS;
        cc.grow(&mut w, &ack(1, 125, 20.0 * MSS));
        assert!((w.cwnd - 10_025.0).abs() < 1e-9); // 75 of 100 ms: a quarter
        delays(&mut cc, 2, &[250, 250, 250, 250]);
        w.cwnd = 10.0 * MSS;
        cc.grow(&mut w, &ack(2, 250, 20.0 * MSS));
        assert!((w.cwnd - 9_900.0).abs() < 1e-9); // 200 ms: as fast down as up
    }

    #[test]
    fn the_window_is_never_far_ahead_of_what_was_in_flight_nor_below_two_packets() {
        let mut cc = ledbat("rfc");
        delays(&mut cc, 0, &[50, 50, 50, 50]);
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY };
        cc.grow(&mut w, &ack(0, 50, 4.0 * MSS));
        assert_eq!(w.cwnd, 5.0 * MSS);
        delays(&mut cc, 1, &[900, 900, 900, 900]);
        w.cwnd = 2.0 * MSS;
        cc.grow(&mut w, &ack(1, 900, 4.0 * MSS));
        assert_eq!(w.cwnd, 2.0 * MSS);
    }

    /// RFC 6817 section 2.4.2: a minute without samples is infinity in the list, and pushes the oldest out.
    #[test]
    fn idle_minutes_count_towards_the_ten() {
        let run = |form: &str, last_minute: u64| {
            let mut cc = ledbat(form);
            delays(&mut cc, 30, &[50]); // minute 0
            delays(&mut cc, 60, &[70]);
            delays(&mut cc, 60 * last_minute, &[80, 80, 80, 80]);
            (cc.delays.queueing().unwrap() * 1e3).round()
        };
        assert_eq!(run("rfc", 9), 30.0); // minutes 0 to 9 are ten
        assert_eq!(run("rfc", 10), 10.0); // 1 to 10
        assert_eq!(run("rfc", 11), 0.0); // of 2 to 11 only the last has any
        assert_eq!(run("rfc", 1000), 0.0);
        assert_eq!(run("ns2", 1000), 30.0); // three minutes with a sample
    }

    /// RFC 6817 section 2.5: no sample in the list is older than a round-trip time.
    #[test]
    fn samples_older_than_a_round_trip_do_not_count() {
        let run = |form: &str, rtt_ms: u64| {
            let mut cc = ledbat(form);
            for (at_ms, delay_ms) in [(0, 50), (100, 60), (150, 90), (200, 80)] {
                let now = Time(at_ms * 1_000_000);
                cc.on_ack(
                    &mut Window { cwnd: 0.0, ssthresh: 0.0 },
                    &Acked { now, rtt: Some(Duration::from_millis(rtt_ms)), ..ack(0, delay_ms, 0.0) },
                    true,
                );
            }
            (cc.delays.queueing().unwrap() * 1e3).round()
        };
        assert_eq!(run("rfc", 200), 0.0); // all four
        assert_eq!(run("rfc", 199), 10.0); // from 100 ms on: 60
        assert_eq!(run("rfc", 99), 30.0); // from 150 ms on: 80
        assert_eq!(run("rfc", 10), 30.0); // the last alone: 80
        assert_eq!(run("ns2", 10), 10.0); // the last three
    }

    #[test]
    fn the_module_gathers_credit_for_whole_packets() {
        let mut cc = ledbat("ns2");
        delays(&mut cc, 0, &[50, 50, 50]);
        let mut w = Window { cwnd: 3.0 * MSS, ssthresh: f64::INFINITY };
        for _ in 0..2 {
            cc.grow(&mut w, &ack(0, 50, 0.0));
            assert_eq!(w.cwnd, 3.0 * MSS);
        }
        cc.grow(&mut w, &ack(0, 50, 0.0)); // three times 25 ms are three packets times the target
        assert_eq!(w.cwnd, 4.0 * MSS);
        delays(&mut cc, 1, &[80, 80, 80]); // 5 ms beyond the target
        cc.grow(&mut w, &ack(1, 80, 0.0));
        assert_eq!(w.cwnd, 3.0 * MSS);
        assert_eq!(cc.credit, 2.0 * 0.025);
    }

    #[test]
    fn a_loss_halves_down_to_two_packets() {
        let mut cc = ledbat("rfc");
        let event = Congestion::new(Signal::Loss, Time::ZERO, 0.0, MSS);
        let at = |cwnd: f64| Window { cwnd: cwnd * MSS, ssthresh: f64::INFINITY };
        assert_eq!(cc.ssthresh(&at(10.0), &event), 5.0 * MSS);
        assert_eq!(cc.ssthresh(&at(3.0), &event), 2.0 * MSS);
        assert_eq!(cc.ssthresh(&at(1.0), &event), 2.0 * MSS);
        let mark = Congestion::new(Signal::Mark, Time::ZERO, 0.0, MSS);
        assert_eq!(cc.ssthresh(&at(10.0), &mark), 5.0 * MSS); // section 1.3: a mark as a loss
    }
}
