//! The macro that makes an enum of the registered controls, so that they are called without a pointer (`dyn`).

/// Declares each control's module and makes [`CongestionControl`], its calls and [`CONTROLS`] of the lines
/// `module: Type(how it is kept)`.
///
/// [`CongestionControl`]: super::CongestionControl
/// [`CONTROLS`]: super::CONTROLS
macro_rules! controls {
    ($($module:ident: $name:ident($kept:ty),)*) => {
        $(
            pub mod $module;
            pub use $module::$name;
        )*

        /// A congestion control, dispatched statically; its calls are those of [`Control`].
        #[derive(Clone, Debug)]
        pub enum CongestionControl {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $name($kept),
            )*
        }

        /// The tables of all congestion controls.
        pub static CONTROLS: &[&Mechanism] = &[$(<$name as Control>::TABLE,)*];

        /// See [`Control::contradictions`].
        pub fn contradictions(kind: &str, values: &Values, profile: &Profile) -> Vec<String> {
            $(
                if kind == <$name as Control>::TABLE.kind {
                    return <$name as Control>::contradictions(values, profile);
                }
            )*
            Vec::new()
        }

        /// See [`Control::reach`].
        pub fn reach(kind: &str, values: &Values, weight: &Value) -> Reach {
            $(
                if kind == <$name as Control>::TABLE.kind {
                    return <$name as Control>::reach(values, weight);
                }
            )*
            Reach::default()
        }

        /// See [`Control::adopt`].
        pub fn adopt(kind: &str, profile: &mut Profile) {
            $(
                if kind == <$name as Control>::TABLE.kind {
                    <$name as Control>::adopt(profile);
                }
            )*
        }

        impl CongestionControl {
            /// The control called `kind`: see [`Control::build`].
            pub fn build(
                kind: &str,
                values: &Values,
                profile: &Profile,
                weight: f64,
            ) -> Result<CongestionControl, Vec<Problem>> {
                $(
                    if kind == <$name as Control>::TABLE.kind {
                        return <$name as Control>::build(values, profile, weight)
                            .map(|control| CongestionControl::$name(control.into()));
                    }
                )*
                panic!("no congestion control is called {kind}")
            }

            /// The table of the control.
            pub fn table(&self) -> &'static Mechanism {
                match self { $(CongestionControl::$name(_) => <$name as Control>::TABLE,)* }
            }

            /// See [`Control::start`].
            pub fn start(&mut self, window: &mut Window, mss: f64) {
                match self { $(CongestionControl::$name(control) => control.start(window, mss),)* }
            }

            /// See [`Control::wants_every_ack`].
            #[inline]
            pub fn wants_every_ack(&self) -> bool {
                match self { $(CongestionControl::$name(control) => control.wants_every_ack(),)* }
            }

            /// See [`Control::needs_one_way_delay`].
            pub fn needs_one_way_delay(&self) -> bool {
                match self { $(CongestionControl::$name(control) => control.needs_one_way_delay(),)* }
            }

            /// See [`Control::on_ack`].
            #[inline(never)]
            pub fn on_ack(&mut self, window: &mut Window, acked: &Acked, open: bool) {
                match self { $(CongestionControl::$name(control) => control.on_ack(window, acked, open),)* }
            }

            /// See [`Control::grow`].
            #[inline(always)]
            pub fn grow(&mut self, window: &mut Window, acked: &Acked) {
                match self {
                    CongestionControl::NewReno(control) => control.grow(window, acked),
                    other => other.grow_otherwise(window, acked),
                }
            }

            #[inline(never)]
            fn grow_otherwise(&mut self, window: &mut Window, acked: &Acked) {
                match self { $(CongestionControl::$name(control) => control.grow(window, acked),)* }
            }

            /// See [`Control::reduce`].
            #[inline]
            pub fn reduce(&mut self, window: &Window, event: &Congestion) -> f64 {
                match self { $(CongestionControl::$name(control) => control.reduce(window, event),)* }
            }

            /// See [`Control::after_mark`].
            pub fn after_mark(&self, before: &Window, event: &Congestion, ssthresh: f64) -> f64 {
                match self {
                    $(CongestionControl::$name(control) => control.after_mark(before, event, ssthresh),)*
                }
            }

            /// See [`Control::takes_every_mark`].
            #[inline]
            pub fn takes_every_mark(&self) -> bool {
                match self { $(CongestionControl::$name(control) => control.takes_every_mark(),)* }
            }

            /// See [`Control::floor`].
            #[inline]
            pub fn floor(&self, mss: f64) -> f64 {
                match self { $(CongestionControl::$name(control) => control.floor(mss),)* }
            }

            /// See [`Control::resumed`].
            pub fn resumed(&mut self, idle: Duration) {
                match self { $(CongestionControl::$name(control) => control.resumed(idle),)* }
            }

            /// See [`Control::held`].
            #[inline]
            pub fn held(&mut self, now: Time) {
                match self { $(CongestionControl::$name(control) => control.held(now),)* }
            }

            /// See [`Control::lost_all`].
            pub fn lost_all(&mut self, next: u64) {
                match self { $(CongestionControl::$name(control) => control.lost_all(next),)* }
            }

            /// See [`Control::halving_floor`].
            pub fn halving_floor(&self, ssthresh: f64, mss: f64) -> f64 {
                match self { $(CongestionControl::$name(control) => control.halving_floor(ssthresh, mss),)* }
            }

            /// See [`Control::remembered`].
            pub fn remembered(&self, mss: f64) -> Option<f64> {
                match self { $(CongestionControl::$name(control) => control.remembered(mss),)* }
            }

            /// See [`Control::undo`].
            pub fn undo(&mut self, window: &Window, mss: f64) {
                match self { $(CongestionControl::$name(control) => control.undo(window, mss),)* }
            }

            /// See [`Control::observe`].
            pub fn observe(&self, name: &str) -> Option<f64> {
                match self { $(CongestionControl::$name(control) => control.observe(name),)* }
            }
        }
    };
}

pub(super) use controls;
