//! Decoding one table by its declaration: the part of the decoder that knows no mechanism by name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use evenflow_base::schema::{
    Fallback, Law, Mechanism, Nested, Param, Problem, Range, Room, Type, Value, Values,
};
use serde_json::{Map, Value as Json};

use super::single;
use crate::catalogue;
use crate::errors::{At, quoted, shown, suggestion};
use crate::model::Spec;
use crate::quantity;
use crate::sections::Key;

/// A table of a scenario file.
pub(crate) type Table = Map<String, Json>;

/// The mechanism that `table` names, its parameters as far as they can be decoded, and those that cannot. Says nothing of errors.
pub(crate) fn quietly(
    table: &Table,
    room: Room,
) -> Option<(&'static Mechanism, Values, Vec<&'static Param>)> {
    let Some(Json::String(name)) = table.get("kind") else { return None };
    let mechanism = catalogue::with_hidden().find(|m| m.room == room && m.kind == name)?;
    let values = decode_params(table, mechanism.params, &[], &At::root(&RefCell::default()));
    let given = |param: &&Param| table.contains_key(param.name) && values.get(param.name).is_none();
    let faulty = mechanism.params.iter().filter(given).collect();
    Some((mechanism, values, faulty))
}

/// Decodes parameters from `table`: all that are given or have a default. `also` has keys of other tables.
pub(crate) fn decode_params(table: &Table, params: &'static [Param], also: &[&str], at: &At) -> Values {
    unknown_keys(table, params.iter().map(|p| p.name).chain(also.iter().copied()), at);
    let one = |param: &Param| Some((param.name, super::plain(table, &Key::of(param, &[]), at)?));
    Values(params.iter().filter_map(one).collect())
}

/// The message for a value that has to be there.
pub(crate) fn required(ty: Type) -> String {
    let (what, example) = ty.describe();
    match ty {
        Type::Choice(_) => format!("is required: {what}"),
        _ => format!("is required: {what}, for example {example}"),
    }
}

/// Names of keys in other programs, their names in scenarios, and the values there.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    ("connection", "keep_alive", "true, or false for a new connection for each request"),
    ("persistent", "keep_alive", "true, or false for a new connection for each request"),
    ("sigma", "aggressiveness", "at least 0"),
    ("think", "service", "the time that a server takes to answer"),
];

/// Adds an error for each key that is not in `valid`.
pub(crate) fn unknown_keys<'a>(table: &Table, valid: impl IntoIterator<Item = &'a str>, at: &At) {
    let valid: Vec<&str> = valid.into_iter().collect();
    for key in table.keys().filter(|key| !valid.contains(&key.as_str())) {
        let other = OTHER_NAMES.iter().find(|(name, own, _)| name == key && valid.contains(own));
        let hint = match other {
            Some((_, own, values)) => format!("; did you mean \"{own}\"? It is {values}"),
            None => suggestion(key, valid.iter().copied()),
        };
        let message = format!("unknown key {}{hint}", quoted(key));
        at.key(key).error(message);
    }
}

/// A default as written in a file.
pub(crate) fn written(text: &str, ty: Type) -> Json {
    let is_text = match ty {
        Type::Choice(_) => true,
        Type::Number | Type::Integer | Type::Flag | Type::Names => false,
        Type::NumberPerClass | Type::DurationPerClass => false,
        Type::Table(_) | Type::TablePerName(_) | Type::Rates | Type::ByteRows => false,
        Type::IntegerOr(word) => text == word,
        _ => !text.starts_with('{'),
    };
    if is_text {
        return Json::String(text.into());
    }
    if let Ok(scalar) = serde_json::from_str(text) {
        return scalar;
    }
    // Lists and tables in defaults are TOML.
    match format!("x = {text}").parse::<toml::Table>() {
        Ok(mut table) => table.remove("x").map_or(Json::Null, super::json),
        Err(_) => Json::String(text.into()),
    }
}

