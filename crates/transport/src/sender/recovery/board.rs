//! The scoreboard: unacknowledged segments with their SACK reports and loss estimates, and the number of
//! bytes in flight (RFC 6675 section 4, RFC 8985 section 6).

use std::collections::VecDeque;

use evenflow_base::{Duration, Heap, Report, Time};

/// Reported by the receiver.
const SACKED: u8 = 1;
/// Believed lost.
const LOST: u8 = 2;
/// A retransmission of it is believed to be in the network.
const RESENT: u8 = 4;
/// Was retransmitted at some time.
const EVER: u8 = 8;

/// A segment in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its first byte.
    pub seq: u64,
    /// When it was last sent.
    pub sent: Time,
    /// Its bytes.
    pub len: u16,
    state: u8,
}

impl Sent {
    /// One beyond its last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    /// Whether it was retransmitted at some time.
    #[inline]
    pub fn again(&self) -> bool {
        self.state & EVER != 0
    }

    #[inline]
    fn is(&self, bit: u8) -> bool {
        self.state & bit != 0
    }

    /// Reported, or lost and not retransmitted: not in the network by estimate.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        // One bit for each state: a single test.
        const IN_NETWORK: u32 = 1 << 0 | 1 << RESENT | 1 << (LOST | RESENT);
        (IN_NETWORK | IN_NETWORK << EVER) >> self.state & 1 == 0
    }
}

/// Data that an ACK delivered for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Bytes, acknowledged or reported.
    pub bytes: u64,
    /// Segments among them.
    pub segments: u32,
    /// When the oldest that was never retransmitted had been sent, acknowledged ones before reported ones.
    pub oldest: Option<Time>,
    /// The same of the newest.
    pub newest: Option<Time>,
    /// First byte of the earliest segment that was never retransmitted and came after one sent later: the network
    /// reorders.
    pub reordered: Option<u64>,
    /// End and age of the last segment of the cumulative part, otherwise of the highest reported one. Segments
    /// whose original arrived after a retransmission do not count.
    pub last: Option<(u64, Duration)>,
    /// Whether the ACK reports something that came twice (RFC 2883).
    pub duplicate: bool,
}

/// The most recently sent segment that was delivered (RFC 8985 section 6.2 step 2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Latest {
    /// RACK.xmit_ts.
    pub sent: Time,
    /// RACK.end_seq.
    pub end: u64,
    /// RACK.rtt.
    pub rtt: Duration,
}

/// The scoreboard.
#[derive(Clone, Debug, Default)]
pub struct Board {
    segments: VecDeque<Sent>,
    /// Reported ranges: disjoint, ascending.
    ranges: Vec<(u64, u64)>,
    outstanding: u64,
    sacked: u64,
    /// The same in segments.
    sacked_segments: u32,
    lost: u64,
    resent: u64,
    /// No segment before it is lost and waits for its retransmission.
    hint: u64,
    /// Losses by count were looked for up to here.
    edge: u64,
    /// Every segment before it is settled or was retransmitted.
    fresh: u64,
    /// Retransmissions by time, with the first byte; some are over.
    again: VecDeque<(Time, u64)>,
    /// The highest byte that was delivered (RACK.fack).
    pub forward_edge: u64,
    /// When the newest never retransmitted segment among the reported was sent.
    newest_reported: Time,
    /// See [`Latest`].
    pub latest: Latest,
    /// Segments declared lost since [`Board::take_losses`], for a congestion control that asks.
    losses: Option<Vec<(u64, u64)>>,
}

/// Preview of an ACK, for detections that count segments from the first outstanding one (Linux 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckPreview {
    /// Segments that the cumulative part covers.
    pub acknowledged: usize,
    /// Whether one of them was ever retransmitted.
    pub resent: bool,
    /// The same of those beyond the first.
    pub resent_beyond_head: bool,
    /// Whether something is reported that was not.
    pub reported: bool,
    /// Of that, something was sent before the mark, never again, and nothing beyond the mark.
    pub originals_only: bool,
    /// Distance from the first hole that the cumulative part fills without a retransmission to the highest
    /// report; 0: none.
    pub late_ack: u32,
    /// The same of holes that reports fill, and of reported segments that are reported as duplicates.
    pub late_report: u32,
}

impl Board {
    /// The byte ranges declared lost since the last call, where they are listed.
    pub fn take_losses(&mut self) -> Vec<(u64, u64)> {
        self.losses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether [`Board::take_losses`] has any.
    #[inline]
    pub fn has_losses(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| !losses.is_empty())
    }

    fn list(&mut self, segment: Sent) {
        if let Some(losses) = &mut self.losses {
            losses.push((segment.seq, segment.end()));
        }
    }

    /// The capacity in segments that an empty scoreboard keeps.
    const KEPT: usize = 64;

    /// Empty again. It keeps its memory, unless that is large. `lists`: losses are listed ([`Board::take_losses`]).
    pub fn clear(&mut self, lists: bool) {
        let (mut segments, mut ranges) =
            (std::mem::take(&mut self.segments), std::mem::take(&mut self.ranges));
        segments.clear();
        segments.shrink_to(Self::KEPT);
        ranges.clear();
        ranges.shrink_to(Self::KEPT);
        let losses = lists.then(Vec::new);
        *self = Board { segments, ranges, losses, ..Board::default() };
    }

