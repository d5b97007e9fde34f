//! Tables of segments of 100 bytes: time in ms, what arrives, the ACK that leaves (`-`: none), when a held-back one is due.
//!
//! `3..4` is one segment of 200 bytes, `3 ce` is segment 3 with a congestion mark, `3 cwr` one that says that
//! the window was reduced, `3 stamp 7` one with a
//! timestamp other than its time of arrival; `syn 7` asks for what those three flags say and is answered `synack 2`. An ACK
//! is shown with its report, `ack 3 sack 5..7 9` (segments 5 to 7, then 9), and with `ece` or the counter, `ace 6`.

use super::*;

/// Linux's estimate: 40 ms at first; close segments bring it to half and 20 ms, wider ones add their gap, and those beyond say
/// nothing; a timer that went off doubles it, 200 ms at most.
#[test]
fn how_long_an_ack_is_held_back_follows_the_segments() {
    let ms = Duration::from_millis;
    let mut s = Spacing { most: ms(200), current: Duration::ZERO, last: Time::ZERO };
    for (at, expected) in [(100, 40), (110, 40), (140, 50), (200, 50), (220, 45)] {
        s.arrived(Time(at * 1_000_000), ms(40));
        assert_eq!(s.current, ms(expected), "at {at}");
    }
    s.waited();
    assert_eq!(s.delay(ms(40)), ms(90));
    s.waited();
    s.waited();
    assert_eq!(s.delay(ms(40)), ms(200));
    s.current = ms(30);
    assert_eq!(s.delay(ms(40)), ms(40));
}
use evenflow_base::Ecn;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const SIZE: u64 = 100;

fn data(from: u64, payload: u16, stamp: u32) -> Packet {
    Packet { seq: from, stamp, ..Packet::new(0, payload + 54, payload) }
}

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

/// An ACK as a table writes it.
fn shown(ack: &Segment, receiver: &mut Receiver, profile: &Profile) -> String {
    let number = ecn::number_of(ack.flags);
    assert_eq!(ack.flags & !(flags::SYN | ecn::ACE), flags::ACK);
    assert_eq!(ack.ip, ip::BACKWARD); // not ECN-capable (RFC 3168 section 6.1.4)
    assert_eq!(ack.payload, 0);
    if ack.flags & flags::SYN != 0 {
        return format!("synack {number}");
    }
    let mut text = format!("ack {}", ack.seq / SIZE);
    if profile.sack && receiver.reports() {
        let mut report = Report::default();
        receiver.report(&mut report);
        text += " sack";
        for &(from, to) in report.blocks() {
            let (from, last) = (from / SIZE, to / SIZE - 1);
            text += &if from == last { format!(" {from}") } else { format!(" {from}..{last}") };
        }
    }
    match receiver.marks.mode {
        crate::profile::Ecn::Accurate => text += &format!(" ace {number}"),
        _ if number == 1 => text += " ece",
        _ => assert_eq!(number, 0),
    }
    text
}

