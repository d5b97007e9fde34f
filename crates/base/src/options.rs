//! Rare fields of packets: TCP options, windows, outer headers. They are stored apart, so that packets stay
//! small.
//!
//! The creator of a packet attaches them. The end of its path (an end, a drop, a loss) releases them. The
//! engine checks at the end of each run that only packets in flight have such fields.

use crate::packet::{Ecn, ip};
use crate::{Duration, Heap, Packet, Time};

/// SACK blocks that fit beside a timestamp option (RFC 2018 section 3).
pub const BLOCKS: usize = 3;

/// The SACK option of an ACK (RFC 2018): up to three blocks `[from, to)`. The first may be a duplicate report (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    blocks: [(u64, u64); BLOCKS],
    count: u8,
}

impl Report {
    /// The report of an ACK without the option.
    pub const NONE: &'static Report = &Report::EMPTY;

    const EMPTY: Report = Report { blocks: [(0, 0); BLOCKS], count: 0 };

    /// Adds a block; a fourth does not fit and is left out.
    pub fn push(&mut self, block: (u64, u64)) {
        if usize::from(self.count) < BLOCKS {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
    }

    /// Leaves out all but the first `most` blocks.
    pub fn truncate(&mut self, most: usize) {
        self.count = self.count.min(most as u8);
    }

    /// The blocks, the most recent first.
    #[inline]
    pub fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Codepoints with a byte counter of accurate ECN: ECT(0), CE, ECT(1).
pub const CODEPOINTS: usize = 3;

/// The AccECN option (RFC 9768 section 3.2.3): counters of payload bytes by codepoint, 24 bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcn {
    /// ECT(0), CE, ECT(1).
    counters: [u32; CODEPOINTS],
    /// The fields that are present.
    fields: u8,
    /// AccECN1, which begins with ECT(1); else AccECN0.
    order1: bool,
}

impl AccEcn {
    /// With so many fields, in order 0 or 1.
    pub fn new(order1: bool, counters: [u32; CODEPOINTS], fields: usize) -> AccEcn {
        AccEcn { counters, fields: fields.min(CODEPOINTS) as u8, order1 }
    }

    /// The counter of ECT(0), CE or ECT(1), if its field is present.
    pub fn field(&self, counter: usize) -> Option<u32> {
        let place = if self.order1 { CODEPOINTS - 1 - counter } else { counter };
        (place < usize::from(self.fields)).then(|| self.counters[counter])
    }

    /// Kind 172 in order 0, 174 in order 1.
    pub fn kind(&self) -> u8 {
        if self.order1 { ACCECN1 } else { ACCECN0 }
    }

    /// The option on the wire (figure 4).
    pub fn encode(&self) -> Vec<u8> {
        let mut order = [0, 1, 2];
        if self.order1 {
            order.reverse();
        }
        let fields = order.iter().filter_map(|&counter| self.field(counter));
        let mut bytes = vec![self.kind(), 2 + 3 * self.fields];
        bytes.extend(fields.flat_map(|field| field.to_be_bytes()[1..].to_vec()));
        bytes
    }

    /// Reads an option of any length: whole fields count, the rest is padding. `None`: another option.
    pub fn decode(option: &[u8]) -> Option<AccEcn> {
        let (&kind, rest) = option.split_first()?;
        let body = rest.get(1..).filter(|_| kind == ACCECN0 || kind == ACCECN1)?;
        let mut counters = [0; CODEPOINTS];
        let order1 = kind == ACCECN1;
        let fields = body.chunks_exact(3).take(CODEPOINTS);
        let count = fields.len();
        for (i, field) in fields.enumerate() {
            let counter = if order1 { CODEPOINTS - 1 - i } else { i };
            counters[counter] = u32::from_be_bytes([0, field[0], field[1], field[2]]);
        }
        Some(AccEcn::new(order1, counters, count))
    }
}

/// Kinds of the option.
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;

/// Outer headers that a packet can have at once: a tunnel in a tunnel.
pub const OUTER: usize = 2;

/// The outer header of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outer {
    /// ECN field and RE flag: [`ip::ECN`] and [`ip::RE`].
    pub ip: u8,
    /// Its sequence number counts: the tunnel writes one.
    pub numbered: bool,
    /// Which stage has put it on.
    pub by: u16,
    /// The tunnel's number.
    pub tunnel: u32,
    /// Sequence number in the tunnel (as GTP-U's, 3GPP TS 29.281 section 5.1, or GRE's lower half, RFC 2890).
    pub sequence: u16,
    /// Its bytes.
    pub bytes: u16,
    /// The round trip of what is reported on the tunnel, which its ingress knows; zero: it does not.
    pub round_trip: Duration,
}

