//! The programs called RED, and what each says about the parameters on which they differ.

use evenflow_base::params::{Key, Parameter};
use evenflow_base::schema::{Value, Values};

use super::{Given, Spread, Variant};
use crate::Action;

/// A preset's value for a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// A truth value.
    Flag(bool),
    /// A pure number.
    Number(f64),
    /// Bytes.
    Bytes(f64),
    /// A word.
    Word(&'static str),
    /// It follows from other parameters, in words.
    Rule(&'static str),
}

impl Setting {
    /// As a decoded value; a rule has none.
    fn value(self) -> Option<Value> {
        match self {
            Setting::Flag(flag) => Some(Value::Flag(flag)),
            Setting::Number(x) => Some(Value::Number(x)),
            Setting::Bytes(x) => Some(Value::Bytes(x)),
            Setting::Word(word) => Some(Value::Word(word.into())),
            Setting::Rule(_) => None,
        }
    }

    fn words(self) -> String {
        match self {
            Setting::Flag(flag) => flag.to_string(),
            Setting::Number(x) => x.to_string(),
            Setting::Bytes(x) => format!("{x} B"),
            Setting::Word(word) | Setting::Rule(word) => word.into(),
        }
    }
}

/// The parameters on which presets differ, as fields that can be found by name too.
macro_rules! settings {
    ($($name:ident),* $(,)?) => {
        /// A preset's value for each of [`SETTINGS`].
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[expect(missing_docs, reason = "the parameters' own docs are in the table")]
        pub struct Settings {
            $(pub $name: Setting,)*
        }

        /// The parameters on which presets differ.
        pub const SETTINGS: [&str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

        impl Settings {
            /// The one of that name.
            pub fn named(&self, name: &str) -> Option<Setting> {
                $(if name == stringify!($name) {
                    return Some(self.$name);
                })*
                None
            }
        }
    };
}

settings! {
    max_probability,
    weight,
    mean_packet,
    gentle,
    hard_drop,
    spread,
    draw,
    crossing,
    after_forced,
    limit_restarts,
    spare_short_queue,
    size_scaling,
    idle,
    idle_factor,
    arithmetic,
}

/// One of the programs called RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Which one.
    pub variant: Variant,
    /// The reproduced program.
    pub of: &'static str,
    /// Values of the settings on which presets differ.
    pub settings: Settings,
}

const SCALED_IN_BYTES: &str = "mean with thresholds in bytes, else none";

/// All of them.
pub static PRESETS: [Preset; 4] = {
    use Setting::{Bytes, Flag, Number, Rule, Word};
    const NS2: Settings = Settings {
        max_probability: Number(0.1),
        weight: Rule("1 - exp(-1 / (10 R C)), R = max(0.1 s, 3 (delay + 1 / C))"),
        mean_packet: Bytes(500.0),
        gentle: Flag(true),
        hard_drop: Flag(true),
        spread: Word("ns2"),
        draw: Word("packet"),
        crossing: Word("exempt-counted"),
        after_forced: Word("restart"),
        limit_restarts: Flag(true),
        spare_short_queue: Flag(true),
        size_scaling: Rule(SCALED_IN_BYTES),
        idle: Word("whole"),
        idle_factor: Number(1.0),
        arithmetic: Word("real"),
    };
    const FLOYD: Settings = Settings {
        max_probability: Number(0.02),
        weight: Number(0.002),
        mean_packet: Bytes(500.0),
        gentle: Flag(false),
        hard_drop: Flag(false),
        spread: Word("floyd"),
        draw: Word("packet"),
        crossing: Word("judged"),
        after_forced: Word("restart"),
        limit_restarts: Flag(false),
        spare_short_queue: Flag(false),
        size_scaling: Rule("maximum with thresholds in bytes, else none"),
        idle: Word("exact"),
        idle_factor: Number(1.0),
        arithmetic: Word("real"),
    };
    [
        Preset {
            variant: Variant::Ns2,
            of: "ns-2 2.35, queue/red.cc, with use_mark_p_ false and thresholds given",
            settings: NS2,
        },
        Preset {
            variant: Variant::Ns3,
            of: "ns-3.37, RedQueueDisc",
            settings: Settings {
                max_probability: Number(0.02),
                weight: Number(0.002),
                after_forced: Word("keep"),
                limit_restarts: Flag(false),
                ..NS2
            },
        },
        Preset {
            variant: Variant::Linux,
            of: "Linux 6, sch_red, configured by tc of iproute2 6",
            settings: Settings {
                weight: Rule("largest 2^-k that accepts a burst of (2 min + max) / 3"),
                mean_packet: Bytes(1000.0),
                draw: Rule("interval with spread floyd, else packet"),
                crossing: Word("exempt"),
                after_forced: Word("crossing"),
                size_scaling: Word("none"),
                idle: Word("table"),
                idle_factor: Number(15.625),
                arithmetic: Rule("fixed with thresholds in bytes and a weight of a power of 2, else real"),
                ..FLOYD
            },
        },
        Preset {
            variant: Variant::Floyd,
            of: "Floyd and Jacobson 1993, figure 2 and section 4",
            settings: FLOYD,
        },
    ]
};

pub(super) fn preset(values: &Values) -> &'static Preset {
    let variant = values.read(Given::variant);
    PRESETS.iter().find(|p| p.variant == variant).unwrap_or(&PRESETS[0])
}

/// The value of a setting: as given, else as its preset has it; `None` where that is a rule.
pub(super) fn setting<T: Parameter<One = T>>(values: &Values, key: Key<Option<T>>) -> Option<T> {
    value(values, key.name).as_ref().and_then(T::one)
}

/// The same by name.
pub(super) fn value(values: &Values, name: &str) -> Option<Value> {
    if let Some(given) = values.get(name) {
        return Some(given.clone());
    }
    // A rule that never drops does not drop hard either.
    if name == Given::hard_drop.name && values.read(Given::action) == Action::MarkEverything {
        return Some(Value::Flag(false));
    }
    if name == Given::draw.name && is_linux(values) {
        let uniform = setting(values, Given::spread) == Some(Spread::Floyd);
        return Some(Value::Word(if uniform { "interval" } else { "packet" }.into()));
    }
    preset(values).settings.named(name)?.value()
}

/// Whether the preset is that of Linux, where some settings follow from others.
pub(super) fn is_linux(values: &Values) -> bool {
    preset(values).variant == Variant::Linux
}

/// See [`crate::presets`].
pub fn rows() -> Vec<Vec<String>> {
    let row = |name: &str, of: &dyn Fn(&Preset) -> String| {
        std::iter::once(name.to_owned()).chain(PRESETS.iter().map(of)).collect::<Vec<_>>()
    };
    let words = |p: &Preset, name: &str| p.settings.named(name).map_or_else(String::new, Setting::words);
    let mut rows = vec![row("setting", &|p| p.variant.word().into()), row("reproduces", &|p| p.of.into())];
    rows.extend(SETTINGS.iter().map(|name| row(name, &|p| words(p, name))));
    rows
}
