//! Linux 3.2 (docs/tcp.md): what is lost, how the window comes down and back, and when a timeout was needless.
//!
//! The clock of these tables has milliseconds and the timers no ticks; the round-trip time is 50 ms, so that a timeout comes
//! after 50 + 200.

use super::*;
use crate::profile::{TimerWheel, UndoTo};
use crate::sender::metrics::Metrics;

fn old() -> Profile {
    let (clock_tick, timer_tick) = (Duration::from_millis(1), Duration::ZERO);
    Profile { mss: 1000, clock_tick, timer_tick, ..Profile::linux3_2() }
}

const OPENED: &str = "  0 | open | SYN
                       50 | syn  | ACK 0..9 | open cwnd 10 pipe 10";

/// 0 is lost. The third report reaches four segments (more than `reordering`, 3): recovery, and 4 - 3 = 1 segment is lost.
/// PRR of ten with ssthresh 5: 102: ceil(5/10) = 1; 103: ceil(10/10) - 1 = 0; 104: ceil(15/10) - 1 = 1; ...; 108: what is in
/// flight is ssthresh, so that 150 may add the room of one. The ACK that ends it grows nothing, and `cwnd <= ssthresh` is slow
/// start: 200 adds one. The undo is still open: the state is disorder until something beyond 15 is acknowledged.
const ONE_LOSS: &str = "100 | ack 0 sack 1     | 10 | disorder cwnd 10 pipe 10
                        101 | ack 0 sack 1..2  | 11 | disorder pipe 10 lost 0
                        102 | ack 0 sack 1..3  | 0* | recovery ssthresh 5 cwnd 9 lost 1 pipe 9
                        103 | ack 0 sack 1..4  |    | cwnd 8 pipe 8
                        104 | ack 0 sack 1..5  | 12 | pipe 8
                        105 | ack 0 sack 1..6  |    | pipe 7
                        106 | ack 0 sack 1..7  | 13 | pipe 7
                        107 | ack 0 sack 1..8  |    | pipe 6
                        108 | ack 0 sack 1..9  |    | cwnd 5 pipe 5
                        150 | ack 0 sack 1..10 | 14 | pipe 5
                        152 | ack 12           | 15 16 | disorder cwnd 5 ssthresh 5 pipe 5 reordering 3";

#[test]
fn forward_acknowledgement_and_prr() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(ONE_LOSS);
    b.table("200 | ack 13 | 17 18 | disorder cwnd 6 pipe 6");
}

/// The receiver reports that 0 came twice: the recovery is undone although it is over; twice ssthresh, and the threshold of
/// before. The same ACK limits the window to the 5 in flight and three.
#[test]
fn a_duplicate_report_undoes_a_recovery_that_is_over() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(ONE_LOSS);
    b.table("160 | ack 12 sack 0 | 17..19 | open cwnd 8 ssthresh inf pipe 8");
}

/// The jump to 5 makes 6 - 3 = 3 segments lost at once. 1 arrives late, never sent again: 6 - 1 = 5 segments of reordering,
/// which ends forward acknowledgement. The original of 0 shows by its timestamp: at that partial ACK 4 + 2 = 6. When all has
/// come the window is given back: max(5, 2 * 5), and the threshold. The same ACK limits it to 1 in flight and 6.
#[test]
fn reordering_is_learnt_and_the_recovery_undone() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(
        "100 | ack 0 sack 5         | 0*     | recovery ssthresh 5 lost 3 pipe 7 reordering 3
         101 | ack 0 sack 1 5       |        | recovery lost 2 pipe 7 reordering 5
         102 | ack 2 sack 5 echo 50 | 2*     | recovery pipe 7 reordering 6
         103 | ack 6 echo 50        | 10     | recovery cwnd 5 pipe 5
         104 | ack 10 echo 50       | 11..16 | open cwnd 7 ssthresh inf pipe 7 reordering 6",
    );
    assert!(!b.sender.linux3_2().forward);
}

/// A hole that the cumulative part fills, never sent again, 0, with reports up to 8: nine segments. The window grows to 11, of
/// which 9 out - 4 reported = 5 are used.
#[test]
fn an_acknowledged_hole_tells_the_reordering() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(
        "100 | ack 0 sack 1..2 | 10 11    | disorder reordering 3
         101 | ack 3 sack 5..8 | 12..17   | disorder reordering 9",
    );
    assert!(!b.sender.linux3_2().forward);
}

