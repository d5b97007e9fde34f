//! Packet tables: time in ms, what comes in, what goes out, and the state after it, computed independently.
//!
//! Inputs: `open`, `syn` (SYN,ACK; `syn 2` with those three flags as a number), `ack 5` (everything before segment 5),
//! `ack 5+700` (700 bytes more), `request 5` (an ACK on a segment with data), `dup 3` (three duplicates),
//! `timer`, `offer 3`
//! (the application has three segments more).
//! An ACK may go on with `sack 7..9 12` (blocks, the newest first: segments 7 to 9, segment 12), `ece`, `ace 6` (the
//! counter), `echo 40` (the timestamp that it echoes; else that of 50 ms ago).
//! Outputs: `7` is segment 7, `7*` the same again, `7:932` one of 932 bytes, `3..5` several, each with its flag checked.
//! Behind a slash what it says of ECN: `7/ect`, `7/ect+cwr`; `SYN/7` and `ACK/2` are the three flags as a number; of congestion:
//! `7/x` is ConEx-Not-Marked, `7/xL` Re-Echo-Loss, `7/xE` Re-Echo-ECN, `7/xC` a credit.
//! State: `cwnd`, `ssthresh` (`inf`), `pipe`, `sacked` and `lost` in segments (`4.5`) plus bytes (`5+289`); in ms `rto`, when
//! the retransmission timer fires, `reordering` as Linux 3.2 knows it in segments, `early`, when the one beside it does (`off`), and `reo`, the reordering window; the words
//! of [`Recovery`] and [`Life`]. What a row does not mention is not checked.

mod conex;
mod ecn;
mod idle;
mod linux;
mod linux32;
mod newreno;
mod prr;
mod rack;
mod sack;
mod stories;
mod tlp;
mod wtp;

use super::*;
use crate::profile::{LossDetection, Reduction, RttSource};
use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, Ecn, Report};

struct Bench {
    profile: Profile,
    sender: Sender,
    out: Vec<Segment>,
}

/// The RFCs' stack with segments of 1000 bytes, which takes the whole reduction at once (RFC 6675).
fn thousand() -> Profile {
    Profile { mss: 1000, reduction: Reduction::AtOnce, ..Profile::rfc() }
}

fn packet(seq: u64, stamp: u32, flags: u8) -> Packet {
    Packet { seq, stamp, flags, ..Packet::new(0, 54, 0) }
}

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

fn time(t: Time) -> String {
    if t == Time::NEVER { "off".into() } else { format!("{}", t.0 as f64 / 1e6) }
}

/// `5+700` in bytes.
fn bytes(text: &str, mss: u64) -> u64 {
    if text == "inf" {
        return u64::MAX;
    }
    let (segments, rest) = text.split_once('+').unwrap_or((text, "0"));
    (segments.parse::<f64>().expect("segments") * mss as f64) as u64 + rest.parse::<u64>().expect("bytes")
}

/// `3..5` and `3` as the segments between.
fn range(text: &str) -> (u64, u64) {
    let (a, b) = text.split_once("..").unwrap_or((text, text));
    (a.parse().expect("from"), b.parse().expect("to"))
}

/// A segment as a table writes it.
fn shown(s: &Segment, mss: u64) -> String {
    let number = crate::ecn::number_of(s.flags);
    let told = if number == 0 { String::new() } else { format!("/{number}") };
    if s.flags & flags::SYN != 0 {
        return format!("SYN{told}");
    }
    if s.flags & flags::ACK != 0 {
        return format!("ACK{told}");
    }
    let again = if s.again { "*" } else { "" };
    let (n, rest) = (s.seq / mss, s.seq % mss);
    let from = if rest == 0 { n.to_string() } else { format!("{n}+{rest}") };
    let size = if u64::from(s.payload) == mss { String::new() } else { format!(":{}", s.payload) };
    let ecn = match (s.ecn(), s.flags & flags::CWR != 0) {
        (Ecn::Capable0, false) => "/ect",
        (Ecn::Capable0, true) => "/ect+cwr",
        (_, true) => "/cwr",
        _ => "",
    };
    let x = said(s);
    let ecn = if x.is_empty() { ecn } else { x.as_str() };
    format!("{from}{size}{again}{ecn}")
}

/// What a segment says as a ConEx packet.
fn said(s: &Segment) -> String {
    let says = Packet { ip: s.ip, ..Packet::new(0, 1052, 1000) }.signals();
    let word = |on: bool, word: &'static str| if on { word } else { "" };
    let marks = [word(says.loss, "L"), word(says.ecn, "E"), word(says.credit, "C")].concat();
    let cwr = word(s.flags & flags::CWR != 0, "+cwr");
    match says.capable {
        false => String::new(),
        true => format!("/x{marks}{cwr}"),
    }
}

/// `3..5` spelled out.
fn expanded(outputs: &str) -> String {
    let each = |word: &str| {
        let (word, ecn) = word.split_once('/').map_or((word, String::new()), |(w, e)| (w, format!("/{e}")));
        let (word, again) = word.strip_suffix('*').map_or((word, ""), |w| (w, "*"));
        match word.split_once("..") {
            Some(_) => {
                let (a, b) = range(word);
                (a..=b).map(|n| format!("{n}{again}{ecn}")).collect::<Vec<_>>().join(" ")
            }
            None => format!("{word}{again}{ecn}"),
        }
    };
    outputs.split_whitespace().map(each).collect::<Vec<_>>().join(" ")
}

impl Bench {
    fn new(profile: Profile, size: Option<u64>) -> Bench {
        Bench::of("newreno", &Values::default(), profile, size)
    }

