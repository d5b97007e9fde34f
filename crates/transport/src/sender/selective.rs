//! Loss recovery with SACK: the scoreboard tells what is lost (RFC 6675, forward acknowledgement, or RACK-TLP, RFC 8985),
//! the pipe when something may go, and the profile how the window comes down (at once, RFC 9937, rate halving).

use evenflow_base::{Duration, Packet, Report, Time, flags};

use crate::congestion_control::{Congestion, Signal, Window};
use crate::profile::{Ecn, LossDetection, Reduction, RtoRule, RttSource};
use crate::rtt::Timed;
use crate::{Profile, Segment};

use super::adaptive::Kept;
use super::board::{Board, Delivered};
use super::{Growth, Life, Limit, Recovery, Sender};

/// RACK-TLP: recoveries in a row without a duplicate report before the reordering window shrinks again (RFC 8985
/// section 6.2 step 4).
const PERSIST: u8 = 16;

/// RACK-TLP: added to the probe's timeout where one segment alone is in flight, for its ACK may be held back: the largest
/// delay that is common (RFC 8985 section 7.2, WCDelAckT).
const WORST_ACK_DELAY: Duration = Duration::from_millis(200);

/// Linux's addition where more than one segment is in flight, and to the wait for reordered segments: two ticks of its
/// clock at 1000 Hz.
const TWO_TICKS: Duration = Duration::from_millis(2);

/// So long after a segment left, others do not wait to leave in a burst.
const MILLISECOND: Duration = Duration::from_millis(1);

/// What the next early timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Early {
    /// Something may turn out lost once the reordering window is over (RFC 8985 section 6.3).
    #[default]
    Reordering,
    /// A tail loss probe (RFC 8985 section 7.2).
    Probe,
}

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

/// What a needless reduction is taken back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub(super) window: Window,
    /// The timestamp clock when the first retransmission went (RFC 4015 section 3.2, "pipe_prev" and "TSecr").
    pub(super) stamp: u32,
    /// Retransmissions not yet reported as duplicates.
    pub(super) retransmissions: u32,
}

/// RACK's reordering window (RFC 8985 section 6.2 step 4).
#[derive(Clone, Copy, Debug)]
struct Reordering {
    seen: bool,
    /// RACK.reo_wnd_mult.
    steps: u8,
    /// RACK.reo_wnd_persist.
    persist: u8,
    /// RACK.dsack_round; [`NO_ROUND`]: none.
    round: u64,
}

/// Never over.
const NO_ROUND: u64 = u64::MAX;

/// What recovery with SACK needs beside the sender's own state.
#[derive(Clone, Debug)]
pub(super) struct Selective {
    pub(super) board: Board,
    /// When the early timer fires.
    pub(super) early: Time,
    kind: Early,
    pub(super) proportional: Proportional,
    /// Rate halving: the last ACK let a segment out.
    pub(super) half: bool,
    /// One segment goes whatever the window says (RFC 6675 section 5 step 4.3).
    pub(super) force: bool,
    /// The rescue retransmission of this recovery was made.
    rescued: bool,
    reordering: Reordering,
    pub(super) undo: Option<Undo>,
    pub(super) adaptive: Kept,
    /// TLP.end_seq, and whether the probe was a retransmission.
    probe: Option<(u64, bool)>,
    usage: Usage,
}

/// How much of the congestion window was used since the window of data that ends at `until` (Linux's `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// It was full at some time.
    full: bool,
    /// The most segments that were out.
    most: u32,
    until: u64,
}

impl Selective {
    pub(super) fn new(profile: &Profile) -> Selective {
        Selective::with(Board::default(), profile)
    }

    /// As new, in the room that it has.
    pub(super) fn renew(&mut self, profile: &Profile) {
        self.board.clear();
        *self = Selective::with(std::mem::take(&mut self.board), profile);
    }

    fn with(board: Board, profile: &Profile) -> Selective {
        Selective {
            board,
            early: Time::NEVER,
            kind: Early::default(),
            proportional: Proportional::default(),
            half: false,
            force: false,
            rescued: false,
            reordering: Reordering { seen: false, steps: 1, persist: PERSIST, round: NO_ROUND },
            undo: None,
            adaptive: Kept::new(profile),
            probe: None,
            usage: Usage::default(),
        }
    }
}

