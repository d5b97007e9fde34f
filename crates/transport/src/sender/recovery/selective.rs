//! Loss recovery with SACK: the scoreboard shows losses by counting (RFC 6675), forward acknowledgement, or
//! time (RACK-TLP, RFC 8985). The window comes down as the profile says: at once, by PRR (RFC 9937), or by
//! rate halving.

use evenflow_base::{Duration, Packet, Report, Time};

use crate::Profile;
use crate::congestion_control::{Cause, Congestion, Signal, Window};
use crate::profile::{Ecn, LossDetection, Reduction, RtoRule};
use crate::rtt::Timed;
use crate::sender::Recovery;
use crate::sender::core::{Context, Core, Growth};

use super::LossRecovery;
use super::board::{Board, Delivered};
use super::scoreboard::Scoreboard;

/// RACK-TLP: recoveries in a row without a duplicate report before the reordering window shrinks again (RFC
/// 8985 section 6.2 step 4).
const PERSIST: u8 = 16;

/// RACK-TLP: added to the probe's timeout where a single segment is in flight, because its ACK may be
/// delayed: the largest common delay (RFC 8985 section 7.2, WCDelAckT).
const WORST_ACK_DELAY: Duration = Duration::from_millis(200);

/// Linux's addition where more than one segment is in flight, and to the wait for reordered segments: two
/// ticks of its clock at 1000 Hz.
const TWO_TICKS: Duration = Duration::from_millis(2);

/// Purpose of the early timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Early {
    /// Something may turn out lost once the reordering window is over (RFC 8985 section 6.3).
    #[default]
    Reordering,
    /// A tail loss probe (RFC 8985 section 7.2).
    Probe,
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
    /// Linux: the largest extent in segments.
    extent: u32,
}

/// Linux: most reordering that is believed, segments (`tcp_max_reordering`).
const MOST_REORDERING: u32 = 300;

/// Never over.
const NO_ROUND: u64 = u64::MAX;

/// Its state.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Selective {
    pub(in crate::sender) scoreboard: Scoreboard,
    /// When the early timer fires.
    early: Time,
    kind: Early,
    reordering: Reordering,
    /// TLP.end_seq, and whether the probe was a retransmission.
    probe: Option<(u64, bool)>,
}

/// The effect of an ACK on the scoreboard.
struct Answer {
    /// The number that it acknowledges.
    seq: u64,
    delivered: Delivered,
    /// SND.UNA advanced.
    advanced: bool,
    growth: Growth,
    marks: u32,
    /// Bytes found to be lost.
    lost: u64,
}

impl LossRecovery for Selective {
    #[inline(always)]
    fn on_ack(&mut self, c: &mut Core, ack: &Packet, report: &Report, x: &mut Context) {
        if c.exposed.is_some() {
            c.hear_report(ack.seq, report, x.profile);
        }
        if ack.seq < c.una {
            return self.take_old_ack(c, ack, report, x);
        }
        let calm = c.state == Recovery::Open
            && report.blocks().is_empty()
            && ack.seq > c.una
            && self.scoreboard.board.is_calm()
            && self.probe.is_none();
        if calm && !x.profile.general {
            self.take_ack::<true>(c, ack, report, x);
        } else {
            self.take_any_ack(c, ack, report, x);
        }
    }

