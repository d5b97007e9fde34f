//! The declarative tables: one per mechanism, the single source of truth for its parameters.
//!
//! From a [`Mechanism`] come the decoder (which finds every error at once), `evenflow describe`, the JSON schema, the
//! documentation and the Python types. A decoded table is a set of [`Values`]; a mechanism turns them into its
//! `Params` and adds the errors that concern several parameters together.

use std::collections::BTreeMap;

use crate::random::Stream;

crate::words! {
    /// Where a mechanism lives.
    #[derive(PartialOrd, Ord)]
    pub enum Room {
        /// Admission rules of a link's queue.
        Queue = "queue",
        /// How a queue picks the next packet.
        Scheduler = "scheduler",
        /// Components on a path other than links.
        Stage = "stage",
        /// Traffic of users.
        Traffic = "traffic",
        /// How a TCP window grows and shrinks.
        CongestionControl = "congestion-control",
        /// Recovery, acknowledgements and timers of a TCP.
        Stack = "stack",
        /// Which level of an adaptive video a player asks for.
        Adaptation = "adaptation",
        /// The scenario's own tables.
        Scenario = "scenario",
    }
}

/// The type and dimension of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Type {
    /// `"10 Mbit/s"`.
    Rate,
    /// `"5 ms"`.
    Duration,
    /// `"64 KiB"`.
    Bytes,
    /// `"24 packets"`; need not be whole.
    Packets,
    /// Packets, bytes, or time at line rate.
    QueueLength,
    /// `"64 KiB"`, or one of these words.
    BytesOr(&'static [&'static str]),
    /// Packets or time.
    PacketsOrDuration,
    /// Packets or bytes.
    PacketsOrBytes,
    /// `"10 Mbit/s"`, or packets a second.
    RateOrPacketRate,
    /// A pure number.
    Number,
    /// A whole number, not negative.
    Integer,
    /// A whole number or this word.
    IntegerOr(&'static str),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of names.
    Names,
    /// A table from traffic class to pure number.
    NumberPerClass,
    /// A table from traffic class to duration.
    DurationPerClass,
    /// A name.
    Name,
    /// A nested table.
    Table(&'static Nested),
    /// Such tables by name.
    TablePerName(&'static Nested),
    /// A list of rates; in a file, the name of a manifest that has them.
    Rates,
    /// A list of lists of bytes.
    ByteRows,
    /// The name of a mechanism of this room, or a table with its `kind` and parameters.
    Mechanism(Room),
}

impl Type {
    /// Its name for people, and an example.
    pub fn describe(self) -> (String, &'static str) {
        match self {
            Type::Rate => ("rate".into(), "\"10 Mbit/s\""),
            Type::Duration => ("duration".into(), "\"5 ms\""),
            Type::Bytes => ("bytes".into(), "\"64 KiB\""),
            Type::Packets => ("packets".into(), "\"24 packets\""),
            Type::QueueLength => ("packets, bytes or time".into(), "\"24 packets\", \"64 KiB\" or \"20 ms\""),
            Type::BytesOr(words) => (format!("bytes, or one of {}", words.join(", ")), "\"20 B\""),
            Type::PacketsOrDuration => ("packets or time".into(), "\"12 packets\" or \"14.4 ms\""),
            Type::PacketsOrBytes => ("packets or bytes".into(), "\"12 packets\" or \"18 kB\""),
            Type::RateOrPacketRate => ("rate or packet rate".into(), "\"10 Mbit/s\" or \"800 packets/s\""),
            Type::Number => ("number".into(), "0.5"),
            Type::Integer => ("whole number".into(), "10"),
            Type::IntegerOr(word) => (format!("whole number or \"{word}\""), "6"),
            Type::Flag => ("flag".into(), "true"),
            Type::Choice(words) => (format!("one of {}", words.join(", ")), "a quoted word"),
            Type::Names => ("list of names".into(), "[\"ef\", \"be\"]"),
            Type::NumberPerClass => ("number per class".into(), "{ ef = 3, be = 1 }"),
            Type::DurationPerClass => ("duration per class".into(), "{ ef = \"0 ms\", be = \"57.6 ms\" }"),
            Type::Name => ("a name".into(), "\"be\""),
            Type::Table(nested) => (format!("{} table", nested.name), "{ … }"),
            Type::TablePerName(nested) => (format!("{} tables by name", nested.name), "{ be = { … } }"),
            Type::Rates => ("list of rates, or MPD file".into(), "[\"1 Mbit/s\", \"3 Mbit/s\"]"),
            Type::ByteRows => ("list of lists of bytes".into(), "[[\"60 kB\", \"110 kB\"]]"),
            Type::Mechanism(room) => (format!("{} name, or table with kind", room.word()), "a quoted word"),
        }
    }
}

/// The value of an absent parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// It may be absent, with the meaning in words.
    Absent(&'static str),
    /// This text, as it would stand in a file.
    Text(&'static str),
}

/// The values a parameter may take, in SI units (packets and pure numbers as they are).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest.
    pub min: f64,
    /// Whether the smallest itself is allowed.
    pub closed: bool,
    /// The largest, itself allowed.
    pub max: f64,
}

impl Range {
    /// Anything finite.
    pub const ANY: Range = Range { min: f64::NEG_INFINITY, closed: true, max: f64::INFINITY };
    /// Zero or more.
    pub const NOT_NEGATIVE: Range = Range { min: 0.0, closed: true, max: f64::INFINITY };
    /// More than zero.
    pub const POSITIVE: Range = Range { min: 0.0, closed: false, max: f64::INFINITY };
    /// One or more.
    pub const FROM_ONE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };
    /// Packets that a window may have: no TCP has more than 2^30 bytes under way (RFC 7323 section 2.3), a segment of 1024 B each.
    pub const WINDOW: Range = Range { min: 1.0, closed: true, max: 1_048_576.0 };
    /// Weights, gains and growths of windows: above a million one ACK opens whatever window there can be, and what follows says
    /// nothing.
    pub const GAIN: Range = Range { min: 0.0, closed: false, max: 1e6 };
    /// Size of a packet in bytes.
    pub const PACKET_SIZE: Range = Range { min: 1.0, closed: true, max: 65_535.0 };

    /// `min` or more.
    pub const fn at_least(min: f64) -> Range {
        Range { min, ..Range::NOT_NEGATIVE }
    }

    /// More than zero, at most `max`.
    pub const fn up_to(max: f64) -> Range {
        Range { max, ..Range::POSITIVE }
    }

    /// From `min` to `max`, including them.
    pub const fn between(min: f64, max: f64) -> Range {
        Range { min, closed: true, max }
    }

    /// Whether `x` is allowed.
    pub fn holds(&self, x: f64) -> bool {
        x.is_finite() && x <= self.max && (x > self.min || (self.closed && x == self.min))
    }

    /// The range in words.
    pub fn words(&self) -> String {
        let low = match (self.min.is_finite(), self.closed) {
            (false, _) => String::new(),
            (true, true) => format!("at least {}", self.min),
            (true, false) => format!("more than {}", self.min),
        };
        match (low.is_empty(), self.max.is_finite()) {
            (true, false) => "any".into(),
            (false, false) => low,
            (true, true) => format!("at most {}", self.max),
            (false, true) => format!("{low}, at most {}", self.max),
        }
    }
}

/// A table inside a mechanism's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nested {
    /// Its name in documents.
    pub name: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Names of those that may change while packets wait, see [`Traits::changes`].
    pub changes: &'static [&'static str],
}

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Its key in a scenario file.
    pub name: &'static str,
    /// Type and dimension.
    pub ty: Type,
    /// Its default.
    pub default: Fallback,
    /// The values allowed.
    pub range: Range,
    /// Where the default comes from.
    pub source: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// Something a mechanism lets a `[record]` section or a test see.
