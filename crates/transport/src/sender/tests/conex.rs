//! What a ConEx sender says (RFC 7786; Sanhaji et al. 2015, dossier M1 to M4).

use super::*;
use crate::exposure::{Credit, Encoding, Settings, Unit};
use crate::profile::{Ecn as Mode, PeerEcn};
use evenflow_base::Codepoint;

/// A stack of IPv4 whose retransmissions are ConEx packets too, as scenarios have it.
fn with(mode: Mode) -> Profile {
    let conex = Some(Settings::honest(mode != Mode::Off));
    Profile { ecn: mode, ecn_on_retransmissions: true, conex, ..thousand() }
}

fn settings(mode: Mode, change: impl FnOnce(&mut Settings)) -> Profile {
    let mut profile = with(mode);
    change(profile.conex.as_mut().expect("it is ConEx"));
    profile
}

/// Accurate feedback: each mark is reported, one a packet; the window comes down once.
#[test]
fn every_mark_is_reported_and_one_reduces() {
    let mut bench = Bench::new(with(Mode::Accurate), None);
    bench.table(
        "  0 | open        | SYN/7          |
          50 | syn 2       | ACK/2 0..9/x   | accurate
         100 | ack 1 ace 5 | 10..11/x       | cwnd 11
         101 | ack 2 ace 6 |                | cwnd 5.5 ssthresh 5.5 marks 1
         103 | ack 6 ace 0 |                | cwnd 5.5 marks 3
         104 | ack 8 ace 1 | 12/xE          | cwnd 5.5 marks 4
         150 | ack 12 ace 1 | 13..15/xE 16/x | cwnd 5.5 marks 4",
    );
    let exposure = bench.sender.exposure().expect("ConEx");
    assert!(exposure.owed().is_nothing());
    assert_eq!((exposure.tally().ecn.packets, exposure.tally().marked.bytes), (4, 4 * 1052));
}

/// Classic feedback: exactly one report for each reduction, whatever the echo repeats. The rows are those of
/// [`super::ecn`], and so are the windows.
#[test]
fn classic_feedback_gives_one_report_for_a_reduction() {
    table(
        with(Mode::Classic),
        "  0 | open       | SYN/3        |
          50 | syn 1      | ACK 0..9/x | classic cwnd 10
         100 | ack 1      | 10..11/x   | cwnd 11
         101 | ack 2 ece  |            | open ssthresh 5.5 cwnd 5.5
         102 | ack 3 ece  |            | ssthresh 5.5 cwnd 5.5
         106 | ack 7 ece  |            | cwnd 5.5 pipe 5
         107 | ack 8 ece  | 12/xE+cwr  | cwnd 5.5
         108 | ack 9 ece  | 13/x       | cwnd 5.5
         150 | ack 12 ece | 14..16/x   | cwnd 5.5 ssthresh 5.5
         157 | ack 13     | 17/x       | cwnd 5.5
         158 | ack 14 ece |            | ssthresh 2.5 cwnd 2.5
         180 | ack 17     | 18/xE+cwr 19/x | cwnd 3.5",
    );
}

/// The retransmission itself carries the report; what is lost again is reported again; a timeout reports what it really sends.
#[test]
fn losses_are_reported_as_they_are_sent_again() {
    let mut bench = Bench::new(with(Mode::Off), None);
    bench.table(
        "   0 | open             | SYN       |
           50 | syn              | ACK 0..9/x | off
          100 | ack 0 sack 1..2  | 10..11/x  |
          102 | ack 0 sack 1..3  | 0*/xL     | recovery ssthresh 5
         1050 | timer            | 0*/xL     | loss cwnd 1
         1100 | ack 4            | 4..5*/xL  | loss cwnd 2",
    );
    let exposure = bench.sender.exposure().expect("ConEx");
    assert_eq!((exposure.tally().loss.packets, exposure.tally().lost.packets), (4, 4));
}

