//! Loss recovery without SACK: duplicate and partial ACKs (RFC 6582), limited transmit (RFC 3042), going back
//! after a timeout (RFC 5681 section 3.1).

use evenflow_base::{Packet, Report};

use crate::congestion_control::{Cause, Congestion, Signal, Window};
use crate::profile::{Ecn, PartialAck, RttSource, UndoTo};
use crate::rtt::Timed;
use crate::sender::core::{Context, Core, Growth};
use crate::sender::{Life, Recovery, Tally};
use crate::{MOST_AT_ONCE, Profile};

use super::LossRecovery;

/// Its state.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sender) struct DuplicateAcks {
    /// Duplicate ACKs.
    duplicates: u32,
    /// Retransmissions believed to be in the network.
    resent: u32,
    /// A partial ACK came in this episode: later ones do not restart the timer (RFC 6582 section 3.2 step 3,
    /// "Impatient").
    had_partial: bool,
    /// Pacing holds the retransmission of the first segment.
    waits: bool,
    /// `before` and `stamp` serve for an undo.
    may_undo: bool,
    /// The timestamp clock at the first retransmission of this episode.
    stamp: u32,
    /// The window before it.
    before: Window,
}

impl LossRecovery for DuplicateAcks {
    #[inline(always)]
    fn on_ack(&mut self, c: &mut Core, ack: &Packet, _: &Report, x: &mut Context) {
        if ack.seq > c.una {
            self.new_ack(c, ack, x);
        } else if ack.seq == c.una && ack.seq < c.next {
            self.duplicate_ack(c, ack, x);
        }
    }

    fn on_timeout(&mut self, c: &mut Core, x: &mut Context) {
        let mss = x.profile.segment();
        c.recover = c.high;
        c.reduced();
        if c.state != Recovery::Loss || x.profile.reduce_after_timeout {
            if c.state == Recovery::Recovery {
                // Without what duplicate ACKs added.
                c.control.propose_cwnd(c.window().ssthresh, Cause::RecoveryEnd);
            }
            self.remember(c, x.profile);
            c.enter(Recovery::Loss);
            let event = Congestion::new(Signal::Timeout, x.now, self.flight(c, x.profile), mss);
            c.congestion_event(event, Signal::Timeout, x);
            c.control.propose_cwnd(c.control.min_window(mss), Cause::Timeout);
        } else if !x.profile.timeout_window_once {
            c.control.propose_cwnd(c.control.min_window(mss), Cause::Timeout);
        }
        c.counts.timeouts += 1;
        c.lose(c.una..c.next);
        c.next = c.una;
        self.duplicates = 0;
        c.timed = Timed::NONE;
        c.back_off(x);
        self.retransmit(c, x);
    }

    /// A segment shorter than full goes only where it is all there is (RFC 9293 section 3.8.6).
    #[inline]
    fn transmit(&mut self, c: &mut Core, x: &mut Context) {
        let window = c.usable_window(x.profile);
        while x.out.len() < MOST_AT_ONCE {
            if c.departures.is_some() {
                if c.is_held(x.now, x.profile) {
                    return;
                }
                if std::mem::take(&mut self.waits) {
                    self.retransmit(c, x);
                    if c.life == Life::Dead {
                        return;
                    }
                    continue;
                }
            }
            let payload = c.next_payload(x.profile);
            if payload == 0 {
                return c.held(c.held_back_by(x.profile), x.now);
            }
            let end = c.next - c.una + payload;
            // The byte of a FIN needs no space in addition to a full segment.
            if end > window && (payload <= x.profile.mss || end - 1 > window) {
                return c.held_by_window(x.now);
            }
            self.send_next(c, payload, x);
        }
    }

    /// As RFC 4898 counts: what was sent, less what duplicate ACKs report, plus retransmissions.
    fn in_flight(&self, c: &Core, profile: &Profile) -> f64 {
        self.flight(c, profile)
    }

    fn reordering(&self, profile: &Profile) -> u32 {
        profile.duplicate_threshold
    }

    fn tally(&self, c: &Core, profile: &Profile) -> Tally {
        let unacked = c.high.saturating_sub(c.una).div_ceil(profile.mss) as u32;
        let lost = match c.state {
            Recovery::Recovery => 1,
            Recovery::Loss => unacked,
            _ => 0,
        };
        let sacked = self.duplicates.min(unacked);
        Tally { unacked, sacked, lost: lost.min(unacked), retransmitted: self.resent }
    }
}

