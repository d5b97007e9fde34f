//! One mechanism stepped by hand from Python: the same objects that a run uses, JSON in and out.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use serde_json::{Value, json};

use evenflow_base::schema::{Room, Traits, Type, Value as Quantity};
use evenflow_base::{Carried, Duration, Ecn, Options, Packet, Rate, Stream, Time, Verdict, dscp, flags, ip};
use evenflow_queue::held::{self, Served};
use evenflow_queue::htb;
use evenflow_queue::{
    Admission, Dropped, FlowTable, Gate, Limit, LinkFacts, Next, Occupancy, Qdisc, Queued, Scheduler,
    default_limit, droptail,
};
use evenflow_scenario::{catalogue, mechanism as decode, quantity};
use evenflow_stage::{Owner, Stage};
use evenflow_traffic::adaptation::{Adaptation, Known, Ladder};
use evenflow_transport::congestion_control::stepper::{Step, Stepper};
use evenflow_transport::congestion_control::{CongestionControl, Signal};
use evenflow_transport::{CONTROLS, Profile, profile};

use crate::application::{self, Application};
use crate::args::{Args, bad, codepoint_named, ecn_word, given, is_true, not_negative, number, problems};
use crate::stage::{self, ByHand};

/// A queue, scheduler, stage, application, congestion control or adaptation rule with its state.
#[pyclass(frozen, module = "evenflow._core")]
pub struct Mechanism {
    kind: String,
    inner: Mutex<Inner>,
}

struct Inner {
    object: Object,
    stream: Stream,
    /// Traffic classes by name, in the order of their numbers.
    classes: Vec<String>,
    observables: Vec<&'static str>,
    /// What the last packet found, for clocks that strike without one.
    seen: Occupancy,
    facts: Facts,
}

/// Facts about packets for a scheduler that asks: see [`FlowTable`].
#[derive(Default)]
struct Facts {
    /// Of the packet that arrives.
    hosts: Option<(u32, u32)>,
    dscp: u8,
    options: Options,
    /// Its hosts were asked for.
    asked: Cell<bool>,
}

impl Facts {
    /// Takes over those of a packet and makes it a TCP segment, where the call says so.
    fn take(&mut self, packet: &mut Packet, args: &Args, class: &str) -> PyResult<()> {
        let host = |name: &str| {
            given(args, name).map(|_| not_negative(args, name, None).map(|host| host as u32)).transpose()
        };
        self.hosts = host("source")?.zip(host("destination")?);
        self.asked.set(false);
        self.dscp = match given(args, "dscp") {
            None => dscp::dscp_of(class),
            Some(code) => {
                let number = code.as_u64().filter(|code| *code < 64).map(|code| code as u8);
                number.or_else(|| dscp::named(code.as_str()?)).ok_or_else(|| {
                    bad(format!("dscp must be a number from 0 to 63 or a name such as \"EF\", not {code}"))
                })?
            }
        };
        stage::dress(packet, args, &mut self.options)?;
        for (name, flag) in [("ece", flags::ECE), ("cwr", flags::CWR)] {
            packet.flags |= if is_true(args, name) { flag } else { 0 };
        }
        packet.stamp = not_negative(args, "stamp", Some(0.0))? as u32;
        if args.contains_key("ack") {
            let ack = not_negative(args, "ack", None)? as u64;
            packet.flags |= flags::ACK;
            let carried = self.options.attach(packet);
            (carried.ack, carried.shown) = (ack, (packet.payload == 0).then_some(ack));
        }
        if let Some(blocks) = given(args, "sack") {
            let wrong = || bad(format!("sack must be a list of pairs of numbers, not {blocks}"));
            for block in blocks.as_array().ok_or_else(wrong)? {
                let end = |n: usize| block.get(n).and_then(Value::as_u64).ok_or_else(wrong);
                self.options.attach(packet).report.push((end(0)?, end(1)?));
            }
        }
        Ok(())
    }

    /// The numbers that the calls gave to packets that are gone.
    fn ids(&mut self, dropped: &[Dropped]) -> Value {
        dropped.iter().map(|(item, _)| self.id(item.packet)).collect::<Vec<u64>>().into()
    }

