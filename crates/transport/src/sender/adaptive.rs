//! Loss recovery as in Linux 3.2 (`loss_detection = "fack-adaptive"`): forward acknowledgement whose distance follows the
//! reordering that was seen, F-RTO with SACK (RFC 5682), the order in which an ACK is worked through, and what a window may be
//! in each state.
//!
//! The window grows before losses are looked for, so the ACK that tells a loss may still have opened it. States are those of
//! [`Recovery`]; `recover` is the kernel's `high_seq` in all of them.

use evenflow_base::{Duration, Packet, Report, Time};

use crate::congestion_control::{Congestion, Signal};
use crate::profile::{LossDetection, UndoTo};
use crate::rtt::Timed;
use crate::{Profile, Segment};

use super::board::{AckPreview, Delivered};
use super::selective::proportional_share;
use super::{Growth, Recovery, Sender};

/// Reordering that is believed at most, segments (TCP_MAX_REORDERING).
const MOST_REORDERING: u32 = 127;

/// What an ACK says, for the steps that follow one on another.
#[derive(Clone, Copy, Debug)]
struct News<'a> {
    ack: &'a Packet,
    delivered: Delivered,
    seen: AckPreview,
    advanced: bool,
}

/// Where F-RTO is (RFC 5682 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// No timeout is in doubt.
    #[default]
    Off,
    /// The first ACK after a timeout is awaited.
    First,
    /// Two new segments went; what answers them decides.
    Second,
}

/// What Linux 3.2 remembers beside the scoreboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptive {
    /// `reordering`, segments.
    pub(super) reordering: u32,
    /// Forward acknowledgement: until more reordering than expected was seen.
    pub(super) forward: bool,
    pub(super) frto: Frto,
    /// `frto_highmark`: what lies before was sent before the timeout; 0: none.
    mark: u64,
    /// A partial ACK showed that its original had come, and nothing sent again is on its way: the recovery is needless.
    delayed: bool,
    /// Most segments in flight since the window was last full, and when that was.
    pub(super) used: usize,
    pub(super) full: Time,
}

/// [`Adaptive`] of a sender that finds losses so, or whose window decays; other senders have none.
#[derive(Clone, Debug)]
pub(super) struct Kept(Option<Box<Adaptive>>);

impl Kept {
    pub(super) fn new(profile: &Profile) -> Kept {
        let needed = profile.loss_detection == LossDetection::FackAdaptive || profile.window_decay;
        Kept(needed.then(|| Box::new(Adaptive::new(profile))))
    }

    /// Bytes beside itself.
    pub(super) fn held_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |_| size_of::<Adaptive>())
    }

    /// Where there is one.
    pub(super) fn get(&self) -> Option<&Adaptive> {
        self.0.as_deref()
    }

    /// Where there is one.
    pub(super) fn get_mut(&mut self) -> Option<&mut Adaptive> {
        self.0.as_deref_mut()
    }
}

impl std::ops::Deref for Kept {
    type Target = Adaptive;

    fn deref(&self) -> &Adaptive {
        self.0.as_deref().expect("the profile asks for it")
    }
}

impl std::ops::DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Adaptive {
        self.0.as_deref_mut().expect("the profile asks for it")
    }
}

impl Adaptive {
    fn new(profile: &Profile) -> Adaptive {
        Adaptive {
            reordering: profile.cached_reordering.unwrap_or(profile.duplicate_threshold),
            forward: profile.cached_reordering.is_none_or(|seen| seen == profile.duplicate_threshold),
            frto: Frto::Off,
            mark: 0,
            delayed: false,
            used: 0,
            full: Time::ZERO,
        }
    }

    /// More reordering than was known: losses are told by counting from now on.
    fn learn(&mut self, segments: u32) {
        if segments > self.reordering {
            self.reordering = segments.min(MOST_REORDERING);
            self.forward = false;
        }
    }
}

