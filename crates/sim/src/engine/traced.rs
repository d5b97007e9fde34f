//! Records events of packets of traced flows.

use evenflow_base::{Options, Packet, Reason, Time};

use super::Engine;
use crate::RunError;
use crate::network::{Flow, Hop};
use crate::probe::Probes;
use crate::slots::Slots;
use crate::trace::{Action, Place};

impl Engine<'_> {
    /// A packet meets a tap on its way.
    #[cold]
    pub(super) fn tap(&mut self, hop: Hop, packet: &Packet, now: Time) {
        match hop {
            Hop::TapPort(port) => self.trace_at_port(port, Action::Arrive, None, packet, now),
            Hop::TapReceive => self.trace(Place::END, Action::Receive, None, packet, now),
            _ => self.trace(Place::END, Action::Send, None, packet, now),
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

    /// See [`trace`].
    pub(super) fn trace(
        &mut self,
        place: Place,
        action: Action,
        reason: Option<Reason>,
        packet: &Packet,
        now: Time,
    ) {
        let (flows, slots) = (&self.net.flows, &self.net.slots);
        let added = trace(&mut self.probes, flows, slots, &self.options, place, action, reason, packet, now);
        if let Err(why) = added {
            self.halt(why);
        }
    }
}

/// Something happens to a packet: a row, if its flow is traced. Packets that stages have made are no flow's.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "a row has many columns")]
pub(super) fn trace(
    probes: &mut Probes,
    flows: &[Flow],
    slots: &Slots,
    options: &Options,
    place: Place,
    action: Action,
    reason: Option<Reason>,
    packet: &Packet,
    now: Time,
) -> Result<(), RunError> {
    let Some(trace) = &mut probes.trace else { return Ok(()) };
    let opened = packet.flow >= slots.first();
    let chosen = match opened {
        true => &trace.hosts[flows[packet.flow as usize].host as usize],
        false => &trace.flows[packet.flow as usize],
    };
    match *chosen && !packet.is_of_stage() {
        true => trace.add(now, slots.id(packet.flow), place, action, reason, packet, options),
        false => Ok(()),
    }
}
