//! The packet: a small plain value that travels by copy through rings.

/// What a packet is, as bits of [`Packet::flags`].
pub mod flags {
    /// An acknowledgement: [`super::Packet::seq`] is the next byte expected.
    pub const ACK: u8 = 1;
    /// Opens a connection (RFC 9293 section 3.5).
    pub const SYN: u8 = 2;
    /// Sent before: a retransmission.
    pub const RETRANSMIT: u8 = 4;
    /// Not part of a TCP connection.
    pub const DATAGRAM: u8 = 8;
    /// Travels its path backwards: what the receiving end sends.
    pub const BACKWARD: u8 = 16;
    /// ECN-echo (RFC 3168 section 6.1); the lowest bit of the counter ACE of RFC 9768.
    pub const ECE: u8 = 32;
    /// Congestion window reduced (RFC 3168 section 6.1); the middle bit of ACE.
    pub const CWR: u8 = 64;
    /// Accurate ECN (RFC 9768 section 3.1.1); the highest bit of ACE. On SYNs and ACKs.
    pub const AE: u8 = 128;
    /// The end of what its sender had to send (RFC 9293 section 3.9.1.2). On data, which carries no ACE.
    pub const PUSH: u8 = 128;
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0).
    Capable0 = 2,
    /// Congestion experienced.
    Congestion = 3,
}

/// A packet on the wire, 32 bytes. `size` is the same for every link, queue, meter and counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Data: offset of its first byte in the stream. ACK: next byte expected. Datagram: its number.
    pub seq: u64,
    /// Data: what the last meter wrote, an activity or a rate estimate in bit/s. ACK: see [`Packet::report`] and
    /// [`Packet::ts_val`].
    pub label: f64,
    /// Index of the flow it belongs to.
    pub flow: u32,
    /// Timestamp value (data) or echo (ACK), in the sender's clock ticks (RFC 7323 section 3).
    pub stamp: u32,
    /// Bytes on the wire, headers included.
    pub size: u16,
    /// Application bytes in it.
    pub payload: u16,
    /// Position on the flow's way there and back: which component it meets next.
    pub hop: u8,
    /// Traffic class, an index into the scenario's classes.
    pub class: u8,
    /// Bits of [`flags`].
    pub flags: u8,
    /// The ECN field.
    pub ecn: Ecn,
}

impl Packet {
    /// A packet of `flow` that is `size` bytes on the wire and carries `payload` of them: data at the beginning of its way, not
    /// ECN-capable, not metered. Set what else is known: `Packet { seq: 7, ..Packet::new(0, 1500, 1448) }`.
    #[inline]
    pub const fn new(flow: u32, size: u16, payload: u16) -> Packet {
        Packet {
            seq: 0,
            label: 0.0,
            flow,
            stamp: 0,
            size,
            payload,
            hop: 0,
            class: 0,
            flags: 0,
            ecn: Ecn::NotCapable,
        }
    }

    /// Whether `bit` of [`flags`] is set.
    #[inline]
    pub fn is(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }

    /// What the last meter wrote; zero on an ACK, which no meter sees.
    #[inline]
    pub fn metered(&self) -> f64 {
        if self.is(flags::BACKWARD) { 0.0 } else { self.label }
    }

    /// Lowers what the last meter wrote to `most`; an ACK keeps its report.
    #[inline]
    pub fn lower_label(&mut self, most: f64) {
        if !self.is(flags::BACKWARD) {
            self.label = self.label.min(most);
        }
    }

    /// The place of the SACK blocks that an ACK carries, in the store of whoever moves packets; 0: none.
    #[inline]
    pub fn report(&self) -> u64 {
        self.label.to_bits() & u64::from(u32::MAX)
    }

    /// Sets [`Packet::report`], which is less than 2^32.
    #[inline]
    pub fn set_report(&mut self, place: u64) {
        self.label = f64::from_bits(u64::from(self.ts_val()) << 32 | place);
    }

    /// The timestamp value of an ACK (RFC 7323 TSval), in the sender's ticks, where the sender asks for it; else 0.
    #[inline]
    pub fn ts_val(&self) -> u32 {
        (self.label.to_bits() >> 32) as u32
    }

    /// Sets [`Packet::ts_val`].
    #[inline]
    pub fn set_ts_val(&mut self, clock: u32) {
        self.label = f64::from_bits(u64::from(clock) << 32 | self.report());
    }

    /// Whether it carries application data forward: a data segment or a datagram.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.payload > 0 || self.is(flags::DATAGRAM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_small() {
        // Rings copy packets; two of them share a cache line.
        assert_eq!(std::mem::size_of::<Packet>(), 32);
    }
}
