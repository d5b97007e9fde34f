//! Congestion marks at the sender: RFC 3168, RFC 9768, per-packet echo.

use super::*;
use crate::profile::Ecn as Mode;

fn with(mode: Mode) -> Profile {
    Profile { ecn: mode, ..thousand() }
}

// --- classic (RFC 3168) -------------------------------------------------------------------------------------------

/// Section 6.1.2. The first echo halves the window at once: 11 outstanding, so 5.5. The ACKs of the same window of data
/// (up to segment 11, sent before the reduction) repeat it and change nothing, nor does one of them grow the window. The
/// first new segment says CWR, once. An echo on data sent afterwards is a new event: 5 outstanding, 2.5.
#[test]
fn one_reduction_a_window_and_one_cwr() {
    table(
        with(Mode::Classic),
        "  0 | open       | SYN/3        |
          50 | syn 1      | ACK 0..9/ect | classic cwnd 10
         100 | ack 1      | 10..11/ect   | cwnd 11
         101 | ack 2 ece  |              | open ssthresh 5.5 cwnd 5.5
         102 | ack 3 ece  |              | ssthresh 5.5 cwnd 5.5
         106 | ack 7 ece  |              | cwnd 5.5 pipe 5
         107 | ack 8 ece  | 12/ect+cwr   | cwnd 5.5
         108 | ack 9 ece  | 13/ect       | cwnd 5.5
         150 | ack 12 ece | 14..16/ect   | cwnd 5.5 ssthresh 5.5
         157 | ack 13     | 17/ect       | cwnd 5.5
         158 | ack 14 ece |              | ssthresh 2.5 cwnd 2.5",
    );
}

/// Section 6.1.5: what is sent again is not ECN-capable and carries no CWR; a reduction after a loss is told by the first new
/// segment (section 6.1.2: for any reason). Echoes in recovery are of the same window and change nothing.
#[test]
fn a_loss_is_told_by_cwr_and_echoes_in_recovery_change_nothing() {
    table(
        with(Mode::Classic),
        "  0 | open                 | SYN/3        |
          50 | syn 1                | ACK 0..9/ect |
         100 | ack 0 sack 1..2      | 10..11/ect   |
         102 | ack 0 sack 1..3      | 0*           | recovery ssthresh 5
         103 | ack 0 sack 1..7 ece  |              | recovery ssthresh 5 cwnd 5
         108 | ack 0 sack 1..8 ece  | 12/ect+cwr   | recovery ssthresh 5
         109 | ack 0 sack 1..9 ece  | 13/ect       | recovery ssthresh 5
         152 | ack 12 ece           | 14..16/ect   | open ssthresh 5 cwnd 5
         158 | ack 13               | 17/ect       | open",
    );
}

/// A loss in the window of data in which a mark has halved the window is the same event (section 6.1.2: once in response to
/// a series of dropped and marked packets of one window).
#[test]
fn a_mark_and_a_loss_in_one_window_are_one_event() {
    table(
        with(Mode::Classic),
        "  0 | open                 | SYN/3        |
          50 | syn 1                | ACK 0..9/ect |
         100 | ack 1 ece            |              | open ssthresh 5 cwnd 5
         102 | ack 1 sack 2..3 ece  |              | disorder
         103 | ack 1 sack 2..4 ece  | 1*           | recovery ssthresh 5 cwnd 5
         153 | ack 10 ece           | 10/ect+cwr 11..14/ect | open ssthresh 5 cwnd 5",
    );
}

/// The same without SACK. Nine segments are out in a window of five: limited transmit lets nothing out beyond the window and two
/// segments (RFC 3042 section 2).
#[test]
fn a_mark_and_a_loss_in_one_window_are_one_event_without_sack_too() {
    let profile = Profile {
        sack: false,
        loss_detection: LossDetection::DuplicateAcks,
        deflate_at_exit: false,
        ..with(Mode::Classic)
    };
    table(
        profile,
        "  0 | open      | SYN/3        |
          50 | syn 1     | ACK 0..9/ect |
         100 | ack 1 ece |              | ssthresh 5 cwnd 5
         103 | dup 3     | 1*           | recovery ssthresh 5 cwnd 8
         104 | dup 1     |              | cwnd 9
         105 | dup 1     | 10/ect+cwr   | cwnd 10
         153 | ack 11    | 11..15/ect   | open ssthresh 5 cwnd 5",
    );
}

/// A timeout is told as well.
#[test]
fn a_timeout_is_told_by_cwr() {
    table(
        with(Mode::Classic),
        "   0 | open   | SYN/3        |
           50 | syn 1  | ACK 0..9/ect |
         1050 | timer  | 0*           | loss cwnd 1
         1100 | ack 10 | 10/ect+cwr 11/ect | open cwnd 2",
    );
}

