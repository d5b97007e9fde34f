//! The documents made of the tables agree with the decoder.

use crate::common;

use evenflow_scenario::{json_schema, schema_json};
use serde_json::Value as Json;

#[test]
fn every_key_an_example_uses_is_in_the_json_schema() {
    let schema = json_schema();
    fn keys(json: &Json, out: &mut Vec<String>) {
        if let Json::Object(table) = json {
            for (key, value) in table {
                out.push(key.clone());
                keys(value, out);
            }
        }
    }
    let own = ["access", "bottleneck", "meter", "heavy", "light", "zero", "one"];
    for (name, _) in common::EXAMPLES.iter() {
        let mut tree = common::tree(name);
        tree.as_object_mut().expect("a table").remove("sweep");
        let mut used = Vec::new();
        keys(&tree, &mut used);
        for key in used.iter().filter(|key| !own.contains(&key.as_str())) {
            assert!(schema.contains(&format!("\"{key}\":")), "{name}: {key}");
        }
    }
}

#[test]
fn descriptions_are_sentences() {
    let schema: Json = serde_json::from_str(&schema_json()).expect("JSON");
    let ends = |json: &Json, what: &str| {
        let doc = json["doc"].as_str().unwrap_or_default();
        assert!(doc.ends_with('.') && doc.chars().next().is_some_and(|c| !c.is_lowercase()), "{what}: {doc}");
    };
    for mechanism in schema["mechanisms"].as_array().expect("a list") {
        ends(mechanism, &mechanism["kind"].to_string());
        for part in ["params", "observables", "counters"] {
            for item in mechanism[part].as_array().expect("a list") {
                ends(item, &format!("{} {}", mechanism["kind"], item["name"]));
            }
        }
    }
    for metric in schema["metrics"].as_array().expect("a list") {
        ends(metric, &metric["name"].to_string());
    }
}