/// Runs a table; a segment's timestamp is its time of arrival, and `echo N` checks the ACK's.
fn table(profile: &Profile, rows: &str) {
    let mut receiver = Receiver::new(profile);
    let mut out = Vec::new();
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let at: u64 = cells[0].parse().expect("a time in ms");
        match cells[1] {
            "timer" => {
                assert_eq!(receiver.deadline(), ms(at), "{row}");
                receiver.wake(ms(at), &mut out);
            }
            "syn" => {
                let syn = Packet { flags: flags::SYN, ..data(0, 0, at as u32) };
                receiver.receive(&syn, ms(at), profile, &mut out);
                let answer = out.pop().expect("an answer");
                assert_eq!(answer.flags, flags::SYN | flags::ACK, "{row}");
                assert_eq!((answer.seq, answer.stamp), (0, at as u32), "{row}");
            }
            "pure ack" => {
                let ack = Packet { flags: flags::ACK, ..data(0, 0, 0) };
                receiver.receive(&ack, ms(at), profile, &mut out);
            }
            text => {
                let mut words = text.split_whitespace();
                let first = words.next().expect("a segment");
                let number = |word: Option<&str>| word.and_then(|n| n.parse::<u64>().ok()).expect("a number");
                if first == "syn" {
                    let bits = flags::SYN | ecn::flags_of(number(words.next()) as u8);
                    receiver.receive(
                        &Packet { flags: bits, ..data(0, 0, at as u32) },
                        ms(at),
                        profile,
                        &mut out,
                    );
                } else {
                    let (from, last) = first.split_once("..").unwrap_or((first, first));
                    let (from, last) = (number(Some(from)), number(Some(last)));
                    let mut packet = data(from * SIZE, ((last + 1 - from) * SIZE) as u16, at as u32);
                    while let Some(word) = words.next() {
                        match word {
                            "ce" => packet.set_ecn(Ecn::Congestion),
                            "cwr" => packet.flags |= flags::CWR,
                            "stamp" => packet.stamp = number(words.next()) as u32,
                            other => panic!("a segment says nothing of {other}"),
                        }
                    }
                    receiver.receive(&packet, ms(at), profile, &mut out);
                }
            }
        }
        let acks: Vec<String> = out.iter().map(|a| shown(a, &mut receiver, profile)).collect();
        assert_eq!(if acks.is_empty() { "-".into() } else { acks.join(" ") }, cells[2], "{row}");
        let mut words = cells.get(3).copied().unwrap_or("").split_whitespace();
        while let (Some(word), Some(value)) = (words.next(), words.next()) {
            match word {
                "due" => {
                    let due = if value == "off" { Time::NEVER } else { ms(value.parse().expect("ms")) };
                    assert_eq!(receiver.deadline(), due, "{row}");
                }
                "echo" => assert_eq!(out[0].stamp.to_string(), value, "{row}"),
                other => panic!("no column is called {other}"),
            }
        }
        out.clear();
    }
}

/// RFC 5681 section 4.2 as ns-3.26 has it: the first segment at once, then every second, or after 200 ms.
#[test]
fn every_second_segment_or_200_ms() {
    table(
        &Profile::ns3_26(),
        "  0 | syn      | -     | due off
          50 | pure ack | -     | due off
          60 | 0        | ack 1 | due off
         100 | 1        | -     | due 300
         110 | 2        | ack 3 | due off
         120 | 3        | -     | due 320
         320 | timer    | ack 4 | due off
         330 | 4        | -     | due 530
         331 | 5        | ack 6 | due off",
    );
}

#[test]
fn every_segment_where_the_profile_says_so() {
    let profile = Profile { ack_every: 1, ..Profile::ns3_26() };
    table(&profile, "0 | 0 | ack 1 | due off\n1 | 1 | ack 2 | due off\n2 | 2 | ack 3 | due off");
}

#[test]
fn the_largest_count_waits_for_the_timer_alone() {
    let profile = Profile { ack_every: u32::MAX, ..Profile::ns3_26() };
    table(
        &profile,
        "0 | 0 | ack 1 |\n1 | 1 | - | due 201\n2 | 2 | - | due 201\n201 | timer | ack 3 | due off",
    );
}

/// At once: beyond a hole, filling one wholly or in part, and for nothing new (RFC 5681 section 4.2). A held-back ACK
/// leaves with them.
#[test]
fn holes_are_told_at_once() {
    table(
        &Profile::ns3_26(),
        " 0 | 0 | ack 1 |
          1 | 1 | -     | due 201
          2 | 3 | ack 2 | due off
          3 | 5 | ack 2 |
          4 | 4 | ack 2 |
          5 | 8 | ack 2 |
          6 | 2 | ack 6 | due off
          7 | 6 | ack 7 | due off
          8 | 7 | ack 9 | due off
          9 | 4 | ack 9 | due off
         10 | 9 | -     | due 210
         11 | 9 | ack 10 | due off",
    );
}

/// RFC 7323 section 4.3: the echo is that of the earliest segment not yet acknowledged; what lies beyond a hole does not
/// count, what fills it does.
#[test]
fn timestamps_echo_the_earliest_unacknowledged_segment() {
    table(
        &Profile::ns3_26(),
        " 0 | 0     | ack 1 | echo 0
          5 | 1     | -     |
          6 | 2     | ack 3 | echo 5
         10 | 4     | ack 3 | echo 5
         11 | 5     | ack 3 | echo 5
         30 | 3     | ack 6 | echo 30
         40 | 6     | -     |
        240 | timer | ack 7 | echo 40",
    );
}

