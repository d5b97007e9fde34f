//! CUBIC in the integer arithmetic of a current Linux kernel.
//!
//! Units are packets, jiffies and 1/1024 s. The target gives `cnt`, the acknowledged packets per increase of
//! the window. It is updated at most once per jiffy, and every 31 jiffies while the window does not change.
//! Symbols are the kernel's.

use evenflow_base::{Duration, Time};

use crate::congestion_control::{Acked, Congestion, Control, Signal, Window};

use super::{Shape, SlowStart};

/// Jiffies in a second: CONFIG_HZ, which a distribution chooses; 1000 is the finest there is.
pub const HZ: u64 = 1000;

/// Jiffies between updates while the window does not change: HZ / 32.
const STILL: u64 = HZ / 32;

/// Differences between kernel modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// The growth of a window whose limit is not known yet: a packet for this many acknowledged.
    first: u64,
    /// Growth is at most a packet for this many acknowledged.
    steepest: u64,
    /// Beyond the plateau, at most this many packets in 100 ms.
    most: Option<u64>,
    /// Sixteenths of a packet that an ACK is taken for.
    ratio: u64,
    /// It counts ACKs, whatever they cover, and the one after `cnt` of them opens the window; `first` holds
    /// whatever the curve says, which is looked at again each time the window moved.
    by_acks: bool,
}

/// A current kernel: at first 5 % per round trip, at most half a window.
pub const TODAY: Module = Module { first: 20, steepest: 2, most: None, ratio: 16, by_acks: false };

/// Linux 2.6.22, as in ns-2.35 (Sanhaji 2015). Its mean of packets per ACK starts at two and converges to
/// 31/16 with one ACK per packet. Growth is nearly twice that of the cubic function.
pub const OF_2_6_22: Module = Module { first: 50, steepest: 1, most: Some(16), ratio: 31, by_acks: true };

/// State of an epoch.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began.
    began: Time,
    /// `bic_K`, 1/1024 s.
    k: u64,
    /// `bic_origin_point`, packets.
    origin: u64,
    /// `tcp_cwnd`: Reno's window, packets.
    reno: u64,
    /// `ack_cnt`: packets acknowledged that Reno has not counted.
    acked: u64,
}

/// The last look at the curve.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Jiffy.
    at: u64,
    /// The window then, packets.
    cwnd: u64,
}

/// The curve's state.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    module: Module,
    /// `beta`, of 1024.
    beta: u64,
    /// C as `cube_rtt_scale`: 1024 C.
    scale: u64,
    /// `beta_scale`: eighths of a window for which Reno grows by one.
    reno_eighths: u64,
    /// `last_max_cwnd`, packets.
    last_max: Option<u64>,
    epoch: Option<Epoch>,
    look: Option<Look>,
    /// `cnt`.
    count: u64,
    /// `snd_cwnd_cnt`: packets acknowledged since the window last grew.
    credit: u64,
}

impl Curve {
    /// A fresh curve.
    pub fn new(shape: &Shape, module: Module) -> Curve {
        let beta = libm::round(shape.beta * 1024.0) as u64;
        Curve {
            module,
            beta,
            scale: 10 * (libm::round(shape.c * 102.4) as u64).max(1),
            reno_eighths: 8 * (1024 + beta) / 3 / (1024 - beta),
            last_max: None,
            epoch: None,
            look: None,
            count: 0,
            credit: 0,
        }
    }

    /// When the epoch began.
    pub fn began(&self) -> Option<Time> {
        self.epoch.map(|epoch| epoch.began)
    }

