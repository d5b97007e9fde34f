//! Scenarios at random: whatever is valid runs, conserves its packets, and has one record on both paths.
//!
//! `run` itself fails where packets sent are not packets arrived, dropped or under way, link by link and in all.

use std::sync::atomic::AtomicBool;

use evenflow_base::Stream;
use evenflow_scenario::Scenario;
use evenflow_sim::Options;

use crate::common::{Run, run_by};

/// A generator of scenario texts.
struct Dice(Stream);

impl Dice {
    /// A whole number from `low` to `high`.
    fn number(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.bits() % (high - low + 1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.number(1, 100) <= percent
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.number(0, list.len() as u64 - 1) as usize]
    }

    fn limit(&mut self) -> String {
        match self.number(0, 2) {
            0 => format!("limit = \"{} packets\"", self.number(1, 40)),
            1 => format!("limit = \"{} B\"", self.number(1, 60_000)),
            _ => format!("limit = \"{} ms\"", self.number(1, 80)),
        }
    }

    fn queue(&mut self) -> String {
        let limit = self.limit();
        let action = self.pick(&["drop", "mark", "mark-everything"]);
        let rule = match self.number(0, 19) {
            0 => format!(
                ", kind = \"activity-aqm\", q_min = \"1 packets\", q_base = \"{} packets\", gamma = \"{} packets\"",
                self.number(1, 30),
                self.number(0, 40)
            ),
            1 => format!(
                ", kind = \"activity-aqm\", q_min = \"2 ms\", q_base = \"20 ms\", gamma = \"{} ms\", rate_estimate = \"{}\"",
                self.number(0, 30),
                self.pick(&["link", "departures"])
            ),
            2 => format!(", kind = \"csfq\", form = \"{}\"", self.pick(&["ns2", "paper"])),
            3..=6 => {
                let low = self.number(1, 20);
                let unit = self.pick(&["packets", "kB"]);
                let weight = self.pick(&[
                    "",
                    ", weight = 0.002",
                    ", weight = 1",
                    ", weight = 0.125",
                    ", weight = 0.3",
                ]);
                let all = match self.number(0, 3) {
                    0 => format!(", mark_all_above = \"{} {unit}\"", low + self.number(0, 20)),
                    _ => String::new(),
                };
                let more = self.pick(&[
                    "",
                    ", gentle = true",
                    ", gentle = false",
                    ", draw = \"packet\", spread = \"bernoulli\"",
                    ", draw = \"interval\", spread = \"floyd\"",
                    ", crossing = \"judged\", size_scaling = \"mean\"",
                    ", idle = \"exact\", after_forced = \"crossing\"",
                    ", idle = \"table\", max_probability = 1",
                ]);
                format!(
                    ", kind = \"red\", variant = \"{}\", action = \"{action}\", min_threshold = \"{low} {unit}\", \
                     max_threshold = \"{} {unit}\"{weight}{all}{more}",
                    self.pick(&["ns2", "ns3", "linux", "floyd"]),
                    low + self.number(1, 20),
                )
            }
            7 => format!(
                ", kind = \"virtual-queue\", mark = \"{}\", buffer = \"{}\", rate_factor = 0.{}, action = \"{action}\"",
                self.pick(&["busy-arrival", "overflow"]),
                self.pick(&["2 packets", "30 packets", "900 B", "20 kB"]),
                self.number(1, 99)
            ),
            8 => ", kind = \"virtual-queue\", mark = \"busy-departure\"".into(),
            9 => format!(
                ", kind = \"load-based\", interval = \"{} us\", count = \"{}\", window = \"{}\", action = \"{action}\"",
                self.number(10, 900_000),
                self.pick(&["arrivals", "departures"]),
                self.pick(&["fixed", "sliding"])
            ),
            10 => format!(
                ", kind = \"constant-probability\", probability = 0.{}, action = \"{action}\"",
                self.number(0, 99)
            ),
            11 => format!(
                ", kind = \"rem\", period = \"{} us\", target = \"{} packets\", gain = 0.{}, base = 1.0{}, action = \"{action}\"",
                self.number(50, 20_000),
                self.number(0, 30),
                self.number(1, 99),
                self.number(1, 9)
            ),
            12 | 13 => format!(
                ", kind = \"codel\", target = \"{} us\", interval = \"{} ms\", ecn = {}{}",
                self.number(100, 20_000),
                self.number(1, 200),
                self.pick(&["true", "false"]),
                self.pick(&["", ", ce_threshold = \"1 ms\""])
            ),
            14 | 15 => format!(
                ", kind = \"pie\", target = \"{} us\", period = \"{} us\", alpha = {}, max_burst = \"{} ms\", \
                 ecn_threshold = 0.{}, latency = \"{}\", derandomize = {}, rate_threshold = \"{} B\"",
                self.number(100, 20_000),
                self.number(100, 20_000),
                self.number(0, 20),
                self.number(0, 200),
                self.number(0, 9),
                self.pick(&["timestamps", "link-rate", "departure-rate"]),
                self.pick(&["true", "false"]),
                self.number(1, 20_000)
            ),
            16 => {
                let own = format!(
                    ", kind = \"fq-codel\", target = \"{} us\", interval = \"{} ms\", flows = {}, quantum = \"{} B\", \
                     drop_batch = {}{}",
                    self.number(100, 20_000),
                    self.number(1, 200),
                    self.number(1, 40),
                    self.number(1, 4000),
                    self.number(1, 64),
                    self.pick(&["", ", memory_limit = \"9 kB\""])
                );
                return format!("queue = {{ {limit}{own} }}");
            }
            _ => String::new(),
        };
        let scheduler = match self.number(0, 4) {
            1 => format!(
                ", scheduler = {{ kind = \"sfq\", per = \"{}\", quantum = \"{} B\", divisor = {}{} }}",
                self.pick(&["user", "flow"]),
                self.number(1, 4000),
                self.number(1, 40),
                self.pick(&["", ", perturb = \"300 ms\""])
            ),
            0 => format!(
                ", scheduler = {{ kind = \"drr\", per = \"{}\", quantum = \"{} B\", overflow = \"{}\" }}",
                self.pick(&["user", "flow", "class"]),
                self.number(1, 4000),
                self.pick(&["longest", "arriving"])
            ),
            _ => String::new(),
        };
        format!("queue = {{ {limit}{rule}{scheduler} }}")
    }

