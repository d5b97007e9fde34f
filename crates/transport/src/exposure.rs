//! Reports of a ConEx sender: the amount to report, and the packets that report it (RFC 7786; Sanhaji et al.
//! 2015, section III-E). Re-ECN's credit and cheating senders are settings of the same state machine
//! (draft-briscoe-conex-re-ecn-tcp-04 section 6.1).
//!
//! It is independent of the congestion control. [`crate::ecn`] returns marks from the receiver; the policer
//! charges reports and the auditor checks them.

use std::collections::VecDeque;

use evenflow_base::schema::{Nested, Value, Values};
use evenflow_base::{Duration, Heap, Signals, Time};

words! {
    /// Congestion to report.
    pub enum Reports {
        /// Losses alone.
        Loss = "loss",
        /// Losses and congestion marks.
        LossAndEcn = "loss-and-ecn",
    }
}

words! {
    /// In what congestion is counted.
    pub enum Unit {
        /// Bytes: a packet reports its own size (RFC 7786 section 3).
        Bytes = "bytes",
        /// Packets: a packet reports a packet.
        Packets = "packets",
    }
}

words! {
    /// How many marks a packet may carry.
    pub enum Encoding {
        /// One: the ECN field and the RE flag of IPv4 have a code for each, none for two.
        Ipv4 = "ipv4",
        /// Any of the three: the destination option of IPv6 (RFC 7837).
        Ipv6 = "ipv6",
    }
}

words! {
    /// When a sender gives credit: reports made before there is congestion, so that an auditor never finds it in debt.
    pub enum Credit {
        /// Never.
        None = "none",
        /// As much as is in flight (RFC 7786 section 4.2).
        Flight = "flight",
        /// The same, but half of what is in flight during slow start (RFC 7786 section 4.2, figure 1).
        HalfInSlowStart = "half-in-slow-start",
        /// One window: as much as was ever in flight at once, whatever congestion has used up since (the auditor of Sanhaji et al. 2015).
        Window = "window",
        /// Re-ECN: the first and the third data packet, and the first one after an idle second (draft section 6.1.6).
        FirstAndThird = "first-and-third",
        /// Re-ECN's general test for the start of a flow (draft, appendix D).
        General = "general",
    }
}

words! {
    /// Repetition of declarations from lost packets (RFC 7786 section 5).
    pub enum LostReports {
        /// Nothing: a sender may take the risk that an auditor misses it.
        Forgotten = "forgotten",
        /// Credit.
        Credit = "credit",
        /// Credit and reports.
        Repeated = "repeated",
    }
}

words! {
    /// Treatment of unreported congestion at the end of a flow.
    pub enum Leftover {
        /// It is dropped.
        Drop = "drop",
        /// The user's next flow does.
        Carry = "carry",
    }
}

words! {
    /// Ways of hiding congestion.
    pub enum Cheat {
        /// Nothing.
        None = "none",
        /// It passes as Not-ConEx.
        Legacy = "legacy",
        /// It sends lost data again under new sequence numbers.
        Renumber = "renumber",
        /// It leaves its reports to other flows of the user.
        Elsewhere = "elsewhere",
        /// Its receiver says nothing of marks.
        HideMarks = "hide-marks",
    }
}

params! {
    /// The parameters of a ConEx sender. An honest one has `declared` 1, is not `late` and does not `cheat`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Settings {
        /// Congestion to report: losses, or losses and the marks that the stack's `ecn` returns.
        report: Reports = Reports::TYPE, Text("loss-and-ecn") => source: "RFC 7786 section 2";
        /// Unit of reports: bytes of the packet, or packets.
        unit: Unit = Unit::TYPE, Text("bytes") => source: "RFC 7786 section 3";
        /// Encoding. `ipv4`: ECN field and RE flag. Data is then ECT(1), whatever `ecn` is, with one signal
        /// per packet. `ipv6`: the destination option, which carries any of the three signals.
        encoding: Encoding = Encoding::TYPE, Text("ipv4")
            => source: "Sanhaji et al. 2015 table I, RFC 7837 section 4";
        /// Credit in advance, for an auditor. `none`; `flight`: the flight size; `half-in-slow-start`: half
        /// of it, in slow start. `window`: one window, once. `first-and-third` and `general` are re-ECN's.
        credit: Credit = Credit::TYPE, Text("none")
            => source: "RFC 7786 section 4.2, draft-briscoe-conex-re-ecn-tcp-04 section 6.1.6 and appendix D";
        /// Withdraw reports of retransmissions that a duplicate report reveals as spurious.
        undo_spurious: bool = Flag, Text("false") => source: "RFC 7786 section 3.1";
        /// Repetition of declarations from lost packets: none, credit only (free at policers by default), or
        /// reports too, which a policer before the loss charges twice.
        lost_reports: LostReports = LostReports::TYPE, Text("credit")
            => source: "RFC 7786 section 5: should be repeated, may be forgotten";
        /// Unreported congestion at the end of a flow: dropped, or reported by the user's next flow.
        leftover: Leftover = Leftover::TYPE, Text("drop") => source: "Sanhaji et al. 2015 leave it open";
        /// Declared share of congestion: less than 1 is cheating, more than 1 is cautious.
        declared: f64 = Number, Text("1"), Range::between(0.0, 100.0)
            => source: "draft-wagner-conex-audit-02 section 2";
        /// Delay of each report in round trips.
        late: f64 = Number, Text("0"), Range::between(0.0, 1000.0) => source: "RFC 7713 section 5.5";
        /// Ways of hiding congestion: send without ConEx, retransmit under new numbers, leave reports to
        /// other flows of the user, or hide marks at the receiver.
        cheat: Cheat = Cheat::TYPE, Text("none")
            => source: "RFC 7713 section 5.5, draft-briscoe-tsvwg-re-ecn-tcp-06 appendix E";
    }
}

