//! What bytes do to the parts that read what others wrote: the decoder, the two ends of a connection, queue disciplines. The
//! targets beside this file hand it what cargo-fuzz makes up; crates/scenario/tests/bytes.rs what proptest does.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenflow_base::schema::{Mechanism, Room};
use evenflow_base::{Carried, Duration, Packet, Rate, Report, Stream, Time, flags, ip};
use evenflow_queue::held::{Owner, Served};
use evenflow_queue::{
    Admission, Dropped, Gate, Limit, LinkFacts, Next, Qdisc, Queued, Scheduler, Setting, Verdict,
};
use evenflow_scenario::{Scenario, catalogue, mechanism};
use evenflow_transport::{CongestionControl, Profile, Receiver, Segment, Sender};

/// Numbers out of bytes; zeros where they end.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn left(&self) -> bool {
        !self.0.as_slice().is_empty()
    }

    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most
    }

    /// Of any size: as likely small as large.
    fn number(&mut self) -> u64 {
        let bytes: [u8; 8] = std::array::from_fn(|_| self.byte());
        u64::from_le_bytes(bytes) >> (self.byte() % 64)
    }
}

/// Words of a scenario file.
const WORDS: [&str; 48] = [
    "duration = \"1 s\"\n",
    "warmup = \"100 ms\"\n",
    "[links.l]\n",
    "[groups.g]\n",
    "[stages.s]\n",
    "[record]\n",
    "rate = \"10 Mbit/s\"\n",
    "delay = \"5 ms\"\n",
    "users = 2\n",
    "path = [\"l\"]\n",
    "traffic = ",
    "queue = ",
    "tcp = ",
    "{ kind = \"bulk\" }\n",
    "{ kind = \"red\" }\n",
    "{ kind = \"",
    "\" }\n",
    "codel",
    "pie",
    "per = \"user\"\n",
    "limit = \"10 packets\"\n",
    "\"",
    "=",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "\n",
    ".",
    "'",
    "\\",
    "#",
    "1e400",
    "-1",
    "0",
    "9007199254740993",
    "uniform",
    "normal",
    "exponential",
    "steps",
    "\u{202e}",
    "\0",
    "inf",
    "nan",
    "true",
    "1979-05-27",
    "series = [{ of = \"links.l.queue.packets\", every = \"1 ms\" }]\n",
];

/// A file of any bytes, or of words that files have, is a scenario or has errors; a scenario is one in both languages.
pub fn decoder(data: &[u8]) {
    let mut bytes = Bytes(data.iter());
    let text = if bytes.byte() % 4 == 0 {
        String::from_utf8_lossy(bytes.0.as_slice()).into_owned()
    } else {
        bytes.0.map(|byte| WORDS[usize::from(*byte) % WORDS.len()]).collect()
    };
    match Scenario::from_toml(&text) {
        Ok(scenario) => {
            let again = Scenario::from_json(&scenario.canonical).expect("what is canonical is valid");
            assert_eq!(again.canonical, scenario.canonical);
        }
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
    let _ = Scenario::from_json(&text);
}

fn chosen(room: Room, bytes: &mut Bytes) -> &'static Mechanism {
    let all = catalogue::all(room);
    all[bytes.below(all.len())]
}

/// A sender and a receiver between which segments are lost, repeated, kept back and rewritten: sequence numbers of bytes that
/// were sent, acknowledgements and reports of any bytes, flags, marks, time stamps. Neither panics, nor sends more at once than a
/// window can be, and what was never sent stays unacknowledged.
pub fn endpoints(data: &[u8]) {
    let mut bytes = Bytes(data.iter());
    let names = ["rfc", "linux", "linux3.2", "ns3.26", "ns2", "ns2-linux"];
    let mut profile = Profile::named(names[bytes.below(names.len())]).expect("it is one");
    profile.max_window = profile.max_window.min(1 << 20).max(2 * profile.mss);
    let kind = chosen(Room::CongestionControl, &mut bytes).kind;
    let Ok(spec) = mechanism(kind, "{}") else { return };
    let Ok(control) = CongestionControl::build(kind, &spec.values, &profile, 1.0) else { return };
    let size = (bytes.byte() % 2 == 0).then(|| bytes.number() % (1 << 30));
    let (mut sender, mut receiver) = (Sender::new(&profile, control, size), Receiver::new(&profile));
    let (mut now, mut air, mut out) = (Time::ZERO, Vec::<Segment>::new(), Vec::new());
    let mut high = 0;
    sender.open(now, &profile, &mut out);
    for _ in 0..2000 {
        assert!(
            out.len() as u64 <= 4096 + (1 << 20) / profile.mss.min(100),
            "{} segments at once",
            out.len()
        );
        let end = |segment: &Segment| {
            if segment.is_backward() { 0 } else { segment.seq + u64::from(segment.payload) }
        };
        high = out.iter().map(end).fold(high, u64::max);
        air.append(&mut out);
        air.truncate(5000);
        if !bytes.left() {
            break;
        }
        let what = bytes.byte();
        if what % 8 == 0 || air.is_empty() {
            let next = sender.deadline().min(receiver.deadline());
            if next == Time::NEVER {
                break;
            }
            now = now.max(next);
            if sender.deadline() <= now {
                sender.wake(now, &profile, &mut out);
            } else {
                receiver.wake(now, &mut out);
            }
            continue;
        }
        now += Duration(bytes.number() % 10_000_000_000);
        let place = if what % 8 == 1 { bytes.below(air.len().min(256)) } else { 0 };
        let mut segment = air[place];
        if what % 8 != 2 {
            air.remove(place);
        }
        if what % 8 == 3 {
            continue;
        }
        let mut report = Report::default();
        if segment.is_backward() && profile.sack {
            receiver.report(&mut report);
        }
        if what % 8 == 4 {
            match bytes.byte() % 5 {
                0 => segment.seq = bytes.number(),
                1 => segment.seq += bytes.number() % 10_000,
                2 => segment.flags ^= bytes.byte() & (flags::ACK | flags::SYN),
                3 => segment.stamp = bytes.number() as u32,
                _ => segment.ip ^= bytes.byte() & 3,
            }
            if !segment.is_backward() {
                segment.seq %= high.saturating_sub(u64::from(segment.payload)) + 1;
            } else if profile.sack && bytes.byte() % 4 == 0 {
                let from = bytes.number() >> 8;
                report.push((from, from + 1 + bytes.number() % 100_000));
            }
        }
        let packet = Packet {
            seq: segment.seq,
            stamp: segment.stamp,
            flags: segment.flags,
            ip: segment.ip,
            ..Packet::new(0, segment.size(&profile), segment.payload)
        };
        if segment.is_backward() {
            sender.receive(&packet, &Carried::reporting(report), now, &profile, &mut out);
            let (acknowledged, sent) = sender.numbers();
            assert!(acknowledged <= sent, "{acknowledged} are acknowledged, and {sent} were sent");
        } else {
            receiver.receive(&packet, now, &profile, &mut out);
        }
        assert!(sender.window().cwnd.is_finite() && sender.window().cwnd >= 0.0);
    }
}

