//! The header of GTP-U, which carries users' packets through a mobile core (3GPP TS 29.281 section 5), and its sequence numbers.
//!
//! Not here: what a tunnel end does with a message other than a user's packet.

use crate::{Malformed, split};

/// The UDP port of GTP-U.
pub const PORT: u16 = 2152;

/// Bytes of the header without optional fields.
pub const LENGTH: usize = 8;

/// Message types (TS 29.281 table 6.1-1).
pub mod message {
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 1;
    /// Echo response.
    pub const ECHO_RESPONSE: u8 = 2;
    /// Error indication.
    pub const ERROR_INDICATION: u8 = 26;
    /// Supported extension headers notification.
    pub const SUPPORTED_EXTENSIONS: u8 = 31;
    /// End marker.
    pub const END_MARKER: u8 = 254;
    /// A user's packet.
    pub const G_PDU: u8 = 255;
}

const VERSION: u8 = 1 << 5;
const PROTOCOL: u8 = 1 << 4;
const EXTENSION: u8 = 1 << 2;
const SEQUENCE: u8 = 1 << 1;
const N_PDU: u8 = 1;

/// An extension header (section 5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its type.
    pub kind: u8,
    /// Its content: 2 bytes, or 2 more than a multiple of 4.
    pub content: Vec<u8>,
}

/// Which nodes must understand an extension header, by the two highest bits of its type (section 5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Nobody; a node in between passes it on.
    Skip,
    /// Nobody; a node in between removes it.
    SkipAndDiscard,
    /// The endpoint.
    Endpoint,
    /// Endpoint and nodes in between.
    Everybody,
}

/// Which nodes must understand an extension header of type `kind`.
pub fn duty(kind: u8) -> Duty {
    match kind >> 6 {
        0 => Duty::Skip,
        1 => Duty::SkipAndDiscard,
        2 => Duty::Endpoint,
        _ => Duty::Everybody,
    }
}

/// A header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// See [`message`].
    pub message: u8,
    /// Tunnel endpoint identifier, chosen by the receiving end.
    pub teid: u32,
    /// Sequence number.
    pub sequence: Option<u16>,
    /// N-PDU number.
    pub n_pdu: Option<u8>,
    /// Extension headers, in order.
    pub extensions: Vec<Extension>,
}

impl Header {
    /// Bytes of the header, optional fields included.
    pub fn length(&self) -> usize {
        let extensions: usize = self.extensions.iter().map(|e| e.content.len() + 2).sum();
        LENGTH + if self.has_options() { 4 + extensions } else { 0 }
    }

    fn has_options(&self) -> bool {
        self.sequence.is_some() || self.n_pdu.is_some() || !self.extensions.is_empty()
    }

    /// Writes the header in front of `payload` bytes of content.
    ///
    /// # Errors
    /// The length field cannot say how much follows, or an extension header is no whole number of four octets.
    pub fn encode(&self, payload: usize) -> Result<Vec<u8>, Malformed> {
        let follows = self.length() - LENGTH + payload;
        let length = u16::try_from(follows).map_err(|_| Malformed::Length(follows))?;
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let mut bytes = vec![
            VERSION
                | PROTOCOL
                | bit(!self.extensions.is_empty(), EXTENSION)
                | bit(self.sequence.is_some(), SEQUENCE)
                | bit(self.n_pdu.is_some(), N_PDU),
            self.message,
        ];
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.teid.to_be_bytes());
        if self.has_options() {
            bytes.extend(self.sequence.unwrap_or(0).to_be_bytes());
            bytes.push(self.n_pdu.unwrap_or(0));
            for extension in &self.extensions {
                let whole = extension.content.len() + 2;
                let units = u8::try_from(whole / 4).map_err(|_| Malformed::Length(whole))?;
                if whole % 4 != 0 || units == 0 || extension.kind == 0 {
                    return Err(Malformed::Length(whole));
                }
                bytes.extend([extension.kind, units]);
                bytes.extend(&extension.content);
            }
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// Reads a header and what it encloses. `known` are the types of extension headers that the reader understands; the others
    /// are read, unless the endpoint must understand them.
    ///
    /// # Errors
    /// Too few bytes, another version, GTP', a length field that cannot be, an extension header that must be understood.
    pub fn decode<'a>(bytes: &'a [u8], known: &[u8]) -> Result<(Header, &'a [u8]), Malformed> {
        let (fixed, _) = split(bytes, LENGTH)?;
        if fixed[0] >> 5 != 1 {
            return Err(Malformed::Version(fixed[0] >> 5));
        }
        if fixed[0] & PROTOCOL == 0 {
            return Err(Malformed::Charging);
        }
        let follows = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let (_, rest) = split(bytes, LENGTH)?;
        let (mut rest, _) = rest
            .split_at_checked(follows)
            .ok_or(Malformed::Short { need: LENGTH + follows, have: bytes.len() })?;
        let teid = u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
        let mut header = Header { message: fixed[1], teid, ..Header::default() };
        if fixed[0] & (EXTENSION | SEQUENCE | N_PDU) == 0 {
            return Ok((header, rest));
        }
        // From here on the message's own length is too small for what its flags announce.
        let (options, after) = rest.split_at_checked(4).ok_or(Malformed::Length(follows))?;
        rest = after;
        header.sequence = (fixed[0] & SEQUENCE != 0).then(|| u16::from_be_bytes([options[0], options[1]]));
        header.n_pdu = (fixed[0] & N_PDU != 0).then_some(options[2]);
        let mut kind = if fixed[0] & EXTENSION != 0 { options[3] } else { 0 };
        while kind != 0 {
            let units = usize::from(*rest.first().ok_or(Malformed::Length(follows))?);
            let (whole, after) = rest.split_at_checked(units * 4).ok_or(Malformed::Length(units))?;
            // Length zero would never end.
            let (&next, inside) = whole.split_last().ok_or(Malformed::Length(0))?;
            if matches!(duty(kind), Duty::Endpoint | Duty::Everybody) && !known.contains(&kind) {
                return Err(Malformed::MustUnderstand(kind));
            }
            header.extensions.push(Extension { kind, content: inside[1..].to_vec() });
            (kind, rest) = (next, after);
        }
        Ok((header, rest))
    }
}

