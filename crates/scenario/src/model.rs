//! A scenario after decoding: names resolved, quantities in SI units, defaults filled in, every check passed.
//!
//! Links, stages and groups are sorted by name, so a record does not depend on the order in the file.

use std::fmt;
use std::sync::Arc;

use evenflow_base::schema::{Mechanism, Value, Values};
use evenflow_base::{Duration, Rate, Time};
use evenflow_transport::Profile;

pub use evenflow_queue::held::Per as SchedulerPer;

/// A whole scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its title; not part of the hash.
    pub title: String,
    /// How long a run lasts.
    pub duration: Duration,
    /// Measurement happens in `[warmup, duration]`.
    pub warmup: Duration,
    /// Traffic classes by name; a packet's class is an index into this.
    pub classes: Vec<String>,
    /// Links by name.
    pub links: Vec<Link>,
    /// Stages by name.
    pub stages: Vec<Stage>,
    /// Processes by which flows arrive that groups share, by name.
    pub arrivals: Vec<Arrivals>,
    /// Groups by name.
    pub groups: Vec<Group>,
    /// Records other than counters.
    pub record: Record,
    /// Canonical JSON: SI units, defaults explicit, keys sorted, without title and `[sweep]`.
    pub canonical: String,
    /// SHA-256 of `canonical`, 16 hexadecimal digits.
    pub hash: String,
}

impl Scenario {
    /// Whether a stage on a group's path reads or writes receive windows.
    pub fn needs_windows(&self, group: &Group) -> bool {
        group.path.iter().any(|hop| match hop.component {
            Component::Stage(i) => self.stages[i].needs_windows(),
            Component::Link(_) => false,
        })
    }
}

/// A mechanism with its decoded parameters, some of which may still be random.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Its table.
    pub mechanism: &'static Mechanism,
    /// Its parameters.
    pub values: Values,
}

/// How many copies of a component there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Per {
    /// One shared copy.
    Shared,
    /// One for each user.
    User,
    /// One for each flow.
    Flow,
    /// One for each group.
    Group,
    /// One for each such number of users of a group.
    Users(u32),
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its copies.
    pub per: Per,
    /// The direction in which paths list it.
    pub forward: Direction,
    /// The other one. `None`: same rate and delay (the same draw), never drops.
    pub reverse: Option<Direction>,
    /// How its delay varies.
    pub jitter: Option<Jitter>,
    /// Its losses.
    pub loss: Option<Loss>,
    /// The effect of a rate step on the packet in transmission.
    pub in_flight: InFlight,
}

impl Link {
    /// The queue of its direction `way`: 0 forward, 1 reverse.
    pub fn queue(&self, way: usize) -> Option<&Queue> {
        let direction = if way == 0 { Some(&self.forward) } else { self.reverse.as_ref() };
        direction?.queue.as_ref()
    }

    /// The key that its scheduler sorts packets by, in the forward direction.
    pub fn scheduler_per(&self) -> SchedulerPer {
        self.forward.queue.as_ref().map_or(SchedulerPer::Class, |queue| queue.scheduler_per)
    }

    /// Whether its queue may mark ECN-capable packets, by direction.
    pub fn marks(&self) -> [bool; 2] {
        let marks = |way: &Direction| way.queue.as_ref().is_some_and(Queue::marks);
        [marks(&self.forward), self.reverse.as_ref().is_some_and(marks)]
    }
}

words! {
    /// Directions of a link.
    pub enum Directions {
        /// That in which paths list it.
        Forward = "forward",
        /// The other one.
        Reverse = "reverse",
        /// Both.
        Both = "both",
    }
}

impl Directions {
    /// Whether `way` is among them: 0 forward, 1 reverse.
    pub fn contains(self, way: &usize) -> bool {
        self == Directions::Both || (self == Directions::Reverse) == (*way == 1)
    }
}

words! {
    /// The rate at which a packet in transmission finishes after a rate step.
    #[derive(Default)]
    pub enum InFlight {
        /// That at its start.
        #[default]
        OldRate = "old-rate",
        /// The rest of it at the new one.
        NewRate = "new-rate",
    }
}

words! {
    /// Whether packets with jitter keep their order.
    pub enum Order {
        /// They do.
        Keep = "keep",
        /// They overtake each other.
        Reorder = "reorder",
    }
}

words! {
    /// The effect of a queue's step on its scheduler.
    pub enum Change {
        /// It goes on.
        Keep = "keep",
        /// The scheduler is deleted with its packets and recreated.
        Replace = "replace",
    }
}

