//! RED, random early detection (Floyd and Jacobson, IEEE/ACM ToN 1993, \[FJ93\]): drops or marks with a
//! probability that grows with the average queue length.
//!
//! Implementations of RED differ in a dozen details, and marking rates differ by up to a factor of three.
//! Each difference is a parameter, a *setting*. The [`PRESETS`] `ns2`, `ns3`, `linux` and `floyd` give all of
//! them. ECN follows RFC 3168 sections 5 and 7. Not modelled: adaptive RED.
//!
//! Settings (\[FJ93\] section 6): `max_threshold` two to three times `min_threshold`, an average over several
//! round trips, `limit` well above `max_threshold`.

mod presets;

use std::collections::BTreeMap;

use evenflow_base::params::Key;
use evenflow_base::schema::{
    Counter, Deviation, Fallback, Mechanism, Problem, Range, Room, Traits, Value, Values, sound,
};
use evenflow_base::{Packet, Rate, Stream, Time};

pub use presets::{PRESETS, Preset, SETTINGS, Setting, Settings};
use presets::{is_linux, preset, setting};

use crate::action::ACTION;
use crate::held::DRAW;
use crate::rule::by_class;
use crate::{Action, LinkFacts, Occupancy, Reason, Rule, Verdict};

/// See [`crate::complete`]. A parameter that is drawn for each copy stays open, and so do those derived from
/// it.
pub fn complete(values: &mut Values) {
    for name in SETTINGS {
        if let Some(value) = presets::value(values, name) {
            values.0.insert(name, value);
        }
    }
    let random = |name: &'static str| matches!(values.get(name), Some(Value::Random(_)));
    let sizes = [Given::mean_packet.name, Given::weight.name].into_iter();
    if THRESHOLDS.map(|key| key.name).into_iter().chain(sizes).any(random) {
        return;
    }
    let (low, high) = thresholds(values);
    let bytes = matches!(low, Value::Bytes(_));
    if values.raw(Given::weight).is_none() && is_linux(values) {
        let found = tc_weight(&low, &high, values.at(Given::mean_packet).unwrap_or(0.0));
        values.0.extend(found.map(|w| (Given::weight.name, Value::Number(w))));
    }
    let scaling = size_scaling(values, bytes);
    let fixed = is_fixed(values, bytes, values.at(Given::weight));
    values.0.insert(Given::min_threshold.name, low);
    values.0.insert(Given::max_threshold.name, high);
    values.0.insert(Given::size_scaling.name, Value::Word(scaling.word().into()));
    let arithmetic = if fixed { Arithmetic::Fixed } else { Arithmetic::Real };
    values.0.insert(Given::arithmetic.name, Value::Word(arithmetic.word().into()));
}

// --- parameters -------------------------------------------------------------------------------------------------------

/// In what queues and averages are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets, whatever their size.
    Packets,
    /// Bytes.
    Bytes,
}

words! {
    /// How gaps between marks are spread.
    pub enum Spread {
        /// Uniform between 1/p and 2/p: ns-2's `wait_`.
        Ns2 = "ns2",
        /// Uniform between 1 and 1/p: \[FJ93\] section 7, method 2.
        Floyd = "floyd",
        /// Geometric with mean 1/p: \[FJ93\] section 7, method 1.
        Bernoulli = "bernoulli",
    }
}

words! {
    /// How often a random number is drawn.
    pub enum Drawn {
        /// For each packet that is judged.
        PerPacket = "packet",
        /// Once for each gap between marks (\[FJ93\] section 8).
        PerInterval = "interval",
    }
}

words! {
    /// Treatment of the first packet after the average has crossed the lower threshold upwards.
    pub enum Crossing {
        /// It passes, and counts as one since the last mark.
        ExemptCounted = "exempt-counted",
        /// It passes and does not count.
        Exempt = "exempt",
        /// It is judged like any other, with a count of 0.
        Judged = "judged",
    }
}

words! {
    /// Effect of a forced drop or mark on the count.
    pub enum AfterForced {
        /// It starts at 0 again.
        Restart = "restart",
        /// Nothing.
        Keep = "keep",
        /// The next packet below the top is the first after a crossing.
        Crossing = "crossing",
    }
}

words! {
    /// Whether large packets are likelier to be picked.
    pub enum Scaling {
        /// No.
        None = "none",
        /// By size over mean size, after spreading; the count is of bytes over mean size, whole.
        Mean = "mean",
        /// By size over maximum size, before spreading (\[FJ93\] section 4).
        Maximum = "maximum",
    }
}