/// How much may be sent (RFC 9937 section 6.2), bytes: `pipe` is what is in flight, `ssthresh` the aim, `delivered` what
/// this ACK delivered, `safe` whether it advanced and told no further loss.
pub(super) fn proportional_share(
    p: &Proportional,
    pipe: u64,
    ssthresh: u64,
    delivered: u64,
    safe: bool,
    (mss, whole): (u64, bool),
) -> u64 {
    let share = if pipe > ssthresh {
        // Above the aim it is a fraction of a segment an ACK; `whole` rounds it up to segments, as Linux does.
        let due = p.delivered.saturating_mul(ssthresh).div_ceil(p.flight.max(1));
        let due = if whole { due.div_ceil(mss) * mss } else { due };
        due.saturating_sub(p.out)
    } else {
        let conservative = p.delivered.saturating_sub(p.out).max(delivered);
        // Slow start reduction bound where all is well, conservative reduction bound otherwise.
        let bound = if safe { conservative + mss } else { conservative };
        bound.min(ssthresh - pipe)
    };
    // The fast retransmit itself goes in any case.
    if p.out == 0 && share < mss { mss } else { share }
}

impl Sender {
    /// The state of a sender with SACK.
    pub(super) fn selective(&mut self) -> &mut Selective {
        self.selective.as_mut().expect("a sender with SACK")
    }

    /// An ACK with its SACK option.
    #[inline(always)]
    pub(super) fn selective_ack(
        &mut self,
        ack: &Packet,
        report: &Report,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        if self.exposed.is_some() {
            self.hear_report(ack.seq, report, profile);
        }
        let Some(s) = &mut self.selective else { return };
        if ack.seq < self.una {
            return; // old (RFC 9293 section 3.10.7.4)
        }
        let floor = self.rtt.least().unwrap_or(Duration::ZERO);
        let (flight, sacked) = (s.board.pipe(), s.board.sacked());
        let outstanding = s.board.outstanding();
        let news = s.board.acknowledge(ack.seq, report, now, floor);
        let advanced = ack.seq > self.una;
        let bytes = ack.seq - self.una;
        let segments = self.whole_segments(bytes, profile.mss);
        let (rtt, sampled) = self.take_sample(ack, &news, advanced, now, profile);
        if self.recovery == Recovery::Reduction && ack.seq > self.recover {
            self.leave_recovery(profile);
        }
        let marks = match self.marks.mode {
            Ecn::Off => 0,
            // What delivers nothing may be old: its counter says nothing.
            Ecn::Accurate | Ecn::ReEcn | Ecn::ReEcnUnlimited if news.segments == 0 => 0,
            _ => self.congestion_marks(ack, news.segments, news.bytes, now, profile),
        };
        if advanced {
            self.una = ack.seq;
            self.tries = 0;
            if sampled {
                self.rto = self.rtt.timeout(profile); // a backed-off timeout stays until a sample (RFC 6298 section 5)
            }
            self.timer = profile.due(now, self.rto);
        } else if profile.rto == RtoRule::AnyAck && self.una < self.high {
            self.rto = self.rtt.timeout(profile);
            self.timer = profile.due(now, self.rto);
        }
        if profile.loss_detection == LossDetection::Rack {
            self.adapt_reordering(&news);
        }
        if profile.undo {
            self.try_undo(ack, &news, advanced, profile);
        }
        let lost = self.find_losses(now, profile);
        if self.selective.as_ref().is_some_and(|s| s.probe.is_some()) {
            self.end_probe(ack, report, &news, advanced, now, profile);
        }
        let (bytes, segments) = match profile.count_delivered {
            true => (news.bytes, u64::from(news.segments)),
            false => (bytes, segments),
        };
        let growth = Growth { una: ack.seq, bytes, segments, flight: flight as f64, rtt };
        if advanced && self.wants_every_ack {
            self.pass_to_control(ack, growth, marks, now, profile);
        }
        match self.recovery {
            Recovery::Open | Recovery::Disorder | Recovery::Reduction if lost > 0 => {
                self.begin_recovery(outstanding - sacked, now, profile);
                self.share_out(&news, false, profile);
            }
            Recovery::Open | Recovery::Disorder => {
                let disordered = self.selective().board.sacked() > 0;
                self.recovery = if disordered { Recovery::Disorder } else { Recovery::Open };
                if advanced {
                    self.grow(growth, marks, now, profile);
                }
            }
            Recovery::Recovery if ack.seq >= self.recover => {
                self.leave_recovery(profile);
                // Linux counts what the last ACK of a recovery delivers towards the next segment; rate halving did not.
                let counts = profile.count_delivered && profile.reduction != Reduction::RateHalving;
                if counts && self.selective().board.lost() == 0 {
                    self.grow(growth, marks, now, profile);
                }
            }
            Recovery::Reduction | Recovery::Recovery => self.share_out(&news, advanced && lost == 0, profile),
            Recovery::Loss => {
                let over = ack.seq >= self.recover;
                if over {
                    self.recovery = Recovery::Open;
                    self.recovered();
                }
                if advanced {
                    self.grow(growth, marks, now, profile);
                }
                if profile.reduce_after_timeout && lost > 0 && !over {
                    self.begin_recovery(outstanding - sacked, now, profile);
                    self.share_out(&news, false, profile);
                }
            }
        }
        let calm = matches!(self.recovery, Recovery::Open | Recovery::Disorder);
        if calm && self.selective().board.lost() > 0 {
            // What was sent since recovery began is lost as well: another event.
            self.begin_recovery(outstanding - sacked, now, profile);
            self.share_out(&news, false, profile);
        }
        self.send_by_pipe(now, profile, out);
        if self.una == self.high {
            self.rest(now, profile);
        }
        self.after_sending(now, profile);
    }

