//! Resets (RFC 9293 sections 3.5.2, 3.5.3 and 3.10.7; RFC 5961).

use super::*;

/// RST (section 3.10.5); the other end is told.
#[test]
fn an_abort() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         30 client write 100
         60 client abort
         90 server write 10",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 > 0:100
         30 server opened
         40 server received 100
         60 client closed
         60 > RST 100
         70 server reset
         90 server wrote 0",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// The same from the other side, with data on its way.
#[test]
fn an_abort_by_the_server() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         30 client write 300
         35 server abort",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
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
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// Who speaks to a closed end gets another.
#[test]
fn a_lost_rst() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "lose 6
         0 client open
         30 client write 100
         250 client abort
         300 server write 10",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 > 0:100
         30 server opened
         40 server received 100
         240 < ack 100
         250 client closed
         x 250 > RST 100
         250 > RST 100
         260 server reset
         300 server wrote 0",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// RFC 5961 section 3: an ACK asks, and the closed end answers with the right number.
#[test]
fn a_rst_whose_number_is_not_the_one_expected() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "lose 4
         0 client open
         30 client write 100
         31 client abort",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         x 30 > 0:100
         30 server opened
         31 client closed
         31 > RST 100
         41 < ack 0
         51 > RST 0
         61 server reset",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// It is ignored.
#[test]
fn a_rst_outside_the_window() {
    let mut wire = Wire::new(&Profile { max_window: 1000, ..hundred() });
    wire.run(
        "0 client open
         35 inject > RST 70000
         40 client write 100",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         40 > 0:100
         50 server received 100
         250 < ack 100",
    );
    assert_eq!(wire.states(), ["ESTABLISHED", "ESTABLISHED"]);
}

/// It is answered with an ACK, and the connection goes on.
#[test]
fn a_blind_rst_inside_the_window() {
    let mut wire = Wire::new(&Profile { max_window: 1000, ..hundred() });
    wire.run(
        "0 client open
         35 inject > RST 500
         60 client write 100",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         35 < ack 0
         60 > 0:100
         70 server received 100
         270 < ack 100",
    );
    assert_eq!(wire.states(), ["ESTABLISHED", "ESTABLISHED"]);
}

/// RFC 5961 section 4: the same.
#[test]
fn a_blind_syn() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         35 inject > SYN
         60 client write 100",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         35 < ack 0
         60 > 0:100
         70 server received 100
         270 < ack 100",
    );
    assert_eq!(wire.states(), ["ESTABLISHED", "ESTABLISHED"]);
}

/// The server listens again.
#[test]
fn in_syn_received() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         15 inject > RST 0",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 < RST 0
         40 client reset",
    );
    assert_eq!(wire.states(), ["CLOSED", "LISTEN"]);
}

/// A server that is closed refuses the SYN.
#[test]
fn in_syn_sent() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         5 server close",
    );
    same(
        &wire,
        "0 > SYN
         5 server closed
         10 < RST 0 ack 0
         20 client reset",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// The close is broken off.
#[test]
fn in_fin_wait_1() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "lose 4
         0 client open
         100 client close
         110 inject < RST 0",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         x 100 > FIN 0
         110 client reset",
    );
    assert_eq!(wire.states(), ["CLOSED", "ESTABLISHED"]);
}

/// The other end aborts instead of closing.
#[test]
fn in_fin_wait_2() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         100 client close
         150 server abort",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 server closed
         150 < RST 0
         160 client reset",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// The end that closed aborts what is left.
#[test]
fn in_close_wait() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         100 client close
         150 client abort",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         150 client closed
         150 > RST 1
         160 server reset",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// RST in CLOSING: CLOSED, and no more is said than that.
#[test]
fn in_closing() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "lose 6 7
         0 client open
         100 client close
         100 server close
         115 inject < RST 1",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
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
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// The same in LAST-ACK.
#[test]
fn in_last_ack() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "lose 6
         0 client open
         100 client close
         120 server close
         125 inject > RST 1",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         x 120 < FIN 0 ack 1
         125 server closed",
    );
    assert_eq!(wire.states(), ["FIN-WAIT-2", "CLOSED"]);
}

/// The end of TIME-WAIT.
#[test]
fn in_time_wait() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         100 client close
         120 server close
         150 inject < RST 1",
    );
    same(
        &wire,
        "0 > SYN
         10 < SYN ack 0
         20 client opened
         20 > ack 0
         30 server opened
         100 > FIN 0
         110 server peer closed
         110 < ack 1
         120 < FIN 0 ack 1
         130 client peer closed
         130 client closed
         130 > ack 1
         140 server closed",
    );
    assert_eq!(wire.states(), ["CLOSED", "CLOSED"]);
}

/// SYN-SENT is deleted without a segment.
#[test]
fn an_abort_before_it_is_open() {
    let mut wire = Wire::new(&hundred());
    wire.run(
        "0 client open
         5 client abort",
    );
    same(
        &wire,
        "0 > SYN
         5 client closed
         10 < SYN ack 0
         20 > RST 0",
    );
    assert_eq!(wire.states(), ["CLOSED", "LISTEN"]);
}

/// A segment that is no SYN is refused.
#[test]
fn data_to_a_server_that_listens() {
    let mut wire = Wire::listening(&hundred());
    wire.run(
        "5 inject > 0:100
         10 client open",
    );
    same(
        &wire,
        "5 < RST 0
         10 > SYN
         20 < SYN ack 0
         30 client opened
         30 > ack 0
         40 server opened",
    );
    assert_eq!(wire.states(), ["ESTABLISHED", "ESTABLISHED"]);
}
