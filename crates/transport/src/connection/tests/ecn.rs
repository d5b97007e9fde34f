//! Accurate ECN in the handshake (RFC 9768).

use super::*;
use crate::profile::Ecn as Mode;

/// Accurate ECN, also on SYNs and ACKs.
fn capable() -> Profile {
    Profile { ecn: Mode::Accurate, ecn_on_control: true, ..hundred() }
}

/// The script gives this trace, and the server's sender learns of so many marks.
#[track_caller]
fn accurate(mut wire: Wire, script: &str, trace: &str, marks: u64) {
    wire.run(script);
    assert_eq!(wire.connection.half(End::Server).expect("it writes").marks_reported(), marks);
    assert_eq!(wire.trace, written_out(trace));
}

/// Section 3.2.2.2: a mark on the SYN-ACK raises r.cep and s.cep to 6. Later ACKs report no further mark.
#[test]
fn a_marked_syn_ack_counts_at_both_ends() {
    accurate(
        Wire::new(&capable()),
        "mark 2
         0 client open
         40 server write 200",
        "0 > SYN ace 7 ect
         10 < SYN ack 0 ace 4 ect
         20 client opened
         20 > ack 0 ace 6 ect
         30 server opened
         40 < 0:100 ect
         40 < 100:200 ect
         50 client received 100
         50 client received 200
         50 > ack 200 ace 6 ect",
        1,
    );
}

/// The same where the server's half is made after the handshake.
#[test]
fn a_marked_syn_ack_counts_in_a_later_half() {
    accurate(
        Wire::one_way(&capable()),
        "mark 2
         0 client open
         50 server equip
         60 server write 200",
        "0 > SYN ace 7 ect
         10 < SYN ack 0 ace 4 ect
         20 client opened
         20 > ack 0 ace 6 ect
         30 server opened
         60 < 0:100 ect
         60 < 100:200 ect
         70 client received 100
         70 client received 200
         70 > ack 200 ace 6 ect",
        1,
    );
}

/// Section 3.2.2.2: where the last ACK is lost, the counter reports the mark, once.
#[test]
fn a_marked_syn_ack_is_reported_by_the_counter_too() {
    accurate(
        Wire::new(&capable()),
        "mark 2
         lose 3
         0 client open
         30 client write 100
         60 server write 200",
        "0 > SYN ace 7 ect
         10 < SYN ack 0 ace 4 ect
         20 client opened
         x 20 > ack 0 ace 6 ect
         30 > 0:100 ect
         40 server opened
         40 server received 100
         60 < 0:100 ack 100 ace 5 ect
         60 < 100:200 ack 100 ace 5 ect
         70 client received 100
         70 client received 200
         70 > ack 200 ace 6 ect",
        1,
    );
}

/// Section 3.2.2.1: the ACK of a repeated SYN-ACK has the handshake encoding, 010 for Not-ECT.
#[test]
fn a_repeated_syn_ack_is_acknowledged_in_the_handshake_encoding() {
    accurate(
        Wire::new(&Profile { ecn: Mode::Accurate, ..hundred() }),
        "lose 3
         0 client open
         25 server write 100",
        "0 > SYN ace 7
         10 < SYN ack 0 ace 2
         20 client opened
         x 20 > ack 0 ace 2
         1010 < SYN ack 0 ace 2
         1020 > ack 0 ace 2
         1030 server opened
         1030 < 0:100 ect
         1040 client received 100
         1240 > ack 100 ace 5",
        0,
    );
}

/// Without SACK the last ACK of the handshake comes after queued data left; its encoding is no counter.
#[test]
fn the_handshake_encoding_is_no_counter() {
    let profile = Profile {
        ecn: Mode::Accurate,
        sack: false,
        loss_detection: crate::profile::LossDetection::DuplicateAcks,
        ..hundred()
    };
    accurate(
        Wire::new(&profile),
        "0 client open
         15 server write 100",
        "0 > SYN ace 7
         10 < SYN ack 0 ace 2
         20 client opened
         20 > ack 0 ace 2
         30 server opened
         30 < 0:100 ect
         40 client received 100
         240 > ack 100 ace 5",
        0,
    );
}

/// Section 3.2.3.2.2: the second repetition of the SYN-ACK requests no ECN; from there on the server sends no
/// ECN-capable packet (section 3.1.5). The client sees 000 first and uses no ECN. Its 000 disables s.cep (table 4).
#[test]
fn the_second_repeated_syn_ack_requests_no_ecn() {
    accurate(
        Wire::new(&capable()),
        "lose 2 3 4 5
         0 client open
         25 server write 100",
        "0 > SYN ace 7 ect
         x 10 < SYN ack 0 ace 4 ect
         x 1000 > SYN ace 7 ect
         x 1010 < SYN ack 0 ace 4 ect
         x 3000 > SYN
         3010 < SYN ack 0
         3020 client opened
         3020 > ack 0
         3030 server opened
         3030 < 0:100
         3040 client received 100
         3240 > ack 100",
        0,
    );
}