#[derive(Clone, Copy, Debug)]
pub struct Observable {
    /// Its name behind the mechanism's path.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

impl Observable {
    /// Of that name, unit and meaning.
    pub const fn new(name: &'static str, unit: &'static str, doc: &'static str) -> Observable {
        Observable { name, unit, doc }
    }
}

/// A reason for a drop or mark, with its counter.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name in `drops` or `marks`.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

impl Counter {
    /// Of that name and meaning.
    pub const fn new(name: &'static str, doc: &'static str) -> Counter {
        Counter { name, doc }
    }
}

/// A place where we depart from the document that defines a mechanism, or complete it.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// The difference.
    pub what: &'static str,
    /// Why.
    pub why: &'static str,
}

/// A direction in which a packet crosses a component: that of the paths that list it, or the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// As data crosses it; against it where a path says `-NAME`.
    Forward,
    /// As acknowledgements do.
    Backward,
}

impl Way {
    /// The other one.
    pub fn opposite(self) -> Way {
        match self {
            Way::Forward => Way::Backward,
            Way::Backward => Way::Forward,
        }
    }
}

/// In which directions a stage acts. In the others it is not on a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Forward alone.
    Forward,
    /// Backward alone.
    Backward,
    /// Both.
    Both,
}

impl Ways {
    /// Whether `way` is among them.
    pub fn has(self, way: Way) -> bool {
        match self {
            Ways::Forward => way == Way::Forward,
            Ways::Backward => way == Way::Backward,
            Ways::Both => true,
        }
    }
}

