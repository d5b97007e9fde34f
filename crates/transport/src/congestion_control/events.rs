//! Events that a sender reports to a congestion control, and windows that it proposes.

use evenflow_base::{Duration, Time};

use crate::profile::UndoTo;

use super::Window;

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it came.
    pub now: Time,
    /// SND.UNA, this ACK included.
    pub una: u64,
    /// SND.NXT: the end of a round that begins now.
    pub next: u64,
    /// Newly acknowledged bytes.
    pub bytes: u64,
    /// Full segments among them, the remainder of earlier ACKs included.
    pub segments: u64,
    /// Bytes of a full segment.
    pub mss: f64,
    /// Bytes in flight before the ACK.
    pub flight: f64,
    /// The round-trip time that this ACK shows, if it shows one.
    pub rtt: Option<Duration>,
    /// The one-way delay of the packet that it acknowledges, where the receiver puts its clock into its ACKs.
    pub one_way: Option<Duration>,
    /// Congestion marks that it reports. For [`super::Control::grow`] 0 unless the control takes every mark.
    pub marks: u32,
}

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// All is well.
    Open,
    /// Duplicate ACKs or reports, too few to tell a loss.
    Disorder,
    /// The window comes down after congestion marks; nothing is lost.
    Reduction,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// The signal of a congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment was lost.
    Loss,
    /// A packet came through with a congestion mark.
    Mark,
    /// The retransmission timer fired.
    Timeout,
}

/// A congestion event: at most one a round trip.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// The kind of congestion signal.
    pub signal: Signal,
    /// When.
    pub now: Time,
    /// Bytes in flight.
    pub flight: f64,
    /// Bytes of a full segment.
    pub mss: f64,
    /// The window to reduce, if it is not the present one: of a second timeout that F-RTO doubts.
    pub cwnd: Option<f64>,
    /// The threshold is a whole number of segments.
    pub whole: bool,
    /// The control settles the window itself; otherwise recovery proposes it step by step.
    pub settles: bool,
}

impl Congestion {
    /// An event after which recovery proposes the window; a mark settles it.
    pub fn new(signal: Signal, now: Time, flight: f64, mss: f64) -> Congestion {
        Congestion { signal, now, flight, mss, cwnd: None, whole: false, settles: signal == Signal::Mark }
    }
}

/// Why a sender proposes a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A SYN was lost: one segment (RFC 5681 section 3.1).
    LostSyn,
    /// A step of fast recovery or of a reduction: PRR, rate halving, the threshold at once, or NewReno's
    /// inflation.
    Reduction,
    /// Fast recovery or a reduction is over.
    RecoveryEnd,
    /// A timeout: the loss window, or what F-RTO lets out.
    Timeout,
    /// A tail loss probe repaired a loss.
    ProbeRepair,
    /// Nothing was sent for a timeout, or the window was not used for one.
    Idle,
    /// A window so much larger than what is in flight would let out a burst.
    Burst,
}

/// A window that a sender proposes.
#[derive(Clone, Copy, Debug)]
pub enum Proposal {
    /// This one.
    Window {
        /// The window.
        window: Window,
        /// Why.
        cause: Cause,
    },
    /// A step of Linux's rate halving (`tcp_cwnd_down`).
    RateHalving {
        /// This ACK takes a segment off.
        step: bool,
        /// The largest window: what is in flight and a segment.
        most: f64,
        /// Bytes of a full segment.
        mss: f64,
    },
}

impl Proposal {
    /// The window becomes what is proposed; rate halving stops at `floor` bytes.
    #[inline]
    pub fn accept(&self, w: &mut Window, floor: f64) {
        match *self {
            Proposal::Window { window, .. } => *w = window,
            Proposal::RateHalving { step, most, mss } => {
                if step && w.cwnd > floor {
                    w.cwnd = (w.cwnd - mss).max(floor).max(mss);
                }
                w.cwnd = w.cwnd.min(most);
            }
        }
    }

    /// Half of the threshold in whole segments: where rate halving stops (Linux's `tcp_reno_min_cwnd`).
    #[inline]
    pub fn half_threshold(&self, w: &Window) -> f64 {
        match *self {
            Proposal::Window { .. } => 0.0,
            Proposal::RateHalving { mss, .. } => (w.ssthresh / mss / 2.0) as u64 as f64 * mss,
        }
    }
}

