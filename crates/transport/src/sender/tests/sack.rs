//! Loss recovery by SACK: RFC 6675 (IsLost, SetPipe, NextSeg), forward acknowledgement, RFC 2883.

use super::*;
use crate::profile::RtoRule;

/// RFC 6675 section 5. Limited transmit (3.3) while fewer than three segments are reported: cwnd - pipe = 1 each time.
/// The third makes 3000 bytes, more than (DupThresh - 1) SMSS: FlightSize without what limited transmit sent is 10, so
/// ssthresh = cwnd = 5 (4.2), and the retransmission goes whatever the pipe is (4.3). SetPipe: 12 out - 3 reported - 1 lost
/// + 1 sent again = 9. The window is quiet until the pipe is below 5, then one leaves for one (C.1, NextSeg rule 2).
#[test]
fn one_loss_in_a_window() {
    table(
        thousand(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 | open cwnd 10 pipe 10
         100 | ack 0 sack 1     | 10       | disorder cwnd 10 pipe 10
         101 | ack 0 sack 1..2  | 11       | disorder pipe 10 lost 0
         102 | ack 0 sack 1..3  | 0*       | recovery ssthresh 5 cwnd 5 pipe 9 lost 1 rto 1050
         103 | ack 0 sack 1..4  |          | pipe 8
         104 | ack 0 sack 1..7  |          | pipe 5
         107 | ack 0 sack 1..8  | 12       | pipe 5
         108 | ack 0 sack 1..9  | 13       | pipe 5
         150 | ack 0 sack 1..10 | 14       |
         151 | ack 0 sack 1..11 | 15       | recovery pipe 5 rto 1050
         152 | ack 12           | 16       | open cwnd 5 ssthresh 5 pipe 5 lost 0 sacked 0 rto 1152
         200 | ack 13           | 17       | open cwnd 5",
    );
}

/// Segments 0 and 5. The second hole is lost when three segments beyond it are reported; it goes before new data (NextSeg
/// rule 1). The partial ACK at 152 keeps recovery up, for RecoveryPoint is 12 (section 5, step A).
#[test]
fn two_losses_in_a_window() {
    table(
        thousand(),
        "  0 | open                | SYN      |
          50 | syn                 | ACK 0..9 |
         100 | ack 0 sack 1        | 10       |
         101 | ack 0 sack 1..2     | 11       |
         102 | ack 0 sack 1..3     | 0*       | recovery pipe 9
         103 | ack 0 sack 1..4     |          | pipe 8
         104 | ack 0 sack 6 1..4   |          | pipe 7
         105 | ack 0 sack 6..7 1..4 |         | pipe 6 lost 1
         106 | ack 0 sack 6..8 1..4 | 5*      | pipe 5 lost 2
         107 | ack 0 sack 6..9 1..4 | 12      | pipe 5
         150 | ack 0 sack 6..11 1..4 | 13 14  | pipe 5
         152 | ack 5 sack 6..11    | 15       | recovery pipe 5 lost 1 rto 1152
         156 | ack 12              | 16       | open cwnd 5 pipe 5 lost 0",
    );
}

/// Segments 0, 2, 4 and 6 of ten. The three reported ranges 1, 3, 5 make 0 lost by the count of ranges (three
/// discontiguous) as by bytes. One ACK that tells much releases what the pipe leaves room for: at 105 it is
/// 12 out - 6 reported - 4 lost + 1 sent again = 3, room for two.
#[test]
fn many_losses_in_a_window() {
    table(
        thousand(),
        "  0 | open                   | SYN      |
          50 | syn                    | ACK 0..9 |
         100 | ack 0 sack 1           | 10       | disorder
         101 | ack 0 sack 3 1         | 11       | disorder lost 0
         102 | ack 0 sack 5 3 1       | 0*       | recovery ssthresh 5 lost 1 pipe 9
         103 | ack 0 sack 7 5 3       |          | lost 2 pipe 7
         104 | ack 0 sack 7..8 5 3    |          | lost 3 pipe 5
         105 | ack 0 sack 7..9 5 3    | 2* 4*    | lost 4 pipe 5
         150 | ack 0 sack 7..10 5 3   | 6*       | pipe 5
         151 | ack 0 sack 7..11 5 3   | 12       | pipe 5
         152 | ack 2 sack 7..11 5 3   | 13       | recovery pipe 5
         155 | ack 4 sack 7..11 5     | 14       | recovery pipe 5
         156 | ack 6 sack 7..11       | 15       | recovery pipe 5
         200 | ack 12                 | 16       | open cwnd 5 pipe 5 lost 0",
    );
}

/// IsLost counts bytes as well as ranges: two full segments are not more than (DupThresh - 1) SMSS, one byte more is.
#[test]
fn two_segments_and_a_short_one_tell_a_loss() {
    let mut b = Bench::new(thousand(), Some(3500));
    b.table(
        "  0 | open             | SYN       |
          50 | syn              | ACK 0 1 2 3:500 |
         100 | ack 0 sack 1..2  |           | disorder lost 0",
    );
    // The blocks of a table are whole segments; the last one here is half a segment.
    let Bench { profile, sender, out } = &mut b;
    let mut report = Report::default();
    report.push((1000, 3500));
    sender.receive(&packet(0, 51, flags::ACK), &Carried::reporting(report), ms(101), profile, out);
    assert_eq!((sender.recovery(), out[0].seq, out.len()), (Recovery::Recovery, 0, 1));
}

/// Nothing new to send. NextSeg rule 3: a hole below the highest reported byte goes though it is not lost yet (4 has one
/// segment beyond it). Rule 4 has nothing more: the highest that is not reported is on its way again.
#[test]
fn holes_go_early_where_there_is_nothing_new() {
    let mut b = Bench::new(thousand(), Some(6000));
    b.table(
        "  0 | open              | SYN      |
          50 | syn               | ACK 0..5 |
         100 | ack 0 sack 1..2   |          | disorder pipe 4
         102 | ack 0 sack 1..3   | 0*       | recovery ssthresh 3 cwnd 3 pipe 3
         103 | ack 0 sack 5 1..3 | 4*       | pipe 3 lost 1
         150 | ack 4 sack 5      |          | recovery pipe 2
         153 | ack 6             |          | done rto off",
    );
}

/// The last segment is lost with the first: the rescue retransmission (NextSeg rule 4) spares the timeout.
#[test]
fn the_rescue_retransmission() {
    let rows = |rescue: &str| {
        format!(
            "  0 | open            | SYN       |
              50 | syn             | ACK 0..5  |
             100 | ack 0 sack 1..2 |           |
             102 | ack 0 sack 1..3 | 0*        | recovery cwnd 3 pipe 3
             103 | ack 0 sack 1..4 | {rescue}  | recovery
             150 | ack 5           |           | recovery rto 1150"
        )
    };
    Bench::new(thousand(), Some(6000)).table(&rows("5*")).table("151 | ack 6 | | done");
    let profile = Profile { rescue: false, ..thousand() };
    Bench::new(profile, Some(6000)).table(&rows("")).table("1150 | timer | 5* | loss cwnd 1");
}

/// RFC 6675 has no rule for a retransmission that is lost: the timer (RFC 6298 section 5.4 to 5.6) repairs it, what was
/// reported stays reported (RFC 6675 section 5.1), and the rest goes again in slow start. ssthresh is half of what the
/// window of 5 let out. At 1150 slow start ends after half a segment (ssthresh 2.5); the other 1500 bytes of the ACK and
/// the 2000 of the next make more than a window: one segment.
#[test]
fn the_loss_of_a_retransmission_needs_the_timer() {
    table(
        thousand(),
        "   0 | open             | SYN      |
           50 | syn              | ACK 0..9 |
          100 | ack 0 sack 1..2  | 10 11    |
          102 | ack 0 sack 1..3  | 0*       | recovery
          108 | ack 0 sack 1..9  | 12 13    | pipe 5
          150 | ack 0 sack 1..13 | 14..17   | pipe 5 rto 1050
         1050 | timer            | 0*       | loss cwnd 1 ssthresh 2.5 pipe 1 sacked 13 rto 3050
         1100 | ack 14           | 14* 15*  | loss cwnd 2 rto 2100
         1150 | ack 16           | 16* 17*  | loss cwnd 2.5
         1200 | ack 18           | 18..20   | open cwnd 3.5",
    );
}

/// A second timeout of the same segment holds ssthresh (RFC 5681 section 3.1); one of a later segment, after progress, is a
/// new loss.
#[test]
fn timeouts_lower_the_threshold_once_for_each_segment() {
    table(
        thousand(),
        "   0 | open  | SYN         |
           50 | syn   | ACK 0..9    | rto 1050
         1050 | timer | 0*          | loss ssthresh 5 cwnd 1 rto 3050
         3050 | timer | 0*          | loss ssthresh 5 cwnd 1 rto 7050
         3100 | ack 1 | 1* 2*       | cwnd 2 rto 4100
         4100 | timer | 1*          | loss ssthresh 2 cwnd 1 rto 6100",
    );
}

/// RFC 6298 section 5: without a sample the backed-off timeout stays. The segment that was sent again gives none where one
/// segment a round trip is timed (section 3, Karn's rule); the next one does.
#[test]
fn a_backed_off_timeout_stays_until_a_sample() {
    let profile = Profile { rtt: RttSource::OneSegment, initial_window: 1.0, ..thousand() };
    table(
        profile,
        "   0 | open  | SYN   |
           50 | syn   | ACK 0 | rto 1050
         1050 | timer | 0*    | rto 3050
         1100 | ack 1 | 1 2   | rto 3100
         1150 | ack 3 | 3..5  | rto 2150",
    );
}

/// What was sent after recovery began is lost as well: it is another event, and halves again when the first recovery ends
/// (RFC 6675 section 5: RecoveryPoint bounds what one reduction answers). Segments 0 and 12 are lost: when 0 arrives,
/// 13 to 15 are reported, 12 has three beyond it.
#[test]
fn a_loss_beyond_the_recovery_point_is_another_event() {
    table(
        thousand(),
        "  0 | open                    | SYN      |
          50 | syn                     | ACK 0..9 |
         100 | ack 0 sack 1..2         | 10 11    |
         102 | ack 0 sack 1..3         | 0*       | recovery ssthresh 5
         108 | ack 0 sack 1..9         | 12 13    | pipe 5
         150 | ack 0 sack 1..11        | 14 15    | pipe 5
         158 | ack 0 sack 13..15 1..11 | 12* 16..18 | recovery ssthresh 5 cwnd 5 pipe 5
         159 | ack 12 sack 13..15      |          | recovery ssthresh 2.5 cwnd 2.5 pipe 4",
    );
}

/// Reordering by up to two segments is no loss, by three or more it is taken for one (RFC 5681 section 3.2).
#[test]
fn reordering_by_one_to_ten_segments() {
    for by in 1..=9 {
        let mut b = Bench::new(thousand(), None);
        b.table("0 | open | SYN |\n50 | syn | ACK 0..9 |");
        let mut again = 0;
        for n in 1..=by {
            b.input(&format!("ack 0 sack 1..{n}"), ms(100 + n));
            again += b.out.drain(..).filter(|s| s.again).count();
        }
        b.input(&format!("ack {}", by + 1), ms(120));
        assert_eq!(again, usize::from(by >= 3), "by {by}");
        let halved = b.sender.window().ssthresh < 10_000.0;
        assert_eq!(halved, by >= 3, "by {by}");
    }
}

/// A train of ACKs is lost; the one that comes releases the window at once. Slow start counts one segment an ACK.
#[test]
fn a_lost_train_of_acks() {
    table(
        thousand(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
         150 | ack 10 | 10..20   | open cwnd 11 pipe 11 rto 1150",
    );
}

/// The same in recovery: of ten reports only the last arrives. Everything unreported below it is lost at once.
#[test]
fn a_lost_train_of_reports() {
    table(
        thousand(),
        "  0 | open              | SYN       |
          50 | syn               | ACK 0..9  |
         110 | ack 0 sack 6..9   | 0* 1* 2* 3* 4* | recovery ssthresh 5 pipe 5 lost 6
         160 | ack 5 sack 6..9   | 5* 10..13 | recovery pipe 5
         170 | ack 10            | 14        | open pipe 5",
    );
}

/// Without limited transmit (RFC 3042) reports let nothing new out before recovery; the threshold counts all ten.
#[test]
fn without_limited_transmit_reports_let_nothing_out() {
    table(
        Profile { limited_transmit: false, ..thousand() },
        "  0 | open            | SYN      |
          50 | syn             | ACK 0..9 |
         100 | ack 0 sack 1    |          | disorder pipe 9
         101 | ack 0 sack 1..2 |          | disorder pipe 8
         102 | ack 0 sack 1..3 | 0*       | recovery ssthresh 5 cwnd 5 pipe 7
         105 | ack 0 sack 1..6 | 10       | pipe 5
         152 | ack 10          | 11..14   | open cwnd 5",
    );
}

/// The receive window of four segments binds: limited transmit may not exceed it (RFC 3042 section 2), nor may recovery.
#[test]
fn the_receive_window_binds_in_recovery() {
    table(
        Profile { max_window: 4999, ..thousand() },
        "  0 | open            | SYN      |
          50 | syn             | ACK 0..3 | pipe 4
         100 | ack 0 sack 1..2 |          | disorder pipe 2
         102 | ack 0 sack 1..3 | 0*       | recovery ssthresh 2 pipe 1
         152 | ack 4           | 4 5      | open cwnd 2",
    );
}

/// With `window_clamp` those four segments are the most in flight, and recovery goes on beyond the receive window.
#[test]
fn a_window_clamp_lets_recovery_go_on() {
    table(
        Profile { max_window: 4999, window_clamp: true, ..thousand() },
        "  0 | open            | SYN      |
          50 | syn             | ACK 0..3 | pipe 4
         100 | ack 0 sack 1..2 | 4 5      | disorder pipe 4
         102 | ack 0 sack 1..3 | 0*       | recovery ssthresh 3 pipe 3
         150 | ack 0 sack 1..5 | 6 7      | recovery pipe 3
         152 | ack 6           | 8        | open cwnd 3",
    );
}

/// Without window scaling 65535 bytes can be told (RFC 7323 section 2): 65 segments.
#[test]
fn without_window_scaling_65535_bytes_bind() {
    let mut profile = Profile { initial_window: 100.0, ..thousand() };
    profile.window_scaling = false;
    assert!(profile.apply(&Values::default()).is_empty());
    table(
        profile,
        "  0 | open  | SYN       |
          50 | syn   | ACK 0..64 | pipe 65
         100 | ack 2 | 65 66     | cwnd 101",
    );
}

/// A forward acknowledgement tells a loss by distance, here of four segments; a retransmission is lost when something first
/// sent after it is reported (13, sent at 104, after 0* at 103).
#[test]
fn forward_acknowledgement_finds_a_lost_retransmission() {
    table(
        Profile { loss_detection: LossDetection::Fack, ..thousand() },
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
         100 | ack 0 sack 1..2  | 10 11    |
         102 | ack 0 sack 1..3  | 12       | disorder lost 0
         103 | ack 0 sack 1..4  | 0*       | recovery ssthresh 5 pipe 9
         104 | ack 0 sack 1..9  | 13       | pipe 5
         150 | ack 0 sack 1..12 | 14..16   | pipe 5
         155 | ack 0 sack 1..13 | 0* 17    | recovery pipe 5
         200 | ack 14           | 18       | open cwnd 5 pipe 5",
    );
}

/// RFC 2883: a block below the acknowledgement reports a duplicate, which is no new information on what is in flight.
#[test]
fn a_report_of_a_duplicate_delivers_nothing() {
    table(
        thousand(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
         100 | ack 4            | 10..14   | cwnd 11 pipe 11
         101 | ack 4 sack 2     |          | open pipe 11 sacked 0
         102 | ack 4 sack 3 6..7 | 15 16   | disorder pipe 11 sacked 2",
    );
}

/// RFC 5681 section 3.1: after a lost SYN the initial window is one segment.
#[test]
fn a_lost_syn_costs_the_initial_window() {
    table(
        thousand(),
        "    0 | open  | SYN   | rto 1000
          1000 | timer | SYN   | rto 3000
          1050 | syn   | ACK 0 | open cwnd 1 rto 2050",
    );
}

/// ns-2's Agent/TCP/Linux: every ACK is a sample, and the timer starts again with it, 200 ms at least. With Linux's rule, 50 + 200 ms
/// after the last ACK of new data, it stands.
#[test]
fn on_ns2_linux_any_ack_starts_the_timer_again() {
    for (rto, due) in [(RtoRule::AnyAck, [250, 300, 350]), (RtoRule::Linux, [300, 300, 300])] {
        let [first, second, third] = due;
        Bench::new(Profile { rto, ..Profile::ns2_linux() }, None).with_window(10.0, 10.0).table(&format!(
            "0   | open            | SYN      |
             50  | syn             | ACK 0..9 | rto {first}
             100 | ack 0 sack 1    | 10       | rto {second}
             150 | ack 0 sack 1..2 | 11       | rto {third}"
        ));
    }
}

/// ns-2's Agent/TCP/Linux in the state Loss: a loss that SACK tells of lowers the threshold and begins a recovery, and a second
/// timeout lowers it too. With Linux's rule neither does.
#[test]
fn on_ns2_linux_a_loss_after_a_timeout_is_an_event_of_its_own() {
    for (reduce_after_timeout, found, later) in [
        (true, "8* 9* | recovery ssthresh 2", "loss ssthresh 2"),
        (false, "8* 9* 13 14 15 | loss ssthresh 5", "loss ssthresh 5"),
    ] {
        let profile = Profile { reduce_after_timeout, ..Profile::ns2_linux() };
        Bench::new(profile.clone(), None).with_window(10.0, 10.0).table(&format!(
            "0   | open             | SYN         |
             50  | syn              | ACK 0..9    |
             250 | timer            | 0*          | loss ssthresh 5 cwnd 1
             300 | ack 8            | 8* 9* 10 11 12 | loss ssthresh 5
             350 | ack 8 sack 10..12 | {found}"
        ));
        Bench::new(profile, None).with_window(10.0, 10.0).table(&format!(
            "0   | open             | SYN         |
             50  | syn              | ACK 0..9    |
             250 | timer            | 0*          | loss ssthresh 5 cwnd 1
             650 | timer            | 0*          | {later}"
        ));
    }
}

/// RFC 6675 section 5: any ACK with SACK information updates the scoreboard, an old one as well. ns-2 ignores it.
#[test]
fn an_old_ack_updates_the_scoreboard() {
    let rows = "  0 | open  | SYN      |
                 50 | syn   | ACK 0..9 |
                100 | ack 2 | 10 11 12 |";
    Bench::new(thousand(), None).table(rows).table("101 | ack 1 sack 5 | 13 | disorder sacked 1 pipe 11");
    let ns2 = Profile { rescue: false, ..thousand() };
    Bench::new(ns2, None).table(rows).table("101 | ack 1 sack 5 | | open sacked 0 pipe 11");
}
