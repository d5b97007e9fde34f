//! Disciplines of all kinds, for tests of this crate and of links.

use std::sync::Arc;

use evenflow_base::credit;
use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, Packet, Rate, Stream, Time, ip};
use evenflow_queue::held::{Owner, Served};
use evenflow_queue::htb::{ClassParams, Discipline, LeafParams, Params};
use evenflow_queue::{
    Admission, Gate, Htb, Limit, LinkFacts, Qdisc, Queued, Scheduler, codel, fq_codel, sfq,
};

pub const RATE: Rate = Rate(8e6); // a byte a microsecond

fn rule(kind: &str) -> Admission {
    let mut values = Values::default();
    let seconds = |x| Value::Seconds(x);
    let params: Vec<(&'static str, Value)> = match kind {
        "codel" | "fq-codel" => vec![
            ("target", seconds(0.005)),
            ("interval", seconds(0.1)),
            ("max_packet", Value::Bytes(1500.0)),
            ("ecn", Value::Flag(true)),
            ("flows", Value::Number(4.0)),
            ("quantum", Value::Bytes(1514.0)),
            ("drop_batch", Value::Number(64.0)),
        ],
        "constant-probability" => {
            vec![("probability", Value::Number(0.2)), ("action", Value::Word("drop".into()))]
        }
        _ => Vec::new(),
    };
    values.0.extend(params);
    Admission::build(kind, &values, LinkFacts { rate: Some(RATE), delay: Duration::ZERO, classes: &[] })
        .expect("sound")
}

fn leaf(discipline: Discipline) -> ClassParams {
    ClassParams {
        parent: Some(0),
        rate: Rate(1e6),
        ceil: RATE,
        burst: 3000,
        cburst: 3000,
        priority: 0,
        quantum: 1500,
        overhead: 0,
        mpu: 0,
        leaf: LeafParams { limit: Limit::Packets(6), discipline },
    }
}

/// A tree with a leaf for each kind of discipline that a leaf may hold.
fn tree() -> Scheduler {
    let kinds = [
        Discipline::Fifo,
        Discipline::Sfq(sfq::Params { divisor: 4, ..sfq::Params::DEFAULT }),
        Discipline::Codel(codel::Params::DEFAULT),
        Discipline::FqCodel(fq_codel::Params { flows: 4, ..fq_codel::Params::DEFAULT }),
    ];
    let root = ClassParams { parent: None, rate: RATE, ..leaf(Discipline::Fifo) };
    let classes = [root].into_iter().chain(kinds.map(leaf)).map(Arc::new).collect();
    let leaves = (1..5).map(Some).collect();
    let params = Params { arithmetic: credit::Arithmetic::Real, r2q: 10.0, classes, leaves };
    Scheduler::Htb(Box::new(Htb::new(params, Arc::from([]), &Stream::new(1, "hash"))))
}

fn scheduler(kind: &str) -> Scheduler {
    if kind == "htb" {
        return tree();
    }
    let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
    let values = Values(
        [
            ("order", Value::Names(names.clone())),
            ("quantum", Value::Bytes(600.0)),
            ("overflow", Value::Word("longest".into())),
            ("per", Value::Word("flow".into())),
            ("offsets", Value::SecondsPerClass(Default::default())),
            ("mtu", Value::Bytes(1514.0)),
            ("ecn", Value::Flag(false)),
            ("divisor", Value::Number(4.0)),
            ("flows", Value::Number(4.0)),
            ("target", Value::Seconds(0.005)),
            ("interval", Value::Seconds(0.1)),
            ("max_packet", Value::Bytes(1500.0)),
            ("drop_batch", Value::Number(64.0)),
            ("rate", Value::Rate(4e6)),
            ("burst", Value::Bytes(3000.0)),
            ("arithmetic", Value::Word("real".into())),
            ("tins", Value::Word("diffserv3".into())),
            ("isolation", Value::Word("triple-isolate".into())),
            ("rtt", Value::Seconds(0.01)),
            ("ingress", Value::Flag(true)),
            ("ack_filter", Value::Word("aggressive".into())),
            ("overhead", Value::Bytes(44.0)),
            ("mpu", Value::Bytes(0.0)),
            ("framing", Value::Word("atm".into())),
            ("orphan_mask", Value::Number(3.0)),
            ("flow_limit", Value::Number(100.0)),
            ("initial_quantum", Value::Bytes(3000.0)),
            ("refill_delay", Value::Seconds(0.04)),
            ("max_rate", Value::Rate(3e6)),
        ]
        .into(),
    );
    let owners = vec![Owner { weight: 1.0, each: None }; 4];
    let hash = Stream::new(1, "hash");
    let link = LinkFacts { rate: Some(RATE), delay: Duration::ZERO, classes: &names };
    let served = Served { link, owners: &owners, keys: Arc::from([]), hash: &hash, draws: &hash };
    Scheduler::build(kind, &values, &served).expect("sound")
}

pub fn gate(rule_kind: &str, limit: Limit) -> Gate {
    Gate::new(rule(rule_kind), limit, Stream::new(1, "rule"), Some(RATE))
}

pub fn qdisc(rule_kind: &str, scheduler_kind: &str, limit: Limit) -> Qdisc {
    Qdisc::new(gate(rule_kind, limit), scheduler(scheduler_kind))
}

pub fn item(id: u64, key: usize, size: u16, at: u64) -> Queued {
    let packet = Packet { seq: id, ip: ip::DATAGRAM, ..Packet::new(key as u32, size, size) };
    Queued { packet, at: Time(at) }
}

/// Rules and schedulers that go together.
pub const PAIRS: [(&str, &str); 14] = [
    ("droptail", "fifo"),
    ("droptail", "strict"),
    ("droptail", "medf"),
    ("droptail", "drr"),
    ("droptail", "sfq"),
    ("droptail", "tbf"),
    ("droptail", "htb"),
    ("codel", "fifo"),
    ("codel", "drr"),
    ("fq-codel", "fq-codel"),
    ("constant-probability", "sfq"),
    ("constant-probability", "htb"),
    ("cake", "cake"),
    ("fq", "fq"),
];
