//! Hierarchical token bucket (`net/sched/sch_htb.c` of Linux 3.2 by its behaviour; tc-htb(8); M. Devera's
//! manual of 2002): a tree of classes that lend each other unused rate.
//!
//! A leaf sends with its own tokens. When these are used up, it borrows from an ancestor until its ceiling's
//! bucket is empty. Each level has a round per priority; lower levels and smaller priorities go first. A
//! packet is charged to the leaf's ceiling, to the lender's rate and to all classes above. A bucket may
//! overdraw by one packet.
//!
//! A changed class keeps tokens and backlog (`tc class change`). Not modelled: `linklayer`, hysteresis (off
//! in 3.2), the direct queue, filters, classes that come and go.

mod params;
mod rounds;
mod tables;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use evenflow_base::credit::{Arithmetic, Cells, Price, depth};
use evenflow_base::schema::{Problem, Values};
use evenflow_base::{Duration, Heap, Packet, Rate, Reason, Share, Stream, Time, Verdict};

pub use params::{
    ClassParams, Discipline, LeafParams, Params, class_names, default_burst, default_quantum, leaf_names,
    tree_problems,
};
use rounds::{Numbers, Round, Rounds};
pub use tables::Given;
pub use tables::{CLASS, LEAF, TABLE};

use crate::held::{Dropped, FlowTable, Kind, Nested, NodeCounts, Queued, Schedule, Sent, Served};

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
/// Default limit of a leaf in packets: the length of a device's queue.
pub const LIMIT: f64 = 1000.0;

/// Sending mode of a class (`htb_class_mode`).
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

#[derive(Clone, Debug)]
struct Class {
    parent: Option<u32>,
    level: usize,
    /// Where the rounds of its borrowers are.
    rounds: u32,
    /// Where its counts are; `NONE` where it has counted nothing yet.
    counts: u32,
    /// Priorities with a backlog in this class or below (`prio_activity`).
    active: u8,
    mode: Mode,
    tokens: i128,
    ctokens: i128,
    /// The clock at the last charge.
    charged: i128,
    /// Its place in the queue of classes that wait for a better mode; 0: none.
    ticket: u64,
    price: Price,
    ceil_price: Price,
    depth: i128,
    ceil_depth: i128,
    overhead: u32,
    /// 0 where the tables have it.
    mpu: u32,
}

/// A leaf's queue, created with its first packet: not every copy of a link carries every class.
#[derive(Clone, Debug)]
struct Leaf<Q> {
    class: u32,
    priority: usize,
    quantum: i64,
    /// Deficit of its turn, by level.
    deficit: [i64; LEVELS],
    /// Its queue.
    queue: Q,
}

/// Counts what a leaf has dropped.
fn count_drops(dropped: &[Dropped], counts: &mut NodeCounts) {
    for (_, reason) in dropped {
        counts.drops[*reason as usize] += 1;
    }
}

/// A bit for each that is true.
fn bits(flags: &[bool]) -> u8 {
    flags.iter().enumerate().map(|(n, flag)| u8::from(*flag) << n).sum()
}

/// The bits that are set, the least first.
fn ones(mut mask: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (first < u8::BITS).then_some(first as usize)
    })
}

/// No index: a class has no leaf or no counts, or a queue no class.
const NONE: u32 = u32::MAX;

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Htb<Q> {
    arithmetic: Arithmetic,
    memory: i128,
    classes: Vec<Class>,
    /// By class; `NONE` for those that have no leaf, or none yet.
    leaf_of: Vec<u32>,
    leaves: Vec<Leaf<Q>>,
    /// Leaf class of each queue.
    queues: Vec<u32>,
    /// First one of each level, then one of each class that has others below it.
    rounds: Vec<Rounds>,
    /// Classes that wait for a better mode, by level: the clock, a ticket, the class. A class that no longer has the ticket is stale.
    waits: Vec<BinaryHeap<Reverse<(i128, u64, u32)>>>,
    tickets: u64,
    /// Levels on which classes are, and priorities that leaves have or have had: a bit each.
    levels: u8,
    priorities: u8,
    /// By flow: what a leaf's SFQ hashes.
    keys: Arc<[u32]>,
    /// The same of flows behind those.
    newcomers: Vec<u32>,
    next: Time,
    /// By class: what it is made of at present.
    params: Vec<Arc<ClassParams>>,
    r2q: f64,
    /// Salts the hashes of leaves.
    hash: Stream,
    /// In the order in which classes began to count.
    counts: Vec<NodeCounts>,
}

