//! The calls of an end that an application writes to: writing, closing, and the other end's window.

use evenflow_base::{Carried, Packet, Time};

use crate::rtt::Timed;
use crate::{Profile, Segment};

use super::core::{Context, Flow, NO_OCTET, UNTOLD};
use super::recovery::{LossRecovery, recovery};
use super::{Life, Sender};

impl Sender {
    /// Whether a segment that ends at `end` holds the FIN.
    #[inline]
    pub fn carries_fin(&self, end: u64) -> bool {
        self.core.carries_fin(end)
    }

    /// One beyond the last byte that the receive window lets go.
    #[inline]
    pub fn edge(&self, profile: &Profile) -> u64 {
        self.core.edge(profile)
    }

    /// Whether the window is closed: not even the first unacknowledged byte may go.
    pub fn is_closed(&self, profile: &Profile) -> bool {
        self.core.is_closed(profile)
    }

    /// After every call: a timer runs where only the window holds back queued data.
    pub fn persist(&mut self, now: Time, profile: &Profile) {
        self.core.persist(now, profile);
    }

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
        match &mut self.core.flow {
            Some(flow) => **flow = fresh,
            None => self.core.flow = Some(Box::new(fresh)),
        }
    }

    /// The application has no more to send.
    pub fn finish(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        let (Some(flow), Some(size)) = (&mut self.core.flow, &mut self.core.size) else { return };
        flow.fin = true;
        *size += 1;
        if self.core.life == Life::Done {
            self.core.life = Life::Open;
        }
        if self.core.life == Life::Open {
            self.core.clock = profile.clock_at(now);
            self.send(now, profile, out);
            self.persist(now, profile);
        }
    }

    /// Takes back what is queued and was never sent; gives the number of bytes.
    pub fn withdraw(&mut self) -> u64 {
        let sent = self.core.high + u64::from(self.core.octet_is_out());
        if self.core.finishes() {
            return 0;
        }
        let Some(size) = &mut self.core.size else { return 0 };
        let back = size.saturating_sub(sent);
        *size -= back;
        back
    }

    /// Whether everything is acknowledged, the FIN included.
    pub fn finished(&self) -> bool {
        self.core.finishes() && self.core.size == Some(self.core.una)
    }

    /// Bytes that the application wrote.
    pub fn written(&self) -> u64 {
        self.core.size.unwrap_or(self.core.high) - u64::from(self.core.finishes())
    }

    /// Those of them that are not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.written().saturating_sub(self.core.una)
    }

    /// The first number that is not acknowledged (SND.UNA), and the next new one (SND.NXT).
    #[inline]
    pub fn numbers(&self) -> (u64, u64) {
        (self.core.una, self.core.high)
    }

    /// A segment numbered `seq` acknowledges `ack` and advertises `window` bytes. It counts unless a later
    /// segment advertised one (RFC 9293 section 3.10.7.4), also where the edge moves back by it. Says whether
    /// it let anything new.
    pub fn window_told(&mut self, seq: u64, ack: u64, window: u64) -> bool {
        let most = self.core.high + u64::from(self.core.octet_is_out());
        let Some(flow) = &mut self.core.flow else { return false };
        if ack < self.core.una || ack > most || (seq, ack) < flow.last {
            return false;
        }
        flow.last = (seq, ack);
        flow.largest = if flow.edge != UNTOLD { flow.largest.max(window) } else { window };
        let before = std::mem::replace(&mut flow.edge, ack + window);
        before != flow.edge
    }

    /// The acknowledgement `ack` arrives, alone or on a segment that `holds` data, with the number and
    /// window, in bytes, of a segment that tells one; `false`: it is of something that was never sent.
    #[expect(clippy::too_many_arguments, reason = "a segment and its context")]
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
        // A duplicate ACK holds nothing and leaves the window as it is (RFC 5681 section 2). Loss recovery sees
        // by the payload that an ACK is none.
        let counts = !holds && !news && !self.core.is_closed(profile);
        if profile.sack || ack.seq > una || counts {
            let ack = &Packet { payload: u16::from(holds || news), ..*ack };
            self.receive_apart(ack, carried, now, profile, out);
        }
        if news {
            self.push(now, profile, out);
        }
        self.persist(now, profile);
        true
    }

    /// The timer fired: a probe, or what fits though it is little. `false`: it is the retransmission timer
    /// after all.
    pub(super) fn persist_timer(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) -> bool {
        if !self.core.persists(profile) {
            return false;
        }
        self.core.timer = Time::NEVER;
        if !self.core.is_closed(profile) {
            if let Some(flow) = &mut self.core.flow {
                flow.forced = true;
            }
            self.transmit(now, profile, out);
            if let Some(flow) = &mut self.core.flow {
                flow.forced = false;
            }
            self.core.persist(now, profile);
            return true;
        }
        // As long as probes are answered the connection lives, however long the window stays closed
        // (MUST-37).
        if !self.core.may_retry(&Context { now, profile, out }) {
            recovery!(&mut self.recovery, recovery => recovery.stop());
            return true;
        }
        self.core.tries += 1;
        self.core.probe_window(now, profile, out);
        true
    }

    /// An ACK up to `ack` answers the probes; an acknowledged probe byte was accepted.
    pub fn answered(&mut self, ack: u64) {
        let high = self.core.high;
        let Some(flow) = &mut self.core.flow else { return };
        let again = flow.probes > 1;
        if flow.probes > 0 {
            self.core.tries = 0;
        }
        if ack == high + 1 && flow.has_octet(high) {
            let (_, sent) = std::mem::replace(&mut flow.octet, NO_OCTET);
            if let Some(scoreboard) = recovery!(&mut self.recovery, recovery => recovery.scoreboard_mut()) {
                scoreboard.board.push_probe(high, sent, again);
            }
            self.core.timed = Timed::NONE;
            self.core.next = high + 1;
            self.core.high = high + 1;
        }
    }
}
