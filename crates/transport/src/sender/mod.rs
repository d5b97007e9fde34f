//! The sending end: handshake, sliding window, timers, ECN. Loss recovery is in two files: without SACK by duplicate ACKs
//! ([`duplicates`]), with SACK by the scoreboard ([`selective`]).
//!
//! Sequence numbers are offsets into the byte stream; SYN takes none. States and rules follow the profile, whose lines are
//! listed in docs/tcp.md. Not here: the states of a connection that closes, ACKs on data ([`crate::Connection`]).

mod adaptive;
pub mod board;
mod conex;
mod counts;
mod duplicates;
mod flow;
pub mod metrics;
mod observe;
mod selective;

use evenflow_base::{Carried, Duration, Ecn as Field, Packet, Time, flags};

use crate::congestion_control::{Acked, Congestion, CongestionControl, Signal, Window};
use crate::profile::{Ecn, Handshake, IdleRestart, LossDetection, Reduction, RttSource, WindowUse};
use crate::rtt::{RttEstimator, Timed};
use crate::{Profile, Segment, ecn};

pub use counts::{Counts, Limit, Reductions};

use adaptive::Kept;
use conex::Exposed;
use counts::Limited;
use flow::Flow;
use selective::Selective;

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
    /// Duplicate ACKs or reports, too few to tell a loss.
    Disorder,
    /// The window comes down after congestion marks; nothing is lost.
    Reduction,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// Segments that were sent and not acknowledged, as Linux's `tcp_info` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub unacked: u32,
    /// Reported by SACK; without it, duplicate ACKs.
    pub sacked: u32,
    /// Believed lost, sent again or not. Without SACK the first one in a fast recovery, all after a timeout.
    pub lost: u32,
    /// Sent again, and believed to be in the network.
    pub retransmitted: u32,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    life: Life,
    recovery: Recovery,
    /// SND.UNA.
    una: u64,
    /// SND.NXT; without SACK it goes back after a timeout.
    next: u64,
    /// One beyond the highest byte ever sent.
    high: u64,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: the value of `high` when recovery began.
    recover: u64,
    /// What the application will send in all; `None` is endless.
    size: Option<u64>,
    window: Window,
    control: CongestionControl,
    /// The control wants to hear every ACK of new data.
    wants_every_ack: bool,
    /// The control deals with each mark by itself.
    takes_every_mark: bool,
    /// Duplicate ACKs.
    duplicates: u32,
    /// Without SACK: retransmissions believed to be in the network.
    retransmits_out: u32,
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
    retransmitted: u32,
    /// The timestamp clock at the call under way.
    clock: u32,
    /// The receiver's, as the last ACK has it; 0: it has none.
    ts_val: u32,
    /// What recovery with SACK needs.
    selective: Option<Box<Selective>>,
    marks: Marks,
    /// Where one segment a round trip is timed: that segment.
    timed: Timed,
    /// When data was last sent.
    last_sent: Time,
    /// How far beyond `una` it may send at most: the smaller of receive window and send buffer, where neither changes.
    reach: u64,
    /// Where an application writes: flow control.
    flow: Option<Box<Flow>>,
    /// Where it is a ConEx sender.
    exposed: Option<Box<Exposed>>,
    counts: Counts,
    limited: Limited,
}

/// What the sending end knows of congestion marks.
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// What the handshake settled on.
    mode: Ecn,
    /// The ECN field of new data.
    first: Field,
    /// That of what is sent again.
    again: Field,
    /// Accurate: the counter s.cep, modulo 8.
    counter: u8,
    /// Re-ECN's counter without SACK: segments that duplicate ACKs have shown, each with the counter as it was then, and that
    /// no ACK has covered yet. A timeout forgets nothing of them.
    shown: u16,
    /// Classic: the next new segment says that the window was reduced.
    send_cwr: bool,
    /// Marks reported by ACKs up to here belong to a reduction that was made.
    reduced_to: u64,
    /// Marks that ACKs reported.
    reported: u64,
}

