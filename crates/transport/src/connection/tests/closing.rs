//! Closing (RFC 9293 section 3.6).

use super::*;

/// Figure 12: FIN, ACK, FIN, ACK, and TIME-WAIT.
#[test]
fn one_end_and_then_the_other() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 250
         300 client close
         350 server close",
        "opened
         30 > 0:100
         30 > 100:200
         30 > 200:250
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200
         40 server received 250
         240 < ack 250
         300 > FIN 250
         310 server peer closed
         310 < ack 251
         350 < FIN 0 ack 251
         360 client peer closed
         360 client closed
         360 > ack 1
         370 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// What waits for the window goes with the FIN, a full segment too: it takes one number, no room.
#[test]
fn data_and_fin_together() {
    dialogue(
        Wire::new(&Profile { initial_window: 2.0, ..hundred() }),
        "0 client open
         30 client write 400
         30 client close
         100 server close",
        "opened
         30 > 0:100
         30 > 100:200
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200
         50 > 200:300
         50 > 300:400 FIN 400
         60 server received 300
         60 server received 400
         60 server peer closed
         60 < ack 401
         100 < FIN 0 ack 401
         110 client peer closed
         110 client closed
         110 > ack 1
         120 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// Figure 13: CLOSING on both sides.
#[test]
fn both_at_once() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         100 client close
         100 server close",
        "opened
         30 server opened
         100 > FIN 0
         100 < FIN 0
         110 server peer closed
         110 < ack 1
         110 client peer closed
         110 > ack 1
         120 client closed
         120 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// The same with text before the FINs.
#[test]
fn both_at_once_with_data() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         100 client write 150
         100 client close
         100 server write 50
         100 server close",
        "opened
         30 server opened
         100 > 0:100
         100 > 100:150
         100 > FIN 150
         100 < 0:50
         100 < FIN 50
         110 server received 100
         110 server received 150
         110 < ack 150
         110 server peer closed
         110 < ack 151
         110 client received 50
         110 client peer closed
         110 > ack 51
         120 client closed
         120 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// Data goes on in the other direction (section 3.6).
#[test]
fn half_a_close() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 100
         30 client close
         60 server write 350
         100 server write 50
         100 server close",
        "opened
         30 > 0:100
         30 > FIN 100
         30 server opened
         40 server received 100
         40 server peer closed
         40 < ack 101
         60 < 0:100 ack 101
         60 < 100:200 ack 101
         60 < 200:300 ack 101
         60 < 300:350 ack 101
         70 client received 100
         70 client received 200
         70 > ack 200
         70 client received 300
         70 client received 350
         70 > ack 350
         100 < 350:400 ack 101
         100 < FIN 400 ack 101
         110 client received 400
         110 client peer closed
         110 client closed
         110 > ack 401
         120 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// And the client goes on.
#[test]
fn the_server_closes_first() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 server close
         60 client write 200
         200 client close",
        "opened
         30 server opened
         30 < FIN 0
         40 client peer closed
         40 > ack 1
         60 > 0:100 ack 1
         60 > 100:200 ack 1
         70 server received 100
         70 server received 200
         70 < ack 200
         200 > FIN 200 ack 1
         210 server peer closed
         210 server closed
         210 < ack 201
         220 client closed",
        ["CLOSED", "CLOSED"],
    );
}