/// Without a handshake no SYN sets TS.Recent: the first segment that comes does, also where it is not the first that was sent; ns-2's
/// sink echoes its timestamp too.
#[test]
fn without_a_handshake_the_first_segment_that_comes_is_echoed() {
    let echoes = "10 | 1 | ack 0 sack 1 | echo 10
         11 | 2 | ack 0 sack 1..2 | echo 10
         70 | 0 | ack 3 | echo 70";
    table(&Profile { handshake: Handshake::None, ..Profile::ns2_linux() }, echoes);
    table(&Profile::ns2_linux(), &echoes.replace("echo 10", "echo 0"));
}

#[test]
fn an_early_wake_is_harmless() {
    let profile = Profile::ns3_26();
    let mut receiver = Receiver::new(&profile);
    let mut out = Vec::new();
    receiver.receive(&data(0, 100, 0), ms(0), &profile, &mut out);
    receiver.receive(&data(100, 100, 0), ms(10), &profile, &mut out);
    out.clear();
    receiver.wake(ms(209), &mut out);
    assert!(out.is_empty());
    receiver.wake(ms(210), &mut out);
    assert_eq!(out.len(), 1);
}

/// RFC 7323 section 4.3: an older timestamp (TSval < TS.Recent) is never echoed: the original of segment 0, late, comes
/// between segment 1 and its ACK.
#[test]
fn an_older_timestamp_is_not_echoed() {
    table(
        &Profile::rfc(),
        " 50 | 0 stamp 40 | -     | due 250
          60 | 1 stamp 50 | ack 2 | echo 40
          70 | 2 stamp 60 | -     |
          71 | 0 stamp 20 | ack 3 sack 0 | echo 60",
    );
}

// --- selective acknowledgement ----------------------------------------------------------------------------------

/// RFC 2018 section 4: the first block holds the segment that came just now, the others follow by recency, three at most
/// (section 3, with timestamps). Ranges that meet are one. What fills the first hole is answered without it.
#[test]
fn reports_name_the_newest_first() {
    table(
        &Profile::rfc(),
        "  0 | 0  | -                     | due 200
           1 | 2  | ack 1 sack 2          | due off
           2 | 4  | ack 1 sack 4 2        |
           3 | 6  | ack 1 sack 6 4 2      |
           4 | 8  | ack 1 sack 8 6 4      |
           5 | 5  | ack 1 sack 4..6 8 2   |
           6 | 9  | ack 1 sack 8..9 4..6 2 |
           7 | 1  | ack 3 sack 8..9 4..6  |
           8 | 3  | ack 7 sack 8..9       |
           9 | 7  | ack 10                |
          10 | 10 | -                     | due 210",
    );
}

/// RFC 2883 section 4: what came twice is reported first, once: below the acknowledgement (4.1), or inside the block that
/// follows (4.2).
#[test]
fn duplicates_are_reported_first() {
    table(
        &Profile::rfc(),
        " 0 | 0 | -                |
          1 | 1 | ack 2            |
          2 | 0 | ack 2 sack 0     | due off
          3 | 3 | ack 2 sack 3     |
          4 | 4 | ack 2 sack 3..4  |
          5 | 3 | ack 2 sack 3 3..4 |
          6 | 5 | ack 2 sack 3..5  |
          7 | 1 | ack 2 sack 1 3..5 |
          8 | 2 | ack 6            |",
    );
}

/// RFC 2883 section 4.3: of a segment that is new in part, the first part that came before is reported:
/// examples 4, 5 and 6,
/// and the same without a hole, where the ACK may be delayed.
#[test]
fn the_duplicate_part_of_a_segment_is_reported() {
    let profile = Profile::rfc();
    table(
        &profile,
        " 0 | 0    | -              |
          1 | 3    | ack 1 sack 3   |
          2 | 1    | ack 2 sack 3   |
          3 | 1..2 | ack 4 sack 1   |",
    );
    table(
        &profile,
        " 0 | 0    | -              |
          1 | 5    | ack 1 sack 5   |
          2 | 1    | ack 2 sack 5   |
          3 | 3    | ack 2 sack 3 5 |
          4 | 1..3 | ack 4 sack 1 5 |",
    );
    table(
        &profile,
        " 0 | 0    | -                   |
          1 | 6    | ack 1 sack 6        |
          2 | 2    | ack 1 sack 2 6      |
          3 | 4    | ack 1 sack 4 2 6    |
          4 | 2..4 | ack 1 sack 2 2..4 6 |
          5 | 1..3 | ack 5 sack 2..3 6   |",
    );
    table(
        &profile,
        "0 | 0 | - | due 200\n1 | 0..1 | ack 2 sack 0 | due off\n2 | 1..2 | - | due 202\n202 | timer | ack 3 sack 1 |",
    );
}

