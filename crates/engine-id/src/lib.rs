//! The engine id: what identifies the engine that made a run, so that finished runs can be found again.
//!
//! It is a hash of everything that can change a number, and of nothing else: the tokens of the crates that a run depends
//! on, the versions of the packages below them, and the features they are built with. Comments, documentation, layout,
//! test code and the texts of the mechanisms' tables (titles, descriptions, sources) are left out, so that mending a
//! sentence does not throw away the runs of a night. Used by the build script of the Python binding.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use sha2::{Digest, Sha256};

/// The crate that carries out a run. It and every workspace crate below it decide the numbers.
const RUN: &str = "evenflow-sim";

/// Fields of the declarative tables that only describe. A string literal behind one of them is documentation.
const TEXTS: [&str; 6] = ["doc", "title", "source", "what", "why", "example"];

/// Why there is no id.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The id of the workspace at `root`: 16 hexadecimal digits, and the files that it was made of.
///
/// # Errors
/// A source, a manifest or the lock file cannot be read or parsed.
pub fn of_workspace(root: &Path) -> Result<(String, Vec<PathBuf>), Error> {
    let mut sha = Sha256::new();
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    let crates = crates(root)?;
    for (name, folder) in &crates {
        files.push(folder.join("Cargo.toml"));
        sha.update(format!("crate {name}\n"));
        module(&folder.join("src/lib.rs"), &folder.join("src"), &mut sha, &mut files)?;
    }
    for line in packages(root, &crates)? {
        sha.update(format!("{line}\n"));
    }
    let id = sha.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    Ok((id, files))
}

/// A hash over the tokens of a source text, as [`of_workspace`] takes them; modules in files of their own are not
/// followed.
///
/// # Errors
/// The text is no Rust.
pub fn of_source(text: &str) -> Result<String, Error> {
    let mut sha = Sha256::new();
    let stream = TokenStream::from_str(text).map_err(|error| Error(error.to_string()))?;
    tokens(stream, &mut sha, &mut Vec::new(), &mut Vec::new());
    Ok(sha.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect())
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error(format!("{}: {error}", path.display())))
}

/// Hashes a module's file and the files of its modules, in the order of their declarations.
fn module(file: &Path, below: &Path, sha: &mut Sha256, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    files.push(file.to_path_buf());
    let stream =
        TokenStream::from_str(&read(file)?).map_err(|error| Error(format!("{}: {error}", file.display())))?;
    let mut found = Vec::new();
    tokens(stream, sha, &mut Vec::new(), &mut found);
    for names in found {
        let Some((name, above)) = names.split_last() else { continue };
        let folder = above.iter().fold(below.to_path_buf(), |path, part| path.join(part));
        let (flat, nested) = (folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs"));
        let path = if flat.is_file() { flat } else { nested };
        module(&path, &folder.join(name), sha, files)?;
    }
    Ok(())
}

/// Hashes tokens; collects the modules declared without a body, each with the inline modules around it.
fn tokens(stream: TokenStream, sha: &mut Sha256, inside: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let list: Vec<TokenTree> = stream.into_iter().collect();
    let mut i = 0;
    while i < list.len() {
        if let Some((length, group)) = attribute(&list[i..]) {
            if is_doc(group) {
                i += length;
                continue;
            }
            if is_test(group) {
                i += length;
                i += item(&list[i..]);
                continue;
            }
        }
        if let Some(length) = described(&list[i..]) {
            i += length;
            continue;
        }
        let name = declared(&list[i..]);
        match &list[i] {
            TokenTree::Group(group) => nested(group, sha, inside, found),
            TokenTree::Punct(mark) => {
                let joint = if mark.spacing() == Spacing::Joint { "+" } else { "" };
                sha.update(format!("{}{joint}\n", mark.as_char()));
            }
            other => sha.update(format!("{other}\n")),
        }
        i += 1;
        if let Some(name) = name {
            sha.update(format!("{name}\n"));
            i += 1;
            match list.get(i) {
                Some(TokenTree::Group(body)) => {
                    inside.push(name);
                    nested(body, sha, inside, found);
                    inside.pop();
                    i += 1;
                }
                _ => found.push(inside.iter().cloned().chain([name]).collect()),
            }
        }
    }
}

fn nested(group: &Group, sha: &mut Sha256, inside: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let (open, close) = match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    };
    sha.update(format!("{open}\n"));
    tokens(group.stream(), sha, inside, found);
    sha.update(format!("{close}\n"));
}