    /// The application was idle: the epoch is shifted by that time.
    pub fn shift(&mut self, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began += idle;
        }
    }

    /// By how many packets a window of `cwnd` grows when `acked` packets are acknowledged.
    pub fn grow(&mut self, cwnd: u64, acked: u64, now: Time, least: Option<Duration>, friendly: bool) -> u64 {
        if self.module.by_acks {
            self.update(cwnd, 1, now, least, friendly);
            let full = self.credit >= self.count;
            self.credit = if full { 0 } else { self.credit + 1 };
            return u64::from(full);
        }
        self.update(cwnd, acked, now, least, friendly);
        let mut steps = 0;
        if self.credit >= self.count {
            // Credit gathered on a flatter stretch is worth one packet, no more.
            self.credit = 0;
            steps += 1;
        }
        self.credit += acked;
        steps += self.credit / self.count;
        self.credit %= self.count;
        steps
    }

    /// Looks at the curve where it is time to.
    fn update(&mut self, cwnd: u64, acked: u64, now: Time, least: Option<Duration>, friendly: bool) {
        let jiffy = jiffies(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        if self.look.is_some_and(|look| look.cwnd == cwnd && jiffy.saturating_sub(look.at) <= STILL) {
            return;
        }
        let same_jiffy = self.look.is_some_and(|look| look.at == jiffy);
        let looked = self.epoch.is_some() && same_jiffy && !self.module.by_acks;
        let last_max = self.last_max;
        let (scale, module) = (self.scale, self.module);
        let epoch = self.epoch.get_or_insert_with(|| {
            let top = last_max.filter(|top| *top > cwnd);
            let k = top.map_or(0, |top| {
                let cube = (1u64 << 40) / scale * (top - cwnd);
                libm::cbrt(cube as f64) as u64
            });
            Epoch { began: now, k, origin: top.unwrap_or(cwnd), reno: cwnd, acked }
        });
        if !looked {
            self.look = Some(Look { at: jiffy, cwnd });
            let jiffies = jiffy.saturating_sub(jiffies(epoch.began)) + least.map_or(0, jiffies_up);
            let t = jiffies * 1024 / HZ;
            let off = u128::from(t.abs_diff(epoch.k));
            let delta = ((u128::from(scale) * off * off * off) >> 40).min(u128::from(u32::MAX)) as u64;
            let target = if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin + delta };
            self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if let (Some(most), Some(least)) = (module.most, least)
                && t >= epoch.k
            {
                let round = (least.0 / 1_000_000).max(1);
                self.count = self.count.max(cwnd * 100 / (most * round));
            }
            if last_max.is_none() {
                self.count = if module.by_acks { module.first } else { self.count.min(module.first) };
            }
        }
        if friendly {
            let window = (cwnd * self.reno_eighths / 8).max(1);
            // As many as leave at least one to be counted.
            let grown = epoch.acked.saturating_sub(1) / window;
            epoch.acked -= grown * window;
            epoch.reno += grown;
            if epoch.reno > cwnd {
                self.count = self.count.min(cwnd / (epoch.reno - cwnd));
            }
        }
        self.count = (self.count * 16 / module.ratio).max(module.steepest);
    }

    /// The threshold in packets: the share `beta` of the window, at least two.
    pub fn reduce(&mut self, cwnd: u64, fast_convergence: bool) -> u64 {
        self.epoch = None;
        self.credit = 0;
        self.last_max = Some(match self.last_max {
            Some(top) if cwnd < top && fast_convergence => cwnd * (1024 + self.beta) / 2048,
            _ => cwnd,
        });
        (cwnd * self.beta / 1024).max(2)
    }

    /// A timeout forgets the curve.
    pub fn forget(&mut self) {
        (self.last_max, self.epoch, self.look) = (None, None, None);
        (self.count, self.credit) = (0, 0);
    }

    /// K in seconds, W_max and Reno's window in packets.
    pub fn observe(&self, name: &str) -> Option<f64> {
        match name {
            "k" => self.epoch.map(|epoch| epoch.k as f64 / 1024.0),
            "w_max" => self.last_max.map(|top| top as f64),
            "w_est" => self.epoch.map(|epoch| epoch.reno as f64),
            _ => None,
        }
    }
}

