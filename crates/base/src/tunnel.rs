//! The ECN field at the ends of a tunnel: RFC 6040 figures 3 and 4, its predecessors (RFC 3168 section 9.1.1,
//! RFC 4301 section 5.1.2.1), and Zhang et al. 2011, section 2.2.

use crate::Ecn;

crate::words! {
    /// Rules for the ends of a tunnel.
    pub enum Rules {
        /// RFC 6040, normal mode.
        Rfc6040 = "rfc6040",
        /// RFC 6040, compatibility mode at the ingress: for an egress that is not known to pass marks on. The egress is the same.
        Rfc6040Compatibility = "rfc6040-compatibility",
        /// RFC 3168 section 9.1.1, full functionality.
        Rfc3168 = "rfc3168",
        /// RFC 4301 section 5.1.2.1 (IPsec).
        Rfc4301 = "rfc4301",
        /// Zhang et al. 2011: the outer header is always ECN-capable, and the egress keeps marks from packets that are not.
        Paper = "paper",
    }
}

/// The four values of the field, in the order of the figures of RFC 6040.
pub const FIELDS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Congestion];

/// RFC 6040 section 4.2's class of a pair of inner and outer field that correct senders and queues do not
/// produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The pair is in use.
    None,
    /// Currently unused, and possibly dangerous.
    PossiblyDangerous,
    /// Currently unused, and always potentially dangerous.
    Dangerous,
}

/// The outer field that an ingress writes around a packet whose own field is `inner`, which stays as it is.
#[inline]
pub const fn encapsulate(rules: Rules, inner: Ecn) -> Ecn {
    match (rules, inner) {
        (Rules::Rfc6040 | Rules::Rfc4301, same) => same,
        (Rules::Rfc6040Compatibility, _) => Ecn::NotCapable,
        // RFC 3168 section 9.1.1: a mark stays inside, so that the egress sees those of the tunnel alone.
        (Rules::Rfc3168, Ecn::Congestion) => Ecn::Capable0,
        (Rules::Rfc3168, same) => same,
        (Rules::Paper, Ecn::Capable0) => Ecn::Capable0,
        // Re-ECN's outer header uses ECT(1) (the paper says only "ECN-capable").
        (Rules::Paper, _) => Ecn::Capable1,
    }
}

/// The field of the packet that leaves the tunnel; `None`: it is dropped.
#[inline]
pub const fn decapsulate(rules: Rules, inner: Ecn, outer: Ecn) -> Option<Ecn> {
    match (inner, outer) {
        (Ecn::NotCapable, Ecn::Congestion) => match rules {
            // RFC 6040 figure 4: the mark would be lost otherwise.
            Rules::Rfc6040 | Rules::Rfc6040Compatibility | Rules::Rfc3168 => None,
            Rules::Rfc4301 | Rules::Paper => Some(Ecn::NotCapable),
        },
        (Ecn::NotCapable, _) => Some(Ecn::NotCapable),
        (_, Ecn::Congestion) => Some(Ecn::Congestion),
        // RFC 6040: of two capable fields the more severe one goes on.
        (Ecn::Capable0, Ecn::Capable1) if matches!(rules, Rules::Rfc6040 | Rules::Rfc6040Compatibility) => {
            Some(Ecn::Capable1)
        }
        (same, _) => Some(same),
    }
}

