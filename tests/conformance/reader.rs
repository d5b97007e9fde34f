//! Reads the vectors of a folder; the crates' tests include this file. README.md says what a vector is.

use std::path::Path;

use serde_json::Value as Json;

/// The folder of a kind of vectors.
pub fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(name)
}

/// The vectors of a folder, by name.
pub fn vectors(name: &str) -> Vec<(String, Json)> {
    let mut found: Vec<(String, Json)> = std::fs::read_dir(folder(name))
        .expect("the folder of vectors")
        .map(|file| file.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a file");
            (path.display().to_string(), serde_json::from_str(&text).expect("JSON"))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
