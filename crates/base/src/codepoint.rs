//! The extended ECN field of re-ECN and ConEx: the two ECN bits and the RE flag of the IPv4 header
//! (draft-briscoe-conex-re-ecn-tcp-04 sections 4.2 to 5.3; Sanhaji et al. 2015, table I).
//!
//! Routers write only the ECN bits, senders only RE.

use crate::Ecn;

/// The eight values of ECN field and RE flag. The bits alone do not distinguish a marked ECT(0) from a marked Re-Echo: both are 11
/// with RE = 0. A node that must know remembers what the flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codepoint {
    /// 00, RE 0: not ECN-capable, not ConEx.
    NotCapable,
    /// 00, RE 1: re-ECN's FNE (feedback not established), a Credit of ConEx.
    Credit,
    /// 01, RE 0: re-ECN's Re-Echo, a Re-Echo-Loss or Re-Echo-ECN of ConEx.
    ReEcho,
    /// 01, RE 1: re-ECN's RECT, ConEx-Not-Marked.
    NotMarked,
    /// 10, RE 0: ECT(0) of RFC 3168.
    Legacy,
    /// 10, RE 1: currently unused.
    Unused,
    /// 11, RE 0: CE(0), a Re-Echo that met congestion, or a marked packet of RFC 3168.
    Cancelled,
    /// 11, RE 1: CE(-1), a neutral packet that met congestion.
    Negative,
}

/// All of them, ECN field first, RE 0 before RE 1.
pub const CODEPOINTS: [Codepoint; 8] = [
    Codepoint::NotCapable,
    Codepoint::Credit,
    Codepoint::ReEcho,
    Codepoint::NotMarked,
    Codepoint::Legacy,
    Codepoint::Unused,
    Codepoint::Cancelled,
    Codepoint::Negative,
];

impl Codepoint {
    /// From the bits of the header.
    #[inline]
    pub const fn of(ecn: Ecn, re: bool) -> Codepoint {
        match (ecn, re) {
            (Ecn::NotCapable, false) => Codepoint::NotCapable,
            (Ecn::NotCapable, true) => Codepoint::Credit,
            (Ecn::Capable1, false) => Codepoint::ReEcho,
            (Ecn::Capable1, true) => Codepoint::NotMarked,
            (Ecn::Capable0, false) => Codepoint::Legacy,
            (Ecn::Capable0, true) => Codepoint::Unused,
            (Ecn::Congestion, false) => Codepoint::Cancelled,
            (Ecn::Congestion, true) => Codepoint::Negative,
        }
    }

    /// The ECN field.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        match self {
            Codepoint::NotCapable | Codepoint::Credit => Ecn::NotCapable,
            Codepoint::ReEcho | Codepoint::NotMarked => Ecn::Capable1,
            Codepoint::Legacy | Codepoint::Unused => Ecn::Capable0,
            Codepoint::Cancelled | Codepoint::Negative => Ecn::Congestion,
        }
    }

    /// The RE flag.
    #[inline]
    pub const fn re(self) -> bool {
        matches!(self, Codepoint::Credit | Codepoint::NotMarked | Codepoint::Unused | Codepoint::Negative)
    }

    /// Its worth (section 4.2 of the draft); `None` where it has none, because it is no codepoint of re-ECN.
    #[inline]
    pub const fn worth(self) -> Option<i8> {
        match self {
            Codepoint::NotCapable | Codepoint::Legacy | Codepoint::Unused => None,
            Codepoint::Credit | Codepoint::ReEcho => Some(1),
            Codepoint::NotMarked | Codepoint::Cancelled => Some(0),
            Codepoint::Negative => Some(-1),
        }
    }

    /// Which packets a queue under attack drops first (section 5.3 of the draft): 1 before 5. 4 and 5 may be merged.
    #[inline]
    pub const fn drop_preference(self) -> u8 {
        match self {
            Codepoint::NotCapable => 1,
            Codepoint::Legacy | Codepoint::Unused => 2,
            Codepoint::NotMarked | Codepoint::Cancelled | Codepoint::Negative => 3,
            Codepoint::Credit => 4,
            Codepoint::ReEcho => 5,
        }
    }

    /// The codepoint after a mark; `None`: not markable, to be dropped. RE stays. To a queue of RFC 3168 a
    /// Credit is not ECN-capable. `credit_is_capable` is for re-ECN queues where credits are rate-limited
    /// (section 5.3 of the draft).
    #[inline]
    pub const fn marked(self, credit_is_capable: bool) -> Option<Codepoint> {
        match self {
            Codepoint::NotCapable => None,
            Codepoint::Credit if !credit_is_capable => None,
            Codepoint::Credit | Codepoint::NotMarked | Codepoint::Unused | Codepoint::Negative => {
                Some(Codepoint::Negative)
            }
            Codepoint::ReEcho | Codepoint::Legacy | Codepoint::Cancelled => Some(Codepoint::Cancelled),
        }
    }
}

/// The signals of a ConEx packet, with the names of RFC 7713 section 2.1 and the bits of RFC 7837 section 4.
/// In IPv6 they are independent. In IPv4 ([`Signals::codepoint`]) a packet carries at most one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// ConEx-Capable, and the packet counts (X).
    pub capable: bool,
    /// Re-Echo-Loss (L).
    pub loss: bool,
    /// Re-Echo-ECN (E).
    pub ecn: bool,
    /// Credit (C).
    pub credit: bool,
}

