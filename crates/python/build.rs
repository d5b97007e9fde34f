//! The engine id: a hash of the sources a run depends on and of the lock file, taken at build time.

#![expect(clippy::disallowed_methods, reason = "a build script is told by its environment")]

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const CRATES: [&str; 7] = ["base", "queue", "scenario", "sim", "stage", "traffic", "transport"];

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in CRATES {
        let src = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", src.display());
        collect(&src, &mut files);
    }
    files.sort();
    let lock = crates.join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    files.push(lock);
    let mut sha = Sha256::new();
    for file in files {
        sha.update(std::fs::read(&file).unwrap_or_default());
    }
    let id: String = sha.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    println!("cargo::rustc-env=EVENFLOW_ENGINE_ID={id}");
    println!("cargo::rustc-env=EVENFLOW_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
}
