//! Traffic: what users send. Sans I/O: a source says when its next packet comes and how large it is.
//!
//! TCP applications (bulk, upload) only say how much there is to send and when; the rest is the transport's. Datagram
//! sources (Poisson, constant rate) make their own packets. Unit draws are independent of the rate, so that two runs
//! that differ in a rate see the same sequence, scaled.

pub mod adaptation;

use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Room, Sampler, Type, Value, Values};
use evenflow_base::{Duration, Ecn, Stream, Time};

/// Bytes of a datagram that are no payload: IP 20, UDP 8.
pub const UDP_HEADER: u16 = 28;

/// What one flow sends.
#[derive(Clone, Debug)]
pub enum Application {
    /// Data over TCP; `None`: without end.
    Bytes(Option<u64>),
    /// Datagrams.
    Datagrams(Source),
}

/// How gaps between datagrams are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Exponential: a Poisson process.
    Exponential,
    /// All alike.
    Constant,
}

/// A source of datagrams.
#[derive(Clone, Debug)]
pub struct Source {
    gaps: Gaps,
    /// Mean gap, seconds: mean size over rate.
    mean_gap: f64,
    /// Bytes; draws are rounded to whole bytes within 1 to 65535.
    sizes: Sampler,
    /// Exact instant of the last packet, so that constant gaps do not drift.
    clock: f64,
    /// The ECN field of its packets.
    pub ecn: Ecn,
}

impl Source {
    /// A source of `rate` bit/s on average.
    pub fn new(gaps: Gaps, rate: f64, packet: &Value) -> Source {
        let sizes = match packet {
            Value::Random(law) => law.sampler(),
            fixed => Sampler::Fixed(fixed.number().unwrap_or(1500.0)),
        };
        Source { gaps, mean_gap: sizes.mean() * 8.0 / rate, sizes, clock: 0.0, ecn: Ecn::NotCapable }
    }

    /// Starts the clock: the first packet comes one gap later.
    pub fn start(&mut self, now: Time) {
        self.clock = now.seconds();
    }

    /// When the next packet comes.
    #[inline]
    pub fn next(&mut self, stream: &mut Stream) -> Time {
        self.clock += match self.gaps {
            Gaps::Exponential => stream.exponential(self.mean_gap),
            Gaps::Constant => self.mean_gap,
        };
        Time::from_seconds(self.clock)
    }

    /// Its size on the wire, bytes.
    #[inline]
    pub fn size(&self, stream: &mut Stream, index: u64) -> u16 {
        self.sizes.draw(stream, index as usize).round().clamp(1.0, 65_535.0) as u16
    }
}

/// Whether traffic of this kind goes over TCP.
pub fn needs_tcp(kind: &str) -> bool {
    matches!(kind, "bulk" | "upload")
}

/// How many flows a user has of this traffic.
pub fn flows(values: &Values) -> u32 {
    values.maybe("flows").unwrap_or(1.0) as u32
}

/// What each of its flows sends; `values` are already drawn for the user.
pub fn application(kind: &str, values: &Values) -> Application {
    let source = |gaps| {
        let packet = values.get("packet").cloned().unwrap_or(Value::Bytes(1500.0));
        let ecn = if values.flag("ecn_capable") { Ecn::Capable0 } else { Ecn::NotCapable };
        Application::Datagrams(Source { ecn, ..Source::new(gaps, values.number("rate"), &packet) })
    };
    match kind {
        "bulk" => Application::Bytes(None),
        "upload" => Application::Bytes(values.maybe("size").map(|b| b as u64)),
        "poisson" => source(Gaps::Exponential),
        "cbr" => source(Gaps::Constant),
        other => panic!("no traffic is called {other}"),
    }
}

/// When a flow starts.
pub fn start(values: &Values, stream: &mut Stream, index: usize) -> Duration {
    match values.get("start") {
        Some(Value::Random(law)) => Duration::from_seconds(law.draw(stream, index).number().unwrap_or(0.0)),
        Some(value) => Duration::from_seconds(value.number().unwrap_or(0.0)),
        None => Duration::ZERO,
    }
}

const START: Param = Param {
    name: "start",
    ty: Type::Duration,
    default: Fallback::Text("0 s"),
    range: Range::NOT_NEGATIVE,
    source: "docs/scenarios.md",
    doc: "When each flow starts, drawn for each.",
};

const FLOWS: Param = Param {
    name: "flows",
    ty: Type::Integer,
    default: Fallback::Text("1"),
    range: Range { min: 1.0, closed: true, max: 1_000_000.0 },
    source: "docs/scenarios.md",
    doc: "Connections of each user.",
};

const RATE: Param = Param {
    name: "rate",
    ty: Type::Rate,
    default: Fallback::Required,
    range: Range::POSITIVE,
    source: "",
    doc: "Mean rate of each user, headers included.",
};

const PACKET: Param = Param {
    name: "packet",
    ty: Type::Bytes,
    default: Fallback::Text("1500 B"),
    range: Range::PACKET_SIZE,
    source: "docs/scenarios.md",
    doc: "Size on the wire, 28 B of header included; a random size is drawn for each packet.",
};

