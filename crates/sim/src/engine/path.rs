//! The path of a packet: from its host over links and stages to its end, by the shortcut of a lazy FIFO or by
//! events.

use std::cmp::Reverse;

use evenflow_base::{Carried, Options, Packet, Reason, Time, Verdict};
use evenflow_link::{Account, Link, Surroundings};
use evenflow_queue::{FlowTable, Setting};

use super::traced::trace;
use super::{Engine, LANES};
use crate::RunError;
use crate::events::{Heads, Lane, Rank, key};
use crate::network::{Flow, Hop, Host};
use crate::port::{Port, Select};
use crate::probe::{Happening, Probes};
use crate::slots::Slots;
use crate::trace::{Action, Place};

impl Engine<'_> {
    /// A packet asks for a link. Gives the link's lane and the packet's arrival at the far end, if that is known by now.
    /// The packet counts as delivered where the next hop is `folded`.
    #[inline(always)]
    pub(super) fn cross(
        &mut self,
        index: u32,
        folded: bool,
        packet: &mut Packet,
        now: Time,
    ) -> Option<(u32, Time)> {
        let port = &mut self.net.ports[index as usize];
        if !self.probes.watches_ports {
            let side = &mut self.net.sides[port.side as usize];
            if let Some(arrival) = port.link.pass(packet, now, Account { side, window: &self.net.window }) {
                side.all_delivered += u64::from(folded);
                return Some((port.side, arrival));
            }
        }
        let crossed = self.offer(index, packet, now);
        if let Some((side, _)) = crossed {
            self.net.sides[side as usize].all_delivered += u64::from(folded);
        }
        crossed
    }

    /// The same for a link that may need its surroundings. Apart, so that others do not pay for them.
    #[inline(never)]
    fn offer(&mut self, index: u32, packet: &mut Packet, now: Time) -> Option<(u32, Time)> {
        let watched = self.probes.watches_ports;
        let (link, side, account, around) = self.link(index);
        match link.offer(packet, now, account, watched, around) {
            Some(arrival) => Some((side, arrival)),
            None => {
                self.after_service(index);
                None
            }
        }
    }

    /// A link with its account and its surroundings, and its side.
    #[inline(always)]
    fn link<'b>(&'b mut self, index: u32) -> (&'b mut Link, u32, Account<'b>, impl FnOnce() -> Around<'b>) {
        let Port { link, side, copy, select, .. } = &mut self.net.ports[index as usize];
        let (side, copy, select) = (*side, *copy, &*select);
        let account = Account { side: &mut self.net.sides[side as usize], window: &self.net.window };
        let (flows, slots, lanes) = (&self.net.flows, &self.net.slots, &mut self.net.lanes);
        let (hosts, dscp) = (&self.net.hosts, &self.dscp);
        let (options, probes) = (&mut self.options, &mut self.probes);
        let (heads, gone, served) = (&mut self.heads, &mut self.gone, &mut self.served);
        let routes = &self.net.routes;
        let (halted, end) = (&mut self.halted, &mut self.end);
        let around = once(move || {
            let lane = &mut lanes[side as usize];
            Around {
                port: index,
                side,
                copy,
                select,
                flows,
                slots,
                hosts,
                dscp,
                options,
                probes,
                lane,
                heads,
                gone,
                routes,
                served,
                halted,
                end,
            }
        });
        (link, side, account, around)
    }

    /// Makes the decisions of a link that are due by `now`.
    pub(super) fn catch_up(&mut self, index: u32, now: Time) {
        let (link, _, account, around) = self.link(index);
        if link.due() <= now {
            link.catch_up(now, account, &mut around());
            self.after_service(index);
        }
    }

    /// Makes the decisions of all links that are due by `now`: before something reads them.
    pub(super) fn catch_up_all(&mut self, now: Time) {
        for index in 0..self.net.ports.len() as u32 {
            self.catch_up(index, now);
        }
    }

    /// Changes a setting of a link at `now`, where a stage says so.
    pub(super) fn set(&mut self, index: u32, setting: Setting, now: Time) {
        let (link, _, account, around) = self.link(index);
        link.set(setting, now, account, &mut around());
        self.after_service(index);
    }

    /// After a link has made decisions: takes leave of what it dropped, and sees to it that it is asked again in time.
    #[inline]
    fn after_service(&mut self, index: u32) {
        if !self.gone.is_empty() {
            self.bury(index);
        }
        if !self.served.is_empty() {
            self.hand_over(index);
        }
        let port = &mut self.net.ports[index as usize];
        let at = port.next(self.eager);
        if at < port.alarm {
            port.alarm = at;
            let key = key(at, Rank::Service, 0, index);
            self.services.push(Reverse((key, index)));
            self.advance_agenda(key);
        }
    }

    /// Links whose settings change by themselves must be asked then.
    pub(super) fn set_alarms(&mut self) {
        (0..self.net.ports.len() as u32).for_each(|index| self.after_service(index));
    }

    /// A link's alarm goes off.
    pub(super) fn service(&mut self, now: Time) {
        let Some(Reverse((_, index))) = self.services.pop() else { return };
        let port = &mut self.net.ports[index as usize];
        if port.alarm != now {
            return;
        }
        port.alarm = Time::NEVER;
        // An alarm may go off early: the decision that it was for has been made.
        match port.next(self.eager) <= now {
            true => self.catch_up(index, now),
            false => self.after_service(index),
        }
    }

    /// Packets that a link has served reach the next hop, which is folded.
    #[inline(never)]
    fn hand_over(&mut self, index: u32) {
        let lane = self.net.ports[index as usize].side;
        if self.served.len() == 1
            && let Some((packet, arrival)) = self.served.pop()
        {
            return self.hand_on(lane, packet, arrival);
        }
        let mut served = std::mem::take(&mut self.served);
        for (packet, arrival) in served.drain(..) {
            self.hand_on(lane, packet, arrival);
        }
        self.served = served;
    }

    /// One of them.
    #[inline(always)]
    fn hand_on(&mut self, lane: u32, mut packet: Packet, arrival: Time) {
        let info = self.net.flows[packet.flow as usize];
        if arrival > self.fence {
            self.hold(lane, key(arrival, Rank::Arrival, lane, info.tie), &packet);
        } else {
            self.net.sides[lane as usize].all_delivered += 1;
            if self.probes.watches_links {
                self.delivered(&packet, arrival);
            }
            self.enter(&mut packet, &info, arrival);
        }
    }

    /// Packets that a link has dropped leave the network.
    #[inline(never)]
    fn bury(&mut self, index: u32) {
        let mut gone = std::mem::take(&mut self.gone);
        for Gone { packet, reason, waiting, at } in gone.drain(..) {
            self.drop_at_port(index, &packet, reason, waiting, at);
        }
        self.gone = gone;
    }

    /// A packet that was lost at random would arrive now.
    #[inline(never)]
    pub(super) fn arrive_lost(&mut self, packet: &Packet, now: Time) {
        let index = self.options.of(packet).lost_at;
        let port = &mut self.net.ports[index as usize];
        let side = &mut self.net.sides[port.side as usize];
        side.all_delivered -= 1;
        let account = Account { side, window: &self.net.window };
        port.link.wire.count_drop(packet.class, Reason::Loss, now, account);
        self.drop_at_port(index, packet, Reason::Loss, 0, now);
    }

    /// A packet was dropped at a port, while `waiting` others were in the queue.
    #[inline(never)]
    fn drop_at_port(&mut self, index: u32, packet: &Packet, reason: Reason, waiting: u32, now: Time) {
        let inside = self.net.window.holds(now);
        if self.probes.watches_drops {
            let flow = self.net.slots.id(packet.flow);
            let component = self.net.ports[index as usize].side;
            let drop = Happening { time: now, flow, component, code: reason as u8 };
            let met = (inside && reason != Reason::Loss).then_some(waiting);
            self.probes.dropped(drop, met);
            self.trace_at_port(index, Action::Drop, Some(reason), packet, now);
        }
        self.discard(packet, inside);
    }

    /// A packet is gone, `inside` the window or not: gives back what it carries, and counts it where it was its flow's data.
    pub(super) fn discard(&mut self, packet: &Packet, inside: bool) {
        self.options.discard(packet);
        if packet.is_of_stage() {
            self.forget_message(packet);
        }
        self.net.counters[packet.flow as usize].losses += u64::from(inside && packet.is_data());
        if packet.flow >= self.net.slots.first() {
            self.packet_gone(packet.flow);
        }
    }
}

