//! The TCP header (RFC 9293 section 3.1) with the flag AE (RFC 9768 section 3.1). Options: window scale and
//! timestamps (RFC 7323), SACK (RFC 2018), byte counters of accurate ECN (RFC 9768 section 3.2.3).

use evenflow_base::options::AccEcn;

use crate::{Malformed, split};

/// Bytes of a header without options.
pub const LENGTH: usize = 20;

/// A header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// The nine flags as they are in the header: FIN is 1, AE is 256.
    pub flags: u16,
    /// Window, unscaled.
    pub window: u16,
    /// Window scale: by how many bits.
    pub scale: Option<u8>,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, at most three beside timestamps, else four.
    pub blocks: Vec<(u32, u32)>,
    /// The AccECN option.
    pub accurate: Option<AccEcn>,
}

const END: u8 = 0;
const NOP: u8 = 1;
const SCALE: u8 = 3;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

impl Header {
    /// The header, options and padding included. Its checksum covers `pseudo` and a payload of so many zeros.
    /// `pseudo` is the pseudo-header of the IP version without the length (RFC 9293 section 3.1). Blocks and
    /// counters for which there is no room are left out.
    pub fn encode(&self, pseudo: &[u8], payload: u16) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(scale) = self.scale {
            options.extend([NOP, SCALE, 3, scale]);
        }
        if let Some((value, echo)) = self.timestamps {
            options.extend([NOP, NOP, TIMESTAMPS, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        let room = (40 - options.len()).saturating_sub(4) / 8;
        let blocks = &self.blocks[..self.blocks.len().min(room)];
        if !blocks.is_empty() {
            options.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
            options
                .extend(blocks.iter().flat_map(|(from, to)| [from.to_be_bytes(), to.to_be_bytes()].concat()));
        }
        if let Some(option) = self.accurate.map(|accurate| accurate.encode())
            && options.len() + option.len() <= 40
        {
            options.extend(option);
            options.resize(options.len().next_multiple_of(4), NOP);
        }
        let length = LENGTH + options.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend(((length as u16 / 4) << 12 | self.flags & 0x1ff).to_be_bytes());
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        let total = (length + usize::from(payload)) as u16;
        let sum = checksum(&[pseudo, &bytes, &u32::from(total).to_be_bytes()]);
        bytes[16..18].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// A header and what follows it. Options that are not known are skipped.
    ///
    /// # Errors
    /// Too few bytes, a length that cannot be.
    pub fn decode(bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
        let (fixed, _) = split(bytes, LENGTH)?;
        let pair = |i: usize| u16::from_be_bytes([fixed[i], fixed[i + 1]]);
        let four = |from: &[u8]| u32::from_be_bytes([from[0], from[1], from[2], from[3]]);
        let words = usize::from(pair(12) >> 12);
        if words < 5 {
            return Err(Malformed::Length(words));
        }
        let (header, rest) = split(bytes, words * 4)?;
        let mut read = Header {
            source: pair(0),
            destination: pair(2),
            seq: four(&fixed[4..]),
            ack: four(&fixed[8..]),
            flags: pair(12) & 0x1ff,
            window: pair(14),
            ..Header::default()
        };
        let mut options = &header[LENGTH..];
        while let Some((&kind, after)) = options.split_first() {
            match kind {
                END => break,
                NOP => {
                    options = after;
                    continue;
                }
                _ => {}
            }
            let (length, _) = split(after, 1)?;
            let length = usize::from(length[0]);
            if length < 2 || length > options.len() {
                return Err(Malformed::Length(length));
            }
            let (option, after) = options.split_at(length);
            options = after;
            match (kind, length) {
                (SCALE, 3) => read.scale = Some(option[2]),
                (TIMESTAMPS, 10) => read.timestamps = Some((four(&option[2..]), four(&option[6..]))),
                (SACK, _) => {
                    read.blocks =
                        option[2..].chunks_exact(8).map(|block| (four(block), four(&block[4..]))).collect();
                }
                _ => read.accurate = AccEcn::decode(option).or(read.accurate),
            }
        }
        Ok((read, rest))
    }
}

/// The one's complement sum over parts (RFC 1071), all but the last of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: SYN from port 1024 to 5001, window 65535, scale 7.
    #[test]
    fn a_syn() {
        let syn = Header {
            source: 1024,
            destination: 5001,
            flags: 0x1c2, // AE, CWR, ECE, SYN
            window: 65_535,
            scale: Some(7),
            ..Header::default()
        };
        let bytes = syn.encode(&[], 0);
        assert_eq!(bytes[..4], [0x04, 0x00, 0x13, 0x89]);
        assert_eq!(bytes[12..16], [0x61, 0xc2, 0xff, 0xff]);
        assert_eq!(bytes[20..], [1, 3, 3, 7]);
        // 0400 + 1389 + 61c2 + ffff + 0103 + 0307 + 0018 = 17d6c, carried: 7d6d, inverted.
        assert_eq!(bytes[16..18], [0x82, 0x92]);
    }

    #[test]
    fn timestamps_leave_room_for_three_blocks() {
        let blocks: Vec<(u32, u32)> = (0..4).map(|n| (10 * n, 10 * n + 5)).collect();
        let mut ack = Header { flags: 0x10, timestamps: Some((1, 2)), blocks, ..Header::default() };
        let (read, _) = Header::decode(&ack.encode(&[], 0)).expect("a header");
        assert_eq!((read.blocks.len(), read.timestamps), (3, Some((1, 2))));
        ack.timestamps = None;
        assert_eq!(Header::decode(&ack.encode(&[], 0)).expect("a header").0.blocks.len(), 4);
    }

    /// RFC 9768 figure 4: the SYN-ACK's option, its padding, and no space next to timestamps and three
    /// blocks.
    #[test]
    fn counters_of_accurate_ecn() {
        let accurate = Some(AccEcn::new(false, [1, 0, 1], 3));
        let mut header = Header { timestamps: Some((1, 2)), accurate, ..Header::default() };
        let bytes = header.encode(&[], 0);
        assert_eq!(bytes[32..], [172, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1]);
        header.blocks = vec![(1, 2); 3];
        assert_eq!(Header::decode(&header.encode(&[], 0)).expect("a header").0.accurate, None);
        header.blocks.pop();
        header.accurate = Some(AccEcn::new(true, [0, 7, 9], 2));
        assert_eq!(
            Header::decode(&header.encode(&[], 0)).expect("a header").0,
            header,
            "two blocks leave 8 bytes"
        );
    }

    #[test]
    fn malformed_headers() {
        assert_eq!(Header::decode(&[0; 19]), Err(Malformed::Short { need: 20, have: 19 }));
        let mut bytes = Header { scale: Some(7), ..Header::default() }.encode(&[], 0);
        bytes[12] = 0x40;
        assert_eq!(Header::decode(&bytes), Err(Malformed::Length(4)));
        bytes[12] = 0x60;
        for length in [0, 1, 4] {
            bytes[22] = length;
            assert_eq!(Header::decode(&bytes), Err(Malformed::Length(usize::from(length))));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(ports: (u16, u16), numbers: (u32, u32), flags in 0u16..512, window: u16,
                                   scale: Option<u8>, timestamps: Option<(u32, u32)>,
                                   blocks in prop::collection::vec(any::<(u32, u32)>(), 0..2),
                                   counters: Option<(bool, [u32; 3])>) {
            let accurate = counters.map(|(order, counters)| AccEcn::new(order, counters.map(|bytes| bytes >> 8), 3));
            let header = Header { source: ports.0, destination: ports.1, seq: numbers.0, ack: numbers.1, flags, window, scale,
                                  timestamps, blocks, accurate };
            let bytes = header.encode(&[], 0);
            prop_assert_eq!(bytes.len() % 4, 0);
            prop_assert_eq!(Header::decode(&bytes), Ok((header, &[][..])));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Header::decode(&bytes);
        }
    }
}
