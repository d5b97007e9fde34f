//! The Python module `evenflow._core`: conversion only, no logic.

mod application;
mod args;
mod mechanism;
mod pcap;
mod sender;
mod stage;
mod tunnels;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use evenflow_scenario::{metrics, model};
use evenflow_sim::{Column, Options, Outcome, RunError};

create_exception!(
    _core,
    ScenarioError,
    PyValueError,
    "A scenario with errors; `.errors` lists (path, message)."
);
create_exception!(_core, Interrupted, PyException, "A run that `request_stop` ended.");
create_exception!(
    _core,
    StageError,
    PyException,
    "A stage has made a run senseless; the message says which and how."
);

create_exception!(
    _core,
    OutOfMemory,
    PyException,
    "A run would use more memory than it may; the message names the simulated time and the largest consumers."
);

/// Raised by `request_stop`: every run of this process looks at it.
static STOP: AtomicBool = AtomicBool::new(false);

/// Seconds, as bits of an f64: the instant that the run which last looked at the stop flag has reached.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// A decoded and checked scenario.
#[pyclass(frozen, module = "evenflow._core")]
struct Scenario {
    inner: model::Scenario,
}

fn scenario_error(py: Python<'_>, errors: &evenflow_scenario::Errors) -> PyErr {
    let error = ScenarioError::new_err(errors.to_string());
    let list: Vec<(String, String)> = errors.iter().map(|(p, m)| (p.to_string(), m.to_string())).collect();
    match error.value(py).setattr("errors", list) {
        Ok(()) => error,
        Err(other) => other,
    }
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(py: Python<'_>, tree_json: &str) -> PyResult<Self> {
        match model::Scenario::from_json(tree_json) {
            Ok(inner) => Ok(Scenario { inner }),
            Err(errors) => Err(scenario_error(py, &errors)),
        }
    }

    #[getter]
    fn canonical(&self) -> &str {
        &self.inner.canonical
    }

    #[getter]
    fn hash(&self) -> &str {
        &self.inner.hash
    }

    #[getter]
    fn memory_bytes(&self) -> u64 {
        evenflow_sim::memory_bytes(&self.inner)
    }

    /// Whether the queue of each link may mark: forward and reverse direction, by name.
    #[getter]
    fn marks(&self) -> BTreeMap<&str, [bool; 2]> {
        self.inner.links.iter().map(|link| (link.name.as_str(), link.marks())).collect()
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration.seconds()
    }

    #[getter]
    fn warmup_s(&self) -> f64 {
        self.inner.warmup.seconds()
    }
}

/// The result of a run: JSON and columns.
#[pyclass(frozen, module = "evenflow._core")]
struct Record {
    outcome: Outcome,
    json: String,
    /// Name of a series -> its place among the columns, so that all of 100,000 are read in no time.
    places: BTreeMap<String, usize>,
}

#[pymethods]
impl Record {
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    #[getter]
    fn record_hash(&self) -> &str {
        &self.outcome.record_hash
    }

    #[getter]
    fn series_names(&self) -> Vec<&str> {
        self.outcome.columns.iter().map(|c| c.name.as_str()).collect()
    }

    fn series<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let column = self.places.get(name).map(|&place| &self.outcome.columns[place]);
        let column = column.ok_or_else(|| PyKeyError::new_err(format!("no series is called {name:?}")))?;
        let bytes = |xs: &[f64]| {
            let raw: Vec<u8> = xs.iter().flat_map(|x| x.to_le_bytes()).collect();
            PyBytes::new(py, &raw)
        };
        Ok((bytes(&column.times), bytes(&column.values)))
    }
}

/// CPU seconds of this thread, by the interpreter's clock.
fn thread_cpu_seconds(py: Python<'_>) -> PyResult<f64> {
    py.import("time")?.call_method0("thread_time")?.extract()
}

