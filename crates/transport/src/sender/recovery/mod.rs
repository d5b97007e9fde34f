//! Loss recovery behind one trait: duplicate ACKs (RFC 5681, RFC 6582), the scoreboard (RFC 6675, with
//! RACK-TLP and PRR), Linux 3.2.
//!
//! A recovery detects losses and selects retransmissions. It reports congestion events to the congestion
//! control and proposes windows to it.

pub mod board;
mod duplicate_acks;
mod linux_3_2;
mod scoreboard;
mod selective;

use evenflow_base::{Packet, Report, Time};

use crate::Profile;
use crate::congestion_control::{Congestion, Needs, Signal};
use crate::profile::{LossDetection, WindowUse};

use self::board::Board;
use super::core::{Context, Core, Growth};
use super::{Recovery, Tally};

pub(super) use duplicate_acks::DuplicateAcks;
pub(super) use linux_3_2::Linux3_2;
pub(super) use scoreboard::Scoreboard;
pub(super) use selective::Selective;

/// A loss recovery. `c` is what the sender shares with it.
pub(super) trait LossRecovery {
    /// An ACK with its SACK option.
    fn on_ack(&mut self, c: &mut Core, ack: &Packet, report: &Report, x: &mut Context);

    /// The retransmission timer fired.
    fn on_timeout(&mut self, c: &mut Core, x: &mut Context);

    /// When [`LossRecovery::on_early_timer`] is due: a timer in addition to the retransmission timer.
    #[inline]
    fn early(&self) -> Time {
        Time::NEVER
    }

    /// The early timer fired.
    fn on_early_timer(&mut self, _c: &mut Core, _x: &mut Context) {}

    /// Sends what window and pacing let out.
    fn transmit(&mut self, c: &mut Core, x: &mut Context);

    /// After sending: timers in addition to the retransmission timer.
    #[inline]
    fn after_sending(&mut self, _c: &mut Core, _x: &Context) {}

    /// The scoreboard, with SACK.
    fn scoreboard(&self) -> Option<&Scoreboard> {
        None
    }

    /// The scoreboard, with SACK.
    fn scoreboard_mut(&mut self) -> Option<&mut Scoreboard> {
        None
    }

    /// Bytes believed to be in the network.
    fn in_flight(&self, _c: &Core, _profile: &Profile) -> f64 {
        self.scoreboard().map_or(0.0, |s| s.board.pipe() as f64)
    }

    /// Segments that were sent and not acknowledged.
    fn tally(&self, _c: &Core, _profile: &Profile) -> Tally {
        self.scoreboard().map_or(Tally::default(), Scoreboard::tally)
    }

    /// By how many segments the network is believed to reorder.
    fn reordering(&self, profile: &Profile) -> u32 {
        profile.cached_reordering.unwrap_or(profile.duplicate_threshold)
    }

    /// Congestion marks that an ACK reports. It newly covers `packets` segments and `bytes` bytes. The first
    /// mark of a round trip is a congestion event, unless the control takes every mark.
    #[inline(always)]
    fn congestion_marks(&mut self, c: &mut Core, ack: &Packet, packets: u32, bytes: u64, x: &Context) -> u32 {
        let marks = c.reported_marks(ack, packets);
        if marks > 0 {
            self.answer_marks(c, ack, marks, bytes, x);
        }
        marks
    }

    /// The same, where there are some. Not inlined, so that ACKs without marks do not pay for it.
    #[inline(never)]
    fn answer_marks(&mut self, c: &mut Core, ack: &Packet, marks: u32, bytes: u64, x: &Context) {
        c.marks.reported += u64::from(marks);
        let calm = matches!(c.state, Recovery::Open | Recovery::Disorder);
        let reduces = calm && ack.seq > c.marks.reduced_to && !c.needs.every_mark;
        if reduces {
            // RFC 3168 section 6.1.2: as for a loss, but without a retransmission. The window may decrease to
            // one segment.
            let mss = x.profile.segment();
            let flight = ((c.next - c.una) as f64).min(c.window().cwnd.max(mss));
            let scoreboard = self.scoreboard_mut().filter(|_| x.profile.reduction.is_gradual());
            let settles = scoreboard.is_none();
            let event = Congestion { settles, ..Congestion::new(Signal::Mark, x.now, flight, mss) };
            c.congestion_event(event, Signal::Mark, x);
            c.reduced();
            if let Some(scoreboard) = scoreboard {
                scoreboard.begin_reduction(c);
            }
        }
        if c.exposed.is_some() {
            c.hear_marks(marks, reduces, bytes, x.now, x.profile);
        }
    }

