//! Network quality of the IETF from distributions of delay, where a histogram asks for the distribution.

use crate::measure::Durations;

/// Share of round trips that the trimmed mean of responsiveness keeps (draft-ietf-ippm-responsiveness-06).
const TRIMMED: f64 = 0.95;

/// Latency in s by share of packets: optimal, and unacceptable. The example of draft-ietf-ippm-qoo-10.
const LATENCY: [(f64, f64, f64); 2] = [(0.99, 0.2, 0.5), (0.999, 0.3, 0.6)];

/// Loss ratios, the same.
const LOSS: (f64, f64) = (0.01, 0.05);

/// Least throughput of a user, bit/s, the same.
const THROUGHPUT: f64 = 4e6;

/// Responsiveness in round trips per minute.
pub fn responsiveness(round_trips: &Durations) -> Option<f64> {
    Some(60.0 / round_trips.mean_of_shortest(TRIMMED)?)
}

/// Quality of Outcome in percent: the least of the scores of latency, loss and throughput.
pub fn outcome(delays: &Durations, loss_ratio: Option<f64>, throughput: f64) -> Option<f64> {
    let mut least = score(loss_ratio?, LOSS.0, LOSS.1);
    for (share, optimal, unacceptable) in LATENCY {
        least = least.min(score(delays.quantile(share)?, optimal, unacceptable));
    }
    Some(if throughput >= THROUGHPUT { least } else { 0.0 })
}

/// 100 at or below the optimal value, 0 from the unacceptable one on, linear in between.
fn score(measured: f64, optimal: f64, unacceptable: f64) -> f64 {
    100.0 * (1.0 - (measured - optimal) / (unacceptable - optimal)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::Duration;

    fn of(list: &[(u64, u64)]) -> Durations {
        let mut all = Durations::default();
        for (count, ms) in list {
            (0..*count).for_each(|_| all.add(Duration::from_millis(*ms)));
        }
        all
    }

    /// The example of draft-ietf-ippm-qoo-10: 350 ms at 99 %, 375 ms at 99.9 %, 2 % loss, 28 Mbit/s.
    #[test]
    fn the_example_of_the_draft() {
        let delays = of(&[(980, 100), (15, 350), (5, 375)]);
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1.0;
        assert!(close(outcome(&delays, Some(0.02), 28e6), 50.0), "{:?}", outcome(&delays, Some(0.02), 28e6));
        assert!(close(outcome(&of(&[(1000, 100)]), Some(0.02), 28e6), 75.0));
        assert_eq!(outcome(&delays, Some(0.02), 3e6), Some(0.0));
        assert_eq!(outcome(&delays, Some(0.05), 28e6), Some(0.0));
        assert_eq!(outcome(&of(&[]), Some(0.0), 28e6), None);
        assert_eq!(outcome(&delays, None, 28e6), None);
    }

    /// 60 s over the mean of the shortest 95 %.
    #[test]
    fn the_longest_round_trips_do_not_count() {
        let found = responsiveness(&of(&[(950, 40), (50, 4000)])).unwrap();
        assert!((found / 1500.0 - 1.0).abs() < 0.008, "{found}");
        assert_eq!(responsiveness(&of(&[])), None);
    }
}
