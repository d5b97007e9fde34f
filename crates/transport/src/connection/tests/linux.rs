//! Beside Linux 6.18: which segments it sends, and when, where applications talk.
//!
//! The second text of each test is what its kernel did, as validation/linux/dialogue.py saw it, in whole ms; the first is what the
//! applications did, 0.2 ms later there. Segments go in the same order here, each at the same time but for two ticks of 4 ms,
//! to which the kernel rounds the wait of an ACK up, and a ms for the program.

use super::*;

/// The script, run with the stack `linux`, gives the kernel's segments.
#[track_caller]
fn beside(script: &str, kernel: &str) {
    let profile = Profile::linux();
    let mut wire = Wire::new(&profile);
    wire.run(script);
    // Data says nothing of what came before anything did.
    let plain = |line: &str| line.trim().trim_end_matches(" ack 0").to_string();
    let is_segment = |line: &&str| line.contains('>') || line.contains('<');
    let ours: Vec<String> = wire.trace.iter().map(String::as_str).filter(is_segment).map(plain).collect();
    let theirs: Vec<String> = kernel.lines().map(plain).filter(|line| !line.is_empty()).collect();
    let parts = |line: &str| {
        let (at, text) = line.split_once(' ').expect("a time");
        (at.parse::<f64>().expect("ms"), text.to_string())
    };
    // Each way for itself: what happens at both ends in the same instant has no order.
    let way = |lines: &[String], sign: char| {
        let parts = lines.iter().map(|line| parts(line)).filter(|(_, text)| text.starts_with(sign));
        parts.collect::<Vec<_>>()
    };
    let same = ['>', '<'].into_iter().all(|sign| {
        let (a, b) = (way(&ours, sign), way(&theirs, sign));
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.1 == b.1 && (a.0 - b.0).abs() <= 9.0)
    });
    assert!(same, "here\n{}\nthere\n{}", ours.join("\n"), theirs.join("\n"));
}

/// The FIN of the end that is closed carries the ACK of the other.
#[test]
fn a_close_that_is_answered() {
    beside(
        "0 client open
         100 client close
         111 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         100 > FIN 0 ack 0
         111 < FIN 0 ack 1
         121 > ack 1",
    );
}

/// Without data before it the ACK of a FIN waits for a tick.
#[test]
fn a_close_that_is_answered_late() {
    beside(
        "0 client open
         100 client close
         300 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         100 > FIN 0 ack 0
         117 < ack 1
         300 < FIN 0 ack 1
         310 > ack 1",
    );
}

/// CLOSING.
#[test]
fn both_close_at_once() {
    beside(
        "0 client open
         100 client close
         100 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         100 < FIN 0 ack 0
         100 > FIN 0 ack 0
         110 < ack 1
         110 > ack 1",
    );
}

/// The response of an end that is closed on the other side.
#[test]
fn half_a_close() {
    beside(
        "0 client open
         30 client write 100
         31 client close
         60 server write 3500
         100 server write 50
         101 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         30 > 0:100 ack 0
         31 > FIN 100 ack 0
         40 < ack 100
         60 < 0:1448 ack 101
         60 < 1448:2896 ack 101
         60 < 2896:3500 ack 101
         70 > ack 1448
         70 > ack 2896
         70 > ack 3500
         100 < 3500:3550 ack 101
         101 < FIN 3550 ack 101
         110 > ack 3550
         111 > ack 3551",
    );
}

/// With its response.
#[test]
fn the_server_closes_first() {
    beside(
        "0 client open
         30 client write 100
         60 server write 50
         61 server close
         90 client write 200
         200 client close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         30 > 0:100 ack 0
         40 < ack 100
         60 < 0:50 ack 100
         61 < FIN 50 ack 100
         70 > ack 50
         90 > 100:300 ack 51
         148 < ack 300
         200 > FIN 300 ack 51
         210 < ack 301",
    );
}

/// RST.
#[test]
fn an_abort() {
    beside(
        "0 client open
         30 client write 100
         60 client abort",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         30 > 0:100 ack 0
         40 < ack 100
         60 > RST 100",
    );
}

/// RST.
#[test]
fn an_abort_by_the_server() {
    beside(
        "0 client open
         30 client write 100
         60 server abort",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         30 > 0:100 ack 0
         40 < ack 100
         60 < RST 0",
    );
}

/// ACKs ride on requests and responses.
#[test]
fn requests_over_a_kept_connection() {
    beside(
        "0 client open
         21 client write 300
         32 server write 20000
         200 client write 300
         211 server write 5000
         270 client write 300
         281 server write 100
         350 client close
         361 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         21 > 0:300 ack 0
         31 < ack 300
         32 < 0:1448 ack 300
         32 < 1448:2896 ack 300
         32 < 2896:4344 ack 300
         32 < 4344:5792 ack 300
         32 < 5792:7240 ack 300
         32 < 7240:8688 ack 300
         32 < 8688:10136 ack 300
         32 < 10136:11584 ack 300
         32 < 11584:13032 ack 300
         32 < 13032:14480 ack 300
         42 > ack 1448
         42 > ack 2896
         42 > ack 4344
         42 > ack 5792
         42 > ack 7240
         42 > ack 8688
         42 > ack 10136
         42 > ack 11584
         42 > ack 13032
         42 > ack 14480
         52 < 14480:15928 ack 300
         52 < 15928:17376 ack 300
         52 < 17376:18824 ack 300
         52 < 18824:20000 ack 300
         62 > ack 15928
         62 > ack 17376
         62 > ack 18824
         62 > ack 20000
         200 > 300:600 ack 20000
         211 < 20000:21448 ack 600
         211 < 21448:22896 ack 600
         211 < 22896:24344 ack 600
         211 < 24344:25000 ack 600
         221 > ack 21448
         221 > ack 22896
         221 > ack 24344
         221 > ack 25000
         270 > 600:900 ack 25000
         281 < 25000:25100 ack 900
         291 > ack 25100
         350 > FIN 900 ack 25100
         361 < FIN 25100 ack 901
         371 > ack 25101",
    );
}

