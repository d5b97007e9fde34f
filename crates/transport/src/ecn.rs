//! Explicit congestion notification between the ends: negotiation in the handshake and the counters of
//! accurate ECN.
//!
//! Classic feedback is RFC 3168, accurate feedback RFC 9768. The flags of the TCP header are written AE, CWR,
//! ECE in the order of their bits. On ACKs of an accurate connection they are the counter ACE.

pub mod option;

use evenflow_base::{Ecn as Field, flags};

use crate::profile::{Ecn, PeerEcn, Profile};

/// The three flags.
pub const ACE: u8 = flags::AE | flags::CWR | flags::ECE;

/// A number 0 to 7 as the three flags: AE is the highest bit, ECE the lowest.
#[inline]
pub fn flags_of(number: u8) -> u8 {
    let bit = |mask: u8, flag: u8| if number & mask != 0 { flag } else { 0 };
    bit(4, flags::AE) | bit(2, flags::CWR) | bit(1, flags::ECE)
}

/// The three flags as a number.
#[inline]
pub fn number_of(bits: u8) -> u8 {
    let bit = |flag: u8, value: u8| if bits & flag != 0 { value } else { 0 };
    bit(flags::AE, 4) | bit(flags::CWR, 2) | bit(flags::ECE, 1)
}

/// Where both counters of marked packets begin (RFC 9768 section 3.2.1).
pub const FIRST: u8 = 5;

/// Where they begin in this mode: re-ECN's at 0 (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.1).
pub fn first(mode: Ecn) -> u8 {
    if mode.is_re_ecn() { 0 } else { FIRST }
}

/// The flags of a SYN (RFC 9768 section 3.1.1, RFC 3168 section 6.1.1). After two unanswered SYNs (`tries`),
/// it requests no accurate ECN (RFC 9768 section 3.1.4.1).
pub fn offer(asked: Ecn, tries: u32) -> u8 {
    match asked {
        Ecn::Accurate if tries >= 2 => 0,
        // Re-ECN asks with the same three flags (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.5).
        Ecn::Accurate | Ecn::ReEcn | Ecn::ReEcnUnlimited => ACE,
        Ecn::Classic => flags::CWR | flags::ECE,
        // Willingness-to-pay's feedback is agreed on outside the protocol, and a gateway's not at all.
        Ecn::Off | Ecn::PerPacket | Ecn::Gateway => 0,
    }
}

/// The IP field encoded in three flags: that of the SYN in the SYN-ACK (RFC 9768 table 2), that of the
/// SYN-ACK in the next ACK (table 3).
pub fn reflected(field: Field) -> u8 {
    match field {
        Field::NotCapable => 0b010,
        Field::Capable1 => 0b011,
        Field::Capable0 => 0b100,
        Field::Congestion => 0b110,
    }
}

/// Whether the path changed the field `sent` of a handshake packet by an invalid transition (RFC 9768 section
/// 3.2.2.3). Its receiver `reports` the field as in [`reflected`]; unused codes show nothing.
pub fn is_mangled(sent: Field, reports: u8) -> bool {
    matches!(
        (sent, reports),
        (Field::NotCapable, 0b011 | 0b100 | 0b110)
            | (Field::Capable0 | Field::Capable1, 0b010)
            | (Field::Congestion, 0b010..=0b100)
    )
}

