//! The part of a sender that all loss recoveries share: sequence numbers, congestion control, timers, marks,
//! departures.

mod conex;
mod departures;
mod flow;

use evenflow_base::{Duration, Ecn as Field, Packet, Time, flags};

use crate::congestion_control::{
    Acked, Cause, Congestion, CongestionControl, Needs, Proposal, Signal, Spurious, Window, three_quarters,
};
use crate::ecn::option::Reported;
use crate::profile::{Ecn, IdleRestart, RttSource};
use crate::rtt::{RttEstimator, Timed};
use crate::{Profile, Segment, ecn};

use super::counts::{Counts, Limit, Limited};
use super::{Life, Recovery};

use conex::Exposed;
use departures::Departures;
pub(super) use flow::{Flow, NO_OCTET, UNTOLD};

/// A call of a sender: when, by which profile, and where segments go.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) profile: &'a Profile,
    pub(super) out: &'a mut Vec<Segment>,
}

/// The sending end without its loss recovery.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) life: Life,
    /// The state of loss recovery.
    pub(super) state: Recovery,
    /// SND.UNA.
    pub(super) una: u64,
    /// SND.NXT; without SACK it goes back after a timeout.
    pub(super) next: u64,
    /// One beyond the highest byte ever sent.
    pub(super) high: u64,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: the value of `high` when recovery began.
    pub(super) recover: u64,
    /// Bytes that the application will send; `None` is endless.
    pub(super) size: Option<u64>,
    pub(super) control: CongestionControl,
    /// The control's requests.
    pub(super) needs: Needs,
    /// Acknowledged bytes that did not fill a segment yet.
    pub(super) remainder: u64,
    pub(super) rtt: RttEstimator,
    pub(super) rto: Duration,
    /// When the retransmission timer fires.
    pub(super) timer: Time,
    /// Retransmissions (or SYNs) since the last progress.
    pub(super) tries: u32,
    /// Retransmitted segments.
    pub(super) retransmitted: u32,
    /// The timestamp clock at the current call.
    pub(super) clock: u32,
    /// The receiver's clock in the last ACK; 0: none.
    pub(super) ts_val: u32,
    pub(super) marks: Marks,
    /// The segment that is timed, where one segment a round trip is.
    pub(super) timed: Timed,
    /// When data was last sent.
    pub(super) last_sent: Time,
    /// Most bytes beyond `una`: the smaller of receive window and send buffer, where neither changes.
    pub(super) reach: u64,
    /// Flow control, where an application writes.
    pub(super) flow: Option<Box<Flow>>,
    /// Byte counters of the AccECN option.
    pub(super) bytes: Option<Box<Reported>>,
    /// ConEx.
    pub(super) exposed: Option<Box<Exposed>>,
    /// Pacing and transmit records, where the control asks for them.
    pub(super) departures: Option<Box<Departures>>,
    pub(super) counts: Counts,
    pub(super) limited: Limited,
}

/// State of congestion marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The negotiated mode.
    pub(super) mode: Ecn,
    /// The ECN field of new data.
    pub(super) first: Field,
    /// The ECN field of retransmissions.
    pub(super) again: Field,
    /// No packet is ECN-capable, whatever the mode.
    pub(super) barred: bool,
    /// Accurate: the counter s.cep, modulo 8.
    pub(super) counter: u8,
    /// Re-ECN's counter without SACK: segments that duplicate ACKs have shown, each with the counter as it
    /// was then, and that no ACK has covered yet. A timeout forgets nothing of them.
    pub(super) shown: u16,
    /// Classic: the next new segment says that the window was reduced.
    pub(super) send_cwr: bool,
    /// Marks reported by ACKs up to here belong to a reduction that was made.
    pub(super) reduced_to: u64,
    /// Marks that ACKs reported.
    pub(super) reported: u64,
}