/// The control.
#[derive(Clone, Debug)]
pub struct Linux {
    shape: Shape,
    curve: Curve,
    start: SlowStart,
}

impl Linux {
    /// With a module's curve.
    pub(super) fn new(shape: &Shape, module: Module, start: SlowStart) -> Linux {
        Linux { shape: *shape, curve: Curve::new(shape, module), start }
    }
}

impl Control for Linux {
    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        self.start.sample(acked, self.curve.began());
        let mut bytes = acked.segments as f64 * acked.mss;
        if w.cwnd < w.ssthresh {
            bytes -= self.start.grow(w, acked, bytes);
        }
        if bytes > 0.0 && w.cwnd >= w.ssthresh {
            let (cwnd, segments) = ((w.cwnd / acked.mss) as u64, (bytes / acked.mss) as u64);
            let (least, friendly) = (self.start.least, self.shape.reno_friendly);
            w.cwnd += self.curve.grow(cwnd, segments, acked.now, least, friendly) as f64 * acked.mss;
        }
    }

    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        self.start.on_congestion_event(event.signal);
        let packets = (w.cwnd / event.mss) as u64;
        let ssthresh = self.curve.reduce(packets, self.shape.fast_convergence) as f64 * event.mss;
        if event.signal == Signal::Timeout {
            self.curve.forget();
            self.start.least = None;
        }
        ssthresh
    }

    /// The curve does not count idle time.
    fn on_idle_restart(&mut self, idle: Duration) {
        self.curve.shift(idle);
    }

    fn observe(&self, name: &str) -> Option<f64> {
        self.curve.observe(name)
    }
}

fn jiffies(time: Time) -> u64 {
    time.0 / (1_000_000_000 / HZ)
}

