//! Loss recovery of Linux 3.2 (`loss_detection = "fack-adaptive"`): forward acknowledgement whose distance
//! follows the reordering seen, F-RTO with SACK (RFC 5682), and the kernel's order of steps for an ACK.
//!
//! The window grows before losses are detected, so an ACK that reveals a loss may still have grown it. States
//! are those of [`Recovery`]; `recover` is the kernel's `high_seq`.

use evenflow_base::{Duration, Packet, Report, Time};

use crate::Profile;
use crate::congestion_control::{Cause, Congestion, Proposal, Signal};
use crate::rtt::Timed;
use crate::sender::Recovery;
use crate::sender::core::{Context, Core};

use super::LossRecovery;
use super::board::{AckPreview, Board, Delivered};
use super::scoreboard::{Proportional, Scoreboard};

/// Most reordering that is believed, segments (TCP_MAX_REORDERING).
const MOST_REORDERING: u32 = 127;

/// Findings from an ACK, for the later steps.
#[derive(Clone, Copy, Debug)]
struct News {
    /// The echoed timestamp.
    echo: u32,
    delivered: Delivered,
    seen: AckPreview,
    advanced: bool,
}

/// The state of F-RTO (RFC 5682 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Frto {
    /// No timeout is in doubt.
    #[default]
    Off,
    /// The first ACK after a timeout is awaited.
    First,
    /// Two new segments went; what answers them decides.
    Second,
}

/// Its state.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Linux3_2 {
    pub(in crate::sender) scoreboard: Scoreboard,
    /// `reordering`, segments.
    pub(in crate::sender) reordering: u32,
    /// Forward acknowledgement: until more reordering than expected was seen.
    pub(in crate::sender) forward: bool,
    frto: Frto,
    /// `frto_highmark`: what lies before was sent before the timeout; 0: none.
    mark: u64,
    /// A partial ACK showed that its original had come, and no retransmission is in the network: the recovery
    /// is spurious.
    delayed: bool,
    /// Pacing holds F-RTO's retransmission of the first segment.
    waits: bool,
}

impl LossRecovery for Linux3_2 {
    fn on_ack(&mut self, c: &mut Core, ack: &Packet, report: &Report, x: &mut Context) {
        if c.exposed.is_some() {
            c.hear_report(ack.seq, report, x.profile);
        }
        if ack.seq < c.una {
            return; // old (RFC 9293 section 3.10.7.4)
        }
        let (was, outstanding) = (c.state, !self.scoreboard.board.is_empty());
        let seen = self.scoreboard.board.preview(ack.seq, report, self.mark);
        let got = self.scoreboard.acknowledge::<false>(c, ack, report, Duration::ZERO, x);
        let (delivered, advanced, mut growth) = (got.delivered, got.advanced, got.growth);
        self.learn_reordering(c, &seen, ack.seq);
        if c.state == Recovery::Reduction && ack.seq > c.recover {
            c.enter(Recovery::Open); // the window stays where it came down to
        }
        let marks = self.congestion_marks(c, ack, delivered.segments, delivered.bytes, x);
        if advanced {
            self.scoreboard.advance(c, &got, x);
            self.waits = false;
        }
        // A retransmission shows no round-trip time to the congestion control.
        growth.rtt = growth.rtt.filter(|_| !seen.resent);
        if advanced && c.needs.every_ack {
            c.pass_to_control(ack, growth, marks, x);
        }
        let news = News { echo: ack.stamp, delivered, seen, advanced };
        if delivered.duplicate
            && let Some(undo) = &mut self.scoreboard.undo
        {
            undo.retransmissions = undo.retransmissions.saturating_sub(1);
        }
        let in_doubt = self.frto != Frto::Off && self.step_frto(c, &news, x.profile);
        if self.mark < c.una {
            self.mark = 0;
        }
        let held = |state| matches!(state, Recovery::Recovery | Recovery::Reduction);
        if advanced && !in_doubt && !held(was) && !held(c.state) {
            if let Some(decay) = &mut self.scoreboard.decay {
                decay.full = x.now;
            }
            self.grow(c, growth, marks, x);
        }
        // With nothing outstanding there is nothing to judge; data or a new window make no duplicate.
        let plain = (advanced || ack.payload > 0) && !seen.reported && marks == 0;
        if outstanding && (!plain || was != Recovery::Open || c.state != Recovery::Open) {
            self.alert(c, &news, x);
        }
        if c.needs.rate_samples {
            self.scoreboard.report_to_control(c, ack.seq, report, marks, x.now);
        }
        if self.scoreboard.board.is_empty() && c.next_payload(x.profile) > 0 {
            c.control.on_idle_restart(Duration::ZERO); // a transmission begins with nothing in flight
        }
        self.transmit(c, x);
        if c.una == c.high {
            c.rest(x);
        }
        self.after_sending(c, x);
    }

