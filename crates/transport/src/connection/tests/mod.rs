//! Both ends on a wire of 10 ms each way, as a packet trace shows them.
//!
//! A script says what applications do, in ms: `0 client open`, `20 server write 300`, `40 client close`,
//! `read N`, `abort`, `equip`; and what the wire does: `lose 3 5` (the third and the fifth segment are lost),
//! `window 7 0` (the seventh is made to tell a window of 0), `mark 2` (the second gets a congestion mark),
//! `zero 5` (the fifth loses its flags of ECN), `40 inject > RST 5` (a segment that neither end sent reaches
//! the server).
//!
//! A trace has a line for each segment, at the time at which it is sent: `20 > 0:100 ack 0` (from the client, bytes 0 to 99),
//! `FIN`, `SYN`, `RST`, `win` the window in bytes, `sack`, `ace` the three flags of ECN as a number, `ect`, the
//! counters `e0`, `ce`, `e1` of an AccECN option;
//! `x` before the time of one that is lost. What an application is notified of
//! stands between them: `30 server received 100`.
//!
//! Two words stand for beginnings that many traces share: `opened`, perhaps with the windows told, for [`OPENED`], and `filled` for
//! [`FILLED`].

mod closing;
mod ecn;
mod linux;
mod opening;
mod resets;
mod talk;
mod windows;

use std::collections::BTreeMap;

use evenflow_base::schema::Values;
use evenflow_base::{Carried, Options, Packet, Time, flags};

use super::*;

/// Either way.
const DELAY: Duration = Duration::from_millis(10);

struct Wire {
    profile: Profile,
    connection: Connection,
    options: Options,
    air: BTreeMap<(Time, u64), (End, Packet)>,
    sent: u64,
    lose: Vec<u64>,
    windows: BTreeMap<u64, u16>,
    mark: Vec<u64>,
    zero: Vec<u64>,
    /// The field that packets get on the way, by number.
    mangle: BTreeMap<u64, evenflow_base::Ecn>,
    now: Time,
    trace: Vec<String>,
}

/// The RFCs' stack with segments of 100 bytes that acknowledges every second one.
fn hundred() -> Profile {
    Profile { mss: 100, ..Profile::rfc() }
}

fn control(profile: &Profile) -> CongestionControl {
    CongestionControl::build("newreno", &Values::default(), profile, 1.0).expect("no parameters")
}

fn ms(t: u64) -> Time {
    Time(t * 1_000_000)
}

impl Wire {
    fn new(profile: &Profile) -> Wire {
        let mut connection = Connection::talking(profile, control(profile));
        connection.equip(control(profile), Time::ZERO, profile);
        Wire {
            profile: profile.clone(),
            connection,
            options: Options::default(),
            air: BTreeMap::new(),
            sent: 0,
            lose: Vec::new(),
            windows: BTreeMap::new(),
            mark: Vec::new(),
            zero: Vec::new(),
            mangle: BTreeMap::new(),
            now: Time::ZERO,
            trace: Vec::new(),
        }
    }

    /// The server will never write.
    fn one_way(profile: &Profile) -> Wire {
        Wire { connection: Connection::talking(profile, control(profile)), ..Wire::new(profile) }
    }

    /// The server reads by itself.
    fn paced(profile: &Profile) -> Wire {
        let mut wire = Wire::new(profile);
        wire.connection.pace(End::Server, profile);
        wire
    }

    /// Windows are announced, and both ends read at once.
    fn telling(profile: &Profile) -> Wire {
        let mut wire = Wire::new(profile);
        wire.connection.tell_windows(profile);
        wire
    }

    /// The server listens.
    fn listening(profile: &Profile) -> Wire {
        let mut wire = Wire::new(profile);
        wire.connection.tail(End::Server).state = State::Listen;
        wire
    }

    fn line(&mut self, text: String) {
        self.trace.push(format!("{} {text}", self.now.0 as f64 / 1e6));
    }