    fn id(&mut self, mut packet: Packet) -> u64 {
        self.options.release(&mut packet);
        packet.seq
    }
}

impl FlowTable for Facts {
    fn hosts(&self, _packet: &Packet) -> (u32, u32) {
        self.asked.set(true);
        self.hosts.unwrap_or_default()
    }

    fn dscp(&self, _packet: &Packet) -> u8 {
        self.dscp
    }

    fn options(&self, packet: &Packet) -> &Carried {
        self.options.of(packet)
    }
}

enum Object {
    Queue(Box<Admission>, Limit),
    Scheduler(Box<Qdisc>, Traits),
    Stage(Box<ByHand>),
    Control(Stepper),
    Adaptation(Box<Adaptation>),
    Application(Box<Application>),
}

/// Classes that a mechanism's own parameters name; at least best effort and expedited forwarding.
fn classes(params: &Args) -> Vec<String> {
    let mut names = vec!["be".to_string(), "ef".to_string()];
    let tables = ["accounting", "offsets", "classes"].iter().filter_map(|k| params.get(*k)?.as_object());
    let keys = tables.flat_map(|t| t.keys().cloned());
    let lists = ["order", "of_class", "precoloured_yellow", "precoloured_red"];
    let listed = lists.iter().filter_map(|k| params.get(*k)?.as_array()).flatten();
    let given = ["class", "green", "yellow", "red"].iter().filter_map(|k| params.get(*k));
    let named = listed.chain(given).filter_map(|v| v.as_str().map(String::from));
    names.extend(keys.chain(named.filter(|name| name != "pass" && name != "drop")));
    names.sort();
    names.dedup();
    names
}

impl Inner {
    fn new(kind: &str, mut params: Args) -> PyResult<Inner> {
        let control = CONTROLS.iter().find(|m| m.kind == kind);
        let stack = match control.and(params.remove("stack")) {
            Some(Value::String(name)) => name,
            Some(other) => return Err(bad(format!("stack must be text such as \"linux\", not {other}"))),
            None => "ns3.26".into(),
        };
        let profile = Profile::named(&stack).ok_or_else(|| {
            bad(format!("no stack is called {stack:?}; there are {}", profile::COMPLETE.join(", ")))
        })?;
        let seed = params.remove("seed").and_then(|s| s.as_u64()).unwrap_or(1);
        // The owner's weight, where the mechanism has no parameter of that name itself.
        let owned = catalogue::mechanisms().find(|m| m.kind == kind);
        let own_weight = owned.is_some_and(|m| m.params.iter().any(|p| p.name == "weight"));
        let weight = if own_weight { 1.0 } else { not_negative(&params, "weight", Some(1.0))? };
        if !own_weight {
            params.remove("weight");
        }
        let quantity = |name: &str, value: Option<Value>, ty, example: &str| match value {
            Some(Value::String(text)) => quantity::parse(&text, ty).map_err(bad).map(Some),
            Some(other) => Err(bad(format!("{name} must be text such as \"{example}\", not {other}"))),
            None => Ok(None),
        };
        let rate = quantity("link_rate", params.remove("link_rate"), Type::Rate, "10 Mbit/s")?;
        let rate = rate.and_then(|rate| rate.number()).map(Rate);
        // A stage's is one of its own parameters.
        let own_limit = owned.is_some_and(|m| m.room == Room::Stage);
        let limit = if own_limit { None } else { params.remove("limit") };
        let limit = quantity("limit", limit, Type::QueueLength, "24 packets")?;
        let users = params.remove("queues").and_then(|q| q.as_u64()).unwrap_or(2) as usize;
        let classes = classes(&params);
        let spec = decode(kind, &Value::Object(params).to_string()).map_err(|e| bad(e.to_string()))?;
        let (values, table) = (spec.values, spec.mechanism);
        let link = LinkFacts { rate, delay: Duration::ZERO, classes: &classes };
        let object = match table.room {
            Room::Queue | Room::Scheduler if table.room == Room::Scheduler || table.traits.owns_queues => {
                let each = match values.raw(htb::Given::each) {
                    Some(Quantity::Table(each)) => Some(Arc::new(each.clone())),
                    _ => None,
                };
                let served = Served {
                    link,
                    owners: &vec![held::Owner { weight: 1.0, each }; users],
                    keys: Arc::from([]),
                    hash: &Stream::new(seed, "hash"),
                    draws: &Stream::new(seed, "scheduler"),
                };
                let scheduler = Scheduler::build(kind, &values, &served).map_err(problems)?;
                let rule = if table.traits.owns_queues { kind } else { droptail::TABLE.kind };
                let rule = Admission::build(rule, &values, link).map_err(problems)?;
                let limit = Limit::new(limit.or_else(|| default_limit(table, &values)).as_ref());
                let gate = Gate::new(rule, limit, Stream::new(seed, "mechanism"), rate);
                Object::Scheduler(Box::new(Qdisc::new(gate, scheduler).holding_all()), table.traits)
            }
            Room::Queue => {
                let rule = Admission::build(kind, &values, link).map_err(problems)?;
                Object::Queue(Box::new(rule), Limit::new(limit.as_ref()))
            }
            Room::Stage => {
                let stage = Stage::build(kind, &values, Owner { weight, ..Owner::of(&classes) });
                Object::Stage(Box::new(ByHand::new(stage.map_err(problems)?, seed)))
            }
            Room::CongestionControl => {
                let control = CongestionControl::build(kind, &values, &profile, weight).map_err(problems)?;
                Object::Control(Stepper::new(control, profile.initial_window, profile.segment()))
            }
            Room::Adaptation => {
                Object::Adaptation(Box::new(Adaptation::build(kind, &values).map_err(problems)?))
            }
            Room::Traffic if evenflow_traffic::opens(kind, &values) => {
                Object::Application(Box::new(Application::new(kind, &values, seed).map_err(problems)?))
            }
            Room::Traffic => {
                return Err(bad(
                    "is no application, unless it has until: it says how much there is to send and when",
                ));
            }
            other => return Err(bad(format!("a {} cannot be stepped by itself", other.word()))),
        };
        let observables = table.observables.iter().map(|o| o.name).collect();
        let seen = Occupancy { packets: 0, bytes: 0, rate, full: false, idle_since: Some(Time::ZERO) };
        let facts = Facts::default();
        Ok(Inner { object, stream: Stream::new(seed, "mechanism"), classes, observables, seen, facts })
    }

