//! The receiving end: reassembly, acknowledgements (RFC 5681 section 4.2, RFC 7323 section 4.3), selective
//! acknowledgement (RFC 2018, RFC 2883) and ECN feedback (RFC 3168, RFC 9768).
//!
//! The application reads at once, so the advertised window never shrinks.

use evenflow_base::{Duration, Ecn as Field, Heap, Packet, Report, Time, flags, ip, options};

use crate::ecn::option::Received;
use crate::exposure::Cheat;
use crate::profile::{Ecn, Handshake, PeerEcn};
use crate::{Profile, Segment, ecn};

mod growing;

use growing::Growing;

/// Out-of-order segments in a row that are acknowledged at once even where later ones are not (Linux).
const AT_ONCE: u32 = 3;

/// Segments that Linux acknowledges one by one from a congestion mark on.
const AFTER_MARK: u32 = 2;

/// Marked pure ACKs that are acknowledged at once, while data waits for an ACK and otherwise (RFC 9768 section 3.2.2.5.1).
const MARKED_ACKS: [u8; 2] = [2, 3];

/// Maximum capacity for islands that a reused receiver keeps.
const KEPT: usize = 16;

/// Received out of order: `[from, to)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Island {
    from: u64,
    to: u64,
    /// Number of the arrival that changed it last: reports name the most recent first (RFC 2018 section 4).
    touched: u32,
}

/// Received marks and their feedback.
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// The negotiated mode.
    mode: Ecn,
    /// Marks are counted: there are some, and it does not hide them.
    watched: bool,
    /// It hides them.
    hides: bool,
    /// A SYN was seen.
    settled: bool,
    /// The ECN field of what it sends.
    field: Field,
    /// Accurate: a SYN or SYN-ACK without ECN was seen, so no packet is ECN-capable (RFC 9768 section 3.1.5).
    barred: bool,
    /// Classic: ECE is set until the sender confirms its reduction (RFC 3168 section 6.1.3).
    latched: bool,
    /// Accurate: the counter r.cep, modulo 8 (RFC 9768 section 3.2.1).
    counter: u8,
    /// The same in 16 bits: more than can be marked between two ACKs.
    total: u16,
    /// Accurate: marked packets since the last ACK.
    unreported: u8,
    /// The last data packet was marked.
    last: bool,
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next byte expected; all before it is delivered.
    next: u64,
    /// Disjoint, ascending.
    ahead: Vec<Island>,
    /// In-order segments since the last ACK.
    unacked: u32,
    /// Segments still to be acknowledged one by one.
    quick: u32,
    /// ACKs wait for data to carry them; so many would otherwise still go one by one.
    patient: Option<u32>,
    /// When a held-back ACK is due.
    due: Time,
    /// TS.Recent: the timestamp to echo (RFC 7323 section 4.3).
    stamp: u32,
    /// Arrivals out of order.
    arrivals: u32,
    /// Last.ACK.sent.
    last_ack: u64,
    /// A duplicate range to report once (RFC 2883); empty: none.
    duplicate: (u64, u64),
    /// Out-of-order segments since `next` last moved.
    ahead_since: u32,
    growing: Option<Box<Growing>>,
    spacing: Option<Box<Spacing>>,
    marks: Marks,
    /// Byte counters of the AccECN option.
    counts: Option<Box<Received>>,
}

/// How long an ACK is held back where that follows how far segments lie apart (Linux's `ato`).
#[derive(Clone, Copy, Debug)]
struct Spacing {
    /// Maximum delay.
    most: Duration,
    /// Zero before the first segment.
    current: Duration,
    /// When a segment last came in order.
    last: Time,
}

impl Spacing {
    fn new(profile: &Profile) -> Spacing {
        Spacing { most: profile.ack_delay_max, current: Duration::ZERO, last: Time::ZERO }
    }

    /// A segment came in order. Halved, and half of `least`, or of the gap where that is more, is added; a gap longer than
    /// `current` says nothing.
    fn arrived(&mut self, now: Time, least: Duration) {
        let gap = now.since(self.last);
        self.last = now;
        if self.current == Duration::ZERO {
            self.current = least;
        } else if gap.0 <= least.0 / 2 {
            self.current = Duration(self.current.0 / 2 + least.0 / 2);
        } else if gap < self.current {
            self.current = Duration(self.current.0 / 2 + gap.0);
        }
    }