impl Core {
    pub(super) fn new(profile: &Profile, mut control: CongestionControl, size: Option<u64>) -> Core {
        let mss = profile.segment();
        control.start(Window { cwnd: profile.initial_window * mss, ssthresh: first_threshold(profile) }, mss);
        let mut needs = control.needs();
        needs.rate_samples |= profile.rate_samples;
        Core {
            life: Life::Idle,
            state: Recovery::Open,
            una: 0,
            next: 0,
            high: 0,
            recover: 0,
            size,
            needs,
            control,
            remainder: 0,
            rtt: RttEstimator::default(),
            rto: profile.syn_rto,
            timer: Time::NEVER,
            tries: 0,
            retransmitted: 0,
            clock: 0,
            ts_val: 0,
            marks: Marks {
                mode: Ecn::Off,
                first: Field::NotCapable,
                again: Field::NotCapable,
                barred: false,
                counter: ecn::FIRST,
                shown: 0,
                send_cwr: false,
                reduced_to: 0,
                reported: 0,
            },
            timed: Timed::NONE,
            last_sent: Time::ZERO,
            reach: profile.most_out(),
            flow: None,
            bytes: profile.accurate_ecn_option.then(|| Box::new(Reported::new(profile.mss))),
            exposed: Exposed::new(profile),
            departures: Departures::new(needs, profile),
            counts: Counts::default(),
            limited: Limited::default(),
        }
    }

    /// The congestion window and threshold.
    #[inline(always)]
    pub(super) fn window(&self) -> Window {
        self.control.window()
    }

    /// The congestion window in bytes, limited by `max_window` with `window_clamp`.
    #[inline(always)]
    pub(super) fn usable_window(&self, profile: &Profile) -> u64 {
        let window = self.window().cwnd as i64 as u64;
        if profile.window_clamp { window.min(profile.max_window) } else { window }
    }

    /// Loss recovery changes its state.
    #[inline(always)]
    pub(super) fn enter(&mut self, state: Recovery) {
        let before = std::mem::replace(&mut self.state, state);
        if self.needs.states && state != before {
            self.control.on_state(state);
        }
    }

    /// The connection is given up.
    pub(super) fn die(&mut self, now: Time) {
        self.life = Life::Dead;
        self.limited.end(now);
        self.timer = Time::NEVER;
        if let Some(departures) = &mut self.departures {
            departures.release = Time::NEVER;
        }
    }

    /// Whether the timer may send again; otherwise the connection is given up.
    pub(super) fn may_retry(&mut self, x: &Context) -> bool {
        let gives_up = x.profile.retries.is_some_and(|most| self.tries >= most);
        if gives_up {
            self.die(x.now);
        }
        !gives_up
    }

    pub(super) fn restart(&mut self, idle: Duration, profile: &Profile) {
        let initial = profile.initial_window * profile.segment();
        let mut w = self.window();
        match profile.restart_after_idle {
            IdleRestart::Never => return,
            // RFC 5681 section 4.1: RW = min(IW, cwnd).
            IdleRestart::InitialWindow => w.cwnd = w.cwnd.min(initial),
            IdleRestart::Halving => {
                // RFC 2861 section 3.2: ssthresh keeps 3/4 of the window.
                w.ssthresh = w.ssthresh.max(w.cwnd * 0.75);
                let restart = w.cwnd.min(initial);
                let mut left = idle.0.saturating_sub(self.rto.0);
                while left > 0 && w.cwnd > restart {
                    w.cwnd /= 2.0;
                    left = left.saturating_sub(self.rto.0);
                }
                w.cwnd = w.cwnd.max(restart);
            }
            IdleRestart::HalvingWhole => w = self.restart_in_whole_segments(idle, profile),
            IdleRestart::HalvingToOne => {
                // Ben Ameur et al. 2016, algorithm 2: rounds of the receive window's half, whole timeouts.
                w.ssthresh = w.ssthresh.max(w.cwnd * 0.75);
                for _ in 0..(idle.0 / self.rto.0.max(1)).min(64) {
                    w.cwnd = (w.cwnd.min(profile.max_window as f64) / 2.0).max(profile.segment());
                }
                let mss = profile.segment();
                w.cwnd = (w.cwnd / mss) as u64 as f64 * mss;
            }
        }
        self.control.propose(&Proposal::Window { window: w, cause: Cause::Idle });
    }

