//! Arguments of steps by hand, and words in what they return.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use evenflow_base::params::CODEPOINTS;
use evenflow_base::schema::Problem;
use evenflow_base::{Ecn, Packet};

/// Arguments by name.
pub type Args = Map<String, Value>;

/// A bad argument.
pub fn bad(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// The errors of several parameters, as one.
pub fn problems(list: Vec<Problem>) -> PyErr {
    bad(list.iter().map(|(name, why)| format!("{name}: {why}")).collect::<Vec<_>>().join("\n"))
}

/// An argument that is there and not null.
pub fn given<'a>(args: &'a Args, name: &str) -> Option<&'a Value> {
    args.get(name).filter(|value| !value.is_null())
}

/// Whether an argument is true.
pub fn is_true(args: &Args, name: &str) -> bool {
    args.get(name) == Some(&Value::Bool(true))
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

/// A whole number up to `most`; `subject`: how a message calls it.
pub fn whole(args: &Args, name: &str, default: Option<f64>, most: u32, subject: &str) -> PyResult<u32> {
    let x = not_negative(args, name, default)?;
    if x.fract() == 0.0 && x <= f64::from(most) {
        return Ok(x as u32);
    }
    Err(bad(format!("{subject} must be a whole number up to {most}, it is {x}")))
}

/// The name of a codepoint.
pub fn codepoint(field: Ecn) -> &'static str {
    CODEPOINTS[field as usize]
}

/// The codepoint of that name.
pub fn codepoint_named(name: &str) -> Option<Ecn> {
    CODEPOINTS.iter().position(|own| *own == name).map(|bits| Ecn::of(bits as u8))
}

/// Whether a packet is ECN-capable or marked, as a word.
pub fn ecn_word(packet: &Packet) -> &'static str {
    match packet.ecn() {
        Ecn::NotCapable => "not-capable",
        Ecn::Capable0 | Ecn::Capable1 => "capable",
        Ecn::Congestion => "marked",
    }
}