/// Whether RFC 6040 figure 4 calls this pair currently unused; such pairs are counted, and should be logged.
#[inline]
pub const fn alarm(inner: Ecn, outer: Ecn) -> Alarm {
    match (inner, outer) {
        (Ecn::NotCapable, Ecn::Capable0 | Ecn::Capable1 | Ecn::Congestion)
        | (Ecn::Congestion, Ecn::Capable1) => Alarm::Dangerous,
        (Ecn::Capable1, Ecn::Capable0) => Alarm::PossiblyDangerous,
        _ => Alarm::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: Ecn = Ecn::NotCapable;
    const ZERO: Ecn = Ecn::Capable0;
    const ONE: Ecn = Ecn::Capable1;
    const CE: Ecn = Ecn::Congestion;

    /// RFC 6040 figures 1 and 3; the last line is Zhang et al. 2011.
    #[test]
    fn outer_fields_at_the_ingress() {
        let rows = [
            (Rules::Rfc6040, [N, ZERO, ONE, CE]),
            (Rules::Rfc6040Compatibility, [N, N, N, N]),
            (Rules::Rfc3168, [N, ZERO, ONE, ZERO]),
            (Rules::Rfc4301, [N, ZERO, ONE, CE]),
            (Rules::Paper, [ONE, ZERO, ONE, ONE]),
        ];
        for (rules, outer) in rows {
            assert_eq!(FIELDS.map(|inner| encapsulate(rules, inner)), outer, "{rules:?}");
        }
    }

    /// RFC 6040 figure 4, row by row (inner), the outer field across.
    #[test]
    fn the_sixteen_pairs_of_rfc_6040() {
        let table = [
            [Some(N), Some(N), Some(N), None],
            [Some(ZERO), Some(ZERO), Some(ONE), Some(CE)],
            [Some(ONE), Some(ONE), Some(ONE), Some(CE)],
            [Some(CE), Some(CE), Some(CE), Some(CE)],
        ];
        for rules in [Rules::Rfc6040, Rules::Rfc6040Compatibility] {
            for (inner, row) in FIELDS.into_iter().zip(table) {
                assert_eq!(FIELDS.map(|outer| decapsulate(rules, inner, outer)), row, "{inner:?}");
            }
        }
    }

    /// RFC 6040 figure 2: what the rules before it did. They differ in a mark on a packet that is not capable.
    #[test]
    fn the_sixteen_pairs_of_older_rules() {
        for (rules, unreadable) in
            [(Rules::Rfc3168, None), (Rules::Rfc4301, Some(N)), (Rules::Paper, Some(N))]
        {
            let table = [
                [Some(N), Some(N), Some(N), unreadable],
                [Some(ZERO), Some(ZERO), Some(ZERO), Some(CE)],
                [Some(ONE), Some(ONE), Some(ONE), Some(CE)],
                [Some(CE), Some(CE), Some(CE), Some(CE)],
            ];
            for (inner, row) in FIELDS.into_iter().zip(table) {
                assert_eq!(FIELDS.map(|outer| decapsulate(rules, inner, outer)), row, "{rules:?} {inner:?}");
            }
        }
    }

    #[test]
    fn the_pairs_that_rfc_6040_calls_unused() {
        let all = FIELDS.into_iter().flat_map(|inner| FIELDS.map(|outer| (inner, outer)));
        let of = |wanted| all.clone().filter(move |&(inner, outer)| alarm(inner, outer) == wanted);
        assert!(of(Alarm::Dangerous).eq([(N, ZERO), (N, ONE), (N, CE), (CE, ONE)]));
        assert!(of(Alarm::PossiblyDangerous).eq([(ONE, ZERO)]));
    }

    /// RFC 6040 section 4: in normal mode a tunnel without congestion changes no field.
    #[test]
    fn a_tunnel_of_rfc_6040_is_transparent() {
        for field in FIELDS {
            assert_eq!(decapsulate(Rules::Rfc6040, field, encapsulate(Rules::Rfc6040, field)), Some(field));
        }
    }

    /// A mark inside the tunnel reaches the receiver where both headers could carry it, and where one could not, either
    /// the packet is dropped or the mark is lost: which one is the whole difference between the rules.
    #[test]
    fn a_mark_made_inside_the_tunnel() {
        for name in Rules::WORDS {
            let rules = Rules::of(name);
            for inner in [ZERO, ONE, CE] {
                if encapsulate(rules, inner) != N {
                    assert_eq!(decapsulate(rules, inner, CE), Some(CE), "{name}");
                }
            }
        }
    }
}