fn is_punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == mark)
}

/// `#[…]` or `#![…]` at the head: how many tokens it takes, and what stands in the brackets.
fn attribute(list: &[TokenTree]) -> Option<(usize, &Group)> {
    if !is_punct(list.first(), '#') {
        return None;
    }
    let length = if is_punct(list.get(1), '!') { 3 } else { 2 };
    match list.get(length - 1) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some((length, group)),
        _ => None,
    }
}

fn is_doc(attribute: &Group) -> bool {
    matches!(attribute.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

/// `cfg(test)` or `test`.
fn is_test(attribute: &Group) -> bool {
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    text == "cfg(test)" || text == "test"
}

/// How many tokens the item at the head takes: to its semicolon or its body.
fn item(list: &[TokenTree]) -> usize {
    for (i, token) in list.iter().enumerate() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == ';' => return i + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return i + 1 + usize::from(is_punct(list.get(i + 1), ';'));
            }
            _ => {}
        }
    }
    list.len()
}

/// `doc: "…",` and its like at the head: how many tokens it takes.
fn described(list: &[TokenTree]) -> Option<usize> {
    match (list.first(), list.get(1), list.get(2)) {
        (Some(TokenTree::Ident(name)), colon, Some(TokenTree::Literal(text)))
            if TEXTS.iter().any(|known| name == known)
                && is_punct(colon, ':')
                && text.to_string().starts_with(['"', 'r']) =>
        {
            Some(3 + usize::from(is_punct(list.get(3), ',')))
        }
        _ => None,
    }
}

/// `mod name` at the head: the name.
fn declared(list: &[TokenTree]) -> Option<String> {
    match (list.first(), list.get(1)) {
        (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(name))) if word == "mod" => {
            Some(name.to_string())
        }
        _ => None,
    }
}

fn table(path: &Path) -> Result<toml::Table, Error> {
    read(path)?.parse().map_err(|error| Error(format!("{}: {error}", path.display())))
}

/// A manifest's dependencies and how it asks for each: test dependencies left out, workspace ones looked up.
fn dependencies(root: &Path, folder: &Path) -> Result<Vec<(String, toml::Value)>, Error> {
    let workspace = table(&root.join("Cargo.toml"))?;
    let shared = workspace.get("workspace").and_then(|w| w.get("dependencies"));
    let manifest = table(&folder.join("Cargo.toml"))?;
    let own = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
    let asked = |(name, how): (&String, &toml::Value)| {
        let shared = how.get("workspace").and_then(|_| shared?.get(name));
        (name.clone(), shared.unwrap_or(how).clone())
    };
    Ok(own.map(asked).collect())
}

/// The workspace crates below [`RUN`], by name: those whose sources decide a run's numbers. Macro crates are
/// dependencies like any other.
///
/// # Errors
/// A manifest cannot be read or parsed.
fn crates(root: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
    let mut found = BTreeMap::new();
    let mut wanted = vec![(RUN.to_owned(), root.join("crates/sim"))];
    while let Some((name, folder)) = wanted.pop() {
        for (package, how) in dependencies(root, &folder)? {
            if let Some(path) = how.get("path").and_then(toml::Value::as_str)
                && !found.contains_key(&package)
            {
                wanted.push((package, root.join(path)));
            }
        }
        found.insert(name, folder);
    }
    Ok(found)
}

