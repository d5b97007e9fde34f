//! The sending end: handshake, sliding window, NewReno recovery (RFC 6582), limited transmit (RFC 3042), retransmission
//! timer (RFC 6298).
//!
//! Sequence numbers are offsets into the byte stream; SYN takes none. States and rules follow the profile; those of
//! ns-3.26 are listed in docs/tcp.md. Not here yet: SACK, RACK-TLP, PRR, ECN, closing a connection.

use evenflow_base::{Duration, Ecn, Packet, Time, flags};

use crate::congestion_control::{Acked, Congestion, CongestionControl, Signal, Window};
use crate::rtt::RttEstimator;
use crate::{Profile, Segment};

/// Where the connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Not opened yet.
    Idle,
    /// SYN sent.
    Opening,
    /// Data flows.
    Open,
    /// Everything was acknowledged.
    Done,
    /// Given up after too many retransmissions.
    Dead,
}

/// Where loss recovery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// All is well.
    Open,
    /// Duplicate ACKs, fewer than the threshold.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// After a timeout, going back.
    Loss,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    life: Life,
    recovery: Recovery,
    /// SND.UNA.
    una: u64,
    /// SND.NXT; goes back after a timeout.
    next: u64,
    /// One beyond the highest byte ever sent.
    high: u64,
    /// `recover` of RFC 6582: the value of `high` when recovery began.
    recover: u64,
    /// What the application will send in all; `None` is endless.
    size: Option<u64>,
    window: Window,
    control: CongestionControl,
    /// Duplicate ACKs.
    duplicates: u64,
    /// Retransmissions believed to be in the network.
    retransmits_out: u64,
    /// No partial ACK in this episode yet: the next one restarts the timer (RFC 6582 section 3.2 step 3, "Impatient").
    first_partial: bool,
    /// Acknowledged bytes that did not fill a segment yet.
    remainder: u64,
    rtt: RttEstimator,
    rto: Duration,
    /// When the retransmission timer fires.
    timer: Time,
    /// Retransmissions (or SYNs) since the last progress.
    tries: u32,
    /// Segments sent again.
    retransmitted: u64,
    /// The timestamp clock at the call under way.
    clock: u32,
}

impl Sender {
    /// A connection that will carry `size` bytes (`None`: endless).
    pub fn new(profile: &Profile, control: CongestionControl, size: Option<u64>) -> Sender {
        Sender {
            life: Life::Idle,
            recovery: Recovery::Open,
            una: 0,
            next: 0,
            high: 0,
            recover: 0,
            size,
            window: Window { cwnd: profile.initial_window * (profile.mss as f64), ssthresh: f64::INFINITY },
            control,
            duplicates: 0,
            retransmits_out: 0,
            first_partial: true,
            remainder: 0,
            rtt: RttEstimator::default(),
            rto: profile.syn_rto,
            timer: Time::NEVER,
            tries: 0,
            retransmitted: 0,
            clock: 0,
        }
    }

