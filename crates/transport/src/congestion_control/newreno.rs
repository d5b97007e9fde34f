//! NewReno's window (RFC 5681 section 3.1, RFC 6582): additive increase, halving.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};

use crate::Profile;
use crate::profile::{SlowStart as Exit, WindowBase};

use super::slow_start::{SlowStart, slow_start};
use super::{Acked, Congestion, Control, Registered, WINDOW, Window};

/// How the window moves in steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Each ACK makes one step of congestion avoidance, in whole bytes (RFC 5681 equation 3).
    #[default]
    Acks,
    /// The same in real numbers: 1/cwnd packets per ACK.
    AcksReal,
    /// A segment for each window of bytes acknowledged (RFC 5681 section 3.1, the recommended way; RFC 3465).
    Bytes,
    /// ACKs: a segment an ACK in slow start, then one after one ACK more than the window has segments (Linux 3.2).
    AcksWhole,
}

/// NewReno.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    /// How congestion avoidance counts.
    pub counting: Counting,
    /// The quantity that ssthresh halves.
    pub half_of: WindowBase,
    /// Most segments that one ACK may add in slow start (RFC 5681 equation 2: one; Linux: as many as it covers).
    pub slow_start_segments: Option<u32>,
    /// Bytes acknowledged since the last step, where bytes are counted.
    pub counted: f64,
    /// A slow start that ends without loss.
    pub start: Option<Box<SlowStart>>,
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Given {
        /// Exit from slow start without loss. With one, slow start counts bytes.
        slow_start: Option<Exit> = Choice(&["standard", "hystart++", "search", "search-drain"]), Absent("standard")
            => source: "RFC 9406, draft-chung-ccwg-search-09";
    }
}

/// The whole part of a number of bytes, which is not negative: `floor` without a library call.
#[inline]
pub(super) fn whole(bytes: f64) -> f64 {
    bytes as i64 as f64
}

/// ssthresh = max(FlightSize / 2, 2 SMSS) (RFC 5681 equation 4), in whole bytes.
#[inline]
pub fn newreno_threshold(flight: f64, mss: f64) -> f64 {
    whole(flight / 2.0).max(2.0 * mss)
}

/// Congestion avoidance step per ACK: SMSS * SMSS / cwnd, at least one byte (RFC 5681 equation 3), in whole bytes.
#[inline]
pub fn avoidance_step(cwnd: f64, mss: f64) -> f64 {
    whole(mss * mss / cwnd).max(1.0)
}

impl Registered for NewReno {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<NewReno, Vec<Problem>> {
        let exit = Given::read(values).slow_start.filter(|exit| *exit != Exit::Standard);
        let Some(exit) = exit else { return Ok(NewReno::of(profile)) };
        let start = Some(Box::new(SlowStart::new(exit, profile.slow_start_segments)));
        Ok(NewReno { start, ..NewReno::of(profile) })
    }
}

