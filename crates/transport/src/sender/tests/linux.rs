//! What Linux does beyond the documents, as validation/linux found it in the kernel's own packets.

use super::*;

fn linux() -> Profile {
    Profile { mss: 1000, ..Profile::linux() }
}

/// Ten in flight, 0 lost; ssthresh = 10 / 2. PRR in whole segments: 103 delivers the first of ten, ceil(5 / 10) = 1;
/// 104 the second, ceil(1) - 1 = 0; 105 ceil(1.5) - 1 = 1; and so on, one segment for two. At 109 the pipe has come down to
/// five; from then on what arrives leaves. 154 ends recovery and delivers one
/// segment, 190 and 192 two each: with the one that ended it the window of five was acknowledged once, and grows.
#[test]
fn the_last_ack_of_a_recovery_counts_towards_the_next_segment() {
    table(
        linux(),
        "  0 | open             | SYN        |
          50 | syn              | ACK 0..9   |
         100 | ack 0 sack 1     | 10         |
         102 | ack 0 sack 1..2  | 11         |
         103 | ack 0 sack 1..3  | 0*         | recovery ssthresh 5 pipe 9
         104 | ack 0 sack 1..4  |            | pipe 8
         105 | ack 0 sack 1..5  | 12         | pipe 8
         106 | ack 0 sack 1..6  |            | pipe 7
         107 | ack 0 sack 1..7  | 13         | pipe 7
         108 | ack 0 sack 1..8  |            | pipe 6
         109 | ack 0 sack 1..9  |            | pipe 5
         140 | ack 0 sack 1..10 | 14         | pipe 5
         142 | ack 0 sack 1..11 | 15         | pipe 5
         154 | ack 12           | 16         | open cwnd 5 pipe 5
         190 | ack 14           | 17 18      | cwnd 5
         192 | ack 16           | 19..21     | cwnd 6",
    );
}

fn pushed(out: &[Segment]) -> Vec<bool> {
    out.iter().filter(|s| s.payload > 0).map(|s| s.flags & flags::PUSH != 0).collect()
}

/// 10 segments of 1448 bytes in 20 ms at twice the rate are 1.4 kB in a 1024th of a second: less than two segments, so two.
#[test]
fn the_second_of_two_segments_that_leave_together_is_pushed_and_the_last_of_all() {
    let mut bench = Bench::new(Profile::linux(), Some(11 * 1448));
    bench.input("open", ms(0));
    bench.out.clear();
    bench.input("syn", ms(20));
    assert_eq!(pushed(&bench.out), [false, true, false, true, false, true, false, true, false, true]);
    bench.out.clear();
    bench.input("ack 1", ms(40));
    assert_eq!(pushed(&bench.out), [true]);
}

/// Slow start, round-trip time 50 ms: what 100 and 102 acknowledge was sent at 50, so that the next ACK is due and a single
/// segment waits where another has just left; after 105 the oldest was sent at 100 and its ACK is due at 150.
#[test]
fn a_single_segment_waits_where_the_next_ack_is_near() {
    let mut bench = Bench::new(linux(), None).with_window(20.0, 5.0);
    bench.table(
        "  0 | open    | SYN       |
          50 | syn     | ACK 0..19 |
         100 | ack 2   | 20 21     |
         102 | ack 4   | 22 23     |",
    );
    let waits = |b: &Bench, room: u64, burst: u64, at: u64| {
        b.sender.selective().scoreboard.waits_for_more(&b.sender.core, room * 1000, burst, ms(at), &b.profile)
    };
    assert!(waits(&bench, 1, 2, 102));
    assert!(!waits(&bench, 2, 2, 102), "a whole burst");
    assert!(waits(&bench, 6, 9, 102));
    assert!(!waits(&bench, 7, 9, 102), "a third of the window");
    assert!(!waits(&bench, 1, 2, 104), "nothing left within the last millisecond");
    bench.table("105 | ack 20 | 24..40 |");
    assert!(!waits(&bench, 1, 2, 105));
}

