//! Tail loss probes (RFC 8985 section 7).

use super::*;

fn tlp() -> Profile {
    Profile {
        loss_detection: LossDetection::Rack,
        tail_loss_probe: true,
        rtt: RttSource::SendTimes,
        ..thousand()
    }
}

/// Section 7.2: PTO = 2 SRTT (+ two ticks of 1 ms, as Linux), with one segment in flight + the longest delay of an ACK
/// (200 ms), here 100 + 300. The probe is the last segment (7.3), the window stays, and the retransmission timer starts anew.
/// The ACK at TLP.end_seq ends nothing yet (7.4.2).
#[test]
fn the_loss_of_the_last_segment() {
    Bench::new(tlp(), Some(10_000)).table(
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | early 152 rto 1050
         100 | ack 9  |          | cwnd 11 early 400 rto 1100
         400 | timer  | 9*       | open cwnd 11 early off rto 1400
         450 | ack 10 |          | done cwnd 11 ssthresh inf",
    );
}

/// Section 7.4.2: the next ACK is beyond TLP.end_seq, and none reported a duplicate: the probe repaired a loss, which the
/// congestion control is told: half of 11.
#[test]
fn a_loss_that_the_probe_repaired_is_a_congestion_event() {
    Bench::new(tlp(), Some(10_000)).table(
        "  0 | open    | SYN      |
          50 | syn     | ACK 0..9 |
         100 | ack 9   |          |
         400 | timer   | 9*       |
         450 | ack 10  |          | done cwnd 11
         460 | offer 2 | 10 11    | open cwnd 11
         510 | ack 12  |          | done cwnd 5.5 ssthresh 5.5",
    );
}

/// Case 1: both arrived, as the report of a duplicate says. No loss.
#[test]
fn a_needless_probe_is_no_congestion_event() {
    Bench::new(tlp(), Some(10_000)).table(
        "  0 | open          | SYN      |
          50 | syn           | ACK 0..9 |
         100 | ack 9         |          |
         400 | timer         | 9*       |
         401 | ack 10        |          | done
         450 | ack 10 sack 9 |          | done
         460 | offer 2       | 10 11    |
         510 | ack 12        |          | done cwnd 11 ssthresh inf",
    );
}

/// Case 2: both arrived at a receiver that reports no duplicates: an ACK of the same that reports nothing.
#[test]
fn a_duplicate_ack_ends_the_episode_too() {
    Bench::new(tlp(), Some(10_000)).table(
        "  0 | open    | SYN      |
          50 | syn     | ACK 0..9 |
         100 | ack 9   |          |
         400 | timer   | 9*       |
         401 | ack 10  |          | done
         405 | offer 2 | 10 11    |
         450 | ack 10  |          |
         455 | ack 12  |          | done cwnd 11 ssthresh inf",
    );
}

/// The whole window is lost: the probe is new data where there is some, whatever the window says (7.3), and its report makes
/// RACK find the others: 50 + 48 + 12 is past. Half of ten goes at once.
#[test]
fn a_probe_with_new_data_finds_a_lost_window() {
    table(
        tlp(),
        "  0 | open          | SYN      |
          50 | syn           | ACK 0..9 | early 152
         152 | timer         | 10       | open cwnd 10 pipe 11 rto 1152
         200 | ack 0 sack 10 | 0* 1* 2* 3* 4* | recovery lost 10 ssthresh 5 pipe 5",
    );
}

/// No probe where something is reported (7.2); the reordering timer stands instead.
#[test]
fn no_probe_in_disorder() {
    table(
        tlp(),
        "  0 | open         | SYN      |
          50 | syn          | ACK 0..9 | early 152
          98 | ack 0 sack 1 | 10       | disorder early 110
         110 | timer        | 0*       | recovery early off rto 1050",
    );
}

/// The probe never comes after the timeout (7.2): RTO = 50 + 4 * 18.75 = 125 ms, where 2 SRTT + 200 ms would be 300.
#[test]
fn the_probe_comes_at_the_timeout_at_the_latest() {
    let profile = Profile { min_rto: Duration::from_millis(10), ..tlp() };
    Bench::new(profile, Some(10_000)).table(
        "  0 | open  | SYN      |
          50 | syn   | ACK 0..9 | rto 200 early 152
         100 | ack 9 |          | rto 225 early 225
         225 | timer | 9*       | open rto 350",
    );
}

/// A probe is lost: the timeout follows.
#[test]
fn after_a_lost_probe_the_timeout() {
    Bench::new(tlp(), Some(10_000)).table(
        "   0 | open  | SYN      |
           50 | syn   | ACK 0..9 |
          100 | ack 9 |          | early 400
          400 | timer | 9*       | early off rto 1400
         1400 | timer | 9*       | loss cwnd 1 rto 3400",
    );
}

/// Section 7.2: only new data and an ACK that advances restart the timer.
#[test]
fn an_ack_without_progress_leaves_the_timer() {
    Bench::new(tlp(), Some(10_000)).table(
        "  0 | open  | SYN      |
          50 | syn   | ACK 0..9 | early 152
         120 | dup 1 |          | early 152",
    );
}
