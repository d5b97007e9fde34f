//! Headers of re-ECN packet by packet: six short runs, each a table of what draft-briscoe-conex-re-ecn-tcp-04 asks of these packets, written by
//! hand. (The first packets of a connection are in `reecn`.)
//!
//! Packets have 1000 B, 1 ms at 8 Mbit/s, and the line is 50 ms long, so that it is known by heart when each is sent.

use crate::common::{Run, run};

/// The ECN field and RE: names of draft section 4.2.
type Code = (u8, bool);
const NOT_ECT: Code = (0, false);
const FNE: Code = (0, true);
const RE_ECHO: Code = (1, false);
const RECT: Code = (1, true);
const NEGATIVE: Code = (3, true);

/// NS, CWR and ECE on the wire, as the number that they carry (draft section 6.1.1).
fn eci(flags: u16) -> u16 {
    flags >> 6 & 7
}

const SEND: f64 = 0.0;
const PASS: f64 = 3.0;
const MARK: f64 = 4.0;
const RECEIVE: f64 = 7.0;

/// A row of a trace: what happened where, which way, and the packet.
#[derive(Clone, Copy, Debug)]
struct Seen {
    action: f64,
    /// Number of the stage, in the order of names.
    stage: f64,
    backward: bool,
    payload: f64,
    flags: u16,
    /// Of data, counted from 1.
    number: u64,
    /// Data packets that an ACK acknowledges.
    acknowledged: u64,
    code: Code,
    outer: Code,
    sequence: f64,
}

fn rows(r: &Run) -> Vec<Seen> {
    let of = |name: &str| r.column(&format!("trace.{name}")).1;
    let (action, stage, backward, payload) = (of("action"), of("stage"), of("backward"), of("payload"));
    let (flags, seq, ack, ecn, re) = (of("flags"), of("seq"), of("ack"), of("ecn"), of("re"));
    let (outer, outer_re, sequence) = (of("outer_1_ecn"), of("outer_1_re"), of("outer_1_sequence"));
    let row = |i: usize| Seen {
        action: action[i],
        stage: stage[i],
        backward: backward[i] == 1.0,
        payload: payload[i],
        flags: flags[i] as u16,
        number: seq[i] as u64 / 960 + 1,
        acknowledged: ack[i] as u64 / 960,
        code: (ecn[i] as u8, re[i] == 1.0),
        outer: (outer[i] as u8, outer_re[i] == 1.0),
        sequence: sequence[i],
    };
    (0..action.len()).map(row).collect()
}

/// Data packets that were sent, in order: their numbers and codes.
fn data(rows: &[Seen]) -> Vec<(u64, Code)> {
    let sent = rows.iter().filter(|row| row.action == SEND && !row.backward && row.payload > 0.0);
    sent.map(|row| (row.number, row.code)).collect()
}

/// A sender with a constant window sends `packets` packets over `path`; further lines.
fn upload(window: u32, packets: u32, path: &str, more: &str) -> String {
    format!(
        r#"
duration = "2 s"
links.line = {{ rate = "8 Mbit/s", delay = "50 ms", queue = {{ kind = "constant-probability", probability = 0, action = "mark" }} }}
{more}
[groups.all]
users = 1
path = [{path}]
traffic = {{ kind = "upload", size = "{} B" }}
[groups.all.tcp]
ecn = "re-ecn"
conex = {{ unit = "packets", credit = "first-and-third" }}
congestion_control = {{ kind = "constant", window = "{window} packets" }}
initial_window = "{window} packets"
mss = "960 B"
header = "40 B"
handshake = "three-way"
ack_every = 1
[record]
trace = ["groups.all"]
"#,
        960 * packets
    )
}

