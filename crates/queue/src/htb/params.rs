//! The parameters of a tree and their decoder.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenflow_base::credit::Arithmetic;
use evenflow_base::params::Tables;
use evenflow_base::schema::{Problem, Value, Values};

use super::tables::{Class, Given, Leaf, LeafKind};
use super::{HZ, LEVELS, LIMIT, QUANTA, TABLE_MTU};
use crate::droptail::Limit;
use crate::held::{Owner, Per};
use crate::{codel, fq_codel, sfq};
use evenflow_base::{Rate, Share};

/// The bucket of a class that names none: what comes in a tick of the timer, and a packet (tc's q_htb.c).
pub fn default_burst(rate: Rate) -> f64 {
    rate.0 / 8.0 / HZ + f64::from(TABLE_MTU)
}

/// Bytes a turn of a class that does not say (htb_change_class).
pub fn default_quantum(rate: Rate, r2q: f64) -> f64 {
    (rate.0 / 8.0 / r2q).trunc().clamp(QUANTA.0, QUANTA.1)
}

/// A leaf's own queue.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafParams {
    /// How much may wait.
    pub limit: Limit,
    /// Scheduler and rule.
    pub discipline: Discipline,
}

/// How a leaf queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// First in, first out.
    Fifo,
    /// See [`crate::sfq`].
    Sfq(sfq::Params),
    /// See [`crate::codel`].
    Codel(codel::Params),
    /// See [`crate::fq_codel`].
    FqCodel(fq_codel::Params),
}

/// A class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassParams {
    /// Index of the class it borrows from, if any.
    pub parent: Option<usize>,
    /// Guaranteed rate.
    pub rate: Rate,
    /// Maximum rate with borrowed tokens.
    pub ceil: Rate,
    /// Depth of the rate's bucket, bytes.
    pub burst: u64,
    /// Depth of the ceiling's bucket, bytes.
    pub cburst: u64,
    /// 0 is served first; of leaves.
    pub priority: usize,
    /// Bytes per turn; of leaves.
    pub quantum: i64,
    /// Bytes of a packet that the wire adds; they cost tokens.
    pub overhead: u32,
    /// Minimum cost of a packet in bytes.
    pub mpu: u32,
    /// Its queue; of leaves.
    pub leaf: LeafParams,
}

impl ClassParams {
    /// The same class with another share.
    pub fn with(&self, share: &Share, r2q: f64) -> ClassParams {
        let burst = |given: Option<u64>, rate| given.unwrap_or_else(|| default_burst(rate) as u64);
        ClassParams {
            rate: share.rate,
            ceil: share.ceil,
            burst: burst(share.burst, share.rate),
            cburst: burst(share.cburst, share.ceil),
            quantum: share.quantum.unwrap_or_else(|| default_quantum(share.rate, r2q) as i64),
            ..self.clone()
        }
    }
}

/// The tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// In what tokens are counted.
    pub arithmetic: Arithmetic,
    /// Rate in bytes a second over quantum in bytes, for a class that is given a rate without a quantum.
    pub r2q: f64,
    /// All classes; turns go by the order in which they stand here, as by class identifier in the kernel.
    pub classes: Vec<Arc<ClassParams>>,
    /// The leaf of each of the scheduler's queues, an index into `classes`; absent: no packet will come.
    pub leaves: Vec<Option<usize>>,
}

impl Params {
    /// A tree whose leaves are traffic classes by name; queues are numbered as `queues` lists these.
    pub fn by_class(values: &Values, queues: &[String]) -> Result<Params, Vec<Problem>> {
        let given = sound(values)?;
        let (tables, r2q) = (&given.classes.0, given.r2q);
        let names: Vec<&str> = tables.keys().map(String::as_str).collect();
        let classes = tables.values().map(|table| Arc::new(class(table, &names, r2q, 1.0))).collect();
        // A traffic class that does not cross this link needs no leaf.
        let place = |name: &String| names.iter().position(|n| n == name);
        let leaves = queues.iter().map(place).collect();
        Ok(Params { arithmetic: given.arithmetic, r2q, classes, leaves })
    }

    /// A tree with a leaf made of `each` for every owner, below the classes that `classes` names.
    pub fn by_owner(values: &Values, owners: &[Owner]) -> Result<Params, Vec<Problem>> {
        let given = sound(values)?;
        let (tables, r2q) = (&given.classes.0, given.r2q);
        let names: Vec<&str> = tables.keys().map(String::as_str).collect();
        let mut classes: Vec<Arc<ClassParams>> =
            tables.values().map(|table| Arc::new(class(table, &names, r2q, 1.0))).collect();
        let mut last: Option<(&Arc<Values>, f64, Arc<ClassParams>)> = None;
        for owner in owners {
            let Some(each) = &owner.each else { continue };
            let params = match &last {
                Some((same, weight, params)) if Arc::ptr_eq(same, each) && *weight == owner.weight => {
                    params.clone()
                }
                _ => Arc::new(class(&Class::read(each), &names, r2q, owner.weight)),
            };
            classes.push(params.clone());
            last = Some((each, owner.weight, params));
        }
        let leaves = (names.len()..classes.len()).map(Some).collect();
        Ok(Params { arithmetic: given.arithmetic, r2q, classes, leaves })
    }
}

