//! Decoding one table by its declaration: the part of the decoder that knows no mechanism by name.

use std::collections::{BTreeMap, BTreeSet};

use evenflow_base::schema::{
    Fallback, Law, Mechanism, Nested, Param, Problem, Range, Room, Type, Value, Values,
};
use serde_json::{Map, Value as Json};

use super::single;
use crate::catalogue;
use crate::errors::{Errors, join, quoted, shown, suggestion};
use crate::model::Spec;
use crate::quantity;
use crate::sections::Key;

/// A table of a scenario file.
pub type Table = Map<String, Json>;

/// Decodes the parameters of `mechanism` from `table`: all that are given or have a default. `also` has keys
/// of other tables. Adds all errors.
pub fn decode_table(
    table: &Table,
    mechanism: &Mechanism,
    also: &[&str],
    path: &str,
    errors: &mut Errors,
) -> Values {
    decode_params(table, mechanism.params, also, path, errors)
}

/// The mechanism that `table` names, its parameters as far as they can be decoded, and those that cannot. Says nothing of errors.
pub(crate) fn quietly(
    table: &Table,
    room: Room,
) -> Option<(&'static Mechanism, Values, Vec<&'static Param>)> {
    let Some(Json::String(name)) = table.get("kind") else { return None };
    let mechanism = catalogue::with_hidden().find(|m| m.room == room && m.kind == name)?;
    let values = decode_params(table, mechanism.params, &[], "", &mut Errors::default());
    let given = |param: &&Param| table.contains_key(param.name) && values.get(param.name).is_none();
    let faulty = mechanism.params.iter().filter(given).collect();
    Some((mechanism, values, faulty))
}

