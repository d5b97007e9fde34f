//! When traffic ends before the run does, and how.

use evenflow_base::schema::{Problem, Value, Values};
use evenflow_base::{Stream, Time};

use crate::Common;

/// The end of a user's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The instant.
    pub at: Time,
    /// Whether connections are reset, and not closed.
    pub abort: bool,
}

words! {
    /// How traffic ends.
    pub enum Leaving {
        /// It finishes open transfers and closes its connections.
        Close = "close",
        /// It resets them.
        Abort = "abort",
    }
}

/// When traffic with these parameters ends; `index` decides for dealt values.
pub fn ending(values: &Values, stream: &mut Stream, index: usize) -> Option<Ending> {
    let at = match values.raw(Common::until)? {
        Value::Random(law) => law.draw(stream, index).number(),
        fixed => fixed.number(),
    };
    let abort = values.is(Common::end, Leaving::Abort);
    Some(Ending { at: Time::from_seconds(at?), abort })
}

/// Errors in `start`, `until` and `end` together.
pub(crate) fn check(values: &Values) -> Vec<Problem> {
    let Some(until) = values.raw(Common::until) else {
        let stray = values.raw(Common::end).map(|_| (Common::end.name, "requires until".to_owned()));
        return stray.into_iter().collect();
    };
    // A start without a bound may well fall behind the end: such a flow sends nothing.
    let last = values.raw(Common::start).map_or(0.0, |start| {
        let (low, high) = start.bounds();
        if high.is_finite() { high } else { low }
    });
    let first = until.bounds().0;
    if first > last {
        return Vec::new();
    }
    vec![(Common::until.name, format!("must be later than start: {first} s is not after {last} s"))]
}

/// The default of `end`.
pub(crate) fn complete(values: &mut Values) {
    if values.has(Common::until) {
        values.0.entry(Common::end.name).or_insert_with(|| Value::Word(Leaving::Close.word().into()));
    }
}