/// Reordering of five is known: five reports and one are needed, wherever they are. Lost is what has 5 - 5 = 0 reports before it.
#[test]
fn where_reordering_was_seen_reports_are_counted() {
    let mut b = Bench::new(Profile { cached_reordering: Some(5), ..old() }, None);
    b.table(OPENED).table(
        "100 | ack 0 sack 5    | 10    | disorder reordering 5
         101 | ack 0 sack 5..7 | 11 12 | disorder
         102 | ack 0 sack 5..8 | 13    | disorder lost 0
         103 | ack 0 sack 5..9 | 0*    | recovery lost 5 ssthresh 5 cwnd 5 pipe 5",
    );
}

/// Four segments are fewer than the five; three of them reported, and nothing can be sent: the first is lost.
#[test]
fn a_small_window_with_nothing_to_send_recovers_early() {
    let mut b = Bench::new(Profile { cached_reordering: Some(5), ..old() }, Some(4000));
    b.table(
        "  0 | open            | SYN      |
          50 | syn             | ACK 0..3 |
         100 | ack 0 sack 1..2 |          | disorder
         101 | ack 0 sack 1..3 | 0*       | recovery lost 1",
    );
}

/// The first segment is older than a timeout (251 ms) while the timer, set again at 200, is not: with it go all that are as
/// old: 1 and 4 to 9. ssthresh = 11 / 2; below it max(1 - 0, 1) + 1 go.
#[test]
fn a_first_segment_older_than_a_timeout_is_lost() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(
        "200 | ack 1           | 10 11 | open cwnd 11
         300 | ack 1 sack 3    | 12    | disorder
         301 | ack 1 sack 2..3 | 1* 4* | recovery lost 7 ssthresh 5 cwnd 5 pipe 5",
    );
}

/// In disorder a window that is not used comes down to what is in flight and three.
#[test]
fn disorder_moderates_the_window() {
    let mut b = Bench::new(old(), Some(10_000)).with_window(40.0, 100.0);
    b.table(
        "  0 | open         | SYN      |
          50 | syn          | ACK 0..9 |
         100 | ack 0 sack 2 |          | disorder cwnd 12",
    );
    let mut b = Bench::new(Profile { moderation: false, ..old() }, Some(10_000)).with_window(40.0, 100.0);
    b.table(
        "  0 | open         | SYN      |
          50 | syn          | ACK 0..9 |
         100 | ack 0 sack 2 |          | disorder cwnd 40",
    );
}

/// The end of a chunk: 6 to 9 are out, 7 to 9 are reported, and nothing can be sent, so 6 is retransmitted.
/// PRR: max(3, 3) + 1 beyond an empty pipe. Its original
/// arrives: the reduction is undone, max(20, 2 * 20). `tcp_try_to_open` then limits the window in every state
/// but CWR: none in
/// flight and the five of the reordering.
#[test]
fn the_end_of_a_needless_recovery_moderates_the_window() {
    let rows = "  0 | open                    | SYN      |
                50 | syn                     | ACK 0..9 |
               100 | ack 6                   |          | open cwnd 40
               101 | ack 6 sack 7..9         | 6*       | recovery ssthresh 20 cwnd 4
               102 | ack 10 echo 50          |          | ssthresh 100";
    let known = Profile { cached_reordering: Some(5), ..old() };
    for (moderation, cwnd) in [(true, 5), (false, 40)] {
        let profile = Profile { moderation, ..known.clone() };
        let mut b = Bench::new(profile, Some(10_000)).with_window(40.0, 100.0);
        b.table(&format!("{rows} open cwnd {cwnd}"));
    }
}

/// `tcp_ack` looks for trouble only while something is outstanding, and a segment with data or a new window
/// is no duplicate.
/// A pure duplicate is one: the window is what is in flight and three, though nothing is wrong.
#[test]
fn only_a_duplicate_with_data_outstanding_moderates_an_open_window() {
    let opened = || {
        let mut b = Bench::new(old(), Some(10_000));
        b.table(OPENED);
        b.with_window(40.0, 100.0)
    };
    opened().table("100 | request 0 | | open cwnd 40 pipe 10");
    opened().table("100 | ack 0     | | open cwnd 13 pipe 10");
    opened().table(
        "100 | ack 10     | | done cwnd 40 pipe 0
         101 | ack 10     | | done cwnd 40
         102 | request 10 | | done cwnd 40",
    );
    // Reports in a segment with data count.
    opened().table("100 | request 0 sack 2 | | disorder cwnd 12 pipe 9");
}