    /// The preview of an ACK up to `una` with its report; `mark`: see [`AckPreview::originals_only`].
    pub fn preview(&self, una: u64, report: &Report, mark: u64) -> AckPreview {
        let mut seen = AckPreview::default();
        let known = self.forward();
        let highest = self.ranges.last().map_or(0, |range| range.1);
        let (mut forward, mut late) = (known, usize::MAX);
        let mut beyond = false;
        for (n, &(from, to)) in report.blocks().iter().enumerate() {
            let inside = |other: &(u64, u64)| other.0 <= from && to <= other.1;
            let twice = n == 0 && (to <= una || report.blocks().get(1).is_some_and(inside));
            let mut i = self.segments.partition_point(|s| s.seq < from);
            if !twice && let Some(known) = self.ranges.iter().find(|range| range.0 <= from && from < range.1)
            {
                i = i.max(self.find(known.1)); // reported before
            }
            while let Some(s) = self.segments.get(i).filter(|s| s.end() <= to) {
                if twice {
                    if s.again() && s.is(SACKED) {
                        late = late.min(i);
                    }
                } else if !s.is(SACKED) && s.end() > una {
                    seen.reported = true;
                    forward = forward.max(i + 1);
                    beyond |= s.end() > mark;
                    if !s.again() {
                        seen.originals_only |= s.end() <= mark;
                        if s.seq < highest {
                            late = late.min(i);
                        }
                    }
                }
                i += 1;
            }
        }
        seen.originals_only &= !beyond;
        seen.late_report = forward.saturating_sub(late) as u32;
        for (i, s) in self.segments.iter().enumerate() {
            if s.end() > una {
                break;
            }
            seen.acknowledged += 1;
            if s.again() {
                seen.resent = true;
                seen.resent_beyond_head |= i > 0;
            } else if !s.is(SACKED) && i < known && seen.late_ack == 0 {
                seen.late_ack = (forward - i) as u32;
            }
        }
        seen
    }

    /// Segments up to the highest reported one, from the first outstanding one on (the kernel's
    /// `fackets_out`).
    #[inline]
    pub fn forward(&self) -> usize {
        self.ranges.last().map_or(0, |range| self.find(range.1))
    }

    /// Bytes in flight by estimate (RFC 6675 section 4, SetPipe).
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.outstanding + self.resent - self.sacked - self.lost
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Bytes reported and not acknowledged.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// The same in segments.
    #[inline]
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Bytes retransmitted and in flight by estimate.
    #[inline]
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// Bytes lost by estimate, retransmitted or not.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// When the first segment in the window was last sent.
    pub fn oldest(&self) -> Option<Time> {
        self.segments.front().map(|s| s.sent)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let losses = self.losses.as_ref().map_or(0, Heap::heap_bytes);
        self.segments.heap_bytes() + self.ranges.heap_bytes() + self.again.heap_bytes() + losses
    }

    /// Segments in the window.
    #[inline]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// A new segment was sent.
    #[inline]
    pub fn push(&mut self, seq: u64, len: u16, now: Time) {
        self.segments.push_back(Sent { seq, sent: now, len, state: 0 });
        self.outstanding += u64::from(len);
    }

    /// The byte `seq` was sent at `sent` as a window probe, `again`: not for the first time.
    pub fn push_probe(&mut self, seq: u64, sent: Time, again: bool) {
        self.push(seq, 1, sent);
        if let Some(segment) = self.segments.back_mut().filter(|_| again) {
            segment.state = EVER;
            self.list_again();
        }
    }

    /// Sees to it that segment `i` ends before `edge`, by making two of it; `false`: it begins beyond.
    pub fn split(&mut self, i: usize, edge: u64) -> bool {
        let Some(segment) = self.segments.get_mut(i) else { return false };
        if segment.seq >= edge {
            return false;
        }
        if segment.end() > edge {
            let rest = Sent { seq: edge, len: (segment.end() - edge) as u16, ..*segment };
            segment.len -= rest.len;
            self.segments.insert(i + 1, rest);
            self.list_again();
        }
        true
    }

    /// Whether no segment is reported, lost or retransmitted.
    #[inline]
    pub fn is_calm(&self) -> bool {
        (self.sacked | self.lost | self.resent) == 0
    }

    /// Takes in an acknowledgement of everything before `una` with its report.
    pub fn acknowledge(&mut self, una: u64, report: &Report, now: Time, floor: Duration) -> Delivered {
        self.take_ack::<false>(una, report, now, floor)
    }

    /// The same. `CALM`: the scoreboard [is calm](Board::is_calm), and the report is empty.
    #[inline(always)]
    pub fn take_ack<const CALM: bool>(
        &mut self,
        una: u64,
        report: &Report,
        now: Time,
        floor: Duration,
    ) -> Delivered {
        let mut news = Delivered::default();
        let disordered = !CALM && (self.sacked > 0 || self.lost > 0);
        while let Some(&segment) = self.segments.front() {
            if segment.end() > una {
                break;
            }
            self.segments.pop_front();
            self.outstanding -= u64::from(segment.len);
            if !CALM {
                if segment.is(SACKED) {
                    self.sacked -= u64::from(segment.len);
                    self.sacked_segments -= 1;
                    continue;
                }
                self.forget(&segment);
            }
            if let Some(rtt) = self.deliver(&segment, now, floor, disordered, &mut news) {
                news.last = Some((segment.end(), rtt));
            }
        }
        if disordered {
            self.ranges.retain_mut(|range| {
                range.0 = range.0.max(una);
                range.1 > una
            });
        }
        self.forward_edge = self.forward_edge.max(una);
        if !CALM && !report.blocks().is_empty() {
            self.take_report(una, una, report, now, floor, &mut news);
        }
        news
    }

