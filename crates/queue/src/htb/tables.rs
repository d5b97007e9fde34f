//! The tables of HTB: the tree, a class, the queue of a leaf.

use evenflow_base::credit::{ARITHMETIC, Arithmetic};
use evenflow_base::params::Tables;
use evenflow_base::schema::{Counter, Deviation, Mechanism, Nested, Observable, Range, Room, Traits, Value};

use super::PRIORITIES;
use evenflow_base::Duration;

use crate::held::Per;

/// What iproute2 takes for bytes of a frame: 16 bits.
const FRAME: Range = Range { min: 0.0, closed: true, max: 65_535.0 };

const RATE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };

/// What a class can change during a run, as with `tc class change`.
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
        Fifo = "fifo",
        /// Stochastic fairness queueing by flow.
        Sfq = "sfq",
        /// CoDel.
        Codel = "codel",
        /// FQ-CoDel by flow.
        FqCodel = "fq-codel",
    }
}

params! {
    /// The queue of a leaf.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Leaf {
        /// First in, first out; stochastic fairness queueing by flow; CoDel; FQ-CoDel by flow.
        kind: LeafKind = LeafKind::TYPE, Text("fifo") => source: "tc-htb(8)";
        /// How much may wait here: packets, bytes, or time at the class's rate.
        limit: Option<Value> = QueueLength, Absent("1000 packets; 127 with sfq, 10240 with fq-codel"), Range::POSITIVE
            => source: "Linux: the length of a device's queue; SFQ_DEPTH - 1; RFC 8290 section 5.2.3";
        /// Bytes per turn, of sfq and fq-codel.
        quantum: Option<f64> = Bytes, Absent("1514 B with sfq and fq-codel"), Range::FROM_ONE
            => source: "Linux 3.2, sch_sfq; RFC 8290 section 5.2.4";
        /// Slots to which sfq hashes flows.
        divisor: Option<usize> = Integer, Absent("1024 with sfq"), Range::between(1.0, 65_536.0)
            => source: "Linux 3.2, sch_sfq";
        /// Time between changes of the hash, of sfq.
        perturb: Option<Duration> = Duration, Absent("never"), Range::at_least(1e-3)
            => source: "Linux 3.2, sch_sfq";
        /// Queues to which fq-codel hashes flows.
        flows: Option<usize> = Integer, Absent("1024 with fq-codel"), Range::between(1.0, 65_536.0)
            => source: "RFC 8290 section 5.2.5";
        /// Of codel and fq-codel: acceptable queueing delay.
        target: Option<Duration> = Duration, Absent("5 ms with codel and fq-codel"), Range::POSITIVE
            => source: "RFC 8289 section 4.3";
        /// Of codel and fq-codel: time above the target before the first drop.
        interval: Option<Duration> = Duration, Absent("100 ms with codel and fq-codel"), Range::at_least(1e-6)
            => source: "RFC 8289 section 4.2";
        /// Of codel and fq-codel: no drop while at most this waits behind the packet.
        max_packet: Option<u64> = Bytes, Absent("1500 B with codel and fq-codel"), Range::PACKET_SIZE
            => source: "RFC 8289 section 5.3: the interface's MTU";
        /// Of codel and fq-codel: mark ECN-capable packets instead of dropping them.
        ecn: Option<bool> = Flag, Absent("true with codel and fq-codel")
            => source: "RFC 8290 section 5.2.6; RFC 3168 section 5";
        /// Of codel and fq-codel: mark every ECN-capable packet that waited longer.
        ce_threshold: Option<Duration> = Duration, Absent("off"), Range::NOT_NEGATIVE
            => source: "RFC 8290 section 5.2.7";
    }
}

/// The table of a leaf.
pub static LEAF: Nested = Nested {
    name: "htb-leaf",
    doc: "The queue of a leaf: a limit, and who goes next among its flows.",
    params: Leaf::PARAMS,
    changes: &[Leaf::limit.name],
};

