//! Expectations by hand, from \[FJ93\] and from what the programs behind the presets do.

use evenflow_base::schema::Type;
use evenflow_base::{Duration, Ecn, Rate, Stream};

use super::*;

/// A table as a scenario would give it, the rest by its variant.
fn values(variant: &str, given: &[(&'static str, Value)]) -> Values {
    let mut values = Values::default();
    values.0.insert("variant", Value::Word(variant.into()));
    values.0.insert("action", Value::Word("drop".into()));
    values.0.insert("max_packet", Value::Bytes(1500.0));
    values.0.extend(given.iter().cloned());
    values
}

/// A link of 10 Mbit/s and 5 ms.
const LINK: LinkFacts = LinkFacts { rate: Some(Rate(10e6)), delay: Duration::from_millis(5), classes: &[] };

fn params(variant: &str, given: &[(&'static str, Value)]) -> Params {
    Params::new(&values(variant, given), LINK).unwrap_or_else(|e| panic!("{e:?}"))
}

/// Thresholds of 5 and 15 packets, max_p = 0.1, and an average that follows at once.
fn sharp(variant: &str, given: &[(&'static str, Value)]) -> Red {
    let base = [
        ("min_threshold", Value::Packets(5.0)),
        ("max_threshold", Value::Packets(15.0)),
        ("max_probability", Value::Number(0.1)),
        ("weight", Value::Number(1.0)),
    ];
    Red::new(params(variant, &[&base, given].concat()))
}

fn word(name: &'static str, word: &str) -> (&'static str, Value) {
    (name, Value::Word(word.into()))
}

fn packet(size: u16, ecn: Ecn) -> Packet {
    Packet::new(0, size, size).with_ecn(ecn)
}

fn seen(packets: u32) -> Occupancy {
    Occupancy {
        packets,
        bytes: u64::from(packets) * 1000,
        rate: Some(Rate(10e6)),
        full: false,
        idle_since: None,
    }
}

/// Packets of 1000 bytes that find these queue lengths, with these draws; all draws must be used up.
fn run(red: &mut Red, lengths: &[u32], draws: &[f64]) -> Vec<Verdict> {
    let mut draws = Stream::scripted(draws.iter().copied());
    let verdicts = lengths
        .iter()
        .map(|q| red.admit(&mut packet(1000, Ecn::NotCapable), Time(0), &seen(*q), &mut draws))
        .collect();
    assert_eq!(draws.left(), 0);
    verdicts
}

const PASS: Verdict = Verdict::Accept;
const EARLY: Verdict = Verdict::Drop(Reason::Early);
const FORCED: Verdict = Verdict::Drop(Reason::Forced);

// --- the maths ---------------------------------------------------------------------------------------------------------

#[test]
fn one_step_of_the_average() {
    // 0.998 * 7.5 + 0.002 * 20 = 7.525.
    assert!((average_step(7.5, 20.0, 0.002) - 7.525).abs() < 1e-15);
}

#[test]
fn a_step_with_whole_numbers_loses_the_places_behind_the_point() {
    // 7.5 has one binary place, 1/2: 7.5 + (20 - 7) / 2 = 14, where the real step gives 13.75.
    assert_eq!(average_step_fixed(7.5, 20.0, 0.5), 14.0);
    assert_eq!(average_step(7.5, 20.0, 0.5), 13.75);
}

#[test]
fn idle_time_decays_as_if_packets_had_found_an_empty_queue() {
    assert_eq!(idle_decay(8.0, 0.5, 3.0), 1.0);
    assert!((idle_decay(8.0, 0.75, 0.5) - 4.0).abs() < 1e-15);
}

#[test]
fn the_base_probability_at_its_corners() {
    let p = params("ns2", &[("max_probability", Value::Number(0.1))]);
    let at = |average| base_probability(&p, average);
    assert_eq!((at(4.999), at(5.0)), (0.0, 0.0));
    assert!((at(10.0) - 0.05).abs() < 1e-15); // half-way up
    assert_eq!(at(15.0), 0.1);
    assert!((at(22.5) - 0.55).abs() < 1e-15); // gentle: half-way from 0.1 to 1
    assert_eq!(at(30.0), 1.0);
    let steep = Params { gentle: false, ..p };
    assert!(base_probability(&steep, 14.999) < 0.1);
    assert_eq!(base_probability(&steep, 15.0), 1.0);
}

#[test]
fn the_spreads_by_hand() {
    let of = spread_probability;
    // p = 0.25. ns-2: nothing until the fourth, then 0.25 / (2 - 1), 0.25 / 0.75, 0.25 / 0.5, 1.
    let ns2 = [1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0].map(|n| of(Spread::Ns2, 0.25, n));
    assert_eq!(ns2, [0.0, 0.0, 0.25, 0.25 / 0.75, 0.5, 1.0, 1.0]);
    // Floyd: 0.25 / (1 - n / 4).
    let floyd = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|n| of(Spread::Floyd, 0.25, n));
    assert_eq!(floyd, [0.25, 0.25 / 0.75, 0.5, 1.0, 1.0, 1.0]);
    assert_eq!([0.0, 3.0, 100.0].map(|n| of(Spread::Bernoulli, 0.25, n)), [0.25; 3]);
}

#[test]
fn the_share_picked_is_two_thirds_two_and_one_times_p() {
    // Gaps uniform on [1/p, 2/p], on [1, 1/p - 1], and geometric with mean 1/p, by the products of their chances.
    let mean_gap = |spread, p: f64| {
        let (mut gap, mut left, mut n) = (0.0, 1.0, 1.0);
        while left > 1e-14 {
            gap += left;
            left *= 1.0 - spread_probability(spread, p, n);
            n += 1.0;
        }
        gap
    };
    let p = 0.01;
    assert!((mean_gap(Spread::Ns2, p) - 150.0).abs() < 1.0, "{}", mean_gap(Spread::Ns2, p));
    assert!((mean_gap(Spread::Floyd, p) - 50.0).abs() < 1.0, "{}", mean_gap(Spread::Floyd, p));
    assert!((mean_gap(Spread::Bernoulli, p) - 100.0).abs() < 1e-9);
}

#[test]
fn the_automatic_weight_of_ns2() {
    // 2500 packets a second: 1 - exp(-1 / (10 * 0.1 s * 2500)); with 100 ms of delay R is 3 (0.1 s + 0.4 ms).
    assert!((ns2_weight(2500.0, 0.005) - 0.000_399_920_010_665_577_6).abs() < 1e-15);
    assert!((ns2_weight(2500.0, 0.1) - 0.000_132_793_307_022_205_38).abs() < 1e-15);
    // From the link: 10 Mbit/s are 2500 packets of 500 bytes a second.
    let p = params("ns2", &[]);
    assert!((p.weight - 0.000_399_920_010_665_577_6).abs() < 1e-15);
}

#[test]
fn the_weight_that_tc_finds() {
    // Burst 8, min 5 packets: 4 <= (1 - (1 - W)^8) / W first at 1/8 (5.25; 1/4 gives 3.6).
    assert_eq!(burst_weight(5.0, 8.0), Some(0.125));
    assert_eq!(burst_weight(5.0, 3.0), None); // 3 + 1 - 5 < 1: the burst is smaller than min
    assert_eq!(params("linux", &[]).weight, 0.125); // 5000 and 15000 bytes, avpkt 1000
}

#[test]
fn the_idle_table_of_linux() {
    // W = 1/8 and 1000 us a packet: -ln(7/8) / 1000 = 1.3353e-4 halvings a microsecond; 31 of them last 232 ms, so that a cell
    // is 512 us (232158 / 512 = 453.4 < 512).
    let table = IdleTable::new(0.125, 1e-3);
    assert_eq!(table.cell_bits, 9);
    // Cell 15 is 7680 us: 1.0255. Cell 14 is 7168 us: 0.957. Cell 254: 17.36. The last is 31 by definition.
    assert_eq!([14, 15, 30, 254, 255].map(|i| table.halvings[i]), [0, 1, 2, 17, 31]);
    let real = |us: u64| table.decay(1024.0, us * 1000, None);
    assert_eq!(real(8000), 512.0);
    assert_eq!(real(128), 768.0); // linear where there is no whole halving: a quarter of a cell takes a quarter
    assert_eq!(real(5000), 512.0); // but never more than half
    assert_eq!(real(u64::MAX / 1000), 1024.0 / f64::from(1u32 << 31));
    // In whole numbers of one eighth: 1001/8 = 125.125 loses 1001 * 100 / 512 = 195, and is 806/8.
    assert_eq!(table.decay(125.125, 100_000, Some(8.0)), 100.75);
    assert_eq!(table.decay(125.125, 8_000_000, Some(8.0)), 62.5); // 1001 >> 1 = 500
}

#[test]
fn the_test_of_linux_in_whole_bytes() {
    let p = params(
        "linux",
        &[
            ("min_threshold", Value::Bytes(30_000.0)),
            ("max_threshold", Value::Bytes(90_000.0)),
            ("max_probability", Value::Number(0.02)),
            ("weight", Value::Number(1.0 / 512.0)),
        ],
    );
    assert!(p.fixed);
    // 0.02 * 2^32 = 85899345, over 60000 bytes: 1431 a byte. A draw of 1/2 is 2^31 / 1431 = 1500687 bytes:
    // 30000 bytes above the lower threshold need 50.02 packets.
    assert!(!fixed_test(&p, 60_000.0, 50.0, 0.5));
    assert!(fixed_test(&p, 60_000.0, 51.0, 0.5));
}

// --- branches ------------------------------------------------------------------------------------------------------------

#[test]
fn below_the_lower_threshold_nothing_is_picked_and_nothing_drawn() {
    for variant in ["ns2", "ns3", "linux", "floyd"] {
        assert_eq!(run(&mut sharp(variant, &[]), &[0, 1, 4, 4, 3], &[]), [PASS; 5], "{variant}");
    }
}

#[test]
fn ns2_exempts_the_first_packet_and_counts_it() {
    // p_b = 0.1 * 9/10 = 0.09 at 14. The first packet passes undrawn with count 1; then count 2 to 11 give 0, and 12
    // gives 0.09 / (2 - 1.08) = 0.0978.
    let mut red = sharp("ns2", &[]);
    assert_eq!(run(&mut red, &[14], &[]), [PASS]);
    assert_eq!(red.observe("count"), Some(1.0));
    assert_eq!(run(&mut red, &[14; 10], &[1e-9; 10]), [PASS; 10]);
    assert_eq!(run(&mut red, &[14], &[0.0978]), [EARLY]);
    assert!((red.observe("spread_probability").unwrap() - 0.09 / 0.92).abs() < 1e-12);
    assert_eq!(red.observe("count"), Some(0.0));
    assert_eq!(run(&mut red, &[14], &[1e-9]), [PASS]);
}

#[test]
fn ns2_and_ns3_spare_a_queue_of_one_and_take_the_next_packet_for_a_first() {
    for variant in ["ns2", "ns3"] {
        let mut red = sharp(variant, &[("weight", Value::Number(0.5))]);
        red.average = 30.0;
        run(&mut red, &[30], &[]); // average 30: forced or first, no draw
        red.average = 20.0;
        assert_eq!(run(&mut red, &[1], &[]), [PASS], "{variant}"); // average 10.5, but one packet waits
        assert_eq!(red.observe("probability"), Some(0.0));
        assert!(!red.above);
        assert_eq!(run(&mut red, &[9], &[]), [PASS]); // a first packet again
    }
    let mut floyd = sharp("floyd", &[("weight", Value::Number(0.5))]);
    floyd.average = 20.0;
    assert_eq!(run(&mut floyd, &[1], &[1e-9]), [EARLY]);
}

#[test]
fn floyd_judges_the_first_packet_with_a_count_of_zero() {
    // p_a = p_b = 0.05 at 10; then 0.05 / (1 - 0.05) for count 1.
    let mut red = sharp("floyd", &[]);
    assert_eq!(run(&mut red, &[10], &[0.051]), [PASS]);
    assert_eq!(red.observe("spread_probability"), Some(0.05));
    assert_eq!(run(&mut red, &[10], &[0.0526]), [EARLY]);
    assert!((red.observe("spread_probability").unwrap() - 0.05 / 0.95).abs() < 1e-15);
    assert_eq!(run(&mut red, &[10], &[0.0527]), [PASS]); // count 1 again after a pick
}

#[test]
fn linux_draws_once_for_an_interval() {
    // p_b = 0.05 at 10. The first draws 0.12 and passes; counts 1 and 2 give 0.05 and 0.10, count 3 reaches it and draws anew.
    let mut red = sharp("linux", &[]);
    assert_eq!(run(&mut red, &[10, 10, 10], &[0.12]), [PASS, PASS, PASS]);
    assert_eq!(run(&mut red, &[10], &[0.01]), [EARLY]);
    assert_eq!(run(&mut red, &[10], &[0.5]), [EARLY]); // 0.05 >= 0.01 at once
}

#[test]
fn the_count_after_a_forced_drop() {
    // ns-2: from zero. ns-3: it goes on. Linux: a first packet. Floyd: from zero, and not a first packet.
    let after = |variant: &str| {
        let mut red = sharp(variant, &[("gentle", Value::Flag(false))]);
        let draws: &[f64] = if variant == "ns2" || variant == "ns3" { &[] } else { &[0.9] };
        assert_eq!(run(&mut red, &[10], draws), [PASS], "{variant}");
        let verdicts = run(&mut red, &[15, 40], &[]);
        assert_eq!(verdicts, [FORCED; 2], "{variant}");
        assert_eq!(run(&mut red, &[10], &[0.9]), [PASS], "{variant}");
        red.observe("count").unwrap()
    };
    assert_eq!(["ns2", "ns3", "linux", "floyd"].map(after), [1.0, 4.0, 0.0, 1.0]);
}

#[test]
fn gentle_grows_to_one_at_twice_the_upper_threshold() {
    // Bernoulli, so that p_a = p_b: at 22.5 half-way from 0.1 to 1.
    let mut red = sharp("ns2", &[word("spread", "bernoulli")]);
    assert_eq!(run(&mut red, &[18, 18], &[0.281]), [PASS, PASS]); // 0.1 + 0.9 * 3/15 = 0.28
    assert_eq!(run(&mut red, &[18], &[0.279]), [EARLY]);
    assert_eq!(run(&mut red, &[29], &[0.939]), [EARLY]); // 0.94
    assert_eq!(run(&mut red, &[30], &[]), [FORCED]);
}

#[test]
fn a_full_buffer_counts_as_limit_and_restarts_the_count_of_ns2_alone() {
    let count = |variant: &str| {
        let mut red = sharp(variant, &[]);
        run(&mut red, &[10], if variant == "linux" || variant == "floyd" { &[0.9] } else { &[] });
        let full = Occupancy { full: true, ..seen(10) };
        let mut draws = Stream::scripted([0.9]);
        let verdict = red.admit(&mut packet(1000, Ecn::Capable0), Time(0), &full, &mut draws);
        assert_eq!(verdict, Verdict::Drop(Reason::Limit));
        red.observe("count").unwrap()
    };
    assert_eq!(["ns2", "ns3", "linux", "floyd"].map(count), [0.0, 2.0, 1.0, 1.0]);
}

#[test]
fn mark_all_above_looks_at_the_queue_not_at_the_average() {
    let mut red = sharp(
        "ns2",
        &[
            ("weight", Value::Number(1e-6)),
            ("mark_all_above", Value::Packets(30.0)),
            word("action", "mark-everything"),
        ],
    );
    let mut draws = Stream::scripted([]);
    let mut of =
        |length: u32, ecn: Ecn| red.admit(&mut packet(1000, ecn), Time(0), &seen(length), &mut draws);
    assert_eq!(of(29, Ecn::Capable0), PASS);
    assert_eq!(of(30, Ecn::Capable0), Verdict::Mark(Reason::Forced));
    assert_eq!(of(400, Ecn::NotCapable), PASS);
}

#[test]
fn actions_between_the_thresholds_and_above() {
    let verdict = |variant: &str, action: &str, length: u32, ecn: Ecn| {
        let given = [word("action", action), word("spread", "bernoulli"), word("draw", "packet")];
        let mut red = sharp(variant, &given);
        let mut draws = Stream::scripted([1e-9, 1e-9]);
        red.admit(&mut packet(1000, ecn), Time(0), &seen(length), &mut draws);
        red.admit(&mut packet(1000, ecn), Time(0), &seen(length), &mut draws)
    };
    let (early, forced) = (Verdict::Mark(Reason::Early), Verdict::Mark(Reason::Forced));
    use Ecn::{Capable0, NotCapable};
    for variant in ["ns2", "ns3", "linux", "floyd"] {
        assert_eq!(verdict(variant, "drop", 10, Capable0), EARLY, "{variant}");
        assert_eq!(verdict(variant, "mark", 10, Capable0), early, "{variant}");
        assert_eq!(verdict(variant, "mark", 10, NotCapable), EARLY, "{variant}");
        assert_eq!(verdict(variant, "mark-everything", 10, NotCapable), PASS, "{variant}");
        assert_eq!(verdict(variant, "mark-everything", 99, Capable0), forced, "{variant}");
        assert_eq!(verdict(variant, "mark-everything", 99, NotCapable), PASS, "{variant}");
        assert_eq!(verdict(variant, "mark", 99, NotCapable), FORCED, "{variant}");
    }
    // RFC 3168 section 7 drops above the upper threshold; so do ns-2 and ns-3, Linux only with harddrop.
    assert_eq!(
        ["ns2", "ns3", "linux", "floyd"].map(|v| verdict(v, "mark", 99, Capable0)),
        [FORCED, FORCED, forced, forced]
    );
}

#[test]
fn idle_time_by_variant() {
    // 10 Mbit/s: 500 bytes take 0.4 ms, 1000 bytes 0.8 ms. Weight 1/2, average 16, 1 ms without work.
    let average = |variant: &str| {
        let mut red = sharp(variant, &[("weight", Value::Number(0.5))]);
        red.average = 16.0;
        let idle = Occupancy { packets: 0, bytes: 0, idle_since: Some(Time(4_000_000)), ..seen(0) };
        red.admit(&mut packet(1000, Ecn::NotCapable), Time(5_000_000), &idle, &mut Stream::scripted([0.9]));
        red.average
    };
    // Two packets and a half: two and the arriving one.
    assert_eq!(average("ns2"), 2.0);
    assert_eq!(average("ns3"), 2.0);
    // Two and a half, and no step for the arriving one.
    assert!((average("floyd") - 16.0 * libm::pow(0.5, 2.5)).abs() < 1e-12);
    // -ln(1/2) / (15.625 * 800) = 5.5e-5 a microsecond; 31 of them last 559 ms, a cell is 2048 us; 1000 us are less than one,
    // and take 1000 / 2048 of the average.
    assert!((average("linux") - 16.0 * (1.0 - 1000.0 / 2048.0)).abs() < 1e-12);
}

#[test]
fn time_idle_since_just_now_is_no_time() {
    let mut red = sharp("ns2", &[("weight", Value::Number(0.5))]);
    red.average = 16.0;
    let idle = Occupancy { idle_since: Some(Time(7)), ..seen(0) };
    red.admit(&mut packet(1000, Ecn::NotCapable), Time(7), &idle, &mut Stream::scripted([]));
    assert_eq!(red.average, 8.0);
}

#[test]
fn bytes_measure_the_queue_and_favour_small_packets() {
    let given = |low: f64, high: f64| {
        [
            ("min_threshold", Value::Bytes(low)),
            ("max_threshold", Value::Bytes(high)),
            ("max_probability", Value::Number(0.1)),
            ("weight", Value::Number(1.0)),
        ]
    };
    // ns-2: at 10000 bytes p_b = 0.05. After the first (1500 bytes of 500: 3), 1500 more make 6 packets: 0.3 < 1, nothing.
    let mut red = Red::new(params("ns2", &given(5000.0, 15_000.0)));
    let mut draws = Stream::scripted([1e-9, 0.05]);
    let mut offer = |size| red.admit(&mut packet(size, Ecn::NotCapable), Time(0), &seen(10), &mut draws);
    assert_eq!([offer(1500), offer(1500)], [PASS, PASS]);
    red.count_bytes = 9999; // and 40: 10039 / 500 = 20 whole ones: p_a = 0.05 / (2 - 1) * 40 / 500 = 0.004
    let verdict = red.admit(&mut packet(40, Ecn::NotCapable), Time(0), &seen(10), &mut draws);
    assert_eq!((verdict, red.spread), (PASS, 0.05 * 40.0 / 500.0));
    // Floyd: p_b * size / 1500 before spreading.
    let mut red = Red::new(params("floyd", &given(5000.0, 15_000.0)));
    red.admit(&mut packet(750, Ecn::NotCapable), Time(0), &seen(10), &mut Stream::scripted([0.5]));
    assert!((red.spread - 0.025).abs() < 1e-15);
    // Linux does not look at the size.
    let p = params("linux", &given(5000.0, 15_000.0));
    assert_eq!((p.scaling, p.unit), (Scaling::None, Unit::Bytes));
}

// --- presets and errors --------------------------------------------------------------------------------------------------

#[test]
fn every_setting_of_a_preset_is_a_parameter_and_every_parameter_by_variant_a_setting() {
    for name in SETTINGS {
        let param = TABLE.params.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(param.default, BY_VARIANT, "{name}");
    }
    let by_variant = TABLE.params.iter().filter(|p| p.default == BY_VARIANT).count();
    assert_eq!(by_variant, SETTINGS.len());
    for p in &PRESETS {
        for name in &SETTINGS {
            let setting = p.settings.named(name).expect("a setting");
            if let (Setting::Word(word), Some(param)) =
                (setting, TABLE.params.iter().find(|p| p.name == *name))
            {
                let Type::Choice(words) = param.ty else { panic!("{name} is no choice") };
                assert!(words.contains(&word), "{:?} {name}: {word}", p.variant);
            }
        }
    }
    let rows = presets::rows();
    assert_eq!((rows.len(), rows[0].join(" ")), (SETTINGS.len() + 2, "setting ns2 ns3 linux floyd".into()));
}

#[test]
fn an_override_beats_its_preset() {
    let p = params("linux", &[("gentle", Value::Flag(true)), word("spread", "ns2")]);
    assert!(p.gentle);
    assert_eq!((p.drawn, p.spread, p.crossing), (Drawn::PerPacket, Spread::Ns2, Crossing::Exempt));
}

#[test]
fn a_completed_table_says_the_same() {
    for variant in ["ns2", "ns3", "linux", "floyd"] {
        for given in [
            vec![],
            vec![("min_threshold", Value::Packets(7.0)), word("action", "mark-everything")],
            vec![("max_threshold", Value::Bytes(45_000.0)), ("weight", Value::Number(0.002))],
        ] {
            let short = values(variant, &given);
            let mut long = short.clone();
            complete(&mut long);
            assert_eq!(Params::new(&short, LINK), Params::new(&long, LINK), "{variant} {given:?}");
            let open: Vec<&str> = SETTINGS.into_iter().filter(|l| !long.0.contains_key(l)).collect();
            let automatic = variant == "ns2" && !long.0.contains_key("weight");
            assert_eq!(open, if automatic { vec!["weight"] } else { vec![] }, "{variant}");
            let mut twice = long.clone();
            complete(&mut twice);
            assert_eq!(twice, long);
        }
    }
}

#[test]
fn what_one_threshold_says_about_the_other() {
    let p = params("ns2", &[("min_threshold", Value::Packets(20.0))]);
    assert_eq!((p.min, p.max, p.unit), (20.0, 60.0, Unit::Packets));
    let p = params("ns2", &[("max_threshold", Value::Bytes(45_000.0))]);
    assert_eq!((p.min, p.max, p.unit), (15_000.0, 45_000.0, Unit::Bytes));
    let p = params("linux", &[]);
    assert_eq!((p.min, p.max, p.unit, p.fixed), (5000.0, 15_000.0, Unit::Bytes, true));
}

#[test]
fn linux_is_exact_only_where_it_can_be() {
    let fixed = |given: &[(&'static str, Value)]| params("linux", given).fixed;
    let bytes = ("min_threshold", Value::Bytes(30_000.0));
    assert!(fixed(&[bytes.clone(), ("weight", Value::Number(0.001_953_125))]));
    assert!(!fixed(&[bytes.clone(), ("weight", Value::Number(0.002))]));
    assert!(!fixed(&[("min_threshold", Value::Packets(30.0)), ("weight", Value::Number(0.5))]));
    let asked = values("linux", &[bytes, word("arithmetic", "fixed"), ("weight", Value::Number(0.002))]);
    let problems = Params::new(&asked, LINK).unwrap_err();
    assert_eq!(problems.iter().map(|p| p.0).collect::<Vec<_>>(), ["arithmetic"]);
}

#[test]
fn impossible_combinations_are_refused_together() {
    let of = |variant: &str, given: &[(&'static str, Value)]| {
        let problems = Params::new(&values(variant, given), LINK).err().unwrap_or_default();
        problems.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (low, high) = (("min_threshold", Value::Packets(15.0)), ("max_threshold", Value::Packets(15.0)));
    let all = ("mark_all_above", Value::Packets(14.0));
    assert_eq!(of("ns2", &[low.clone(), high.clone(), all]), ["max_threshold", "mark_all_above"]);
    let bytes = ("max_threshold", Value::Bytes(45_000.0));
    assert_eq!(of("ns2", &[low, bytes]), ["max_threshold"]);
    assert_eq!(of("ns2", &[word("draw", "interval")]), ["spread"]);
    assert_eq!(of("floyd", &[word("arithmetic", "fixed")]), ["arithmetic", "arithmetic"]);
    let contradiction = [word("action", "mark-everything"), ("hard_drop", Value::Flag(true))];
    assert_eq!(of("ns2", &contradiction), ["hard_drop"]);
    // tc cannot find a weight for a burst that is shorter than the lower threshold.
    let tight = [("min_threshold", Value::Bytes(5500.0)), ("max_threshold", Value::Bytes(5600.0))];
    assert_eq!(of("linux", &tight), ["weight"]);
}