impl Settings {
    /// An honest sender over IPv4 that counts packets and reports losses, and marks where `ecn`.
    pub const fn honest(ecn: bool) -> Settings {
        Settings {
            report: if ecn { Reports::LossAndEcn } else { Reports::Loss },
            unit: Unit::Packets,
            encoding: Encoding::Ipv4,
            credit: Credit::None,
            undo_spurious: false,
            lost_reports: LostReports::Credit,
            leftover: Leftover::Drop,
            declared: 1.0,
            late: 0.0,
            cheat: Cheat::None,
        }
    }

    /// The table that they are.
    pub fn values(&self) -> Values {
        let word = |word: &str| Value::Word(word.into());
        Values(
            [
                ("report", word(self.report.word())),
                ("unit", word(self.unit.word())),
                ("encoding", word(self.encoding.word())),
                ("credit", word(self.credit.word())),
                ("undo_spurious", Value::Flag(self.undo_spurious)),
                ("lost_reports", word(self.lost_reports.word())),
                ("leftover", word(self.leftover.word())),
                ("declared", Value::Number(self.declared)),
                ("late", Value::Number(self.late)),
                ("cheat", word(self.cheat.word())),
            ]
            .into(),
        )
    }
}

/// Its table, a line of a `tcp` table.
pub static CONEX: Nested = Nested {
    name: "conex",
    doc: "A sender that reports congestion in its packets (RFC 7713, RFC 7786), or that cheats.",
    params: Settings::PARAMS,
    changes: &[],
};

/// How long a sender is silent before re-ECN asks for a new credit (draft section 6.1.6).
const IDLE: Duration = Duration(1_000_000_000);

/// Reports that a sender has yet to make, in the unit of its gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Owed {
    /// Loss exposure gauge (LEG). Less than zero: reported ahead.
    pub loss: f64,
    /// Congestion exposure gauge (CEG).
    pub ecn: f64,
}

impl Owed {
    /// Both together.
    pub fn plus(self, other: Owed) -> Owed {
        Owed { loss: self.loss + other.loss, ecn: self.ecn + other.ecn }
    }

    /// Without another.
    pub fn less(self, other: Owed) -> Owed {
        Owed { loss: self.loss - other.loss, ecn: self.ecn - other.ecn }
    }

    /// Neither owed nor reported ahead.
    pub fn is_nothing(self) -> bool {
        self == Owed::default()
    }
}

/// Packets, and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Volume {
    #[inline]
    fn add(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }

    /// In this unit.
    pub fn amount(self, unit: Unit) -> f64 {
        match unit {
            Unit::Packets => self.packets as f64,
            Unit::Bytes => self.bytes as f64,
        }
    }
}

/// Congestion received and declared since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Retransmissions: what was lost.
    pub lost: Volume,
    /// Of those, that were taken back.
    pub needless: Volume,
    /// Marks that came back.
    pub marked: Volume,
    /// Reported as loss.
    pub loss: Volume,
    /// Reported as congestion marks.
    pub ecn: Volume,
    /// Sent as credit.
    pub credit: Volume,
    /// Reported as loss on packets that were lost, and said again.
    pub loss_lost: Volume,
    /// Reported as congestion marks.
    pub ecn_lost: Volume,
    /// Sent as credit.
    pub credit_lost: Volume,
}