    /// A round-trip sample for the timeout, where the ACK shows one; gives the one that congestion controls see, which is
    /// of the newest segment, and whether there was one for the timeout.
    #[inline(always)]
    pub(super) fn take_sample(
        &mut self,
        ack: &Packet,
        news: &Delivered,
        advanced: bool,
        now: Time,
        profile: &Profile,
    ) -> (Option<Duration>, bool) {
        let newest = news.newest.map(|sent| now.since(sent));
        if let Some(rtt) = newest {
            self.rtt.seen(rtt);
        }
        let sample = match profile.rtt {
            // Where all was sent again, the timestamp knows which of the two arrived.
            RttSource::SendTimes => news
                .oldest
                .map(|sent| now.since(sent))
                .or_else(|| advanced.then(|| self.elapsed(ack.stamp, profile))),
            RttSource::Timestamps => {
                (advanced || profile.rto == RtoRule::AnyAck).then(|| self.elapsed(ack.stamp, profile))
            }
            RttSource::OneSegment => self.timed.end(ack.seq, now),
        };
        if let Some(rtt) = sample {
            self.sample(rtt, profile);
        }
        (newest, sample.is_some())
    }

    /// Looks for losses; gives the bytes newly lost, and sets the timer for those that may follow.
    fn find_losses(&mut self, now: Time, profile: &Profile) -> u64 {
        let in_recovery = matches!(self.recovery, Recovery::Recovery | Recovery::Loss);
        let Some(s) = &self.selective else { return 0 };
        let enough = s.board.sacked_segments() >= profile.duplicate_threshold;
        let window = self.reordering_window(in_recovery || enough);
        let Some(s) = &mut self.selective else { return 0 };
        if s.board.sacked() == 0 && s.board.lost() == 0 {
            if s.kind == Early::Reordering {
                s.early = Time::NEVER;
            }
            return 0;
        }
        match profile.loss_detection {
            LossDetection::Sack | LossDetection::DuplicateAcks => {
                s.board.mark_by_count(profile.duplicate_threshold, profile.mss)
            }
            LossDetection::FackAdaptive => 0, // it looks by itself
            LossDetection::Fack => s.board.mark_by_distance(profile.duplicate_threshold, profile.mss),
            LossDetection::Rack => {
                let (lost, again) = s.board.mark_by_time(now, window);
                match again {
                    Some(at) => {
                        let floor =
                            if profile.timer_tick > Duration::ZERO { TWO_TICKS } else { Duration::ZERO };
                        s.early = profile.due(now, at.since(now) + floor);
                        s.kind = Early::Reordering;
                    }
                    None if s.kind == Early::Reordering => s.early = Time::NEVER,
                    None => {}
                }
                lost
            }
        }
    }

