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