impl DuplicateAcks {
    #[inline(always)]
    fn new_ack(&mut self, c: &mut Core, ack: &Packet, x: &mut Context) {
        let mss = x.profile.mss;
        self.try_undo(c, ack, x.profile);
        let mut bytes = ack.seq - c.una;
        let flight = (c.next - c.una) as i64 as f64;
        let segments = c.whole_segments(bytes, mss);
        let rtt = match x.profile.rtt {
            RttSource::OneSegment => c.timed.end(ack.seq, x.now),
            _ => Some(c.elapsed(ack.stamp, x.profile)),
        };
        if let Some(rtt) = rtt {
            c.sample(rtt, x.profile);
        }
        self.waits = false;
        let mut marks = 0;
        if c.marks.mode != Ecn::Off {
            // Accurate ECN reads `duplicates`, which a timeout resets and a partial ACK reduces: its records
            // rest on that.
            let mut shown = u64::from(self.duplicates);
            if c.marks.mode == Ecn::ReEcn {
                shown = u64::from(c.marks.shown);
                c.marks.shown = shown.saturating_sub(segments) as u16;
            }
            let packets = segments.saturating_sub(shown).max(1);
            marks = self.congestion_marks(c, ack, packets as u32, bytes, x);
        }
        let mut segments = segments;
        if x.profile.is_linux() && c.state == Recovery::Disorder {
            // Linux's tcp_remove_reno_sacks: what duplicate ACKs delivered does not count again.
            let shown = u64::from(self.duplicates);
            segments = segments.saturating_sub(shown).max(1);
            bytes = bytes.saturating_sub(shown * mss).max(bytes.min(mss));
        }
        let mut restart_timer = true;
        let mut grow = Some(segments);
        match c.state {
            Recovery::Open | Recovery::Reduction => {}
            Recovery::Disorder => self.reopen(c),
            Recovery::Recovery if ack.seq < c.recover && x.profile.partial_ack == PartialAck::NextHole => {
                self.partial_ack(c, ack.seq, bytes, segments, x);
                restart_timer = !self.had_partial;
                self.had_partial = true;
                grow = None;
            }
            Recovery::Recovery => {
                // Full ACK (RFC 6582 section 3.2 step 3, options 1 and 2), or plain Reno's.
                let mut cwnd = c.window().ssthresh;
                if x.profile.deflate_at_exit {
                    cwnd = cwnd.min(self.flight(c, x.profile) + mss as f64);
                }
                c.control.propose_cwnd(cwnd, Cause::RecoveryEnd);
                self.reopen(c);
                bytes = ack.seq.saturating_sub(c.recover);
                grow = Some(bytes / mss);
            }
            Recovery::Loss => {
                self.duplicates = 0;
                self.resent = 0;
                if ack.seq > c.recover {
                    self.reopen(c);
                }
            }
        }
        if c.needs.every_ack {
            let news = Growth { una: ack.seq, bytes, segments, flight, rtt };
            c.pass_to_control(ack, news, marks, x);
        }
        if let Some(segments) = grow {
            self.grow(c, Growth { una: ack.seq, bytes, segments, flight, rtt }, marks, x);
        }
        if c.life == Life::Dead {
            return;
        }
        c.tries = 0;
        c.una = ack.seq;
        c.next = c.next.max(ack.seq);
        if c.departures.is_some() {
            c.take_rate_sample(ack.seq, &Report::default(), marks, self.flight(c, x.profile) as u64, x.now);
        }
        if restart_timer {
            if rtt.is_some() {
                c.rto = c.rtt.timeout(x.profile); // a backed-off timeout stays until a sample (RFC 6298 section 5)
            }
            c.timer = x.profile.due(x.now, c.rto);
        }
        self.transmit(c, x);
        if c.una == c.high && c.next == c.high {
            c.rest(x);
        }
    }

    /// A window to which a spurious reduction may return.
    fn remember(&mut self, c: &Core, profile: &Profile) {
        let stamps = profile.rtt != RttSource::OneSegment;
        self.may_undo = profile.undo && profile.undo_to == UndoTo::Before && stamps;
        (self.before, self.stamp) = (c.window(), c.clock);
    }

    /// Undoes a spurious reduction: the ACK answers data sent before the first retransmission (RFC 3522, RFC 4015;
    /// Linux's tcp_try_undo_loss).
    #[inline(always)]
    fn try_undo(&mut self, c: &mut Core, ack: &Packet, profile: &Profile) {
        if self.may_undo && (ack.stamp.wrapping_sub(self.stamp) as i32) < 0 {
            c.undo(self.before, profile);
            c.next = c.high;
            self.reopen(c);
        }
    }

