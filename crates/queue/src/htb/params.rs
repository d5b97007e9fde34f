//! What a tree is made of, and how it is decoded.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenflow_base::credit::{Arithmetic, Cells};
use evenflow_base::schema::{Mechanism, Problem, Value, Values};
use evenflow_base::{Duration, Rate, Share};

use super::rounds::Rounds;
use super::{HZ, LEVELS, LIMIT, QUANTA, TABLE_MTU};
use crate::droptail::Limit;
use crate::held::{NodeCounts, Owner};
use crate::{codel, fifo, fq_codel, sfq};

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
    /// Who goes next, and who is dropped.
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
    /// The class it borrows from, an index; absent: nobody.
    pub parent: Option<usize>,
    /// What it may always send.
    pub rate: Rate,
    /// What it may send with others' help.
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
    /// A packet costs the tokens of so many bytes at least.
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
        let tables = tables(values);
        let problems = tree_problems(values);
        if !problems.is_empty() {
            return Err(problems);
        }
        let names: Vec<&str> = tables.keys().map(String::as_str).collect();
        let r2q = values.number("r2q");
        let classes = tables.values().map(|table| Arc::new(class(table, &names, r2q, 1.0))).collect();
        // A traffic class that does not cross this link has no leaf; nobody will ask for it.
        let place = |name: &String| names.iter().position(|n| n == name);
        let leaves = queues.iter().map(place).collect();
        Ok(Params { arithmetic: Arithmetic::of(values), r2q, classes, leaves })
    }

    /// A tree with a leaf made of `each` for every owner, below the classes that `classes` names.
    pub fn by_owner(values: &Values, owners: &[Owner]) -> Result<Params, Vec<Problem>> {
        let problems = tree_problems(values);
        if !problems.is_empty() {
            return Err(problems);
        }
        let tables = tables(values);
        let names: Vec<&str> = tables.keys().map(String::as_str).collect();
        let r2q = values.number("r2q");
        let mut classes: Vec<Arc<ClassParams>> =
            tables.values().map(|table| Arc::new(class(table, &names, r2q, 1.0))).collect();
        let mut last: Option<(&Arc<Values>, f64, Arc<ClassParams>)> = None;
        for owner in owners {
            let Some(each) = &owner.each else { continue };
            let params = match &last {
                Some((same, weight, params)) if Arc::ptr_eq(same, each) && *weight == owner.weight => {
                    params.clone()
                }
                _ => Arc::new(class(each, &names, r2q, owner.weight)),
            };
            classes.push(params.clone());
            last = Some((each, owner.weight, params));
        }
        let leaves = (names.len()..classes.len()).map(Some).collect();
        Ok(Params { arithmetic: Arithmetic::of(values), r2q, classes, leaves })
    }
}

/// The named classes.
fn tables(values: &Values) -> &BTreeMap<String, Values> {
    static NONE: BTreeMap<String, Values> = BTreeMap::new();
    match values.get("classes") {
        Some(Value::Tables(tables)) => tables,
        _ => &NONE,
    }
}

/// The names of all classes that have one, in their order.
pub fn class_names(values: &Values) -> impl Iterator<Item = &str> {
    tables(values).keys().map(String::as_str)
}

/// About how many bytes a tree takes, packets not counted, with classes and leaves of these sizes; `owners` have a class each,
/// or traffic classes if there are none. `comers` of them come to it, and have a leaf.
pub(super) fn memory(values: &Values, owners: usize, comers: usize, class: usize, leaf_size: usize) -> u64 {
    let named = tables(values);
    let each = match values.get("each") {
        Some(Value::Table(each)) => Some(each),
        _ => None,
    };
    let (leaves, count) = match each {
        Some(_) => (comers.min(owners), named.len() + owners),
        None => (leaf_names(values).len(), named.len()),
    };
    let inner = if each.is_some() { named.len() } else { count - leaves };
    let mut prios: Vec<usize> =
        named.values().chain(each).map(|table| table.maybe("prio").unwrap_or(0.0) as usize).collect();
    prios.sort_unstable();
    prios.dedup();
    let cells = if Arithmetic::of(values) == Arithmetic::Ticks { 2 * size_of::<Cells>() } else { 0 };
    // A class that is like the one before it has its parameters and tables; what has another share has its own.
    let of_class = class + size_of::<Arc<ClassParams>>() + 8;
    let of_used = size_of::<ClassParams>() + 2 * size_of::<NodeCounts>() + 48 + cells;
    let slots = |table: &Values| match leaf(table.get("leaf")).discipline {
        Discipline::Fifo => 0,
        Discipline::Sfq(p) => sfq::memory(p.divisor),
        Discipline::Codel(_) => fq_codel::memory(1),
        Discipline::FqCodel(p) => fq_codel::memory(p.flows),
    };
    let of_slots = match each {
        Some(each) => leaves as u64 * slots(each),
        None => leaf_names(values).iter().map(|name| slots(&named[*name])).sum(),
    };
    let words = prios.len() * 8 * count.div_ceil(64);
    let rounds = (LEVELS + inner) * size_of::<Rounds>() + (inner.min(LEVELS - 1) + 1 + inner) * words;
    (count * of_class + (inner + leaves) * of_used + leaves * leaf_size + rounds) as u64 + of_slots
}

