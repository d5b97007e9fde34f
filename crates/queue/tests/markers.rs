//! Laws of every admission rule, beside every scheduler, under any sequence of calls.

use evenflow_base::schema::{Value, Values};
use evenflow_base::{Duration, Ecn, Packet, Rate, Stream, Time, ip};
use evenflow_queue::drr::Drr;
use evenflow_queue::medf::Medf;
use evenflow_queue::red::{self, Spread};
use evenflow_queue::strict::Strict;
use evenflow_queue::{
    Admission, Dropped, FqCodel, Limit, LinkFacts, Occupancy, Queued, Reason, Rule, Scheduler, Sfq, Verdict,
    codel, fq_codel, sfq,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        max_shrink_iters: 1000,
        ..ProptestConfig::default()
    }
}

const RATE: f64 = 10e6;
const LINK: LinkFacts = LinkFacts { rate: Some(Rate(RATE)), delay: Duration::from_millis(5), classes: &[] };
const QUEUES: usize = 3;

fn word(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::select(words).prop_map(|w| Value::Word(w.into()))
}

fn number(low: f64, high: f64) -> impl Strategy<Value = Value> {
    (low..high).prop_map(Value::Number)
}

fn length() -> impl Strategy<Value = Value> {
    prop_oneof![(1.0..30.0f64).prop_map(Value::Packets), (1.0..40_000.0f64).prop_map(Value::Bytes)]
}

fn table(pairs: Vec<(&'static str, Value)>) -> Values {
    Values(pairs.into_iter().collect())
}

fn action() -> impl Strategy<Value = Value> {
    word(&["drop", "mark", "mark-everything"])
}

/// The settings of a RED, each given or left to its variant.
fn red_settings() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let flag = || any::<bool>().prop_map(Value::Flag);
    let settings: Vec<(&'static str, BoxedStrategy<Value>)> = vec![
        ("max_probability", prop_oneof![Just(Value::Number(1.0)), number(1e-6, 1.0)].boxed()),
        (
            "weight",
            prop_oneof![Just(Value::Number(1.0)), Just(Value::Number(0.0625)), number(1e-6, 1.0)].boxed(),
        ),
        ("gentle", flag().boxed()),
        ("spread", word(&["ns2", "floyd", "bernoulli"]).boxed()),
        ("draw", word(&["packet", "interval"]).boxed()),
        ("crossing", word(&["exempt-counted", "exempt", "judged"]).boxed()),
        ("after_forced", word(&["restart", "keep", "crossing"]).boxed()),
        ("limit_restarts", flag().boxed()),
        ("spare_short_queue", flag().boxed()),
        ("size_scaling", word(&["none", "mean", "maximum"]).boxed()),
        ("idle", word(&["whole", "exact", "table"]).boxed()),
        ("idle_factor", number(0.01, 100.0).boxed()),
        ("arithmetic", word(&["real", "fixed"]).boxed()),
        ("mean_packet", (1.0..65_535.0f64).prop_map(Value::Bytes).boxed()),
        ("hard_drop", flag().boxed()),
    ];
    settings
        .into_iter()
        .map(|(name, values)| prop::option::weighted(0.2, values).prop_map(move |v| v.map(|v| (name, v))))
        .collect::<Vec<_>>()
        .prop_map(|settings| settings.into_iter().flatten().collect())
}

fn reds() -> impl Strategy<Value = Values> {
    let variant = word(&["ns2", "ns3", "linux", "floyd"]);
    let all = prop::option::of(0.0..30.0f64);
    (variant, action(), length(), 0.5..30.0f64, all, red_settings()).prop_map(
        |(variant, action, low, above, all, settings)| {
            let scale = if matches!(low, Value::Bytes(_)) { 1000.0 } else { 1.0 };
            let min = low.number().unwrap_or(0.0);
            let mut pairs = vec![
                ("variant", variant),
                ("action", action),
                ("max_threshold", low.with(min + above * scale)),
                ("max_packet", Value::Bytes(1500.0)),
            ];
            pairs.extend(all.map(|more| ("mark_all_above", low.with(min + more * scale))));
            pairs.push(("min_threshold", low));
            pairs.extend(settings);
            table(pairs)
        },
    )
}