impl Sender {
    /// Bytes that it holds beside itself: the scoreboard, flow control, what a ConEx sender owes.
    pub fn held_bytes(&self) -> usize {
        let board = |s: &Selective| size_of::<Selective>() + s.board.held_bytes() + s.adaptive.held_bytes();
        self.selective.as_deref().map_or(0, board)
            + self.flow.as_ref().map_or(0, |_| size_of::<Flow>())
            + self.exposed.as_ref().map_or(0, |_| size_of::<Exposed>())
    }

    /// A connection that will carry `size` bytes (`None`: endless).
    pub fn new(profile: &Profile, control: CongestionControl, size: Option<u64>) -> Sender {
        let selective = profile.sack.then(|| Box::new(Selective::new(profile)));
        Sender::with(selective, profile, control, size)
    }

    /// As new, for an application that has written nothing, in the room that it has.
    pub fn renew(&mut self, profile: &Profile, control: CongestionControl) {
        let flow = self.flow.take();
        let selective = match self.selective.take().filter(|_| profile.sack) {
            Some(mut selective) => {
                selective.renew(profile);
                Some(selective)
            }
            None => profile.sack.then(|| Box::new(Selective::new(profile))),
        };
        *self = Sender::with(selective, profile, control, Some(0));
        self.flow = flow;
        self.talk(profile);
    }

