//! The keys of the scenario's own tables. Mechanisms declare their own keys.

use evenflow_base::schema::Fallback::{self, Absent, Required, Text as Default};
use evenflow_base::schema::{Counter, Mechanism, Observable, Param, Range, Room, Type};

use evenflow_traffic::Leaving;

use crate::model::{Change, Directions, EventKind, InFlight, Order, Preset, Service};
use Shape::*;

/// A table of the scenario file.
#[derive(Debug)]
pub struct Section {
    /// Its name in the documentation.
    pub name: &'static str,
    /// A short title.
    pub title: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Observables for `[record]` series.
    pub observables: &'static [Observable],
    /// Its counters.
    pub counters: &'static [Counter],
}

/// A key of a section.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// Its type.
    pub shape: Shape,
    /// Its default.
    pub default: Fallback,
    /// The values allowed.
    pub range: Range,
    /// One sentence.
    pub doc: &'static str,
}

impl Key {
    /// The key of a mechanism's parameter, which may have steps if it is one of `changes`.
    pub(crate) fn of(param: &Param, changes: &[&str]) -> Key {
        let Param { name, ty, default, range, doc, .. } = *param;
        let shape = if changes.contains(&name) { Stepped(ty) } else { Value(ty) };
        Key { name, shape, default, range, doc }
    }
}

/// Types of keys.
#[derive(Clone, Copy, Debug)]
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
    /// A rate, `{ steps = [[time, rate], …] }`, or delivery opportunities.
    Rate,
    /// A probability, or a table of [`LOSS`].
    Loss,
    /// `"user"`, `"flow"`, `"group"`, `"5 users"`.
    Per,
    /// A name of [`evenflow_base::dscp::NAMES`], or a number.
    Dscp,
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
    /// A duration, `"packet"` or `"departure"`.
    Every,
    /// A table that is read elsewhere.
    Elsewhere,
}

/// Suffix of the type of values that may change during a run.
const STEPS: &str = ", or { steps = [[time, value], …] }";

impl Shape {
    /// Its type in words.
    pub fn describe(&self) -> String {
        match self {
            Shape::Value(ty) => ty.describe().0,
            Shape::Stepped(ty) => ty.describe().0 + STEPS,
            Shape::Text => "text".into(),
            Shape::Kind(room) => format!("{} name", room.word()),
            Shape::Named(room) => format!("{0} name, or table with kind", room.word()),
            Shape::Rate => "rate, or { steps = [[time, rate], …] }, or { trace = \"file\" }".into(),
            Shape::Loss => "number, or loss table".into(),
            Shape::Per => "\"user\", \"flow\", \"group\" or \"5 users\"".into(),
            Shape::Dscp => "DSCP name, or 0 to 63".into(),
            Shape::Table(section, _) => format!("{} table", section.name),
            Shape::Tcp(table) => format!("{} table", table.kind),
            Shape::Tables(section, _) => format!("{0} table, or list of them", section.name),
            Shape::List(section) => format!("list of {} tables", section.name),
            Shape::ByName(section, _) => format!("{} tables by name", section.name),
            Shape::Words([]) => "list of names".into(),
            Shape::Words(words) => format!("list out of {}", words.join(", ")),
            Shape::Every => "duration, \"packet\" or \"departure\"".into(),
            Shape::Elsewhere => "table".into(),
        }
    }
}

