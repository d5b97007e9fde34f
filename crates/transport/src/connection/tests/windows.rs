//! Windows (RFC 9293 section 3.8.6, RFC 1122 section 4.2.3, RFC 7323 section 2), the send buffer, Nagle's algorithm.

use super::*;
use crate::profile::WindowProbe;

/// The window follows what is free; an update goes where the edge can move by two segments or half the buffer.
#[test]
fn a_reader_empties_its_buffer() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, ..hundred() }),
        "0 client open
         30 client write 700
         100 server read 199
         200 server read 1
         300 server read 200
         500 server read 300
         600 client close
         650 server read 100",
        "opened win 400
         filled
         200 < ack 400 win 200
         210 > 400:500 ack 0 win 400
         210 > 500:600 ack 0 win 400
         220 server received 500
         220 server received 600
         220 < ack 600 win 0
         300 < ack 600 win 200
         310 > 600:700 ack 0 win 400
         320 server received 700
         500 < ack 700 win 400
         600 > FIN 700 ack 0 win 400
         610 server peer closed
         610 < ack 701 win 399",
        ["FIN-WAIT-2", "CLOSE-WAIT"],
    );
}

/// The persist timer asks, each time twice as late, with the next byte (section 3.8.6.1).
#[test]
fn a_lost_update() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, ..hundred() }),
        "lose 10 11 12
         0 client open
         30 client write 500
         100 server read 400",
        "opened win 400
         filled
         x 100 < ack 400 win 400
         x 1050 > 400:401 ack 0 win 400
         x 3050 > 400:401 ack 0 win 400
         7050 > 400:401 ack 0 win 400
         7060 server received 401
         7260 < ack 401 win 399
         7270 > 401:500 ack 0 win 400
         7280 server received 500
         7480 < ack 500 win 300",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Linux asks with a segment before what is unacknowledged.
#[test]
fn a_lost_update_and_an_empty_probe() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, zero_window_probe: WindowProbe::Empty, ..hundred() }),
        "lose 10 11 12
         0 client open
         30 client write 500
         100 server read 400",
        "opened win 400
         filled
         x 100 < ack 400 win 400
         x 1050 > ack 0 win 400
         x 3050 > ack 0 win 400
         7050 > ack 0 win 400
         7060 < ack 400 win 400
         7070 > 400:500 ack 0 win 400
         7080 server received 500
         7280 < ack 500 win 300",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// The connection lives as long as probes are answered, whatever the retries (MUST-37).
#[test]
fn a_window_that_stays_closed() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, retries: Some(2), ..hundred() }),
        "0 client open
         30 client write 500
         20000 server read 400",
        "opened win 400
         filled
         1050 > 400:401 ack 0 win 400
         1060 < ack 400 win 0
         3050 > 400:401 ack 0 win 400
         3060 < ack 400 win 0
         7050 > 400:401 ack 0 win 400
         7060 < ack 400 win 0
         15050 > 400:401 ack 0 win 400
         15060 < ack 400 win 0
         20000 < ack 400 win 400
         20010 > 400:500 ack 0 win 400
         20020 server received 500
         20220 < ack 500 win 300",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// They are counted as retransmissions are.
#[test]
fn probes_that_nobody_answers() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, retries: Some(2), ..hundred() }),
        "lose 10 11 12 13 14
         0 client open
         30 client write 500",
        "opened win 400
         filled
         x 1050 > 400:401 ack 0 win 400
         x 3050 > 400:401 ack 0 win 400
         7050 client reset",
        ["CLOSED", "ESTABLISHED"],
    );
}

/// The FIN takes a number, and waits; it is what the probe carries.
#[test]
fn a_closed_window_and_a_fin() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, ..hundred() }),
        "0 client open
         30 client write 400
         50 client close
         3000 server read 400",
        "opened win 400
         filled
         1050 > FIN 400 ack 0 win 400
         1060 < ack 400 win 0
         3000 < ack 400 win 400
         3010 > FIN 400 ack 0 win 400
         3020 server peer closed
         3020 < ack 401 win 399",
        ["FIN-WAIT-2", "CLOSE-WAIT"],
    );
}