    /// An ACK was held back in vain: the next one longer.
    fn waited(&mut self) {
        self.current = Duration(self.current.0.saturating_mul(2)).min(self.most);
    }

    /// How long to hold one back.
    fn delay(&self, least: Duration) -> Duration {
        self.current.min(self.most).max(least)
    }
}

impl Receiver {
    /// Bytes that it holds beside itself.
    pub fn heap_bytes(&self) -> u64 {
        let growing = self.growing.as_ref().map_or(0, |_| size_of::<Growing>());
        let spacing = self.spacing.as_ref().map_or(0, |_| size_of::<Spacing>());
        let counts = self.counts.as_ref().map_or(0, |counts| counts.heap_bytes());
        self.ahead.heap_bytes() + (growing + spacing) as u64 + counts
    }

    /// A listening end.
    pub fn new(profile: &Profile) -> Receiver {
        Receiver::with(Vec::new(), profile)
    }

    /// As new, in the room that it has.
    pub fn renew(&mut self, profile: &Profile) {
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.clear();
        ahead.shrink_to(KEPT);
        *self = Receiver::with(ahead, profile);
    }

    fn with(ahead: Vec<Island>, profile: &Profile) -> Receiver {
        let opened = profile.handshake == Handshake::None;
        let mode = if opened { profile.agreed_ecn() } else { Ecn::Off };
        let hides = profile.conex.is_some_and(|conex| conex.cheat == Cheat::HideMarks);
        Receiver {
            next: 0,
            ahead,
            unacked: 0,
            quick: profile.quick_acks,
            patient: None,
            due: Time::NEVER,
            stamp: 0,
            arrivals: 0,
            last_ack: 0,
            duplicate: (0, 0),
            ahead_since: 0,
            spacing: (profile.ack_delay_max > profile.ack_delay).then(|| Box::new(Spacing::new(profile))),
            growing: profile.ack_growing_window.then(|| Box::new(Growing::new(profile))),
            marks: Marks {
                mode,
                watched: !matches!(mode, Ecn::Off | Ecn::Gateway) && !hides,
                hides,
                settled: opened,
                field: profile
                    .ect_where(opened && profile.ecn_on_control && profile.agreed_ecn() != Ecn::Off),
                barred: false,
                latched: false,
                counter: ecn::first(mode),
                total: 0,
                unreported: 0,
                last: false,
            },
            counts: profile.accurate_ecn_option.then(Box::default),
        }
    }