/// RFC 9768 section 3.1.5: a SYN that requests no ECN bars ECN-capable packets; before, the SYN-ACK was one.
#[test]
fn a_syn_without_ecn_bars_capable_acks() {
    let profile = Profile { ecn_on_control: true, ..with(crate::profile::Ecn::Accurate) };
    let (mut receiver, mut out) = (Receiver::new(&profile), Vec::new());
    for bits in [ecn::ACE, 0, ecn::ACE] {
        receiver.receive(&Packet { flags: flags::SYN | bits, ..data(0, 0, 0) }, ms(0), &profile, &mut out);
    }
    receiver.acknowledge(&mut out);
    let capable: Vec<bool> = out.iter().map(|answer| answer.ecn() != Ecn::NotCapable).collect();
    assert_eq!(capable, [true, false, false, false]);
}

// --- congestion marks -------------------------------------------------------------------------------------------

fn with(mode: crate::profile::Ecn) -> Profile {
    Profile { ecn: mode, ..Profile::rfc() }
}

/// RFC 3168 section 6.1.3: from a mark on every ACK echoes it until the sender says that it has reduced; a mark on or after
/// that very packet is echoed again. ACKs are as late as ever.
#[test]
fn classic_echoes_until_the_sender_has_reduced() {
    table(
        &with(crate::profile::Ecn::Classic),
        "  0 | syn 3    | synack 1  |
          10 | 0 ce     | -         | due 210
          11 | 1        | ack 2 ece |
          12 | 2        | -         |
          13 | 3        | ack 4 ece |
          14 | 4        | -         |
         214 | timer    | ack 5 ece |
         215 | 6 ce     | ack 5 sack 6 ece |
         216 | 5 cwr    | ack 7     |
         217 | 7        | -         |
         218 | 8 ce     | ack 9 ece |
         219 | 9 cwr ce | -         |
         220 | 10       | ack 11 ece |
         221 | 11 cwr   | -         |
         222 | 12       | ack 13    |",
    );
}

/// A classic end asked for accurate feedback answers as to a classic SYN (RFC 9768 table 2), a broken one mirrors, an old
/// one says nothing; neither echoes.
#[test]
fn a_server_answers_what_it_can() {
    use crate::profile::Ecn::{Accurate, Classic, Off};
    for (peer, asked, syn, answer, echo) in [
        (PeerEcn::Same, Accurate, 7, "synack 2", "ack 2 ace 6"),
        (PeerEcn::Same, Accurate, 0, "synack 0", "ack 2"),
        (PeerEcn::Classic, Accurate, 7, "synack 1", "ack 2 ece"),
        (PeerEcn::Nonce, Accurate, 7, "synack 5", "ack 2 ace 6"),
        (PeerEcn::Broken, Accurate, 7, "synack 7", "ack 2"),
        (PeerEcn::Off, Accurate, 7, "synack 0", "ack 2"),
        (PeerEcn::Same, Classic, 3, "synack 1", "ack 2 ece"),
        (PeerEcn::Off, Classic, 3, "synack 0", "ack 2"),
        (PeerEcn::Same, Off, 0, "synack 0", "ack 2"),
    ] {
        let profile = Profile { peer_ecn: peer, ecn: asked, ..Profile::rfc() };
        table(&profile, &format!("0 | syn {syn} | {answer} |\n1 | 0 | - |\n2 | 1 ce | {echo} |"));
    }
}

