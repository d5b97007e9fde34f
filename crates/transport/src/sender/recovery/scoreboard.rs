//! The common part of recoveries with SACK: scoreboard, delivery, sending by the pipe, PRR, undo.

use evenflow_base::{Duration, Packet, Report, Time};

use crate::congestion_control::{Cause, Congestion, Proposal, Signal, Window};
use crate::profile::{RtoRule, RttSource};
use crate::rtt::Timed;
use crate::sender::core::{Context, Core, Growth};
use crate::sender::{Life, Limit, Recovery, Tally};
use crate::{MOST_AT_ONCE, Profile};

use super::board::{Board, Delivered};

/// Segments do not wait for a burst longer than this after the last one left.
const MILLISECOND: Duration = Duration::from_millis(1);

/// The state of a reduction (RFC 9937 section 6).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proportional {
    /// RecoverFS.
    pub(super) flight: u64,
    /// prr_delivered.
    pub(super) delivered: u64,
    /// prr_out.
    pub(super) out: u64,
}

impl Proportional {
    /// Bytes that may be sent (RFC 9937 section 6.2): `pipe` is in flight, `ssthresh` the target, `delivered`
    /// newly delivered. `safe`: the ACK advanced and showed no further loss. `whole` rounds to segments, as
    /// Linux does.
    pub(super) fn share(
        &self,
        pipe: u64,
        ssthresh: u64,
        delivered: u64,
        safe: bool,
        (mss, whole): (u64, bool),
    ) -> u64 {
        let share = if pipe > ssthresh {
            let due = self.delivered.saturating_mul(ssthresh).div_ceil(self.flight.max(1));
            let due = if whole { due.div_ceil(mss) * mss } else { due };
            due.saturating_sub(self.out)
        } else {
            let conservative = self.delivered.saturating_sub(self.out).max(delivered);
            // Slow start reduction bound where the ACK is safe, conservative reduction bound otherwise.
            let bound = if safe { conservative + mss } else { conservative };
            bound.min(ssthresh - pipe)
        };
        // The fast retransmit itself goes in any case.
        if self.out == 0 && share < mss { mss } else { share }
    }
}

/// The state before a reduction, for an undo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    window: Window,
    /// The timestamp clock at the first retransmission (RFC 4015 section 3.2, "pipe_prev" and "TSecr").
    pub(super) stamp: u32,
    /// Retransmissions not yet reported as duplicates.
    pub(super) retransmissions: u32,
}

/// How much of the congestion window was used since the window of data that ends at `until` (Linux's
/// `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// It was full at some time.
    full: bool,
    /// Most segments in flight.
    most: u32,
    until: u64,
    /// The window is too small for the next burst, for which there is data (`tcp_tso_should_defer`).
    waits: bool,
}

/// The decay of a window that is not used (RFC 2861 section 3.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Decay {
    /// Most segments in flight since the window was last full.
    used: usize,
    /// When that was.
    pub(super) full: Time,
}

impl Decay {
    fn at(full: Time) -> Decay {
        Decay { used: 0, full }
    }
}

/// Findings from an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    pub(super) delivered: Delivered,
    /// SND.UNA advanced.
    pub(super) advanced: bool,
    /// The ACK showed a round-trip sample for the timeout.
    pub(super) sampled: bool,
    pub(super) growth: Growth,
}

/// A scoreboard with the state of sending and of reductions.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Scoreboard {
    pub(in crate::sender) board: Board,
    pub(super) proportional: Proportional,
    /// Rate halving: the last ACK let a segment out.
    pub(super) half: bool,
    /// One segment goes whatever the window says (RFC 6675 section 5 step 4.3).
    pub(super) force: bool,
    /// The rescue retransmission of this recovery was made.
    rescued: bool,
    pub(super) undo: Option<Undo>,
    usage: Usage,
    pub(super) decay: Option<Box<Decay>>,
}