    /// RFC 6298 section 5.4 to 5.6, RFC 5681 section 3.1, RFC 6675 section 5.1.
    fn on_timeout(&mut self, c: &mut Core, x: &mut Context) {
        if !c.may_retry(x) {
            return self.stop();
        }
        if c.una == c.high {
            c.timer = Time::NEVER;
            return;
        }
        // A segment that the timer already retransmitted does not lower the threshold again (RFC 5681 section
        // 3.1).
        if c.state != Recovery::Loss || c.tries == 0 || x.profile.reduce_after_timeout {
            self.scoreboard.remember(c);
            self.scoreboard.reduce(c, Signal::Timeout, x);
        }
        c.control.propose_cwnd(c.control.min_window(x.profile.segment()), Cause::Timeout);
        c.tries += 1;
        c.counts.timeouts += 1;
        let threshold = x.profile.duplicate_threshold;
        if matches!(c.state, Recovery::Open | Recovery::Disorder)
            && self.scoreboard.board.sacked_segments() >= threshold
        {
            // Linux's tcp_enter_loss: so many reports without a repair were no reordering.
            self.reordering.extent = self.reordering.extent.min(threshold);
        }
        c.enter(Recovery::Loss);
        c.recover = c.high;
        c.reduced();
        c.timed = Timed::NONE;
        let by_time = x.profile.loss_detection == LossDetection::Rack;
        let window = self.reordering_window(c, false);
        self.scoreboard.board.lose_all(by_time.then(|| Time(x.now.0.saturating_sub(window.0))));
        self.scoreboard.force = true;
        self.probe = None;
        self.early = Time::NEVER;
        c.back_off(x);
        if c.needs.rate_samples {
            self.scoreboard.report_losses(c);
        }
        self.transmit(c, x);
    }

    #[inline]
    fn early(&self) -> Time {
        self.early
    }

    fn on_early_timer(&mut self, c: &mut Core, x: &mut Context) {
        self.early = Time::NEVER;
        if self.kind == Early::Probe {
            return self.probe(c, x);
        }
        if self.find_losses(c, x) > 0 {
            if c.needs.rate_samples {
                self.scoreboard.report_losses(c);
            }
            if !matches!(c.state, Recovery::Recovery | Recovery::Loss) {
                let board = &self.scoreboard.board;
                self.begin_recovery(c, board.outstanding() - board.sacked(), x);
                self.share_out(c, &Delivered::default(), false, x.profile);
            }
            self.transmit(c, x);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, c: &mut Core, x: &mut Context) {
        self.scoreboard.transmit::<false>(c, false, x);
    }

    #[inline]
    fn after_sending(&mut self, c: &mut Core, x: &Context) {
        if x.profile.tail_loss_probe {
            self.arm_probe(c, true, x);
        }
    }

    fn stop(&mut self) {
        self.early = Time::NEVER;
    }

    fn scoreboard(&self) -> Option<&Scoreboard> {
        Some(&self.scoreboard)
    }

    fn scoreboard_mut(&mut self) -> Option<&mut Scoreboard> {
        Some(&mut self.scoreboard)
    }

    fn heap_bytes(&self) -> u64 {
        size_of::<Selective>() as u64 + self.scoreboard.heap_bytes()
    }
}

impl Selective {
    pub(super) fn new(board: Board, profile: &Profile) -> Selective {
        Selective {
            scoreboard: Scoreboard::new(board, profile),
            early: Time::NEVER,
            kind: Early::default(),
            reordering: Reordering { seen: false, steps: 1, persist: PERSIST, round: NO_ROUND, extent: 0 },
            probe: None,
        }
    }