    /// The window after an ACK of new data outside recovery.
    #[inline(always)]
    fn grow(&self, c: &mut Core, news: Growth, marks: u32, x: &Context) {
        let w = c.window();
        let used = match (x.profile.window_validation, x.profile.window_used) {
            (false, _) => true,
            (true, WindowUse::Segment) => match self.scoreboard().filter(|_| x.profile.is_linux()) {
                Some(scoreboard) => scoreboard.window_was_used(c, x.profile),
                None => {
                    news.flight + x.profile.segment() > w.cwnd
                        || (w.cwnd < w.ssthresh && w.cwnd < 2.0 * news.flight)
                }
            },
            (true, WindowUse::Third) => c.third_is_used(self.reordering(x.profile), news.flight, x.profile),
        };
        if !used {
            return c.control.on_application_limited(x.now);
        }
        if marks > 0 && !c.needs.every_mark {
            return;
        }
        let acked = c.acked(&news, None, marks, x);
        if x.profile.slow_start_at_threshold && c.window().cwnd == c.window().ssthresh {
            return c.control.grow_at_threshold(&acked);
        }
        c.control.grow(&acked);
    }

    /// The handshake is over: metrics of earlier connections may have changed the profile.
    fn on_established(&mut self, _profile: &Profile) {}

    /// The connection is over: no timer runs.
    fn stop(&mut self) {}

    /// Bytes on the heap.
    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// The recovery of a sender, dispatched statically.
#[derive(Clone, Debug)]
pub(super) enum Algorithm {
    DuplicateAcks(DuplicateAcks),
    Selective(Box<Selective>),
    Linux3_2(Box<Linux3_2>),
}

/// Calls a method of [`LossRecovery`].
macro_rules! recovery {
    ($algorithm:expr, $recovery:ident => $call:expr) => {
        match $algorithm {
            $crate::sender::recovery::Algorithm::DuplicateAcks($recovery) => $call,
            $crate::sender::recovery::Algorithm::Selective($recovery) => $call,
            $crate::sender::recovery::Algorithm::Linux3_2($recovery) => $call,
        }
    };
}

pub(super) use recovery;

impl Algorithm {
    /// The profile's recovery.
    pub(super) fn new(profile: &Profile, needs: Needs) -> Algorithm {
        let mut board = Board::default();
        board.clear(needs.rate_samples);
        match (profile.sack, profile.loss_detection) {
            (false, _) => Algorithm::DuplicateAcks(DuplicateAcks::default()),
            (true, LossDetection::FackAdaptive) => {
                Algorithm::Linux3_2(Box::new(Linux3_2::new(board, profile)))
            }
            (true, _) => Algorithm::Selective(Box::new(Selective::new(board, profile))),
        }
    }

    /// The same from scratch, in the memory of the one before.
    pub(super) fn renew(&mut self, profile: &Profile, needs: Needs) {
        let board = |scoreboard: &mut Scoreboard| {
            let mut board = std::mem::take(&mut scoreboard.board);
            board.clear(needs.rate_samples);
            board
        };
        let linux = profile.loss_detection == LossDetection::FackAdaptive;
        match self {
            Algorithm::Selective(old) if profile.sack && !linux => {
                **old = Selective::new(board(&mut old.scoreboard), profile);
            }
            Algorithm::Linux3_2(old) if profile.sack && linux => {
                **old = Linux3_2::new(board(&mut old.scoreboard), profile);
            }
            old => *old = Algorithm::new(profile, needs),
        }
    }
}