    fn packet(&self, args: &Args) -> PyResult<(Packet, Time)> {
        let bytes = not_negative(args, "bytes", Some(1500.0))?;
        if !(1.0..=65_535.0).contains(&bytes) {
            return Err(bad(format!("bytes must be between 1 and 65535, it is {bytes}")));
        }
        let class = match args.get("cls").and_then(Value::as_str) {
            None => self.classes.iter().position(|c| c == "be").unwrap_or(0),
            Some(name) => self.classes.iter().position(|c| c == name).ok_or_else(|| {
                bad(format!("no class is called {name:?}; there are {}", self.classes.join(", ")))
            })?,
        };
        let packet = Packet {
            seq: number(args, "id", Some(0.0))? as u64,
            label: number(args, "label", Some(0.0))?,
            class: class as u8,
            ip: ip::DATAGRAM,
            ..Packet::new(0, bytes as u16, bytes as u16)
        }
        .with_ecn(match args.get("ecn").map(Value::as_str) {
            Some(None) => return Err(bad(format!("ecn must be one of {ECN}"))),
            None | Some(Some("capable")) => Ecn::Capable0,
            Some(Some("not-capable")) => Ecn::NotCapable,
            Some(Some("marked")) => Ecn::Congestion,
            Some(Some(word)) => {
                codepoint_named(word).ok_or_else(|| bad(format!("ecn must be one of {ECN}, not {word:?}")))?
            }
        });
        Ok((packet, Time::from_seconds(not_negative(args, "now_s", Some(0.0))?)))
    }

    /// Lets the clock of a queue's rule strike up to `now`.
    fn strike(&mut self, now: Time) {
        if let Object::Queue(rule, _) = &mut self.object {
            while rule.next_tick() <= now {
                rule.tick(rule.next_tick(), &self.seen);
            }
        }
    }

