//! All errors of a scenario at once, and the nearest valid name for a mistyped one.

use std::cell::RefCell;
use std::fmt;

use serde_json::{Map, Value as Json};

/// Everything that is wrong with a scenario: pairs of a path in the file and a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(Vec<(String, String)>);

impl Errors {
    /// One error. An empty path means the file as a whole.
    pub fn one(path: impl Into<String>, message: impl Into<String>) -> Errors {
        Errors(vec![(path.into(), message.into())])
    }

    fn push(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push((path.into(), message.into()));
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs of path and message.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, message)| (path.as_str(), message.as_str()))
    }

    /// Sorted by path, without duplicates.
    pub(crate) fn sorted(mut self) -> Errors {
        self.0.sort();
        self.0.dedup();
        self
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (path, message)) in self.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            let colon = if path.is_empty() { "" } else { ": " };
            write!(f, "{newline}{path}{colon}{message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

/// A place in the file that is read: its path, and all errors found so far.
#[derive(Clone)]
pub(crate) struct At<'a> {
    path: String,
    found: &'a RefCell<Errors>,
}

impl<'a> At<'a> {
    /// The file as a whole.
    pub fn root(found: &'a RefCell<Errors>) -> At<'a> {
        At { path: String::new(), found }
    }

    /// The same place, with its errors in `found`.
    pub fn reporting<'b>(&self, found: &'b RefCell<Errors>) -> At<'b> {
        At { path: self.path.clone(), found }
    }

    /// The place of another path.
    pub fn elsewhere(&self, path: &str) -> At<'a> {
        At { path: path.to_owned(), found: self.found }
    }

    /// Whether there is an error of this very place.
    pub fn has_error(&self) -> bool {
        self.found.borrow().iter().any(|(path, _)| path == self.path)
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A key of the table here.
    pub fn key(&self, key: &str) -> At<'a> {
        At { path: join(&self.path, key), found: self.found }
    }

    /// An item of the list here.
    pub fn item(&self, index: usize) -> At<'a> {
        At { path: format!("{}[{index}]", self.path), found: self.found }
    }

    /// Adds an error.
    pub fn error(&self, message: impl Into<String>) {
        self.found.borrow_mut().push(self.path.as_str(), message);
    }

    /// Adds an error; the value that has it is absent.
    pub fn none<T>(&self, message: impl Into<String>) -> Option<T> {
        self.error(message);
        None
    }

    /// Adds the error of a value of another type than is `needed`.
    pub fn wrong<T>(&self, json: &Json, needed: &str) -> Option<T> {
        self.none(format!("{needed}, not {}", shown(json)))
    }

    /// A table, or an error.
    pub fn table<'j>(&self, json: &'j Json, needed: &str) -> Option<&'j Map<String, Json>> {
        json.as_object().or_else(|| self.wrong(json, needed))
    }

    /// A list, or an error.
    pub fn list<'j>(&self, json: &'j Json, needed: &str) -> Option<&'j [Json]> {
        json.as_array().map(Vec::as_slice).or_else(|| self.wrong(json, needed))
    }

    /// Text, or an error.
    pub fn text<'j>(&self, json: &'j Json, needed: &str) -> Option<&'j str> {
        json.as_str().or_else(|| self.wrong(json, needed))
    }

    /// The name of a link, stage, group or class, or an error.
    pub fn name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let inner = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if name.chars().all(inner) && name.starts_with(|c: char| c != '-') {
            return Some(name);
        }
        let name = quoted(name);
        self.none(format!(
            "{name} is no name: a name has letters, digits, \"_\" and \"-\", and does not start with \"-\""
        ))
    }

    /// The value, or `None` and its error.
    pub fn ok<T>(&self, result: Result<T, impl Into<String>>) -> Option<T> {
        result.map_err(|message| self.error(message)).ok()
    }

    /// Number of errors in the file so far, to detect new ones.
    pub fn count(&self) -> usize {
        self.found.borrow().0.len()
    }
}

