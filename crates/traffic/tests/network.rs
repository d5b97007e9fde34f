//! Applications over a network of a few lines that delays, breaks and blocks: no byte is lost or invented, no call goes to an
//! end that is closed, every transfer ends once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use evenflow_base::schema::{Law, Value, Values};
use evenflow_base::{Ecn, End, Stream, Time};
use evenflow_traffic::{APPS, App, Call, Conn, Datagram, Ending, Event, Setting, Transfer};
use proptest::prelude::*;

/// What one end has done, and what has become of its bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Half {
    opened: bool,
    written: u64,
    delivered: u64,
    abandoned: u64,
    /// Bytes that wait for room in the send buffer.
    blocked: u64,
    acked: u64,
    closed: bool,
    /// Its FIN has arrived.
    ended: bool,
    gone: bool,
}

/// One connection.
#[derive(Clone, Debug, Default)]
struct Link {
    halves: [Half; 2],
    /// Its number in the order of opening, so that what was meant for an earlier one of the same number is known.
    life: u64,
    live: bool,
    /// Nothing is delivered any more.
    broken: bool,
}

/// What happens in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Opens(End),
    Delivers(End),
    Acks(End),
    Ends(End),
    Resets(End),
    Over,
}

/// What is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A step of the connection of this number, if it is still the one with that opening number.
    Step(Conn, u64, Step),
    /// An alarm.
    Alarm(u32),
    /// A datagram arrives: whether at the server, its number and size.
    Datagram(bool, u64, u16),
}

/// How the network is.
#[derive(Clone, Debug)]
struct World {
    /// Longest delay of a step, ms.
    delay: u64,
    /// One connection in so many breaks; 0: none.
    breaks: u64,
    /// Bytes that an end may have on the way and unacknowledged; 0: any number.
    buffer: u64,
    /// Bytes of a segment.
    segment: u64,
    seed: u64,
}

struct Network {
    world: World,
    chance: Stream,
    links: BTreeMap<Conn, Link>,
    lives: u64,
    /// Sums of all connections that are over.
    past: Half,
    queue: BinaryHeap<Reverse<(Time, u64, Next)>>,
    count: u64,
    /// Transfers started, completed, abandoned, failed, and bytes of those completed.
    transfers: [u64; 5],
}