    /// Linux 3.2: down to the initial window; a threshold that a reduction is on its way to stays.
    fn restart_in_whole_segments(&self, idle: Duration, profile: &Profile) -> Window {
        let mss = profile.segment();
        let ssthresh = self.remembered_threshold(profile);
        let mut segments = (self.window().cwnd / mss) as u64;
        let restart = segments.min(profile.initial_window as u64);
        let mut left = idle.0.saturating_sub(self.rto.0);
        while left > 0 && segments > restart {
            segments >>= 1;
            left = left.saturating_sub(self.rto.0);
        }
        Window { cwnd: segments.max(restart) as f64 * mss, ssthresh }
    }

    /// The remembered threshold: at least 3/4 of the window, except during a reduction (Linux 3.2's
    /// `tcp_current_ssthresh`, as its probe logs it).
    pub(super) fn remembered_threshold(&self, profile: &Profile) -> f64 {
        match self.state {
            Recovery::Reduction | Recovery::Recovery => self.window().ssthresh,
            _ => self.window().ssthresh.max(three_quarters(self.window().cwnd, profile.segment())),
        }
    }

    /// The handshake is complete after `rtt`. `lost`: a SYN was retransmitted.
    pub(super) fn agree(
        &mut self,
        mode: Ecn,
        rtt: Option<Duration>,
        lost: bool,
        now: Time,
        profile: &Profile,
    ) {
        self.life = Life::Open;
        self.timer = Time::NEVER;
        self.marks.mode = mode;
        if mode.is_re_ecn() {
            self.marks.counter = ecn::first(mode);
        }
        let field = if self.marks.barred { Ecn::Off } else { mode };
        self.marks.first = profile.data_field(field);
        self.marks.again = profile.ect_where(field != Ecn::Off && profile.ecn_on_retransmissions);
        self.expose(mode, profile);
        self.limited.switch(Limit::Application, now);
        if profile.save_metrics {
            let window = Window { ssthresh: first_threshold(profile), ..self.window() };
            self.control.start(window, profile.segment());
        }
        if lost {
            // RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
            self.control.propose_cwnd(self.window().cwnd.min(profile.segment()), Cause::LostSyn);
        }
        self.tries = 0;
        let Some(rtt) = rtt else { return };
        self.sample(rtt, profile);
        if profile.cached_srtt > Duration::ZERO {
            self.rtt.remembered(profile.cached_srtt, profile.cached_rttvar, profile);
        }
        self.rto = self.rtt.timeout(profile);
    }

    /// The handshake of accurate ECN, as in [`super::Sender::note_handshake`].
    pub(super) fn note_handshake(&mut self, marked: bool, barred: bool) {
        self.marks.barred = barred;
        self.marks.counter = ecn::FIRST + u8::from(marked);
        self.marks.reported = u64::from(marked);
    }

