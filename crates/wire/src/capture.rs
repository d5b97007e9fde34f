//! Packets of the simulator as a capture file: the headers that they would have on a wire, so that a packet analyser shows what was
//! sent.
//!
//! Addresses and ports are made up from the number of the flow. Payload is zeros, and left out of the file. A packet of the simulator
//! has one size whatever it carries; here a header is as long as its options, so that a packet may be a few bytes longer or shorter
//! (SACK blocks; the link header that some stacks count).

use std::collections::BTreeMap;

use evenflow_base::options::AccEcn;
use evenflow_base::{Ecn, Signals};

use crate::pcapng::Capture;
use crate::{conex_option, gtpu, ipv4, tcp};

const TCP: u8 = 6;
const UDP: u8 = 17;
const DESTINATION_OPTIONS: u8 = 60;
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
/// The UDP port of VXLAN (RFC 7348 section 5).
const VXLAN_PORT: u16 = 4789;
const PORT: u16 = 5001;

/// Bytes of IPv4 and TCP without options, and of the timestamp option with its padding.
const BARE: u64 = 40;
const WITH_TIMESTAMPS: u64 = 52;

/// A packet as an end of the path saw it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// When, nanoseconds.
    pub time_ns: u64,
    /// Which of the interfaces saw it.
    pub interface: u32,
    /// Number of its flow.
    pub flow: u32,
    /// It travels the path backwards.
    pub backward: bool,
    /// Bytes on the wire and of payload.
    pub size: u64,
    /// Of which payload.
    pub payload: u16,
    /// The nine flags as they are in the header; `None`: a datagram.
    pub flags: Option<u16>,
    /// Offset of its first byte; `None`: it does not show it.
    pub seq: Option<u64>,
    /// The next byte expected.
    pub ack: Option<u64>,
    /// The receive window as it is in the header.
    pub window: Option<u16>,
    /// The window scale of a SYN.
    pub scale: Option<u8>,
    /// Timestamp value of data, echo of an ACK.
    pub stamp: u32,
    /// Timestamp value of an ACK, where it has one.
    pub ts_val: u32,
    /// SACK blocks.
    pub blocks: Vec<(u64, u64)>,
    /// The AccECN option.
    pub accurate: Option<AccEcn>,
    /// The ECN field and the RE flag.
    pub ecn: u8,
    /// The RE flag.
    pub re: bool,
    /// What its sender says as a ConEx sender.
    pub says: Signals,
    /// It goes over IPv6.
    pub ipv6: bool,
    /// Outer headers, the outermost last.
    pub outer: Vec<Outer>,
}

/// The outer header of a tunnel. What it is follows from its bytes: 24 GRE, 50 VXLAN, 36 and 40 GTP-U without and with a sequence number, else
/// IP in IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outer {
    /// The ECN field.
    pub ecn: u8,
    /// The RE flag.
    pub re: bool,
    /// The tunnel's number.
    pub tunnel: u32,
    /// The packet's number in it.
    pub sequence: u16,
    /// Its bytes.
    pub bytes: u16,
}

/// Writes packets, in the order in which they were seen.
#[derive(Debug)]
pub struct Writer {
    capture: Capture,
    /// By interface, flow and direction: the number that an end will use next, as far as was seen.
    next: BTreeMap<(u32, u32, bool), u64>,
}

impl Writer {
    /// A file with these interfaces.
    pub fn new(interfaces: &[&str]) -> Writer {
        Writer { capture: Capture::new(interfaces), next: BTreeMap::new() }
    }

    /// Adds a packet.
    pub fn add(&mut self, row: &Row) {
        let (bytes, length) = self.bytes(row);
        self.capture.packet(row.interface, row.time_ns, &bytes, length, comment(row.says));
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        self.capture.finish()
    }

    /// The headers of a packet, and the length of the whole.
    fn bytes(&mut self, row: &Row) -> (Vec<u8>, u32) {
        let protocol = if row.flags.is_some() { TCP } else { UDP };
        let [from, to] = addresses(row);
        let mut pseudo = [from.as_slice(), to.as_slice()].concat();
        pseudo.extend([0, protocol]);
        let inner = match row.flags {
            Some(flags) => self.segment(row, flags, &pseudo),
            None => datagram(row),
        };
        let field = ipv4::field(row.ecn);
        let mut bytes = if row.ipv6 {
            over_ipv6(row, field, protocol, inner.len(), &from, &to)
        } else {
            let header = ipv4::Header {
                dscp: 0,
                ecn: field,
                re: row.re,
                total_length: (ipv4::LENGTH + inner.len()) as u16 + row.payload,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                time_to_live: 64,
                protocol,
                source: [from[0], from[1], from[2], from[3]],
                destination: [to[0], to[1], to[2], to[3]],
            };
            header.encode().to_vec()
        };
        bytes.extend(inner);
        let mut version = if row.ipv6 { IPV6 } else { IPV4 };
        for outer in &row.outer {
            bytes = wrapped(outer, &bytes, row.payload, version, row.backward);
            version = IPV4;
        }
        let length = bytes.len() as u32 + u32::from(row.payload);
        (bytes, length)
    }