impl Control for NewReno {
    /// Slow start below ssthresh, congestion avoidance from there on. An ACK of less than a segment grows nothing until
    /// the bytes add up to one.
    #[inline(always)]
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        if self.start.is_some() && w.cwnd < w.ssthresh {
            return self.start_by_bytes(w, acked);
        }
        let mut segments = acked.segments;
        match self.counting {
            Counting::Bytes => return self.grow_by_bytes(w, acked),
            Counting::AcksWhole => return self.grow_by_acks(w, acked.mss),
            Counting::Acks | Counting::AcksReal => {}
        }
        if w.cwnd < w.ssthresh && segments > 0 {
            w.cwnd += acked.mss;
            segments -= 1;
        }
        // An ACK of several segments that ends slow start makes one avoidance step as well.
        if w.cwnd >= w.ssthresh && segments > 0 {
            w.cwnd += match self.counting {
                Counting::AcksReal => acked.mss * acked.mss / w.cwnd,
                _ => avoidance_step(w.cwnd, acked.mss),
            };
        }
    }

    /// ssthresh after `event`.
    #[inline]
    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        self.counted = 0.0;
        if let Some(start) = &mut self.start {
            start.on_congestion_event(event.signal);
        }
        match self.half_of {
            WindowBase::Flight => newreno_threshold(event.flight, event.mss),
            WindowBase::Window => (w.cwnd / 2.0).max(2.0 * event.mss),
        }
    }

    /// The window after a mark: half a window if that is smaller than the threshold (RFC 3168 section 6.1.2:
    /// down to one segment). In ns-2's counting it is always half the window. At least one segment.
    fn after_mark(&self, w: &Window, event: &Congestion, ssthresh: f64) -> f64 {
        match (self.counting, self.half_of) {
            (Counting::AcksReal, WindowBase::Window) => (w.cwnd / 2.0).max(event.mss),
            _ if ssthresh < w.cwnd => ssthresh,
            _ => (w.cwnd / 2.0).max(event.mss),
        }
    }
}

impl NewReno {
    /// As a stack counts, by itself or as part of another control.
    pub fn of(profile: &Profile) -> NewReno {
        NewReno {
            counting: match (profile.byte_counting, profile.count_acks, profile.whole_bytes) {
                (true, ..) => Counting::Bytes,
                (false, true, _) => Counting::AcksWhole,
                (false, false, true) => Counting::Acks,
                (false, false, false) => Counting::AcksReal,
            },
            half_of: profile.half_of,
            slow_start_segments: profile.slow_start_segments,
            counted: 0.0,
            start: None,
        }
    }

    /// Slow start with an exit. Bytes beyond the threshold count for congestion avoidance where that counts bytes.
    #[inline(never)]
    fn start_by_bytes(&mut self, w: &mut Window, acked: &Acked) {
        let Some(start) = &mut self.start else { return };
        let bytes = acked.bytes as f64;
        let left = bytes - start.grow(w, acked, bytes);
        if self.counting == Counting::Bytes {
            self.counted += left;
        }
    }

    #[inline(never)]
    fn grow_by_bytes(&mut self, w: &mut Window, acked: &Acked) {
        let mut bytes = acked.bytes as f64;
        if w.cwnd < w.ssthresh {
            bytes -= slow_start(
                w,
                bytes,
                self.slow_start_segments.map_or(f64::INFINITY, |n| f64::from(n) * acked.mss),
            );
        }
        self.counted += bytes;
        if w.cwnd >= w.ssthresh && self.counted >= w.cwnd {
            self.counted -= w.cwnd;
            w.cwnd += acked.mss;
        }
    }

    /// Whatever an ACK covers; `counted` is a number of ACKs here.
    #[inline(never)]
    fn grow_by_acks(&mut self, w: &mut Window, mss: f64) {
        if w.cwnd < w.ssthresh {
            w.cwnd += mss;
        } else if self.counted * mss >= w.cwnd {
            w.cwnd += mss;
            self.counted = 0.0;
        } else {
            self.counted += 1.0;
        }
    }
}

/// NewReno's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "newreno",
    traits: Traits { default: true, ..Mechanism::PLAIN },
    title: "NewReno",
    example: r#"[groups.users.tcp]
