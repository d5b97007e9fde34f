//! The schedulers of a link with several queues, dispatched statically.
//!
//! A FIFO without a rule at departure needs none: its link knows a packet's fate on arrival. All queues of a
//! link share limit and admission averages. Schedulers drop only to make space ([`Schedule::push_out`]),
//! except [`crate::fq_codel`], whose queues have a rule each.

use evenflow_base::schema::{Mechanism, Problem, Value, Values};
use evenflow_base::{Packet, Rate, Reason, Share, Time, Verdict};

use crate::cake::Cake;
use crate::cobalt::Cobalt;
use crate::drr::Drr;
use crate::dualpi2::DualPi2;
use crate::fifo::Fifo;
use crate::fq::Fq;
use crate::fq_codel::FqCodel;
use crate::fq_pie::FqPie;
use crate::held::{
    Dropped, FlowTable, HashStats, Kind, Nested, NodeCounts, Note, Queued, Schedule, Sent, Served,
};
use crate::htb::{Htb, LeafParams};
use crate::medf::Medf;
use crate::sfq::Sfq;
use crate::strict::Strict;
use crate::tbf::Tbf;

/// The places of the schedulers: variant, type, and what calls them by name.
macro_rules! schedulers {
    (
        schedulers { $($(#[$doc:meta])* $name:ident($scheduler:ty) in $module:ident,)* }
        disciplines { $($(#[$own_doc:meta])* $own:ident($own_scheduler:ty) in $own_module:ident,)* }
    ) => {
        schedulers!(@kinds { $($name($scheduler) in $module,)* $($own($own_scheduler) in $own_module,)* });
        schedulers!(@all {
            $($(#[$doc])* $name($scheduler),)*
            $($(#[$own_doc])* $own($own_scheduler),)*
            /// One that is no part of this crate.
            External(dyn Schedule),
        });

        /// The tables of all mechanisms that are rule and scheduler in one.
        pub(crate) static DISCIPLINES: &[&Mechanism] = &[$(&crate::$own_module::TABLE,)*];

        /// The tables of all schedulers.
        pub static SCHEDULERS: &[&Mechanism] = &[$(&crate::$module::TABLE,)*];
    };
    (@kinds { $($name:ident($scheduler:ty) in $module:ident,)* }) => {
        impl<Q: Leaf> Scheduler<Q> {
            /// The scheduler called `kind`, or that of the rule called so, for those whom it serves.
            pub fn build(kind: &str, values: &Values, served: &Served) -> Result<Self, Vec<Problem>> {
                $(if kind == crate::$module::TABLE.kind {
                    return <$scheduler>::build(values, served).map(|s| Scheduler::$name(Box::new(s)));
                })*
                panic!("there is no scheduler {kind}")
            }

            /// See [`Kind::adopt`]; of another kind: nothing.
            pub fn adopt(&mut self, other: Self, now: Time, dropped: &mut Vec<Dropped>) {
                match (self, other) {
                    $((Scheduler::$name(s), Scheduler::$name(other)) => s.adopt(*other, now, dropped),)*
                    _ => {}
                }
            }

            /// Replaces the scheduler by `new`. The backlog is added to `dropped`.
            pub fn replace(&mut self, mut new: Self, dropped: &mut Vec<Dropped>) {
                self.for_each(&mut |item| dropped.push((*item, Reason::Reconfigured)));
                match (&mut new, &*self) {
                    $((Scheduler::$name(new), Scheduler::$name(old)) => new.succeed(old),)*
                    _ => {}
                }
                *self = new;
            }

            /// See [`Kind::check`]; `None` where no scheduler is called `kind`.
            pub fn check(kind: &str, values: &Values) -> Option<Vec<Problem>> {
                $(if kind == crate::$module::TABLE.kind {
                    return Some(<$scheduler>::check(values));
                })*
                None
            }

            /// See [`Kind::check_link`].
            pub fn check_link(kind: &str, values: &Values, rate: Rate) -> Vec<Problem> {
                $(if kind == crate::$module::TABLE.kind {
                    return <$scheduler>::check_link(values, rate);
                })*
                Vec::new()
            }

            /// See [`Kind::limit`].
            pub fn limit(kind: &str, values: &Values) -> Option<Value> {
                $(if kind == crate::$module::TABLE.kind {
                    return <$scheduler>::limit(values);
                })*
                None
            }

            /// See [`Kind::marks`]; `None` where no scheduler is called `kind`.
            pub fn marks(kind: &str, values: &Values) -> Option<bool> {
                $(if kind == crate::$module::TABLE.kind {
                    return Some(<$scheduler>::marks(values));
                })*
                None
            }
        }
    };
    (@all { $($(#[$doc:meta])* $name:ident($scheduler:ty),)* }) => {
        /// A scheduler over numbered queues, whose classes may hold disciplines `Q`.
        #[derive(Debug)]
        pub enum Scheduler<Q: Leaf> {
            $($(#[$doc])* $name(Box<$scheduler>),)*
        }

        impl<Q: Leaf> Scheduler<Q> {
            /// See [`Schedule::place`].
            #[inline]
            pub fn place(&mut self, key: usize, packet: &Packet, flows: &dyn FlowTable, now: Time) -> usize {
                match self { $(Scheduler::$name(s) => s.place(key, packet, flows, now),)* }
            }

            /// See [`Schedule::watch`].
            pub fn watch(&mut self) {
                match self { $(Scheduler::$name(s) => s.watch(),)* }
            }

            /// See [`Schedule::notes`].
            pub fn notes(&self) -> &[Note] {
                match self { $(Scheduler::$name(s) => s.notes(),)* }
            }

            /// See [`Schedule::next_tick`].
            pub fn next_tick(&self) -> Time {
                match self { $(Scheduler::$name(s) => s.next_tick(),)* }
            }

            /// See [`Schedule::tick`].
            pub fn tick(&mut self, now: Time) {
                match self { $(Scheduler::$name(s) => s.tick(now),)* }
            }

            /// See [`Schedule::introduce`].
            pub fn introduce(&mut self, flow: u32, key: u32) {
                match self { $(Scheduler::$name(s) => s.introduce(flow, key),)* }
            }

            /// See [`Schedule::share`].
            pub fn share(&mut self, key: usize, share: &Share, now: Time, dropped: &mut Vec<Dropped>) -> bool {
                match self { $(Scheduler::$name(s) => s.share(key, share, now, dropped),)* }
            }

            /// See [`Schedule::has`].
            pub fn has(&self, key: usize) -> bool {
                match self { $(Scheduler::$name(s) => s.has(key),)* }
            }

            /// See [`Schedule::enqueue`].
            pub fn enqueue(&mut self, queue: usize, item: Queued) {
                match self { $(Scheduler::$name(s) => Schedule::enqueue(&mut **s, queue, item),)* }
            }

            /// See [`Schedule::dequeue`].
            pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Sent> {
                match self { $(Scheduler::$name(s) => Schedule::dequeue(&mut **s, now, dropped),)* }
            }

            /// See [`Schedule::next_event`].
            pub fn next_event(&self) -> Time {
                match self { $(Scheduler::$name(s) => s.next_event(),)* }
            }

            /// See [`Schedule::blocked_until`].
            #[inline]
            pub fn blocked_until(&self, now: Time) -> Option<Time> {
                match self { $(Scheduler::$name(s) => s.blocked_until(now),)* }
            }

            /// See [`Schedule::sees_all`].
            pub fn sees_all(&self) -> bool {
                match self { $(Scheduler::$name(s) => s.sees_all(),)* }
            }

            /// See [`Schedule::is_full`].
            pub fn is_full(&self, queue: usize, bytes: u64, size: u16) -> bool {
                match self { $(Scheduler::$name(s) => s.is_full(queue, bytes, size),)* }
            }

            /// See [`Schedule::refuses`].
            #[inline]
            pub fn refuses(&self, size: u16) -> Option<Reason> {
                match self { $(Scheduler::$name(s) => s.refuses(size),)* }
            }

            /// See [`Schedule::admit`].
            #[inline]
            pub fn admit(&mut self, queue: usize, packet: &mut Packet, now: Time) -> Verdict {
                match self { $(Scheduler::$name(s) => s.admit(queue, packet, now),)* }
            }

            /// See [`Schedule::can_push_out`].
            pub fn can_push_out(&self, queue: usize, size: u16) -> bool {
                match self { $(Scheduler::$name(s) => s.can_push_out(queue, size),)* }
            }

            /// See [`Schedule::push_out`].
            pub fn push_out(&mut self, queue: usize, size: u16, dropped: &mut Vec<Dropped>) -> bool {
                match self { $(Scheduler::$name(s) => s.push_out(queue, size, dropped),)* }
            }

            /// See [`Schedule::turned_away`].
            pub fn turned_away(&mut self, queue: usize, reason: Reason) {
                match self { $(Scheduler::$name(s) => s.turned_away(queue, reason),)* }
            }

            /// See [`Schedule::observe`].
            pub fn observe(&self, name: &str, now: Time) -> Option<f64> {
                match self { $(Scheduler::$name(s) => s.observe(name, now),)* }
            }

            /// See [`Schedule::observe_node`].
            pub fn observe_node(&self, node: usize, name: &str, now: Time) -> Option<f64> {
                match self { $(Scheduler::$name(s) => s.observe_node(node, name, now),)* }
            }

            /// See [`Schedule::hash_stats`].
            pub fn hash_stats(&self) -> Option<&HashStats> {
                match self { $(Scheduler::$name(s) => s.hash_stats(),)* }
            }

            /// See [`Schedule::heap_bytes`]; with the scheduler itself.
            pub fn heap_bytes(&self) -> u64 {
                match self { $(Scheduler::$name(s) => size_of_val(&**s) as u64 + s.heap_bytes(),)* }
            }

            /// See [`Schedule::heap_step`].
            pub fn heap_step(&self) -> u64 {
                match self { $(Scheduler::$name(s) => s.heap_step(),)* }
            }

            /// See [`Schedule::nodes`].
            pub fn nodes(&self) -> usize {
                match self { $(Scheduler::$name(s) => s.nodes(),)* }
            }

            /// See [`Schedule::node_counts`].
            pub fn node_counts(&self) -> &[NodeCounts] {
                match self { $(Scheduler::$name(s) => s.node_counts(),)* }
            }

            /// See [`Schedule::count_of`].
            pub fn count_of(&self, node: usize) -> Option<usize> {
                match self { $(Scheduler::$name(s) => s.count_of(node),)* }
            }

            /// See [`Schedule::for_each`].
            pub fn for_each(&self, show: &mut dyn FnMut(&Queued)) {
                match self { $(Scheduler::$name(s) => s.for_each(show),)* }
            }
        }
    };
}

/// A queue discipline that a class of a scheduler may have.
pub trait Leaf: Nested<Params = LeafParams> {}

impl<Q: Nested<Params = LeafParams>> Leaf for Q {}

// A new scheduler is a line here, in the order in which documents list them.
schedulers! {
    schedulers {
        /// See [`crate::fifo`].
        Fifo(Fifo) in fifo,
        /// See [`crate::strict`].
        Strict(Strict) in strict,
        /// See [`crate::medf`].
        Medf(Medf) in medf,
        /// See [`crate::drr`].
        Drr(Drr) in drr,
        /// See [`crate::sfq`].
        Sfq(Sfq) in sfq,
        /// See [`crate::htb`].
        Htb(Htb<Q>) in htb,
        /// See [`crate::tbf`].
        Tbf(Tbf) in tbf,
    }
    disciplines {
        /// See [`crate::cake`].
        Cake(Cake) in cake,
        /// See [`crate::cobalt`].
        Cobalt(Cobalt) in cobalt,
        /// See [`crate::dualpi2`].
        DualPi2(DualPi2) in dualpi2,
        /// See [`crate::fq`].
        Fq(Fq) in fq,
        /// See [`crate::fq_codel`].
        FqCodel(FqCodel) in fq_codel,
        /// See [`crate::fq_pie`].
        FqPie(FqPie) in fq_pie,
    }
}
