//! A stage stepped by hand from Python.

use pyo3::PyResult;
use serde_json::{Value, json};

use evenflow_base::schema::Way;
use evenflow_base::{Duration, Options, Outer, Packet, Time, flags, ip};
use evenflow_stage::congestion_reporter::Report;
use evenflow_stage::probe_stage::Probe;
use evenflow_stage::{Act, HeldPacket, Message, Own, Pass, Setting, Stage, Stepper, To};

use crate::args::{Args, bad, codepoint, codepoint_named, ecn_word, given, is_true, not_negative, whole};

/// A stage, and what the engine would have for it.
pub struct ByHand {
    pub stage: Stage,
    stepper: Stepper,
}

impl ByHand {
    /// The stage with a stream of its own. Its run has begun.
    pub fn new(stage: Stage, seed: u64) -> ByHand {
        let mut by_hand = ByHand { stage, stepper: Stepper::new(seed) };
        by_hand.stage.start(&mut by_hand.stepper.cx(Time::ZERO));
        by_hand
    }

    /// Calls a method; `None`: there is none of that name.
    pub fn call(
        &mut self,
        method: &str,
        args: &Args,
        mut packet: Packet,
        now: Time,
        classes: &[String],
    ) -> PyResult<Option<Args>> {
        let mut out = Args::new();
        self.stepper.whose.user = not_negative(args, "user", Some(0.0))? as u32;
        self.stepper.whose.flow = not_negative(args, "flow", Some(0.0))? as u64;
        self.stepper.whose.class = packet.class;
        match method {
            "forward" | "backward" => {
                dress(&mut packet, args, &mut self.stepper.options)?;
                wrap(&mut packet, args, &mut self.stepper.options)?;
                let bytes = packet.size;
                let before = fields(&packet, &self.stepper.options, classes);
                self.stepper.way = if method == "forward" { Way::Forward } else { Way::Backward };
                let mut cx = self.stepper.cx(now);
                let pass = match cx.way {
                    Way::Forward => self.stage.forward(&mut packet, &mut cx),
                    Way::Backward => self.stage.backward(&mut packet, &mut cx),
                };
                let (verdict, reason) = match pass {
                    Pass::On => ("pass", None),
                    Pass::Mark(reason) => ("mark", Some(reason)),
                    Pass::Drop(reason) => ("drop", Some(reason)),
                    Pass::Held => ("hold", None),
                };
                out.insert("verdict".into(), verdict.into());
                out.insert("reason".into(), reason.map_or(Value::Null, |r| r.name().into()));
                let after = fields(&packet, &self.stepper.options, classes);
                let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
                out.insert("changed".into(), changed.map(|(name, _)| name.as_str()).collect());
                out.extend(after);
                let headers = headers(&packet, &self.stepper.options);
                if packet.size != bytes || !headers.is_empty() {
                    out.insert("bytes".into(), packet.size.into());
                    out.insert("outer".into(), headers.into());
                }
                if pass != Pass::Held {
                    self.stepper.options.discard(&packet);
                }
            }
            "wake" => self.stage.wake(&mut self.stepper.cx(now)),
            "receive" => {
                let message = message_of(args)?;
                self.stage.receive(message, &mut self.stepper.cx(now));
            }
            _ => return Ok(None),
        }
        self.asked(&mut out, classes);
        Ok(Some(out))
    }

    /// What the stage has asked for beside its verdict.
    fn asked(&mut self, out: &mut Args, classes: &[String]) {
        let (mut sent, mut released, mut set) = (Vec::new(), Vec::new(), Vec::new());
        for act in self.stepper.acts.drain(..) {
            match act {
                Act::Wake(at) => {
                    let at = if at == Time::NEVER { Value::Null } else { json!(at.seconds()) };
                    out.insert("wake_s".into(), at);
                }
                Act::Send(own) => sent.push(sending(&own, classes)),
                Act::Release(HeldPacket { packet, .. }) => {
                    released.push(json!(self.stepper.options.seq(&packet)));
                    self.stepper.options.discard(&packet);
                }
                Act::Set(Setting::Rate(rate)) => set.push(json!({ "rate_bps": rate.bits_per_second() })),
                Act::Set(Setting::Share(flow, class, share)) => set.push(json!({
                    "flow": flow,
                    "class": classes.get(usize::from(class)),
                    "rate_bps": share.rate.bits_per_second(),
                    "ceil_bps": share.ceil.bits_per_second(),
                    "replace": share.replace,
                })),
            }
        }
        for (name, list) in [("sent", sent), ("released", released), ("set", set)] {
            if !list.is_empty() {
                out.insert(name.into(), Value::Array(list));
            }
        }
    }
}

/// What a TCP segment may be called, its flags, and whether it carries data.
const SEGMENTS: [(&str, u8, bool); 6] = [
    ("syn", flags::SYN, false),
    ("syn-ack", flags::SYN | flags::ACK, false),
    ("ack", flags::ACK, false),
    ("data", 0, true),
    ("fin", flags::FIN | flags::ACK, false),
    ("rst", flags::RST, false),
];