/// The packages below the crates of a run, test dependencies left out: name, version and checksum from the lock file, and
/// how the manifests ask for them.
fn packages(root: &Path, crates: &BTreeMap<String, PathBuf>) -> Result<Vec<String>, Error> {
    let mut lines = BTreeSet::new();
    let mut wanted: Vec<String> = Vec::new();
    for (name, folder) in crates {
        for (package, how) in dependencies(root, folder)? {
            if !crates.contains_key(&package) {
                lines.insert(format!("{name} asks for {package} = {how:?}"));
                wanted.push(package);
            }
        }
    }
    let lock = table(&root.join("Cargo.lock"))?;
    let mut locked: BTreeMap<String, Vec<&toml::Value>> = BTreeMap::new();
    for package in lock.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        let name = package.get("name").and_then(toml::Value::as_str).unwrap_or_default();
        locked.entry(name.to_owned()).or_default().push(package);
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        for package in locked.get(&name).into_iter().flatten() {
            let field = |key: &str| package.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            lines.insert(format!("{name} {} {}", field("version"), field("checksum")));
            let below = package.get("dependencies").and_then(toml::Value::as_array);
            // a dependency is "name", or "name version" where several versions are locked: then all of them count
            wanted.extend(
                below
                    .into_iter()
                    .flatten()
                    .filter_map(|d| d.as_str().and_then(|d| d.split(' ').next()).map(str::to_owned)),
            );
        }
    }
    Ok(lines.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = r#"
        //! A rule.
        /// Whether the queue is full.
        pub fn full(packets: u32, limit: u32) -> bool {
            packets < limit // waiting packets only
        }
        pub static TABLE: Mechanism = Mechanism { kind: "rule", doc: "Drops what comes late.", limit: "24 packets" };
    "#;

    fn id(text: &str) -> String {
        of_source(text).unwrap()
    }

    fn edited(from: &str, to: &str) -> String {
        assert!(RULE.contains(from), "{from}");
        id(&RULE.replace(from, to))
    }

    #[test]
    fn comments_documentation_and_layout_do_not_count() {
        let before = id(RULE);
        assert_eq!(edited("// waiting packets only", "// all packets /* as ever */"), before);
        assert_eq!(edited("//! A rule.", "//! Another text."), before);
        assert_eq!(edited("/// Whether the queue is full.", "#[doc = \"x\"]"), before);
        assert_eq!(edited("packets < limit", "packets\n                < limit"), before);
        assert_eq!(edited("Drops what comes late.", "Drops late arrivals."), before);
        assert_eq!(
            id(&format!("{RULE}\n#[cfg(test)]\nmod tests {{ fn a() {{ assert!(1 < 2); }} }}")),
            before
        );
        assert_eq!(id(&format!("{RULE}\n#[cfg(test)]\nmod tests;")), before);
        assert_eq!(id(&format!("{RULE}\n#[cfg(test)]\nuse std::{{fmt, io}};")), before);
    }

    #[test]
    fn every_token_that_can_change_a_number_counts() {
        let before = id(RULE);
        for (from, to) in [
            ("packets < limit //", "packets <= limit //"),
            ("packets < limit //", "limit < packets //"),
            ("kind: \"rule\"", "kind: \"other\""),
            ("limit: \"24 packets\"", "limit: \"25 packets\""),
            ("limit: u32", "limit: u64"),
            ("pub fn full", "#[inline] pub fn full"),
        ] {
            assert_ne!(edited(from, to), before, "{from} → {to}");
        }
        assert_ne!(
            id("fn f(a: bool, b: bool) -> bool { a & &b }"),
            id("fn f(a: bool, b: bool) -> bool { a && b }")
        );
        assert_ne!(id(&format!("{RULE}\n#[cfg(not(test))]\nfn more() {{}}")), before);
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn world(root: &Path) {
        write(
            &root.join("Cargo.toml"),
            "[workspace.dependencies]\nlibm = \"0.2\"\nproptest = \"1\"\nevenflow-queue = { path = \"crates/queue\" }\n\
             evenflow-derive = { path = \"crates/derive\" }\n[workspace.package]\nversion = \"0.1.0\"\n",
        );
        write(
            &root.join("Cargo.lock"),
            "[[package]]\nname = \"libm\"\nversion = \"0.2.1\"\nchecksum = \"aa\"\ndependencies = [\"deep\"]\n\
             [[package]]\nname = \"deep\"\nversion = \"1.0.0\"\nchecksum = \"bb\"\n\
             [[package]]\nname = \"proptest\"\nversion = \"1.0.0\"\nchecksum = \"cc\"\n",
        );
        let below = [
            ("sim", "evenflow-queue.workspace = true"),
            ("queue", "evenflow-derive.workspace = true"),
            ("derive", ""),
            ("wire", "evenflow-queue.workspace = true"),
        ];
        for (name, asks) in below {
            let folder = root.join("crates").join(name);
            write(
                &folder.join("Cargo.toml"),
                &format!(
                    "[dependencies]\nlibm.workspace = true\n{asks}\n[dev-dependencies]\nproptest.workspace = true\n"
                ),
            );
            write(&folder.join("src/lib.rs"), "mod a;\nmod flat { mod deep; }\n#[cfg(test)]\nmod tests;\n");
            write(&folder.join("src/a/mod.rs"), "mod b;\nfn a() -> bool { 1 < 2 }\n");
            write(&folder.join("src/a/b.rs"), "fn b() {}\n");
            write(&folder.join("src/flat/deep.rs"), "fn c() {}\n");
            write(&folder.join("src/tests.rs"), "#[test] fn t() {}\n");
        }
    }

    #[test]
    fn a_workspace_is_followed_through_its_modules_and_packages() {
        let root = std::env::temp_dir().join(format!("evenflow-engine-id-{}", std::process::id()));
        world(&root);
        let now = || of_workspace(&root).unwrap().0;
        let (first, files) = of_workspace(&root).unwrap();
        assert_eq!(files.iter().filter(|f| f.ends_with("deep.rs") || f.ends_with("b.rs")).count(), 6);
        assert!(!files.iter().any(|f| f.ends_with("tests.rs")));
        let edit = |file: &str, from: &str, to: &str| {
            let path = root.join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{file}: {from}");
            std::fs::write(&path, text.replace(from, to)).unwrap();
            let id = now();
            std::fs::write(&path, text).unwrap();
            id
        };
        assert_eq!(edit("crates/sim/src/a/mod.rs", "1 < 2", "1 < 2 /* smaller */"), first);
        assert_ne!(edit("crates/sim/src/a/mod.rs", "1 < 2", "1 > 2"), first);
        assert_ne!(edit("crates/queue/src/a/b.rs", "fn b", "fn d"), first);
        assert_ne!(edit("crates/derive/src/flat/deep.rs", "fn c", "fn d"), first);
        assert_eq!(edit("crates/wire/src/a/b.rs", "fn b", "fn d"), first);
        assert_eq!(edit("crates/sim/src/tests.rs", "fn t()", "fn u()"), first);
        // packages: what a run is built with counts, what tests are built with does not, nor the version's number
        assert_ne!(edit("Cargo.lock", "0.2.1", "0.2.2"), first);
        assert_ne!(edit("Cargo.lock", "\"bb\"", "\"b0\""), first);
        assert_eq!(edit("Cargo.lock", "\"cc\"", "\"c0\""), first);
        assert_ne!(
            edit("Cargo.toml", "libm = \"0.2\"", "libm = { version = \"0.2\", features = [\"x\"] }"),
            first
        );
        assert_eq!(edit("Cargo.toml", "0.1.0", "0.2.0"), first);
        assert_eq!(now(), first);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_workspace_has_an_id() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (id, files) = of_workspace(&root).unwrap();
        assert_eq!(id.len(), 16);
        assert!(files.iter().any(|f| f.ends_with("sim/src/lib.rs")));
    }

    /// Exactly the crates that cargo builds below the simulator decide a run's numbers.
    #[test]
    fn the_closure_is_cargos() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tree = std::process::Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--package", RUN, "--edges", "normal,build", "--prefix", "none"])
            .current_dir(&root)
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let listed = tree.lines().filter_map(|line| line.split(' ').next());
        let built: BTreeSet<&str> = listed.filter(|name| name.starts_with("evenflow-")).collect();
        let ours = crates(&root).unwrap();
        assert_eq!(ours.keys().map(String::as_str).collect::<BTreeSet<_>>(), built);
        assert!(built.len() > 6);
    }
}