/// Data both ways.
#[test]
fn both_at_once() {
    beside(
        "0 client open
         35 client write 4000
         35 server write 4000
         90 client write 4000
         90 server write 4000",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         35 < 0:1448 ack 0
         35 < 1448:2896 ack 0
         35 < 2896:4000 ack 0
         35 > 0:1448 ack 0
         35 > 1448:2896 ack 0
         35 > 2896:4000 ack 0
         45 < ack 1448
         45 < ack 2896
         45 < ack 4000
         45 > ack 1448
         45 > ack 2896
         45 > ack 4000
         90 < 4000:5448 ack 4000
         90 < 5448:6896 ack 4000
         90 < 6896:8000 ack 4000
         90 > 4000:5448 ack 4000
         90 > 5448:6896 ack 4000
         90 > 6896:8000 ack 4000
         101 < ack 5448
         101 < ack 6896
         101 < ack 8000
         101 > ack 5448
         101 > ack 6896
         101 > ack 8000",
    );
}

/// Quick at first, then each end waits for what it has to say, until it waited in vain.
#[test]
fn a_dialogue() {
    beside(
        "0 client open
         30 client write 50
         41 server write 50
         60 client write 50
         71 server write 50
         200 client write 50
         260 server write 50",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         30 > 0:50 ack 0
         40 < ack 50
         41 < 0:50 ack 50
         51 > ack 50
         60 > 50:100 ack 50
         71 < 50:100 ack 100
         124 > ack 100
         200 > 100:150 ack 100
         252 < ack 150
         260 < 100:150 ack 150
         270 > ack 150",
    );
}

/// The usual end of a short response.
#[test]
fn a_response_and_a_close() {
    beside(
        "0 client open
         35 client write 300
         47 server write 3000
         47 server close
         200 client close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         35 > 0:300 ack 0
         45 < ack 300
         47 < 0:1448 ack 300
         47 < 1448:2896 ack 300
         47 < 2896:3000 ack 300
         47 < FIN 3000 ack 300
         57 > ack 1448
         57 > ack 2896
         57 > ack 3000
         100 > ack 3001
         200 > FIN 300 ack 3001
         210 < ack 301",
    );
}

/// The client closes behind its request.
#[test]
fn a_request_and_a_close() {
    beside(
        "0 client open
         35 client write 300
         35 client close
         50 server write 3000
         50 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         35 > 0:300 ack 0
         35 > FIN 300 ack 0
         45 < ack 300
         50 < 0:1448 ack 301
         50 < 1448:2896 ack 301
         50 < 2896:3000 ack 301
         50 < FIN 3000 ack 301
         60 > ack 1448
         60 > ack 2896
         60 > ack 3000
         60 > ack 3001",
    );
}

/// Longer than the timeout; then a request that follows the response quickly.
#[test]
fn a_pause() {
    beside(
        "0 client open
         35 client write 300
         47 server write 10000
         1000 client write 300
         1012 server write 10000
         1045 client write 300
         1057 server write 1400",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         35 > 0:300 ack 0
         45 < ack 300
         47 < 0:1448 ack 300
         47 < 1448:2896 ack 300
         47 < 2896:4344 ack 300
         47 < 4344:5792 ack 300
         47 < 5792:7240 ack 300
         47 < 7240:8688 ack 300
         47 < 8688:10000 ack 300
         57 > ack 1448
         57 > ack 2896
         57 > ack 4344
         57 > ack 5792
         57 > ack 7240
         57 > ack 8688
         57 > ack 10000
         1000 > 300:600 ack 10000
         1012 < 10000:11448 ack 600
         1012 < 11448:12896 ack 600
         1012 < 12896:14344 ack 600
         1012 < 14344:15792 ack 600
         1012 < 15792:17240 ack 600
         1012 < 17240:18688 ack 600
         1012 < 18688:20000 ack 600
         1022 > ack 11448
         1022 > ack 12896
         1022 > ack 14344
         1022 > ack 15792
         1022 > ack 17240
         1022 > ack 18688
         1022 > ack 20000
         1045 > 600:900 ack 20000
         1057 < 20000:21400 ack 900
         1108 > ack 21400",
    );
}

/// After data it waits for 40 ms.
#[test]
fn a_close_after_data_that_is_answered_late() {
    beside(
        "0 client open
         35 client write 300
         46 server write 300
         100 client close
         200 server close",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         35 > 0:300 ack 0
         45 < ack 300
         46 < 0:300 ack 300
         56 > ack 300
         100 > FIN 300 ack 300
         153 < ack 301
         200 < FIN 300 ack 301
         210 > ack 301",
    );
}

/// Each leaves at once (TCP_NODELAY).
#[test]
fn small_pieces() {
    beside(
        "0 client open
         30 client write 50
         31 client write 50
         32 client write 50
         80 server write 50
         81 server write 50",
        "0 > SYN
         10 < SYN ack 0
         20 > ack 0
         30 > 0:50 ack 0
         31 > 50:100 ack 0
         32 > 100:150 ack 0
         40 < ack 50
         41 < ack 100
         42 < ack 150
         80 < 0:50 ack 150
         81 < 50:100 ack 150
         90 > ack 50
         91 > ack 100",
    );
}
