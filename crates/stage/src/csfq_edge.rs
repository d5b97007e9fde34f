//! The edge of core-stateless fair queueing: labels each packet with the rate of its aggregate (Stoica, Shenker, Zhang
//! 1998, equation 3; 2003).
//!
//! The label is an exponential average whose constant is the gap itself, so it does not depend on packet sizes. One edge
//! a *user*, not a flow, in Menth and Zeitler's use. A weight divides the label. The core is queue `csfq`.

use evenflow_base::schema::{Deviation, Mechanism, Problem, Room, Traits, Values};
use evenflow_base::{Duration, Packet, Time};

use crate::station::{Cx, Kind, Owner, Pass, Station};

/// The edge and its state.
#[derive(Clone, Copy, Debug)]
pub struct CsfqEdge {
    /// The time constant of the estimate.
    memory: Duration,
    weight: f64,
    /// r_i, bit/s.
    rate: f64,
    /// t_i; `None` before the first packet.
    last: Option<Time>,
    /// Bits that came at the very instant of the last packet.
    pending: f64,
}

impl CsfqEdge {
    /// An edge that has seen nothing.
    pub fn new(memory: Duration, weight: f64) -> CsfqEdge {
        CsfqEdge { memory, weight, rate: 0.0, last: None, pending: 0.0 }
    }

    /// r_i / w_i, bit/s.
    pub fn label(&self) -> f64 {
        self.rate / self.weight
    }
}

impl Station for CsfqEdge {
    /// Updates the estimate and writes it into the packet. The first packet's gap counts from the start of the run.
    #[inline]
    fn forward(&mut self, packet: &mut Packet, cx: &mut Cx) -> Pass {
        let now = cx.now;
        let gap = now.since(self.last.unwrap_or(Time::ZERO)).seconds();
        self.pending += f64::from(packet.size) * 8.0;
        if gap > 0.0 {
            let keep = libm::exp(-gap / self.memory.seconds());
            self.rate = (1.0 - keep) * self.pending / gap + keep * self.rate;
            self.pending = 0.0;
            self.last = Some(now);
        }
        packet.label = self.label();
        Pass::On
    }
}

impl Kind for CsfqEdge {
    fn build(values: &Values, owner: Owner) -> Result<CsfqEdge, Vec<Problem>> {
        Ok(CsfqEdge::new(Given::read(values).memory, owner.weight))
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Copy, Debug)]
    pub struct Given {
        /// Averaging constant (K).
        memory: Duration = Duration, Text("100 ms"), Range::POSITIVE
            => source: "Menth and Zeitler 2018, section V-A";
    }
}

observables! {
    CsfqEdge: edge, _now;
    label: "bit/s", "Label of the last packet." => edge.label();
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "csfq-edge",
    traits: Traits { labels: true, ..Mechanism::PLAIN },
    title: "Edge of core-stateless fair queueing",
    example: r#"groups.users.path = ["edge", "bottleneck"]
links.bottleneck.queue = { kind = "csfq", limit = "24 packets" }

[stages.edge]
kind = "csfq-edge"
per = "user"
memory = "100 ms""#,
    doc: "Writes the estimated rate of the aggregate, divided by its weight, into each packet as its label.",
    source: "Stoica, Shenker, Zhang 1998, equation 3",
    params: Given::PARAMS,
    observables: CsfqEdge::OBSERVABLES,
    deviations: &[Deviation {
        what: "Packets at the same instant as an aggregate's first packet get the label 0 and are never \
               dropped at random. In the authors' program they get half the core's accepted rate.",
        why: "The edge does not know the core. Only one instant of a run is affected.",
    }],
    ..Mechanism::of(Room::Stage)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stepper;
    use evenflow_base::ip;

    fn pass(edge: &mut CsfqEdge, now: u64) -> f64 {
        let mut p = Packet { ip: ip::DATAGRAM, ..Packet::new(0, 1500, 1470) };
        edge.forward(&mut p, &mut Stepper::new(1).cx(Time(now)));
        p.label
    }

    fn edge(weight: f64) -> CsfqEdge {
        CsfqEdge::new(Duration::from_millis(100), weight)
    }

    #[test]
    fn the_estimate_by_hand() {
        let mut e = edge(1.0);
        // First packet after 0.1 s, one memory: (1 - 1/e) * 12000 / 0.1.
        let first = (1.0 - libm::exp(-1.0)) * 120_000.0;
        assert!((pass(&mut e, 100_000_000) - first).abs() < 1e-9);
        let second = (1.0 - libm::exp(-0.5)) * 240_000.0 + libm::exp(-0.5) * first;
        assert!((pass(&mut e, 150_000_000) - second).abs() < 1e-9);
    }

    #[test]
    fn packets_at_one_instant_count_with_the_next() {
        let mut a = edge(1.0);
        pass(&mut a, 100_000_000);
        let label = pass(&mut a, 100_000_000);
        assert_eq!(label, a.label());
        let keep = libm::exp(-1.0);
        let expected = (1.0 - keep) * 24_000.0 / 0.1 + keep * label;
        assert!((pass(&mut a, 200_000_000) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_weight_divides_the_label() {
        let (mut one, mut four) = (edge(1.0), edge(4.0));
        assert!((pass(&mut one, 100_000_000) - 4.0 * pass(&mut four, 100_000_000)).abs() < 1e-9);
    }
}
