//! Videos: closed forms of playing and stalling, what a server that is blocked writes, and time that adds up.

use crate::common::{Run, close, run, run_by};

/// Viewers of one video each over a link of `mbit` Mbit/s of payload, packets of 1,500 B with 1,460 B of it.
fn viewers(users: u32, mbit: f64, duration: u32, traffic: &str, tcp: &str) -> String {
    format!(
        r#"
duration = "{duration} s"
[links.path]
rate = "{} Mbit/s"
delay = "50 ms"
[groups.light]
users = {users}
path = ["path"]
traffic = {{ kind = "youtube"{traffic} }}
tcp = {{ stack = "rfc", mss = "1460 B", header = "40 B", max_window = "65700 B"{tcp} }}
"#,
        mbit * 1500.0 / 1460.0
    )
}

fn video(run: &Run, name: &str) -> f64 {
    run.number(&format!("groups.light.video.{name}"))
}

/// At 0.4 Mbit/s a video of 1,128 kbit/s plays for 1.8 s / (1 - 0.4 / 1.128) = 2.789 s and stalls for 1.8 s x 1.128 / 0.4 =
/// 5.076 s in turn (conex.md, section 8).
#[test]
fn a_video_at_a_third_of_its_rate() {
    let run = run(&viewers(1, 0.4, 121, "", ", send_buffer = \"2 MB\""), 1);
    let (plays, stalls) = (1.8 / (1.0 - 0.4 / 1.128), 1.8 * 1.128 / 0.4);
    // Handshake and request take two round trips, 2.2 s of video 6.2 s, slow start somewhat longer.
    let startup = video(&run, "startup_s_mean");
    assert!((6.2..7.0).contains(&startup), "{startup}");
    let cycles = ((121.0 - startup) / (plays + stalls)).floor();
    let rest = (121.0 - startup) - cycles * (plays + stalls);
    assert!((plays + 0.3..stalls).contains(&rest), "the run ends too near to a crossing: {rest}");
    assert_eq!(video(&run, "stalls"), cycles + 1.0);
    // Segments of 29 ms make each crossing late by up to one.
    close(video(&run, "stall_s_mean"), (cycles * stalls + rest - plays) / (cycles + 1.0), 0.01);
    close(video(&run, "played_s"), (cycles + 1.0) * plays, 0.01);
    close(video(&run, "stall_s_max"), stalls, 0.01);
    assert_eq!(video(&run, "finished"), 0.0);
}

#[test]
fn a_fast_network_shows_the_video_from_end_to_end() {
    let run = run(&viewers(2, 50.0, 310, "", ", send_buffer = \"2 MB\""), 1);
    assert_eq!((video(&run, "finished"), video(&run, "stalls")), (2.0, 0.0));
    assert!((video(&run, "played_s") - 600.0).abs() < 1e-6);
    // 36.66 MB after the burst: 560 chunks of 64 KiB at 1.41 Mbit/s, and how long the last takes.
    let took = run.number("groups.light.transfers.completion_s_max");
    assert!((208.2..209.0).contains(&took), "{took}");
    // Video bytes are payload: 28,973 full packets each; what ends a chunk is a smaller one, 561 of them at most.
    let packets = run.number("groups.light.sent_packets") / 2.0;
    assert!((28_973.0..=28_973.0 + 561.0).contains(&packets), "{packets}");
    assert_eq!(run.number("groups.light.transfers.bytes"), 2.0 * 42.3e6);
}

/// A link that is faster than the video and slower than the server's pace: the backlog only grows, and the link is never idle, however
/// small the buffer is in which it waits.
#[test]
fn a_blocked_server_catches_up() {
    let took = |buffer: &str| {
        let text = viewers(1, 1.3, 300, ", pace = 1.25", buffer);
        run(&text, 1).number("groups.light.transfers.completion_s_mean")
    };
    let ideal = 42.3e6 * 8.0 / 1.3e6;
    for buffer in ["", ", send_buffer = \"2 MB\"", ", send_buffer = \"100 kB\""] {
        let took = took(buffer);
        assert!((ideal..ideal + 1.5).contains(&took), "{buffer}: {took} for {ideal}");
    }
}

