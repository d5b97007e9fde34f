//! The IPv4 header (RFC 791 section 3.1) with the ECN field (RFC 3168 section 5) and the RE flag in bit 48
//! (draft-briscoe-conex-re-ecn-tcp-04 section 5.1).

use evenflow_base::{Codepoint, Ecn};

use crate::{Malformed, split};

/// Bytes of a header without options.
pub const LENGTH: usize = 20;

/// A header without options: none are written, and those that are read are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Differentiated services codepoint, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The RE flag: bit 48 of the header, reserved by RFC 791.
    pub re: bool,
    /// Bytes of the whole packet.
    pub total_length: u16,
    /// Identification.
    pub identification: u16,
    /// Don't fragment.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// Fragment offset in units of 8 bytes, 0 to 8191.
    pub fragment_offset: u16,
    /// Time to live.
    pub time_to_live: u8,
    /// The protocol inside: 6 TCP, 17 UDP, 4 IPv4.
    pub protocol: u8,
    /// Source address.
    pub source: [u8; 4],
    /// Destination address.
    pub destination: [u8; 4],
}

impl Header {
    /// The codepoint that ECN field and RE flag make.
    pub fn codepoint(&self) -> Codepoint {
        Codepoint::of(self.ecn, self.re)
    }

    /// Twenty bytes, checksum included. Bits of `dscp` and `fragment_offset` that have no room are cut off.
    pub fn encode(&self) -> [u8; LENGTH] {
        let flags = u16::from(self.re) << 15
            | u16::from(self.dont_fragment) << 14
            | u16::from(self.more_fragments) << 13
            | self.fragment_offset & 0x1fff;
        let mut bytes = [0; LENGTH];
        bytes[0] = 0x45;
        bytes[1] = self.dscp << 2 | self.ecn as u8;
        bytes[2..4].copy_from_slice(&self.total_length.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.identification.to_be_bytes());
        bytes[6..8].copy_from_slice(&flags.to_be_bytes());
        bytes[8] = self.time_to_live;
        bytes[9] = self.protocol;
        bytes[12..16].copy_from_slice(&self.source);
        bytes[16..20].copy_from_slice(&self.destination);
        let sum = checksum(&bytes);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// A header and what it encloses: the bytes up to its total length.
    ///
    /// # Errors
    /// Too few bytes, no IPv4, lengths that cannot be, a checksum that does not match.
    pub fn decode(bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
        let (fixed, _) = split(bytes, LENGTH)?;
        if fixed[0] >> 4 != 4 {
            return Err(Malformed::Version(fixed[0] >> 4));
        }
        let words = usize::from(fixed[0] & 0xf);
        if words < 5 {
            return Err(Malformed::Length(words));
        }
        let (header, _) = split(bytes, words * 4)?;
        let pair = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
        let total = usize::from(pair(2));
        if total < header.len() {
            return Err(Malformed::Length(total));
        }
        let expected = checksum(header);
        if pair(10) != expected {
            return Err(Malformed::Checksum { found: pair(10), expected });
        }
        let (packet, _) = split(bytes, total)?;
        let flags = pair(6);
        let four = |i: usize| [header[i], header[i + 1], header[i + 2], header[i + 3]];
        let read = Header {
            dscp: header[1] >> 2,
            ecn: field(header[1]),
            re: flags & 0x8000 != 0,
            total_length: pair(2),
            identification: pair(4),
            dont_fragment: flags & 0x4000 != 0,
            more_fragments: flags & 0x2000 != 0,
            fragment_offset: flags & 0x1fff,
            time_to_live: header[8],
            protocol: header[9],
            source: four(12),
            destination: four(16),
        };
        Ok((read, &packet[words * 4..]))
    }
}

/// The ECN field in the two lowest bits of `bits`.
pub fn field(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable1,
        2 => Ecn::Capable0,
        _ => Ecn::Congestion,
    }
}

/// The one's complement sum of RFC 791, with the checksum's own place taken as zero. An odd last byte is padded (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).enumerate().filter(|(i, _)| *i != 5);
    let mut sum: u32 =
        words.map(|(_, w)| u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::codepoint::CODEPOINTS;
    use proptest::prelude::*;

    /// The header that many textbooks print: 45 00 00 73, checksum b8 61.
    const EXAMPLE: Header = Header {
        dscp: 0,
        ecn: Ecn::NotCapable,
        re: false,
        total_length: 115,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        time_to_live: 64,
        protocol: 17,
        source: [192, 168, 0, 1],
        destination: [192, 168, 0, 199],
    };

    #[test]
    fn a_known_header() {
        let bytes = EXAMPLE.encode();
        assert_eq!(bytes[..12], [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61]);
    }

    #[test]
    fn the_eight_codepoints_stand_in_two_bits_of_octet_2_and_the_top_bit_of_octet_7() {
        for (i, codepoint) in CODEPOINTS.into_iter().enumerate() {
            let header = Header { ecn: codepoint.ecn(), re: codepoint.re(), ..EXAMPLE };
            let bytes = header.encode();
            assert_eq!(usize::from(bytes[1] & 3), [0, 0, 1, 1, 2, 2, 3, 3][i]);
            assert_eq!(bytes[6] >> 7, [0, 1, 0, 1, 0, 1, 0, 1][i]);
            let mut packet = bytes.to_vec();
            packet.resize(115, 0);
            let (read, _) = Header::decode(&packet).expect("its own bytes");
            assert_eq!((read, read.codepoint()), (header, codepoint));
        }
    }

    #[test]
    fn malformed_headers() {
        let good = {
            let mut bytes = EXAMPLE.encode().to_vec();
            bytes.resize(115, 7);
            bytes
        };
        let with = |place: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[place] = value;
            Header::decode(&bytes).expect_err("malformed")
        };
        assert_eq!(Header::decode(&good[..19]), Err(Malformed::Short { need: 20, have: 19 }));
        assert_eq!(Header::decode(&good[..114]), Err(Malformed::Short { need: 115, have: 114 }));
        assert_eq!(with(0, 0x65), Malformed::Version(6));
        assert_eq!(with(0, 0x44), Malformed::Length(4));
        assert_eq!(with(3, 19), Malformed::Length(19));
        assert_eq!(with(6, 0xc0), Malformed::Checksum { found: 0xb861, expected: 0x3861 });
        assert_eq!(Header::decode(&good[..115]).map(|(_, inside)| inside.len()), Ok(95));
    }

    #[test]
    fn options_are_skipped() {
        let mut bytes =
            vec![0x46, 0, 0, 26, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0, 8, 9];
        let sum = checksum(&bytes[..24]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(Header::decode(&bytes).map(|(_, inside)| inside.to_vec()), Ok(vec![8, 9]));
    }

    proptest! {
        /// What is written is read, and any bytes at all are read or refused.
        #[test]
        fn round_trip(dscp in 0u8..64, ecn in 0u8..4, re: bool, df: bool, mf: bool, offset in 0u16..8192, ttl: u8,
                      protocol: u8, id: u16, source: [u8; 4], destination: [u8; 4], more in 0usize..60) {
            let header = Header {
                dscp, ecn: field(ecn), re, total_length: (LENGTH + more) as u16, identification: id, dont_fragment: df,
                more_fragments: mf, fragment_offset: offset, time_to_live: ttl, protocol, source, destination,
            };
            let mut bytes = header.encode().to_vec();
            bytes.resize(LENGTH + more, 0xa5);
            let (read, inside) = Header::decode(&bytes).unwrap();
            prop_assert_eq!(read, header);
            prop_assert_eq!(inside.len(), more);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Header::decode(&bytes);
        }
    }
}