    /// Bytes delivered to the application, each once, in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// When [`Receiver::wake`] wants to be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.due
    }

    /// Ranges that are held out of order.
    pub fn islands(&self) -> usize {
        self.ahead.len()
    }

    /// A segment arrives; what is to be sent goes to `out`.
    #[inline]
    pub fn receive(&mut self, packet: &Packet, now: Time, profile: &Profile, out: &mut Vec<Segment>) {
        if packet.is(flags::SYN) {
            self.stamp = packet.stamp;
            if let Some(growing) = &mut self.growing {
                growing.answer(now);
            }
            let (mut bits, mode) = ecn::answer(profile.peer_ecn, profile.ecn, packet.flags, packet.ecn());
            // The first SYN decides; a later one that asks for nothing is answered as before (RFC 9768 section 3.1.5).
            if !self.marks.settled {
                self.settle(mode);
            } else if self.marks.mode == Ecn::Accurate {
                if packet.flags & ecn::ACE == 0 && self.next == 0 {
                    self.bar();
                }
                bits = ecn::flags_of(ecn::reflected(packet.ecn()));
            } else if self.marks.mode.is_re_ecn() {
                (bits, _) = ecn::answer(PeerEcn::Same, self.marks.mode, ecn::ACE, packet.ecn());
            } else if self.marks.mode == Ecn::Off && profile.peer_ecn != PeerEcn::Broken {
                bits = 0;
            }
            let mode = if self.marks.barred { Ecn::Off } else { self.marks.mode };
            self.marks.field = profile.ect_where(profile.ecn_on_control && mode != Ecn::Off);
            let answer = self.acknowledgement(flags::SYN | bits);
            out.push(Segment { ip: ip::BACKWARD | profile.opening_bits(mode), ..answer });
            return;
        }
        if packet.payload == 0 {
            // The last ACK of the handshake, which counts where it is marked (RFC 9768 section 3.2.2).
            let counts = matches!(self.marks.mode, Ecn::Accurate | Ecn::ReEcn | Ecn::ReEcnUnlimited);
            if counts && packet.ecn() == Field::Congestion {
                self.count_mark();
            }
            if let Some(growing) = &mut self.growing {
                growing.established(now);
            }
            return;
        }
        let told_at_once = self.marks.watched && self.mark(packet);
        let (from, to) = (packet.seq, packet.seq + u64::from(packet.payload));
        // Without a handshake the first segment that comes sets TS.Recent, whichever it is: there was no SYN to do it.
        let first = self.last_ack == 0 && self.stamp == 0 && profile.handshake == Handshake::None;
        if (from <= self.last_ack || first) && packet.stamp.wrapping_sub(self.stamp) as i32 >= 0 {
            self.stamp = packet.stamp;
        }
        let in_order = from <= self.next && to > self.next;
        if !in_order {
            if from > self.next {
                self.keep(from, to);
                self.quick_ack_if_growing(packet, now, profile);
                self.ahead_since = self.ahead_since.saturating_add(1);
                let later = self.ahead_since > AT_ONCE && self.quick == 0 && !told_at_once;
                if later && profile.ack_compression > Duration::ZERO {
                    return self.hold_back(now, profile);
                }
            } else {
                self.duplicate = (from, to);
            }
            return self.acknowledge(out); // a hole, or nothing new: at once
        }
        let had_hole = !self.ahead.is_empty();
        if from < self.next {
            self.duplicate = (from, self.next); // its new part follows (RFC 2883 section 4.3)
        } else if had_hole {
            self.note_overlap(from, to, 0);
        }
        self.next = to;
        self.ahead_since = 0;
        while let Some(&Island { from, to, .. }) = self.ahead.first()
            && from <= self.next
        {
            self.next = self.next.max(to);
            self.ahead.remove(0);
        }
        self.quick_ack_if_growing(packet, now, profile);
        if let Some(growing) = &mut self.growing {
            let ahead = self.ahead.last().map_or(0, |island| island.to - self.next);
            growing.read(self.next, ahead, now, profile);
        }
        self.unacked = self.unacked.saturating_add(1);
        if let Some(spacing) = &mut self.spacing {
            spacing.arrived(now, profile.ack_delay);
        }
        let pushed = profile.ack_pushed && packet.is(flags::PUSH);
        if had_hole || self.unacked >= profile.ack_every || self.quick > 0 || told_at_once || pushed {
            self.acknowledge(out);
        } else if self.due == Time::NEVER {
            let least = profile.ack_delay;
            let delay = self.spacing.as_ref().map_or(least, |spacing| spacing.delay(least));
            self.due = now + delay;
        }
    }

    /// Linux: a segment that lets the window grow is acknowledged alone.
    #[inline]
    fn quick_ack_if_growing(&mut self, packet: &Packet, now: Time, profile: &Profile) {
        let Some(growing) = &mut self.growing else { return };
        growing.arrived(packet.stamp, now, profile);
        let held: u64 = self.ahead.iter().map(|island| island.to - island.from).sum();
        let this = u64::from(packet.seq < self.next);
        if growing.grow(held / profile.mss + this, profile) {
            self.quick |= u32::from(self.patient.is_none());
        }
    }

    /// Linux: from the fourth segment beyond a hole on, one ACK answers those of a twentieth of the round trip.
    fn hold_back(&mut self, now: Time, profile: &Profile) {
        if self.due == Time::NEVER {
            let rtt = self.growing.as_ref().and_then(|growing| growing.rtt());
            let share = rtt.map_or(profile.ack_compression, |rtt| Duration(rtt.0 / 20));
            self.due = now + share.min(profile.ack_compression);
        }
    }

    /// Counts a data packet's mark; says whether it is to be told at once. In line: with one mode more the compiler made it a call.
    #[inline(always)]
    fn mark(&mut self, packet: &Packet) -> bool {
        let m = &mut self.marks;
        let marked = packet.ecn() == Field::Congestion;
        let changed = marked && !m.last;
        m.last = marked;
        match m.mode {
            Ecn::Off | Ecn::Gateway => false,
            Ecn::Classic => {
                // CWR may answer earlier marks than that of this packet.
                let reduced = packet.is(flags::CWR);
                let first = marked && (reduced || !m.latched);
                m.latched = marked || (m.latched && !reduced);
                // Linux: windows are small now, so that ACKs must not wait.
                if self.growing.is_some() && first {
                    self.quick = self.quick.max(AFTER_MARK);
                }
                self.growing.is_some() && reduced
            }
            Ecn::Accurate => {
                m.counter = (m.counter + u8::from(marked)) & 7;
                m.unreported += u8::from(marked);
                if let Some(counts) = &mut self.counts {
                    counts.add(packet.ecn(), packet.payload - u16::from(packet.is(flags::FIN)));
                }
                // RFC 9768 section 3.2.2.5.1: on the first mark after none, and on every second one since the last ACK.
                changed || m.unreported >= 2
            }
            // On every ACK, whenever that leaves.
            Ecn::ReEcn | Ecn::ReEcnUnlimited => {
                m.counter = (m.counter + u8::from(marked)) & 7;
                m.total = m.total.wrapping_add(u16::from(marked));
                false
            }
            Ecn::PerPacket => true,
        }
    }

    /// The held-back ACK's time has come.
    pub fn wake(&mut self, now: Time, out: &mut Vec<Segment>) {
        if now >= self.due {
            if let Some(spacing) = &mut self.spacing {
                spacing.waited();
            }
            self.acknowledge(out);
        }
    }

    /// Stores a range that is ahead, merging neighbours.
    fn keep(&mut self, from: u64, to: u64) {
        self.arrivals += 1;
        let at = self.ahead.partition_point(|r| r.to < from);
        let end = self.ahead.partition_point(|r| r.from <= to);
        let touched = self.arrivals;
        if at == end {
            self.ahead.insert(at, Island { from, to, touched });
            return;
        }
        let (first, last) = (self.ahead[at], self.ahead[end - 1]);
        self.note_overlap(from, to, at);
        self.ahead.drain(at + 1..end);
        self.ahead[at] = Island { from: from.min(first.from), to: to.max(last.to), touched };
    }

    /// The first part of `[from, to)` that is stored from island `at` on is a duplicate (RFC 2883 section 4).
    fn note_overlap(&mut self, from: u64, to: u64, at: usize) {
        let overlap = self.ahead[at..].iter().map(|r| (r.from.max(from), r.to.min(to)));
        if let Some(part) = overlap.take_while(|part| part.0 < to).find(|part| part.0 < part.1) {
            self.duplicate = part;
        }
    }

    /// The negotiated ECN mode.
    pub fn ecn(&self) -> Ecn {
        self.marks.mode
    }

    /// Marked packets that have come, for re-ECN's counter without end: its lowest 16 bits.
    #[inline]
    pub fn marked(&self) -> u16 {
        self.marks.total
    }

    /// No packet is ECN-capable from here on (RFC 9768 section 3.1.5).
    pub fn bar(&mut self) {
        (self.marks.barred, self.marks.field) = (true, Field::NotCapable);
    }

    /// Whether it is so.
    pub fn is_barred(&self) -> bool {
        self.marks.barred
    }

    /// The ECN field of packets without data.
    pub fn field(&self) -> Field {
        self.marks.field
    }

    /// The counters of the AccECN option, where both ends are accurate.
    pub fn counts_mut(&mut self) -> Option<&mut Received> {
        self.counts.as_deref_mut().filter(|_| self.marks.mode == Ecn::Accurate)
    }

    /// A marked packet without data counts (RFC 9768 section 3.2).
    pub fn count_mark(&mut self) {
        if self.marks.watched {
            self.marks.counter = (self.marks.counter + 1) & 7;
            self.marks.total = self.marks.total.wrapping_add(1);
        }
    }

    /// A pure ACK arrives after the handshake: its mark counts (RFC 9768 section 3.2). Without SACK an answer would be
    /// a duplicate ACK.
    pub fn receive_pure_ack(&mut self, packet: &Packet, profile: &Profile, out: &mut Vec<Segment>) {
        if self.marks.mode != Ecn::Accurate {
            return;
        }
        self.marks.last = packet.ecn() == Field::Congestion;
        if self.marks.last && self.marks.watched {
            self.count_mark();
            self.marks.unreported += 1;
            if profile.sack && self.marks.unreported >= MARKED_ACKS[usize::from(self.unacked == 0)] {
                self.acknowledge(out);
            }
        }
    }

    /// The handshake went the other way: this is what it settled on.
    pub fn settle(&mut self, mode: Ecn) {
        (self.marks.mode, self.marks.settled) = (mode, true);
        if mode.is_re_ecn() {
            self.marks.counter = ecn::first(mode);
        }
        self.marks.watched = !matches!(mode, Ecn::Off | Ecn::Gateway) && !self.marks.hides;
    }

    /// The SYN is answered once more, with the same flags `bits`.
    pub fn answer_again(&self, bits: u8) -> Segment {
        Segment { again: true, ..self.acknowledgement(flags::SYN | bits) }
    }

    /// Data leaves this end: the ACK rides on it. Gives the flags that it adds, and the timestamp to echo.
    pub fn ride(&mut self) -> (u8, u32) {
        (self.acknowledged(), self.stamp)
    }

    /// The data that is about to arrive echoes the timestamp `echo`.
    pub fn hear(&mut self, echo: u32) {
        if let Some(growing) = &mut self.growing {
            growing.hear(echo);
        }
    }

    /// ACKs wait for data to carry them (`true`), or are as quick again as before.
    pub fn wait_for_data(&mut self, wait: bool) {
        if wait {
            self.patient.get_or_insert(std::mem::take(&mut self.quick));
        } else if let Some(quick) = self.patient.take() {
            self.quick = self.quick.max(quick);
        }
    }

    /// An ACK that is held back goes at `at`, if that is earlier.
    pub fn hold_until(&mut self, at: Time) {
        if self.due != Time::NEVER {
            self.due = self.due.min(at);
        }
    }

    /// The connection is no more: no ACK is due.
    pub fn hush(&mut self) {
        self.due = Time::NEVER;
    }

    /// Whether the ACK that was just sent has a SACK option.
    #[inline]
    pub fn reports(&self) -> bool {
        !self.ahead.is_empty() || self.duplicate.1 > 0
    }

    /// Adds its blocks to `report`.
    pub fn report(&mut self, report: &mut Report) {
        if self.duplicate.1 > 0 {
            report.push(std::mem::take(&mut self.duplicate));
        }
        let mut before = u32::MAX;
        for _ in 0..options::BLOCKS {
            let newest = self.ahead.iter().filter(|r| r.touched < before).max_by_key(|r| r.touched);
            let Some(island) = newest else { break };
            report.push((island.from, island.to));
            before = island.touched;
        }
    }

    /// An ACK goes at once.
    #[inline]
    pub fn acknowledge(&mut self, out: &mut Vec<Segment>) {
        let bits = self.acknowledged();
        out.push(self.acknowledgement(bits));
    }

    /// All that came is acknowledged by what leaves now; gives the flags of the feedback.
    #[inline(always)]
    fn acknowledged(&mut self) -> u8 {
        self.unacked = 0;
        self.quick = self.quick.saturating_sub(1);
        self.due = Time::NEVER;
        self.last_ack = self.next;
        if self.marks.mode == Ecn::Off { 0 } else { self.feedback() }
    }

    /// The three flags of an ACK.
    fn feedback(&mut self) -> u8 {
        let m = &mut self.marks;
        m.unreported = 0;
        match m.mode {
            Ecn::Off | Ecn::Gateway => 0,
            Ecn::Classic if m.latched => flags::ECE,
            Ecn::PerPacket if m.last => flags::ECE,
            Ecn::Classic | Ecn::PerPacket => 0,
            Ecn::Accurate | Ecn::ReEcn | Ecn::ReEcnUnlimited => ecn::flags_of(m.counter),
        }
    }

    /// ACKs are not ECN-capable (RFC 3168 section 6.1.4), unless the profile says so.
    #[inline]
    fn acknowledgement(&self, extra: u8) -> Segment {
        Segment {
            seq: self.next,
            payload: 0,
            stamp: self.stamp,
            flags: flags::ACK | extra,
            ip: ip::BACKWARD | self.marks.field as u8,
            again: false,
        }
    }
}

#[cfg(test)]
mod tests;