/// Section 3.1.5: a server that received a SYN with 000 sends no ECN-capable packet; the client does.
#[test]
fn a_syn_without_ecn_bars_the_server() {
    accurate(
        Wire::new(&capable()),
        "lose 2 4 5
         0 client open
         25 server write 100",
        "0 > SYN ace 7 ect
         x 10 < SYN ack 0 ace 4 ect
         1000 > SYN ace 7 ect
         x 1010 < SYN ack 0 ace 4 ect
         x 1010 < SYN ack 0 ace 4 ect
         3000 > SYN
         3010 < SYN ack 0 ace 2
         3010 < SYN ack 0
         3020 client opened
         3020 > ack 0 ace 2 ect
         3020 > ack 0 ace 5 ect
         3030 server opened
         3030 < 0:100
         3040 client received 100
         3240 > ack 100 ace 5 ect",
        0,
    );
}

/// Accurate ECN with its option, on data only.
fn counting() -> Profile {
    Profile { ecn: Mode::Accurate, accurate_ecn_option: true, ..hundred() }
}

/// RFC 9768 sections 3.2.3.2.1 and 3.2.3.3: SYN-ACK and first ACK test the path. An ACK of new data has a field for each
/// counter that ever changed. A FIN does not count.
#[test]
fn the_option_goes_with_new_counters() {
    accurate(
        Wire::new(&counting()),
        "mark 6
         0 client open
         30 client write 400
         80 client close",
        "0 > SYN ace 7
         10 < SYN ack 0 ace 2 e0:1 ce:0 e1:1
         20 client opened
         20 > ack 0 ace 2 e0:1 ce:0 e1:1
         30 > 0:100 ect
         30 > 100:200 ect
         30 > 200:300 ect
         30 > 300:400 ect
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 ace 5 e0:201
         40 server received 300
         40 < ack 300 ace 6 e0:201 ce:100
         40 server received 400
         80 > FIN 400
         90 server peer closed
         90 < ack 401 ace 6 e0:301 ce:100",
        0,
    );
}

/// RFC 9768 section 3.2: marked pure ACKs count. Section 3.2.2.5.1: the third one is answered where no data waits for
/// an ACK. Data carries the counter too.
#[test]
fn marked_pure_acks_count() {
    accurate(
        Wire::new(&capable()),
        "mark 10 11 12
         0 client open
         30 client write 600
         100 server write 100",
        "0 > SYN ace 7 ect
         10 < SYN ack 0 ace 4 ect
         20 client opened
         20 > ack 0 ace 4 ect
         30 > 0:100 ect
         30 > 100:200 ect
         30 > 200:300 ect
         30 > 300:400 ect
         30 > 400:500 ect
         30 > 500:600 ect
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 ace 5 ect
         40 server received 300
         40 server received 400
         40 < ack 400 ace 5 ect
         40 server received 500
         40 server received 600
         40 < ack 600 ace 5 ect
         50 > ack 0 ect
         100 < 0:100 ack 600 ace 5 ect
         110 client received 100
         310 > ack 100 ect",
        3,
    );
}

/// RFC 9768 section 3.2.2.3: the SYN left as Not-ECT and arrived as ECT(0), so the client sends Not-ECT. Its feedback goes on.
#[test]
fn a_mangled_syn_ends_ect() {
    let mut wire = Wire::new(&counting());
    wire.mangle.insert(1, evenflow_base::Ecn::Capable0);
    accurate(
        wire,
        "0 client open
         30 client write 200
         60 server write 100",
        "0 > SYN ace 7
         10 < SYN ack 0 ace 4 e0:1 ce:0 e1:1
         20 client opened
         20 > ack 0 ace 2 e0:1 ce:0 e1:1
         30 > 0:100
         30 > 100:200
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 ace 5
         60 < 0:100 ack 200 ace 5 ect
         70 client received 100
         270 > ack 100 ace 5 e0:101",
        0,
    );
}

/// The same for a SYN-ACK: the server sends Not-ECT.
#[test]
fn a_mangled_syn_ack_ends_ect_of_the_server() {
    let mut wire = Wire::new(&counting());
    wire.mangle.insert(2, evenflow_base::Ecn::Capable0);
    accurate(
        wire,
        "0 client open
         30 client write 200
         60 server write 100",
        "0 > SYN ace 7
         10 < SYN ack 0 ace 2 e0:1 ce:0 e1:1
         20 client opened
         20 > ack 0 ace 4 e0:1 ce:0 e1:1
         30 > 0:100 ect
         30 > 100:200 ect
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 ace 5 e0:201
         60 < 0:100 ack 200 ace 5
         70 client received 100
         270 > ack 100 ace 5",
        0,
    );
}