/// RFC 5682 section 3.1: the timeout sends only 0 again, min(10, 10 + 1) is the window. The first ACK lets two new segments
/// out; that they are reported and nothing sent before is shows the loss: 1 to 9, window 1 + 3. In loss a slow start by ACKs.
#[test]
fn a_timeout_that_is_none_too_many() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(
        "300 | timer            | 0*       | disorder ssthresh 5 cwnd 10 pipe 11 rto 800
         350 | ack 1 echo 300   | 10 11    | disorder cwnd 11 pipe 11 rto 600
         400 | ack 1 sack 10    | 1* 2* 3* | loss lost 9 cwnd 4 pipe 4
         402 | ack 1 sack 10..11 | 4*      | loss cwnd 4 pipe 4
         450 | ack 2            | 5* 6*    | loss cwnd 5 pipe 5",
    );
}

/// Before anything advances nothing new is sent; where nothing new is at hand two segments of what is lost go.
#[test]
fn f_rto_without_progress_or_new_data() {
    let mut b = Bench::new(old(), Some(10_000));
    b.table(
        "  0 | open          | SYN      |
          50 | syn           | ACK 0..9 |
         300 | timer         | 0*       | disorder cwnd 10
         340 | ack 0 sack 5  |          | disorder cwnd 10 pipe 10
         350 | ack 1 sack 5 echo 300 | 1* 2* | loss lost 8 cwnd 2 pipe 2",
    );
}

/// Second ACK of originals: the timeout was needless. No new reduction, but the window comes down by halves from what is in
/// flight and one: 8 + 1; every second ACK takes one.
#[test]
fn a_needless_timeout_is_seen_by_f_rto() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(
        "300 | timer         | 0*    | disorder ssthresh 5
         350 | ack 2 echo 50 | 10 11 | disorder cwnd 10 pipe 10
         351 | ack 4 echo 50 | 12    | reduction ssthresh 5 cwnd 9 pipe 9
         400 | ack 6 echo 50 | 13    | reduction cwnd 8 pipe 8
         401 | ack 8 echo 50 | 14    | reduction cwnd 7 pipe 7",
    );
}

/// All originals arrive at once: F-RTO can tell nothing, the timestamps do. max(2, 2 * 5), limited to none in
/// flight and three.
#[test]
fn a_needless_timeout_is_undone_by_timestamps() {
    let mut b = Bench::new(old(), None);
    b.table(OPENED).table(
        "300 | timer          | 0*     | disorder ssthresh 5
         350 | ack 10 echo 50 | 10..12 | open cwnd 3 ssthresh inf",
    );
}

/// Without F-RTO: everything is lost, the window is one segment. Undone at the first ACK that shows it, nothing is lost any
/// more: 2 to 9 are in flight, and 2 once again.
#[test]
fn the_classic_timeout_is_an_option() {
    let mut b = Bench::new(Profile { f_rto: false, ..old() }, None);
    b.table(OPENED).table(
        "300 | timer          | 0*    | loss ssthresh 5 cwnd 1 lost 10 pipe 1
         350 | ack 1 echo 300 | 1* 2* | loss cwnd 2
         360 | ack 2 echo 50  | 10    | disorder cwnd 10 ssthresh inf lost 0 pipe 10",
    );
}

/// A window is used where nothing is free, less than a third of it and of 64 KiB, or no more than the reordering.
#[test]
fn the_gate_of_growth() {
    let used = |profile: &Profile, cwnd: f64, flight: f64| {
        let mut b = Bench::new(profile.clone(), None).with_window(cwnd, 1.0);
        let reordering = b.sender.linux3_2().reordering;
        b.sender.core.third_is_used(reordering, flight * profile.segment(), profile)
    };
    let p = old();
    // A receive window of 40: the window stops at 60, 1.5 times that.
    assert!(used(&p, 59.0, 40.0) && !used(&p, 60.0, 40.0));
    assert!(used(&p, 13.0, 10.0) && used(&p, 14.0, 10.0) && !used(&p, 16.0, 10.0));
    assert!(used(&p, 5.0, 2.0) && !used(&p, 6.0, 2.0)); // three free: as many as the reordering
    let p = Profile { mss: 1448, ..p };
    assert!(used(&p, 195.0, 150.0) && !used(&p, 196.0, 150.0)); // 65 160 and 66 608 bytes
    let p = Profile { cached_reordering: Some(100), ..p };
    assert!(used(&p, 140.0, 40.0) && !used(&p, 141.0, 40.0));
}