    /// RACK.reo_wnd (RFC 8985 section 6.2 step 4): none where enough was reported and no reordering was ever seen.
    pub(super) fn reordering_window(&self, sure: bool) -> Duration {
        let Some(s) = &self.selective else { return Duration::ZERO };
        match (s.reordering.seen, self.rtt.least(), self.rtt.smoothed()) {
            (false, ..) if sure => Duration::ZERO,
            (_, Some(least), Some(srtt)) => Duration(least.0 / 4 * u64::from(s.reordering.steps)).min(srtt),
            _ => Duration::ZERO,
        }
    }

    /// RFC 8985 section 6.2 steps 3 and 4.
    fn adapt_reordering(&mut self, news: &Delivered) {
        let (una, next) = (self.una, self.high);
        let r = &mut self.selective().reordering;
        r.seen |= news.reordered;
        if una >= r.round {
            r.round = NO_ROUND;
        }
        if news.duplicate && r.round == NO_ROUND {
            r.round = next;
            r.steps = r.steps.saturating_add(1);
            r.persist = PERSIST;
        }
    }

    pub(super) fn remember(&mut self) {
        let (window, stamp) = (self.window, self.clock);
        self.selective().undo = Some(Undo { window, stamp, retransmissions: 0 });
    }

    pub(super) fn begin_recovery(&mut self, flight: u64, now: Time, profile: &Profile) {
        let mss = profile.segment();
        let una = self.una;
        let before = self.window.cwnd;
        let same = self.recovery == Recovery::Reduction || self.same_event();
        if !same {
            self.remember();
            // RFC 5681 section 3.2 step 2: what limited transmit added does not count.
            let outstanding = (self.high - una) as f64;
            let event = Congestion {
                signal: Signal::Loss,
                now,
                flight: outstanding.min(self.window.cwnd.max(mss)),
                mss,
            };
            self.lower_threshold(&event, event.signal, profile);
        }
        if !same {
            self.reduced();
        }
        let in_reduction = self.recovery == Recovery::Reduction;
        self.recovery = Recovery::Recovery;
        self.recover = self.high;
        self.timed = Timed::NONE;
        let s = self.selective();
        // An earlier recovery may have sent it again already.
        s.force = s.board.next_lost().is_some();
        if !in_reduction {
            let flight = if profile.whole_segments { before as u64 } else { flight };
            let out = if s.force { 0 } else { s.board.resent() };
            s.proportional = Proportional { flight, delivered: 0, out };
        }
        s.half = false;
        s.rescued = false;
        s.probe = None;
    }

    /// The window comes down after marks, without a loss.
    pub(super) fn begin_reduction(&mut self) {
        self.recover = self.high;
        self.recovery = Recovery::Reduction;
        let window = self.window.cwnd as u64;
        let s = self.selective();
        s.undo = None;
        s.proportional = Proportional { flight: window, delivered: 0, out: 0 };
        s.half = false;
    }

    /// The window of an ACK in recovery.
    fn share_out(&mut self, news: &Delivered, safe: bool, profile: &Profile) {
        let (mss, ssthresh) = (profile.mss, self.window.ssthresh);
        let in_recovery = self.recovery == Recovery::Recovery;
        let Some(s) = &mut self.selective else { return };
        let pipe = s.board.pipe();
        let proportional = match profile.reduction {
            Reduction::Proportional | Reduction::ProportionalOrHalving => in_recovery,
            Reduction::ProportionalAlways => true,
            _ => false,
        };
        if proportional {
            // What delivers nothing lets nothing out, but the fast retransmit itself goes.
            if news.bytes == 0 && !s.force {
                return;
            }
            s.proportional.delivered += news.bytes;
            let share = proportional_share(
                &s.proportional,
                pipe,
                ssthresh as u64,
                news.bytes,
                safe,
                (mss, profile.whole_segments),
            );
            s.force = false;
            self.window.cwnd = (pipe + share) as f64;
        } else if matches!(profile.reduction, Reduction::RateHalving | Reduction::ProportionalOrHalving) {
            // One segment for two ACKs, the first among them, until what is in flight fits the threshold.
            s.half = !s.half;
            let allowed = if s.half { pipe + mss } else { pipe };
            self.window.cwnd = if (pipe + mss) as f64 > ssthresh { allowed as f64 } else { ssthresh };
        } else {
            self.window.cwnd = ssthresh;
        }
    }

