//! Policer: a three-colour marker (RFC 2697, one rate; RFC 2698, two rates) with an action for each colour.
//! It adds no delay.
//!
//! A traffic class carries a colour to the next policer, as the DS field in RFC 2697 section 4; that policer
//! is then colour-aware. Without excess burst and peak rate it is the two-colour policer of routers and `tc`.

use evenflow_base::bucket::too_deep;
use evenflow_base::params::Key;
use evenflow_base::schema::{Counter, Deviation, Mechanism, Problem, Room, Value, Values, sound};
use evenflow_base::{Packet, Rate, Reason};

use crate::station::{Cx, Kind, Owner, Pass, Station};
use crate::three_colour::{Beyond, Colour, Meter, Profile, Unit};

/// Action on the packets of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// They go on as they are.
    Pass,
    /// They are dropped.
    Drop,
    /// They go on in this class.
    Class(u8),
}

/// Its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Unit of rates and bursts.
    pub unit: Unit,
    /// CIR and CBS.
    pub committed: Profile,
    /// EBS, or PIR and PBS.
    pub beyond: Beyond,
    /// By colour.
    pub fates: [Fate; 3],
    /// The colour with which packets of each class arrive; of classes that are not in it, green.
    pub before: Vec<Colour>,
}

/// The parameters that say what becomes of a colour.
const FATES: [Key<String>; 3] = [Given::green, Given::yellow, Given::red];
/// Those that say which classes are of a colour already.
const BEFORE: [(Key<Option<Vec<String>>>, Colour); 2] =
    [(Given::precoloured_yellow, Colour::Yellow), (Given::precoloured_red, Colour::Red)];

impl Params {
    /// From decoded values.
    pub fn new(values: &Values, classes: &[String]) -> Result<Params, Vec<Problem>> {
        sound(problems(values))?;
        let given = Given::read(values);
        let profile = |rate: &Value, burst: &Value| Profile {
            rate: rate.number().unwrap_or(0.0),
            burst: burst.number().unwrap_or(0.0) as u64,
        };
        let beyond = match (&given.peak_rate, &given.peak_burst, &given.excess_burst) {
            (Some(rate), Some(burst), _) => Beyond::Peak(profile(rate, burst)),
            (_, _, excess) => Beyond::Excess(excess.as_ref().and_then(Value::number).unwrap_or(0.0) as u64),
        };
        let number = |name: &str| classes.iter().position(|class| class == name);
        let fate = |key: Key<String>| match values.read(key).as_str() {
            "pass" => Fate::Pass,
            "drop" => Fate::Drop,
            class => number(class).map_or(Fate::Pass, |class| Fate::Class(class as u8)),
        };
        let colour = |class: &String| {
            let named = BEFORE.into_iter().find(|(list, _)| listed(values, *list).contains(class));
            named.map_or(Colour::Green, |(_, colour)| colour)
        };
        Ok(Params {
            unit: unit(Some(&given.rate)).unwrap_or(Unit::Bytes),
            committed: profile(&given.rate, &given.burst),
            beyond,
            fates: FATES.map(fate),
            before: classes.iter().map(colour).collect(),
        })
    }
}

fn unit(value: Option<&Value>) -> Option<Unit> {
    match value? {
        Value::Rate(_) | Value::Bytes(_) => Some(Unit::Bytes),
        Value::PacketRate(_) | Value::Packets(_) => Some(Unit::Packets),
        _ => None,
    }
}

fn listed(values: &Values, key: Key<Option<Vec<String>>>) -> Vec<String> {
    values.at(key).unwrap_or_default()
}

