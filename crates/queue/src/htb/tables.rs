//! The tables of HTB: the tree, a class, the queue of a leaf.

use evenflow_base::credit::ARITHMETIC;
use evenflow_base::schema::{
    Counter, Deviation, Fallback, Mechanism, Nested, Observable, Param, Range, Room, Traits, Type,
};

use super::PRIORITIES;
use crate::codel;

/// What iproute2 takes for bytes of a frame: 16 bits.
const FRAME: Range = Range { min: 0.0, closed: true, max: 65_535.0 };

const RATE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };

/// What `tc class change` changes of a class, and we too.
const CHANGES: &[&str] = &["rate", "ceil", "burst", "cburst", "prio", "quantum"];

/// A leaf's queue.
pub static LEAF: Nested = Nested {
    name: "htb-leaf",
    doc: "The queue of a leaf: a limit, and who goes next among its flows.",
    params: &[
        Param {
            name: "kind",
            ty: Type::Choice(&["fifo", "sfq", "codel", "fq-codel"]),
            default: Fallback::Text("fifo"),
            range: Range::ANY,
            source: "tc-htb(8)",
            doc: "First in, first out; stochastic fairness queueing by flow; CoDel; FQ-CoDel by flow.",
        },
        Param {
            name: "limit",
            ty: Type::QueueLength,
            default: Fallback::Absent("1000 packets; 127 with sfq, 10240 with fq-codel"),
            range: Range::POSITIVE,
            source: "Linux: the length of a device's queue; SFQ_DEPTH - 1; RFC 8290 section 5.2.3",
            doc: "How much may wait here: packets, bytes, or time at the class's rate.",
        },
        Param {
            name: "quantum",
            ty: Type::Bytes,
            default: Fallback::Absent("1514 B with sfq and fq-codel"),
            range: Range::FROM_ONE,
            source: "Linux 3.2, sch_sfq; RFC 8290 section 5.2.4",
            doc: "Bytes per turn, of sfq and fq-codel.",
        },
        Param {
            name: "divisor",
            ty: Type::Integer,
            default: Fallback::Absent("1024 with sfq"),
            range: Range { min: 1.0, closed: true, max: 65_536.0 },
            source: "Linux 3.2, sch_sfq",
            doc: "Slots to which sfq hashes flows.",
        },
        Param {
            name: "perturb",
            ty: Type::Duration,
            default: Fallback::Absent("never"),
            range: Range { min: 1e-3, closed: true, max: f64::INFINITY },
            source: "Linux 3.2, sch_sfq",
            doc: "Time between changes of the hash, of sfq.",
        },
        Param {
            name: "flows",
            ty: Type::Integer,
            default: Fallback::Absent("1024 with fq-codel"),
            range: Range { min: 1.0, closed: true, max: 65_536.0 },
            source: "RFC 8290 section 5.2.5",
            doc: "Queues to which fq-codel hashes flows.",
        },
        Param { default: Fallback::Absent("5 ms with codel and fq-codel"), ..codel::TARGET },
        Param { default: Fallback::Absent("100 ms with codel and fq-codel"), ..codel::INTERVAL },
        Param { default: Fallback::Absent("1500 B with codel and fq-codel"), ..codel::MAX_PACKET },
        Param { default: Fallback::Absent("true with codel and fq-codel"), ..codel::ECN },
        codel::CE_THRESHOLD,
    ],
    changes: &["limit"],
};

/// A class.
pub static CLASS: Nested = Nested {
    name: "htb-class",
    doc: "A class of the tree.",
    params: &[
        Param {
            name: "parent",
            ty: Type::Name,
            default: Fallback::Absent("nobody lends"),
            range: Range::ANY,
            source: "tc-htb(8)",
            doc: "The class below which it stands and from which it borrows.",
        },
        Param {
            name: "rate",
            ty: Type::Rate,
            default: Fallback::Required,
            range: RATE,
            source: "tc-htb(8)",
            doc: "What it may always send, whatever others do.",
        },
        Param {
            name: "ceil",
            ty: Type::Rate,
            default: Fallback::Absent("rate: it never borrows"),
            range: RATE,
            source: "tc-htb(8)",
            doc: "What it may send at most, with what others lend.",
        },
        Param {
            name: "burst",
            ty: Type::Bytes,
            default: Fallback::Absent("1600 B, and what comes in a nanosecond"),
            range: Range::FROM_ONE,
            source: "iproute2, q_htb.c: rate / hz + mtu with hz = 1e9",
            doc: "What the bucket of rate holds; it may be overdrawn by a packet.",
        },
        Param {
            name: "cburst",
            ty: Type::Bytes,
            default: Fallback::Absent("1600 B, and what comes in a nanosecond"),
            range: Range::FROM_ONE,
            source: "iproute2, q_htb.c",
            doc: "The same of ceil.",
        },
        Param {
            name: "prio",
            ty: Type::Integer,
            default: Fallback::Absent("0"),
            range: Range { min: 0.0, closed: true, max: (PRIORITIES - 1) as f64 },
            source: "Linux 3.2, sch_htb",
            doc: "Leaves: smaller ones go first, also when borrowing.",
        },
        Param {
            name: "quantum",
            ty: Type::Bytes,
            default: Fallback::Absent("rate / r2q, between 1000 B and 200 kB"),
            range: Range::FROM_ONE,
            source: "Linux 3.2, sch_htb",
            doc: "Leaves: bytes per turn. Borrowers from one class share in proportion to it.",
        },
        Param {
            name: "overhead",
            ty: Type::Bytes,
            default: Fallback::Absent("0 B"),
            range: FRAME,
            source: "tc-stab(8), tc-htb(8)",
            doc: "What the wire adds to each packet: it costs tokens, and counts for nothing else.",
        },
        Param {
            name: "mpu",
            ty: Type::Bytes,
            default: Fallback::Absent("0 B"),
            range: FRAME,
            source: "tc-htb(8); iproute2, tc_core.c",
            doc: "A packet, with its overhead, costs the tokens of so many bytes at least. In ticks, of cells.",
        },
        Param {
            name: "leaf",
            ty: Type::Table(&LEAF),
            default: Fallback::Absent("a FIFO of 1000 packets"),
            range: Range::ANY,
            source: "tc-htb(8)",
            doc: "Leaves: the queue.",
        },
    ],
    changes: CHANGES,
};

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
    params: &[
        Param {
            name: "per",
            ty: Type::Choice(&["class", "user", "flow"]),
            default: Fallback::Text("class"),
            range: Range::ANY,
            source: "docs/scenarios.md",
            doc: "Whose a leaf is: a traffic class's of that name, or one is made of each for every user or flow.",
        },
        Param {
            name: "classes",
            ty: Type::TablePerName(&CLASS),
            default: Fallback::Absent("none: leaves are roots"),
            range: Range::ANY,
            source: "tc-htb(8)",
            doc: "Classes by name. With per = \"class\" those without others below them are leaves and have the names of traffic \
                  classes.",
        },
        Param {
            name: "each",
            ty: Type::Table(&CLASS),
            default: Fallback::Absent("for per = \"class\""),
            range: Range::ANY,
            source: "docs/scenarios.md",
            doc: "The leaf of each user or flow. Its rate and quantum are scaled by the user's weight.",
        },
        Param {
            name: "r2q",
            ty: Type::Number,
            default: Fallback::Text("10"),
            range: Range::POSITIVE,
            source: "Linux 3.2, sch_htb: rate2quantum",
            doc: "Rate in bytes a second over quantum in bytes, where a class has none.",
        },
        ARITHMETIC,
    ],
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
