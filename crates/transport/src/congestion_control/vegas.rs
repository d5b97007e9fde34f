//! TCP Vegas: keeps alpha to beta packets of the connection in the queue.
//!
//! Brakmo and Peterson, "TCP Vegas: End to end congestion avoidance on a global Internet", IEEE JSAC 13(8),
//! 1995. Once per round trip it compares the expected with the actual rate. Units are packets: real numbers,
//! or the kernel's integers on stacks that count whole segments. Loss recovery and other growth are
//! NewReno's. The paper's finer retransmission timer is not modelled.

use evenflow_base::Duration;
use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Values};

use crate::Profile;

use super::newreno::{Counting, NewReno};
use super::slow_start::slow_start;
use super::{Acked, Congestion, Control, Needs, Registered, WINDOW, Window};

/// A round's least round-trip time counts from more samples than this (the kernel: an ACK that was held back would
/// else be taken for queueing).
const SAMPLES: u32 = 2;

/// A round trip is never shorter: nothing is divided by zero.
pub(super) const INSTANT: Duration = Duration(1000);

/// Packets of the connection in the queue: Diff = (Expected - Actual) BaseRTT = W (RTT - BaseRTT) / RTT.
/// Expected is W / BaseRTT and Actual is W / RTT (Brakmo and Peterson 1995 section 3.2).
#[inline]
pub fn queued(cwnd: f64, base: f64, rtt: f64) -> f64 {
    cwnd * (rtt - base) / rtt
}

/// Diff since kernel 2.6.30, W (RTT - BaseRTT) / BaseRTT, and the window that just fills the path. Units are
/// whole packets and microseconds; the kernel adds one microsecond to a sample.
fn in_whole_packets(cwnd: u64, base: Duration, rtt: Duration) -> (f64, f64) {
    let (base, rtt) = (base.0 / 1000 + 1, rtt.0 / 1000 + 1);
    ((cwnd * (rtt - base) / base) as f64, (cwnd * base / rtt) as f64)
}

/// Measurements of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// An ACK beyond this ends it.
    end: u64,
    /// Least round-trip time.
    least: Option<Duration>,
    samples: u32,
    /// Slow start every other round trip: this is one in which the window grows.
    grows: bool,
}

/// Divisor and arithmetic of Diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Diff {
    /// By RTT, in real numbers: the paper.
    OverRtt,
    /// By BaseRTT, in real numbers.
    OverBase,
    /// By RTT, in whole halves of a packet: the kernel before 2.6.30.
    Halves,
    /// By BaseRTT, in whole packets and microseconds: the kernel since.
    Whole,
}

impl Diff {
    /// Diff and the window that would just fill the path, packets.
    fn of(self, cwnd: f64, base: Duration, least: Duration) -> (f64, f64) {
        if self == Diff::Whole {
            return in_whole_packets(cwnd as u64, base, least);
        }
        let (base, rtt) = (base.max(INSTANT).seconds(), least.max(INSTANT).seconds());
        match self {
            Diff::OverRtt => (queued(cwnd, base, rtt), cwnd * base / rtt),
            Diff::OverBase => (cwnd * (rtt - base) / base, cwnd * base / rtt),
            Diff::Halves | Diff::Whole => {
                let halves = libm::floor(2.0 * cwnd * base / rtt);
                (cwnd - halves / 2.0, libm::floor(halves / 2.0))
            }
        }
    }
}

/// The controller of the window at an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Vegas: it has moved at the ACK already.
    Delay,
    /// NewReno, at this ACK: the delay says nothing yet.
    Unknown,
    /// NewReno: something is lost or out of order, and the delay is not read.
    Disorder,
}

/// TCP Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// Slow start doubles in every round trip, not in every other.
    each_round: bool,
    /// A window equal to its threshold is still in slow start.
    at_threshold: bool,
    /// Whole packets.
    whole: bool,
    diff: Diff,
    /// BaseRTT.
    base: Option<Duration>,
    round: Round,
    state: State,
    /// The last Diff, packets.
    last_diff: Option<f64>,
    reno: NewReno,
}