    /// With F-RTO (RFC 5682 section 3.1) only the first segment goes again, and the next ACKs decide;
    /// otherwise everything is lost.
    fn on_timeout(&mut self, c: &mut Core, x: &mut Context) {
        if !c.may_retry(x) {
            return;
        }
        if c.una == c.high {
            c.timer = Time::NEVER;
            return;
        }
        let mss = x.profile.segment();
        let (una, high) = (c.una, c.high);
        let calm = matches!(c.state, Recovery::Open | Recovery::Disorder);
        let in_loss = matches!(c.state, Recovery::Recovery | Recovery::Loss);
        let in_doubt = self.frto != Frto::Off;
        let again = (c.state == Recovery::Loss || in_doubt) && c.tries == 0;
        if (calm && !in_doubt) || una == c.recover || again {
            self.scoreboard.remember(c);
            let signal = if x.profile.f_rto { Signal::Loss } else { Signal::Timeout };
            let mut event = Congestion::new(signal, x.now, (high - una) as f64, mss);
            // While one timeout is in doubt the window of the next is not what the network held.
            event.cwnd = in_doubt.then_some(2.0 * mss);
            c.congestion_event(event, Signal::Timeout, x);
        } else if let Some(undo) = &mut self.scoreboard.undo {
            undo.retransmissions = 0;
        }
        c.tries += 1;
        c.counts.timeouts += 1;
        c.timed = Timed::NONE;
        c.reduced();
        let board = &mut self.scoreboard.board;
        if board.was_resent(x.profile.f_rto) {
            self.scoreboard.undo = None;
        }
        self.delayed = false;
        if x.profile.f_rto {
            board.head_is_lost_again();
            let most = board.pipe() as f64 + mss;
            let earlier = (in_doubt || in_loss) && c.recover > una;
            self.mark = if earlier { c.recover } else { high };
            self.frto = Frto::First;
            c.control.propose_cwnd(c.window().cwnd.min(most), Cause::Timeout);
            c.enter(Recovery::Disorder);
        } else {
            board.lose_all(None);
            self.frto = Frto::Off;
            self.reordering = self.reordering.min(x.profile.duplicate_threshold);
            c.control.propose_cwnd(c.control.min_window(mss), Cause::Timeout);
            c.enter(Recovery::Loss);
            c.control.on_timeout_confirmed(high);
        }
        c.recover = high;
        c.back_off(x);
        if c.needs.rate_samples {
            self.scoreboard.report_losses(c);
        }
        if x.profile.f_rto {
            self.resend_head(c, x);
        } else {
            self.transmit(c, x);
        }
    }

    fn transmit(&mut self, c: &mut Core, x: &mut Context) {
        if std::mem::take(&mut self.waits) {
            self.resend_head(c, x);
        }
        self.scoreboard.transmit::<false>(c, true, x);
    }

    fn reordering(&self, _: &Profile) -> u32 {
        self.reordering
    }

    fn on_established(&mut self, profile: &Profile) {
        (self.reordering, self.forward) = known_reordering(profile);
    }

    fn scoreboard(&self) -> Option<&Scoreboard> {
        Some(&self.scoreboard)
    }

    fn scoreboard_mut(&mut self) -> Option<&mut Scoreboard> {
        Some(&mut self.scoreboard)
    }

    fn heap_bytes(&self) -> u64 {
        size_of::<Linux3_2>() as u64 + self.scoreboard.heap_bytes()
    }
}

