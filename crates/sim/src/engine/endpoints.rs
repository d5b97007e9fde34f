//! Endpoints: what connections and sources do when they are called, and the packets that they send.
//!
//! ```text
//! packet, timer or call --> connection --> wake-up, segments --> packets
//!                                     \--> notices --> application
//! ```

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use evenflow_base::{Ecn, End, Packet, Time, flags, ip};
use evenflow_transport::connection::Outlet;
use evenflow_transport::sender::Life;
use evenflow_transport::sender::metrics::Metrics;
use evenflow_transport::{Connection, Notice, Segment, Sender};

use super::{Engine, SEND_AT_ONCE, Wake};
use crate::events::{Key, Rank, key};
use crate::faults::Invariant;
use crate::hosting::NONE;
use crate::network::{Endpoint, Flow};
use crate::probe::{Closed, How, Opened};
use crate::tcp::Tcp;
use crate::wakeups::Wakeup;

impl Engine<'_> {
    pub(super) fn timer(&mut self, fired: Key, now: Time) {
        if let Some(&Reverse((due, flow))) = self.sources.peek()
            && due == fired
        {
            return self.datagram(flow, now);
        }
        if self.wakeup_is_first(fired) {
            return self.wake_end(now);
        }
        let Some(Reverse((_, whose, wake))) = self.timers.pop() else { return self.halt(Invariant::NoTimer) };
        match wake {
            Wake::Start => self.start_application(whose, now),
            Wake::Alarm(number) => self.alarm(whose, number, now),
            Wake::Arrival => self.shared_arrival(whose, now),
            Wake::Stage => self.wake_stage(whose, fired, now),
        }
    }

    /// Whether what is due at `fired` is the wake-up of a connection. Of timers of one instant that are
    /// about the same, those of the application come before it, and those of stages behind.
    #[inline]
    fn wakeup_is_first(&self, fired: Key) -> bool {
        let Some(wakeup) = self.wakeups.first().filter(|wakeup| wakeup.key == fired) else { return false };
        let Some(Reverse((_, whose, wake))) = self.timers.peek().filter(|timer| timer.0.0 == fired) else {
            return true;
        };
        (wakeup.application, Wake::Arrival) < (*whose, *wake)
    }

    /// The next wake-up of an end of a connection is due. It stays in the heap until the end asks for the next
    /// one, which takes its place.
    #[inline(always)]
    fn wake_end(&mut self, now: Time) {
        match self.wakeups.first().map(Wakeup::whom) {
            Some((index, End::Client)) if self.net.connections[index].connection.releases(now) => {
                self.release_paced(index as u32, now);
            }
            Some(whom) => self.wake(whom, now),
            None => self.halt(Invariant::NoTimer),
        }
    }

    /// The first wake-up lets a paced segment of a one-way connection leave. The same as [`Engine::wake`], in fewer
    /// steps, because a paced sender is woken for each burst.
    #[inline(never)]
    fn release_paced(&mut self, index: u32, now: Time) {
        let tcp = &mut self.net.connections[index as usize];
        let (flow, profile) = (tcp.flow, &self.net.profiles[tcp.profile as usize]);
        let (info, header) = (self.net.flows[flow as usize], profile.header);
        tcp.advance(End::Client, profile, now, &self.net.window);
        let due = tcp.connection.sender.release(now, profile, &mut self.outbox);
        tcp.ends[End::Client.index()].wake = due;
        if due != Time::NEVER {
            let host = &mut self.net.hosts[info.host as usize];
            if !host.connections.is_empty() {
                host.soonest = host.soonest.min(due);
            }
            self.wakeups.postpone_first(key(due, Rank::Timer, 0, info.tie));
        }
        if !self.outbox.is_empty() {
            self.send(flow, &info, index, header, now);
        }
        if due == Time::NEVER
            && self.net.connections[index as usize].ends[End::Client.index()].wake == Time::NEVER
        {
            self.wakeups.remove((index as usize, End::Client));
        }
    }

    fn wake(&mut self, (index, end): (usize, End), now: Time) {
        self.net.connections[index].ends[end.index()].wake = Time::NEVER;
        self.call_woken(index as u32, end, now);
        if self.net.connections[index].ends[end.index()].wake == Time::NEVER {
            self.wakeups.remove((index, end));
        }
    }

    /// A receiver receives a packet at `now`, which is before its time. Its own wake-ups come before that.
    #[cold]
    #[inline(never)]
    fn wake_receiver(&mut self, index: u32, now: Time) {
        loop {
            let at = self.net.connections[index as usize].ends[End::Server.index()].wake;
            if at >= now {
                return self.update_agenda();
            }
            self.wake((index as usize, End::Server), at);
        }
    }

    /// The same for all senders of a host.
    #[cold]
    #[inline(never)]
    fn wake_senders(&mut self, host: u32, now: Time) {
        loop {
            let range = self.net.hosts[host as usize].connections.clone();
            let own = &self.net.connections[range.start as usize..range.end as usize];
            let wakes = own.iter().map(|tcp| tcp.ends[End::Client.index()].wake).zip(range);
            let (at, index) = wakes.min_by_key(|(at, _)| *at).unwrap_or((Time::NEVER, 0));
            self.net.hosts[host as usize].soonest = at;
            if at >= now {
                return self.update_agenda();
            }
            self.wake((index as usize, End::Client), at);
        }
    }

    /// An end is woken. The first wake-up of a connection that there is from the start opens it.
    fn call_woken(&mut self, index: u32, end: End, now: Time) {
        let tcp = &self.net.connections[index as usize];
        let flow = tcp.flow;
        if tcp.connection.sender.life() == Life::Idle {
            self.note_opened(flow, now);
            return self.open_connection(flow, index, now);
        }
        let due = now >= tcp.connection.deadline(end);
        if due || self.net.slots.has(flow) {
            self.advance(index, end, now);
        }
        self.invoke(How::GaveUp, flow, index, end, now, |c, to| {
            if due {
                c.wake(end, to);
            }
        });
        self.spread(now);
    }

    /// The list of openings gets a flow that there is from the start.
    fn note_opened(&mut self, flow: u32, now: Time) {
        if let Some(list) = &mut self.probes.opened {
            let [group, user, number] = self.probes.whose[flow as usize];
            list.push(Opened { time: now, flow, group, user, number });
        }
    }

    /// Opens a connection, which takes over unreported congestion of the user's other flows.
    pub(super) fn open_connection(&mut self, flow: u32, index: u32, now: Time) {
        if self.net.conex.is_some() {
            self.collect_leftovers(self.net.flows[flow as usize].host);
            self.begin_exposed(flow, index, End::Client);
        }
        self.invoke(How::Reset, flow, index, End::Client, now, |c, to| c.open(to));
    }

    /// Gives unreported congestion of the user's earlier flows to an end that starts to send.
    pub(super) fn begin_exposed(&mut self, flow: u32, index: u32, end: End) {
        let sender = self.net.connections[index as usize].connection.outgoing(end);
        if let (Some(conex), Some(sender)) = (&mut self.net.conex, sender) {
            conex.begin(self.net.flows[flow as usize].host, end, sender);
        }
    }

    /// Uploads of a machine that are over leave what they owe.
    fn collect_leftovers(&mut self, host: u32) {
        let Some(conex) = &mut self.net.conex else { return };
        let Some(uploads) = conex.uploads.get(&host).cloned() else { return };
        for index in uploads {
            conex.leave_upload(host, &mut self.net.connections[index as usize].connection.sender);
        }
    }

    /// Brings the integral of an end's window up to `now`.
    pub(super) fn advance(&mut self, index: u32, end: End, now: Time) {
        let tcp = &mut self.net.connections[index as usize];
        tcp.advance(end, &self.net.profiles[tcp.profile as usize], now, &self.net.window);
    }

    /// Calls a connection at one end, and deals with what follows. Where it tells that it is broken,
    /// `broken` is how.
    pub(super) fn invoke(
        &mut self,
        broken: How,
        flow: u32,
        index: u32,
        end: End,
        now: Time,
        call: impl FnOnce(&mut Connection, &mut Outlet),
    ) {
        let tcp = &mut self.net.connections[index as usize];
        let from = self.notices.len();
        let profile = &self.net.profiles[tcp.profile as usize];
        let header = profile.header;
        let (out, notices) = (&mut self.outbox, &mut self.notices);
        call(&mut tcp.connection, &mut Outlet { now, profile, out, notices });
        let due = tcp.due(end, tcp.connection.deadline(end));
        let opened = self.net.slots.has(flow);
        if opened {
            self.net.slots.enter(flow, 1); // its place is not given back while it acts
        }
        let info = self.net.flows[flow as usize];
        self.settle_apart(flow, &info, index, end, due, header, now);
        if opened {
            self.inform(broken, flow, index, end, from, now);
        } else if self.notices.len() > from {
            self.end_lasting(flow, index, from, now);
        }
    }

    /// A connection was called at one end: sets the wake-up that it wants, and sends what it left in the
    /// outbox. Inlined on the path of every segment; other callers use [`Engine::settle_apart`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "loaded once a packet")]
    fn settle(
        &mut self,
        flow: u32,
        info: &Flow,
        index: u32,
        end: End,
        due: Option<Time>,
        header: u64,
        now: Time,
    ) {
        if let Some(due) = due {
            self.set_wakeup(flow, index, end, due);
        }
        if !self.outbox.is_empty() {
            self.send(flow, info, index, header, now);
        }
    }

    /// The same, not inlined.
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "as the other")]
    fn settle_apart(
        &mut self,
        flow: u32,
        info: &Flow,
        index: u32,
        end: End,
        due: Option<Time>,
        header: u64,
        now: Time,
    ) {
        self.settle(flow, info, index, end, due, header, now);
    }

    /// An end of a connection is woken at `due`, which is not later than before.
    #[inline(never)]
    pub(super) fn set_wakeup(&mut self, flow: u32, index: u32, end: End, due: Time) {
        let info = &self.net.flows[flow as usize];
        let key = key(due, Rank::Timer, 0, info.tie);
        let host = &mut self.net.hosts[info.host as usize];
        if end == End::Client && !host.connections.is_empty() {
            host.soonest = host.soonest.min(due);
        }
        let opened = self.net.slots.get(flow);
        let (number, application) = opened.map_or((0, NONE), |slot| (slot.number, slot.opener));
        self.wakeups.set((index as usize, end), key, number, application);
        self.advance_agenda(key);
    }

    /// A connection that there was from the start has come to its end.
    #[cold]
    #[inline(never)]
    fn end_lasting(&mut self, flow: u32, index: u32, from: usize, now: Time) {
        for notice in self.notices.split_off(from) {
            match notice {
                Notice::Closed(_) => self.save_metrics(flow, index),
                Notice::Reset(_) => self.probes.closed.iter_mut().for_each(|list| {
                    list.push(Closed { time: now, flow, how: How::GaveUp });
                }),
                _ => {}
            }
        }
    }

    /// A connection is over, in order: its client leaves its metrics to the profiles of its host.
    #[cold]
    pub(super) fn save_metrics(&mut self, flow: u32, index: u32) {
        let tcp = &self.net.connections[index as usize];
        let profile = &self.net.profiles[tcp.profile as usize];
        let mut metrics = Metrics::of(profile);
        metrics.learn(&tcp.connection.sender, profile);
        let host = &self.net.hosts[self.net.flows[flow as usize].host as usize];
        let own = &mut self.net.profiles[host.profiles.clone()];
        own.iter_mut().filter(|p| p.save_metrics).for_each(|p| metrics.keep(p));
    }

    /// The source that is first begins, or its next datagram is due.
    fn datagram(&mut self, flow: u32, now: Time) {
        let info = self.net.flows[flow as usize];
        let Endpoint::Source(index) = info.endpoint else { return self.halt(Invariant::NoEndpoint { flow }) };
        let d = &mut self.net.datagrams[index as usize];
        let datagram = match d.started {
            true => Some((d.sent, d.source.size(&mut d.sizes, d.sent), d.source.ecn)),
            false => {
                d.source.start(now);
                d.started = true;
                None
            }
        };
        d.sent += u64::from(datagram.is_some());
        let next = d.source.next(&mut d.gaps);
        if let Some(mut first) = self.sources.peek_mut() {
            match next {
                Time::NEVER => drop(PeekMut::pop(first)),
                next => first.0.0 = key(next, Rank::Timer, 0, flow),
            }
        }
        match datagram {
            Some((number, size, ecn)) => self.send_datagram(flow, &info, 0, number, size, ecn, now),
            None => self.note_opened(flow, now),
        }
    }

    /// An end of a flow sends a datagram of `size` bytes. `direction`: [`ip::BACKWARD`] or 0.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the fields of a datagram")]
    pub(super) fn send_datagram(
        &mut self,
        flow: u32,
        info: &Flow,
        direction: u8,
        number: u64,
        size: u16,
        ecn: Ecn,
        now: Time,
    ) {
        let mut packet = Packet {
            seq: number,
            class: info.class,
            ip: ip::DATAGRAM | ecn as u8 | direction,
            ..Packet::new(flow, size, size.saturating_sub(evenflow_traffic::UDP_HEADER))
        };
        self.count_created(flow, 1);
        self.count_sent(flow, false);
        self.launch(&mut packet, info, now);
    }

    /// A flow sends data, `again` where it was sent before.
    #[inline(always)]
    fn count_sent(&mut self, flow: u32, again: bool) {
        if self.window_open {
            let counters = &mut self.net.counters[flow as usize];
            counters.sent += 1;
            counters.retransmits += u64::from(again);
        }
    }

    /// Packets of a flow enter the network.
    #[inline(always)]
    fn count_created(&mut self, flow: u32, count: usize) {
        self.created += count as u64;
        if self.net.slots.has(flow) {
            self.net.slots.enter(flow, count as u32);
        }
    }

    /// Sends what a connection left in the outbox.
    #[inline(always)]
    fn send(&mut self, flow: u32, info: &Flow, index: u32, header: u64, now: Time) {
        match self.outbox.len() {
            1 => {
                if let Some(segment) = self.outbox.pop() {
                    self.count_created(flow, 1);
                    self.send_segment(&segment, flow, info, index, header, now);
                }
            }
            ..=SEND_AT_ONCE => self.send_segments(flow, info, index, header, now),
            _ => self.send_many(flow, info, index, header, now),
        }
        if self.net.conex.as_ref().is_some_and(|conex| conex.shares) {
            self.share_debts(flow, index);
        }
    }

    /// The same where the stop flag must not wait for all of it.
    #[cold]
    #[inline(never)]
    fn send_many(&mut self, flow: u32, info: &Flow, index: u32, header: u64, now: Time) {
        self.send_in_pieces(now, |engine| engine.send_segments(flow, info, index, header, now));
    }

    /// The sharing of reports between the flows of a cheating user: see [`crate::conex::Conex::share`].
    #[cold]
    #[inline(never)]
    fn share_debts(&mut self, flow: u32, index: u32) {
        let Some(conex) = &mut self.net.conex else { return };
        let host = self.net.flows[flow as usize].host;
        for end in End::BOTH {
            if let Some(sender) = self.net.connections[index as usize].connection.outgoing(end) {
                conex.share(host, end, flow, sender);
            }
        }
    }

    #[inline(never)]
    fn send_segments(&mut self, flow: u32, info: &Flow, index: u32, header: u64, now: Time) {
        // Where a segment arrives before its time, the other end uses the outbox.
        let spare = std::mem::take(&mut self.spare);
        let mut segments = std::mem::replace(&mut self.outbox, spare);
        self.count_created(flow, segments.len());
        for segment in &segments {
            self.send_segment(segment, flow, info, index, header, now);
        }
        segments.clear();
        self.spare = std::mem::replace(&mut self.outbox, segments);
    }

    /// Sends one segment of the outbox. Apart, because a loop around it would load everything that it needs
    /// beforehand, and there is one segment most times.
    #[inline(never)]
    fn send_segment(
        &mut self,
        segment: &Segment,
        flow: u32,
        info: &Flow,
        index: u32,
        header: u64,
        now: Time,
    ) {
        let (is_data, again) = (segment.payload > 0, segment.again);
        let mut packet = Packet {
            seq: segment.seq,
            stamp: segment.stamp,
            class: info.class,
            flags: segment.flags,
            ip: segment.ip ^ info.turn,
            ..Packet::new(flow, (u64::from(segment.payload) + header) as u16, segment.payload)
        };
        if segment.flags & flags::SYN != 0 {
            packet.size = self.size_of_syn(index, segment);
        }
        if info.carries.is_asked_for(segment) {
            let Tcp { connection, profile, .. } = &mut self.net.connections[index as usize];
            let profile = &self.net.profiles[*profile as usize];
            connection.attach(segment, &mut packet, &mut self.options, now, profile);
        }
        if is_data {
            self.count_sent(flow, again);
        }
        self.launch(&mut packet, info, now);
    }

    #[cold]
    #[inline(never)]
    fn size_of_syn(&self, index: u32, segment: &Segment) -> u16 {
        segment.size(&self.net.profiles[self.net.connections[index as usize].profile as usize])
    }

    /// A packet leaves its endpoint: along the path, where it leaves its host immediately or after the host's
    /// processing, or backwards.
    #[inline(always)]
    fn launch(&mut self, packet: &mut Packet, info: &Flow, now: Time) {
        let mut at = now;
        if packet.is_backward() {
            packet.hop = info.back;
            self.stamp(packet, now);
        } else if let Some(left) = self.net.hosts[info.host as usize].process(packet, now) {
            self.stamp(packet, left);
            if !info.folded {
                // A host keeps the order in which it is handed packets, whatever their flows.
                let lane = self.net.sides.len() as u32;
                return self.fly(lane, key(left, Rank::Arrival, lane, info.host), packet);
            }
            at = left;
        } else {
            self.stamp(packet, now);
        }
        self.carry(packet, info, at);
    }

    /// Notes when a packet leaves its host.
    #[inline(always)]
    fn stamp(&mut self, packet: &mut Packet, at: Time) {
        if !self.net.labels {
            packet.set_sent(at);
        } else if packet.is_data() {
            self.stamp_beside(packet, at);
        }
    }

    #[cold]
    #[inline(never)]
    fn stamp_beside(&mut self, packet: &mut Packet, at: Time) {
        self.options.set_sent(packet, at);
    }

    /// A packet reaches an end of its flow.
    #[inline(always)]
    pub(super) fn deliver(&mut self, packet: &mut Packet, end: End, info: &Flow, now: Time) {
        self.consumed += 1;
        if packet.is_data() && self.window_open {
            let counters = &mut self.net.counters[packet.flow as usize];
            counters.throughput_bytes += u64::from(packet.size);
            counters.delivered += 1;
            counters.marks += u64::from(packet.ecn() == Ecn::Congestion);
            let sent = if self.net.labels { self.options.of(packet).sent } else { packet.sent() };
            debug_assert!(sent <= now, "a mechanism without the trait `labels` has written a label");
            self.net.delays[info.group as usize].arrived(info.host, packet.class, now.since(sent));
        }
        match (info.endpoint, end) {
            (Endpoint::Tcp(index), End::Client) => self.at_client(packet, info, index, now),
            (Endpoint::Tcp(index), End::Server) => self.at_server(packet, info, index, now),
            _ => self.deliver_datagram(packet, end, info, now),
        }
    }

    #[inline(never)]
    fn at_client(&mut self, packet: &mut Packet, info: &Flow, index: u32, now: Time) {
        if self.net.hosts[info.host as usize].soonest < now {
            self.wake_senders(info.host, now);
        }
        self.deliver_segment(packet, End::Client, info, index, now);
    }

    #[inline(never)]
    fn at_server(&mut self, packet: &mut Packet, info: &Flow, index: u32, now: Time) {
        if self.net.connections[index as usize].ends[End::Server.index()].wake < now {
            self.wake_receiver(index, now);
        }
        self.deliver_segment(packet, End::Server, info, index, now);
    }

    /// A segment reaches an end of its connection.
    #[inline(always)]
    fn deliver_segment(&mut self, packet: &mut Packet, end: End, info: &Flow, index: u32, now: Time) {
        let flow = packet.flow;
        if self.probes.watches_senders {
            self.log_sender(flow, index, end, now);
        }
        let tcp = &mut self.net.connections[index as usize];
        let profile = &self.net.profiles[tcp.profile as usize];
        tcp.advance(end, profile, now, &self.net.window);
        let carried = self.options.release(packet);
        let (from, out, notices) = (self.notices.len(), &mut self.outbox, &mut self.notices);
        let due = tcp.connection.receive(end, packet, carried, Outlet { now, profile, out, notices });
        let (due, header) = (tcp.due(end, due), profile.header);
        let rtt = tcp.connection.outgoing(end).and_then(Sender::take_rtt_sample);
        if let Some(rtt) = rtt
            && self.window_open
        {
            self.net.delays[info.group as usize].rtt.add(rtt);
        }
        self.settle(flow, info, index, end, due, header, now);
        // A one-way connection notifies of nothing but its end.
        if self.net.slots.has(flow) {
            self.inform(How::Reset, flow, index, end, from, now);
            self.spread(now);
        }
    }

    /// A sender is about to receive a segment: series by packet and the probe of its kernel log it.
    #[cold]
    #[inline(never)]
    fn log_sender(&mut self, flow: u32, index: u32, end: End, now: Time) {
        let tcp = &self.net.connections[index as usize];
        let profile = &self.net.profiles[tcp.profile as usize];
        let Some(sender) = tcp.connection.half(end) else { return };
        if let Some(slot) = self.net.slots.get(flow) {
            if self.net.applications[slot.opener as usize].adapts {
                let place = self.net.slots.place(flow);
                self.net.live[place].sides[end.index()].logged.log(sender, profile);
            }
        } else if sender.life() != Life::Opening {
            let window = sender.window().cwnd / profile.mss as f64;
            self.probes.at_sender(flow as usize, window, |name| sender.observe(name, profile), now);
        }
    }

    /// A datagram reaches an end of its flow.
    #[inline(never)]
    fn deliver_datagram(&mut self, packet: &mut Packet, end: End, info: &Flow, now: Time) {
        self.options.release(packet);
        let flow = packet.flow;
        match info.endpoint {
            Endpoint::Source(index) => {
                self.net.datagrams[index as usize].received += u64::from(packet.payload);
            }
            Endpoint::Application => self.take_datagram(packet, end, now),
            Endpoint::Tcp(_) | Endpoint::Model(_) => self.halt(Invariant::NoEndpoint { flow }),
        }
    }
}