/// The cost of a packet in a bucket with this rate.
fn price(a: Arithmetic, rate: Rate, mpu: u32) -> Price {
    match a {
        Arithmetic::Real => Price::new(a, rate, TABLE_MTU),
        Arithmetic::Ticks => Price::Cells(Arc::new(Cells::new(rate, TABLE_MTU, mpu))),
    }
}

/// Bits of a place that tell the slot in a leaf's queue.
const SLOT_BITS: u32 = 16;
/// These bits.
const SLOT: usize = (1 << SLOT_BITS) - 1;

impl<Q: Nested<Params = LeafParams>> Htb<Q> {
    /// Classes with full buckets. `keys` are the hash keys of flows for a leaf's SFQ, salted by `hash`.
    pub fn new(params: Params, keys: Arc<[u32]>, hash: &Stream) -> Htb<Q> {
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
        let mut rounds = Vec::new();
        let used: Vec<bool> = (0..LEVELS)
            .map(|l| l == 0 || (0..count).any(|n| inner[n] && LEVELS - 1 - depth_of(n) == l))
            .collect();
        rounds.extend(used.iter().map(|used| if *used { rounds_of(count) } else { Rounds::default() }));
        let mut classes: Vec<Class> = Vec::with_capacity(count);
        let mut counts = Vec::new();
        for (n, class) in params.classes.iter().enumerate() {
            // Users of one kind have the same parameters, and share the tables of prices.
            if let Some(before) = n.checked_sub(1)
                && Arc::ptr_eq(class, &params.classes[before])
                && !inner[n]
                && !inner[before]
            {
                classes.push(classes[before].clone());
                continue;
            }
            let (depth, ceil_depth) = (depth(a, class.rate, class.burst), depth(a, class.ceil, class.cburst));
            classes.push(Class {
                parent: class.parent.map(|p| p as u32),
                level: if inner[n] { LEVELS - 1 - depth_of(n) } else { 0 },
                rounds: rounds.len() as u32,
                counts: if inner[n] { counts.len() as u32 } else { NONE },
                active: 0,
                mode: Mode::Can,
                tokens: depth,
                ctokens: ceil_depth,
                charged: 0,
                ticket: 0,
                price: price(a, class.rate, class.mpu),
                ceil_price: price(a, class.ceil, class.mpu),
                depth,
                ceil_depth,
                overhead: class.overhead,
                mpu: if a == Arithmetic::Real { class.mpu } else { 0 },
            });
            if inner[n] {
                rounds.push(rounds_of(count));
                counts.push(NodeCounts::default());
            }
        }
        let class_of = |class: &Option<usize>| class.filter(|n| !inner[*n]).map_or(NONE, |n| n as u32);
        let queues = params.leaves.iter().map(class_of).collect();
        Htb {
            arithmetic: a,
            memory: a.credit(MEMORY),
            params: params.classes,
            r2q: params.r2q,
            hash: hash.clone(),
            counts,
            classes,
            leaf_of: vec![NONE; count],
            leaves: Vec::new(),
            queues,
            rounds,
            waits: vec![BinaryHeap::new(); LEVELS],
            tickets: 0,
            levels: bits(&used),
            priorities: bits(&prios),
            keys,
            newcomers: Vec::new(),
            next: Time::NEVER,
        }
    }

    /// The leaf's index of class `n`.
    #[inline]
    fn leaf(&mut self, n: u32) -> usize {
        match self.leaf_of[n as usize] {
            NONE => self.make_leaf(n),
            leaf => leaf as usize,
        }
    }

    #[cold]
    fn make_leaf(&mut self, n: u32) -> usize {
        let (leaf, params) = (self.leaves.len(), &self.params[n as usize]);
        self.leaves.push(Leaf {
            class: n,
            priority: params.priority,
            quantum: params.quantum,
            deficit: [0; LEVELS],
            queue: Q::nested(&params.leaf, params.rate, &self.hash),
        });
        self.leaf_of[n as usize] = leaf as u32;
        self.begin_counts(n);
        leaf
    }

    /// Class `n` counts from now on, if it has not begun to.
    fn begin_counts(&mut self, n: u32) {
        let class = &mut self.classes[n as usize];
        if class.counts == NONE {
            class.counts = self.counts.len() as u32;
            self.counts.push(NodeCounts::default());
        }
    }

    /// The counts of class `n`, which has begun to count.
    #[inline(always)]
    fn counts(&mut self, n: u32) -> &mut NodeCounts {
        &mut self.counts[self.classes[n as usize].counts as usize]
    }

    /// The leaves that there are, in the order of their classes.
    fn in_order(&self) -> impl Iterator<Item = &Leaf<Q>> {
        self.leaf_of.iter().filter_map(|leaf| self.leaves.get(*leaf as usize))
    }

