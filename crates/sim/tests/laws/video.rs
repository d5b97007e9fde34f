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
