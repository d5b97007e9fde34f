//! Opening, slow start, loss recovery without SACK (RFC 5681, RFC 6582, RFC 3042) and timeouts, as ns-3.26 has them.

use super::*;

const MSS: u64 = 1446;

/// `ns3.26` with a larger start, so that tables can begin where it matters.
fn ten() -> Profile {
    Profile { initial_window: 10.0, ..Profile::ns3_26() }
}

// --- opening ----------------------------------------------------------------------------------------------------

/// Three-way handshake, then one segment (docs/tcp.md: initial window 1).
#[test]
fn a_connection_opens_and_sends_one_segment() {
    table(
        Profile::ns3_26(),
        "  0 | open | SYN   | opening rto 3000
          50 | syn  | ACK 0 | open cwnd 1 rto 1050",
    );
}

/// First timeout 3 s, doubled each time, six SYNs in all (docs/tcp.md, row "connect").
#[test]
fn a_syn_is_sent_six_times_with_doubled_timeouts() {
    table(
        Profile::ns3_26(),
        "     0 | open  | SYN | rto 3000
           3000 | timer | SYN | rto 9000
           9000 | timer | SYN | rto 21000
          21000 | timer | SYN | rto 45000
          45000 | timer | SYN | rto 93000
          93000 | timer | SYN | opening rto 189000
         189000 | timer |     | dead rto off",
    );
}

/// A late SYN,ACK still opens it, and tries count anew (RFC 6298 section 5.7: the timeout is that of data again).
#[test]
fn a_connection_opens_after_a_lost_syn() {
    table(
        Profile::ns3_26(),
        "    0 | open  | SYN   | rto 3000
          3000 | timer | SYN   | rto 9000
          3050 | syn   | ACK 0 | open rto 4050
          3060 | syn   |       | open rto 4050",
    );
}

#[test]
fn a_dead_connection_stays_silent() {
    let profile = Profile { syn_tries: 1, ..Profile::ns3_26() };
    table(
        profile,
        "   0 | open  | SYN |
         3000 | timer |     | dead
         3050 | syn   |     | dead
         3100 | ack 1 |     | dead rto off",
    );
}

// --- slow start and congestion avoidance -------------------------------------------------------------------------

/// One segment more for each ACK, whatever it covers (RFC 5681 equation 2 with the ACK counted, docs/tcp.md).
#[test]
fn slow_start_grows_by_a_segment_per_ack() {
    table(
        Profile::ns3_26(),
        "  0 | open  | SYN    |
          50 | syn   | ACK 0  | cwnd 1
         100 | ack 1 | 1 2    | cwnd 2 rto 1100
         150 | ack 3 | 3 4 5  | cwnd 3 rto 1150
         200 | ack 5 | 6 7 8  | cwnd 4
         202 | ack 6 | 9 10   | cwnd 5
         250 | ack 8 | 11..13 | cwnd 6",
    );
}

/// SMSS^2/cwnd per ACK, in whole bytes: 1446 * 1446 / (2 * 1446) = 723, then 1446 * 1446 / 3615 = 578 (RFC 5681
/// equation 3).
#[test]
fn congestion_avoidance_grows_by_less_per_ack() {
    let mut b = Bench::new(Profile::ns3_26(), None);
    b.table("0 | open | SYN |\n50 | syn | ACK 0 |");
    b.sender.core.control.set(Window { ssthresh: 2.0 * MSS as f64, ..b.sender.window() });
    b.table(
        "100 | ack 1 | 1 2   | cwnd 2
         150 | ack 3 | 3 4   | cwnd 2+723
         200 | ack 5 | 5 6   | cwnd 2+1301",
    );
}

/// Bytes of short segments add up (docs/tcp.md: growth is once per ACK of at least a segment).
#[test]
fn acks_of_less_than_a_segment_grow_the_window_when_they_add_up() {
    table(
        ten(),
        "  0 | open      | SYN       |
          50 | syn       | ACK 0..9  | cwnd 10
         100 | ack 0+700 |           | cwnd 10
         102 | ack 1     | 10 11     | cwnd 11",
    );
}

/// The ACK that catches up with a lost train sends what the window has room for, at once.
#[test]
fn one_ack_may_release_a_whole_window() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | cwnd 10
         150 | ack 10 | 10..20   | cwnd 11 open rto 1150",
    );
}