/// RFC 9768 section 3.1.5: the first SYN settles the mode; a later one that asks for nothing is answered as before.
#[test]
fn the_first_syn_settles_the_mode() {
    let profile = with(crate::profile::Ecn::Accurate);
    table(&profile, "0 | syn 7 | synack 2 |\n9 | syn 0 | synack 2 |\n20 | 0 ce | ack 1 ace 6 |");
    table(&profile, "0 | syn 0 | synack 0 |\n9 | syn 7 | synack 0 |\n20 | 0 ce | - |");
}

/// RFC 9768 section 3.2.2.5.1: an ACK at once for the first mark after none, and for every second mark since the last ACK;
/// else as late as ever. The counter begins at 5 (section 3.2.1) and wraps from 7 to 0.
#[test]
fn accurate_counts_and_tells_changes_at_once() {
    table(
        &with(crate::profile::Ecn::Accurate),
        " 0 | syn 7 | synack 2    |
         10 | 0     | -           | due 210
         11 | 1 ce  | ack 2 ace 6 | due off
         12 | 2 ce  | -           | due 212
         13 | 3 ce  | ack 4 ace 0 |
         14 | 4     | -           |
         15 | 5     | ack 6 ace 0 |
         16 | 6 ce  | ack 7 ace 1 |
         17 | 7     | -           |
         18 | 8 ce  | ack 9 ace 2 |
         19 | 10 ce | ack 9 sack 10 ace 3 |
         20 | 10 ce | ack 9 sack 10 10 ace 4 |
         21 | 9 ce  | ack 11 ace 5 |",
    );
}

/// Seven marks since the last ACK would be ambiguous with none missed; an ACK of every second mark never lets it come so far,
/// however rare ACKs otherwise are.
#[test]
fn accurate_tells_every_second_mark_where_acks_are_rare() {
    let profile = Profile { ack_every: 16, ..with(crate::profile::Ecn::Accurate) };
    table(
        &profile,
        " 0 | syn 7 | synack 2    |
          1 | 0 ce  | ack 1 ace 6 |
          2 | 1 ce  | -           |
          3 | 2 ce  | ack 3 ace 0 |
          4 | 3 ce  | -           |
          5 | 4 ce  | ack 5 ace 2 |
          6 | 5     | -           |
          7 | 6     | -           |
          8 | 7 ce  | ack 8 ace 3 |",
    );
}

/// Each ACK tells the mark of the segment that it answers, and of no other.
#[test]
fn per_packet_tells_each_segments_own_mark() {
    let profile = Profile { ack_every: 1, ..with(crate::profile::Ecn::PerPacket) };
    table(
        &profile,
        " 0 | syn 0 | synack 0  |
          1 | 0     | ack 1     |
          2 | 1 ce  | ack 2 ece |
          3 | 2     | ack 3     |
          4 | 4 ce  | ack 3 sack 4 ece |
          5 | 3     | ack 5     |",
    );
}

/// What has arrived, byte by byte.
struct Model(Vec<bool>);

impl Model {
    fn take(&mut self, from: u64, to: u64) {
        self.0[from as usize..to as usize].fill(true);
    }

    fn prefix(&self) -> u64 {
        self.0.iter().position(|have| !have).unwrap_or(self.0.len()) as u64
    }