words! {
    /// How idle time changes the average, see [`Idle`].
    pub enum IdleRule {
        /// [`Idle::Whole`].
        Whole = "whole",
        /// [`Idle::Exact`].
        Exact = "exact",
        /// [`Idle::Table`].
        Table = "table",
    }
}

words! {
    /// How the average is computed.
    pub enum Arithmetic {
        /// With real numbers.
        Real = "real",
        /// With as many binary places as the weight needs.
        Fixed = "fixed",
    }
}

words! {
    /// The programs called RED.
    pub enum Variant {
        /// ns-2.
        Ns2 = "ns2",
        /// ns-3.
        Ns3 = "ns3",
        /// Linux.
        Linux = "linux",
        /// Floyd and Jacobson 1993.
        Floyd = "floyd",
    }
}

/// Effect of idle time on the average.
#[derive(Clone, Debug, PartialEq)]
pub enum Idle {
    /// As if as many small packets as could have been sent, a whole number, had found an empty queue.
    Whole,
    /// The same with a fractional number, instead of the step for the packet that ends it.
    Exact,
    /// By Linux's table, instead of that step.
    Table(Box<IdleTable>),
}

/// Its configuration. Lengths are in `unit`.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Of thresholds, queue and average.
    pub unit: Unit,
    /// min_th.
    pub min: f64,
    /// max_th.
    pub max: f64,
    /// max_p.
    pub max_probability: f64,
    /// That of each traffic class, by its number, where they differ.
    pub by_class: Option<Box<[f64]>>,
    /// w_q.
    pub weight: f64,
    /// Between `max` and twice `max` the probability grows to 1 instead of jumping there.
    pub gentle: bool,
    /// Queue length from which every packet is picked.
    pub mark_all_above: Option<f64>,
    /// The action on picked packets.
    pub action: Action,
    /// Above the top, ECN-capable packets are dropped too.
    pub hard_drop: bool,
    /// See [`Spread`].
    pub spread: Spread,
    /// See [`Drawn`].
    pub drawn: Drawn,
    /// See [`Crossing`].
    pub crossing: Crossing,
    /// See [`AfterForced`].
    pub after_forced: AfterForced,
    /// A full buffer starts the count again.
    pub limit_restarts: bool,
    /// Nothing is picked while at most one packet (one byte) waits.
    pub spare_short_queue: bool,
    /// See [`Scaling`].
    pub scaling: Scaling,
    /// Bytes.
    pub mean_packet: f64,
    /// Bytes.
    pub max_packet: f64,
    /// Seconds that a packet of mean size takes, times the idle factor; absent without a rate.
    pub idle_packet: Option<f64>,
    /// See [`Idle`].
    pub idle: Idle,
    /// Whether the average has as many binary places as the weight, a power of two, asks for (Linux).
    pub fixed: bool,
}

/// The two thresholds.
const THRESHOLDS: [Key<Option<Value>>; 2] = [Given::min_threshold, Given::max_threshold];

/// The thresholds as given; what is absent is a third or three times of the other.
fn thresholds(values: &Values) -> (Value, Value) {
    match THRESHOLDS.map(|key| values.raw(key)).into() {
        (Some(low), Some(high)) => (low.clone(), high.clone()),
        (Some(low), None) => (low.clone(), low.with(3.0 * low.number().unwrap_or(0.0))),
        (None, Some(high)) => (high.with(high.number().unwrap_or(0.0) / 3.0), high.clone()),
        (None, None) if is_linux(values) => {
            let mean = setting(values, Given::mean_packet).unwrap_or(1.0);
            (Value::Bytes(5.0 * mean), Value::Bytes(15.0 * mean))
        }
        (None, None) => (Value::Packets(5.0), Value::Packets(15.0)),
    }
}

fn size_scaling(values: &Values, bytes: bool) -> Scaling {
    match setting(values, Given::size_scaling) {
        Some(scaling) => scaling,
        None if !bytes => Scaling::None,
        None if preset(values).variant == Variant::Floyd => Scaling::Maximum,
        None => Scaling::Mean,
    }
}

fn is_fixed(values: &Values, bytes: bool, weight: Option<f64>) -> bool {
    match setting(values, Given::arithmetic) {
        Some(arithmetic) => arithmetic == Arithmetic::Fixed,
        _ => bytes && weight.is_some_and(|w| binary_places(w).is_some()),
    }
}

/// k of a weight 2^-k.
fn binary_places(weight: f64) -> Option<u32> {
    (0..32).find(|k| weight == 1.0 / f64::from(1u32 << k))
}

