//! The JSON Schema of scenario files, for editors: completion, hints, red underlines.
//!
//! It checks types and names, not relations between keys; the decoder checks those.

use evenflow_base::dscp;
use evenflow_base::schema::{Fallback, Mechanism, Nested, Param, Room, Type};
use serde_json::{Map, Value as Json, json};

use crate::catalogue;
use crate::quantity::{GAMMA_SHAPE, PARETO_SHAPE, QUANTITIES, Quantity, SIGMA};
use crate::sections::{CONGESTION_CONTROL, Key, LOSS, SCENARIO, SCHEDULER, Section, Shape};

/// JSON Schema (draft 2020-12) of a scenario file.
pub fn json_schema() -> String {
    let mut schema = section(&SCENARIO, None);
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("Evenflow scenario"));
    schema.insert("$defs".into(), definitions());
    Json::Object(schema).to_string()
}

/// The quantities, each as plain text or as a distribution.
fn definitions() -> Json {
    let number = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? ?";
    let mut all = Map::new();
    for quantity in QUANTITIES {
        let pattern = |unit| json!({ "type": "string", "pattern": format!("{number}{unit}") });
        let patterns: Vec<Json> = quantity.patterns().map(pattern).collect();
        let (name, (what, example)) = (quantity.1, quantity.0.describe());
        let what = format!("{what}, for example {example}");
        all.insert(format!("plain-{name}"), json!({ "description": what, "anyOf": patterns }));
        all.insert(name.into(), law(&format!("plain-{name}")));
    }
    all.insert("plain-number".into(), json!({ "type": "number" }));
    all.insert("number".into(), law("plain-number"));
    all.insert(
        "name".into(),
        json!({ "type": "string", "pattern": r#"^[^-\s.,:;\[\]"'][^\s.,:;\[\]"']*$"# }),
    );
    // It is in every alternative of a queue.
    all.insert(SCHEDULER.name.into(), table_of(&SCHEDULER, Some(Room::Scheduler)));
    all.extend(catalogue::nested().into_iter().map(|table| (table.name.to_owned(), nested(table))));
    Json::Object(all)
}

fn law(plain: &str) -> Json {
    let plain = reference(plain);
    let pair = json!({ "type": "array", "prefixItems": [plain, plain], "minItems": 2, "maxItems": 2 });
    let list = json!({ "type": "array", "items": plain, "minItems": 1 });
    let shaped = |shape: &Json| json!({ "type": "array", "prefixItems": [plain, shape], "minItems": 2, "maxItems": 2 });
    let gamma = shaped(&json!({ "type": "number", "minimum": GAMMA_SHAPE.min, "maximum": GAMMA_SHAPE.max }));
    let pareto = shaped(&json!({ "type": "number", "exclusiveMinimum": PARETO_SHAPE.min }));
    let lognormal = shaped(&json!({ "type": "number", "minimum": SIGMA.min, "maximum": SIGMA.max }));
    json!({ "anyOf": [plain, {
        "type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
        "properties": { "uniform": pair, "normal": pair, "exponential": plain, "values": list,
                        "gamma": gamma, "pareto": pareto, "lognormal": lognormal },
    }] })
}

fn reference(definition: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

/// A table with these keys and no others.
fn object(keys: impl Iterator<Item = (Key, Json)>) -> Map<String, Json> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (key, schema) in keys {
        properties.insert(key.name.into(), documented(schema, key.doc, key.default));
        if key.default == Fallback::Required {
            required.push(key.name);
        }
    }
    required.sort_unstable();
    let object = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    let Json::Object(table) = object else { unreachable!("an object") };
    table
}

/// Parameters as keys with their schemas.
fn keys(params: &'static [Param], changes: &'static [&'static str]) -> impl Iterator<Item = (Key, Json)> {
    params.iter().map(move |param| {
        let key = Key::of(param, changes);
        let schema = shape(&key.shape);
        (key, schema)
    })
}

/// A table of a section's keys; with a mechanism: and its parameters.
fn section(section: &Section, mechanism: Option<&'static Mechanism>) -> Map<String, Json> {
    let own = section.keys.iter().map(|key| match (&key.shape, mechanism) {
        (Shape::Kind(_), Some(mechanism)) => (*key, json!({ "const": mechanism.kind })),
        (one, _) => (*key, shape(one)),
    });
    let params = mechanism.into_iter().flat_map(|m| keys(m.params, m.traits.changes));
    let mut table = object(own.chain(params));
    table.insert("description".into(), json!(mechanism.map_or(section.doc, |m| m.doc)));
    table
}

/// A value, or steps of it.
fn or_steps(value: &Json) -> Json {
    let step = json!({
        "type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [reference("plain-duration"), value],
    });
    json!({ "anyOf": [value, {
        "type": "object", "additionalProperties": false, "required": ["steps"],
        "properties": { "steps": { "type": "array", "items": step, "minItems": 1 } },
    }] })
}

fn documented(mut schema: Json, doc: &str, default: Fallback) -> Json {
    let rest = match default {
        Fallback::Required => String::new(),
        Fallback::Absent(meaning) => format!(" Absent: {meaning}."),
        Fallback::Text(text) => format!(" Default: {text}."),
    };
    if let Json::Object(table) = &mut schema {
        table.insert("description".into(), json!(format!("{doc}{rest}")));
    }
    schema
}

fn value(ty: Type) -> Json {
    if let Some(quantity) = Quantity::of(ty) {
        return reference(quantity.1);
    }
    match ty {
        Type::BytesOr(words) => json!({ "anyOf": [{ "enum": words }, reference("bytes")] }),
        Type::Number => reference("number"),
        Type::Integer => json!({ "type": "integer", "minimum": 0 }),
        Type::IntegerOr(word) => json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": word }] }),
        Type::Flag => json!({ "type": "boolean" }),
        Type::Choice(words) => json!({ "enum": words }),
        Type::Names => json!({ "type": "array", "items": reference("name"), "uniqueItems": true }),
        Type::NumberPerClass => by_name(&reference("plain-number")),
        Type::DurationPerClass => by_name(&reference("plain-duration")),
        Type::Name => reference("name"),
        Type::Table(table) => reference(table.name),
        Type::TablePerName(table) => by_name(&reference(table.name)),
        Type::Rates => json!({ "anyOf": [
            { "type": "array", "items": reference("plain-rate"), "minItems": 1 },
            { "type": "string", "pattern": "\\.[mM][pP][dD]$" },
        ] }),
        Type::ByteRows => {
            let row = json!({ "type": "array", "items": reference("plain-bytes"), "minItems": 1 });
            json!({ "type": "array", "items": row, "minItems": 1 })
        }
        Type::Mechanism(room) => shape(&Shape::Named(room)),
        _ => unreachable!("{ty:?} is a quantity"),
    }
}

/// A table inside a mechanism's.
fn nested(table: &Nested) -> Json {
    let mut object = object(keys(table.params, table.changes));
    object.insert("description".into(), json!(table.doc));
    Json::Object(object)
}

fn by_name(schema: &Json) -> Json {
    json!({ "type": "object", "propertyNames": reference("name"), "additionalProperties": schema })
}

fn shape(shape: &Shape) -> Json {
    match shape {
        Shape::Value(ty) => value(*ty),
        Shape::Stepped(ty) => or_steps(&value(*ty)),
        Shape::Text => json!({ "type": "string" }),
        Shape::Kind(room) => json!({ "enum": kinds(*room) }),
        Shape::Named(room) => {
            let tables = catalogue::all(*room).into_iter().map(|m| {
                let mut table = Json::Object(object(keys(m.params, m.traits.changes)));
                table["properties"]["kind"] = json!({ "const": m.kind });
                table["required"].as_array_mut().into_iter().for_each(|list| list.push(json!("kind")));
                table
            });
            let mut any = vec![json!({ "enum": kinds(*room) })];
            any.extend(tables);
            json!({ "anyOf": any })
        }
        Shape::Rate => {
            let opportunities = json!({
                "type": "object", "additionalProperties": false, "required": ["opportunities"],
                "properties": {
                    "opportunities": { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1 },
                    "bytes": value(Type::Bytes),
                },
            });
            let trace = json!({
                "type": "object", "additionalProperties": false, "required": ["trace"],
                "properties": { "trace": { "type": "string" }, "loop": { "type": "boolean" } },
            });
            let steps = &or_steps(&reference("plain-rate"))["anyOf"][1];
            json!({ "anyOf": [reference("rate"), steps, opportunities, trace] })
        }
        Shape::Loss => {
            let mut table = section(&LOSS, None);
            table.remove("description");
            let one = ["probability", "every"].map(|key| json!({ "required": [key] }));
            table.insert("oneOf".into(), json!(one));
            json!({ "anyOf": [reference("number"), Json::Object(table)] })
        }
        Shape::Dscp => {
            let names: Vec<&str> = dscp::NAMES.iter().map(|(name, _)| *name).collect();
            json!({ "anyOf": [{ "enum": names }, { "type": "integer", "minimum": 0, "maximum": 63 }] })
        }
        Shape::Per => json!({ "type": "string", "pattern": "^(user|flow|group|[1-9][0-9]* users?)$" }),
        Shape::Table(table, _) if table.name == SCHEDULER.name => reference(SCHEDULER.name),
        Shape::Table(table, room) => table_of(table, *room),
        Shape::Tcp(table) => tcp(table),
        Shape::Tables(table, room) => {
            let one = table_of(table, Some(*room));
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Shape::List(table) => json!({ "type": "array", "items": section(table, None) }),
        Shape::ByName(table, room) => by_name(&table_of(table, *room)),
        Shape::Words([]) => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::Words(words) => {
            json!({ "type": "array", "items": { "enum": words }, "uniqueItems": true })
        }
        Shape::Every => {
            json!({ "anyOf": [reference("plain-duration"), { "enum": ["packet", "departure"] }] })
        }
        Shape::Elsewhere => json!({ "type": "object" }),
    }
}

fn kinds(room: Room) -> Vec<&'static str> {
    catalogue::all(room).iter().map(|m| m.kind).collect()
}

/// A table that may be one of several, distinguished by its `kind`.
fn table_of(table: &Section, room: Option<Room>) -> Json {
    let Some(room) = room else { return Json::Object(section(table, None)) };
    let one = |m: &'static Mechanism| Json::Object(section(table, Some(m)));
    json!({ "description": table.doc, "anyOf": catalogue::all(room).into_iter().map(one).collect::<Vec<_>>() })
}

fn tcp(table: &'static Mechanism) -> Json {
    let control = (CONGESTION_CONTROL, shape(&CONGESTION_CONTROL.shape));
    Json::Object(object(keys(table.params, table.traits.changes).chain([control])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_json_and_its_references_lead_somewhere() {
        let text = json_schema();
        let schema: Json = serde_json::from_str(&text).expect("JSON");
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().expect("a name");
            assert!(schema["$defs"][name].is_object(), "{name}");
        }
        assert_eq!(schema["required"], json!(["duration", "groups", "links"]));
    }
}