impl Network {
    fn new(world: World) -> Network {
        let chance = Stream::new(world.seed, "network");
        Network {
            world,
            chance,
            links: BTreeMap::new(),
            lives: 0,
            past: Half::default(),
            queue: BinaryHeap::new(),
            count: 0,
            transfers: [0; 5],
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        ((self.chance.open01() * n as f64) as u64).min(n.saturating_sub(1))
    }

    fn later(&mut self, now: Time) -> Time {
        let most = self.world.delay * 1_000_000;
        Time(now.0 + 1 + self.below(most))
    }

    fn push(&mut self, at: Time, next: Next) {
        self.count += 1;
        self.queue.push(Reverse((at, self.count, next)));
    }

    fn plan(&mut self, at: Time, conn: Conn, step: Step) {
        self.push(at, Next::Step(conn, self.links[&conn].life, step));
    }

    /// Carries out a call; it must be one that may be made now.
    fn call(&mut self, call: Call, now: Time) {
        let later = self.later(now);
        match call {
            Call::Open(conn) => {
                let link = self.links.entry(conn).or_default();
                assert!(!link.live, "number {conn} is in use");
                self.lives += 1;
                *link = Link { live: true, life: self.lives, ..Link::default() };
                if self.world.breaks > 0 && self.below(self.world.breaks) == 0 {
                    let end = if self.below(2) == 0 { End::Client } else { End::Server };
                    let at = Time(later.0 * 2 - now.0);
                    self.plan(at, conn, Step::Resets(end));
                }
                self.plan(later, conn, Step::Opens(End::Client));
            }
            Call::Write(conn, end, bytes) => {
                let half = self.half(conn, end);
                assert!(half.opened && !half.closed && bytes > 0, "{call:?}: {half:?}");
                half.written += bytes;
                half.blocked += bytes;
                self.fill(conn, end, now);
            }
            Call::TakeBack(conn, end) => {
                let segment = self.world.segment;
                let half = self.half(conn, end);
                assert!(half.opened && !half.closed, "{call:?}: {half:?}");
                half.written = half.written.min(half.delivered + segment);
                half.blocked = half.blocked.min(half.written - half.delivered);
            }
            Call::Close(conn, end) => {
                let half = self.half(conn, end);
                assert!(half.opened && !half.closed, "{call:?}: {half:?}");
                half.closed = true;
                self.plan(later, conn, Step::Ends(end));
            }
            Call::Abort(conn, end) => {
                let half = self.half(conn, end);
                assert!(!half.gone, "{call:?}: {half:?}");
                half.gone = true;
                self.break_off(conn);
                self.plan(later, conn, Step::Resets(end.other()));
            }
            Call::Timer(number, at) => {
                assert!(at >= now && at < Time::NEVER, "{call:?} at {now:?}");
                self.push(at, Next::Alarm(number));
            }
            Call::Transfer(Transfer::Started) => self.transfers[0] += 1,
            Call::Transfer(Transfer::Completed { bytes, first_byte, took }) => {
                assert!(first_byte.is_none_or(|first| first <= took), "{call:?}");
                self.transfers[1] += 1;
                self.transfers[4] += bytes;
            }
            Call::Transfer(Transfer::Abandoned) => self.transfers[2] += 1,
            Call::Transfer(Transfer::Failed) => self.transfers[3] += 1,
            Call::Bind(conn) => assert_eq!(conn, 0),
            Call::Send(_, end, datagram) => {
                // One in eight is lost, one in eight arrives twice.
                let fate = self.below(8);
                for _ in 0..[0, 2, 1, 1, 1, 1, 1, 1][fate as usize] {
                    let at = self.later(now);
                    self.push(at, Next::Datagram(end == End::Client, datagram.tag, datagram.bytes));
                }
            }
            Call::Pace(..) | Call::Read(..) => panic!("no kind has a pace of its own yet"),
        }
        assert!(self.transfers[1..4].iter().sum::<u64>() <= self.transfers[0], "more ends than starts");
    }

    /// An end that the application may call.
    fn half(&mut self, conn: Conn, end: End) -> &mut Half {
        let link = self.links.get_mut(&conn).unwrap_or_else(|| panic!("number {conn} was never opened"));
        assert!(link.live, "number {conn} is closed");
        let half = &mut link.halves[end.index()];
        assert!(!half.gone, "the {end:?} of {conn} has been told that it is gone: {half:?}");
        half
    }

    /// Takes into the send buffer what has room there.
    fn fill(&mut self, conn: Conn, end: End, now: Time) {
        let (buffer, later) = (self.world.buffer, self.later(now));
        let half = &mut self.links.get_mut(&conn).unwrap().halves[end.index()];
        let waiting = half.written - half.blocked - half.acked;
        let room = if buffer == 0 { u64::MAX } else { buffer.saturating_sub(waiting) };
        let taken = half.blocked.min(room);
        half.blocked -= taken;
        if taken > 0 {
            self.plan(later, conn, Step::Delivers(end));
        }
    }

    fn break_off(&mut self, conn: Conn) {
        let link = self.links.get_mut(&conn).unwrap();
        link.broken = true;
        for half in &mut link.halves {
            half.abandoned = half.written - half.delivered;
            half.blocked = 0;
        }
    }

    /// What a step tells the application.
    fn step(&mut self, conn: Conn, life: u64, step: Step, now: Time) -> Vec<Event> {
        let later = self.later(now);
        let segment = self.world.segment;
        let link = self.links.get_mut(&conn).unwrap();
        if link.life != life || !link.live || (link.broken && !matches!(step, Step::Resets(_) | Step::Over)) {
            return Vec::new();
        }
        match step {
            Step::Opens(end) => {
                link.halves[end.index()].opened = true;
                if end == End::Client {
                    self.plan(later, conn, Step::Opens(End::Server));
                }
                vec![Event::Opened(conn, end)]
            }
            Step::Delivers(end) => {
                // Data on the way opens the server's end at the latest.
                let opens = (end == End::Client && !link.halves[1].opened)
                    .then_some(Event::Opened(conn, End::Server));
                link.halves[1].opened = true;
                let half = &mut link.halves[end.index()];
                let waiting = half.written - half.blocked - half.delivered;
                half.delivered += waiting.min(segment);
                let (delivered, more) = (half.delivered, waiting > segment);
                if more {
                    self.plan(later, conn, Step::Delivers(end));
                } else {
                    self.plan(later, conn, Step::Acks(end));
                }
                let received = (waiting > 0).then_some(Event::Received(conn, end.other(), delivered));
                opens.into_iter().chain(received).collect()
            }
            Step::Acks(end) => {
                let half = &mut link.halves[end.index()];
                let blocked = half.blocked > 0;
                half.acked = half.delivered;
                let all = half.acked == half.written;
                self.fill(conn, end, now);
                let room = blocked && self.links[&conn].halves[end.index()].blocked == 0;
                let room = room.then_some(Event::Room(conn, end));
                room.into_iter().chain(all.then_some(Event::Acked(conn, end))).collect()
            }
            Step::Ends(end) => {
                let half = &mut link.halves[end.index()];
                if half.acked < half.written {
                    self.plan(later, conn, Step::Ends(end));
                    return Vec::new();
                }
                let opens = !link.halves[1].opened;
                link.halves[1].opened = true;
                link.halves[end.index()].ended = true;
                if link.halves.iter().all(|half| half.ended) {
                    self.plan(later, conn, Step::Over);
                }
                let opened = opens.then_some(Event::Opened(conn, End::Server));
                opened.into_iter().chain([Event::PeerClosed(conn, end.other())]).collect()
            }
            Step::Resets(end) => {
                let half = &mut link.halves[end.index()];
                if half.gone || link.halves.iter().all(|half| half.ended) {
                    return Vec::new();
                }
                link.halves[end.index()].gone = true;
                let other_gone = link.halves[end.other().index()].gone;
                self.break_off(conn);
                let next = if other_gone { Step::Over } else { Step::Resets(end.other()) };
                self.plan(later, conn, next);
                vec![Event::Reset(conn, end)]
            }
            Step::Over => {
                link.live = false;
                for half in link.halves {
                    self.past.written += half.written;
                    self.past.delivered += half.delivered;
                    self.past.abandoned += half.abandoned;
                }
                vec![Event::Closed(conn)]
            }
        }
    }

    /// Bytes written, delivered, abandoned, and on the way or waiting.
    fn bytes(&self) -> [u64; 4] {
        let live = self.links.values().filter(|link| link.live).flat_map(|link| link.halves);
        let mut sums = [self.past.written, self.past.delivered, self.past.abandoned, 0];
        for half in live {
            sums[0] += half.written;
            sums[1] += half.delivered;
            sums[2] += half.abandoned;
            sums[3] += half.written - half.delivered - half.abandoned;
        }
        sums
    }
}

/// Runs an application for `seconds`, with arrivals from outside where it has none of its own.
fn run(kind: &str, values: &Values, ending: Option<Ending>, world: World, seconds: u64) -> Network {
    let seed = world.seed;
    let stream = |purpose: &str| Stream::new(seed, purpose);
    let arrivals = values.get("arrivals").is_some();
    let mut app =
        App::build(kind, values, &Setting { stream: &stream, ending, arrivals, user: 0 }).expect("sound");
    let mut network = Network::new(world);
    let until = Time(seconds * 1_000_000_000);
    let mut events = vec![Event::Start];
    let mut now = Time::ZERO;
    let mut arrival = if arrivals { Time(1) } else { Time::NEVER };
    loop {
        let mut calls = Vec::new();
        for event in events.drain(..) {
            app.on(event, now, &mut calls);
        }
        for call in calls {
            network.call(call, now);
        }
        let next = network.queue.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        now = next.min(arrival);
        if now > until {
            return network;
        }
        if now == arrival {
            arrival = network.later(now);
            if ending.is_none_or(|ending| now < ending.at) {
                events.push(Event::Arrival);
            }
            continue;
        }
        let Some(Reverse((_, _, next))) = network.queue.pop() else { return network };
        match next {
            Next::Step(conn, life, step) => events = network.step(conn, life, step, now),
            Next::Alarm(number) => events.push(Event::Timer(number)),
            Next::Datagram(to_server, tag, bytes) => {
                let end = if to_server { End::Server } else { End::Client };
                events.push(Event::Datagram(0, end, Datagram { tag, bytes, ecn: Ecn::NotCapable }));
            }
        }
    }
}

fn law(mean: f64) -> impl Strategy<Value = Value> {
    let seconds = move |x: f64| Box::new(Value::Seconds(x));
    prop_oneof![
        Just(Value::Seconds(mean)),
        Just(Value::Random(Law::Exponential(seconds(mean)))),
        Just(Value::Random(Law::Gamma(seconds(mean), 0.3))),
    ]
}

fn sizes() -> impl Strategy<Value = Value> {
    let bytes = |x: f64| Box::new(Value::Bytes(x));
    prop_oneof![
        Just(Value::Bytes(1.0)),
        Just(Value::Bytes(20_000.0)),
        Just(Value::Random(Law::Pareto(bytes(10_000.0), 1.3))),
        Just(Value::Random(Law::Lognormal(bytes(10_000.0), 1.5))),
    ]
}

/// A short video of 32 kB a second, or of 16 to 64 kB in chunks of half a second.
fn video(burst: f64, pace: f64, above: f64) -> [(&'static str, Value); 13] {
    let rule = Values([("kind", Value::Word("bba-0".into()))].into_iter().collect());
    let word = |word: &str| Value::Word(word.into());
    [
        ("adaptation", Value::Table(rule)),
        ("ladder", Value::Rates(vec![128e3, 256e3, 512e3])),
        ("buffer", Value::Seconds(1.5)),
        ("buffer_in", word("seconds")),
        ("measure_from", word("first-byte")),
        ("steady", word(if burst > 1.0 { "period" } else { "room" })),
        ("bitrate", Value::Rate(256_000.0)),
        ("length", Value::Seconds(2.0)),
        ("burst", Value::Seconds(burst)),
        ("chunk", Value::Bytes(5_000.0)),
        ("pace", Value::Number(pace)),
        ("play_above", Value::Seconds(0.05 + above)),
        ("stall_below", Value::Seconds(0.05)),
    ]
}

prop_compose! {
    fn parameters()(
        (interval, think, service, patience) in (law(0.05), law(0.2), law(0.03), prop::option::of(law(0.3))),
        (size, other, request) in (sizes(), sizes(), sizes()),
        (keep, connections, objects) in (any::<bool>(), 1..4u32, 0..6u32),
        count in prop::option::of(1..5u32),
        lazy in any::<bool>(),
        abandon in prop_oneof![Just(None), Just(Some("close")), Just(Some("drain"))],
        shared in any::<bool>(),
        (burst, pace, above) in (prop_oneof![Just(0.0), 0.0..3.0], 0.5..4.0, 0.1..2.0),
    ) -> (bool, Values) {
        let number = |n: u32| Value::Number(f64::from(n));
        let mut values: BTreeMap<&'static str, Value> = BTreeMap::from([
            ("think", think), ("size", size.clone()), ("response", size.clone()),
            ("page_size", size), ("object_size", other), ("request", request), ("keep_alive", Value::Flag(keep)),
            ("connections", number(connections)), ("objects", number(objects)), ("packet", Value::Bytes(84.0)),
            ("timeout", Value::Seconds(0.1)),
        ]);
        values.insert("service", if lazy { service } else { Value::Seconds(0.0) });
        values.extend(patience.map(|value| ("patience", value)));
        if let Some(how) = abandon {
            let table = [
                ("how", Value::Word(how.into())), ("after", Value::Seconds(0.0)),
                ("multiple", Value::Number(0.2)), ("safety", Value::Number(1.0)),
            ];
            values.insert("abandon", Value::Table(Values(table.into_iter().collect())));
        }
        for name in ["requests", "pages", "videos"] {
            values.extend(count.map(|n| (name, number(n))));
        }
        values.insert("interval", interval);
        values.extend(video(burst, pace, above));
        (shared, Values(values))
    }
}