/// Where retransmissions are not ECN-capable they are no ConEx packets: re-ECN's rule, under which the next new packet reports.
#[test]
fn a_report_waits_for_a_packet_that_can_carry_it() {
    table(
        Profile { ecn_on_retransmissions: false, ..with(Mode::Accurate) },
        "  0 | open                  | SYN/7      |
          50 | syn 2                 | ACK/2 0..9/x |
         100 | ack 0 sack 1..2 ace 5 | 10..11/x   |
         102 | ack 0 sack 1..3 ace 5 | 0*         | recovery ssthresh 5
         108 | ack 0 sack 1..8 ace 5 | 12/xL      | recovery
         109 | ack 0 sack 1..9 ace 6 | 13/xE      | recovery",
    );
}

/// A duplicate report takes the loss back: it was reported already, so the next one is paid for (RFC 7786 section 3.1).
#[test]
fn a_needless_retransmission_pays_for_the_next() {
    let rows = |second: &str| {
        format!(
            "  0 | open                 | SYN        |
              50 | syn                  | ACK 0..9/x |
             102 | ack 0 sack 1..3      | 0*/xL      | recovery ssthresh 5
             103 | ack 4                |            | recovery
             110 | ack 10               | 10..14/x   | open
             112 | ack 10 sack 0..0     |            | open
             160 | ack 10 sack 11..13   | 10*/{second} | recovery"
        )
    };
    for (undo, second, needless) in [(false, "xL", 0), (true, "x", 1)] {
        let mut bench = Bench::new(settings(Mode::Off, |s| s.undo_spurious = undo), None);
        bench.table(&rows(second));
        let tally = bench.sender.exposure().expect("ConEx").tally();
        assert_eq!((tally.lost.packets, tally.needless.packets), (2, needless));
    }
}

/// RFC 7786 section 4.2: half of the flight in slow start. Ten packets at once, then two for one.
#[test]
fn credit_follows_the_flight() {
    table(
        settings(Mode::Off, |s| s.credit = Credit::HalfInSlowStart),
        "  0 | open  | SYN |
          50 | syn   | ACK 0/xC 1/x 2/xC 3/x 4/xC 5/x 6/xC 7/x 8/xC 9/x |
         100 | ack 1 | 10/x 11/xC |
         101 | ack 2 | 12..13/x |",
    );
    // Bytes: 1052 of each packet, headers included.
    let mut bench =
        Bench::new(settings(Mode::Off, |s| (s.credit, s.unit) = (Credit::Flight, Unit::Bytes)), Some(3000));
    bench.table("0 | open | SYN | \n 50 | syn | ACK 0..2/xC |");
    assert_eq!(bench.sender.exposure().expect("ConEx").credit(), 3156.0);
}

/// Over IPv6 the option says it, and the ECN field is that of the stack: several marks on one packet, also on one that is not
/// ECN-capable.
#[test]
fn over_ipv6_marks_and_ecn_field_are_independent() {
    let mut bench = Bench::new(
        Profile {
            ecn_on_retransmissions: false,
            ..settings(Mode::Accurate, |s| (s.encoding, s.credit) = (Encoding::Ipv6, Credit::Flight))
        },
        None,
    );
    bench.table("0 | open | SYN/7 |");
    bench.input("syn 2", ms(50));
    let sent: Vec<Segment> = bench.out.drain(..).filter(|s| s.payload > 0).collect();
    assert!(sent.iter().all(|s| s.ecn() == Ecn::Capable0 && said(s) == "/xC"));
    bench.input("ack 0 sack 1..3 ace 6", ms(102));
    let again = bench.out.iter().find(|s| s.again).expect("segment 0");
    assert_eq!((again.ecn(), said(again)), (Ecn::NotCapable, "/xLE".into()));
}