/// Sequence numbers of 16 bits as they were before they wrapped, for one tunnel, and how many are missing.
///
/// A number within half the space of the highest so far is ahead of it or behind it (RFC 1982 with 16 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The highest number so far, unwrapped.
    highest: Option<u64>,
    /// Packets that came.
    arrived: u64,
    /// The first number.
    first: u64,
}

impl Numbers {
    /// A packet with this number arrives; gives the number unwrapped.
    pub fn arrive(&mut self, number: u16) -> u64 {
        self.arrived += 1;
        let Some(highest) = self.highest else {
            // Room below, for packets that were sent before the first one that came.
            let first = 1 << 16 | u64::from(number);
            (self.highest, self.first) = (Some(first), first);
            return first;
        };
        let ahead = number.wrapping_sub(highest as u16) as i16;
        let full = highest.saturating_add_signed(i64::from(ahead));
        self.highest = Some(highest.max(full));
        self.first = self.first.min(full);
        full
    }

    /// Numbers between the lowest and the highest that did not come, as far as none came twice.
    pub fn missing(&self) -> u64 {
        self.highest.map_or(0, |highest| (highest - self.first + 1).saturating_sub(self.arrived))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_plain_user_packet() {
        let header = Header { message: message::G_PDU, teid: 0x0102_0304, ..Header::default() };
        let bytes = header.encode(60).expect("it fits");
        assert_eq!(bytes, [0x30, 255, 0, 60, 1, 2, 3, 4]);
    }

    /// With a sequence number the first octet is 0x32, and four octets more count in the length.
    #[test]
    fn a_user_packet_with_a_number() {
        let header = Header { message: message::G_PDU, teid: 7, sequence: Some(0xbeef), ..Header::default() };
        let mut bytes = header.encode(3).expect("it fits");
        assert_eq!(bytes, [0x32, 255, 0, 7, 0, 0, 0, 7, 0xbe, 0xef, 0, 0]);
        bytes.extend([9, 9, 9, 1]); // the last byte is padding of a link
        assert_eq!(Header::decode(&bytes, &[]), Ok((header, &[9, 9, 9][..])));
    }

    /// Fields whose flag is not set are ignored even where they are not zero (section 5.1).
    #[test]
    fn fields_without_their_flag_are_ignored() {
        let bytes = [0x31, 255, 0, 4, 0, 0, 0, 7, 0xbe, 0xef, 5, 0x85];
        let (header, inside) = Header::decode(&bytes, &[]).expect("a header");
        assert_eq!(
            (header.sequence, header.n_pdu, header.extensions.len(), inside.len()),
            (None, Some(5), 0, 0)
        );
    }

    #[test]
    fn extension_headers_chain() {
        let bytes =
            [0x34, 255, 0, 14, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 9, 0x40, 1, 0x1f, 0x90, 0, 0xaa, 0xbb];
        let (header, inside) = Header::decode(&bytes, &[0x85]).expect("a header");
        let expected = [
            Extension { kind: 0x85, content: vec![0x10, 9] },
            Extension { kind: 0x40, content: vec![0x1f, 0x90] },
        ];
        assert_eq!((header.extensions.as_slice(), inside), (&expected[..], &[0xaa, 0xbb][..]));
        assert_eq!(header.encode(2).map(|b| b == bytes[..20]), Ok(true));
    }

    #[test]
    fn malformed_headers() {
        let read = |bytes: &[u8]| Header::decode(bytes, &[]).expect_err("malformed");
        assert_eq!(read(&[0x30, 255, 0]), Malformed::Short { need: 8, have: 3 });
        assert_eq!(read(&[0x50, 255, 0, 0, 0, 0, 0, 7]), Malformed::Version(2));
        assert_eq!(read(&[0x20, 255, 0, 0, 0, 0, 0, 7]), Malformed::Charging);
        assert_eq!(read(&[0x30, 255, 0, 9, 0, 0, 0, 7]), Malformed::Short { need: 17, have: 8 });
        // The flags announce four octets, the length two.
        assert_eq!(read(&[0x32, 255, 0, 2, 0, 0, 0, 7, 0, 1, 0, 0]), Malformed::Length(2));
        // An extension header of length zero, and one that leaves the message.
        assert_eq!(read(&[0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0x20, 0, 0, 0, 0]), Malformed::Length(0));
        assert_eq!(read(&[0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0x20, 2, 0, 0, 0]), Malformed::Length(2));
        for kind in [0x81, 0xc0] {
            let bytes = [0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, kind, 1, 0, 0, 0];
            assert_eq!(read(&bytes), Malformed::MustUnderstand(kind));
            assert!(Header::decode(&bytes, &[kind]).is_ok());
        }
    }

    #[test]
    fn what_cannot_be_written() {
        let long = Header { message: message::G_PDU, ..Header::default() };
        assert_eq!(long.encode(65_536), Err(Malformed::Length(65_536)));
        let odd = |content| Header { extensions: vec![Extension { kind: 0x20, content }], ..long.clone() };
        assert_eq!(odd(vec![1]).encode(0), Err(Malformed::Length(3)));
        assert_eq!(odd(vec![0; 1022]).encode(0), Err(Malformed::Length(1024)));
    }

    /// 65,534, 65,535, 1: one is missing (Zhang et al. 2011, dossier 2.18).
    #[test]
    fn a_gap_over_the_edge() {
        let mut numbers = Numbers::default();
        let full: Vec<u64> = [65_534, 65_535, 1].map(|n| numbers.arrive(n)).to_vec();
        assert_eq!(full, [131_070, 131_071, 131_073]);
        assert_eq!(numbers.missing(), 1);
        // It comes late: nothing is missing.
        assert_eq!((numbers.arrive(0), numbers.missing()), (131_072, 0));
    }

    proptest! {
        #[test]
        fn round_trip(kind: u8, teid: u32, sequence: Option<u16>, n_pdu: Option<u8>,
                      extensions in prop::collection::vec((1u8..64, 1usize..4), 0..3), payload in 0usize..50) {
            let extensions = extensions
                .into_iter()
                .map(|(kind, units)| Extension { kind, content: vec![kind; units * 4 - 2] })
                .collect();
            let header = Header { message: kind, teid, sequence, n_pdu, extensions };
            let mut bytes = header.encode(payload).unwrap();
            prop_assert_eq!(bytes.len(), header.length());
            bytes.resize(header.length() + payload, 0x5a);
            let (read, inside) = Header::decode(&bytes, &[]).unwrap();
            prop_assert_eq!(&read, &header);
            prop_assert_eq!(inside.len(), payload);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Header::decode(&bytes, &[0x85]);
        }

        /// Whatever is lost or moved by less than half the space, numbers come back as they were.
        #[test]
        fn numbers_unwrap(start: u16, gaps in prop::collection::vec(1u64..30_000, 1..100)) {
            let mut numbers = Numbers::default();
            let mut sent = u64::from(start);
            let origin = numbers.arrive(start);
            for gap in &gaps {
                sent += gap;
                prop_assert_eq!(numbers.arrive(sent as u16) - origin, sent - u64::from(start));
            }
            prop_assert_eq!(numbers.missing(), gaps.iter().map(|gap| gap - 1).sum::<u64>());
        }
    }
}