/// Makes a datagram what the call says that it is.
pub(crate) fn dress(packet: &mut Packet, args: &Args, options: &mut Options) -> PyResult<()> {
    packet.set_re(is_true(args, "re"));
    if let Some(marks) = given(args, "conex") {
        const MARKS: [(char, u8); 3] = [('L', ip::LOSS), ('E', ip::MARK), ('C', ip::CREDIT)];
        let bit = |letter: char| MARKS.iter().find(|(own, _)| *own == letter).map(|(_, bit)| *bit);
        let bits = marks
            .as_str()
            .and_then(|letters| letters.chars().try_fold(0, |all, letter| Some(all | bit(letter)?)));
        let Some(bits) = bits else {
            return Err(bad(format!("conex must be letters of \"LEC\", not {marks}")));
        };
        packet.set_conex(bits);
    }
    if let Some(segment) = given(args, "segment") {
        let Some((_, flags, data)) = SEGMENTS.iter().find(|(name, ..)| segment.as_str() == Some(name)) else {
            let names: Vec<&str> = SEGMENTS.iter().map(|(name, ..)| *name).collect();
            return Err(bad(format!("segment must be one of {}, not {segment}", names.join(", "))));
        };
        packet.ip &= !ip::DATAGRAM;
        packet.flags = *flags;
        packet.payload = if *data { packet.payload } else { 0 };
    }
    if given(args, "window").is_some() {
        let window = whole(args, "window", None, u16::MAX.into(), "window")?;
        options.attach(packet).window = Some(window as u16);
    }
    if given(args, "scale").is_some() {
        options.attach(packet).scale = Some(whole(args, "scale", None, 14, "scale")? as u8);
    }
    Ok(())
}

/// Puts the outer header of a tunnel around a packet, whose size counts it already.
fn wrap(packet: &mut Packet, args: &Args, options: &mut Options) -> PyResult<()> {
    let Some(header) = given(args, "outer") else { return Ok(()) };
    let Value::Object(header) = header else {
        return Err(bad(format!("outer must be a table, not {header}")));
    };
    let field = header.get("ecn").and_then(Value::as_str).unwrap_or("ect0");
    let field = codepoint_named(field)
        .ok_or_else(|| bad(format!("outer.ecn must be not-ect, ect0, ect1 or ce, not {field:?}")))?;
    let whole = |name: &str, usual: u32, most: u32| {
        whole(header, name, Some(usual.into()), most, &format!("outer.{name}"))
    };
    let bytes = whole("bytes", 20, u32::from(packet.size.saturating_sub(1)))? as u16;
    let re = if is_true(header, "re") { ip::RE } else { 0 };
    let header = Outer {
        ip: field as u8 | re,
        numbered: header.contains_key("sequence"),
        by: 0,
        tunnel: whole("tunnel", 1, u32::MAX)?,
        sequence: whole("sequence", 0, u32::from(u16::MAX))? as u16,
        bytes,
        round_trip: Duration::from_seconds(not_negative(header, "round_trip_s", Some(0.0))?),
    };
    packet.size -= bytes;
    options.push_outer(packet, header);
    Ok(())
}

/// The outer headers of a packet, the outermost last.
fn headers(packet: &Packet, options: &Options) -> Vec<Value> {
    let (_, headers, depth) = options.of(packet).layers(packet.ip);
    let table = |header: &Outer| {
        json!({
            "ecn": codepoint(header.ecn()), "re": header.re(), "tunnel": header.tunnel, "bytes": header.bytes,
            "sequence": header.numbered.then_some(header.sequence),
        })
    };
    headers[..depth].iter().map(table).collect()
}

/// The fields of a packet that stages write.
fn fields(packet: &Packet, options: &Options, classes: &[String]) -> Args {
    Args::from_iter([
        ("label".into(), json!(packet.label)),
        ("ecn".into(), ecn_word(packet).into()),
        ("codepoint".into(), codepoint(packet.ecn()).into()),
        ("re".into(), packet.re().into()),
        ("cls".into(), json!(classes.get(usize::from(packet.class)))),
        ("window".into(), json!(options.of(packet).window)),
    ])
}

fn sending(own: &Own, classes: &[String]) -> Value {
    let to = match own.to {
        To::Peer => "peer",
        To::Forward => "forward",
        To::Backward => "backward",
    };
    json!({
        "to": to, "bytes": own.size, "cls": classes.get(usize::from(own.class)), "user": own.along.user, "flow": own.along.flow,
        "message": own.message.as_ref().map(message_json),
    })
}

fn message_json(message: &Message) -> Value {
    match message {
        Message::Probe(probe) => {
            json!({ "kind": "probe", "sent_s": probe.sent.seconds(), "answer": probe.answer })
        }
        Message::Report(report) => json!({
            "kind": "report", "tunnel": report.tunnel, "last": report.last, "held_s": report.held.seconds(),
            "received": report.received.0, "received_bytes": report.received.1,
            "marked": report.marked.0, "marked_bytes": report.marked.1, "marked_outside": report.marked_outside,
            "lost": report.lost, "list": report.list,
        }),
    }
}

fn message_of(args: &Args) -> PyResult<Message> {
    let Some(Value::Object(table)) = args.get("message") else {
        return Err(bad("message must be a table, as `sent` of the peer has it"));
    };
    match table.get("kind").and_then(Value::as_str) {
        Some("probe") => Ok(Message::Probe(Probe {
            sent: Time::from_seconds(not_negative(table, "sent_s", None)?),
            answer: is_true(table, "answer"),
        })),
        Some("report") => {
            let count = |name: &str| not_negative(table, name, Some(0.0)).map(|x| x as u64);
            let maybe = |name: &str| table.get(name).and_then(Value::as_u64);
            let list = table.get("list").and_then(Value::as_array);
            Ok(Message::Report(Box::new(Report {
                tunnel: maybe("tunnel").map(|tunnel| tunnel as u32),
                last: maybe("last").map(|last| last as u16),
                held: Duration::from_seconds(not_negative(table, "held_s", Some(0.0))?),
                received: (count("received")?, count("received_bytes")?),
                marked: (count("marked")?, count("marked_bytes")?),
                marked_outside: count("marked_outside")?,
                lost: count("lost")?,
                list: list.into_iter().flatten().filter_map(Value::as_u64).map(|n| n as u16).collect(),
            })))
        }
        other => Err(bad(format!("no message is of kind {other:?}; there are \"probe\" and \"report\""))),
    }
}