impl Scoreboard {
    pub(super) fn new(board: Board, profile: &Profile) -> Scoreboard {
        Scoreboard {
            board,
            proportional: Proportional::default(),
            half: false,
            force: false,
            rescued: false,
            undo: None,
            usage: Usage::default(),
            decay: profile.window_decay.then(|| Box::new(Decay::at(Time::ZERO))),
        }
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        self.board.heap_bytes() + self.decay.as_ref().map_or(0, |_| size_of::<Decay>() as u64)
    }

    pub(super) fn tally(&self) -> Tally {
        let [sacked, lost, retransmitted] = self.board.counted();
        Tally { unacked: self.board.len() as u32, sacked, lost, retransmitted }
    }

    /// Takes an ACK in, except for what it says of marks. `CALM` and `floor`: see [`Board::take_ack`].
    #[inline(always)]
    pub(super) fn acknowledge<const CALM: bool>(
        &mut self,
        c: &mut Core,
        ack: &Packet,
        report: &Report,
        floor: Duration,
        x: &Context,
    ) -> News {
        let flight = self.board.pipe() as f64;
        let delivered = self.board.take_ack::<CALM>(ack.seq, report, x.now, floor);
        let advanced = ack.seq > c.una;
        let bytes = ack.seq - c.una;
        let segments = c.whole_segments(bytes, x.profile.mss);
        let rtt = delivered.newest.map(|sent| x.now.since(sent));
        if let Some(rtt) = rtt {
            c.rtt.seen(rtt);
        }
        let sample = match x.profile.rtt {
            // If all segments were retransmitted, the timestamp identifies the copy that arrived.
            RttSource::SendTimes => delivered
                .oldest
                .map(|sent| x.now.since(sent))
                .or_else(|| advanced.then(|| c.elapsed(ack.stamp, x.profile))),
            RttSource::Timestamps => {
                (advanced || x.profile.rto == RtoRule::AnyAck).then(|| c.elapsed(ack.stamp, x.profile))
            }
            RttSource::OneSegment => c.timed.end(ack.seq, x.now),
        };
        if let Some(rtt) = sample {
            c.sample(rtt, x.profile);
        }
        let growth = Growth { una: ack.seq, bytes, segments, flight, rtt };
        News { delivered, advanced, sampled: sample.is_some(), growth }
    }

    /// SND.UNA moves, and the retransmission timer begins again.
    #[inline(always)]
    pub(super) fn advance(&self, c: &mut Core, news: &News, x: &Context) {
        c.una = news.growth.una;
        c.tries = 0;
        if news.sampled {
            c.rto = c.rtt.timeout(x.profile); // a backed-off timeout stays until a sample (RFC 6298 section 5)
        }
        c.timer = x.profile.due(x.now, c.rto);
    }

    /// A control with transmit records learns what an ACK newly shows to be lost and delivered.
    #[inline(always)]
    pub(super) fn report_to_control(
        &mut self,
        c: &mut Core,
        una: u64,
        report: &Report,
        marks: u32,
        now: Time,
    ) {
        if self.board.has_losses() {
            self.report_losses(c);
        }
        c.take_rate_sample(una, report, marks, self.board.pipe(), now);
    }

    /// A control with transmit records learns which segments were declared lost.
    #[cold]
    pub(super) fn report_losses(&mut self, c: &mut Core) {
        for (from, to) in self.board.take_losses() {
            c.lose(from..to);
        }
    }

    /// A window to which a spurious reduction may return.
    pub(super) fn remember(&mut self, c: &Core) {
        self.undo = Some(Undo { window: c.window(), stamp: c.clock, retransmissions: 0 });
    }

    /// Takes the last reduction back, if one is remembered.
    pub(super) fn take_back(&mut self, c: &mut Core, profile: &Profile) -> bool {
        let undo = self.undo.take();
        if let Some(undo) = undo {
            c.undo(undo.window, profile);
        }
        undo.is_some()
    }