impl Signals {
    /// ConEx-Not-Marked: capable, and none of the three.
    pub const NOT_MARKED: Signals = Signals { capable: true, loss: false, ecn: false, credit: false };
    /// Re-Echo-Loss.
    pub const RE_ECHO_LOSS: Signals = Signals { loss: true, ..Signals::NOT_MARKED };
    /// Re-Echo-ECN.
    pub const RE_ECHO_ECN: Signals = Signals { ecn: true, ..Signals::NOT_MARKED };
    /// Credit.
    pub const CREDIT: Signals = Signals { credit: true, ..Signals::NOT_MARKED };

    /// ConEx-Marked: any of the three (RFC 7713 section 2.1).
    #[inline]
    pub const fn marked(self) -> bool {
        self.capable && (self.loss || self.ecn || self.credit)
    }

    /// How many times its size counts: once for each mark (RFC 7837 section 4).
    #[inline]
    pub const fn weight(self) -> u32 {
        if self.capable { self.loss as u32 + self.ecn as u32 + self.credit as u32 } else { 0 }
    }

    /// The codepoint of IPv4; `None` for two marks on one packet, or a mark on a packet that is not capable: IPv4 has no code for
    /// these. Loss and ECN share a code.
    pub const fn codepoint(self) -> Option<Codepoint> {
        match (self.capable, self.loss || self.ecn, self.credit) {
            (false, false, false) => Some(Codepoint::NotCapable),
            (true, false, false) => Some(Codepoint::NotMarked),
            (true, true, false) if !(self.loss && self.ecn) => Some(Codepoint::ReEcho),
            (true, false, true) => Some(Codepoint::Credit),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (u8, bool, Option<i8>, u8, Option<(u8, bool)>);

    /// Sanhaji et al. 2015, table I with the worths of the draft: ECN, RE, worth, drop preference, after a mark.
    const TABLE: [Row; 8] = [
        (0b00, false, None, 1, None),
        (0b00, true, Some(1), 4, None),
        (0b01, false, Some(1), 5, Some((0b11, false))),
        (0b01, true, Some(0), 3, Some((0b11, true))),
        (0b10, false, None, 2, Some((0b11, false))),
        (0b10, true, None, 2, Some((0b11, true))),
        (0b11, false, Some(0), 3, Some((0b11, false))),
        (0b11, true, Some(-1), 3, Some((0b11, true))),
    ];

    #[test]
    fn the_eight_rows_of_table_i() {
        for (codepoint, (ecn, re, worth, preference, marked)) in CODEPOINTS.into_iter().zip(TABLE) {
            assert_eq!((codepoint.ecn() as u8, codepoint.re()), (ecn, re), "{codepoint:?}");
            assert_eq!(Codepoint::of(codepoint.ecn(), re), codepoint);
            assert_eq!(codepoint.worth(), worth, "{codepoint:?}");
            assert_eq!(codepoint.drop_preference(), preference, "{codepoint:?}");
            let after = codepoint.marked(false).map(|c| (c.ecn() as u8, c.re()));
            assert_eq!(after, marked, "{codepoint:?}");
        }
    }

    #[test]
    fn a_mark_never_touches_re() {
        for codepoint in CODEPOINTS {
            for knows in [false, true] {
                assert!(
                    codepoint.marked(knows).is_none_or(|after| after.re() == codepoint.re()),
                    "{codepoint:?}"
                );
            }
        }
    }

    #[test]
    fn a_queue_that_knows_re_ecn_marks_a_credit_and_makes_it_negative() {
        assert_eq!(Codepoint::Credit.marked(false), None);
        assert_eq!(Codepoint::Credit.marked(true), Some(Codepoint::Negative));
    }

    /// A mark takes one from the worth of what may be marked.
    #[test]
    fn a_mark_costs_one() {
        assert_eq!(Codepoint::ReEcho.marked(false).and_then(Codepoint::worth), Some(0));
        assert_eq!(Codepoint::NotMarked.marked(false).and_then(Codepoint::worth), Some(-1));
    }

    #[test]
    fn all_sixteen_signals_and_their_codes() {
        let mut coded = 0;
        for bits in 0..16u8 {
            let signals = Signals {
                capable: bits & 8 != 0,
                loss: bits & 4 != 0,
                ecn: bits & 2 != 0,
                credit: bits & 1 != 0,
            };
            let marks = u32::from(bits & 7).count_ones();
            assert_eq!(signals.weight(), if signals.capable { marks } else { 0 });
            assert_eq!(signals.marked(), signals.capable && marks > 0);
            let expected = match bits {
                0b0000 => Some(Codepoint::NotCapable),
                0b1000 => Some(Codepoint::NotMarked),
                0b1100 | 0b1010 => Some(Codepoint::ReEcho),
                0b1001 => Some(Codepoint::Credit),
                _ => None,
            };
            assert_eq!(signals.codepoint(), expected, "{signals:?}");
            coded += u32::from(expected.is_some());
        }
        assert_eq!(coded, 5);
    }
}