/// The path of `key` in the table at `path`; keys that are no bare TOML keys are quoted.
pub(crate) fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { toml_key(key) };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// A key as TOML quotes it, whole, so that a path in a message can be given back to the program.
fn toml_key(key: &str) -> String {
    let mut text = String::from("\"");
    for c in key.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            // Control and format characters, and others without a shape.
            _ if c.escape_debug().len() > 1 && u32::from(c) <= 0xffff && c != '\'' => {
                text.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            _ if c.escape_debug().len() > 1 && c != '\'' => {
                text.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

/// `text` in quotation marks with TOML's escapes, on one line, cut to a readable length.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return toml_key(text);
    }
    toml_key(&text.chars().take(LONGEST - 1).chain(['…']).collect::<String>())
}

/// A JSON value for a message: a scalar as written, otherwise its type.
pub(crate) fn shown(value: &Json) -> String {
    match value {
        Json::Null => "nothing".into(),
        Json::Bool(b) => b.to_string(),
        Json::Number(n) => n.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(_) => "a list".into(),
        Json::Object(_) => "a table".into(),
    }
}

/// The end of a message about an invalid name: the nearest valid one, or all of them.
pub(crate) fn suggestion<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    let mut valid: Vec<&str> = valid.into_iter().collect();
    valid.sort_unstable();
    valid.dedup();
    let begun: Vec<&str> = valid.iter().copied().filter(|v| begins(name, v)).collect();
    if let [one, other] = begun[..] {
        return format!("; did you mean \"{one}\" or \"{other}\"?");
    }
    match (nearest(name, &valid), valid.as_slice()) {
        (Some(near), _) => format!("; did you mean \"{near}\"?"),
        (None, []) => String::new(),
        (None, [only]) => format!("; the only valid name is \"{only}\""),
        (None, _) => format!("; valid names are {}", listed(&valid)),
    }
}

/// A list of names, cut to a readable length.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 60;
    let cut = |name: &&str| -> String {
        let short: String = name.chars().take(MOST).collect();
        if short.len() < name.len() { format!("{short}…") } else { short }
    };
    let shown: Vec<String> = names.iter().take(MOST).map(cut).collect();
    let mut text = String::new();
    for (at, name) in shown.iter().enumerate() {
        if text.len() > 1000 {
            return format!("{text}, … ({} more)", names.len() - at);
        }
        text.push_str(if at > 0 { ", " } else { "" });
        text.push_str(name);
    }
    if names.len() > MOST { format!("{text}, … ({} more)", names.len() - MOST) } else { text }
}

/// The valid name closest to `name`. It is unique by its beginning, has the fewest wrong letters (up to a
/// third), or is the only one that contains `name`.
pub(crate) fn nearest<'a>(name: &str, valid: &[&'a str]) -> Option<&'a str> {
    // A name of a thousand letters is no slip of the finger, and the table below grows with its square.
    if name.chars().count() > 64 {
        return None;
    }
    if let [only] = valid.iter().filter(|v| begins(name, v)).collect::<Vec<_>>().as_slice() {
        return Some(only);
    }
    let name = plain(name);
    let longest = |v: &str| name.len().max(v.chars().count());
    // By the share of the letters that differ: `loss+ecn` is nearer to `loss-and-ecn` than to `loss`.
    let share = |(d, v): &(usize, &str)| 1000 * d / longest(v).max(1);
    let (distance, near) = valid.iter().map(|v| (distance(&name, &plain(v)), *v)).min_by_key(share)?;
    let longest = longest(near);
    if distance <= (longest / 3).max(1) && distance < longest {
        return Some(near);
    }
    // `threshold` for `q_threshold`, `bottleneck-link` for `bottleneck`: unambiguous parts of at least four letters.
    let part = |v: &&&str| {
        let v = plain(v);
        let (short, long) = if v.len() < name.len() { (&v, &name) } else { (&name, &v) };
        short.len() >= 4 && long.windows(short.len()).any(|w| w == short.as_slice())
    };
    match valid.iter().filter(part).collect::<Vec<_>>().as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// Whether `valid` begins with `name`, which has at least three letters.
