//! What a ConEx sender still owes the network in reports, and which of its packets report (RFC 7786; Sanhaji et al. 2015, section
//! III.B). Re-ECN's rules of credit are settings of the same machine (draft-briscoe-conex-re-ecn-tcp-04 section 6.1).
//!
//! The congestion control does not look here: how often congestion is reported and how often the window comes down are
//! two things. Not here: how marks come back from the receiver ([`crate::ecn`]), who pays for a report (the policer), who
//! checks it (the auditor).

use std::collections::VecDeque;

use evenflow_base::{Duration, Signals, Time};

/// In what congestion is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets: a packet reports a packet.
    Packets,
    /// Bytes: a packet reports its own size (RFC 7786 section 3).
    Bytes,
}

/// When a sender gives credit: reports made before there is congestion, so that an auditor never finds it in debt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// Never.
    None,
    /// As much as is in flight (RFC 7786 section 4.2).
    Flight,
    /// The same, but half of what is in flight during slow start (RFC 7786 section 4.2, figure 1).
    HalfInSlowStart,
    /// One window: as much as was ever in flight at once, whatever congestion has used up since (the auditor of Sanhaji et al. 2015).
    Window,
    /// Re-ECN: the first and the third data packet, and the first one after an idle second (draft section 6.1.6).
    FirstAndThird,
    /// Re-ECN's general test for the start of a flow (draft, appendix D).
    General,
}

/// How many marks a packet may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One: the ECN field and the RE flag of IPv4 have a code for each, none for two.
    Ipv4,
    /// Any of the three: the destination option of IPv6 (RFC 7837).
    Ipv6,
}

/// What a sender does. Honest ones have `declared` 1 and no `delay`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// What is counted.
    pub unit: Unit,
    /// One mark a packet or several.
    pub encoding: Encoding,
    /// Credit.
    pub credit: Credit,
    /// Losses are reported.
    pub loss: bool,
    /// Congestion marks are reported.
    pub ecn: bool,
    /// Retransmissions that turn out to have been needless are taken back (RFC 7786 section 3.1).
    pub undo_spurious: bool,
    /// The share φ of its congestion that it declares: less than 1 for a cheat, more than 1 to be on the safe side.
    pub declared: f64,
    /// How long it keeps a report back.
    pub delay: Duration,
}

impl Settings {
    /// An honest sender over IPv4 that counts packets and reports losses, and marks where `ecn`.
    pub const fn honest(ecn: bool) -> Settings {
        Settings {
            unit: Unit::Packets,
            encoding: Encoding::Ipv4,
            credit: Credit::None,
            loss: true,
            ecn,
            undo_spurious: false,
            declared: 1.0,
            delay: Duration::ZERO,
        }
    }
}

/// How long a sender is silent before re-ECN asks for a new credit (draft section 6.1.6).
const IDLE: Duration = Duration(1_000_000_000);

/// Reports that a sender has yet to make.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Owed {
    /// Loss exposure gauge (LEG), packets or bytes. Less than zero: reported ahead.
    pub loss: f64,
    /// Congestion exposure gauge (CEG).
    pub ecn: f64,
}

/// Everything reported so far, packets or bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reported {
    /// As loss.
    pub loss: f64,
    /// As congestion marks.
    pub ecn: f64,
    /// As credit.
    pub credit: f64,
}

/// What re-ECN's general test counts (draft, appendix D), packets.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// S: sent.
    sent: f64,
    /// F and R: that carried credit, that carried a report.
    credit: f64,
    reports: f64,
    /// A: acknowledged.
    acked: f64,
    /// C: of which marked or lost.
    congested: f64,
}

/// The gauges of one sender.
#[derive(Clone, Debug)]
pub struct Exposure {
    settings: Settings,
    owed: Owed,
    /// Credit that congestion has not used up (CSC).
    credit: f64,
    /// Reports kept back: when they may be made.
    late: VecDeque<(Time, Owed)>,
    reported: Reported,
    counted: Counted,
    last: Option<Time>,
}

impl Exposure {
    /// A sender that owes nothing.
    pub fn new(settings: Settings) -> Exposure {
        Exposure {
            settings,
            owed: Owed::default(),
            credit: 0.0,
            late: VecDeque::new(),
            reported: Reported::default(),
            counted: Counted::default(),
            last: None,
        }
    }

