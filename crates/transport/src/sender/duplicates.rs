//! Loss recovery without SACK: duplicate and partial ACKs (RFC 6582), limited transmit (RFC 3042), going back after a
//! timeout (RFC 5681 section 3.1).

use evenflow_base::{Packet, Time};

use crate::congestion_control::{Congestion, Signal};
use crate::profile::{Ecn, PartialAck, RttSource};
use crate::rtt::Timed;
use crate::{Profile, Segment};

use super::{Growth, Life, Recovery, Sender};

impl Sender {
    #[inline(always)]
    pub(super) fn new_ack(&mut self, ack: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.mss;
        let mut bytes = ack.seq - self.una;
        let flight = (self.next - self.una) as i64 as f64;
        let segments = self.whole_segments(bytes, mss);
        let rtt = match profile.rtt {
            RttSource::OneSegment => self.timed.end(ack.seq, now),
            _ => Some(self.elapsed(ack.stamp, profile)),
        };
        if let Some(rtt) = rtt {
            self.sample(rtt, profile);
        }
        let mut marks = 0;
        if self.marks.mode != Ecn::Off {
            // Accurate ECN reads `duplicates`, which a timeout resets and a partial ACK reduces: its records rest on that.
            let mut shown = u64::from(self.duplicates);
            if self.marks.mode == Ecn::ReEcn {
                shown = u64::from(self.marks.shown);
                self.marks.shown = shown.saturating_sub(segments) as u16;
            }
            let packets = segments.saturating_sub(shown).max(1);
            marks = self.congestion_marks(ack, packets as u32, bytes, now, profile);
        }
        let mut restart_timer = true;
        let mut grow = Some(segments);
        match self.recovery {
            Recovery::Open | Recovery::Reduction => {}
            Recovery::Disorder => self.reopen(),
            Recovery::Recovery if ack.seq < self.recover && profile.partial_ack == PartialAck::NextHole => {
                self.partial_ack(ack.seq, bytes, segments, now, profile, out);
                restart_timer = self.first_partial;
                self.first_partial = false;
                grow = None;
            }
            Recovery::Recovery => {
                // Full ACK (RFC 6582 section 3.2 step 3, options 1 and 2), or plain Reno's.
                self.window.cwnd = self.window.ssthresh;
                if profile.deflate_at_exit {
                    self.window.cwnd = self.window.cwnd.min(self.flight(profile) + mss as f64);
                }
                self.reopen();
                bytes = ack.seq.saturating_sub(self.recover);
                grow = Some(bytes / mss);
            }
            Recovery::Loss => {
                self.duplicates = 0;
                self.retransmits_out = 0;
                if ack.seq > self.recover {
                    self.reopen();
                }
            }
        }
        if self.wants_every_ack {
            let news = Growth { una: ack.seq, bytes, segments, flight, rtt };
            self.pass_to_control(ack, news, marks, now, profile);
        }
        if let Some(segments) = grow {
            self.grow(Growth { una: ack.seq, bytes, segments, flight, rtt }, marks, now, profile);
        }
        if self.life == Life::Dead {
            return;
        }
        self.tries = 0;
        self.una = ack.seq;
        self.next = self.next.max(ack.seq);
        if restart_timer {
            if rtt.is_some() {
                self.rto = self.rtt.timeout(profile); // a backed-off timeout stays until a sample (RFC 6298 section 5)
            }
            self.timer = profile.due(now, self.rto);
        }
        self.send_pending(now, profile, out);
        if self.una == self.high && self.next == self.high {
            self.rest(now, profile);
        }
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
        let segments = segments as u32;
        let beyond = if segments > self.duplicates { segments - self.duplicates } else { 1 };
        self.window.cwnd = (self.window.cwnd - bytes as f64).max(0.0) + profile.segment();
        self.duplicates = self.duplicates.saturating_sub(beyond);
        self.retransmits_out = self.retransmits_out.saturating_sub(1);
        self.una = una;
        self.retransmit(now, profile, out);
    }

