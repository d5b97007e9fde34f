//! Adaptive video over HTTP: a player that fetches a video in chunks, each at the level that an adaptation rule asks for.
//!
//! The player fills its buffer, one chunk after the other, and then keeps it full: it asks for a chunk as long after the one before
//! as a chunk lasts, or as soon as there is room for it, so that it is on and off in turn. Which level it asks for is a rule's
//! ([`crate::adaptation`]), what is shown is [`Playback`]'s, requests and responses are [`Client`]'s. Not here: several chunks at a time,
//! chunks that are given up for smaller ones, live video, sound apart from pictures.

use evenflow_base::schema::{Fallback, Mechanism, Param, Problem, Range, Room, Type, Value, Values};
use evenflow_base::{Duration, Time};

use crate::START;
use crate::adaptation::{Adaptation, Known, Ladder};
use crate::app::{Call, Drawn, Event, Machine, Setting, Transfer};
use crate::client::{Client, News};
use crate::ending::{END, Ending, UNTIL};
use crate::playback::{Playback, Thresholds};
use crate::request_response::{KEEP_ALIVE, REQUEST, SERVICE};

/// The alarm of the next request.
const ASK: u32 = u32::MAX;
/// The alarm of the end.
const OVER: u32 = u32::MAX - 1;

/// Throughputs of which a rule may ask for the latest: twice the longest window of any.
const KEPT: usize = 2_000;

/// A chunk that is asked for.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    asked: Time,
    first_byte: Option<Time>,
    level: usize,
}

/// A player and its server.
#[derive(Clone, Debug)]
pub struct Has {
    client: Client,
    rule: Adaptation,
    ladder: Ladder,
    /// Seconds of video that the buffer holds.
    capacity: f64,
    header: Drawn,
    /// It asks as soon as there is room, and not at a chunk's pace.
    by_room: bool,
    /// Chunks after which it asks at a chunk's pace, however full the buffer is.
    steady_after: Option<usize>,
    /// What it holds is told to the rule in whole chunks, one that is being shown included.
    in_chunks: bool,
    /// Throughput is measured from the first byte on, and not from the request.
    from_first_byte: bool,
    playback: Playback,
    /// Chunks of the video; absent: it has no end.
    chunks: Option<usize>,
    /// Chunks that have come in.
    done: usize,
    last: Option<usize>,
    throughputs: Vec<f64>,
    fetch: Option<Fetch>,
    /// The buffer is being filled.
    filling: bool,
    /// When the last chunk was asked for.
    asked: Time,
    asks_at: Time,
    ending: Option<Ending>,
    over: bool,
}

impl Machine for Has {
    const TABLE: &'static Mechanism = &TABLE;
    const CLIENT_AT_END: bool = true;
    const ADAPTS: bool = true;
    const FIXED: &'static [&'static str] = &["buffer", "chunk", "length", "play_at", "resume_at"];

    fn build(values: &Values, setting: &Setting) -> Result<Has, Vec<Problem>> {
        let levels = match values.get("ladder") {
            Some(Value::Rates(levels)) => levels.clone(),
            _ => Vec::new(),
        };
        let chunk = values.number("chunk");
        let ladder = Ladder::new(levels, chunk, None)?;
        let capacity = values.number("buffer");
        let problems = check(values, chunk, capacity);
        if !problems.is_empty() {
            return Err(problems);
        }
        let Some(Value::Table(rule)) = values.get("adaptation") else {
            panic!("no adaptation rule was decoded")
        };
        if rule.is_random() {
            let why = "its parameters cannot be drawn; plain values are needed";
            return Err(vec![("adaptation", why.into())]);
        }
        // What is wrong with the rule's own parameters was found when it was decoded.
        let rule = Adaptation::build(rule.word("kind"), rule)?;
        let thresholds = Thresholds {
            start: values.maybe("play_at").unwrap_or(chunk),
            resume: values.maybe("resume_at").unwrap_or(chunk),
            stall: 0.0,
            above: false,
        };
        Ok(Has {
            client: Client::new(values, 1, values.flag("keep_alive"), setting),
            rule,
            ladder,
            capacity,
            header: Drawn::new(values, "header", 1.0, setting),
            by_room: values.word("steady") == "room",
            steady_after: values.maybe("steady_after").map(|n| n as usize),
            in_chunks: values.word("buffer_in") == "chunks",
            from_first_byte: values.word("measure_from") == "first-byte",
            playback: Playback::new(thresholds),
            chunks: values.maybe("length").map(|length| whole_chunks(length, chunk)),
            done: 0,
            last: None,
            throughputs: Vec::new(),
            fetch: None,
            filling: true,
            asked: Time::ZERO,
            asks_at: Time::NEVER,
            ending: setting.ending,
            over: false,
        })
    }

    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
        match event {
            Event::Start if self.ending.is_none_or(|ending| now < ending.at) => {
                calls.extend(self.ending.map(|ending| Call::Timer(OVER, ending.at)));
                self.playback.ask(now);
                self.ask(now, calls);
            }
            Event::Timer(ASK) if now == self.asks_at => self.ask(now, calls),
            Event::Timer(OVER) => self.end(now, calls),
            event => match self.client.on(event, now, calls) {
                Some(News::Begun(_)) => self.note_first_byte(now),
                Some(News::Done(bytes)) => {
                    self.note_first_byte(now);
                    self.arrived(bytes, now, calls);
                }
                Some(News::Failed) if self.fetch.take().is_some() => {
                    calls.push(Call::Transfer(Transfer::Failed));
                    if !self.over {
                        self.ask(now, calls);
                    }
                }
                _ => {}
            },
        }
    }

    fn playback(&self) -> Option<&Playback> {
        Some(&self.playback)
    }
}