/// A rule of any kind whose parameters agree with each other, whether it never drops by itself, and what it was made of.
fn rules() -> impl Strategy<Value = (&'static str, Values)> {
    let virtual_queue = (
        prop_oneof![
            (word(&["busy-arrival", "overflow"]), action()),
            (Just(Value::Word("busy-departure".into())), Just(Value::Word("mark-everything".into()))),
        ],
        length(),
        number(0.01, 1.0),
        number(0.01, 1.0),
    )
        .prop_map(|((mark, action), buffer, rate, room)| {
            table(vec![
                ("mark", mark),
                ("action", action),
                ("buffer", buffer),
                ("rate_factor", rate),
                ("buffer_factor", room),
            ])
        });
    let load = (
        1e-5..0.1f64,
        number(0.0, 2.0),
        number(0.01, 50.0),
        word(&["arrivals", "departures"]),
        word(&["fixed", "sliding"]),
        action(),
    )
        .prop_map(|(interval, target, gain, count, window, action)| {
            table(vec![
                ("interval", Value::Seconds(interval)),
                ("target", target),
                ("gain", gain),
                ("count", count),
                ("window", window),
                ("action", action),
            ])
        });
    let rem =
        (1e-5..0.1f64, 0.0..50.0f64, number(1e-4, 10.0), number(0.0, 2.0), number(1.0001, 3.0), action())
            .prop_map(|(period, target, gain, weight, base, action)| {
                table(vec![
                    ("period", Value::Seconds(period)),
                    ("target", Value::Packets(target)),
                    ("gain", gain),
                    ("backlog_weight", weight),
                    ("base", base),
                    ("mean_packet", Value::Bytes(1000.0)),
                    ("action", action),
                ])
            });
    let constant =
        (number(0.0, 1.0), action()).prop_map(|(p, a)| table(vec![("probability", p), ("action", a)]));
    let activity = Just(table(vec![
        ("q_min", Value::Packets(3.0)),
        ("q_base", Value::Packets(9.0)),
        ("gamma", Value::Packets(4.0)),
        ("memory", Value::Seconds(0.3)),
        ("average_over", Value::Word("accepted".into())),
        ("rate_estimate", Value::Word("link".into())),
    ]));
    let csfq = word(&["ns2", "paper"]).prop_map(|form| {
        table(vec![
            ("memory", Value::Seconds(0.1)),
            ("interval", Value::Seconds(0.1)),
            ("q_threshold", Value::Packets(5.0)),
            ("q_min", Value::Packets(0.0)),
            ("form", form),
        ])
    });
    let seconds = |low: f64, high: f64| (low..high).prop_map(Value::Seconds);
    let flag = || any::<bool>().prop_map(Value::Flag);
    let codel = (seconds(1e-5, 0.03), seconds(1e-5, 0.2), flag(), prop::option::of(seconds(0.0, 0.02)))
        .prop_map(|(target, interval, ecn, threshold)| {
            let mut pairs = vec![
                ("target", target),
                ("interval", interval),
                ("ecn", ecn),
                ("max_packet", Value::Bytes(1500.0)),
            ];
            pairs.extend(threshold.map(|t| ("ce_threshold", t)));
            table(pairs)
        });
    let pie = (
        (seconds(1e-4, 0.03), seconds(1e-4, 0.03), number(0.0, 40.0), number(0.0, 400.0)),
        (seconds(0.0, 0.1), number(0.0, 1.0), word(&["timestamps", "link-rate", "departure-rate"])),
        ((1.0..65_536.0f64).prop_map(Value::Bytes), flag(), flag()),
    )
        .prop_map(
            |((target, period, alpha, beta), (burst, threshold, latency), (rate, derandomize, cap))| {
                table(vec![
                    ("target", target),
                    ("period", period),
                    ("alpha", alpha),
                    ("beta", beta),
                    ("max_burst", burst),
                    ("mean_packet", Value::Bytes(1024.0)),
                    ("ecn_threshold", threshold),
                    ("latency", latency),
                    ("rate_threshold", rate),
                    ("derandomize", derandomize),
                    ("cap", cap),
                ])
            },
        );
    prop_oneof![
        3 => codel.prop_map(|v| ("codel", v)),
        4 => pie.prop_map(|v| ("pie", v)),
        6 => reds().prop_map(|v| ("red", v)),
        3 => virtual_queue.prop_map(|v| ("virtual-queue", v)),
        2 => load.prop_map(|v| ("load-based", v)),
        2 => rem.prop_map(|v| ("rem", v)),
        1 => constant.prop_map(|v| ("constant-probability", v)),
        1 => activity.prop_map(|v| ("activity-aqm", v)),
        1 => csfq.prop_map(|v| ("csfq", v)),
        1 => Just(("droptail", Values::default())),
    ]
}