impl Sender {
    /// An ACK with its SACK option.
    pub(super) fn adaptive_ack(
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
        let was = self.recovery;
        let flight = s.board.pipe();
        let seen = s.board.preview(ack.seq, report, s.adaptive.mark);
        let delivered = s.board.acknowledge(ack.seq, report, now, Duration::ZERO);
        let advanced = ack.seq > self.una;
        let bytes = ack.seq - self.una;
        let segments = self.whole_segments(bytes, profile.mss);
        let (rtt, sampled) = self.take_sample(ack, &delivered, advanced, now, profile);
        self.learn_reordering(&seen, ack.seq);
        if self.recovery == Recovery::Reduction && ack.seq > self.recover {
            self.recovery = Recovery::Open; // the window stays where it came down to
        }
        let marks = self.congestion_marks(ack, delivered.segments, delivered.bytes, now, profile);
        if advanced {
            self.una = ack.seq;
            self.tries = 0;
            if sampled {
                self.rto = self.rtt.timeout(profile); // a backed-off timeout stays until a sample (RFC 6298 section 5)
            }
            self.timer = profile.due(now, self.rto);
        }
        // What was sent again tells no round-trip time to the congestion control.
        let rtt = rtt.filter(|_| !seen.resent);
        let growth = Growth { una: ack.seq, bytes, segments, flight: flight as f64, rtt };
        if advanced && self.wants_every_ack {
            self.pass_to_control(ack, growth, marks, now, profile);
        }
        let news = News { ack, delivered, seen, advanced };
        if delivered.duplicate
            && let Some(undo) = self.selective().undo.as_mut()
        {
            undo.retransmissions = undo.retransmissions.saturating_sub(1);
        }
        let in_doubt = self.selective().adaptive.frto != Frto::Off && self.step_frto(&news, profile);
        let una = self.una;
        let a = &mut *self.selective().adaptive;
        if a.mark < una {
            a.mark = 0;
        }
        let held = |state| matches!(state, Recovery::Recovery | Recovery::Reduction);
        if advanced && !in_doubt && !held(was) && !held(self.recovery) {
            self.selective().adaptive.full = now;
            self.grow(growth, marks, now, profile);
        }
        if !advanced || seen.reported || marks > 0 || was != Recovery::Open || self.recovery != Recovery::Open
        {
            self.alert(&news, now, profile);
        }
        if self.selective().board.is_empty() && self.next_payload(profile) > 0 {
            self.control.resumed(Duration::ZERO); // a transmission begins with nothing in flight
        }
        self.send_by_pipe(now, profile, out);
        if self.una == self.high {
            self.rest(now, profile);
        }
        self.after_sending(now, profile);
    }

    /// A hole that was filled without being sent again, or a duplicate of what was reported, shows how far the network
    /// reorders.
    fn learn_reordering(&mut self, seen: &AckPreview, una: u64) {
        let in_loss = self.recovery == Recovery::Loss;
        let s = self.selective();
        let settled = s.adaptive.mark == 0 || una > s.adaptive.mark;
        if (!in_loss || s.undo.is_some()) && settled {
            s.adaptive.learn(seen.late_report);
        }
        s.adaptive.learn(seen.late_ack);
    }

    /// After a timeout (RFC 5682 section 3.1, with SACK): whether the window is F-RTO's with this ACK.
    fn step_frto(&mut self, news: &News, profile: &Profile) -> bool {
        let mss = profile.segment();
        let una = self.una;
        let s = self.selective();
        let Adaptive { frto, mark, .. } = *s.adaptive;
        if news.seen.resent_beyond_head || (frto == Frto::Second && news.seen.resent) {
            s.undo = None;
        }
        if una >= mark {
            self.lose_after_timeout(if frto == Frto::First { 2 } else { 3 }, news.advanced, profile);
            return true;
        }
        let pipe = s.board.pipe() as f64;
        match frto {
            Frto::First if !news.advanced => {
                if pipe == 0.0 {
                    self.lose_after_timeout(2, false, profile);
                } else {
                    self.window.cwnd = self.window.cwnd.min(pipe); // nothing new goes yet
                }
                true
            }
            Frto::First => {
                // Step 2b: two new segments, if there are any.
                s.adaptive.frto = Frto::Second;
                self.window.cwnd = pipe + 2.0 * mss;
                if self.next_payload(profile) == 0 {
                    self.lose_after_timeout(2, true, profile);
                }
                true
            }
            Frto::Second | Frto::Off => {
                let progress = news.advanced || news.seen.reported;
                if !progress || (news.seen.reported && !news.seen.originals_only) {
                    self.lose_after_timeout(3, news.advanced, profile);
                    return true;
                }
                // Step 3b: needless. The threshold stays, the window comes down to it by halves.
                let s = self.selective();
                s.adaptive.frto = Frto::Off;
                self.begin_reduction();
                self.window.cwnd = self.window.cwnd.min(pipe + mss);
                false
            }
        }
    }

    /// The timeout was no mistake: everything sent before it and not reported is lost.
    fn lose_after_timeout(&mut self, allowed: u32, advanced: bool, profile: &Profile) {
        let high = self.high;
        let s = self.selective();
        // Before any progress the retransmission of the first segment is still on its way.
        let keep_head = s.adaptive.frto == Frto::First && !advanced;
        if s.board.lose_sent_before(s.adaptive.mark, keep_head) {
            s.undo = None;
        }
        s.adaptive.frto = Frto::Off;
        s.adaptive.reordering = s.adaptive.reordering.min(profile.duplicate_threshold);
        self.window.cwnd = s.board.pipe() as f64 + f64::from(allowed) * profile.segment();
        self.recovery = Recovery::Loss;
        self.recover = high;
        self.control.lost_all(high);
    }