/// A queue discipline with any rule and scheduler, by operations: every packet comes out once, or is dropped, or is there.
pub fn queue(data: &[u8]) {
    let mut bytes = Bytes(data.iter());
    let rate = Rate(1.0 + (bytes.number() % 1_000_000_000) as f64);
    let rule = chosen(Room::Queue, &mut bytes);
    let facts = LinkFacts { rate: Some(rate), delay: Duration::from_millis(10), classes: &[] };
    let Ok(spec) = mechanism(rule.kind, "{}") else { return };
    let Ok(built) = Admission::build(rule.kind, &spec.values, facts) else { return };
    let kind = if rule.traits.owns_queues { rule.kind } else { chosen(Room::Scheduler, &mut bytes).kind };
    let Ok(spec) = mechanism(kind, "{}") else { return };
    let owners = vec![Owner { weight: 1.0, each: None }; 4];
    let classes = ["be", "ef", "af", "le"].map(String::from);
    let hash = Stream::new(1, "hash");
    let link = LinkFacts { classes: &classes, ..facts };
    let served = Served { link, owners: &owners, keys: Arc::from([1, 2, 3, 4]), hash: &hash, draws: &hash };
    let Ok(scheduler) = Scheduler::build(kind, &spec.values, &served) else { return };
    let limit = match bytes.byte() % 4 {
        0 => Limit::None,
        1 => Limit::Packets(u32::from(bytes.byte())),
        2 => Limit::Bytes(bytes.number() % 100_000),
        _ => Limit::Seconds(f64::from(bytes.byte()) / 100.0),
    };
    let mut queue = Qdisc::new(Gate::new(built, limit, Stream::new(1, "queue"), Some(rate)), scheduler);
    let mut now = Time::ZERO;
    let mut there = BTreeMap::new();
    let mut dropped: Vec<Dropped> = Vec::new();
    let mut number = 0;
    while bytes.left() {
        now += Duration(bytes.number() % 1_000_000_000);
        match bytes.byte() % 8 {
            0..=4 => {
                number += 1;
                let size = 1 + (bytes.number() % 65_535) as u16;
                let (key, label) = (bytes.below(4), f64::from(bytes.byte()));
                let packet = Packet {
                    seq: number,
                    label,
                    class: key as u8,
                    ip: ip::DATAGRAM,
                    ..Packet::new(key as u32, size, size)
                };
                queue.introduce(key as u32, 1 + key as u32);
                if !matches!(queue.offer(Queued { packet, at: now }, key, &mut dropped), Verdict::Drop(_)) {
                    there.insert(number, size);
                }
            }
            5 | 6 => {
                if let Next::Packet(item, _) = queue.next(now, &mut dropped) {
                    assert_eq!(there.remove(&item.packet.seq), Some(item.packet.size), "it was not there");
                }
            }
            _ => queue.set(
                Setting::LinkRate(Rate(1.0 + (bytes.number() % 1_000_000_000) as f64)),
                now,
                &mut dropped,
            ),
        }
        for (item, _) in dropped.drain(..) {
            assert_eq!(
                there.remove(&item.packet.seq),
                Some(item.packet.size),
                "dropped, and it was not there"
            );
        }
        let mut held = 0;
        queue.for_each(|item| held += u32::from(there.contains_key(&item.packet.seq)));
        let waiting = u32::try_from(there.len()).expect("few");
        assert!(waiting - held <= 1, "{waiting} are there, {held} are held");
        assert_eq!(queue.packets(), held, "what the gate counts");
    }
}