pub(crate) fn decode_params(
    table: &Table,
    params: &'static [Param],
    also: &[&str],
    path: &str,
    errors: &mut Errors,
) -> Values {
    unknown_keys(table, params.iter().map(|p| p.name).chain(also.iter().copied()), path, errors);
    let one = |param: &Param| Some((param.name, super::plain(table, &Key::of(param, &[]), path, errors)?));
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
pub(crate) fn unknown_keys<'a>(
    table: &Table,
    valid: impl IntoIterator<Item = &'a str>,
    path: &str,
    errors: &mut Errors,
) {
    let valid: Vec<&str> = valid.into_iter().collect();
    for key in table.keys().filter(|key| !valid.contains(&key.as_str())) {
        let other = OTHER_NAMES.iter().find(|(name, own, _)| name == key && valid.contains(own));
        let hint = match other {
            Some((_, own, values)) => format!("; did you mean \"{own}\"? It is {values}"),
            None => suggestion(key, valid.iter().copied()),
        };
        let message = format!("unknown key {}{hint}", quoted(key));
        errors.push(join(path, key), message);
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
pub(crate) fn value(json: &Json, ty: Type, range: &Range, path: &str, errors: &mut Errors) -> Option<Value> {
    if quantity::is_quantity(ty) {
        return quantity::quantity(json, ty, range, path, errors);
    }
    let result = match ty {
        Type::BytesOr(words) => match json.as_str() {
            Some(word) if words.contains(&word) => Ok(Value::Word(word.into())),
            Some(word)
                if !word.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) =>
            {
                Err(format!("{} is not valid{}", quoted(word), suggestion(word, words.iter().copied())))
            }
            _ => return quantity::quantity(json, Type::Bytes, range, path, errors),
        },
        Type::IntegerOr(word) if json.as_str() == Some(word) => Ok(Value::Word(word.into())),
        Type::Integer => whole(json, range, "a whole number").map(Value::Number),
        Type::IntegerOr(word) => {
            whole(json, range, &format!("a whole number or \"{word}\"")).map(Value::Number)
        }
        Type::Flag => match json {
            Json::Bool(flag) => Ok(Value::Flag(*flag)),
            other => Err(format!("true or false is needed, not {}", shown(other))),
        },
        Type::Choice(words) => match json {
            Json::String(word) if words.contains(&word.as_str()) => Ok(Value::Word(word.clone())),
            Json::Number(word) if words.contains(&word.to_string().as_str()) => {
                Ok(Value::Word(word.to_string()))
            }
            Json::String(word) => {
                Err(format!("{} is not valid{}", quoted(word), suggestion(word, words.iter().copied())))
            }
            other => Err(format!("one of {} is needed, not {}", words.join(", "), shown(other))),
        },
        Type::Names => return names(json, path, errors).map(Value::Names),
        Type::NumberPerClass => {
            return per_class(json, Type::Number, range, path, errors).map(Value::Numbers);
        }
        Type::Name => match json {
            Json::String(text) => name_problem(text).map_or_else(|| Ok(Value::Word(text.clone())), Err),
            other => Err(format!("a name is needed, not {}", shown(other))),
        },
        Type::Table(table) => return nested(json, table, path, errors).map(Value::Table),
        Type::TablePerName(table) => return tables(json, table, path, errors).map(Value::Tables),
        Type::Rates => return rates(json, range, path, errors).map(Value::Rates),
        Type::ByteRows => return byte_rows(json, range, path, errors).map(Value::ByteRows),
        Type::Mechanism(room) => return mechanism(json, room, path, errors).map(Value::Table),
        _ => return per_class(json, Type::Duration, range, path, errors).map(Value::SecondsPerClass),
    };
    result.map_err(|message| errors.push(path, message)).ok()
}

/// A table inside a mechanism's.
fn nested(json: &Json, of: &Nested, path: &str, errors: &mut Errors) -> Option<Values> {
    let Json::Object(table) = json else {
        return errors.none(path, format!("a {} table is needed, not {}", of.name, shown(json)));
    };
    let before = errors.len();
    let values = decode_params(table, of.params, &[], path, errors);
    (errors.len() == before).then_some(values)
}

/// A mechanism inside a mechanism's table, by its name or with parameters: these, and its `kind`.
fn mechanism(json: &Json, room: Room, path: &str, errors: &mut Errors) -> Option<Values> {
    let none = Table::new();
    let (mechanism, table) = match json {
        Json::Object(table) => (kind(table, room, path, errors)?, table),
        name => (named(name, room, path, errors)?, &none),
    };
    let Spec { mechanism, mut values } = spec(table, mechanism, &["kind"], path, errors)?;
    values.0.insert("kind", Value::Word(mechanism.kind.into()));
    Some(values)
}

/// A list of rates.
fn rates(json: &Json, range: &Range, path: &str, errors: &mut Errors) -> Option<Vec<f64>> {
    let Json::Array(list) = json else {
        let example = Type::Rates.describe().1;
        return errors
            .none(path, format!("a list of rates is needed, for example {example}, not {}", shown(json)));
    };
    row(list, Type::Rate, range, path, errors)
}

/// Quantities of one type, in order.
fn row(list: &[Json], ty: Type, range: &Range, path: &str, errors: &mut Errors) -> Option<Vec<f64>> {
    each(list, path, errors, |item, here, errors| single(item, ty, range, here, errors)?.number())
}

/// Reads each item of a list with `one`; `None` means errors.
fn each<T>(
    list: &[Json],
    path: &str,
    errors: &mut Errors,
    one: impl Fn(&Json, &str, &mut Errors) -> Option<T>,
) -> Option<Vec<T>> {
    let before = errors.len();
    let items = list.iter().enumerate();
    let all = items.filter_map(|(i, item)| one(item, &format!("{path}[{i}]"), errors)).collect();
    (errors.len() == before).then_some(all)
}

/// Reads each item of a table with `one`; `None` means errors.
fn each_named<T>(
    table: &Table,
    path: &str,
    errors: &mut Errors,
    one: impl Fn(&Json, &str, &mut Errors) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let before = errors.len();
    let mut all = BTreeMap::new();
    for (name, json) in table {
        let here = join(path, name);
        match name_problem(name) {
            Some(problem) => errors.push(here, problem),
            None => all.extend(one(json, &here, errors).map(|one| (name.clone(), one))),
        }
    }
    (errors.len() == before).then_some(all)
}

/// A list of lists of bytes.
fn byte_rows(json: &Json, range: &Range, path: &str, errors: &mut Errors) -> Option<Vec<Vec<f64>>> {
    let example = Type::ByteRows.describe().1;
    let Json::Array(list) = json else {
        let message =
            format!("a list of lists of bytes is needed, for example {example}, not {}", shown(json));
        return errors.none(path, message);
    };
    each(list, path, errors, |item, here, errors| match item {
        Json::Array(items) => row(items, Type::Bytes, range, here, errors),
        other => errors.none(here, format!("a list of bytes is needed, not {}", shown(other))),
    })
}

/// Such tables by name.
fn tables(json: &Json, of: &Nested, path: &str, errors: &mut Errors) -> Option<BTreeMap<String, Values>> {
    let Json::Object(list) = json else {
        return errors
            .none(path, format!("a table of {} tables by name is needed, not {}", of.name, shown(json)));
    };
    each_named(list, path, errors, |json, here, errors| nested(json, of, here, errors))
}

/// A whole number in `range`.
pub(crate) fn whole(json: &Json, range: &Range, needed: &str) -> Result<f64, String> {
    const LARGEST: u64 = 1 << 53; // beyond it floats skip whole numbers
    let x = match json {
        Json::Number(n) => n.as_f64().filter(|x| x.fract() == 0.0),
        _ => None,
    };
    let Some(x) = x else {
        let drawn = if json.is_object() { "; it cannot be drawn" } else { "" };
        return Err(format!("{needed} is needed, not {}{drawn}", shown(json)));
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

/// The error in the name of a link, stage, group or class.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    let inner = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name.chars().all(inner) && name.starts_with(|c: char| c != '-') {
        return None;
    }
    Some(format!(
        "{} is no name: a name has letters, digits, \"_\" and \"-\", and does not start with \"-\"",
        quoted(name)
    ))
}

fn names(json: &Json, path: &str, errors: &mut Errors) -> Option<Vec<String>> {
    let Json::Array(list) = json else {
        return errors.none(path, format!("a list of names is needed, not {}", shown(json)));
    };
    let before = errors.len();
    let mut names: Vec<String> = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let here = format!("{path}[{i}]");
        match item {
            Json::String(name) if names.contains(name) => {
                errors.push(here, format!("{} appears twice", quoted(name)));
            }
            Json::String(name) => match name_problem(name) {
                None => names.push(name.clone()),
                Some(problem) => errors.push(here, problem),
            },
            other => errors.push(here, format!("a name is needed, not {}", shown(other))),
        }
    }
    (errors.len() == before).then_some(names)
}

