//! CUBIC as Linux 3.2 has it (module version 2.3; Ben Ameur et al. 2016), hybrid slow start included.
//!
//! It counts ACKs, not packets: `cnt` is how many of them let the window grow by one, made smaller by the
//! mean number of packets an ACK covers. Jiffies of 4 ms (250 Hz), 1/1024 s for the curve, delays in eighths
//! of a millisecond, and a clock of 1 ms for hybrid slow start. Time without growth, idle or not, belongs to
//! the epoch. Symbols are the kernel's.

use evenflow_base::{Duration, Time};

use crate::congestion_control::hystart::{LOW_WINDOW, SAMPLES};
use crate::congestion_control::{Acked, Congestion, Control, Needs, Signal, Spurious, Window};
use crate::profile::{SlowStart, UndoTo};

use super::Shape;

/// Jiffies in a second (Debian 7).
pub const HZ: u64 = 250;

/// Jiffies between updates while the window does not change: HZ / 32.
const STILL: u64 = HZ / 32;

/// At most so many ACKs per packet before the first loss.
const FIRST: u64 = 20;

/// `delayed_ack` at the start: two packets per ACK, in sixteenths.
const TWO_PACKETS: u64 = 2 << 4;

/// ACKs so close, in ms, belong to one train (`hystart_ack_delta`).
const TRAIN_GAP: u64 = 2;

/// Minimum rise of a round's delay: 1/16 of the minimum delay, 4 to 16 ms, in 1/8 ms.
#[inline]
pub fn rise(delay_min: u64) -> u64 {
    (delay_min >> 4).clamp(4 << 3, 16 << 3)
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// `epoch_start`, jiffies.
    began: u64,
    /// `bic_K`, 1/1024 s.
    k: u64,
    /// `bic_origin_point`, packets.
    origin: u64,
    /// `tcp_cwnd`, packets.
    reno: u64,
    /// `ack_cnt`.
    acks: u64,
}

/// A round of hybrid slow start.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// An ACK beyond this ends it.
    end: u64,
    /// `round_start` and `last_ack`, ms.
    began: u64,
    train: u64,
    /// `curr_rtt`: least of the first samples, eighths of a millisecond.
    least: Option<u64>,
    samples: u32,
}

/// Curve and hybrid slow start.
#[derive(Clone, Copy, Debug)]
pub struct Linux3_2 {
    beta: u64,
    scale: u64,
    reno_eighths: u64,
    fast_convergence: bool,
    friendly: bool,
    hystart: bool,
    /// `last_max_cwnd`, 0 at first.
    last_max: u64,
    /// `loss_cwnd` is set.
    lost: bool,
    epoch: Option<Epoch>,
    /// `last_time` and `last_cwnd`.
    look: Option<(u64, u64)>,
    /// `cnt`.
    count: u64,
    /// `snd_cwnd_cnt`.
    credit: u64,
    /// `delayed_ack`, sixteenths.
    per_ack: u64,
    /// `delay_min`, eighths of a millisecond.
    delay_min: Option<u64>,
    found: bool,
    round: Round,
    /// The last ACK, ms.
    now: u64,
}

fn jiffies(time: Time) -> u64 {
    time.0 / (1_000_000_000 / HZ)
}

fn eighths(time: Duration) -> u64 {
    (time.0 / 1000 * 8 / 1000).max(1)
}

impl Linux3_2 {
    /// A fresh curve.
    pub(super) fn new(shape: &Shape, exit: SlowStart) -> Linux3_2 {
        let beta = libm::round(shape.beta * 1024.0) as u64;
        Linux3_2 {
            beta,
            scale: 10 * (libm::round(shape.c * 102.4) as u64).max(1),
            reno_eighths: 8 * (1024 + beta) / 3 / (1024 - beta),
            fast_convergence: shape.fast_convergence,
            friendly: shape.reno_friendly,
            hystart: exit == SlowStart::Hystart,
            last_max: 0,
            lost: false,
            epoch: None,
            look: None,
            count: 0,
            credit: 0,
            per_ack: TWO_PACKETS,
            delay_min: None,
            found: false,
            round: Round::default(),
            now: 0,
        }
    }