    /// Takes in the report of the acknowledgement `ack`, where everything before `una` is acknowledged.
    #[inline(never)]
    pub fn take_report(
        &mut self,
        ack: u64,
        una: u64,
        report: &Report,
        now: Time,
        floor: Duration,
        news: &mut Delivered,
    ) {
        let acknowledged = news.last.take();
        for (n, &(from, to)) in report.blocks().iter().enumerate() {
            // RFC 2883 section 4: below what is acknowledged, or inside the second block.
            let inside = |other: &(u64, u64)| other.0 <= from && to <= other.1;
            if n == 0 && (to <= ack || report.blocks().get(1).is_some_and(inside)) {
                news.duplicate = true;
                continue;
            }
            let end = self.segments.back().map_or(una, Sent::end);
            self.take_block((from.max(una), to.min(end)), now, floor, news);
        }
        news.last = acknowledged.or(news.last);
    }

    fn take_block(&mut self, (from, to): (u64, u64), now: Time, floor: Duration, news: &mut Delivered) {
        if from >= to {
            return;
        }
        let first = self.ranges.partition_point(|range| range.1 < from);
        if self.ranges.get(first).is_some_and(|range| range.0 <= from && to <= range.1) {
            return; // reported before
        }
        let last = self.ranges.partition_point(|range| range.0 <= to);
        let joined = match self.ranges.get(first..last) {
            Some([head, .., tail]) => (from.min(head.0), to.max(tail.1)),
            Some([range]) => (from.min(range.0), to.max(range.1)),
            _ => (from, to),
        };
        // Only what is not yet known is looked at.
        let mut at = from;
        for i in first..last {
            let known = self.ranges[i];
            if at < known.0 {
                self.report((at, known.0), joined, now, floor, news);
            }
            at = at.max(known.1);
        }
        if at < to {
            self.report((at, to), joined, now, floor, news);
        }
        if first == last {
            self.ranges.insert(first, joined);
        } else {
            self.ranges.drain(first + 1..last);
            self.ranges[first] = joined;
        }
    }

    /// Marks segments as reported that reach into `[from, to)` and lie within `joined`. A segment that a report
    /// covers in part is not delivered.
    fn report(
        &mut self,
        (from, to): (u64, u64),
        joined: (u64, u64),
        now: Time,
        floor: Duration,
        news: &mut Delivered,
    ) {
        let mut i = self.find(from);
        while let Some(&segment) = self.segments.get(i).filter(|s| s.seq < to && s.end() <= joined.1) {
            if segment.seq >= joined.0 && !segment.is(SACKED) {
                self.forget(&segment);
                self.segments[i].state = (segment.state & EVER) | SACKED;
                self.sacked += u64::from(segment.len);
                self.sacked_segments += 1;
                if let Some(rtt) = self.deliver(&segment, now, floor, true, news)
                    && news.last.is_none_or(|(end, _)| end < segment.end())
                {
                    news.last = Some((segment.end(), rtt));
                }
                if !segment.again() {
                    self.newest_reported = self.newest_reported.max(segment.sent);
                }
                self.forward_edge = self.forward_edge.max(segment.end());
            }
            i += 1;
        }
    }

    /// Removes a segment from the sums of lost and retransmitted bytes.
    #[inline]
    fn forget(&mut self, segment: &Sent) {
        if segment.is(LOST) {
            self.lost -= u64::from(segment.len);
        }
        if segment.is(RESENT) {
            self.resent -= u64::from(segment.len);
        }
    }

    /// A segment is delivered for the first time (RFC 8985 section 6.2 steps 1 to 3). Returns its age, unless its
    /// original arrived after a retransmission.
    #[inline]
    fn deliver(
        &mut self,
        s: &Sent,
        now: Time,
        floor: Duration,
        disordered: bool,
        news: &mut Delivered,
    ) -> Option<Duration> {
        news.bytes += u64::from(s.len);
        news.segments += 1;
        let rtt = now.since(s.sent);
        if !s.again() {
            news.oldest = news.oldest.or(Some(s.sent));
            news.newest = Some(s.sent);
            if disordered && s.end() <= self.forward_edge {
                news.reordered = Some(news.reordered.map_or(s.seq, |first| first.min(s.seq)));
            }
        } else if rtt < floor {
            return None; // the original arrived, not its retransmission
        }
        if (s.sent, s.end()) >= (self.latest.sent, self.latest.end) {
            self.latest = Latest { sent: s.sent, end: s.end(), rtt };
        }
        Some(rtt)
    }

    /// Index of the segment that holds the byte `seq`, or of the first beyond it.
    #[inline(never)]
    fn find(&self, seq: u64) -> usize {
        let Some(first) = self.segments.front() else { return 0 };
        // A guess by the length of the first segment spares most searches.
        let guess = (seq.saturating_sub(first.seq) / u64::from(first.len).max(1)) as usize;
        let ends = |i: usize| self.segments.get(i).is_some_and(|segment| segment.end() <= seq);
        if guess <= self.segments.len() && !ends(guess) && (guess == 0 || ends(guess - 1)) {
            return guess;
        }
        self.segments.partition_point(|segment| segment.end() <= seq)
    }

