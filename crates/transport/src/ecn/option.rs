//! The AccECN option: byte counters at both ends (RFC 9768 sections 3.2.1 and 3.2.3, appendix A).

use evenflow_base::options::{AccEcn, CODEPOINTS};
use evenflow_base::{Ecn as Field, Heap};

use super::{ACE, newly_marked, number_of};

/// First values of the counters E0, CE, E1 (section 3.2.1).
const FIRST_BYTES: [u32; CODEPOINTS] = [1, 0, 1];

/// A counter's field has 24 bits.
const FIELD: u32 = (1 << 24) - 1;

/// Option space of a TCP header.
const SPACE: usize = 40;

/// Bytes of the timestamp option with its padding.
const TIMESTAMPS: usize = 12;

/// Bytes of the further options of a SYN-ACK: segment size and window scale. SACK-permitted fills the padding
/// of the timestamps.
const SYN_ACK: usize = 8;

/// Rounds of marked packets only after which the field counts as mangled (section 3.2.2.3).
const ROUNDS: u32 = 4;

/// SACK blocks that keep precedence (section 3.2.3.3).
const BLOCKS_FIRST: usize = 2;

/// A segment that carries the option to test the path (section 3.2.3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// None.
    None = 0,
    /// A SYN-ACK. A repeated one goes without option, and so do all later segments (section 3.2.3.2.2).
    SynAck = 1,
    /// The client's first ACK.
    Ack = 2,
    /// The client's first data.
    Data = 4,
}

/// The counters of a data receiver.
#[derive(Clone, Debug)]
pub struct Received {
    /// r.e0b, r.ceb, r.e1b.
    bytes: [u32; CODEPOINTS],
    /// Counters that have ever changed, and those that changed since the last option.
    ever: [bool; CODEPOINTS],
    news: [bool; CODEPOINTS],
    /// Tests that were sent.
    tested: u8,
    /// A SYN-ACK with option was repeated: no further option.
    silent: bool,
}

impl Default for Received {
    fn default() -> Received {
        let never = [false; CODEPOINTS];
        Received { bytes: FIRST_BYTES, ever: never, news: never, tested: 0, silent: false }
    }
}

impl Heap for Received {
    fn heap_bytes(&self) -> u64 {
        size_of::<Received>() as u64
    }
}

impl Received {
    /// Data arrives.
    #[inline]
    pub fn add(&mut self, field: Field, payload: u16) {
        let i = match field {
            Field::NotCapable => return,
            Field::Capable0 => 0,
            Field::Congestion => 1,
            Field::Capable1 => 2,
        };
        if payload > 0 {
            self.bytes[i] = self.bytes[i].wrapping_add(u32::from(payload));
            (self.ever[i], self.news[i]) = (true, true);
        }
    }

    /// r.e0b, r.ceb, r.e1b, modulo 2^32.
    pub fn bytes(&self) -> [u32; CODEPOINTS] {
        self.bytes
    }

    /// The option of a segment with `blocks` SACK blocks, and the number of blocks that stay. It is sent where a
    /// counter changed since the last option (section 3.2.3.3), and on `test`.
    pub fn write(&mut self, test: Test, blocks: usize) -> Option<(AccEcn, usize)> {
        let first = test != Test::None && self.tested & test as u8 == 0;
        self.silent |= test == Test::SynAck && !first;
        self.tested |= test as u8;
        if self.silent || !(first || self.news.contains(&true)) {
            return None;
        }
        let option = self.fit(first, room(test, blocks)).map(|option| (option, blocks)).or_else(|| {
            // The third block yields.
            let fewer = blocks.min(BLOCKS_FIRST);
            (fewer < blocks)
                .then(|| self.fit(first, room(test, fewer)))
                .flatten()
                .map(|option| (option, fewer))
        });
        if option.is_some() {
            self.news = [false; CODEPOINTS];
        }
        option
    }

    /// The option within `room` bytes, with a field for each counter that ever changed. Fields that do not fit are
    /// left out, unless their counter changed since the last option. A test has all fields.
    fn fit(&self, test: bool, room: usize) -> Option<AccEcn> {
        let needed = |order1: bool, which: [bool; CODEPOINTS]| {
            let at = |i: usize| if order1 { CODEPOINTS - i } else { i + 1 };
            (0..CODEPOINTS).filter(|&i| which[i]).map(at).max().unwrap_or(0)
        };
        let wanted = |order1: bool| if test { CODEPOINTS } else { needed(order1, self.ever) };
        let most = room.saturating_sub(2) / 3;
        let order1 = wanted(true) < wanted(false);
        [order1, !order1].into_iter().find_map(|order1| {
            let fields = wanted(order1).min(most);
            (room >= 2 && fields >= needed(order1, self.news))
                .then(|| AccEcn::new(order1, self.bytes.map(|bytes| bytes & FIELD), fields))
        })
    }
}

