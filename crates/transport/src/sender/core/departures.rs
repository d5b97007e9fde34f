//! Pacing, and the transmit records behind delivery-rate samples (draft-ietf-ccwg-bbr-06 section 4.1). Only a
//! sender whose congestion control or profile asks for them has any.

use std::ops::Range;

use evenflow_base::{Duration, Heap, Report, Time};

use crate::Profile;
use crate::congestion_control::{Needs, Path, RateSample, Sent};
use crate::profile::PacingRule;
use crate::sender::Life;

use super::{Context, Core};

/// Pacing and transmit records of one sender.
#[derive(Clone, Debug)]
pub(in crate::sender) struct Departures {
    /// The next burst may leave from here on; zero where the control does not pace.
    next: Time,
    /// When the last burst left, and what remains of its quantum, bytes.
    burst: (Time, f64),
    /// When a segment that waits may leave; never: none waits.
    pub(in crate::sender) release: Time,
    /// By Linux's rule: segments that no gap follows, bytes of the burst before its gap, and the burst's lateness.
    unpaced: u32,
    without_gap: f64,
    late: Duration,
    records: Option<Records>,
}

/// Linux's first segments without a gap (`data_segs_out < 10`, which counts the segment that leaves).
const UNPACED: u32 = 9;

/// Linux's pacing rate in windows per round trip, below half the threshold and above.
const RATIOS: [f64; 2] = [2.0, 1.2];

/// The state of delivery-rate estimation.
#[derive(Clone, Debug, Default)]
struct Records {
    /// Segments that were sent, by sequence number, the first `gone` acknowledged. Those that SACK reported are
    /// empty.
    sent: Vec<Sent>,
    gone: usize,
    /// `C.delivered` and `C.delivered_time`.
    delivered: u64,
    delivered_at: Time,
    /// `C.first_send_time`.
    first_sent: Time,
    /// `C.lost`.
    lost: u64,
    /// `C.lost` at the last sample.
    lost_before: u64,
    /// Congestion marks reported.
    marked: u64,
    /// `C.app_limited`.
    application_limited: u64,
    /// The last delivery rate: bytes and their time.
    rate: Option<(u64, Duration)>,
    /// Blocks of the last SACK option, whose records are empty.
    reported: Vec<(u64, u64)>,
}

/// An ACK newly delivers `sent`.
fn add(sample: &mut RateSample, sent: &Sent) {
    if sent.len == 0 {
        return; // reported before
    }
    sample.newly_acked += sent.len;
    if !sent.again {
        let rtt = sample.now.since(sent.at);
        sample.rtt = Some(sample.rtt.map_or(rtt, |least| least.min(rtt)));
    }
    if sample.packet.as_ref().is_none_or(|last| (sent.at, sent.seq) >= (last.at, last.seq)) {
        sample.packet = Some(*sent);
    }
}

impl Departures {
    pub(in crate::sender) fn new(needs: Needs, profile: &Profile) -> Option<Box<Departures>> {
        let records = needs.rate_samples.then(Records::default);
        let fresh = Departures {
            next: Time::ZERO,
            burst: (Time::NEVER, 0.0),
            release: Time::NEVER,
            unpaced: UNPACED,
            without_gap: 0.0,
            late: Duration::ZERO,
            records,
        };
        (needs.pacing || needs.rate_samples || profile.pacing).then(|| Box::new(fresh))
    }

    pub(in crate::sender) fn heap_bytes(&self) -> u64 {
        let records = self
            .records
            .as_ref()
            .map_or(0, |records| records.sent.heap_bytes() + records.reported.heap_bytes());
        size_of::<Departures>() as u64 + records
    }

    /// Whether a segment of `len` bytes may leave. A burst takes no time and ends with its quantum.
    #[inline]
    fn lets_go(&self, len: f64, now: Time) -> bool {
        now >= self.next || (now == self.burst.0 && self.burst.1 >= len)
    }

    /// Whether a segment of `len` bytes has to wait.
    #[inline]
    fn hold(&mut self, len: f64, now: Time) -> bool {
        let leaves = self.lets_go(len, now);
        self.release = if leaves { Time::NEVER } else { self.next };
        !leaves
    }