    /// The segments that are not reported, with their indices. An ACK in recovery looks at the whole window, most of
    /// which is: reported ranges are passed over.
    #[inline(always)]
    fn unreported(&self) -> impl Iterator<Item = (usize, &Sent)> {
        let (mut next, mut ranges) = (0, self.ranges.iter());
        let mut range = ranges.next();
        std::iter::from_fn(move || {
            let mut segment = self.segments.get(next)?;
            while let Some(&(from, to)) = range
                && segment.seq >= from
            {
                next = next.max(self.find(to));
                range = ranges.next();
                segment = self.segments.get(next)?;
            }
            next += 1;
            Some((next - 1, segment))
        })
    }

    /// Marks segment `i` as lost, retransmitted or not.
    fn mark(&mut self, i: usize) {
        let segment = &mut self.segments[i];
        if !segment.is(SACKED | LOST) {
            segment.state |= LOST;
            self.lost += u64::from(segment.len);
            self.hint = self.hint.min(segment.seq);
            let segment = *segment;
            self.list(segment);
        }
    }

    /// Forward acknowledgement: the first `count` segments are lost where they were not reported, up to the
    /// byte `limit`.
    pub fn mark_first(&mut self, count: usize, limit: u64) {
        let mut new = Vec::new();
        let first = self.unreported().take_while(|(i, s)| *i < count && s.end() <= limit);
        first.filter(|(_, s)| !s.is(SACKED | LOST)).for_each(|(i, _)| new.push(i));
        new.into_iter().for_each(|i| self.mark(i));
    }

    /// Counting: lost is what has at most `below` reported segments before it, up to the byte `limit`.
    pub fn mark_below_reports(&mut self, below: usize, limit: u64) {
        let mut reported = 0;
        for i in 0..self.segments.len() {
            reported += usize::from(self.segments[i].is(SACKED));
            if reported > below || self.segments[i].end() > limit {
                break;
            }
            self.mark(i);
        }
    }

    /// From the first segment on, what was sent longer ago than `age` is lost.
    pub fn mark_older(&mut self, now: Time, age: Duration) {
        for i in 0..self.segments.len() {
            if now.since(self.segments[i].sent) <= age {
                break;
            }
            self.mark(i);
        }
    }

    /// A retransmission is lost when later new data is reported. Gives the bytes newly lost.
    pub fn mark_lost_again(&mut self) -> u64 {
        if self.resent == 0 {
            return 0;
        }
        let (highest, newest) = (self.ranges.last().map_or(0, |range| range.1), self.newest_reported);
        let resent = self.again.iter().take_while(|resent| resent.0 <= newest);
        let below = resent.filter_map(|resent| self.resent_at(*resent));
        let below = below.filter(|(_, s)| s.seq < highest && s.is(RESENT));
        let mut again: Vec<usize> = below.map(|(i, _)| i).collect();
        again.sort_unstable();
        again.dedup();
        again.into_iter().map(|i| self.lose(i)).sum()
    }

    /// Whether the first segment (`only_head`), or any, was ever retransmitted.
    pub fn was_resent(&self, only_head: bool) -> bool {
        let looked_at = if only_head { 1 } else { self.segments.len() };
        self.segments.iter().take(looked_at).any(Sent::again)
    }

    /// Whether any retransmission is in flight, or the first segment was ever retransmitted.
    pub fn head_was_resent(&self) -> bool {
        self.resent > 0 || self.was_resent(true)
    }

    /// The retransmission of the first segment is lost.
    pub fn head_is_lost_again(&mut self) {
        if let Some(segment) = self.segments.front_mut().filter(|s| s.is(RESENT)) {
            segment.state &= !RESENT;
            self.resent -= u64::from(segment.len);
        }
    }

    /// A timeout was genuine: unreported segments that end before `mark` are lost. No retransmission is in
    /// flight except that of the first segment with `keep_head`. Returns whether another one had been
    /// retransmitted.
    pub fn lose_sent_before(&mut self, mark: u64, keep_head: bool) -> bool {
        let mut again = false;
        for i in 0..self.segments.len() {
            let segment = &mut self.segments[i];
            let len = u64::from(segment.len);
            if segment.is(LOST) {
                segment.state &= !LOST;
                self.lost -= len;
            }
            if !(keep_head && i == 0) {
                again |= segment.again();
                if segment.is(RESENT) {
                    segment.state &= !RESENT;
                    self.resent -= len;
                }
            }
            if self.segments[i].end() <= mark {
                self.mark(i);
            }
        }
        again
    }

    fn lose(&mut self, i: usize) -> u64 {
        let segment = &mut self.segments[i];
        let len = u64::from(segment.len);
        if segment.is(RESENT) {
            segment.state &= !RESENT;
            self.resent -= len;
        }
        if !segment.is(LOST) {
            segment.state |= LOST;
            self.lost += len;
        }
        self.hint = self.hint.min(segment.seq);
        let segment = *segment;
        self.list(segment);
        len
    }