    fn observe(&self, out: &mut Args, now: Time) {
        for name in &self.observables {
            let value = match &self.object {
                Object::Queue(rule, _) => rule.observe(name),
                Object::Stage(by_hand) => by_hand.stage.observe(name, now),
                Object::Control(stepper) => stepper.control().observe(name),
                Object::Scheduler(qdisc, _) => qdisc.observe(None, name, now),
                Object::Adaptation(_) | Object::Application(_) => None,
            };
            if let Some(value) = value {
                out.insert((*name).to_string(), json!(value));
            }
        }
    }

    fn call(&mut self, kind: &str, method: &str, args: &Args) -> PyResult<Args> {
        if let (Object::Adaptation(rule), "choose") = (&mut self.object, method) {
            return choose(rule, args);
        }
        if let Object::Application(app) = &mut self.object {
            let now = Time::from_seconds(not_negative(args, "now_s", Some(0.0))?);
            if let Some(mut out) = app.call(method, args, now)? {
                self.observe(&mut out, now);
                return Ok(out);
            }
        }
        let (mut packet, now) = self.packet(args)?;
        let mut out = Args::new();
        if let (Object::Queue(_, limit), "admit") = (&self.object, method) {
            let packets = not_negative(args, "packets", Some(0.0))? as u32;
            let bytes = not_negative(args, "queue_bytes", Some(1500.0 * f64::from(packets)))? as u64;
            let rate = Some(Rate(not_negative(args, "rate_bps", Some(10e6))?));
            let full = packets > 0 && limit.is_full(packets, bytes, packet.size, rate);
            let idle_since = match args.contains_key("idle_since_s") {
                true => Some(Time::from_seconds(not_negative(args, "idle_since_s", None)?)),
                false => None,
            };
            self.seen = Occupancy { packets, bytes, rate, full, idle_since };
        }
        self.strike(now);
        match (&mut self.object, method) {
            (Object::Stage(_) | Object::Scheduler(..), "observe") => self.observe(&mut out, now),
            (Object::Stage(by_hand), method) => {
                out = by_hand.call(method, args, packet, now, &self.classes)?.ok_or_else(|| {
                    bad(format!(
                        "{kind} has no method {method:?}; it has forward, backward, wake, receive, observe"
                    ))
                })?;
                self.observe(&mut out, now);
            }
            (Object::Queue(rule, _), "admit") => {
                let verdict = rule.admit(&mut packet, now, &self.seen, &mut self.stream);
                report(&mut out, verdict, "accept", &packet);
                out.insert("label".into(), json!(packet.label));
                self.observe(&mut out, now);
            }
            (Object::Queue(rule, _), "leave") => {
                let waited = Duration::from_seconds(not_negative(args, "waited_s", Some(0.0))?);
                let bytes = not_negative(args, "queue_bytes", Some(0.0))? as u64;
                let at = Time(now.0.saturating_sub(waited.0));
                let behind = Occupancy { bytes, idle_since: None, ..self.seen };
                report(&mut out, rule.on_dequeue(&mut packet, at, now, &behind), "pass", &packet);
                self.observe(&mut out, now);
            }
            (Object::Queue(rule, _), "emptied") => {
                rule.emptied();
                self.observe(&mut out, now);
            }
            (Object::Queue(rule, _), "departed") => {
                let busy = Duration::from_seconds(not_negative(args, "busy_s", Some(0.0))?);
                rule.departed(packet.size, busy, now);
                self.observe(&mut out, now);
            }
            (Object::Scheduler(qdisc, traits), "enqueue") => {
                let queue = number(args, "queue", Some(f64::from(packet.class)))? as usize;
                if !qdisc.has(queue) {
                    let what = if traits.tree { "is no leaf of the tree" } else { "is none of its queues" };
                    return Err(bad(format!("queue {queue} {what}")));
                }
                let mut dropped = Vec::new();
                let class = &self.classes[usize::from(packet.class)];
                self.facts.take(&mut packet, args, class)?;
                packet.flow = queue as u32;
                let place = qdisc.place(queue, &packet, &self.facts, now);
                if self.facts.asked.get() && self.facts.hosts.is_none() {
                    return Err(bad(
                        "the isolation of hosts needs their addresses; give source and destination, or isolation=\"flows\"",
                    ));
                }
                let verdict = qdisc.enter(Queued { packet, at: now }, place, &mut dropped, |_, _, _| {});
                if let Verdict::Drop(reason) = verdict {
                    self.facts.id(packet);
                    out.insert("refused".into(), reason.name().into());
                } else if traits.hashes {
                    out.insert("queue".into(), place.into());
                }
                if !dropped.is_empty() {
                    out.insert("dropped".into(), self.facts.ids(&dropped));
                }
            }
            (Object::Scheduler(qdisc, traits), "dequeue") => {
                let mut dropped = Vec::new();
                let (item, mark, next) = match qdisc.next(now, &mut dropped) {
                    Next::Packet(item, mark) => (Some(item), mark, None),
                    Next::At(at) => (None, None, Some(at)),
                    Next::Nothing => (None, None, None),
                };
                out.insert("id".into(), item.map_or(Value::Null, |q| self.facts.id(q.packet).into()));
                out.insert("bytes".into(), item.map_or(Value::Null, |q| q.packet.size.into()));
                if traits.shapes {
                    out.insert("next_s".into(), next.map_or(Value::Null, |at| at.seconds().into()));
                }
                // Of a tree only leaves with CoDel have something to say.
                if traits.owns_queues || mark.is_some() || !dropped.is_empty() {
                    out.insert("marked".into(), mark.map_or(Value::Null, |r| r.name().into()));
                    out.insert("dropped".into(), self.facts.ids(&dropped));
                }
            }
            (Object::Control(stepper), "ack" | "loss" | "mark" | "timeout" | "set") => {
                step(stepper, kind, method, args, now)?;
                let window = stepper.window();
                out.insert("cwnd".into(), json!(window.cwnd));
                let threshold = window.ssthresh.is_finite().then_some(window.ssthresh);
                out.insert("ssthresh".into(), json!(threshold));
                self.observe(&mut out, now);
            }
            (Object::Queue(..), "observe") => self.observe(&mut out, now),
            (object, _) => {
                let methods = match object {
                    Object::Queue(..) => "admit, leave, emptied, departed, observe",
                    Object::Scheduler(..) => "enqueue, dequeue",
                    Object::Stage(_) => "forward, backward, wake, receive, observe",
                    Object::Control(_) => "ack, loss, mark, timeout, set",
                    Object::Adaptation(_) => "choose",
                    Object::Application(_) => application::METHODS,
                };
                return Err(bad(format!("{kind} has no method {method:?}; it has {methods}")));
            }
        }
        Ok(out)
    }
}