    /// A segment of `len` bytes leaves at `rate`: the next burst waits for as long as it takes.
    fn pace(&mut self, len: f64, (rate, quantum): (f64, f64), now: Time) {
        if now != self.burst.0 || now >= self.next {
            self.burst = (now, quantum);
        }
        self.burst.1 -= len;
        self.next = self.next.max(now) + time_at(len, rate).1;
    }

    /// The same as in Linux (`tcp_update_skb_after_send`). A burst that leaves late shortens the gap after it by
    /// up to half.
    fn pace_as_linux(&mut self, len: f64, (rate, quantum): (f64, f64), now: Time) {
        if now != self.burst.0 || self.burst.1 < len {
            self.burst = (now, quantum);
            self.without_gap = 0.0;
            self.late = if self.next == Time::ZERO { Duration::ZERO } else { now.since(self.next) };
        }
        self.burst.1 -= len;
        self.without_gap += len;
        self.next = self.next.max(now);
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let (begun, time) = time_at(std::mem::take(&mut self.without_gap), rate);
        self.next += time;
        if self.late > Duration::ZERO {
            let less = self.late.min(Duration(begun.0 / 2));
            self.late = Duration(self.late.0 - less.0);
            self.next = Time(self.next.0 - less.0);
        }
    }
}

/// The time that `len` bytes take at `rate`, rounded down and up.
#[inline]
fn time_at(len: f64, rate: f64) -> (Duration, Duration) {
    let time = len / rate * 1e9;
    // A rate of nothing waits for some decades, which no run sees.
    let time = if time < 1e18 { time } else { 1e18 };
    let whole = time as i64; // from and to a signed number it is one instruction
    (Duration(whole as u64), Duration(whole as u64 + u64::from((whole as f64) < time)))
}

impl Records {
    /// The segment `sent` leaves, for the first time or again.
    #[inline(always)]
    fn write(&mut self, sent: Sent) {
        if sent.again {
            self.write_again(sent);
        } else {
            self.push(sent);
        }
    }

    #[inline(always)]
    fn push(&mut self, sent: Sent) {
        if self.sent.len() == self.sent.capacity() {
            self.make_room();
        }
        self.sent.push(sent);
    }