    /// Ranges beyond the prefix.
    fn ahead(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for at in (self.prefix()..self.0.len() as u64).filter(|at| self.0[*at as usize]) {
            match ranges.last_mut() {
                Some(last) if last.1 == at => last.1 += 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        ranges
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any segments in any order, overlapping and repeated: the receiver knows exactly the bytes that arrived, keeps
    /// disjoint ascending ranges, and every ACK tells the whole prefix.
    #[test]
    fn ranges_are_those_of_a_set_of_bytes(
        segments in prop::collection::vec((0u64..400, 1u16..60), 1..120),
        ack_every in 1u32..4,
    ) {
        let profile = Profile { ack_every, ..Profile::ns3_26() };
        let mut receiver = Receiver::new(&profile);
        let mut model = Model(vec![false; 500]);
        let mut out = Vec::new();
        let mut told = 0;
        for (i, (from, payload)) in segments.into_iter().enumerate() {
            receiver.receive(&data(from, payload, i as u32), ms(i as u64), &profile, &mut out);
            model.take(from, from + u64::from(payload));
            prop_assert_eq!(receiver.delivered(), model.prefix());
            let ahead: Vec<(u64, u64)> = receiver.ahead.iter().map(|r| (r.from, r.to)).collect();
            prop_assert_eq!(&ahead, &model.ahead());
            for ack in out.drain(..) {
                prop_assert_eq!(ack.seq, model.prefix());
                told = ack.seq;
            }
            // What is not told yet is fewer segments than `ack_every`, and a timer guards it.
            prop_assert_eq!(told < receiver.delivered(), receiver.deadline() != Time::NEVER);
            if !receiver.ahead.is_empty() {
                prop_assert_eq!(told, receiver.delivered());
            }
        }
    }

    /// A whole file in random order arrives whole.
    #[test]
    fn a_permutation_arrives_whole(order in Just((0u64..80).collect::<Vec<_>>()).prop_shuffle()) {
        let profile = Profile::ns3_26();
        let mut receiver = Receiver::new(&profile);
        let mut out = Vec::new();
        for (i, n) in order.into_iter().enumerate() {
            receiver.receive(&data(n * SIZE, SIZE as u16, 0), ms(i as u64), &profile, &mut out);
        }
        prop_assert_eq!(receiver.delivered(), 80 * SIZE);
        prop_assert!(receiver.ahead.is_empty());
    }
}

/// Slow start against a receiver: 10 Mbit/s, 1500 bytes and so 1.2 ms a packet, an empty link of `rtt` ms. Each ACK lets
/// out twice what it covers. Gives how many segments each ACK covers, run by run, until `ended` segments were covered.
fn slow_start(profile: &Profile, rtt: u64, ended: u64) -> Vec<(u64, u32)> {
    let us = |t: u64| Time(t * 1000);
    let mut receiver = Receiver::new(profile);
    let mut out = Vec::new();
    let (there, back, packet) = (500 * rtt, 500 * rtt, 1200);
    receiver.receive(&Packet { flags: flags::SYN, ..data(0, 0, 0) }, us(there), profile, &mut out);
    out.clear();
    let opened = there + back;
    receiver.receive(&Packet { flags: flags::ACK, ..data(0, 0, 0) }, us(opened + there), profile, &mut out);
    let mut sent: std::collections::VecDeque<(u64, u64)> = (0..10).map(|n| (n, opened)).collect();
    let (mut next, mut free, mut covered) = (10, 0, 0);
    let mut runs: Vec<(u64, u32)> = Vec::new();
    while covered < ended {
        let (n, at) = sent.pop_front().expect("a segment on its way");
        free = free.max(at) + packet;
        let now = free + there;
        let segment = data(n * profile.mss, profile.mss as u16, (at / 1000) as u32);
        receiver.receive(&segment, us(now), profile, &mut out);
        for ack in out.drain(..) {
            let news = ack.seq / profile.mss - covered;
            covered += news;
            sent.extend((next..next + 2 * news).map(|n| (n, now + back)));
            next += 2 * news;
            match runs.last_mut() {
                Some((segments, times)) if *segments == news => *times += 1,
                _ => runs.push((news, 1)),
            }
        }
    }
    runs
}

/// Linux 6.18 on such a link (validation/linux): at 50 ms it acknowledged 22 segments one by one, 10 in pairs, 24 one by
/// one, 16 in pairs and 82 one by one.
#[test]
fn linux_acknowledges_one_by_one_while_its_window_grows() {
    let runs = slow_start(&Profile::linux(), 50, 150);
    assert_eq!(runs[..4], [(1, 22), (2, 5), (1, 24), (2, 8)]);
    assert!(runs[4].0 == 1 && runs[4].1 >= 70, "{runs:?}");
}

#[test]
fn linux_holds_back_reports_from_the_fourth_on_for_a_millisecond() {
    let profile = Profile { quick_acks: 0, ..Profile::linux() };
    let mut receiver = Receiver::new(&profile);
    let mut out = Vec::new();
    let mss = profile.mss;
    receiver.receive(&Packet { flags: flags::SYN, ..data(0, 0, 0) }, ms(0), &profile, &mut out);
    // The window stops growing once its 80 KiB are used: 6 segments.
    let mut arrive = |n: u64, at: u64, receiver: &mut Receiver| {
        out.clear();
        receiver.receive(&data(n * mss, mss as u16, 0), ms(at), &profile, &mut out);
        out.len()
    };
    for n in 0..10 {
        arrive(n, 100 + n, &mut receiver);
    }
    // 10 is missing.
    let told: Vec<usize> = (11..17).map(|n| arrive(n, 120 + n, &mut receiver)).collect();
    assert_eq!(told, [1, 1, 1, 0, 0, 0]);
    // A twentieth of the round trip of 100 ms is more than the most.
    assert_eq!(receiver.deadline(), ms(134 + 1));
    let mut out = Vec::new();
    receiver.wake(ms(135), &mut out);
    assert_eq!(out.len(), 1);
    // What fills the hole is acknowledged at once.
    receiver.receive(&data(10 * mss, mss as u16, 0), ms(140), &profile, &mut out);
    assert_eq!(out.last().map(|a| a.seq), Some(17 * mss));
}

/// Linux 6.6 and later: the end of what was sent is acknowledged when it was read, two by two all the rest.
#[test]
fn linux_acknowledges_a_pushed_segment_alone() {
    let profile = Profile { quick_acks: 0, ack_growing_window: false, ..Profile::linux() };
    let mut receiver = Receiver::new(&profile);
    let mut out = Vec::new();
    let sent: Vec<usize> = (0..5)
        .map(|n| {
            out.clear();
            let pushed = if n == 2 { flags::PUSH } else { 0 };
            let segment = Packet { flags: pushed, ..data(n * SIZE, SIZE as u16, 0) };
            receiver.receive(&segment, ms(n), &profile, &mut out);
            out.len()
        })
        .collect();
    assert_eq!(sent, [0, 1, 1, 0, 1]);
}

/// Linux: the first mark is told at once, and so is what follows it; then two by two again.
#[test]
fn linux_does_not_hold_back_the_first_marks() {
    let profile = Profile { quick_acks: 0, ecn: crate::profile::Ecn::Classic, ..Profile::linux() };
    let mut receiver = Receiver::new(&profile);
    let mut out = Vec::new();
    let syn = Packet { flags: flags::SYN | flags::ECE | flags::CWR, ..data(0, 0, 0) };
    receiver.receive(&syn, ms(0), &profile, &mut out);
    let mss = profile.mss;
    // The window of 80 KiB has stopped growing after six segments.
    let mut told = Vec::new();
    for n in 0..14 {
        out.clear();
        let ecn = if n == 8 { Ecn::Congestion } else { Ecn::Capable0 };
        let segment = data(n * mss, mss as u16, 0).with_ecn(ecn);
        receiver.receive(&segment, ms(n), &profile, &mut out);
        told.push(out.len());
    }
    assert_eq!(told[6..], [0, 1, 1, 1, 0, 1, 0, 1]);
}

/// Where the profile says so: the SYN's answer and ACKs, but only if ECN was agreed on. A mark on the last ACK of the handshake
/// counts, as on any packet but a SYN (RFC 9768 section 3.2.2): 5 + 1.
#[test]
fn answers_and_acks_are_capable_where_the_profile_says_so() {
    for (on, asks, expected) in
        [(true, true, Ecn::Capable1), (false, true, Ecn::NotCapable), (true, false, Ecn::NotCapable)]
    {
        let profile = Profile {
            ecn: crate::profile::Ecn::Accurate,
            ecn_on_control: on,
            ect: crate::profile::Ect::One,
            ack_every: 1,
            ..Profile::rfc()
        };
        let (mut receiver, mut out) = (Receiver::new(&profile), Vec::new());
        let asked = if asks { ecn::ACE } else { 0 };
        receiver.receive(&Packet { flags: flags::SYN | asked, ..data(0, 0, 0) }, ms(0), &profile, &mut out);
        let last = Packet { flags: flags::ACK, ..data(0, 0, 0) }.with_ecn(Ecn::Congestion);
        receiver.receive(&last, ms(1), &profile, &mut out);
        receiver.receive(&data(0, 100, 0), ms(2), &profile, &mut out);
        assert_eq!(out.iter().map(Segment::ecn).collect::<Vec<_>>(), [expected; 2]);
        assert_eq!(ecn::number_of(out[1].flags), if asks { 6 } else { 0 });
    }
}