/// The bits that each header has separately; queues write those of the outermost one.
const FIELD: u8 = ip::ECN | ip::RE;

impl Outer {
    /// The ECN field.
    pub fn ecn(&self) -> Ecn {
        Ecn::of(self.ip)
    }

    /// Sets the ECN field.
    pub fn set_ecn(&mut self, field: Ecn) {
        self.ip = self.ip & !ip::ECN | field as u8;
    }

    /// The RE flag.
    pub fn re(&self) -> bool {
        self.ip & ip::RE != 0
    }

    /// Sets the RE flag.
    pub fn set_re(&mut self, on: bool) {
        self.ip = self.ip & !ip::RE | if on { ip::RE } else { 0 };
    }
}

/// The options of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The packet's number, in whose field the place is.
    seq: u64,
    /// The timestamp value of an ACK (RFC 7323 TSval), in the sender's ticks, where the sender asks for it; else 0.
    pub ts_val: u32,
    /// Data that carries an ACK: the next byte expected in the other direction.
    pub ack: u64,
    /// An ACK without data that tells a window: the number of the next byte its sender will send, which `seq` does not show.
    pub own: u64,
    /// The receive window as it is on the wire: unscaled in a SYN, else to be shifted (RFC 7323 section 2.2). `None`: there is
    /// no limit.
    pub window: Option<u16>,
    /// The window scale option of a SYN: by how many bits the windows that its sender announces are to be shifted.
    pub scale: Option<u8>,
    /// The number under which the packet goes, where its sender does not show the one that it has in the stream.
    pub shown: Option<u64>,
    /// An ACK of re-ECN's counter without end: the marked packets that its sender has seen, modulo 2^16. Of others it says nothing.
    pub marked: u16,
    /// The packet was lost on this link, which the far end counts.
    pub lost_at: u32,
    /// When it left its sender, in a run with labels.
    pub sent: Time,
    /// The SACK option.
    pub report: Report,
    /// The AccECN option.
    pub accurate: Option<AccEcn>,
    outer: [Outer; OUTER],
    headers: u8,
}

impl Carried {
    /// Of a packet without options.
    pub const NONE: &'static Carried = &Carried::EMPTY;

    const EMPTY: Carried = Carried {
        seq: 0,
        ts_val: 0,
        ack: 0,
        own: 0,
        window: None,
        scale: None,
        shown: None,
        marked: 0,
        lost_at: 0,
        sent: Time::ZERO,
        report: Report::EMPTY,
        accurate: None,
        outer: [Outer {
            ip: 0,
            numbered: false,
            by: 0,
            tunnel: 0,
            sequence: 0,
            bytes: 0,
            round_trip: Duration::ZERO,
        }; OUTER],
        headers: 0,
    };

    /// Nothing but a SACK option.
    pub fn reporting(report: Report) -> Carried {
        Carried { report, ..Carried::EMPTY }
    }

    /// The number that `packet`, which has these options, shows on its way.
    #[inline]
    pub fn number(&self, packet: &Packet) -> u64 {
        if packet.place().is_some() { self.shown.unwrap_or(self.seq) } else { packet.seq }
    }

    /// The outer headers, the outermost last. Queues see the packet's bits, which belong to the outermost
    /// header. So [`Outer::ip`] holds the bits of the next header inside; [`Carried::layers`] reorders them.
    #[inline]
    fn covers(&self) -> &[Outer] {
        &self.outer[..usize::from(self.headers)]
    }

