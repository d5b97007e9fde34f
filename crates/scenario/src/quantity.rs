//! Quantities: a number with a unit, or a distribution.
//!
//! Decimal units shift the decimal point in the text. `"5 ms"` and `"0.005 s"` are then the same number to
//! the last bit, and equal scenarios have equal hashes.

use std::mem::discriminant;

use evenflow_base::schema::{Law, Range, Type, Value};
use serde_json::{Map, Value as Json};

use crate::errors::{At, nearest, quoted, shown, suggestion};

/// Dimension of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    Rate,
    Duration,
    Bytes,
    Packets,
    PacketRate,
}

impl Dimension {
    /// Its name with an article, the largest number that is no slip of the keyboard, how that is written, and
    /// its values.
    fn facts(self) -> (&'static str, f64, &'static str, fn(f64) -> Value) {
        match self {
            Dimension::Rate => ("a rate", 1e15, "1000 Tbit/s", Value::Rate),
            Dimension::Duration => ("a duration", 1e9, "1000000000 s", Value::Seconds),
            Dimension::Bytes => ("a size in bytes", 1e15, "1000000 GB", Value::Bytes),
            Dimension::Packets => ("a number of packets", 1e12, "1000000000000 packets", Value::Packets),
            Dimension::PacketRate => {
                ("a rate of packets", 1e12, "1000000000000 packets/s", Value::PacketRate)
            }
        }
    }

    /// The pattern of its units.
    fn pattern(self) -> &'static str {
        match self {
            Dimension::Rate => "([kMGT]?bit/s|[kMG]?B/s)$",
            Dimension::Duration => "(ns|us|\u{b5}s|\u{3bc}s|ms|s|min|h)$",
            Dimension::Bytes => "([kMG]?B|[KMG]iB)$",
            Dimension::Packets => "packets?$",
            Dimension::PacketRate => "packets/s$",
        }
    }

    /// Whether a parameter of type `ty` may have it.
    fn suits(self, ty: Type) -> bool {
        Quantity::of(ty).is_some_and(|quantity| quantity.4.contains(&self))
    }
}

/// A type of quantities: name in the JSON Schema, unit of ranges and canonical values, name with an article, dimensions.
pub(crate) struct Quantity(pub Type, pub &'static str, pub &'static str, &'static str, &'static [Dimension]);

/// All of them.
pub(crate) static QUANTITIES: &[Quantity] = {
    use Dimension::{Bytes, Duration, PacketRate, Packets, Rate};
    &[
        Quantity(Type::Rate, "rate", "bit/s", "a rate", &[Rate]),
        Quantity(Type::Duration, "duration", "s", "a duration", &[Duration]),
        Quantity(Type::Bytes, "bytes", "B", "a size in bytes", &[Bytes]),
        Quantity(Type::Packets, "packets", "packets", "a number of packets", &[Packets]),
        Quantity(
            Type::QueueLength,
            "queue-length",
            "packets, B or s",
            "a number of packets, of bytes or a duration",
            &[Packets, Bytes, Duration],
        ),
        Quantity(
            Type::PacketsOrDuration,
            "packets-or-duration",
            "packets or s",
            "a number of packets or a duration",
            &[Packets, Duration],
        ),
        Quantity(
            Type::PacketsOrBytes,
            "packets-or-bytes",
            "packets or B",
            "a number of packets or of bytes",
            &[Packets, Bytes],
        ),
        Quantity(
            Type::RateOrPacketRate,
            "rate-or-packet-rate",
            "bit/s or packets/s",
            "a rate, of bits or of packets",
            &[Rate, PacketRate],
        ),
    ]
};

impl Quantity {
    /// The quantity of a type; `None`: it is no quantity with a unit.
    pub(crate) fn of(ty: Type) -> Option<&'static Quantity> {
        QUANTITIES.iter().find(|quantity| quantity.0 == ty)
    }

    /// The patterns of its units.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &'static str> {
        self.4.iter().map(|dimension| dimension.pattern())
    }
}