    /// Takes in an ACK that is not old. `CALM`: the state is open, nothing is reported, lost or
    /// retransmitted, no probe is out, and the ACK advances.
    #[inline(always)]
    fn take_ack<const CALM: bool>(&mut self, c: &mut Core, ack: &Packet, report: &Report, x: &mut Context) {
        let board = &self.scoreboard.board;
        let in_network = board.outstanding() - board.sacked();
        let floor = c.rtt.least().unwrap_or(Duration::ZERO);
        let news = self.scoreboard.acknowledge::<CALM>(c, ack, report, floor, x);
        let delivered = news.delivered;
        let advanced = CALM || news.advanced;
        if !CALM && c.state == Recovery::Reduction && ack.seq > c.recover {
            self.leave_recovery(c, x.profile);
        }
        let marks = match c.marks.mode {
            Ecn::Off => 0,
            // An ACK that delivers nothing may be old; its counter is ignored.
            Ecn::Accurate | Ecn::ReEcn | Ecn::ReEcnUnlimited if delivered.segments == 0 => 0,
            _ => self.congestion_marks(c, ack, delivered.segments, delivered.bytes, x),
        };
        if advanced {
            self.scoreboard.advance(c, &news, x);
        } else if x.profile.rto == RtoRule::AnyAck && c.una < c.high {
            c.rto = c.rtt.timeout(x.profile);
            c.timer = x.profile.due(x.now, c.rto);
        }
        if x.profile.loss_detection == LossDetection::Rack {
            self.adapt_reordering(c, &delivered, x.profile);
        }
        if !CALM && x.profile.undo {
            self.try_undo(c, ack, &delivered, advanced, x.profile);
        }
        let lost = self.find_losses(c, x);
        if !CALM && self.probe.is_some() {
            self.end_probe(c, ack, report, &delivered, advanced, x);
        }
        let mut growth = news.growth;
        if x.profile.count_delivered {
            (growth.bytes, growth.segments) = (delivered.bytes, u64::from(delivered.segments));
        }
        if c.needs.rate_samples {
            self.scoreboard.report_to_control(c, ack.seq, report, marks, x.now);
            if CALM && c.needs.no_growth && c.state == Recovery::Open {
                return self.follow_sample(c, x);
            }
        }
        if advanced && c.needs.every_ack {
            c.pass_to_control(ack, growth, marks, x);
        }
        // A mark may have begun a reduction.
        if CALM && c.state == Recovery::Open {
            self.grow(c, growth, marks, x);
            self.scoreboard.transmit::<true>(c, false, x);
            if c.una == c.high {
                c.rest(x);
            }
            return self.after_sending(c, x);
        }
        self.answer(c, in_network, Answer { seq: ack.seq, delivered, advanced, growth, marks, lost }, x);
    }

    /// Sends after a rate sample that decided on the window.
    #[inline(never)]
    fn follow_sample(&mut self, c: &mut Core, x: &mut Context) {
        self.scoreboard.transmit::<true>(c, false, x);
        if c.una == c.high {
            c.rest(x);
        }
        self.after_sending(c, x);
    }

    /// Takes in the report of an ACK below SND.UNA: any report updates the scoreboard (RFC 6675 section 5; Linux's
    /// tcp_ack). Its marks and its timestamp are old.
    #[cold]
    #[inline(never)]
    fn take_old_ack(&mut self, c: &mut Core, ack: &Packet, report: &Report, x: &mut Context) {
        if report.blocks().is_empty() || !(x.profile.rescue || x.profile.is_linux()) {
            return;
        }
        let board = &mut self.scoreboard.board;
        let (in_network, flight) = (board.outstanding() - board.sacked(), board.pipe() as f64);
        let floor = c.rtt.least().unwrap_or(Duration::ZERO);
        let mut delivered = Delivered::default();
        board.take_report(ack.seq, c.una, report, x.now, floor, &mut delivered);
        if x.profile.loss_detection == LossDetection::Rack {
            self.adapt_reordering(c, &delivered, x.profile);
        }
        if x.profile.undo {
            self.try_undo(c, ack, &delivered, false, x.profile);
        }
        let lost = self.find_losses(c, x);
        if c.needs.rate_samples {
            self.scoreboard.report_to_control(c, c.una, report, 0, x.now);
        }
        let (bytes, segments) = (delivered.bytes, u64::from(delivered.segments));
        let growth = Growth { una: c.una, bytes, segments, flight, rtt: None };
        let answer = Answer { seq: ack.seq, delivered, advanced: false, growth, marks: 0, lost };
        self.answer(c, in_network, answer, x);
    }

