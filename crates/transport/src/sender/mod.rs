//! The sending end: handshake, sliding window, timers, ECN.
//!
//! A [`Sender`] is a [`core::Core`], with what every loss recovery needs, and one of the recoveries in
//! [`recovery`]. Sequence numbers are offsets into the byte stream; SYN takes none. States and rules follow
//! the profile, whose options are listed in docs/tcp.md. Not here: the states of a connection that closes,
//! ACKs on data ([`crate::Connection`]).

mod core;
mod counts;
mod flow;
pub mod metrics;
pub mod observe;
mod recovery;

use evenflow_base::{Carried, Duration, Packet, Time, flags};

use crate::congestion_control::{CongestionControl, Window};
use crate::exposure::Exposure;
use crate::profile::{Ecn, Handshake, IdleRestart};
use crate::{Profile, Segment, ecn};

pub use crate::congestion_control::Recovery;
pub use counts::{Counts, Limit, Reductions};
pub use recovery::board;

use self::core::{Context, Core};
use recovery::{Algorithm, LossRecovery, recovery};

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

/// Segments that were sent and not acknowledged, as Linux's `tcp_info` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub unacked: u32,
    /// Reported by SACK; without it, duplicate ACKs.
    pub sacked: u32,
    /// Lost by estimate, retransmitted or not. Without SACK: the first one in a fast recovery, all after a
    /// timeout.
    pub lost: u32,
    /// Retransmitted, and in flight by estimate.
    pub retransmitted: u32,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    core: Core,
    recovery: Algorithm,
}

impl Sender {
    /// A connection that will carry `size` bytes (`None`: endless).
    pub fn new(profile: &Profile, control: CongestionControl, size: Option<u64>) -> Sender {
        let core = Core::new(profile, control, size);
        Sender { recovery: Algorithm::new(profile, core.needs), core }
    }

    /// As new, for an application that has written nothing. It reuses memory.
    pub fn renew(&mut self, profile: &Profile, control: CongestionControl) {
        let flow = self.core.flow.take();
        self.core = Core::new(profile, control, Some(0));
        self.core.flow = flow;
        self.recovery.renew(profile, self.core.needs);
        self.talk(profile);
    }

    /// Bytes on the heap: the scoreboard, the control, flow control, ConEx, pacing.
    pub fn heap_bytes(&self) -> u64 {
        let core = &self.core;
        recovery!(&self.recovery, recovery => recovery.heap_bytes())
            + core.control.heap_bytes()
            + core.flow.as_ref().map_or(0, |flow| size_of_val(&**flow) as u64)
            + core.bytes.as_ref().map_or(0, |bytes| size_of_val(&**bytes) as u64)
            + core.exposed.as_ref().map_or(0, |exposed| exposed.heap_bytes())
            + core.departures.as_ref().map_or(0, |departures| departures.heap_bytes())
    }

    /// The congestion window and threshold.
    #[inline]
    pub fn window(&self) -> Window {
        self.core.window()
    }

    /// The congestion control, for what it lets be seen.
    pub fn control(&self) -> &CongestionControl {
        &self.core.control
    }

    /// Where the connection is in its life.
    pub fn life(&self) -> Life {
        self.core.life
    }

    /// The state of loss recovery.
    pub fn recovery(&self) -> Recovery {
        self.core.state
    }

    /// The negotiated ECN mode.
    pub fn ecn(&self) -> Ecn {
        self.core.marks.mode
    }

    /// Congestion marks that ACKs reported so far.
    pub fn marks_reported(&self) -> u64 {
        self.core.marks.reported
    }

    /// Bytes that the AccECN option reported by codepoint, each counter with its first value; `None`: the option is off.
    pub fn bytes_reported(&self) -> Option<[u64; 3]> {
        self.core.bytes.as_ref().map(|bytes| bytes.bytes())
    }

    /// Whether no packet is ECN-capable, because the path mangles its field.
    #[inline]
    pub fn is_barred(&self) -> bool {
        self.core.marks.barred
    }