/// An ACK below SND.UNA, or at it with nothing outstanding, says nothing (RFC 5681 section 2: it is no duplicate).
#[test]
fn old_acks_are_ignored() {
    let profile = Profile { initial_window: 10.0, ..Profile::ns3_26() };
    let mut b = Bench::new(profile, Some(10 * MSS));
    b.table(
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
         100 | ack 4  |          | open cwnd 11
         101 | ack 2  |          | open cwnd 11
         102 | ack 10 |          | done rto off
         103 | ack 10 |          | done rto off",
    );
    assert_eq!(b.sender.tally(&b.profile).sacked, 0);
}

// --- the windows that bind ---------------------------------------------------------------------------------------

/// 131072 bytes are 90 segments and 932 bytes; the send buffer, filled in writes of 512, then gives short segments:
/// 2892 bytes acknowledged leave room for 5 writes, that is 2560 bytes (docs/tcp.md).
#[test]
fn the_receive_window_binds_at_90_6_segments_and_the_send_buffer_makes_short_ones() {
    let mut b = Bench::new(Profile { initial_window: 200.0, ..Profile::ns3_26() }, None);
    b.table(
        "  0 | open | SYN                 |
          50 | syn  | ACK 0..89 90:932    | cwnd 200
         100 | ack 2 | 90+932 91+932:1114 | cwnd 201",
    );
    assert_eq!(b.sender.core.next - b.sender.core.una, 131_072 - 2892 + 2560);
    assert!(b.sender.core.next - b.sender.core.una <= 131_072);
}

/// A finite transfer ends with its last byte, its last segment as short as need be, its timer off.
#[test]
fn an_upload_ends() {
    let mut b = Bench::new(ten(), Some(4000));
    b.table(
        "  0 | open      | SYN             |
          50 | syn       | ACK 0 1 2:1108  | rto 1050
         100 | ack 2     |                 | open rto 1100
         300 | ack 2+1108 |                | done rto off
        2000 | ack 2+1108 |                | done",
    );
    assert_eq!(b.sender.retransmitted(), 0);
}

/// A lost tail has only the timer to help it.
#[test]
fn an_upload_ends_after_its_tail_was_lost() {
    let mut b = Bench::new(ten(), Some(3 * MSS));
    b.table(
        "  0 | open  | SYN          |
          50 | syn   | ACK 0 1 2    | rto 1050
         100 | ack 2 |              | rto 1100
        1100 | timer | 2*           | loss cwnd 1 ssthresh 2 rto 3100
        1150 | ack 3 |              | done rto off",
    );
}

// --- fast retransmit and fast recovery ----------------------------------------------------------------------------

/// RFC 3042 for the first two duplicates, then RFC 6582 section 3.2 with ns-3.26's flight: the three segments that
/// duplicates report do not count, 12 - 3 = 9, so ssthresh = 4.5 and cwnd = 4.5 + 3.
/// The full ACK (option 1) leaves min(ssthresh, flight + 1) with flight = 15 + 1 - 11 = 5.
#[test]
fn one_loss_in_a_window() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | cwnd 10 rto 1050
         100 | dup 1  | 10       | disorder cwnd 10
         101 | dup 1  | 11       | disorder cwnd 10
         102 | dup 1  | 0*       | recovery ssthresh 4.5 cwnd 7.5 rto 1050
         103 | dup 5  |          | cwnd 12.5
         108 | dup 1  | 12       | cwnd 13.5
         150 | dup 2  | 13 14    | cwnd 15.5 rto 1050
         153 | ack 12 | 15       | open cwnd 4.5 ssthresh 4.5 rto 1153
         210 | ack 14 | 16 17    | cwnd 4.5+321",
    );
}

/// Without limited transmit the flight at the third duplicate is 10 - 3 = 7.
#[test]
fn one_loss_without_limited_transmit() {
    table(
        Profile { limited_transmit: false, ..ten() },
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
         100 | dup 2  |          | disorder
         102 | dup 1  | 0*       | recovery ssthresh 3.5 cwnd 6.5
         103 | dup 3  |          | cwnd 9.5
         106 | dup 3  | 10 11    | cwnd 12.5
         152 | ack 10 | 12       | open cwnd 3.5",
    );
}