/// 250 Hz: 236 ms are 59 ticks and end after the 60th; 316 ms are 79, in slots of eight; a tick has begun at 5 ms.
#[test]
fn timers_go_off_at_ticks() {
    let due = |now, delay| Profile::linux().due(ms(now), Duration::from_millis(delay)).0 / 1_000_000;
    assert_eq!(due(0, 236), 240);
    assert_eq!(due(0, 235), 240);
    assert_eq!(due(5, 236), 244);
    assert_eq!(due(0, 316), 320);
    assert_eq!(due(5, 316), 352);
    assert_eq!(Profile::rfc().due(ms(5), Duration::from_millis(316)), ms(321));
}

/// `tcp_is_cwnd_limited`: two segments a round trip of 1 ms do not fill a window of ten, however long a burst may be.
#[test]
fn a_window_without_unsent_data_does_not_grow() {
    Bench::new(linux(), Some(2000)).table(
        "0 | open    | SYN     |
         1 | syn     | ACK 0 1 |
         2 | ack 2   |         | cwnd 10
         3 | offer 2 | 2 3     |
         4 | ack 4   |         | cwnd 10",
    );
}

/// `tcp_may_raise_cwnd`: the late segment 0 shows reordering by six segments. From then on reports alone let the
/// window grow.
#[test]
fn after_much_reordering_reports_let_the_window_grow() {
    table(
        linux(),
        "  0 | open             | SYN      |
          50 | syn              | ACK 0..9 |
          98 | ack 0 sack 5     | 10       | disorder cwnd 10
         100 | ack 1 sack 5     | 11 12    | disorder cwnd 11
         102 | ack 1 sack 5..6  | 13 14    | disorder cwnd 12",
    );
}

/// `tcp_rack_advance`: RACK.rtt is that of the last segment in sequence order. By RFC 8985 section 6.2 it is that of
/// the segment sent last, the retransmission of 0.
#[test]
fn rack_takes_the_round_trip_of_the_last_segment_in_order() {
    for (profile, expected) in [(linux(), 102), (Profile { segmentation_offload: false, ..linux() }, 50)] {
        let mut b = Bench::new(profile, Some(10_000));
        for (at, input) in
            [(0, "open"), (50, "syn"), (100, "ack 0 sack 1..3"), (150, "ack 4"), (152, "ack 6")]
        {
            b.input(input, ms(at));
        }
        let rtt = b.sender.selective().scoreboard.board.latest.rtt;
        assert_eq!(rtt, Duration::from_millis(expected));
    }
}

/// `tcp_send_loss_probe`: the retransmission is not in the pipe.
#[test]
fn a_loss_probe_is_not_in_flight() {
    let profile = Profile { timer_tick: Duration::ZERO, ..linux() };
    Bench::new(profile, Some(10_000)).table(
        "  0 | open  | SYN      |
          50 | syn   | ACK 0..9 | early 152
         100 | ack 9 |          | early 350 pipe 1
         350 | timer | 9*       | open pipe 1",
    );
}

fn without_sack(profile: Profile) -> Profile {
    Profile {
        sack: false,
        loss_detection: LossDetection::DuplicateAcks,
        rtt: RttSource::Timestamps,
        ..profile
    }
}

/// `tcp_remove_reno_sacks`: two duplicates delivered two of the three segments before, so one counts.
#[test]
fn duplicate_acks_deliver_once() {
    table(
        without_sack(linux()),
        "  0 | open  | SYN      |
          50 | syn   | ACK 0..9 |
         100 | dup 2 | 10 11    | disorder cwnd 10
         101 | ack 3 | 12 13    | open cwnd 11",
    );
}

/// RFC 4015 section 3.2, `tcp_try_undo_loss`: the ACK echoes 50, so the original arrived. All is in flight again, and
/// the ACK opens the window by one.
#[test]
fn a_needless_timeout_is_taken_back_without_sack() {
    let profile = Profile { undo: true, ..without_sack(thousand()) };
    table(
        profile,
        "   0 | open          | SYN      |
           50 | syn           | ACK 0..9 |
         1050 | timer         | 0*       | loss cwnd 1 ssthresh 5
         1051 | ack 1 echo 50 | 10 11    | open cwnd 11 ssthresh inf",
    );
}