/// Chunks that hold `seconds` of video.
fn whole_chunks(seconds: f64, chunk: f64) -> usize {
    // What is a whole number but for the last digits is one.
    (seconds / chunk - 1e-9).ceil().max(1.0) as usize
}

/// What is wrong with several parameters together.
fn check(values: &Values, chunk: f64, capacity: f64) -> Vec<Problem> {
    if capacity < 2.0 * chunk {
        let why = format!("must hold two chunks of {chunk} s at least, but is {capacity} s");
        return vec![("buffer", why)];
    }
    let most = (capacity / chunk + 1e-9).floor();
    let too_much = |name: &'static str| {
        let at = values.maybe(name).filter(|at| whole_chunks(*at, chunk) as f64 > most)?;
        Some((name, format!("is never reached: the buffer holds {most} chunks of {chunk} s, not {at} s")))
    };
    ["play_at", "resume_at"].into_iter().filter_map(too_much).collect()
}

impl Has {
    /// Asks for the next chunk.
    fn ask(&mut self, now: Time, calls: &mut Vec<Call>) {
        self.asks_at = Time::NEVER;
        let (held, chunk) = (self.playback.buffered(now), self.ladder.chunk());
        let buffer =
            if self.in_chunks && held > 0.0 { whole_chunks(held, chunk) as f64 * chunk } else { held };
        let known = Known {
            ladder: &self.ladder,
            next: self.done,
            buffer,
            capacity: self.capacity,
            throughputs: &self.throughputs,
            last: self.last,
        };
        let level = self.rule.choose(&known);
        self.last = Some(level);
        self.playback.ask_part(level, self.ladder.levels()[level], now);
        self.fetch = Some(Fetch { asked: now, first_byte: None, level });
        self.asked = now;
        calls.push(Call::Transfer(Transfer::Started));
        let size = self.header.bytes() + self.ladder.size(self.done, level).round() as u64;
        self.client.ask(size, calls);
    }

    fn note_first_byte(&mut self, now: Time) {
        if let Some(fetch) = &mut self.fetch {
            fetch.first_byte.get_or_insert(now);
        }
    }

    /// A chunk is there.
    fn arrived(&mut self, bytes: u64, now: Time, calls: &mut Vec<Call>) {
        let Some(fetch) = self.fetch.take() else { return };
        let first_byte = fetch.first_byte.map(|at| at - fetch.asked);
        let took = now - fetch.asked;
        calls.push(Call::Transfer(Transfer::Completed { bytes, first_byte, took }));
        let from = fetch.first_byte.filter(|_| self.from_first_byte).unwrap_or(fetch.asked);
        // One that arrives as a whole at the instant of its first byte took no time that could be measured.
        let seconds = (now - from).seconds().max(1e-9);
        if self.throughputs.len() == 2 * KEPT {
            self.throughputs.drain(..KEPT);
        }
        self.throughputs.push(self.ladder.size(self.done, fetch.level) * 8.0 / seconds);
        self.playback.advance(now);
        self.filling |= self.playback.is_stalled();
        self.done += 1;
        let whole = self.chunks.is_some_and(|chunks| self.done >= chunks);
        self.playback.receive(self.done as f64 * self.ladder.chunk(), whole, now);
        if whole || self.over {
            return self.client.close(calls);
        }
        self.plan_next(now, calls);
    }

