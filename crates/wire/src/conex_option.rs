//! The ConEx destination option of IPv6 (RFC 7837 section 4): three octets in a Destination Options header (RFC 8200 sections
//! 4.2 and 4.6).

use evenflow_base::Signals;

use crate::{Malformed, split};

/// The option's type: experimental, skipped by hosts that do not know it, not changed on the way.
pub const TYPE: u8 = 0x1e;

const X: u8 = 0x80;
const L: u8 = 0x40;
const E: u8 = 0x20;
const C: u8 = 0x10;

const PAD1: u8 = 0;
const PADN: u8 = 1;

/// The option: type, length 1, flags. Reserved bits are sent as zero.
pub fn encode(signals: Signals) -> [u8; 3] {
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let flags = bit(signals.capable, X) | bit(signals.loss, L) | bit(signals.ecn, E) | bit(signals.credit, C);
    [TYPE, 1, flags]
}

/// The signals in the flags octet. Reserved bits are ignored; so are L, E and C of a packet that does not count (X = 0).
pub fn signals(flags: u8) -> Signals {
    if flags & X == 0 {
        return Signals::default();
    }
    Signals { capable: true, loss: flags & L != 0, ecn: flags & E != 0, credit: flags & C != 0 }
}

/// A Destination Options header of eight octets, the option first (RFC 7837 section 4 asks for it) and padding behind.
pub fn destination_options(next_header: u8, signals: Signals) -> [u8; 8] {
    let [kind, length, flags] = encode(signals);
    [next_header, 0, kind, length, flags, PADN, 1, 0]
}

/// Reads a Destination Options header: the next header, the signals (`None`: no such option, hence a Not-ConEx packet), and what
/// follows. Unknown options are skipped where their type allows it; of two ConEx options the first counts.
///
/// # Errors
/// Too few bytes, an option that leaves the header, a ConEx option whose length is not 1, an unknown option that must be
/// understood.
pub fn decode(bytes: &[u8]) -> Result<(u8, Option<Signals>, &[u8]), Malformed> {
    let (start, _) = split(bytes, 2)?;
    let (header, rest) = split(bytes, (usize::from(start[1]) + 1) * 8)?;
    let mut options = &header[2..];
    let mut found = None;
    while let Some((&kind, after)) = options.split_first() {
        if kind == PAD1 {
            options = after;
            continue;
        }
        let (length, after) = split(after, 1)?;
        let length = usize::from(length[0]);
        let (content, after) = after.split_at_checked(length).ok_or(Malformed::Length(length))?;
        options = after;
        match kind {
            PADN => {}
            TYPE if length != 1 => return Err(Malformed::Length(length)),
            TYPE => found = found.or(Some(signals(content[0]))),
            // The two highest bits say what to do with an option that is not known (RFC 8200 section 4.2).
            other if other >> 6 != 0 => return Err(Malformed::MustUnderstand(other)),
            _ => {}
        }
    }
    Ok((header[0], found, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_four_signals_of_rfc_7713() {
        assert_eq!(encode(Signals::default()), [0x1e, 1, 0x00]);
        assert_eq!(encode(Signals::NOT_MARKED), [0x1e, 1, 0x80]);
        assert_eq!(encode(Signals::RE_ECHO_LOSS), [0x1e, 1, 0xc0]);
        assert_eq!(encode(Signals::RE_ECHO_ECN), [0x1e, 1, 0xa0]);
        assert_eq!(encode(Signals::CREDIT), [0x1e, 1, 0x90]);
    }

    #[test]
    fn every_pattern_of_the_flags_octet() {
        for flags in 0..=255u8 {
            let read = signals(flags);
            if flags & 0x80 == 0 {
                assert_eq!(read, Signals::default(), "X = 0: the rest is undefined");
            } else {
                assert_eq!(encode(read)[2], flags & 0xf0);
            }
        }
    }

    #[test]
    fn a_minimal_header() {
        let bytes = destination_options(6, Signals::CREDIT);
        assert_eq!(bytes, [6, 0, 0x1e, 1, 0x90, 1, 1, 0]);
        assert_eq!(decode(&bytes), Ok((6, Some(Signals::CREDIT), &[][..])));
    }

    #[test]
    fn other_options_are_skipped_or_refused_as_their_type_says() {
        // An unknown option that may be skipped (type 0x05), then ours.
        assert_eq!(decode(&[6, 0, 0x05, 0, 0x1e, 1, 0xc0, 0]), Ok((6, Some(Signals::RE_ECHO_LOSS), &[][..])));
        assert_eq!(decode(&[6, 0, 1, 4, 0, 0, 0, 0]), Ok((6, None, &[][..])));
        for kind in [0x45, 0x85, 0xc5] {
            assert_eq!(decode(&[6, 0, kind, 0, 0, 0, 0, 0]), Err(Malformed::MustUnderstand(kind)));
        }
    }

    #[test]
    fn malformed_headers() {
        assert_eq!(decode(&[6]), Err(Malformed::Short { need: 2, have: 1 }));
        assert_eq!(decode(&[6, 1, 0, 0, 0, 0, 0, 0]), Err(Malformed::Short { need: 16, have: 8 }));
        assert_eq!(decode(&[6, 0, 0x1e, 2, 0x80, 0, 0, 0]), Err(Malformed::Length(2)));
        assert_eq!(decode(&[6, 0, 0x1e, 0, 0, 0, 0, 0]), Err(Malformed::Length(0)));
        assert_eq!(decode(&[6, 0, 1, 5, 0, 0, 0, 0]), Err(Malformed::Length(5)));
        assert_eq!(decode(&[6, 0, 0, 0, 0, 0, 0, 0x1e]), Err(Malformed::Short { need: 1, have: 0 }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((_, _, rest)) = decode(&bytes) {
                prop_assert!(rest.len() + 8 <= bytes.len());
            }
        }
    }
}