fn per_class(
    json: &Json,
    ty: Type,
    range: &Range,
    path: &str,
    errors: &mut Errors,
) -> Option<BTreeMap<String, f64>> {
    let Json::Object(table) = json else {
        let example = match ty {
            Type::Number => Type::NumberPerClass.describe().1,
            _ => Type::DurationPerClass.describe().1,
        };
        return errors.none(
            path,
            format!("a table by traffic class is needed, for example {example}, not {}", shown(json)),
        );
    };
    each_named(table, path, errors, |json, here, errors| single(json, ty, range, here, errors)?.number())
}

/// The mechanism of `room` that the `kind` of `table` names; adds an error if there is none.
pub(crate) fn kind(table: &Table, room: Room, path: &str, errors: &mut Errors) -> Option<&'static Mechanism> {
    match table.get("kind") {
        Some(json) => named(json, room, &join(path, "kind"), errors),
        None => {
            let names: Vec<&str> = catalogue::all(room).iter().map(|m| m.kind).collect();
            errors.none(join(path, "kind"), format!("is required: one of {}", names.join(", ")))
        }
    }
}

/// The mechanism of `room` that `json` names.
pub(crate) fn named(json: &Json, room: Room, path: &str, errors: &mut Errors) -> Option<&'static Mechanism> {
    let what = catalogue::noun(room);
    let Json::String(name) = json else {
        return errors.none(path, format!("the name of a {what} is needed, not {}", shown(json)));
    };
    let found = catalogue::with_hidden().find(|m| m.room == room && m.kind == name);
    if found.is_none() {
        let message = catalogue::not_built(room, name).unwrap_or_else(|| {
            let valid = catalogue::all(room).into_iter().map(|m| m.kind);
            format!("unknown {what} {}{}", quoted(name), suggestion(name, valid))
        });
        errors.push(path, message);
    }
    found
}