/// Jitter of a link.
#[derive(Clone, Debug)]
pub struct Jitter {
    /// Standard deviation, a [`Value::Seconds`] or random.
    pub deviation: Value,
    /// Correlation of successive numbers, as in netem.
    pub correlation: f64,
    /// Whether packets keep their order.
    pub order: Order,
    /// Since the start of the run.
    pub from: Duration,
    /// The same; absent: to the end.
    pub until: Option<Duration>,
    /// Its directions.
    pub ways: Directions,
}

/// Which packets a link loses.
#[derive(Clone, Debug)]
pub enum Lost {
    /// Each with a probability, a [`Value::Number`] or random.
    Random(Value),
    /// So many of all, a [`Value::Number`] or random, in bursts of this mean length.
    Bursts(Value, f64),
    /// The last one of each such number of packets.
    Every(u64),
}

/// Loss on a link.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Which packets.
    pub which: Lost,
    /// Since the start of the run.
    pub from: Duration,
    /// The same; absent: to the end.
    pub until: Option<Duration>,
    /// Its directions.
    pub ways: Directions,
    /// Retransmissions on the link: their maximum number, and the delay of each.
    pub again: Option<(u32, Duration)>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Its rate; absent: pure delay.
    pub rate: Option<RateSpec>,
    /// Propagation delay, a [`Value::Seconds`] or random.
    pub delay: Value,
    /// Its queue; absent: FIFO that never drops.
    pub queue: Option<Queue>,
    /// How it serves; absent: each packet at once.
    pub serve: Option<Serve>,
}

/// Service in grants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serve {
    /// From a grant to the next.
    pub every: Duration,
    /// From a request to the first grant.
    pub wait: Duration,
}

words! {
    /// Ways to serve.
    pub enum Service {
        /// In grants.
        Grants = "grants",
    }
}

words! {
    /// Links that serve in grants.
    pub enum Preset {
        /// The upstream of DOCSIS 3.1.
        Docsis = "docsis",
        /// The uplink of LTE.
        Lte = "lte",
        /// Aggregates of one station.
        Wifi = "wifi",
    }
}

impl Preset {
    /// DOCSIS 3.1: a MAP every 2 ms, and a grant two MAPs after its request (defaults of docsis-ns3). LTE: a grant in
    /// each TTI of 1 ms, the first 8 ms after the request (an estimate). Wi-Fi: the longest transmission of 802.11,
    /// 5.484 ms, with the mean contention of 34 us and 7.5 slots of 9 us (an estimate).
    pub fn serve(self) -> Serve {
        let (every, wait) = match self {
            Preset::Docsis => (2_000_000, 4_000_000),
            Preset::Lte => (1_000_000, 8_000_000),
            Preset::Wifi => (5_585_500, 0),
        };
        Serve { every: Duration(every), wait: Duration(wait) }
    }
}

/// A link's rate.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// A [`Value::Rate`] or random.
    Constant(Value),
    /// The rate from each instant on; the first instant is zero, they increase. Not all are zero.
    Steps(Vec<(Time, Rate)>),
    /// Delivery opportunities in ms and the bytes of each, repeated after the last one.
    Opportunities(Arc<[u64]>, u32),
}

impl RateSpec {
    /// The long-run rate of opportunities, the first positive rate of steps; absent where it is drawn or constant.
    pub fn fixed(&self) -> Option<Rate> {
        match self {
            RateSpec::Constant(_) => None,
            RateSpec::Steps(steps) => steps.iter().map(|step| step.1).find(|rate| rate.0 > 0.0),
            RateSpec::Opportunities(at, bytes) => {
                let last = *at.last()? as f64;
                Some(Rate(at.len() as f64 * f64::from(*bytes) * 8000.0 / last))
            }
        }
    }
}

/// A queue: admission rule, limit, scheduler.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The admission rule.
    pub rule: Spec,
    /// Packets, bytes or seconds (or random); absent: unlimited.
    pub limit: Option<Value>,
    /// The scheduler; absent: FIFO.
    pub scheduler: Option<Spec>,
    /// The key of the scheduler's queues.
    pub scheduler_per: SchedulerPer,
    /// Later values: limit and scheduler.
    pub changes: Vec<(Time, Queue)>,
    /// The effect of a change.
    pub change: Change,
}

impl Queue {
    /// Whether packets find their queues by a hash.
    pub fn is_hashed(&self) -> bool {
        let scheduler = self.scheduler.as_ref().unwrap_or(&self.rule);
        scheduler.mechanism.traits.hashes
    }