    /// Segments retransmitted so far.
    #[inline]
    pub fn retransmitted(&self) -> u64 {
        u64::from(self.core.retransmitted)
    }

    /// Its counters.
    pub fn counts(&self) -> Counts {
        self.core.counts
    }

    /// How long up to `now` each [`Limit`] held it back, in their order.
    pub fn limited(&self, now: Time) -> [Duration; 3] {
        self.core.limited.until(now)
    }

    /// Bytes believed to be in the network.
    pub fn in_flight(&self, profile: &Profile) -> f64 {
        recovery!(&self.recovery, recovery => recovery.in_flight(&self.core, profile))
    }

    /// Segments that were sent and not acknowledged.
    pub fn tally(&self, profile: &Profile) -> Tally {
        recovery!(&self.recovery, recovery => recovery.tally(&self.core, profile))
    }

    /// By how many segments the network was seen to reorder, where the recovery learns it.
    pub fn reordering(&self) -> Option<u32> {
        match &self.recovery {
            Algorithm::Linux3_2(linux) => Some(linux.reordering),
            _ => None,
        }
    }

    /// The threshold that a window remembers (Linux's `tcp_current_ssthresh`).
    pub fn remembered_threshold(&self, profile: &Profile) -> f64 {
        self.core.remembered_threshold(profile)
    }