    /// Works through an ACK that is not plain progress (the kernel's `tcp_fastretrans_alert`).
    fn alert(&mut self, news: &News, now: Time, profile: &Profile) {
        let s = self.selective();
        let mut look =
            !news.advanced || (news.seen.reported && s.board.forward() > s.adaptive.reordering as usize);
        if self.una >= self.recover {
            self.arrived(news, profile);
        }
        if self.recovery == Recovery::Loss && !self.undo_loss(news, profile) {
            return self.moderate(profile);
        }
        let mut begins = false;
        if self.recovery != Recovery::Recovery {
            if self.recovery == Recovery::Disorder {
                self.undo_duplicates(profile);
            }
            if !self.is_time_to_recover(now, profile) {
                return self.keep_open(news, profile);
            }
            self.enter_adaptive_recovery(now, profile);
            begins = true;
        } else if news.advanced {
            look = self.partial(news);
        }
        if look || begins || self.head_timed_out(now) {
            self.mark_losses(begins, now);
        }
        let ssthresh = self.window.ssthresh as u64;
        let s = self.selective();
        s.proportional.delivered += news.delivered.bytes;
        let pipe = s.board.pipe();
        let delivered = news.delivered.bytes;
        let share = proportional_share(&s.proportional, pipe, ssthresh, delivered, true, (profile.mss, true));
        self.window.cwnd = (pipe + share) as f64;
    }

    /// Everything sent when this state began has arrived.
    fn arrived(&mut self, news: &News, profile: &Profile) {
        match self.recovery {
            Recovery::Loss => {
                self.undo_if_needless(news, profile);
                self.recovery = Recovery::Open;
            }
            Recovery::Recovery => {
                if !self.undo_if_needless(news, profile) {
                    self.window.cwnd = self.window.ssthresh;
                }
                self.recovery = Recovery::Open;
            }
            Recovery::Disorder => {
                self.undo_duplicates(profile);
                if self.selective().undo.is_none() || self.una != self.recover {
                    self.selective().undo = None;
                    self.recovery = Recovery::Open;
                }
            }
            Recovery::Open | Recovery::Reduction => {}
        }
    }

    /// Whether what is known of the reduction shows that it was needless: every retransmission was reported as a duplicate,
    /// or an original came after all (its echo is older than the first retransmission).
    fn was_needless(&mut self, news: &News) -> bool {
        let s = self.selective();
        let delayed = s.adaptive.delayed;
        s.undo.is_some_and(|undo| {
            let older = (news.ack.stamp.wrapping_sub(undo.stamp) as i32) < 0;
            undo.retransmissions == 0 || delayed || older
        })
    }

    fn undo_if_needless(&mut self, news: &News, profile: &Profile) -> bool {
        let needless = profile.undo && self.was_needless(news);
        if needless {
            self.give_back(profile);
        }
        needless
    }

    /// The same where only reports of duplicates count.
    fn undo_duplicates(&mut self, profile: &Profile) {
        let all = self.selective().undo.is_some_and(|undo| undo.retransmissions == 0);
        // While a timeout is in doubt it is F-RTO that judges.
        if profile.undo && all && self.selective().adaptive.frto == Frto::Off {
            self.give_back(profile);
        }
    }

    /// Timeouts are undone at the first ACK that shows it.
    fn undo_loss(&mut self, news: &News, profile: &Profile) -> bool {
        if !self.undo_if_needless(news, profile) {
            return false;
        }
        self.selective().board.lose_none();
        self.recovery = Recovery::Open;
        true
    }

    /// The window after a needless reduction.
    fn give_back(&mut self, profile: &Profile) {
        if let Some(undo) = self.selective().undo.take() {
            self.restore(&undo.window, profile);
        }
    }

    /// A partial ACK: whether more is to be looked for. Where its hole was filled by a late original, the reordering is known,
    /// and at its end the recovery will be undone; until then the window is still the reduction's.
    fn partial(&mut self, news: &News) -> bool {
        let needless = self.was_needless(news);
        let s = self.selective();
        let forward = s.board.forward();
        if needless {
            s.adaptive.delayed |= s.board.resent() == 0;
            s.adaptive.learn((forward + news.seen.acknowledged) as u32);
            return false;
        }
        forward > s.adaptive.reordering as usize
    }