prop_compose! {
    fn worlds()(
        delay in 1..80u64,
        breaks in prop_oneof![Just(0), 1..6u64],
        buffer in prop_oneof![Just(0), Just(3_000), Just(100_000u64)],
        segment in prop_oneof![Just(1_000), Just(100_000u64)],
        seed in any::<u64>(),
    ) -> World {
        World { delay, breaks, buffer, segment, seed }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_byte_is_lost_and_no_closed_end_is_called(
        kind in 0..APPS.len(),
        (shared, mut values) in parameters(),
        ending in prop::option::of((1..3_000u64, any::<bool>())),
        world in worlds(),
    ) {
        let kind = APPS[kind].kind;
        let hangs_up = kind == "has" && ending.is_some_and(|(ms, _)| ms % 2 == 0);
        if kind == "has" {
            values.0.insert("chunk", Value::Seconds(0.5));
            if hangs_up {
                values.0.insert("end", Value::Word("drain".into()));
            }
        }
        if kind == "short-flows" && shared {
            values.0.remove("interval");
            values.0.insert("arrivals", Value::Word("all".into()));
        }
        let ending = ending.map(|(ms, abort)| Ending { at: Time(ms * 1_000_000), abort });
        let network = run(kind, &values, ending, world, 4);
        let [written, delivered, abandoned, waiting] = network.bytes();
        prop_assert_eq!(written, delivered + abandoned + waiting);
        prop_assert!(network.transfers[0] > 0 || kind == "short-flows", "nothing happened");
        prop_assert!(network.transfers[4] <= delivered || kind == "ping", "more completed than delivered");
        if hangs_up || ending.is_some_and(|ending| ending.abort) {
            let [started, completed, abandoned, failed, _] = network.transfers;
            prop_assert_eq!(started, completed + abandoned + failed, "something outlives its end");
        }
    }
}

/// Far behind the end everything has finished or is closed.
#[test]
fn who_closes_in_order_leaves_nothing_open() {
    for kind in APPS.iter().map(|table| table.kind).filter(|kind| *kind != "ping") {
        for keep in [false, true] {
            let values = [
                ("interval", Value::Seconds(0.05)),
                ("keep_alive", Value::Flag(keep)),
                ("think", Value::Seconds(0.1)),
                ("service", Value::Seconds(0.0)),
                ("request", Value::Bytes(300.0)),
                ("size", Value::Bytes(14_600.0)),
                ("response", Value::Bytes(14_600.0)),
                ("page_size", Value::Bytes(10_000.0)),
                ("object_size", Value::Bytes(20_000.0)),
                ("objects", Value::Number(5.0)),
                ("connections", Value::Number(2.0)),
            ];
            let chunk = if kind == "has" { Value::Seconds(0.5) } else { Value::Bytes(5_000.0) };
            let values = values
                .into_iter()
                .chain(video(0.5, 1.5, 0.3))
                .chain([("chunk", chunk), ("header", Value::Bytes(300.0))]);
            let world = World { delay: 20, breaks: 0, buffer: 3_000, segment: 1_448, seed: 1 };
            let ending = Ending { at: Time(2_000_000_000), abort: false };
            let network = run(kind, &Values(values.into_iter().collect()), Some(ending), world, 20);
            let [written, delivered, abandoned, waiting] = network.bytes();
            assert!(written > 10_000, "{kind}");
            assert_eq!((delivered, abandoned, waiting), (written, 0, 0), "{kind}");
            assert!(network.links.values().all(|link| !link.live), "{kind} leaves a connection open");
            let [started, completed, ..] = network.transfers;
            assert_eq!(started, completed, "{kind}");
        }
    }
}
