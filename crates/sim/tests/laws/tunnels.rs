//! Tunnels on a path: inside, packets are longer and queues mark the outer header; at the end nothing of it is left, and what was lost
//! is known.

use evenflow_base::tunnel::Rules;
use evenflow_scenario::Scenario;

use crate::common::{close, run, run_by};

/// 1000 packets of 1000 B a second, ECN-capable or not, through a tunnel around a queue that marks one of ten; then over a link without
/// a queue. A second user sends TCP over the same tunnel.
fn tunnelled(ecn_capable: bool, into: &str, out: &str, more: &str) -> String {
    format!(
        r#"
duration = "20 s"
stages.into = {{ kind = "tunnel-ingress", peer = "out", {into} }}
stages.out = {{ kind = "tunnel-egress", {out} }}
links.first = {{ rate = "100 Mbit/s", delay = "1 ms" }}
links.line = {{ rate = "100 Mbit/s", delay = "5 ms", queue = {{ kind = "constant-probability", probability = 0.1 }} }}
links.last = {{ rate = "100 Mbit/s", delay = "1 ms" }}
[groups.data]
users = 1
path = ["first", "into", "line", "out", "last"]
traffic = {{ kind = "cbr", rate = "8 Mbit/s", packet = "1000 B", ecn_capable = {ecn_capable} }}
{more}
"#
    )
}

/// A link inside the tunnel carries the header too, those before and behind it do not.
#[test]
fn packets_are_longer_inside_and_nowhere_else() {
    for (overhead, bytes) in [
        ("\"ipip\"", 20.0),
        ("\"gre\"", 24.0),
        ("\"vxlan\"", 50.0),
        ("\"gtp-u\"", 36.0),
        ("\"gtp-u-sequence\"", 40.0),
        ("\"77 B\"", 77.0),
    ] {
        let r = run(&tunnelled(true, &format!("overhead = {overhead}"), "", ""), 1);
        let packets = r.number("stages.into.wrapped");
        assert_eq!(r.number("stages.into.wrapped_bytes"), packets * (1000.0 + bytes), "{overhead}");
        let rate = |link: &str| r.number(&format!("links.{link}.utilisation")) * 100e6;
        close(rate("line") / rate("first"), 1.0 + bytes / 1000.0, 1e-3);
        close(rate("last") / rate("first"), 1.0, 1e-3);
    }
}