/// Whatever happens, the time since a viewer's request is waited, played or stalled until the end; and both paths agree.
#[test]
fn time_adds_up() {
    for (users, mbit, traffic) in [
        (5, 3.0, r#", start = { uniform = ["1 s", "9 s"] }, length = { uniform = ["5 s", "200 s"] }"#),
        (
            3,
            9.0,
            r#", bitrate = { uniform = ["200 kbit/s", "6 Mbit/s"] }, start = "2 s", resume_above = "8 s""#,
        ),
        (4, 2.0, r#", burst = "0 s", pace = 0.8, start = "3 s", videos = 3, length = "10 s""#),
    ] {
        let text = viewers(users, mbit, 60, traffic, "")
            .replace("delay =", "queue = { limit = \"30 packets\" }\ndelay =");
        let (lazy, events) = (run(&text, 3), run_by(&text, 3, true));
        assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash, "{text}");
        for user in 0..users as usize {
            let of = |name: &str| lazy.number(&format!("groups.light.video.users_{name}.{user}"));
            let watched = of("played_s") + of("stalled_s") + of("waited_s");
            assert!(watched <= 60.0 + 1e-9, "{watched}");
            let received = lazy.number(&format!("groups.light.users_goodput_bps.{user}")) * 60.0;
            assert!(of("played_s") * of("bitrate_bps") <= received * 6e6 / 200e3);
            if of("finished") == 0.0 {
                let first = watched - of("stalled_s");
                assert!(of("asked") == 1.0 && first > 0.0);
            }
            assert!(of("finished") <= of("started") && of("started") <= of("asked"));
            assert!(of("stall_s") <= of("stalled_s") + 1e-9);
        }
    }
}

/// A player on a link of 3 Mbit/s of payload: the levels are those of Ben Ameur et al. 2016, of which the fourth fits.
fn player(more: &str, tcp: &str) -> String {
    let ladder = r#"ladder = ["248 kbit/s", "456 kbit/s", "928 kbit/s", "1632 kbit/s", "4256 kbit/s"]"#;
    viewers(1, 3.0, 180, "", tcp).replace(r#"kind = "youtube""#, &format!(r#"kind = "has", {ladder}{more}"#))
}

#[test]
fn a_player_fills_its_buffer_and_is_then_on_and_off() {
    let run = run(&player(r#", adaptation = "rate""#, ", min_rto = \"200 ms\""), 1);
    let levels = run.value("groups.light.video.users_levels.0").as_array().expect("a list");
    assert_eq!(levels.first().map(|l| l[1].as_u64()), Some(Some(0)));
    assert_eq!(levels.last().map(|l| l[1].as_u64()), Some(Some(3)), "{levels:?}");
    // Twenty-odd chunks at once, then one every two seconds; the buffer is 30 s ahead at the end.
    let chunks = video(&run, "chunks");
    assert!((103.0..=106.0).contains(&chunks), "{chunks}");
    assert_eq!((video(&run, "stalls"), video(&run, "switches")), (0.0, levels.len() as f64 - 1.0));
    close(video(&run, "played_s") + video(&run, "waited_s"), 180.0, 1e-9);
    // Each off period is longer than a retransmission timeout: the window starts anew.
    assert!(run.number("groups.light.senders.restarts") > 70.0);
}

/// What was fetched is the chunks with their headers, and their bitrates are those that were asked for.
#[test]
fn bytes_fetched_are_chunks() {
    let text = player(r#", adaptation = "bola", length = "60 s", steady = "room""#, "");
    let (lazy, events) = (run(&text, 1), run_by(&text, 1, true));
    assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash);
    assert_eq!((video(&lazy, "chunks"), video(&lazy, "finished")), (30.0, 1.0));
    let bytes = video(&lazy, "bitrate_bps") * 30.0 * 2.0 / 8.0 + 30.0 * 300.0;
    close(lazy.number("groups.light.transfers.bytes"), bytes, 1e-9);
    close(video(&lazy, "played_s"), 60.0, 1e-9);
}

/// A connection for each chunk: 30 of them, each with a handshake and a slow start of its own, so that chunks take longer.
#[test]
fn a_connection_for_each_chunk() {
    let took = |more: &str| {
        let text = player(&format!(r#", adaptation = "bba-0", length = "60 s"{more}"#), "");
        let text = text.replace("duration =", "record.events = [\"open\"]\nduration =");
        let run = run(&text, 1);
        (run.column("events.open.flow").0.len(), run.number("groups.light.transfers.first_byte_s_mean"))
    };
    let (kept, first) = took("");
    let (anew, later) = took(", keep_alive = false");
    assert_eq!((kept, anew), (1, 30));
    assert!((later - first - 0.1).abs() < 0.02, "{first} {later}"); // a round trip for the handshake
}

const PAPER: &str = r#"ladder = ["248 kbit/s", "456 kbit/s", "928 kbit/s", "1632 kbit/s", "4256 kbit/s"], adaptation = "aggressive-rate", buffer_in = "chunks", request = "250 B""#;

/// A client of Ben Ameur et al. 2016 on a path of 100 ms without a bottleneck but that of its window, or of its queue.
fn home(duration: u32, window: &str, queue: &str, more: &str) -> String {
    format!(
        r#"
duration = "{duration} s"
[links.path]
rate = "1 Gbit/s"
delay = "50 ms"
queue = {{ limit = "1000 packets"{queue} }}
[groups.light]
users = 1
path = ["path"]
traffic = {{ kind = "has", {PAPER}{more} }}
tcp = {{ stack = "linux3.2", congestion_control = "cubic", max_window = "{window}" }}
"#
    )
}

/// When each other level was first asked for, s.
fn asked(run: &Run) -> Vec<(f64, u64)> {
    let list = run.value("groups.light.video.users_levels.0").as_array().expect("a list");
    list.iter().map(|l| (l[0].as_f64().expect("s"), l[1].as_u64().expect("a level"))).collect()
}

fn agrees(found: &[(f64, u64)], expected: &[(f64, u64)], by: f64) {
    let same = |(a, b): (&(f64, u64), &(f64, u64))| a.1 == b.1 && (a.0 - b.0).abs() < by;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(same),
        "{found:?}, not {expected:?}"
    );
}

/// The lone client of has-shaping.md, 2.16, behind the window that L4 is told, 58,520 B: 40 segments a round trip. The first chunk's 43
/// segments take 0.3 s behind the handshake, L2's 161 half a second, L3's 282 0.8 s, each with its request; L4 needs four chunks in the
/// buffer: at 2.5 s where nothing is shown yet (P2), at 3.3 s where each chunk is shown as it comes (P1).
#[test]
fn a_lone_client_behind_a_window() {
    for (play, fourth) in [(r#", play_at = "30 s""#, 2.5), ("", 3.3)] {
        let run = run(&home(60, "58520 B", "", play), 1);
        agrees(&asked(&run), &[(0.0, 0), (0.4, 2), (0.9, 3), (fourth, 4)], 0.005);
        // 735 segments, 40 a round trip, take 1.9 s; where it has idled for longer than its timeout (OFF*) it begins with 10 again,
        // which takes some 0.25 s more.
        let longest = run.number("groups.light.transfers.completion_s_max");
        assert!((1.85..2.2).contains(&longest), "{longest}");
    }
}

/// The same behind a token bucket of 4,681.6 kbit/s that charges 1,520 B a frame (1,514 in cells of eight): 4,460 kbit/s of payload, so that a chunk of L4 takes 1.909 s
/// at least. L4 needs seven chunks (2.16: 5.1 s and 7.6 s).
#[test]
fn a_lone_client_behind_a_token_bucket() {
    let htb = r#", scheduler = { kind = "htb", classes = { root = { rate = "8 Mbit/s" }, v = { parent = "root", rate = "4681.6 kbit/s", overhead = "14 B", leaf = { kind = "sfq", limit = "67 packets" } } } }"#;
    for (play, fourth) in [(r#", play_at = "30 s""#, 5.1), ("", 7.6)] {
        let text = home(60, "256 KiB", htb, &format!("{play}, class = \"v\""));
        let (lazy, events) = (run(&text, 1), run_by(&text, 1, true));
        assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash);
        let found = asked(&lazy);
        agrees(&found[..1], &[(0.0, 0)], 0.005);
        let (at, level) = *found.last().expect("a level");
        assert!(level == 4 && (at - fourth).abs() < 0.1, "{found:?}");
        let longest = lazy.number("groups.light.transfers.completion_s_max");
        assert!(longest > 1.909, "{longest}");
    }
}

/// Whatever a player does: its time is waited, played or stalled; what has come in is what was completed; it receives before it shows, and
/// never more than it asked for; and both paths agree.
#[test]
fn a_player_keeps_its_books() {
    let abandons = r#", abandon = { after = "100 ms", multiple = 0.8 }"#;
    let drains = r#", abandon = { how = "drain", after = "50 ms", multiple = 0.3, safety = 1.5 }"#;
    let mut abandoned = 0.0;
    for (n, more) in [
        "",
        ", connections = 3, keep_alive = false, steady = \"room\"",
        abandons,
        drains,
        ", connections = 2, abandon = { how = \"drain\", after = \"20 ms\", multiple = 0.2 }, keep_alive = false",
        ", sizes = [[\"30 kB\", \"50 kB\", \"90 kB\", \"200 kB\", \"400 kB\"], [\"90 kB\", \"150 kB\", \"290 kB\", \"600 kB\", \"1.4 MB\"]]",
        ", until = \"21.3 s\", end = \"drain\", play_at = \"6 s\", resume_at = \"6 s\"",
        ", until = \"21.3 s\", end = \"abort\", connections = 4, service = { exponential = \"80 ms\" }",
        ", until = \"21.3 s\", length = \"16 s\", steady_after = 3",
    ]
    .into_iter()
    .enumerate()
    {
        // Three viewers and a download share 4 Mbit/s.
        let text = home(40, "256 KiB", "", more)
            .replace("rate = \"1 Gbit/s\"", "rate = \"4 Mbit/s\"")
            .replace("1000 packets", "30 packets")
            .replace("users = 1", "users = 3")
            + "[groups.heavy]\nusers = 1\npath = [\"path\"]\ntraffic = { kind = \"bulk\", start = \"9 s\" }\ntcp = { congestion_control = \"cubic\" }\n";
        let (lazy, events) = (run(&text, n as u64), run_by(&text, n as u64, true));
        assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash, "{text}");
        let of = |name: &str| video(&lazy, name);
        let completed = lazy.number("groups.light.transfers.completed");
        abandoned += lazy.number("groups.light.transfers.abandoned");
        // With `end = \"close\"` a chunk may be completed behind the viewer's back.
        assert!(of("chunks_received") <= completed && completed <= of("chunks_received") + 3.0, "{more}");
        assert!(of("chunks") >= of("chunks_received"), "{more}");
        for user in 0..3 {
            let own = |name: &str| lazy.number(&format!("groups.light.video.users_{name}.{user}"));
            let leaves = if more.contains("until") { 21.3 } else { 40.0 };
            let watched = own("played_s") + own("stalled_s") + own("waited_s");
            match own("finished") {
                0.0 => close(watched, leaves - own("asked_s"), 1e-6),
                _ => close(own("played_s"), 16.0, 1e-6),
            }
            let list = |name: &str| {
                let list = lazy.value(&format!("groups.light.video.users_{name}.{user}")).as_array();
                list.expect("a list").len()
            };
            let (asks, received, shown) = (list("levels"), list("levels_received"), list("levels_shown"));
            assert!(received <= asks && shown <= received && received > 0, "{asks} {received} {shown} {more}");
            let chunk = if more.contains("16 s") { 0.0 } else { 2.0 };
            assert!(own("played_s") <= 2.0 * own("chunks_received") + chunk, "{more}");
            assert!(own("restarts") <= own("idle_periods"), "{more}");
        }
    }
    assert!(abandoned > 10.0, "hardly anything was given up: {abandoned}");
}

/// Who hangs up at 21 s gets nothing behind what was under way; a server that goes on is told by the FIN, and not by a reset.
#[test]
fn a_viewer_who_hangs_up_closes_at_once() {
    let close = |more: &str| {
        let text =
            home(40, "256 KiB", "", more).replace("duration =", "record.events = [\"close\"]\nduration =");
        let run = run(&text.replace("rate = \"1 Gbit/s\"", "rate = \"2 Mbit/s\""), 1);
        let (times, _) = run.column("events.close.flow");
        (times.to_vec(), run.number("groups.light.transfers.abandoned"))
    };
    let (drained, abandoned) = close(", until = \"21 s\", end = \"drain\"");
    let (closed, none) = close(", until = \"21 s\"");
    assert_eq!((drained.len(), closed.len(), abandoned, none), (1, 1, 1.0, 0.0));
    // Both end when the chunk has arrived, and its FINs: the one that was closed in order half a round trip and more later.
    assert!(drained[0] > 21.0 && drained[0] <= closed[0] && closed[0] < 23.0, "{drained:?} {closed:?}");
}

/// Off periods that are longer than a timeout are counted whether or not they reduced the window; those of the client's end are not.
#[test]
fn off_periods_are_those_of_the_server() {
    let text = home(40, "256 KiB", "", ", play_at = \"6 s\", buffer = \"6 s\"");
    let run = run(&text, 1);
    let own = |name: &str| run.number(&format!("groups.light.video.users_{name}.0"));
    // Full after three chunks; from then on each follows an off period: chunks of level 4 take 0.4 s and less.
    let chunks = own("chunks_received");
    assert!((own("idle_periods") - (chunks - 3.0)).abs() <= 1.0, "{} of {chunks}", own("idle_periods"));
    assert!(own("restarts") <= own("idle_periods") && own("restarts") > 5.0);
    // The threshold falls where slow start was left early, and never because of a pause.
    assert!(own("timeouts") == 0.0 && own("threshold_falls") < 3.0, "{}", own("threshold_falls"));
    // Both ends of the connection pause; the client's sends requests alone.
    assert!(run.number("groups.light.senders.restarts") >= own("restarts"));
}