/// A unit: its name, dimension, a power of ten and another factor.
struct Unit(&'static str, Dimension, i64, f64);

const UNITS: &[Unit] = &[
    Unit("bit/s", Dimension::Rate, 0, 1.0),
    Unit("kbit/s", Dimension::Rate, 3, 1.0),
    Unit("Mbit/s", Dimension::Rate, 6, 1.0),
    Unit("Gbit/s", Dimension::Rate, 9, 1.0),
    Unit("Tbit/s", Dimension::Rate, 12, 1.0),
    Unit("B/s", Dimension::Rate, 0, 8.0),
    Unit("kB/s", Dimension::Rate, 3, 8.0),
    Unit("MB/s", Dimension::Rate, 6, 8.0),
    Unit("GB/s", Dimension::Rate, 9, 8.0),
    Unit("ns", Dimension::Duration, -9, 1.0),
    Unit("us", Dimension::Duration, -6, 1.0),
    Unit("\u{b5}s", Dimension::Duration, -6, 1.0),  // micro sign
    Unit("\u{3bc}s", Dimension::Duration, -6, 1.0), // Greek letter mu
    Unit("ms", Dimension::Duration, -3, 1.0),
    Unit("s", Dimension::Duration, 0, 1.0),
    Unit("min", Dimension::Duration, 0, 60.0),
    Unit("h", Dimension::Duration, 0, 3600.0),
    Unit("B", Dimension::Bytes, 0, 1.0),
    Unit("kB", Dimension::Bytes, 3, 1.0),
    Unit("MB", Dimension::Bytes, 6, 1.0),
    Unit("GB", Dimension::Bytes, 9, 1.0),
    Unit("KiB", Dimension::Bytes, 0, 1024.0),
    Unit("MiB", Dimension::Bytes, 0, 1_048_576.0),
    Unit("GiB", Dimension::Bytes, 0, 1_073_741_824.0),
    Unit("packets", Dimension::Packets, 0, 1.0),
    Unit("packet", Dimension::Packets, 0, 1.0),
    Unit("packets/s", Dimension::PacketRate, 0, 1.0),
];

/// Spellings from other programs, and the right ones.
const HABITS: &[(&[&str], &str)] = &[
    (&["bps"], "\"bit/s\""),
    (&["kbps"], "\"kbit/s\""),
    (&["mbps"], "\"Mbit/s\""),
    (&["gbps"], "\"Gbit/s\""),
    (&["tbps"], "\"Tbit/s\""),
    (&["b/s"], "\"bit/s\" or \"B/s\""),
    (&["bit"], "\"bit/s\" for a rate"),
    (&["kbit"], "\"kbit/s\" for a rate"),
    (&["mbit"], "\"Mbit/s\" for a rate"),
    (&["gbit"], "\"Gbit/s\" for a rate"),
    (&["kb/s"], "\"kbit/s\" or \"kB/s\""),
    (&["mb/s"], "\"Mbit/s\" or \"MB/s\""),
    (&["gb/s"], "\"Gbit/s\" or \"GB/s\""),
    (&["kb"], "\"kB\" (1000) or \"KiB\" (1024)"),
    (&["mb"], "\"MB\" or \"MiB\""),
    (&["gb"], "\"GB\" or \"GiB\""),
    (&["k"], "\"kB\", \"KiB\" or \"kbit/s\""),
    (&["m"], "\"min\", \"ms\", \"MB\" or \"Mbit/s\""),
    (&["g"], "\"GB\", \"GiB\" or \"Gbit/s\""),
    (&["byte", "bytes"], "\"B\""),
    (&["sec", "secs", "second", "seconds"], "\"s\""),
    (&["msec", "millisecond", "milliseconds"], "\"ms\""),
    (&["usec", "microseconds"], "\"us\""),
    (&["nanoseconds"], "\"ns\""),
    (&["minute", "minutes"], "\"min\""),
    (&["hour", "hours", "hr"], "\"h\""),
    (&["p", "pkt", "pkts"], "\"packets\""),
    (&["pps", "packet/s"], "\"packets/s\""),
];

/// Reads `"5 ms"` as a quantity of type `ty`.
pub fn parse(text: &str, ty: Type) -> Result<Value, String> {
    let (number, rest) = text.split_at(number_length(text));
    let example = ty.describe().1;
    let said = quoted(text);
    if number.is_empty() {
        return Err(not_a_number(text).unwrap_or_else(|| {
            format!("{said} is no quantity; write a number and a unit, for example {example}")
        }));
    }
    let unit = rest.strip_prefix(' ').unwrap_or(rest);
    if unit.is_empty() {
        return Err(format!("needs a unit, for example {example}"));
    }
    let Some(Unit(_, dimension, shift, factor)) = UNITS.iter().find(|u| u.0 == unit) else {
        return Err(format!("{said} has an unknown unit{}", unit_hint(unit, ty)));
    };
    let (article, largest, largest_written, value) = dimension.facts();
    if !dimension.suits(ty) {
        return Err(format!("{said} is {article}, {} is needed, for example {example}", needed(ty)));
    }
    let x = shifted(number, *shift) * factor;
    if x < 0.0 {
        return Err(format!("{said} is negative, which {article} cannot be"));
    }
    if x > largest {
        return Err(format!("{said} is too large; at most {largest_written} can be handled"));
    }
    if *dimension == Dimension::Duration && x > 0.0 && x < 1e-9 {
        return Err(format!("{said} is shorter than 1 ns, the tick of the clock"));
    }
    Ok(value(x + 0.0)) // `-0` becomes 0
}

/// How many bytes at the start of `text` are a decimal number.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(end);
    end += whole;
    let mut parts = 0;
    if bytes.get(end) == Some(&b'.') {
        parts = digits(end + 1);
        end += 1 + parts;
    }
    if whole + parts == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let power = if end + 1 + sign <= bytes.len() { digits(end + 1 + sign) } else { 0 };
        if power > 0 {
            end += 1 + sign + power;
        }
    }
    end
}