    fn flush(&mut self, out: &mut Vec<Segment>, notices: &mut Vec<Notice>) {
        for notice in notices.drain(..) {
            let name = |end: End| if end == End::Client { "client" } else { "server" };
            self.line(match notice {
                Notice::Opened(end) => format!("{} opened", name(end)),
                Notice::Received(end, bytes) => format!("{} received {bytes}", name(end)),
                Notice::Room(end, room) => format!("{} room {room}", name(end)),
                Notice::PeerClosed(end) => format!("{} peer closed", name(end)),
                Notice::Closed(end) => format!("{} closed", name(end)),
                Notice::Reset(end) => format!("{} reset", name(end)),
            });
        }
        for segment in out.drain(..) {
            self.sent += 1;
            let from = if segment.is_backward() { End::Server } else { End::Client };
            let mut packet = Packet {
                seq: segment.seq,
                stamp: segment.stamp,
                flags: segment.flags,
                ip: segment.ip,
                ..Packet::new(0, segment.size(&self.profile), segment.payload)
            };
            let c = &mut self.connection;
            c.attach(&segment, &mut packet, &mut self.options, self.now, &self.profile);
            if let Some(window) = self.windows.get(&self.sent) {
                self.options.attach(&mut packet).window = Some(*window);
            }
            let text = shown(from, &packet, self.options.of(&packet), &self.options);
            if self.lose.contains(&self.sent) {
                self.trace.push(format!("x {} {text}", self.now.0 as f64 / 1e6));
                self.options.release(&mut packet);
                continue;
            }
            self.line(text);
            if self.mark.contains(&self.sent) {
                packet.set_ecn(evenflow_base::Ecn::Congestion);
            }
            if self.zero.contains(&self.sent) {
                packet.flags &= !crate::ecn::ACE;
            }
            if let Some(field) = self.mangle.get(&self.sent) {
                packet.set_ecn(*field);
            }
            self.air.insert((self.now + DELAY, self.sent), (from.other(), packet));
        }
    }

    /// Everything that happens before `end`.
    fn until(&mut self, end: Time) {
        loop {
            let packet = self.air.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let wake = End::BOTH.map(|end| self.connection.deadline(end));
            let next = packet.min(wake[0]).min(wake[1]);
            if next >= end {
                return;
            }
            assert!(next >= self.now, "a deadline lies in the past");
            self.now = next;
            let (mut out, mut notices) = (Vec::new(), Vec::new());
            let mut to = Outlet { now: next, profile: &self.profile, out: &mut out, notices: &mut notices };
            if packet == next {
                let (_, (at, mut packet)) = self.air.pop_first().expect("a packet");
                let carried = *self.options.release(&mut packet);
                self.connection.receive(at, &packet, &carried, to);
            } else {
                let end = if wake[0] == next { End::Client } else { End::Server };
                self.connection.wake(end, &mut to);
            }
            self.flush(&mut out, &mut notices);
        }
    }

    fn act(&mut self, words: &[&str]) {
        let (now, profile) = (self.now, self.profile.clone());
        let (mut out, mut notices) = (Vec::new(), Vec::new());
        let number = |i: usize| words[i].parse::<u64>().expect("a number");
        let end = if words[0] == "client" { End::Client } else { End::Server };
        let c = &mut self.connection;
        let to = &mut Outlet { now, profile: &profile, out: &mut out, notices: &mut notices };
        match words[1] {
            "open" => c.open(to),
            "write" => {
                let taken = c.write(end, number(2), to);
                if taken < number(2) {
                    self.line(format!("{} wrote {taken}", words[0]));
                }
            }
            "read" => {
                c.read(end, number(2), to);
            }
            "equip" => c.equip(control(&profile), now, &profile),
            "close" => c.close(end, to),
            "abort" => c.abort(end, to),
            other => panic!("nobody can {other}"),
        }
        self.flush(&mut out, &mut notices);
    }

    /// `> RST 5`, `< SYN`, `> 0:100` arrives.
    fn inject(&mut self, words: &[&str]) {
        let at = if words[0] == ">" { End::Server } else { End::Client };
        let mut packet = Packet::new(0, 152, 0);
        match words[1] {
            "RST" => (packet.flags, packet.seq) = (flags::RST, words[2].parse().expect("a number")),
            "SYN" => packet.flags = flags::SYN,
            "ACK" => (packet.flags, packet.seq) = (flags::ACK, words[2].parse().expect("a number")),
            "SYN-ACK" => {
                (packet.flags, packet.seq) = (flags::SYN | flags::ACK, words[2].parse().expect("a number"));
            }
            data => {
                let (from, to) = data.split_once(':').expect("from and to");
                packet.seq = from.parse().expect("from");
                packet.payload = (to.parse::<u64>().expect("to") - packet.seq) as u16;
            }
        }
        let (mut out, mut notices) = (Vec::new(), Vec::new());
        let (now, profile) = (self.now, &self.profile);
        let to = Outlet { now, profile, out: &mut out, notices: &mut notices };
        self.connection.receive(at, &packet, Carried::NONE, to);
        self.flush(&mut out, &mut notices);
    }