/// The names of the classes that are no other's parent: traffic classes, where leaves stand for these.
pub fn leaf_names(values: &Values) -> Vec<&str> {
    let tables = tables(values);
    let parents: Vec<&str> = tables.values().filter_map(|t| name(t, "parent")).collect();
    tables.keys().map(String::as_str).filter(|n| !parents.contains(n)).collect()
}

fn name<'a>(table: &'a Values, key: &str) -> Option<&'a str> {
    match table.get(key) {
        Some(Value::Word(word)) => Some(word),
        _ => None,
    }
}

/// A class from its table; its rate and quantum times `weight`.
fn class(table: &Values, names: &[&str], r2q: f64, weight: f64) -> ClassParams {
    let rate = Rate((table.number("rate") * weight).max(1.0));
    let ceil = Rate(table.maybe("ceil").unwrap_or(rate.0).max(rate.0));
    let quantum =
        table.maybe("quantum").map_or_else(|| default_quantum(rate, r2q), |q| (q * weight).max(1.0));
    let parent = name(table, "parent").and_then(|parent| names.iter().position(|n| *n == parent));
    ClassParams {
        parent,
        rate,
        ceil,
        burst: table.maybe("burst").unwrap_or_else(|| default_burst(rate)) as u64,
        cburst: table.maybe("cburst").unwrap_or_else(|| default_burst(ceil)) as u64,
        priority: table.maybe("prio").unwrap_or(0.0) as usize,
        quantum: quantum as i64,
        overhead: table.maybe("overhead").unwrap_or(0.0) as u32,
        mpu: table.maybe("mpu").unwrap_or(0.0) as u32,
        leaf: leaf(table.get("leaf")),
    }
}

/// What a leaf holds where its table leaves something open is what [`Discipline`]'s own mechanism has as its defaults.
pub(super) fn leaf(table: Option<&Value>) -> LeafParams {
    let Some(Value::Table(table)) = table else {
        return LeafParams { limit: Limit::Packets(LIMIT as u32), discipline: Discipline::Fifo };
    };
    let codel = |default: codel::Params| {
        let time = |key: &str, default| table.maybe(key).map_or(default, Duration::from_seconds);
        codel::Params {
            target: time("target", default.target),
            interval: time("interval", default.interval),
            max_packet: table.maybe("max_packet").map_or(default.max_packet, |bytes| bytes as u64),
            ecn: table.get("ecn").map_or(default.ecn, |ecn| *ecn == Value::Flag(true)),
            ce_threshold: table.maybe("ce_threshold").map(Duration::from_seconds),
        }
    };
    let kind = name(table, "kind").unwrap_or(fifo::TABLE.kind);
    let (most, discipline) = if kind == sfq::TABLE.kind {
        let default = sfq::Params::DEFAULT;
        let params = sfq::Params {
            divisor: table.maybe("divisor").map_or(default.divisor, |slots| slots as usize),
            quantum: table.maybe("quantum").map_or(default.quantum, |bytes| bytes as u64),
            perturb: table.maybe("perturb").map(Duration::from_seconds),
        };
        (sfq::LIMIT, Discipline::Sfq(params))
    } else if kind == codel::TABLE.kind {
        (LIMIT, Discipline::Codel(codel(codel::Params::DEFAULT)))
    } else if kind == fq_codel::TABLE.kind {
        let default = fq_codel::Params::DEFAULT;
        let params = fq_codel::Params {
            codel: codel(default.codel),
            flows: table.maybe("flows").map_or(default.flows, |queues| queues as usize),
            quantum: table.maybe("quantum").map_or(default.quantum, |bytes| bytes as i64),
            ..default
        };
        (fq_codel::LIMIT, Discipline::FqCodel(params))
    } else {
        (LIMIT, Discipline::Fifo)
    };
    let limit = Limit::new(Some(table.get("limit").unwrap_or(&Value::Packets(most))));
    LeafParams { limit, discipline }
}

