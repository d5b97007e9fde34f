//! Packets as a capture file: columns in, bytes out.

use std::collections::BTreeMap;

use evenflow_base::Signals;
use evenflow_base::options::AccEcn;
use evenflow_wire::capture::{Outer, Row, Writer};

/// The numbers of little-endian f64 bytes.
pub fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|raw| f64::from_le_bytes(*raw)).collect()
}

/// Columns by name, little-endian f64, a missing value being NaN, in rows of equal number.
pub struct Columns(BTreeMap<String, Vec<f64>>);

impl Columns {
    /// From bytes; an error names a column that is missing or too short.
    pub fn new(columns: BTreeMap<String, Vec<u8>>) -> Result<Columns, String> {
        let columns: BTreeMap<String, Vec<f64>> =
            columns.into_iter().map(|(name, bytes)| (name, numbers(&bytes))).collect();
        let rows = columns.get("time_s").map_or(0, Vec::len);
        let blocks = BLOCKS.iter().flat_map(|(from, to)| [from, to]);
        for name in NAMES.iter().chain(blocks).chain(OUTER.iter().flatten()) {
            match columns.get(*name) {
                None => return Err(format!("the column {name} is missing")),
                Some(column) if column.len() != rows => {
                    return Err(format!("the column {name} has not {rows} rows"));
                }
                Some(_) => {}
            }
        }
        Ok(Columns(columns))
    }

    fn at(&self, name: &str, row: usize) -> Option<f64> {
        self.0.get(name)?.get(row).copied().filter(|x| !x.is_nan())
    }

    fn whole(&self, name: &str, row: usize) -> u64 {
        self.at(name, row).unwrap_or(0.0) as u64
    }

    /// The capture file.
    pub fn write(&self, interfaces: &[&str]) -> Vec<u8> {
        let mut writer = Writer::new(interfaces);
        for row in 0..self.0["time_s"].len() {
            writer.add(&self.row(row));
        }
        writer.finish()
    }

    fn row(&self, row: usize) -> Row {
        let some = |name: &str| self.at(name, row).map(|x| x as u64);
        let bit = |name: &str, bit: u64| self.whole(name, row) & bit != 0;
        let block = |n: usize| Some((some(BLOCKS[n].0)?, some(BLOCKS[n].1)?));
        let conex = self.whole("conex", row);
        let re = bit("re", 1);
        let outer = |[ecn, re, tunnel, sequence, bytes]: &[&str; 5]| {
            Some(Outer {
                ecn: some(ecn)? as u8,
                re: bit(re, 1),
                tunnel: self.whole(tunnel, row) as u32,
                sequence: self.whole(sequence, row) as u16,
                bytes: self.whole(bytes, row) as u16,
            })
        };
        Row {
            time_ns: (self.at("time_s", row).unwrap_or(0.0) * 1e9).round() as u64,
            interface: self.whole("interface", row) as u32,
            flow: self.whole("flow", row) as u32,
            backward: bit("backward", 1),
            size: self.whole("size", row),
            payload: self.whole("payload", row) as u16,
            flags: some("flags").map(|flags| flags as u16),
            seq: some("seq"),
            ack: some("ack"),
            window: some("window").map(|window| window as u16),
            scale: some("scale").map(|scale| scale as u8),
            stamp: self.whole("stamp", row) as u32,
            ts_val: self.whole("ts_val", row) as u32,
            blocks: (0..BLOCKS.len()).filter_map(block).collect(),
            accurate: some("accecn_kind").map(|kind| {
                let counters = COUNTERS.map(some);
                let fields = counters.iter().flatten().count();
                AccEcn::new(kind == 174, counters.map(|bytes| bytes.unwrap_or(0) as u32), fields)
            }),
            ecn: self.whole("ecn", row) as u8,
            re,
            says: Signals {
                capable: re || conex != 0,
                loss: conex & 1 != 0,
                ecn: conex & 2 != 0,
                credit: conex & 4 != 0,
            },
            ipv6: bit("ipv6", 1),
            outer: OUTER.iter().filter_map(outer).collect(),
        }
    }
}

const BLOCKS: [(&str, &str); 3] =
    [("sack_1_from", "sack_1_to"), ("sack_2_from", "sack_2_to"), ("sack_3_from", "sack_3_to")];

/// Columns of the AccECN option, which a trace without it lacks.
const COUNTERS: [&str; 3] = ["accecn_e0b", "accecn_ceb", "accecn_e1b"];

const OUTER: [[&str; 5]; 2] = [
    ["outer_1_ecn", "outer_1_re", "outer_1_tunnel", "outer_1_sequence", "outer_1_bytes"],
    ["outer_2_ecn", "outer_2_re", "outer_2_tunnel", "outer_2_sequence", "outer_2_bytes"],
];

/// Columns of every trace, without [`BLOCKS`] and [`OUTER`].
const NAMES: &[&str] = &[
    "time_s",
    "interface",
    "flow",
    "backward",
    "size",
    "payload",
    "flags",
    "seq",
    "ack",
    "window",
    "scale",
    "stamp",
    "ts_val",
    "ecn",
    "re",
    "conex",
    "ipv6",
];
