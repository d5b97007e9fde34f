//! Stack profiles: which variant of each rule a TCP follows, as data.
//!
//! A profile that is not complete answers "not yet known", so that its results never change meaning.

use evenflow_base::Duration;
use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Room, Type, Value, Values};

/// Every line of a stack profile. Windows in bytes unless a unit is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// Largest payload of a segment, bytes.
    pub mss: u32,
    /// Bytes of a segment that are no payload; a pure ACK is this long.
    pub header: u32,
    /// What a SYN is longer than a pure ACK.
    pub syn_extra: u32,
    /// Initial congestion window, packets.
    pub initial_window: f64,
    /// The receiver acknowledges every so many in-order segments …
    pub ack_every: u32,
    /// … or after this time.
    pub ack_delay: Duration,
    /// Floor of the retransmission timeout.
    pub min_rto: Duration,
    /// Ceiling of the retransmission timeout.
    pub max_rto: Duration,
    /// First timeout of a SYN, doubled each time.
    pub syn_rto: Duration,
    /// SYNs sent before giving up.
    pub syn_tries: u32,
    /// Retransmissions without a new ACK before the connection dies; `None`: never.
    pub retries: Option<u32>,
    /// Advertised window and send buffer, bytes.
    pub max_window: u64,
    /// The application fills the send buffer in writes of this many bytes; short segments follow where the buffer binds.
    pub write: u32,
    /// Duplicate ACKs that start recovery (RFC 5681 section 3.2).
    pub duplicate_threshold: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Tick of the timestamp clock (RFC 7323 section 5.4).
    pub timestamp_tick: Duration,
    /// Congestion avoidance counts acknowledged bytes (RFC 5681 section 3.1) instead of ACKs.
    pub byte_counting: bool,
}

/// The names a scenario may give.
pub const NAMES: &[&str] = &["rfc", "ns3.26", "ns2", "ns2-linux", "linux3.2", "linux"];

impl Profile {
    /// The profile called `name`; `None` where it is not complete yet.
    pub fn named(name: &str) -> Option<Profile> {
        (name == "ns3.26").then(Profile::ns3_26)
    }

    /// TCP NewReno of ns-3 release 3.26 (docs/tcp.md).
    pub fn ns3_26() -> Profile {
        Profile {
            name: "ns3.26",
            mss: 1446,
            header: 54,
            syn_extra: 4,
            initial_window: 1.0,
            ack_every: 2,
            ack_delay: Duration::from_millis(200),
            min_rto: Duration::from_millis(1000),
            max_rto: Duration::from_millis(60_000),
            syn_rto: Duration::from_millis(3000),
            syn_tries: 6,
            retries: Some(6),
            max_window: 131_072,
            write: 512,
            duplicate_threshold: 3,
            limited_transmit: true,
            timestamp_tick: Duration::from_millis(1),
            byte_counting: false,
        }
    }

    /// Replaces the lines given in a scenario's `tcp` table; says what cannot be.
    pub fn apply(&mut self, values: &Values) -> Vec<Problem> {
        let mut problems = Vec::new();
        let number = |name| values.maybe(name);
        if let Some(x) = number("mss") {
            self.mss = x as u32;
        }
        if let Some(x) = number("header") {
            self.header = x as u32;
        }
        if self.mss + self.header + self.syn_extra > 65_535 {
            problems.push(("mss", "mss + header must fit in 65535 bytes".into()));
        }
        if let Some(x) = number("initial_window") {
            self.initial_window = x;
        }
        if let Some(x) = number("ack_every") {
            self.ack_every = x as u32;
        }
        if let Some(x) = number("ack_delay") {
            self.ack_delay = Duration::from_seconds(x);
        }
        if let Some(x) = number("min_rto") {
            self.min_rto = Duration::from_seconds(x);
            self.max_rto = self.max_rto.max(self.min_rto);
        }
        if let Some(x) = number("max_window") {
            self.max_window = x as u64;
            if self.max_window < u64::from(self.mss) {
                problems.push(("max_window", format!("must hold one segment of {} bytes", self.mss)));
            }
        }
        match values.get("retries") {
            Some(Value::Number(x)) => self.retries = Some(*x as u32),
            Some(Value::Word(_)) => self.retries = None,
            _ => {}
        }
        if values.get("byte_counting").is_some() {
            self.byte_counting = values.flag("byte_counting");
        }
        if values.get("limited_transmit").is_some() {
            self.limited_transmit = values.flag("limited_transmit");
        }
        if values.flag("sack") {
            problems.push(("sack", "not yet known: selective acknowledgement".into()));
        }
        if let Some(Value::Word(word)) = values.get("ecn")
            && word != "off"
        {
            problems.push(("ecn", format!("not yet known: ecn = \"{word}\"")));
        }
        problems
    }
}

const PER_PROFILE: Fallback = Fallback::Absent("as the profile says");

const fn line(name: &'static str, ty: Type, range: Range, doc: &'static str) -> Param {
    Param { name, ty, default: PER_PROFILE, range, source: "docs/tcp.md", doc }
}

/// The `tcp` table of a group. `congestion_control` may also be a table with a `kind`.
pub static TCP: Mechanism = Mechanism {
    kind: "tcp",
    room: Room::Stack,
    title: "TCP of a group",
    doc: "A stack profile, any line of which may be overridden, and a congestion control.",
    source: "docs/tcp.md",
    params: &[
        Param {
            name: "stack",
            ty: Type::Choice(NAMES),
            default: Fallback::Text("rfc"),
            range: Range::ANY,
            source: "docs/tcp.md",
            doc: "The profile: which variant of each rule the endpoints follow.",
        },
        Param {
            name: "ecn",
            ty: Type::Choice(&["off", "classic", "accurate", "per-packet"]),
            default: Fallback::Text("off"),
            range: Range::ANY,
            source: "RFC 3168, RFC 9768",
            doc: "How congestion marks come back.",
        },
        line("sack", Type::Flag, Range::ANY, "Selective acknowledgement (RFC 2018)."),
        line("initial_window", Type::Packets, Range::FROM_ONE, "Initial congestion window."),
        line("ack_every", Type::Integer, Range::FROM_ONE, "In-order segments per ACK."),
        line("ack_delay", Type::Duration, Range::NOT_NEGATIVE, "Longest time an ACK is held back."),
        line("min_rto", Type::Duration, Range::POSITIVE, "Floor of the retransmission timeout."),
        line("max_window", Type::Bytes, Range::FROM_ONE, "Advertised window and send buffer."),
        Param {
            name: "retries",
            ty: Type::IntegerOr("unlimited"),
            default: PER_PROFILE,
            range: Range::FROM_ONE,
            source: "docs/tcp.md",
            doc: "Retransmissions without a new ACK before the connection dies.",
        },
        line("byte_counting", Type::Flag, Range::ANY, "Congestion avoidance counts bytes, not ACKs."),
        line("limited_transmit", Type::Flag, Range::ANY, "Limited transmit (RFC 3042)."),
        line(
            "mss",
            Type::Bytes,
            Range { min: 1.0, closed: true, max: 65_000.0 },
            "Payload of a full segment.",
        ),
        line(
            "header",
            Type::Bytes,
            Range { min: 1.0, closed: true, max: 500.0 },
            "Bytes that are no payload.",
        ),
    ],
    observables: &[],
    counters: &[],
    deviations: &[],
};