    fn with(
        selective: Option<Box<Selective>>,
        profile: &Profile,
        mut control: CongestionControl,
        size: Option<u64>,
    ) -> Sender {
        let mss = profile.segment();
        let mut window = Window { cwnd: profile.initial_window * mss, ssthresh: first_threshold(profile) };
        control.start(&mut window, mss);
        Sender {
            life: Life::Idle,
            recovery: Recovery::Open,
            una: 0,
            next: 0,
            high: 0,
            recover: 0,
            size,
            window,
            wants_every_ack: control.wants_every_ack(),
            takes_every_mark: control.takes_every_mark(),
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
            ts_val: 0,
            selective,
            marks: Marks {
                mode: Ecn::Off,
                first: Field::NotCapable,
                again: Field::NotCapable,
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
            exposed: Sender::exposed(profile),
            counts: Counts::default(),
            limited: Limited::default(),
        }
    }

    /// The congestion window and threshold.
    #[inline]
    pub fn window(&self) -> Window {
        self.window
    }

    /// The congestion control, for what it lets be seen.
    pub fn control(&self) -> &CongestionControl {
        &self.control
    }

    /// Where the connection is in its life.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Where loss recovery is.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// What the handshake settled on for congestion marks.
    pub fn ecn(&self) -> Ecn {
        self.marks.mode
    }

    /// Congestion marks that ACKs reported so far.
    pub fn marks_reported(&self) -> u64 {
        self.marks.reported
    }

    /// Segments sent again so far.
    #[inline]
    pub fn retransmitted(&self) -> u64 {
        u64::from(self.retransmitted)
    }

    /// What it counted so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How long up to `now` each [`Limit`] held it back, in their order.
    pub fn limited(&self, now: Time) -> [Duration; 3] {
        self.limited.until(now)
    }

    /// Bytes believed to be in the network.
    pub fn in_flight(&self, profile: &Profile) -> f64 {
        match &self.selective {
            Some(s) => s.board.pipe() as f64,
            None => self.flight(profile),
        }
    }

    /// What was sent and not acknowledged, and what is believed of it.
    pub fn tally(&self, profile: &Profile) -> Tally {
        let out = self.high.saturating_sub(self.una).div_ceil(profile.mss) as u32;
        match &self.selective {
            Some(s) => {
                let [sacked, lost, retransmitted] = s.board.counted();
                Tally { unacked: s.board.len() as u32, sacked, lost, retransmitted }
            }
            None => {
                let lost = match self.recovery {
                    Recovery::Recovery => 1,
                    Recovery::Loss => out,
                    _ => 0,
                };
                let (sacked, retransmitted) = (self.duplicates, self.retransmits_out);
                Tally { unacked: out, sacked: sacked.min(out), lost: lost.min(out), retransmitted }
            }
        }
    }

    /// By how many segments the network was seen to reorder, where the stack learns it.
    pub fn reordering(&self) -> Option<u32> {
        self.selective.as_ref()?.adaptive.get().map(|adaptive| adaptive.reordering)
    }

    /// The smoothed round-trip time, if there was a sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// The mean deviation of the round-trip time.
    pub fn rtt_deviation(&self, profile: &Profile) -> Duration {
        self.rtt.deviation(profile)
    }

    /// When [`Sender::wake`] wants to be called. With `save_metrics` also at once when the connection is over: its metrics are
    /// to be taken then ([`metrics::Metrics`]).
    #[inline]
    pub fn deadline(&self) -> Time {
        match &self.selective {
            None => self.timer,
            Some(s) => self.timer.min(s.early),
        }
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.clock = stamp(now, profile);
        if profile.handshake == Handshake::None {
            return self.begin(profile.agreed_ecn(), now, profile, out);
        }
        self.life = Life::Opening;
        self.send_syn(now, profile, out);
    }

    /// A SYN is ECN-capable only where the profile says so, and as long as it asks for ECN (RFC 3168 section 6.1.1).
    fn send_syn(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if self.tries >= profile.syn_tries {
            return self.die(now);
        }
        let bits = flags::SYN | ecn::offer(profile.ecn, self.tries);
        let asks = bits != flags::SYN || profile.ecn == Ecn::PerPacket;
        out.push(Segment {
            seq: 0,
            payload: 0,
            stamp: self.clock,
            flags: bits,
            ip: profile.opening_bits(if asks { profile.ecn } else { Ecn::Off }),
            again: false,
        });
        self.tries += 1;
        self.timer = profile.due(now, self.rto);
    }

    fn die(&mut self, now: Time) {
        self.life = Life::Dead;
        self.limited.end(now);
        self.timer = Time::NEVER;
        if let Some(s) = &mut self.selective {
            s.early = Time::NEVER;
        }
    }

    /// The application has `more` bytes to send, beyond what it announced; nothing changes for an endless one.
    pub fn offer(&mut self, more: u64, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let Some(size) = self.size.as_mut().filter(|_| more > 0) else { return };
        *size += more;
        if self.life == Life::Done {
            self.life = Life::Open;
        }
        if self.life != Life::Open {
            return;
        }
        self.clock = stamp(now, profile);
        if self.una == self.high {
            self.resume(now, profile);
        }
        self.send_offered(now, profile, out);
    }

    fn send_offered(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let before = out.len();
        self.send_what_fits(now, profile, out);
        if out.len() > before {
            self.after_sending(now, profile);
        }
    }

    /// Slow start after idle: nothing was in flight.
    fn resume(&mut self, now: Time, profile: &Profile) {
        let idle = now.since(self.last_sent);
        self.control.resumed(idle);
        if idle > self.rto {
            self.counts.idle_periods += u32::from(self.high > 0);
            let before = self.window.cwnd;
            self.restart(idle, profile);
            self.counts.restarts += u32::from(self.window.cwnd < before);
        }
    }

    fn restart(&mut self, idle: Duration, profile: &Profile) {
        let initial = profile.initial_window * profile.segment();
        let w = &mut self.window;
        match profile.restart_after_idle {
            IdleRestart::Never => {}
            // RFC 5681 section 4.1: RW = min(IW, cwnd).
            IdleRestart::InitialWindow => w.cwnd = w.cwnd.min(initial),
            IdleRestart::Halving => {
                // RFC 2861 section 3.2: ssthresh remembers three quarters of the window.
                w.ssthresh = w.ssthresh.max(w.cwnd * 0.75);
                let restart = w.cwnd.min(initial);
                let mut left = idle.0.saturating_sub(self.rto.0);
                while left > 0 && w.cwnd > restart {
                    w.cwnd /= 2.0;
                    left = left.saturating_sub(self.rto.0);
                }
                w.cwnd = w.cwnd.max(restart);
            }
            IdleRestart::HalvingWhole => self.restart_in_whole_segments(idle, profile),
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
    }

    /// Linux 3.2: down to the initial window; a threshold that a reduction is on its way to stays.
    fn restart_in_whole_segments(&mut self, idle: Duration, profile: &Profile) {
        let mss = profile.segment();
        if !matches!(self.recovery, Recovery::Reduction | Recovery::Recovery) {
            self.window.ssthresh = self.remembered_threshold(profile);
        }
        let mut segments = (self.window.cwnd / mss) as u64;
        let restart = segments.min(profile.initial_window as u64);
        let mut left = idle.0.saturating_sub(self.rto.0);
        while left > 0 && segments > restart {
            segments >>= 1;
            left = left.saturating_sub(self.rto.0);
        }
        self.window.cwnd = segments.max(restart) as f64 * mss;
        if let Some(adaptive) = self.selective.as_mut().and_then(|s| s.adaptive.get_mut()) {
            (adaptive.used, adaptive.full) = (0, Time(self.last_sent.0 + idle.0));
        }
    }

    /// The threshold that a window remembers: at least three quarters of it, unless it comes down to a lower one (Linux 3.2's
    /// `tcp_current_ssthresh`; what its probe logs).
    pub fn remembered_threshold(&self, profile: &Profile) -> f64 {
        match self.recovery {
            Recovery::Reduction | Recovery::Recovery => self.window.ssthresh,
            _ => self.window.ssthresh.max(three_quarters(self.window.cwnd, profile.segment())),
        }
    }

    /// An acknowledgement arrives with its options; what is to be sent goes to `out`. Inlined where every packet comes by; others
    /// call [`Sender::receive_apart`].
    #[inline(always)]
    pub fn receive(
        &mut self,
        ack: &Packet,
        carried: &Carried,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        self.clock = stamp(now, profile);
        self.ts_val = carried.ts_val;
        if let Some(exposed) = &mut self.exposed {
            exposed.shown = carried.marked;
        }
        match self.life {
            Life::Opening if ack.is(flags::SYN) => self.established(ack, now, profile, out),
            // RFC 9293 section 3.10.7.4: an ACK of something never sent is dropped; the data that would answer it goes the other way.
            Life::Open | Life::Done if ack.seq > self.high => {}
            // A late report of a duplicate still says something to a sender that may get more to send.
            Life::Open | Life::Done if !ack.is(flags::SYN) => {
                if self.selective.is_some() && profile.loss_detection == LossDetection::FackAdaptive {
                    self.adaptive_ack(ack, &carried.report, now, profile, out);
                } else if self.selective.is_some() {
                    self.selective_ack(ack, &carried.report, now, profile, out);
                } else if ack.seq > self.una {
                    self.new_ack(ack, now, profile, out);
                } else if ack.seq == self.una && ack.seq < self.next {
                    self.duplicate_ack(ack, now, profile, out);
                }
            }
            _ => {}
        }
    }

    /// [`Sender::receive`], not inlined.
    #[inline(never)]
    pub fn receive_apart(
        &mut self,
        ack: &Packet,
        carried: &Carried,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        self.receive(ack, carried, now, profile, out);
    }

    fn established(&mut self, ack: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let mode = ecn::settled(profile.ecn, ack.flags);
        let rtt = self.elapsed(ack.stamp, profile);
        self.agree(mode, Some(rtt), self.tries > 1, now, profile);
        if mode.is_re_ecn() && ack.is(flags::AE) {
            self.hear_marked_syn(now, profile);
        }
        let bits = match mode {
            Ecn::Accurate => ecn::flags_of(ecn::reflected(ack.ecn())),
            _ => 0,
        };
        out.push(Segment {
            seq: 0,
            payload: 0,
            stamp: 0,
            flags: flags::ACK | bits,
            ip: profile.ect_where(profile.ecn_on_control && mode != Ecn::Off) as u8,
            again: false,
        });
        self.send_what_fits(now, profile, out);
        self.after_sending(now, profile);
    }

    /// The handshake is over, after `rtt`. `lost`: a SYN had to be sent again.
    fn agree(&mut self, mode: Ecn, rtt: Option<Duration>, lost: bool, now: Time, profile: &Profile) {
        self.life = Life::Open;
        self.timer = Time::NEVER;
        self.marks.mode = mode;
        if mode.is_re_ecn() {
            self.marks.counter = ecn::first(mode);
        }
        self.marks.first = profile.data_field(mode);
        self.marks.again = profile.ect_where(mode != Ecn::Off && profile.ecn_on_retransmissions);
        self.expose(mode, profile);
        self.limited.switch(Limit::Application, now);
        if profile.save_metrics {
            self.recall(profile);
        }
        if lost {
            // RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
            self.window.cwnd = self.window.cwnd.min(profile.segment());
        }
        self.tries = 0;
        let Some(rtt) = rtt else { return };
        self.sample(rtt, profile);
        if profile.cached_srtt > Duration::ZERO {
            self.rtt.remembered(profile.cached_srtt, profile.cached_rttvar, profile);
        }
        self.rto = self.rtt.timeout(profile);
    }

    /// Begins without a handshake.
    fn begin(&mut self, mode: Ecn, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.agree(mode, None, false, now, profile);
        self.send_what_fits(now, profile, out);
        self.after_sending(now, profile);
    }

    /// The end that was opened is open: what it has to send may go. `rtt` is the time that its SYN-ACK took, if that is known;
    /// `lost`: it was sent again.
    pub fn accept(
        &mut self,
        mode: Ecn,
        rtt: Option<Duration>,
        lost: bool,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        self.clock = stamp(now, profile);
        self.agree(mode, rtt, lost, now, profile);
        self.send_what_fits(now, profile, out);
        self.after_sending(now, profile);
    }

    /// The window of the other end has changed: what it lets go.
    pub fn push(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if self.life == Life::Open {
            self.clock = stamp(now, profile);
            self.send_what_fits(now, profile, out);
            self.after_sending(now, profile);
        }
    }

    /// The connection is broken off: nothing is sent any more.
    pub fn break_off(&mut self, now: Time) {
        self.die(now);
    }

    /// The handshake is over: what the profile holds by now of earlier connections counts (Linux's `tcp_init_metrics`).
    #[cold]
    fn recall(&mut self, profile: &Profile) {
        self.window.ssthresh = first_threshold(profile);
        self.control.start(&mut self.window, profile.segment());
        if let Some(s) = &mut self.selective {
            s.adaptive = Kept::new(profile);
        }
    }

    /// Everything sent was acknowledged. Who leaves metrics at the end asks to be woken for it, once.
    fn rest(&mut self, now: Time, profile: &Profile) {
        if profile.save_metrics && self.life == Life::Done {
            return;
        }
        if !self.awaits_window() {
            self.timer = Time::NEVER;
        }
        if self.size == Some(self.una) {
            self.timer = Time::NEVER;
            self.life = Life::Done;
            if profile.save_metrics {
                self.timer = now;
            }
        }
    }

    #[inline(always)]
    fn sample(&mut self, rtt: Duration, profile: &Profile) {
        self.rtt.sample(rtt, self.una, self.next, profile);
    }

    /// Full segments in `bytes`, those of earlier ACKs that filled none included.
    #[inline(always)]
    fn whole_segments(&mut self, bytes: u64, mss: u64) -> u64 {
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

    /// Congestion marks that an ACK reports, which newly covers `packets` segments. The first of a round trip is a congestion
    /// event, unless the control deals with each of them. `bytes`: what the ACK newly delivers.
    #[inline(never)]
    fn congestion_marks(
        &mut self,
        ack: &Packet,
        packets: u32,
        bytes: u64,
        now: Time,
        profile: &Profile,
    ) -> u32 {
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
                let marks = ecn::newly_marked(shown, self.marks.counter, packets);
                self.marks.counter = shown;
                marks
            }
        };
        if marks == 0 {
            if let Some(exposed) = &mut self.exposed {
                exposed.echoing = false;
            }
            return 0;
        }
        self.answer_marks(ack, marks, bytes, now, profile)
    }

    /// The same, where there are some. Apart, so that ACKs without one do not pay for it.
    #[inline(never)]
    fn answer_marks(&mut self, ack: &Packet, marks: u32, bytes: u64, now: Time, profile: &Profile) -> u32 {
        self.marks.reported += u64::from(marks);
        let calm = matches!(self.recovery, Recovery::Open | Recovery::Disorder);
        let reduces = calm && ack.seq > self.marks.reduced_to && !self.takes_every_mark;
        if reduces {
            self.reduce_for_marks(now, profile);
        }
        if self.exposed.is_some() {
            self.hear_marks(marks, reduces, bytes, now, profile);
        }
        marks
    }

    /// RFC 3168 section 6.1.2: as for a loss, but nothing is sent again. The window may come down to one segment.
    fn reduce_for_marks(&mut self, now: Time, profile: &Profile) {
        let mss = profile.segment();
        let flight = (self.next - self.una) as f64;
        let event =
            Congestion { signal: Signal::Mark, now, flight: flight.min(self.window.cwnd.max(mss)), mss };
        let before = self.window;
        self.lower_threshold(&event, event.signal, profile);
        self.reduced();
        if self.selective.is_some()
            && matches!(
                profile.reduction,
                Reduction::ProportionalAlways | Reduction::RateHalving | Reduction::ProportionalOrHalving
            )
        {
            self.begin_reduction();
        } else {
            self.window.cwnd = self.control.after_mark(&before, &event, self.window.ssthresh);
        }
    }

    /// The threshold after a congestion event, which has this cause.
    fn lower_threshold(&mut self, event: &Congestion, cause: Signal, profile: &Profile) {
        self.counts.reduced(cause);
        let threshold = self.control.reduce(&self.window, event);
        let before = self.window.ssthresh;
        self.window.ssthresh = if profile.whole_segments {
            let mss = profile.segment();
            ((threshold / mss) as u64 as f64 * mss).max(self.control.floor(mss))
        } else {
            threshold
        };
        self.counts.threshold_falls += u32::from(self.window.ssthresh < before);
    }

    /// The window was reduced, for whatever reason: the receiver is told (RFC 3168 section 6.1.2), and marks of this
    /// window of data say nothing new.
    #[inline]
    fn reduced(&mut self) {
        self.marks.reduced_to = self.high;
        self.marks.send_cwr = true;
    }

    /// A mark has lowered the threshold in this window of data: a loss in it is the same event (RFC 3168 section 6.1.2).
    #[inline]
    fn same_event(&self) -> bool {
        self.marks.mode != Ecn::Off && self.una < self.marks.reduced_to
    }

    /// The window after an ACK of new data outside recovery.
    #[inline(always)]
    fn grow(&mut self, news: Growth, marks: u32, now: Time, profile: &Profile) {
        let w = &self.window;
        let used = match (profile.window_validation, profile.window_used) {
            (false, _) => true,
            (true, WindowUse::Segment) => {
                news.flight + profile.segment() > w.cwnd
                    || (w.cwnd < w.ssthresh && w.cwnd < 2.0 * news.flight)
                    || (profile.segmentation_offload
                        && (self.burst_was_awaited(news.flight, profile) || self.window_was_used(profile)))
            }
            (true, WindowUse::Third) => self.third_is_used(news.flight, profile),
        };
        if !used {
            return self.hold_back(now);
        }
        if marks > 0 && !self.takes_every_mark {
            return;
        }
        let acked = self.acked(&news, None, marks, now, profile);
        if profile.slow_start_at_threshold && self.window.cwnd == self.window.ssthresh {
            return self.grow_at_threshold(&acked);
        }
        self.control.grow(&mut self.window, &acked);
    }

    /// The window was not used to the full.
    #[cold]
    #[inline(never)]
    fn hold_back(&mut self, now: Time) {
        self.control.held(now);
    }

    /// Whether so little is free that an offloaded segment may wait for more, or that reordering explains it (Linux 3.2's
    /// `tcp_is_cwnd_limited`): less than a third of the window and of the largest such segment.
    #[inline(never)]
    fn third_is_used(&self, flight: f64, profile: &Profile) -> bool {
        let cwnd = self.window.cwnd;
        let left = cwnd - flight;
        let given = profile.cached_reordering.filter(|_| self.selective.is_some());
        let reordering = self.reordering().or(given).unwrap_or(profile.duplicate_threshold);
        left <= f64::from(reordering) * profile.segment() || (3.0 * left < cwnd && left < 65_536.0)
    }

    #[inline(always)]
    fn acked(
        &self,
        news: &Growth,
        one_way: Option<Duration>,
        marks: u32,
        now: Time,
        profile: &Profile,
    ) -> Acked {
        Acked {
            now,
            una: news.una,
            next: self.next,
            bytes: news.bytes,
            segments: news.segments,
            mss: profile.segment(),
            flight: news.flight,
            rtt: news.rtt,
            one_way,
            marks,
        }
    }

    /// The control hears of an ACK of new data, before anything grows.
    #[inline(never)]
    fn pass_to_control(&mut self, ack: &Packet, news: Growth, marks: u32, now: Time, profile: &Profile) {
        let clock = self.ts_val;
        let ticks = clock.wrapping_sub(ack.stamp);
        let one_way = (clock != 0).then(|| Duration(u64::from(ticks) * profile.clock_tick.0));
        let acked = self.acked(&news, one_way, marks, now, profile);
        let before = self.window;
        self.control.on_ack(&mut self.window, &acked, self.recovery == Recovery::Open);
        self.counts.reductions.mark +=
            u32::from(marks > 0 && self.takes_every_mark && self.window.cwnd < before.cwnd);
        self.counts.threshold_falls += u32::from(self.window.ssthresh < before.ssthresh);
    }

    /// One step of slow start at the threshold itself, which stays.
    #[inline(never)]
    fn grow_at_threshold(&mut self, acked: &Acked) {
        let threshold = self.window.ssthresh;
        self.window.ssthresh += acked.mss;
        self.control.grow(&mut self.window, acked);
        self.window.ssthresh = threshold;
    }

    /// Time since the clock showed `stamp`; it may have wrapped once.
    #[inline]
    fn elapsed(&self, stamp: u32, profile: &Profile) -> Duration {
        Duration(u64::from(self.clock.wrapping_sub(stamp)) * profile.clock_tick.0)
    }

    /// A timer's time has come (RFC 6298 section 5.4 to 5.6, RFC 8985 section 6.3 and 7.3).
    pub fn wake(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if now < self.deadline() {
            return;
        }
        self.clock = stamp(now, profile);
        match self.life {
            Life::Opening => {
                self.rto = self.rto + self.rto;
                self.send_syn(now, profile, out);
            }
            Life::Open if self.selective.is_some() => self.selective_timer(now, profile, out),
            Life::Open => {
                if self.flow.is_none() || !self.persist_timer(now, profile, out) {
                    self.timed_out(now, profile, out);
                }
            }
            _ => self.timer = Time::NEVER,
        }
    }

    /// One beyond the last byte in the send buffer.
    #[inline]
    fn data_end(&self, profile: &Profile) -> u64 {
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
    fn next_payload(&self, profile: &Profile) -> u64 {
        let mss = profile.mss;
        let (ahead, slack) = (self.next - self.una, mss + u64::from(profile.write.unwrap_or(1)));
        if self.size.is_none() && ahead + slack <= self.reach {
            return mss; // far from the end of the buffer: spares a division
        }
        self.last_payload(profile)
    }

    /// The same near the end of the buffer.
    #[inline(never)]
    fn last_payload(&self, profile: &Profile) -> u64 {
        if self.flow.is_some() {
            return self.next_of_queue(profile);
        }
        (self.data_end(profile) - self.next).min(profile.mss)
    }

    /// Sends what the window allows.
    #[inline]
    fn send_what_fits(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if self.selective.is_some() {
            self.send_by_pipe(now, profile, out)
        } else {
            self.send_pending(now, profile, out)
        }
    }

    /// Sending has stopped, for this reason.
    #[inline(always)]
    fn held(&mut self, by: Limit, now: Time) {
        if self.limited.by != by {
            self.limited.switch(by, now);
        }
    }

    /// The congestion window has no room for the next segment, if there is one.
    #[inline(always)]
    fn held_by_window(&mut self, now: Time) {
        if self.limited.by != Limit::Congestion && self.size != Some(self.next) {
            self.limited.switch(Limit::Congestion, now);
        }
    }

    /// After anything was sent or acknowledged: the timers that go beside the retransmission timer.
    #[inline]
    fn after_sending(&mut self, now: Time, profile: &Profile) {
        if profile.tail_loss_probe {
            self.arm_probe(now, profile);
        }
    }

    #[inline(always)]
    fn send_next(&mut self, payload: u64, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if profile.rtt == RttSource::OneSegment && self.next == self.high {
            self.timed.begin(self.next + payload, now);
        }
        self.emit(self.next, payload, now, profile, out);
        self.next += payload;
        self.high = self.high.max(self.next);
    }

    /// New data is ECN-capable; what is sent again is not (RFC 3168 section 6.1.5), unless the profile says so.
    #[inline(always)]
    fn emit(&mut self, seq: u64, payload: u64, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let again = seq < self.high;
        self.retransmitted += u32::from(again);
        let mut bits = 0;
        let mut ip = if again { self.marks.again } else { self.marks.first } as u8;
        if self.exposed.is_some() {
            ip = self.say(seq, payload, again, ip, now, profile);
        }
        if self.marks.send_cwr && self.marks.mode == Ecn::Classic && !again {
            bits |= flags::CWR;
            self.marks.send_cwr = false;
        }
        out.push(Segment { seq, payload: payload as u16, stamp: self.clock, flags: bits, ip, again });
        self.last_sent = now;
        if self.timer == Time::NEVER {
            self.timer = profile.due(now, self.rto);
        }
    }
}

/// The slow-start threshold of a connection that opens, bytes.
fn first_threshold(profile: &Profile) -> f64 {
    match profile.cached_ssthresh {
        Some(segments) => f64::from(segments) * profile.segment(),
        None if profile.threshold_from_window => profile.max_window as f64,
        None => f64::INFINITY,
    }
}

/// What an ACK means for the window.
#[derive(Clone, Copy, Debug)]
struct Growth {
    una: u64,
    bytes: u64,
    segments: u64,
    /// Bytes in flight before it.
    flight: f64,
    rtt: Option<Duration>,
}

/// Three quarters of a window in whole segments, each quarter cut off by itself, bytes.
fn three_quarters(cwnd: f64, mss: f64) -> f64 {
    let segments = (cwnd / mss) as u64;
    ((segments >> 1) + (segments >> 2)) as f64 * mss
}

/// The timestamp clock's value.
#[inline]
fn stamp(now: Time, profile: &Profile) -> u32 {
    profile.clock_at(now)
}

#[cfg(test)]
mod tests;
