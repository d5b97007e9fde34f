//! RFC 9293 section 3.5.

use super::*;
use crate::profile::Handshake;

#[test]
fn three_way() {
    let states = trace(
        &hundred(),
        "0 client open
         30 client write 100",
        "0 > SYN",
    );
    assert_eq!(states, ["ESTABLISHED", "ESTABLISHED"]);
}