    fn per(&mut self) -> &'static str {
        self.pick(&[
            "",
            "",
            "per = \"user\", ",
            "per = \"flow\", ",
            "per = \"group\", ",
            "per = \"2 users\", ",
        ])
    }

    fn link(&mut self, name: &str) -> String {
        let per = self.per();
        let rate = match self.number(0, 5) {
            0 => format!("\"{} kbit/s\"", self.number(1, 20_000)),
            4 => format!("{{ opportunities = [0, 3, 3, 4, {}] }}", self.number(4, 40)),
            5 => format!(
                "\"{} kbit/s\", serve = {{ kind = \"grants\", every = \"{} us\", wait = \"{} us\" }}",
                self.number(1, 20_000),
                self.number(50, 9000),
                self.number(0, 9000)
            ),
            1 => format!("\"{}.{:03} Mbit/s\"", self.number(0, 20), self.number(1, 999)),
            2 => "{ uniform = [\"1 Mbit/s\", \"9 Mbit/s\"] }".into(),
            _ => format!(
                "{{ steps = [[\"0 s\", \"{} kbit/s\"], [\"2 s\", \"{} kbit/s\"], [\"3.3 s\", \"{} kbit/s\"]] }}",
                self.number(1, 9000),
                self.number(0, 1) * self.number(1, 9000),
                self.number(1, 9000)
            ),
        };
        let delay = self.pick(&[
            "\"0 s\"",
            "\"0.1 ms\"",
            "\"13 ms\"",
            "{ uniform = [\"0 ms\", \"40 ms\"] }",
            "{ values = [\"1 ms\", \"20 ms\"] }",
        ]);
        let queue = if self.chance(80) { format!(", {}", self.queue()) } else { String::new() };
        let loss = match self.number(0, 6) {
            2 => format!(", loss = {{ every = {}, from = \"0.5 s\" }}", self.number(1, 40)),
            0 => format!(", loss = 0.{:02}", self.number(0, 30)),
            1 => format!(
                ", loss = {{ probability = 0.1, from = \"1 s\", until = \"{} s\", direction = \"{}\" }}",
                self.number(2, 9),
                self.pick(&["forward", "reverse", "both"])
            ),
            _ => String::new(),
        };
        let reverse = if self.chance(40) {
            let rate = self.number(5, 5000);
            format!(", reverse = {{ rate = \"{rate} kbit/s\", delay = \"2 ms\", {} }}", self.queue())
        } else {
            String::new()
        };
        format!("links.{name} = {{ {per}rate = {rate}, delay = {delay}{queue}{loss}{reverse} }}\n")
    }

    fn traffic(&mut self) -> String {
        match self.number(0, 4) {
            0 => format!(
                "{{ kind = \"bulk\", flows = {}, start = {{ uniform = [\"0 s\", \"1 s\"] }} }}",
                self.number(1, 6)
            ),
            1 => format!("{{ kind = \"upload\", size = \"{} B\" }}", self.number(1, 300_000)),
            2 => format!(
                "{{ kind = \"poisson\", rate = \"{} kbit/s\", packet = {{ exponential = \"{} B\" }}, ecn_capable = {} }}",
                self.number(10, 9000),
                self.number(20, 3000),
                self.chance(50)
            ),
            3 => format!(
                "{{ kind = \"cbr\", rate = \"{} kbit/s\", packet = \"{} B\" }}",
                self.number(10, 5000),
                self.number(10, 3000)
            ),
            _ => "[{ kind = \"bulk\" }, { kind = \"poisson\", rate = \"1 Mbit/s\" }, { kind = \"upload\", size = \"10 kB\", flows = 2 }]".into(),
        }
    }

    fn group(&mut self, name: &str) -> String {
        let mut path = Vec::new();
        for link in ["a", "b", "c"] {
            if self.chance(60) {
                path.push(format!("\"{}{link}\"", if self.chance(25) { "-" } else { "" }));
            }
        }
        if path.is_empty() {
            path.push("\"a\"".into());
        }
        if self.chance(50) {
            path.reverse();
        }
        if self.chance(70) {
            path.insert(self.number(0, path.len() as u64) as usize, "\"label\"".into());
        }
        let traffic = self.traffic();
        let tcp = if traffic.contains("bulk") || traffic.contains("upload") {
            format!(
                "tcp = {{ stack = \"{}\", ecn = \"{}\", ack_every = {}, max_window = \"{} B\", initial_window = \"{} packets\"{} }}",
                self.pick(&["ns3.26", "ns2", "rfc", "linux"]),
                self.pick(&["off", "classic", "accurate"]),
                self.number(1, 3),
                self.pick(&["2000", "20000", "131072", "1000000000"]),
                self.number(1, 20),
                self.pick(&["", ", min_rto = \"20 ms\"", ", retries = \"unlimited\"", ", mss = \"100 B\""])
            )
        } else {
            String::new()
        };
        let processing = self.pick(&[
            "",
            "processing = { uniform = [\"0 s\", \"2 ms\"] }",
            "processing = \"1 ms\"",
            "processing = { exponential = \"1 ms\" }",
        ]);
        format!(
            "[groups.{name}]\nusers = {}\npath = [{}]\nweight = {}\ntraffic = {traffic}\n{tcp}\n{processing}\n",
            self.number(1, 4),
            path.join(", "),
            self.pick(&["1", "2.5", "{ uniform = [0.5, 3.0] }"]),
        )
    }

    fn scenario(&mut self) -> String {
        let mut text = format!("duration = \"4 s\"\nwarmup = \"{} s\"\n", self.number(0, 2));
        for name in ["a", "b", "c"] {
            text += &self.link(name);
        }
        let kinds = ["activity-meter", "fair-activity-meter", "csfq-edge", "rate-meter"];
        text += &format!("stages.label = {{ {}kind = \"{}\" }}\n", self.per(), self.pick(&kinds));
        for name in ["g", "h", "k"].iter().take(self.number(1, 3) as usize) {
            text += &self.group(name);
        }
        text
    }
}