    pub(super) fn begin_recovery(&mut self, c: &mut Core, flight: u64, x: &Context) {
        let before = c.window().cwnd;
        let in_reduction = c.state == Recovery::Reduction;
        if !in_reduction && !c.same_event() {
            self.remember(c);
            // RFC 5681 section 3.2 step 2: what limited transmit added does not count.
            self.reduce(c, Signal::Loss, x);
            c.reduced();
        }
        c.enter(Recovery::Recovery);
        c.recover = c.high;
        c.timed = Timed::NONE;
        // An earlier recovery may have sent it again already.
        self.force = self.board.next_lost().is_some();
        if !in_reduction {
            let flight = if x.profile.whole_segments { before as u64 } else { flight };
            let out = if self.force { 0 } else { self.board.resent() };
            self.proportional = Proportional { flight, delivered: 0, out };
        }
        self.half = false;
        self.rescued = false;
    }

    /// A congestion event that finds what was sent in flight, at most a window.
    pub(super) fn reduce(&self, c: &mut Core, signal: Signal, x: &Context) {
        let mss = x.profile.segment();
        let flight = ((c.high - c.una) as f64).min(c.window().cwnd.max(mss));
        c.congestion_event(Congestion::new(signal, x.now, flight, mss), signal, x);
    }

    /// The window comes down after marks, without a loss.
    pub(in crate::sender) fn begin_reduction(&mut self, c: &mut Core) {
        c.recover = c.high;
        c.enter(Recovery::Reduction);
        self.undo = None;
        self.proportional = Proportional { flight: c.window().cwnd as u64, delivered: 0, out: 0 };
        self.half = false;
    }

    /// Whether segment `i` may be retransmitted. The part beyond the receive window may not, and is split
    /// off.
    pub(super) fn may_resend(&mut self, i: usize, c: &Core, profile: &Profile) -> bool {
        c.flow.is_none() || self.board.split(i, c.edge(profile))
    }

    /// Sends what the pipe leaves space for: lost segments first, then new data, then what RFC 6675 allows
    /// beyond (section 4, NextSeg). Linux 3.2 (`linux`) retransmits in recovery and after a timeout only.
    /// `CALM`: the scoreboard [is calm](Board::is_calm), and the state is open.
    #[inline(always)]
    pub(super) fn transmit<const CALM: bool>(&mut self, c: &mut Core, linux: bool, x: &mut Context) {
        let from = x.out.len();
        if !c.waits_for_release(x.now, x.profile) {
            if CALM || (c.state == Recovery::Open && self.board.is_calm()) {
                if c.departures.is_some() {
                    self.fill_pipe::<true, true>(c, linux, x);
                } else {
                    self.fill_pipe::<true, false>(c, linux, x);
                }
            } else {
                self.fill_pipe::<false, false>(c, linux, x);
            }
        }
        if x.profile.segmentation_offload {
            if x.out.len() > from {
                c.mark_bursts(&mut x.out[from..], x.profile);
            }
            if !c.needs.no_growth {
                self.note_usage(c, x.out.len() > from, x.profile);
            }
        }
        if x.profile.window_decay && x.out.len() > from {
            self.decay(c, x);
        }
    }

