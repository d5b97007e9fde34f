//! RACK (RFC 8985 section 6): losses by time, the reordering window and its timer, and reductions taken back (RFC 4015,
//! RFC 3708). Segments 0 to 9 leave at 50 ms; the first report comes after 48 ms, so RACK.min_RTT / 4 = 12 ms.

use super::*;

fn rack() -> Profile {
    Profile { loss_detection: LossDetection::Rack, ..thousand() }
}

/// Section 6.2 step 4: no reordering seen and three segments reported: no reordering window, so 50 + 50 <= 100: lost.
/// Before that the timer is set to the sending time + RACK.rtt + the window (step 5): 50 + 48 + 12, then 50 + 49 + 12.
/// The retransmission at 100 is lost, too: 12, sent later (101), is delivered at 151, and 100 + 50 <= 151.
#[test]
fn a_loss_and_the_loss_of_its_retransmission() {
    table(
        rack(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
          98 | ack 0 sack 1     | 10       | disorder early 110 reo 12
          99 | ack 0 sack 1..2  | 11       | disorder early 111
         100 | ack 0 sack 1..3  | 0*       | recovery ssthresh 5 pipe 9 early off
         101 | ack 0 sack 1..9  | 12 13    | pipe 5
         150 | ack 0 sack 1..11 | 14 15    | pipe 5
         151 | ack 0 sack 1..12 | 0* 16    | recovery ssthresh 5 pipe 5
         201 | ack 17           | 17..21   | open cwnd 5 pipe 5",
    );
}

/// One report, then silence: the timer (section 6.3) finds the loss.
#[test]
fn the_reordering_timer_finds_a_loss_that_few_reports_tell() {
    let mut b = Bench::new(rack(), Some(2000));
    b.table(
        "  0 | open         | SYN     |
          50 | syn          | ACK 0 1 |
          98 | ack 0 sack 1 |         | disorder early 110
         110 | timer        | 0*      | recovery ssthresh 2 early off
         158 | ack 2        |         | done rto off",
    );
}

/// Step 3: segment 0 arrives below RACK.fack and was never sent again: the network reorders. From then on three reported
/// segments do not close the window: 2 and 3 are lost only at 50 + 51 + 12.
#[test]
fn once_reordering_was_seen_only_time_counts() {
    table(
        rack(),
        "  0 | open            | SYN      |
          50 | syn             | ACK 0..9 |
          98 | ack 0 sack 1    | 10       | disorder early 110
          99 | ack 2           | 11 12    | open cwnd 11 pipe 11 early off
         100 | ack 2 sack 4    | 13       | disorder early 112
         101 | ack 2 sack 4..6 | 14 15    | disorder early 113 lost 0
         113 | timer           | 2*       | recovery ssthresh 5.5 lost 2 pipe 10",
    );
}

/// Reordering within a quarter of the round trip is no loss, however many segments overtake: by one and two at first sight,
/// by all ten once it was seen.
#[test]
fn reordering_by_one_to_ten_segments() {
    for by in 1..=10 {
        let mut b = Bench::new(Profile { initial_window: 20.0, ..rack() }, None);
        b.table(
            "0 | open | SYN |
50 | syn | ACK 0..19 |
98 | ack 0 sack 1 | 20 |
99 | ack 2 | 21 22 | open",
        );
        let mut again = 0;
        for n in 3..3 + by {
            b.input(&format!("ack 2 sack 3..{n}"), ms(100));
            again += b.out.drain(..).filter(|s| s.again).count();
        }
        b.input(&format!("ack {}", 3 + by), ms(108));
        assert_eq!((again, b.sender.window().ssthresh), (0, f64::INFINITY), "by {by}");
    }
}

/// Step 4: each round trip with a report of a duplicate widens the window by a quarter of RACK.min_RTT, up to SRTT (50); a
/// second report in the same round (before SND.UNA passes what was SND.NXT then) does not.
#[test]
fn reports_of_duplicates_widen_the_reordering_window() {
    table(
        rack(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
          98 | ack 0 sack 1     | 10       | reo 12
          99 | ack 2            | 11 12    | reo 12
         100 | ack 2 sack 1     |          | reo 24
         101 | ack 2 sack 1     |          | reo 24
         149 | ack 13 sack 1    | 13..24   | reo 36
         199 | ack 25 sack 1    | 25..37   | reo 48
         249 | ack 38 sack 1    | 38..51   | reo 50",
    );
}

/// The same narrows again after sixteen recoveries without such a report.
#[test]
fn sixteen_quiet_recoveries_narrow_it_again() {
    let mut b = Bench::new(rack(), None);
    b.table(
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
          98 | ack 1 sack 0     | 10 11    | reo 24",
    );
    let mut now = 2000;
    for n in 1..=16 {
        assert_eq!(
            b.sender.selective().reordering_window(&b.sender.core, false),
            Duration::from_millis(24),
            "{n}"
        );
        // A timeout, and all arrives.
        now = b.sender.deadline().0 / 1_000_000;
        let at = b.sender.deadline();
        b.sender.wake(at, &b.profile, &mut b.out);
        let all = b.sender.core.high / 1000;
        b.input(&format!("ack {all}"), ms(now + 50));
    }
    assert_eq!(
        (b.sender.selective().reordering_window(&b.sender.core, false), now > 2000),
        (Duration::from_millis(12), true)
    );
}

/// Step 2: segment 0 is acknowledged 8 ms after its retransmission, sooner than any round trip: it was the original, and
/// says nothing of what left before the retransmission. Else 50 + 8 would make 5 to 9 lost as well.
#[test]
fn an_ack_that_comes_too_soon_is_that_of_the_original() {
    table(
        rack(),
        "  0 | open              | SYN      |
          50 | syn               | ACK 0..9 |
          98 | ack 0 sack 1      | 10       |
          99 | ack 0 sack 3 1    | 11       | disorder early 111
         100 | ack 0 sack 3..4 1 | 0*       | recovery lost 2 pipe 8
         108 | ack 2 sack 3..4   |          | recovery lost 1 pipe 7",
    );
}

fn undo() -> Profile {
    Profile { undo: true, ..rack() }
}

/// RFC 4015 section 3.2 (detection RFC 3522): the first ACK after the retransmission (at 110) echoes 50, so the original
/// arrived: the window and threshold of before come back. The ACK then grows it by one as any.
#[test]
fn a_needless_retransmission_is_taken_back_by_timestamps() {
    table(
        undo(),
        "  0 | open           | SYN      |
          50 | syn            | ACK 0..9 | ssthresh inf
          98 | ack 0 sack 1   | 10       | early 110
         110 | timer          | 0*       | recovery ssthresh 5
         111 | ack 11 echo 50 | 11..21   | open cwnd 11 ssthresh inf",
    );
}

/// The echo of the retransmission itself takes nothing back.
#[test]
fn a_needed_retransmission_stays_a_loss() {
    table(
        undo(),
        "  0 | open            | SYN      |
          50 | syn             | ACK 0..9 |
          98 | ack 0 sack 1    | 10       |
         110 | timer           | 0*       | recovery ssthresh 5
         160 | ack 11 echo 110 | 11..15   | open cwnd 5 ssthresh 5",
    );
}

/// RFC 3708: every retransmission is reported as a duplicate while the recovery goes on.
#[test]
fn a_needless_retransmission_is_taken_back_by_reports_of_duplicates() {
    table(
        undo(),
        "  0 | open                   | SYN      |
          50 | syn                    | ACK 0..9 |
          98 | ack 0 sack 1           | 10       |
         110 | timer                  | 0*       | recovery ssthresh 5
         111 | ack 5 echo 110         |          | recovery ssthresh 5
         112 | ack 5 sack 0           | 11..14   | open cwnd 10 ssthresh inf pipe 10",
    );
}

/// A timeout that came too early, likewise: what was believed lost is in flight again.
#[test]
fn a_needless_timeout_is_taken_back() {
    table(
        undo(),
        "   0 | open           | SYN      |
           50 | syn            | ACK 0..9 |
         1050 | timer          | 0*       | loss cwnd 1 ssthresh 5 lost 10
         1051 | ack 1 echo 50  | 10       | open cwnd 10 ssthresh inf lost 0 pipe 10",
    );
}

/// With ECN a loss in the window of data of a reduction is the same event (RFC 3168 section 6.1.2), but not of one that was
/// taken back: 5 to 10 are lost of the window that 0 was sent in, and the threshold is half of 11. Nor is a mark.
#[test]
fn what_follows_a_reduction_that_was_taken_back_is_an_event_of_its_own() {
    let marking = || Bench::new(Profile { ecn: crate::profile::Ecn::Classic, ..undo() }, Some(40_000));
    let taken_back = "  0 | open          | SYN/3                |
                       50 | syn 1         | ACK 0..9/ect         | classic
                       98 | ack 0 sack 1  | 10/ect               | early 110
                      110 | timer         | 0*                   | recovery ssthresh 5
                      111 | ack 5 echo 50 | 11/ect+cwr 12..15/ect | open cwnd 11 ssthresh inf";
    marking().table(taken_back).table("161 | ack 5 sack 11..13 | 5* 6* 7* | recovery cwnd 5.5 ssthresh 5.5");
    marking().table(taken_back).table("112 | ack 6 ece         |          | open cwnd 5.5 ssthresh 5.5");
}