impl Registered for Vegas {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Vegas, Vec<Problem>> {
        let whole = profile.whole_segments;
        let given = Given::read(values);
        let over_base = given.diff_over.map_or(whole, |over| over == DiffOver::BaseRtt);
        Ok(Vegas {
            alpha: given.alpha,
            beta: given.beta,
            gamma: given.gamma,
            each_round: given.slow_start.map_or(whole, |doubling| doubling == Doubling::EveryRound),
            at_threshold: profile.slow_start_at_threshold,
            whole,
            diff: match (whole, over_base) {
                (false, false) => Diff::OverRtt,
                (false, true) => Diff::OverBase,
                (true, false) => Diff::Halves,
                (true, true) => Diff::Whole,
            },
            base: None,
            round: Round::default(),
            state: State::Delay,
            last_diff: None,
            reno: NewReno::of(profile),
        })
    }
}

impl Control for Vegas {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    /// Every ACK that says something; `open`: nothing is lost or out of order.
    fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
        if let Some(rtt) = acked.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.round.least = Some(self.round.least.map_or(rtt, |least| least.min(rtt)));
            self.round.samples += 1;
        }
        if !open {
            self.state = State::Disorder;
            return;
        }
        if self.state == State::Disorder {
            // The delay counts again from the data that is sent next.
            self.state = State::Unknown;
            self.next_round(acked.next);
            return;
        }
        self.state = State::Delay;
        if acked.una > self.round.end {
            match (self.base, self.round.least) {
                (Some(base), Some(least)) if self.round.samples > SAMPLES => self.once(w, base, least, acked),
                _ => self.state = State::Unknown,
            }
            self.next_round(acked.next);
        } else if self.in_slow_start(w) && (self.each_round || self.round.grows) {
            self.slow_start(w, acked); // whether the window is used or not
        }
    }

    /// NewReno's growth where the delay says nothing.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        if self.state != State::Delay {
            self.reno.grow(w, acked);
        }
    }

    /// ssthresh after `event`: half, as NewReno's.
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        self.reno.ssthresh(w, event)
    }

    /// The window after a mark: NewReno's.
    fn after_mark(&self, before: &Window, event: &Congestion, ssthresh: f64) -> f64 {
        self.reno.after_mark(before, event, ssthresh)
    }

    /// Data is sent with nothing in flight: the kernel resets BaseRTT.
    fn on_idle_restart(&mut self, _: Duration) {
        if self.whole {
            self.base = None;
            self.round = Round::default();
        }
    }

    /// Its observables.
    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "base_rtt" => self.base.map(Duration::seconds),
            "diff" => self.last_diff,
            _ => None,
        }
    }
}

impl Vegas {
    fn in_slow_start(&self, w: &Window) -> bool {
        w.cwnd < w.ssthresh || (self.at_threshold && w.cwnd == w.ssthresh)
    }

    /// As far as the stack lets one ACK open the window; at the threshold by one step, which the stack allows.
    fn slow_start(&self, w: &mut Window, acked: &Acked) {
        if self.reno.counting != Counting::Bytes || w.cwnd == w.ssthresh {
            w.cwnd += acked.mss;
            return;
        }
        let most = self.reno.slow_start_segments.map_or(f64::INFINITY, |n| f64::from(n) * acked.mss);
        slow_start(w, acked.segments as f64 * acked.mss, most);
    }

    fn next_round(&mut self, end: u64) {
        self.round = Round { end, least: None, samples: 0, grows: !self.round.grows };
    }

