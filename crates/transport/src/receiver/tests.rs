//! Tables of segments of 100 bytes: time in ms, what arrives, the ACK that leaves (`-`: none), when a held-back one is due.

use super::*;
use evenflow_base::Ecn;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const SIZE: u64 = 100;

fn data(from: u64, payload: u16, stamp: u32) -> Packet {
    Packet {
        seq: from,
        label: 0.0,
        flow: 0,
        stamp,
        size: payload + 54,
        payload,
        hop: 0,
        class: 0,
        flags: 0,
        ecn: Ecn::NotCapable,
    }
}

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
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
                assert_eq!(answer.flags, flags::SYN | flags::ACK | flags::BACKWARD, "{row}");
                assert_eq!((answer.seq, answer.stamp), (0, at as u32), "{row}");
            }
            "pure ack" => {
                let ack = Packet { flags: flags::ACK, ..data(0, 0, 0) };
                receiver.receive(&ack, ms(at), profile, &mut out);
            }
            n => {
                let n: u64 = n.parse().expect("a segment");
                receiver.receive(&data(n * SIZE, SIZE as u16, at as u32), ms(at), profile, &mut out);
            }
        }
        let acks: Vec<String> = out.iter().map(|a| format!("ack {}", a.seq / SIZE)).collect();
        assert_eq!(if acks.is_empty() { "-".into() } else { acks.join(" ") }, cells[2], "{row}");
        assert!(out.iter().all(|a| a.flags == flags::ACK | flags::BACKWARD && a.payload == 0), "{row}");
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
