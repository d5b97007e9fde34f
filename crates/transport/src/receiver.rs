//! The receiving end: reassembly and acknowledgements (RFC 5681 section 4.2, RFC 7323 section 4.3).
//!
//! The application reads at once, so the advertised window never shrinks. Not here yet: SACK blocks, ECN feedback.

use evenflow_base::{Ecn, Packet, Time, flags};

use crate::{Profile, Segment};

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next byte expected; all before it is delivered.
    next: u64,
    /// Received out of order: disjoint ranges `[from, to)`, ascending.
    ahead: Vec<(u64, u64)>,
    /// In-order segments since the last ACK.
    unacked: u32,
    /// When a held-back ACK is due.
    due: Time,
    /// TS.Recent: the timestamp to echo (RFC 7323 section 4.3).
    stamp: u32,
    /// Last.ACK.sent.
    last_ack: u64,
}

impl Receiver {
    /// A listening end. The first data segment is acknowledged at once (docs/tcp.md).
    pub fn new(profile: &Profile) -> Receiver {
        Receiver {
            next: 0,
            ahead: Vec::new(),
            unacked: profile.ack_every,
            due: Time::NEVER,
            stamp: 0,
            last_ack: 0,
        }
    }

    /// Bytes delivered to the application, each once, in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// When [`Receiver::wake`] wants to be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.due
    }

    /// A segment arrives; what is to be sent goes to `out`.
    pub fn receive(&mut self, packet: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if packet.is(flags::SYN) {
            self.stamp = packet.stamp;
            out.push(self.acknowledgement(flags::SYN));
            return;
        }
        if packet.payload == 0 {
            return; // the last ACK of the handshake
        }
        let (from, to) = (packet.seq, packet.seq + u64::from(packet.payload));
        if from <= self.last_ack {
            self.stamp = packet.stamp;
        }
        let in_order = from <= self.next && to > self.next;
        if !in_order {
            if from > self.next {
                self.keep(from, to);
            }
            return self.acknowledge(out); // a hole, or nothing new: at once
        }
        self.next = to;
        let had_hole = !self.ahead.is_empty();
        while let Some(&(from, to)) = self.ahead.first()
            && from <= self.next
        {
            self.next = self.next.max(to);
            self.ahead.remove(0);
        }
        self.unacked = self.unacked.saturating_add(1);
        if had_hole || self.unacked >= profile.ack_every {
            self.acknowledge(out);
        } else if self.due == Time::NEVER {
            self.due = now + profile.ack_delay;
        }
    }

    /// The held-back ACK's time has come.
    pub fn wake(&mut self, now: Time, out: &mut Vec<Segment>) {
        if now >= self.due {
            self.acknowledge(out);
        }
    }

    /// Stores a range that is ahead, merging neighbours.
    fn keep(&mut self, from: u64, to: u64) {
        let at = self.ahead.partition_point(|r| r.1 < from);
        let end = self.ahead.partition_point(|r| r.0 <= to);
        if at == end {
            self.ahead.insert(at, (from, to));
        } else {
            let merged = (from.min(self.ahead[at].0), to.max(self.ahead[end - 1].1));
            self.ahead.drain(at + 1..end);
            self.ahead[at] = merged;
        }
    }

    fn acknowledge(&mut self, out: &mut Vec<Segment>) {
        self.unacked = 0;
        self.due = Time::NEVER;
        self.last_ack = self.next;
        out.push(self.acknowledgement(0));
    }

    fn acknowledgement(&self, extra: u8) -> Segment {
        Segment {
            seq: self.next,
            payload: 0,
            flags: flags::ACK | flags::BACKWARD | extra,
            ecn: Ecn::NotCapable,
            stamp: self.stamp,
        }
    }
}

#[cfg(test)]
mod tests;