/// One packet at a time, the fifth is marked: CE(-1). Its ACK and all that follow say 1, the sixth declares it (Re-Echo), and nothing else.
/// SYN and SYN-ACK ask for re-ECN and carry FNE; so do packets 1 and 3; ACKs say nothing on IP (sections 6.1.1, 6.1.5 to 6.1.7).
#[test]
fn one_mark() {
    // SYN and SYN-ACK take 100.08 ms, each packet and its ACK 101.04 ms: the fifth leaves at 504.24 ms.
    let mark = r#"stages.mark = { kind = "rewriter", ecn = "ce", direction = "forward", from = "504 ms", until = "505 ms" }"#;
    let rows = rows(&run(&upload(1, 9, r#""mark", "line""#, mark), 1));
    let ends: Vec<&Seen> = rows.iter().filter(|row| row.action == SEND && row.flags & 1 == 0).collect();
    let expected = [
        // Who, whether it comes back, code, the three flags.
        ("SYN", false, FNE, 0b111),
        ("SYN-ACK", true, FNE, 0b010),
        ("ACK", false, NOT_ECT, 0),
        ("data 1", false, FNE, 0),
        ("ACK 1", true, NOT_ECT, 0),
        ("data 2", false, RECT, 0),
        ("ACK 2", true, NOT_ECT, 0),
        ("data 3", false, FNE, 0),
        ("ACK 3", true, NOT_ECT, 0),
        ("data 4", false, RECT, 0),
        ("ACK 4", true, NOT_ECT, 0),
        ("data 5", false, RECT, 0),
        ("ACK 5", true, NOT_ECT, 1),
        ("data 6", false, RE_ECHO, 0),
        ("ACK 6", true, NOT_ECT, 1),
        ("data 7", false, RECT, 0),
        ("ACK 7", true, NOT_ECT, 1),
        ("data 8", false, RECT, 0),
        ("ACK 8", true, NOT_ECT, 1),
    ];
    for (row, (who, backward, code, field)) in ends.iter().zip(expected) {
        assert_eq!((row.backward, row.code, eci(row.flags)), (backward, code, field), "{who}: {row:?}");
    }
    let arrived: Vec<Code> = rows
        .iter()
        .filter(|row| row.action == RECEIVE && !row.backward && row.payload > 0.0)
        .map(|row| row.code)
        .collect();
    assert_eq!(arrived[..7], [FNE, RECT, FNE, RECT, NEGATIVE, RE_ECHO, RECT]);
}

/// Of four packets in flight the fifth is lost. What is sent again says nothing (section 6.1.7); the first new packet after that declares the
/// loss (6.1.2), once; the counter stays 0.
#[test]
fn one_loss() {
    // 1 ms more each way: the first four leave at 102.08 ms, the fifth at 205.12 ms.
    let air = r#"links.air = { delay = "1 ms", loss = { every = 1, from = "205 ms", until = "206 ms" } }"#;
    let rows = rows(&run(&upload(4, 16, r#""air", "line""#, air), 1));
    let sent = data(&rows);
    let again = sent.iter().skip(5).position(|(number, _)| *number == 5).expect("it is sent again") + 5;
    for (i, (number, code)) in sent.iter().enumerate() {
        let expected = match i {
            _ if i == again => NOT_ECT,
            _ if *number == 1 || *number == 3 => FNE,
            _ if i == again + 1 => RE_ECHO,
            _ => RECT,
        };
        assert_eq!(*code, expected, "packet {number}, the {i}th that is sent: {sent:?}");
    }
    assert_eq!(sent.len(), 17);
    assert!(rows.iter().filter(|row| row.backward && row.flags & 2 == 0).all(|row| eci(row.flags) == 0));
}

/// Nine packets of sixteen in flight are marked, and the ACKs of these and of two more are lost. The next ACK says 9 modulo 8 = 1 and
/// acknowledges 12: 12 - ((12 - 1) mod 8) = 9 (section 6.1.3), and nine packets declare it.
#[test]
fn a_lost_train_of_acks_and_a_counter_that_goes_round() {
    // Packets 17 to 32 leave from 205.12 ms on, one a millisecond, and are marked 1 ms later; ACK 17 is at `air` at 307.16 ms.
    let more = r#"
links.air = { delay = "1 ms", loss = { every = 1, from = "307 ms", until = "318 ms", direction = "reverse" } }
stages.mark = { kind = "rewriter", ecn = "ce", direction = "forward", from = "206 ms", until = "214.5 ms" }
"#;
    let rows = rows(&run(&upload(16, 60, r#""air", "mark", "line""#, more), 1));
    let acks: Vec<(u64, u16)> = rows
        .iter()
        .filter(|row| row.action == RECEIVE && row.backward && row.flags & 3 == 0 && row.acknowledged > 14)
        .map(|row| (row.acknowledged, eci(row.flags)))
        .collect();
    assert_eq!(acks[..4], [(15, 0), (16, 0), (28, 1), (29, 1)]);
    let expected = |number: u64| match number {
        1 | 3 => FNE,
        33..=41 => RE_ECHO,
        _ => RECT,
    };
    let sent = data(&rows);
    let numbers: Vec<u64> = sent.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    for (number, code) in sent {
        assert_eq!(code, expected(number), "packet {number}");
    }
}

/// A server that has been idle for more than a second begins with FNE, one that was idle for less does not (section 6.1.6: "more than 1 s").
#[test]
fn idle_for_over_a_second() {
    for (think, fourth) in [("1.2 s", FNE), ("0.5 s", RECT)] {
        let web = format!(
            r#"traffic = {{ kind = "web", connections = 1, page_size = "2880 B", pages = 2, think = "{think}" }}"#
        );
        let text =
            upload(10, 3, r#""line""#, "").replace(r#"traffic = { kind = "upload", size = "2880 B" }"#, &web);
        let text = text.replace(r#"duration = "2 s""#, r#"duration = "4 s""#);
        let sent = data(&rows(&run(&text, 1)));
        let expected = [(1, FNE), (2, RECT), (3, FNE), (4, fourth), (5, RECT), (6, RECT)];
        assert_eq!(sent, expected, "after {think}");
    }
}

/// A queue marks the outer header of one packet inside a tunnel. By RFC 6040 the egress makes it CE(-1) and the sender declares it, inside and
/// outside; by the paper's rule a packet that is not ECN-capable has an outer header that can be marked, and comes out as it went in.
#[test]
fn a_tunnel_with_ce_outside() {
    let stages = |ecn: &str, re: &str| {
        format!(
            r#"
stages.into = {{ kind = "tunnel-ingress", peer = "out", overhead = "gtp-u", ecn = "{ecn}"{re} }}
stages.mark = {{ kind = "rewriter", ecn = "ce", direction = "forward", from = "504 ms", until = "505 ms" }}
stages.out = {{ kind = "tunnel-egress", ecn = "{ecn}"{re} }}
"#
        )
    };
    // In the order of their names: into, mark, out.
    let at = |rows: &[Seen], stage: f64, number: u64| {
        let goes_on = |row: &Seen| row.action == PASS || row.action == MARK;
        let here = |row: &&Seen| goes_on(row) && row.stage == stage && !row.backward && row.payload > 0.0;
        let found = rows.iter().filter(here).find(|row| row.number == number);
        let row = found.unwrap_or_else(|| panic!("packet {number} passes stage {stage}"));
        (row.code, row.outer)
    };
    let (into, mark, out) = (0.0, 1.0, 2.0);
    let path = r#""into", "mark", "line", "out""#;
    // The tunnel's 36 B take 0.036 ms more a packet: the fifth still leaves within the millisecond.
    let seen = rows(&run(&upload(1, 9, path, &stages("rfc6040", "")), 1));
    let none = (0, false);
    for (number, sent, outside, marked, comes_out) in [
        (3, FNE, FNE, FNE, FNE),
        (4, RECT, RECT, RECT, RECT),
        (5, RECT, RECT, NEGATIVE, NEGATIVE),
        (6, RE_ECHO, RE_ECHO, RE_ECHO, RE_ECHO),
        (7, RECT, RECT, RECT, RECT),
    ] {
        assert_eq!(at(&seen, into, number), (sent, outside), "packet {number} at the ingress");
        assert_eq!(at(&seen, mark, number), (sent, marked), "packet {number} inside");
        assert_eq!(at(&seen, out, number), (comes_out, none), "packet {number} behind the egress");
    }
    let plain = upload(1, 9, path, &stages("paper", "")).replace("ecn = \"re-ecn\"", "ecn = \"off\"");
    let conex = r#"conex = { unit = "packets", credit = "first-and-third" }"#;
    let seen = rows(&run(&plain.replace(conex, ""), 1));
    for (number, marked) in [(4, RECT), (5, NEGATIVE), (6, RECT)] {
        // Outside it is a packet of re-ECN that declares nothing.
        assert_eq!(at(&seen, into, number), (NOT_ECT, RECT), "packet {number} at the ingress");
        assert_eq!(at(&seen, mark, number), (NOT_ECT, marked), "packet {number} inside");
        assert_eq!(at(&seen, out, number), (NOT_ECT, none), "packet {number} behind the egress");
    }
    assert!(rows_of_acks(&seen).all(|row| eci(row.flags) == 0), "nobody hears of it");
}

fn rows_of_acks(rows: &[Seen]) -> impl Iterator<Item = &Seen> {
    rows.iter().filter(|row| row.backward && row.flags & 2 == 0)
}

/// The fifth packet of a bearer is lost inside the network. With the eighth, third from beyond the gap, the base station knows; its next report
/// has the gateway declare one packet, 153 ms later at most. Packets 1 and 3 of the bearer carry FNE, all others RECT; terminals see nothing.
#[test]
fn a_report_with_a_gap() {
    let text = r#"
duration = "3 s"
links.air = { delay = "1 ms", loss = { every = 5, until = "0.95 s" } }
links.line = { rate = "8 Mbit/s", delay = "50 ms" }
stages.into = { kind = "tunnel-ingress", peer = "out", overhead = "gtp-u-sequence", ecn = "paper" }
stages.gateway = { kind = "congestion-controller", peer = "report" }
stages.report = { kind = "congestion-reporter", every = "100 ms" }
stages.out = { kind = "tunnel-egress", ecn = "paper" }
[groups.all]
users = 1
path = ["into", "gateway", "air", "line", "report", "out"]
traffic = { kind = "cbr", rate = "80 kbit/s", packet = "1000 B" }
[record]
trace = ["groups.all"]
"#;
    let seen = rows(&run(text, 1));
    // In the order of their names: gateway, into, out, report.
    let passed = |stage: f64| {
        let here = |row: &&Seen| row.action == PASS && row.stage == stage && !row.backward;
        seen.iter().filter(here).copied().collect::<Vec<Seen>>()
    };
    let outside = passed(0.0);
    let first = outside[0].sequence;
    let declared: Vec<usize> = (0..outside.len()).filter(|i| outside[*i].outer == RE_ECHO).collect();
    assert_eq!(declared.len(), 1, "{declared:?}");
    // Counted from 0: the tenth or the eleventh that is sent.
    assert!([9, 10].contains(&declared[0]), "{declared:?}");
    for (i, row) in outside.iter().enumerate() {
        let expected = match i {
            0 | 2 => FNE,
            _ if i == declared[0] => RE_ECHO,
            _ => RECT,
        };
        assert_eq!((row.code, row.outer), (NOT_ECT, expected), "packet {}", i + 1);
        assert_eq!(row.sequence, first + i as f64);
    }
    let counted: Vec<f64> = passed(3.0).iter().take(6).map(|row| row.sequence - first).collect();
    assert_eq!(counted, [0.0, 1.0, 2.0, 3.0, 5.0, 6.0], "the fifth is missing");
    assert!(passed(2.0).iter().all(|row| row.code == NOT_ECT));
}