    /// Asks for the next chunk, or sets the alarm at which it does.
    fn plan_next(&mut self, now: Time, calls: &mut Vec<Call>) {
        let chunk = self.ladder.chunk();
        let excess = self.playback.buffered(now) + chunk - self.capacity;
        let is_full = excess > 1e-9;
        let at = if self.by_room {
            now + Duration::from_seconds(if is_full { excess } else { 0.0 })
        } else {
            self.filling &= !is_full && self.steady_after.is_none_or(|chunks| self.done < chunks);
            if self.filling { now } else { (self.asked + Duration::from_seconds(chunk)).max(now) }
        };
        if at == now {
            return self.ask(now, calls);
        }
        self.asks_at = at;
        calls.push(Call::Timer(ASK, at));
    }

    /// The viewer leaves.
    fn end(&mut self, now: Time, calls: &mut Vec<Call>) {
        self.over = true;
        self.asks_at = Time::NEVER;
        self.playback.leave(now);
        if self.ending.is_some_and(|ending| ending.abort) {
            self.client.abort(true, calls);
            calls.extend(self.fetch.take().map(|_| Call::Transfer(Transfer::Abandoned)));
        } else if self.fetch.is_none() {
            self.client.close(calls);
        }
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "has",
    room: Room::Traffic,
    traits: Mechanism::PLAIN,
    title: "Adaptive video over HTTP",
    doc: "A player at the end of the path fetches a video in chunks, one at a time, each at the level of the ladder that an adaptation \
          rule asks for. It fills its buffer and then asks for a chunk whenever one has been shown. A transfer is a chunk: from its \
          request, or the opening of its connection, to its last byte.",
    source: "Ben Ameur et al. 2016, sections 2 and 4; Yin et al. 2015, section 3 (the player's buffer)",
    params: &[
        Param {
            name: "adaptation",
            ty: Type::Mechanism(Room::Adaptation),
            default: Fallback::Text("rate"),
            range: Range::ANY,
            source: "Jiang et al. 2012, section 4.2",
            doc: "Which level is asked for: a name, or a table with kind and parameters.",
        },
        Param {
            name: "buffer",
            ty: Type::Duration,
            default: Fallback::Text("30 s"),
            range: Range::POSITIVE,
            source: "Ben Ameur et al. 2016, section 4.1: 15 chunks of 2 s",
            doc: "Seconds of video that the playback buffer holds.",
        },
        Param {
            name: "buffer_in",
            ty: Type::Choice(&["seconds", "chunks"]),
            default: Fallback::Text("seconds"),
            range: Range::ANY,
            source: "Ben Ameur et al. 2016, equation 5 (chunks)",
            doc: "How the rule is told what the buffer holds: exactly, or in chunks, of which the one that is being shown is a whole one.",
        },
        Param {
            name: "chunk",
            ty: Type::Duration,
            default: Fallback::Text("2 s"),
            range: Range::POSITIVE,
            source: "Ben Ameur et al. 2016, section 4.1",
            doc: "Seconds of video in a chunk; it has as many bytes as its level's bitrate gives.",
        },
        END,
        Param {
            name: "header",
            ty: Type::Bytes,
            default: Fallback::Text("300 B"),
            range: Range::FROM_ONE,
            source: "docs/scenarios.md: a response's header fields",
            doc: "Application bytes before each chunk, drawn for each.",
        },
        KEEP_ALIVE,
        Param {
            name: "ladder",
            ty: Type::Rates,
            default: Fallback::Required,
            range: Range::POSITIVE,
            source: "",
            doc: "The levels' bitrates, rising.",
        },
        Param {
            name: "length",
            ty: Type::Duration,
            default: Fallback::Absent("without end"),
            range: Range::POSITIVE,
            source: "",
            doc: "How long the video is, rounded up to whole chunks.",
        },
        Param {
            name: "measure_from",
            ty: Type::Choice(&["request", "first-byte"]),
            default: Fallback::Text("request"),
            range: Range::ANY,
            source: "Ben Ameur et al. 2016, section 4.1",
            doc: "From when to the last byte a chunk's throughput is measured.",
        },
        Param {
            name: "play_at",
            ty: Type::Duration,
            default: Fallback::Absent("one chunk"),
            range: Range::POSITIVE,
            source: "",
            doc: "Seconds of video in the buffer at which it starts.",
        },
        REQUEST,
        Param {
            name: "resume_at",
            ty: Type::Duration,
            default: Fallback::Absent("one chunk"),
            range: Range::POSITIVE,
            source: "",
            doc: "The same after a stall, which comes when the buffer is empty.",
        },
        SERVICE,
        START,
        Param {
            name: "steady",
            ty: Type::Choice(&["period", "room"]),
            default: Fallback::Text("period"),
            range: Range::ANY,
            source: "Ben Ameur et al. 2016, section 2 (period); Yin et al. 2015, equation 4 (room)",
            doc: "When it asks once the buffer has been full: a chunk's length after it asked before (until it stalls, then it fills the buffer \
                  again), or as soon as there is room for a chunk.",
        },
        Param {
            name: "steady_after",
            ty: Type::Integer,
            default: Fallback::Absent("when the buffer is full"),
            range: Range::FROM_ONE,
            source: "",
            doc: "With period: after so many chunks, however full the buffer is.",
        },
        UNTIL,
    ],
    observables: &[],
    counters: &[],
    deviations: &[],
};

#[cfg(test)]
mod tests {
    use evenflow_base::End;