    /// The step of a round trip.
    fn once(&mut self, w: &mut Window, base: Duration, least: Duration, acked: &Acked) {
        let mss = acked.mss;
        let cwnd = w.cwnd / mss;
        let (diff, target) = self.diff.of(cwnd, base, least);
        self.last_diff = Some(diff);
        let mut next = cwnd;
        if self.in_slow_start(w) {
            if diff > self.gamma {
                // Out of slow start, onto the window that would just fill the path.
                next = cwnd.min(target + 1.0);
                w.ssthresh = w.ssthresh.min((next - 1.0) * mss);
            } else if self.each_round || self.round.grows {
                self.slow_start(w, acked);
                next = w.cwnd / mss;
            }
        } else if diff > self.beta {
            next = cwnd - 1.0;
            w.ssthresh = w.ssthresh.min((next - 1.0) * mss);
        } else if diff < self.alpha {
            next = cwnd + 1.0;
        }
        w.cwnd = next.max(2.0) * mss;
        if w.ssthresh.is_finite() {
            // Kernel: the threshold is at least 3/4 of the window, a half and a quarter in whole packets.
            let packets = w.cwnd as u64 / mss as u64;
            let remembered =
                if self.whole { ((packets >> 1) + (packets >> 2)) as f64 } else { w.cwnd / mss * 0.75 };
            w.ssthresh = w.ssthresh.max(remembered * mss).max(2.0 * mss);
        }
    }
}

words! {
    /// In which round trips slow start doubles the window.
    pub enum Doubling {
        /// In all.
        EveryRound = "every-round-trip",
        /// In every other.
        EveryOther = "every-other-round-trip",
    }
}

words! {
    /// The divisor of W (RTT - BaseRTT).
    pub enum DiffOver {
        /// The round-trip time.
        Rtt = "rtt",
        /// The least round-trip time.
        BaseRtt = "base-rtt",
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Queued packets below which the window grows.
        alpha: f64 = Packets, Text("2 packets"), Range::NOT_NEGATIVE
            => source: "Brakmo, Peterson 1995 section 3.2; Linux";
        /// Queued packets above which the window shrinks.
        beta: f64 = Packets, Text("4 packets"), Range::NOT_NEGATIVE
            => source: "Brakmo, Peterson 1995 section 3.2; Linux";
        /// Queued packets above which slow start ends.
        gamma: f64 = Packets, Text("1 packet"), Range::NOT_NEGATIVE
            => source: "Brakmo, Peterson 1995 section 3.2; Linux";
        /// Round trips in which slow start doubles the window.
        slow_start: Option<Doubling> = Doubling::TYPE, Absent("every-other-round-trip; every-round-trip on stacks \
                                                               that count whole segments")
            => source: "Brakmo, Peterson 1995 section 3.3; Linux";
        /// Divisor of W (RTT - BaseRTT), for the number of queued packets.
        diff_over: Option<DiffOver> = DiffOver::TYPE, Absent("rtt; base-rtt on stacks that count whole segments")
            => source: "Brakmo, Peterson 1995 section 3.2; Linux since 2.6.30: base-rtt";
    }
}

/// Vegas's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "vegas",
    title: "TCP Vegas",
    example: r#"[groups.users.tcp.congestion_control]