/// It is repeated by the retransmission timer.
#[test]
fn a_lost_fin() {
    dialogue(
        Wire::new(&hundred()),
        "lose 4
         0 client open
         100 client close
         1500 server close",
        "opened
         30 server opened
         x 100 > FIN 0
         1100 > FIN 0
         1110 server peer closed
         1110 < ack 1
         1500 < FIN 0 ack 1
         1510 client peer closed
         1510 client closed
         1510 > ack 1
         1520 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// The FIN comes twice and is acknowledged twice.
#[test]
fn a_lost_ack_of_a_fin() {
    dialogue(
        Wire::new(&hundred()),
        "lose 5
         0 client open
         100 client close
         1500 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         x 110 < ack 1
         1100 > FIN 0
         1110 < ack 1 sack 0:1
         1500 < FIN 0 ack 1
         1510 client peer closed
         1510 client closed
         1510 > ack 1
         1520 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// TIME-WAIT answers the FIN that is repeated, and begins anew.
#[test]
fn a_lost_last_ack() {
    dialogue(
        Wire::new(&hundred()),
        "lose 7
         0 client open
         100 client close
         150 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 < FIN 0 ack 1
         160 client peer closed
         160 client closed
         x 160 > ack 1
         1150 < FIN 0 ack 1
         1160 > ack 1 sack 0:1
         1170 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// Nobody is left to answer but with a RST, which ends LAST-ACK.
#[test]
fn without_time_wait() {
    dialogue(
        Wire::new(&Profile { time_wait: Duration::ZERO, ..hundred() }),
        "lose 7
         0 client open
         100 client close
         150 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 < FIN 0 ack 1
         160 client peer closed
         160 client closed
         x 160 > ack 1
         1150 < FIN 0 ack 1
         1160 > RST 1
         1170 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// It has no half of its own; a timer repeats it.
#[test]
fn a_lost_fin_of_a_server_that_never_wrote() {
    dialogue(
        Wire::one_way(&hundred()),
        "lose 6 7
         0 client open
         100 client close
         150 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         x 150 < FIN 0 ack 1
         x 1150 < FIN 0 ack 1
         3150 < FIN 0 ack 1
         3160 client peer closed
         3160 client closed
         3160 > ack 1
         3170 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// The same from the other side.
#[test]
fn a_lost_last_ack_to_a_server_that_never_wrote() {
    dialogue(
        Wire::one_way(&hundred()),
        "lose 7
         0 client open
         100 client close
         150 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 < FIN 0 ack 1
         160 client peer closed
         160 client closed
         x 160 > ack 1
         1150 < FIN 0 ack 1
         1160 > ack 1
         1170 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// It counts where the data before it has come (section 3.10.7.4, eighth).
#[test]
fn a_fin_overtakes_lost_data() {
    dialogue(
        Wire::new(&hundred()),
        "lose 5
         0 client open
         30 client write 250
         30 client close
         1000 server close",
        "opened
         30 > 0:100
         x 30 > 100:200
         30 > 200:250
         30 > FIN 250
         30 server opened
         40 server received 100
         40 < ack 100 sack 200:250
         40 < ack 100 sack 200:251
         1000 < FIN 0 ack 100 sack 200:251
         1010 client peer closed
         1010 > ack 1
         1050 > 100:200 ack 1
         1060 server received 250
         1060 server peer closed
         1060 server closed
         1060 < ack 251
         1070 client closed",
        ["CLOSED", "CLOSED"],
    );
}

/// "This should not occur": CLOSE-WAIT ignores it.
#[test]
fn text_behind_a_fin_is_ignored() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 100
         30 client close
         60 inject > 101:150
         80 server close",
        "opened
         30 > 0:100
         30 > FIN 100
         30 server opened
         40 server received 100
         40 server peer closed
         40 < ack 101
         80 < FIN 0 ack 101
         90 client peer closed
         90 client closed
         90 > ack 1
         100 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// CLOSE in SYN-SENT deletes the connection (section 3.10.4); whoever answers is refused.
#[test]
fn closing_before_it_is_open() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         5 client close",
        "0 > SYN
         5 client closed
         10 < SYN ack 0
         20 > RST 0",
        ["CLOSED", "LISTEN"],
    );
}

/// CLOSE in SYN-RECEIVED is queued until the state is ESTABLISHED.
#[test]
fn closing_while_it_opens() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         15 server close
         100 client close",
        "opened
         30 server opened
         30 < FIN 0
         40 client peer closed
         40 > ack 1
         100 > FIN 0 ack 1
         110 server peer closed
         110 server closed
         110 < ack 1
         120 client closed",
        ["CLOSED", "CLOSED"],
    );
}

/// "Connection closing".
#[test]
fn nothing_is_taken_after_a_close() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client close
         40 client write 100
         60 server write 100
         90 server close",
        "opened
         30 > FIN 0
         30 server opened
         40 client wrote 0
         40 server peer closed
         40 < ack 1
         60 < 0:100 ack 1
         70 client received 100
         90 < FIN 100 ack 1
         100 client peer closed
         100 client closed
         100 > ack 101
         110 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// An application that closes at once saves a segment.
#[test]
fn linux_waits_with_the_ack_of_a_fin() {
    dialogue(
        Wire::new(&Profile { mss: 100, ..Profile::linux() }),
        "0 client open
         100 client close
         111 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         111 < FIN 0 ack 1
         121 client peer closed
         121 client closed
         121 > ack 1
         131 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// Where no data came before it the ACK goes alone within a tick (after data in 40 ms: see the tables of Linux).
#[test]
fn linux_waits_in_vain() {
    dialogue(
        Wire::new(&Profile { mss: 100, ..Profile::linux() }),
        "0 client open
         100 client close
         300 server close",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         114 < ack 1
         300 < FIN 0 ack 1
         310 client peer closed
         310 client closed
         310 > ack 1
         320 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// Given up after the retries.
#[test]
fn no_answer_to_a_fin() {
    dialogue(
        Wire::new(&Profile { retries: Some(3), ..hundred() }),
        "lose 4 5 6 7 8 9 10
         0 client open
         100 client close",
        "opened
         30 server opened
         x 100 > FIN 0
         x 1100 > FIN 0
         x 3100 > FIN 0
         x 7100 > FIN 0
         15100 client reset",
        ["CLOSED", "ESTABLISHED"],
    );
}

/// A one-way connection notifies of its end only: here nothing is ever acknowledged.
#[test]
fn a_one_way_connection_gives_up() {
    let profile = Profile { handshake: Handshake::None, retries: Some(2), ..hundred() };
    let mut c = Connection::one_way(&profile, control(&profile), None);
    let (mut out, mut notices) = (Vec::new(), Vec::new());
    let mut at = |now, call: &mut dyn FnMut(&mut Outlet)| {
        call(&mut Outlet { now, profile: &profile, out: &mut out, notices: &mut notices });
        notices.clone()
    };
    at(Time::ZERO, &mut |to| c.open(to));
    let (mut wakes, mut notices) = (0, Vec::new());
    while c.deadline(End::Client) != Time::NEVER {
        assert_eq!(notices, []);
        wakes += 1;
        notices = at(c.deadline(End::Client), &mut |to| c.wake(End::Client, to));
    }
    assert_eq!((wakes, notices), (3, vec![Notice::Reset(End::Client)]));
}