/// The weight of ns-2's automatic rule (`q_weight_ = -1`, `REDQueue::initialize_params`). Its time constant
/// is ten round trips; a round trip is three times the link's delay, at least 100 ms. `packets` is the link's
/// rate in packets per second.
pub fn ns2_weight(packets: f64, delay: f64) -> f64 {
    let round_trip = (3.0 * (delay + 1.0 / packets)).max(0.1);
    1.0 - libm::exp(-1.0 / (10.0 * round_trip * packets))
}

/// The weight that `tc` computes (`tc_red_eval_ewma`): the largest power of 1/2 that accepts a burst of
/// `burst` packets. From an empty queue, the burst brings the average to at most `min` packets.
pub fn burst_weight(min: f64, burst: f64) -> Option<f64> {
    let wanted = burst + 1.0 - min;
    if wanted < 1.0 {
        return None;
    }
    (1..32).map(|k| 1.0 / f64::from(1u32 << k)).find(|w| wanted <= (1.0 - libm::pow(1.0 - w, burst)) / w)
}

/// The same with the burst that `tc` assumes, (2 min + max) / (3 avpkt).
fn tc_weight(low: &Value, high: &Value, mean: f64) -> Option<f64> {
    let of = |v: &Value| v.number().unwrap_or(0.0) / if matches!(v, Value::Bytes(_)) { mean } else { 1.0 };
    let (min, max) = (of(low), of(high));
    burst_weight(min, ((2.0 * min + max) / 3.0).floor())
}

/// Errors in the thresholds.
pub fn threshold_problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let above = (Given::mark_all_above.name, values.raw(Given::mark_all_above));
    let [low, high] = THRESHOLDS.map(|key| (key.name, values.raw(key)));
    let given = [low, high, above];
    let is_bytes = |v: &Value| matches!(v, Value::Bytes(_));
    let mut present = given.iter().filter_map(|(name, v)| v.map(|v| (*name, v)));
    if let Some((first, unit)) = present.next().map(|(name, v)| (name, is_bytes(v))) {
        for (name, value) in present {
            if is_bytes(value) != unit {
                problems.push((name, format!("must be in the unit of {first}: packets or bytes")));
            }
        }
    }
    if !problems.is_empty() {
        return problems;
    }
    let (low, high) = match (given[0].1, given[1].1) {
        (None, None) => return problems,
        _ => thresholds(values),
    };
    let (low, high) = (low.number().unwrap_or(0.0), high.number().unwrap_or(0.0));
    if high <= low {
        problems.push((
            Given::max_threshold.name,
            format!("must be above min_threshold: {high} is not more than {low}"),
        ));
    }
    if let Some(all) = given[2].1.and_then(Value::number)
        && all < low
    {
        problems.push((
            Given::mark_all_above.name,
            format!("must not be below min_threshold: {all} is less than {low}"),
        ));
    }
    problems
}

impl Params {
    /// From decoded values; what they leave open follows from the link.
    pub fn new(values: &Values, link: LinkFacts) -> Result<Params, Vec<Problem>> {
        let mut problems = threshold_problems(values);
        let (low, high) = thresholds(values);
        let bytes = matches!(low, Value::Bytes(_));
        let given = Given::read(values);
        let flag = |key| setting(values, key) == Some(true);
        let number = |key| setting(values, key).unwrap_or(0.0);
        let mean_packet: f64 = number(Given::mean_packet);
        let packet = given.capacity.or(link.rate).map(|rate| 8.0 * mean_packet / rate.0);
        let weight = setting(values, Given::weight).or_else(|| match preset(values).variant {
            Variant::Linux => tc_weight(&low, &high, mean_packet),
            _ => packet.map(|t| ns2_weight(1.0 / t, link.delay.seconds())),
        });
        if weight.is_none() && problems.is_empty() {
            problems.push(("weight", "is required: the preset's rule finds no value".into()));
        }
        let weight = weight.unwrap_or(1.0);
        let fixed = is_fixed(values, bytes, Some(weight));
        if fixed && !bytes {
            problems.push((
                "arithmetic",
                "\"fixed\" measures bytes, as Linux does; give thresholds in bytes".into(),
            ));
        }
        if fixed && binary_places(weight).is_none() {
            problems.push((
                "arithmetic",
                format!("\"fixed\" needs a weight of 1/2, 1/4, 1/8, … (to 2^-31), not {weight}"),
            ));
        }
        let drawn = setting(values, Given::draw).unwrap_or(Drawn::PerPacket);
        let spread = setting(values, Given::spread).unwrap_or(Spread::Ns2);
        if drawn == Drawn::PerInterval && spread != Spread::Floyd {
            problems.push(("spread", "must be \"floyd\" with draw = \"interval\"".into()));
        }
        let action = given.action;
        if action == Action::MarkEverything && given.hard_drop == Some(true) {
            problems
                .push(("hard_drop", "contradicts action = \"mark-everything\", which never drops".into()));
        }
        sound(problems)?;
        let idle_packet = packet.map(|t| t * number(Given::idle_factor));
        Ok(Params {
            unit: if bytes { Unit::Bytes } else { Unit::Packets },
            min: low.number().unwrap_or(0.0),
            max: high.number().unwrap_or(0.0),
            max_probability: number(Given::max_probability),
            by_class: given
                .class_probability
                .map(|table| by_class(&table, link.classes, number(Given::max_probability)).into()),
            weight,
            gentle: flag(Given::gentle),
            mark_all_above: given.mark_all_above,
            action,
            hard_drop: flag(Given::hard_drop),
            spread,
            drawn,
            crossing: setting(values, Given::crossing).unwrap_or(Crossing::ExemptCounted),
            after_forced: setting(values, Given::after_forced).unwrap_or(AfterForced::Restart),
            limit_restarts: flag(Given::limit_restarts),
            spare_short_queue: flag(Given::spare_short_queue),
            scaling: size_scaling(values, bytes),
            mean_packet,
            max_packet: given.max_packet,
            idle_packet,
            idle: match (setting(values, Given::idle), idle_packet) {
                (Some(IdleRule::Exact), _) => Idle::Exact,
                (Some(IdleRule::Table), Some(t)) => Idle::Table(Box::new(IdleTable::new(weight, t))),
                _ => Idle::Whole,
            },
            fixed,
        })
    }