/// Errors in the combination of parameters; some may be missing.
fn problems(values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let own = unit(values.raw(Given::rate));
    let others = [Given::excess_burst, Given::peak_rate, Given::peak_burst];
    for name in std::iter::once(Given::burst.name).chain(others.map(|key| key.name)) {
        if let (Some(own), Some(other)) = (own, unit(values.get(name)))
            && own != other
        {
            let (own, other) = (own.name(), other.name());
            problems.push((name, format!("counts {other}, but rate counts {own}; use one unit for both")));
        }
    }
    let number = |value: Option<&Value>| value.and_then(Value::number);
    let (rate, peak) = (values.raw(Given::rate), values.raw(Given::peak_rate));
    if let (Some(rate), Some(peak_rate)) = (number(rate), number(peak))
        && peak_rate < rate
        && unit(peak) == own
    {
        let of = if own == Some(Unit::Packets) { "packets/s" } else { "bit/s" };
        problems.push((
            Given::peak_rate.name,
            format!("must be at least rate: {peak_rate} {of} is less than {rate} {of}"),
        ));
    }
    match (peak, values.raw(Given::peak_burst)) {
        (Some(_), None) => {
            problems.push((
                Given::peak_burst.name,
                "is required with peak_rate: bytes or packets, for example \"30 kB\"".into(),
            ));
        }
        (None, Some(_)) => problems.push((Given::peak_burst.name, "has no effect without peak_rate".into())),
        _ => {}
    }
    if peak.is_some() && values.has(Given::excess_burst) {
        let why = "excludes peak_rate; give one of the two (RFC 2697 has an excess burst, RFC 2698 a peak \
                   rate)";
        problems.push((Given::excess_burst.name, why.into()));
    }
    let (committed, excess) = (values.raw(Given::rate), Given::excess_burst.name);
    let peak_burst = Given::peak_burst.name;
    for (rate, burst) in [(committed, Given::burst.name), (committed, excess), (peak, peak_burst)] {
        let size = values.get(burst);
        if let (Some(Value::Rate(rate)), Some(Value::Bytes(burst_size))) = (rate, size) {
            problems.extend(too_deep(Rate(*rate), *burst_size).map(|why| (burst, why)));
        }
        if let (Some(Value::PacketRate(rate)), Some(Value::Packets(packets))) = (rate, size) {
            problems.extend(too_deep(Rate(8.0 * rate), *packets).map(|why| (burst, why)));
        }
    }
    for class in listed(values, Given::precoloured_red) {
        if listed(values, Given::precoloured_yellow).contains(&class) {
            problems.push((
                Given::precoloured_red.name,
                format!("class \"{class}\" is also in precoloured_yellow"),
            ));
        }
    }
    problems
}

/// The policer and its state.
#[derive(Clone, Debug)]
pub struct Policer {
    meter: Box<Meter>,
    fates: [Fate; 3],
    before: Vec<Colour>,
    /// By colour.
    packets: [u64; 3],
    bytes: [u64; 3],
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(params: Params) -> Policer {
        let Params { unit, committed, beyond, fates, before } = params;
        let meter = Box::new(Meter::new(unit, committed, beyond));
        Policer { meter, fates, before, packets: [0; 3], bytes: [0; 3] }
    }
}

impl Station for Policer {
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        const REASONS: [Reason; 3] = [Reason::PolicedGreen, Reason::PolicedYellow, Reason::PolicedRed];
        let before = self.before.get(usize::from(packet.class)).copied().unwrap_or(Colour::Green);
        let colour = self.meter.colour(packet.size, before, cx.now) as usize;
        self.packets[colour] += 1;
        self.bytes[colour] += u64::from(packet.size);
        match self.fates[colour] {
            Fate::Pass => {}
            Fate::Drop => return Pass::Drop(REASONS[colour]),
            Fate::Class(class) => packet.class = class,
        }
        Pass::On
    }
}

impl Kind for Policer {
    fn build(values: &Values, owner: Owner) -> Result<Policer, Vec<Problem>> {
        Params::new(values, owner.classes).map(Policer::new)
    }

    fn classes_after(values: &Values, class: &str) -> Vec<String> {
        let named =
            BEFORE.into_iter().find(|(list, _)| listed(values, *list).iter().any(|name| name == class));
        let before = named.map_or(Colour::Green, |(_, colour)| colour);
        let beyond = values.has(Given::peak_rate) || values.has(Given::excess_burst);
        let mut after: Vec<String> = Vec::new();
        for colour in Colour::ALL {
            // Without a second bucket only what arrives yellow is ever yellow, and then it is red.
            if colour < before || colour == Colour::Yellow && !beyond {
                continue;
            }
            let class = match values.read(FATES[colour as usize]) {
                word if word == "pass" => class.to_owned(),
                word if word == "drop" => continue,
                other => other,
            };
            if after.iter().all(|known| *known != class) {
                after.push(class);
            }
        }
        after
    }

    fn classes_given(values: &Values) -> Vec<(&'static str, String)> {
        let of = |key: Key<String>| {
            let class = values.at(key).filter(|word| word != "pass" && word != "drop");
            class.map(|class| (key.name, class))
        };
        FATES.into_iter().filter_map(of).collect()
    }

    fn words_for_classes() -> &'static [&'static str] {
        &["pass", "drop"]
    }

    fn buckets(_values: &Values) -> &'static [&'static str] {
        &[Given::burst.name, Given::excess_burst.name, Given::peak_burst.name]
    }

    fn problems(values: &Values) -> Vec<Problem> {
        problems(values)
    }
}

