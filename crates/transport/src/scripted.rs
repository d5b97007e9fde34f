//! A sender driven packet by packet, to replay scripts of packet tests. The caller is the application and the
//! other end.
//!
//! A timer due before a call fires first, at its own time. Sequence numbers are offsets into the stream; SYN
//! takes none.

use std::collections::BTreeMap;

use evenflow_base::options::{self, AccEcn};
use evenflow_base::{Carried, Ecn as Field, Packet, Report, Time, flags};

use crate::profile::Ecn;
use crate::sender::{Life, Tally};
use crate::{CongestionControl, Profile, Segment, Sender, ecn};

/// A sending end and what its caller need not keep.
#[derive(Debug)]
pub struct Scripted {
    profile: Profile,
    sender: Sender,
    now: Time,
    /// By first byte: when it was last sent, and whether that was the first time.
    sent: BTreeMap<u64, (Time, bool)>,
    /// Bytes up to which it was sent.
    high: u64,
    /// Bytes that were acknowledged.
    una: u64,
    /// When the segment left whose timestamp the last ACK echoed.
    echoed: Time,
    /// The three flags that the SYN offered.
    offered: u8,
    /// When the SYN left, unless it was sent twice.
    opened: Option<Time>,
    /// Accurate ECN: the other end's counter.
    counter: u8,
    least_rtt: Option<evenflow_base::Duration>,
}

/// An ACK as a script has it.
#[derive(Clone, Debug, Default)]
pub struct Ack {
    /// The next byte expected.
    pub ack: u64,
    /// Blocks `[from, to)`, the newest first.
    pub sack: Vec<(u64, u64)>,
    /// It tells a congestion mark: the flag ECE, or one more on the counter of accurate ECN. `None`: no mark; on a SYN-ACK the
    /// answer that the stack's `peer_ecn` gives.
    pub ece: Option<bool>,
    /// The counter ACE of accurate ECN as it stands in the header, or the three flags of a SYN-ACK.
    pub ace: Option<u8>,
    /// The receive window, bytes; `None`: it tells none.
    pub window: Option<u64>,
    /// The AccECN option.
    pub accurate: Option<AccEcn>,
    /// When the segment was sent whose timestamp it echoes; `None`: as RFC 7323 section 4.3 has it.
    pub echo: Option<Time>,
}

/// Segments with the instants at which they left.
pub type Sent = Vec<(Time, Segment)>;