fn paused(restart: IdleRestart, max_window: u64) -> Bench {
    let mut b = Bench::new(Profile { restart_after_idle: restart, max_window, ..old() }, Some(10_000));
    b.table(OPENED).table("100 | ack 10 | | done rto off");
    b.with_window(140.0, 100.0)
}

/// Ben Ameur et al. 2016, algorithm 2, and what the kernel does: 3.5 timeouts of 250 ms after 50. Three halvings of 140, cut off
/// each time, down to ten at least; by the paper from the receive window of 40, down to one. ssthresh: 70 + 35.
#[test]
fn a_pause_by_the_kernel_and_by_the_paper() {
    paused(IdleRestart::HalvingWhole, 1 << 30).table("925 | offer 30 | 10..26 | cwnd 17 ssthresh 105");
    paused(IdleRestart::HalvingWhole, 1 << 30).table("5000 | offer 30 | 10..19 | cwnd 10 ssthresh 105");
    paused(IdleRestart::HalvingToOne, 40_000).table("925 | offer 30 | 10..14 | cwnd 5 ssthresh 105");
    paused(IdleRestart::HalvingToOne, 40_000).table("5000 | offer 30 | 10 | cwnd 1");
    // A pause of a timeout is none.
    paused(IdleRestart::HalvingWhole, 1 << 30).table("300 | offer 30 | 10..39 | cwnd 140 ssthresh 100");
    // A smaller window stays.
    paused(IdleRestart::HalvingWhole, 1 << 30)
        .with_window(7.0, 3.0)
        .table("925 | offer 9 | 10..16 | cwnd 7 ssthresh 4"); // 7/2 + 7/4 = 3 + 1
}

/// Growing ACKs keep the window fresh; 251 ms after the last one (100) a window of 80 of which two segments are used comes down
/// to (80 + 10) / 2.
#[test]
fn an_unused_window_decays() {
    let mut b = Bench::new(old(), Some(10_000));
    b.table(OPENED).table("100 | ack 10 | | done");
    let mut b = b.with_window(80.0, 50.0);
    b.table(
        "300 | offer 1 | 10 | cwnd 80
         351 | offer 1 | 11 | cwnd 45 ssthresh 60",
    );
    // What waits to be sent is no sign of that.
    let mut b = Bench::new(Profile { window_decay: false, ..old() }, Some(10_000));
    b.table(OPENED).table("100 | ack 10 | | done");
    b.with_window(80.0, 50.0).table(
        "300 | offer 1 | 10 | cwnd 80
         351 | offer 1 | 11 | cwnd 80",
    );
}

/// Slow start adds one an ACK whatever it covers, the threshold included; then one after cwnd + 1 ACKs.
#[test]
fn reno_counts_acks() {
    let mut b = Bench::new(old(), None).with_window(10.0, 11.0);
    b.table(OPENED).table(
        "100 | ack 2  | 10..12 | cwnd 11
         101 | ack 4  | 13..15 | cwnd 12",
    );
    // Thirteen ACKs at a window of twelve; round trips of 50 ms.
    for n in 0..12 {
        b.input(&format!("ack {}", 5 + n), ms(110 + n));
        assert_eq!(b.sender.window().cwnd, 12_000.0);
    }
    b.input("ack 17", ms(160));
    assert_eq!(b.sender.window().cwnd, 13_000.0);
}

/// What an earlier connection left: its threshold, its reordering (beyond the usual, segments are counted), its round-trip time.
#[test]
fn what_was_cached_is_where_a_connection_begins() {
    let profile = Profile { cached_ssthresh: Some(27), cached_srtt: Duration::from_millis(90), ..old() };
    let mut b = Bench::new(profile, None);
    b.table(
        "  0 | open | SYN      |
          50 | syn  | ACK 0..9 | ssthresh 27 cwnd 10 rto 340",
    );
    assert!(b.sender.linux3_2().forward);
}