    /// The state and the window after an ACK, and what they let out. `in_network`: bytes neither acknowledged nor
    /// reported before it.
    #[inline(always)]
    fn answer(&mut self, c: &mut Core, in_network: u64, a: Answer, x: &mut Context) {
        let Answer { seq, delivered, advanced, growth, marks, lost } = a;
        let next = c.next;
        // Linux's tcp_may_raise_cwnd: after much reordering also reports let the window grow.
        let raises =
            advanced || (delivered.segments > 0 && self.reordering.extent > x.profile.duplicate_threshold);
        match c.state {
            Recovery::Open | Recovery::Disorder | Recovery::Reduction if lost > 0 => {
                self.begin_recovery(c, in_network, x);
                self.share_out(c, &delivered, false, x.profile);
            }
            Recovery::Open | Recovery::Disorder => {
                let disordered = self.scoreboard.board.sacked() > 0;
                c.enter(if disordered { Recovery::Disorder } else { Recovery::Open });
                if raises {
                    self.grow(c, growth, marks, x);
                }
            }
            Recovery::Recovery if seq >= c.recover => {
                self.leave_recovery(c, x.profile);
                // Linux counts what the last ACK of a recovery delivers towards the next segment; rate
                // halving did not.
                let counts = x.profile.count_delivered && x.profile.reduction != Reduction::RateHalving;
                if counts && self.scoreboard.board.lost() == 0 {
                    self.grow(c, growth, marks, x);
                }
            }
            Recovery::Reduction | Recovery::Recovery => {
                self.share_out(c, &delivered, advanced && lost == 0, x.profile);
            }
            Recovery::Loss => {
                let over = seq >= c.recover;
                if over {
                    c.enter(Recovery::Open);
                    self.recovered();
                }
                if raises {
                    self.grow(c, growth, marks, x);
                }
                if x.profile.reduce_after_timeout && lost > 0 && !over {
                    self.begin_recovery(c, in_network, x);
                    self.share_out(c, &delivered, false, x.profile);
                }
            }
        }
        let calm = matches!(c.state, Recovery::Open | Recovery::Disorder);
        if calm && self.scoreboard.board.lost() > 0 {
            // Data sent since the start of the recovery is lost too: a new event.
            self.begin_recovery(c, in_network, x);
            self.share_out(c, &delivered, false, x.profile);
        }
        self.transmit(c, x);
        if c.una == c.high {
            c.rest(x);
        }
        if x.profile.tail_loss_probe {
            self.arm_probe(c, advanced || c.next > next, x);
        }
    }

    /// The same for any ACK.
    #[inline(never)]
    fn take_any_ack(&mut self, c: &mut Core, ack: &Packet, report: &Report, x: &mut Context) {
        self.take_ack::<false>(c, ack, report, x);
    }

    /// Looks for losses; returns the bytes newly lost, and sets the timer for those that may follow.
    #[inline(always)]
    fn find_losses(&mut self, c: &Core, x: &Context) -> u64 {
        if self.scoreboard.board.sacked() > 0 || self.scoreboard.board.lost() > 0 {
            return self.mark_losses(c, x);
        }
        if self.kind == Early::Reordering {
            self.early = Time::NEVER;
        }
        0
    }

    /// The same where something is reported or lost.
    #[inline(never)]
    fn mark_losses(&mut self, c: &Core, x: &Context) -> u64 {
        let in_recovery = matches!(c.state, Recovery::Recovery | Recovery::Loss);
        let enough = self.scoreboard.board.sacked_segments() >= x.profile.duplicate_threshold;
        let window = self.reordering_window(c, in_recovery || enough);
        let board = &mut self.scoreboard.board;
        match x.profile.loss_detection {
            LossDetection::Fack => board.mark_by_distance(x.profile.duplicate_threshold, x.profile.mss),
            LossDetection::Rack => {
                let (lost, again) = board.mark_by_time(x.now, window);
                match again {
                    Some(at) => {
                        let floor =
                            if x.profile.timer_tick > Duration::ZERO { TWO_TICKS } else { Duration::ZERO };
                        self.early = x.profile.due(x.now, at.since(x.now) + floor);
                        self.kind = Early::Reordering;
                    }
                    None if self.kind == Early::Reordering => self.early = Time::NEVER,
                    None => {}
                }
                lost
            }
            LossDetection::Sack | LossDetection::DuplicateAcks | LossDetection::FackAdaptive => {
                board.mark_by_count(x.profile.duplicate_threshold, x.profile.mss)
            }
        }
    }

    /// RACK.reo_wnd (RFC 8985 section 6.2 step 4): none where enough was reported and no reordering was ever
    /// seen.
    pub(in crate::sender) fn reordering_window(&self, c: &Core, sure: bool) -> Duration {
        let r = &self.reordering;
        match (r.seen, c.rtt.least(), c.rtt.smoothed()) {
            (false, ..) if sure => Duration::ZERO,
            (_, Some(least), Some(srtt)) => Duration(least.0 / 4 * u64::from(r.steps)).min(srtt),
            _ => Duration::ZERO,
        }
    }