    pub(super) fn duplicate_ack(
        &mut self,
        ack: &Packet,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        self.duplicates += 1;
        if self.marks.mode != Ecn::Off {
            self.marks.shown = self.marks.shown.saturating_add(1);
            self.congestion_marks(ack, 1, profile.mss, now, profile);
        }
        match self.recovery {
            Recovery::Open | Recovery::Disorder | Recovery::Reduction => {
                self.recovery = Recovery::Disorder;
                let threshold = profile.duplicate_threshold;
                let again = profile.partial_ack == PartialAck::EndsRecovery; // RFC 2581 asks for no more
                if self.duplicates == threshold && (again || self.una >= self.recover) {
                    self.enter_recovery(now, profile, out);
                } else if profile.limited_transmit {
                    let payload = self.next_payload(profile);
                    let then_out = (self.next - self.una + payload) as f64;
                    let most = self.window.cwnd + 2.0 * profile.segment();
                    if payload > 0 && (then_out <= most || !profile.limited_transmit_window) {
                        self.send_next(payload, now, profile, out);
                    }
                }
            }
            Recovery::Recovery => {
                self.window.cwnd += profile.segment();
                self.send_pending(now, profile, out);
            }
            Recovery::Loss => {}
        }
    }

    /// Fast retransmit (RFC 6582 section 3.2 step 2).
    fn enter_recovery(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.segment();
        self.recover = self.high;
        self.recovery = Recovery::Recovery;
        self.first_partial = true;
        if !self.same_event() {
            let event = Congestion { signal: Signal::Loss, now, flight: self.flight(profile), mss };
            self.lower_threshold(&event, event.signal, profile);
            self.reduced();
        }
        self.window.cwnd = self.window.ssthresh + self.duplicates as f64 * mss;
        self.timed = Timed::NONE;
        self.retransmit(now, profile, out);
    }

    pub(super) fn timed_out(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.segment();
        self.recover = self.high;
        self.reduced();
        if self.recovery != Recovery::Loss || profile.reduce_after_timeout {
            if self.recovery == Recovery::Recovery {
                self.window.cwnd = self.window.ssthresh; // without what duplicate ACKs added
            }
            self.recovery = Recovery::Loss;
            let event = Congestion { signal: Signal::Timeout, now, flight: self.flight(profile), mss };
            self.lower_threshold(&event, event.signal, profile);
            self.window.cwnd = self.control.floor(mss);
        } else if !profile.timeout_window_once {
            self.window.cwnd = self.control.floor(mss);
        }
        self.counts.timeouts += 1;
        self.next = self.una;
        self.duplicates = 0;
        self.timed = Timed::NONE;
        self.rto = (self.rto + self.rto).min(profile.max_rto);
        self.timer = profile.due(now, self.rto);
        self.retransmit(now, profile, out);
    }

    /// Sends the first unacknowledged segment again, or gives up.
    fn retransmit(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if profile.retries.is_some_and(|most| self.tries >= most) {
            return self.die(now);
        }
        let payload = self.first_payload(profile);
        if payload == 0 {
            return; // the window has closed over it
        }
        self.tries += 1;
        self.emit(self.una, payload, now, profile, out);
        self.retransmits_out += 1;
        self.next = self.next.max(self.una + payload);
        self.high = self.high.max(self.next); // a short segment goes again with what was written since
    }

    /// Bytes in the network as RFC 4898 counts them: what is out, less what duplicate ACKs report, plus retransmissions.
    pub(super) fn flight(&self, profile: &Profile) -> f64 {
        let mss = profile.segment();
        let out = (self.next - self.una) as f64;
        (out + (self.retransmits_out as f64 - self.duplicates as f64) * mss).max(0.0)
    }

    /// Sends what the window allows. A segment shorter than full goes only where it is all there is (RFC 9293 section 3.8.6).
    pub(super) fn send_pending(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let window = self.window.cwnd as i64 as u64;
        loop {
            let payload = self.next_payload(profile);
            if payload == 0 {
                return self.held(self.held_back_by(profile), now);
            }
            let end = self.next - self.una + payload;
            // The byte of a FIN needs no room beside a full segment.
            if end > window && (payload <= profile.mss || end - 1 > window) {
                return self.held_by_window(now);
            }
            self.send_next(payload, now, profile, out);
        }
    }
}