    /// Forgets what is acknowledged, where that is most.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if 2 * self.gone > self.sent.len() {
            self.sent.drain(..std::mem::take(&mut self.gone));
        } else {
            self.sent.reserve(1);
        }
    }

    /// The first record from the byte `seq` on.
    fn beyond(&self, seq: u64) -> usize {
        self.gone + self.sent[self.gone..].partition_point(|sent| sent.seq < seq)
    }

    /// Writes the record of a retransmission over those of its data.
    #[inline(never)]
    fn write_again(&mut self, sent: Sent) {
        if self.sent[self.gone..].last().is_none_or(|last| last.seq + last.len <= sent.seq) {
            return self.push(sent);
        }
        let end = sent.seq + sent.len;
        self.reported.retain(|block| block.1 <= sent.seq || end <= block.0);
        let at =
            self.gone + self.sent[self.gone..].partition_point(|other| other.seq + other.len <= sent.seq);
        if let Some(same) =
            self.sent.get_mut(at).filter(|other| (other.seq, other.len) == (sent.seq, sent.len))
        {
            *same = sent;
            return;
        }
        let mut tail = None;
        let mut from = at;
        if let Some(other) = self.sent.get_mut(at).filter(|other| other.seq < sent.seq) {
            tail = cut(other, sent.seq).filter(|tail| tail.seq + tail.len > end);
            from += 1;
        }
        let mut until = from;
        while let Some(other) = self.sent.get_mut(until).filter(|other| other.seq < end) {
            tail = Some(*other).filter(|other| other.seq + other.len > end);
            until += 1;
        }
        let rest = tail.and_then(|mut tail| cut(&mut tail, end));
        drop(self.sent.drain(from..until));
        self.sent.insert(from, sent);
        if let Some(rest) = rest {
            self.sent.insert(from + 1, rest);
        }
    }

    /// Takes out the records of what lies before `una`.
    #[inline(always)]
    fn take_front(&mut self, una: u64, sample: &mut RateSample) {
        let (mut count, mut bytes, mut mixed) = (0, 0, false);
        let waiting = &self.sent[self.gone..];
        for sent in waiting {
            if sent.seq + sent.len > una {
                break;
            }
            bytes += sent.len;
            mixed |= sent.again || sent.len == 0;
            count += 1;
        }
        if mixed {
            waiting[..count].iter().for_each(|sent| add(sample, sent));
        } else if let Some(last) = waiting.get(count.wrapping_sub(1)) {
            // Segments that were sent once left in the order of their numbers.
            sample.newly_acked = bytes;
            sample.rtt = Some(sample.now.since(last.at));
            sample.packet = Some(*last);
        }
        self.gone += count;
        if self.sent.get(self.gone).is_some_and(|sent| sent.seq < una) {
            self.take_part(una, sample);
        }
    }

    /// An ACK within a segment delivers its first part.
    #[cold]
    #[inline(never)]
    fn take_part(&mut self, una: u64, sample: &mut RateSample) {
        if let Some(sent) = self.sent.get_mut(self.gone)
            && let Some(rest) = cut(sent, una)
        {
            add(sample, &std::mem::replace(sent, rest));
        }
    }

    /// Empties the records of what `block` of a SACK option newly reports.
    #[inline]
    fn take_block(&mut self, (from, to): (u64, u64), sample: &mut RateSample) {
        let known = self.reported.iter().find(|known| known.0 <= from && from <= known.1);
        let from = known.map_or(from, |known| known.1);
        if from < to {
            self.take(from..to, sample);
        }
    }

    /// Empties the records of what lies in `range`.
    #[inline(never)]
    fn take(&mut self, range: Range<u64>, sample: &mut RateSample) {
        let from = self.beyond(range.start);
        for sent in self.sent[from..].iter_mut().take_while(|sent| sent.seq < range.end) {
            let rest = cut(sent, range.end);
            add(sample, sent);
            match rest {
                Some(rest) => *sent = rest,
                None => sent.len = 0,
            }
        }
    }
}

/// Cuts a record at `edge`, if it lies within, and returns what lies beyond.
fn cut(sent: &mut Sent, edge: u64) -> Option<Sent> {
    let end = sent.seq + sent.len;
    if end <= edge {
        return None;
    }
    sent.len = edge.saturating_sub(sent.seq);
    let seq = edge.max(sent.seq);
    Some(Sent { seq, len: end - seq, ..*sent })
}

impl Core {
    /// Whether pacing holds the next segment back. The sender wakes when it may leave.
    #[inline(always)]
    pub(in crate::sender) fn is_held(&mut self, now: Time, profile: &Profile) -> bool {
        let Some(departures) = &mut self.departures else { return false };
        let held = departures.hold(profile.segment(), now);
        if held {
            self.held_by_window(now);
        }
        held
    }

    /// Whether a segment waits for its release already, and still has to: nothing can leave.
    #[inline(always)]
    pub(in crate::sender) fn waits_for_release(&mut self, now: Time, profile: &Profile) -> bool {
        let Some(departures) = &self.departures else { return false };
        let waits = self.life == Life::Open
            && departures.release == departures.next
            && !departures.lets_go(profile.segment(), now);
        if waits {
            self.held_by_window(now);
        }
        waits
    }

    /// Rate and burst of a control that does not pace itself (Linux's `tcp_update_pacing_rate`).
    #[inline(never)]
    fn window_pacing(&self, profile: &Profile) -> Option<(f64, f64)> {
        let w = self.window();
        let flight = (self.next - self.una) as f64;
        let ratio = RATIOS[usize::from(w.cwnd >= w.ssthresh / 2.0)];
        let rate = ratio * w.cwnd.max(flight) / self.rtt.smoothed()?.seconds();
        let burst = if profile.gso > 0 { profile.gso } else { self.burst(profile) * profile.mss };
        (rate > 0.0).then_some((rate, burst as f64))
    }