/// A congestion event that was spurious.
#[derive(Clone, Copy, Debug)]
pub struct Spurious {
    /// The window before the event.
    pub before: Window,
    /// The values to restore.
    pub to: UndoTo,
    /// Bytes of a full segment.
    pub mss: f64,
}

impl Spurious {
    /// Restores the window: as before, or to twice the threshold (Linux's `tcp_undo_cwr`).
    pub fn restore(&self, w: &mut Window) {
        let cwnd = match self.to {
            UndoTo::Before => self.before.cwnd,
            UndoTo::TwiceThreshold => 2.0 * w.ssthresh,
        };
        self.restore_to(w, cwnd);
    }

    /// Restores the threshold, and the window to at least `cwnd` bytes.
    pub fn restore_to(&self, w: &mut Window, cwnd: f64) {
        w.cwnd = w.cwnd.max(cwnd);
        w.ssthresh = w.ssthresh.max(self.before.ssthresh);
        if self.to == UndoTo::TwiceThreshold {
            w.ssthresh = w.ssthresh.max(three_quarters(self.before.cwnd, self.mss));
        }
    }
}

/// 3/4 of a window in whole segments, each quarter rounded down, in bytes.
pub(crate) fn three_quarters(cwnd: f64, mss: f64) -> f64 {
    let segments = (cwnd / mss) as u64;
    ((segments >> 1) + (segments >> 2)) as f64 * mss
}

/// The transmit record of a segment, written again with each retransmission (draft-ietf-ccwg-bbr-06 section
/// 4.1.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its first byte.
    pub seq: u64,
    /// Its bytes.
    pub len: u64,
    /// When it left (`P.send_time`).
    pub at: Time,
    /// Bytes delivered when it left (`P.delivered`).
    pub delivered: u64,
    /// When those were (`P.delivered_time`).
    pub delivered_at: Time,
    /// When the segment left that was the latest delivered one (`P.first_send_time`).
    pub first_sent: Time,
    /// The flow was application-limited (`P.is_app_limited`).
    pub application_limited: bool,
    /// Bytes in flight, the segment included (`P.tx_in_flight`).
    pub in_flight: u64,
    /// Bytes declared lost by then (`P.lost`).
    pub lost: u64,
    /// Congestion marks reported by then.
    pub marked: u64,
    /// A retransmission.
    pub again: bool,
}

/// Round-trip times of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The smoothed round-trip time, if there was a sample.
    pub smoothed: Option<Duration>,
    /// The least one.
    pub least: Option<Duration>,
}

/// The delivery rate that an ACK shows (draft-ietf-ccwg-bbr-06 section 4.1.2.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// When the ACK came.
    pub now: Time,
    /// Delivered and lost bytes of the connection (`C.delivered`, `C.lost`).
    pub total: (u64, u64),
    /// The record of the newest-sent segment that the ACK delivers: `RS.prior_delivered`, `RS.tx_in_flight`,
    /// `RS.is_app_limited`.
    pub packet: Option<Sent>,
    /// Bytes delivered since that segment left (`RS.delivered`).
    pub delivered: u64,
    /// Bytes lost since then (`RS.lost`).
    pub lost: u64,
    /// Bytes that the ACK newly delivers (`RS.newly_acked`).
    pub newly_acked: u64,
    /// Bytes that it newly shows to be lost (`RS.newly_lost`).
    pub newly_lost: u64,
    /// The longer of the send and ACK intervals; `None` where no rate follows, as of an interval shorter than
    /// the least round trip.
    pub interval: Option<Duration>,
    /// Bytes in flight after the ACK.
    pub in_flight: u64,
    /// The round-trip time of the newest-sent segment among those that the ACK delivers and that were sent once
    /// (`RS.rtt`).
    pub rtt: Option<Duration>,
    /// The round-trip times of the connection.
    pub path: Path,
    /// Congestion marks that the ACK reports.
    pub marks: u32,
    /// Marks reported since the newest-sent segment left.
    pub marked: u64,
}

impl RateSample {
    /// The delivery rate, bytes/s.
    pub fn rate(&self) -> Option<f64> {
        self.interval.map(|interval| self.delivered as i64 as f64 / (interval.0 as i64 as f64 / 1e9))
    }
}