    fn look_for_an_exit(&mut self, delay: u64, least: u64) {
        let round = &mut self.round;
        if self.now.saturating_sub(round.train) <= TRAIN_GAP {
            round.train = self.now;
            // Half the least round trip, in ms.
            self.found = self.now.saturating_sub(round.began) > least >> 4;
        }
        if round.samples < SAMPLES {
            round.least = Some(round.least.map_or(delay, |known| known.min(delay)));
            round.samples += 1;
        } else if round.least.is_some_and(|lowest| lowest > least + rise(least)) {
            self.found = true;
        }
    }

    fn begin_round(&mut self, end: u64) {
        self.round = Round { end, began: self.now, train: self.now, least: None, samples: 0 };
    }

    fn update(&mut self, cwnd: u64, jiffy: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acks += 1;
        }
        if self.look.is_some_and(|(at, then)| then == cwnd && jiffy.saturating_sub(at) <= STILL) {
            return;
        }
        self.look = Some((jiffy, cwnd));
        let (last_max, scale) = (self.last_max, self.scale);
        let epoch = self.epoch.get_or_insert_with(|| {
            let cube = ((1u64 << 40) / scale).saturating_mul(last_max.saturating_sub(cwnd));
            let k = libm::cbrt(cube as f64) as u64;
            Epoch { began: jiffy, k, origin: last_max.max(cwnd), reno: cwnd, acks: 1 }
        });
        // The least delay in whole ms, then in jiffies, rounded up.
        let ahead = (self.delay_min.unwrap_or(0) >> 3).div_ceil(1000 / HZ);
        let t = (jiffy + ahead - epoch.began) * 1024 / HZ;
        let off = u128::from(t.abs_diff(epoch.k));
        let delta = ((u128::from(scale) * off * off * off) >> 40).min(u128::from(u32::MAX)) as u64;
        let target = if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin + delta };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if !self.lost {
            self.count = self.count.min(FIRST);
        }
        if self.friendly {
            let window = (cwnd * self.reno_eighths / 8).max(1);
            let grown = epoch.acks.saturating_sub(1) / window;
            epoch.acks -= grown * window;
            epoch.reno += grown;
            if epoch.reno > cwnd {
                self.count = self.count.min(cwnd / (epoch.reno - cwnd));
            }
        }
        self.count = (self.count * 16 / self.per_ack.max(1)).max(1);
    }

    /// ssthresh in packets.
    pub fn reduce(&mut self, cwnd: u64) -> u64 {
        self.epoch = None;
        self.credit = 0;
        let lower = cwnd < self.last_max && self.fast_convergence;
        self.last_max = if lower { cwnd * (1024 + self.beta) / 2048 } else { cwnd };
        self.lost = true;
        (cwnd * self.beta / 1024).max(2)
    }

    /// Everything is lost: all is as at the start; `next` is the next byte to be sent.
    pub fn lost_all(&mut self, next: u64) {
        (self.last_max, self.lost, self.epoch, self.look) = (0, false, None, None);
        (self.count, self.credit, self.per_ack) = (0, 0, TWO_PACKETS);
        (self.delay_min, self.found) = (None, false);
        self.begin_round(next);
    }

    /// The same within a round.
    pub fn forget(&mut self) {
        self.lost_all(self.round.end);
    }
}