    fn run(&mut self, script: &str) -> &mut Wire {
        for row in script.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let number = |word: &&str| word.parse::<u64>().expect("a number");
            match words[0] {
                "lose" => self.lose.extend(words[1..].iter().map(number)),
                "mark" => self.mark.extend(words[1..].iter().map(number)),
                "zero" => self.zero.extend(words[1..].iter().map(number)),
                "window" => {
                    self.windows.insert(number(&words[1]), number(&words[2]) as u16);
                }
                at => {
                    let at = ms(number(&at));
                    self.until(at);
                    self.now = at;
                    match words[1] {
                        "inject" => self.inject(&words[2..]),
                        _ => self.act(&words[1..]),
                    }
                }
            }
        }
        self.until(ms(1_000_000));
        assert!(self.options.is_empty(), "options are left");
        self
    }

    fn states(&self) -> [&'static str; 2] {
        End::BOTH.map(|end| self.connection.state(end).name())
    }
}

fn shown(from: End, packet: &Packet, carried: &Carried, options: &Options) -> String {
    let seq = options.seq(packet);
    let mut text = String::from(if from == End::Client { ">" } else { "<" });
    for (bit, name) in [(flags::SYN, " SYN"), (flags::RST, " RST")] {
        if packet.is(bit) {
            text += name;
        }
    }
    if packet.is(flags::RST) {
        text += &format!(" {seq}");
    }
    if packet.payload > 0 {
        text += &format!(" {seq}:{}", seq + u64::from(packet.payload));
    }
    if packet.is(flags::FIN) {
        text += &format!(" FIN {}", seq + u64::from(packet.payload));
    }
    if packet.is(flags::ACK) {
        let holds = packet.payload > 0 || packet.is(flags::FIN | flags::RST);
        text += &format!(" ack {}", if holds { carried.ack } else { seq });
    }
    for (from, to) in carried.report.blocks() {
        text += &format!(" sack {from}:{to}");
    }
    if let Some(window) = carried.window {
        text += &format!(" win {window}");
    }
    match crate::ecn::number_of(packet.flags) {
        0 => {}
        number => text += &format!(" ace {number}"),
    }
    if packet.ecn() != evenflow_base::Ecn::NotCapable {
        text += " ect";
    }
    if let Some(option) = carried.accurate {
        let field =
            |name: &str, i: usize| option.field(i).map_or(String::new(), |bytes| format!(" {name}{bytes}"));
        text += &[field("e0:", 0), field("ce:", 1), field("e1:", 2)].concat();
    }
    text
}

/// Nothing is lost while it is opened.
const OPENED: [&str; 4] = ["0 > SYN", "10 < SYN ack 0", "20 client opened", "20 > ack 0"];

/// The client writes 400 bytes or more at 30 ms, the server has room for 400 and does not read.
const FILLED: [&str; 11] = [
    "30 > 0:100 ack 0 win 400",
    "30 > 100:200 ack 0 win 400",
    "30 > 200:300 ack 0 win 400",
    "30 > 300:400 ack 0 win 400",
    "30 server opened",
    "40 server received 100",
    "40 server received 200",
    "40 < ack 200 win 200",
    "40 server received 300",
    "40 server received 400",
    "40 < ack 400 win 0",
];

/// The lines of a trace, those included for which a word stands.
fn written_out(trace: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in trace.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("opened") {
            Some(window) => lines.extend(OPENED.map(|line| match line {
                "20 client opened" => line.into(),
                segment => format!("{segment}{window}"),
            })),
            None if line == "filled" => lines.extend(FILLED.map(String::from)),
            None => lines.push(line.into()),
        }
    }
    lines
}

/// The script, run on this wire, gives this trace and leaves client and server in these states.
#[track_caller]
fn dialogue(mut wire: Wire, script: &str, trace: &str, states: [&str; 2]) {
    wire.run(script);
    let expected = written_out(trace);
    assert!(wire.trace == expected, "the trace is\n{}\nnot\n{}", wire.trace.join("\n"), expected.join("\n"));
    assert_eq!(wire.states(), states);
}

/// In the room of a connection that is over begins one that is as a new one, whatever had happened to it, and of whatever stack.
#[test]
fn one_that_begins_anew_is_as_new() {
    let hundreds = [Profile::rfc(), Profile::ns2(), Profile::linux(), Profile::linux3_2()]
        .map(|profile| Profile { mss: 100, ..profile });
    for profile in &hundreds {
        let mut wire = Wire::telling(profile);
        wire.run(
            "lose 5 7 9 16
             0 client open
             30 client write 2500
             200 server write 900
             330 client close
             900 server abort",
        );
        assert!(wire.connection.received(End::Server) > 0, "nothing had happened");
        for next in &hundreds {
            let (mut room, mut new) = (wire.connection.clone(), Connection::talking(next, control(next)));
            room.renew(next, control(next));
            for connection in [&mut room, &mut new] {
                connection.equip(control(next), Time::ZERO, next);
            }
            assert_eq!(format!("{room:?}"), format!("{new:?}"), "{} after {}", next.name, profile.name);
        }
    }
}
