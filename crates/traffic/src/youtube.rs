//! Progressive download of videos, paced as by YouTube's servers.
//!
//! Each video has its own connection. The server writes the first seconds immediately, then equal chunks at a
//! rate above the video's. Chunks that do not fit into the send buffer wait while the schedule goes on, so a
//! blocked server catches up at TCP's speed. The player starts with some seconds in its buffer and stalls
//! below a threshold. Not modelled: seeking, viewers who leave, changes of quality (`has`).

use evenflow_base::schema::{Deviation, Mechanism, Problem, Room, Traits, Value, Values, sound};
use evenflow_base::{Duration, Time};

use crate::Common;
use crate::app::{Call, Drawn, Event, External, MOST_BYTES, Machine, Setting, Transfer};
use crate::client::{Asking, Client, News, Pace};
use crate::ending::{Ending, Leaving};
use crate::playback::{Playback, Thresholds};

/// The alarm of the next video.
const THINK: u32 = u32::MAX;
/// The alarm of the end.
const OVER: u32 = u32::MAX - 1;

/// A video that comes in.
#[derive(Clone, Copy, Debug)]
struct Download {
    asked: Time,
    first_byte: Option<Duration>,
    /// Bit/s of the video.
    bitrate: f64,
}

/// A viewer and the server.
#[derive(Clone, Debug)]
pub struct Youtube {
    client: Client,
    bitrate: Drawn,
    length: Drawn,
    think: Drawn,
    /// Seconds of video that are written at once.
    burst: f64,
    chunk: u64,
    pace: f64,
    playback: Playback,
    download: Option<Download>,
    /// Videos still to come; absent: any number.
    videos: Option<u64>,
    asks_at: Time,
    ending: Option<Ending>,
    over: bool,
}

impl Machine for Youtube {
    const TABLE: &'static Mechanism = &TABLE;
    const FIXED: &'static [&'static str] = &[
        Given::burst.name,
        Given::chunk.name,
        Given::pace.name,
        Given::play_above.name,
        Given::resume_above.name,
        Given::stall_below.name,
    ];

    fn build(values: &Values, setting: &Setting) -> Result<Youtube, Vec<Problem>> {
        let start = values.read(Given::play_above);
        let thresholds = Thresholds {
            start,
            resume: values.read(Given::resume_above).unwrap_or(start),
            stall: values.read(Given::stall_below),
            above: true,
        };
        sound(thresholds.check(values, Given::play_above.name, Given::resume_above.name))?;
        Ok(Youtube {
            client: Client::new(values, 1, false, setting),
            bitrate: Drawn::new(values, Given::bitrate, 1.0, setting).dealt_from(setting.user),
            length: Drawn::new(values, Given::length, 1.0, setting).dealt_from(setting.user),
            think: Drawn::new(values, Given::think, 0.0, setting),
            burst: values.read(Given::burst),
            chunk: values.read(Given::chunk).round() as u64,
            pace: values.read(Given::pace),
            playback: Playback::new(thresholds),
            download: None,
            videos: values.read(Given::videos),
            asks_at: Time::NEVER,
            ending: setting.ending,
            over: false,
        })
    }
}

impl External for Youtube {
    fn client_at_end(&self) -> bool {
        true
    }

    fn heap_bytes(&self) -> u64 {
        self.client.heap_bytes() + self.playback.heap_bytes()
    }

    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
        match event {
            Event::Start if self.ending.is_none_or(|ending| now < ending.at) => {
                calls.extend(self.ending.map(|ending| Call::Timer(OVER, ending.at)));
                self.ask(now, calls);
            }
            Event::Timer(THINK) if now == self.asks_at => self.ask(now, calls),
            Event::Timer(OVER) => self.end(now, calls),
            event => match self.client.on(event, now, calls) {
                Some(News::Begun(bytes) | News::More(bytes)) => self.receive(bytes, false, now),
                Some(News::Done(bytes)) => {
                    self.receive(bytes, true, now);
                    let Some(Download { asked, first_byte, .. }) = self.download.take() else { return };
                    let took = now - asked;
                    calls.push(Call::Transfer(Transfer::Completed { bytes, first_byte, took }));
                    self.plan_next(self.playback.ends().unwrap_or(now), now, calls);
                }
                Some(News::Failed) if self.download.take().is_some() => {
                    self.client.abort(false, calls);
                    calls.push(Call::Transfer(Transfer::Failed));
                    self.playback.leave(now);
                    self.plan_next(now, now, calls);
                }
                _ => {}
            },
        }
    }

    fn playback(&self) -> Option<&Playback> {
        Some(&self.playback)
    }
}

