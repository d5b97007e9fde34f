//! Differentiated services code points (RFC 2474) by name.

/// The registered names (RFC 2474, 2597, 3246, 5865, 8622).
pub const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("EF", 46),
    ("LE", 1),
    ("VA", 44),
];

/// The code point of that name, in capitals or not.
pub fn named(name: &str) -> Option<u8> {
    NAMES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, code)| *code)
}

/// The DSCP of a traffic class with such a name; 0 (best effort) for any other.
pub fn dscp_of(class: &str) -> u8 {
    named(class).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_the_registered_ones() {
        let all =
            ["be", "ef", "le", "cs0", "cs6", "af11", "af41", "af43", "af51", "video", "", "é"].map(dscp_of);
        assert_eq!(all, [0, 46, 1, 0, 48, 10, 34, 38, 0, 0, 0, 0]);
        for (n, (name, code)) in NAMES.into_iter().enumerate() {
            let digits: Vec<u8> = name.bytes().skip(2).map(|byte| byte - b'0').collect();
            match (&name[..2], &digits[..]) {
                ("CS", [class]) => assert_eq!((code, n), (class << 3, usize::from(*class))),
                ("AF", [class, drop]) => assert_eq!(code, class << 3 | drop << 1),
                _ => assert!(matches!((name, code), ("EF", 46) | ("LE", 1) | ("VA", 44))),
            }
        }
    }
}