/// The flags of the SYN-ACK of an end with capability `own`, and the resulting mode (RFC 9768 table 2). The
/// SYN had the flags `bits` and the IP field `ip`.
pub fn answer(own: PeerEcn, asked: Ecn, bits: u8, ip: Field) -> (u8, Ecn) {
    let offered = bits & ACE;
    match (own, asked, offered) {
        (PeerEcn::Broken, ..) => (offered, Ecn::Off),
        // X10: X is set if the SYN arrived marked (draft-briscoe-conex-re-ecn-tcp-04 section 6.1.5).
        (PeerEcn::Same, mode @ (Ecn::ReEcn | Ecn::ReEcnUnlimited), ACE) => {
            (flags_of(0b010 | if ip == Field::Congestion { 0b100 } else { 0 }), mode)
        }
        (PeerEcn::Same, Ecn::Accurate, ACE) => (flags_of(reflected(ip)), Ecn::Accurate),
        (PeerEcn::Nonce, Ecn::Accurate, ACE) => (flags_of(0b101), Ecn::Accurate),
        (PeerEcn::Off, ..) | (_, _, 0) => (0, if asked == Ecn::PerPacket { asked } else { Ecn::Off }),
        (PeerEcn::Nonce, ..) => (flags_of(0b101), Ecn::Classic),
        (PeerEcn::Same | PeerEcn::Classic, ..) => (flags::ECE, Ecn::Classic),
    }
}

/// The mode of the SYN's sender after the first SYN-ACK with the flags `bits` (RFC 9768 table 2, last
/// column). The SYN that it answers does not matter (section 3.1.4.1): the other end keeps to its first SYN.
pub fn settled(asked: Ecn, bits: u8) -> Ecn {
    let answered = number_of(bits & ACE);
    match asked {
        Ecn::PerPacket | Ecn::Gateway => asked,
        Ecn::Off => Ecn::Off,
        Ecn::Classic if answered == 0b001 || answered == 0b101 => Ecn::Classic,
        Ecn::Classic => Ecn::Off,
        // 001, or the nonce's 101: a receiver of RFC 3168, re-ECN's compatibility mode. 000 and 111: not capable.
        Ecn::ReEcn | Ecn::ReEcnUnlimited => match answered {
            0b010 | 0b110 => asked,
            0b001 | 0b101 => Ecn::Classic,
            _ => Ecn::Off,
        },
        Ecn::Accurate => match answered {
            // 101 is reserved; it also shows an accurate server (section 3.1.3).
            0b010..=0b110 => Ecn::Accurate,
            0b001 => Ecn::Classic,
            // 000: not capable. 111: a server that mirrors what it does not know.
            _ => Ecn::Off,
        },
    }
}

/// The mode of two ends without a lost SYN.
pub fn agreed(asked: Ecn, peer: PeerEcn) -> Ecn {
    let (bits, _) = answer(peer, asked, offer(asked, 0), Field::NotCapable);
    settled(asked, bits)
}

impl Profile {
    /// The mode negotiated in the handshake (RFC 9768 section 3.1).
    pub fn agreed_ecn(&self) -> Ecn {
        agreed(self.ecn, self.peer_ecn)
    }
}

