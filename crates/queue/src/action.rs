//! Actions of a marker on the packets it picks (RFC 3168 section 5).

use evenflow_base::params::Key;
use evenflow_base::schema::{Fallback, Param, Range, Values};
use evenflow_base::{Ecn, Packet};

use crate::{Reason, Verdict};

words! {
    /// The action on a picked packet.
    pub enum Action {
        /// It is dropped.
        Drop = "drop",
        /// It is marked if it is ECN-capable, else dropped.
        Mark = "mark",
        /// It is marked if it is ECN-capable, else accepted: only a full buffer drops.
        MarkEverything = "mark-everything",
        /// It is marked if it is ECN-capable or a re-ECN credit (FNE), else dropped.
        MarkReEcn = "mark-re-ecn",
    }
}

impl Action {
    /// Whether the parameter [`ACTION`] is there and asks for marks.
    pub fn marks(values: &Values) -> bool {
        values.at(KEY).is_some_and(|action| action != Action::Drop)
    }

    /// Applies it to a packet picked for `reason`.
    #[inline]
    pub fn apply(self, packet: &mut Packet, reason: Reason) -> Verdict {
        match self {
            Action::Drop => Verdict::Drop(reason),
            Action::Mark | Action::MarkEverything if mark(packet) => Verdict::Mark(reason),
            Action::MarkReEcn if mark_re_ecn(packet) => Verdict::Mark(reason),
            Action::Mark | Action::MarkReEcn => Verdict::Drop(reason),
            Action::MarkEverything => Verdict::Accept,
        }
    }
}

/// Marks a packet if it is ECN-capable and says whether it was. One that is marked already stays so; picking it is a
/// decision of this rule all the same.
#[inline]
pub fn mark(packet: &mut Packet) -> bool {
    let capable = packet.ecn() != Ecn::NotCapable;
    if capable {
        packet.set_ecn(Ecn::Congestion);
    }
    capable
}

/// Like [`mark`] in a queue that knows re-ECN, for which a credit is ECN-capable too. The packet becomes
/// negative: RE stays 1, because only the sender writes it (draft-briscoe-conex-re-ecn-tcp-04 section 5.3).
#[inline]
pub fn mark_re_ecn(packet: &mut Packet) -> bool {
    let after = packet.codepoint().marked(true);
    if let Some(after) = after {
        packet.set_ecn(after.ecn());
    }
    after.is_some()
}

/// The parameter of markers, with its type.
pub const KEY: Key<Action> = Key::new(ACTION);

/// The parameter of markers.
pub const ACTION: Param = Param {
    name: "action",
    ty: Action::TYPE,
    default: Fallback::Text("mark-everything"),
    range: Range::ANY,
    source: "our choice: these rules mark; dropping a SYN would be an artefact",
    doc: "Action on a picked packet. `drop`: drop. `mark`: mark if ECN-capable, else drop. \
          `mark-everything`: mark if ECN-capable, else accept. `mark-re-ecn`: mark if ECN-capable or a \
          re-ECN credit (FNE), else drop; use it only where credits are rate-limited \
          (draft-briscoe-conex-re-ecn-tcp-04 section 5.3).",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ecn: Ecn) -> Packet {
        Packet::new(0, 1500, 1448).with_ecn(ecn)
    }

    /// The draft's section 5.3: FNE becomes CE(-1); what says nothing of ECN and nothing of re-ECN is dropped.
    #[test]
    fn a_queue_that_knows_re_ecn_marks_credit() {
        let after = |ecn, re| {
            let mut packet = packet(ecn);
            packet.set_re(re);
            (Action::MarkReEcn.apply(&mut packet, Reason::Early), packet.ecn(), packet.re())
        };
        let (mark, drop) = (Verdict::Mark(Reason::Early), Verdict::Drop(Reason::Early));
        assert_eq!(after(Ecn::NotCapable, true), (mark, Ecn::Congestion, true));
        assert_eq!(after(Ecn::NotCapable, false), (drop, Ecn::NotCapable, false));
        assert_eq!(after(Ecn::Capable1, true), (mark, Ecn::Congestion, true));
        assert_eq!(after(Ecn::Capable1, false), (mark, Ecn::Congestion, false));
        assert_eq!(after(Ecn::Congestion, false), (mark, Ecn::Congestion, false));
        let mut credit = packet(Ecn::NotCapable);
        credit.set_re(true);
        assert_eq!(Action::Mark.apply(&mut credit, Reason::Early), drop, "one of RFC 3168 does not know it");
    }

    #[test]
    fn every_action_on_every_codepoint() {
        use Ecn::{Capable0, Capable1, Congestion, NotCapable};
        let (drop, mark, pass) =
            (Verdict::Drop(Reason::Early), Verdict::Mark(Reason::Early), Verdict::Accept);
        for (action, ecn, verdict, after) in [
            (Action::Drop, NotCapable, drop, NotCapable),
            (Action::Drop, Capable0, drop, Capable0),
            (Action::Mark, NotCapable, drop, NotCapable),
            (Action::Mark, Capable0, mark, Congestion),
            (Action::Mark, Capable1, mark, Congestion),
            (Action::Mark, Congestion, mark, Congestion),
            (Action::MarkEverything, NotCapable, pass, NotCapable),
            (Action::MarkEverything, Capable0, mark, Congestion),
            (Action::MarkEverything, Congestion, mark, Congestion),
        ] {
            let mut packet = packet(ecn);
            assert_eq!(action.apply(&mut packet, Reason::Early), verdict, "{action:?} on {ecn:?}");
            assert_eq!(packet.ecn(), after, "{action:?} on {ecn:?}");
        }
    }
}