    /// Numbers begin with the SYN, which takes one (RFC 9293 section 3.4), at zero.
    fn segment(&mut self, row: &Row, flags: u16, pseudo: &[u8]) -> Vec<u8> {
        const FIN: u16 = 1;
        const SYN: u16 = 2;
        const ACK: u16 = 16;
        let syn = flags & SYN != 0;
        let next = self.next.entry((row.interface, row.flow, row.backward)).or_insert(1);
        let seq = match row.seq {
            _ if syn => 0,
            Some(offset) => offset + 1,
            None => *next,
        };
        if !syn {
            *next = (*next).max(seq + u64::from(row.payload) + u64::from(flags & FIN));
        }
        let acknowledges = flags & ACK != 0;
        let around: u64 = row.outer.iter().map(|outer| u64::from(outer.bytes)).sum();
        let has_timestamps = row.size.saturating_sub(u64::from(row.payload) + around) >= WITH_TIMESTAMPS;
        let (value, echo) =
            if acknowledges && row.payload == 0 { (row.ts_val, row.stamp) } else { (row.stamp, row.ts_val) };
        let header = tcp::Header {
            source: if row.backward { PORT } else { port(row.flow) },
            destination: if row.backward { port(row.flow) } else { PORT },
            seq: seq as u32,
            ack: row.ack.filter(|_| acknowledges).map_or(0, |ack| ack as u32 + 1),
            flags,
            window: row.window.unwrap_or(u16::MAX),
            scale: row.scale.filter(|_| syn && row.size >= BARE),
            timestamps: has_timestamps.then_some((value, echo)),
            blocks: row.blocks.iter().map(|(from, to)| (*from as u32 + 1, *to as u32 + 1)).collect(),
            accurate: row.accurate,
        };
        header.encode(pseudo, row.payload)
    }
}

/// What cannot be read off the codes of IPv4: of what a Re-Echo is.
fn comment(says: Signals) -> &'static str {
    match (says.capable, says.loss, says.ecn, says.credit) {
        (false, ..) => "",
        (_, false, false, false) => "ConEx-Not-Marked",
        (_, true, false, false) => "Re-Echo-Loss",
        (_, false, true, false) => "Re-Echo-ECN",
        (_, false, false, true) => "Credit",
        (_, true, true, false) => "Re-Echo-Loss, Re-Echo-ECN",
        (_, true, false, true) => "Re-Echo-Loss, Credit",
        (_, false, true, true) => "Re-Echo-ECN, Credit",
        (_, true, true, true) => "Re-Echo-Loss, Re-Echo-ECN, Credit",
    }
}

fn port(flow: u32) -> u16 {
    1024 + (flow % 60_000) as u16
}

/// Source and destination: 10.1.x.y and 10.2.x.y, or fd00::1:x:y and fd00::2:x:y, by the number of the flow.
fn addresses(row: &Row) -> [Vec<u8>; 2] {
    let [.., high, low] = row.flow.to_be_bytes();
    let of = |side: u8| match row.ipv6 {
        false => vec![10, side, high, low],
        true => vec![0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, side, 0, high, 0, low],
    };
    let pair = [of(1), of(2)];
    if row.backward { [pair[1].clone(), pair[0].clone()] } else { pair }
}