kind = "vegas"
alpha = "2 packets"
beta = "4 packets""#,
    doc: "Once per round trip it estimates the connection's packets in the queue from the round-trip time \
          and its minimum. Below alpha packets the window grows by one, above beta it shrinks by one. On \
          stacks that count whole segments it uses the kernel's integers.",
    source: "Brakmo, Peterson 1995; Linux",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable::new("base_rtt", "s", "Minimum round-trip time (BaseRTT)."),
        Observable::new("diff", "packets", "Packets of the connection in the queue at the last step."),
    ],
    deviations: &[
        Deviation {
            what: "A loss halves the window. The paper takes a quarter when its fine timer detects the loss.",
            why: "Only the stack knows which retransmission it was; Linux halves too.",
        },
        Deviation {
            what: "The round-trip time of a round is the minimum of at least three samples.",
            why: "The paper times one segment per round trip. Linux takes the minimum, which delayed ACKs do \
                  not disturb.",
        },
        Deviation {
            what: "The number of queued packets is W (RTT - BaseRTT) over RTT, or over BaseRTT on stacks \
                   that count whole segments.",
            why: "The first is the paper's, the second the kernel's since 2.6.30.",
        },
        Deviation {
            what: "The window changes whether it was fully used or not.",
            why: "The kernel does the same. With the receive window as the limit, the delay stops the \
                  growth.",
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

    fn vegas(profile: Profile) -> Vegas {
        let packets = |x| V::Packets(x);
        let values = [("alpha", packets(2.0)), ("beta", packets(4.0)), ("gamma", packets(1.0))];
        let built = Vegas::build(&Values(values.into()), &profile, 1.0).expect("they are sound");
        Vegas { reno: NewReno::default(), ..built }
    }

    /// Three ACKs that show `rtt_ms`, the last of which ends the round.
    fn round(cc: &mut Vegas, w: &mut Window, at: &mut u64, rtt_ms: u64) {
        for last in [false, false, true] {
            *at += 1000;
            let (una, next) = if last { (*at + 1, *at + 3000) } else { (0, *at) };
            let acked = Acked {
                now: Time(*at * 1_000_000),
                una,
                next,
                bytes: 1000,
                segments: 1,
                mss: MSS,
                flight: f64::INFINITY,
                rtt: Some(Duration::from_millis(rtt_ms)),
                one_way: None,
                marks: 0,
            };
            cc.on_ack(w, &acked, true);
            cc.grow(w, &acked);
            *at = if last { una + 10_000 } else { *at };
        }
    }

    #[test]
    fn packets_in_the_queue_by_hand() {
        // 20 packets, 100 ms of which were 80: a fifth of them waits; by the base, a quarter.
        assert!((queued(20.0, 0.08, 0.1) - 4.0).abs() < 1e-12);
        // 20 * 20 000 / 80 001 and 20 * 80 001 / 100 001.
        assert_eq!(in_whole_packets(20, Duration::from_millis(80), Duration::from_millis(100)), (4.0, 16.0));
    }

    #[test]
    fn between_alpha_and_beta_the_window_stays_below_it_grows_above_it_shrinks() {
        // The threshold remembers three quarters of the largest window, 21 packets.
        for (profile, remembered) in [(Profile::rfc(), 15.75), (Profile::linux(), 15.0)] {
            let mut cc = vegas(profile);
            let mut at = 1_000;
            let mut w = Window { cwnd: 20.0 * MSS, ssthresh: 2.0 * MSS };
            round(&mut cc, &mut w, &mut at, 80); // nothing waits: grows
            assert_eq!(w.cwnd, 21.0 * MSS);
            round(&mut cc, &mut w, &mut at, 93); // 21 * 13 / 93 = 2.9, by the base 3.4: stays
            assert_eq!(w.cwnd, 21.0 * MSS);
            round(&mut cc, &mut w, &mut at, 105); // 21 * 25 / 105 = 5, by the base 6.6: shrinks
            assert_eq!(w.cwnd, 20.0 * MSS);
            assert_eq!(w.ssthresh, remembered * MSS);
        }
    }

    #[test]
    fn slow_start_ends_on_the_window_that_fills_the_path() {
        let mut cc = vegas(Profile::linux());
        let (mut at, mut w) = (1_000, Window { cwnd: 40.0 * MSS, ssthresh: f64::INFINITY });
        cc.base = Some(Duration::from_millis(80));
        // Two ACKs of slow start make 42; 42 * 20 / 80 = 10 wait; the target is 42 * 80 / 100 = 33, one more is the window.
        round(&mut cc, &mut w, &mut at, 100);
        assert_eq!((w.cwnd, w.ssthresh), (34.0 * MSS, 33.0 * MSS));
    }

    #[test]
    fn the_older_kernel_counts_halves_of_packets_over_the_round_trip() {
        // 21 packets, 13 of 93 ms: 2.94 wait; 42 * 80 / 93 = 36.1, so 21 - 18 = 3. At 99 ms 4.03: 21 - 16.5 = 4.5.
        for (rtt_ms, diff, after) in [(93, 3.0, 21.0), (99, 4.5, 20.0)] {
            let mut cc = vegas(Profile::linux());
            (cc.diff, cc.base) = (Diff::Halves, Some(Duration::from_millis(80)));
            let (mut at, mut w) = (1_000, Window { cwnd: 21.0 * MSS, ssthresh: 2.0 * MSS });
            round(&mut cc, &mut w, &mut at, rtt_ms);
            assert_eq!((cc.last_diff, w.cwnd), (Some(diff), after * MSS));
        }
    }

    #[test]
    fn the_threshold_remembers_a_half_and_a_quarter_in_whole_packets() {
        let mut cc = vegas(Profile::linux());
        cc.base = Some(Duration::from_millis(80));
        let (mut at, mut w) = (1_000, Window { cwnd: 22.0 * MSS, ssthresh: 2.0 * MSS });
        round(&mut cc, &mut w, &mut at, 80); // 23 packets: 11 + 5, where three quarters are 17.25
        assert_eq!((w.cwnd, w.ssthresh), (23.0 * MSS, 16.0 * MSS));
    }

    #[test]
    fn slow_start_counts_as_the_stack_does() {
        // An ACK of two packets opens the kernel's window by two, and one that counts ACKs by one; at the threshold only the
        // stacks that say so go on.
        for (profile, ssthresh, after) in [
            (Profile::linux(), f64::INFINITY, 22.0),
            (Profile::ns3_26(), f64::INFINITY, 21.0),
            (Profile::linux(), 20.0 * MSS, 20.0),
            (Profile::ns2_linux(), 20.0 * MSS, 21.0),
        ] {
            let values = [("slow_start", V::Word("every-round-trip".into()))];
            let numbers =
                [("alpha", 2.0), ("beta", 4.0), ("gamma", 1.0)].map(|(name, x)| (name, V::Packets(x)));
            let values = Values(values.into_iter().chain(numbers).collect());
            let mut cc = Vegas::build(&values, &profile, 1.0).expect("it is sound");
            cc.round.end = 9_000;
            let mut w = Window { cwnd: 20.0 * MSS, ssthresh };
            let acked = Acked {
                now: Time::ZERO,
                una: 2_000,
                next: 20_000,
                bytes: 2000,
                segments: 2,
                mss: MSS,
                flight: f64::INFINITY,
                rtt: Some(Duration::from_millis(80)),
                one_way: None,
                marks: 0,
            };
            cc.on_ack(&mut w, &acked, true);
            assert_eq!(w.cwnd, after * MSS, "{}", profile.name);
        }
    }

    #[test]
    fn out_of_order_it_is_newreno_and_a_new_round_begins_after_it() {
        let mut cc = vegas(Profile::rfc());
        let mut w = Window { cwnd: 20.0 * MSS, ssthresh: 2.0 * MSS };
        let acked = Acked {
            now: Time::ZERO,
            una: 5_000,
            next: 9_000,
            bytes: 1000,
            segments: 1,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: Some(Duration::from_millis(80)),
            one_way: None,
            marks: 0,
        };
        cc.on_ack(&mut w, &acked, false);
        cc.grow(&mut w, &acked);
        assert_eq!(w.cwnd, 20.0 * MSS + 50.0); // 1000 / 20
        cc.on_ack(&mut w, &acked, true);
        assert_eq!(cc.round.end, 9_000);
    }

    #[test]
    fn the_kernels_base_begins_anew_after_idle_and_the_papers_does_not() {
        for (profile, forgets) in [(Profile::linux(), true), (Profile::rfc(), false)] {
            let mut cc = vegas(profile);
            cc.base = Some(Duration::from_millis(80));
            cc.on_idle_restart(Duration::from_millis(1000));
            assert_eq!(cc.base.is_none(), forgets);
        }
    }
}
