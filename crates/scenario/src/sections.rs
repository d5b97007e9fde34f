//! The scenario's own tables: which keys each section has. What stands inside a mechanism's table is its own affair.

use evenflow_base::schema::{Counter, Fallback, Mechanism, Observable, Range, Room, Type};

/// A table of the scenario file.
#[derive(Debug)]
pub struct Section {
    /// Its name in documents.
    pub name: &'static str,
    /// A short title.
    pub title: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// What a `[record]` series may observe below it.
    pub observables: &'static [Observable],
    /// Its counters.
    pub counters: &'static [Counter],
}

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What stands behind it.
    pub shape: Shape,
    /// What holds without it.
    pub default: Fallback,
    /// The values allowed.
    pub range: Range,
    /// One sentence.
    pub doc: &'static str,
}

/// What may stand behind a key.
#[derive(Debug)]
pub enum Shape {
    /// A value like a mechanism's parameter.
    Value(Type),
    /// The same, or `{ steps = [[time, value], …] }`.
    Stepped(Type),
    /// Any text.
    Text,
    /// The name of a mechanism of this room.
    Kind(Room),
    /// The name of a mechanism of this room, or a table with its `kind` and parameters.
    Named(Room),
    /// A rate, or `{ steps = [[time, rate], …] }`.
    Rate,
    /// A probability, or a table of [`LOSS`].
    Loss,
    /// `"user"`, `"flow"`, `"group"`, `"5 users"`.
    Per,
    /// A table of this section's keys; with a room: and the parameters of the mechanism of that room that its `kind` names.
    Table(&'static Section, Option<Room>),
    /// The table of a TCP.
    Tcp(&'static Mechanism),
    /// One such table, or a list of them.
    Tables(&'static Section, Room),
    /// A list of such tables.
    List(&'static Section),
    /// Tables of this section by name.
    ByName(&'static Section, Option<Room>),
    /// A list of words out of these, or any where there are none.
    Words(&'static [&'static str]),
    /// A duration or `"packet"`.
    Every,
    /// A table that is read elsewhere.
    Elsewhere,
    /// Announced, and refused until it exists.
    Later,
}

/// Added to the type of what may change on the way.
pub(crate) const STEPS: &str = ", or { steps = [[time, value], …] }";

impl Shape {
    /// Its type in words.
    pub fn describe(&self) -> String {
        match self {
            Shape::Value(ty) => ty.describe().0,
            Shape::Stepped(ty) => ty.describe().0 + STEPS,
            Shape::Text => "text".into(),
            Shape::Kind(room) => format!("{} name", room.name()),
            Shape::Named(room) => format!("{0} name, or table with kind", room.name()),
            Shape::Rate => "rate, or { steps = [[time, rate], …] }".into(),
            Shape::Loss => "number, or loss table".into(),
            Shape::Per => "\"user\", \"flow\", \"group\" or \"5 users\"".into(),
            Shape::Table(section, _) => format!("{} table", section.name),
            Shape::Tcp(table) => format!("{} table", table.kind),
            Shape::Tables(section, _) => format!("{0} table, or list of them", section.name),
            Shape::List(section) => format!("list of {} tables", section.name),
            Shape::ByName(section, _) => format!("{} tables by name", section.name),
            Shape::Words([]) => "list of names".into(),
            Shape::Words(words) => format!("list out of {}", words.join(", ")),
            Shape::Every => "duration or \"packet\"".into(),
            Shape::Elsewhere => "table".into(),
            Shape::Later => "planned, not built".into(),
        }
    }
}

impl Section {
    /// The names of its keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }

    /// The key called `name`; asking for one that is not there is a mistake of this crate.
    pub(crate) fn key(&self, name: &str) -> &'static Key {
        let key = self.keys.iter().find(|key| key.name == name);
        key.unwrap_or_else(|| panic!("section {} has no key {name}", self.name))
    }
}

const fn key(name: &'static str, shape: Shape, default: Fallback, doc: &'static str) -> Key {
    Key { name, shape, default, range: Range::ANY, doc }
}

const fn value(name: &'static str, ty: Type, default: Fallback, range: Range, doc: &'static str) -> Key {
    Key { name, shape: Shape::Value(ty), default, range, doc }
}

/// Below this a packet takes longer than any run.
pub(crate) const LINK_RATE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };

/// How many users a group may have.
pub(crate) const USERS: Range = Range { min: 1.0, closed: true, max: 4_000_000.0 };

/// The file as a whole.
pub static SCENARIO: Section = Section {
    name: "scenario",
    title: "Scenario file",
    doc: "A whole experiment as data: links, stages, groups of users, durations, what is recorded.",
    keys: &[
        key("title", Shape::Text, Fallback::Text(""), "A line for people; not part of the hash."),
        value("duration", Type::Duration, Fallback::Required, Range::POSITIVE, "How long a run lasts."),
        value(
            "warmup",
            Type::Duration,
            Fallback::Text("0 s"),
            Range::NOT_NEGATIVE,
            "Measurement happens in [warmup, duration].",
        ),
        key("links", Shape::ByName(&LINK, None), Fallback::Required, "Links by name."),
        key("stages", Shape::ByName(&STAGE, Some(Room::Stage)), Fallback::Absent("none"), "Stages by name."),
        key(
            "arrivals",
            Shape::ByName(&ARRIVALS, None),
            Fallback::Absent("none"),
            "Processes by which flows arrive that groups share, by name.",
        ),
        key("groups", Shape::ByName(&GROUP, None), Fallback::Required, "Groups of users by name."),
        key(
            "record",
            Shape::Table(&RECORD, None),
            Fallback::Absent("counters only"),
            "What is recorded beside the counters.",
        ),
        key(
            "sweep",
            Shape::Elsewhere,
            Fallback::Absent("one point"),
            "What a study varies; a single run ignores it.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// `[links.NAME]`.
pub static LINK: Section = Section {
    name: "link",
    title: "Link",
    doc: "A full-duplex link: a queue, a transmitter and a delay in each direction.",
    keys: &[
        Key {
            range: LINK_RATE,
            ..key("rate", Shape::Rate, Fallback::Absent("pure delay, nothing ever waits"), "Its rate.")
        },
        value("delay", Type::Duration, Fallback::Text("0 s"), Range::NOT_NEGATIVE, "Propagation delay."),
        key("per", Shape::Per, Fallback::Absent("one shared link"), "For whom there is a copy each."),
        key(
            "queue",
            Shape::Table(&QUEUE, Some(Room::Queue)),
            Fallback::Absent("FIFO that never drops"),
            "What waits for the transmitter, and what is dropped.",
        ),
        key(
            "reverse",
            Shape::Table(&REVERSE, None),
            Fallback::Absent("same rate and delay (the same draw), never drops"),
            "The direction against the path.",
        ),
        key(
            "jitter",
            Shape::Table(&JITTER, None),
            Fallback::Absent("none"),
            "Random extra delay of each packet.",
        ),
        key(
            "loss",
            Shape::Loss,
            Fallback::Absent("none"),
            "Packets lost on the way: the probability, independent for each packet, or a table.",
        ),
    ],
    observables: &[],
    counters: &[
        Counter { name: "arrived_bytes", doc: "Bytes offered to it." },
        Counter { name: "delivered_bytes", doc: "Bytes that reached its far end." },
        Counter { name: "delivered_packets", doc: "Packets that reached its far end." },
        Counter { name: "drops", doc: "Packets its queue dropped or it lost, whatever the reason." },
        Counter { name: "marks", doc: "Packets its queue marked, whatever the reason." },
    ],
};

/// `jitter` of a link.
pub static JITTER: Section = Section {
    name: "jitter",
    title: "Jitter of a link",
    doc: "Each packet's delay is drawn for itself: normal around the link's delay, cut at four standard deviations and at \
          zero, as Linux's netem has it.",
    keys: &[
        value(
            "normal",
            Type::Duration,
            Fallback::Required,
            Range::NOT_NEGATIVE,
            "Standard deviation of the delay; its mean is the link's delay.",
        ),
        value(
            "order",
            Type::Choice(&["keep", "reorder"]),
            Fallback::Text("keep"),
            Range::ANY,
            "Whether a packet waits for those before it at the far end (netem with a FIFO inside), so that dense packets are \
             later than the mean says, or overtakes them (netem as it comes).",
        ),
        value(
            "direction",
            Type::Choice(&["forward", "reverse", "both"]),
            Fallback::Text("forward"),
            Range::ANY,
            "In which direction of the link.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// `loss` of a link, where it is a table.
pub static LOSS: Section = Section {
    name: "loss",
    title: "Loss on a link",
    doc: "Each packet that the queue accepts is lost with a probability, independently, or every n-th is (`every`). A lost packet takes its time on the link like any other, and counts as dropped, by the reason `loss`, when it would have reached the far end.",
    keys: &[
        value(
            "probability",
            Type::Number,
            Fallback::Absent("where every is given"),
            Range { min: 0.0, closed: true, max: 1.0 },
            "Of each packet.",
        ),
        value(
            "every",
            Type::Integer,
            Fallback::Absent("where probability is given"),
            Range::FROM_ONE,
            "Instead of a probability: the last of so many packets is lost, as formulas for losses at equal distances have it.",
        ),
        value(
            "burst",
            Type::Number,
            Fallback::Absent("each packet by itself"),
            Range { min: 1.0, closed: true, max: 1e6 },
            "Losses come in bursts of so many packets in the mean, by the two states of Gilbert and Elliott: in the bad one all are lost, in the good \
             one none. The probability stays what it is.",
        ),
        value(
            "retransmissions",
            Type::Integer,
            Fallback::Absent("what is lost stays lost"),
            Range { min: 1.0, closed: true, max: 1000.0 },
            "The link sends what is lost again, at most so often, and keeps the order: packets behind it wait (RLC in acknowledged mode, 3GPP TS \
             36.322). What is lost then counts as dropped.",
        ),
        value(
            "retransmission_delay",
            Type::Duration,
            Fallback::Absent("required beside retransmissions"),
            Range::POSITIVE,
            "How much later a packet arrives for each time that it is sent again; the link's rate is not used up by it.",
        ),
        value(
            "from",
            Type::Duration,
            Fallback::Text("0 s"),
            Range::NOT_NEGATIVE,
            "Packets accepted before this instant of the run are not lost.",
        ),
        value(
            "until",
            Type::Duration,
            Fallback::Absent("the end of the run"),
            Range::POSITIVE,
            "Packets accepted at this instant or later are not lost.",
        ),
        value(
            "direction",
            Type::Choice(&["forward", "reverse", "both"]),
            Fallback::Text("forward"),
            Range::ANY,
            "In which direction of the link.",
        ),
    ],
    observables: &[],
    counters: &[Counter { name: "loss", doc: "Lost on the link." }],
};

/// `reverse` of a link.
pub static REVERSE: Section = Section {
    name: "reverse",
    title: "Reverse direction of a link",
    doc: "Keys that are absent are as in the forward direction, except the queue, which then never drops.",
    keys: &[
        Key { range: LINK_RATE, ..key("rate", Shape::Rate, Fallback::Absent("as forward"), "Its rate.") },
        value(
            "delay",
            Type::Duration,
            Fallback::Absent("as forward"),
            Range::NOT_NEGATIVE,
            "Propagation delay.",
        ),
        key(
            "queue",
            Shape::Table(&QUEUE, Some(Room::Queue)),
            Fallback::Absent("FIFO that never drops"),
            "What waits for the transmitter, and what is dropped.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// `queue` of a link: what every admission rule has.
pub static QUEUE: Section = Section {
    name: "queue",
    title: "Queue of a link",
    doc: "An admission rule with its parameters, a limit and a scheduler. Waiting packets count, not the one in service.",
    keys: &[
        key(
            "kind",
            Shape::Kind(Room::Queue),
            Fallback::Absent("droptail, where only limit and scheduler are given"),
            "The admission rule; its parameters stand beside it.",
        ),
        Key {
            range: Range::POSITIVE,
            ..key(
                "limit",
                Shape::Stepped(Type::QueueLength),
                Fallback::Absent("unlimited; 10240 packets with fq-codel, 10000 with dualpi2, 127 with sfq"),
                "How much may wait: packets, bytes, or time at line rate; shared by all classes.",
            )
        },
        key(
            "scheduler",
            Shape::Table(&SCHEDULER, Some(Room::Scheduler)),
            Fallback::Absent("fifo"),
            "Who goes next.",
        ),
        value(
            "change",
            Type::Choice(&["keep", "replace"]),
            Fallback::Text("keep"),
            Range::ANY,
            "What a step of a limit or a scheduler's parameter does: the scheduler goes on, or it is deleted with what waits and \
             made anew.",
        ),
    ],
    observables: &[
        Observable { name: "packets", unit: "packets", doc: "Waiting packets." },
        Observable { name: "bytes", unit: "B", doc: "Waiting bytes." },
        Observable { name: "wait", unit: "s", doc: "Time the waiting bytes take at line rate." },
    ],
    counters: &[],
};

/// `scheduler` of a queue.
pub static SCHEDULER: Section = Section {
    name: "scheduler",
    title: "Scheduler of a queue",
    doc: "Picks the next packet.",
    keys: &[key("kind", Shape::Kind(Room::Scheduler), Fallback::Required, "Which one.")],
    observables: &[],
    counters: &[],
};

/// `[stages.NAME]`.
pub static STAGE: Section = Section {
    name: "stage",
    title: "Stage",
    doc: "Something packets pass that is no link: a meter, an edge, a policer. Its parameters stand beside its kind. A kind says in which directions it acts; in the others packets do not meet it.",
    keys: &[
        key("kind", Shape::Kind(Room::Stage), Fallback::Required, "What it is."),
        key("per", Shape::Per, Fallback::Absent("one shared stage"), "For whom there is a copy each."),
        key(
            "peer",
            Shape::Text,
            Fallback::Absent("none, or the stage that names this one"),
            "The stage that it talks to by packets of their own, as the two ends of a tunnel do: one of a kind that can, on the same path.",
        ),
        key(
            "controls",
            Shape::Text,
            Fallback::Absent("nothing"),
            "The link that it reconfigures while the run goes on, \"-NAME\" in its reverse direction: one with a rate, on the same path.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// `[arrivals.NAME]`.
pub static ARRIVALS: Section = Section {
    name: "arrivals",
    title: "Arrivals that groups share",
    doc: "One process by which flows arrive. Each arrival goes to a group by its share, then to one of its users, all as likely. The \
          traffic of a group names the process and its share.",
    keys: &[
        value(
            "interval",
            Type::Duration,
            Fallback::Required,
            Range::POSITIVE,
            "Time between two arrivals, drawn for each; the first comes one interval after start.",
        ),
        value("start", Type::Duration, Fallback::Text("0 s"), Range::NOT_NEGATIVE, "When it begins."),
        value(
            "until",
            Type::Duration,
            Fallback::Absent("the end of the run"),
            Range::POSITIVE,
            "When it ends: no flow arrives at this instant or later.",
        ),
        value(
            "end",
            Type::Choice(&["close", "abort"]),
            Fallback::Absent("close, where until is given"),
            Range::ANY,
            "What becomes of flows that are still open then: they finish, or they are reset.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// `[groups.NAME]`.
pub static GROUP: Section = Section {
    name: "group",
    title: "Group of like users",
    doc: "Users who send the same traffic along the same path.",
    keys: &[
        value("users", Type::Integer, Fallback::Required, USERS, "How many."),
        key(
            "path",
            Shape::Words(&[]),
            Fallback::Required,
            "Links and stages in the order data meets them; \"-NAME\" crosses a link against its direction. \
             Acknowledgements go backwards.",
        ),
        key(
            "traffic",
            Shape::Tables(&TRAFFIC, Room::Traffic),
            Fallback::Required,
            "What each user sends; a list where there is more than one kind.",
        ),
        key(
            "tcp",
            Shape::Tcp(&evenflow_transport::profile::TCP),
            Fallback::Absent("stack \"rfc\""),
            "Their TCP.",
        ),
        key("class", Shape::Text, Fallback::Text("be"), "Traffic class of their packets."),
        value(
            "processing",
            Type::Duration,
            Fallback::Absent("none"),
            Range::NOT_NEGATIVE,
            "Random time a host spends on each data packet before sending it; order is kept.",
        ),
        value(
            "weight",
            Type::Number,
            Fallback::Text("1"),
            Range::GAIN,
            "Scales reference rate, CSFQ and DRR share, willingness to pay, and MulTCP's N.",
        ),
    ],
    observables: FLOW,
    counters: &[],
};

/// What can be observed of every flow: `groups.G.users[i].flows[j].received_bytes`. A flow of TCP has its sender's besides
/// ([`evenflow_transport::observables::OBSERVABLES`]).
pub(crate) const FLOW: &[Observable] = &[Observable {
    name: "received_bytes",
    unit: "B",
    doc: "Application bytes delivered in order; a counter: its series gives the increase per interval.",
}];

/// `traffic` of a group: what every kind of traffic has.
pub static TRAFFIC: Section = Section {
    name: "traffic",
    title: "Traffic of a user",
    doc: "An application. Its parameters stand beside its kind.",
    keys: &[
        key("kind", Shape::Kind(Room::Traffic), Fallback::Required, "What it is."),
        key("class", Shape::Text, Fallback::Absent("the group's"), "Traffic class of its packets."),
        key(
            "tcp",
            Shape::Tcp(&evenflow_transport::profile::TCP),
            Fallback::Absent("the group's"),
            "Its TCP; replaces the group's table wholly.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// The key of a `tcp` table beside those of [`evenflow_transport::profile::TCP`].
pub static CONGESTION_CONTROL: Key = key(
    "congestion_control",
    Shape::Named(Room::CongestionControl),
    Fallback::Text("newreno"),
    "How the window grows and shrinks: a name, or a table with kind and parameters.",
);

/// `[record]`.
pub static RECORD: Section = Section {
    name: "record",
    title: "What is recorded",
    doc: "Time series, histograms and lists of events, beside the counters that every run has.",
    keys: &[
        key("series", Shape::List(&SERIES), Fallback::Absent("none"), "Time series."),
        key(
            "histograms",
            Shape::Words(&[]),
            Fallback::Absent("none"),
            "\"links.L.queue.packets\" (share of time at each queue length) and \"links.L.queue.at_drop\" (drops by the \
             queue length they met).",
        ),
        key("events", Shape::Words(EVENTS), Fallback::Absent("none"), "Events listed one by one."),
        key(
            "trace",
            Shape::Words(&[]),
            Fallback::Absent("none"),
            "Flows whose packets are followed one by one, with their header fields, at every component: \"groups.G\", \
             \"groups.G.users[0]\" or \"groups.G.users[0].flows[0]\"; 1000 flows at most.",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// What `events` may hold.
pub(crate) const EVENTS: &[&str] = &["drop", "mark", "arrival", "open", "close"];

/// One of `series`.
pub static SERIES: Section = Section {
    name: "series",
    title: "Time series",
    doc: "An observable, or the increase of a counter, by time.",
    keys: &[
        key(
            "of",
            Shape::Text,
            Fallback::Required,
            "What to record, as in \"links.L.queue.packets\", \"stages.S[0].activity\", \"groups.G.users[*].flows[*].window\".",
        ),
        key(
            "every",
            Shape::Every,
            Fallback::Required,
            "At multiples of this duration, or at each \"packet\" (queues and stages only).",
        ),
    ],
    observables: &[],
    counters: &[],
};

/// All of them, in the order of the documentation.
pub static SECTIONS: &[&Section] = &[
    &SCENARIO, &LINK, &JITTER, &LOSS, &REVERSE, &QUEUE, &SCHEDULER, &STAGE, &ARRIVALS, &GROUP, &TRAFFIC,
    &RECORD, &SERIES,
];