/// 250 Hz: timers go off a whole number of ticks after the tick that began last.
#[test]
fn timers_keep_to_the_tick() {
    let due = |now, delay| Profile::linux3_2().due(ms(now), Duration::from_millis(delay)).0 / 1_000_000;
    assert_eq!((due(0, 300), due(5, 300), due(7, 299)), (300, 304, 304));
    let slots = Profile { timer_wheel: TimerWheel::Slots, ..Profile::linux3_2() };
    assert_eq!(slots.due(ms(5), Duration::from_millis(316)), ms(352));
}

/// The other way to undo gives back the window of before, here 10 where 2 * 5 is as much; 11 / 2 tells them
/// apart. Nothing
/// limits the window afterwards.
#[test]
fn undo_gives_back_twice_the_threshold_or_the_window() {
    for (undo_to, cwnd) in [(UndoTo::TwiceThreshold, "10"), (UndoTo::Before, "11")] {
        let mut b = Bench::new(Profile { undo_to, initial_window: 11.0, moderation: false, ..old() }, None);
        b.table(
            "  0 | open           | SYN       |
              50 | syn            | ACK 0..10 |
             300 | timer          | 0*        | disorder ssthresh 5",
        );
        b.input("ack 11 echo 50", ms(350));
        assert_eq!(b.sender.window().cwnd, bytes(cwnd, 1000) as f64, "{undo_to:?}");
    }
}

/// CUBIC gives back what it remembers: after a recovery (ssthresh 7 = 10 * 717 / 1024) the window of before, after a timeout,
/// with which it forgets, nothing: 0 + 2 by F-RTO. The probe's threshold is three quarters of the window at least.
#[test]
fn cubic_remembers_the_window_and_the_probe_logs_three_quarters() {
    let mut b = Bench::new(Profile { moderation: false, ..old() }, None);
    let values = |name: &str| match name {
        "c" => Value::Number(0.4),
        "fast_convergence" | "reno_friendly" => Value::Flag(true),
        other => panic!("{other}"),
    };
    let all = ["c", "fast_convergence", "reno_friendly"].map(|name| (name, values(name)));
    let control = CongestionControl::build("cubic", &Values(all.into()), &b.profile, 1.0).expect("sound");
    b.sender = Sender::new(&b.profile, control, None);
    let mut after_recovery = Bench { profile: b.profile.clone(), sender: b.sender.clone(), out: Vec::new() };
    after_recovery.table(OPENED).table(
        "100 | ack 0 sack 5   | 0*     | recovery ssthresh 7 pipe 7
         101 | ack 10 echo 50 | 10..19 | open cwnd 10 ssthresh inf",
    );
    b.table(OPENED).table(
        "300 | timer          | 0*    | disorder ssthresh 7
         350 | ack 10 echo 50 | 10 11 | open cwnd 2 ssthresh inf",
    );
    let b = b.with_window(100.0, 20.0);
    assert_eq!(b.sender.remembered_threshold(&b.profile), 75_000.0);
}