/// Which kinds of leaf have which parameters.
const LEAF_KEYS: [(&[&Mechanism], &[&str]); 4] = [
    (&[&sfq::TABLE], &["divisor", "perturb"]),
    (&[&fq_codel::TABLE], &["flows"]),
    (&[&sfq::TABLE, &fq_codel::TABLE], &["quantum"]),
    (&[&codel::TABLE, &fq_codel::TABLE], &["target", "interval", "max_packet", "ecn", "ce_threshold"]),
];

/// What is wrong with a tree.
pub fn tree_problems(values: &Values) -> Vec<Problem> {
    let mut problems = Vec::new();
    let tables = tables(values);
    let by_class = values.word("per") == "class";
    let each = match values.get("each") {
        Some(Value::Table(each)) => Some(each),
        _ => None,
    };
    if by_class && tables.is_empty() {
        problems.push(("classes", "is required: with per = \"class\" it says what each class gets".into()));
    }
    match (by_class, each) {
        (true, Some(_)) => {
            let why = "is for per = \"user\" or \"flow\": traffic classes are in classes by name";
            problems.push(("each", why.to_owned()));
        }
        (false, None) => {
            let why = format!("is required: it says what each {} gets", values.word("per"));
            problems.push(("each", why));
        }
        _ => {}
    }
    let leaves = leaf_names(values);
    let all = tables.iter().map(|(name, table)| (Some(name.as_str()), table));
    for (own, table) in all.chain(each.map(|each| (None, each))) {
        let mut say = |key: &str, why: String| match own {
            Some(own) => problems.push(("classes", format!("{own}.{key}: {why}"))),
            None => problems.push(("each", format!("{key}: {why}"))),
        };
        if let (Some(rate), Some(ceil)) = (table.maybe("rate"), table.maybe("ceil"))
            && ceil < rate
        {
            say("ceil", format!("must be at least rate: {ceil} bit/s is less than {rate} bit/s"));
        }
        let is_leaf = own.is_none_or(|own| by_class && leaves.contains(&own));
        if !is_leaf {
            for key in ["prio", "quantum", "leaf"] {
                if table.get(key).is_some() {
                    say(key, "is for leaves; this class has others below it".into());
                }
            }
        }
        if let Some(Value::Table(leaf)) = table.get("leaf") {
            let kind = name(leaf, "kind").unwrap_or(fifo::TABLE.kind);
            for (mechanisms, keys) in LEAF_KEYS {
                let kinds: Vec<&str> = mechanisms.iter().map(|m| m.kind).collect();
                for key in keys.iter().filter(|key| leaf.get(key).is_some() && !kinds.contains(&kind)) {
                    say(&format!("leaf.{key}"), format!("is for kind = \"{}\"", kinds.join("\" or \"")));
                }
            }
        }
        if let Some(parent) = name(table, "parent")
            && !tables.contains_key(parent)
        {
            say("parent", format!("no class is called \"{parent}\""));
        }
        // As many steps as there are classes lead to a root, or round in a circle.
        let mut above = 0;
        let mut up = name(table, "parent");
        while let Some(table) = up.and_then(|parent| tables.get(parent))
            && above <= tables.len()
        {
            above += 1;
            up = name(table, "parent");
        }
        if above > tables.len() {
            say("parent", "the classes above it go round in a circle".into());
        } else if above >= LEVELS {
            say("parent", format!("{} levels are too many; there are {LEVELS}", above + 1));
        }
    }
    if !by_class && each.is_some() {
        let used = each.and_then(|each| name(each, "parent"));
        for name in leaves.iter().filter(|n| Some(**n) != used) {
            let why = format!("{name}: neither a class nor each has it as its parent");
            problems.push(("classes", why));
        }
    }
    problems
}