impl Scripted {
    /// An end that has not opened yet, with nothing to send.
    pub fn new(profile: Profile, control: CongestionControl) -> Scripted {
        let mut sender = Sender::new(&profile, control, Some(0));
        sender.talk(&profile);
        Scripted {
            profile,
            sender,
            now: Time::ZERO,
            sent: BTreeMap::new(),
            high: 0,
            una: 0,
            echoed: Time::ZERO,
            offered: 0,
            opened: None,
            counter: ecn::FIRST,
            least_rtt: None,
        }
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Its stack.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Segments in flight, lost and retransmitted, in the sender's estimate.
    pub fn tally(&self) -> Tally {
        self.sender.tally(&self.profile)
    }

    /// The least round-trip time so far, of the handshake and of segments that were sent once.
    pub fn least_rtt(&self) -> Option<evenflow_base::Duration> {
        self.least_rtt
    }

    /// Opens: SYN.
    pub fn open(&mut self, now: Time) -> Result<Sent, String> {
        if self.sender.life() != Life::Idle {
            return Err("already open".into());
        }
        self.at(now, |s, out| s.sender.open(now, &s.profile, out))
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, bytes: u64, now: Time) -> Result<Sent, String> {
        self.at(now, |s, out| {
            s.sender.offer(bytes, now, &s.profile, out);
            s.sender.persist(now, &s.profile);
        })
    }

    /// Time passes up to `now`: timers go off.
    pub fn wake(&mut self, now: Time) -> Result<Sent, String> {
        self.at(now, |s, out| {
            while s.sender.deadline() <= now {
                s.sender.wake(now, &s.profile, out);
            }
        })
    }

    /// An ACK arrives; the first after [`Scripted::open`] is the SYN-ACK.
    pub fn ack(&mut self, ack: &Ack, now: Time) -> Result<Sent, String> {
        if self.sender.life() == Life::Idle {
            return Err("no data was sent yet; call open first".into());
        }
        if self.sender.life() == Life::Opening && ack.ack != 0 {
            return Err("the first ACK is the SYN-ACK, without data: ack = 0".into());
        }
        if ack.sack.len() > options::BLOCKS {
            return Err(format!("sack: at most {} blocks, not {}", options::BLOCKS, ack.sack.len()));
        }
        if let Some(ace) = ack.ace.filter(|ace| *ace > 7) {
            return Err(format!("ace: three bits, 0 to 7, not {ace}"));
        }
        let mut wrong = None;
        let sent = self.at(now, |s, out| {
            s.sender.answered(ack.ack);
            let high = s.sender.numbers().1;
            if ack.ack > high {
                wrong = Some(format!("ack: {} exceeds the {high} bytes sent", ack.ack));
            } else if let Some((from, to)) = ack.sack.iter().find(|(from, to)| from >= to || *to > high) {
                wrong = Some(format!("sack: {from} to {to} is not a range of the {high} bytes sent"));
            } else if s.sender.life() == Life::Opening {
                s.open_up(ack, now, out);
            } else {
                s.take(ack, now, out);
            }
        })?;
        wrong.map_or(Ok(sent), Err)
    }

    fn open_up(&mut self, ack: &Ack, now: Time, out: &mut Vec<Segment>) {
        let answer = match (ack.ace, ack.ece) {
            (Some(ace), _) => ecn::flags_of(ace),
            (None, Some(ece)) => u8::from(ece) * flags::ECE,
            (None, None) => {
                ecn::answer(self.profile.peer_ecn, self.profile.ecn, self.offered, Field::NotCapable).0
            }
        };
        if let Some(opened) = self.opened {
            self.least_rtt = Some(now.since(opened));
        }
        if let Some(window) = ack.window {
            self.sender.window_told(0, 0, window);
        }
        let packet = Packet {
            stamp: self.profile.clock_at(ack.echo.unwrap_or(self.echoed)),
            flags: flags::SYN | flags::ACK | answer,
            ..Packet::new(0, self.profile.header as u16, 0)
        };
        let mut carried = *Carried::NONE;
        carried.accurate = ack.accurate;
        self.sender.receive_apart(&packet, &carried, now, &self.profile, out);
        self.sender.persist(now, &self.profile);
    }

    fn take(&mut self, ack: &Ack, now: Time, out: &mut Vec<Segment>) {
        let told = match (self.sender.ecn(), ack.ace) {
            (Ecn::Accurate, ace) => {
                self.counter = ace.unwrap_or((self.counter + u8::from(ack.ece == Some(true))) & 7);
                ecn::flags_of(self.counter)
            }
            (_, Some(ace)) => ecn::flags_of(ace),
            (_, None) => u8::from(ack.ece == Some(true)) * flags::ECE,
        };
        let echo = ack.echo.unwrap_or_else(|| self.echo_of(ack));
        self.echoed = echo;
        self.see(ack, now);
        let mut report = Report::default();
        ack.sack.iter().for_each(|block| report.push(*block));
        let packet = Packet {
            seq: ack.ack,
            stamp: self.profile.clock_at(echo),
            flags: flags::ACK | told,
            ..Packet::new(0, self.profile.header as u16, 0)
        };
        // Every ACK is later than the one before, so that its window counts.
        let window = ack.window.map(|window| (0, window));
        let mut carried = Carried::reporting(report);
        carried.accurate = ack.accurate;
        self.sender.hear(&packet, &carried, window, false, now, &self.profile, out);
    }

    /// The timestamp that a receiver echoes: that of the segment which an advancing ACK begins to cover, else the last one's.
    fn echo_of(&self, ack: &Ack) -> Time {
        if ack.ack <= self.una {
            return self.echoed;
        }
        self.sent.range(self.una..ack.ack).next().map_or(self.echoed, |(_, (sent, _))| *sent)
    }

    /// Round-trip samples from newly acknowledged data.
    fn see(&mut self, ack: &Ack, now: Time) {
        let ranges = std::iter::once((self.una, ack.ack)).chain(ack.sack.iter().copied());
        for (from, to) in ranges.filter(|(from, to)| from < to) {
            let covered: Vec<u64> = self.sent.range(from..to).map(|(seq, _)| *seq).collect();
            for seq in covered {
                if let Some((sent, true)) = self.sent.remove(&seq) {
                    let rtt = now.since(sent);
                    self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
                }
            }
        }
        self.una = self.una.max(ack.ack);
    }

    /// Fires timers due before `now`, then runs `call`.
    fn at(&mut self, now: Time, call: impl FnOnce(&mut Scripted, &mut Vec<Segment>)) -> Result<Sent, String> {
        if now < self.now {
            return Err(format!(
                "time must not decrease: {} s is before {} s",
                now.seconds(),
                self.now.seconds()
            ));
        }
        let (mut out, mut sent) = (Vec::new(), Sent::new());
        while self.sender.deadline() < now {
            let due = self.sender.deadline();
            self.sender.wake(due, &self.profile, &mut out);
            self.note(due, &mut out, &mut sent);
        }
        self.now = now;
        call(self, &mut out);
        self.note(now, &mut out, &mut sent);
        Ok(sent)
    }

    fn note(&mut self, now: Time, out: &mut Vec<Segment>, sent: &mut Sent) {
        for segment in out.drain(..) {
            if segment.flags & flags::SYN != 0 {
                self.opened = sent_once(self.opened, self.offered, now);
                (self.offered, self.echoed) = (segment.flags, now);
            } else if segment.payload > 0 {
                let first = !segment.again && segment.seq >= self.high;
                self.sent.insert(segment.seq, (now, first));
                self.high = self.high.max(segment.seq + u64::from(segment.payload));
            }
            sent.push((now, segment));
        }
    }
}

/// When the SYN left, unless one did before.
fn sent_once(opened: Option<Time>, offered: u8, now: Time) -> Option<Time> {
    (opened.is_none() && offered == 0).then_some(now)
}

#[cfg(test)]
mod tests {
    use evenflow_base::Duration;
    use evenflow_base::schema::Values;