    /// Fast recovery, or that of a timeout, is over (RFC 8985 section 6.2 step 4).
    fn recovered(&mut self) {
        let r = &mut self.selective().reordering;
        r.persist = r.persist.saturating_sub(1);
        if r.persist == 0 {
            r.steps = 1;
        }
    }

    fn leave_recovery(&mut self, profile: &Profile) {
        if self.recovery == Recovery::Recovery {
            self.recovered();
        }
        self.recovery = Recovery::Open;
        self.window.cwnd = self.window.ssthresh;
        let mss = profile.mss;
        let s = self.selective();
        s.force = false;
        if profile.reduction == Reduction::RateHalving {
            // At most three segments at once (Linux's tcp_max_burst, Sanhaji 2015's stack).
            let most = (s.board.pipe() + 3 * mss) as f64;
            self.window.cwnd = self.window.cwnd.min(most);
        }
        if self.selective().board.sacked() > 0 {
            self.recovery = Recovery::Disorder;
        }
    }

    /// Takes a reduction back where the ACK shows that it was needless: it answers something sent before the first
    /// retransmission (RFC 4015 section 3.2), or every retransmission was reported as a duplicate (RFC 3708).
    fn try_undo(&mut self, ack: &Packet, news: &Delivered, advanced: bool, profile: &Profile) {
        if !matches!(self.recovery, Recovery::Recovery | Recovery::Loss) {
            return;
        }
        let Some(undo) = self.selective.as_mut().and_then(|s| s.undo.as_mut()) else { return };
        let before = undo.retransmissions;
        undo.retransmissions = before.saturating_sub(u32::from(news.duplicate));
        let all_twice = before > 0 && undo.retransmissions == 0;
        // The echo is older than the first retransmission.
        let older = before > 0 && (ack.stamp.wrapping_sub(undo.stamp) as i32) < 0;
        if all_twice || (advanced && older) {
            self.take_back(profile);
        }
    }

    fn take_back(&mut self, profile: &Profile) {
        let Some(undo) = self.selective().undo.take() else { return };
        self.restore(&undo.window, profile);
        self.recovery = Recovery::Open;
        let s = self.selective();
        s.board.lose_none();
        s.force = false;
    }

    /// Sends what the pipe leaves room for: what is lost first, then new data, then what RFC 6675 allows beyond
    /// (section 4, NextSeg).
    #[inline(always)]
    pub(super) fn send_by_pipe(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let from = out.len();
        self.fill_pipe(now, profile, out);
        if profile.segmentation_offload {
            self.mark_bursts(&mut out[from..], profile);
            self.note_usage(out.len() > from, profile);
        }
        if profile.window_decay && out.len() > from {
            self.decay(now, profile);
        }
    }

    /// After sending: whether the window is full, or the most that is out, since a window of data began.
    fn note_usage(&mut self, sent: bool, profile: &Profile) {
        let (una, high, cwnd) = (self.una, self.high, self.window.cwnd as i64 as u64);
        let s = self.selective();
        let full = s.board.pipe() + profile.mss > cwnd;
        let out = s.board.len() as u32;
        if (sent || full) && (una >= s.usage.until || full || (!s.usage.full && out > s.usage.most)) {
            s.usage = Usage { full, most: out, until: high };
        }
    }

    /// Whether the window was full since a window of data began; in slow start half of it is enough.
    #[inline(never)]
    pub(super) fn window_was_used(&self, profile: &Profile) -> bool {
        let Some(s) = &self.selective else { return false };
        let Window { cwnd, ssthresh } = self.window;
        s.usage.full || (cwnd < ssthresh && cwnd < 2.0 * f64::from(s.usage.most) * profile.segment())
    }