/// Newly marked packets in an ACK with counter `ace`, with `known` so far (modulo 8), that covers `packets`
/// full segments. It is the smallest number that fits. If the counter may have wrapped, it is the largest
/// number that is likely (RFC 9768 section 3.2.2.5.2 and appendix A.2.1).
#[inline]
pub fn newly_marked(ace: u8, known: u8, packets: u32) -> u32 {
    let least = u32::from(ace.wrapping_sub(known) & 7);
    if packets <= 7 {
        return least;
    }
    // d.safer: the counter may have gone round as often as the packets allow.
    packets - ((packets - least) & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_ae_cwr_ece_from_the_top() {
        assert_eq!(flags_of(0b100), flags::AE);
        assert_eq!(flags_of(0b011), flags::CWR | flags::ECE);
        for n in 0..8 {
            assert_eq!(number_of(flags_of(n)), n);
        }
    }

    /// RFC 9768 section 3.1.2, table 2: what the client sends, what the server is, what comes back, what the client does.
    #[test]
    fn the_handshake_of_rfc_9768_table_2() {
        let table = [
            (PeerEcn::Same, Field::NotCapable, 0b010, Ecn::Accurate),
            (PeerEcn::Same, Field::Capable1, 0b011, Ecn::Accurate),
            (PeerEcn::Same, Field::Capable0, 0b100, Ecn::Accurate),
            (PeerEcn::Same, Field::Congestion, 0b110, Ecn::Accurate),
            (PeerEcn::Nonce, Field::NotCapable, 0b101, Ecn::Accurate), // section 3.1.3
            (PeerEcn::Classic, Field::NotCapable, 0b001, Ecn::Classic),
            (PeerEcn::Off, Field::NotCapable, 0b000, Ecn::Off),
            (PeerEcn::Broken, Field::NotCapable, 0b111, Ecn::Off),
        ];
        for (peer, ip, synack, client) in table {
            let (bits, _) = answer(peer, Ecn::Accurate, offer(Ecn::Accurate, 0), ip);
            assert_eq!(number_of(bits), synack, "{peer:?} {ip:?}");
            assert_eq!(settled(Ecn::Accurate, bits), client, "{peer:?} {ip:?}");
        }
    }

    /// Draft section 6.1.5: what a re-ECN client hears from each server, and the mode that follows; section 6.1.1: from 0, modulo 8.
    #[test]
    fn the_handshake_of_re_ecn() {
        let table = [
            (PeerEcn::Same, Field::NotCapable, 0b010, Ecn::ReEcn),
            (PeerEcn::Same, Field::Congestion, 0b110, Ecn::ReEcn),
            (PeerEcn::Nonce, Field::NotCapable, 0b101, Ecn::Classic),
            (PeerEcn::Classic, Field::NotCapable, 0b001, Ecn::Classic),
            (PeerEcn::Off, Field::NotCapable, 0b000, Ecn::Off),
            (PeerEcn::Broken, Field::NotCapable, 0b111, Ecn::Off),
        ];
        for (peer, ip, synack, client) in table {
            assert_eq!(number_of(offer(Ecn::ReEcn, 0)), 0b111);
            let (bits, _) = answer(peer, Ecn::ReEcn, offer(Ecn::ReEcn, 0), ip);
            assert_eq!((number_of(bits), settled(Ecn::ReEcn, bits)), (synack, client), "{peer:?} {ip:?}");
        }
        assert_eq!((first(Ecn::ReEcn), first(Ecn::Accurate)), (0, 5));
        // Dossier 2.18: counter 6, field 1. Draft section 6.1.3: nine segments, two more on the counter: two; eleven: ten.
        assert_eq!(newly_marked(1, 6, 4), 3);
        assert_eq!((newly_marked(2, 0, 9), newly_marked(2, 0, 11)), (2, 10));
    }

    #[test]
    fn a_classic_offer_to_an_accurate_server_ends_classic() {
        let (bits, server) = answer(PeerEcn::Same, Ecn::Classic, offer(Ecn::Classic, 0), Field::NotCapable);
        assert_eq!((bits, server), (flags::ECE, Ecn::Classic));
        assert_eq!(settled(Ecn::Classic, bits), Ecn::Classic);
    }

    #[test]
    fn the_third_syn_asks_for_nothing() {
        assert_eq!(offer(Ecn::Accurate, 1), ACE);
        assert_eq!(offer(Ecn::Accurate, 2), 0);
        // An answer to one of the first two still counts (section 3.1.4.1).
        assert_eq!(settled(Ecn::Accurate, flags_of(0b010)), Ecn::Accurate);
    }

    #[test]
    fn the_counter_wraps_after_seven_marks() {
        assert_eq!(newly_marked(FIRST, FIRST, 2), 0);
        assert_eq!(newly_marked(4, FIRST, 7), 7); // 5 + 7 = 12 = 4 modulo 8
        assert_eq!(newly_marked(0, 7, 2), 1);
    }

    #[test]
    fn lost_acks_leave_the_safer_reading() {
        // Ten segments newly covered, counter unmoved: none or eight were marked; RFC 9768 A.2.1 takes eight.
        assert_eq!(newly_marked(FIRST, FIRST, 10), 8);
        // Ten segments, two more on the counter: two or ten.
        assert_eq!(newly_marked(FIRST + 2, FIRST, 10), 10);
        // Ten segments, three more on the counter: eleven is more than came.
        assert_eq!(newly_marked(0, FIRST, 10), 3);
    }
}
