//! Capture files for packet analysers: pcapng (draft-ietf-opsawg-pcapng), as much of it as one writes who has raw IP packets.
//!
//! A section header block, an interface description block for each place where packets were seen, and an enhanced packet block for each
//! packet. Times are nanoseconds.

/// Packets begin with an IP header, whose version says which (LINKTYPE_RAW).
const RAW: u16 = 101;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const ORDER: u32 = 0x1a2b_3c4d;

const COMMENT: u16 = 1;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;

/// A capture file in memory.
#[derive(Clone, Debug)]
pub struct Capture {
    bytes: Vec<u8>,
}

impl Capture {
    /// One with these interfaces.
    pub fn new(interfaces: &[&str]) -> Capture {
        let mut capture = Capture { bytes: Vec::new() };
        let mut body = Vec::new();
        body.extend(ORDER.to_le_bytes());
        body.extend(1u16.to_le_bytes()); // version 1.0
        body.extend(0u16.to_le_bytes());
        body.extend((-1i64).to_le_bytes()); // length of the section: not given
        capture.block(SECTION, &body);
        for name in interfaces {
            let mut body = Vec::new();
            body.extend(RAW.to_le_bytes());
            body.extend([0; 6]); // reserved; no limit to the length of packets
            option(&mut body, NAME, name.as_bytes());
            option(&mut body, RESOLUTION, &[9]); // 10^-9 s
            end_of_options(&mut body);
            capture.block(INTERFACE, &body);
        }
        capture
    }

    /// A packet that `interface` saw at `time_ns`: its first bytes, and how many it has in all.
    pub fn packet(&mut self, interface: u32, time_ns: u64, bytes: &[u8], length: u32, comment: &str) {
        let mut body = Vec::new();
        body.extend(interface.to_le_bytes());
        body.extend(((time_ns >> 32) as u32).to_le_bytes());
        body.extend((time_ns as u32).to_le_bytes());
        body.extend((bytes.len() as u32).to_le_bytes());
        body.extend(length.to_le_bytes());
        body.extend(bytes);
        pad(&mut body);
        if !comment.is_empty() {
            option(&mut body, COMMENT, comment.as_bytes());
            end_of_options(&mut body);
        }
        self.block(PACKET, &body);
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.extend(length);
    }
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a file: kind and body. Both lengths of each must agree.
    fn blocks(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (mut at, mut found) = (0, Vec::new());
        while at < bytes.len() {
            let length = word(at + 4) as usize;
            assert_eq!((length % 4, word(at + length - 4) as usize), (0, length));
            found.push((word(at), bytes[at + 8..at + length - 4].to_vec()));
            at += length;
        }
        found
    }

    #[test]
    fn a_file_of_two_packets() {
        let mut capture = Capture::new(&["start", "end"]);
        capture.packet(0, 1_500_000_001, &[0x45, 0, 1], 1500, "");
        capture.packet(1, (7 << 32) + 5, &[0x60], 1, "Credit");
        let found = blocks(&capture.finish());
        let kinds: Vec<u32> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 6, 6]);
        assert_eq!(found[0].1[..8], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
        let interface =
            [101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 5, 0, b's', b't', b'a', b'r', b't', 0, 0, 0, 9, 0, 1, 0, 9];
        assert_eq!(found[1].1[..interface.len()], interface);
        // 1 500 000 001 = 0x59682f01.
        let packet =
            [0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x2f, 0x68, 0x59, 3, 0, 0, 0, 0xdc, 5, 0, 0, 0x45, 0, 1, 0];
        assert_eq!(found[3].1, packet);
        assert_eq!(found[4].1[..12], [1, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(found[4].1[24..], [1, 0, 6, 0, b'C', b'r', b'e', b'd', b'i', b't', 0, 0, 0, 0, 0, 0]);
    }
}
