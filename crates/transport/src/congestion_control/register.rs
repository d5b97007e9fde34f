//! The macro that makes an enum of the registered controls: static dispatch on the path of every packet.

/// Declares each control's module and makes [`Kind`], [`CongestionControl`]'s dispatch and [`CONTROLS`] of
/// the lines `module: Type(how it is kept)`.
///
/// [`Kind`]: super::Kind
/// [`CongestionControl`]: super::CongestionControl
/// [`CONTROLS`]: super::CONTROLS
macro_rules! controls {
    ($($module:ident: $name:ident($kept:ty),)*) => {
        $(
            pub mod $module;
            pub use $module::$name;
        )*

        /// The registered controls, and one for any other.
        #[derive(Clone, Debug)]
        enum Kind {
            $($name($kept),)*
            External(Box<dyn External>),
        }

        /// The tables of all congestion controls.
        pub static CONTROLS: &[&Mechanism] = &[$(<$name as Registered>::TABLE,)*];

        static REGISTER: &[Registration] = &[$(Registration {
            table: <$name as Registered>::TABLE,
            build: |values, profile, weight| Ok(Kind::$name($name::build(values, profile, weight)?.into())),
            adopt: $name::adopt,
            contradictions: $name::contradictions,
        },)*];

        impl Kind {
            fn get(&self) -> &dyn Control {
                match self {
                    $(Kind::$name(control) => <$kept as std::borrow::Borrow<$name>>::borrow(control),)*
                    Kind::External(control) => &**control,
                }
            }

            fn get_mut(&mut self) -> &mut dyn Control {
                match self {
                    $(Kind::$name(control) => <$kept as std::borrow::BorrowMut<$name>>::borrow_mut(control),)*
                    Kind::External(control) => &mut **control,
                }
            }

            #[inline(never)]
            fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
                match self {
                    $(Kind::$name(control) => control.on_ack(w, acked, open),)*
                    Kind::External(control) => control.on_ack(w, acked, open),
                }
            }

            #[inline(never)]
            fn grow(&mut self, w: &mut Window, acked: &Acked) {
                match self {
                    $(Kind::$name(control) => control.grow(w, acked),)*
                    Kind::External(control) => control.grow(w, acked),
                }
            }

            /// `path` is made where a control looks at it.
            #[inline]
            fn pacing(&self, w: &Window, path: impl Fn() -> Path, mss: f64) -> Option<(f64, f64)> {
                match self {
                    $(Kind::$name(control) => {
                        control.pacing_rate(w, &path()).map(|rate| (rate, control.send_quantum(mss)))
                    })*
                    Kind::External(control) => {
                        control.pacing_rate(w, &path()).map(|rate| (rate, control.send_quantum(mss)))
                    }
                }
            }

            #[inline]
            fn on_packet_sent(&mut self, w: &mut Window, sent: &Sent) {
                match self {
                    $(Kind::$name(control) => control.on_packet_sent(w, sent),)*
                    Kind::External(control) => control.on_packet_sent(w, sent),
                }
            }

            #[inline]
            fn on_rate_sample(&mut self, w: &mut Window, sample: &RateSample) {
                match self {
                    $(Kind::$name(control) => control.on_rate_sample(w, sample),)*
                    Kind::External(control) => control.on_rate_sample(w, sample),
                }
            }

            #[inline]
            fn on_application_limited(&mut self, now: Time) {
                match self {
                    $(Kind::$name(control) => control.on_application_limited(now),)*
                    Kind::External(control) => control.on_application_limited(now),
                }
            }

            #[inline]
            fn on_proposal(&mut self, w: &mut Window, proposal: &Proposal) {
                match self {
                    $(Kind::$name(control) => control.on_proposal(w, proposal),)*
                    Kind::External(control) => control.on_proposal(w, proposal),
                }
            }
        }
    };
}

pub(super) use controls;