    /// The average from which every packet is picked.
    #[inline]
    fn top(&self) -> f64 {
        if self.gentle { 2.0 * self.max } else { self.max }
    }
}

// --- the maths ---------------------------------------------------------------------------------------------------------

/// One step of the average ( \[FJ93\] figure 2): (1 - w) avg + w q.
#[inline]
pub fn average_step(average: f64, queue: f64, weight: f64) -> f64 {
    (1.0 - weight) * average + weight * queue
}

/// The same as Linux does it, where the average has as many binary places as the weight, and loses them in the step.
#[inline]
pub fn average_step_fixed(average: f64, queue: f64, weight: f64) -> f64 {
    average + weight * (queue - average.floor())
}

/// The average after `packets` steps with an empty queue ( \[FJ93\] figure 2): (1 - w)^m avg.
#[inline]
pub fn idle_decay(average: f64, weight: f64, packets: f64) -> f64 {
    average * libm::pow(1.0 - weight, packets)
}

/// p_b: the share of packets that should be picked ( \[FJ93\] figure 2; above `max` with `gentle`: Floyd 2000).
#[inline]
pub fn base_probability(p: &Params, average: f64) -> f64 {
    if average < p.min {
        0.0
    } else if average < p.max {
        p.max_probability * (average - p.min) / (p.max - p.min)
    } else if p.gentle && average < 2.0 * p.max {
        p.max_probability + (1.0 - p.max_probability) * (average - p.max) / p.max
    } else {
        1.0
    }
}

/// p_a: the probability for a packet when `count` have come since the last that was picked.
#[inline]
pub fn spread_probability(spread: Spread, base: f64, count: f64) -> f64 {
    let spent = count * base;
    match spread {
        Spread::Bernoulli => base,
        Spread::Floyd if spent < 1.0 => (base / (1.0 - spent)).min(1.0),
        Spread::Ns2 if spent < 1.0 => 0.0,
        Spread::Ns2 if spent < 2.0 => (base / (2.0 - spent)).min(1.0),
        Spread::Floyd | Spread::Ns2 => 1.0,
    }
}

/// Cells of Linux's table.
const CELLS: usize = 256;

/// Linux's table of halvings by idle time (`tc_red_eval_idle_damping`, `red_calc_qavg_from_idle_time`).
#[derive(Clone, Debug, PartialEq)]
pub struct IdleTable {
    /// How often the average is halved, by cell.
    halvings: [u8; CELLS],
    /// A cell is 2^this microseconds.
    cell_bits: u32,
}

impl IdleTable {
    /// For a packet that takes `packet` seconds. The natural logarithm is what `tc` takes, although what it counts
    /// are halvings.
    pub fn new(weight: f64, packet: f64) -> IdleTable {
        const MOST: f64 = 31.0;
        let per_unit = -libm::log(1.0 - weight) / (packet * 1e6).ceil();
        let cell_bits = (0..31).find(|bits| MOST / per_unit / f64::from(1u32 << bits) < 512.0).unwrap_or(31);
        let mut halvings = [0; CELLS];
        for (i, n) in halvings.iter_mut().enumerate().skip(1) {
            *n = (((i as u64) << cell_bits) as f64 * per_unit).min(MOST) as u8;
        }
        halvings[CELLS - 1] = MOST as u8;
        IdleTable { halvings, cell_bits }
    }