impl Youtube {
    /// Asks for a video. All that it draws is drawn now.
    fn ask(&mut self, now: Time, calls: &mut Vec<Call>) {
        self.asks_at = Time::NEVER;
        // A distribution may draw zero.
        let (bitrate, length) = (self.bitrate.seconds().max(1.0), self.length.seconds());
        let bytes = |seconds: f64| (seconds * bitrate / 8.0).round().clamp(1.0, MOST_BYTES);
        let pace = Pace {
            first: bytes(self.burst) as u64,
            chunk: self.chunk,
            gap: self.chunk as f64 * 8.0 / (self.pace * bitrate),
        };
        self.playback.ask(now);
        self.playback.ask_part(0, bitrate, now);
        self.download = Some(Download { asked: now, first_byte: None, bitrate });
        calls.push(Call::Transfer(Transfer::Started));
        self.client.ask_at_pace(bytes(length) as u64, Some(pace), calls);
    }

    fn receive(&mut self, bytes: u64, whole: bool, now: Time) {
        let Some(download) = &mut self.download else { return };
        download.first_byte.get_or_insert(now - download.asked);
        self.playback.receive(bytes as f64 * 8.0 / download.bitrate, whole, now);
    }

    /// The next video follows when this one has been watched, at `watched`, and the viewer has thought.
    fn plan_next(&mut self, watched: Time, now: Time, calls: &mut Vec<Call>) {
        self.videos = self.videos.map(|n| n - 1);
        if self.over || self.videos == Some(0) {
            return;
        }
        self.asks_at = (watched + self.think.duration()).max(now);
        calls.push(Call::Timer(THINK, self.asks_at));
    }

    /// The traffic ends.
    fn end(&mut self, now: Time, calls: &mut Vec<Call>) {
        self.over = true;
        self.asks_at = Time::NEVER;
        if self.ending.is_some_and(|ending| ending.abort) {
            self.client.abort(true, calls);
            calls.extend(self.download.take().map(|_| Call::Transfer(Transfer::Abandoned)));
            self.playback.leave(now);
        }
    }
}