    /// Segments of a burst (Linux's tcp_tso_autosize): a 1024th of a second at 1.2 times the window's rate, at twice that
    /// rate below half the threshold, and more where the round trip is short.
    fn burst(&self, profile: &Profile) -> u64 {
        let Some(srtt) = self.rtt.smoothed() else { return 2 };
        let ratio = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.2 };
        let mut bytes = (ratio * self.window.cwnd / srtt.seconds() / 1024.0) as u64;
        let halvings = self.rtt.least().map_or(u64::MAX, |least| (least.0 / 1000) >> 9);
        if halvings < 32 {
            bytes = bytes.saturating_add(65_536 >> halvings); // a round trip may take no time
        }
        (bytes.min(65_536) / profile.mss).max(2)
    }

    /// Whether the window was used up to what waits for a whole burst.
    #[inline(never)]
    pub(super) fn burst_was_awaited(&self, flight: f64, profile: &Profile) -> bool {
        flight + (self.burst(profile) + 1) as f64 * profile.segment() > self.window.cwnd
    }

    /// Whether new segments wait until a burst of `burst` may go (Linux's tcp_tso_should_defer): `room` is less, and less than
    /// a third of the window; one left within the last millisecond; and the next ACK is due within a millisecond and half
    /// a round trip.
    pub(super) fn waits_for_more(&self, room: u64, burst: u64, now: Time, profile: &Profile) -> bool {
        if room >= burst * profile.mss
            || room as f64 >= self.window.cwnd / 3.0
            || now.since(self.last_sent) > MILLISECOND
            || !matches!(self.recovery, Recovery::Open | Recovery::Disorder | Recovery::Reduction)
        {
            return false;
        }
        let oldest = self.selective.as_ref().and_then(|s| s.board.oldest());
        let Some((sent, srtt)) = oldest.zip(self.rtt.smoothed()) else { return false };
        (sent + srtt).since(now) <= MILLISECOND.min(Duration(srtt.0 / 2))
    }

    /// The last segment of each burst of two or more, and of the stream, is marked PSH.
    fn mark_bursts(&self, sent: &mut [Segment], profile: &Profile) {
        let size = self.size;
        let is_new = |s: &Segment| s.payload > 0 && !s.again;
        for s in sent.iter_mut().filter(|s| is_new(s) && size == Some(s.seq + u64::from(s.payload))) {
            s.flags |= flags::PUSH;
        }
        if sent.len() < 2 {
            return;
        }
        let burst = self.burst(profile) as usize;
        let mut length = 0;
        for i in 0..sent.len() {
            length = if is_new(&sent[i]) { length + 1 } else { 0 };
            let ends = length == burst || sent.get(i + 1).is_none_or(|next| !is_new(next));
            if ends {
                if length > 1 {
                    sent[i].flags |= flags::PUSH;
                }
                length = 0;
            }
        }
    }

    fn fill_pipe(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let window = self.window.cwnd as i64 as u64;
        let in_recovery = self.recovery == Recovery::Recovery;
        let adaptive = profile.loss_detection == LossDetection::FackAdaptive;
        // Linux 3.2 sends again in these states only.
        let only_new = adaptive && !in_recovery && self.recovery != Recovery::Loss;
        let mut burst = 0;
        // Without limited transmit (RFC 3042) reports alone let nothing new out: what they cover counts as in flight.
        let held_back = self.recovery == Recovery::Disorder && !profile.limited_transmit;
        while self.life == Life::Open {
            let Some(s) = &mut self.selective else { return };
            let reported = if held_back { s.board.sacked() } else { 0 };
            let room = window.saturating_sub(s.board.pipe() + reported);
            if room < profile.mss && !s.force {
                if self.size.is_none() || room == 0 {
                    return self.held_by_window(now);
                }
                // A short last segment may still fit.
                if (!only_new && s.board.next_lost().is_some()) || self.next_payload(profile) > room {
                    return self.held_by_window(now);
                }
            }
            let Some(s) = &mut self.selective else { return };
            s.force = false;
            if let Some(i) = (!only_new).then(|| s.board.next_lost()).flatten() {
                if !self.may_resend(i, profile) {
                    return self.held(Limit::Receive, now);
                }
                self.resend(i, now, profile, out);
                continue;
            }
            let mut payload = self.next_payload(profile);
            if payload == 0 && burst > 0 {
                payload = self.cut_by_window(profile);
            }
            if payload > 0 {
                if profile.segmentation_offload {
                    if burst == 0 {
                        burst = self.burst(profile);
                        if self.waits_for_more(room, burst, now, profile) {
                            return;
                        }
                    }
                    burst -= 1;
                }
                self.send_new(payload, now, profile, out);
                continue;
            }
            self.held(self.held_back_by(profile), now);
            let Some(s) = &mut self.selective else { return };
            if !in_recovery || !(profile.rescue || adaptive) {
                return;
            }
            let hole = s.board.next_hole();
            let rescue = hole.is_none() && profile.rescue && !s.rescued;
            let Some(i) = hole.or_else(|| rescue.then(|| s.board.rescue()).flatten()) else { return };
            if !self.may_resend(i, profile) {
                return;
            }
            self.selective().rescued |= rescue;
            self.resend(i, now, profile, out);
        }
    }

    #[inline]
    fn send_new(&mut self, payload: u64, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let seq = self.next;
        self.send_next(payload, now, profile, out);
        let s = self.selective();
        s.board.push(seq, payload as u16, now);
        s.proportional.out += payload;
    }

    pub(super) fn resend(&mut self, i: usize, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let clock = self.clock;
        let s = self.selective();
        let segment = s.board.resend(i, now);
        s.proportional.out += u64::from(segment.len);
        if let Some(undo) = &mut s.undo {
            if undo.retransmissions == 0 {
                undo.stamp = clock;
            }
            undo.retransmissions += 1;
        }
        self.emit(segment.seq, u64::from(segment.len), now, profile, out);
    }

    /// The earlier of the timers has come.
    pub(super) fn selective_timer(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let s = self.selective();
        if now >= s.early {
            s.early = Time::NEVER;
            match s.kind {
                Early::Reordering => {
                    if self.find_losses(now, profile) > 0 {
                        if !matches!(self.recovery, Recovery::Recovery | Recovery::Loss) {
                            let board = &self.selective().board;
                            let flight = board.outstanding() - board.sacked();
                            self.begin_recovery(flight, now, profile);
                            self.share_out(&Delivered::default(), false, profile);
                        }
                        self.send_by_pipe(now, profile, out);
                    }
                }
                Early::Probe => self.probe(now, profile, out),
            }
        } else if now >= self.timer && !(self.flow.is_some() && self.persist_timer(now, profile, out)) {
            self.time_out(now, profile, out);
        }
    }

    /// RFC 6298 section 5.4 to 5.6, RFC 5681 section 3.1, RFC 6675 section 5.1.
    fn time_out(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.segment();
        if profile.retries.is_some_and(|most| self.tries >= most) {
            return self.die(now);
        }
        if self.una == self.high {
            self.timer = Time::NEVER;
            return;
        }
        if profile.loss_detection == LossDetection::FackAdaptive {
            return self.adaptive_timeout(now, profile, out);
        }
        // A segment that the timer already sent again does not lower the threshold once more (RFC 5681 section 3.1).
        if self.recovery != Recovery::Loss || self.tries == 0 || profile.reduce_after_timeout {
            let una = self.una;
            self.remember();
            let flight = (self.high - una) as f64;
            let event = Congestion {
                signal: Signal::Timeout,
                now,
                flight: flight.min(self.window.cwnd.max(mss)),
                mss,
            };
            self.lower_threshold(&event, event.signal, profile);
        }
        self.window.cwnd = self.control.floor(mss);
        self.tries += 1;
        self.counts.timeouts += 1;
        self.recovery = Recovery::Loss;
        self.recover = self.high;
        self.reduced();
        self.timed = Timed::NONE;
        let (by_time, window) =
            (profile.loss_detection == LossDetection::Rack, self.reordering_window(false));
        let s = self.selective();
        s.board.lose_all(by_time.then(|| Time(now.0.saturating_sub(window.0))));
        s.force = true;
        s.probe = None;
        s.early = Time::NEVER;
        self.rto = (self.rto + self.rto).min(profile.max_rto);
        self.timer = profile.due(now, self.rto);
        self.send_by_pipe(now, profile, out);
    }

    /// Sets the probe's timer (RFC 8985 section 7.2), where nothing is disordered and no probe is out.
    pub(super) fn arm_probe(&mut self, now: Time, profile: &Profile) {
        let srtt = self.rtt.smoothed();
        let calm = matches!(self.recovery, Recovery::Open | Recovery::Reduction);
        let timer = self.timer;
        let Some(s) = &mut self.selective else { return };
        if s.early != Time::NEVER && s.kind == Early::Reordering {
            return;
        }
        s.early = Time::NEVER;
        let Some(srtt) = srtt else { return };
        if !calm || s.board.is_empty() || s.probe.is_some() || s.board.sacked() > 0 {
            return;
        }
        let extra = if s.board.len() == 1 { WORST_ACK_DELAY } else { TWO_TICKS };
        let timeout = srtt + srtt + extra;
        (s.early, s.kind) = (profile.due(now, timeout).min(timer), Early::Probe);
    }

    /// Sends a probe: new data where there is some, else the last segment again (RFC 8985 section 7.3).
    fn probe(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let payload = self.next_payload(profile);
        let end;
        if payload > 0 {
            self.send_new(payload, now, profile, out);
            end = (self.high, false);
        } else if let Some(i) = self.selective().board.last_unreported()
            && self.may_resend(i, profile)
        {
            self.timed = Timed::NONE;
            self.resend(i, now, profile, out);
            end = (self.high, true);
        } else {
            return;
        }
        self.selective().probe = Some(end);
        self.timer = profile.due(now, self.rto);
    }

    /// The end of a probe's episode (RFC 8985 section 7.4): a probe that repaired a loss is a congestion event.
    #[cold]
    #[inline(never)]
    fn end_probe(
        &mut self,
        ack: &Packet,
        report: &Report,
        news: &Delivered,
        advanced: bool,
        now: Time,
        profile: &Profile,
    ) {
        let Some(s) = &mut self.selective else { return };
        let Some((end, again)) = s.probe else { return };
        if ack.seq < end {
            return;
        }
        if !again || news.duplicate {
            s.probe = None; // new data, or the original arrived as well
        } else if ack.seq > end {
            s.probe = None;
            if matches!(self.recovery, Recovery::Open | Recovery::Disorder) && !self.same_event() {
                self.respond_to_probe(now, profile);
            }
        } else if !advanced && report.blocks().is_empty() {
            s.probe = None; // both arrived, and the receiver does not report duplicates
        }
    }

    fn respond_to_probe(&mut self, now: Time, profile: &Profile) {
        let event =
            Congestion { signal: Signal::Loss, now, flight: self.window.cwnd, mss: profile.segment() };
        self.lower_threshold(&event, event.signal, profile);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.reduced();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_segments_leave_as_soon_as_a_part_of_one_is_due() {
        let p = Proportional { flight: 10_000, delivered: 3000, out: 1000 };
        // ceil(1.5) - 1 = 1 segment, where 500 bytes are due.
        assert_eq!(proportional_share(&p, 8000, 5000, 1000, false, (1000, true)), 1000);
        assert_eq!(proportional_share(&p, 8000, 5000, 1000, false, (1000, false)), 500);
    }

    /// RFC 9937 section 6.2 by hand: ten segments in flight, the threshold five; each ACK delivers one.
    #[test]
    fn above_the_threshold_one_segment_leaves_for_two_that_arrive() {
        let mut p = Proportional { flight: 10_000, delivered: 1000, out: 0 };
        // One delivered: ceil(1000 * 5000 / 10000) = 500, but the retransmission goes.
        assert_eq!(proportional_share(&p, 9000, 5000, 1000, false, (1000, false)), 1000);
        p = Proportional { flight: 10_000, delivered: 2000, out: 1000 };
        assert_eq!(proportional_share(&p, 8000, 5000, 1000, false, (1000, false)), 0);
        p.delivered = 4000;
        assert_eq!(proportional_share(&p, 7000, 5000, 1000, false, (1000, false)), 1000);
    }

    #[test]
    fn below_it_what_arrives_is_replaced_and_a_safe_ack_adds_a_segment() {
        let p = Proportional { flight: 10_000, delivered: 3000, out: 3000 };
        assert_eq!(proportional_share(&p, 2000, 5000, 1000, false, (1000, false)), 1000);
        assert_eq!(proportional_share(&p, 2000, 5000, 1000, true, (1000, false)), 2000);
        assert_eq!(proportional_share(&p, 4500, 5000, 1000, true, (1000, false)), 500);
    }
}