/// The reordering that a profile begins with, and whether forward acknowledgement is used.
fn known_reordering(profile: &Profile) -> (u32, bool) {
    let threshold = profile.duplicate_threshold;
    let known = profile.cached_reordering.unwrap_or(threshold);
    (known, known == threshold)
}

impl Linux3_2 {
    pub(super) fn new(board: Board, profile: &Profile) -> Linux3_2 {
        let (reordering, forward) = known_reordering(profile);
        let scoreboard = Scoreboard::new(board, profile);
        let frto = Frto::Off;
        Linux3_2 { scoreboard, reordering, forward, frto, mark: 0, delayed: false, waits: false }
    }

    /// More reordering than was known: losses are found by counting from now on.
    fn learn(&mut self, segments: u32) {
        if segments > self.reordering {
            self.reordering = segments.min(MOST_REORDERING);
            self.forward = false;
        }
    }

    /// A hole filled without a retransmission, or a duplicate of reported data, shows the extent of
    /// reordering.
    fn learn_reordering(&mut self, c: &Core, seen: &AckPreview, una: u64) {
        let settled = self.mark == 0 || una > self.mark;
        if (c.state != Recovery::Loss || self.scoreboard.undo.is_some()) && settled {
            self.learn(seen.late_report);
        }
        self.learn(seen.late_ack);
    }

    /// The first segment goes again after a timeout.
    fn resend_head(&mut self, c: &mut Core, x: &mut Context) {
        self.waits = c.is_held(x.now, x.profile);
        if !self.waits && self.scoreboard.may_resend(0, c, x.profile) {
            self.scoreboard.resend(0, c, x);
        }
    }

    /// After a timeout (RFC 5682 section 3.1, with SACK): whether the window is F-RTO's with this ACK.
    fn step_frto(&mut self, c: &mut Core, news: &News, profile: &Profile) -> bool {
        let mss = profile.segment();
        let (frto, seen) = (self.frto, &news.seen);
        if seen.resent_beyond_head || (frto == Frto::Second && seen.resent) {
            self.scoreboard.undo = None;
        }
        if c.una >= self.mark {
            self.lose_after_timeout(c, if frto == Frto::First { 2 } else { 3 }, news.advanced, profile);
            return true;
        }
        let pipe = self.scoreboard.board.pipe() as f64;
        match frto {
            Frto::First if !news.advanced => {
                if pipe == 0.0 {
                    self.lose_after_timeout(c, 2, false, profile);
                } else {
                    // Nothing new goes yet.
                    c.control.propose_cwnd(c.window().cwnd.min(pipe), Cause::Timeout);
                }
                true
            }
            Frto::First => {
                // Step 2b: two new segments, if there are any.
                self.frto = Frto::Second;
                c.control.propose_cwnd(pipe + 2.0 * mss, Cause::Timeout);
                if c.next_payload(profile) == 0 {
                    self.lose_after_timeout(c, 2, true, profile);
                }
                true
            }
            Frto::Second | Frto::Off => {
                let progress = news.advanced || seen.reported;
                if !progress || (seen.reported && !seen.originals_only) {
                    self.lose_after_timeout(c, 3, news.advanced, profile);
                    return true;
                }
                // Step 3b: spurious. The threshold stays, the window comes down to it by halves.
                self.frto = Frto::Off;
                self.scoreboard.begin_reduction(c);
                c.control.propose_cwnd(c.window().cwnd.min(pipe + mss), Cause::Reduction);
                false
            }
        }
    }

    /// The timeout was no mistake: everything sent before it and not reported is lost.
    fn lose_after_timeout(&mut self, c: &mut Core, allowed: u32, advanced: bool, profile: &Profile) {
        // Before any progress the retransmission of the first segment is still on its way.
        let keep_head = self.frto == Frto::First && !advanced;
        if self.scoreboard.board.lose_sent_before(self.mark, keep_head) {
            self.scoreboard.undo = None;
        }
        self.frto = Frto::Off;
        self.reordering = self.reordering.min(profile.duplicate_threshold);
        let cwnd = self.scoreboard.board.pipe() as f64 + f64::from(allowed) * profile.segment();
        c.control.propose_cwnd(cwnd, Cause::Timeout);
        c.enter(Recovery::Loss);
        c.recover = c.high;
        c.control.on_timeout_confirmed(c.high);
    }