/// One value of type `ty`.
pub(crate) fn value(json: &Json, ty: Type, range: &Range, at: &At) -> Option<Value> {
    let not_valid = |word: &str, words: &[&'static str]| {
        at.none(format!("{} is not valid{}", quoted(word), suggestion(word, words.iter().copied())))
    };
    let whole = |needed: &str| at.ok(whole(json, range, needed)).map(Value::Number);
    let (_, example) = ty.describe();
    match ty {
        Type::BytesOr(words) => match json.as_str() {
            Some(word) if words.contains(&word) => Some(Value::Word(word.into())),
            Some(word)
                if !word.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) =>
            {
                not_valid(word, words)
            }
            _ => quantity::quantity(json, Type::Bytes, range, at),
        },
        Type::IntegerOr(word) if json.as_str() == Some(word) => Some(Value::Word(word.into())),
        Type::Integer => whole("a whole number is needed"),
        Type::IntegerOr(word) => whole(&format!("a whole number or \"{word}\" is needed")),
        Type::Flag => json.as_bool().map(Value::Flag).or_else(|| at.wrong(json, "true or false is needed")),
        Type::Choice(words) => {
            let number = json.as_number().map(ToString::to_string);
            match json.as_str().or(number.as_deref()) {
                Some(word) if words.contains(&word) => Some(Value::Word(word.into())),
                Some(word) if number.is_none() => not_valid(word, words),
                _ => at.wrong(json, &format!("one of {} is needed", words.join(", "))),
            }
        }
        Type::Names => names(json, at).map(Value::Names),
        Type::Name => at.name(at.text(json, "a name is needed")?).map(|name| Value::Word(name.into())),
        Type::Table(table) => nested(json, table, at).map(Value::Table),
        Type::TablePerName(of) => {
            let needed = format!("a table of {} tables by name is needed", of.name);
            let tables = at.table(json, &needed)?;
            each_named(tables, at, |json, here| nested(json, of, here)).map(Value::Tables)
        }
        Type::Rates => {
            let list = at.list(json, &format!("a list of rates is needed, for example {example}"))?;
            row(list, Type::Rate, range, at).map(Value::Rates)
        }
        Type::ByteRows => {
            let list =
                at.list(json, &format!("a list of lists of bytes is needed, for example {example}"))?;
            let bytes = |json: &Json, at: &At| {
                row(at.list(json, "a list of bytes is needed")?, Type::Bytes, range, at)
            };
            each(list, at, bytes).map(Value::ByteRows)
        }
        Type::Mechanism(room) => mechanism(json, room, at).map(|Spec { mechanism, mut values }| {
            values.0.insert("kind", Value::Word(mechanism.kind.into()));
            Value::Table(values)
        }),
        Type::NumberPerClass | Type::DurationPerClass => {
            let needed = format!("a table by traffic class is needed, for example {example}");
            let table = at.table(json, &needed)?;
            let (of, make): (_, fn(_) -> _) = match ty {
                Type::NumberPerClass => (Type::Number, Value::Numbers),
                _ => (Type::Duration, Value::SecondsPerClass),
            };
            each_named(table, at, |json, here| single(json, of, range, here)?.number()).map(make)
        }
        quantity => quantity::quantity(json, quantity, range, at),
    }
}

/// A table inside a mechanism's.
fn nested(json: &Json, of: &Nested, at: &At) -> Option<Values> {
    let table = at.table(json, &format!("a {} table is needed", of.name))?;
    let before = at.count();
    let values = decode_params(table, of.params, &[], at);
    (at.count() == before).then_some(values)
}

/// A mechanism by its name, or a table with its kind and parameters.
pub(crate) fn mechanism(json: &Json, room: Room, at: &At) -> Option<Spec> {
    let none = Table::new();
    let (mechanism, table) = match json {
        Json::Object(table) => (kind(table, room, at)?, table),
        name => (named(name, room, at)?, &none),
    };
    spec(table, mechanism, &["kind"], at)
}

/// Quantities of one type, in order.
fn row(list: &[Json], ty: Type, range: &Range, at: &At) -> Option<Vec<f64>> {
    each(list, at, |item, here| single(item, ty, range, here)?.number())
}

/// Reads each item of a list with `one`; `None` means errors.
fn each<T>(list: &[Json], at: &At, one: impl Fn(&Json, &At) -> Option<T>) -> Option<Vec<T>> {
    let before = at.count();
    let all = list.iter().enumerate().filter_map(|(i, item)| one(item, &at.item(i))).collect();
    (at.count() == before).then_some(all)
}

/// Reads each item of a table with `one`; `None` means errors.
fn each_named<T>(
    table: &Table,
    at: &At,
    one: impl Fn(&Json, &At) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let before = at.count();
    let mut all = BTreeMap::new();
    for (name, json) in table {
        let here = &at.key(name);
        if here.name(name).is_some() {
            all.extend(one(json, here).map(|one| (name.clone(), one)));
        }
    }
    (at.count() == before).then_some(all)
}