    /// How many outer headers there are.
    #[inline]
    pub fn depth(&self) -> usize {
        usize::from(self.headers)
    }

    /// Which stage has put the outermost header on, if there is one.
    #[inline]
    pub fn outermost_by(&self) -> Option<u16> {
        self.covers().last().map(|header| header.by)
    }

    /// The outermost header, except its own bits, which are those of the packet.
    #[inline]
    pub fn outermost(&self) -> Option<Outer> {
        self.covers().last().copied()
    }

    /// The bits of [`ip`] of the inner packet, for one that shows `shown`, and its outer headers with their
    /// own bits, the outermost last.
    pub fn layers(&self, shown: u8) -> (u8, [Outer; OUTER], usize) {
        let (mut layers, mut bits) = (self.outer, shown & FIELD);
        for header in layers[..self.depth()].iter_mut().rev() {
            std::mem::swap(&mut header.ip, &mut bits);
        }
        (shown & !FIELD | bits, layers, self.depth())
    }

    /// Resets the fields. Fields that are valid only together with others stay.
    #[inline]
    fn reset(&mut self, seq: u64) {
        self.seq = seq;
        self.ts_val = 0;
        self.window = None;
        self.scale = None;
        self.shown = None;
        self.report.count = 0;
        self.accurate = None;
        self.headers = 0;
    }
}

/// Rare fields of packets in flight, by index. Indices are reused, which avoids allocations.
#[derive(Clone, Debug, Default)]
pub struct Options {
    places: Vec<Carried>,
    free: Vec<u32>,
}

impl Options {
    /// The fields of `packet`, created if absent.
    #[inline]
    pub fn attach(&mut self, packet: &mut Packet) -> &mut Carried {
        let place = match packet.place() {
            Some(place) => place,
            None => self.make(packet),
        };
        &mut self.places[place as usize]
    }

    /// Notes when `packet` leaves its sender. The packet counts as one without options if it had none.
    pub fn set_sent(&mut self, packet: &mut Packet, at: Time) {
        let had_none = packet.place().is_none();
        let carried = self.attach(packet);
        if had_none {
            (carried.ack, carried.own, carried.marked) = (0, 0, 0);
        }
        carried.sent = at;
    }