stack = "rfc"
congestion_control = "newreno""#,
    doc: "Adds one segment per round-trip time in congestion avoidance (half of that with delayed ACKs and \
          counted ACKs). Halves the window on a loss.",
    source: "RFC 5681, RFC 6582",
    params: Given::PARAMS,
    observables: &[WINDOW],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests {
    use evenflow_base::Time;

    use super::*;

    const MSS: f64 = 1446.0;

    fn acked_bytes(bytes: u64, segments: u64) -> Acked {
        Acked {
            now: Time::ZERO,
            una: 0,
            next: 0,
            bytes,
            segments,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: None,
            one_way: None,
            marks: 0,
        }
    }

    fn acked(segments: u64) -> Acked {
        acked_bytes(segments * 1446, segments)
    }

    #[test]
    fn slow_start_adds_one_segment_per_ack_whatever_it_covers() {
        let mut w = Window { cwnd: 4.0 * MSS, ssthresh: f64::INFINITY };
        NewReno::default().grow(&mut w, &acked(2));
        assert_eq!(w.cwnd, 5.0 * MSS);
    }

    #[test]
    fn avoidance_adds_whole_bytes() {
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 5.0 * MSS };
        NewReno::default().grow(&mut w, &acked(2));
        assert_eq!(w.cwnd, 10.0 * MSS + 144.0); // 1446^2 / 14460 = 144.6
    }

    #[test]
    fn the_ack_that_ends_slow_start_makes_one_avoidance_step() {
        let mut w = Window { cwnd: 9.0 * MSS, ssthresh: 10.0 * MSS };
        NewReno::default().grow(&mut w, &acked(2));
        assert_eq!(w.cwnd, 10.0 * MSS + 144.0);
        let mut w = Window { cwnd: 9.0 * MSS, ssthresh: 10.0 * MSS };
        NewReno::default().grow(&mut w, &acked(1));
        assert_eq!(w.cwnd, 10.0 * MSS);
    }

    #[test]
    fn less_than_a_segment_grows_nothing() {
        let mut w = Window { cwnd: 9.0 * MSS, ssthresh: f64::INFINITY };
        NewReno::default().grow(&mut w, &acked_bytes(700, 0));
        assert_eq!(w.cwnd, 9.0 * MSS);
    }

    #[test]
    fn byte_counting_gains_one_segment_a_window() {
        let mut cc = NewReno { counting: Counting::Bytes, ..NewReno::default() };
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 5.0 * MSS };
        for _ in 0..5 {
            cc.grow(&mut w, &acked(2));
        }
        assert_eq!(w.cwnd, 11.0 * MSS);
    }

    /// HyStart++ (RFC 9406 section 4.2): a rise of the round trip to a quarter slows growth; a loss ends it for good.
    /// SEARCH: a link that delivers no more than before ends slow start.
    #[test]
    fn slow_start_ends_without_loss() {
        use evenflow_base::Duration;
        use evenflow_base::schema::Value;

        let built = |word: &str| {
            let values = Values([("slow_start", Value::Word(word.into()))].into());
            NewReno::build(&values, &Profile::rfc(), 1.0).expect("sound")
        };
        let ends = |word: &str| {
            let (mut cc, mut w) = (built(word), Window { cwnd: 10.0 * MSS, ssthresh: f64::INFINITY });
            // A full link delivers a segment per ms, and the round trip grows by a quarter. For SEARCH twice as much is
            // sent as delivered.
            let end = (1..3000u64).find(|&ms| {
                let una = ms * 1446;
                let next = if word == "search" { 2 * una } else { una + 144_600 };
                let rtt = Some(Duration::from_millis(100 + ms / 4));
                let acked = Acked { now: Time(ms * 1_000_000), una, next, rtt, ..acked(1) };
                cc.grow(&mut w, &acked);
                w.ssthresh.is_finite()
            });
            (end, w)
        };
        assert_eq!(ends("standard").0, None);
        for word in ["hystart++", "search"] {
            let (end, w) = ends(word);
            assert!(end.is_some_and(|ms| ms > 100), "{word}: {end:?}");
            assert_eq!(w.cwnd, w.ssthresh);
        }
        assert!(built("standard").start.is_none());
    }

    #[test]
    fn the_threshold_is_half_the_flight_and_two_segments_at_least() {
        assert_eq!(newreno_threshold(10.0 * MSS, MSS), 5.0 * MSS);
        assert_eq!(newreno_threshold(3.0 * MSS, MSS), 2.0 * MSS);
    }
}
