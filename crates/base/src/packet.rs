//! The packet: a small value that is copied through rings. Rare fields are in [`crate::Options`].

use crate::Time;
use crate::codepoint::{Codepoint, Signals};

/// The flags of the TCP header as bits of [`Packet::flags`]: the nine lowest bits of its bytes 12 and 13 (RFC
/// 9293 section 3.1, RFC 9768 section 3.1). URG is not used.
pub mod flags {
    /// The sender has no more to send.
    pub const FIN: u8 = 0x01;
    /// Opens a connection (RFC 9293 section 3.5).
    pub const SYN: u8 = 0x02;
    /// Ends a connection at once (RFC 9293 section 3.5.2).
    pub const RST: u8 = 0x04;
    /// The end of what its sender had to send (RFC 9293 section 3.9.1.2).
    pub const PUSH: u8 = 0x08;
    /// Acknowledges. Without payload [`super::Packet::seq`] is the next byte expected; with payload that number is in
    /// [`crate::options::Carried::ack`].
    pub const ACK: u8 = 0x10;
    /// ECN-echo (RFC 3168 section 6.1); the lowest bit of the counter ACE of RFC 9768.
    pub const ECE: u8 = 0x20;
    /// Congestion window reduced (RFC 3168 section 6.1); the middle bit of ACE.
    pub const CWR: u8 = 0x40;
    /// Accurate ECN (RFC 9768 section 3.1.1); the highest bit of ACE. On SYNs and ACKs.
    pub const AE: u8 = 0x80;
}

/// Bits of [`Packet::ip`]: what the IP header says of congestion, what a ConEx packet reports, and two bits of the simulator.
pub mod ip {
    /// The ECN field (RFC 3168 section 5), the two lowest bits as in the header.
    pub const ECN: u8 = 0x03;
    /// The RE flag of re-ECN: bit 48 of the IPv4 header, the one that is reserved (draft-briscoe-conex-re-ecn-tcp section 3.2).
    pub const RE: u8 = 0x04;
    /// ConEx: its sender reports a loss (RFC 7837 section 4). For statistics.
    pub const LOSS: u8 = 0x08;
    /// ConEx: its sender reports a congestion mark. For statistics.
    pub const MARK: u8 = 0x10;
    /// ConEx: its sender builds up credit. For statistics.
    pub const CREDIT: u8 = 0x20;
    /// Signals of a ConEx packet.
    pub const CONEX: u8 = LOSS | MARK | CREDIT;
    /// Not part of a TCP connection.
    pub const DATAGRAM: u8 = 0x40;
    /// Travels its path backwards: what the receiving end sends.
    pub const BACKWARD: u8 = 0x80;
}

/// The bits of [`ip`] by which a data packet says this over IPv4, ECN field included; `None`: IPv4 has no code for it.
#[inline]
pub fn bits_of(says: Signals) -> Option<u8> {
    let code = says.codepoint()?;
    let re = if code.re() { ip::RE } else { 0 };
    Some(code.ecn() as u8 | re | reports_of(says))
}

/// The bits of [`ip`] by which a data packet says this over IPv6, which leaves the ECN field alone: RE stands for X.
#[inline]
pub fn option_bits_of(says: Signals) -> u8 {
    if says.capable { ip::RE | reports_of(says) } else { 0 }
}

fn reports_of(says: Signals) -> u8 {
    let bit = |on: bool, bit: u8| if on { bit } else { 0 };
    bit(says.loss, ip::LOSS) | bit(says.ecn, ip::MARK) | bit(says.credit, ip::CREDIT)
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

impl Ecn {
    /// The field in the two lowest bits of `bits`.
    #[inline]
    pub const fn of(bits: u8) -> Ecn {
        match bits & ip::ECN {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Congestion,
        }
    }
}

/// A packet on the wire, 32 bytes. `size` is the same for every link, queue, meter and counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Data: offset of its first byte in the stream. ACK without payload: next byte expected. Datagram: its number. Where something
    /// is kept beside the packet this is its place, and the number is kept there too: see [`Packet::place`]. Less than 2^63.
    pub seq: u64,
    /// Label of the last meter, an activity or a rate in bit/s. In a run without labels: bits of [`Packet::sent`].
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
    /// Bits of [`ip`].
    pub ip: u8,
}