    /// Works through an ACK that is not plain progress (the kernel's `tcp_fastretrans_alert`).
    fn alert(&mut self, c: &mut Core, news: &News, x: &Context) {
        let is_far = self.scoreboard.board.forward() > self.reordering as usize;
        let mut look = !news.advanced || (news.seen.reported && is_far);
        if c.una >= c.recover {
            self.arrived(c, news, x.profile);
        }
        if c.state == Recovery::Loss && !self.undo_loss(c, news, x.profile) {
            return self.moderate(c, x.profile);
        }
        let mut begins = false;
        if c.state != Recovery::Recovery {
            if c.state == Recovery::Disorder {
                self.undo_duplicates(c, x.profile);
            }
            if !self.is_time_to_recover(c, x) {
                return self.keep_open(c, news, x.profile);
            }
            self.enter_recovery(c, x);
            begins = true;
        } else if news.advanced {
            look = self.partial(news);
        }
        if look || begins || self.head_timed_out(c, x.now) {
            self.mark_losses(c, begins, x.now);
        }
        let s = &mut self.scoreboard;
        let (ssthresh, delivered) = (c.window().ssthresh as u64, news.delivered.bytes);
        s.proportional.delivered += delivered;
        let pipe = s.board.pipe();
        let share = s.proportional.share(pipe, ssthresh, delivered, true, (x.profile.mss, true));
        c.control.propose_cwnd((pipe + share) as f64, Cause::Reduction);
    }

    /// Everything sent when this state began has arrived.
    fn arrived(&mut self, c: &mut Core, news: &News, profile: &Profile) {
        match c.state {
            Recovery::Loss => {
                self.undo_if_spurious(c, news, profile);
                c.enter(Recovery::Open);
            }
            Recovery::Recovery => {
                if !self.undo_if_spurious(c, news, profile) {
                    c.control.propose_cwnd(c.window().ssthresh, Cause::RecoveryEnd);
                }
                c.enter(Recovery::Open);
            }
            Recovery::Disorder => {
                self.undo_duplicates(c, profile);
                if self.scoreboard.undo.is_none() || c.una != c.recover {
                    self.scoreboard.undo = None;
                    c.enter(Recovery::Open);
                }
            }
            Recovery::Open | Recovery::Reduction => {}
        }
    }

    /// Whether the reduction was spurious: every retransmission was reported as a duplicate, or an original
    /// arrived (its echo is older than the first retransmission).
    fn was_spurious(&self, news: &News) -> bool {
        self.scoreboard.undo.is_some_and(|undo| {
            let older = (news.echo.wrapping_sub(undo.stamp) as i32) < 0;
            undo.retransmissions == 0 || self.delayed || older
        })
    }

    fn undo_if_spurious(&mut self, c: &mut Core, news: &News, profile: &Profile) -> bool {
        profile.undo && self.was_spurious(news) && self.scoreboard.take_back(c, profile)
    }

    /// The same where only reports of duplicates count.
    fn undo_duplicates(&mut self, c: &mut Core, profile: &Profile) {
        let all = self.scoreboard.undo.is_some_and(|undo| undo.retransmissions == 0);
        // While a timeout is in doubt F-RTO decides.
        if profile.undo && all && self.frto == Frto::Off {
            self.scoreboard.take_back(c, profile);
        }
    }

    /// Timeouts are undone at the first ACK that shows it.
    fn undo_loss(&mut self, c: &mut Core, news: &News, profile: &Profile) -> bool {
        let spurious = self.undo_if_spurious(c, news, profile);
        if spurious {
            self.scoreboard.board.lose_none();
            c.enter(Recovery::Open);
        }
        spurious
    }

    /// A partial ACK: whether to look for more losses. If a late original filled its hole, the reordering is
    /// known and the recovery is undone at its end. Until then the window stays reduced.
    fn partial(&mut self, news: &News) -> bool {
        let board = &self.scoreboard.board;
        let forward = board.forward();
        if self.was_spurious(news) {
            self.delayed |= board.resent() == 0;
            self.learn((forward + news.seen.acknowledged) as u32);
            return false;
        }
        forward > self.reordering as usize
    }

