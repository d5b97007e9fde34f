//! Lazy service: no order of looks at a link changes what it does.

#[path = "../../queue/tests/kinds/mod.rs"]
mod kinds;

use evenflow_base::{Carried, Duration, Packet, Rate, Reason, Stream, Time, Verdict};
use evenflow_link::counters::{Lengths, SideCounters, Window};
use evenflow_link::impairments::{Impairments, Jitter, Loss, LossRule};
use evenflow_link::{Account, Fifo, Link, Queue, Scheduled, Surroundings};
use evenflow_queue::{FlowTable, Limit, Setting};
use proptest::prelude::*;

use kinds::{PAIRS, RATE, item, qdisc};

/// What a link did with its packets.
#[derive(Debug, Default, PartialEq)]
struct Log {
    delivered: Vec<(u64, Time)>,
    dropped: Vec<(u64, Reason, Time, u32)>,
    lost: Vec<u64>,
    /// The earliest arrival reported since it was asked for.
    earliest: Option<Time>,
}

struct Around<'a>(&'a mut Log);

impl FlowTable for Around<'_> {
    fn hosts(&self, _: &Packet) -> (u32, u32) {
        (0, 0)
    }
    fn dscp(&self, _: &Packet) -> u8 {
        0
    }
    fn options(&self, _: &Packet) -> &Carried {
        Carried::NONE
    }
}

impl Surroundings for Around<'_> {
    fn watches(&self) -> bool {
        false
    }
    fn key(&self, packet: &Packet) -> usize {
        packet.flow as usize
    }
    fn opened(&self, _: &Packet) -> Option<u32> {
        None
    }
    fn decided(&mut self, _: &Packet, _: Verdict, _: &dyn Fn(Option<u32>, &str) -> Option<f64>, _: Time) {}
    fn marked(&mut self, _: &Packet, _: Reason, _: Time) {}
    fn lose(&mut self, packet: &mut Packet) {
        self.0.lost.push(packet.seq);
    }
    fn dropped(&mut self, packet: &Packet, reason: Reason, waiting: u32, now: Time) {
        self.0.dropped.push((packet.seq, reason, now, waiting));
    }
    fn deliver(&mut self, packet: &Packet, arrival: Time) {
        self.0.delivered.push((packet.seq, arrival));
        self.0.earliest = Some(self.0.earliest.map_or(arrival, |first| first.min(arrival)));
    }
}

/// A link, what it counts, and what it did.
struct Bench {
    link: Link,
    side: SideCounters,
    window: Window,
    log: Log,
}

const END: Time = Time(1_000_000_000);

impl Bench {
    fn new(queue: Queue) -> Bench {
        let window = Window { from: Time(100_000_000), to: END };
        let link = Link::new(Some(RATE), Duration::from_millis(3), queue);
        Bench { link, side: SideCounters::new(1, window.from, false), window, log: Log::default() }
    }

    fn offer(&mut self, packet: Packet, now: Time) {
        let account = Account { side: &mut self.side, window: &self.window };
        let log = &mut self.log;
        let (mut packet, id) = (packet, packet.seq);
        if let Some(arrival) = self.link.offer(&mut packet, now, account, false, || Around(log)) {
            self.log.delivered.push((id, arrival));
        }
    }

    fn catch_up(&mut self, now: Time) {
        let account = Account { side: &mut self.side, window: &self.window };
        self.link.catch_up(now, account, &mut Around(&mut self.log));
    }

    /// One event for each decision.
    fn eagerly(&mut self, now: Time) {
        while self.link.due() <= now {
            self.catch_up(self.link.due());
        }
    }

    /// What it did and counted, as text.
    fn finish(mut self) -> String {
        self.catch_up(END);
        self.link.finish(&self.window);
        let Log { delivered, dropped, lost, .. } = &self.log;
        let lengths = self.link.lengths().map(|lengths| &lengths.time);
        format!(
            "{delivered:?} {dropped:?} {lost:?} {:?} {lengths:?} {:?}",
            self.link.wire.counters, self.side
        )
    }
}

/// Loss and jitter.
fn impairments(of: u8) -> Impairments {
    let loss = Loss {
        which: LossRule::Random(0.1, Stream::new(1, "loss")),
        from: Time::ZERO,
        until: Time::NEVER,
        notes: None,
    };
    let jitter = Jitter {
        mean: 0.003,
        deviation: 0.001,
        correlated: None,
        from: Time::ZERO,
        until: Time::NEVER,
        last: Some(Time::ZERO),
        stream: Stream::new(1, "jitter"),
    };
    Impairments { loss: (of % 2 == 1).then_some(loss), jitter: (of == 2).then_some(jitter), again: None }
}

