//! The tables of HTB: the tree, a class, the queue of a leaf.

use evenflow_base::credit::{ARITHMETIC, Arithmetic};
use evenflow_base::params::Tables;
use evenflow_base::schema::{Counter, Deviation, Mechanism, Nested, Observable, Range, Room, Traits, Value};

use super::PRIORITIES;
use evenflow_base::{Duration, Reason};

use crate::held::Per;

/// Size of a frame in iproute2: 16 bits.
const FRAME: Range = Range { min: 0.0, closed: true, max: 65_535.0 };

const RATE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };

/// Parameters that may change during a run, as with `tc class change`.
const CHANGES: &[&str] = &[
    Class::rate.name,
    Class::ceil.name,
    Class::burst.name,
    Class::cburst.name,
    Class::prio.name,
    Class::quantum.name,
];

words! {
    /// How a leaf queues.
    pub enum LeafKind {
        /// First in, first out.
        Fifo = crate::fifo::TABLE.kind,
        /// Stochastic fairness queueing by flow.
        Sfq = crate::sfq::TABLE.kind,
        /// CoDel.
        Codel = crate::codel::TABLE.kind,
        /// FQ-CoDel by flow.
        FqCodel = crate::fq_codel::TABLE.kind,
    }
}

params! {
    /// The queue of a leaf.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Leaf {
        /// Queue discipline: first in, first out; SFQ by flow; CoDel; FQ-CoDel by flow.
        kind: LeafKind = LeafKind::TYPE, Text(LeafKind::Fifo.word()) => source: "tc-htb(8)";
        /// Limit of the backlog: packets, bytes, or time at the class's rate.
        limit: Option<Value> = QueueLength, Absent("1000 packets; 127 with sfq, 10240 with fq-codel"), Range::POSITIVE
            => source: "Linux: the length of a device's queue; SFQ_DEPTH - 1; RFC 8290 section 5.2.3";
        /// Bytes per turn of sfq and fq-codel.
        quantum: Option<f64> = Bytes, Absent("1514 B with sfq and fq-codel"), Range::FROM_ONE
            => source: "Linux 3.2, sch_sfq; RFC 8290 section 5.2.4";
        /// Slots to which sfq hashes flows.
        divisor: Option<usize> = Integer, Absent("1024 with sfq"), Range::between(1.0, 65_536.0)
            => source: "Linux 3.2, sch_sfq";
        /// Time between changes of sfq's hash.
        perturb: Option<Duration> = Duration, Absent("never"), Range::at_least(1e-3)
            => source: "Linux 3.2, sch_sfq";
        /// Queues to which fq-codel hashes flows.
        flows: Option<usize> = Integer, Absent("1024 with fq-codel"), Range::between(1.0, 65_536.0)
            => source: "RFC 8290 section 5.2.5";
        /// Acceptable queueing delay of codel and fq-codel.
        target: Option<Duration> = Duration, Absent("5 ms with codel and fq-codel"), Range::POSITIVE
            => source: "RFC 8289 section 4.3";
        /// Time above the target before the first drop, of codel and fq-codel.
        interval: Option<Duration> = Duration, Absent("100 ms with codel and fq-codel"), Range::at_least(1e-6)
            => source: "RFC 8289 section 4.2";
        /// No drop while the backlog behind the packet is at most this, of codel and fq-codel.
        max_packet: Option<u64> = Bytes, Absent("1500 B with codel and fq-codel"), Range::PACKET_SIZE
            => source: "RFC 8289 section 5.3: the interface's MTU";
        /// Mark ECN-capable packets instead of dropping them, with codel and fq-codel.
        ecn: Option<bool> = Flag, Absent("true with codel and fq-codel")
            => source: "RFC 8290 section 5.2.6; RFC 3168 section 5";
        /// Mark every ECN-capable packet with a longer queueing delay, with codel and fq-codel.
        ce_threshold: Option<Duration> = Duration, Absent("off"), Range::NOT_NEGATIVE
            => source: "RFC 8290 section 5.2.7";
    }
}

/// The table of a leaf.
pub static LEAF: Nested = Nested {
    name: "htb-leaf",
    doc: "The queue of a leaf: its discipline and limit.",
    params: Leaf::PARAMS,
    changes: &[Leaf::limit.name],
};

params! {
    /// A class of the tree.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Class {
        /// Parent class, from which it borrows.
        parent: Option<String> = Name, Absent("no parent") => source: "tc-htb(8)";
        /// Guaranteed rate.
        rate: f64 = Rate, Required, RATE => source: "tc-htb(8)";
        /// Maximum rate, with borrowed tokens.
        ceil: Option<f64> = Rate, Absent("rate: no borrowing"), RATE => source: "tc-htb(8)";
        /// Bucket size of rate. A packet may overdraw it.
        burst: Option<u64> = Bytes, Absent("1600 B plus a nanosecond at this rate"), Range::FROM_ONE
            => source: "iproute2, q_htb.c: rate / hz + mtu with hz = 1e9";
        /// Bucket size of ceil.
        cburst: Option<u64> = Bytes, Absent("1600 B plus a nanosecond at this rate"), Range::FROM_ONE
            => source: "iproute2, q_htb.c";
        /// Priority of a leaf: smaller ones go first, also when borrowing.
        prio: Option<usize> = Integer, Absent("0"), Range::between(0.0, (PRIORITIES - 1) as f64)
            => source: "Linux 3.2, sch_htb";
        /// Bytes per turn of a leaf. Borrowers from one parent share in proportion to it.
        quantum: Option<f64> = Bytes, Absent("rate / r2q, between 1000 B and 200 kB"), Range::FROM_ONE
            => source: "Linux 3.2, sch_htb";
        /// Bytes that the wire adds to each packet. They cost tokens only.
        overhead: Option<u32> = Bytes, Absent("0 B"), FRAME => source: "tc-stab(8), tc-htb(8)";
        /// Minimum cost of a packet with its overhead. With arithmetic "ticks": of cells.
        mpu: Option<u32> = Bytes, Absent("0 B"), FRAME => source: "tc-htb(8); iproute2, tc_core.c";
        /// Queue of a leaf.
        leaf: Option<Leaf> = Table(&LEAF), Absent("a FIFO of 1000 packets") => source: "tc-htb(8)";
    }
}