    /// The hash key of a flow that `keys` lacks; by default the flow's index.
    fn key_of_newcomer(&self, flow: u32) -> u32 {
        self.newcomers.get(flow as usize - self.keys.len()).copied().unwrap_or(flow)
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
        dropped: &mut Vec<Dropped>,
    ) -> Option<Sent> {
        let n = self.turn(level, priority)?;
        let leaf = &mut self.leaves[self.leaf_of[n as usize] as usize];
        // A leaf that has packets gives one: CoDel never drops the last.
        let before = dropped.len();
        let (item, mark) = leaf.queue.dequeue(now, dropped)?;
        let size = item.packet.size;
        leaf.deficit[level] -= i64::from(size);
        let over = leaf.deficit[level] < 0;
        if over {
            leaf.deficit[level] += leaf.quantum;
        }
        let empty = leaf.queue.packets() == 0;
        count_drops(&dropped[before..], self.counts(n));
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

    /// The leaf at turn (`htb_lookup_leaf`), found from the level's round down through the borrowers. A round
    /// that ends restarts and advances the round above.
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
    #[inline(always)]
    fn charge(&mut self, n: u32, level: usize, size: u16, clock: i128) {
        let mut up = Some(n);
        while let Some(n) = up {
            let class = &mut self.classes[n as usize];
            let passed = (clock - class.charged).min(self.memory);
            let counts = &mut self.counts[class.counts as usize];
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
                class.tokens += passed; // time goes on for borrowers, too
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
            self.unlink(n);
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
                        // With another borrower present, the ancestors are active already.
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
    fn unlink(&mut self, n: u32) {
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
        self.unlink(n);
        self.classes[n as usize].active = 0;
    }

    /// Changes class `n` (`htb_change_class`): what time has brought is credited at the old rates, then tokens are carried over.
    fn set(&mut self, n: u32, params: &Arc<ClassParams>, clock: i128) {
        if self.classes[n as usize].level == 0 {
            self.leaf(n); // its queue is that of the share which it had at first
        }
        let a = self.arithmetic;
        let old = &self.params[n as usize];
        let class = &mut self.classes[n as usize];
        let passed = (clock - class.charged).min(self.memory);
        let carried = |tokens, old_depth, (from, to), depth| {
            a.carried(charged(tokens, passed, old_depth, 0, self.memory), from, to)
                .min(depth)
                .max(1 - self.memory)
        };
        let (rate_depth, ceil_depth) =
            (depth(a, params.rate, params.burst), depth(a, params.ceil, params.cburst));
        class.tokens = carried(class.tokens, class.depth, (old.rate, params.rate), rate_depth);
        class.ctokens = carried(class.ctokens, class.ceil_depth, (old.ceil, params.ceil), ceil_depth);
        class.charged = clock;
        (class.depth, class.ceil_depth) = (rate_depth, ceil_depth);
        class.price = price(a, params.rate, params.mpu);
        class.ceil_price = price(a, params.ceil, params.mpu);
        if let Some(leaf) = self.leaves.get_mut(self.leaf_of[n as usize] as usize) {
            leaf.quantum = params.quantum;
            if old.leaf.limit != params.leaf.limit {
                leaf.queue.limit(&params.leaf);
            }
            if leaf.priority != params.priority {
                leaf.priority = params.priority;
                self.make_rounds(params.priority);
            }
        }
        self.params[n as usize] = params.clone();
        let lack = self.change_mode(n, 0);
        self.classes[n as usize].ticket = 0;
        if self.classes[n as usize].mode != Mode::Can {
            self.wait(n, clock, lack);
        }
    }

    /// Makes the rounds of a priority, where there are none. A leaf that has packets stays in those of its old one until it has
    /// been empty, as in the kernel (`aprio`).
    fn make_rounds(&mut self, priority: usize) {
        let count = self.classes.len();
        self.priorities |= 1 << priority;
        for rounds in &mut self.rounds {
            let members = &mut rounds[priority].members;
            if members.is_empty() {
                *members = Numbers::below(count);
            }
        }
    }

    /// Recreates leaf `n`: its backlog goes to `dropped`, its buckets are full.
    fn renew(&mut self, n: u32, clock: i128, dropped: &mut Vec<Dropped>) {
        let leaf = self.leaf(n);
        let before = dropped.len();
        self.leaves[leaf].queue.for_each(&mut |item| dropped.push((*item, Reason::Reconfigured)));
        count_drops(&dropped[before..], self.counts(n));
        let (leaf, params) = (&mut self.leaves[leaf], &self.params[n as usize]);
        leaf.queue = Q::nested(&params.leaf, params.rate, &self.hash);
        leaf.deficit = [0; LEVELS];
        if self.classes[n as usize].active != 0 {
            self.deactivate(n);
        }
        let class = &mut self.classes[n as usize];
        (class.tokens, class.ctokens, class.charged) = (class.depth, class.ceil_depth, clock);
        class.ticket = 0;
        self.change_mode(n, 0);
    }

    fn on_each(&mut self, mask: u8, mut act: impl FnMut(&mut [Rounds], usize)) {
        for p in ones(mask) {
            act(&mut self.rounds, p);
        }
    }
}

impl<Q: Nested<Params = LeafParams>> Schedule for Htb<Q> {
    fn share(&mut self, key: usize, share: &Share, now: Time, dropped: &mut Vec<Dropped>) -> bool {
        let Some(n) = self.queues.get(key).copied().filter(|n| *n != NONE) else { return false };
        let clock = self.arithmetic.clock(now);
        let params = Arc::new(self.params[n as usize].with(share, self.r2q));
        self.set(n, &params, clock);
        if share.replace {
            self.renew(n, clock, dropped);
        }
        true
    }

    fn has(&self, key: usize) -> bool {
        self.queues.get(key).is_some_and(|class| *class != NONE)
    }

    fn introduce(&mut self, flow: u32, key: u32) {
        let Some(number) = (flow as usize).checked_sub(self.keys.len()) else { return };
        if self.newcomers.len() <= number {
            self.newcomers.resize(number + 1, 0);
        }
        self.newcomers[number] = key;
    }

    /// The leaf, and the slot in its queue, which is hashed by the flow.
    fn place(&mut self, key: usize, packet: &Packet, flows: &dyn FlowTable, now: Time) -> usize {
        let leaf = self.leaf(self.queues[key]);
        let flow = match self.keys.get(packet.flow as usize) {
            Some(key) => *key as usize,
            None => self.key_of_newcomer(packet.flow) as usize,
        };
        leaf << SLOT_BITS | self.leaves[leaf].queue.place(flow, packet, flows, now)
    }

    fn is_full(&self, place: usize, _bytes: u64, size: u16) -> bool {
        self.leaves[place >> SLOT_BITS].queue.is_full(place & SLOT, size)
    }

    fn admit(&mut self, place: usize, packet: &mut Packet, now: Time) -> Verdict {
        self.leaves[place >> SLOT_BITS].queue.admit(place & SLOT, packet, now)
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn can_push_out(&self, place: usize, size: u16) -> bool {
        self.leaves[place >> SLOT_BITS].queue.can_push_out(place & SLOT, size)
    }

    fn push_out(&mut self, place: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool {
        let leaf = &mut self.leaves[place >> SLOT_BITS];
        let before = dropped.len();
        let did = leaf.queue.push_out(place & SLOT, size, dropped);
        let (class, empty) = (leaf.class, leaf.queue.packets() == 0);
        count_drops(&dropped[before..], self.counts(class));
        if empty {
            self.deactivate(class);
        }
        did
    }

    fn turned_away(&mut self, place: usize, reason: Reason) {
        let class = self.leaves[place >> SLOT_BITS].class;
        self.counts(class).drops[reason as usize] += 1;
    }

    fn enqueue(&mut self, place: usize, item: Queued) {
        let leaf = &mut self.leaves[place >> SLOT_BITS];
        leaf.queue.enqueue(place & SLOT, item);
        let (class, priority) = (leaf.class, leaf.priority);
        if self.classes[class as usize].active == 0 {
            self.classes[class as usize].active = 1 << priority;
            self.activate(class);
        }
    }

    /// The packet of a class that may send (`htb_dequeue`).
    #[inline(never)]
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
        let clock = self.arithmetic.clock(now);
        let mut next = i128::MAX;
        for level in ones(self.levels) {
            next = next.min(self.improve(level, clock));
            for priority in ones(self.priorities) {
                if !self.rounds[level][priority].members.is_empty() {
                    self.next = Time::NEVER;
                    return self.serve(level, priority, clock, now, dropped);
                }
            }
        }
        self.next = if next == i128::MAX { Time::NEVER } else { self.arithmetic.instant(next) };
        None
    }

    fn next_event(&self) -> Time {
        self.next
    }

    /// No class changes its mode before the next event: as long as no round has a member, none gets one.
    fn blocked_until(&self, now: Time) -> Option<Time> {
        let idle = |rounds: &Rounds| ones(self.priorities).all(|p| rounds[p].members.is_empty());
        let blocked = now < self.next
            && self.next != Time::NEVER
            && ones(self.levels).all(|level| idle(&self.rounds[level]));
        blocked.then_some(self.next)
    }

    /// Only leaves have a backlog.
    fn observe_node(&self, n: usize, name: &str, now: Time) -> Option<f64> {
        let node = &self.classes[n];
        let bucket = |credit: i128, depth: i128, rate: Rate| {
            let passed = (self.arithmetic.clock(now) - node.charged).min(self.memory);
            Some(self.arithmetic.seconds((credit + passed).min(depth)) * rate.0 / 8.0)
        };
        let leaf = self.leaves.get(self.leaf_of[n] as usize);
        match name {
            "packets" | "bytes" if node.level > 0 => None,
            "packets" => Some(leaf.map_or(0.0, |leaf| f64::from(leaf.queue.packets()))),
            "bytes" => Some(leaf.map_or(0.0, |leaf| leaf.queue.bytes() as f64)),
            "tokens" => bucket(node.tokens, node.depth, self.params[n].rate),
            "ctokens" => bucket(node.ctokens, node.ceil_depth, self.params[n].ceil),
            _ => self
                .count_of(n)
                .map_or(NodeCounts::default(), |at| self.counts[at])
                .named(name)
                .map(|count| count as f64),
        }
    }

    fn nodes(&self) -> usize {
        self.classes.len()
    }

    fn node_counts(&self) -> &[NodeCounts] {
        &self.counts
    }

    fn count_of(&self, node: usize) -> Option<usize> {
        let counts = self.classes[node].counts;
        (counts != NONE).then_some(counts as usize)
    }

    fn heap_bytes(&self) -> u64 {
        let leaves = self.leaves.iter().map(|leaf| leaf.queue.heap_bytes()).sum::<u64>();
        let rounds = self.rounds.iter().flatten().map(|round| round.members.heap_bytes()).sum::<u64>();
        let waits = self.waits.iter().map(Heap::heap_bytes).sum::<u64>();
        // Classes with the same parameters share these, and the tables of prices.
        let shared = self.params.windows(2).filter(|pair| !Arc::ptr_eq(&pair[0], &pair[1])).count() + 1;
        let tables = if self.arithmetic == Arithmetic::Ticks { 2 * size_of::<Cells>() } else { 0 };
        let of_params = size_of::<ClassParams>() + tables;
        let tables = [self.classes.heap_bytes(), self.leaf_of.heap_bytes(), self.queues.heap_bytes()];
        let lists = [self.params.heap_bytes(), self.counts.heap_bytes(), self.newcomers.heap_bytes()];
        let own = self.leaves.heap_bytes() + self.rounds.heap_bytes() + (shared * of_params) as u64;
        leaves + rounds + waits + own + tables.into_iter().chain(lists).sum::<u64>()
    }

    fn heap_step(&self) -> u64 {
        let last = self.params.chunk_by(Arc::ptr_eq).filter_map(<[_]>::first);
        let leaf = |class: &Arc<ClassParams>| Q::nested(&class.leaf, class.rate, &self.hash).heap_bytes();
        last.map(leaf).max().unwrap_or(0)
    }

    fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
        self.in_order().for_each(|leaf| leaf.queue.for_each(show));
    }
}

impl<Q: Nested<Params = LeafParams>> Kind for Htb<Q> {
    fn build(values: &Values, served: &Served) -> Result<Htb<Q>, Vec<Problem>> {
        let params = match values.raw(tables::Given::each) {
            None => Params::by_class(values, served.link.classes),
            Some(_) => Params::by_owner(values, served.owners),
        };
        Ok(Htb::new(params?, served.keys.clone(), served.hash))
    }

    fn adopt(&mut self, other: Htb<Q>, now: Time, _dropped: &mut Vec<Dropped>) {
        let clock = self.arithmetic.clock(now);
        self.r2q = other.r2q;
        for (n, params) in other.params.iter().enumerate() {
            if self.params[n] != *params {
                self.set(n as u32, params, clock);
            }
        }
    }

    fn succeed(&mut self, old: &Htb<Q>) {
        self.newcomers.clone_from(&old.newcomers);
        self.counts.clone_from(&old.counts);
        for (class, old) in self.classes.iter_mut().zip(&old.classes) {
            class.counts = old.counts;
        }
        for leaf in &old.leaves {
            self.counts(leaf.class).drops[Reason::Reconfigured as usize] += u64::from(leaf.queue.packets());
        }
    }

    fn check(values: &Values) -> Vec<Problem> {
        tree_problems(values)
    }

    fn marks(values: &Values) -> bool {
        params::marks(values)
    }
}

#[cfg(test)]
mod tests;