    /// RFC 8985 section 6.2 steps 3 and 4.
    #[inline(always)]
    fn adapt_reordering(&mut self, c: &Core, delivered: &Delivered, profile: &Profile) {
        let board = &mut self.scoreboard.board;
        let r = &mut self.reordering;
        if profile.is_linux() {
            // Linux's tcp_rack_advance and tcp_check_sack_reordering.
            if let Some((_, rtt)) = delivered.last {
                board.latest.rtt = rtt;
            }
            if let Some(first) = delivered.reordered {
                let extent = board.forward_edge.saturating_sub(first).div_ceil(profile.mss);
                r.extent = r.extent.max((extent as u32).min(MOST_REORDERING));
            }
        }
        r.seen |= delivered.reordered.is_some();
        if c.una >= r.round {
            r.round = NO_ROUND;
        }
        if delivered.duplicate && r.round == NO_ROUND {
            r.round = c.high;
            r.steps = r.steps.saturating_add(1);
            r.persist = PERSIST;
        }
    }

    fn begin_recovery(&mut self, c: &mut Core, flight: u64, x: &Context) {
        self.scoreboard.begin_recovery(c, flight, x);
        self.probe = None;
    }

    /// The window of an ACK in recovery.
    fn share_out(&mut self, c: &mut Core, delivered: &Delivered, safe: bool, profile: &Profile) {
        let (mss, ssthresh) = (profile.mss, c.window().ssthresh);
        let s = &mut self.scoreboard;
        let pipe = s.board.pipe();
        let proportional = match profile.reduction {
            Reduction::Proportional | Reduction::ProportionalOrHalving => c.state == Recovery::Recovery,
            Reduction::ProportionalAlways => true,
            _ => false,
        };
        let cwnd = if proportional {
            // An ACK that delivers nothing releases nothing, except the fast retransmit.
            if delivered.bytes == 0 && !s.force {
                return;
            }
            s.proportional.delivered += delivered.bytes;
            let unit = (mss, profile.whole_segments);
            let share = s.proportional.share(pipe, ssthresh as u64, delivered.bytes, safe, unit);
            s.force = false;
            (pipe + share) as f64
        } else if matches!(profile.reduction, Reduction::RateHalving | Reduction::ProportionalOrHalving) {
            // One segment for two ACKs, the first among them, until what is in flight fits the threshold.
            s.half = !s.half;
            let allowed = if s.half { pipe + mss } else { pipe };
            if (pipe + mss) as f64 > ssthresh { allowed as f64 } else { ssthresh }
        } else {
            ssthresh
        };
        c.control.propose_cwnd(cwnd, Cause::Reduction);
    }

    /// Fast recovery, or that of a timeout, is over (RFC 8985 section 6.2 step 4).
    fn recovered(&mut self) {
        let r = &mut self.reordering;
        r.persist = r.persist.saturating_sub(1);
        if r.persist == 0 {
            r.steps = 1;
        }
    }

    fn leave_recovery(&mut self, c: &mut Core, profile: &Profile) {
        if c.state == Recovery::Recovery {
            self.recovered();
        }
        let s = &mut self.scoreboard;
        let mut cwnd = c.window().ssthresh;
        s.force = false;
        if profile.reduction == Reduction::RateHalving {
            // At most three segments at once (Linux's tcp_max_burst, Sanhaji 2015's stack).
            cwnd = cwnd.min((s.board.pipe() + 3 * profile.mss) as f64);
        }
        c.control.propose_cwnd(cwnd, Cause::RecoveryEnd);
        c.enter(if s.board.sacked() > 0 { Recovery::Disorder } else { Recovery::Open });
    }