/// Declares [`Traits`]: flags, false unless a table sets them, and fields with a default.
macro_rules! traits {
    (
        flags { $($(#[doc = $flag_doc:literal])+ $flag:ident,)* }
        fields { $($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $default:expr,)* }
    ) => {
        /// Properties of a mechanism for code that handles all kinds.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Traits {
            $($(#[doc = $flag_doc])+ pub $flag: bool,)*
            $($(#[doc = $doc])+ pub $field: $ty,)*
        }

        impl Traits {
            /// The names of the flags that are set.
            pub fn flags(&self) -> Vec<&'static str> {
                let all = [$((stringify!($flag), self.$flag)),*];
                all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
            }
        }

        impl Mechanism {
            /// The traits of a mechanism that has none.
            pub const PLAIN: Traits = Traits { $($flag: false,)* $($field: $default,)* };
        }
    };
}

traits! {
    flags {
        /// A scenario that names no mechanism of this room uses it.
        default,
        /// It finds the queue of a packet by a hash.
        hashes,
        /// It keeps packets back though its link is free.
        shapes,
        /// It is an admission rule and a scheduler in one, and tolerates no other scheduler.
        owns_queues,
        /// It is a tree of classes with separate observables.
        tree,
        /// It serves its queues in turn.
        in_turn,
        /// It drops packets that have waited, when they are about to leave.
        drops_at_departure,
        /// Of a queue: its series with `every = "departure"` have the values of each decision about a leaving packet.
        notes_departures,
        /// Of a queue: it drops only arrivals that exceed the limit.
        drops_tail,
        /// Of a queue: its marks come in runs.
        marks_in_runs,
        /// Of a stage: it sends packets.
        sends,
        /// Of a stage: it may mark packets, whatever its parameters.
        marks,
        /// Of a stage: it finds TCP sessions by their SYNs.
        sessions,
        /// Of a stage: it may reconfigure a component.
        controls,
        /// Of a stage: what it changes is the share of a queue; it controls a link whose scheduler gives shares by user or flow.
        shares,
        /// Of a stage: it keeps accounts, and records have its observables by group and user too.
        accounts,
        /// It reads or writes the label of packets.
        labels,
        /// Of traffic: it is datagrams, without a TCP.
        datagrams,
        /// Of traffic of datagrams: a reply follows each.
        replies,
        /// Of traffic: it sends all the time, as fast as its window or rate allows.
        endless,
        /// Of traffic: without `until`, each user has all its flows from the start.
        lasts,
        /// Of traffic: it has a playback buffer.
        plays,
        /// Of an adaptation rule: it chooses by the playback buffer alone.
        by_buffer,
        /// Of a congestion control: the window starts without slow start.
        no_slow_start,
        /// Of a congestion control: the window never changes.
        fixed_window,
        /// It is for tests: scenarios may name it, but no list does.
        hidden,
    }
    fields {
        /// When it draws random numbers: "" (never), "always", or "PARAMETER = WORD".
        draws: &'static str = "",
        /// The packets that its queue holds where the scenario gives no limit; absent: any number.
        default_limit: Option<f64> = None,
        /// Names of its parameters, and of those of tables in it, that may change while packets wait.
        changes: &'static [&'static str] = &[],
        /// Of a stage: in which directions it acts.
        ways: Ways = Ways::Forward,
        /// Of a stage: the kinds that may be its peer.
        peers: &'static [&'static str] = &[],
        /// Of a stage: which end of a tunnel it is.
        mouth: Option<Mouth> = None,
        /// Of a stage: where on a path it may stand.
        place: Place = Place::Anywhere,
        /// Of traffic that opens flows: the name of a flow's completion time in figures.
        completion: &'static str = "completion time",
    }
}

/// An end of a tunnel. Both have a peer, the other end, and what is in one tunnel leaves by that one's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mouth {
    /// Puts a header around packets.
    Ingress,
    /// Takes it off.
    Egress,
}

/// Where on a path a stage may stand. One that has a place does nothing where no path has it, which is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Anywhere, or nowhere.
    Anywhere,
    /// Anywhere on a path.
    OnPath,
    /// Where packets enter: before every stage that stands where they leave.
    Ingress,
    /// Where they leave: behind every queue that marks.
    Egress,
}

/// The table of one mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Its name in scenario files.
    pub kind: &'static str,
    /// Where it lives.
    pub room: Room,
    /// Its properties.
    pub traits: Traits,
    /// A short title.
    pub title: &'static str,
    /// TOML that uses it in a scenario with a link `bottleneck` and a group `users`.
    pub example: &'static str,
    /// Its description in a few sentences.
    pub doc: &'static str,
    /// The document that defines it.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its observables.
    pub observables: &'static [Observable],
    /// Its reasons for drops and marks.
    pub counters: &'static [Counter],
    /// Departures from its document.
    pub deviations: &'static [Deviation],
}