    /// `PACED`: a copy for senders with [`Core::departures`], so that others do not pay for what it inlines.
    fn fill_pipe<const CALM: bool, const PACED: bool>(&mut self, c: &mut Core, linux: bool, x: &mut Context) {
        let window = c.usable_window(x.profile);
        let in_recovery = !CALM && c.state == Recovery::Recovery;
        let only_new = CALM || (linux && !in_recovery && c.state != Recovery::Loss);
        let mut burst = 0;
        // Without limited transmit (RFC 3042) reports alone let nothing new out: what they cover counts as in
        // flight.
        let held_back = !CALM && c.state == Recovery::Disorder && !x.profile.limited_transmit;
        while c.life == Life::Open && x.out.len() < MOST_AT_ONCE {
            let reported = if held_back { self.board.sacked() } else { 0 };
            let space = window.saturating_sub(self.board.pipe() + reported);
            if space < x.profile.mss && !self.force {
                if c.size.is_none() || space == 0 {
                    return c.held_by_window(x.now);
                }
                // A short last segment may still fit.
                if (!only_new && self.board.next_lost().is_some()) || c.next_payload(x.profile) > space {
                    return c.held_by_window(x.now);
                }
            }
            if c.is_held(x.now, x.profile) {
                return;
            }
            self.force = false;
            if let Some(i) = (!only_new).then(|| self.board.next_lost()).flatten() {
                if !self.may_resend(i, c, x.profile) {
                    return c.held(Limit::Receive, x.now);
                }
                self.resend(i, c, x);
                continue;
            }
            let mut payload = c.next_payload(x.profile);
            if payload == 0 && burst > 0 {
                payload = c.cut_by_window(x.profile);
            }
            if payload > 0 {
                if x.profile.segmentation_offload {
                    if burst == 0 {
                        burst = c.burst(x.profile);
                        if self.waits_for_more(c, space, burst, x.now, x.profile) {
                            let unsent = c.queue_end().min(c.edge(x.profile)).saturating_sub(c.next);
                            self.usage.waits = unsent >= space;
                            return;
                        }
                    }
                    burst -= 1;
                }
                self.send::<PACED>(c, payload, x);
                continue;
            }
            c.held(c.held_back_by(x.profile), x.now);
            if !in_recovery || !(x.profile.rescue || linux) {
                return;
            }
            let hole = self.board.next_hole();
            let rescue = hole.is_none() && x.profile.rescue && !self.rescued;
            let Some(i) = hole.or_else(|| rescue.then(|| self.board.rescue()).flatten()) else { return };
            if !self.may_resend(i, c, x.profile) {
                return;
            }
            self.rescued |= rescue;
            self.resend(i, c, x);
        }
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, c: &mut Core, payload: u64, x: &mut Context) {
        self.send::<false>(c, payload, x);
    }

    #[inline(always)]
    fn send<const PACED: bool>(&mut self, c: &mut Core, payload: u64, x: &mut Context) {
        let (seq, board) = (c.next, &self.board);
        c.send_next::<PACED>(payload, |_| board.pipe() + payload, x);
        self.board.push(seq, payload as u16, x.now);
        self.proportional.out += payload;
    }

    pub(super) fn resend(&mut self, i: usize, c: &mut Core, x: &mut Context) {
        let segment = self.board.resend(i, x.now);
        self.proportional.out += u64::from(segment.len);
        if let Some(undo) = &mut self.undo {
            if undo.retransmissions == 0 {
                undo.stamp = c.clock;
            }
            undo.retransmissions += 1;
        }
        let board = &self.board;
        c.emit::<false>(segment.seq, u64::from(segment.len), |_| board.pipe(), x);
    }

    /// Linux's loss probe goes: neither the pipe nor an undo counts it.
    pub(super) fn resend_uncounted(&mut self, i: usize, c: &mut Core, x: &mut Context) {
        let segment = self.board.resend_uncounted(i, x.now);
        let board = &self.board;
        c.emit::<false>(segment.seq, u64::from(segment.len), |_| board.pipe(), x);
    }

    /// Whether new segments wait for a burst of `burst` (Linux's tcp_tso_should_defer). `space` is smaller,
    /// and less than a third of the window. The last burst left within a millisecond. The next ACK is due
    /// within a millisecond and half a round trip.
    pub(in crate::sender) fn waits_for_more(
        &self,
        c: &Core,
        space: u64,
        burst: u64,
        now: Time,
        profile: &Profile,
    ) -> bool {
        if space >= burst * profile.mss
            || space as f64 >= c.window().cwnd / 3.0
            || now.since(c.last_sent) > MILLISECOND
            || !matches!(c.state, Recovery::Open | Recovery::Disorder | Recovery::Reduction)
        {
            return false;
        }
        let Some((sent, srtt)) = self.board.oldest().zip(c.rtt.smoothed()) else { return false };
        (sent + srtt).since(now) <= MILLISECOND.min(Duration(srtt.0 / 2))
    }