    /// The average after so many nanoseconds without work. `scale` is 1 over the average's last binary place, or `None` where
    /// it is a real number.
    pub fn decay(&self, average: f64, idle: u64, scale: Option<f64>) -> f64 {
        let longest = (CELLS as u64 - 1) << self.cell_bits;
        let micros = (idle / 1000).min(longest);
        let halvings = self.halvings[(micros >> self.cell_bits) as usize];
        let Some(scale) = scale else {
            if halvings > 0 {
                return average / f64::from(1u32 << halvings);
            }
            let less = average * micros as f64 / f64::from(1u32 << self.cell_bits);
            return if less < average / 2.0 { average - less } else { average / 2.0 };
        };
        let whole = (average * scale) as u128;
        let left = if halvings > 0 {
            whole >> halvings
        } else {
            let less = (whole * u128::from(micros)) >> self.cell_bits;
            if less < whole >> 1 { whole - less } else { whole >> 1 }
        };
        left as f64 / scale
    }
}

/// Linux's test (`red_mark_probability`) in whole bytes: `draw` is the number of this interval.
pub fn fixed_test(p: &Params, average: f64, count: f64, draw: f64) -> bool {
    const ALL: f64 = 4_294_967_296.0; // 2^32
    let most = (p.max_probability * ALL).min(ALL - 1.0) as u64;
    let step = (most / ((p.max - p.min) as u64).max(1)).max(1);
    let wanted = (draw * ALL) as u64 / step;
    (average - p.min).floor() * count >= wanted as f64
}

// --- the rule ------------------------------------------------------------------------------------------------------------

/// The rule and its state.
#[derive(Clone, Debug)]
pub struct Red {
    params: Params,
    /// avg.
    average: f64,
    /// Packets since the last that was picked.
    count: f64,
    /// Their bytes.
    count_bytes: u64,
    /// Whether the average was above the lower threshold at the last packet.
    above: bool,
    /// The number of this interval.
    drawn: f64,
    /// That of the interval of the last comparison.
    compared: f64,
    /// p_b at the last packet.
    probability: f64,
    /// p_a at the last packet.
    spread: f64,
    /// Where probabilities are by class.
    classes: Option<Box<Classes>>,
}

/// The gaps between marks, per class. With one count for all, a class of high probability would use up the
/// gaps of the others.
#[derive(Clone, Debug)]
struct Classes {
    /// The class whose gap is in the rule's own fields.
    current: usize,
    gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    count: f64,
    count_bytes: u64,
    above: bool,
    drawn: f64,
}

enum Decision {
    Pass,
    Early,
    Forced,
}

impl Red {
    /// A rule that has seen nothing.
    pub fn new(params: Params) -> Red {
        let gaps = |classes: &[f64]| vec![Gap::default(); classes.len()];
        Red {
            classes: params
                .by_class
                .as_ref()
                .map(|classes| Box::new(Classes { current: 0, gaps: gaps(classes) })),
            params,
            average: 0.0,
            count: 0.0,
            count_bytes: 0,
            above: false,
            drawn: 0.0,
            compared: f64::NAN,
            probability: 0.0,
            spread: 0.0,
        }
    }

    /// The next packet is of this class: its probability, and its gap.
    #[inline(never)]
    fn turn_to(&mut self, class: u8) {
        let (Some(classes), Some(by_class)) = (&mut self.classes, &self.params.by_class) else { return };
        let class = usize::from(class);
        let Some(probability) = by_class.get(class) else { return };
        self.params.max_probability = *probability;
        let own =
            Gap { count: self.count, count_bytes: self.count_bytes, above: self.above, drawn: self.drawn };
        classes.gaps[classes.current] = own;
        classes.current = class;
        Gap { count: self.count, count_bytes: self.count_bytes, above: self.above, drawn: self.drawn } =
            classes.gaps[class];
    }

    /// The average with the packet that arrives now.
    #[inline]
    fn next_average(&self, queue: f64, now: Time, idle_since: Option<Time>) -> f64 {
        let p = &self.params;
        let step = |average: f64| match p.fixed {
            false => average_step(average, queue, p.weight),
            true => average_step_fixed(average, queue, p.weight),
        };
        let (Some(since), Some(packet)) = (idle_since, p.idle_packet) else { return step(self.average) };
        let idle = now.since(since);
        let packets = idle.seconds() / packet;
        match &p.idle {
            Idle::Whole if packets < 1.0 => step(self.average),
            Idle::Whole => step(idle_decay(self.average, p.weight, packets.floor())),
            Idle::Exact => idle_decay(self.average, p.weight, packets),
            Idle::Table(table) => table.decay(self.average, idle.0, p.fixed.then_some(1.0 / p.weight)),
        }
    }