fn schedulers() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        Just(()).prop_map(|()| Scheduler::Fifo(Box::default())),
        Just((0..QUEUES).collect::<Vec<_>>())
            .prop_shuffle()
            .prop_map(|o| Scheduler::Strict(Box::new(Strict::new(o)))),
        prop::collection::vec(0u64..5_000_000, QUEUES)
            .prop_map(|o| Scheduler::Medf(Box::new(Medf::new(o.into_iter().map(Duration).collect())))),
        prop::collection::vec(1u64..3000, QUEUES).prop_map(|q| Scheduler::Drr(Box::new(Drr::new(q, false)))),
        (1u64..3000).prop_map(|quantum| {
            let params = sfq::Params { divisor: QUEUES, quantum, ..sfq::Params::DEFAULT };
            Scheduler::Sfq(Box::new(Sfq::new(params, Stream::new(1, "hash"))))
        }),
        (1i64..3000, 1u64..20, any::<bool>()).prop_map(|(quantum, ms, ecn)| {
            let (target, interval) = (Duration::from_millis(ms), Duration::from_millis(5 * ms));
            let codel = codel::Params { target, interval, max_packet: 1500, ecn, ..codel::Params::DEFAULT };
            let params =
                fq_codel::Params { codel, flows: QUEUES, quantum, drop_batch: 64, memory_limit: None };
            Scheduler::FqCodel(Box::new(FqCodel::new(params, Stream::new(1, "hash"))))
        }),
    ]
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::None),
        (1u32..40).prop_map(Limit::Packets),
        (1u64..60_000).prop_map(Limit::Bytes),
        (1e-4..0.05f64).prop_map(Limit::Seconds),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A packet of this size, codepoint, queue and label comes so many nanoseconds after whatever was before.
    Arrive(u16, Ecn, usize, f64, u64),
    /// The transmitter takes the next packet, so many nanoseconds after whatever was before.
    Serve(u64),
    /// Nothing happens for a long time.
    Silence(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let size = prop_oneof![40u16..1501, Just(1500u16), Just(1u16), Just(65_535u16)];
    let ecn = prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Congestion]);
    let op = prop_oneof![
        10 => (size, ecn, 0..QUEUES, -5.0..2e7f64, prop_oneof![Just(0u64), 1u64..3_000_000])
            .prop_map(|(s, e, q, l, t)| Op::Arrive(s, e, q, l, t)),
        8 => prop_oneof![Just(0u64), 1u64..3_000_000].prop_map(Op::Serve),
        1 => (1u64..500_000_000).prop_map(Op::Silence),
    ];
    prop::collection::vec(op, 1..300)
}