    /// `bytes` on the wire in the unit of the gauges: themselves, or the packet they are.
    #[inline]
    fn amount(&self, bytes: u16) -> f64 {
        match self.settings.unit {
            Unit::Packets => 1.0,
            Unit::Bytes => f64::from(bytes),
        }
    }

    /// Something is owed from `now` on, or later where reports are kept back.
    fn owe(&mut self, owed: Owed, now: Time) {
        let share = self.settings.declared;
        let declared = Owed { loss: owed.loss * share, ecn: owed.ecn * share };
        if self.settings.delay == Duration::ZERO {
            self.owed.loss += declared.loss;
            self.owed.ecn += declared.ecn;
        } else {
            self.late.push_back((now + self.settings.delay, declared));
        }
    }

    /// A packet of `bytes` on the wire is sent again: it was lost, perhaps not for the first time (RFC 7786 section 3.1).
    pub fn retransmitted(&mut self, bytes: u16, now: Time) {
        let amount = self.amount(bytes);
        self.congested(1.0, amount);
        if self.settings.loss {
            self.owe(Owed { loss: amount, ecn: 0.0 }, now);
        }
    }

    /// A retransmission of `bytes` was needless.
    pub fn needless(&mut self, bytes: u16) {
        if self.settings.undo_spurious && self.settings.loss {
            // May become less than zero (RFC 7786 section 3.1).
            self.owed.loss -= self.amount(bytes) * self.settings.declared;
        }
    }

    /// `packets` of together `bytes` on the wire were reported as marked (RFC 7786 section 3.2).
    pub fn marked(&mut self, packets: f64, bytes: f64, now: Time) {
        let amount = match self.settings.unit {
            Unit::Packets => packets,
            Unit::Bytes => bytes,
        };
        self.congested(packets, amount);
        if self.settings.ecn {
            self.owe(Owed { loss: 0.0, ecn: amount }, now);
        }
    }

    fn congested(&mut self, packets: f64, amount: f64) {
        self.counted.congested += packets;
        // Credit pays for congestion as soon as it is known (RFC 7786 section 4.2).
        self.credit = (self.credit - amount).max(0.0);
    }

    /// `packets` were acknowledged.
    #[inline]
    pub fn acknowledged(&mut self, packets: f64) {
        self.counted.acked += packets;
    }

    /// A data packet of `bytes` on the wire is sent, the `nth` segment of new data where it is no retransmission; what is then in
    /// flight, this packet included, is `flight` in the unit of the gauges. Gives what the packet says.
    pub fn report(&mut self, bytes: u16, flight: f64, slow_start: bool, now: Time) -> Signals {
        while self.late.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, owed)) = self.late.pop_front() {
                self.owed.loss += owed.loss;
                self.owed.ecn += owed.ecn;
            }
        }
        let amount = self.amount(bytes);
        let several = self.settings.encoding == Encoding::Ipv6;
        let mut says = Signals::NOT_MARKED;
        // "While a gauge is more than zero, however small" (RFC 7786 section 4.1). A share of a packet waits to be a whole one, or
        // senders that declare a share would declare everything.
        let due = match self.settings.unit {
            Unit::Packets => |gauge: f64| gauge >= 1.0 - WHOLE,
            Unit::Bytes => |gauge: f64| gauge > 0.0,
        };
        if due(self.owed.loss) {
            says.loss = true;
            self.owed.loss -= amount;
            self.reported.loss += amount;
        }
        if due(self.owed.ecn) && (several || !says.marked()) {
            says.ecn = true;
            self.owed.ecn -= amount;
            self.reported.ecn += amount;
        }
        let reports = says.marked();
        if (several || !reports) && self.gives_credit(flight, slow_start, now) {
            says.credit = true;
            self.credit += amount;
            self.reported.credit += amount;
        }
        self.counted.sent += 1.0;
        self.counted.credit += f64::from(says.credit);
        self.counted.reports += f64::from(reports);
        self.last = Some(now);
        says
    }

    fn gives_credit(&self, flight: f64, slow_start: bool, now: Time) -> bool {
        let c = &self.counted;
        match self.settings.credit {
            Credit::None => false,
            Credit::Flight => flight > self.credit,
            Credit::HalfInSlowStart => (if slow_start { flight / 2.0 } else { flight }) > self.credit,
            Credit::Window => flight > self.reported.credit,
            Credit::FirstAndThird => {
                let idle = self.last.is_some_and(|last| now.since(last) > IDLE);
                c.sent == 0.0 || c.sent == 2.0 || idle
            }
            // Counts before this packet.
            Credit::General => c.credit + c.reports < (c.sent + 1.0) * (c.congested + 1.0) / (c.acked + 1.0),
        }
    }

    /// What is owed now; reports that are kept back count.
    pub fn owed(&self) -> Owed {
        self.late
            .iter()
            .fold(self.owed, |sum, (_, owed)| Owed { loss: sum.loss + owed.loss, ecn: sum.ecn + owed.ecn })
    }

    /// What was reported so far.
    pub fn reported(&self) -> Reported {
        self.reported
    }

    /// Credit that congestion has not used up.
    pub fn credit(&self) -> f64 {
        self.credit
    }

    /// The flow ends: what it still owes, for the user's next flow. What was reported ahead is not carried over.
    pub fn leave(&mut self) -> Owed {
        let owed = self.owed();
        self.owed = Owed::default();
        self.late.clear();
        Owed { loss: owed.loss.max(0.0), ecn: owed.ecn.max(0.0) }
    }

    /// Takes over what another flow of the user still owed.
    pub fn inherit(&mut self, owed: Owed) {
        self.owed.loss += owed.loss;
        self.owed.ecn += owed.ecn;
    }
}

