//! A sending end driven packet by packet from Python: JSON in and out.

use std::sync::Mutex;

use pyo3::prelude::*;
use serde_json::{Value, json};

use evenflow_base::options::AccEcn;
use evenflow_base::{Duration, Ecn, Time, flags};
use evenflow_transport::CongestionControl;
use evenflow_transport::scripted::{Ack, Scripted, Sent};
use evenflow_transport::sender::{Life, Recovery};

use crate::args::{Args, bad, given, problems};

/// The sending end of a connection.
#[pyclass(frozen, module = "evenflow._core")]
pub struct Sender {
    inner: Mutex<Scripted>,
}

#[pymethods]
impl Sender {
    #[new]
    fn new(tcp_json: &str) -> PyResult<Self> {
        let (profile, control) = evenflow_scenario::tcp(tcp_json).map_err(|e| bad(e.to_string()))?;
        let control = CongestionControl::build(control.mechanism.kind, &control.values, &profile, 1.0)
            .map_err(problems)?;
        Ok(Sender { inner: Mutex::new(Scripted::new(profile, control)) })
    }

    fn call(&self, method: &str, args_json: &str) -> PyResult<String> {
        let args: Args = serde_json::from_str(args_json).map_err(|e| bad(e.to_string()))?;
        let mut scripted = self.inner.lock().map_err(|_| bad("an earlier call has failed"))?;
        let now = time(&args, "now")?.ok_or_else(|| bad("now is missing"))?;
        let sent = match method {
            "open" => scripted.open(now),
            "write" => scripted.write(whole(&args, "bytes")?.ok_or_else(|| bad("bytes is missing"))?, now),
            "wake" => scripted.wake(now),
            "ack" => scripted.ack(&ack(&args)?, now),
            other => return Err(bad(format!("a sender has no method {other}"))),
        };
        Ok(as_json(&scripted, &sent.map_err(bad)?).to_string())
    }

    #[getter]
    fn deadline_s(&self) -> PyResult<Option<f64>> {
        let scripted = self.inner.lock().map_err(|_| bad("an earlier call has failed"))?;
        let deadline = scripted.sender().deadline();
        Ok((deadline != Time::NEVER).then(|| deadline.seconds()))
    }
}

fn time(args: &Args, name: &str) -> PyResult<Option<Time>> {
    let Some(value) = given(args, name) else { return Ok(None) };
    match value.as_f64() {
        Some(s) if (0.0..=1e6).contains(&s) => Ok(Some(Time::from_seconds(s))),
        _ => Err(bad(format!("{name} must be seconds between 0 and 1000000, it is {value}"))),
    }
}

/// Bytes: a whole number below 2^50.
fn bytes(value: &Value) -> Option<u64> {
    let exact = value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..1e15).contains(x));
    exact.map(|x| x as u64)
}

fn whole(args: &Args, name: &str) -> PyResult<Option<u64>> {
    let Some(value) = given(args, name) else { return Ok(None) };
    bytes(value).map(Some).ok_or_else(|| bad(format!("{name} must be a whole number, it is {value}")))
}

fn ack(args: &Args) -> PyResult<Ack> {
    let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([from, to]) => bytes(from).zip(bytes(to)),
        _ => None,
    };
    let sack = match given(args, "sack") {
        None => Some(Vec::new()),
        Some(value) => value.as_array().and_then(|list| list.iter().map(pair).collect()),
    };
    let ece = match given(args, "ece") {
        None => None,
        Some(Value::Bool(ece)) => Some(*ece),
        Some(other) => return Err(bad(format!("ece must be True or False, it is {other}"))),
    };
    let option = |value: &Value| {
        let octet = |octet: &Value| octet.as_u64().and_then(|octet| u8::try_from(octet).ok());
        let octets: Option<Vec<u8>> = value.as_array()?.iter().map(octet).collect();
        AccEcn::decode(&octets?)
    };
    let why = "option must be the bytes of an AccECN option: kind 172 or 174, length, fields";
    let accurate = given(args, "option").map(|value| option(value).ok_or_else(|| bad(why))).transpose()?;
    Ok(Ack {
        accurate,
        ack: whole(args, "ack")?.ok_or_else(|| bad("ack is missing"))?,
        sack: sack.ok_or_else(|| bad("sack must be a list of pairs of bytes (from, to), to excluded"))?,
        ece,
        ace: whole(args, "ace")?.map(|ace| ace.min(255) as u8),
        window: whole(args, "window")?,
        echo: time(args, "echo")?,
    })
}

/// The flags of the TCP header by name, in the order of their bits.
const FLAGS: [(u8, &str); 8] = [
    (flags::FIN, "FIN"),
    (flags::SYN, "SYN"),
    (flags::RST, "RST"),
    (flags::PUSH, "PSH"),
    (flags::ACK, "ACK"),
    (flags::ECE, "ECE"),
    (flags::CWR, "CWR"),
    (flags::AE, "AE"),
];

fn as_json(scripted: &Scripted, sent: &Sent) -> Value {
    let (sender, profile) = (scripted.sender(), scripted.profile());
    let segments: Vec<Value> = sent
        .iter()
        .map(|(at, s)| {
            let names = FLAGS.iter().filter(|(bit, _)| s.flags & bit != 0).map(|(_, name)| *name);
            json!({
                "now": at.seconds(),
                "seq": s.seq,
                "payload": s.payload,
                "size": s.size(profile),
                "flags": names.collect::<Vec<_>>(),
                "again": s.again,
                "ecn": match s.ecn() {
                    Ecn::NotCapable => "not-capable",
                    Ecn::Capable0 => "ect0",
                    Ecn::Capable1 => "ect1",
                    Ecn::Congestion => "marked",
                },
            })
        })
        .collect();
    let seconds = |d: Option<Duration>| d.map(Duration::seconds);
    let (window, tally, mss) = (sender.window(), scripted.tally(), profile.segment());
    let (una, next) = sender.numbers();
    let deadline = sender.deadline();
    json!({
        "segments": segments,
        "state": {
            "life": match sender.life() {
                Life::Idle => "closed",
                Life::Opening => "opening",
                Life::Open | Life::Done => "open",
                Life::Dead => "given-up",
            },
            "recovery": match sender.recovery() {
                Recovery::Open => "open",
                Recovery::Disorder => "disorder",
                Recovery::Reduction => "reduction",
                Recovery::Recovery => "recovery",
                Recovery::Loss => "loss",
            },
            "cwnd": window.cwnd / mss,
            "ssthresh": window.ssthresh.is_finite().then_some(window.ssthresh / mss),
            "lost": tally.lost,
            "sacked": tally.sacked,
            "retransmitted": tally.retransmitted,
            "retransmitted_in_all": sender.retransmitted(),
            "unacked": tally.unacked,
            "una": una,
            "next": next,
            "rtt": seconds(sender.smoothed_rtt()),
            "min_rtt": seconds(scripted.least_rtt()),
            "marks": sender.marks_reported(),
            "bytes": sender.bytes_reported(),
            "deadline": (deadline != Time::NEVER).then(|| deadline.seconds()),
        },
    })
}