fn scheduled(pair: usize, limit: u32, impaired: u8, changes: &[(u64, u8)]) -> Queue {
    let (rule, scheduler) = PAIRS[pair];
    let mut changes: Vec<(Time, Setting)> = changes
        .iter()
        .map(|&(at, what)| {
            let setting = match what % 2 {
                0 => Setting::LinkRate(Rate(2e6 * f64::from(what + 1))),
                _ => Setting::Limit(Limit::Packets(u32::from(what) + 1)),
            };
            (Time(at * 1_000_000), setting)
        })
        .collect();
    changes.sort_by_key(|change| change.0);
    let qdisc = qdisc(rule, scheduler, Limit::Packets(limit));
    Queue::Scheduled(Box::new(Scheduled::new(
        qdisc,
        impairments(impaired),
        Some(Lengths::default()),
        changes,
        None,
    )))
}

proptest! {
    /// Decisions made each at its instant, all late, or at the deadline at the latest, and with looks in between: a link
    /// does and counts the same. And no packet reaches the far end before the deadline has passed.
    #[test]
    fn when_decisions_are_made_changes_nothing(
        pair in 0..PAIRS.len(),
        limit in 1u32..12,
        impaired in 0u8..3,
        changes in prop::collection::vec((0u64..400, 0u8..8), 0..5),
        arrivals in prop::collection::vec((0usize..4, 60u16..1500, 0u64..3000), 1..200),
        looks in prop::collection::vec(0u64..400_000, 0..20),
    ) {
        let bench = || Bench::new(scheduled(pair, limit, impaired, &changes));
        let (mut eager, mut lazy, mut looked, mut timed) = (bench(), bench(), bench(), bench());
        let mut now = 0;
        let mut looks = looks;
        looks.sort_unstable();
        let mut looks = looks.into_iter().peekable();
        for (id, (key, size, later)) in arrivals.into_iter().enumerate() {
            now += later * 1000;
            let packet = item(id as u64, key, size, now).packet;
            eager.eagerly(Time(now));
            while let Some(look) = looks.next_if(|look| *look * 1000 < now) {
                looked.catch_up(Time(look * 1000));
            }
            while timed.link.deadline() <= Time(now) {
                let deadline = timed.link.deadline();
                timed.log.earliest = None;
                timed.catch_up(deadline);
                prop_assert!(timed.log.earliest.is_none_or(|arrival| arrival >= deadline));
            }
            for bench in [&mut eager, &mut lazy, &mut looked, &mut timed] {
                bench.offer(packet, Time(now));
            }
        }
        eager.eagerly(END);
        let eager = eager.finish();
        prop_assert_eq!(&eager, &lazy.finish(), "late");
        prop_assert_eq!(&eager, &looked.finish(), "looked at");
        prop_assert_eq!(&eager, &timed.finish(), "by deadlines");
    }

    /// A FIFO that decides on arrival does and counts what the discipline of the same rule does.
    #[test]
    fn a_fifo_that_decides_on_arrival_is_the_discipline(
        rule in prop::sample::select(vec![0usize, 1]),
        limit in 1u32..12,
        impaired in 0u8..3,
        arrivals in prop::collection::vec((60u16..1500, 0u64..3000), 1..200),
    ) {
        let rule = ["droptail", "constant-probability"][rule];
        let limit = Limit::Packets(limit);
        let fifo = Fifo::new(kinds::gate(rule, limit), impairments(impaired), Some(Lengths::default()));
        let discipline = Scheduled::new(
            qdisc(rule, "fifo", limit),
            impairments(impaired),
            Some(Lengths::default()),
            Vec::new(),
            None,
        );
        let mut short = Bench::new(Queue::Fifo(Box::new(fifo)));
        let mut long = Bench::new(Queue::Scheduled(Box::new(discipline)));
        let mut now = 0;
        for (id, (size, later)) in arrivals.into_iter().enumerate() {
            now += later * 1000;
            let packet = item(id as u64, 0, size, now).packet;
            short.offer(packet, Time(now));
            long.offer(packet, Time(now));
        }
        // Counted once or in halves: the sums are the same.
        short.catch_up(END);
        long.catch_up(END);
        for bench in [&mut short, &mut long] {
            bench.link.finish(&bench.window);
            bench.side.join(&bench.link.wire.counters);
            bench.side.complete();
        }
        let sums = |bench: &Bench| {
            let lengths = bench.link.lengths().map(|lengths| lengths.time.iter().filter(|t| **t > 0).count());
            let (log, side) = (&bench.log, &bench.side);
            let counts = (side.arrived(), side.delivered(), side.drops(), side.marks(), side.all_dropped);
            let c = &bench.link.wire.counters;
            let own = (c.queue_time(), c.busy, c.waits, c.arrived_bytes, c.drops, c.marks);
            format!("{:?} {:?} {own:?} {lengths:?} {counts:?}", log.delivered, log.dropped)
        };
        prop_assert_eq!(sums(&short), sums(&long));
    }
}