    fn reopen(&mut self, c: &mut Core) {
        c.enter(Recovery::Open);
        *self = DuplicateAcks::default();
    }

    /// Partial ACK (RFC 6582 section 3.2 step 3): deflate, resend the next hole.
    fn partial_ack(&mut self, c: &mut Core, una: u64, bytes: u64, segments: u64, x: &mut Context) {
        let segments = segments as u32;
        let beyond = if segments > self.duplicates { segments - self.duplicates } else { 1 };
        let cwnd = (c.window().cwnd - bytes as f64).max(0.0) + x.profile.segment();
        c.control.propose_cwnd(cwnd, Cause::Reduction);
        self.duplicates = self.duplicates.saturating_sub(beyond);
        self.resent = self.resent.saturating_sub(1);
        c.una = una;
        c.lose(una..una + x.profile.mss);
        self.retransmit(c, x);
    }

    fn duplicate_ack(&mut self, c: &mut Core, ack: &Packet, x: &mut Context) {
        self.duplicates += 1;
        if c.marks.mode != Ecn::Off {
            c.marks.shown = c.marks.shown.saturating_add(1);
            self.congestion_marks(c, ack, 1, x.profile.mss, x);
        }
        match c.state {
            Recovery::Open | Recovery::Disorder | Recovery::Reduction => {
                c.enter(Recovery::Disorder);
                let threshold = x.profile.duplicate_threshold;
                let again = x.profile.partial_ack == PartialAck::EndsRecovery; // RFC 2581 asks for no more
                if self.duplicates == threshold && (again || c.una >= c.recover) {
                    self.enter_recovery(c, x);
                } else if x.profile.limited_transmit {
                    let payload = c.next_payload(x.profile);
                    let then_out = (c.next - c.una + payload) as f64;
                    let most = c.window().cwnd + 2.0 * x.profile.segment();
                    let fits = then_out <= most || !x.profile.limited_transmit_window;
                    if payload > 0 && fits && !c.is_held(x.now, x.profile) {
                        self.send_next(c, payload, x);
                    }
                }
            }
            Recovery::Recovery => {
                c.control.propose_cwnd(c.window().cwnd + x.profile.segment(), Cause::Reduction);
                self.transmit(c, x);
            }
            Recovery::Loss => {}
        }
    }

    /// Fast retransmit (RFC 6582 section 3.2 step 2).
    fn enter_recovery(&mut self, c: &mut Core, x: &mut Context) {
        let mss = x.profile.segment();
        c.recover = c.high;
        c.enter(Recovery::Recovery);
        self.had_partial = false;
        if !c.same_event() {
            self.remember(c, x.profile);
            let event = Congestion::new(Signal::Loss, x.now, self.flight(c, x.profile), mss);
            c.congestion_event(event, Signal::Loss, x);
            c.reduced();
        }
        let cwnd = c.window().ssthresh + self.duplicates as f64 * mss;
        c.control.propose_cwnd(cwnd, Cause::Reduction);
        c.timed = Timed::NONE;
        c.lose(c.una..c.una + x.profile.mss);
        self.retransmit(c, x);
    }

    /// Sends the first unacknowledged segment again, or gives up.
    fn retransmit(&mut self, c: &mut Core, x: &mut Context) {
        if !c.may_retry(x) {
            return;
        }
        self.waits = c.is_held(x.now, x.profile);
        let payload = c.first_payload(x.profile);
        if self.waits || payload == 0 {
            return; // the window has closed over it
        }
        c.tries += 1;
        let flight = |c: &Core| self.flight(c, x.profile) as i64 as u64 + payload;
        c.emit::<false>(c.una, payload, flight, x);
        self.resent += 1;
        c.next = c.next.max(c.una + payload);
        c.high = c.high.max(c.next); // a short segment goes again with what was written since
    }

    #[inline(always)]
    fn send_next(&self, c: &mut Core, payload: u64, x: &mut Context) {
        c.send_next::<false>(payload, |c| self.flight(c, x.profile) as i64 as u64 + payload, x);
    }

    fn flight(&self, c: &Core, profile: &Profile) -> f64 {
        let out = (c.next - c.una) as f64;
        (out + (self.resent as f64 - self.duplicates as f64) * profile.segment()).max(0.0)
    }
}
