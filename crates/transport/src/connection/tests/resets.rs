//! Resets (RFC 9293 sections 3.5.2, 3.5.3 and 3.10.7; RFC 5961).

use super::*;

/// RST (section 3.10.5); the other end is told.
#[test]
fn an_abort() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 100
         60 client abort
         90 server write 10",
        "opened
         30 > 0:100
         30 server opened
         40 server received 100
         60 client closed
         60 > RST 100
         70 server reset
         90 server wrote 0",
        ["CLOSED", "CLOSED"],
    );
}

/// The same from the other side, with data on its way.
#[test]
fn an_abort_by_the_server() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 300
         35 server abort",
        "opened
         30 > 0:100
         30 > 100:200
         30 > 200:300
         30 server opened
         35 server closed
         35 < RST 0
         40 < RST 0
         40 < RST 0
         40 < RST 0
         45 client reset",
        ["CLOSED", "CLOSED"],
    );
}

/// Who speaks to a closed end gets another.
#[test]
fn a_lost_rst() {
    dialogue(
        Wire::new(&hundred()),
        "lose 6
         0 client open
         30 client write 100
         250 client abort
         300 server write 10",
        "opened
         30 > 0:100
         30 server opened
         40 server received 100
         240 < ack 100
         250 client closed
         x 250 > RST 100
         250 > RST 100
         260 server reset
         300 server wrote 0",
        ["CLOSED", "CLOSED"],
    );
}

/// RFC 5961 section 3: an ACK asks, and the closed end answers with the right number.
#[test]
fn a_rst_whose_number_is_not_the_one_expected() {
    dialogue(
        Wire::new(&hundred()),
        "lose 4
         0 client open
         30 client write 100
         31 client abort",
        "opened
         x 30 > 0:100
         30 server opened
         31 client closed
         31 > RST 100
         41 < ack 0
         51 > RST 0
         61 server reset",
        ["CLOSED", "CLOSED"],
    );
}

/// It is ignored.
#[test]
fn a_rst_outside_the_window() {
    dialogue(
        Wire::new(&Profile { max_window: 1000, ..hundred() }),
        "0 client open
         35 inject > RST 70000
         40 client write 100",
        "opened
         30 server opened
         40 > 0:100
         50 server received 100
         250 < ack 100",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// It is answered with an ACK, and the connection goes on.
#[test]
fn a_blind_rst_inside_the_window() {
    dialogue(
        Wire::new(&Profile { max_window: 1000, ..hundred() }),
        "0 client open
         35 inject > RST 500
         60 client write 100",
        "opened
         30 server opened
         35 < ack 0
         60 > 0:100
         70 server received 100
         270 < ack 100",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// RFC 5961 section 4: the same.
#[test]
fn a_blind_syn() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         35 inject > SYN
         60 client write 100",
        "opened
         30 server opened
         35 < ack 0
         60 > 0:100
         70 server received 100
         270 < ack 100",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// The server listens again.
#[test]
fn in_syn_received() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         15 inject > RST 0",
        "opened
         30 < RST 0
         40 client reset",
        ["CLOSED", "LISTEN"],
    );
}

/// A server that is closed refuses the SYN.
#[test]
fn in_syn_sent() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         5 server close",
        "0 > SYN
         5 server closed
         10 < RST 0 ack 0
         20 client reset",
        ["CLOSED", "CLOSED"],
    );
}

/// The close is broken off.
#[test]
fn in_fin_wait_1() {
    dialogue(
        Wire::new(&hundred()),
        "lose 4
         0 client open
         100 client close
         110 inject < RST 0",
        "opened
         30 server opened
         x 100 > FIN 0
         110 client reset",
        ["CLOSED", "ESTABLISHED"],
    );
}

/// The other end aborts instead of closing.
#[test]
fn in_fin_wait_2() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         100 client close
         150 server abort",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 server closed
         150 < RST 0
         160 client reset",
        ["CLOSED", "CLOSED"],
    );
}

/// The end that closed aborts what is left.
#[test]
fn in_close_wait() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         100 client close
         150 client abort",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 client closed
         150 > RST 1
         160 server reset",
        ["CLOSED", "CLOSED"],
    );
}

/// RST in CLOSING: CLOSED, and no more is said than that.
#[test]
fn in_closing() {
    dialogue(
        Wire::new(&hundred()),
        "lose 6 7
         0 client open
         100 client close
         100 server close
         115 inject < RST 1",
        "opened
         30 server opened
         100 > FIN 0
         100 < FIN 0
         110 server peer closed
         x 110 < ack 1
         110 client peer closed
         x 110 > ack 1
         115 client closed
         1100 < FIN 0 ack 1
         1110 > RST 1
         1120 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// The same in LAST-ACK.
#[test]
fn in_last_ack() {
    dialogue(
        Wire::new(&hundred()),
        "lose 6
         0 client open
         100 client close
         120 server close
         125 inject > RST 1",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         x 120 < FIN 0 ack 1
         125 server closed",
        ["FIN-WAIT-2", "CLOSED"],
    );
}

/// The end of TIME-WAIT.
#[test]
fn in_time_wait() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         100 client close
         120 server close
         150 inject < RST 1",
        "opened
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         120 < FIN 0 ack 1
         130 client peer closed
         130 client closed
         130 > ack 1
         140 server closed",
        ["CLOSED", "CLOSED"],
    );
}

/// SYN-SENT is deleted without a segment.
#[test]
fn an_abort_before_it_is_open() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         5 client abort",
        "0 > SYN
         5 client closed
         10 < SYN ack 0
         20 > RST 0",
        ["CLOSED", "LISTEN"],
    );
}

/// A segment that is no SYN is refused.
#[test]
fn data_to_a_server_that_listens() {
    dialogue(
        Wire::listening(&hundred()),
        "5 inject > 0:100
         10 client open",
        "5 < RST 0
         10 > SYN
         20 < SYN ack 0
         30 client opened
         30 > ack 0
         40 server opened",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}
