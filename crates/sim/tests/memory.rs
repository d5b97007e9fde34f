//! The memory that components report, against an allocator that counts, and the limit.

use std::sync::atomic::AtomicBool;

use evenflow_scenario::Scenario;
use evenflow_sim::{Options, RunError};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const WEB: &str =
    r#"traffic = { kind = "web", page_size = "30 kB", objects = 5, think = { exponential = "1 s" } }"#;

/// A name, and a scenario.
fn scenarios() -> Vec<(&'static str, String)> {
    let link = |queue: &str, rate: &str, delay: &str, group: &str| {
        format!(
            "duration = \"5 s\"\nlinks.l = {{ rate = \"{rate}\", delay = \"{delay}\"{queue} }}\n\
             groups.g = {{ path = [\"l\"], {group} }}\n"
        )
    };
    let bulk = |users: u32, more: &str| format!("users = {users}, traffic = {{ kind = \"bulk\" }}{more}");
    let control =
        |kind: &str| bulk(2000, &format!(", tcp = {{ congestion_control = {{ kind = \"{kind}\" }} }}"));
    vec![
        ("bulk", link("", "1 Gbit/s", "50 ms", &bulk(2000, ""))),
        ("cubic", link("", "1 Gbit/s", "50 ms", &control("cubic"))),
        ("ledbat", link("", "1 Gbit/s", "50 ms", &control("ledbat"))),
        ("a fat link", link("", "10 Gbit/s", "500 ms", &bulk(20, ""))),
        (
            "a flood",
            link("", "1 Mbit/s", "5 ms", r#"users = 1, traffic = { kind = "cbr", rate = "500 Mbit/s" }"#),
        ),
        (
            "a flood of CoDel",
            link(
                r#", queue = { kind = "codel" }"#,
                "1 Mbit/s",
                "5 ms",
                r#"users = 1, traffic = { kind = "cbr", rate = "500 Mbit/s" }"#,
            ),
        ),
        ("web", link("", "1 Gbit/s", "20 ms", &format!("users = 3000, {WEB}"))),
        (
            "short flows",
            link(
                "",
                "1 Gbit/s",
                "200 ms",
                r#"users = 1000, traffic = { kind = "short-flows", size = "20 kB", interval = { exponential = "300 ms" } }"#,
            ),
        ),
        (
            "queues of users",
            link(r#", per = "user", queue = { kind = "fq-codel" }"#, "5 Mbit/s", "20 ms", &bulk(100, "")),
        ),
        (
            "a tree",
            link(
                r#", queue = { scheduler = { kind = "htb", per = "user", each = { rate = "1 Mbit/s", leaf = { kind = "sfq" } } } }"#,
                "1 Gbit/s",
                "20 ms",
                &bulk(500, ""),
            ),
        ),
        (
            "a shaper",
            "duration = \"5 s\"\nstages.s = { kind = \"shaper\", rate = \"10 Mbit/s\", burst = \"30 kB\" }\n\
             links.l = { rate = \"1 Gbit/s\", delay = \"5 ms\" }\n\
             groups.g = { users = 1, path = [\"s\", \"l\"], traffic = { kind = \"cbr\", rate = \"500 Mbit/s\" } }\n"
                .to_owned(),
        ),
        (
            "lists and series",
            link("", "100 Mbit/s", "5 ms", &bulk(10, ""))
                + "record.events = [\"arrival\", \"drop\"]\n\
                   record.series = [{ of = \"links.l.queue.packets\", every = \"packet\" }, \
                   { of = \"links.l.queue.bytes\", every = \"10 us\" }]\n",
        ),
        (
            "lost packets",
            link(
                r#", loss = { probability = 0.01 }"#,
                "1 Gbit/s",
                "200 ms",
                &bulk(500, ", tcp = { congestion_control = { kind = \"constant\", window = \"500 packets\" } }"),
            ),
        ),
    ]
}

/// How far from the truth a report may be.
const FACTOR: f64 = 1.5;
/// Bytes of a run that nobody reports: names, tables of a scenario's size.
const SMALL: f64 = 1e6;

/// One test, because the allocator counts the whole process.
#[test]
fn reports_limits_and_bounds() {
    components_report_what_they_hold_and_a_limit_ends_a_run();
    a_limit_is_no_part_of_a_record();
}

fn components_report_what_they_hold_and_a_limit_ends_a_run() {
    let stop = AtomicBool::new(false);
    for (name, text) in scenarios() {
        let scenario = Scenario::from_toml(&text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"));
        let before = ALLOCATOR.current_usage();
        let (result, remains) = evenflow_sim::attempt(&scenario, 1, Options::default(), &stop);
        drop(result.unwrap_or_else(|e| panic!("{name}: {e}")));
        let held = (ALLOCATOR.current_usage() - before) as f64;
        let reported = remains.heap_bytes() as f64;
        eprintln!("{name}: {held:.0} bytes held, {reported:.0} reported, {:.2}", reported / held);
        let (least, most) = ((held - SMALL) / FACTOR, held * FACTOR + SMALL);
        assert!((least..most).contains(&reported), "{name}: {held} bytes held, {reported} reported");
        // The bound before a run counts users, copies and series.
        let bound = evenflow_sim::memory_bytes(&scenario) as f64;
        assert!(bound <= reported + 65536.0, "{name}: {bound} is more than {reported}");
        drop(remains);

        // A third of that is too little, and is never exceeded by much.
        let limit = (reported / 3.0) as u64;
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let options = Options { memory: Some(limit), ..Options::default() };
        let error = evenflow_sim::run(&scenario, 1, options, &stop).expect_err(name);
        let peak = (ALLOCATOR.peak_usage() - before) as f64;
        let RunError::Memory { seconds, ref largest, .. } = error else { panic!("{name}: {error}") };
        eprintln!("  {error}; peak {peak:.0}");
        assert!(seconds < 5.0 && largest.len() == 3 && largest[0].1 >= largest[2].1, "{name}: {error}");
        assert!(peak < FACTOR * limit as f64 + 8.0 * SMALL, "{name}: {peak} bytes at a limit of {limit}");
    }
}

/// A limit that suffices changes nothing.
fn a_limit_is_no_part_of_a_record() {
    let text = &scenarios()[0].1.replace("2000", "20");
    let scenario = Scenario::from_toml(text).unwrap_or_else(|e| panic!("{e}"));
    let hash = |memory: Option<u64>| {
        let options = Options { memory, ..Options::default() };
        let outcome = evenflow_sim::run(&scenario, 1, options, &AtomicBool::new(false));
        outcome.expect("it has room").record_hash
    };
    assert_eq!(hash(None), hash(Some(1 << 30)));
}
