//! Congestion controls: how the window grows and shrinks, and nothing else.
//!
//! Each speaks bytes here; one whose paper or RFC speaks packets converts at its own door. Recovery decides *when* these
//! are called. NewReno is the first; others join the enum.

use evenflow_base::schema::{Mechanism, Observable, Room};

/// The congestion window and the slow-start threshold, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// cwnd.
    pub cwnd: f64,
    /// ssthresh; infinite before the first loss.
    pub ssthresh: f64,
}

/// What one acknowledgement of new data says.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Newly acknowledged bytes.
    pub bytes: u64,
    /// Full segments among them, the remainder of earlier ACKs included.
    pub segments: u64,
    /// Bytes of a full segment.
    pub mss: f64,
}

/// A congestion control, dispatched statically.
#[derive(Clone, Copy, Debug)]
pub enum CongestionControl {
    /// See [`NewReno`].
    NewReno(NewReno),
}

impl CongestionControl {
    /// New data was acknowledged outside loss recovery.
    #[inline]
    pub fn grow(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            CongestionControl::NewReno(cc) => cc.grow(window, acked),
        }
    }

    /// The slow-start threshold after a loss with `flight` bytes outstanding.
    #[inline]
    pub fn threshold_after_loss(&mut self, flight: f64, mss: f64) -> f64 {
        match self {
            CongestionControl::NewReno(_) => newreno_threshold(flight, mss),
        }
    }
}

/// NewReno's window (RFC 5681 section 3.1), counting ACKs or bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    /// Congestion avoidance counts acknowledged bytes (RFC 5681 section 3.1, the recommended way) instead of ACKs.
    pub byte_counting: bool,
    /// Bytes acknowledged since the last step, where bytes are counted.
    pub counted: f64,
}

/// The whole part of a number of bytes, which is not negative: `floor` without a library call.
#[inline]
fn whole(bytes: f64) -> f64 {
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

impl NewReno {
    /// Slow start below ssthresh, congestion avoidance from there on. An ACK of less than a segment grows nothing until
    /// the bytes add up to one.
    #[inline]
    pub fn grow(&mut self, w: &mut Window, acked: &Acked) {
        let mut segments = acked.segments;
        if self.byte_counting {
            return self.grow_by_bytes(w, acked);
        }
        if w.cwnd < w.ssthresh && segments > 0 {
            w.cwnd += acked.mss;
            segments -= 1;
        }
        // An ACK of several segments that ends slow start makes one avoidance step as well.
        if w.cwnd >= w.ssthresh && segments > 0 {
            w.cwnd += avoidance_step(w.cwnd, acked.mss);
        }
    }

    fn grow_by_bytes(&mut self, w: &mut Window, acked: &Acked) {
        let bytes = acked.bytes as f64;
        if w.cwnd < w.ssthresh {
            w.cwnd += bytes.min(acked.mss); // RFC 5681 equation 2
            return;
        }
        self.counted += bytes;
        if self.counted >= w.cwnd {
            self.counted -= w.cwnd;
            w.cwnd += acked.mss;
        }
    }
}

/// NewReno's table.
pub static NEWRENO: Mechanism = Mechanism {
    kind: "newreno",
    room: Room::CongestionControl,
    title: "NewReno",
    doc: "Additive increase of one segment a round-trip time (half of that with delayed ACKs counted one by one), halving on loss.",
    source: "RFC 5681, RFC 6582",
    params: &[],
    observables: &[Observable { name: "window", unit: "packets", doc: "Congestion window." }],
    counters: &[],
    deviations: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1446.0;

    fn acked(segments: u64) -> Acked {
        Acked { bytes: segments * 1446, segments, mss: MSS }
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
        NewReno::default().grow(&mut w, &Acked { bytes: 700, segments: 0, mss: MSS });
        assert_eq!(w.cwnd, 9.0 * MSS);
    }

    #[test]
    fn byte_counting_gains_one_segment_a_window() {
        let mut cc = NewReno { byte_counting: true, counted: 0.0 };
        let mut w = Window { cwnd: 10.0 * MSS, ssthresh: 5.0 * MSS };
        for _ in 0..5 {
            cc.grow(&mut w, &acked(2));
        }
        assert_eq!(w.cwnd, 11.0 * MSS);
    }

    #[test]
    fn the_threshold_is_half_the_flight_and_two_segments_at_least() {
        assert_eq!(newreno_threshold(10.0 * MSS, MSS), 5.0 * MSS);
        assert_eq!(newreno_threshold(3.0 * MSS, MSS), 2.0 * MSS);
    }
}