impl Section {
    /// The names of its keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}

/// Declares a section: its table, and a module with a [`Key`] for each of its keys.
macro_rules! section {
    (
        $(#[$about:meta])+
        $table:ident, $keys:ident = $name:literal, $title:literal, $doc:literal =>
        $($(#[doc = $line:literal])+ $key:ident: $shape:expr, $default:expr $(, $range:expr)?;)*
        $(observables: $observables:expr;)?
        $(counters: $counters:expr;)?
    ) => {
        $(#[$about])+
        pub static $table: Section = Section {
            name: $name,
            title: $title,
            doc: $doc,
            keys: &[$($keys::$key),*],
            observables: last!(&[] $(, $observables)?),
            counters: last!(&[] $(, $counters)?),
        };

        #[allow(non_upper_case_globals, missing_docs, dead_code)]
        $(#[$about])+
        pub mod $keys {
            use super::*;

            $(pub const $key: Key = Key {
                name: stringify!($key),
                shape: $shape,
                default: $default,
                range: last!(Range::ANY $(, $range)?),
                doc: concat!($($line),+).trim_ascii_start(),
            };)*
        }
    };
}

/// Below this rate, a packet takes longer than any run.
pub(crate) const LINK_RATE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };

/// Number of users of a group.
pub(crate) const USERS: Range = Range { min: 1.0, closed: true, max: 4_000_000.0 };

section! {
    /// The file as a whole.
    SCENARIO, scenario = "scenario", "Scenario file",
        "A whole experiment: links, stages, groups of users, durations, records." =>
        /// Title for reports; not part of the hash.
        title: Text, Default("");
        /// Duration of a run.
        duration: Value(Type::Duration), Required, Range::POSITIVE;
        /// Start of the measurement, which covers [warmup, duration].
        warmup: Value(Type::Duration), Default("0 s"), Range::NOT_NEGATIVE;
        /// Links by name.
        links: ByName(&LINK, None), Required;
        /// Stages by name.
        stages: ByName(&STAGE, Some(Room::Stage)), Absent("none");
        /// Arrival processes shared by groups, by name.
        arrivals: ByName(&ARRIVALS, None), Absent("none");
        /// Groups of users by name.
        groups: ByName(&GROUP, None), Required;
        /// Records other than counters.
        record: Table(&RECORD, None), Absent("counters only");
        /// Parameters that a study varies; a single run ignores them.
        sweep: Elsewhere, Absent("one point");
}

section! {
    /// `[links.NAME]`.
    LINK, link = "link", "Link",
        "A full-duplex link: a queue, a transmitter and a delay in each direction." =>
        /// Rate of the link.
        rate: Rate, Absent("pure delay, no queue"), LINK_RATE;
        /// Propagation delay.
        delay: Value(Type::Duration), Default("0 s"), Range::NOT_NEGATIVE;
        /// Users or flows that get a separate copy of the link.
        per: Per, Absent("one shared link");
        /// The queue: rule, limit and scheduler.
        queue: Table(&QUEUE, Some(Room::Queue)), Absent("FIFO that never drops");
        /// The direction against the path.
        reverse: Table(&REVERSE, None), Absent("same rate and delay (the same draw), never drops");
        /// Random extra delay of each packet.
        jitter: Table(&JITTER, None), Absent("none");
        /// Losses on the link: a probability for each packet, or a table.
        loss: Loss, Absent("none");
        /// Effect of a rate step on the packet in transmission. `old-rate`: it finishes at the rate of its start,
        /// also in an outage. `new-rate`: the rest of it takes the new rate, as on a real link.
        in_flight: Value(InFlight::TYPE), Default("old-rate");
        /// Service in grants instead of packet by packet, in the forward direction.
        serve: Table(&SERVE, None), Absent("packet by packet");
    observables: &[Observable::new("rate", "bit/s",
        "Present rate. Of delivery opportunities, the mean since the previous value.")];
    counters: &[
        Counter::new("arrived_bytes", "Bytes offered to the link."),
        Counter::new("delivered_bytes", "Bytes that reached the far end."),
        Counter::new("delivered_packets", "Packets that reached the far end."),
        Counter::new("drops", "Packets that the queue dropped or the link lost."),
        Counter::new("marks", "Packets that the queue marked."),
    ];
}

section! {
    /// `serve` of a link.
    SERVE, serve = "serve", "Service of a link",
        "Service in grants, as on a scheduled medium. A grant comes at each multiple of `every` and has the bytes \
         that the rate gives in that time. Unused bytes are lost. A packet leaves the queue at a grant and may \
         end in a later one." =>
        /// The kind of service.
        kind: Value(Service::TYPE), Required;
        /// Values of a technology: `docsis` 2 ms and 4 ms (DOCSIS 3.1 upstream), `lte` 1 ms and 8 ms (uplink),
        /// `wifi` 5.5855 ms and 0 s (one station). The last two are estimates.
        preset: Value(Preset::TYPE), Absent("every is given");
        /// Time from a grant to the next.
        every: Value(Type::Duration), Absent("that of the preset"), Range::POSITIVE;
        /// Least time from an arrival at an empty link to its first grant: the request takes it.
        wait: Value(Type::Duration), Absent("that of the preset, or 0 s"), Range::NOT_NEGATIVE;
}

section! {
    /// `jitter` of a link.
    JITTER, jitter = "jitter", "Jitter of a link",
        "Draws each packet's delay from a normal distribution around the link's delay. It is cut at four \
         standard deviations and at zero, as in Linux's netem." =>
        /// Standard deviation of the delay; its mean is the link's delay.
        normal: Value(Type::Duration), Required, Range::NOT_NEGATIVE;
        /// Correlation of each packet's random number with the one before, as in netem: u = (1 - c) random + c
        /// previous u. It narrows the distribution: with 0.5 the deviation is 45 % of `normal`.
        correlation: Value(Type::Number), Default("0"), Range::between(0.0, 1.0);
        /// Order of packets at the far end. `keep`: a packet waits for earlier ones, as in netem with a FIFO
        /// inside. Packets in quick succession then have a mean delay above the link's delay. `reorder`:
        /// packets may overtake, as in plain netem.
        order: Value(Order::TYPE), Default("keep");
        /// Packets accepted before this instant of the run have the link's delay.
        from: Value(Type::Duration), Default("0 s"), Range::NOT_NEGATIVE;
        /// Packets accepted at this instant or later have the link's delay.
        until: Value(Type::Duration), Absent("the end of the run"), Range::POSITIVE;
        /// Direction of the link.
        direction: Value(Directions::TYPE), Default("forward");
}

section! {
    /// `loss` of a link, where it is a table.
    LOSS, loss = "loss", "Loss on a link",
        "Loses each accepted packet with a probability, or every n-th one (`every`). A lost packet takes its \
         time on the link. It counts as dropped, with the reason `loss`, when it would have reached the far \
         end." =>
        /// Loss probability of each packet.
        probability: Value(Type::Number), Absent("if every is given"), Range::between(0.0, 1.0);
        /// Packets per loss, instead of a probability: every n-th packet is lost.
        every: Value(Type::Integer), Absent("if probability is given"), Range::FROM_ONE;
        /// Mean length of a loss burst in packets. The two states of the Gilbert-Elliott model lose all
        /// packets or none; the probability stays the same.
        burst: Value(Type::Number), Absent("independent losses"), Range::between(1.0, 1e6);
        /// Maximum number of retransmissions on the link. It keeps the order, so later packets wait (RLC in
        /// acknowledged mode, 3GPP TS 36.322). A packet lost each time counts as dropped.
        retransmissions: Value(Type::Integer), Absent("no retransmission"), Range::between(1.0, 1000.0);
        /// Delay of each retransmission. It does not use the link's rate.
        retransmission_delay: Value(Type::Duration),
            Absent("required with retransmissions"), Range::POSITIVE;
        /// Packets accepted before this instant of the run are not lost.
        from: Value(Type::Duration), Default("0 s"), Range::NOT_NEGATIVE;
        /// Packets accepted at this instant or later are not lost.
        until: Value(Type::Duration), Absent("the end of the run"), Range::POSITIVE;
        /// Direction of the link.
        direction: Value(Directions::TYPE), Default("forward");
    observables: &[
        Observable::new("draw", "1", "Random number that decided the loss; none with `every`."),
        Observable::new("probability", "1",
            "Probability that it was compared with. In bursts, that of entering the lossy state or of staying in it."),
        Observable::new("flow", "1", "Flow of the lost packet, numbered as in events.open.flow."),
        Observable::new("stays", "1", "In bursts: 0 for the first lost packet of a burst, then 1."),
    ];
    counters: &[Counter::new("loss", "Packets lost on the link.")];
}

section! {
    /// `reverse` of a link.
    REVERSE, reverse = "reverse", "Reverse direction of a link",
        "Absent keys have the values of the forward direction. An absent queue never drops." =>
        /// Rate of the reverse direction.
        rate: Rate, Absent("as forward"), LINK_RATE;
        /// Propagation delay.
        delay: Value(Type::Duration), Absent("as forward"), Range::NOT_NEGATIVE;
        /// The queue: rule, limit and scheduler.
        queue: Table(&QUEUE, Some(Room::Queue)), Absent("FIFO that never drops");
        /// Service in grants.
        serve: Table(&SERVE, None), Absent("packet by packet");
}

section! {
    /// `queue` of a link: keys common to all admission rules.
    QUEUE, queue = "queue", "Queue of a link",
        "An admission rule with its parameters, a limit and a scheduler. The queue length excludes the \
         packet in transmission." =>
        /// The admission rule, whose parameters are in the same table.
        kind: Kind(Room::Queue), Absent("droptail, with a limit or a scheduler only");
        /// Maximum backlog in packets, bytes, or time at line rate. All classes share it.
        limit: Stepped(Type::QueueLength),
            Absent("unlimited; 10240 packets with fq-codel, fq-pie and cobalt, memory_limit with cake, 10000 with fq and dualpi2, 127 with sfq"), Range::POSITIVE;
        /// The scheduler, which selects the next packet.
        scheduler: Table(&SCHEDULER, Some(Room::Scheduler)), Absent(evenflow_queue::fifo::TABLE.kind);
        /// Effect of a step on the scheduler. `keep`: change its parameters. `replace`: delete it with its
        /// packets and create a new one.
        change: Value(Change::TYPE), Default("keep");
    observables: &[
        Observable::new("packets", "packets", "Waiting packets."),
        Observable::new("bytes", "B", "Waiting bytes."),
        Observable::new("wait", "s", "Time to transmit the backlog at line rate."),
        Observable::new("draw", "1",
            "Number that the last decision compared with its probability: a random one, or in DualPI2's RFC form \
                  a sum of probabilities. No value where it compared none."),
    ];
}

section! {
    /// `scheduler` of a queue.
    SCHEDULER, scheduler = "scheduler", "Scheduler of a queue",
        "Selects the next packet." =>
        /// The kind of scheduler.
        kind: Kind(Room::Scheduler), Required;
}

section! {
    /// `[stages.NAME]`.
    STAGE, stage = "stage", "Stage",
        "A component on a path other than a link: a meter, an edge, a policer. Its parameters are in the \
         same table. Each kind acts in certain directions; it does not see other packets." =>
        /// The kind of stage.
        kind: Kind(Room::Stage), Required;
        /// Users or flows that get a separate copy of the stage.
        per: Per, Absent("one shared stage");
        /// The stage that exchanges packets with this one, such as the other end of a tunnel. It has a
        /// matching kind and the same path.
        peer: Text, Absent("none, or the stage that names this one");
        /// The link that the stage reconfigures during the run; "-NAME" for its reverse direction. It has a
        /// rate and is on the same path.
        controls: Text, Absent("nothing");
}

section! {
    /// `[arrivals.NAME]`.
    ARRIVALS, arrivals = "arrivals", "Arrivals shared by groups",
        "One process of flow arrivals. Each arrival goes to a group by its share, then to one of its users \
         at random. The traffic of a group names the process and its share." =>
        /// Time between two arrivals, drawn for each; the first comes one interval after start.
        interval: Value(Type::Duration), Required, Range::POSITIVE;
        /// Start of the arrivals.
        start: Value(Type::Duration), Default("0 s"), Range::NOT_NEGATIVE;
        /// End of the arrivals: no flow arrives at this instant or later.
        until: Value(Type::Duration), Absent("the end of the run"), Range::POSITIVE;
        /// Treatment of flows that are open at the end: they finish, or they are reset.
        end: Value(Leaving::TYPE), Absent("close, with until");
}

section! {
    /// `[groups.NAME]`.
    GROUP, group = "group", "Group of users",
        "Users with the same traffic and path." =>
        /// Number of users.
        users: Value(Type::Integer), Required, USERS;
        /// Links and stages in the order of data packets; "-NAME" crosses a link in its reverse direction.
        /// ACKs take the reverse path.
        path: Words(&[]), Required;
        /// Traffic of each user; a list for more than one kind.
        traffic: Tables(&TRAFFIC, Room::Traffic), Required;
        /// TCP of the users.
        tcp: Tcp(&evenflow_transport::profile::TCP), Absent("stack \"rfc\"");
        /// Traffic class of the users' packets.
        class: Text, Default("be");
        /// DSCP of the packets and of their ACKs. Queues with `tins` read it.
        dscp: Dscp, Absent("that of the class's name, such as \"ef\" or \"af41\"; else CS0");
        /// Random processing time of a host for each data packet before it is sent, without reordering.
        processing: Value(Type::Duration), Absent("none"), Range::NOT_NEGATIVE;
        /// Factor of the reference rate, the shares in CSFQ and DRR, the willingness to pay, and MulTCP's N.
        weight: Value(Type::Number), Default("1"), Range::GAIN;
    observables: FLOW;
}

/// Observables of every flow: `groups.G.users[i].flows[j].received_bytes`. A TCP flow also has those of its
/// sender ([`evenflow_transport::sender::observe::View`]).
pub(crate) const FLOW: &[Observable] = &[Observable::new(
    "received_bytes",
    "B",
    "Application bytes delivered in order. Counter: a series shows the increase per interval.",
)];

section! {
    /// `traffic` of a group: keys common to all kinds of traffic.
    TRAFFIC, traffic = "traffic", "Traffic of a user",
        "An application. Its parameters are in the same table." =>
        /// The kind of traffic.
        kind: Kind(Room::Traffic), Required;
        /// Traffic class of the packets.
        class: Text, Absent("the group's");
        /// DSCP of the packets and of their ACKs.
        dscp: Dscp, Absent("the group's");
        /// TCP of this traffic. It replaces the group's whole table.
        tcp: Tcp(&evenflow_transport::profile::TCP), Absent("the group's");
}

/// The key of a `tcp` table in addition to those of [`evenflow_transport::profile::TCP`].
pub static CONGESTION_CONTROL: Key = Key {
    name: "congestion_control",
    shape: Named(Room::CongestionControl),
    default: Default(evenflow_transport::congestion_control::newreno::TABLE.kind),
    range: Range::ANY,
    doc: "The congestion control: a name, or a table with kind and parameters.",
};

section! {
    /// `[record]`.
    RECORD, record = "record", "Records of a run",
        "Time series, histograms and lists of events, in addition to the counters of every run." =>
        /// Time series.
        series: List(&SERIES), Absent("none");
        /// "links.L.queue.packets": share of time at each queue length. "links.L.queue.at_drop": drops by queue
        /// length. "links.L.queue.delay", "links.L.classes.CLASS.queue.delay": packets by queueing delay.
        /// "groups.G.delay", "groups.G.users.delay", "groups.G.classes.CLASS.delay": data packets by one-way
        /// delay. "groups.G.rtt": samples of the round-trip time. "groups.G.transfers.completion",
        /// "groups.G.transfers.first_byte": transfers by time to the last or first byte.
        histograms: Words(&[]), Absent("none");
        /// Kinds of events to list one by one.
        events: Words(EventKind::WORDS), Absent("none");
        /// Flows to trace packet by packet with header fields, at every component. Write "groups.G",
        /// "groups.G.users[0]" or "groups.G.users[0].flows[0]". The limit is 1000 flows.
        trace: Words(&[]), Absent("none");
}

section! {
    /// One of `series`.
    SERIES, series = "series", "Time series",
        "An observable, or the increase of a counter, over time." =>
        /// The quantity to record, as in "links.L.queue.packets", "stages.S[0].activity",
        /// "groups.G.users[*].flows[*].window".
        of: Text, Required;
        /// Sampling interval, or "packet" for each packet (queues and stages only). "departure": each drop or
        /// mark of a packet that leaves the queue (codel, fq-codel, cobalt, dualpi2), or each random loss.
        every: Every, Required;
}

/// All sections, in the order of the documentation.
pub static SECTIONS: &[&Section] = &[
    &SCENARIO, &LINK, &SERVE, &JITTER, &LOSS, &REVERSE, &QUEUE, &SCHEDULER, &STAGE, &ARRIVALS, &GROUP,
    &TRAFFIC, &RECORD, &SERIES,
];