impl Mechanism {
    /// The base of a table: a mechanism of a room, without anything.
    pub const fn of(room: Room) -> Mechanism {
        Mechanism {
            kind: "",
            room,
            traits: Mechanism::PLAIN,
            title: "",
            example: "",
            doc: "",
            source: "",
            params: &[],
            observables: &[],
            counters: &[],
            deviations: &[],
        }
    }
}

/// A decoded value, in SI units.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bits per second.
    Rate(f64),
    /// Seconds.
    Seconds(f64),
    /// Bytes.
    Bytes(f64),
    /// Packets.
    Packets(f64),
    /// Packets a second.
    PacketRate(f64),
    /// A pure number.
    Number(f64),
    /// A truth value.
    Flag(bool),
    /// A word.
    Word(String),
    /// Names in order.
    Names(Vec<String>),
    /// Bits per second, in order.
    Rates(Vec<f64>),
    /// Bytes, in rows.
    ByteRows(Vec<Vec<f64>>),
    /// Pure numbers by class.
    Numbers(BTreeMap<String, f64>),
    /// Seconds by class.
    SecondsPerClass(BTreeMap<String, f64>),
    /// Parameters of a table inside.
    Table(Values),
    /// The same by name.
    Tables(BTreeMap<String, Values>),
    /// A quantity to be drawn.
    Random(Law),
}

impl Value {
    /// Whether it is this word.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self, Value::Word(own) if own == word)
    }

    /// The number inside a quantity.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Rate(x)
            | Value::Seconds(x)
            | Value::Bytes(x)
            | Value::Packets(x)
            | Value::PacketRate(x)
            | Value::Number(x) => Some(*x),
            _ => None,
        }
    }

    /// The least and the largest that it may be drawn as; what is not drawn, or no quantity, is both itself.
    pub fn bounds(&self) -> (f64, f64) {
        match self {
            Value::Random(law) => law.bounds(),
            fixed => {
                let x = fixed.number().unwrap_or(0.0);
                (x, x)
            }
        }
    }

    /// Its draws as plain numbers; `otherwise`: those of what is no quantity.
    pub fn sampler(&self, otherwise: f64) -> Sampler {
        match self {
            Value::Random(law) => law.sampler(),
            fixed => Sampler::Fixed(fixed.number().unwrap_or(otherwise)),
        }
    }

    /// The same unit with another number; panics for what is no quantity.
    pub fn with(&self, x: f64) -> Value {
        match self {
            Value::Rate(_) => Value::Rate(x),
            Value::Seconds(_) => Value::Seconds(x),
            Value::Bytes(_) => Value::Bytes(x),
            Value::Packets(_) => Value::Packets(x),
            Value::PacketRate(_) => Value::PacketRate(x),
            Value::Number(_) => Value::Number(x),
            other => panic!("{other:?} is not a quantity"),
        }
    }
}

/// The least uniform number that a [`Stream`] gives: 2^-53.
const NEAREST: f64 = 1.0 / 9_007_199_254_740_992.0;
/// Maximum distance of a normal draw from its mean in standard deviations, that of 2^-53.
const FARTHEST: f64 = 8.21;

