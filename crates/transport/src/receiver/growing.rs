//! The growing receive window of Linux, as far as it affects ACKs: segments that let the advertised window
//! grow are acknowledged one by one. Hybrid slow start depends on the gaps between these ACKs.
//!
//! The rules follow Linux 6.18 and predict 99.8 % of the ACKs of 9 900 segments (validation/linux). The
//! window follows the memory of the receive buffer. Dynamic right-sizing grows the buffer when an application
//! read more in a round trip than ever before.

use evenflow_base::{Duration, Time};

use crate::Profile;

/// Receive buffer memory of a packet of up to 1500 bytes; the payload share of the buffer can be advertised.
const CHARGE: u64 = 2304;

/// tcp_rmem: initial and maximum buffer.
const BUFFER: (u64, u64) = (131_072, 33_554_432);

/// The first window: whole segments below 2^16 bytes, for a SYN cannot scale it (RFC 7323 section 2.2).
const FIRST_WINDOW: u64 = 65_535;

/// Bytes of the timestamp option in every segment (RFC 7323 appendix A).
const OPTION: u64 = 12;

/// The window and what it grows by.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    /// Limit of the advertised window; it approaches `clamp` segment by segment.
    threshold: u64,
    /// Memory for what was received.
    buffer: u64,
    /// Most that was read in a round trip.
    space: u64,
    /// When the measurement of what is read began, and where in the stream.
    since: Time,
    from: u64,
    /// Eight times the round trip as the receiver sees it, nanoseconds; 0: unknown.
    rtt8: u64,
    /// When the SYN was answered.
    answered: Time,
    /// Reverse path: time from an answer to the data that it triggered, in ticks.
    back: Option<u32>,
    /// Timestamp of the last sample.
    sampled: Option<u32>,
    /// The timestamp that the data echoes, where it does.
    echo: Option<u32>,
    /// The last one of these, and when it was first seen.
    seen: Option<(u32, u32)>,
}

impl Growing {
    pub(super) fn new(profile: &Profile) -> Growing {
        Growing {
            threshold: FIRST_WINDOW / profile.mss * profile.mss,
            buffer: BUFFER.0,
            space: 10 * (profile.mss + OPTION),
            since: Time::ZERO,
            from: 0,
            rtt8: 0,
            answered: Time::NEVER,
            back: None,
            sampled: None,
            echo: None,
            seen: None,
        }
    }

    /// The data that is about to arrive echoes this timestamp.
    pub(super) fn hear(&mut self, echo: u32) {
        self.echo = Some(echo);
    }

    /// The SYN is answered.
    pub(super) fn answer(&mut self, now: Time) {
        self.answered = now;
    }

    /// The handshake is over.
    pub(super) fn established(&mut self, now: Time) {
        self.since = now;
    }

    /// Bytes of payload that `memory` holds, in 256ths as the kernel counts.
    fn payload(memory: u64, profile: &Profile) -> u64 {
        memory * (profile.mss * 256 / CHARGE).max(1) / 256
    }

    /// A data segment with timestamp `stamp` gives one round-trip sample per timestamp value. The minimum
    /// applies immediately; larger samples are smoothed. The sample is the reverse path, known from the
    /// handshake, plus the age of `stamp`, because both ends share a clock.
    pub(super) fn arrived(&mut self, stamp: u32, now: Time, profile: &Profile) {
        if self.sampled == Some(stamp) {
            return;
        }
        self.sampled = Some(stamp);
        let clock = |t: Time| (t.0 / profile.clock_tick.0) as u32;
        // Without a handshake the reverse path is assumed to be as long as the forward path.
        let back = if self.answered == Time::NEVER {
            clock(now).wrapping_sub(stamp)
        } else {
            stamp.wrapping_sub(clock(self.answered))
        };
        let back = *self.back.get_or_insert(back);
        let reckoned = stamp.wrapping_sub(back);
        let sent = match self.echo.take() {
            None => reckoned,
            Some(echo) => {
                let first = match self.seen {
                    Some((last, first)) if last == echo => first,
                    _ => clock(now),
                };
                self.seen = Some((echo, first));
                // The data's sender also echoes ACKs (RFC 7323 section 4.3), whose timestamps are not
                // modelled. From the first ACK of this answer on, one was always in flight.
                if reckoned.wrapping_sub(first).cast_signed() >= 0 { reckoned } else { echo }
            }
        };
        let ticks = clock(now).wrapping_sub(sent);
        let sample = u64::from(ticks.max(1)) * profile.clock_tick.0;
        self.rtt8 =
            if self.rtt8 == 0 { 8 * sample } else { (8 * sample).min(self.rtt8 - self.rtt8 / 8 + sample) };
    }