/// `number` times ten to the power `shift`, rounded once.
fn shifted(number: &str, shift: i64) -> f64 {
    let (mantissa, power) = match number.find(['e', 'E']) {
        Some(at) => {
            let power = &number[at + 1..];
            // An exponent beyond i64 is outside the range of a float.
            let beyond = if power.starts_with('-') { -1_000_000 } else { 1_000_000 };
            (&number[..at], power.parse::<i64>().unwrap_or(beyond).clamp(-1_000_000, 1_000_000))
        }
        None => (number, 0),
    };
    format!("{mantissa}e{}", power + shift).parse().unwrap_or(f64::NAN)
}

/// The message for `nan` and `inf` in any spelling.
fn not_a_number(text: &str) -> Option<String> {
    let bare = text.trim_start_matches(['+', '-']).to_lowercase();
    if bare.starts_with("nan") {
        Some(format!("{} is not a number", quoted(text)))
    } else if bare.starts_with("inf") {
        Some(format!("{} is not finite", quoted(text)))
    } else {
        None
    }
}

/// The quantity that type `ty` needs, with an article.
fn needed(ty: Type) -> &'static str {
    Quantity::of(ty).map_or("a pure number", |quantity| quantity.3)
}

fn unit_hint(unit: &str, ty: Type) -> String {
    let lower = unit.to_lowercase();
    if let Some((_, instead)) = HABITS.iter().find(|(habits, _)| habits.contains(&lower.as_str())) {
        return format!("; write {instead}");
    }
    let valid: Vec<&str> = UNITS.iter().map(|u| u.0).collect();
    if let Some(near) = nearest(unit.trim(), &valid) {
        return format!("; did you mean \"{near}\"?");
    }
    let suits = |u: &&Unit| u.1.suits(ty) && u.0.is_ascii();
    let valid: Vec<&str> = UNITS.iter().filter(suits).map(|u| u.0).collect();
    format!("; valid units are {}", valid.join(", "))
}

/// The unit of a type's range, for messages; a space before it. Types of several units have none.
fn unit_of(ty: Type) -> String {
    let one = Quantity::of(ty).filter(|quantity| quantity.4.len() == 1);
    one.map_or(String::new(), |quantity| format!(" {}", quantity.2))
}

/// Whether values of this type are quantities, which may be drawn.
pub(crate) fn is_quantity(ty: Type) -> bool {
    ty == Type::Number || Quantity::of(ty).is_some()
}

/// One quantity in its range; no laws.
pub(crate) fn single(json: &Json, ty: Type, range: &Range) -> Result<Value, String> {
    let value = match json {
        Json::String(text) if ty == Type::Number => {
            return Err(not_a_number(text)
                .unwrap_or_else(|| format!("a number without a unit is needed, not {}", quoted(text))));
        }
        Json::Number(n) if ty == Type::Number => match n.as_f64().filter(|x| x.is_finite()) {
            Some(x) => Value::Number(x + 0.0),
            None => return Err(format!("{n} is not finite")),
        },
        Json::String(text) => parse(text, ty)?,
        Json::Number(_) => return Err(format!("needs a unit, for example {}", ty.describe().1)),
        other => {
            let example = ty.describe().1;
            return Err(format!("{} is needed, for example {example}, not {}", needed(ty), shown(other)));
        }
    };
    match value.number() {
        Some(0.0) if ty == Type::Rate && range.min >= 1.0 => Err(format!(
            "a rate of {} would never finish the packet in transmission; for an outage write \
             {{ steps = [[\"0 s\", \"10 Mbit/s\"], [\"5 s\", \"0 bit/s\"], …] }}",
            shown(json)
        )),
        Some(x) if !range.holds(x) => {
            Err(format!("must be {}{}, not {}", range.words(), unit_of(ty), shown(json)))
        }
        _ => Ok(value),
    }
}

