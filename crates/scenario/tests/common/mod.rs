//! What the tests share: the example files as trees, and places in them by dotted path.

use evenflow_scenario::{Errors, Scenario};
use serde_json::Value as Json;

/// The scenario files of the repository.
pub const EXAMPLES: [(&str, &str); 4] = [
    ("abc-default", include_str!("../../../../examples/scenarios/abc-default.toml")),
    ("newreno-droptail", include_str!("../../../../examples/scenarios/newreno-droptail.toml")),
    ("poisson-droptail", include_str!("../../../../examples/scenarios/poisson-droptail.toml")),
    ("red-ecn", include_str!("../../../../examples/scenarios/red-ecn.toml")),
];

/// The text of an example.
pub fn example(name: &str) -> &'static str {
    EXAMPLES.iter().find(|(n, _)| *n == name).expect(name).1
}

/// An example as a tree.
pub fn tree(name: &str) -> Json {
    let table: toml::Table = example(name).parse().expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

/// The place at a dotted path with indices as names: `groups.heavy.path.0`. Tables are created.
pub fn at<'a>(tree: &'a mut Json, path: &str) -> &'a mut Json {
    path.split('.').fold(tree, |place, key| match place {
        Json::Array(list) => &mut list[key.parse::<usize>().expect("an index")],
        place => {
            if !place.is_object() {
                *place = serde_json::json!({});
            }
            place.as_object_mut().expect("a table").entry(key).or_insert(Json::Null)
        }
    })
}

/// An example with some places changed.
pub fn with(name: &str, changes: &[(&str, Json)]) -> Json {
    let mut tree = tree(name);
    for (path, json) in changes {
        *at(&mut tree, path) = json.clone();
    }
    tree
}

/// An example without some keys.
pub fn without(name: &str, paths: &[&str]) -> Json {
    let mut tree = tree(name);
    for path in paths {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let table = if table.is_empty() { &mut tree } else { at(&mut tree, table) };
        table.as_object_mut().expect("a table").remove(key).expect("a key");
    }
    tree
}

/// The scenario of a tree that must be valid.
pub fn valid(tree: &Json) -> Scenario {
    Scenario::from_value(tree).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The errors of a tree that must not be.
pub fn errors(tree: &Json) -> Errors {
    Scenario::from_value(tree).map(|s| s.canonical).expect_err("an error")
}