/// A packet with the header of a tunnel before it: IP in IP (RFC 2003, RFC 4213), GRE (RFC 2784), VXLAN (RFC 7348) or GTP-U (3GPP TS 29.281). Addresses
/// are 172.16.x.y and 172.17.x.y, by the tunnel's number. `rest` bytes follow that are left out of the file.
fn wrapped(outer: &Outer, packet: &[u8], rest: u16, version: u8, backward: bool) -> Vec<u8> {
    let whole = packet.len() + usize::from(rest);
    let over_udp = |port: u16, header: Vec<u8>| {
        let length = (8 + header.len() + whole) as u16;
        let words: Vec<u8> = [port, port, length, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
        (UDP, [words, header].concat())
    };
    let gtp = |sequence: Option<u16>| {
        let header = gtpu::Header {
            message: gtpu::message::G_PDU,
            teid: outer.tunnel,
            sequence,
            ..Default::default()
        };
        over_udp(gtpu::PORT, header.encode(whole).unwrap_or_default())
    };
    let ethertype = if version == IPV6 { [0x86, 0xdd] } else { [0x08, 0x00] };
    let (protocol, shim) = match outer.bytes {
        24 => (GRE, [[0, 0], ethertype].concat()),
        36 => gtp(None),
        40 => gtp(Some(outer.sequence)),
        50 => {
            let [_, high, middle, low] = outer.tunnel.to_be_bytes();
            // Its flag says that the number is valid; addresses of Ethernet are made up.
            let mut header = vec![0x08, 0, 0, 0, high, middle, low, 0];
            header.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
            header.extend(ethertype);
            over_udp(VXLAN_PORT, header)
        }
        _ => (version, Vec::new()),
    };
    let [.., high, low] = outer.tunnel.to_be_bytes();
    let [near, far] = [16, 17].map(|side| [172, side, high, low]);
    let header = ipv4::Header {
        dscp: 0,
        ecn: ipv4::field(outer.ecn),
        re: outer.re,
        total_length: (ipv4::LENGTH + shim.len() + whole) as u16,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        time_to_live: 64,
        protocol,
        source: if backward { far } else { near },
        destination: if backward { near } else { far },
    };
    [header.encode().as_slice(), &shim, packet].concat()
}

/// A UDP header (RFC 768) without a checksum, which IPv4 allows.
fn datagram(row: &Row) -> Vec<u8> {
    let (source, destination) = if row.backward { (PORT, port(row.flow)) } else { (port(row.flow), PORT) };
    [source, destination, 8 + row.payload, 0].iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The IPv6 header (RFC 8200 section 3), and the option of a ConEx packet behind it.
fn over_ipv6(row: &Row, field: Ecn, protocol: u8, inner: usize, from: &[u8], to: &[u8]) -> Vec<u8> {
    let option = row.says.capable.then(|| conex_option::destination_options(protocol, row.says));
    let behind = option.map_or(0, |option| option.len()) + inner;
    let mut bytes = vec![0x60, (field as u8) << 4, 0, 0];
    bytes.extend((behind as u16 + row.payload).to_be_bytes());
    bytes.extend([if option.is_some() { DESTINATION_OPTIONS } else { protocol }, 64]);
    bytes.extend(from);
    bytes.extend(to);
    bytes.extend(option.into_iter().flatten());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u64) -> Row {
        Row { size: 1500, payload: 1448, flags: Some(0), seq: Some(seq), stamp: 7, ecn: 1, ..Row::default() }
    }

    fn tcp_of(bytes: &[u8]) -> (ipv4::Header, tcp::Header) {
        // The rest of the packet is zeros.
        let mut whole = bytes.to_vec();
        whole.resize(2000, 0);
        let (ip, inner) = ipv4::Header::decode(&whole).expect("IPv4");
        (ip, tcp::Header::decode(inner).expect("TCP").0)
    }

    #[test]
    fn a_re_echo_over_ipv4() {
        let mut writer = Writer::new(&["start"]);
        let (bytes, length) = writer.bytes(&Row { says: Signals::RE_ECHO_ECN, ..data(2896) });
        let (ip, tcp) = tcp_of(&bytes);
        assert_eq!((length, ip.total_length, bytes.len()), (1500, 1500, 52));
        assert_eq!(
            (ip.codepoint(), ip.source, ip.destination),
            (evenflow_base::Codepoint::ReEcho, [10, 1, 0, 0], [10, 2, 0, 0])
        );
        assert_eq!((tcp.seq, tcp.source, tcp.timestamps), (2897, 1024, Some((7, 0))));
    }

    #[test]
    fn numbers_begin_with_the_syn_and_a_fin_takes_one() {
        let mut writer = Writer::new(&["start"]);
        let mut seq = |row: &Row| {
            let (_, tcp) = tcp_of(&writer.bytes(row).0);
            (tcp.seq, tcp.ack)
        };
        let syn = Row { size: 60, flags: Some(2), seq: Some(0), ..Row::default() };
        assert_eq!(seq(&syn), (0, 0));
        assert_eq!(seq(&Row { flags: Some(18), ack: Some(0), backward: true, ..syn.clone() }), (0, 1));
        assert_eq!(seq(&data(0)), (1, 0));
        // ACKs do not show their own number; it is what their end will use next.
        let ack = Row { size: 52, flags: Some(16), ack: Some(1448), backward: true, ..Row::default() };
        assert_eq!(seq(&ack), (1, 1449));
        let fin = Row { size: 52, flags: Some(17), seq: Some(1448), ack: Some(0), ..Row::default() };
        assert_eq!(seq(&fin), (1449, 1));
        assert_eq!(seq(&Row { backward: false, ack: Some(0), ..ack }), (1450, 1));
    }

    #[test]
    fn over_ipv6_the_option_says_it() {
        let mut writer = Writer::new(&["start"]);
        let says = Signals { loss: true, ..Signals::CREDIT };
        let (bytes, length) = writer.bytes(&Row { ipv6: true, ecn: 2, says, ..data(0) });
        assert_eq!((bytes[0], bytes[1], bytes[6]), (0x60, 0x20, 60));
        assert_eq!(u32::from(bytes[4]) << 8 | u32::from(bytes[5]), length - 40);
        let (next, read, inner) = conex_option::decode(&bytes[40..]).expect("options");
        assert_eq!((next, read), (6, Some(says)));
        assert_eq!(tcp::Header::decode(inner).expect("TCP").0.seq, 1);
        // What is no ConEx packet has no option.
        let (bytes, _) = writer.bytes(&Row { ipv6: true, ..data(0) });
        assert_eq!(bytes[6], 6);
    }

    /// The checksum of a segment verifies: header, pseudo-header and a payload of zeros add up to nothing.
    #[test]
    fn checksums_are_right() {
        let mut writer = Writer::new(&["start"]);
        let blocks = vec![(2896, 4344)];
        let ack =
            Row { size: 52, flags: Some(16), ack: Some(1448), backward: true, blocks, ..Row::default() };
        for row in [data(0), ack] {
            let (bytes, length) = writer.bytes(&row);
            let mut sum: u32 = bytes[12..].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
            sum += u32::from(TCP) + length - 20;
            while sum >> 16 != 0 {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(sum, 0xffff, "{row:?}");
        }
    }

    /// A packet inside GTP-U: the outer header with its own field, the tunnel's and the packet's number, and the packet as it was.
    #[test]
    fn a_packet_in_a_tunnel() {
        let outer = |bytes: u16| Outer { ecn: 3, re: true, tunnel: 0x0102_0304, sequence: 513, bytes };
        let mut writer = Writer::new(&["link"]);
        let (bare, length) = writer.bytes(&data(0));
        for (bytes, protocol, port) in [
            (20, 4, None),
            (24, 47, None),
            (36, 17, Some(2152)),
            (40, 17, Some(2152)),
            (50, 17, Some(4789)),
            (77, 4, None),
        ] {
            let row = Row { size: 1500 + u64::from(bytes), outer: vec![outer(bytes)], ..data(0) };
            let (all, whole) = writer.bytes(&row);
            let size = if bytes == 77 { 20 } else { bytes };
            assert_eq!((whole, all.len()), (length + u32::from(size), bare.len() + usize::from(size)));
            let mut padded = all.clone();
            padded.resize(2000, 0);
            let (ip, inner) = ipv4::Header::decode(&padded).expect("IPv4");
            assert_eq!(
                (ip.ecn, ip.re, ip.protocol, ip.source),
                (Ecn::Congestion, true, protocol, [172, 16, 3, 4])
            );
            assert_eq!(u32::from(ip.total_length), whole);
            let Some(port) = port else { continue };
            assert_eq!(inner[2..4], u16::to_be_bytes(port));
            assert_eq!(usize::from(u16::from_be_bytes([inner[4], inner[5]])), inner.len());
            if port == gtpu::PORT {
                let (header, packet) = gtpu::Header::decode(&inner[8..], &[]).expect("GTP-U");
                assert_eq!((header.teid, header.message), (0x0102_0304, 255));
                assert_eq!(header.sequence, (bytes == 40).then_some(513));
                assert_eq!(packet[..bare.len()], bare);
            }
        }
        // A tunnel in a tunnel.
        let row = Row { size: 1576, outer: vec![outer(36), Outer { ecn: 0, ..outer(40) }], ..data(0) };
        let (all, whole) = writer.bytes(&row);
        assert_eq!((whole, all[1] & 3, all[40 + 1] & 3), (1576, 0, 3));
    }

    #[test]
    fn a_datagram() {
        let mut writer = Writer::new(&["start"]);
        let row = Row { size: 1500, payload: 1472, ..Row::default() };
        let (bytes, length) = writer.bytes(&row);
        assert_eq!((bytes.len(), length, bytes[9]), (28, 1500, UDP));
        assert_eq!(bytes[24..26], 1480u16.to_be_bytes());
    }
}