params! {
    /// A class of the tree.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Class {
        /// The class above it, from which it borrows.
        parent: Option<String> = Name, Absent("nobody lends") => source: "tc-htb(8)";
        /// Guaranteed rate.
        rate: f64 = Rate, Required, RATE => source: "tc-htb(8)";
        /// Maximum rate, with borrowed tokens.
        ceil: Option<f64> = Rate, Absent("rate: it never borrows"), RATE => source: "tc-htb(8)";
        /// Size of the bucket of rate; a packet may overdraw it.
        burst: Option<u64> = Bytes, Absent("1600 B, and what comes in a nanosecond"), Range::FROM_ONE
            => source: "iproute2, q_htb.c: rate / hz + mtu with hz = 1e9";
        /// Size of the bucket of ceil.
        cburst: Option<u64> = Bytes, Absent("1600 B, and what comes in a nanosecond"), Range::FROM_ONE
            => source: "iproute2, q_htb.c";
        /// Of leaves: smaller ones go first, also when borrowing.
        prio: Option<usize> = Integer, Absent("0"), Range::between(0.0, (PRIORITIES - 1) as f64)
            => source: "Linux 3.2, sch_htb";
        /// Leaves: bytes per turn. Borrowers from one class share in proportion to it.
        quantum: Option<f64> = Bytes, Absent("rate / r2q, between 1000 B and 200 kB"), Range::FROM_ONE
            => source: "Linux 3.2, sch_htb";
        /// Bytes that the wire adds to each packet; they cost tokens only.
        overhead: Option<u32> = Bytes, Absent("0 B"), FRAME => source: "tc-stab(8), tc-htb(8)";
        /// Minimum cost of a packet with its overhead. In ticks, of cells.
        mpu: Option<u32> = Bytes, Absent("0 B"), FRAME => source: "tc-htb(8); iproute2, tc_core.c";
        /// Of leaves: the queue.
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
        /// Owner of a leaf: the traffic class of the same name, or each user or flow, whose leaf is made of
        /// `each`.
        per: Per = Per::TYPE, Text("class") => source: "docs/scenarios.md";
        /// Classes by name. With per = "class" those without others below them are leaves and have the names of
        /// traffic classes.
        classes: Tables<Class> = TablePerName(&CLASS), Absent("none: leaves are roots") => source: "tc-htb(8)";
        /// The leaf of each user or flow. The user's weight scales its rate and quantum.
        each: Option<Class> = Table(&CLASS), Absent("for per = \"class\"") => source: "docs/scenarios.md";
        /// Rate in bytes/s over quantum in bytes, for a class without a quantum.
        r2q: f64 = Number, Text("10"), Range::POSITIVE => source: "Linux 3.2, sch_htb: rate2quantum";
        /// See [`ARITHMETIC`].
        arithmetic: Arithmetic = ARITHMETIC;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "htb",
    room: Room::Scheduler,
    traits: Traits { shapes: true, tree: true, changes: CHANGES, ..Mechanism::PLAIN },
    title: "Hierarchical token bucket (HTB)",
    doc: "A tree of classes with a rate and a ceiling each. Leaves hold the packets; a class that has used up its rate borrows from its \
          parent what others leave, up to its ceiling. Nothing is sent faster than that, whatever the link's rate. Observables are \
          of a class: `links.L.queue.classes.NAME.tokens`; or of the leaf of a user or flow: `links.L.queue.leaves[0].tokens`.",
    source: "Linux 3.2, sch_htb; Devera, HTB manual, 2002",
    params: Given::PARAMS,
    observables: &[
        Observable { name: "packets", unit: "packets", doc: "What waits in a leaf." },
        Observable { name: "bytes", unit: "B", doc: "What waits in a leaf." },
        Observable {
            name: "tokens",
            unit: "B",
            doc: "What the bucket of rate holds; below zero: what was overdrawn.",
        },
        Observable { name: "ctokens", unit: "B", doc: "The same of ceil." },
        Observable {
            name: "sent_packets",
            unit: "packets",
            doc: "What the class, or a leaf below it, has sent; a counter: its series gives the increase per interval.",
        },
        Observable { name: "sent_bytes", unit: "B", doc: "Their bytes; a counter." },
        Observable {
            name: "lent_packets",
            unit: "packets",
            doc: "Sent with the class's own tokens: a leaf's own packets, or what it lent to those below (tc: lended); a counter.",
        },
        Observable { name: "lent_bytes", unit: "B", doc: "Their bytes; a counter." },
        Observable {
            name: "borrowed_packets",
            unit: "packets",
            doc: "Sent with the tokens of a class above it (tc: borrowed); a counter.",
        },
        Observable { name: "borrowed_bytes", unit: "B", doc: "Their bytes; a counter." },
        Observable { name: "drops", unit: "packets", doc: "Packets dropped at a leaf; a counter." },
    ],
    counters: &[
        Counter { name: "limit", doc: "The leaf, or the queue as a whole, was full." },
        Counter {
            name: "pushed_out",
            doc: "Taken out of the longest slot of a leaf's SFQ, or of its FQ-CoDel's fattest queue.",
        },
        Counter { name: "reconfigured", doc: "Waited in a class that was deleted and made anew." },
        Counter { name: "codel", doc: "A leaf's CoDel, or one of its FQ-CoDel's." },
        Counter {
            name: "ce_threshold",
            doc: "Marked because it had waited longer than a leaf's ce_threshold.",
        },
    ],
    deviations: &[
        Deviation {
            what: "Classes take their turns in the order of their names, users and flows in theirs, named classes first.",
            why: "The kernel goes by class identifiers, which nothing has here.",
        },
        Deviation {
            what: "With real numbers a class that changes keeps the bytes in its buckets, in ticks the time that they stand for.",
            why: "The kernel keeps the time: each rise of the rate brings as many bytes as it multiplies it by.",
        },
        Deviation {
            what: "A ceiling below the rate is refused.",
            why: "The kernel takes it and never lets the class have its rate.",
        },
        Deviation {
            what: "A class between others is not bound by its own ceiling while those below it send within their rates.",
            why: "So it is in the kernel: rates are promises, and their sum is the user's affair.",
        },
    ],
};