/// Everything that a sender over IPv4 says is one of the codes of table I, and nothing but data says anything.
#[test]
fn the_codes_of_table_i() {
    let mut bench = Bench::new(settings(Mode::Accurate, |s| s.credit = Credit::FirstAndThird), Some(9_500));
    let mut seen: Vec<Codepoint> = Vec::new();
    for (at, input) in [
        (0, "open"),
        (50, "syn 2"),
        (100, "ack 2 ace 6"),
        (101, "ack 2 sack 3..6 ace 6"),
        (160, "ack 7 ace 7"),
    ] {
        bench.input(input, ms(at));
        for s in bench.out.drain(..) {
            let packet = Packet { ip: s.ip, ..Packet::new(0, 1500, s.payload) };
            assert!(s.payload > 0 || packet.codepoint() == Codepoint::NotCapable, "{s:?}");
            if s.payload > 0 {
                seen.push(packet.codepoint());
            }
        }
    }
    use Codepoint::{Credit as C, NotMarked as N, ReEcho as R};
    // Segment 2, and the rescue retransmission of the last.
    assert_eq!(seen, [C, N, C, N, N, N, N, N, N, N, R, R]);
}

/// A server that refuses ECN: over IPv4 it is no ConEx connection, for its codes would be ECN-capable; over IPv6 losses are reported.
#[test]
fn where_ecn_is_refused() {
    let refused =
        |encoding| Profile { peer_ecn: PeerEcn::Off, ..settings(Mode::Accurate, |s| s.encoding = encoding) };
    let rows = |x: &str, again: &str| {
        format!(
            "  0 | open            | SYN/7 |
              50 | syn             | ACK 0..9{x} | off
             102 | ack 0 sack 1..3 | 0*{again} | recovery"
        )
    };
    Bench::new(refused(Encoding::Ipv4), None).table(&rows("", ""));
    Bench::new(refused(Encoding::Ipv6), None).table(&rows("/x", "/xL"));
}

/// Reported per mark is apart from reduced once a round trip: the same ACKs give the same windows and segments whether the sender is
/// a ConEx sender or not, with any control.
#[test]
fn windows_do_not_know_of_conex() {
    for control in ["newreno", "cubic"] {
        for mode in [Mode::Classic, Mode::Accurate] {
            let plain = Profile { conex: None, ..with(mode) };
            let values = Values(
                [
                    ("c", Value::Number(0.4)),
                    ("fast_convergence", Value::Flag(true)),
                    ("reno_friendly", Value::Flag(true)),
                ]
                .into(),
            );
            let mut benches = [with(mode), plain].map(|profile| Bench::of(control, &values, profile, None));
            let syn = if mode == Mode::Classic { "syn 1" } else { "syn 2" };
            let mut una = 0;
            let mut ace = 5;
            for bench in &mut benches {
                bench.input("open", ms(0));
                bench.input(syn, ms(50));
                bench.out.clear();
            }
            for turn in 0..400u64 {
                let now = ms(100 + 7 * turn);
                let marked = turn % 31 == 3 || turn % 37 == 5;
                ace = (ace + u64::from(marked)) & 7;
                let told = match mode {
                    Mode::Classic if marked => " ece".into(),
                    Mode::Classic => String::new(),
                    _ => format!(" ace {ace}"),
                };
                let lost = turn % 50 == 20;
                una += u64::from(!lost);
                let high = benches[0].sender.core.high / 1000;
                if una > high {
                    una = high;
                }
                let report = if lost && high > una + 5 {
                    format!(" sack {}..{}", una + 1, una + 4)
                } else {
                    String::new()
                };
                for bench in &mut benches {
                    bench.input(&format!("ack {una}{report}{told}"), now);
                }
                let [a, b] = &mut benches;
                let plain = |out: &mut Vec<Segment>| {
                    out.drain(..).map(|s| (s.seq, s.payload, s.flags, s.again)).collect::<Vec<_>>()
                };
                assert_eq!(plain(&mut a.out), plain(&mut b.out), "{control} {mode:?} at {now:?}");
                assert_eq!(a.sender.window(), b.sender.window(), "{control} {mode:?} at {now:?}");
            }
            let tally = benches[0].sender.exposure().expect("ConEx").tally();
            assert!(
                tally.marked.packets > 10 && tally.ecn.packets > 10 && tally.loss.packets > 2,
                "{tally:?}"
            );
            assert!(benches[1].sender.counts().reductions.mark >= 8);
            if mode == Mode::Classic {
                let reductions = benches[0].sender.counts().reductions.mark;
                assert_eq!(tally.marked.packets, u64::from(reductions), "{control}");
            }
        }
    }
}
