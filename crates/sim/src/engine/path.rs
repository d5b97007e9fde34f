//! The way of a packet: from its host over links and stages to its end, by the short cut of a lazy FIFO or by events.

use std::cmp::Reverse;

use evenflow_base::{Duration, Ecn, Fine, Options, Packet, Reason, Time, Verdict};
use evenflow_queue::{Dropped, Next, Qdisc, Queued, Setting};

use super::{Engine, LANES, WAKE};
use crate::events::{Key, Rank, key};
use crate::measure::{SideCounters, Window};
use crate::network::{DISCARD, FOLD, Flow, HOSTED, NOBODY, PORT, RECEIVER, SENDER, STAGE};
use crate::port::{Port, Queue};
use crate::probe::Happening;
use crate::trace::Action;

impl Engine<'_> {
    /// Puts a packet into a lane, out of which it comes at `key`.
    #[inline(always)]
    pub(super) fn fly(&mut self, lane: u32, key: Key, packet: &Packet) {
        if self.net.lanes[lane as usize].push(key, packet) {
            self.heads.set(LANES + lane, key);
        }
    }

    #[inline(always)]
    pub(super) fn arrival(&mut self, lane: u32, now: Time) {
        let mut packet = Packet::new(0, 0, 0);
        let Some(head) = self.net.lanes[lane as usize].take(&mut packet) else { return };
        self.heads.set(LANES + lane, head);
        // The hosts' lane is no link's.
        if let Some(side) = self.net.sides.get_mut(lane as usize) {
            side.all_delivered += 1;
            if self.probes.watches_links {
                self.delivered(&packet, now);
            }
        }
        self.carry(&mut packet, now);
    }

    /// Counts what a port has handed over, where a series or a trace asks for it.
    #[inline(never)]
    fn delivered(&mut self, packet: &Packet, now: Time) {
        let info = &self.net.flows[packet.flow as usize];
        if packet.hop == info.discard {
            return;
        }
        let route = info.route as usize + usize::from(packet.hop);
        let index = self.net.routes[route - 1] & PORT;
        let port = &mut self.net.ports[index as usize];
        port.counters.delivered += 1;
        port.counters.delivered_bytes += u64::from(packet.size);
        self.trace_at_port(index, Action::Leave, None, packet, now);
    }

    /// Takes a packet to the next link on its way, through the stages before it, or to its end.
    #[inline(always)]
    pub(super) fn carry(&mut self, packet: &mut Packet, mut now: Time) {
        let info = self.net.flows[packet.flow as usize];
        loop {
            let entry = self.net.routes[info.route as usize + usize::from(packet.hop)];
            packet.hop += 1;
            if entry & STAGE != 0 {
                match entry {
                    RECEIVER => return self.at_receiver(packet, info, now),
                    HOSTED => return self.at_application(packet, info, now),
                    SENDER => return self.at_sender(packet, info, now),
                    DISCARD => return self.arrive_lost(packet, now),
                    NOBODY => {
                        self.end_own(packet);
                        return;
                    }
                    stage => {
                        if !self.pass(stage, packet, now) {
                            return;
                        }
                    }
                }
                continue;
            }
            let Some((lane, arrival)) = self.cross(entry & PORT, packet, now) else { return };
            if entry & FOLD == 0 {
                return self.fly(lane, key(arrival, Rank::Arrival, lane, info.tie), packet);
            }
            let side = &mut self.net.sides[lane as usize];
            side.all_delivered += 1;
            if arrival > self.net.window.to {
                side.ahead += 1;
            }
            now = arrival;
        }
    }

    /// A packet asks for a link. Gives the link's lane and the packet's arrival at the far end, if that is known by now.
    #[inline(always)]
    pub(super) fn cross(&mut self, index: u32, packet: &mut Packet, now: Time) -> Option<(u32, Time)> {
        let port = &mut self.net.ports[index as usize];
        let lane = port.side;
        let side = &mut self.net.sides[lane as usize];
        side.all_offered += 1;
        port.counters.arrived_bytes += u64::from(packet.size);
        let free = port.free_at.ceil();
        match &mut port.queue {
            Queue::Open => {}
            Queue::Fifo(q) if free <= now && q.plain && !self.probes.watches_ports => {}
            Queue::Fifo(q) if q.plain => {
                q.release(now, &self.net.window);
                let verdict = q.gate.ask_plain(packet, free > now);
                if verdict == Verdict::Accept && !self.probes.watches_ports {
                    q.wait(free, packet.size, now, &self.net.window);
                } else if !self.judged(index, packet, verdict, now, free) {
                    return None;
                }
            }
            Queue::Fifo(_) => {
                if !self.ask(index, packet, now, free) {
                    return None;
                }
            }
            Queue::Events(_) => {
                self.offer_by_events(index, *packet, now);
                return None;
            }
        }
        let (port, side) = (&mut self.net.ports[index as usize], &mut self.net.sides[lane as usize]);
        let start = if free > now { (port.free_at, free) } else { (Fine::at(now), now) };
        let times = transmit(port, packet.size, start);
        if now > self.net.window.from && times.ended <= self.net.window.to {
            book(port, side, packet.class, now, times);
        } else {
            side.by_class[usize::from(packet.class)].other_arrived += u64::from(self.net.window.holds(now));
            book_clipped(port, side, packet.class, now, times, &self.net.window);
        }
        Some((lane, times.ended + port.delay))
    }

    /// A packet asks a lazy FIFO that has more than a limit, and is free at `free`; says whether it may go on.
    #[inline(never)]
    fn ask(&mut self, index: u32, packet: &mut Packet, now: Time, free: Time) -> bool {
        let Queue::Fifo(q) = &mut self.net.ports[index as usize].queue else { return false };
        q.advance(now, free, &self.net.window);
        let full = free > now && q.gate.is_full(packet.size);
        let verdict = q.gate.ask(packet, now, full, (free <= now).then_some(free));
        let impaired = q.impaired;
        if verdict == Verdict::Accept && !self.probes.watches_ports {
            q.wait(free, packet.size, now, &self.net.window);
        } else if !self.judged(index, packet, verdict, now, free) {
            return false;
        }
        if impaired {
            self.impair(index, packet, now, free);
        }
        true
    }

    /// What a lazy FIFO, free at `free`, does at random to a packet that it has accepted.
    #[inline(never)]
    fn impair(&mut self, index: u32, packet: &mut Packet, now: Time, free: Time) {
        let port = &mut self.net.ports[index as usize];
        let Queue::Fifo(q) = &mut port.queue else { return };
        if let Some(jitter) = &mut q.impairments.jitter {
            let start = if free > now { port.free_at } else { Fine::at(now) };
            port.delay = jitter.delay((start + port.byte_time.times(u32::from(packet.size))).ceil());
        }
        let mut lost = q.impairments.will_lose(now);
        if q.impairments.again.is_some() {
            let start = if free > now { port.free_at } else { Fine::at(now) };
            let ended = (start + port.byte_time.times(u32::from(packet.size))).ceil();
            if let Some((delay, gone)) = q.impairments.repeat(now, ended) {
                (port.delay, lost) = (delay, gone);
            }
        }
        if lost {
            mark_lost(packet, index, &self.net.flows, &mut self.options);
        }
    }

    /// Books what the rule of a lazy FIFO, free at `free`, has decided, where it is more than a plain yes; says whether the
    /// packet may go on.
    #[inline(never)]
    fn judged(&mut self, index: u32, packet: &Packet, verdict: Verdict, now: Time, free: Time) -> bool {
        if self.probes.watches_ports {
            self.show_verdict(index, packet, verdict, now);
        }
        let port = &mut self.net.ports[index as usize];
        let side = &mut self.net.sides[port.side as usize];
        let Queue::Fifo(q) = &mut port.queue else { return false };
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark(reason) => {
                port.counters.marks += 1;
                side.by_class[usize::from(packet.class)].marks[reason as usize] +=
                    u64::from(self.net.window.holds(now));
            }
            Verdict::Drop(reason) => {
                side.by_class[usize::from(packet.class)].other_arrived +=
                    u64::from(self.net.window.holds(now));
                self.book_drop(index, packet, reason, now);
                return false;
            }
        }
        q.wait(free, packet.size, now, &self.net.window);
        true
    }

    /// Shows the probes what the rule of a lazy FIFO has decided.
    #[inline(never)]
    fn show_verdict(&mut self, index: u32, packet: &Packet, verdict: Verdict, now: Time) {
        let port = &mut self.net.ports[index as usize];
        let Queue::Fifo(q) = &mut port.queue else { return };
        let observe = |_, name: &str| q.gate.observe(name);
        let named = (packet, self.net.slots.id(packet.flow));
        self.probes.at_port(port.side, port.copy, observe, named, verdict, now);
        if let Verdict::Mark(reason) = verdict {
            self.trace_at_port(index, Action::Mark, Some(reason), packet, now);
        }
    }

    #[inline(never)]
    fn offer_by_events(&mut self, index: u32, packet: Packet, now: Time) {
        let window = self.net.window;
        let port = &mut self.net.ports[index as usize];
        let lane = port.side as usize;
        let class = usize::from(packet.class);
        self.net.sides[lane].by_class[class].other_arrived += u64::from(window.holds(now));
        let Queue::Events(q) = &mut port.queue else { return };
        q.note_length(now, &window);
        let mut dropped = std::mem::take(&mut self.dropped);
        if let Some(rate) = q.change(now, &mut dropped) {
            port.byte_time = rate.byte_time();
        }
        let (copy, flows, slots) = (port.copy, &self.net.flows, &self.net.slots);
        let (probes, options) = (&mut self.probes, &mut self.options);
        let impairments = &mut q.impairments;
        let show = |qdisc: &Qdisc, _: usize, packet: &mut Packet, verdict: Verdict| {
            if probes.watches_ports {
                let observe =
                    |node: Option<u32>, name: &str| qdisc.observe(node.map(|node| node as usize), name, now);
                probes.at_port(lane as u32, copy, observe, (&*packet, slots.id(packet.flow)), verdict, now);
            }
            if !verdict.is_drop() && impairments.will_lose(now) {
                mark_lost(packet, index, flows, options);
            }
        };
        let key = q.select.key(&packet, &self.net.slots);
        if packet.flow >= self.net.slots.first() {
            q.qdisc.introduce(packet.flow, self.net.slots.key(packet.flow));
        }
        let verdict = q.qdisc.offer_shown(Queued { packet, at: now }, key, &mut dropped, show);
        match verdict {
            Verdict::Drop(reason) => self.book_drop(index, &packet, reason, now),
            accepted => {
                if let Verdict::Mark(reason) = accepted {
                    port.counters.marks += 1;
                    self.net.sides[lane].by_class[class].marks[reason as usize] +=
                        u64::from(window.holds(now));
                    if self.probes.watches_ports {
                        let marked = packet.with_ecn(Ecn::Congestion);
                        self.trace_at_port(index, Action::Mark, Some(reason), &marked, now);
                    }
                }
                let Queue::Events(q) = &mut self.net.ports[index as usize].queue else { return };
                if !q.qdisc.is_busy() {
                    let start = self.net.ports[index as usize].free_at.max(Fine::at(now));
                    self.serve_next(index, start, now, &mut dropped);
                }
            }
        }
        self.book_drops(index, now, dropped);
    }

    /// Books what a port has dropped at `now` after it had accepted it.
    fn book_drops(&mut self, index: u32, now: Time, mut dropped: Vec<Dropped>) {
        for (item, reason) in dropped.drain(..) {
            self.net.ports[index as usize].counters.queue_time += self.net.window.overlap(item.at, now);
            self.book_drop(index, &item.packet, reason, now);
        }
        self.dropped = dropped;
    }

    /// Puts the next packet of an event-path port on the wire, if one waits and may leave; or sees to it that the port is
    /// asked again when one may.
    fn serve_next(&mut self, index: u32, start: Fine, now: Time, dropped: &mut Vec<Dropped>) {
        let Queue::Events(q) = &mut self.net.ports[index as usize].queue else { return };
        let at = match q.qdisc.next(now, dropped) {
            Next::Packet(item, mark) => return self.serve(index, item, mark, start),
            Next::At(at) => at,
            Next::Nothing => Time::NEVER,
        };
        if q.arm_wakeup(at) {
            let key = key(at, Rank::Service, 0, index);
            self.services.push(Reverse((key, index | WAKE)));
            self.advance_agenda(key);
        }
    }

    /// A scheduler that kept its packets back is asked again.
    #[inline(never)]
    fn wake(&mut self, index: u32, now: Time) {
        let Queue::Events(q) = &mut self.net.ports[index as usize].queue else { return };
        // A wake-up that is not the one on record is stale, unless something changes.
        let changes = q.changes.last().is_some_and(|change| change.0 <= now);
        if q.wake == now {
            q.wake = Time::NEVER;
        } else if !changes {
            return;
        }
        if changes {
            self.change(index, now);
        }
        self.ask_if_free(index, now);
    }

    /// Makes the changes of an event-path port that are due.
    fn change(&mut self, index: u32, now: Time) {
        let port = &mut self.net.ports[index as usize];
        let Queue::Events(q) = &mut port.queue else { return };
        q.note_length(now, &self.net.window);
        let mut dropped = std::mem::take(&mut self.dropped);
        if let Some(rate) = q.change(now, &mut dropped) {
            port.byte_time = rate.byte_time();
        }
        self.book_drops(index, now, dropped);
    }

    /// Changes a setting of an event-path port at `now`, where a stage says so.
    pub(super) fn set(&mut self, index: u32, setting: Setting, now: Time) {
        self.change(index, now);
        let port = &mut self.net.ports[index as usize];
        let Queue::Events(q) = &mut port.queue else { return };
        if let Setting::LinkRate(rate) = setting {
            port.byte_time = rate.byte_time();
            return q.qdisc.set(setting, now, &mut self.dropped);
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        q.qdisc.set(setting, now, &mut dropped);
        self.book_drops(index, now, dropped);
        self.ask_if_free(index, now);
    }

    /// Asks an event-path port for a packet unless one is on the wire, whose end does so.
    fn ask_if_free(&mut self, index: u32, now: Time) {
        let Queue::Events(q) = &self.net.ports[index as usize].queue else { return };
        if !q.qdisc.is_busy() {
            self.ask_again(index, Fine::at(now), now);
        }
    }

    /// Ports are woken when more than their rates changes.
    pub(super) fn schedule_changes(&mut self) {
        for (index, port) in self.net.ports.iter().enumerate() {
            let Queue::Events(q) = &port.queue else { continue };
            for at in q.reconfigured() {
                let index = index as u32;
                self.services.push(Reverse((key(at, Rank::Service, 0, index), index | WAKE)));
            }
        }
    }

    /// The transmitter of an event-path port is free at `start`, which is at or just before `now`.
    fn ask_again(&mut self, index: u32, start: Fine, now: Time) {
        let Queue::Events(q) = &mut self.net.ports[index as usize].queue else { return };
        q.note_length(now, &self.net.window);
        let mut dropped = std::mem::take(&mut self.dropped);
        self.serve_next(index, start, now, &mut dropped);
        self.book_drops(index, now, dropped);
    }

    /// Puts a packet of an event-path port on the wire, which was marked on its way out for `mark`.
    fn serve(&mut self, index: u32, mut item: Queued, mark: Option<Reason>, start: Fine) {
        let window = self.net.window;
        let port = &mut self.net.ports[index as usize];
        let lane = port.side;
        let began = start.ceil();
        if let Queue::Events(q) = &mut port.queue
            && let Some(rate) = q.change_rate(began)
        {
            port.byte_time = rate.byte_time();
        }
        if let Some(reason) = mark {
            port.counters.marks += 1;
            let class = &mut self.net.sides[lane as usize].by_class[usize::from(item.packet.class)];
            class.marks[reason as usize] += u64::from(window.holds(began));
            if self.probes.watches_ports {
                let flow = self.net.slots.id(item.packet.flow);
                self.probes.marked(Happening { time: began, flow, component: lane, code: reason as u8 });
                self.trace_at_port(index, Action::Mark, Some(reason), &item.packet, began);
            }
        }
        let port = &mut self.net.ports[index as usize];
        let side = &mut self.net.sides[lane as usize];
        let times = transmit(port, item.packet.size, (start, began));
        book_clipped(port, side, item.packet.class, item.at, times, &window);
        let (delay, free) = (port.delay, port.free_at.ceil());
        let varies = matches!(&port.queue, Queue::Events(q) if q.impairments.varies());
        let delay = if varies { self.vary(index, &mut item, times.ended) } else { delay };
        let arrival = times.ended + delay;
        let key = key(free, Rank::Service, 0, index);
        self.services.push(Reverse((key, index)));
        self.advance_agenda(key);
        let tie = self.net.flows[item.packet.flow as usize].tie;
        self.fly(lane, self::key(arrival, Rank::Arrival, lane, tie), &item.packet);
    }

    /// How long a packet that is on the wire until `ended` takes to the far end, where that is its own affair. Apart, so that others do not pay
    /// for it.
    #[cold]
    #[inline(never)]
    fn vary(&mut self, index: u32, item: &mut Queued, ended: Time) -> Duration {
        let port = &mut self.net.ports[index as usize];
        let Queue::Events(q) = &mut port.queue else { return port.delay };
        if let Some(jitter) = &mut q.impairments.jitter {
            port.delay = jitter.delay(ended);
        } else if let Some((delay, lost)) = q.impairments.repeat(item.at, ended) {
            port.delay = delay;
            if lost {
                mark_lost(&mut item.packet, index, &self.net.flows, &mut self.options);
            }
        }
        port.delay
    }

    /// The server of an event-path port is free.
    pub(super) fn service(&mut self, now: Time) {
        let Some(Reverse((_, index))) = self.services.pop() else { return };
        if index & WAKE != 0 {
            return self.wake(index & !WAKE, now);
        }
        self.ask_again(index, self.net.ports[index as usize].free_at, now);
    }

    /// A packet that was lost at random would arrive now.
    #[inline(never)]
    fn arrive_lost(&mut self, packet: &Packet, now: Time) {
        let index = self.options.of(packet).lost_at;
        let side = &mut self.net.sides[self.net.ports[index as usize].side as usize];
        side.all_delivered -= 1;
        side.ahead -= u64::from(now > self.net.window.to);
        self.book_drop(index, packet, Reason::Loss, now);
    }

    /// Books a dropped packet.
    #[inline(never)]
    fn book_drop(&mut self, index: u32, packet: &Packet, reason: Reason, now: Time) {
        let port = &mut self.net.ports[index as usize];
        port.counters.drops += 1;
        let side = &mut self.net.sides[port.side as usize];
        side.all_dropped += 1;
        let inside = self.net.window.holds(now);
        side.by_class[usize::from(packet.class)].drops[reason as usize] += u64::from(inside);
        if self.probes.watches_drops {
            let length = port.queue.packets();
            let flow = self.net.slots.id(packet.flow);
            let drop = Happening { time: now, flow, component: port.side, code: reason as u8 };
            let met = (inside && reason != Reason::Loss).then_some(length);
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

/// From here on the packet's way leads to [`DISCARD`].
fn mark_lost(packet: &mut Packet, port: u32, flows: &[Flow], options: &mut Options) {
    packet.hop = flows[packet.flow as usize].discard;
    options.attach(packet).lost_at = port;
}

/// When a transmission begins and ends, in whole nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    began: Time,
    ended: Time,
}

/// Puts `size` bytes on the wire at `start` (exactly, and in whole nanoseconds).
#[inline(always)]
fn transmit(port: &mut Port, size: u16, (start, began): (Fine, Time)) -> Times {
    let end = start + port.byte_time.times(u32::from(size));
    port.free_at = end;
    Times { began, ended: end.ceil() }
}

/// Books a transmission of a packet accepted at `accepted`, all of it inside the window: nearly every one.
#[inline(always)]
fn book(port: &mut Port, side: &mut SideCounters, class: u8, accepted: Time, times: Times) {
    let own = &mut side.by_class[usize::from(class)];
    let waited = Duration(times.began.0 - accepted.0);
    port.counters.busy += times.ended.0 - times.began.0;
    port.counters.queue_time += waited.0;
    port.counters.waits.add(waited);
    side.delays.add(waited);
    own.waits.add(waited);
    own.whole += 1;
}

/// The same for one that may lie across an edge of the window or outside.
#[inline(never)]
fn book_clipped(
    port: &mut Port,
    side: &mut SideCounters,
    class: u8,
    accepted: Time,
    Times { began, ended }: Times,
    window: &Window,
) {
    let own = &mut side.by_class[usize::from(class)];
    port.counters.queue_time += window.overlap(accepted, began);
    port.counters.busy += window.overlap(began, ended);
    if window.holds(began) {
        let waited = began.since(accepted);
        port.counters.waits.add(waited);
        side.delays.add(waited);
        own.waits.add(waited);
    }
    own.other_delivered += u64::from(window.holds(ended));
}
