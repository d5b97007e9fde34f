//! The conformance vectors of headers as bytes in tests/conformance/wire, whose README.md says what a vector is.

use evenflow_base::{Codepoint, Ecn, Signals};
use evenflow_wire::{Malformed, conex_option, gtpu, ipv4};
use serde_json::{Value as Json, json};

#[path = "../../../tests/conformance/reader.rs"]
mod reader;
use reader::vectors;

fn bytes_of(event: &Json) -> Vec<u8> {
    let text = event["bytes"].as_str().expect("bytes");
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

fn error(why: Malformed) -> Json {
    let name = match why {
        Malformed::Short { .. } => "short",
        Malformed::Version(_) => "version",
        Malformed::Length(_) => "length",
        Malformed::Checksum { .. } => "checksum",
        Malformed::Charging => "charging",
        Malformed::MustUnderstand(_) => "must-understand",
    };
    json!({ "error": name })
}

/// What was read, and the header as it would be written.
type Read = (Json, Vec<u8>);

fn read_ipv4(bytes: &[u8]) -> Result<Read, Malformed> {
    let (header, inside) = ipv4::Header::decode(bytes)?;
    let field = match header.ecn {
        Ecn::NotCapable => "not-ect",
        Ecn::Capable1 => "ect1",
        Ecn::Capable0 => "ect0",
        Ecn::Congestion => "ce",
    };
    let signal = match header.codepoint() {
        Codepoint::NotCapable | Codepoint::Legacy | Codepoint::Unused => "not-conex",
        Codepoint::Credit => "credit",
        Codepoint::ReEcho => "re-echo",
        Codepoint::NotMarked => "not-marked",
        Codepoint::Cancelled => "re-echo, met congestion",
        Codepoint::Negative => "not-marked, met congestion",
    };
    let dotted = |address: [u8; 4]| address.map(|octet| octet.to_string()).join(".");
    let said = json!({
        "dscp": header.dscp,
        "ecn": field,
        "re": header.re,
        "signal": signal,
        "total_length": header.total_length,
        "identification": header.identification,
        "dont_fragment": header.dont_fragment,
        "more_fragments": header.more_fragments,
        "fragment_offset": header.fragment_offset,
        "time_to_live": header.time_to_live,
        "protocol": header.protocol,
        "source": dotted(header.source),
        "destination": dotted(header.destination),
        "inside": inside.len(),
    });
    Ok((said, header.encode().to_vec()))
}

fn read_option(bytes: &[u8]) -> Result<Read, Malformed> {
    let (next_header, signals, inside) = conex_option::decode(bytes)?;
    let letters = |says: Signals| {
        let set = [(says.capable, 'X'), (says.loss, 'L'), (says.ecn, 'E'), (says.credit, 'C')];
        set.into_iter().filter_map(|(on, letter)| on.then_some(letter)).collect::<String>()
    };
    let said = json!({ "next_header": next_header, "signals": signals.map(letters), "inside": inside.len() });
    Ok((said, conex_option::destination_options(next_header, signals.unwrap_or_default()).to_vec()))
}

fn read_gtp(bytes: &[u8], known: &[u8]) -> Result<Read, Malformed> {
    let (header, inside) = gtpu::Header::decode(bytes, known)?;
    let hex = |content: &[u8]| content.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let extensions: Vec<Json> = header
        .extensions
        .iter()
        .map(|extension| json!({ "type": extension.kind, "content": hex(&extension.content) }))
        .collect();
    let said = json!({
        "message": header.message,
        "teid": header.teid,
        "sequence": header.sequence,
        "n_pdu": header.n_pdu,
        "extensions": extensions,
        "inside": inside.len(),
    });
    let written = header.encode(inside.len()).expect("what was read can be written");
    Ok((said, written))
}

/// What the vectors say is what is read, and where they say that it is so written, the same bytes are written again.
#[test]
fn every_vector_is_met() {
    let (mut read, mut written) = (0, 0);
    for (path, vector) in vectors("wire") {
        for (number, event) in vector["events"].as_array().expect("events").iter().enumerate() {
            let bytes = bytes_of(event);
            let known: Vec<u8> = event["known"]
                .as_array()
                .iter()
                .flat_map(|list| list.iter())
                .map(|kind| kind.as_u64().expect("a type") as u8)
                .collect();
            let found = match vector["codec"].as_str().expect("a codec") {
                "ipv4" => read_ipv4(&bytes),
                "conex-option" => read_option(&bytes),
                "gtp-u" => read_gtp(&bytes, &known),
                other => panic!("{path}: {other} is no codec"),
            };
            let said = found.as_ref().map_or_else(|why| error(*why), |(said, _)| said.clone());
            assert_eq!(said, event["expect"], "{path}, event {number}, {event}");
            read += 1;
            if event["written"] == true {
                let (_, again) = found.expect("it was read");
                assert_eq!(again, bytes[..again.len()], "{path}, event {number}");
                written += 1;
            }
        }
    }
    assert!(read > 200 && written > 80, "{read} read, {written} written");
}
