//! Proportional rate reduction (RFC 9937): what each ACK lets out.

use super::*;

fn prr() -> Profile {
    Profile { reduction: Reduction::Proportional, ..thousand() }
}

/// RFC 9937 section 6. RecoverFS = 12 out - 2 reported before = 10, ssthresh = 5: each ACK delivers one segment (SMSS 1000).
/// Above the threshold sndcnt = ceil(prr_delivered / 2) - prr_out:
/// 102: 500, raised to the fast retransmit; 103: 1000 - 1000; 104: 1500 - 1000, not a segment yet; 105: 2000 - 1000, one;
/// 106: 2500 - 2000; 107: the pipe is 5, no longer above: the room up to ssthresh is nothing;
/// 108: pipe 4: the conservative bound max(7000 - 2000, 1000) is cut to the room of 1000. The end: cwnd = ssthresh.
#[test]
fn one_segment_for_two_until_the_threshold_then_one_for_one() {
    table(
        prr(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
         100 | ack 0 sack 1     | 10       |
         101 | ack 0 sack 1..2  | 11       |
         102 | ack 0 sack 1..3  | 0*       | recovery ssthresh 5 cwnd 9 pipe 9
         103 | ack 0 sack 1..4  |          | cwnd 8 pipe 8
         104 | ack 0 sack 1..5  |          | cwnd 7.5 pipe 7
         105 | ack 0 sack 1..6  | 12       | cwnd 7 pipe 7
         106 | ack 0 sack 1..7  |          | cwnd 6.5 pipe 6
         107 | ack 0 sack 1..8  |          | cwnd 5 pipe 5
         108 | ack 0 sack 1..9  | 13       | cwnd 5 pipe 5
         150 | ack 0 sack 1..10 | 14       | pipe 5
         151 | ack 0 sack 1..11 | 15       | pipe 5
         152 | ack 12           | 16       | open cwnd 5 pipe 5",
    );
}

/// Most of the window is lost: 1 to 6 and 0. The pipe falls far below ssthresh in one step: the conservative bound sends
/// what is delivered, one segment (here four at 110, for that ACK delivers four: prr_delivered - prr_out = 4);
/// an ACK that advances and tells no further loss adds one (section 6, PRR-SSRB). 161: max(6 - 6, 1) + 1, room 5 - 3.
#[test]
fn below_the_threshold_what_arrives_leaves_and_a_safe_ack_adds_one() {
    table(
        prr(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
         110 | ack 0 sack 7..9  | 0* 1* 2* | recovery ssthresh 5 lost 7 pipe 3
         160 | ack 1 sack 7..9  | 3* 4*    | recovery pipe 4
         161 | ack 2 sack 7..9  | 5* 6*    | recovery pipe 5
         162 | ack 3 sack 7..9  | 10       | recovery pipe 5
         212 | ack 10           | 11..14   | open cwnd 5 pipe 5",
    );
}

/// Twenty in flight, 0 to 9 lost, then 13 to 16 as well. At 160 the ACK delivers four segments and advances, but tells further
/// losses: max(prr_delivered - prr_out, DeliveredData) = max(7 - 3, 4) go, not one more, though ssthresh leaves room for
/// eight (19 out - 6 reported - 13 lost + 2 sent again = 2). The next one is safe: max(8 - 7, 1) + 1.
#[test]
fn an_ack_that_tells_a_further_loss_is_not_safe() {
    table(
        Profile { initial_window: 20.0, ..prr() },
        "  0 | open                      | SYN         |
          50 | syn                       | ACK 0..19   |
         110 | ack 0 sack 10..12         | 0* 1* 2*    | recovery ssthresh 10 lost 10 pipe 10
         160 | ack 1 sack 17..19 10..12  | 3* 4* 5* 6* | recovery lost 13 pipe 6
         161 | ack 2 sack 17..19 10..12  | 7* 8*       | recovery pipe 7",
    );
}

/// A reordering timer starts the recovery without delivering anything: only the retransmission itself goes (section 6: the
/// fast retransmit is forced), not a window of them. 0 to 3 are lost.
#[test]
fn a_recovery_that_a_timer_begins_sends_one_segment() {
    table(
        Profile { loss_detection: LossDetection::Rack, ..prr() },
        "  0 | open         | SYN      |
          50 | syn          | ACK 0..9 |
          98 | ack 0 sack 4 | 10       | disorder early 110
         110 | timer        | 0*       | recovery ssthresh 5 lost 4 pipe 7 cwnd 7",
    );
}

/// Marks bring the window down over a round trip where the profile says so: half of what arrives leaves. At the end of the
/// window of data in which the mark came it is over (RFC 3168 section 6.1.2: once a window).
#[test]
fn marks_may_bring_the_window_down_in_proportion() {
    let profile =
        Profile { reduction: Reduction::ProportionalAlways, ecn: crate::profile::Ecn::Classic, ..thousand() };
    table(
        profile,
        "  0 | open       | SYN/3      |
          50 | syn 1      | ACK 0..9/ect | classic
         100 | ack 1 ece  | 10/ect+cwr | reduction ssthresh 5 cwnd 10 pipe 10
         101 | ack 2 ece  |            | reduction ssthresh 5 pipe 9
         102 | ack 3 ece  |            | pipe 8
         103 | ack 4 ece  | 11/ect     | pipe 8
         105 | ack 6 ece  | 12/ect     | pipe 7",
    );
}