const ECN_CAPABLE: Param = Param {
    name: "ecn_capable",
    ty: Type::Flag,
    default: Fallback::Text("false"),
    range: Range::ANY,
    source: "RFC 3168 section 5: a sender that does not answer to marks must not claim to",
    doc: "Whether its packets carry ECT(0), so that markers mark them instead of dropping them.",
};

/// Endless data over TCP.
pub static BULK: Mechanism = Mechanism {
    kind: "bulk",
    room: Room::Traffic,
    traits: Mechanism::PLAIN,
    title: "Bulk transfer",
    doc: "TCP connections that always have data to send.",
    source: "Menth and Zeitler 2018, section IV-A3 (\"saturated\")",
    params: &[FLOWS, START],
    observables: &[],
    counters: &[],
    deviations: &[],
};

/// A file over TCP.
pub static UPLOAD: Mechanism = Mechanism {
    kind: "upload",
    room: Room::Traffic,
    traits: Mechanism::PLAIN,
    title: "Upload",
    doc: "TCP connections that each carry one file and then fall silent.",
    source: "Menth and Zeitler 2018, section IV-G2",
    params: &[
        FLOWS,
        Param {
            name: "size",
            ty: Type::Bytes,
            default: Fallback::Absent("without end"),
            range: Range::FROM_ONE,
            source: "",
            doc: "Application bytes of each connection.",
        },
        START,
    ],
    observables: &[],
    counters: &[],
    deviations: &[],
};

/// Datagrams at random.
pub static POISSON: Mechanism = Mechanism {
    kind: "poisson",
    room: Room::Traffic,
    traits: Mechanism::PLAIN,
    title: "Poisson datagrams",
    doc: "Datagrams with independent exponential gaps, deaf to the network.",
    source: "Menth and Zeitler 2018, section IV-A1",
    params: &[ECN_CAPABLE, PACKET, RATE, START],
    observables: &[],
    counters: &[],
    deviations: &[],
};

/// Datagrams at a constant rate.
pub static CBR: Mechanism = Mechanism {
    kind: "cbr",
    room: Room::Traffic,
    traits: Mechanism::PLAIN,
    title: "Constant-rate datagrams",
    doc: "Datagrams with equal gaps. Two such sources can lock phases behind a drop-tail queue: an artefact of exactness.",
    source: "Menth and Zeitler 2018, section IV-A1",
    params: &[ECN_CAPABLE, PACKET, RATE, START],
    observables: &[],
    counters: &[],
    deviations: &[],
};

/// The tables of all traffic.
pub static MECHANISMS: &[&Mechanism] = &[&BULK, &CBR, &POISSON, &UPLOAD];

/// What is wrong with several parameters together.
pub fn check(_kind: &str, _values: &Values) -> Vec<Problem> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_gaps_average_size_over_rate() {
        // 12000 bits at 10 Mbit/s: 1.2 ms.
        let mut source = Source::new(Gaps::Exponential, 10e6, &Value::Bytes(1500.0));
        let mut stream = Stream::new(1, "gaps");
        source.start(Time::ZERO);
        let n = 100_000;
        let last = (0..n).map(|_| source.next(&mut stream)).last().unwrap();
        // Standard error 1.2 ms * sqrt(n).
        assert!((last.seconds() - 120.0).abs() < 5.0 * 1.2e-3 * f64::from(n).sqrt(), "{last:?}");
    }

    #[test]
    fn the_same_draws_at_another_rate_are_the_same_sequence_scaled() {
        let times = |rate| {
            let mut source = Source::new(Gaps::Exponential, rate, &Value::Bytes(1500.0));
            let mut stream = Stream::new(1, "gaps");
            (0..100).map(|_| source.next(&mut stream).seconds()).collect::<Vec<_>>()
        };
        for (slow, fast) in times(1e6).iter().zip(times(2e6)) {
            assert!((slow - 2.0 * fast).abs() < 1e-6);
        }
    }

    #[test]
    fn constant_gaps_do_not_drift() {
        let mut source = Source::new(Gaps::Constant, 3e6, &Value::Bytes(1000.0));
        let mut stream = Stream::new(1, "gaps");
        source.start(Time::from_seconds(1.0));
        let last = (0..3_000).map(|_| source.next(&mut stream)).last().unwrap();
        assert!((last.seconds() - 9.0).abs() < 1e-8, "{last:?}");
    }

    #[test]
    fn exponential_sizes_keep_their_mean() {
        let law = evenflow_base::schema::Law::Exponential(Box::new(Value::Bytes(1000.0)));
        let source = Source::new(Gaps::Exponential, 1e6, &Value::Random(law));
        let mut stream = Stream::new(1, "sizes");
        let n = 100_000u64;
        let sum: u64 = (0..n).map(|i| u64::from(source.size(&mut stream, i))).sum();
        assert!((sum as f64 / n as f64 - 1000.0).abs() < 5.0 * 1000.0 / (n as f64).sqrt());
    }
}