#[test]
fn whatever_is_valid_runs_and_has_one_record() {
    let mut dice = Dice(Stream::new(1, "scenarios"));
    for n in 0..150 {
        let text = dice.scenario();
        let (lazy, events) = (run_by(&text, n, false), run_by(&text, n, true));
        for part in ["groups", "links", "stages"] {
            assert_eq!(lazy.value(part), events.value(part), "{part} of\n{text}");
        }
        assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash, "{text}");
    }
}

impl Dice {
    /// A group whose applications open flows on the way.
    fn applications(&mut self, name: &str) -> String {
        let end = match self.number(0, 3) {
            0 => ", until = \"2.5 s\", end = \"abort\"",
            1 => ", until = \"3 s\", end = \"close\"",
            _ => "",
        };
        let bytes = self.number(1, 60_000);
        let traffic = match self.number(0, 8) {
            0 => format!(
                "kind = \"short-flows\", size = {{ pareto = [\"{bytes} B\", 1.{}] }}, interval = {{ gamma = [\"{} ms\", 0.5] }}{end}",
                self.number(1, 9),
                self.number(20, 900)
            ),
            1 => format!(
                "kind = \"request-response\", request = \"{} B\", response = {{ lognormal = [\"{bytes} B\", 1] }}, think = \"{} ms\", keep_alive = {}, patience = \"{} ms\"{end}",
                self.number(1, 9_000),
                self.number(1, 900),
                self.chance(50),
                self.number(50, 3_000)
            ),
            2 => format!(
                "kind = \"web\", page_size = \"{bytes} B\", object_size = {{ exponential = \"9 kB\" }}, objects = {}, connections = {}, think = {{ exponential = \"400 ms\" }}{end}",
                self.number(1, 9),
                self.number(1, 6)
            ),
            3 => format!("kind = \"ping\", interval = \"{} ms\"", self.number(1, 500)),
            4 => format!(
                "kind = \"bulk\", flows = {}, until = \"{} ms\"",
                self.number(1, 4),
                self.number(100, 3_900)
            ),
            5 => format!("kind = \"upload\", size = \"{bytes} B\", until = \"1.7 s\", end = \"abort\""),
            6 => format!(
                "kind = \"youtube\", bitrate = \"{} kbit/s\", length = \"{} s\", burst = \"{} s\", videos = {}, think = \"100 ms\"{end}",
                self.number(50, 3_000),
                self.number(1, 5),
                self.number(0, 4),
                self.number(1, 3)
            ),
            7 => format!(
                "kind = \"has\", ladder = [\"{} kbit/s\", \"1.1 Mbit/s\", \"3 Mbit/s\"], chunk = \"0.{} s\", buffer = \"2 s\", steady = \"{}\", adaptation = \"{}\", keep_alive = {}, connections = {}{}{end}",
                self.number(50, 900),
                self.number(1, 9),
                self.pick(&["period", "room"]),
                self.pick(&["aggressive-rate", "bba-0", "bola", "dynamic", "mpc", "rate", "robust-mpc"]),
                self.chance(50),
                self.number(1, 3),
                self.pick(&[
                    "",
                    ", abandon = {}",
                    ", abandon = { how = \"drain\", after = \"50 ms\", multiple = 1 }"
                ])
            ),
            _ => format!("kind = \"short-flows\", size = \"{bytes} B\", arrivals = \"shared\""),
        };
        let mut path: Vec<&str> =
            ["\"a\"", "\"-b\"", "\"c\"", "\"label\""].into_iter().filter(|_| self.chance(60)).collect();
        if path.iter().all(|hop| *hop == "\"label\"") {
            path.push("\"b\"");
        }
        let tcp = if traffic.contains("ping") {
            String::new()
        } else {
            format!(
                "tcp = {{ stack = \"{}\", ecn = \"{}\", ack_every = {}{} }}\n",
                self.pick(&["ns3.26", "ns2", "ns2-linux", "rfc", "linux", "linux3.2"]),
                self.pick(&["off", "classic", "accurate"]),
                self.number(1, 2),
                self.pick(&[
                    "",
                    ", handshake = \"none\"",
                    ", send_buffer = \"20 kB\"",
                    ", nagle = true",
                    ", max_window = \"9 kB\"",
                    ", time_wait = \"0 s\""
                ])
            )
        };
        format!(
            "[groups.{name}]\nusers = {}\npath = [{}]\ntraffic = {{ {traffic} }}\n{tcp}{}\n",
            self.number(1, 3),
            path.join(", "),
            self.pick(&["", "processing = { uniform = [\"0 s\", \"2 ms\"] }", "weight = 3"])
        )
    }