    #[inline]
    fn decide(&mut self, queue: f64, size: u16, draws: &mut Stream) -> Decision {
        let p = &self.params;
        self.spread = 0.0;
        if self.average < p.min || (p.spare_short_queue && queue <= 1.0) {
            self.probability = 0.0;
            self.above = false;
            return Decision::Pass;
        }
        self.probability = base_probability(p, self.average);
        if self.average >= p.top() {
            return self.forced();
        }
        if !self.above {
            self.above = true;
            self.count = if p.crossing == Crossing::ExemptCounted { 1.0 } else { 0.0 };
            self.count_bytes = if p.crossing == Crossing::ExemptCounted { size.into() } else { 0 };
            if p.drawn == Drawn::PerInterval {
                self.drawn = draws.open01();
            }
            if p.crossing != Crossing::Judged {
                return Decision::Pass;
            }
        }
        if self.picks(size, draws) {
            self.restart();
            return Decision::Early;
        }
        Decision::Pass
    }

    #[inline(never)]
    fn forced(&mut self) -> Decision {
        self.spread = 1.0;
        match self.params.after_forced {
            AfterForced::Keep => {}
            AfterForced::Crossing => self.above = false,
            AfterForced::Restart => {
                self.restart();
                // In [FJ93] only an average below the lower threshold makes the next packet a first one.
                self.above |= self.params.crossing == Crossing::Judged;
            }
        }
        Decision::Forced
    }

    /// The number that the last packet was compared with, if it was drawn before the decision.
    fn compared(&self) -> Option<f64> {
        let compares = self.probability > 0.0 && self.average < self.params.top();
        Some(self.compared).filter(|drawn| compares && !drawn.is_nan())
    }

    fn restart(&mut self) {
        self.count = 0.0;
        self.count_bytes = 0;
    }

    /// Judges a packet between the lower threshold and the top.
    #[inline]
    fn picks(&mut self, size: u16, draws: &mut Stream) -> bool {
        let p = &self.params;
        let (mut base, mut count) = (self.probability, self.count);
        match p.scaling {
            Scaling::None => {}
            Scaling::Mean => count = (self.count_bytes as f64 / p.mean_packet).floor(),
            Scaling::Maximum => base = (base * f64::from(size) / p.max_packet).min(1.0),
        }
        if p.drawn == Drawn::PerInterval {
            let picked = if p.fixed && self.average < p.max {
                fixed_test(p, self.average, count, self.drawn)
            } else {
                count * base >= self.drawn
            };
            self.compared = self.drawn;
            if picked {
                self.drawn = draws.open01();
            }
            self.spread = f64::from(u8::from(picked));
            return picked;
        }
        self.spread = spread_probability(p.spread, base, count);
        if p.scaling == Scaling::Mean && self.spread < 1.0 {
            self.spread = (self.spread * f64::from(size) / p.mean_packet).min(1.0);
        }
        draws.open01() <= self.spread
    }
}

impl Rule for Red {
    fn build(values: &Values, link: LinkFacts) -> Result<Red, Vec<Problem>> {
        Params::new(values, link).map(Red::new)
    }

    /// A full buffer counts as such, whatever the rule would have done.
    #[inline(always)]
    fn admit(&mut self, packet: &mut Packet, now: Time, seen: &Occupancy, draws: &mut Stream) -> Verdict {
        let queue = match self.params.unit {
            Unit::Packets => f64::from(seen.packets),
            Unit::Bytes => seen.bytes as f64,
        };
        self.average = self.next_average(queue, now, seen.idle_since);
        if self.classes.is_some() {
            self.turn_to(packet.class);
        }
        self.count += 1.0;
        self.count_bytes += u64::from(packet.size);
        let decision = self.decide(queue, packet.size, draws);
        if seen.full {
            if self.params.limit_restarts {
                self.restart();
            }
            return Verdict::Drop(Reason::Limit);
        }
        if self.params.mark_all_above.is_some_and(|all| queue >= all) {
            self.restart();
            return self.params.action.apply(packet, Reason::Forced);
        }
        match decision {
            Decision::Pass => Verdict::Accept,
            Decision::Early => self.params.action.apply(packet, Reason::Early),
            Decision::Forced if self.params.hard_drop => Verdict::Drop(Reason::Forced),
            Decision::Forced => self.params.action.apply(packet, Reason::Forced),
        }
    }

    fn check_partly(values: &Values) -> Vec<Problem> {
        threshold_problems(values)
    }

