//! Named random streams and version-frozen samplers.
//!
//! A stream's key is the seed and a name: component, group / user / flow, purpose. It never depends on the
//! scenario's other parts, so the exogenous draws of two runs that differ in a queue are the same.
//! The generator is PCG MCG-XSL-RR 128/64 (O'Neill 2014, section 6.3.3) from `rand_pcg`, whose output is promised to be
//! stable. The samplers are written here, because those of other crates may change; golden values below freeze them.

use rand_core::Rng;
use rand_pcg::Mcg128Xsl64;

/// One named stream of random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    generator: Mcg128Xsl64,
    #[cfg(feature = "scripted")]
    script: Option<std::collections::VecDeque<f64>>,
}

/// FNV-1a over bytes, then the finaliser of SplitMix64 (Steele, Lea, Flood 2014), so that near names are far apart.
fn digest(bytes: &[u8], mut hash: u64) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(hash)
}

/// A number for `name` by which it can be hashed: the same in every run.
pub fn key_of(name: &str) -> u64 {
    digest(name.as_bytes(), 0xcbf2_9ce4_8422_2325)
}

/// A hash of `key` that another `salt` changes altogether.
#[inline]
pub fn salted(key: u64, salt: u64) -> u64 {
    mix(key ^ salt)
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of `name` (for example `"groups.light/3/0/start"`) under `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        let low = digest(name.as_bytes(), 0xcbf2_9ce4_8422_2325 ^ mix(seed));
        let high = digest(name.as_bytes(), 0x9e37_79b9_7f4a_7c15 ^ mix(seed.wrapping_add(1)));
        Stream {
            generator: Mcg128Xsl64::new((u128::from(high) << 64) | u128::from(low)),
            #[cfg(feature = "scripted")]
            script: None,
        }
    }

    /// For tests: these numbers in order, and no other.
    #[cfg(feature = "scripted")]
    pub fn scripted(numbers: impl IntoIterator<Item = f64>) -> Stream {
        Stream { script: Some(numbers.into_iter().collect()), ..Stream::new(0, "") }
    }

    /// How many numbers of a script are left.
    #[cfg(feature = "scripted")]
    pub fn left(&self) -> usize {
        self.script.as_ref().map_or(0, std::collections::VecDeque::len)
    }

    /// Uniform on the open interval (0, 1): never 0, never 1.
    #[inline]
    pub fn open01(&mut self) -> f64 {
        #[cfg(feature = "scripted")]
        if let Some(script) = &mut self.script {
            return script.pop_front().expect("more numbers were drawn than written down");
        }
        // 2^52 equal cells, the middle of one of them.
        ((self.generator.next_u64() >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0)
    }

    /// Uniform between `low` and `high`.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.open01()
    }

    /// Exponential with the given mean, by inversion.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.open01())
    }

    /// Normal, by inversion of the distribution function (Acklam's rational approximation, relative error below 1.2e-9).
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * inverse_normal(self.open01())
    }

    /// Gamma distribution with the given mean and shape, by rejection (Marsaglia and Tsang, ACM TOMS 26(3),
    /// 2000). Below shape 1, as in their section 6: a draw of shape + 1 times u^(1/shape).
    pub fn gamma(&mut self, mean: f64, shape: f64) -> f64 {
        let scale = mean / shape;
        if shape < 1.0 {
            let rest = self.unit_gamma(shape + 1.0);
            return scale * rest * libm::pow(self.open01(), 1.0 / shape);
        }
        scale * self.unit_gamma(shape)
    }

    /// Gamma with scale 1 and a shape of at least 1.
    fn unit_gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal(0.0, 1.0);
            let t = 1.0 + c * x;
            if t <= 0.0 {
                continue;
            }
            let v = t * t * t;
            if libm::log(self.open01()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }

    /// Pareto with the given least value and shape, by inversion.
    pub fn pareto(&mut self, least: f64, shape: f64) -> f64 {
        least * libm::pow(self.open01(), -1.0 / shape)
    }

    /// Lognormal: `mean` is that of the draws, `sigma` the standard deviation of their natural logarithms.
    pub fn lognormal(&mut self, mean: f64, sigma: f64) -> f64 {
        mean * libm::exp(self.normal(-0.5 * sigma * sigma, sigma))
    }

    /// A uniform whole number of 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }
}

/// The quantile `p` of the standard normal distribution.
pub fn inverse_normal(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let tail = |q: f64| {
        (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5])
            / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0)
    };
    if p < 0.02425 {
        return tail((-2.0 * libm::log(p)).sqrt());
    }
    if p > 1.0 - 0.02425 {
        return -tail((-2.0 * libm::log1p(-p)).sqrt());
    }
    let q = p - 0.5;
    let r = q * q;
    (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q
        / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_and_name_only() {
        let first = |seed, name: &str| Stream::new(seed, name).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }

    #[test]
    fn exponential_has_its_mean_and_variance() {
        let mut s = Stream::new(1, "test");
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = s.exponential(2.0);
            assert!(x > 0.0);
            sum += x;
            squares += x * x;
        }
        let mean = sum / n as f64;
        let variance = squares / n as f64 - mean * mean;
        // Five standard errors: 5 * 2 / sqrt(2e5) = 0.022; variance of the variance estimate is 8 sigma^4 / n.
        assert!((mean - 2.0).abs() < 0.022, "{mean}");
        assert!((variance - 4.0).abs() < 0.13, "{variance}");
    }

    /// Mean and variance of `n` draws.
    fn moments(n: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) - mean * mean)
    }

    #[test]
    fn gamma_has_its_mean_and_variance_on_both_sides_of_shape_one() {
        let n = 200_000;
        for shape in [0.3, 0.5, 1.0, 2.0, 7.5, 1000.0] {
            let mut s = Stream::new(1, "gamma");
            let (mean, variance) = moments(n, || s.gamma(6.0, shape));
            // Variance mean^2 / shape; excess kurtosis 6 / shape, so a variance estimate has the relative variance
            // (2 + 6 / shape) / n. Five standard errors.
            let exact = 36.0 / shape;
            assert!((mean - 6.0).abs() < 5.0 * (exact / f64::from(n)).sqrt(), "{shape}: {mean}");
            let error = 5.0 * ((2.0 + 6.0 / shape) / f64::from(n)).sqrt();
            assert!((variance / exact - 1.0).abs() < error, "{shape}: {variance}");
        }
    }

    /// The largest distance between the empirical and the exact distribution function of draws (Kolmogorov).
    fn distance(mut draws: Vec<f64>, exact: impl Fn(f64) -> f64) -> f64 {
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        let of = |(i, x): (usize, &f64)| {
            let p = exact(*x);
            (p - i as f64 / n).abs().max((p - (i + 1) as f64 / n).abs())
        };
        draws.iter().enumerate().map(of).fold(0.0, f64::max)
    }

    /// Kolmogorov's critical value at a level of one in a million: sqrt(ln(2e6) / 2n).
    fn critical(n: usize) -> f64 {
        (libm::log(2e6) / (2.0 * n as f64)).sqrt()
    }

    #[test]
    fn draws_follow_their_distribution_functions() {
        let n = 100_000;
        let draws = |of: &dyn Fn(&mut Stream) -> f64| {
            let mut s = Stream::new(2, "laws");
            (0..n).map(|_| of(&mut s)).collect::<Vec<f64>>()
        };
        // Gamma of shape 2 is the sum of two exponential draws, of shape 1/2 the square of a normal one.
        let two = |x: f64| 1.0 - libm::exp(-x) * (1.0 + x);
        assert!(distance(draws(&|s| s.gamma(2.0, 2.0)), two) < critical(n));
        let half = |x: f64| libm::erf(x.sqrt());
        assert!(distance(draws(&|s| s.gamma(0.5, 0.5)), half) < critical(n));
        let pareto = |x: f64| 1.0 - libm::pow(3.0 / x, 1.5);
        assert!(distance(draws(&|s| s.pareto(3.0, 1.5)), pareto) < critical(n));
        let lognormal = |x: f64| 0.5 * libm::erfc(-(libm::log(x) + 0.32) / (0.8 * std::f64::consts::SQRT_2));
        assert!(distance(draws(&|s| s.lognormal(1.0, 0.8)), lognormal) < critical(n));
    }

    #[test]
    fn pareto_and_lognormal_have_their_means() {
        let n = 200_000;
        // Pareto of mean 10 and shape 3: least 20 / 3, variance least^2 * 3 / (4 * 1) = 100 / 3.
        let mut s = Stream::new(3, "pareto");
        let (mean, _) = moments(n, || s.pareto(20.0 / 3.0, 3.0));
        assert!((mean - 10.0).abs() < 5.0 * (100.0 / 3.0 / f64::from(n)).sqrt(), "{mean}");
        // Lognormal of sigma 1: variance mean^2 (e - 1).
        let (mean, _) = moments(n, || s.lognormal(10.0, 1.0));
        assert!((mean - 10.0).abs() < 5.0 * (171.83 / f64::from(n)).sqrt(), "{mean}");
    }

    #[test]
    fn extreme_shapes_stay_numbers() {
        let mut s = Stream::new(4, "extremes");
        for _ in 0..10_000 {
            for x in
                [s.gamma(1.0, 0.01), s.gamma(1.0, 1e6), s.pareto(1e-9, 1.0 + 1e-9), s.lognormal(1.0, 10.0)]
            {
                assert!(x >= 0.0 && x.is_finite(), "{x}");
            }
        }
    }

    #[test]
    fn normal_quantiles_are_the_tabulated_ones() {
        assert!((inverse_normal(0.975) - 1.959_963_984_540_054).abs() < 1e-8);
        assert!((inverse_normal(0.5)).abs() < 1e-12);
        assert!((inverse_normal(0.001) + 3.090_232_306_167_813).abs() < 1e-8);
    }

    /// What [`crate::schema::Law::extremes`] counts on.
    #[test]
    fn no_draw_is_beyond_the_extremes_of_its_law() {
        use crate::schema::{Law, Value};
        let nearest = 1.0 / 9_007_199_254_740_992.0;
        assert!(inverse_normal(nearest) > -8.21 && inverse_normal(nearest) < -8.2);
        assert!(inverse_normal(1.0 - nearest) < 8.21);
        let one = |x| Box::new(Value::Number(x));
        let mut laws = vec![
            Law::Uniform(one(2.0), one(3.0)),
            Law::Normal(one(1.0), one(0.5)),
            Law::Normal(one(9.0), one(0.5)),
            Law::Exponential(one(4.0)),
            Law::Dealt(vec![Value::Number(3.0), Value::Number(1.0)]),
        ];
        for shape in [0.01, 0.5, 1.0, 1.2, 30.0] {
            laws.push(Law::Gamma(one(2.0), shape));
            laws.push(Law::Pareto(one(2.0), shape + 1.0));
            laws.push(Law::Lognormal(one(2.0), shape / 10.0));
        }
        for law in laws {
            let (least, most) = law.extremes();
            let mut s = Stream::new(7, "x");
            for i in 0..20_000 {
                let x = law.draw(&mut s, i).number().expect("a number");
                assert!(least <= x && x <= most, "{law:?}: {x} is not between {least} and {most}");
            }
        }
    }

    #[test]
    fn open01_is_open() {
        let mut s = Stream::new(7, "x");
        for _ in 0..100_000 {
            let x = s.open01();
            assert!(x > 0.0 && x < 1.0);
        }
    }

    #[test]
    fn golden_values_freeze_the_generator_and_its_samplers() {
        let mut s = Stream::new(1, "golden");
        let drawn = (s.bits(), s.open01(), s.exponential(1.0), s.normal(0.0, 1.0));
        assert_eq!(format!("{drawn:?}"), include_str!("../golden/random.txt").trim());
    }

    #[test]
    fn golden_values_freeze_the_laws_with_a_shape() {
        let mut s = Stream::new(1, "golden laws");
        let mut three = |draw: fn(&mut Stream) -> f64| [draw(&mut s), draw(&mut s), draw(&mut s)];
        let drawn = [
            three(|s| s.gamma(1.0, 0.3)),
            three(|s| s.gamma(1.0, 1.0)),
            three(|s| s.gamma(1.0, 4.5)),
            three(|s| s.pareto(1.0, 1.2)),
            three(|s| s.lognormal(1.0, 2.0)),
        ];
        assert_eq!(format!("{drawn:?}"), include_str!("../golden/laws.txt").trim());
    }
}