/// Where both ends keep to RFC 6040, marks made inside are those that the receiver counts: as without a tunnel. In compatibility mode
/// nothing can be marked inside, and what is marked around a packet that is not ECN-capable is lost or dropped by its name.
#[test]
fn marks_reach_the_receiver_or_are_accounted_for() {
    for &name in Rules::WORDS {
        for capable in [true, false] {
            let rules = format!("ecn = \"{name}\"");
            let r = run(&tunnelled(capable, &rules, &rules, ""), 1);
            let of = |what: &str| r.number(&format!("stages.out.{what}"));
            let marked = r.marks("line");
            assert_eq!(
                of("marked_inside"),
                of("marks") + of("marks_lost") + r.sum("stages.out.drops"),
                "{name}"
            );
            assert!((of("marked_inside") - marked).abs() <= 5.0, "a few are under way");
            // What is not ECN-capable this queue leaves alone.
            let outside_is_capable = name == "paper" || capable && name != "rfc6040-compatibility";
            assert_eq!(marked > 1_500.0, outside_is_capable, "{name} {capable}");
            match (name, capable) {
                ("paper", false) => {
                    assert_eq!(of("marks_lost"), of("marked_inside"));
                    close(of("dangerous"), of("unwrapped"), 1e-9); // all are Not-ECT inside and something else outside
                    close(of("congestion"), 0.1, 0.1);
                }
                ("rfc6040-compatibility", _) | (_, false) => assert_eq!(of("marked_inside"), 0.0, "{name}"),
                _ => {
                    assert_eq!(of("marks"), of("marked_inside"), "{name}");
                    close(r.number("groups.data.marks"), of("marks"), 0.005);
                }
            }
        }
    }
    // Ends that do not fit together: an outer header that can be marked, and an egress that drops what it cannot hand on.
    let r = run(&tunnelled(false, r#"ecn = "paper""#, r#"ecn = "rfc6040""#, ""), 1);
    assert_eq!(r.number("stages.out.drops.unmarkable"), r.number("stages.out.marked_inside"));
    assert_eq!(r.number("groups.data.losses"), r.number("stages.out.drops.unmarkable"));
    assert!(r.number("groups.data.losses") > 1_500.0);
}

/// Numbers show what a link inside the tunnel loses, in a run in which 16 bits go round, and what one loses that is not inside does not
/// count.
#[test]
fn what_is_lost_inside_is_known_at_the_egress() {
    let text = tunnelled(true, r#"overhead = "gtp-u-sequence""#, "", "")
        .replace(r#"duration = "20 s""#, r#"duration = "80 s""#)
        .replace(r#"probability = 0.1 } }"#, r#"probability = 0.1 }, loss = 0.02 }"#)
        .replace(r#"links.last = { rate"#, r#"links.last = { loss = 0.05, rate"#);
    let r = run(&text, 1);
    assert!(r.number("stages.into.wrapped") > 65_536.0 + 10_000.0);
    let (lost, inside) = (r.number("stages.out.lost"), r.number("links.line.drops.loss"));
    assert!(inside > 1_000.0 && (lost - inside).abs() <= 2.0, "{lost} {inside}"); // the youngest may yet come
    assert_eq!(r.number("stages.out.late"), 0.0);
    let without = run(&text.replace("gtp-u-sequence", "gtp-u"), 1);
    assert_eq!(without.number("stages.out.lost"), 0.0, "there are no numbers");
}

#[test]
fn what_does_not_fit_is_dropped_by_its_name() {
    let r = run(&tunnelled(true, r#"overhead = "gtp-u", max_size = "1035 B""#, "", ""), 1);
    assert_eq!(r.number("stages.into.drops.too_big"), r.number("groups.data.losses"));
    assert_eq!(r.number("stages.into.wrapped"), 0.0);
    let r = run(&tunnelled(true, r#"overhead = "gtp-u", max_size = "1036 B""#, "", ""), 1);
    assert!(r.maybe("stages.into.drops.too_big").is_none());
}

/// TCP both ways through a tunnel in a tunnel, each way its own; both paths and unfolded give one record; a shaper in the tunnel that holds
/// packets and a lossy link leave nothing behind that the checks at the end would find.
#[test]
fn nested_tunnels_there_and_back_on_both_paths() {
    let text = r#"
duration = "10 s"
stages.into = { kind = "tunnel-ingress", peer = "out", overhead = "gtp-u-sequence" }
stages.deeper = { kind = "tunnel-ingress", peer = "up", overhead = "ipip", ecn = "rfc4301" }
stages.up = { kind = "tunnel-egress", ecn = "rfc4301" }
stages.out = { kind = "tunnel-egress" }
stages.back = { kind = "tunnel-ingress", peer = "home", overhead = "vxlan", per = "user" }
stages.home = { kind = "tunnel-egress" }
stages.shape = { kind = "shaper", rate = "9 Mbit/s", burst = "20 kB", limit = "60 packets" }
links.access = { rate = "100 Mbit/s", delay = "1 ms", per = "user" }
links.line = { rate = "10 Mbit/s", delay = "5 ms", loss = 0.002, queue = { kind = "red", variant = "floyd", action = "mark", weight = 0.05, min_threshold = "5 packets", limit = "60 packets" } }
[groups.tcp]
users = 2
path = ["access", "into", "-home", "shape", "deeper", "line", "up", "-back", "out"]
traffic = { kind = "bulk", flows = 2 }
tcp = { ecn = "accurate", stack = "linux" }
[groups.data]
users = 1
path = ["access", "line"]
traffic = { kind = "poisson", rate = "1 Mbit/s", ecn_capable = true }
"#;
    let r = run(text, 1);
    let of = |what: &str| r.number(&format!("stages.{what}"));
    assert!(of("out.marks") > 50.0, "{}", of("out.marks"));
    // Marks of the line lie two deep; the inner tunnel hands them to the outer one.
    close(of("up.marks"), of("out.marks"), 0.02);
    assert!(of("home.unwrapped") > 1_000.0 && of("back.marked_before") == 0.0);
    close(2.0 * of("back.wrapped"), of("home.unwrapped"), 0.01); // two copies, of which it is the mean
    assert_eq!(run_by(text, 1, true).outcome.record_hash, r.outcome.record_hash);
    let goodput = r.number("groups.tcp.throughput_bps");
    assert!(goodput > 3e6, "{goodput}");
}

/// A packet is in its own tunnel as it was: 6040's normal mode with copied RE changes nothing but sizes.
#[test]
fn a_transparent_tunnel_changes_sizes_alone() {
    let plain =
        tunnelled(true, r#"overhead = "20 B""#, "", "").replace(r#""into", "line", "out""#, r#""line""#);
    let plain = plain.replace("stages.into = {", "stages.unused = {").replace(", peer = \"out\"", "");
    let plain: String =
        plain.lines().filter(|line| !line.starts_with("stages.")).collect::<Vec<_>>().join("\n");
    let (with, without) = (run(&tunnelled(true, r#"overhead = "20 B""#, "", ""), 1), run(&plain, 1));
    for what in ["marks", "losses", "sent_packets"] {
        let path = format!("groups.data.{what}");
        assert_eq!(with.number(&path), without.number(&path), "{what}");
    }
}

/// Each mistake by its path, all at once.
#[test]
fn tunnels_that_make_no_sense_are_refused() {
    let refused = |stages: &str, path: &str| {
        let text = format!(
            "duration = \"1 s\"\n{stages}\nlinks.line = {{ rate = \"1 Mbit/s\" }}\n[groups.a]\nusers = 1\npath = [{path}]\n\
             traffic = {{ kind = \"cbr\", rate = \"100 kbit/s\" }}"
        );
        Scenario::from_toml(&text).map(|_| String::new()).unwrap_or_else(|e| e.to_string())
    };
    let two = "stages.into = { kind = \"tunnel-ingress\", peer = \"out\" }\nstages.out = { kind = \"tunnel-egress\" }";
    assert_eq!(refused(two, r#""into", "line", "out""#), "");
    assert_eq!(
        refused(
            "stages.into = { kind = \"tunnel-ingress\" }\nstages.out = { kind = \"tunnel-egress\" }",
            r#""into", "line", "out""#
        ),
        "stages.into.peer: is required: the stage of kind tunnel-egress that removes the header, for example \"out\"\n\
         stages.out.peer: is required: the stage of kind tunnel-ingress that adds the header, for example \"into\""
    );
    assert_eq!(
        refused(two, r#""out", "line", "into""#),
        "groups.a.path[0]: packets reach \"out\", which removes a header, without one; put its peer before it"
    );
    assert_eq!(
        refused(two, r#""into", "line", "-out""#),
        "groups.a.path[0]: packets that enter at \"into\" do not leave the tunnel before their end; put \"out\" behind it"
    );
    let four = format!(
        "{two}\nstages.b = {{ kind = \"tunnel-ingress\", peer = \"d\", teid = 7 }}\nstages.d = {{ kind = \"tunnel-egress\" }}"
    );
    let overlap = refused(&four, r#""into", "b", "line", "out", "d""#);
    assert!(
        overlap.starts_with("groups.a.path[3]: \"out\" removes the header of its peer, but the outermost"),
        "{overlap}"
    );
    let six = format!(
        "{four}\nstages.e = {{ kind = \"tunnel-ingress\", peer = \"f\", teid = 7 }}\nstages.f = {{ kind = \"tunnel-egress\" }}"
    );
    assert_eq!(
        refused(&six, r#""into", "b", "e", "line", "f", "d", "out""#),
        "groups.a.path[2]: \"e\" would be the third tunnel around a packet; there may be two\n\
         stages.e.teid: 7 is the number of \"b\" too; no two tunnels have one number"
    );
    // What is wrong with another stage hides nothing of them.
    let more = format!("{six}\nstages.r = {{ kind = \"rewriter\", ecn = \"ect2\" }}");
    let both = refused(&more, r#""into", "b", "e", "line", "r", "f", "d", "out""#);
    assert_eq!(both.lines().count(), 3, "{both}");
    let said = |line: &str| {
        refused(
            &two.replace("peer = \"out\"", &format!("peer = \"out\", {line}")),
            r#""into", "line", "out""#,
        )
    };
    assert_eq!(
        said("overhead = \"gpt-u\""),
        "stages.into.overhead: \"gpt-u\" is not valid; did you mean \"gtp-u\"?"
    );
    assert_eq!(said("overhead = 36"), "stages.into.overhead: needs a unit, for example \"64 KiB\"");
    assert_eq!(
        said("overhead = \"gtp-u\", max_size = \"36 B\""),
        "stages.into.max_size: must exceed the header, 36 B; no packet would fit"
    );
    assert_eq!(
        said("ecn = \"rfc6004\""),
        "stages.into.ecn: \"rfc6004\" is not valid; did you mean \"rfc6040\"?"
    );
    assert!(
        said("re = \"neutral\"")
            .starts_with("stages.into.re: \"neutral\" gives the tunnel separate accounts")
    );
}