/// Segments 0 and 5 of ten. Partial ACK: deflated by what it covers, one segment added back, the next hole resent at
/// once, no growth; it covers fewer segments than the 10 duplicates reported, so one duplicate is taken back (RFC 6582
/// section 3.2 step 3, docs/tcp.md). Full ACK: flight = (17 - 5) + (1 - 11) = 2, cwnd = 3; then the two segments beyond recover
/// grow it by one.
#[test]
fn two_losses_in_a_window() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
         100 | dup 3  | 10 11 0* | recovery ssthresh 4.5 cwnd 7.5
         103 | dup 5  |          | cwnd 12.5
         150 | dup 2  | 12 13    | cwnd 14.5 rto 1050
         153 | ack 5  | 5* 14    | recovery cwnd 10.5 rto 1153
         200 | dup 1  | 15       | cwnd 11.5
         201 | dup 1  | 16       | cwnd 12.5
         203 | ack 14 | 17       | open cwnd 4 ssthresh 4.5 rto 1203",
    );
}

/// Segments 0, 3 and 6 of ten: one hole per round trip, and the timer restarts at the first partial ACK alone.
/// Full ACK: flight = (18 - 6) + (1 - 10) = 3, cwnd = min(4.5, 4) = 4; three segments beyond recover: one step of slow
/// start to 5, then one of avoidance, 1446 / 5 = 289 bytes.
#[test]
fn many_losses_in_a_window() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | rto 1050
         100 | dup 3  | 10 11 0* | recovery cwnd 7.5 rto 1050
         104 | dup 4  |          | cwnd 11.5
         150 | dup 2  | 12       | cwnd 13.5 rto 1050
         153 | ack 3  | 3* 13    | recovery cwnd 11.5 rto 1153
         200 | dup 1  | 14       | cwnd 12.5
         203 | ack 6  | 6* 15    | recovery cwnd 10.5 rto 1153
         250 | dup 2  | 16 17    | cwnd 12.5 rto 1153
         253 | ack 15 | 18 19    | open cwnd 5+289 rto 1253",
    );
}

/// Two duplicates and then new data: reordering. Two segments beyond the window are out, so the ACK of three sends two.
#[test]
fn reordering_by_two_is_no_loss() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
         100 | dup 2  | 10 11    | disorder cwnd 10
         103 | ack 3  | 12 13    | open cwnd 11
         105 | dup 2  | 14 15    | disorder cwnd 11",
    );
}

/// Limited transmit needs unsent data (RFC 3042 section 2); with none the third duplicate still starts recovery.
#[test]
fn limited_transmit_needs_data() {
    let mut b = Bench::new(ten(), Some(5 * MSS));
    b.table(
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..4 |
         100 | dup 2  |          | disorder
         102 | dup 1  | 0*       | recovery ssthresh 2 cwnd 5
         103 | dup 1  |          | cwnd 6
         152 | ack 5  |          | done rto off",
    );
}

/// No limited transmit beyond the advertised window.
#[test]
fn limited_transmit_respects_the_advertised_window() {
    let profile = Profile { max_window: 4 * MSS, write: Some(2), ..ten() };
    table(
        profile,
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..3 |
         100 | dup 2  |          | disorder",
    );
}

// --- timeouts -----------------------------------------------------------------------------------------------------

/// RFC 6298 section 5.4 to 5.6 and RFC 5681 section 3.1: ssthresh = 5, cwnd = 1, back to SND.UNA, doubled timeout, then
/// slow start up to ssthresh, with one avoidance step, 1446 / 5 = 289 bytes, in the ACK of two segments that reaches it.
/// ACKs that jump over what arrived skip it.
#[test]
fn a_timeout_goes_back() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | rto 1050
        1050 | timer  | 0*       | loss cwnd 1 ssthresh 5 rto 3050
        1100 | ack 1  | 1* 2*    | loss cwnd 2 rto 2100
        1150 | ack 3  | 3* 4* 5* | loss cwnd 3
        1200 | ack 8  | 8* 9* 10 11 | loss cwnd 4
        1250 | ack 10 | 12 13 14 | loss cwnd 5+289
        1252 | ack 12 | 15 16    | open cwnd 5+567 ssthresh 5 rto 2252",
    );
}