/// How a quantity is drawn; the numbers carry their unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Uniform between the two.
    Uniform(Box<Value>, Box<Value>),
    /// Normal: mean and standard deviation.
    Normal(Box<Value>, Box<Value>),
    /// Exponential with this mean.
    Exponential(Box<Value>),
    /// Gamma: mean and shape. Shape 1 is exponential, below that bursts, far above it all draws are nearly the mean.
    Gamma(Box<Value>, f64),
    /// Pareto: mean and shape, which is more than 1.
    Pareto(Box<Value>, f64),
    /// Lognormal: mean of the draws, and standard deviation of their natural logarithms.
    Lognormal(Box<Value>, f64),
    /// Dealt in turn.
    Dealt(Vec<Value>),
}

impl Law {
    /// The least and the largest that may be drawn. Draws without a bound have an infinite one.
    pub fn bounds(&self) -> (f64, f64) {
        let of = |v: &Value| v.number().unwrap_or(0.0);
        match self {
            Law::Uniform(low, high) => (of(low), of(high)),
            Law::Normal(mean, deviation) if of(deviation) == 0.0 => (of(mean), of(mean)),
            Law::Lognormal(mean, 0.0) => (of(mean), of(mean)),
            Law::Normal(..) | Law::Exponential(_) | Law::Gamma(..) | Law::Lognormal(..) => {
                (0.0, f64::INFINITY)
            }
            Law::Pareto(mean, shape) => (pareto_least(of(mean), *shape), f64::INFINITY),
            Law::Dealt(values) => {
                let numbers = || values.iter().map(of);
                (numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max))
            }
        }
    }

    /// The least and the largest that a [`Stream`] can draw, whose uniform numbers are 2^-53 away from 0 and 1: nothing is without
    /// a bound there.
    pub fn extremes(&self) -> (f64, f64) {
        let of = |v: &Value| v.number().unwrap_or(0.0);
        let (near, far) = (NEAREST, -libm::log(NEAREST));
        match self {
            Law::Uniform(..) | Law::Dealt(_) => self.bounds(),
            Law::Normal(mean, deviation) => {
                let reach = FARTHEST * of(deviation);
                ((of(mean) - reach).max(0.0), of(mean) + reach)
            }
            Law::Exponential(mean) => (of(mean) * near, of(mean) * far),
            // Marsaglia and Tsang's d v, at the largest normal draw; below shape 1 that of shape + 1, times at most 1.
            Law::Gamma(mean, shape) => {
                let d = (if *shape < 1.0 { shape + 1.0 } else { *shape }) - 1.0 / 3.0;
                let v = 1.0 + FARTHEST / (9.0 * d).sqrt();
                let scale = of(mean) / shape;
                let few = if *shape < 1.0 { libm::pow(near, 1.0 / shape) } else { 1.0 };
                (scale * d * near * near * near * few, scale * d * v * v * v)
            }
            Law::Pareto(mean, shape) => {
                let least = pareto_least(of(mean), *shape);
                (least, least * libm::pow(near, -1.0 / shape))
            }
            Law::Lognormal(mean, sigma) => {
                let middle = of(mean) * libm::exp(-sigma * sigma / 2.0);
                let reach = libm::exp(FARTHEST * sigma);
                (middle / reach, middle * reach)
            }
        }
    }

    /// A quantity of it, for its unit.
    pub fn example(&self) -> &Value {
        match self {
            Law::Uniform(value, _) | Law::Normal(value, _) | Law::Exponential(value) => value,
            Law::Gamma(value, _) | Law::Pareto(value, _) | Law::Lognormal(value, _) => value,
            Law::Dealt(values) => &values[0],
        }
    }

    /// The same law over plain numbers, for draws per packet.
    pub fn sampler(&self) -> Sampler {
        let of = |v: &Value| v.number().unwrap_or(0.0);
        match self {
            Law::Uniform(low, high) => Sampler::Uniform(of(low), of(high)),
            Law::Normal(mean, deviation) => Sampler::Normal(of(mean), of(deviation)),
            Law::Exponential(mean) => Sampler::Exponential(of(mean)),
            Law::Gamma(mean, shape) => Sampler::Gamma(of(mean), *shape),
            Law::Pareto(mean, shape) => Sampler::Pareto(of(mean), *shape),
            Law::Lognormal(mean, sigma) => Sampler::Lognormal(of(mean), *sigma),
            Law::Dealt(values) => Sampler::Dealt(values.iter().map(of).collect()),
        }
    }

    /// One draw; `index` decides for dealt values. Draws that a normal law puts below zero become zero, and
    /// rates are at least 1 bit/s.
    pub fn draw(&self, stream: &mut Stream, index: usize) -> Value {
        if let Law::Dealt(values) = self {
            return values[index % values.len()].clone();
        }
        match self.example().with(self.sampler().draw(stream, index)) {
            // At a lower rate, the packet in transmission would never leave.
            Value::Rate(rate) => Value::Rate(rate.max(1.0)),
            drawn => drawn,
        }
    }
}