    use super::*;
    use crate::app::testing::{at, machine, steps};
    use crate::playback::Moment;

    const PAPER: [f64; 5] = [248e3, 456e3, 928e3, 1_632e3, 4_256e3];

    type Given<'a> = &'a [(&'static str, Value)];

    fn values(ladder: &[f64], rule: Given, more: Given) -> Values {
        let table = |given: Given| Values(given.iter().cloned().collect());
        let usual = [
            ("ladder", Value::Rates(ladder.to_vec())),
            ("adaptation", Value::Table(table(rule))),
            ("chunk", Value::Seconds(2.0)),
            ("buffer", Value::Seconds(30.0)),
            ("buffer_in", Value::Word("chunks".into())),
            ("header", Value::Bytes(300.0)),
            ("request", Value::Bytes(250.0)),
            ("keep_alive", Value::Flag(true)),
            ("measure_from", Value::Word("request".into())),
            ("steady", Value::Word("period".into())),
        ];
        Values(usual.into_iter().chain(more.iter().cloned()).collect())
    }

    /// Equation 5 with σ = 0.2.
    fn aggressive() -> [(&'static str, Value); 2] {
        [("kind", Value::Word("aggressive-rate".into())), ("aggressiveness", Value::Number(0.2))]
    }

    fn rate() -> [(&'static str, Value); 2] {
        [("kind", Value::Word("rate".into())), ("window", Value::Number(5.0))]
    }

    /// Plays against a network in which a chunk of `size` bytes, number `n`, takes so many milliseconds; gives when each chunk was
    /// asked for, ms, and its level.
    fn requests(has: &mut Has, until: u64, takes: impl Fn(usize, u64) -> u64) -> Vec<(u64, u32)> {
        let mut queue: Vec<(Time, Event)> = vec![(Time::ZERO, Event::Start)];
        let (mut asked, mut written, mut fetched) = (0, 0, 0);
        while let Some(next) = (0..queue.len()).min_by_key(|i| queue[*i].0) {
            let (now, event) = queue.remove(next);
            if now > at(until) {
                break;
            }
            let mut calls = Vec::new();
            has.on(event, now, &mut calls);
            for call in calls {
                match call {
                    Call::Open(n) => queue.push((now, Event::Opened(n, End::Client))),
                    Call::Write(n, End::Client, bytes) => {
                        asked += bytes;
                        queue.push((now, Event::Received(n, End::Server, asked)));
                    }
                    Call::Write(n, End::Server, bytes) => {
                        written += bytes;
                        let later = now + Duration::from_millis(takes(fetched, bytes - 300));
                        queue.push((later, Event::Received(n, End::Client, written)));
                        fetched += 1;
                    }
                    Call::Timer(n, due) => queue.push((due, Event::Timer(n))),
                    _ => {}
                }
            }
        }
        let part = |(when, what): (Time, Moment)| match what {
            Moment::Part(level, _) => Some((when.0 / 1_000_000, level)),
            _ => None,
        };
        has.playback.moments(at(until)).into_iter().filter_map(part).collect()
    }

    /// The lone client of has-shaping.md, 2.16, behind a tuned window: chunks take 0.32, 0.50, 0.80 and 1.9 s. The highest level
    /// needs four chunks in the buffer: at 2.4 s where nothing is shown yet, at 3.2 s where each chunk is shown as it comes.
    #[test]
    fn a_lone_client() {
        let takes = |_, size: u64| match size {
            62_000 => 320,
            232_000 => 500,
            408_000 => 800,
            _ => 1_900,
        };
        let first = [(0, 0), (320, 2), (820, 3), (1_620, 3)];
        let play_at = |s| [("play_at", Value::Seconds(s))];
        let mut full: Has = machine(&values(&PAPER, &aggressive(), &play_at(30.0)), None, false);
        let all = requests(&mut full, 60_000, takes);
        assert_eq!(all[..6], [&first[..], &[(2_420, 4), (4_320, 4)]].concat());
        // Fifteen chunks, the last of which comes 11 x 1.9 s after 2.42 s; from then on one every two seconds.
        assert_eq!(
            all[14..17],
            [(2_420 + 10 * 1_900, 4), (2_420 + 10 * 1_900 + 2_000, 4), (2_420 + 10 * 1_900 + 4_000, 4)]
        );
        assert_eq!(
            full.playback.moments(at(60_000)).iter().find(|(_, m)| *m == Moment::Starts).map(|(t, _)| *t),
            Some(at(23_320))
        );
        let mut soon: Has = machine(&values(&PAPER, &aggressive(), &play_at(2.0)), None, false);
        let all = requests(&mut soon, 9_000, takes);
        assert_eq!(all[..6], [&first[..], &[(2_420, 3), (3_220, 4)]].concat());
    }

    /// One level, chunks of 2 s that take half a second, a buffer of 4 s.
    #[test]
    fn on_and_off_by_the_period_or_by_room() {
        let asks = |steady: &str, play_at: f64| -> Vec<u64> {
            let more = [
                ("buffer", Value::Seconds(4.0)),
                ("steady", Value::Word(steady.into())),
                ("play_at", Value::Seconds(play_at)),
            ];
            let mut has: Has = machine(&values(&[1e6], &rate(), &more), None, false);
            requests(&mut has, 9_000, |_, _| 500).into_iter().map(|(at, _)| at).collect()
        };
        // Full at 1 s, when it starts to play: by the period a chunk's length after the last request, by room when a chunk is shown.
        assert_eq!(asks("period", 4.0)[..4], [0, 500, 2_500, 4_500]);
        assert_eq!(asks("room", 4.0)[..4], [0, 500, 3_000, 5_000]);
        assert_eq!(asks("room", 2.0)[..4], [0, 500, 2_500, 4_500]);
    }

    #[test]
    fn after_a_stall_it_fills_the_buffer_again() {
        let more = [("buffer", Value::Seconds(4.0)), ("steady_after", Value::Number(2.0))];
        let mut has: Has = machine(&values(&[1e6], &rate(), &more), None, false);
        // The fourth chunk takes 6 s: asked for at 4.5 s with 2 s in the buffer, it comes 4 s after that is gone.
        let all = requests(&mut has, 20_000, |n, _| if n == 3 { 6_000 } else { 500 });
        let asks: Vec<u64> = all.iter().map(|(at, _)| *at).collect();
        assert_eq!(asks[..7], [0, 500, 2_500, 4_500, 10_500, 12_500, 14_500]);
        let moments = has.playback.moments(at(20_000));
        assert!(
            moments.contains(&(at(6_500), Moment::Stalls))
                && moments.contains(&(at(10_500), Moment::Resumes))
        );
        let mut filling: Has =
            machine(&values(&[1e6], &rate(), &[("buffer", Value::Seconds(8.0))]), None, false);
        let asks: Vec<u64> = requests(&mut filling, 30_000, |n, _| if n == 6 { 9_000 } else { 500 })
            .iter()
            .map(|(at, _)| *at)
            .collect();
        let stalled = asks[6] + 9_000;
        assert_eq!(asks[7..10], [stalled, stalled + 500, stalled + 1_000], "{asks:?}");
    }

    #[test]
    fn throughput_is_measured_from_the_request_or_from_the_first_byte() {
        for (from, level) in [("request", 0), ("first-byte", 1)] {
            let more = [("measure_from", Value::Word(from.into()))];
            let mut has: Has = machine(&values(&[100e3, 300e3], &rate(), &more), None, false);
            let (start, mut calls) = ([Event::Start, Event::Opened(0, End::Client)], Vec::new());
            for event in start {
                has.on(event, at(0), &mut calls);
            }
            has.on(Event::Received(0, End::Server, 250), at(100), &mut calls);
            // 25,000 B of video: 200 kbit/s from the request on, 400 kbit/s from the first byte on.
            has.on(Event::Received(0, End::Client, 1_000), at(500), &mut calls);
            has.on(Event::Received(0, End::Client, 25_300), at(1_000), &mut calls);
            assert_eq!(has.fetch.map(|fetch| fetch.level), Some(level), "{from}");
        }
    }

    const STARTED: Call = Call::Transfer(Transfer::Started);

    fn done(took: u64) -> Call {
        let took = Duration::from_millis(took);
        Call::Transfer(Transfer::Completed { bytes: 250_300, first_byte: Some(took), took })
    }

    #[test]
    fn a_connection_for_each_chunk_and_a_video_that_ends() {
        let more = [("keep_alive", Value::Flag(false)), ("length", Value::Seconds(3.5))];
        let mut has: Has = machine(&values(&[1e6], &rate(), &more), None, false);
        steps(
            &mut has,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (50, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 250)]),
                (
                    100,
                    Event::Received(0, End::Server, 250),
                    &[Call::Write(0, End::Server, 250_300), Call::Close(0, End::Server)],
                ),
                (500, Event::Received(0, End::Client, 250_300), &[done(500), STARTED, Call::Open(1)]),
                (500, Event::PeerClosed(0, End::Client), &[Call::Close(0, End::Client)]),
                (550, Event::Opened(1, End::Client), &[Call::Write(1, End::Client, 250)]),
                (
                    600,
                    Event::Received(1, End::Server, 250),
                    &[Call::Write(1, End::Server, 250_300), Call::Close(1, End::Server)],
                ),
                (900, Event::Received(1, End::Client, 250_300), &[done(400)]),
            ],
        );
        assert_eq!(has.playback.moments(at(9_000)).last(), Some(&(at(4_500), Moment::Ends)));
    }

    #[test]
    fn a_viewer_leaves_and_a_lost_chunk_is_asked_for_again() {
        for abort in [false, true] {
            let mut has: Has =
                machine(&values(&[1e6], &rate(), &[]), Some(Ending { at: at(700), abort }), false);
            let over: &[Call] =
                if abort { &[Call::Abort(1, End::Client), Call::Transfer(Transfer::Abandoned)] } else { &[] };
            let last: &[Call] = if abort { &[] } else { &[done(500), Call::Close(1, End::Client)] };
            steps(
                &mut has,
                &[
                    (0, Event::Start, &[Call::Timer(OVER, at(700)), STARTED, Call::Open(0)]),
                    (50, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 250)]),
                    (
                        300,
                        Event::Reset(0, End::Client),
                        &[Call::Transfer(Transfer::Failed), STARTED, Call::Open(1)],
                    ),
                    (350, Event::Opened(1, End::Client), &[Call::Write(1, End::Client, 250)]),
                    (400, Event::Received(1, End::Server, 250), &[Call::Write(1, End::Server, 250_300)]),
                    (700, Event::Timer(OVER), over),
                    (800, Event::Received(1, End::Client, 250_300), last),
                ],
            );
            assert_eq!(has.playback.moments(at(900)).last(), Some(&(at(700), Moment::Leaves)));
        }
    }

