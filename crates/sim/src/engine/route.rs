//! The walk of a packet along its flow's route: from its host over links and stages to its end.

use evenflow_base::{Packet, Time};

use super::{Engine, LANES};
use crate::events::{Key, Rank, key, time_of};
use crate::faults::Invariant;
use crate::network::{Flow, Hop};
use crate::trace::Action;

impl Engine<'_> {
    /// Puts a packet into a lane, out of which it comes at `key`.
    #[inline(always)]
    pub(super) fn fly(&mut self, lane: u32, key: Key, packet: &Packet) {
        if self.net.lanes[lane as usize].push(key, packet) {
            self.heads.set(LANES + lane, key);
        }
    }

    /// Counts the crossing of a packet that arrives within the fence, and holds a packet that arrives later.
    /// Returns whether it may go on.
    #[cold]
    #[inline(never)]
    fn hand_over_watched(&mut self, lane: u32, key: Key, packet: &Packet) -> bool {
        let within = time_of(key) <= self.fence;
        if within {
            self.delivered(packet, time_of(key));
        } else {
            self.net.sides[lane as usize].all_delivered -= 1;
            self.hold(lane, key, packet);
        }
        within
    }

    /// Keeps a packet whose next hop is folded, but lies beyond the fence.
    #[cold]
    #[inline(never)]
    pub(super) fn hold(&mut self, lane: u32, key: Key, packet: &Packet) {
        self.held[lane as usize].push(key, packet);
    }

    /// Moves the fence up to the next look of a probe, and serves the packets that it held. Each goes one hop
    /// at a time, in order of time: it must not overtake one that is held further on.
    pub(super) fn move_fence(&mut self) {
        let fence = self.net.window.to.min(time_of(self.probes.head()));
        loop {
            let heads = (0u32..).zip(&self.held).map(|(lane, held)| (held.head(), lane));
            let Some((next, lane)) = heads.min().filter(|(next, _)| time_of(*next) <= fence) else { break };
            let mut packet = Packet::new(0, 0, 0);
            self.held[lane as usize].take(&mut packet);
            self.net.sides[lane as usize].all_delivered += 1;
            if self.probes.watches_links {
                self.delivered(&packet, time_of(next));
            }
            let info = self.net.flows[packet.flow as usize];
            self.carry(&mut packet, &info, time_of(next));
        }
        self.fence = fence;
        self.unwatched = if self.probes.watches_links { Time::ZERO } else { fence };
    }

    #[inline(always)]
    pub(super) fn arrival(&mut self, lane: u32, now: Time) {
        let mut packet = Packet::new(0, 0, 0);
        let Some(head) = self.net.lanes[lane as usize].take(&mut packet) else {
            return self.halt(Invariant::EmptyLane { lane });
        };
        self.heads.set(LANES + lane, head);
        // The hosts' lane is no link's.
        if let Some(side) = self.net.sides.get_mut(lane as usize) {
            side.all_delivered += 1;
            side.events += 1;
            if self.probes.watches_links {
                self.delivered(&packet, now);
            }
        }
        let info = self.net.flows[packet.flow as usize];
        self.carry(&mut packet, &info, now);
    }

    /// Counts what a port has handed over, where a series or a trace asks for it.
    #[inline(never)]
    pub(super) fn delivered(&mut self, packet: &Packet, now: Time) {
        let info = &self.net.flows[packet.flow as usize];
        if packet.hop == info.discard {
            return;
        }
        let route = info.route as usize + usize::from(packet.hop);
        let Hop::Port { index, .. } = self.net.routes[route - 1] else {
            return self.halt(Invariant::NoPort { flow: packet.flow });
        };
        let port = &mut self.net.ports[index as usize];
        port.link.wire.counters.delivered += 1;
        port.link.wire.counters.delivered_bytes += u64::from(packet.size);
        if self.probes.trace.is_some() {
            self.trace_at_port(index, Action::Leave, None, packet, now);
        }
    }

    /// Takes a packet to the next link on its way, through the stages before it, or to its end.
    #[inline(always)]
    pub(super) fn carry(&mut self, packet: &mut Packet, info: &Flow, mut now: Time) {
        loop {
            let hop = self.net.routes[info.route as usize + usize::from(packet.hop)];
            packet.hop += 1;
            let Hop::Port { index, folded } = hop else {
                match hop {
                    Hop::End(end) => return self.deliver(packet, end, info, now),
                    _ if self.meet(hop, packet, now) => continue,
                    _ => return,
                }
            };
            let Some((lane, arrival)) = self.cross(index, folded, packet, now) else { return };
            let key = key(arrival, Rank::Arrival, lane, info.tie);
            if !folded {
                return self.fly(lane, key, packet);
            }
            if arrival > self.unwatched && !self.hand_over_watched(lane, key, packet) {
                return;
            }
            now = arrival;
        }
    }

    /// A packet meets what is neither a link nor an end. Returns whether it goes on.
    #[inline(always)]
    fn meet(&mut self, hop: Hop, packet: &mut Packet, now: Time) -> bool {
        match hop {
            Hop::Stage { index, way } => return self.pass(index, way, packet, now),
            Hop::TapSend | Hop::TapReceive | Hop::TapPort(_) => {
                self.tap(hop, packet, now);
                return true;
            }
            Hop::Peer(stage) => self.deliver_message(stage, packet, now),
            Hop::Discard => self.arrive_lost(packet, now),
            Hop::Sink => drop(self.end_own(packet)),
            Hop::Port { .. } | Hop::End(_) => return true,
        }
        false
    }

    /// A packet that was just made begins its way.
    #[inline(never)]
    pub(super) fn enter(&mut self, packet: &mut Packet, info: &Flow, now: Time) {
        self.carry(packet, info, now);
    }
}
