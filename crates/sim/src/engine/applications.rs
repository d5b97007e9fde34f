//! Hosts of applications: what applications hear of, what they want, and the flows that they open on the way.
//!
//! ```text
//! packet, timer or arrival --> connection --> news --> application --> calls --> connection --> packets
//! ```
//!
//! Calls are carried out in their order; what follows from them is news, which the application hears when it has had its say.

use evenflow_base::{Duration, Ecn, End, Packet, Time, ip};
use evenflow_traffic::{Call, Datagram, Event};
use evenflow_transport::connection::{Connection, Notice, State};
use evenflow_transport::exposure::Cheat;
use evenflow_transport::{Profile, Segment, Sender};

use super::endpoints::keep_metrics;
use super::{Engine, SEND_AT_ONCE, STOP_EVERY, Wake};
use crate::events::{Rank, key};
use crate::hosting::{Live, NONE};
use crate::network::Flow;
use crate::probe::{Closed, How, Opened};

/// How far off a wake-up is set in TIME-WAIT. Most flows are over before it, so that little is kept of them.
const LONG: Duration = Duration::from_millis(1_000);

/// What a connection gives back when it is called.
struct Io<'a> {
    /// What it wants sent.
    out: &'a mut Vec<Segment>,
    /// What it notifies its application of.
    notices: &'a mut Vec<Notice>,
}