/// What was sent beyond the edge is not sent again until the edge has moved on; what lies across it is cut.
#[test]
fn a_window_that_shrinks() {
    dialogue(
        Wire::telling(&Profile { max_window: 400, ..hundred() }),
        "lose 6 7
         window 8 50
         window 9 50
         window 10 50
         0 client open
         30 client write 400",
        "opened win 400
         30 > 0:100 ack 0 win 400
         30 > 100:200 ack 0 win 400
         x 30 > 200:300 ack 0 win 400
         x 30 > 300:400 ack 0 win 400
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 win 50
         1050 > 200:250 ack 0 win 50
         1060 server received 250
         1260 < ack 250 win 50
         1270 > 250:300 ack 0 win 400
         1280 server received 300
         1480 < ack 300 win 400
         1490 > 300:400 ack 0 win 400
         1500 server received 400
         1700 < ack 400 win 400",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// As an ACK does.
#[test]
fn data_tells_a_window() {
    dialogue(
        Wire::paced(&Profile { max_window: 400, ..hundred() }),
        "0 client open
         30 client write 400
         60 server write 50",
        "opened win 400
         filled
         60 < 0:50 ack 400 win 0
         70 client received 50
         270 > ack 50 win 350",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// RFC 1122 section 4.2.3.4: less than a segment and than half the largest window waits, a second at most.
#[test]
fn small_windows_are_not_filled() {
    dialogue(
        Wire::paced(&Profile { max_window: 450, ..hundred() }),
        "0 client open
         30 client write 500
         3000 server read 2000",
        "opened win 450
         30 > 0:100 ack 0 win 450
         30 > 100:200 ack 0 win 450
         30 > 200:300 ack 0 win 450
         30 > 300:400 ack 0 win 450
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 win 250
         40 server received 300
         40 server received 400
         40 < ack 400 win 50
         1050 > 400:450 ack 0 win 450
         1060 server received 450
         1260 < ack 450 win 0
         2270 > 450:451 ack 0 win 450
         2280 < ack 450 win 0
         3000 < ack 450 win 450
         3010 > 450:500 ack 0 win 450
         3020 server received 500
         3220 < ack 500 win 400",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// What leaves at once of 5000 bytes where the other end tells this window; segments of 100 bytes, bursts of two.
fn leaves(profile: &Profile, window: u64) -> Vec<u16> {
    let profile = Profile { mss: 100, ..profile.clone() };
    let (mut sender, mut out) = (Sender::new(&profile, control(&profile), Some(0)), Vec::new());
    sender.talk(&profile);
    sender.window_told(0, 0, window);
    sender.accept(
        crate::profile::Ecn::Off,
        Some(Duration::from_millis(20)),
        false,
        ms(20),
        &profile,
        &mut out,
    );
    sender.offer(5000, ms(20), &profile, &mut out);
    out.iter().map(|segment| segment.payload).collect()
}

/// The observed window ends at the edge that was advertised last.
#[test]
fn the_receive_window_can_be_observed() {
    let profile = Profile { mss: 100, ..Profile::rfc() };
    let (mut sender, mut out) = (Sender::new(&profile, control(&profile), Some(0)), Vec::new());
    let seen = |sender: &Sender, name: &str| sender.observe(name, &profile);
    sender.talk(&profile);
    assert_eq!(seen(&sender, "app_limited"), None, "no handshake yet");
    sender.window_told(0, 0, 450);
    sender.accept(
        crate::profile::Ecn::Off,
        Some(Duration::from_millis(20)),
        false,
        ms(20),
        &profile,
        &mut out,
    );
    assert_eq!((seen(&sender, "receive_window"), seen(&sender, "app_limited")), (Some(4.5), Some(1.0)));
    sender.offer(300, ms(20), &profile, &mut out);
    assert_eq!(out.len(), 3);
    assert_eq!(seen(&sender, "app_limited"), Some(1.0), "all is sent");
    sender.offer(5000, ms(20), &profile, &mut out);
    assert_eq!(seen(&sender, "app_limited"), Some(0.0), "the window holds data back");
    sender.window_told(1, 100, 0);
    assert_eq!(seen(&sender, "receive_window"), Some(1.0), "100 bytes beyond SND.UNA");
    let bulk = Sender::new(&Profile { max_window: 700, ..profile.clone() }, control(&profile), None);
    assert_eq!(bulk.observe("receive_window", &Profile { max_window: 700, ..profile.clone() }), Some(7.0));
}

/// Linux of today cuts a burst at the edge of the window, in the middle of a segment; what would begin with a short one waits.
#[test]
fn a_burst_that_the_window_cuts() {
    let linux = Profile { segmentation_offload: true, ..Profile::rfc() };
    assert_eq!(leaves(&linux, 150), [100, 50]);
    assert_eq!(leaves(&linux, 250), [100, 100]);
    assert_eq!(leaves(&linux, 350), [100, 100, 100, 50]);
    assert_eq!(leaves(&linux, 300), [100, 100, 100]);
    assert_eq!(leaves(&linux, 5000).len(), 10, "the congestion window");
    assert_eq!(leaves(&Profile { nagle: true, ..linux }, 350), [100, 100, 100]);
    for whole in [Profile::rfc(), Profile::linux3_2()] {
        assert_eq!(leaves(&whole, 350), [100, 100, 100], "{}", whole.name);
    }
}

/// Linux's `tcp_cwnd_validate`: a response that filled the window opens it with each ACK of its last round, one that used less than
/// half of it with none. The stack `rfc` looks at what is still out.
#[test]
fn what_a_last_round_makes_of_the_window() {
    let windows = |profile: Profile| {
        let profile = Profile { mss: 100, ..profile };
        let (mut sender, mut out) = (Sender::new(&profile, control(&profile), Some(0)), Vec::new());
        sender.talk(&profile);
        sender.accept(
            crate::profile::Ecn::Off,
            Some(Duration::from_millis(20)),
            false,
            ms(20),
            &profile,
            &mut out,
        );
        let mut at = 20;
        let mut windows = Vec::new();
        for segments in [10, 4, 20] {
            let (una, _) = sender.numbers();
            sender.offer(100 * segments, ms(at), &profile, &mut out);
            let sent = out.drain(..).len() as u64;
            for n in 1..=sent {
                let ack = Packet { seq: una + 100 * n, flags: flags::ACK, ..Packet::new(0, 52, 0) };
                sender.hear(&ack, Carried::NONE, None, false, ms(at + 20), &profile, &mut out);
            }
            windows.push(sender.window().cwnd / 100.0);
            at += 50;
        }
        windows
    };
    assert_eq!(windows(Profile::linux()), [20.0, 20.0, 40.0]);
    assert_eq!(windows(Profile::rfc())[0], 14.0);
}

/// Of a flow that only sends the window is `max_window`, unless the send buffer binds.
#[test]
fn a_burst_that_a_window_which_nobody_tells_cuts() {
    let leaves = |max_window, send_buffer| {
        let profile = Profile { mss: 100, max_window, send_buffer, ..Profile::linux() };
        let (mut sender, mut out) = (Sender::new(&profile, control(&profile), None), Vec::new());
        sender.accept(
            crate::profile::Ecn::Off,
            Some(Duration::from_millis(20)),
            false,
            ms(20),
            &profile,
            &mut out,
        );
        out.iter().map(|segment| segment.payload).collect::<Vec<_>>()
    };
    assert_eq!(leaves(350, 1 << 40), [100, 100, 100, 50]);
    assert_eq!(leaves(450, 1 << 40), [100, 100, 100, 100]);
    assert_eq!(leaves(450, 350), [100, 100, 100]);
}

/// RFC 7323: the windows of SYNs are not scaled, those that follow are.
#[test]
fn scaled() {
    dialogue(
        Wire::telling(&Profile { max_window: 200000, ..hundred() }),
        "0 client open
         30 client write 100",
        "0 > SYN win 65535
         10 < SYN ack 0 win 65535
         20 client opened
         20 > ack 0 win 50000
         30 > 0:100 ack 0 win 50000
         30 server opened
         40 server received 100
         240 < ack 100 win 50000",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// A writer is told of room when a third of the buffer is free.
#[test]
fn a_send_buffer() {
    dialogue(
        Wire::new(&Profile { send_buffer: 300, ..hundred() }),
        "0 client open
         30 client write 1000
         60 client write 100",
        "opened
         30 client wrote 300
         30 > 0:100
         30 > 100:200
         30 > 200:300
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200
         40 server received 300
         50 client room 200
         60 > 300:400
         70 server received 400
         70 < ack 400",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// A short segment waits while anything is unacknowledged; a FIN does not.
#[test]
fn nagle() {
    dialogue(
        Wire::new(&Profile { nagle: true, ..hundred() }),
        "0 client open
         30 client write 50
         31 client write 30
         32 client write 30
         300 client write 50
         301 client write 20
         302 client close",
        "opened
         30 > 0:50
         30 server opened
         40 server received 50
         240 < ack 50
         250 > 50:110
         260 server received 110
         302 > 110:180 FIN 180
         312 server received 180
         312 server peer closed
         312 < ack 181",
        ["FIN-WAIT-2", "CLOSE-WAIT"],
    );
}

/// Each piece leaves at once.
#[test]
fn without_nagle() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 50
         31 client write 30
         32 client write 30",
        "opened
         30 > 0:50
         30 server opened
         31 > 50:80
         32 > 80:110
         40 server received 50
         41 server received 80
         41 < ack 80
         42 server received 110
         242 < ack 110",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// SND.WL1 and SND.WL2 (section 3.10.7.4): what counts is the segment numbered last, and of those with one number the one that
/// acknowledges most, also where the edge moves back by it.
#[test]
fn the_last_valid_window_counts() {
    let profile = hundred();
    let mut sender = Sender::new(&profile, control(&profile), Some(0));
    sender.talk(&profile);
    sender.accept(crate::profile::Ecn::Off, None, false, ms(0), &profile, &mut Vec::new());
    sender.offer(500, ms(0), &profile, &mut Vec::new());
    assert_eq!(sender.numbers(), (0, 500));
    for (seq, ack, window, edge) in [
        (0, 0, 1000, 1000),
        (10, 100, 800, 900), // a later number: the edge moves back
        (9, 200, 5000, 900), // an earlier one says nothing
        (10, 50, 5000, 900), // nor does the same one that acknowledges less
        (10, 100, 700, 800),
        (10, 200, 700, 900),
        (11, 200, 0, 200),
        (12, 501, 9000, 200), // of something that was never sent
    ] {
        sender.window_told(seq, ack, window);
        assert_eq!(sender.edge(&profile), edge, "{seq} {ack} {window}");
    }
    assert!(!sender.is_closed(&profile), "its first byte is not acknowledged yet");
}