    fn complete(values: &mut Values) {
        complete(values);
    }

    fn presets() -> Option<Vec<Vec<String>>> {
        Some(presets::rows())
    }
}

// --- the table -----------------------------------------------------------------------------------------------------------

const BY_VARIANT: Fallback = Fallback::Absent("the variant's");
const VARIANTS: &str = "the table of variants";
const PROBABILITY: Range = Range { min: 0.0, closed: false, max: 1.0 };

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Implementation to reproduce: a preset for all settings that are not given.
        variant: Variant = Variant::TYPE, Text("ns2")
            => source: "our choice: most published RED results use ns-2";
        /// Action on a picked packet. `drop`: drop. `mark`: mark if ECN-capable, else drop.
        /// `mark-everything`: mark if ECN-capable, else accept (Linux: nodrop). `mark-re-ecn`: mark if
        /// ECN-capable or a re-ECN credit (FNE), else drop; use it only where credits are rate-limited
        /// (draft-briscoe-conex-re-ecn-tcp-04 section 5.3).
        action: Action = Param { default: Text("drop"), ..ACTION } => source: "Floyd and Jacobson 1993; RFC 3168 section 5 for \"mark\"";
        /// Average queue length below which no packet is picked. With thresholds in bytes, queue and average
        /// are in bytes.
        min_threshold: Option<Value> = PacketsOrBytes, Absent("a third of max_threshold; if that is absent too, 5 \
                                                               packets (linux: of mean size, in bytes)"), Range::POSITIVE
            => source: "Floyd, \"Discussions of setting parameters\", 1997: 5 packets";
        /// Average queue length at which the probability reaches max_probability.
        max_threshold: Option<Value> = PacketsOrBytes, Absent("three times min_threshold; if that is absent too, \
                                                               15 packets (linux: of mean size, in bytes)"), Range::POSITIVE
            => source: "Floyd, \"Discussions of setting parameters\", 1997: three times min_threshold";
        /// Probability at max_threshold (ns-2: 1 / linterm_; ns-3: 1 / LInterm; tc: probability).
        max_probability: Option<f64> = Number, BY_VARIANT, PROBABILITY => source: VARIANTS;
        /// Probability at max_threshold for each traffic class that crosses the link, with one average for all. Each class
        /// has its own gaps between marks.
        class_probability: Option<BTreeMap<String, f64>> = NumberPerClass, Absent("max_probability, for every class"), Range::between(0.0, 1.0)
            => source: "Zhang et al. 2011 section V.B";
        /// Weight of a new queue length in the average (w_q). The automatic rule of ns2 uses C = capacity /
        /// mean_packet in packets per second and the link's delay.
        weight: Option<f64> = Number, BY_VARIANT, PROBABILITY => source: VARIANTS;
        /// Let the probability grow from max_probability at max_threshold to 1 at twice max_threshold,
        /// instead of jumping to 1.
        gentle: Option<bool> = Flag, BY_VARIANT => source: VARIANTS;
        /// Current queue length from which every packet is picked.
        mark_all_above: Option<f64> = PacketsOrBytes, Absent("none"), Range::POSITIVE
            => source: "Siris et al., Computer Communications 2002, section 4: marking instead of dropping at the buffer's limit";
        /// With action "mark": drop ECN-capable packets too where the average is above its top (RFC 3168
        /// section 7; ns-3: UseHardDrop; tc: harddrop).
        hard_drop: Option<bool> = Flag, BY_VARIANT => source: VARIANTS;
        /// Gaps between picks at base probability p: uniform from 1/p to 2/p (ns-2's wait_), uniform from 1
        /// to 1/p, or geometric with mean 1/p. For small p, the share of picked packets is 2p/3, 2p or p.
        spread: Option<Spread> = Spread::TYPE, BY_VARIANT => source: VARIANTS;
        /// Draw a random number for each packet, or once for each gap between picks.
        draw: Option<Drawn> = Drawn::TYPE, BY_VARIANT => source: VARIANTS;
        /// First packet after the average has crossed min_threshold upwards: passes and counts, passes
        /// without counting, or is judged.
        crossing: Option<Crossing> = Crossing::TYPE, BY_VARIANT => source: VARIANTS;
        /// Effect of a forced pick on the count: restart, continue, or treat the next judged packet as the
        /// first after a crossing.
        after_forced: Option<AfterForced> = AfterForced::TYPE, BY_VARIANT => source: VARIANTS;
        /// Restart the count at a drop by a full buffer.
        limit_restarts: Option<bool> = Flag, BY_VARIANT => source: VARIANTS;
        /// Pick no packet by the average while at most one packet waits (in bytes: one byte).
        spare_short_queue: Option<bool> = Flag, BY_VARIANT => source: VARIANTS;
        /// Scaling by packet size: none; size over mean_packet after spreading, with a count of bytes over
        /// mean_packet; or size over max_packet before spreading.
        size_scaling: Option<Scaling> = Scaling::TYPE, BY_VARIANT => source: VARIANTS;
        /// Mean packet size for idle times, the automatic weight and size_scaling (ns-2: mean_pktsize_; tc:
        /// avpkt).
        mean_packet: Option<f64> = Bytes, BY_VARIANT, Range::PACKET_SIZE => source: VARIANTS;
        /// Maximum packet size, for size_scaling "maximum".
        max_packet: f64 = Bytes, Text("1500 B"), Range::PACKET_SIZE
            => source: "Floyd and Jacobson 1993, section 4 (MaximumPacketSize); 1500 B is an Ethernet frame's payload";
        /// Effect of idle time on the average. `whole` and `exact`: as if that number of packets of mean
        /// size had found an empty queue. `table`: Linux's table of powers of 1/2.
        idle: Option<IdleRule> = IdleRule::TYPE, BY_VARIANT => source: VARIANTS;
        /// Divisor of the idle time.
        idle_factor: Option<f64> = Number, BY_VARIANT, Range::POSITIVE => source: VARIANTS;
        /// Real numbers, or Linux's fixed point: bytes, and as many binary places for the average as the
        /// weight needs.
        arithmetic: Option<Arithmetic> = Arithmetic::TYPE, BY_VARIANT => source: VARIANTS;
        /// Assumed link capacity, for idle times and the automatic weight.
        capacity: Option<Rate> = Rate, Absent("the link's rate at the start"), Range::POSITIVE
            => source: "ns-2 and ns-3: a later change of the rate has no effect";
    }
}

