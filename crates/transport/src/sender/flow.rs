//! Flow control of an end that an application writes to: the window that the other end tells, what of the queue may go
//! (RFC 9293 section 3.8.6, RFC 1122 section 4.2.3.4), and probes of a window that is closed.
//!
//! A FIN takes one sequence number (RFC 9293 section 3.4). Here it is one byte more in the queue, so that loss recovery need not
//! know of it; whoever runs the sender writes it as a flag ([`Sender::carries_fin`]).

use evenflow_base::{Carried, Duration, Packet, Time};

use crate::profile::WindowProbe;
use crate::rtt::Timed;
use crate::{Profile, Segment};

use super::{Life, Limit, Sender};

/// The override timeout: where something may go, but not enough to be worth a segment (RFC 1122 section 4.2.3.4: 0.1 to 1 s).
const OVERRIDE: Duration = Duration::from_millis(1000);

/// What a sender knows of the other end's window.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// One beyond the last byte that may be sent; [`UNTOLD`]: the other end told no window, and the profile's holds.
    edge: u64,
    /// SND.WL1 and SND.WL2.
    last: (u64, u64),
    /// Max(SND.WND).
    largest: u64,
    /// The queue ends with a FIN.
    fin: bool,
    /// Probes since the window closed.
    probes: u32,
    /// The timer is that of the window.
    waits: bool,
    /// The byte that the last probe was, beyond what was sent, and when it went; never: it was none.
    octet: (u64, Time),
    /// The override timeout is over: what fits goes, however short.
    forced: bool,
}

/// Beyond every number.
const UNTOLD: u64 = u64::MAX;

/// No probe was a byte of the stream.
const NO_OCTET: (u64, Time) = (0, Time::NEVER);

impl Flow {
    /// The last probe was this byte.
    fn has_octet(&self, seq: u64) -> bool {
        self.octet.1 != Time::NEVER && self.octet.0 == seq
    }
}

impl Sender {
    /// An application writes to this end: it has flow control.
    pub fn talk(&mut self, profile: &Profile) {
        let fresh = Flow {
            edge: UNTOLD,
            last: (0, 0),
            largest: profile.max_window,
            fin: false,
            probes: 0,
            waits: false,
            octet: NO_OCTET,
            forced: false,
        };
        match &mut self.flow {
            Some(flow) => **flow = fresh,
            None => self.flow = Some(Box::new(fresh)),
        }
    }

    /// The application has no more to send.
    pub fn finish(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let (Some(flow), Some(size)) = (&mut self.flow, &mut self.size) else { return };
        flow.fin = true;
        *size += 1;
        if self.life == Life::Done {
            self.life = Life::Open;
        }
        if self.life == Life::Open {
            self.clock = profile.clock_at(now);
            self.send_offered(now, profile, out);
            self.persist(now, profile);
        }
    }

    /// Takes back what is queued and was never sent; gives the number of bytes.
    pub fn withdraw(&mut self) -> u64 {
        let sent = self.high + u64::from(self.octet_is_out());
        if self.finishes() {
            return 0;
        }
        let Some(size) = &mut self.size else { return 0 };
        let back = size.saturating_sub(sent);
        *size -= back;
        back
    }