    /// The oldest segment was sent longer ago than a timeout.
    fn head_timed_out(&self, now: Time) -> bool {
        let Some(s) = &self.selective else { return false };
        s.adaptive.forward && s.board.oldest().is_some_and(|sent| now.since(sent) > self.rto)
    }

    /// Whether a loss is certain enough (the kernel's `tcp_time_to_recover`).
    fn is_time_to_recover(&self, now: Time, profile: &Profile) -> bool {
        let Some(s) = &self.selective else { return false };
        let Adaptive { reordering, forward, frto, .. } = *s.adaptive;
        if frto != Frto::Off {
            return false;
        }
        let (out, reported) = (s.board.len(), s.board.sacked_segments());
        let reach = if forward { s.board.forward() as u32 } else { reported + 1 };
        if s.board.lost() > 0 || reach > reordering || self.head_timed_out(now) {
            return true;
        }
        // Too few in flight for that, and nothing can be sent.
        out <= reordering as usize
            && reported >= (out as u32 / 2).max(profile.duplicate_threshold)
            && !self.may_send(profile)
    }

    /// Whether new data may go now.
    fn may_send(&self, profile: &Profile) -> bool {
        let payload = self.next_payload(profile);
        let pipe = self.selective.as_ref().map_or(0, |s| s.board.pipe());
        payload > 0 && (self.window.cwnd as u64).saturating_sub(pipe) >= payload
    }

    fn enter_adaptive_recovery(&mut self, now: Time, profile: &Profile) {
        let cwnd = self.window.cwnd;
        let flight = self.selective().board.pipe();
        self.begin_recovery(flight, now, profile);
        let s = self.selective();
        s.force = false;
        s.adaptive.delayed = false;
        s.proportional = super::selective::Proportional { flight: cwnd as u64, ..Default::default() };
    }

    /// Marks what is lost (the kernel's `tcp_update_scoreboard`), nothing that was sent since the recovery began.
    fn mark_losses(&mut self, begins: bool, now: Time) {
        let (limit, rto) = (self.recover, self.rto);
        let in_recovery = self.recovery == Recovery::Recovery;
        let head_timed_out = self.head_timed_out(now);
        let s = self.selective();
        let reordering = s.adaptive.reordering as usize;
        if s.adaptive.forward {
            s.board.mark_first(s.board.forward().saturating_sub(reordering).max(1), limit);
            if in_recovery {
                s.board.mark_lost_again();
            }
        } else {
            let reported = s.board.sacked_segments() as usize;
            match reported.checked_sub(reordering) {
                Some(below) => s.board.mark_below_reports(below, limit),
                None if begins => s.board.mark_first(1, limit),
                None => {}
            }
        }
        if head_timed_out {
            s.board.mark_older(now, rto);
        }
    }

    /// Nothing is certain yet, or the window comes down after marks or a needless timeout.
    fn keep_open(&mut self, news: &News, profile: &Profile) {
        if self.recovery == Recovery::Reduction {
            return self.come_down(news, profile);
        }
        let high = self.high;
        let s = self.selective();
        let uneasy = s.board.sacked() > 0 || s.board.lost() > 0 || s.board.head_was_resent();
        let state = if uneasy || s.undo.is_some() { Recovery::Disorder } else { Recovery::Open };
        if state != self.recovery {
            self.recovery = state;
            self.recover = high;
        }
        if state == Recovery::Disorder {
            self.moderate(profile);
        }
    }

    /// One segment less for two ACKs, and no more than a segment beyond what is in flight (`tcp_cwnd_down`).
    fn come_down(&mut self, news: &News, profile: &Profile) {
        if !news.advanced && !news.seen.reported && !news.delivered.duplicate {
            return;
        }
        let mss = profile.segment();
        let floor = self.control.halving_floor(self.window.ssthresh, mss);
        let s = self.selective();
        s.half = !s.half;
        let (half, pipe) = (s.half, s.board.pipe() as f64);
        if !half && self.window.cwnd > floor {
            self.window.cwnd = (self.window.cwnd - mss).max(floor).max(mss);
        }
        self.window.cwnd = self.window.cwnd.min(pipe + mss);
    }