/// The parameters, if a tree can be built from them.
fn sound(values: &Values) -> Result<Given, Vec<Problem>> {
    let problems = tree_problems(values);
    if problems.is_empty() { Ok(Given::read(values)) } else { Err(problems) }
}

/// The named classes as decoded. Their quantities may be random.
fn named(values: &Values) -> impl Iterator<Item = (&str, &Values)> {
    let tables = match values.raw(Given::classes) {
        Some(Value::Tables(tables)) => Some(tables),
        _ => None,
    };
    tables.into_iter().flatten().map(|(name, table)| (name.as_str(), table))
}

/// The class of each user or flow as decoded. Its quantities may be random.
fn each(values: &Values) -> Option<&Values> {
    match values.raw(Given::each) {
        Some(Value::Table(each)) => Some(each),
        _ => None,
    }
}

/// The names of all named classes, in order.
pub fn class_names(values: &Values) -> impl Iterator<Item = &str> {
    named(values).map(|(name, _)| name)
}

/// Whether some leaf marks.
pub(super) fn marks(values: &Values) -> bool {
    let mut classes = named(values).map(|(_, table)| table).chain(each(values));
    classes.any(|table| match leaf(table.at(Class::leaf).as_ref()).discipline {
        Discipline::Fifo | Discipline::Sfq(_) => false,
        Discipline::Codel(p) => p.marks(),
        Discipline::FqCodel(p) => p.codel.marks(),
    })
}

/// The names of the classes that have no class below them: traffic classes, where leaves belong to these.
pub fn leaf_names(values: &Values) -> Vec<&str> {
    let parents: Vec<String> = named(values).filter_map(|(_, table)| table.at(Class::parent)).collect();
    class_names(values).filter(|name| parents.iter().all(|parent| parent != name)).collect()
}

fn leaves_of(tables: &BTreeMap<String, Class>) -> Vec<&str> {
    let parents: Vec<&String> = tables.values().filter_map(|t| t.parent.as_ref()).collect();
    tables.keys().filter(|n| !parents.contains(n)).map(String::as_str).collect()
}

/// A class from its table; its rate and quantum times `weight`.
fn class(table: &Class, names: &[&str], r2q: f64, weight: f64) -> ClassParams {
    let rate = Rate((table.rate * weight).max(1.0));
    let ceil = Rate(table.ceil.unwrap_or(rate.0).max(rate.0));
    let quantum = table.quantum.map_or_else(|| default_quantum(rate, r2q), |q| (q * weight).max(1.0));
    let parent = table.parent.as_ref().and_then(|parent| names.iter().position(|n| n == parent));
    ClassParams {
        parent,
        rate,
        ceil,
        burst: table.burst.unwrap_or_else(|| default_burst(rate) as u64),
        cburst: table.cburst.unwrap_or_else(|| default_burst(ceil) as u64),
        priority: table.prio.unwrap_or(0),
        quantum: quantum as i64,
        overhead: table.overhead.unwrap_or(0),
        mpu: table.mpu.unwrap_or(0),
        leaf: leaf(table.leaf.as_ref()),
    }
}

/// The queue of a leaf. Parameters that its table leaves open have the defaults of their mechanism.
pub(super) fn leaf(table: Option<&Leaf>) -> LeafParams {
    let Some(table) = table else {
        return LeafParams { limit: Limit::Packets(LIMIT as u32), discipline: Discipline::Fifo };
    };
    let default = codel::Params::DEFAULT;
    let codel = codel::Params {
        target: table.target.unwrap_or(default.target),
        interval: table.interval.unwrap_or(default.interval),
        max_packet: table.max_packet.unwrap_or(default.max_packet),
        ecn: table.ecn.unwrap_or(default.ecn),
        ce_threshold: table.ce_threshold,
        ce_threshold_selector: None,
    };
    let (most, discipline) = match table.kind {
        LeafKind::Fifo => (LIMIT, Discipline::Fifo),
        LeafKind::Codel => (LIMIT, Discipline::Codel(codel)),
        LeafKind::Sfq => {
            let default = sfq::Params::DEFAULT;
            let divisor = table.divisor.unwrap_or(default.divisor);
            let quantum = table.quantum.map_or(default.quantum, |bytes| bytes as u64);
            (sfq::LIMIT, Discipline::Sfq(sfq::Params { divisor, quantum, perturb: table.perturb, ..default }))
        }
        LeafKind::FqCodel => {
            let default = fq_codel::Params::DEFAULT;
            let flows = table.flows.unwrap_or(default.flows);
            let quantum = table.quantum.map_or(default.quantum, |bytes| bytes as i64);
            (fq_codel::LIMIT, Discipline::FqCodel(fq_codel::Params { codel, flows, quantum, ..default }))
        }
    };
    let limit = Limit::new(Some(table.limit.as_ref().unwrap_or(&Value::Packets(most))));
    LeafParams { limit, discipline }
}