observables! {
    Red: red;
    average: "packets or B", "Average queue length at the last packet." => red.average;
    probability: "1", "Base probability p_b at the last packet." => red.probability;
    spread_probability: "1",
        "Probability p_a of the last packet. With draw = \"interval\": 1 if it was picked, else 0."
        => red.spread;
    count: "packets", "Packets since the last pick." => red.count;
    ..DRAW => red.compared();
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "red",
    room: Room::Queue,
    traits: Traits { draws: "always", ..Mechanism::PLAIN },
    title: "Random early detection (RED)",
    example: r#"[links.bottleneck.queue]
kind = "red"
limit = "100 packets"
max_threshold = "60 packets""#,
    doc: "Drops or marks arriving packets with a probability. It grows from 0 to max_probability while the \
          average queue length grows from min_threshold to max_threshold. Above, every packet is picked. A \
          variant is a preset of the settings below; each setting may be overridden.",
    source: "Floyd and Jacobson, IEEE/ACM ToN 1993; gentle: Floyd 2000; ECN: RFC 3168 sections 5 and 7",
    params: Given::PARAMS,
    observables: Red::OBSERVABLES,
    counters: &[
        Counter::new("limit", "The queue was full."),
        Counter::new("early", "The average was between the thresholds; picked at random."),
        Counter::new("forced", "The average was above its top, or the queue above mark_all_above."),
    ],
    deviations: &[
        Deviation {
            what: "The queue length excludes the packet in transmission. Idle time starts when the \
                   transmitter becomes idle.",
            why: "ns-2, ns-3 and Linux do the same; Floyd and Jacobson do not define it.",
        },
        Deviation {
            what: "A drop at a full buffer counts as `limit`, even if RED had selected the packet.",
            why: "This matches ns-2. In ns-3 and Linux it is an early drop. Only these counters differ.",
        },
        Deviation {
            what: "The preset ns2 lacks adaptive RED and automatic thresholds, and use_mark_p_ is false. It \
                   measures queue and probability in bytes only with thresholds in bytes.",
            why: "ns-2.35 measures in bytes by default but takes thresholds in packets. With use_mark_p_ it \
                  drops ECN-capable packets once the base probability exceeds mark_p_.",
        },
        Deviation {
            what: "In the preset ns3, capacity is the link's rate.",
            why: "LinkBandwidth of RedQueueDisc is 1.5 Mbit/s by default, whatever the device.",
        },
        Deviation {
            what: "The preset linux accepts thresholds in packets and any weight; then arithmetic is real.",
            why: "sch_red measures bytes and knows powers of two only. A scenario should run under every \
                  variant.",
        },
        Deviation {
            what: "In the preset linux, idle_factor is 15.625.",
            why: "tc computes the table in ticks of 64 ns, and since 3.2 the kernel reads it in \
                  microseconds.",
        },
    ],
};

#[cfg(test)]
mod tests;