fn jiffies_up(time: Duration) -> u64 {
    time.0.div_ceil(1_000_000_000 / HZ)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        Curve::new(&Shape { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true }, TODAY)
    }

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn the_kernels_whole_numbers() {
        let c = curve();
        // 717/1024, 41 * 10, 8 * 1741 / 3 / 307.
        assert_eq!((c.beta, c.scale, c.reno_eighths), (717, 410, 15));
    }

    #[test]
    fn the_threshold_is_717_of_1024_and_two_at_least() {
        let mut c = curve();
        assert_eq!(c.reduce(100, true), 70); // 70.02
        assert_eq!(c.last_max, Some(100));
        assert_eq!(c.reduce(2, true), 2); // 1.4
    }

    #[test]
    fn fast_convergence_takes_less_than_the_window_as_the_top() {
        let mut c = curve();
        c.reduce(100, true);
        c.reduce(90, true);
        assert_eq!(c.last_max, Some(76)); // 90 * 1741 / 2048 = 76.5
        c.reduce(100, true);
        c.reduce(90, false);
        assert_eq!(c.last_max, Some(90));
    }

    #[test]
    fn k_and_the_first_steps_of_an_epoch_by_hand() {
        let mut c = curve();
        assert_eq!(c.reduce(100, true), 70);
        // K = cbrt(2^40 / 410 * 30) = cbrt(80452070310) = 4316.97 of 1024, that is 4.216 s. t = 100 jiffies
        // of least delay = 102; offs = 4214; delta = 410 * 4214^3 / 2^40 = 27.9; target 100 - 27 = 73. cnt =
        // 70 / 3 = 23.
        let ms = |x| Some(Duration::from_millis(x));
        assert_eq!(c.grow(70, 1, at(5000), ms(100), false), 0);
        assert_eq!(c.epoch.map(|e| (e.k, e.origin)), Some((4316, 100)));
        assert_eq!(c.count, 23);
        assert_eq!(c.grow(70, 21, at(5001), ms(100), false), 0);
        assert_eq!(c.grow(70, 1, at(5002), ms(100), false), 1);
    }

    #[test]
    fn the_plateau_is_flat_and_steep_growth_is_bounded() {
        let mut c = curve();
        c.reduce(100, true);
        c.grow(70, 1, at(5000), None, false);
        // At K, 4316 / 1024 s later: target = 100; a window of 100 there grows by one in 100 windows.
        c.grow(100, 1, at(5000 + 4215), None, false);
        assert_eq!(c.count, 10_000);
        // Twenty seconds beyond K: the target is 3200 packets above; two ACKs per packet.
        c.grow(100, 1, at(5000 + 24_215), None, false);
        assert_eq!(c.count, 2);
    }

    #[test]
    fn without_a_limit_known_the_window_grows_by_a_twentieth() {
        let mut c = curve();
        assert_eq!(c.grow(50, 1, at(1), None, false), 0);
        assert_eq!(c.count, 20);
        c.reduce(50, true);
        c.forget();
        c.grow(10, 1, at(2), None, false);
        assert_eq!((c.count, c.last_max), (20, None));
    }

    /// Linux 2.6.22: from 3 to 2, the target is 3 and cnt 2 * 16 / 31 = 1, so that the second ACK opens the
    /// window. Before a loss cnt is 50 * 16 / 31 = 25, however steep the curve.
    #[test]
    fn the_module_of_ns2_counts_one_ack_more() {
        let new = || {
            let shape = Shape { c: 0.4, beta: 819.0 / 1024.0, fast_convergence: true, reno_friendly: false };
            Curve::new(&shape, OF_2_6_22)
        };
        let least = Some(Duration::from_millis(100));
        let mut c = new();
        assert_eq!(c.reduce(3, true), 2); // 2.4
        let steps: Vec<u64> = (0..4).map(|n| c.grow(2, 1, at(5000 + n), least, false)).collect();
        assert_eq!((steps, c.count), (vec![0, 1, 0, 1], 1));
        let mut c = new();
        let steps: Vec<u64> = (0..26).map(|n| c.grow(2, 1, at(1000 * n), least, false)).collect();
        assert_eq!((steps.iter().sum::<u64>(), steps[25]), (1, 1));
        // An ACK of several packets is one ACK.
        assert_eq!(c.grow(2, 25, at(30_000), least, false), 0);
    }

    #[test]
    fn reno_friendliness_counts_fifteen_eighths_of_a_window() {
        let mut c = curve();
        c.reduce(20, true);
        c.grow(14, 1, at(0), None, true);
        // 14 * 15 / 8 = 26: with the 27th packet Reno has 15, one more than the window, and cnt is 14 / 1.
        c.grow(14, 25, at(40), None, true);
        assert_eq!(c.observe("w_est"), Some(14.0));
        c.grow(14, 1, at(80), None, true);
        assert_eq!((c.observe("w_est"), c.count), (Some(15.0), 14));
    }

    #[test]
    fn a_still_window_is_looked_at_after_31_jiffies() {
        let mut c = curve();
        c.reduce(1000, true);
        c.grow(700, 1, at(0), None, false);
        let first = c.count;
        c.grow(700, 1, at(31), None, false);
        assert_eq!(c.count, first);
        c.grow(700, 1, at(32), None, false);
        assert_eq!(c.look.map(|l| l.at), Some(32));
        // A window that moved is looked at in the next jiffy.
        c.grow(701, 1, at(33), None, false);
        assert_eq!(c.look.map(|l| l.at), Some(33));
    }

    #[test]
    fn credit_of_a_flat_stretch_is_worth_one_packet() {
        let mut c = curve();
        c.count = 1000;
        c.credit = 900;
        c.look = Some(Look { at: 0, cwnd: 50 });
        c.epoch = Some(Epoch { began: at(0), k: 0, origin: 50, reno: 50, acked: 0 });
        // Ten seconds on the curve is steep: cnt 2. 900 packets of credit give one packet; two more give
        // another.
        assert_eq!(c.grow(50, 2, at(10_000), None, false), 2);
        assert_eq!(c.credit, 0);
    }
}