/// A queue by hand: a rule, a limit and a scheduler, in the order of calls that a link promises.
struct Queue {
    rule: Admission,
    limit: Limit,
    scheduler: Scheduler,
    stream: Stream,
    now: Time,
    packets: u32,
    bytes: u64,
    /// What is on the wire, and since when; or since when nothing is.
    sending: Result<(u16, Time), Time>,
}

impl Queue {
    fn seen(&self, full: bool) -> Occupancy {
        let (packets, bytes) = (self.packets, self.bytes);
        Occupancy { packets, bytes, rate: Some(Rate(RATE)), full, idle_since: self.sending.err() }
    }

    /// Time goes on; clocks strike on the way, each later than the last.
    fn advance(&mut self, by: u64) -> Result<(), TestCaseError> {
        self.now += Duration(by);
        while self.rule.next_tick() <= self.now {
            let at = self.rule.next_tick();
            self.rule.tick(at, &self.seen(false));
            prop_assert!(self.rule.next_tick() > at, "the clock stands still");
        }
        Ok(())
    }

    /// The next packet for the wire; what is dropped on the way is added to `dropped`.
    fn serve(&mut self, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        if let Ok((size, since)) = self.sending {
            self.rule.departed(size, self.now.since(since), self.now);
        }
        let next = loop {
            let before = dropped.len();
            let served = self.scheduler.dequeue(self.now, dropped);
            let lost = dropped[before..].iter().map(|(item, _)| item.packet);
            for packet in lost.chain(served.map(|(item, _)| item.packet)) {
                self.packets -= 1;
                self.bytes -= u64::from(packet.size);
            }
            let Some((mut item, mark)) = served else {
                self.rule.emptied();
                break None;
            };
            let before = item.packet.ecn();
            let seen = self.seen(false);
            match self.rule.on_dequeue(&mut item.packet, item.at, self.now, &seen) {
                Verdict::Accept => assert_eq!(item.packet.ecn(), before),
                Verdict::Mark(_) => {
                    assert!(self.rule.sees_dequeue() && before != Ecn::NotCapable);
                    assert_eq!(item.packet.ecn(), Ecn::Congestion);
                }
                Verdict::Drop(reason) => {
                    assert!(self.rule.sees_dequeue());
                    dropped.push((item, reason));
                    continue;
                }
            }
            assert!(mark.is_none() || item.packet.ecn() == Ecn::Congestion);
            break Some(item);
        };
        self.sending = next.map(|q| (q.packet.size, self.now)).ok_or(self.now);
        next
    }
}