    /// Lets the window grow for one segment, `held` of which are in memory; says whether it did.
    pub(super) fn grow(&mut self, held: u64, profile: &Profile) -> bool {
        let room = Growing::payload(self.buffer.saturating_sub(CHARGE * held), profile);
        if room <= self.threshold {
            return false;
        }
        self.threshold = room.min(self.threshold + 2 * (profile.mss + OPTION));
        true
    }

    /// The application has read everything before `next`; `ahead` is how far data beyond a hole reaches.
    pub(super) fn read(&mut self, next: u64, ahead: u64, now: Time, profile: &Profile) {
        if self.rtt8 == 0 || now.since(self.since).0 < self.rtt8 / 8 {
            return;
        }
        let copied = next - self.from;
        if copied > self.space {
            // A round trip passes before a larger window shows, and in slow start the next is as much larger again.
            let window = 2 * copied + 2 * (2 * copied * (copied - self.space) / self.space) + ahead;
            let memory = window * 256 / (profile.mss * 256 / CHARGE).max(1);
            self.space = copied;
            self.buffer = self.buffer.max(memory.min(BUFFER.1));
        }
        (self.since, self.from) = (now, next);
    }

    /// The round trip, if it is known.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.rtt8 > 0).then_some(Duration(self.rtt8 / 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 MiB of memory, 2304 bytes for each 1448 of payload.
    #[test]
    fn the_default_window_is_what_the_largest_buffer_can_advertise() {
        let linux = Profile::linux();
        assert_eq!(Growing::payload(BUFFER.1, &linux), linux.max_window);
    }

    /// One way takes 20 ms. A request leaves at 0, its answer begins at once and goes on; a second request leaves at 1 s and is answered
    /// half a second later. RFC 7323 section 4.3 (2): ACKs in between move what the answer echoes, the request alone does not.
    #[test]
    fn an_answer_that_goes_on_echoes_acks() {
        let profile = Profile::linux();
        let mut growing = Growing::new(&profile);
        growing.answer(Time::ZERO);
        let mut hear = |stamp: u32, echo: u32| {
            growing.hear(echo);
            growing.arrived(stamp, Time(u64::from(stamp + 20) * 1_000_000), &profile);
            1e3 * growing.rtt().expect("a sample").seconds()
        };
        assert!((hear(20, 0) - 40.0).abs() < 1e-9);
        // What leaves before the first ACK is there echoes the request still.
        let early: Vec<f64> = (25..60).step_by(5).map(|stamp| hear(stamp, 0)).collect();
        assert!(early.is_sorted() && early[6] < 80.0, "{early:?}");
        let answer: Vec<f64> = (60..600).step_by(5).map(|stamp| hear(stamp, 0)).collect();
        assert!(answer[0] == 40.0 && answer[107] == 40.0, "{answer:?}");
        // The thought of half a second is in the one sample that nothing else could be echoed in.
        assert!((hear(1520, 1000) - (40.0 + (540.0 - 40.0) / 8.0)).abs() < 1.0);
        let later: Vec<f64> = (1540..1900).step_by(10).map(|stamp| hear(stamp, 1000)).collect();
        assert!(later.last().is_some_and(|rtt| *rtt < 45.0), "{later:?}");
    }
}
