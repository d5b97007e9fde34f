//! Data both ways.

use super::*;
use crate::profile::LossDetection;

/// The response carries the ACK of the request.
#[test]
fn a_request_and_its_response() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 100
         41 server write 150
         70 client write 50
         81 server write 50",
        "opened
         30 > 0:100
         30 server opened
         40 server received 100
         41 < 0:100 ack 100
         41 < 100:150 ack 100
         51 client received 100
         51 client received 150
         51 > ack 150
         70 > 100:150 ack 150
         80 server received 150
         81 < 150:200 ack 150
         91 client received 200
         291 > ack 200",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// It rides on the request where that comes before it is due; otherwise it goes alone.
#[test]
fn an_ack_held_back_beside_a_request() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 100
         41 server write 50
         100 client write 50
         111 server write 50
         500 client write 10",
        "opened
         30 > 0:100
         30 server opened
         40 server received 100
         41 < 0:50 ack 100
         51 client received 50
         100 > 100:150 ack 50
         110 server received 150
         111 < 50:100 ack 150
         121 client received 100
         321 > ack 100
         500 > 150:160 ack 100
         510 server received 160
         710 < ack 160",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// What arrives is acknowledged by what leaves.
#[test]
fn data_both_ways() {
    dialogue(
        Wire::new(&hundred()),
        "0 client open
         30 client write 300
         30 server write 300
         60 client write 200
         60 server write 200",
        "opened
         30 > 0:100
         30 > 100:200
         30 > 200:300
         30 server opened
         30 < 0:100
         30 < 100:200
         30 < 200:300
         40 server received 100
         40 server received 200
         40 < ack 200
         40 server received 300
         40 client received 100
         40 client received 200
         40 > ack 200
         40 client received 300
         60 > 300:400 ack 300
         60 > 400:500 ack 300
         60 < 300:400 ack 300
         60 < 400:500 ack 300
         70 server received 400
         70 server received 500
         70 < ack 500
         70 client received 400
         70 client received 500
         70 > ack 500",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// Reports ride on data.
#[test]
fn a_loss_while_both_send() {
    dialogue(
        Wire::new(&hundred()),
        "lose 5
         0 client open
         30 client write 400
         41 server write 300
         61 client write 100",
        "opened
         30 > 0:100
         x 30 > 100:200
         30 > 200:300
         30 > 300:400
         30 server opened
         40 server received 100
         40 < ack 100 sack 200:300
         40 < ack 100 sack 200:400
         41 < 0:100 ack 100 sack 200:400
         41 < 100:200 ack 100 sack 200:400
         41 < 200:300 ack 100 sack 200:400
         51 client received 100
         51 client received 200
         51 > ack 200
         51 client received 300
         61 > 400:500 ack 300
         71 < ack 100 sack 200:500
         81 > 100:200 ack 300
         91 server received 500
         91 < ack 500",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// RFC 5681 section 2: only an ACK without data is a duplicate.
#[test]
fn without_sack_duplicate_acks_carry_nothing() {
    dialogue(
        Wire::new(&Profile { sack: false, loss_detection: LossDetection::DuplicateAcks, ..hundred() }),
        "lose 4
         0 client open
         30 client write 500
         41 server write 300",
        "opened
         x 30 > 0:100
         30 > 100:200
         30 > 200:300
         30 > 300:400
         30 > 400:500
         30 server opened
         40 < ack 0
         40 < ack 0
         40 < ack 0
         40 < ack 0
         41 < 0:100
         41 < 100:200
         41 < 200:300
         50 > 0:100
         51 client received 100
         51 client received 200
         51 > ack 200
         51 client received 300
         60 server received 500
         60 < ack 500
         251 > ack 300",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}

/// The first request is acknowledged at once; from its first response on the server holds ACKs back for the next.
#[test]
fn linux_answers_with_what_it_has_to_say() {
    dialogue(
        Wire::new(&Profile { mss: 100, ..Profile::linux() }),
        "0 client open
         30 client write 50
         41 server write 50
         60 client write 50
         71 server write 50
         200 client write 50
         260 server write 50",
        "opened
         30 > 0:50
         30 server opened
         40 server received 50
         40 < ack 50
         41 < 0:50 ack 50
         51 client received 50
         51 > ack 50
         60 > 50:100 ack 50
         70 server received 100
         71 < 50:100 ack 100
         81 client received 100
         121 > ack 100
         200 > 100:150 ack 100
         210 server received 150
         250 < ack 150
         260 < 100:150 ack 150
         270 client received 150
         270 > ack 150",
        ["ESTABLISHED", "ESTABLISHED"],
    );
}