/// A whole number in `range`.
fn whole(json: &Json, range: &Range, needed: &str) -> Result<f64, String> {
    const LARGEST: u64 = 1 << 53; // beyond it floats skip whole numbers
    let Some(x) = json.as_number().and_then(|n| n.as_f64()).filter(|x| x.fract() == 0.0) else {
        let drawn = if json.is_object() { "; it cannot be drawn" } else { "" };
        return Err(format!("{needed}, not {}{drawn}", shown(json)));
    };
    if x < 0.0 {
        return Err(format!("must not be negative, but is {}", shown(json)));
    }
    if !range.holds(x) {
        return Err(format!("must be {}, not {}", range.words(), shown(json)));
    }
    // As it stands in the file: as a float it may have been rounded already.
    if json.as_u64().map_or(x > LARGEST as f64, |n| n > LARGEST) {
        return Err(format!("must be at most {LARGEST}, not {}", shown(json)));
    }
    Ok(x)
}

fn names(json: &Json, at: &At) -> Option<Vec<String>> {
    let list = at.list(json, "a list of names is needed")?;
    let before = at.count();
    let mut names: Vec<String> = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let here = at.item(i);
        let Some(name) = here.text(item, "a name is needed") else { continue };
        if names.iter().any(|other| other == name) {
            here.error(format!("{} appears twice", quoted(name)));
        } else {
            names.extend(here.name(name).map(str::to_owned));
        }
    }
    (at.count() == before).then_some(names)
}

/// The mechanism of `room` that the `kind` of `table` names; adds an error if there is none.
pub(crate) fn kind(table: &Table, room: Room, at: &At) -> Option<&'static Mechanism> {
    let at = at.key("kind");
    let Some(json) = table.get("kind") else {
        let names: Vec<&str> = catalogue::all(room).iter().map(|m| m.kind).collect();
        return at.none(format!("is required: one of {}", names.join(", ")));
    };
    named(json, room, &at)
}

/// The mechanism of `room` that `json` names.
fn named(json: &Json, room: Room, at: &At) -> Option<&'static Mechanism> {
    let what = catalogue::noun(room);
    let name = at.text(json, &format!("the name of a {what} is needed"))?;
    catalogue::with_hidden().find(|m| m.room == room && m.kind == name).or_else(|| {
        at.none(catalogue::not_built(room, name).unwrap_or_else(|| {
            let valid = catalogue::all(room).into_iter().map(|m| m.kind);
            format!("unknown {what} {}{}", quoted(name), suggestion(name, valid))
        }))
    })
}

/// Decodes the parameters of `mechanism` and checks them together.
pub(crate) fn spec(table: &Table, mechanism: &'static Mechanism, also: &[&str], at: &At) -> Option<Spec> {
    partly(table, mechanism, also, at).0
}

/// The same, and those parameters that could be read where something is wrong.
pub(crate) fn partly(
    table: &Table,
    mechanism: &'static Mechanism,
    also: &[&str],
    at: &At,
) -> (Option<Spec>, Values) {
    let before = at.count();
    let mut values = decode_params(table, mechanism.params, also, at);
    let sound = at.count() == before;
    let check = if sound { catalogue::check } else { catalogue::check_partly };
    // A value that could not be decoded has an error already, and is not missing.
    let told = |name: &str| !sound && table.contains_key(name) && values.get(name).is_none();
    for (name, message) in together(mechanism, &values, check).into_iter().filter(|(name, _)| !told(name)) {
        at.key(name).error(message);
    }
    if at.count() > before {
        return (None, values);
    }
    catalogue::complete(mechanism, &mut values);
    (Some(Spec { mechanism, values: values.clone() }), values)
}