/// Six retransmissions without a new ACK, 2, 4, 8, 16, 32 and then 60 s apart; the seventh timeout ends it. ssthresh is
/// halved once.
#[test]
fn timeouts_back_off_and_six_kill() {
    let mut b = Bench::new(ten(), None);
    b.table(
        "   0 | open  | SYN      |
           50 | syn   | ACK 0..9 | rto 1050
         1050 | timer | 0*       | loss cwnd 1 ssthresh 5 rto 3050
         3050 | timer | 0*       | loss cwnd 1 ssthresh 5 rto 7050
         7050 | timer | 0*       | loss ssthresh 5 rto 15050
        15050 | timer | 0*       | rto 31050
        31050 | timer | 0*       | rto 63050
        63050 | timer | 0*       | ssthresh 5 rto 123050
       123050 | timer |          | dead rto off",
    );
    assert_eq!(b.sender.retransmitted(), 6);
}

/// A new ACK starts the count and the timeout anew (RFC 6298 section 5.3; with a timestamp echo the sample is good).
#[test]
fn progress_forgives_earlier_timeouts() {
    table(
        ten(),
        "   0 | open  | SYN      |
           50 | syn   | ACK 0..9 |
         1050 | timer | 0*       | rto 3050
         3050 | timer | 0*       | rto 7050
         7050 | timer | 0*       | rto 15050
        15050 | timer | 0*       | rto 31050
        31050 | timer | 0*       | rto 63050
        31100 | ack 1 | 1* 2*    | rto 32100
        32100 | timer | 1*       | rto 34100
        34100 | timer | 1*       | rto 38100
        38100 | timer | 1*       | loss rto 46100",
    );
}

#[test]
fn unlimited_retries_never_kill() {
    let mut b = Bench::new(Profile { retries: None, ..ten() }, None);
    b.table("0 | open | SYN |\n50 | syn | ACK 0..9 |");
    for _ in 0..50 {
        let at = b.sender.deadline();
        b.sender.wake(at, &b.profile, &mut b.out);
    }
    assert_eq!((b.sender.life(), b.sender.retransmitted()), (Life::Open, 50));
}

/// Duplicates after a timeout are echoes of what was sent twice: they are counted, nothing more, until an ACK goes
/// beyond `recover` (RFC 6582 section 4; docs/tcp.md). Reaching it exactly is not beyond.
#[test]
fn duplicates_after_a_timeout_do_not_start_recovery() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 |
        1050 | timer  | 0*       | loss rto 3050
        1100 | ack 3  | 3* 4*    | loss cwnd 2
        1101 | dup 5  |          | loss cwnd 2
        1150 | ack 10 | 10 11 12 | loss cwnd 3
        1151 | dup 5  |          | loss cwnd 3
        1200 | ack 12 | 13 14 15 | open cwnd 4
        1250 | dup 3  | 16 17 12* | recovery",
    );
}

/// The retransmission is lost too: no partial ACK, so the timer of before recovery runs out. ssthresh halves what is left
/// in flight, 15 + 1 - 11 = 5, once more. The ACK of all 15 does not exceed `recover`, the next one does: it takes one
/// slow-start step to 3 (beyond ssthresh 2.5) and one avoidance step of 1446 / 3 = 482 bytes.
#[test]
fn the_loss_of_a_retransmission_needs_the_timer() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | rto 1050
         100 | dup 3  | 10 11 0* | recovery cwnd 7.5
         104 | dup 8  | 12 13 14 | cwnd 15.5 rto 1050
        1050 | timer  | 0*       | loss ssthresh 2.5 cwnd 1 rto 3050
        1100 | ack 15 | 15 16    | loss cwnd 2 rto 2100
        1150 | ack 17 | 17..19   | open cwnd 3+482",
    );
}

/// A retransmission lost after a partial ACK: the timer counts from that first partial ACK.
#[test]
fn the_timer_after_a_partial_ack() {
    table(
        ten(),
        "  0 | open   | SYN      |
          50 | syn    | ACK 0..9 | rto 1050
         100 | dup 3  | 10 11 0* | recovery
         104 | dup 5  |          | cwnd 12.5
         150 | dup 2  | 12 13    | cwnd 14.5
         153 | ack 5  | 5* 14    | rto 1153
         200 | dup 2  | 15 16    | rto 1153
        1153 | timer  | 5*       | loss cwnd 1 rto 3153",
    );
}