/// Option space beside the other options. The SACK option has two bytes of padding.
fn room(test: Test, blocks: usize) -> usize {
    let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
    SPACE - TIMESTAMPS - if test == Test::SynAck { SYN_ACK } else { sack }
}

/// The counters of a data sender.
#[derive(Clone, Debug)]
pub struct Reported {
    /// s.e0b, s.ceb, s.e1b.
    bytes: [u64; CODEPOINTS],
    /// The option of the ACK that arrives.
    arrived: Option<AccEcn>,
    /// An option has come.
    seen: bool,
    /// The first one had zeros: options are ignored (section 3.2.3.2.4).
    zeroed: bool,
    /// Packets and marks that ACKs without option covered since the last one with option.
    before: (u32, u32),
    mss: u64,
    /// Tests of the first feedback.
    tests: Tests,
}

/// Tests of the feedback after the handshake (sections 3.2.2.3 and 3.2.2.4).
#[derive(Clone, Copy, Debug)]
enum Tests {
    /// No feedback has come.
    First,
    /// Every packet was marked for so many rounds. The present one ends with this byte.
    Marked(u32, u64),
    /// The path passed.
    Passed,
    /// The counter began with 0, or every packet was marked: no mark is answered.
    Failed,
}

impl Reported {
    /// Before the handshake.
    pub fn new(mss: u64) -> Reported {
        let bytes = FIRST_BYTES.map(u64::from);
        Reported {
            bytes,
            arrived: None,
            seen: false,
            zeroed: false,
            before: (0, 0),
            mss,
            tests: Tests::First,
        }
    }

    /// An ACK arrives with or without option.
    pub fn hear(&mut self, option: Option<AccEcn>) {
        self.arrived = option;
        if let Some(option) = option.filter(|_| !self.seen) {
            self.seen = true;
            self.zeroed = option.field(0) == Some(0) || option.field(2) == Some(0);
        }
    }

    /// s.e0b, s.ceb, s.e1b.
    pub fn bytes(&self) -> [u64; CODEPOINTS] {
        self.bytes
    }

    /// Tests the counter of an ACK up to byte `una` that shows `marks` marks of `packets` packets; data up to
    /// `next` left. True if marks are not to be answered and no packet is to be ECN-capable.
    pub fn fails(&mut self, flags: u8, marks: u32, packets: u32, una: u64, next: u64) -> bool {
        self.tests = match self.tests {
            Tests::First if number_of(flags & ACE) == 0 => Tests::Failed,
            Tests::First | Tests::Marked(..) if marks < packets => Tests::Passed,
            Tests::First => Tests::Marked(0, next),
            Tests::Marked(ROUNDS.., end) if una >= end => Tests::Failed,
            Tests::Marked(rounds, end) if una >= end => Tests::Marked(rounds + 1, next),
            other => other,
        };
        matches!(self.tests, Tests::Failed)
    }

    /// Newly marked packets in an ACK that is not superseded (appendix A.2.2), and whether its fields contradict
    /// each other: marked bytes without marked packets (section 3.2.3.2.5).
    pub fn decode(&mut self, flags: u8, known: u8, packets: u32) -> (u32, bool) {
        let ace = number_of(flags & ACE);
        let least = u32::from(ace.wrapping_sub(known) & 7);
        let safer = newly_marked(ace, known, packets);
        let Some(option) = self.arrived.filter(|_| !self.zeroed) else {
            self.before = (self.before.0.saturating_add(packets), self.before.1.saturating_add(safer));
            return (safer, false);
        };
        let mut new = [0; CODEPOINTS];
        for (i, bytes) in self.bytes.iter_mut().enumerate() {
            if let Some(field) = option.field(i) {
                new[i] = u64::from(field.wrapping_sub(*bytes as u32) & FIELD);
                *bytes += new[i];
            }
        }
        let (unread, earlier) = std::mem::take(&mut self.before);
        let marked = new[1];
        let fits = marked <= self.mss * u64::from(least) && 2 * marked < self.mss * u64::from(safer);
        let marks = if safer > least && fits { least } else { safer };
        // With at most seven packets the counter cannot have gone round.
        let contradicts = marked > 0 && marks + earlier == 0 && packets.saturating_add(unread) <= 7;
        (marks, contradicts)
    }
}

#[cfg(test)]
mod tests;