impl Engine<'_> {
    /// An application begins.
    pub(super) fn start_application(&mut self, application: u32, now: Time) {
        self.news.push((application, Event::Start));
        self.spread(now);
    }

    /// An alarm of an application is due.
    pub(super) fn alarm(&mut self, application: u32, number: u32, now: Time) {
        self.news.push((application, Event::Timer(number)));
        self.spread(now);
    }

    /// Shared arrival processes begin.
    pub(super) fn start_arrivals(&mut self) {
        for process in 0..self.net.arrivals.len() as u32 {
            self.next_arrival(process);
        }
    }

    fn next_arrival(&mut self, process: u32) {
        let next = self.net.arrivals[process as usize].process.advance();
        if next != Time::NEVER {
            // Behind all flows that there are from the start.
            self.set_timer_as(next, self.net.slots.first() + process, process, Wake::Arrival);
        }
    }

    /// A shared process has an arrival: somebody opens a flow.
    pub(super) fn shared_arrival(&mut self, process: u32, now: Time) {
        let arrivals = &mut self.net.arrivals[process as usize];
        let (share, user) = arrivals.process.whom();
        let (first, stride) = arrivals.shares[share];
        let application = first + user * stride;
        self.next_arrival(process);
        self.news.push((application, Event::Arrival));
        self.spread(now);
    }

    /// The next wake-up of an end of a flow is due.
    pub(super) fn wake_end(&mut self, now: Time) {
        let Some(wakeup) = self.wakeups.pop() else { return };
        let (place, end) = wakeup.whom();
        let live = &mut self.net.live[place];
        live.sides[end.index()].wake = Time::NEVER;
        let due = live.connection().is_some_and(|c| now >= c.deadline(end));
        let flow = self.net.slots.first() + place as u32;
        self.act_or(How::GaveUp, flow, end, now, |c, profile, io| {
            if due {
                c.wake(end, now, profile, io.out, io.notices);
            }
        });
        self.spread(now);
    }

    /// Tells applications all news, and carries out what they want, until there is none.
    #[inline]
    fn spread(&mut self, now: Time) {
        if !self.news.is_empty() {
            self.spread_news(now);
        }
    }

    // By index, for what is carried out needs the engine whole. It adds news behind the others, and no calls.
    #[inline(never)]
    fn spread_news(&mut self, now: Time) {
        let mut heard = 0;
        while let Some(&(application, event)) = self.news.get(heard) {
            heard += 1;
            self.net.applications[application as usize].app.on(event, now, &mut self.calls);
            let mut next = 0;
            while let Some(&call) = self.calls.get(next) {
                next += 1;
                self.carry_out(application, call, now);
            }
            self.calls.clear();
        }
        self.news.clear();
        // An adaptation rule may search for milliseconds: the loop looks before the next event.
        if self.is_stopped() {
            self.events |= STOP_EVERY - 1;
            self.cut = true;
        }
    }

    fn carry_out(&mut self, application: u32, call: Call, now: Time) {
        let hosted = &self.net.applications[application as usize];
        let flow = |conn| hosted.flow(conn);
        match call {
            Call::Open(conn) => self.open(application, conn, now),
            Call::Bind(conn) => {
                self.take_place(application, conn, now);
            }
            Call::Write(conn, end, bytes) => {
                let Some(flow) = flow(conn) else { return };
                let side = &mut self.live(flow).sides[end.index()];
                if side.written == 0 {
                    side.meter.skip(now);
                }
                side.written += bytes;
                side.waiting += bytes;
                self.write_waiting(flow, end, now);
            }
            Call::TakeBack(conn, end) => {
                let Some(flow) = flow(conn) else { return };
                let mut back = std::mem::take(&mut self.live(flow).sides[end.index()].waiting);
                self.act(flow, end, now, |c, profile, _| back += c.take_back(end, profile));
                self.live(flow).sides[end.index()].written -= back;
            }
            Call::Close(conn, end) => {
                let Some(flow) = flow(conn) else { return };
                self.live(flow).closes[end.index()] = true;
                self.close_when_written(flow, end, now);
            }
            Call::Abort(conn, end) => {
                let Some(flow) = flow(conn) else { return };
                self.live(flow).how = How::Reset;
                self.act(flow, end, now, |c, profile, io| c.abort(end, now, profile, io.out, io.notices));
            }
            Call::Pace(conn, end) => self.net.applications[application as usize].paced.push((conn, end)),
            Call::Read(conn, end, bytes) => {
                let Some(flow) = flow(conn) else { return };
                self.act(flow, end, now, |c, profile, io| {
                    c.read(end, bytes, now, profile, io.out);
                });
            }
            Call::Send(conn, end, datagram) => {
                let Some(flow) = flow(conn) else { return };
                self.send_datagram(flow, end, datagram, now);
            }
            Call::Timer(number, at) => {
                let root = hosted.root;
                self.set_timer_as(at, root, application, Wake::Alarm(number));
            }
            Call::Transfer(transfer) => {
                let (group, user) = (hosted.group as usize, hosted.user as usize);
                if let Some(transfers) = &mut self.net.transfers[group] {
                    transfers.note(user, transfer, now, &self.net.window);
                }
            }
        }
    }

    /// A place for a flow that an application opens.
    fn take_place(&mut self, application: u32, conn: u32, now: Time) -> u32 {
        let flow = self.net.slots.open(application, conn);
        let hosted = &mut self.net.applications[application as usize];
        hosted.bind(conn, flow);
        let info = self.net.flows[hosted.root as usize];
        let place = self.net.slots.place(flow);
        if place == self.net.live.len() {
            self.net.live.push(Live::EMPTY);
            self.net.flows.push(info);
            self.net.counters.push(Default::default());
        } else {
            self.net.flows[flow as usize] = info;
        }
        if let Some(list) = &mut self.probes.opened {
            let slot = self.net.slots.of(place);
            let (group, user) = (hosted.group, hosted.user);
            list.push(Opened { time: now, flow: slot.id, group, user, number: slot.number });
        }
        flow
    }

    /// An application opens a connection.
    #[inline(never)]
    fn open(&mut self, application: u32, conn: u32, now: Time) {
        let flow = self.take_place(application, conn, now);
        let hosted = &self.net.applications[application as usize];
        let profile = &self.net.profiles[hosted.profile as usize];
        let Some(control) = &hosted.control else { return };
        let of = |purpose: &str| self.net.slots.stream(flow, purpose, self.net.seed);
        let client = control.make(profile, &of, hosted.user as usize);
        self.net.flows[flow as usize].sends_timestamps = client.needs_one_way_delay();
        let connection = self.net.live[self.net.slots.place(flow)].connect(profile, client);
        if hosted.tells_windows {
            connection.tell_windows(profile);
        }
        if !hosted.paced.is_empty() {
            for (_, end) in hosted.paced.iter().filter(|(of, _)| *of == conn) {
                connection.pace(*end, profile);
            }
            self.net.applications[application as usize].paced.retain(|(of, _)| *of != conn);
        }
        if self.net.conex.is_some() {
            self.begin_hosted(flow, End::Client);
        }
        self.act(flow, End::Client, now, |c, profile, io| c.open(now, profile, io.out, io.notices));
    }

    /// Hands an end's connection what waits for room in its send buffer, as far as there is room; says whether all of it found
    /// some.
    fn write_waiting(&mut self, flow: u32, end: End, now: Time) -> bool {
        let waiting = self.live(flow).sides[end.index()].waiting;
        if end == End::Server {
            self.equip(flow, now);
        }
        let mut accepted = 0;
        self.act(flow, end, now, |c, profile, io| accepted = c.write(end, waiting, now, profile, io.out));
        let side = &mut self.live(flow).sides[end.index()];
        side.waiting -= accepted;
        side.waiting == 0
    }

    /// What other flows of its user left goes to a flow that an application opens.
    #[cold]
    fn begin_hosted(&mut self, flow: u32, end: End) {
        let host = self.net.flows[flow as usize].host;
        self.collect_leftovers(host);
        let place = self.net.slots.place(flow);
        let sender = self.net.live[place].connection_mut().and_then(|connection| connection.outgoing(end));
        if let (Some(conex), Some(sender)) = (&mut self.net.conex, sender) {
            conex.begin(host, end, sender);
        }
    }

    /// What flows of a ConEx cheat do as they send: see [`crate::conex::Conex::share`].
    #[cold]
    fn share_hosted(&mut self, flow: u32, info: Flow) {
        let place = self.net.slots.place(flow);
        let Some(connection) = self.net.live[place].connection_mut() else { return };
        let Some(conex) = &mut self.net.conex else { return };
        for end in End::BOTH {
            if let Some(sender) = connection.outgoing(end) {
                conex.share(info.host, end, flow, sender);
            }
        }
    }

    /// Makes the half on which a server sends, before it sends for the first time.
    fn equip(&mut self, flow: u32, now: Time) {
        let place = self.net.slots.place(flow);
        let Some(connection) = self.net.live[place].connection_mut().filter(|c| !c.is_equipped()) else {
            return;
        };
        let hosted = &self.net.applications[self.net.flows[flow as usize].endpoint as usize];
        let profile = &self.net.profiles[hosted.profile as usize];
        let Some(control) = &hosted.control else { return };
        let of = |purpose: &str| self.net.slots.stream(flow, &format!("server.{purpose}"), self.net.seed);
        connection.equip(control.make(profile, &of, hosted.user as usize), now, profile);
        if let (Some(conex), Some(sender)) = (&mut self.net.conex, connection.outgoing(End::Server)) {
            conex.begin(self.net.flows[flow as usize].host, End::Server, sender);
        }
    }

    /// Closes an end that is to be closed, once nothing of its waits any more.
    fn close_when_written(&mut self, flow: u32, end: End, now: Time) {
        let live = self.live(flow);
        if live.closes[end.index()] && live.sides[end.index()].waiting == 0 {
            self.act(flow, end, now, |c, profile, io| c.close(end, now, profile, io.out, io.notices));
        }
    }

    /// What is in the place of a flow that was opened on the way.
    fn live(&mut self, flow: u32) -> &mut Live {
        let place = self.net.slots.place(flow);
        &mut self.net.live[place]
    }

    /// Calls the connection of a flow at one end, sends what it left in the outbox, and passes on its notices.
    fn act(&mut self, flow: u32, end: End, now: Time, act: impl FnOnce(&mut Connection, &Profile, &mut Io)) {
        self.act_or(How::Reset, flow, end, now, act);
    }

    /// The same; where the connection tells that it is broken, this is how.
    fn act_or(
        &mut self,
        broken: How,
        flow: u32,
        end: End,
        now: Time,
        act: impl FnOnce(&mut Connection, &Profile, &mut Io),
    ) {
        let place = self.net.slots.place(flow);
        let live = &mut self.net.live[place];
        let application = self.net.flows[flow as usize].endpoint;
        let profile = &self.net.profiles[self.net.applications[application as usize].profile as usize];
        live.advance(end, profile, now, &self.net.window);
        let Some(connection) = live.connection_mut() else { return };
        let from = self.notices.len();
        act(connection, profile, &mut Io { out: &mut self.outbox, notices: &mut self.notices });
        self.net.slots.enter(flow); // its place is not given back while it acts
        self.settle(flow, end, broken, from, now);
    }

    /// A connection was called at one end: sets the wake-up that it wants, sends what it left in the outbox, and passes on its
    /// notices, from place `from` on. Then the packet or call that was entered for it is gone.
    #[inline(never)]
    fn settle(&mut self, flow: u32, end: End, broken: How, from: usize, now: Time) {
        let place = self.net.slots.place(flow);
        let application = self.net.flows[flow as usize].endpoint;
        let live = &mut self.net.live[place];
        let Some(connection) = live.connection() else { return self.packet_gone(flow) };
        let mut due = connection.deadline(end);
        if due > now + LONG && connection.state(end) == State::TimeWait {
            due = now + LONG;
        }
        let side = &mut live.sides[end.index()];
        if due < side.wake {
            side.wake = due;
            let key = key(due, Rank::Timer, 0, self.net.applications[application as usize].root);
            self.wakeups.set((place, end), key, self.net.slots.of(place).number, application);
            self.advance_agenda(key);
        }
        if !self.outbox.is_empty() {
            self.send_segments(flow, application, now);
        }
        if self.notices.len() > from {
            self.pass_on(flow, application, broken, from, now);
        }
        let live = &mut self.net.live[place];
        if live.all_acknowledged(end) {
            self.news.push((application, Event::Acked(self.net.slots.of(place).conn, end)));
        }
        if live.connection().is_some_and(Connection::is_over) && !self.net.slots.of(place).over {
            self.end_flow(flow, application, now);
        }
        self.packet_gone(flow);
    }

    /// Sends what a connection of an application left in the outbox.
    #[inline(always)]
    fn send_segments(&mut self, flow: u32, application: u32, now: Time) {
        let info = self.net.flows[flow as usize];
        if self.outbox.len() > SEND_AT_ONCE {
            self.send_many_segments(flow, info, application, now);
        } else {
            self.launch_segments(flow, info, application, now);
        }
        if info.special {
            self.share_hosted(flow, info);
        }
    }

    /// The same of more than the stop flag should wait for. Apart, so that the usual case stays in line.
    #[cold]
    #[inline(never)]
    fn send_many_segments(&mut self, flow: u32, info: Flow, application: u32, now: Time) {
        self.send_in_pieces(|engine| engine.launch_segments(flow, info, application, now));
    }

    /// By index, as [`Engine::send_all`] does.
    #[inline(always)]
    fn launch_segments(&mut self, flow: u32, info: Flow, application: u32, now: Time) {
        let hosted = &self.net.applications[application as usize];
        // A connection's server sends backward; on the path that depends on where the client is.
        let turn = if hosted.client_at_end { ip::BACKWARD } else { 0 };
        let (profile, place) = (hosted.profile as usize, self.net.slots.place(flow));
        let mut i = 0;
        while let Some(&segment) = self.outbox.get(i) {
            i += 1;
            let profile = &self.net.profiles[profile];
            let mut packet = Packet {
                seq: segment.seq,
                stamp: segment.stamp,
                class: info.class,
                flags: segment.flags,
                ip: segment.ip,
                ..Packet::new(flow, segment.size(profile), segment.payload)
            };
            if let Some(connection) = self.net.live[place].connection_mut() {
                let end = if segment.is_backward() { End::Server } else { End::Client };
                connection.attach(end, &segment, &mut packet, &mut self.options, now, profile);
                if info.special
                    && packet.payload > 0
                    && let Some(exposure) = connection.outgoing(end).and_then(Sender::exposure_mut)
                    && exposure.settings().cheat == Cheat::Renumber
                {
                    self.options.attach(&mut packet).shown = Some(exposure.number(packet.payload));
                }
            }
            packet.ip ^= turn;
            self.launch_hosted(&mut packet, info, segment.again, now);
        }
        self.outbox.clear();
    }

    /// A packet of an application leaves its end of the path.
    #[inline(always)]
    fn launch_hosted(&mut self, packet: &mut Packet, info: Flow, again: bool, now: Time) {
        self.created += 1;
        self.net.slots.enter(packet.flow);
        if packet.is_data() && self.window_open {
            let counters = &mut self.net.counters[packet.flow as usize];
            counters.sent += 1;
            counters.retransmits += u64::from(again);
        }
        if packet.is_backward() {
            packet.hop = info.back;
            return self.enter(packet, now);
        }
        self.leave_host(packet, info, now);
    }

    /// An end of an application's flow sends a datagram.
    fn send_datagram(&mut self, flow: u32, end: End, datagram: Datagram, now: Time) {
        let info = self.net.flows[flow as usize];
        let payload = datagram.bytes.saturating_sub(evenflow_traffic::UDP_HEADER);
        let mut packet = Packet {
            seq: datagram.tag,
            class: info.class,
            ip: ip::DATAGRAM,
            ..Packet::new(flow, datagram.bytes, payload)
        }
        .with_ecn(datagram.ecn);
        let application = &self.net.applications[info.endpoint as usize];
        if (end == End::Server) != application.client_at_end {
            packet.ip |= ip::BACKWARD;
        }
        self.launch_hosted(&mut packet, info, false, now);
    }

    /// A packet of an application reaches its end of the path.
    #[inline(never)]
    pub(super) fn at_application(&mut self, packet: &mut Packet, info: Flow, now: Time) {
        self.consumed += 1;
        let flow = packet.flow;
        if packet.is_data() && self.window_open {
            let counters = &mut self.net.counters[flow as usize];
            counters.throughput_bytes += u64::from(packet.size);
            counters.delivered += 1;
            counters.marks += u64::from(packet.ecn() == Ecn::Congestion);
        }
        let hosted = &self.net.applications[info.endpoint as usize];
        let end = if packet.is_backward() == hosted.client_at_end { End::Server } else { End::Client };
        let place = self.net.slots.place(flow);
        let live = &mut self.net.live[place];
        if packet.is_datagram() {
            self.options.release(packet);
            let datagram = Datagram { tag: packet.seq, bytes: packet.size, ecn: packet.ecn() };
            live.sides[end.index()].datagrams += u64::from(packet.payload);
            let conn = self.net.slots.of(place).conn;
            self.news.push((info.endpoint, Event::Datagram(conn, end, datagram)));
            self.packet_gone(flow);
        } else {
            let carried = self.options.release(packet);
            let profile = &self.net.profiles[hosted.profile as usize];
            live.advance(end, profile, now, &self.net.window);
            if hosted.adapts {
                live.log(end, profile);
            }
            let from = self.notices.len();
            if let Some(connection) = live.connection_mut() {
                connection.receive(end, packet, carried, now, profile, &mut self.outbox, &mut self.notices);
            }
            self.settle(flow, end, How::Reset, from, now);
        }
        self.spread(now);
    }

    /// Notices of a connection become news for its application.
    fn pass_on(&mut self, flow: u32, application: u32, broken: How, from: usize, now: Time) {
        let place = self.net.slots.place(flow);
        let conn = self.net.slots.of(place).conn;
        let mut i = from;
        while let Some(&notice) = self.notices.get(i) {
            i += 1;
            let event = match notice {
                Notice::Opened(end) => Event::Opened(conn, end),
                Notice::Received(end, bytes) => {
                    self.net.live[place].sides[end.index()].received = bytes;
                    Event::Received(conn, end, bytes)
                }
                Notice::Room(end, _) => {
                    if self.net.live[place].sides[end.index()].waiting == 0
                        || !self.write_waiting(flow, end, now)
                    {
                        continue;
                    }
                    self.close_when_written(flow, end, now);
                    Event::Room(conn, end)
                }
                Notice::PeerClosed(end) => Event::PeerClosed(conn, end),
                Notice::Reset(end) => {
                    let how = &mut self.net.live[place].how;
                    if *how == How::Closed {
                        *how = broken;
                    }
                    Event::Reset(conn, end)
                }
                Notice::Closed(_) => continue, // both are, when it is over
            };
            self.news.push((application, event));
        }
        self.notices.truncate(from);
    }

    /// A connection of an application is over: of what was written, what has not arrived never will.
    fn end_flow(&mut self, flow: u32, application: u32, now: Time) {
        let place = self.net.slots.place(flow);
        let conn = self.net.slots.of(place).conn;
        let how = self.net.live[place].how;
        self.add_to_sums(place, flow, now);
        if let (Some(conex), Some(connection)) = (&mut self.net.conex, self.net.live[place].connection_mut())
        {
            let host = self.net.flows[flow as usize].host;
            for end in End::BOTH {
                if let Some(sender) = connection.outgoing(end) {
                    conex.end(host, end, flow, sender);
                }
            }
        }
        self.net.slots.end(flow);
        let hosted = &mut self.net.applications[application as usize];
        hosted.conns[conn as usize] = NONE;
        hosted.sums.dead += u64::from(how == How::GaveUp);
        hosted.sums.bytes.abandoned += self.net.live[place].undelivered();
        if how == How::Closed {
            hosted.sums.bytes.lost += self.net.live[place].undelivered();
        }
        let host = self.net.flows[flow as usize].host;
        if how == How::Closed
            && self.net.profiles.get(hosted.profile as usize).is_some_and(|p| p.save_metrics)
        {
            let sender = self.net.live[place].connection().and_then(|c| c.half(End::Client));
            sender.into_iter().for_each(|sender| {
                keep_metrics(&mut self.net.profiles, hosted.profile, &self.net.hosts[host as usize], sender)
            });
        }
        if let Some(list) = &mut self.probes.closed {
            list.push(Closed { time: now, flow: self.net.slots.of(place).id, how });
        }
        self.news.push((application, Event::Closed(conn)));
    }

    /// A packet of a flow that was opened on the way has left the network, or a call of its connection is finished. When it is
    /// over and nothing of it is left, its place is free.
    #[inline]
    pub(super) fn packet_gone(&mut self, flow: u32) {
        if self.net.slots.exit(flow) {
            self.vacate(flow);
        }
    }

    #[inline(never)]
    fn vacate(&mut self, flow: u32) {
        let place = self.net.slots.place(flow);
        self.add_to_root(place, flow);
        self.net.live[place].vacate();
        self.net.slots.close(flow);
        if self.wakeups.clear(place) {
            self.update_agenda();
        }
    }

    /// Adds what the ends of a flow have done by `now` to its application's sums.
    fn add_to_sums(&mut self, place: usize, flow: u32, now: Time) {
        let hosted = &mut self.net.applications[self.net.flows[flow as usize].endpoint as usize];
        let live = &mut self.net.live[place];
        if live.connection().is_some() {
            let profile = &self.net.profiles[hosted.profile as usize];
            End::BOTH.into_iter().for_each(|end| live.advance(end, profile, now, &self.net.window));
        }
        hosted.sums.add(live, now);
    }

    /// Adds what a flow has counted to the counters of the flow that it was modelled after.
    fn add_to_root(&mut self, place: usize, flow: u32) {
        let of = std::mem::take(&mut self.net.counters[flow as usize]);
        let received = match self.window_open {
            true => self.net.live[place].delivered() - of.received_before,
            false => 0,
        };
        let root = self.net.flows[flow as usize].tie;
        self.net.counters[root as usize].add(&of, received);
    }

    /// Closes the sums of all flows that there still are at the end of the window.
    pub(super) fn sum_up_all(&mut self) {
        let taken: Vec<u32> = self.net.slots.taken().collect();
        for flow in taken {
            let place = self.net.slots.place(flow);
            if !self.net.slots.of(place).over {
                self.add_to_sums(place, flow, self.net.window.to);
            }
            self.add_to_root(place, flow);
        }
        for transfers in self.net.transfers.iter_mut().flatten() {
            transfers.advance(self.net.window.to, &self.net.window);
        }
    }

    /// Bytes written = delivered + in buffers + abandoned, for each application; and nothing is abandoned that was closed in order.
    pub(super) fn check_bytes(&self) -> Result<(), String> {
        let mut held = vec![0; self.net.applications.len()];
        for flow in self.net.slots.taken() {
            let (place, application) = (self.net.slots.place(flow), self.net.flows[flow as usize].endpoint);
            if !self.net.slots.of(place).over {
                held[application as usize] += self.net.live[place].held();
            }
        }
        for (hosted, held) in self.net.applications.iter().zip(held) {
            if let Some(fault) = hosted.app.fault() {
                return Err(format!("application of group {}, user {}: {fault}", hosted.group, hosted.user));
            }
            let bytes = hosted.sums.bytes;
            if bytes.written != bytes.delivered + bytes.abandoned + held {
                return Err(format!(
                    "application of group {}, user {}: {} bytes written, {} delivered, {} abandoned, {held} in buffers",
                    hosted.group, hosted.user, bytes.written, bytes.delivered, bytes.abandoned
                ));
            }
            if bytes.lost > 0 {
                return Err(format!(
                    "application of group {}, user {}: {} bytes of connections that closed in order did not arrive",
                    hosted.group, hosted.user, bytes.lost
                ));
            }
        }
        Ok(())
    }
}
