//! Congestion meter: estimates the congestion upstream and downstream of one point from the headers
//! (draft-briscoe-tsvwg-re-ecn-tcp-08 section 3 and appendix A; Zhang et al. 2011 section II).
//!
//! The share of declarations is the congestion of the whole path. The share of marks is that upstream. The
//! difference is that downstream. `per` gives accounts of users or flows.

use evenflow_base::schema::{Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Codepoint, Packet};

use crate::station::{Cx, Kind, Owner, Pass, Reads, Station};

/// Congestion of the rest of the path, of which `path` is that of all and `upstream` that of the part behind: 1 - (1 - p) / (1 - u).
#[inline]
pub fn downstream(path: f64, upstream: f64) -> f64 {
    1.0 - (1.0 - path) / (1.0 - upstream)
}

/// The meter.
#[derive(Clone, Debug, Default)]
pub struct CongestionMeter {
    /// Bytes and packets by codepoint: credit, Re-Echo, not marked, cancelled, negative, and what is not re-ECN.
    bytes: [u64; 6],
    packets: [u64; 6],
}

const CREDIT: usize = 0;
const RE_ECHO: usize = 1;
const CANCELLED: usize = 3;
const NEGATIVE: usize = 4;
const OTHER: usize = 5;
const POSITIVE: &[usize] = &[RE_ECHO, CANCELLED];
const MARKED: &[usize] = &[CANCELLED, NEGATIVE];

impl CongestionMeter {
    fn bytes(&self, which: usize) -> f64 {
        self.bytes[which] as f64
    }

    fn downstream(&self) -> Option<f64> {
        let (path, upstream) = (self.share(POSITIVE)?, self.share(MARKED)?);
        (upstream < 1.0).then(|| downstream(path, upstream))
    }

    fn share(&self, which: &[usize]) -> Option<f64> {
        // Credit says nothing of the path (draft section 3), and is in no share.
        let all: u64 = self.bytes[RE_ECHO..OTHER].iter().sum();
        let some: u64 = which.iter().map(|which| self.bytes[*which]).sum();
        (all > 0).then(|| some as f64 / all as f64)
    }
}

impl Station for CongestionMeter {
    fn forward(&mut self, packet: &mut Packet, _cx: &mut Cx) -> Pass {
        let which = match packet.codepoint() {
            Codepoint::Credit => CREDIT,
            Codepoint::ReEcho => RE_ECHO,
            Codepoint::NotMarked => 2,
            Codepoint::Cancelled => CANCELLED,
            Codepoint::Negative => NEGATIVE,
            Codepoint::NotCapable | Codepoint::Legacy | Codepoint::Unused => OTHER,
        };
        self.packets[which] += 1;
        self.bytes[which] += u64::from(packet.size);
        Pass::On
    }
}

impl Kind for CongestionMeter {
    fn build(_values: &Values, _owner: Owner) -> Result<CongestionMeter, Vec<Problem>> {
        Ok(CongestionMeter::default())
    }

    fn reads(_values: &Values) -> Option<Reads> {
        Some(Reads { ipv6: false, either: false })
    }
}

