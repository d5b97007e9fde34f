//! The admission rules, dispatched statically: whether an arriving packet may wait.

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Duration, Packet, Stream, Time, Verdict};

use crate::rule::{LinkFacts, Occupancy, Rule};
use crate::scheduler::DISCIPLINES;
use crate::{
    activity_aqm, codel, constant_probability, csfq, drop_preference, droptail, load_based, pie, red, rem,
    virtual_queue,
};

/// The places of the rules: variant, type, and what calls them by name.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident($rule:ty) = $table:expr,)*) => {
        /// An admission rule.
        #[derive(Clone, Debug)]
        pub enum Admission {
            $($(#[$doc])* $name(Box<$rule>),)*
        }

        /// The tables of all admission rules.
        pub(crate) static RULES: &[&Mechanism] = &[$(&$table,)*];

        impl Admission {
            /// The rule called `kind`. A mechanism that is rule and scheduler in one decides by itself: before it there is only room.
            pub fn build(kind: &str, values: &Values, link: LinkFacts) -> Result<Admission, Vec<Problem>> {
                $(if kind == $table.kind {
                    return <$rule as Rule>::build(values, link).map(|rule| Admission::$name(Box::new(rule)));
                })*
                assert!(DISCIPLINES.iter().any(|table| table.kind == kind), "no admission rule is called {kind}");
                Ok(Admission::DropTail(Box::new(droptail::DropTail)))
            }

            /// Whether it asks for nothing but room: see [`Rule::PLAIN`].
            pub fn is_plain(&self) -> bool {
                match self { $(Admission::$name(_) => <$rule as Rule>::PLAIN,)* }
            }

            /// Its table.
            pub fn table(&self) -> &'static Mechanism {
                match self { $(Admission::$name(_) => &$table,)* }
            }

            /// See [`Rule::admit`].
            #[inline(never)]
            pub fn admit(
                &mut self,
                packet: &mut Packet,
                now: Time,
                seen: &Occupancy,
                draws: &mut Stream,
            ) -> Verdict {
                match self { $(Admission::$name(rule) => rule.admit(packet, now, seen, draws),)* }
            }

            /// See [`Rule::next_tick`].
            #[inline]
            pub fn next_tick(&self) -> Time {
                match self { $(Admission::$name(rule) => rule.next_tick(),)* }
            }

            /// See [`Rule::tick`]; `now` is [`Admission::next_tick`].
            pub fn tick(&mut self, now: Time, seen: &Occupancy) {
                debug_assert_eq!(now, self.next_tick());
                match self { $(Admission::$name(rule) => rule.tick(seen),)* }
            }

            /// See [`Rule::rest`].
            #[cold]
            pub fn rest(&mut self, seen: &Occupancy, until: Time) {
                match self { $(Admission::$name(rule) => rule.rest(seen, until),)* }
            }

            /// See [`Rule::sees_dequeue`].
            pub fn sees_dequeue(&self) -> bool {
                match self { $(Admission::$name(rule) => rule.sees_dequeue(),)* }
            }

            /// See [`Rule::on_dequeue`].
            pub fn on_dequeue(&mut self, packet: &mut Packet, at: Time, now: Time, seen: &Occupancy) -> Verdict {
                match self { $(Admission::$name(rule) => rule.on_dequeue(packet, at, now, seen),)* }
            }

            /// See [`Rule::emptied`].
            pub fn emptied(&mut self) {
                match self { $(Admission::$name(rule) => rule.emptied(),)* }
            }

            /// See [`Rule::watches_departures`].
            pub fn watches_departures(&self) -> bool {
                match self { $(Admission::$name(rule) => rule.watches_departures(),)* }
            }

            /// See [`Rule::departed`].
            pub fn departed(&mut self, size: u16, busy: Duration, now: Time) {
                match self { $(Admission::$name(rule) => rule.departed(size, busy, now),)* }
            }

            /// See [`Rule::heap_bytes`]; with the rule itself.
            pub fn heap_bytes(&self) -> u64 {
                match self { $(Admission::$name(rule) => size_of_val(&**rule) as u64 + rule.heap_bytes(),)* }
            }

            /// See [`Rule::observe`].
            pub fn observe(&self, name: &str) -> Option<f64> {
                match self { $(Admission::$name(rule) => rule.observe(name),)* }
            }
        }

        /// See [`Rule::marks`].
        pub fn marks(kind: &str, values: &Values) -> bool {
            $(if kind == $table.kind {
                return <$rule as Rule>::marks(values);
            })*
            false
        }

        /// See [`Rule::check_partly`].
        pub fn check_partly(kind: &str, values: &Values) -> Vec<Problem> {
            $(if kind == $table.kind {
                return <$rule as Rule>::check_partly(values);
            })*
            Vec::new()
        }

        /// See [`Rule::complete`].
        pub fn complete(kind: &str, values: &mut Values) {
            $(if kind == $table.kind {
                <$rule as Rule>::complete(values);
            })*
        }

        /// See [`Rule::presets`].
        pub fn presets(kind: &str) -> Option<Vec<Vec<String>>> {
            $(if kind == $table.kind {
                return <$rule as Rule>::presets();
            })*
            None
        }
    };
}

// A new rule is a line here, in the order in which documents list them.
rules! {
    /// See [`crate::activity_aqm`].
    Activity(activity_aqm::ActivityAqm) = activity_aqm::TABLE,
    /// See [`crate::codel`].
    Codel(codel::Codel) = codel::TABLE,
    /// See [`crate::constant_probability`].
    Constant(constant_probability::ConstantProbability) = constant_probability::TABLE,
    /// See [`crate::csfq`].
    Csfq(csfq::Csfq) = csfq::TABLE,
    /// See [`crate::drop_preference`].
    Preference(drop_preference::DropPreference) = drop_preference::TABLE,
    /// See [`crate::droptail`].
    DropTail(droptail::DropTail) = droptail::TABLE,
    /// See [`crate::load_based`].
    Load(load_based::LoadBased) = load_based::TABLE,
    /// See [`crate::pie`].
    Pie(pie::Pie) = pie::TABLE,
    /// See [`crate::red`].
    Red(red::Red) = red::TABLE,
    /// See [`crate::rem`].
    Rem(rem::Rem) = rem::TABLE,
    /// See [`crate::virtual_queue`].
    Virtual(virtual_queue::VirtualQueue) = virtual_queue::TABLE,
}
