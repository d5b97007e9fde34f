//! One process by which flows arrive, shared by groups of users.
//!
//! Each arrival goes to a group by its share, then to one of its users, each as likely. The gaps and whom they meet are drawn
//! from two streams: other shares leave the instants as they are.

use evenflow_base::schema::{Sampler, Value};
use evenflow_base::{Stream, Time};

/// The process.
#[derive(Clone, Debug)]
pub struct Arrivals {
    gaps: Sampler,
    gap: Stream,
    who: Stream,
    /// Draws so far.
    count: usize,
    /// Of each share: where it ends on [0, 1], and how many users have it.
    shares: Vec<(f64, u32)>,
    /// Exact instant of the last arrival, so that constant gaps do not drift.
    clock: f64,
    until: Time,
}

impl Arrivals {
    /// Arrivals `interval` apart, for shares (which add up to 1) of groups with these numbers of users.
    pub fn new(interval: &Value, gap: Stream, who: Stream, shares: &[(f64, u32)]) -> Arrivals {
        let gaps = interval.sampler(1.0);
        let mut sum = 0.0;
        let ends = shares.iter().map(|(share, users)| {
            sum += share;
            (sum, *users)
        });
        let shares = ends.collect();
        Arrivals { gaps, gap, who, count: 0, shares, clock: 0.0, until: Time::NEVER }
    }

    /// None comes at this instant or later.
    pub fn until(&mut self, at: Time) {
        self.until = at;
    }

    /// Starts the clock: the first arrival comes one gap later.
    pub fn start(&mut self, now: Time) {
        self.clock = now.seconds();
    }

    /// On to the next arrival: when it comes; [`Time::NEVER`], if there is none.
    pub fn advance(&mut self) -> Time {
        self.clock += self.gaps.draw(&mut self.gap, self.count);
        self.count += 1;
        let at = Time::from_seconds(self.clock);
        if at < self.until && !self.shares.is_empty() { at } else { Time::NEVER }
    }

    /// The receiver of an arrival: the number of the share, and the user.
    pub fn whom(&mut self) -> (usize, u32) {
        let (share, user) = (self.who.open01(), self.who.open01());
        // Sums of shares may end a rounding short of 1: the last takes the rest.
        let at = self.shares.iter().position(|(end, _)| share < *end).unwrap_or(self.shares.len() - 1);
        let users = self.shares[at].1;
        (at, ((user * f64::from(users)) as u32).min(users - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenflow_base::schema::Law;

    fn arrivals(shares: &[(f64, u32)]) -> Arrivals {
        let interval = Value::Random(Law::Gamma(Box::new(Value::Seconds(0.006)), 0.5));
        Arrivals::new(&interval, Stream::new(1, "gap"), Stream::new(1, "who"), shares)
    }

    #[test]
    fn other_shares_leave_the_instants_as_they_are() {
        let instants = |shares: &[(f64, u32)]| {
            let mut process = arrivals(shares);
            let next = |_| {
                process.whom();
                process.advance()
            };
            (0..100).map(next).collect::<Vec<_>>()
        };
        assert_eq!(instants(&[(0.8, 10), (0.2, 90)]), instants(&[(1.0, 1)]));
    }

    #[test]
    fn gaps_have_their_mean() {
        let mut process = arrivals(&[(1.0, 1)]);
        process.start(Time::from_seconds(1.0));
        let n = 100_000;
        let last = (0..n).map(|_| process.advance()).last().unwrap().seconds() - 1.0;
        // Variance of a gap: mean^2 / shape.
        let error = 0.006 * (f64::from(n) / 0.5).sqrt();
        assert!((last - 600.0).abs() < 5.0 * error, "{last}");
    }

    #[test]
    fn each_share_gets_its_part_and_each_user_of_it_the_same() {
        // ConEx, section 2 M15: 10 heavy users have 0.8 of the flows, 90 light ones the rest.
        let mut process = arrivals(&[(0.8, 10), (0.2, 90)]);
        let n = 90_000u32;
        let (mut heavy, mut light) = ([0u32; 10], [0u32; 90]);
        for _ in 0..n {
            match process.whom() {
                (0, user) => heavy[user as usize] += 1,
                (_, user) => light[user as usize] += 1,
            }
        }
        assert_eq!(heavy.iter().chain(&light).sum::<u32>(), n);
        for (counts, p) in [(&heavy[..], 0.08), (&light[..], 0.2 / 90.0)] {
            let (mean, sd) = (f64::from(n) * p, (f64::from(n) * p * (1.0 - p)).sqrt());
            assert!(counts.iter().all(|c| (f64::from(*c) - mean).abs() < 5.0 * sd), "{counts:?}");
        }
    }

    #[test]
    fn nothing_arrives_where_nobody_has_a_share() {
        assert_eq!(arrivals(&[]).advance(), Time::NEVER);
    }

    #[test]
    fn it_ends() {
        let mut process = arrivals(&[(1.0, 1)]);
        process.until(Time::from_seconds(0.1));
        let instants: Vec<Time> = (0..100).map(|_| process.advance()).collect();
        let first = instants.iter().position(|t| *t == Time::NEVER).expect("0.6 s of gaps");
        assert!(first > 0 && instants[first - 1] < Time::from_seconds(0.1));
        assert!(instants[first..].iter().all(|t| *t == Time::NEVER));
    }
}
