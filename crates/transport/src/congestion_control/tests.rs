//! What holds for every congestion control, whatever is called in whatever order.

use evenflow_base::schema::{Fallback, Param, Type, Value};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::profile::{Ecn, UndoTo};

const MSS: f64 = 1448.0;

fn number(x: f64) -> Value {
    Value::Number(x)
}

fn word(text: &str) -> Value {
    Value::Word(text.into())
}

/// The parameters of a control, as its table has them where a test does not.
fn values(kind: &str, more: &[(&'static str, Value)]) -> Values {
    let table = CONTROLS.iter().find(|table| table.kind == kind).expect("a registered control");
    let default = |param: &Param| match (param.default, param.ty) {
        (Fallback::Absent(_), _) => None,
        (Fallback::Required, ty) => panic!("a test must give {} of {kind}, a {ty:?}", param.name),
        (Fallback::Text(text), Type::Choice(_)) => Some(word(text)),
        (Fallback::Text(text), Type::Flag) => Some(Value::Flag(text == "true")),
        (Fallback::Text(text), ty) => {
            let x = text.split(' ').next().and_then(|x| x.parse().ok()).expect("a number");
            Some(if ty == Type::Packets { Value::Packets(x) } else { number(x) })
        }
    };
    let defaults = table.params.iter().filter_map(|param| Some((param.name, default(param)?)));
    let mut values = Values(defaults.collect());
    values.0.extend(more.iter().cloned());
    values
}

#[test]
fn a_flow_of_newreno_pays_nothing_for_the_others() {
    assert_eq!(size_of::<CongestionControl>(), size_of::<NewReno>() + size_of::<Window>());
}

#[test]
fn a_constant_window_stays() {
    let mut cc =
        Kind::build("constant", &values("constant", &[]), &Profile::rfc(), 1.0).expect("it is sound");
    let mut w = Window { cwnd: 4.0 * MSS, ssthresh: f64::INFINITY };
    let cc = cc.get_mut();
    cc.on_start(&mut w, MSS);
    assert_eq!(w.cwnd, 10.0 * MSS);
    let event = Congestion::new(Signal::Timeout, Time::ZERO, 3.0 * MSS, MSS);
    assert_eq!(cc.ssthresh(&w, &event), 10.0 * MSS);
    assert_eq!(cc.min_window(MSS), 10.0 * MSS);
    w.cwnd = 13.0 * MSS; // what a recovery made of it
    cc.grow(&mut w, &acked(Time::ZERO, 5, None, 1));
    assert_eq!(w.cwnd, 10.0 * MSS);
}

#[test]
fn what_answers_single_marks_needs_to_be_told_of_them() {
    let contradicts = |kind: &str, react: &str, ecn| {
        let profile = Profile { ecn, ..Profile::ns2() };
        !contradictions(kind, &values(kind, &[("react", word(react))]), &profile).is_empty()
    };
    for (ecn, wtp, multcp) in [
        (Ecn::Off, true, true),
        (Ecn::Classic, true, true),
        (Ecn::Accurate, true, false),
        (Ecn::PerPacket, false, false),
    ] {
        assert_eq!(contradicts("wtp", "", ecn), wtp, "{ecn:?}");
        assert_eq!(contradicts("multcp", "every-mark", ecn), multcp, "{ecn:?}");
        assert!(!contradicts("multcp", "once-per-rtt", ecn));
        assert!(!contradicts("newreno", "", ecn));
    }
}

#[test]
fn after_a_mark_the_window_may_be_smaller_than_the_least_threshold() {
    let small = Window { cwnd: 2.0 * MSS, ssthresh: 2.0 * MSS };
    let event = Congestion::new(Signal::Mark, Time::ZERO, 2.0 * MSS, MSS);
    let after = |kind: &str, profile: Profile| {
        let mut cc = Kind::build(kind, &values(kind, &[]), &profile, 1.0).expect("it is sound");
        let mut w = small;
        cc.get_mut().on_congestion_event(&mut w, &event);
        assert_eq!(w.ssthresh, 2.0 * MSS, "{kind}");
        w.cwnd / MSS
    };
    assert_eq!(after("newreno", Profile::rfc()), 1.0); // RFC 3168 section 6.1.2
    assert_eq!(after("newreno", Profile::ns2()), 1.0);
    assert_eq!(after("multcp", Profile::ns2()), 1.0);
    assert_eq!(after("cubic", Profile::rfc()), 1.4); // RFC 9438 section 4.6
    assert_eq!(after("cubic", Profile::linux()), 2.0);
}

fn acked(now: Time, segments: u64, rtt: Option<Duration>, marks: u32) -> Acked {
    Acked {
        now,
        una: now.0 / 1000,
        next: now.0 / 1000 + 100_000,
        bytes: segments * MSS as u64,
        segments,
        mss: MSS,
        flight: f64::INFINITY,
        rtt,
        one_way: None,
        marks,
    }
}

/// Every control with every variant of it, on stacks that differ.
fn controls() -> impl Strategy<Value = Kind> {
    let profile = prop_oneof![
        Just(Profile::rfc()),
        Just(Profile::linux()),
        Just(Profile::linux3_2()),
        Just(Profile::ns3_26()),
        Just(Profile::ns2()),
        Just(Profile::ns2_linux())
    ];
    let cubic = (
        prop_oneof![Just("rfc"), Just("linux"), Just("linux-3.2")],
        prop_oneof![
            Just("standard"),
            Just("hystart"),
            Just("hystart++"),
            Just("search"),
            Just("search-drain")
        ],
        0.01..10.0,
        0.1..0.99,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(form, start, c, beta, fast, friendly)| {
            (
                "cubic",
                vec![
                    ("form", word(form)),
                    ("slow_start", word(start)),
                    ("c", number(c)),
                    ("beta", number(beta)),
                    ("fast_convergence", Value::Flag(fast)),
                    ("reno_friendly", Value::Flag(friendly)),
                ],
            )
        });
    let multcp = prop_oneof![Just("once-per-rtt"), Just("every-mark")]
        .prop_map(|react| ("multcp", vec![("react", word(react))]));
    let wtp = (
        prop_oneof![Just("proportional-increase"), Just("inverse-decrease")],
        prop_oneof![Just("none"), Just("slow-start-until-mark")],
        prop_oneof![Just("increase"), Just("none")],
        0.01..4.0,
    )
        .prop_map(|(form, start, marked, gain)| {
            let words =
                [("form", form), ("start", start), ("marked_ack", marked)].map(|(name, of)| (name, word(of)));
            ("wtp", words.into_iter().chain([("gain", number(gain))]).collect())
        });
    let any = proptest::sample::select(CONTROLS).prop_map(|table| (table.kind, Vec::new()));
    let ledbat =
        prop_oneof![Just("rfc"), Just("ns2")].prop_map(|form| ("ledbat", vec![("form", word(form))]));
    let kind = prop_oneof![2 => any, 1 => cubic, 1 => multcp, 1 => wtp, 1 => ledbat];
    (kind, profile, 1.0..20.0).prop_map(|((kind, more), profile, weight)| {
        Kind::build(kind, &values(kind, &more), &profile, weight).expect("it is sound")
    })
}

/// What a sender may do.
#[derive(Clone, Debug)]
enum Step {
    Ack { after: u64, segments: u64, rtt: Option<u64>, marks: u32, open: bool },
    Event(Signal, f64),
    Resumed(u64),
    Held(u64),
    Undo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rtt = proptest::option::of(0u64..2_000_000_000);
    let ack = (0u64..50_000_000, 0u64..50, rtt, 0u32..4, prop::bool::weighted(0.9))
        .prop_map(|(after, segments, rtt, marks, open)| Step::Ack { after, segments, rtt, marks, open });
    let signal = prop_oneof![Just(Signal::Loss), Just(Signal::Mark), Just(Signal::Timeout)];
    let step = prop_oneof![
        20 => ack,
        2 => (signal, 0.0..200.0).prop_map(|(signal, flight)| Step::Event(signal, flight)),
        1 => (0u64..100_000_000_000).prop_map(Step::Resumed),
        1 => (0u64..1_000_000_000).prop_map(Step::Held),
        1 => Just(Step::Undo),
    ];
    proptest::collection::vec(step, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 500, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens, the window is a finite number from the floor on, and a threshold has two segments at least.
    #[test]
    fn the_window_is_sound_whatever_happens(mut cc in controls(), steps in steps(), initial in 1.0..20.0) {
        let mut w = Window { cwnd: initial * MSS, ssthresh: f64::INFINITY };
        let mut now = Time(0);
        cc.get_mut().on_start(&mut w, MSS);
        for step in steps {
            match step {
                Step::Ack { after, segments, rtt, marks, open } => {
                    now += Duration(after);
                    let told = acked(now, segments, rtt.map(Duration), marks);
                    cc.on_ack(&mut w, &Acked { one_way: told.rtt, ..told }, open);
                    if !open {
                        continue;
                    }
                    let marks = if cc.get().needs().every_mark { marks } else { 0 };
                    let before = w.cwnd;
                    cc.grow(&mut w, &Acked { marks, ..told });
                    let held = matches!(cc, Kind::Constant(_) | Kind::Ledbat(_));
                    prop_assert!(marks > 0 || held || w.cwnd >= before, "an ACK took from {before}: {w:?}");
                }
                Step::Event(signal, flight) => {
                    let event = Congestion::new(signal, now, flight * MSS, MSS);
                    cc.get_mut().on_congestion_event(&mut w, &event);
                    let least = if matches!(cc, Kind::Wtp(_)) { 1.0 } else { 2.0 };
                    // A control of rate samples has no threshold.
                    let has_threshold = !cc.get().needs().rate_samples;
                    prop_assert!(w.ssthresh.is_finite() || !has_threshold, "{w:?}");
                    prop_assert!(w.ssthresh >= least * MSS, "{w:?}");
                    match signal {
                        Signal::Loss if !has_threshold => {}
                        Signal::Loss => w.cwnd = w.ssthresh,
                        Signal::Mark => {}
                        Signal::Timeout => w.cwnd = cc.get().min_window(MSS),
                    }
                }
                Step::Resumed(idle) => {
                    now += Duration(idle);
                    cc.get_mut().on_idle_restart(Duration(idle));
                }
                Step::Held(after) => {
                    now += Duration(after);
                    cc.on_application_limited(now);
                }
                Step::Undo => {
                    let before = w;
                    let spurious = Spurious { before, to: UndoTo::Before, mss: MSS };
                    cc.get_mut().on_spurious_loss(&mut w, &spurious);
                    prop_assert_eq!(w, before);
                }
            }
            prop_assert!(w.cwnd.is_finite() && w.cwnd >= cc.get().min_window(MSS), "{w:?}");
            prop_assert!(w.ssthresh >= MSS, "{w:?}");
        }
    }

    /// The larger the window at a loss, the larger the threshold: no control rewards having had less.
    #[test]
    fn thresholds_are_in_order(cc in controls(), small in 1.0..500.0, more in 0.0..500.0) {
        let threshold = |cwnd: f64| {
            let w = Window { cwnd: cwnd * MSS, ssthresh: MSS };
            let event = Congestion::new(Signal::Loss, Time::ZERO, cwnd * MSS, MSS);
            cc.clone().get_mut().ssthresh(&w, &event)
        };
        prop_assert!(threshold(small) <= threshold(small + more));
    }
}