    /// Whether it may mark ECN-capable packets, now or after a step.
    pub fn marks(&self) -> bool {
        let mut specs = std::iter::once(&self.rule).chain(&self.scheduler);
        specs.any(|spec| evenflow_queue::marks(spec.mechanism.kind, &spec.values))
            || self.changes.iter().any(|(_, later)| later.marks())
    }
}

/// A stage: something packets pass that is no link.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Its copies.
    pub per: Per,
    /// Its kind and parameters.
    pub spec: Spec,
    /// Index of the stage that it talks to.
    pub peer: Option<usize>,
    /// Index of the link that it reconfigures, and in which direction: 0 forward, 1 reverse.
    pub controls: Option<(usize, usize)>,
}

impl Stage {
    /// Whether segments that cross it must advertise receive windows.
    pub fn needs_windows(&self) -> bool {
        evenflow_stage::needs_windows(self.spec.mechanism.kind, &self.spec.values)
    }
}

/// A component on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Index into [`Scenario::links`].
    Link(usize),
    /// Index into [`Scenario::stages`].
    Stage(usize),
}

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The component.
    pub component: Component,
    /// Whether data crosses it against its direction (`-NAME`).
    pub against: bool,
}

/// A process by which flows arrive that groups share.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Its name.
    pub name: String,
    /// Time between two arrivals, a [`Value::Seconds`] or random.
    pub interval: Value,
    /// When it begins.
    pub start: Duration,
    /// When it ends, and whether its flows are reset then.
    pub ending: Option<(Duration, bool)>,
    /// Receivers of the arrivals; the shares add up to 1.
    pub shares: Vec<Share>,
}

/// A group's part of an arrival process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Index into [`Scenario::groups`].
    pub group: usize,
    /// Index into [`Group::traffic`].
    pub traffic: usize,
    /// The part of the arrivals.
    pub share: f64,
}

/// A group of like users.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many users.
    pub users: u32,
    /// Components in the order data meets them.
    pub path: Vec<Hop>,
    /// Traffic of each user.
    pub traffic: Vec<Traffic>,
    /// Random time a host spends on each data packet before sending it.
    pub processing: Option<Value>,
    /// Share weight, a [`Value::Number`] or random.
    pub weight: Value,
}

/// One kind of traffic of a user.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its kind and parameters.
    pub spec: Spec,
    /// Index into [`Scenario::classes`].
    pub class: u8,
    /// The DSCP of its packets; absent: that of their class's name.
    pub dscp: Option<u8>,
    /// It lasts for the whole run, but needs an application's connections, because a component on the path
    /// reads or writes receive windows.
    pub talks: bool,
    /// Its transport; `None` for datagrams.
    pub tcp: Option<Tcp>,
    /// Where its flows come from a shared process: index into [`Scenario::arrivals`].
    pub arrivals: Option<usize>,
}

/// A TCP configuration.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// The stack profile with its overrides applied.
    pub profile: Profile,
    /// The congestion control.
    pub congestion_control: Spec,
}

/// The `[record]` section.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Time series.
    pub series: Vec<Series>,
    /// Histograms, in order.
    pub histograms: Vec<Histogram>,
    /// Kinds of event listed one by one.
    pub events: Vec<EventKind>,
    /// Flows with a packet trace.
    pub trace: Vec<Traced>,
}

/// Flows of a group that are traced.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Its one spelling.
    pub of: String,
    /// Index of the group.
    pub group: usize,
    /// Which of its users.
    pub users: Copies,
    /// Its flows; `None`: all, including those opened during the run.
    pub flows: Option<Copies>,
}

/// The counted quantity of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Histogram {
    /// Share of time at each queue length of a link.
    Packets(usize),
    /// Drops of a link by the queue length they met.
    AtDrop(usize),
    /// Packets of a link by queueing delay.
    QueueDelay(usize),
    /// The same of a traffic class: link, class.
    ClassQueueDelay(usize, usize),
    /// Data packets of a group by one-way delay.
    Delay(usize),
    /// The same by user.
    UsersDelay(usize),
    /// Samples of the round-trip time of a group's senders.
    Rtt(usize),
    /// Data packets of a group in a traffic class by one-way delay: group, class.
    ClassDelay(usize, usize),
    /// Transfers of a group by time to the last byte.
    Completion(usize),
    /// Transfers of a group by time to the first byte.
    FirstByte(usize),
}