impl Control for Linux3_2 {
    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..Needs::default() }
    }

    /// Every ACK of new data: the mean of what one covers, the least delay, and whether slow start ends.
    /// Delays of the first second of an epoch are not looked at.
    fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
        self.now = acked.now.0 / 1_000_000;
        if open {
            self.per_ack = self.per_ack - (self.per_ack >> 4) + acked.segments;
        }
        let Some(rtt) = acked.rtt else { return };
        if self.epoch.is_some_and(|epoch| jiffies(acked.now).saturating_sub(epoch.began) < HZ) {
            return;
        }
        let delay = eighths(rtt);
        let least = self.delay_min.map_or(delay, |least| least.min(delay));
        self.delay_min = Some(least);
        if self.hystart && !self.found && w.cwnd <= w.ssthresh && w.cwnd >= LOW_WINDOW * acked.mss {
            self.look_for_an_exit(delay, least);
            if self.found {
                w.ssthresh = w.cwnd;
            }
        }
    }

    /// Slow start below the threshold, the curve beyond.
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        if w.cwnd < w.ssthresh {
            if self.hystart && acked.una > self.round.end {
                self.begin_round(acked.next);
            }
            w.cwnd += acked.mss;
            return;
        }
        self.update((w.cwnd / acked.mss) as u64, jiffies(acked.now));
        if self.credit >= self.count {
            w.cwnd += acked.mss;
            self.credit = 0;
        } else {
            self.credit += 1;
        }
    }

    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        let ssthresh = self.reduce((w.cwnd / event.mss) as u64) as f64 * event.mss;
        if event.signal == Signal::Timeout {
            self.forget();
        }
        ssthresh
    }

    fn on_timeout_confirmed(&mut self, next: u64) {
        self.lost_all(next);
    }

    /// The window is the last maximum (`bictcp_undo_cwnd`).
    fn on_spurious_loss(&mut self, w: &mut Window, spurious: &Spurious) {
        match spurious.to {
            UndoTo::Before => spurious.restore(w),
            UndoTo::TwiceThreshold => spurious.restore_to(w, self.last_max as f64 * spurious.mss),
        }
    }

    /// K in seconds, W_max and Reno's window in packets.
    fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "k" => self.epoch.map(|epoch| epoch.k as f64 / 1024.0),
            "w_max" => (self.last_max > 0).then_some(self.last_max as f64),
            "w_est" => self.epoch.map(|epoch| epoch.reno as f64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;

    fn curve() -> Linux3_2 {
        Linux3_2::new(
            &Shape { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true },
            SlowStart::Hystart,
        )
    }

    fn ack(ms: u64, una: u64, next: u64, segments: u64, rtt_ms: u64) -> Acked {
        Acked {
            now: Time(ms * 1_000_000),
            una,
            next,
            bytes: 1000 * segments,
            segments,
            mss: MSS,
            flight: f64::INFINITY,
            rtt: Some(Duration::from_millis(rtt_ms)),
            one_way: None,
            marks: 0,
        }
    }

    #[test]
    fn the_threshold_and_fast_convergence() {
        let mut c = curve();
        assert_eq!(c.reno_eighths, 15);
        assert_eq!(c.reduce(107), 74); // 107 * 717 / 1024 = 74.9
        assert_eq!(c.reduce(100), 70);
        assert_eq!(c.last_max, 85); // 100 * 1741 / 2048
        assert_eq!(c.reduce(2), 2);
    }

    /// Before a loss a packet for 20 ACKs at most, at two packets per ACK for ten; one more ACK than `cnt`
    /// each time.
    #[test]
    fn before_a_loss_a_packet_for_cnt_and_one_more_acks() {
        let mut c = curve();
        let mut w = Window { cwnd: 100.0 * MSS, ssthresh: 50.0 * MSS };
        // K = 0 and t = 0: target 100 = cwnd, so 100 * 100, at most 20; 20 * 16 / 32 = 10.
        for _ in 0..10 {
            c.grow(&mut w, &ack(0, 0, 0, 1, 100));
        }
        assert_eq!((c.count, w.cwnd), (10, 100.0 * MSS));
        c.grow(&mut w, &ack(0, 0, 0, 1, 100));
        assert_eq!(w.cwnd, 101.0 * MSS);
    }

    /// After a loss at 100: 70. K = cbrt(2^40 / 410 * 30) = 4316. At once, with 100 ms of least delay, 25
    /// jiffies = 102: off 4214, delta 27 (27.9), target 73, cnt = 70 / 3 = 23, at two packets per ACK 11. The
    /// time of an OFF period counts: 5 s later, 1275 jiffies = 5222, off 906, delta 410 * 906^3 / 2^40 = 0:
    /// target 100, cnt 70 / 30 = 2, 1.
    #[test]
    fn idle_time_belongs_to_the_epoch() {
        let mut c = curve();
        let mut w = Window { cwnd: 70.0 * MSS, ssthresh: 50.0 * MSS };
        c.on_ack(&mut w, &ack(1000, 0, 0, 2, 100), true);
        assert_eq!(c.reduce(100), 70);
        c.grow(&mut w, &ack(10_000, 0, 0, 2, 100));
        assert_eq!(c.count, 11);
        c.grow(&mut w, &ack(15_000, 0, 0, 2, 100));
        assert_eq!(c.count, 1);
    }

    /// The curve is looked at after more than seven jiffies where the window stands, at once where it moved.
    #[test]
    fn the_curve_is_looked_at_now_and_then() {
        let mut c = curve();
        c.reduce(100);
        c.update(70, 0);
        c.count = 99;
        c.update(70, 7);
        assert_eq!(c.count, 99);
        c.update(70, 8);
        assert_ne!(c.count, 99);
        c.count = 99;
        c.update(71, 8);
        assert_ne!(c.count, 99);
    }

    /// Reno's window grows by one for more than 15/8 of 16 = 30 ACKs; it is then one ahead, cnt <= 16, at two
    /// packets per ACK 8.
    #[test]
    fn reno_is_the_least() {
        let mut c = curve();
        c.reduce(100);
        c.reduce(16);
        c.last_max = 0;
        for n in 0..31 {
            c.update(16, 8 * n);
        }
        assert_eq!(c.epoch.map(|e| (e.reno, e.acks)), Some((17, 1)));
        assert_eq!(c.count, 8);
    }

    /// The mean of packets per ACK: (32 - 2 + 1) = 31, 31 - 1 + 1 = 31; only where all is well.
    #[test]
    fn what_an_ack_covers_is_smoothed() {
        let mut c = curve();
        let mut w = Window { cwnd: 5.0 * MSS, ssthresh: f64::INFINITY };
        c.on_ack(&mut w, &ack(0, 0, 0, 1, 100), true);
        c.on_ack(&mut w, &ack(0, 0, 0, 1, 100), true);
        assert_eq!(c.per_ack, 31);
        c.on_ack(&mut w, &ack(0, 0, 0, 9, 100), false);
        assert_eq!(c.per_ack, 31);
    }

    /// Least 100 ms = 800; a rise is more than 800 / 16 = 50 eighths, 6.25 ms: 107 ms is (856), 106 ms is not
    /// (848). Eight samples make the round's least, the ninth ACK compares, whatever it says itself. ACKs 5
    /// ms apart are no train.
    #[test]
    fn a_rise_of_the_delay_ends_slow_start() {
        assert_eq!((rise(800), rise(100), rise(8000)), (50, 32, 128));
        for (rtt, rises) in [(107, true), (106, false)] {
            let mut c = curve();
            let mut w = Window { cwnd: 20.0 * MSS, ssthresh: f64::INFINITY };
            c.delay_min = Some(800);
            c.now = 1000;
            c.begin_round(90_000);
            for n in 1..=8 {
                c.on_ack(&mut w, &ack(1000 + 5 * n, 1, 90_000, 2, rtt), true);
                assert!(!c.found);
            }
            c.on_ack(&mut w, &ack(1045, 1, 90_000, 2, 100), true);
            assert_eq!((c.found, w.ssthresh == w.cwnd), (rises, rises), "{rtt} ms");
        }
    }

    /// ACKs 2 ms apart for more than half of 100 ms.
    #[test]
    fn a_train_of_acks_ends_slow_start() {
        let mut c = curve();
        let mut w = Window { cwnd: 20.0 * MSS, ssthresh: f64::INFINITY };
        c.delay_min = Some(800);
        c.now = 1000;
        c.begin_round(90_000);
        for n in 1..=25 {
            c.on_ack(&mut w, &ack(1000 + 2 * n, 1, 90_000, 2, 100), true);
            assert!(!c.found, "50 ms are not more than 50");
        }
        c.on_ack(&mut w, &ack(1052, 1, 90_000, 2, 100), true);
        assert!(c.found && w.ssthresh == 20.0 * MSS);
        // Below 16 packets nothing is looked for, and a timeout begins anew.
        c.lost_all(5);
        assert!(!c.found && c.round.end == 5 && c.delay_min.is_none());
        w = Window { cwnd: 15.0 * MSS, ssthresh: f64::INFINITY };
        c.on_ack(&mut w, &ack(1054, 1, 90_000, 2, 100), true);
        assert_eq!(c.round.samples, 0);
    }
}