/// A class.
pub static CLASS: Nested =
    Nested { name: "htb-class", doc: "A class of the tree.", params: Class::PARAMS, changes: CHANGES };

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Given {
        /// Owner of a leaf: the traffic class of the same name, or each user or flow with a leaf made from
        /// `each`.
        per: Per = Per::TYPE, Text("class") => source: "docs/scenarios.md";
        /// Classes by name. With per = "class", the leaves have the names of traffic classes.
        classes: Tables<Class> = TablePerName(&CLASS), Absent("none: leaves are roots") => source: "tc-htb(8)";
        /// Leaf of each user or flow. The user's weight scales its rate and quantum.
        each: Option<Class> = Table(&CLASS), Absent("for per = \"class\"") => source: "docs/scenarios.md";
        /// Rate in bytes/s over quantum in bytes, for classes without a quantum.
        r2q: f64 = Number, Text("10"), Range::POSITIVE => source: "Linux 3.2, sch_htb: rate2quantum";
        /// See [`ARITHMETIC`].
        arithmetic: Arithmetic = ARITHMETIC;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "htb",
    room: Room::Scheduler,
    traits: Traits { shapes: true, tree: true, in_turn: true, changes: CHANGES, ..Mechanism::PLAIN },
    title: "Hierarchical token bucket (HTB)",
    example: r#"[links.bottleneck.queue.scheduler]
kind = "htb"
per = "user"
classes = { home = { rate = "8 Mbit/s" } }
each = { parent = "home", rate = "1 Mbit/s", ceil = "8 Mbit/s" }"#,
    doc: "A tree of classes, each with a rate and a ceiling. Leaves hold the packets. A class above its rate \
          borrows unused rate from its parent, up to its ceiling. The tree limits the sending rate, whatever \
          the link's rate. Observables belong to a class, `links.L.queue.classes.NAME.tokens`, or to the \
          leaf of a user or flow, `links.L.queue.leaves[0].tokens`.",
    source: "Linux 3.2, sch_htb; Devera, HTB manual, 2002",
    params: Given::PARAMS,
    observables: &[
        Observable::new("packets", "packets", "Backlog of a leaf."),
        Observable::new("bytes", "B", "Backlog of a leaf."),
        Observable::new("tokens", "B", "Tokens in the bucket of rate; negative when overdrawn."),
        Observable::new("ctokens", "B", "Tokens in the bucket of ceil."),
        Observable::new(
            "sent_packets",
            "packets",
            "Packets sent by the class and the leaves below it. Counter: a series shows the increase \
                  per interval.",
        ),
        Observable::new("sent_bytes", "B", "Bytes sent by them. Counter."),
        Observable::new(
            "lent_packets",
            "packets",
            "Packets sent with the class's own tokens by itself or by classes below it (tc: lended). \
                  Counter.",
        ),
        Observable::new("lent_bytes", "B", "Bytes sent so. Counter."),
        Observable::new(
            "borrowed_packets",
            "packets",
            "Packets sent with tokens of a class above (tc: borrowed). Counter.",
        ),
        Observable::new("borrowed_bytes", "B", "Bytes sent so. Counter."),
        Observable::new("drops", "packets", "Packets dropped at a leaf. Counter."),
    ],
    counters: &[
        Counter::new("limit", "The leaf or the whole queue was full."),
        Counter::new(
            "pushed_out",
            "Dropped from the longest slot of a leaf's SFQ or the longest queue of its FQ-CoDel.",
        ),
        Counter::new("reconfigured", "Waited in a class that a step deleted and recreated."),
        Counter::new(Reason::Codel.name(), "Dropped by the CoDel of a leaf or of its FQ-CoDel."),
        Counter::new("ce_threshold", "Marked: the packet's queueing delay exceeded the leaf's ce_threshold."),
    ],
    deviations: &[
        Deviation {
            what: "Classes take turns in the order of their names; users and flows follow in their own \
                   order.",
            why: "The kernel uses class identifiers, which scenarios do not have.",
        },
        Deviation {
            what: "A changed class keeps the bytes in its buckets with real arithmetic, and their time in \
                   ticks.",
            why: "The kernel keeps the time: a higher rate multiplies the bytes.",
        },
        Deviation {
            what: "A ceiling below the rate is an error.",
            why: "The kernel accepts it, and the class never reaches its rate.",
        },
        Deviation {
            what: "The ceiling of an inner class does not limit children that send within their own rates.",
            why: "The kernel does the same: rates are guarantees, and the user must check their sum.",
        },
    ],
};