/// Route metrics. In slow start nothing is known, so nothing is kept, but a threshold that is known rises to half the window, 70;
/// in avoidance max(140 / 2, 60); where the window is not above the threshold, the threshold, if one is known. A shorter round trip
/// is approached by an eighth: 90 - 40 / 8. Two samples of 50 leave a deviation of 25 - 25 / 4, less than their distance from what
/// was known, 40, or from nothing, 50; a larger one is approached by a quarter: 80 - 40 / 4.
#[test]
fn what_a_connection_leaves_behind() {
    let ended = |cwnd: f64, ssthresh: f64| {
        let mut b = Bench::new(old(), Some(10_000));
        b.table(OPENED).table("100 | ack 10 | | done");
        b.with_window(cwnd, ssthresh)
    };
    let srtt = Duration::from_millis(90);
    let known = Metrics { ssthresh: Some(27), reordering: None, srtt, rttvar: Duration::ZERO };
    let left = |before: Metrics, cwnd: f64, ssthresh: f64| {
        let b = ended(cwnd, ssthresh);
        let mut metrics = before;
        metrics.learn(&b.sender, &b.profile);
        metrics
    };
    assert_eq!(left(Metrics::default(), 140.0, f64::INFINITY).ssthresh, None);
    assert_eq!(left(known, 140.0, f64::INFINITY).ssthresh, Some(70));
    assert_eq!(left(known, 40.0, f64::INFINITY).ssthresh, Some(27));
    assert_eq!(left(Metrics::default(), 140.0, 60.0).ssthresh, Some(70));
    assert_eq!(left(known, 100.0, 60.0).ssthresh, Some(60));
    assert_eq!(left(Metrics::default(), 50.0, 60.0).ssthresh, None);
    assert_eq!(left(known, 50.0, 60.0).ssthresh, Some(60));
    assert_eq!(left(known, 40.0, 60.0).srtt, Duration::from_millis(85));
    assert_eq!(left(Metrics::default(), 40.0, 60.0).srtt, Duration::from_millis(50));
    let spread = |known: Metrics| left(known, 40.0, 60.0).rttvar.0 as f64 / 1e6;
    assert_eq!(spread(known), 40.0);
    assert_eq!(spread(Metrics::default()), 50.0);
    assert_eq!(spread(Metrics { rttvar: Duration::from_millis(80), ..known }), 70.0);
    let close = Metrics { srtt: Duration::from_millis(51), ..Metrics::default() };
    assert_eq!(spread(close), 18.75);
    // Only more reordering than is taken for granted is kept; a connection begins with it.
    let mut b = ended(50.0, 60.0);
    b.sender.linux3_2().reordering = 60;
    let mut metrics = known;
    metrics.learn(&b.sender, &b.profile);
    assert_eq!(metrics.reordering, Some(60));
    metrics.keep(&mut b.profile);
    assert_eq!(Metrics::of(&b.profile), metrics);
    // What is not known takes nothing away, and reordering is for those that learn it.
    Metrics::default().keep(&mut b.profile);
    assert_eq!((b.profile.cached_ssthresh, b.profile.cached_reordering), (metrics.ssthresh, Some(60)));
    let mut other = Profile::rfc();
    metrics.keep(&mut other);
    assert_eq!((other.cached_ssthresh, other.cached_reordering), (metrics.ssthresh, None));
    assert_eq!(Bench::new(b.profile, None).sender.reordering(), Some(60));
}

/// The handshake began when nothing was known; what is known as it ends counts: the threshold, six segments of reordering, and a
/// round trip of 100 ms with a deviation of 80, above those of the sample, 50 and 25: the timeout is 100 + 4 * 80.
#[test]
fn metrics_are_read_as_the_handshake_ends() {
    let mut b = Bench::new(Profile { save_metrics: true, ..old() }, None);
    b.table("0 | open | SYN | ssthresh inf reordering 3");
    let (srtt, rttvar) = (Duration::from_millis(100), Duration::from_millis(80));
    Metrics { ssthresh: Some(20), reordering: Some(6), srtt, rttvar }.keep(&mut b.profile);
    b.table("50 | syn | ACK 0..9 | open cwnd 10 ssthresh 20 reordering 6 rto 470 pipe 10");
    assert!(!b.sender.linux3_2().forward);
    // Without the line it is as it was when the connection was made.
    let mut b = Bench::new(old(), None);
    b.table("0 | open | SYN");
    b.profile.cached_ssthresh = Some(20);
    b.table("50 | syn | ACK 0..9 | ssthresh inf reordering 3 rto 300");
}

/// Whoever runs a connection is called as it ends, once; a late duplicate changes nothing, more data ends it again.
#[test]
fn the_end_of_a_connection_asks_for_its_metrics() {
    let mut b = Bench::new(Profile { save_metrics: true, ..old() }, Some(10_000));
    b.table(OPENED).table(
        "100 | ack 10   |    | done rto 100
         100 | dup 1    |    | done rto 100
         100 | timer    |    | done rto off
         101 | dup 1    |    | done rto off
         110 | offer 1  | 10 | open rto 360
         160 | ack 11   |    | done rto 160
         160 | timer    |    | done rto off",
    );
    // Nothing acknowledged to the end, nothing left: giving up is no orderly close.
    let mut b = Bench::new(Profile { save_metrics: true, retries: Some(1), ..old() }, Some(10_000));
    b.table(OPENED).table(
        "300 | timer | 0* |
         800 | timer |    | dead rto off",
    );
}