/// Set in [`Packet::seq`] where the rest of it is a place.
const PLACED: u64 = 1 << 63;

impl Packet {
    /// A packet of `flow` with `size` bytes on the wire and `payload` bytes of data, not ECN-capable and not
    /// metered. Set other fields with `Packet { seq: 7, ..Packet::new(0, 1500, 1448) }`.
    #[inline]
    pub const fn new(flow: u32, size: u16, payload: u16) -> Packet {
        Packet { seq: 0, label: 0.0, flow, stamp: 0, size, payload, hop: 0, class: 0, flags: 0, ip: 0 }
    }

    /// The same with this ECN field.
    #[inline]
    pub const fn with_ecn(mut self, field: Ecn) -> Packet {
        self.ip = self.ip & !ip::ECN | field as u8;
        self
    }

    /// Whether `bit` of [`flags`] is set.
    #[inline]
    pub fn is(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }

    /// The nine flags as they are in the header: FIN is 1, AE is 256.
    pub fn wire_flags(&self) -> u16 {
        u16::from(self.flags & 0x1f) | u16::from(self.flags & !0x1f) << 1
    }

    /// Whether it travels its path backwards.
    #[inline]
    pub fn is_backward(&self) -> bool {
        self.ip & ip::BACKWARD != 0
    }

    /// Whether it belongs to no TCP connection.
    #[inline]
    pub fn is_datagram(&self) -> bool {
        self.ip & ip::DATAGRAM != 0
    }

    /// Whether a stage has made it: a segment without payload has flags, and a datagram says that it is one.
    #[inline]
    pub fn is_of_stage(&self) -> bool {
        self.payload == 0 && self.flags == 0 && !self.is_datagram()
    }