params! {
    /// Its parameters.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Bitrate of the video, drawn for each video.
        bitrate: Value = Rate, Text("1128 kbit/s"), Range::POSITIVE
            => source: "Sanhaji et al. 2015, section VI-C: 360p, 1000 kbit/s and 128 kbit/s of sound";
        /// Seconds of video that the server writes at the start. If it is at least the video's length, there
        /// is no pacing.
        burst: f64 = Duration, Text("40 s"), Range::NOT_NEGATIVE
            => source: "Sanhaji et al. 2015, section VI-A";
        /// Bytes per write of the server after the burst.
        chunk: f64 = Bytes, Text("64 KiB"), Range::FROM_ONE => source: "Sanhaji et al. 2015, section VI-A";
        /// See [`Common`].
        end: Option<Leaving> = Common::end.param;
        /// Length of the video, drawn for each video.
        length: Value = Duration, Text("300 s"), Range::POSITIVE
            => source: "Sanhaji et al. 2015, section VI-C";
        /// Rate of the chunks divided by the video's bitrate.
        pace: f64 = Number, Text("1.25"), Range::POSITIVE => source: "Sanhaji et al. 2015, section VI-A";
        /// Buffer level above which playback starts, in seconds of video.
        play_above: f64 = Duration, Text("2.2 s"), Range::POSITIVE => source: "Schatz et al. 2012: θ0";
        /// See [`crate::request_response`].
        request: Value = Asking::request.param;
        /// Buffer level above which playback resumes after a stall.
        resume_above: Option<f64> = Duration, Absent("play_above"), Range::POSITIVE
            => source: "Schatz et al. 2012: θ0";
        /// See [`crate::request_response`].
        service: Value = Asking::service.param;
        /// Buffer level below which playback stalls, unless the whole file has arrived.
        stall_below: f64 = Duration, Text("0.4 s"), Range::NOT_NEGATIVE => source: "Schatz et al. 2012: θ1";
        /// See [`Common`].
        start: Value = Common::start.param;
        /// Time from the end of a video to the request for the next, drawn for each.
        think: Value = Duration, Text("0 s"), Range::NOT_NEGATIVE => source: "docs/scenarios.md";
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
        /// Number of videos per viewer, one after the other.
        videos: Option<u64> = Integer, Text("1"), Range::FROM_ONE
            => source: "Sanhaji et al. 2015, section VI-C";
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "youtube",
    traits: Traits { plays: true, ..Mechanism::PLAIN },
    title: "Progressive download of a video",
    example: r#"[groups.users.traffic]
kind = "youtube"
bitrate = "2.5 Mbit/s"
length = "120 s""#,
    doc: "A viewer at the end of the path requests a video over a new connection and watches it during the \
          download. The server writes the first seconds immediately, then chunks at a rate above the \
          video's. If its send buffer (`tcp.send_buffer`) is full, it waits and catches up. The player \
          starts above one buffer threshold and stalls below another. With the whole file it plays to the \
          end. A transfer lasts from the request to the last byte of the file. It includes the opening of \
          the connection.",
    source: "Ameigeiras et al. 2012 (server); Schatz et al. 2012 (player); Sanhaji et al. 2015, section VI",
    params: Given::PARAMS,
    deviations: &[Deviation {
        what: "Chunks follow the schedule from the start of the burst, even if the burst still waits for the \
               send buffer.",
        why: "The documents define a burst and a rate; a blocked server should catch up with both.",
    }],
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::End;
    use evenflow_base::schema::Value;

    use super::*;
    use crate::app::testing::{at, machine, steps};
    use crate::playback::Moment;

    /// 8 kB a second, 10 s of video of which 4 s come at once, chunks of 10 kB at twice the rate.
    fn viewer(more: &[(&'static str, Value)], ending: Option<Ending>) -> Youtube {
        let values = [
            ("bitrate", Value::Rate(64_000.0)),
            ("length", Value::Seconds(10.0)),
            ("burst", Value::Seconds(4.0)),
            ("chunk", Value::Bytes(10_000.0)),
            ("pace", Value::Number(2.0)),
            ("play_above", Value::Seconds(2.2)),
            ("stall_below", Value::Seconds(0.4)),
            ("videos", Value::Number(1.0)),
            ("request", Value::Bytes(350.0)),
        ];
        machine(&Values(values.into_iter().chain(more.iter().cloned()).collect()), ending, false)
    }

    const STARTED: Call = Call::Transfer(Transfer::Started);

    fn server(bytes: u64) -> Call {
        Call::Write(0, End::Server, bytes)
    }

    /// A burst of 32,000 B, then 10,000 B every 10,000 x 8 / 128,000 = 0.625 s until there are 80,000 B.
    #[test]
    fn a_burst_and_chunks_by_the_clock_of_the_burst() {
        let mut viewer = viewer(&[], None);
        let done = Transfer::Completed {
            bytes: 80_000,
            first_byte: Some(Duration::from_millis(300)),
            took: Duration::from_millis(4_000),
        };
        steps(
            &mut viewer,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (100, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (200, Event::Received(0, End::Server, 350), &[server(32_000), Call::Timer(0, at(825))]),
                (300, Event::Received(0, End::Client, 17_600), &[]), // 2.2 s of video: not more
                (310, Event::Received(0, End::Client, 20_000), &[]),
                (825, Event::Timer(0), &[server(10_000), Call::Timer(0, at(1_450))]),
                (1_450, Event::Timer(0), &[server(10_000), Call::Timer(0, at(2_075))]),
                (2_075, Event::Timer(0), &[server(10_000), Call::Timer(0, at(2_700))]),
                (2_700, Event::Timer(0), &[server(10_000), Call::Timer(0, at(3_325))]),
                (3_325, Event::Timer(0), &[server(8_000), Call::Close(0, End::Server)]),
                (4_000, Event::Received(0, End::Client, 80_000), &[Call::Transfer(done)]),
                (4_000, Event::PeerClosed(0, End::Client), &[Call::Close(0, End::Client)]),
                (4_100, Event::Closed(0), &[]),
            ],
        );
        // 2.5 s of video at 310 ms: down to 0.4 s at 2,410 ms. The rest plays to the end.
        let expected = [
            (at(0), Moment::Asked),
            (at(0), Moment::Part(0, 64_000.0)),
            (at(310), Moment::Starts),
            (at(2_410), Moment::Stalls),
            (at(4_000), Moment::Resumes),
            (at(11_900), Moment::Ends),
        ];
        assert_eq!(viewer.playback.moments(at(20_000)), expected);
    }

    #[test]
    fn the_video_of_the_paper() {
        let values = [
            ("bitrate", Value::Rate(1_128e3)),
            ("length", Value::Seconds(300.0)),
            ("burst", Value::Seconds(40.0)),
            ("chunk", Value::Bytes(65_536.0)),
            ("pace", Value::Number(1.25)),
        ];
        let mut viewer = viewer(&values, None);
        let mut calls = Vec::new();
        for event in [Event::Start, Event::Opened(0, End::Client), Event::Received(0, End::Server, 350)] {
            viewer.on(event, Time::ZERO, &mut calls);
        }
        let (mut bytes, mut last, mut writes) = (0, Time::ZERO, 0);
        while let Some(call) = calls.pop() {
            match call {
                Call::Timer(0, due) => {
                    last = due;
                    viewer.on(Event::Timer(0), due, &mut calls);
                }
                Call::Write(0, End::Server, more) => {
                    bytes += more;
                    writes += 1;
                }
                _ => {}
            }
        }
        // 42.3 MB: 28,973 packets of 1,460 B. 36.66 MB after the burst are 559 chunks and a part, one every 371.8 ms.
        assert_eq!((bytes, bytes.div_ceil(1_460), writes), (42_300_000, 28_973, 561));
        assert!((last.seconds() - 560.0 * 65_536.0 * 8.0 / 1.41e6).abs() < 1e-6);
    }

    #[test]
    fn the_next_video_follows_the_end_of_the_last() {
        let values =
            [("videos", Value::Number(2.0)), ("burst", Value::Seconds(10.0)), ("think", Value::Seconds(5.0))];
        let done = Transfer::Completed {
            bytes: 80_000,
            first_byte: Some(Duration::from_millis(1_000)),
            took: Duration::from_millis(1_000),
        };
        steps(
            &mut viewer(&values, None),
            &[
                (0, Event::Start, &[STARTED, Call::Open(0)]),
                (0, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                (0, Event::Received(0, End::Server, 350), &[server(80_000), Call::Close(0, End::Server)]),
                (
                    1_000,
                    Event::Received(0, End::Client, 80_000),
                    &[Call::Transfer(done), Call::Timer(THINK, at(16_000))],
                ),
                (16_000, Event::Timer(THINK), &[STARTED, Call::Open(1)]),
                (16_500, Event::Reset(1, End::Client), &[Call::Transfer(Transfer::Failed)]),
            ],
        );
    }

    #[test]
    fn an_end_lets_the_video_finish_or_breaks_it_off() {
        let ends = |abort| Some(Ending { at: at(500), abort });
        let over = [Call::Abort(0, End::Client), Call::Transfer(Transfer::Abandoned)];
        for (abort, expected) in [(false, &over[..0]), (true, &over[..])] {
            let mut viewer = viewer(&[("videos", Value::Number(9.0))], ends(abort));
            steps(
                &mut viewer,
                &[
                    (0, Event::Start, &[Call::Timer(OVER, at(500)), STARTED, Call::Open(0)]),
                    (0, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 350)]),
                    (500, Event::Timer(OVER), expected),
                ],
            );
            let left = viewer.playback.moments(at(900)).last() == Some(&(at(500), Moment::Leaves));
            assert_eq!(left, abort);
        }
    }

    #[test]
    fn thresholds_must_leave_something_to_play() {
        let values = |start: f64, resume: f64| {
            let given = [("play_above", start), ("resume_above", resume), ("stall_below", 0.4)];
            Values(given.into_iter().map(|(name, x)| (name, Value::Seconds(x))).collect())
        };
        let said = |start, resume| {
            let stream = |name: &str| evenflow_base::Stream::new(1, name);
            let setting = Setting { stream: &stream, ending: None, arrivals: false, user: 0 };
            Youtube::build(&values(start, resume), &setting).expect_err("they are too low").len()
        };
        assert_eq!((said(0.4, 0.3), said(0.4, 2.0), said(2.0, 0.4)), (2, 1, 1));
    }
}