observables! {
    CongestionMeter: meter, _now;
    worth: "B",
        "Bytes of positive packets and credit minus bytes of negative packets: declarations beyond the \
        congestion met so far." => meter.bytes(CREDIT) + meter.bytes(RE_ECHO) - meter.bytes(NEGATIVE);
    balance: "B", "The balance without credit." => meter.bytes(RE_ECHO) - meter.bytes(NEGATIVE);
    positive_fraction: "1",
        "Share of bytes with RE = 0 among re-ECN bytes without credit; null without such bytes."
        => meter.share(POSITIVE);
    negative_fraction: "1", "Share of marked bytes, cancelled packets included; null without bytes."
        => meter.share(MARKED);
    path_congestion: "1", "Declared congestion of the whole path: the positive fraction."
        => meter.share(POSITIVE);
    upstream_congestion: "1", "Upstream congestion, between sender and meter: the negative fraction."
        => meter.share(MARKED);
    downstream_congestion: "1",
        "Downstream congestion, between meter and receiver: 1 - (1 - p) / (1 - u). Negative if too little is \
        declared."
        => meter.downstream();
    congestion_volume: "B", "Bytes of reports." => meter.bytes(RE_ECHO) + meter.bytes(CANCELLED);
    marked_volume: "B", "Bytes of marked packets." => meter.bytes(CANCELLED) + meter.bytes(NEGATIVE);
    credits: "packets", "Packets of credit (FNE)." => meter.packets[CREDIT];
    positive: "packets", "Re-Echo packets." => meter.packets[RE_ECHO];
    neutral: "packets", "Packets RECT." => meter.packets[2];
    cancelled: "packets", "Packets CE(0): marked reports." => meter.packets[CANCELLED];
    negative: "packets", "Packets CE(-1)." => meter.packets[NEGATIVE];
    others: "packets", "Packets without re-ECN." => meter.packets[OTHER];
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "congestion-meter",
    traits: Traits { accounts: true, ..Mechanism::PLAIN },
    title: "Congestion meter",
    example: r#"groups.users.path = ["bottleneck", "meter"]

[stages.meter]
kind = "congestion-meter"
per = "user""#,
    doc: "Reads the codes of re-ECN and ConEx over IPv4. It reports the declared congestion of the whole \
          path, of the part before the meter (upstream), and of the part after it (downstream). Place it \
          anywhere on a path. per = \"user\" or \"flow\" keeps separate accounts. It changes nothing.",
    source: "draft-briscoe-tsvwg-re-ecn-tcp-08 section 3 and appendix A; Zhang et al. 2011 section II",
    observables: CongestionMeter::OBSERVABLES,
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stepper;
    use evenflow_base::Time;

    /// Dossier 2.18: 19 positive, 1 cancelled, 49 negative and 931 neutral packets: pi 0.020, nu 0.050, and a balance of -30.
    #[test]
    fn golden_fractions() {
        let mut meter = CongestionMeter::default();
        let mut by_hand = Stepper::new(1);
        let all = [
            (Codepoint::ReEcho, 19),
            (Codepoint::Cancelled, 1),
            (Codepoint::Negative, 49),
            (Codepoint::NotMarked, 931),
            (Codepoint::Credit, 2),
            (Codepoint::Legacy, 5),
        ];
        for (code, times) in all {
            for _ in 0..times {
                let mut packet = Packet::new(0, 1000, 960).with_ecn(code.ecn());
                packet.set_re(code.re());
                assert_eq!(meter.forward(&mut packet, &mut by_hand.cx(Time::ZERO)), Pass::On);
            }
        }
        let seen = |name| meter.observe(name, Time::ZERO);
        assert_eq!((seen("positive_fraction"), seen("negative_fraction")), (Some(0.020), Some(0.050)));
        assert_eq!((seen("balance"), seen("worth")), (Some(-30_000.0), Some(-28_000.0)));
        assert_eq!((seen("congestion_volume"), seen("marked_volume")), (Some(20_000.0), Some(50_000.0)));
        assert_eq!((seen("credits"), seen("others"), seen("neutral")), (Some(2.0), Some(5.0), Some(931.0)));
        assert!(seen("downstream_congestion").is_some_and(|v| v < 0.0), "it declares too little");
    }

    /// Dossier 2.18: p = 0.0298 and u = 0.01 leave 0.0200; several queues compose as 1 - (1 - a)(1 - b).
    #[test]
    fn what_is_left_of_the_path() {
        assert!((downstream(0.0298, 0.01) - 0.02).abs() < 1e-12);
        assert_eq!(CongestionMeter::default().observe("downstream_congestion", Time::ZERO), None);
    }
}
