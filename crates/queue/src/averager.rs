//! UTEMA: the unbiased time-dependent exponential moving average of samples (Menth and Zeitler 2018, equations 6 to 9;
//! Menth and Hauser 2017).
//!
//! Both sums shrink by the same factor, so silence leaves the average where it was.

use evenflow_base::{Duration, Time};

/// Average of samples, weighted by count, fading with memory `M`.
#[derive(Clone, Copy, Debug)]
pub struct Averager {
    /// 1 / M in 1/s.
    per_second: f64,
    /// S, equation 6.
    sum: f64,
    /// N, equation 7.
    count: f64,
    /// t_last, equation 9.
    last: Time,
}

impl Averager {
    /// An average with no sample yet.
    pub fn new(memory: Duration) -> Averager {
        Averager { per_second: 1.0 / memory.seconds(), sum: 0.0, count: 0.0, last: Time::ZERO }
    }

    /// Adds a sample at `now` (equations 6, 7, 9).
    #[inline]
    pub fn add(&mut self, sample: f64, now: Time) {
        self.add_weighted(sample, 1.0, now);
    }

    /// Adds a sample that counts `weight` times; `sample` is the sum over that weight.
    #[inline]
    pub fn add_weighted(&mut self, sample: f64, weight: f64, now: Time) {
        let fade = libm::exp(-now.since(self.last).seconds() * self.per_second);
        self.sum = fade * self.sum + sample;
        self.count = fade * self.count + weight;
        self.last = now;
    }

    /// S / N (equation 8); `None` before the first sample.
    #[inline]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    #[test]
    fn equations_6_to_8_by_hand() {
        let mut a = Averager::new(Duration::from_seconds(0.3));
        assert_eq!(a.mean(), None);
        a.add(6.0, at(0.0));
        assert_eq!(a.mean(), Some(6.0));
        // One memory later the first sample weighs 1/e: (6/e + 9) / (1/e + 1) = 8.1931757...
        a.add(9.0, at(0.3));
        assert!((a.mean().unwrap() - 8.193_175_735_890_014).abs() < 1e-12, "{:?}", a.mean());
    }

    #[test]
    fn silence_leaves_the_average() {
        let mut a = Averager::new(Duration::from_seconds(0.3));
        a.add(-3.5, at(1.0));
        a.add(-3.5, at(500.0));
        assert_eq!(a.mean(), Some(-3.5));
    }

    #[test]
    fn samples_at_one_instant_weigh_alike() {
        let mut a = Averager::new(Duration::from_seconds(0.3));
        a.add(1.0, at(2.0));
        a.add(2.0, at(2.0));
        assert_eq!(a.mean(), Some(1.5));
    }
}