fn begins(name: &str, valid: &str) -> bool {
    let name = plain(name);
    name.len() >= 3 && plain(valid).starts_with(&name)
}

/// Letters alone count: neither case nor the kind of dash.
fn plain(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).map(|c| if matches!(c, '-' | '+') { '_' } else { c }).collect()
}

/// Damerau and Levenshtein's distance (optimal string alignment): insertions, deletions, replacements, swaps of
/// neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &cb) in b.iter().enumerate() {
            let mut best = (above[j] + usize::from(ca != cb)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && ca == b[j - 1] && a[i - 1] == cb {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_quoted_as_toml_does() {
        assert_eq!(join("groups", "heavy-users"), "groups.heavy-users");
        assert_eq!(join("groups", "a \"b\" \\c"), r#"groups."a \"b\" \\c""#);
        assert_eq!(join("", "\u{202e}x\0\u{1b}'"), r#""\u202Ex\u0000\u001B'""#);
    }

    fn far(a: &str, b: &str) -> usize {
        distance(&plain(a), &plain(b))
    }

    #[test]
    fn distance_counts_each_kind_of_slip_once() {
        assert_eq!(far("limit", "limit"), 0);
        assert_eq!(far("lmit", "limit"), 1);
        assert_eq!(far("limiit", "limit"), 1);
        assert_eq!(far("lomit", "limit"), 1);
        assert_eq!(far("ilmit", "limit"), 1);
        assert_eq!(far("", "limit"), 5);
        assert_eq!(far("Activity_AQM", "activity-aqm"), 0);
    }

    #[test]
    fn the_nearest_name_is_offered_only_where_it_is_near() {
        let valid = ["limit", "kind", "scheduler"];
        assert_eq!(nearest("lmit", &valid), Some("limit"));
        assert_eq!(nearest("sheduler", &valid), Some("scheduler"));
        assert_eq!(nearest("buffer", &valid), None);
        assert_eq!(nearest("q_scheduler", &valid), Some("scheduler"));
        assert_eq!(nearest("ns3", &["ns2", "ns3.26"]), Some("ns3.26"));
        assert_eq!(nearest("ef", &["be"]), None);
        assert_eq!(nearest("x", &["y"]), None);
        assert_eq!(nearest(&"x".repeat(10_000), &valid), None);
    }

    #[test]
    fn a_suggestion_without_a_near_name_lists_all() {
        assert_eq!(suggestion("buffer", ["limit", "kind"]), "; valid names are kind, limit");
        let long = ["a".repeat(3000), "b".repeat(3000)];
        assert!(suggestion("x", long.iter().map(String::as_str)).len() < 200);
        let many: Vec<String> = (0..5000).map(|i| format!("name-{i}")).collect();
        assert!(suggestion("x", many.iter().map(String::as_str)).len() < 1200);
        assert_eq!(suggestion("buffer", ["limit"]), "; the only valid name is \"limit\"");
        assert_eq!(suggestion("buffer", []), "");
    }

    #[test]
    fn errors_print_one_a_line_sorted_by_path() {
        let mut errors = Errors::default();
        errors.push("b", "second");
        errors.push("a.c", "first");
        errors.push("b", "second");
        assert_eq!(errors.sorted().to_string(), "a.c: first\nb: second");
    }

    #[test]
    fn odd_keys_are_quoted_in_paths() {
        assert_eq!(join("links", "a b"), "links.\"a b\"");
        assert_eq!(join("", "title"), "title");
        assert_eq!(join("x", "line\nbreak"), "x.\"line\\nbreak\"");
    }
}