impl Histogram {
    /// Its name in a scenario and in a record.
    pub fn name(self, scenario: &Scenario) -> String {
        let link = |i: usize| &scenario.links[i].name;
        let group = |i: usize| &scenario.groups[i].name;
        match self {
            Histogram::Packets(i) => format!("links.{}.queue.packets", link(i)),
            Histogram::AtDrop(i) => format!("links.{}.queue.at_drop", link(i)),
            Histogram::QueueDelay(i) => format!("links.{}.queue.delay", link(i)),
            Histogram::ClassQueueDelay(i, class) => {
                format!("links.{}.classes.{}.queue.delay", link(i), scenario.classes[class])
            }
            Histogram::Delay(i) => format!("groups.{}.delay", group(i)),
            Histogram::UsersDelay(i) => format!("groups.{}.users.delay", group(i)),
            Histogram::Rtt(i) => format!("groups.{}.rtt", group(i)),
            Histogram::ClassDelay(i, class) => {
                format!("groups.{}.classes.{}.delay", group(i), scenario.classes[class])
            }
            Histogram::Completion(i) => format!("groups.{}.transfers.completion", group(i)),
            Histogram::FirstByte(i) => format!("groups.{}.transfers.first_byte", group(i)),
        }
    }

    /// The link whose queue length it reads.
    pub fn queue_read(self) -> Option<usize> {
        match self {
            Histogram::Packets(link) | Histogram::AtDrop(link) => Some(link),
            _ => None,
        }
    }
}

words! {
    /// An event that can be listed.
    pub enum EventKind {
        /// A packet dropped.
        Drop = "drop",
        /// A packet marked.
        Mark = "mark",
        /// A data packet offered to a link with a queue.
        Arrival = "arrival",
        /// A flow opened.
        Open = "open",
        /// A flow over.
        Close = "close",
    }
}

/// A time series, for one copy or all.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its one spelling, `[*]` for all copies not yet expanded.
    pub of: String,
    /// Its target.
    pub target: Target,
    /// How often.
    pub every: Every,
}

/// When a series takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// At multiples of this.
    Interval(Duration),
    /// At each packet that meets the component (for queues: before its admission).
    Packet,
    /// At each drop or mark of a packet that leaves the queue.
    Departure,
}

/// Which copies a series takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// `[*]`, or no index where there is one copy.
    All,
    /// `[n]`.
    One(u32),
}

impl fmt::Display for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Copies::All => f.write_str("[*]"),
            Copies::One(n) => write!(f, "[{n}]"),
        }
    }
}

impl Copies {
    /// Whether copy number `n` is one of them.
    pub fn holds(self, n: u32) -> bool {
        matches!(self, Copies::All) || self == Copies::One(n)
    }
}

/// Part of a series name between link and quantity, for each direction: forward and reverse.
pub const REVERSED: [&str; 2] = ["", "reverse."];

/// The target of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The subject, in all its copies.
    pub of: Subject,
    /// Which copies of a component, or users of a group.
    pub copies: Copies,
    /// Which leaves of a scheduler, or flows of a user; of others `One(0)`.
    pub inner: Copies,
    /// Name of the observable or counter.
    pub observable: &'static str,
}

/// The subject of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// `links.L.queue.packets`, … : the queue of a link, in this direction (1: `links.L.reverse.queue.packets`).
    Queue(usize, usize),
    /// `links.L.loss.draw`, … : the random loss of a link, in this direction.
    Loss(usize, usize),
    /// `links.L.queue.classes.C.tokens`, … : of a link's scheduler, the item at this index in the order of names.
    Class(usize, u32),
    /// `links.L.queue.leaves[n].tokens`, … : leaves of users or flows of a link's scheduler.
    Leaves(usize),
    /// `links.L.delivered_bytes`, … : a link.
    Link(usize),
    /// `stages.S.activity`, … : a stage.
    Stage(usize),
    /// `groups.G.users[i].flows[j].window`, … : flows of a group.
    Flow(usize),
}

impl Subject {
    /// The component that it belongs to.
    pub fn component(self) -> Option<Component> {
        match self {
            Subject::Queue(link, _) | Subject::Loss(link, _) | Subject::Class(link, _) => {
                Some(Component::Link(link))
            }
            Subject::Leaves(link) | Subject::Link(link) => Some(Component::Link(link)),
            Subject::Stage(stage) => Some(Component::Stage(stage)),
            Subject::Flow(_) => None,
        }
    }
}