/// A packet that a link has dropped, to be taken out of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gone {
    packet: Packet,
    reason: Reason,
    /// Packets in the queue then.
    waiting: u32,
    at: Time,
}

/// The surroundings of a link in a run.
struct Around<'a> {
    port: u32,
    side: u32,
    copy: u32,
    select: &'a Select,
    flows: &'a Vec<Flow>,
    slots: &'a Slots,
    hosts: &'a Vec<Host>,
    dscp: &'a Vec<u8>,
    options: &'a mut Options,
    probes: &'a mut Probes,
    lane: &'a mut Lane,
    heads: &'a mut Heads,
    gone: &'a mut Vec<Gone>,
    routes: &'a Vec<Hop>,
    served: &'a mut Vec<(Packet, Time)>,
    halted: &'a mut Option<RunError>,
    end: &'a mut Time,
}

/// Nothing but a link that needs its surroundings pays for them.
fn once<'a, F: FnOnce() -> Around<'a>>(make: F) -> F {
    make
}

impl Around<'_> {
    fn trace_mark(&mut self, packet: &Packet, reason: Reason, now: Time) {
        let place = Place { component: self.side, copy: self.copy };
        let added = trace(
            self.probes,
            self.flows,
            self.slots,
            self.options,
            place,
            Action::Mark,
            Some(reason),
            packet,
            now,
        );
        if let Err(why) = added {
            self.halted.get_or_insert(why);
            *self.end = Time::ZERO;
        }
    }
}

