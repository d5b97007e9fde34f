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