/// How far below a whole packet rounding may leave the sum of shares.
const WHOLE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::Codepoint;
    use proptest::prelude::*;

    fn packets(credit: Credit) -> Exposure {
        Exposure::new(Settings { credit, ..Settings::honest(true) })
    }

    /// Sends a packet with much in flight, in congestion avoidance.
    fn sent(exposure: &mut Exposure) -> Signals {
        exposure.report(1500, 10.0, false, Time::ZERO)
    }

    #[test]
    fn nothing_owed_is_not_marked() {
        let mut exposure = packets(Credit::None);
        assert_eq!(sent(&mut exposure), Signals::NOT_MARKED);
        assert_eq!(sent(&mut exposure).codepoint(), Some(Codepoint::NotMarked));
    }

    /// Sanhaji et al. 2015, dossier M2: the retransmission itself carries the report of the loss; marks follow.
    #[test]
    fn one_report_a_packet_and_losses_first() {
        let mut exposure = packets(Credit::None);
        exposure.retransmitted(1500, Time::ZERO);
        exposure.marked(2.0, 3000.0, Time::ZERO);
        let says: Vec<Signals> = (0..4).map(|_| sent(&mut exposure)).collect();
        let expected =
            [Signals::RE_ECHO_LOSS, Signals::RE_ECHO_ECN, Signals::RE_ECHO_ECN, Signals::NOT_MARKED];
        assert_eq!(says, expected);
        assert_eq!(exposure.reported(), Reported { loss: 1.0, ecn: 2.0, credit: 0.0 });
    }

    #[test]
    fn in_ipv6_loss_and_mark_share_a_packet() {
        let settings =
            Settings { encoding: Encoding::Ipv6, credit: Credit::Flight, ..Settings::honest(true) };
        let mut exposure = Exposure::new(settings);
        exposure.retransmitted(1500, Time::ZERO);
        exposure.marked(1.0, 1500.0, Time::ZERO);
        assert_eq!(sent(&mut exposure), Signals { capable: true, loss: true, ecn: true, credit: true });
    }

    /// RFC 7786 section 4.1: a gauge above zero marks a whole packet, so that gauges end below zero.
    #[test]
    fn bytes_end_below_zero_and_are_kept() {
        let mut exposure = Exposure::new(Settings { unit: Unit::Bytes, ..Settings::honest(true) });
        exposure.marked(1.0, 100.0, Time::ZERO);
        assert!(sent(&mut exposure).ecn);
        assert_eq!(exposure.owed().ecn, -1400.0);
        exposure.marked(1.0, 1400.0, Time::ZERO);
        assert!(!sent(&mut exposure).marked());
        exposure.marked(1.0, 1.0, Time::ZERO);
        assert!(sent(&mut exposure).ecn);
    }

    /// A packet lost twice is two losses.
    #[test]
    fn retransmissions_of_retransmissions_count() {
        let mut exposure = packets(Credit::None);
        exposure.retransmitted(1500, Time::ZERO);
        assert!(sent(&mut exposure).loss);
        exposure.retransmitted(1500, Time::ZERO);
        assert!(sent(&mut exposure).loss);
        assert_eq!(exposure.reported().loss, 2.0);
    }

    #[test]
    fn needless_retransmissions_are_taken_back_where_asked() {
        for (undo, after) in [(false, 1.0), (true, 0.0)] {
            let mut exposure = Exposure::new(Settings { undo_spurious: undo, ..Settings::honest(true) });
            exposure.retransmitted(1500, Time::ZERO);
            exposure.needless(1500);
            assert_eq!(exposure.owed().loss, after);
        }
        // Taken back after it was reported: less than zero, and the next loss is paid.
        let mut exposure = Exposure::new(Settings { undo_spurious: true, ..Settings::honest(true) });
        exposure.retransmitted(1500, Time::ZERO);
        assert!(sent(&mut exposure).loss);
        exposure.needless(1500);
        assert_eq!(exposure.owed().loss, -1.0);
        exposure.retransmitted(1500, Time::ZERO);
        assert!(!sent(&mut exposure).loss);
    }

    #[test]
    fn what_is_not_reported_is_not_owed() {
        let mut exposure = Exposure::new(Settings::honest(false));
        exposure.marked(3.0, 4500.0, Time::ZERO);
        assert_eq!(exposure.owed(), Owed::default());
    }

    /// RFC 7786 figure 1: slow start from a window of three, half of the flight covered: packets 1, 3, 7, 11, 15 and 19.
    #[test]
    fn half_of_the_flight_in_slow_start() {
        let mut exposure = packets(Credit::HalfInSlowStart);
        let mut credited = Vec::new();
        let (mut number, mut flight) = (0, 0.0);
        let mut send = |exposure: &mut Exposure, flight: f64| {
            number += 1;
            if exposure.report(1500, flight, true, Time::ZERO).credit {
                credited.push(number);
            }
        };
        for _ in 0..3 {
            flight += 1.0;
            send(&mut exposure, flight);
        }
        // Each ACK takes one out and lets two in.
        for _ in 0..8 {
            flight -= 1.0;
            for _ in 0..2 {
                flight += 1.0;
                send(&mut exposure, flight);
            }
        }
        assert_eq!(credited, [1, 3, 7, 11, 15, 19]);
    }

    #[test]
    fn credit_covers_the_flight_and_congestion_uses_it_up() {
        let mut exposure = packets(Credit::Flight);
        let says: Vec<bool> = [1.0, 2.0, 3.0, 3.0, 3.0]
            .map(|flight| exposure.report(1500, flight, false, Time::ZERO).credit)
            .to_vec();
        assert_eq!(says, [true, true, true, false, false]);
        exposure.marked(1.0, 1500.0, Time::ZERO);
        // The report first (one mark a packet), the credit on the next packet.
        assert_eq!(exposure.report(1500, 3.0, false, Time::ZERO), Signals::RE_ECHO_ECN);
        assert_eq!(exposure.report(1500, 3.0, false, Time::ZERO), Signals::CREDIT);
        exposure.marked(9.0, 13_500.0, Time::ZERO);
        assert_eq!(exposure.credit(), 0.0, "never less than zero");
    }

    #[test]
    fn one_window_of_credit_that_is_not_renewed() {
        let mut exposure = packets(Credit::Window);
        let mut credits = 0;
        for flight in [1.0, 2.0, 2.0, 3.0, 4.0] {
            credits += u32::from(exposure.report(1500, flight, true, Time::ZERO).credit);
        }
        assert_eq!(credits, 4);
        exposure.marked(4.0, 6000.0, Time::ZERO);
        assert_eq!((0..9).filter(|_| exposure.report(1500, 4.0, true, Time::ZERO).credit).count(), 0);
    }

    #[test]
    fn re_ecn_gives_credit_on_packets_one_and_three_and_after_a_second() {
        let mut exposure = packets(Credit::FirstAndThird);
        let at = |s: f64| Time::from_seconds(s);
        let says: Vec<bool> = [0.0, 0.1, 0.2, 0.3, 1.3, 2.4, 2.5]
            .map(|s| exposure.report(1000, 9.0, false, at(s)).credit)
            .to_vec();
        assert_eq!(says, [true, false, true, false, false, true, false]);
    }

    /// Dossier 2.2: with a window of one the general test is packets 1 and 3 as well; with two, packets 1 and 2.
    #[test]
    fn re_ecns_general_test() {
        let start = |window: usize| {
            let mut exposure = packets(Credit::General);
            let mut credited = Vec::new();
            let mut number = 0;
            for round in 0..3 {
                // Slow start: each acknowledged packet lets two go.
                for _ in 0..window << round {
                    if round > 0 && number >= window && (number - window).is_multiple_of(2) {
                        exposure.acknowledged(1.0);
                    }
                    number += 1;
                    if sent(&mut exposure).credit {
                        credited.push(number);
                    }
                }
            }
            credited
        };
        assert_eq!(start(1)[..2], [1, 3]);
        assert_eq!(start(2)[..2], [1, 2]);
    }

    #[test]
    fn a_cheat_declares_a_share() {
        for (share, expected) in [(0.0, 0.0), (0.25, 25.0), (0.5, 50.0), (0.75, 75.0), (2.0, 200.0)] {
            let mut exposure = Exposure::new(Settings { declared: share, ..Settings::honest(true) });
            for _ in 0..100 {
                exposure.marked(1.0, 1500.0, Time::ZERO);
            }
            assert!((0..1_000).all(|_| sent(&mut exposure).capable));
            assert_eq!(exposure.reported().ecn, expected, "{share}");
        }
    }

    #[test]
    fn a_late_sender_keeps_its_reports_back() {
        let settings = Settings { delay: Duration::from_seconds(0.2), ..Settings::honest(true) };
        let mut exposure = Exposure::new(settings);
        let at = |s: f64| Time::from_seconds(s);
        exposure.marked(1.0, 1500.0, at(1.0));
        assert_eq!(exposure.owed().ecn, 1.0);
        assert!(!exposure.report(1500, 9.0, false, at(1.1)).marked());
        assert!(exposure.report(1500, 9.0, false, at(1.2)).ecn);
    }

    #[test]
    fn what_a_flow_still_owes_goes_to_the_next() {
        let (mut first, mut second) = (packets(Credit::None), packets(Credit::None));
        first.marked(2.0, 3000.0, Time::ZERO);
        assert!(sent(&mut first).ecn);
        second.inherit(first.leave());
        assert_eq!((first.owed().ecn, second.owed().ecn), (0.0, 1.0));
        assert!(sent(&mut second).ecn);
        // Reported ahead: nothing to hand on.
        first.owed.loss = -3.0;
        assert_eq!(first.leave().loss, 0.0);
    }

    proptest! {
        /// Declared by an honest sender = told to it, less what it still owes; and no packet of IPv4 says two things.
        #[test]
        fn congestion_is_conserved(steps in prop::collection::vec((0u8..4, 40u16..1500, 1.0f64..40.0, any::<bool>()), 1..300),
                                   bytes: bool, credit in 0u8..6) {
            let credit = [Credit::None, Credit::Flight, Credit::HalfInSlowStart, Credit::Window, Credit::FirstAndThird, Credit::General]
                [usize::from(credit)];
            let unit = if bytes { Unit::Bytes } else { Unit::Packets };
            let mut exposure = Exposure::new(Settings { unit, credit, ..Settings::honest(true) });
            let (mut lost, mut marked) = (0.0, 0.0);
            for (n, (what, size, flight, slow)) in steps.into_iter().enumerate() {
                let amount = if bytes { f64::from(size) } else { 1.0 };
                let now = Time(n as u64 * 1_000_000);
                match what {
                    0 => { exposure.retransmitted(size, now); lost += amount; }
                    1 => { exposure.marked(1.0, f64::from(size), now); marked += amount; }
                    _ => {
                        let says = exposure.report(size, flight * amount, slow, now);
                        prop_assert!(says.codepoint().is_some());
                    }
                }
                let (owed, reported) = (exposure.owed(), exposure.reported());
                prop_assert!((reported.loss + owed.loss - lost).abs() < 1e-6);
                prop_assert!((reported.ecn + owed.ecn - marked).abs() < 1e-6);
                prop_assert!(owed.loss > -1500.0 && owed.ecn > -1500.0 && exposure.credit() >= 0.0);
            }
        }
    }
}