/// A list of numbers, or none.
fn numbers(args: &Args, name: &str) -> PyResult<Option<Vec<f64>>> {
    let Some(value) = given(args, name) else { return Ok(None) };
    let list = value.as_array().and_then(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>());
    list.map(Some).ok_or_else(|| bad(format!("{name} must be a list of numbers, not {value}")))
}

/// Asks an adaptation rule for a level.
fn choose(rule: &mut Adaptation, args: &Args) -> PyResult<Args> {
    let levels = numbers(args, "ladder_bps")?.ok_or_else(|| bad("the argument ladder_bps is missing"))?;
    let row = |row: &Value| row.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    let rows = |rows: &Value| rows.as_array()?.iter().map(row).collect::<Option<Vec<_>>>();
    let wrong = || bad("sizes_bytes must be a list of lists of numbers");
    let sizes = given(args, "sizes_bytes").map(|sizes| rows(sizes).ok_or_else(wrong)).transpose()?;
    let ladder = Ladder::new(levels, not_negative(args, "chunk_s", Some(2.0))?, sizes).map_err(problems)?;
    let throughputs = numbers(args, "throughputs_bps")?.unwrap_or_default();
    if let Some(wrong) = throughputs.iter().find(|x| **x <= 0.0) {
        return Err(bad(format!("throughputs_bps must be more than 0, one is {wrong}")));
    }
    let level = |value: &Value| {
        let level = value.as_u64().map(|level| level as usize).filter(|level| *level <= ladder.top());
        level.ok_or_else(|| bad(format!("last must be a level from 0 to {}, not {value}", ladder.top())))
    };
    let last = given(args, "last").map(level).transpose()?;
    let known = Known {
        ladder: &ladder,
        next: not_negative(args, "next", Some(0.0))? as usize,
        buffer: not_negative(args, "buffer_s", Some(0.0))?,
        capacity: not_negative(args, "capacity_s", Some(30.0))?,
        throughputs: &throughputs,
        last,
    };
    Ok(Args::from_iter([("level".to_string(), json!(rule.choose(&known)))]))
}