/// Decodes the parameters of `mechanism` and checks them together.
pub(crate) fn spec(
    table: &Table,
    mechanism: &'static Mechanism,
    also: &[&str],
    path: &str,
    errors: &mut Errors,
) -> Option<Spec> {
    partly(table, mechanism, also, path, errors).0
}

/// The same, and those parameters that could be read where something is wrong.
pub(crate) fn partly(
    table: &Table,
    mechanism: &'static Mechanism,
    also: &[&str],
    path: &str,
    errors: &mut Errors,
) -> (Option<Spec>, Values) {
    let before = errors.len();
    let mut values = decode_table(table, mechanism, also, path, errors);
    let sound = errors.len() == before;
    let check = if sound { catalogue::check } else { catalogue::check_partly };
    // A value that could not be decoded has an error already, and is not missing.
    let told = |name: &str| !sound && table.contains_key(name) && values.get(name).is_none();
    for (name, message) in together(mechanism, &values, check).into_iter().filter(|(name, _)| !told(name)) {
        errors.push(join(path, name), message);
    }
    if errors.len() > before {
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
    if laws(values) > 0 {
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
    let mut problems = Vec::new();
    for param in mechanism.params {
        let Some(Value::Random(law)) = values.get(param.name) else { continue };
        let (low, high) = law.extremes();
        let low = if param.ty == Type::Rate { low.max(1.0) } else { low };
        if let Some(x) = [low, high].into_iter().find(|x| !param.range.holds(*x)) {
            problems.push((
                param.name,
                format!(
                    "may be drawn as {}, and must be {}; write a distribution with bounds, such as uniform",
                    if x == 0.0 { "0".into() } else { format!("{x:.3e}") },
                    param.range.words()
                ),
            ));
        }
    }
    problems
}

/// The maximum number of dealt values in a table, at least one.
fn turns(values: &Values) -> usize {
    let of = |value: &Value| match value {
        Value::Random(Law::Dealt(list)) => list.len(),
        Value::Table(table) => turns(table),
        Value::Tables(tables) => tables.values().map(turns).max().unwrap_or(1),
        _ => 1,
    };
    values.0.values().map(of).max().unwrap_or(1)
}

/// How many values in a table are drawn, each for itself.
fn laws(values: &Values) -> usize {
    let of = |value: &Value| match value {
        Value::Random(Law::Dealt(_)) => 0,
        Value::Random(_) => 1,
        Value::Table(table) => laws(table),
        Value::Tables(tables) => tables.values().map(laws).sum(),
        _ => 0,
    };
    values.0.values().map(of).sum()
}

/// Sets of values that draws may give: every value that is dealt, with both ends of every law. Of many laws, one at a time
/// is at its other end: what relates two of them sees all their corners.
pub(super) fn likely(values: &Values) -> impl Iterator<Item = Values> {
    const ALL_CORNERS: usize = 6;
    const MOST: usize = 4000;
    let (turns, laws) = (turns(values), laws(values));
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
                Some(rate @ Value::Rate(_)) => rate.with(x.max(1.0)),
                Some(unit) => unit.with(x),
                None => value.clone(),
            }
        }
        Value::Table(table) => Value::Table(all_settled(table, turn, high)),
        Value::Tables(tables) => Value::Tables(
            tables.iter().map(|(name, table)| (name.clone(), all_settled(table, turn, high))).collect(),
        ),
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
                    let seen: BTreeSet<[u64; 2]> =
                        sets.iter().map(|set| [set.number(a) as u64, set.number(b) as u64]).collect();
                    assert_eq!(seen.len(), 4, "{count} laws, {a} and {b}");
                }
            }
        }
    }
}