/// A quantity, or its distribution.
pub(crate) fn quantity(json: &Json, ty: Type, range: &Range, at: &At) -> Option<Value> {
    if let Json::Object(table) = json {
        return law(table, ty, range, at).map(Value::Random);
    }
    one(json, ty, range, at)
}

/// The laws by which a quantity may be drawn.
pub const LAWS: [&str; 7] = ["uniform", "normal", "exponential", "gamma", "pareto", "lognormal", "values"];

/// Shapes of a gamma law: below the least nearly all draws are nothing, and runs of arrivals at one instant have no end in
/// practice.
pub(crate) const GAMMA_SHAPE: Range = Range { min: 0.01, closed: true, max: 1e6 };

/// Shapes of a Pareto distribution with a mean.
pub(crate) const PARETO_SHAPE: Range = Range { min: 1.0, closed: false, max: 1e6 };

/// Standard deviations of the logarithm: with the largest a draw is 10^21 times another as easily as not.
pub(crate) const SIGMA: Range = Range { min: 0.0, closed: true, max: 10.0 };

fn law(table: &Map<String, Json>, ty: Type, range: &Range, at: &At) -> Option<Law> {
    for key in table.keys().filter(|key| !LAWS.contains(&key.as_str())) {
        let message = match key.as_str() {
            "trace" if ty == Type::Rate => {
                "is for the rate of a link, and a file is read by Python and the command line only".to_owned()
            }
            "steps" => {
                "cannot change during the run; only a link's rate and values of its queue may have steps"
                    .into()
            }
            _ if nearest(key, &LAWS).is_none() && nearest(key, &["steps"]).is_some() => {
                format!("unknown distribution {}; did you mean \"steps\"?", quoted(key))
            }
            _ => format!("unknown distribution {}{}", quoted(key), suggestion(key, LAWS)),
        };
        at.key(key).error(message);
    }
    let mut given = table.iter().filter(|(key, _)| LAWS.contains(&key.as_str()));
    let (key, json) = match (given.next(), given.next()) {
        (Some(one), None) if table.len() == 1 => one,
        (Some(_), Some(_)) => return at.none("give one distribution, not several"),
        (None, _) if table.is_empty() => {
            return at
                .none("an empty table; write a quantity, or a distribution such as { uniform = [a, b] }");
        }
        _ => return None,
    };
    let at = &at.key(key);
    let mean = |json: &Json, at: &At| match one(json, ty, range, at)? {
        mean if mean.number() == Some(0.0) => at.none("the mean must be more than 0"),
        mean => Some(Box::new(mean)),
    };
    let what = match key.as_str() {
        "exponential" => return mean(json, at).map(Law::Exponential),
        "uniform" => "[lowest, highest]",
        "normal" => "[mean, standard deviation]",
        "gamma" | "pareto" => "[mean, shape]",
        "lognormal" => "[mean, standard deviation of the logarithm]",
        _ => "values",
    };
    let Json::Array(list) = json else {
        return at.none(format!("a list of {what} is needed, not {}", shown(json)));
    };
    if key == "values" {
        let values = list.iter().enumerate().map(|(i, item)| one(item, ty, range, &at.item(i)));
        let values = values.collect::<Vec<_>>().into_iter().collect::<Option<Vec<Value>>>()?;
        return match values.first().map(discriminant) {
            None => at.none("must have at least one value"),
            Some(first) if values.iter().all(|v| discriminant(v) == first) => Some(Law::Dealt(values)),
            Some(_) => at.none("all values must have the same dimension"),
        };
    }
    let [first, second] = list.as_slice() else {
        return at.none(format!("{what} is needed, not a list of {}", list.len()));
    };
    let shaped = |bounds: &Range, law: fn(Box<Value>, f64) -> Law| {
        let mean = mean(first, &at.item(0));
        let shape = match single(second, Type::Number, &Range::ANY).map(|v| v.number().unwrap_or(0.0)) {
            Ok(x) if key == "pareto" && x <= 1.0 => Err(format!(
                "a Pareto distribution of shape {x} has no mean: the shape must be more than 1; for heavier \
                 tails write lognormal with a large sigma"
            )),
            Ok(x) if !bounds.holds(x) => Err(format!("must be {}, not {x}", bounds.words())),
            other => other,
        };
        let shape = at.item(1).ok(shape);
        Some(law(mean?, shape?))
    };
    let second_range = match key.as_str() {
        "gamma" => return shaped(&GAMMA_SHAPE, Law::Gamma),
        "pareto" => return shaped(&PARETO_SHAPE, Law::Pareto),
        "lognormal" => return shaped(&SIGMA, Law::Lognormal),
        "normal" => &Range::NOT_NEGATIVE,
        _ => range,
    };
    let (first, second) = (one(first, ty, range, &at.item(0)), one(second, ty, second_range, &at.item(1)));
    let (first, second) = (first?, second?);
    if discriminant(&first) != discriminant(&second) {
        return at.none("both must have the same dimension");
    }
    if key == "uniform" && first.number() > second.number() {
        return at.none("the bounds are in the wrong order; write [lowest, highest]");
    }
    let law = if key == "normal" { Law::Normal } else { Law::Uniform };
    Some(law(Box::new(first), Box::new(second)))
}