/// Every ACK of a window carries the echo, and the last one only: one reduction either way.
#[test]
fn marks_on_all_packets_or_on_the_last_are_one_event() {
    let all = "100 | ack 2 ece |  | cwnd 5
               101 | ack 4 ece |  | cwnd 5
               102 | ack 6 ece | 10/ect+cwr | cwnd 5
               103 | ack 8 ece | 11..12/ect | cwnd 5
               104 | ack 10 ece | 13..14/ect | cwnd 5 ssthresh 5";
    let last = "100 | ack 8 | 10..18/ect | cwnd 11
                101 | ack 10 ece | | ssthresh 5.5 cwnd 5.5";
    for rows in [all, last] {
        Bench::new(with(Mode::Classic), None)
            .table("0 | open | SYN/3 |\n50 | syn 1 | ACK 0..9/ect |")
            .table(rows);
    }
}

/// Small windows: two segments become one, one stays (section 6.1.2: the window may come down to one segment).
#[test]
fn marks_bring_the_window_down_to_one_segment() {
    table(
        Profile { initial_window: 2.0, ..with(Mode::Classic) },
        "  0 | open      | SYN/3          |
          50 | syn 1     | ACK 0..1/ect   | cwnd 2
         100 | ack 2 ece | 2/ect+cwr      | cwnd 1 ssthresh 2
         150 | ack 3 ece | 3/ect+cwr      | cwnd 1 ssthresh 2",
    );
}

// --- accurate (RFC 9768) ------------------------------------------------------------------------------------------

/// Section 3.1: all three flags on the SYN; the ACK reflects the field of the SYN,ACK, not ECN-capable (table 3: 010). Both
/// counters begin at 5. Each mark is counted; the first of a window is an event, and CWR is never set (section 3.1.5).
#[test]
fn the_counter_tells_every_mark_and_a_window_reduces_once() {
    table(
        with(Mode::Accurate),
        "  0 | open        | SYN/7          |
          50 | syn 2       | ACK/2 0..9/ect | accurate marks 0
         100 | ack 1 ace 5 | 10..11/ect     | cwnd 11 marks 0
         101 | ack 2 ace 6 |                | cwnd 5.5 ssthresh 5.5 marks 1
         102 | ack 4 ace 0 |                | cwnd 5.5 marks 3
         103 | ack 6 ace 0 |                | marks 3
         104 | ack 8 ace 1 | 12/ect         | cwnd 5.5 marks 4
         150 | ack 12 ace 5 | 13..16/ect    | cwnd 5.5 marks 8
         155 | ack 13 ace 5 | 17/ect        | marks 8
         156 | ack 14 ace 6 |               | ssthresh 2.5 cwnd 2.5 marks 9",
    );
}

/// Section 3.2.2.5.2, appendix A.2.1: seven marks in seven packets wrap the counter from 5 to 4 and are unambiguous.
#[test]
fn seven_marks_wrap_the_counter() {
    table(
        with(Mode::Accurate),
        "  0 | open        | SYN/7          |
          50 | syn 2       | ACK/2 0..9/ect |
         100 | ack 7 ace 4 | 10..11/ect     | marks 7 cwnd 5",
    );
}

/// Lost ACKs: ten packets are newly acknowledged and the counter stands still: none or eight were marked, and the safer
/// reading is eight (appendix A.2.1: 10 - ((10 - 0) mod 8)). With 3 more on it, it can only be 3.
#[test]
fn lost_acks_leave_the_safer_reading() {
    let start = "0 | open | SYN/7 |\n50 | syn 2 | ACK/2 0..9/ect |";
    Bench::new(with(Mode::Accurate), None)
        .table(start)
        .table("100 | ack 10 ace 5 | 10..14/ect | marks 8 cwnd 5");
    Bench::new(with(Mode::Accurate), None)
        .table(start)
        .table("100 | ack 10 ace 0 | 10..14/ect | marks 3 cwnd 5");
}

/// What delivers nothing may be old: its counter is not looked at. A report delivers.
#[test]
fn the_counter_of_an_ack_that_delivers_nothing_is_ignored() {
    table(
        with(Mode::Accurate),
        "  0 | open              | SYN/7          |
          50 | syn 2             | ACK/2 0..9/ect |
         100 | ack 2 ace 6       |                | marks 1 cwnd 5
         101 | ack 2 ace 5       |                | marks 1
         102 | ack 1 ace 5       |                | marks 1
         103 | ack 2 sack 4 ace 7 |               | marks 2
         104 | ack 2 sack 4 ace 6 |               | marks 2",
    );
}

/// Table 2: a classic server (001), none (000), and one that reflects the flags (111). Section 3.1.3: 101 is
/// reserved and shows an
/// accurate server.
#[test]
fn the_handshake_falls_back() {
    for (answer, mode, sent) in [
        ("1", "classic", "ACK 0..9/ect"),
        ("0", "off", "ACK 0..9"),
        ("7", "off", "ACK 0..9"),
        ("5", "accurate", "ACK/2 0..9/ect"),
    ] {
        let rows = format!("0 | open | SYN/7 |\n50 | syn {answer} | {sent} | {mode}");
        Bench::new(with(Mode::Accurate), None).table(&rows);
    }
}