    #[inline]
    fn make(&mut self, packet: &mut Packet) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| self.add());
        self.places[place as usize].reset(packet.put_place(place));
        place
    }

    #[cold]
    fn add(&mut self) -> u32 {
        self.places.push(Carried::EMPTY);
        self.places.len() as u32 - 1
    }

    /// The options of `packet`.
    #[inline]
    pub fn of(&self, packet: &Packet) -> &Carried {
        packet.place().map_or(Carried::NONE, |place| &self.places[place as usize])
    }

    /// The same, to be changed, where there is something.
    #[inline]
    pub fn get_mut(&mut self, packet: &Packet) -> Option<&mut Carried> {
        packet.place().map(|place| &mut self.places[place as usize])
    }

    /// The number of `packet` as everyone on its way sees it, wherever it is kept.
    #[inline]
    pub fn seq(&self, packet: &Packet) -> u64 {
        self.of(packet).number(packet)
    }

    /// Releases the fields of a packet and restores its number. The fields stay readable until the next
    /// [`Options::attach`].
    #[inline]
    pub fn release(&mut self, packet: &mut Packet) -> &Carried {
        match packet.place() {
            None => Carried::NONE,
            Some(place) => self.take(packet, place),
        }
    }

    // Apart, so that others keep their registers.
    #[inline(never)]
    fn take(&mut self, packet: &mut Packet, place: u32) -> &Carried {
        self.free.push(place);
        let carried = &self.places[place as usize];
        packet.seq = carried.seq;
        carried
    }

    /// The end of a dropped packet's way.
    #[inline]
    pub fn discard(&mut self, packet: &Packet) {
        self.free.extend(packet.place());
    }

    /// Puts `header` around `packet`, which grows by its bytes and shows the header's ECN field and RE flag from now on. Says whether
    /// there was room: one may have two headers, and 65535 bytes in all.
    pub fn push_outer(&mut self, packet: &mut Packet, header: Outer) -> bool {
        let Some(size) = packet.size.checked_add(header.bytes) else { return false };
        if self.of(packet).depth() == OUTER {
            return false;
        }
        packet.size = size;
        let covered = packet.ip & FIELD;
        packet.ip = packet.ip & !FIELD | header.ip & FIELD;
        let carried = self.attach(packet);
        carried.outer[usize::from(carried.headers)] = Outer { ip: covered, ..header };
        carried.headers += 1;
        true
    }

    /// Notes the round trip of what is reported on the tunnel beside the outermost header of `packet`, if it has one.
    pub fn tell_round_trip(&mut self, packet: &Packet, rtt: Duration) {
        if let Some(carried) = self.get_mut(packet)
            && carried.headers > 0
        {
            carried.outer[usize::from(carried.headers) - 1].round_trip = rtt;
        }
    }

    /// Takes the outermost header off `packet`, as it has become on its way. The packet shrinks by its bytes and shows what was below
    /// it. `None`: it had none.
    pub fn pop_outer(&mut self, packet: &mut Packet) -> Option<Outer> {
        let carried = self.get_mut(packet)?;
        carried.headers = carried.headers.checked_sub(1)?;
        let header = carried.outer[usize::from(carried.headers)];
        packet.size -= header.bytes;
        let own = packet.ip & FIELD;
        packet.ip = packet.ip & !FIELD | header.ip;
        Some(Outer { ip: own, ..header })
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.places.heap_bytes() + self.free.heap_bytes()
    }

    /// Places in use.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the places in use are those of `packets`, a separate one for each.
    pub fn check<'a>(&self, packets: impl Iterator<Item = &'a Packet>) -> Result<(), Misplaced> {
        let mut held = vec![false; self.places.len()];
        let mut count = 0;
        for place in packets.filter_map(Packet::place) {
            match held.get_mut(place as usize) {
                Some(here) if !*here => *here = true,
                _ => return Err(Misplaced::Shared(place)),
            }
            count += 1;
        }
        if let Some(&place) = self.free.iter().find(|place| held[**place as usize]) {
            return Err(Misplaced::GivenBack(place));
        }
        if count != self.len() {
            return Err(Misplaced::Count { used: self.len(), of_packets: count });
        }
        Ok(())
    }
}