/// A data packet that is about to leave.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Its first byte.
    pub seq: u64,
    /// All before this has arrived.
    pub una: u64,
    /// Its bytes on the wire.
    pub bytes: u16,
    /// Flight size, this packet included, in the unit of the gauges.
    pub flight: f64,
    /// Packets acknowledged so far.
    pub acked: f64,
    /// The sender is in slow start.
    pub slow_start: bool,
    /// When.
    pub now: Time,
}

/// The gauges of one sender.
#[derive(Clone, Debug)]
pub struct Exposure {
    settings: Settings,
    owed: Owed,
    /// Reports left to other flows of the user.
    elsewhere: Owed,
    /// Credit that congestion has not used up (CSC).
    credit: f64,
    /// Reports kept back: when they may be made.
    late: VecDeque<(Time, Owed)>,
    tally: Tally,
    /// Taken over from other flows of its user, less what was left to them.
    moved: Owed,
    /// Bytes of data sent, retransmissions included: the next packet's visible number if it hides its own.
    shown: u64,
    /// S of re-ECN's general test (draft, appendix D): packets sent.
    sent: f64,
    last: Option<Time>,
    /// Packets on their way that say something, by their first byte, and their bytes on the wire.
    out: VecDeque<(u64, Signals, u16)>,
}