    fn with_applications(&mut self) -> String {
        let mut text = self.scenario().replace("per = \"flow\", ", "per = \"user\", ");
        for scheduler in ["drr", "sfq"] {
            text = text.replace(
                &format!("kind = \"{scheduler}\", per = \"flow\""),
                &format!("kind = \"{scheduler}\", per = \"user\""),
            );
        }
        for name in ["p", "q", "r"].iter().take(self.number(1, 3) as usize) {
            text += &self.applications(name);
        }
        if text.contains("arrivals = \"shared\"") {
            let groups = text.matches("arrivals = \"shared\"").count();
            text = text.replace(
                "arrivals = \"shared\"",
                &format!("arrivals = \"shared\", share = {}", 1.0 / groups as f64),
            );
            text += "[arrivals.shared]\ninterval = { exponential = \"90 ms\" }\n";
        }
        text
    }
}

/// The same with applications of all kinds. `SCENARIOS` says how many; 100 without it.
#[test]
fn whatever_opens_flows_runs_and_has_one_record() {
    let mut dice = Dice(Stream::new(2, "scenarios"));
    for n in 0..scenarios(100) {
        let text = dice.with_applications();
        let (lazy, events) = (run_by(&text, n, false), run_by(&text, n, true));
        for part in ["groups", "links", "stages"] {
            assert_eq!(lazy.value(part), events.value(part), "{part} of\n{text}");
        }
        assert_eq!(lazy.outcome.record_hash, events.outcome.record_hash, "{text}");
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a test takes is no run's affair")]
fn scenarios(otherwise: u64) -> u64 {
    std::env::var("SCENARIOS").ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

impl Dice {
    /// A stage that acts: what it is, and what it controls or whom it names.
    fn acting(&mut self, name: &str, probes: bool) -> String {
        let rate = self.number(20, 9_000);
        let bytes = self.number(1_600, 60_000);
        let fate = |dice: &mut Dice| dice.pick(&["pass", "drop", "late"]);
        let kind = match if probes { 9 } else { self.number(0, 5) } {
            0 => {
                let second = match self.number(0, 2) {
                    0 => String::new(),
                    1 => format!(", excess_burst = \"{} B\"", self.number(1, 60_000)),
                    _ => format!(
                        ", peak_rate = \"{} kbit/s\", peak_burst = \"{bytes} B\"",
                        rate + self.number(0, 900)
                    ),
                };
                format!(
                    "kind = \"policer\", rate = \"{rate} kbit/s\", burst = \"{bytes} B\"{second}, yellow = \"{}\", red = \"{}\"",
                    fate(self),
                    fate(self)
                )
            }
            1 => format!(
                "kind = \"shaper\", rate = \"{rate} kbit/s\", burst = \"{bytes} B\", {}",
                self.pick(&["limit = \"20 packets\"", "latency = \"50 ms\"", "limit = \"1 MB\""])
            ),
            2 => format!(
                "kind = \"rewriter\", {}{}{}",
                self.pick(&[
                    "ecn = \"not-ect\"",
                    "ecn_map = { ce = \"ect0\" }",
                    "ecn = \"ce\"",
                    "class = \"late\"",
                    "re = true, class = \"late\"",
                    "max_window = \"9 kB\"",
                    "window = \"4 kB\", idle = \"1 s\"",
                    "max_window = \"700 B\"",
                ]),
                self.pick(&["", ", direction = \"reverse\"", ", direction = \"forward\""]),
                self.pick(&["", ", from = \"1 s\", until = \"2.2 s\""])
            ),
            3 if self.chance(50) => format!(
                "kind = \"congestion-policer\", {}, action = \"{}\"",
                self.pick(&[
                    "rule = \"tcp-rate\", start = \"300 ms\", strangers = \"own\", rtt_from = \"srtt\"",
                    "rule = \"rate-bytes\", depth = \"6 kB\", rtt_from = \"base\"",
                    "rule = \"volume\", rate = \"2 kbit/s\", depth = \"5 kB\", scope = \"customer\"",
                ]),
                self.pick(&["drop-one", "drop-while-empty", "block", "mark"])
            ),
            3 => format!(
                "kind = \"congestion-policer\", rate = \"{rate} kbit/s\", depth = \"{bytes} B\", harshness = \"{}\"",
                self.pick(&["strict", "mild", "soft"])
            ),
            _ => {
                let rate = ", controls = \"a\", set_rate = \"2 Mbit/s\", set_at = \"1.5 s\"";
                let more = self.pick(&["", "", "", ", idle = \"300 ms\"", rate]);
                let peer = if probes && name == "near" { ", peer = \"far\"" } else { "" };
                format!(
                    "kind = \"probe-stage\"{}{}{}{}{more}{peer}",
                    self.pick(&["", ", hold = \"3 ms\"", ", hold = \"0 s\""]),
                    self.pick(&["", ", drop_every = 40", ", drop_every = 7"]),
                    self.pick(&["", ", mark_every = 9"]),
                    self.pick(&[
                        "",
                        ", every = \"7 ms\", to = \"forward\"",
                        ", every = \"30 ms\", to = \"backward\"",
                        ", every = \"11 ms\", size = \"1500 B\"",
                    ])
                )
            }
        };
        format!("stages.{name} = {{ {}{kind} }}\n", self.per()).replace("\"flow\"", "\"user\"")
    }

    /// Applications and flows from the start, over paths with stages that act, some of them traced.
    fn with_acting_stages(&mut self) -> String {
        let text = self.with_applications();
        let (head, groups) = text.split_once("[groups.").expect("a scenario has groups");
        let mut head = head.to_owned();
        let names = ["near", "far", "box"];
        let probes = self.chance(30);
        for name in names {
            head += &self.acting(name, probes && name != "box");
        }
        let tunnel = self.chance(35);
        let mut reports = false;
        if tunnel {
            let rules = ["rfc6040", "rfc6040-compatibility", "rfc3168", "rfc4301", "paper"];
            let size = self.pick(&["", ", max_size = \"1450 B\""]);
            let overhead = self.pick(&["ipip", "gtp-u-sequence", "700 B"]);
            let (one, other) = (self.pick(&rules), self.pick(&rules));
            head += &format!(
                "stages.into = {{ kind = \"tunnel-ingress\", peer = \"out\", overhead = \"{overhead}\", ecn = \"{one}\"{size} }}\n"
            );
            head += &format!("stages.out = {{ kind = \"tunnel-egress\", ecn = \"{other}\" }}\n");
            reports = overhead == "gtp-u-sequence" && self.chance(60);
        }
        if reports {
            let account = self.pick(&["bearer", "flow"]);
            let more = self.pick(&["", ", list = false", ", loss = 0.4, early = 2", ", per = \"user\""]);
            head += &format!(
                "stages.gateway = {{ kind = \"congestion-controller\", peer = \"report\", account = \"{account}\" }}\n\
                 stages.report = {{ kind = \"congestion-reporter\", every = \"23 ms\"{more} }}\n"
            );
        }
        let mut whole = String::new();
        for (n, part) in groups.split("path = [").enumerate() {
            let Some((path, rest)) = part.split_once("]").filter(|_| n > 0) else {
                whole += part;
                continue;
            };
            let mut hops: Vec<String> = path.split(", ").map(str::to_owned).collect();
            for name in names {
                if self.chance(60) {
                    let way = if self.chance(15) { "-" } else { "" };
                    hops.insert(self.number(0, hops.len() as u64) as usize, format!("\"{way}{name}\""));
                }
            }
            if tunnel && self.chance(80) {
                let from = self.number(0, hops.len() as u64) as usize;
                let to = self.number(from as u64, hops.len() as u64) as usize;
                hops.insert(to, "\"out\"".to_owned());
                if reports {
                    hops.insert(to, "\"report\"".to_owned());
                    hops.insert(from, "\"gateway\"".to_owned());
                }
                hops.insert(from, "\"into\"".to_owned());
            }
            whole += &format!("path = [{}]{rest}", hops.join(", "));
        }
        let trace = self.pick(&["", "", "record.trace = [\"groups.g.users[0].flows[0]\"]\n"]);
        let late = "[groups.late]\nusers = 1\npath = [\"a\"]\nclass = \"late\"\ntraffic = { kind = \"cbr\", rate = \"50 kbit/s\" }\n";
        format!("{trace}{head}{late}[groups.{whole}")
    }
}

/// Whatever is on the way, and may be, runs; and it has one record on both paths, folded or not. `SCENARIOS` says how many; 100
/// without it. Some of what the dice give is refused for what it says (a peer on no common path, a window where nobody has one).
#[test]
fn whatever_acts_runs_and_has_one_record() {
    let mut dice = Dice(Stream::new(3, "scenarios"));
    let (mut run, all) = (0, scenarios(100));
    for n in 0..all {
        let text = dice.with_acting_stages();
        let Ok(scenario) = Scenario::from_toml(&text) else { continue };
        run += 1;
        let hash = |eager, unfolded| {
            let options = Options { eager, unfolded, ..Options::default() };
            let outcome = evenflow_sim::run(&scenario, n, options, &AtomicBool::new(false));
            outcome.map(|outcome| outcome.record_hash).unwrap_or_else(|e| {
                let sentence = e.to_string();
                assert!(sentence.starts_with("record.trace: more than"), "{sentence}\nin\n{text}");
                "more rows than a trace may have".into()
            })
        };
        let lazy = hash(false, false);
        assert_eq!(lazy, hash(true, false), "eager service of\n{text}");
        assert_eq!(lazy, hash(false, true), "unfolded:\n{text}");
    }
    assert!(run * 3 > all, "{run} of {all} scenarios are valid");
}

impl Dice {
    /// Bulk senders behind private links and a chain of FIFOs, which fold, and in some cases traffic that does not.
    fn of_chains(&mut self) -> String {
        let mut text =
            format!("duration = \"3 s\"\nwarmup = \"{} s\"\n", self.pick(&["0", "0", "0.7", "1.5"]));
        for (n, name) in ["access", "one", "two", "three"].iter().enumerate() {
            let per = if n == 0 { "per = \"user\", " } else { self.pick(&["", "", "per = \"2 users\", "]) };
            let rate = match self.number(if n == 0 { 1 } else { 0 }, 5) {
                0 => String::new(),
                1 => "rate = \"8 Mbit/s\", ".into(),
                2 => format!(
                    "rate = \"{} kbit/s\", serve = {{ kind = \"grants\", preset = \"{}\" }}, ",
                    self.number(300, 30_000),
                    self.pick(&["docsis", "lte", "wifi"])
                ),
                _ => format!("rate = \"{} kbit/s\", ", self.number(300, 30_000)),
            };
            let delay = self.pick(&[
                "\"1 ms\"",
                "\"1 ms\"",
                "\"17.3 ms\"",
                "\"0 s\"",
                "{ values = [\"1 ms\", \"20 ms\"] }",
            ]);
            let low = self.number(1, 15);
            let queue = match self.number(0, 5) {
                _ if rate.is_empty() => String::new(),
                0 => String::new(),
                1 => format!(
                    ", queue = {{ kind = \"red\", action = \"{}\", min_threshold = \"{low} packets\", max_threshold = \"{} packets\", limit = \"60 packets\" }}",
                    self.pick(&["mark", "drop"]),
                    low + self.number(1, 40)
                ),
                2 if n > 0 => self
                    .pick(&[
                        ", queue = { kind = \"codel\", limit = \"60 packets\" }",
                        ", queue = { limit = \"40 packets\", scheduler = { kind = \"drr\", per = \"user\" } }",
                    ])
                    .to_owned(),
                _ => format!(", queue = {{ limit = \"{} packets\" }}", self.number(2, 80)),
            };
            let more = self.pick(&[
                "",
                "",
                "",
                ", reverse = { delay = \"2 ms\" }",
                ", reverse = { rate = \"0.9 Mbit/s\", delay = \"2 ms\", queue = { limit = \"20 packets\" } }",
                ", loss = 0.01",
                ", jitter = { normal = \"1 ms\", order = \"keep\" }",
            ]);
            text += &format!("links.{name} = {{ {per}{rate}delay = {delay}{queue}{more} }}\n");
        }
        for name in ["g", "h", "k"].iter().take(self.number(1, 3) as usize) {
            let path = self.pick(&[
                "\"access\", \"one\"",
                "\"access\", \"one\", \"two\"",
                "\"access\", \"police\", \"one\", \"two\", \"three\"",
                "\"police\", \"one\", \"two\", \"three\"",
                "\"access\", \"one\", \"-three\", \"two\"",
            ]);
            let other = self.chance(25);
            let traffic = match other {
                true => self
                    .pick(&[
                        "[{ kind = \"bulk\" }, { kind = \"cbr\", rate = \"300 kbit/s\" }]",
                        "{ kind = \"cbr\", rate = \"2 Mbit/s\", gap = { jitter = 0.5 } }",
                        "{ kind = \"poisson\", rate = \"800 kbit/s\" }",
                        "{ kind = \"short-flows\", size = \"20 kB\", interval = { exponential = \"90 ms\" } }",
                    ])
                    .to_owned(),
                false => format!(
                    "[{{ kind = \"bulk\", flows = {}, start = {{ uniform = [\"0 s\", \"1 s\"] }} }}, {{ kind = \"upload\", size = \"{} kB\" }}]",
                    self.number(1, 5),
                    self.number(1, 200)
                ),
            };
            let tcp = format!(
                "tcp = {{ stack = \"{}\", ack_every = {}, congestion_control = \"{}\"{}{}{} }}\n",
                self.pick(&["ns3.26", "ns2", "rfc", "rfc", "linux", "linux3.2", "ns2-linux"]),
                self.pick(&["1", "1", "1", "2"]),
                self.pick(&[
                    "newreno", "cubic", "multcp", "vegas", "illinois", "compound", "ledbat", "constant",
                    "bbr"
                ]),
                self.pick(&["", "", ", min_rto = \"40 ms\"", ", handshake = \"three-way\""]),
                self.pick(&[
                    "",
                    "",
                    ", max_window = \"20 kB\"",
                    ", initial_window = \"9 packets\"",
                    ", ack_delay = \"7 ms\""
                ]),
                self.pick(&[
                    "",
                    ", ecn = \"classic\"",
                    ", ecn = \"accurate\"",
                    ", conex = { unit = \"packets\", report = \"loss\" }",
                    ", conex = { unit = \"packets\", report = \"loss\", leftover = \"carry\" }",
                    ", ecn = \"re-ecn\", conex = { unit = \"packets\", credit = \"first-and-third\" }",
                ]),
            );
            let tcp = if !traffic.contains("bulk") && !traffic.contains("short") { "" } else { &tcp };
            let processing = self.pick(&[
                "",
                "processing = { uniform = [\"0 s\", \"1 ms\"] }\n",
                "processing = \"0.1 ms\"\n",
            ]);
            text += &format!(
                "[groups.{name}]\nusers = {}\npath = [{path}]\ntraffic = {traffic}\n{tcp}{processing}",
                self.number(1, 4)
            );
        }
        if text.contains("police") {
            text += "[stages.police]\nkind = \"congestion-policer\"\nper = \"user\"\nrate = \"8 packets/s\"\ndepth = \"9 packets\"\n";
        }
        if self.chance(25) {
            text = format!(
                "record.series = [{{ of = \"links.two.queue.packets\", every = \"70 ms\" }}, {{ of = \"groups.g.users[0].flows[0].window\", every = \"30 ms\" }}, {{ of = \"groups.g.users[0].flows[0].received_bytes\", every = \"30 ms\" }}]\n{text}"
            );
        } else if self.chance(30) {
            let counters =
                ["arrived_bytes", "delivered_bytes", "delivered_packets", "marks", "drops", "rate"];
            let of = |link, counter| format!("{{ of = \"links.{link}.{counter}\", every = \"43 ms\" }}");
            let (two, three) = (of("two", self.pick(&counters)), of("three", self.pick(&counters)));
            text = format!("record.series = [{two}, {three}]\n{text}");
        }
        if self.chance(25) {
            let first = self.pick(&["access", "three", "three"]);
            let all = [first, "one", "two"].map(|link| {
                let what = self.pick(&["packets", "at_drop", "delay"]);
                format!("\"links.{link}.queue.{what}\"")
            });
            text = format!("record.histograms = [{}]\n{text}", all.join(", "));
        }
        text
    }
}

/// Folded or not, chains and ends have one record. `SCENARIOS` says how many; 200 without it.
#[test]
fn folded_or_not_whatever_folds_has_one_record() {
    let mut dice = Dice(Stream::new(5, "scenarios"));
    let (mut run, mut most, all) = (0, 0, scenarios(200));
    for n in 0..all {
        let text = dice.of_chains();
        let Ok(scenario) = Scenario::from_toml(&text) else { continue };
        run += 1;
        let [folded, not] = [false, true].map(|unfolded| {
            // Windows over links without rates can grow without bound.
            let options = Options { unfolded, memory: Some(64 << 20), ..Options::default() };
            evenflow_sim::run(&scenario, n, options, &AtomicBool::new(false))
        });
        let [folded, not] = match [folded, not] {
            [Err(a), Err(b)] if [&a, &b].iter().all(|e| e.to_string().contains("of memory")) => continue,
            all => all.map(|outcome| Run::of(outcome.unwrap_or_else(|e| panic!("{e}\nin\n{text}")))),
        };
        for part in ["groups", "links", "stages"] {
            assert_eq!(folded.value(part), not.value(part), "{part} of\n{text}");
        }
        assert_eq!(folded.outcome.record_hash, not.outcome.record_hash, "{text}");
        most += u64::from(folded.outcome.folded > 0.5);
        assert_eq!(not.outcome.folded, 0.0);
    }
    assert!(run * 2 > all && most * 4 > run, "of {all} scenarios {run} are valid, and {most} fold mostly");
}

impl Dice {
    /// Senders of re-ECN whose transfers all end, over one queue that marks, with meters on both sides of it; perhaps in a tunnel, behind a
    /// policer, before a dropper. No link loses anything.
    fn of_re_ecn(&mut self) -> String {
        let action = self.pick(&["mark", "mark-re-ecn"]);
        let low = self.number(1, 20);
        let rule = match self.number(0, 4) {
            0 => format!("kind = \"constant-probability\", probability = 0.{:02}", self.number(1, 30)),
            1 => format!(
                "kind = \"virtual-queue\", buffer = \"{} packets\", rate_factor = 0.9",
                self.number(2, 30)
            ),
            2 => format!(
                "kind = \"rem\", period = \"1 ms\", target = \"{} packets\", gain = 0.01, base = 1.01",
                self.number(0, 30)
            ),
            _ => format!(
                "kind = \"red\", variant = \"{}\", min_threshold = \"{low} packets\", max_threshold = \"{} packets\", weight = 0.05",
                self.pick(&["ns2", "ns3", "linux", "floyd"]),
                low + self.number(1, 40)
            ),
        };
        let (rate, limit) = (self.number(500, 9_000), self.number(3, 120));
        let mut text = format!(
            "duration = \"200 s\"\nstages.before = {{ kind = \"congestion-meter\" }}\nstages.behind = {{ kind = \"congestion-meter\" }}\n\
             links.access = {{ rate = \"20 Mbit/s\", delay = \"{} ms\", per = \"user\" }}\n\
             links.core = {{ rate = \"{rate} kbit/s\", delay = \"10 ms\", queue = {{ {rule}, action = \"{action}\", limit = \"{limit} packets\" }} }}\n",
            self.number(1, 60)
        );
        let mut path = vec!["access", "before"];
        if self.chance(40) {
            let rule = self.pick(&[
                "rule = \"tcp-rate\", rtt = \"100 ms\", start = \"2 s\", strangers = \"own\", action = \"drop-one\"",
                "rule = \"volume\", rate = \"8 kbit/s\", depth = \"20 kB\", action = \"drop-one\"",
            ]);
            text += &format!("stages.police = {{ kind = \"congestion-policer\", per = \"user\", {rule} }}\n");
            path.push("police");
        }
        let tunnel = self.chance(50);
        if tunnel {
            let overhead = self.pick(&["gtp-u", "gtp-u-sequence", "ipip"]);
            let ecn = self.pick(&["rfc6040", "rfc4301"]);
            text += &format!(
                "stages.into = {{ kind = \"tunnel-ingress\", peer = \"out\", overhead = \"{overhead}\", ecn = \"{ecn}\" }}\n\
                 stages.out = {{ kind = \"tunnel-egress\", ecn = \"{ecn}\" }}\n"
            );
            path.push("into");
        }
        path.push("core");
        if tunnel {
            path.push("out");
        }
        path.push("behind");
        if self.chance(40) {
            let rule = self.pick(&["strict", "negative-only", "paper"]);
            text += &format!("stages.drop = {{ kind = \"auditor\", rule = \"{rule}\", delay = \"2 s\" }}\n");
            path.push("drop");
        }
        for name in ["g", "h"].iter().take(self.number(1, 2) as usize) {
            text += &format!(
                "[groups.{name}]\nusers = {}\npath = {path:?}\ntraffic = {{ kind = \"upload\", size = \"{} kB\", flows = {}, start = {{ uniform = [\"0 s\", \"1 s\"] }} }}\n\
                 tcp = {{ ecn = \"{}\", sack = {}, ack_every = {}, initial_window = \"{} packets\", conex = {{ unit = \"packets\", credit = \"first-and-third\"{} }} }}\n",
                self.number(1, 4),
                self.number(1, 400),
                self.number(1, 3),
                self.pick(&["re-ecn", "re-ecn-unlimited"]),
                self.chance(50),
                self.number(1, 2),
                self.number(1, 10),
                self.pick(&["", "", ", declared = 0.5", ", declared = 2", ", late = 1"]),
            );
        }
        text
    }
}

/// The sum of what a part of a stage's or link's record has by reason; nothing where it is not there.
fn all_of(r: &Run, path: &str) -> f64 {
    r.maybe(path).map_or(0.0, crate::common::sum)
}

/// Worth balances in whatever senders of re-ECN do (dossier 2.1, 2.2): what they were told of is what they declared and what they owe; what
/// they declared is what a meter before the queue saw. What a queue marks is what the meter behind it sees, and what it drops is missing there.
#[test]
fn worth_balances_in_whatever_re_ecn_does() {
    let mut dice = Dice(Stream::new(4, "scenarios"));
    let (mut marked_in_all, mut over) = (0.0, 0);
    let all = scenarios(60);
    for n in 0..all {
        let text = dice.of_re_ecn();
        let r = run_by(&text, n, false);
        let meter = |at: &str, code: &str| r.number(&format!("stages.{at}.{code}"));
        let codes = ["credits", "positive", "neutral", "cancelled", "negative", "others"];
        let total = |at: &str| codes.map(|code| meter(at, code)).iter().sum::<f64>();
        let (mut reports, mut under_way) = (0.0, false);
        let names = if text.contains("[groups.h]") { &["g", "h"][..] } else { &["g"] };
        for name in names {
            let at = |path: &str| r.number(&format!("groups.{name}.conex.{path}"));
            let left = |what: &str| at(&format!("owed.{what}")) + at(&format!("dropped.{what}"));
            let declared =
                text.split(&format!("[groups.{name}]")).nth(1).and_then(|own| own.split("[groups").next());
            let share = match declared {
                Some(own) if own.contains("declared = 0.5") => 0.5,
                Some(own) if own.contains("declared = 2") => 2.0,
                _ => 1.0,
            };
            let told = |what: &str| at(&format!("told.{what}.packets"));
            let said = |what: &str| at(&format!("reports.{what}.packets"));
            assert_eq!(share * told("mark"), said("mark") + left("mark"), "marks of {name} in\n{text}");
            let losses = told("loss") - told("needless");
            assert_eq!(share * losses, said("loss") + left("loss"), "losses of {name} in\n{text}");
            reports += said("mark") + said("loss");
            let of = |what: &str| r.number(&format!("groups.{name}.{what}"));
            under_way |= of("sent_packets") != of("delivered_packets") + of("losses");
        }
        let dropped = all_of(&r, "links.core.drops")
            + all_of(&r, "stages.out.drops")
            + all_of(&r, "stages.police.drops");
        let lost_marks = all_of(&r, "stages.out.drops") + all_of(&r, "stages.out.marks_lost");
        let seen = meter("behind", "cancelled") + meter("behind", "negative");
        assert_eq!(meter("before", "cancelled") + meter("before", "negative"), 0.0, "{text}");
        if under_way {
            continue;
        }
        over += 1;
        assert_eq!(meter("before", "positive"), reports, "what is declared crosses the meter, in\n{text}");
        assert_eq!(total("before") - total("behind"), dropped, "{text}");
        assert_eq!(r.marks("core") - lost_marks, seen, "{text}");
        let kept = meter("behind", "positive") + meter("behind", "cancelled");
        let gone = meter("before", "positive") - kept;
        assert!((0.0..=dropped).contains(&gone), "{gone} of {dropped} in\n{text}");
        marked_in_all += seen;
    }
    assert!(over * 5 > all * 4 && marked_in_all > 1_000.0, "{over} of {all}, {marked_in_all}");
}
