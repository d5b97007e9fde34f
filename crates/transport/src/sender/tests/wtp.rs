//! Willingness to pay after a timeout. Its papers have no losses; what holds is RFC 5681 section 3.1: the window begins again
//! with one segment and slow start goes up to the threshold, however the connection began.

use super::*;
use crate::profile::Ecn as Mode;

/// A window of ten, lost as a whole, on a stack without SACK and on one with it, for both starts of a connection.
fn story(rows: &str) {
    let word = |text: &str| Value::Word(text.into());
    for start in ["none", "slow-start-until-mark"] {
        let values = Values(
            [
                ("gain", Value::Number(0.5)),
                ("form", word("proportional-increase")),
                ("min_window", Value::Packets(1.0)),
                ("start", word(start)),
                ("marked_ack", word("increase")),
            ]
            .into(),
        );
        let (ecn, ack_every) = (Mode::PerPacket, 1);
        for profile in [
            Profile { ecn, ack_every, ..thousand() },
            Profile { ecn, mss: 1000, min_rto: Duration::from_millis(1000), ..Profile::ns2() },
        ] {
            Bench::of("wtp", &values, profile, None)
                .with_window(10.0, 1.0)
                .table("0 | open | SYN |\n50 | syn | ACK 0..9/ect | per-packet cwnd 10")
                .table("1050 | timer | 0* | loss cwnd 1 ssthresh 5")
                .table(rows);
        }
    }
}

/// One packet per ACK up to five, the threshold, which stays; then 0.5 / 5 and 0.5 / 5.1.
#[test]
fn slow_start_goes_up_to_the_threshold() {
    story(
        "1100 | ack 1 | 1* 2*  | cwnd 2 ssthresh 5
         1150 | ack 2 | 3* 4*  | cwnd 3 ssthresh 5
         1151 | ack 3 | 5* 6*  | cwnd 4 ssthresh 5
         1200 | ack 4 | 7* 8*  | cwnd 5 ssthresh 5
         1201 | ack 5 | 9*     | cwnd 5+100 ssthresh 5
         1202 | ack 6 | 10/ect | cwnd 5+198",
    );
}

/// A mark at three packets: 3 + 0.5 / 3 - 0.5. The threshold follows, so that the next ACK adds 0.5 / 2.667 only.
#[test]
fn a_mark_ends_it() {
    story(
        "1100 | ack 1     | 1* 2* | cwnd 2 ssthresh 5
         1150 | ack 2     | 3* 4* | cwnd 3 ssthresh 5
         1151 | ack 3 ece |       | cwnd 2+666 ssthresh 2+666
         1200 | ack 4     | 5*    | cwnd 2+854 ssthresh 2+666",
    );
}