impl Exposure {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.late.heap_bytes() + self.out.heap_bytes()
    }

    /// A sender that owes nothing.
    pub fn new(settings: Settings) -> Exposure {
        Exposure {
            settings,
            owed: Owed::default(),
            elsewhere: Owed::default(),
            credit: 0.0,
            late: VecDeque::new(),
            tally: Tally::default(),
            moved: Owed::default(),
            shown: 0,
            sent: 0.0,
            last: None,
            out: VecDeque::new(),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// `bytes` on the wire in the unit of the gauges: themselves, or the packet they are.
    #[inline]
    fn amount(&self, bytes: u16) -> f64 {
        match self.settings.unit {
            Unit::Packets => 1.0,
            Unit::Bytes => f64::from(bytes),
        }
    }

    /// Adds congestion to report from `now` on, or later with `late`. `rtt` is the round-trip time.
    fn owe(&mut self, owed: Owed, now: Time, rtt: Duration) {
        let share = self.settings.declared;
        let declared = Owed { loss: owed.loss * share, ecn: owed.ecn * share };
        if self.settings.late > 0.0 {
            let wait = Duration::from_seconds(rtt.seconds() * self.settings.late);
            self.late.push_back((now + wait, declared));
        } else {
            self.note(declared);
        }
    }

    fn note(&mut self, owed: Owed) {
        let gauge = match self.settings.cheat {
            Cheat::Elsewhere => &mut self.elsewhere,
            _ => &mut self.owed,
        };
        *gauge = gauge.plus(owed);
    }

    /// The data from `data.0` to `data.1`, `bytes` on the wire, is retransmitted. It was lost, perhaps again
    /// (RFC 7786 section 3.1), with its declarations (section 5).
    pub fn retransmitted(&mut self, data: (u64, u64), bytes: u16, now: Time, rtt: Duration) {
        let from = self.out.partition_point(|(seq, ..)| *seq < data.0);
        while let Some(&(_, said, bytes)) = self.out.get(from).filter(|(seq, ..)| *seq < data.1) {
            self.out.remove(from);
            self.unsaid(said, bytes);
        }
        let amount = self.amount(bytes);
        self.tally.lost.add(1, u64::from(bytes));
        self.use_up(amount);
        self.owe(Owed { loss: amount, ecn: 0.0 }, now, rtt);
    }

    /// The declarations of a lost packet.
    fn unsaid(&mut self, said: Signals, bytes: u16) {
        let amount = self.amount(bytes);
        let of = |yes: bool| if yes { amount } else { 0.0 };
        let reports = self.settings.lost_reports == LostReports::Repeated;
        let said = Signals { loss: said.loss && reports, ecn: said.ecn && reports, ..said };
        self.owed = self.owed.plus(Owed { loss: of(said.loss), ecn: of(said.ecn) });
        self.use_up(of(said.credit));
        let t = &mut self.tally;
        for (yes, volume) in
            [(said.loss, &mut t.loss_lost), (said.ecn, &mut t.ecn_lost), (said.credit, &mut t.credit_lost)]
        {
            volume.add(u64::from(yes), if yes { u64::from(bytes) } else { 0 });
        }
    }

    /// A retransmission of `bytes` was needless.
    pub fn needless(&mut self, bytes: u16) {
        let (lost, taken) = (self.tally.lost, self.tally.needless);
        if !self.settings.undo_spurious || taken.packets >= lost.packets {
            return;
        }
        self.tally.needless.add(1, u64::from(bytes));
        // May become less than zero (RFC 7786 section 3.1).
        let amount = -self.amount(bytes) * self.settings.declared;
        self.note(Owed { loss: amount, ecn: 0.0 });
    }

    /// `packets` of together `bytes` on the wire were reported as marked (RFC 7786 section 3.2).
    pub fn marked(&mut self, packets: u32, bytes: u64, now: Time, rtt: Duration) {
        let volume = Volume { packets: u64::from(packets), bytes };
        self.tally.marked.add(volume.packets, volume.bytes);
        let amount = volume.amount(self.settings.unit);
        self.use_up(amount);
        if self.settings.report == Reports::LossAndEcn {
            self.owe(Owed { loss: 0.0, ecn: amount }, now, rtt);
        }
    }

    /// Credit pays for congestion as soon as it is known (RFC 7786 section 4.2).
    fn use_up(&mut self, amount: f64) {
        self.credit = (self.credit - amount).max(0.0);
    }

    /// The declarations of the departing data packet.
    pub fn report(&mut self, leaving: &Leaving) -> Signals {
        if self.settings.cheat == Cheat::Legacy {
            return Signals::default();
        }
        while self.late.front().is_some_and(|(due, _)| *due <= leaving.now) {
            if let Some((_, owed)) = self.late.pop_front() {
                self.note(owed);
            }
        }
        let amount = self.amount(leaving.bytes);
        let several = self.settings.encoding == Encoding::Ipv6;
        let mut says = Signals::NOT_MARKED;
        // "While a gauge is more than zero, however small" (RFC 7786 section 4.1). A share of a packet waits to be a whole one, or
        // senders that declare a share would declare everything.
        let due = match self.settings.unit {
            Unit::Packets => |gauge: f64| gauge >= 1.0 - WHOLE,
            Unit::Bytes => |gauge: f64| gauge > 0.0,
        };
        let bytes = u64::from(leaving.bytes);
        if due(self.owed.loss) {
            says.loss = true;
            self.owed.loss -= amount;
            self.tally.loss.add(1, bytes);
        }
        if due(self.owed.ecn) && (several || !says.marked()) {
            says.ecn = true;
            self.owed.ecn -= amount;
            self.tally.ecn.add(1, bytes);
        }
        if (several || !says.marked()) && self.gives_credit(leaving) {
            says.credit = true;
            self.credit += amount;
            self.tally.credit.add(1, bytes);
        }
        self.sent += 1.0;
        self.last = Some(leaving.now);
        if self.settings.lost_reports != LostReports::Forgotten {
            self.remember(leaving, says);
        }
        says
    }

    /// Declarations of packets in flight are kept until these arrive.
    fn remember(&mut self, leaving: &Leaving, says: Signals) {
        while self.out.front().is_some_and(|(seq, ..)| *seq < leaving.una) {
            self.out.pop_front();
        }
        if says.credit || says.marked() && self.settings.lost_reports == LostReports::Repeated {
            let at = self.out.partition_point(|(seq, ..)| *seq < leaving.seq);
            self.out.insert(at, (leaving.seq, says, leaving.bytes));
        }
    }

    fn gives_credit(&self, leaving: &Leaving) -> bool {
        let (t, flight) = (&self.tally, leaving.flight);
        match self.settings.credit {
            Credit::None => false,
            Credit::Flight => flight > self.credit,
            Credit::HalfInSlowStart => (if leaving.slow_start { flight / 2.0 } else { flight }) > self.credit,
            Credit::Window => {
                flight > t.credit.amount(self.settings.unit) - t.credit_lost.amount(self.settings.unit)
            }
            Credit::FirstAndThird => {
                let idle = self.last.is_some_and(|last| leaving.now.since(last) > IDLE);
                self.sent == 0.0 || self.sent == 2.0 || idle
            }
            Credit::General => {
                // F + R < (S + 1)(C + 1) / (A + 1), with the counts before this packet.
                let said = (t.credit.packets + t.loss.packets + t.ecn.packets) as f64;
                let congested = (t.lost.packets + t.marked.packets) as f64;
                said < (self.sent + 1.0) * (congested + 1.0) / (leaving.acked + 1.0)
            }
        }
    }

    /// Congestion to report now, including delayed reports and those left to other flows.
    pub fn owed(&self) -> Owed {
        self.late.iter().fold(self.owed.plus(self.elsewhere), |sum, (_, owed)| sum.plus(*owed))
    }

    /// The totals.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Credit that congestion has not used up.
    pub fn credit(&self) -> f64 {
        self.credit
    }

    /// Moves the reports left to other flows of the user to the caller.
    pub fn hand_over(&mut self) -> Owed {
        let owed = std::mem::take(&mut self.elsewhere);
        self.moved = self.moved.less(owed);
        owed
    }

    /// The flow ends: returns its unreported congestion for the user's next flow. Credit is not carried over.
    pub fn leave(&mut self) -> Owed {
        let owed = self.owed();
        let left = Owed { loss: owed.loss.max(0.0), ecn: owed.ecn.max(0.0) };
        self.late.clear();
        self.elsewhere = Owed::default();
        self.owed = owed.less(left);
        self.moved = self.moved.less(left);
        left
    }

    /// Takes over what another flow of the user still owed.
    pub fn inherit(&mut self, owed: Owed) {
        self.owed = self.owed.plus(owed);
        self.moved = self.moved.plus(owed);
    }

    /// The number of a packet with `data` bytes that hides its own: retransmissions look new.
    pub fn number(&mut self, data: u16) -> u64 {
        let number = self.shown;
        self.shown += u64::from(data);
        number
    }

    /// Checks the balance: declared plus remaining equals received, or its declared share, plus reports from
    /// other flows. Returns an error sentence otherwise.
    pub fn check(&self) -> Result<(), Unbalanced> {
        let (s, t, owed) = (&self.settings, &self.tally, self.owed());
        let told_ecn = if s.report == Reports::LossAndEcn { t.marked.amount(s.unit) } else { 0.0 };
        let told_loss = t.lost.amount(s.unit) - t.needless.amount(s.unit);
        let arrived = |said: Volume, lost: Volume| said.amount(s.unit) - lost.amount(s.unit);
        let (loss, ecn) = (arrived(t.loss, t.loss_lost), arrived(t.ecn, t.ecn_lost));
        for (of, told, reported, owed, moved) in [
            ("losses", told_loss, loss, owed.loss, self.moved.loss),
            ("marks", told_ecn, ecn, owed.ecn, self.moved.ecn),
        ] {
            let off = s.declared * told + moved - reported - owed;
            if off.abs() > 1e-9 * (told.abs() + reported + 1.0) {
                return Err(Unbalanced { of, unit: s.unit, told, reported, moved, owed });
            }
        }
        Ok(())
    }
}

/// A ConEx sender's account that does not balance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields of a fault report")]
pub struct Unbalanced {
    pub of: &'static str,
    pub unit: Unit,
    pub told: f64,
    pub reported: f64,
    pub moved: f64,
    pub owed: f64,
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

    const RTT: Duration = Duration(100_000_000);

    /// A packet of 1500 bytes at the beginning of time, with this in flight.
    fn leaving(flight: f64, slow_start: bool) -> Leaving {
        Leaving { seq: 0, una: 0, bytes: 1500, flight, acked: 0.0, slow_start, now: Time::ZERO }
    }

    /// Sends a packet with much in flight, in congestion avoidance.
    fn sent(exposure: &mut Exposure) -> Signals {
        exposure.report(&leaving(10.0, false))
    }

    /// A retransmission, and so many marks on packets of 1500 bytes.
    fn lost(exposure: &mut Exposure) {
        exposure.retransmitted((0, 1448), 1500, Time::ZERO, RTT);
    }

    fn marked(exposure: &mut Exposure, packets: u32) {
        exposure.marked(packets, 1500 * u64::from(packets), Time::ZERO, RTT);
    }

    fn volume(packets: u64) -> Volume {
        Volume { packets, bytes: 1500 * packets }
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
        lost(&mut exposure);
        marked(&mut exposure, 2);
        let says: Vec<Signals> = (0..4).map(|_| sent(&mut exposure)).collect();
        let expected =
            [Signals::RE_ECHO_LOSS, Signals::RE_ECHO_ECN, Signals::RE_ECHO_ECN, Signals::NOT_MARKED];
        assert_eq!(says, expected);
        let tally = exposure.tally();
        assert_eq!((tally.loss, tally.ecn, tally.credit), (volume(1), volume(2), volume(0)));
        assert_eq!((tally.lost, tally.marked), (volume(1), volume(2)));
    }

    #[test]
    fn in_ipv6_loss_and_mark_share_a_packet() {
        let settings =
            Settings { encoding: Encoding::Ipv6, credit: Credit::Flight, ..Settings::honest(true) };
        let mut exposure = Exposure::new(settings);
        lost(&mut exposure);
        marked(&mut exposure, 1);
        assert_eq!(sent(&mut exposure), Signals { capable: true, loss: true, ecn: true, credit: true });
    }

    /// RFC 7786 section 4.1: a gauge above zero marks a whole packet, so that gauges end below zero.
    #[test]
    fn bytes_end_below_zero_and_are_kept() {
        let mut exposure = Exposure::new(Settings { unit: Unit::Bytes, ..Settings::honest(true) });
        exposure.marked(1, 100, Time::ZERO, RTT);
        assert!(sent(&mut exposure).ecn);
        assert_eq!(exposure.owed().ecn, -1400.0);
        exposure.marked(1, 1400, Time::ZERO, RTT);
        assert!(!sent(&mut exposure).marked());
        exposure.marked(1, 1, Time::ZERO, RTT);
        assert!(sent(&mut exposure).ecn);
    }

    /// A packet lost twice is two losses.
    #[test]
    fn retransmissions_of_retransmissions_count() {
        let mut exposure = packets(Credit::None);
        lost(&mut exposure);
        assert!(sent(&mut exposure).loss);
        lost(&mut exposure);
        assert!(sent(&mut exposure).loss);
        assert_eq!(exposure.tally().loss, volume(2));
    }

    #[test]
    fn needless_retransmissions_are_taken_back_where_asked() {
        for (undo, after) in [(false, 1.0), (true, 0.0)] {
            let mut exposure = Exposure::new(Settings { undo_spurious: undo, ..Settings::honest(true) });
            lost(&mut exposure);
            exposure.needless(1500);
            assert_eq!(exposure.owed().loss, after);
        }
        // Taken back after it was reported: less than zero, and the next loss is paid.
        let mut exposure = Exposure::new(Settings { undo_spurious: true, ..Settings::honest(true) });
        lost(&mut exposure);
        assert!(sent(&mut exposure).loss);
        exposure.needless(1500);
        assert_eq!(exposure.owed().loss, -1.0);
        lost(&mut exposure);
        assert!(!sent(&mut exposure).loss);
    }

    /// RFC 7786 section 5: three packets say E, C and L; the first two are lost, and the retransmission of the first is lost again.
    #[test]
    fn what_is_lost_with_a_packet_is_said_again_where_asked() {
        use LostReports::{Credit as OfCredit, Forgotten, Repeated};
        let told = [(Forgotten, 3.0, 0.0, 1.0), (OfCredit, 3.0, 0.0, 0.0), (Repeated, 4.0, 1.0, 0.0)];
        for (lost_reports, loss, ecn, credit) in told {
            let mut exposure =
                Exposure::new(Settings { lost_reports, credit: Credit::Window, ..Settings::honest(true) });
            let send = |exposure: &mut Exposure, seq: u64, flight: f64| {
                exposure.report(&Leaving { seq, ..leaving(flight, false) })
            };
            marked(&mut exposure, 1);
            assert_eq!(send(&mut exposure, 0, 1.0), Signals::RE_ECHO_ECN);
            assert_eq!(send(&mut exposure, 1448, 1.0), Signals::CREDIT);
            assert_eq!(send(&mut exposure, 2896, 1.0), Signals::NOT_MARKED);
            let again = |exposure: &mut Exposure, seq: u64| {
                exposure.retransmitted((seq, seq + 1448), 1500, Time::ZERO, RTT);
            };
            again(&mut exposure, 0);
            assert_eq!(exposure.report(&Leaving { seq: 0, ..leaving(0.0, false) }), Signals::RE_ECHO_LOSS);
            again(&mut exposure, 1448);
            again(&mut exposure, 0);
            let tally = exposure.tally();
            let owed = exposure.owed();
            assert_eq!((owed.loss + 1.0, owed.ecn), (loss, ecn), "{lost_reports:?}");
            assert_eq!((tally.credit.packets - tally.credit_lost.packets) as f64, credit, "{lost_reports:?}");
            exposure.check().expect("the books balance");
        }
    }

    /// What has arrived is not remembered.
    #[test]
    fn what_has_arrived_is_forgotten() {
        let mut exposure = packets(Credit::Window);
        for n in 0..1000u64 {
            let leaving =
                Leaving { seq: n * 1448, una: n.saturating_sub(9) * 1448, ..leaving(n as f64 + 1.0, true) };
            assert!(exposure.report(&leaving).credit);
            assert!(exposure.out.len() <= 10);
        }
        exposure.retransmitted((0, 1448), 1500, Time::ZERO, RTT);
        assert_eq!(exposure.tally().credit_lost, volume(0));
    }

    #[test]
    fn what_is_not_reported_is_not_owed() {
        let mut exposure = Exposure::new(Settings::honest(false));
        marked(&mut exposure, 3);
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
            if exposure.report(&leaving(flight, true)).credit {
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
        let says: Vec<bool> =
            [1.0, 2.0, 3.0, 3.0, 3.0].map(|flight| exposure.report(&leaving(flight, false)).credit).to_vec();
        assert_eq!(says, [true, true, true, false, false]);
        marked(&mut exposure, 1);
        // The report first (one mark a packet), the credit on the next packet.
        assert_eq!(exposure.report(&leaving(3.0, false)), Signals::RE_ECHO_ECN);
        assert_eq!(exposure.report(&leaving(3.0, false)), Signals::CREDIT);
        marked(&mut exposure, 9);
        assert_eq!(exposure.credit(), 0.0, "never less than zero");
    }

    #[test]
    fn one_window_of_credit_that_is_not_renewed() {
        let mut exposure = packets(Credit::Window);
        let mut credits = 0;
        for flight in [1.0, 2.0, 2.0, 3.0, 4.0] {
            credits += u32::from(exposure.report(&leaving(flight, true)).credit);
        }
        assert_eq!(credits, 4);
        marked(&mut exposure, 4);
        assert_eq!((0..9).filter(|_| exposure.report(&leaving(4.0, true)).credit).count(), 0);
    }

    #[test]
    fn re_ecn_gives_credit_on_packets_one_and_three_and_after_a_second() {
        let mut exposure = packets(Credit::FirstAndThird);
        let at = |s: f64| Time::from_seconds(s);
        let says: Vec<bool> = [0.0, 0.1, 0.2, 0.3, 1.3, 2.4, 2.5]
            .map(|s| exposure.report(&Leaving { now: at(s), ..leaving(9.0, false) }).credit)
            .to_vec();
        assert_eq!(says, [true, false, true, false, false, true, false]);
    }

    /// Dossier 2.2: with a window of one the general test is packets 1 and 3 as well; with two, packets 1 and 2.
    #[test]
    fn re_ecns_general_test() {
        let start = |window: usize| {
            let mut exposure = packets(Credit::General);
            let mut credited = Vec::new();
            let (mut number, mut acked) = (0, 0.0);
            for round in 0..3 {
                // Slow start: each acknowledged packet lets two go.
                for _ in 0..window << round {
                    if round > 0 && number >= window && (number - window).is_multiple_of(2) {
                        acked += 1.0;
                    }
                    number += 1;
                    if exposure.report(&Leaving { acked, ..leaving(10.0, true) }).credit {
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
        for (share, expected) in [(0.0, 0), (0.25, 25), (0.5, 50), (0.75, 75), (2.0, 200)] {
            let mut exposure = Exposure::new(Settings { declared: share, ..Settings::honest(true) });
            for _ in 0..100 {
                marked(&mut exposure, 1);
            }
            assert!((0..1_000).all(|_| sent(&mut exposure).capable));
            assert_eq!(exposure.tally().ecn.packets, expected, "{share}");
        }
    }

    #[test]
    fn a_late_sender_keeps_its_reports_back() {
        // Two round trips of 100 ms.
        let settings = Settings { late: 2.0, ..Settings::honest(true) };
        let mut exposure = Exposure::new(settings);
        let at = |s: f64| Time::from_seconds(s);
        exposure.marked(1, 1500, at(1.0), RTT);
        assert_eq!(exposure.owed().ecn, 1.0);
        assert!(!exposure.report(&Leaving { now: at(1.1), ..leaving(9.0, false) }).marked());
        assert!(exposure.report(&Leaving { now: at(1.2), ..leaving(9.0, false) }).ecn);
    }

    #[test]
    fn what_a_flow_still_owes_goes_to_the_next() {
        let (mut first, mut second) = (packets(Credit::None), packets(Credit::None));
        marked(&mut first, 2);
        assert!(sent(&mut first).ecn);
        second.inherit(first.leave());
        assert_eq!((first.owed().ecn, second.owed().ecn), (0.0, 1.0));
        assert!(sent(&mut second).ecn);
        // Reported ahead: nothing to hand on.
        first.owed.loss = -3.0;
        assert_eq!(first.leave().loss, 0.0);
    }

    #[test]
    fn a_legacy_cheat_says_nothing_and_owes_all() {
        let mut exposure = Exposure::new(Settings {
            cheat: Cheat::Legacy,
            credit: Credit::Flight,
            ..Settings::honest(true)
        });
        lost(&mut exposure);
        assert_eq!(sent(&mut exposure), Signals::default());
        assert_eq!(exposure.owed().loss, 1.0);
    }

    #[test]
    fn what_is_left_to_other_flows_is_reported_by_them_alone() {
        let mut first = Exposure::new(Settings { cheat: Cheat::Elsewhere, ..Settings::honest(true) });
        let mut second = packets(Credit::None);
        marked(&mut first, 1);
        assert_eq!(sent(&mut first), Signals::NOT_MARKED);
        assert_eq!(first.owed().ecn, 1.0);
        second.inherit(first.hand_over());
        assert!(first.owed().is_nothing());
        assert_eq!(sent(&mut second), Signals::RE_ECHO_ECN);
        assert_eq!((second.tally().marked, second.tally().ecn), (volume(0), volume(1)));
    }

    #[test]
    fn data_sent_again_looks_new() {
        let mut exposure = packets(Credit::None);
        assert_eq!([1448, 1448, 100, 1448].map(|data| exposure.number(data)), [0, 1448, 2896, 2996]);
    }

    /// The check holds for cheats too, and finds what is missing.
    #[test]
    fn the_check_finds_what_was_forgotten() {
        let settings = Settings { declared: 0.1, cheat: Cheat::Elsewhere, ..Settings::honest(true) };
        let mut exposure = Exposure::new(settings);
        let mut other = packets(Credit::None);
        for _ in 0..70 {
            lost(&mut exposure);
            marked(&mut exposure, 3);
            other.inherit(exposure.hand_over());
            sent(&mut other);
        }
        assert_eq!((exposure.check(), other.check()), (Ok(()), Ok(())));
        assert!(other.tally().loss.packets >= 6, "{:?}", other.tally());
        exposure.owed.ecn += 1.0;
        let fault = exposure.check().unwrap_err();
        assert_eq!((fault.told, fault.unit, fault.of), (210.0, Unit::Packets, "marks"));
    }

    #[test]
    fn settings_are_the_table_that_they_came_from() {
        let settings = Settings {
            unit: Unit::Bytes,
            encoding: Encoding::Ipv6,
            credit: Credit::General,
            undo_spurious: true,
            lost_reports: LostReports::Repeated,
            leftover: Leftover::Carry,
            declared: 0.25,
            late: 5.0,
            cheat: Cheat::HideMarks,
            ..Settings::honest(false)
        };
        assert_eq!(Settings::read(&settings.values()), settings);
        let names: Vec<&str> = settings.values().0.keys().copied().collect();
        assert!(CONEX.params.iter().all(|param| names.contains(&param.name)));
        assert_eq!(names.len(), CONEX.params.len());
    }

    proptest! {
        /// Declared by an honest sender = told to it, less what it still owes; and no packet of IPv4 says two things.
        #[test]
        fn congestion_is_conserved(steps in prop::collection::vec((0u8..5, 40u16..1500, 1.0f64..40.0, any::<bool>()), 1..300),
                                   bytes: bool, credit in 0usize..6, late in 0u8..3, undo_spurious: bool, lost in 0usize..3) {
            let credit = Credit::of(Credit::WORDS[credit]);
            let unit = if bytes { Unit::Bytes } else { Unit::Packets };
            let lost_reports = LostReports::of(LostReports::WORDS[lost]);
            let late = f64::from(late);
            let settings = Settings { unit, credit, late, undo_spurious, lost_reports, ..Settings::honest(true) };
            let mut exposure = Exposure::new(settings);
            let mut last = 1500;
            for (n, (what, size, flight, slow_start)) in steps.into_iter().enumerate() {
                let now = Time(n as u64 * 1_000_000);
                match what {
                    0 => {
                        // One of the last ten packets, or two.
                        let from = (n as u64 * 1000).saturating_sub(u64::from(size % 10) * 1000);
                        exposure.retransmitted((from, from + 1000 * u64::from(1 + size % 2)), size, now, Duration(3_000_000));
                        last = size;
                    }
                    1 => exposure.marked(1, u64::from(size), now, Duration(3_000_000)),
                    2 => exposure.needless(last),
                    _ => {
                        let flight = flight * if bytes { 1500.0 } else { 1.0 };
                        let (seq, una) = (n as u64 * 1000, (n as u64).saturating_sub(8) * 1000);
                        let says =
                            exposure.report(&Leaving { seq, una, bytes: size, flight, acked: 0.0, slow_start, now });
                        prop_assert!(says.codepoint().is_some());
                        prop_assert!(exposure.out.len() <= n + 1);
                    }
                }
                let (owed, t) = (exposure.owed(), exposure.tally());
                let arrived = |said: Volume, lost: Volume| said.amount(unit) - lost.amount(unit);
                let told = t.lost.amount(unit) - t.needless.amount(unit);
                prop_assert_eq!(arrived(t.loss, t.loss_lost) + owed.loss, told);
                prop_assert_eq!(arrived(t.ecn, t.ecn_lost) + owed.ecn, t.marked.amount(unit));
                prop_assert_eq!(exposure.check(), Ok(()));
                prop_assert!(undo_spurious || owed.loss > -1500.0);
                prop_assert!(owed.ecn > -1500.0 && exposure.credit() >= 0.0);
            }
        }
    }
}
