//! The admission rules, dispatched statically: whether an arriving packet may wait.

use evenflow_base::schema::{Mechanism, Problem, Values};
use evenflow_base::{Duration, Packet, Stream, Time, Verdict};

use crate::droptail::DropTail;
use crate::rule::{LinkFacts, Occupancy, Rule};
use crate::scheduler::DISCIPLINES;

/// The places of the rules: variant, type, and what calls them by name.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident($rule:ty),)*) => {
        /// An admission rule.
        #[derive(Clone, Debug)]
        pub enum Admission {
            $($(#[$doc])* $name(Box<$rule>),)*
        }

        /// The tables of all admission rules.
        pub(crate) static RULES: &[&Mechanism] = &[$(<$rule as Rule>::TABLE,)*];

        impl Admission {
            /// The rule called `kind`. A mechanism that is rule and scheduler in one decides by itself: before it there is only room.
            pub fn build(kind: &str, values: &Values, link: LinkFacts) -> Result<Admission, Vec<Problem>> {
                $(if kind == <$rule as Rule>::TABLE.kind {
                    return <$rule as Rule>::build(values, link).map(|rule| Admission::$name(Box::new(rule)));
                })*
                assert!(DISCIPLINES.iter().any(|table| table.kind == kind), "no admission rule is called {kind}");
                Ok(Admission::DropTail(Box::new(DropTail)))
            }

            /// Whether it asks for nothing but room: see [`Rule::PLAIN`].
            pub fn is_plain(&self) -> bool {
                match self { $(Admission::$name(_) => <$rule as Rule>::PLAIN,)* }
            }

            /// See [`Rule::TABLE`].
            pub fn table(&self) -> &'static Mechanism {
                match self { $(Admission::$name(_) => <$rule as Rule>::TABLE,)* }
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
            $(if kind == <$rule as Rule>::TABLE.kind {
                return <$rule as Rule>::marks(values);
            })*
            false
        }

        /// See [`Rule::check_partly`].
        pub fn check_partly(kind: &str, values: &Values) -> Vec<Problem> {
            $(if kind == <$rule as Rule>::TABLE.kind {
                return <$rule as Rule>::check_partly(values);
            })*
            Vec::new()
        }

        /// See [`Rule::complete`].
        pub fn complete(kind: &str, values: &mut Values) {
            $(if kind == <$rule as Rule>::TABLE.kind {
                <$rule as Rule>::complete(values);
            })*
        }

        /// See [`Rule::presets`].
        pub fn presets(kind: &str) -> Option<Vec<Vec<String>>> {
            $(if kind == <$rule as Rule>::TABLE.kind {
                return <$rule as Rule>::presets();
            })*
            None
        }
    };
}

// A new rule is a line here, in the order in which documents list them.
rules! {
    /// See [`crate::activity_aqm`].
    Activity(crate::activity_aqm::ActivityAqm),
    /// See [`crate::codel`].
    Codel(crate::codel::Codel),
    /// See [`crate::constant_probability`].
    Constant(crate::constant_probability::ConstantProbability),
    /// See [`crate::csfq`].
    Csfq(crate::csfq::Csfq),
    /// See [`crate::drop_preference`].
    Preference(crate::drop_preference::DropPreference),
    /// See [`crate::droptail`].
    DropTail(crate::droptail::DropTail),
    /// See [`crate::load_based`].
    Load(crate::load_based::LoadBased),
    /// See [`crate::pie`].
    Pie(crate::pie::Pie),
    /// See [`crate::red`].
    Red(crate::red::Red),
    /// See [`crate::rem`].
    Rem(crate::rem::Rem),
    /// See [`crate::virtual_queue`].
    Virtual(crate::virtual_queue::VirtualQueue),
}
