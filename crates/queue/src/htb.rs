//! Hierarchical token bucket: a tree of classes, each with a rate of its own and a ceiling, that lend each other what they do
//! not use (`net/sched/sch_htb.c` of Linux 3.2 and tc-htb(8), by their behaviour; M. Devera, "HTB Linux queuing discipline
//! manual", 2002).
//!
//! A leaf whose own bucket is not empty may send. One whose own bucket is empty, but not that of its ceiling, may borrow: it
//! hangs below its parent and is served when the parent may send, or the parent's parent. Each level is a round in which
//! leaves take turns by quantum, a round for each priority; lower levels go first, and on a level smaller priorities. What is
//! sent is charged to the leaf's ceiling and to all its ancestors, and to the rate of the class that lent and of those above.
//! A class sends while its bucket is not below zero, so it may overdraw by one packet. Tokens are paid for what the wire needs:
//! the packet and `overhead`, at least `mpu`; quanta, limits and counts are in the packet's own bytes.
//!
//! Not here: cells of ATM (`linklayer`), hysteresis (off in 3.2 too), the direct queue of packets without a class, filters,
//! changes of classes while a run goes on, rules in leaves but drop-tail, SFQ, CoDel and FQ-CoDel.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use evenflow_base::schema::{
    Counter, Deviation, Fallback, Mechanism, Nested, Observable, Param, Problem, Range, Room, Type, Value,
    Values,
};
use evenflow_base::{Duration, Rate, Stream, Time};

use crate::codel;
use crate::credit::{Arithmetic, Cells, Price, depth};
use crate::fq_codel::{self, FqCodel};
use crate::scheduler::{Gone, Queued};
use crate::sfq::{self, Sfq};
use crate::tbf::{ARITHMETIC, arithmetic};
use crate::{Limit, Reason};

/// Levels of a tree (TC_HTB_MAXDEPTH): leaves are on level 0, a root with children on the highest.
pub const LEVELS: usize = 8;
/// Priorities (TC_HTB_NUMPRIO).
pub const PRIORITIES: usize = 8;
/// The longest time that is credited at once, and the deepest debt: a minute (`mbuffer`).
const MEMORY: Duration = Duration(60_000_000_000);
/// The packet for which iproute2 makes a class's tables and its default bursts, bytes (tc's q_htb.c: `mtu`).
const TABLE_MTU: u32 = 1600;
/// Ticks a second of a kernel's timer, by which iproute2 makes default bursts: with high resolution a nanosecond each.
const HZ: f64 = 1e9;
/// Between these the kernel keeps a quantum that follows from `r2q`, bytes.
const QUANTA: (f64, f64) = (1000.0, 200_000.0);
/// Packets that a leaf holds where nobody says: the length of a device's queue.
pub const LIMIT: f64 = 1000.0;

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
    /// Bytes a turn; of leaves.
    pub quantum: i64,
    /// Bytes of a packet that the wire adds; they cost tokens.
    pub overhead: u32,
    /// A packet costs the tokens of so many bytes at least.
    pub mpu: u32,
    /// Its queue; of leaves.
    pub leaf: LeafParams,
}

/// The tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// In what tokens are counted.
    pub arithmetic: Arithmetic,
    /// All classes; turns go by the order in which they stand here, as by class identifier in the kernel.
    pub classes: Vec<ClassParams>,
    /// The leaf of each of the scheduler's queues, an index into `classes`; absent: no packet will come.
    pub leaves: Vec<Option<usize>>,
}

/// What a leaf is made of that stands for one user or flow.
#[derive(Clone, Debug)]
pub struct Owner<'a> {
    /// `each`, drawn for this owner.
    pub each: &'a Values,
    /// Scales rate and quantum.
    pub weight: f64,
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
        let classes = tables.values().map(|table| class(table, &names, r2q, 1.0)).collect();
        // A traffic class that does not cross this link has no leaf; nobody will ask for it.
        let place = |name: &String| names.iter().position(|n| n == name);
        let leaves = queues.iter().map(place).collect();
        Ok(Params { arithmetic: arithmetic(values), classes, leaves })
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
        let mut classes: Vec<ClassParams> =
            tables.values().map(|table| class(table, &names, r2q, 1.0)).collect();
        classes.extend(owners.iter().map(|owner| class(owner.each, &names, r2q, owner.weight)));
        let leaves = (names.len()..classes.len()).map(Some).collect();
        Ok(Params { arithmetic: arithmetic(values), classes, leaves })
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