    /// Finds losses by what was reported beyond (RFC 6675 section 4, IsLost): `threshold` separate ranges, or
    /// more than `threshold` - 1 segments of bytes. Gives the bytes newly lost.
    pub fn mark_by_count(&mut self, threshold: u32, mss: u64) -> u64 {
        let (mut bytes, mut edge) = (0, 0);
        for (n, range) in self.ranges.iter().rev().enumerate() {
            bytes += range.1 - range.0;
            if n as u32 + 1 >= threshold || bytes > u64::from(threshold - 1) * mss {
                edge = range.0;
                break;
            }
        }
        self.mark_below(edge)
    }

    /// Detects losses by distance: a segment is lost when the segment `threshold` + 1 beyond it is reported.
    /// A retransmission is lost when later new data is reported.
    pub fn mark_by_distance(&mut self, threshold: u32, mss: u64) -> u64 {
        let Some(&(_, highest)) = self.ranges.last() else { return 0 };
        self.mark_below(highest.saturating_sub(u64::from(threshold) * mss + mss)) + self.mark_lost_again()
    }

    fn mark_below(&mut self, edge: u64) -> u64 {
        let mut lost = 0;
        if edge > self.edge {
            let mut i = self.find(self.edge);
            while i < self.segments.len() && self.segments[i].end() <= edge {
                if !self.segments[i].is(SACKED | LOST) {
                    lost += self.lose(i);
                }
                i += 1;
            }
            self.edge = edge;
        }
        lost
    }

    /// Detects losses by time (RFC 8985 section 6.2 step 5). Lost segments were sent before the latest
    /// delivered one, and longer ago than its round-trip time plus the reordering window. Returns newly lost
    /// bytes and the next check.
    pub fn mark_by_time(&mut self, now: Time, window: Duration) -> (u64, Option<Time>) {
        if self.sacked == 0 && self.lost == 0 {
            return (0, None); // nothing was delivered out of order
        }
        self.forget_again();
        let Latest { sent, end, rtt } = self.latest;
        let (mut over, mut again) = (Vec::new(), None::<Time>);
        let is_beyond = |s: &Sent| s.sent > sent || (s.sent == sent && s.end() >= end);
        let mut is_due = |i: usize, s: &Sent| {
            let due = s.sent + rtt + window;
            if due <= now {
                over.push(i);
            } else {
                again = again.max(Some(due));
            }
            due <= now
        };
        for resent in self.again.iter().take_while(|resent| resent.0 <= sent) {
            if let Some((i, s)) = self.resent_at(*resent).filter(|(_, s)| !is_beyond(s)) {
                is_due(i, s);
            }
        }
        // Those that were never retransmitted were sent in the order of their numbers.
        let mut fresh = None;
        let mut i = self.find(self.fresh);
        while let Some(s) = self.segments.get(i) {
            if !s.is_settled() && !s.again() {
                let beyond = is_beyond(s);
                if beyond || !is_due(i, s) {
                    fresh = fresh.or(Some(s.seq));
                }
                if beyond {
                    break;
                }
            }
            i += 1;
        }
        self.fresh = fresh.or(self.segments.back().map(Sent::end)).unwrap_or(self.fresh);
        over.sort_unstable();
        over.dedup();
        (over.into_iter().map(|i| self.lose(i)).sum(), again)
    }

    /// The retransmission timer fired: everything that was not reported is lost (RFC 5681 section 3.1). By
    /// time, only the first segment and what was sent a round-trip time before `before` (RFC 8985 section
    /// 6.3).
    pub fn lose_all(&mut self, before: Option<Time>) {
        let rtt = self.latest.rtt;
        for i in 0..self.segments.len() {
            let sent = self.segments[i].sent + rtt;
            if !self.segments[i].is(SACKED) && (i == 0 || before.is_none_or(|before| sent <= before)) {
                self.lose(i);
            }
        }
    }

    /// The retransmission at a time of the segment that begins with a byte, where it is still in the network.
    fn resent_at(&self, (sent, seq): (Time, u64)) -> Option<(usize, &Sent)> {
        let i = self.find(seq);
        let segment = self.segments.get(i)?;
        ((segment.sent, segment.seq) == (sent, seq) && segment.again() && !segment.is_settled())
            .then_some((i, segment))
    }

    /// Forgets the first retransmissions where they are over.
    fn forget_again(&mut self) {
        while self.again.front().is_some_and(|&first| self.resent_at(first).is_none()) {
            self.again.pop_front();
        }
    }

    /// Anything may be in the network again.
    #[cold]
    fn list_again(&mut self) {
        self.fresh = 0;
        let again = self.segments.iter().filter(|s| s.again() && !s.is_settled());
        self.again = again.map(|s| (s.sent, s.seq)).collect();
        self.again.make_contiguous().sort_unstable();
    }

    /// Revokes all losses; retransmissions in flight stay.
    pub fn lose_none(&mut self) {
        for segment in &mut self.segments {
            if segment.is(LOST) {
                segment.state &= !LOST;
                self.lost -= u64::from(segment.len);
            }
        }
        self.list_again();
    }

