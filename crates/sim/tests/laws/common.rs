//! Running scenarios written as text, and reading their records.

use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::{Options, Outcome};
use serde_json::Value;

/// A finished run.
pub struct Run {
    pub outcome: Outcome,
    json: Value,
}

/// Runs `text`, which must be a valid scenario.
pub fn run(text: &str, seed: u64) -> Run {
    run_by(text, seed, false)
}

/// The same, with eager service where `events` says so.
pub fn run_by(text: &str, seed: u64, events: bool) -> Run {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"));
    let options = Options { eager: events, ..Options::default() };
    let outcome = evenflow_sim::run(&scenario, seed, options, &AtomicBool::new(false))
        .unwrap_or_else(|e| panic!("{e}\nin\n{text}"));
    Run::of(outcome)
}

impl Run {
    /// What a run gave.
    pub fn of(outcome: Outcome) -> Run {
        let json = Value::Object(outcome.record.clone());
        Run { outcome, json }
    }

    /// What stands at a dotted path; list items by number.
    pub fn value(&self, path: &str) -> &Value {
        path.split('.').fold(&self.json, |v, key| {
            let next = key.parse::<usize>().ok().and_then(|i| v.get(i)).or_else(|| v.get(key));
            next.unwrap_or_else(|| panic!("no {key} of {path} in {v}"))
        })
    }

    /// The same, where it may be absent.
    pub fn maybe(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.json, |v, key| v.get(key))
    }

    /// The number there.
    pub fn number(&self, path: &str) -> f64 {
        self.value(path).as_f64().unwrap_or_else(|| panic!("{path} is {}", self.value(path)))
    }

    /// All drops of a link, forwards.
    pub fn drops(&self, link: &str) -> f64 {
        self.sum(&format!("links.{link}.drops"))
    }

    /// All marks of a link, forwards.
    pub fn marks(&self, link: &str) -> f64 {
        self.sum(&format!("links.{link}.marks"))
    }

    /// The numbers of a table together.
    pub fn sum(&self, path: &str) -> f64 {
        sum(self.value(path))
    }

    /// The times and values of a recorded column.
    pub fn column(&self, name: &str) -> (&[f64], &[f64]) {
        let found = self.outcome.columns.iter().find(|c| c.name == name);
        let c = found.unwrap_or_else(|| {
            panic!("no column {name}: {:?}", self.outcome.columns.iter().map(|c| &c.name).collect::<Vec<_>>())
        });
        (&c.times, &c.values)
    }
}

/// A number, or the sum of a table's.
pub fn sum(value: &Value) -> f64 {
    match value.as_object() {
        Some(counts) => counts.values().filter_map(Value::as_f64).sum(),
        None => value.as_f64().unwrap_or_else(|| panic!("{value} is no number")),
    }
}

/// Mean and half-width of the 99 % confidence interval of ten independent values (Student's t, 9 degrees of freedom).
pub fn interval(values: &[f64; 10]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / 10.0;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 9.0;
    (mean, 3.250 * (variance / 10.0).sqrt())
}

/// Asserts that two numbers differ by at most a share of the second.
#[track_caller]
pub fn close(is: f64, expected: f64, share: f64) {
    assert!((is - expected).abs() <= share * expected.abs(), "{is} is not within {share} of {expected}");
}