    use super::*;
    use crate::sender::Recovery;

    fn scripted(profile: Profile) -> Scripted {
        let control = CongestionControl::build("newreno", &Values::default(), &profile, 1.0).expect("sound");
        Scripted::new(profile, control)
    }

    /// Segments of 1000 bytes, the whole reduction at once.
    fn thousand() -> Profile {
        Profile { mss: 1000, reduction: crate::profile::Reduction::AtOnce, ..Profile::rfc() }
    }

    fn ms(t: u64) -> Time {
        Time(t * 1_000_000)
    }

    fn of(ack: u64) -> Ack {
        Ack { ack, ..Ack::default() }
    }

    fn numbers(sent: &Sent) -> Vec<u64> {
        sent.iter().filter(|(_, s)| s.payload > 0).map(|(_, s)| s.seq / 1000).collect()
    }

    /// An end that has written `segments` and has had its SYN-ACK at 50 ms.
    fn open(profile: Profile, segments: u64) -> Scripted {
        let mut s = scripted(profile);
        assert_eq!(s.open(ms(0)).unwrap().len(), 1);
        assert!(s.write(segments * 1000, ms(0)).unwrap().is_empty());
        s.ack(&of(0), ms(50)).unwrap();
        s
    }

    /// RFC 5681 section 3.1 with an initial window of ten (RFC 6928): each ACK of two segments opens the window by one (L = 1).
    #[test]
    fn slow_start() {
        let mut s = open(thousand(), 30);
        assert_eq!(s.tally().unacked, 10);
        assert_eq!(s.sender().window().cwnd, 10_000.0);
        assert_eq!(numbers(&s.ack(&of(2000), ms(100)).unwrap()), [10, 11, 12]);
        assert_eq!(s.sender().window().cwnd, 11_000.0);
        assert_eq!((s.tally().unacked, s.least_rtt()), (11, Some(Duration::from_millis(50))));
        assert_eq!(s.sender().smoothed_rtt(), Some(Duration::from_millis(50)));
    }

