//! Arguments of steps by hand, and words in what they return.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use evenflow_base::{Ecn, Packet};

/// Arguments by name.
pub type Args = Map<String, Value>;

/// A bad argument.
pub fn bad(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// A number; `default`: where it is missing.
pub fn number(args: &Args, name: &str, default: Option<f64>) -> PyResult<f64> {
    match args.get(name) {
        None => default.ok_or_else(|| bad(format!("the argument {name} is missing"))),
        Some(value) => value.as_f64().ok_or_else(|| bad(format!("{name} must be a number, not {value}"))),
    }
}

/// A number that is not negative.
pub fn not_negative(args: &Args, name: &str, default: Option<f64>) -> PyResult<f64> {
    let x = number(args, name, default)?;
    if x >= 0.0 { Ok(x) } else { Err(bad(format!("{name} must not be negative, it is {x}"))) }
}

/// The codepoint of a packet as a word.
pub fn ecn_word(packet: &Packet) -> &'static str {
    match packet.ecn() {
        Ecn::NotCapable => "not-capable",
        Ecn::Capable0 | Ecn::Capable1 => "capable",
        Ecn::Congestion => "marked",
    }
}
