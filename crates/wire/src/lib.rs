//! Headers as bytes: what a packet of the simulator looks like on a real wire, and back.
//!
//! For traces that a packet analyser reads, for conformance vectors, and for real packets. A run does not depend on it.

pub mod capture;
pub mod conex_option;
pub mod gtpu;
pub mod ipv4;
pub mod pcapng;
pub mod tcp;

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer bytes than the header needs.
    #[error("{have} bytes, at least {need} needed")]
    Short {
        /// Bytes that the header needs.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// Another version of the protocol.
    #[error("version {0}")]
    Version(u8),
    /// A length field that cannot be.
    #[error("length field {0}")]
    Length(usize),
    /// The header's checksum does not match.
    #[error("checksum {found:#06x}, {expected:#06x} expected")]
    Checksum {
        /// What the header says.
        found: u16,
        /// What its bytes give.
        expected: u16,
    },
    /// Something that only GTP' (charging) uses: protocol type 0.
    #[error("protocol type 0: GTP', no GTP")]
    Charging,
    /// A type that the receiver must understand and does not.
    #[error("type {0:#04x} must be understood and is not known")]
    MustUnderstand(u8),
}

/// The first `need` bytes, and what follows.
fn split(bytes: &[u8], need: usize) -> Result<(&[u8], &[u8]), Malformed> {
    bytes.split_at_checked(need).ok_or(Malformed::Short { need, have: bytes.len() })
}