    /// When a segment that waits may leave.
    #[inline]
    pub(in crate::sender) fn release(&self) -> Time {
        self.departures.as_ref().map_or(Time::NEVER, |departures| departures.release)
    }

    /// The wait for a release is over; the window may hold the segment back now.
    pub(in crate::sender) fn end_wait(&mut self) {
        if let Some(departures) = &mut self.departures {
            departures.release = Time::NEVER;
        }
    }

    /// The last sample of the delivery rate, bytes/s.
    pub(in crate::sender) fn delivery_rate(&self) -> Option<f64> {
        let (bytes, interval) = self.departures.as_ref()?.records.as_ref()?.rate?;
        Some(bytes as f64 / interval.seconds())
    }

    fn path(&self) -> Path {
        Path { smoothed: self.rtt.smoothed(), least: self.rtt.least() }
    }

    /// A segment leaves; `flight`: bytes in flight with it.
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn depart(&mut self, seq: u64, len: u64, again: bool, flight: u64, x: &Context) {
        self.depart_inlined(seq, len, again, flight, x);
    }

    /// The same.
    #[inline(always)]
    pub(in crate::sender) fn depart_inlined(
        &mut self,
        seq: u64,
        len: u64,
        again: bool,
        flight: u64,
        x: &Context,
    ) {
        let now = x.now;
        let of_window =
            if x.profile.pacing && !self.needs.pacing { self.window_pacing(x.profile) } else { None };
        let Some(departures) = &mut self.departures else { return };
        let bytes = len as i64 as f64; // a signed number converts in one instruction
        if self.needs.pacing {
            let path = || Path { smoothed: self.rtt.smoothed(), least: self.rtt.least() };
            if let Some((rate, mut quantum)) = self.control.pacing(path, x.profile.segment()) {
                if x.profile.gso > 0 {
                    quantum = x.profile.gso as f64;
                }
                match x.profile.pacing_rule {
                    PacingRule::Draft => departures.pace(bytes, (rate, quantum), now),
                    PacingRule::Linux => departures.pace_as_linux(bytes, (rate, quantum), now),
                }
            }
        } else if let Some(pacing) = of_window {
            departures.pace_as_linux(bytes, pacing, now);
        }
        let Some(records) = &mut departures.records else { return };
        if flight <= len {
            (records.first_sent, records.delivered_at) = (now, now);
        }
        let sent = Sent {
            seq,
            len,
            at: now,
            delivered: records.delivered,
            delivered_at: records.delivered_at,
            first_sent: records.first_sent,
            application_limited: records.application_limited > 0,
            in_flight: flight,
            lost: records.lost,
            marked: records.marked,
            again,
        };
        records.write(sent);
        self.control.on_packet_sent(&sent);
    }

    /// Data in `range` that was not delivered is lost.
    #[inline]
    pub(in crate::sender) fn lose(&mut self, range: Range<u64>) {
        if self.departures.is_some() {
            self.report_lost(range);
        }
    }

    #[cold]
    fn report_lost(&mut self, range: Range<u64>) {
        let records = self.departures.as_mut().and_then(|departures| departures.records.as_mut());
        let Some(records) = records else { return };
        let from = records.beyond(range.start);
        let lost = records.sent[from..].iter().take_while(|sent| sent.seq < range.end);
        for sent in lost.filter(|sent| sent.len > 0) {
            records.lost += sent.len;
            self.control.on_packet_lost(sent);
        }
    }

