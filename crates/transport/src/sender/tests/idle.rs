//! An application that pauses (RFC 5681 section 4.1, RFC 2861) and one that writes in pieces.

use super::*;

fn bench(restart: IdleRestart) -> Bench {
    let profile = Profile { restart_after_idle: restart, ..thousand() };
    let mut b = Bench::new(profile, Some(10_000));
    b.table(
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
         100 | ack 10 |          | done rto off",
    );
    b.with_window(80.0, 100.0)
}

/// RFC 5681 section 4.1: nothing was sent for longer than a timeout (50 + 1000): RW = min(IW, cwnd) = 10.
#[test]
fn a_long_pause_restarts_from_the_initial_window() {
    bench(IdleRestart::InitialWindow).table("1051 | offer 30 | 10..19 | open cwnd 10 ssthresh 100");
}

/// A pause of the timeout exactly is none.
#[test]
fn a_short_pause_changes_nothing() {
    bench(IdleRestart::InitialWindow).table("1050 | offer 30 | 10..39 | open cwnd 80");
    bench(IdleRestart::Never).table("99999 | offer 30 | 10..39 | open cwnd 80");
}

/// RFC 2861 section 3.2: halved for each timeout that passed, two in 2.5 s: 80, 40, 20; ssthresh remembers 3/4 of 80 where
/// that is more. No lower than the initial window (Linux; the RFC: one segment).
#[test]
fn a_pause_halves_the_window_for_each_timeout() {
    bench(IdleRestart::Halving).table("2550 | offer 30 | 10..29 | cwnd 20 ssthresh 100");
    bench(IdleRestart::Halving)
        .with_window(80.0, 30.0)
        .table("1551 | offer 30 | 10..39 | cwnd 40 ssthresh 60");
    bench(IdleRestart::Halving).table("60000 | offer 30 | 10..19 | cwnd 10");
}

/// A smaller window stays.
#[test]
fn a_pause_never_opens_the_window() {
    bench(IdleRestart::InitialWindow).with_window(3.0, 2.0).table("5000 | offer 9 | 10..12 | cwnd 3");
    bench(IdleRestart::Halving).with_window(3.0, 2.0).table("5000 | offer 9 | 10..12 | cwnd 3");
}

/// While something is in flight there is no pause.
#[test]
fn what_is_in_flight_keeps_the_clock() {
    let mut b = bench(IdleRestart::InitialWindow);
    b.table(
        " 200 | offer 1  | 10 | open
         1200 | timer    | 10* | loss
         1310 | offer 5  |    | loss cwnd 1",
    );
}

/// Pieces go out as they come, as short as they are; nothing is done when nothing is offered.
#[test]
fn pieces_go_out_as_they_come() {
    let mut b = Bench::new(thousand(), Some(0));
    b.table(
        "  0 | open      | SYN    |
          50 | syn       | ACK    | open rto off
          60 | offer 0   |        | open rto off
          70 | offer 0.5 | 0:500  | open rto 1070
          71 | offer 2   | 0+500 1+500 | pipe 2.5
         120 | ack 2.5   |        | done
         130 | offer 0   |        | done",
    );
}

/// More than the window lets out waits for ACKs.
#[test]
fn an_offer_beyond_the_window_waits() {
    let mut b = Bench::new(thousand(), Some(1000));
    b.table(
        "  0 | open     | SYN   |
          50 | syn      | ACK 0 |
          60 | offer 20 | 1..9  | pipe 10
          61 | offer 5  |       | pipe 10
         110 | ack 10   | 10..20 | cwnd 11",
    );
}

/// The window grows where nothing more of a full segment fitted beside what was in flight (RFC 7661 section 4.3; Linux's
/// `tcp_is_cwnd_limited`). In congestion avoidance with eight in flight: a window of nine had room for one more, one of nine
/// less a byte had not.
#[test]
fn a_window_with_room_for_a_whole_segment_was_not_used() {
    for (cwnd, grown) in [(9.0, "9"), (8.999, "10")] {
        let profile = Profile { window_validation: true, byte_counting: false, ..thousand() };
        let mut b = Bench::new(profile, Some(8000));
        b.table("0 | open | SYN |\n50 | syn | ACK 0..7 |");
        let mut b = b.with_window(cwnd, 2.0);
        b.table("100 | ack 8 | | done");
        let grew = b.sender.window().cwnd > cwnd * 1000.0;
        assert_eq!(grew, grown == "10", "{cwnd}");
    }
}