/// A [`Law`] over plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Sampler {
    /// Always this.
    Fixed(f64),
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Normal: mean and standard deviation; below zero it is zero.
    Normal(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Gamma: mean and shape.
    Gamma(f64, f64),
    /// Pareto: mean and shape.
    Pareto(f64, f64),
    /// Lognormal: mean, and standard deviation of the logarithm.
    Lognormal(f64, f64),
    /// Dealt in turn.
    Dealt(Vec<f64>),
}

/// The least draw of a Pareto law.
fn pareto_least(mean: f64, shape: f64) -> f64 {
    mean * (shape - 1.0) / shape
}

impl Sampler {
    /// One draw; `index` decides for dealt values.
    #[inline]
    pub fn draw(&self, stream: &mut Stream, index: usize) -> f64 {
        match self {
            Sampler::Uniform(low, high) => stream.uniform(*low, *high),
            _ => self.draw_other(stream, index),
        }
    }

    /// The laws that take longer, out of the way of the one that hosts mostly follow.
    #[inline(never)]
    fn draw_other(&self, stream: &mut Stream, index: usize) -> f64 {
        match self {
            Sampler::Fixed(x) => *x,
            Sampler::Uniform(low, high) => stream.uniform(*low, *high),
            Sampler::Normal(mean, deviation) => stream.normal(*mean, *deviation).max(0.0),
            Sampler::Exponential(mean) => stream.exponential(*mean),
            Sampler::Gamma(mean, shape) => stream.gamma(*mean, *shape),
            Sampler::Pareto(mean, shape) => stream.pareto(pareto_least(*mean, *shape), *shape),
            Sampler::Lognormal(mean, sigma) => stream.lognormal(*mean, *sigma),
            Sampler::Dealt(values) => values[index % values.len()],
        }
    }

    /// Its mean (of a normal law before the cut at zero).
    pub fn mean(&self) -> f64 {
        match self {
            Sampler::Fixed(x) | Sampler::Normal(x, _) | Sampler::Exponential(x) => *x,
            Sampler::Gamma(x, _) | Sampler::Pareto(x, _) | Sampler::Lognormal(x, _) => *x,
            Sampler::Uniform(low, high) => (low + high) / 2.0,
            Sampler::Dealt(values) => values.iter().sum::<f64>() / values.len() as f64,
        }
    }
}

/// A decoded table: values by parameter name, defaults filled in, absent ones missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub BTreeMap<&'static str, Value>);

/// A problem with one parameter, found after decoding: its name and what is wrong.
pub type Problem = (&'static str, String);

/// An error of all problems, if there are any.
pub fn sound(problems: Vec<Problem>) -> Result<(), Vec<Problem>> {
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

impl Values {
    /// The value of `name`, if it has one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The kind of a mechanism in a table.
    ///
    /// # Panics
    /// The table is not that of a mechanism.
    pub fn kind(&self) -> &str {
        match self.get("kind") {
            Some(Value::Word(kind)) => kind,
            other => panic!("no mechanism was decoded: {other:?}"),
        }
    }

    /// The same table with every random quantity drawn for copy number `index`; `stream` makes the stream of a purpose.
    pub fn drawn(&self, stream: &dyn Fn(&str) -> Stream, index: usize) -> Values {
        let mut out = self.clone();
        for (name, value) in &mut out.0 {
            let below = |key: &str| stream(&format!("{name}.{key}"));
            match value {
                Value::Random(law) => *value = law.draw(&mut stream(name), index),
                Value::Table(table) => *table = table.drawn(&below, index),
                Value::Tables(tables) => {
                    for (own, table) in tables {
                        *table = table.drawn(&|key| below(&format!("{own}.{key}")), index);
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// Whether anything in it is to be drawn.
    pub fn is_random(&self) -> bool {
        self.0.values().any(|value| match value {
            Value::Random(_) => true,
            Value::Table(table) => table.is_random(),
            Value::Tables(tables) => tables.values().any(Values::is_random),
            _ => false,
        })
    }
}