/// A second timeout before `recover` is passed halves nothing and leaves cwnd: ns-3.26 is still in its LOSS state.
#[test]
fn a_second_timeout_in_the_same_loss_keeps_the_window() {
    table(
        ten(),
        "  0 | open   | SYN         |
          50 | syn    | ACK 0..9    |
        1050 | timer  | 0*          | loss cwnd 1 ssthresh 5 rto 3050
        1100 | ack 1  | 1* 2*       | cwnd 2
        1150 | ack 2  | 3* 4*       | cwnd 3 rto 2150
        2150 | timer  | 2*          | loss cwnd 3 ssthresh 5 rto 4150
        2200 | ack 3  | 3* 4* 5* 6* | loss cwnd 4",
    );
}

/// The timer's call comes early where a deadline moved: nothing happens.
#[test]
fn an_early_wake_is_harmless() {
    let mut b = Bench::new(ten(), None);
    b.table("0 | open | SYN |\n50 | syn | ACK 0..9 | rto 1050\n100 | ack 2 | 10 11 12 | rto 1100");
    b.sender.wake(ms(1050), &b.profile, &mut b.out);
    assert!(b.out.is_empty());
    assert_eq!(b.sender.deadline(), ms(1100));
}

/// RTO = SRTT + 4 RTTVAR (RFC 6298 section 2), from the echoes: 50 ms first (SRTT 50, RTTVAR 25), then 50 ms again
/// (RTTVAR 18.75): 125 ms.
#[test]
fn the_timeout_follows_the_round_trip_time_where_the_floor_lets_it() {
    let profile = Profile { min_rto: Duration::from_millis(10), ..ten() };
    table(
        profile,
        "  0 | open  | SYN      |
          50 | syn   | ACK 0..9 | rto 200
         100 | ack 1 | 10 11    | rto 225",
    );
}

/// Windows so large that nothing binds must not overflow.
#[test]
fn an_unlimited_window_is_no_overflow() {
    let mut b = Bench::new(Profile { max_window: u64::MAX, ..ten() }, None);
    b.table("0 | open | SYN |\n50 | syn | ACK 0..9 |\n100 | ack 10 | 10..20 | cwnd 11");
}

#[test]
fn sizes_on_the_wire_are_ns3s() {
    let p = Profile::ns3_26();
    let of = |payload, flags| Segment { seq: 0, payload, stamp: 0, flags, ip: 0, again: false }.size(&p);
    assert_eq!((of(1446, 0), of(0, flags::ACK), of(0, flags::SYN)), (1500, 54, 58));
}

/// The timestamp clock is 32 bits of milliseconds: 49.7 days. A sample across its wrap is as short as any.
#[test]
fn the_timestamp_clock_may_wrap() {
    let mut b = Bench::new(Profile::ns3_26(), None);
    let sent = b.profile.clock_at(ms((1 << 32) - 20));
    b.sender.core.clock = b.profile.clock_at(ms((1 << 32) + 30));
    assert_eq!(b.sender.core.elapsed(sent, &b.profile), Duration::from_millis(50));
}

// --- acknowledgements of what was never sent ---------------------------------------------------------------------

/// An ACK beyond SND.NXT changes nothing, whatever else it says, with SACK or without (RFC 9293 section 3.10.7.4). After a timeout without
/// SACK `next` is back at the first hole: what was sent before counts as sent.
#[test]
fn an_ack_of_what_was_never_sent_is_dropped() {
    table(
        Profile { limited_transmit: false, ..ten() },
        "   0 | open    | SYN      |
           50 | syn     | ACK 0..9 | open cwnd 10 rto 1050
          100 | ack 11  |          | open cwnd 10 rto 1050
          101 | ack 10+1 |         | open cwnd 10
         1050 | timer   | 0*       | loss cwnd 1
         1100 | ack 11  |          | loss cwnd 1
         1101 | ack 10  | 10 11    | loss cwnd 2",
    );
    table(
        Profile { initial_window: 10.0, ..thousand() },
        "   0 | open               | SYN      |
           50 | syn                | ACK 0..9 | open cwnd 10 pipe 10 rto 1050
          100 | ack 10+1           |          | open cwnd 10 pipe 10 rto 1050
          101 | ack 99 sack 3..5   |          | open cwnd 10 pipe 10 sacked 0
          102 | ack 0 sack 20..40  |          | open cwnd 10 pipe 10 sacked 0
          103 | ack 0 sack 10..40  |          | open cwnd 10 pipe 10 sacked 0",
    );
}