    /// All data is acknowledged. With saved metrics, a wake-up follows once.
    pub(super) fn rest(&mut self, x: &Context) {
        if x.profile.save_metrics && self.life == Life::Done {
            return;
        }
        if !self.awaits_window() {
            self.timer = Time::NEVER;
        }
        if self.size == Some(self.una) {
            self.timer = Time::NEVER;
            self.life = Life::Done;
            if x.profile.save_metrics {
                self.timer = x.now;
            }
        }
    }

    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: Duration, profile: &Profile) {
        self.rtt.sample(rtt, self.una, self.next, profile);
    }

    /// Full segments in `bytes`, those of earlier ACKs that filled none included.
    #[inline(always)]
    pub(super) fn whole_segments(&mut self, bytes: u64, mss: u64) -> u64 {
        let mut segments = 1;
        if bytes != mss {
            segments = bytes / mss;
            self.remainder += bytes % mss;
        }
        if self.remainder >= mss {
            self.remainder -= mss;
            segments += 1;
        }
        segments
    }

    /// Congestion marks that an ACK newly reports, which covers `packets` more segments.
    #[inline(always)]
    pub(super) fn reported_marks(&mut self, ack: &Packet, packets: u32) -> u32 {
        let marks = match self.marks.mode {
            Ecn::Off => 0,
            Ecn::Classic | Ecn::PerPacket | Ecn::Gateway => u32::from(ack.is(flags::ECE)),
            Ecn::ReEcnUnlimited => {
                let shown = self.exposed.as_ref().map_or(0, |exposed| exposed.shown);
                // An ACK that was overtaken says less than is known.
                (shown.wrapping_sub(self.marks.reported as u16) as i16).max(0) as u32
            }
            Ecn::Accurate | Ecn::ReEcn => {
                let shown = ecn::number_of(ack.flags);
                let known = std::mem::replace(&mut self.marks.counter, shown);
                match self.bytes {
                    None => ecn::newly_marked(shown, known, packets),
                    Some(_) => self.decode_option(ack, known, packets),
                }
            }
        };
        if marks == 0
            && let Some(exposed) = &mut self.exposed
        {
            exposed.echoing = false;
        }
        marks
    }

    /// The same with the AccECN option. After contradictory feedback no packet is ECN-capable (RFC 9768
    /// section 3.2.3.2.5). Neither is one, nor is a mark answered, where the counter begins with 0 or all
    /// packets of the first rounds are marked (sections 3.2.2.4 and 3.2.2.3).
    #[inline(never)]
    fn decode_option(&mut self, ack: &Packet, known: u8, packets: u32) -> u32 {
        let (una, next) = (self.una.max(ack.seq), self.next);
        let Some(bytes) = &mut self.bytes else { return 0 };
        let (marks, contradicts) = bytes.decode(ack.flags, known, packets);
        let fails = bytes.fails(ack.flags, marks, packets, una, next);
        if fails || contradicts {
            self.bar();
        }
        if fails { 0 } else { marks }
    }

    /// No packet is ECN-capable from here on: its field is mangled on the path.
    pub(super) fn bar(&mut self) {
        self.marks.barred = true;
        (self.marks.first, self.marks.again) = (Field::NotCapable, Field::NotCapable);
    }

    /// The control learns of a congestion event, which counts as one of `cause`.
    pub(super) fn congestion_event(&mut self, event: Congestion, cause: Signal, x: &Context) {
        self.counts.reduced(cause);
        let before = self.window().ssthresh;
        self.control.on_congestion_event(&Congestion { whole: x.profile.whole_segments, ..event });
        self.counts.threshold_falls += u32::from(self.window().ssthresh < before);
    }

    /// The window was reduced: the receiver learns it (RFC 3168 section 6.1.2), and further marks of this
    /// window of data count as the same event.
    #[inline]
    pub(super) fn reduced(&mut self) {
        self.marks.reduced_to = self.high;
        self.marks.send_cwr = true;
    }

    /// A mark has lowered the threshold in this window of data: a loss in it is the same event (RFC 3168
    /// section 6.1.2).
    #[inline]
    pub(super) fn same_event(&self) -> bool {
        self.marks.mode != Ecn::Off && self.una < self.marks.reduced_to
    }

    /// Whether the window counts as used although some is free (Linux 3.2's `tcp_is_cwnd_limited`). The free
    /// part is within the reordering, or less than a third of the window and of the largest offloaded
    /// segment.
    #[inline(never)]
    pub(super) fn third_is_used(&self, reordering: u32, flight: f64, profile: &Profile) -> bool {
        let cwnd = self.window().cwnd;
        let left = cwnd - flight;
        left <= f64::from(reordering) * profile.segment() || (3.0 * left < cwnd && left < 65_536.0)
    }

    #[inline(always)]
    pub(super) fn acked(&self, news: &Growth, one_way: Option<Duration>, marks: u32, x: &Context) -> Acked {
        Acked {
            now: x.now,
            una: news.una,
            next: self.next,
            bytes: news.bytes,
            segments: news.segments,
            mss: x.profile.segment(),
            flight: news.flight,
            rtt: news.rtt,
            one_way,
            marks,
        }
    }

    /// The control gets an ACK of new data, before anything grows.
    #[inline(never)]
    pub(super) fn pass_to_control(&mut self, ack: &Packet, news: Growth, marks: u32, x: &Context) {
        let clock = self.ts_val;
        let ticks = clock.wrapping_sub(ack.stamp);
        let one_way = (clock != 0).then(|| Duration(u64::from(ticks) * x.profile.clock_tick.0));
        let acked = self.acked(&news, one_way, marks, x);
        let before = self.window();
        self.control.on_ack(&acked, self.state == Recovery::Open);
        self.counts.reductions.mark +=
            u32::from(marks > 0 && self.needs.every_mark && self.window().cwnd < before.cwnd);
        self.counts.threshold_falls += u32::from(self.window().ssthresh < before.ssthresh);
    }

    /// Time since the clock showed `stamp`; it may have wrapped once.
    #[inline]
    pub(super) fn elapsed(&self, stamp: u32, profile: &Profile) -> Duration {
        Duration(u64::from(self.clock.wrapping_sub(stamp)) * profile.clock_tick.0)
    }

    /// One beyond the last byte in the send buffer.
    #[inline]
    pub(super) fn data_end(&self, profile: &Profile) -> u64 {
        let edge = self.una.saturating_add(self.reach);
        let end = match (profile.write, self.size) {
            // The application fills it in whole writes.
            (Some(write), size) => {
                let filled = self.una.saturating_add(profile.buffer()) / u64::from(write) * u64::from(write);
                let end = size.map_or(filled, |size| filled.min(size));
                if end > edge {
                    self.next + edge.saturating_sub(self.next) / profile.mss * profile.mss
                } else {
                    end
                }
            }
            (None, Some(size)) if size <= edge => size,
            // A segment shorter than full goes only where it is the last (RFC 9293 section 3.8.6.2.1).
            (None, _) => self.next + edge.saturating_sub(self.next) / profile.mss * profile.mss,
        };
        end.max(self.high)
    }

    /// The payload of the next segment: what the send buffer holds beyond `next`, at most a full one.
    #[inline]
    pub(super) fn next_payload(&self, profile: &Profile) -> u64 {
        let mss = profile.mss;
        let (ahead, slack) = (self.next - self.una, mss + u64::from(profile.write.unwrap_or(1)));
        if self.size.is_none() && ahead + slack <= self.reach {
            return mss; // far from the end of the buffer: spares a division
        }
        self.last_payload(profile)
    }

    /// The same near the end of the buffer.
    #[inline(never)]
    pub(super) fn last_payload(&self, profile: &Profile) -> u64 {
        if self.flow.is_some() {
            return self.next_of_queue(profile);
        }
        (self.data_end(profile) - self.next).min(profile.mss)
    }

    /// Sending has stopped, for this reason.
    #[inline(always)]
    pub(super) fn held(&mut self, by: Limit, now: Time) {
        if self.limited.by != by {
            self.limited.switch(by, now);
        }
    }

    /// The congestion window holds the next segment back, if there is one.
    #[inline(always)]
    pub(super) fn held_by_window(&mut self, now: Time) {
        if self.limited.by != Limit::Congestion && self.size != Some(self.next) {
            self.limited.switch(Limit::Congestion, now);
        }
    }

    /// New data is sent. `flight`: bytes in flight with it.
    #[inline(always)]
    pub(super) fn send_next<const PACED: bool>(
        &mut self,
        payload: u64,
        flight: impl FnOnce(&Core) -> u64,
        x: &mut Context,
    ) {
        if x.profile.rtt == RttSource::OneSegment && self.next == self.high {
            self.timed.begin(self.next + payload, x.now);
        }
        self.emit::<PACED>(self.next, payload, flight, x);
        self.next += payload;
        self.high = self.high.max(self.next);
    }

    /// New data is ECN-capable; a retransmission is not (RFC 3168 section 6.1.5), unless the profile says so.
    /// `flight`: bytes in flight with the segment. `PACED` inlines [`Core::depart`].
    #[inline(always)]
    pub(super) fn emit<const PACED: bool>(
        &mut self,
        seq: u64,
        payload: u64,
        flight: impl FnOnce(&Core) -> u64,
        x: &mut Context,
    ) {
        let (now, profile) = (x.now, x.profile);
        let again = seq < self.high;
        self.retransmitted += u32::from(again);
        let mut bits = 0;
        let mut ip = if again { self.marks.again } else { self.marks.first } as u8;
        if self.exposed.is_some() || self.departures.is_some() {
            let flight = flight(self);
            if self.exposed.is_some() {
                ip = self.say(seq, payload, again, ip, flight as i64 as f64, x);
            }
            if self.departures.is_some() {
                if PACED {
                    self.depart_inlined(seq, payload, again, flight, x);
                } else {
                    self.depart(seq, payload, again, flight, x);
                }
            }
        }
        if self.marks.send_cwr && self.marks.mode == Ecn::Classic && !again {
            bits |= flags::CWR;
            self.marks.send_cwr = false;
        }
        x.out.push(Segment { seq, payload: payload as u16, stamp: self.clock, flags: bits, ip, again });
        self.last_sent = now;
        if self.timer == Time::NEVER {
            self.timer = profile.due(now, self.rto);
        }
    }

    /// A reduction was spurious; `before` was the window at its beginning.
    pub(super) fn undo(&mut self, before: Window, profile: &Profile) {
        // The next loss or mark is a new event, even in the same window of data.
        self.marks.reduced_to = self.una;
        let spurious = Spurious { before, to: profile.undo_to, mss: profile.segment() };
        self.control.on_spurious_loss(&spurious);
    }

    /// The timeout doubles, and the timer begins again (RFC 6298 sections 5.5 and 5.6).
    pub(super) fn back_off(&mut self, x: &Context) {
        self.rto = (self.rto + self.rto).min(x.profile.max_rto);
        self.timer = x.profile.due(x.now, self.rto);
    }

    /// Segments of a burst (Linux's tcp_tso_autosize): 1/1024 s at 1.2 times the window's rate, twice that
    /// rate below half the threshold, and more with a short round trip.
    pub(super) fn burst(&self, profile: &Profile) -> u64 {
        let Some(srtt) = self.rtt.smoothed() else { return 2 };
        let ratio = if self.control.window().cwnd < self.control.window().ssthresh / 2.0 { 2.0 } else { 1.2 };
        let mut bytes = (ratio * self.control.window().cwnd / srtt.seconds() / 1024.0) as u64;
        let halvings = self.rtt.least().map_or(u64::MAX, |least| (least.0 / 1000) >> 9);
        if halvings < 32 {
            bytes = bytes.saturating_add(65_536 >> halvings); // a round trip may take no time
        }
        (bytes.min(65_536) / profile.mss).max(2)
    }

    /// The last segment of each burst of two or more, and of the stream, is marked PSH.
    pub(super) fn mark_bursts(&self, sent: &mut [Segment], profile: &Profile) {
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
}

/// The slow-start threshold of a connection that opens, bytes.
pub(super) fn first_threshold(profile: &Profile) -> f64 {
    match profile.cached_ssthresh {
        Some(segments) => f64::from(segments) * profile.segment(),
        None if profile.threshold_from_window => profile.max_window as f64,
        None => f64::INFINITY,
    }
}

/// Effect of an ACK on the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) una: u64,
    pub(super) bytes: u64,
    pub(super) segments: u64,
    /// Bytes in flight before it.
    pub(super) flight: f64,
    pub(super) rtt: Option<Duration>,
}