    /// The smoothed round-trip time, if there was a sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.core.rtt.smoothed()
    }

    /// The last sample of the round-trip time, once.
    #[inline]
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.core.rtt.take_sample()
    }

    /// The mean deviation of the round-trip time.
    pub fn rtt_deviation(&self, profile: &Profile) -> Duration {
        self.core.rtt.deviation(profile)
    }

    /// Its gauges, where it is a ConEx sender.
    pub fn exposure(&self) -> Option<&Exposure> {
        self.core.exposed.as_ref().map(|exposed| &exposed.exposure)
    }

    /// The same, for who moves what flows of one user owe.
    pub fn exposure_mut(&mut self) -> Option<&mut Exposure> {
        self.core.exposed.as_mut().map(|exposed| &mut exposed.exposure)
    }

    /// When [`Sender::wake`] is due. With `save_metrics` also immediately when the connection is over: its
    /// metrics are to be taken then ([`metrics::Metrics`]).
    #[inline]
    pub fn deadline(&self) -> Time {
        let timer = match &self.recovery {
            Algorithm::Selective(recovery) => self.core.timer.min(recovery.early()),
            Algorithm::DuplicateAcks(_) | Algorithm::Linux3_2(_) => self.core.timer,
        };
        timer.min(self.core.release())
    }

    /// Opens the connection.
    pub fn open(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.core.clock = profile.clock_at(now);
        if profile.handshake == Handshake::None {
            return self.begin(profile.agreed_ecn(), now, profile, out);
        }
        self.core.life = Life::Opening;
        self.send_syn(now, profile, out);
    }

    /// A SYN is ECN-capable only where the profile says so, and as long as it asks for ECN (RFC 3168 section
    /// 6.1.1).
    fn send_syn(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if self.core.tries >= profile.syn_tries + profile.linear_syns() {
            return self.core.die(now);
        }
        let bits = flags::SYN | ecn::offer(profile.ecn, self.core.tries);
        let asks = bits != flags::SYN || profile.ecn == Ecn::PerPacket;
        out.push(Segment {
            seq: 0,
            payload: 0,
            stamp: self.core.clock,
            flags: bits,
            ip: profile.opening_bits(if asks { profile.ecn } else { Ecn::Off }),
            again: false,
        });
        self.core.tries += 1;
        self.core.timer = profile.due(now, self.core.rto);
    }

    /// The application has `more` bytes to send, beyond what it announced; nothing changes for an endless
    /// one.
    pub fn offer(&mut self, more: u64, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let Some(size) = self.core.size.as_mut().filter(|_| more > 0) else { return };
        *size += more;
        if self.core.life == Life::Done {
            self.core.life = Life::Open;
        }
        if self.core.life != Life::Open {
            return;
        }
        self.core.clock = profile.clock_at(now);
        if self.core.una == self.core.high {
            self.resume(now, profile);
        }
        self.send(now, profile, out);
    }

    /// Slow start after idle: nothing was in flight.
    fn resume(&mut self, now: Time, profile: &Profile) {
        let idle = now.since(self.core.last_sent);
        self.core.control.on_idle_restart(idle);
        if idle > self.core.rto {
            self.core.counts.idle_periods += u32::from(self.core.high > 0);
            let before = self.window().cwnd;
            self.core.restart(idle, profile);
            self.core.counts.restarts += u32::from(self.window().cwnd < before);
            if profile.restart_after_idle == IdleRestart::HalvingWhole
                && let Some(scoreboard) = recovery!(&mut self.recovery, recovery => recovery.scoreboard_mut())
            {
                scoreboard.on_idle_restart(now);
            }
        }
    }

    /// An acknowledgement arrives with its options; segments to send go to `out`. Inlined on the path of
    /// every packet; other callers use [`Sender::receive_apart`].
    #[inline(always)]
    pub fn receive(
        &mut self,
        ack: &Packet,
        carried: &Carried,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        self.core.clock = profile.clock_at(now);
        self.core.ts_val = carried.ts_val;
        if let Some(exposed) = &mut self.core.exposed {
            exposed.shown = carried.marked;
        }
        if let Some(bytes) = &mut self.core.bytes {
            bytes.hear(carried.accurate);
        }
        match self.core.life {
            Life::Opening if ack.is(flags::SYN) => self.established(ack, now, profile, out),
            // RFC 9293 section 3.10.7.4: an ACK of something never sent is dropped; the data that would
            // answer it goes the other way.
            Life::Open | Life::Done if ack.seq > self.core.high => {}
            // A late report of a duplicate still matters to a sender that may get more to send.
            Life::Open | Life::Done if !ack.is(flags::SYN) => {
                let x = &mut Context { now, profile, out };
                recovery!(&mut self.recovery, recovery => {
                    recovery.on_ack(&mut self.core, ack, &carried.report, x);
                });
                if self.core.needs.rate_samples && self.core.limited.by == Limit::Application {
                    self.note_application_limit(profile);
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
        let rtt = self.core.elapsed(ack.stamp, profile);
        if profile.accurate_ecn_option && mode == Ecn::Accurate && self.core.tries <= 2 {
            let sent = evenflow_base::Ecn::of(profile.opening_bits(mode));
            self.core.marks.barred |= ecn::is_mangled(sent, ecn::number_of(ack.flags));
        }
        self.agree(mode, Some(rtt), self.core.tries > 1, now, profile);
        if mode.is_re_ecn() && ack.is(flags::AE) {
            self.core.hear_marked_syn(now, profile);
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
            ip: profile.ect_where(profile.ecn_on_control && mode != Ecn::Off && !self.is_barred()) as u8,
            again: false,
        });
        self.send(now, profile, out);
    }

    fn agree(&mut self, mode: Ecn, rtt: Option<Duration>, lost: bool, now: Time, profile: &Profile) {
        self.core.agree(mode, rtt, lost, now, profile);
        if profile.save_metrics {
            recovery!(&mut self.recovery, recovery => recovery.on_established(profile));
        }
    }

    /// Begins without a handshake.
    fn begin(&mut self, mode: Ecn, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        self.agree(mode, None, false, now, profile);
        self.send(now, profile, out);
    }

    /// Before [`Sender::accept`], accurate ECN: `marked`, the SYN-ACK arrived marked (RFC 9768 section
    /// 3.2.2.2); `barred`, this end sends no ECN-capable packet (section 3.1.5).
    pub fn note_handshake(&mut self, marked: bool, barred: bool) {
        self.core.note_handshake(marked, barred);
    }

    /// The passive end is open: queued data may leave. `rtt` is that of its SYN-ACK, if known; `lost`: it was
    /// retransmitted.
    pub fn accept(
        &mut self,
        mode: Ecn,
        rtt: Option<Duration>,
        lost: bool,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) {
        self.core.clock = profile.clock_at(now);
        self.agree(mode, rtt, lost, now, profile);
        self.send(now, profile, out);
    }

    /// The window of the other end has changed: what it lets go.
    pub fn push(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if self.core.life == Life::Open {
            self.core.clock = profile.clock_at(now);
            self.send(now, profile, out);
        }
    }

    /// The connection is broken off: nothing is sent any more.
    pub fn break_off(&mut self, now: Time) {
        self.core.die(now);
        recovery!(&mut self.recovery, recovery => recovery.stop());
    }

    /// Whether a wake-up at `now` lets a segment leave that pacing held.
    #[inline(always)]
    pub fn releases(&self, now: Time) -> bool {
        now >= self.core.release() && self.core.life == Life::Open
    }

    /// That segment and those behind it leave. Returns the [`Sender::deadline`].
    #[inline(always)]
    pub fn release(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) -> Time {
        self.core.clock = profile.clock_at(now);
        self.core.end_wait();
        let before = out.len();
        let timer = recovery!(&mut self.recovery, recovery => {
            let x = &mut Context { now, profile, out };
            recovery.transmit(&mut self.core, x);
            if x.out.len() > before {
                recovery.after_sending(&mut self.core, x);
            }
            self.core.timer.min(recovery.early())
        });
        if self.core.needs.rate_samples && self.core.limited.by == Limit::Application {
            self.note_application_limit(profile);
        }
        timer.min(self.core.release())
    }

    /// A timer fired (RFC 6298 section 5.4 to 5.6, RFC 8985 section 6.3 and 7.3), or a segment that pacing
    /// held may leave.
    pub fn wake(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if now < self.deadline() {
            return;
        }
        self.core.clock = profile.clock_at(now);
        match self.core.life {
            Life::Opening => {
                if self.core.tries > profile.linear_syns() {
                    self.core.rto = self.core.rto + self.core.rto;
                }
                self.send_syn(now, profile, out);
            }
            Life::Open if now >= self.core.release() => {
                self.core.end_wait();
                self.send(now, profile, out);
            }
            Life::Open => {
                if now >= recovery!(&self.recovery, recovery => recovery.early()) {
                    let x = &mut Context { now, profile, out };
                    recovery!(&mut self.recovery, recovery => recovery.on_early_timer(&mut self.core, x));
                } else if self.core.flow.is_none() || !self.persist_timer(now, profile, out) {
                    let x = &mut Context { now, profile, out };
                    recovery!(&mut self.recovery, recovery => recovery.on_timeout(&mut self.core, x));
                }
            }
            _ => {
                self.core.timer = Time::NEVER;
                self.core.end_wait();
                recovery!(&mut self.recovery, recovery => recovery.stop());
            }
        }
    }

    /// Sends what window and pacing let out, and sets the timers that follow if anything was sent.
    fn send(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let before = out.len();
        self.transmit(now, profile, out);
        if out.len() > before {
            self.after_sending(now, profile, out);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let x = &mut Context { now, profile, out };
        recovery!(&mut self.recovery, recovery => recovery.transmit(&mut self.core, x));
        if self.core.needs.rate_samples && self.core.limited.by == Limit::Application {
            self.note_application_limit(profile);
        }
    }

    fn after_sending(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let x = &Context { now, profile, out };
        recovery!(&mut self.recovery, recovery => recovery.after_sending(&mut self.core, x));
    }

    #[cold]
    fn note_application_limit(&mut self, profile: &Profile) {
        let in_flight = self.in_flight(profile) as u64;
        self.core.note_application_limit(in_flight);
    }
}

#[cfg(test)]
mod tests;