/// The parameters that are given or have a default, and that could not be read.
pub(crate) fn unread(table: &Table, mechanism: &'static Mechanism, values: &Values) -> Vec<&'static str> {
    let wanted =
        |param: &&Param| table.contains_key(param.name) || !matches!(param.default, Fallback::Absent(_));
    let names = mechanism.params.iter().filter(wanted).map(|param| param.name);
    names.filter(|name| values.get(name).is_none()).collect()
}

/// Errors in the combination of parameters. Random values are checked at their extremes, dealt ones by copy.
fn together(
    mechanism: &Mechanism,
    values: &Values,
    check: fn(&Mechanism, &Values) -> Vec<Problem>,
) -> Vec<Problem> {
    // Applications and sources check the bounds of repeated draws.
    if mechanism.room == Room::Traffic {
        return check(mechanism, values);
    }
    let mut problems: Vec<Problem> = Vec::new();
    for values in likely(values) {
        for problem in check(mechanism, &values) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    if laws(values).iter().any(|law| !matches!(law, Law::Dealt(_))) {
        // One sentence for each parameter, of the many draws that are wrong.
        let mut named = BTreeSet::new();
        problems.retain(|(name, _)| named.insert(*name));
        let told = |why: &str| why.contains("drawn");
        problems.iter_mut().filter(|p| !told(&p.1)).for_each(|p| p.1.push_str(" (as it may be drawn)"));
        problems.extend(out_of_range(mechanism, values).into_iter().filter(|p| !named.contains(p.0)));
    }
    problems
}

/// Distributions that may draw invalid values of their parameter.
fn out_of_range(mechanism: &Mechanism, values: &Values) -> Vec<Problem> {
    let problem = |param: &Param| {
        let Some(Value::Random(law)) = values.get(param.name) else { return None };
        let (low, high) = law.extremes();
        let low = if param.ty == Type::Rate { low.max(1.0) } else { low };
        let x = [low, high].into_iter().find(|x| !param.range.holds(*x))?;
        let shown = if x == 0.0 { "0".into() } else { format!("{x:.3e}") };
        let why = format!(
            "may be drawn as {shown}, and must be {}; write a distribution with bounds, such as uniform",
            param.range.words()
        );
        Some((param.name, why))
    };
    mechanism.params.iter().filter_map(problem).collect()
}

/// The distributions in a table and in the tables inside it.
fn laws(values: &Values) -> Vec<&Law> {
    fn of(value: &Value) -> Vec<&Law> {
        match value {
            Value::Random(law) => vec![law],
            Value::Table(table) => laws(table),
            Value::Tables(tables) => tables.values().flat_map(laws).collect(),
            _ => Vec::new(),
        }
    }
    values.0.values().flat_map(of).collect()
}

/// Sets of values that draws may give: every value that is dealt, with both ends of every law. Of many laws, one at a time
/// is at its other end: what relates two of them sees all their corners.
pub(super) fn likely(values: &Values) -> impl Iterator<Item = Values> {
    const ALL_CORNERS: usize = 6;
    const MOST: usize = 4000;
    let (mut turns, mut laws) = (1, 0);
    for law in self::laws(values) {
        match law {
            Law::Dealt(list) => turns = turns.max(list.len()),
            _ => laws += 1,
        }
    }
    let corners = if laws <= ALL_CORNERS { 1 << laws } else { 2 + 2 * laws };
    let is_high = move |corner: usize, law: usize| match corner {
        _ if laws <= ALL_CORNERS => corner >> law & 1 == 1,
        0 | 1 => corner == 1,
        _ => (corner / 2 - 1 == law) == (corner % 2 == 1),
    };
    let pairs = (0..corners).flat_map(move |corner| (0..turns).map(move |turn| (corner, turn)));
    pairs.take(MOST).map(move |(corner, turn)| {
        let mut number = 0;
        let mut high = || {
            number += 1;
            is_high(corner, number - 1)
        };
        all_settled(values, turn, &mut high)
    })
}

fn all_settled(values: &Values, turn: usize, high: &mut dyn FnMut() -> bool) -> Values {
    Values(values.0.iter().map(|(name, value)| (*name, settled(value, turn, high))).collect())
}

/// A value that a draw for copy number `turn` may give; `high` says the end of the next distribution.
fn settled(value: &Value, turn: usize, high: &mut dyn FnMut() -> bool) -> Value {
    match value {
        Value::Random(Law::Dealt(list)) => list[turn % list.len()].clone(),
        Value::Random(law) => {
            let (least, most) = law.extremes();
            let x = if high() { most } else { least };
            match law.example() {
                rate @ Value::Rate(_) => rate.with(x.max(1.0)),
                unit => unit.with(x),
            }
        }
        Value::Table(table) => Value::Table(all_settled(table, turn, high)),
        Value::Tables(tables) => {
            let one = |(name, table): (&String, _)| (name.clone(), all_settled(table, turn, high));
            Value::Tables(tables.iter().map(one).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any two laws of a table are seen at all four pairs of their ends, however many there are.
    #[test]
    fn two_laws_are_seen_at_all_their_corners() {
        const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for count in [2, 6, 7, 8] {
            let law = || Law::Uniform(Box::new(Value::Number(1.0)), Box::new(Value::Number(2.0)));
            let values = Values(NAMES[..count].iter().map(|name| (*name, Value::Random(law()))).collect());
            let sets: Vec<Values> = likely(&values).collect();
            for a in &NAMES[..count] {
                for b in NAMES[..count].iter().filter(|b| *b != a) {
                    let number = |set: &Values, name| set.get(name).and_then(Value::number).map(|x| x as u64);
                    let seen: BTreeSet<[Option<u64>; 2]> =
                        sets.iter().map(|set| [number(set, a), number(set, b)]).collect();
                    assert_eq!(seen.len(), 4, "{count} laws, {a} and {b}");
                }
            }
        }
    }
}