/// About how many bytes a tree takes, packets not counted; `owners` have a leaf each, or traffic classes if there are none.
pub fn memory(values: &Values, owners: usize) -> u64 {
    let named = tables(values);
    let each = match values.get("each") {
        Some(Value::Table(each)) => Some(each),
        _ => None,
    };
    let (leaves, count) = match each {
        Some(_) => (owners, named.len() + owners),
        None => (leaf_names(values).len(), named.len()),
    };
    let inner = count - leaves;
    let mut prios: Vec<usize> =
        named.values().chain(each).map(|table| table.maybe("prio").unwrap_or(0.0) as usize).collect();
    prios.sort_unstable();
    prios.dedup();
    let cells = if arithmetic(values) == Arithmetic::Ticks { 2 * size_of::<Cells>() } else { 0 };
    let of_class = size_of::<Class>() + 2 * size_of::<Counts>() + 64 + cells;
    let slots = |table: &Values| match leaf(table.get("leaf")).discipline {
        Discipline::Fifo => 0,
        Discipline::Sfq(p) => sfq::memory(p.divisor),
        Discipline::Codel(_) => fq_codel::memory(1),
        Discipline::FqCodel(p) => fq_codel::memory(p.flows),
    };
    let of_slots = match each {
        Some(each) => owners as u64 * slots(each),
        None => leaf_names(values).iter().map(|name| slots(&named[*name])).sum(),
    };
    let words = prios.len() * 8 * count.div_ceil(64);
    let rounds = (LEVELS + inner) * size_of::<Rounds>() + (inner.min(LEVELS - 1) + 1 + inner) * words;
    (count * of_class + leaves * size_of::<Leaf>() + rounds) as u64 + of_slots
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

fn leaf(table: Option<&Value>) -> LeafParams {
    let Some(Value::Table(table)) = table else {
        return LeafParams { limit: Limit::Packets(LIMIT as u32), discipline: Discipline::Fifo };
    };
    let number = |key: &str, default: f64| table.maybe(key).unwrap_or(default);
    let codel = codel::Params {
        target: Duration::from_seconds(number("target", 0.005)),
        interval: Duration::from_seconds(number("interval", 0.1)),
        max_packet: number("max_packet", 1500.0) as u64,
        ecn: table.get("ecn") != Some(&Value::Flag(false)),
        ce_threshold: table.maybe("ce_threshold").map(Duration::from_seconds),
    };
    let (most, discipline) = match name(table, "kind") {
        Some("sfq") => {
            let params = sfq::Params {
                divisor: number("divisor", 1024.0) as usize,
                quantum: number("quantum", 1514.0) as u64,
                perturb: table.maybe("perturb").map(Duration::from_seconds),
            };
            (sfq::LIMIT, Discipline::Sfq(params))
        }
        Some("codel") => (LIMIT, Discipline::Codel(codel)),
        Some("fq-codel") => {
            let (flows, quantum) = (number("flows", 1024.0) as usize, number("quantum", 1514.0) as i64);
            let params = fq_codel::Params { codel, flows, quantum, drop_batch: 64, memory_limit: None };
            (fq_codel::LIMIT, Discipline::FqCodel(params))
        }
        _ => (LIMIT, Discipline::Fifo),
    };
    let limit = Limit::new(Some(table.get("limit").unwrap_or(&Value::Packets(most))));
    LeafParams { limit, discipline }
}

/// Which kinds of leaf have which parameters.
const LEAF_KEYS: [(&[&str], &[&str]); 4] = [
    (&["sfq"], &["divisor", "perturb"]),
    (&["fq-codel"], &["flows"]),
    (&["sfq", "fq-codel"], &["quantum"]),
    (&["codel", "fq-codel"], &["target", "interval", "max_packet", "ecn", "ce_threshold"]),
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
            let kind = name(leaf, "kind").unwrap_or("fifo");
            for (kinds, keys) in LEAF_KEYS {
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
        while let Some(parent) = up
            && above <= tables.len()
        {
            above += 1;
            up = tables.get(parent).and_then(|t| name(t, "parent"));
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

/// What a class may do (`htb_class_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: its ceiling's bucket is below zero.
    Cannot,
    /// Send with what another lends.
    MayBorrow,
    /// Send.
    Can,
}

/// The mode of a class with these credits, and what it lacks for a better one.
pub fn mode(tokens: i128, ctokens: i128) -> (Mode, i128) {
    match (ctokens, tokens) {
        (ctokens, _) if ctokens < 0 => (Mode::Cannot, -ctokens),
        (_, tokens) if tokens < 0 => (Mode::MayBorrow, -tokens),
        _ => (Mode::Can, 0),
    }
}

/// A bucket of `depth` after `passed` and a packet that costs `cost`; no debt is older than `memory` (`htb_accnt_tokens`).
pub fn charged(tokens: i128, passed: i128, depth: i128, cost: i128, memory: i128) -> i128 {
    ((tokens + passed).min(depth) - cost).max(1 - memory)
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, size: u16) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// What a class has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// What it, or a leaf below it, has sent.
    pub sent: Tally,
    /// Of that, with its own tokens (`lends`).
    pub lent: Tally,
    /// Of that, with those of a class above it (`borrows`). The rest was sent with the tokens of a class below it.
    pub borrowed: Tally,
    /// Packets dropped at a leaf, by reason.
    pub drops: [u64; Reason::ALL.len()],
}

impl Counts {
    /// A counter by its name among the observables.
    pub fn named(&self, name: &str) -> Option<u64> {
        Some(match name {
            "sent_packets" => self.sent.packets,
            "sent_bytes" => self.sent.bytes,
            "lent_packets" => self.lent.packets,
            "lent_bytes" => self.lent.bytes,
            "borrowed_packets" => self.borrowed.packets,
            "borrowed_bytes" => self.borrowed.bytes,
            "drops" => self.drops.iter().sum(),
            _ => return None,
        })
    }
}

/// Numbers below a bound, in a set that never allocates.
#[derive(Clone, Debug, Default)]
struct Numbers {
    words: Vec<u64>,
    count: u32,
}

impl Numbers {
    fn below(bound: usize) -> Numbers {
        Numbers { words: vec![0; bound.div_ceil(64)], count: 0 }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn insert(&mut self, n: u32) {
        let (word, bit) = (&mut self.words[n as usize / 64], 1u64 << (n % 64));
        self.count += u32::from(*word & bit == 0);
        *word |= bit;
    }

    fn remove(&mut self, n: u32) {
        let (word, bit) = (&mut self.words[n as usize / 64], 1u64 << (n % 64));
        self.count -= u32::from(*word & bit != 0);
        *word &= !bit;
    }

    /// The least that is `from` or more.
    fn next(&self, from: u32) -> Option<u32> {
        let first = from as usize / 64;
        let mut word = self.words.get(first)? & (u64::MAX << (from % 64));
        for (i, further) in self.words.iter().enumerate().skip(first + 1) {
            if word != 0 {
                return Some(((i - 1) * 64) as u32 + word.trailing_zeros());
            }
            word = *further;
        }
        (word != 0).then(|| ((self.words.len() - 1) * 64) as u32 + word.trailing_zeros())
    }
}

/// A round: the classes of one priority that may send on a level, or that borrow from one class.
#[derive(Clone, Debug, Default)]
struct Round {
    members: Numbers,
    /// Whose turn it is; absent: the first's, after one on the round above has passed.
    turn: Option<u32>,
    /// Who had the turn and left; the turn goes to the next of them.
    left: Option<u32>,
}

impl Round {
    fn pass_on(&mut self) {
        self.turn = self.turn.and_then(|turn| self.members.next(turn + 1));
    }
}

/// The rounds of all priorities.
type Rounds = [Round; PRIORITIES];

#[derive(Clone, Debug)]
struct Class {
    parent: Option<u32>,
    level: usize,
    /// Where the rounds of those who borrow from it are.
    rounds: u32,
    /// Priorities on which it, or somebody below it, has something to send (`prio_activity`).
    active: u8,
    mode: Mode,
    tokens: i128,
    ctokens: i128,
    /// The clock at the last charge.
    charged: i128,
    /// Its place in the queue of those who wait for a better mode; 0: none.
    ticket: u64,
    price: Price,
    ceil_price: Price,
    depth: i128,
    ceil_depth: i128,
    overhead: u32,
    /// 0 where the tables have it.
    mpu: u32,
}

/// A leaf's queue.
#[derive(Clone, Debug)]
struct Leaf {
    class: u32,
    priority: usize,
    quantum: i64,
    /// What is left of its turn, by level.
    deficit: [i64; LEVELS],
    limit: Limit,
    rate: Rate,
    packets: u32,
    bytes: u64,
    line: Line,
}

#[derive(Clone, Debug)]
enum Line {
    Fifo(VecDeque<Queued>),
    Sfq(Box<Sfq>),
    /// One queue for all, which pushes nobody out: CoDel.
    Codel(Box<FqCodel>),
    FqCodel(Box<FqCodel>),
}

impl Leaf {
    /// `lost` have been dropped.
    fn forget(&mut self, lost: &[Gone], counts: &mut [Counts]) {
        for (item, reason) in lost {
            self.packets -= 1;
            self.bytes -= u64::from(item.packet.size);
            counts[self.class as usize].drops[*reason as usize] += 1;
        }
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Htb {
    arithmetic: Arithmetic,
    memory: i128,
    classes: Vec<Class>,
    /// By class; `u32::MAX` for those that are no leaf.
    leaf_of: Vec<u32>,
    leaves: Vec<Leaf>,
    /// By queue: the leaf.
    queues: Vec<u32>,
    /// First one of each level, then one of each class that has others below it.
    rounds: Vec<Rounds>,
    /// Who waits for a better mode, by level: the clock, a ticket, the class. A class that no longer has the ticket is stale.
    waits: Vec<BinaryHeap<Reverse<(i128, u64, u32)>>>,
    tickets: u64,
    /// By flow: what a leaf's SFQ hashes.
    keys: Arc<[u32]>,
    next: Time,
    /// By class: rate and ceiling.
    rates: Vec<(Rate, Rate)>,
    /// By class.
    counts: Vec<Counts>,
}

/// Bits of a place that tell the slot of a leaf's SFQ.
const SLOT_BITS: u32 = 16;

impl Htb {
    /// Classes with full buckets. `keys` tells the flows apart that a leaf's SFQ hashes, `hash` salts these.
    pub fn new(params: Params, keys: Arc<[u32]>, hash: &Stream) -> Htb {
        let count = params.classes.len();
        let a = params.arithmetic;
        let mut inner = vec![false; count];
        for class in &params.classes {
            if let Some(parent) = class.parent {
                inner[parent] = true;
            }
        }
        let depth_of = |mut n: usize| {
            let mut above = 0;
            while let Some(parent) = params.classes[n].parent {
                (n, above) = (parent, above + 1);
            }
            above
        };
        let mut prios = [false; PRIORITIES];
        for class in &params.classes {
            prios[class.priority] = true;
        }
        let rounds_of = |bound: usize| -> Rounds {
            std::array::from_fn(|p| Round {
                members: if prios[p] { Numbers::below(bound) } else { Numbers::default() },
                ..Round::default()
            })
        };
        let price = |rate: Rate, mpu: u32| match a {
            Arithmetic::Real => Price::new(a, rate, TABLE_MTU),
            Arithmetic::Ticks => Price::Cells(Box::new(Cells::new(rate, TABLE_MTU, mpu))),
        };
        let mut rounds = Vec::new();
        let used: Vec<bool> = (0..LEVELS)
            .map(|l| l == 0 || (0..count).any(|n| inner[n] && LEVELS - 1 - depth_of(n) == l))
            .collect();
        rounds.extend(used.iter().map(|used| if *used { rounds_of(count) } else { Rounds::default() }));
        let mut classes = Vec::with_capacity(count);
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut leaf_of = vec![u32::MAX; count];
        for (n, class) in params.classes.iter().enumerate() {
            let (depth, ceil_depth) = (depth(a, class.rate, class.burst), depth(a, class.ceil, class.cburst));
            classes.push(Class {
                parent: class.parent.map(|p| p as u32),
                level: if inner[n] { LEVELS - 1 - depth_of(n) } else { 0 },
                rounds: rounds.len() as u32,
                active: 0,
                mode: Mode::Can,
                tokens: depth,
                ctokens: ceil_depth,
                charged: 0,
                ticket: 0,
                price: price(class.rate, class.mpu),
                ceil_price: price(class.ceil, class.mpu),
                depth,
                ceil_depth,
                overhead: class.overhead,
                mpu: if a == Arithmetic::Real { class.mpu } else { 0 },
            });
            if inner[n] {
                rounds.push(rounds_of(count));
                continue;
            }
            let line = match class.leaf.discipline {
                Discipline::Fifo => Line::Fifo(VecDeque::new()),
                Discipline::Sfq(sfq) => Line::Sfq(Box::new(Sfq::new(sfq, hash.clone()))),
                Discipline::Codel(codel) => {
                    // One queue is always its own turn.
                    let one = fq_codel::Params {
                        codel,
                        flows: 1,
                        quantum: 65_535,
                        drop_batch: 1,
                        memory_limit: None,
                    };
                    Line::Codel(Box::new(FqCodel::new(one, hash.clone())))
                }
                Discipline::FqCodel(params) => Line::FqCodel(Box::new(FqCodel::new(params, hash.clone()))),
            };
            leaf_of[n] = leaves.len() as u32;
            leaves.push(Leaf {
                class: n as u32,
                priority: class.priority,
                quantum: class.quantum,
                deficit: [0; LEVELS],
                limit: class.leaf.limit,
                rate: class.rate,
                packets: 0,
                bytes: 0,
                line,
            });
        }
        let queues =
            params.leaves.iter().map(|class| class.map_or(u32::MAX, |class| leaf_of[class])).collect();
        Htb {
            arithmetic: a,
            memory: a.credit(MEMORY),
            rates: params.classes.iter().map(|class| (class.rate, class.ceil)).collect(),
            counts: vec![Counts::default(); count],
            classes,
            leaf_of,
            leaves,
            queues,
            rounds,
            waits: vec![BinaryHeap::new(); LEVELS],
            tickets: 0,
            keys,
            next: Time::NEVER,
        }
    }

    /// Whether queue number `queue` has a leaf.
    pub fn has(&self, queue: usize) -> bool {
        self.queues.get(queue).is_some_and(|leaf| *leaf != u32::MAX)
    }

    /// The place of a packet of `flow` bound for queue number `queue` that arrives at `now`.
    pub fn place(&mut self, queue: usize, flow: u32, now: Time) -> usize {
        let leaf = self.queues[queue];
        let key = || self.keys.get(flow as usize).copied().unwrap_or(flow) as usize;
        let slot = match &mut self.leaves[leaf as usize].line {
            Line::Fifo(_) | Line::Codel(_) => 0,
            Line::Sfq(sfq) => sfq.place(key(), now),
            Line::FqCodel(flows) => flows.place(key()),
        };
        (leaf as usize) << SLOT_BITS | slot
    }

    /// Whether the leaf of `place` has no room for a packet of `size` bytes.
    pub fn is_full(&self, place: usize, size: u16) -> bool {
        let leaf = &self.leaves[place >> SLOT_BITS];
        leaf.limit.is_full(leaf.packets, leaf.bytes, size, Some(leaf.rate))
    }

    /// Whether [`Htb::push_out`] would remove something.
    pub fn can_push_out(&self, place: usize, size: u16) -> bool {
        let slot = place & ((1 << SLOT_BITS) - 1);
        match &self.leaves[place >> SLOT_BITS].line {
            Line::Fifo(_) | Line::Codel(_) => false,
            Line::Sfq(sfq) => sfq.can_push_out(slot),
            Line::FqCodel(flows) => flows.can_push_out(slot, size),
        }
    }

    /// Makes room in the leaf of `place`; says whether it did.
    pub fn push_out(&mut self, place: usize, size: u16, gone: &mut Vec<Gone>) -> bool {
        let (leaf, slot) = (&mut self.leaves[place >> SLOT_BITS], place & ((1 << SLOT_BITS) - 1));
        let before = gone.len();
        let did = match &mut leaf.line {
            Line::Fifo(_) | Line::Codel(_) => return false,
            Line::Sfq(sfq) => sfq.push_out(slot, gone),
            Line::FqCodel(flows) => flows.push_out(slot, size, gone),
        };
        leaf.forget(&gone[before..], &mut self.counts);
        if leaf.packets == 0 {
            let class = leaf.class;
            self.deactivate(class);
        }
        did
    }

    /// Takes a packet into the leaf of `place`.
    pub fn enqueue(&mut self, place: usize, item: Queued) {
        let leaf = &mut self.leaves[place >> SLOT_BITS];
        leaf.packets += 1;
        leaf.bytes += u64::from(item.packet.size);
        match &mut leaf.line {
            Line::Fifo(packets) => packets.push_back(item),
            Line::Sfq(sfq) => sfq.enqueue(place & ((1 << SLOT_BITS) - 1), item),
            Line::Codel(flows) | Line::FqCodel(flows) => {
                flows.enqueue(place & ((1 << SLOT_BITS) - 1), item);
            }
        }
        let (class, priority) = (leaf.class, leaf.priority);
        if self.classes[class as usize].active == 0 {
            self.classes[class as usize].active = 1 << priority;
            self.activate(class);
        }
    }

    /// The packet to send at `now`, if a class may send (`htb_dequeue`), and why its leaf marked it if it did. What the leaf
    /// drops on the way is added to `gone`.
    pub fn dequeue(&mut self, now: Time, gone: &mut Vec<Gone>) -> Option<(Queued, Option<Reason>)> {
        let clock = self.arithmetic.clock(now);
        let mut next = i128::MAX;
        for level in 0..LEVELS {
            next = next.min(self.improve(level, clock));
            for priority in 0..PRIORITIES {
                if !self.rounds[level][priority].members.is_empty() {
                    self.next = Time::NEVER;
                    return self.serve(level, priority, clock, now, gone);
                }
            }
        }
        self.next = if next == i128::MAX { Time::NEVER } else { self.arithmetic.instant(next) };
        None
    }

    /// When a class may send again, after [`Htb::dequeue`] has found none that may.
    pub fn next_event(&self) -> Time {
        self.next
    }

    /// Gives the classes of a level whose time has come their better mode (`htb_do_events`); says when the next comes.
    fn improve(&mut self, level: usize, clock: i128) -> i128 {
        while let Some(&Reverse((due, ticket, n))) = self.waits[level].peek() {
            let class = &self.classes[n as usize];
            let stale = class.ticket != ticket;
            if !stale && due > clock {
                return due;
            }
            self.waits[level].pop();
            if stale {
                continue;
            }
            let passed = (clock - class.charged).min(self.memory);
            let lack = self.change_mode(n, passed);
            if self.classes[n as usize].mode == Mode::Can {
                self.classes[n as usize].ticket = 0;
            } else {
                self.wait(n, clock, lack);
            }
        }
        i128::MAX
    }

    /// Class `n` waits until what it lacks at `clock` has come; a moment at least (`htb_add_to_wait_tree`).
    fn wait(&mut self, n: u32, clock: i128, lack: i128) {
        self.tickets += 1;
        let class = &mut self.classes[n as usize];
        class.ticket = self.tickets;
        self.waits[class.level].push(Reverse((clock + lack.max(1), self.tickets, n)));
    }

    /// Serves the leaf whose turn it is on a level (`htb_dequeue_tree`), which has one.
    fn serve(
        &mut self,
        level: usize,
        priority: usize,
        clock: i128,
        now: Time,
        gone: &mut Vec<Gone>,
    ) -> Option<(Queued, Option<Reason>)> {
        let n = self.turn(level, priority)?;
        let leaf = &mut self.leaves[self.leaf_of[n as usize] as usize];
        // A leaf that has packets gives one: CoDel never drops the last.
        let (item, mark) = match &mut leaf.line {
            Line::Fifo(packets) => (packets.pop_front()?, None),
            Line::Sfq(sfq) => (sfq.dequeue()?, None),
            Line::Codel(flows) | Line::FqCodel(flows) => {
                let before = gone.len();
                let next = flows.dequeue(now, gone)?;
                leaf.forget(&gone[before..], &mut self.counts);
                next
            }
        };
        let size = item.packet.size;
        leaf.packets -= 1;
        leaf.bytes -= u64::from(size);
        leaf.deficit[level] -= i64::from(size);
        let over = leaf.deficit[level] < 0;
        if over {
            leaf.deficit[level] += leaf.quantum;
        }
        let empty = leaf.packets == 0;
        if over {
            let round = match self.classes[n as usize].parent {
                Some(parent) if level > 0 => self.classes[parent as usize].rounds as usize,
                _ => 0,
            };
            self.rounds[round][priority].pass_on();
        }
        if empty {
            self.deactivate(n);
        }
        self.charge(n, level, size, clock);
        Some((item, mark))
    }

    /// The leaf whose turn it is (`htb_lookup_leaf`): down from the round of the level through those who borrow. A round at its
    /// end starts anew and hands the turn of the round above on.
    fn turn(&mut self, level: usize, priority: usize) -> Option<u32> {
        let mut path = [level; LEVELS + 1];
        let mut at = 0;
        loop {
            let round = &mut self.rounds[path[at]][priority];
            if round.turn.is_none()
                && let Some(left) = round.left
            {
                round.turn = round.members.next(left);
            }
            round.left = None;
            match round.turn {
                None => {
                    round.turn = Some(round.members.next(0)?);
                    if at > 0 {
                        at -= 1;
                        self.rounds[path[at]][priority].pass_on();
                    }
                }
                Some(n) if self.leaf_of[n as usize] != u32::MAX => return Some(n),
                Some(n) => {
                    at += 1;
                    path[at] = self.classes[n as usize].rounds as usize;
                }
            }
        }
    }

    /// Charges a packet of `size` bytes of the leaf `n`, which borrowed on `level`, to it and those above
    /// (`htb_charge_class`).
    fn charge(&mut self, n: u32, level: usize, size: u16, clock: i128) {
        let mut up = Some(n);
        while let Some(n) = up {
            let class = &mut self.classes[n as usize];
            let passed = (clock - class.charged).min(self.memory);
            let counts = &mut self.counts[n as usize];
            counts.sent.add(size);
            match class.level.cmp(&level) {
                Ordering::Less => counts.borrowed.add(size),
                Ordering::Equal => counts.lent.add(size),
                Ordering::Greater => {}
            }
            let framed = (u32::from(size) + class.overhead).max(class.mpu);
            if class.level >= level {
                let cost = class.price.cost(framed);
                class.tokens = charged(class.tokens, passed, class.depth, cost, self.memory);
            } else {
                class.tokens += passed; // time goes on for who borrows, too
            }
            let cost = class.ceil_price.cost(framed);
            class.ctokens = charged(class.ctokens, passed, class.ceil_depth, cost, self.memory);
            class.charged = clock;
            let old = class.mode;
            up = class.parent;
            let lack = self.change_mode(n, 0);
            let class = &mut self.classes[n as usize];
            if class.mode != old {
                class.ticket = 0;
                if class.mode != Mode::Can {
                    self.wait(n, clock, lack);
                }
            }
        }
    }

    /// Finds the mode of class `n`, `passed` after its last charge, and what it lacks for a better one
    /// (`htb_change_class_mode`).
    fn change_mode(&mut self, n: u32, passed: i128) -> i128 {
        let class = &self.classes[n as usize];
        let (new, lack) = mode(class.tokens + passed, class.ctokens + passed);
        if new == class.mode {
            return lack;
        }
        let (old, active) = (class.mode, class.active != 0);
        if active && old != Mode::Cannot {
            self.leave(n);
        }
        self.classes[n as usize].mode = new;
        if active && new != Mode::Cannot {
            self.activate(n);
        }
        lack
    }

    /// Puts an active class where its mode says: into its level's round, or below those from whom it may borrow
    /// (`htb_activate_prios`).
    fn activate(&mut self, n: u32) {
        let (mut n, mut mask) = (n, self.classes[n as usize].active);
        while mask != 0 {
            let class = &self.classes[n as usize];
            match (class.mode, class.parent) {
                (Mode::Can, _) => {
                    let level = class.level;
                    return self.on_each(mask, |rounds, p| rounds[level][p].members.insert(n));
                }
                (Mode::MayBorrow, Some(parent)) => {
                    let rounds = self.classes[parent as usize].rounds as usize;
                    let mut news = mask;
                    self.on_each(mask, |all, p| {
                        let round = &mut all[rounds][p];
                        // Where somebody borrows already, all above know it.
                        if !round.members.is_empty() {
                            news &= !(1 << p);
                        }
                        round.members.insert(n);
                    });
                    self.classes[parent as usize].active |= news;
                    (n, mask) = (parent, news);
                }
                _ => return,
            }
        }
    }

    /// Takes a class out of where its mode had put it (`htb_deactivate_prios`).
    fn leave(&mut self, n: u32) {
        let (mut n, mut mask) = (n, self.classes[n as usize].active);
        while mask != 0 {
            let class = &self.classes[n as usize];
            match (class.mode, class.parent) {
                (Mode::Can, _) => {
                    let level = class.level;
                    return self.on_each(mask, |rounds, p| {
                        let round = &mut rounds[level][p];
                        if round.turn == Some(n) {
                            round.pass_on();
                        }
                        round.members.remove(n);
                    });
                }
                (Mode::MayBorrow, Some(parent)) => {
                    let rounds = self.classes[parent as usize].rounds as usize;
                    let mut empty = 0;
                    self.on_each(mask, |all, p| {
                        let round = &mut all[rounds][p];
                        if round.turn == Some(n) {
                            (round.turn, round.left) = (None, Some(n));
                        }
                        round.members.remove(n);
                        if round.members.is_empty() {
                            empty |= 1 << p;
                        }
                    });
                    self.classes[parent as usize].active &= !empty;
                    (n, mask) = (parent, empty);
                }
                _ => return,
            }
        }
    }

    /// A leaf has nothing to send any more (`htb_deactivate`).
    fn deactivate(&mut self, n: u32) {
        self.leave(n);
        self.classes[n as usize].active = 0;
    }

    fn on_each(&mut self, mask: u8, mut act: impl FnMut(&mut [Rounds], usize)) {
        for p in (0..PRIORITIES).filter(|p| mask & (1 << p) != 0) {
            act(&mut self.rounds, p);
        }
    }

    /// What the classes have counted: those with names first, in their order, then the leaves of users or flows.
    pub fn counts(&self) -> &[Counts] {
        &self.counts
    }

    /// A packet bound for `place` was dropped for `reason` instead of being taken.
    pub fn turned_away(&mut self, place: usize, reason: Reason) {
        let class = self.leaves[place >> SLOT_BITS].class;
        self.counts[class as usize].drops[reason as usize] += 1;
    }

    /// An observable of class number `n` by name, at `now`. What waits is a leaf's alone.
    pub fn observe(&self, n: usize, name: &str, now: Time) -> Option<f64> {
        let class = &self.classes[n];
        let bucket = |credit: i128, depth: i128, rate: Rate| {
            let passed = (self.arithmetic.clock(now) - class.charged).min(self.memory);
            Some(self.arithmetic.seconds((credit + passed).min(depth)) * rate.0 / 8.0)
        };
        let leaf = self.leaves.get(self.leaf_of[n] as usize);
        match name {
            "packets" => leaf.map(|leaf| f64::from(leaf.packets)),
            "bytes" => leaf.map(|leaf| leaf.bytes as f64),
            "tokens" => bucket(class.tokens, class.depth, self.rates[n].0),
            "ctokens" => bucket(class.ctokens, class.ceil_depth, self.rates[n].1),
            _ => self.counts[n].named(name).map(|count| count as f64),
        }
    }

    /// All packets that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.leaves.iter().flat_map(|leaf| {
            let (fifo, sfq, flows) = match &leaf.line {
                Line::Fifo(packets) => (Some(packets.iter()), None, None),
                Line::Sfq(sfq) => (None, Some(sfq.waiting()), None),
                Line::Codel(flows) | Line::FqCodel(flows) => (None, None, Some(flows.waiting())),
            };
            let hashed = sfq.into_iter().flatten().chain(flows.into_iter().flatten());
            fifo.into_iter().flatten().chain(hashed)
        })
    }
}

/// What iproute2 takes for bytes of a frame: 16 bits.
const FRAME: Range = Range { min: 0.0, closed: true, max: 65_535.0 };

const RATE: Range = Range { min: 1.0, closed: true, max: f64::INFINITY };

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
            doc: "Bytes a turn, of sfq and fq-codel.",
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
            doc: "Leaves: bytes a turn. Those who borrow from one class do so in proportion to it.",
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
};

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "htb",
    room: Room::Scheduler,
    title: "Hierarchical token bucket (HTB)",
    doc: "A tree of classes with a rate and a ceiling each. Leaves hold the packets; who has used up its rate borrows from its \
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
            what: "A ceiling below the rate is refused.",
            why: "The kernel takes it and never lets the class have its rate.",
        },
        Deviation {
            what: "A class between others is not bound by its own ceiling while those below it send within their rates.",
            why: "So it is in the kernel: rates are promises, and their sum is the user's affair.",
        },
    ],
};

#[cfg(test)]
mod tests;