    #[test]
    fn what_can_never_be_is_refused() {
        let stream = |name: &str| evenflow_base::Stream::new(1, name);
        let setting = Setting { stream: &stream, ending: None, arrivals: false, user: 0 };
        let said = |ladder: &[f64], more: Given| -> Vec<String> {
            let built = Has::build(&values(ladder, &rate(), more), &setting);
            built.err().unwrap_or_default().into_iter().map(|(name, why)| format!("{name} {why}")).collect()
        };
        let seconds = |name, s| (name, Value::Seconds(s));
        assert_eq!(said(&[1e6], &[]), [""; 0]);
        assert_eq!(
            said(&[1e6], &[seconds("buffer", 3.0)]),
            ["buffer must hold two chunks of 2 s at least, but is 3 s"]
        );
        assert_eq!(
            said(&[1e6], &[seconds("buffer", 5.0), seconds("play_at", 4.5), seconds("resume_at", 6.0)]),
            [
                "play_at is never reached: the buffer holds 2 chunks of 2 s, not 4.5 s",
                "resume_at is never reached: the buffer holds 2 chunks of 2 s, not 6 s"
            ]
        );
        assert_eq!(said(&[2e6, 1e6], &[]), ["ladder must rise, but 1000000 bit/s follows 2000000 bit/s"]);
    }
}