    /// RFC 6675: limited transmit for the first two reports, then the loss is told, and half of 12 segments is the threshold.
    #[test]
    fn fast_retransmit_with_sack() {
        let mut s = open(thousand(), 30);
        let dup = |to: u64| Ack { ack: 0, sack: vec![(1000, to)], ..Ack::default() };
        assert_eq!(numbers(&s.ack(&dup(2000), ms(100)).unwrap()), [10]);
        assert_eq!(numbers(&s.ack(&dup(3000), ms(101)).unwrap()), [11]);
        let sent = s.ack(&dup(4000), ms(102)).unwrap();
        assert_eq!(numbers(&sent), [0]);
        assert!(sent[0].1.again);
        assert_eq!(s.sender().recovery(), Recovery::Recovery);
        assert_eq!(s.sender().window().ssthresh, 5000.0);
        let t = s.tally();
        assert_eq!((t.unacked, t.sacked, t.lost, t.retransmitted), (12, 3, 1, 1));
        s.ack(&of(12_000), ms(150)).unwrap();
        assert_eq!(s.sender().recovery(), Recovery::Open);
        let t = s.tally();
        assert_eq!((t.sacked, t.lost, t.retransmitted), (0, 0, 0));
        assert_eq!(s.sender().retransmitted(), 1);
    }

    /// RFC 6298: 1 s after the sample of 50 ms (section 2.4), doubled after it fired (section 5.5); the window is one segment.
    #[test]
    fn a_timeout() {
        let mut s = open(thousand(), 3);
        assert_eq!(s.sender().deadline(), ms(1050));
        assert!(s.wake(ms(1049)).unwrap().is_empty());
        let sent = s.wake(ms(1050)).unwrap();
        assert_eq!(numbers(&sent), [0]);
        assert_eq!((s.sender().recovery(), s.sender().window().cwnd), (Recovery::Loss, 1000.0));
        assert_eq!(s.tally(), Tally { unacked: 3, sacked: 0, lost: 3, retransmitted: 1 });
        assert_eq!(s.sender().deadline(), ms(3050));
        // A timer that was due goes off at its own time, before what comes later.
        let late = s.ack(&of(3000), ms(3200)).unwrap();
        assert_eq!((late[0].0, late[0].1.seq), (ms(3050), 0));
        assert_eq!(s.tally(), Tally::default());
    }

    /// RFC 3042 without SACK: the first two duplicate ACKs let one new segment out each, the third is the fast retransmit.
    #[test]
    fn limited_transmit_without_sack() {
        let mut profile = thousand();
        (profile.sack, profile.loss_detection) = (false, crate::profile::LossDetection::DuplicateAcks);
        let mut s = open(profile, 30);
        assert_eq!(numbers(&s.ack(&of(1000), ms(100)).unwrap()), [10, 11]);
        assert_eq!(numbers(&s.ack(&of(1000), ms(101)).unwrap()), [12]);
        assert_eq!(numbers(&s.ack(&of(1000), ms(102)).unwrap()), [13]);
        let sent = s.ack(&of(1000), ms(103)).unwrap();
        assert_eq!((numbers(&sent)[0], sent[0].1.again), (1, true));
        assert_eq!(s.tally().sacked, 3);
    }

    /// RFC 9293 section 3.8.6.1: nothing goes into a closed window but a probe of one byte after a timeout; it opens again.
    #[test]
    fn a_window_of_zero() {
        let mut s = open(thousand(), 12);
        let closed = Ack { window: Some(0), ..of(10_000) };
        assert!(s.ack(&closed, ms(100)).unwrap().is_empty());
        let due = s.sender().deadline();
        let probe = s.wake(due).unwrap();
        assert_eq!((probe.len(), probe[0].1.seq, probe[0].1.payload), (1, 10_000, 1));
        assert!(s.ack(&closed, Time(due.0 + 50_000_000)).unwrap().is_empty());
        let opens = Ack { window: Some(1500), ..of(10_000) };
        let sent = s.ack(&opens, Time(due.0 + 60_000_000)).unwrap();
        assert_eq!(sent.iter().map(|(_, s)| (s.seq, s.payload)).collect::<Vec<_>>(), [(10_000, 1000)]);
    }