    /// The first segment that is lost and not on its way again (RFC 6675 section 4, NextSeg rule 1).
    #[inline]
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.lost == 0 || self.hint == u64::MAX {
            return None;
        }
        let mut i = self.find(self.hint);
        while let Some(segment) = self.segments.get(i) {
            if segment.is(LOST) && !segment.is(RESENT) {
                self.hint = segment.seq;
                return Some(i);
            }
            i += 1;
        }
        self.hint = u64::MAX;
        None
    }

    /// The first segment below the highest reported byte that was neither reported nor retransmitted (rule
    /// 3).
    pub fn next_hole(&self) -> Option<usize> {
        let &(_, highest) = self.ranges.last()?;
        let hole = |s: &Sent| !s.is(RESENT) && !s.again();
        let mut below = self.unreported().take_while(|(_, s)| s.seq < highest);
        below.find(|(_, s)| hole(s)).map(|(i, _)| i)
    }

    /// The last segment that was not reported, where it is not on its way again already (rule 4).
    pub fn rescue(&self) -> Option<usize> {
        self.last_unreported().filter(|&i| !self.segments[i].is(RESENT))
    }

    /// The last segment that was not reported.
    pub fn last_unreported(&self) -> Option<usize> {
        self.segments.iter().rposition(|s| !s.is(SACKED))
    }

    /// Segments reported, lost (retransmitted or not), and with a retransmission in flight, by estimate.
    pub fn counted(&self) -> [u32; 3] {
        let of = |bit| self.segments.iter().filter(|s| s.is(bit)).count() as u32;
        let lost = self.segments.iter().filter(|s| !s.is(SACKED) && s.is(LOST)).count() as u32;
        [of(SACKED), lost, of(RESENT)]
    }

    /// Retransmits segment `i` as Linux's loss probe, which does not count as in flight.
    pub fn resend_uncounted(&mut self, i: usize, now: Time) -> Sent {
        let segment = &mut self.segments[i];
        segment.state |= EVER;
        segment.sent = now;
        self.note_again(i)
    }

    /// Retransmits segment `i`.
    pub fn resend(&mut self, i: usize, now: Time) -> Sent {
        let segment = &mut self.segments[i];
        if !segment.is(RESENT) {
            self.resent += u64::from(segment.len);
        }
        segment.state |= RESENT | EVER;
        segment.sent = now;
        self.note_again(i)
    }

    fn note_again(&mut self, i: usize) -> Sent {
        let segment = self.segments[i];
        self.forget_again();
        self.again.push_back((segment.sent, segment.seq));
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn board(segments: u64) -> Board {
        let mut board = Board::default();
        for n in 0..segments {
            board.push(n * MSS, MSS as u16, at(n));
        }
        board
    }

    fn blocks(list: &[(u64, u64)]) -> Report {
        let mut report = Report::default();
        for (from, to) in list {
            report.push((from * MSS, to * MSS));
        }
        report
    }

    fn ack(board: &mut Board, una: u64, list: &[(u64, u64)]) -> Delivered {
        board.acknowledge(una * MSS, &blocks(list), at(100), Duration::ZERO)
    }

    #[test]
    fn the_pipe_is_what_is_out_less_what_was_reported_or_lost_plus_what_was_sent_again() {
        let mut b = board(10);
        assert_eq!(b.pipe(), 10 * MSS);
        assert_eq!(ack(&mut b, 2, &[(5, 6)]).segments, 3);
        assert_eq!((b.pipe(), b.sacked()), (7 * MSS, MSS));
        ack(&mut b, 2, &[(5, 8)]);
        // Three segments beyond 2, 3 and 4: lost.
        assert_eq!(b.mark_by_count(3, MSS), 3 * MSS);
        assert_eq!(b.pipe(), 2 * MSS);
        let i = b.next_lost().expect("2 is lost");
        assert_eq!(b.resend(i, at(101)).seq, 2 * MSS);
        assert_eq!(b.pipe(), 3 * MSS);
        assert_eq!(b.next_lost().map(|i| b.segments[i].seq), Some(3 * MSS));
        assert_eq!(ack(&mut b, 10, &[]).bytes, 5 * MSS); // 2, 3, 4, 8, 9
        assert_eq!((b.pipe(), b.sacked(), b.lost(), b.outstanding(), b.len()), (0, 0, 0, 0, 0));
    }

    #[test]
    fn two_segments_of_bytes_are_not_enough_but_three_separate_ranges_are() {
        let mut b = board(10);
        ack(&mut b, 0, &[(1, 3)]);
        assert_eq!(b.mark_by_count(3, MSS), 0);
        let mut b = board(10);
        for n in 0..10 {
            b.segments[n].len = 1000;
        }
        ack(&mut b, 0, &[(1, 2)]);
        ack(&mut b, 0, &[(3, 4), (1, 2)]);
        assert_eq!(b.mark_by_count(3, 4 * MSS), 0);
        ack(&mut b, 0, &[(5, 6), (3, 4), (1, 2)]);
        // By bytes 3000 are not more than 8000; by ranges there are three beyond segment 0, two beyond
        // segment 2.
        assert_eq!(b.mark_by_count(3, 4 * MSS), MSS);
    }

    #[test]
    fn a_report_may_arrive_in_any_order_and_again() {
        let mut b = board(10);
        assert_eq!(ack(&mut b, 0, &[(6, 7), (2, 4)]).segments, 3);
        assert_eq!(ack(&mut b, 0, &[(1, 8)]).segments, 4);
        assert_eq!(ack(&mut b, 0, &[(1, 8)]).segments, 0);
        assert_eq!(b.ranges, [(MSS, 8 * MSS)]);
    }

    #[test]
    fn rfc2883_section_4_1_duplicate_below_the_acknowledgement() {
        let mut b = board(4);
        ack(&mut b, 3, &[]);
        assert!(ack(&mut b, 3, &[(1, 2)]).duplicate);
        assert!(!ack(&mut board(4), 0, &[(1, 2)]).duplicate);
        assert!(ack(&mut board(8), 0, &[(4, 5), (3, 7)]).duplicate);
    }

    /// RFC 2018 section 4: a block reports what it covers. A segment is delivered once blocks cover all of it.
    #[test]
    fn a_block_that_covers_the_end_of_a_segment_does_not_deliver_it() {
        let mut b = board(4);
        let half = |from: u64| {
            let mut report = Report::default();
            report.push((from, 3 * MSS));
            report
        };
        assert_eq!(b.acknowledge(0, &half(MSS + MSS / 2), at(100), Duration::ZERO).bytes, MSS);
        assert_eq!(b.sacked(), MSS);
        assert_eq!(b.acknowledge(0, &half(MSS), at(101), Duration::ZERO).bytes, MSS);
        assert_eq!(b.sacked(), 2 * MSS);
    }

    /// Linux's order: reports by sequence number, then the cumulative part.
    #[test]
    fn the_last_segment_delivered() {
        assert_eq!(ack(&mut board(4), 0, &[(3, 4), (1, 2)]).last, Some((4 * MSS, Duration::from_millis(97))));
        assert_eq!(ack(&mut board(4), 2, &[(3, 4)]).last, Some((2 * MSS, Duration::from_millis(99))));
    }

    #[test]
    fn by_distance_the_fourth_beyond_tells_a_loss() {
        let mut b = board(10);
        ack(&mut b, 0, &[(1, 4)]);
        assert_eq!(b.mark_by_distance(3, MSS), 0);
        ack(&mut b, 0, &[(1, 5)]);
        assert_eq!(b.mark_by_distance(3, MSS), MSS);
        let i = b.next_lost().expect("0");
        b.resend(i, at(50));
        assert_eq!(b.mark_by_distance(3, MSS), 0);
        b.push(10 * MSS, MSS as u16, at(51));
        ack(&mut b, 0, &[(1, 5), (10, 11)]);
        // 5 and 6 by distance, and 0 again because 10 was sent after its retransmission.
        assert_eq!(b.mark_by_distance(3, MSS), 3 * MSS);
    }

    #[test]
    fn by_time_a_segment_is_lost_once_the_reordering_window_is_over() {
        let mut b = board(4); // sent at 0, 1, 2, 3 ms
        b.acknowledge(0, &blocks(&[(2, 3)]), at(42), Duration::ZERO); // RACK.rtt = 40
        let (lost, again) = b.mark_by_time(at(42), Duration::from_millis(10));
        assert_eq!((lost, again), (0, Some(at(51)))); // 0 at 50, 1 at 51
        let (lost, again) = b.mark_by_time(at(50), Duration::from_millis(10));
        assert_eq!((lost, again), (MSS, Some(at(51))));
        assert_eq!(b.mark_by_time(at(51), Duration::from_millis(10)), (MSS, None));
        assert_eq!(b.mark_by_time(at(99), Duration::from_millis(10)), (0, None)); // 3 was sent later
    }

    #[test]
    fn a_lost_retransmission_is_found_by_time() {
        let mut b = board(3);
        b.acknowledge(0, &blocks(&[(1, 3)]), at(42), Duration::ZERO);
        assert_eq!(b.mark_by_time(at(42), Duration::ZERO).0, MSS);
        let i = b.next_lost().expect("0");
        b.resend(i, at(42));
        b.push(3 * MSS, MSS as u16, at(43));
        assert_eq!(b.mark_by_time(at(80), Duration::ZERO).0, 0);
        b.acknowledge(0, &blocks(&[(1, 4)]), at(83), Duration::ZERO);
        assert_eq!(b.mark_by_time(at(83), Duration::ZERO).0, MSS);
        assert!(b.next_lost().is_some());
    }

    #[test]
    fn reordering_is_a_first_delivery_below_the_highest() {
        let mut b = board(6);
        assert_eq!(ack(&mut b, 0, &[(3, 4)]).reordered, None);
        assert_eq!(ack(&mut b, 0, &[(1, 2), (3, 4)]).reordered, Some(MSS));
    }

    // --- against a model ------------------------------------------------------------------------------------------

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// The same, naively: a list of segments, everything recounted.
    #[derive(Clone, Copy, Debug)]
    struct Plain {
        seq: u64,
        len: u64,
        sent: Time,
        sacked: bool,
        lost: bool,
        resent: bool,
        ever: bool,
    }

    #[derive(Debug, Default)]
    struct Model(Vec<Plain>);

    impl Model {
        fn sum(&self, of: impl Fn(&Plain) -> bool) -> u64 {
            self.0.iter().filter(|s| of(s)).map(|s| s.len).sum()
        }

        /// RFC 6675 section 4, SetPipe: each segment that was not reported counts where it is not lost, and
        /// where it was sent again.
        fn pipe(&self) -> u64 {
            self.sum(|s| !s.sacked && !s.lost) + self.sum(|s| !s.sacked && s.resent)
        }

        /// RFC 6675 section 4, IsLost.
        fn is_lost(&self, i: usize, threshold: u32, mss: u64) -> bool {
            let above = &self.0[i + 1..];
            let bytes: u64 = above.iter().filter(|s| s.sacked).map(|s| s.len).sum();
            let ranges =
                above.iter().zip(&self.0[i..]).filter(|(s, before)| s.sacked && !before.sacked).count();
            ranges >= threshold as usize || bytes > u64::from(threshold - 1) * mss
        }

        fn lose(&mut self, which: impl Fn(usize, &Plain) -> bool) {
            for i in 0..self.0.len() {
                if which(i, &self.0[i]) {
                    (self.0[i].lost, self.0[i].resent) = (true, false);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever is sent, reported, acknowledged, lost and sent again, in any order: the sums and the pipe
        /// are those of the model, and so are the losses found by count and by time.
        #[test]
        fn the_sums_are_those_of_a_model(
            steps in prop::collection::vec((0u8..9, 0usize..40, 1usize..12, 1u64..1001), 1..150),
        ) {
            let (mut board, mut model) = (Board::default(), Model::default());
            let (mut una, mut next, mut now) = (0, 0, 0);
            for (what, at_segment, many, len) in steps {
                now += 1;
                let count = model.0.len();
                match what {
                    0 | 1 => for _ in 0..many {
                        board.push(next, len as u16, at(now));
                        model.0.push(Plain {
                            seq: next, len, sent: at(now), sacked: false, lost: false, resent: false, ever: false,
                        });
                        next += len;
                    },
                    // A report of up to twelve segments.
                    2 | 3 if count > 0 => {
                        let first = at_segment % count;
                        let last = (first + many).min(count) - 1;
                        let mut report = Report::default();
                        report.push((model.0[first].seq, model.0[last].seq + model.0[last].len));
                        let new = model.0[first..=last].iter().filter(|s| !s.sacked).map(|s| s.len).sum::<u64>();
                        prop_assert_eq!(board.acknowledge(una, &report, at(now), Duration::ZERO).bytes, new);
                        for s in &mut model.0[first..=last] {
                            *s = Plain { sacked: true, lost: false, resent: false, ..*s };
                        }
                    }
                    // An ACK of a few.
                    4 if count > 0 => {
                        let gone: Vec<Plain> = model.0.drain(..many.min(count)).collect();
                        una = gone.last().map_or(una, |s| s.seq + s.len);
                        let new = gone.iter().filter(|s| !s.sacked).map(|s| s.len).sum::<u64>();
                        prop_assert_eq!(board.acknowledge(una, Report::NONE, at(now), Duration::ZERO).bytes, new);
                    }
                    5 => {
                        // What was below an earlier edge and was found not lost since is not looked at again.
                        let known = board.edge;
                        let lost: Vec<bool> = (0..count).map(|i| model.is_lost(i, 3, 500)).collect();
                        board.mark_by_count(3, 500);
                        model.lose(|i, s| lost[i] && !s.sacked && !s.lost && s.seq + s.len > known);
                    }
                    6 => {
                        let window = Duration::from_millis(many as u64);
                        let Latest { sent, end, rtt } = board.latest;
                        let any = model.0.iter().any(|s| s.sacked || s.lost);
                        let due = |s: &Plain| {
                            any && !s.sacked && (!s.lost || s.resent) && (s.sent, s.seq + s.len) < (sent, end)
                        };
                        let again = model.0.iter().filter(|s| due(s)).map(|s| s.sent + rtt + window).max();
                        let (_, told) = board.mark_by_time(at(now), window);
                        prop_assert_eq!(told, again.filter(|&again| again > at(now)));
                        model.lose(|_, s| due(s) && s.sent + rtt + window <= at(now));
                    }
                    7 => for _ in 0..many {
                        let expected = model.0.iter().position(|s| s.lost && !s.resent);
                        let first = board.next_lost();
                        prop_assert_eq!(first, expected);
                        let Some(i) = first else { break };
                        board.resend(i, at(now));
                        model.0[i] = Plain { sent: at(now), resent: true, ever: true, ..model.0[i] };
                    },
                    8 if many == 1 => {
                        board.lose_all(None);
                        model.lose(|_, s| !s.sacked);
                    }
                    8 if many == 2 => {
                        board.lose_none();
                        model.0.iter_mut().for_each(|s| s.lost = false);
                    }
                    _ => {}
                }
                prop_assert_eq!(board.outstanding(), model.sum(|_| true));
                prop_assert_eq!(board.sacked(), model.sum(|s| s.sacked));
                prop_assert_eq!(board.sacked_segments() as usize, model.0.iter().filter(|s| s.sacked).count());
                prop_assert_eq!(board.lost(), model.sum(|s| s.lost));
                prop_assert_eq!(board.pipe(), model.pipe());
                prop_assert_eq!(board.segments.iter().map(Sent::again).collect::<Vec<_>>(),
                    model.0.iter().map(|s| s.ever).collect::<Vec<_>>());
                // Nothing is kept of what was acknowledged.
                prop_assert_eq!(board.ranges.iter().map(|r| r.1 - r.0).sum::<u64>(), board.sacked());
                let last = model.0.iter().rposition(|s| !s.sacked);
                prop_assert_eq!(board.last_unreported(), last);
                prop_assert_eq!(board.rescue(), last.filter(|&i| !model.0[i].resent));
            }
        }
    }
}