impl FlowTable for Around<'_> {
    /// Users have hosts; what they talk to is a host for each group.
    fn hosts(&self, packet: &Packet) -> (u32, u32) {
        let user = self.flows[packet.flow as usize].host;
        let other = u32::MAX - self.hosts[user as usize].group;
        if packet.is_backward() { (other, user) } else { (user, other) }
    }

    fn dscp(&self, packet: &Packet) -> u8 {
        self.flows[packet.flow as usize].dscp.unwrap_or_else(|| self.dscp[usize::from(packet.class)])
    }

    fn options(&self, packet: &Packet) -> &Carried {
        self.options.of(packet)
    }
}

impl Surroundings for Around<'_> {
    #[inline]
    fn watches(&self) -> bool {
        self.probes.watches_ports
    }

    #[inline]
    fn key(&self, packet: &Packet) -> usize {
        self.select.key(packet, self.slots)
    }

    #[inline]
    fn opened(&self, packet: &Packet) -> Option<u32> {
        (packet.flow >= self.slots.first()).then(|| self.slots.key(packet.flow))
    }

    #[cold]
    fn decided(
        &mut self,
        packet: &Packet,
        verdict: Verdict,
        observe: &dyn Fn(Option<u32>, &str) -> Option<f64>,
        now: Time,
    ) {
        let named = (packet, self.slots.id(packet.flow));
        self.probes.at_port(self.side, self.copy, observe, named, verdict, now);
        if let Verdict::Mark(reason) = verdict {
            self.trace_mark(packet, reason, now);
        }
    }

    #[cold]
    fn marked(&mut self, packet: &Packet, reason: Reason, now: Time) {
        let flow = self.slots.id(packet.flow);
        self.probes.marked(Happening { time: now, flow, component: self.side, code: reason as u8 });
        self.trace_mark(packet, reason, now);
    }

    /// From here on the packet's route leads to `Hop::Discard`.
    fn lose(&mut self, packet: &mut Packet) {
        packet.hop = self.flows[packet.flow as usize].discard;
        self.options.attach(packet).lost_at = self.port;
        if !self.probes.losses.is_empty() {
            self.probes.lost.push((self.port, self.slots.id(packet.flow)));
        }
    }

    fn dropped(&mut self, packet: &Packet, reason: Reason, waiting: u32, now: Time) {
        self.gone.push(Gone { packet: *packet, reason, waiting, at: now });
    }

    #[inline]
    fn deliver(&mut self, packet: &Packet, arrival: Time) {
        let info = &self.flows[packet.flow as usize];
        let at = info.route as usize + usize::from(packet.hop);
        if let Hop::Port { folded: true, .. } = self.routes[at - 1] {
            return self.served.push((*packet, arrival));
        }
        let key = key(arrival, Rank::Arrival, self.side, info.tie);
        if self.lane.push(key, packet) {
            self.heads.set(LANES + self.side, key);
        }
    }
}
