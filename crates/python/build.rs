//! Takes the engine id at build time.

#![expect(clippy::disallowed_methods, reason = "the environment is how cargo calls a build script")]

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (id, files) = evenflow_engine_id::of_workspace(&root)?;
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rustc-env=EVENFLOW_ENGINE_ID={id}");
    println!("cargo::rustc-env=EVENFLOW_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
    Ok(())
}