    /// After sending: whether the window is full, or the most segments in flight, since a window of data
    /// began.
    fn note_usage(&mut self, c: &Core, sent: bool, profile: &Profile) {
        let usage = &mut self.usage;
        let waits = std::mem::take(&mut usage.waits);
        let full = waits || self.board.pipe() + profile.mss > c.window().cwnd as i64 as u64;
        let out = self.board.len() as u32;
        if (sent || full) && (c.una >= usage.until || full || (!usage.full && out > usage.most)) {
            *usage = Usage { full, most: out, until: c.high, waits: false };
        }
    }

    #[inline(never)]
    pub(in crate::sender) fn window_was_used(&self, c: &Core, profile: &Profile) -> bool {
        let Window { cwnd, ssthresh } = c.window();
        let used = f64::from(self.usage.most) * profile.segment();
        self.usage.full || (cwnd < ssthresh && cwnd < 2.0 * used)
    }

    /// The window was reduced after an idle time.
    pub(in crate::sender) fn on_idle_restart(&mut self, now: Time) {
        if let Some(decay) = &mut self.decay {
            **decay = Decay::at(now);
        }
    }

    /// After sending: halves the distance between a window that was not full for a timeout and its used part,
    /// unless data waits (RFC 2861 section 3.2; the kernel's `tcp_cwnd_validate`).
    fn decay(&mut self, c: &mut Core, x: &Context) {
        let mss = x.profile.segment();
        let cwnd = c.window().cwnd;
        let (out, full) = (self.board.len(), self.board.outstanding() as f64 >= cwnd);
        let Some(decay) = &mut self.decay else { return };
        if full {
            **decay = Decay::at(x.now);
            return;
        }
        decay.used = decay.used.max(out);
        if x.now.since(decay.full) < c.rto {
            return;
        }
        decay.full = x.now;
        if c.state != Recovery::Open || c.size != Some(c.next) {
            return;
        }
        let used = (decay.used as f64).max(x.profile.initial_window) * mss;
        decay.used = 0;
        if used < cwnd {
            let ssthresh = c.remembered_threshold(x.profile);
            let segments = ((cwnd + used) / 2.0 / mss) as u64;
            let window = Window { cwnd: segments as f64 * mss, ssthresh };
            c.control.propose(&Proposal::Window { window, cause: Cause::Idle });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_segments_leave_as_soon_as_a_part_of_one_is_due() {
        let p = Proportional { flight: 10_000, delivered: 3000, out: 1000 };
        // ceil(1.5) - 1 = 1 segment, where 500 bytes are due.
        assert_eq!(p.share(8000, 5000, 1000, false, (1000, true)), 1000);
        assert_eq!(p.share(8000, 5000, 1000, false, (1000, false)), 500);
    }

    /// RFC 9937 section 6.2, step by step: ten segments in flight, the threshold five; each ACK delivers one.
    #[test]
    fn above_the_threshold_one_segment_leaves_for_two_that_arrive() {
        let mut p = Proportional { flight: 10_000, delivered: 1000, out: 0 };
        // One delivered: ceil(1000 * 5000 / 10000) = 500, but the retransmission goes.
        assert_eq!(p.share(9000, 5000, 1000, false, (1000, false)), 1000);
        p = Proportional { flight: 10_000, delivered: 2000, out: 1000 };
        assert_eq!(p.share(8000, 5000, 1000, false, (1000, false)), 0);
        p.delivered = 4000;
        assert_eq!(p.share(7000, 5000, 1000, false, (1000, false)), 1000);
    }

    #[test]
    fn below_it_what_arrives_is_replaced_and_a_safe_ack_adds_a_segment() {
        let p = Proportional { flight: 10_000, delivered: 3000, out: 3000 };
        assert_eq!(p.share(2000, 5000, 1000, false, (1000, false)), 1000);
        assert_eq!(p.share(2000, 5000, 1000, true, (1000, false)), 2000);
        assert_eq!(p.share(4500, 5000, 1000, true, (1000, false)), 500);
    }
}
