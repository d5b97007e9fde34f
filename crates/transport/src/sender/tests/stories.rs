//! One loss in a window of ten at the default lines of each stack profile.

use super::*;

fn story(profile: Profile, rows: &str) {
    Bench::new(profile, None)
        .with_window(10.0, 10.0)
        .table("0 | open | SYN |\n50 | syn | ACK 0..9 | cwnd 10")
        .table(rows);
}

/// SACK (RFC 6675) and PRR (RFC 9937): the first half of the ACKs lets out every second segment in whole bytes, see prr.rs.
#[test]
fn rfc() {
    story(
        Profile::rfc(),
        "100 | ack 0 sack 1     | 10 |
         101 | ack 0 sack 1..2  | 11 |
         102 | ack 0 sack 1..3  | 0* | recovery ssthresh 5 pipe 9
         103 | ack 0 sack 1..4  |    |
         104 | ack 0 sack 1..5  |    |
         105 | ack 0 sack 1..6  | 12 | pipe 7
         106 | ack 0 sack 1..7  |    |
         107 | ack 0 sack 1..8  |    |
         108 | ack 0 sack 1..9  | 13 | pipe 5
         150 | ack 0 sack 1..10 | 14 |
         151 | ack 0 sack 1..11 | 15 |
         152 | ack 12           | 16 | open cwnd 5",
    );
}

/// RACK, and PRR in whole segments rounded up: ceil(prr_delivered / 2) - prr_out is 1, 0, 1, 0, 1, 0 from the first ACK on.
/// ACKs come 2 ms apart, so that nothing waits for a burst (segmentation_offload).
#[test]
fn linux() {
    story(
        Profile::linux(),
        "100 | ack 0 sack 1     | 10 | disorder
         102 | ack 0 sack 1..2  | 11 |
         104 | ack 0 sack 1..3  | 0* | recovery ssthresh 5 pipe 9
         106 | ack 0 sack 1..4  |    | pipe 8
         108 | ack 0 sack 1..5  | 12 | pipe 8
         110 | ack 0 sack 1..6  |    |
         112 | ack 0 sack 1..7  | 13 | pipe 7
         114 | ack 0 sack 1..8  |    |
         116 | ack 0 sack 1..9  |    | pipe 5
         150 | ack 0 sack 1..10 | 14 |
         152 | ack 0 sack 1..11 | 15 |
         154 | ack 12           | 16 | open cwnd 5",
    );
}

/// The fourth segment beyond tells the loss; then one leaves for two ACKs, the retransmission with the first, down to the
/// threshold. ns-2.35 sends at the same ACKs.
#[test]
fn ns2_linux() {
    story(
        Profile::ns2_linux(),
        "100 | ack 0 sack 1     | 10 | disorder
         101 | ack 0 sack 1..2  | 11 |
         102 | ack 0 sack 1..3  | 12 | disorder
         103 | ack 0 sack 1..4  | 0* | recovery ssthresh 5 pipe 9
         104 | ack 0 sack 1..5  |    | pipe 8
         105 | ack 0 sack 1..6  | 13 | pipe 8
         106 | ack 0 sack 1..7  |    |
         107 | ack 0 sack 1..8  | 14 |
         108 | ack 0 sack 1..9  |    | pipe 6
         150 | ack 0 sack 1..10 | 15 |
         151 | ack 0 sack 1..11 |    | pipe 5
         152 | ack 0 sack 1..12 | 16 | pipe 5
         153 | ack 13           | 17 | open cwnd 5",
    );
}

/// NewReno with the window inflated by duplicates: half of the window is 5, 5 + 3; segments leave once that exceeds what is
/// out, 12; no deflation at the end.
#[test]
fn ns2() {
    story(
        Profile::ns2(),
        "100 | dup 1  | 10 | disorder
         101 | dup 1  | 11 |
         102 | dup 1  | 0* | recovery ssthresh 5 cwnd 8
         103 | dup 4  |    | cwnd 12
         107 | dup 1  | 12 | cwnd 13
         108 | dup 1  | 13 |
         150 | dup 2  | 14 15 | cwnd 16
         152 | ack 12 | 16 | open cwnd 5",
    );
}

/// NewReno as in ns-3: half of what is in flight less the duplicates, (12 - 3) / 2 = 4.5; at the end the window is what is in
/// flight and one more, 3 + 1, and grows by nothing.
#[test]
fn ns3_26() {
    story(
        Profile::ns3_26(),
        "100 | dup 1  | 10 | disorder
         101 | dup 1  | 11 |
         102 | dup 1  | 0* | recovery ssthresh 4.5 cwnd 7.5
         103 | dup 5  |    | cwnd 12.5
         108 | dup 1  | 12 | cwnd 13.5
         150 | dup 2  | 13 14 | cwnd 15.5
         152 | ack 12 | 15 | open cwnd 4.5",
    );
}
