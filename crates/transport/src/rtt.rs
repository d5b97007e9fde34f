//! Round-trip time and retransmission timeout (RFC 6298).

use evenflow_base::Duration;

use crate::Profile;

/// SRTT and RTTVAR, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimator {
    smoothed: Option<i64>,
    variation: i64,
}

impl RttEstimator {
    /// A sample (section 2.2 and 2.3: gains 1/8 and 1/4).
    pub fn sample(&mut self, rtt: Duration) {
        let r = rtt.0 as i64;
        match &mut self.smoothed {
            None => {
                self.smoothed = Some(r);
                self.variation = r / 2;
            }
            Some(srtt) => {
                self.variation += ((*srtt - r).abs() - self.variation) / 4;
                *srtt += (r - *srtt) / 8;
            }
        }
    }

    /// RTO = SRTT + max(G, 4 RTTVAR), within the profile's floor and ceiling; 1 s before any sample (section 2.1).
    pub fn timeout(&self, profile: &Profile) -> Duration {
        let rto = match self.smoothed {
            None => Duration::from_millis(1000),
            Some(srtt) => Duration((srtt + (4 * self.variation).max(profile.clock_tick.0 as i64)) as u64),
        };
        rto.max(profile.min_rto).min(profile.max_rto)
    }

    /// SRTT, if there was a sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(|s| Duration(s as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc6298_section_2_by_hand() {
        let profile = Profile { min_rto: Duration::from_millis(1), ..Profile::ns3_26() };
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(&profile), Duration::from_millis(1000));
        rtt.sample(Duration::from_millis(100)); // SRTT 100, RTTVAR 50
        assert_eq!(rtt.timeout(&profile), Duration::from_millis(300));
        rtt.sample(Duration::from_millis(180)); // RTTVAR = 3/4 50 + 1/4 80 = 57.5, SRTT = 110
        assert_eq!(rtt.timeout(&profile), Duration(340_000_000));
    }

    #[test]
    fn the_floor_and_the_ceiling_hold() {
        let profile = Profile::ns3_26();
        let mut rtt = RttEstimator::default();
        rtt.sample(Duration::from_millis(10));
        assert_eq!(rtt.timeout(&profile), Duration::from_millis(1000));
        rtt.sample(Duration::from_millis(900_000));
        assert_eq!(rtt.timeout(&profile), Duration::from_millis(60_000));
    }
}