    /// RFC 8985 section 7.2: the probe of data into a window that opens waits for 2 SRTT + 2 ms (or the whole
    /// timeout), not
    /// for the timer of the closed window.
    #[test]
    fn a_window_that_opens_sets_the_probe_of_new_data() {
        let mut s = open(Profile { mss: 1000, ..Profile::linux() }, 12);
        s.ack(&Ack { window: Some(0), ..of(10_000) }, ms(100)).unwrap();
        let opened = Time(s.sender().deadline().0 - 14_000_000);
        let sent = s.ack(&Ack { window: Some(5000), ..of(10_000) }, opened).unwrap();
        assert_eq!(numbers(&sent), [10, 11]);
        assert_eq!(s.sender().deadline(), s.profile().due(opened, Duration::from_millis(102)));
    }

    /// A window of two segments holds back what the congestion window would let go.
    #[test]
    fn a_window_that_binds() {
        let mut s = scripted(thousand());
        s.open(ms(0)).unwrap();
        s.write(30_000, ms(0)).unwrap();
        let sent = s.ack(&Ack { window: Some(2000), ..of(0) }, ms(50)).unwrap();
        assert_eq!(numbers(&sent), [0, 1]);
        assert_eq!(numbers(&s.ack(&Ack { window: Some(3000), ..of(1000) }, ms(100)).unwrap()), [2, 3]);
        // The edge moves back: nothing new.
        assert!(s.ack(&Ack { window: Some(1000), ..of(2000) }, ms(110)).unwrap().is_empty());
    }

    #[test]
    fn marks_in_each_feedback() {
        for (mode, ack) in [
            (Ecn::Classic, Ack { ece: Some(true), ..of(1000) }),
            (Ecn::Accurate, Ack { ece: Some(true), ..of(1000) }),
            (Ecn::Accurate, Ack { ace: Some(6), ..of(1000) }),
            (Ecn::PerPacket, Ack { ece: Some(true), ..of(1000) }),
        ] {
            let mut s = open(Profile { ecn: mode, ..thousand() }, 30);
            assert_eq!(s.sender().ecn(), mode);
            s.ack(&ack, ms(100)).unwrap();
            assert_eq!((s.sender().marks_reported(), s.sender().window().cwnd), (1, 5000.0), "{mode:?}");
        }
        // A SYN-ACK without the flag: the other end cannot.
        let mut s = scripted(Profile { ecn: Ecn::Classic, ..thousand() });
        s.open(ms(0)).unwrap();
        s.ack(&Ack { ece: Some(false), ..of(0) }, ms(50)).unwrap();
        assert_eq!(s.sender().ecn(), Ecn::Off);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_sentence() {
        let mut s = scripted(thousand());
        assert!(s.ack(&of(0), ms(0)).unwrap_err().contains("call open first"));
        s.open(ms(10)).unwrap();
        assert_eq!(s.open(ms(10)).unwrap_err(), "already open");
        assert_eq!(s.write(1000, ms(9)).unwrap_err(), "time must not decrease: 0.009 s is before 0.01 s");
        assert!(s.ack(&of(1000), ms(20)).unwrap_err().contains("SYN-ACK"));
        s.write(1000, ms(20)).unwrap();
        s.ack(&of(0), ms(60)).unwrap();
        let far = s.ack(&of(2000), ms(70)).unwrap_err();
        assert_eq!(far, "ack: 2000 exceeds the 1000 bytes sent");
        let block = Ack { sack: vec![(500, 500)], ..of(0) };
        assert_eq!(
            s.ack(&block, ms(70)).unwrap_err(),
            "sack: 500 to 500 is not a range of the 1000 bytes sent"
        );
        let many = Ack { sack: vec![(0, 1); 4], ..of(0) };
        assert!(s.ack(&many, ms(70)).unwrap_err().contains("3 blocks"));
        assert!(s.ack(&Ack { ace: Some(8), ..of(0) }, ms(70)).unwrap_err().contains("0 to 7"));
    }
}