    /// The congestion window and threshold.
    #[inline]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Where the connection is in its life.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Where loss recovery is.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Segments sent again so far.
    #[inline]
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// When [`Sender::wake`] wants to be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.timer
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.life = Life::Opening;
        self.clock = stamp(now, profile);
        self.send_syn(now, profile, out);
    }

    fn send_syn(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if self.tries >= profile.syn_tries {
            return self.die();
        }
        self.tries += 1;
        out.push(Segment { seq: 0, payload: 0, flags: flags::SYN, ecn: Ecn::NotCapable, stamp: self.clock });
        self.timer = now + self.rto;
    }

    fn die(&mut self) {
        self.life = Life::Dead;
        self.timer = Time::NEVER;
    }

    /// An acknowledgement arrives; what is to be sent goes to `out`.
    pub fn receive(&mut self, ack: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.clock = stamp(now, profile);
        match self.life {
            Life::Opening if ack.is(flags::SYN) => self.established(ack, now, profile, out),
            Life::Open if !ack.is(flags::SYN) => {
                if ack.seq > self.una {
                    self.new_ack(ack, now, profile, out);
                } else if ack.seq == self.una && ack.seq < self.next {
                    self.duplicate_ack(now, profile, out);
                }
            }
            _ => {}
        }
    }

    fn established(&mut self, ack: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.life = Life::Open;
        self.timer = Time::NEVER;
        self.tries = 0;
        self.rtt.sample(self.elapsed(ack.stamp, profile));
        self.rto = self.rtt.timeout(profile);
        out.push(Segment { seq: 0, payload: 0, flags: flags::ACK, ecn: Ecn::NotCapable, stamp: 0 });
        self.send_pending(now, profile, out);
    }

    fn new_ack(&mut self, ack: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.mss;
        let bytes = ack.seq - self.una;
        let mut segments = 1;
        if bytes != mss {
            segments = bytes / mss;
            self.remainder += bytes % mss;
        }
        if self.remainder >= mss {
            self.remainder -= mss;
            segments += 1;
        }
        self.rtt.sample(self.elapsed(ack.stamp, profile));
        let mut restart_timer = true;
        let mut grow = Some(segments);
        match self.recovery {
            Recovery::Open => {}
            Recovery::Disorder => self.reopen(),
            Recovery::Recovery if ack.seq < self.recover => {
                self.partial_ack(ack.seq, bytes, segments, now, profile, out);
                restart_timer = self.first_partial;
                self.first_partial = false;
                grow = None;
            }
            Recovery::Recovery => {
                // Full ACK (RFC 6582 section 3.2 step 3, option 1).
                let flight = self.flight(profile) + (profile.mss as f64);
                self.window.cwnd = self.window.ssthresh.min(flight);
                self.reopen();
                grow = Some((ack.seq - self.recover) / mss);
            }
            Recovery::Loss => {
                self.duplicates = 0;
                self.retransmits_out = 0;
                if ack.seq > self.recover {
                    self.reopen();
                }
            }
        }
        if let Some(segments) = grow {
            let acked = Acked {
                now,
                una: ack.seq,
                next: self.next,
                bytes,
                segments,
                mss: profile.mss as f64,
                flight: f64::INFINITY,
                rtt: None,
                marks: 0,
            };
            self.control.grow(&mut self.window, &acked);
        }
        if self.life == Life::Dead {
            return;
        }
        self.tries = 0;
        self.una = ack.seq;
        self.next = self.next.max(ack.seq);
        if restart_timer {
            self.rto = self.rtt.timeout(profile);
            self.timer = now + self.rto;
        }
        self.send_pending(now, profile, out);
        if self.una == self.high && self.next == self.high {
            self.timer = Time::NEVER;
            if self.size == Some(self.una) {
                self.life = Life::Done;
            }
        }
    }

    /// Time since the clock showed `stamp`; it may have wrapped once.
    #[inline]
    fn elapsed(&self, stamp: u32, profile: &Profile) -> Duration {
        Duration(u64::from(self.clock.wrapping_sub(stamp)) * profile.clock_tick.0)
    }

    fn reopen(&mut self) {
        self.recovery = Recovery::Open;
        self.first_partial = true;
        self.duplicates = 0;
        self.retransmits_out = 0;
    }

    /// Partial ACK (RFC 6582 section 3.2 step 3): deflate, resend the next hole.
    fn partial_ack(
        &mut self,
        una: u64,
        bytes: u64,
        segments: u64,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        let beyond = if segments > self.duplicates { segments - self.duplicates } else { 1 };
        self.window.cwnd = (self.window.cwnd - bytes as f64).max(0.0) + (profile.mss as f64);
        self.duplicates = self.duplicates.saturating_sub(beyond);
        self.retransmits_out = self.retransmits_out.saturating_sub(1);
        self.una = una;
        self.retransmit(now, profile, out);
    }

    fn duplicate_ack(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.duplicates += 1;
        match self.recovery {
            Recovery::Open | Recovery::Disorder => {
                self.recovery = Recovery::Disorder;
                let threshold = u64::from(profile.duplicate_threshold);
                if self.duplicates == threshold && self.una >= self.recover {
                    self.enter_recovery(now, profile, out);
                } else if profile.limited_transmit {
                    let payload = self.next_payload(profile);
                    if payload > 0 {
                        self.send_next(payload, now, out);
                    }
                }
            }
            Recovery::Recovery => {
                self.window.cwnd += profile.mss as f64;
                self.send_pending(now, profile, out);
            }
            Recovery::Loss => {}
        }
    }

    /// Fast retransmit (RFC 6582 section 3.2 step 2).
    fn enter_recovery(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.mss as f64;
        self.recover = self.high;
        self.recovery = Recovery::Recovery;
        self.first_partial = true;
        self.window.ssthresh = self.control.reduce(
            &self.window,
            &Congestion { signal: Signal::Loss, now, flight: self.flight(profile), mss },
        );
        self.window.cwnd = self.window.ssthresh + self.duplicates as f64 * mss;
        self.retransmit(now, profile, out);
    }

    /// The retransmission timer's time has come (RFC 6298 section 5.4 to 5.6).
    pub fn wake(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if now < self.timer {
            return;
        }
        self.clock = stamp(now, profile);
        match self.life {
            Life::Opening => {
                self.rto = self.rto + self.rto;
                self.send_syn(now, profile, out);
            }
            Life::Open => self.timed_out(now, profile, out),
            _ => self.timer = Time::NEVER,
        }
    }

    fn timed_out(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.mss as f64;
        self.recover = self.high;
        if self.recovery != Recovery::Loss {
            self.recovery = Recovery::Loss;
            self.window.ssthresh = self.control.reduce(
                &self.window,
                &Congestion { signal: Signal::Loss, now, flight: self.flight(profile), mss },
            );
            self.window.cwnd = mss;
        }
        self.next = self.una;
        self.duplicates = 0;
        self.rto = (self.rto + self.rto).min(profile.max_rto);
        self.timer = now + self.rto;
        self.retransmit(now, profile, out);
    }

    /// Sends the first unacknowledged segment again, or gives up.
    fn retransmit(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if profile.retries.is_some_and(|most| self.tries >= most) {
            return self.die();
        }
        self.tries += 1;
        let payload = (self.data_end(profile) - self.una).min(profile.mss);
        self.emit(self.una, payload, now, out);
        self.retransmits_out += 1;
        self.next = self.next.max(self.una + payload);
    }

    /// Bytes in the network as RFC 4898 counts them: what is out, less what duplicate ACKs report, plus retransmissions.
    fn flight(&self, profile: &Profile) -> f64 {
        let mss = profile.mss as f64;
        let out = (self.next - self.una) as f64;
        (out + (self.retransmits_out as f64 - self.duplicates as f64) * mss).max(0.0)
    }

    /// One beyond the last byte in the send buffer: the application fills it in whole writes.
    #[inline]
    fn data_end(&self, profile: &Profile) -> u64 {
        let write = profile.write.map_or(1, u64::from);
        let end = self.una.saturating_add(profile.max_window) / write * write;
        self.size.map_or(end, |size| end.min(size)).max(self.high)
    }

    /// The payload of the next segment: what the send buffer holds beyond `next`, at most a full one.
    #[inline]
    fn next_payload(&self, profile: &Profile) -> u64 {
        let mss = profile.mss;
        let (ahead, slack) = (self.next - self.una, mss + profile.write.map_or(1, u64::from));
        if self.size.is_none() && ahead + slack <= profile.max_window {
            return mss; // far from the end of the buffer: spares a division
        }
        self.last_payload(profile)
    }

    /// The same near the end of the buffer.
    #[inline(never)]
    fn last_payload(&self, profile: &Profile) -> u64 {
        (self.data_end(profile) - self.next).min(profile.mss)
    }

    /// Sends what the window allows. A segment shorter than full goes only where it is all there is (RFC 9293 section 3.8.6).
    fn send_pending(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let window = (self.window.cwnd as i64 as u64).min(profile.max_window);
        loop {
            let payload = self.next_payload(profile);
            if payload == 0 || self.next - self.una + payload > window {
                return;
            }
            self.send_next(payload, now, out);
        }
    }

    fn send_next(&mut self, payload: u64, now: Time, out: &mut Vec<Segment>) {
        self.emit(self.next, payload, now, out);
        self.next += payload;
        self.high = self.high.max(self.next);
    }

    fn emit(&mut self, seq: u64, payload: u64, now: Time, out: &mut Vec<Segment>) {
        let again = seq < self.high;
        self.retransmitted += u64::from(again);
        let flags = if again { flags::RETRANSMIT } else { 0 };
        out.push(Segment { seq, payload: payload as u16, flags, ecn: Ecn::NotCapable, stamp: self.clock });
        if self.timer == Time::NEVER {
            self.timer = now + self.rto;
        }
    }
}

/// The timestamp clock's value.
#[inline]
fn stamp(now: Time, profile: &Profile) -> u32 {
    (now.0 / profile.clock_tick.0) as u32
}

#[cfg(test)]
mod tests;
