//! Traffic of users, without I/O: sources return the next packet, applications return calls for their
//! connections.
//!
//! Bulk transfers and uploads that last only give an amount and a start; the transport does the rest.
//! Datagram sources (Poisson, constant rate) make packets. All others are [`App`]s: machines that open
//! connections during the run and act at both ends.

#[macro_use(params, words)]
extern crate evenflow_base;

pub mod adaptation;
mod app;
mod arrivals;
mod client;
pub mod data;
mod ending;
pub mod has;
pub mod ping;
mod playback;
pub mod request_response;
pub mod short_flows;
mod source;
mod visitor;
pub mod web;
pub mod youtube;

use evenflow_base::schema::{Mechanism, Nested, Problem, Room, Traits, Value, Values};
use evenflow_base::{Duration, Ecn, Stream, Time};

pub use app::{Call, Conn, Datagram, Drawn, Event, External, Machine, NoLevel, Setting, Transfer};
pub use arrivals::Arrivals;
pub use ending::{Ending, Leaving, ending};
pub use playback::{Moment, Playback, Thresholds};
pub use source::{Gaps, Source};

/// Bytes of a datagram that are no payload: IP 20, UDP or ICMP 8.
pub const UDP_HEADER: u16 = 28;

/// The kinds of application: variant, type, and dispatch by name.
macro_rules! apps {
    ($($(#[$doc:meta])* $name:ident($app:ty),)*) => {
        /// An application; those of this crate are dispatched statically.
        #[derive(Debug)]
        pub enum App {
            $($(#[$doc])* $name($app),)*
            /// One from outside.
            External(Box<dyn External>),
        }

        /// The tables of all applications.
        pub static APPS: &[&Mechanism] = &[$(<$app as Machine>::TABLE,)*];

        /// The tables of all traffic.
        pub static MECHANISMS: &[&Mechanism] = &[$(<$app as Machine>::TABLE,)* &CBR, &POISSON];

        impl App {
            /// The application called `kind`.
            pub fn build(kind: &str, values: &Values, setting: &Setting) -> Result<App, Vec<Problem>> {
                $(if kind == <$app as Machine>::TABLE.kind {
                    return <$app as Machine>::build(values, setting).map(App::$name);
                })*
                panic!("there is no application {kind}")
            }

            /// See [`External::on`].
            #[inline]
            pub fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
                match self {
                    $(App::$name(app) => app.on(event, now, calls),)*
                    App::External(app) => app.on(event, now, calls),
                }
            }

            /// See [`Machine::problems`].
            fn problems(kind: &str, values: &Values) -> Vec<Problem> {
                $(if kind == <$app as Machine>::TABLE.kind {
                    return <$app as Machine>::problems(values);
                })*
                Vec::new()
            }

            /// See [`Machine::FIXED`].
            fn fixed(kind: &str) -> &'static [&'static str] {
                $(if kind == <$app as Machine>::TABLE.kind {
                    return <$app as Machine>::FIXED;
                })*
                &[]
            }
        }

        impl std::ops::Deref for App {
            type Target = dyn External;

            fn deref(&self) -> &(dyn External + 'static) {
                match self {
                    $(App::$name(app) => app,)*
                    App::External(app) => &**app,
                }
            }
        }
    };
}

// A new application is a line here, in the order in which documents list them.
apps! {
    /// See [`data`].
    Bulk(data::Bulk),
    /// See [`has`].
    Has(has::Has),
    /// See [`ping`].
    Ping(ping::Ping),
    /// See [`request_response`].
    RequestResponse(request_response::RequestResponse),
    /// See [`short_flows`].
    ShortFlows(short_flows::ShortFlows),
    /// See [`data`].
    Upload(data::Upload),
    /// See [`web`].
    Web(web::Web),
    /// See [`youtube`].
    Youtube(youtube::Youtube),
}

/// Traffic of one flow.
#[derive(Clone, Debug)]
pub enum Application {
    /// Data over TCP; `None`: without end.
    Bytes(Option<u64>),
    /// Datagrams.
    Datagrams(Source),
}

/// The traits of a kind of traffic.
fn traits(kind: &str) -> Traits {
    MECHANISMS.iter().find(|table| table.kind == kind).map_or(Mechanism::PLAIN, |table| table.traits)
}

/// Whether this traffic is an [`App`], which opens flows during the run. Traffic that lasts is one if it ends
/// before the run.
pub fn opens(kind: &str, values: &Values) -> bool {
    APPS.iter().any(|table| table.kind == kind) && (!traits(kind).lasts || values.has(Common::until))
}

/// Whether traffic of this kind goes over TCP.
pub fn needs_tcp(kind: &str) -> bool {
    !traits(kind).datagrams
}

/// Whether acknowledgements or replies to it come back.
pub fn is_answered(kind: &str) -> bool {
    needs_tcp(kind) || traits(kind).replies
}

/// How many flows a user has of this traffic from the beginning; an [`App`] has none.
pub fn flows(kind: &str, values: &Values) -> u32 {
    if opens(kind, values) { 0 } else { values.at(Common::flows).unwrap_or(1) }
}

/// The traffic of each flow of a kind that is no [`App`]; `values` are drawn for the user.
pub fn application(kind: &str, values: &Values) -> Application {
    let source = |gaps| {
        let rate = values.raw(Poisson::rate).and_then(Value::number).expect("a rate was drawn");
        let packet = values.raw(Poisson::packet).cloned().unwrap_or(Value::Bytes(1500.0));
        let mut source = Source::new(gaps, rate, &packet);
        source.ecn = if values.is(Poisson::ecn_capable, true) { Ecn::Capable0 } else { Ecn::NotCapable };
        Application::Datagrams(source)
    };
    match kind {
        kind if traits(kind).lasts => Application::Bytes(
            values.raw(data::UploadGiven::size).and_then(Value::number).map(|bytes| bytes as u64),
        ),
        "poisson" => source(Gaps::Exponential),
        "cbr" => source(jitter(values).map_or(Gaps::Constant, Gaps::Uniform)),
        other => panic!("there is no traffic {other}"),
    }
}

/// The jitter of gaps, where there is any.
fn jitter(values: &Values) -> Option<f64> {
    values.at(Cbr::gap).map(|gap| gap.jitter).filter(|part| *part > 0.0)
}

/// When a flow starts.
pub fn start(values: &Values, stream: &mut Stream, index: usize) -> Duration {
    match values.raw(Common::start) {
        Some(Value::Random(law)) => Duration::from_seconds(law.draw(stream, index).number().unwrap_or(0.0)),
        Some(value) => Duration::from_seconds(value.number().unwrap_or(0.0)),
        None => Duration::ZERO,
    }
}

params! {
    /// Parameters that most traffic has.
    #[derive(Clone, Debug)]
    pub struct Common {
        /// Start of each flow, drawn for each.
        start: Value = Duration, Text("0 s"), Range::NOT_NEGATIVE => source: "docs/scenarios.md";
        /// Connections of each user.
        flows: u32 = Integer, Text("1"), Range::between(1.0, 1_000_000.0) => source: "docs/scenarios.md";
        /// Arrival process in [arrivals], shared by several groups. Each flow goes to one of the group's
        /// users at random.
        arrivals: Option<String> = Name, Absent("a separate process for each user")
            => source: "docs/scenarios.md";
        /// Share of the arrivals for this group. The shares of all groups add up to 1.
        share: Option<Value> = Number, Absent("all of them, with arrivals"), Range::up_to(1.0)
            => source: "docs/scenarios.md";
        /// End of the traffic in run time, drawn like start.
        until: Option<Value> = Duration, Absent("the end of the run"), Range::POSITIVE
            => source: "docs/scenarios.md";
        /// End of the traffic. `close`: start nothing new, finish the rest and close the connections.
        /// `abort`: reset them.
        end: Option<Leaving> = Leaving::TYPE, Absent("close, with until")
            => source: "RFC 9293 sections 3.6 and 3.10.5";
    }
}

params! {
    /// How gaps vary.
    #[derive(Clone, Debug)]
    pub struct Gap {
        /// Each gap is uniform, within this share of the mean gap to either side.
        jitter: f64 = Number, Required, Range::between(0.0, 1.0) => source: "";
    }
}

/// The table `gap`.
static GAPS: Nested = Nested {
    name: "gap",
    doc: "Variation of the gaps between datagrams.",
    params: Gap::PARAMS,
    changes: &[],
};

params! {
    /// Parameters of datagrams at random.
    #[derive(Clone, Debug)]
    pub struct Poisson {
        /// Send packets as ECT(0), so that queues mark them instead of dropping them.
        ecn_capable: bool = Flag, Text("false")
            => source: "RFC 3168 section 5: a sender that ignores marks must not use ECT";
        /// Has no effect for datagrams: the last one is sent before until.
        end: Option<Leaving> = Common::end.param => source: Common::end.param.source;
        /// Size on the wire with 28 B of headers. A random size is drawn for each packet.
        packet: Value = Bytes, Text("1500 B"), Range::PACKET_SIZE => source: "docs/scenarios.md";
        /// Mean rate of each user, headers included.
        rate: Value = Rate, Required, Range::POSITIVE => source: "";
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Datagrams at random.
pub static POISSON: Mechanism = Mechanism {
    kind: "poisson",
    traits: Traits { datagrams: true, endless: true, draws: "always", ..Mechanism::PLAIN },
    title: "Poisson datagrams",
    example: r#"[groups.users.traffic]
kind = "poisson"
rate = "2 Mbit/s"
packet = "1500 B""#,
    doc: "Datagrams with independent exponential gaps, unresponsive to the network.",
    source: "Menth and Zeitler 2018, section IV-A1",
    params: Poisson::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

params! {
    /// Parameters of datagrams at a constant rate.
    #[derive(Clone, Debug)]
    pub struct Cbr {
        /// See [`Poisson`].
        ecn_capable: bool = Poisson::ecn_capable.param;
        /// See [`Poisson`].
        end: Option<Leaving> = Poisson::end.param;
        /// Variation of the gaps between packets.
        gap: Option<Gap> = Table(&GAPS), Absent("equal gaps") => source: "";
        /// See [`Poisson`].
        packet: Value = Poisson::packet.param;
        /// See [`Poisson`].
        rate: Value = Poisson::rate.param;
        /// See [`Common`].
        start: Value = Common::start.param;
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Datagrams at a constant rate.
pub static CBR: Mechanism = Mechanism {
    kind: "cbr",
    traits: Traits { datagrams: true, endless: true, ..Mechanism::PLAIN },
    title: "Constant-rate datagrams (CBR)",
    example: r#"[groups.users.traffic]
kind = "cbr"
rate = "100 kbit/s"
packet = "200 B"
gap = { jitter = 0.5 }"#,
    doc: "Datagrams with equal gaps. Two such sources can synchronise at a drop-tail queue, an artefact of \
          exact timing. gap.jitter prevents this.",
    source: "Menth and Zeitler 2018, section IV-A1",
    params: Cbr::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

/// Errors in the combination of several parameters.
pub fn check(kind: &str, values: &Values) -> Vec<Problem> {
    let fixed = drawn(kind, values);
    let buildable = fixed.is_empty() && opens(kind, values);
    let mut problems = [ending::check(values), fixed].concat();
    if buildable {
        let stream = |name: &str| Stream::new(0, name);
        let setting = Setting { stream: &stream, ending: None, arrivals: false, user: 0 };
        problems.extend(App::build(kind, values, &setting).err().unwrap_or_default());
    } else {
        problems.extend(App::problems(kind, values));
    }
    problems
}

/// Like [`check`], if some parameters are missing because they could not be decoded.
pub fn check_partly(kind: &str, values: &Values) -> Vec<Problem> {
    // An end that could not be decoded is not one that is missing.
    let ending = values.raw(Common::until).map(|_| ending::check(values));
    [ending.unwrap_or_default(), drawn(kind, values), App::problems(kind, values)].concat()
}

/// Random parameters that cannot be random.
fn drawn(kind: &str, values: &Values) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let random = |value: Option<&Value>| matches!(value, Some(Value::Random(_)));
    if let Some(Value::Table(gap)) = values.raw(Cbr::gap)
        && random(gap.raw(Gap::jitter))
    {
        problems.push((Cbr::gap.name, "jitter cannot be drawn; a plain number is needed".into()));
    }
    for name in [Common::share.name, ping::Given::timeout.name].iter().chain(App::fixed(kind)) {
        if random(values.get(name)) {
            problems.push((name, "cannot be drawn; a plain value is needed".into()));
        }
    }
    problems
}

/// Derives absent parameters from given ones, and removes parameters without effect.
pub fn complete(values: &mut Values) {
    ending::complete(values);
    if values.has(Common::arrivals) {
        // Flows that come from a process start and end with it.
        values.0.remove(Common::start.name);
        values.0.entry(Common::share.name).or_insert(Value::Number(1.0));
    }
    if values.has(Cbr::gap) && jitter(values).is_none() {
        values.0.remove(Cbr::gap.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_must_come_after_every_start_that_has_a_bound() {
        use evenflow_base::schema::Law;
        let seconds = |x| Value::Seconds(x);
        let uniform = Value::Random(Law::Uniform(Box::new(seconds(1.0)), Box::new(seconds(9.0))));
        let exponential = Value::Random(Law::Exponential(Box::new(seconds(5.0))));
        let problems = |start: &Value, until: Value| {
            let values = Values([("start", start.clone()), ("until", until)].into_iter().collect());
            ending::check(&values).len()
        };
        assert_eq!(problems(&seconds(2.0), seconds(2.0)), 1);
        assert_eq!(problems(&seconds(2.0), seconds(2.1)), 0);
        assert_eq!(problems(&uniform, seconds(9.0)), 1);
        assert_eq!(problems(&uniform, seconds(9.1)), 0);
        assert_eq!(problems(&exponential, seconds(1.0)), 0);
        assert_eq!(problems(&seconds(2.0), uniform.clone()), 1);
        let stray = Values([("end", Value::Word("abort".into()))].into_iter().collect());
        assert_eq!(ending::check(&stray), [("end", "requires until".to_owned())]);
    }

    #[test]
    fn a_jitter_of_nothing_is_no_jitter() {
        let gap = |jitter| Value::Table(Values([("jitter", Value::Number(jitter))].into_iter().collect()));
        let mut values = Values([("gap", gap(0.0))].into_iter().collect());
        complete(&mut values);
        assert_eq!(values, Values::default());
        let mut values = Values([("gap", gap(0.5))].into_iter().collect());
        complete(&mut values);
        assert_eq!(jitter(&values), Some(0.5));
    }
}