    /// The window holds no more than what is in flight and the reordering seen: no bursts (`tcp_moderate_cwnd`).
    fn moderate(&mut self, profile: &Profile) {
        if profile.moderation {
            let mss = profile.segment();
            let s = self.selective();
            let most = s.board.pipe() as f64 + f64::from(s.adaptive.reordering) * mss;
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }

    /// The retransmission timer fired. With F-RTO (RFC 5682 section 3.1) only the first segment goes again, and what follows
    /// is left to the ACKs; otherwise everything is lost.
    pub(super) fn adaptive_timeout(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mss = profile.segment();
        let (una, high) = (self.una, self.high);
        let (calm, in_loss) = (
            matches!(self.recovery, Recovery::Open | Recovery::Disorder),
            matches!(self.recovery, Recovery::Recovery | Recovery::Loss),
        );
        let frto = self.selective().adaptive.frto;
        let in_doubt = frto != Frto::Off;
        let again = (self.recovery == Recovery::Loss || in_doubt) && self.tries == 0;
        if (calm && !in_doubt) || una == self.recover || again {
            self.remember();
            let signal = if profile.f_rto { Signal::Loss } else { Signal::Timeout };
            let event = Congestion { signal, now, flight: (high - una) as f64, mss };
            // While one timeout is in doubt the window of the next is not what the network held.
            let cwnd = self.window.cwnd;
            if in_doubt {
                self.window.cwnd = 2.0 * mss;
            }
            self.lower_threshold(&event, Signal::Timeout, profile);
            self.window.cwnd = cwnd;
        } else if let Some(undo) = &mut self.selective().undo {
            undo.retransmissions = 0;
        }
        self.tries += 1;
        self.counts.timeouts += 1;
        self.timed = Timed::NONE;
        self.reduced();
        let (recover, f_rto) = (self.recover, profile.f_rto);
        let s = self.selective();
        if s.board.was_resent(f_rto) {
            s.undo = None;
        }
        s.adaptive.delayed = false;
        if f_rto {
            s.board.head_is_lost_again();
            let pipe = s.board.pipe() as f64;
            let earlier = (in_doubt || in_loss) && recover > una;
            s.adaptive.mark = if earlier { recover } else { high };
            s.adaptive.frto = Frto::First;
            self.window.cwnd = self.window.cwnd.min(pipe + mss);
            self.recovery = Recovery::Disorder;
        } else {
            s.board.lose_all(None);
            s.adaptive.frto = Frto::Off;
            s.adaptive.reordering = s.adaptive.reordering.min(profile.duplicate_threshold);
            self.window.cwnd = self.control.floor(mss);
            self.recovery = Recovery::Loss;
            self.control.lost_all(high);
        }
        self.recover = high;
        self.rto = (self.rto + self.rto).min(profile.max_rto);
        self.timer = profile.due(now, self.rto);
        if f_rto {
            if self.may_resend(0, profile) {
                self.resend(0, now, profile, out);
            }
        } else {
            self.send_by_pipe(now, profile, out);
        }
    }

    /// After sending: a window that was not full for a timeout comes half way down to what was used, unless something waits
    /// to be sent (RFC 2861 section 3.2; the kernel's `tcp_cwnd_validate`).
    pub(super) fn decay(&mut self, now: Time, profile: &Profile) {
        let mss = profile.segment();
        let (cwnd, rto, open) = (self.window.cwnd, self.rto, self.recovery == Recovery::Open);
        let idle = self.size == Some(self.next);
        let s = self.selective();
        let out = s.board.len();
        let a = &mut *s.adaptive;
        if s.board.outstanding() as f64 >= cwnd {
            (a.used, a.full) = (0, now);
            return;
        }
        a.used = a.used.max(out);
        if now.since(a.full) < rto {
            return;
        }
        a.full = now;
        if !open || !idle {
            return;
        }
        let used = (a.used as f64).max(profile.initial_window) * mss;
        a.used = 0;
        if used < cwnd {
            self.window.ssthresh = self.remembered_threshold(profile);
            let segments = ((cwnd + used) / 2.0 / mss) as u64;
            self.window.cwnd = segments as f64 * mss;
        }
    }

    /// The window and threshold after a needless reduction, `before` being those before it.
    pub(super) fn restore(&mut self, before: &crate::Window, profile: &Profile) {
        let mss = profile.segment();
        // The next loss or mark is an event of its own, though it may be of the same window of data.
        self.marks.reduced_to = self.una;
        self.control.undo(&self.window, mss);
        let w = &mut self.window;
        match profile.undo_to {
            UndoTo::Before => {
                w.cwnd = w.cwnd.max(before.cwnd);
                w.ssthresh = w.ssthresh.max(before.ssthresh);
            }
            UndoTo::TwiceThreshold => {
                w.cwnd = w.cwnd.max(self.control.remembered(mss).unwrap_or(2.0 * w.ssthresh));
                w.ssthresh = w.ssthresh.max(before.ssthresh).max(super::three_quarters(before.cwnd, mss));
            }
        }
    }
}
