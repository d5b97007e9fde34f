//! Opening (RFC 9293 section 3.5).

use super::*;
use crate::profile::Handshake;

/// RFC 9293 section 3.5, figure 6.
#[test]
fn three_segments_open_a_connection() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 100",
        "opened
         30 > 0:100
         30 server opened
         40 server received 100
         240 < ack 100",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Sent again after a second (RFC 6298 section 2.1).
#[test]
fn a_lost_syn() {
    dialogue(
        Wire::new(&hundred()),
        "lose 1
         0 client open
         2000 client write 300",
        "x 0 > SYN
         1000 > SYN
         1010 < SYN ack 0
         1020 client opened
         1020 > ack 0
         1030 server opened
         2000 > 0:100
         2010 server received 100
         2210 < ack 100
         2220 > 100:200
         2220 > 200:300
         2230 server received 200
         2230 server received 300
         2230 < ack 300",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Either end sends again; the second SYN is answered as the first was, and what comes twice is acknowledged.
#[test]
fn a_lost_syn_ack() {
    dialogue(
        Wire::new(&hundred()),
        "lose 2
         0 client open",
        "0 > SYN
         x 10 < SYN ack 0
         1000 > SYN
         1010 < SYN ack 0
         1010 < SYN ack 0
         1020 client opened
         1020 > ack 0
         1020 > ack 0
         1030 server opened",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// The SYN-ACK goes again, and what acknowledges it opens the server, whose data waited.
#[test]
fn a_lost_last_ack_where_the_server_speaks_first() {
    dialogue(
        Wire::new(&hundred()),
        "lose 3
         0 client open
         25 server write 100",
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         x 20 > ack 0
         1010 < SYN ack 0
         1020 > ack 0
         1030 server opened
         1030 < 0:100
         1040 client received 100
         1240 > ack 100",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Data shows it as well.
#[test]
fn a_lost_last_ack_before_data() {
    dialogue(
        Wire::new(&hundred()),
        "lose 3
         0 client open
         30 client write 100",
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         x 20 > ack 0
         30 > 0:100
         40 server opened
         40 server received 100
         240 < ack 100",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Six SYNs, and the client is told.
#[test]
fn nobody_answers() {
    dialogue(
        Wire::new(&hundred()),
        "lose 1 2 3 4 5 6
         0 client open",
        "x 0 > SYN
         x 1000 > SYN
         x 3000 > SYN
         x 7000 > SYN
         x 15000 > SYN
         x 31000 > SYN
         63000 client reset",
        ["CLOSED", "LISTEN"],
    );
}

/// Its six SYN-ACKs are lost and so are their ACKs.
#[test]
fn the_server_is_never_answered() {
    dialogue(
        Wire::new(&hundred()),
        "lose 3 4 6 7 8 9 10 11 12 13 14
         0 client open
         100 client abort",
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         x 20 > ack 0
         100 client closed
         x 100 > RST 0
         1010 < SYN ack 0
         x 1020 > RST 0
         x 3010 < SYN ack 0
         x 7010 < SYN ack 0
         x 15010 < SYN ack 0
         x 31010 < SYN ack 0
         63010 server reset",
        ["CLOSED", "CLOSED"],
    );
}

/// Both ends are open at once (ns-2's one-way agents); the first timeout is the one of a SYN.
#[test]
fn no_handshake() {
    dialogue(
        Wire::new(&Profile { handshake: Handshake::None, ..hundred() }),
        "lose 1
         0 client open
         5 client write 250
         40 server write 100",
        "0 client opened
         0 server opened
         x 5 > 0:100
         5 > 100:200
         5 > 200:250
         15 < ack 0 sack 100:200
         15 < ack 0 sack 100:250
         40 < 0:100
         50 client received 100
         250 > ack 100
         1005 > 0:100 ack 100
         1015 server received 250
         1015 < ack 250",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Linux since 6.5: the first five timeouts of a SYN last a second (`tcp_syn_linear_timeouts` is 4); they add
/// to the tries.
#[test]
fn linux_repeats_four_syns_without_back_off() {
    dialogue(
        Wire::new(&Profile { timer_tick: Duration::ZERO, ..Profile::linux() }),
        "lose 1 2 3 4 5 6 7 8 9 10
         0 client open",
        "x 0 > SYN
         x 1000 > SYN
         x 2000 > SYN
         x 3000 > SYN
         x 4000 > SYN
         x 5000 > SYN
         x 7000 > SYN
         x 11000 > SYN
         x 19000 > SYN
         x 35000 > SYN
         67000 client reset",
        ["CLOSED", "LISTEN"],
    );
}

/// RFC 9293 section 3.10.7.3: in SYN-SENT an ACK of something that was never sent is answered with a RST.
#[test]
fn syn_sent_checks_what_is_acknowledged() {
    dialogue(
        Wire::new(&hundred()),
        "lose 1
         0 client open
         5 inject < ACK 300
         6 inject < SYN-ACK 300
         7 inject < ACK 0",
        "x 0 > SYN
         5 > RST 300
         6 > RST 300
         1000 > SYN
         1010 < SYN ack 0
         1020 client opened
         1020 > ack 0
         1030 server opened",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// RFC 9293 sections 3.10.7.2 and 3.10.7.4: a segment without ACK is dropped. Where windows are announced,
/// all data has it.
#[test]
fn data_without_ack_is_dropped() {
    let mut wire = Wire::telling(&Profile { max_window: 1000, ..hundred() });
    wire.connection.tail(End::Server).state = State::Listen;
    dialogue(
        wire,
        "0 inject > 0:100
         10 client open
         60 inject > 0:100",
        "10 > SYN win 1000
         20 < SYN ack 0 win 1000
         30 client opened
         30 > ack 0 win 1000
         40 server opened",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}