    /// Whether the FIN was sent for, and all before it.
    pub fn finishes(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.fin)
    }

    /// Whether everything is acknowledged, the FIN included.
    pub fn finished(&self) -> bool {
        self.finishes() && self.size == Some(self.una)
    }

    /// Whether a segment that ends at `end` holds the FIN.
    #[inline]
    pub fn carries_fin(&self, end: u64) -> bool {
        self.size == Some(end) && self.finishes()
    }

    /// Bytes that the application wrote.
    pub fn written(&self) -> u64 {
        self.size.unwrap_or(self.high) - u64::from(self.finishes())
    }

    /// Those of them that are not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.written().saturating_sub(self.una)
    }

    /// The first number that is not acknowledged (SND.UNA), and the next new one (SND.NXT).
    #[inline]
    pub fn numbers(&self) -> (u64, u64) {
        (self.una, self.high)
    }

    /// A segment numbered `seq` acknowledges `ack` and tells a window of `window` bytes. It counts unless a later segment told
    /// one (RFC 9293 section 3.10.7.4), also where the edge moves back by it. Says whether it let anything new.
    pub fn window_told(&mut self, seq: u64, ack: u64, window: u64) -> bool {
        let most = self.high + u64::from(self.octet_is_out());
        let Some(flow) = &mut self.flow else { return false };
        if ack < self.una || ack > most || (seq, ack) < flow.last {
            return false;
        }
        flow.last = (seq, ack);
        flow.largest = if flow.edge != UNTOLD { flow.largest.max(window) } else { window };
        let before = std::mem::replace(&mut flow.edge, ack + window);
        before != flow.edge
    }

    /// The acknowledgement `ack` arrives, alone or on a segment that `holds` data, with the number and window, in bytes, of a
    /// segment that tells one; `false`: it is of something that was never sent.
    #[expect(clippy::too_many_arguments, reason = "a segment and what is known of it")]
    pub fn hear(
        &mut self,
        ack: &Packet,
        carried: &Carried,
        window: Option<(u64, u64)>,
        holds: bool,
        now: Time,
        profile: &Profile,
        out: &mut Vec<Segment>,
    ) -> bool {
        self.answered(ack.seq);
        let (una, next) = self.numbers();
        if ack.seq > next {
            return false;
        }
        let news = window.is_some_and(|(seq, window)| self.window_told(seq, ack.seq, window));
        // A duplicate ACK holds nothing and leaves the window as it is (RFC 5681 section 2).
        let counts = !holds && !news && !self.is_closed(profile);
        if profile.sack || ack.seq > una || counts {
            self.receive_apart(ack, carried, now, profile, out);
        }
        if news {
            self.push(now, profile, out);
        }
        self.persist(now, profile);
        true
    }

    /// One beyond the last byte that the other end's window lets go.
    #[inline]
    pub fn edge(&self, profile: &Profile) -> u64 {
        match &self.flow {
            Some(flow) if flow.edge != UNTOLD => flow.edge,
            Some(_) => self.una.saturating_add(profile.largest_window()),
            None => u64::MAX,
        }
    }

    /// Whether the window is closed: not even the first unacknowledged byte may go.
    pub fn is_closed(&self, profile: &Profile) -> bool {
        self.edge(profile) <= self.una
    }

    /// One beyond the last byte that the application wrote, the FIN included.
    fn queue_end(&self) -> u64 {
        self.size.unwrap_or(u64::MAX)
    }

    /// The longest segment that begins at `from`: a FIN goes with a full one.
    fn longest(&self, from: u64, profile: &Profile) -> u64 {
        let last = self.carries_fin(from + profile.mss + 1);
        profile.mss + u64::from(last)
    }

    /// The payload of the next segment (RFC 1122 section 4.2.3.4): a full one, all that is queued, or half of the largest window
    /// that was ever told. With Nagle's algorithm the latter two wait while anything is unacknowledged; a FIN does not.
    #[inline(never)]
    pub(super) fn next_of_queue(&self, profile: &Profile) -> u64 {
        let Some(flow) = &self.flow else { return 0 };
        let queued = self.queue_end().saturating_sub(self.next);
        let usable = self.edge(profile).saturating_sub(self.next);
        let payload = queued.min(usable).min(self.longest(self.next, profile));
        if payload >= profile.mss || flow.forced || self.next < self.high {
            return payload;
        }
        let all = queued <= usable;
        let waits = profile.nagle && self.next > self.una && !(all && flow.fin);
        if !waits && (all || 2 * payload >= flow.largest) { payload } else { 0 }
    }

    /// What the receive window leaves of a burst that has begun with a full segment: Linux hands a burst to the network card cut at
    /// the window's edge (`tcp_mss_split_point`, since 3.14), so that its last segment is short. A burst that ends before, or
    /// would begin with a short one, is not cut so.
    #[cold]
    #[inline(never)]
    pub(super) fn cut_by_window(&self, profile: &Profile) -> u64 {
        let edge = match &self.flow {
            _ if profile.nagle => return 0,
            Some(_) => self.edge(profile),
            None if profile.write.is_none() && profile.buffer() >= profile.max_window => {
                self.una.saturating_add(profile.largest_window())
            }
            None => return 0,
        };
        edge.min(self.queue_end()).saturating_sub(self.next).min(profile.mss)
    }

    /// The payload of the first unacknowledged segment, as it is sent again without SACK.
    pub(super) fn first_payload(&self, profile: &Profile) -> u64 {
        if self.flow.is_none() {
            return (self.data_end(profile) - self.una).min(profile.mss);
        }
        let end = self.queue_end().min(self.edge(profile));
        end.saturating_sub(self.una).min(self.longest(self.una, profile))
    }

    /// Whether segment `i` of the scoreboard may be sent again: what lies beyond the edge may not, and is split from it.
    pub(super) fn may_resend(&mut self, i: usize, profile: &Profile) -> bool {
        if self.flow.is_none() {
            return true;
        }
        let edge = self.edge(profile);
        self.selective().board.split(i, edge)
    }

    /// What keeps back the next segment, where it is not the congestion window.
    #[inline(never)]
    pub(super) fn held_back_by(&self, profile: &Profile) -> Limit {
        let by_window = match &self.flow {
            Some(_) => self.queue_end() > self.edge(profile).max(self.next),
            None => self.size.is_none_or(|size| size > self.next) && profile.buffer() >= profile.max_window,
        };
        if by_window { Limit::Receive } else { Limit::Application }
    }

    /// Whether the timer that runs is that of the window.
    pub(super) fn awaits_window(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.waits)
    }

    fn octet_is_out(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.has_octet(self.high))
    }

    /// Whether something is queued that only a larger window, or the override timeout, lets go.
    fn persists(&self, profile: &Profile) -> bool {
        self.flow.is_some()
            && self.life == Life::Open
            && (self.is_closed(profile) || self.una == self.high)
            && self.size.is_some_and(|size| size > self.una)
    }

    /// After every call: a timer runs where the window alone holds back what is queued, for a lost update would be waited for in
    /// vain (RFC 9293 section 3.8.6.1).
    pub fn persist(&mut self, now: Time, profile: &Profile) {
        let waits = self.persists(profile);
        let Some(flow) = &mut self.flow else { return };
        let waited = std::mem::replace(&mut flow.waits, waits);
        if !waits {
            flow.probes = 0;
            if waited && self.una < self.high {
                self.timer = profile.due(now, self.rto); // data again
            }
            return;
        }
        if self.timer == Time::NEVER {
            let wait =
                if self.is_closed(profile) { self.until_probe(profile) } else { self.rto.min(OVERRIDE) };
            self.timer = profile.due(now, wait);
        }
    }

    /// The timer fired: a probe, or what fits though it is little. `false`: it is the retransmission timer after all.
    pub(super) fn persist_timer(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) -> bool {
        if !self.persists(profile) {
            return false;
        }
        self.timer = Time::NEVER;
        if !self.is_closed(profile) {
            if let Some(flow) = &mut self.flow {
                flow.forced = true;
            }
            self.send_what_fits(now, profile, out);
            if let Some(flow) = &mut self.flow {
                flow.forced = false;
            }
            self.persist(now, profile);
            return true;
        }
        // As long as probes are answered the connection lives, however long the window stays closed (MUST-37).
        if profile.retries.is_some_and(|most| self.tries >= most) {
            self.die(now);
            return true;
        }
        self.tries += 1;
        self.probe_window(now, profile, out);
        true
    }

    /// A probe is not ECN-capable (RFC 3168 section 6.1.6).
    fn probe_window(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let (una, high) = (self.una, self.high);
        let Some(flow) = &mut self.flow else { return };
        flow.probes += 1;
        let mut probe = Segment { seq: una, payload: 1, stamp: self.clock, flags: 0, ip: 0, again: false };
        if profile.zero_window_probe == WindowProbe::Empty {
            (probe.payload, probe.again) = (0, true);
        } else {
            if una < high || flow.has_octet(high) {
                probe.again = true;
                self.retransmitted += 1;
            }
            if una == high {
                flow.octet = (high, now);
            }
        }
        out.push(probe);
        self.last_sent = now;
        self.timer = profile.due(now, self.until_probe(profile));
    }

    /// How long the next probe waits: twice as long each time (SHLD-29 and 30).
    fn until_probe(&self, profile: &Profile) -> Duration {
        let probes = self.flow.as_ref().map_or(0, |flow| flow.probes);
        (0..probes.min(32)).fold(self.rto, |wait, _| (wait + wait).min(profile.max_rto))
    }

    /// An ACK of `ack` has come: the probes were heard, and the byte that one of them carried was taken where it is acknowledged.
    pub fn answered(&mut self, ack: u64) {
        let high = self.high;
        let Some(flow) = &mut self.flow else { return };
        let again = flow.probes > 1;
        if flow.probes > 0 {
            self.tries = 0;
        }
        if ack == high + 1 && flow.has_octet(high) {
            let (_, sent) = std::mem::replace(&mut flow.octet, NO_OCTET);
            if let Some(s) = &mut self.selective {
                s.board.push_probe(high, sent, again);
            }
            self.timed = Timed::NONE;
            self.next = high + 1;
            self.high = high + 1;
        }
    }
}