/// Runs a scenario in `memory` bytes; the interpreter is free meanwhile.
#[pyfunction]
#[pyo3(signature = (scenario, seed, memory = None))]
fn run(py: Python<'_>, scenario: &Scenario, seed: u64, memory: Option<u64>) -> PyResult<Record> {
    #[expect(clippy::disallowed_methods, reason = "the cost of a run is provenance, outside the record")]
    let (started, cpu_before) = (Instant::now(), thread_cpu_seconds(py)?);
    let options = Options { clock: Some(&CLOCK), memory, ..Options::default() };
    CLOCK.store(0, Ordering::Relaxed);
    let result = py.detach(|| {
        let (result, remains) = evenflow_sim::attempt(&scenario.inner, seed, options, &STOP);
        if let Err(RunError::Interrupted) = result {
            // Freeing millions of flows must not delay an interrupted caller. Without a thread it happens
            // here.
            drop(std::thread::Builder::new().spawn(|| drop(remains)));
        }
        result
    });
    let (wall, cpu) = (started.elapsed().as_secs_f64(), thread_cpu_seconds(py)? - cpu_before);
    let result = result.map(|outcome| {
        let mut record = outcome.record.clone();
        record.insert("record_hash".into(), outcome.record_hash.clone().into());
        record.insert("engine".into(), json!({ "id": ENGINE_ID, "version": VERSION, "profile": PROFILE }));
        record.insert("folded".into(), json!(outcome.folded));
        record.insert("wall_s".into(), json!(wall));
        record.insert("cpu_s".into(), json!(cpu));
        let places = outcome.columns.iter().enumerate().map(|(place, c)| (c.name.clone(), place)).collect();
        Record { json: Value::Object(record).to_string(), outcome, places }
    });
    result.map_err(|error: RunError| match error {
        RunError::Interrupted => Interrupted::new_err("the run was interrupted"),
        RunError::Memory { .. } => OutOfMemory::new_err(error.to_string()),
        RunError::Stage(_) | RunError::Trace { .. } | RunError::Burst { .. } => {
            StageError::new_err(error.to_string())
        }
        RunError::Invariant(_) => PyRuntimeError::new_err(error.to_string()),
    })
}

/// A series as it is kept: its name, instants and values as little-endian f64 bytes.
type Kept = (String, Vec<u8>, Vec<u8>);

/// The hash of a record's JSON text and series over the fields that records have had since `version`.
#[pyfunction]
#[pyo3(signature = (text, series, version = None))]
fn record_hash(text: &str, series: Vec<Kept>, version: Option<u32>) -> PyResult<String> {
    let record: Value =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let Value::Object(record) = record else { return Err(PyValueError::new_err("a record is an object")) };
    let columns: Vec<Column> = series
        .into_iter()
        .map(|(name, times, values)| Column {
            name,
            times: pcap::numbers(&times),
            values: pcap::numbers(&values),
        })
        .collect();
    Ok(evenflow_sim::record_hash(&record, &columns, version.unwrap_or(metrics::VERSION)))
}

/// Asks every run of this process to stop soon.
#[pyfunction]
fn request_stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// The simulated instant that the run under way has reached, in seconds; of several, the one that last looked.
#[pyfunction]
fn reached_s() -> f64 {
    f64::from_bits(CLOCK.load(Ordering::Relaxed))
}

/// Lets runs go on again.
#[pyfunction]
fn clear_stop() {
    STOP.store(false, Ordering::Relaxed);
}

/// Every mechanism's table and every metric, as JSON.
#[pyfunction]
fn schema() -> String {
    evenflow_scenario::schema_json()
}

/// JSON Schema of scenario files.
#[pyfunction]
fn json_schema() -> String {
    evenflow_scenario::json_schema()
}

/// The ECN tables of tunnels as JSON.
#[pyfunction]
fn tunnel_table() -> String {
    tunnels::table().to_string()
}

/// Packets of a trace, in columns, as a capture file (pcapng).
#[pyfunction]
fn capture<'py>(
    py: Python<'py>,
    interfaces: Vec<String>,
    columns: BTreeMap<String, Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let columns = pcap::Columns::new(columns).map_err(PyValueError::new_err)?;
    let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
    Ok(PyBytes::new(py, &columns.write(&names)))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const ENGINE_ID: &str = env!("EVENFLOW_ENGINE_ID");
const PROFILE: &str = env!("EVENFLOW_PROFILE");

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", VERSION)?;
    m.add("ENGINE_ID", ENGINE_ID)?;
    m.add("BUILD_PROFILE", PROFILE)?;
    m.add("ScenarioError", m.py().get_type::<ScenarioError>())?;
    m.add("Interrupted", m.py().get_type::<Interrupted>())?;
    m.add("OutOfMemory", m.py().get_type::<OutOfMemory>())?;
    m.add("StageError", m.py().get_type::<StageError>())?;
    m.add_class::<Scenario>()?;
    m.add_class::<Record>()?;
    m.add_class::<mechanism::Mechanism>()?;
    m.add_class::<sender::Sender>()?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(record_hash, m)?)?;
    m.add("RECORD_VERSION", metrics::VERSION)?;
    m.add_function(wrap_pyfunction!(request_stop, m)?)?;
    m.add_function(wrap_pyfunction!(clear_stop, m)?)?;
    m.add_function(wrap_pyfunction!(reached_s, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(tunnel_table, m)?)?;
    m.add_function(wrap_pyfunction!(capture, m)?)?;
    m.add_function(wrap_pyfunction!(json_schema, m)?)
}
