//! Hosts of applications: events, calls, and the flows that they open during a run.
//!
//! ```text
//! packet, timer or arrival --> connection --> news --> application --> calls --> connection --> packets
//! ```
//!
//! Calls run in their order. Resulting news reaches the application after its present call returns.

use evenflow_base::{End, Packet, Time, ip};
use evenflow_traffic::{Call, Datagram, Event, NoLevel};
use evenflow_transport::Sender;
use evenflow_transport::connection::{Connection, Notice, Outlet};

use super::{Engine, Wake};
use crate::faults::{Invariant, RunError};
use crate::hosting::{Bytes, Live, NONE};
use crate::network::{Endpoint, Flow};
use crate::probe::{Closed, How, Opened};
use crate::tcp::{Tcp, TcpEnd};

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
            self.set_timer(next, self.net.slots.first() + process, process, Wake::Arrival);
        }
    }

    /// An arrival of a shared process: one of the users opens a flow.
    pub(super) fn shared_arrival(&mut self, process: u32, now: Time) {
        let arrivals = &mut self.net.arrivals[process as usize];
        let (share, user) = arrivals.process.whom();
        let (first, stride) = arrivals.shares[share];
        let application = first + user * stride;
        self.next_arrival(process);
        self.news.push((application, Event::Arrival));
        self.spread(now);
    }

    /// Tells applications all news, and carries out what they want, until there is none.
    #[inline]
    pub(super) fn spread(&mut self, now: Time) {
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
        // An adaptation rule may search for milliseconds.
        if self.is_stopped() {
            self.halt(RunError::Interrupted);
        }
    }

    /// Carries out a call. One for a connection that is over has no effect: the application has not heard of
    /// its end yet.
    fn carry_out(&mut self, application: u32, call: Call, now: Time) {
        let hosted = &mut self.net.applications[application as usize];
        let flow = |conn: u32| hosted.flow(conn);
        match call {
            Call::Open(conn) => self.open(application, conn, now),
            Call::Bind(conn) => {
                self.take_place(application, conn, now);
            }
            Call::Write(conn, end, bytes) => {
                if let Some(flow) = flow(conn) {
                    self.write(flow, end, bytes, now);
                }
            }
            Call::TakeBack(conn, end) => {
                if let Some(flow) = flow(conn) {
                    self.take_back(flow, end, now);
                }
            }
            Call::Close(conn, end) => {
                if let Some(flow) = flow(conn) {
                    self.live(flow).sides[end.index()].closes = true;
                    self.close_when_written(flow, end, now);
                }
            }
            Call::Abort(conn, end) => {
                if let Some(flow) = flow(conn) {
                    self.live(flow).how = How::Reset;
                    self.act(flow, end, now, |c, to| c.abort(end, to));
                }
            }
            Call::Pace(conn, end) => hosted.paced.push((conn, end)),
            Call::Read(conn, end, bytes) => {
                if let Some(flow) = flow(conn) {
                    self.act(flow, end, now, |c, to| {
                        c.read(end, bytes, to);
                    });
                }
            }
            Call::Send(conn, end, Datagram { tag, bytes, ecn }) => {
                if let Some(flow) = flow(conn) {
                    let info = self.net.flows[flow as usize];
                    let direction = if end == End::Server { ip::BACKWARD } else { 0 } ^ info.turn;
                    self.send_datagram(flow, &info, direction, tag, bytes, ecn, now);
                }
            }
            Call::Timer(number, at) => {
                let root = hosted.root;
                self.set_timer(at, root, application, Wake::Alarm(number));
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
        let info = Flow { endpoint: Endpoint::Application, ..self.net.flows[hosted.root as usize] };
        let place = self.net.slots.place(flow);
        if place == self.net.live.len() {
            self.net.live.push(Live::new(None));
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
        let hosted = &mut self.net.applications[application as usize];
        let (profile, number) = (&self.net.profiles[hosted.profile as usize], hosted.profile);
        let Some(control) = &hosted.control else {
            let (group, user) = (hosted.group, hosted.user);
            return self.halt(Invariant::Unconnected { group, user });
        };
        let of = |purpose: &str| self.net.slots.stream(flow, purpose, self.net.seed);
        let control = control.make(profile, &of, hosted.user as usize);
        let live = &mut self.net.live[self.net.slots.place(flow)];
        let index = *live.room.get_or_insert(self.net.connections.len() as u32);
        let ends = [TcpEnd::NEW; 2];
        match self.net.connections.get_mut(index as usize) {
            Some(tcp) => {
                tcp.connection.renew(profile, control);
                (tcp.ends, tcp.profile, tcp.flow) = (ends, number, flow);
            }
            None => {
                let connection = Connection::talking(profile, control);
                self.net.connections.push(Tcp { connection, ends, profile: number, flow });
            }
        }
        self.net.flows[flow as usize].endpoint = Endpoint::Tcp(index);
        let connection = &mut self.net.connections[index as usize].connection;
        if hosted.tells_windows {
            connection.tell_windows(profile);
        }
        for (_, end) in hosted.paced.extract_if(.., |(of, _)| *of == conn) {
            connection.pace(end, profile);
        }
        self.open_connection(flow, index, now);
    }

    /// An application writes.
    fn write(&mut self, flow: u32, end: End, bytes: u64, now: Time) {
        if let Some(index) = self.connection_of(flow) {
            let tcp = &mut self.net.connections[index as usize];
            if tcp.ends[end.index()].meter.is_idle() {
                tcp.ends[end.index()].meter.skip(now);
            }
            let side = &mut self.live(flow).sides[end.index()];
            side.written += bytes;
            side.waiting += bytes;
            self.write_waiting(flow, end, now);
        }
    }

    /// An application takes back what was not sent. An end that has written nothing has no window to measure.
    fn take_back(&mut self, flow: u32, end: End, now: Time) {
        if let Some(index) = self.connection_of(flow) {
            let mut back = std::mem::take(&mut self.live(flow).sides[end.index()].waiting);
            self.act(flow, end, now, |c, to| back += c.take_back(end, to.profile));
            let side = &mut self.live(flow).sides[end.index()];
            side.written -= back;
            if side.written == 0 {
                self.net.connections[index as usize].ends[end.index()].meter.stop();
            }
        }
    }

    /// Writes waiting data of an end into its send buffer, as far as it fits. Returns whether all of it fits.
    fn write_waiting(&mut self, flow: u32, end: End, now: Time) -> bool {
        let waiting = self.live(flow).sides[end.index()].waiting;
        if end == End::Server {
            self.equip(flow, now);
        }
        let mut accepted = 0;
        self.act(flow, end, now, |c, to| accepted = c.write(end, waiting, to));
        let side = &mut self.live(flow).sides[end.index()];
        side.waiting -= accepted;
        side.waiting == 0
    }

    /// Makes the half on which a server sends, before it sends for the first time.
    fn equip(&mut self, flow: u32, now: Time) {
        let Some(index) = self.connection_of(flow) else { return };
        let tcp = &mut self.net.connections[index as usize];
        if tcp.connection.is_equipped() {
            return;
        }
        let hosted = &self.net.applications[self.net.slots.of(self.net.slots.place(flow)).opener as usize];
        let profile = &self.net.profiles[tcp.profile as usize];
        let of = |purpose: &str| self.net.slots.stream(flow, &format!("server.{purpose}"), self.net.seed);
        if let Some(control) = &hosted.control {
            tcp.connection.equip(control.make(profile, &of, hosted.user as usize), now, profile);
        }
        let rtt = tcp.connection.outgoing(End::Server).and_then(Sender::take_rtt_sample);
        if let Some(rtt) = rtt.filter(|_| self.window_open) {
            self.net.delays[hosted.group as usize].rtt.add(rtt);
        }
        self.begin_exposed(flow, index, End::Server);
    }

    /// Closes an end that is to be closed, once nothing of its waits any more.
    fn close_when_written(&mut self, flow: u32, end: End, now: Time) {
        let side = &self.live(flow).sides[end.index()];
        if side.closes && side.waiting == 0 {
            self.act(flow, end, now, |c, to| c.close(end, to));
        }
    }

    /// The slot of a flow that was opened during the run.
    fn live(&mut self, flow: u32) -> &mut Live {
        let place = self.net.slots.place(flow);
        &mut self.net.live[place]
    }

    /// The connection of a flow that an application calls; without one, the application is at fault.
    fn connection_of(&mut self, flow: u32) -> Option<u32> {
        if let Endpoint::Tcp(index) = self.net.flows[flow as usize].endpoint {
            return Some(index);
        }
        let hosted = &self.net.applications[self.net.slots.of(self.net.slots.place(flow)).opener as usize];
        self.halt(Invariant::Unconnected { group: hosted.group, user: hosted.user });
        None
    }

    /// An application calls the connection of a flow at one end.
    fn act(&mut self, flow: u32, end: End, now: Time, call: impl FnOnce(&mut Connection, &mut Outlet)) {
        if let Some(index) = self.connection_of(flow) {
            self.advance(index, end, now);
            self.invoke(How::Reset, flow, index, end, now, call);
        }
    }

    /// The connection of an application was called at one end: notices from place `from` on become news for
    /// the application. Then the packet or call that was entered for it is gone.
    #[inline(never)]
    pub(super) fn inform(&mut self, broken: How, flow: u32, index: u32, end: End, from: usize, now: Time) {
        let place = self.net.slots.place(flow);
        if self.notices.len() > from {
            self.pass_on(flow, broken, from, now);
        }
        let (slot, connection) = (self.net.slots.of(place), &self.net.connections[index as usize].connection);
        if self.net.live[place].all_acknowledged(end, connection) {
            self.news.push((slot.opener, Event::Acked(slot.conn, end)));
        }
        if connection.is_over() && !slot.over {
            self.end_flow(flow, index, now);
        }
        self.packet_gone(flow);
    }

    /// A datagram reaches an end of an application's flow.
    pub(super) fn take_datagram(&mut self, packet: &Packet, end: End, now: Time) {
        let place = self.net.slots.place(packet.flow);
        self.net.live[place].datagrams += u64::from(packet.payload);
        let datagram = Datagram { tag: packet.seq, bytes: packet.size, ecn: packet.ecn() };
        let slot = self.net.slots.of(place);
        self.news.push((slot.opener, Event::Datagram(slot.conn, end, datagram)));
        self.packet_gone(packet.flow);
        self.spread(now);
    }

    /// Notices of a connection become news for its application.
    fn pass_on(&mut self, flow: u32, broken: How, from: usize, now: Time) {
        let place = self.net.slots.place(flow);
        let slot = self.net.slots.of(place);
        let (application, conn) = (slot.opener, slot.conn);
        let mut i = from;
        while let Some(&notice) = self.notices.get(i) {
            i += 1;
            let event = match notice {
                Notice::Opened(end) => Event::Opened(conn, end),
                Notice::Received(end, bytes) => Event::Received(conn, end, bytes),
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
    fn end_flow(&mut self, flow: u32, index: u32, now: Time) {
        let place = self.net.slots.place(flow);
        let live = self.net.live[place];
        self.add_to_sums(flow, index, now);
        let connection = &mut self.net.connections[index as usize].connection;
        if let Some(conex) = &mut self.net.conex {
            let host = self.net.flows[flow as usize].host;
            for end in End::BOTH {
                if let Some(sender) = connection.outgoing(end) {
                    conex.end(host, end, flow, sender);
                }
            }
        }
        self.net.slots.end(flow);
        let slot = self.net.slots.of(place);
        let hosted = &mut self.net.applications[slot.opener as usize];
        hosted.conns[slot.conn as usize] = NONE;
        hosted.sums.dead += u64::from(live.how == How::GaveUp);
        let undelivered = live.undelivered(connection);
        hosted.sums.bytes.abandoned += undelivered;
        if live.how == How::Closed {
            hosted.sums.bytes.lost += undelivered;
        }
        if let Some(list) = &mut self.probes.closed {
            list.push(Closed { time: now, flow: slot.id, how: live.how });
        }
        self.news.push((slot.opener, Event::Closed(slot.conn)));
        if live.how == How::Closed && self.net.profiles[hosted.profile as usize].save_metrics {
            self.save_metrics(flow, index);
        }
    }

    /// A packet of such a flow left the network, or a call of its connection ended. The slot is freed when
    /// the flow is over and none of its packets is left.
    #[inline]
    pub(super) fn packet_gone(&mut self, flow: u32) {
        if self.net.slots.exit(flow) {
            self.vacate(flow);
        }
    }

    #[inline(never)]
    fn vacate(&mut self, flow: u32) {
        self.add_to_root(flow);
        let place = self.net.slots.place(flow);
        self.net.live[place] = Live::new(self.net.live[place].room);
        self.net.slots.close(flow);
        let endpoint = std::mem::replace(&mut self.net.flows[flow as usize].endpoint, Endpoint::Application);
        if let Endpoint::Tcp(index) = endpoint
            && self.wakeups.clear(index as usize)
        {
            self.update_agenda();
        }
    }

    /// Adds what the ends of a connection have done by `now` to its application's sums.
    fn add_to_sums(&mut self, flow: u32, index: u32, now: Time) {
        for end in End::BOTH {
            self.advance(index, end, now);
        }
        let place = self.net.slots.place(flow);
        let hosted = &mut self.net.applications[self.net.slots.of(place).opener as usize];
        hosted.sums.add(&self.net.live[place], &self.net.connections[index as usize], now);
    }

    /// Adds what a flow has counted to the counters of the flow that it was modelled after.
    fn add_to_root(&mut self, flow: u32) {
        let of = std::mem::take(&mut self.net.counters[flow as usize]);
        let received = match self.window_open {
            true => self.net.received(flow) - of.received_before,
            false => 0,
        };
        let root = self.net.flows[flow as usize].tie;
        self.net.counters[root as usize].add(&of, received);
    }

    /// Closes the sums of all flows that there still are at the end of the window.
    pub(super) fn sum_up_all(&mut self) {
        let taken: Vec<u32> = self.net.slots.taken().collect();
        for flow in taken {
            if let Some(index) = self.net.going_on(flow) {
                self.add_to_sums(flow, index, self.net.window.to);
            }
            self.add_to_root(flow);
        }
        for transfers in self.net.transfers.iter_mut().flatten() {
            transfers.advance(self.net.window.to, &self.net.window);
        }
    }

    /// Bytes written = delivered + in buffers + abandoned, for each application; and nothing is abandoned that was closed in order.
    pub(super) fn check_bytes(&self) -> Result<(), Invariant> {
        let mut held = vec![0; self.net.applications.len()];
        for flow in self.net.slots.taken() {
            if let Some(index) = self.net.going_on(flow) {
                let place = self.net.slots.place(flow);
                let connection = &self.net.connections[index as usize].connection;
                held[self.net.slots.of(place).opener as usize] += self.net.live[place].held(connection);
            }
        }
        for (hosted, held) in self.net.applications.iter().zip(held) {
            let (group, user) = (hosted.group, hosted.user);
            if let Some(NoLevel { level, top }) = hosted.app.fault() {
                return Err(Invariant::Level { group, user, level, top });
            }
            let Bytes { written, delivered, abandoned, lost } = hosted.sums.bytes;
            if written != delivered + abandoned + held {
                return Err(Invariant::Bytes { group, user, written, delivered, abandoned, held });
            }
            if lost > 0 {
                return Err(Invariant::LostBytes { group, user, lost });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use evenflow_base::{End, Time};
    use evenflow_scenario::Scenario;
    use evenflow_traffic::{App, Call, Event, External};

    use crate::engine::Engine;
    use crate::faults::{Invariant, RunError};
    use crate::{Options, build, record};

    const SHORT: &str = r#"
duration = "20 s"
links.l = { rate = "2 Mbit/s", delay = "5 ms", queue = { limit = "10 packets" } }
[groups.g]
users = 2
path = ["l"]
traffic = { kind = "short-flows", interval = { exponential = "300 ms" }, size = { exponential = "20 kB" } }
"#;

    fn run(replace: impl Fn(App) -> App, check: impl Fn(&Engine, &Scenario)) -> Result<(), RunError> {
        let scenario = Scenario::from_toml(SHORT).unwrap_or_else(|e| panic!("{e}"));
        let stop = AtomicBool::new(false);
        let mut engine =
            build::build(&scenario, 1, Options::default(), &stop).expect("nothing raises the flag");
        for hosted in &mut engine.net.applications {
            let app = std::mem::replace(&mut hosted.app, App::External(Box::new(Script(&[]))));
            hosted.app = replace(app);
        }
        engine.run(None)?;
        engine.check_conservation()?;
        check(&engine, &scenario);
        Ok(())
    }

    /// Calls that follow events.
    #[derive(Debug)]
    struct Script(&'static [(Event, &'static [Call])]);

    impl External for Script {
        fn on(&mut self, event: Event, _now: Time, calls: &mut Vec<Call>) {
            let steps = self.0.iter().filter(|(at, _)| *at == event);
            calls.extend(steps.flat_map(|(_, calls)| calls.iter().copied()));
        }
    }

    #[test]
    fn an_application_from_outside_has_the_record_of_one_from_inside() {
        let external = |app: App| match app {
            App::ShortFlows(machine) => App::External(Box::new(machine)),
            other => other,
        };
        let hashes = std::cell::RefCell::new(Vec::new());
        let note = |engine: &Engine, scenario: &Scenario| {
            let outcome = record::record(engine, scenario, 1).expect("nothing raises the flag");
            hashes.borrow_mut().push((outcome.record_hash, engine.net.applications[0].sums.bytes.written));
        };
        run(|app| app, note).expect("it runs to its end");
        run(external, note).expect("it runs to its end");
        let hashes = hashes.into_inner();
        assert_eq!(hashes[0], hashes[1]);
        assert!(hashes[0].1 > 500_000, "{hashes:?}");
    }

    #[test]
    fn an_application_from_outside_opens_writes_and_closes() {
        const STEPS: &[(Event, &[Call])] = &[
            (Event::Start, &[Call::Open(0)]),
            (
                Event::Opened(0, End::Client),
                &[Call::Write(0, End::Client, 50_000), Call::Close(0, End::Client)],
            ),
            (Event::PeerClosed(0, End::Server), &[Call::Close(0, End::Server)]),
            (Event::Closed(0), &[Call::Open(1)]),
            (Event::Opened(1, End::Client), &[Call::Write(1, End::Client, 70_000)]),
        ];
        let check = |engine: &Engine, _: &Scenario| {
            let delivered = engine.net.applications.iter().map(|hosted| hosted.sums.bytes.delivered);
            assert_eq!(delivered.collect::<Vec<_>>(), [120_000, 120_000]);
        };
        run(|_| App::External(Box::new(Script(STEPS))), check).expect("it runs to its end");
    }

    #[test]
    fn tcp_calls_on_datagrams_are_a_fault() {
        const STEPS: &[(Event, &[Call])] =
            &[(Event::Start, &[Call::Bind(0), Call::Write(0, End::Client, 1)])];
        let result = run(|_| App::External(Box::new(Script(STEPS))), |_, _| {});
        assert_eq!(result, Err(Invariant::Unconnected { group: 0, user: 0 }.into()));
    }
}