/// RFC 9768 section 3.2.3.2.2: a repeated SYN-ACK has no option, nor has anything that follows it.
#[test]
fn a_lost_syn_ack_ends_the_option() {
    accurate(
        Wire::new(&counting()),
        "lose 2
         0 client open
         1100 client write 200",
        "0 > SYN ace 7
         x 10 < SYN ack 0 ace 2 e0:1 ce:0 e1:1
         1000 > SYN ace 7
         1010 < SYN ack 0 ace 2
         1010 < SYN ack 0 ace 2
         1020 client opened
         1020 > ack 0 ace 2 e0:1 ce:0 e1:1
         1020 > ack 0 ace 2
         1030 server opened
         1100 > 0:100 ect
         1110 server received 100
         1310 < ack 100 ace 5
         1320 > 100:200 ect
         1330 server received 200
         1530 < ack 200 ace 5",
        0,
    );
}

/// RFC 9768 section 3.2.2.4: where the first feedback after the handshake has a counter of 0, the sender
/// sends Not-ECT and answers no mark. Its own feedback goes on. Without the option the test is left out.
#[test]
fn a_counter_that_begins_with_zero_ends_ect() {
    let script = "zero 6
         0 client open
         30 client write 200
         60 server write 200
         100 client write 200";
    accurate(
        Wire::new(&counting()),
        script,
        "0 > SYN ace 7
         10 < SYN ack 0 ace 2 e0:1 ce:0 e1:1
         20 client opened
         20 > ack 0 ace 2 e0:1 ce:0 e1:1
         30 > 0:100 ect
         30 > 100:200 ect
         30 server opened
         40 server received 100
         40 server received 200
         40 < ack 200 ace 5 e0:201
         60 < 0:100 ack 200 ace 5 ect
         60 < 100:200 ack 200 ace 5 ect
         70 client received 100
         70 client received 200
         70 > ack 200 ace 5 e0:201
         100 > 200:300 ack 200 ace 5 e0:201 ce:0 e1:1
         100 > 300:400 ack 200 ace 5
         110 server received 300
         110 server received 400
         110 < ack 400 ace 5",
        0,
    );
}

/// RFC 9768 section 3.2.2.3: a path marks every packet. After four rounds the client sends Not-ECT, answers
/// no mark, and its window grows again. The server's feedback goes on. Without the option every mark counts.
#[test]
fn a_path_that_marks_everything_ends_ect() {
    let run = |option: bool| {
        let mut wire = Wire::new(&Profile { accurate_ecn_option: option, ..counting() });
        wire.mark = (4..1000).collect();
        wire.run("0 client open\n30 client write 8000");
        let data: Vec<bool> = wire
            .trace
            .iter()
            .filter(|row| row.contains("> ") && row.contains(':'))
            .map(|row| row.contains("ect"))
            .collect();
        let (sent, marks) =
            (data.iter().filter(|ect| **ect).count() as u64, wire.connection.sender.marks_reported());
        (sent, marks, wire.connection.sender.window().cwnd)
    };
    let (sent, marks, cwnd) = run(true);
    assert!(sent < 40 && marks <= sent && cwnd > 1000.0, "{sent} {marks} {cwnd}");
    let (sent, marks, cwnd) = run(false);
    // ACKs of marked ACKs are marked too.
    assert!(sent == 80 && marks > 80 && cwnd < 400.0, "{sent} {marks} {cwnd}");
}

/// The client's marks after ten segments, where four ACKs in a row are lost. In `marks` every segment is
/// marked.
fn marks_after_lost_acks(option: bool, marks: bool) -> u64 {
    let mut wire = Wire::new(&Profile { accurate_ecn_option: option, ..counting() });
    wire.lose = vec![14, 15, 16, 17];
    if marks {
        wire.mark = (4..14).collect();
    }
    wire.run("0 client open\n30 client write 1000");
    wire.connection.sender.marks_reported()
}

/// RFC 9768 section 3.2.2.5.2: after lost ACKs the counter may have gone round. Without the option ten
/// unmarked segments pass for eight marked ones; the option shows that none was. Ten marked ones are known
/// either way.
#[test]
fn a_counter_that_went_round_is_read_safely() {
    for (option, marks, known) in [(false, false, 8), (true, false, 0), (false, true, 10), (true, true, 10)] {
        assert_eq!(marks_after_lost_acks(option, marks), known, "option {option}, marks {marks}");
    }
}
