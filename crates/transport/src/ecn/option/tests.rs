use evenflow_base::Ecn::{Capable0, Capable1, Congestion, NotCapable};

use super::*;
use crate::ecn::{FIRST, flags_of, is_mangled};

const MSS: u64 = 1460;

/// Table 5: lengths and orders. Figure 4, byte by byte.
#[test]
fn lengths_and_orders() {
    let counters = [0x01_02_03, 0x04_05_06, 0x07_08_09];
    let wire = |order1, fields| AccEcn::new(order1, counters, fields).encode();
    assert_eq!(wire(false, 3), [172, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(wire(true, 3), [174, 11, 7, 8, 9, 4, 5, 6, 1, 2, 3]);
    assert_eq!(wire(false, 2), [172, 8, 1, 2, 3, 4, 5, 6]);
    assert_eq!(wire(true, 1), [174, 5, 7, 8, 9]);
    assert_eq!(wire(true, 0), [174, 2]);
    for option in [wire(false, 3), wire(true, 2), wire(false, 1), wire(true, 0)] {
        assert_eq!(AccEcn::decode(&option).map(|read| read.encode()), Some(option));
    }
    // Another length: whole fields count, the rest is padding.
    let odd = AccEcn::decode(&[174, 7, 0, 0, 9, 1, 1]).expect("an option");
    assert_eq!((odd.field(2), odd.field(1), odd.field(0)), (Some(9), None, None));
    let long = AccEcn::decode(&[172, 15, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 9, 9, 9]).expect("an option");
    assert_eq!([0, 1, 2].map(|i| long.field(i)), [Some(1), Some(2), Some(3)]);
    assert_eq!(AccEcn::decode(&[173, 5, 0, 0, 1]), None);
    assert_eq!(AccEcn::decode(&[172]), None);
}

/// The kind and the fields of the option that is written.
fn fields(received: &mut Received, blocks: usize) -> Option<(bool, usize, usize)> {
    let (option, stay) = received.write(Test::None, blocks)?;
    let wire = option.encode();
    Some((wire[0] == 174, (wire.len() - 2) / 3, stay))
}

/// Section 3.2.3.3, both examples.
#[test]
fn an_option_has_a_field_for_each_counter_that_changed() {
    let mut r = Received::default();
    assert_eq!(fields(&mut r, 0), None);
    r.add(Capable0, 1000);
    assert_eq!(fields(&mut r, 0), Some((false, 1, 0)));
    assert_eq!(fields(&mut r, 0), None, "nothing new");
    r.add(Congestion, 1000);
    assert_eq!(fields(&mut r, 0), Some((false, 2, 0)));
    r.add(Capable0, 1000);
    assert_eq!(fields(&mut r, 0), Some((false, 2, 0)));
    assert_eq!(r.bytes(), [2001, 1000, 1]);
    let mut r = Received::default();
    r.add(Congestion, 1000);
    assert_eq!(fields(&mut r, 0), Some((false, 2, 0)));
    r.add(Capable1, 1000);
    assert_eq!(fields(&mut r, 0), Some((true, 2, 0)));
    r.add(NotCapable, 1000);
    r.add(Congestion, 0);
    assert_eq!(fields(&mut r, 0), None, "neither changes a counter");
}

/// 40 bytes: 12 of timestamps and 4 + 8n of n blocks leave 8 beside two blocks and nothing beside three.
#[test]
fn two_sack_blocks_go_first_and_the_third_yields() {
    let mut r = Received::default();
    r.add(Capable1, 1000);
    assert_eq!(fields(&mut r, 1), Some((true, 1, 1)));
    r.add(Capable1, 1000);
    assert_eq!(fields(&mut r, 3), Some((true, 1, 2)));
    // Three counters changed once: two fields fit, of which one is new.
    for field in [Capable0, Capable1, Congestion] {
        r.add(field, 1000);
    }
    assert_eq!(fields(&mut r, 0), Some((false, 3, 0)));
    r.add(Capable1, 1000);
    assert_eq!(fields(&mut r, 2), Some((true, 2, 2)));
    r.add(Capable0, 1000);
    assert_eq!(fields(&mut r, 2), Some((false, 2, 2)));
    // Three are new: the option is left out, and follows as soon as it fits.
    for field in [Capable0, Capable1, Congestion] {
        r.add(field, 1000);
    }
    assert_eq!((fields(&mut r, 3), fields(&mut r, 2)), (None, None));
    assert_eq!(fields(&mut r, 1), Some((false, 3, 1)));
}

/// Sections 3.2.3.2.1 and 3.2.3.2.2.
#[test]
fn the_handshake_tests_the_path_once() {
    let mut server = Received::default();
    let (option, _) = server.write(Test::SynAck, 0).expect("a test");
    assert_eq!(option.encode(), [172, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    let mut client = Received::default();
    assert!(client.write(Test::Ack, 0).is_some() && client.write(Test::Data, 0).is_some());
    assert!(client.write(Test::Ack, 0).is_none() && client.write(Test::Data, 0).is_none());
    // A repeated SYN-ACK has no option, nor has anything after it.
    assert!(server.write(Test::SynAck, 0).is_none());
    server.add(Capable0, 1000);
    assert!(server.write(Test::None, 0).is_none());
}

/// A sender that has `s.ceb` marked bytes decodes an option with `field`.
fn decoded(ceb: u64, field: u32, d: u8, packets: u32) -> (u32, u64) {
    let mut s = Reported::new(MSS);
    s.bytes[1] = ceb;
    s.hear(Some(AccEcn::new(false, [1, field, 1], 2)));
    let (marks, _) = s.decode(flags_of((FIRST + d) & 7), FIRST, packets);
    (marks, s.bytes()[1] - ceb)
}

/// Appendix A.1 and A.2.2: the vectors of the document.
#[test]
fn the_vectors_of_the_appendix() {
    assert_eq!(decoded(33_554_433, 1461, 1, 1), (1, 1460));
    assert_eq!(decoded(0, 1460, 0, 8).0, 8); // d.cep 0, dSafer 8
    assert_eq!(decoded(0, 1460, 2, 10).0, 2); // s = 730, sSafer = 146
    assert_eq!(decoded(0, 10_200, 7, 15).0, 7); // s = 1457, sSafer = 680
    // Each condition of the byte test alone: segments above the MSS, and sSafer = 730, not below half the MSS.
    assert_eq!(decoded(0, 2 * 1460 + 1, 2, 10).0, 10);
    assert_eq!(decoded(0, 7 * 1460 + 730, 7, 15).0, 15);
    assert_eq!(decoded(0, 5 * 730, 5, 13).0, 5);
}

/// Section 3.2.3.2.3: without an option the conservative reading counts, also after options came.
#[test]
fn without_an_option_the_safer_number_counts() {
    let mut s = Reported::new(MSS);
    s.hear(None);
    assert_eq!(s.decode(flags_of(FIRST), FIRST, 10), (8, false));
    s.hear(Some(AccEcn::new(true, [1, 0, 14_601], 2)));
    assert_eq!(s.decode(flags_of(FIRST), FIRST, 10), (0, false));
    assert_eq!(s.bytes(), [1, 0, 14_601]);
    s.hear(None);
    assert_eq!(s.decode(flags_of(FIRST), FIRST, 10), (8, false));
}

/// Section 3.2.3.2.4: the first option with a zero counter shows mangling; later zeros are a wrap.
#[test]
fn options_that_begin_with_zero_are_ignored() {
    let mut s = Reported::new(MSS);
    s.hear(Some(AccEcn::new(false, [0, 0, 0], 3)));
    s.hear(Some(AccEcn::new(false, [14_601, 0, 1], 3)));
    assert_eq!(s.decode(flags_of(FIRST), FIRST, 10), (8, false));
    let mut s = Reported::new(MSS);
    s.hear(Some(AccEcn::new(false, [1, 0, 1], 3)));
    s.hear(Some(AccEcn::new(false, [0, 0, 1], 3)));
    assert_eq!(s.decode(flags_of(FIRST), FIRST, 10), (0, false));
}

/// Section 3.2.3.2.5: marked bytes without marked packets. Marks of ACKs without option explain bytes that come later.
#[test]
fn marked_bytes_without_marks_contradict() {
    let option = |ceb| Some(AccEcn::new(false, [1, ceb, 1], 2));
    let mut s = Reported::new(MSS);
    s.hear(option(1460));
    assert_eq!(s.decode(flags_of(FIRST), FIRST, 2), (0, true));
    let mut s = Reported::new(MSS);
    s.hear(None);
    assert_eq!(s.decode(flags_of(FIRST + 1), FIRST, 2), (1, false));
    s.hear(option(1460));
    assert_eq!(s.decode(flags_of(FIRST + 1), FIRST + 1, 2), (0, false));
    s.hear(option(2920));
    assert_eq!(s.decode(flags_of(FIRST + 1), FIRST + 1, 7), (0, true));
    // Eight packets: the counter may have gone round.
    s.hear(option(2920 + 8 * 1460));
    assert_eq!(s.decode(flags_of(FIRST + 1), FIRST + 1, 8), (8, false));
}

/// RFC 3168 section 18, as RFC 9768 section 3.2.2.3 repeats it.
#[test]
fn invalid_transitions() {
    use crate::ecn::reflected;
    let fields = [NotCapable, Capable1, Capable0, Congestion];
    for sent in fields {
        for came in fields {
            let valid = sent == came || (sent != NotCapable && came == Congestion);
            let relabelled = matches!((sent, came), (Capable0, Capable1) | (Capable1, Capable0));
            assert_eq!(is_mangled(sent, reflected(came)), !valid && !relabelled, "{sent:?} {came:?}");
        }
        for unused in [0b000, 0b001, 0b101, 0b111] {
            assert!(!is_mangled(sent, unused));
        }
    }
}

/// Section 3.2.2.4: only the first feedback is tested, for 0 alone.
#[test]
fn a_first_counter_of_zero_fails() {
    let mut s = Reported::new(MSS);
    assert!(s.fails(flags_of(0), 0, 2, 2000, 20_000));
    assert!(s.fails(flags_of(5), 0, 2, 4000, 20_000), "for the rest of the connection");
    for first in 1..8 {
        let mut s = Reported::new(MSS);
        assert!(!s.fails(flags_of(first), 0, 2, 2000, 20_000));
        assert!(!s.fails(flags_of(0), 0, 2, 4000, 20_000), "a turn of the counter");
    }
}

/// Section 3.2.2.3: every packet of four rounds is marked. A packet without mark ends the test.
#[test]
fn four_rounds_of_marks_fail() {
    let rounds = |unmarked: Option<u64>| {
        let mut s = Reported::new(MSS);
        (1..30u64).find(|&ack| {
            let packets = 2;
            let marks = packets - u32::from(unmarked == Some(ack));
            s.fails(flags_of(5), marks, packets, ack * 1000, ack * 1000 + 5000)
        })
    };
    // Rounds begin with the ACKs of 1, 6, 11, 16, 21 kB.
    assert_eq!(rounds(None), Some(26));
    for unmarked in [1, 2, 20, 25] {
        assert_eq!(rounds(Some(unmarked)), None, "{unmarked}");
    }
    assert_eq!(rounds(Some(27)), Some(26));
}