/// The parameters that are given to a leaf of another kind, and their kinds.
fn strays(leaf: &Leaf) -> impl Iterator<Item = (&'static str, String)> {
    use LeafKind::{Codel, FqCodel, Sfq};
    const SFQ: &[LeafKind] = &[Sfq];
    const HASHED: &[LeafKind] = &[Sfq, FqCodel];
    const DELAY: &[LeafKind] = &[Codel, FqCodel];
    let kind = leaf.kind;
    let given = [
        (Leaf::divisor.name, leaf.divisor.is_some(), SFQ),
        (Leaf::perturb.name, leaf.perturb.is_some(), SFQ),
        (Leaf::flows.name, leaf.flows.is_some(), &[FqCodel]),
        (Leaf::quantum.name, leaf.quantum.is_some(), HASHED),
        (Leaf::target.name, leaf.target.is_some(), DELAY),
        (Leaf::interval.name, leaf.interval.is_some(), DELAY),
        (Leaf::max_packet.name, leaf.max_packet.is_some(), DELAY),
        (Leaf::ecn.name, leaf.ecn.is_some(), DELAY),
        (Leaf::ce_threshold.name, leaf.ce_threshold.is_some(), DELAY),
    ];
    let stray = move |(_, given, kinds): &(&str, bool, &[LeafKind])| *given && !kinds.contains(&kind);
    let words =
        |kinds: &[LeafKind]| kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join("\" or \"");
    given.into_iter().filter(stray).map(move |(key, _, kinds)| (key, words(kinds)))
}

/// Errors in a tree.
pub fn tree_problems(values: &Values) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Given { per, classes: Tables(tables), each, .. } = Given::read(values);
    let (by_class, each) = (per == Per::Class, each.as_ref());
    if by_class && tables.is_empty() {
        problems.push((
            Given::classes.name,
            "is required: with per = \"class\" it gives the rate of each class".into(),
        ));
    }
    match (by_class, each) {
        (true, Some(_)) => {
            let why = "is for per = \"user\" or \"flow\"; with per = \"class\" write the classes in \
                       `classes`";
            problems.push((Given::each.name, why.to_owned()));
        }
        (false, None) => {
            let why = format!("is required: it gives the rate of each {}", per.word());
            problems.push((Given::each.name, why));
        }
        _ => {}
    }
    let leaves = leaves_of(&tables);
    let all = tables.iter().map(|(name, table)| (Some(name.as_str()), table));
    for (own, table) in all.chain(each.map(|each| (None, each))) {
        let mut say = |key: &str, why: String| match own {
            Some(own) => problems.push((Given::classes.name, format!("{own}.{key}: {why}"))),
            None => problems.push((Given::each.name, format!("{key}: {why}"))),
        };
        let rate = table.rate;
        if let Some(ceil) = table.ceil
            && ceil < rate
        {
            say("ceil", format!("must be at least rate: {ceil} bit/s is less than {rate} bit/s"));
        }
        let is_leaf = own.is_none_or(|own| by_class && leaves.contains(&own));
        if !is_leaf {
            let (prio, quantum) = (table.prio.is_some(), table.quantum.is_some());
            let leaf = (Class::leaf.name, table.leaf.is_some());
            for (key, given) in [(Class::prio.name, prio), (Class::quantum.name, quantum), leaf] {
                if given {
                    say(key, "is for leaves only; this class has child classes".into());
                }
            }
        }
        for (key, kinds) in table.leaf.iter().flat_map(strays) {
            say(&format!("leaf.{key}"), format!("is for kind = \"{kinds}\""));
        }
        if let Some(parent) = table.parent.as_ref()
            && !tables.contains_key(parent)
        {
            say("parent", format!("no class is called \"{parent}\""));
        }
        // As many steps as there are classes lead to a root, or round in a circle.
        let mut above = 0;
        let mut up = table.parent.as_ref();
        while let Some(table) = up.and_then(|parent| tables.get(parent))
            && above <= tables.len()
        {
            above += 1;
            up = table.parent.as_ref();
        }
        if above > tables.len() {
            say("parent", "its parents form a cycle".into());
        } else if above >= LEVELS {
            say("parent", format!("{} levels are too many; at most {LEVELS} are allowed", above + 1));
        }
    }
    if !by_class && each.is_some() {
        let used = each.and_then(|each| each.parent.as_deref());
        for name in leaves.iter().filter(|n| Some(**n) != used) {
            let why = format!("{name}: no class has it as its parent, and neither has each");
            problems.push((Given::classes.name, why));
        }
    }
    problems
}