    /// Undoes a spurious reduction: the ACK answers data sent before the first retransmission (RFC 4015
    /// section 3.2), or every retransmission was reported as a duplicate (RFC 3708).
    fn try_undo(
        &mut self,
        c: &mut Core,
        ack: &Packet,
        delivered: &Delivered,
        advanced: bool,
        profile: &Profile,
    ) {
        if !matches!(c.state, Recovery::Recovery | Recovery::Loss) {
            return;
        }
        let Some(undo) = &mut self.scoreboard.undo else { return };
        let before = undo.retransmissions;
        undo.retransmissions = before.saturating_sub(u32::from(delivered.duplicate));
        let all_twice = before > 0 && undo.retransmissions == 0;
        // The echo is older than the first retransmission.
        let older = before > 0 && (ack.stamp.wrapping_sub(undo.stamp) as i32) < 0;
        if all_twice || (advanced && older) {
            self.scoreboard.take_back(c, profile);
            c.enter(Recovery::Open);
            self.scoreboard.board.lose_none();
            self.scoreboard.force = false;
        }
    }

    /// Sets the probe's timer (RFC 8985 section 7.2), where nothing is disordered and no probe is out. New data and an
    /// ACK that advances restart it (`restart`).
    fn arm_probe(&mut self, c: &Core, restart: bool, x: &Context) {
        let calm = matches!(c.state, Recovery::Open | Recovery::Reduction);
        let board = &self.scoreboard.board;
        if self.early != Time::NEVER && self.kind == Early::Reordering {
            return;
        }
        let may_probe = calm && !board.is_empty() && self.probe.is_none() && board.sacked() == 0;
        if may_probe && !restart {
            return;
        }
        self.early = Time::NEVER;
        let Some(srtt) = c.rtt.smoothed().filter(|_| may_probe) else { return };
        let extra = if board.len() == 1 { WORST_ACK_DELAY } else { TWO_TICKS };
        let timeout = srtt + srtt + extra;
        // A window that has just opened still has its timer; the retransmission timer follows.
        let latest = if c.awaits_window() { x.profile.due(x.now, c.rto) } else { c.timer };
        (self.early, self.kind) = (x.profile.due(x.now, timeout).min(latest), Early::Probe);
    }

    /// Sends a probe: new data where there is some, else the last segment again (RFC 8985 section 7.3).
    fn probe(&mut self, c: &mut Core, x: &mut Context) {
        if c.is_held(x.now, x.profile) {
            self.early = c.release();
            return;
        }
        let payload = c.next_payload(x.profile);
        let again = payload == 0;
        if !again {
            self.scoreboard.send_new(c, payload, x);
        } else if let Some(i) = self.scoreboard.board.last_unreported()
            && self.scoreboard.may_resend(i, c, x.profile)
        {
            c.timed = Timed::NONE;
            if x.profile.is_linux() {
                self.scoreboard.resend_uncounted(i, c, x);
            } else {
                self.scoreboard.resend(i, c, x);
            }
        } else {
            return;
        }
        self.probe = Some((c.high, again));
        c.timer = x.profile.due(x.now, c.rto);
    }

    /// The end of a probe's episode (RFC 8985 section 7.4): a probe that repaired a loss is a congestion
    /// event.
    #[cold]
    #[inline(never)]
    fn end_probe(
        &mut self,
        c: &mut Core,
        ack: &Packet,
        report: &Report,
        delivered: &Delivered,
        advanced: bool,
        x: &Context,
    ) {
        let Some((end, again)) = self.probe else { return };
        if ack.seq < end {
            return;
        }
        if !again || delivered.duplicate {
            self.probe = None; // new data, or the original arrived as well
        } else if ack.seq > end {
            self.probe = None;
            if matches!(c.state, Recovery::Open | Recovery::Disorder) && !c.same_event() {
                let event = Congestion::new(Signal::Loss, x.now, c.window().cwnd, x.profile.segment());
                c.congestion_event(event, Signal::Loss, x);
                let Window { cwnd, ssthresh } = c.window();
                c.control.propose_cwnd(cwnd.min(ssthresh), Cause::ProbeRepair);
                c.reduced();
            }
        } else if !advanced && report.blocks().is_empty() {
            self.probe = None; // both arrived, and the receiver does not report duplicates
        }
    }
}