/// What may be seen of a rule is a number, and probabilities are probabilities.
fn check_observables(rule: &Admission, kind: &str) -> Result<(), TestCaseError> {
    let table = evenflow_queue::MECHANISMS.iter().find(|m| m.kind == kind).expect("a table");
    for o in table.observables {
        let value = rule.observe(o.name);
        prop_assert!(value.is_some_and(f64::is_finite), "{} is {value:?}", o.name);
        let value = value.unwrap_or(0.0);
        let signed = kind == "activity-aqm";
        prop_assert!(signed || value >= 0.0, "{} is {value}", o.name);
        prop_assert!(!o.name.contains("probability") || value <= 1.0, "{} is {value}", o.name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(3000))]

    /// Bytes in = out + dropped + waiting; a full buffer drops as such and nothing else does; what never drops does not; marks only
    /// on ECN-capable packets, and on those that are said to be marked; a packet that is let pass is not touched.
    #[test]
    fn every_rule_keeps_the_law(
        (kind, values) in rules(),
        limit in limits(),
        scheduler in schedulers(),
        ops in ops(),
        seed: u64,
    ) {
        let problems = evenflow_queue::check(kind, &values);
        let Ok(rule) = Admission::build(kind, &values, LINK) else {
            prop_assert!(!problems.is_empty());
            return Ok(()); // refused, and said so
        };
        prop_assert_eq!(problems, vec![]);
        let gentle = values.get("action") == Some(&Value::Word("mark-everything".into()));
        // PIE only looks on as packets leave.
        let by_departures = rule.sees_dequeue() && kind != "pie";
        let fifo = matches!(scheduler, Scheduler::Fifo(_));
        let mut queue = Queue {
            rule,
            limit,
            scheduler,
            stream: Stream::new(seed, "rule"),
            now: Time::ZERO,
            packets: 0,
            bytes: 0,
            sending: Err(Time::ZERO),
        };
        // Only one that decides as packets leave drops the capable.
        let codel_marks = kind == "codel"
            && values.get("ecn") == Some(&Value::Flag(true))
            && !matches!(queue.scheduler, Scheduler::FqCodel(_));
        let (mut offered, mut lost, mut sent) = (0u64, 0u64, 0u64);
        for op in ops {
            match op {
                Op::Arrive(size, ecn, lane, label, later) => {
                    queue.advance(later)?;
                    let mut packet = Packet {
                        label,
                        ip: ip::DATAGRAM,
                        ..Packet::new(0, size, 0)
                    }
                    .with_ecn(ecn);
                    offered += u64::from(size);
                    let full = queue.sending.is_ok()
                        && queue.limit.is_full(queue.packets, queue.bytes, size, Some(Rate(RATE)));
                    let seen = queue.seen(full);
                    let verdict = queue.rule.admit(&mut packet, queue.now, &seen, &mut queue.stream);
                    check_observables(&queue.rule, kind)?;
                    prop_assert_eq!(packet.size, size);
                    match verdict {
                        Verdict::Drop(reason) => {
                            // CSFQ draws a number for a packet that finds no room, too.
                            prop_assert!(full == (reason == Reason::Limit) || (full && kind == "csfq"));
                            prop_assert!(full || !gentle, "{} dropped for {:?}", kind, reason);
                            lost += u64::from(size);
                            continue;
                        }
                        Verdict::Mark(_) => {
                            prop_assert!(!full && ecn != Ecn::NotCapable && !by_departures);
                            prop_assert_eq!(packet.ecn(), Ecn::Congestion);
                            prop_assert!(values.get("action") != Some(&Value::Word("drop".into())));
                        }
                        Verdict::Accept => {
                            prop_assert!(!full);
                            prop_assert_eq!(packet.ecn(), ecn);
                        }
                    }
                    queue.packets += 1;
                    queue.bytes += u64::from(size);
                    let at = queue.now;
                    queue.scheduler.enqueue(if fifo { 0 } else { lane }, Queued { packet, at });
                }
                Op::Serve(later) => {
                    queue.advance(later)?;
                    let mut dropped = Vec::new();
                    let waited = queue.packets;
                    let next = queue.serve(&mut dropped);
                    // Work is conserved: if packets wait, one leaves or all are dropped.
                    prop_assert_eq!(next.is_some(), dropped.len() < waited as usize);
                    for (item, reason) in &dropped {
                        prop_assert_eq!(*reason, Reason::Codel);
                        prop_assert!(item.packet.ecn() == Ecn::NotCapable || !codel_marks);
                        lost += u64::from(item.packet.size);
                    }
                    sent += next.map_or(0, |item| u64::from(item.packet.size));
                    check_observables(&queue.rule, kind)?;
                }
                Op::Silence(later) => queue.advance(later)?,
            }
            prop_assert_eq!(offered, sent + lost + queue.bytes);
        }
        let mut held = 0;
        queue.scheduler.for_each(&mut |item: &Queued| held += u64::from(item.packet.size));
        prop_assert_eq!(offered, sent + lost + held);
    }

    /// RED's average lies between nothing and the longest queue it has seen, whatever the variant; nothing is picked while it is
    /// below the lower threshold, but by `mark_all_above`.
    #[test]
    fn the_average_lies_among_its_inputs(values in reds(), lengths in prop::collection::vec((0u32..60, 0u64..40_000_000), 1..200), seed: u64) {
        let Ok(params) = red::Params::new(&values, LINK) else { return Ok(()) };
        let unit = if params.unit == red::Unit::Bytes { 700.0 } else { 1.0 };
        let mut rule = red::Red::new(params.clone());
        let mut stream = Stream::new(seed, "red");
        let (mut now, mut longest) = (Time::ZERO, 0.0f64);
        for (length, idle) in lengths {
            now += Duration(idle);
            let idle_since = (length == 0).then(|| Time(now.0 - idle));
            let seen = Occupancy { packets: length, bytes: u64::from(length) * 700, rate: Some(Rate(RATE)), full: false, idle_since };
            let mut packet = Packet::new(0, 700, 0).with_ecn(Ecn::Capable0);
            let queue = f64::from(length) * unit;
            let verdict = rule.admit(&mut packet, now, &seen, &mut stream);
            longest = longest.max(queue);
            let average = rule.observe("average").unwrap_or(f64::NAN);
            prop_assert!((0.0..=longest + 1e-9).contains(&average), "{average}, never more than {longest}");
            if average < params.min && params.mark_all_above.is_none_or(|all| queue < all) {
                prop_assert_eq!(verdict, Verdict::Accept);
            }
        }
    }

    /// p_b grows with the average and is continuous where `gentle`; p_a grows with p_b and with the count.
    #[test]
    fn probabilities_are_monotone(values in reds(), a in 0.0..100.0f64, b in 0.0..100.0f64, n in 0u32..400, p in 0.0..1.0f64, q in 0.0..1.0f64) {
        let Ok(params) = red::Params::new(&values, LINK) else { return Ok(()) };
        let scale = if params.unit == red::Unit::Bytes { 1000.0 } else { 1.0 };
        let (low, high) = (a.min(b) * scale, a.max(b) * scale);
        let (at_low, at_high) = (red::base_probability(&params, low), red::base_probability(&params, high));
        prop_assert!(at_low <= at_high + 1e-15);
        prop_assert!((0.0..=1.0).contains(&at_low) && (0.0..=1.0).contains(&at_high));
        if params.gentle {
            let steepest = (params.max_probability / (params.max - params.min))
                .max((1.0 - params.max_probability) / params.max);
            prop_assert!(at_high - at_low <= steepest * (high - low) + 1e-9);
        }
        for spread in [Spread::Ns2, Spread::Floyd, Spread::Bernoulli] {
            let of = |p, n: u32| red::spread_probability(spread, p, f64::from(n));
            prop_assert!(of(p.min(q), n) <= of(p.max(q), n) + 1e-12, "{spread:?}");
            prop_assert!(of(p, n) <= of(p, n + 1) + 1e-12, "{spread:?}");
            prop_assert!((0.0..=1.0).contains(&of(p, n)));
        }
    }

    /// What is in the virtual queue never exceeds its room: so neither does the memory it takes.
    #[test]
    fn the_virtual_queue_is_bounded(
        buffer in length(),
        packets in prop::collection::vec((1u16..3000, 0u64..2_000_000), 1..400),
    ) {
        let room = buffer.number().unwrap_or(0.0);
        let values = table(vec![
            ("mark", Value::Word("busy-arrival".into())),
            ("action", Value::Word("mark-everything".into())),
            ("buffer", buffer),
            ("rate_factor", Value::Number(0.9)),
            ("buffer_factor", Value::Number(1.0)),
        ]);
        let mut rule = Admission::build("virtual-queue", &values, LINK).expect("sound");
        let mut stream = Stream::new(1, "unused");
        let mut now = Time::ZERO;
        for (size, later) in packets {
            now += Duration(later);
            let mut packet = Packet::new(0, size, 0).with_ecn(Ecn::Capable0);
            let seen = Occupancy { packets: 0, bytes: 0, rate: None, full: false, idle_since: None };
            rule.admit(&mut packet, now, &seen, &mut stream);
            let length = rule.observe("virtual_length").unwrap_or(f64::NAN);
            prop_assert!((0.0..=room + 1e-6).contains(&length), "{length} of {room}");
        }
    }
}