const SRTCM: &str = "RFC 2697 section 2";
const TRTCM: &str = "RFC 2698 section 2";
const ROUTERS: &str = "default of routers and of tc's `police … drop`";

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Committed rate (CIR) in bits or packets per second. Bursts count bytes or packets accordingly.
        rate: Value = RateOrPacketRate, Required, Range::POSITIVE => source: SRTCM;
        /// Committed burst (CBS), the size of its bucket. All buckets start full.
        burst: Value = PacketsOrBytes, Required, Range::FROM_ONE => source: SRTCM;
        /// Excess burst (EBS): a second bucket that the overflow of the first one fills.
        excess_burst: Option<Value> = PacketsOrBytes, Absent("no yellow"), Range::FROM_ONE => source: SRTCM;
        /// Peak rate (PIR), at least rate: fills a second bucket. Packets beyond it are red.
        peak_rate: Option<Value> = RateOrPacketRate, Absent("a single rate"), Range::POSITIVE => source: TRTCM;
        /// Peak burst (PBS): bucket size of the peak rate.
        peak_burst: Option<Value> = PacketsOrBytes, Absent("required with peak_rate"), Range::FROM_ONE
            => source: TRTCM;
        /// Action on green packets: pass, drop, or the name of a new traffic class.
        green: String = Name, Text("pass") => source: ROUTERS;
        /// Action on yellow packets: pass, drop, or a traffic class.
        yellow: String = Name, Text("pass") => source: ROUTERS;
        /// Action on red packets: pass, drop, or a traffic class.
        red: String = Name, Text("drop") => source: ROUTERS;
        /// Traffic classes whose packets arrive yellow; they never become green.
        precoloured_yellow: Option<Vec<String>> = Names, Absent("none")
            => source: "RFC 2697 section 3, RFC 2698 section 3: colour-aware mode";
        /// Traffic classes whose packets arrive red and stay red.
        precoloured_red: Option<Vec<String>> = Names, Absent("none; without either the policer is colour-blind")
            => source: "RFC 2697 section 3, RFC 2698 section 3: colour-aware mode";
    }
}

