//! Flow control: the advertised window, the part of the queue that may leave (RFC 9293 section 3.8.6, RFC
//! 1122 section 4.2.3.4), and probes of a closed window.
//!
//! A FIN takes one sequence number (RFC 9293 section 3.4). It is one more byte in the queue, so that loss
//! recovery needs no special case. The connection writes it as a flag ([`Core::carries_fin`]).

use evenflow_base::{Duration, Time};

use crate::profile::WindowProbe;
use crate::{Profile, Segment};

use crate::sender::{Life, Limit};

use super::Core;

/// The override timeout: where something may go, but not enough to be worth a segment (RFC 1122 section
/// 4.2.3.4: 0.1 to 1 s).
const OVERRIDE: Duration = Duration::from_millis(1000);

/// The other end's window.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Flow {
    /// One beyond the last byte that may be sent; [`UNTOLD`]: no window was advertised, and the profile's
    /// applies.
    pub(in crate::sender) edge: u64,
    /// SND.WL1 and SND.WL2.
    pub(in crate::sender) last: (u64, u64),
    /// Max(SND.WND).
    pub(in crate::sender) largest: u64,
    /// The queue ends with a FIN.
    pub(in crate::sender) fin: bool,
    /// Probes since the window closed.
    pub(in crate::sender) probes: u32,
    /// The timer is that of the window.
    pub(in crate::sender) waits: bool,
    /// The byte that the last probe was, beyond what was sent, and when it went; never: it was none.
    pub(in crate::sender) octet: (u64, Time),
    /// The override timeout is over: what fits goes, however short.
    pub(in crate::sender) forced: bool,
}

/// Beyond every number.
pub(in crate::sender) const UNTOLD: u64 = u64::MAX;

/// No probe was a byte of the stream.
pub(in crate::sender) const NO_OCTET: (u64, Time) = (0, Time::NEVER);

impl Flow {
    /// The last probe was this byte.
    pub(in crate::sender) fn has_octet(&self, seq: u64) -> bool {
        self.octet.1 != Time::NEVER && self.octet.0 == seq
    }
}

impl Core {
    /// Whether the FIN was sent for, and all before it.
    pub(in crate::sender) fn finishes(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.fin)
    }

    /// Whether a segment that ends at `end` holds the FIN.
    #[inline]
    pub(in crate::sender) fn carries_fin(&self, end: u64) -> bool {
        self.size == Some(end) && self.finishes()
    }

    /// One beyond the last byte that the other end's window lets go.
    #[inline]
    pub(in crate::sender) fn edge(&self, profile: &Profile) -> u64 {
        match &self.flow {
            Some(flow) if flow.edge != UNTOLD => flow.edge,
            Some(_) => self.una.saturating_add(profile.receive_window()),
            None => u64::MAX,
        }
    }

    /// Bytes from the last acknowledged one that the other end's window lets go.
    pub(in crate::sender) fn receive_window(&self, profile: &Profile) -> f64 {
        match &self.flow {
            Some(_) => self.edge(profile).saturating_sub(self.una) as f64,
            None => profile.largest_window() as f64,
        }
    }

    /// Whether the window is closed: not even the first unacknowledged byte may go.
    pub(in crate::sender) fn is_closed(&self, profile: &Profile) -> bool {
        self.edge(profile) <= self.una
    }

    /// One beyond the last byte that the application wrote, the FIN included.
    pub(in crate::sender) fn queue_end(&self) -> u64 {
        self.size.unwrap_or(u64::MAX)
    }

    /// The longest segment that begins at `from`: a FIN goes with a full one.
    pub(in crate::sender) fn longest(&self, from: u64, profile: &Profile) -> u64 {
        let last = self.carries_fin(from + profile.mss + 1);
        profile.mss + u64::from(last)
    }

    /// The payload of the next segment (RFC 1122 section 4.2.3.4): a full one, all that is queued, or half of
    /// the largest window that was ever advertised. With Nagle's algorithm the latter two wait while anything
    /// is unacknowledged; a FIN does not.
    #[inline(never)]
    pub(in crate::sender) fn next_of_queue(&self, profile: &Profile) -> u64 {
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

    /// The part of a burst within the receive window. Linux splits a burst at the window's edge, so that its
    /// last segment is short (`tcp_mss_split_point`, since 3.14). A burst that ends before the edge or starts
    /// with a short segment is not split.
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn cut_by_window(&self, profile: &Profile) -> u64 {
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

    /// Payload of the first unacknowledged segment in a retransmission without SACK.
    pub(in crate::sender) fn first_payload(&self, profile: &Profile) -> u64 {
        if self.flow.is_none() {
            return (self.data_end(profile) - self.una).min(profile.mss);
        }
        let end = self.queue_end().min(self.edge(profile));
        end.saturating_sub(self.una).min(self.longest(self.una, profile))
    }

    /// The limit other than the congestion window that delays the next segment.
    #[inline(never)]
    pub(in crate::sender) fn held_back_by(&self, profile: &Profile) -> Limit {
        let by_window = match &self.flow {
            Some(_) => self.queue_end() > self.edge(profile).max(self.next),
            None => self.size.is_none_or(|size| size > self.next) && profile.buffer() >= profile.max_window,
        };
        if by_window { Limit::Receive } else { Limit::Application }
    }

    /// Whether the timer that runs is that of the window.
    pub(in crate::sender) fn awaits_window(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.waits)
    }

    pub(in crate::sender) fn octet_is_out(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.has_octet(self.high))
    }

    /// Whether something is queued that only a larger window, or the override timeout, lets go.
    pub(in crate::sender) fn persists(&self, profile: &Profile) -> bool {
        self.flow.is_some()
            && self.life == Life::Open
            && (self.is_closed(profile) || self.una == self.high)
            && self.size.is_some_and(|size| size > self.una)
    }

    /// After every call: starts the persist timer when only the window delays queued data, because a window
    /// update may be lost (RFC 9293 section 3.8.6.1).
    pub(in crate::sender) fn persist(&mut self, now: Time, profile: &Profile) {
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

    /// A probe is not ECN-capable (RFC 3168 section 6.1.6).
    pub(in crate::sender) fn probe_window(&mut self, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
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
    pub(in crate::sender) fn until_probe(&self, profile: &Profile) -> Duration {
        let probes = self.flow.as_ref().map_or(0, |flow| flow.probes);
        (0..probes.min(32)).fold(self.rto, |wait, _| (wait + wait).min(profile.max_rto))
    }
}