/// Section 3.1.4.1: the third SYN asks for nothing. Whichever is answered first decides.
#[test]
fn lost_syns_fall_back() {
    let syns = "   0 | open  | SYN/7 |
                1000 | timer | SYN/7 |
                3000 | timer | SYN   | opening";
    for (answer, mode, sent) in [("0", "off", "ACK 0"), ("2", "accurate", "ACK/2 0/ect")] {
        let last = format!("3050 | syn {answer} | {sent} | {mode}");
        Bench::new(with(Mode::Accurate), None).table(syns).table(&last);
    }
}

/// A classic client and its answers: 001 and 101 agree (RFC 3168 section 6.1.1), a reflection of its own flags does not.
#[test]
fn a_classic_client_needs_ece_alone() {
    for (answer, mode, data) in [("1", "classic", "0..9/ect"), ("3", "off", "0..9"), ("0", "off", "0..9")] {
        let rows = format!("0 | open | SYN/3 |\n50 | syn {answer} | ACK {data} | {mode}");
        Bench::new(with(Mode::Classic), None).table(&rows);
    }
}

// --- per packet ---------------------------------------------------------------------------------------------------

/// Every ACK tells its own segment's mark; a control that halves still does so once a window, and no CWR is needed.
#[test]
fn per_packet_echo_needs_no_cwr() {
    table(
        Profile { ack_every: 1, ..with(Mode::PerPacket) },
        "  0 | open      | SYN          |
          50 | syn       | ACK 0..9/ect | per-packet
         100 | ack 1 ece |              | cwnd 5 marks 1
         101 | ack 2     |              | cwnd 5 marks 1
         102 | ack 3 ece |              | cwnd 5 marks 2
         105 | ack 6     | 10/ect       | cwnd 5 marks 2",
    );
}

// --- which packets are ECN-capable (RFC 8311) ----------------------------------------------------------------------

/// The ECN fields of everything that is sent: SYN, the handshake's ACK, new data, a retransmission.
fn fields(profile: Profile, answer: u8) -> Vec<Ecn> {
    let mut b = Bench::new(Profile { initial_window: 4.0, ..profile }, None);
    let Bench { profile, sender, out } = &mut b;
    sender.open(ms(0), profile, out);
    let syn_ack = packet(0, 0, flags::SYN | flags::ACK | crate::ecn::flags_of(answer));
    sender.receive(&syn_ack, Carried::NONE, ms(50), profile, out);
    sender.wake(sender.deadline(), profile, out);
    out.iter().filter(|s| s.seq == 0).map(Segment::ecn).collect()
}

#[test]
fn control_packets_and_retransmissions_are_capable_where_the_profile_says_so() {
    use Ecn::{Capable0, Capable1, NotCapable};
    let profile = |control, again, ect, mode| Profile {
        ecn_on_control: control,
        ecn_on_retransmissions: again,
        ect,
        tail_loss_probe: false,
        ..with(mode)
    };
    let (zero, one) = (crate::profile::Ect::Zero, crate::profile::Ect::One);
    // AccECN's answer is 010; classic ECN's 001; 000 cannot do either.
    for (p, answer, expected) in [
        (profile(false, false, zero, Mode::Accurate), 2, [NotCapable, NotCapable, Capable0, NotCapable]),
        (profile(true, false, zero, Mode::Accurate), 2, [Capable0, Capable0, Capable0, NotCapable]),
        (profile(false, true, zero, Mode::Accurate), 2, [NotCapable, NotCapable, Capable0, Capable0]),
        (profile(true, true, one, Mode::Accurate), 2, [Capable1; 4]),
        (profile(true, true, one, Mode::Classic), 1, [Capable1; 4]),
        (profile(true, true, zero, Mode::PerPacket), 0, [Capable0; 4]),
        // The SYN asked; the other end cannot.
        (profile(true, true, zero, Mode::Accurate), 0, [Capable0, NotCapable, NotCapable, NotCapable]),
        (profile(true, true, zero, Mode::Off), 0, [NotCapable; 4]),
    ] {
        let what = format!("{} {} {:?} {answer}", p.ecn_on_control, p.ecn_on_retransmissions, p.ecn);
        assert_eq!(fields(p, answer), expected, "{what}");
    }
}

/// RFC 9768 section 3.1.4.1: the third SYN asks for nothing, and so is not capable either.
#[test]
fn a_syn_that_asks_for_nothing_is_not_capable() {
    let mut b = Bench::new(Profile { ecn_on_control: true, ..with(Mode::Accurate) }, None);
    let Bench { profile, sender, out } = &mut b;
    sender.open(ms(0), profile, out);
    for _ in 0..2 {
        sender.wake(sender.deadline(), profile, out);
    }
    assert_eq!(
        out.iter().map(Segment::ecn).collect::<Vec<_>>(),
        [Ecn::Capable0, Ecn::Capable0, Ecn::NotCapable]
    );
}