    /// With another congestion control, its weight being 1.
    fn of(kind: &str, values: &Values, profile: Profile, size: Option<u64>) -> Bench {
        let control = CongestionControl::build(kind, values, &profile, 1.0).expect("they are sound");
        let sender = Sender::new(&profile, control, size);
        Bench { profile, sender, out: Vec::new() }
    }

    /// A window other than that of the stack's start.
    fn with_window(mut self, cwnd: f64, ssthresh: f64) -> Bench {
        let mss = self.profile.mss as f64;
        self.sender.core.control.set(Window { cwnd: cwnd * mss, ssthresh: ssthresh * mss });
        self
    }

    fn input(&mut self, text: &str, now: Time) {
        let Bench { profile, sender, out } = self;
        // The echo says that the round-trip time is 50 ms.
        let echo = (now.0 / 1_000_000).saturating_sub(50) as u32;
        let mut words = text.split_whitespace().peekable();
        match (words.next().expect("an input"), words.next()) {
            ("open", None) => sender.open(now, profile, out),
            ("syn", bits) => {
                let bits = crate::ecn::flags_of(bits.map_or(0, |n| n.parse().expect("three flags")));
                let ack = packet(0, echo, flags::SYN | flags::ACK | bits);
                sender.receive(&ack, Carried::NONE, now, profile, out);
            }
            (word @ ("ack" | "request"), Some(to)) => {
                let mut ack = packet(bytes(to, profile.mss), echo, flags::ACK);
                let mut report = Report::default();
                while let Some(word) = words.next() {
                    match word {
                        "sack" => {
                            while let Some(block) =
                                words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()))
                            {
                                let (a, b) = range(block);
                                report.push((a * profile.mss, (b + 1) * profile.mss));
                            }
                        }
                        "ece" => ack.flags |= flags::ECE,
                        "ace" => {
                            let n = words.next().and_then(|n| n.parse().ok()).expect("a counter");
                            ack.flags |= crate::ecn::flags_of(n);
                        }
                        "echo" => ack.stamp = words.next().and_then(|n| n.parse().ok()).expect("a stamp"),
                        other => panic!("an ACK says nothing of {other}"),
                    }
                }
                let carried = Carried::reporting(report);
                match word {
                    "request" => assert!(sender.hear(&ack, &carried, None, true, now, profile, out)),
                    _ => sender.receive(&ack, &carried, now, profile, out),
                }
            }
            ("dup", Some(times)) => {
                for _ in 0..times.parse().expect("how many") {
                    sender.receive(
                        &packet(sender.numbers().0, echo, flags::ACK),
                        Carried::NONE,
                        now,
                        profile,
                        out,
                    );
                }
            }
            ("offer", Some(more)) => sender.offer(bytes(more, profile.mss), now, profile, out),
            ("timer", None) => {
                assert_eq!(sender.deadline(), now, "the timer is set for another time");
                sender.wake(now, profile, out);
            }
            other => panic!("no input is called {other:?}"),
        }
    }

    /// Runs a table.
    fn table(&mut self, rows: &str) -> &mut Bench {
        let mss = self.profile.mss;
        for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let now = ms(cells[0].parse().expect("a time in ms"));
            self.input(cells[1], now);
            let sent: Vec<String> = self.out.drain(..).map(|s| shown(&s, mss)).collect();
            assert_eq!(sent.join(" "), expanded(cells[2]), "sent in row: {row}");
            let mut words = cells.get(3).copied().unwrap_or("").split_whitespace();
            while let Some(word) = words.next() {
                let s = &self.sender;
                let mut value = || words.next().expect("a value");
                let board = recovery!(&s.recovery, recovery => recovery.scoreboard()).map(|s| &s.board);
                let amount = |is: u64, expected: &str| (is.to_string(), bytes(expected, mss).to_string());
                let (is, expected) = match word {
                    "cwnd" => amount(s.window().cwnd as u64, value()),
                    "ssthresh" => amount(s.window().ssthresh as u64, value()),
                    "pipe" => amount(board.expect("SACK").pipe(), value()),
                    "sacked" => amount(board.expect("SACK").sacked(), value()),
                    "lost" => amount(board.expect("SACK").lost(), value()),
                    "rto" => (time(s.core.timer), value().into()),
                    "early" => (time(s.selective().early()), value().into()),
                    "reo" => (time(Time(s.selective().reordering_window(&s.core, false).0)), value().into()),
                    "reordering" => (s.reordering().expect("Linux 3.2").to_string(), value().into()),
                    "marks" => (s.marks_reported().to_string(), value().into()),
                    "done" | "dead" | "opening" => (format!("{:?}", s.life()).to_lowercase(), word.into()),
                    "off" | "classic" | "accurate" | "per-packet" => (s.ecn().word().into(), word.into()),
                    _ => (format!("{:?}", s.recovery()).to_lowercase(), word.into()),
                };
                assert_eq!(is, expected, "{word} in row: {row}");
            }
        }
        self
    }
}

impl Sender {
    fn selective(&self) -> &recovery::Selective {
        match &self.recovery {
            Algorithm::Selective(selective) => selective,
            other => panic!("{other:?} keeps no such time"),
        }
    }
}

impl Sender {
    fn linux3_2(&mut self) -> &mut recovery::Linux3_2 {
        match &mut self.recovery {
            Algorithm::Linux3_2(linux) => linux,
            other => panic!("{other:?} learns no reordering"),
        }
    }
}

fn table(profile: Profile, rows: &str) {
    Bench::new(profile, None).table(rows);
}