/// An error in the fields of packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Two packets have this one.
    Shared(u32),
    /// A packet has this one, which was given back.
    GivenBack(u32),
    /// So many are in use, and so many belong to packets.
    Count {
        /// In use.
        used: usize,
        /// Of packets.
        of_packets: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u64) -> Packet {
        Packet { seq, ..Packet::new(3, 1500, 1448) }
    }

    #[test]
    fn places_are_used_again_and_begin_empty() {
        let mut options = Options::default();
        let (mut a, mut b) = (packet(7), packet(8));
        let carried = options.attach(&mut a);
        carried.report.push((5, 9));
        (carried.window, carried.scale, carried.ts_val, carried.ack, carried.lost_at) =
            (Some(4), Some(2), 6, 11, 3);
        assert!(options.push_outer(&mut a, Outer { bytes: 36, ..Outer::default() }));
        options.attach(&mut b).scale = Some(9);
        assert_eq!((a.place(), b.place(), options.len()), (Some(0), Some(1), 2));
        assert_eq!((options.seq(&a), options.seq(&b), options.seq(&packet(9))), (7, 8, 9));
        assert_eq!(options.release(&mut a).report.blocks(), [(5, 9)]);
        assert_eq!((a.place(), a.seq, options.len()), (None, 7, 1));
        assert_eq!(options.release(&mut a), Carried::NONE);
        let mut c = packet(10);
        let carried = *options.attach(&mut c);
        assert_eq!(c.place(), Some(0));
        assert_eq!((carried.window, carried.scale, carried.ts_val), (None, None, 0));
        assert!(carried.report.blocks().is_empty() && carried.depth() == 0);
        assert_eq!(options.of(&b).scale, Some(9));
        assert_eq!(options.of(&a), Carried::NONE);
    }

    #[test]
    fn a_number_that_is_shown_hides_the_one_in_the_stream() {
        let mut options = Options::default();
        let mut a = packet(7);
        options.attach(&mut a).shown = Some(70);
        assert_eq!(options.seq(&a), 70);
        options.release(&mut a);
        assert_eq!((a.seq, options.seq(&a)), (7, 7));
        options.attach(&mut a);
        assert_eq!(options.seq(&a), 7, "places begin empty");
    }

    #[test]
    fn a_fourth_block_does_not_fit() {
        let mut report = Report::default();
        for n in 0..4 {
            report.push((n, n + 1));
        }
        assert_eq!(report.blocks(), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn outer_headers_are_a_stack_of_two_and_count_in_the_size() {
        let mut options = Options::default();
        let mut p = Packet { label: -0.5, ..packet(7) };
        let inner = Outer {
            ip: Ecn::Capable0 as u8 | ip::RE,
            tunnel: 4,
            sequence: 65_535,
            bytes: 36,
            ..Outer::default()
        };
        let outermost = Outer { tunnel: 5, bytes: 20, by: 3, ..Outer::default() };
        p.ip = Ecn::Capable1 as u8 | ip::LOSS;
        assert_eq!(options.pop_outer(&mut p), None);
        assert!(options.push_outer(&mut p, inner));
        assert!(options.push_outer(&mut p, outermost));
        assert_eq!((p.size, p.payload, p.label), (1556, 1448, -0.5));
        assert_eq!(options.of(&p).outermost_by(), Some(3));
        assert!(!options.push_outer(&mut p, outermost), "a third");
        assert_eq!((p.size, p.ip), (1556, ip::LOSS), "the outermost header is not ECN-capable");
        let (own, layers, depth) = options.of(&p).layers(p.ip);
        assert_eq!((own, depth), (Ecn::Capable1 as u8 | ip::LOSS, 2));
        assert_eq!(layers, [inner, outermost]);
        assert_eq!(options.pop_outer(&mut p), Some(outermost));
        assert_eq!(p.ip, inner.ip | ip::LOSS, "reports are not a header's");
        p.set_ecn(Ecn::Congestion);
        let marked = options.pop_outer(&mut p).unwrap();
        assert_eq!(p.ip, Ecn::Capable1 as u8 | ip::LOSS, "what is inside keeps its field");
        assert_eq!(
            (marked.ecn(), marked.re(), marked.sequence, p.size),
            (Ecn::Congestion, true, 65_535, 1500)
        );
        assert_eq!(options.pop_outer(&mut p), None);
        options.release(&mut p);
        assert!(options.is_empty());
        let mut large = Packet::new(0, 65_500, 65_000);
        assert!(!options.push_outer(&mut large, inner), "65536 bytes");
        assert_eq!((large.size, options.len()), (65_500, 0));
    }

    #[test]
    fn the_check_finds_what_was_forgotten_and_what_is_shared() {
        let mut options = Options::default();
        let (mut a, mut b) = (packet(7), packet(8));
        options.attach(&mut a);
        options.attach(&mut b);
        let plain = packet(9);
        assert_eq!(options.check([&a, &plain, &b].into_iter()), Ok(()));
        assert_eq!(options.check([&a].into_iter()), Err(Misplaced::Count { used: 2, of_packets: 1 }));
        let copy = a;
        assert_eq!(options.check([&a, &copy].into_iter()), Err(Misplaced::Shared(0)));
        options.release(&mut a);
        assert_eq!(options.check([&copy, &b].into_iter()), Err(Misplaced::GivenBack(0)));
        assert_eq!(options.check([&b].into_iter()), Ok(()));
    }
}
