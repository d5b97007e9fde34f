//! Differentiated services code points (RFC 2474) by the names of traffic classes.

/// The DSCP of a traffic class called like a per-hop behaviour, such as "ef" or "af41"; 0 (best effort) for any other.
pub fn dscp_of(class: &str) -> u8 {
    let digits: Vec<u8> = class.bytes().skip(2).map(|byte| byte.wrapping_sub(b'0')).collect();
    match (class.get(..2), &digits[..]) {
        (Some("ef"), []) => 46,                                  // RFC 3246
        (Some("le"), []) => 1,                                   // RFC 8622
        (Some("cs"), [n @ 0..=7]) => n << 3,                     // RFC 2474 section 4.2.2
        (Some("af"), [c @ 1..=4, d @ 1..=3]) => c << 3 | d << 1, // RFC 2597 section 6
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_the_registered_ones() {
        let all =
            ["be", "ef", "le", "cs0", "cs6", "af11", "af41", "af43", "af51", "video", "", "é"].map(dscp_of);
        assert_eq!(all, [0, 46, 1, 0, 48, 10, 34, 38, 0, 0, 0, 0]);
    }
}