    /// An ACK of everything before `una` with its SACK option; `in_flight` is what it leaves in flight.
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn take_rate_sample(
        &mut self,
        una: u64,
        report: &Report,
        marks: u32,
        in_flight: u64,
        now: Time,
    ) {
        let path = self.path();
        let records = self.departures.as_mut().and_then(|departures| departures.records.as_mut());
        let Some(records) = records else { return };
        let mut sample = RateSample { now, in_flight, path, marks, ..RateSample::default() };
        records.take_front(una, &mut sample);
        let blocks = report.blocks();
        if !blocks.is_empty() {
            let beyond = blocks.iter().filter(|(_, to)| *to > una);
            beyond.for_each(|block| records.take_block(*block, &mut sample));
            records.reported.clear();
            records.reported.extend_from_slice(blocks);
        }
        records.marked += u64::from(marks);
        records.delivered += sample.newly_acked;
        if sample.newly_acked > 0 {
            records.delivered_at = now;
        }
        if records.delivered > records.application_limited {
            records.application_limited = 0;
        }
        sample.newly_lost = records.lost - std::mem::replace(&mut records.lost_before, records.lost);
        sample.total = (records.delivered, records.lost);
        if let Some(packet) = &sample.packet {
            sample.delivered = records.delivered - packet.delivered;
            sample.lost = records.lost - packet.lost;
            sample.marked = records.marked - packet.marked;
            let longer = packet.at.since(packet.first_sent).max(now.since(packet.delivered_at));
            records.first_sent = packet.at;
            if longer >= path.least.unwrap_or(Duration(1)).max(Duration(1)) {
                sample.interval = Some(longer);
                records.rate = Some((sample.delivered, longer));
            }
        }
        self.control.on_rate_sample(&sample);
    }

    /// After sending, where the application limits the flow: no other limit applies, and all lost segments are
    /// retransmitted (section 4.1.2.4).
    #[cold]
    #[inline(never)]
    pub(in crate::sender) fn note_application_limit(&mut self, in_flight: u64) {
        let waits = self.release() != Time::NEVER;
        let limited = !waits && (in_flight as f64) < self.window().cwnd;
        let records = self.departures.as_mut().and_then(|departures| departures.records.as_mut());
        if let Some(records) = records.filter(|_| limited) {
            records.application_limited = (records.delivered + in_flight).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes at 1 MB/s take 1 ms. A burst that is 4 ms late halves the gap after it; the rest is forgotten.
    #[test]
    fn lateness_shortens_the_next_gap() {
        let needs = Needs { pacing: true, ..Needs::default() };
        let mut departures = *Departures::new(needs, &Profile::rfc()).expect("it paces");
        let us = |t: u64| Time(1000 * t);
        (departures.unpaced, departures.next) = (0, us(10_000));
        departures.pace_as_linux(1000.0, (1e6, 1000.0), us(14_000));
        assert_eq!(departures.next, us(14_500));
        departures.pace_as_linux(1000.0, (1e6, 1000.0), us(14_500));
        assert_eq!(departures.next, us(15_500));
        // Two segments of a burst share the lateness of 1.2 ms: 0.5 and 0.5.
        departures.pace_as_linux(1000.0, (1e6, 2000.0), us(16_700));
        departures.pace_as_linux(1000.0, (1e6, 2000.0), us(16_700));
        assert_eq!(departures.next, us(17_700));
    }

    /// The same block again takes nothing, a longer one its new part. A segment that is sent again is taken again.
    #[test]
    fn a_known_block_is_not_searched_again() {
        let sent = |seq| Sent { seq, len: 10, ..SENT };
        let mut records = Records::default();
        (0..6).for_each(|i| records.write(sent(10 * i)));
        let take = |records: &mut Records, block: (u64, u64)| {
            let mut sample = RateSample::default();
            records.take_block(block, &mut sample);
            records.reported = vec![block];
            sample.newly_acked
        };
        assert_eq!(take(&mut records, (10, 30)), 20);
        assert_eq!(take(&mut records, (10, 50)), 20);
        assert_eq!(take(&mut records, (10, 50)), 0);
        records.write(Sent { again: true, ..sent(20) });
        assert_eq!(take(&mut records, (10, 50)), 10);
        let kept = records.sent.iter().filter(|sent| sent.len > 0);
        assert_eq!(kept.map(|sent| sent.seq).collect::<Vec<_>>(), [0, 50]);
    }

    const SENT: Sent = Sent {
        seq: 0,
        len: 0,
        at: Time::ZERO,
        delivered: 0,
        delivered_at: Time::ZERO,
        first_sent: Time::ZERO,
        application_limited: false,
        in_flight: 0,
        lost: 0,
        marked: 0,
        again: false,
    };
}