    /// The oldest segment was sent longer ago than a timeout.
    fn head_timed_out(&self, c: &Core, now: Time) -> bool {
        self.forward && self.scoreboard.board.oldest().is_some_and(|sent| now.since(sent) > c.rto)
    }

    /// Whether a loss is certain enough (the kernel's `tcp_time_to_recover`).
    fn is_time_to_recover(&self, c: &Core, x: &Context) -> bool {
        if self.frto != Frto::Off {
            return false;
        }
        let board = &self.scoreboard.board;
        let (out, reported) = (board.len(), board.sacked_segments());
        let reach = if self.forward { board.forward() as u32 } else { reported + 1 };
        if board.lost() > 0 || reach > self.reordering || self.head_timed_out(c, x.now) {
            return true;
        }
        // Too few in flight for that, and nothing can be sent.
        out <= self.reordering as usize
            && reported >= (out as u32 / 2).max(x.profile.duplicate_threshold)
            && !self.may_send(c, x.profile)
    }

    /// Whether new data may go now.
    fn may_send(&self, c: &Core, profile: &Profile) -> bool {
        let payload = c.next_payload(profile);
        payload > 0 && (c.window().cwnd as u64).saturating_sub(self.scoreboard.board.pipe()) >= payload
    }

    fn enter_recovery(&mut self, c: &mut Core, x: &Context) {
        let flight = c.window().cwnd as u64;
        self.scoreboard.begin_recovery(c, self.scoreboard.board.pipe(), x);
        self.scoreboard.force = false;
        self.delayed = false;
        self.scoreboard.proportional = Proportional { flight, ..Proportional::default() };
    }

    /// Marks lost segments (the kernel's `tcp_update_scoreboard`), none of those sent since the recovery
    /// began.
    fn mark_losses(&mut self, c: &Core, begins: bool, now: Time) {
        let head_timed_out = self.head_timed_out(c, now);
        let (board, limit) = (&mut self.scoreboard.board, c.recover);
        let reordering = self.reordering as usize;
        if self.forward {
            board.mark_first(board.forward().saturating_sub(reordering).max(1), limit);
            if c.state == Recovery::Recovery {
                board.mark_lost_again();
            }
        } else {
            match (board.sacked_segments() as usize).checked_sub(reordering) {
                Some(below) => board.mark_below_reports(below, limit),
                None if begins => board.mark_first(1, limit),
                None => {}
            }
        }
        if head_timed_out {
            board.mark_older(now, c.rto);
        }
    }

    /// Nothing is certain yet, or the window comes down after marks or a spurious timeout.
    fn keep_open(&mut self, c: &mut Core, news: &News, profile: &Profile) {
        if c.state == Recovery::Reduction {
            return self.come_down(c, news, profile);
        }
        let board = &self.scoreboard.board;
        let uneasy = board.sacked() > 0 || board.lost() > 0 || board.head_was_resent();
        let disorder = uneasy || self.scoreboard.undo.is_some();
        let state = if disorder { Recovery::Disorder } else { Recovery::Open };
        if state != c.state {
            c.enter(state);
            c.recover = c.high;
        }
        self.moderate(c, profile);
    }

    /// One segment less for two ACKs, and no more than a segment beyond what is in flight (`tcp_cwnd_down`).
    fn come_down(&mut self, c: &mut Core, news: &News, profile: &Profile) {
        if !news.advanced && !news.seen.reported && !news.delivered.duplicate {
            return;
        }
        let mss = profile.segment();
        let s = &mut self.scoreboard;
        s.half = !s.half;
        let (step, most) = (!s.half, s.board.pipe() as f64 + mss);
        c.control.propose(&Proposal::RateHalving { step, most, mss });
    }

    /// The window holds no more than what is in flight and the reordering seen: no bursts
    /// (`tcp_moderate_cwnd`).
    fn moderate(&mut self, c: &mut Core, profile: &Profile) {
        if profile.moderation {
            let space = f64::from(self.reordering) * profile.segment();
            let most = self.scoreboard.board.pipe() as f64 + space;
            c.control.propose_cwnd(c.window().cwnd.min(most), Cause::Burst);
        }
    }
}
