//! When traffic ends before the run does, and how.

use evenflow_base::schema::{Fallback, Param, Problem, Range, Type, Value, Values};
use evenflow_base::{Stream, Time};

/// The end of a user's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The instant.
    pub at: Time,
    /// Whether connections are reset, and not closed.
    pub abort: bool,
}

/// Parameter `until`.
pub(crate) const UNTIL: Param = Param {
    name: "until",
    ty: Type::Duration,
    default: Fallback::Absent("the end of the run"),
    range: Range::POSITIVE,
    source: "docs/scenarios.md",
    doc: "When it ends, in the time of the run, drawn like start.",
};

const fn end(doc: &'static str) -> Param {
    Param {
        name: "end",
        ty: Type::Choice(&["close", "abort"]),
        default: Fallback::Absent("close, where until is given"),
        range: Range::ANY,
        source: "RFC 9293 sections 3.6 and 3.10.5",
        doc,
    }
}

/// Parameter `end` of an application.
pub(crate) const END: Param = end(
    "How it ends: it begins nothing new, finishes what it has begun and closes its connections, or it resets them at once.",
);

/// Parameter `end` of data over one connection.
pub(crate) const END_OF_DATA: Param = end(
    "How it ends: it writes nothing more and closes, so that what it has sent still arrives, or it resets the connection at once.",
);

/// Parameter `end` of echoes.
pub(crate) const END_OF_PING: Param =
    end("How it ends: it still waits for replies that are under way, or it gives them up.");

/// Parameter `end` of datagrams.
pub(crate) const END_OF_DATAGRAMS: Param =
    end("Datagrams have nothing to close or reset: either way the last one is sent before until.");

/// When traffic with these parameters ends; `index` decides for dealt values.
pub fn ending(values: &Values, stream: &mut Stream, index: usize) -> Option<Ending> {
    let at = match values.get(UNTIL.name)? {
        Value::Random(law) => law.draw(stream, index).number(),
        fixed => fixed.number(),
    };
    let abort = matches!(values.get(END.name), Some(Value::Word(word)) if word == "abort");
    Some(Ending { at: Time::from_seconds(at?), abort })
}

/// What is wrong with `start`, `until` and `end` together.
pub(crate) fn check(values: &Values) -> Vec<Problem> {
    let Some(until) = values.get(UNTIL.name) else {
        let stray =
            values.get(END.name).map(|_| (END.name, "says how it ends; until must say when".to_owned()));
        return stray.into_iter().collect();
    };
    // A start without a bound may well fall behind the end: such a flow sends nothing.
    let last = values.get("start").map_or(0.0, |start| {
        let (low, high) = start.bounds();
        if high.is_finite() { high } else { low }
    });
    let first = until.bounds().0;
    if first > last {
        return Vec::new();
    }
    vec![(UNTIL.name, format!("must be later than start: {first} s is not after {last} s"))]
}

/// What `end` means where it is not given.
pub(crate) fn complete(values: &mut Values) {
    if values.get(UNTIL.name).is_some() {
        values.0.entry(END.name).or_insert_with(|| Value::Word("close".into()));
    }
}