/// A quantity in its range; errors go to `errors`.
pub(crate) fn one(json: &Json, ty: Type, range: &Range, at: &At) -> Option<Value> {
    at.ok(single(json, ty, range))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fails(text: &str, ty: Type) -> String {
        parse(text, ty).expect_err(text)
    }

    #[test]
    fn every_unit_has_its_size() {
        let table = [
            ("1 bit/s", Value::Rate(1.0)),
            ("64 kbit/s", Value::Rate(64e3)),
            ("10 Mbit/s", Value::Rate(1e7)),
            ("2.5 Gbit/s", Value::Rate(2.5e9)),
            ("1 Tbit/s", Value::Rate(1e12)),
            ("125 B/s", Value::Rate(1e3)),
            ("125 kB/s", Value::Rate(1e6)),
            ("1.25 MB/s", Value::Rate(1e7)),
            ("1 GB/s", Value::Rate(8e9)),
        ];
        for (text, value) in table {
            assert_eq!(parse(text, Type::Rate), Ok(value), "{text}");
        }
        let table = [
            ("7 ns", 7e-9),
            ("250 us", 0.00025),
            ("250 \u{b5}s", 0.00025),
            ("250 \u{3bc}s", 0.00025),
            ("57.6 ms", 0.0576),
            ("0.1 ms", 0.0001),
            ("3 s", 3.0),
            ("2 min", 120.0),
            ("1.5 h", 5400.0),
            ("5ms", 0.005),
            ("+5 ms", 0.005),
            (".5 s", 0.5),
            ("5. s", 5.0),
            ("5e3 ms", 5.0),
            ("5E-3 s", 0.005),
            ("-0 s", 0.0),
        ];
        for (text, value) in table {
            assert_eq!(parse(text, Type::Duration), Ok(Value::Seconds(value)), "{text}");
        }
        let table = [
            ("1500 B", 1500.0),
            ("1.5 kB", 1500.0),
            ("2 MB", 2e6),
            ("1 GB", 1e9),
            ("64 KiB", 65_536.0),
            ("1 MiB", 1_048_576.0),
            ("1 GiB", 1_073_741_824.0),
        ];
        for (text, value) in table {
            assert_eq!(parse(text, Type::Bytes), Ok(Value::Bytes(value)), "{text}");
        }
        assert_eq!(parse("1 packet", Type::Packets), Ok(Value::Packets(1.0)));
        assert_eq!(parse("24 packets", Type::Packets), Ok(Value::Packets(24.0)));
    }

    #[test]
    fn spellings_agree_to_the_last_bit() {
        for (a, b) in
            [("0.1 ms", "0.0001 s"), ("100 us", "1e-4 s"), ("57.6 ms", "0.0576 s"), ("3 ns", "3e-9 s")]
        {
            assert_eq!(parse(a, Type::Duration), parse(b, Type::Duration), "{a} {b}");
        }
        assert_eq!(parse("8 kbit/s", Type::Rate), parse("1 kB/s", Type::Rate));
    }

    #[test]
    fn a_number_without_unit_is_told_what_to_write() {
        assert_eq!(fails("5", Type::Duration), "needs a unit, for example \"5 ms\"");
        assert_eq!(fails("5 ", Type::Duration), "needs a unit, for example \"5 ms\"");
        assert_eq!(
            single(&json!(5), Type::Duration, &Range::ANY),
            Err("needs a unit, for example \"5 ms\"".into())
        );
    }

    #[test]
    fn wrong_dimensions_name_both() {
        assert_eq!(
            fails("10 Mbit/s", Type::Duration),
            "\"10 Mbit/s\" is a rate, a duration is needed, for example \"5 ms\""
        );
        assert_eq!(
            fails("1 Mbit/s", Type::QueueLength),
            "\"1 Mbit/s\" is a rate, a number of packets, of bytes or a duration is needed, for example \"24 packets\", \
             \"64 KiB\" or \"20 ms\""
        );
        assert!(fails("64 KiB", Type::PacketsOrDuration).contains("is a size in bytes"));
    }

    #[test]
    fn units_of_other_tools_are_translated() {
        assert_eq!(fails("10 Mbps", Type::Rate), "\"10 Mbps\" has an unknown unit; write \"Mbit/s\"");
        assert!(fails("10 Mb/s", Type::Rate).ends_with("write \"Mbit/s\" or \"MB/s\""));
        assert!(fails("10 MBit/s", Type::Rate).ends_with("did you mean \"Mbit/s\"?"));
        assert!(fails("10 KB", Type::Bytes).ends_with("write \"kB\" (1000) or \"KiB\" (1024)"));
        assert!(fails("10 seconds", Type::Duration).ends_with("write \"s\""));
        assert!(fails("10 fortnights", Type::Duration).ends_with("valid units are ns, us, ms, s, min, h"));
        assert!(fails("5  ms", Type::Duration).ends_with("did you mean \"ms\"?"));
    }

    #[test]
    fn what_is_no_sensible_number_is_refused() {
        assert_eq!(fails("nan ms", Type::Duration), "\"nan ms\" is not a number");
        assert_eq!(fails("NaN", Type::Duration), "\"NaN\" is not a number");
        assert_eq!(fails("-inf s", Type::Duration), "\"-inf s\" is not finite");
        assert_eq!(fails("-5 ms", Type::Duration), "\"-5 ms\" is negative, which a duration cannot be");
        assert_eq!(
            fails("1e400 s", Type::Duration),
            "\"1e400 s\" is too large; at most 1000000000 s can be handled"
        );
        assert!(fails("1e99999999999999999999 B", Type::Bytes).contains("too large"));
        assert_eq!(parse("1e-99999999999999999999 B", Type::Bytes), Ok(Value::Bytes(0.0)));
        assert!(fails("0.1 ns", Type::Duration).contains("tick"));
        assert!(fails("soon", Type::Duration).contains("is no quantity"));
        assert!(fails("", Type::Duration).contains("is no quantity"));
        assert!(fails("e5 s", Type::Duration).contains("is no quantity"));
        assert!(fails("1.2.3 s", Type::Duration).contains("unknown unit"));
    }

    #[test]
    fn ranges_are_told_in_words() {
        assert_eq!(
            single(&json!("0 s"), Type::Duration, &Range::POSITIVE),
            Err("must be more than 0 s, not \"0 s\"".into())
        );
        assert_eq!(
            single(&json!(-1), Type::Number, &Range::NOT_NEGATIVE),
            Err("must be at least 0, not -1".into())
        );
        assert_eq!(single(&json!("nan"), Type::Number, &Range::ANY), Err("\"nan\" is not a number".into()));
        assert_eq!(
            single(&json!("5 ms"), Type::Number, &Range::ANY),
            Err("a number without a unit is needed, not \"5 ms\"".into())
        );
        assert_eq!(
            single(&json!(true), Type::Duration, &Range::ANY),
            Err("a duration is needed, for example \"5 ms\", not true".into())
        );
    }

    fn laws(json: &Json) -> Result<Value, String> {
        let errors = RefCell::default();
        let value = quantity(json, Type::QueueLength, &Range::POSITIVE, &At::root(&errors).key("x"));
        let errors: crate::Errors = errors.into_inner();
        value.filter(|_| errors.is_empty()).ok_or_else(|| errors.sorted().to_string())
    }

    #[test]
    fn laws_are_read() {
        let packets = |x| Box::new(Value::Packets(x));
        assert_eq!(
            laws(&json!({"uniform": ["1 packet", "2 packets"]})),
            Ok(Value::Random(Law::Uniform(packets(1.0), packets(2.0))))
        );
        assert_eq!(
            laws(&json!({"normal": ["9 packets", "0 packets"]})),
            Ok(Value::Random(Law::Normal(packets(9.0), packets(0.0))))
        );
        assert_eq!(
            laws(&json!({"exponential": "9 packets"})),
            Ok(Value::Random(Law::Exponential(packets(9.0))))
        );
        assert_eq!(
            laws(&json!({"gamma": ["9 packets", 0.5]})),
            Ok(Value::Random(Law::Gamma(packets(9.0), 0.5)))
        );
        assert_eq!(
            laws(&json!({"pareto": ["9 packets", 1.2]})),
            Ok(Value::Random(Law::Pareto(packets(9.0), 1.2)))
        );
        assert_eq!(
            laws(&json!({"lognormal": ["9 packets", 0]})),
            Ok(Value::Random(Law::Lognormal(packets(9.0), 0.0)))
        );
        assert_eq!(
            laws(&json!({"values": ["5 ms"]})),
            Ok(Value::Random(Law::Dealt(vec![Value::Seconds(0.005)])))
        );
    }

    #[test]
    fn wrong_laws_say_what_is_wrong() {
        let table = [
            (
                json!({}),
                "x: an empty table; write a quantity, or a distribution such as { uniform = [a, b] }",
            ),
            (
                json!({"unifrom": []}),
                "x.unifrom: unknown distribution \"unifrom\"; did you mean \"uniform\"?",
            ),
            (json!({"uniform": 3}), "x.uniform: a list of [lowest, highest] is needed, not 3"),
            (json!({"uniform": ["5 ms"]}), "x.uniform: [lowest, highest] is needed, not a list of 1"),
            (
                json!({"uniform": ["5 ms", "4 ms"]}),
                "x.uniform: the bounds are in the wrong order; write [lowest, highest]",
            ),
            (json!({"uniform": ["5 ms", "4 packets"]}), "x.uniform: both must have the same dimension"),
            (json!({"uniform": ["0 s", "4 s"]}), "x.uniform[0]: must be more than 0, not \"0 s\""),
            (json!({"gamma": ["9 packets", 0]}), "x.gamma[1]: must be at least 0.01, at most 1000000, not 0"),
            (
                json!({"gamma": ["9 packets", "2"]}),
                "x.gamma[1]: a number without a unit is needed, not \"2\"",
            ),
            (json!({"gamma": ["9 packets"]}), "x.gamma: [mean, shape] is needed, not a list of 1"),
            (
                json!({"pareto": ["9 packets", 1]}),
                "x.pareto[1]: a Pareto distribution of shape 1 has no mean: the shape must be more than 1; for heavier tails write \
                 lognormal with a large sigma",
            ),
            (
                json!({"lognormal": [1, -1]}),
                "x.lognormal[0]: needs a unit, for example \"24 packets\", \"64 KiB\" or \"20 ms\"\n\
                 x.lognormal[1]: must be at least 0, at most 10, not -1",
            ),
            (json!({"values": []}), "x.values: must have at least one value"),
            (json!({"values": ["5 ms", "4 packets"]}), "x.values: all values must have the same dimension"),
            (
                json!({"exponential": "5"}),
                "x.exponential: needs a unit, for example \"24 packets\", \"64 KiB\" or \"20 ms\"",
            ),
            (json!({"exponential": "5 ms", "values": []}), "x: give one distribution, not several"),
        ];
        for (json, message) in table {
            assert_eq!(laws(&json), Err(message.into()));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,12}") {
            let _ = parse(&text, Type::Duration);
        }

        #[test]
        fn near_quantities_do_not_panic(text in "[-+]?[0-9.e]{0,6} ?(ms|s|B|packets|Mbps|x)?") {
            for ty in [Type::Rate, Type::Duration, Type::Bytes, Type::Packets, Type::QueueLength] {
                if let Ok(value) = parse(&text, ty) {
                    prop_assert!(value.number().is_some_and(|x| x.is_finite() && x >= 0.0));
                }
            }
        }
    }
}
