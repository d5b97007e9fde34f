//! What happens to packets of traced flows, as it happens.

use evenflow_base::{Packet, Reason, Time};

use super::Engine;
use crate::RunError;
use crate::network::STAGE_INDEX;
use crate::trace::{Action, Place};

impl Engine<'_> {
    /// A packet meets a tap on its way.
    #[cold]
    pub(super) fn tap(&mut self, entry: u32, packet: &Packet, now: Time) {
        match entry & STAGE_INDEX {
            0 => self.trace(Place::END, Action::Send, None, packet, now),
            1 => self.trace(Place::END, Action::Receive, None, packet, now),
            port => self.trace_at_port(port - 2, Action::Arrive, None, packet, now),
        }
    }

    /// Something happens to a packet at a link.
    #[cold]
    pub(super) fn trace_at_port(
        &mut self,
        index: u32,
        action: Action,
        reason: Option<Reason>,
        packet: &Packet,
        now: Time,
    ) {
        let port = &self.net.ports[index as usize];
        self.trace(Place { component: port.side, copy: port.copy }, action, reason, packet, now);
    }

    /// Something happens to a packet: a row, if its flow is traced. Packets that stages have made are no flow's.
    #[cold]
    #[inline(never)]
    pub(super) fn trace(
        &mut self,
        place: Place,
        action: Action,
        reason: Option<Reason>,
        packet: &Packet,
        now: Time,
    ) {
        let Some(trace) = &mut self.probes.trace else { return };
        let opened = packet.flow >= self.net.slots.first();
        let chosen = match opened {
            true => &trace.hosts[self.net.flows[packet.flow as usize].host as usize],
            false => &trace.flows[packet.flow as usize],
        };
        if *chosen && !packet.is_of_stage() {
            trace.add(now, self.net.slots.id(packet.flow), place, action, reason, packet, &self.options);
        }
    }

    /// Whether the trace has grown too long.
    pub fn trace_fault(&self) -> Result<(), RunError> {
        self.probes
            .trace
            .as_ref()
            .and_then(|trace| trace.fault())
            .map_or(Ok(()), |why| Err(RunError::Trace(why)))
    }
}