observables! {
    Policer: policer, now;
    green: "packets", "Green packets." => policer.packets[0];
    yellow: "packets", "Yellow packets." => policer.packets[1];
    red: "packets", "Red packets." => policer.packets[2];
    green_bytes: "B", "Their bytes." => policer.bytes[0];
    yellow_bytes: "B", "Bytes of yellow packets." => policer.bytes[1];
    red_bytes: "B", "Bytes of red packets." => policer.bytes[2];
    tokens: "B or packets", "Tokens in the committed bucket." => policer.meter.tokens(now).0;
    second_tokens: "B or packets", "Tokens in the bucket of the excess burst or the peak rate."
        => policer.meter.tokens(now).1;
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "policer",
    title: "Policer",
    example: r#"groups.users.path = ["policer", "bottleneck"]

[stages.policer]
kind = "policer"
per = "user"
rate = "5 Mbit/s"
burst = "60 kB""#,
    doc: "Measures packets with token buckets and gives each a colour. Green is within rate and burst. \
          Yellow is within the excess burst or the peak rate. All others are red. Each colour passes, is \
          dropped, or gets another traffic class. No packet is delayed.",
    source: "RFC 2697 (single rate), RFC 2698 (two rates)",
    params: Given::PARAMS,
    observables: Policer::OBSERVABLES,
    counters: &[
        Counter::new("policed_green", "The packet was green, and the action on green is drop."),
        Counter::new("policed_yellow", "The packet was yellow: beyond the committed rate and burst."),
        Counter::new("policed_red", "The packet was red: beyond the excess burst or the peak rate."),
    ],
    deviations: &[
        Deviation {
            what: "Buckets fill continuously.",
            why: "The RFCs add one byte every 1/CIR; a packet may pass up to that time earlier.",
        },
        Deviation {
            what: "A burst of zero is an error.",
            why: "RFC 2697 allows it for one of the two bursts; leave excess_burst out instead.",
        },
    ],
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stepper;
    use evenflow_base::Time;

    /// 8 kbit/s, a byte a millisecond; classes 0 to 2, of which packets of class 1 arrive yellow and those of 2 red.
    fn policer(fates: [Fate; 3]) -> Policer {
        Policer::new(Params {
            unit: Unit::Bytes,
            committed: Profile { rate: 8000.0, burst: 1500 },
            beyond: Beyond::Excess(1000),
            fates,
            before: vec![Colour::Green, Colour::Yellow, Colour::Red],
        })
    }

    fn meet(policer: &mut Policer, ms: u64, size: u16, class: u8) -> (Pass, u8) {
        let mut packet = Packet { class, ..Packet::new(0, size, size) };
        let pass = policer.forward(&mut packet, &mut Stepper::new(1).cx(Time(ms * 1_000_000)));
        (pass, packet.class)
    }

    #[test]
    fn each_colour_has_its_fate() {
        let mut policer = policer([Fate::Pass, Fate::Class(1), Fate::Drop]);
        assert_eq!(meet(&mut policer, 0, 1500, 0), (Pass::On, 0));
        assert_eq!(meet(&mut policer, 0, 1000, 0), (Pass::On, 1));
        assert_eq!(meet(&mut policer, 0, 40, 0), (Pass::Drop(Reason::PolicedRed), 0));
        assert_eq!(meet(&mut policer, 40, 40, 1), (Pass::Drop(Reason::PolicedRed), 1)); // yellow has no right to C
        assert_eq!(meet(&mut policer, 40, 40, 0), (Pass::On, 0));
        let counted = ["green", "yellow", "red", "green_bytes", "yellow_bytes", "red_bytes"];
        let counts = counted.map(|name| policer.observe(name, Time::ZERO));
        assert_eq!(counts, [2.0, 1.0, 2.0, 1540.0, 1000.0, 80.0].map(Some));
    }

    #[test]
    fn good_packets_may_be_what_is_dropped() {
        let mut policer = policer([Fate::Drop, Fate::Drop, Fate::Pass]);
        assert_eq!(meet(&mut policer, 0, 1500, 0).0, Pass::Drop(Reason::PolicedGreen));
        assert_eq!(meet(&mut policer, 0, 1000, 1).0, Pass::Drop(Reason::PolicedYellow));
        assert_eq!(meet(&mut policer, 0, 1000, 2).0, Pass::On);
    }

    /// As `tc … police rate 8kbit burst 1500 drop` does: what is dropped costs nothing.
    #[test]
    fn two_colours() {
        let mut policer = Policer::new(Params {
            unit: Unit::Bytes,
            committed: Profile { rate: 8000.0, burst: 1500 },
            beyond: Beyond::Excess(0),
            fates: [Fate::Pass, Fate::Pass, Fate::Drop],
            before: Vec::new(),
        });
        let passed = [(0, 1000), (0, 501), (0, 500), (999, 1000), (1000, 1000), (5000, 1500), (5000, 1)];
        let passed = passed.map(|(ms, size)| meet(&mut policer, ms, size, 0).0 == Pass::On);
        assert_eq!(passed, [true, false, true, false, true, true, false]);
    }

    fn values(pairs: &[(&'static str, Value)]) -> Values {
        let word = |name: &'static str, word: &str| (name, Value::Word(word.into()));
        let fates = [word("green", "pass"), word("yellow", "pass"), word("red", "drop")];
        Values(fates.into_iter().chain(pairs.iter().cloned()).collect())
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let wrong = values(&[
            ("rate", Value::Rate(5e6)),
            ("burst", Value::Packets(5.0)),
            ("peak_rate", Value::Rate(4e6)),
            ("excess_burst", Value::Bytes(3000.0)),
            ("precoloured_yellow", Value::Names(vec!["be".into()])),
            ("precoloured_red", Value::Names(vec!["be".into()])),
        ]);
        let said = Params::new(&wrong, &[]).expect_err("it is wrong");
        let names: Vec<&str> = said.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            ["burst", "peak_rate", "peak_burst", "excess_burst", "precoloured_red"],
            "{said:?}"
        );
        assert_eq!(said[0].1, "counts packets, but rate counts bytes; use one unit for both");
        assert_eq!(said[1].1, "must be at least rate: 4000000 bit/s is less than 5000000 bit/s");
    }

    #[test]
    fn classes_behind_it() {
        let mut v = values(&[
            ("rate", Value::Rate(1e6)),
            ("burst", Value::Bytes(3e3)),
            ("excess_burst", Value::Bytes(3e3)),
        ]);
        v.0.insert("yellow", Value::Word("late".into()));
        assert_eq!(Policer::classes_after(&v, "be"), ["be", "late"]);
        assert_eq!(Policer::classes_given(&v), [("yellow", "late".to_owned())]);
        v.0.insert("precoloured_yellow", Value::Names(vec!["be".into()]));
        assert_eq!(Policer::classes_after(&v, "be"), ["late"]);
        v.0.insert("red", Value::Word("pass".into()));
        v.0.insert("precoloured_red", Value::Names(vec!["ef".into()]));
        assert_eq!(Policer::classes_after(&v, "ef"), ["ef"]);
        v.0.remove("excess_burst");
        v.0.insert("red", Value::Word("late".into()));
        assert_eq!(Policer::classes_after(&v, "other"), ["other", "late"]);
    }
}