/// The codepoints that a packet may be given.
const ECN: &str = "\"capable\" or \"ect0\", \"ect1\", \"not-capable\" or \"not-ect\", \"marked\" or \"ce\"";

fn report(out: &mut Args, verdict: Verdict, accepted: &str, packet: &Packet) {
    let (verdict, reason) = match verdict {
        Verdict::Accept => (accepted, Value::Null),
        Verdict::Mark(reason) => ("mark", reason.name().into()),
        Verdict::Drop(reason) => ("drop", reason.name().into()),
    };
    out.insert("verdict".into(), verdict.into());
    out.insert("reason".into(), reason);
    out.insert("ecn".into(), ecn_word(packet).into());
}

/// Steps a congestion control.
fn step(stepper: &mut Stepper, kind: &str, method: &str, args: &Args, now: Time) -> PyResult<()> {
    let given = |name| args.get(name).map(|_| not_negative(args, name, None)).transpose();
    let mss = given("mss")?;
    let signal = match method {
        "ack" => {
            let step = Step {
                segments: given("segments")?.unwrap_or(1.0),
                mss,
                una: given("una")?.map(|una| una as u64),
                next: given("next")?.map(|next| next as u64),
                rtt: given("rtt_s")?.map(Duration::from_seconds),
                one_way: given("one_way_s")?.map(Duration::from_seconds),
                marks: given("marks")?.unwrap_or(0.0) as u32,
            };
            stepper.ack(step, now);
            return Ok(());
        }
        "set" => {
            stepper.set(given("cwnd")?, given("ssthresh")?);
            return Ok(());
        }
        "mark" if stepper.takes_every_mark() => {
            return Err(bad(format!("{kind} takes marks with their acknowledgements: ack(marks=1)")));
        }
        "mark" => Signal::Mark,
        "loss" => Signal::Loss,
        _ => Signal::Timeout,
    };
    stepper.event(signal, given("flight")?, mss, now);
    Ok(())
}

fn object(text: &str, what: &str) -> PyResult<Args> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(bad(format!("{what} must be a JSON object"))),
        Err(error) => Err(bad(format!("{what}: {error}"))),
    }
}

#[pymethods]
impl Mechanism {
    #[new]
    fn new(kind: &str, params_json: &str) -> PyResult<Self> {
        let inner = Inner::new(kind, object(params_json, "the parameters")?)?;
        Ok(Mechanism { kind: kind.to_string(), inner: Mutex::new(inner) })
    }

    /// What kind of mechanism it is: "queue", "stage", ….
    #[getter]
    fn room(&self) -> PyResult<&'static str> {
        let inner = self.inner.lock().map_err(|_| bad("an earlier call of this mechanism failed"))?;
        Ok(match inner.object {
            Object::Queue(..) => Room::Queue,
            Object::Scheduler(..) => Room::Scheduler,
            Object::Stage(_) => Room::Stage,
            Object::Control(_) => Room::CongestionControl,
            Object::Adaptation(_) => Room::Adaptation,
            Object::Application(_) => Room::Traffic,
        }
        .word())
    }

    fn call(&self, method: &str, args_json: &str) -> PyResult<String> {
        let args = object(args_json, "the arguments")?;
        let mut inner = self.inner.lock().map_err(|_| bad("an earlier call of this mechanism failed"))?;
        inner.call(&self.kind, method, &args).map(|out| Value::Object(out).to_string())
    }
}