    /// Whether it carries application data: a data segment or a datagram.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.payload > 0 || self.is_datagram()
    }

    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::of(self.ip)
    }

    /// Sets the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, field: Ecn) {
        *self = self.with_ecn(field);
    }

    /// The RE flag.
    #[inline]
    pub fn re(&self) -> bool {
        self.ip & ip::RE != 0
    }

    /// Sets the RE flag.
    #[inline]
    pub fn set_re(&mut self, on: bool) {
        self.ip = self.ip & !ip::RE | if on { ip::RE } else { 0 };
    }

    /// Its signals as a ConEx packet: bits of [`ip::CONEX`].
    #[inline]
    pub fn conex(&self) -> u8 {
        self.ip & ip::CONEX
    }

    /// Sets what it reports as a ConEx packet; other bits of `reports` are ignored.
    #[inline]
    pub fn set_conex(&mut self, reports: u8) {
        self.ip = self.ip & !ip::CONEX | reports & ip::CONEX;
    }

    /// The codepoint that ECN field and RE flag make, as over IPv4.
    #[inline]
    pub fn codepoint(&self) -> Codepoint {
        Codepoint::of(self.ecn(), self.re())
    }

    /// Its signals as a ConEx packet, over IPv4 and IPv6. RE alone is ConEx-Not-Marked (X).
    #[inline]
    pub fn signals(&self) -> Signals {
        let says = |bit: u8| self.ip & bit != 0;
        let (loss, ecn, credit) = (says(ip::LOSS), says(ip::MARK), says(ip::CREDIT));
        Signals { capable: self.re() || loss || ecn || credit, loss, ecn, credit }
    }

    /// When it left its sender, in a run without labels.
    #[inline]
    pub fn sent(&self) -> Time {
        Time(self.label.to_bits())
    }

    /// Notes when it leaves its sender, in place of the label.
    #[inline]
    pub fn set_sent(&mut self, at: Time) {
        self.label = f64::from_bits(at.0);
    }

    /// Where in the run's [`crate::Options`] something is kept beside it; `None`: nothing is.
    #[inline]
    pub fn place(&self) -> Option<u32> {
        (self.seq & PLACED != 0).then_some(self.seq as u32)
    }

    /// Puts a place where the number is, which is given back.
    #[inline]
    pub(crate) fn put_place(&mut self, place: u32) -> u64 {
        std::mem::replace(&mut self.seq, PLACED | u64::from(place))
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

    #[test]
    fn every_bit_has_a_meaning_of_its_own() {
        let tcp =
            [flags::FIN, flags::SYN, flags::RST, flags::PUSH, flags::ACK, flags::AE, flags::ECE, flags::CWR];
        assert_eq!(tcp.iter().map(|bit| u32::from(*bit)).sum::<u32>(), 255);
        let header = [1, 2, ip::RE, ip::LOSS, ip::MARK, ip::CREDIT, ip::DATAGRAM, ip::BACKWARD];
        assert_eq!(header.iter().map(|bit| u32::from(*bit)).sum::<u32>(), 255);
        assert!(header.iter().all(|bit| bit.is_power_of_two()));
    }

    #[test]
    fn fields_of_the_ip_header_do_not_touch_each_other() {
        for before in 0..=255 {
            let of = |change: fn(&mut Packet)| {
                let mut packet = Packet { ip: before, ..Packet::new(0, 1500, 1448) };
                change(&mut packet);
                packet
            };
            for (field, bits) in
                [(Ecn::NotCapable, 0), (Ecn::Capable1, 1), (Ecn::Capable0, 2), (Ecn::Congestion, 3)]
            {
                let packet = Packet { ip: before, ..Packet::new(0, 1500, 1448) }.with_ecn(field);
                assert_eq!((packet.ecn(), packet.ip), (field, before & 0b1111_1100 | bits));
            }
            assert_eq!(of(|p| p.set_ecn(Ecn::Congestion)).ip, before | 3);
            let (set, cleared) = (of(|p| p.set_re(true)), of(|p| p.set_re(false)));
            assert!(set.re() && !cleared.re());
            assert_eq!((set.ip, cleared.ip), (before | 4, before & !4));
            let reported = of(|p| p.set_conex(ip::MARK | ip::BACKWARD));
            assert_eq!((reported.conex(), reported.ip), (ip::MARK, before & !ip::CONEX | ip::MARK));
        }
    }

    /// Sanhaji et al. 2015 table I: what a sender says, its bits, and how they are read.
    #[test]
    fn signals_as_bits() {
        let both = Signals { loss: true, ecn: true, ..Signals::NOT_MARKED };
        let table = [
            (Signals::default(), Some(0), 0),
            (Signals::NOT_MARKED, Some(0b01 | ip::RE), ip::RE),
            (Signals::RE_ECHO_LOSS, Some(0b01 | ip::LOSS), ip::RE | ip::LOSS),
            (Signals::RE_ECHO_ECN, Some(0b01 | ip::MARK), ip::RE | ip::MARK),
            (Signals::CREDIT, Some(ip::RE | ip::CREDIT), ip::RE | ip::CREDIT),
            (both, None, ip::RE | ip::LOSS | ip::MARK),
        ];
        for (says, bits, option) in table {
            assert_eq!(bits_of(says), bits, "{says:?}");
            assert_eq!(option_bits_of(says), option, "{says:?}");
            for written in bits.into_iter().chain([option]) {
                let mut packet = Packet { ip: written, ..Packet::new(0, 1500, 1448) };
                assert_eq!(packet.signals(), says, "{written:#x}");
                // A mark on the way changes nothing of it.
                packet.set_ecn(Ecn::Congestion);
                assert_eq!(packet.signals(), says, "{written:#x}");
            }
        }
        let marked = Packet { ip: 0b11 | ip::MARK, ..Packet::new(0, 1500, 1448) };
        assert_eq!(marked.codepoint(), Codepoint::Cancelled);
    }

    #[test]
    fn a_place_takes_the_room_of_the_number() {
        let mut packet = Packet { seq: PLACED - 1, stamp: 77, label: -0.5, ..Packet::new(0, 1500, 1448) };
        assert_eq!(packet.place(), None);
        assert_eq!(packet.put_place(u32::MAX), PLACED - 1);
        assert_eq!((packet.place(), packet.stamp, packet.label), (Some(u32::MAX), 77, -0.5));
    }
}
